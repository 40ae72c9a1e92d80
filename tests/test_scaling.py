"""Figures over the chips of a mesh. The oracle reads the program again: six products on the shapes of one chip, and every
exchange as the bytes that the busiest direction of its ring or line carries, in fractions."""

import random
import re
from fractions import Fraction
from functools import cache

import pytest
from texts import FSDP

import symroof as sr
from symroof.errors import SymroofError

pytest.importorskip("matplotlib")

from symroof.rendering.figures.drawings import draw

pytestmark = pytest.mark.part(1)

PEAK, VECTOR, HBM, ICI = (Fraction(x) for x in (459 * 10**12, 14 * 10**12, 28 * 10**11, 9 * 10**10))
TIMES = ("T_math", "T_vector", "T_X", "T_Y", "T_HBM")
LARGE, SMALL = {"B": 196608, "D": 8192, "F": 28672}, {"B": 4096, "D": 8192, "F": 28672}


def words_of(found):
    """What stands on a figure and beneath it, label by label."""
    canvas = draw(found.drawing)
    canvas.drawn("svg")
    return [" ".join(text.get_text().split()) for text in (*canvas.axes.texts, *canvas.sheet.texts)]


def plot(over, *points, kind="throughput", **options):
    at = [",".join(f"{name}={value}" for name, value in values.items()) for values in points]
    return sr.plot(FSDP, **{"on": "tpu-v5p", "training": True, "kind": kind, "over": over, "at": at, **options})


def statements(B, D, F, X, Y):
    """What each product of a training step keeps busy, in seconds: on a TPU v5p an axis is a ring where 4 divides it."""

    def exchange(payload, chips):
        """An all-gather or a reduce-scatter: every chip but one hands on its part, on a ring both ways round."""
        return Fraction(payload) * (chips - 1) / chips / (1 if chips % 4 else 2) / ICI

    b, f = Fraction(B, X), Fraction(F, Y)  # what a chip multiplies: its rows, all of D, its features
    rows, features, first = 2 * b * D, 2 * b * f, 2 * D * f  # bytes of x, h and a weight there
    over_x, over_y = exchange(first, X), exchange(rows, Y)
    memory = {"h": rows + first + 2 * features, "y": features + first + rows, "da": rows + first + 2 * features}
    memory |= {"dW2": features + rows + first, "dx": features + first + rows, "dW1": rows + features + first}
    own = Fraction(B * F, X * Y)  # elements of h that a chip has
    vector = {"h": 9 * own / VECTOR, "da": 10 * own / VECTOR}

    def each(name):
        between = over_y if name not in ("dW1", "dW2") else 0
        return 2 * b * D * f / PEAK, vector.get(name, 0), over_x, between, memory[name] / HBM

    return {name: dict(zip(TIMES, each(name), strict=True)) for name in memory}


def times(**sizes):
    each = statements(**sizes).values()
    found = {name: sum(part[name] for part in each) for name in TIMES}
    steps = sum(max(part.values()) for part in each)
    return found, {"T_lower": max(found.values()), "T_steps": steps, "T_upper": sum(found.values())}


def throughput(B, D, F, X, Y):
    return 12 * B * D * F / times(B=B, D=D, F=F, X=X, Y=Y)[1]["T_lower"]


@cache
def large():
    return plot("X=1..256", {"Y": 4, **LARGE}, {"Y": 4, **SMALL})


def cells(figure):
    return [re.split(r"\s{2,}", line.strip()) for line in figure.to_text().splitlines()]


@pytest.mark.thorough
def test_throughput_against_chips_point_by_point():
    found = large().drawing
    for curve, sizes in zip(found.curves, (LARGE, SMALL), strict=True):
        rings = [x for x in curve.xs if x % 4 == 0]
        assert rings == list(range(4, 257, 4))
        for x, y in curve.points("throughput"):
            if x % 4 == 0:
                assert y == pytest.approx(float(throughput(**sizes, X=int(x), Y=4)), rel=1e-12)
        assert all(y == 4 * x * PEAK for x, y in curve.points("peak"))


@pytest.mark.thorough
def test_fewer_chips_than_a_ring_are_lines():
    for curve, sizes in zip(large().drawing.curves, (LARGE, SMALL), strict=True):
        assert [few.chips for few in curve.few] == [1, 2]
        for few in curve.few:
            each, bounds = times(**sizes, X=few.chips, Y=4)
            assert few.throughput == pytest.approx(float(throughput(**sizes, X=few.chips, Y=4)), rel=1e-12)
            assert each[few.longest.time] == bounds["T_lower"]
            assert few.peak == 4 * few.chips * PEAK


@pytest.mark.thorough
def test_the_longest_time_changes_at_the_first_ring_where_it_does():
    for curve, sizes in zip(large().drawing.curves, (LARGE, SMALL), strict=True):
        longest = {}
        for x in range(4, 257, 4):
            each, _ = times(**sizes, X=x, Y=4)
            longest.setdefault(max(each, key=each.get), x)
        first, *others = longest.items()
        assert [(s.time, s.first) for s in curve.stretches] == [(first[0], None), *others]
        assert all(step.check.status == "proved" for s in curve.stretches for step in s.steps)
    assert [len(curve.stretches) for curve in large().drawing.curves] == [2, 1]


