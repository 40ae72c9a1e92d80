"""The house: which way imports run, and what lives behind one door."""

import ast
import re
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import symroof as sr

PACKAGE = Path(__file__).parent.parent / "symroof"
MODULES = {
    p.relative_to(PACKAGE.parent).with_suffix("").as_posix().replace("/", ".").removesuffix(".__init__"): ast.parse(
        p.read_text("utf-8")
    )
    for p in PACKAGE.rglob("*.py")
}

# From the ground up. A room imports from the rooms of the floors below it, and from itself; rooms of one floor are blind to each other.
FLOORS = [
    ["errors"],
    ["formula"],
    ["symbols"],
    ["weight"],
    ["model", "algebra", "proof"],
    ["reading", "derivation"],
    ["verification", "exploration", "tracing"],
    ["rendering"],
    ["building"],
    ["api"],
    ["cli"],
    ["sphinx", "mkdocs"],
]
BELOW = {
    room: {below for floor in FLOORS[:height] for below in floor}
    for height, floor in enumerate(FLOORS)
    for room in floor
}
BELOW |= {"proof": {"errors", "formula"}, "__main__": {"cli"}, "": {"errors"}}
ONLY_IN = {
    "jinja2": {"symroof.rendering.pages.environment", "symroof.rendering.pages.sandbox"},
    "latexify": {"symroof.rendering.formulas.tex"},
    "z3": {"symroof.proof.prover"},
    "tomllib": {"symroof.reading.toml"},
    "markdown_it": {"symroof.reading.markup"},
    "click": {
        "symroof.cli",
        "symroof.cli.asking",
        "symroof.cli.building",
        "symroof.cli.options",
        "symroof.cli.output",
        "symroof.cli.references",
        "symroof.cli.tracing",
        "symroof.cli.verifying",
    },
    "jax": {"symroof.tracing.jaxprs"},
    "torch": {"symroof.tracing.fx_graphs"},
    "rich": {"symroof.cli.output"},
    "numpy": {"symroof.derivation.evaluation", "symroof.exploration.sweeping"},
    "pyarrow": {"symroof.exploration.sweeping"},
    "matplotlib": {"symroof.rendering.figures.sheet"},
    "ast": {"symroof.model.operation", "symroof.rendering.formulas.tex"},
}
FORBIDDEN = {"sympify", "simplify", "nsimplify", "parse_expr", "eval", "exec", "solve", "compile"}


def imports(tree):
    """What a module imports when it runs; the package itself tells type checkers of more."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def only_for_checkers(name):
    """Whether the package imports a module where types are checked alone: it is a room of a public name."""
    return name in sr._ROOMS


def room(module):
    parts = module.split(".")
    return "" if len(parts) == 1 or parts[1] == "__init__" else parts[1]


def test_imports_run_one_way():
    upward = [
        f"{module} imports {name}"
        for module, tree in MODULES.items()
        for name in imports(tree)
        if name.startswith("symroof.")
        and room(name) not in BELOW[room(module)] | {room(module)}
        and (module != "symroof" or not only_for_checkers(name))
    ]
    assert upward == []


def test_there_is_one_importer_of_the_solvers():
    solvers = {"symroof.algebra.inequality", "symroof.algebra.optima"}
    importers = set()
    for module, tree in MODULES.items():
        names = set(imports(tree)) | {
            f"{node.module}.{alias.name}"
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        if names & solvers and room(module) != "algebra":
            importers.add(module)
    assert importers == {"symroof.derivation.solving"}


def test_foreign_libraries_live_behind_one_door():
    elsewhere = [
        f"{module} imports {name}"
        for module, tree in MODULES.items()
        for name in imports(tree)
        if module not in ONLY_IN.get(name.split(".")[0], {module})
    ]
    assert elsewhere == []


def guesses(module, tree):
    """The calls in a module that guess, make a symbol, or print."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        bare = isinstance(node.func, ast.Name)
        if (bare and name in FORBIDDEN) or name in ("sympify", "simplify", "nsimplify"):
            yield f"{module} calls {name}"
        if name in ("Symbol", "symbols", "Dummy") and bare and module != "symroof.symbols":
            yield f"{module} makes a symbol"
        if name == "print" and bare and not module.startswith("symroof.cli"):
            yield f"{module} prints"


