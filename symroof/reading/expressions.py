"""Expressions, read strictly and exactly into formulas that keep the order of their author.

    expr     = ["+" | "-"] term { ("+" | "-") term }
    term     = run { ("*" | "/") run | SPACE run }      a space after "/" run is refused: it has two readings
    run      = power { power }                          without a space; binds tighter than "*" and "/"
    power    = ["-"] atom [("^" | "**") exponent]       in BD^2 the power takes D alone
    exponent = ["-"] (NUMBER | NAME | call | "(" expr ")") [("^" | "**") exponent]
    atom     = NUMBER [unit] | call | names | "oo" | "(" expr ")" | "\\frac" "{" expr "}" "{" expr "}"
    names    = a declared name, or a word with exactly one split into declared names

So ``2BDF`` is a product of four factors and ``BDF/2BF`` is BDF/(2BF). A word that does not split, or splits in
two ways, is an error: an undeclared product of letters is never a guess.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from symroof.errors import ReadingError, suggestion
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
    product,
    total,
)
from symroof.model.units import UNITS
from symroof.reading.numbers import LARGEST_EXPONENT, read_number
from symroof.reading.scanner import Reader, T, Token

DEEPEST = 64


@dataclass(frozen=True, slots=True)
class Scope:
    """The declared names. An open scope lets single letters and runs of capitals declare themselves.

    With ``indices``, as in typeset mathematics, a letter with any index does so as well. Names are never units, but
    for those that ``give_way``: in ``2 bytes`` the quantity of that name does, unless a problem defines it.
    """

    names: tuple[str, ...] = ()
    open: bool = False
    indices: bool = False
    give_way: tuple[str, ...] = ()

    def admits(self, word: str) -> bool:
        """Whether a name that nobody declared declares itself here: a letter, or one with a capital suffix."""
        return self.open and (len(word) == 1 or (word[1] == "_" and (self.indices or word[2:].isupper())))


class ExpressionReader(Reader):
    def __init__(self, source: str, scope: Scope) -> None:
        super().__init__(source)
        self.scope = scope
        self.depth = 0

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
            sign, term = self.accept("+", "-"), self._term()
            terms.append(Negative(term) if sign and sign.text == "-" else term)
        return total(*terms)

    def _term(self) -> Formula:
        result, divided = self._run(), False
        while (sign := self.accept("*", "/")) or (self.token.spaced and self._begins_atom()):
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
        if isinstance(base, Number) and abs(base.value) > LARGEST_EXPONENT:
            raise self.error("the exponent is too large", f"at most {LARGEST_EXPONENT} in size", token=token)
        if isinstance(base, Product):
            raise self.error(f"the exponent {token.text} is a product", "brackets, as in 2^(BD)", token=token)
        return Power(base, self._exponent()) if self.accept("^") else base

    def _number(self) -> Number:
        """The number under the cursor. Letters right behind it may be a unit or declared names, but not both."""
        number, word, names = self.token.text, self.following, self.scope.names
        close = word.text in UNITS and not word.spaced and word.text not in names
        if close and split_word(word.text, names):
            raise self.error(
                f"{number}{word.text} has two readings",
                span=(self.token.start, word.end),
                expected=f"{number} {word.text} for the unit, or {number}*{word.text} for the names",
            )
        return read_number(self, () if word.text in self.scope.give_way else names)

    def _begins_atom(self) -> bool:
        token = self.token
        if token.kind == "word":
            return token.text not in KEYWORDS - {"oo"}
        return token.kind == "number" or token.text in ("(", "\\frac")

    def _atom(self) -> Formula:
        token = self.token
        if not self._begins_atom():
            raise self.error(expected="a number, a name or '('")
        if token.kind == "number":
            return self._number()
        if self.at("("):
            return Group(self._bracketed("(", ")"))
        self.next()
        if token.text == "\\frac":
            return Quotient(self._bracketed("{", "}"), self._bracketed("{", "}"))
        if token.text == "oo":
            return Infinity()
        return self._call(token) if token.text in FUNCTIONS and self.at("(") else self._names(token)

    def _bracketed(self, opening: str, closing: str) -> Formula:
        with self._nested(opening, closing):
            return self.expression()

    @contextmanager
    def _nested(self, opening: str, closing: str) -> Iterator[None]:
        """Brackets around what is read inside of the block."""
        self.expect(opening)
        self.depth += 1
        if self.depth > DEEPEST:
            raise self.error("the brackets are nested too deeply", f"at most {DEEPEST} levels")
        yield
        self.depth -= 1
        self.expect(closing)

    def _call(self, function: Token) -> Formula:
        with self._nested("(", ")"):
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
        if self.at(".") and not self.token.spaced and f"{word}.{self.following.text}" in scope.names:
            self.next()
            return Name(f"{word}.{self.next().text}")
        if word in scope.names or (scope.open and len(word) == 1):
            return Name(word)
        splits = split_word(word, scope.names)
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

    def _unknown(self, token: Token) -> ReadingError:
        known = ", ".join(self.scope.names[:24]) or "no names are declared here"
        hint = suggestion(token.text, self.scope.names)
        return self.error(f"unknown name {token.text!r}", f"one of {known}", token=token, hint=hint)


def split_word(word: str, names: tuple[str, ...]) -> list[tuple[str, ...]]:
    """The splits of ``word`` into declared names: none, the only one, or the first two found.

    >>> split_word("BDF", ("B", "D", "F")), split_word("abc", ("a", "ab", "bc", "c"))
    ([('B', 'D', 'F')], [('a', 'bc'), ('ab', 'c')])
    """
    ways: dict[int, list[tuple[str, ...]]] = {len(word): [()]}
    for start in reversed(range(len(word))):
        here = [name for name in dict.fromkeys(names) if name and word.startswith(name, start)]
        ways[start] = [(name, *rest) for name in here for rest in ways[start + len(name)]][:2]
    return ways[0]


def read_expression(text: str, scope: Scope) -> Formula:
    """The formula that ``text`` writes.

    >>> from symroof.symbols import expression
    >>> expression(read_expression("BDF/2BF", Scope(("B", "D", "F"))))
    D/2
    """
    return ExpressionReader(text, scope).alone()
