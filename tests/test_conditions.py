"""Random conditions against their truth in exact fractions; what is drawn is solved by no part of the package.

By hand: ``python tests/test_conditions.py 20000 [seed]``.
"""

import sys
from collections import Counter
from fractions import Fraction
from itertools import product
from operator import eq, ge, gt, le, lt
from random import Random

import pytest
from effort import draws

import symroof as sr
from symroof.errors import ReadingError
from symroof.formula import Both, Cases, Compare, Either, Name, Verdict, nodes
from symroof.proof.propositions import without_cases
from symroof.reading.claim_sets import read_exercise
from symroof.reading.claims import read_claim, read_regime
from symroof.reading.name_scope import Scope
from symroof.verification.claim_context import context_of
from symroof.verification.judge import judge

RELATIONS = {"<": lambda a, b: a < b, "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b}
TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
SIDES = {
    "A": lambda a, b, c: a, "A*B": lambda a, b, c: a * b, "A/B": lambda a, b, c: a / b, "A*B/(A + B)": lambda a, b, c: a * b / (a + b),
    "1/A + 1/B": lambda a, b, c: 1 / a + 1 / b, "A + B": lambda a, b, c: a + b, "A*B*C/(A*B + B*C + A*C)": lambda a, b, c: a * b * c / (a * b + b * c + a * c),
    "A^2": lambda a, b, c: a * a, "1/A + 1/B + 1/C": lambda a, b, c: 1 / a + 1 / b + 1 / c, "A/(B + C)": lambda a, b, c: a / (b + c),
}  # fmt: skip
# How a condition may be written in other words: what is done to both sides, and whether that turns the order round.
WAYS = {
    "{k}*({s})": (lambda s, k: k * s, False), "({s})/{k}": (lambda s, k: s / k, False), "{k}/({s})": (lambda s, k: k / s, True),
    "({s})^2": (lambda s, k: s * s, False), "C*({s})": (None, False), "({s}) + {k}": (lambda s, k: s + k, False),
}  # fmt: skip
CONTEXT = context_of(read_exercise({"claims": ["1 = 1"]}))


def drawn(random):
    """A claim P <=> Q or P => Q, and its truth as a function of a point; Q is P in other words, sometimes with a slip."""
    name, side = random.choice(list(SIDES.items()))
    bound, factor = Fraction(random.randint(2, 400), random.choice((1, 1, 2, 3, 7))), random.randint(2, 9)
    sign = random.choice(list(RELATIONS))
    form, (change, turns) = random.choice(list(WAYS.items()))
    right = TURNED[sign] if turns else sign
    level = bound if change is None else change(bound, Fraction(factor))
    slip = random.choice((None, None, "level", "sign", "strict"))
    if slip == "level":
        level *= Fraction(random.choice((90, 97, 103, 150)), 100)
    if slip == "sign":
        right = TURNED[right]
    if slip == "strict":
        right = right[0] if len(right) == 2 else right + "="
    left = form.format(s=name, k=factor)
    link = random.choice(("<=>", "<=>", "=>"))
    q = (left, right, f"C*{printed(level)}" if change is None else printed(level))
    p = (name, sign, printed(bound))
    parts = [" ".join(one if random.random() < 0.7 else (one[2], TURNED[one[1]], one[0])) for one in (p, q)]
    turned = link == "<=>" and random.random() < 0.4
    text = f" {link} ".join(parts[::-1] if turned else parts)

    def true(a, b, c):
        s = side(a, b, c)
        first = RELATIONS[sign](s, bound)
        second = RELATIONS[right](s if change is None else change(s, Fraction(factor)), level)
        return first == second if link == "<=>" else not first or second

    return text, true, side, bound, (level, factor)


def printed(value):
    return f"{value.numerator}" if value.denominator == 1 else f"{value.numerator}/{value.denominator}"


def refuted(true, side, bound, other):
    """Whether it is false at one of many points, those on and beside both edges among them; positive numbers all."""
    level, factor = other
    edges = {bound, level, level * factor, level / factor, factor / level, Fraction(level - factor)}
    places = {
        edge * Fraction(share, 1000) for edge in edges for share in (500, 985, 999, 1000, 1001, 1015, 2000) if edge > 0
    }
    for value in places:
        for b in (Fraction(1), Fraction(1000), value * 2):
            for a in on_edge(side, value, b):
                if not true(a, b, Fraction(7)):
                    return True
    return False


def on_edge(side, value, b):
    """The A with the side equal to a value, where it is linear in A or 1/A: by two points of it; and the value itself."""
    yield value
    c = Fraction(7)
    for put in (lambda x: x, lambda x: 1 / x):
        for done in (lambda y: y, lambda y: 1 / y):
            y1, y2 = done(side(put(Fraction(1)), b, c)), done(side(put(Fraction(2)), b, c))
            if y1 != y2:
                x = 1 + (done(value) - y1) / (y2 - y1)
                if x > 0 and side(put(x), b, c) == value:
                    yield put(x)


def judged(count, seed):
    random, outcomes = Random(seed), Counter()
    for _ in range(count):
        text, true, side, bound, other = drawn(random)
        verdict = judge(read_claim(text, CONTEXT.scope), CONTEXT, explain=False)
        false = refuted(true, side, bound, other)
        outcomes[verdict.verdict, false] += 1
        if verdict.verdict == "holds":
            assert not false, f"false and accepted: {text}"
        if verdict.verdict == "wrong":
            point = {name: verdict.worst.counterexample.values.get(name, Fraction(1)) for name in "ABC"}
            assert min(point.values()) > 0, f"outside of the domain: {text}"
            assert not true(*point.values()), f"no counterexample: {text}"
    return outcomes


@pytest.mark.thorough
def test_random_conditions_are_judged_as_they_are():
    outcomes = judged(draws(150), 5)
    accepted = outcomes["holds", False]
    assert accepted >= draws(40), outcomes
    assert outcomes["wrong", True] >= draws(40), outcomes
    assert sum(n for (verdict, _), n in outcomes.items() if verdict == "undecided") <= 15, outcomes


def test_a_condition_by_cases_says_on_one_line_what_it_says_by_cases():
    """Whatever its parts are true of: every list of up to two guards, with every outcome, at every point of a grid. The guards of
    two cases exclude one another or do not."""
    b, d, f = map(Name, "BDF")
    guards, outcomes = (
        (Compare(d, ">", f), Compare(d, "<", f), Compare(d, "<=", f)),
        (Compare(b, ">", f), Compare(b, "<=", d), Verdict(True), Verdict(False)),
    )
    rows = [((then, guard),) for then, guard in product(outcomes, guards)]
    rows += [(*one, *other) for one, other in product(rows, rows)]
    order = {">": gt, "<": lt, "<=": le, ">=": ge, "=": eq}

    def holds(formula, at):
        match formula:
            case Verdict(holds=known):
                return known
            case Both(parts=parts):
                return all(holds(part, at) for part in parts)
            case Either(parts=parts):
                return any(holds(part, at) for part in parts)
            case Cases(rows=cases, otherwise=rest):
                return next(
                    (holds(then, at) for then, guard in cases if holds(guard, at)), rest is not None and holds(rest, at)
                )
        return order[formula.relation](at[formula.left.name], at[formula.right.name])

    for cases, rest in product(rows, (None, *outcomes)):
        said = Cases(cases, rest)
        plain = without_cases(said)
        assert not any(isinstance(node, Cases) for node in nodes(plain))
        for point in product(range(3), repeat=3):
            at = dict(zip("BDF", point, strict=True))
            assert holds(plain, at) == holds(said, at), (said, plain, at)


@pytest.mark.parametrize("text", ["B << D )", "B << D,", "B -> oo; D"])
def test_a_regime_ends_where_it_ends(text):
    with pytest.raises(ReadingError):
        read_regime(text, Scope(("B", "D", "F")))


@pytest.mark.thorough
@pytest.mark.parametrize("chip", [None, "tpu-v5e"])
def test_a_place_is_on_a_side_where_there_is_a_ridge(chip):
    (place,) = sr.regimes("matmul", at="B=64,D=F=8192", on=chip).to_dict()["at"]
    assert place["compute_bound"] is (None if chip is None else False)


def test_sizes_are_written_as_they_were_put_in():
    page = sr.derive("matmul", on="tpu-v5e", at="B=2.5,D=10,F=8192").to_text()
    assert "B = 2.5, D = 10, F = 8192" in page


if __name__ == "__main__":
    print(judged(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1))
