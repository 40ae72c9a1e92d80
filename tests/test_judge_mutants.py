"""Deliberate faults of the judge: each has to change a verdict of the corpus."""

import tomllib
from dataclasses import replace
from fractions import Fraction
from functools import cache, partial
from inspect import isfunction
from pathlib import Path

import pytest
from sympy import Expr
from test_gate import (
    FAULTS as PRODUCERS,
    _nothing_is_remembered,  # noqa: F401 (a fixture)
    doubled,
    forget,
    put_in,
)

import symroof.proof.quotients as exact
import symroof.verification.approximations as approximations
import symroof.verification.claim_functions as constructions
import symroof.verification.condition_match as thresholds
import symroof.verification.conditions as conditions
import symroof.verification.context as context
import symroof.verification.counterexamples as counterexamples
import symroof.verification.intervals as intervals
import symroof.verification.judge as judge
import symroof.verification.link_verdicts as relations
import symroof.verification.number_chains as number_chains
import symroof.verification.unit_agreement as unit_agreement
from symroof.formula import Compare, Formula, Group, Name, Number, Product, Quotient, Sum, mapped, names, number
from symroof.proof.polynomials import Poly
from symroof.proof.propositions import Decision
from symroof.proof.prover import Prover
from symroof.proof.quotients import ORDER
from symroof.proof.step import Check, Step
from symroof.reading.claim_sets import read_exercise
from symroof.verification.context import Context
from symroof.verification.intervals import Enclosure
from symroof.verification.judge import judge_exercise
from symroof.verification.verdicts import GOOD, Remark

pytestmark = pytest.mark.part(4)

DATA = (Path(__file__).parent / "data" / "claims.toml").read_text("utf-8")
PROBLEMS = tomllib.loads(DATA, parse_float=str)["problem"]


def some_digits(original):
    return lambda true, printed: Remark("rounded", {"digits": 2, "value": true.middle})


def no_truncation(original):
    return lambda *sides: None if (found := original(*sides)) is not None and found.kind == "truncated" else found


def without_edges(original):
    def pair(*arguments):
        if (sides := original(*arguments)) is None:
            return None
        strict = (replace(side, relation=side.relation[0]) if isinstance(side, Compare) else side for side in sides[:2])
        return thresholds.Pair(*strict, sides.shown)

    return pair


def hopeful(original):
    def settle(claim, least_one, facts=()):
        found = original(claim, least_one, facts)
        return Decision(True, "hope") if found.truth is None and found.point is None else found

    return settle


def a_count_for_each_link(original):
    def findings(claim, place):
        found = [judge.decide(place.question(link)) for link in judge.links_of(claim)]
        other = [judge.decide(place.other.question(link)) for link in judge.links_of(claim)] if place.other else found
        return tuple(a if a.verdict in ("holds", "rounded") else b for a, b in zip(found, other, strict=True))

    return findings


def one_count(original):
    return lambda claim, place: tuple(judge.decide(place.question(link)) for link in judge.links_of(claim))


def near_for_equal(original):
    def compare(question):
        link = question.link
        return original(replace(question, link=replace(link, relation="~") if link.relation == "=" else link))

    return compare


def intolerant(original):
    return lambda question: original(replace(question, context=replace(question.context, tolerance=Fraction(0))))


def one_reading(original):
    return lambda question: (question, question)


def no_zeros(original):
    return lambda printed: (1, original(printed)[1] * 10) if printed.value in (200, 3000) else original(printed)


def doubled_number(original):
    def needed(*arguments):
        number = original(*arguments)
        return number and Enclosure(2 * number.low, 2 * number.high)

    return needed


def says(answer):
    return lambda original: lambda *arguments, **options: answer


def first(original):
    return lambda argument, *others: argument


