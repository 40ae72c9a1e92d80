"""Tables that calculate: a formula beside its number, a column that follows from others, a total.

A *formula* in a row is equal to the number beside it, in the unit at the head of its column, by what the text states of its
names. A *column* follows from the columns before it where one rule, a factor times a column, its reciprocal, or a product,
a quotient, a sum or a difference of two, gives every one of its cells as it is printed. A cell is wrong where a factor gives
all other cells, at least four of them on both sides of it, or three where the factor is one of units: at an end something
else may be the bound. A *total* is the sum of the cells above.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import combinations
from math import prod
from typing import Any

from symroof.formula import Compare, Formula, Name, Number
from symroof.reading.calculations import read_amount
from symroof.reading.cues import CUES
from symroof.reading.markup import Cell, Row
from symroof.reading.numbers import measured, unit_named
from symroof.reading.scope import opaque
from symroof.verification.judgement import IN_NUMBERS, Finding, Judgement, Remark
from symroof.verification.literals import last_place

TOTALS = frozenset(CUES["tables"]["totals"])
PARTIAL = re.compile("|".join(map(re.escape, CUES["tables"]["partial"])), re.IGNORECASE)
WORD = re.compile(r"%|[A-Za-zµμ]+(?:/[A-Za-z]+)?|[가-힣]+|[一-鿿]+")
# Factors between units.
PREFIXES = tuple(Fraction(10) ** power for power in range(-12, 13, 3))
OTHERS = (
    *map(Fraction, (1, 8, 100)),
    Fraction(1, 8),
    Fraction(1, 100),
    *(Fraction(1000, 1024) ** n for n in (1, 2, 3, 4)),
)
FACTORS = tuple({power * other for power in PREFIXES for other in OTHERS})
# How many rows have to agree: with a factor between units, and with any.
ROWS, MORE_ROWS = 3, 4
# How far a cell is off that is wrong.
APART = Fraction(1, 100)
# Digits tell a factor where what they may be rounded from differs by less.
TELLING = Fraction(11, 10)
MOST_COLUMNS, MOST_ROWS = 8, 60


Span = tuple[Fraction, Fraction]


@dataclass(frozen=True, slots=True)
class Amount:
    """A number in a cell, and between which values it lies: a whole number is what it is, and may be ``printed`` for
    what it was rounded or cut off from."""

    cell: Cell
    number: Number
    low: Fraction
    high: Fraction
    printed: Span

    @property
    def told(self) -> Fraction:
        return self.number.value


Rule = Callable[[Sequence[Amount]], Span]


def amount_of(cell: Cell) -> Amount | None:
    """The number that a cell is; None where it is none, or 0."""
    number = read_amount(cell.text)
    if not isinstance(number, Number) or number.value <= 0:
        return None
    _, last = last_place(number)
    exact = number.value.denominator == 1 and "." not in (number.digits or "") and number.value < 10**5
    printed = number.value - last / 2, number.value + last
    return Amount(cell, number, *((number.value, number.value) if exact else printed), printed)


def head_unit(head: str) -> str | None:
    """The unit that a head says its numbers are in.

    >>> head_unit("GB per GPU"), head_unit("time (ms)"), head_unit("layers")
    ('GB', 'ms', None)
    """
    units = (unit_named(word) for word in WORD.findall(head))
    return next((unit for unit in units if unit is not None and measured(unit)[1] != "1"), None)


def measured_amount(row: Row, place: int) -> Formula | None:
    """The number of a cell in the unit at the head of its column."""
    number, unit = read_amount(row.cells[place].text), head_unit(row.heads[place].text)
    if not isinstance(number, Number) or number.unit not in (None, "1") or unit is None:
        return number
    scale, base = measured(unit)
    return Number(number.value * scale, f"{number.digits} {unit}", base)


def formula_and_number(row: Row) -> tuple[int, int] | None:
    """The places of a formula and of the only number beside it; None where the row has no such pair."""
    numbers = [place for place, cell in enumerate(row.cells) if read_amount(cell.text) is not None]
    formulas = [
        place
        for place, cell in enumerate(row.cells)
        if cell.kind == "math"
        and place not in numbers
        and re.search(r"[-+*/^]|\\frac|\\cdot|\\times|\d\s*[A-Za-z]", cell.text)
    ]
    return (formulas[0], numbers[0]) if len(numbers) == 1 and len(formulas) == 1 else None


def judged_tables(rows: Sequence[Row], place: Callable[[int], tuple[int, int]]) -> Iterator[Judgement]:
    """The judgements on the cells of tables that follow from others; ``place`` tells where an offset stands."""
    tables: dict[int, list[Row]] = {}
    for row in rows:
        tables.setdefault(row.heads[0].offset if row.heads else -1, []).append(row)
    for table in tables.values():
        if len(table) <= MOST_ROWS:
            for judgement, cell in (*_totals(table), *_columns(table)):
                line, column = place(cell.offset)
                yield replace(judgement, line=line, column=column)


def _columns(table: Sequence[Row]) -> Iterator[tuple[Judgement, Cell]]:
    """The cells of columns that follow from columns before them."""
    body = [row for row in table if not _is_total(row)]
    grid = [[amount_of(cell) for cell in row.cells] for row in body]
    columns = [place for place in range(len(table[0].cells)) if sum(row[place] is not None for row in grid) >= ROWS]
    for place in columns[:MOST_COLUMNS]:
        before = [other for other in columns if other < place]
        found = _followed(table[0], grid, place, before)
        if found is not None:
            yield from found


def _followed(
    head: Row, grid: Sequence[Sequence[Amount | None]], place: int, before: Sequence[int]
) -> list[tuple[Judgement, Cell]] | None:
    """The cells of a column by the first rule that gives all of them; else by one that gives all but one."""
    broken: list[tuple[Judgement, Cell]] | None = None
    for inputs, rule, words, alone in _rules(head, before):
        rows = [row for row in grid if row[place] is not None and all(row[i] is not None for i in inputs)]
        spans = [(row[place], rule([row[i] for i in inputs])) for row in rows]  # type: ignore[misc]
        known = [(target, span) for target, span in spans if target is not None and span[0] > 0]
        if len(known) < ROWS or len({target.told for target, _ in known}) < ROWS - 1:
            continue
        factor, fits, between_units = _factor(known, exact=rule in (_added, _subtracted))
        if factor is None:
            continue
        sized = between_units and all(head_unit(head.heads[i].text) for i in (*inputs, place))
        counted = all(target.told.denominator == 1 for target, _ in known)  # what is counted may be rounded up
        needed, alone = (ROWS if sized else MORE_ROWS), alone and (sized or not counted)
        if len(fits) == len(known):
            return [_judged(head, place, target, words(factor), len(known) - 1) for target, _ in known]
        if broken is None and alone and len(fits) == len(known) - 1 and len(fits) >= needed:
            ((target, span),) = (pair for pair in known if pair not in fits)
            others = [fitted for _, (fitted, _) in fits]
            inside = min(others) < span[0] < max(others)  # a bound caps what lies at the end
            if factor == 1 or not (inside or sized):
                continue
            if target.low > span[1] * factor * (1 + APART) or target.high < span[0] * factor * (1 - APART):
                broken = [_judged(head, place, one, words(factor), len(fits)) for one, _ in fits]
                broken.append(
                    _judged(
                        head,
                        place,
                        target,
                        words(factor),
                        len(fits),
                        _right(span, factor if between_units else None, fits),
                    )
                )
    return broken


def _rules(head: Row, before: Sequence[int]) -> Iterator[tuple[tuple[int, ...], Rule, Callable[[Fraction], str], bool]]:
    """The rules by which a column may follow from those before it, what they are called, and whether one column alone is
    put in."""
    called = [cell.text or f"column {i}" for i, cell in enumerate(head.heads, 1)]
    for i in before:
        yield (i,), _itself, partial(_words, "{}", called[i]), True
        yield (i,), _reciprocal, partial(_words, "1/{}", called[i]), True
    for i, j in combinations(before, 2):
        for rule, sign in ((_multiplied, "*"), (_divided, "/"), (_added, "+"), (_subtracted, "-")):
            yield (i, j), rule, partial(_words, f"{{}} {sign} {{}}", called[i], called[j]), False
        yield (j, i), _divided, partial(_words, "{} / {}", called[j], called[i]), False
    for three in combinations(before, 3):
        yield three, _multiplied, partial(_words, "{} * {} * {}", *(called[i] for i in three)), False


def _words(rule: str, *columns_and_factor: Any) -> str:
    """A rule in words: its columns, and the factor before them."""
    *columns, factor = columns_and_factor
    return ("" if factor == 1 else f"{float(factor):.4g} * ") + rule.format(*columns)


def _right(span: Span, factor: Fraction | None, fits: Sequence[tuple[Amount, Span]]) -> Fraction:
    """What a cell should be: by the factor, or to the digits that the other cells tell."""
    if factor is not None:
        return (span[0] + span[1]) / 2 * factor
    low = max(target.printed[0] / other[1] for target, other in fits) * span[0]
    high = min(target.printed[1] / other[0] for target, other in fits) * span[1]
    step = Fraction(10) ** (len(str(int(high))) - 4)
    while round(low / step) != round(high / step):
        step *= 10
    return round(high / step) * step


def _itself(of: Sequence[Amount]) -> Span:
    return of[0].low, of[0].high


def _reciprocal(of: Sequence[Amount]) -> Span:
    return 1 / of[0].high, 1 / of[0].low


def _multiplied(of: Sequence[Amount]) -> Span:
    return prod((one.low for one in of), start=Fraction(1)), prod((one.high for one in of), start=Fraction(1))


def _divided(of: Sequence[Amount]) -> Span:
    return of[0].low / of[1].high, of[0].high / of[1].low


def _added(of: Sequence[Amount]) -> Span:
    return of[0].low + of[1].low, of[0].high + of[1].high


def _subtracted(of: Sequence[Amount]) -> Span:
    return of[0].low - of[1].high, of[0].high - of[1].low


def _factor(
    known: Sequence[tuple[Amount, Span]], *, exact: bool
) -> tuple[Fraction | None, list[tuple[Amount, Span]], bool]:
    """The factor that fits most rows, these rows, and whether it is one between units."""
    spans = [(target.printed[0] / span[1], target.printed[1] / span[0], (target, span)) for target, span in known]
    narrow = sum(high / low <= TELLING for low, high, _ in spans)

    def fitting(factor: Fraction) -> list[tuple[Amount, Span]]:
        return [pair for low, high, pair in spans if low <= factor <= high]

    def telling(factor: Fraction) -> bool:
        """Whether enough of the cells that fit have digits that tell it, or are just that."""
        told = (
            most / least <= TELLING or target.told == s[0] * factor == s[1] * factor
            for least, most, (target, s) in spans
            if least <= factor <= most
        )
        return sum(told) >= ROWS

    if exact:
        return (Fraction(1), fitting(Fraction(1)), True) if telling(Fraction(1)) else (None, [], False)
    low, high = min(low for low, _, _ in spans), max(high for _, high, _ in spans)
    units = [factor for factor in FACTORS if low <= factor <= high and telling(factor)]
    best = max((fitting(factor) for factor in units), key=len, default=[])
    if len(best) >= len(known) - 1:
        return next(factor for factor in units if len(fitting(factor)) == len(best)), best, True
    if narrow < len(spans):
        return None, [], False
    best = max((fitting(low) for low, _, _ in spans), key=len)
    fitted = [(low, high) for low, high, pair in spans if pair in best]
    return (max(low for low, _ in fitted) + min(high for _, high in fitted)) / 2, best, False


def _totals(table: Sequence[Row]) -> Iterator[tuple[Judgement, Cell]]:
    """The cells of rows that are the sum of those above."""
    for at, row in enumerate(table):
        above = table[:at]
        if (
            not _is_total(row)
            or len(above) < 2
            or any(_is_total(other) or PARTIAL.search(_label(other)) for other in above)
        ):
            continue
        for place, cell in enumerate(row.cells):
            total, parts = amount_of(cell), [amount_of(other.cells[place]) for other in above]
            terms = [part for part in parts if part is not None]
            if total is None or len(terms) < 2 or len(terms) < len(parts):
                continue
            low, high = sum(term.low for term in terms), sum(term.high for term in terms)
            if low <= total.high and total.low <= high:
                yield _judged(row, place, total, "sum", len(terms))
            elif total.low > high * (1 + APART) or total.high < low * (1 - APART):
                yield _judged(row, place, total, "sum", len(terms), sum((t.told for t in terms), Fraction(0)))


def _is_total(row: Row) -> bool:
    return _label(row).casefold().strip(" :：") in TOTALS


def _label(row: Row) -> str:
    return row.cells[0].text if row.cells else ""


def _judged(
    row: Row, place: int, amount: Amount, rule: str, rows: int, right: Fraction | None = None
) -> tuple[Judgement, Cell]:
    """The judgement on a cell: that it is what the others make of it, or what it should be."""
    name = row.heads[place].text or "column"
    link = Compare(Name(opaque(name)), "=", amount.number)
    remark = Remark("as_in_other_rows", {"rule": rule, "rows": rows})
    text = f"{name} = {amount.cell.text}"
    if right is None:
        return Judgement(text, "holds", (Finding(link, "holds", IN_NUMBERS, remarks=(remark,)),)), amount.cell
    finding = Finding(link, "wrong", IN_NUMBERS, _rounded(right, amount), (remark,))
    return Judgement(text, "wrong", (finding,)), amount.cell


def _rounded(value: Fraction, like: Amount) -> Number:
    """A value with as many digits as another."""
    _, last = last_place(like.number)
    kept = round(value / last) * last if last else value
    return Number(kept)
