r"""The portable subset: LaTeX and Markdown that KaTeX, MathJax, pdflatex and Markdown processors read alike. Words of
Korean and Chinese stand inside of ``\text`` alone, where xelatex takes the place of pdflatex.

Markdown processors look at a page before its mathematics does, so a formula holds nothing that they take for
emphasis, an escape, a tag, a table cell or a list; and page builders look for ``{{``, ``{%`` and ``{#``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

WORDS = [
    "frac", "dfrac", "text", "mathrm", "times", "cdot", "le", "ge", "ll", "asymp", "sim", "approx", "to", "iff",
    "implies", "infty", "min", "max", "log", "exp", "sqrt", "left", "right", "begin", "end", "quad", "cr",
]  # fmt: skip
GREEK = [
    "alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu", "nu",
    "xi", "pi", "rho", "sigma", "tau", "upsilon", "phi", "chi", "psi", "omega", "Gamma", "Delta", "Theta",
    "Lambda", "Xi", "Pi", "Sigma", "Upsilon", "Phi", "Psi", "Omega",
]  # fmt: skip
COMMANDS = {"\\" + name for name in (*WORDS, *GREEK)} | {r"\\", r"\%"}
ENVIRONMENTS = ("aligned", "cases", "gathered")
TEMPLATE_MARKS = ("{{", "{%", "{#")
# What a Markdown processor does to a piece of an inline formula.
INLINE_DAMAGE = {
    "*": "becomes emphasis",
    "|": "splits table cells",
    "\n": "breaks the line",
    r"\_": "loses its backslash",
    r"\{": "loses its backslash",
    r"\,": "loses its backslash",
    r"\\": "loses a backslash",
}

WORDS_IN_FORMULA = re.compile(r"\\text\s*\{((?:[^{}\\]|\\.|\{[^{}]*\})*)\}")
# Hanzi, Hangul, and the punctuation of both.
EAST_ASIAN = re.compile("[\u3000-\u303f\u4e00-\u9fff\uac00-\ud7a3\uff00-\uffef]")
TOKEN = re.compile(r"\\[A-Za-z]+|\\.|.", re.DOTALL)
CODE = re.compile(
    r"^(?P<fence>```+|~~~+)[^\n]*\n.*?^(?P=fence)[`~]* *$"
    r"|(?<![`\\])(?P<ticks>`+)(?!`)(?:(?!\n\s*\n).)*?(?<!`)(?P=ticks)(?!`)",
    re.DOTALL | re.MULTILINE,
)
FORMULA = re.compile(r"(?<!\\)\$\$(?P<display>.*?)\$\$|(?<![\\$])\$(?P<inline>(?:[^$\n]|\n(?!\s*\n))+)\$", re.DOTALL)


def formulas(markdown: str) -> list[tuple[str, bool]]:
    r"""The formulas of a page in order, each with whether it is a display; code holds none.

    >>> formulas("Costs $2N$, not `$x$`:\n\n$$\nI = 1\n$$\n")
    [('2N', False), ('I = 1', True)]
    """
    return [_formula(match) for match in FORMULA.finditer(_blanked(markdown))]


def _formula(match: re.Match[str]) -> tuple[str, bool]:
    if match["display"] is None:
        return match["inline"], False
    return match["display"].removeprefix("\n").removesuffix("\n"), True


def problems(tex: str, display: bool) -> list[str]:
    r"""What keeps a formula out of the portable subset.

    >>> problems(r"I \le \frac{B}{2}", False), problems(r"B \leq |D|", False)
    ([], ['\\leq is not portable', "inline '|' splits table cells"])
    """
    tokens = TOKEN.findall(WORDS_IN_FORMULA.sub(lambda words: EAST_ASIAN.sub("x", words[0]), tex))
    found = [*_commands(tokens), *_environments(tex), *_characters(tokens), *_braces(tokens), *_words(tex)]
    found += _template_marks(tex)
    return [*found, *(_display(tex) if display else _inline(tex, tokens))]


def page_problems(markdown: str) -> list[str]:
    r"""What keeps a page from looking the same everywhere: its formulas, and how they sit in the Markdown.

    >>> page_problems("The bound is $B > 240$.\n"), page_problems("$$ B > 240 $$\n")
    ([], ['line 1: $$ is not alone'])
    """
    page = _blanked(markdown)
    found = [f"{problem}: {tex}" for tex, display in formulas(markdown) for problem in problems(tex, display)]
    found += [*_template_marks(_without_formulas(markdown)), *_fences(page.split("\n")), *_tables(markdown)]
    return [*found, *(problem for line in _without_displays(page).split("\n") for problem in _line(line))]


def _blanked(markdown: str) -> str:
    """The page with an ``x`` for every character of code, so that lines stay where they are."""
    return CODE.sub(lambda match: re.sub(r"[^\n]", "x", match[0]), markdown)


def _without_formulas(page: str) -> str:
    return FORMULA.sub("", page)


def _without_displays(page: str) -> str:
    return FORMULA.sub(lambda match: match[0] if match["display"] is None else "", page)


def _template_marks(text: str) -> list[str]:
    return [f"{mark} belongs to page builders" for mark in TEMPLATE_MARKS if mark in text]


def _commands(tokens: list[str]) -> Iterator[str]:
    for token in tokens:
        if token.startswith("\\") and token not in COMMANDS:
            yield f"{token} is not portable"


def _environments(tex: str) -> Iterator[str]:
    opened: list[str] = []
    for kind, name in re.findall(r"\\(begin|end)(?![A-Za-z])(?:\{([^{}]*)\})?", tex):
        if name not in ENVIRONMENTS:
            yield f"the environment {name!r} is not portable"
        if kind == "begin":
            opened.append(name)
        elif not opened or opened.pop() != name:
            yield rf"\end{{{name}}} closes nothing"
    yield from (rf"\begin{{{name}}} is never closed" for name in opened)
    for space in re.findall(r"\\\\\s*\[([^\]]*)\]", tex):
        if not re.fullmatch(r"\d+(\.\d+)?em", space):
            yield rf"\\[{space}] is not a space in em"


def _characters(tokens: list[str]) -> Iterator[str]:
    for token in sorted(set(tokens)):
        if not token.isascii():
            yield f"{token!r} is not ASCII"
        elif token in set('%#$~`"\t'):
            yield f"a bare {token!r}"


def _braces(tokens: list[str]) -> Iterator[str]:
    for opening, closing in (("{", "}"), (r"\left", r"\right")):
        depths = [0]
        for token in tokens:
            depths.append(depths[-1] + (token == opening) - (token == closing))
        if depths[-1] or min(depths) < 0:
            yield f"{opening} and {closing} are not balanced"


def _words(tex: str) -> Iterator[str]:
    for words in WORDS_IN_FORMULA.findall(tex):
        for token in sorted(set(TOKEN.findall(words)) & set("_$%^&")):
            yield rf"{token} in \text{{{words}}}"


def _inline(tex: str, tokens: list[str]) -> Iterator[str]:
    if tex != tex.strip():
        yield "inline space beside a dollar sign"
    yield from (f"inline {piece!r} {damage}" for piece, damage in INLINE_DAMAGE.items() if piece in tokens)
    if tex.count("}_") > 1:
        yield "inline }_ twice becomes emphasis"
    if re.search(r"(?<!\s)[<>]|[<>](?!\s)", tex):
        yield "inline < or > without spaces around it"


def _display(tex: str) -> Iterator[str]:
    for line in tex.split("\n"):
        if not line.strip():
            yield "a blank line in a display"
        if re.match(r"\s*([-+*>#=]|\d+\.)", line):
            yield f"a display line starts as a list, a quote or a heading does: {line}"
        if re.search(r"<[A-Za-z/!?]", line):
            yield f"a display line holds what looks like a tag: {line}"


def _fences(lines: list[str]) -> Iterator[str]:
    marked = [number for number, line in enumerate(lines) if "$$" in line]
    yield from (f"line {number + 1}: $$ is not alone" for number in marked if lines[number] != "$$")
    alone = [number for number in marked if lines[number] == "$$"]
    if len(alone) % 2:
        yield "a display is never closed"
    for place, number in enumerate(alone):
        outside = lines[number + 1 : number + 2] if place % 2 else lines[:number][-1:]
        if outside and outside[0].strip():
            yield f"line {number + 1}: no blank line {'after' if place % 2 else 'before'} a display"


def _tables(markdown: str) -> Iterator[str]:
    """Rows with more or fewer cells than the head of their table; a bar splits cells even inside code."""
    width = None
    for line in markdown.split("\n"):
        cells = len(re.findall(r"(?<!\\)\|", line)) if line.startswith("|") else None
        if cells is not None and cells != (width or cells):
            yield f"a table row with a bar too many or too few: {line}"
        width = cells and (width or cells)


def _line(line: str) -> Iterator[str]:
    found = list(FORMULA.finditer(line))
    if re.search(r"(?<!\\)\$", FORMULA.sub("", line)):
        yield f"a dollar sign without its partner: {line}"
    if any(line[match.end() : match.end() + 1].isdigit() for match in found):
        yield f"a digit after a formula keeps it from being one: {line}"
    if any(line[: match.start()][-1:].strip(" ([") for match in found):
        yield f"GitHub opens no formula behind a letter or a mark: {line}"
    if sum(match["inline"].count("}_") for match in found if match["inline"]) > 1:
        yield f"}}_ twice in a line becomes emphasis: {line}"
