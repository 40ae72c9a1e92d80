"""Committed pages that people read: one of each kind, format and language, and what the examples print. Renewed with --renew, reviewed as diffs.

What answers say is held as values, by test_golden_numbers.
"""

import contextlib
import io
import runpy
from functools import cache
from pathlib import Path

import pytest
from texts import DECODER, FSDP as ON_MESH

import symroof as sr
from symroof.reading.problems import read_problem, read_problem_file
from symroof.rendering.pages.report_page import render_report
from symroof.rendering.pages.typesetting import Style
from symroof.verification.files import judge_files

pytestmark = pytest.mark.part(200)  # a page that changes is seen at once

ROOT = Path(__file__).parent.parent
GOLDEN = Path(__file__).parent / "golden"
MATMUL = "bf16[B, D] * bf16[D, F] -> bf16[B, F]"
PAGES = {
    "matmul": {"operation": MATMUL, "on": "tpu-v5e", "assume": "B << D, F", "at": "D=F=8192"},
    "matmul_symbolic": {"operation": MATMUL},
    "matmul_exact": {"operation": MATMUL, "on": "h100-sxm", "count": "exact", "assume": "B << D, F"},
    "dot": {"operation": "x . y: bf16[N], bf16[N] -> bf16[1]", "on": "tpu-v5e", "count": "exact"},
    "two_chips": {"operation": "bf16[B, D_X] * bf16[D_X, F] -> bf16[B, F]", "on": "tpu-v5e", "mesh": {"X": 2}, "link": "ICI", "solve_for": "D", "at": "B=1024,F=8192"},
    "open_axis": {"operation": "bf16[B_X, D] * bf16[D_X, F] -> bf16[B_X, F]", "on": "tpu-v5p", "mesh": "X", "link": "ICI"},
    "clash": {"operation": "bf16[R, C] * bf16[C, W] -> bf16[R, W]", "assume": "R << C, W"},
    "softmax": {"operation": "softmax", "on": "tpu-v5e"},
}  # fmt: skip
SCORES = "bf16[B, T, N, H] * bf16[B, S, N, H] -> bf16[B, N, T, S]"
COMPARED = {"on": "tpu-v5e, h100, v100", "dtypes": "bf16, int8", "assume": "B << D, F", "at": "D=F=8192"}
JUDGED = ["examples/rooflines-mistakes.md", "examples/answers.toml"]
GOLDEN_PAGES = {
    "matmul.md": lambda: page("matmul").to_markdown(),
    "matmul.tex": lambda: page("matmul").to_latex(),
    "matmul.txt": lambda: page("matmul").to_text(),
    "matmul.rst": lambda: page("matmul").to_rst(),
    "matmul.json": lambda: page("matmul").to_json(),
    "matmul.ko.md": lambda: page("matmul").to_markdown(lang="ko"),
    "matmul.zh.txt": lambda: page("matmul").to_text(lang="zh"),
    "two_chips.md": lambda: page("two_chips").to_markdown(),
    "program_decoder.txt": lambda: sr.derive(DECODER, on="tpu-v5e").to_text(brief=True),
    "program_mesh.md": lambda: sr.derive(ON_MESH, on="tpu-v5p", training=True).to_markdown(),
    "regimes_scores.md": lambda: sr.regimes(SCORES, on="tpu-v5e", at=["H=128", "H=256"]).to_markdown(),
    "compare_matmul.txt": lambda: sr.compare(MATMUL, **COMPARED).to_text(width=60),
    "report.md": lambda: render_report(judge_files(JUDGED), "markdown", Style(brief=True)),
}
EXAMPLES = sorted(path for path in (ROOT / "examples").glob("*.toml") if path.stem != "answers")
SCRIPTS = sorted((ROOT / "examples").glob("*.py"))


def slow(name, *which):
    """A case that is left to a thorough run where its name begins so."""
    return pytest.param(name, marks=pytest.mark.thorough) if name.startswith(which) else name


@cache
def page(name):
    return sr.derive(**PAGES[name])


@pytest.mark.parametrize("name", [slow(name, "program_") for name in GOLDEN_PAGES])
def test_page(name, golden, monkeypatch):
    monkeypatch.chdir(ROOT)
    golden(GOLDEN / name, GOLDEN_PAGES[name]())


def test_a_notebook_shows_the_fragment():
    assert page("matmul")._repr_latex_() == page("matmul").to_latex(heading=0)


def test_there_are_examples():
    assert len(EXAMPLES) >= 6
    assert len(SCRIPTS) >= 3


@pytest.mark.parametrize("name", [slow(path.name, "decode", "attention", "mesh", "mlp") for path in EXAMPLES])
def test_example_problem(name, golden):
    path = ROOT / "examples" / name
    pages = [sr.derive(read_problem(table)).to_markdown() for table in read_problem_file(path)]
    golden(path.with_suffix(".md"), "\n".join(pages))


@pytest.mark.thorough
@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_example_script(path, golden):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        runpy.run_path(str(path), run_name="__main__")
    golden(path.with_suffix(".txt"), out.getvalue())


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["answers.toml", "rooflines-mistakes.md", "mistakes.ko.md", "mistakes.zh.md"])
def test_example_report(name, golden, monkeypatch):
    monkeypatch.chdir(ROOT)
    path, lang = Path("examples", name), name.split(".")[1] if name.count(".") == 2 else None
    style = Style(brief=name != "answers.toml", lang=lang)
    golden(ROOT / path.with_suffix(".txt"), render_report(judge_files([str(path)]), "text", style))


def test_no_golden_file_is_left_over():
    assert {path.name for path in GOLDEN.iterdir() if not path.name.startswith("plot_")} == set(GOLDEN_PAGES)
