"""Named formulas: each as its author wrote it, in the sizes, with the figures put in, and as a number where it is one."""

from __future__ import annotations

from collections.abc import Container, Mapping
from contextlib import suppress
from dataclasses import field, replace
from fractions import Fraction

from sympy import Expr, Rational

from symroof.algebra.rational import cancel
from symroof.algebra.regime import Regime
from symroof.algebra.rounding import decimal, magnitude, shorten as in_short, to_digits
from symroof.derivation.drafts import Draft, Steps, decimals
from symroof.derivation.formula_writing import Layout, with_digits
from symroof.derivation.premises import Setting
from symroof.derivation.quantity_definitions import counted_quantities, meanings, substitute
from symroof.errors import AlgebraError, CheckError
from symroof.formula import Call, Compare, Formula, Frozen, Name, Number, Sizes, mapped, names, nodes
from symroof.model.hardware import Spec
from symroof.model.quantities import Exponents, exponents, unit_of_amount, unit_of_formula
from symroof.proof.check import establish
from symroof.proof.step import Ledger, Reason, Step, UndecidedError, named_formula
from symroof.symbols import exactly, expression, fraction, rational, symbol, with_numbers

# Digits of what is not rational; what a formula is called that has no name, and that no formula can be called.
DIGITS, ASKED = 17, "what is asked"
LARGEST_NUMBER = Rational(10**2000)  # no number is written out that is larger, or closer to zero than one over it


class Basis(Frozen):
    """What formulas of names stand on: the ledger that steps are held against, the quantities in sizes and figures, and
    the figures that are known. ``free`` is a name that stands for nothing else."""

    ledger: Ledger
    layout: Layout
    let: Mapping[str, Formula]
    quantities: Mapping[str, Expr]
    figures: Mapping[str, Spec]
    regime: Regime
    least_one: Sizes = Sizes(frozenset())
    points: tuple[Mapping[str, Fraction], ...] = ()
    equalities: tuple[Compare, ...] = ()
    steps: tuple[Step, ...] = field(default=())

    def add(self, *steps: Step) -> Basis:
        return replace(self, steps=(*self.steps, *establish(steps, self.ledger)))

    def value(self, formula: Formula) -> Expr:
        """The value of a formula in sizes and figures. Raises :class:`AlgebraError` where it has none."""
        value = substitute(self.regime.apply(expression(formula)), self.quantities)
        return value if any(s.name in self.figures for s in value.free_symbols) else _lowest(value)

    def in_numbers(self, value: Expr, point: int | None = None) -> Expr:
        """A value with the figures put in, and the sizes of a set."""
        figures = {name: figure.value for name, figure in self.figures.items()}
        numbers, value = {**figures, **({} if point is None else self.points[point])}, self.regime.apply(value)
        exact = None if point is None else exactly(value, numbers)
        return _lowest(with_numbers(value, numbers)) if exact is None else rational(exact)

    def in_digits(self, formula: Formula) -> Formula:
        """A formula with the figures in the digits in which they were read."""
        used = names(formula)
        return with_digits(formula, {name: figure.digits for name, figure in self.figures.items() if name in used})

    def where(self, point: int | None) -> tuple[Formula, ...]:
        """What is assumed at a set of sizes, beside the equalities."""
        sizes = {} if point is None else self.points[point]
        return (*self.equalities, *(Compare(Name(n), "=", self.layout.write(x)) for n, x in sizes.items()))

    def defining(self, formula: Formula) -> Basis:
        """With a step for every name of a formula that means something and that no step has defined."""
        ground = self
        for name in names(formula):
            has_meaning = name in ground.ledger.definitions or name in ground.figures
            meaning = None if has_meaning else ground.ledger.meanings.get(name)
            if isinstance(meaning, Formula):
                ground = ground.defining(meaning)
                ground = ground.add(Step("formulas", Reason.FACT, Name(name), "=", meaning))
            elif meaning is not None and name in ground.quantities:
                counted = ground.layout.write(ground.quantities[name])
                ground = ground.add(Step("formulas", Reason.FACT, Name(name), "=", counted, evidence=meaning))
        return ground