# Each fault: where it is, what it makes of what stands there, and a problem of the corpus in which it changes a verdict.
PRINT = "Numbers in print are rounded to nearest, and arithmetic is exact"
LIMITS = "Limits with a sign, and sums with their ends"
EXTREMES = "Maxima, minima, roots and logarithms"
RESULT = "A unit that stands only at the result"
FAULTS = {
    "every side tells its unknown": ([(thresholds, "_tells")], says(True), "A term that hides the bound"),
    "nothing is bounded": ([(Context, "bounded")], lambda _: frozenset(), "Extremes over a size of which something is assumed"),
    "arithmetic is rounded": ([(number_chains, "is_count")], says(False), PRINT),
    "whole numbers are cut off": ([(number_chains, "is_whole")], says(False), PRINT),
    "trailing zeros are nothing": ([(intervals, "last_place")], no_zeros, "Figures stand in print"),
    "exponents are plain": ([(number_chains, "is_plain")], says(True), RESULT),
    "units are always known": ([(unit_agreement, "_lacks_its_rate")], says(False), "Figures stand in print"),
    "work is no rate": ([(unit_agreement, "_is_rate_of_work")], says(False), "Figures stand in print"),
    "prefixes are never open": ([(number_chains, "_in_open_units")], says(()), "Units that are not written are not guessed"),
    "units are never carried": ([(number_chains, "in_unit_of")], says(()), RESULT),
    "zero is a number like others": ([(number_chains, "NOTHING")], lambda _: None, PRINT),
    "the first of two conditions is rounded": ([(conditions, "stands_in_print")], says(False), "Conditions in print"),
    "any digits will do": ([(number_chains, "rounding")], some_digits, "A gated feed-forward block"),
    "truncation is not rounding": ([(number_chains, "rounding")], no_truncation, "All-reduce of partial sums on two chips"),
    "guards are forgotten": ([(thresholds, "eventually_positive")], says(True), "Thresholds with a guard that fails, and edges that are taken or not"),
    "edges are forgotten": ([(thresholds, "beside")], without_edges, "Thresholds with a guard that fails, and edges that are taken or not"),
    "directions are forgotten": ([(thresholds, "UP")], lambda _: tuple(ORDER), "The batch that fills a TPU v5e"),
    "contradictions are welcome": ([(Context, "require_possible")], first, "Assumptions that nothing satisfies"),
    "sizes may be anything": ([(Context, "_still_a_size")], lambda original: lambda self, name, value: original(self, name, value) if names(value) else (), "Assumptions that nothing satisfies"),
    "everything is near": ([(approximations, "near")], says(Check("proved", "hope")), "Weights in int4"),
    "signs of limits are forgotten": ([(approximations, "eventually_positive")], says(True), LIMITS),
    "functions always have a value": ([(Prover, "_defined")], says(True), "Functions where they have no value"),
    "a number that divides is rounded as one that multiplies": ([(number_chains, "_needed")], lambda original: lambda *sides: (needed := original(*sides)) and 1 / needed, "More letters"),
    "numbers inside of a side are what they are": ([(number_chains, "admits")], says(False), "Rounding inside"),
    "units are forgotten": ([(relations, "disagreement")], says(None), "Times with units"),
    "what Z3 leaves open holds": ([(context, "decide")], hopeful, "A gated feed-forward block"),
    "one count for each link": ([(judge, "decided")], a_count_for_each_link, LIMITS),
    "five percent for equality": ([(relations.DECISIONS, "numbers")], near_for_equal, "More numbers"),
    "no tolerance": ([(relations.DECISIONS, "numbers")], intolerant, "Products and quotients"),
    "any number rounds a ridge": ([(thresholds, "rounding")], some_digits, "Conditions on other quantities than a size"),
    "any number puts the edge there": ([(thresholds, "_at")], doubled_number, "Conditions on other quantities than a size"),
    "conditions are read one way": ([(conditions, "_turns")], one_reading, "Conditions both ways round, in a regime"),
    "points outside of the regime refute": ([(counterexamples, "looking_like")], says(Compare(number(1), "=", number(1))), "Conditions where two sizes are alike"),
    "any argument leads": ([(approximations, "_at_most")], says(True), EXTREMES),
    "no argument leads": ([(approximations, "_at_most")], says(False), EXTREMES),
    "sides need no sign": ([(approximations, "_are_positive")], says(True), EXTREMES),
    "the stated count alone": ([(judge, "decided")], one_count, "The count is one for all links of a claim"),
    "logarithms of sums are sums": ([(exact, "_factors")], lambda _: lambda poly: iter([(Poly({one: c}), 1) for one, c in poly.items()]), EXTREMES),
}  # fmt: skip


