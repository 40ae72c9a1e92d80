"""Claims: the corpus comes out as written, and no claim that was made false on purpose is accepted."""

import re
import tomllib
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest
from texts import judged

import symroof as sr
from symroof.errors import SymroofError
from symroof.formula import Compare, Group, Name, Number, Product, Quotient, number
from symroof.reading.claim_sets import read_exercise
from symroof.reading.claims import Chain, Logic, read_claim
from symroof.reading.expressions import Scope, read_expression
from symroof.rendering.pages.report_page import Explainer
from symroof.verification import budget
from symroof.verification.claim_context import context_of
from symroof.verification.judge import judge
from symroof.verification.number_chains import stands_in_print
from symroof.verification.verdicts import GOOD

pytestmark = pytest.mark.part(2)

DATA = Path(__file__).parent / "data"
PROBLEMS = tomllib.loads((DATA / "claims.toml").read_text("utf-8"), parse_float=str)["problem"]
ORDER = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}


def offered(judgements):
    """Of each wrong condition, the line of a report that says what is right, put in the place of the side that it mends."""
    explain = Explainer()
    for judgement in judgements:
        finding, claim = judgement.worst, judgement.statement
        if judgement.verdict != "wrong" or not isinstance(finding.link, Compare) or finding.link.relation != "<=>":
            continue
        if right := explain.right(finding, judgement):
            regime = [r for relations in (claim.regime, *finding.needs) for r in relations]
            tail = f" as {explain.regime(regime)}" if regime else ""
            tail += f" at {', '.join(f'{name} = {explain.print(size)}' for name, size in claim.at)}" if claim.at else ""
            said = right.split("    assuming")[0].split(", so ")[0]
            yield [f"{explain.print(side)} <=> {said}{tail}" for side in (finding.link.left, finding.link.right)]


@pytest.mark.thorough
@pytest.mark.parametrize("problem", PROBLEMS, ids=[p["title"] for p in PROBLEMS])
def test_every_claim_comes_out_as_written(problem):
    """In any order; and what a report says is right of a wrong condition is right."""
    there = sr.verify(problem).judgements
    for judgement in there:
        expected = (judgement.expect,) if judgement.expect else ("holds", "rounded")
        assert judgement.verdict in expected, f"{judgement.claim}: {judgement.verdict} {judgement.error or ''}"
    back = sr.verify({**problem, "claims": problem["claims"][::-1]}).judgements[::-1]
    for claim, *both in zip(problem["claims"], there, back, strict=True):
        assert both[0].worst == both[1].worst, claim
        assert both[0].verdict == both[1].verdict, claim
    for claims in offered(there):
        verdicts = {judgement.verdict for judgement in sr.verify({**problem, "claims": claims}).judgements}
        assert {"holds", "rounded"} & verdicts, claims


@pytest.mark.thorough
def test_much_is_offered_and_no_denominator_without_its_guard():
    titles = ("The batch that fills a TPU v5e", "Conditions both ways round, in a regime")
    found = [p for p in PROBLEMS if p["title"] in titles]
    assert all([*offered(sr.verify(problem).judgements)] for problem in found)
    claims = ["6*B >= F*B + F <=> B >= F/(7-F) assuming F << D", "7D*B < 4 <=> D < 4/6/B"]
    judged = sr.verify({"symbols": ["B", "D", "F"], "claims": claims}).judgements
    assert [claims[0] for claims in offered(judged)] == [
        "6B >= FB + F <=> B >= F/(6 - F) and 6 > F as F << D",
        "7DB < 4 <=> D < 4/(7B)",
    ]


def test_the_corpus_is_large():
    assert sum(len(p["claims"]) for p in PROBLEMS) >= 200
    assert sum(isinstance(c, dict) and c["expect"] == "wrong" for p in PROBLEMS for c in p["claims"]) >= 90


def times(formula, factor):
    return Product((Number(Fraction(factor)), Group(formula)))


