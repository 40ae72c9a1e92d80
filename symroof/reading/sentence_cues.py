"""What words between and around formulas say: that one restates or follows from another, which sizes are small.

The phrases stand in ``cues.toml``, beside this file. A phrase is found as it stands, without regard to case, between
words that it is not part of; nothing is understood beyond the phrases.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from symroof.formula import Frozen
from symroof.model.quantities import UNITS
from symroof.reading.toml import shipped_table
from symroof.reading.vocabulary import named

CUES: Mapping[str, Any] = shipped_table("reading/cues.toml")
# How much may stand between two displays that one word joins.
LONGEST_GAP = 160

# What a formula that states a regime has in it, and what stands between two such formulas that hold together.
GROWTH = re.compile(r"\\ll\b|\\gg\b|<<|>>|≪|≫|\\infty|∞")
TOGETHER = re.compile(r"\s*(?:[,，、]\s*(?:and\b)?|and\b|且|和|이고|와|과)\s*")


def _any_of(phrases: Iterable[str]) -> str:
    """The pattern of one of some phrases, the longest first."""
    return "|".join(sorted(map(re.escape, phrases), key=len, reverse=True))


NAME = r"(?:[A-Za-z](?:_\{?[A-Za-z0-9]+\}?)?|\\(?!ll|gg|le|ge|to)[a-z]{2,7})"
SAID = "|".join(re.escape(one) for phrases in CUES["bounds"].values() for one in phrases)
BOUND_WORDS = ("critical batch", *(said.casefold() for phrases in CUES["bounds"].values() for said in phrases))
SIGNS = {"same": "<=>", "suffices": "=>", "needed": "<="}
THRESHOLD = re.compile(
    r"(?:.*?(?<![\w$]))?(?:"
    + "|".join(f"(?P<{kind}>{_any_of(CUES['thresholds'][sign])})" for kind, sign in SIGNS.items())
    + r")\s*\Z",
    re.IGNORECASE | re.DOTALL,
)
WORD_BEGINS = r"(?:\b|(?<=[^\x00-\u02ff]))"
EDGES_BEHIND = _any_of(one.removeprefix("{x}") for edges in CUES["edges"].values() for one in edges if one[0] == "{")
# A condition, and behind it what the operation is bound by there.
BOUND_THEN = re.compile(
    rf"\s*(?P<if>(?:{EDGES_BEHIND})?(?:이면|에서는?|일\s*때|时)?(?:即为|则)?)(?:(?:on|onwards?|upwards?)\b)?"
    rf"(?P<enough>\s*(?:suffices|is (?:\w+ than |{_any_of(CUES['certainly'])} )?(?:enough|sufficient)))?"
    rf"(?P<needed>\s*is (?:needed|required|necessary)\b)?[\s,，]*(?:then\s+)?(?P<between>(?:(?:\w+|'s)\s+){{0,4}}?)(?P<said>{SAID})",
    re.IGNORECASE,
)
NEEDING = re.compile(
    rf"(?P<before>.*\bto be (?P<said>{SAID})\b[^.;:]*\b(?P<only>needs?|must have|requires?))\s*\Z",
    re.IGNORECASE | re.DOTALL,
)
# What it is bound by, and behind it when, or the condition in other words: the intensity exceeds the ridge, that is, …
BOUND_WHEN = re.compile(
    rf"(?:(?!(?s:.*)\bat\s*\Z)|(?=(?s:.*)\b(?:become|turn|get)s?\s+(?:{SAID})\s+at\s*\Z))(?P<before>[^.;:]*)"
    rf"(?:{WORD_BEGINS}(?P<said>{SAID})(?:\s+(?:(?P<only>only )|exactly |precisely )?(?:{_any_of(CUES['thresholds']['<=>'])}"
    rf"|(?P<if>if|for|at|as long as))|[\s,，]*(?:{_any_of(CUES['steps']['<=>'])})[\s,，]*(?:when)?)|\b(?:the|our|its) critical batch(?: size)? is)\s*\Z",
    re.IGNORECASE,
)
# Regimes in a sentence, each as an empty mark, with the word that supposes it.
SUPPOSED_REGIME = re.compile(
    rf"(?:[\s,，、(]*{WORD_BEGINS}(?:{_any_of((*CUES['supposing'], *CUES['putting_in']))})(?:\s+that)?)?\s*⟨⟩"
    rf"(?:{TOGETHER.pattern}⟨⟩)*\s*(?:{_any_of(CUES['supposed'])})?[\s,，、:)]*"
)
# Before such words: it is not so, or of something else than what is there.
NEGATED = re.compile(
    r"\b(?:not|never|no|hardly|neither|longer|twice|half|halved|doubled?|instead|other|another|were|would|chips|devices|almost|nearly|barely|nobody|false|wrong)\b|n't\b",
    re.IGNORECASE,
)
# What is asked is not said.
QUESTION = re.compile(r"(?:[^.;:!。；]|\.\d)*[?？]")
FORMULA = re.compile(r"\$\$?\s*([^$\n]{1,60}?)\s*\$\$?|`([^`\n]{1,60})`|\\\((.{1,60}?)\\\)")
# Behind a name, before the number that it is.
STATING = re.compile(rf"\s*(?:{'|'.join(map(re.escape, CUES['stating']))})\s*(?=\$?\d)")
# A capital that stands alone in prose is a name; A and I are words.
LETTER = re.compile(r"(?<![\w$⟨\\{.'’-])([B-HJ-Z](?:_[A-Za-z0-9])?)(?![\w'’⟩-])")
OF_QUANTITY = re.compile(
    r"(?:\A|[.,;:(]|\b(?:so|then|here|hence|thus|and|that|where|therefore))\s*"
    r"(?:the|our|its)\s+(?P<words>[a-z]+(?: [a-z]+)?)\s+(?:is|=|equals|comes to)\s*\Z",
    re.IGNORECASE,
)
CERTAINLY = re.compile(r"\b(?:" + "|".join(CUES["certainly"]) + r")\b", re.IGNORECASE)
AMONG = re.compile(r"\s*(?:,\s*(?:and|or)\b|,|、|and\b|or\b|와|과|하고|和|与|及|以及)\s*")
PUTTING_IN = re.compile(rf"[\s,(]*(?:{'|'.join(map(re.escape, CUES['putting_in']))})[^.;:]{{0,30}}", re.IGNORECASE)
ONE = rf"⟨{NAME}⟩"
SEVERAL = rf"{ONE}(?:{AMONG.pattern}{ONE})*"
FILLER = r"[^⟨⟩.,;:。，；：]{0,24}?"

NUMBER = r"\d{1,3}(?:(?:,|\{,\})\d{3})+(?!\d)|\d+(?:\.\d+)?(?:e\d+|\s*\\(?:times|cdot)\s*10\^\{?\d+\}?|\^\{?\d+\}?)?"
SIZES = re.compile(rf"((?:{NAME}\s*=\s*)+)({NUMBER})(?![\w.]*\w|\s*[-+*/^\\%=<>~])\s*(\w*)")


class Cue(Frozen):
    """What a formula says of the one before it: "<=>", "=>", or "or", which joins two forms or two cases; ``alone`` where the words between the two say nothing more."""

    sign: str
    alone: bool


def step_between(words: str) -> Cue | None:
    """What a formula says of the one before it, by the words between the two; None where they do not say.

    >>> step_between(", or equivalently").sign, step_between(" So we get").sign, step_between(" On a larger chip,")
    ('<=>', '=>', None)
    >>> step_between("so far. But for int8 we need")
    >>> step_between("so we need").alone, step_between("so on a larger chip").alone
    (True, False)
    """
    if len(words) > LONGEST_GAP or _says(CUES["turns"], words):
        return None
    plain = " ".join(words.split())
    if plain.strip(" ,;").casefold() in CUES["either"]:
        return Cue("or", alone=True)
    relations = [kind for kind in ("<=>", "=>") if _says(CUES["steps"][kind], words)]
    if not relations:
        return None
    for phrases in CUES["steps"].values():
        plain = _words(_in_sight(phrases, plain)).sub(" ", plain)
    return Cue(relations[0], set(re.findall(r"\w+", plain.casefold())) <= set(CUES["fillers"]["words"]))


def has_cue(kind: str, words: str) -> bool:
    """Whether words say what the cues of a kind do: ``solving``, an equation is to be solved; ``elsewhere``, it is about another
    operation.

    >>> has_cue("solving", "we set"), has_cue("solving", "this is"), has_cue("elsewhere", "On two chips, it is")
    (True, False, True)
    """
    return _says(CUES[kind], words)


class Bound(Frozen):
    """What the words beside a condition say that the operation is bound by: exactly where it holds (<=>), at least there
    (=>), or there at most (<=). Of a size it is the ``edge``; ``alone`` where the sentence says nothing more but sizes."""

    kind: str
    sign: str
    edge: str | None
    alone: bool


def bound_by(before: str, behind: str = "") -> Bound | None:
    """What the words beside a condition say that the operation is bound by.

    >>> def read(before, behind=""): return (bound := bound_by(before, behind)) and (bound.kind, bound.sign, bound.edge)
    >>> read("A product is compute-bound when"), read("It is memory-bound, and"), read("With half the bytes it is compute-bound if")
    (('compute', '<=>', None), None, None)
    >>> read("Below", ", we are memory-bound"), read("We need", " to be compute-bound"), read("", " suffices to be compute-bound")
    (('memory', '<=>', '<'), ('compute', '<=', None), ('compute', '=>', None))
    """
    if not any(phrase in words for words in (before.casefold(), behind.casefold()) for phrase in BOUND_WORDS):
        return None
    before, behind = (without_regimes(words).replace("$", " ") for words in (before, behind))
    stated = _bound_before(before, behind) or _bound_behind(before, behind)
    if stated is None or not stated.sign or NEGATED.search(stated.denied) or QUESTION.match(behind):
        return None
    kind = next((kind for kind, phrases in CUES["bounds"].items() if stated.said.casefold() in phrases), "compute")
    sign = "=>" if stated.sign == "<=>" and CERTAINLY.search(stated.denied) else stated.sign
    around = f"{before.rstrip()}{{x}}{behind.lstrip()}".casefold()
    edge = next((sign for sign, phrases in CUES["edges"].items() if re.search(_any_of(phrases), around)), None)
    ends = re.match(r"\s*[,.;:)|。，]", stated.rest) is not None or _says_sizes_of_it(stated.rest)
    return Bound(kind, sign, edge, ends and stated.first is not None and _says_sizes_of_it(stated.first))


class _Stated(NamedTuple):
    """What is ``said`` of a condition, the words that may deny it, and what else its sentence says first and at last."""

    said: str
    sign: str
    denied: str
    first: str | None
    rest: str


def _bound_before(before: str, behind: str) -> _Stated | None:
    """What a sentence says before a condition."""
    if (stated := BOUND_WHEN.search(before)) is not None:
        first = None if stated["if"] else stated["before"]
        return _Stated(str(stated["said"]), "<=" if stated["only"] else "<=>", stated["before"], first, behind)
    stated = NEEDING.search(before)
    return stated and _Stated(stated["said"], "<=", before, None, behind)


def _bound_behind(before: str, behind: str) -> _Stated | None:
    """What a sentence says behind a condition, as a word before it has it."""
    if (stated := BOUND_THEN.match(behind)) is None:
        return None
    threshold = THRESHOLD.fullmatch(before)
    sign = "=>" if stated["enough"] else "<=" if stated["needed"] else "<=>" if stated["if"] else ""
    first = before[: threshold.start(str(threshold.lastgroup))] if threshold else before
    rest = re.sub(r"\A(?:이다|입니다|임)", "", behind[stated.end() :])
    relation = SIGNS[str(threshold.lastgroup)] if threshold else sign
    return _Stated(stated["said"], relation, f"{before} {stated['between']}", f"{first} {stated['between']}", rest)


def _says_sizes_of_it(words: str) -> bool:
    """Whether words say nothing but sizes, and of what operation they speak."""
    fillers = {*CUES["fillers"]["words"], *CUES["putting_in"], *CUES["subjects"]}
    return fillers.issuperset(re.findall(r"[^\W\d_]+", SIZES.sub(r" \3 ", words).casefold()))


def without_regimes(words: str) -> str:
    """Words without the regimes that they suppose, in formulas and in words.

    >>> without_regimes("it is bound when, for $B \\\\ll D$ and $B \\\\ll F$, "), without_regimes("that is, if B is small beside $D$")
    ('it is bound when ', 'that is ')
    """
    marked = FORMULA.sub(lambda formula: "⟨⟩" if GROWTH.search(formula.group()) else _marked(formula), words)
    marked = LETTER.sub(r"⟨\1⟩", marked)
    for phrases in CUES["regimes"].values():
        marked = _patterns(_in_sight(phrases, marked)).sub("⟨⟩", marked)
    return re.sub("[⟨⟩]", "$", SUPPOSED_REGIME.sub(" ", marked))


def quantity_of(words: str) -> str | None:
    """The quantity of which a sentence says directly behind its words what it is.

    >>> quantity_of("Here the ridge point is "), quantity_of("The ridge of two chips is ")
    ('ridge', None)
    """
    match = OF_QUANTITY.search(words.replace("$", " "))
    return named(match["words"], {}) if match else None


def is_supposed_here(before: str, behind: str) -> bool:
    """Whether the words that touch a formula suppose it.

    >>> is_supposed_here("so, when ", " it is"), is_supposed_here("", "일 때"), is_supposed_here("if it were so that ", "")
    (True, True, False)
    """
    return _goes_on(behind, "supposed") or _ends_on(before, "supposing", r"(?:\s+that)?")


def is_denied(before: str, behind: str) -> bool:
    """Whether the words that touch a formula deny it, with at most one word between.

    >>> is_denied("unless ", ""), is_denied("but not when ", ""), is_denied("", "가 아니면"), is_denied("not so here: when ", "")
    (True, True, True, False)
    """
    return _goes_on(behind, "denied") or _ends_on(before, "denying", r"(?:\s+\w+)?")


def _goes_on(behind: str, kind: str) -> bool:
    return behind.lstrip(" $").startswith(tuple(CUES[kind]))


def _ends_on(before: str, kind: str, between: str) -> bool:
    """Whether words end on some of a kind, up to what may stand between."""
    return bool(re.search(rf"(?:\b|(?<=[^\x00-\u02ff]))(?:{_any_of(CUES[kind])}){between}\s*$", before.casefold()))


def says_sizes_alone(before: str, behind: str) -> bool:
    """Whether a sentence says nothing of a value but the sizes that it is for.

    >>> says_sizes_alone("With B = 48,000 and $N = 64$ we get ", "."), says_sizes_alone("With $B = 16$ on two chips ", ".")
    (True, False)
    >>> says_sizes_alone("For $B = 16$, ", " on a TPU")
    False
    """
    fillers = {*CUES["fillers"]["words"], *CUES["putting_in"]}
    words = re.findall(r"[^\W\d_]+", SIZES.sub(r" \3 ", before.replace("$", " ")).casefold())
    return set(words) <= fillers and re.match(r"\s*(?:\([\d.,e]+\))?\s*(?:[,.;:)|。，]|and\b|\Z)", behind) is not None


def stated_regimes(sentence: str) -> Iterator[tuple[str, str]]:
    """The regimes that the words of a sentence state, in claim syntax, and those words.

    >>> list(stated_regimes("If the batch $B$ is small relative to D and $F$, then"))
    [('B << D, F', 'B is small relative to D and F')]
    >>> list(stated_regimes("For large $N$ this is")), list(stated_regimes("当 $B$ 远小于矩阵维度 $D$ 和 $F$ 时"))
    ([('N -> oo', 'For large N')], [('B << D, F', 'B 远小于矩阵维度 D 和 F')])
    """
    marked = LETTER.sub(r"⟨\1⟩", FORMULA.sub(_marked, " ".join(sentence.split())))
    for relation, phrases in CUES["regimes"].items():
        for match in _patterns(_in_sight(phrases, marked)).finditer(marked):
            groups = [value for value in match.groupdict().items() if value[1] is not None]
            parts = {name[0]: re.findall(rf"⟨({NAME})⟩", value) for name, value in groups}
            yield _regime(relation, parts.get("x", []), parts["y"]), re.sub("[⟨⟩]", "", match.group())


def typed_sizes(sentence: str) -> dict[str, str | None]:
    """Sizes that a sentence puts in, in prose or in formulas; None for a name that has two.

    >>> typed_sizes("With B = 48,000 and $N = 64$ and $D = F = 4096$, but D = 8 here")
    {'B': '48000', 'N': '64', 'D': None, 'F': '4096'}
    >>> typed_sizes("$C/W = 240$, $2B = 16$, B = 3 bytes, $L d = 8$"), typed_sizes("$T(B=3) = 7$")
    ({}, {})
    """
    sizes: dict[str, str | None] = {}
    for match in SIZES.finditer(sentence.replace("$", " $ ").replace("  ", " ")):
        before = match.string[: match.start()]
        if match[3] in UNITS or re.search(r"[\w*/^_+<>=(\[{}|\\-]\Z|[\d*/^+<>=]\s*\Z", before):
            continue
        inside = before.rpartition("$")[2] if before.count("$") % 2 else ""
        if re.search(r"[\w})\]]\s*\Z", inside):  # the last factor of L d = 245760
            continue
        value = re.sub(r"\{?,\}?", "", match[2])
        for name in re.findall(NAME, match[1]):
            sizes[name] = value if sizes.get(name, value) == value else None
    return sizes


def _marked(formula: re.Match[str]) -> str:
    inside = next(group for group in formula.groups() if group is not None).strip()
    return f"⟨{inside}⟩" if re.fullmatch(NAME, inside) else formula.group()


def _regime(relation: str, left: list[str], right: list[str]) -> str:
    if relation == "->":
        return ", ".join(f"{name} -> oo" for name in right)
    small, large = (left, right) if relation == "<<" else (right, left)
    return ", ".join(f"{name} << {', '.join(large)}" for name in small)


@cache
def _patterns(phrases: tuple[str, ...]) -> re.Pattern[str]:
    """One pattern for phrases; each has groups of its own for its names."""
    return re.compile("|".join(_pattern(phrase, i) for i, phrase in enumerate(phrases)) or "(?!)", re.IGNORECASE)


def _in_sight(phrases: Iterable[str], words: str) -> tuple[str, ...]:
    """The phrases of which all words are among some, which is quicker to tell than where they stand."""
    words = words.casefold()
    return tuple(p for p in phrases if all(part.strip() in words for part in re.split(r"\{[xy]\}", p.casefold())))


def _pattern(phrase: str, index: int) -> str:
    slots = {"{x}": rf"(?P<x{index}>{ONE})", "{y}": rf"(?P<y{index}>{SEVERAL})"}
    return FILLER.join(slots.get(part) or re.escape(part) for part in re.split(r"\s*(\{[xy]\})\s*", phrase) if part)


@cache
def _words(phrases: tuple[str, ...]) -> re.Pattern[str]:
    parts = "|".join(rf"(?<![A-Za-z<]){re.escape(p)}(?![A-Za-z])" for p in phrases)
    return re.compile(parts or "(?!)", re.IGNORECASE)


def _says(phrases: Iterable[str], words: str) -> bool:
    """Whether one of some phrases is among the words."""
    words = " ".join(words.split())
    return any(_words((phrase,)).search(words) for phrase in _in_sight(phrases, words))
