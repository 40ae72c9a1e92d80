"""How many small changes of the source do the tests notice? A sample, drawn by a seed; each change runs the tests of its line.

    python benchmarks/mutation.py --seed 7 --count 150
    python benchmarks/mutation.py --count 30 --lines FILE    # FILE: lines such as symroof/formula.py or symroof/formula.py:10-40

The checkout is never changed: two copies of the tree are, one for each process at work. Which test runs which line is
learned under ``coverage``, and kept for each file of tests: it is learned anew where the tests of the file have changed,
or a module of the sample that they run. What was learned before an interruption stays.
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
PARTS = (
    "symroof",
    "templates",
    "tests",
    "examples",
    "benchmarks",
    "docs",
    ".ci",
    "pyproject.toml",
    "mkdocs.yml",
    "README.md",
    "README.ko.md",
    "README.zh.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "LICENSE",
)
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "symroof-mutation"
OPTIONS = [
    "-q",
    "-W",
    "ignore::pytest.PytestAssertRewriteWarning",
    "-p",
    "no:xdist",
    "-p",
    "no:cacheprovider",
    "-o",
    "addopts=--doctest-modules --doctest-glob=python.md --import-mode=importlib",
]
START = 60  # seconds that collecting may take; a test may take ten times what it took, and this many seconds more:
PATIENCE = 15
PRELOADED = (
    "sympy",
    "z3",
    "pytest",
    "hypothesis",
    "hypothesis.extra",
    "numpy",
    "jinja2",
    "rich.console",
    "click",
    "coverage",
)


def digest(*paths: Path) -> str:
    return hashlib.sha256(b"".join(path.as_posix().encode() + path.read_bytes() for path in paths)).hexdigest()[:16]


def sources() -> dict[str, str]:
    """The modules of the package, and what is in them."""
    return {path.relative_to(ROOT).as_posix(): digest(path) for path in sorted((ROOT / "symroof").rglob("*.py"))}


def own_digest(name: str) -> str:
    """What is in a file of tests, and in what the tests share; of doctests, in nothing but the modules."""
    helpers = [path for path in sorted((ROOT / "tests").rglob("*.py")) if not path.name.startswith("test_")]
    return digest(*helpers, *([ROOT / name] if (ROOT / name).is_file() else []))


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
        for module in [
            m for m in sys.modules.values() if (getattr(m, "__file__", None) or "").startswith(f"{self.root}/")
        ]:
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


def learned(job: tuple[Path, str]) -> tuple[str, dict[str, Any]]:
    """What the tests of one file run."""
    import pytest

    root, name = job
    in_tree(root)
    inside = (
        sorted(p.relative_to(root).as_posix() for p in (root / name).rglob("*.py"))
        if (root / name).is_dir()
        else [name]
    )
    plugin = Lines(root, set(inside))
    pytest.main([*OPTIONS, f"--rootdir={root}", name], plugins=[plugin])
    return name, plugin.result()


def stored(name: str) -> Path:
    return CACHE / f"{name.replace('/', '.')}.json"


def known_of(name: str) -> dict[str, Any] | None:
    """What was learned of a file of tests; None where it has changed since."""
    with contextlib.suppress(OSError, ValueError):
        found: dict[str, Any] = json.loads(stored(name).read_text())
        return found if found["own"] == own_digest(name) else None
    return None


def line_map(jobs: int, wanted: set[str]) -> dict[str, Any]:
    """Seconds of each test, and the tests that run each line of the wanted modules."""
    now, tests = sources(), sorted(p.relative_to(ROOT).as_posix() for p in (ROOT / "tests").rglob("test_*.py"))
    maps = {name: known_of(name) for name in [*tests, "symroof", "docs"]}

    def is_known(found: dict[str, Any] | None) -> bool:
        return found is not None and all(
            found["sources"].get(path) == now[path]
            for path in wanted & ({*found["lines"]} | now.keys() - found["sources"].keys())
        )

    missing = [name for name, found in maps.items() if not is_known(found)]
    if missing:
        print(f"learning which test runs which line: {len(missing)} files …", file=sys.stderr, flush=True)
        CACHE.mkdir(parents=True, exist_ok=True)
        with (
            tempfile.TemporaryDirectory(prefix="symroof-mutation-") as folder,
            get_context("fork").Pool(jobs, maxtasksperchild=1) as pool,
        ):
            root = copied(Path(folder).resolve())
            for name, found in pool.imap_unordered(learned, [(root, name) for name in missing]):
                maps[name] = {"own": own_digest(name), "sources": now, **found}
                stored(name).write_text(json.dumps(maps[name]))
    seconds: dict[str, float] = {}
    lines: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    failed = []
    for found in maps.values():
        assert found is not None
        seconds |= found["seconds"]
        failed += found["failed"]
        for path, runs in found["lines"].items():
            for line, each in runs.items() if found["sources"].get(path) == now.get(path) else ():
                lines[path][str(line)] += each
    if failed:
        print(f"not used, because they do not pass unchanged: {', '.join(failed)}", file=sys.stderr)
    return {"seconds": seconds, "lines": lines}


def tests_of(change: Change, known: dict[str, Any]) -> dict[str, float]:
    """The tests that run the line, with their seconds.

    A line without a trace of its own, such as ``continue``, is one of its function; what runs at import counts for all
    that runs in the file.
    """
    runs, seconds = known["lines"].get(change.path, {}), known["seconds"]

    def running(first: int, last: int) -> dict[str, float]:
        return {test: seconds[test] for line in range(first, last + 1) for test in runs.get(str(line), ())}

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
        order = {
            test: (round(math.log(0.01 + seconds, 4)), test.split("::")[0]) for test, seconds in self.tests.items()
        }
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
            code = int(
                pytest.main([*OPTIONS, "-x", f"--rootdir={WORKPLACE}", *files], plugins=[Chosen(tests, announce)])
            )
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
    return any(
        (e["module"], e["line"], e["change"]) == (change.path, line, f"{change.before} -> {change.after}")
        for e in listed
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--count", type=int, default=150)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--patience",
        type=float,
        default=1,
        help="by what the limits of time are multiplied, on a machine that is at work",
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=math.inf,
        help="for each change only the fastest tests, together so long: a quick first look",
    )
    parser.add_argument("--lines", type=Path, help="a file of paths, or paths with lines: symroof/formula.py:10-40")
    given = parser.parse_args()
    for name in PRELOADED:
        with contextlib.suppress(ImportError):
            __import__(name)
    every = restricted(
        [c for path in sorted((ROOT / "symroof").rglob("*.py")) for c in changes(ROOT, path)], given.lines
    )
    sample = random.Random(given.seed).sample(every, min(given.count, len(every)))
    listed = tomllib.loads((ROOT / "benchmarks" / "equivalent.toml").read_text("utf-8"))["equivalent"]
    for entry in listed:
        if entry["line"] not in map(
            str.strip,
            (ROOT / entry["module"]).read_text("utf-8").splitlines() if (ROOT / entry["module"]).exists() else (),
        ):
            print(f"equivalent.toml: {entry['module']} has no line {entry['line']!r}", file=sys.stderr)
    known = line_map(given.jobs, {c.path for c in sample})
    jobs = [
        (c, quickest(tests_of(c, known), given.seconds), given.patience) for c in sample if not is_equivalent(c, listed)
    ]
    seen: Counter[str] = Counter()
    with (
        tempfile.TemporaryDirectory(prefix="symroof-mutation-") as folder,
        ProcessPoolExecutor(
            given.jobs, get_context("fork"), initializer=prepared, initargs=(Path(folder).resolve(),)
        ) as pool,
    ):
        for i, done in enumerate(as_completed([pool.submit(noticed, job) for job in jobs]), 1):
            change, how, seconds = done.result()
            seen[how] += 1
            if sys.stderr.isatty():
                print(f"\r{i} of {len(jobs)} ", end="", file=sys.stderr, flush=True)
            if how != "noticed":
                print(
                    f"{change.path}:{change.first}  {how} ({seconds:.0f} s)\n    - {change.before}\n    + {change.after}",
                    flush=True,
                )
    late = seen["noticed by time"]
    print(
        f"{seen['noticed'] + late} of {len(jobs)} noticed ({late} of these by time), of {len(every)} changes; {len(sample) - len(jobs)} more are listed as equivalent"
    )


if __name__ == "__main__":
    main()
