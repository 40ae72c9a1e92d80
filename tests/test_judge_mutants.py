"""Deliberate faults of the judge: each has to change a verdict of the corpus."""

import pkgutil
import tomllib
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path

import pytest
from test_gate import FAULTS as PRODUCERS
from test_gate import _nothing_is_remembered, forget, put_in  # noqa: F401 (a fixture)

import symroof.proof.exact as exact
import symroof.verification.approximations as approximations
import symroof.verification.approximations as extremes
import symroof.verification.bounds as bounds
import symroof.verification.bounds as ratios
import symroof.verification.conditions as conditions
import symroof.verification.context as context
import symroof.verification.counterexamples as counterexamples
import symroof.verification.judge as judge
import symroof.verification.links as arithmetic
import symroof.verification.links as links
import symroof.verification.literals as literals
import symroof.verification.unit_agreement as unit_agreement
import symroof.verification.unknowns as unknowns
from symroof.algebra.roots import Interval, Root
from symroof.formula import Name, Number, Product, mapped, names, number
from symroof.proof.polynomials import Poly
from symroof.proof.prover import Prover
from symroof.proof.settling import Settled
from symroof.proof.step import Check
from symroof.reading.exercises import read_exercise
from symroof.verification.context import Context
from symroof.verification.judge import judge_exercise
from symroof.verification.judgement import GOOD, Remark

pytestmark = pytest.mark.part(4)

PROBLEMS = tomllib.loads((Path(__file__).parent / "data" / "claims.toml").read_text("utf-8"), parse_float=str)[
    "problem"
]


def any_digits_will_do(m):
    m.setattr(literals, "rounding", lambda true, printed: Remark("rounded", {"digits": 2, "value": true.middle}))


def truncation_is_not_rounding(m):
    original = literals.rounding

    def strict(true, printed):
        found = original(true, printed)
        return None if found is not None and found.kind == "truncated" else found

    m.setattr(literals, "rounding", strict)


def guards_are_forgotten(m):
    m.setattr(unknowns, "eventually_positive", lambda *_: True)
    m.setattr(bounds, "eventually_positive", lambda *_: True)


def edges_are_forgotten(m):
    original = unknowns.unknown_of
    m.setattr(
        conditions,
        "unknown_of",
        lambda *sides, **turned: (
            (found := original(*sides, **turned)) and replace(found, closed=found.relation in (">=", "<="))
        ),
    )


def directions_are_forgotten(m):
    original = unknowns.Unknown.edge

    def edge(self, regime):
        found = original(self, regime)
        return found and unknowns.Edge(found.value, self.relation in (">", ">="))

    m.setattr(unknowns.Unknown, "edge", edge)


def contradictions_are_welcome(m):
    m.setattr(Context, "require_possible", lambda self: self)


def sizes_may_be_anything(m):
    original = Context._still_a_size
    m.setattr(Context, "_still_a_size", lambda self, name, value: original(self, name, value) if names(value) else ())


def everything_is_near(m):
    m.setattr(approximations, "near", lambda a, b, regime: Check("proved", "hope"))


def signs_of_limits_are_forgotten(m):
    m.setattr(approximations, "eventually_positive", lambda *_: True)


def functions_always_have_a_value(m):
    m.setattr(Prover, "_defined", lambda self, known, needs: True)


def a_number_that_divides_is_rounded_as_one_that_multiplies(m):
    original = literals._power
    m.setattr(literals, "_power", lambda literal, side: abs(original(literal, side)))


def units_are_forgotten(m):
    m.setattr(links, "disagreement", lambda link, context: None)


def what_z3_leaves_open_holds(m):
    original = context.settle

    def settle(claim, least_one, facts=()):
        found = original(claim, least_one, facts)
        return Settled(True, "hope") if found.truth is None and found.point is None else found

    m.setattr(context, "settle", settle)


def one_count_for_each_link(m):
    def findings(claim, place):
        found = [judge.decide(place.question(link)) for link in judge.links_of(claim)]
        other = [judge.decide(place.other.question(link)) for link in judge.links_of(claim)] if place.other else found
        return tuple(a if a.verdict in ("holds", "rounded") else b for a, b in zip(found, other, strict=True))

    m.setattr(judge, "decided", findings)


def five_percent_for_equality(m):
    original = arithmetic.compare_numbers

    def compare(question):
        link = question.link
        return original(replace(question, link=replace(link, relation="~") if link.relation == "=" else link))

    m.setitem(links.DECISIONS, "numbers", compare)


def no_tolerance(m):
    original = arithmetic.compare_numbers
    m.setitem(
        links.DECISIONS,
        "numbers",
        lambda question: original(replace(question, context=replace(question.context, tolerance=Fraction(0)))),
    )