def falsified(claim):
    """Claims that are false where this one is true."""
    if claim.alternative:
        denied = Logic("not", (Logic("and", claim.propositions[-1]),))
        if claim.connectives[-1:] != ("=>",):
            yield replace(claim, propositions=(*claim.propositions[:-1], (denied,)))
        return
    chain = claim.propositions[-1][-1]
    last, relation = chain.sides[-1], chain.relations[-1]

    def ending(side, sign=relation):
        changed = Chain((*chain.sides[:-1], side), (*chain.relations[:-1], sign))
        return replace(claim, propositions=(*claim.propositions[:-1], (*claim.propositions[-1][:-1], changed)))

    if claim.always is not None:
        yield replace(claim, always=not claim.always)
    elif claim.connectives:
        if relation in ORDER:
            yield ending(last, ORDER[relation])
            if claim.connectives[-1] == "<=>":
                yield ending(times(last, "3/2"))
                yield ending(times(last, "1/2"))
    elif relation in ORDER:
        yield ending(last, ORDER[relation])
    elif relation in ("=", "~", "->"):
        for factor in ("3/2", "1/2"):
            yield ending(times(last, factor))
        yield ending(Quotient(Number(Fraction(1)), Group(times(last, "7/3"))))


# The opposite of these is no falsehood: both sides are 0, infinite, or the domain has no point on the other side.
KEPT = (
    "caches = 0",
    "2 > 1 <=> 3 > 2",
    "max(1/(1-2B), 0) = 0",
    "limit(1/N, N -> oo) = 0",
    "sup(-1/B, B) = 0",
    "B << D",
    "BD << DF",
    "intensity <= min(min(T, S), H)",
)


@pytest.mark.parametrize("problem", PROBLEMS, ids=[p["title"] for p in PROBLEMS])
def test_no_falsified_claim_is_accepted(problem):
    context = context_of(read_exercise(problem))
    tried = 0
    for stated in problem["claims"]:
        text = stated if isinstance(stated, str) else stated["claim"] if stated["expect"] == "rounded" else None
        if text is None or text in KEPT:
            continue
        claim = read_claim(text, context.scope)
        for false in falsified(claim):
            found = judge(false, context, explain=False)
            tried += 1
            assert found.verdict not in GOOD, f"{text}, falsified: {false.propositions}"
    assert tried or all(isinstance(stated, dict) or stated in KEPT for stated in problem["claims"])


def verdict(claim, **options):
    (found,) = sr.verify({**options, "claims": [claim]}).judgements
    return found


MATMUL = {"operation": "bf16[B, D] * bf16[D, F] -> bf16[B, F]", "hardware": "tpu-v5e"}
REGIME = {**MATMUL, "assume": "B << D, F"}


@pytest.mark.parametrize("regime", ["", " as {x} << {y}, {z}"])
@pytest.mark.parametrize(
    "form", ["T_math > T_comms <=> {x} > {n}", "2*{n} < 2*{x} <=> T_math > T_comms", "{x} > {n} => T_math > T_comms"]
)
def test_a_counterexample_refutes_what_is_said_and_not_what_is_right(form, regime):
    """Of each size and of bounds far and near: there the others are large beside it, and 240.24 is where the product turns."""
    for n, (x, y, z) in product((60, 120, 200, 239, 247, 300, 480), ("BDF", "DFB", "FBD")):
        found = verdict((form + regime).format(x=x, y=y, z=z, n=n), **MATMUL)
        if n > 240 and "=>" in form.split():
            assert found.verdict == ("holds" if regime else "conditional")
            continue
        at = found.worst.counterexample.values
        turns = sum(1 / at[size] for size in "BDF") < Fraction(41, 9850)
        assert turns == (at[x] > Fraction(9850, 41)) != (at[x] > n), (n, at)
        assert min(at[y], at[z]) >= 8 * at[x]
        assert found.worst.whole == Compare(Name(x), ">=", number(241))
        assert {part[0] for part in found.worst.counterexample.parts} == {Name("T_math"), Name("T_comms")}


