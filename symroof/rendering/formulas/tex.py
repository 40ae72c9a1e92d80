r"""Formulas as LaTeX, within the subset that KaTeX, MathJax, pdflatex and Markdown processors agree on.

Products by juxtaposition, fractions upright, ``1.97 \times 10^{14}``, no macros, no packages, ASCII only.

How broad a formula is on paper, in letters, is told from its LaTeX, so that what is too broad can be set otherwise.

Cost functions are typeset exactly as they were written; nothing else imports latexify. It reads a wider Python than can be
printed faithfully, so the tree is checked first: plain arithmetic over parameters and whole numbers. Every parameter travels
under a placeholder, which comes back as its own letter. latexify does not install on Python 3.14; there, and for anything
refused here, the printer prints the formula itself.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from itertools import accumulate, pairwise
from math import ceil
from unicodedata import east_asian_width

from symroof.formula import Call, Cases, Figure, Formula, Frozen, Name, Number, Written
from symroof.model.quantities import TABLE
from symroof.rendering.formulas.plain import ATOM, NEGATIVE, POWER, PRODUCT, SUM, Kind, Letters, Notation, Part, no_unit

SIGNS = {
    "~": r"\approx",
    "regime ~": r"\sim",
    "->": r"\to",
    "<=": r"\le",
    ">=": r"\ge",
    "<<": r"\ll",
    "~~": r"\asymp",
    "<=>": r"\iff",
    "=>": r"\implies",
    "oo": r"\infty",
}
# Functions that have a command of their own; the names of others are upright letters.
COMMANDS = frozenset({"max", "min", "log", "exp"})
ANYTHING = frozenset(Kind)
DOT = r" \cdot "
QUANTITY, OF_CHIPS = re.compile(r"\\text\{([^{}]*)\}"), re.compile(r"\w+_per_chip$|sent\(")


class Joint(Frozen):
    """A sign between two factors that cannot stand side by side."""

    before: frozenset[Kind]
    after: frozenset[Kind]
    reason: str


JOINTS = (
    Joint(
        ANYTHING, frozenset({Kind.NUMERAL, Kind.CHAIN}), "a digit would join the one before it, or look like its index"
    ),
    Joint(frozenset({Kind.CHAIN}), ANYTHING, "what follows 1.97 x 10^14 would seem to belong to the power"),
    Joint(frozenset({Kind.NUMERAL}), frozenset({Kind.FRACTION}), "2 1/2 is two and a half"),
    Joint(frozenset({Kind.WORD}), ANYTHING - {Kind.BRACKET}, "words side by side are one phrase"),
    Joint(ANYTHING, frozenset({Kind.WORD}), "words side by side are one phrase"),
)


class LatexPrinter(Notation):
    """
    >>> from symroof.formula import *
    >>> B, D = Name("B"), Name("D")
    >>> LatexPrinter().print(Product((number(2), B, Sum((D, Negative(number(1)))))))
    '2B(D - 1)'
    """

    @property
    def signs(self) -> Mapping[str, str]:
        return SIGNS

    def word(self, word: str) -> str:
        return rf"\text{{{word}}}" if word else ""

    def between(self, word: str) -> str:
        return f" {self.word(word)} "

    def brackets(self, part: Part) -> str:
        """Plain brackets around a line, growing ones around anything taller or around brackets."""
        return rf"\left( {part.text} \right)" if part.tall or "(" in part.text else f"({part.text})"

    def digits(self, digits: str) -> Part:
        r"""
        >>> LatexPrinter().digits("1.97e14").text
        '1.97 \\times 10^{14}'
        """
        mantissa, _, power = digits.lower().partition("e")
        if not power:
            return Part(mantissa, ATOM, kind=Kind.NUMERAL)
        return Part(rf"{mantissa} \times 10^{{{int(power)}}}", PRODUCT, kind=Kind.CHAIN)

    def number(self, node: Number) -> Part:
        if node.digits is not None:
            digits, _, unit = node.digits.partition(" ")
            shown = self.digits(digits.rstrip("%"))
            sign = rf" \text{{ {unit}}}" if unit and unit != "%" else r"\%" if unit or digits.endswith("%") else ""
            return replace(shown, text=shown.text + sign.replace(r"\text{ us}", r"\mu\text{s}"))
        if node.value.denominator == 1:
            return Part(str(node.value.numerator), ATOM if node.value >= 0 else NEGATIVE, kind=Kind.NUMERAL)
        return Part(rf"\frac{{{node.value.numerator}}}{{{node.value.denominator}}}", ATOM, True, Kind.FRACTION)

    def figure(self, node: Figure) -> Part:
        return self.digits(node.digits)

    def name(self, node: Name) -> Part:
        text = self.letters.latex(node.name)
        if (node.name in TABLE or OF_CHIPS.match(node.name)) and (called := QUANTITY.match(text)):
            text = self.word(self.words.quantities.get(called[1], called[1])) + text[called.end() :]
        kind = Kind.WORD if text.startswith(r"\text") else Kind.COMMAND if text[0] == "\\" else Kind.LETTER
        return Part(text, ATOM, kind=kind)

    def written(self, node: Written, body: Part) -> Part:
        text = typeset(node.function, self.letters)
        return body if text is None else Part(text, SUM, r"\frac" in text)

    def product(self, node: Formula, *factors: Part) -> Part:
        r"""
        >>> from symroof.formula import Figure, Product, number
        >>> LatexPrinter().print(Product((number(2), Figure("peak", "4.59e14"))))
        '2 \\cdot 4.59 \\times 10^{14}'
        """
        parts = [replace(f, text=self.brackets(f), kind=Kind.BRACKET) if f.binding < PRODUCT else f for f in factors]
        text = parts[0].text
        for before, after in pairwise(parts):
            text += _joint(before, after, text) + after.text
        return Part(no_unit(text), PRODUCT, any(part.tall for part in factors), Kind.CHAIN)

    def quotient(self, node: Formula, above: Part, below: Part) -> Part:
        return Part(rf"\frac{{{above.text}}}{{{below.text}}}", ATOM, True, Kind.FRACTION)

    def power(self, node: Formula, base: Part, exponent: Part) -> Part:
        """
        >>> from symroof.formula import Group, Power, number
        >>> LatexPrinter().print(Power(Group(Power(Name("B"), number(2))), number(3)))
        '(B^{2})^{3}'
        """
        loose = base.binding < ATOM or base.tall
        kind = Kind.BRACKET if loose else base.kind
        return Part(f"{self.brackets(base) if loose else base.text}^{{{exponent.text}}}", POWER, base.tall, kind)

    def call(self, node: Call, *arguments: Part) -> Part:
        if node.function == "sqrt":
            return Part(rf"\sqrt{{{arguments[0].text}}}", ATOM, True, Kind.COMMAND)
        listed, has_command = self.joined(", ", *arguments), node.function in COMMANDS
        head = rf"\{node.function}" if has_command else rf"\mathrm{{{node.function}}}"
        return Part(head + self.brackets(listed), ATOM, listed.tall, Kind.COMMAND if has_command else Kind.WORD)

    def cases(self, node: Cases, *parts: Part) -> Part:
        large = [part.text.replace(r"\frac", r"\dfrac", 1) for part in parts[::2]]
        before, behind = map(self.word, self.words.guard)
        guards = (f"{before} {guard.text}{behind}".strip() for guard in parts[1::2])
        rows = [self.case(then, guard) for then, guard in zip(large, guards, strict=False)]
        if node.otherwise is not None:
            rows.append(f"{parts[-1].text} & {self.word(self.words.otherwise)}")
        body = " \\\\[1em]\n".join(rows)
        return Part(f"\n\\begin{{cases}}\n{body}\n\\end{{cases}}", SUM, True)

    def case(self, then: str, guard: str) -> str:
        return f"{then} & {guard}"


def _joint(before: Part, after: Part, text: str) -> str:
    """What stands between two factors: a dot where a table says so, a space where TeX or the eye needs one."""
    start = Kind.NUMERAL if after.text[0].isdigit() else after.kind
    if any(before.kind in joint.before and start in joint.after for joint in JOINTS):
        return DOT
    runs_on = after.text[:1].isalpha() and re.search(r"\\[A-Za-z]+$", text)
    return " " if before.tall or after.tall or after.text.startswith("\\") or runs_on else ""


TOKEN = re.compile(r"\\[A-Za-z]+|\\.|[^\\]", re.DOTALL)
ROW = re.compile(r"\\\\(?:\[\w+\])?")
SILENT = frozenset((r"\left", r"\right", r"\text", r"\mathrm", r"\,", " ", "\n", "&", "$"))
# Relations and signs have space around them.
SPACED = frozenset((r"\approx", r"\iff", r"\implies", r"\le", r"\ge", r"\ll", r"\to", r"\asymp", *"=<>+-"))
# How much of its breadth counts what stands behind these.
SHARES = {"_": 0.7, "^": 0.7, r"\begin": 0.0, r"\end": 0.0}


def breadth(tex: str) -> float:
    r"""The breadth of a formula in letters; a fraction is as broad as its broader part, an index is small, a character
    of Korean or Chinese is as broad as two letters.

    >>> breadth("BDF"), breadth(r"\frac{BDF}{BD + DF + BF}"), breadth(r"D_{\text{ab}}"), breadth(r"\text{항상}")
    (3.0, 13.0, 2.4, 4.0)
    """
    return max(_group(iter(TOKEN.findall(row))) for row in ROW.split(tex))


def _group(tokens: Iterator[str]) -> float:
    """The breadth up to the end of the group."""
    return sum(_item(token, tokens) for token in iter(lambda: next(tokens, "}"), "}"))


def _item(token: str, tokens: Iterator[str]) -> float:
    """The breadth of what begins with a token."""
    if token == "{":
        return _group(tokens)
    if token in (r"\frac", r"\dfrac"):
        return max(_item(next(tokens, " "), tokens), _item(next(tokens, " "), tokens)) + 1
    if token in SHARES:
        return SHARES[token] * _item(next(tokens, " "), tokens)
    return 0.0 if token in SILENT else 3.0 if token in SPACED else 2.0 if east_asian_width(token[0]) in "WF" else 1.0


def text_size_cell(cell: str) -> str:
    r"""The cell of a table, where there is room for fractions of the size of the text; what stands in them is smaller.

    >>> text_size_cell(r"$\frac{\frac{1}{B}}{D} + \frac{1}{F}$ of $I_{\frac{1}{2}}$")
    '$\\dfrac{\\frac{1}{B}}{D} + \\dfrac{1}{F}$ of $I_{\\frac{1}{2}}$'
    """
    depths = accumulate({"{": 1, "}": -1}.get(c, 0) for c in cell)
    flat = {place for place, depth in enumerate(depths) if depth == 0}
    return re.sub(r"\\frac(?![a-z])", lambda m: r"\dfrac" if m.start() in flat else m.group(), cell)


PLACEHOLDER = "symroofplaceholder{}q"


@lru_cache(maxsize=256)
def typeset(function: Callable[..., object], letters: Letters) -> str | None:
    r"""The right-hand side of the function, or None where latexify is absent or would not print it faithfully."""
    from symroof.model.given_costs import returned_expression

    body = returned_expression(function)
    if body is None or _needs_own_brackets(body):
        return None
    try:
        from latexify import get_latex
    except ImportError:
        return None
    parameters = list(inspect.signature(function).parameters)
    places = {name: PLACEHOLDER.format(i) for i, name in enumerate(parameters)}
    text: str = get_latex(function, identifiers=places, use_signature=False)
    for name, place in places.items():
        for written in (rf"\mathrm{{{place}}}", place):
            text = text.replace(written, letters.latex(name))
    text = text.replace(r"\mathopen{}", "").replace(r"\mathclose{}", "")
    return _closed_up(text) if all(len(letters.latex(name)) == 1 for name in parameters) else text


def _needs_own_brackets(body: ast.expr) -> bool:
    """latexify drops the brackets of products in products, and prints two signs in a row for x - -y."""
    return any(isinstance(node, ast.BinOp) and isinstance(node.right, ast.UnaryOp) for node in ast.walk(body))


def _closed_up(text: str) -> str:
    r"""Single letters and numbers side by side, as everywhere else.

    >>> _closed_up(r"2 B \cdot N + B \left( N + 1 \right)")
    '2BN + B(N + 1)'
    """
    text = re.sub(r"\\left\(([^()\\]*)\\right\)", lambda m: f"({m.group(1).strip()})", text)
    return re.sub(r"(?<=[A-Za-z0-9)}]) (?:\\cdot )?(?=[A-Za-z(])", "", text)


BELOW = " \\\\\n\\quad "
BEGIN, BREAK, END = "\\begin{gathered}\n", " \\\\\n", "\n\\end{gathered}"


class FoldingPrinter(LatexPrinter):
    r"""Formulas over lines of a ``room`` in letters.

    >>> from symroof.formula import Name, Sum
    >>> print(FoldingPrinter(room=6).print(Sum(tuple(map(Name, "BDF")))))
    \begin{gathered}
    B + D \\
    {} + F
    \end{gathered}
    """

    room: float = 60

    def sum(self, node: Formula, *terms: Part) -> Part:
        whole = super().sum(node, *terms)
        if text_breadth(whole.text) <= self.room:
            return whole
        lines: list[str] = []
        for term in self.signed(*terms):
            if lines and text_breadth(f"{lines[-1]} {term}") <= self.room:
                lines[-1] += f" {term}"
            else:
                lines.append("{} " * bool(lines) + term)
        return _block(lines, whole)

    def joined(self, between: str, *parts: Part) -> Part:
        whole = super().joined(between, *parts)
        sign, short = between.strip(), 4 * text_breadth(parts[0].text) < self.room
        if short or sign == "," or len(parts) < 2 or text_breadth(whole.text) <= self.room:
            return whole
        lines = rows_of(parts[0].text)
        for part in parts[1:]:
            first, *more = rows_of(part.text)
            lines += [f"{{}} {sign} {first}", *more]
        return _block(lines, whole)

    def cases(self, node: Cases, *parts: Part) -> Part:
        """Cases, none of which has its guard beside it where one has it below."""
        whole = super().cases(node, *parts)
        return replace(whole, text=whole.text.replace(" & ", r" \quad ")) if BELOW in whole.text else whole

    def case(self, then: str, guard: str) -> str:
        """A case, and its guard below it where they have no room side by side."""
        row = super().case(then, guard)
        return row if text_breadth(row) <= self.room else then + BELOW + guard


def _block(lines: list[str], whole: Part) -> Part:
    if len(lines) < 2:
        return whole
    return Part(BEGIN + BREAK.join(lines) + END, whole.binding, True)


def text_breadth(text: str) -> float:
    r"""The breadth of a formula in letters; a block of lines is as broad as its broadest line.

    >>> text_breadth(BEGIN + "BD" + BREAK + "F" + END + "BD")
    4.0
    """
    while (end := text.find(END)) >= 0:
        start = text.rfind(BEGIN, 0, end)
        rows = text[start + len(BEGIN) : end].split(BREAK)
        text = text[:start] + "x" * ceil(max(map(breadth, rows))) + text[end + len(END) :]
    return breadth(text)


def rows_of(text: str) -> list[str]:
    r"""The lines of a formula that is one block; blocks inside of fractions and brackets stay.

    >>> rows_of(BEGIN + "B + D" + BREAK + "{} + F" + END), rows_of("B + D")
    (['B + D', '{} + F'], ['B + D'])
    """
    if not (text.startswith(BEGIN) and text.endswith(END)):
        return [text]
    rows, depth, row = [], 0, ""
    for line in text[len(BEGIN) : -len(END)].split("\n"):
        depth += line.count("\\begin{") - line.count("\\end{")
        row += line
        if depth < 0:  # the block that begins the formula ends before it
            return [text]
        if depth == 0 and row.endswith(" \\\\"):
            rows.append(row.removesuffix(" \\\\"))
            row = ""
        else:
            row += "\n"
    return list(_flat([*rows, row.rstrip("\n")]))


def in_line(text: str, joint: str = " ") -> str:
    r"""A formula in a line of prose, with a ``joint`` where it may be broken; the blocks inside of it stay, without the sign
    for a new row that some Markdown processors take for their own.

    >>> in_line(BEGIN + "B + D" + BREAK + "{} + F" + END), in_line(rf"\frac{{1}}{{{BEGIN}B{BREAK}+ F{END}}}")
    ('B + D + F', '\\frac{1}{\\begin{gathered} B \\cr + F \\end{gathered}}')
    """
    whole = joint.join(row.removeprefix("{} ") for row in rows_of(text))
    return " ".join(whole.replace(BREAK, r" \cr ").split())


def _flat(rows: Iterable[str]) -> Iterable[str]:
    for row in rows:
        yield from rows_of(row)
