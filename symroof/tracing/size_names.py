"""Names for sizes. A shape has names, and every size that a trace makes of them is a polynomial in these.

What has to be a number while code runs, since code asks for it or since a module is made of numbers, is one that tells
where it comes from: 12 times a prime of its own, so that a product of such numbers comes apart in one way."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from fractions import Fraction
from itertools import combinations, permutations, zip_longest
from math import prod

from sympy import Add, Expr, Integer, Max, floor, sqrt

from symroof.algebra.rational import sign_of
from symroof.errors import SymroofError
from symroof.formula import FUNCTIONS, Formula, Name, Quotient, names
from symroof.reading.expressions import read_expression
from symroof.reading.name_scope import Scope
from symroof.symbols import expression, rational, symbol
from symroof.tracing.traces import ONE, TracingError

FLOORDIV = re.compile(r"floordiv\(((?:[^(),]|\((?:[^()]|\([^()]*\))*\))*), *([^(),]*)\)")
WORD = re.compile(r"[^\W\d]\w*")
# Letters for sizes that nobody named, in the order in which they are taken.
LETTERS = "SUPQRMNIJZACEOGKLVXY"
EVERY = (*LETTERS, *(f"{letter}{i}" for i in range(2, 10) for letter in LETTERS))
PRIMES = (29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 103, 107, 109, 113)
# What each drawn number is a multiple of, and the widest factor beside names.
MULTIPLE, WIDEST = 12, 64
# The largest number that code takes a root of.
LARGEST = 1e12
# Factors beside names whose numbers a module has.
PLAIN = (1, 2, 3, 4, 6, 8)


def formula_of(size: object) -> Formula:
    """A size as it is written, or as SymPy has it."""
    text = str(size).strip().replace("**", "^")
    words = (word for word in WORD.findall(text) if word not in FUNCTIONS)
    return read_expression(text, Scope(tuple(dict.fromkeys(words)), open=True))


class Sizes:
    """The names of sizes. ``where`` are those that others define; ``numbers`` what names stand for while code runs."""

    def __init__(
        self, free: Iterable[str], numbers: Mapping[str, int], scales: Mapping[str, int], sampled: bool = True
    ) -> None:
        self.free, self.numbers, self.scales, self.sampled = tuple(free), {**numbers}, scales, sampled
        self.where: dict[str, Formula] = {}
        self.values: dict[str, Expr] = {}  # of these the formulas, worked out
        self.named: dict[Expr, str] = {}  # and the first name of each
        self.longer: dict[str, tuple[str, Expr]] = {}  # the sizes that shorter ones define, and by how much: T = S + 1
        self.read: dict[str, Expr] = {}

    # What sizes are.

    def size(self, of: object) -> Expr:
        """A size as JAX or PyTorch has it: a number, or a formula of names and numbers."""
        text = str(of)
        if text not in self.read:
            self.read[text] = self.polynomial(self._parsed(text))
        return self.read[text]

    def polynomial(self, value: Expr) -> Expr:
        """A formula of names and numbers as a polynomial in names."""
        scaled = {symbol(name): symbol(name) / scale for name, scale in self.scales.items()}
        return self._in_names(whole(value).xreplace(scaled).expand())

    def _parsed(self, text: str) -> Expr:
        if text.lstrip("-").isdigit():
            return Integer(int(text))
        divided = text
        while FLOORDIV.search(divided):
            divided = FLOORDIV.sub(r"floor((\1)/(\2))", divided)
        try:
            return expression(formula_of(divided))
        except SymroofError as error:
            raise TracingError(f"a size is {text}", expected="sums and products of names: x=bf16[B, 2*D]") from error

    def _in_names(self, value: Expr) -> Expr:
        """A polynomial with the numbers in it as the names that they stand for."""
        if not self.numbers:
            return value
        terms = (term.as_coeff_Mul() for term in Add.make_args(value))
        return Add(*(self._factors(number) * rest if number.is_Integer else number * rest for number, rest in terms))

    def _factors(self, number: Expr) -> Expr:
        """A number as a product of names, with a factor; itself where it comes apart in no way, or in several."""
        n = int(number)
        exact = [name for name, value in self.numbers.items() if value == n]
        exact = exact or [name for name, value in self.values.items() if n > 1 and self._at_numbers(value) == n]
        if exact or n <= 1:
            return self.value(exact[0]) if len(exact) == 1 else number
        products = self._products(n)
        simplest = [value for value, factor in products.items() if factor == 1] or list(products)
        if len(simplest) == 1:
            return simplest[0]
        near = [(name, more) for name, value in self.numbers.items() for more in range(-4, 5) if value + more == n]
        return symbol(near[0][0]) + near[0][1] if self.sampled and len(near) == 1 else number

    def _products(self, number: int) -> dict[Expr, Fraction]:
        """The products of names that a number is, each with the factor in it."""
        result: dict[Expr, Fraction] = {}
        for size in (1, 2, 3, 4):
            for key in combinations(self.numbers, size):
                factor = Fraction(number, prod(self.numbers[name] for name in key))
                if self._is_factor(factor):
                    result[rational(factor) * prod(map(symbol, key), start=ONE)] = factor
        return result

    def _is_factor(self, factor: Fraction) -> bool:
        if self.sampled:
            return factor.numerator <= WIDEST and factor.denominator <= WIDEST // 4
        return factor.denominator == 1 and factor.numerator in PLAIN

    def _at_numbers(self, value: Expr) -> Expr:
        return value.subs({symbol(name): number for name, number in self.numbers.items()})

    def root(self, value: float) -> Expr | None:
        """The number that code made of a size: 1/sqrt(H), sqrt(H); None where it is of no size.

        >>> Sizes("H", {"H": 348}, {}).root(348**-0.5)
        1/sqrt(H)
        """
        for power, inverse in ((value**2, False), (value**-2 if value else 0, True)):
            if value <= 0 or not 1 < power < LARGEST:
                continue
            near = [name for name, number in self.numbers.items() if abs(power - number) < 8e-3 * number]
            size = symbol(near[0]) if len(near) == 1 else self._factors(Integer(round(power)))
            if size.is_Mul or size.is_Symbol:
                return 1 / sqrt(size) if inverse else sqrt(size)
        return None

    def are_apart(self, *parts: tuple[Expr, Expr]) -> bool:
        """Whether two parts of a dimension, each a start and a length, share no place."""
        gaps = (self.resolved(other - start - length) for (start, length), (other, _) in permutations(parts))
        return any(gap == 0 or sign_of(gap, frozenset(gap.free_symbols), weak=True) in (0, 1) for gap in gaps)

    # What they are called.

    def define(self, name: str, formula: Formula) -> None:
        self.where[name], self.values[name] = formula, expression(formula).xreplace(self._definitions).expand()
        self.named.setdefault(self.values[name], name)

    @property
    def _definitions(self) -> Mapping[Expr, Expr]:
        return {symbol(name): value for name, value in self.values.items()}

    def resolved(self, value: Expr) -> Expr:
        """A value in the names that nothing defines."""
        longer = {symbol(name): symbol(short) + more for name, (short, more) in self.longer.items()}
        return value.xreplace(self._definitions).xreplace(longer).expand()

    def label(self, size: Expr, taken: Iterable[str] = (), formula: Formula | None = None) -> str:
        """The label of a size in a tensor that has these already."""
        size = size.expand()
        if size.is_Symbol or size.is_Integer:
            name = str(size)
        elif size in self.named:
            name = self.named[size]
        else:
            name = self.new()
            parts = ((size / value, other) for other, value in self.values.items() if value.free_symbols)
            multiple = (f"{many}*{other}" for many, other in parts if many.is_Integer and many > 1)
            self.define(name, formula or formula_of(next(multiple, size)))
            less, whole = size.as_coeff_Add()
            if less.is_negative and whole.is_Symbol and str(whole) not in self.longer:
                self.longer[str(whole)] = name, -less
        return self.second(name, taken) if name != "1" and name in {*taken} else name

    def labels(self, shape: Iterable[Expr], formulas: Iterable[Formula | None] = ()) -> tuple[str, ...]:
        """The labels of a tensor: one size twice has two names."""
        labels: list[str] = []
        for size, formula in zip_longest(shape, formulas):
            labels.append(self.label(size, labels, formula))
        return tuple(labels)

    def second(self, label: str, taken: Iterable[str]) -> str:
        """A second name for a size, where a tensor has it twice."""
        taken, first = {*taken}, formula_of(self.root_of(label))
        for name, other in self.where.items():
            if other == first and name not in taken:
                return name
        name = self.new()
        self.define(name, first)
        return name

    def root_of(self, label: str) -> str:
        """The name that a second name is of."""
        other = self.where.get(label)
        if isinstance(other, Name):
            return self.root_of(other.name)
        return label

    def value(self, label: str) -> Expr:
        """What a label stands for, in the names that nothing defines."""
        return Integer(int(label)) if label.isdigit() else self.values.get(label, symbol(label))

    def is_free(self, name: str) -> bool:
        return name not in self.where and name not in self.free

    def new(self) -> str:
        return next(letter for letter in EVERY if self.is_free(letter))

    def forget(self, first: int, labels: Iterable[str]) -> None:
        """Names of sizes, from a place on, that nothing but these has after all."""
        for name in [name for name in [*self.where][first:] if name not in {*labels}]:
            if not any(name in names(formula) for other, formula in self.where.items() if other != name):
                value = self.values.pop(name)
                del self.where[name]
                if self.named.get(value) == name:
                    del self.named[value]

    def factor(self, value: object) -> Formula | None:
        """A number, or a formula of sizes, that a tensor is multiplied with; None where it is neither, or not above 0."""
        if isinstance(value, int | float):
            exact = self.root(value) if self.numbers else None
            if exact is None:
                return formula_of(_digits(value)) if 0 < value < float("inf") else None
        elif not isinstance(value, Expr) or not value.is_positive:
            return None
        else:
            exact = value
        if exact.is_number:
            return formula_of(_digits(float(exact)))
        above, below = exact.as_numer_denom()
        return formula_of(above) if below == 1 else Quotient(formula_of(above), formula_of(below))

    def definitions_of(self, used: Iterable[str]) -> Mapping[str, Formula]:
        """The sizes that others define, as far as something has them, in order."""
        definitions, seen = dict[str, Formula](), {*used}
        short = {short for short, _ in self.longer.values()}
        longer = {name: formula_of(symbol(short) + more) for name, (short, more) in self.longer.items()}
        where = longer | {name: formula for name, formula in self.where.items() if name not in short}
        for name, formula in reversed(where.items()):
            if name in seen:
                definitions[name] = formula
                seen |= {*names(formula)}
        return dict(reversed(definitions.items()))


def distinct_numbers(names_of: Iterable[str], first: int = 0) -> dict[str, int]:
    """Numbers for names, which come apart in one way."""
    return {name: MULTIPLE * prime for name, prime in zip(names_of, PRIMES[first:], strict=False)}


def _digits(value: float) -> str:
    return f"{value:.6g}" if 1e-4 <= value < 1e6 else f"{value:.12f}".rstrip("0").rstrip(".")


def whole(value: Expr) -> Expr:
    """Sizes are whole, and at least 1: floor(D/2 - 1/2) is D/2 - 1, and max(P - 2, 0) is P - 2."""

    def floored(inside: Expr) -> Expr:
        number, rest = inside.expand().as_coeff_Add()
        return rest + floor(number)

    def largest(*each: Expr) -> Expr:
        formulas = [formula for formula in each if not formula.is_number]
        return formulas[0] if len(formulas) == 1 else Max(*each)

    return value.replace(floor, floored).replace(Max, largest).expand()
