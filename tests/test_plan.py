"""The second engine carries out plans: those of all programs come out, and none comes out that was changed in one place."""

from dataclasses import replace

import pytest
from test_simulated_programs import PROGRAMS, on

from symroof.derivation.mesh_sections import script_on_mesh
from symroof.derivation.quantity_definitions import script_of
from symroof.errors import CheckError
from symroof.model.placement import _Chips, placements
from symroof.model.splits import split_of

KINDS = ("all-gather", "all-to-all", "reduce-scatter", "all-reduce")


def without(things, place):
    return (*things[:place], *things[place + 1 :])


def changes(meshed):
    """Every plan that differs in one exchange, or in what the work of one op is cut by."""
    axes = [axis.name for axis in meshed.mesh]
    for i, planned in enumerate(meshed.plan):
        arrays = [meshed.script.array[name] for name in (*meshed.script.ops[i].operands, planned.result)]
        labels, own = {x for array in arrays for x in array.labels}, planned.work
        works = [own - {pair} for pair in own]
        works += [(own - {pair}) | {(x, pair[1])} for pair in own for x in labels - {pair[0]}]
        works += [own | {(x, axis)} for axis in axes if axis not in {a for _, a in own} for x in labels]
        others = [replace(planned, work=work) for work in works]
        for j, move in enumerate(planned.moves):
            rest = without(planned.moves, j)
            twice = (*planned.moves[: j + 1], *planned.moves[j:])
            others += [replace(planned, moves=rest), replace(planned, moves=twice)]
            other = [replace(move, collective=kind) for kind in KINDS if kind != move.collective]
            other += [replace(move, axes=without(move.axes, k)) for k in range(len(move.axes))]
            other += [replace(move, axes=(*move.axes, axis)) for axis in axes if axis not in move.axes]
            arrays = {*meshed.script.op[planned.result].operands, planned.result}
            other += [replace(move, array=name) for name in arrays - {move.array}]
            others += [replace(planned, moves=(*planned.moves[:j], one, *planned.moves[j + 1 :])) for one in other]
        for other in others:
            yield planned, other, replace(meshed, plan=(*meshed.plan[:i], other, *meshed.plan[i + 1 :]))


def passed(meshed):
    """How many plans were changed, and those that come out."""
    found, count = [], 0
    for before, after, changed in changes(meshed):
        count += 1
        try:
            parts = changed.parts
        except CheckError:
            continue
        if parts != meshed.parts:
            found.append((before, after))
    return count, found


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_no_changed_plan_comes_out(name, training):
    program = on(PROGRAMS[name], "X, Y on ICI" if "Y" in PROGRAMS[name] else "X on ICI", training)
    count, found = passed(script_on_mesh(program, script_of(program)))
    assert count > 3
    assert found == []


def test_what_goes_back_is_shared_out_as_what_it_undoes(monkeypatch):
    """A plan that multiplies the gradients where their own splits lie comes out, and is no transpose."""
    text = "input x: bf16[B_X, D]; weight W: bf16[D, F]; y = x * W -> bf16[B, F_X]"
    program = on(text, "X on ICI", True)
    moved = [[(m.collective, str(m.tensor.name)) for m in place.moves] for place in placements(program)]
    assert moved == [[("all-to-all", "y")], [("all-to-all", "dy")], [("all-reduce", "dW")]]
    honest = _Chips._division

    def own(chips, line):
        return split_of(line.statement.result) if line.backward else honest(chips, line)

    monkeypatch.setattr(_Chips, "_division", own)
    with pytest.raises(CheckError, match="is not shared out as y is"):
        _ = script_on_mesh(program, script_of(program)).parts
