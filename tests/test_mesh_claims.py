"""Claims about programs on meshes and products with open axes: what they may name, what is wrong with false ones, and that
none is accepted that the simulated mesh does not bear out."""

import itertools
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from test_gate import _nothing_is_remembered, put_in  # noqa: F401 (a fixture)
from texts import FSDP, cases

import symroof as sr
from symroof.errors import SymroofError
from symroof.reading.claim_sets import read_exercise
from symroof.reading.documents import read_text
from symroof.reading.latex import read_latex
from symroof.reading.latex_phrases import Dialect
from symroof.verification.claim_context import context_of
from symroof.verification.document_claims import judge_read
from symroof.verification.judge import judge

pytestmark = pytest.mark.part(1)

BOTH = FSDP.replace("gelu", "relu")
PRODUCT = {"operation": "bf16[B_X, D] * bf16[D_X, F] -> bf16[B_X, F]", "mesh": "X", "link": "ICI"}


def judged(program, *claims, **options):
    options = {"hardware": "tpu-v5p", **options} | (program if isinstance(program, dict) else {"operation": program})
    return sr.verify({**options, "claims": list(claims)}).judgements


def verdicts(program, *claims, **options):
    return [judgement.verdict for judgement in judged(program, *claims, **options)]


@pytest.mark.parametrize(("claim", "unit"), [("sent(X) = 3 FLOPs at B = D = F = X = Y = 8", "FLOPs"), ("bytes_per_chip = 3 s at B = D = F = X = Y = 8", "bytes"), ("flops_per_chip = 1 byte at B = D = F = X = Y = 8", "bytes"), ("T_X = 3 bytes at B = D = F = X = Y = 8", "bytes")])  # fmt: skip
def test_units_of_what_a_chip_does(claim, unit):
    (found,) = judged(BOTH, claim)
    assert found.worst.remarks[0].kind == "units"
    assert unit in found.worst.remarks[0].facts.values()


def test_an_axis_that_nothing_crosses_is_refused():
    (found,) = judged(BOTH, "sent(Z) = 3")
    assert found.verdict == "unreadable"
    assert "expected one of sent(X), sent(Y)" in found.error


@cases(r"""
written | expected
T_{\text{math}} = \frac{4BDF}{XYC} | holds
T_X = \frac{4DF(X-1)}{XY\,W_{\text{ici}}} | holds
T_X \approx \frac{4DF}{Y\,W_{\text{ici}}} \text{ as } X \gg 1 | holds
T_{\text{math}} > T_X \iff B > (X - 1)\frac{C}{W_{\text{ici}}} | holds
T_X = \frac{8DF(X-1)}{XY\,W_{\text{ici}}} | wrong
\text{sent}(X) = 2DF(X - 1)/(XY) | holds
\text{sent}_X = 2DF(X - 1)/(XY) | holds
\text{bytes sent}(Y) = 2BD(Y - 1)/(XY) | holds
\text{FLOPs per chip} = \frac{4BDF}{XY} | holds
\text{number of chips} = XY | holds
\text{chips} = X + Y | wrong
""")
def test_textbook_latex(written, expected):
    text = f'<!-- symroof\noperation = """{BOTH}"""\nhardware = "tpu-v5p"\naliases = {{ W_ici = "ICI.bidirectional", C = "peak" }}\n-->\n\nHere ${written}$.'
    assert [j.verdict for j in judge_read(read_text(text), Path()).judgements] == [expected]


def test_axes_with_an_index():
    text = f'<!-- symroof\noperation = """{BOTH}"""\nhardware = "tpu-v5p"\naliases = {{ M_X = "X", M_Y = "Y" }}\n-->\n\nHere $\\text{{chips}} = M_X M_Y$ and $\\text{{sent}}(X) = \\frac{{2DF(M_X - 1)}}{{M_X M_Y}}$.'
    assert [j.verdict for j in judge_read(read_text(text), Path()).judgements] == ["holds"] * 2


@pytest.mark.thorough
def test_a_condition_against_one_resource_is_told_from_that_against_all():
    """compute-bound on a mesh is against the memory and every link."""
    all_, one = "compute-bound when B > 2550(X - 1)", "T_math > T_X <=> B > 2550(X - 1)"
    claims = all_, one, "compute-bound when Y < 1 + F/2550"
    first, alone, other = judged(BOTH, *claims)
    assert [first.verdict, alone.verdict, other.verdict] == ["wrong", "holds", "wrong"]
    (named,) = sr.verify({"operation": BOTH, "hardware": "tpu-v5p", "link": "X", "claims": [claims[0]]}).judgements
    assert named.verdict == "holds"  # where a link is named, that is what is compared


