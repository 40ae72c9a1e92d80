"""Bars: what is in a breakdown's pieces and table, and what a change does to the running time, against exact fractions."""

import random
import re
from dataclasses import replace
from fractions import Fraction

import pytest

import symroof as sr
from symroof.errors import CheckError, ModelError
from symroof.exploration.measuring import require_measured

pytest.importorskip("matplotlib")
from symroof.rendering.figures.bars import PIECES
from symroof.rendering.figures.drawings import draw

pytestmark = pytest.mark.part(1)

PEAK, HBM = Fraction(197 * 10**12), Fraction(82 * 10**10)  # those of a TPU v5e


def chain(count):
    """So many products one after the other, each of its own width."""
    lines = ["input x0: bf16[B, D0]"]
    for i in range(count):
        lines += [f"weight W{i}: bf16[D{i}, D{i + 1}]", f"x{i + 1} = x{i} * W{i} -> bf16[B, D{i + 1}]"]
    return "\n".join(sorted(lines, key=lambda line: line.split()[0] not in ("input", "weight")))


@pytest.mark.parametrize("count", [2, 7, 8, 9, 30])
def test_a_bar_has_few_pieces_and_all_of_its_time(count):
    draw_ = random.Random(count)
    at = {"B": 64, **{f"D{i}": draw_.choice((512, 1024, 4096, 8192)) for i in range(count + 1)}}
    found = sr.plot(chain(count), on="tpu-v5e", at=at, kind="breakdown").drawing
    canvas = draw(found)
    head, rows, colours = canvas._table
    assert len(rows) == min(count, PIECES + 1)
    assert len(set(colours)) == len(rows), "a colour for each piece"
    assert any("rest" in row[0] for row in rows) == (count > PIECES + 1)
    for j, time in enumerate(head[1:], 1):
        shares = [float(re.search(r"\(([\d.]+) %\)", row[j])[1]) for row in rows]
        assert sum(shares) == pytest.approx(100, abs=0.5), time
    named = {row[0] for row in rows}
    seconds = dict(next(bar for bar in found.bars if bar.time == "T_HBM").parts)
    most = sorted(seconds, key=lambda name: -seconds[name])[:5]
    assert named >= set(most) or count <= PIECES + 1, "those that take longest have a piece"


@pytest.mark.parametrize("seed", range(12))
def test_a_change_does_what_fractions_say(seed):
    draw_ = random.Random(f"changes {seed}")
    at = {name: draw_.choice((1, 7, 64, 240, 512, 4096, 8192)) for name in "BDF"}
    (point,) = sr.plot("matmul", on="tpu-v5e", at=at, kind="sensitivity").drawing.points

    def time(peak=PEAK, hbm=HBM, **sizes):
        b, d, f = (sizes.get(name, at[name]) for name in "BDF")
        return max(2 * b * d * f / peak, 2 * (b * d + d * f + b * f) / hbm)

    raised = {"peak.bf16": {"peak": PEAK * Fraction(11, 10)}, "HBM": {"hbm": HBM * Fraction(11, 10)}}
    assert point.seconds["T_lower"] == time()
    assert {change.what for change in point.changes} == {*raised, *"BDF"}
    for change in point.changes:
        after = time(**raised.get(change.what, {change.what: 2 * at.get(change.what, 0)}))
        assert change.effects[0].ratio == after / time()
    order = [abs(change.effects[0].ratio - 1) for change in point.changes]
    assert order[:2] == sorted(order[:2], reverse=True)
    assert order[2:] == sorted(order[2:], reverse=True)


def test_at_a_tie_the_elasticity_has_two_sides():
    """Both times are as long: more of either figure is of no use, less of it costs in proportion."""
    given = {"peak": "8 FLOPs/s", "HBM": "1 bytes/s"}
    at = {"B": 24, "D": 24, "F": 24}  # 1/24 + 1/24 + 1/24 = 1/8
    (point,) = sr.plot("matmul", on="tpu-v5e", given=given, at=at, kind="sensitivity").drawing.points
    sides = {
        change.what: (change.effects[0].below, change.effects[0].above) for change in point.changes if change.figure
    }
    assert set(sides.values()) == {(-1, 0)}
    of_b = next(change for change in point.changes if change.what == "B").effects[0]
    assert (of_b.below, of_b.above) == (Fraction(2, 3), 1), (
        "below the memory leads, with 2BD + 2BF + 2DF; above the arithmetic"
    )


def test_a_program_and_a_mesh():
    at = {"B": 256, "D": 4096, "F": 16384}
    (point,) = sr.plot("mlp", on="tpu-v5e", at=at, kind="sensitivity").drawing.points
    derivation = sr.derive("mlp", on="tpu-v5e")
    for change in point.changes:
        for effect in change.effects:
            own = derivation.function(effect.time)
            if change.figure:
                continue
            ratio = own(**{**at, change.what: 2 * at[change.what]}) / own(**at)
            assert float(effect.ratio) == pytest.approx(ratio, rel=1e-12)
    mesh = "mesh X on ICI; input x: bf16[B_X, D]; weight W: bf16[D_X, F]; y = x * W -> bf16[B_X, F]"
    sizes = {"X": 64, "B": 65536, "D": 8192, "F": 8192}
    (one,) = sr.plot(mesh, on="tpu-v5p", at=sizes, kind="sensitivity").drawing.points
    assert {change.what for change in one.changes} == {"X", "B", "D", "F", "HBM", "ICI", "peak.bf16"}


