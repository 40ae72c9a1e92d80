"""The second engine refutes: for every kind of step, the right one passes and a slightly wrong one raises."""

from dataclasses import replace
from fractions import Fraction
from random import Random

import pytest

import symroof as sr
from symroof.derivation.quantity_definitions import ledger_of
from symroof.errors import CheckError
from symroof.formula import Both, Call, Cases, Compare, Either, Infinity, Name, Number, Quotient, Verdict, number
from symroof.proof.bounds_and_decimals import Excess, Harmonic, WholeBounds
from symroof.proof.check import check, establish
from symroof.proof.exact_values import check_at_samples, truth_of
from symroof.proof.loop_counts import Arrays, CostFunctionCount, Loops, OutputCounts
from symroof.proof.propositions import direct_proof
from symroof.proof.quotients import Quotients
from symroof.proof.step import CancelledNames, Check, Ledger, Multiples, Reason, RowSize, Step, UndecidedError, Unknown
from symroof.reading.expressions import Scope, read_expression

SCOPE = Scope(("B", "D", "F", "N", "R", "x"))
DIMS = frozenset("BDFN")


def f(text):
    return read_expression(text, SCOPE)


def step(left, relation, right, evidence=None, assumptions=()):
    sides = [f(side) if isinstance(side, str) else side for side in (left, right)]
    return Step("test", Reason.LINE, sides[0], relation, sides[1], assumptions, evidence)


def either(left, relation, right, wrong, **more):
    """A right step, and one with another right side."""
    return step(left, relation, right, **more), step(left, relation, wrong, **more)


def compare(left, relation, right):
    return Compare(f(left), relation, f(right))


def outcome(one):
    """What the check says where x means what the step rests on."""
    multiples = Multiples(each={"D": 2} if isinstance(one.evidence, WholeBounds) else {})
    return check(one, Ledger(DIMS, {}, {"x": one.evidence or one.right}, multiples))


MATMUL = Loops((("B", "D"), ("D", "F")), ("B", "F"))
RIGHT_AND_WRONG = {
    "identity": (step("B(D + F)", "=", "BD + BF"), step("B(D + F)", "=", "BD + F")),
    "quotient": (step("BD/(BF)", "=", "D/F"), step("BD/(BF)", "=", "F/D")),
    "order by coefficients": (step("B/(B + D)", "<", "1"), step("B/(B + D)", "<", "1/2")),
    "order by z3": (step("2BD", "<=", "B^2 + D^2"), step("3BD", "<=", "B^2 + D^2")),
    "order under an assumption": either("B", ">", "D", "3D", assumptions=(compare("B", ">", "2D"),)),
    "strictness": (step("B", ">=", "1"), step("B", ">", "1")),
    "rounding": (step("9850/41", "~", Number(Fraction("240.24"), "240.24")), step("9850/41", "~", Number(Fraction("240.25"), "240.25"))),
    "maximum": (step(f("B + D"), "<=", f("2 max(B, D)")), step(f("B + D"), "<=", f("max(B, D)"))),
    "count": (step("x", "=", "BF(2D - 1)", MATMUL), step("x", "=", "2BDF", MATMUL)),
    "bytes": either("x", "=", "2BD + DF/2", "2BD + DF", evidence=Arrays(((("B", "D"), 16, "bf16"), (("D", "F"), 4, "int4")))),
    "function": either("x", "=", "N^2 + 1", "2N", evidence=CostFunctionCount(lambda N: N * N + 1, ("N",))),
    "excess": (step("BF(2D - 1)", "~", "2BDF", Excess(f("BF"))), step("BF(2D - 1)", "~", "2BDF", Excess(f("B")))),
    "harmonic mean": either(Quotient(f("min(B, D)"), number(2)), "<=", "BD/(B + D)", "BD/(2B + D)", evidence=Harmonic((Name("B"), Name("D")))),
    "whole": either(compare("B", ">", "480/2"), "<=>", compare("B", ">=", "241"), compare("B", ">=", "240"), evidence=WholeBounds(1)),
    "whole multiples": either(compare("D", ">", "78800/9"), "<=>", compare("D", ">=", "8756"), compare("D", ">=", "8758"), evidence=WholeBounds(2)),
    "equivalence": either(compare("BD/F", ">", "R"), "<=>", compare("BD", ">", "RF"), compare("B", ">", "RF")),
    "guarded equivalence": either(compare("B(D - R)", ">", "F"), "<=>", *(Cases(((compare("B", ">", "F/(D - R)"), compare("D", ">", "R")),), Verdict(rest)) for rest in (False, True))),
    "root": either(compare("B^2", ">", "D"), "<=>", *(Compare(Name("B"), ">", Call("sqrt", (f(root),))) for root in ("D", "2D"))),
    "definition": (step("x", "=", "B/(D + F)"), step("x", "=", "B/(D - F)")),
}  # fmt: skip


