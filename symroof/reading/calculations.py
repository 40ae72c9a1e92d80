"""Calculations as people type them in prose, in blocks of text and in code: ``8.03e9 * 2 bytes = 16.06 GB``.

A calculation is a chain of sides with an operator or a change of unit in it. Numbers have their units, powers of ten in
letters and words (``8B``, ``4 million``), what they count (``32 layers``) and remarks in brackets (``2 (K and V)``) behind
them. It is *whole* where nothing around it can be a part of it, and nothing in it is of an unknown kind: only then is it
meant as it stands. One that is not whole may be right, and is never wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import pairwise

from symroof.errors import ReadingError
from symroof.formula import Formula, Frozen
from symroof.model.quantities import UNITS as UNIT_TABLE
from symroof.reading.claims import RELATIONS, Claim, ClaimReader
from symroof.reading.cues import CUES
from symroof.reading.numbers import COUNT_SCALES, unit_named
from symroof.reading.scanner import PLAIN, SUPERSCRIPTS, THOUSANDS, Token, joined_powers, require_short
from symroof.reading.scope import Scope, opaque
from symroof.reading.vocabulary import SYNONYMS

CALCULATIONS = CUES["calculations"]
POWERS = {word: int(power) for power, words in CUES["powers"].items() for word in words}
ABOUT = frozenset(CALCULATIONS["about"])
ENDING = frozenset(CALCULATIONS["ending"])
JOINING = frozenset(CALCULATIONS["joining"])
CALCULATING = frozenset(CALCULATIONS["calculating"])
UNITS: dict[str, str] = CALCULATIONS["units"]
PARTICLES = frozenset(CALCULATIONS["particles"])
# Powers of ten in words of Chinese and Korean, longest first, as the beginning of a word.
SCALED = re.compile("|".join(sorted((word for word in POWERS if not word.isascii()), key=len, reverse=True)))
UNCLEAR = frozenset(CALCULATIONS["unclear"])
SIGNS = {
    **SYNONYMS,
    "≃": "~",
    "≅": "~",
    "∼": "~",
    "~=": "~",
    "=~": "~",
    "÷": "/",
    "−": "-",
    "–": "-",
    "‑": "-",
    "×": "*",
    "*": "*",
}
LONGEST_NOUN = 3
# The longest stretch of a text that is looked at as one.
LONGEST = 4000

TOKEN = re.compile(
    rf"""
    (?P<space>    \s+                                                                     )
  | (?P<number>   (?: {THOUSANDS} | \d+(?:_\d{{3}})*(?:\.\d+)? | \.\d+ )(?:[eE][+-]?\d+)?  )
  | (?P<raised>   [{SUPERSCRIPTS}]+                                                       )
  | (?P<relation> <=>|=>|->|<=|>=|==|~=|=~|=|≈|≃|≅|∼|~|≤|≥|→|⇒|<|>                         )
  | (?P<operator> \*\*|[-+*/^×·•÷−–]                                                       )
  | (?P<word>     [A-Za-zµμ](?:[A-Za-z0-9_]*[A-Za-z0-9])? | [가-힣]+ | [一-鿿]+ | %          )
  | (?P<bracket>  [(\[)\]]                                                                 )
  | (?P<other>    .                                                                        )
    """,
    re.VERBOSE | re.DOTALL,
)
OPERANDS = ("number", "name")
# What is no part of a calculation at the beginning of a line: quotations, lists, headings.
LINE_MARKS = re.compile(r"^[ \t]*(?:(?:>[ \t]?)+[ \t]*)?(?:(?:[-*+]|\d{1,3}[.)]|\#{1,6})[ \t]+)?", re.MULTILINE)


class Calculation(Frozen):
    """Where a calculation stands in a text, and whether it is whole."""

    start: int
    end: int
    whole: bool


class Part(Frozen):
    """A token of prose: a number with what stands behind it, a name, an operator, a relation, a bracket, or anything else.

    ``tokens`` are those of the grammar; ``known`` tells whether what stands behind a number is of a known kind.
    """

    kind: str
    text: str
    start: int
    end: int
    spaced: bool
    tokens: tuple[Token, ...] = ()
    unit: str = ""
    known: bool = True


def read_calculation(text: str, scope: Scope) -> Claim:
    """The claim of a calculation.

    >>> from symroof.rendering.formulas.plain import PlainPrinter
    >>> claim = read_calculation("Total = 2 (K and V) x 32 layers * 2 bytes = 128 bytes", Scope(open=True))
    >>> [PlainPrinter().print(side) for side in claim.chains[0].sides]
    ['"Total"', '2*32 layers*2 bytes', '128 bytes']
    """
    return _CalculationReader(text, scope).claim()


def read_amount(text: str) -> Formula | None:
    """The number that a text is, with its unit and what it counts; None where it is none.

    >>> [amount and amount.digits for amount in map(read_amount, ("8.03B", "4,096 tokens", "32 x 2", "n/a"))]
    ['8.03B', '4096 tokens', None, None]
    """
    parts = list(parts_of(text))
    if [part.kind for part in parts] != ["number"]:
        return None
    with suppress(ReadingError):
        return _CalculationReader(text, Scope(letters=frozenset())).alone()
    return None


class _CalculationReader(ClaimReader):
    def scanned(self) -> Sequence[Token]:
        require_short(self.source)
        known = frozenset(self.scope.names)
        tokens = [token for part in parts_of(self.source, known) for token in part.tokens]
        end = len(self.source)
        return (*joined_powers(tokens, self.source), Token("end", "", end, end, False))


def calculations(text: str, *, names: bool = False, known: frozenset[str] = frozenset()) -> Iterator[Calculation]:
    """The calculations of a text. With ``names`` words are sides of their own, as in code and blocks of text; otherwise
    those alone that are ``known``, or look like names.

    >>> text = "So we need 8.03e9 * 2 = 16.06 GB, half of 4 + 4 = 8, and p < 0.05."
    >>> [(text[c.start : c.end], c.whole) for c in calculations(text)]
    [('8.03e9 * 2 = 16.06 GB', True), ('4 + 4 = 8', False), ('p < 0.05', False)]
    """
    marked = LINE_MARKS.sub(lambda match: "\0" * len(match.group()), text)
    parts = list(parts_of(marked, known, names))
    for run in _runs(parts):
        for chain in _chains(run):
            found = _calculation(chain, parts, text)
            if found is not None:
                yield found


def parts_of(text: str, known: frozenset[str] = frozenset(), names: bool = True) -> Iterator[Part]:
    """The parts of a text, each number with what stands behind it."""
    tokens = list(_raw(text))
    at, spaced = 0, False
    while at < len(tokens):
        token = tokens[at]
        if token.kind == "space":
            at, spaced = at + 1, True
            continue
        if token.kind == "number" and not _attached(tokens, at):
            part, at = _number(tokens, at, spaced)
        else:
            part, at = _other(tokens, at, spaced, known, names), at + 1
        yield part
        spaced = False


class _Raw(Frozen):
    kind: str
    text: str
    start: int
    end: int


def _raw(text: str) -> Iterator[_Raw]:
    """The tokens of a text; of a word behind a number that begins with a power of ten, that is one of its own: 亿字节."""
    numbered = False
    for match in TOKEN.finditer(text):
        kind, word, (start, end) = str(match.lastgroup), match.group(), match.span()
        if kind == "word" and numbered and not word.isascii():
            power = SCALED.match(word)
            first = power.end() if power and word[power.end() :] not in PARTICLES - {"당"} else len(word)
            unit = next(
                (n for n in range(len(word) - first, 0, -1) if _is_unit(word[first : first + n], word[first + n :])), 0
            )
            if not power:
                first = next((n for n in range(len(word), 0, -1) if _is_unit(word[:n], word[n:])), len(word))
                unit = 0
            cuts = sorted({0, first, first + unit, len(word)})
            yield from (_Raw(kind, word[a:b], start + a, start + b) for a, b in pairwise(cuts))
        else:
            yield _Raw(kind, word, start, end)
        numbered = kind == "number" or (kind == "space" and numbered and "\n" not in word)


def _is_unit(word: str, rest: str) -> bool:
    """Whether a word of Chinese or Korean is a unit, with nothing behind it but what hangs on words."""
    return unit_named(word) is not None and (not rest or rest in PARTICLES)


def _attached(tokens: Sequence[_Raw], at: int) -> bool:
    """Whether a number is a part of a word before it: a version, a date, an amount of money."""
    before = tokens[at - 1] if at else None
    return (
        before is not None and before.kind in ("word", "other", "number") and before.text not in "(,;:|\0。，；：、（"
    )


def _behind(tokens: Sequence[_Raw], at: int) -> tuple[_Raw | None, bool]:
    """The next token that is no space, and whether there is one before it."""
    spaced = at < len(tokens) and tokens[at].kind == "space"
    at += spaced
    return (tokens[at] if at < len(tokens) else None), spaced


def _number(tokens: Sequence[_Raw], at: int, spaced: bool) -> tuple[Part, int]:
    """A number with its power of ten, its unit, what it counts and what is remarked on it; and the place behind."""
    first = tokens[at]
    digits, end, known, unit = first.text.replace(",", "").replace("_", ""), first.end, True, ""
    found: list[Token] = []
    at += 1
    word, gap = _behind(tokens, at)
    if (
        word is not None
        and word.kind == "word"
        and not gap
        and word.text in COUNT_SCALES
        and not _slash(tokens, at + 1)
    ):
        found.append(Token("unit", word.text, word.start, word.end, False))
        at, end = at + 1, word.end
        word, gap = _behind(tokens, at)
    elif word is not None and word.kind == "word" and (power := POWERS.get(word.text.casefold())) is not None:
        if "e" not in digits.lower():
            digits, at, end = f"{digits}e{power}", at + gap + 1, word.end
            word, gap = _behind(tokens, at)
    elif word is not None and gap and word.text in COUNT_SCALES and _counts(tokens, at + 2):
        found.append(Token("unit", word.text, word.start, word.end, True))
        at, end = at + 2, word.end
        word, gap = _behind(tokens, at)
    if word is not None and word.kind == "word" and (named := _unit(tokens, at + gap)) is not None:
        unit, at = named
        end = tokens[at - 1].end
        found.append(Token("unit", unit, word.start, end, gap))
    at, end, nouns = _nouns(tokens, at, end, bool(unit))
    known = nouns
    at, end = _remark(tokens, at, end)
    number = Token("number", digits, first.start, first.end, spaced)
    text = "".join(t.text for t in (number, *found))
    return Part("number", text, first.start, end, spaced, (number, *found), unit, known), at


def _slash(tokens: Sequence[_Raw], at: int) -> bool:
    return at < len(tokens) and tokens[at].text == "/" and at + 1 < len(tokens) and tokens[at + 1].kind == "word"


def _counts(tokens: Sequence[_Raw], at: int) -> bool:
    """Whether a word stands here that may say what is counted."""
    word, _ = _behind(tokens, at)
    return word is not None and word.kind == "word" and word.text.islower() and word.text not in ENDING


def _unit(tokens: Sequence[_Raw], at: int) -> tuple[str, int] | None:
    """The unit that begins here, and the place behind it: GB, GB/s, tokens per second."""
    word = tokens[at].text
    if word == "%":
        return "%", at + 1
    texts = [token.text for token in tokens[at : at + 5]]
    if texts[1:2] == ["/"] and len(texts) > 2 and (unit := unit_named(f"{word}/{texts[2]}")) is not None:
        return unit, at + 3
    if texts[1:4] == [" ", "/", " "] and tokens[at + 4 : at + 5] and tokens[at + 4].kind == "word":  # bytes / token
        unit = unit_named(f"{word}/{texts[4]}")
        if unit is not None and UNIT_TABLE[unit.partition("/")[2]].base == "1":
            return unit, at + 5
    if texts[1:2] == [" "] and texts[2:4] == ["per", " "] and (unit := unit_named(f"{word}/{texts[4]}")) is not None:
        return unit, at + 5
    named = UNITS.get(word) or unit_named(word)
    if word == "B" and at and tokens[at - 1].kind == "space":
        behind, _ = _behind(tokens, at + 1)
        named = "bytes" if behind is not None and behind.kind in ("operator", "relation") else None
    return None if named is None else (named, at + 1)


def _nouns(tokens: Sequence[_Raw], at: int, end: int, measured: bool) -> tuple[int, int, bool]:
    """The place behind the words that say what is counted, and whether they are words of the language. Behind a unit they
    belong to the calculation only where it goes on behind them."""
    place, known, count, last = at, True, 0, end
    while count < LONGEST_NOUN:
        word, gap = _behind(tokens, place)
        slash = bool(count or measured) and word is not None and word.text == "/" and not gap and _slash(tokens, place)
        if slash:
            place += 1
            word, gap = _behind(tokens, place)
        if word is None or word.kind != "word" or word.text in ENDING or word.text.casefold() in POWERS:
            break
        if word.text in ("x", "X"):
            behind, _ = _behind(tokens, place + gap + 1)
            if behind is not None and (behind.kind in ("number", "bracket") or (gap and behind.kind == "word")):
                break
            if not gap:  # 5.2x for free
                return place + 1, word.end, known
        elif not (word.text.islower() and len(word.text) > 1) and word.text[0].isascii():
            known = False
        place, last, count = place + gap + 1, word.end, count + 1
    return place, last, known


def _remark(tokens: Sequence[_Raw], at: int, end: int) -> tuple[int, int]:
    """The place behind a remark in brackets, in which nothing is calculated."""
    bracket, gap = _behind(tokens, at)
    if bracket is None or bracket.text != "(":
        return at, end
    inside = at + gap + 1
    for place in range(inside, min(inside + 16, len(tokens))):
        token = tokens[place]
        if token.text == ")":
            return (place + 1, token.end) if place > inside else (at, end)
        if token.kind in ("number", "relation", "raised") or (token.kind == "operator" and token.text not in "/-"):
            break
    return at, end


def _other(tokens: Sequence[_Raw], at: int, spaced: bool, known: frozenset[str], names: bool) -> Part:
    token = tokens[at]
    kind, text, start, end = token.kind, token.text, token.start, token.end
    sign = SIGNS.get(text, text)
    if kind == "word":
        before = tokens[at - 1].kind if at else ""
        times = text in ("x", "X") and before in ("space", "number") and _behind(tokens, at + 1)[0] is not None
        if (
            times
            and (behind := _behind(tokens, at + 1)[0]) is not None
            and behind.kind in ("number", "word", "bracket")
        ):
            return Part("operator", "*", start, end, spaced, (Token("symbol", "*", start, end, spaced),))
        if text in ABOUT:
            return Part("about", text, start, end, spaced)
        if text in known:
            return Part("name", text, start, end, spaced, (Token("word", text, start, end, spaced),))
        looks = "_" in text or (len(text) == 1 and text.isascii() and text not in "aAI")
        if names or looks:
            name = text if len(text) == 1 or (text[1] == "_" and "_" not in text[2:]) else opaque(text)
            return Part("name", text, start, end, spaced, (Token("word", name, start, end, spaced),))
        return Part("other", text, start, end, spaced)
    if kind == "relation":
        if sign == "~" and not spaced and at and tokens[at - 1].kind in ("space", "relation") and _touches(tokens, at):
            return Part("about", text, start, end, spaced)
        sign = "=" if sign == "==" else sign
        relation = sign if sign in RELATIONS else None
        if relation is None:
            return Part("other", text, start, end, spaced)
        return Part("relation", relation, start, end, spaced, (Token("symbol", relation, start, end, spaced),))
    if kind == "operator":
        hyphen = text in "-–" and not spaced and at + 1 < len(tokens) and tokens[at + 1].kind == "word"
        if hyphen:
            return Part("other", text, start, end, spaced)
        return Part("operator", sign, start, end, spaced, (Token("symbol", sign, start, end, spaced),))
    if kind == "raised":
        plain = text.translate(PLAIN)
        minus = (Token("symbol", "-", start, start + 1, False),) if plain[0] == "-" else ()
        power = Token("number", plain.lstrip("+-"), start, end, False)
        return Part(
            "operator", "^", start, end, spaced, (Token("symbol", "^", start, start, False), *minus, power), "raised"
        )
    if kind == "bracket":
        return Part("bracket", text, start, end, spaced, (Token("symbol", text, start, end, spaced),))
    return Part("other", text, start, end, spaced)


def _touches(tokens: Sequence[_Raw], at: int) -> bool:
    return at + 1 < len(tokens) and tokens[at + 1].kind == "number"


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
            elif any(one.kind == "relation" for one in inner):
                yield inner[1:]
                yield stack.pop()
                stack.append([])
            else:
                stack[-1] += [*inner, part]
        else:
            stack[-1].append(part)
    yield from stack


def _chains(run: list[Part]) -> Iterator[list[Part]]:
    """The chains of a run: sides that are complete, and relations between them."""
    sides: list[list[Part]] = [[]]
    relations: list[Part] = []
    for part in run:
        if part.kind == "relation":
            relations.append(part)
            sides.append([])
        else:
            sides[-1].append(part)
    chain: list[Part] = []
    for place, side in enumerate(sides):
        side = [part for part in side if part.kind != "about"]
        first, last = not place, place == len(sides) - 1
        breaks = [i for i, (a, b) in enumerate(pairwise(side), 1) if _apart(a, b)]
        if len(breaks) == 1 and not first and not last:  # one chain ends, and the next one begins
            ending, beginning = _complete(side[: breaks[0]], False, False), _complete(side[breaks[0] :], False, False)
            if chain and ending is not None:
                yield [*chain, relations[place - 1], *ending]
            chain = beginning or []
            continue
        kept = _complete(side, first, last)
        if kept is None:
            if sum(part.kind == "relation" for part in chain):
                yield chain
            chain = []
            continue
        if chain and kept is not side and first is False and kept[0] is not side[0]:
            yield chain
            chain = []
        joined = [relations[place - 1]] if chain and place else []
        chain = [*chain, *joined, *kept]
        if kept[-1] is not side[-1]:
            yield chain
            chain = []
    if any(part.kind == "relation" for part in chain):
        yield chain


def _complete(side: list[Part], first: bool, last: bool) -> list[Part] | None:
    """A side that is an expression: the first may begin behind other words, the last may end before some."""
    breaks = [i for i, (a, b) in enumerate(pairwise(side), 1) if _apart(a, b)]
    start = breaks[-1] if breaks and first else 0
    end = breaks[0] if breaks and last else len(side)
    kept = side[start:end]
    if any(start < i < end for i in breaks) or not kept:
        return None
    closing = (")", "]")
    if kept[0].kind not in OPERANDS and kept[0].text not in ("(", "[", "-") and not (first and kept[0].text == "+"):
        return None
    if kept[-1].kind not in OPERANDS and kept[-1].text not in closing and kept[-1].unit != "raised":
        return None
    expected = True
    for part in kept:
        if part.kind in OPERANDS:
            expected = False
        elif part.kind == "operator" and part.unit != "raised":
            if expected and part.text != "-":
                return None
            expected = True
    return None if expected else kept


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
    sides: list[list[Part]] = [[]]
    relations: list[str] = []
    for part in chain:
        if part.kind == "relation":
            relations.append(part.text)
            sides.append([])
        else:
            sides[-1].append(part)
    if not relations:
        return None
    operated = [any(part.kind == "operator" for part in side) for side in sides]
    plain = [len(side) == 1 and side[0].kind == "number" for side in sides]
    units = [side[-1].unit if side[-1].kind == "number" else "" for side in sides]
    numbers = any(part.kind == "number" for part in chain)
    links = [
        operated[i]
        or operated[i + 1]
        or (plain[i] and plain[i + 1] and units[i] and units[i + 1] and units[i] != units[i + 1])
        for i in range(len(relations))
    ]
    named = any(part.kind == "name" for part in chain)
    equal = any(one in ("=", "~") for one in relations)
    if not numbers or not (any(links) or named or not equal):
        return None
    start, end = chain[0].start, chain[-1].end
    whole = any(links) and equal and all(part.known for part in chain) and _alone(chain, parts, text)
    return Calculation(start, end, whole)


def _alone(chain: list[Part], parts: Sequence[Part], text: str) -> bool:
    """Whether nothing around a chain can be a part of it."""
    first = next(i for i, part in enumerate(parts) if part is chain[0])
    before, behind = text[: chain[0].start], text[chain[-1].end :]
    if re.search(r"[\w.,$€£#@&\\^]\Z|\d[ \t]\Z", before) or re.match(r"[,.]\d|[\w^\\$]|\s*[-+*/×·^]\s*[\w(]", behind):
        return False
    words = [part.text.casefold() for part in parts[max(0, first - 2) : first]]
    if words and words[-1] in CALCULATING:
        return False
    if words and words[-1] in JOINING and first > 1 and parts[first - 2].kind == "number":
        return False
    nearby = re.findall(r"[^\W\d_]+", re.split(r"[.;:!?。；]", before)[-1].casefold())
    if UNCLEAR.intersection(nearby[-4:]):
        return False
    after = re.match(r"\s*([^\W\d_]+)(?:\s+(\S+))?", behind)
    if after and (after[1].casefold() in CALCULATING or (after[1] in ("or", "to") and (after[2] or "")[:1].isdigit())):
        return False
    hyphens = (part for part in chain if part.text == "-" and part.kind == "operator" and not part.spaced)
    if any(text[part.end : part.end + 1].isdigit() and text[part.start - 1 : part.start].isdigit() for part in hyphens):
        return False
    billions = any(token.kind == "unit" and token.text == "B" for part in chain for token in part.tokens)
    return not (billions and any(part.unit == "bytes" and len(part.tokens[0].text) < 6 for part in chain))
