"""Named formulas: each as its author wrote it, in the sizes, with the figures put in, and as a number where it is one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from fractions import Fraction

from sympy import Expr

from symroof.algebra.rational import cancelled
from symroof.algebra.regime import Regime
from symroof.algebra.rounding import decimal
from symroof.derivation.draft import Draft, rounded
from symroof.derivation.layout import Layout, with_digits
from symroof.derivation.meanings import counted_quantities, put
from symroof.errors import AlgebraError
from symroof.formula import Compare, Formula, Frozen, Name, Number, Sizes, names
from symroof.model.hardware import Known
from symroof.proof.check import checked
from symroof.proof.ledger import Ledger, UndecidedError
from symroof.proof.step import Reason, Step, named_formula
from symroof.symbols import expression, fraction, rational, symbol


class Ground(Frozen):
    """What formulas of names stand on: the ledger that steps are held against, the quantities in sizes and figures, and
    the figures that are known. ``free`` is a name that stands for nothing else."""

    ledger: Ledger
    layout: Layout
    let: Mapping[str, Formula]
    quantities: Mapping[str, Expr]
    figures: Mapping[str, Known]
    regime: Regime
    least_one: Sizes = Sizes(frozenset())
    points: tuple[Mapping[str, Fraction], ...] = ()
    equalities: tuple[Compare, ...] = ()
    steps: tuple[Step, ...] = field(default=())

    def add(self, *steps: Step) -> Ground:
        return replace(self, steps=(*self.steps, *checked(steps, self.ledger)))

    def value(self, formula: Formula) -> Expr:
        """The value of a formula in sizes and figures. Raises :class:`AlgebraError` where it has none."""
        value = put(self.regime.apply(expression(formula)), self.quantities)
        return value if any(s.name in self.figures for s in value.free_symbols) else _lowest(value)

    def in_numbers(self, value: Expr, point: int | None = None) -> Expr:
        """A value with the figures put in, and the sizes of a set."""
        known = {symbol(name): rational(figure.value) for name, figure in self.figures.items()}
        sizes = {} if point is None else {symbol(n): rational(x) for n, x in self.points[point].items()}
        return _lowest(self.regime.apply(value).subs(sizes).subs(known))

    def in_digits(self, formula: Formula) -> Formula:
        """A formula with the figures in the digits in which they were read."""
        used = names(formula)
        return with_digits(formula, {name: known.digits for name, known in self.figures.items() if name in used})

    def where(self, point: int | None) -> tuple[Formula, ...]:
        """What is assumed at a set of sizes, beside the equalities."""
        sizes = {} if point is None else self.points[point]
        return (*self.equalities, *(Compare(Name(n), "=", self.layout.write(x)) for n, x in sizes.items()))

    def defining(self, formula: Formula) -> Ground:
        """With a step for every name of a formula that means something and that no step has defined."""
        ground = self
        for name in names(formula):
            known = name in ground.ledger.definitions or name in ground.figures
            meaning = None if known else ground.ledger.meanings.get(name)
            if isinstance(meaning, Formula):
                ground = ground.defining(meaning)
                ground = ground.add(Step("formulas", Reason.MEANS, Name(name), "=", meaning))
            elif meaning is not None and name in ground.quantities:
                counted = ground.layout.write(ground.quantities[name])
                ground = ground.add(Step("formulas", Reason.MEANS, Name(name), "=", counted, evidence=meaning))
        return ground


def _lowest(value: Expr) -> Expr:
    return cancelled(value) if value.is_rational_function() else value


def ground_of(draft: Draft) -> Ground:
    """What the formulas of a problem with an operation stand on."""
    setting = draft.setting
    dimensions = setting.problem.operation.dimensions
    figures = {name: known for name, known in setting.known.items() if name not in dimensions}
    known = counted_quantities(setting)
    figures = {name: figure for name, figure in figures.items() if known.get(name, symbol(name)) == symbol(name)}
    return valued(
        Ground(
            ledger=draft.ledger,
            layout=draft.layout,
            let=setting.problem.let,
            quantities=known,
            figures=figures,
            regime=setting.regime,
            least_one=setting.least_one,
            points=setting.problem.at,
            equalities=setting.equalities,
        )
    )


def valued(ground: Ground) -> Ground:
    """With the values of the named formulas, as far as they have any."""
    for name, formula in ground.let.items():
        try:
            value = ground.value(formula)
        except AlgebraError:
            continue
        ground = replace(ground, quantities={**ground.quantities, name: value})
    return ground


def named(ground: Ground) -> Ground:
    """The named formulas: as they were written, in sizes, with the figures put in, and at each set of sizes."""
    for name, formula in ground.let.items():
        ground = ground.defining(formula).add(Step("formulas", Reason.NAMED, Name(name), "=", formula))
        ground = _come_to(ground, name, formula)
    for point in range(len(ground.points)):
        for name in ground.let:
            if name in ground.quantities:
                ground = _at(ground, name, point)
    return ground


def _come_to(ground: Ground, name: str, formula: Formula) -> Ground:
    left, where = Name(name), ground.equalities
    if name not in ground.quantities:
        shown = ground.in_digits(formula)
        return ground if shown == formula else ground.add(Step("formulas", Reason.FIGURES, left, "=", shown))
    spread = formula
    try:
        if any(ground.quantities.get(part, symbol(part)) != symbol(part) for part in names(formula)):
            spread = ground.layout.write(ground.quantities[name])
        if spread != formula and names(spread):
            ground = ground.add(Step("formulas", Reason.EXPANDED, left, "=", spread, where))
        if (shown := ground.in_digits(spread)) != spread:
            ground = ground.add(Step("formulas", Reason.FIGURES, left, "=", shown, where))
        return _number(ground, name, ground.in_numbers(ground.quantities[name]), None)
    except UndecidedError:  # a function that the second engine has no values of
        return ground


def _at(ground: Ground, name: str, point: int) -> Ground:
    try:
        return _number(ground, name, ground.in_numbers(ground.quantities[name], point), point)
    except UndecidedError:
        return ground


def _number(ground: Ground, name: str, value: Expr, point: int | None) -> Ground:
    """What a named formula comes to: exactly, and in decimals where it is a number."""
    where, right = ground.where(point), ground.layout.write(value)
    digits: tuple[Step, ...] = ()
    if value.is_Rational:
        exact = fraction(value)
        if Fraction(text := decimal(exact)) == exact:
            right = Number(exact, text)
        digits = rounded("formulas", Name(name), exact, assumptions=where, point=point)
    said = Step("formulas", Reason.VALUE, Name(name), "=", right, where, role=named_formula(name), point=point)
    return ground.add(said, *digits)
