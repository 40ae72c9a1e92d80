"""Mistakes about what is counted, as edits of a program: each gives what there is to say of it, and the amounts as they would
be counted then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import wraps
from typing import Any, NamedTuple

from sympy import Expr

from symroof.errors import SymroofError
from symroof.formula import Compare, Name, names, number
from symroof.model.kernels import cost_of, costs_of
from symroof.model.program import Program
from symroof.model.program_tree import Node, Repeat, Statement, turns_of
from symroof.model.quantities import of_statement, parts_of
from symroof.model.statement_costs import amounts, kept_for_backward
from symroof.model.tensor_types import Dtype, dtype
from symroof.model.transforms import in_training, retyped
from symroof.symbols import rational
from symroof.verification.context import Context

Amounts = Mapping[str, Expr]
Facts = Mapping[str, Any]
Edits = Iterator[tuple[Facts, Amounts]]
TRAFFIC = ("reads", "writes")
# What functions that give costs speak of.
GIVEN = {"reads": "operands", "writes": "output"}
# What is done by the matrix unit.
WORK = ("flops", "flops_forward", "flops_backward")
WIDTHS = {"int4": 4, "int8": 8, "bf16": 16, "fp32": 32}


class Move(NamedTuple):
    """Bytes of one tensor that a statement reads or writes, in all turns."""

    owner: str
    tensor: str
    kind: str
    amount: Expr


class Counted:
    """A program as it is counted: its amounts by name, totals among them, and what moves."""

    def __init__(self, program: Program, count: Any) -> None:
        self.program, self.count = program, count
        cost = cost_of(program, count)
        totals = {"flops": cost.flops, "reads": cost.reads, "writes": cost.writes, "bytes": cost.bytes}
        self.amounts: Amounts = {**amounts(program, count), **totals}
        self.moves = tuple(
            Move(owner, tensor if program.given is None else GIVEN[kind], kind, program.resolved(amount))
            for owner, cost in costs_of(program).items()
            for kind, moved in zip(TRAFFIC, (cost.loads, cost.stores), strict=True)
            for tensor, amount in moved
        )

    def names(self, tensors: Iterable[str]) -> tuple[Name, ...]:
        """What a sentence calls tensors."""
        return tuple(Name(self.program.called(name)) for name in tensors)

    def of(self, program: Program) -> Amounts:
        """What another program makes of the same amounts; nothing where it makes no sense, as one of integers in training."""
        known = self.amounts
        with suppress(SymroofError):
            return {n: x for n, x in Counted(program, self.count).amounts.items() if n in known and x != known[n]}
        return {}

    def typed(self, types: Mapping[str, Dtype]) -> Amounts:
        """The bytes once tensors are stored in other types."""
        with suppress(SymroofError):
            other = self.of(retyped(self.program, types)) if types else {}
            return {n: x for n, x in other.items() if not n.startswith(("flops", "ops"))}
        return {}

    def without(self, moves: Iterable[Move]) -> Amounts:
        """The amounts without some of what moves."""
        found: dict[str, Expr] = {}
        for move in moves:
            for total in (move.kind, "bytes"):
                for name in dict.fromkeys((total, of_statement(total, move.owner))):
                    if name in self.amounts and move.amount != 0:
                        found[name] = found.get(name, self.amounts[name]) - move.amount
        return found

    def totals(self) -> Iterator[tuple[str, dict[str, Expr]]]:
        """Each total with the amounts of the statements or tensors that it is the sum of."""
        program, counts = self.program, self.amounts
        parts: dict[str, dict[str, Expr]] = {}
        for name, value in counts.items():
            total, tensor = parts_of(name)
            if tensor and total in counts:
                parts.setdefault(total, {})[tensor] = value
        for total, role in (("weights", "weight"), ("caches", "cache"), ("gradients", "weight")):
            tensors = program.declared_as(role)
            parts[total] = {str(t.name): program.resolved(program.turns(t) * t.bytes) for t in tensors}
        if program.training:
            kept = kept_for_backward(program)
            parts["saved"] = {str(t.name): program.resolved(turns_of(repeats) * t.bytes) for t, repeats in kept}
        yield from ((total, terms) for total, terms in parts.items() if total in counts and len(terms) > 1)


def of_programs(edits: Callable[[Counted], Edits]) -> Callable[[Compare, Context], Iterator[tuple[Facts, Context]]]:
    """The contexts that the edits of a kind lead to, of those that a link speaks of; none of a program on a mesh."""

    @wraps(edits)
    def worlds(link: Compare, context: Context) -> Iterator[tuple[Facts, Context]]:
        program = context.setting.problem.operation if context.setting is not None else None
        if program is None or program.axes or context.setting is None:
            return
        cache, write, kind = context.worlds, context.setting.layout.write, edits.__name__
        if "counted" not in cache:
            cache["counted"] = counted = Counted(program, context.setting.problem.count)
            known = {name: formula for name, formula in context.definitions.items() if name not in counted.amounts}
            cache["open"] = replace(context, definitions=known, other=None)
        counted = cache["counted"]
        if f"edits {kind}" not in cache:
            cache[f"edits {kind}"] = [(facts, changes) for facts, changes in edits(counted) if changes]
        claim = cache["open"].question(link).claim
        spoken = set(names(claim)) & counted.amounts.keys()
        for facts, changes in cache[f"edits {kind}"]:
            if spoken & changes.keys():
                yield facts, context.defining({name: write(value) for name, value in changes.items()})

    return worlds


@of_programs
def part_missing(counted: Counted) -> Edits:
    """A part of a total is left out."""
    for total, parts in counted.totals():
        values: dict[Expr, list[str]] = {}
        for name, value in parts.items():
            if value not in (0, counted.amounts[total]):
                values.setdefault(value, []).append(name)
        for value, alike in values.items():
            facts = {"total": Name(total), "names": counted.names(alike)}
            yield facts, {total: counted.amounts[total] - value}


@of_programs
def turns(counted: Counted) -> Edits:
    """One turn of a repeat is counted."""
    for repeat in (node for node in _nodes_of(counted.program.body) if isinstance(node, Repeat)):
        yield {"times": repeat.times}, counted.of(_with(counted.program, repeat, replace(repeat, times=number(1))))


@of_programs
def traffic(counted: Counted) -> Edits:
    """A tensor is not read, not written, or neither, as if it stayed; or none of those of a role is, or no result."""
    moves, declared = counted.moves, counted.program.declared_as
    tensors = [[tensor] for tensor in dict.fromkeys(move.tensor for move in moves)]
    roles = [[str(t.name) for t in declared(role)] for role in ("input", "weight", "cache")]
    stored = [*dict.fromkeys(move.tensor for move in moves if move.kind == "writes")]
    for chosen in [*tensors, *(role for role in roles if len(role) > 1), stored]:
        for how, kinds in (("kept", TRAFFIC), ("not_written", ("writes",)), ("not_read", ("reads",))):
            moved = [move for move in moves if move.tensor in chosen and move.kind in kinds]
            if {*kinds} == {move.kind for move in moved}:
                yield {"how": how, "names": counted.names(chosen)}, counted.without(moved)


@of_programs
def other_amount(counted: Counted) -> Edits:
    """Elements for bytes, or bytes for elements."""
    known, program = counted.amounts, counted.program
    types = {t.dtype for t in program.arrays.values()}
    bytes_each = {
        n: dtype("int8" if t.dtype.integer else "fp8") for n, t in program.arrays.items() if t.dtype.bits != 8
    }
    alike = [{"dtype": str(each), "bytes": Fraction(each.bits, 8)} for each in types] if len(types) == 1 else [{}]
    yield {"how": "elements", **alike[0]}, counted.typed(bytes_each)
    sizes = {"params": known["weights"]}
    for name, tensor in program.arrays.items() if program.line is None else ():
        sizes[of_statement("elements", name)] = known[of_statement("size", name)]
        if of_statement("params", name) in known:
            sizes[of_statement("params", name)] = program.resolved(program.turns(tensor) * tensor.bytes)
    yield {"how": "bytes"}, sizes


@of_programs
def other_pass(counted: Counted) -> Edits:
    """Two FLOPs for each weight and token in the forward pass, six in a step of training."""
    known = counted.amounts
    passes = {n: known[n] for n in WORK[1:] if known.get(n, 0) not in (0, known["flops"])}
    for name, value in passes.items():
        yield {"how": name.removeprefix("flops_")}, {"flops": value}
    if not passes:
        yield {"how": "training"}, {n: 3 * x for n, x in known.items() if parts_of(n)[0] == "flops"}


@of_programs
def multiply_add(counted: Counted) -> Edits:
    """A multiply-add counted as one operation, or every operation as two."""
    pairs = counted.amounts if counted.count == "fma" else Counted(counted.program, "fma").amounts
    work = {n: x for n, x in pairs.items() if parts_of(n)[0] in WORK}
    for factor in (Fraction(1, 2), Fraction(2)):
        yield {"factor": factor}, {n: x * rational(factor) for n, x in work.items()}


@of_programs
def of_width(counted: Counted) -> Edits:
    """Weights, caches, or what is made and comes from outside, at the width of another type; in a product each tensor."""
    program = counted.program
    groups = [[str(t.name) for t in program.declared_as(role)] for role in ("weight", "cache", "input")]
    for chosen in groups if program.line is None else [[name] for name in program.arrays]:
        for name, bits in WIDTHS.items():
            if any(program.arrays[tensor].dtype.bits != bits for tensor in chosen):
                facts = {"names": counted.names(chosen), "bits": bits}
                yield facts, counted.typed(dict.fromkeys(chosen, dtype(name)))


def _nodes_of(body: tuple[Node, ...]) -> Iterator[Node]:
    for node in body:
        yield node
        yield from _nodes_of(getattr(node, "body", ()))


def _with(program: Program, place: Node, other: Node) -> Program:
    """The program with another node for one of its own."""

    def changed(body: tuple[Node, ...]) -> tuple[Node, ...]:
        return tuple(
            other if node is place else node if isinstance(node, Statement) else replace(node, body=changed(node.body))
            for node in body
        )

    return in_training(replace(program, body=changed(program.body)), program.training)
