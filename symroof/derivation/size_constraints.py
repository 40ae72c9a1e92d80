"""What sizes have to be for a problem to make sense at them: at least 1, as assumed, shared out evenly over the mesh.

Over sizes that run together this is decided of conditions that are fractions of sizes, all of which are above zero. What is never
below zero, p/q with q of one sign, is held against the ends alone where p is of degree one in every size that runs, or has two
terms: it is monotone in each then. What is a whole number, p/q with a number q and whole coefficients, is held against what values
leave when divided by q. Everything else is held against every set of values, of which there are not too many, or is
refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import lcm, prod
from operator import eq, ge, le

from sympy import Expr

from symroof.algebra.rational import Polynomial, is_rational, ratio
from symroof.errors import AlgebraError, ModelError
from symroof.formula import Compare, Frozen, Name, Number
from symroof.model.chip_costs import busy_links, chip_costs, sent_by
from symroof.model.collectives import MeshAxis
from symroof.model.mesh_wiring import with_wiring
from symroof.model.pipeline_stages import require_filled
from symroof.model.problem import Problem
from symroof.model.program import Program
from symroof.model.program_sizes import nonnegative_terms, require_dimensions, whole_number_terms
from symroof.model.program_tree import label_size
from symroof.model.splits import open_axes, size_at, splits
from symroof.symbols import expression, rational, symbol

# The relations that sizes are held against.
HOLDS = {"=": eq, "<=": le, ">=": ge}


def require_on_mesh(problem: Problem) -> None:
    """Numbers put in, for the rows of a table or by an assumption, are there on the mesh."""
    for values in (*problem.at, dict(filter(None, map(_put_in, problem.assume)))):
        require_valid(problem, values)


def _put_in(relation: Compare) -> tuple[str, Fraction] | None:
    """The name that a relation gives a number, with it."""
    match relation:
        case (
            Compare(left=Name(name=name), relation="=", right=Number(value=value))
            | Compare(left=Number(value=value), relation="=", right=Name(name=name))
        ):
            return name, value
    return None


def require_valid(problem: Problem, values: Mapping[str, Fraction]) -> None:
    """Sizes leave a dimension nothing less than 1; numbers of chips are wired as the formulas say, a network joins them all,
    and they share out what they split.

    Raises :class:`ModelError` where they are not, or :class:`AlgebraError` where they contradict what is assumed: every
    command that puts numbers in asks here.
    """
    program = problem.operation
    require_as_assumed(problem, values)
    if not program.axes:
        return
    for name in open_axes(problem.mesh):
        if name in values:
            require_own_wiring(problem, name, values[name])
    require_joined(problem, values)
    require_filled(program, values)
    require_shared(program, values)


def require_as_assumed(problem: Problem, values: Mapping[str, Fraction]) -> None:
    """Sizes leave a dimension nothing less than 1, and contradict nothing that is assumed."""
    require_dimensions(problem.operation, values)
    assumed = ((expression(r.left), r.relation, expression(r.right)) for r in problem.assume)
    require_assumed(assumed, {symbol(name): rational(value) for name, value in values.items()})


def require_assumed(relations: Iterable[tuple[Expr, str, Expr]], point: Mapping[Expr, Expr]) -> None:
    """Sizes contradict no fact or equality that is assumed."""
    for left, relation, right in relations:
        if relation not in HOLDS:
            continue
        a, b = left.subs(point), right.subs(point)
        if a.is_Rational and b.is_Rational and not HOLDS[relation](a, b):
            raise AlgebraError(f"the sizes that are put in contradict {left} {relation} {right}")


def require_shared(program: Program, values: Mapping[str, Fraction]) -> None:
    """Every chip has as much as another of what is split over it. Raises :class:`ModelError` where a size is no multiple."""
    chips = {a.name: a.chips or int(values.get(a.name, 1)) for a in program.mesh}
    for label, axes in splits(program):
        size, parts = size_at(program, label, values), prod(chips[axis] for axis in axes)
        if size is not None and parts > 1 and size % parts:
            raise _no_multiple(label, size, axes, parts)


def are_valid(problem: Problem, values: Mapping[str, Fraction]) -> bool:
    """Whether numbers may be put in together."""
    try:
        require_valid(problem, values)
    except (ModelError, AlgebraError):
        return False
    return True


def require_own_wiring(problem: Problem, name: str, number: Fraction) -> None:
    """A number put in for an axis is computed with its own wiring: where it is wired as the axis without a number is.

    Raises :class:`ModelError` where a chip would send something else, as over a line of chips that close to no ring.
    """
    program = problem.operation
    if not program.axes:
        return
    if number.denominator != 1 or number < 1:
        raise ModelError(f"{name} = {number} is no number of chips", expected="a whole number from 1")
    before, after = _wired_with(problem, {}), _wired_with(problem, {name: int(number)})
    point = {symbol(name): int(number)}
    if program.latency and _hops(before, point) != _hops(after, point):
        alone = f"{name} = 1 waits for no hops, and {name} without a number stands for several chips"
        odd = f"{name} = {number} is another way round, and {name} without a number stands for even rings"
        expected = (
            f"{name} = 2 or more"
            if number == 1
            else f"an even number of chips on a ring, or {name}={number} in the mesh"
        )
        raise ModelError(alone if number == 1 else odd, expected=expected)
    if any((sent_by(before, r).subs(point) - sent_by(after, r)).expand() != 0 for r in busy_links(before)):
        if number == 1 and name in program.stages:
            problem_there = f"{name} = 1 hands nothing on, and {name} without a number stands for several chips"
            raise ModelError(problem_there, expected=f"{name} = 2 or more, or {name}=1 in the mesh")
        wiring = next(axis.wiring for axis in after.mesh if axis.name == name) if number > 2 else "line"
        closing = ring_steps(problem).get(name, 1)
        ring = f"a ring of a multiple of {closing}" if closing > 1 else "a ring"
        raise ModelError(
            f"{name} = {number} is a {wiring}, and {name} without a number stands for {ring}",
            expected=f"chips that are wired so, or {name}={number} in the mesh, or a mesh that says {name} is a ring",
        )


def _hops(program: Program, point: Mapping[Expr, int]) -> dict[tuple[str, str], Expr]:
    """The hops of every exchange at a number of chips."""
    exchanges = (e for cost in chip_costs(program).values() for e in cost.exchanges)
    return {(e.label, figure): hops.subs(point) for e in exchanges for figure, hops in e.hops.items()}


def require_joined(problem: Problem, values: Mapping[str, Fraction]) -> None:
    """A network joins so many chips. Raises :class:`ModelError` where a node has fewer."""
    if problem.operation.axes:
        _wired_with(problem, {name: int(values[name]) for name in open_axes(problem.mesh) if name in values})


def require_shared_out(problem: Problem, runs: Mapping[str, Sequence[int]]) -> None:
    """Whatever values sizes and axes run through together, chips share out what they split."""
    program = problem.operation
    require_over(problem, runs)
    if not program.axes:
        return
    for label, axes in splits(program):
        chips = [(a.chips,) if a.chips else runs.get(a.name, (1,)) for a in program.mesh if a.name in axes]
        for parts in sorted({*map(prod, product(*chips))} - {1}):
            for values in _failing(_condition(program.resolved(label_size(label)) / parts, True), runs):
                raise _no_multiple(label, size_at(program, label, values) or 0, axes, parts)


def whole_sizes(values: Mapping[str, Fraction]) -> dict[str, tuple[int, ...]]:
    """Those sizes that are whole numbers, each as all values that it runs through."""
    return {name: (int(value),) for name, value in values.items() if value.denominator == 1}


def _no_multiple(label: str, size: int | Fraction, axes: tuple[str, ...], parts: int) -> ModelError:
    over, multiple = "".join(axes), -(-size // parts) * parts
    shown, cure = (label, f"{multiple}") if label.isdigit() else (f"{label} = {size}", f"{label} = {multiple}")
    return ModelError(
        f"{shown} is not a multiple of {over} = {parts}: some chips of {over} would have more of it than others",
        expected=f"a multiple, as {cure}",
        hint=None if label.isdigit() else "--pad takes the next multiple of each size",
    )


def _wired_with(problem: Problem, chips: Mapping[str, int]) -> Program:
    """The program with numbers of chips on some axes."""
    program = problem.operation
    mesh = tuple(axis.numbered(chips[axis.name]) if axis.name in chips else axis for axis in program.mesh)
    return with_wiring(replace(program, mesh=mesh), problem.hardware, problem.link)


def least_rings(problem: Problem) -> dict[str, int]:
    """The least number of chips of each axis that stands for any number and is a ring: three, or where the chip has one."""
    steps = ring_steps(problem)
    return {axis.name: (multiple := steps.get(axis.name, 1)) * -(-3 // multiple) for axis in _rings(problem)}


def ring_steps(problem: Problem) -> dict[str, int]:
    """What the chips of each axis come in multiples of that stands for any number and closes to a ring as the chip has it."""
    closing = (problem.hardware.closing if problem.hardware else None) or 1
    return {axis.name: closing for axis in _rings(problem) if axis.origin != "said" and closing > 1}


def _rings(problem: Problem) -> Iterable[MeshAxis]:
    """The axes without a number that are rings."""
    return (axis for axis in problem.mesh.values() if axis.chips is None and axis.wiring in (None, "ring"))


# Sets of values that conditions are held against one by one.
MOST = 100_000
Runs = Mapping[str, Sequence[int]]


class Condition(Frozen):
    """What a fraction of sizes is at all of them: a ``whole`` number, or never below zero."""

    sizes: tuple[str, ...]
    above: Polynomial
    below: Polynomial
    whole: bool

    def holds(self, values: Sequence[int]) -> bool:
        above, below = (
            sum(
                (c * prod(x**n for x, n in zip(values, powers, strict=True)) for powers, c in side.items()), Fraction(0)
            )
            for side in (self.above, self.below)
        )
        return (above / below).denominator == 1 if self.whole else above * below >= 0

    def deciding(self, runs: Runs) -> list[Sequence[int]]:
        """The values of each size that decide it."""
        if self.whole and not any(any(powers) for powers in self.below):
            divisor = lcm(*(coefficient.numerator for coefficient in self.below.values()))
            return [tuple({n % divisor: n for n in reversed(runs[name])}.values())[::-1] for name in self.sizes]
        ends = [_ends(runs[name]) for name in self.sizes]
        running = [i for i, both in enumerate(ends) if len(both) > 1]
        linear = all(powers[i] <= 1 for powers in self.above for i in running)
        one_sign = len({coefficient > 0 for coefficient in self.below.values()}) == 1
        if not self.whole and one_sign and (linear or len(self.above) <= 2):
            return ends
        return [runs[name] for name in self.sizes]


def require_over(problem: Problem, runs: Runs, *, drawn: bool = False) -> None:
    """Whatever values sizes run through together, a program is there at them; what is ``drawn`` goes on between places
    as well.

    Raises an error at the first values where it is not, as where these are put in.

    >>> from symroof.reading.programs import read_program
    >>> text = "input x: bf16[B, D]; weight W: bf16[D, c]; where c = B/E; y = x * W -> bf16[B, c]"
    >>> require_over(Problem(read_program(text)), {"B": [8, 16], "E": range(1, 10)})
    Traceback (most recent call last):
    ...
    symroof.errors.ModelError: at B = 8, E = 9 a tensor would have 8/9 of c = B/E
      expected c of at least 1, as with B = 9
      no more than min(E, B) of E are reached: E = 8
    """
    for condition in _conditions(problem, drawn):
        for values in _failing(condition, runs) if condition.sizes else ():
            require_valid(problem, values)


def _failing(condition: Condition, runs: Runs) -> Iterator[dict[str, Fraction]]:
    """Those values that decide a condition at which it does not hold; none where something that it mentions does not run."""
    if not all(name in runs for name in condition.sizes):
        return
    chosen = condition.deciding(runs)
    if prod(map(len, chosen)) > MOST:
        shown = f"{prod(map(len, chosen))} values of {', '.join(condition.sizes)} are not all sizes of this program"
        raise ModelError(shown, expected=f"at most {MOST} of them together, which are tried one by one")
    for values in product(*chosen):
        if not condition.holds(values):
            yield dict(zip(condition.sizes, map(Fraction, values), strict=True))


def _conditions(problem: Problem, drawn: bool) -> Iterator[Condition]:
    program, facts = problem.operation, [r for r in problem.assume if r.relation in ("<=", ">=")]
    assumed = ((expression(r.left) - expression(r.right)) * (1 if r.relation == ">=" else -1) for r in facts)
    never_below = (*nonnegative_terms(program), *filter(is_rational, assumed))
    for whole, values in ((False, never_below), (True, () if drawn else whole_number_terms(program))):
        for value in values:
            yield _condition(value, whole)


def _condition(value: Expr, whole: bool) -> Condition:
    symbols = tuple(sorted(value.free_symbols, key=str))
    return Condition(tuple(map(str, symbols)), *ratio(value, symbols), whole)


def _ends(values: Sequence[int]) -> Sequence[int]:
    """The least and the largest of values; of a range without going through it."""
    return sorted({*((values[0], values[-1]) if isinstance(values, range) else (min(values), max(values)))})
