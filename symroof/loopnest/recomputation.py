"""Recomputation: what the backward pass makes once more instead of reading what the forward pass kept.

Of a block of statements the backward ones read results that the block made in the same turn. These are made again, by the
forward kernels of the block as far as they are needed, in buffers of their own, before the first backward kernel that reads
them; their work counts. What others read of the block, or what another turn made, is kept as ever.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from symroof.loopnest.nests import Access, Buffer, Kernel, Statement
from symroof.loopnest.size_polynomials import ZERO


def with_remade(ahead: tuple[Kernel, ...], back: tuple[Kernel, ...], buffers: dict[str, Buffer]) -> tuple[Kernel, ...]:
    """The kernels of the backward pass with those of each block that it makes again; their buffers are added."""
    for block in dict.fromkeys(s.remade for kernel in ahead for s in kernel.body if s.remade):
        back = _with_block(block, ahead, back, buffers)
    return back


def _with_block(
    block: str, ahead: tuple[Kernel, ...], back: tuple[Kernel, ...], buffers: dict[str, Buffer]
) -> tuple[Kernel, ...]:
    inside = frozenset(s.result.buffer for kernel in ahead for s in kernel.body if s.remade == block)
    readers = [number for number, k in enumerate(back) if any(_reads(s, inside) for s in k.body if s.remade == block)]
    needed = {name for k in back for s in k.body if s.remade == block for name in _reads(s, inside)}
    again: list[Kernel] = []
    for kernel in reversed(ahead):
        body = list[Statement]()
        for statement in reversed(kernel.body):
            if statement.result.buffer in needed and statement.remade == block:
                body.insert(0, statement)
                needed |= _reads(statement, inside)
        again[:0] = [replace(kernel, body=tuple(body), backward=True)] if body else []
    names = {s.result.buffer: f"{s.result.buffer} remade" for kernel in again for s in kernel.body}
    for name, other in names.items():
        buffers[other] = replace(buffers[name], name=other)
    put = _put(names)
    again = [replace(k, body=tuple(replace(put(s), result=_in(s.result, names)) for s in k.body)) for k in again]
    back = tuple(replace(k, body=tuple(put(s) if s.remade == block else s for s in k.body)) for k in back)
    first = min(readers, default=0)
    return (*back[:first], *again, *back[first:])


def _here(access: Access) -> bool:
    """Whether an access is of the same turn."""
    return all(shift == ZERO for _, shift in access.turns)


def _reads(statement: Statement, inside: frozenset[str]) -> frozenset[str]:
    """What a statement reads of the inside of a block in the same turn."""
    every = (access for operand in (*statement.operands, statement.table) for access in operand)
    return inside & {access.buffer for access in every if _here(access)}


def _in(access: Access, names: Mapping[str, str]) -> Access:
    return replace(access, buffer=names.get(access.buffer, access.buffer)) if _here(access) else access


def _put(names: Mapping[str, str]) -> Callable[[Statement], Statement]:
    """Statements that read what is made again."""

    def put(statement: Statement) -> Statement:
        operands = tuple(tuple(_in(access, names) for access in operand) for operand in statement.operands)
        return replace(statement, operands=operands, table=tuple(_in(access, names) for access in statement.table))

    return put