@pytest.mark.parametrize(
    ("claim", "options", "kind"),
    [
        ("compute-bound when B < 240", REGIME, "turned"),
        ("T_math <= BDF/1.97e14", MATMUL, "turned"),
        ("T_upper = max(T_math, T_comms)", MATMUL, "other_extreme"),
        ("T_lower = T_math + T_comms", MATMUL, "other_extreme"),
        ("bytes = BD + DF + BF", MATMUL, "other_amount"),
        ("bytes = 2BD + 2DF", MATMUL, "traffic"),
        ("bytes = 2DF + 2BF", MATMUL, "traffic"),
        ("intensity = 2BDF/(2BD + 2DF + BF)", MATMUL, "of_width"),
        ("flops = BDF", MATMUL, "multiply_add"),
        ("flops = 4BDF", MATMUL, "factor_two"),
        ("ridge = 243", MATMUL, "other_figure"),
        ("ridge = 480", MATMUL, "other_figure"),
        ("compute-bound when B > 590", {**REGIME, "hardware": "h100-sxm", "given": {"peak": "1e15"}}, "other_figure"),
        ("flops = 2BDD", MATMUL, "other_letter"),
        ("T_math = 174.4 ms at B = 256, D = F = 8192", MATMUL, "other_unit"),
        ("16*7e9 bytes = 112 GiB", {}, "other_unit"),
        ("1e12/1e9 = 100", {}, "power_of_ten"),
        ("2^30 = 1e9 * 1.00", {}, "binary_prefix"),
        ("2^30 = 1.00000e9", {}, "binary_prefix"),
        ("4/8 = 2", {}, "upside_down"),
        ("A + A = A", {}, "factor_two"),
        ("A + A = 4A", {}, "factor_two"),
        ("9850/41 = 2402.4", {}, "power_of_ten"),
    ],
)
def test_the_mistake_is_named(claim, options, kind):
    found = verdict(claim, **options)
    assert found.verdict == "wrong"
    assert found.worst.diagnosis.kind == kind


PRINTED = tomllib.loads((Path(__file__).parent / "data" / "calculations.toml").read_text("utf-8"))


@pytest.mark.parametrize(("key", "claim"), [(key, claim) for key in ("right", "mistake") for claim in PRINTED[key]])
def test_what_is_right_is_printed_as_the_claim_is_and_a_likely_mistake_is_named(key, claim):
    """In the unit of the claim; a mistake explains the number to nearest in its printed digits, or none is named."""
    lines = dict(Explainer().labels(verdict(claim, at="B=64, D=F=8192", **REGIME))).get(key, [""])
    assert lines == [PRINTED[key][claim]]


def test_what_units_refute_rests_on_units_alone():
    """A wrong claim rests on a check and looks for no mistake in its numbers; one that is left open rests on none."""
    wrong, left_open = verdict("T_math = 3 bytes", **MATMUL), verdict("2 * 3 bytes = 6 FLOPs", **MATMUL)
    assert (wrong.verdict, wrong.worst.by, wrong.worst.check.status, wrong.worst.diagnosis) == (
        "wrong",
        "units",
        "proved",
        None,
    )
    assert (left_open.verdict, left_open.worst.check) == ("undecided", None)


@pytest.mark.parametrize(
    ("claim", "left", "right"),
    [
        ("3 bytes = 3 FLOPs", "bytes", "FLOPs"),
        ("T_math = 5 GB", "s", "bytes"),
        ("bytes = 3 ms at B = D = F = 1", "bytes", "s"),
        ("peak = 8.2e11 bytes/s", "FLOPs/s", "bytes/s"),
        ("1 s + 3 bytes = 4", "s", "bytes"),
        ("6 FLOPs / (3 bytes) = 2 s", "FLOPs/bytes", "s"),
    ],
)
def test_units_that_do_not_agree_are_named(claim, left, right):
    found = verdict(claim, **MATMUL)
    assert found.verdict == "wrong"
    assert dict(found.worst.remarks[0].facts) == {"left": left, "right": right}


@pytest.mark.parametrize(
    ("claim", "how", "digits"),
    [
        ("9850/41 = 240", "rounded", 2), ("39400/9 = 4377", "truncated", 4), ("61333 = 61000", "rounded", 2), ("13990/10 = 1.3e3", "truncated", 2),
        ("9850/41 = 240.2", "rounded", 4), ("9850/41 = 240.24", "rounded", 5), ("2/3 = 0.67", "rounded", 2), ("2/3 = 0.66", "truncated", 2),
        ("-2/3 = -0.66", "truncated", 2), ("1/989 = 1.01 ms", "rounded", 3), ("2/3 * A = 0.67A", "rounded", 2), ("2/3 * A = 0.66A", "truncated", 2),
    ],
)  # fmt: skip
def test_the_rounding_rule(claim, how, digits):
    found = verdict(claim)
    assert found.verdict == "rounded"
    assert (found.worst.remarks[0].kind, found.worst.remarks[0].facts["digits"]) == (how, digits)


