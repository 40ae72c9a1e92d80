"""Laws that every derivation obeys, judged by the oracle. Each raises AssertionError where it does not hold."""

from __future__ import annotations

from fractions import Fraction

import oracle

import symroof as sr
from symroof.algebra.dominance import leading_form, limit, similarity_of
from symroof.algebra.regime import Regime
from symroof.algebra.roots import whole_number
from symroof.reading.numbers import quantity
from symroof.symbols import expression, symbol

MATMUL = "bf16[B, D] * bf16[D, F] -> bf16[B, F]"
B, D, F, N = map(symbol, "BDFN")
DIMS = frozenset({B, D, F, N})


def value(expr, sizes):
    return Fraction(str(expr.subs({symbol(name): size for name, size in sizes.items()})))


def counts_are_those_of_the_loops(text, inputs, output, bits, sizes):
    """FLOPs by loops, bytes element by element."""
    operation = sr.operation(text)
    exact, fma = operation.cost("exact"), operation.cost("fma")
    assert value(exact.flops, sizes) == oracle.loop_flops(inputs, output, sizes)
    assert value(fma.intensity, sizes) == oracle.intensity(inputs, output, bits, sizes)
    reads = sum(oracle.array_bytes(shape, width, sizes) for shape, width in zip(inputs, bits, strict=False))
    assert value(exact.reads, sizes) == reads
    assert value(exact.writes, sizes) == oracle.array_bytes(output, bits[-1], sizes)


def counting_law():
    sizes = {"B": 2, "D": 3, "F": 4}
    shapes = [("B", "D"), ("D", "F")], ("B", "F")
    counts_are_those_of_the_loops(MATMUL, *shapes, [16, 16, 16], sizes)
    counts_are_those_of_the_loops("bf16[B, D] * int4[D, F] -> bf16[B, F]", *shapes, [16, 4, 16], sizes)
    counts_are_those_of_the_loops("int8[B, D] * int8[D, F] -> int8[B, F]", *shapes, [8, 8, 8], sizes)
    counts_are_those_of_the_loops("bf16[B, D] * int8[D, F] -> bf16[B, F]", *shapes, [16, 8, 16], sizes)


def threshold_law():
    """One size below the smallest whole size is memory-bound, the size itself is compute-bound: by plain numbers."""
    peak, bandwidth = Fraction("1.97e14"), Fraction("8.2e11")
    for text, widths in ((MATMUL, (2, 2, 2)), ("bf16[B, D] * int8[D, F] -> bf16[B, F]", (2, 1, 2))):
        point = sr.derive(text, on="tpu-v5e", at={"D": 8192, "F": 4096}).answer.at[0]

        def compute_bound(batch, widths=widths):
            t_math, t_comms = oracle.matmul_times(batch, 8192, 4096, peak=peak, bandwidth=bandwidth, widths=widths)
            return t_math > t_comms

        assert point.smallest_integer == oracle.first_compute_bound(compute_bound)
        assert [row.compute_bound for row in point.times] == [compute_bound(int(row.size)) for row in point.times]


def guard_law():
    """Below the guard no batch is compute-bound, above it some is."""
    d = sr.derive(MATMUL, on="tpu-v5e", at=[{"D": 480, "F": 480}, {"D": 481, "F": 481}])
    assert [point.outcome for point in d.answer.at] == ["never", "depends"]
    guard = d.answer.threshold.guard
    gap = (expression(guard.left) - expression(guard.right)).subs(symbol("ridge"), Fraction(9850, 41))
    assert [value(gap, {"D": n, "F": n}) > 0 for n in (480, 481)] == [False, True]


def times_law():
    row = sr.derive(MATMUL, on="tpu-v5e", at={"B": 64, "D": 1024, "F": 512}).answer.at[0].times[0]
    t_math, t_comms = oracle.matmul_times(64, 1024, 512, peak=Fraction("1.97e14"), bandwidth=Fraction("8.2e11"))
    assert (row.t_math, row.t_comms) == (t_math, t_comms)
    assert (row.lower, row.upper) == (max(t_math, t_comms), t_math + t_comms)
    assert row.lower <= row.upper <= 2 * row.lower


