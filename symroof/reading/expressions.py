r"""Expressions, read strictly and exactly into formulas that keep the order of their author.

    expr     = ["+" | "-"] term { ("+" | "-") term }
    term     = run { ("*" | "/") run | SPACE run }      a space after "/" run is refused: it has two readings
    run      = power { power }                          without a space; binds tighter than "*" and "/"
    power    = ["-"] atom [("^" | "**") exponent]       in BD^2 the power takes D alone
    exponent = ["-"] (NUMBER | NAME | call | "(" expr ")") [("^" | "**") exponent]
    atom     = NUMBER [unit] | call | names | "oo" | "(" expr ")" | "\\frac" "{" expr "}" "{" expr "}"
    names    = a declared name, or a word with exactly one split into declared names

So ``2BDF`` is a product of four factors and ``BDF/2BF`` is BDF/(2BF). A word that does not split, or splits in
two ways, is an error: an undeclared product of letters is never a guess.

Sums that an author writes with dots: arithmetic series with a clear first term, step and last term.

``1 + 2 + … + N`` is the sum of i from 1 to N. Two readings are refused: ``1 + 2 + … + 64`` may double in each step.
Without a last term only a size that goes down by 1 is clear: ``D/2 + (D/2 - 1) + …`` ends at 1, or at 0, which is the same.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

from symroof.algebra.rational import cancel
from symroof.errors import AlgebraError, ReadingError, suggestion
from symroof.formula import (
    FUNCTIONS,
    KEYWORDS,
    Call,
    Compare,
    Formula,
    Group,
    Infinity,
    Name,
    Negative,
    Number,
    Power,
    Product,
    Quotient,
    Sum,
    names,
    number,
    product,
    total,
)
from symroof.model.quantities import UNITS
from symroof.reading.name_scope import Scope, is_opaque, split_word
from symroof.reading.numbers import read_number
from symroof.reading.scanner import Reader, T, Token, as_printed, scan
from symroof.symbols import expression, fraction

DEEPEST = 64
LARGEST_POWER = 10_000
NO_NAMES = KEYWORDS - {"oo"}
LETTERS = ("i", "j", "k", "n", "m")


class ExpressionReader(Reader):
    call_brackets: tuple[str, ...] = ("(",)
    upright_units = False
    grouping = False  # whether commas group digits by threes outside of documents as well

    def __init__(self, source: str, scope: Scope) -> None:
        self.start(scope)
        super().__init__(source)

    def start(self, scope: Scope) -> None:
        """Outside of all brackets, in a scope."""
        self.scope, self.depth, self.inside_bars, self.unit_at = scope, 0, False, -1

    def scanned(self) -> Sequence[Token]:
        document = self.scope.letters is not None
        return as_printed(scan(self.source, grouping=self.grouping or document), self.source, remarks=document)

    def bindings(self, value: Callable[[], T], example: str) -> list[tuple[list[str], T]]:
        """``D = F = value, B = value``: names that a value stands behind, each once."""
        bound: list[tuple[list[str], T]] = []
        seen: set[str] = set()
        while not bound or self.accept(","):
            names: list[str] = []
            while not names or (self.token.kind == "word" and self.following.text == "="):
                token = self.take("word", f"a name, as in {example}")
                if token.text not in self.scope.names and not self.scope.admits(token.text):
                    raise self._unknown(token)
                if token.text in seen:
                    raise self.error(f"{token.text} is given twice", token=token)
                seen.add(token.text)
                names.append(token.text)
                self.expect("=")
            bound.append((names, value()))
        return bound

    def alone(self) -> Formula:
        """The formula that is the whole text."""
        formula = self.expression()
        self.expect_end("an operator or the end")
        return formula

    def expression(self) -> Formula:
        terms: list[Formula] = []
        while not terms or self.at("+", "-"):
            sign = self.accept("+", "-")
            if len(terms) > 1 and sign and sign.text == "+" and self.at("..."):
                return self._series(terms)
            term = self._term()
            terms.append(Negative(term) if sign and sign.text == "-" else term)
        return total(*terms)

    def _series(self, terms: list[Formula]) -> Formula:
        """A sum whose middle terms are dots; its last term ends it."""
        dots = self.next()
        if not self.accept("+"):
            raise self.error("the sum has no last term", "1 + 2 + … + N", token=dots)
        try:
            added_up = series(terms, self._term())
        except ReadingError as error:
            raise error if error.span else self.error(error.problem, error.expected, token=dots) from None
        if self.at("+", "-"):
            raise self.error("a sum with dots ends with its last term", "brackets around it")
        return added_up

    def _term(self) -> Formula:
        result, divided = self._run(), False
        while self.index != self.unit_at and (
            (sign := self.accept("*", "/")) or (self.token.spaced and self._begins_atom())
        ):
            if divided and sign is None:
                raise self.error("a space after a division has two readings", "brackets: a/(b c), or (a/b) * c")
            divided = sign is not None and sign.text == "/"
            right = self._run()
            result = Quotient(result, right) if divided else product(result, right)
        return result

    def _run(self) -> Formula:
        result = self._power()
        while not self.token.spaced and self.token.kind != "number" and self._begins_atom():
            result = product(result, self._power())
        return result

    def _power(self) -> Formula:
        if self.accept("-"):
            return Negative(self._power())
        base = self._atom()
        if not self.accept("^"):
            return base
        exponent = self._exponent()
        if isinstance(base, Product):  # the split of a word: the power takes its last name
            return Product((*base.factors[:-1], Power(base.factors[-1], exponent)))
        return Power(base, exponent)

    def _exponent(self) -> Formula:
        if self.accept("-"):
            return Negative(self._exponent())
        token = self.token
        if token.kind not in ("number", "word") and not self.at("("):
            raise self.error(expected="an exponent")
        base = self._atom()
        if isinstance(base, Number) and abs(base.value) > LARGEST_POWER:
            raise self.error("the exponent is too large", f"at most {LARGEST_POWER} in size", token=token)
        if isinstance(base, Product):
            raise self.error(f"the exponent {token.text} is a product", "brackets, as in 2^(BD)", token=token)
        return Power(base, self._exponent()) if self.accept("^") else base

    def _number(self) -> Number:
        """The number under the cursor. Letters behind it may be a unit or names, but not both; they are names where each
        of them stands alone in the same formula."""
        number, word, scope = self.token.text, self.following, self.scope
        names, letters = scope.names, tuple(scope.letters or ())
        if word.kind == "word" and word.text in UNITS and word.text not in names:
            alone = {token.text for token in self.tokens if token.kind == "word" and len(token.text) == 1}
            if self.upright_units and self.depth and not word.spaced:  # a fraction of 2kB has no unit in it
                alone |= {*letters}
            if (len(word.text) > 1 and split_word(word.text, tuple(alone.intersection(letters)))) or (
                self.upright_units and word.text in letters and self._goes_on_behind(word)
            ):
                names = (*names, word.text)
            elif split_word(word.text, letters if word.spaced else (*names, *letters)):
                raise self.error(
                    f"{number}{word.text} has two readings",
                    span=(self.token.start, word.end),
                    expected=f"{number} {word.text} for the unit, or {number}*{word.text} for the names",
                )
        called = self.source.startswith("(", word.end) and scope.amounts(word.text)  # 2 bytes(h): no number of bytes
        gives_way = word.text in scope.give_way and not called
        return read_number(self, () if gives_way else names, scope.letters)

    def _goes_on_behind(self, word: Token) -> bool:
        """Whether a power or a name stands behind a letter, as behind no unit: 2 s^2 d."""
        behind = self.tokens[min(self.index + 2, len(self.tokens) - 1)]
        return word.kind == "word" and (behind.text == "^" or behind.kind == "word")

    def _begins_atom(self) -> bool:
        kind, text = self.token.kind, self.token.text
        if kind == "word":
            return text not in NO_NAMES
        return kind == "number" or text in ("(", "\\frac") or (text == "|" and not self.inside_bars)

    def _atom(self) -> Formula:
        token = self.token
        if not self._begins_atom():
            raise self.error(expected="a number, a name or '('")
        if token.kind == "number":
            return self._number()
        if self.at("("):
            return Group(self._bracketed("(", ")"))
        if self.at("|"):
            return self._bars()
        self.next()
        if token.text == "\\frac":
            return Quotient(self._bracketed("{", "}"), self._bracketed("{", "}"))
        if token.text == "oo":
            return Infinity()
        return self._call(token) if token.text in FUNCTIONS and self.at(*self.call_brackets) else self._names(token)

    def _bracketed(self, opening: str, closing: str) -> Formula:
        with self._nested(opening, closing):
            return self.expression()

    @contextmanager
    def _nested(self, opening: str, closing: str) -> Iterator[None]:
        """Brackets around what is read inside of the block, or a word before it."""
        self.expect(opening)
        self.depth += 1
        if self.depth > DEEPEST:
            raise self.error("the brackets are nested too deeply", f"at most {DEEPEST} levels")
        yield
        self.depth -= 1
        if closing:
            self.expect(closing)

    def _bars(self) -> Formula:
        """What stands between bars: a name is a size there, anything else has its absolute value."""
        self.inside_bars = True
        inner = self._bracketed("|", "|")
        self.inside_bars = False
        return inner if isinstance(inner, Name) else Call("abs", (inner,))

    def _call(self, function: Token) -> Formula:
        with self._nested(self.token.text, "]" if self.at("[") else ")"):
            outer = self.scope
            if function.text == "sum" and (index := self._summation_index()) is not None:
                self.scope = replace(outer, names=(*outer.names, index))
            arguments, _ = self.separated(self._argument, ",")
            self.scope = outer
        return Call(function.text, tuple(arguments))

    def _summation_index(self) -> str | None:
        """The name after the first comma of sum(e, i, a, b): known inside of it alone."""
        depth = 0
        for token, following in itertools.pairwise(self.tokens[self.index :]):
            depth += (token.text == "(") - (token.text == ")")
            if depth < 0 or (depth == 0 and token.text == ","):
                return following.text if token.text == "," and following.kind == "word" else None
        return None

    def _argument(self) -> Formula:
        left = self.expression()
        return Compare(left, "->", self.expression()) if self.accept("->") else left

    def _names(self, token: Token) -> Formula:
        word, scope = token.text, self.scope
        if count := scope.continued(word, self.tokens[self.index : self.index + 5]):
            name = word + "".join(part.text for part in self.tokens[self.index : self.index + count])
            self.go_to(self.index + count)
            return Name(dict(scope.others).get(name, name))
        if self.at("(") and (amounts := scope.amounts(word)) and not scope.reads(self.following.text):
            raise self._unknown(self.following, amounts)
        if word in scope.names or (scope.open and len(word) == 1):
            return Name(dict(scope.others).get(word, word))
        if is_opaque(word):
            return Name(word)
        splits = split_word(word, (*scope.names, *scope.letters) if scope.open and scope.letters else scope.names)
        if len(splits) == 1:
            return Product(tuple(Name(name) for name in splits[0]))
        if len(splits) > 1:
            readings = " or ".join(" ".join(split) for split in splits[:2])
            raise self.error(f"{word} has two readings", token=token, expected=readings)
        if scope.admits(word):
            return Name(word)
        if scope.open and word.isalpha() and word.isupper():
            return Product(tuple(Name(letter) for letter in word))
        raise self._unknown(token)

    def _unknown(self, token: Token, among: tuple[str, ...] = ()) -> ReadingError:
        names = among or self.scope.names
        parts = dict(self.scope.defined).get(token.text)
        if parts:
            return self.error(f"{token.text} is defined by other sizes", f"{' and '.join(parts)} instead", token=token)
        expected = f"one of {', '.join(names[:24])}" if names else "numbers alone: there are no names here"
        return self.error(f"unknown name {token.text!r}", expected, token=token, hint=suggestion(token.text, names))


def read_expression(text: str, scope: Scope) -> Formula:
    """The formula that ``text`` writes.

    >>> from symroof.symbols import expression
    >>> expression(read_expression("BDF/2BF", Scope(("B", "D", "F"))))
    D/2
    """
    return ExpressionReader(text, scope).alone()


def series(terms: Sequence[Formula], last: Formula) -> Formula:
    """The sum of the terms that begin as ``terms`` do and go on to ``last``.

    >>> from symroof.rendering.formulas.plain import PlainPrinter
    >>> PlainPrinter().print(series((number(1), number(2)), Name("N")))
    'sum(i, i, 1, N)'
    """
    taken = {name for term in (*terms, last) for name in names(term)}
    index = Name(next(letter for letter in LETTERS if letter not in taken))
    try:
        steps = {cancel(expression(b) - expression(a)) for a, b in pairwise(terms)}
        if len(steps) != 1 or not (step := steps.pop()).is_Rational or not step:
            raise ReadingError("the terms before the dots have no common step", expected="1 + 2 + … + N")
        first = terms[0]
        length = cancel((expression(last) - expression(first)) / step) + 1
        if length.is_Rational and (length.q != 1 or length < len(terms)):
            raise ReadingError("the last term of the sum is none of its terms")
        if not length.is_polynomial(*length.free_symbols):
            raise ReadingError("the sum has no clear number of terms", expected="1 + 2 + … + N")
        if len(terms) == 2 and length.is_Rational and _doubles(*(fraction(expression(t)) for t in (*terms, last))):
            raise ReadingError("the sum has two readings", expected="a third term before the dots")
    except AlgebraError as error:
        raise ReadingError(error.problem) from None
    if abs(step) == 1:
        low, high = (first, last) if step == 1 else (last, first)
        return Call("sum", (index, index, low, high))
    by = number(fraction(step))
    term = Sum((first, product(by, Group(Sum((index, Negative(number(1))))))))
    count = Sum((Quotient(Group(Sum((last, Negative(Group(first))))), by), number(1)))
    return Call("sum", (term, index, number(1), count))


def _doubles(first: Fraction, second: Fraction, last: Fraction) -> bool:
    """Whether a geometric series with these terms ends with that one."""
    if not first or abs(second) <= abs(first):
        return False
    term = second
    while abs(term) < abs(last):
        term *= second / first
    return term == last