@pytest.mark.thorough
def test_times_that_are_equal_are_called_so():
    """At B = 394000/3043, the true bound, no time is longer than the other."""
    problem = {**MATMUL, "operation": "bf16[B, D] * int8[D, F] -> bf16[B, F]", "given": {"HBM": "8.1e11"}}
    text = sr.verify({**problem, "claims": ["compute-bound when B > 129.35 at D = F = 8000"]}).to_text()
    assert re.search(r"B = 394000/3043: T_math = 84\.13 .s = T_comms = 84\.13 .s", text)


@pytest.mark.parametrize(
    ("claim", "options", "of", "value"),
    [
        ("(A - 1/2)^2 > 0", {}, lambda A: A, Fraction(1, 2)),
        ("(B - 3/2)^2 > 0", MATMUL, lambda B: B, Fraction(3, 2)),
        ("(A*B - 1)^2 + (A - 1/3)^2 > 0", {}, lambda A, B: (A, B), (Fraction(1, 3), 3)),
        ("(max(A, B) - 1/2)^2 > 0", {}, lambda A, B: max(A, B), Fraction(1, 2)),
        ("(min(A, B) - 1/3)^2 > 0", {}, lambda A, B: min(A, B), Fraction(1, 3)),
        ("A^2 - 2A > 0 assuming A >= 2", {}, lambda A: A, 2),
        ("B > 1", MATMUL, lambda B: B, 1),
    ],
)
def test_a_claim_that_is_false_at_single_points_is_refuted_there(claim, options, of, value):
    """Points drawn at random do not meet these."""
    found = verdict(claim, **options)
    assert found.verdict == "wrong"
    assert of(**found.worst.counterexample.values) == value


def test_sides_of_which_one_vanishes_beside_the_other_are_not_near():
    for claim in ("B ~ D", "D ~ B"):
        found = verdict(claim, assume="B << D").worst
        assert (found.verdict, found.by) == (
            "wrong",
            "certificate of dominance multiplied out: one side is negligible beside the other",
        )


def test_tolerance_is_the_users():
    assert verdict("100 ~ 104").verdict == "holds"
    assert verdict("100 ~ 104", tolerance="1 %").verdict == "wrong"
    assert verdict("100 ~ 110", tolerance="0.2").verdict == "holds"
    for share in ("1", "100 %", "-0.1", "half", True):
        with pytest.raises(SymroofError, match="is not a share"):
            sr.verify({"claims": ["1 = 1"], "tolerance": share})


@pytest.mark.parametrize(
    ("claim", "needs"),
    [
        ("intensity ~ B", [("B << D", "B << F")]),
        ("intensity ~ BF/(B + F)", [("B << D",), ("F << D",)]),
        ("bytes ~ 2DF", [("B << D", "B << F")]),
        ("flops/writes ~ D", None),
        ("compute-bound when B > 240", [("B << D", "B << F")]),
        ("B << D", [("B << D",)]),
        ("BD << BF", [("D << F",)]),
    ],
)
def test_the_unstated_regime_is_inferred_and_minimal(claim, needs):
    found = verdict(claim, **MATMUL)
    if needs is None:
        assert found.verdict == "holds"
        return
    assert found.verdict == "conditional"
    shown = [tuple(f"{r.left.name} {r.relation} {r.right.name}" for r in relations) for relations in found.worst.needs]
    assert sorted(shown) == sorted(needs)
    for relations in needs:  # true with it, and with no part of it alone
        assert verdict(claim, **MATMUL, assume=list(relations)).verdict in ("holds", "rounded")
        for left_out in relations:
            fewer = [r for r in relations if r != left_out]
            assert verdict(claim, **MATMUL, assume=fewer).verdict not in ("holds", "rounded")


@pytest.mark.parametrize(
    ("claim", "needs"),
    [("1 + x ~ 1", [("x << 1",)]), ("A + 1/A ~ 1/A", [("A << 1",)]), ("A + B + C ~ A", [("B << A", "C << A")]), ("max(A, B) ~ A", [("B <= A",)]),
     ("A + B ~ max(A, B)", [("A << B",), ("B << A",)]), ("sqrt(A^2 + B^2) ~ A", [("B << A",)]), ("A^2 + B^2 ~ A^2", [("B << A",)])],
)  # fmt: skip
def test_what_is_inferred_of_letters_is_the_weakest(claim, needs):
    found = verdict(claim)
    assert found.verdict == "conditional"
    shown = [tuple(map(said, relations)) for relations in found.worst.needs]
    assert sorted(shown) == sorted(needs)


