"""Kernels: which statements of a program share traffic on a chip, and what each of these costs.

A contraction reads its operands from memory and writes its result. Of the kernels that make the operands of an
elementwise statement or row function, and have a contraction in them or behind them, the last is the one that it joins, if
that has a contraction itself and is of the same turn of a repeat: what was made there stays on the chip. All others of them
come before it, so kernels never wait for one another. With no such contraction behind it, it is a kernel of its own. The
statements of a fuse that has a contraction are one kernel; one of elementwise statements alone keeps together those that
have no contraction behind them. A kernel reads each tensor from outside once, and writes what another kernel uses, what the
next turn of a repeat takes, what nothing uses, and the gradients that are asked for. The backward pass comes later: none of
its statements joins a kernel of the forward pass. The backward of a fuse is one kernel that makes what was inside once more,
from what it reads from outside. What an exchange makes lies where the tensor lies that it moves; so
with views and slices, and with what is joined but for what that copies (:mod:`symroof.model.memory`). A slice of what the
kernel reads is read with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from sympy import Expr, Integer

from symroof.formula import Frozen, once
from symroof.model.given_costs import Cost, Counting, Operation
from symroof.model.program import Program
from symroof.model.program_tree import Line, Repeat, Statement, label_size, turns_of
from symroof.model.quantities import NAMELESS
from symroof.model.tensor_types import Tensor
from symroof.symbols import rational


@dataclass(eq=False, repr=False)
class _Kernel:
    lines: list[Line] = field(default_factory=list)

    @property
    def contracts(self) -> bool:
        fuse = self.lines[0].fuse
        return self.lines[0].statement.contracts or (fuse is not None and fuse.contracts)

    def takes(self, line: Line) -> bool:
        """Whether it has a contraction, and is of the same turn."""
        first = self.lines[0]
        return self.contracts and (first.repeats, first.backward) == (line.repeats, line.backward)


def kernels_of(program: Program) -> tuple[tuple[Line, ...], ...]:
    """The lines of a program by kernels, in the order of their first lines."""
    kernels: list[_Kernel] = []
    behind: dict[str, _Kernel] = {}  # where a tensor is made that has a contraction behind it
    fused: dict[int, _Kernel] = {}
    for line in program.lines:
        statement, fuse = line.statement, line.fuse
        together = fuse is not None and fuse.contracts
        if statement.lies:
            kernels.append(_Kernel([line]))
            continue
        feeding = (name for t in statement.operands for name in program.memory.origins(str(t.name)))
        last = max((behind[name] for name in feeding if name in behind), key=kernels.index, default=None)
        if not (together or statement.contracts) and last is not None and last.takes(line):
            kernel = last
        else:
            kernel = fused.setdefault(id(fuse), _Kernel()) if fuse is not None else _Kernel()
        kernel.lines.append(line)
        if kernel not in kernels:
            kernels.append(kernel)
        if statement.contracts or together or last is not None:
            behind[statement.name] = kernel
    return tuple(tuple(kernel.lines) for kernel in kernels)


class Load(Frozen):
    """What a kernel reads from memory: a tensor, the line that needs it first, and every statement that needs it, each
    with the name that it has there. What each turn that is gone through on the chip has a place of is read in all of
    them, all else once for them."""

    line: Line
    tensor: Tensor
    users: tuple[tuple[Statement, Tensor], ...]
    turned: bool = False

    @property
    def repeats(self) -> tuple[Repeat, ...]:
        """The repeats in each turn of which it is read."""
        return self.line.repeats if self.turned else self.line.launched

    @property
    def bytes(self) -> Expr:
        """What is read of it: where every statement that needs it is masked, the columns that some row meets."""
        masks = {replace(self.line, statement=statement).mask for statement, _ in self.users}
        mask = masks.pop() if len(masks) == 1 else None
        if mask is None or mask.columns not in self.tensor.labels or mask.rows in self.tensor.labels:
            return self.tensor.bytes
        return self.tensor.bytes * mask.reached / label_size(mask.columns)


# What leaves a chip of a mesh to be exchanged: results by name, and operands with the statement that they are brought to.
Exchanged = frozenset["str | tuple[str, str]"]


# What a kernel needs of a part: the part, the line and its statement, the tensor there, and whether it is needed entire.
Need = tuple[str, Line, Statement, Tensor, bool]


def kernel_loads(lines: tuple[Line, ...], program: Program, exchanged: Exchanged = frozenset()) -> tuple[Load, ...]:
    """What a kernel reads from memory, each tensor once: whole if some statement needs it whole, else the rows that each looks
    up, whatever the order of the statements. What is exchanged comes from memory as well."""
    memory = program.memory
    if any(line.statement.lies for line in lines):
        copied = ((line, tensor) for line in lines for tensor in memory.copied(line))
        return tuple(Load(line, tensor, ((line.statement, tensor),)) for line, tensor in copied)
    needs = tuple(_needs(lines, program, exchanged))
    whole_reads: dict[str, list[tuple[Statement, Tensor]]] = {}
    for part, _, user, tensor, entire in needs:
        if entire:
            whole_reads.setdefault(part, []).append((user, tensor))
    entirely = {*whole_reads}  # and what is joined of these, where it is read under its name
    entirely |= {memory.root(str(t.name), line.repeats) for _, line, _, t, entire in needs if entire}
    result: list[Load] = []
    for part, line, user, tensor, entire in needs:
        if entirely & {*memory.wholes(part, line.repeats)}:
            continue  # what is a slice of it is there
        stored_tensor = tensor if part == memory.root(str(tensor.name), line.repeats) else program.arrays[part]
        if part not in whole_reads:
            result.append(Load(line, stored_tensor, ((user, tensor),), memory.turned(part)))
        elif entire and whole_reads[part]:
            result.append(Load(line, stored_tensor, tuple(whole_reads[part]), memory.turned(part)))
            whole_reads[part] = []
    return tuple(result)


def _needs(lines: tuple[Line, ...], program: Program, exchanged: Exchanged) -> Iterator[Need]:
    """What the statements of a kernel need of tensors, or of their parts, that are not on the chip."""
    memory, users = program.memory, dict[str, tuple[Line, Statement]]()
    for line in lines:  # what the fuse makes again is on the chip once, for the first of them
        again = () if line.fuse is None else (s for s in line.fuse.again if not s.lies)
        users |= {user.name: (line, user) for user in (line.statement, *again) if user.name not in users}
    on_chip = {*users} - exchanged
    for statement in memory.lying:
        if statement.name not in exchanged and on_chip.issuperset(str(t.name) for t in statement.operands):
            on_chip.add(statement.name)
    for line, user in users.values():
        for tensor, operand in zip(user.read, user.operands, strict=True):
            name, entire = str(tensor.name), tensor is operand
            parts = memory.parts(name, line.repeats) if entire else (memory.root(name, line.repeats),)
            local = on_chip if (user.name, name) not in exchanged else frozenset[str]()
            from_memory = () if name in local else parts
            yield from ((part, line, user, tensor, entire) for part in from_memory if part not in local)


def cost_owners(lines: tuple[Line, ...], program: Program) -> Mapping[str, str]:
    """Whose costs the statements of a kernel belong to: those of the last contraction of the kernel behind them, else
    their own."""
    owners: dict[str, str] = {}
    order = [line.statement.name for line in lines]
    contracting = {line.statement.name for line in lines if line.statement.contracts}
    for line in lines:
        statement = line.statement
        feeding = (name for t in statement.operands for name in program.memory.origins(str(t.name)))
        behind = [owners[name] for name in feeding if name in owners]
        heads = [name for name in behind if name in contracting]
        is_own = statement.contracts or not heads
        owners[statement.name] = statement.name if is_own else max(heads, key=order.index)
    return owners


def write_loop(line: Line, program: Program, all_turns: frozenset[str]) -> tuple[Repeat, ...]:
    """The repeats in each turn of which a kernel writes what a statement makes: of what turns on the chip make the last
    alone, but where that of all of them is wanted."""
    return line.repeats if program.memory.collected.get(line.statement.name) in all_turns else line.launched


def kernel_stores(program: Program, exchanged: Exchanged = frozenset()) -> frozenset[str]:
    """What is written to memory: what another kernel reads, what leaves a turn, what nothing uses, and the gradients that
    are asked for; on a mesh what leaves the chip. Of a tensor of which slices alone are wanted these are."""
    kernels = kernels_of(program)
    names = {str(fetch.tensor.name) for kernel in kernels for fetch in kernel_loads(kernel, program, exchanged)}
    names |= {name for line in program.lines for repeat in line.repeats for name in repeat.leaves} | {*program.returned}
    if program.backward is not None:
        names |= {str(gradient.name) for gradient in program.backward.gradients.values()}
    late = {line.statement.name for line in program.lines if line.backward}
    used = {
        name
        for line in program.lines
        for name in (str(t.name) for t in line.statement.operands)
        if not line.backward or name in late  # what the backward pass makes again on the chip is a result all the same
    }
    names |= {line.statement.name for line in program.lines} - used
    names |= {name for name in exchanged if isinstance(name, str)}
    return program.memory.written(names)


class StatementCost(Frozen):
    """What a statement costs with those that join it, ``members`` in their order, itself first; in all turns of its repeats.

    ``flops`` are those of a contraction, ``ops`` all elementwise work; ``loads`` and ``stores`` are bytes by tensor.
    """

    name: str
    members: tuple[Line, ...]
    flops_exact: Expr
    flops: Expr
    ops: Expr
    loads: tuple[tuple[str, Expr], ...]
    stores: tuple[tuple[str, Expr], ...]

    @property
    def backward(self) -> bool:
        return any(line.backward for line in self.members)


@once
def costs_of(program: Program) -> Mapping[str, StatementCost]:
    """What each statement costs, by name: an elementwise one that joins a contraction is in the costs of that."""
    if program.given is not None:
        return {NAMELESS: _of_functions(program.given)}
    costs: dict[str, StatementCost] = {}
    names = kernel_stores(program)
    for kernel in kernels_of(program):
        owners = cost_owners(kernel, program)
        loads: dict[str, list[tuple[str, Expr]]] = {}
        stores: dict[str, list[tuple[str, Expr]]] = {}
        for fetch in kernel_loads(kernel, program):
            moved = (str(fetch.tensor.name), turns_of(fetch.repeats) * fetch.bytes)
            loads.setdefault(owners[fetch.line.statement.name], []).append(moved)
        for line in kernel:
            statement, name = line.statement, line.statement.name
            parts = (program.arrays[s] for s in program.memory.slices_of(name, names))
            is_stored = name in names and not statement.cuts
            results = (statement.result,) if is_stored else (*program.memory.copied(line), *parts)
            turns = turns_of(write_loop(line, program, names))
            for tensor in results if not statement.collects else ():
                stores.setdefault(owners[name], []).append((str(tensor.name), turns * tensor.bytes))
        for owner in dict.fromkeys(owners.values()):
            members = tuple(line for line in kernel if owners[line.statement.name] == owner)
            exact, flops = _contraction(members)
            ops = sum((turns_of(line.repeats) * elementwise(line) for line in members), Integer(0))
            both = (tuple(result.get(owner, ())) for result in (loads, stores))
            costs[owner] = StatementCost(owner, members, exact, flops, ops, *both)
    order = [line.statement.name for line in program.lines]
    return dict(sorted(costs.items(), key=lambda item: order.index(item[0])))


def cost_of(program: Program, count: Counting = "fma") -> Cost:
    """FLOPs and bytes of the whole program; its elementwise work counts as FLOPs where nothing is contracted."""
    if program.line is not None:
        return program.line.cost(count)
    owners, kinds = costs_of(program).values(), ("ops", "ops") if program.vector else ("flops_exact", "flops")
    work, rounded = (tuple(x for cost in owners if (x := getattr(cost, kind)) != 0) for kind in kinds)
    loads, stores = (tuple(x for cost in owners for _, x in getattr(cost, kind)) for kind in ("loads", "stores"))
    work, rounded, loads, stores = (tuple(map(program.resolved, part)) for part in (work, rounded, loads, stores))
    return Cost(work, rounded, loads, stores, count)


def is_idle(program: Program) -> bool:
    """Whether it computes nothing: tensors are moved and split otherwise, and that is all."""
    return program.line is None and all(cost.flops == 0 == cost.ops for cost in costs_of(program).values())


def _of_functions(operation: Operation) -> StatementCost:
    """What functions say that an operation costs."""
    cost, zero = operation.cost(), Integer(0)
    kinds = (zero, zero, cost.flops) if operation.vector else (cost.flops, cost.flops, zero)
    return StatementCost(NAMELESS, (), *kinds, ((NAMELESS, cost.reads),), ((NAMELESS, cost.writes),))


def _contraction(members: tuple[Line, ...]) -> tuple[Expr, Expr]:
    """The FLOPs of the contraction among statements, in all turns: exactly, and with an addition for every
    multiplication."""
    contractions = ((turns_of(line.repeats), *contraction(line)) for line in members if line.statement.contracts)
    turns, exact, flops = next(contractions, (Integer(0), Integer(0), Integer(0)))
    return turns * exact, turns * flops


def contraction(line: Line) -> tuple[Expr, Expr]:
    """The FLOPs of one that contracts: exactly, and with an addition for every multiplication."""
    product = line.statement.product
    assert product is not None
    outputs = product.output.elements * line.worked(product.output.labels)
    labels = {label for tensor in product.tensors for label in tensor.labels}
    flops = product.cost("fma").flops * line.worked(labels)
    if line.mask is None:
        return product.cost("exact").flops, flops
    return (flops - outputs).expand(), flops.expand()


def elementwise(line: Line) -> Expr:
    """The operations of a statement that contracts nothing; 0 for one that does."""
    statement = line.statement
    if statement.contracts:
        return Integer(0)
    first, function = statement.operands[0], statement.function
    if statement.lies:
        return Integer(0)
    if function is None and len(statement.operands) == 1:
        results = statement.result.elements * line.worked(statement.result.labels)
        return first.elements * line.worked(first.labels) - (results if statement.reduces else 0)
    if function is None:
        return (len(statement.operands) - 1) * statement.result.elements * line.worked(statement.result.labels)
    rows = _rows(first, statement.over) * line.worked(x for x in first.labels if x != statement.over)
    return rational(function.each) * first.elements * line.worked(first.labels) + rational(function.row) * rows


def _rows(tensor: Tensor, over: str | None) -> Expr:
    """The elements of a tensor without one of its dimensions."""
    length = next((dim.size for dim in tensor.dims if dim.label == over), Integer(1))
    return tensor.elements / length
