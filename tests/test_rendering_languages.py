"""Korean and Chinese in every kind of document: formulas that letters touch, bold heads, code; read by the real tools.

Korean attaches particles to a formula, and Chinese puts its own punctuation beside one; English does neither.
"""

from __future__ import annotations

import html
import importlib.util
import io
import re
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest
from render.corpus import CORPUS
from test_rendering_engines import COMPLAINTS, compile_latex, require, xelatex  # noqa: F401

from symroof.reading.languages import languages
from symroof.rendering.pages.dialects import DIALECTS, MARKUP
from symroof.rendering.pages.page import run_in

# Heads of sections with the count of their bold pieces, and lines; formulas stand in these marks: «B».
HEADS = {
    "ko": {"계산량을 센다.": 1, "«B»에 대해 푼다.": 1, "다음을 «B»에 대해 푼다.": 2, "«B»와 «D»를 견준다.": 2},
    "zh": {"计算量。": 1, "对 «B» 求解。": 2, "求解 «B»。": 2, "比较 «B»、«D»。": 3},
}
LINES = {
    "ko": [
        r"«B»는 «D»와 «F»보다 작다.",
        r"길이가 «\frac{B}{D}»인 내적이다(«B = D»일 때): «D»번 곱하고, «D - 1»번 더한다.",
        r"강도는 «B», «D», «F» 가운데 어느 것보다도 작으며 “«B»”이다; «0.05»%이다.",
    ],
    "zh": [
        r"«B» 远小于 «D»，«D» 与 «F» 无关；共 «BF» 个。",
        r"当 «B = D» 时（«B» 较小），强度至少为 «\frac{B}{3}»：«D»、«F» 和“«B»”。",
        r"大小为«B»的输出，«5»% 的误差。",
    ],
}
FORMULA = re.compile("«(.*?)»")


def page(lang: str, dialect: str) -> str:
    """Every line below every head, as a page of the dialect has them."""
    known = DIALECTS[dialect]
    opening, closing = known.inline

    def typed(text: str) -> str:
        return FORMULA.sub(lambda match: opening + match[1] + closing, text)

    both = ((head, line) for head in HEADS[lang] for line in LINES[lang])
    return "".join(known.bounded(f"{run_in(typed(head), known)} {typed(line)}") + "\n\n" for head, line in both)


def formulas(lang: str) -> list[str]:
    return [tex for head in HEADS[lang] for line in LINES[lang] for tex in FORMULA.findall(head + line)]


def bold(lang: str) -> int:
    return sum(HEADS[lang].values()) * len(LINES[lang])


def commonmark(text: str) -> str:
    from markdown_it import MarkdownIt
    from mdit_py_plugins.dollarmath import dollarmath_plugin

    reader = MarkdownIt("commonmark")
    dollarmath_plugin(reader, renderer=lambda tex, how: f"<i>{html.escape(tex)}</i>")
    return reader.render(text)


def github(text: str) -> str:
    """GitHub cannot be asked: its formulas are looked for by its rule in the code of CommonMark."""
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").render(text)


def arithmatex(*more: str) -> Callable[[str], str]:
    def rendered(text: str) -> str:
        import markdown

        settings = {"pymdownx.arithmatex": {"generic": True}}
        return markdown.markdown(text, extensions=["pymdownx.arithmatex", *more], extension_configs=settings)

    return rendered


# The dialect, what is needed to read it, a reader, and the pattern of a formula in what the reader writes.
ARITHMATEX = r'<span class="arithmatex">\\\((.*?)\\\)'
READERS = {
    "MyST": ("dollar", "mdit_py_plugins", commonmark, r"<i>(.*?)</i>"),
    "MkDocs": ("dollar", "pymdownx", arithmatex(), ARITHMATEX),
    "MkDocs, stricter": ("dollar", "pymdownx", arithmatex("pymdownx.betterem"), ARITHMATEX),
    "GitHub": ("github", "markdown_it", github, r"(?<![^\s(\[>])\$<code>(.*?)</code>\$"),
    "GitHub, dollars": ("dollar", "markdown_it", github, r"(?<![^\s(\[>])\$([^$]+)\$(?![A-Za-z0-9])"),
}


@pytest.mark.parametrize("lang", LINES)
@pytest.mark.parametrize("reader", READERS)
def test_every_formula_and_every_bold_head_is_read_as_one(reader: str, lang: str) -> None:
    dialect, module, read, pattern = READERS[reader]
    require(module is None or importlib.util.find_spec(module), f"{module} is not installed")
    written = read(page(lang, dialect))
    found = [html.unescape(tex) for tex in re.findall(pattern, written, re.DOTALL)]
    assert found == formulas(lang)
    if "<strong>" in written:
        assert written.count("<strong>") == bold(lang)
        assert "**" not in written


