"""Who shares traffic: the statements of a program as the kernels that a chip runs.

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

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from sympy import Expr

from symroof.formula import Frozen
from symroof.model.dtype import Tensor
from symroof.model.nodes import sized
from symroof.model.program import Line, Program, Repeat, Statement


@dataclass(eq=False)
class _Kernel:
    lines: list[Line] = field(default_factory=list)

    @property
    def contracts(self) -> bool:
        fuse = self.lines[0].fuse
        return self.lines[0].statement.contracts or (fuse is not None and fuse.contracts)


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
        candidates = [behind[name] for name in feeding if name in behind]
        last = max(candidates, key=kernels.index, default=None)
        here = last is not None and last.contracts and _same_turn(last.lines[0], line)
        if together:
            kernel = fused.setdefault(id(fuse), _Kernel())
        elif not statement.contracts and last is not None and here:
            kernel = last
        else:
            kernel = fused.setdefault(id(fuse), _Kernel()) if fuse is not None else _Kernel()
        kernel.lines.append(line)
        if kernel not in kernels:
            kernels.append(kernel)
        if statement.contracts or together or last is not None:
            behind[statement.name] = kernel
    return tuple(tuple(kernel.lines) for kernel in kernels)


def _same_turn(one: Line, other: Line) -> bool:
    return one.repeats == other.repeats and one.backward == other.backward


class Fetched(Frozen):
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
        return self.tensor.bytes * mask.reached / sized(mask.columns)


# What leaves a chip of a mesh to be exchanged: results by name, and operands with the statement that they are brought to.
Exchanged = frozenset["str | tuple[str, str]"]


def fetched(lines: tuple[Line, ...], program: Program, exchanged: Exchanged = frozenset()) -> tuple[Fetched, ...]:
    """What a kernel reads from memory, each tensor once: whole if some statement needs it whole, else the rows that each looks
    up, whatever the order of the statements. What is exchanged comes from memory as well."""
    memory = program.memory
    if any(line.statement.lies for line in lines):
        copied = ((line, tensor) for line in lines for tensor in memory.copied(line))
        return tuple(Fetched(line, tensor, ((line.statement, tensor),)) for line, tensor in copied)
    on_chip = {line.statement.name for line in lines}
    on_chip |= {s.name for line in lines if line.fuse is not None for s in line.fuse.again if not s.lies}
    on_chip -= exchanged
    for made in memory.lying:
        if made.name not in exchanged and on_chip.issuperset(str(t.name) for t in made.operands):
            on_chip.add(made.name)
    users = dict[str, tuple[Line, Statement]]()
    for line in lines:  # what the fuse makes again is on the chip once, for the first of them
        again = () if line.fuse is None else (s for s in line.fuse.again if not s.lies)
        users |= {user.name: (line, user) for user in (line.statement, *again) if user.name not in users}
    needs: list[tuple[str, Line, Statement, Tensor, bool]] = []
    for line, user in users.values():
        for tensor, operand in zip(user.read, user.operands, strict=True):
            name, entire = str(tensor.name), tensor is operand
            parts = memory.parts(name, line.repeats) if entire else (memory.root(name, line.repeats),)
            here = on_chip if (user.name, name) not in exchanged else frozenset[str]()
            seen = () if name in here else parts
            needs += ((part, line, user, tensor, entire) for part in seen if part not in here)
    whole: dict[str, list[tuple[Statement, Tensor]]] = {}
    for part, _, user, tensor, entire in needs:
        if entire:
            whole.setdefault(part, []).append((user, tensor))
    entirely = {*whole}  # and what is joined of these, where it is read under its name
    entirely |= {memory.root(str(t.name), line.repeats) for _, line, _, t, entire in needs if entire}
    found: list[Fetched] = []
    for part, line, user, tensor, entire in needs:
        if entirely & {*memory.wholes(part, line.repeats)}:
            continue  # what is a slice of it is there
        there = tensor if part == memory.root(str(tensor.name), line.repeats) else program.arrays[part]
        if part not in whole:
            found.append(Fetched(line, there, ((user, tensor),), memory.turned(part)))
        elif entire and whole[part]:
            found.append(Fetched(line, there, tuple(whole[part]), memory.turned(part)))
            whole[part] = []
    return tuple(found)


def owners_of(lines: tuple[Line, ...], program: Program) -> Mapping[str, str]:
    """Whose costs the statements of a kernel belong to: those of the last contraction of the kernel behind them, else
    their own."""
    owners: dict[str, str] = {}
    order = [line.statement.name for line in lines]
    for line in lines:
        statement = line.statement
        feeding = (name for t in statement.operands for name in program.memory.origins(str(t.name)))
        behind = [owners[name] for name in feeding if name in owners]
        heads = [name for name in behind if _heads(lines, name)]
        own = statement.contracts or not heads
        owners[statement.name] = statement.name if own else max(heads, key=order.index)
    return owners


def _heads(lines: tuple[Line, ...], name: str) -> bool:
    return any(line.statement.name == name and line.statement.contracts for line in lines)


def written_in(line: Line, program: Program, kept: frozenset[str]) -> tuple[Repeat, ...]:
    """The repeats in each turn of which a kernel writes what a statement makes: of what turns on the chip make the last
    alone, but where that of all of them is wanted."""
    return line.repeats if program.memory.collected.get(line.statement.name) in kept else line.launched


def stored(program: Program, exchanged: Exchanged = frozenset()) -> frozenset[str]:
    """What is written to memory: what another kernel reads, what leaves a turn, what nothing uses, and the gradients that
    are asked for; on a mesh what leaves the chip. Of a tensor of which slices alone are wanted these are."""
    kernels = kernels_of(program)
    kept = {str(one.tensor.name) for kernel in kernels for one in fetched(kernel, program, exchanged)}
    kept |= {name for line in program.lines for repeat in line.repeats for name in repeat.leaves} | {*program.returned}
    if program.backward is not None:
        kept |= {str(gradient.name) for gradient in program.backward.gradients.values()}
    late = {line.statement.name for line in program.lines if line.backward}
    used = {
        name
        for line in program.lines
        for name in (str(t.name) for t in line.statement.operands)
        if not line.backward or name in late  # what the backward pass makes again on the chip is a result all the same
    }
    kept |= {line.statement.name for line in program.lines} - used
    kept |= {name for name in exchanged if isinstance(name, str)}
    return program.memory.written(kept)