@pytest.mark.thorough
def test_what_is_wrong_with_a_claim_about_training():
    right = ("sent(X) = 6DF(X - 1)/(XY)", "sent(Y) = 4BD(Y - 1)/(XY)", "flops_per_chip = 12BDF/(XY)")
    assert verdicts(BOTH, *right, training=True) == ["holds"] * 3
    wrong = ("sent(X) = 4DF(X - 1)/(XY)", "sent(X) = 2DF(X - 1)/(XY)", "flops_per_chip = 12BDF/X")
    assert verdicts(BOTH, *wrong, training=True) == ["wrong"] * 3


# Faults. Each would make a false claim true; the simulated mesh refuses them all.


def costs(change):
    return lambda f: lambda program: {name: change(cost) for name, cost in f(program).items()}


def places(change):
    return lambda f: lambda program: tuple(replace(place, **change(place)) for place in f(program))


FAULTS = [
    ("model.chip_costs.chip_costs", costs(lambda c: replace(c, exchanges=tuple(replace(e, sent={n: 2 * x for n, x in e.sent.items()}) for e in c.exchanges))), "sent(X) = 4DF(X - 1)/(XY)"),
    ("model.chip_costs.chip_costs", costs(lambda c: replace(c, flops=2 * c.flops, flops_exact=2 * c.flops_exact)), "flops_per_chip = 8BDF/(XY)"),
    ("model.chip_costs.chip_costs", costs(lambda c: replace(c, loads=())), "bytes_per_chip = 2BF/(XY) + 2BD/X"),
    ("model.chip_costs.message", lambda f: lambda *a: f(*a) / 2, "sent(X) = DF(X - 1)/(XY)"),
    ("model.chip_costs.placements", places(lambda p: {"moves": p.moves[:1] if p.line.statement.name == "h" else p.moves}), "sent(X) = DF(X - 1)/(XY)"),
    ("model.chip_costs.placements", places(lambda p: {"moves": tuple(replace(m, collective="all-reduce") for m in p.moves)}), "sent(X) = 4DF(X - 1)/(XY)"),
    ("model.chip_costs.placements", places(lambda p: {"division": frozenset(d for d in p.division if d[1] != "Y")}), "flops_per_chip = 4BDF/X"),
    ("model.program_quantities._on_a_chip", lambda f: lambda *a: {n: 2 * x if n == "chips" else x for n, x in f(*a).items()}, "chips = 2XY"),
]  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault[2])
def test_no_fault_makes_a_false_claim_hold(fault, monkeypatch):
    producer, change, claim = fault
    assert verdicts(BOTH, claim) == ["wrong"]
    put_in(monkeypatch, producer, change)
    try:
        found = verdicts(BOTH, claim)
    except SymroofError:
        return
    assert found[0] not in ("holds", "rounded", "conditional")


def test_no_fault_makes_a_false_claim_about_a_product_hold(monkeypatch):
    put_in(monkeypatch, "model.placement._Chips._brought", lambda f: lambda *a: ())
    with pytest.raises(SymroofError):
        judged(PRODUCT, "sent(X) = 0")


ALL_TIMES = ("X/B + Y/F + 4/(3D) < 1/163.93", "B > 2550(X - 1)", "Y < 1 + F/1700")


def told_of_all(parts, word=" and "):
    (verdict,) = verdicts("fsdp-megatron", f"compute-bound when {word.join(parts)}")
    return verdict


@pytest.mark.thorough
@pytest.mark.part(1)
@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_all_resources_are_told_in_any_order(order):
    assert told_of_all([ALL_TIMES[i] for i in order]) == "rounded"


FALSE = [(*ALL_TIMES[:2], "Y < 1 + F/1600"), ("X/B + Y/F + 4/(3D) < 1/165.93", *ALL_TIMES[1:])]


@pytest.mark.thorough
@pytest.mark.parametrize("parts", [*itertools.combinations(ALL_TIMES, 2), (*ALL_TIMES, "D > 300"), *FALSE])
def test_one_resource_that_is_left_out_or_wrong_is_noticed(parts):
    assert told_of_all(parts) == "wrong"
    assert told_of_all(ALL_TIMES, " or ") == "wrong"


@pytest.mark.thorough
def test_a_verdict_does_not_depend_on_the_questions_before_it():
    """z3 numbers its terms as they come, and where a counterexample is hard to find, it found one or not by these numbers."""
    assert [told_of_all(parts) for parts in (*reversed(FALSE), FALSE[1])] == ["wrong"] * 3


GUARDED = ("B > ridge FY(D + E)/(F(D + E) - ridge (DX + EX + 2F))", "F(D + E) > ridge (DX + EX + 2F)")
GUARDED += ("X < 1 + F/1700", "B > 48960(Y - 1)")
# Each guard in each place, before and behind each other one.
PLACES = [tuple((first + step * place) % 4 for place in range(4)) for first in range(4) for step in (1, 3)]
TWO_LAYERS = "mesh X on ICI; mesh Y on DCN; input x: bf16[B_Y, D]; weight W: bf16[D, F_X]; weight U: bf16[F_X, E]; h = x*W -> bf16[B_Y, F_X]; y = h*U -> bf16[B_Y, E]"


