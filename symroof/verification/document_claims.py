"""The formulas of a document, judged in their order, each in the names of its problem and beside what has been said so far."""

from __future__ import annotations

import re
from bisect import bisect
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from symroof.errors import ReadingError, SymroofError
from symroof.formula import Compare, Name
from symroof.reading.calculations import REFUTED
from symroof.reading.claim_sets import expected_verdict, usual_sizes
from symroof.reading.claims import Chain, Claim, Proposition, read_claim
from symroof.reading.documents import RELATED, Document, Note, Written, read_document
from symroof.reading.expressions import read_expression
from symroof.reading.markup import spelling
from symroof.reading.operation_keys import has_operation
from symroof.reading.operations import PRODUCT_OF_SHAPES, typed_operation
from symroof.reading.problems import WORD, Options
from symroof.reading.prose_parts import with_unit_behind
from symroof.reading.sentence_cues import STATING
from symroof.verification.budget import Exhausted, limited
from symroof.verification.comments import Comments
from symroof.verification.context import Context
from symroof.verification.formula_claims import cell_claim, claims_in, given_names, other_statement, read_side, speaks
from symroof.verification.formula_roles import Assertion, asserted
from symroof.verification.interpretations import Passage, condition_of, settled
from symroof.verification.judge import counts_otherwise, judge, judge_stated, under_one_count
from symroof.verification.number_chains import base_of_prefix
from symroof.verification.sentence_context import Surroundings, read_latex_regime
from symroof.verification.verdicts import (
    ACCEPTED,
    CLAIMLESS,
    Coverage,
    FileReport,
    Judgement,
    Omission,
    Remark,
    Skipped,
)

# Bytes, or billions.
TYPED_BYTES = re.compile(r"(?<=\d)B(?![A-Za-z/])")
BYTES = re.compile(r"\\(?:text|mathrm|textrm)\{\s*B\s*\}")
Block = Judgement | Omission
Before = tuple[Written, Compare] | None
NONE: Options = {}


def judge_document(path: Path, overrides: Options | None = None, defaults: Options | None = None) -> FileReport:
    """The judgements on a document; ``overrides`` are options that go before those of its comments, ``defaults`` options
    that hold where these say nothing else."""
    return judge_read(read_document(path), path.parent, overrides or {}, defaults or {})


def judge_read(document: Document, folder: Path, overrides: Options = NONE, defaults: Options = NONE) -> FileReport:
    """The judgements on a document that was read, which lies in a folder."""
    formulas = (part.text for part in document.parts if isinstance(part, Written) and part.kind == "math")
    spelled = spelling(document.text, formulas)
    force = Comments(overrides, frozenset(WORD.findall(document.text)), folder, spelled)

    def report_counting(counted: bool | None = None) -> FileReport:
        counting = replace(force, counted=counted)
        return _Chapter(document, counting.adding(defaults) if overrides or defaults else counting).report()

    first_report = report_counting()
    notes = (part for part in document.parts if isinstance(part, Note) and has_operation(part.options))
    starts = [note.place.line for note in notes]

    def problems(report: FileReport) -> list[list[Judgement]]:
        """The judgements by the problem that they stand under."""
        judgements: list[list[Judgement]] = [[] for _ in range(len(starts) + 1)]
        for judgement in report.judgements:
            judgements[bisect(starts, judgement.line or 0)].append(judgement)
        return judgements

    split = [any(map(counts_otherwise, some)) for some in problems(first_report)]
    judgements = first_report.judgements
    if any(split):
        ways = zip(split, *map(problems, (first_report, report_counting(False), report_counting(True))), strict=True)
        chosen = (under_one_count(*some) if by_count else some[0] for by_count, *some in ways)
        judgements = tuple(judgement for some in chosen for judgement in some)
    return replace(first_report, judgements=tuple(_of_one_prefix(judgements, document.name)))


