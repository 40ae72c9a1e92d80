"""Formulas of sizes as programs have them, with every sign written."""

from __future__ import annotations

from symroof.formula import Call, Compare, Formula, Group, Name, Negative, Number, Power, Product, Quotient, Sum, fold


def spelled_size(formula: Formula) -> str:
    """
    >>> spelled_size(Quotient(Product((Name("B"), Name("k"))), Name("E")))
    'B*k/E'
    """
    return fold(formula, SizePrinter())


def spelled_fact(fact: Compare) -> str:
    """What is known of sizes.

    >>> spelled_fact(Compare(Product((Name("B"), Name("k"))), "<=", Name("E")))
    'B*k <= E'
    """
    return f"{spelled_size(fact.left)} {fact.relation} {spelled_size(fact.right)}"


def spelled_factor(formula: Formula) -> str:
    """A factor behind a tensor: a number, or sizes in parentheses; where it is 1 over something, what the tensor is divided by.

    >>> from symroof.formula import number
    >>> spelled_factor(Quotient(number(1), Name("H"))), spelled_factor(Name("H")), spelled_factor(number(2))
    ('/ H', '* (H)', '* 2')
    """
    if isinstance(formula, Quotient) and isinstance(formula.above, Number) and formula.above.value == 1:
        return f"/ {_whole(formula.below, Number, Name, Call)}"
    return f"* {_whole(formula, Number)}"


def _whole(formula: Formula, *bare: type[Formula]) -> str:
    text = spelled_size(formula)
    return text if isinstance(formula, bare) and "/" not in text else f"({text})"


class SizePrinter:
    """Formulas of sizes, with every sign written."""

    def number(self, node: Number) -> str:
        return node.digits or str(node.value)

    def name(self, node: Name) -> str:
        return node.name

    def sum(self, node: Sum, *terms: str) -> str:
        return " + ".join(terms).replace("+ -", "- ")

    def product(self, node: Product, *factors: str) -> str:
        return "*".join(map(_bracketed, node.factors, factors))

    def quotient(self, node: Quotient, above: str, below: str) -> str:
        return f"{_bracketed(node.above, above)}/{_bracketed(node.below, below, Product, Quotient)}"

    def power(self, node: Power, base: str, exponent: str) -> str:
        return (
            f"{_bracketed(node.base, base, Product, Quotient)}^{_bracketed(node.exponent, exponent, Product, Quotient)}"
        )

    def negative(self, node: Negative, body: str) -> str:
        return f"-{_bracketed(node.body, body)}"

    def group(self, node: Group, body: str) -> str:
        return f"({body})"

    def call(self, node: Call, *arguments: str) -> str:
        return f"{node.function}({', '.join(arguments)})"


def _bracketed(node: Formula, text: str, *more: type[Formula]) -> str:
    return f"({text})" if isinstance(node, (Sum, Negative, *more)) else text
