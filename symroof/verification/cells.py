"""Cells of tables as claims: each says that the quantity at the head of its column is what stands in it.

A row speaks of the operation that is typed in it; one without, that holds nothing but quantities and sizes, of the problem
that comments state. Of any other row, and of one that counts something else as well, it is not known what it speaks of.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass

from symroof.errors import ReadingError, SymroofError
from symroof.formula import Compare, Formula, Name, Number
from symroof.model.quantities import TABLE
from symroof.reading.claims import Chain, Claim
from symroof.reading.documents import RELATED, RELATING, Written
from symroof.reading.expressions import read_expression
from symroof.reading.latex import read_latex_expression
from symroof.reading.markup import Row
from symroof.reading.name_scope import Scope
from symroof.reading.numbers import COUNTED, quantity
from symroof.reading.operations import typed_operation
from symroof.reading.vocabulary import folded, named
from symroof.verification.comments import InForce
from symroof.verification.context import Context
from symroof.verification.judgement import Omission
from symroof.verification.selection import skipped

HEAD = re.compile(r"(?P<words>.*?)\s*(?:[\[(](?P<unit>[^\[\]()]+)[\])])?")
PLAIN = re.compile(r"[×x~≈]?\s*\d[\d.,_]*\s*[%×x]?")
EMPTY = re.compile(r"[^\w\\]*|[Nn]/?[Aa]")


@dataclass(frozen=True, slots=True)
class Column:
    """What a head names: a quantity, and the unit of the numbers below it, if it says one."""

    name: str
    unit: Number | None = None


def speaks(cell: Written, force: InForce) -> bool:
    """Whether a cell says something of a quantity: it stands below the name of one, and is more than a dash.

    A cell with a relation between two sides is a formula of its own.
    """
    _, value = _sign(cell.text)
    return _column(cell.head, force) is not None and not EMPTY.fullmatch(value) and RELATING.search(value) is None


def cell_claim(cell: Written, force: InForce) -> tuple[Claim, Context] | Omission:
    """The claim that a cell makes, and what it is judged against; or why it is not judged. A formula for the intensity is
    what that tends to, as tables write it without a sign."""
    column, row = _column(cell.head, force), cell.row
    if column is None or row is None:
        return Omission("row")
    context = _context(column, row, force)
    if isinstance(context, Omission):
        return context
    relation, text = _sign(cell.text)
    value = _value(text, cell.kind, column, context.scope, force)
    tends = relation == "=" and column.name == "intensity" and not isinstance(value, Number)
    unit = f" {column.unit.digits}" if column.unit is not None and isinstance(value, Number) else ""
    link = Compare(Name(column.name), "~" if tends else relation, value)
    chain = Chain((link.left, link.right), (link.relation,))
    said = f"{column.name} {relation} {text}{unit}"
    claim = Claim(said, ((chain,),), at=tuple(_sizes(row, context).items()), start=len(cell.text) - len(text))
    skip = skipped(context.at(claim.at).question(link))
    return (claim, context) if skip is None else skip.reason


def _context(column: Column, row: Row, force: InForce) -> Context | Omission:
    """What a row speaks of."""
    typed = next((found for text in row.cells if (found := typed_operation(text.text))), None)
    context = force.context if typed is None else force.of_row(typed[0]).context
    rest = [
        text.text
        for head, text in zip(row.heads, row.cells, strict=True)
        if head.text not in context.least_one and _column(head.text, force) is None and not EMPTY.fullmatch(text.text)
    ]
    sized = context.least_one.intersection(head.text for head in row.heads)
    if typed is None and (rest or not sized or column.name not in context.definitions):
        return Omission("row")
    if typed is not None and not typed[1] and not force.width and column.name != "flops":
        return Omission("no_width")
    return Omission("row") if any(map(PLAIN.fullmatch, rest)) else context


def _sizes(row: Row, context: Context) -> dict[str, Formula]:
    """The sizes of an operation that stand in a row."""
    sizes: dict[str, Formula] = {}
    for head, cell in zip(row.heads, row.cells, strict=True):
        with suppress(SymroofError):
            if head.text in context.least_one and isinstance(size := read_expression(cell.text, context.scope), Number):
                sizes[head.text] = size
    return sizes


def _column(head: str, force: InForce) -> Column | None:
    """What a head names: FLOPs, time for math (ms), $T_\\text{comms}$."""
    match = HEAD.fullmatch(head)
    if (whole := _name(head, force)) is not None:
        return Column(whole)
    if match is None or not match["words"] or not match["unit"] or (name := _name(match["words"], force)) is None:
        return None
    if match["unit"] in COUNTED:
        return Column(name)
    with suppress(SymroofError):
        one = quantity(f"1 {match['unit']}", None)
        if name not in TABLE or one.unit == TABLE[name].unit:
            return Column(name, Number(one.value, match["unit"], one.unit))
    return None


def _name(words: str, force: InForce) -> str | None:
    """The name that words stand for: a quantity, or one to which the problem gives a formula."""
    known = named(words, {folded(alias): name for alias, name in force.exercise.aliases.items()})
    if known is not None or words in force.exercise.let:
        return known or words
    with suppress(SymroofError):
        formula = (
            read_latex_expression(words, force.dialect(force.context.scope)) if re.search(r"[\\_]", words) else None
        )
        if isinstance(formula, Name) and formula.name in TABLE:
            return formula.name
    return None


def _sign(text: str) -> tuple[str, str]:
    """The relation that a cell begins with, and what comes behind it."""
    match = RELATING.match(text)
    return (RELATED[match.group()], text[match.end() :].lstrip()) if match else ("=", text)


def _value(text: str, kind: str, column: Column, scope: Scope, force: InForce) -> Formula:
    """What a cell holds, in the unit of its column where it has none of its own."""
    dialect, unit = force.dialect(scope), column.unit
    value = read_latex_expression(text, dialect) if kind == "math" else read_expression(text, dialect.scope)
    if unit is None or (isinstance(value, Number) and value.unit is not None):
        return value
    if not isinstance(value, Number):
        if unit.value == 1:
            return value
        raise ReadingError("a formula below a unit has two readings", expected="a number, or a head without a unit")
    return Number(value.value * unit.value, f"{value.digits} {unit.digits}", unit.unit)
