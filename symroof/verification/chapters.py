"""The formulas of a document, judged in their order: comments, definitions, restated conditions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from symroof.errors import ReadingError, SymroofError, about
from symroof.formula import Compare, Formula, Name, names
from symroof.model.quantities import QUANTITIES
from symroof.proof.exact import ORDER
from symroof.reading.claims import Chain, Claim, read_claim
from symroof.reading.documents import RELATED, Document, Note, Written, read_document
from symroof.reading.exercises import Exercise, expected_verdict
from symroof.reading.expressions import Scope, read_expression
from symroof.reading.latex import read_latex, read_latex_expression
from symroof.reading.latex_tokens import Dialect
from symroof.reading.operations import typed_operation
from symroof.reading.problems import GIVE_WAY, WORD
from symroof.verification.budget import Exhausted, limited
from symroof.verification.cells import cell_claim, speaks
from symroof.verification.comments import InForce
from symroof.verification.context import Context
from symroof.verification.definitions import context_of
from symroof.verification.enclosures import is_numeric
from symroof.verification.judge import judge, judge_stated
from symroof.verification.judgement import FileReport, Judgement, Omission, Skipped
from symroof.verification.links import confirmed
from symroof.verification.selection import Skip, skipped

# Words between two conditions that say that they are the same.
RESTATING = ("equivalently", "that is", "i.e.", "in other words", "which means")

# A claim that is judged, and in which context; or why it is not.
Selected = tuple[Claim, Context] | Omission


def judge_document(path: Path, overrides: Mapping[str, Any] | None = None) -> FileReport:
    """The judgements on a document; ``overrides`` are options that go before those of its comments."""
    document = read_document(path)
    force = InForce(overrides or {}, frozenset(WORD.findall(document.text)), path.parent)
    return _Chapter(document, force.adding({}) if overrides else force).report()


@dataclass
class _Chapter:
    """What has been said so far: names that were ``defined`` in this section, the last ``condition``, ``sizes`` that
    were put in in this paragraph; and what a comment says of the next formula."""

    document: Document
    force: InForce
    following: dict[str, Any] = field(default_factory=dict)
    ignored: bool = False
    section: int = -1
    defined: dict[str, Formula] = field(default_factory=dict)
    condition: Compare | None = None
    sizes: dict[str, Formula] = field(default_factory=dict)
    left_out: list[Skipped] = field(default_factory=list)
    formulas: int = 0

    def report(self) -> FileReport:
        parts = self.document.parts
        found = (self._note(part) if isinstance(part, Note) else self._written(part) for part in parts)
        judgements = tuple(judgement for judged in found for judgement in judged)
        notes = sum(isinstance(part, Note) for part in parts)
        return FileReport(self.document.name, judgements, "document", notes, tuple(self.left_out), self.formulas)

    def _note(self, note: Note) -> Iterator[Judgement]:
        """A comment: its options are in force from here on, its claims are judged here."""
        where = f"{self.document.name}:{note.place.line}: "
        self.ignored = self.ignored or note.ignore
        with about(where):
            expected_verdict(note.following.get("expect"))
        self.following |= note.following
        if not note.options:
            return
        self.force = self.force.adding(note.options, where)
        self.defined, self.condition = {}, None
        lines = self.document.text.split("\n")[note.place.line - 1 :]
        for stated in self.force.exercise.claims:
            found = judge_stated(stated, self.force.context, self.force.exercise.title)
            inside = next((i for i, line in enumerate(lines) if stated.text in line), 0)
            yield replace(found, line=note.place.line + inside, column=1)

    def _written(self, written: Written) -> Iterator[Judgement]:
        """A formula: its claims are judged; of what is not a claim, or not decided, it is noted why."""
        if written.row is not None and not speaks(written, self.force):
            return
        if written.section != self.section:
            self.section, self.defined, self.condition = written.section, {}, None
        if written.before is None:
            self.sizes = {}
        if written.row is None and "is" not in self.following and not any(sign in written.text for sign in RELATED):
            return
        following, ignored = {} if self.ignored else self.following, self.ignored
        self.following, self.ignored = {}, False
        self.formulas += 1
        outcomes = [Omission("ignored")] if ignored else self._outcomes(written, following)
        judged = [one for one in outcomes if isinstance(one, Judgement)]
        reasons = [one for one in outcomes if isinstance(one, Omission)]
        line, column, text = written.place.line, written.place.column, " ".join(written.text.split())
        if following and not judged:
            judged, reasons = [Judgement(written.text, "unreadable", omission=reasons[-1])], []
        self.left_out += [Skipped(line, column, text, reason) for reason in reasons]
        for judgement in judged:
            start = judgement.statement.start if judgement.statement else 0
            if "\n" in written.text[:start]:  # a later row of a display stands on its own line
                before = self.document.text[: written.offset + start]
                line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
            expect, title = following.get("expect"), self.force.exercise.title
            yield replace(judgement, line=line, column=column, expect=expect, problem=title)

    def _outcomes(self, written: Written, following: Mapping[str, Any]) -> Sequence[Judgement | Omission]:
        """The judgements on the claims of a formula, and why those that are not judged are not."""
        if not following and typed_operation(written.text) is not None:
            return [Omission("operation")]
        try:
            with limited():
                selected = self._chosen(written, following)
        except Exhausted:
            return [Omission("too_long")]
        except RecursionError:
            return [Omission("too_deep")]
        except SymroofError as error:
            return [Omission.unreadable(error)]
        if not selected:
            return [Omission("code")]
        judged = [one if isinstance(one, Omission) else replace(judge(*one), claim=one[0].text) for one in selected]
        if following:
            return judged
        return [Omission("not_decided") if _is_open(one) else one for one in judged]

    def _chosen(self, written: Written, following: Mapping[str, Any]) -> list[Selected]:
        """Each claim that a formula makes, with the context that it is judged in; or why it is not judged."""
        if written.row is not None:
            return [cell_claim(written, self.force)]
        claims, context = self._claims(written, following)
        return [(one, context) if following else self._selected(one, context, written) for one in claims]

    def _claims(self, written: Written, following: Mapping[str, Any]) -> tuple[tuple[Claim, ...], Context]:
        """The claims of a formula, in the names of the problem; else in letters of its own."""
        context = self.force.context.defining(self.defined) if self.defined else self.force.context
        scope, aliases, text = context.scope, self.force.exercise.aliases, written.text
        if "is" in following:
            left, math = read_expression(str(following["is"]), scope), written.kind == "math"
            right = read_latex_expression(text, Dialect(scope, aliases)) if math else read_expression(text, scope)
            return (Claim(text, ((Chain((left, right), ("=",)),),)),), context
        bare = context_of(Exercise()).defining(self.defined) if context.setting is not None else context
        letters = tuple(dict.fromkeys((*QUANTITIES, *self.defined, *bare.scope.names)))
        own = Scope(letters, open=True, indices=True, give_way=GIVE_WAY)
        error: SymroofError | None = None
        for known, chosen in (*(() if scope.open else ((scope, context),)), (own, replace(bare, scope=own))):
            try:
                if written.kind == "math":
                    return read_latex(text, Dialect(known, aliases)), chosen
                if any(sign in text for sign in ("<<", ">>", "==")):
                    return (), chosen
                return (read_claim(text, known),), chosen
            except SymroofError as found:
                error = error or found
        raise error or ReadingError("the formula cannot be read")

    def _selected(self, claim: Claim, context: Context, written: Written) -> Selected:
        """The part of a claim that is judged, and in which context."""
        place = context.at(claim.at).assuming(claim.regime)
        if claim.always is not None or (claim.connectives and _valued(claim, place)):
            return claim, context
        links = [(chain, self._skips(chain, place)) for chain in claim.chains]
        skips = [skip for _, found in links for skip in found if skip is not None]
        at_sizes = (
            any(skip.reason.kind == "at_sizes" for skip in skips) and not (claim.connectives or claim.at) and self.sizes
        )
        if at_sizes and _free(claim, place) <= set(self.sizes):
            return replace(claim, at=tuple(self.sizes.items())), context
        kept = tuple(run for chain, found in links for run in _runs(chain, found))
        judged = replace(claim, propositions=(kept,), connectives=()) if kept else claim
        restated = None if kept else self._restated(claim, written)
        self.condition = next((link for link in reversed(judged.links) if link.relation in ORDER), None)
        if kept:
            return judged, context
        return restated or (skips[0].reason if skips else Omission("no_claim"))

    def _skips(self, chain: Chain, place: Context) -> list[Skip | None]:
        """Why links of a chain are not judged. What they define, and sizes that they put in, is noted."""
        *letters, value = chain.sides
        equal = set(chain.relations) == {"="}
        sizes = {one.name: value for one in letters if isinstance(one, Name) and one.name in place.least_one}
        if equal and is_numeric(value) and len(sizes) == len(letters):  # B = 16, or D = F = 4096
            self.sizes |= sizes
        skips = []
        for i, link in enumerate(chain.links):
            chained = i > 0 and chain.relations[i - 1] in ("=", "~")
            skip = skipped(place.question(link), self.defined, chained=chained)
            if skip is not None and equal:  # what is approximated later may be used in either form
                self._define(skip.defines, link, place)
            elif skip is not None and skip.defines:
                self.defined.pop(skip.defines, None)
            skips.append(skip)
        return skips

    def _define(self, name: str | None, link: Compare, place: Context) -> None:
        """A name stands for the right side of a link, where no problem says what it is."""
        exercise, known = self.force.exercise, {*QUANTITIES, *self.force.context.definitions}
        given = name in known and (exercise.problem is not None or exercise.hardware is not None)
        if name is None or name in names(link.right) or given:
            return
        meaning = place.put(link.right)
        if name not in names(meaning) and not (is_numeric(meaning) and len(name) == 1):
            self.defined[name] = meaning

    def _restated(self, claim: Claim, written: Written) -> tuple[Claim, Context] | None:
        """A condition right after another one on the same letter, where both say the same: 2B > 240, or B > 120."""
        before, links = self.condition, claim.links
        if before is None or written.before is None or len(links) != 1 or links[0].relation not in ORDER:
            return None
        letters = set(names(before))
        if letters != set(names(links[0])) or len(letters) != 1 or letters & set(QUANTITIES):
            return None
        context = replace(context_of(Exercise()), least_one=frozenset(letters))
        strict = replace(context, proofs_only=True)
        same = confirmed(strict.question(Compare(before, "<=>", links[0])))
        if not same and not any(word in written.before.casefold() for word in RESTATING):
            return None
        joined = tuple((Chain((one.left, one.right), (one.relation,)),) for one in (before, links[0]))
        return replace(claim, propositions=joined, connectives=("<=>",)), context


def _runs(chain: Chain, skips: Sequence[Skip | None]) -> Iterator[Chain]:
    """What is left of a chain without the links that are skipped."""
    for judged, group in groupby(range(len(skips)), key=lambda i: skips[i] is None):
        places = tuple(group)
        if judged:
            first, end = places[0], places[-1] + 1
            yield Chain(chain.sides[first : end + 1], chain.relations[first:end])


def _is_open(one: Judgement | Omission) -> bool:
    return isinstance(one, Judgement) and one.verdict == "undecided"


def _free(claim: Claim, place: Context) -> set[str]:
    """The names that are left once a claim is expanded."""
    return {n for link in claim.links for side in (link.left, link.right) for n in names(place.put(side))}


def _valued(claim: Claim, place: Context) -> bool:
    """Whether every name of a claim with <=> or => has a meaning here."""
    free, relations = _free(claim, place), {link.relation for link in claim.links}
    if place.setting is not None:
        return not free & {"peak", "bandwidth"} and relations <= {*ORDER, "=", "~", "->"}
    if free & set(QUANTITIES):
        return free <= set(QUANTITIES) and relations <= set(ORDER)
    letters = {frozenset(names(link)) for link in claim.links if link.relation in ORDER}
    return relations <= {*ORDER, "="} and len(letters) == 1