def any_number_rounds_a_ridge(m):
    m.setattr(ratios, "rounding", lambda true, printed: Remark("rounded", {"digits": 2, "value": true.middle}))


def any_number_puts_the_edge_there(m):
    original = ratios._needed
    m.setattr(ratios, "_needed", lambda p, q: (found := original(p, q)) and 2 * found)


def conditions_are_read_one_way(m):
    original = conditions._readings
    m.setattr(conditions, "_readings", lambda question: ((original(question)[0][0],) * 2, original(question)[1]))


def points_outside_of_the_regime_refute(m):
    m.setattr(counterexamples, "is_typical", lambda point, growing: True)


def any_argument_leads(m):
    m.setattr(extremes, "_at_most", lambda small, large, context: True)


def no_argument_leads(m):
    m.setattr(extremes, "_at_most", lambda small, large, context: False)


def sides_need_no_sign(m):
    m.setattr(extremes, "_are_positive", lambda question: True)


def the_stated_count_alone(m):
    m.setattr(
        judge,
        "decided",
        lambda claim, place: tuple(judge.decide(place.question(link)) for link in judge.links_of(claim)),
    )


def logarithms_of_sums_are_sums(m):
    m.setattr(exact, "_factors", lambda poly: iter([(Poly({one: c}), 1) for one, c in poly.items()]))


def arithmetic_is_rounded(m):
    m.setattr(literals, "is_count", lambda formula, context: False)


def what_stands_in_print_is_cut_off(m):
    m.setattr(literals, "stands_in_print", lambda formula, context: False)


def trailing_zeros_are_nothing(m):
    original = literals.last_place

    def last_place(printed):
        digits, unit = original(printed)
        return (1, unit * 10) if printed.value in (200, 3000) else (digits, unit)

    m.setattr(literals, "last_place", last_place)


def large_numbers_are_plain(m):
    m.setattr(unit_agreement, "PLAIN", 10**30)


def exponents_are_plain(m):
    original = unit_agreement._is_plain
    m.setattr(
        unit_agreement,
        "_is_plain",
        lambda formula: original(
            mapped(formula, lambda node: Number(node.value) if isinstance(node, Number) and node.unit is None else node)
        ),
    )


def names_are_plain(m):
    original = unit_agreement._is_plain
    m.setattr(
        unit_agreement,
        "_is_plain",
        lambda formula: original(mapped(formula, lambda node: Number(Fraction(1)) if isinstance(node, Name) else node)),
    )


def units_are_always_known(m):
    m.setattr(unit_agreement, "_lacks_its_rate", lambda left, right: False)


def work_is_no_rate(m):
    m.setattr(unit_agreement, "_is_rate_of_work", lambda left, right: False)


def prefixes_are_never_open(m):
    m.setattr(arithmetic, "in_unknown_units", lambda link, context: ())


def units_are_never_carried(m):
    m.setattr(arithmetic, "carried", lambda link: ())


def zero_is_a_number_like_others(m):
    m.setattr(arithmetic, "NOTHING", None)


def the_first_of_two_conditions_is_rounded(m):
    m.setattr(conditions, "_in_print", lambda link, context: False)


def sides_always_climb(m):
    original = unknowns.unknown_of
    for module in (unknowns, conditions):
        m.setattr(module, "unknown_of", lambda question: (found := original(question)) and replace(found, climbs=True))


def every_side_tells_its_unknown(m):
    m.setattr(bounds, "_tells", lambda unknown, regime: True)


def no_term_hides_a_number(m):
    m.setattr(ratios, "HIDDEN", 10**9)


def nothing_is_bounded(m):
    m.setattr(Context, "bounded", frozenset())


