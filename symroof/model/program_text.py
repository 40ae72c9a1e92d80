"""Programs as text, which read back gives the same program; and the same statements on tensors of other element types."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from symroof.errors import ModelError
from symroof.model.dtype import Dtype, Tensor
from symroof.model.einsum import Einsum
from symroof.model.nodes import ONE_CHIP
from symroof.model.program import Block, Fuse, Node, Program, Recompute, Repeat, Statement
from symroof.model.spelling import spelled_fact, spelled_size
from symroof.model.trees import TREE

INDENT = "  "


def spelled(program: Program) -> str:
    """The statements, one on a line, with the declarations before them."""
    body = _body(program.body, "")
    return "\n".join((*_mesh(program), *_declared(program), *_derived(program), *body, *_returned(program)))


def spelled_backward(program: Program) -> tuple[str, ...]:
    """The gradients that come from outside, and the statements of the backward pass."""
    if program.backward is None:
        return ()
    tensors = (f"# {key}: {', '.join(names)}" for key in ("keep", "regather") if (names := getattr(program, key)))
    said = (*tensors, *(("# reduce: each",) if program.each else ()))
    said += ("# schedule: gpipe",) if program.stages and program.schedule == "gpipe" else ()
    given = (f"input {tensor.name}: {tensor}" for tensor in program.backward.incoming)
    return (*said, *given, *_body(program.backward.body, ""))


def _declared(program: Program) -> Iterator[str]:
    width = max(len(d.head) for d in program.declared)
    for declared in program.declared:
        yield f"{declared.head:{width}} {declared.tensor.name}: {declared.tensor}"


def _mesh(program: Program) -> Iterator[str]:
    """The axes, those of one link and one wiring on a line."""
    lines: dict[tuple[str | None, str | None], list[str]] = {}
    for axis in program.mesh:
        chips = "" if axis.chips is None else f" = {axis.chips}"
        lines.setdefault((axis.link, axis.wiring), []).append(f"{axis.name}{chips}")
    for (link, wiring), axes in lines.items():
        if wiring == TREE:
            yield from (f"mesh {axis} on {link}" for axis in axes)
        elif link is None and wiring is not None:
            yield from (f"mesh {axis} {wiring}" for axis in axes)
        else:
            yield f"mesh {', '.join(axes)}" + (f" on {link}" if link else "") + (f" {wiring}" if wiring else "")


def _derived(program: Program) -> Iterator[str]:
    for name, formula in program.where.items():
        yield f"where {name} = {spelled_size(program.choices.get(name, formula))}"
    yield from (f"where {spelled_fact(fact)}" for fact in program.facts)


def _returned(program: Program) -> Iterator[str]:
    if program.returned:
        yield f"output {', '.join(program.returned)}"


def _body(body: tuple[Node, ...], margin: str) -> Iterator[str]:
    for node in body:
        if isinstance(node, Fuse | Block | Repeat | Recompute):
            yield margin + _head(node)
            yield from _body(node.body, margin + INDENT)
            yield margin + "}"
        else:
            yield margin + str(node)


def _head(node: Fuse | Block | Repeat | Recompute) -> str:
    match node:
        case Recompute():
            return "recompute {"
        case Fuse():
            return "fuse {"
        case Block(name=name):
            return f"block {name} {{"
        case Repeat(accumulates=True):
            return f"accumulate {spelled_size(node.times)} {{"
        case Repeat():
            over = f" over {node.over}" if node.over else ""
            carried = ", ".join(f"{enters} = {leaves}" for enters, leaves in node.carried)
            word = "scan" if node.scans else "repeat"
            return f"{word} {spelled_size(node.times)}{over} as {carried} {{"


def retyped(program: Program, types: Mapping[str, Dtype]) -> Program:
    """The program with the tensors of these names in other types, wherever they are made and used.

    >>> from symroof.model.dtype import dtype
    >>> from symroof.reading.programs import read_program
    >>> mlp = read_program("input x: bf16[N, D]; weight W: bf16[D, F]; h = x * W -> bf16[N, F]; y = relu(h)")
    >>> print(retyped(mlp, {"W": dtype("int8")}))
    input  x: bf16[N, D]
    weight W: int8[D, F]
    h = x * W -> bf16[N, F]
    y = relu(h)
    """

    types = {**types}
    carried = (pair for line in program.forward for repeat in line.repeats for pair in repeat.carried)
    for enters, leaves in dict.fromkeys(carried):  # what leaves a turn enters the next
        if {enters, leaves} & types.keys():
            types[leaves] = types.get(enters, program.arrays[enters].dtype)
    for statement in (line.statement for line in program.forward if line.statement.lies):
        kinds = list(dict.fromkeys(types.get(str(t.name), t.dtype) for t in statement.operands))
        if len(kinds) > 1:  # what lies where others do has their type
            shown = " and ".join(kind.name for kind in kinds)
            problem = f"{statement.name} would be of {shown}: {str(statement).partition(' = ')[2]}"
            raise ModelError(problem, expected="one type of what is joined", hint="convert one of them before")
        types[statement.name] = kinds[0]
    return rewritten(program, lambda old: replace(old, dtype=types.get(str(old.name), old.dtype)))


def rewritten(
    program: Program,
    tensor: Callable[[Tensor], Tensor],
    axes: Callable[[tuple[str, ...]], tuple[str, ...]] = lambda over: over,
) -> Program:
    """The program with every tensor changed, wherever it is made and used, and with other ``axes`` for the turns of
    stages."""

    def node(old: Node) -> Node:
        if isinstance(old, Statement):
            there = old.sends is None or not old.sends[1] or axes(old.sends[1:])
            sends = old.sends if old.sends is None or there else (old.sends[0], ONE_CHIP)
            return replace(old, operands=tuple(map(tensor, old.operands)), result=tensor(old.result), sends=sends)
        inner = replace(old, body=tuple(map(node, old.body)))
        if isinstance(inner, Repeat) and inner.over:
            return replace(inner, over=next(iter(axes((inner.over,))), ""))
        return inner

    declared = (replace(one, tensor=tensor(one.tensor)) for one in program.declared)
    changed = replace(program, declared=tuple(declared), body=tuple(map(node, program.body)))
    if program.product is None:
        return changed
    made = (*(one.tensor for one in changed.declared), changed.lines[0].statement.result)
    *operands, output = (replace(new, name=old.name) for new, old in zip(made, program.product.tensors, strict=True))
    return replace(changed, line=Einsum(tuple(operands), output))


def numbers(program: Program) -> tuple[str, ...]:
    """The tensors that hold numbers to compute with: all of a product, else all but whole numbers that are wider than a
    quantised one, which are indices.

    >>> from symroof.reading.programs import read_program
    >>> numbers(read_program("input t: int32[N]; input x: bf16[N, D]; weight W: int8[D, F]; h = x * W -> bf16[N, F]; u = t + t"))
    ('x', 'W', 'h')
    """
    if program.product is not None:
        return tuple(program.arrays)
    return tuple(
        name for name, t in program.arrays.items() if not (t.dtype.name.startswith("int") and t.dtype.bits > 8)
    )
