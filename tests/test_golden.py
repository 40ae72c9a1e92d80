"""Committed outputs: golden derivations in every format, and what the examples print. Renewed with --renew, reviewed as diffs."""

import contextlib
import io
import json
import runpy
from functools import cache
from pathlib import Path

import pytest

import symroof as sr
from symroof.reading.problems import read_problem, read_problem_file
from symroof.rendering.pages.pen import Style
from symroof.rendering.pages.reports import render_report
from symroof.rendering.records.judgements import report_record
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
ATTENTION = """
input Q: bf16[B, T, K, G, H]
cache Kc, Vc: bf16[B, S, K, H]
fuse {
  s = Q * Kc -> bf16[B, T, S, K, G]
  p = softmax(s, S)
  o = p * Vc -> bf16[B, T, K, G, H]
}
"""
EXPERTS = """
input x: bf16[E, c, D]
weight W1: bf16[E, D, F]
weight W2: bf16[E, F, D]
where c = B*k/E
h = x * W1 -> bf16[E, c, F]
a = gelu(h)
y = a * W2 -> bf16[E, c, D]
"""
DECODER = """
input  x: bf16[B, T, D]
weight Wq: bf16[D, K, G, H]; weight Wk, Wv: bf16[D, K, H]; weight Wo: bf16[K, G, H, D]
weight W1, W3: bf16[D, F]; weight W2: bf16[F, D]; weight We: bf16[V, D]
cache Kc, Vc: bf16[B, S, K, H]
repeat L as x = z {
  n = rms_norm(x)
  q = n * Wq -> bf16[B, T, K, G, H]
  r = rope(q)
  k = n * Wk -> bf16[B, T, K, H]
  v = n * Wv -> bf16[B, T, K, H]
  fuse {
    s = r * Kc -> bf16[B, T, S, K, G]
    p = softmax(s, S)
    o = p * Vc -> bf16[B, T, K, G, H]
  }
  u = o * Wo -> bf16[B, T, D]
  w = x + u
  m = rms_norm(w)
  h = m * W1 -> bf16[B, T, F]
  g = m * W3 -> bf16[B, T, F]
  a = silu(h)
  b = a * g
  y = b * W2 -> bf16[B, T, D]
  z = w + y
}
l = z * We -> bf16[B, T, V]
"""
ON_MESH = """
mesh X, Y on ICI
input  x:  bf16[B_X, D_Y]
weight W1: bf16[D_X, F_Y]
weight W2: bf16[F_Y, D_X]
h = x * W1 -> bf16[B_X, F_Y]
a = gelu(h)
y = a * W2 -> bf16[B_X, D_Y]
"""
PROGRAMS = {
    "program_mesh": (ON_MESH, {"on": "tpu-v5p", "training": True}, {}),
    "program_attention": (ATTENTION, {"on": "tpu-v5e"}, {}),
    "program_experts": (EXPERTS, {"on": "tpu-v5e", "assume": "B << D, F"}, {}),
    "program_training": (
        (ROOT / "examples" / "mlp.toml").read_text("utf-8").split('"""')[1],
        {"on": "tpu-v5e", "training": True},
        {},
    ),
    "program_turns": (
        "input x: bf16[B, D]; weight W: bf16[D, F]; weight V: bf16[F, D]; repeat L as x = z { h = x * W -> bf16[B, F]; z = h * V -> bf16[B, D] }",
        {"on": "tpu-v5e"},
        {},
    ),
    "program_decoder": (DECODER, {"on": "tpu-v5e"}, {"brief": True}),
    "program_statement": (DECODER, {"statement": "a"}, {}),
}
EXPLORED = {
    "regimes_matmul": lambda: sr.regimes(MATMUL, on="tpu-v5e", at="B=256,D=F=8192"),
    "regimes_scores": lambda: sr.regimes(
        "bf16[B, T, N, H] * bf16[B, S, N, H] -> bf16[B, N, T, S]", on="tpu-v5e", at=["H=128", "H=256"]
    ),
    "compare_matmul": lambda: sr.compare(
        MATMUL, on="tpu-v5e, h100, v100", dtypes="bf16, int8", assume="B << D, F", at="D=F=8192"
    ),
}
EXAMPLES = sorted(path for path in (ROOT / "examples").glob("*.toml") if path.stem != "answers")
SCRIPTS = sorted((ROOT / "examples").glob("*.py"))


@cache
def page(name):
    return sr.derive(**PAGES[name])


@cache
def explored(name):
    return EXPLORED[name]()


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("form", ["md", "tex", "txt"])
def test_page(name, form, golden):
    d = page(name)
    text = {"md": d.to_markdown, "tex": d.to_latex, "txt": d.to_text}[form]()
    golden(GOLDEN / f"{name}.{form}", text)


