"""Markdown pages keep to the portable subset, and the linter of that subset can fail."""

from __future__ import annotations

import re

import pytest
from render.corpus import CORPUS
from render.portable import formulas, page_problems, problems
from texts import cases

from symroof.reading.languages import languages

pytestmark = pytest.mark.part(2)

# What T1 fonts, typewriter faces among them, join into one character.
LIGATURE = re.compile(r"--|<<|>>|,,|``|''")


@pytest.mark.parametrize("name", CORPUS)
def test_a_page_is_portable(name: str) -> None:
    for lang in languages():
        page = CORPUS[name]().to_markdown(lang=lang)
        assert formulas(page)
        assert page_problems(page) == []


@pytest.mark.parametrize("name", ["regime", "symbolic dot", "two chips"])
def test_a_brief_page_is_portable(name: str) -> None:
    assert page_problems(CORPUS[name]().to_markdown(brief=True, heading=0)) == []


@pytest.mark.parametrize("name", ["regime", "symbolic matmul", "two chips", "title"])
def test_code_in_latex_keeps_its_characters(name: str) -> None:
    document = CORPUS[name]().to_latex()
    code = re.findall(r"\\texttt\{((?:[^{}\\]|\\.|\{[^{}]*\})*)\}", document)
    joined = [text for text in code if LIGATURE.search(text)]
    assert code
    if "[T1]{fontenc}" in document:
        assert joined == []


@cases(r"""
tex
I \le \frac{B}{2}
T_{\text{math}} > T_{\text{comms}}
\mathrm{block}_{\text{x}} \cdot N
1.97 \times 10^{14}
5\%
B \ll D, F
\left( 1 + \lambda \right)
\text{항상} & \text{若 } D > 1
""")
def test_a_portable_formula_has_no_problems(tex: str) -> None:
    assert problems(tex, display=False) == []


def test_a_portable_display_has_no_problems() -> None:
    rows = "\\begin{cases}\nB > 2 & \\text{if } D > R \\\\[1em]\n\\text{never} & \\text{otherwise}\n\\end{cases}"
    assert problems(f"I > R \\iff\n{rows}", display=True) == []


@pytest.mark.parametrize(
    ("tex", "problem"),
    [
        (r"\operatorname{log}", r"\operatorname is not portable"),
        (r"\muF", r"\muF is not portable"),
        (r"a \; b", r"\; is not portable"),
        (r"\lvert x \rvert", r"\lvert is not portable"),
        ("λ", "'λ' is not ASCII"),
        (r"\text{×}", "'×' is not ASCII"),
        ("B의", "'의' is not ASCII"),
        (r"\frac{1}{2", "{ and } are not balanced"),
        ("}1{", "{ and } are not balanced"),
        (r"\left( 1", r"\left and \right are not balanced"),
        (r"\right) \left(", r"\left and \right are not balanced"),
        (r"\frac{{{1}}}{2}", "{{ belongs to page builders"),
        (r"x^{%}", "{% belongs to page builders"),
        (r"x_{#1}", "{# belongs to page builders"),
        (r"\text{kv_heads}", r"_ in \text{kv_heads}"),
        (r"\text{cost $x$}", r"$ in \text{cost $x$}"),
        (r"\text{within 5 %}", r"% in \text{within 5 %}"),
        ("5 %", "a bare '%'"),
        ("a ~ b", "a bare '~'"),
        (r"\begin{array} 1 \end{array}", "the environment 'array' is not portable"),
        (r"\begin{aligned} 1", r"\begin{aligned} is never closed"),
        (r"1 \end{cases}", r"\end{cases} closes nothing"),
        (r"\begin{cases} 1 \end{aligned}", r"\end{aligned} closes nothing"),
        (r"1 \\[2pt] 2", r"\\[2pt] is not a space in em"),
        (r"1 \\ [x]", r"\\[x] is not a space in em"),
    ],
)
def test_a_formula_outside_the_subset_is_reported(tex: str, problem: str) -> None:
    assert problem in problems(tex, display=True)
    assert problem in problems(tex, display=False)


