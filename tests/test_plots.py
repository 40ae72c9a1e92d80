"""Figures: their numbers against formulas of their own, their pictures against committed ones."""

import csv
import hashlib
import io
import itertools
import json
import os
import re
import subprocess
import sys
from functools import cache
from importlib.metadata import version
from pathlib import Path
from random import Random

import numpy as np
import pytest
from texts import refused

import symroof as sr
from symroof.errors import SymroofError
from symroof.rendering.figures.drawings import draw

pytestmark = pytest.mark.part(1)

pytest.importorskip("matplotlib")
GOLDEN = Path(__file__).parent / "golden"
MATMUL = "bf16[B, D] * bf16[D, F] -> bf16[B, F]"
INT8 = "bf16[B, D] * int8[D, F] -> bf16[B, F]"
MESHED = "mesh X, Y on ICI; input x: bf16[B_X, D_Y]; weight W: bf16[D_X, F_Y]; h = x * W -> bf16[B_X, F_Y]; y = relu(h)"
PEAK, HBM = 1.97e14, 8.2e11
FIGURES = {
    "throughput": (INT8, {"on": "tpu-v5e", "at": ["D=F=4096", "D=F=1024"], "over": "B=1..400"}),
    "roofline": (MATMUL, {"on": "tpu-v5e", "at": ["B=64,D=F=8192", "B=512,D=F=8192"], "links": ["HBM", "slow"], "given": {"slow": "2.05e11"}}),
    "times": (MATMUL, {"on": "tpu-v5e", "at": "D=F=8192", "over": "B=1:4096:log", "kind": "times"}),
    "regimes": (MATMUL, {"on": "tpu-v5e", "at": "F=8192", "over": "B=1..10000,D=1..10000"}),
    "path": (MATMUL, {"on": "tpu-v5e", "at": "D=F=8192", "over": "B=1:4096:log", "kind": "roofline"}),
    "scaling": (MESHED, {"on": "tpu-v5p", "at": ["Y=4,B=65536,D=F=8192", "Y=4,B=4096,D=F=8192"], "over": "X=1:512:log"}),
    "chips": (MATMUL, {"on": "tpu-v5e, h100", "at": "B=64,D=F=8192"}),
}  # fmt: skip


@cache
def figure(name):
    operation, options = FIGURES[name]
    return sr.plot(operation, **options)


def roofline(B, D, F):
    """The program that the book prints for its question 3."""
    total_flops = 2 * B * D * F
    flops_time = total_flops / 1.97e14
    comms_time = (2 * B * D + D * F + 2 * B * F) / 8.2e11
    total_time = np.maximum(flops_time, comms_time)
    return total_flops / total_time


def marks(track):
    """Where an operation stands under each roof."""
    return [place.point for place in track.places]


def test_question_3_point_by_point():
    found = figure("throughput").drawing
    for curve, size in zip(found.curves, (4096, 1024), strict=True):
        assert len(curve.xs) >= 400
        assert np.allclose(curve.lines["throughput"], roofline(np.array(curve.xs), size, size), rtol=1e-13)
    assert [curve.first for curve in found.curves] == [137, 227]
    assert [round(curve.bound, 2) for curve in found.curves] == [136.09, 226.31]
    assert (found.rule.first, round(found.rule.bound, 2)) == (121, 120.12)
    assert (rule := found.rule).throughput == pytest.approx([min(PEAK, 2 * x * HBM) for x in rule.xs])
    assert (rule.first, rule.short) == (121, found.curves[1])
    assert rule.share == pytest.approx(roofline(121.0, 1024, 1024) / PEAK)
    assert f"{rule.share:.0%}" == "68%"


def test_a_roofline_has_the_numbers_of_its_operations():
    found = figure("roofline").drawing
    assert [round(roof.ridge, 2) for roof in found.roofs] == [240.24, 960.98]
    for track, b in zip(found.tracks, (64, 512), strict=True):
        intensity = b * 8192 / (2 * b + 8192)
        assert [x for x, _ in marks(track)] == pytest.approx([intensity, intensity])
        assert [y for _, y in marks(track)] == pytest.approx([min(PEAK, intensity * w) for w in (HBM, 2.05e11)])
    assert [round(y / 1e12, 1) for track in found.tracks for _, y in marks(track)] == [51.7, 12.9, 197.0, 93.3]


def test_a_link_between_chips_is_a_roof_with_its_own_intensity():
    found = sr.plot(
        "bf16[B, D_X] * bf16[D_X, F] -> bf16[B, F]",
        on="tpu-v5e",
        mesh={"X": 2},
        links=["HBM", "ICI"],
        at="B=64,D=F=8192",
    ).drawing
    hbm, ici = marks(found.tracks[0])
    assert ici[0] == 8192 / 2
    assert hbm[0] == pytest.approx(64 * 8192 * 8192 / (64 * 8192 + 8192 * 8192 + 2 * 64 * 8192))
    assert [roof.link for roof in found.roofs] == ["HBM", "ICI"]


