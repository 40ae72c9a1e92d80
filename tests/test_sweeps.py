"""Sweeps that are stopped: whatever happens, the same command ends with the same bytes, or says what is in its way."""

import contextlib
import itertools
import os
import random
import resource
import signal
import subprocess
import sys
import time

import pytest

import symroof as sr
from symroof.errors import SymroofError
from symroof.exploration.sweeping import held

pytest.importorskip("numpy")
MATMUL = "bf16[B, D] * bf16[D, F] -> bf16[B, F]"
GRID = "B=1:9000, D=F=64|128"
OPTIONS = {"on": "tpu-v5e", "of": "intensity,T_lower", "chunk": 500}


def command(out, *more):
    return [
        sys.executable,
        "-m",
        "symroof",
        "sweep",
        MATMUL,
        "--on",
        "tpu-v5e",
        "--grid",
        GRID,
        "--of",
        "intensity,T_lower",
        "--chunk",
        "500",
        "-o",
        str(out),
        *more,
    ]


def ended(out, *more, **options):
    return subprocess.run(command(out, *more), capture_output=True, text=True, timeout=120, **options)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "whole.csv"
    assert sr.sweep(MATMUL, GRID, path, **OPTIONS) == 18000
    return path.read_bytes()


def hears():
    """A process in the background of a shell would not hear an interrupt."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def parts_of(out):
    return len(list(out.with_name(f"{out.name}.parts").glob("*.csv")))


def stopped_at(out, parts):
    """A sweep that was stopped after so many parts."""

    def stop(done, _every):
        if done == parts:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sr.sweep(MATMUL, GRID, out, progress=stop, **OPTIONS)
    return sorted(out.with_name(f"{out.name}.parts").glob("*.csv"))


def test_the_rows_are_those_of_the_grid(tmp_path):
    grid = "B=3:50:7, D=1:40:log, F=5|2|9"
    sr.sweep(MATMUL, grid, tmp_path / "x.csv", of="intensity", chunk=11)
    lines = (tmp_path / "x.csv").read_text("utf-8").splitlines()
    points = list(itertools.product((3, 10, 17, 24, 31, 38, 45), (1, 2, 4, 8, 16, 32), (5, 2, 9)))
    assert lines[0] == "B,D,F,intensity"
    assert [tuple(map(int, line.split(",")[:3])) for line in lines[1:]] == points
    for line, (b, d, f) in zip(lines[1:], points, strict=True):
        assert float(line.split(",")[3]) == pytest.approx(b * d * f / (b * d + d * f + b * f), rel=1e-14)


@pytest.mark.thorough
@pytest.mark.parametrize("damage", [b"", "half", "changed", "gone"])
def test_a_damaged_part_is_written_again(tmp_path, whole, damage):
    out = tmp_path / "x.csv"
    parts = stopped_at(out, 9)
    assert len(parts) == 9
    data = parts[4].read_bytes()
    if damage == "gone":
        parts[4].unlink()
    else:
        parts[4].write_bytes({"half": data[: len(data) // 2], "changed": data.replace(b"1", b"2", 1)}.get(damage, b""))
    sr.sweep(MATMUL, GRID, out, **OPTIONS)
    assert out.read_bytes() == whole
    assert list(tmp_path.iterdir()) == [out]


def test_a_cut_part_of_parquet_is_written_again(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    out = tmp_path / "x.parquet"
    with pytest.raises(KeyboardInterrupt):
        sr.sweep(
            MATMUL,
            "B=1:20, D=F=64",
            out,
            of="intensity",
            chunk=5,
            progress=lambda done, _: (_ for _ in ()).throw(KeyboardInterrupt) if done == 3 else None,
        )
    for part in sorted((tmp_path / "x.parquet.parts").glob("*.parquet"))[:2]:
        part.write_bytes(part.read_bytes()[:-7])
    sr.sweep(MATMUL, "B=1:20, D=F=64", out, of="intensity", chunk=5)
    assert parquet.read_table(out)["B"].to_pylist() == list(range(1, 21))


@pytest.mark.thorough
@pytest.mark.parametrize("jobs", [(), ("-j", "2")], ids=["one process", "several"])
def test_killed_at_any_moment_it_goes_on(tmp_path, whole, jobs):
    out, draw = tmp_path / "x.csv", random.Random(len(jobs))
    seen = 0
    for _ in range(2):
        process = subprocess.Popen(command(out, *jobs), stderr=subprocess.DEVNULL, start_new_session=True)
        while process.poll() is None and parts_of(out) <= seen:
            time.sleep(0.005)
        time.sleep(draw.uniform(0, 0.1))
        with contextlib.suppress(ProcessLookupError):  # it was done before
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        seen = parts_of(out)
    assert ended(out, *jobs).returncode == 0
    assert out.read_bytes() == whole


@pytest.mark.thorough
def test_a_worker_that_dies_is_an_error_and_its_work_is_done_again(tmp_path, whole):
    out = tmp_path / "x.csv"
    process = subprocess.Popen(command(out, "-j", "2"), stderr=subprocess.PIPE, text=True)
    folder = tmp_path / "x.csv.parts"
    while process.poll() is None and not list(folder.glob("*.csv")):
        time.sleep(0.01)
    children = subprocess.run(
        ["pgrep", "-P", str(process.pid), "-f", "spawn_main"], capture_output=True, text=True
    ).stdout.split()
    for child in children[:1]:
        os.kill(int(child), signal.SIGKILL)
    _, err = process.communicate(timeout=60)
    assert process.returncode in (0, 2)  # 0 where it was done before
    assert "Traceback" not in err
    assert ended(out).returncode == 0
    assert out.read_bytes() == whole


@pytest.mark.thorough
def test_dask_goes_on_without_a_worker_that_is_lost(tmp_path, whole):
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        lost = []

        def lose(done, _every):
            if done >= 2 and not lost:
                lost.append(client.run(os.getpid))
                os.kill(next(iter(lost[0].values())), signal.SIGKILL)

        sr.sweep(MATMUL, GRID, tmp_path / "x.csv", executor=client.get_executor(), progress=lose, **OPTIONS)
    assert lost
    assert (tmp_path / "x.csv").read_bytes() == whole


@pytest.mark.thorough
@pytest.mark.parametrize("jobs", [(), ("-j", "2")], ids=["one process", "several"])
def test_an_interrupt_ends_quietly(tmp_path, jobs):
    process = subprocess.Popen(
        command(tmp_path / "x.csv", "--chunk", "20", *jobs),
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=hears,
    )
    while process.poll() is None and not list((tmp_path / "x.csv.parts").glob("*.csv")):
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert "Error" not in err


@pytest.mark.thorough
def test_two_at_once_do_not_mix(tmp_path, whole):
    out = tmp_path / "x.csv"
    with held(tmp_path / "x.csv.parts"):
        done = ended(out)
        assert done.returncode == 2
        assert "another process is at work" in done.stderr
    both = [subprocess.Popen(command(out), stderr=subprocess.PIPE, text=True) for _ in range(2)]
    texts = [process.communicate(timeout=120)[1] for process in both]
    assert {process.returncode for process in both} <= {0, 2}
    assert 0 in {process.returncode for process in both}
    assert not any("Traceback" in text or "internal" in text for text in texts)
    assert out.read_bytes() == whole


@pytest.mark.thorough
def test_a_full_disk_is_an_error_and_the_work_goes_on_later(tmp_path, whole):
    out = tmp_path / "x.csv"
    done = ended(out, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000)))
    assert done.returncode == 2
    assert "cannot be written" in done.stderr
    assert "go on" in done.stderr
    assert not out.exists()
    assert ended(out).returncode == 0
    assert out.read_bytes() == whole


def test_what_cannot_end_is_refused(tmp_path):
    for grid, chunk in (("B=1:10000000, D=1:10000000, F=1:10", 65536), ("B=1:10000000, D=F=8", 1)):
        with pytest.raises(SymroofError, match=r"does not end|more than 1000000 chunks"):
            sr.sweep(MATMUL, grid, tmp_path / "x.csv", chunk=chunk)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.thorough
def test_a_scheduler_that_is_none(run, tmp_path):
    pytest.importorskip("distributed")
    done = run("sweep", MATMUL, "--grid", "B=1:4, D=F=8", "-o", str(tmp_path / "x.csv"), "--dask", "nonsense")
    assert done.code == 2
    assert "no Dask scheduler at 'nonsense'" in done.err
