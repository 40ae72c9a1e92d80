"""The functions of claims that name a construction: sum, limit, sup, argmin, minimum, diff.

Each is worked out by the algebra and replaced by its value, so that the judge meets rational functions, roots,
maxima and minima only.

    sum(e, i, a, b)    e a polynomial in i: Faulhaber's formula; anything else with ends that are numbers: term by term
    limit(e, N -> oo)  e rational in N
    sup(e, B)          e monotone in B
    argmin(e, X)       e falls and then rises in X: where its slope changes sign
    minimum(e, X)      e at that place
    diff(e, X)         the derivative
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import comb

from sympy import Expr, Integer, Max, diff, oo

from symroof.algebra.inequality import solve_for
from symroof.algebra.intervals import ALWAYS
from symroof.algebra.optima import growth, monotony, supremum
from symroof.algebra.rational import cancelled, coefficients, polynomial, ratio, sign, sign_of, symbols_of, weak_sign
from symroof.algebra.roots import Root
from symroof.derivation.layout import Layout
from symroof.errors import AlgebraError
from symroof.formula import (
    Call,
    Compare,
    Formula,
    Group,
    Infinity,
    Name,
    Negative,
    Quotient,
    children,
    mapped,
    names,
    number,
)
from symroof.symbols import expression, rational, symbol
from symroof.verification.enclosures import enclosed, is_numeric

CONSTRUCTIONS = ("sum", "limit", "sup", "argmin", "minimum", "diff")
ARGUMENTS = {
    "sum": 4,
    "limit": 2,
    "sup": 2,
    "argmin": 2,
    "minimum": 2,
    "diff": 2,
    "sqrt": 1,
    "log": 1,
    "log2": 1,
    "exp": 1,
    "floor": 1,
    "ceil": 1,
    "abs": 1,
}
LONGEST_SUM = 10_000


def resolved(formula: Formula, least_one: frozenset[str], layout: Layout) -> Formula:
    """The formula with every construction replaced by its value.

    >>> from symroof.reading.expressions import Scope, read_expression
    >>> from symroof.symbols import expression
    >>> text = read_expression("argmin(A/X + B X, X) + sum(i, i, 1, N)", Scope(open=True))
    >>> expression(resolved(text, frozenset(), Layout(())))
    sqrt(A)/sqrt(B) + N**2/2 + N/2
    """

    def worked_out(node: Formula) -> Formula:
        if not isinstance(node, Call):
            return node
        wanted = ARGUMENTS.get(node.function)
        if wanted is not None and len(node.arguments) != wanted:
            raise AlgebraError(f"{node.function}(…) has {len(node.arguments)} arguments", expected=f"{wanted}")
        if node.function == "abs" and not is_numeric(node):
            body = node.arguments[0]
            return Call("max", (body, Negative(Group(body))))
        if node.function not in CONSTRUCTIONS:
            return node
        return Group(layout.write(_value(node, frozenset(map(symbol, least_one)))))

    return mapped(formula, worked_out)


def _value(node: Call, least_one: frozenset[Expr]) -> Expr:
    if node.function == "sum":
        return _sum(node, least_one)
    if node.function == "limit":
        body, towards = node.arguments
        if (
            not isinstance(towards, Compare)
            or not isinstance(towards.right, Infinity)
            or not isinstance(towards.left, Name)
        ):
            raise AlgebraError("limit(…) has no place to go", expected="limit(e, N -> oo)")
        value, x = expression(body), symbol(towards.left.name)
        return _limit(value, x, least_one) if value.has(x) else value
    body, place = node.arguments
    if not isinstance(place, Name):
        raise AlgebraError(f"the second argument of {node.function}(…) is no name")
    value, x = expression(body), symbol(place.name)
    match node.function:
        case "diff":
            return cancelled(diff(value, x)) if value.is_rational_function() else diff(value, x)
        case "sup":
            return _supremum(value, x, least_one)
        case "argmin":
            return _argmin(value, x, least_one)
    return _minimum(value, x, least_one)


def _limit(value: Expr, x: Expr, least_one: frozenset[Expr]) -> Expr:
    found = growth(value, x)
    if found == oo:
        leading = growth(value / x ** (_degree(value, x)), x)
        if sign_of(leading, least_one) != 1:
            raise AlgebraError(f"limit over {x}: the function is not known to grow to oo")
    return found


def _degree(value: Expr, x: Expr) -> int:
    symbols = symbols_of(value, x)
    above, below = (coefficients(terms, symbols.index(x)) for terms in ratio(value, symbols))
    return len(above) - len(below)


def _supremum(value: Expr, x: Expr, least_one: frozenset[Expr]) -> Expr:
    if not value.has(x):
        return value
    raised = supremum(value, x, least_one)
    if raised is not None:
        return raised
    if monotony(value, x, least_one) == -1 and x in least_one:
        return value.subs(x, 1)
    raise AlgebraError(f"sup over {x}: the function is not known to rise or fall in it")


def _argmin(value: Expr, x: Expr, least_one: frozenset[Expr]) -> Expr:
    """Where the slope turns from negative to positive, for a function without poles in the domain."""
    if isinstance(value, Max) and len(value.args) == 2:
        return _crossing(value.args[0], value.args[1], x, least_one)
    symbols = symbols_of(value, x)
    if not sign(ratio(value, symbols)[1], symbols, least_one):
        raise AlgebraError(f"argmin over {x}: the function may have a pole")
    slope = solve_for(cancelled(diff(value, x)), x, least_one - {x})
    case = slope.cases[0]
    if len(slope.cases) == 1 and not case.guard and case.implicit is None and len(case.intervals) == 1:
        low, high = case.intervals[0].low, case.intervals[0].high
        if low is not None and high is None and not isinstance(low, Root):
            return _placed(low, x, least_one)
        if case.intervals == ALWAYS and x in least_one:
            return Integer(1)
    raise AlgebraError(f"argmin over {x}: the function is not known to fall and then rise in it")


def _crossing(a: Expr, b: Expr, x: Expr, least_one: frozenset[Expr]) -> Expr:
    """The larger of a falling and a rising function is least where they meet."""
    ways = {monotony(a, x, least_one - {x}), monotony(b, x, least_one - {x})}
    if ways == {1, -1}:
        rising, falling = (a, b) if monotony(a, x, least_one - {x}) == 1 else (b, a)
        met = solve_for(rising - falling, x, least_one - {x})
        if met.bound is not None and not isinstance(met.bound, Root) and met.rises and not met.cases[0].guard:
            return _placed(met.bound, x, least_one)
    raise AlgebraError(f"argmin over {x}: the two parts are not known to cross once")


def _placed(found: Expr, x: Expr, least_one: frozenset[Expr]) -> Expr:
    """The place in the domain: a size is at least 1, and any other symbol above 0."""
    if x in least_one:
        return Max(Integer(1), found)
    if found.is_positive or (found.is_rational_function() and sign_of(found, least_one) == 1):
        return found
    raise AlgebraError(f"the least value over {x} may lie at no {x} above 0")


def _minimum(value: Expr, x: Expr, least_one: frozenset[Expr]) -> Expr:
    return value.subs(x, _argmin(value, x, least_one))


def _parts(formula: Formula) -> Iterator[Formula]:
    yield formula
    for child in children(formula):
        yield from _parts(child)


def _sum(node: Call, least_one: frozenset[Expr]) -> Expr:
    body, index, first, last = node.arguments
    if not isinstance(index, Name):
        raise AlgebraError("the second argument of sum(…) is no name")
    inner = [part for part in _parts(body) if index in (set(map(Name, names(part))))]
    divided = any(isinstance(part, Quotient) and index.name in names(part.below) for part in inner)
    polynomial_in_index = not divided and not any(isinstance(part, Call) for part in inner)
    if is_numeric(first) and is_numeric(last) and set(names(body)) <= {index.name}:
        start, end = enclosed(first), enclosed(last)
        if not (start.exact and end.exact and start.low.denominator == end.low.denominator == 1):
            raise AlgebraError("the ends of the sum are no whole numbers")
        if end.low - start.low >= LONGEST_SUM and polynomial_in_index and end.low >= start.low:
            return _faulhaber(expression(body), symbol(index.name), expression(first), expression(last))
        if end.low - start.low >= LONGEST_SUM:
            raise AlgebraError(f"the sum has more than {LONGEST_SUM} terms")
        total = Integer(0)
        for i in range(int(start.low), int(end.low) + 1):
            total += expression(mapped(body, lambda n, i=i: number(i) if n == index else n))  # type: ignore[misc]
        return total
    if not polynomial_in_index:
        raise AlgebraError(
            "sum(…): the body is no polynomial in its index", expected="a polynomial, or ends that are numbers"
        )
    length = expression(last) - expression(first) + 1
    symbols = symbols_of(length)
    above, below = ratio(length, symbols)
    if weak_sign(above, symbols, least_one) not in (0, 1) or sign(below, symbols, least_one) != 1:
        raise AlgebraError("sum(…): it is not known that the last index is not before the first")
    return _faulhaber(expression(body), symbol(index.name), expression(first), expression(last))


def _faulhaber(body: Expr, index: Expr, first: Expr, last: Expr) -> Expr:
    """The sum of a polynomial in the index: S(last) - S(first - 1), S being the sum from 1."""
    symbols = symbols_of(body, index)
    above, below = ratio(body, symbols)
    place = symbols.index(index)
    if any(e[place] for e in below):
        raise AlgebraError(
            "sum(…): the body is no polynomial in its index", expected="a polynomial, or ends that are numbers"
        )
    total = Integer(0)
    for power, part in enumerate(coefficients(above, place)):
        coefficient = polynomial(part, symbols) / polynomial(below, symbols)
        total += coefficient * (_powers(power, last) - _powers(power, first - 1))
    return cancelled(total)


def _powers(p: int, n: Expr) -> Expr:
    """1^p + 2^p + … + n^p (Bernoulli's formula, with B1 = +1/2)."""
    bernoulli: list[Fraction] = [Fraction(1)]
    for m in range(1, p + 1):
        bernoulli.append(-sum((comb(m, k) * b / (m - k + 1) for k, b in enumerate(bernoulli)), Fraction(0)))
    terms = (rational(comb(p + 1, k) * (-1) ** k * b) * n ** (p + 1 - k) for k, b in enumerate(bernoulli))
    return sum(terms, Integer(0)) / (p + 1)