# The second engine says the same of the same proposition under every fault, but for the one in itself.
settled_once = cache(context.decide)


def broken(monkeypatch, places, fault):
    """Whatever stands at the places, as the fault has it; a place of a table is one of its keys."""
    for owner, name in places:
        if isinstance(owner, dict):
            monkeypatch.setitem(owner, name, fault(owner[name]))
        else:
            monkeypatch.setattr(owner, name, fault(getattr(owner, name)))


@pytest.mark.part(1)
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_of_the_judge_is_noticed(name, monkeypatch):
    places, fault, title = FAULTS[name]
    monkeypatch.setattr(judge, "diagnosed", lambda finding, context: finding)
    if name not in ("functions always have a value", "logarithms of sums are sums"):
        monkeypatch.setattr(context, "decide", settled_once)
    broken(monkeypatch, places, fault)
    (problem,) = (p for p in PROBLEMS if p["title"] == title)
    judgements = judge_exercise(read_exercise(problem))
    assert any(found.verdict not in ((found.expect,) if found.expect else ("holds", "rounded")) for found in judgements)


# That a judge without a fault surprises nobody is what tests/test_claims.py asserts, claim by claim.


VECTORS = {"operation": "bf16[N] * bf16[N] -> bf16[N]"}
PRODUCT = {"operation": "bf16[B, D] * bf16[D, F] -> bf16[B, F]", "hardware": "tpu-v5e", "assume": "B << D, F"}
# What a fault in a producer would make right.
FALSE = [
    {"claims": ["limit((2N + 1)/(N + 3), N -> oo) = 4", "diff(X^2, X) = 4X", "diff(sqrt(X), X) = 1/sqrt(X)", "argmin(A/X + B X, X) = 2 sqrt(A/B)", "argmin(max(8/X, 2X), X) = 4", "minimum(8/X + 2X, X) = 10"]},
    {**PRODUCT, "claims": ["limit(intensity, B -> oo) = 2DF/(D + F)", "compute-bound when B > 480", "compute-bound when B > 510 at D = F = 8192"]},
    {**VECTORS, "claims": ["sup(N/(N + 1), N) = 2", "sup(N/(N + 1), N) = 1/2"]},
    {"claims": ["max(P, Q) ~ P assuming P << Q", "min(P, Q) ~ Q assuming P << Q"]},
]  # fmt: skip


# Constructions: what each is, and what it is not.
WORKED_OUT = {
    "limit((2N + 1)/(N + 3), N -> oo)": ("2", "4"), "limit(N^2/(N + 1), N -> oo)": ("oo", "4"), "limit(intensity, B -> oo)": ("DF/(D + F)", "2DF/(D + F)"),
    "sup(N/(N + 1), N)": ("1", "2"), "sup(intensity, B)": ("DF/(D + F)", "2DF/(D + F)"), "sup((B + 1)/B, B)": ("2", "4"),
    "argmin(A/X + G*X, X)": ("sqrt(A/G)", "2*sqrt(A/G)"), "argmin(max(A/X, G*X), X)": ("sqrt(A/G)", "2*sqrt(A/G)"), "argmin(18/B + 2B, B)": ("3", "6"), "argmin(B^2 + 3B, B)": ("1", "2"),
    "minimum(A/X + G*X, X)": ("2*sqrt(A*G)", "4*sqrt(A*G)"), "minimum(18/B + 2B, B)": ("12", "24"), "minimum(max(8/X, 2X), X)": ("4", "8"),
    "diff(X^2, X)": ("2X", "4X"), "diff(sqrt(X), X)": ("1/(2*sqrt(X))", "1/sqrt(X)"), "diff(A/X + G*X, X)": ("G - A/X^2", "2G - 2A/X^2"),
    "sum(i^2, i, 1, 4)": ("30", "60"), "sum(i*A, i, 1, 4)": ("10A", "20A"), "sum(1/i, i, 1, 3)": ("11/6", "11/3"), "abs(A - G)": ("max(A - G, G - A)", "2max(A - G, G - A)"),
}  # fmt: skip
TWICE = Number(Fraction(2))
BEHIND_PROOFS = {
    "doubled": lambda formula: Product((TWICE, Group(formula))),
    "a term doubled": lambda formula: mapped(formula, lambda node: Sum((*node.terms, node.terms[-1])) if isinstance(node, Sum) else node),
    "names doubled": lambda formula: mapped(formula, lambda node: Product((TWICE, node)) if isinstance(node, Name) else node),
    "numbers doubled": lambda formula: mapped(formula, lambda node: Number(2 * node.value) if isinstance(node, Number) else node),
    "upside down": lambda formula: Quotient(Number(Fraction(1)), Group(formula)),
}  # fmt: skip


