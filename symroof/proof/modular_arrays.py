"""Arrays whose dimensions have two places each, of numbers modulo a prime: products, sums, rows and what looks them up, in loops."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import product
from math import prod

from symroof.errors import CheckError
from symroof.proof.array_ops import DIFFERENCE, PRODUCT
from symroof.proof.kernel_traffic import Script
from symroof.proof.row_functions import DEFINITIONS, PRIME, Dual, Row, drawn

Labels = tuple[str, ...]
Index = tuple[int, ...]
Numbers = list[int]
# A loop nest of more dimensions is gone through several times, each time with so many of them that have two places.
BROAD = 8


def wide_parts(script: Script) -> Iterator[frozenset[str]]:
    """The dimensions that have two places, of all or of some at a time: each of them once."""
    labels = list(dict.fromkeys(label for array in script.arrays for label in array.labels))
    nests = ({x for n in (*op.operands, op.result) for x in script.array[n].labels} for op in script.ops)
    step = len(labels) if max(map(len, nests)) <= BROAD else BROAD
    yield from (frozenset(labels[i : i + step]) for i in range(0, len(labels), max(step, 1)))


def narrowed(script: Script, wide: frozenset[str]) -> Script:
    """The script with one place in every other dimension."""
    if all(label in wide for array in script.arrays for label in array.labels):
        return script
    arrays = (replace(a, labels=tuple(x if x in wide else "1" for x in a.labels)) for a in script.arrays)
    ops = (op if op.over is None or op.over in wide else replace(op, over="1") for op in script.ops)
    return replace(script, arrays=tuple(arrays), ops=tuple(ops))


def in_rows(function: str, over: str, labels: Labels, *arrays: tuple[Numbers, Numbers]) -> tuple[Numbers, Numbers]:
    """A function of rows over a label, applied to each row of arrays that are laid out alike."""
    if function not in DEFINITIONS:
        raise CheckError(f"nothing says what {function} does to a row")
    rest = tuple(label for label in labels if label != over)
    values, changes = ([0] * len(arrays[0][0]) for _ in range(2))
    for places in _pattern((labels,), rest):
        rows = (Row([[Dual(array[i], change[i]) for (i,) in places]], []) for array, change in arrays)
        for (i,), element in zip(places, DEFINITIONS[function](*rows).elements, strict=True):
            values[i], changes[i] = element.value, element.change
    return values, changes


def looked_up(table: Labels, indices: Labels, target: Labels, rows: Numbers) -> list[int]:
    """For each element of a target the element of a table that it is, the labels that the target lacks told by an index."""
    result = []
    for (at,), place in zip(_aligned_places(indices, target), _places(target), strict=True):
        places = dict(zip(target, place, strict=True))
        result.append(_flat(table, {label: places.get(label, rows[at] % _length(label)) for label in table}))
    return result


@lru_cache(maxsize=64)
def matrix(function: str, rows: int, columns: int) -> list[Numbers]:
    """What puts elements into other dimensions: any linear function of them."""
    return [[drawn(function, row, column) for column in range(columns)] for row in range(rows)]


def times(matrix: list[Numbers], vector: Numbers) -> Numbers:
    return [dot(row, vector) % PRIME for row in matrix]


def dot(a: Numbers, b: Numbers) -> int:
    return sum(x * y for x, y in zip(a, b, strict=True))


def times_each(a: Numbers, b: Numbers) -> Numbers:
    return [x * y % PRIME for x, y in zip(a, b, strict=True)]


def added(*arrays: Numbers) -> Numbers:
    return [sum(values) % PRIME for values in zip(*arrays, strict=True)]


def linear(kind: str, arrays: Sequence[Numbers], labels: tuple[Labels, ...], target: Labels) -> Numbers:
    """A product, a sum or a difference; of a single operand a sum is over what the target lacks."""
    if kind == PRODUCT:
        pattern = _pattern(labels, target)
        if len(arrays) == 2:
            a, b = arrays
            return [sum(a[i] * b[j] for i, j in places) % PRIME for places in pattern]
        return [sum(prod(x[i] for x, i in zip(arrays, at, strict=True)) for at in places) % PRIME for places in pattern]
    first, *others = (aligned(array, shape, target) for array, shape in zip(arrays, labels, strict=True))
    if kind == DIFFERENCE:
        return (
            [-value % PRIME for value in first]
            if not others
            else [(x - y) % PRIME for x, y in zip(first, *others, strict=True)]
        )
    return added(first, *others)


def aligned(array: Numbers, labels: Labels, target: Labels) -> Numbers:
    """Summed over what the target lacks, the same for what it has beside it."""
    return (
        array
        if labels == target
        else [sum(array[i] for (i,) in places) % PRIME for places in _pattern((labels,), target)]
    )


def _length(label: str) -> int:
    return 1 if label == "1" else 2


def size(labels: Labels) -> int:
    return prod(map(_length, labels))


def _places(labels: Labels) -> Iterator[Index]:
    return product(*(range(_length(label)) for label in labels))


def _flat(labels: Labels, place: Mapping[str, int]) -> int:
    result = 0
    for label in labels:
        result = result * _length(label) + place[label]
    return result


def _aligned_places(labels: Labels, target: Labels) -> list[Index]:
    return [at for places in _pattern((labels,), target) for at in places]


@lru_cache(maxsize=1024)
def _pattern(operands: tuple[Labels, ...], target: Labels) -> list[list[Index]]:
    """For each element of a target the elements of the operands that are multiplied for it, one tuple for each product."""
    summed = tuple(dict.fromkeys(label for labels in operands for label in labels if label not in target))
    result = []
    for outer in _places(target):
        fixed = dict(zip(target, outer, strict=True))
        points = ({**fixed, **dict(zip(summed, inner, strict=True))} for inner in _places(summed))
        result.append([tuple(_flat(labels, place) for labels in operands) for place in points])
    return result
