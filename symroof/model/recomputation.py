"""Recomputation: the statements that a backward pass runs again instead of reading what was stored."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from symroof.model.dtype import Tensor
from symroof.model.program_tree import Fuse, Node, Recompute, Repeat, Statement, statements_in


def remade(recompute: Recompute, inner: list[Node], called: Callable[[str], str]) -> list[Node]:
    """The backward pass ``inner`` of a recompute, behind the statements that it needs, which are made again under other names. Of
    a fuse results that others need are; where none is, its own backward pass makes what it needs on the chip, and counts it."""
    names_made = {statement.name for statement in statements_in(recompute.body)}
    needed = {name for node in inner for name in _needs(node)} & names_made
    again: list[Node] = []
    for node in reversed(recompute.body):
        again[:0] = _again(node, needed, names_made)
    results = {statement.name for statement in statements_in(tuple(again)) if not statement.lies}
    counted = [() if not isinstance(node, Fuse) or results & _inside(node) else node.again for node in inner]
    statements = (*again, *(statement for body in counted for statement in body if not statement.lies))
    names = {s.name: called(s.name) for s in statements_in(tuple(statements))}

    def renamed(tensor: Tensor) -> Tensor:
        return replace(tensor, name=names.get(str(tensor.name), tensor.name))

    def copied(node: Node) -> Node:
        if isinstance(node, Statement):
            result = renamed(node.result)
            return replace(node, operands=tuple(map(renamed, node.operands)), result=result, again=node.name)
        return replace(node, body=tuple(map(copied, node.body)))

    def back(node: Node, body: tuple[Statement, ...]) -> Node:
        if not body or not isinstance(node, Fuse):
            return _reading(node, names)
        copies = (copied(statement) for statement in body if not statement.lies)
        return Fuse((*copies, *(_reading(part, names) for part in node.body)), (), node.undoes)

    return [*map(copied, again), *map(back, inner, counted)]


def _again(node: Node, needed: set[str], names: set[str]) -> list[Node]:
    """What of a node is made again; what that needs is added to what is needed."""
    if isinstance(node, Statement):
        if node.name not in needed:
            return []
        needed |= {str(t.name) for t in node.operands} & names
        return [node]
    body: list[Node] = []
    for part in reversed(node.body):
        body[:0] = _again(part, needed, names)
    if all(statement.lies for statement in statements_in(tuple(body))):
        return body
    return [replace(node, body=tuple(body))]


def _needs(node: Node) -> Iterator[str]:
    """What a part of the backward pass reads: of the inside of a fuse that it undoes nothing, which is on the chip."""
    if isinstance(node, Statement):
        yield from (str(t.name) for t in node.operands)
        return
    inside = _inside(node)
    again = (part for part in node.again if not part.lies) if isinstance(node, Fuse) else ()
    for part in (*node.body, *again):
        yield from (name for name in _needs(part) if name not in inside)


def _inside(node: Node) -> set[str]:
    """What is made again on the chip by the backward pass of a fuse itself: what lies elsewhere is not made."""
    return {statement.name for statement in node.again if not statement.lies} if isinstance(node, Fuse) else set()


def _reading(node: Node, names: dict[str, str]) -> Node:
    """A part of the backward pass that reads what is made again."""
    if isinstance(node, Statement):
        renamed = (replace(t, name=names.get(str(t.name), t.name)) for t in node.operands)
        return replace(node, operands=tuple(renamed))
    inside = _inside(node)
    outer = {old: new for old, new in names.items() if old not in inside}
    body = tuple(_reading(part, outer) for part in node.body)
    if isinstance(node, Fuse):
        again = tuple(_reading(part, outer) for part in node.again)
        return replace(node, body=body, again=again)  # type: ignore[arg-type]
    return replace(node, body=body)


def made_on_chip(fuse: Fuse, inner: list[Node]) -> tuple[Statement, ...]:
    """What the backward pass of a fuse makes once more on the chip: what it reads of what was made there, and what that
    is made of."""
    needed = {str(t.name) for statement in statements_in(tuple(inner)) for t in statement.operands}
    result: list[Statement] = []
    for statement in reversed(tuple(statements_in(fuse.body))):
        if statement.name in needed:
            result.append(statement)
            needed |= {str(t.name) for t in statement.operands}
    return tuple(reversed(result))


def collected_in(nodes: tuple[Node, ...]) -> Iterator[str]:
    """What all of these turns have made together, by name: not what turns within them have."""
    for node in nodes:
        if isinstance(node, Statement):
            yield from (node.name,) if node.collects else ()
        elif not isinstance(node, Repeat):
            yield from collected_in(node.body)
