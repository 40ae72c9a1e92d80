"""The command line: answers on stdout, faults on stderr, one clear message, exit status 2."""

import json
import shlex
import subprocess
import sys

import pytest

import symroof as sr
from symroof.reading.languages import languages
from symroof.reading.operations import entries
from symroof.reading.vocabulary import VOCABULARY
from symroof.rendering.pages.templating import load

pytestmark = pytest.mark.part(8)

MATMUL = "bf16[B, D] * bf16[D, F] -> bf16[B, F]"
TWO_CHIPS = "bf16[B, D_X] * bf16[D_X, F] -> bf16[B, F]"


def typed(line):
    """The words of a command line."""
    return [{"@": MATMUL, "@2": TWO_CHIPS}.get(word, word) for word in shlex.split(line)]


def test_expressions_of_the_json_can_be_read_back(run):
    from symroof.model.quantities import QUANTITIES
    from symroof.reading.expressions import Scope, read_expression

    found = json.loads(run("derive", MATMUL, "--on", "tpu-v5e", "--assume", "B << D, F", "--format", "json").out)
    scope = Scope(("B", "D", "F", "flops_exact", *QUANTITIES))
    answer = found["answer"]
    for key in ("flops", "bytes", "intensity", "reciprocal", "intensity_factor", "T_math", "T_lower", "ridge"):
        read_expression(answer[key], scope)
    for step in found["steps"]:
        if step["relation"] in ("=", "~", "<", "<="):
            read_expression(step["left"], scope)
            read_expression(step["right"], scope)


def test_flags_override_the_file(run):
    done = run("derive", "examples/matmul.toml", "--on", "h100-sxm", "--brief", "--at", "D=F=4096")
    assert "H100 SXM" in done.out
    assert "at D = F = 4096" in done.out


@pytest.mark.thorough
def test_given_figures_add_to_those_of_the_file(run):
    done = run("derive", "examples/quantized.toml", "--given", "HBM=8.2e11", "--brief")
    assert "480.49 FLOPs/byte" in done.out


def test_several_problems_and_one_bad(run, tmp_path):
    path = tmp_path / "p.toml"
    path.write_text(
        '[[problem]]\noperation = "matmul"\n[[problem]]\noperation = "nonsense["\ntitle = "bad"\n[[problem]]\noperation = "dot"\n'
    )
    done = run("derive", str(path), "--brief")
    assert done.code == 2
    assert done.out.count("FLOPs ") == 2
    assert done.err.startswith(f"symroof: {path}: problem 2 (bad): ")


def test_output_to_a_file(run, tmp_path):
    done = run("derive", "dot", "--format", "markdown", "-o", str(tmp_path / "dot.md"))
    assert (done.code, done.out) == (0, "")
    assert (tmp_path / "dot.md").read_text("utf-8").startswith("### Roofline")
    assert run("derive", "dot", "-o", "/nowhere/x").code == 2


def test_headings_and_fragments(run):
    assert run("derive", "dot", "--format", "markdown", "--heading", "1").out.startswith("# Roofline")
    assert run("derive", "dot", "--format", "markdown", "--heading", "0").out.startswith("| quantity")
    assert run("derive", "dot", "--format", "latex").out.startswith("\\documentclass")
    assert "documentclass" not in run("derive", "dot", "--format", "latex", "--heading", "0").out


def test_sections_can_be_selected(run):
    done = run("derive", MATMUL, "--section", "work", "--section", "threshold")
    assert [line for line in done.out.splitlines() if line[:1].isupper()] == ["Count the work.", "Solve for B."]


def test_colour_only_on_request(run, monkeypatch):
    assert "\x1b[" not in run("derive", "dot").out
    assert "\x1b[" in run("derive", "dot", "--color", "always").out


