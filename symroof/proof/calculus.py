"""Limits, suprema, derivatives and sums, decided again on quotients of polynomials.

A limit is read off the highest powers of the variable. A derivative follows the quotient and the chain rule.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

from symroof.errors import CheckError
from symroof.formula import Call, Compare, Formula, Group, Infinity, Name, mapped, names, number, total
from symroof.proof.minima import is_least_where_parts_cross, parts_of
from symroof.proof.polynomials import ONE, Poly, Rat
from symroof.proof.propositions import decide, direct_proof
from symroof.proof.quotients import Quotients
from symroof.proof.step import Check, Evidence, Ledger, Step, refuted, undecided


def tends(value: Rat, name: str, limit: Formula, exact: Quotients) -> bool:
    """Whether a quotient of polynomials tends to the limit as the name grows and all others stay what they are."""
    above, below = value.above.in_powers_of(name), value.below.in_powers_of(name)
    high, low = max(above, default=0), max(below, default=0)
    leading = below.get(low, Poly())
    if isinstance(limit, Infinity):
        leads = exact.sign(above.get(high, Poly()))
        return bool(leads) and leads == exact.sign(leading) and high > low
    limit_value = exact.rational(limit)
    if name in limit_value.names:
        return False
    # what the highest power is multiplied with is not 0, or is 0 only where the limit is written with a division by 0
    apart = exact.sign(leading) and exact.sign(limit_value.below)
    if not apart and leading.primitive() not in (limit_value.below.primitive(), -limit_value.below.primitive()):
        return False
    gap = value - limit_value
    return gap.is_zero() or gap.above.degree(name) < gap.below.degree(name)


def slope(value: Rat, name: str, exact: Quotients) -> Rat:
    """The derivative in a name; roots, exponentials and logarithms by the chain rule.

    >>> from symroof.formula import Name, Product
    >>> exact = Quotients()
    >>> slope(exact.rational(Product((Name("x"), Name("x")))), "x", exact).above
    {(('x', 1),): Fraction(2, 1)}
    """
    total = value.partial(name)
    for atom, (function, arguments) in exact.atoms.items():
        if atom not in value.names:
            continue
        rise, inner, outer = slope(arguments[0], name, exact), arguments[0], Rat(Poly.name(atom))
        if function in DERIVATIVES and len(arguments) == 1:
            total += value.partial(atom) * DERIVATIVES[function](inner, outer) * rise
        elif not all(slope(argument, name, exact).is_zero() for argument in arguments):
            raise CheckError(f"{function}(…) has no derivative here")
    return total


# The derivative of each function, given its argument and its value.
DERIVATIVES = {
    "sqrt": lambda inner, outer: Rat(Poly.number(Fraction(1, 2))) / outer,
    "exp": lambda inner, outer: outer,
    "log": lambda inner, outer: Rat(ONE) / inner,
}


def monotony_of(formula: Formula, name: str, least_one: frozenset[str]) -> int | None:
    """1 where a rational function rises in the name on the whole domain, -1 where it falls, 0 where it does neither."""
    exact = Quotients(least_one=least_one)
    value = exact.rational(formula)
    if exact.atoms or not exact.sign(value.below):
        return None
    return exact.sign(value.partial(name).above, strict=False)


class HighestPowers(Evidence):
    """Evidence of a limit: one name grows alone."""

    relations = ("->",)

    name: str

    def examine(self, step: Step, ledger: Ledger) -> Check:
        if step.assumed("->") != (Compare(Name(self.name), "->", Infinity()),):
            raise refuted(step, "it is not said that this name grows, and no other")
        exact = ledger.exact(figures=False, assumptions=step.assumptions)
        if not tends(exact.rational(step.left), self.name, step.right, exact) or exact.atoms:
            raise refuted(step, f"this is not the limit as {self.name} grows")
        return Check("proved", "highest powers compared")


class Supremum(Evidence):
    """Evidence of a supremum, which is never exceeded: it is approached as these names grow together, or is the value
    where they are 1 if ``reached``; one that is approached may be the value at some other sizes."""

    relations = ("<", "<=")

    names: tuple[str, ...]
    reached: bool = False

    def examine(self, step: Step, ledger: Ledger) -> Check:
        where = ledger.exact(figures=False, assumptions=step.assumptions)
        below = direct_proof(Compare(step.left, step.relation, step.right), where, step.assumptions)
        value, leader = where.rational(step.left), self.names[0]
        for name in self.names:
            value = value.put(name, Rat(ONE) if self.reached else where.name(Name(leader)))
        if self.reached:
            attained = (value - where.rational(step.right)).is_zero()
        else:
            attained = tends(value, leader, step.right, where)
        if not below or not attained or (self.reached and step.relation != "<="):
            raise refuted(step, "this is not the supremum")
        return Check("proved", f"{below}; " + ("reached at 1" if self.reached else "highest powers compared"))


class OneRoot(Evidence):
    """Evidence of a condition without a solved form: it holds beyond (1) or below (-1) the one positive root in ``name``.

    The two sides are one polynomial, whose coefficients change sign once (Descartes).
    """

    relations = ("<=>",)

    name: str
    side: int

    def examine(self, step: Step, ledger: Ledger) -> Check:
        exact = ledger.exact(figures=True, assumptions=step.assumptions)
        left, right = exact.normal(step.left), exact.normal(step.right)
        if left is None or left != right:
            raise refuted(step, "the sides are not the same inequality")
        signs = [exact.sign(part) for _, part in sorted(left[0].in_powers_of(self.name).items())]
        changes = [(a, b) for a, b in pairwise(signs) if a != b]
        if None in signs or len(changes) != 1 or signs[-1] != self.side:
            raise refuted(step, "it is not known to have one positive root")
        return Check("proved", "Descartes' rule of signs")


class Construction(Evidence):
    """Evidence of what a function of claims comes to: ``limit, sup, diff, sum, argmin, minimum``. For the last two ``rise``
    is the derivative of what is no maximum, and ``place`` is where the least value is."""

    rise: Formula | None = None
    place: Formula | None = None

    def examine(self, step: Step, ledger: Ledger) -> Check:
        exact, right, by = ledger.exact(figures=False), step.right, ""
        match step.left:
            case Call("limit", (body, Compare(Name(name), "->", Infinity()))):
                by = "highest powers" if _tends(body, name, right, exact) else ""
            case Call("sup", (body, Name(name))):
                way = monotony_of(body, name, exact.least_one) if name in names(body) else 1
                first = way == -1 and name in exact.least_one and _same(_at(body, name, number(1)), right, exact)
                by = "one sign" if first or (way == 1 and _tends(body, name, right, exact)) else ""
            case Call("diff", (body, Name(name))):
                by = "chain rule" if self._is_slope(body, name, right, exact) else ""
            case Call("sum", (body, Name(name), first, last)):
                by = "added up" if _same(_sum_of_terms(body, name, first, last, exact), right, exact) else ""
            case Call("argmin", (body, Name(name))):
                by = "one change" if self._is_least(body, name, right, exact) else ""
            case Call("minimum", (body, Name(name))) if (place := self.place) is not None:
                correct_value = _same(_at(body, name, place), right, exact)
                by = "one change" if correct_value and self._is_least(body, name, place, exact) else ""
        if not by:
            raise undecided(step, "this is not known to be what it comes to")
        return Check("proved", by)

    def _is_slope(self, body: Formula, name: str, rise: Formula, exact: Quotients) -> bool:
        return (slope(exact.rational(body), name, exact) - exact.rational(rise)).is_zero()

    def _is_least(self, body: Formula, name: str, place: Formula, exact: Quotients) -> bool:
        """Whether a function falls before a place and rises beyond it; where x is at least 1, before and beyond 1 or the
        place, whichever is larger."""
        while isinstance(body, Group):
            body = body.body
        inner, bound, (maximum, parts) = exact.least_one - {name}, place, parts_of(body)
        above = None if self.rise is None else Compare(self.rise, ">", number(0))
        if above is not None and not (
            exact.sign(exact.rational(body).below) and self._is_slope(body, name, above.left, exact)
        ):
            return False
        if name in exact.least_one:
            match place:
                case Call("max", (one, bound)) if _same(one, number(1), exact):
                    pass
                case _ if _same(place, number(1), exact):
                    return bool(above and decide(above, exact.least_one).truth)
                case _ if not decide(Compare(place, ">=", number(1)), inner).truth:
                    return False
        if (crosses := is_least_where_parts_cross(body, name, bound, exact)) is not None:
            return crosses
        ways = {monotony_of(part, name, inner): part for part in parts} if maximum else {}
        if ways.keys() == {1, -1} and len(parts) == 2:
            above = Compare(ways[1], ">", ways[-1])
        conditions = (Compare(bound, ">", number(0)), above and Compare(above, "<=>", Compare(Name(name), ">", bound)))
        return all(claim is not None and decide(claim, inner).truth for claim in conditions)


def _tends(body: Formula, name: str, right: Formula, exact: Quotients) -> bool:
    """Whether a rational function tends to something as the name grows, or is it without the name."""
    value = exact.rational(body)
    return (
        _same(body, right, exact) if name not in names(body) else not exact.atoms and tends(value, name, right, exact)
    )


def _same(left: Formula, right: Formula, exact: Quotients) -> bool:
    return exact.difference(left, right).is_zero()


def _at(body: Formula, name: str, value: Formula) -> Formula:
    return mapped(body, lambda node: value if node == Name(name) else node)


def _sum_of_terms(body: Formula, name: str, first: Formula, last: Formula, exact: Quotients) -> Formula:
    """A sum term by term; of numbers as one number."""
    low, high = (exact.rational(end).constant for end in (first, last))
    if low is None or high is None:
        raise CheckError("the ends of the sum are no numbers")
    terms = [_at(body, name, number(n)) for n in range(int(low), int(high) + 1)]
    values = [exact.rational(term).constant for term in terms] if {*names(body)} <= {name} else []
    numbers = [value for value in values if value is not None]
    return number(sum(numbers, Fraction(0))) if len(numbers) == len(terms) else total(*terms)