# Each fault, and a problem of the corpus in which it changes a verdict.
FAULTS = {
    sides_always_climb: "Conditions whose left side falls, in a regime",
    every_side_tells_its_unknown: "A term that hides the bound",
    no_term_hides_a_number: "A term that hides the bound",
    nothing_is_bounded: "Extremes over a size of which something is assumed",
    arithmetic_is_rounded: "Numbers in print are rounded to nearest, and arithmetic is exact",
    what_stands_in_print_is_cut_off: "Numbers in print are rounded to nearest, and arithmetic is exact",
    trailing_zeros_are_nothing: "Figures stand in print",
    large_numbers_are_plain: "A unit that stands only at the result",
    exponents_are_plain: "A unit that stands only at the result",
    names_are_plain: "Names with a value are in base units",
    units_are_always_known: "Figures stand in print",
    work_is_no_rate: "Figures stand in print",
    prefixes_are_never_open: "Units that are not written are not guessed",
    units_are_never_carried: "A unit that stands only at the result",
    zero_is_a_number_like_others: "Numbers in print are rounded to nearest, and arithmetic is exact",
    the_first_of_two_conditions_is_rounded: "Conditions in print",
    any_digits_will_do: "A gated feed-forward block",
    truncation_is_not_rounding: "All-reduce of partial sums on two chips",
    guards_are_forgotten: "Thresholds with a guard that fails, and edges that are taken or not",
    edges_are_forgotten: "All-reduce of partial sums on two chips",
    directions_are_forgotten: "The batch that fills a TPU v5e",
    contradictions_are_welcome: "Assumptions that nothing satisfies",
    sizes_may_be_anything: "Assumptions that nothing satisfies",
    everything_is_near: "Weights in int4",
    signs_of_limits_are_forgotten: "Limits with a sign, and sums with their ends",
    functions_always_have_a_value: "Functions where they have no value",
    a_number_that_divides_is_rounded_as_one_that_multiplies: "More letters",
    units_are_forgotten: "Times with units",
    what_z3_leaves_open_holds: "A gated feed-forward block",
    one_count_for_each_link: "Limits with a sign, and sums with their ends",
    five_percent_for_equality: "More numbers",
    no_tolerance: "Products and quotients",
    any_number_rounds_a_ridge: "Conditions on other quantities than a size",
    any_number_puts_the_edge_there: "Conditions on other quantities than a size",
    conditions_are_read_one_way: "Conditions both ways round, in a regime",
    points_outside_of_the_regime_refute: "Conditions where two sizes are alike",
    any_argument_leads: "Maxima, minima, roots and logarithms",
    no_argument_leads: "Maxima, minima, roots and logarithms",
    sides_need_no_sign: "Maxima, minima, roots and logarithms",
    the_stated_count_alone: "The count is one for all links of a claim",
    logarithms_of_sums_are_sums: "Maxima, minima, roots and logarithms",
}


# The second engine says the same of the same proposition under every fault, but for the one in itself.
settled_once = cache(context.settle)


@pytest.mark.part(1)
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_a_fault_of_the_judge_is_noticed(fault, monkeypatch):
    monkeypatch.setattr(judge, "diagnosed", lambda finding, context: finding)
    if fault not in (functions_always_have_a_value, logarithms_of_sums_are_sums):
        monkeypatch.setattr(context, "settle", settled_once)
    fault(monkeypatch)
    (problem,) = (p for p in PROBLEMS if p["title"] == FAULTS[fault])
    judgements = judge_exercise(read_exercise(problem))
    assert any(found.verdict not in ((found.expect,) if found.expect else ("holds", "rounded")) for found in judgements)


# That a judge without a fault surprises nobody is what tests/test_claims.py asserts, claim by claim.


def doubled(*arguments, original, **options):
    return 2 * original(*arguments, **options)


def turned(*arguments, original):
    found = original(*arguments)
    return found and -found


def bounds_doubled(*arguments, original, **options):
    found = original(*arguments, **options)

    def twice(end):
        return end if end is None else Root(2 * end.low, 2 * end.high) if isinstance(end, Root) else 2 * end

    def case(one):
        return one and replace(one, intervals=tuple(Interval(twice(i.low), twice(i.high)) for i in one.intervals))

    return replace(found, cases=tuple(map(case, found.cases)), otherwise=case(found.otherwise))


VECTORS = {"operation": "bf16[N] * bf16[N] -> bf16[N]"}
PRODUCT = {"operation": "bf16[B, D] * bf16[D, F] -> bf16[B, F]", "hardware": "tpu-v5e", "assume": "B << D, F"}


@pytest.mark.parametrize(
    ("producer", "fault", "options", "false"),
    [
        ("symroof.algebra.inequality.growth", doubled, {}, "limit((2N + 1)/(N + 3), N -> oo) = 4"),
        ("symroof.algebra.inequality.growth", doubled, PRODUCT, "limit(intensity, B -> oo) = 2DF/(D + F)"),
        ("symroof.algebra.inequality.growth", doubled, VECTORS, "sup(N/(N + 1), N) = 2"),
        ("symroof.algebra.inequality.monotony", turned, VECTORS, "sup(N/(N + 1), N) = 1/2"),
        ("symroof.derivation.solving.diff", doubled, {}, "diff(X^2, X) = 4X"),
        ("symroof.derivation.solving.diff", doubled, {}, "diff(sqrt(X), X) = 1/sqrt(X)"),
        ("symroof.algebra.inequality.solve_for", bounds_doubled, {}, "argmin(A/X + B X, X) = 2 sqrt(A/B)"),
        ("symroof.algebra.inequality.solve_for", bounds_doubled, {}, "argmin(max(8/X, 2X), X) = 4"),
        ("symroof.algebra.inequality.solve_for", bounds_doubled, {}, "minimum(8/X + 2X, X) = 10"),
        ("symroof.algebra.inequality.solve_for", bounds_doubled, PRODUCT, "compute-bound when B > 480"),
        ("symroof.algebra.inequality.solve_for", bounds_doubled, PRODUCT, "compute-bound when B > 510 at D = F = 8192"),
    ],
)
def test_a_fault_in_a_producer_is_not_accepted(producer, fault, options, false, monkeypatch):
    """What a construction or a threshold is worked out to be is proved before it enters a claim."""
    monkeypatch.setattr(judge, "diagnosed", lambda finding, context: finding)
    (before,) = judge_exercise(read_exercise({**options, "claims": [false]}))
    assert before.verdict in ("wrong", "undecided")
    original = pkgutil.resolve_name(producer)
    unknowns.solved_condition.cache_clear()  # a condition that was solved before the fault would hide it
    monkeypatch.setattr(producer, lambda *arguments, **values: fault(*arguments, original=original, **values))
    (found,) = judge_exercise(read_exercise({**options, "claims": [false]}))
    assert found.verdict not in GOOD


