"""Quantities on a grid of sizes: the rows of the grid, the same from one process and from a Dask cluster, whole or not there."""

import csv
import itertools
import resource
import subprocess
import sys

import pytest

import symroof as sr
from symroof.errors import SymroofError
from symroof.exploration import sweep

pytest.importorskip("numpy")
MATMUL = "bf16[B, D] * bf16[D, F] -> bf16[B, F]"
GRID = "B=1:900, D=F=64|128"
OPTIONS = {"on": "tpu-v5e", "of": "intensity,T_lower"}


@pytest.fixture
def small_chunks(monkeypatch):
    monkeypatch.setattr(sweep, "AHEAD", 3)
    monkeypatch.setattr(sweep.Sweep.columns, "__defaults__", (11,))
    monkeypatch.setattr(sweep, "CHUNK", 11)


def rows_of(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_rows_are_those_of_the_grid(tmp_path, small_chunks):
    sr.sweep(MATMUL, "B=3:50:7, D=1:40:log, F=5|2|9", tmp_path / "x.csv", of="intensity")
    lines = (tmp_path / "x.csv").read_text("utf-8").splitlines()
    points = list(itertools.product((3, 10, 17, 24, 31, 38, 45), (1, 2, 4, 8, 16, 32), (5, 2, 9)))
    assert lines[0] == "B,D,F,intensity"
    assert [tuple(map(int, line.split(",")[:3])) for line in lines[1:]] == points
    for line, (b, d, f) in zip(lines[1:], points, strict=True):
        assert float(line.split(",")[3]) == pytest.approx(b * d * f / (b * d + d * f + b * f), rel=1e-14)


def test_parquet_has_the_same_numbers(tmp_path, small_chunks):
    parquet = pytest.importorskip("pyarrow.parquet")
    for name in ("a.parquet", "a.csv"):
        assert sr.sweep(MATMUL, "B=1:50, D=F=64", tmp_path / name, **OPTIONS) == 50
    columns = parquet.read_table(tmp_path / "a.parquet").to_pydict()
    rows = rows_of(tmp_path / "a.csv")
    assert list(columns) == list(rows[0])
    for name, column in columns.items():
        assert [float(row[name]) for row in rows] == list(map(float, column))


@pytest.mark.thorough
def test_a_dask_cluster_computes_the_same_bytes(tmp_path, run, small_chunks):
    distributed = pytest.importorskip("distributed")
    sr.sweep(MATMUL, GRID, tmp_path / "one.csv", **OPTIONS)
    with distributed.Client(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None) as client:
        sr.sweep(MATMUL, GRID, tmp_path / "dask.csv", executor=client.get_executor(), **OPTIONS)
    assert (tmp_path / "dask.csv").read_bytes() == (tmp_path / "one.csv").read_bytes()
    done = run("sweep", MATMUL, "--grid", "B=1:4, D=F=8", "-o", str(tmp_path / "x.csv"), "--dask", "nonsense")
    assert done.code == 2
    assert "no Dask scheduler at 'nonsense'" in done.err


def test_a_file_is_whole_or_not_there(tmp_path):
    """Where the disk is full, and where the table before it stays what it was."""
    out = tmp_path / "x.csv"
    out.write_text("as it was")
    command = [sys.executable, "-m", "symroof", "sweep", MATMUL, "--on", "tpu-v5e", "--grid", "B=1:9000, D=F=64", "-o"]
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))  # noqa: E731
    done = subprocess.run([*command, str(out)], capture_output=True, text=True, preexec_fn=limit)
    assert done.returncode == 2
    assert "cannot be written" in done.stderr
    assert out.read_text() == "as it was"
    assert list(tmp_path.iterdir()) == [out]


def test_what_cannot_be_written_is_refused(tmp_path):
    (tmp_path / "x.csv").mkdir()
    for grid, name, wrong in (
        ("B=1:10000000, D=1:10000000, F=1:10", "y.csv", "does not end"),
        ("B=1:4, D=F=8", "x.csv", "is a folder"),
        ("B=1:4, D=F=8", "x.txt", "is no table"),
    ):
        with pytest.raises(SymroofError, match=wrong):
            sr.sweep(MATMUL, grid, tmp_path / name, of="intensity")
    with pytest.raises(SymroofError, match="too many to hold"):
        sr.sweep(MATMUL, "B=1:10000000, D=F=8|9", of="intensity")
    assert [path.name for path in tmp_path.iterdir()] == ["x.csv"]