@pytest.mark.parametrize(("operation", "options", "terms"), [
    (MATMUL, {"at": "F=8192", "over": "B=1..10000,D=1..100000"}, lambda x, y: {"8192": 1 / 8192, "B": 1 / x, "D": 1 / y}),
    (MATMUL, {"assume": "D = F", "over": "B=1..10000,F=1..10000"}, lambda x, y: {"B": 1 / x, "F/2": 2 / y}),
    (INT8, {"at": "D=2048", "over": "B=1..10000,F=1..10000"}, lambda x, y: {"2048": 1 / 2048, "2*B": 0.5 / x, "F": 1 / y}),
])  # fmt: skip
def test_regions_are_where_their_term_leads(operation, options, terms):
    """Random points: the region that holds one is that of its largest term; the threshold has the ridge's intensity."""
    found = sr.plot(operation, on="tpu-v5e", kind="regimes", **options).drawing
    (x0, x1), (y0, y1) = np.log10(found.ranges)
    draw, total = Random(2), 0.0
    for _ in range(200):
        x, y = draw.uniform(x0, x1), draw.uniform(y0, y1)
        values = terms(10**x, 10**y)
        inside = [str(region.largest) for region in found.regions if _holds(np.log10(region.corners), x, y)]
        best = max(values, key=values.get)
        assert best in inside or sorted(values.values())[-2] > 0.999 * values[best]
        total += len(inside)
    assert total == pytest.approx(200, abs=3), "regions cover the plane once"
    assert len(found.threshold) > 100
    for x, y in found.threshold:
        assert 1 / sum(terms(x, y).values()) == pytest.approx(PEAK / HBM, rel=1e-6)
    for line in found.rules:
        for x, y in line:
            assert max(terms(x, y).values()) == pytest.approx(HBM / PEAK, rel=1e-9)


@pytest.mark.thorough
def test_the_rows_of_a_map_are_its_lines():
    """1/intensity = 1/B + 1/D + 1/8192; the rule of thumb takes the largest term alone. Numbers have six digits in print."""
    rows = [line.split() for line in figure("regimes").to_text().splitlines()[1:]]
    ridge, kinds = PEAK / HBM, {"threshold": sum, "rule": max}
    for b, d, what, *_ in rows:
        terms = (1 / float(b), 1 / float(d), 1 / 8192)
        if what in kinds:
            assert kinds[what](terms) == pytest.approx(1 / ridge, rel=1e-4)
        else:
            assert float(b) in (1, 8192, 10000)
            assert float(d) in (1, 8192, 10000)
    assert sum(row[2] == "threshold" for row in rows) == len(figure("regimes").drawing.threshold)
    assert sum(row[2] == "rule" for row in rows) == 4, "two ends of two lines: B = ridge and D = ridge"
    assert len({tuple(row) for row in rows if row[2] == "corner"}) == 12, "each of the three fields has four corners"


def _holds(corners, x, y):
    """Whether a convex polygon holds a point."""
    sides = [
        (b[0] - a[0]) * (y - a[1]) - (b[1] - a[1]) * (x - a[0])
        for a, b in zip(corners, np.roll(corners, -1, axis=0), strict=True)
    ]
    return all(s >= -1e-12 for s in sides) or all(s <= 1e-12 for s in sides)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "lang"), [("roofline", "en"), ("times", "en"), ("regimes", "en"), ("throughput", "zh")]
)
def test_pictures(name, lang, golden):
    """Text is text; the bytes are those that were reviewed. Coordinates are compared to a tenth of a point."""
    svg = figure(name).drawn(lang=lang).decode()
    assert "<text" in svg
    assert "<dc:date>" not in svg
    if (
        tuple(map(int, version("matplotlib").split(".")[:2])) < (3, 10)
        and "SYMROOF_REQUIRE_RENDERERS" not in os.environ
    ):
        pytest.skip("the committed pictures are those of Matplotlib 3.10 and later")
    golden(
        GOLDEN / f"plot_{name}{'' if lang == 'en' else f'_{lang}'}.svg",
        "\n".join(line.rstrip() for line in _rounded(svg).splitlines()) + "\n",
    )


def _rounded(svg):
    svg = re.sub(r"-?\d+\.\d+", lambda m: f"{float(m.group()):.1f}".replace("-0.0", "0.0"), svg)
    return re.sub(r'(id="|url\(#|xlink:href="#)([a-z]*)[0-9a-f]{8,}', r"\1\2", svg)


