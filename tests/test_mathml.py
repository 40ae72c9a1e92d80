"""MathML says what the LaTeX says: read back, held against a library's converter, left alone by processors of Markdown, and
looked at in a browser."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from dataclasses import replace
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import pytest
from test_rendering_engines import require as require_engines

import symroof as sr
from symroof.errors import RenderingError
from symroof.reading.documents import read_text, with_formulas_set
from symroof.rendering.formulas.mathml import mathml, typeset
from symroof.rendering.pages.dialects import DIALECTS

ROOT = Path(__file__).parents[1]
PAGES = sorted(path for folder in ("docs", "examples", "tests/golden") for path in ROOT.glob(f"{folder}/**/*.md"))
MATH = re.compile(r"<math.*?</math>", re.DOTALL)
QUOTED = "rooflines-mistakes"  # in a report, which quotes what others wrote


@cache
def formulas():
    """The LaTeX of every formula of the pages, with whether it is a display."""
    found = []

    def take(latex, display):
        found.append((latex, display))
        return ""

    for path in PAGES:
        if QUOTED not in path.read_text("utf-8"):
            with_formulas_set(path.read_text("utf-8"), take)
    return tuple(dict.fromkeys(found))


# The inverse, written down a second time: an element as LaTeX.
NAMES = {
    "≈": r"\approx", "∼": r"\sim", "→": r"\to", "≤": r"\le", "≥": r"\ge", "≪": r"\ll", "≍": r"\asymp", "⟺": r"\iff",
    "⟹": r"\implies", "−": "-", "⋅": r"\cdot", "×": r"\times", "∞": r"\infty", "μ": r"\mu", "%": r"\%", "⌈": r"\lceil",
    "⌉": r"\rceil", "⌊": r"\lfloor", "⌋": r"\rfloor", "max": r"\max", "min": r"\min", "log": r"\log", "exp": r"\exp", "φ": r"\phi", "ψ": r"\psi", "ω": r"\omega", "α": r"\alpha", "κ": r"\kappa",
}  # fmt: skip
WIDTHS = {"1em": r"\quad", "0.1667em": r"\,"}


def latex_of(one):
    parts = [latex_of(child) for child in one]
    inside, text = "".join(parts), one.text or ""
    match one.tag:
        case "mi" | "mo" | "mn":
            return rf"\mathrm{{{text}}}" if one.get("mathvariant") else f"{NAMES.get(text, text)} "
        case "mtext":
            return r"\text{" + re.sub(r"([_%&#])", r"\\\1", text.replace("\xa0", " ")) + "}"
        case "mspace":
            return WIDTHS[one.get("width")] + " "
        case "mfrac":
            return rf"\frac{{{parts[0]}}}{{{parts[1]}}}"
        case "msqrt":
            return rf"\sqrt{{{inside}}}"
        case "msub" | "msup" | "msubsup":
            signs = {"msub": "_", "msup": "^", "msubsup": "_^"}[one.tag]
            return parts[0] + "".join(f"{sign}{{{part}}}" for sign, part in zip(signs, parts[1:], strict=True))
        case "mtable":
            return "[" + r"\\".join(parts) + "]"
        case "mtr":
            return "&".join(parts)
        case "math" | "mrow" | "mtd" | "mstyle":
            return inside
    raise AssertionError(one.tag)


def normal(latex):
    """LaTeX without what says nothing: spaces, the size of brackets, braces around what is one, how a block is called."""
    latex = re.sub(r"\\\\\[\w+\]|\\cr\b", r"\\\\", latex)
    latex = re.sub(r"\\begin\{cases\}", "{[", latex)
    latex = re.sub(r"\\begin\{(?:aligned|gathered|align\*?)\}", "[", latex)
    latex = re.sub(r"\\end\{[\w*]+\}", "]", latex)
    latex = re.sub(r"\\(?:left|right|allowbreak)(?![A-Za-z])", "", latex)
    latex = latex.replace(r"\dfrac", r"\frac").replace(r"\leq", r"\le").replace(r"\geq", r"\ge")
    return re.sub(r"[{}\s]", "", latex)


def test_every_formula_of_the_pages_can_be_read_back():
    assert len(formulas()) > 400
    for latex, display in formulas():
        element = ElementTree.fromstring(MATH.search(mathml(latex, display=display)).group())
        assert normal(latex_of(element)) == normal(latex), latex
        assert html.unescape(element.get("alttext")) == " ".join(latex.split())


def test_a_library_finds_the_same_letters_in_the_same_order():
    """Its elements are others; what is read from left to right is not."""
    converter = pytest.importorskip("latex2mathml.converter")
    known = {"·": "⋅", "−": "-", "-": "-", "∼": "~", "~": "~", "⟺": "⇔", "⟹": "⇒", "⇔": "⇔", "⇒": "⇒", "µ": "μ"}

    def seen(element):
        text = "".join(element.itertext()).replace("ϕ", "φ").replace("\xa0", "").replace("⁡", "")
        return re.sub(r"\s", "", "".join(known.get(c, c) for c in text))

    compared = 0
    for latex, _ in formulas():
        if "\\begin" in latex or "\\allowbreak" in latex:
            continue
        ours = ElementTree.fromstring(MATH.search(mathml(latex)).group())
        theirs = ElementTree.fromstring(converter.convert(latex))
        assert seen(ours) == seen(theirs), latex
        compared += 1
    assert compared > 300


def test_what_symroof_does_not_print_is_refused_with_its_place():
    for latex in (
        r"\oint x",
        r"\frac{1}",
        r"\left( x",
        "x & y",
        r"\begin{matrix} x \end{matrix}",
        "x }",
        r"\text",
        "{x",
    ):
        with pytest.raises(RenderingError, match="MathML"):
            mathml(latex)


def test_a_sign_between_and_a_sign_before_are_told_apart():
    assert 'form="prefix">−' in mathml("B = -D")
    assert 'form="prefix">−' in mathml("-D")
    assert 'form="infix">−' in mathml("B - D")
    assert 'form="infix">+' in mathml("{} + F")


PROBLEM = {"on": "tpu-v5e", "assume": "B << D, F", "at": "B=64, D=F=8192"}


@pytest.mark.parametrize("lang", ["en", "ko", "zh"])
def test_the_dialect_is_the_portable_page_with_other_marks(lang, monkeypatch):
    d = sr.derive("matmul", lang=lang, **PROBLEM)
    page = d.to_markdown(dialect="mathml")
    monkeypatch.setitem(DIALECTS, "mathml", replace(DIALECTS["mathml"], typeset=False))
    plain = d.to_markdown(dialect="mathml")
    assert page == typeset(plain)
    assert "$" not in page
    assert read_texts(page) == read_texts(plain)


def read_texts(page):
    parts = (part for part in read_text(page).parts if getattr(part, "kind", "") == "math" and part.start < part.end)
    return [(" ".join(part.text.split()), part.display) for part in parts]


def test_processors_of_markdown_leave_it_alone():
    """Whatever stands around: at the beginning of a line, in a list, a quotation, a table, bold."""
    import markdown
    from markdown_it import MarkdownIt

    one = r"D_{\text{a_b}} * \left\{ B_{1} \right\} < [F]"
    other = r"\begin{aligned} B &= \frac{D}{F} \\ &\ll 2 \end{aligned}"
    text = f"${one}$ begins. **Bold $B$** and *$D$*, ${one}$.\n\n- ${one}$ in a list\n\n> ${one}$ quoted\n\n| a | b |\n|:--|:--|\n| ${one}$ | $B$ |\n\n$$\n{other}\n$$\n\nend\n"
    text = text.replace("a_b", r"a\_b").replace("* ", r"\cdot ")
    made = [re.sub(r"\s+", " ", one) for one in MATH.findall(typeset(text))]
    assert len(made) == 9
    for name, page in {
        "Python-Markdown": markdown.markdown(typeset(text), extensions=["tables", "attr_list", "pymdownx.superfences"]),
        "CommonMark": MarkdownIt("commonmark", {"html": True}).enable("table").render(typeset(text)),
    }.items():
        left = [html.unescape(re.sub(r"\s+", " ", one)) for one in MATH.findall(page)]
        assert left == list(map(html.unescape, made)), name


def test_a_document_in_mathml_is_built_once_and_read_as_the_same(tmp_path):
    text = """<!-- symroof derive
