"""The audit at the exit: what a record says, read back as anyone would read it, is what some step of the derivation says.

Every formula of an answer is read by the reader of formulas and compared with the steps: under the name of a quantity it
has to be what a step says of that quantity, elsewhere a side, a case or a part of one. Every number is one of a step, and
every float the nearest one of the exact number beside it. Formulas are compared by their values modulo a prime, with a
number for each name: two different ones agree there once in 10^18.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any
from zlib import crc32

from symroof.derivation.pipeline import Derivation
from symroof.errors import AlgebraError, CheckError, ReadingError
from symroof.formula import (
    Both,
    Cases,
    Compare,
    Either,
    Formula,
    Frozen,
    Name,
    Negative,
    Number,
    Product,
    Quotient,
    Sum,
    Verdict,
    children,
    fold,
    names,
    nodes,
)
from symroof.model.program import Program
from symroof.proof.exact import Exact
from symroof.proof.step import Reason, Step
from symroof.reading.expressions import read_expression
from symroof.reading.scope import Scope
from symroof.rendering.pages.exchanges import moved_by

PRIME = 2**61 - 1
# What is no formula: names and words.
WORDS = frozenset(
    (
        "variable",
        "outcome",
        "bound_by",
        "name",
        "text",
        "collective",
        "axes",
        "operand",
        "pass",
        "over",
        "form",
        "bracket",
    )
)
# Parts of which the record says something of its own: conditions with a bound of another step put in, and lists of ends.
COMPOSED = frozenset(("within", "optimum", "solution", "let"))
# Tables by the name of a resource or a growth, and what each line of them is.
QUANTITIES = {"T": "T_{}", "sent_over": "sent({})", "limits": "limit {}"}
RELATIONS = ("<=", ">=", "<", ">", "=")


class _Print:
    """Rules for :func:`~symroof.formula.fold`: the value of a formula modulo the prime."""

    def __init__(self, known: Mapping[str, Fraction], defined: Mapping[str, Formula]) -> None:
        self.met: dict[str, None] = {}
        self.known = {name: _modulo(value) for name, value in known.items()}
        for name, formula in defined.items():
            self.known[name] = int(fold(formula, self))

    def name(self, node: Name) -> int:
        self.met[node.name] = None
        return self.known[node.name] if node.name in self.known else crc32(node.name.encode()) * 7919 + 13

    def number(self, node: Number) -> int:
        return _modulo(node.value)

    def figure(self, node: Any) -> int:
        return _modulo(Fraction(node.digits))

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
        value = getattr(node.exponent, "value", None)
        if value is None or value.denominator != 1 or abs(value) > 1000:
            return self._opaque("power", (base, exponent))
        return pow(base, int(value), PRIME)

    def call(self, node: Any, *arguments: int) -> int:
        return self._opaque(node.function, sorted(arguments) if node.function in ("max", "min") else arguments)

    def _opaque(self, function: str, arguments: Iterable[int]) -> int:
        return crc32(f"{function}{list(arguments)}".encode()) * 104729 + 17


@lru_cache(maxsize=4096)
def _modulo(value: Fraction) -> int:
    return value.numerator * pow(value.denominator, -1, PRIME) % PRIME


class Audit:
    """What the steps of a derivation say, so that each part of a record can be held against it."""

    def __init__(self, derivation: Derivation) -> None:
        setting = derivation.setting
        operation = setting.problem.operation
        defined = operation.where if isinstance(operation, Program) else {}
        self.rules = _Print({symbol.name: value for symbol, value in setting.values.items()}, defined)
        self.values: dict[int, tuple[Formula, int | None]] = {}
        self.said: dict[tuple[str, int | None], set[int]] = {}
        self.parts: set[int] = set()
        self.moved: set[tuple[str, ...]] = set()
        self.orders: set[tuple[int, str, int]] = set()
        self.numbers: set[Fraction] = {Fraction(1)}
        for step in derivation.written:
            self._note(step)
        for point in setting.problem.at:
            self.numbers.update(point.values())
        self.points = [{name: str(size) for name, size in point.items()} for point in setting.problem.at]
        self.names = tuple(sorted({*self.rules.met, *setting.problem.names}))

    def _note(self, step: Step) -> None:
        self.moved |= {(one.collective, *one.axes) for one in moved_by(step)}
        whole = {Reason.NEXT_ORDER: step.right, Reason.DIVIDES: step.left}.get(step.reason)
        told = _told(step.facts) if whole is None else nodes(whole)
        for side in (step.left, step.right, *step.assumptions, *told):
            for part in _parts(side):
                self._take(part)
        if step.relation in RELATIONS:
            sides = self._value(step.left), self._value(step.right)
            if None not in sides:
                self._order(sides[0] or 0, step.relation, sides[1] or 0)
        if (
            step.relation in ("=", "~")
            and isinstance(step.left, Name)
            and (value := self._value(step.right)) is not None
        ):
            self.said.setdefault((step.left.name, step.point), set()).add(value)
        if isinstance(step.right, Compare | Cases | Both | Either) and step.relation == "<=>":
            return
        value = self._value(step.right)
        if value is not None:
            self.parts.add(value)

    def _take(self, part: Formula) -> None:
        if isinstance(part, Compare):
            sides = self._value(part.left), self._value(part.right)
            if None not in sides:
                self._order(sides[0] or 0, part.relation, sides[1] or 0)
        elif not isinstance(part, Verdict) and (value := self._value(part)) is not None:
            self.parts.add(value)
            number = part.value if isinstance(part, Number) else _constant(part)
            if number is not None:
                self.numbers.add(number)

    def _order(self, left: int, relation: str, right: int) -> None:
        turned = relation.translate(str.maketrans("<>", "><"))
        self.orders |= {(left, relation, right), (right, turned, left)}

    def _value(self, formula: Formula) -> int | None:
        """The value of a formula, worked out once."""
        key = id(formula)
        if key not in self.values:
            try:
                self.values[key] = formula, int(fold(formula, self.rules))
            except (AlgebraError, ValueError):
                self.values[key] = formula, None
        return self.values[key][1]

    def require(self, record: Mapping[str, Any]) -> None:
        """Raises :class:`~symroof.errors.CheckError` where an answer says what no step does."""
        self._answer(record, None)
        if [point["values"] for point in record.get("at", ())] != self.points:
            raise _unlike("at", [point["values"] for point in record["at"]])
        for i, point in enumerate(record.get("at", ())):
            self._answer(point, i)
            for row in point.get("times", ()):
                self._row(row)

    def _answer(self, tree: Mapping[str, Any], point: int | None, of: str = "") -> None:
        self._words(tree)
        for key, value in tree.items():
            if key in COMPOSED or key in ("at", "times", "values"):
                continue
            if key.endswith("_float"):
                self._float(key, tree.get(key.removesuffix("_float")), value)
            elif isinstance(value, dict):
                called = QUANTITIES.get(key, "{}")
                self._answer({called.format(name): one for name, one in value.items()}, point, of)
            elif isinstance(value, list):
                for one in value:
                    if isinstance(one, dict):
                        self._answer(one, point, f"({one['name']})" if key == "statements" else of)
            elif isinstance(value, str) and key not in WORDS:
                self._formula(key + of, value, point)
            elif isinstance(value, int) and not isinstance(value, bool) and Fraction(value) not in self.numbers:
                raise _unlike(key, value)

    def _words(self, tree: Mapping[str, Any]) -> None:
        """A condition is solved for its variable and comes out as it says; a collective is one of those that were played."""
        if "collective" in tree and (tree["collective"], *tree["axes"]) not in self.moved:
            raise _unlike("collective", tree["collective"])
        exact, outcome = tree.get("exact"), tree.get("outcome")
        if isinstance(exact, str) and outcome is not None:
            word = exact if exact in ("always", "never") else "depends"
            if outcome.split()[0] != word or (word == "depends" and tree["variable"] not in exact):
                raise _unlike("outcome", outcome)

    def _formula(self, key: str, text: str, point: int | None) -> None:
        if text in ("always", "never"):
            return
        if (parts := re.split(r" and | or ", text))[1:]:
            for part in parts:
                self._formula(key, part.strip("()") if part.count("(") != part.count(")") else part, point)
            return
        found = _read(text, self.names)
        if found is None:
            raise _unlike(key, text)
        if len(found) == 1:
            (value,) = (self._value(part) for part in found)
            known = self.said.get((key, point))
            if value is not None and value not in (known if known is not None else self.parts):
                raise _unlike(key, text)
            return
        left, relation, right = found
        sides = self._value(left), self._value(right)
        if (
            None not in sides
            and (sides[0], str(relation), sides[1]) not in self.orders
            and not self._solved(left, right)
        ):
            raise _unlike(key, text)

    def _solved(self, left: Any, right: Any) -> bool:
        """A condition whose bound is that of another step, with the figures put in."""
        return isinstance(left, Name) and self._value(right) in self.parts

    def _float(self, key: str, exact: Any, value: Any) -> None:
        number = _number(exact)
        if number is None or value is None:
            return
        try:
            near = float(number)
        except OverflowError:
            return
        digits = abs(near) * 1e-7 if "." in str(exact) else 0
        if abs(near - value) > digits:
            raise _unlike(key, value)

    def _row(self, row: Mapping[str, Any]) -> None:
        """T_lower is the largest and T_upper the sum of the times of the row, each of them a number of a step."""
        if _number(row["size"]) not in self.numbers:
            raise _unlike("size", row["size"])
        known = {_near(number) for number in self.numbers}
        times = {name: value for name, value in row.items() if name.startswith("T_")}
        if any(value not in known for value in times.values()):
            raise _unlike("times", row)
        each = [value for name, value in times.items() if name not in ("T_lower", "T_upper", "T_steps", "T_comms")]
        waits = [times["T_comms"]] if times["T_comms"] not in each else []
        if (
            times["T_lower"] != max(each + waits)
            or abs(times["T_upper"] - sum(each + waits)) > 1e-12 * times["T_upper"]
        ):
            raise _unlike("times", row)
        if (row["bound_by"] in ("compute", "both")) != (times["T_math"] == times["T_lower"]):
            raise _unlike("bound_by", row["bound_by"])


def _told(facts: Any) -> Iterator[Formula]:
    """The formulas that facts hold, and those of the facts in them."""
    for value in vars(facts).values() if isinstance(facts, Frozen) else facts if isinstance(facts, tuple) else ():
        if isinstance(value, Formula):
            yield value
        elif isinstance(value, Frozen | tuple):
            yield from _told(value)


def _constant(part: Formula) -> Fraction | None:
    """The number that a quotient, sum or product of numbers is."""
    if not isinstance(part, Quotient | Negative | Product | Sum) or names(part):
        return None
    try:
        return Exact().rational(part).constant
    except (AlgebraError, CheckError):
        return None


def _near(number: Fraction) -> float:
    try:
        return float(number)
    except OverflowError:
        return float("inf")


def _number(exact: Any) -> Fraction | None:
    try:
        return Fraction(exact) if isinstance(exact, str) else None
    except (ValueError, ZeroDivisionError):
        return None


def _parts(formula: Formula) -> Iterator[Formula]:
    """A side; of a condition its parts, its rows, and what each of them compares."""
    yield formula
    if isinstance(formula, Compare | Both | Either | Cases):
        for child in children(formula):
            yield from _parts(child)


@lru_cache(maxsize=512)
def _read(text: str, known: tuple[str, ...]) -> tuple[Any, ...] | None:
    """A formula, or the sides of an order with the relation between them; None for what is neither."""
    scope = Scope(known, open=True)
    try:
        for relation in RELATIONS:
            if f" {relation} " in text:
                left, _, right = text.partition(f" {relation} ")
                return read_expression(left, scope), relation, read_expression(right, scope)
        return (read_expression(text, scope),)
    except ReadingError:
        return None


def _unlike(key: str, value: object) -> CheckError:
    return CheckError(f"no step of the derivation says this of {key}: {str(value)[:200]}")
