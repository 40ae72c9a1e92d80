"""How large the house is, counted: ``python tests/ratchet.py`` prints it beside its limits, ``--lower`` lowers the limits to it.

Limits stand in ``tests/data/ratchet.toml`` and only fall. A loan there, by name, is what unfinished work holds above a limit.
``tests/data/complex_functions.toml`` says why a function is complex.
``--quick-run`` runs the quick tests, and measures their processor time as a multiple of that of ``python -c "import sympy"``.
"""

from __future__ import annotations

import ast
import re
import resource
import statistics
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
TABLE = ROOT / "tests" / "data" / "ratchet.toml"
REASONS = ROOT / "tests" / "data" / "complex_functions.toml"
COMPLEX, LONG = 20, 40
SLACK = 1.1  # of the quick run, which is measured and not counted
BRANCHES = (ast.If, ast.IfExp, ast.For, ast.While, ast.ExceptHandler, ast.Assert, ast.comprehension, ast.match_case)
Function = ast.FunctionDef | ast.AsyncFunctionDef


def lines(folder: str, *suffixes: str, without: tuple[str, ...] = ()) -> int:
    """Lines of the files of a folder that end in one of the suffixes."""
    paths = (path for path in (ROOT / folder).rglob("*") if path.suffix in suffixes)
    mine = (path for path in paths if not set(without) & set(path.relative_to(ROOT).parts))
    return sum(len(path.read_text("utf-8").splitlines()) for path in mine)


def complexity(function: ast.AST) -> int:
    """1, and 1 for each branch, loop, handler, comprehension, condition of one, case, and operand of and/or beyond the first."""
    found = 1
    for node in ast.walk(function):
        found += isinstance(node, BRANCHES)
        found += len(node.ifs) if isinstance(node, ast.comprehension) else 0
        found += len(node.values) - 1 if isinstance(node, ast.BoolOp) else 0
    return found


def functions(tree: ast.AST) -> Iterator[Function]:
    return (node for node in ast.walk(tree) if isinstance(node, Function))


def length(function: Function) -> int:
    return (function.end_lineno or 0) - function.lineno + 1


def inner_imports(function: Function) -> int:
    """Imports of the package inside of a function, but for those inside of another one in it."""
    own = (node for part in function.body for node in ast.walk(part) if isinstance(node, ast.ImportFrom))
    inner = sum(inner_imports(other) for part in function.body for other in functions(part))
    return sum((node.module or "").split(".")[0] == "symroof" for node in own) - inner


@cache
def complex_functions() -> set[str]:
    """Every function that is complex, as ``room/module.function``."""
    paths = (ROOT / "symroof").rglob("*.py")
    trees = {path.relative_to(ROOT / "symroof").with_suffix(""): ast.parse(path.read_text("utf-8")) for path in paths}
    return {f"{name}.{f.name}" for name, tree in trees.items() for f in functions(tree) if complexity(f) > COMPLEX}


@cache
def counts() -> dict[str, int]:
    """Every number that is held."""
    texts = [path.read_text("utf-8") for path in sorted((ROOT / "symroof").rglob("*.py"))]
    every = [function for text in texts for function in functions(ast.parse(text))]
    return {
        "package": sum(len(text.splitlines()) for text in texts),
        "modules": len(texts),
        "tests": lines("tests", ".py"),
        "templates": lines("templates", ".j2", ".phrases", ".js", ".css"),
        "complex_functions": len(complex_functions()),
        "long_functions": sum(length(function) > LONG for function in every),
        "inner_imports": sum(map(inner_imports, every)),
        "lines_with_any": sum(len(re.findall(r"^.*\bAny\b.*$", text, re.M)) for text in texts),
    }


def read(text: str) -> tuple[dict[str, int], dict[str, dict[str, int]]]:
    """The limits of a table, and its loans: a name, and how much it holds above which limit."""
    parts = tomllib.loads(text)
    return parts["limits"], parts.get("loans", {})


def table() -> tuple[dict[str, int], dict[str, dict[str, int]]]:
    return read(TABLE.read_text("utf-8"))


def allowed(name: str) -> int:
    """A limit with what is lent."""
    limits, loans = table()
    return limits[name] + sum(loan.get(name, 0) for loan in loans.values())


def lower() -> None:
    """Write the numbers of today where they are less than the limits."""
    limits, loans = table()
    text = TABLE.read_text("utf-8")
    for name, count in counts().items():
        lent = sum(loan.get(name, 0) for loan in loans.values())
        text = re.sub(rf"(?m)^{name} = \d+", f"{name} = {min(limits[name], count - lent)}", text, count=1)
    TABLE.write_text(text, "utf-8")


def processor_time(*command: str) -> float:
    """Seconds of processor time that a command and all that it starts take; raises where it fails."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=ROOT, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def quick_run() -> float:
    """The quick run as a multiple of an import of SymPy, which is timed before and behind it."""

    def imports() -> list[float]:
        return [processor_time(sys.executable, "-c", "import sympy") for _ in range(4)]

    before, tests = imports(), processor_time(sys.executable, "-m", "pytest")
    return tests / statistics.median((*before, *imports()))


if __name__ == "__main__":
    if "--quick-run" in sys.argv:
        multiple, most = quick_run(), SLACK * table()[0]["quick_run"]
        print(f"quick run: {multiple:.0f} times an import of SymPy, of {most:.0f}")
        sys.exit(multiple > most)
    if "--lower" in sys.argv:
        lower()
    for name, count in counts().items():
        print(f"{name:20}{count:>8}  of {allowed(name)}")