def _lowest(value: Expr) -> Expr:
    with suppress(AlgebraError):  # exp(10) is no coefficient, a power may be too large
        return cancel(value) if value.free_symbols and value.is_rational_function() else value
    return value


def basis_of(draft: Draft) -> Basis:
    """What the formulas of a problem with an operation stand on."""
    setting = draft.setting
    dimensions = setting.problem.operation.dimensions
    figures = {name: figure for name, figure in setting.known.items() if name not in dimensions}
    quantities = counted_quantities(setting)
    figures = {name: figure for name, figure in figures.items() if quantities.get(name, symbol(name)) == symbol(name)}
    return with_values(
        Basis(
            ledger=draft.ledger,
            layout=draft.layout,
            let=setting.problem.let,
            quantities=quantities,
            figures=figures,
            regime=setting.regime,
            least_one=setting.least_one,
            points=setting.problem.at,
            equalities=setting.equalities,
        )
    )


def formula_result(draft: Draft, formula: Formula) -> Steps:
    """What a formula of quantities comes to, under the name ``ASKED``: at each set of sizes, or in all sizes where there
    is none."""
    problem = draft.setting.problem
    extended = replace(draft.setting, problem=replace(problem, let={**problem.let, ASKED: formula}))
    ground = basis_of(replace(draft, setting=extended, ledger=replace(draft.ledger, meanings=meanings(extended))))
    ground = ground.defining(formula).add(Step("formulas", Reason.LINE, Name(ASKED), "=", formula))
    if not ground.points:
        ground = _come_to(ground, ASKED, formula)
    for point in range(len(ground.points)):
        ground = _at(ground, ASKED, point)
    return Steps(ground.steps)


def unit_in(setting: Setting, formula: Formula) -> Exponents | None:
    """The unit of a formula of quantities, sizes and figures; None where nothing tells it: of what its author declared."""
    return unit_among(formula, setting.problem.let, setting.problem.names, setting.known)


def unit_among(
    formula: Formula, let: Mapping[str, Formula], sizes: Container[str], figures: Mapping[str, Spec]
) -> Exponents | None:
    """The unit of a formula, told by those of its quantities, of figures that are ``known``, and of what ``let``
    names."""

    def of_name(name: str) -> Exponents | None:
        if name in let:
            return unit_of_formula(let[name], of_name, True, bare=False)
        unit = "1" if name in sizes else figures[name].unit if name in figures else unit_of_amount(name)
        return None if unit is None else exponents(unit)

    return unit_of_formula(formula, of_name, True, bare=False)


def with_values(ground: Basis) -> Basis:
    """With the values of the named formulas, as far as they have any."""
    for name, formula in ground.let.items():
        with suppress(AlgebraError):
            ground = replace(ground, quantities={**ground.quantities, name: ground.value(formula)})
    return ground


def formula_values(ground: Basis) -> Basis:
    """The named formulas: as they were written, in sizes, with the figures put in, and at each set of sizes."""
    for name, formula in ground.let.items():
        ground = ground.defining(formula).add(Step("formulas", Reason.LINE, Name(name), "=", formula))
        ground = _come_to(ground, name, formula)
    for point in range(len(ground.points)):
        for name in ground.let:
            if name in ground.quantities:
                ground = _at(ground, name, point)
    return ground


