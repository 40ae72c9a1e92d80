"""Formulas as lines of text: claim syntax for terminals, explicit operators for JSON. Both can be read back.

What printing has in common in all notations is here as well: how tightly parts bind, where brackets stand, which sign
is for what, and the letters for quantities, which give way to dimensions of the same letter.
"""

from __future__ import annotations

import re
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from enum import Enum
from string import ascii_letters
from typing import Any

from symroof.formula import (
    Both,
    Call,
    Cases,
    Compare,
    Either,
    Figure,
    Formula,
    Frozen,
    Name,
    Number,
    Power,
    Product,
    Verdict,
    Written,
    fold,
)
from symroof.model.quantities import TABLE, UNITS
from symroof.reading.name_scope import is_opaque

PLAIN = {"flops_exact": "flops"}
# The letters of quantities that give way to a dimension.
YIELDING = frozenset(row.letter for row in TABLE.values() if row.instead is not None)
# Quantities of a part of a program, as the whole with an index.
PASSES = {"flops_forward": r"\text{FLOPs}_{\text{fwd}}", "flops_backward": r"\text{FLOPs}_{\text{bwd}}"}
LONG = 3
# A quantity of one tensor or statement of a program.
OF_TENSOR = re.compile(r"(\w+)\((\w+(?:,\w+)?)\)")


def _greek(letter: str) -> str:
    """The command of a Greek letter: Unicode spells one of them otherwise than TeX.

    >>> _greek("λ"), _greek("Ω")
    ('lambda', 'Omega')
    """
    word = unicodedata.name(letter).split()[-1].replace("LAMDA", "LAMBDA")
    return word.lower() if letter.islower() else word.capitalize()


GREEK = {letter: _greek(letter) for letter in "αβγδεζηθικλμνξπρστυφχψωΓΔΘΛΞΠΣΥΦΨΩ"}


class Letters(Frozen):
    """The printed forms of names, given the dimensions and the link of a problem; some stand for longer names. Letters of
    quantities give way to those ``beside`` them as well."""

    dimensions: frozenset[str] = frozenset()
    link: str = "HBM"
    stands_for: tuple[tuple[str, str], ...] = ()
    beside: frozenset[str] = frozenset()

    @property
    def shortened(self) -> Letters:
        """With a letter for every dimension whose name is long: one of its own where that is free.

        >>> Letters(frozenset({"BatchSize", "ModelDim", "B"})).shortened.stands_for
        (('BatchSize', 'b'), ('ModelDim', 'M'))
        """
        taken = {*self.dimensions, *YIELDING, "T"}
        chosen: list[tuple[str, str]] = []
        for name in sorted(name for name in self.dimensions if len(name) > LONG):
            own = (name[0].upper(), name[0].lower(), *name.upper(), *ascii_letters)
            letter = next((c for c in own if c.isascii() and c.isalpha() and c not in taken), name)
            taken.add(letter)
            chosen.append((name, letter))
        return replace(self, stands_for=tuple(chosen))

    def latex(self, name: str) -> str:
        r"""
        >>> Letters(frozenset({"R"})).latex("ridge"), Letters().latex("d_model"), Letters().latex("T_math"), Letters().latex("T_X")
        ('I_{\\text{ridge}}', 'd_{\\text{model}}', 'T_{\\text{math}}', 'T_X')
        >>> Letters(frozenset({"X"})).latex("sent(X)"), Letters().latex("T_math(h)"), Letters().latex("flops_forward")
        ('\\text{bytes sent}(X)', 'T_{\\text{math}}(\\text{h})', '\\text{FLOPs}_{\\text{fwd}}')
        """
        name = dict(self.stands_for).get(name, name)
        quantity = TABLE.get(name)
        if quantity is not None and quantity.letter is not None:
            if quantity.instead is not None and quantity.letter in self.dimensions | self.beside:
                return quantity.instead.replace("LINK", self.link.replace("_", " "))
            return quantity.letter
        if is_opaque(name):
            return r"\text{" + re.sub(r"([_%&])", r"\\\1", name[1:-1]) + "}"
        if match := OF_TENSOR.fullmatch(name):
            own = match[2] in self.dimensions or match[1] == "sent"  # over an axis
            return f"{self.latex(match[1])}({self.latex(match[2]) if own else _upright(match[2])})"
        if name in PASSES:
            return PASSES[name]
        head, _, tail = name.partition("_")
        if not tail and len(head) > 1 and head[1:].isdigit():
            head, tail = head[0], head[1:]
        if len(head) > 1:
            return rf"\text{{{_spelled(name)}}}"
        if head == "T" and len(tail) == 1:  # the time of an axis
            return f"T_{tail}"
        letter = "\\" + GREEK[head] if head in GREEK else head
        return letter if not tail else rf"{letter}_{{\text{{{_spelled(tail)}}}}}"

    @property
    def runs(self) -> bool:
        """Whether the name of a dimension is a run of others, so that products need spaces: BD beside B and D.

        >>> Letters(frozenset({"B", "D", "BD"})).runs
        True
        """
        return any(len(name) > 1 and set(name) <= self.dimensions for name in self.dimensions)

    def plain(self, name: str) -> str:
        """The name in claim syntax.

        >>> Letters().plain("flops_exact")
        'flops'
        """
        return PLAIN.get(name, name.replace("flops_exact(", "flops("))


