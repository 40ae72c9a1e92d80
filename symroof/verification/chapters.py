"""The formulas of a document, judged in their order: comments, definitions, restated conditions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from symroof.errors import ReadingError, SymroofError, about
from symroof.formula import Compare, Formula, Name, names
from symroof.model.quantities import QUANTITIES
from symroof.proof.exact import ORDER
from symroof.reading.claims import CONNECTIVES, RELATIONS, Chain, Claim, read_claim
from symroof.reading.documents import Document, Note, Written, read_document
from symroof.reading.exercises import Exercise, Stated, expected_verdict
from symroof.reading.expressions import Scope, read_expression
from symroof.reading.latex import read_latex, read_latex_expression
from symroof.reading.latex_tokens import COMMANDS, Dialect
from symroof.reading.operations import typed_operation
from symroof.reading.problems import GIVE_WAY
from symroof.reading.vocabulary import SYNONYMS
from symroof.verification.budget import Exhausted, limited
from symroof.verification.comments import InForce
from symroof.verification.context import Context, context_of
from symroof.verification.enclosures import is_numeric
from symroof.verification.judge import judge, judge_stated
from symroof.verification.judgement import FileReport, Judgement, Skipped
from symroof.verification.links import confirmed
from symroof.verification.selection import Skip, skipped

# Words between two conditions that say that they are the same.
RESTATING = ("equivalently", "that is", "i.e.", "in other words", "which means")
RELATED = (*RELATIONS, *CONNECTIVES)
# Without one of these a formula relates nothing.
SIGNS = (*RELATED, *(sign for sign, meaning in (SYNONYMS | COMMANDS).items() if meaning in RELATED))


def judge_document(path: Path, overrides: Mapping[str, Any] | None = None) -> FileReport:
    """The judgements on a document; ``overrides`` are options that go before those of its comments."""
    document = read_document(path)
    return _Chapter(document, InForce.over(document, overrides or {})).report()


@dataclass
class _Chapter:
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
        judgements: list[Judgement] = []
        notes = 0
        for part in self.document.parts:
            if isinstance(part, Note):
                notes += 1
                judgements += self._note(part)
            else:
                judgements += self._written(part)
        return FileReport(self.document.name, tuple(judgements), "document", notes, tuple(self.left_out), self.formulas)

    def _note(self, note: Note) -> Iterator[Judgement]:
        """A comment: its options are in force from here on, its claims are judged here."""
        where = f"{self.document.name}:{note.place.line}: "
        self.ignored = self.ignored or note.ignore
        if "expect" in note.following:
            with about(where):
                expected_verdict(note.following["expect"])
        self.following |= note.following
        if not note.options:
            return
        self.force.add(note.options, where)
        self.defined, self.condition = {}, None
        for stated in self.force.exercise.claims:
            found = judge_stated(stated, self.force.context, self.force.exercise.title)
            yield replace(found, line=note.place.line + self._line_in_note(note, stated), column=1)

    def _line_in_note(self, note: Note, stated: Stated) -> int:
        lines = self.document.text.split("\n")[note.place.line - 1 :]
        return next((i for i, line in enumerate(lines) if stated.text in line), 0)

    def _written(self, written: Written) -> Iterator[Judgement]:
        if written.section != self.section:
            self.section, self.defined, self.condition = written.section, {}, None
        if written.before is None:
            self.sizes = {}
        following, ignored = self.following, self.ignored
        if "is" not in following and not any(sign in written.text for sign in SIGNS):
            return
        self.following, self.ignored = {}, False
        self.formulas += 1
        if ignored:
            self._skip(written, "ignored by a comment")
            return
        if not following and typed_operation(written.text) is not None:
            self._skip(written, "an operation")
            return
        found = list(self._judged(written, following))
        expect = following.get("expect")
        if not found and following:
            reason = self.left_out.pop().reason if self.left_out else "it is not a claim"
            found = [Judgement(written.text, "unreadable", error=reason)]
        for judgement in found:
            line, column = written.place.line, written.place.column
            start = judgement.statement.start if judgement.statement else 0
            if "\n" in written.text[:start]:  # a later row of a display stands on its own line
                line, column = self._place(written, start)
            yield replace(judgement, line=line, column=column, expect=expect, problem=self.force.exercise.title)

    def _place(self, written: Written, start: int) -> tuple[int, int]:
        offset = written.offset + start
        text = self.document.text
        return text.count("\n", 0, offset) + 1, offset - (text.rfind("\n", 0, offset) + 1) + 1

    def _skip(self, written: Written, reason: str) -> None:
        self.left_out.append(Skipped(written.place.line, written.place.column, " ".join(written.text.split()), reason))

    def _judged(self, written: Written, following: Mapping[str, Any]) -> Iterator[Judgement]:
        try:
            with limited():
                claims, context = self._claims(written, following)
                selected = [self._selected(claim, context, written, bool(following)) for claim in claims]
        except Exhausted:
            self._skip(written, "it takes too much work")
            return
        except (SymroofError, RecursionError) as error:
            self._skip(written, _why(error))
            return
        for claim, place in filter(None, selected):
            found = judge(claim, place)
            if found.verdict == "undecided" and not following:
                self._skip(written, "it is not decided")
            else:
                yield replace(found, claim=claim.text)

    def _claims(self, written: Written, following: Mapping[str, Any]) -> tuple[tuple[Claim, ...], Context]:
        """The claims of a formula, in the names of the problem; else in letters of its own."""
        context = self.force.context.defining(self.defined) if self.defined else self.force.context
        scope, aliases = context.scope, self.force.exercise.aliases
        if "is" in following:
            left = read_expression(str(following["is"]), scope)
            right = (
                read_latex_expression(written.text, Dialect(scope, aliases))
                if written.kind == "math"
                else read_expression(written.text, scope)
            )
            return (Claim(written.text, ((Chain((left, right), ("=",)),),)),), context
        own = Scope(tuple(dict.fromkeys((*QUANTITIES, *self.defined))), open=True, indices=True, give_way=GIVE_WAY)
        scopes = [(scope, context)] if not scope.open else []
        bare = context_of(Exercise()).defining(self.defined) if context.setting is not None else context
        scopes.append(
            (replace(own, names=tuple(dict.fromkeys((*own.names, *bare.scope.names)))), replace(bare, scope=own))
        )
        error: SymroofError | None = None
        for names_known, chosen in scopes:
            try:
                if written.kind == "code":
                    if any(sign in written.text for sign in ("<<", ">>", "==")):
                        raise ReadingError("it is code")
                    return (read_claim(written.text, names_known),), chosen
                return read_latex(written.text, Dialect(names_known, aliases)), chosen
            except SymroofError as found:
                error = error or found
        raise error or ReadingError("the formula cannot be read")

    def _selected(self, claim: Claim, context: Context, written: Written, wanted: bool) -> tuple[Claim, Context] | None:
        """The part of a claim that is judged, and in which context; or None: then its reason has been noted."""
        place = context.at(claim.at).assuming(claim.regime)
        if wanted or claim.always is not None or (claim.connectives and self._valued(claim, place)):
            return claim, context
        chains: list[Chain] = []
        skips: list[Skip] = []
        for chain in claim.chains:
            self._select(chain, place, chains, skips)
        open_at_sizes = any(skip.at_sizes for skip in skips) and not (claim.connectives or claim.at) and self.sizes
        if open_at_sizes and self._free(claim, place) <= set(self.sizes):
            return replace(claim, at=tuple(self.sizes.items())), context
        if chains:
            claim = replace(claim, propositions=(tuple(chains),), connectives=())
        restated = None if chains else self._restated(claim, written)
        self.condition = next((link for link in reversed(claim.links) if link.relation in ORDER), None)
        if not chains and restated is None:
            self._skip(written, skips[0].reason if skips else "it is not a claim")
        return (claim, context) if chains else restated

    @staticmethod
    def _free(claim: Claim, place: Context) -> set[str]:
        """The names that are left once a claim is expanded."""
        return {n for link in claim.links for side in (link.left, link.right) for n in names(place.put(side))}

    def _valued(self, claim: Claim, place: Context) -> bool:
        """Whether every name of a claim with <=> or => has a meaning here."""
        free, relations = self._free(claim, place), {link.relation for link in claim.links}
        if place.setting is not None:
            return not free & {"peak", "bandwidth"} and relations <= {*ORDER, "=", "~", "->"}
        if free & set(QUANTITIES):
            return free <= set(QUANTITIES) and relations <= set(ORDER)
        letters = {frozenset((*names(link.left), *names(link.right))) for link in claim.links if link.relation in ORDER}
        return relations <= {*ORDER, "="} and len(letters) == 1

    def _select(self, chain: Chain, place: Context, chains: list[Chain], skips: list[Skip]) -> None:
        """The links of a chain that are judged, as chains, and why the others are not."""
        self._note_sizes(chain, place)
        last = -2
        for i, link in enumerate(chain.links):
            chained = i > 0 and chain.relations[i - 1] in ("=", "~")
            skip = skipped(place.question(link), place, self.defined, chained=chained)
            if skip is not None:
                skips.append(skip)
                if set(chain.relations) == {"="}:  # what is approximated later may be used in either form
                    self._define(skip, link, place)
                elif skip.defines:
                    self.defined.pop(skip.defines, None)
            elif last == i - 1:
                chains[-1] = Chain((*chains[-1].sides, link.right), (*chains[-1].relations, link.relation))
                last = i
            else:
                chains.append(Chain((link.left, link.right), (link.relation,)))
                last = i

    def _note_sizes(self, chain: Chain, place: Context) -> None:
        """Sizes that are put in: B = 16, or D = F = 4096."""
        *letters, value = chain.sides
        sizes = {
            letter.name: value for letter in letters if isinstance(letter, Name) and letter.name in place.least_one
        }
        if set(chain.relations) == {"="} and is_numeric(value) and len(sizes) == len(letters):
            self.sizes |= sizes

    def _define(self, skip: Skip, link: Compare, place: Context) -> None:
        if skip.defines is None or skip.defines in names(link.right):
            return
        exercise, known = self.force.exercise, {*QUANTITIES, *self.force.context.definitions}
        if skip.defines in known and (exercise.problem is not None or exercise.hardware is not None):
            return  # the problem says what it is
        meaning = place.put(link.right)
        if skip.defines not in names(meaning) and not (is_numeric(meaning) and len(skip.defines) == 1):
            self.defined[skip.defines] = meaning

    def _restated(self, claim: Claim, written: Written) -> tuple[Claim, Context] | None:
        """A condition right after another one on the same letter, where both say the same: 2B > 240, or B > 120."""
        before = self.condition
        if before is None or written.before is None or len(claim.links) != 1 or claim.links[0].relation not in ORDER:
            return None
        link = claim.links[0]
        letters = {*names(before.left), *names(before.right)}
        if letters != {*names(link.left), *names(link.right)} or len(letters) != 1 or letters & set(QUANTITIES):
            return None
        context = replace(context_of(Exercise()), least_one=frozenset(letters))
        same = confirmed(context.question(Compare(before, "<=>", link)), context) is not None
        if not same and not any(word in written.before.casefold() for word in RESTATING):
            return None
        joined = tuple((Chain((one.left, one.right), (one.relation,)),) for one in (before, link))
        return replace(claim, propositions=joined, connectives=("<=>",)), context


def _why(error: SymroofError | RecursionError) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    column = f" (column {error.column})" if error.column is not None else ""
    return error.problem + column
