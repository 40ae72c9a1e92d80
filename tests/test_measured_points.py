"""Measured points: what they reached of the bound, against exact fractions; what is faster than it can be is a finding."""

import json
import random
from fractions import Fraction

import pytest

import symroof as sr
from symroof.errors import ModelError, ReadingError
from symroof.reading.measurements import read_measurements

pytest.importorskip("matplotlib")

pytestmark = pytest.mark.part(2)

PEAK, HBM = Fraction(197 * 10**12), Fraction(82 * 10**10)  # those of a TPU v5e


def lower(b, d, f):
    return max(Fraction(2 * b * d * f) / PEAK, Fraction(2 * (b * d + d * f + b * f)) / HBM)


def decimal(value, digits=40):
    """A fraction as decimals, rounded down."""
    scaled = int(value * 10**digits)
    return f"{scaled}e-{digits}"


@pytest.mark.parametrize("seed", range(10))
def test_a_point_is_a_finding_where_it_is_faster_than_its_bound(seed):
    """Decided exactly: a time that is short of the bound in its fortieth digit is a finding."""
    draw = random.Random(f"measured {seed}")
    rows, expected = [], []
    for _ in range(8):
        at = {name: draw.choice((1, 3, 64, 240, 512, 4096, 8191)) for name in "BDF"}
        bound = lower(*at.values())
        part = draw.choice((Fraction(1, 2), Fraction(9, 10), Fraction(1), Fraction(11, 10), Fraction(3)))
        text = decimal(bound * part)
        rows.append({**at, "seconds": text})
        expected.append(bound > Fraction(text))
    found = sr.plot("matmul", on="tpu-v5e", points=rows)
    assert [one.impossible for one in found.drawing.measured] == expected
    assert len(found.findings) == sum(expected)
    for row, one in zip(rows, found.drawing.measured, strict=True):
        seconds = Fraction(row["seconds"])
        assert one.share == lower(row["B"], row["D"], row["F"]) / seconds
        assert one.rate == 2 * row["B"] * row["D"] * row["F"] / seconds


def test_a_time_and_a_rate_say_the_same():
    at = {"B": 64, "D": 4096, "F": 8192}
    flops = 2 * 64 * 4096 * 8192
    told = [{**at, "us": 400}, {**at, "ms": "0.4"}, {**at, "time": "400 us"}, {**at, "GFLOPs/s": flops / 400e-6 / 1e9}]
    rates = [sr.plot("matmul", on="h100", points=[row]).drawing.measured[0].rate for row in told]
    assert [float(rate) for rate in rates] == pytest.approx([flops / 400e-6] * 4)
    assert rates[0] == rates[1] == rates[2]
    counted = {"FLOPs/byte": "100", "TFLOPs/s": "50"}
    (one,) = sr.plot("matmul", on="tpu-v5e", points=[counted]).drawing.measured
    assert one.share == Fraction(50 * 10**12) / (100 * HBM)
    assert not one.impossible
    (two,) = sr.plot("matmul", on="tpu-v5e", points=[counted | {"TFLOPs/s": "82.1"}]).findings
    assert two.impossible, "the memory allows 82"


def test_what_all_points_share_is_said_once():
    points = [{"B": 64, "us": 400}, {"B": 256, "us": 900}]
    short = sr.plot("matmul", on="tpu-v5e", at="D=F=8192", points=points).drawing.measured
    long = sr.plot("matmul", on="tpu-v5e", points=[row | {"D": 8192, "F": 8192} for row in points]).drawing.measured
    assert short == long


@pytest.mark.thorough
def test_a_mesh_has_the_times_of_all_of_its_links():
    mesh = "mesh X on ICI; input x: bf16[B_X, D]; weight W: bf16[D_X, F]; y = x * W -> bf16[B_X, F]"
    at = {"X": 16, "B": 65536, "D": 8192, "F": 8192}
    time = sr.derive(mesh, on="tpu-v5p").function("T_lower")(**at)
    for factor, impossible in ((1.01, False), (0.99, True)):
        shown = sr.plot(mesh, on="tpu-v5p", points=[at | {"seconds": time * factor}])
        (one,) = shown.drawing.measured
        assert one.impossible == impossible
        assert float(one.share) == pytest.approx(1 / factor)
        x, y = next((row["FLOPs/byte"], row["FLOPs/s"]) for row in shown.rows if row["what"].startswith("measured"))
        assert y == pytest.approx(float(one.rate) / 16), "under the roofs of one chip"
        assert x == float(one.intensity)