def _upright(name: str) -> str:
    """The name of a statement or a tensor, as it stands in the program."""
    return rf"\text{{{_spelled(name)}}}"


def _spelled(word: str) -> str:
    """A word as text: its underscores are spaces, its Greek letters are spelled out."""
    return "".join(GREEK.get(c, c) for c in word.replace("_", " "))


# How tightly a part binds, the loosest first.
SUM, NEGATIVE, QUOTIENT, PRODUCT, POWER, ATOM = range(6)
# A number, a letter, and the letters behind it: what may be read as a number with a unit.
RUN = re.compile(r"(?<![\w.])((?:[\d.]+e[+-]?\d+|[\d.]*\d)[A-Za-z])([A-Za-z]+)")
UNICODE = {"~": "≈", "regime ~": "~", "->": "→", "<=": "≤", ">=": "≥", "<<": "≪", "<=>": "⇔", "=>": "⇒", "oo": "∞"}


class Kind(Enum):
    """What stands at the ends of a factor, and so decides how it is joined to its neighbour."""

    LETTER, COMMAND, WORD, NUMERAL, FRACTION, BRACKET, CHAIN = range(7)


class Part(Frozen, often=True):
    """What a rule gives: the text, how tightly it binds, whether it is taller than a line, and what it looks like."""

    text: str
    binding: int
    tall: bool = False
    kind: Kind = Kind.BRACKET


class Words(Frozen):
    """The words inside formulas, those of claim syntax where no language is said. ``both`` and ``either`` have the spaces
    around them. What stands around a guard is a pair: in the column of a display, in a line of text; so is what stands
    around the case that is left in a line. ``quantities`` are what typeset quantities without a letter are called, by
    their names in English."""

    both: str = " and "
    either: str = " or "
    always: str = "always"
    never: str = "never"
    otherwise: str = "otherwise"
    guard: tuple[str, str] = ("if ", "")
    guard_in_line: tuple[str, str] = (" if ", "")
    rest_in_line: tuple[str, str] = ("", " otherwise")
    between_cases: str = "; "
    quantities: Mapping[str, str] = field(default_factory=dict)


class Notation(Frozen, ABC):
    """The rules of the tree that are the same in every notation. A sign without another form is as it is."""

    letters: Letters = field(default_factory=Letters)
    words: Words = Words()

    @property
    @abstractmethod
    def signs(self) -> Mapping[str, str]:
        """The signs of relations."""

    def brackets(self, part: Part) -> str:
        return f"({part.text})"

    def inside(self, part: Part, least: int) -> str:
        """The text, in brackets where it binds less tightly than it has to."""
        return part.text if part.binding >= least else self.brackets(part)

    def print(self, formula: Formula) -> str:
        part: Part = fold(formula, self)
        return part.text

    def sign(self, sign: str) -> str:
        return self.signs.get(sign, sign)

    def word(self, word: str) -> str:
        """A word among formulas."""
        return word

    def between(self, word: str) -> str:
        """A word between formulas."""
        return word

    def relation(self, relation: str) -> str:
        """The sign of a relation; that of a regime is marked, as in ``regime ~``, and may be another one."""
        return self.signs.get(relation) or self.sign(relation.removeprefix("regime "))

    def infinity(self, node: Formula) -> Part:
        return Part(self.sign("oo"), ATOM, kind=Kind.COMMAND)

    def verdict(self, node: Verdict) -> Part:
        return Part(self.word(self.words.always if node.holds else self.words.never), ATOM, kind=Kind.WORD)

    def sum(self, node: Formula, *terms: Part) -> Part:
        return Part(" ".join(self.signed(*terms)), SUM, any(part.tall for part in terms))

    def signed(self, first: Part, *terms: Part) -> Iterator[str]:
        """The terms of a sum, each but the first with its sign before it."""
        yield first.text
        for part in terms:
            minus = part.binding == NEGATIVE and part.text.startswith("-")
            yield f"- {part.text[1:]}" if minus else f"+ {self.inside(part, NEGATIVE)}"

    def negative(self, node: Formula, body: Part) -> Part:
        return Part(f"-{self.inside(body, QUOTIENT)}", NEGATIVE, body.tall)

    def group(self, node: Formula, body: Part) -> Part:
        return body if body.binding >= POWER else Part(self.brackets(body), ATOM, body.tall)

    def written(self, node: Written, body: Part) -> Part:
        return body

    def compare(self, node: Compare, left: Part, right: Part) -> Part:
        return self.joined(f" {self.sign(node.relation)} ", left, right)

    def both(self, node: Both, *parts: Part) -> Part:
        each = zip(node.parts, parts, strict=True)
        return self.joined(
            self.between(self.words.both), *(self._apart(formula, part, Either | Cases) for formula, part in each)
        )

    def either(self, node: Either, *parts: Part) -> Part:
        each = zip(node.parts, parts, strict=True)
        return self.joined(
            self.between(self.words.either), *(self._apart(formula, part, Cases) for formula, part in each)
        )

    def _apart(self, node: Formula, part: Part, loose: Any) -> Part:
        """A part of a proposition, in brackets where it would be read otherwise without them."""
        return replace(part, text=self.brackets(part)) if isinstance(node, loose) else part

    def joined(self, between: str, *parts: Part) -> Part:
        return Part(between.join(part.text for part in parts), SUM, any(part.tall for part in parts))


