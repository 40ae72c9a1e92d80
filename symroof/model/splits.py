"""How the work of a product is split over the axes of a mesh: who multiplies what.

Work and tensors are split by pairs (dimension, axis): (D, X) says that a chip deals with the part of D that has its own
place on X. For each axis the work is divided by the first rule that applies:

1. every operand that has a contracted dimension carries the axis on it: each chip multiplies its part, and the partial
   sums are added, by a reduce-scatter if the output carries the axis on a dimension of its own, else by an all-reduce;
2. every operand that has a kept dimension carries the axis on it, no other operand carries the axis, and the output
   carries it on another dimension: computed as the operands lie, then the output goes all-to-all;
3. the output carries the axis: each chip computes its part of the output;
4. else the chips repeat the work.

An operand gives up what the work is not split by: it is all-gathered, or goes all-to-all if it takes another split over
the same axis; what it holds and the chip does not need is left out, free. An operand that carries an axis on a kept
dimension which the output holds whole is refused: nobody wrote who gathers what.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from math import lcm, prod
from warnings import warn

from sympy import Expr, Integer

from symroof.errors import ModelError
from symroof.formula import Name
from symroof.model.collectives import Mesh
from symroof.model.program import Program
from symroof.model.program_tree import Line, Statement, label_size
from symroof.model.tensor_types import Dim, Tensor
from symroof.symbols import fraction, rational, symbol

Split = frozenset[tuple[str, str]]


def open_axes(mesh: Mesh) -> tuple[str, ...]:
    """The axes without a number of chips: sizes like those of an operation."""
    return tuple(name for name, axis in mesh.items() if axis.chips is None)


def require_axes(tensors: Iterable[Tensor], mesh: Mesh) -> None:
    """Every axis divides what it splits, and splits no tensor twice."""
    for tensor in tensors:
        axes = [axis for dim in tensor.dims for axis in dim.axes]
        for dim in tensor.dims:
            for axis in dim.axes:
                if axes.count(axis) > 1:
                    expected = "an axis at most once in a tensor"
                    raise ModelError(f"{tensor} is split over {axis} twice", expected=expected)
            chips = prod(mesh[axis].chips or 1 for axis in dim.axes if axis in mesh)
            if dim.fixed and int(dim.label) % chips:
                raise ModelError(f"{dim.label} is not a multiple of {' '.join(dim.axes)} = {chips}")


def splits(program: Program) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The sizes that some tensor splits, with the axes; and how many turns there are that stages share out."""
    dims = ((dim.label, dim.axes) for t in program.written.values() for dim in t.dims if dim.axes)
    staged = ((r.times, r.over) for line in program.forward for r in line.repeats if r.over)
    turns = ((times.name, (axis,)) for times, axis in staged if isinstance(times, Name))
    return tuple(dict.fromkeys((*dims, *turns)))


def stride(operation: Program, mesh: Mesh, label: str, sizes: Mapping[str, Fraction] | None = None) -> int:
    """What a size comes in multiples of: all chips that some tensor splits it over, or a dimension that it defines, as far as
    their number is known or put in.

    >>> from symroof.reading.programs import read_program
    >>> program = read_program("mesh X=8 on ICI; input x: bf16[B, D]; where F = 4*D; weight W: bf16[D, F_X]; y = x * W -> bf16[B, F_X]")
    >>> stride(program, {axis.name: axis for axis in program.mesh}, "D")
    2
    """
    chips = {axis: mesh[axis].chips or int((sizes or {}).get(axis, 1)) for axis in mesh}
    variable, point = symbol(label), {symbol(n): rational(v) for n, v in (sizes or {}).items() if n != label}
    parts = ((operation.resolved(label_size(size)).subs(point) / variable, axes) for size, axes in splits(operation))
    return lcm(*((prod(chips[axis] for axis in axes) / fraction(n)).numerator for n, axes in parts if n.is_Rational))


