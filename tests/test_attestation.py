"""What a report says is looked at once more in numbers: a finding with another verdict, value, share or point is none."""

import tomllib
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

import symroof as sr
from symroof.errors import SymroofError
from symroof.formula import Compare, Formula, Sum, Verdict, number
from symroof.verification import links
from symroof.verification.attestation import CONDITIONS, REMARKS, attested
from symroof.verification.judgement import GOOD, Remark

DATA = Path(__file__).parent / "data"
PROBLEMS = tomllib.loads((DATA / "claims.toml").read_text("utf-8"), parse_float=str)["problem"]
MATMUL = {"operation": "matmul", "hardware": "tpu-v5e"}
CLEAR = {
    "intensity = BDF/(BD + DF + BF)": {},
    "intensity = BDF/(BD + DF)": {},
    "intensity ~ B": {"assume": ["B << D, F"]},
    "intensity ~ D": {"assume": ["B << D, F"]},
    "compute-bound when B > 240": {"assume": ["B << D, F"]},
    "compute-bound when B > 480": {"assume": ["B << D, F"]},
    "flops = 2BDF": {},
    "flops = 3BDF": {},
    "ridge = 240.24": {},
    "ridge = 300": {},
    "T_math = 174.4 us at B = 256, D = F = 8192": {},
    "intensity < B": {},
    "intensity > B": {},
}


@pytest.fixture
def found(monkeypatch):
    """The findings on claims, each with its question, as they were before they were looked at again."""
    pairs, original = [], links.attested

    def noted(finding, question):
        pairs.append((finding, question))
        return original(finding, question)

    monkeypatch.setattr(links, "attested", noted)
    return pairs


def another(value):
    match value:
        case Verdict(holds=holds):
            return Verdict(not holds)
        case Compare():
            return replace(value, right=another(value.right))
        case Formula():
            return Sum((value, value, number(1)))
    return 2 * value


def changed(finding):
    """The finding with one of its parts changed, each by the name of the part."""
    plain = replace(finding, counterexample=None, value=None, remarks=())
    if finding.verdict in ("holds", "rounded"):
        yield "verdict", replace(plain, verdict="wrong")
    if finding.verdict in ("wrong", "conditional"):
        yield "verdict", replace(plain, verdict="holds", needs=())
    if finding.value is not None:
        yield "value", replace(finding, value=another(finding.value))
    shown = finding.counterexample
    if shown is not None and shown.left:
        left = not shown.left if isinstance(shown.left, bool) else 2 * shown.left
        yield "counterexample", replace(finding, counterexample=replace(shown, left=left))
    for i, remark in enumerate(finding.remarks):
        if remark.kind in REMARKS:
            for name, fact in remark.facts.items():
                number_or_formula = (
                    isinstance(fact, Formula | Fraction | int) and not isinstance(fact, bool) and fact != 0
                )
                if name != "variable" and number_or_formula and "Infinity" not in repr(fact):
                    other = Remark(remark.kind, {**remark.facts, name: another(fact)})
                    yield (
                        f"{remark.kind}.{name}",
                        replace(finding, remarks=(*finding.remarks[:i], other, *finding.remarks[i + 1 :])),
                    )


def refused(finding, question):
    try:
        return attested(finding, question).verdict == "undecided"
    except SymroofError:
        return True


@pytest.mark.parametrize("claim", CLEAR)
def test_another_finding_on_a_clear_claim_is_none(claim, found):
    sr.verify({**MATMUL, **CLEAR[claim], "claims": [claim]})
    faults = [(part, other, question) for finding, question in found for part, other in changed(finding)]
    assert faults
    assert [(part, question.link, other) for part, other, question in faults if not refused(other, question)] == []


def _coarse(part, finding, question):
    """What numbers at points cannot tell: a verdict near an edge, or on numbers in print; what stands for a condition with
    cases; and units that nobody wrote."""
    kinds = {remark.kind for remark in finding.remarks}
    cases = part == "value" and question.link.relation in CONDITIONS
    return (
        part == "verdict"
        or cases
        or "taken_as" in kinds
        or not any(finding.remarks[0].facts.values() if finding.remarks else (1,))
    )


@pytest.mark.thorough
def test_nothing_that_a_report_says_can_be_another_number(found):
    said = {}
    for problem in PROBLEMS:
        found.clear()
        sr.verify(problem)
        for finding, question in found:
            if finding.verdict in (*GOOD, "wrong") and finding.by != "units" and attested(finding, question) is finding:
                for part, other in changed(finding):
                    if not _coarse(part, finding, question):
                        said.setdefault(part, []).append((refused(other, question), question.link))
    assert {"value", "counterexample", "factor.factor", "whole.first", "rounded.share"} <= {*said}
    missed = {part: [link for held, link in every if not held] for part, every in said.items()}
    for part, every in missed.items():
        assert len(every) <= 1 + len(said[part]) / 100, (part, every)
    assert sum(map(len, missed.values())) < sum(map(len, said.values())) / 100


def test_what_is_not_so_at_points_is_undecided_with_its_reason(monkeypatch):
    honest = links.proved
    monkeypatch.setattr(
        links, "proved", lambda question: replace(honest(question), verdict="holds", remarks=(), counterexample=None)
    )
    (judgement,) = sr.verify({**MATMUL, "claims": ["intensity = BDF/(BD + DF)"]}).judgements
    assert judgement.verdict == "undecided"
    assert [remark.kind for remark in judgement.worst.remarks] == ["not_attested"]
    text = sr.verify({**MATMUL, "claims": ["intensity = BDF/(BD + DF)"]}).to_text()
    assert "numbers at points do not agree" in text