@pytest.mark.parametrize("kind", RIGHT_AND_WRONG)
def test_right_steps_are_proved_and_wrong_ones_raise(kind):
    assert outcome(RIGHT_AND_WRONG[kind][0]).status == "proved"
    with pytest.raises(CheckError, match="refuted"):
        outcome(RIGHT_AND_WRONG[kind][1])


def test_a_guard_that_does_not_keep_the_denominator_from_zero_is_no_proof():
    """B > F/(D - R) where D >= R holds also at D = R, where the quotient has no value."""
    loose = Cases(((compare("B", ">", "F/(D - R)"), compare("D", ">=", "R")),), Verdict(False))
    one = step(compare("B(D - R)", ">", "F"), "<=>", loose)
    with pytest.raises(UndecidedError):
        outcome(one)


@pytest.mark.thorough
def test_what_z3_cannot_settle_is_undecided(monkeypatch):
    hard = step("B^12 D^4 + F^9 B^3 + D^11 F", ">=", "B^5 D^5 F^3 / 1000 + 1/1000")
    monkeypatch.setattr("symroof.proof.prover.BUDGET", 1000)
    with pytest.raises(UndecidedError):
        outcome(hard)


def test_an_identity_that_is_tried_at_points_is_true_at_all_and_has_some():
    assert check_at_samples(step("B + D", "=", "D + B"), Ledger(DIMS)).status == "sampled"
    with pytest.raises(CheckError, match="refuted"):
        check_at_samples(step("max(B, D)", "=", "B"), Ledger(DIMS))
    with pytest.raises(UndecidedError, match="too few points"):
        check_at_samples(step("B", "=", "B", assumptions=(compare("B", "=", "7/3"),)), Ledger(DIMS))
    put = Quotients({"x": f("2B")})  # a definition goes before what a point has under its name
    assert truth_of(step("x", "=", "2B"), put)({"x": Fraction(1), "B": Fraction(1)})


def test_a_circular_definition_raises():
    with pytest.raises(CheckError, match="circular"):
        outcome(step("x", "=", "x + 1"))


@pytest.fixture(scope="module")
def derivation():
    return sr.derive("matmul", on="tpu-v5e", assume="B << D, F", at="D=F=8192")


def ledger_before(derivation, index):
    ledger = ledger_of(derivation.setting)
    establish([replace(one, check=None) for one in derivation.steps[:index]], ledger)
    return ledger


def wrong(one):
    """The right side of a step, changed so that the step is false somewhere."""
    if one.relation in ("<", "<="):
        return f("1/1000000000000")
    if one.relation in (">", ">="):
        return f("1000000")
    if isinstance(one.right, Compare):
        return replace(one.right, right=f("D + 7"))
    return Verdict(True) if isinstance(one.right, Cases) else f("D + 7")


@pytest.mark.thorough
def test_every_step_of_a_derivation_would_be_refuted_if_it_were_wrong(derivation):
    """Each right side is replaced, that of a definition too."""
    survived, ledger = [], ledger_of(derivation.setting)
    for one in derivation.steps:
        before = replace(ledger, definitions=dict(ledger.definitions), established=list(ledger.established))
        try:
            check(replace(one, right=wrong(one), check=None), before)
            survived.append(one.reason)
        except CheckError:
            pass
        establish([replace(one, check=None)], ledger)
    assert survived == []


