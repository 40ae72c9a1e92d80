"""Chapter 1, "All about rooflines": every answer that follows from notation, derived and compared with the book's.

The book is "How To Scale Your Model" (https://jax-ml.github.io/scaling-book/roofline). The figures on the right are the
book's; everything on the left comes out of the notation and the book's hardware figures.
"""

import json
from fractions import Fraction

import pytest

import symroof as sr
from symroof.algebra.dominance import limit
from symroof.algebra.regime import Regime
from symroof.formula import Name
from symroof.proof.step import Reason
from symroof.reading.expressions import Scope, read_expression
from symroof.reading.numbers import quantity
from symroof.symbols import expression

MATMUL = "X * Y -> Z: bf16[B, D], bf16[D, F] -> bf16[B, F]"
DOT = "x • y: bf16[N], bf16[N] → bf16[1]"
TWO_CHIPS = "bf16[B, D_X] * bf16[D_X, F] -> bf16[B, F]"
SMALL_BATCH = ["B << D", "B << F"]
QUESTION_1 = {"HBM": "8.1e11 bytes/s", "peak": "3.94e14 OPs/s"}


def book(text, names="BDFN"):
    """A formula as the book prints it."""
    return expression(read_expression(text, Scope(tuple(names))))


def same(found, text):
    return (found - book(text)).together().as_numer_denom()[0].expand() == 0


def near(found, printed):
    """Whether ``printed`` is the value rounded or truncated at its last digit."""
    unit = Fraction(10) ** -len(printed.partition(".")[2])
    return abs(Fraction(str(found)) - Fraction(printed)) < unit


# Where does the time go?


@pytest.mark.parametrize(("peak", "printed"), [("9.89e14", "1.01"), ("9.1e14", "1.1")])
def test_time_for_1e12_flops(peak, printed):
    """ "1e12 / 9.89e14 = 1.01ms", "1e12 / 9.1e14 = 1.1ms"."""
    work = quantity("1e12 FLOPs", "FLOPs").value
    assert near(work / quantity(f"{peak} FLOPs/s", "FLOPs/s").value * 1000, printed)


def test_the_bounds_differ_by_at_most_two():
    """T_math + T_comms <= 2 max(T_math, T_comms)."""
    twice = next(s for s in sr.derive(MATMUL, on="tpu-v5e").steps if s.left == Name("T_upper") and s.relation == "<=")
    assert (twice.relation, twice.check.status) == ("<=", "proved")


def test_comparing_times_is_comparing_intensities():
    """T_math > T_comms <=> FLOPs/bytes > peak/bandwidth."""
    compared = next(s for s in sr.derive(MATMUL).section("ridge") if s.reason is Reason.SAME)
    assert compared.check.status == "proved"


@pytest.mark.parametrize(
    ("on", "given", "printed"),
    [
        ("tpu-v5e", {}, "240"),
        ("tpu-v5e", {"HBM": "8.20e11"}, "240"),
        ("tpu-v5e", QUESTION_1, "486"),
        ("tpu-v5e", {"HBM": "8.1e11"}, "243.2"),
        ("h100-sxm", {"peak": "1e15"}, "298"),
    ],
)
def test_ridge_points(on, given, printed):
    assert near(sr.derive(MATMUL, on=on, given=given).answer.ridge, printed)


# Example: dot product


def test_dot_product_counts():
    """ "N multiplications and N - 1 additions", 2N + 2N bytes loaded, 2 bytes written."""
    cost = sr.operation(DOT).cost("exact")
    assert same(cost.flops, "N + (N - 1)")
    assert same(cost.reads, "2N + 2N")
    assert same(cost.writes, "2")


def test_dot_product_intensity_tends_to_one_half():
    """(N + N - 1)/(2N + 2N + 2) = (2N - 1)/(4N + 2) -> 1/2."""
    d = sr.derive(DOT, on="tpu-v5e", count="exact", assume="N -> oo")
    assert same(d.answer.intensity, "(2N - 1)/(4N + 2)")
    assert expression(d.find(Reason.LIMIT).right) == d.answer.limits["N -> oo"] == book("1/2")
    assert d.answer.leading.approximate == book("1/2")
    assert d.answer.outcome == "never"


