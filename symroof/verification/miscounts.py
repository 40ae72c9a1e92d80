"""Mistakes about what is counted: the worlds in which a wrong claim would be right.

A multiply-add counts once, an operand has another width, the output is not written, a statement is left out, one turn of a
repeat is counted, a fuse is taken apart, an epilogue reads its operand again, the cache has the heads of the queries. Every
world is an edit of the program: of its statements, its repeats and fuses, its tensors and sizes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction

from sympy import Expr, Integer

from symroof.errors import ModelError
from symroof.formula import Name, names, number
from symroof.model.dtype import Dtype, Tensor, dtype
from symroof.model.kernels import costs_of
from symroof.model.nodes import Fuse, Repeat, turns_of
from symroof.model.program import Program
from symroof.model.quantities import of_statement, parts_of
from symroof.model.rewriting import retyped
from symroof.model.statement_costs import kept_for_backward
from symroof.symbols import expression, rational, symbol
from symroof.verification.worlds import TRAFFIC, Amounts, Counted, Move, Worlds, nodes_of, of_programs, with_nodes

# What is done by the matrix unit.
WORK = ("flops", "flops_forward", "flops_backward")


@of_programs
def part_missing(counted: Counted) -> Worlds:
    """A part of a total is left out, or is counted twice, or is all that is counted."""
    program, known = counted.program, counted.amounts
    together = [("fuse", node.body) for node in nodes_of(program.body) if isinstance(node, Fuse)]
    for total, parts in _totals(counted):
        values: dict[Expr, list[str]] = {}
        for name, value in parts.items():
            if value not in (0, known[total]):
                values.setdefault(value, []).append(name)
        for value, alike in values.items():
            facts = {"total": Name(total), "names": counted.names(alike), "all": False}
            yield {**facts, "how": "missing"}, {total: known[total] - value}
            yield {**facts, "how": "twice"}, {total: known[total] + value}
            if len(parts) > 2:
                yield {**facts, "how": "alone"}, {total: value}
        for _, body in together:
            made = (line.statement.name for line in Program((), body).lines)
            inside = [name for name in made if parts.get(name, 0) != 0]
            if len(inside) > 1:
                facts = {"total": Name(total), "names": tuple(map(Name, inside)), "all": True, "how": "missing"}
                yield facts, {total: known[total] - sum((parts[name] for name in inside), Integer(0))}


def _totals(counted: Counted) -> Iterator[tuple[str, dict[str, Expr]]]:
    """Each total with the amounts of the statements or tensors that it is the sum of."""
    program, known = counted.program, counted.amounts
    parts: dict[str, dict[str, Expr]] = {}
    for name, value in known.items():
        total, tensor = parts_of(name)
        if tensor and total in known:
            parts.setdefault(total, {})[tensor] = value
    for total, role in (("weights", "weight"), ("caches", "cache"), ("gradients", "weight")):
        tensors = program.declared_as(role)
        parts[total] = {str(t.name): program.resolved(program.turns(t) * t.bytes) for t in tensors}
    if program.training:
        kept = kept_for_backward(program)
        parts["saved"] = {str(t.name): program.resolved(turns_of(repeats) * t.bytes) for t, repeats in kept}
    yield from ((total, found) for total, found in parts.items() if total in known and len(found) > 1)


@of_programs
def turns(counted: Counted) -> Worlds:
    """One turn of a repeat is counted, or its turns are counted twice over; or its weights are read once."""
    program = counted.program
    for repeat in (node for node in nodes_of(program.body) if isinstance(node, Repeat)):
        once, twice = replace(repeat, times=number(1)), replace(repeat, body=(replace(repeat),))
        yield {"times": repeat.times, "how": "once"}, counted.of(with_nodes(program, repeat, once))
        yield {"times": repeat.times, "how": "twice"}, counted.of(with_nodes(program, repeat, twice))
        inside = {line.statement.name: turns_of(line.repeats) for line in program.lines if repeat in line.repeats}
        weights = {str(tensor.name) for tensor in program.declared_as("weight")}
        read = [move for move in counted.moves if move.owner in inside and move.tensor in weights]
        less = ((move, move.amount / expression(repeat.times) - move.amount) for move in read)
        yield {"times": repeat.times, "how": "weights"}, counted.moving(less)


@of_programs
def traffic(counted: Counted) -> Worlds:
    """Tensors that stay on the chip are written and read, or others are not; or one that is read often is read once."""
    program, moves = counted.program, counted.moves
    for fuse in (node for node in nodes_of(program.body) if isinstance(node, Fuse)):
        made = [line.statement.name for line in Program((), fuse.body).lines]
        stored = {move.tensor for move in moves if move.kind == "writes"}
        kept = tuple(Name(name) for name in made if name not in stored)
        yield {"how": "unfused", "names": kept}, counted.of(with_nodes(program, fuse, *fuse.body))
    passes = tuple(_passes(counted))
    if len(passes) > 1:
        every = counted.moving(pair for _, pairs in passes for pair in pairs)
        yield {"how": "passes", "names": tuple(Name(name) for name, _ in passes)}, every
    for name, pairs in passes:
        yield {"how": "passes", "names": (Name(name),)}, counted.moving(pairs)
    for tensor in dict.fromkeys(move.tensor for move in moves):
        read, written = ([m for m in moves if (m.tensor, m.kind) == (tensor, kind)] for kind in TRAFFIC)
        facts = {"names": counted.names([tensor])}
        if read and written:
            yield {**facts, "how": "kept"}, counted.without((*read, *written))
        if len(read) > 1:
            yield {**facts, "how": "read_once", "readers": len(read)}, counted.without(read[1:])
        if written:
            yield {**facts, "how": "not_written"}, counted.without(written)
        if read:
            yield {**facts, "how": "not_read"}, counted.without(read)
    for role in ("input", "weight", "cache"):
        declared = tuple(str(t.name) for t in program.declared_as(role))
        if len(declared) > 1:
            read = [move for move in moves if move.tensor in declared]
            yield {"how": "not_read", "names": counted.names(declared)}, counted.without(read)
    stores = [move for move in moves if move.kind == "writes"]
    if len(stores) > 1:
        yield {"how": "not_written", "names": counted.names(move.tensor for move in stores)}, counted.without(stores)


def _passes(counted: Counted) -> Iterator[tuple[str, tuple[tuple[Move, Expr], ...]]]:
    """The statements that join a product, each with what it would read and write as a pass of its own."""
    program = counted.program
    outside = {(move.owner, move.tensor) for move in counted.moves}
    for owner, cost in costs_of(program).items():
        own = {line.statement.name for line in cost.members}
        for line in cost.members:
            if line.fuse is not None or line.statement.name == owner:
                continue
            again = [t for t in line.statement.operands if t.name in own and (owner, t.name) not in outside]
            pairs = tuple(
                (Move(owner, str(t.name), kind, Integer(0)), program.resolved(turns_of(line.repeats) * t.bytes))
                for t in again
                for kind in TRAFFIC
            )
            if pairs:
                yield line.statement.name, pairs


@of_programs
def other_shape(counted: Counted) -> Worlds:
    """A tensor is counted with a dimension that it does not have, or without one that it has."""
    program = counted.program
    roles = [tuple(program.declared_as(role)) for role in ("cache", "weight")]
    groups = [group for group in roles if len(group) > 1] + [(tensor,) for tensor in program.arrays.values()]
    for tensors in groups:
        beside = dict.fromkeys(label for tensor in tensors for label in _beside(program, tensor))
        own = dict.fromkeys(label for tensor in tensors for label in tensor.labels if not label.isdigit())
        for label in (*beside, *own):
            factor = symbol(label) if label in beside else 1 / symbol(label)
            scaled = [t for t in tensors if (label in t.labels) is (label not in beside)]
            changes = _scaled(counted, scaled, program.resolved(factor))
            facts = {"names": counted.names(str(t.name) for t in scaled), "size": Name(label), "more": label in beside}
            yield facts, changes


def _beside(program: Program, tensor: Tensor) -> Iterator[str]:
    """The sizes of the tensors beside this one that it does not have."""
    for line in program.lines:
        if tensor in line.statement.operands:
            labels = (dim.label for other in line.statement.operands for dim in other.dims if not dim.fixed)
            yield from (label for label in labels if label not in tensor.labels)


def _scaled(counted: Counted, tensors: Iterable[Tensor], factor: Expr) -> Amounts:
    """The amounts once these tensors have so many times the elements."""
    program, known = counted.program, counted.amounts
    chosen = {str(tensor.name): tensor for tensor in tensors}
    more: list[tuple[str, Expr]] = []
    for name, tensor in chosen.items():
        own = (of_statement(what, name) for what in ("elements", "size", "params"))
        more += ((amount, known[amount] * (factor - 1)) for amount in own if amount in known)
        for role, total, each in (
            ("weight", "params", tensor.elements),
            ("weight", "weights", tensor.bytes),
            ("cache", "caches", tensor.bytes),
        ):
            if tensor in program.declared_as(role):
                more.append((total, program.resolved(program.turns(tensor) * each) * (factor - 1)))
    moved = counted.moving((m, m.amount * (factor - 1)) for m in counted.moves if m.tensor in chosen)
    return {**counted.more(more), **moved}


@of_programs
def other_size(counted: Counted) -> Worlds:
    """A number that defines a size is taken for another: every expert for those that are chosen."""
    where = counted.program.where
    for parameter in counted.program.parameters:
        beside = dict.fromkeys(n for f in where.values() if parameter in names(f) for n in names(f))
        for meant in (*(symbol(name) for name in beside if name != parameter), Integer(1)):
            put = {symbol(parameter): meant}
            changes = {n: x.xreplace(put) for n, x in counted.amounts.items() if symbol(parameter) in x.free_symbols}
            taken = Name(meant.name) if meant.is_Symbol else number(1)
            yield {"written": Name(parameter), "meant": taken}, changes


@of_programs
def other_amount(counted: Counted) -> Worlds:
    """Bytes for elements or elements for bytes, elementwise work among the FLOPs, all statements for one of them."""
    known, program = counted.amounts, counted.program
    types = {t.dtype for t in program.arrays.values()}
    bytes_each = {
        n: dtype("int8" if t.dtype.integer else "fp8") for n, t in program.arrays.items() if t.dtype.bits != 8
    }
    alike = [{"dtype": str(each), "bytes": Fraction(each.bits, 8)} for each in types] if len(types) == 1 else [{}]
    yield {"how": "elements", **alike[0]}, _typed(counted, bytes_each)
    sizes = {"params": known["weights"]}
    for name, tensor in program.arrays.items() if program.line is None else ():
        sizes[of_statement("elements", name)] = known[of_statement("size", name)]
        if of_statement("params", name) in known:
            sizes[of_statement("params", name)] = program.resolved(program.turns(tensor) * tensor.bytes)
    yield {"how": "bytes"}, sizes
    work = {n: x + known[n.replace("flops", "ops", 1)] for n, x in known.items() if parts_of(n)[0] == "flops"}
    yield {"how": "ops"}, {n: x for n, x in work.items() if x != known[n]}
    for total, parts in _totals(counted):
        every = {n: known[total] for n in (of_statement(total, part) for part in parts) if n in known}
        yield {"how": "every", "total": Name(total)}, every


@of_programs
def other_pass(counted: Counted) -> Worlds:
    """Two FLOPs for each weight and token in the forward pass, six in a step of training."""
    known = counted.amounts
    passes = {
        n: x for n, x in known.items() if n in ("flops_forward", "flops_backward") and x not in (0, known["flops"])
    }
    for name, value in passes.items():
        yield {"how": name.removeprefix("flops_")}, {"flops": value}
    if not passes:
        work = {n: 3 * x for n, x in known.items() if parts_of(n)[0] == "flops"}
        yield {"how": "training"}, work


@of_programs
def multiply_add(counted: Counted) -> Worlds:
    """A multiply-add counted as one operation, or every operation as two."""
    work = {n: x for n, x in counted.in_pairs.items() if parts_of(n)[0] in WORK}
    for factor in (Fraction(1, 2), Fraction(2)):
        yield {"factor": factor}, {n: x * rational(factor) for n, x in work.items()}


@of_programs
def of_width(counted: Counted) -> Worlds:
    """Weights, caches, or what is made and comes from outside, at the width of another type; in a product each tensor."""
    program = counted.program
    groups = [[str(t.name) for t in program.declared_as(role)] for role in ("weight", "cache", "input")]
    for chosen in groups if program.line is None else [[name] for name in program.arrays]:
        for name, bits in (("int4", 4), ("int8", 8), ("bf16", 16), ("fp32", 32)):
            if any(program.arrays[tensor].dtype.bits != bits for tensor in chosen):
                facts = {"names": counted.names(chosen), "bits": bits}
                yield facts, _typed(counted, dict.fromkeys(chosen, dtype(name)))


def _typed(counted: Counted, types: Mapping[str, Dtype]) -> Amounts:
    """The bytes once tensors are stored in other types."""
    try:
        other = counted.of(retyped(counted.program, types)) if types else {}
    except ModelError:  # weights of integers, where they are trained
        return {}
    return {n: x for n, x in other.items() if not n.startswith(("flops", "ops"))}
