"""The structure of a backward pass, checked without numbers: what each act undoes or makes again, its layout, its operands."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from symroof.errors import CheckError
from symroof.proof.acts import DIFFERENCE, FUNCTION, PRODUCT, SLICE, SUM, Act, Array
from symroof.proof.script import Script

DECLARED = ("input", "weight", "cache")


def require_read_off(script: Script) -> None:
    """What the acts that go back are, whatever numbers they come to."""
    undone: dict[str, list[Act]] = {}
    for act in script.acts:
        if not act.back:
            continue
        made = script.array[act.result]
        if act.again:
            _require_recompute(script, act)
        elif act.undoes:
            undone.setdefault(act.undoes, []).append(act)
            _require_undoes(script, act, script.act[act.undoes])
        else:
            maker = script.act.get(act.of)
            here = _mirror(maker.fuse) if maker is not None and _mirrors(act, maker) else None
            renames = act.exchanges and act.fuse is None  # a gradient under another name, for what it is carried as
            if renames and (not _alike(script.array[act.operands[0]], made) or len(act.operands) > 1):
                raise CheckError(f"{act.result} is no other name of {act.operands[0]}")
            if not renames and (act.kind != SUM or act.fuse != here):
                raise CheckError(f"{act.result} is not added up where {act.of} was made")
            if act.each != (0 if renames else max(len(act.operands) - 1, 1)) or act.row:
                raise CheckError(f"{act.result} takes other operations than a sum")
        if act.of and not _alike(made, script.array[act.of]):
            raise CheckError(f"{act.result} is not laid out as {act.of}, of which it is a gradient")
        added = act.kind == SUM and len(act.operands) > 1 and not act.again
        if added and any(not _alike(script.array[n], made) for n in act.operands):
            raise CheckError(f"{act.result} adds up gradients of several types")
    for name, parts in undone.items():
        _require_counted_once(script.act[name], parts)
    for name, gradient in script.gradients:
        if script.array[name].still:
            raise CheckError(f"{name} is not trained, and has the gradient {gradient}")
        if not _alike(script.array[gradient], script.array[name]):
            raise CheckError(f"{gradient} is not laid out as {name}, of which it is the gradient")
    used = {name for act in script.acts if act.back for name in act.operands} | {
        gradient for _, gradient in script.gradients
    }
    used |= {n for act in script.acts if act.back for turn in act.turns for n in turn.leaves}
    used |= {name for act in script.acts for one in script.made_again(act) for name in one.operands}
    if idle := [act.result for act in script.acts if act.back and act.result not in used]:
        raise CheckError(f"{idle[0]} is no gradient that is asked for, and leads to none")


def _require_undoes(script: Script, act: Act, undone: Act) -> None:
    """An act undoes another in its turns and its fuse, and takes a gradient of what that makes."""
    if undone.back or (act.of and act.of != undone.operands[act.place]):
        raise CheckError(f"{act.result} undoes nothing of the program")
    if not _mirrors(act, undone):
        raise CheckError(f"{act.result} is not made in the turns of {undone.result}")
    if act.fuse != _mirror(undone.fuse):
        raise CheckError(f"{act.result} is not made in the fuse of {undone.result}")
    made, own = script.array[undone.result], script.array[act.result]
    if not act.of:
        if own.dtype != made.dtype or own.split - made.split:
            raise CheckError(f"{act.result} is not laid out as {undone.result}, of which it is a part")
        return
    beside = act.operands[:-1] if undone.laid == SLICE else ()  # the gradient of other slices, which it is written to
    if any(not _alike(script.array[name], own) for name in beside):
        raise CheckError(f"{act.result} is written beside what is no gradient of {act.of}")
    taken = [script.array[name] for name in act.operands[len(beside) :] if _is_gradient(script, name)]
    if [(array.dtype, {*array.labels}) for array in taken] != [(made.dtype, {*made.labels})]:
        raise CheckError(f"{act.result} takes no gradient of {undone.result}")


def _require_recompute(script: Script, act: Act) -> None:
    """An act makes again what another made, of the same things or of what is made again of them, in its turns."""
    first = script.act[act.again]
    remade = {other.again: other.result for other in script.acts if other.again}
    taken = tuple(zip(act.operands, first.operands, strict=True))
    same = ("kind", "each", "row", "over", "function", "gathers", "reshapes", "laid", "gains", "masked")
    if (
        first.back
        or not _alike(script.array[act.result], script.array[first.result])
        or any(name not in (old, remade.get(old)) for name, old in taken)
        or any(getattr(act, part) != getattr(first, part) for part in same)
        or not _mirrors(act, first)
        or (not act.lies and (act.fuse is None) != (first.fuse is None))
    ):
        raise CheckError(f"{act.result} does not make {act.again} again")


def _is_gradient(script: Script, name: str) -> bool:
    maker = script.act.get(name)
    return script.array[name].role not in DECLARED if maker is None else maker.back and bool(maker.of)


def _require_counted_once(undone: Act, parts: Sequence[Act]) -> None:
    """The derivative of a function takes what it takes for its first operand, those of the others come with it; the gradient of
    a gain is a product added up. Everything else is counted as what it is."""
    first, base = True, len(undone.operands) - undone.gains
    for act in parts:
        owed = Fraction(max(len(act.operands) - 1, 1)) if act.kind in (SUM, DIFFERENCE, PRODUCT) else Fraction(0)
        row = Fraction(0)
        if act.function == "convert" and undone.kind != FUNCTION:
            owed = Fraction(1)
        elif act.kind == FUNCTION and act.place >= base:
            owed = Fraction(2)
        elif act.kind == FUNCTION and first:
            owed, row, first = undone.back_each, undone.back_row, False
        if (act.each, act.row) != (owed, row):
            raise CheckError(
                f"{act.result} takes other operations than the derivative of {undone.function or undone.kind}"
            )


def _mirror(fuse: int | None) -> int | None:
    return None if fuse is None else ~fuse


def _mirrors(act: Act, undone: Act) -> bool:
    """Whether the turns of an act are those of another, gone through from the last to the first."""
    return [(turn.place, turn.times) for turn in act.turns] == [(~turn.place, turn.times) for turn in undone.turns]


def _alike(one: Array, other: Array) -> bool:
    return (one.dtype, one.bits, {*one.labels}, one.split) == (other.dtype, other.bits, {*other.labels}, other.split)
