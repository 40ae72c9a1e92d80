"""Textbook LaTeX, read strictly: the grammar of claims over the tokens of LaTeX."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from symroof.errors import ReadingError
from symroof.formula import (
    KEYWORDS,
    Both,
    Call,
    Cases,
    Compare,
    Formula,
    Gap,
    Group,
    Infinity,
    Name,
    Number,
    Product,
    Quotient,
    names,
    number,
)
from symroof.reading.claims import CONNECTIVES, RELATIONS, Chain, Claim, ClaimReader, Proposition
from symroof.reading.latex_phrases import Dialect
from symroof.reading.latex_tokens import scan_latex
from symroof.reading.macros import joined
from symroof.reading.numbers import unit_named
from symroof.reading.scanner import SUPERSCRIPTS, Token, without_remarks

# Letters that are no word.
PRODUCT = re.compile(r"[B-DF-HJ-NP-TV-XZb-df-hj-np-tv-xz]{2,5}")


class LatexReader(ClaimReader):
    """The grammar of claims over the tokens of LaTeX: with braces as brackets, and rows that continue a chain."""

    call_brackets = ("(", "[")
    upright_units = True

    def __init__(self, source: str, dialect: Dialect) -> None:
        self.dialect = dialect
        super().__init__(source, dialect.scope)

    def scanned(self) -> Sequence[Token]:
        return without_remarks(joined(scan_latex(self.source, self.dialect)))

    def error(self, problem: str | None = None, *rest: Any, **where: Any) -> ReadingError:
        unread = self.token.kind == "unread"
        return super().error(self.token.text) if unread else super().error(problem, *rest, **where)

    def claims(self) -> tuple[Claim, ...]:
        """Every chain of the formula: rows that do not go on with the one before are claims of their own."""
        return tuple(self.separated(self._placed, "\\\\")[0])

    def _placed(self) -> Claim:
        index, start, scope = self.index, self.token.start, self.scope
        try:
            return replace(self.claim(), start=start)
        except ReadingError as error:
            rows = [i for i in range(index, len(self.tokens)) if self.tokens[i].kind in ("row", "end")]
            if not scope.lenient:
                raise
            self.start(scope)
            self.go_to(rows[0])
            gap = Chain((Gap(error.problem, error.column),), ())
            return Claim(self.source[start : self.tokens[rows[0]].start], ((gap,),), start=start)

    def expect_end(self, what: str = "the end") -> None:
        if self.token.kind not in ("end", "row"):
            raise self.error(expected=what)

    def _begins_atom(self) -> bool:
        text = self.token.text
        if text in self.ATOMS and self.token.kind != "word":
            return text != "[" or self.tokens[self.index - 1].kind != "word" or self.token.spaced
        return super()._begins_atom()

    def _atom(self) -> Formula:
        rule = self.ATOMS.get(self.token.text)
        return super()._atom() if rule is None else rule(self)

    def _names(self, token: Token) -> Formula:
        """A name; a word without a vowel that nothing explains is a product of letters, as it is typeset."""
        try:
            return super()._names(token)
        except ReadingError:
            if self.scope.open and PRODUCT.fullmatch(token.text) and unit_named(token.text) is None:
                return Product(tuple(map(Name, token.text)))
            raise

    def _fraction(self) -> Formula:
        derivative = self._derivative()
        if derivative is not None:
            return derivative
        self.next()
        return Quotient(self._argument_of_command(), self._argument_of_command())

    def _root(self) -> Formula:
        self.next()
        if self.at("["):
            raise self.error("only square roots are read")
        return Call("sqrt", (self._argument_of_command(),))

    def _square_brackets(self) -> Formula:
        if not self._begins_atom():
            raise self.error(expected="a sign")
        return Group(self._bracketed("[", "]"))

    def _logarithm(self) -> Formula:
        """A logarithm, of what stands in brackets, or of one number or name without."""
        if self.following.text in self.call_brackets:
            return super()._atom()
        function = self.next().text
        body = self._power()
        if self._begins_atom():
            raise self.error("where the logarithm ends has two readings", "brackets around all of it")
        return Call(function, (body,))

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
        before = self.tokens[self.index - 1].start
        raised = self.source[self.token.start : self.token.start + 1] in SUPERSCRIPTS or self.source[before] == "*"
        if self.token.kind == "number" and len(self.token.text) > 1 and not raised:
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
        if token.kind == "word" and token.text.isalpha() and token.text not in KEYWORDS:  # as TeX takes it: \frac np
            rest = token._replace(text=token.text[1:], start=token.start + 1, spaced=False)
            self._replace(token._replace(text=token.text[0], end=token.start + 1), *([rest] if rest.text else []))
            return self._names(self.next())
        raise self.error(expected="'{'")

    def _braced_under(self) -> Formula:
        """What stands over, or under, a brace; the words at the brace say what it is."""
        self.next()
        body = self._argument_of_command()
        if self.accept("_", "^"):
            self.expect("{")
            depth = 1
            while depth and self.token.kind != "end":
                depth += self.at("{") - self.at("}")
                self.next()
        return Group(body)

    def _sum(self) -> Formula:
        """A sum over an index between two ends: of the term behind it, which alone knows the index."""
        outer = self.scope
        self.next()
        self.expect("_")
        with self._nested("{", "}"):
            index = self.take("word", "an index, as in i=1").text
            self.expect("=")
            first = self.expression()
        self.expect("^")
        single = self.token.kind == "word" and len(self.token.text) == 1
        last = self._names(self.next()) if single else self._argument_of_command()
        self.scope = replace(outer, names=(*outer.names, index))
        body = self._term()
        self.scope = outer
        indexed = [name for name in names(body) if "_" in name and index in name.partition("_")[2]]
        if indexed:
            raise self.error(f"{indexed[0]} depends on the index {index}", "terms that are written out")
        if self.at("+", "-") and any(index in token.text for token in self._rest_of_side()):
            raise self.error("where the sum ends has two readings", "brackets around its terms")
        return Call("sum", (body, Name(index), first, last))

    def _limit(self) -> Formula:
        """What a term tends to as a name grows."""
        self.next()
        self.expect("_")
        with self._nested("{", "}"):
            name = self.take("word", "a name that grows, as in N \\to \\infty").text
            self.expect("->")
            if not self.at("oo"):
                raise self.error(expected="\\infty")
            self.next()
        return Call("limit", (self._term(), Compare(Name(name), "->", Infinity())))

    def _rest_of_side(self) -> Iterator[Token]:
        """The words from the cursor to the next relation."""
        for token in self.tokens[self.index :]:
            if token.kind in ("end", "row") or token.text in (*RELATIONS, *CONNECTIVES):
                return
            if token.kind == "word" and token.text not in self.scope.names:
                yield token

    def _derivative(self) -> Formula | None:
        r"""``\frac{d}{dX} f`` or ``\frac{df}{dX}``, also with \partial; None where the fraction is none."""
        above = [token.text for token in self.tokens[self.index + 1 : self.index + 4]]
        sign = "∂" if above[1:2] == ["∂"] else "d" if above[1:2] and above[1].startswith("d") else None
        if sign is None or above[0] != "{":
            return None
        texts = [token.text for token in self.tokens[self.index + 1 : self.index + 9]]
        end = texts.index("}") if "}" in texts else len(texts)
        below = texts[end + 1 :]
        closing = below.index("}") if "}" in below else 0
        over = "".join(texts[1:end]).removeprefix(sign)
        by = "".join(below[1:closing])
        if below[:1] != ["{"] or closing not in (2, 3) or not by.startswith(sign) or len(by) == 1:
            return None
        if sign in (*self.scope.names, *(self.scope.letters or ())):
            raise self.error("a derivative, or a fraction, are two readings", r"\partial for the derivative")
        place = self.token._replace(kind="word", text=by.removeprefix(sign))
        self.go_to(self.index + end + closing + 3)
        variable = self._names(place)
        if not isinstance(variable, Name):
            raise self.error("a derivative is by one name", r"\frac{d}{dX}", token=place)
        return Call("diff", (self._differentiated() if not over else self._names(place._replace(text=over)), variable))

    def _differentiated(self) -> Formula:
        """What a derivative is of: one group, or the term behind it."""
        if not self.at("(", "[", "{"):
            return self._term()
        body = self._power()
        if self._begins_atom() or self.at("*", "/"):
            raise self.error("where the derivative ends has two readings", "brackets around all of it")
        return body

    def proposition(self) -> Proposition:
        return self._guarded() if self.at("cases{") else super().proposition()

    def _guarded(self) -> Proposition:
        """A condition under its guard, as solutions are printed: ``B > … if DF > …, never otherwise`` is both of them."""
        with self._nested("cases{", "}cases"):
            condition = super().proposition()
            self.accept(",")
            self.expect("assuming", "if, and the guard of the condition")
            guard = super().proposition()
            self.expect("\\\\", "a second row: never otherwise")
            self.expect("never")
            self.accept(",")
            self.expect("otherwise")
        return (*condition, *guard)

    def _cases(self) -> Formula:
        """Values with conditions, row by row; one row may be for all other sizes."""
        outer = self.scope
        self.scope = replace(outer, lenient=False)
        rows: list[tuple[Formula, Formula]] = []
        otherwise: Formula | None = None
        with self._nested("cases{", "}cases"):
            while not self.at("}cases"):
                value = self.expression()
                self.accept(",")
                if self.accept("otherwise"):
                    otherwise = value
                else:
                    self.accept("assuming")
                    links = tuple(link for chain in self.proposition() for link in chain.links)
                    rows.append((value, links[0] if len(links) == 1 else Both(links)))
                self.accept(".", ",")
                if not self.accept("\\\\"):
                    break
        self.scope = outer
        if not rows:
            raise self.error("no row of the cases has a condition")
        return Cases(tuple(rows), otherwise)

    ATOMS: ClassVar[Mapping[str, Callable[[LatexReader], Formula]]] = {
        "{": _braced,
        "[": _square_brackets,
        "\\frac": _fraction,
        "\\sqrt": _root,
        "\\sum": _sum,
        "\\lim": _limit,
        "\\underbrace": _braced_under,
        "\\lceil": lambda self: Call("ceil", (self._bracketed("\\lceil", "\\rceil"),)),
        "\\lfloor": lambda self: Call("floor", (self._bracketed("\\lfloor", "\\rfloor"),)),
        "cases{": _cases,
        "log": _logarithm,
        "log2": _logarithm,
    }

    def _replace(self, *tokens: Token) -> None:
        """Other tokens for the one under the cursor."""
        self.tokens = (*self.tokens[: self.index], *tokens, *self.tokens[self.index + 1 :])
        self.go_to(self.index)


def read_latex(source: str, dialect: Dialect) -> tuple[Claim, ...]:
    r"""The claims that a formula makes.

    >>> from symroof.reading.name_scope import Scope
    >>> claim, = read_latex(r"\frac{BDF}{BD + DF + BF} \approxeq \frac{BDF}{DF} = B", Dialect(Scope(open=True)))
    >>> claim.propositions[0][0].relations
    ('~', '=')
    """
    return LatexReader(source, dialect).claims()


def read_latex_expression(source: str, dialect: Dialect) -> Formula:
    """A formula without a relation."""
    return LatexReader(source, dialect).alone()
