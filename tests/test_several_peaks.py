"""Contractions at several peaks on a mesh: where their time is longer than that of a link, against fractions on both sides."""

from fractions import Fraction
from random import Random

import pytest

import symroof as sr
from symroof.derivation import bottlenecks
from symroof.errors import CheckError
from symroof.formula import Compare, Verdict
from symroof.proof.step import number_of, role_of

TEXT = (
    "input x: bf16[B, D_X]; weight W: bf16[D_X, F]; weight V: int8[F, D]; "
    "h = x * W -> bf16[B, F]; q = convert(h) -> int8[B, F]; y = q * V -> int8[B, D_X]"
)
CHIP = {"peak.bf16": "1e12", "peak.int8": "3e12", "HBM": "1e10", "ICI": "1e9", "ICI.latency": "1e-6"}


def times(n, B, D, F):
    """T_math, T_X and the least time of hops, on a line of n chips."""
    each = Fraction(2 * B * D * F, n)
    return (
        each / 10**12 + each / (3 * 10**12),
        Fraction(2 * (n - 1) * 2 * B * F, n) / 10**9,
        2 * (n - 1) * Fraction(1, 10**6),
    )


@pytest.mark.thorough
@pytest.mark.parametrize("latency", [False, True])
def test_the_threshold_against_a_link_is_where_both_times_are_alike(latency):
    chosen, seen = Random(7), set()
    for _ in range(10):
        n, F = chosen.choice((2, 4, 8)), 8 * chosen.randint(1, 400)
        found = sr.derive(TEXT, on=CHIP, mesh=f"X={n} line", latency=latency)
        bound = found.answer.formula(role_of("threshold", "X"))
        assert isinstance(bound, Compare)
        assert (bound.left.name, bound.relation) == ("D", ">")
        for D in {n * chosen.randint(1, 2000) for _ in range(4)} | {n * 750, n * 1500, n * 3000}:
            B = 8 * chosen.randint(1, 99)
            math, sent, hops = times(n, B, D, F)
            here = sr.derive(TEXT, on=CHIP, mesh=f"X={n} line", latency=latency, at={"B": B, "D": D, "F": F})
            assert here.answer.at[0].number(number_of("T_math")) == math
            above = here.answer.at[0].formula(role_of("threshold", "X"))
            assert above == Verdict(math > sent)
            seen.add(math > sent)
            if latency:
                assert here.answer.at[0].formula(role_of("threshold", "latency")) == Verdict(math > hops)
    assert seen == {True, False}


def test_a_claim_is_judged_at_several_peaks():
    claims = ["T_math > T_X <=> D > 3000", "T_math > T_X <=> D > 2000"]
    found = sr.verify({"operation": TEXT, "hardware": CHIP, "mesh": {"X": "2 line"}, "claims": claims}).judgements
    assert [judgement.verdict for judgement in found] == ["wrong", "wrong"]
    right = sr.verify(
        {"operation": TEXT, "hardware": CHIP, "mesh": {"X": "2 line"}, "claims": ["T_math > T_X <=> D > 1500"]}
    )
    assert right.judgements[0].verdict == "holds"


def test_what_is_said_of_no_link_is_missed(monkeypatch):
    monkeypatch.setattr(bottlenecks, "_against", lambda draft, *a: draft)
    with pytest.raises(CheckError, match="nothing is said of where the arithmetic takes longer"):
        sr.derive(TEXT, on=CHIP, mesh="X=2 line")
