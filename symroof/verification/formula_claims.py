"""The claims of a formula of a document: in the names of its problem, or in those of its own; of typeset mathematics, of code,
and of calculations in prose.

A cell of a table claims that the quantity at the head of its column is what stands in it. Its row speaks of the operation
that is typed in it; without one, where it holds nothing but quantities and sizes, of the problem that comments state.
Of any other row, and of one that counts something else as well, it is not known what it speaks of.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from symroof.errors import ReadingError, SymroofError
from symroof.formula import Compare, Formula, Gap, Name, Number, names
from symroof.model.quantities import QUANTITIES, TABLE
from symroof.reading.calculations import calculations, read_calculation
from symroof.reading.claims import Chain, Claim, read_claim
from symroof.reading.documents import RELATED, RELATING, Written
from symroof.reading.expressions import read_expression
from symroof.reading.latex import read_latex, read_latex_expression
from symroof.reading.latex_phrases import Dialect
from symroof.reading.markup import Row
from symroof.reading.name_scope import Scope, is_opaque
from symroof.reading.numbers import COUNTED, quantity
from symroof.reading.operations import typed_operation
from symroof.reading.vocabulary import WORDS, folded, named
from symroof.verification.comments import Comments
from symroof.verification.context import Context
from symroof.verification.selection import skipped
from symroof.verification.verdicts import Omission

HEAD = re.compile(r"(?P<words>.*?)\s*(?:[\[(](?P<unit>[^\[\]()]+)[\])])?")
PLAIN = re.compile(r"[×x~≈]?\s*\d[\d.,_]*\s*[%×x]?")
EMPTY = re.compile(r"[^\w\\]*|[Nn]/?[Aa]")
STATEMENTS = {
    kind: re.compile(
        "|".join(re.escape(sign) + (r"(?![A-Za-z])" if sign[-1].isalpha() else "") for sign in WORDS["latex"][kind])
    )
    for kind in ("membership", "assignment")
}


def given_names(force: Comments) -> frozenset[str]:
    """The names that a problem explains; a document says what they are, and does not define them."""
    stated = force.exercise.problem is not None or force.exercise.hardware is not None
    return frozenset((*QUANTITIES, *force.context.definitions)) if stated else frozenset()


def claims_in(written: Written, force: Comments) -> tuple[tuple[Claim, ...], Context]:
    """The claims of a formula, and the context in whose names they are read. Code without a claim has none."""
    in_turn = force.contexts
    if written.kind == "math":
        claims, index = read_formula(written.text, [force.dialect(context.scope) for context in in_turn])
        return claims, in_turn[index]
    if written.kind == "prose":
        context = in_turn[-1]
        return (replace(read_calculation(written.text, _lenient(context)), whole=written.whole),), context
    failed: SymroofError | None = None
    for context in in_turn:
        try:
            return _of_code(written.text, replace(context, scope=replace(context.scope, letters=frozenset()))), context
        except SymroofError as error:
            failed = failed or error
    raise failed or ReadingError("the formula cannot be read")


def _of_code(text: str, context: Context) -> tuple[Claim, ...]:
    """The claim of code that looks like arithmetic: in the names of a problem, else in numbers alone."""
    if any(sign in text for sign in ("<<", ">>", "==")):
        return ()
    try:
        claim = read_claim(text, context.scope)
    except SymroofError:
        if context.scope.open:
            return tuple(_typed(text, context))
        raise
    spoken = {name for link in claim.links for name in names(link)}
    if not context.scope.open or spoken <= set(context.scope.names) - set(QUANTITIES):
        return (claim,)
    runs = tuple(Chain((link.left, link.right), (link.relation,)) for link in claim.links if not names(link))
    return (replace(claim, propositions=(runs,), connectives=()),) if runs else tuple(_typed(text, context))


def _typed(text: str, context: Context) -> Iterator[Claim]:
    """The calculations in code."""
    for calculation in calculations(text, names=True):
        part = text[calculation.start : calculation.end]
        claim = read_calculation(part, _lenient(context))
        named = any(names(link) for link in claim.links)  # what a program calls so may be anything
        yield replace(claim, whole=calculation.whole and not named)


def _lenient(context: Context) -> Scope:
    return replace(context.scope, letters=frozenset(), lenient=True)


def read_formula(text: str, dialects: Sequence[Dialect]) -> tuple[tuple[Claim, ...], int]:
    r"""The claims of a formula, and which of the dialects they are read in: the first that reads all of it, else the one
    that leaves out least. What no dialect reads at all is an error, that of the first.

    >>> from symroof.reading.name_scope import Scope
    >>> claims, _ = read_formula(r"x = \foo = 12 = 3 \cdot 4", [Dialect(Scope(open=True))])
    >>> [type(side).__name__ for side in claims[0].chains[0].sides]
    ['Name', 'Gap', 'Number', 'Product']
    """
    refused: SymroofError | None = None
    for index, dialect in enumerate(dialects):
        try:
            return read_latex(text, dialect), index
        except SymroofError as error:
            refused = refused or error
    readings = []
    for index, dialect in enumerate(dialects):
        try:
            claims = read_latex(text, replace(dialect, scope=replace(dialect.scope, lenient=True)))
        except SymroofError:
            continue
        if any(unread(link.right) is None for claim in claims for link in claim.links):
            readings.append((claims, index))
    if not readings:
        raise refused or ReadingError("the formula cannot be read")
    return min(readings, key=lambda reading: _left_out(reading[0]))


def read_side(text: str, kind: str, dialect: Dialect) -> Formula:
    """The formula of one side, in LaTeX or as it is typed."""
    return read_latex_expression(text, dialect) if kind == "math" else read_expression(text, dialect.scope)


def unread(side: Formula) -> str | None:
    """Why a side of a chain has no value: what could not be read in it; empty where none stands; None where it has one."""
    return (side.problem or "") if isinstance(side, Gap) else None


def other_statement(text: str) -> str | None:
    r"""What a formula states that is no relation of values: where something lies, or what a program assigns.

    >>> other_statement(r"W \in \mathbb{R}^{d}"), other_statement(r"s \leftarrow s + 1"), other_statement("a = b")
    ('membership', 'assignment', None)
    """
    return next((kind for kind, signs in STATEMENTS.items() if signs.search(text)), None)


def _left_out(claims: tuple[Claim, ...]) -> tuple[int, int]:
    """How many sides cannot be read, and how many names nothing explains."""
    sides = [side for claim in claims for chain in claim.chains for side in chain.sides]
    return sum(bool(unread(side)) for side in sides), sum(is_opaque(name) for side in sides for name in names(side))


@dataclass(frozen=True, slots=True)
class Column:
    """What a head names: a quantity, and the unit of the numbers below it, if it says one."""

    name: str
    unit: Number | None = None


def speaks(cell: Written, force: Comments) -> bool:
    """Whether a cell says something of a quantity: it stands below the name of one, and is more than a dash.

    A cell with a relation between two sides is a formula of its own.
    """
    _, value = _sign(cell.text)
    return _column(cell.head, force) is not None and not EMPTY.fullmatch(value) and RELATING.search(value) is None


def cell_claim(cell: Written, force: Comments) -> tuple[Claim, Context] | Omission:
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
    shown = f"{column.name} {relation} {text}{unit}"
    claim = Claim(shown, ((chain,),), at=tuple(_sizes(row, context).items()), start=len(cell.text) - len(text))
    skip = skipped(context.at(claim.at).question(link))
    return (claim, context) if skip is None else skip.reason


def _context(column: Column, row: Row, force: Comments) -> Context | Omission:
    """What a row speaks of."""
    typed = next((operation for text in row.cells if (operation := typed_operation(text.text))), None)
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


def _column(head: str, force: Comments) -> Column | None:
    """What a head names: FLOPs, time for math (ms), $T_\\text{comms}$."""
    match = HEAD.fullmatch(head)
    if (whole := _name(head, force)) is not None:
        return Column(whole)
    if match is None or not match["words"] or not match["unit"] or (name := _name(match["words"], force)) is None:
        return None
    if match["unit"] in COUNTED:
        return Column(name)
    with suppress(SymroofError):
        unit = quantity(f"1 {match['unit']}", None)
        if name not in TABLE or unit.unit == TABLE[name].unit:
            return Column(name, Number(unit.value, match["unit"], unit.unit))
    return None


def _name(words: str, force: Comments) -> str | None:
    """The name that words stand for: a quantity, or one to which the problem gives a formula."""
    quantity = named(words, {folded(alias): name for alias, name in force.exercise.aliases.items()})
    if quantity is not None or words in force.exercise.let:
        return quantity or words
    with suppress(SymroofError):
        typeset = re.search(r"[\\_]", words)
        formula = read_latex_expression(words, force.dialect(force.context.scope)) if typeset else None
        if isinstance(formula, Name) and formula.name in TABLE:
            return formula.name
    return None


def _sign(text: str) -> tuple[str, str]:
    """The relation that a cell begins with, and what comes behind it."""
    match = RELATING.match(text)
    return (RELATED[match.group()], text[match.end() :].lstrip()) if match else ("=", text)


def _value(text: str, kind: str, column: Column, scope: Scope, force: Comments) -> Formula:
    """What a cell holds, in the unit of its column where it has none of its own."""
    value, unit = read_side(text, kind, force.dialect(scope)), column.unit
    if unit is None or (isinstance(value, Number) and value.unit is not None):
        return value
    if not isinstance(value, Number):
        if unit.value == 1:
            return value
        raise ReadingError("a formula below a unit has two readings", expected="a number, or a head without a unit")
    return Number(value.value * unit.value, f"{value.digits} {unit.digits}", unit.unit)
