"""Textbook LaTeX, read strictly: the grammar of claims over the tokens of LaTeX."""

from __future__ import annotations

from dataclasses import replace

from symroof.formula import Call, Formula, Group, Number, Quotient, number
from symroof.reading.claims import CONNECTIVES, RELATIONS, Claim, ClaimReader
from symroof.reading.latex_tokens import Dialect, scan_latex
from symroof.reading.scanner import Token

OPENINGS = frozenset(["{", "\\sqrt", "\\lceil", "\\lfloor"])


class LatexReader(ClaimReader):
    """The grammar of claims over the tokens of LaTeX: with braces as brackets, and rows that continue a chain."""

    def __init__(self, source: str, dialect: Dialect) -> None:
        self.source, self.scope, self.depth = source, dialect.scope, 0
        self.tokens = tuple(_joined(scan_latex(source, dialect)))
        self.go_to(0)

    def claims(self) -> tuple[Claim, ...]:
        """Every chain of the formula: rows that do not go on with the one before are claims of their own."""
        return tuple(self.separated(self._placed, "\\\\")[0])

    def _placed(self) -> Claim:
        start = self.token.start
        return replace(self.claim(), start=start)

    def expect_end(self, what: str = "the end") -> None:
        if self.token.kind not in ("end", "row"):
            raise self.error(expected=what)

    def _begins_atom(self) -> bool:
        return super()._begins_atom() or self.token.text in OPENINGS

    def _atom(self) -> Formula:
        if self.at("{"):
            return self._braced()
        for opening, closing, function in (("\\lceil", "\\rceil", "ceil"), ("\\lfloor", "\\rfloor", "floor")):
            if self.at(opening):
                return Call(function, (self._bracketed(opening, closing),))
        command = self.accept("\\sqrt", "\\frac")
        if command is None:
            return super()._atom()
        if command.text == "\\sqrt" and self.at("["):
            raise self.error("only square roots are read")
        argument = self._argument_of_command()
        return (
            Call("sqrt", (argument,)) if command.text == "\\sqrt" else Quotient(argument, self._argument_of_command())
        )

    def _number(self) -> Number:
        token, number = self.token, super()._number()
        behind = [t.text if t.kind == "symbol" else t.kind for t in self.tokens[self.index : self.index + 7]]
        if behind == ["\\frac", "{", "number", "}", "{", "number", "}"] and not self.token.spaced:
            raise self.error(
                "a number and a fraction have two readings",
                span=(token.start, self.token.end),
                expected="\\cdot, or +, between the two",
            )
        return number

    def _exponent(self) -> Formula:
        if self.at("{"):
            return self._braced()
        if self.token.kind == "number" and len(self.token.text) > 1:
            raise self.error("an exponent of several digits stands in braces", f"^{{{self.token.text}}}")
        return super()._exponent()

    def _braced(self) -> Formula:
        """A group in braces, or a quotient written with ``\\over``."""
        with self._nested("{", "}"):
            inner = self.expression()
            if self.accept("\\over"):
                inner = Quotient(inner, self.expression())
        return inner if isinstance(inner, Quotient) else Group(inner)

    def _argument_of_command(self) -> Formula:
        """What a command takes: a group, or the next single digit or letter."""
        if self.at("{"):
            inner = self._braced()
            return inner.body if isinstance(inner, Group) else inner
        token = self.token
        if token.kind == "number" and token.text.isdigit():
            rest = token._replace(text=token.text[1:], start=token.start + 1, spaced=False)
            self._replace(*([rest] if rest.text else []))
            return number(int(token.text[0]))
        raise self.error(expected="'{'")

    def _replace(self, *tokens: Token) -> None:
        """Other tokens for the one under the cursor."""
        self.tokens = (*self.tokens[: self.index], *tokens, *self.tokens[self.index + 1 :])
        self.go_to(self.index)


def _joined(tokens: tuple[Token, ...]) -> list[Token]:
    """Rows that begin with a relation go on with the chain; marks at the end are punctuation."""
    kept: list[Token] = []
    for token, after in zip(tokens, (*tokens[1:], tokens[-1]), strict=True):
        joins = not kept or after.kind == "end" or {after.text, kept[-1].text} & {*RELATIONS, *CONNECTIVES}
        if token.kind != "row" or not joins:
            kept.append(token)
    while len(kept) > 1 and kept[-2].text in (".", ",", ";", ":") and kept[-2].kind == "symbol":
        del kept[-2]
    return kept


def read_latex(source: str, dialect: Dialect) -> tuple[Claim, ...]:
    r"""The claims that a formula makes.

    >>> from symroof.reading.expressions import Scope
    >>> claim, = read_latex(r"\frac{BDF}{BD + DF + BF} \approxeq \frac{BDF}{DF} = B", Dialect(Scope(open=True)))
    >>> claim.propositions[0][0].relations
    ('~', '=')
    """
    return LatexReader(source, dialect).claims()


def read_latex_expression(source: str, dialect: Dialect) -> Formula:
    """A formula without a relation."""
    return LatexReader(source, dialect).alone()