def said(relation):
    sides = (getattr(side, "name", None) or str(side.value) for side in (relation.left, relation.right))
    return f" {relation.relation} ".join(sides)


@pytest.mark.thorough
def test_a_counterexample_obeys_the_regime():
    """Of sizes that are much smaller it takes some that are."""
    for claim in (
        "B > 300 <=> compute-bound",
        "compute-bound when B < 240",
        "compute-bound when B > 242",
        "B > 200 => compute-bound",
    ):
        found = verdict(claim, **REGIME)
        point = found.worst.counterexample.values
        assert found.verdict == "wrong"
        assert min(point["D"], point["F"]) >= 8 * point["B"]


def test_a_condition_that_cannot_be_true_is_remarked():
    for claim in ("B < 0.5 => B > 3", "T_math > 2T_math => B > 3", "intensity > D => B > 7"):
        found = verdict(claim, **MATMUL)
        assert (found.verdict, [remark.kind for remark in found.worst.remarks]) == ("holds", ["vacuous"])
    assert not verdict("T_math > T_comms => B > 240", **MATMUL).worst.remarks


@pytest.mark.parametrize("at", ["", "B = 3", "D = 128, F = 7"])
@pytest.mark.parametrize(("left", "right"), [("intensity", "B"), ("T_math", "3 ms"), ("flops", "7DF"), ("D", "F")])
@pytest.mark.parametrize("by", ["claim", "problem", "sentence"])
def test_a_counterexample_is_one(tmp_path, left, right, at, by):
    """At the sizes that are shown, those that were put in among them, both sides are what is shown."""
    if by == "sentence":
        put, comment = f"With ${at}$, " if at else "", "".join(f'{key} = "{MATMUL[key]}"\n' for key in MATMUL)
        text = f"<!-- symroof\n{comment}-->\n{put}$\\text{{FLOPs}} = 7DF$."
        (judgement,), left, right = judged(tmp_path, text).judgements, "flops", "7DF"
    else:
        options = {"at": at} if at and by == "problem" else {}
        judgement = verdict(f"{left} = {right}" + (f" at {at}" if at and by == "claim" else ""), **MATMUL, **options)
    if (shown := judgement.worst.counterexample) is not None:
        sizes = ", ".join(f"{name} = {value}" for name, value in shown.values.items())
        assert all(size in sizes for size in at.split(", ")) or (by == "problem" and right != "3 ms")
        for side, value in ((left, shown.left), (right, shown.right)):
            assert verdict(f"{side} = {value} at {sizes}", **MATMUL).verdict == "holds"


@pytest.mark.parametrize(
    ("claim", "left", "right"),
    [
        ("(A - 1)*(3 - A) > 0 <=> A > 1 and A < 2", lambda A: (A - 1) * (3 - A) > 0, lambda A: 1 < A < 2),
        ("(A - 1)*(3 - A) > 0 <=> A > 2 and A < 3", lambda A: (A - 1) * (3 - A) > 0, lambda A: 2 < A < 3),
        ("(A - 1)*(A - 3) > 0 <=> A > 3", lambda A: (A - 1) * (A - 3) > 0, lambda A: A > 3),
        ("A^2 > 4 => A > 2 and A < 9", lambda A: A * A <= 4, lambda A: 2 < A < 9),
    ],
)
def test_a_counterexample_of_conditions_is_one(claim, left, right):
    found = verdict(claim)
    assert found.verdict == "wrong"
    (size,) = found.worst.counterexample.values.values()
    assert left(size) != right(size) if "<=>" in claim else not (left(size) or right(size))


def test_the_work_of_a_claim_is_limited(monkeypatch):
    """The work is counted, so a verdict is the same on every machine; what is not decided says so."""
    assert verdict("A^2 + B^2 >= 2AB").verdict == "holds"
    monkeypatch.setattr("symroof.verification.judge.limited", lambda: budget.limited(5))
    found = verdict("A^2 + B^2 >= 2AB")
    assert (found.verdict, found.worst.remarks[0].kind) == ("undecided", "too_long")


