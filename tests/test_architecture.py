"""The house: which way imports run, and what lives behind one door."""

import ast
import re
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import symroof as sr

PACKAGE = Path(__file__).parent.parent / "symroof"
SOURCES = {
    p.relative_to(PACKAGE.parent).with_suffix("").as_posix().replace("/", ".").removesuffix(".__init__"): p
    for p in PACKAGE.rglob("*.py")
}

# From the ground up. A room imports from the rooms of the floors below it, and from itself; rooms of one floor are blind to each other.
FLOORS = "errors|formula|symbols|model algebra proof|reading derivation|verification exploration tracing"
FLOORS = [floor.split() for floor in f"{FLOORS}|rendering|building|api|cli|sphinx mkdocs".split("|")]
LOWER = [{below for floor in FLOORS[:height] for below in floor} for height in range(len(FLOORS))]
BELOW = {room: lower for lower, floor in zip(LOWER, FLOORS, strict=True) for room in floor}
BELOW |= {"proof": {"errors", "formula"}, "__main__": {"cli"}, "": {"errors"}}
COMMANDS = "document_commands options question_commands trace_command"
ONLY_IN = {
    "jinja2": {"symroof.rendering.pages.templating", "symroof.rendering.pages.sandbox"},
    "latexify": {"symroof.rendering.formulas.tex"},
    "z3": {"symroof.proof.prover"},
    "tomllib": {"symroof.reading.toml"},
    "markdown_it": {"symroof.reading.markup"},
    "click": {"symroof.cli", *(f"symroof.cli.{command}" for command in COMMANDS.split())},
    "jax": {"symroof.tracing.jaxprs"},
    "torch": {"symroof.tracing.fx_graphs"},
    "rich": {"symroof.cli.options"},
    "numpy": {"symroof.derivation.evaluation", "symroof.exploration.sweep"},
    "pyarrow": {"symroof.exploration.sweep"},
    "matplotlib": {"symroof.rendering.figures.sheet"},
    "ast": {"symroof.model.given_costs", "symroof.rendering.formulas.tex"},
}
FORBIDDEN = {"sympify", "simplify", "nsimplify", "parse_expr", "eval", "exec", "solve", "compile"}


SOLVERS = {"symroof.algebra.solvers"}


def room(module):
    parts = module.split(".")
    return "" if len(parts) == 1 or parts[1] == "__init__" else parts[1]


def called(module, node):
    """What a call in a module does that no module may do, or only another."""
    bare = isinstance(node.func, ast.Name)
    name = node.func.id if bare else getattr(node.func, "attr", "")
    if (bare and name in FORBIDDEN) or name in ("sympify", "simplify", "nsimplify"):
        yield f"{module} calls {name}"
    if name in ("Symbol", "symbols", "Dummy") and bare and module != "symroof.symbols":
        yield f"{module} makes a symbol"
    if name == "print" and bare and not module.startswith("symroof.cli"):
        yield f"{module} prints"
    # everything is a program: a product on one line and an operation that is given by its costs as well
    if name == "isinstance" and room(module) != "model" and re.search(r"\bProgram\b", ast.unparse(node.args[1])):
        yield f"{module} asks whether an operation is a program"


def imported(module, name):
    """What an import of a module breaks: the order of the floors, or the one door of a library."""
    # the package itself tells type checkers of the rooms of its public names
    if name.startswith("symroof.") and not (module == "symroof" and name in sr._ROOMS):
        if room(name) not in BELOW[room(module)] | {room(module)}:
            yield f"{module} imports {name}, which is no floor below"
        if name in SOLVERS and room(module) != "algebra" and module != "symroof.derivation.solving":
            yield f"{module} imports {name} beside the one importer of the solvers"
    library = name.split(".")[0]
    if module not in ONLY_IN.get(library, {module}):
        yield f"{module} imports {name} beside its one door"
    if module.startswith("symroof.proof.") and library in ("sympy", "mpmath"):
        yield f"{module} of the second engine sees {name}, which makes the steps"


