"""Views, slices and concatenations, checked element by element at small sizes: a view lies in the same blocks of each chip as its
operand, slices fit into their array, and a concatenation is as long as its parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import reduce
from itertools import product
from math import prod
from operator import sub

from symroof.errors import CheckError
from symroof.formula import Name, number
from symroof.proof.array_ops import COLLECT, CONCAT, PLACE, SLICE, Op
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