def test_a_mistake_that_takes_too_much_work_leaves_the_verdict(monkeypatch):
    def exhausted(finding, context):
        raise budget.Exhausted

    monkeypatch.setattr("symroof.verification.judge.diagnosed", exhausted)
    assert verdict("2*3 = 7").verdict == "wrong"


@pytest.mark.parametrize(
    "claim", ["(A+B+C+D+E)^32 = A", "diff((A+B+C+D+E)^20/(A+B)^9, A) = B", "(A+B+C+D)^30/(A+C+E)^30 ~ B as A -> oo"]
)
def test_what_is_too_large_is_undecided_and_says_so(claim):
    found = verdict(claim)
    assert found.verdict == "undecided"
    assert "too large" in (found.reason or found.worst.remarks[0]).facts["why"]


def test_links_say_what_decided_them():
    (found,) = sr.verify({**REGIME, "claims": ["intensity = 2BDF/(2BD + 2DF + 2BF) ~ B"]}).judgements
    assert [finding.by for finding in found.findings] == ["exact identity", "certificate of dominance multiplied out"]
    assert all(isinstance(finding.link, Compare) for finding in found.findings)


def test_the_same_whole_sizes_are_left_by_a_bound_on_a_multiple():
    """B > 240.24 is B >= 241, as is 2B > 481; 2B > 482 begins at 242."""
    right, wrong = (verdict(f"compute-bound when 2B > {bound}", **REGIME) for bound in (481, 482))
    assert (right.verdict, right.worst.remarks[0].kind, right.worst.remarks[0].facts["first"]) == (
        "holds",
        "whole",
        241,
    )
    assert wrong.verdict == "wrong"


def test_the_worst_link_of_a_chain_is_what_a_claim_comes_to():
    (found,) = sr.verify({**MATMUL, "claims": ["bytes = 2BD + 2DF + 2BF = 4BD"]}).judgements
    assert [finding.verdict for finding in found.findings] == ["holds", "wrong"]
    assert found.worst.verdict == found.verdict == "wrong"


@pytest.mark.parametrize(
    ("side", "printed"),
    [
        ("2.5x", True),
        ("2.5xy^2", True),
        ("2.5bytes", False),
        ("2.5 bytes x", False),
        ("2.5 x bytes", False),
        ("2.5(x + y)", False),
    ],
)
def test_a_number_before_free_names_stands_in_print(side, printed):
    context = context_of(read_exercise(MATMUL))
    assert stands_in_print(read_expression(side, Scope(("bytes", "x", "y"))), context) is printed


AMOUNTS = [
    (operation, name, unit, other)
    for operation, names in (
        ("matmul", ("bytes", "reads", "writes", "flops")),
        ("mlp", ("bytes", "weights", "flops")),
        ("softmax", ("bytes", "reads", "flops")),
    )
    for name in names
    for unit, other in ((("FLOPs", "bytes") if name == "flops" else ("bytes", "FLOPs")),)
]


@pytest.mark.thorough
@pytest.mark.parametrize(("operation", "name", "unit", "other"), AMOUNTS)
def test_a_unit_behind_a_formula_is_the_unit_of_all_of_it(operation, name, unit, other):
    """``weights = 4DF bytes`` says what ``weights = 4DF`` says, however it is written; another unit is never accepted."""
    value = str(sr.derive(operation).function(name).expression).replace("**", "^")

    def judged(claim):
        return verdict(claim, operation=operation).verdict

    kinds = {"FLOPs": ("FLOPs", "FLOP"), "bytes": ("bytes", "byte", "Bytes")}
    for text in (value, f"({value})", f"{value} + 0", f"2*({value})*(1/2)"):
        assert judged(f"{name} = {text}") == "holds"
        for spelled in kinds[unit]:
            assert judged(f"{name} = {text} {spelled}") == "holds", (text, spelled)
        for spelled in kinds[other]:
            assert judged(f"{name} = {text} {spelled}") not in GOOD, (text, spelled)
        assert judged(f"{name} = {text} + 1 {unit}") == "wrong"
        assert judged(f"{name} > 0 and {text} {unit} = {name}") == "holds"
    assert judged("flops = intensity * bytes") == judged("flops = intensity bytes") == "holds"
