"""The rows of a display: which of them go on with the one before, and which are formulas of their own."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from symroof.reading.claims import CONNECTIVES, RELATIONS
from symroof.reading.tokens import Token

SIGNS = ("+", "-", "*", "/")


def joined(tokens: tuple[Token, ...]) -> list[Token]:
    """Rows that begin with a relation go on with the chain, and those that begin with a sign, or with what cannot be read,
    with the side; marks at the end are punctuation."""
    kept: list[Token] = []
    for at, token in enumerate(tokens):
        after = tokens[min(at + 1, len(tokens) - 1)]
        joins = not kept or after.kind == "end" or {after.text, kept[-1].text} & {*RELATIONS, *CONNECTIVES, *SIGNS}
        if token.kind != "row" or not (joins or after.kind == "unread"):
            kept.append(token)
        elif after.text in SIGNS and _relates(tokens[at + 1 :]):
            kept.append(token._replace(kind="unread", text="a row that begins with a sign has two readings"))
    while len(kept) > 1 and kept[-2].text in (".", ",", ";", ":") and kept[-2].kind == "symbol":
        del kept[-2]
    return kept


def _relates(tokens: Sequence[Token]) -> bool:
    """Whether a relation stands in the row that begins here."""
    row = takewhile(lambda token: token.kind not in ("row", "end"), tokens)
    return any(token.text in RELATIONS for token in row)
