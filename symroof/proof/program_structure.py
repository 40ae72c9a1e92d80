"""The structure of a backward pass, checked without numbers: what each op undoes or makes again, its layout, its operands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import reduce
from itertools import product
from math import prod
from operator import sub

from symroof.errors import CheckError
from symroof.formula import Name, number
from symroof.proof.array_ops import COLLECT, CONCAT, DIFFERENCE, FUNCTION, PLACE, PRODUCT, SLICE, SUM, Array, Op
from symroof.proof.kernel_traffic import Script
from symroof.proof.polynomials import Rat
from symroof.proof.quotients import Exact

# The dimension of an operand and the one of its view that the same axes cut, by the name of the view.
Seen = Mapping[str, tuple[tuple[str, str], ...]]
# As many chips as are played; the sizes that are put in are multiples of them.
CHIPS, MULTIPLES = (2, 3), (2, 1, 3)
# The widest stride of a window.
STRIDES = 64
# More elements than these are not gone through.
MOST = 200_000


def require_same_blocks(script: Script, seen: Seen, exact: Exact) -> None:
    """Raises :class:`~symroof.errors.CheckError` where a view lies in other blocks than what it is of."""
    if "same_blocks" in vars(script):
        return
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
    vars(script)["same_blocks"] = True


def require_room(script: Script, exact: Exact) -> None:
    """Raises :class:`~symroof.errors.CheckError` where slices along one dimension are not known to be different places of it, or
    where what is joined is not as long as its parts."""
    if "room" in vars(script):
        return
    slices: dict[tuple[str, str], list[str]] = {}
    for op in script.ops:
        if op.function == "windows" and not op.back:
            before, after = script.array[op.operands[0]].labels, script.array[op.result].labels
            _require_places(before, after, exact)
            if op.gathers is not (
                {*after} - {*before} != set() and len({*after} - {*before}) == len({*before} - {*after})
            ):
                raise CheckError(f"{op.result} reads other places than its windows have")
        labels = script.array[op.result].labels
        if op.laid in (PLACE, COLLECT):
            _require_turns(op, script, exact)
        if op.back or op.laid not in (SLICE, CONCAT):
            continue
        if op.laid == SLICE:
            before = script.array[op.operands[0]].labels
            (whole,) = (x for x in before if x not in labels)
            slices.setdefault((op.operands[0], whole), []).append(_beyond(labels, before))
            continue
        parts = [_beyond(script.array[name].labels, labels) for name in op.operands]
        (long,) = (label for label in labels if all(label not in script.array[name].labels for name in op.operands))
        if not _left(long, parts, exact).is_zero():
            raise CheckError(f"{op.result} is not as long as what it is joined of")
    for (name, whole), parts in slices.items():
        rest = _left(whole, parts, exact)
        if not rest.is_zero() and not exact.is_positive(rest, strict=False):
            raise CheckError(f"nothing says that {name} has room for its slices along {whole}")
    vars(script)["room"] = True


def _require_turns(op: Op, script: Script, exact: Exact) -> None:
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


def _require_places(before: tuple[str, ...], after: tuple[str, ...], exact: Exact) -> None:
    """Windows are at every so many places: with sizes put in there are as many as there are starts, or as fit
    within."""
    new, lost = [x for x in after if x not in before], [x for x in before if x not in after]
    taps = new[len(lost) :]
    for place, whole in zip(new, lost, strict=False):
        earlier = after[: after.index(taps[0])][-len(taps) :] if taps else ()
        width = taps[earlier.index(place)] if place in earlier else "1"
        labels = (whole, place, width)
        values = [exact.rational(number(int(x)) if x.isdigit() else Name(x)) for x in labels]
        names = sorted({name for value in values for name in value.names})
        result: set[int] | None = None
        for step in (5, 7, 11):
            point = {name: Fraction(step + 2 * i) for i, name in enumerate(names)}
            n, starts, wide = (value.above.at(point) / value.below.at(point) for value in values)
            fits = {s for s in range(1, STRIDES + 1) if s * starts == n or (wide >= 1 and (n - wide) / s + 1 == starts)}
            result = fits if result is None else result & fits
        if not result:
            raise CheckError(f"there are no {place} windows over {whole}")


def _beyond(labels: tuple[str, ...], others: tuple[str, ...]) -> str:
    """The label that others lack; where there is none it is one place."""
    result = [label for label in labels if label not in others]
    if len(result) > 1:
        raise CheckError(f"{', '.join(result)} are no part of one dimension")
    return result[0] if result else "1"


def _left(whole: str, parts: Sequence[str], exact: Exact) -> Rat:
    """What parts leave of a dimension."""
    lengths = (exact.rational(number(int(x)) if x.isdigit() else Name(x)) for x in (whole, *parts))
    return reduce(sub, lengths)


def _sizes(shapes: Sequence[tuple[str, ...]], pair: tuple[str, str], chips: int, exact: Exact) -> Mapping[str, int]:
    """Small sizes that fit one another, in which the dimensions that are cut have equal blocks."""
    labels = dict.fromkeys(label for shape in shapes for label in shape)
    formulas = {x: exact.rational(number(int(x)) if x.isdigit() else Name(x)) for x in labels}
    halved = {name for x in pair for name in formulas[x].names}
    free = sorted({name for value in formulas.values() for name in value.names})
    for values in product(*((chips * n if name in halved else n for n in MULTIPLES) for name in free)):
        point = {name: Fraction(n) for name, n in zip(free, values, strict=True)}
        sizes = {x: value.above.at(point) / value.below.at(point) for x, value in formulas.items()}
        whole = all(n.denominator == 1 and n >= 1 for n in sizes.values())
        if whole and not any(sizes[x] % chips for x in pair) and prod(sizes[x] for x in shapes[0]) <= MOST:
            return {x: int(n) for x, n in sizes.items()}
    raise CheckError(f"no small sizes fit {', '.join(labels)}")


def _owners(labels: tuple[str, ...], label: str, sizes: Mapping[str, int], chips: int) -> Iterator[int]:
    """For each element, in the order in which they lie in memory, the chip that has it."""
    place = labels.index(label)
    for index in product(*(range(sizes[name]) for name in labels)):
        yield index[place] * chips // sizes[label]


DECLARED = ("input", "weight", "cache")


def require_structure(script: Script) -> None:
    """Raises CheckError where a backward op has another type, layout, operand or number of operations than it should."""
    undone: dict[str, list[Op]] = {}
    for op in script.ops:
        if not op.back:
            continue
        array = script.array[op.result]
        if op.again:
            _require_recompute(script, op)
        elif op.undoes:
            undone.setdefault(op.undoes, []).append(op)
            _require_undoes(script, op, script.op[op.undoes])
        else:
            maker = script.op.get(op.of)
            fuse = _mirror(maker.fuse) if maker is not None and _mirrors(op, maker) else None
            renames = op.exchanges and op.fuse is None  # a gradient under another name, for what it is carried as
            if renames and (not _alike(script.array[op.operands[0]], array) or len(op.operands) > 1):
                raise CheckError(f"{op.result} is no other name of {op.operands[0]}")
            if not renames and (op.kind != SUM or op.fuse != fuse):
                raise CheckError(f"{op.result} is not added up where {op.of} was made")
            if op.each != (0 if renames else max(len(op.operands) - 1, 1)) or op.row:
                raise CheckError(f"{op.result} takes other operations than a sum")
        if op.of and not _alike(array, script.array[op.of]):
            raise CheckError(f"{op.result} is not laid out as {op.of}, of which it is a gradient")
        added = op.kind == SUM and len(op.operands) > 1 and not op.again
        if added and any(not _alike(script.array[n], array) for n in op.operands):
            raise CheckError(f"{op.result} adds up gradients of several types")
    for name, parts in undone.items():
        _require_counted_once(script.op[name], parts)
    for name, gradient in script.gradients:
        if script.array[name].untrained:
            raise CheckError(f"{name} is not trained, and has the gradient {gradient}")
        if not _alike(script.array[gradient], script.array[name]):
            raise CheckError(f"{gradient} is not laid out as {name}, of which it is the gradient")
    used = {name for op in script.ops if op.back for name in op.operands} | {
        gradient for _, gradient in script.gradients
    }
    used |= {n for op in script.ops if op.back for turn in op.turns for n in turn.leaves}
    used |= {name for op in script.ops for op_again in script.made_again(op) for name in op_again.operands}
    if unused := [op.result for op in script.ops if op.back and op.result not in used]:
        raise CheckError(f"{unused[0]} is no gradient that is asked for, and leads to none")


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