def _of_one_prefix(judgements: tuple[Judgement, ...], name: str) -> Iterator[Judgement]:
    """The judgements of a document: bytes that are right in binary units alone are one finding, at the first, with all lines."""
    pairs = [(j, max((base_of_prefix(finding.link) for finding in j.findings), default=0)) for j in judgements]
    binary = [judgement for judgement, base in pairs if base == 2 and judgement.verdict == "wrong"]
    decimal = [judgement for judgement, base in pairs if base == 10 and judgement.verdict in ACCEPTED]
    lines, others = (", ".join(dict.fromkeys(str(j.line) for j in some)) for some in (binary, decimal))
    mistake = Remark("binary_prefix", {"binary": False, "lines": lines, "others": others})
    for judgement in judgements:
        if judgement not in binary:
            yield judgement
        elif judgement is not binary[0]:
            yield replace(judgement, accepted=f"{name}:{binary[0].line}")
        else:
            yield replace(judgement, findings=tuple(replace(f, diagnosis=mistake) for f in judgement.findings))


@dataclass
class _Chapter:
    """A document on the way through it: the comments in ``force``, what they say of the ``following`` formula, the names
    that were ``equated`` to something since, and the formula ``before`` with its last condition."""

    document: Document
    force: Comments
    following: dict[str, Any] = field(default_factory=dict)
    equated: frozenset[str] = frozenset()
    before: Before = None
    left_out: list[Skipped] = field(default_factory=list)
    formulas: int = 0
    unjudged: Counter[str] = field(default_factory=Counter)

    def report(self) -> FileReport:
        parts = self.document.parts
        judgements: list[Judgement] = []
        for part in parts:
            judgements += self._note(part) if isinstance(part, Note) else self._written(part)
        notes = sum(isinstance(part, Note) for part in parts)
        coverage, lang = Coverage(self.formulas, self.unjudged), self.force.options.get("lang")
        name, skipped = self.document.name, tuple(self.left_out)
        return FileReport(name, tuple(judgements), "document", notes, skipped, coverage, lang=lang)

    def _note(self, note: Note) -> Iterator[Judgement]:
        """A comment: its options are in force from here on, its claims are judged here. One that cannot be read is a
        finding, and nothing is known behind it: what was in force before may be what it would have changed."""
        try:
            if note.error is not None:
                raise note.error
            expected_verdict(note.following.get("expect"))
            self.following |= note.following
            if not note.options and note.forget is None:
                return
            self.before = None
            if note.forget is not None:
                self.force = self.force.forgetting(note.forget)
                return
            self.force, self.equated = self.force.adding(note.options, note.path), frozenset()
        except SymroofError as error:
            self.force, self.equated, self.before = self.force.afresh(), frozenset(), None
            line, column = note.place
            comment = self.document.text[note.offset :].split("\n")[0].strip()
            yield Judgement(comment, "unreadable", line=line, column=column, error=str(error))
            return
        lines = self.document.text[note.offset :].splitlines(keepends=True)
        for stated in self.force.exercise.claims:
            judgement = judge_stated(stated, self.force.context, self.force.exercise)
            inside = next((i for i, line in enumerate(lines) if stated.text in line), 0)
            line, _ = self.document.place(note.offset + sum(map(len, lines[:inside])))
            yield replace(judgement, line=line, column=1)

    def _written(self, written: Written) -> Iterator[Judgement]:
        """A formula: its claims are judged; of what is not a claim, or not decided, it is noted why."""
        if written.row is not None:
            self.equated |= {cell.text.strip("$` ") for cell in (*written.row.heads, *written.row.cells)}
        if written.row is not None and not speaks(written, self.force):
            return
        self.force = self.force.below(written.path)
        related = written.row is not None or any(sign in written.text for sign in RELATED)
        if written.row is None and not related and STATING.match(self.document.prose.text, written.end):
            self.equated |= {written.text.strip()}  # F is 4096
        if not {"is", "same"} & self.following.keys() and not related:
            return
        following, self.following = self.following, {}
        self.formulas += 1
        before, condition = len(self.left_out), self.before
        outcomes = [Omission("ignored")] if "ignore" in following else self._outcomes(written, following)
        self.before = condition if outcomes == [Omission("assumption")] else self.before  # that is, for B << D, B > 240
        judged = [outcome for outcome in outcomes if isinstance(outcome, Judgement)]
        reasons = [outcome for outcome in outcomes if isinstance(outcome, Omission)]
        line, column, text = written.place.line, written.place.column, " ".join(written.text.split())
        if following and "ignore" not in following and not judged:
            judged, reasons = [Judgement(written.text, "unreadable", reason=reasons[-1])], []
        others = (skip.reason for skip in self.left_out[before:])
        left = [why for why in others if why.cause not in CLAIMLESS or why.kind == "at_sizes"]
        if not judged or left:  # a formula of which a relation is left is not judged
            self.unjudged[(left if judged else reasons)[0].cause] += 1
        once = [reason for at, reason in enumerate(reasons) if reason not in reasons[:at]]  # of a list of sizes
        self.left_out += [Skipped(line, column, text, reason) for reason in once]
        for judgement in judged:
            start = judgement.statement.start if judgement.statement else 0
            if "\n" in written.text[:start]:  # a later row of a display stands on its own line
                line, column = self.document.place(written.offset + start)
            expect, title = following.get("expect"), self.force.exercise.title
            sentence = None if written.row else self.document.prose.quotation(written.start, written.end)
            yield replace(judgement, line=line, column=column, expect=expect, problem=title, sentence=sentence)

    def _outcomes(self, written: Written, following: Options) -> list[Block]:
        """The judgements on the claims of a formula, and why those that are not judged are not."""
        if not following and (typed_operation(written.text) or PRODUCT_OF_SHAPES.search(written.text)):
            return [Omission("operation")]
        before, self.before = self.before, None
        try:
            return [*self._judged(written, following, before)] or [Omission("code")]
        except Exhausted:
            return [Omission("too_long")]
        except RecursionError:
            return [Omission("too_deep")]
        except SymroofError as error:
            if following:
                return [Omission.unreadable(error)]
            if (kind := other_statement(written.text)) is not None:
                return [Omission("membership") if kind == "membership" else Omission("assignment")]
            with suppress(SymroofError):
                read_latex_regime(written.text, self.force.dialect(self.force.contexts[-1].scope))
                return [Omission("assumption")]
            return [Omission.unreadable(error)]

    def _equate(self, claims: Sequence[Claim]) -> None:
        """Names that a formula sets equal to something may stand for that in what follows."""
        links = [link for claim in claims for link in claim.links if link.relation in ("=", "~")]
        self.equated |= {side.name for link in links for side in (link.left, link.right) if isinstance(side, Name)}

    def _judged(self, written: Written, following: Options, before: Before) -> Iterator[Block]:
        """The outcome of each claim of a formula."""
        if written.row is not None:
            cell = cell_claim(written, self.force)
            yield cell if isinstance(cell, Omission) else _closed(replace(judge(*cell), claim=cell[0].text))
            return
        with limited():
            claims, context = self._claims(written, following, before)
            dialect = self.force.dialect(context.scope)
            usual = usual_sizes(claims, self.force.exercise.problem)
            around = Surroundings(self.document, written, dialect, given_names(self.force), before, usual=usual)
            with_unit, in_bytes = ((), ()) if following else self._otherwise(written, len(claims))
        if written.kind == "code" and REFUTED.match(self.document.prose.text, written.end):
            claims = tuple(replace(claim, whole=False) for claim in claims)
        for i, claim in enumerate(claims):
            if following:
                outcome: Block = judge(claim, context)
                condition = condition_of(claim)
            else:
                passage = Passage(claim, context, self.equated, around)
                with limited():
                    assertion = asserted(passage)
                    others = [asserted(replace(passage, claim=more[i])) for more in (with_unit, in_bytes) if more]
                plain = [replace(way, firm=way.firm and not with_unit) for way in assertion.readings]
                readings = (*plain, *(reading for other in others for reading in other.readings))
                outcome = settled(readings, assertion.otherwise)
                condition = assertion.condition
                further, outcome, left_out = _further(assertion, others, outcome)
                yield from further
                if isinstance(outcome, Judgement):
                    line, column, text = written.place.line, written.place.column, " ".join(written.text.split())
                    self.left_out += [Skipped(line, column, text, why, link) for link, why in left_out]
            self._equate([claim])
            around = replace(around, before=None)
            self.before = (written, condition) if condition is not None else None
            if isinstance(outcome, Judgement) and outcome.claim:  # a step is shown with what it goes on from
                outcome = replace(outcome, claim=claim.text)
            yield outcome

    def _otherwise(self, written: Written, count: int) -> Iterator[tuple[Claim, ...]]:
        r"""The claims of a formula with the unit that words behind it say, $17.7$ microseconds, and with bytes for the B
        behind its numbers, which stands for billions as well; none where there is none."""
        math, behind = written.kind == "math", self.document.prose.text[written.end : written.end + 40]
        pattern, instead = (BYTES, r"\\text{bytes}") if math else (TYPED_BYTES, " bytes")
        in_bytes = pattern.sub(instead, written.text) if "B" not in self.force.context.scope.names else written.text
        for text in (with_unit_behind(written.text, behind) if math else None, in_bytes):
            claims: tuple[Claim, ...] = ()
            with suppress(SymroofError):
                if text is not None and text != written.text:
                    claims, _ = claims_in(replace(written, text=text), self.force)
            yield claims if len(claims) == count else ()

    def _claims(self, written: Written, following: Options, before: Before) -> tuple[tuple[Claim, ...], Context]:
        """The claims of a formula; where a comment says so, that it is equal to something, or follows from it."""
        stated = str(following.get("same", following.get("is", "")))
        if "is" in following and not any(sign in stated for sign in RELATED):
            context = self.force.contexts[0]
            read = read_side(written.text, written.kind, self.force.dialect(context.scope))
            chain = Chain((read_expression(stated, context.scope), read), ("=",))
            return (Claim(written.text, ((chain,),)),), context
        claims, context = claims_in(written, self.force)
        if "follows" in following:
            if before is None:
                raise ReadingError("there is no condition or equation before it", expected="one that it follows from")
            first: Proposition = (Chain((before[1].left, before[1].right), (before[1].relation,)),)
            return tuple(_joined(first, claim, "=>") for claim in claims), context
        if stated:
            first, *more = read_claim(stated, context.scope).propositions
            if more:
                raise ReadingError(f"{stated!r} is more than one condition")
            return tuple(_joined(first, claim, "<=>") for claim in claims), context
        return claims, context