@pytest.mark.thorough
def test_the_same_figure_has_the_same_bytes_and_drawing_leaves_nothing_behind():
    code = (
        "import hashlib, sys, matplotlib\nseen = lambda: {k: matplotlib.rcParams[k] for k in matplotlib.rcParams if k != 'backend'}\n"
        "before = seen()\nimport symroof as sr\n"
        "found = sr.plot('matmul', on='tpu-v5e', at='D=F=8192', over='B=1..400')\n"
        "print(*[hashlib.sha256(found.drawn(f)).hexdigest() for f in ('svg', 'png', 'pdf')], seen() == before, 'matplotlib.pyplot' in sys.modules)"
    )
    *elsewhere, same, pyplot = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    found = sr.plot("matmul", on="tpu-v5e", at="D=F=8192", over="B=1..400")
    assert elsewhere == [hashlib.sha256(found.drawn(f)).hexdigest() for f in ("svg", "png", "pdf")]
    assert (same, pyplot) == ("True", "False")


def test_shades_keep_their_order_in_grey_and_strokes_differ_twice():
    from symroof.rendering.figures.style import FIELDS, SHADES, stroke

    def lightness(colour):
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        y = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
        return 116 * y ** (1 / 3) - 16

    shades = [lightness(c) for c in SHADES]
    assert shades == sorted(shades)
    assert all(b - a > 1.5 for a, b in itertools.pairwise(shades)), "a line at each ridge tells them apart as well"
    first = [stroke(i) for i in range(4)]
    assert len({c for c, _ in first}) == len({str(d) for _, d in first}) == 4
    assert all(abs(lightness(a) - lightness(b)) > 4 for a, b in itertools.pairwise(FIELDS))


test_what_cannot_be_drawn_is_refused = refused(
    lambda options: sr.plot(MATMUL, **{"on": "tpu-v5e", **options}),
    ({"over": "B=1..400"}, "D, F have no size"),
    ({"over": "H=1..400", "at": "D=F=1"}, "unknown name"),
    ({"at": "B=1"}, "have no size"),
    ({"over": "B=1..4,D=1..4"}, "has no size"),
    ({"over": "B=1..4", "kind": "regimes", "at": "F=1"}, "drawn over 2 sizes"),
    ({"over": "B=1..4,D=1..4,F=1..4", "kind": "times"}, "drawn over 1 size"),
    ({"kind": "pie"}, "no figure 'pie'"),
    ({"over": "B=1..4", "at": "D=F=1", "links": ["HBM", "PCIe"]}, "one chip and one link"),
    ({"at": "B=D=F=1", "links": ["L9"]}, "no bandwidth for L9"),
    ({"over": "B=1..4,D=1..4", "at": "F=8", "count": "exact"}, "no sum of monomials"),
    ({"over": "B=1,D=1..4", "at": "F=8"}, "one value"),
    ({"over": "B=D=1..4", "at": "F=8", "kind": "roofline"}, "one size, and B = D are 2"),
    ({"over": "B=1..4", "at": "D=F=8", "assume": "B = D"}, "B is D here"),
    ({"over": "B=1..4,D=1..4", "at": ["F=8", "F=9"]}, "there is a second"),
    ({"over": "B=1..4", "kind": "roofline"}, "D, F have no size"),
    ({"over": "B=1..400", "at": "D=F=4096", "assume": "D=F=100"}, "contradict F = 100"),
    ({"over": "B=1..400", "at": "D=F=8,B=9"}, "B runs over its axis"),
    ({"at": "B=D=F=4", "assume": "D=8"}, "contradict D = 8"),
    ({"over": "B=1..4,D=1..4", "at": "F=8,D=2"}, "D runs over its axis"),
)  # fmt: skip


@pytest.mark.thorough
def test_without_a_chip_there_is_no_figure():
    sr.plot("bf16[B, 8] * bf16[8, F] -> bf16[B, F]", on="tpu-v5e", at="F=8", over="B=1..40").drawn()
    with pytest.raises(SymroofError, match="peak and a bandwidth"):
        sr.plot(MATMUL, at="B=D=F=1")
    with pytest.raises(SymroofError, match="peak and a bandwidth"):
        sr.plot(MATMUL, at="D=F=1", over="B=1..4")