@pytest.mark.thorough
def test_ascii_where_the_terminal_has_nothing_else():
    done = subprocess.run(
        [sys.executable, "-m", "symroof", "derive", "dot", "--on", "tpu-v5e", "--at", "N=1000"],
        capture_output=True, env={"PYTHONIOENCODING": "ascii", "PATH": "/usr/bin"}, check=True,
    )  # fmt: skip
    assert done.stdout.decode("ascii")


# A command line, and what its one message says; @ is a product, and @2 the same on two chips.
FAULTS = [
    ("derive", "there is nothing to derive"),
    ("derive 'bf16[B] * bf17[B] -> bf16[B]'", "unknown dtype 'bf17'"),
    ("derive dot --at M=5", "unknown name 'M'"),
    ("derive matmul --assume 'B << D' --assume 'D << B'", "the regime contradicts itself"),
    ("derive dot --on tpu-v5e --given HBM=0", "0 is not positive"),
    ("derive dot --on tpu-v5e --given HBM=-1", "unexpected '-'"),
    ("derive dot --on tpu-v5e --given 'HBM=8e11 FLOPs/s'", "the unit is FLOPs/s"),
    ("derive matmul --assume 'B << 9**9**9**9'", "the power is too large"),
    ("derive dot --given HBM=1e999999999", "is too large"),
    (f"derive '{'(' * 5000}'", "the text has 5000 characters"),
    (f"derive matmul --assume '{'(' * 100}B{')' * 100} << D'", "nested too deeply"),
    ("derive 'bf16[B\x07] * bf16[B] -> bf16[B]'", "unexpected character"),
    ("derive \"__import__('os').system('touch /tmp/pwned')\"", "unexpected character"),
    ("derive dot --assume \"exec('x') -> oo\"", "unexpected character"),
    ("derive 'bf16[B,' 'D]'", "there are 2 operations"),
    ("derive dot --on tpu-v5e --link NVLink", "nothing crosses NVLink"),
    ("derive 'bf16[N, B, D] * bf16[N, D, F] -> bf16[N, B, F]' --for N", "does not depend on N"),
    ("derive @2 --mesh X=two", "is not a number of chips"),
    ("derive @2", "the mesh has no such axis"),
    ("derive nowhere.toml", "cannot be read"),
    ("derive dot --template /nowhere", "is not a folder of templates"),
    ("derive matmul --assume 'B << D, B >= D'", "contradicts itself"),
    ("derive matmul --assume 'D >= 8000, D <= 100'", "no D is at least 8000 and at most 100"),
    ("derive matmul --assume 'D <= 100' --at D=8192", "contradict D <= 100"),
    ("derive matmul --assume 'B = D' --at B=300,D=400", "contradict B = D"),
    ("derive matmul --assume 'B ~ D, D ~ 2B'", "contradicts itself"),
    ("derive matmul --assume '3 ~ 4'", "relates no sizes"),
    ("derive matmul --assume 'D = D'", "says nothing"),
    ("derive matmul --assume 'D = 0.5'", "at least 1"),
    ("derive matmul --assume 'B = 0'", "is not positive"),
    ("derive matmul --assume 'B = D - F'", "is not positive"),
    ("derive matmul --assume 'B << D^9999'", "a power of 9999 is too large"),
    ("derive dot --on tpu-v5e --given HBM=1e400", "out of range"),
    ("derive dot --at N=1e300", "out of range"),
    ("derive matmul --assume 'D = 1e500'", "out of range"),
    ("derive @2 --mesh 'X=²'", "is not a number of chips"),
    ("derive dot --on tpu-v5e --given HBN=8e11", "did you mean HBM?"),
    ("derive dot --on tpu-v5e --given peak=HBM", "peak is in FLOPs/s, and HBM in bytes/s"),
    ("derive dot --on tpu-v5e --given peak=peak.vector", "peak = peak.vector: there is no figure of that name"),
    ("derive dot --on tpu-v5e --on h100", "a derivation has one --on"),
    ("derive @2 --mesh X=2,X=4", "X is given twice"),
    ("derive @ --mesh Y=2", "write D_Y for a dimension D that is split"),
    ("derive dot --on ''", "--on is empty"),
    ("derive dot --on tpu-v5e --link hbm", "did you mean HBM?"),
    ("derive dot --on tpu-v2", "has no bandwidth for HBM"),
    ("hardware h1000", "unknown chip 'h1000'"),
    ("operations --lang kor", "did you mean ko?"),
    ("hardware --lang xx --format json", "unknown language 'xx'"),
    ("names --lang zn", "did you mean zh?"),
]


