"""Formulas as lines of text: claim syntax for terminals, explicit operators for JSON. Both can be read back."""

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
    Power,
    Product,
    Verdict,
    fold,
)
from symroof.rendering.formulas.letters import Letters

SUM, NEGATIVE, QUOTIENT, PRODUCT, POWER, ATOM = range(6)
UNICODE = {
    "=": "=",
    "~": "≈",
    "->": "→",
    "<": "<",
    "<=": "≤",
    ">": ">",
    ">=": "≥",
    "<<": "≪",
    "~~": "~~",
    "<=>": "⇔",
    "=>": "⇒",
    "oo": "∞",
}

Part = tuple[str, int]


@dataclass(frozen=True, slots=True)
class PlainPrinter:
    """``unicode`` signs for relations; ``explicit`` writes every ``*`` and ``**``.

    >>> from symroof.formula import *
    >>> formula = Quotient(Product((number(2), Name("B"), Name("D"))), Product((number(3), Name("F"))))
    >>> PlainPrinter().print(formula), PlainPrinter(explicit=True).print(formula)
    ('2BD/(3F)', '2*B*D/(3*F)')
    """

    letters: Letters = field(default_factory=Letters)
    unicode: bool = False
    explicit: bool = False

    def print(self, formula: Formula) -> str:
        text: str = fold(formula, self)[0]
        return text

    def relation(self, relation: str, *, regime: bool = False) -> str:
        return UNICODE[relation] if self.unicode and not (regime and relation == "~") else relation

    def number(self, node: Number) -> Part:
        if node.digits is not None:
            digits = re.sub(" us$", " µs", node.digits) if self.unicode else node.digits
            return digits, QUOTIENT if "/" in node.digits else ATOM
        if node.value.denominator == 1:
            return str(node.value), ATOM if node.value >= 0 else NEGATIVE
        return str(node.value), QUOTIENT

    def figure(self, node: Figure) -> Part:
        return node.digits, ATOM

    def name(self, node: Name) -> Part:
        return self.letters.plain(node.name), ATOM

    def infinity(self, node: Infinity) -> Part:
        return self.relation("oo") if self.unicode else "oo", ATOM

    def verdict(self, node: Verdict) -> Part:
        return ("always" if node.holds else "never"), ATOM

    def sum(self, node: Formula, *terms: Part) -> Part:
        text = terms[0][0]
        for body, binding in terms[1:]:
            minus = binding == NEGATIVE and body.startswith("-")
            text += f" - {body[1:]}" if minus else f" + ({body})" if binding == SUM else f" + {body}"
        return text, SUM

    def negative(self, node: Negative, body: Part) -> Part:
        return f"-{_inside(body, QUOTIENT)}", NEGATIVE

    def group(self, node: Formula, body: Part) -> Part:
        return (f"({body[0]})", ATOM) if body[1] < POWER else body

    def written(self, node: Formula, body: Part) -> Part:
        return body

    def product(self, node: Product, *factors: Part) -> Part:
        parts = [_inside(factor, PRODUCT) for factor in factors]
        if self.explicit:
            return "*".join(parts), PRODUCT
        text = parts[0]
        for before, part, factor in zip(node.factors, parts[1:], node.factors[1:], strict=False):
            number = part[:1].isdigit() or part[:1] == "."
            wordy = any(len(self.letters.plain(name)) > 1 for side in (before, factor) for name in _letters(side))
            together = (
                not wordy and not self.letters.runs and not isinstance(before, Call) and not isinstance(factor, Call)
            )
            text += ("*" if number else "" if together else " ") + part
        return text, PRODUCT

    def quotient(self, node: Formula, above: Part, below: Part) -> Part:
        return f"{_inside(above, PRODUCT)}/{_inside(below, POWER)}", QUOTIENT

    def power(self, node: Formula, base: Part, exponent: Part) -> Part:
        return f"{_inside(base, ATOM)}{'**' if self.explicit else '^'}{_inside(exponent, ATOM)}", POWER

    def call(self, node: Call, *arguments: Part) -> Part:
        return f"{node.function}({', '.join(a[0] for a in arguments)})", ATOM

    def compare(self, node: Compare, left: Part, right: Part) -> Part:
        return f"{left[0]} {self.relation(node.relation)} {right[0]}", SUM

    def both(self, node: Both, *parts: Part) -> Part:
        return " and ".join(p[0] for p in parts), SUM

    def either(self, node: Either, *parts: Part) -> Part:
        return " or ".join(p[0] for p in parts), SUM

    def cases(self, node: Cases, *parts: Part) -> Part:
        rows = [f"{parts[2 * i][0]} if {parts[2 * i + 1][0]}" for i in range(len(node.rows))]
        if self.explicit:
            rows = [f"{parts[2 * i][0]} and {parts[2 * i + 1][0]}" for i in range(len(node.rows))]
            if isinstance(node.otherwise, Verdict) and not node.otherwise.holds:
                return " or ".join(rows), SUM
        if node.otherwise is not None:
            rows.append(f"{parts[-1][0]} otherwise")
        return "; ".join(rows), SUM


def _letters(factor: Formula) -> tuple[str, ...]:
    """The name that a factor is, or is a power of."""
    base = factor.base if isinstance(factor, Power) else factor
    return (base.name,) if isinstance(base, Name) else ()


def _inside(part: Part, least: int) -> str:
    return part[0] if part[1] >= least else f"({part[0]})"
