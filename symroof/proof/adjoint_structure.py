"""The structure of a backward pass, checked without numbers: what each op undoes or makes again, its layout, its operands."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from symroof.errors import CheckError
from symroof.proof.array_ops import DIFFERENCE, FUNCTION, PRODUCT, SLICE, SUM, Array, Op
from symroof.proof.kernel_traffic import Script

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