@pytest.mark.parametrize(("line", "message"), FAULTS, ids=lambda text: text[:60])
def test_a_fault_is_one_clear_message(run, line, message):
    done = run(*typed(line))
    assert done.code == 2
    assert done.out == ""
    assert done.err.startswith("symroof: ")
    assert message in done.err
    assert "Traceback" not in done.err
    assert "a bug in symroof" not in done.err
    assert len(done.err) < 1500


def test_a_caret_stands_under_the_fault(run):
    lines = run("derive", "bf16[B, D] * bf17[D, F] -> bf16[B, F]").err.splitlines()
    column = lines[2].index("^")
    assert lines[1][column : column + 4] == "bf17"
    assert lines[2].strip() == "^^^^"


# Unusual inputs, and a line that their answer has; the numbers were worked out by hand or by brute force.
UNUSUAL = [
    ("@ --on tpu-v5e --assume 'B << D, F' --at D=F=481", "B > 225611.9, so B ≥ 225612"),
    ("batched-matmul --on tpu-v5e --at B=D=F=512", "intensity 170.67, memory-bound"),
    ("matvec --on tpu-v5e --at M=4096", "never"),
    ("@ --on tpu-v5e --at B=256,D=8192", "F > 7456.22, so F ≥ 7457"),
    ("'bf16[512, 4096] * bf16[4096, 8192] -> bf16[512, 8192]' --on tpu-v5e", "compute-bound  always"),
    ("'bf16[] * bf16[] -> bf16[]' --on tpu-v5e", "compute-bound  never"),
    ("'bf16[B, 100000] * bf16[100000, F] -> bf16[B, F]' --on tpu-v5e --at F=1000", "B > 317.21, so B ≥ 318"),
    ("'bf16[B, D, BD] * bf16[D, F] -> bf16[B, BD, F]'", "2 B D BD F"),
    ("@ --on tpu-v5e --assume '8192 = D, D = F'", "B > 255.21, so B ≥ 256"),
    ("'bf16[B_X, D_Y] * bf16[D_Y, F] -> bf16[B_X, F]' --on tpu-v5e --mesh X=4,Y=2", "FLOPs per chip"),
    ("@ --assume 'B ~~ D ~~ F'", "No term dominates"),
    ("@ --assume 'B << D, F' --assume 'D >= 8000, F >= 8000'", "the factor is at most B/4000 + 1"),
    ("@ --assume 'B << D, F' --assume '8000 <= D, 8000 <= F'", "the factor is at most B/4000 + 1"),
    ("@ --on tpu-v5e --assume 'D ~ F, B << D'", "B > 240.24, so B ≥ 241"),
    ("@ --on tpu-v5e --assume 'D ~ F, F ~ D, D ~ F, B << D'", "B > 240.24, so B ≥ 241"),
    ("@ --on tpu-v5e --assume 'B ~ D, B ~ F, B -> oo'", "F/3"),
    ("'bf16[A, B] * bf16[B, C] * bf16[C] -> bf16[A, B, C]' --on tpu-v5e", "2ABC"),
    ("@ --on tpu-v5e --link VMEM --assume 'B << D, F'", "B > 10.92, so B ≥ 11"),
    ("@2 --on tpu-v5e --mesh X=2 --link ICI.bidirectional", "D > 4377.78, so D ≥ 4378"),
]


