"""Which formulas of a document are claims.

Prose is full of formulas that claim nothing: definitions, conditions, assumptions, sizes put in. A link is judged when
its names have values, or when its two sides stand on their own; every other one is skipped with a reason.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

from sympy import Expr

from symroof.algebra.rational import cancelled
from symroof.errors import SymroofError
from symroof.formula import Compare, Formula, Group, Infinity, Name, Product, names
from symroof.model.quantities import QUANTITIES
from symroof.proof.exact import ORDER
from symroof.proof.settling import negated
from symroof.symbols import expression
from symroof.verification.context import Context, Question
from symroof.verification.enclosures import is_numeric
from symroof.verification.literals import bare

BOUNDS = ("T_lower", "T_upper")


@dataclass(frozen=True, slots=True)
class Skip:
    """Why a formula is not judged; ``defines`` is the name that it gives a meaning to, and ``at_sizes`` tells of a value
    that could be judged at the sizes that stand beside it."""

    reason: str
    defines: str | None = None
    at_sizes: bool = False


def skipped(
    question: Question, context: Context, redefined: Container[str] = (), *, chained: bool = False
) -> Skip | None:
    """Why a link is not judged, or None where it is. Names that are ``redefined`` may be given another meaning.

    A link that is ``chained`` goes on from one before it: S = 2N = N + N asserts that its last two sides are the same.

    >>> from symroof.reading.latex import read_latex
    >>> from symroof.reading.latex_tokens import Dialect, Scope
    >>> from symroof.verification.context import Exercise, context_of
    >>> context, scope = context_of(Exercise()), Scope(open=True)
    >>> for text in ("\\\\frac{486}{2} = 243", "B > 240", "S = 2N", "\\\\frac{BDF}{DF} = B", "B \\\\ll D"):
    ...     link = read_latex(text, Dialect(scope))[0].propositions[0][0].links[0]
    ...     print((skip := skipped(context.question(link), context)) and skip.reason)
    None
    a condition
    a definition
    None
    an assumption
    """
    link, left, right = question.link, question.left, question.right
    if link.relation in ("<<", ">>") or isinstance(bare(link.right), Infinity):
        return Skip("an assumption")
    if isinstance(link.left, Product) and tuple(map(type, link.left.factors)) == (Name, Group):
        return Skip("a function, or a product in an unusual form")
    if isinstance(link.left, Name) and link.left.name in redefined and link.relation == "=":
        return Skip("a definition", link.left.name)
    if is_numeric(left) and is_numeric(right):
        size = isinstance(link.left, Name) and link.left.name in context.sized
        return Skip("a size that is put in") if size else None
    if link.relation in ORDER:
        letter = any(
            isinstance(a, Name) and a.name not in context.definitions and is_numeric(b)
            for a, b in ((link.left, right), (link.right, left))
        )
        return Skip("a condition") if letter else _condition(question.claim, context)
    if isinstance(link.left, Name) and link.relation == "=":
        name = link.left.name
        if name in context.least_one:
            return Skip("a size that is put in")
        if name not in context.definitions and name not in QUANTITIES:
            return Skip("a definition", name)
    spoken = {n for n in names(link) if n in QUANTITIES or n in context.definitions}
    return _quantities(question, context) if spoken else _own(question, chained, context)


def _condition(claim: Compare, context: Context) -> Skip | None:
    """An order that is true for some sizes and false for others claims nothing."""
    decided = context.settled(claim).truth or context.settled(negated(claim)).truth
    return None if decided else Skip("a condition")


def _quantities(question: Question, context: Context) -> Skip | None:
    """A link with quantities: judged where an operation or a model gives them values, or where it holds whatever they are."""
    link, left, right = question.link, question.left, question.right
    without = [n for n in (*names(left), *names(right)) if n in QUANTITIES]
    if context.setting is not None or not without:
        return _of_operation(question, context)
    name = link.left.name if isinstance(link.left, Name) else None
    if name in BOUNDS and set(names(link)) <= set(QUANTITIES):
        return None
    alone = (
        Skip("a definition", name)
        if name is not None and link.relation == "="
        else Skip(f"nothing says what {without[0]} is")
    )
    whatever = {*names(left), *names(right)} <= set(QUANTITIES) and _alike(left, right, context)
    return None if whatever else alone


def _of_operation(question: Question, context: Context) -> Skip | None:
    """Quantities with values: a number for one that depends on sizes, or two of them set equal, is true at some sizes."""
    link, left, right = question.link, question.left, question.right
    if {*names(left), *names(right)} & {"peak", "bandwidth"} and not _alike(left, right, context):
        return Skip("no chip is named")
    if link.relation in ("=", "~") and _depends(left) != _depends(right):
        return Skip("a value at some sizes", at_sizes=True)
    known = names(link.left) and names(link.right) and set(names(link)) <= set(context.definitions)
    if not known or link.relation not in ("=", "~") or _alike(left, right, context):
        return None
    if link.relation == "=" and _never_equal(left, right, context):
        return None
    times = isinstance(link.left, Name) and link.left.name in BOUNDS and link.relation == "="
    return None if times and not isinstance(link.right, Name) else Skip("an equation")


def _depends(formula: Formula) -> bool:
    """Whether the value of a side depends on any size."""
    try:
        value = expression(formula)
        return bool((cancelled(value) if value.is_rational_function() else value).free_symbols)
    except SymroofError:
        return bool(names(formula))


def _alike(left: Formula, right: Formula, context: Context) -> bool:
    return bool(context.settled(Compare(left, "=", right)).truth)


def _never_equal(left: Formula, right: Formula, context: Context) -> bool:
    """Whether one side is above the other on the whole domain."""
    return any(context.settled(Compare(left, sign, right)).truth for sign in "<>")


def _own(question: Question, chained: bool, context: Context) -> Skip | None:
    """Two sides in letters alone: an identity, or an approximation that drops letters.

    An equation between different letters may be one to be solved, or a definition; within a chain it is an identity as
    soon as the letters of one side are among those of the other. An equation that stands alone and is true for some
    sizes and false for others is one to be solved.
    """
    link, left, right = question.link, question.left, question.right
    try:
        a, b = expression(left), expression(right)
        a, b = (cancelled(side) if side.is_rational_function() else side for side in (a, b))
    except SymroofError as error:
        return Skip(error.problem)
    if not a.free_symbols:
        return Skip("an equation")
    if link.relation == "=":
        within = a.free_symbols <= b.free_symbols or b.free_symbols <= a.free_symbols
        same = a.free_symbols == b.free_symbols or (
            within and bool(b.free_symbols) and (chained or _sizes(a, b, context))
        )
        if not same:
            return Skip("an equation between different letters")
        if chained or _alike(left, right, context) or _never_equal(left, right, context):
            return None
        return Skip("an equation")
    if not b.free_symbols and link.relation == "~":
        return Skip("an equation")
    if not b.free_symbols <= a.free_symbols:
        return Skip("letters that the left side does not have")
    gone = a.free_symbols - b.free_symbols
    if b.free_symbols and any(not (cancelled(a / s) if a.is_rational_function() else a).has(s) for s in gone):
        return Skip("letters on one side alone")
    return None


def _sizes(a: Expr, b: Expr, context: Context) -> bool:
    """Whether two values speak of the sizes of the operation alone."""
    return {s.name for s in a.free_symbols | b.free_symbols} <= context.least_one
