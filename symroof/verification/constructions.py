"""The functions of claims that name a construction: sum, limit, sup, argmin, minimum, diff.

Each is worked out by the algebra, proved by the second engine, and replaced by its value, so that the judge meets
rational functions, roots, maxima and minima only. What is not proved is not put in.

    sum(e, i, a, b)    term by term, between two numbers
    limit(e, N -> oo)  e rational in N: read off the highest powers
    sup(e, B)          e monotone in B: its limit where it rises, its value at 1 where it falls
    argmin(e, X)       e falls and then rises in X: where its slope changes sign, or its two parts cross
    minimum(e, X)      e at that place
    diff(e, X)         the derivative
"""

from __future__ import annotations

from sympy import Expr, Integer, Max

from symroof.algebra.rational import ratio, sign, sign_of, symbols_of
from symroof.algebra.roots import Root
from symroof.derivation.solving import PLAIN, derivative, limit, monotony, proved_solution
from symroof.errors import AlgebraError
from symroof.formula import (
    FUNCTIONS,
    Call,
    Compare,
    Formula,
    Group,
    Infinity,
    Name,
    Negative,
    Sum,
    mapped,
    names,
    number,
)
from symroof.symbols import expression, symbol
from symroof.verification.budget import spend, weighed
from symroof.verification.enclosures import enclosed, is_numeric

# What shows that the value of a construction is right, and how a check names that.
CONSTRUCTIONS = {
    "sum": "added up",
    "limit": "highest powers",
    "sup": "one sign",
    "argmin": "one change",
    "minimum": "one change",
    "diff": "chain rule",
}
EXTREMES = frozenset(["sup", "argmin", "minimum"])
SHOWN_BY = {
    "added up": "the terms are added up",
    "highest powers": "the limit is read off the highest powers",
    "one sign": "the slope has one sign",
    "one change": "the slope changes its sign once",
    "chain rule": "the derivative follows the chain rule",
}
LONGEST_SUM = 10_000
MOST_TERMS = 100  # with names in them


def worked_out(node: Call, least_one: frozenset[str], bounded: frozenset[str] = frozenset()) -> tuple[Formula, str]:
    """What a call of which the names are put in is for the judge, and what shows that a construction has that value.
    An extreme is one over all sizes: where the size is ``bounded`` by what is assumed, it is another, and not worked out.

    >>> from symroof.reading.expressions import read_expression
    >>> from symroof.reading.scope import Scope
    >>> call = read_expression("argmin(A/X + B X, X)", Scope(open=True))
    >>> value, by = worked_out(call, frozenset())
    >>> expression(value), by
    (sqrt(A)/sqrt(B), 'one change')
    """
    wanted = FUNCTIONS.get(node.function)
    if wanted not in (None, len(node.arguments)):
        count = len(node.arguments)
        raise AlgebraError(f"{node.function}(…) has {count} argument{'s' * (count != 1)} and takes {wanted}")
    if node.function == "abs" and not is_numeric(node):
        body = node.arguments[0]
        return Call("max", (body, Negative(Group(body)))), ""
    if node.function not in CONSTRUCTIONS:
        return node, ""
    if node.function in EXTREMES and isinstance(place := node.arguments[1], Name) and place.name in bounded:
        raise AlgebraError(f"{node.function} over {place.name}, of which something is assumed, is not worked out")
    weighed(node)
    value = _added_up(node) if node.function == "sum" else _value(node, frozenset(map(symbol, least_one)))
    return Group(value), CONSTRUCTIONS[node.function]


def _value(node: Call, least_one: frozenset[Expr]) -> Formula:
    """What a construction is. Raises AlgebraError outside of the decided class, CheckError where it is not proved."""
    body, place = node.arguments[:2]
    if node.function == "limit":
        if not (isinstance(place, Compare) and isinstance(place.right, Infinity)):
            raise AlgebraError("limit(…) has no place to go", expected="limit(e, N -> oo)")
        place = place.left
    if not isinstance(place, Name):
        raise AlgebraError(f"the second argument of {node.function}(…) is no name")
    value, x = expression(body), symbol(place.name)
    match node.function:
        case "diff":
            return PLAIN.write(derivative(value, x))
        case "limit" | "sup" if not value.has(x):
            return body
        case "limit":
            return PLAIN.write(limit(value, x, least_one))
        case "sup":
            way = monotony(value, x, least_one)
            if way == -1 and x in least_one:
                return _put(body, place, number(1))
            if way != 1:
                raise AlgebraError(f"sup over {x}: the function is not known to rise or fall in it")
            return PLAIN.write(limit(value, x, least_one))
    least = PLAIN.write(_argmin(value, x, least_one))
    return least if node.function == "argmin" else _put(body, place, least)


def _put(formula: Formula, name: Name, value: Formula) -> Formula:
    return mapped(formula, lambda node: Group(value) if node == name else node)


def _argmin(value: Expr, x: Expr, least_one: frozenset[Expr]) -> Expr:
    """Where the slope turns from negative to positive, for a function without poles in the domain."""
    inner = least_one - {x}
    if isinstance(value, Max) and len(value.args) == 2:  # least where the falling part and the rising one meet
        ways = {monotony(part, x, inner): part for part in value.args}
        if set(ways) != {1, -1}:
            raise AlgebraError(f"argmin over {x}: the two parts are not known to cross once")
        turn = proved_solution(ways[1], ways[-1], x, inner)
    else:
        symbols = symbols_of(value, x)
        if not sign(ratio(value, symbols)[1], symbols, least_one):
            raise AlgebraError(f"argmin over {x}: the function may have a pole")
        turn = proved_solution(derivative(value, x), Integer(0), x, inner)
    if turn.outcome == "always" and x in least_one:
        return Integer(1)
    bound = turn.bound
    if turn.guard is not None or bound is None or isinstance(bound, Root) or not turn.rises:
        raise AlgebraError(f"argmin over {x}: the function is not known to fall and then rise in it")
    if x in least_one:
        return Max(Integer(1), bound)
    if bound.is_positive or (bound.is_rational_function() and sign_of(bound, least_one) == 1):
        return bound
    raise AlgebraError(f"the least value over {x} may lie at no {x} above 0")


def _added_up(node: Call) -> Formula:
    """A sum between two numbers, term by term; as a sum of its terms where one of them is no rational number."""
    body, index, first, last = node.arguments
    if not isinstance(index, Name):
        raise AlgebraError("the second argument of sum(…) is no name")
    if not (is_numeric(first) and is_numeric(last)):
        raise AlgebraError("sum(…): its ends are no numbers", expected="a formula for it, or ends that are numbers")
    start, end = enclosed(first), enclosed(last)
    if not (start.exact and end.exact and start.low.denominator == end.low.denominator == 1):
        raise AlgebraError("the ends of the sum are no whole numbers")
    numeric = set(names(body)) <= {index.name}
    longest = LONGEST_SUM if numeric else MOST_TERMS
    if end.low - start.low >= longest:
        raise AlgebraError(f"the sum has more than {longest} terms")
    indices = range(int(start.low), int(end.low) + 1)
    spend(5 * len(indices))
    terms = Sum(tuple(_put(body, index, number(i)) for i in indices)) if indices else number(0)
    if not numeric or not indices:
        return terms
    total = enclosed(terms)
    return number(total.low) if total.exact else terms