@pytest.mark.thorough
@pytest.mark.part(4)
@pytest.mark.parametrize(("asked", "line"), UNUSUAL)
def test_unusual_inputs_are_answered(run, asked, line):
    arguments = typed(asked)
    done = run("derive", *arguments)
    assert (done.code, done.err) == (0, "")
    assert line in done.out
    assert ", 0 sampled" in done.out
    for form in ("markdown", "latex", "json"):
        assert run("derive", *arguments, "--format", form).code == 0


PROBLEMS = {
    "unknown key": ("operation = 'dot'\nhardwear = 'x'\n", "did you mean hardware?"),
    "not TOML": ("operation = ", "is not TOML"),
    "no operation": ("title = 'x'\n", "nothing to derive"),
    "operation is a number": ("operation = 5\n", "is not an operation"),
    "mixed": ("title = 'x'\n[[problem]]\noperation = 'dot'\n", "mixes [[problem]]"),
    "given is text": ("operation = 'dot'\ngiven = 'x'\n", "given"),
    "at is a number": ("operation = 'dot'\nat = 5\n", "at"),
    "at below one": ("operation = 'dot'\nat = [{ N = 0.5 }]\n", "a number from 1"),
    "mesh is a list": ("operation = 'dot'\nmesh = [1]\n", "is not a mesh"),
    "let takes a name": ("operation = 'dot'\nlet = { N = '2' }\n", "is taken"),
    "let is unknown": ("operation = 'dot'\nlet = { x = 'Q' }\n", "let x: unknown name 'Q'"),
    "no problems": ("problem = []\n", "has no problem in it"),
    "claims are a number": ("operation = 'dot'\nclaims = 5\n", "not a list of claims"),
    "problem is text": ("problem = ['x']\n", "is not a table"),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_bad_problem_file_is_one_clear_message(run, tmp_path, name):
    text, message = PROBLEMS[name]
    path = tmp_path / "problem.toml"
    path.write_text(text)
    done = run("derive", str(path))
    assert done.code == 2
    assert message in done.err
    assert "a bug in symroof" not in done.err


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"\x00" * 50, b"[" * 3000, b""])
def test_any_bytes_give_one_error(run, tmp_path, content):
    path = tmp_path / "problem.toml"
    path.write_bytes(content)
    done = run("derive", str(path))
    assert done.code == 2
    assert "a bug in symroof" not in done.err


def test_hardware_lists_every_chip_and_every_source(run):
    assert "tpu-v5e" in run("hardware").out
    shown = run("list", "chips", "tpu-v5e").out
    for old, new in (("hardware", "chips"), ("operations", "operations"), ("names", "words")):  # for one release
        done = run(old)
        assert (done.out, done.err) == (run("list", new).out, f"symroof: {old} is called list {new} now\n")
    assert "8.2e11 bytes/s" in shown
    assert "8.1e11 bytes/s" in shown
    assert "jax-ml.github.io" in shown
    assert json.loads(run("list", "chips", "tpu-v5e", "--format", "json").out)["figures"]["HBM"]["value"] == "8.2e11"
    assert len(json.loads(run("list", "chips", "--format", "json").out)) >= 14


def test_operations_lists_the_library(run):
    assert "softmax" in run("operations").out
    shown = run("operations", "tiled-matmul").out
    assert "2 bm bn bk tm tn tk" in shown
    assert "source" in shown
    assert json.loads(run("operations", "dot", "--format", "json").out)["flops"] == "2N"


@pytest.mark.parametrize("lang", languages())
def test_catalogues_say_what_every_operation_and_every_quantity_is(run, lang):
    words = load(f"{lang}/catalogues.j2", None, lang, {})
    assert list(words.summaries) == list(entries())
    rows = run("operations", "--lang", lang).out.splitlines()
    assert rows[1:] == [f"{name:<23}  {summary}" for name, summary in words.summaries.items()]
    listed = run("list", "words", "--lang", lang).out
    assert all(f"{name:<12}{words.called(name)}" in listed for name in VOCABULARY)


