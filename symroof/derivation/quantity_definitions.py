"""The formula or the count that the first step of each quantity is held against, and its SymPy value in sizes and figures.

What a program means to the second engine are its plain values, and the evidence that each cost has to rest on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from inspect import signature
from typing import Any

from sympy import Expr, Max, Min

from symroof.algebra.rational import cancel
from symroof.derivation.counting import KINDS, PASSES
from symroof.derivation.drafts import Draft
from symroof.derivation.mesh_sections import costs_of_chips, script_on_mesh
from symroof.derivation.premises import Setting
from symroof.derivation.size_constraints import ring_steps
from symroof.formula import Formula, Name, Number, Quotient, names, total
from symroof.model.einsum import Einsum
from symroof.model.given_costs import Counting
from symroof.model.kernels import costs_of
from symroof.model.program import Program
from symroof.model.program_quantities import amounts, moved_of, traffic_of_tensors
from symroof.model.program_sizes import served_tokens
from symroof.model.program_tree import DIFFERENCE, MAXIMUM, SUM, Adjoint, Fuse, Line, Repeat
from symroof.model.quantities import (
    DERIVED,
    MOVED,
    PER_CHIP,
    STOCKS,
    T_LOWER,
    TABLE,
    TOKENS,
    Owner,
    meaning,
    of_statement,
    time_name,
)
from symroof.model.resources import LATENCY, OF_VECTOR, Rates, every_time, times_of
from symroof.model.splits import split_of
from symroof.model.tensor_types import Tensor
from symroof.proof.array_ops import FUNCTION, Array, Op, Turn
from symroof.proof.check import Coverage, require_complete
from symroof.proof.chip_recounts import ChipAmount
from symroof.proof.kernel_traffic import Script
from symroof.proof.loop_counts import Arrays, CostFunctionCount, Loops, OperationKinds, Pairs, Touches
from symroof.proof.mesh_facts import LongestHops
from symroof.proof.overlap_bounds import Schedule
from symroof.proof.program_recounts import Rerun, TensorTraffic
from symroof.proof.step import Ledger, Meaning
from symroof.proof.whole_numbers import Multiples
from symroof.symbols import expression, symbol

PEAK, BANDWIDTH, RIDGE = map(symbol, ("peak", "bandwidth", "ridge"))
READS, WRITES, BYTES = map(Name, ("reads", "writes", "bytes"))


def ledger_of(setting: Setting) -> Ledger:
    """An empty ledger for the derivation of a problem."""
    problem, own = setting.problem, frozenset(setting.problem.let)
    return Ledger(setting.least_one.named, _figures(setting), meanings(setting), multiples(setting), problem.at, own)


def _figures(setting: Setting) -> dict[str, Number]:
    """The figures of the chip, taken from its table; peak and bandwidth under the names that pages print beside them."""
    chip = setting.problem.hardware
    if chip is None:
        return {}
    printed = {"peak": setting.peak_name, "bandwidth": setting.bandwidth_name}
    figures = {name: chip.figure(printed.get(name, name)) for name in setting.known}
    return {name: Number(figure.value, figure.digits) for name, figure in figures.items()}


def multiples(setting: Setting) -> Multiples:
    """What the sizes come in that are split over the axes of a mesh: as the second engine counts it on the program as it
    was written."""
    operation = setting.problem.operation
    if not setting.problem.mesh:
        return Multiples()
    chips = {name: axis.chips for name, axis in setting.problem.mesh.items() if axis.chips is not None}
    return Multiples(script_of(operation).split, chips, ring_steps(setting.problem), operation.where)


def meanings(setting: Setting) -> Mapping[str, Meaning]:
    """For each name a formula, or the evidence that a count of it has to rest on."""
    problem = setting.problem
    formulas = {name: meaning(name, setting.flops_name, setting.moved_name) for name in TABLE}
    result: dict[str, Meaning] = {name: formula for name, formula in formulas.items() if formula is not None}
    result |= _counts(problem.operation, problem.count)
    result |= _times(problem.operation, setting.rates)
    if (tokens := served_tokens(problem.operation)) is not None:
        result[TOKENS] = Quotient(setting.layout.write(tokens), T_LOWER)
    if setting.mixed:
        del result["ridge"]
    return result | dict(problem.let)


def _times(program: Program, rates: Rates) -> dict[str, Meaning]:
    """The times of a program, and who overlaps with whom in T_steps."""
    if program.alone:
        return dict(times_of(program, rates))
    blocks = tuple((line.statement.name, line.block) for line in program.lines if line.block is not None)
    script, result = script_of(program), dict[str, Meaning](times_of(program, rates))
    meshed = script_on_mesh(program, script) if rates.latencies else None
    if meshed is not None:
        result |= {time_name(LATENCY): LongestHops(meshed)}
    return {**result, "T_steps": Schedule(script, blocks, rates.resources, meshed)}


def _counts(program: Program, count: Counting) -> dict[str, Meaning]:
    if program.given is not None:
        kinds = program.given.counted
        result: dict[str, Meaning] = {name: _function(f) for name, f in program.given.functions.items()}
        return result | ({KINDS: OperationKinds(tuple(kinds), tuple(map(_function, kinds.values())))} if kinds else {})
    result = costs_of_program(program, count)
    return result if program.product is None else result | _counts_of_product(program.product, count)


def _counts_of_product(operation: Einsum, count: Counting) -> dict[str, Meaning]:
    """What a product on one line is counted by: its loops and its arrays."""
    labels = tuple(tensor.labels for tensor in operation.tensors)
    plain, fused = (Loops(labels[:-1], labels[-1], fused) for fused in (False, True))
    arrays = tuple((t.labels, t.dtype.bits, t.dtype.name) for t in operation.tensors)
    uses = {f"uses_{i}": Touches(plain, i, operation.operand_name(i)) for i in range(len(labels))}
    return {
        "flops_exact": plain,
        "flops": fused if count == "fma" and operation.contracted else plain,
        "reads": Arrays(arrays[:-1]),
        "writes": Arrays(arrays[-1:]),
        **uses,
    }


def _function(function: Callable[..., Any]) -> CostFunctionCount:
    return CostFunctionCount(function, tuple(signature(function).parameters))


def quantities(setting: Setting) -> dict[str, Expr]:
    """Every quantity by its name: in the sizes and the figures; and the formulas that the problem names.

    >>> from symroof.derivation.premises import setting_of
    >>> from symroof.model.library import library_operation
    >>> from symroof.model.problem import Problem
    >>> quantities(setting_of(Problem(library_operation("dot"))))["T_comms"]
    (4*N + 2)/bandwidth
    """
    result, apply = counted_quantities(setting), setting.regime.apply
    for name, formula in setting.problem.let.items():
        result[name] = substitute(apply(expression(formula)), result)
    return result


def counted_quantities(setting: Setting) -> dict[str, Expr]:
    """Every quantity that does not depend on what the problem names."""
    result, apply = costs(setting), setting.regime.apply
    derived = {name: meaning(name, setting.flops_name, setting.moved_name) for name in DERIVED}
    program = setting.problem.operation
    result |= {name: apply(program.resolved(symbol(name))) for name in program.where}
    times = every_time(program, setting.rates)
    derived = {**times, **{name: formula for name, formula in derived.items() if name not in times}}
    for name, formula in derived.items():
        if formula is not None and not (setting.mixed and name == "ridge"):
            result[name] = substitute(expression(formula), result)
    result["intensity"] = setting.intensity
    if (tokens := served_tokens(program)) is not None:
        result[TOKENS] = apply(tokens) / result["T_lower"]
    return result


def times_in_figures(setting: Setting) -> dict[str, Expr]:
    """The time of everything that is kept busy, by its name: in the sizes and the figures, and no bound on all of them."""
    result, rates, apply = costs(setting), setting.rates, setting.regime.apply
    every = times_of(setting.problem.operation, rates)
    formulas = {name: every[name] for name in map(time_name, rates.resources)}
    parts = (name for resource in rates.resources for name in names(every[time_name(resource)]))
    result |= {name: substitute(expression(every[name]), result) for name in parts if name in every}
    return {name: apply(substitute(expression(formula), result)) for name, formula in formulas.items()}


def costs(setting: Setting) -> dict[str, Expr]:
    """What is counted, by its name: in the sizes, without the times and what else is made of it."""
    cost, apply = setting.cost, setting.regime.apply
    result = {
        "flops": apply(cost.flops),
        "reads": apply(cost.reads),
        "writes": apply(cost.writes),
        "bytes": apply(cost.bytes),
        setting.flops_name: apply(setting.flops),
        setting.moved_name: apply(setting.moved),
        "peak": PEAK,
        "bandwidth": BANDWIDTH,
    }
    if not setting.problem.operation.alone:
        result |= {n: apply(x) for n, x in amounts(setting.problem.operation, setting.problem.count).items()}
    return result


def substitute(value: Expr, counts: Mapping[str, Expr]) -> Expr:
    """The value with named quantities replaced by what they are."""
    names = ((s, counts[s.name]) for s in value.free_symbols if s.name in counts)
    return _replaced(value, frozenset(pair for pair in names if pair[0] != pair[1]))


@lru_cache(maxsize=1024)
def _replaced(value: Expr, pairs: frozenset[tuple[Expr, Expr]]) -> Expr:
    """What is in a maximum is replaced first: SymPy would compare every two of its parts, in vain."""
    if not value.has(Max, Min):
        return value.subs(dict(pairs), simultaneous=True)
    parts = [_replaced(part, frozenset(p for p in pairs if p[0] in part.free_symbols)) for part in value.args]
    open_ = isinstance(value, Max | Min) and any(part.free_symbols for part in parts)
    return value.func(*parts, evaluate=False) if open_ else value.func(*parts)


def in_ridge(value: Expr) -> Expr:
    """A rational function with peak/bandwidth written as the ridge, where the two occur in no other way.

    >>> in_ridge(PEAK * symbol("B") / (2 * BANDWIDTH))
    B*ridge/2
    """
    if not {PEAK, BANDWIDTH} <= value.free_symbols:
        return value
    result = cancel(value.subs(PEAK, RIDGE * BANDWIDTH))
    return value if BANDWIDTH in result.free_symbols else result


def script_of(program: Program) -> Script:
    """The program in the plain values of the second engine: nothing that was counted. Its backward pass is what was worked out
    of it, which the second engine holds against the program."""
    backward, frozen, shared = program.backward, program.frozen, program.shared
    roles = {str(d.tensor.name): d.role for d in program.declared}
    if backward is not None:
        roles |= {str(tensor.name): "before" for tensor in backward.incoming}
        roles |= {str(tensor.name): "gradient" for tensor in backward.arriving.values()}

    def array(name: str, tensor: Tensor) -> Array:
        bits, dtype, role = tensor.dtype.bits, tensor.dtype.name, roles.get(name, "")
        return Array(name, tensor.labels, bits, role, dtype, split_of(tensor), name in frozen, name in shared)

    arrays = tuple(array(name, tensor) for name, tensor in program.arrays.items())
    both = () if backward is None else (backward.gradients, backward.arriving)
    gradients, arriving = (tuple((n, str(t.name)) for n, t in named.items()) for named in both or ({}, {}))
    outputs = (*program.returned, *(name for _, name in gradients))
    return Script(arrays, tuple(map(_Ops(program).op, program.lines)), outputs, gradients, arriving)


class _Ops:
    """The lines of a program as ops: repeats and fuses have numbers, those of the backward pass mirrored ones."""

    def __init__(self, program: Program) -> None:
        self.repeats = list(dict.fromkeys(repeat for line in program.forward for repeat in line.repeats))
        self.on_chip = {repeat for line in program.lines for repeat in line.on_chip}
        self.fuses = [line.fuse for line in program.forward]
        own = (
            line.fuse for line in program.lines if line.backward and line.fuse is not None and line.fuse.undoes is None
        )
        self.remade = list({id(fuse): fuse for fuse in own}.values())

    def turn(self, repeat: Repeat) -> Turn:
        place = self.repeats.index(repeat) if repeat.reverses is None else ~self.repeats.index(repeat.reverses)
        return Turn(place, repeat.times, repeat.carried, repeat.over, repeat.scans, repeat in self.on_chip)

    def fuse(self, fuse: Fuse | None) -> int | None:
        if fuse is None:
            return None
        if fuse.undoes is not None:
            return ~next(i for i, other in enumerate(self.fuses) if other is fuse.undoes)
        fuses = [*self.fuses, *self.remade]
        return next(i for i, other in enumerate(fuses) if other is fuse)

    def op(self, line: Line) -> Op:
        statement, function, undone = line.statement, line.statement.function, line.statement.undone or Adjoint()
        operands = tuple(str(tensor.name) for tensor in statement.operands)
        turns, fuse = tuple(map(self.turn, line.repeats)), self.fuse(line.fuse)
        kind = FUNCTION if function is not None else statement.kind
        alone = function is None and len(operands) == 1 and statement.kind in (SUM, DIFFERENCE, MAXIMUM)
        each = function.each if function is not None else Fraction(1 if alone else len(operands) - 1)
        op = Op(statement.name, operands, kind, each, turns=turns, fuse=fuse, back=line.backward)
        op = replace(op, again=statement.again, recomputed=line.recomputed, sends=statement.sends)
        if line.mask is not None:
            op = replace(op, masked=Pairs(line.mask.rows, line.mask.columns, line.mask.from_first, line.mask.window))
        op = replace(op, of=undone.of, undoes=undone.statement, place=undone.place, over=statement.over)
        if function is None:
            return op
        op = replace(op, row=function.row, function=function.name, kept=function.needs)
        op = replace(op, gathers=function.gathers, reshapes=function.reshapes, laid=function.lies)
        if line.backward and not statement.again:
            return op
        gains = max(len(operands) - function.operands, 0)
        return replace(op, back_each=function.back_each, back_row=function.back_row, gains=gains)


def require_spoken(draft: Draft, program: Program) -> None:
    """Raises :class:`~symroof.errors.CheckError` where something is not spoken of that the program keeps busy."""
    setting, meanings = draft.setting, draft.ledger.meanings
    figures = () if setting.problem.hardware is None else setting.problem.hardware.figures
    chips, params = meanings.get("chips"), meanings.get("params")
    meshed = chips.meshed if isinstance(chips, ChipAmount) else None
    script = params.script if isinstance(params, Rerun) else Script((), ())
    memory, vector = (
        "HBM" if setting.over_network else setting.problem.link,
        OF_VECTOR if OF_VECTOR in figures else None,
    )
    choices = tuple(program.choices.values())
    require_complete(
        draft.steps, draft.ledger, Coverage(script, meshed, memory, setting.bandwidth_name, vector, choices)
    )


def costs_of_program(program: Program, count: Counting) -> dict[str, Meaning]:
    """For each cost of a program, of its statements and its tensors, the evidence that it has to rest on; and the
    formulas of the sizes that others define."""
    script, counts, result = script_of(program), amounts(program, count), dict[str, Meaning]()
    parts = dict.fromkeys((*costs_of(program), *program.arrays)) if program.line is None else ()
    for name, row in TABLE.items():
        if row.counted is None or name.endswith(PER_CHIP):
            continue
        quantity = row.measured(exact=count == "exact")
        exact = costs_of(program) if name == "flops_exact" else ()
        own = (part for part in parts if part in exact or of_statement(name, part) in counts)
        result |= {of_statement(name, part): Rerun(script, quantity, part) for part in own}
        if name != "bytes" and (name in counts or row.owner is Owner.OPERATION):
            result[name] = Rerun(script, "ops" if program.vector and "flops" in quantity else quantity)
    for name in traffic_of_tensors(program):
        result[of_statement("moved", name)] = TensorTraffic(script, "moved", name)
    result |= {moved_of(part, program): TensorTraffic(script, "moved", part=part) for part in MOVED}
    result |= costs_of_chips(program, script, count)  # on a mesh what moves is what one chip moves
    if program.training:
        part = "ops" if program.vector else TABLE["flops"].measured(exact=count == "exact")
        result |= {name: Rerun(script, part, back=back) for name, back in PASSES.items()}
    return result | memory_of(program, count) | dict(program.where)


def memory_of(program: Program, count: Counting) -> dict[str, Formula]:
    """The memory that is needed, in all and on each chip: everything that stays there together."""
    counts = amounts(program, count)
    return {
        f"memory{each}": total(*(Name(stock + each) for stock in STOCKS if counts.get(stock + each, 0) != 0))
        for each in ("", PER_CHIP)
        if f"memory{each}" in counts
    }