def test_nothing_guesses_and_only_one_module_makes_symbols():
    assert [guess for module, tree in MODULES.items() for guess in guesses(module, tree)] == []


def test_the_second_engine_is_blind_to_what_produces_a_step():
    proofs = [module for module in MODULES if module.startswith("symroof.proof.")]
    assert proofs
    assert not {name.split(".")[0] for module in proofs for name in imports(MODULES[module])} & {"sympy", "mpmath"}


def test_no_two_files_have_one_name():
    names = [
        module.rsplit(".", 1)[-1] for module in MODULES if not (PACKAGE.parent / module.replace(".", "/")).is_dir()
    ]
    assert sorted(names) == sorted(set(names))


def test_modules_are_rooms_and_not_halls():
    lines = {path: path.read_text("utf-8").count("\n") for path in PACKAGE.rglob("*.py")}
    assert [path for path, count in lines.items() if count > 400] == []
    assert not {"utils", "helpers", "core", "base", "manager"} & {
        part for module in MODULES for part in module.split(".")
    }


def test_help_does_not_import_sympy():
    commands = ["derive", "hardware", "verify", "regimes", "plot", "sweep"]
    asked = [["--help"], ["--version"], *([command, "--help"] for command in commands), ["names"]]
    code = (
        "import sys\nfrom symroof.cli import main\n"
        f"for arguments in {asked!r}:\n"
        "    try: main(arguments)\n    except SystemExit: pass\n"
        "    heavy = [m for m in ('sympy', 'jinja2', 'z3', 'rich', 'numpy', 'matplotlib') if m in sys.modules]\n"
        "    print(heavy and (arguments, heavy), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stderr.split("\n")) == {"[]", ""}


def test_importing_symroof_imports_nothing():
    code = "import sys, symroof; print('sympy' in sys.modules, 'click' in sys.modules)"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        == "False False\n"
    )


def test_judging_a_claim_loads_no_figure_no_map_and_nothing_that_builds(tmp_path):
    (tmp_path / "claims.toml").write_text(
        'operation = "matmul"\nhardware = "tpu-v5e"\nclaims = ["intensity = 2B"]\n', "utf-8"
    )
    (tmp_path / "chapter.md").write_text('<!-- symroof operation = "matmul" -->\n\n$2BD + 2DF + 2BF$\n', "utf-8")
    heavy = ("symroof.exploration", "symroof.rendering.figures", "symroof.building.build", "matplotlib", "numpy")
    code = (
        "import sys\nfrom symroof.cli import main\n"
        f"try: main(['verify', {str(tmp_path / 'claims.toml')!r}, {str(tmp_path / 'chapter.md')!r}])\n"
        "except SystemExit: pass\n"
        f"print([m for m in sys.modules if m.startswith({heavy!r})])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "2 wrong" in done.stdout or "1 wrong" in done.stdout
    assert done.stdout.splitlines()[-1] == "[]"


def test_nothing_asks_whether_an_operation_is_a_program():
    """Everything is one: a product on one line and an operation that is given by its costs as well."""
    asked = [
        module
        for module, tree in MODULES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and getattr(node.func, "id", "") == "isinstance"
        and re.search(r"\bProgram\b", ast.unparse(node.args[1]))
    ]
    assert {room(module) for module in asked} <= {"model"}


def heads(tree):
    """The modules of the package that a module imports before anything runs."""
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("symroof."):
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_no_imports_go_in_a_circle():
    TopologicalSorter({m: {n for n in heads(tree) if n in MODULES and n != m} for m, tree in MODULES.items()}).prepare()


def test_this_test_would_notice():
    """An import that turns back up, and a symbol made elsewhere, are found."""
    tree = ast.parse("from symroof.cli import main\nSymbol('x')")
    assert [name for name in imports(tree) if room(name) not in BELOW["model"]] == ["symroof.cli"]
    assert list(guesses("symroof.model.mesh", tree)) == ["symroof.model.mesh makes a symbol"]
