"""Comparisons, numbers in bulk, sweeps: against NumPy, against exact fractions, at every point."""

import csv
import io
import os
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import symroof as sr
from symroof.errors import SymroofError
from symroof.reading.grids import read_grid, size_of

pytestmark = pytest.mark.part(2)

MATMUL = "bf16[B, D] * bf16[D, F] -> bf16[B, F]"
INT8 = "bf16[B, D] * int8[D, F] -> bf16[B, F]"
SPLIT = "bf16[B, D_X] * bf16[D_X, F] -> bf16[B, F]"


def rows_of(path):
    return list(csv.DictReader(io.StringIO(path.read_text("utf-8"))))


# Comparisons


def test_a_rule_of_thumb_with_a_guard_is_compared_with_it():
    """GH/(G + H) > R: for H <= R there is no such G."""
    found = sr.compare("bf16[G, D] * bf16[D, H] -> bf16[G, H]", on="tpu-v5e", assume="G << D, H << D")
    assert "if H > 240.24" in " ".join(found.to_text().split())
    assert found.to_dict()["rows"][0]["compute_bound"] == "G > ridge*H/(H - ridge) and H > ridge"


def test_a_comparison_without_an_answer_is_an_error():
    with pytest.raises(SymroofError, match=r"peak\.int8"):
        sr.compare(MATMUL, on="v100", dtypes="int8")
    with pytest.raises(SymroofError, match="no chips"):
        sr.compare(MATMUL, on="")
    with pytest.raises(SymroofError, match="did you mean tpu-v"):
        sr.compare(MATMUL, on="tpu-v5x")


def test_figures_that_are_given_hold_for_every_chip():
    found = sr.compare(MATMUL, on="tpu-v5e, h100", given={"HBM": "1e12"}, assume="B << D, F")
    assert [float(row.derivation.answer.ridge) for row in found.comparison.rows] == [197, 989]


@pytest.mark.thorough
def test_the_command_compares(run):
    done = run("compare", MATMUL, "--on", "tpu-v5e,h100", "--dtype", "bf16,int8", "--format", "csv")
    assert done.code == 0
    assert len(done.out.splitlines()) == 5
    assert run("compare", MATMUL).code == 2
    assert run("compare", "dot", "--on", "tpu-v5e", "--format", "markdown").out.count("never") == 1


# Functions

sizes = st.integers(1, 10**6)


@cache
def derived(text=MATMUL, on=None):
    return sr.derive(text, on=on)


@cache
def quantized(name):
    return derived(INT8, "tpu-v5e").function(name)


@settings(max_examples=12, deadline=None)
@given(sizes, sizes, sizes)
def test_functions_are_the_formulas_of_the_book(B, D, F):
    """Against exact fractions, from the formulas as the book prints them."""
    flops, moved = 2 * B * D * F, 2 * B * D + D * F + 2 * B * F
    t_math, t_comms = Fraction(flops) / (197 * 10**12), Fraction(moved) / (82 * 10**10)
    exact = {
        "flops": flops, "bytes": moved, "intensity": Fraction(flops, moved), "T_math": t_math, "T_comms": t_comms,
        "T_lower": max(t_math, t_comms), "T_upper": t_math + t_comms, "throughput": flops / max(t_math, t_comms),
    }  # fmt: skip
    for name, value in exact.items():
        function = quantized(name)
        here = {n: {"B": B, "D": D, "F": F}[n] for n in function.parameters}
        assert function(**here) == pytest.approx(float(value), rel=1e-14)


def test_whole_numbers_do_not_overflow():
    flops = derived().function("flops")
    big = np.array([2**40, 3], dtype=np.int64)
    assert flops(big, big, big)[0] == pytest.approx(2.0 * 2.0**120)
    assert flops(2**40, 2**40, 2**40) == pytest.approx(2.0 * 2.0**120)
    assert flops(np.int32(70000), np.int32(70000), 1) == 9.8e9
    with pytest.raises(SymroofError, match="floating-point"):
        flops(10**400, 1, 1)


