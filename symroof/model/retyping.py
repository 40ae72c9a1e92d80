"""A program with other element types: the same statements, on tensors of other widths."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from symroof.model.dtype import Dtype, Tensor
from symroof.model.einsum import Einsum
from symroof.model.program import Node, Program, Statement


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

    return rewritten(program, lambda old: replace(old, dtype=types.get(str(old.name), old.dtype)))


def rewritten(program: Program, tensor: Callable[[Tensor], Tensor]) -> Program:
    """The program with every tensor changed, wherever it is made and used."""

    def node(old: Node) -> Node:
        if isinstance(old, Statement):
            return replace(old, operands=tuple(map(tensor, old.operands)), result=tensor(old.result))
        return replace(old, body=tuple(map(node, old.body)))

    declared = (replace(one, tensor=tensor(one.tensor)) for one in program.declared)
    changed = replace(program, declared=tuple(declared), body=tuple(map(node, program.body)))
    if program.line is None:
        return changed
    made = (*(one.tensor for one in changed.declared), changed.lines[0].statement.result)
    *operands, output = (replace(new, name=old.name) for new, old in zip(made, program.line.tensors, strict=True))
    return replace(changed, line=Einsum(tuple(operands), output))


def numbers(program: Program) -> tuple[str, ...]:
    """The tensors that hold numbers to compute with: all but whole numbers that are wider than a quantised one, which
    are indices.

    >>> from symroof.reading.programs import read_program
    >>> numbers(read_program("input t: int32[N]; input x: bf16[N, D]; weight W: int8[D, F]; h = x * W -> bf16[N, F]; u = t + t"))
    ('x', 'W', 'h')
    """
    return tuple(
        name for name, t in program.arrays.items() if not (t.dtype.name.startswith("int") and t.dtype.bits > 8)
    )
