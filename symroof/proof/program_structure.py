"""The structure of a program, checked without running it: slices fit into their array, a concatenation is as long as its parts,
a view lies in the same blocks of each chip as its operand, and each op of a backward pass undoes another one or makes it again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import reduce
from itertools import chain, product
from math import prod
from operator import sub

from symroof.errors import CheckError
from symroof.formula import once
from symroof.proof.array_ops import COLLECT, CONCAT, DIFFERENCE, FUNCTION, PLACE, PRODUCT, SLICE, SUM, Array, Op
from symroof.proof.kernel_traffic import Script
from symroof.proof.polynomials import Rat
from symroof.proof.quotients import Quotients

# The dimension of an operand and the one of its view that the same axes cut, by the name of the view.
Seen = Mapping[str, tuple[tuple[str, str], ...]]
# As many chips as are simulated; the sizes that are put in are multiples of them.
CHIPS, MULTIPLES = (2, 3), (2, 1, 3)
# The widest stride of a window.
STRIDES = 64
# More elements than these are not gone through.
MOST = 200_000


@once
def require_same_blocks(script: Script, seen: Seen, exact: Quotients) -> None:
    """Raises :class:`~symroof.errors.CheckError` where a view lies in other blocks than what it is of."""
    for op in script.ops:
        split_labels = {label for label, _ in script.array[op.result].split}
        for pair in seen.get(op.result, ()) if op.views else ():
            if pair[1] not in split_labels:
                continue
            shapes = [script.array[name].labels for name in (op.operands[0], op.result)]
            fixed = [int(label) for label in pair if label.isdigit()]
            fitting = [chips for chips in CHIPS if not any(n % chips for n in fixed)]
            if not fitting:
                raise CheckError(f"neither {' nor '.join(map(str, CHIPS))} chips share out {' and '.join(pair)}")
            for chips in fitting:
                sizes = _sizes(shapes, pair, chips, exact)
                owners = (_owners(labels, label, sizes, chips) for labels, label in zip(shapes, pair, strict=True))
                if [*next(owners)] != [*next(owners)]:
                    raise CheckError(f"{op.result} lies in other blocks than {op.operands[0]}")


@once
def require_room(script: Script, exact: Quotients) -> None:
    """Raises :class:`~symroof.errors.CheckError` where slices along one dimension are not known to be different places of it, or
    where what is joined is not as long as its parts."""
    for op in script.ops:
        if op.function == "windows" and not op.back:
            _require_windows(op, script, exact)
        if op.laid in (PLACE, COLLECT):
            _require_turns(op, script, exact)
        if op.laid == CONCAT and not op.back:
            _require_length(op, script, exact)
    _require_slices(script, exact)


def _require_slices(script: Script, exact: Quotients) -> None:
    """The slices of an array along one of its dimensions are together no longer than that."""
    slices: dict[tuple[str, str], list[str]] = {}
    for op in (op for op in script.ops if op.laid == SLICE and not op.back):
        before, after = script.array[op.operands[0]].labels, script.array[op.result].labels
        (whole,) = (label for label in before if label not in after)
        slices.setdefault((op.operands[0], whole), []).append(_beyond(after, before))
    for (name, whole), parts in slices.items():
        rest = _left(whole, parts, exact)
        if not rest.is_zero() and not exact.is_positive(rest, strict=False):
            raise CheckError(f"nothing says that {name} has room for its slices along {whole}")


def _require_length(op: Op, script: Script, exact: Quotients) -> None:
    """A concatenation is as long as its parts."""
    labels, shapes = script.array[op.result].labels, script.labels(op.operands)
    (whole,) = (label for label in labels if all(label not in shape for shape in shapes))
    if not _left(whole, [_beyond(shape, labels) for shape in shapes], exact).is_zero():
        raise CheckError(f"{op.result} is not as long as what it is joined of")


def _require_windows(op: Op, script: Script, exact: Quotients) -> None:
    """Windows have as many places as are read of them."""
    before, after = script.array[op.operands[0]].labels, script.array[op.result].labels
    _require_places(before, after, exact)
    new, lost = {*after} - {*before}, {*before} - {*after}
    if op.gathers is not (bool(new) and len(new) == len(lost)):
        raise CheckError(f"{op.result} reads other places than its windows have")


def _require_turns(op: Op, script: Script, exact: Quotients) -> None:
    """Each turn has a place of its own along one dimension that the other array lacks, and no place is left."""
    shapes = [script.array[name].labels for name in (op.operands[0], op.result)]
    whole, part = shapes if op.laid == PLACE else reversed(shapes)
    stacked = [label for label in whole if label not in part]
    if not op.turns or op.turns[-1].batch or len(stacked) != 1 or {*part} - {*whole}:
        raise CheckError(f"{op.result} is of no turns along a dimension")
    if op.laid == PLACE and not op.back and op.turns[-1] in script.own_turns(op.operands[0]):
        raise CheckError(f"{op.operands[0]} is another array in each of the turns that have places of it")
    if not (exact.rational(op.turns[-1].times) - _left(stacked[0], (), exact)).is_zero():
        raise CheckError(f"there are not as many turns as places in {op.result}")


def _require_places(before: tuple[str, ...], after: tuple[str, ...], exact: Quotients) -> None:
    """Windows are at every so many places: there are as many as there are starts, or as fit within."""
    new, lost = [x for x in after if x not in before], [x for x in before if x not in after]
    taps = new[len(lost) :]
    for place, whole in zip(new, lost, strict=False):
        earlier = after[: after.index(taps[0])][-len(taps) :] if taps else ()
        width = taps[earlier.index(place)] if place in earlier else "1"
        if not _strides([exact.size(label) for label in (whole, place, width)]):
            raise CheckError(f"there are no {place} windows over {whole}")


def _strides(sizes: Sequence[Rat]) -> set[int]:
    """The strides at which there are so many windows over a whole, of such a width, whatever numbers are put in."""
    names, result = sorted({name for size in sizes for name in size.names}), {*range(1, STRIDES + 1)}
    for step in (5, 7, 11):
        point = {name: Fraction(step + 2 * i) for i, name in enumerate(names)}
        whole, starts, width = (size.at(point) for size in sizes)
        inside = {s for s in result if width >= 1 and (whole - width) / s + 1 == starts}
        result = inside | {s for s in result if s * starts == whole}
    return result


def _beyond(labels: tuple[str, ...], others: tuple[str, ...]) -> str:
    """The label that others lack; where there is none it is one place."""
    result = [label for label in labels if label not in others]
    if len(result) > 1:
        raise CheckError(f"{', '.join(result)} are no part of one dimension")
    return result[0] if result else "1"


def _left(whole: str, parts: Sequence[str], exact: Quotients) -> Rat:
    """What parts leave of a dimension."""
    return reduce(sub, map(exact.size, (whole, *parts)))


def _sizes(shapes: Sequence[tuple[str, ...]], pair: tuple[str, str], chips: int, exact: Quotients) -> Mapping[str, int]:
    """Small sizes that fit one another, in which the dimensions that are cut have equal blocks."""
    formulas = {label: exact.size(label) for label in chain(*shapes)}
    halved = set().union(*(formulas[label].names for label in pair))
    free = sorted(set().union(*(value.names for value in formulas.values())))
    for values in product(*((chips * n if name in halved else n for n in MULTIPLES) for name in free)):
        point = {name: Fraction(n) for name, n in zip(free, values, strict=True)}
        numbers = {label: value.at(point) for label, value in formulas.items()}
        whole = all(n.denominator == 1 and n >= 1 for n in numbers.values())
        if whole and not any(numbers[x] % chips for x in pair) and prod(numbers[x] for x in shapes[0]) <= MOST:
            return {label: int(n) for label, n in numbers.items()}
    raise CheckError(f"no small sizes fit {', '.join(formulas)}")


def _owners(labels: tuple[str, ...], label: str, sizes: Mapping[str, int], chips: int) -> Iterator[int]:
    """For each element, in the order in which they lie in memory, the chip that has it."""
    place = labels.index(label)
    for index in product(*(range(sizes[name]) for name in labels)):
        yield index[place] * chips // sizes[label]


DECLARED = ("input", "weight", "cache")


def require_structure(script: Script) -> None:
    """Raises CheckError where a backward op has another type, layout, operand or number of operations than it should."""
    undone: dict[str, list[Op]] = {}
    backward = [op for op in script.ops if op.back]
    for op in backward:
        if op.again:
            _require_recompute(script, op)
        elif op.undoes:
            undone.setdefault(op.undoes, []).append(op)
            _require_undoes(script, op, script.op[op.undoes])
        else:
            _require_sum(script, op)
        _require_layout(script, op)
    for name, parts in undone.items():
        _require_counted_once(script.op[name], parts)
    _require_gradients(script)
    read = {name for op in backward for name in (*op.operands, *(n for turn in op.turns for n in turn.leaves))}
    read |= {name for op in script.ops for remade in script.made_again(op) for name in remade.operands}
    read |= {gradient for _, gradient in script.gradients}
    if unused := [op.result for op in backward if op.result not in read]:
        raise CheckError(f"{unused[0]} is no gradient that is asked for, and leads to none")


def _require_sum(script: Script, op: Op) -> None:
    """An op that undoes none adds up gradients where their array was made, or carries one under another name."""
    if op.exchanges and op.fuse is None:
        if len(op.operands) > 1 or not _alike(script.array[op.operands[0]], script.array[op.result]):
            raise CheckError(f"{op.result} is no other name of {op.operands[0]}")
        operations = 0
    else:
        maker = script.op.get(op.of)
        fuse = _mirror(maker.fuse) if maker is not None and _mirrors(op, maker) else None
        if op.kind != SUM or op.fuse != fuse:
            raise CheckError(f"{op.result} is not added up where {op.of} was made")
        operations = max(len(op.operands) - 1, 1)
    if op.each != operations or op.row:
        raise CheckError(f"{op.result} takes other operations than a sum")


def _require_layout(script: Script, op: Op) -> None:
    """A gradient is laid out as what it is the gradient of; so is all that is added up to one."""
    array = script.array[op.result]
    if op.of and not _alike(array, script.array[op.of]):
        raise CheckError(f"{op.result} is not laid out as {op.of}, of which it is a gradient")
    added = op.operands if op.kind == SUM and len(op.operands) > 1 and not op.again else ()
    if any(not _alike(script.array[name], array) for name in added):
        raise CheckError(f"{op.result} adds up gradients of several types")


def _require_gradients(script: Script) -> None:
    """The gradients that a program gives are those of what is trained, laid out as it."""
    for name, gradient in script.gradients:
        if script.array[name].untrained:
            raise CheckError(f"{name} is not trained, and has the gradient {gradient}")
        if not _alike(script.array[gradient], script.array[name]):
            raise CheckError(f"{gradient} is not laid out as {name}, of which it is the gradient")


def _require_undoes(script: Script, op: Op, undone: Op) -> None:
    """An op undoes another in its turns and its fuse, and takes a gradient of what that makes."""
    if undone.back or (op.of and op.of != undone.operands[op.place]):
        raise CheckError(f"{op.result} undoes nothing of the program")
    if not _mirrors(op, undone):
        raise CheckError(f"{op.result} is not made in the turns of {undone.result}")
    if op.fuse != _mirror(undone.fuse):
        raise CheckError(f"{op.result} is not made in the fuse of {undone.result}")
    result, gradient = script.array[undone.result], script.array[op.result]
    if not op.of:
        if gradient.dtype != result.dtype or gradient.split - result.split:
            raise CheckError(f"{op.result} is not laid out as {undone.result}, of which it is a part")
        return
    slices = op.operands[:-1] if undone.laid == SLICE else ()  # the gradient of other slices, which it is written to
    if any(not _alike(script.array[name], gradient) for name in slices):
        raise CheckError(f"{op.result} is written beside what is no gradient of {op.of}")
    gradients = [script.array[name] for name in op.operands[len(slices) :] if _is_gradient(script, name)]
    if [(array.dtype, {*array.labels}) for array in gradients] != [(result.dtype, {*result.labels})]:
        raise CheckError(f"{op.result} takes no gradient of {undone.result}")


def _require_recompute(script: Script, op: Op) -> None:
    """An op makes again what another made, of the same things or of what is made again of them, in its turns."""
    first = script.op[op.again]
    remade = {other.again: other.result for other in script.ops if other.again}
    pairs = tuple(zip(op.operands, first.operands, strict=True))
    fields = ("kind", "each", "row", "over", "function", "gathers", "reshapes", "laid", "gains", "masked")
    if (
        first.back
        or not _alike(script.array[op.result], script.array[first.result])
        or any(name not in (old, remade.get(old)) for name, old in pairs)
        or any(getattr(op, part) != getattr(first, part) for part in fields)
        or not _mirrors(op, first)
        or (not op.lies and (op.fuse is None) != (first.fuse is None))
    ):
        raise CheckError(f"{op.result} does not make {op.again} again")


def _is_gradient(script: Script, name: str) -> bool:
    maker = script.op.get(name)
    return script.array[name].role not in DECLARED if maker is None else maker.back and bool(maker.of)


def _require_counted_once(undone: Op, parts: Sequence[Op]) -> None:
    """The derivative of a function takes what it takes for its first operand, those of the others come with it; the gradient of
    a gain is a product added up. Everything else is counted as what it is."""
    first, base = True, len(undone.operands) - undone.gains
    for op in parts:
        each = Fraction(max(len(op.operands) - 1, 1)) if op.kind in (SUM, DIFFERENCE, PRODUCT) else Fraction(0)
        row = Fraction(0)
        if op.function == "convert" and undone.kind != FUNCTION:
            each = Fraction(1)
        elif op.kind == FUNCTION and op.place >= base:
            each = Fraction(2)
        elif op.kind == FUNCTION and first:
            each, row, first = undone.back_each, undone.back_row, False
        if (op.each, op.row) != (each, row):
            raise CheckError(
                f"{op.result} takes other operations than the derivative of {undone.function or undone.kind}"
            )


def _mirror(fuse: int | None) -> int | None:
    return None if fuse is None else ~fuse


def _mirrors(op: Op, undone: Op) -> bool:
    """Whether the turns of an op are those of another, gone through from the last to the first."""
    return [(turn.place, turn.times) for turn in op.turns] == [(~turn.place, turn.times) for turn in undone.turns]


def _alike(a: Array, b: Array) -> bool:
    return (a.dtype, a.bits, {*a.labels}, a.split) == (b.dtype, b.bits, {*b.labels}, b.split)