@pytest.mark.parametrize(
    ("tex", "problem"),
    [
        ("a * b", "inline '*' becomes emphasis"),
        ("|x|", "inline '|' splits table cells"),
        (r"d\_model", r"inline '\\_' loses its backslash"),
        (r"\{ 1", r"inline '\\{' loses its backslash"),
        (r"5\,s", r"inline '\\,' loses its backslash"),
        (r"1 \\ 2", r"inline '\\\\' loses a backslash"),
        ("1 +\n2", r"inline '\n' breaks the line"),
        (r"\mathrm{a}_{b} \mathrm{c}_{d}", "inline }_ twice becomes emphasis"),
        ("a <b", "inline < or > without spaces around it"),
        ("a> b", "inline < or > without spaces around it"),
        (" x", "inline space beside a dollar sign"),
        ("x ", "inline space beside a dollar sign"),
    ],
)
def test_an_inline_formula_that_markdown_damages_is_reported(tex: str, problem: str) -> None:
    assert problem in problems(tex, display=False)
    assert problem not in problems(tex, display=True)


@pytest.mark.parametrize("start", ["- 1", "+ 1", "* 1", "> 1", "# 1", "= 1", "1. 2", "12.5", "  - 1"])
def test_a_display_line_that_starts_a_list_quote_or_heading_is_reported(start: str) -> None:
    report = f"a display line starts as a list, a quote or a heading does: {start}"
    assert report in problems(f"I\n{start}", display=True)
    assert report not in problems(start.strip(), display=False)


@pytest.mark.parametrize(
    ("tex", "problem"),
    [("a\n\nb", "a blank line in a display"), ("a <b", "a display line holds what looks like a tag: a <b")],
)
def test_a_display_that_markdown_breaks_is_reported(tex: str, problem: str) -> None:
    assert problem in problems(tex, display=True)


@pytest.mark.parametrize(
    ("page", "problem"),
    [
        ("so $|x|$ it is\n", "inline '|' splits table cells: |x|"),
        ("| a | b |\n|--|--|\n| $|x|$ | 1 |\n", "a table row with a bar too many or too few: | $|x|$ | 1 |"),
        ("| a | b |\n|--|--|\n| `x | y` | 1 |\n", "a table row with a bar too many or too few: | `x | y` | 1 |"),
        ("text\n$$\nx\n$$\n", "line 2: no blank line before a display"),
        ("$$\nx\n$$\ntext\n", "line 3: no blank line after a display"),
        ("$$ x $$\n", "line 1: $$ is not alone"),
        ("so\n\n  $$\nx\n  $$\n", "line 3: $$ is not alone"),
        ("$$\nx\n", "a display is never closed"),
        ("$$\nx\n\ny\n$$\n", "a blank line in a display: x\n\ny"),
        ("$$\nx\n\n$$\n", "a blank line in a display: x\n"),
        ("costs $5 here\n", "a dollar sign without its partner: costs $5 here"),
        ("$x$2\n", "a digit after a formula keeps it from being one: $x$2"),
        ("时，$B$ 为\n", "GitHub opens no formula behind a letter or a mark: 时，$B$ 为"),
        ("{{ page }}\n", "{{ belongs to page builders"),
        ("`{% raw %}`\n", "{% belongs to page builders"),
        (
            r"$\mathrm{a}_{b}$ and $\mathrm{c}_{d}$",
            r"}_ twice in a line becomes emphasis: $\mathrm{a}_{b}$ and $\mathrm{c}_{d}$",
        ),
    ],
)
def test_a_page_that_markdown_damages_is_reported(page: str, problem: str) -> None:
    assert problem in page_problems(page)


@pytest.mark.parametrize(
    ("page", "found"),
    [
        ("`$x$` and ``a ` $y$``\n", []),
        ("```sh\necho $x $y\n```\nthen $z$\n", [("z", False)]),
        ("a \\$5 and $x$\n", [("x", False)]),
        ("$a$ and\n\n$$\nb\nc\n$$\n\n$d$\n", [("a", False), ("b\nc", True), ("d", False)]),
        ("one $5\n\ntwo $6\n", []),
    ],
)
def test_the_formulas_of_a_page(page: str, found: list[tuple[str, bool]]) -> None:
    assert formulas(page) == found
