"""Transformations of programs: into training, into other element types, over other axes of a mesh."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from symroof.errors import ModelError
from symroof.model.backward import backward_of
from symroof.model.einsum import Einsum
from symroof.model.program import Program
from symroof.model.program_tree import ONE_CHIP, PRODUCT, Declared, Node, Repeat, Statement
from symroof.model.tensor_types import Dtype, Tensor

LETTERS = "abcdefgh"


def with_backward(operation: Program, training: bool = True) -> Program:
    """The operation with its backward pass, or without one; a product becomes the program of that one statement. What has no
    gradient is refused here.

    >>> from symroof.reading.operations import read_operation
    >>> program = with_backward(read_operation("bf16[B, D] * bf16[D, F] -> bf16[B, F]"))
    >>> [line.statement.name for line in program.lines]
    ['y', 'da', 'db']
    """
    if operation.given is not None and training:
        problem = "an operation that is given by its costs has no backward pass"
        raise ModelError(problem, expected="a program or a product for training")
    if operation.product is not None and training:
        operation = _program(operation.product)
    return replace(operation, backward=backward_of(operation) if training else None)


def _program(product: Einsum) -> Program:
    """A product as a program, its tensors under their names or under letters."""
    named = [tensor.name or LETTERS[i] for i, tensor in enumerate(product.inputs)]
    inputs = tuple(replace(tensor, name=name) for tensor, name in zip(product.inputs, named, strict=True))
    result = replace(product.output, name=product.output.name or "y")
    declared = tuple(Declared("input", tensor) for tensor in dict.fromkeys(inputs))
    if len({*named, result.name}) <= len(declared):
        raise ModelError("two tensors of the product have one name", hint="give each tensor a name of its own")
    return Program(declared, (Statement(PRODUCT, inputs, result),))


def split_over(program: Program, axes: Callable[[tuple[str, ...]], tuple[str, ...]]) -> Program:
    """The same with other axes for those that its dimensions are split over."""
    if program.line is not None:
        return replace(Program.of(program.line.split_over(axes), program.mesh), latency=program.latency)
    return with_tensors(program, lambda t: replace(t, dims=tuple(replace(d, axes=axes(d.axes)) for d in t.dims)), axes)


def with_stored_types(program: Program, types: Mapping[int, Dtype]) -> Program:
    """The program with other element types: tensors by their place, the declared ones first."""
    if program.line is not None:
        return replace(Program.of(program.line.stored(types), program.mesh), latency=program.latency)
    return with_types(program, {name: types[place] for place, name in enumerate(program.arrays) if place in types})


def with_types(program: Program, types: Mapping[str, Dtype]) -> Program:
    """The program with the tensors of these names in other types, wherever they are made and used.

    >>> from symroof.model.tensor_types import dtype
    >>> from symroof.reading.programs import read_program
    >>> mlp = read_program("input x: bf16[N, D]; weight W: bf16[D, F]; h = x * W -> bf16[N, F]; y = relu(h)")
    >>> print(with_types(mlp, {"W": dtype("int8")}))
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
    return with_tensors(program, lambda old: replace(old, dtype=types.get(str(old.name), old.dtype)))


def with_tensors(
    program: Program,
    tensor: Callable[[Tensor], Tensor],
    axes: Callable[[tuple[str, ...]], tuple[str, ...]] = lambda over: over,
) -> Program:
    """The program with every tensor changed, wherever it is made and used, and with other ``axes`` for the turns of
    stages."""

    def node(old: Node) -> Node:
        if isinstance(old, Statement):
            exists = old.sends is None or not old.sends[1] or axes(old.sends[1:])
            sends = old.sends if old.sends is None or exists else (old.sends[0], ONE_CHIP)
            return replace(old, operands=tuple(map(tensor, old.operands)), result=tensor(old.result), sends=sends)
        inner = replace(old, body=tuple(map(node, old.body)))
        if isinstance(inner, Repeat) and inner.over:
            return replace(inner, over=next(iter(axes((inner.over,))), ""))
        return inner

    declared = (replace(entry, tensor=tensor(entry.tensor)) for entry in program.declared)
    changed = replace(program, declared=tuple(declared), body=tuple(map(node, program.body)))
    changed = with_backward(changed, program.training)
    if program.product is None:
        return changed
    tensors = (*(entry.tensor for entry in changed.declared), changed.lines[0].statement.result)
    *operands, output = (replace(new, name=old.name) for new, old in zip(tensors, program.product.tensors, strict=True))
    return replace(changed, line=Einsum(tuple(operands), output))


def numeric_tensors(program: Program) -> tuple[str, ...]:
    """The tensors that hold numbers to compute with: all of a product, else all but whole numbers that are wider than a
    quantised one, which are indices.

    >>> from symroof.reading.programs import read_program
    >>> numeric_tensors(read_program("input t: int32[N]; input x: bf16[N, D]; weight W: int8[D, F]; h = x * W -> bf16[N, F]; u = t + t"))
    ('x', 'W', 'h')
    """
    if program.product is not None:
        return tuple(program.arrays)
    return tuple(
        name for name, t in program.arrays.items() if not (t.dtype.name.startswith("int") and t.dtype.bits > 8)
    )