SPOILED = ("dominance.leading", "dominance.similar", "inequality.solve_for", "inequality.growth", "inequality.monotony")
TITLES = (
    "The batch that fills a TPU v5e",
    "Maxima, minima, roots and logarithms",
    "The roofline is one of its two times",
    "Conditions both ways round, in a regime",
    "Sums and optima",
)


@pytest.mark.thorough
@pytest.mark.parametrize("producer", SPOILED)
def test_a_fault_in_a_producer_turns_no_verdict_round(producer, monkeypatch):
    """What the second engine refutes leaves a claim open: no other reading of it makes it wrong, or right."""
    monkeypatch.setattr(judge, "diagnosed", lambda finding, context: finding)
    exercises = [read_exercise(problem) for problem in PROBLEMS if problem["title"] in TITLES]
    before = [[found.verdict for found in judge_exercise(exercise)] for exercise in exercises]
    put_in(monkeypatch, f"algebra.{producer}", PRODUCERS[f"algebra.{producer}"][0])
    forget()
    after = [judge_exercise(exercise) for exercise in exercises]
    pairs = [(old, new) for olds, news in zip(before, after, strict=True) for old, new in zip(olds, news, strict=True)]
    turned_round = [
        n.claim for old, n in pairs if {old in GOOD, n.verdict in GOOD} == {True, False} and "wrong" in (old, n.verdict)
    ]
    assert len(exercises) == len(TITLES)
    assert turned_round == []
    assert any(old in GOOD and new.verdict == "undecided" for old, new in pairs)


@pytest.mark.thorough
def test_a_fault_in_what_is_called_right_is_not_offered(monkeypatch):
    """The right value of a wrong claim is proved before anyone sees it."""
    claims = [
        "compute-bound when B > 100",
        "compute-bound when B > 500 and D > 3",
        "compute-bound when B > 100 at D = F = 8192",
    ]
    offered = [j.findings[0].value for j in judge_exercise(read_exercise({**PRODUCT, "claims": claims}))]
    assert any(value is not None for value in offered)
    original = unknowns.Unknown.right_value

    def twice(self):
        found = original(self)
        return found and mapped(
            found,
            lambda node: replace(node, right=Product((number(2), node.right))) if hasattr(node, "right") else node,
        )

    monkeypatch.setattr(unknowns.Unknown, "right_value", twice)
    found = judge_exercise(read_exercise({**PRODUCT, "claims": claims}))
    assert [j.verdict for j in found] == ["wrong"] * len(claims)
    assert [j.findings[0].value for j in found] == [None] * len(claims)


def test_a_finding_names_the_construction_that_it_rests_on():
    claims = ["limit((2N + 1)/(N + 3), N -> oo) = 2", "diff(X^2, X) = 2X", "2A = A + A"]
    by = [j.worst.by for j in judge_exercise(read_exercise({"claims": claims}))]
    assert by == [
        "the limit is read off the highest powers; exact numbers",
        "the derivative follows the chain rule; exact identity",
        "exact identity",
    ]


def test_a_fault_in_the_signs_of_the_algebra_accepts_nothing(monkeypatch):
    """Which argument of a maximum leads is decided by the second engine alone."""
    import symroof as sr
    from symroof.algebra import approximation, dominance, rational
    from symroof.verification import nearness

    for module in (rational, dominance, approximation):
        if hasattr(module, "sign_of"):
            monkeypatch.setattr(module, "sign_of", lambda *values: 1)
    assert not hasattr(nearness, "sign_of")
    report = sr.verify(
        {"symbols": ["P", "Q"], "claims": ["max(P, Q) ~ P assuming P << Q", "min(P, Q) ~ Q assuming P << Q"]}
    )
    assert not any(judgement.verdict in ("holds", "rounded") for judgement in report.judgements)