def dominance_law(weights=None, relations=None):
    """A leading form is what the function tends to along scalings, and similarity is decided by them."""
    regime = Regime(relations or ((B, "<<", D), (B, "<<", F)), DIMS)
    weights = weights or {"B": 1, "D": 2, "F": 3}
    for exact in (B * D * F / (B * D + D * F + B * F), (2 * D - 1) * B / (D + B), (B * D + F * D + 1) / (D + B)):
        form = leading_form(exact, regime)
        ratios = [value(form / exact, oracle.scaled(weights, 10**power)) for power in (3, 6)]
        assert abs(ratios[1] - 1) < Fraction(1, 10**4)
        assert abs(ratios[1] - 1) < abs(ratios[0] - 1) or ratios[1] == ratios[0] == 1
        assert similarity_of(exact, form, regime).holds
        assert not similarity_of(exact, 2 * form, regime).holds


def constants_law():
    """Without a relation for it, a symbol neither grows nor vanishes."""
    regime = Regime(((B, "<<", D),), DIMS)
    exact = B * D * F / (B * D + D * F + B * F)
    assert not similarity_of(exact, B, regime).holds
    assert similarity_of(exact, B * F / (F + B), regime).holds


def limit_law():
    from sympy import oo

    grows = Regime(((N, "->", oo),), DIMS)
    assert limit((2 * N - 1) / (4 * N + 2), grows) == Fraction(1, 2)
    assert limit(N / (N * N + 1), grows) == 0
    far = value((2 * N - 1) / (4 * N + 2), {"N": 10**9})
    assert abs(far - Fraction(1, 2)) < Fraction(1, 10**8)


def factor_law():
    """The stated factor is approximate over exact, at a point."""
    answer = sr.derive(MATMUL, assume="B << D, F").answer
    found = answer.leading
    sizes = {"B": 3, "D": 70, "F": 110}
    assert value(found.factor, sizes) == value(found.approximate, sizes) / value(answer.intensity, sizes)
    edge = {"B": 3, "D": 120, "F": 120}
    assert abs(value(found.factor, edge) - 1) <= Fraction(1, 20)
    assert all(value(y, edge) >= value(x, edge) for y, x in found.within)


def split_law():
    """Over a mesh each chip does its share, one chip changes nothing, and the link carries what a ring sends."""
    text = "bf16[B, D_X] * bf16[D_X, F] -> bf16[B, F]"
    for chips in (2, 4, 8):
        d = sr.derive(text, on="tpu-v5e", mesh={"X": chips}, link="ICI", solve_for="D")
        assert (d.setting.flops * chips - 2 * B * D * F).expand() == 0
        sent = 2 * (chips - 1) * Fraction(1, chips)  # a reduce-scatter and an all-gather of X - 1 turns each
        assert value(d.setting.moved, {"B": 1, "F": 1}) == 2 * sent
    alone = sr.derive(text, on="tpu-v5e", mesh={"X": 1})
    assert alone.answer.intensity == sr.derive(MATMUL).answer.intensity


def rate_law():
    """Arithmetic runs at the rate of the widest input; figures keep their units."""
    mixed = sr.derive("bf16[B, D] * int8[D, F] -> bf16[B, F]", on="tpu-v5e")
    assert mixed.answer.ridge == Fraction("1.97e14") / Fraction("8.2e11")
    assert quantity("3.35 TB/s", "bytes/s").value == 3_350_000_000_000
    assert quantity("1 MiB", "bytes").value == 2**20


def whole_law():
    """Above 240.24 comes 241, above 240 comes 241, above 8755.56 in steps of 2 comes 8756."""
    from sympy import Rational

    above = [whole_number(">", Rational(n, d), s) for n, d, s in ((9850, 41, 1), (240, 1, 1), (78800, 9, 2))]
    assert above == [241, 241, 8756]


def round_trip_law():
    for text in (MATMUL, "x . y: bf16[N], bf16[N] -> bf16[1]", "bf16[B, D_X] * bf16[D_X, F] -> bf16[B, F]"):
        once = str(sr.operation(text))
        assert str(sr.operation(once)) == once
        assert sr.operation(once) == sr.operation(text)


LAWS = (
    counting_law, threshold_law, guard_law, times_law, dominance_law, constants_law, limit_law, factor_law, split_law, rate_law,
    whole_law, round_trip_law,
)  # fmt: skip
