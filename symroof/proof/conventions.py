"""Of plans that end alike the one that is meant: what pages call a convention.

The links of one exchange follow one another, the fast one inside: a slow one carries a message that the others cut. What the
axes of one link need of one tensor they do together. What goes back is shared out as what it undoes. Contributions to one gradient that lack the same are added before they
are reduced. That a tensor is gathered once in a pass is no convention of these: nothing is moved to where it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby, pairwise

from symroof.errors import CheckError
from symroof.proof.acts import SUM
from symroof.proof.collectives import RETURNED, MeshAxis, fast_first
from symroof.proof.moves import Move, Part, Plan
from symroof.proof.script import Script

# The exchanges of one tensor in their order, and whether each goes over its slow link first.
SLOW_FIRST: Mapping[str, bool] = {
    **{"reduce-scatter": False, "all-reduce": False, "all-to-all": True, "all-gather": True},
    **dict.fromkeys(("send", "send back", "send far"), False),  # what is handed on is done
}


def require_conventions(
    script: Script, mesh: Sequence[MeshAxis], plan: Sequence[Plan], parts: Mapping[str, Part], *, each: bool = False
) -> None:
    """Raises :class:`~symroof.errors.CheckError` where a plan that comes out is another than the one that is meant."""
    for planned in plan:
        for _, moves in groupby(planned.moves, lambda move: (move.array, move.of == "operand")):
            _require_order(tuple(moves), tuple(mesh))
    _require_transposed(script, plan)
    _require_returned(script)
    _require_reduced_once(script, parts, each)


def _require_order(moves: Sequence[Move], mesh: tuple[MeshAxis, ...]) -> None:
    """The exchanges of one tensor for one act follow one another as they should."""
    links, order = {axis.name: axis.link for axis in mesh}, [*SLOW_FIRST]
    fast = fast_first(mesh)
    for one, other in pairwise(moves):
        if one.collective == other.collective:
            first, second = (fast.index(links[move.axes[0]]) for move in (one, other))
            if first == second or (first > second) is not SLOW_FIRST[one.collective]:
                raise CheckError(f"the {one.collective} of {one.array} goes over its links in another order")
        elif order.index(one.collective) > order.index(other.collective):
            raise CheckError(f"{one.array} goes {other.collective} before it goes {one.collective}")
    for move in moves:
        if len({links[axis] for axis in move.axes}) != 1:
            raise CheckError(f"one {move.collective} of {move.array} goes over several links")


def _require_transposed(script: Script, plan: Sequence[Plan]) -> None:
    """The work of what undoes an act is cut as that is, as far as it has those labels; and along axes that cut nothing of it as its
    own result is."""
    work = {planned.result: planned.work for planned in plan}
    for act in script.acts:
        if not act.undoes or not act.shares_out or script.act[act.undoes].reshapes:
            continue
        labels = {label for each in script.labels((*act.operands, act.result)) for label in each}
        ahead = work[act.undoes]
        axes = {axis for _, axis in ahead}
        own = frozenset(pair for pair in script.array[act.result].split if pair[1] not in axes)
        if work[act.result] != frozenset(pair for pair in ahead if pair[0] in labels) | own:
            raise CheckError(f"{act.result} is not shared out as {act.undoes} is, which it undoes")


def _require_returned(script: Script) -> None:
    """The gradient of what was sent goes back the way that it came."""
    for act in script.acts:
        if act.sends is None or act.back:
            continue
        back = [one for one in script.acts if one.undoes == act.result]
        way, axis = act.sends
        if any(one.sends != (RETURNED[way], axis) for one in back):
            raise CheckError(f"the gradient of {act.result} does not go back the way that it came")
        if not back and any(one.back and one.of in (act.result, act.operands[0]) for one in script.acts):
            raise CheckError(f"nothing sends the gradient of {act.result} back")


def _require_reduced_once(script: Script, parts: Mapping[str, Part], each: bool) -> None:
    """Contributions to one gradient that lack the same are added before they are reduced; so those of microbatches, and of the
    turns of each that share a weight, but where they are reduced ``each`` time."""
    uses = [name for act in script.acts for name in act.operands]
    batches = [act for act in script.acts if script.adds_batches(act) and not each]
    late = {act.result for act in batches} | {act.operands[1] for act in batches if len(act.operands) == 2}
    for act in script.acts:
        if not act.back or not act.adds or len(act.operands) < 2:
            continue
        if each and any(moved.once and moved.of == "sums" for moved in parts[act.result].moved):
            raise CheckError(f"what {act.result} adds up is reduced after the last microbatch alone")
        before = script.array[act.operands[0]].role == "before"  # what turns before gave waits as what this one gives
        added = act.operands[1 if before and act.result in late else 0 :]
        made = [script.act.get(name) for name in added]
        if any(
            one is None
            or uses.count(one.result) > 1
            or one.turns[: len(act.turns)] != act.turns
            or (one.turns != act.turns and one.kind != SUM)
            or not one.shares_out
            for one in made
        ):
            continue
        lacks = {
            tuple((move.collective, move.axes, move.before) for move in parts[name].moved if move.of == "sums")
            for name in added
        }
        if len(lacks) == 1 and lacks != {()}:
            raise CheckError(f"what {act.result} adds up is reduced one by one")
