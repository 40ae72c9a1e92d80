"""How names are printed: letters for quantities, which give way to dimensions of the same letter."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace
from string import ascii_letters

from symroof.formula import Frozen
from symroof.model.quantities import TABLE
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