def test_a_step_is_about_the_sizes_that_it_was_put_in_from():
    """Of two sets of sizes the steps of one are said to be about the other, or about a third."""
    d = sr.derive("matmul", on="tpu-v5e", assume="B << D, F", at=[{"D": 8192, "F": 8192}, {"D": 4096, "F": 2048}])
    ledger, seen = ledger_of(d.setting), 0
    for one in d.steps:
        for point in () if one.point is None else (1 - one.point, 2):
            with pytest.raises(CheckError):
                check(replace(one, point=point, check=None), replace(ledger, established=list(ledger.established)))
            seen += 1
        establish([replace(one, check=None)], ledger)
    assert seen > 50


def test_kinds_of_operations_are_those_of_the_problem():
    d = sr.derive("softmax", on="tpu-v5e")
    index, kinds = next((i, s) for i, s in enumerate(d.steps) if s.reason is Reason.KINDS)
    swapped = replace(kinds.evidence, labels=tuple(reversed(kinds.evidence.labels)))
    assert check(kinds, ledger_before(d, index)).status == "proved"
    with pytest.raises(CheckError, match="not the kinds"):
        check(replace(kinds, evidence=swapped), ledger_before(d, index))


def truth(formula, **point):
    one = Step("test", Reason.LINE, formula, "<=>", Verdict(True))
    return truth_of(one, Quotients())({name: Fraction(value) for name, value in point.items()})


def test_what_has_no_value_at_a_point_decides_nothing_there():
    """B > F/(D - R) has no value where D = R: both parts hold, or one of them, as far as the other decides it alone."""
    bound, false, true = compare("B", ">", "F/(D - R)"), compare("B", ">", "9"), compare("B", ">", "1")
    at = {"B": 2, "D": 3, "F": 5, "R": 3}
    assert [truth(Both((bound, one)), **at) for one in (false, true)] == [False, None]
    assert [truth(Either((bound, one)), **at) for one in (false, true)] == [None, True]
    cases = [Cases(((true, guard),), Verdict(False)) for guard in (bound, false, true)]
    assert [truth(case, **at) for case in cases] == [None, False, True]
    assert truth(Both((bound, true)), **{**at, "D": 4, "B": 6}) is True


def test_a_root_under_a_guard_says_nothing_where_the_guard_fails():
    """sqrt(D - F) has no value for D < F, where the case does not hold: that is no reason to leave these sizes out."""
    root = Compare(Call("sqrt", (f("D - F"),)), ">=", number(0))
    guarded = Cases(((root, compare("D", ">=", "F")),), Verdict(False))
    for no_proof in (root, guarded):
        with pytest.raises(CheckError):
            outcome(step(compare("B", ">=", "1"), "<=>", no_proof))
    whole = replace(guarded, otherwise=Verdict(True))
    assert outcome(step(compare("B", ">=", "1"), "<=>", whole)) == Check("proved", "z3")


def test_a_certificate_that_names_no_small_ratio_is_refused(derivation):
    leading = next(s for s in derivation.steps if s.reason is Reason.LEADING)
    index = derivation.steps.index(leading)
    emptied = tuple(replace(c, small=()) for c in leading.evidence.certificates)
    for broken in (
        replace(leading, evidence=replace(leading.evidence, certificates=emptied)),
        replace(leading, evidence=replace(leading.evidence, certificates=())),
        replace(leading, assumptions=leading.assumptions[:1]),
        replace(leading, assumptions=(Compare(Name("D"), "->", Infinity()),)),
    ):
        with pytest.raises(CheckError):
            check(broken, ledger_before(derivation, index))


WHOLE_BOUND = compare("D", "<=", "29550/41")
FALSE_ALONE = {
    "a count of another name": step("B", "=", "BF(2D - 1)", MATMUL),
    "a count that is sent": replace(step("x", "=", "BF(2D - 1)", MATMUL), relation="~"),
    "evidence beside a definition": step("x", "=", "B/(D + F)", Excess(f("B"))),
    "a limit by what shows an order": step("B", "->", "D", Harmonic((Name("B"),))),
    "a part of the minimum that is none": step(Quotient(f("min(B, D, 2)"), number(2)), "<=", f("BD/(B + D)"), Harmonic((Name("B"), Name("D")))),
    "the last whole size below": step(WHOLE_BOUND, "<=>", compare("D", "<=", "-720"), WholeBounds(1)),
    "a function that agrees at 1": step("x", "=", "2", CostFunctionCount(lambda N: 2 * N, ("N",))),
    "a function that agrees at small sizes": step("x", "=", "2N", CostFunctionCount(lambda N: 2 * N if N < 100 else 3 * N, ("N",))),
    "solved for another size": replace(step(compare("BD", ">", "F"), "<=>", compare("B", ">", "F/D")), facts=Unknown("D")),
    "a name that never stood there cancels": replace(step("BD/D", "=", "B"), facts=CancelledNames((Name("F"),))),
    "a contraction that is not told": replace(step("x", "=", "BF(2D - 1)", MATMUL), facts=OutputCounts(f("BF"), f("D"), f("D - 1"), None)),
    "a row about another size": replace(step("B", "=", "8", assumptions=(compare("B", "=", "8"),)), facts=RowSize(Fraction(8))),
}  # fmt: skip