def _come_to(ground: Basis, name: str, formula: Formula) -> Basis:
    left, where = Name(name), ground.equalities
    if name not in ground.quantities:
        shown = ground.in_digits(formula)
        return ground if shown == formula else ground.add(Step("formulas", Reason.FIGURES, left, "=", shown))
    spread = formula
    try:
        sets, quantity = range(len(ground.points)), ground.quantities[name]
        if ground.points and all(ground.in_numbers(quantity, at).is_number for at in sets):  # a number says it all
            return _number(ground, name, ground.in_numbers(ground.quantities[name]), None)
        if any(ground.quantities.get(part, symbol(part)) != symbol(part) for part in names(formula)):
            spread = _spread(ground, formula) if _calls(formula) else ground.layout.write(ground.quantities[name])
        if spread != formula and names(spread):
            ground = ground.add(Step("formulas", Reason.EXPANDED, left, "=", spread, where))
        if (shown := ground.in_digits(spread)) != spread:
            ground = ground.add(Step("formulas", Reason.FIGURES, left, "=", shown, where))
        return _number(ground, name, ground.in_numbers(ground.quantities[name]), None)
    except UndecidedError:  # a function that the second engine has no values of
        return ground


def _calls(formula: Formula) -> bool:
    """Whether a formula has roots, logarithms or whole parts, which stay as they were written."""
    return any(isinstance(part, Call) and part.function not in ("max", "min") for part in nodes(formula))


def _spread(ground: Basis, formula: Formula) -> Formula:
    """A formula with the names of quantities replaced by what they are."""

    def put(part: Formula) -> Formula:
        quantity = ground.quantities.get(part.name) if isinstance(part, Name) else None
        return part if quantity is None or quantity == symbol(part.name) else ground.layout.write(quantity)  # type: ignore[attr-defined]

    return mapped(formula, put)


def _at(ground: Basis, name: str, point: int) -> Basis:
    with suppress(UndecidedError):
        return _number(ground, name, ground.in_numbers(ground.quantities[name], point), point)
    return ground


def _number(ground: Basis, name: str, value: Expr, point: int | None) -> Basis:
    """What a named formula comes to: exactly, and in decimals where it is a number; nothing where it has no value."""
    if value.is_number and not 1 / LARGEST_NUMBER < abs(value.evalf(5)) < LARGEST_NUMBER and value != 0:
        return ground
    if value.is_number and not value.is_Rational:
        return _irrational(ground, name, value, point)
    if _calls(ground.let[name]) and not value.is_Rational:
        return ground  # nothing shorter than what was written
    return ground.add(*_valued(ground, name, value, point))


def _valued(ground: Basis, name: str, value: Expr, point: int | None) -> tuple[Step, ...]:
    where, right = ground.where(point), ground.layout.write(value)
    in_decimals: tuple[Step, ...] = ()
    if value.is_Rational:
        exact = fraction(value)
        if Fraction(text := decimal(exact)) == exact:
            right = Number(exact, text)
        in_decimals = decimals("formulas", Name(name), exact, assumptions=where, point=point)
    step = Step("formulas", Reason.VALUE, Name(name), "=", right, where, role=named_formula(name), point=point)
    return step, *in_decimals


def _irrational(ground: Basis, name: str, value: Expr, point: int | None) -> Basis:
    """A number that SymPy holds for irrational: a whole one where the second engine proves that it is, as of log2(8), else
    its decimals."""
    near = value.evalf(30)
    if not (near.is_real and near.is_finite):
        return ground
    precise = fraction(Rational(str(near)))
    if abs(precise - round(precise)) < Fraction(1, 10**20):
        with suppress(CheckError):
            return ground.add(*_valued(ground, name, rational(round(precise)), point))
    where, digits = ground.where(point), (to_digits(precise, DIGITS), decimal(precise))
    if (power := magnitude(precise)) >= DIGITS:  # digits before the point that are not known are not written
        digits = (f"{to_digits(precise / 10**power, DIGITS)}e{power}", in_short(precise))
    long, short = (Number(Fraction(text), text) for text in digits)
    return ground.add(
        Step("summary", Reason.ROUNDED, Name(name), "~", long, where, role=named_formula(name), point=point),
        Step("formulas", Reason.ROUNDED, Name(name), "~", short, where, point=point),
    )