def test_a_size_that_cannot_be_doubled_is_named():
    mesh = "mesh X on NVLink; input x: bf16[B_X, D]; weight W: bf16[D_X, F]; y = x * W -> bf16[B_X, F]"
    found = sr.plot(mesh, on="h100", at="X=8,B=64,D=F=8192", kind="sensitivity").drawing
    assert found.left_out == ("X",), "NVLink joins eight"
    assert "not doubled: X" in draw(found).aside
    changed = {change.what for change in found.points[0].changes}
    assert changed | {*found.left_out} >= {"X", "B", "D", "F"}
    assert not changed & {*found.left_out}


def test_another_number_is_refused():
    shown = sr.plot("matmul", on="tpu-v5e", at="B=64,D=F=8192", kind="sensitivity")
    (point,) = shown.drawing.points
    change, effect = point.changes[0], point.changes[0].effects[0]
    for wrong in (
        replace(effect, ratio=effect.ratio * 2),
        replace(effect, below=effect.below + 1),
        replace(effect, above=effect.above - 1),
    ):
        changes = (replace(change, effects=(wrong,)), *point.changes[1:])
        with pytest.raises(CheckError):
            require_measured(replace(shown.drawing, points=(replace(point, changes=changes),)))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"at": "B=64,D=F=8192"}, "peak and a bandwidth"),
        ({"on": "tpu-v5e", "at": "B=64"}, "have no size"),
        ({"on": "tpu-v5e", "over": "B=1..8", "at": "D=F=8"}, "drawn over no size"),
    ],
)
def test_what_is_missing_is_said(options, says):
    with pytest.raises(ModelError, match=says):
        sr.plot("matmul", kind="sensitivity", **options)


@pytest.mark.thorough
def test_the_second_axis_over_chips_is_the_part_of_perfect_scaling():
    """Read back from the drawing: throughput of n chips over n times that of one."""
    mesh = "mesh X on ICI; input x: bf16[B_X, D]; weight W: bf16[D_X, F]; y = x * W -> bf16[B_X, F]"
    found = sr.plot(mesh, on="tpu-v5p", over="X=1..128", at="B=65536,D=F=8192")
    canvas = draw(found.drawing)
    canvas.drawn("svg")
    throughput = sr.derive(mesh, on="tpu-v5p").function("throughput")
    (right,) = canvas.axes.child_axes
    ends = right.get_ylim()
    dotted = next(line for line in canvas.axes.lines if line.get_linewidth() == 1)
    low, high = canvas.axes.get_ylim()
    for x, y in zip(dotted.get_xdata(), dotted.get_ydata(), strict=True):
        percent = ends[0] + (y - low) / (high - low) * (ends[1] - ends[0])
        if x in (4, 8, 16, 32, 64, 128):
            one = throughput(X=4, B=65536, D=8192, F=8192) / 4  # without a wait for the link, as one chip
            each = throughput(X=x, B=65536, D=8192, F=8192) / x
            assert percent == pytest.approx(100 * each / one, rel=1e-6)


def test_other_peaks_are_those_of_the_chip():
    shown = sr.plot("matmul", on="h100", at="B=64,D=F=8192", peaks="fp8, vector")
    assert [(name, float(known.value)) for name, known in shown.drawing.others] == [("fp8", 2e15), ("vector", 6.7e13)]
    said = {row["what"]: (row["FLOPs/byte"], row["FLOPs/s"]) for row in shown.rows}
    assert said["peak fp8"] == (pytest.approx(2e15 / 3.35e12), 2e15)
    with pytest.raises(ModelError, match="no peak for 'fp9'"):
        sr.plot("matmul", on="h100", at="B=64,D=F=8192", peaks="fp9")
    with pytest.raises(ModelError, match="roofline of one chip"):
        sr.plot("matmul", on="h100,tpu-v5e", at="B=64,D=F=8192", peaks="int8")


@pytest.mark.parametrize("link", ["X", "Y", "HBM"])
def test_a_figure_is_raised_under_all_of_its_names(link):
    """Whatever link is asked about: the bandwidth of the axes is one figure of the chip, and the changes are the same."""
    ask = {"on": "tpu-v5p", "at": "B=256,D=8192,F=32768,X=16,Y=4", "kind": "sensitivity"}
    joint, one = (sr.plot("fsdp-megatron", **ask, **options).drawing.points[0] for options in ({}, {"link": link}))
    assert {change.what for change in one.changes} == {change.what for change in joint.changes} >= {"ICI", "HBM"}
    effects = {change.what: change.effects for change in joint.changes}
    assert all(change.effects == effects[change.what] for change in one.changes)
    assert effects["ICI"][0].ratio < 1
