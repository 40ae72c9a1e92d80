"""The claims of a formula of a document: in the names of its problem, or in those of its own; of typeset mathematics, of code,
and of calculations in prose; with what stands directly before it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from symroof.errors import ReadingError, SymroofError
from symroof.formula import Formula, Gap, names, number
from symroof.model.quantities import QUANTITIES
from symroof.reading.calculations import calculations, read_calculation
from symroof.reading.claims import Chain, Claim, read_claim
from symroof.reading.documents import Written
from symroof.reading.exercises import Exercise
from symroof.reading.latex import read_latex
from symroof.reading.latex_phrases import Dialect
from symroof.reading.name_scope import Scope, is_opaque
from symroof.reading.problems import GIVE_WAY
from symroof.reading.vocabulary import WORDS
from symroof.verification.comments import InForce
from symroof.verification.context import Context
from symroof.verification.definitions import context_of


def contexts(force: InForce) -> tuple[Context, ...]:
    """The contexts in which a formula is read in turn: that of the problem, and one in which every letter declares itself;
    a size of the problem is a name there as well, and no unit."""
    context = force.context
    bare = context_of(Exercise()) if context.setting is not None else context
    letters = tuple(dict.fromkeys((*QUANTITIES, *bare.scope.names, *sorted(context.least_one))))
    own = replace(bare, scope=Scope(letters, open=True, indices=True, give_way=GIVE_WAY))
    return (own,) if context.scope.open else (context, own)


def given_names(force: InForce) -> frozenset[str]:
    """The names that a problem explains; a document says what they are, and does not define them."""
    stated = force.exercise.problem is not None or force.exercise.hardware is not None
    return frozenset((*QUANTITIES, *force.context.definitions)) if stated else frozenset()


def usual_sizes(claims: Iterable[Claim], force: InForce) -> dict[str, Formula]:
    """The one set of sizes that a problem states, for claims that name none themselves."""
    problem = force.exercise.problem
    spoken = {name for claim in claims for link in claim.links for name in names(link)}
    if problem is None or len(problem.at) != 1 or spoken & {*problem.names, *problem.symbols}:
        return {}
    return {name: number(size) for name, size in problem.at[0].items()}


def claims_in(written: Written, force: InForce) -> tuple[tuple[Claim, ...], Context]:
    """The claims of a formula, and the context in whose names they are read. Code without a claim has none."""
    in_turn = contexts(force)
    if written.kind == "math":
        claims, which = read_formula(written.text, [force.dialect(context.scope) for context in in_turn])
        return claims, in_turn[which]
    if written.kind == "prose":
        context = in_turn[-1]
        return (replace(read_calculation(written.text, _lenient(context)), whole=written.whole),), context
    failed: SymroofError | None = None
    for context in in_turn:
        try:
            return _of_code(written.text, replace(context, scope=replace(context.scope, letters=frozenset()))), context
        except SymroofError as error:
            failed = failed or error
    raise failed or ReadingError("the formula cannot be read")


def _of_code(text: str, context: Context) -> tuple[Claim, ...]:
    """The claim of code that looks like arithmetic: in the names of a problem, else in numbers alone."""
    if any(sign in text for sign in ("<<", ">>", "==")):
        return ()
    try:
        claim = read_claim(text, context.scope)
    except SymroofError:
        if context.scope.open:
            return tuple(_typed(text, context))
        raise
    spoken = {name for link in claim.links for name in names(link)}
    if not context.scope.open or spoken <= set(context.scope.names) - set(QUANTITIES):
        return (claim,)
    runs = tuple(Chain((link.left, link.right), (link.relation,)) for link in claim.links if not names(link))
    return (replace(claim, propositions=(runs,), connectives=()),) if runs else tuple(_typed(text, context))


def _typed(text: str, context: Context) -> Iterator[Claim]:
    """The calculations in code."""
    for found in calculations(text, names=True):
        part = text[found.start : found.end]
        claim = read_calculation(part, _lenient(context))
        named = any(names(link) for link in claim.links)  # what a program calls so may be anything
        yield replace(claim, whole=found.whole and not named)


def _lenient(context: Context) -> Scope:
    return replace(context.scope, letters=frozenset(), lenient=True)


STATEMENTS = {
    kind: re.compile(
        "|".join(re.escape(sign) + (r"(?![A-Za-z])" if sign[-1].isalpha() else "") for sign in WORDS["latex"][kind])
    )
    for kind in ("membership", "assignment")
}


def read_formula(text: str, dialects: Sequence[Dialect]) -> tuple[tuple[Claim, ...], int]:
    r"""The claims of a formula, and which of the dialects they are read in: the first that reads all of it, else the one
    that leaves out least. What no dialect reads at all is an error, that of the first.

    >>> from symroof.reading.name_scope import Scope
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


def _left_out(claims: tuple[Claim, ...]) -> tuple[int, int]:
    """How many sides cannot be read, and how many names nothing explains."""
    sides = [side for claim in claims for chain in claim.chains for side in chain.sides]
    return sum(bool(unread(side)) for side in sides), sum(is_opaque(name) for side in sides for name in names(side))
