"""The functions of claims that name a construction: sum, limit, sup, argmin, minimum, diff.

Each is worked out by the algebra, and what it comes to is a step; the context has it proved by the second engine, and puts
in what was proved, so that the judge meets rational functions, roots, maxima and minima only.

    sum(e, i, a, b)    term by term, between two numbers
    limit(e, N -> oo)  e rational in N: read off the highest powers
    sup(e, B)          e monotone in B: its limit where it rises, its value at 1 where it falls
    argmin(e, X)       e falls and then rises in X: where its slope changes sign, or its two parts cross
    minimum(e, X)      e at that place
    diff(e, X)         the derivative
"""

from __future__ import annotations

from contextlib import suppress

from sympy import Add, Expr, Integer, Max

from symroof.algebra.roots import Root
from symroof.derivation.solving import PLAIN, derivative, limit, monotony, optimum_of, solution_of
from symroof.errors import AlgebraError, CheckError
from symroof.formula import FUNCTIONS, Call, Compare, Formula, Group, Infinity, Name, Sum, mapped, names, number
from symroof.proof.calculus import Construction
from symroof.proof.step import Reason, Step
from symroof.symbols import expression, symbol
from symroof.verification.budget import spend, weighed
from symroof.verification.intervals import enclosed, is_numeric

# How a construction was shown to have its value, in words.
SHOWN_BY = {
    "added up": "the terms are added up",
    "highest powers": "the limit is read off the highest powers",
    "one sign": "the slope has one sign",
    "one change": "the slope changes its sign once",
    "chain rule": "the derivative follows the chain rule",
}
CONSTRUCTIONS = frozenset(["sum", "limit", "diff", "sup", "argmin", "minimum"])
EXTREMES = frozenset(["sup", "argmin", "minimum"])
LONGEST_SUM = 10_000
MOST_TERMS = 100  # with names in them


def worked_out(node: Call, least_one: frozenset[str], bounded: frozenset[str] = frozenset()) -> Step | None:
    """The step that says what a construction of which the names are put in comes to; None for any other function.
    An extreme is one over all sizes: where the size is ``bounded`` by what is assumed, it is another, and not worked out.

    >>> from symroof.reading.expressions import read_expression
    >>> from symroof.reading.name_scope import Scope
    >>> step = worked_out(read_expression("argmin(A/X + B X, X)", Scope(open=True)), frozenset())
    >>> expression(step.right)
    sqrt(A)/sqrt(B)
    """
    arity = FUNCTIONS.get(node.function)
    if arity not in (None, len(node.arguments)):
        count = len(node.arguments)
        raise AlgebraError(f"{node.function}(…) has {count} argument{'s' * (count != 1)} and takes {arity}")
    if node.function not in CONSTRUCTIONS:
        return None
    if node.function in EXTREMES and isinstance(place := node.arguments[1], Name) and place.name in bounded:
        raise AlgebraError(f"{node.function} over {place.name}, of which something is assumed, is not worked out")
    weighed(node)
    value, evidence = _value(node, frozenset(map(symbol, least_one)))
    return Step("claim", Reason.FACT, node, "=", value, evidence=evidence)


def _value(node: Call, least_one: frozenset[Expr]) -> tuple[Formula, Construction]:
    """What a construction is, and the evidence of that. Raises AlgebraError outside of the decided class."""
    body, place = node.arguments[:2]
    if node.function == "sum":
        return _added_up(node), Construction()
    if node.function == "limit":
        if not (isinstance(place, Compare) and isinstance(place.right, Infinity)):
            raise AlgebraError("limit(…) has no place to go", expected="limit(e, N -> oo)")
        place = place.left
    if not isinstance(place, Name):
        raise AlgebraError(f"the second argument of {node.function}(…) is no name")
    value, x = expression(body), symbol(place.name)
    match node.function:
        case "diff":
            return PLAIN.write(derivative(value, x)), Construction()
        case "limit" | "sup" if not value.has(x):
            return body, Construction()
        case "sup" if x in least_one and monotony(value, x, least_one) == -1:
            return _put(body, place, number(1)), Construction()
        case "limit" | "sup":
            return PLAIN.write(limit(value, x, least_one)), Construction()
    least = PLAIN.write(_argmin(value, x, least_one))
    rise = None if isinstance(value, Max) else PLAIN.write(derivative(value, x))
    return (least if node.function == "argmin" else _put(body, place, least)), Construction(rise, least)


def _put(formula: Formula, name: Name, value: Formula) -> Formula:
    return mapped(formula, lambda node: Group(value) if node == name else node)


def _argmin(value: Expr, x: Expr, least_one: frozenset[Expr]) -> Expr:
    """Where the slope may turn from negative to positive: of powers in closed form, else by the solver."""
    inner, maximum, bound = least_one - {x}, isinstance(value, Max), None
    with suppress(AlgebraError, CheckError):
        best = optimum_of(value.args if maximum else Add.make_args(value), x, inner, maximum=maximum)
        bound = None if best.way else expression(PLAIN.root(best.power, best.degree))
    if bound is None:
        ways = (
            {monotony(part, x, inner): part for part in value.args}
            if maximum
            else {1: derivative(value, x), -1: Integer(0)}
        )
        if not {1, -1} <= ways.keys():
            raise AlgebraError(f"argmin over {x}: the two parts are not known to cross once")
        turn = solution_of(ways[1], ways[-1], x, inner)
        bound = Integer(1) if turn.outcome == "always" else turn.bound
    if bound is None or isinstance(bound, Root):
        raise AlgebraError(f"argmin over {x}: the function is not known to fall and then rise in it")
    return Max(Integer(1), bound) if x in least_one else bound


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