@pytest.mark.thorough
def test_the_command_ends_with_one_and_says_which(run, tmp_path):
    table = tmp_path / "points.csv"
    table.write_text("name,B,D,F,us\nours,64,8192,8192,210\nfast,64,8192,8192,160\n")
    picture = tmp_path / "roof.svg"
    done = run("plot", "matmul", "--on", "tpu-v5e", "--points", str(table), "-o", str(picture))
    assert (done.code, done.out) == (1, "")
    assert "fast is faster than its bound allows, by 3.9 %" in done.err
    assert "ours" not in done.err
    assert "measured beyond the bound" in picture.read_text()
    table.write_text("name,B,D,F,us\nours,64,8192,8192,210\n")
    done = run("plot", "matmul", "--on", "tpu-v5e", "--points", str(table), "--format", "json")
    (one,) = json.loads(done.out)["figure"]["measured"]
    assert (done.code, done.err) == (0, "")
    assert one["possible"]
    assert one["sizes"] == {"B": 64, "D": 8192, "F": 8192}
    assert one["reached"] == pytest.approx(float(lower(64, 8192, 8192)) / 210e-6)


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ("", "no measured points"),
        ("B,D,F,us\n", "no measured points"),
        ("nam,B,us\na,1,2\n", "did you mean name"),
        ("B,B,us\n1,1,2\n", "two columns for B"),
        ("B,D,F,us,ms\n1,2,3,4,5\n", "two columns for a time"),
        ("name,Name,us\na,b,2\n", "two columns for a name"),
        ("B,D,F,us\n1,2,x,3\n", "row 1: unexpected 'x'"),
        ("B,D,F,us\n1,2,2.5,3\n", "whole number"),
        ("B,D,F,us\n1,2,3,4 GB\n", "4 GB is in bytes"),
        ("B,D,F,us\n1,2,3,4,5\n", "row 1 has 5 cells"),
        ("B,D,F\n1,2,3\n", "neither a time nor a rate"),
        ("B,D,F,us,FLOPs/s\n1,2,3,4,5\n", "both a time and a rate"),
        ("B,D,F,us\n1,2,3,-4\n", "row 1"),
        ("B,D,F,us\n1,2,3,0\n", "not positive"),
        ("B,us\n1,2\n", "D, F have no size"),
        ("FLOPs/byte,us\n1,2\n", "without sizes"),
        ("B,D,F,FLOPs/byte,us\n1,2,3,4,5\n", "sizes and FLOPs/byte"),
    ],
)
def test_what_is_wrong_in_a_table_is_said(table, says, tmp_path):
    path = tmp_path / "points.csv"
    path.write_text(table)
    with pytest.raises((ReadingError, ModelError), match=says):
        sr.plot("matmul", on="tpu-v5e", points=path)


def test_other_figures_have_no_measured_points():
    row = {"B": 64, "D": 8, "F": 8, "us": 400}
    for options in ({"kind": "throughput", "over": "B=1..8", "at": "D=F=8"}, {"on": "tpu-v5e,h100"}):
        with pytest.raises(ModelError, match="roofline of one chip"):
            sr.plot("matmul", points=[row], **{"on": "tpu-v5e", **options})


@pytest.mark.parametrize("seed", range(30))
def test_no_table_makes_the_reader_fall(seed):
    draw = random.Random(f"tables {seed}")
    cells = [
        "B", "D", "F", "us", "name", "FLOPs/byte", "1", "64", "2e9", "-3", "nan", "1e400", '"', "", "４", "0x10", "FLOPs/s",
        "\0", "1 ms",
    ]  # fmt: skip
    for _ in range(40):
        lines = [[draw.choice(cells) for _ in range(draw.randint(1, 6))] for _ in range(draw.randint(0, 4))]
        try:
            rows = read_measurements("\n".join(map(",".join, lines)), "BDF")
        except ReadingError:
            continue
        assert all((row.seconds is None) != (row.rate is None) for row in rows)


@pytest.mark.thorough
def test_a_block_has_measured_points_beside_the_document(tmp_path):
    (tmp_path / "points.csv").write_text("B,D,F,us\n64,8192,8192,210\n")
    text = '<!-- symroof plot\nid = "roof"\noperation = "matmul"\nhardware = "tpu-v5e"\npoints = "points.csv"\nwidth = "5in"\n-->\n'
    built = sr.build(text, path=tmp_path / "page.md")
    assert "79 % of the bound" in next(iter(built.files.values())).decode()
    outside = sr.build(text.replace("points.csv", "../points.csv"), path=tmp_path / "page.md")
    assert outside.failed
    assert "not in the folder" in str(outside.blocks[0].error)


def test_rows_of_a_csv_are_those_of_python():
    rows = [{"name": "a, b", "B": 64, "D": 8, "F": 8, "us": 4}, {"B": 2, "D": 8, "F": 8, "us": 1}]
    found = sr.plot("matmul", on="tpu-v5e", points=rows).drawing.measured
    assert [one.label for one in found] == ["a, b", "B = 2, D = 8, F = 8"]


@pytest.mark.thorough
def test_of_many_points_those_beyond_the_bound_have_words():
    """Forty points are forty marks; a dozen of them, the impossible ones first, stand in the table."""
    from symroof.rendering.figures.drawings import draw

    rows = [{"B": b, "D": 4096, "F": 4096, "us": 30 if b == 1020 else 900} for b in range(30, 1200, 30)]
    shown = sr.plot("matmul", on="tpu-v5e", points=rows)
    canvas = draw(shown.drawing)
    _, table, _ = canvas._table
    assert len(table) == 13
    assert table[0][1] == "measured: B = 1,020", "sizes that all share stand under the title"
    assert table[-1][1] == f"the other {len(rows) - 12}"
    assert sum(line.get_marker() == "X" for line in canvas.axes.lines) == len(rows)
    assert [one.values["B"] for one in shown.findings] == [1020]
