"""Deliberate faults of the judge: each has to change a verdict of the corpus."""

import tomllib
from fractions import Fraction
from pathlib import Path

import pytest

import symroof.proof.settling
import symroof.verification.approximations as approximations
import symroof.verification.bounds as bounds
import symroof.verification.digits as digits
import symroof.verification.judge as judge
import symroof.verification.links as links
import symroof.verification.literals as literals
import symroof.verification.unknowns as unknowns
from symroof.proof.prover import Prover
from symroof.proof.settling import Settled
from symroof.reading.exercises import read_exercise
from symroof.verification.context import Context
from symroof.verification.digits import Rounding
from symroof.verification.judge import judge_exercise

PROBLEMS = tomllib.loads((Path(__file__).parent / "data" / "claims.toml").read_text("utf-8"), parse_float=str)["problem"]


def any_digits_will_do(m):
    m.setattr(literals, "rounding", lambda true, printed: Rounding("rounded", 2))


def truncation_is_not_rounding(m):
    original = digits.rounding

    def strict(true, printed):
        found = original(true, printed)
        return None if found is not None and found.how == "truncated" else found

    m.setattr(literals, "rounding", strict)


def guards_are_forgotten(m):
    m.setattr(unknowns, "eventually_positive", lambda *_: True)
    m.setattr(bounds, "eventually_positive", lambda *_: True)


def edges_are_forgotten(m):
    m.setattr(unknowns.Unknown, "closed", property(lambda self: self.relation in (">=", "<=")))


def directions_are_forgotten(m):
    original = unknowns.Unknown.edge

    def edge(self, regime, context):
        found = original(self, regime, context)
        return None if found is None else (found[0], self.relation in (">", ">="))

    m.setattr(unknowns.Unknown, "edge", edge)


def contradictions_are_welcome(m):
    m.setattr(judge, "_require_possible", lambda context: None)


def sizes_may_be_anything(m):
    m.setattr(Context, "_require_size", lambda self, name, value: None)


def everything_is_near(m):
    m.setattr(approximations, "near", lambda a, b, context, regime: "certificate")


def signs_of_limits_are_forgotten(m):
    m.setattr(approximations, "eventually_positive", lambda *_: True)


def functions_always_have_a_value(m):
    m.setattr(Prover, "_defined", lambda self, premises: True)


def a_printed_term_may_hide_a_difference(m):
    m.setattr(literals, "_is_factor", lambda literal, side: True)


def units_are_forgotten(m):
    m.setattr(links, "disagreement", lambda link, context: None)


def what_z3_leaves_open_holds(m):
    original = symroof.proof.settling.settle

    def settle(claim, least_one, facts=()):
        found = original(claim, least_one, facts)
        return Settled(True, "hope") if found.truth is None and found.point is None else found

    m.setattr(links, "settle", settle)


def one_count_for_each_link(m):
    def findings(claim, context):
        found = judge._findings(claim, context)
        other = judge._findings(claim, context.other) if context.other else found
        return tuple(a if a.verdict in ("holds", "rounded") else b for a, b in zip(found, other, strict=True))

    m.setattr(judge, "_counted_either_way", findings)


def five_percent_for_equality(m):
    original = literals.compare_numbers

    def compare(link, left, right, context):
        from symroof.formula import Compare

        return original(Compare(link.left, "~", link.right) if link.relation == "=" else link, left, right, context)

    m.setattr(links, "compare_numbers", compare)


def no_tolerance(m):
    original = literals.compare_numbers
    from dataclasses import replace

    m.setattr(links, "compare_numbers", lambda link, left, right, context: original(link, left, right, replace(context, tolerance=Fraction(0))))


FAULTS = [
    any_digits_will_do, truncation_is_not_rounding, guards_are_forgotten, edges_are_forgotten, directions_are_forgotten, contradictions_are_welcome,
    sizes_may_be_anything, everything_is_near, signs_of_limits_are_forgotten, functions_always_have_a_value, a_printed_term_may_hide_a_difference,
    units_are_forgotten, what_z3_leaves_open_holds, one_count_for_each_link, five_percent_for_equality, no_tolerance,
]  # fmt: skip


def surprised():
    """The first claim of the corpus whose verdict is not the expected one."""
    for problem in (PROBLEMS[0], *reversed(PROBLEMS[1:])):
        for found in judge_exercise(read_exercise(problem)):
            if found.verdict not in ((found.expect,) if found.expect else ("holds", "rounded")):
                return found.claim
    return None


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_a_fault_of_the_judge_is_noticed(fault, monkeypatch):
    monkeypatch.setattr(judge, "diagnosed", lambda finding, context: finding)
    fault(monkeypatch)
    assert surprised() is not None

# That a judge without a fault surprises nobody is what tests/test_claims.py asserts, claim by claim.
