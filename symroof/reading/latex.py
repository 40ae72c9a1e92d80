"""Textbook LaTeX, read strictly: the grammar of claims over the tokens of LaTeX."""

from __future__ import annotations

import itertools
from dataclasses import replace

from symroof.errors import ReadingError
from symroof.formula import Call, Formula, Group, Quotient, number
from symroof.reading.claims import CONNECTIVES, RELATIONS, Claim, ClaimReader
from symroof.reading.latex_tokens import Dialect, scan_latex
from symroof.reading.scanner import Token

OPENINGS = frozenset(["{", "\\sqrt", "\\lceil", "\\lfloor"])


class LatexReader(ClaimReader):
    """The grammar of claims over the tokens of LaTeX: with braces as brackets, and rows that continue a chain."""

    def __init__(self, source: str, dialect: Dialect) -> None:
        self.source, self.scope, self.depth = source, dialect.scope, 0
        self.tokens = self._joined(scan_latex(source, dialect))
        self.go_to(0)

    def _joined(self, tokens: tuple[Token, ...]) -> tuple[Token, ...]:
        """Rows that begin with a relation go on with the chain; marks at the end are punctuation."""
        kept: list[Token] = []
        for i, (a, b) in enumerate(itertools.pairwise(tokens)):
            if a.kind == "number" and b.text == "\\frac" and not b.spaced:
                kinds = [t.text if t.kind == "symbol" else t.kind for t in tokens[i + 2 : i + 8]]
                if kinds == ["{", "number", "}", "{", "number", "}"]:
                    raise ReadingError(
                        "a number and a fraction have two readings",
                        source=self.source,
                        span=(a.start, b.end),
                        expected="\\cdot, or +, between the two",
                    )
        for i, token in enumerate(tokens):
            after = tokens[i + 1] if i + 1 < len(tokens) else token
            if token.kind == "row" and (
                after.kind == "end"
                or after.text in (*RELATIONS, *CONNECTIVES)
                or not kept
                or kept[-1].text in (*RELATIONS, *CONNECTIVES)
            ):
                continue
            kept.append(token)
        while len(kept) > 1 and kept[-2].text in (".", ",", ";", ":") and kept[-2].kind == "symbol":
            del kept[-2]
        return tuple(kept)

    def claims(self) -> tuple[Claim, ...]:
        """Every chain of the formula: rows that do not go on with the one before are claims of their own."""
        found = [self._placed()]
        while self.token.kind == "row":
            self.next()
            found.append(self._placed())
        self.expect_end("a relation or the end")
        return tuple(found)

    def _placed(self) -> Claim:
        start = self.token.start
        return replace(self.claim(), start=start) if start else self.claim()

    def expect_end(self, what: str = "the end") -> None:
        if self.token.kind not in ("end", "row"):
            raise self.error(expected=what)

    def _begins_atom(self) -> bool:
        return super()._begins_atom() or self.token.text in OPENINGS

    def _atom(self) -> Formula:
        if self.token.kind != "symbol" or self.token.text == "(":
            return super()._atom()
        if self.at("{"):
            return self._braced()
        if self.at("\\sqrt"):
            self.next()
            if self.at("["):
                raise self.error("only square roots are read")
            return Call("sqrt", (self._argument_of_command(),))
        for opening, closing, function in (("\\lceil", "\\rceil", "ceil"), ("\\lfloor", "\\rfloor", "floor")):
            if self.at(opening):
                return Call(function, (self._bracketed(opening, closing),))
        if self.at("\\frac"):
            self.next()
            return Quotient(self._argument_of_command(), self._argument_of_command())
        return super()._atom()

    def _exponent(self) -> Formula:
        if self.at("{"):
            return self._braced()
        if self.token.kind == "number" and len(self.token.text) > 1:
            raise self.error("an exponent of several digits stands in braces", expected=f"^{{{self.token.text}}}")
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
            first, rest = token.text[0], token.text[1:]
            self._replace(Token("number", rest, token.start + 1, token.end, False) if rest else None)
            return number(int(first))
        raise self.error(expected="'{'")

    def _replace(self, token: Token | None) -> None:
        before, after = self.tokens[: self.index], self.tokens[self.index + 1 :]
        self.tokens = (*before, *((token,) if token else ()), *after)
        self.go_to(self.index)


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
    reader = LatexReader(source, dialect)
    formula = reader.expression()
    reader.expect_end("an operator or the end")
    return formula