def padded_sizes(operation: Program, mesh: Mesh, sizes: Mapping[str, Fraction]) -> dict[str, Fraction]:
    """Sizes, or arrays of them, each the next multiple of what the chips share it out over; a warning names those that
    were none. Axes stay as they are, and every size where the chips of one are an array.

    >>> from symroof.reading.programs import read_program
    >>> program = read_program("mesh X=8 on ICI; input x: bf16[B, D]; where F = 4*D; weight W: bf16[D, F_X]; y = x * W -> bf16[B, F_X]")
    >>> padded_sizes(program, {axis.name: axis for axis in program.mesh}, {"D": Fraction(4)})
    {'D': Fraction(4, 1)}
    """
    result, single = dict(sizes), {name: size for name, size in sizes.items() if not hasattr(size, "shape")}
    for name in result if all(name in single for name in sizes if name in mesh) else ():
        multiple = 1 if name in mesh else stride(operation, mesh, name, single)
        result[name] = size = sizes[name] + -sizes[name] % multiple if multiple > 1 else sizes[name]
        if name in single and size != single[name]:
            warn(f"{name} = {single[name]} is padded to {size}, a multiple of {multiple}", stacklevel=2)
            single[name] = size
    return result


def shares_of(operation: Program, mesh: Mesh, axis: str, sizes: Mapping[str, Fraction]) -> list[tuple[str, Fraction]]:
    """What the chips of an axis share out, as far as that is put in: each size that it splits, and what the other axes leave
    of it."""
    chips = {other: mesh[other].chips or sizes.get(other, Fraction(1)) for other in mesh if other != axis}
    split = ((label, axes, size_at(operation, label, sizes)) for label, axes in splits(operation) if axis in axes)
    parts = ((label, size / prod(chips.get(other, 1) for other in axes)) for label, axes, size in split if size)
    return sorted(set(parts))


def size_at(operation: Program, label: str, sizes: Mapping[str, Fraction]) -> Fraction | None:
    """A dimension where sizes are put in; None where that leaves it open."""
    value = operation.resolved(label_size(label)).subs({symbol(n): rational(v) for n, v in sizes.items()})
    return fraction(value) if value.is_Rational else None


def split_dimension(operands: Sequence[Tensor], output: Tensor, axis: str) -> tuple[str, str] | None:
    """The dimension that the axis splits the work by, with the axis; None where all chips of the axis do the same. An operand
    that carries the axis on a dimension which the output holds whole is refused."""
    carried = sorted({label for tensor in operands for label, name in split_of(tensor) if name == axis})
    output_label = next((label for label, name in split_of(output) if name == axis), None)
    together = [
        label
        for label in carried
        if all((label, axis) in split_of(tensor) for tensor in operands if label in tensor.labels)
    ]
    partial = [label for label in together if label not in output.labels]
    if partial:
        return partial[0], axis
    if output_label is not None:
        return (together[0] if carried == together and len(together) == 1 else output_label), axis
    remaining = [label for label in carried if label in output.labels]
    if remaining:
        raise _ambiguous(operands, output, remaining[0], axis)
    return None


def _ambiguous(operands: Sequence[Tensor], output: Tensor, label: str, axis: str) -> ModelError:
    """Nobody wrote who gathers what: the operand first, or the result afterwards."""
    named = [str((tensor.name if output.name else None) or tensor) for tensor in operands]
    place = next(i for i, tensor in enumerate(operands) if (label, axis) in split_of(tensor))
    whole, apart = without_axis(operands[place], axis), replace(output, dims=_also_split(output, label, axis))
    if not output.name:
        written, span = f"{' * '.join(named)} -> {output}", sum(len(name) + 3 for name in named[:place])
        first = " * ".join((*named[:place], str(whole), *named[place + 1 :]))
        ways = f"{first} -> {output}, gathered first, or {' * '.join(named)} -> {apart}, gathered afterwards"
    else:
        written = f"{output.name} = {' * '.join(named)} -> {output}"
        span = len(f"{output.name} = ") + sum(len(name) + 3 for name in named[:place])
        operand, result = f"{named[place]}_{axis.lower()}", f"{output.name}_{axis.lower()}"
        first = " * ".join((*named[:place], operand, *named[place + 1 :]))
        ways = (
            f"{operand} = {named[place]} -> {whole}; {output.name} = {first} -> {output}, the operand gathered first, or "
            f"{result} = {' * '.join(named)} -> {apart}; {output.name} = {result} -> {output}, the result afterwards"
        )
    return ModelError(
        f"{operands[place]} is split over {axis} in {label}, and {output} holds {label} whole",
        source=written,
        span=(span, span + len(named[place])),
        expected=ways,
    )


