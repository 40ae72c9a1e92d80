"""Thresholds that people claim, near the true one, in sides that rise, fall or hide their size: against exact fractions."""

from fractions import Fraction
from operator import ge, gt, le, lt
from random import Random

import pytest
from effort import draws

import symroof as sr

# What stands on the left side of a condition, as a function of B at D = F = 8192: rising and falling, and behind terms.
SIDES = {
    "B": lambda b: b, "2B": lambda b: 2 * b, "B*D": lambda b: 8192 * b, "B^2": lambda b: b * b, "B + 1": lambda b: b + 1, "B + D": lambda b: b + 8192,
    "1/B": lambda b: 1 / b, "D/B": lambda b: 8192 / b, "-B": lambda b: -b, "1000 - B": lambda b: 1000 - b, "100000 - B": lambda b: 100000 - b,
    "B/(B + 1)": lambda b: b / (b + 1), "1 - 1/B": lambda b: 1 - 1 / b, "B + 1000000": lambda b: b + 10**6, "max(B, 10)": lambda b: max(b, 10),
}  # fmt: skip
HOLDS = {">": gt, ">=": ge, "<": lt, "<=": le}


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(6))
def test_conditions_that_are_accepted_are_true_or_nearly_so(seed):
    """Random thresholds, with a bound somewhere near the true one: accepted as they stand only where no whole size refutes them,
    and as rounded only where the sizes that they part are within a few percent of each other."""
    draw, claims = Random(seed), []
    for _ in range(draws(40)):
        side, relation, arrow = draw.choice([*SIDES]), draw.choice([*HOLDS]), draw.choice(["<=>", "=>"])
        bound = SIDES[side](Fraction(draw.choice([100, 200, 240, 254, 255, 256, 257, 270, 300, 512])))
        if draw.random() < 0.5 and bound > 0:
            digits = draw.choice([1, 2, 3])
            bound = Fraction(f"{float(bound):.{digits - 1}e}")
        number = str(bound) if bound.denominator == 1 else f"{bound.numerator}/{bound.denominator}"
        claims.append(
            (side, relation, arrow, bound, f"T_math > T_comms {arrow} {side} {relation} {number} at D = F = 8192")
        )
    judged = sr.verify(
        {"operation": "bf16[B, D] * bf16[D, F] -> bf16[B, F]", "hardware": "tpu-v5e", "claims": [c[-1] for c in claims]}
    ).judgements
    for (side, relation, arrow, bound, claim), found in zip(claims, judged, strict=True):
        said = {b: HOLDS[relation](SIDES[side](Fraction(b)), bound) for b in (*range(1, 1200), 10**4, 10**6)}
        parted = [b for b, holds in said.items() if (b > 255 and not holds) or (arrow == "<=>" and b <= 255 and holds)]
        if found.verdict == "holds":
            assert not parted, claim
        elif found.verdict == "rounded":
            assert all(abs(b / 255.2 - 1) < 0.25 for b in parted), claim
