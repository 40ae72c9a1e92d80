"""Values in sentences: expressions of claims in the context of a document, and over the answers of its blocks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from sympy import Expr

from symroof.algebra.roots import Root
from symroof.derivation.pipeline import Derivation
from symroof.derivation.solving import PLAIN
from symroof.errors import CheckError, ReadingError, require_one_of
from symroof.formula import Call, Cases, Compare, Formula, Frozen, Name, Number, mapped, names
from symroof.reading.claims import read_value
from symroof.rendering.pages.inline_values import Shape, inserted, read_shape
from symroof.rendering.pages.typesetting import Typesetter
from symroof.rendering.records.derivations import parts
from symroof.symbols import expression
from symroof.verification.context import Context
from symroof.verification.intervals import enclosed, is_numeric
from symroof.verification.unit_agreement import unit_of

DOTTED = re.compile(r"[^\W\d]\w*\.[^\W\d][\w.]*")
# A hole has braces; those behind a command of LaTeX, an index or another argument are arguments, in which a hole has its own.
HOLE = re.compile(r"(?P<argument>(?:\\[A-Za-z]+|[_^}])\s*(?:\{[^{}]*\})+|\\.)|\{(?P<hole>[^{}]*)\}")


class Entry(Frozen):
    """What a block says under a name, and its unit."""

    value: Any
    unit: str = ""


def said_by(name: str, derivation: Derivation, context: Context) -> dict[str, Entry]:
    """What can be asked of a block: the parts of its answer, and its quantities with the figures put in."""
    result = {key: Entry(part) for key, part in parts(derivation).items()}
    for key, formula in context.definitions.items():
        result[key] = Entry(context.put(formula), unit_of(Name(key), context))
    return {f"{name}.{key}": said for key, said in result.items()}


class Lookup(Frozen):
    """``context`` is what the comments before a value say, ``answers`` what the blocks do, by ``id.name``."""

    context: Context
    answers: Mapping[str, Entry]

    def text(self, source: str, typesetter: Typesetter) -> str:
        """The text of a value: an expression, or text in quotes with expressions in braces; behind a semicolon, how.

        Raises :class:`ReadingError` for what is not known, and :class:`CheckError` for a value that is not proved.
        """
        expression, how = _parted(source)
        shape = read_shape(how)
        if expression.startswith(("'", '"')):
            return HOLE.sub(lambda match: self._filled(match, typesetter, shape), expression[1:-1])
        return self._one(expression, typesetter, shape)

    def _filled(self, match: re.Match[str], typesetter: Typesetter, shape: Shape) -> str:
        if match["hole"] is not None:
            return self._one(match["hole"].strip(), typesetter, shape, bare=True)
        for name in DOTTED.findall(match["argument"]):
            if name in self.answers:
                raise ReadingError(f"{name} is an argument of LaTeX here", expected=f"{{{{{name}}}}}")
        return match["argument"]

    def _one(self, expression: str, typesetter: Typesetter, shape: Shape, *, bare: bool = False) -> str:
        answer = self.answers.get(expression)
        if answer is not None and answer.value is None:
            raise ReadingError(f"{expression} does not apply here: the derivation has none")
        if answer is not None and isinstance(answer.value, str | Compare | Cases):
            return inserted(answer.value, typesetter, shape, bare=bare)
        for name in DOTTED.findall(expression):
            if name.partition(".")[0] in {other.partition(".")[0] for other in self.answers}:
                require_one_of(name, self.answers, f"{name} is nothing that the block says")
        formula, sizes = read_value(expression, self._scoped.scope)
        value, unit = self._value(formula, sizes, shape)
        self._require_proved(value, formula, sizes)
        return inserted(value, typesetter, shape, unit, bare=bare)

    @property
    def _scoped(self) -> Context:
        """The context with the answers of blocks among its names."""
        known: dict[str, Formula] = {}
        for name, said in self.answers.items():
            formula = _formula(said.value)
            known |= {} if formula is None else {name: formula}
        free = (n for formula in known.values() for n in names(formula))
        scope = replace(self.context.scope, names=tuple(dict.fromkeys((*self.context.scope.names, *known, *free))))
        units = {name: said.unit for name, said in self.answers.items() if said.unit}
        definitions = {**self.context.definitions, **known}
        return replace(self.context, scope=scope, definitions=definitions, units={**self.context.units, **units})

    def _value(self, formula: Formula, sizes: tuple[tuple[str, Formula], ...], shape: Shape) -> tuple[Any, str]:
        """The value of a formula, and its unit."""
        context = self._scoped
        place, unit = context.at(sizes), unit_of(formula, context)
        put = place.put(formula)
        if not is_numeric(put):
            return place.written(expression(put), put), unit
        known = enclosed(put)
        written = put if any("." in name for name in names(formula)) else formula
        return written if shape.formula else known.low if known.exact else known, unit

    def _require_proved(
        self, value: Fraction | Root | Formula, formula: Formula, sizes: tuple[tuple[str, Formula], ...]
    ) -> None:
        """That the second engine finds the value of a formula to be this; what is irrational lies between its ends."""
        place = self._scoped.at(sizes)
        put = place.put(formula)
        if isinstance(value, Root) and not value.exact:
            known = enclosed(put)
            proved = value.low <= known.high and known.low <= value.high
        else:
            number = (
                Number(value.low if isinstance(value, Root) else value) if isinstance(value, Root | Fraction) else value
            )
            proved = place.settled(Compare(_without_steps(put, place), "=", place.put(number))).truth is True
        if not proved:
            raise CheckError("the value was not proved")


def _without_steps(put: Formula, place: Context) -> Formula:
    """The formula with a whole number for every ceil and floor, each proved by what it lies between."""

    def whole(node: Formula) -> Formula:
        if not isinstance(node, Call) or node.function not in ("ceil", "floor"):
            return node
        (body,), up = node.arguments, node.function == "ceil"
        result = Number(enclosed(node).low)
        low = Compare(Number(result.value - 1), "<", body) if up else Compare(result, "<=", body)
        high = Compare(body, "<=", result) if up else Compare(body, "<", Number(result.value + 1))
        if not (place.settled(low).truth and place.settled(high).truth):
            raise CheckError("the value was not proved")
        return result

    return mapped(put, whole)


def _parted(source: str) -> tuple[str, str]:
    """What is asked for, and how it is to stand: what follows a semicolon outside of quotes."""
    if not source.startswith(("'", '"')):
        expression, _, how = source.partition(";")
        return expression.strip(), how
    end = source.find(source[0], 1)
    rest = source[end + 1 :].strip()
    if end < 0 or (rest and not rest.startswith(";")):
        raise ReadingError("the text of a value ends with its quotation mark", source=source, span=(0, len(source)))
    return source[: end + 1], rest.removeprefix(";")


def _formula(value: Any) -> Formula | None:
    """What can be calculated with; conditions and words cannot."""
    match value:
        case Compare() | Cases():
            return None
        case Formula():
            return value
        case int() | Fraction():
            return Number(Fraction(value))
        case Expr() | Root():
            return PLAIN.write(value)
    return None