def without_axis(tensor: Tensor, axis: str) -> Tensor:
    """The tensor, not split over an axis any more."""
    return replace(tensor, dims=tuple(replace(d, axes=tuple(a for a in d.axes if a != axis)) for d in tensor.dims))


def _also_split(tensor: Tensor, label: str, axis: str) -> tuple[Dim, ...]:
    return tuple(replace(d, axes=(*d.axes, axis)) if d.label == label else d for d in tensor.dims)


def split_of(tensor: Tensor) -> Split:
    """The dimensions of a tensor with the axes that split them."""
    return frozenset((dim.label, axis) for dim in tensor.dims for axis in dim.axes)


def needed_split(program: Program, statement: Statement, tensor: Tensor, divided: Split) -> Split:
    """What of a statement's work an operand has to be split by: of a view under the dimensions that the operand has there."""
    if not statement.views:
        return shared_split(tensor, divided)
    labels = {label: before for before, label in block_dimensions(program, statement)}
    return frozenset((labels[label], axis) for label, axis in divided if label in labels)


def view_split(program: Program, name: str, part: str, split: Split, line: Line) -> Split:
    """A split of a tensor, under the dimensions of what is read of it: what it is a view of, or was joined of. What cuts no
    dimension there stands under none."""
    statements = {line.statement.name: line.statement for line in program.lines}
    for above, below in pairwise(program.memory.path(name, part, line.repeats)):
        if statements[above].views:
            names = {label: before for before, label in block_dimensions(program, statements[above])}
            split = frozenset((names.get(label, ""), axis) for label, axis in split)
        else:
            labels = program.arrays[below].labels
            split = frozenset((label if label in labels else "", axis) for label, axis in split)
    return split


def block_dimensions(program: Program, view: Statement) -> tuple[tuple[str, str], ...]:
    """The dimensions of what a view is of, and of the view, that axes cut into the same blocks: as many rows lie before both, and
    so the n-th part of one is the n-th part of the other. Of D = K*H these are D and K.

    >>> from symroof.reading.programs import read_program
    >>> program = read_program("input x: bf16[B, D]; where D = K*H; v = x -> bf16[B, K, H]")
    >>> block_dimensions(program, program.lines[0].statement)
    (('B', 'B'), ('D', 'K'))
    """
    (tensor,), result = view.operands, view.result
    labels = {before: label for label, before in _rows_before(program, tensor)}
    return tuple((labels[before], label) for label, before in _rows_before(program, result) if before in labels)


def _rows_before(program: Program, tensor: Tensor) -> Iterator[tuple[str, Expr]]:
    """The dimensions of a tensor, each with the number of places that those before it have together."""
    rows: Expr = Integer(1)
    for dim in tensor.dims:
        yield dim.label, rows.expand()
        rows = rows * program.resolved(dim.size)


def shared_split(tensor: Tensor, divided: Split) -> Split:
    """What of the work's division concerns a tensor."""
    return frozenset(pair for pair in divided if pair[0] in tensor.labels)


def axes_in(split: Iterable[tuple[str, str]]) -> set[str]:
    return {axis for _, axis in split}