def test_records_of_catalogues_have_no_language(run):
    for command in (["list", "operations", "dot"], ["list", "chips", "h100"], ["list", "words"]):
        assert run(*command, "--format", "json", "--lang", "ko").out == run(*command, "--format", "json").out
    assert json.loads(run("operations", "dot", "--format", "json").out)["summary"] == "inner product of two vectors"


CHAPTER = """<!-- symroof
operation = "bf16[B, D] * bf16[D, F] -> bf16[B, F]"
hardware  = "tpu-v5e"
-->
The intensity is $\\text{Intensity} \\approx B$.
"""


def test_verify_says_so_by_its_exit_status(run, tmp_path):
    good, bad, empty, broken = (tmp_path / name for name in ("good.md", "bad.md", "empty.md", "broken.toml"))
    good.write_text("$1 + 1 = 2$")
    bad.write_text("$1 + 1 = 3$")
    empty.write_text("prose")
    broken.write_text("banana = 3")
    assert run("verify", str(good)).code == 0
    done = run("verify", str(good), str(bad))
    assert done.code == 1
    assert done.out.startswith(f"{bad}:1:1  wrong         1 + 1 = 3\n")
    assert done.out.endswith("2 claims: 1 holds, 1 wrong.  0 comments read, 0 formulas skipped.  2 files.\n")
    done = run("verify", str(empty))
    assert (done.code, " ".join(done.out.split())) == (
        0,
        f"{empty}: no claims read (0 formulas, no symroof comment) 0 claims. 0 comments read, 0 formulas skipped.",
    )
    assert run("verify", "--require", str(empty)).code == 1
    done = run("verify", str(broken), str(bad), str(tmp_path / "missing.md"))
    assert done.code == 2
    assert "unknown key 'banana'" in done.err
    assert "missing.md cannot be read" in done.err
    assert "1 + 1 = 3" in done.out


def test_a_conditional_claim_is_a_finding_only_when_strict(run, tmp_path):
    path = tmp_path / "x.md"
    path.write_text(CHAPTER)
    done = run("verify", str(path))
    assert done.code == 0
    assert "needs      B << D and B << F, which line 5 does not say" in done.out
    assert run("verify", "--strict", str(path)).code == 1


def test_verify_in_other_formats(run, tmp_path):
    path = tmp_path / "x.md"
    path.write_text("$1 + 1 = 3$ and $2 = 2$")
    record = json.loads(run("verify", "--format", "json", str(path)).out)
    assert record["schema"] == 1
    (file,) = record["files"]
    first, second = file["judgements"]
    said = [first[key] for key in ("verdict", "line", "column", "value", "good")]
    assert said == ["wrong", 1, 1, "1 + 1", False]
    assert (second["verdict"], second["good"]) == ("holds", True)
    assert record["counts"]["wrong"] == 1
    assert run("verify", "--format", "github", str(path)).out.startswith(
        f"::error file={path},line=1,col=1,title=wrong::1 + 1 = 3%0A"
    )
    assert (
        f"::error file={tmp_path / 'gone.md'}::" in run("verify", "--format", "github", str(tmp_path / "gone.md")).out
    )
    assert "| **wrong** | `1 + 1 = 3` |" in run("verify", "--format", "markdown", str(path)).out


