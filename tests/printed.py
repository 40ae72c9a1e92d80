"""The conditions that answers show, read off their pages: in every format and language, with what they hold under.

A reader of its own: how a page is laid out and what its words mean stands here a second time, and nothing of the rendering is called.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from symroof.reading.claims import read_claim, read_regime
from symroof.reading.exercises import read_exercise
from symroof.reading.latex import read_latex
from symroof.reading.latex_phrases import Dialect
from symroof.verification.definitions import context_of
from symroof.verification.judge import judge

LANGUAGES = ("en", "ko", "zh")
FORMS = ("txt", "md", "tex")
LETTERS = {
    "I": "intensity",
    "R": "ridge",
    "C": "peak",
    "W": "bandwidth",
    "I_ridge": "ridge",
    "C_peak": "peak",
}  # what formulas call them
OWN = {"en": "compute-bound", "ko": "연산 병목", "zh": "计算受限"}
AGAINST = {"en": r"against (\w+)", "ko": r"(\w+) 대비", "zh": r"相对 (\w+)"}
RULE = {"en": "rule of thumb", "ko": "경험 법칙", "zh": "经验法则"}
ALWAYS = {"en": "always", "ko": "항상", "zh": "总是"}
NEVER = {"en": "never", "ko": "불가능", "zh": "不可能"}
SMALLEST = re.compile(r"(?:, from |, so |, 즉 |，即 |，从 |, (?=\$?(?:\w+ = )?\d+\$?부터))")
WORDS = (("이고", "and"), ("이거나", "or"), ("且", "and"), ("或", "or"))
RELATION = re.compile(r"[<>]|\\[lg]e?\b")
SIZES = re.compile(r"\w+(?: = \w+)* = \d+")


class Shown(NamedTuple):
    """A condition: against which time, in which formula, and where: under a regime, at sizes."""

    against: str
    said: str
    regime: str = ""
    at: str = ""


def cells(line: str, form: str) -> list[str]:
    """What stands in the columns of a row, the first of which may be empty."""
    if form == "md":
        return [cell.strip() for cell in line.strip("| ").split(" | ")] if line.startswith("|") else []
    if form == "tex":
        return (
            [cell.strip() for cell in line.removesuffix(r" \\").split(" & ")]
            if line.endswith(r"\\") and " & " in line
            else []
        )
    return re.split(r"\s{2,}", line[2:].rstrip()) if line.startswith("  ") else []


def shown(page: str, form: str, lang: str, regime: str = "") -> Iterator[Shown]:
    """The conditions of the table at the head of a derivation; ``regime`` is what it assumes."""
    mine = False
    for line in page.splitlines():
        label, cell, more = (*(cells(line, form) or ["-"]), "", "")[:3]
        name = re.sub(r"\$|\\text\{(\w+)\}", r"\1", label)
        found = re.fullmatch(AGAINST[lang], name)
        if form == "txt":
            mine = name == OWN[lang] or (mine and not label)
            at = SIZES.search(more)
            if at and mine:
                yield _there(cell, lang, at[0])
            elif cell and (mine or found):
                yield Shown(found[1] if found else "comms", cell, regime if more.startswith(RULE[lang]) else "")
            continue
        at = SIZES.search(name)
        if name == OWN[lang] and (there := SIZES.search(cell.replace("$", ""))):  # sizes are put in
            yield _there(cell.partition("; ")[0].partition("；")[0], lang, there[0])
            cell, more = more, ""
        if name == OWN[lang] or found:
            yield from [Shown(found[1] if found else "comms", one) for one in (cell or more,)]
            more = more if cell else ""
            if more:
                yield Shown("comms", more, regime)
            mine = True
        elif at and mine and not any(cells(line, form)[3:]):
            yield _there(cell, lang, at[0])


def _there(cell: str, lang: str, at: str) -> Shown:
    """What is said at sizes: a condition, or, where they leave nothing open, what bounds the operation there."""
    if RELATION.search(cell) or cell in (ALWAYS[lang], NEVER[lang]):
        return Shown("comms", cell, "", at)
    return Shown("comms", ALWAYS[lang], "", at) if cell.endswith(OWN[lang]) else Shown("lower", NEVER[lang], "", at)


def compared(page: str, form: str, lang: str, regime: str) -> Iterator[tuple[str, str, Shown]]:
    """Chip, dtype and condition of each row of a comparison."""
    sizes = ""
    for line in page.splitlines():
        row = cells(line, form)
        if found := SIZES.search(row[-1].replace("$", "") if len(row) > 2 else ""):
            sizes = found[0]
        if len(row) < 3 or row[1] not in ("bf16", "int8"):
            continue
        if len(row) >= 7 and row[5] != "-":
            yield row[0], row[1], Shown("comms", f"{row[5]}, from {row[6]}", regime)
        if ((form == "txt" and len(row) == 3) or len(row) == 9) and row[-1] != "-":
            yield row[0], row[1], Shown("comms", row[-1], "", sizes)


def by_regime(page: str, form: str) -> Iterator[Shown]:
    """The condition of each regime."""
    for line in page.splitlines():
        row = cells(line, form)
        if len(row) >= 4 and re.search(r"≪|→|~~|\\ll|\\asymp|\\to", row[0]):
            yield Shown("comms", row[3], row[0])


def claims(condition: Shown, form: str, lang: str) -> Iterator[tuple[str, str]]:
    """What a condition claims; and the same turned around, which has to be wrong."""
    cell, *smallest = SMALLEST.split(condition.said)
    time = condition.against
    math, other = ("T_math", f"T_{time}") if form == "txt" else (r"T_{\text{math}}", rf"T_{{\text{{{time}}}}}")
    if cell in (ALWAYS[lang], NEVER[lang]):
        yield (f"{math} > {other}", f"{math} < {other}")[:: 1 if cell == ALWAYS[lang] else -1]
        return
    for word, meant in WORDS:
        cell = re.sub(rf"\s*{word} ", f" {meant} ", cell)
    cell = cell.replace("$", "")
    told = [cell if form == "txt" else re.sub(r"(?:\\text\{)?\s+(and|or)\s+\}?(?![^{}]*\})", r" \\text{ \1 } ", cell)]
    number = smallest and re.search(r"(?:(\w+) (?:=|\\ge) )?(\d+)", smallest[0].replace("$", ""))
    if number:
        told.append(f"{number[1] or cell.split()[0]} >= {number[2]}")
    for one in told:
        iff = "<=>" if form == "txt" else r"\iff"
        yield f"{math} > {other} {iff} {one}", f"{math} < {other} {iff} {one}"


def verdicts(problem: dict, condition: Shown, form: str, lang: str) -> Iterator[tuple[str, str, str]]:
    """Each claim of a condition, how it is judged, and how its opposite is."""
    context = context_of(read_exercise({**problem, "claims": []}))
    if condition.regime:
        context = context.assuming(read_regime(in_words(condition.regime), context.scope))
    at = read_claim(f"flops > 0 at {condition.at}", context.scope).at if condition.at else ()
    letters = {letter: name for letter, name in LETTERS.items() if letter not in context.scope.names}
    for pair in claims(condition, form, lang):
        read = [
            read_claim(text, context.scope) if form == "txt" else read_latex(text, Dialect(context.scope, letters))[0]
            for text in pair
        ]
        yield pair[0], *(judge(replace(claim, at=at), context).verdict for claim in read)


def in_words(regime: str) -> str:
    """A regime of a table as the grammar of claims has it."""
    text = (
        regime.replace("$", "").replace(" 且 ", ", ").replace(r"\ll", "<<").replace("≪", "<<").replace(r"\asymp", "~~")
    )
    return text.replace(r"\to", "->").replace("→", "->").replace(r"\infty", "oo").replace("∞", "oo")
