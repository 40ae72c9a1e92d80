"""The premises of a derivation: costs, figures, the regime, the layout and the unknown, before its first line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from fractions import Fraction

from sympy import Add, Expr, Integer, Rational

from symroof.algebra.rational import cancel, is_rational, sign_of
from symroof.algebra.regime import Regime
from symroof.derivation.formula_writing import Layout
from symroof.derivation.size_constraints import require_assumed, require_on_mesh, require_valid
from symroof.errors import AlgebraError, ModelError
from symroof.formula import Compare, Frozen, Sizes, several_of
from symroof.model.chip_costs import busy_links
from symroof.model.given_costs import Cost
from symroof.model.hardware import Spec
from symroof.model.kernels import cost_of, is_idle
from symroof.model.mesh_wiring import is_network, link_over, no_traffic_error, with_wiring
from symroof.model.problem import Problem, bandwidth_of, peak_of
from symroof.model.program_quantities import amounts
from symroof.model.quantities import of_statement, sent_over, time_name
from symroof.model.resources import COMMS, MATH, Rates, figures_of, rates_of
from symroof.model.splits import open_axes
from symroof.symbols import expression, rational, symbol

LARGEST_NUMBER = 10**100


class Bound(StrEnum):
    """What all else waits for; both, where arithmetic and something else are as long."""

    COMPUTE = "compute"
    VECTOR = "vector"
    MEMORY = "memory"
    LINK = "link"
    LATENCY = "latency"
    BOTH = "both"


class Work(Frozen):
    """What is done: ``flops`` and ``moved`` are those of one chip, over the link of the problem. ``memory`` is read and written,
    ``comms`` the axis or switch that is asked about, where one is, and ``link`` the figure of what is compared."""

    problem: Problem
    cost: Cost
    chips: Expr
    flops: Expr
    moved: Expr
    moved_name: str
    memory: str
    comms: str
    link: str

    @property
    def flops_name(self) -> str:
        return "flops_per_chip" if self.several_chips else "flops"

    @property
    def several_chips(self) -> bool:
        """Whether the operation is split over a mesh, whoever does what there."""
        return bool(self.problem.operation.axes)

    @property
    def wirings(self) -> tuple[str, ...]:
        """How the axes are wired: what the counts of one problem on several chips differ in."""
        return tuple(str(axis.wiring) for axis in self.problem.operation.mesh)

    @property
    def over_network(self) -> bool:
        """Whether the problem asks about a link between chips."""
        return self.moved_name.startswith("sent(")


class AtRates(Work):
    """At which figures: ``rates`` are those of all that is kept busy."""

    peak: Spec | None
    peak_name: str
    bandwidth: Spec | None
    rates: Rates

    @property
    def matrix_unit(self) -> bool:
        """Whether the peak is that of a matrix unit."""
        return self.peak is not None and not self.peak_name.startswith("peak.vector") and self.peak_name != "peak"

    @property
    def matrix_stands_in(self) -> bool:
        """Whether work for the vector unit is compared with the matrix unit, since the chip has no other figure."""
        return self.problem.operation.vector and self.matrix_unit

    @property
    def ridge(self) -> Fraction | None:
        """The intensity at which arithmetic and transfer take the same time, where both figures are known."""
        if self.peak is None or self.bandwidth is None:
            return None
        return self.peak.value / self.bandwidth.value

    @property
    def mixed(self) -> bool:
        """Whether the arithmetic runs at several peaks: then no ridge tells which side is longer."""
        return self.rates.mixed

    @property
    def idle(self) -> bool:
        """Whether nothing is computed: then there is no intensity to compare with a ridge."""
        return MATH in self.rates.idle

    @property
    def joint(self) -> bool:
        """Whether T_comms is the longest time of the memory and all links."""
        return self.rates.joint

    @property
    def slower(self) -> str:
        """The time on the other side of the ridge: T_comms, or that of the memory where T_comms is the longest of several."""
        return self.rates.compared

    def waits_for(self, longest: tuple[str, ...]) -> Bound:
        """What all else waits for, in a word."""
        result = {self._resource(name) for name in longest}
        if MATH in result:
            return Bound.COMPUTE if len(result) == 1 else Bound.BOTH
        name = min(result)
        if name in self.rates.roofless:
            return Bound(name)
        return Bound.LINK if name in dict(self.rates.links) else Bound.MEMORY

    def busiest(self, longest: tuple[str, ...]) -> str:
        """What all else waits for, by its name: HBM, an axis, or the word for it; what is called as such a word by its time."""
        side = self.waits_for(longest)
        if side not in (Bound.LINK, Bound.MEMORY):
            return side
        name = min(map(self._resource, longest))  # of several that are as long, their order says nothing
        return time_name(name) if name in {*Bound} else name

    def _resource(self, name: str) -> str:
        return (self.rates.called or self.rates.comms) if name == COMMS else name

    @property
    def timed(self) -> bool:
        """Whether every figure is known that a time needs."""
        peaks = self.rates.names if self.rates.mixed else () if self.idle else ("peak",)
        return {"bandwidth", *peaks, *self.rates.busy_figures} <= self.figures.keys()

    @property
    def figures(self) -> dict[str, Spec]:
        """Peak and bandwidth, where they are known, and the other figures that the times of a program need."""
        both = {"peak": self.peak, "bandwidth": self.bandwidth}
        figures = {name: figure for name, figure in both.items() if figure is not None}
        return figures | figures_of(self.rates, self.problem.hardware)

    @property
    def known(self) -> dict[str, Spec]:
        """The known figures by name: peak, bandwidth, and the links of the chip."""
        chip, sizes = self.problem.hardware, {*self.problem.names, *self.problem.symbols, *self.problem.let}
        figures = chip.spoken if chip else {}
        return {name: figure for name, figure in figures.items() if name not in sizes} | self.figures

    @property
    def bandwidth_name(self) -> str:
        """The figure of the link, or of the memory, that the ridge is about."""
        rates, link = self.rates, self.problem.link
        return dict(rates.links).get(rates.comms, link) if self.over_network else link

    @property
    def digits(self) -> dict[str, str]:
        """The figures, with the digits they were read with."""
        return {name: figure.digits for name, figure in self.figures.items()}

    @property
    def values(self) -> dict[Expr, Fraction]:
        """The figures and the ridge, by their symbols, where they are known."""
        result = {symbol(name): figure.value for name, figure in self.figures.items()}
        return result if self.ridge is None else {**result, symbol("ridge"): self.ridge}

    @property
    def exact(self) -> dict[Expr, Expr]:
        """What is put in for the symbols of the known figures."""
        return {figure: rational(x) for figure, x in self.values.items()}

    def in_numbers(self, value: Expr) -> Expr:
        """A value with the known figures put in."""
        put = value.subs(self.exact)
        return cancel(put) if is_rational(put) else put


class Setting(AtRates):
    """What is asked, with all that is known: ``intensity`` is in lowest terms, with equal sizes put in."""

    layout: Layout
    regime: Regime
    intensity: Expr

    @property
    def least_one(self) -> Sizes:
        """The sizes, which are at least 1, and above 1 for axes without a number of chips."""
        return Sizes(self.regime.least_one, several_of(self.regime.least_one))

    @property
    def compared(self) -> Expr:
        """What is above ``level`` where it is compute-bound: the intensity, or T_math/T_comms where there is no ridge."""
        if not self.rates.mixed:
            return self.intensity
        return cancel(self.regime.apply(self.arithmetic * symbol("bandwidth") / self.moved))

    @property
    def arithmetic(self) -> Expr:
        """T_math in sizes and figures: each contraction at its own peak."""
        program, each = self.problem.operation, "flops_per_chip" if self.problem.operation.axes else "flops"
        flops = amounts(program, self.problem.count)
        return Add(*(flops[of_statement(each, name)] / symbol(peak) for name, peak in self.rates.peaks))

    @property
    def level(self) -> Expr:
        return Integer(1) if self.mixed else symbol("ridge")

    @property
    def equalities(self) -> tuple[Compare, ...]:
        """The equalities that are assumed."""
        return tuple(r for r in self.problem.assume if r.relation == "=")

    @property
    def variable(self) -> Expr:
        """What the condition is solved for: as asked, or the size that this one equals; else the left of the regime's
        first <<, else the first that people turn."""
        free = {s.name for s in self.intensity.free_symbols}
        sizes = [name for name in self.problem.names if name in free]
        unknown = self.problem.solve_for if self.problem.solve is None else None
        if unknown is not None:
            chosen = self.regime.substitution.get(symbol(unknown), symbol(unknown))
            if sizes and str(chosen) not in sizes:
                raise AlgebraError(f"the intensity does not depend on {unknown}", expected=f"one of {', '.join(sizes)}")
            return chosen
        for left, relation, _ in self.regime.relations:
            if relation == "<<" and left.is_Symbol and left.name in sizes:
                return left
        turned = (name for name in self.turned() if name in free)
        return symbol(next(turned, (*self.problem.operation.dimensions, "n")[0]))

    def turned(self, axis: str | None = None) -> tuple[str, ...]:
        """The sizes in the order in which people turn them: the batch, the chips along an axis, what no weight has, the
        widths of the model."""
        names, operation = self.problem.names, self.problem.operation
        weights = {label for tensor in operation.declared_as("weight") for label in tensor.labels}
        served = (name for name in names if name not in weights and name not in operation.axes) if weights else ()
        return tuple(dict.fromkeys(("B", *((axis,) if axis else ()), *served, *operation.dimensions, *names)))


def setting_of(problem: Problem) -> Setting:
    """Count the operation, choose the figures, read the regime."""
    return _in_regime(_at_rates(_work(problem)))


def _work(problem: Problem) -> Work:
    """What is done, by one chip."""
    operation, link = problem.operation, problem.link
    cost, least_one = cost_of(operation, problem.count), _lower_bounds(problem)
    if is_idle(operation):
        link = _busy_link(problem)
    elif cost.flops == 0:
        raise ModelError("the operation does no arithmetic: its intensity is 0")
    else:
        _require_positive("FLOPs", cost.flops, least_one, (-1, 0))
    if cost.bytes != 0 or not is_idle(operation):
        _require_positive("bytes", cost.bytes, least_one, (-1, 0, None))
    if problem.mesh and not operation.axes:
        raise ModelError(
            "the operation is not split over the mesh",
            hint=f"write D_{next(iter(problem.mesh))} for a dimension D that is split; the text of an operation: symroof list operations NAME",
        )
    if not operation.axes:
        if is_network(link):
            raise no_traffic_error(link)
        require_on_mesh(problem)
        unit = Integer(1)
        return Work(problem, cost, unit, cost.flops.expand(), cost.bytes.expand(), "bytes", link, "", link)
    operation = with_wiring(operation, problem.hardware, link)
    problem = replace(problem, operation=operation, mesh={axis.name: axis for axis in operation.mesh})
    comms, link = link_over(operation, link)
    counts, moved = amounts(operation, problem.count), sent_over(comms) if comms else "bytes_per_chip"
    require_on_mesh(problem)
    flops, bytes_moved = counts["flops_per_chip"].expand(), counts[moved].expand()
    return Work(problem, cost, counts["chips"], flops, bytes_moved, moved, "HBM" if comms else link, comms, link)


def _busy_link(problem: Problem) -> str:
    """What a program is asked about that computes nothing: the link of the problem; where its memory has nothing to do, the first
    axis that something is sent over. Raises :class:`ModelError` where nothing is."""
    operation = problem.operation
    if cost_of(operation, problem.count).bytes != 0 or is_network(problem.link) or problem.link in operation.axes:
        return problem.link
    busy = busy_links(with_wiring(operation, problem.hardware, problem.link)) if operation.axes else ()
    if not busy:
        raise ModelError("the program computes nothing, and moves nothing", expected="a product, or an exchange")
    return busy[0]


def _at_rates(work: Work) -> AtRates:
    """At which figures of the chip."""
    problem, chip = work.problem, work.problem.hardware
    rates = rates_of(problem.operation, chip, problem.compute, work.memory, work.comms, problem.joint)
    name, peak = (", ".join(rates.names), None) if rates.mixed else ("peak", None)
    if not rates.mixed and not is_idle(problem.operation):
        name, peak = peak_of(problem, chip)
    bandwidth = bandwidth_of(chip, work.link)
    return AtRates(**vars(work), peak=peak, peak_name=name, bandwidth=bandwidth, rates=rates)


def _in_regime(rated: AtRates) -> Setting:
    """What is asked of it: under which regime."""
    problem = rated.problem
    relations = tuple((expression(r.left), r.relation, expression(r.right)) for r in problem.assume)
    _require_readable(relations)
    regime = Regime(relations, _lower_bounds(problem))
    intensity = cancel(regime.apply(rated.flops / rated.moved))
    problem = replace(problem, at=tuple(_independent(values, regime) for values in problem.at))
    fields = {**vars(rated), "problem": problem}
    return Setting(**fields, layout=_layout(problem), regime=regime, intensity=intensity)


def _independent(values: Mapping[str, Fraction], regime: Regime) -> Mapping[str, Fraction]:
    """The sizes that are put in without those that others give the same value by assumption."""
    put = {symbol(name): rational(value) for name, value in values.items()}
    again = {x for x, size in put.items() if x in regime.substitution and regime.substitution[x].subs(put) == size}
    return {name: value for name, value in values.items() if symbol(name) not in again}


def _lower_bounds(problem: Problem) -> Sizes:
    return Sizes(map(symbol, problem.operation.sizes), map(symbol, open_axes(problem.mesh)))


def _require_readable(relations: tuple[tuple[Expr, str, Expr], ...]) -> None:
    for relation in relations:
        for side in (relation[0], relation[2]):
            if any(abs(n.p) > LARGEST_NUMBER or n.q > LARGEST_NUMBER for n in side.atoms(Rational)):
                raise AlgebraError("a number of the regime is out of range", expected="numbers up to 1e100")


def _require_positive(name: str, value: Expr, least_one: frozenset[Expr], refused: tuple[int | None, ...]) -> None:
    """Nothing costs less than nothing."""
    if value == 0 or sign_of(value, least_one) in refused:
        may = "are" if None not in refused else "may be"
        raise ModelError(f"the {name} {may} zero or negative: {value}".replace("**", "^"), expected="a positive count")


def _layout(problem: Problem) -> Layout:
    program = problem.operation
    shaped = (dim.label for tensor in program.arrays.values() for dim in tensor.dims) if program.where else ()
    derived = tuple(label for label in shaped if label in program.where or label in program.dimensions)
    order = tuple(dict.fromkeys((*derived, *program.dimensions, *open_axes(problem.mesh))))
    named = () if problem.operation.line is not None else tuple(problem.operation.arrays)
    beside = frozenset(name[0] for name in named if not name[1:] or name[1:].isdigit())
    return Layout(order, problem.operation.shapes, beside)


def require_arithmetic(setting: Setting, hint: str | None = None) -> None:
    """Something is computed. Raises :class:`ModelError` where it is not: then there is no intensity to speak of."""
    if setting.idle:
        raise ModelError("the program computes nothing, so it has no intensity", hint=hint)


def require_sizes_agree(setting: Setting, values: Mapping[str, Fraction]) -> None:
    """Sizes that are put in are there, and agree with what is assumed."""
    require_valid(setting.problem, values)
    require_agreement(setting.regime, {symbol(name): rational(value) for name, value in values.items()})


def require_agreement(regime: Regime, put: Mapping[Expr, Expr]) -> None:
    """A point that contradicts a fact or an equality of the regime is refused."""
    require_assumed(regime.relations, put)
    for x in put:
        if x in regime.substitution:
            raise AlgebraError(
                f"{x} is {regime.substitution[x]} here", hint=f"give a size of {regime.substitution[x]} instead"
            )
