"""What the judge says: findings on links, and the judgement of a claim, which is its worst link."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from symroof.errors import ReadingError, SymroofError
from symroof.formula import Compare, Formula
from symroof.proof.step import Check
from symroof.reading.claim_sets import VERDICTS
from symroof.reading.claims import Claim

GOOD = ("holds", "rounded", "conditional")
ACCEPTED = ("holds", "rounded")
# Why formulas of a document are not judged: kinds by their cause, which is what would have to be different.
OMISSIONS: Mapping[str, tuple[str, ...]] = {
    "assumption": ("assumption",),
    "condition": ("condition",),
    "definition": ("definition",),
    "size": ("size", "at_sizes"),
    "no model": ("no_chip", "no_meaning", "words", "no_width", "row"),
    "equation": ("equation", "other_letters", "letters_added", "letters_alone"),
    "unreadable": ("unreadable", "no_left", "too_deep", "function"),
    "code": ("code",),
    "not a claim": ("operation", "ignored", "no_claim", "membership", "assignment"),
    "undecided": ("too_long", "not_decided"),
}
# Formulas that are skipped for these claim nothing.
CLAIMLESS = ("assumption", "condition", "definition", "size", "code", "not a claim")
CAUSES = {kind: cause for cause, kinds in OMISSIONS.items() for kind in kinds}
IN_NUMBERS = Check("proved", "exact numbers")


@dataclass(frozen=True, slots=True)
class Remark:
    """Something to say about a finding: a kind, which has one macro in the templates, and what it speaks of."""

    kind: str
    facts: Mapping[str, Any] = field(default_factory=dict)


class Omission(Remark):
    """Why a formula, or a link of it, is not judged: a kind, which has one macro in the templates, and what it speaks of."""

    __slots__ = ()

    @property
    def cause(self) -> str:
        """The group of its kind, by which omissions are counted.

        >>> Omission("other_letters").cause
        'equation'
        """
        return CAUSES[self.kind]

    @staticmethod
    def unreadable(error: SymroofError) -> Omission:
        """What could not be read, and where."""
        return Omission("unreadable", {"problem": error.problem, "column": error.column})


@dataclass(frozen=True, slots=True)
class Counterexample:
    """Sizes at which the claim fails, and what its two sides are there, as numbers or truth values.

    ``parts`` are what the left condition of an equivalence compares, with their values and units.
    """

    values: Mapping[str, Fraction]
    left: Fraction | bool | None = None
    right: Fraction | bool | None = None
    parts: tuple[tuple[Formula, Fraction, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """The verdict on one link, and the check that it rests on; None where nothing decided it.

    ``value`` is what the failing side should be, ``whole`` the same of the whole numbers that are left to a size;
    ``needs`` are alternatives of relations under which the link is true,
    and ``leaves`` is the factor by which it is then off.
    """

    link: Formula
    verdict: str
    check: Check | None = None
    value: Formula | None = None
    remarks: tuple[Remark, ...] = ()
    needs: tuple[tuple[Compare, ...], ...] = ()
    leaves: Formula | None = None
    counterexample: Counterexample | None = None
    diagnosis: Remark | None = None
    unit: str = ""
    whole: Compare | None = None

    @property
    def by(self) -> str:
        """What decided the link, in the words of the second engine."""
        return self.check.by if self.check is not None else ""


@dataclass(frozen=True, slots=True)
class Judgement:
    """The judgement of a claim. ``line`` and ``column`` count from 1 and are None where the claim has no place.

    ``statement`` is the claim as it was read, ``reason`` why there is no finding; ``error`` is that of a reader,
    ``sentence`` the words of a document around it, ``assumed`` the regime that the problem states for it. Where a baseline
    accepts it, ``accepted`` is the reason that stands there. Where its author prints what is ``nearest``, numbers that are
    cut off, or off by more than 5 %, may not stand.
    """

    claim: str
    verdict: str
    findings: tuple[Finding, ...] = ()
    problem: str | None = None
    line: int | None = None
    column: int | None = None
    expect: str | None = None
    source: str | None = None
    error: str | None = None
    statement: Claim | None = None
    reason: Remark | None = None
    sentence: str | None = None
    assumed: tuple[Compare, ...] = ()
    accepted: str | None = None
    nearest: bool = False

    @property
    def worst(self) -> Finding | None:
        """The finding that decides the verdict: the first of the worst ones."""
        return max(self.findings, key=lambda finding: VERDICTS.index(finding.verdict), default=None)

    @property
    def good(self) -> bool:
        """Whether the verdict is the expected one; without an expectation, whether the claim may stand."""
        if self.expect is not None:
            return self.verdict == self.expect
        return self.verdict in GOOD and not (self.nearest and self.is_cut)

    @property
    def doubtful(self) -> bool:
        """Whether a strict reader objects: it rests on a regime that nobody stated, or on a number that is cut off."""
        return self.verdict == "conditional" or self.is_cut

    @property
    def is_noted(self) -> bool:
        """Whether a good claim says something else than a derivation of it: in the other count, or because no number of
        chips is between its bound and the true one."""
        remarks = [remark for finding in self.findings for remark in finding.remarks]
        noted = any(remark.kind == "other_count" or remark.facts.get("between") for remark in remarks)
        return noted and self.verdict in ACCEPTED and self.expect is None

    @property
    def is_cut(self) -> bool:
        """Whether a printed number is cut off, or off by more than 5 %."""
        remarks = [remark for finding in self.findings for remark in finding.remarks]
        cut = any(remark.kind == "truncated" or remark.facts.get("off") for remark in remarks)
        return self.verdict == "rounded" and cut


def undecided(link: Formula, kind: str, value: Formula | None = None, **facts: Any) -> Finding:
    """The finding on a link that is neither proved nor refuted, and why."""
    return Finding(link, "undecided", None, value, (Remark(kind, facts),))


def worst(findings: tuple[Finding, ...]) -> str:
    """The verdict of a claim with these links.

    >>> worst((Finding(None, "rounded"), Finding(None, "holds")))
    'rounded'
    """
    return max((finding.verdict for finding in findings), key=VERDICTS.index)


@dataclass(frozen=True, slots=True)
class Skipped:
    """A formula of a document that is not judged, and why; or a ``link`` of one of which others are."""

    line: int
    column: int
    text: str
    reason: Omission
    link: Compare | None = None


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many formulas of a document relate two sides, and how many of these nothing was judged of, by cause."""

    formulas: int = 0
    skipped: Mapping[str, int] = field(default_factory=dict)

    @property
    def judged(self) -> int:
        return self.formulas - sum(self.skipped.values())

    @property
    def judgeable(self) -> int:
        """How many claim something: without definitions, conditions, assumptions, sizes, code and operations.

        >>> Coverage(10, {"definition": 3, "unreadable": 2}).judgeable
        7
        """
        return self.formulas - sum(count for cause, count in self.skipped.items() if cause in CLAIMLESS)

    @property
    def share(self) -> Fraction:
        """The share of the formulas that claim something that is judged; all of them where there are none."""
        return Fraction(self.judged, self.judgeable) if self.judgeable else Fraction(1)