@pytest.mark.thorough
def test_rows_are_numbers_of_chips_that_there_are():
    head, *rows = cells(large())
    assert head == ["curve", "X", "FLOPs/s", "bound by"]
    assert [int(row[1]) for row in rows] == [1, 2, *range(4, 257, 4)] * 2
    for point, x, y, by in rows:
        sizes = LARGE if "196608" in point else SMALL
        each, _ = times(**sizes, X=int(x), Y=4)
        longest = max(each, key=each.get)
        assert float(y) == pytest.approx(float(throughput(**sizes, X=int(x), Y=4)), rel=1e-5)
        assert by == ("compute" if longest == "T_math" else longest.removeprefix("T_"))


@pytest.mark.thorough
def test_times_of_every_resource_with_their_bounds():
    found = plot("X=1:256:log", {"Y": 8, **LARGE}, kind="times")
    head, *rows = cells(found)
    assert head[:2] == ["at", "X"]
    assert [int(row[1]) for row in rows] == [4, 8, 16, 32, 64, 128, 256]
    for row in rows:
        each, bounds = times(**LARGE, X=int(row[1]), Y=8)
        shown = dict(zip(head[2:-1], map(float, row[2:-1]), strict=True))
        assert shown == pytest.approx({name: float(value) for name, value in (each | bounds).items()}, rel=1e-5)
    words = {part for label in words_of(found) for part in re.split(r", |: (?=upper)", label)}
    assert {"T_math: compute", "T_X: ICI", "T_Y: ICI", "T_HBM", "T_vector", "T_steps"} <= words


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(4))
def test_over_a_dimension_turns_are_multiples_of_the_chips(seed):
    draw = random.Random(seed)
    x, y, d, f = (draw.choice(some) for some in ([4, 8, 16], [4, 8, 32], [2048, 4096], [8192, 28672]))
    (curve,) = plot("B=64:262144:log", {"X": x, "Y": y, "D": d, "F": f}).drawing.curves

    def longest(b):
        each, _ = times(B=b, D=d, F=f, X=x, Y=y)
        return max(each, key=each.get)

    assert longest(64) == curve.stretches[0].time
    for before, after in zip(curve.stretches, curve.stretches[1:], strict=False):
        assert after.first % x == 0
        assert longest(after.first) == after.time
        assert longest(after.first - x) == before.time
    assert not curve.few


@pytest.mark.thorough
def test_a_mesh_with_numbers_has_a_level_peak():
    found = plot("B=64..131072", {"D": 8192, "F": 28672}, mesh="X=16,Y=4")
    (curve,) = found.drawing.curves
    assert set(curve.lines["peak"]) == {64 * float(PEAK)}
    assert "of 64 chips" in found.drawn().decode()
    assert curve.stretches[1].first == 38256, "B > 15 peak/(2 ICI) = 38250, in multiples of 16"


@pytest.mark.thorough
def test_a_turn_at_an_irrational_size():
    """Over a width D of square weights the work and the bytes are polynomials of degree two, and equal at a root."""
    square = "mesh X=4 on ICI; input x: bf16[B_X, D]; weight V: bf16[D_X, E]; weight W: bf16[E, F]; h = x * V -> bf16[B_X, E]; y = h * W -> bf16[B_X, F]"
    asked = {"assume": "E = D", "kind": "throughput", "over": "D=64..8192", "at": "B=20480,F=64"}
    (curve,) = sr.plot(square, on="tpu-v5p", **asked).drawing.curves

    def each(d, rows=5120):
        moved = Fraction(2 * (3 * rows * d + rows * 64 + d * (d + 64)))
        math, over_x = Fraction(2 * rows * d * (d + 64)), Fraction(2 * d * d * 3, 8)
        return {"T_math": math / PEAK, "T_HBM": moved / HBM, "T_X": over_x / ICI}

    turn = curve.stretches[1].first
    assert turn % 4 == 0
    before, after = each(turn - 4), each(turn)
    assert max(before, key=before.get) == curve.stretches[0].time == "T_HBM"
    assert max(after, key=after.get) == curve.stretches[1].time == "T_math"
    assert curve.stretches[0].ends[1] < curve.stretches[1].ends[0], "a band holds the root"


