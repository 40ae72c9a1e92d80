r"""How broad a formula is on paper, in letters: told from its LaTeX, so that what is too broad can be set otherwise."""

from __future__ import annotations

import re

TOKEN = re.compile(r"\\[A-Za-z]+|\\.|[^\\]", re.DOTALL)
ROW = re.compile(r"\\\\(?:\[\w+\])?")
SILENT = frozenset((r"\left", r"\right", r"\begin{", r"\text", r"\mathrm", r"\,", " ", "\n", "&", "$"))
# Relations and signs have space around them.
SPACED = frozenset((r"\approx", r"\iff", r"\implies", r"\le", r"\ge", r"\ll", r"\to", r"\asymp", *"=<>+-"))


def breadth(tex: str) -> float:
    r"""The breadth of a formula in letters; a fraction is as broad as its broader part, an index is small.

    >>> breadth("BDF"), breadth(r"\frac{BDF}{BD + DF + BF}"), breadth(r"D_{\text{ab}}")
    (3.0, 13.0, 2.4)
    """
    return max(_group(TOKEN.findall(row), 0)[0] for row in ROW.split(tex))


def _group(tokens: list[str], place: int) -> tuple[float, int]:
    """The breadth up to the end of the group, and the place behind it."""
    total = 0.0
    while place < len(tokens) and tokens[place] != "}":
        letters, place = _item(tokens, place)
        total += letters
    return total, place + 1


def _item(tokens: list[str], place: int) -> tuple[float, int]:
    if place >= len(tokens):
        return 0.0, place
    token = tokens[place]
    if token == "{":
        return _group(tokens, place + 1)
    if token in (r"\begin", r"\end"):
        return 0.0, _group(tokens, place + 2)[1]
    if token in (r"\frac", r"\dfrac"):
        above, place = _item(tokens, place + 1)
        below, place = _item(tokens, place)
        return max(above, below) + 1, place
    if token in "_^":
        letters, place = _item(tokens, place + 1)
        return 0.7 * letters, place
    return (0.0 if token in SILENT else 3.0 if token in SPACED else 1.0), place + 1
