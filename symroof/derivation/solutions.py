"""Solved conditions in writing: guarded cases, intervals, and what can be read off them."""

from __future__ import annotations

from collections.abc import Iterator

from sympy import Add, Expr, Integer

from symroof.algebra.rational import cancel
from symroof.algebra.roots import ALWAYS, NEVER, Case, Interval, Root, Threshold
from symroof.derivation.formula_writing import Layout, content, is_negative, upright
from symroof.formula import (
    Both,
    Cases,
    Compare,
    Either,
    Formula,
    Frozen,
    Name,
    Number,
    Quotient,
    Verdict,
    names,
    product,
)
from symroof.proof.step import Check
from symroof.symbols import expression, fraction, symbol


class Solution(Frozen):
    """A condition solved for ``variable``: what is read off is read off the ``formula`` that was proved.

    ``bands`` hold the irrational ends: the formula is stated outside of them. ``one_root`` tells that an implicit
    condition is everything beyond (1) or below (-1) the only positive root.
    """

    variable: str
    formula: Formula
    bands: tuple[Formula, ...] = ()
    check: Check | None = None
    one_root: int = 0

    @property
    def outcome(self) -> str:
        """``always``, ``never`` or ``depends``."""
        return "depends" if not isinstance(self.formula, Verdict) else "always" if self.formula.holds else "never"

    @property
    def guard(self) -> Formula | None:
        """The guard of the first case."""
        return self.formula.rows[0][1] if isinstance(self.formula, Cases) else None

    @property
    def first(self) -> Formula:
        """What the first case says."""
        return self.formula.rows[0][0] if isinstance(self.formula, Cases) else self.formula

    @property
    def otherwise(self) -> Formula | None:
        return self.formula.otherwise if isinstance(self.formula, Cases) else None

    @property
    def end(self) -> Compare | None:
        """``x > bound`` or ``x < bound``, where the solution is one-sided."""
        return next((c for c in self._consequences() if isinstance(c, Compare) and self._is_solved(c)), None)

    @property
    def solved(self) -> bool:
        """Whether no case is left as a condition on a polynomial."""
        parts = (part for c in self._consequences() for part in (c.parts if isinstance(c, Both | Either) else (c,)))
        return all(isinstance(part, Verdict) or self._is_solved(part) for part in parts)

    @property
    def bound(self) -> Expr | Root | None:
        """The bound of a one-sided solution."""
        if self.end is None:
            return None
        value = self.end.right
        for band in self.bands:
            if isinstance(value, Number) and isinstance(band, Either):
                low, high = (fraction(expression(part.right)) for part in band.parts if isinstance(part, Compare))
                if low <= value.value <= high:
                    return Root(low, high)
        return expression(value)

    @property
    def rises(self) -> bool:
        """Whether the solution is everything above its bound."""
        ends = [c.parts[-1] if isinstance(c, Either) else c for c in self._consequences()]
        return any(isinstance(end, Compare) and self._is_solved(end) and end.relation in (">", ">=") for end in ends)

    def _consequences(self) -> Iterator[Formula]:
        rows = self.formula.rows if isinstance(self.formula, Cases) else ((self.formula, None),)
        return (consequence for consequence, _ in rows)

    def _is_solved(self, end: Formula) -> bool:
        if isinstance(end, Both):
            return all(map(self._is_solved, end.parts))
        return isinstance(end, Compare) and end.left == Name(self.variable) and self.variable not in names(end.right)


def written_solution(solved: Threshold, layout: Layout) -> Formula:
    """The cases of a solution as a formula.

    >>> from symroof.algebra.solvers import solve_for
    >>> B, D = symbol("B"), symbol("D")
    >>> written_solution(solve_for(B - 2*D, B, frozenset({B, D})), Layout(("B", "D")))
    Compare(left=Name(name='B'), relation='>', right=Product(factors=(Number(value=Fraction(2, 1), digits=None, unit=None), Name(name='D'))))
    """
    rows = [(_consequence(solved, case, layout), _guard(case, layout)) for case in solved.cases]
    if len(rows) == 1 and not solved.cases[0].guard:
        return rows[0][0]
    otherwise = None if solved.otherwise is None else _consequence(solved, solved.otherwise, layout)
    return Cases(tuple(rows), otherwise)


def bands(solved: Threshold, layout: Layout) -> tuple[Formula, ...]:
    """Irrational ends are shown in decimals: the solution is stated outside of the narrow band that holds the root."""
    x, result = Name(solved.variable.name), []
    for end in (end for case in solved.cases for interval in case.intervals for end in (interval.low, interval.high)):
        if isinstance(end, Root) and not end.exact:
            shown = layout.write(end)
            assert isinstance(shown, Number)
            low, high = min(end.low, shown.value), max(end.high, shown.value)
            result.append(Either((Compare(x, "<", layout.write(low)), Compare(x, ">", layout.write(high)))))
    return tuple(result)


def _guard(case: Case, layout: Layout) -> Formula:
    parts = tuple(positivity(guard, layout) for guard in case.guard)
    return parts[0] if len(parts) == 1 else Both(parts)


def positivity(value: Expr, layout: Layout) -> Formula:
    """value > 0 with the negative terms on the right: DF > R(D + F)."""
    head, rest = content(value)
    rest = -rest if is_negative(head) else rest
    left = Add(*(term for term in Add.make_args(rest) if not is_negative(term)))
    return Compare(layout.grouped(left, "ridge"), ">", layout.grouped(left - rest, "ridge"))


def _consequence(solved: Threshold, case: Case, layout: Layout) -> Formula:
    if case.implicit is not None:
        return positivity(case.implicit, layout)
    if case.intervals in (ALWAYS, NEVER):
        return Verdict(case.intervals == ALWAYS)
    parts = tuple(_inside(Name(solved.variable.name), interval, layout) for interval in case.intervals)
    return parts[0] if len(parts) == 1 else Either(parts)


def _inside(x: Formula, interval: Interval, layout: Layout) -> Formula:
    ends = tuple(
        Compare(x, sign, bound(end, layout))
        for sign, end in ((">", interval.low), ("<", interval.high))
        if end is not None
    )
    return ends[0] if len(ends) == 1 else Both(ends)


def bound(value: Expr | Root, layout: Layout) -> Formula:
    """A bound as a quotient whose denominator is grouped by the ridge."""
    if isinstance(value, Root) or not value.is_rational_function():
        return layout.write(value)
    above, below = cancel(value).as_numer_denom()
    signs = {bool(t.as_coeff_Mul()[0] < 0): t for t in Add.make_args(below.expand()) if not t.has(symbol("ridge"))}
    if (True in signs and False not in signs) or (not signs and below.could_extract_minus_sign()):
        above, below = -above, -below
    above, below = upright(above.expand(), below.expand())
    top = layout.grouped(above, "ridge")
    size, inner = below.primitive() if below.is_Add else (Integer(1), below)
    bottom = layout.grouped(inner, "ridge")
    return top if below == 1 else Quotient(top, bottom if size == 1 else product(layout.write(size), bottom))
