"""The one door to the solvers of the algebra: what comes out has been proved by the second engine, or is an error.

A solved condition is put to the second engine as an equivalence, a limit is read off the highest powers again, a slope
follows the chain rule, a least place has to meet its weighted means. Values are SymPy expressions; ``least_one`` are the
symbols that are at least 1, all others are above 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache

from sympy import Expr, Max, Min, diff, oo

from symroof.algebra import solvers
from symroof.algebra.rational import cancel, sign_of, symbols_of
from symroof.algebra.solvers import Optimum as Optimum, least_maximum, least_sum, lines as lines
from symroof.derivation.formula_writing import Layout
from symroof.derivation.solutions import Solution, bands, written_solution
from symroof.formula import (
    MIRRORED,
    Both,
    Call,
    Cases,
    Compare,
    Either,
    Formula,
    Infinity,
    Name,
    Number,
    Sizes,
    Verdict,
    number,
    several_of,
    total,
)
from symroof.proof.calculus import monotony_of, slope, tends
from symroof.proof.check import check
from symroof.proof.minima import LeastPlace
from symroof.proof.propositions import negated
from symroof.proof.quotients import Quotients
from symroof.proof.step import Ledger, Reason, RefutedError, Step, UndecidedError

PLAIN = Layout(())
Values = Mapping[Expr, Fraction]


def solution_of(
    value: Expr,
    level: Expr,
    variable: Expr,
    least_one: frozenset[Expr],
    *,
    layout: Layout = PLAIN,
    values: Values | None = None,
    roots: bool = True,
) -> Solution:
    """Where ``value`` > ``level``, solved for the variable. ``values`` of figures decide signs and are not put in. Without
    ``roots``, and where the second engine can tell nothing of a solution by roots, the condition on the polynomial.

    >>> from symroof.symbols import symbol
    >>> B, D = symbol("B"), symbol("D")
    >>> from sympy import Integer
    >>> solution = solution_of(B*D/(B + D), Integer(8), B, frozenset({B, D}))
    >>> solution.bound, solution.rises, solution.check.by
    (8*D/(D - 8), True, 'exact identity of the cleared sides in every case')
    """
    try:
        return _solution(value, level, variable, least_one, layout, values, roots=roots)
    except UndecidedError:
        if not roots:
            raise
        return _solution(value, level, variable, least_one, layout, values, roots=False)


def _solution(
    value: Expr,
    level: Expr,
    variable: Expr,
    least_one: frozenset[Expr],
    layout: Layout,
    values: Values | None,
    *,
    roots: bool,
) -> Solution:
    solved = solvers.solve_for(value - level, variable, least_one, values, roots=roots)
    formula, ends = written_solution(solved, layout), bands(solved, layout)
    above = Compare(layout.write(value), ">", layout.write(level))
    step = Step("solve", Reason.SOLVE, above, "<=>", formula, ends)
    return Solution(variable.name, formula, ends, check(step, _ledger(least_one, values)), solved.one_root)


def relation_solved(
    left: Expr,
    right: Expr,
    relation: str,
    variable: Expr,
    least_one: frozenset[Expr],
    *,
    layout: Layout = PLAIN,
    values: Values | None = None,
) -> Solution:
    """Where a relation ``<``, ``<=``, ``>``, ``>=`` or ``=`` holds, solved for the variable.

    >>> from symroof.symbols import symbol
    >>> B, D = symbol("B"), symbol("D")
    >>> solution = relation_solved(B + D, 3 * D, "<=", B, frozenset({B, D}))
    >>> solution.end.relation, solution.bound
    ('<=', 2*D)
    """
    sides = (right, left) if relation in ("<", ">=") else (left, right)
    result = solution_of(*sides, variable, least_one, layout=layout, values=values)
    if relation in ("<", ">"):
        return result
    formula = _each_case(result.formula, negated if relation != "=" else _at_the_end)
    claim = Compare(layout.write(left), relation, layout.write(right))
    step = Step("solve", Reason.SOLVE, claim, "<=>", formula, result.bands)
    return Solution(variable.name, formula, result.bands, check(step, _ledger(least_one, values)), result.one_root)


def _each_case(formula: Formula, change: Callable[[Formula], Formula]) -> Formula:
    """Another consequence in every case."""
    if not isinstance(formula, Cases):
        return change(formula)
    rows = tuple((change(consequence), guard) for consequence, guard in formula.rows)
    return Cases(rows, None if formula.otherwise is None else change(formula.otherwise))


def _at_the_end(formula: Formula) -> Formula:
    """x = bound, where a condition is everything on one side of it; never, where it is all or nothing."""
    match formula:
        case Compare(left=left, right=right):
            return Compare(left, "=", right)
        case Both(parts=parts) | Either(parts=parts):
            return Either(tuple(map(_at_the_end, parts)))
    return Verdict(False)


@lru_cache(maxsize=256)
def solve_condition(
    left: Expr, right: Expr, variable: Expr, least_one: frozenset[Expr], relation: str = ">"
) -> tuple[tuple[Solution, ...], ...]:
    """The x with left > right, or another order, where either side may be a Max or Min: any row holds, a row being all of
    its solutions.

    >>> from symroof.symbols import symbol
    >>> B, D = symbol("B"), symbol("D")
    >>> from sympy import Integer
    >>> [[s.bound for s in row] for row in solve_condition(B, Max(2*D, Integer(5)), B, frozenset({B, D}))]
    [[2*D, 5]]
    """
    if relation[0] == "<":
        return solve_condition(right, left, variable, least_one, MIRRORED[relation])
    for side, function, every in ((right, Max, True), (left, Min, True), (right, Min, False), (left, Max, False)):
        if not isinstance(side, function):
            continue
        pairs = ((left, part) if side is right else (part, right) for part in sorted(side.args, key=str))
        parts = [solve_condition(*pair, variable, least_one, relation) for pair in pairs]
        if not every:
            return tuple(row for rows in parts for row in rows)
        rows: tuple[tuple[Solution, ...], ...] = ((),)
        for alternatives in parts:
            rows = tuple((*row, *more) for row in rows for more in alternatives)
        return rows
    return ((relation_solved(left, right, relation, variable, least_one),),)


def limit(value: Expr, variable: Expr, least_one: frozenset[Expr]) -> Expr:
    """What a rational function tends to as the variable grows and all others stay: a value, 0 or oo.

    >>> from symroof.symbols import symbol
    >>> B, D = symbol("B"), symbol("D")
    >>> limit(B*D/(B + D), B, frozenset({B, D}))
    D
    """
    result = solvers.growth(value, variable)
    exact, write = Quotients(least_one=_names(least_one)), PLAIN.write
    towards = Infinity() if result == oo else write(result)
    if not tends(exact.rational(write(value)), variable.name, towards, exact):
        raise RefutedError(f"the limit over {variable} was not proved")
    return result


@lru_cache(maxsize=1024)
def is_positive(value: Expr, least_one: frozenset[Expr]) -> bool:
    """Whether the second engine finds a rational function above 0 on the whole domain.

    >>> from symroof.symbols import symbol
    >>> B, D = symbol("B"), symbol("D")
    >>> is_positive(2*B - 1, frozenset({B})), is_positive(B - D, frozenset({B, D}))
    (True, False)
    """
    exact = Quotients(least_one=_names(least_one))
    return exact.is_positive(exact.rational(PLAIN.write(value)))


@lru_cache(maxsize=256)
def monotony(value: Expr, variable: Expr, least_one: frozenset[Expr]) -> int | None:
    """1 where a rational function rises in the variable on the whole domain, -1 where it falls, 0 constant, else None.

    >>> from symroof.symbols import symbol
    >>> B, D = symbol("B"), symbol("D")
    >>> monotony(B*D/(B + D), B, frozenset({B, D})), monotony(B + D/B, B, frozenset({B, D}))
    (1, None)
    """
    result = solvers.monotony(value, variable, least_one)
    if result is None:
        return None
    proved = monotony_of(PLAIN.write(value), variable.name, _names(least_one))
    if proved is not None and proved != result:
        raise RefutedError(f"the slope over {variable} was refuted")
    return proved


def supremum(value: Expr, variable: Expr, least_one: frozenset[Expr]) -> Expr | None:
    """The limit as the variable grows, where the function rises to it and never gets there; None elsewhere."""
    return limit(value, variable, least_one) if monotony(value, variable, least_one) == 1 else None


def ceiling_of(value: Expr, least_one: frozenset[Expr]) -> Expr | None:
    """The supremum over all symbols of a function that rises in each of them, one after the other; else None.

    >>> from symroof.symbols import symbol
    >>> D, F = symbol("D"), symbol("F")
    >>> ceiling_of(2*D*F/(D + F + D*F), frozenset({D, F}))
    2
    """
    while value.free_symbols:
        raised = supremum(value, symbols_of(value)[0], least_one)
        if raised is None or raised == oo:
            return None
        value = raised
    return value


def stays_below(top: Expr, value: Expr, least_one: frozenset[Expr]) -> str:
    """How a value is compared with its supremum: at some sizes it may be all of it.

    >>> from symroof.symbols import symbol
    >>> T, W = symbol("T"), symbol("W")
    >>> stays_below(W / 2, T * W / (2 * T + W), frozenset({T, W})), stays_below(W / 2, T * W / (2 * T + W - 1), frozenset({T, W}))
    ('<', '<=')
    """
    return "<" if sign_of(top - value, least_one) == 1 else "<="


def derivative(value: Expr, variable: Expr) -> Expr:
    """The derivative in the variable.

    >>> from symroof.symbols import symbol
    >>> derivative(symbol("X")**2, symbol("X"))
    2*X
    """
    result = cancel(diff(value, variable)) if value.is_rational_function() else diff(value, variable)
    exact = Quotients()
    rise = slope(exact.rational(PLAIN.write(value)), variable.name, exact)
    if not (rise - exact.rational(PLAIN.write(result))).is_zero():
        raise RefutedError(f"the derivative in {variable} was not proved")
    return result


def optimum_of(parts: Sequence[Expr], variable: Expr, least_one: frozenset[Expr], *, maximum: bool) -> Optimum:
    """Where the maximum or the sum of powers of the variable is least, and what it is there.

    >>> from symroof.symbols import symbol
    >>> a, b, x = map(symbol, "abx")
    >>> optimum_of((4*a*x, b/x), x, frozenset(), maximum=False).power
    b/(4*a)
    """
    result = (least_maximum if maximum else least_sum)(parts, variable, least_one)
    if result.way:
        return result
    forms = tuple(map(PLAIN.write, parts))
    body = Call("max", forms) if maximum and len(forms) > 1 else total(*forms)
    inside = (Compare(PLAIN.write(result.power), ">=", number(1)),)
    claim = Call("argmin", (body, Name(variable.name)))
    place = PLAIN.root(result.power, result.degree)
    step = Step("solve", Reason.BEST, claim, "=", place, inside, LeastPlace(forms))
    check(step, _ledger(least_one, None))
    return result


def _names(symbols: frozenset[Expr]) -> frozenset[str]:
    return Sizes(symbols, several_of(symbols)).named


def _ledger(least_one: frozenset[Expr], values: Values | None) -> Ledger:
    return Ledger(_names(least_one), {s.name: Number(value) for s, value in (values or {}).items()})


def outgrows(value: Expr, variable: Expr) -> bool:
    """Whether a rational function has a higher power of the variable above than below: it has no finite limit."""
    return bool(solvers.growth(value, variable) == oo)