def test_without_spaces_github_misses_formulas_of_chinese() -> None:
    require(importlib.util.find_spec("markdown_it"), "markdown_it is not installed")
    for reader in ("GitHub", "GitHub, dollars"):
        dialect, _, read, pattern = READERS[reader]
        touching = re.sub(r"(?<=[，：、；（“为]) (?=\$)", "", page("zh", dialect))
        assert len(re.findall(pattern, read(touching), re.DOTALL)) < len(formulas("zh"))


def published(text: str) -> tuple[str, str]:
    """What docutils writes, and what it complains about."""
    from docutils.core import publish_string

    complaints = io.StringIO()
    settings = {
        "warning_stream": complaints, "report_level": 1, "math_output": "MathJax /mathjax.js", "output_encoding": "unicode"
    }  # fmt: skip
    return publish_string(text, writer="html5", settings_overrides=settings), complaints.getvalue()


@pytest.mark.parametrize("lang", LINES)
def test_docutils_reads_every_formula_and_every_bold_head(lang: str) -> None:
    require(importlib.util.find_spec("docutils"), "docutils is not installed")
    written, complaints = published(page(lang, "rst"))
    assert complaints == ""
    read = re.findall(r'<span class="math">\\\((.*?)\\\)</span>', written)
    assert [html.unescape(tex) for tex in read] == formulas(lang)
    assert written.count("<strong>") == bold(lang)
    assert not re.search(r"\*\*|``|:math:|\\ ", written[written.index("<main") :])


def test_without_joints_docutils_complains_or_misses_formulas() -> None:
    require(importlib.util.find_spec("docutils"), "docutils is not installed")
    for lang in LINES:
        written, _ = published(page(lang, "rst").replace("\\ ", ""))
        assert written.count('class="math"') < len(formulas(lang))


def test_the_rules_of_docutils_are_those_of_docutils() -> None:
    require(importlib.util.find_spec("docutils"), "docutils is not installed")
    from docutils.utils import punctuation_chars as known

    before = re.compile(rf"[{known.openers}{known.delimiters}]")
    behind = re.compile(rf"[{known.closing_delimiters}{known.delimiters}{known.closers}]")
    # Punctuation that is younger than the tables of docutils is left aside.
    kinds = {c: unicodedata.category(c) for c in map(chr, range(0x21, 0x10000))}
    characters = [c for c, kind in kinds.items() if kind[0] in "PSLN" and unicodedata.ucd_3_2_0.category(c) == kind]
    assert [c for c in characters if MARKUP.before.allows(c) and not before.match(c)] == []
    assert [c for c in characters if MARKUP.behind.allows(c) and not behind.match(c)] == []


# Answers in the other languages, one document for each engine. What KaTeX and MathJax say of every formula alone is
# asked beside that of English.
TRANSLATED = [lang for lang in languages() if lang != "en"]
DERIVED = ("regime, at a size", "two chips, at a size", "symbolic dot", "library softmax", "names with words")
EXPLORED = ("regimes", "comparison")


@pytest.mark.thorough
@pytest.mark.parametrize("lang", TRANSLATED)
def test_xelatex_accepts_every_page(lang: str, xelatex: None, tmp_path: Path) -> None:  # noqa: F811
    """One document with the fragments of all pages; nothing is missing in it, and nothing is too broad."""
    first, *others = (CORPUS[name]() for name in (*DERIVED, "regimes"))
    fragments = "\\clearpage\n".join(answer.to_latex(heading=0, lang=lang) for answer in others)
    document = first.to_latex(lang=lang).replace("\\end{document}", f"\\clearpage\n{fragments}\\end{{document}}")
    assert compile_latex(document, tmp_path / "page", (*COMPLAINTS, "Overfull", "undefined")) == []


@pytest.mark.thorough
@pytest.mark.part(3)
@pytest.mark.parametrize("lang", TRANSLATED)
@pytest.mark.parametrize("name", [*DERIVED[:2], *EXPLORED])
def test_docutils_accepts_a_page(name: str, lang: str) -> None:
    require(importlib.util.find_spec("docutils"), "docutils is not installed")
    text = CORPUS[name]().to_rst(heading=1, lang=lang)
    written, complaints = published(text)
    assert complaints == ""
    assert len(re.findall(r'<span class="math">', written)) == text.count(":math:`")
    assert not re.search(r"\*\*|``|:math:", written[written.index("<main") :])
