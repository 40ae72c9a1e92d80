r"""Formulas as LaTeX, within the subset that KaTeX, MathJax, pdflatex and Markdown processors agree on.

Products by juxtaposition, fractions upright, ``1.97 \times 10^{14}``, no macros, no packages, ASCII only.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from itertools import pairwise

from symroof.formula import (
    Both,
    Call,
    Cases,
    Compare,
    Either,
    Figure,
    Formula,
    Infinity,
    Name,
    Negative,
    Number,
    Verdict,
    Written,
    fold,
)
from symroof.rendering.formulas.letters import Letters

SUM, NEGATIVE, PRODUCT, POWER, ATOM = range(5)
RELATIONS = {
    "=": "=",
    "~": r"\approx",
    "->": r"\to",
    "<": "<",
    "<=": r"\le",
    ">": ">",
    ">=": r"\ge",
    "<<": r"\ll",
    "~~": r"\asymp",
    "<=>": r"\iff",
    "=>": r"\implies",
}
FUNCTIONS = {"max": r"\max", "min": r"\min", "log": r"\log", "exp": r"\exp"}

# What stands at the ends of a factor, and so decides how it is joined to its neighbour.
LETTER, COMMAND, WORD, NUMERAL, FRACTION, BRACKET, CHAIN = range(7)
ANYTHING = frozenset(range(7))
DOT = r" \cdot "


@dataclass(frozen=True, slots=True)
class Part:
    """What a rule gives: the text, how tightly it binds, whether it is taller than a line, and what it looks like."""

    text: str
    binding: int
    tall: bool = False
    kind: int = BRACKET


@dataclass(frozen=True, slots=True)
class Joint:
    """A sign between two factors that cannot stand side by side."""

    before: frozenset[int]
    after: frozenset[int]
    reason: str


JOINTS = (
    Joint(ANYTHING, frozenset({NUMERAL, CHAIN}), "a digit would join the one before it, or look like its index"),
    Joint(frozenset({CHAIN}), ANYTHING, "what follows 1.97 x 10^14 would seem to belong to the power"),
    Joint(frozenset({NUMERAL}), frozenset({FRACTION}), "2 1/2 is two and a half"),
    Joint(frozenset({WORD}), ANYTHING - {BRACKET}, "words side by side are one phrase"),
    Joint(ANYTHING, frozenset({WORD}), "words side by side are one phrase"),
)


@dataclass(frozen=True, slots=True)
class LatexPrinter:
    """
    >>> from symroof.formula import *
    >>> B, D = Name("B"), Name("D")
    >>> LatexPrinter().print(Product((number(2), B, Sum((D, Negative(number(1)))))))
    '2B(D - 1)'
    """

    letters: Letters = field(default_factory=Letters)

    def print(self, formula: Formula) -> str:
        part: Part = fold(formula, self)
        return part.text

    def relation(self, relation: str, *, regime: bool = False) -> str:
        return r"\sim" if regime and relation == "~" else RELATIONS[relation]

    def digits(self, digits: str) -> Part:
        r"""
        >>> LatexPrinter().digits("1.97e14").text
        '1.97 \\times 10^{14}'
        """
        mantissa, _, power = digits.lower().partition("e")
        if not power:
            return Part(mantissa, ATOM, kind=NUMERAL)
        return Part(rf"{mantissa} \times 10^{{{int(power)}}}", PRODUCT, kind=CHAIN)

    def number(self, node: Number) -> Part:
        if node.digits is not None:
            digits, _, unit = node.digits.partition(" ")
            shown = self.digits(digits.rstrip("%"))
            sign = rf" \text{{ {unit}}}" if unit and unit != "%" else r"\%" if unit or digits.endswith("%") else ""
            return replace(shown, text=shown.text + sign.replace(r"\text{ us}", r"\mu\text{s}"))
        if node.value.denominator == 1:
            return Part(str(node.value.numerator), ATOM if node.value >= 0 else NEGATIVE, kind=NUMERAL)
        return Part(rf"\frac{{{node.value.numerator}}}{{{node.value.denominator}}}", ATOM, True, FRACTION)

    def figure(self, node: Figure) -> Part:
        return self.digits(node.digits)

    def name(self, node: Name) -> Part:
        text = self.letters.latex(node.name)
        return Part(text, ATOM, kind=WORD if text.startswith(r"\text") else COMMAND if text[0] == "\\" else LETTER)

    def infinity(self, node: Infinity) -> Part:
        return Part(r"\infty", ATOM, kind=COMMAND)

    def verdict(self, node: Verdict) -> Part:
        return Part(r"\text{always}" if node.holds else r"\text{never}", ATOM, kind=WORD)

    def sum(self, node: Formula, *terms: Part) -> Part:
        text = terms[0].text
        for part in terms[1:]:
            minus = part.binding == NEGATIVE and part.text.startswith("-")
            text += f" - {part.text[1:]}" if minus else f" + {brackets(part) if part.binding == SUM else part.text}"
        return Part(text, SUM, any(part.tall for part in terms))

    def negative(self, node: Negative, body: Part) -> Part:
        return Part("-" + (brackets(body) if body.binding <= NEGATIVE else body.text), NEGATIVE, body.tall)

    def group(self, node: Formula, body: Part) -> Part:
        return Part(brackets(body), ATOM, body.tall) if body.binding < POWER else replace(body, binding=ATOM)

    def written(self, node: Written, body: Part) -> Part:
        from symroof.rendering.formulas.latexified import typeset

        text = typeset(node.function, self.letters)
        return body if text is None else Part(text, SUM, r"\frac" in text)

    def product(self, node: Formula, *factors: Part) -> Part:
        r"""
        >>> from symroof.formula import Figure, Product, number
        >>> LatexPrinter().print(Product((number(2), Figure("peak", "4.59e14"))))
        '2 \\cdot 4.59 \\times 10^{14}'
        """
        parts = [replace(f, text=brackets(f), kind=BRACKET) if f.binding < PRODUCT else f for f in factors]
        text = parts[0].text
        for before, after in pairwise(parts):
            text += _joint(before, after, text) + after.text
        return Part(text, PRODUCT, any(part.tall for part in factors), CHAIN)

    def quotient(self, node: Formula, above: Part, below: Part) -> Part:
        return Part(rf"\frac{{{above.text}}}{{{below.text}}}", ATOM, True, FRACTION)

    def power(self, node: Formula, base: Part, exponent: Part) -> Part:
        loose = base.binding < ATOM or base.tall
        kind = BRACKET if loose else base.kind
        return Part(f"{brackets(base) if loose else base.text}^{{{exponent.text}}}", POWER, base.tall, kind)

    def call(self, node: Call, *arguments: Part) -> Part:
        if node.function == "sqrt":
            return Part(rf"\sqrt{{{arguments[0].text}}}", ATOM, True, COMMAND)
        listed = Part(", ".join(a.text for a in arguments), SUM, any(a.tall for a in arguments))
        known = FUNCTIONS.get(node.function)
        head = known or rf"\mathrm{{{node.function}}}"
        return Part(head + brackets(listed), ATOM, listed.tall, COMMAND if known else WORD)

    def compare(self, node: Compare, left: Part, right: Part) -> Part:
        return Part(f"{left.text} {RELATIONS[node.relation]} {right.text}", SUM, left.tall or right.tall)

    def both(self, node: Both, *parts: Part) -> Part:
        return Part(r" \text{ and } ".join(p.text for p in parts), SUM, any(p.tall for p in parts))

    def either(self, node: Either, *parts: Part) -> Part:
        return Part(r" \text{ or } ".join(p.text for p in parts), SUM, any(p.tall for p in parts))

    def cases(self, node: Cases, *parts: Part) -> Part:
        rows = []
        for i in range(len(node.rows)):
            consequence, guard = parts[2 * i].text.replace(r"\frac", r"\dfrac", 1), parts[2 * i + 1].text
            rows.append(rf"{consequence} & \text{{if }} {guard}")
        if node.otherwise is not None:
            rows.append(rf"{parts[-1].text} & \text{{otherwise}}")
        body = " \\\\[1em]\n".join(rows)
        return Part(f"\n\\begin{{cases}}\n{body}\n\\end{{cases}}", SUM, True)


def brackets(part: Part) -> str:
    """Plain brackets around a line, growing ones around anything taller or around brackets."""
    return rf"\left( {part.text} \right)" if part.tall or "(" in part.text else f"({part.text})"


def _joint(before: Part, after: Part, text: str) -> str:
    """What stands between two factors: a dot where a table says so, a space where TeX or the eye needs one."""
    start = NUMERAL if after.text[0].isdigit() else after.kind
    if any(before.kind in joint.before and start in joint.after for joint in JOINTS):
        return DOT
    runs_on = after.text[:1].isalpha() and re.search(r"\\[A-Za-z]+$", text)
    return " " if before.tall or after.tall or after.text.startswith("\\") or runs_on else ""