def test_how_much_is_judged_is_said_and_may_be_asked_for(run, tmp_path):
    path = tmp_path / "x.md"
    path.write_text("$1 + 1 = 2$, $\\foo = 3$ and $S = 2N$")
    line = f"{path}: 3 formulas with a relation, 1 judged; skipped: 1 unreadable, 1 definition"
    assert line in " ".join(run("verify", "-v", str(path)).out.split())
    assert "with a relation" not in run("verify", str(path)).out
    assert run("verify", "--coverage", "50", str(path)).code == 0
    done = run("verify", "--coverage", "50.5", str(path))
    assert (done.code, " ".join(done.out.split())) == (
        1,
        f"{path}: 1 of the 2 formulas that claim something is judged, 50 %, and 50.5 % are asked for 1 claim: 1 holds. 0 comments read, 2 formulas skipped.",
    )
    assert (
        f"::error file={path}::{path}: 1 of the 2"
        in run("verify", "--coverage", "90", "--format", "github", str(path)).out
    )
    assert "1 of the 2 formulas" in run("verify", "--coverage", "90", "--format", "markdown", str(path)).out
    record = json.loads(run("verify", "--format", "json", str(path)).out)
    assert record["files"][0]["coverage"] == {
        "formulas": 3,
        "judgeable": 2,
        "judged": 1,
        "skipped": {"unreadable": 1, "definition": 1},
    }
    for wrong in ("-1", "101", "x", "nan"):
        assert run("verify", "--coverage", wrong, str(path)).code == 2


def test_a_finding_quotes_its_sentence(run, tmp_path):
    path = tmp_path / "x.md"
    path.write_text("First. With 40 GB we hold $(40 - 14) / 2 = 34$ sequences. Last.\n\n$$2 = 3$$\n")
    assert "    in         With 40 GB we hold $(40 - 14) / 2 = 34$ sequences.\n" in (
        out := run("verify", str(path)).out
    )
    assert out.count("    in  ") == 1
    first, second = json.loads(run("verify", "--format", "json", str(path)).out)["files"][0]["judgements"]
    assert (first["sentence"][:12], second["sentence"]) == ("With 40 GB w", None)


def test_findings_stand_first(run, tmp_path):
    path = tmp_path / "x.md"
    path.write_text("$1 = 1$, $2 = 3$, $4 = 4$")
    for form in ("text", "markdown"):
        out = run("verify", "-v", "--format", form, str(path)).out
        assert out.index("2 = 3") < out.index("1 = 1") < out.index("4 = 4")


def test_verify_under_another_figure_lists_what_moves(run, tmp_path):
    path = tmp_path / "x.md"
    path.write_text(CHAPTER + "$\\text{ridge} = 240.24$ and $\\text{FLOPs} = 2BDF$\n")
    done = run("verify", "--given", "HBM=8.19e11", str(path))
    assert "1 claim moves under the other figures." in done.out
    assert "before     rounded    ridge = 240.24" in done.out
    assert "after      wrong    ridge = 240.54" in done.out
    assert run("verify", "--on", "tpu-v5p", str(path)).code == 1


def test_verify_wants_files(run):
    done = run("verify")
    assert (done.code, done.err.splitlines()[0]) == (2, "symroof: there is nothing to verify")
    assert run("verify", "--format", "html", "x.md").code == 2
    assert run("verify", "--given", "HBM", "x.md").code == 2


def test_a_bound_never_denies_its_least_size(run):
    """2549.999 is not shown as 2550, from which on it holds."""
    out = run(
        "derive", MATMUL, "--on", "tpu-v5e", "--given", "peak=2549999,HBM=1000", "--assume", "B << D, F", "--brief"
    ).out
    assert "B > 2549.999, so B ≥ 2550" in out
    out = run("compare", MATMUL, "--on", "tpu-v5e", "--given", "peak=2549999,HBM=1000", "--assume", "B << D, F").out
    assert "B > 2549.999" in out


def test_without_a_command_it_helps(run):
    done = run()
    assert done.code == 0
    assert done.out.startswith("Usage: symroof")
    assert done.err == ""


def test_a_list_before_a_relation_is_offered_written_out(run):
    operation = "bf16[G, D] * bf16[D, H] -> bf16[G, H]"
    done = run("derive", operation, "--assume", "G, H << D")
    assert done.code == 2
    (offered,) = [
        line.removeprefix("  did you mean ").removesuffix("?")
        for line in done.err.splitlines()
        if "did you mean" in line
    ]
    assert offered == "G << D, H << D"
    assert run("derive", operation, "--assume", offered, "--brief").code == 0