@pytest.mark.thorough
@pytest.mark.parametrize("order", PLACES)
def test_a_guard_may_stand_anywhere_and_may_not_be_left_out(order):
    """A bound that divides by a sum has no value where its guard fails; what is false beside it decides."""
    whole = [GUARDED[i] for i in order]
    claims = [f"T_math > T_comms <=> {' and '.join(parts)}" for parts in (whole, whole[1:])]
    assert verdicts(TWO_LAYERS, *claims, training=True) == ["holds", "wrong"]


@pytest.mark.parametrize("claim", [
    r"T_\text{math} > T_\text{comms} \iff B > \begin{cases} 240 & \text{if } D > F \\ 300 & \text{otherwise} \end{cases}",
    r"B > \begin{cases} 240 & \text{if } D > F \\ 300 & \text{otherwise} \end{cases}",
    r"\text{intensity} = \begin{cases} B & \text{if } D > F \\ F & \text{otherwise} \end{cases}",
])  # fmt: skip
def test_a_value_by_cases_is_left_open(claim):
    """It is no proposition for the prover, which ended in an internal error."""
    context = context_of(read_exercise({"operation": TWO_LAYERS, "hardware": "tpu-v5p", "claims": []}))
    (read,) = read_latex(claim, Dialect(context.scope))
    assert judge(read, context).verdict == "undecided"


@pytest.mark.thorough
def test_a_whole_size_is_one_of_those_that_the_chips_share_out():
    """B > 5100 at X = 4 is B >= 5104, of which derivations speak, or any that leaves the same multiples of 4."""
    sizes = {"D": 8400, "F": 33600, "X": 4}
    problem = {"operation": "data-parallel", "training": True, "hardware": "tpu-v5p"}
    expected = {5100: "rounded", 5101: "holds", 5104: "holds", 5105: "wrong", 5108: "wrong"}
    there = ", ".join(f"{n} = {x}" for n, x in sizes.items())
    for form in ("B >= {} <=> T_math > T_X at {}", "T_math > T_X <=> B >= {} at {}"):
        claims = [form.format(size, there) for size in expected]
        found = sr.verify({**problem, "claims": claims}).judgements
        assert [one.verdict for one in found] == [*expected.values()]
    derived = sr.derive(problem, at=sizes).to_dict()["answer"]["at"][0]["thresholds"]["X"]
    assert derived["smallest_integer"] == 5104


@pytest.mark.parametrize("features", [28672, *(pytest.param(n, marks=pytest.mark.thorough) for n in (24576, 13312))])
def test_a_bound_between_two_numbers_of_chips_is_right_and_says_so(features):
    """Of whatever stands between two numbers of chips that share a size out each bound is right, and one that other whole
    numbers would tell from the true one says so in the shortest report."""
    told = {"operation": BOTH.replace("relu", "gelu"), "hardware": "tpu-v5p", "training": True}
    threshold = Fraction(features * 1786588, 28672 * 100000)
    chips = [n for n in range(1, features + 1) if features % n == 0]
    bounds = sorted({*range(max(2, int(threshold) - 4), int(threshold) + 6)})
    report = sr.verify({**told, "claims": [f"T_math > T_Y <=> Y < {n} at F = {features}" for n in bounds]})
    lines = report.to_text(brief=True).splitlines()
    for n, judgement in zip(bounds, report.judgements, strict=True):
        same = [c for c in chips if c < n] == [c for c in chips if c < threshold]
        assert (judgement.verdict in ("holds", "rounded")) == same, judgement.claim
        (line,) = [line for line in lines if f"Y < {n} at" in line] or [""]
        assert ("no number of chips between" in line) == (same and not n - 1 < threshold <= n)


def test_what_is_right_in_the_other_count_alone_says_so():
    told = {"operation": "bf16[B, D_X] * bf16[D_X, F] -> bf16[B, F]", "hardware": "tpu-v5e", "mesh": {"X": 2}}
    report = sr.verify(
        {**told, "assume": "B << D, F", "claims": [f"compute-bound never at D = {n}" for n in range(8750, 8764, 2)]}
    )
    lines = report.to_text(brief=True).splitlines()
    for n, judgement in zip(range(8750, 8764, 2), report.judgements, strict=True):
        exactly, fused = n * 2 > 2 * 8756, n > 8755.56
        assert (judgement.verdict == "holds") == (not exactly), judgement.claim
        assert any(f"D = {n}  count exact" in line for line in lines) == (fused and not exactly)