@pytest.mark.parametrize("hbm", ["2.8e12", "2.5e12"])
def test_dot_product_on_the_vector_unit(hbm):
    """Footnote: a v5p VPU does 7e12 FLOPs/s, so the critical intensity is about 3."""
    d = sr.derive(DOT, on="tpu-v5p", given={"peak": "7e12", "HBM": hbm})  # of one core; the catalogue has that of both
    assert Fraction(5, 2) <= d.answer.ridge <= 3
    assert d.answer.outcome == "never"


# Matrix multiplication


def test_matmul_counts():
    cost = sr.operation(MATMUL).cost()
    assert same(cost.flops, "2BDF")
    assert same(cost.reads, "2BD + 2DF")
    assert same(cost.writes, "2BF")
    assert same(cost.flops_exact, "BF(2D - 1)")


def test_matmul_intensity():
    """2BDF/(2BD + 2DF + 2BF) = BDF/(BD + DF + BF), and BDF/DF = B for a small batch."""
    d = sr.derive(MATMUL, on="tpu-v5e", assume=SMALL_BATCH)
    assert same(d.answer.intensity, "BDF/(BD + DF + BF)")
    assert d.answer.leading.approximate == book("B")
    assert same(d.answer.leading.factor, "1 + B/D + B/F")


def test_matmul_is_compute_bound_above_240():
    """B > 1.97e14/8.20e11 = 240."""
    d = sr.derive(MATMUL, on="tpu-v5e", assume=SMALL_BATCH)
    assert d.answer.rule_bound == book("1.97e14/8.20e11")
    assert near(Fraction(str(d.answer.rule_bound)), "240")
    assert d.answer.smallest_integer == 241
    assert d.answer.rule.rises


def test_matmul_exact_threshold_with_its_guard():
    d = sr.derive(MATMUL, on="tpu-v5e", assume=SMALL_BATCH, at={"D": 8192, "F": 8192})
    guard, bound = (
        expression(d.answer.threshold.guard.left) - expression(d.answer.threshold.guard.right),
        d.answer.threshold.bound,
    )
    ridge = expression(Name("ridge"))
    assert (guard - (book("DF") - ridge * book("D + F"))).expand() == 0
    assert (bound * guard - ridge * book("DF")).expand() == 0
    assert d.answer.at[0].bound == book("20172800/79043")
    assert d.answer.at[0].smallest_integer == 256


def test_matmul_times():
    d = sr.derive(MATMUL, on="tpu-v5e", at="B=200,D=F=8192")
    row = d.answer.at[0].times[0]
    assert row.t_math == Fraction(2 * 200 * 8192 * 8192, 197 * 10**12)
    assert row.t_comms == Fraction(2 * 200 * 8192 * 2 + 2 * 8192 * 8192, 82 * 10**10)
    assert not row.compute_bound  # "bf16 weights wait at B = 200"


def test_a_sequence_is_a_batch_of_tokens():
    """Footnote: only the number of tokens counts, bf16[B, S, D] * bf16[D, F] has intensity B S."""
    d = sr.derive("bf16[B, S, D] * bf16[D, F] -> bf16[B, S, F]", assume="B S << D, B S << F")
    assert d.answer.leading.approximate == book("B S", "BS")


def test_tiled_matmul_tends_to_the_harmonic_mean_of_the_tile():
    """Footnote: the intensity is bm bn/(bm + bn) once the last term is ignored."""
    d = sr.derive("tiled-matmul", assume="tk -> oo")
    names = ("bm", "bn")
    assert d.answer.leading.approximate == expression(read_expression("bm bn/(bm + bn)", Scope(names)))


# Network communication


