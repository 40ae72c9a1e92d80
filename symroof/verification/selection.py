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
from symroof.proof.sampling import ORDER
from symroof.proof.settling import negated, settle
from symroof.symbols import QUANTITIES, expression
from symroof.verification.context import THEORY, Context
from symroof.verification.digits import bare
from symroof.verification.enclosures import is_numeric
from symroof.verification.links import sides_of

BOUNDS = ("T_lower", "T_upper")


@dataclass(frozen=True, slots=True)
class Skip:
    """Why a formula is not judged; ``defines`` is the name that it gives a meaning to, and ``at_sizes`` tells of a value
    that could be judged at the sizes that stand beside it."""

    reason: str
    defines: str | None = None
    at_sizes: bool = False


def skipped(link: Compare, context: Context, redefined: Container[str] = (), *, chained: bool = False) -> Skip | None:
    """Why a link is not judged, or None where it is. Names that are ``redefined`` may be given another meaning.

    A link that is ``chained`` goes on from one before it: S = 2N = N + N asserts that its last two sides are the same.

    >>> from symroof.reading.latex import read_latex
    >>> from symroof.reading.latex_tokens import Dialect, Scope
    >>> from symroof.verification.context import Exercise, context_of
    >>> context, scope = context_of(Exercise()), Scope(open=True)
    >>> for text in ("\\\\frac{486}{2} = 243", "B > 240", "S = 2N", "\\\\frac{BDF}{DF} = B", "B \\\\ll D"):
    ...     link = read_latex(text, Dialect(scope))[0].propositions[0][0].links[0]
    ...     print((found := skipped(link, context)) and found.reason)
    None
    a condition
    a definition
    None
    an assumption
    """
    if link.relation in ("<<", ">>") or isinstance(bare(link.right), Infinity):
        return Skip("an assumption")
    left, right = sides_of(link, context)
    if (
        isinstance(link.left, Product)
        and len(link.left.factors) == 2
        and isinstance(link.left.factors[0], Name)
        and isinstance(link.left.factors[1], Group)
    ):
        return Skip("a function, or a product in an unusual form")
    if isinstance(link.left, Name) and link.left.name in redefined and link.relation == "=":
        return Skip("a definition", link.left.name)
    if is_numeric(left) and is_numeric(right):
        size = isinstance(link.left, Name) and link.left.name in context.spent
        return Skip("a size that is put in") if size else None
    if link.relation in ORDER:
        letter = any(
            isinstance(a, Name) and a.name not in context.definitions and is_numeric(b)
            for a, b in ((link.left, right), (link.right, left))
        )
        return Skip("a condition") if letter else _condition(Compare(left, link.relation, right), context)
    if isinstance(link.left, Name) and link.relation == "=":
        name = link.left.name
        if name in context.least_one:
            return Skip("a size that is put in")
        if name not in context.definitions and name not in QUANTITIES:
            return Skip("a definition", name)
    spoken = {n for n in names(link) if n in QUANTITIES or n in THEORY or n in context.definitions}
    free = {*names(left), *names(right)}
    if spoken:
        return _quantities(link, left, right, free, context)
    return _own(link, left, right, chained, context)


def _condition(claim: Compare, context: Context) -> Skip | None:
    """An order that is true for some sizes and false for others claims nothing."""
    if settle(claim, context.least_one, context.facts).truth:
        return None
    return None if settle(negated(claim), context.least_one, context.facts).truth else Skip("a condition")


def _quantities(link: Compare, left: Formula, right: Formula, free: set[str], context: Context) -> Skip | None:
    """A link with quantities: judged where an operation or a model gives them values, or where it holds whatever they are."""
    without = [n for n in free if n in QUANTITIES]
    if context.setting is not None or not without:
        return _of_operation(link, left, right, free, context)
    name = link.left.name if isinstance(link.left, Name) else None
    if name in BOUNDS and set(names(link)) <= set(QUANTITIES):
        return None
    alone = (
        Skip("a definition", name)
        if name is not None and link.relation == "="
        else Skip(f"nothing says what {without[0]} is")
    )
    if free - set(QUANTITIES):
        return alone
    if settle(Compare(left, "=", right), context.least_one).truth:
        return None
    return alone


def _of_operation(link: Compare, left: Formula, right: Formula, free: set[str], context: Context) -> Skip | None:
    """Quantities with values: a number for one that depends on sizes, or two of them set equal, is true at some sizes."""
    if free & {"peak", "bandwidth"} and not settle(Compare(left, "=", right), context.least_one).truth:
        return Skip("no chip is named")
    if link.relation in ("=", "~") and _depends(left) != _depends(right):
        return Skip("a value at some sizes", at_sizes=True)
    if (
        set(names(link)) <= set(context.definitions)
        and names(link.left)
        and names(link.right)
        and link.relation in ("=", "~")
    ):
        alike = settle(Compare(left, "=", right), context.least_one, context.facts).truth
        if not alike and (link.relation == "~" or not _never_equal(left, right, context)):
            times = isinstance(link.left, Name) and link.left.name in BOUNDS
            return None if times and link.relation == "=" and not isinstance(link.right, Name) else Skip("an equation")
    return None


def _depends(formula: Formula) -> bool:
    """Whether the value of a side depends on any size."""
    try:
        value = expression(formula)
        return bool((cancelled(value) if value.is_rational_function() else value).free_symbols)
    except SymroofError:
        return bool(names(formula))


def _never_equal(left: Formula, right: Formula, context: Context) -> bool:
    """Whether one side is above the other on the whole domain."""
    return any(settle(Compare(left, sign, right), context.least_one, context.facts).truth for sign in "<>")


def _own(link: Compare, left: Formula, right: Formula, chained: bool, context: Context) -> Skip | None:
    """Two sides in letters alone: an identity, or an approximation that drops letters.

    An equation between different letters may be one to be solved, or a definition; within a chain it is an identity as
    soon as the letters of one side are among those of the other. An equation that stands alone and is true for some
    sizes and false for others is one to be solved.
    """
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
        if chained or settle(Compare(left, "=", right), context.least_one).truth or _never_equal(left, right, context):
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
