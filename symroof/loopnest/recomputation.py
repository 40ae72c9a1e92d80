"""Recomputation: what the backward pass makes once more instead of reading what the forward pass kept.

Of a fuse everything that its backward pass takes of its inside is made once more on the chip, in the same kernel and uncounted:
a convention.

Of a block of statements the backward ones read results that the block made in the same turn. These are made again, by the
forward kernels of the block as far as they are needed, in buffers of their own, before the first backward kernel that reads
them; their work counts. What others read of the block, or what another turn made, is kept as ever.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from symroof.loopnest.adjoint_rules import going_back
from symroof.loopnest.nests import Access, Buffer, Launched, Statement
from symroof.loopnest.size_polynomials import ZERO


def remade(name: str) -> str:
    """What a buffer, or a fuse, is called when it is made once more."""
    return f"{name} remade" if name else ""


def with_blocks_remade(
    ahead: Iterable[Launched], back: Iterable[Launched], buffers: dict[str, Buffer]
) -> list[Launched]:
    """The statements of the backward pass with those of each block that it makes again; their buffers are added."""
    forward, items = list(ahead), list(back)
    for block in dict.fromkeys(item.statement.remade for item in forward if item.statement.remade):
        items = _with_block([item for item in forward if item.statement.remade == block], items, buffers)
    return items


def with_fuses_remade(
    ahead: list[Statement], back: list[Launched], whole: frozenset[str], buffers: dict[str, Buffer]
) -> list[Launched]:
    """The statements of the backward pass with those that each fuse which is one kernel makes again on the chip."""
    for fuse in sorted(whole):
        mine = [i for i, item in enumerate(back) if item.statement.fuse == going_back(fuse)]
        if mine:
            again = _made_on_chip(fuse, ahead, [back[i].statement for i in mine])
            names = {s.result.buffer: f"{s.result.buffer} again" for s in again}
            for name, other in names.items():
                buffers[other] = replace(buffers[name], name=other)
            inside = [replace(back[mine[0]], statement=_in_fuse(s, names, going_back(fuse)), alone="") for s in again]
            for i in mine:
                there = _in_fuse(back[i].statement, names, going_back(fuse))
                back[i] = replace(back[i], statement=replace(there, result=back[i].statement.result))
            back = [*back[: mine[0]], *inside, *back[mine[0] :]]
    return back


def _made_on_chip(fuse: str, ahead: list[Statement], back: list[Statement]) -> list[Statement]:
    """The statements of a fuse whose results its backward pass takes, without their work."""
    needed = {access.buffer for s in back for operand in s.operands for access in operand}
    again: list[Statement] = []
    for statement in reversed(ahead):
        if statement.fuse == fuse and statement.result.buffer in needed:
            again.insert(0, replace(statement, operation=replace(statement.operation, work=())))
            needed |= {access.buffer for operand in statement.operands for access in operand}
    return again


def _in_fuse(statement: Statement, names: Mapping[str, str], fuse: str) -> Statement:
    """A statement of a fuse that reads and makes what has other names there."""

    def put(access: Access) -> Access:
        return replace(access, buffer=names.get(access.buffer, access.buffer))

    operands = tuple(tuple(map(put, operand)) for operand in statement.operands)
    return replace(statement, result=put(statement.result), operands=operands, fuse=fuse)


def _with_block(made: list[Launched], back: list[Launched], buffers: dict[str, Buffer]) -> list[Launched]:
    block, inside = made[0].statement.remade, frozenset(item.statement.result.buffer for item in made)
    taken = {i: _reads(item.statement, inside) for i, item in enumerate(back) if item.statement.remade == block}
    needed = {name for names in taken.values() for name in names}
    again: list[Launched] = []
    for item in reversed(made):
        if item.statement.result.buffer in needed:
            again.insert(0, item)
            needed |= _reads(item.statement, inside)
    names = {item.statement.result.buffer: remade(item.statement.result.buffer) for item in again}
    for name, other in names.items():
        buffers[other] = replace(buffers[name], name=other)
    first = min((i for i, names in taken.items() if names), default=0)
    reading = [
        item if i not in taken else replace(item, statement=_put(item.statement, names)) for i, item in enumerate(back)
    ]
    return [*reading[:first], *(_again(item, names) for item in again), *reading[first:]]


def _again(item: Launched, names: Mapping[str, str]) -> Launched:
    statement = _put(item.statement, names)
    statement = replace(statement, result=_in(statement.result, names), fuse=remade(statement.fuse))
    return Launched(statement, item.launches, True, remade(item.alone))


def _here(access: Access) -> bool:
    """Whether an access is of the same turn."""
    return all(shift == ZERO for _, shift in access.turns)


def _reads(statement: Statement, inside: frozenset[str]) -> frozenset[str]:
    """What a statement reads of the inside of a block in the same turn."""
    every = (access for operand in (*statement.operands, statement.table) for access in operand)
    return inside & {access.buffer for access in every if _here(access)}


def _in(access: Access, names: Mapping[str, str]) -> Access:
    return replace(access, buffer=names.get(access.buffer, access.buffer)) if _here(access) else access


def _put(statement: Statement, names: Mapping[str, str]) -> Statement:
    """A statement that reads what is made again."""
    operands = tuple(tuple(_in(access, names) for access in operand) for operand in statement.operands)
    return replace(statement, operands=operands, table=tuple(_in(access, names) for access in statement.table))