def test_arrays_are_not_changed_and_broadcast():
    intensity = derived().function("intensity")
    B, D = np.arange(1.0, 5.0), np.arange(1.0, 4.0)
    kept = B.copy(), D.copy()
    table = intensity(B[:, None], D[None, :], 8.0)
    assert (kept[0] == B).all()
    assert (kept[1] == D).all()
    assert table.shape == (4, 3)
    for i, b in enumerate(B):
        for j, d in enumerate(D):
            assert table[i, j] == pytest.approx(intensity(b, d, 8), rel=1e-15)
    assert sr.derive(SPLIT, on="tpu-v5e", mesh={"X": 2}, link="ICI").function("intensity")(8) == 4


@pytest.mark.thorough
def test_other_arrays_of_numpys_protocols():
    dask = pytest.importorskip("dask.array")
    throughput = derived(on="tpu-v5e").function("throughput")
    whole = np.arange(1, 100_001)
    lazy = throughput(dask.from_array(whole, chunks=7_000), 8192, 8192)
    assert hasattr(lazy, "dask"), "nothing is computed before it is asked for"
    assert (lazy.compute() == throughput(whole, 8192, 8192)).all()


@pytest.mark.thorough
def test_functions_refuse_what_they_cannot_do():
    d = derived()
    assert d.function("T_math").parameters == ("B", "D", "F", "peak")
    intensity = d.function("intensity")
    for said, call in {
        "no quantity": lambda: d.function("T_maths"),
        "needs F": lambda: intensity(1, 2),
        "does not depend on H": lambda: intensity(H=1),
        "twice": lambda: intensity(1, 2, 3, B=1),
        "is no size": lambda: intensity("x", 2, 3),
    }.items():
        with pytest.raises(SymroofError, match=said):
            call()
    assert sr.derive(MATMUL, let={"r": "sqrt(B) + max(B, D)"}).function("r")(B=np.array([4.0]), D=9.0)[0] == 11
    assert sr.derive(MATMUL, let={"r": "B^2 + 1/D^3 + F^5"}).function("r")(3, 2, 2) == 9 + 1 / 8 + 32
    assert sr.derive(MATMUL, let={"r": "floor(B/D) + log(B) + exp(1)"}).function("r")(1, 3) == pytest.approx(np.e)


# Grids and sweeps


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("B=1:4", [1, 2, 3, 4]), ("B=1..4", [1, 2, 3, 4]), ("B=1:10:4", [1, 5, 9]), ("B=3:50:log", [3, 6, 12, 24, 48]),
        ("B=1|4|4|2", [1, 4, 2]), ("B=7", [7]), ("B=1:1000:log4", [1, 10, 100, 1000]), ("B=1e3", [1000]),
    ],
)  # fmt: skip
def test_grids(text, values):
    assert list(read_grid(text, ("B",))[0].values) == values


BAD = ";B;B=;B=0;B=1.5;B=4:1;B=1:2:log1;B=1:2:logx;B=1:2:0;B=1, B=2;X=1;B=1:1e12;B=D=;B=1 MB;B=1|;B=1:2:3:4;=1;B=-1"


@pytest.mark.parametrize("text", BAD.split(";"))
def test_bad_grids_say_where(text):
    with pytest.raises(SymroofError):
        read_grid(text, ("B", "D"))


def test_a_sweep_is_the_formula_at_every_point(tmp_path):
    out = tmp_path / "out.csv"
    rows = sr.sweep(MATMUL, "B=1:64:log, D=F=1024|4096", out, on="tpu-v5e")
    table = rows_of(out)
    assert rows == len(table) == 14 == size_of(read_grid("B=1:64:log, D=F=1024|4096", "BDF"))
    for row in table:
        B, D, F = (int(row[n]) for n in "BDF")
        assert float(row["intensity"]) == pytest.approx(B * D * F / (B * D + D * F + B * F))
        assert float(row["T_lower"]) == max(float(row["T_math"]), float(row["T_comms"]))
    assert [(int(r["B"]), int(r["D"])) for r in table[:3]] == [(1, 1024), (1, 4096), (2, 1024)]
    assert os.listdir(tmp_path) == ["out.csv"], "nothing else is left"


