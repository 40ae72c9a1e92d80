"""How many small changes of the source do the tests notice? A sample, drawn by a seed; each change runs the tests of its line.

    python benchmarks/mutation.py --seed 7 --count 150
    python benchmarks/mutation.py --count 30 --lines FILE    # FILE: lines such as symroof/formula.py or symroof/formula.py:10-40

The checkout is never changed: two copies of the tree are, one for each process at work. The tests are run once under
``coverage`` to learn which test runs which line; the map is kept in a cache folder for as long as the tree is the same.
A process that has SymPy, z3 and pytest in memory forks for every change, so a change costs its tests and little else.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import math
import os
import random
import select
import shutil
import signal
import sys
import tempfile
import time
import tomllib
from collections import Counter, defaultdict
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from source_changes import Change, changes

ROOT = Path(__file__).resolve().parent.parent
PARTS = ("symroof", "templates", "tests", "examples", "benchmarks", ".ci", "pyproject.toml", "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE")
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "symroof-mutation"
OPTIONS = ["-q", "-W", "ignore::pytest.PytestAssertRewriteWarning", "-p", "no:xdist", "-p", "no:cacheprovider", "-o", "addopts=--doctest-modules --doctest-glob=README.md --import-mode=importlib"]
START = 60  # seconds that collecting may take; a test may take ten times what it took, and this many seconds more:
PATIENCE = 15
PRELOADED = ("sympy", "z3", "pytest", "hypothesis", "hypothesis.extra", "numpy", "jinja2", "rich.console", "click", "coverage")


def tree_hash() -> str:
    files = sorted(p for part in PARTS for p in ([ROOT / part] if (ROOT / part).is_file() else (ROOT / part).rglob("*")) if p.is_file() and p.suffix != ".pyc")
    return hashlib.sha256(b"".join(p.as_posix().encode() + p.read_bytes() for p in files)).hexdigest()[:16]


def copied(folder: Path) -> Path:
    for part in PARTS:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
        elif (ROOT / part).exists():
            shutil.copy2(ROOT / part, folder / part)
    return folder


class Lines:
    """A pytest plugin: which test runs which line, how long it takes, and whether it passes."""

    def __init__(self, root: Path, files: set[str]) -> None:
        import coverage

        self.root, self.files, self.seconds = root, files, {}
        self.failed, self.unused = set(), set()
        self.coverage = coverage.Coverage(data_file=None, include=[f"{root}/symroof/*"], config_file=False)
        self.coverage.start()

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items[:] = [item for item in items if item.nodeid.split("::")[0] in self.files]

    def pytest_make_collect_report(self, collector: Any) -> None:
        self.coverage.switch_context(collector.nodeid.split("::")[0])

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        for module in [m for m in sys.modules.values() if (getattr(m, "__file__", None) or "").startswith(f"{self.root}/")]:
            for value in list(vars(module).values()):
                if hasattr(value, "cache_clear"):
                    value.cache_clear()  # a line that a test of before ran for this one counts for this one
        self.coverage.switch_context(nodeid)

    def pytest_fixture_setup(self, fixturedef: Any, request: Any) -> None:
        if fixturedef.scope != "function":  # every test of the file depends on it
            self.coverage.switch_context(request.node.nodeid.split("::")[0])

    def pytest_runtest_call(self, item: Any) -> None:
        self.coverage.switch_context(item.nodeid)

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0) + report.duration
        if report.outcome != "passed":
            self.unused.add(report.nodeid)
        if report.failed:
            self.failed.add(report.nodeid)

    def result(self) -> dict[str, Any]:
        self.coverage.stop()
        data, runs = self.coverage.get_data(), {}
        passed = {test: time for test, time in self.seconds.items() if test not in self.unused}
        by_file = defaultdict(list)
        for test in passed:
            by_file[test.split("::")[0]].append(test)
        for name in data.measured_files():
            runs[Path(name).relative_to(self.root).as_posix()] = {
                line: sorted({test for context in contexts for test in ([context] if context in passed else by_file[context])})
                for line, contexts in data.contexts_by_lineno(name).items()
            }  # fmt: skip
        return {"seconds": passed, "lines": runs, "failed": sorted(self.failed)}


def in_tree(root: Path) -> None:
    """Make this process one that tests the tree: its folder, its modules, nothing printed."""
    import hypothesis

    os.chdir(root)
    sys.path.insert(0, str(root))
    os.environ["PYTHONPATH"] = str(root)
    sys.dont_write_bytecode = True
    phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
    hypothesis.settings.register_profile("mutation", database=None, derandomize=True, deadline=None, phases=phases)
    hypothesis.settings.load_profile("mutation")
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)


def mapped_half(job: tuple[Path, int, int]) -> dict[str, Any]:
    import pytest

    root, which, of = job
    in_tree(root)
    files = sorted(p.relative_to(root).as_posix() for part in ("tests", "symroof") for p in (root / part).rglob("*.py"))
    plugin = Lines(root, set(["README.md", *files][which::of]))
    pytest.main([*OPTIONS, f"--rootdir={root}", "tests", "symroof", "README.md"], plugins=[plugin])
    return plugin.result()


def line_map(jobs: int) -> dict[str, Any]:
    """Seconds of each test, and the tests that run each line; from the cache where the tree has not changed."""
    stored = CACHE / f"{tree_hash()}.json"
    if not stored.exists():
        print("learning which test runs which line …", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory(prefix="symroof-mutation-") as name:
            root = copied(Path(name).resolve())
            with ProcessPoolExecutor(jobs, get_context("fork")) as pool:
                halves = list(pool.map(mapped_half, [(root, which, jobs) for which in range(jobs)]))
        seconds = {test: time for half in halves for test, time in half["seconds"].items()}
        place = {test: i for i, test in enumerate(seconds)}
        lines: dict[str, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
        for half in halves:
            for path, runs in half["lines"].items():
                for line, tests in runs.items():
                    lines[path][line] += [place[test] for test in tests]
        CACHE.mkdir(parents=True, exist_ok=True)
        stored.write_text(json.dumps({"seconds": seconds, "lines": lines, "failed": [test for half in halves for test in half["failed"]]}))
    found = json.loads(stored.read_text())
    if found["failed"]:
        print(f"not used, because they do not pass unchanged: {', '.join(found['failed'])}", file=sys.stderr)
    return found


def tests_of(change: Change, known: dict[str, Any]) -> dict[str, float]:
    """The tests that run the line, with their seconds.

    A line without a trace of its own, such as ``continue``, is one of its function; what runs at import counts for all
    that runs in the file.
    """
    runs, seconds = known["lines"].get(change.path, {}), list(known["seconds"].items())

    def running(first: int, last: int) -> dict[str, float]:
        return dict(seconds[i] for line in range(first, last + 1) for i in runs.get(str(line), ()))

    own = running(change.first, change.last) if change.scope else {}
    return own or running(*(change.scope or (0, max(map(int, runs), default=0))))


def quickest(tests: dict[str, float], seconds: float) -> dict[str, float]:
    """The tests that together take so many seconds, the fastest first; at least one."""
    chosen: dict[str, float] = {}
    for test in sorted(tests, key=tests.__getitem__):
        if chosen and (seconds := seconds - tests[test]) < 0:
            break
        chosen[test] = tests[test]
    return chosen


class Chosen:
    """A pytest plugin: the chosen tests, the fastest first and those of one file together; each is announced."""

    def __init__(self, tests: dict[str, float], announce: int) -> None:
        self.tests, self.announce = tests, announce

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        order = {test: (round(math.log(0.01 + seconds, 4)), test.split("::")[0]) for test, seconds in self.tests.items()}
        items[:] = sorted((item for item in items if item.nodeid in order), key=lambda item: order[item.nodeid])

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        os.write(self.announce, f"{PATIENCE + 10 * self.tests[nodeid]}\n".encode())


WORKPLACE: Path


def prepared(folder: Path) -> None:
    global WORKPLACE
    import compileall

    WORKPLACE = copied(Path(tempfile.mkdtemp(dir=folder)))
    compileall.compile_dir(WORKPLACE / "symroof", quiet=1)


def noticed(job: tuple[Change, dict[str, float], float]) -> tuple[Change, str, float]:
    """Change the copy, run the tests in a fork, put the copy right again."""
    change, tests, patience = job
    started, path = time.time(), WORKPLACE / change.path
    original = path.read_bytes()
    for stale in (path.parent / "__pycache__").glob(f"{path.stem}.*"):
        stale.unlink()
    path.write_bytes(original[: change.start] + change.after.encode() + original[change.stop :])
    try:
        how = "no test runs it" if not tests else run(tests, patience)
    finally:
        path.write_bytes(original)
    return change, how, time.time() - started


def run(tests: dict[str, float], patience: float) -> str:
    listening, announce = os.pipe()
    child = os.fork()
    if not child:
        os.close(listening)  # so that announcing a test to nobody ends this process
        code = 3
        with contextlib.suppress(BaseException):
            import pytest

            in_tree(WORKPLACE)
            os.setsid()
            files = sorted({test.split("::")[0] for test in tests})
            code = int(pytest.main([*OPTIONS, "-x", f"--rootdir={WORKPLACE}", *files], plugins=[Chosen(tests, announce)]))
        os._exit(code)
    os.close(announce)
    allowed, late = START * patience, False
    while select.select([listening], [], [], allowed)[0]:
        lines = os.read(listening, 65536).decode().split()
        if not lines:
            break
        allowed = float(lines[-1]) * patience
    else:
        os.kill(child, signal.SIGKILL)
        late = True
    os.close(listening)
    status = os.waitpid(child, 0)[1]
    return "noticed by time" if late else "survived" if status == 0 else "noticed"


def restricted(every: list[Change], file: Path | None) -> list[Change]:
    if file is None:
        return every
    wanted: dict[str, set[int] | None] = {}
    for entry in file.read_text().split():
        name, _, span = entry.partition(":")
        first, _, last = span.partition("-")
        wanted[name] = set(range(int(first), int(last or first) + 1)) | (wanted.get(name) or set()) if span else None
    return [c for c in every if c.path in wanted and (wanted[c.path] is None or c.first in wanted[c.path])]


def is_equivalent(change: Change, listed: list[dict[str, str]]) -> bool:
    line = (ROOT / change.path).read_text("utf-8").splitlines()[change.first - 1].strip()
    return any((e["module"], e["line"], e["change"]) == (change.path, line, f"{change.before} -> {change.after}") for e in listed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--count", type=int, default=150)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--patience", type=float, default=1, help="by what the limits of time are multiplied, on a machine that is at work")
    parser.add_argument("--seconds", type=float, default=math.inf, help="for each change only the fastest tests, together so long: a quick first look")
    parser.add_argument("--lines", type=Path, help="a file of paths, or paths with lines: symroof/formula.py:10-40")
    given = parser.parse_args()
    for name in PRELOADED:
        with contextlib.suppress(ImportError):
            __import__(name)
    known = line_map(given.jobs)
    every = restricted([c for path in sorted((ROOT / "symroof").rglob("*.py")) for c in changes(ROOT, path)], given.lines)
    sample = random.Random(given.seed).sample(every, min(given.count, len(every)))
    listed = tomllib.loads((ROOT / "benchmarks" / "equivalent.toml").read_text("utf-8"))["equivalent"]
    for entry in listed:
        if entry["line"] not in map(str.strip, (ROOT / entry["module"]).read_text("utf-8").splitlines() if (ROOT / entry["module"]).exists() else ()):
            print(f"equivalent.toml: {entry['module']} has no line {entry['line']!r}", file=sys.stderr)
    jobs = [(c, quickest(tests_of(c, known), given.seconds), given.patience) for c in sample if not is_equivalent(c, listed)]
    seen: Counter[str] = Counter()
    with (
        tempfile.TemporaryDirectory(prefix="symroof-mutation-") as folder,
        ProcessPoolExecutor(given.jobs, get_context("fork"), initializer=prepared, initargs=(Path(folder).resolve(),)) as pool,
    ):
        for i, done in enumerate(as_completed([pool.submit(noticed, job) for job in jobs]), 1):
            change, how, seconds = done.result()
            seen[how] += 1
            if sys.stderr.isatty():
                print(f"\r{i} of {len(jobs)} ", end="", file=sys.stderr, flush=True)
            if how != "noticed":
                print(f"{change.path}:{change.first}  {how} ({seconds:.0f} s)\n    - {change.before}\n    + {change.after}", flush=True)
    late = seen["noticed by time"]
    print(f"{seen['noticed'] + late} of {len(jobs)} noticed ({late} of these by time), of {len(every)} changes; {len(sample) - len(jobs)} more are listed as equivalent")


if __name__ == "__main__":
    main()
