"""Random claims about conditions, judged beside exact fractions over whole sizes: none that is false is accepted, none that is
true is called wrong."""

import random
from fractions import Fraction

import pytest

import symroof as sr

pytestmark = pytest.mark.part(4)

MATMUL = "bf16[B, D] * bf16[D, F] -> bf16[B, F]"
CHIPS = {
    "tpu-v5e": Fraction(197 * 10**12, 820 * 10**9),
    "h100": Fraction(989 * 10**12, 3350 * 10**9),
    "tpu-v6e": Fraction(920 * 10**12, 1600 * 10**9),
}
SIZES = [*range(1, 12000), 10**6, 10**9]  # beyond the largest number of a condition nothing turns
TURNS = {"<": lambda a, b: a < b, "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b}


def bound(b, d, f, ridge, kind):
    math, memory = b * d * f * ridge.denominator, ridge.numerator * (b * d + d * f + b * f)
    return math > memory if kind == "compute" else math < memory


def least(d, f, ridge):
    """The least size that is compute-bound, or None."""
    return next((b for b in SIZES if bound(b, d, f, ridge, "compute")), None)


def comparison(draw, near, d, f):
    """A condition on B as text, and what it says of a size; its turn is somewhere about ``near``."""
    relation = draw.choice([*TURNS, ">", ">="])
    turn = max(1, near + draw.choice([0, 0, -1, 1, 2, 3, -7, 40]))
    shape = draw.choice(["B", "B", "max", "min", "sum", "times", "turned", "both"])
    holds = TURNS[relation]
    if shape == "max":
        low = draw.randint(1, 300)
        return f"max(B, {low}) {relation} {turn}", lambda b: holds(max(b, low), turn)
    if shape == "min":
        high = draw.randint(100, 900)
        return f"min(B, {high}) {relation} {turn}", lambda b: holds(min(b, high), turn)
    if shape == "sum":
        return f"D + F - B {relation} {d + f - turn}", lambda b: holds(d + f - b, d + f - turn)
    if shape == "times":
        k = draw.randint(2, 5)
        return f"{k}B + D {relation} {k * turn + d}", lambda b: holds(k * b + d, k * turn + d)
    if shape == "turned":
        return f"{turn} {relation} B", lambda b: holds(turn, b)
    if shape == "both":
        more = turn + draw.randint(0, 900)
        return f"{turn} <= B < {more}", lambda b: turn <= b < more
    return f"B {relation} {turn}", lambda b: holds(b, turn)


def condition(draw, near, d, f, depth=0):
    kind = draw.random()
    if depth == 2 or kind < 0.6:
        return comparison(draw, near, d, f)
    if kind < 0.7:
        text, says = condition(draw, near, d, f, depth + 1)
        return f"not ({text})", lambda b: not says(b)
    (one, first), (other, second) = (condition(draw, near, d, f, depth + 1) for _ in range(2))
    word = draw.choice(["and", "or"])
    return f"({one}) {word} ({other})", (lambda b: first(b) and second(b)) if word == "and" else (
        lambda b: first(b) or second(b)
    )


def claims(seed, count=20):
    """A problem with claims; of each the sizes at which it is false, and where its bound is."""
    draw = random.Random(seed)
    chip = draw.choice(list(CHIPS))
    d, f = (draw.choice([256, 300, 512, 900, 1024, 4096, 8192]) for _ in range(2))
    near = least(d, f, CHIPS[chip])
    if near is not None and near > 10000:  # further than is counted here
        d, f, near = 8192, 8192, least(8192, 8192, CHIPS[chip])
    problem, truths = {"operation": MATMUL, "hardware": chip, "count": "fma", "claims": []}, []
    for _ in range(count):
        text, says = condition(draw, near or draw.randint(100, 900), d, f)
        kind = draw.choice(["compute", "compute", "memory"])
        stands = [(bound(b, d, f, CHIPS[chip], kind), says(b)) for b in SIZES]
        form = draw.choice(["when", "<=>", "=>", "or never"])
        if form == "=>":
            problem["claims"].append(f"({text}) => {kind}-bound at D = {d}, F = {f}")
            false = [b for b, (is_bound, said) in zip(SIZES, stands, strict=True) if said and not is_bound]
        elif form == "or never":
            problem["claims"].append(f"{kind}-bound {(word := draw.choice(['never', 'always']))} at D = {d}, F = {f}")
            false = [b for b, (is_bound, _) in zip(SIZES, stands, strict=True) if is_bound != (word == "always")]
        else:
            problem["claims"].append(f"{kind}-bound {form} {text} at D = {d}, F = {f}")
            false = [b for b, (is_bound, said) in zip(SIZES, stands, strict=True) if is_bound != said]
        truths.append((false, near))
    return problem, truths


def disagreements(seed):
    """Claims that are false and accepted, or true and called wrong. A bound may be rounded, by less than 1 %, where that is said."""
    problem, truths = claims(seed)
    for judgement, (false, near) in zip(sr.verify(problem).judgements, truths, strict=True):
        close = near is not None and all(abs(b - near) <= near / 100 + 1 for b in false)
        accepted = {"holds": not false, "rounded": close, "wrong": bool(false), "conditional": False}
        if not accepted.get(judgement.verdict, True):
            yield problem["hardware"], judgement.claim, judgement.verdict, false[:4], near


@pytest.mark.thorough
@pytest.mark.part(2)
@pytest.mark.parametrize("seed", range(30))
def test_conditions_are_judged_as_whole_sizes_have_them(seed):
    assert list(disagreements(seed)) == []


@pytest.mark.thorough
def test_claims_of_both_kinds_were_drawn_and_most_are_decided():
    truths = [not false for seed in range(30) for false, _ in claims(seed)[1]]
    assert min(truths.count(True), truths.count(False)) > 60
    found = [j.verdict for seed in range(6) for j in sr.verify(claims(seed)[0]).judgements]
    assert found.count("undecided") + found.count("unreadable") < len(found) / 10