def behind(fault, original):
    """What a function says, with a fault in it: of a formula, an expression, or a step, wherever it stands in the result."""

    def spoiled(value):
        if isinstance(value, Step):
            return replace(value, right=fault(value.right))
        if isinstance(value, tuple):
            return tuple(map(spoiled, value))
        return fault(value) if isinstance(value, Formula) else 2 * value if isinstance(value, Expr) else value

    return lambda *arguments, **options: spoiled(original(*arguments, **options))


@pytest.mark.parametrize("fault", BEHIND_PROOFS)
@pytest.mark.parametrize(
    "name", [n for n, f in vars(constructions).items() if isfunction(f) and f.__module__ == constructions.__name__]
)
def test_what_a_construction_comes_to_is_decided_behind_whatever_says_it(name, fault, monkeypatch):
    """A fault in any function that works one out makes nothing false right, and nothing right wrong."""
    monkeypatch.setattr(judge, "diagnosed", lambda finding, context: finding)
    broken(
        monkeypatch,
        [(constructions, name), (context, name)][: 1 + hasattr(context, name)],
        partial(behind, BEHIND_PROOFS[fault]),
    )
    problem = {**VECTORS, "operation": "bf16[B, D] * bf16[D, F] -> bf16[B, F]", "symbols": ["A", "G", "N", "X"]}
    for which, verdicts in enumerate((("wrong", "undecided", "unreadable"), (*GOOD, "undecided", "unreadable"))):
        claims = [
            f"{call} {'->' if value == 'oo' else '='} {value}"
            for call, (right, false) in WORKED_OUT.items()
            for value in [(false, right)[which]]
        ]
        found = judge_exercise(read_exercise({**problem, "claims": claims}))
        assert [(one.claim, one.verdict) for one in found if one.verdict not in verdicts] == []


NAMES = ("dominance.leading_form", "dominance.similarity_of", "solvers.solve_for", "solvers.growth", "solvers.monotony")
SPOILED = {f"algebra.{name}": PRODUCERS[f"algebra.{name}"][0] for name in NAMES} | {"derivation.solving.diff": doubled}
TITLES = {"The batch that fills a TPU v5e", "The roofline is one of its two times", "Sums and optima", EXTREMES}
TITLES |= {"Conditions both ways round, in a regime", "Attention scores of one head"}


@pytest.mark.thorough
@pytest.mark.parametrize("producer", SPOILED)
def test_a_fault_in_a_producer_turns_no_verdict_round(producer, monkeypatch):
    """What the second engine refutes leaves a claim open: no other reading of it makes it wrong, or right."""
    monkeypatch.setattr(judge, "diagnosed", lambda finding, context: finding)
    problems = [*FALSE, *(problem for problem in PROBLEMS if problem["title"] in TITLES)]
    exercises = [read_exercise(problem) for problem in problems]
    before = [[found.verdict for found in judge_exercise(exercise)] for exercise in exercises]
    put_in(monkeypatch, producer, SPOILED[producer])
    forget()
    after = [judge_exercise(exercise) for exercise in exercises]
    pairs = [(old, new) for olds, news in zip(before, after, strict=True) for old, new in zip(olds, news, strict=True)]
    other = [(old, new) for old, new in pairs if (old in GOOD) != (new.verdict in GOOD)]
    assert len(problems) == len(FALSE) + len(TITLES)
    assert [new.claim for old, new in other if "wrong" in (old, new.verdict)] == []
    assert any(old in GOOD and new.verdict == "undecided" for old, new in pairs)


