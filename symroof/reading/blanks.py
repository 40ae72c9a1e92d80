"""Blanks: what is no prose and no formula is written over with spaces, so that places stay what they are."""

from __future__ import annotations

import re
from bisect import bisect_left

from symroof.reading.vocabulary import WORDS

ENVIRONMENTS = "|".join(WORDS["latex"]["environments"])

# What opens, with the name of what is open; what closes it; and how many characters there may be between.
VERBATIM = r"(?:verbatim|lstlisting|minted|comment)\*?"
LENGTH = r"\s*-?[\d.]+\s*(?:em|ex|pt|mm|cm|in)\]"  # of the space below a row
PAIRS = tuple(
    (re.compile(opening, re.IGNORECASE), re.compile(closing, re.IGNORECASE), longest)
    for opening, closing, longest in (
        (rf"(?<!\\)\\{{1,2}}(?P<name>)\[(?!{LENGTH})", r"(?P<name>)\\\]", 4096),
        (r"(?<!\\)\\{1,2}(?P<name>)\(", r"(?P<name>)\\\)", 4096),
        (rf"\\begin\{{(?P<name>(?:{ENVIRONMENTS})\*?)\}}", rf"\\end\{{(?P<name>(?:{ENVIRONMENTS})\*?)\}}", 8192),
        (rf"\\begin\{{(?P<name>{VERBATIM})\}}", rf"\\end\{{(?P<name>{VERBATIM})\}}", 50000),
        (r"\\iffalse(?P<name>)\b", r"\\fi(?P<name>)\b", 20000),
        (r"\{%-?\s*(?P<name>highlight|comment|raw)\b", r"\{%-?\s*end(?P<name>highlight|comment|raw)\b", 20000),
        (r"\{::(?P<name>)comment\}", r"\{:/(?P<name>)", 20000),
        (r"<(?P<name>pre|code|script|style|kbd|samp)\b", r"</(?P<name>pre|code|script|style|kbd|samp)\b", 20000),
    )
)


def closed(text: str) -> str:
    """The text with what opens and is not closed blanked out: nothing is searched for an end that is not there."""
    for opening, closing, longest in PAIRS:
        ends: dict[str, list[int]] = {}
        for match in closing.finditer(text):
            ends.setdefault(match["name"].lower(), []).append(match.start())

        def unless_lone(match: re.Match[str], ends: dict[str, list[int]] = ends, longest: int = longest) -> str:
            behind = ends.get(match["name"].lower(), [])
            place = bisect_left(behind, match.end())
            closed = place < len(behind) and behind[place] - match.end() <= longest
            return match.group() if closed else " " * len(match.group())

        text = opening.sub(unless_lone, text)
    return text


def blanked(text: str, *patterns: re.Pattern[str]) -> str:
    """The text with spaces for what is left alone."""
    for pattern in patterns:
        text = pattern.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)
    return text