def test_the_command_sweeps(run, tmp_path):
    out = str(tmp_path / "o.csv")
    assert run("sweep", MATMUL, "--grid", "B=1:4, D=F=8", "-o", out).code == 0
    assert (tmp_path / "o.csv").read_text().startswith("B,D,F,intensity\n1,8,8,")
    assert run("sweep", MATMUL, "--grid", "B=1:4", "--of", "intensity", "-o", out).code == 2
    assert run("sweep", MATMUL, "--grid", "B=1:4, D=F=8", "--of", "intensity", "-o", str(tmp_path / "o.txt")).code == 2
    no_figures = run("sweep", MATMUL, "--grid", "B=1:4, D=F=8", "--of", "T_lower", "-o", out)
    assert no_figures.code == 2
    assert "say --on" in no_figures.err
    deep = tmp_path / "no" / "x" / "o.csv"
    assert run("sweep", MATMUL, "--grid", "B=1:4, D=F=8", "--of", "intensity", "-o", str(deep)).code == 0
    assert deep.exists()


# What a reader from outside found, each once wrong.


def test_a_grid_does_not_contradict_what_is_assumed(tmp_path):
    with pytest.raises(SymroofError, match="D is 16 here"):
        sr.sweep(MATMUL, "B=1:4, D=F=8", tmp_path / "x.csv", assume="D = 16")
    with pytest.raises(SymroofError, match="in the grid"):
        sr.sweep(MATMUL, "B=1:4, D=F=8", tmp_path / "x.csv", at="D=16")
    assert sr.sweep(MATMUL, "B=1:4", tmp_path / "x.csv", at="D=F=8", of="intensity,intensity") == 4
    assert (tmp_path / "x.csv").read_text().splitlines()[0] == "B,D,F,intensity"


def test_a_comparison_shows_its_guard_and_what_it_assumes():
    text = sr.compare(MATMUL, on="tpu-v5e", at="D=F=256").to_text()
    assert "if DF > 240.24(D + F)" in text
    assert text.rstrip().endswith("never")
    assert "assuming B ≪ D, F" in sr.compare(MATMUL, on="tpu-v5e", assume="B << D, F").to_text()
    rows = sr.compare(MATMUL, on="tpu-v5e", dtypes="bf16, fp8", compute="int8").comparison.rows
    assert {row.derivation.setting.peak.digits for row in rows} == {"3.94e14"}


@pytest.mark.parametrize("call", [
    lambda: sr.regimes(of=5), lambda: sr.compare(MATMUL, on=5), lambda: sr.plot(MATMUL, on="tpu-v5e", over=5),
    lambda: sr.sweep(MATMUL, 5, "x.csv"), lambda: derived().function(None), lambda: derived().function("flops")(-1, 2, 3),
    lambda: sr.plot(MATMUL, on="tpu-v5e", kind=5, over="B=1..3"),
])  # fmt: skip
def test_arguments_of_the_wrong_kind_are_refused_by_name(call):
    with pytest.raises(SymroofError):
        call()


@pytest.mark.thorough
def test_a_comparison_says_what_is_not_the_default():
    text = sr.compare(SPLIT, on="tpu-v5e", mesh={"X": 2}, count="exact", compute="int8").to_text()
    for words in ("on a mesh with X = 2\n", "counting K - 1 additions for K products\n", "computed in int8\n"):
        assert words in text
    assert "480.49" in text  # 3.94e14 / 8.2e11, and a chip does half of all


def test_a_grid_has_chips_that_are_wired_as_the_axis_is(tmp_path):
    """Four chips and eight close to a ring, three do not: they send otherwise than the formula of the axis says."""
    on_a_mesh = {"on": "tpu-v5p", "mesh": "X", "link": "ICI"}
    with pytest.raises(SymroofError, match="X = 3 is a line"):
        sr.sweep(SPLIT, "X=4|3, B=16, D=F=1024", tmp_path / "x.csv", **on_a_mesh)
    assert sr.sweep(SPLIT, "X=4|8, B=16, D=F=1024", tmp_path / "x.csv", **on_a_mesh) == 2


def test_regimes_without_a_corner_show_the_first():
    """All sizes of one order: no size is small beside the others, and the one regime that is left stands for the corners."""
    found = sr.regimes(MATMUL, assume="B ~~ D ~~ F")
    assert [row.corner for row in found.map.rows] == [False]
    assert found.map.corner_rows == found.map.rows