def test_two_chips():
    """T_math = BDF/1.97e14, T_comms = 2BF/4.5e10, D/2 > 4377, D > 8755: the threshold is on D."""
    d = sr.derive(TWO_CHIPS, on="tpu-v5e", mesh={"X": 2}, link="ICI", solve_for="D")
    assert same(d.setting.flops, "BDF")
    assert same(d.setting.moved, "2BF")
    assert same(d.answer.intensity, "D/2")
    assert near(d.answer.ridge, "4377")
    assert near(Fraction(str(d.answer.bound)), "8755")
    assert d.answer.smallest_integer == 8756
    assert json.loads(d.to_json())["exchanges"][0] == "all-reduce over X = 2"


# Question 1: int8


def test_question_1_int8():
    d = sr.derive("int8[B, D] * int8[D, F] -> int8[B, F]", on="tpu-v5e", given=QUESTION_1, assume=SMALL_BATCH)
    cost = d.setting.cost
    assert same(cost.reads, "BD + DF")
    assert same(cost.writes, "BF")
    assert same(cost.flops, "2BDF")
    assert same(d.answer.intensity, "2BDF/(BD + DF + BF)")
    assert d.answer.leading.approximate == book("2B")
    assert near(Fraction(str(d.answer.rule_bound)), "243")


def test_question_1_times():
    d = sr.derive("int8[B, D] * int8[D, F] -> int8[B, F]", on="tpu-v5e", given=QUESTION_1, at="B=1000,D=F=10000")
    row = d.answer.at[0].times[0]
    assert row.t_math == Fraction(2 * 10**11, 394 * 10**12)
    assert row.t_comms == Fraction(10**7 + 10**8 + 10**7, 81 * 10**10)
    assert (row.lower, row.upper) == (max(row.t_math, row.t_comms), row.t_math + row.t_comms)


# Question 2: int8 weights, bf16 activations

MIXED = "bfloat16[B, D] * int8[D, F] -> bfloat16[B, F]"


def test_question_2_compute_bound_above_120():
    d = sr.derive(MIXED, on="tpu-v5e", assume=SMALL_BATCH)
    assert same(d.answer.intensity, "2BDF/(2BD + DF + 2BF)")
    assert d.answer.leading.approximate == book("2B")
    assert near(Fraction(str(d.answer.rule_bound)), "120")


def test_question_2_small_matrices_never():
    """A reader's notes: D = F = 128 tends to 64 < 243."""
    d = sr.derive(MIXED, on="tpu-v5e", given={"HBM": "8.1e11"}, at={"D": 128, "F": 128})
    assert d.answer.at[0].outcome == "never"
    batch = d.setting.variable
    grows = Regime(((batch, "->", book("oo")),), frozenset({batch}))
    assert limit(d.answer.at[0].intensity, grows) == 64


# Question 4: one matrix for each batch element


def test_question_4_is_always_about_two():
    d = sr.derive(
        r"\text{int8[B, D]} *_D \text{int8[B, D, F]} \rightarrow \text{int8[B, F]}",
        on="tpu-v5e",
        assume=["D -> oo", "F -> oo"],
    )
    assert same(d.setting.cost.flops, "2BDF")
    assert same(d.setting.cost.bytes, "BD + BDF + BF")
    assert same(d.answer.intensity, "2DF/(D + F + DF)")
    assert d.answer.leading.approximate == 2
    assert d.answer.outcome == "never"


# Question 5: H100


def test_question_5_h100():
    d = sr.derive(MATMUL, on="h100-sxm", given={"peak": "1e15", "HBM": "3.35e12"}, assume=SMALL_BATCH)
    assert near(Fraction(str(d.answer.rule_bound)), "298")
    assert d.answer.smallest_integer == 299


def test_beyond_the_book_int4_weights():
    """Half a byte for each weight: 4B > 240, so B > 60."""
    d = sr.derive("bf16[B, D] * int4[D, F] -> bf16[B, F]", on="tpu-v5e", assume=SMALL_BATCH)
    assert d.answer.leading.approximate == book("4B")
    assert near(Fraction(str(d.answer.rule_bound)), "60.06")
