"""How mathematics, numbers and words are set in a line of prose, in each format: what templates call."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from symroof.algebra.rounding import to_digits
from symroof.derivation.layout import Layout
from symroof.errors import RenderingError
from symroof.formula import Formula
from symroof.rendering.formulas.letters import GREEK
from symroof.rendering.formulas.plain import PlainPrinter
from symroof.rendering.formulas.tex import LatexPrinter

TEX_SPECIAL = (
    {c: "\\" + c for c in "&%$#_{}"}
    | {
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "\\": r"\textbackslash{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "-": "-{}",
    }
    | {c: rf"$\{name}$" for c, name in GREEK.items()}
)


@dataclass(frozen=True, slots=True)
class Chain:
    """Names that are equal: D = F."""

    names: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Pen:
    """One format: ``mark`` stands on both sides of inline mathematics."""

    form: str
    mark: str
    printer: LatexPrinter | PlainPrinter
    layout: Layout

    def inline(self, *parts: Any) -> str:
        """Mathematics in a line of prose: formulas, relations between them, and lists."""
        return f"{self.mark}{' '.join(self._part(part) for part in parts)}{self.mark}"

    def each(self, formulas: tuple[Formula, ...]) -> str:
        """A list in prose: B, D and F."""
        shown = [self.inline(formula) for formula in formulas]
        return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)

    def _part(self, part: Any) -> str:
        match part:
            case Formula():
                return self.printer.print(part)
            case Chain(names=names):
                return " = ".join(self.printer.print(name) for name in names)
            case str() if part.startswith("regime "):
                return self.printer.relation(part.removeprefix("regime "), regime=True)
            case str():
                return self.printer.relation(part)
            case int() | Fraction():
                return self.printer.print(self.layout.write(part))
            case tuple() | list():
                return ", ".join(self._part(one) for one in part)
        raise RenderingError(f"a template sets {type(part).__name__} as mathematics")

    def code(self, text: str) -> str:
        text = text.replace("{{", "{ {").replace("{%", "{ %").replace("{#", "{ #")
        return {"markdown": f"`{text}`", "latex": rf"\texttt{{{tex(text)}}}"}.get(self.form, text)

    def words(self, text: str) -> str:
        """Words of the user's in prose: what a format would read as its own signs is taken as itself."""
        if self.form == "latex":
            return tex(text)
        return re.sub(r"([\\`*_$<{}|\[\]])", r"\\\1", text) if self.form == "markdown" else text

    def percent_of(self, value: Fraction | int) -> str:
        digits = to_digits(Fraction(value), 2) if value != int(value) else str(int(value))
        return f"{digits}\\,\\%" if self.form == "latex" else f"{digits} %"

    def micro(self, unit: str) -> str:
        """A unit of time; a microsecond has a letter that not every format can show."""
        plain = isinstance(self.printer, PlainPrinter) and not self.printer.unicode
        return unit if unit != "us" or plain else r"$\mu$s" if self.form == "latex" else "µs"


def tex(text: str) -> str:
    r"""Text with the characters that TeX reads as commands taken as themselves.

    >>> tex("50 % of d_model")
    '50 \\% of d\\_model'
    """
    return "".join(TEX_SPECIAL.get(c, c) for c in text)
