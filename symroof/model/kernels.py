"""Who shares traffic: the statements of a program as the kernels that a chip runs.

A contraction reads its operands from memory and writes its result. An elementwise statement or row function joins the
kernel of the contraction that comes last among those behind its operands: what was made there stays on the chip. With no
contraction behind it, it is a kernel of its own. The statements of a fuse that has a contraction are one kernel; one of
elementwise statements alone keeps together those that have no contraction behind them. A kernel reads each tensor from
outside once, and writes what another kernel uses, what the next turn of a repeat takes, and what nothing uses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from symroof.model.program import Line, Program, Statement


@dataclass(eq=False)
class _Kernel:
    lines: list[Line] = field(default_factory=list)


def kernels_of(program: Program) -> tuple[tuple[Line, ...], ...]:
    """The lines of a program by kernels, in the order of their first lines."""
    kernels: list[_Kernel] = []
    behind: dict[str, _Kernel] = {}  # the kernel of the last contraction behind a tensor, in the same turn
    fused: dict[int, _Kernel] = {}
    for line in program.lines:
        statement, fuse = line.statement, line.fuse
        together = fuse is not None and any(isinstance(s, Statement) and s.contracts for s in fuse.body)
        candidates = [
            behind[str(t.name)]
            for t in statement.operands
            if t.name in behind and behind[str(t.name)].lines[0].repeats == line.repeats
        ]
        if together:
            kernel = fused.setdefault(id(fuse), _Kernel())
        elif not statement.contracts and candidates:
            kernel = max(candidates, key=kernels.index)
        else:
            kernel = fused.setdefault(id(fuse), _Kernel()) if fuse is not None else _Kernel()
        kernel.lines.append(line)
        if kernel not in kernels:
            kernels.append(kernel)
        if statement.contracts or candidates:
            behind[statement.name] = kernel
    return tuple(tuple(kernel.lines) for kernel in kernels)


def owners_of(lines: tuple[Line, ...]) -> Mapping[str, str]:
    """Whose costs the statements of a kernel belong to: those of the last contraction of the kernel behind them, else
    their own."""
    owners: dict[str, str] = {}
    order = [line.statement.name for line in lines]
    for line in lines:
        statement = line.statement
        behind = [owners[str(t.name)] for t in statement.operands if str(t.name) in owners]
        heads = [name for name in behind if _heads(lines, name)]
        own = statement.contracts or not heads
        owners[statement.name] = statement.name if own else max(heads, key=order.index)
    return owners


def _heads(lines: tuple[Line, ...], name: str) -> bool:
    return any(line.statement.name == name and line.statement.contracts for line in lines)