def faults(module, tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield from called(module, node)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                yield from imported(module, alias.name)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from imported(module, node.module)
            for name in SOLVERS & {f"{node.module}.{alias.name}" for alias in node.names}:
                yield from imported(module, name)


def heads(tree):
    """The modules of the package that a module imports before anything runs."""
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("symroof."):
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_imports_run_in_one_direction():
    """Imports run one way and not in a circle, libraries live behind one door, and nothing guesses: one look at every module."""
    trees = {module: ast.parse(path.read_text("utf-8")) for module, path in SOURCES.items()}
    assert [fault for module, tree in trees.items() for fault in faults(module, tree)] == []
    TopologicalSorter({m: {n for n in heads(tree) if n in trees and n != m} for m, tree in trees.items()}).prepare()


FAULTS = {
    ("model.splits", "from symroof.cli import main"): "which is no floor below",
    ("model.splits", "Symbol('x')"): "makes a symbol",
    ("model.splits", "print(1)"): "prints",
    ("model.splits", "x.simplify()"): "calls simplify",
    ("model.splits", "import z3"): "beside its one door",
    ("derivation.times", "from symroof.algebra import solvers"): "the one importer of the solvers",
    ("derivation.times", "isinstance(x, (Program, int))"): "asks whether",
    ("proof.calculus", "from sympy.core import Expr"): "of the second engine sees sympy.core",
}


@pytest.mark.parametrize(("module", "line"), FAULTS)
def test_a_fault_of_the_house_is_noticed(module, line):
    assert any(FAULTS[module, line] in one for one in faults(f"symroof.{module}", ast.parse(line)))


def test_modules_are_rooms_and_not_halls():
    """None is long, none is a box for everything, and no two have one name."""
    lines = {path: path.read_text("utf-8").count("\n") for path in SOURCES.values()}
    assert [path for path, count in lines.items() if count > 400] == []
    assert not {"utils", "helpers", "core", "base", "manager"} & {p for module in SOURCES for p in module.split(".")}
    names = [path.stem for path in SOURCES.values() if path.stem != "__init__"]
    assert sorted(names) == sorted(set(names))


HELP = [
    ["--version"],
    *([*one, "--help"] for one in ([], ["derive"], ["verify"], ["plot"], ["sweep"])),
    ["list", "words"],
]
CLAIM = ["verify", "claims.toml", "chapter.md"]
ROOMS = ["symroof.exploration", "symroof.rendering.figures"]
DERIVE = ["derive", "matmul", "--on", "tpu-v5e", "--brief"]


NEEDED = {
    "import": ([], ["sympy", "click"]),
    "help": (HELP, ["sympy", "jinja2", "z3", "rich", "numpy", "matplotlib"]),
    "claim": ([CLAIM], [*ROOMS, "symroof.building.build", "matplotlib", "numpy"]),
    "derive": ([DERIVE], [*ROOMS, "symroof.verification", "symroof.rendering.records", "concurrent.futures", "rich"]),
}


@pytest.mark.parametrize(
    "name", ["import", "help", *(pytest.param(n, marks=pytest.mark.thorough) for n in ("claim", "derive"))]
)
def test_nothing_is_loaded_that_is_not_needed(name, tmp_path):
    commands, heavy = NEEDED[name]
    (tmp_path / "claims.toml").write_text('operation = "matmul"\nclaims = ["intensity = 2B"]\n', "utf-8")
    (tmp_path / "chapter.md").write_text('<!-- symroof operation = "matmul" -->\n\n$2BD + 2DF + 2BF$\n', "utf-8")
    code = (
        "import sys, symroof\n"
        f"for arguments in {commands!r}:\n"
        "    from symroof.cli import main\n"
        "    try: main(arguments)\n    except SystemExit as end: assert end.code in (None, 0, 1)\n"
        f"print([m for m in sys.modules if m.startswith({tuple(heavy)!r})])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.splitlines()[-1] == "[]"
    assert ("1 wrong" in done.stdout) == (commands == [CLAIM])
