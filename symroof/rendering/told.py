"""What the steps of an answer say, so that whatever leaves the program can be held against it.

Formulas are compared by their values modulo a prime, with a number for each name: two different ones agree there once
in 10^18.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import islice
from typing import Any
from zlib import crc32

from symroof.derivation.draft import RIDGE
from symroof.derivation.pipeline import Derivation
from symroof.derivation.setting import Setting
from symroof.errors import AlgebraError, CheckError
from symroof.formula import (
    Both,
    Call,
    Cases,
    Compare,
    Either,
    Figure,
    Formula,
    Frozen,
    Group,
    Infinity,
    Name,
    Negative,
    Number,
    Product,
    Quotient,
    Sum,
    Verdict,
    children,
    fold,
    mapped,
    nodes,
)
from symroof.proof.evidence import last_place, stands_for
from symroof.proof.exact import Exact
from symroof.proof.recounts import Arrays
from symroof.proof.settling import without_cases
from symroof.proof.step import Reason, Step
from symroof.reading.numbers import measured
from symroof.rendering.pages.exchanges import labelled, moved_by

PRIME = 2**61 - 1
RELATIONS = ("<=", ">=", "<", ">", "=")
TURNED = {">": "<", ">=": "<=", ">>": "<<"}
SYMMETRIC = ("=", "~", "~~", "<=>")
# In how many ways the decimals of a formula are taken for numbers that they stand for.
MOST_TAKEN = 8


class Modular:
    """Rules for :func:`~symroof.formula.fold`: the value of a formula modulo the prime.

    ``known`` are values of names; any other name has the number that is made of its text, in which the exact count and
    the one that is counted have one name. Names that were ``met`` are noted.
    """

    def __init__(self, known: Mapping[str, int]) -> None:
        self.known = known
        self.met: dict[str, None] = {}

    def name(self, node: Name) -> int:
        name = node.name
        self.met[name] = None
        return self.known[name] if name in self.known else of_text(meant(name))

    def number(self, node: Number) -> int:
        return modulo(node.value)

    def infinity(self, node: Infinity) -> int:
        return of_text("oo")

    def figure(self, node: Figure) -> int:
        return modulo(Fraction(node.digits))

    def sum(self, node: Formula, *terms: int) -> int:
        return sum(terms) % PRIME

    def product(self, node: Formula, *factors: int) -> int:
        found = 1
        for factor in factors:
            found = found * factor % PRIME
        return found

    def negative(self, node: Formula, body: int) -> int:
        return -body % PRIME

    def group(self, node: Formula, body: int) -> int:
        return body

    written = group

    def quotient(self, node: Formula, above: int, below: int) -> int:
        return above * pow(below, -1, PRIME) % PRIME

    def power(self, node: Any, base: int, exponent: int) -> int:
        part = node.exponent.body if isinstance(node.exponent, Group) else node.exponent
        value = getattr(part, "value", None)
        if value is None or value.denominator != 1 or abs(value) > 1000:
            return self._opaque("power", (base, exponent))
        return pow(base, int(value), PRIME)

    def call(self, node: Any, *arguments: int) -> int:
        return self._opaque(node.function, sorted(arguments) if node.function in ("max", "min") else arguments)

    def verdict(self, node: Verdict) -> int:
        return of_text("always" if node.holds else "never")

    def compare(self, node: Compare, left: int, right: int) -> int:
        """The same for a < b and b > a, and for a = b and b = a."""
        relation, sides = node.relation, (left, right)
        if relation in TURNED or (relation in SYMMETRIC and left > right):
            relation, sides = TURNED.get(relation, relation), (right, left)
        return self._opaque(relation, sides)

    def both(self, node: Both, *parts: int) -> int:
        return self._joined(node, "and", parts)

    def either(self, node: Either, *parts: int) -> int:
        return self._joined(node, "or", parts)

    def _joined(self, node: Both | Either, word: str, parts: Iterable[int]) -> int:
        """The same in any order, and in brackets or none."""
        each = zip(node.parts, parts, strict=True)
        return sum(value if type(one) is type(node) else self._opaque(word, (value,)) for one, value in each) % PRIME

    def cases(self, node: Cases, *parts: int) -> int:
        return self._opaque("cases", parts)

    def _opaque(self, function: str, arguments: Iterable[int]) -> int:
        return of_text(f"{function}{list(arguments)}")


def meant(name: str) -> str:
    """The name under which a reader knows a quantity: the exact count and the one that is counted have one."""
    return name.replace("flops_exact", "flops")


@lru_cache(maxsize=4096)
def of_text(text: str) -> int:
    return (crc32(text.encode()) << 29 ^ crc32(text[::-1].encode())) % PRIME


@lru_cache(maxsize=4096)
def modulo(value: Fraction) -> int:
    return value.numerator * pow(value.denominator, -1, PRIME) % PRIME


class Told:
    """What the steps of an answer say: values of names, orders, numbers, and the parts of all of these."""

    def __init__(self, steps: Iterable[Step], setting: Setting | None) -> None:
        operation = None if setting is None else setting.problem.operation
        figures = {} if setting is None else {symbol.name: value for symbol, value in setting.values.items()}
        known = {name: modulo(value) for name, value in figures.items()}
        rules = self.rules = Modular(known)
        defined: dict[str, Formula] = {}
        if RIDGE.name not in known:
            defined[RIDGE.name] = Quotient(Name("peak"), Name("bandwidth"))
        defined |= {} if operation is None else operation.where
        for name, formula in defined.items():
            known[name] = int(fold(formula, rules))
        self.points = () if setting is None else setting.problem.at
        self.values: dict[int, tuple[Formula, int | None]] = {}
        self.said: dict[tuple[str, int | None], set[int]] = {}
        self.equal: dict[int, list[Formula]] = {}
        self.taken: dict[int, Formula] = {}
        self.parts: set[int] = set()
        self.moved: set[tuple[str, ...]] = set()
        self.numbers: set[Fraction] = set(figures.values())
        self.names = rules.met
        rules.met.update(dict.fromkeys((*known, RIDGE.name)))
        rules.met.update({} if setting is None else dict.fromkeys(setting.problem.names))
        for step in steps:
            self._note(step)
        if setting is not None:
            asked = setting.problem.solve, setting.problem.minimize, setting.problem.subject
            self.take(*(formula for formula in asked if formula is not None), *setting.problem.assume)
        for point in self.points:
            self.numbers.update(point.values())

    def _note(self, step: Step) -> None:
        if isinstance(step.evidence, Arrays):
            self.numbers.update(step.evidence.widths.values())
        for one in moved_by(step):
            self.moved.add((one.collective, *one.axes))
            self.take(*map(labelled, (*one.before, *one.after)))
        whole = taken_apart(step)
        told = _told(step.facts) if whole is None else nodes(whole)
        self.take(step.left, step.right, *step.assumptions, *told)
        self._take(Compare(step.left, step.relation, step.right))
        value = self.value(step.right)
        if value is not None and step.relation == "=":
            self.equal.setdefault(value, []).append(step.left)
        if step.relation in ("=", "~") and isinstance(step.left, Name) and value is not None:
            self.said.setdefault((step.left.name, step.point), set()).add(value)

    def take(self, *sides: Formula) -> None:
        """Formulas that may be said, and their parts."""
        for side in sides:
            if id(side) not in self.taken:
                self.taken[id(side)] = side
                for part in _parts(side):
                    self._take(part)

    def _take(self, part: Formula) -> None:
        if (value := self.value(part)) is not None:
            self.parts.add(value)
            if isinstance(part, Product):
                self.numbers.update(factor.value for factor in part.factors if isinstance(factor, Number))
            if (known := part.value if isinstance(part, Number) else _constant(part)) is not None:
                self.numbers.add(known)

    def value(self, formula: Formula) -> int | None:
        """The value of a formula, worked out once; None of what has none."""
        key = id(formula)
        if key not in self.values:
            self.values[key] = formula, self._worked_out(formula)
        return self.values[key][1]

    def _worked_out(self, formula: Formula) -> int | None:
        parts = [self.value(child) for child in children(formula)]
        rule = getattr(self.rules, formula._rule, None)
        if rule is None or None in parts:
            return None
        try:
            return int(rule(formula, *parts))
        except ValueError:  # a divisor that is 0
            return None

    def holds(self, condition: Formula) -> bool:
        """Whether a condition is one of a step, or one whose bound a step puts something equal in for."""
        if self.value(condition) in self.parts:
            return True
        if not isinstance(condition, Compare):
            return False
        equal = self.equal.get(self.value(condition.right) or 0, ())
        return any(self.value(replace(condition, right=side)) in self.parts for side in equal)

    def says(self, formula: Formula) -> bool:
        """Whether a formula is a side of a step, a case or a part of one; decimals stand for numbers of steps."""
        return self._says(formula) or any(map(self._says, self._taken(formula)))

    def _says(self, formula: Formula) -> bool:
        match formula:
            case Name() | Infinity():
                return True
            case Number(unit=str(unit), digits=str(digits)):
                return self._measured(digits, unit)
            case Number(value=value):
                return value in self.numbers
            case Figure(digits=digits):
                return Fraction(digits) in self.numbers
        return self.value(formula) in self.parts

    def _measured(self, digits: str, unit: str) -> bool:
        """Whether digits of a unit stand for a number of a step; those of a bound may be the next ones above it."""
        scale = Fraction(1, 100) if unit == "%" else measured(unit)[0]
        shown, place = Fraction(digits) * scale, last_place(digits) * scale
        for known in self._near(nearest(shown), float(place) * 1.01, (0, 1) if unit == "%" else (0,)):
            if abs(known - shown) * 2 <= place or (unit == "%" and 0 <= shown - known < place):
                return True
        return False

    def _near(self, value: float, room: float, offsets: tuple[int, ...] = (0,)) -> Iterator[Fraction]:
        """The numbers of steps near a value, and what they are away from an offset."""
        for known, number in self.approximate:
            for offset in offsets:
                if abs(abs(known - offset) - value) <= room:
                    yield abs(number - offset)

    @cached_property
    def approximate(self) -> list[tuple[float, Fraction]]:
        return [(nearest(number), number) for number in self.numbers]

    def _taken(self, formula: Formula) -> Iterator[Formula]:
        """The formula with its decimals as the numbers that they stand for."""
        ways = {n: list(islice(self.exact(n), MOST_TAKEN)) for n in nodes(formula) if isinstance(n, Number | Figure)}
        ways = {node: way for node, way in ways.items() if way}
        for i in range(max(map(len, ways.values()), default=0)):
            yield _replaced(formula, {node: Number(way[i % len(way)]) for node, way in ways.items()})

    def exact(self, node: Number | Figure) -> Iterator[Fraction]:
        """The other numbers of steps that a decimal stands for."""
        value = node.value if isinstance(node, Number) else Fraction(node.digits)
        text = node.digits or str(value)
        if text.isdigit() and (node.digits is None or value in self.numbers):
            return
        for known in self._near(nearest(value), abs(nearest(value)) * 0.1):
            if known != value and stands_for(text, known):
                yield known


def taken_apart(step: Step) -> Formula | None:
    """The side of a step of which prose says the parts one by one."""
    if step.reason in (Reason.NEXT_ORDER, Reason.KINDS):
        return step.right
    return step.left if step.reason in (Reason.BRACKET, Reason.EXCESS) else None


def told_by(derivation: Derivation) -> tuple[Told]:
    """What the steps of a derivation say."""
    derivation.require_sealed()
    return (Told(derivation.written, derivation.setting),)


def nearest(number: Fraction) -> float:
    """The float nearest to a number; infinite where it is larger than all of them."""
    try:
        return float(number)
    except OverflowError:
        return float("inf")


def unlike(key: str, value: object) -> CheckError:
    return CheckError(f"no step of the derivation says this of {key}: {str(value)[:200]}")


def _replaced(formula: Formula, changes: Mapping[Formula, Formula]) -> Formula:
    return mapped(formula, lambda node: changes.get(node, node))


def _told(facts: Any) -> Iterator[Formula]:
    """The formulas that facts hold, and those of the facts in them."""
    for value in vars(facts).values() if isinstance(facts, Frozen) else facts if isinstance(facts, tuple) else ():
        if isinstance(value, Formula):
            yield value
        elif isinstance(value, Frozen | tuple):
            yield from _told(value)


def _constant(part: Formula) -> Fraction | None:
    """The number that a quotient, sum or product of numbers is."""
    if not isinstance(part, Quotient | Negative | Product | Sum) or any(
        isinstance(n, Name | Call) for n in nodes(part)
    ):
        return None
    try:
        return Exact().rational(part).constant
    except (AlgebraError, CheckError):
        return None


def _parts(formula: Formula) -> Iterator[Formula]:
    """A side; of a condition its parts, its rows, and what each of them compares; of a maximum what it is of."""
    yield formula
    if isinstance(formula, Cases):
        rows = tuple(Both(row) for row in formula.rows)
        yield from (*rows, rows[0] if len(rows) == 1 else Either(rows))  # as they are printed, one after the other
        yield from _parts(without_cases(formula))
    if isinstance(formula, Compare | Both | Either | Cases | Call):
        for child in children(formula):
            yield from _parts(child)