def _further(
    assertion: Assertion, meant: Sequence[Assertion], outcome: Block
) -> tuple[list[Judgement], Block, tuple[tuple[Compare, Omission], ...]]:
    """The judgements on links that are claims by what the text states, with the units that stand behind the formula first;
    but for the last one where nothing else is judged. And the links that are left."""
    if isinstance(outcome, Judgement) and not assertion.left_out:  # the claim as a whole is judged
        return [], outcome, ()
    judged: dict[Compare, Judgement] = {}
    with_units = [more.further for more in meant if len(more.further) == len(assertion.further)]
    for place, (link, reading) in enumerate(assertion.further):
        plain = replace(reading, firm=reading.firm and not with_units)
        readings = (*(more[place][1] for more in with_units), plain)
        if isinstance(judgement := settled(readings, assertion.otherwise), Judgement):
            judged[link] = judgement
    left = tuple(pair for pair in assertion.left_out if pair[0] not in judged)
    more = list(judged.values())
    return (more, outcome, left) if isinstance(outcome, Judgement) or not more else (more[:-1], more[-1], left)


def _closed(judgement: Judgement) -> Block:
    """A judgement that decides, or that it is not decided."""
    return Omission("not_decided") if judgement.verdict == "undecided" else judgement


def _joined(first: Proposition, claim: Claim, sign: str) -> Claim:
    """A claim as one about a condition: the same, or what follows from it."""
    return replace(claim, propositions=(first, *claim.propositions), connectives=(sign, *claim.connectives))