@pytest.mark.thorough
def test_short_times_have_three_digits(run):
    tiny = ["derive", "bf16[1] * bf16[1] -> bf16[1]", "--on", "tpu-v5e"]
    assert "T_math  = 1/1.97e14 ≈ 5.08e-15 s" in run(*tiny).out
    assert r"\approx 5.08 \times 10^{-15} \text{ s}" in run(*tiny, "--format", "latex").out
    assert "1.02e-14 s" in run("derive", "dot", "--on", "tpu-v5e", "--at", "N=1").out
    assert "≈ 87.2 µs" in run("derive", "bf16[256, 8192] * bf16[8192, 4096] -> bf16[256, 4096]", "--on", "tpu-v5e").out
    for arguments in (tiny, ["derive", "dot", "--on", "tpu-v5e", "--at", "N=1"]):
        assert "0.0000" not in run(*arguments).out


@pytest.mark.thorough
def test_sizes_of_a_file_are_changed_one_by_one(run, tmp_path):
    """On the command line and in Python: what is said of a size goes before what the file says, and the others stay."""
    file = tmp_path / "problem.toml"
    file.write_text('operation = "matmul"\nhardware = "tpu-v5e"\nat = "B = 64, D = F = 8192"\n')
    for changed, whole in (("B=5", "B=5,D=F=8192"), ("F=10", "B=64,D=8192,F=10"), ("B=1,D=2,F=3", "B=1,D=2,F=3")):
        alone = run("derive", "matmul", "--on", "tpu-v5e", "--at", whole, "--value", "T_lower").out
        assert run("derive", str(file), "--at", changed, "--value", "T_lower").out == alone != ""
        in_python = sr.derive(str(file), at=changed), sr.derive("matmul", on="tpu-v5e", at=whole)
        ours, same = (d.to_dict()["answer"]["at"][0]["numbers"] for d in in_python)
        assert ours == same
    both = run("derive", str(file), "--at", "B=5", "--at", "B=6", "--value", "T_lower").out
    each = (run("derive", str(file), "--at", f"B={B}", "--value", "T_lower").out for B in (5, 6))
    assert both == "".join(each)


@pytest.mark.thorough
def test_a_size_of_a_file_runs_over_an_axis(run, tmp_path):
    file, rows, others = tmp_path / "problem.toml", tmp_path / "a.csv", tmp_path / "b.csv"
    file.write_text('operation = "matmul"\nhardware = "tpu-v5e"\nat = "B = 64, D = F = 8192"\n')
    assert run("sweep", str(file), "--grid", "B=1:9", "--of", "T_lower", "-o", str(rows)).code == 0
    assert (
        run("sweep", "matmul", "--on", "tpu-v5e", "--grid", "B=1:9,D=F=8192", "--of", "T_lower", "-o", str(others)).code
        == 0
    )
    of_file, plain = ([line.split(",") for line in path.read_text().splitlines()] for path in (rows, others))
    assert [line[of_file[0].index("T_lower")] for line in of_file] == [
        line[plain[0].index("T_lower")] for line in plain
    ]
    assert run("plot", str(file), "--over", "B=1..9", "--format", "text").code == 0
    assert run("plot", str(file), "--over", "B=1..9", "--at", "B=5", "--format", "text").code == 2
    in_python = sr.sweep(str(file), "B=1:9", of="T_lower")
    assert [f"{value:.12g}" for value in in_python["T_lower"]] == [f"{float(line[-1]):.12g}" for line in of_file[1:]]
    assert (
        sr.plot(str(file), over="B=1..9").to_text()
        == run("plot", str(file), "--over", "B=1..9", "--format", "text").out
    )
    with pytest.raises(sr.SymroofError, match="has a size as well"):
        sr.plot(str(file), over="B=1..9", at="B=5")
