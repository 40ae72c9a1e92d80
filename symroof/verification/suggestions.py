"""The comments that would let more of a document be judged, the best first.

What could be said is read off the document: operations that are typed or named in it, chips that it mentions, what it
defines, its sizes, the regimes under which its claims are true. Each comment is tried: the document is judged with it,
and the difference counted. One that makes formulas wrong which nobody judged before is dropped, unless it makes far more
of them good: then the formula may be at fault.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from symroof.formula import Formula
from symroof.reading.documents import TEX_SUFFIXES, Document, read_document, read_text
from symroof.verification.chapters import judge_read
from symroof.verification.judgement import ACCEPTED, CLAIMLESS, GOOD, FileReport
from symroof.verification.proposals import Options, Proposal, definitions, operations, regimes, sizes

# How many times a document is judged at most: so many formulas in all, and so often in any case.
MOST_FORMULAS, LEAST_TRIALS, MOST_TRIALS = 3000, 16, 60
# How many formulas a comment makes good for each one that it makes wrong.
GOOD_FOR_WRONG = 4


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A comment to paste above a line: how many formulas are judged with it that were not before, how many of these are
    not good, and how many that needed an unstated regime hold."""

    line: int
    options: Options
    unlocks: int = 0
    wrong: int = 0
    settles: int = 0

    @property
    def key(self) -> str:
        """What the comment speaks of."""
        return self.options[0][0]

    @property
    def worth(self) -> int:
        """What it adds; nothing where it makes too much wrong.

        >>> Suggestion(1, (), unlocks=8, wrong=1, settles=2).worth, Suggestion(1, (), unlocks=2, wrong=1).worth
        (9, 0)
        """
        good = self.unlocks - self.wrong
        return good + self.settles if good >= GOOD_FOR_WRONG * self.wrong else 0


@dataclass(frozen=True, slots=True)
class Suggestions:
    """What is suggested for a file, and how much of it is judged without that and with all of it."""

    file: str
    suggestions: tuple[Suggestion, ...]
    before: FileReport
    after: FileReport

    def comment(self, suggestion: Suggestion) -> str:
        """The comment as it stands in a document of its kind."""
        return _comment(suggestion.options, _is_tex(Path(self.file)))


def suggestions(path: Path, write: Callable[[Formula], str]) -> Suggestions:
    """The comments for a document, each tried on top of those before it; ``write`` spells a formula in a comment."""
    document = read_document(path)
    trials = _Trials(document, path)
    before = trials.report
    trials.choose(operations(document))
    trials.choose(sizes(document, before))
    trials.choose(definitions(document, path, before, write))
    trials.choose(regimes(document, trials.report, write))
    return Suggestions(str(path), tuple(sorted(trials.joined(), key=lambda one: -one.worth)), before, trials.report)


class _Trials:
    """The comments that were ``chosen`` so far, and the ``report`` with them."""

    def __init__(self, document: Document, path: Path) -> None:
        self.document, self.path = document, path
        self.chosen: tuple[Suggestion, ...] = ()
        self.left = MOST_TRIALS
        self.report = self._judged(())
        self.bad = {place for place, verdict in _verdicts(self.report).items() if verdict not in GOOD}
        # What defines or puts in a size is no claim of what a comment says in its place.
        claimless = (skip for skip in self.report.skipped if skip.reason.cause in CLAIMLESS)
        self.claimless = {(skip.line, skip.column) for skip in claimless}
        formulas = max(1, self.report.coverage.formulas)
        self.left = min(MOST_TRIALS, max(LEAST_TRIALS, MOST_FORMULAS // formulas))

    def choose(self, proposed: Iterable[Proposal]) -> None:
        """Add those that are worth something, the best first; each is tried again on top of the others."""
        first = [(one, self._tried(one)[0].worth) for one in (Suggestion(*each) for each in dict.fromkeys(proposed))]
        for one, _ in sorted((pair for pair in first if pair[1]), key=lambda pair: (-pair[1], len(pair[0].options))):
            same = any((chosen.line, chosen.key) == (one.line, one.key) for chosen in self.chosen)
            counted, report = (one, self.report) if same else self._tried(one)
            if counted.worth:
                self.chosen, self.report = (*self.chosen, counted), report

    def joined(self) -> Iterator[Suggestion]:
        """What is chosen, with one comment for each line."""
        for line in dict.fromkeys(one.line for one in self.chosen):
            here = [one for one in self.chosen if one.line == line]
            numbers = ((one.unlocks, one.wrong, one.settles) for one in here)
            yield Suggestion(line, _merged(here), *map(sum, zip(*numbers, strict=True)))

    def _tried(self, one: Suggestion) -> tuple[Suggestion, FileReport]:
        """The suggestion with what it adds to those that are chosen, and the report with all of them."""
        if not self.left:
            return one, self.report
        self.left -= 1
        old, report = _verdicts(self.report), self._judged((*self.chosen, one))
        new = _verdicts(report)
        stated = set() if one.key == "operation" else self.claimless
        fresh = [verdict for place, verdict in new.items() if place not in old and place not in stated]
        turned = [(old[place], verdict) for place, verdict in new.items() if place in old]
        wrong = sum(verdict not in GOOD and place not in self.bad for place, verdict in new.items())
        unlocks = len(fresh) - sum(place not in new for place in old)
        settles = sum(a == "conditional" and b in ACCEPTED for a, b in turned)
        return replace(one, unlocks=unlocks, wrong=wrong, settles=settles), report

    def _judged(self, comments: tuple[Suggestion, ...]) -> FileReport:
        """The report on the text with the comments in it, with the lines of the text as it stands."""
        lines, tex = self.document.text.split("\n"), _is_tex(self.path)
        added: list[tuple[int, int]] = []  # behind which lines there are so many more
        for one in sorted(comments, key=lambda one: one.line):
            comment, at = _comment(one.options, tex).split("\n"), one.line - 1 + sum(more for _, more in added)
            lines[at:at] = comment
            added.append((at + len(comment), len(comment)))
        report = judge_read(read_text("\n".join(lines), self.document.name, tex=tex), self.path.parent)

        def before(line: int | None) -> int | None:
            return line and line - sum(more for behind, more in added if line > behind)

        return replace(report, judgements=tuple(replace(j, line=before(j.line)) for j in report.judgements))


def _verdicts(report: FileReport) -> dict[tuple[object, ...], str]:
    return {(j.line, j.column): j.verdict for j in report.judgements}


def _merged(several: Iterable[Suggestion]) -> Options:
    """What several comments say, in one."""
    said: dict[str, Any] = {}
    for key, value in (pair for one in several for pair in one.options):
        said[key] = value if isinstance(value, str) else tuple(dict.fromkeys((*said.get(key, ()), *value)))
    return tuple(said.items())


def _is_tex(path: Path) -> bool:
    return path.suffix.lower() in TEX_SUFFIXES


def _comment(options: Options, tex: bool) -> str:
    """A comment as it is pasted.

    >>> print(_comment((("assume", ("B << D",)), ("let", (("S", "2N"),))), tex=True))
    % symroof: assume = ["B << D"]
    % symroof: let    = { S = "2N" }
    """
    width = max(len(key) for key, _ in options)
    lines = [f"{key:<{width}} = {_toml(value)}" for key, value in options]
    return "\n".join([f"% symroof: {line}" for line in lines] if tex else ["<!-- symroof", *lines, "-->"])


def _toml(value: Any) -> str:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value[0], str):
        return f"[{', '.join(map(_toml, value))}]"
    return "{ " + ", ".join(f"{name} = {_toml(formula)}" for name, formula in value) + " }"
