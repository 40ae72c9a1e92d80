"""Numbers for the names of sizes, and names for the numbers of a trace: the one name, product, quotient or sum that has these numbers
at every assignment."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations, combinations_with_replacement
from math import prod, sqrt
from random import Random

from symroof.formula import Formula, Name, names, number
from symroof.model.spelling import spelled_size
from symroof.reading.expressions import read_expression
from symroof.reading.scope import Scope
from symroof.symbols import expression, symbol
from symroof.tracing.traced import Numbers, TracingError

# What every drawn number is a multiple of, and how often numbers are drawn.
MULTIPLE, ATTEMPTS = 24, 400
# By how much they grow each time; and the same for PyTorch, which counts the bytes of products of sizes in 63 bits.
GROWTH, SMALL = 3, (12, 2)
# Letters for sizes that nobody named, in the order in which they are taken.
LETTERS = "SUPQRMNIJZACEOGKLVXY"


def value_of(formula: Formula, sizes: Mapping[str, int]) -> Fraction:
    """What a formula of sizes comes to."""
    found = expression(formula).subs({symbol(name): size for name, size in sizes.items()})
    if not found.is_rational:
        free = ", ".join(sorted(str(name) for name in found.free_symbols)) or spelled_size(formula)
        raise TracingError(f"{spelled_size(formula)} is no number: {free} has none", expected="sizes that have numbers")
    return Fraction(int(found.p), int(found.q))


def assignments(
    written: Iterable[Formula], fixed: Mapping[str, int], seed: int, multiple: int = MULTIPLE, growth: int = GROWTH
) -> Iterator[dict[str, int]]:
    """Numbers for the names in these sizes, pairwise different, at which every size is whole: each time larger ones, so that what
    asks for a size is found out, and multiples of what heads, halves and thirds divide."""
    written = tuple(dict.fromkeys(written))
    free = list(dict.fromkeys(n for formula in written for n in names(formula) if n not in fixed))
    random, scale = Random(seed), 1
    for _ in range(ATTEMPTS):
        drawn = dict(zip(free, random.sample(range(2, 12 + 2 * len(free)), len(free)), strict=True))
        drawn = {name: multiple * scale * n for name, n in drawn.items()} | dict(fixed)
        sizes = [value_of(formula, drawn) for formula in written]
        if all(size.denominator == 1 and size >= 1 for size in sizes):
            scale *= growth
            yield drawn
    raise TracingError("no numbers were found at which all sizes are whole", expected="sizes such as B, N*H, D/4")


@dataclass
class SizeNames:
    """The names of sizes, and what they are at each assignment. ``where`` are those that others define."""

    given: Sequence[Mapping[str, int]]
    fixed: Mapping[str, int]
    where: dict[str, Formula] = field(default_factory=dict)
    constants: Mapping[str, int] = field(default_factory=dict)  # names of numbers of a module

    def __post_init__(self) -> None:
        self.longer: dict[
            str, tuple[str, int]
        ] = {}  # the sizes that shorter ones define, and by how much they are longer
        self.known: dict[str, Numbers] = {n: self._numbers(Name(n)) for n in self.given[0] if n not in self.fixed}

    def _numbers(self, formula: Formula) -> Numbers:
        return tuple(int(value_of(formula, one)) for one in self.given)

    def is_free(self, name: str) -> bool:
        return name not in self.known and name not in self.fixed

    def named(self, written: Formula) -> str:
        """The label of a size that is written: a name, a number, or a new name for a formula."""
        if isinstance(written, Name) and written.name not in self.fixed:
            return written.name
        found = [int(value_of(written, one)) for one in self.given]
        return str(found[0]) if len({*found}) == 1 else self.defined(written, tuple(found))

    def defined(self, formula: Formula, numbers: Numbers) -> str:
        """The name of a formula of sizes: the one that it has, or a new one."""
        for name, other in self.where.items():
            if other == formula:
                return name
        name = self.new()
        self.where[name], self.known[name] = formula, numbers
        return name

    def another(self, label: str, taken: Iterable[str]) -> str:
        """A second name for a size, where a tensor has it twice."""
        taken, same = {*taken}, number(int(label)) if label.isdigit() else Name(label)
        for name, other in self.where.items():
            if other == same and name not in taken:
                return name
        name = self.new()
        self.where[name], self.known[name] = same, self.known[label] if label in self.known else self._numbers(same)
        return name

    def forget(self, labels: Iterable[str]) -> None:
        """Names of sizes that nothing has after all."""
        for name in [*labels]:
            if not any(name in names(formula) for other, formula in self.where.items() if other != name):
                del self.where[name], self.known[name]

    def root(self, label: str) -> str:
        """The name that a second name is of."""
        other = self.where.get(label)
        return self.root(other.name) if isinstance(other, Name) else label

    def new(self) -> str:
        every = (*LETTERS, *(f"{letter}{i}" for i in range(2, 10) for letter in LETTERS))
        return next(letter for letter in every if self.is_free(letter))

    def of(self, numbers: Numbers, where: str) -> str:
        """The label of a size that only its numbers tell."""
        if len({*numbers}) == 1 and numbers[0] not in self.constants.values() and not self._defined(numbers):
            return self._of_constants(numbers) or str(numbers[0])
        found = [name for name, known in self.known.items() if known == numbers and name not in self._seconds]
        if len(found) == 1:
            return found[0]
        formulas = list(self._formulas(numbers)) if not found else []
        if not found and not formulas and (shorter := self._shorter(numbers)) is not None:
            return shorter
        if len(formulas) != 1:
            shown = f"a size of {', '.join(map(str, numbers))}"
            said = " or ".join(found or map(spelled_size, formulas)) or "nothing that the shapes name"
            raise TracingError(
                f"{where}: {shown} is {said}", expected="one name", hint="name it in a shape: W=bf16[D, N*H]"
            )
        return self.defined(formulas[0], numbers)

    def _defined(self, numbers: Numbers) -> bool:
        """Whether a name that others define has these numbers: N*H, where N and H are numbers of a module."""
        return bool(self.constants) and any(self.known.get(name) == numbers for name in self.where)

    def _of_constants(self, numbers: Numbers) -> str | None:
        """The name of a number that is one product of those that have names."""
        keys = [key for size in (2, 3) for key in combinations(sorted(self.constants), size)]
        texts = ["*".join(key) for key in keys if prod(self.constants[name] for name in key) == numbers[0]]
        worth = {name: known[0] for name, known in self.known.items() if len({*known}) == 1}
        texts = texts or [
            f"{n}*{name}" for n in (2, 3, 4, 6, 8) for name, size in worth.items() if n * size == numbers[0]
        ]
        if len(texts) != 1:
            return None
        formula = read_expression(texts[0], Scope(tuple(worth), open=True))
        return self.defined(formula, numbers)

    def define(self, name: str, formula: Formula) -> None:
        """A name for a formula of sizes, which its author gives."""
        self.where[name], self.known[name] = formula, self._numbers(formula)

    @property
    def said(self) -> str:
        """What numbers the names of a module's sizes stood for."""
        each = ", ".join(f"{name} = {number}" for name, number in self.constants.items())
        return f"# {each} in the module that was traced\n" if each else ""

    @property
    def _seconds(self) -> set[str]:
        return {name for name, other in self.where.items() if isinstance(other, Name)}

    def _formulas(self, numbers: Numbers) -> Iterator[Formula]:
        """What comes to these numbers: a product of names, one over a name or times a fraction, a sum of two, or one and a number."""
        base = {name: known for name, known in self.known.items() if name not in self.where or name in self.longer}
        keys = [key for size in (1, 2, 3) for key in combinations_with_replacement(sorted(base), size)]
        products = {key: _times(base[name] for name in key) for key in keys}
        texts = ["*".join(key) for key, known in products.items() if known == numbers]
        texts = texts or [
            f"{'*'.join(key)}/{below}"
            for key, known in products.items()
            for below, its in base.items()
            if below not in key and all(a == b * n for a, b, n in zip(known, its, numbers, strict=True))
        ]
        texts = texts or [
            (f"{each.numerator}*" if each.numerator > 1 else "")
            + "*".join(key)
            + (f"/{each.denominator}" if each.denominator > 1 else "")
            for key, known in products.items()
            for each in {Fraction(n, a) for a, n in zip(known, numbers, strict=True)}
            if all(each * a == n for a, n in zip(known, numbers, strict=True))
        ]
        texts = texts or [
            f"{one} + {other}"
            for one, other in combinations(sorted(base), 2)
            if all(a + b == n for a, b, n in zip(base[one], base[other], numbers, strict=True))
        ]
        texts = texts or [
            f"{name} {'+' if more > 0 else '-'} {abs(more)}"
            for name, known in base.items()
            for more in {n - a for a, n in zip(known, numbers, strict=True)}
            if more > 0 and all(a + more == n for a, n in zip(known, numbers, strict=True))
        ]
        yield from (read_expression(text, Scope(tuple(base), open=True)) for text in texts)

    def _shorter(self, numbers: Numbers) -> str | None:
        """A name for what a size is without a few places, which the size is defined by: T = S + 1."""
        for name, known in self.known.items():
            less = {a - n for a, n in zip(known, numbers, strict=True)}
            if name not in self.where and len(less) == 1 and min(less) > 0:
                short = self.new()
                self.known[short] = numbers
                self.longer[name] = short, less.pop()
                formula = "{} + {}".format(*self.longer[name])
                self.where[name] = read_expression(formula, Scope((short,), open=True))
                return short
        return None

    def with_shorter(self, sizes: Mapping[str, int]) -> dict[str, int]:
        """An assignment with the sizes that are a few places shorter than those of it."""
        return {**sizes, **{short: sizes[name] - less for name, (short, less) in self.longer.items()}}

    def factor(self, values: tuple[float, ...]) -> str | None:
        """A factor in sizes that has these values; a number where all are alike; None where nothing has them."""
        if all(abs(value - values[0]) <= 1e-6 * abs(values[0]) for value in values):
            return repr(values[0]) if values[0] > 0 else None
        base = {name: known for name, known in self.known.items() if name not in self._seconds}
        every = [key for size in (1, 2) for key in combinations_with_replacement(sorted(base), size)]
        forms: dict[str, Callable[[int], float]] = {
            "{}": float,
            "sqrt({})": sqrt,
            "1/{}": lambda n: 1 / n,
            "1/sqrt({})": lambda n: 1 / sqrt(n),
        }
        for form, value in forms.items():
            for key in every:
                numbers = _times(base[k] for k in key)
                if all(abs(value(n) - v) <= 4e-3 * abs(v) for n, v in zip(numbers, values, strict=True)):
                    inside = "*".join(key)
                    return form.format(f"({inside})" if form == "1/{}" and len(key) > 1 else inside)
        return None


def _times(each: Iterable[Numbers]) -> Numbers:
    return tuple(map(prod, zip(*each, strict=True)))
