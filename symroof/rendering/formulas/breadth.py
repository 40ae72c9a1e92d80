r"""How broad a formula is on paper, in letters: told from its LaTeX, so that what is too broad can be set otherwise."""

from __future__ import annotations

import re
from collections.abc import Iterator

TOKEN = re.compile(r"\\[A-Za-z]+|\\.|[^\\]", re.DOTALL)
ROW = re.compile(r"\\\\(?:\[\w+\])?")
SILENT = frozenset((r"\left", r"\right", r"\text", r"\mathrm", r"\,", " ", "\n", "&", "$"))
# Relations and signs have space around them.
SPACED = frozenset((r"\approx", r"\iff", r"\implies", r"\le", r"\ge", r"\ll", r"\to", r"\asymp", *"=<>+-"))
# How much of its breadth counts what stands behind these.
SHARES = {"_": 0.7, "^": 0.7, r"\begin": 0.0, r"\end": 0.0}


def breadth(tex: str) -> float:
    r"""The breadth of a formula in letters; a fraction is as broad as its broader part, an index is small.

    >>> breadth("BDF"), breadth(r"\frac{BDF}{BD + DF + BF}"), breadth(r"D_{\text{ab}}")
    (3.0, 13.0, 2.4)
    """
    return max(_group(iter(TOKEN.findall(row))) for row in ROW.split(tex))


def _group(tokens: Iterator[str]) -> float:
    """The breadth up to the end of the group."""
    return sum(_item(token, tokens) for token in iter(lambda: next(tokens, "}"), "}"))


def _item(token: str, tokens: Iterator[str]) -> float:
    """The breadth of what begins with a token."""
    if token == "{":
        return _group(tokens)
    if token in (r"\frac", r"\dfrac"):
        return max(_item(next(tokens, " "), tokens), _item(next(tokens, " "), tokens)) + 1
    if token in SHARES:
        return SHARES[token] * _item(next(tokens, " "), tokens)
    return 0.0 if token in SILENT else 3.0 if token in SPACED else 1.0
