"""Sizes put in: where a point stands on the map."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from sympy import Expr

from symroof.derivation.answer import Said
from symroof.derivation.draft import RIDGE
from symroof.exploration.leading_parts import shares, shares_at
from symroof.exploration.regime_map import RegimeMap, RegimeRow, equality
from symroof.formula import Formula, Quotient
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
    if found.of_intensity:
        rest = {name: Fraction(1) for name in setting.problem.operation.dimensions if name not in values}
        open_sizes = (item for item in rest.items() if symbol(item[0]) not in setting.regime.substitution)
        steps += shares_at(found.draft, rest | dict(values), (*where, *(equality(*item) for item in open_sizes)))
    return Place(found.draft.add(*steps).since(found.draft), found, values)


def _role(found: RegimeMap) -> Role:
    """What the value at a point is said to be of: only the intensity has a name that the second engine knows."""
    return "intensity" if found.of_intensity else "quantity"