class PlainPrinter(Notation):
    """``unicode`` signs for relations; ``explicit`` writes every ``*`` and ``**``.

    >>> from symroof.formula import *
    >>> formula = Quotient(Product((number(2), Name("B"), Name("D"))), Product((number(3), Name("F"))))
    >>> PlainPrinter().print(formula), PlainPrinter(explicit=True).print(formula)
    ('2BD/(3F)', '2*B*D/(3*F)')
    """

    unicode: bool = False
    explicit: bool = False

    @property
    def signs(self) -> Mapping[str, str]:
        return UNICODE if self.unicode else {}

    def number(self, node: Number) -> Part:
        if node.digits is not None:
            digits = re.sub(" us$", " µs", node.digits) if self.unicode else node.digits
            return Part(digits, QUOTIENT if "/" in node.digits else ATOM)
        if node.value.denominator == 1:
            return Part(str(node.value), ATOM if node.value >= 0 else NEGATIVE)
        return Part(str(node.value), QUOTIENT)

    def figure(self, node: Figure) -> Part:
        return Part(node.digits, ATOM)

    def name(self, node: Name) -> Part:
        return Part(self.letters.plain(node.name), ATOM)

    def product(self, node: Product, *factors: Part) -> Part:
        parts = [self.inside(factor, PRODUCT) for factor in factors]
        if self.explicit:
            return Part("*".join(parts), PRODUCT)
        text = parts[0]
        for before, part, factor in zip(node.factors, parts[1:], node.factors[1:], strict=False):
            number = part[:1].isdigit() or part[:1] == "."
            wordy = any(len(self.letters.plain(name)) > 1 for side in (before, factor) for name in _letters(side))
            apart = wordy or self.letters.runs or isinstance(before, Call) or isinstance(factor, Call)
            text += ("*" if number else " " if apart else "") + part
        return Part(no_unit(text), PRODUCT)

    def quotient(self, node: Formula, above: Part, below: Part) -> Part:
        return Part(f"{self.inside(above, PRODUCT)}/{self.inside(below, POWER)}", QUOTIENT)

    def power(self, node: Formula, base: Part, exponent: Part) -> Part:
        sign = "**" if self.explicit else "^"
        return Part(f"{self.inside(base, ATOM)}{sign}{self.inside(exponent, ATOM)}", POWER)

    def call(self, node: Call, *arguments: Part) -> Part:
        return Part(node.function + self.brackets(self.joined(", ", *arguments)), ATOM)

    def cases(self, node: Cases, *parts: Part) -> Part:
        left = node.otherwise is not None and not (self.explicit and node.otherwise == Verdict(False))
        if not self.explicit:
            return Part(self.words.between_cases.join(then + guard for then, guard in self.each_case(node)), SUM)
        rows = [f"{then.text} and {guard.text}" for then, guard in zip(parts[::2], parts[1::2], strict=False)]
        return Part("; ".join((*rows, f"{parts[-1].text} otherwise")) if left else " or ".join(rows), SUM)

    def each_case(self, node: Cases) -> list[tuple[str, str]]:
        """What holds in each case, and what stands behind it: its guard; the case that is left has none.

        >>> from symroof.formula import Cases, Compare, Name, Verdict, number
        >>> D = Name("D")
        >>> PlainPrinter().each_case(Cases(((Verdict(True), Compare(D, ">", number(1))),), Verdict(False)))
        [('always', ' if D > 1'), ('never otherwise', '')]
        """
        words = self.words
        cases = [(self.print(then), self.print(guard).join(words.guard_in_line)) for then, guard in node.rows]
        rest = [] if node.otherwise is None else [(self.print(node.otherwise).join(words.rest_in_line), "")]
        return cases + rest


def no_unit(product: str) -> str:
    """A product with a space between letters that would be the unit of its number.

    >>> no_unit("2MB"), no_unit("2MBF"), no_unit("10*9.75kB^2")
    ('2M B', '2MBF', '10*9.75k B^2')
    """
    return RUN.sub(lambda run: f"{run[1]} {run[2]}" if run[1][-1] + run[2] in UNITS else run[0], product)


def _letters(factor: Formula) -> tuple[str, ...]:
    """The name that a factor is, or is a power of."""
    base = factor.base if isinstance(factor, Power) else factor
    return (base.name,) if isinstance(base, Name) else ()