@pytest.mark.thorough
def test_an_all_to_all_is_about_even_rings_and_a_switch_about_any_number():
    sizes = "E=64,k=2,B=65536,D=4096,F=8192"
    ring = sr.plot("expert-parallel", on="tpu-v5p", over="Z=1..64", at=sizes)
    switch = sr.plot("expert-parallel", on="h100", over="Z=1..8", at=sizes)
    figures = {"peak": "1e14", "HBM": "1e12", "ICI": "1e10"}
    given = sr.plot("expert-parallel", mesh="Z on ICI ring", given=figures, over="Z=1..16", at=sizes)
    assert [int(row[1]) for row in cells(ring)[1:]] == [1, 2, *range(4, 65, 4)]
    assert [int(row[1]) for row in cells(switch)[1:]] == list(range(1, 9))
    assert [int(row[1]) for row in cells(given)[1:]] == [1, 2, *range(4, 17, 2)]
    assert "multiples of 4" in ring.drawn().decode()
    assert "rings" not in switch.drawn().decode()
    moved = 2 * 65536 * 4096 * 2  # bytes of the exchanged tokens, twice: 2 experts for each of them
    flops, longest = 8 * 65536 * 4096 * 8192, set()
    for _, chips, rate, by in cells(given)[1:]:
        z = int(chips)
        sent = 2 * Fraction(moved * (z * z // 4), z * z * (2 if z > 2 else 1) * 10**10)
        taken = {"compute": Fraction(flops, z * 10**14), "Z": sent}[by]
        assert float(rate) == pytest.approx(float(flops / taken), rel=1e-5)
        longest.add(by)
    assert longest == {"compute", "Z"}


@pytest.mark.thorough
def test_a_roof_for_the_memory_and_for_each_axis():
    point = {"X": 16, "Y": 4, **SMALL}
    found = plot(None, point, {"X": 4, "Y": 16, **SMALL}, kind="roofline")
    assert [roof.link for roof in found.drawing.roofs] == ["HBM", "X", "Y"]
    assert found.drawing.roofs[1].ridge == 5100
    for track, (x, y) in zip(found.drawing.tracks, ((16, 4), (4, 16)), strict=True):
        each, _ = times(**SMALL, X=x, Y=y)
        for roof, place, rate in zip(found.drawing.roofs, track.places, (HBM, ICI, ICI), strict=True):
            assert place.roof is roof
            assert place.intensity == pytest.approx(float(each["T_math"] * PEAK / (each[f"T_{roof.link}"] * rate)))
            assert place.throughput == pytest.approx(float(PEAK * min(1, each["T_math"] / each[f"T_{roof.link}"])))
    words = " ".join(words_of(found))
    assert "X, Y 90 GB/s" in words.replace("  ", " "), "axes on one network have one roof"
    assert words.count("ridge") == found.description().count("ridge") == 2
    assert [roof.link for roof in plot(None, point, kind="roofline", links=["Y"]).drawing.roofs] == ["Y"]


@pytest.mark.parametrize(("over", "points", "options", "says"), [
    ("X=1..3", [{"Y": 4, **SMALL}], {}, r"X without a number of chips is a ring of at least 4.*\n.*as in X=4\.\.16"),
    ("X=1..64", [SMALL], {}, "the number of chips of Y"),
    ("X=1..64", [{"Y": 2, **SMALL}, {"Y": 4, **SMALL}], {}, "Y = 2 is a line"),
    ("X=4..60", [{"Y": 4, **SMALL}], {}, "B = 4096 is not a multiple of X = 60"),
    ("X=1..64", [{"Y": 4, "B": 8, "D": 8}], {}, "F has no size"),
    ("X=1..64", [{"Y": 4, **SMALL}, {"Y": 8, **SMALL}], {"kind": "times"}, "shows several"),
    ("X=1..64", [{"Y": 4, **SMALL}], {"mesh": "X=8"}, "unknown name 'X'"),
    ("X=4..64", [{"Y": 4, **SMALL}], {"kind": "roofline"}, "the number of chips of X"),
    ("X=4..64", [SMALL], {"on": None, "mesh": "Y=4"}, "a peak and a bandwidth"),
    ("X=4..64", [{"Y": 4, **SMALL}], {"links": ["HBM", "X"]}, "one chip and one link"),
])  # fmt: skip
def test_what_cannot_be_drawn_is_refused_with_a_cure(over, points, options, says):
    with pytest.raises(SymroofError, match=says):
        plot(over, *points, **options)


@pytest.mark.thorough
def test_a_product_in_one_line_is_drawn_as_its_program_is():
    product, sizes = "bf16[B_X, D] * bf16[D_X, F] -> bf16[B_X, F]", "B=4096,D=F=8192"
    (drawn,) = sr.plot(product, mesh="X", on="tpu-v5p", over="X=8..64", at=sizes).drawing.curves
    program = "mesh X; input x: bf16[B_X, D]; weight W: bf16[D_X, F]; y = x * W -> bf16[B_X, F]"
    (curve,) = sr.plot(program, on="tpu-v5p", over="X=8..64", at=sizes).drawing.curves
    assert drawn.points("throughput") == curve.points("throughput")
    one = sr.plot(product, mesh="X=8", link="ICI", on="tpu-v5p", kind="roofline", at=sizes).drawing.tracks[0].places[0]
    assert curve.lines["throughput"][0] == pytest.approx(8 * one.throughput)