@pytest.mark.thorough
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("form", ["md", "tex", "txt"])
def test_page_of_a_program(name, form, golden):
    text, options, style = PROGRAMS[name]
    d = sr.derive(text, **options)
    golden(GOLDEN / f"{name}.{form}", {"md": d.to_markdown, "tex": d.to_latex, "txt": d.to_text}[form](**style))


def test_a_notebook_shows_the_fragment():
    assert page("matmul")._repr_latex_() == page("matmul").to_latex(heading=0)


def test_json_page(golden):
    golden(GOLDEN / "matmul.json", page("matmul").to_json())


@pytest.mark.thorough
@pytest.mark.parametrize("name", EXPLORED)
@pytest.mark.parametrize("form", ["md", "tex", "txt", "json"])
def test_exploration(name, form, golden):
    found = explored(name)
    text = {"md": found.to_markdown, "tex": found.to_latex, "txt": found.to_text, "json": found.to_json}[form]()
    golden(GOLDEN / f"{name}.{form}", text)


IN_LANGUAGES = [
    (name, lang, form) for lang in ("ko", "zh") for name, form in (("regimes_matmul", "md"), ("compare_matmul", "txt"))
]


@pytest.mark.parametrize(("name", "lang", "form"), IN_LANGUAGES)
def test_exploration_in_other_languages(name, lang, form, golden):
    found = explored(name)
    text = {"md": found.to_markdown, "txt": found.to_text}[form](lang=lang)
    golden(GOLDEN / f"{name}.{lang}.{form}", text)


LONG = "bf16[BatchSize, ModelDim] * bf16[ModelDim, HiddenDim] -> bf16[BatchSize, HiddenDim]"
NARROW = {
    "derive": lambda: page("matmul"),
    "derive, exact count": lambda: page("matmul_exact"),
    "derive, words": cache(lambda: sr.derive(LONG, on="tpu-v5e", at="ModelDim=HiddenDim=8192")),
    "regimes": lambda: explored("regimes_scores"),
    "regimes, words": cache(lambda: sr.regimes(LONG, on="tpu-v5e")),
    "compare": lambda: explored("compare_matmul"),
}


@pytest.mark.thorough
@pytest.mark.parametrize("width", [44, 60])
def test_pages_of_other_widths(width, golden):
    pages = [f"=== {name}\n{make().to_text(width=width)}" for name, make in NARROW.items()]
    golden(GOLDEN / f"width_{width}.txt", "\n".join(pages))


def test_there_are_examples():
    assert len(EXAMPLES) >= 6
    assert len(SCRIPTS) >= 3


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_problem(path, golden):
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
    found = judge_files([str(path)])
    golden(
        ROOT / path.with_suffix(".txt"), render_report(found, "text", Style(brief=name != "answers.toml", lang=lang))
    )


@pytest.mark.thorough
@pytest.mark.parametrize("form", ["markdown", "github", "json"])
def test_report_in_other_formats(form, golden, monkeypatch):
    monkeypatch.chdir(ROOT)
    found = judge_files(["examples/rooflines-mistakes.md", "examples/answers.toml"])
    text = (
        json.dumps(report_record(found), indent=2, ensure_ascii=False) + "\n"
        if form == "json"
        else render_report(found, form, Style(brief=True))
    )
    golden(GOLDEN / f"report.{ {'markdown': 'md', 'github': 'txt'}.get(form, form) }", text)


@pytest.mark.thorough
@pytest.mark.parametrize("lang", ["ko", "zh"])
def test_report_in_other_languages(lang, golden, monkeypatch):
    monkeypatch.chdir(ROOT)
    found = judge_files(["examples/rooflines-mistakes.md", "examples/answers.toml"])
    golden(GOLDEN / f"report.{lang}.md", render_report(found, "markdown", Style(lang=lang)))


def test_no_golden_file_is_left_over():
    expected = {f"{name}.{form}" for name in PAGES for form in ("md", "tex", "txt")} | {
        "matmul.json",
        "report.md",
        "report.ko.md",
        "report.zh.md",
        "report.txt",
        "report.json",
    }
    expected |= {f"{name}.{form}" for name in EXPLORED for form in ("md", "tex", "txt", "json")} | {
        f"width_{width}.txt" for width in (44, 60)
    }
    expected |= {f"{name}.{form}" for name in PROGRAMS for form in ("md", "tex", "txt")}
    expected |= {f"{name}.{lang}.{form}" for name, lang, form in IN_LANGUAGES}
    expected |= {f"matmul.{lang}.{form}" for lang in ("ko", "zh") for form in ("md", "txt")}
    assert {path.name for path in GOLDEN.iterdir() if not path.name.startswith("plot_")} == expected
