"""The data of a live page: every time as a formula of sizes and figures, for each wiring of the chips, with the figures of each
chip; and where arithmetic takes longest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from fractions import Fraction
from itertools import chain, product
from typing import Any, TypeAlias

from sympy import Abs, Add, Expr, Max, Min, Mul, Pow, ceiling, floor, log

from symroof.algebra.rational import Polynomial, is_rational, ratio, sign
from symroof.derivation.evaluation import require_proved
from symroof.derivation.premises import Setting, require_arithmetic, setting_of
from symroof.derivation.quantity_definitions import quantities
from symroof.derivation.size_constraints import are_valid, require_as_assumed, require_shared
from symroof.derivation.solutions import Solution
from symroof.derivation.solving import relation_solved
from symroof.errors import AlgebraError, CheckError, ModelError, SymroofError
from symroof.formula import Frozen
from symroof.model.chip_costs import chip_costs
from symroof.model.collectives import MeshAxis
from symroof.model.hardware import Accelerator
from symroof.model.kernels import costs_of
from symroof.model.problem import Problem
from symroof.model.quantities import TOKENS, time_name
from symroof.model.resources import HOPS, LATENCY, overlaps
from symroof.model.splits import open_axes
from symroof.model.tensor_types import spelled_fact
from symroof.proof.step import UndecidedError
from symroof.symbols import symbol

# Of how many sizes the solved formula is shown; what holds is decided for all of them.
SOLVED = 3
# Beyond that a table of statements says less than its sum.
STATEMENTS = 40
# What is shown beside the times, where the problem has it.
BESIDE = ("T_lower", "T_upper", "T_steps", "intensity", TOKENS)


class LiveWiring(Frozen):
    """One way in which chips are wired, with one set of resources: each quantity in sizes and figures. ``solved`` has for a
    size and a resource where arithmetic takes longer, as a formula."""

    setting: Setting
    values: Mapping[str, Expr]
    solved: Mapping[tuple[str, str], Solution]

    def numbers(self, axis: str) -> tuple[int, int]:
        """The least number of chips of an axis that the formulas are about, and what each is a multiple of."""
        defined = [n for n in (1, 5) if are_valid(self.setting.problem, {axis: Fraction(n)})]
        return 1 if 1 in defined else 2, 1 if 5 in defined else 2

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """The statements that overlap as one, each with times."""
        program = self.setting.problem.operation
        several = program.latency and any(len(cost.exchanges) > 1 for cost in chip_costs(program).values())
        return () if program.alone or several or len(costs_of(program)) > STATEMENTS else overlaps(program)


class LiveChip(Frozen):
    """A chip with the figures that the times need; ``ways`` has the place of the way for each wiring of the axes. Where it
    has no such figures, ``error`` says why."""

    chip: Accelerator
    figures: Mapping[str, str] = field(default_factory=dict)
    peak: str = ""
    links: tuple[str, ...] = ()
    ways: Mapping[tuple[str, ...], int] = field(default_factory=dict)
    error: str = ""


class Live(Frozen):
    """A problem on several chips, the first of them its own: ``ways`` and the chips that have them."""

    problem: Problem
    names: tuple[str, ...]
    axes: tuple[MeshAxis, ...]
    figures: tuple[str, ...]
    ways: tuple[LiveWiring, ...]
    chips: tuple[LiveChip, ...]

    @property
    def sizes(self) -> tuple[str, ...]:
        """The sizes that are no numbers of chips."""
        axes = {axis.name for axis in self.axes}
        return tuple(name for name in self.names if name not in axes)

    def way_at(self, sizes: Mapping[str, int]) -> LiveWiring | None:
        """The way of the first chip that has times, wired as so many chips are; None where no formula is about so many."""
        ways = next(chip.ways for chip in self.chips if not chip.error)

        def wirings(axis: MeshAxis) -> set[str]:
            own = axis.numbered(sizes[axis.name]).wiring
            return {str(own)} if sizes[axis.name] > 1 else {str(own), "ring"}

        places = (
            place
            for key, place in ways.items()
            if all(way in wirings(a) for way, a in zip(key, self.axes, strict=True))
        )
        return next((self.ways[place] for place in places), None)


def live(problem: Problem, chips: Sequence[Accelerator], solved: int = SOLVED) -> Live:
    """Everything that a page computes with, with the formulas for so many ``solved`` sizes; each quantity is proved.

    >>> from symroof.model.library import library_operation
    >>> from symroof.reading.chips import chip
    >>> found = live(Problem(library_operation("matmul")), [chip("tpu-v5e"), chip("h100"), chip("tpu-v2")])
    >>> found.names, found.figures, len(found.ways), [fitted.error[:14] for fitted in found.chips]
    (('B', 'D', 'F'), ('peak', 'bandwidth'), 1, ['', '', 'TPU v2 core ha'])
    """
    if facts := (*problem.operation.facts, *(r for r in problem.assume if r.relation in ("<=", ">="))):
        shown = f"a page moves sizes, and this program is what it is where {spelled_fact(facts[0])}"
        raise ModelError(shown, expected="symroof derive, sweep or plot, which hold sizes against that")
    for values in problem.at:  # numbers of chips may be others than those that an axis without one stands for
        require_as_assumed(problem, values)
        require_shared(problem.operation, values)
    problem = replace(problem, at=(), solve=None, minimize=None)
    settings: dict[object, Setting] = {}
    fitted = [_live_chip(problem, chip, settings) for chip in chips]
    if not settings or (problem.hardware is not None and fitted[0].error):
        setting_of(problem)  # what it lacks, with a cure
        raise ModelError(fitted[0].error if fitted else "there are no chips", expected="a chip with these figures")
    require_arithmetic(next(iter(settings.values())), "its numbers: symroof derive")
    ways = tuple(_way(setting, solved) for setting in settings.values())
    setting = ways[0].setting
    axes = tuple(_axes(setting_of(replace(problem, hardware=next(c.chip for c in fitted if not c.error)))))
    free = (value.free_symbols for way in ways for value in way.values.values())
    figures = dict.fromkeys(s.name for symbols in free for s in sorted(symbols, key=str))
    names = (*setting.problem.operation.dimensions, *(axis.name for axis in axes))
    ordered = dict.fromkeys((*(name for name in setting.figures if name in figures), *figures))
    given = tuple(name for name in ordered if name not in names)
    return Live(problem, tuple(n for n in names if n in figures), axes, given, ways, tuple(fitted))


def _live_chip(problem: Problem, chip: Accelerator, settings: dict[object, Setting]) -> LiveChip:
    """A chip with its ways, which are added to those that are known."""
    try:
        own = setting_of(replace(problem, hardware=chip))
        axes, ways = tuple(_axes(own)), {}
        if not own.timed:
            raise ModelError(f"{chip.title} lacks a figure")
        for wiring in product(*map(_wirings, axes)):
            setting = own if not axes else _with_wiring(problem, chip, axes, wiring)
            key = (setting.rates, *setting.wirings, wiring)
            ways[wiring] = list(settings).index(key) if key in settings else len(settings)
            settings.setdefault(key, setting)
    except SymroofError as error:
        return LiveChip(chip, error=str(error).split("\n")[0])
    figures = {name: figure.digits for name, figure in own.figures.items()}
    if (held := own.known.get(f"capacity.{own.rates.memory}")) is not None:
        figures["capacity"] = held.digits
    return LiveChip(chip, figures, own.peak_name, tuple(str(axis.link) for axis in axes), ways)


def _axes(setting: Setting) -> Iterable[MeshAxis]:
    """The axes that are of any number of chips."""
    open_names = open_axes(setting.problem.mesh)
    return (axis for axis in setting.problem.operation.mesh if axis.name in open_names)


def _wirings(axis: MeshAxis) -> tuple[str, ...]:
    """How an axis can be wired, by the number of its chips: two are a line, however they are wired."""
    if axis.wiring == "switch":
        return ("switch",)
    wiring = axis.user_wiring
    return ("ring", "line") if wiring != "line" and (wiring == "ring" or axis.closing) else ("line",)


def _with_wiring(problem: Problem, chip: Accelerator, axes: Sequence[MeshAxis], wiring: Sequence[str]) -> Setting:
    pairs = zip(axes, wiring, strict=True)
    wired = {axis.name: replace(axis, wiring=way, origin=None, speed=None) for axis, way in pairs}
    mesh = {name: wired.get(name, axis) for name, axis in problem.mesh.items()}
    operation = replace(problem.operation, mesh=tuple(wired.get(a.name, a) for a in problem.operation.mesh))
    return setting_of(replace(problem, hardware=chip, mesh=mesh, operation=operation))


def _way(setting: Setting, solved: int) -> LiveWiring:
    """The quantities of a way, each of them proved, and where arithmetic takes longer."""
    result = quantities(setting)
    times = [time_name(resource) for resource in setting.rates.resources]
    of_groups = [
        time_name(HOPS if resource == LATENCY else resource, name)
        for names in (() if setting.problem.operation.alone else overlaps(setting.problem.operation))
        for name in names
        for resource in setting.rates.resources
    ]
    held = "memory_per_chip" if setting.several_chips else "memory"
    own = (
        *times,
        setting.flops_name,
        "chips",
        held,
        *BESIDE,
        *setting.problem.operation.where,
        *setting.problem.let,
        *(of_groups if len(of_groups) <= 4 * STATEMENTS else ()),
    )
    bytes_moved = "bytes_per_chip" if setting.several_chips else "bytes"
    values = {name: result[name] for name in dict.fromkeys((*own, bytes_moved)) if name in result}
    values = {name: value for name, value in values.items() if _is_computed(value)}
    require_proved(setting, values)
    return LiveWiring(setting, values, dict(_solutions(setting, values, solved)))


def _is_computed(value: Expr) -> bool:
    return is_rational(value) or value.has(Max, Min) or not value.free_symbols


def _solutions(setting: Setting, values: Mapping[str, Expr], solved: int) -> Iterable[tuple[tuple[str, str], Solution]]:
    """For the sizes that people turn, and each resource, where arithmetic takes longer; nothing where that has no solved
    form."""
    free = {s.name for name in map(time_name, setting.rates.resources) for s in values[name].free_symbols}
    for size in [name for name in setting.turned() if name in free][:solved]:
        for resource in setting.rates.resources[1:]:
            sides = values[time_name("math")], values[time_name(resource)]
            if symbol(size) not in (sides[0] - sides[1]).free_symbols:
                continue
            if resource == setting.rates.comms:  # in the words of the intensity and the ridge
                sides = setting.compared, setting.level
            try:
                result = relation_solved(*sides, ">", symbol(size), setting.least_one, layout=setting.layout)
            except (AlgebraError, UndecidedError):
                continue
            if result.solved:
                yield (size, resource), result


def data_of(live: Live) -> Data:
    """The names, the pool of quotients and the ways, as what JSON has."""
    pool = Coefficients((*live.names, *live.figures))
    ways = [{"q": {name: pool.write(value) for name, value in way.values.items()}} for way in live.ways]
    return {"names": list(live.names), "figures": list(live.figures), "ways": ways, "pool": pool.pool}


Data: TypeAlias = Any
# Beyond that a float rounds.
EXACT = 2**53
FUNCTION_NAMES = {Add: "+", Mul: "*", Max: "max", Min: "min", ceiling: "ceil", floor: "floor", log: "log", Abs: "abs"}


class Coefficients:
    """Values of some names as data; the pool grows with what is written.

    >>> B, D = symbol("B"), symbol("D")
    >>> pool = Coefficients(("B", "D"))
    >>> pool.write(Max(2*B*D, B/D)), pool.pool
    (['max', 0, 1], [[[[2, 0, 1, 1, 1]], [[1]]], [[[1, 0, 1]], [[1, 1, 1]]]])
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names, self.symbols = tuple(names), tuple(map(symbol, names))
        self.pool: list[Data] = []
        self._places: dict[Expr, int] = {}

    def write(self, value: Expr) -> Data:
        """A value: the place of a quotient in the pool, or what is made of others. Raises :class:`ModelError` for what is
        made otherwise."""
        if is_rational(value):
            return self._quotient(value)
        if isinstance(value, Pow) and value.exp.is_Rational:
            whole = Fraction(int(value.exp.p), int(value.exp.q))
            return ["^", self.write(value.base), whole.numerator, whole.denominator]
        for function, name in FUNCTION_NAMES.items():
            if isinstance(value, function):
                parts = sorted(value.args, key=str)
                plain = [part for part in parts if is_rational(part)] if function in (Add, Mul) else []
                others = [self.write(part) for part in parts if part not in plain]
                return [name, *([self._quotient(function(*plain))] if plain else []), *others]
        raise ModelError(f"{str(value)[:80]} is not computed on a page")

    def _quotient(self, value: Expr) -> int:
        if value not in self._places:
            above, below = ratio(value, self.symbols)
            if any(c < 0 for c in below.values()) and sign(below, self.symbols, frozenset(self.symbols)) != 1:
                raise ModelError(f"{str(value)[:80]} is not computed on a page: the sign below the line is open")
            self._places[value] = len(self.pool)
            self.pool.append([self._terms(above), self._terms(below)])
        return self._places[value]

    def _terms(self, terms: Polynomial) -> list[Data]:
        if any(c.denominator != 1 for c in terms.values()):
            raise CheckError("a coefficient is no whole number")
        whole = {exponents: int(c) for exponents, c in terms.items()}
        powers = {exponents: [(place, power) for place, power in enumerate(exponents) if power] for exponents in whole}
        return [[c if abs(c) < EXACT else str(c), *chain(*powers[exponents])] for exponents, c in whole.items()]