operation = "matmul"
hardware = "tpu-v5e"
brief = true
id = "mm"
-->
<!-- symroof end -->

The ridge: <!-- symroof = '$R = {mm.ridge}$' --><!-- / -->.
"""
    document = tmp_path / "page.md"
    document.write_text(text)
    first = sr.build(document.read_text(), path=document, dialect="mathml")
    assert [block.error for block in first.blocks] == [None, None]
    assert first.text.count("<math") > 5
    assert "$" not in re.sub(r"<!--.*?-->", "", first.text, flags=re.DOTALL)
    document.write_text(first.text)
    again = sr.build(first.text, path=document, dialect="mathml")
    assert again.text == first.text
    verdicts = []
    for text in (claim := "On one chip $4 = 2 + 2$, and then $2 + 2 = 5$ of $B$.\n", typeset(claim)):
        document.write_text(text)
        verdicts.append([judgement.verdict for judgement in sr.verify(document).judgements])
    assert verdicts[0] == verdicts[1] == ["holds", "wrong"]


MEASURE = """<script>addEventListener("load", () => {
  const rect = e => e.getBoundingClientRect(), bad = [], all = [...document.querySelectorAll("math")];
  for (const m of all) {
    const r = rect(m);
    if (!(r.width > 1 && r.height > 4)) bad.push("no size: " + m.getAttribute("alttext"));
    for (const f of m.querySelectorAll("mfrac"))
      if (!(rect(f.children[0]).bottom <= rect(f.children[1]).top + 1)) bad.push("no fraction: " + m.getAttribute("alttext"));
    for (const s of m.querySelectorAll("msub"))
      if (!(rect(s.children[1]).bottom > rect(s.children[0]).bottom)) bad.push("no index: " + m.getAttribute("alttext"));
    for (const t of m.querySelectorAll("mtable")) {
      const ends = [...t.children].filter(r => r.children.length > 1 && r.children[0].children.length).map(r => rect([...r.children[0].children].at(-1)).right);
      if (ends.length > 1 && t.children[0].children[0].style.textAlign.endsWith("right") && Math.max(...ends) - Math.min(...ends) > 1) bad.push("not aligned: " + m.getAttribute("alttext"));
    }
  }
  const root = document.documentElement;
  const pre = document.createElement("pre");
  pre.id = "measured";
  pre.textContent = JSON.stringify({count: all.length, bad, sideways: root.scrollWidth - root.clientWidth});
  document.body.append(pre);
})</script>"""


@pytest.mark.thorough
@pytest.mark.parametrize("width", [390, 1280])
def test_a_browser_sets_every_formula(width, tmp_path):
    """Without a script: fractions have parts above one another, indices are below, columns are aligned; and a page does not
    scroll sideways on a phone."""
    import markdown

    browser = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium", "chrome"))), None)
    require_engines(browser, "there is no Chromium")
    found = 0
    for path in [p for p in PAGES[::4] if p.parent.name != "docs"] + [ROOT / "examples/site/docs/two_chips.md"]:
        if QUOTED in path.read_text("utf-8"):
            continue
        body = markdown.markdown(typeset(path.read_text("utf-8")), extensions=["tables"])
        style = "<style>table { display: block; overflow: auto } pre { overflow: auto } img { max-width: 100% } code { overflow-wrap: anywhere }</style>"
        page = tmp_path / "page.html"
        page.write_text(
            f'<!DOCTYPE html><meta charset="utf-8"><meta name="viewport" content="width=device-width">{style}{MEASURE}<body>{body}',
            "utf-8",
        )
        done = subprocess.run(
            [browser, "--no-sandbox", "--disable-gpu", f"--window-size={width},900", "--virtual-time-budget=5000", "--dump-dom", page.as_uri()],
            capture_output=True, text=True, check=True, timeout=120,
        )  # fmt: skip
        measured = json.loads(html.unescape(re.search(r'<pre id="measured">(.*?)</pre>', done.stdout, re.DOTALL)[1]))
        assert measured["bad"] == [], path.name
        assert measured["sideways"] <= 0, path.name
        assert measured["count"] == len(MATH.findall(body))
        found += measured["count"]
    assert found > 200
