"""The claims of a formula of a document: in the names of its problem, or in those of its own; of typeset mathematics, of code,
and of calculations in prose; with what stands directly before it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from symroof.errors import ReadingError, SymroofError
from symroof.formula import names
from symroof.model.quantities import QUANTITIES
from symroof.reading.attempts import read_formula, unread
from symroof.reading.calculations import calculations, read_calculation
from symroof.reading.claims import Chain, Claim, read_claim
from symroof.reading.documents import Written
from symroof.reading.exercises import Exercise
from symroof.reading.latex import read_latex, read_latex_expression
from symroof.reading.latex_phrases import Dialect
from symroof.reading.problems import GIVE_WAY
from symroof.reading.scope import Scope
from symroof.verification.comments import InForce
from symroof.verification.context import Context
from symroof.verification.definitions import context_of
from symroof.verification.surroundings import Discourse


def contexts(force: InForce, said: Discourse) -> tuple[Context, ...]:
    """The contexts in which a formula is read in turn, with what the document defines: that of the problem, and one in
    which every letter declares itself."""
    defined = {name: definition.formula for name, definition in said.in_force().items()}
    context = force.context.defining(defined) if defined else force.context
    bare = context_of(Exercise()).defining(defined) if context.setting is not None else context
    letters = tuple(dict.fromkeys((*QUANTITIES, *defined, *bare.scope.names)))
    own = replace(bare, scope=Scope(letters, open=True, indices=True, give_way=GIVE_WAY))
    return (own,) if context.scope.open else (context, own)


def given_names(force: InForce) -> frozenset[str]:
    """The names that a problem explains; a document says what they are, and does not define them."""
    stated = force.exercise.problem is not None or force.exercise.hardware is not None
    return frozenset((*QUANTITIES, *force.context.definitions)) if stated else frozenset()


def going_on(claims: tuple[Claim, ...], before: Written | None, dialect: Dialect) -> tuple[Claim, ...]:
    """Claims of which the first one may lack its left side, with what the formula directly before it ends with."""
    sides = claims[0].chains[0].sides if claims and claims[0].chains else ()
    if before is None or before.kind != "math" or not sides or unread(sides[0]) != "":
        return claims
    try:
        left = read_latex(before.text, dialect)[-1].chains[-1].sides[-1]
    except SymroofError:
        try:
            left = read_latex_expression(before.text, dialect)
        except SymroofError:
            return claims
    (first, *chains), *more = claims[0].propositions
    return (replace(claims[0], propositions=((replace(first, sides=(left, *sides[1:])), *chains), *more)), *claims[1:])


def claims_in(written: Written, force: InForce, said: Discourse) -> tuple[tuple[Claim, ...], Context]:
    """The claims of a formula, and the context in whose names they are read. Code without a claim has none."""
    in_turn = contexts(force, said)
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