@pytest.mark.thorough
def test_the_command_draws(run, tmp_path):
    asked = ["plot", "matmul", "--on", "tpu-v5e"]
    point = [*asked, "--at", "B=D=F=8"]
    for suffix, start in (("svg", b"<?xml"), ("png", b"\x89PNG"), ("pdf", b"%PDF")):
        out = tmp_path / f"x.{suffix}"
        assert run(*asked, "--at", "D=F=4096", "--over", "B=1..50", "-o", str(out)).code == 0
        assert out.read_bytes().startswith(start)
    for wrong in ([*point, "-o", "-"], point, [*point, "-o", str(tmp_path / "x.gif")]):
        assert run(*wrong).code == 2
    links = ["--link", "HBM", "--link", "slow=2.05e11"]
    for options, row in (
        (["--at", "B=64,D=F=8192", *links], "63.0154     5.16726e+13  HBM"),
        (["--at", "F=64", "--over", "B=1..64,D=1..64"], "corner of intensity ~ B"),
        (["--kind", "times", "--at", "D=F=64", "--over", "B=1..9"], "T_upper"),
    ):
        assert row in run(*asked, *options, "--format", "text").out


@pytest.mark.thorough
def test_the_scale_of_a_picture_is_asked_for():
    import struct

    png = figure("roofline").drawn("png", 400)
    assert struct.unpack(">I", png[16:20])[0] == 400
    assert struct.unpack(">I", figure("roofline").drawn("png", 1600)[16:20])[0] == 1600
    assert struct.unpack(">I", figure("roofline").drawn("png", "3.5in")[16:20])[0] == 700
    for width in (99, "5cm", "2in"):
        with pytest.raises(SymroofError, match=r"100 to 10000|3\.5 to 30 inches"):
            figure("roofline").drawn("png", width)


@pytest.mark.thorough
def test_a_size_from_one_is_drawn_from_zero_and_a_larger_one_from_where_it_begins():
    lefts = [
        draw(sr.plot(MATMUL, on="tpu-v5e", at="D=F=8192", over=over).drawing).left
        for over in ("B=1..400", "B=100..400", "B=1:400:log")
    ]
    assert lefts == [0, 100, 1]


DRAWN = {
    "roofline": "matmul --on tpu-v5e --at B=64,D=F=8192",
    "throughput": "matmul --on tpu-v5e --at D=F=8192 --over B=1..6",
    "times": "mlp --on tpu-v5e --at D=F=8192 --over B=1..6 --kind times",
    "breakdown": "mlp --on tpu-v5e --at B=64,D=F=8192 --kind breakdown",
    "regimes": "matmul --on tpu-v5e --at F=64 --over B=1..64,D=1..64",
    "on a mesh": "fsdp --training --on tpu-v5p --at B=65536,D=8192,F=32768 --over X=1:16:log --kind times",
}


@pytest.mark.parametrize("name", DRAWN)
def test_the_points_of_a_figure_are_the_same_in_every_form(run, name):
    """Columns of a text to six digits, lines of CSV and rows of JSON in full."""
    asked = ["plot", *DRAWN[name].split()]
    told = list(csv.reader(io.StringIO(run(*asked, "--format", "csv").out)))
    found = json.loads(run(*asked, "--format", "json").out)["figure"]
    assert len(told) > 1
    assert found["kind"] in (name, "times", "throughput")
    assert [list(map(str, row.values())) for row in found["rows"]] == told[1:]
    assert [list(row) for row in found["rows"]] == [told[0]] * (len(told) - 1)
    text = run(*asked, "--format", "text").out.splitlines()
    assert len(text) == len(told)
    for line, row in zip(text[1:], found["rows"], strict=True):
        shown = [f"{x:.6g}" if isinstance(x, float) else x for x in row.values()]
        assert " ".join(line.split()) == " ".join(" ".join(shown).split())


@pytest.mark.parametrize("seed", range(8))
def test_the_shaded_side_of_a_map_is_what_is_compute_bound(seed):
    """Inside of the polygon the intensity is beyond the ridge, outside it is not; next to the line nothing is asked."""
    import random

    draw = random.Random(f"shaded {seed}")
    f, bits = draw.choice((256, 512, 1024, 8192)), draw.choice(("bf16", "int8"))
    operation = f"bf16[B, D] * {bits}[D, F] -> bf16[B, F]"
    found = sr.plot(operation, on="tpu-v5e", at={"F": f}, over="B=1..10000,D=1..10000").drawing
    intensity = sr.derive(operation, on="tpu-v5e").function("intensity")
    ridge, met = 1.97e14 / 8.2e11, set()
    corners = np.log10(np.array(found.beyond)) if found.beyond else None
    for _ in range(400):
        x, y = draw.uniform(0, 4), draw.uniform(0, 4)
        part = intensity(B=10**x, D=10**y, F=f) / ridge
        if abs(part - 1) < 0.03:
            continue
        shaded = corners is not None and _holds(corners, x, y)
        assert shaded == (part > 1), (10**x, 10**y)
        met.add(shaded)
    assert met == ({True, False} if f > 300 else met)
