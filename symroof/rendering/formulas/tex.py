r"""Formulas as LaTeX, within the subset that KaTeX, MathJax, pdflatex and Markdown processors agree on.

Products by juxtaposition, fractions upright, ``1.97 \times 10^{14}``, no macros, no packages, ASCII only.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from symroof.formula import (
    Both,
    Call,
    Cases,
    Compare,
    Either,
    Figure,
    Formula,
    Infinity,
    Name,
    Negative,
    Number,
    Verdict,
    Written,
    fold,
)
from symroof.rendering.formulas.letters import Letters

SUM, NEGATIVE, PRODUCT, POWER, ATOM = range(5)
RELATIONS = {
    "=": "=",
    "~": r"\approx",
    "->": r"\to",
    "<": "<",
    "<=": r"\le",
    ">": ">",
    ">=": r"\ge",
    "<<": r"\ll",
    "~~": r"\asymp",
    "<=>": r"\iff",
    "=>": r"\implies",
}
FUNCTIONS = {"max": r"\max", "min": r"\min", "log": r"\log", "exp": r"\exp"}

# What a rule gives: the text, how tightly it binds, and whether it is taller than a line.
Part = tuple[str, int, bool]


@dataclass(frozen=True, slots=True)
class LatexPrinter:
    """
    >>> from symroof.formula import *
    >>> B, D = Name("B"), Name("D")
    >>> LatexPrinter().print(Product((number(2), B, Sum((D, Negative(number(1)))))))
    '2B(D - 1)'
    """

    letters: Letters = field(default_factory=Letters)

    def print(self, formula: Formula) -> str:
        text: str = fold(formula, self)[0]
        return text

    def relation(self, relation: str, *, regime: bool = False) -> str:
        return r"\sim" if regime and relation == "~" else RELATIONS[relation]

    def digits(self, digits: str) -> tuple[str, int]:
        r"""
        >>> LatexPrinter().digits("1.97e14")
        ('1.97 \\times 10^{14}', 2)
        """
        mantissa, _, power = digits.lower().partition("e")
        return (rf"{mantissa} \times 10^{{{int(power)}}}", PRODUCT) if power else (mantissa, ATOM)

    def number(self, node: Number) -> Part:
        if node.digits is not None:
            text, binding = self.digits(node.digits.split(" ")[0].rstrip("%"))
            unit = node.digits.partition(" ")[2] or ("%" if node.digits.endswith("%") else "")
            return text + (rf" \text{{ {unit}}}" if unit and unit != "%" else r"\%" if unit else ""), binding, False
        if node.value.denominator == 1:
            return str(node.value.numerator), ATOM if node.value >= 0 else NEGATIVE, False
        return rf"\frac{{{node.value.numerator}}}{{{node.value.denominator}}}", ATOM, True

    def figure(self, node: Figure) -> Part:
        return *self.digits(node.digits), False

    def name(self, node: Name) -> Part:
        return self.letters.latex(node.name), ATOM, False

    def infinity(self, node: Infinity) -> Part:
        return r"\infty", ATOM, False

    def verdict(self, node: Verdict) -> Part:
        return r"\text{always}" if node.holds else r"\text{never}", ATOM, False

    def sum(self, node: Formula, *terms: Part) -> Part:
        text = terms[0][0]
        for part in terms[1:]:
            body, binding, _tall = part
            minus = binding == NEGATIVE and body.startswith("-")
            text += f" - {body[1:]}" if minus else f" + {brackets(part) if binding == SUM else body}"
        return text, SUM, any(part[2] for part in terms)

    def negative(self, node: Negative, body: Part) -> Part:
        return "-" + (brackets(body) if body[1] <= NEGATIVE else body[0]), NEGATIVE, body[2]

    def group(self, node: Formula, body: Part) -> Part:
        return brackets(body) if body[1] < POWER else body[0], ATOM, body[2]

    def written(self, node: Written, body: Part) -> Part:
        from symroof.rendering.formulas.latexified import typeset

        text = typeset(node.function, self.letters)
        return body if text is None else (text, SUM, r"\frac" in text)

    def product(self, node: Formula, *factors: Part) -> Part:
        text = ""
        for i, part in enumerate(factors):
            alone = brackets(part) if part[1] < PRODUCT else part[0]
            if not text:
                text = alone
                continue
            before = factors[i - 1]
            wordy = any(side.startswith((r"\text", r"\mathrm")) for side in (before[0], alone))
            numeral = (
                alone[:1].isdigit() or before[1] == PRODUCT or (alone.startswith(r"\frac") and before[0].isdigit())
            )
            opened = alone.startswith(("(", r"\left"))
            if numeral or (wordy and not opened):
                glue = r" \cdot "
            else:
                runs_on = alone[:1].isalpha() and re.search(r"\\[A-Za-z]+$", text)
                glue = " " if part[2] or before[2] or alone.startswith("\\") or runs_on else ""
            text += glue + alone
        return text, PRODUCT, any(part[2] for part in factors)

    def quotient(self, node: Formula, above: Part, below: Part) -> Part:
        return rf"\frac{{{above[0]}}}{{{below[0]}}}", ATOM, True

    def power(self, node: Formula, base: Part, exponent: Part) -> Part:
        return f"{brackets(base) if base[1] < ATOM or base[2] else base[0]}^{{{exponent[0]}}}", POWER, base[2]

    def call(self, node: Call, *arguments: Part) -> Part:
        if node.function == "sqrt":
            return rf"\sqrt{{{arguments[0][0]}}}", ATOM, True
        listed = ", ".join(a[0] for a in arguments), SUM, any(a[2] for a in arguments)
        return FUNCTIONS.get(node.function, rf"\mathrm{{{node.function}}}") + brackets(listed), ATOM, listed[2]

    def compare(self, node: Compare, left: Part, right: Part) -> Part:
        return f"{left[0]} {RELATIONS[node.relation]} {right[0]}", SUM, left[2] or right[2]

    def both(self, node: Both, *parts: Part) -> Part:
        return r" \text{ and } ".join(p[0] for p in parts), SUM, any(p[2] for p in parts)

    def either(self, node: Either, *parts: Part) -> Part:
        return r" \text{ or } ".join(p[0] for p in parts), SUM, any(p[2] for p in parts)

    def cases(self, node: Cases, *parts: Part) -> Part:
        rows = []
        for i in range(len(node.rows)):
            consequence, guard = parts[2 * i][0].replace(r"\frac", r"\dfrac", 1), parts[2 * i + 1][0]
            rows.append(rf"{consequence} & \text{{if }} {guard}")
        if node.otherwise is not None:
            rows.append(rf"{parts[-1][0]} & \text{{otherwise}}")
        body = " \\\\[1em]\n".join(rows)
        return f"\n\\begin{{cases}}\n{body}\n\\end{{cases}}", SUM, True


def brackets(part: Part) -> str:
    """Plain brackets around a line, growing ones around anything taller or around brackets."""
    text, _, tall = part
    return rf"\left( {text} \right)" if tall or "(" in text else f"({text})"
