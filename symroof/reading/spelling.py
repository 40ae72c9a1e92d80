"""How a document spells: the macros that it defines, and the letters that stand alone in its formulas.

Letters that stand alone somewhere are names: ``bsh`` is the product of three of them. Nothing else makes a word of small
letters a product, and ``k`` and ``M`` behind a number are powers of ten only where no such letter is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import field

from symroof.formula import Frozen
from symroof.reading.latex_names import TEXTS
from symroof.reading.macros import Macro, definitions
from symroof.reading.scanner import GREEK

# What holds no letter that stands alone: derivatives, words, commands, indices, and what stands behind a number or a bar.
ASIDE = re.compile(
    r"\\frac\s*\{\s*d\b[^{}]*\}\s*\{\s*d|/s\b|"
    rf"\\(?:{TEXTS}|begin|end|label|tag)\s*\{{[^{{}}]*\}}|\\[A-Za-z]+|[A-Za-z]?_\s*(?:\{{[^{{}}]*\}}|\w)|\d[\d.]*(?:[eE][+-]?\d+)?\s*(?:[A-Za-z]\b)?"
)
LETTERS = re.compile(rf"[A-Za-z{GREEK}]\w*")


class Spelling(Frozen):
    """The ``macros`` of a document, and the ``letters`` that stand alone in it."""

    macros: Mapping[str, Macro] = field(default_factory=dict)
    letters: frozenset[str] = frozenset()


def spelling(text: str, formulas: Iterable[str]) -> Spelling:
    """How a text with these formulas spells.

    >>> sorted(spelling("", ["b", "s = 2048", "12lh^2", "2 k", "x_i"]).letters)
    ['b', 's']
    """
    words = {word for formula in formulas for word in LETTERS.findall(ASIDE.sub(" ", formula))}
    letters = frozenset(word for word in words if len(word) == 1)
    return Spelling({one.name: one.macro for one in definitions(text)}, letters)
