r"""Formulas as MathML Core, which a browser typesets without a script: what was printed as LaTeX in other marks.

A formula is laid out once, as LaTeX; here its marks are translated one by one. The subset is the one that symroof prints.
What is not in it is refused, and a letter or a digit that would be lost is an error. The LaTeX goes along as ``alttext``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from symroof.errors import RenderingError
from symroof.reading.documents import with_formulas_set
from symroof.rendering.formulas.plain import GREEK
from symroof.rendering.formulas.tex import COMMANDS

TOKEN = re.compile(r"\\(?:text|mathrm)\{(?:\\.|[^{}\\])*\}|\\[A-Za-z]+|\\\\(?:\[\w+\])?|\\.|\d+(?:\.\d+)?|\S")
RELATIONS = {
    "=": "=",
    "<": "<",
    ">": ">",
    r"\approx": "≈",
    r"\sim": "∼",
    r"\to": "→",
    r"\le": "≤",
    r"\leq": "≤",
    r"\ge": "≥",
    r"\geq": "≥",
    r"\ll": "≪",
    r"\asymp": "≍",
    r"\iff": "⟺",
    r"\implies": "⟹",
}
OPERATORS = {"+": "+", "-": "−", r"\cdot": "⋅", r"\times": "×", "/": "/"}
MARKS = {",": ",", ";": ";", ":": ":", ".": ".", "!": "!"}
SYMBOLS = {r"\infty": "∞", r"\%": "%"} | {rf"\{name}": letter for letter, name in GREEK.items()}
FENCES = {
    "(": "(",
    ")": ")",
    "[": "[",
    "]": "]",
    "|": "|",
    r"\{": "{",
    r"\}": "}",
    r"\lfloor": "⌊",
    r"\rfloor": "⌋",
    r"\lceil": "⌈",
    r"\rceil": "⌉",
    ".": "",
}
# How wide what is empty is, in ems.
SPACES = {r"\quad": "1", r"\,": "0.1667", r"\ ": "0.25", "~": "0.25"}
SILENT = frozenset((r"\allowbreak",))
# How the columns of a block stand, in turn; the brace before it.
PAIRS = ("right", "left")
# Browsers that lay out blocks inside of cells go by the second way to say it.
SIDES = {"right": "text-align:right;text-align:-webkit-right", "left": "text-align:left;text-align:-webkit-left"}
TABLES = {"aligned": PAIRS, "align": PAIRS, "align*": PAIRS, "gathered": ("center",), "cases": ("left",)}
# A mark behind a formula does not begin the next line.
FOLLOWED = re.compile(r'<span class="math">(<math (?:(?!</math>).)*</math>)</span>([.,;:!?)，。；：、）]+)')
WORDS = re.compile(r"\\([_%&#{}$ ])")


def mathml(latex: str, *, display: bool = False) -> str:
    r"""The formula as an element of HTML that stands in a line of Markdown; a ``display`` has a line of its own.

    Raises :class:`~symroof.errors.RenderingError` for a command that symroof does not print.

    >>> mathml(r"D_{\text{ab}}^{2} < 1.5")
    '<span class="math"><math alttext="D&#95;&#123;&#92;text&#123;ab&#125;&#125;&#94;&#123;2&#125; &#60; 1.5"><msubsup><mi>D</mi><mtext>ab</mtext><mn>2</mn></msubsup><mo form="infix">&#60;</mo><mn>1.5</mn></math></span>'
    """
    translation = _Translation(latex)
    body = translation.row()
    if translation.ahead is not None:
        raise translation.refused()
    style = ' style="display:block;overflow:auto hidden"' if display else ""
    kind = ' display="block"' if display else ""
    written = escaped(" ".join(latex.split()))
    return f'<span class="math"{style}><math{kind} alttext="{written}">{body}</math></span>'


def typeset(markdown: str) -> str:
    """A Markdown text whose formulas are set as MathML.

    >>> typeset("With $B$, in `$B`.").count("<math"), typeset("`$B`")
    (1, '`$B`')
    """
    text = with_formulas_set(markdown, lambda latex, display: mathml(latex, display=display))
    return FOLLOWED.sub(r'<span class="math" style="white-space:nowrap">\1\2</span>', text)


def escaped(text: str) -> str:
    """Text in HTML that a processor of Markdown leaves alone: what may be a mark is an entity.

    >>> escaped("a_b < 2 %")
    'a&#95;b &#60; 2 %'
    """
    return re.sub(r"[^\w\s%+=.,;:/()!−-]|_", lambda mark: f"&#{ord(mark.group())};", text)


class _Translation:
    """LaTeX read from left to right, mark by mark."""

    def __init__(self, latex: str) -> None:
        self.latex, self.tokens = latex, TOKEN.findall(latex)
        self.place = 0

    @property
    def ahead(self) -> str | None:
        return self.tokens[self.place] if self.place < len(self.tokens) else None

    def take(self, expected: str | None = None) -> str:
        token = self.ahead
        if token is None or expected not in (None, token):
            raise self.refused(expected)
        self.place += 1
        return token

    def refused(self, expected: str | None = None) -> RenderingError:
        result = "the end" if self.ahead is None else self.ahead
        return RenderingError(
            f"{result} in {' '.join(self.latex.split())!r} cannot be set as MathML",
            expected=expected or "what symroof prints",
        )

    def row(self) -> str:
        """Elements side by side, up to what ends them."""
        result: list[str] = []
        begins = True  # a sign is one between two parts, or the sign of the part behind it
        while (
            self.ahead is not None
            and self.ahead not in ("}", "&", r"\right", r"\end", r"\cr")
            and self.ahead[:2] != "\\\\"
        ):
            operator = self.ahead in OPERATORS or self.ahead in RELATIONS
            if self.ahead in OPERATORS and begins:
                result.append(f'<mo form="prefix">{OPERATORS[self.take()]}</mo>')
            else:
                result.append(self.scripted())
            begins = operator
        return "".join(result)

    def scripted(self) -> str:
        """An element with what stands below and above it."""
        base, below, above = self.element(), "", ""
        while self.ahead in ("_", "^"):
            if self.take() == "_":
                below = self.element()
            else:
                above = self.element()
        kind = "m" + "sub" * bool(below) + "sup" * bool(above)
        return base if kind == "m" else f"<{kind}>{base}{below}{above}</{kind}>"

    def element(self) -> str:
        token = self.take()
        if token == "{":
            inside = self.row()
            self.take("}")
            return inside if inside and len(_elements(inside)) == 1 else f"<mrow>{inside}</mrow>"
        if token.startswith((r"\text{", r"\mathrm{")):
            words = WORDS.sub(r"\1", token[token.index("{") + 1 : -1])
            if token.startswith(r"\text{"):
                return f"<mtext>{_spaced(escaped(words))}</mtext>"
            return f'<mi mathvariant="normal">{escaped(words)}</mi>'
        if token in (r"\frac", r"\dfrac"):
            fraction = f"<mfrac>{self.element()}{self.element()}</mfrac>"
            return f'<mstyle displaystyle="true">{fraction}</mstyle>' if token == r"\dfrac" else fraction
        if token == r"\sqrt":
            return f"<msqrt>{self.element()}</msqrt>"
        if token == r"\left":
            return self.fenced()
        if token == r"\begin":
            return self.table()
        return self.mark(token)

    def mark(self, token: str) -> str:
        """One mark, whatever stands beside it."""
        if token in RELATIONS:
            return f'<mo form="infix">{escaped(RELATIONS[token])}</mo>'
        if token in OPERATORS:
            return f'<mo form="infix">{OPERATORS[token]}</mo>'
        if token in MARKS:
            return f"<mo>{MARKS[token]}</mo>"
        if token in FENCES:
            return f'<mo stretchy="false">{escaped(FENCES[token])}</mo>'
        if token in SPACES:
            return f'<mspace width="{SPACES[token]}em"></mspace>'
        if token in SILENT:
            return "<mrow></mrow>"
        if token in SYMBOLS:
            return f"<mi>{SYMBOLS[token]}</mi>"
        if token[1:] in COMMANDS:
            return f"<mi>{token[1:]}</mi>"
        if token[0].isdigit():
            return f"<mn>{token}</mn>"
        if token.isalpha():
            return f"<mi>{token}</mi>"
        self.place -= 1
        raise self.refused()

    def fenced(self) -> str:
        """What stands between brackets that grow with it."""
        opening = self.fence()
        inside = self.row()
        self.take(r"\right")
        return f"<mrow>{opening}{inside}{self.fence()}</mrow>"

    def fence(self) -> str:
        if self.ahead not in FENCES:
            raise self.refused("a bracket")
        mark = FENCES[self.take()]
        return f"<mo>{escaped(mark)}</mo>" if mark else ""

    def table(self) -> str:
        """A block of rows."""
        kind = self.block_name()
        rows: list[list[str]] = [[self.row()]]
        while self.ahead != r"\end":
            if self.ahead == "&":
                self.take()
                rows[-1].append(self.row())
            elif self.ahead is not None and (self.ahead == r"\cr" or self.ahead[:2] == "\\\\"):
                self.take()
                rows.append([self.row()])
            else:
                raise self.refused(rf"\end{{{kind}}}")
        self.take()
        if self.block_name(kind) != kind:
            raise self.refused(rf"\end{{{kind}}}")
        body = "".join(f"<mtr>{''.join(_cells(row, kind))}</mtr>" for row in rows)
        table = f'<mtable displaystyle="{"false" if kind == "cases" else "true"}">{body}</mtable>'
        return f"<mrow><mo>{escaped('{')}</mo>{table}</mrow>" if kind == "cases" else table

    def block_name(self, expected: str | None = None) -> str:
        """The name of a block in its braces."""
        self.take("{")
        name = ""
        while self.ahead not in ("}", None):
            name += self.take()
        self.take("}")
        if name not in TABLES:
            raise RenderingError(f"a block {name} cannot be set as MathML", expected=expected or ", ".join(TABLES))
        return name


def _cells(row: list[str], kind: str) -> Iterator[str]:
    """The cells of a row; what stands in pairs touches, and pairs stand apart."""
    sides = TABLES[kind]
    for place, cell in enumerate(row):
        side = sides[place % len(sides)]
        apart = ("1em" if kind == "cases" else "2em" if place % 2 == 0 else "0") if place else "0"
        yield f'<mtd style="{SIDES.get(side, "text-align:center")};padding:0.25em 0 0.25em {apart}">{cell}</mtd>'


def _spaced(words: str) -> str:
    """Spaces at the ends stay."""
    inner = words.strip(" ")
    if not inner:
        return "\N{NO-BREAK SPACE}" * bool(words)
    before, behind = len(words) - len(words.lstrip(" ")), len(words) - len(words.rstrip(" "))
    return "\N{NO-BREAK SPACE}" * before + inner + "\N{NO-BREAK SPACE}" * behind


def _elements(text: str) -> list[str]:
    """The elements that stand side by side."""
    depth, result = 0, []
    for tag in re.finditer(r"<(/?)(\w+)[^>]*>", text):
        depth += -1 if tag[1] else 1
        if depth == 0:
            result.append(tag[2])
    return result
