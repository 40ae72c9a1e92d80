"""KaTeX, MathJax, pdflatex and xelatex accept what the printers write.

Without the engines these tests are skipped; with SYMROOF_REQUIRE_RENDERERS=1 they fail instead.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from itertools import count
from pathlib import Path

import pytest
from render.corpus import CORPUS
from render.portable import formulas

from symroof.errors import SymroofError
from symroof.reading.languages import languages
from symroof.rendering.pages.templating import load

pytestmark = pytest.mark.part(6)

RENDER = Path(__file__).parent / "render"
MODULES = Path(os.environ.get("SYMROOF_NODE_MODULES") or RENDER / "node_modules")
COMPLAINTS = ("Missing character", "Undefined control sequence")
COMPLETE = ("regime, at a size", "two chips", "title", "named tensors, words", "Greek names")
FRAGMENTS = "\\documentclass{article}\n\\usepackage{amsmath, amssymb}\n\\begin{document}\n%s\n\\end{document}\n"

Formula = tuple[str, bool]
Problems = Mapping[Formula, list[tuple[str, ...]]]


def require(present: object, reason: str) -> None:
    """Skip where something is missing, or fail where the environment says that it must be there."""
    if not present:
        (pytest.fail if os.environ.get("SYMROOF_REQUIRE_RENDERERS") == "1" else pytest.skip)(reason)


def check(rows: Iterable[tuple[str, str, bool]]) -> list[tuple[str, ...]]:
    """The problems that KaTeX and MathJax find: id, engine, message."""
    lines = (json.dumps({"id": name, "tex": tex, "display": display}) for name, tex, display in rows)
    done = subprocess.run(
        ["node", RENDER / "check.mjs"], input="\n".join(lines), capture_output=True, text=True, encoding="utf-8",
        env={**os.environ, "SYMROOF_NODE_MODULES": str(MODULES)}, timeout=120, check=False,
    )  # fmt: skip
    found = [tuple(line.split("\t", 2)) for line in done.stdout.splitlines()]
    assert done.returncode == bool(found), done.stderr
    return found


@pytest.fixture(scope="module")
def node() -> None:
    require(shutil.which("node"), "node is not installed")
    for package in ("katex", "mathjax"):
        require((MODULES / package).is_dir(), f"{MODULES} has no {package}; see SYMROOF_NODE_MODULES")


@cache
def in_every_language(name: str) -> list[Formula]:
    """The formulas of a page; those of its languages differ in the words among them."""
    return [formula for lang in languages() for formula in formulas(CORPUS[name]().to_markdown(lang=lang))]


@pytest.fixture(scope="module")
def web_problems(node: None, request: pytest.FixtureRequest) -> Problems:
    """What the two engines say of each formula of the pages to be tested, asked once for each."""
    asked: dict[Formula, list[tuple[str, ...]]] = {}
    items = (item for item in request.session.items if "web_problems" in getattr(item, "fixturenames", ()))
    for name in {item.callspec.params["name"] for item in items}:
        with suppress(SymroofError):  # the test of that derivation raises it again
            asked |= {formula: [] for formula in in_every_language(name)}
    order = list(asked)
    for place, engine, message in check((str(i), *formula) for i, formula in enumerate(order)):
        asked[order[int(place)]].append((engine, message))
    return asked


@pytest.mark.parametrize("name", CORPUS)
def test_katex_and_mathjax_accept_every_formula(name: str, web_problems: Problems) -> None:
    found = in_every_language(name)
    assert found
    assert {tex: web_problems[tex, display] for tex, display in found if web_problems[tex, display]} == {}


BROKEN = {r"\frac{1}{2}": set(), r"\text{a_b}": {"KaTeX"}, "é": {"KaTeX"}}
BROKEN |= {tex: {"KaTeX", "MathJax"} for tex in (r"\muF", r"\frac{1}{2", r"\left( 1")}


def test_a_broken_formula_is_reported(node: None) -> None:
    reported: dict[str, set[str]] = {tex: set() for tex in BROKEN}
    for place, engine, _ in check((str(i), tex, False) for i, tex in enumerate(BROKEN)):
        reported[list(BROKEN)[int(place)]].add(engine)
    assert reported == BROKEN


@pytest.fixture(scope="module")
def pdflatex() -> None:
    require(shutil.which("pdflatex"), "pdflatex is not installed")


# How each engine reads all and writes no PDF, and where a document says which one it wants.
ENGINES = {"pdflatex": "-draftmode", "xelatex": "-no-pdf"}
WANTED = re.compile(r"% !TEX program = (\w+)\n")


def compile_latex(document: str, folder: Path, complaints: Iterable[str] = COMPLAINTS) -> list[str]:
    """The lines in which the engine of a document complains about it."""
    folder.mkdir()
    (folder / "page.tex").write_text(document, "utf-8")
    wanted = WANTED.match(document)
    engine = wanted[1] if wanted else "pdflatex"
    done = subprocess.run(
        [engine, ENGINES[engine], "-interaction=nonstopmode", "-halt-on-error", "page.tex"], cwd=folder,
        stdin=subprocess.DEVNULL, capture_output=True, timeout=120, check=False,
    )  # fmt: skip
    log = (folder / "page.log").read_text("utf-8", errors="replace").splitlines()
    found = [line for line in log if line.startswith("!") or any(words in line for words in complaints)]
    return found or ([f"{engine} fails"] if done.returncode else [])


@pytest.mark.thorough
def test_pdflatex_accepts_every_fragment(pdflatex: None, tmp_path: Path) -> None:
    fragments: dict[str, str] = {}
    for name, derivation in CORPUS.items():
        with suppress(SymroofError):  # the tests of pages raise it again
            fragments[name] = derivation().to_latex(heading=0)
    assert fragments
    together = FRAGMENTS % "\n\\clearpage\n".join(fragments.values())
    assert compile_latex(together, tmp_path / "all") == [], one_by_one(fragments, tmp_path)


def one_by_one(fragments: Mapping[str, str], folder: Path) -> dict[str, list[str]]:
    """The complaints about each fragment on its own, so that one does not hide the next."""
    with ThreadPoolExecutor() as pool:
        done = pool.map(lambda i, text: compile_latex(FRAGMENTS % text, folder / str(i)), count(), fragments.values())
        return {name: found for name, found in zip(fragments, done, strict=True) if found}


@pytest.mark.part(3)
@pytest.mark.parametrize("name", COMPLETE)
def test_pdflatex_accepts_a_whole_document(name: str, pdflatex: None, tmp_path: Path) -> None:
    assert compile_latex(CORPUS[name]().to_latex(), tmp_path / "page") == []


@pytest.mark.parametrize("body", [r"$\muF$", "λ", r"$x_\text{a_b}$", r"\begin{tabular}{l} 1 & 2 \end{tabular}"])
def test_a_broken_document_is_reported(body: str, pdflatex: None, tmp_path: Path) -> None:
    assert compile_latex(FRAGMENTS % body, tmp_path / "page")


def test_a_missing_character_is_reported(pdflatex: None, tmp_path: Path) -> None:
    assert any("Missing character" in line for line in compile_latex(FRAGMENTS % r"\char200", tmp_path / "page"))


# Words of each language beside formulas, with what stands on no page of English: a guard, bold and emphasis, quotes.
PROSE = {
    "ko": r"\section*{\raggedright 행렬 곱셈: \texttt{bf16[B, D]}}\paragraph{$B$에 대해 푼다.} 강도는 $B$보다 작다(연산 병목), “$D = F$”일 때. \[ \text{항상 } D \] \emph{증명됨 $99$, \texttt{bf16}.}",
    "zh": r"\section*{\raggedright 矩阵乘法：\texttt{bf16[B, D]}}\paragraph{对 $B$ 求解。} 强度小于 $B$（计算受限），“$D = F$”时；共 $BF$ 个、$2$ 次。 \[ \text{若 } D \] \emph{已证明 $99$，\texttt{bf16}。}",
}


@pytest.fixture(scope="module")
def xelatex() -> None:
    found = shutil.which("xelatex") and shutil.which("kpsewhich")
    styles = found and subprocess.run(["kpsewhich", "kotex.sty", "ctexart.cls"], capture_output=True, check=False)
    require(styles and styles.returncode == 0, "xelatex with kotex and ctex is not installed")


def head_of_document(lang: str) -> str:
    return f"{load(f'{lang}/latex.j2', None, lang, {}).preamble()}\n"


@pytest.mark.thorough
@pytest.mark.parametrize("lang", PROSE)
def test_xelatex_has_every_glyph_of_a_language(lang: str, xelatex: None, tmp_path: Path) -> None:
    document = f"{head_of_document(lang)}\\begin{{document}}\n{PROSE[lang]}\n\\end{{document}}\n"
    complaints = (*COMPLAINTS, "Overfull", "undefined")
    assert compile_latex(document, tmp_path / "page", complaints) == []


@pytest.mark.thorough
@pytest.mark.parametrize(("lang", "word"), [("ko", "항상"), ("zh", "若")], ids=["ko", "zh"])
def test_a_space_between_words_and_a_formula_stays(lang: str, word: str, xelatex: None, tmp_path: Path) -> None:
    boxes = rf"\setbox0\hbox{{$\text{{{word} }}D$}}\setbox1\hbox{{$\text{{{word}}}D$}}"
    compared = r"\ifdim\wd0>\wd1 \else\errmessage{the space is lost}\fi"
    document = f"{head_of_document(lang)}\\begin{{document}}{boxes}{compared}\\end{{document}}\n"
    assert compile_latex(document, tmp_path / "page") == []


@pytest.mark.thorough
def test_a_missing_glyph_is_reported(xelatex: None, tmp_path: Path) -> None:
    document = f"% !TEX program = xelatex\n{FRAGMENTS % PROSE['ko']}"
    assert any("Missing character" in line for line in compile_latex(document, tmp_path / "page"))
