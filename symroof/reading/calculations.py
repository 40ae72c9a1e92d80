"""Calculations as people type them in prose, in blocks of text and in code: ``8.03e9 * 2 bytes = 16.06 GB``.

A calculation is a chain of sides with an operator or a change of unit in it. Numbers have their units, powers of ten in
letters and words (``8B``, ``4 million``), what they count (``32 layers``) and remarks in brackets (``2 (K and V)``) behind
them. It is *whole* where nothing around it can be a part of it, and nothing in it is of an unknown kind: only then is it
meant as it stands. One that is not whole may be right, and is never wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from symroof.formula import Frozen
from symroof.reading.claims import Claim, ClaimReader
from symroof.reading.name_scope import Scope
from symroof.reading.prose_parts import CALCULATIONS, Part, parts_of
from symroof.reading.scanner import Token, joined_powers, require_short

JOINING = frozenset(CALCULATIONS["joining"])
CALCULATING = frozenset(CALCULATIONS["calculating"])
UNCLEAR = frozenset(CALCULATIONS["unclear"])

# Behind a calculation, in its sentence: it is said to be wrong.
REFUTED = re.compile(rf"`?(?:[^.;!?。；]|\.(?=\d)){{0,60}}?(?:{'|'.join(CALCULATIONS['refuted'])})", re.IGNORECASE)
OPERANDS = ("number", "name")
# Before a calculation: what may be a part of it.
BEFORE = re.compile(r"[\w.,$€£#@&\\^]\Z|\d[ \t]\Z|[√∛∜∑∏∫±∓×÷⋅∙][ \t]*\Z|\\[A-Za-z]+[ \t]*\Z")
# What is no part of a calculation at the beginning of a line: quotations, lists, headings.
LINE_MARKS = re.compile(r"^[ \t]*(?:(?:>[ \t]?)+[ \t]*)?(?:(?:[-*+]|\d{1,3}[.)]|\#{1,6})[ \t]+)?", re.MULTILINE)


class Calculation(Frozen):
    """Where a calculation stands in a text, and whether it is whole."""

    start: int
    end: int
    whole: bool


def read_calculation(text: str, scope: Scope) -> Claim:
    """The claim of a calculation.

    >>> from symroof.rendering.formulas.plain import PlainPrinter
    >>> claim = read_calculation("Total = 2 (K and V) x 32 layers * 2 bytes = 128 bytes", Scope(open=True))
    >>> [PlainPrinter().print(side) for side in claim.chains[0].sides]
    ['"Total"', '2*32 layers*2 bytes', '128 bytes']
    """
    return _CalculationReader(text, scope).claim()


class _CalculationReader(ClaimReader):
    def scanned(self) -> Sequence[Token]:
        require_short(self.source)
        names = frozenset(self.scope.names)
        tokens = [token for part in parts_of(self.source, names) for token in part.tokens]
        end = len(self.source)
        return (*joined_powers(tokens, self.source), Token("end", "", end, end, False))


def calculations(text: str, *, names: bool = False) -> Iterator[Calculation]:
    """The calculations of a text. With ``names`` words are sides of their own, as in code and blocks of text; otherwise
    those alone that look like names.

    >>> text = "So we need 8.03e9 * 2 = 16.06 GB, half of 4 + 4 = 8, and p < 0.05."
    >>> [(text[c.start : c.end], c.whole) for c in calculations(text)]
    [('8.03e9 * 2 = 16.06 GB', True), ('4 + 4 = 8', False), ('p < 0.05', False)]
    """
    marked = LINE_MARKS.sub(lambda match: "\0" * len(match.group()), text)
    parts = list(parts_of(marked, names=names))
    for run in _runs(parts):
        for chain in _chains(run):
            calculation = _calculation(chain, parts, text)
            if calculation is not None:
                yield calculation


def _runs(parts: Sequence[Part]) -> Iterator[list[Part]]:
    """The longest stretches in which a calculation may stand; what stands in brackets of its own is one of its own."""
    stack: list[list[Part]] = [[]]
    for part in parts:
        if part.kind == "other":
            yield from stack
            stack = [[]]
        elif part.text in ("(", "["):
            stack.append([part])
        elif part.text in (")", "]"):
            inner = stack.pop()
            if not stack:
                yield inner
                stack = [[]]
            elif any(token.kind == "relation" for token in inner):
                yield inner[1:]
                yield stack.pop()
                stack.append([])
            else:
                stack[-1] += [*inner, part]
        else:
            stack[-1].append(part)
    yield from stack


def _sides(parts: Sequence[Part]) -> tuple[list[list[Part]], list[Part]]:
    """The sides of a chain, and the relations between them."""
    relations = [part for part in parts if part.kind == "relation"]
    ends = [at for at, part in enumerate(parts) if part.kind == "relation"]
    return [list(parts[a + 1 : b]) for a, b in pairwise((-1, *ends, len(parts)))], relations


def _chains(run: list[Part]) -> Iterator[list[Part]]:
    """The chains of a run: sides that are complete, and relations between them."""
    sides, relations = _sides([part for part in run if part.kind != "about"])
    chain: list[Part] = []
    for place, side in enumerate(sides):
        first, last = not place, place == len(sides) - 1
        breaks = [i for i, (a, b) in enumerate(pairwise(side), 1) if _apart(a, b)]
        if len(breaks) == 1 and not first and not last:  # one chain ends, and the next one begins
            ending, beginning = _complete(side[: breaks[0]], False, False), _complete(side[breaks[0] :], False, False)
            if chain and ending is not None:
                yield [*chain, relations[place - 1], *ending]
            chain = beginning or []
            continue
        complete = _complete(side, first, last)
        if complete is None:
            yield chain
            chain = []
            continue
        chain = [*chain, *([relations[place - 1]] if chain else []), *complete]
        if complete[-1] is not side[-1]:
            yield chain
            chain = []
    yield chain


def _complete(side: list[Part], first: bool, last: bool) -> list[Part] | None:
    """A side that is an expression: the first may begin behind other words, the last may end before some."""
    breaks = [i for i, (a, b) in enumerate(pairwise(side), 1) if _apart(a, b)]
    start = breaks[-1] if breaks and first else 0
    end = breaks[0] if breaks and last else len(side)
    parts = side[start:end]
    if any(start < i < end for i in breaks) or not parts:
        return None
    closing = (")", "]")
    if parts[0].kind not in OPERANDS and parts[0].text not in ("(", "[", "-") and not (first and parts[0].text == "+"):
        return None
    if parts[-1].kind not in OPERANDS and parts[-1].text not in closing and parts[-1].unit != "raised":
        return None
    expected = True
    for part in parts:
        if part.kind in OPERANDS:
            expected = False
        elif part.kind == "operator" and part.unit != "raised":
            if expected and part.text != "-":
                return None
            expected = True
    return None if expected else parts


def _apart(a: Part, b: Part) -> bool:
    """Whether an expression cannot go on from one part to the next."""
    opens, closes = ("(", "["), (")", "]")
    if a.kind in OPERANDS and b.kind in OPERANDS:
        return True
    if (a.kind in OPERANDS or a.text in closes) and b.text in opens:
        return b.spaced or a.kind == "name"
    return a.text in closes and b.kind in OPERANDS


def _calculation(chain: list[Part], parts: Sequence[Part], text: str) -> Calculation | None:
    """A chain as a calculation: it has an operator or a change of unit; orders between two numbers are none."""
    sides, relations = _sides(chain)
    operated = [any(part.kind == "operator" for part in side) for side in sides]
    units = [side[0].unit if len(side) == 1 and side[0].kind == "number" else "" for side in sides]
    calculates = any(operated) or any(a and b and a != b for a, b in pairwise(units))
    kinds, equal = {part.kind for part in chain}, any(relation.text in ("=", "~") for relation in relations)
    if not {"number", "relation"} <= kinds or not (calculates or "name" in kinds or not equal):
        return None
    last = chain[-1]  # without the words behind its number and unit, which go on with the sentence
    start, end = chain[0].start, last.measured_end or last.end
    whole = calculates and equal and all(part.known for part in chain) and _alone(chain, parts, text)
    return Calculation(start, end, whole)


def _alone(chain: list[Part], parts: Sequence[Part], text: str) -> bool:
    """Whether nothing around a chain can be a part of it."""
    first = next(i for i, part in enumerate(parts) if part is chain[0])
    before, behind = text[: chain[0].start], text[chain[-1].end :]
    if BEFORE.search(before) or re.match(r"[,.]\d|[\w^\\$]|\s*[-+*/×·^]\s*[\w(]", behind) or _has_bar(before, behind):
        return False
    if _has_words(chain):
        return False
    words = [part.text.casefold() for part in parts[max(0, first - 2) : first]]
    joined = first > 1 and parts[first - 2].kind == "number"
    if words and (words[-1] in CALCULATING or (joined and words[-1] in JOINING)):
        return False
    nearby = re.findall(r"[^\W\d_]+", re.split(r"[.;:!?。；]", before)[-1].casefold())
    if UNCLEAR.intersection(nearby[-4:]):
        return False
    after = re.match(r"\s*([^\W\d_]+)(?:\s+(\S+))?", behind)
    if after and (after[1].casefold() in CALCULATING or (after[1] in ("or", "to") and (after[2] or "")[:1].isdigit())):
        return False
    if REFUTED.match(behind):
        return False
    hyphens = (part for part in chain if part.text == "-" and part.kind == "operator" and not part.spaced)
    return not any(text[at - 1 : at].isdigit() and text[at + 1 : at + 2].isdigit() for at in (p.start for p in hyphens))


def _has_bar(before: str, behind: str) -> bool:
    """Whether a bar stands in the line of a chain that is no border of a cell."""
    line = before.rpartition("\n")[2] + behind.partition("\n")[0]
    return "|" in line and not line.lstrip(" \t>").startswith("|")


def _has_words(chain: list[Part]) -> bool:
    """Whether words that are no unit stand between the one number of the first side and the relation: 1 min work = 60 s."""
    number, relation = chain[:2]
    return number.kind == "number" and relation.kind == "relation" and number.end > number.measured_end