@pytest.mark.thorough
def test_a_fault_in_what_is_called_right_is_not_offered(monkeypatch):
    """The right value of a wrong claim is proved before anyone sees it."""
    claims = [f"compute-bound when B > {rest}" for rest in ("100", "500 and D > 3", "100 at D = F = 8192")]
    offered = [j.findings[0].value for j in judge_exercise(read_exercise({**PRODUCT, "claims": claims}))]
    assert any(value is not None for value in offered)
    original = conditions.right_value

    def twice(node):
        return replace(node, right=Product((number(2), node.right))) if hasattr(node, "right") else node

    monkeypatch.setattr(conditions, "right_value", lambda question: (f := original(question)) and mapped(f, twice))
    found = judge_exercise(read_exercise({**PRODUCT, "claims": claims}))
    assert [j.verdict for j in found] == ["wrong"] * len(claims)
    assert [j.findings[0].value for j in found] == [None] * len(claims)


def test_a_finding_names_the_construction_that_it_rests_on():
    by = {
        "limit((2N + 1)/(N + 3), N -> oo) = 2": "the limit is read off the highest powers; exact numbers",
        "diff(X^2, X) = 2X": "the derivative follows the chain rule; exact identity",
        "2A = A + A": "exact identity",
    }
    assert [j.worst.by for j in judge_exercise(read_exercise({"claims": list(by)}))] == list(by.values())


def test_a_fault_in_the_signs_of_the_algebra_accepts_nothing(monkeypatch):
    """Which argument of a maximum leads is decided by the second engine alone."""
    monkeypatch.setattr("symroof.algebra.rational.sign_of", lambda *values: 1)
    assert not {found.verdict for found in judge_exercise(read_exercise(FALSE[-1]))} & {*GOOD}


@pytest.mark.parametrize("more", [1, -1, 7])
def test_a_whole_bound_that_is_offered_is_decided(more, monkeypatch):
    """What is right in whole numbers is said where the second engine finds it, and another number is not."""
    claims = ["compute-bound when B > 100 at D = F = 8192", "memory-bound when B < 300 at D = F = 4096"]
    before = [one.findings[0].whole for one in judge_exercise(read_exercise({**PRODUCT, "claims": claims}))]
    monkeypatch.setattr(conditions, "number", lambda value: number(value + more))
    after = judge_exercise(read_exercise({**PRODUCT, "claims": claims}))
    assert None not in before
    assert [(one.verdict, one.findings[0].whole) for one in after] == [("wrong", None)] * 2


def test_a_value_in_a_document_is_decided(monkeypatch):
    import symroof as sr
    from symroof.building.block_contents import Lookup

    original = Lookup._value
    monkeypatch.setattr(Lookup, "_value", lambda *asked: (2 * (found := original(*asked))[0], found[1]))
    note = '<!-- symroof\noperation = "matmul"\nhardware = "tpu-v5e"\n-->\n\n'
    built = sr.build(note + "So <!-- symroof = ceil(ridge) -->1<!-- / --> rows.")
    assert [block.status for block in built.blocks] == ["failed"]


@pytest.mark.xfail(strict=True, reason="said behind the last proof, until maps say steps alone")
def test_the_count_of_regimes_is_decided(monkeypatch):
    import symroof as sr
    from symroof.errors import SymroofError
    from symroof.exploration.regime_map import RegimeMap

    original = RegimeMap.count.fget
    monkeypatch.setattr(RegimeMap, "count", property(lambda self: original(self) + 1))
    with pytest.raises(SymroofError):
        sr.regimes("matmul", on="tpu-v5e").to_text()