@pytest.mark.parametrize("kind", FALSE_ALONE)
def test_a_false_step_is_refuted_without_those_behind_it(kind):
    one = FALSE_ALONE[kind]
    meaning = f("B/(D + F)") if kind == "evidence beside a definition" else one.evidence
    with pytest.raises(CheckError, match="refuted"):
        check(one, Ledger(DIMS, {}, {"x": meaning}))


def test_a_role_is_that_of_the_name_on_the_left():
    ledger = Ledger(DIMS, {}, {"x": f("B")})
    assert check(replace(step("x", "=", "B"), role="x"), ledger).status == "proved"
    with pytest.raises(CheckError, match="about x"):
        check(replace(step("D", "=", "D"), role="x"), ledger)


def test_a_name_that_is_defined_later_is_put_into_what_speaks_of_it():
    ledger = Ledger(DIMS)
    for name, value, expected in [("x", "2R", "2R"), ("N", "B", "2R"), ("R", "BD", "2BD")]:
        ledger.define(name, f(value))
        assert ledger.exact(figures=False).difference(f("x"), f(expected)).is_zero()


def test_an_order_with_a_root_or_a_logarithm_is_no_polynomial():
    """What no polynomial is equal to would be compared by a name that stands for something else elsewhere."""
    assert Quotients().normal(compare("B", ">", "D")) is not None
    for one in ("sqrt(B)", "log2(B)", "max(B, 3D)"):
        assert Quotients().normal(compare(one, ">", "D")) is None


def test_what_no_coefficients_tell_apart_from_zero_z3_does():
    """B^2 - BD + D^2 has both signs among its coefficients, and is never 0; D - F is."""
    assert outcome(step("(B^3 + D^3)/(B^2 - BD + D^2)", "=", "B + D")).by == "exact identity"
    with pytest.raises(CheckError, match="a denominator may vanish"):
        outcome(step("(D^2 - F^2)/(D - F)", "=", "D + F"))


@pytest.mark.parametrize("seed", range(20))
def test_a_polynomial_whose_coefficients_change_sign_once_begins_to_hold_once(seed):
    """Not where the band is elsewhere, the sign is turned round, the signs change three times, or the other side is 0 once more."""
    a, b, c, d = (Random(seed).randint(1, 99) for _ in range(4))
    low = next(n for n in range(100) if a * (n + 1) ** 3 + b * (n + 1) ** 2 > c * (n + 1) + d)
    once, thrice = (f"{a}T^3 + {b}T^2", f"{c}T + {d}"), (f"{a}T^3 + {c}T", f"{b}T^2 + {d}")
    cubic = f"(T - {low})(T - {low + 5})^2 + {2 * low + 1}/2"
    cases = [(once, low, "T", ">"), (once, low + 1, "T", ">"), (once, low, "T", "<"), (thrice, low, "T", ">")]
    for place, (sides, edge, other, sign) in enumerate([*cases, (once, low, cubic, ">")]):
        left, right, turns = (read_expression(side, Scope(("T",))) for side in (*sides, other))
        claim = Compare(Compare(left, ">", right), "<=>", Compare(turns, sign, Number(Fraction(2 * edge + 1, 2))))
        band = Either((Compare(Name("T"), "<", number(edge)), Compare(Name("T"), ">", number(edge + 1))))
        assert (direct_proof(claim, Quotients(), (band,)) == "one sign change of the coefficients") is (place == 0)
