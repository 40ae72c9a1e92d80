"""Typeset formulas of a document: read strictly in one dialect after another, else as much of it as can be read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from symroof.errors import ReadingError, SymroofError
from symroof.formula import Formula, Gap, names
from symroof.reading.claims import Claim
from symroof.reading.latex import read_latex
from symroof.reading.latex_phrases import Dialect
from symroof.reading.scope import is_opaque
from symroof.reading.vocabulary import WORDS

TUPLES = re.compile(r"\(([^()=]+)\)\s*=\s*\(([\d\s.,{}]+)\)")
STATEMENTS = {
    kind: re.compile(
        "|".join(re.escape(sign) + (r"(?![A-Za-z])" if sign[-1].isalpha() else "") for sign in WORDS["latex"][kind])
    )
    for kind in ("membership", "assignment")
}


def read_formula(text: str, dialects: Sequence[Dialect]) -> tuple[tuple[Claim, ...], int]:
    r"""The claims of a formula, and which of the dialects they are read in: the first that reads all of it, else the one
    that leaves out least. What no dialect reads at all is an error, that of the first.

    >>> from symroof.reading.scope import Scope
    >>> claims, _ = read_formula(r"x = \foo = 12 = 3 \cdot 4", [Dialect(Scope(open=True))])
    >>> [type(side).__name__ for side in claims[0].chains[0].sides]
    ['Name', 'Gap', 'Number', 'Product']
    """
    refused: SymroofError | None = None
    for which, dialect in enumerate(dialects):
        try:
            return read_latex(text, dialect), which
        except SymroofError as error:
            refused = refused or error
    readings = []
    for which, dialect in enumerate(dialects):
        try:
            claims = read_latex(text, replace(dialect, scope=replace(dialect.scope, lenient=True)))
        except SymroofError:
            continue
        if any(unread(link.right) is None for claim in claims for link in claim.links):
            readings.append((claims, which))
    if not readings:
        raise refused or ReadingError("the formula cannot be read")
    return min(readings, key=lambda reading: _left_out(reading[0]))


def unread(side: Formula) -> str | None:
    """Why a side of a chain has no value: what could not be read in it; empty where none stands; None where it has one."""
    return (side.problem or "") if isinstance(side, Gap) else None


def other_statement(text: str) -> str | None:
    r"""What a formula states that is no relation of values: where something lies, or what a program assigns.

    >>> other_statement(r"W \in \mathbb{R}^{d}"), other_statement(r"s \leftarrow s + 1"), other_statement("a = b")
    ('membership', 'assignment', None)
    """
    return next((kind for kind, signs in STATEMENTS.items() if signs.search(text)), None)


def tuple_of(text: str) -> str | None:
    r"""What a tuple of names is said to be, as several formulas.

    >>> tuple_of("(t,p) = (4, 16)"), tuple_of("(a + b) = (c)")
    ('t = 4 \\\\ p = 16', None)
    """
    match = TUPLES.fullmatch(re.sub(r"\\(?:left|right|big|Big|,|;|!|:)", "", text).strip().rstrip(".,"))
    if match is None:
        return None
    letters, values = (re.split(r"\s*,\s*", part.strip()) for part in match.groups())
    return (
        " \\\\ ".join(f"{a} = {b}" for a, b in zip(letters, values, strict=True))
        if len(letters) == len(values) > 1
        else None
    )


def _left_out(claims: tuple[Claim, ...]) -> tuple[int, int]:
    """How many sides cannot be read, and how many names nothing explains."""
    sides = [side for claim in claims for chain in claim.chains for side in chain.sides]
    return sum(bool(unread(side)) for side in sides), sum(is_opaque(name) for side in sides for name in names(side))