@dataclass(frozen=True, slots=True)
class Standard:
    """What is a finding besides a claim that is not good: with ``strict`` one that needs an unstated regime, with
    ``require`` a document of which nothing was judged, and less than a share that is judged."""

    strict: bool = False
    require: bool = False
    coverage: Fraction = Fraction(0)

    def met_by(self, judgement: Judgement) -> bool:
        if judgement.accepted is not None:
            return True
        return judgement.good and not (self.strict and judgement.expect is None and judgement.doubtful)


@dataclass(frozen=True, slots=True)
class FileReport:
    """The judgements on one file. ``error`` is why it could not be read; ``notes`` counts its comments or problems;
    ``lang`` is the language that all of its problems ask for, that of a document the one that its comments or settings say.
    That nothing of it is judged may be ``accepted``."""

    file: str
    judgements: tuple[Judgement, ...]
    kind: str
    notes: int = 0
    skipped: tuple[Skipped, ...] = ()
    coverage: Coverage = Coverage()
    error: str | None = None
    lang: str | None = None
    accepted: bool = False

    @property
    def counts(self) -> dict[str, int]:
        """How many judgements there are of each verdict."""
        return {verdict: sum(j.verdict == verdict for j in self.judgements) for verdict in VERDICTS}

    def require_read(self) -> FileReport:
        """The report, where the file could be read. Raises :class:`ReadingError` otherwise."""
        if self.error is not None:
            raise ReadingError(self.error)
        return self

    def lacking(self, standard: Standard) -> bool:
        """Whether nothing was judged where something should have been: in a file of claims, in a document with comments."""
        demanded = self.kind == "problems" or self.notes > 0 or standard.require
        return self.error is None and not self.judgements and demanded and not self.accepted

    def short(self, standard: Standard) -> bool:
        """Whether less of a document is judged than its author asks for."""
        return self.kind == "document" and self.error is None and self.coverage.share < standard.coverage

    def findings(self, standard: Standard | None = None) -> bool:
        """Whether there is something to mend."""
        standard = standard or Standard()
        return self.lacking(standard) or self.short(standard) or not all(map(standard.met_by, self.judgements))
