"""Bars: what is in a breakdown's pieces and table."""

import random
import re

import pytest

import symroof as sr

pytest.importorskip("matplotlib")
from symroof.rendering.figures.drawings import PIECES, draw

pytestmark = pytest.mark.part(1)


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
