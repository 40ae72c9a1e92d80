"""Cells of tables as claims: each says that the quantity at the head of its column is what stands in it.

A row speaks of the operation that is typed in it. One without an operation speaks of its own numbers, as a ridge beside
a peak and a bandwidth does; or, where it holds nothing but quantities and sizes, of the problem that comments state. Of
any other row it is not known what it speaks of. In a row that begins with a tensor of a program it is that tensor.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache

from symroof.errors import ReadingError, SymroofError
from symroof.formula import Compare, Formula, Name, Number
from symroof.model.quantities import DERIVED, TABLE
from symroof.model.statement_costs import of_statement
from symroof.reading.claims import Chain, Claim
from symroof.reading.documents import RELATED, RELATING, Written
from symroof.reading.exercises import Exercise
from symroof.reading.expressions import read_expression
from symroof.reading.latex import read_latex_expression
from symroof.reading.markup import Row
from symroof.reading.numbers import COUNTED, quantity
from symroof.reading.operations import typed_operation
from symroof.reading.scope import Scope
from symroof.reading.vocabulary import AMOUNTS, folded, named
from symroof.verification.comments import InForce
from symroof.verification.context import Context
from symroof.verification.definitions import context_of
from symroof.verification.enclosures import is_numeric
from symroof.verification.judge import judge
from symroof.verification.judgement import Omission
from symroof.verification.literals import last_place
from symroof.verification.selection import skipped

HEAD = re.compile(r"(?P<words>.*?)\s*(?:[\[(](?P<unit>[^\[\]()]+)[\])])?")
PLAIN = re.compile(r"[×x~≈]?\s*\d[\d.,_]*\s*[%×x]?")
EMPTY = re.compile(r"[^\w\\]*|[Nn]/?[Aa]")
# Quantities that tables state by what they tend to, without a sign for it.
TENDING = (Name("intensity"),)

BARE = context_of(Exercise())


@dataclass(frozen=True, slots=True)
class Column:
    """What a head names: a quantity, and the unit of the numbers below it, if it says one."""

    name: str
    unit: Number | None = None


def speaks(cell: Written, force: InForce) -> bool:
    """Whether a cell says something of a quantity: it stands below the name of one, and is more than a dash.

    A cell with a relation between two sides is a formula of its own.
    """
    said = _sign(cell.text)[1]
    return _column(cell.head, force) is not None and not EMPTY.fullmatch(said) and RELATING.search(said) is None


def cell_claim(cell: Written, force: InForce) -> tuple[Claim, Context] | Omission:
    """The claim that a cell makes, and what it is judged against; or why it is not judged."""
    column, row = _column(cell.head, force), cell.row
    if column is None or row is None:
        return Omission("row")
    amount = _amount(column, row, force)
    found = _context(column, row, force) if amount is None else (force.context, "=")
    column = column if amount is None else replace(column, name=amount)
    if isinstance(found, Omission):
        return found
    (context, equal), (relation, text) = found, _sign(cell.text)
    value = _value(text, cell.kind, column, context.scope, force)
    unit = f" {column.unit.digits}" if column.unit is not None and isinstance(value, Number) else ""
    said = f"{column.name} {relation} {text}{unit}"
    claim = Claim(said, (), at=tuple(_sizes(row, context)), start=len(cell.text) - len(text))
    link = Compare(Name(column.name), equal if relation == "=" else relation, value)
    return _stated(claim, link, context, any(_multiples(row, context, force)))


def _stated(claim: Claim, link: Compare, context: Context, multiples: bool) -> tuple[Claim, Context] | Omission:
    """The claim of a link. Tables write what a quantity tends to without a sign for it, and where they count something
    that has no name here, a value may be that many times as large."""
    stated, tends = (
        replace(claim, propositions=((Chain((link.left, link.right), (relation,)),),))
        for relation in (link.relation, "~")
    )
    skip = skipped(context.at(claim.at).question(link))
    if skip is not None:
        return skip.reason
    if judge(stated, context, explain=False).verdict != "wrong":
        return stated, context
    if (
        link.left in TENDING
        and link.relation == "="
        and not is_numeric(link.right)
        and judge(tends, context, explain=False).good
    ):
        return tends, context
    return Omission("row") if multiples else (stated, context)


def _context(column: Column, row: Row, force: InForce) -> tuple[Context, str] | Omission:
    """What a row speaks of, and how near to it a cell has to be: numbers made of rounded ones are near one another."""
    operation = _operation(row)
    if operation is not None:
        written, typed = operation
        if not typed and not force.width and column.name != "flops":
            return Omission("no_width")
        return force.of_row(written).context, "="
    numbers = dict(_numbers(row, force))
    stated = _is_of_the_problem(column, row, force)
    if stated and any(head.text in force.context.least_one for head in row.heads):
        return force.context, "="
    context = BARE.defining({name: number for name, number in numbers.items() if name != column.name})
    if column.name in DERIVED and is_numeric(context.put(Name(column.name))):
        doubt = sum(last_place(number)[1] / 2 / abs(number.value) for number in numbers.values())
        return replace(context, tolerance=context.tolerance + doubt), "~"
    if stated:
        return force.context, "="
    return Omission("definition" if column.name in numbers and column.name not in DERIVED else "row")


def _amount(column: Column, row: Row, force: InForce) -> str | None:
    """The amount of one tensor of the program in force that a cell states: the row begins with the name of the tensor."""
    first = row.cells[0].text.strip("`$ ")
    names = (of_statement(column.name, tensor) for tensor in (first, first.replace("_", "")))
    return next((name for name in names if name in force.context.definitions), None)


def _is_of_the_problem(column: Column, row: Row, force: InForce) -> bool:
    """Whether a row speaks of the problem in force: it says nothing of a chip, and nothing in words."""
    filled = [head.text for head, cell in zip(row.heads, row.cells, strict=True) if not EMPTY.fullmatch(cell.text)]
    named = [_column(head, force) for head in filled if head not in force.context.least_one]
    figures = {each.name for each in named if each is not None} & {"peak", "bandwidth"}
    return column.name in force.context.definitions and None not in named and not figures


def _numbers(row: Row, force: InForce) -> Iterator[tuple[str, Number]]:
    """The quantities whose numbers stand in a row."""
    for head, cell in zip(row.heads, row.cells, strict=True):
        column = _column(head.text, force)
        with suppress(SymroofError):
            value = column and _value(_sign(cell.text)[1], cell.kind, column, BARE.scope, force)
            if column is not None and isinstance(value, Number) and value.value > 0:
                yield column.name, value


def _multiples(row: Row, context: Context, force: InForce) -> Iterator[str]:
    """The heads of other columns with plain numbers in this row: layers, chips, a share that is used."""
    for head, cell in zip(row.heads, row.cells, strict=True):
        sizes = context.least_one | force.context.least_one
        plain = PLAIN.fullmatch(cell.text) and "(" not in head.text and head.text not in sizes
        if plain and _column(head.text, force) is None:
            yield head.text


def _sizes(row: Row, context: Context) -> Iterator[tuple[str, Number]]:
    """The sizes of an operation that stand in a row."""
    for head, cell in zip(row.heads, row.cells, strict=True):
        if head.text in context.least_one:
            with suppress(SymroofError):
                value = read_expression(cell.text, context.scope)
                if isinstance(value, Number):
                    yield head.text, value


@lru_cache(maxsize=1024)
def _operation(row: Row) -> tuple[str, bool] | None:
    """The operation that is typed in a row, and whether its elements have types."""
    return next((typed for cell in row.cells if (typed := typed_operation(cell.text))), None)


def _column(head: str, force: InForce) -> Column | None:
    """What a head names: FLOPs, time for math (ms), $T_\\text{comms}$."""
    match = HEAD.fullmatch(head)
    whole, words, unit = _name(head, force), match and match["words"], match and match["unit"]
    if whole is not None or not words or not unit or (name := _name(words, force)) is None:
        return None if whole is None else Column(whole)
    if unit in COUNTED:
        return Column(name)
    with suppress(SymroofError):
        one = quantity(f"1 {unit}", None)
        if name not in TABLE or one.unit == TABLE[name].unit:
            return Column(name, replace(one, digits=unit))
    return None


def _name(words: str, force: InForce) -> str | None:
    """The name that words stand for: a quantity, or one to which the problem gives a formula."""
    aliases = force.exercise.aliases
    amount = AMOUNTS.get(folded(words))
    if amount is None or not {amount, *force.context.scope.amounts(amount)} & force.context.definitions.keys():
        amount = None
    known = words if words == amount else named(words, {folded(alias): name for alias, name in aliases.items()})
    if known is not None or words in force.exercise.let:
        return known or words
    if amount is not None:
        return amount
    with suppress(SymroofError):
        formula = read_latex_expression(words, force.dialect(BARE.scope)) if "\\" in words or "_" in words else None
        if isinstance(formula, Name) and formula.name in TABLE:
            return formula.name
    return None


def _sign(text: str) -> tuple[str, str]:
    """The relation that a cell begins with, and what comes behind it."""
    match = RELATING.match(text)
    return (RELATED[match.group()], text[match.end() :].lstrip()) if match else ("=", text)


def _value(text: str, kind: str, column: Column, scope: Scope, force: InForce) -> Formula:
    """What a cell holds, in the unit of its column where it has none of its own."""
    latex = kind == "math"
    dialect = force.dialect(scope)
    value = read_latex_expression(text, dialect) if latex else read_expression(text, dialect.scope)
    unit = column.unit
    if unit is None or (isinstance(value, Number) and value.unit is not None):
        return value
    if not isinstance(value, Number):
        if unit.value == 1:
            return value
        raise ReadingError("a formula below a unit has two readings", expected="a number, or a head without a unit")
    return Number(value.value * unit.value, f"{value.digits} {unit.digits}", unit.unit)
