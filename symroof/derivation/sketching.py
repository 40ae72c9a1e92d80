"""A sketch derived: its formulas come to values, and its relation is solved, with no operation behind them."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from sympy import Expr

from symroof.algebra.regime import Regime
from symroof.derivation.answer import Answer
from symroof.derivation.formulas import Basis
from symroof.derivation.layout import Layout
from symroof.derivation.quantity_definitions import put
from symroof.derivation.times import answered
from symroof.errors import AlgebraError
from symroof.formula import Formula, Frozen, Number, names
from symroof.model.hardware import Spec
from symroof.model.problem import Sketch
from symroof.model.quantities import DERIVED, meaning
from symroof.proof.step import Ledger, Step
from symroof.symbols import expression


class Sketched(Frozen):
    """The steps of a sketch, each decided by the second engine."""

    sketch: Sketch
    steps: tuple[Step, ...]
    layout: Layout

    @property
    def answer(self) -> Answer:
        return Answer(self.steps, self.sketch.at)

    def section(self, name: str) -> tuple[Step, ...]:
        return tuple(step for step in self.steps if step.section == name)

    def counts(self) -> Mapping[str, int]:
        """How many steps were proved, and how many sampled."""
        kinds = [step.check.status for step in self.steps if step.check is not None]
        return {kind: kinds.count(kind) for kind in ("proved", "sampled")}


def derive_sketch(sketch: Sketch) -> Sketched:
    """The named formulas of a sketch in what is free, and its relation solved.

    Quantities that no formula defines are what the textbook says of others: T_math = flops/peak.

    >>> from symroof.reading.arguments import read_sketch
    >>> found = derive_sketch(read_sketch({"let": {"x": "2*B"}, "solve": "x > 6", "solve_for": "B"}))
    >>> found.answer.formula("solution_whole").right.value
    Fraction(4, 1)
    """
    figures = figures_of_sketch(sketch)
    own = {*sketch.let, *sketch.symbols, *figures, sketch.solve_for, sketch.over}
    theory = {name: formula for name in DERIVED if name not in own and (formula := meaning(name)) is not None}
    questions = (sketch.solve, sketch.minimize, sketch.subject)
    spoken = (*sketch.let.values(), *(formula for formula in questions if formula is not None))
    order = tuple(dict.fromkeys(name for formula in spoken for name in names(formula)))
    meanings = {**theory, **sketch.let}
    numbers = {name: Number(figure.value, figure.digits) for name, figure in figures.items()}
    layout = Layout(order)
    relations = tuple((expression(r.left), r.relation, expression(r.right)) for r in sketch.assume)
    regime = Regime(relations, frozenset())
    ground = Basis(
        ledger=Ledger(frozenset(), numbers, meanings, points=sketch.at),
        layout=layout,
        let=sketch.let,
        quantities=_values(meanings, regime),
        figures=figures,
        regime=regime,
        points=sketch.at,
        equalities=sketch.assume,
    )
    return Sketched(sketch, answered(ground, sketch).steps, layout)


def figures_of_sketch(sketch: Sketch) -> dict[str, Spec]:
    """The figures of the chip, and those that stand for ``peak`` and ``bandwidth`` where nothing else does."""
    chip, own = sketch.hardware, {*sketch.let, *sketch.symbols, sketch.solve_for}
    if chip is None:
        return {}
    result = dict(chip.spoken)
    if sketch.compute is not None and "peak" not in result:
        result["peak"] = chip.peak(sketch.compute)[1]
    if "HBM" in result:
        result.setdefault("bandwidth", result["HBM"])
    return {name: figure for name, figure in result.items() if name not in own}


def _values(meanings: Mapping[str, Formula], regime: Regime) -> dict[str, Expr]:
    """The values of names in those that stand for nothing, as far as they have any."""
    result: dict[str, Expr] = {}

    def work_out(name: str, inside: tuple[str, ...]) -> None:
        if name in inside:
            raise AlgebraError(f"{name} is defined by itself", hint=f"symbols = [{name!r}] leaves it open")
        for other in names(meanings[name]):
            if other in meanings and other not in result:
                work_out(other, (*inside, name))
        with suppress(AlgebraError):
            result[name] = put(regime.apply(expression(meanings[name])), result)

    for name in meanings:
        if name not in result:
            work_out(name, ())
    return result
