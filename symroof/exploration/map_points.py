"""Sizes put in: where a point stands on the map, and what is left to find where only some sizes are fixed."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from sympy import Add, Expr

from symroof.algebra.approximation import reciprocals
from symroof.algebra.rational import symbols_of
from symroof.algebra.roots import whole_number
from symroof.derivation.answer import Said
from symroof.derivation.draft import INTENSITY, RIDGE, Draft
from symroof.derivation.solving import highest, solution_of, stays_below
from symroof.derivation.whole_sizes import wholes
from symroof.exploration.edges import equal_sizes
from symroof.exploration.knobs import Knob
from symroof.exploration.leading_parts import shares, shares_at
from symroof.exploration.regime_map import RegimeMap, RegimeRow, equality
from symroof.formula import Compare, Formula, Name, Quotient, number
from symroof.proof.limits import Highest, Whole
from symroof.proof.step import Reason, Role, Step
from symroof.symbols import expression, fraction, rational, symbol


class Place(Said):
    """A point on a map, beside the leading forms of its corners."""

    found: RegimeMap
    values: Mapping[str, Fraction]

    @property
    def intensity(self) -> Fraction:
        return self.numbers(_role(self.found))[0]

    @property
    def over_ridge(self) -> Fraction | None:
        """The intensity over the ridge, where there is one to compare it with."""
        return self.number("over")

    @property
    def parts(self) -> tuple[tuple[str, Fraction], ...]:
        """Each part of the bytes, with its share."""
        labels = (part.label for part in shares(self.found.setting))
        return tuple(zip(labels, self.numbers("share"), strict=False))

    @property
    def _nearest(self) -> tuple[RegimeRow, Fraction]:
        factors = zip(self.found.corner_rows, self.numbers("factor"), strict=True)
        return min(factors, key=lambda pair: max(pair[1], 1 / pair[1]))

    @property
    def nearest(self) -> RegimeRow:
        """The corner whose leading form is least off."""
        return self._nearest[0]

    @property
    def factor(self) -> Fraction:
        """The leading form of the nearest corner over the exact intensity."""
        return self._nearest[1]

    @property
    def knobs(self) -> tuple[tuple[Knob, Fraction], ...]:
        return tuple(zip(_known(self.found, self.values), self.numbers("knob"), strict=True))


def covers(found: RegimeMap, values: Mapping[str, Fraction]) -> bool:
    """Whether the values leave no size of the quantity open."""
    return all(s.name in values for s in found.value.free_symbols if s not in found.setting.values)


def place(found: RegimeMap, values: Mapping[str, Fraction]) -> Place:
    """Where sizes that leave nothing open stand on the map; everything in it is exact.

    >>> from symroof.exploration.regime_map import regime_map
    >>> from symroof.model.library import library_operation
    >>> from symroof.model.problem import Problem
    >>> at = place(regime_map(Problem(library_operation("matmul"))), {"B": Fraction(2), "D": Fraction(64), "F": Fraction(64)})
    >>> at.intensity, str(at.nearest.leading), at.factor
    (Fraction(32, 17), 'B', Fraction(17, 16))
    """
    setting, write = found.setting, found.draft.write
    point = {symbol(name): rational(value) for name, value in values.items()}
    where = (*setting.equalities, *(equality(name, value) for name, value in values.items()))

    def said(role: Role, left: Formula, value: Expr) -> Step:
        put = write(setting.in_numbers(value.subs(point)))
        return Step("regime", Reason.AT_POINT, left, "=", put, where, role=role)

    steps = [said(_role(found), found.spelled, found.value)]
    if setting.ridge is not None and found.of_intensity:
        over = write(fraction(expression(steps[0].right)) / setting.ridge)
        steps.append(Step("regime", Reason.MARGIN, Quotient(steps[0].right, RIDGE), "=", over, role="over"))
    for row in found.corner_rows:
        steps.append(said("factor", Quotient(write(row.leading), found.name), row.leading / found.value))
    steps += [said("knob", write(knob.ratio), knob.ratio) for knob in _known(found, values)]
    if found.of_intensity:
        rest = {name: Fraction(1) for name in setting.problem.operation.dimensions if name not in values}
        open_sizes = (item for item in rest.items() if symbol(item[0]) not in setting.regime.substitution)
        steps += shares_at(found.draft, rest | dict(values), (*where, *(equality(*item) for item in open_sizes)))
    return Place(found.draft.add(*steps).since(found.draft), found, values)


def _role(found: RegimeMap) -> Role:
    """What the value at a point is said to be of: only the intensity has a name that the second engine knows."""
    return "intensity" if found.of_intensity else "quantity"


def _known(found: RegimeMap, values: Mapping[str, Fraction]) -> list[Knob]:
    """The knobs whose factors have a number at the given sizes."""
    return [knob for knob in found.knobs if {s.name for s in knob.ratio.free_symbols} <= {*values}]


class Remains(Said):
    """What fixed sizes leave: the ``condition`` that the other ``sizes`` have to meet, and from where on all of them do if
    they are equal. The part "top" is what the intensity cannot exceed, and "share" that over the ridge, where nothing helps."""

    sizes: tuple[str, ...]

    @property
    def each_from(self) -> tuple[tuple[str, int], ...]:
        """What each of them has to reach."""
        bounds = (step.right for step in self.all("each"))
        reach = {
            b.left.name: int(expression(b.right)) for b in bounds if isinstance(b, Compare) and isinstance(b.left, Name)
        }
        return tuple((name, reach[name]) for name in self.sizes if name in reach)


def remains(found: RegimeMap) -> Remains | None:
    """What is left to find once some sizes are fixed; None without a ridge to compare with."""
    setting, value, ridge, draft = found.setting, found.value, found.setting.ridge, found.draft
    if ridge is None or not found.of_intensity:
        return None
    sizes = symbols_of(value)
    named = tuple(sorted((s.name for s in sizes), key=setting.layout.order.index))
    bound = value if not sizes else highest(value, setting.least_one)
    steps: list[Step] = []
    if bound is not None and bound.is_Rational:
        stays, names = stays_below(bound, value, setting.least_one), tuple(s.name for s in sizes)
        relation, evidence = (stays, Highest(names)) if sizes else ("=", None)
        top, equal = draft.write(bound), setting.equalities
        steps.append(Step("regime", Reason.REACH, INTENSITY, relation, top, equal, evidence, role="top"))
        if not sizes or fraction(bound) <= ridge:
            share = draft.write(fraction(bound) / ridge)
            steps.append(Step("regime", Reason.MARGIN, Quotient(draft.write(bound), RIDGE), "=", share, role="share"))
    if sizes and (not steps or steps[-1].role != "share"):
        steps += _left_to_meet(draft, value, ridge, sizes)
    return Remains(draft.add(*steps).since(draft), named)


def _left_to_meet(draft: Draft, value: Expr, ridge: Fraction, sizes: tuple[Expr, ...]) -> tuple[Step, ...]:
    """The condition on the sizes that are open, the least equal ones, and what each of them has to reach."""
    setting, equal = draft.setting, draft.setting.equalities
    monomials = reciprocals(value) or ()
    budget = 1 / ridge - fraction(Add(*(1 / m for m in monomials if not m.free_symbols)))
    growing = [m for m in monomials if m.free_symbols]
    if not growing or budget <= 0:
        return equal_sizes(draft, value)
    above = Compare(INTENSITY, ">", RIDGE)
    condition: Formula = Compare(draft.write(Add(*(1 / m for m in growing))), "<", draft.write(budget))
    if len(sizes) == 1:
        solution = solution_of(value, rational(ridge), sizes[0], setting.least_one, layout=setting.layout)
        condition = solution.end if solution.end is not None and not solution.bands else condition
    steps = [Step("regime", Reason.RULE, above, "<=>", condition, equal, role="condition")]
    for m in growing:
        x = next(iter(m.free_symbols))
        if len(m.free_symbols) == 1 and (m / x).is_Rational:
            stride, edge = wholes(setting, x.name).each, rational(1 / budget) / (m / x)
            first = Compare(Name(x.name), ">=", number(whole_number(">", edge, stride) or 1))
            reach = Compare(Name(x.name), ">", draft.write(edge))
            part = Compare(draft.write(m), ">", Quotient(number(1), draft.write(budget)))
            steps.append(
                Step("regime", Reason.WHOLE, part, "<=>", first, equal, Whole(stride, (), reach.right), role="each")
            )
    return (*steps, *equal_sizes(draft, value))
