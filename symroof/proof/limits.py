"""Limits, suprema, derivatives, roots and whole sizes, decided again on quotients of polynomials.

A limit is read off the highest powers of the variable. A derivative follows the quotient and the chain rule.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

from symroof.errors import CheckError
from symroof.formula import Compare, Formula, Infinity, Name, Number, Verdict, nodes, number
from symroof.proof.polynomials import ONE, Poly, Rat
from symroof.proof.propositions import asked, read
from symroof.proof.quotients import Exact
from symroof.proof.step import Check, Evidence, Ledger, Step, refuted
from symroof.proof.whole_numbers import Bounds


def tends(value: Rat, name: str, limit: Formula, exact: Exact) -> bool:
    """Whether a quotient of polynomials tends to the limit as the name grows and all others stay what they are."""
    above, below = value.above.in_powers_of(name), value.below.in_powers_of(name)
    high, low = max(above, default=0), max(below, default=0)
    leading = below.get(low, Poly())
    if isinstance(limit, Infinity):
        leads = exact.sign(above.get(high, Poly()))
        return bool(leads) and leads == exact.sign(leading) and high > low
    known = exact.rational(limit)
    if name in known.names:
        return False
    # what the highest power is multiplied with is not 0, or is 0 only where the limit is written with a division by 0
    apart = exact.sign(leading) and exact.sign(known.below)
    if not apart and leading.primitive() not in (known.below.primitive(), -known.below.primitive()):
        return False
    gap = value - known
    return gap.is_zero() or gap.above.degree(name) < gap.below.degree(name)


def slope(value: Rat, name: str, exact: Exact) -> Rat:
    """The derivative in a name; roots, exponentials and logarithms by the chain rule.

    >>> from symroof.formula import Name, Product
    >>> exact = Exact()
    >>> slope(exact.rational(Product((Name("x"), Name("x")))), "x", exact).above
    {(('x', 1),): Fraction(2, 1)}
    """
    total = value.partial(name)
    for atom, (function, arguments) in exact.atoms.items():
        if atom not in value.names:
            continue
        rise, inner, outer = slope(arguments[0], name, exact), arguments[0], Rat(Poly.name(atom))
        if function in OUTER and len(arguments) == 1:
            total += value.partial(atom) * OUTER[function](inner, outer) * rise
        elif not all(slope(argument, name, exact).is_zero() for argument in arguments):
            raise CheckError(f"{function}(…) has no derivative here")
    return total


# The derivative of each function, given its argument and its value.
OUTER = {
    "sqrt": lambda inner, outer: Rat(Poly.number(Fraction(1, 2))) / outer,
    "exp": lambda inner, outer: outer,
    "log": lambda inner, outer: Rat(ONE) / inner,
}


def rises(formula: Formula, name: str, least_one: frozenset[str]) -> int | None:
    """1 where a rational function rises in the name on the whole domain, -1 where it falls, 0 where it does neither."""
    exact = Exact(least_one=least_one)
    value = exact.rational(formula)
    if exact.atoms or not exact.sign(value.below):
        return None
    return exact.sign(value.partial(name).above, strict=False)


class Growing(Evidence):
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


class Highest(Evidence):
    """Evidence of a supremum, which is never exceeded: it is approached as these names grow together, or is the value
    where they are 1 if ``reached``; one that is approached may be the value at some other sizes."""

    relations = ("<", "<=")

    names: tuple[str, ...]
    reached: bool = False

    def examine(self, step: Step, ledger: Ledger) -> Check:
        where = ledger.exact(figures=False, assumptions=step.assumptions)
        below = read(Compare(step.left, step.relation, step.right), where, step.assumptions)
        value, together = where.rational(step.left), self.names[0]
        for name in self.names:
            value = value.put(name, Rat(ONE) if self.reached else where.name(Name(together)))
        if self.reached:
            met = (value - where.rational(step.right)).is_zero()
        else:
            met = tends(value, together, step.right, where)
        if not below or not met or (self.reached and step.relation != "<="):
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


class Whole(Evidence):
    """Evidence of a rounding to whole numbers: the multiples of ``step``, and of chips those that share out the ``sizes``
    evenly. Where the left side is no bound on the size itself it is one by ``bound``, and without one it holds for every
    size.

    Over these numbers, conditions on the size are met by the same, and the numbers on the right are of them: ``x > bound``
    is ``x >= n``, ``x < bound`` is ``x <= n``; and never, where there is no such n.
    """

    relations = ("<=>",)

    step: int
    sizes: tuple[Name, ...] = ()
    bound: Formula | None = None

    def examine(self, step: Step, ledger: Ledger) -> Check:
        left, right = step.left, step.right
        match left, right:
            case Compare(), Compare() if self.bound is not None or left.left != right.left:
                left = self._on_the_size(step, left, right.left, ledger)
        size = next((part.left for part in nodes(left) if isinstance(part, Compare)), None)
        if not isinstance(size, Name):
            raise refuted(step, "a bound on a size was expected")
        put = _put(step)
        same = (size, *(a.left for a in step.assumed("=") if a.right == size))
        names_of = [part.name for part in same if isinstance(part, Name)]
        admitted = ledger.multiples.numbers(names_of, put)
        if self.step != admitted.each:
            raise refuted(step, f"these sizes do not come in multiples of {self.step}")
        shared = {size for name in names_of for size, _ in ledger.multiples.shared(name, put)}
        if {size.name for size in self.sizes} != shared:
            raise refuted(step, "chips share out other sizes than these")
        exact = ledger.exact(figures=True, assumptions=step.assumptions)
        bounds = Bounds(size, lambda side: exact.rational(side).constant)
        if any(admitted.last("<=", edge) != edge for edge in bounds.edges(right)):
            raise refuted(step, "these are not whole numbers that the size may be")
        if not bounds.agree(left, right, admitted.beside):
            raise refuted(step, "other whole numbers meet this than the bound")
        return Check("proved", "exact numbers")

    def _on_the_size(self, step: Step, left: Compare, size: Formula, ledger: Ledger) -> Compare:
        """The left side as a bound on the size, settled first: x > bound, or x > 0 where it holds for every size."""
        same = Verdict(True) if self.bound is None else Compare(size, left.relation, self.bound)
        exact = ledger.exact(figures=True, assumptions=(where := step.assumed("=")))
        claim, rest = Compare(left, "<=>", same), tuple(a for a in step.assumptions if a not in where)
        if not read(claim, exact, rest) and not asked(claim, exact, rest).truth:
            raise refuted(step, "the left side is not this bound on the size")
        return Compare(size, left.relation, self.bound or number(0))


def _put(step: Step) -> dict[str, Fraction]:
    """The numbers that are put in for names."""
    known = ((a.left, a.right) for a in step.assumed("="))
    return {left.name: right.value for left, right in known if isinstance(left, Name) and isinstance(right, Number)}
