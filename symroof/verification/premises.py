"""What a document has stated before, used by what follows: values of names, formulas for them, and constraints.

An equation between names says nothing by itself; it is a claim once everything in it has a value that the text states:
``2N = 140 GB`` where a table says that N is 70 billion. What is right is accepted, with the lines that say so. It is wrong
only where no name has ever had another meaning in the document, and nothing supposes or solves the equation, and no
unit that nobody wrote would make up for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction

from symroof.errors import SymroofError
from symroof.formula import Compare, Formula, Gap, Group, Name, Negative, Number, Product, Sum, mapped, names, nodes
from symroof.model.quantities import QUANTITIES
from symroof.reading.calculations import read_amount
from symroof.reading.claims import Chain
from symroof.reading.cues import is_denied
from symroof.reading.latex import read_latex_expression
from symroof.reading.latex_phrases import Dialect
from symroof.reading.markup import Cell, Row
from symroof.reading.scope import opaque
from symroof.verification.context import Context, Question
from symroof.verification.enclosures import compared, enclosed, is_numeric
from symroof.verification.literals import is_printed, slack
from symroof.verification.readings import Passage, Reading
from symroof.verification.selection import Skip
from symroof.verification.surroundings import Definition, Discourse
from symroof.verification.unit_agreement import PREFIXES

# Why links are not judged by themselves, and are once their names have values.
OPEN = ("equation", "other_letters", "letters_added", "letters_alone", "at_sizes", "definition", "words", "no_meaning")
# By how much a side may differ where it is in another unit.
UNITS = (*PREFIXES, *map(Fraction, (10**15, 8, 60, 3600, 100, 24 * 3600)))
# A name that is a cell, that stands in brackets at its end, or that ends it.
NAME = r"\\?[A-Za-z](?:[\w\\]|\{[^{}]*\})*"
NAMED = re.compile(rf"(?P<whole>{NAME})|.*(?:\(\s*(?P<bracketed>{NAME})\s*\)|\s(?P<last>{NAME}))", re.DOTALL)
APPLIED = re.compile(r'"([^"()]+)\(([^"()]+)\)"')
CLOSE = Fraction(1, 50)


@dataclass(frozen=True, slots=True)
class Premises:
    """A context with what is stated put in: ``used`` are the statements; they are ``sole`` where no name in them has ever
    stood for anything else."""

    context: Context
    used: tuple[Definition, ...]
    sole: bool

    def question(self, link: Compare) -> Question:
        return self.context.question(link)


def premises(
    wanted: Iterable[str], context: Context, said: Discourse, functions: Mapping[str, str] = {}, *, here: bool = False
) -> Premises | None:
    """What is stated of some names, and of those that it speaks of in turn; None where it is nothing. Of what holds
    ``here`` alone: formulas that have not ended, and no values.

    >>> from symroof.formula import number
    >>> from symroof.reading.exercises import Exercise
    >>> from symroof.verification.definitions import context_of
    >>> said = Discourse().stating(Definition("N", number(7), 1, ())).stating(Definition("M", Name("N"), 2, ()))
    >>> [d.line for d in premises(["M"], context_of(Exercise()), said).used]
    [2, 1]
    """
    used: dict[str, Definition] = {}

    def comes_to_a_number(name: str, above: tuple[str, ...]) -> bool:
        told = said.last(name) or _applied(name, said, functions)
        if told is None or name in above:
            return False
        if is_numeric(told.formula) or told.value is not None:
            return True
        return all(comes_to_a_number(one, (*above, name)) for one in dict.fromkeys(names(told.formula)))

    def told_of(name: str) -> Definition | None:
        """What is stated of a name: a formula, or the number that it comes to where something in it has no value."""
        told = said.last(name) or _applied(name, said, functions)
        if told is None or told.value is None or is_numeric(told.formula) or here:
            return told
        whole = all(comes_to_a_number(one, (name,)) for one in dict.fromkeys(names(told.formula)))
        return told if whole else replace(told, formula=told.value)

    def use(name: str, above: tuple[str, ...]) -> None:
        known = name in context.definitions
        told = told_of(name)
        if name in used or (told is None and not known):
            return
        if known and (told is None or not is_numeric(told.formula) or name in context.least_one):
            for one in dict.fromkeys(names(context.definitions[name])):
                if one != name and one not in above:
                    use(one, (*above, name))
            return
        if told is None or (here and (is_numeric(told.formula) or not told.holds(said.path, said.place))):
            return
        inner = [one for one in dict.fromkeys(names(told.formula)) if one not in context.definitions]
        if name in inner or set(inner) & set(above):
            return
        used[name] = told
        for one in inner:
            use(one, (*above, name))

    for name in wanted:
        use(name, ())
    if not used:
        return None
    sizes = {name: d for name, d in used.items() if name in context.least_one}
    others = {name: d.formula for name, d in used.items() if name not in context.least_one}
    if _is_circular({**context.definitions, **{name: d.formula for name, d in used.items()}}, used):
        return None
    try:
        put = context.defining(others) if others else context
        put = put.at([(name, d.formula) for name, d in sizes.items() if is_numeric(d.formula)])
        put = put.assuming(d.equation for d in sizes.values() if not is_numeric(d.formula))
    except SymroofError:
        return None
    return Premises(put, tuple(used.values()), all(map(said.sole, used)))


def _is_circular(definitions: Mapping[str, Formula], wanted: Iterable[str]) -> bool:
    """Whether a name is defined by itself, over others."""
    above: list[str] = []
    done: set[str] = set()

    def reaches(name: str) -> bool:
        if name in above:
            return True
        if name in done or name not in definitions:
            return False
        above.append(name)
        found = any(map(reaches, dict.fromkeys(names(definitions[name]))))
        above.pop()
        done.add(name)
        return found

    return any(map(reaches, wanted))


def _applied(name: str, said: Discourse, functions: Mapping[str, str]) -> Definition | None:
    """What a function is for a number, t(64), where t(b) is a formula."""
    match = APPLIED.fullmatch(name)
    told = said.last(match[1]) if match and match[1] in functions and "," not in functions[match[1]] else None
    if match is None or told is None or not names(told.formula):
        return None
    at = read_amount(match[2])
    put = lambda node: Group(at) if node == Name(functions[match[1]]) and at is not None else node  # noqa: E731
    return None if at is None else replace(told, name=name, formula=mapped(told.formula, put))


def by_premises(link: Compare, passage: Passage) -> Reading | None:
    """A link as a claim about numbers, where everything in it has a value that the text states."""
    if link.relation not in ("=", "~") or isinstance(link.left, Gap) or isinstance(link.right, Gap):
        return None
    place, said = passage.place, passage.said
    question = place.question(link)
    free = dict.fromkeys((*names(question.left), *names(question.right)))
    if not free or set(free) & set(QUANTITIES):
        return None
    if isinstance(link.left, Name) and is_numeric(link.right):
        told = said.last(link.left.name) or _applied(link.left.name, said, passage.around.dialect.functions)
        if told is None or is_numeric(told.formula):
            return None  # it states a value
    for name, size in passage.around.sizes.items():  # of its own sentence
        if size is not None and ((told := said.last(name)) is None or told.formula != size):
            said = said.stating(Definition(name, size, passage.around.written.place.line, said.path))
    written = dict.fromkeys((*names(link.left), *names(link.right)))
    found = premises((*written, *free), place, said, passage.around.dialect.functions)
    if found is None:
        return None
    put = found.question(link)
    if not (is_numeric(put.left) and is_numeric(put.right)):
        return None
    around = passage.around
    firm = found.sole and is_numeric(link.right) and passage.claim.whole and not isinstance(link.left, Name)
    solved = (around.solved or around.supposed or around.sought) and not passage.chained
    firm = firm and not solved and not is_denied(*around.sentence) and not _by_a_unit(put)
    claim = replace(
        passage.claim, propositions=((Chain((link.left, link.right), (link.relation,)),),), connectives=(), at=()
    )
    context = found.context
    if link.relation == "=" and not is_printed(
        link.right
    ):  # rounded numbers are put in, and the link is as exact as these
        claim = replace(claim, propositions=((Chain((link.left, link.right), ("~",)),),))
        context = replace(context, tolerance=min(context.tolerance, 2 * slack(link)))
    return Reading(claim, context, firm, remarks=tuple(d.in_use for d in found.used))


def by_constraints(link: Compare, passage: Passage) -> Reading | None:
    """A link as an identity under the formulas and constraints that hold here; what is no identity is an equation."""
    if link.relation != "=" or isinstance(link.left, Name | Gap) or isinstance(link.right, Gap):
        return None
    free = {n for side in (link.left, link.right) for n in names(passage.place.put(side))}
    found = premises(free - set(QUANTITIES), passage.place, passage.said, passage.around.dialect.functions, here=True)
    if found is None or is_numeric(link.right):
        return None
    claim = replace(passage.claim, propositions=((Chain((link.left, link.right), ("=",)),),), connectives=(), at=())
    return Reading(claim, found.context, firm=False, remarks=tuple(d.in_use for d in found.used))


def under_premises(plain: Reading, passage: Passage) -> Iterator[Reading]:
    """A claim under what the text states of its names: under the formulas and constraints that hold here; and where everything
    has a value, in numbers."""
    if plain.claim.connectives or plain.claim.at:
        return
    free, functions = passage.free - set(QUANTITIES), passage.around.dialect.functions
    stated = premises(free, passage.context, passage.said, functions, here=True)
    valued = premises(free, passage.context, passage.said, functions)
    numeric = valued is not None and all(
        is_numeric(valued.context.put(side)) for link in plain.claim.links for side in (link.left, link.right)
    )
    for found in (stated, valued if numeric else None):
        if found is not None:
            yield replace(plain, context=found.context, firm=False, remarks=tuple(d.in_use for d in found.used))


def constraint(link: Compare, passage: Passage) -> tuple[str, Formula] | None:
    """A name, and what an equation between names says that it is: that of which it is linear, and that nothing defines.

    Of F_s + F_p = 1 it is F_p = 1 - F_s, of N H = D it is D.
    """
    from symroof.algebra.rational import cancelled
    from symroof.derivation.solving import PLAIN
    from symroof.symbols import expression, symbol

    if link.relation != "=" or isinstance(link.left, Name) or passage.around.solved:
        return None
    plain = Name | Number | Group | Negative
    bare = all(
        isinstance(term, Name | Negative) for term in getattr(link.left, "terms", ())
    )  # 6N + 12LTd = 7.71 is none
    linear = (
        (bare or names(link.right))
        and isinstance(link.left, Sum)
        and all(isinstance(node, plain | Product | Sum) for node in nodes(link.left))
    )
    product = isinstance(link.left, Product) and all(isinstance(part, plain) for part in link.left.factors)
    if not (linear or (product and names(link.right))):  # anything else is a value at some sizes, or is to be solved
        return None
    with suppress(SymroofError):
        known = passage.context.definitions
        if isinstance(link.right, Name) and link.right.name not in known and link.right.name not in names(link.left):
            told = passage.said.last(link.right.name)
            return None if told is not None else (link.right.name, passage.place.put(link.left))
        left, right = (expression(passage.place.put(side)) for side in (link.left, link.right))
        if not (left - right).is_rational_function():
            return None
        for name in reversed(dict.fromkeys(names(link.left))):
            x = symbol(name)
            slope, rest = cancelled((left - right).diff(x)), cancelled((left - right).subs(x, 0))
            if (
                name not in known
                and passage.said.last(name) is None
                and not slope.has(x)
                and slope != 0
                and not slope.is_Add
            ):
                return name, PLAIN.write(cancelled(-rest / slope))
    return None


def of_row(row: Row, dialect: Dialect) -> Iterator[tuple[str, Formula]]:
    """The values that a row of a table states: of the names in its cells, where one number stands beside them; else of
    those at the heads of its columns.

    >>> from symroof.reading.markup import markdown_blocks
    >>> from symroof.reading.scope import Scope
    >>> text = "| | | value |\\n|--|--|--|\\n| hidden size | $d$ | 4096 |\\n| layers (L) | `n_layers` | 32 |\\n"
    >>> [(name, value.digits) for row in markdown_blocks(text)[1] for name, value in of_row(row, Dialect(Scope(open=True)))]
    [('d', '4096'), ('L', '32'), ('"n_layers"', '32')]
    """
    amounts = [read_amount(cell.text) for cell in row.cells]
    found = [amount for amount in amounts if amount is not None]
    if len(found) == 1:
        yield from ((name, found[0]) for cell in row.cells if (name := _name_in(cell, dialect)) is not None)
    elif not found:
        yield from _pairs(row, dialect)
    elif len(found) == len(row.cells) or len(found) == len(row.cells) - 1 > 1:
        pairs = zip(row.heads, amounts, strict=True)
        yield from ((name, a) for head, a in pairs if a is not None and (name := _name_in(head, dialect)) is not None)


def _pairs(row: Row, dialect: Dialect) -> list[tuple[str, Formula]]:
    """Several names in one cell, and as many numbers in another: n_h, n_kv | 32, 4."""
    split = [re.split(r"\s*[,/;]\s*", cell.text) for cell in row.cells]
    amounts = [[read_amount(part) for part in parts] for parts in split if len(parts) > 1]
    named = [
        [_name_in(replace(cell, text=part.strip()), dialect) for part in parts]
        for cell, parts in zip(row.cells, split, strict=True)
        if len(parts) > 1
    ]
    numbers = [each for each in amounts if None not in each]
    letters = [each for each in named if None not in each]
    if len(numbers) == 1 and len(letters) == 1 and len(numbers[0]) == len(letters[0]):
        return [(n, a) for n, a in zip(letters[0], numbers[0], strict=True) if n is not None and a is not None]
    return []


def _name_in(cell: Cell, dialect: Dialect) -> str | None:
    """The name that a cell is, or that stands in it in mathematics or in brackets."""
    match = NAMED.fullmatch(cell.text.partition("=")[0].strip())
    if match is None:
        return None
    written = match["whole"] or match["bracketed"] or (match["last"] if cell.kind == "math" else None)
    if written is None or (match["whole"] and len(written) > 1 and not re.search(r"[_\\]", written)):
        return None
    with suppress(SymroofError):
        formula = read_latex_expression(written, dialect)
        if isinstance(formula, Name):
            return formula.name
    return opaque(written.replace("\\_", "_"))


def _by_a_unit(question: Question) -> bool:
    """Whether the sides differ by the factor of a unit or a prefix, which nobody may have written."""
    with suppress(SymroofError, ZeroDivisionError):
        ratio = enclosed(question.left).middle / enclosed(question.right).middle
        return any(abs(abs(ratio) * by - 1) < CLOSE for unit in UNITS for by in (unit, 1 / unit))
    return True


def noted(chain: Chain, skips: Sequence[Skip | None], passage: Passage) -> Discourse:
    """What has been said once a chain stands there: what its links define, and the sizes that they put in.

    What is approximated may be used in either form later on, so that it defines nothing.
    """
    *letters, value = chain.sides
    said, equal, line = passage.said, set(chain.relations) == {"="}, passage.around.written.place.line
    sizes = {one.name: value for one in letters if isinstance(one, Name) and _is_size(one.name, passage.place)}
    if equal and is_numeric(value) and len(sizes) == len(letters):  # B = 16, or D = F = 4096
        return said.at(sizes, line)
    if set(chain.relations) == {"~"} and len(letters) == 1 and isinstance(letters[0], Name) and is_numeric(value):
        return said.stating(Definition(letters[0].name, value, line, said.path))
    for link, skip in zip(chain.links, skips, strict=True):
        if skip is not None and skip.reason.kind in ("equation", "other_letters"):
            if len(chain.relations) == 1 and (told := constraint(link, replace(passage, said=said))) is not None:
                said = said.stating(Definition(*told, line, said.path))
            continue
        if skip is None or not isinstance(link.left, Name) or link.relation != "=":
            continue
        if skip.reason.kind in ("words", "unreadable"):  # what it stands for is not known any more
            said = said.forgetting([link.left.name])
        elif skip.defines and set(chain.relations) <= {"=", "~"} and is_numeric(value) and len(chain.relations) > 1:
            said = said.forgetting([skip.defines])
            said = said.stating(Definition(skip.defines, value, line, said.path))
        elif skip.defines and not equal:
            said = said.forgetting([skip.defines])
        elif skip.defines or (equal and skip.reason.kind == "size" and not is_numeric(link.right)):
            right = value if isinstance(link.right, Name) else link.right  # B = D = F
            comes_to = value if is_numeric(value) and value is not right else None
            said = _defining(link.left.name, right, replace(passage, said=said), comes_to)
    return said


def _valued(told: Definition, value: Formula, passage: Passage) -> Discourse:
    """A number for a name that has a formula is its value somewhere. Where it is another one than the text makes of the
    formula, the two contradict each other, and neither is used any more."""
    said = passage.said
    for name, size in passage.around.sizes.items():
        if size is not None:
            said = said.stating(Definition(name, size, told.line, said.path))
    place = replace(passage.place, definitions={n: f for n, f in passage.place.definitions.items() if n != told.name})
    found = premises(names(told.formula), place, said)
    made = told.formula if found is None else found.context.put(told.formula)
    if not is_numeric(made):
        return passage.said.defining(replace(told, value=value))
    agree = (
        compared(made, value) == 0 or abs(enclosed(value).middle / enclosed(made).middle - 1) < passage.place.tolerance
    )
    return passage.said if agree else passage.said.forgetting([told.name])


def _is_size(name: str, place: Context) -> bool:
    """Whether a number that is set equal to a name is a size: of a dimension, or of a letter that nothing else explains."""
    return name in place.least_one or (len(name) == 1 and name not in place.definitions and name not in QUANTITIES)


def _defining(name: str, right: Formula, passage: Passage, comes_to: Formula | None) -> Discourse:
    """A name stands for a formula from here on, where no problem says what it is and the sizes leave it open."""
    said, around, place = passage.said, passage.around, passage.place
    own = said.in_force()
    if name in names(right) or name in around.given:
        return said
    formulas = {n: f for n, f in place.definitions.items() if n not in said.stated or not is_numeric(f)}
    meaning = replace(place, definitions=formulas).put(
        right
    )  # a name that has a number keeps its name: it may get another
    if name in names(meaning):
        return said
    if name in own and is_numeric(meaning) and not is_numeric(own[name].formula):
        return _valued(own[name], meaning, passage)
    within = () if around.written.display else said.place if around.supposed else said.place[:1]
    line, size = around.written.place.line, name in place.least_one
    return said.defining(Definition(name, meaning, line, said.path, within, size, comes_to))
