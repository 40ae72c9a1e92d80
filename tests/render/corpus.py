"""Derivations for the tests of renderers: every operation of the library, and what is hard to typeset.

Each entry makes its derivation once for the whole run.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

from texts import LAYERS

import symroof as sr
from symroof.model.library import LIBRARY

ATTENTION = "bf16[B, T, N, H] * bf16[B, S, N, H] -> bf16[B, N, T, S]"
SPLIT = "bf16[B, D_X] * bf16[D_X, F] -> bf16[B, F]"
MLP = "input x: bf16[N, D]; weight W1: bf16[D, F]; weight W2: bf16[F, D]; h = x * W1 -> bf16[N, F]; a = relu(h); y = a * W2 -> bf16[N, D]"
NO_PEAK = {"triad"}  # no chip of the catalogue has a peak for fp64


def dot_flops(N):
    return N + (N - 1)


def dot_reads(N):
    return 2 * N + 2 * N


def dot_writes(N):
    return 2


def stencil_flops(n_x, n_y):
    return (2 * 5 - 1) * (n_x - 2) * (n_y - 2)


def stencil_reads(n_x, n_y):
    return 4 * n_x * n_y


def stencil_writes(n_x, n_y):
    return 4 * (n_x - 2) * (n_y - 2)


def blocked_flops(N):
    return 2 * N**3


def blocked_reads(N, block):
    return 4 * N**3 / block + 4 * N**2


def blocked_writes(N):
    return 2 * N**2


def nested_flops(d_model, d_ff):
    return 2 * (d_model * (d_ff - (d_model - 1)) + d_ff**2)


def nested_reads(d_model, d_ff):
    return 2 * (d_model + d_ff) * (d_model + 1) / 3


def nested_writes(d_ff):
    return d_ff / (2 * 4)


def looped_flops(N):
    total = 0
    for step in (1, 2):
        total += step * N
    return total


def greek_flops(λ, N):
    return 2 * λ * N * (λ + 1)


def greek_reads(λ, N):
    return 4 * N * λ + 4 * λ * N


def greek_writes(λ):
    return 2 * λ


DOT = sr.Operation("dot product", flops=dot_flops, reads=dot_reads, writes=dot_writes)
STENCIL = sr.Operation("five-point stencil", flops=stencil_flops, reads=stencil_reads, writes=stencil_writes)
BLOCKED = sr.Operation("blocked_matmul", flops=blocked_flops, reads=blocked_reads, writes=blocked_writes)
CHAIN = sr.Operation(
    "fused chain",
    flops=lambda B, D, F, G: 3 * B * D * F * G,
    reads=lambda B, D, F, G: 2 * (B * D + D * F + F * G),
    writes=lambda B, G: 2 * B * G,
)
NESTED = sr.Operation("nested", flops=nested_flops, reads=nested_reads, writes=nested_writes)
LOOPED = sr.Operation("looped", flops=looped_flops, reads=dot_reads, writes=dot_writes)
GREEK = sr.Operation("Greek", flops=greek_flops, reads=greek_reads, writes=greek_writes)


def _matmul(b: str, d: str, f: str, dtype: str = "bf16") -> str:
    return f"{dtype}[{b}, {d}] * {dtype}[{d}, {f}] -> {dtype}[{b}, {f}]"


def _entry(operation: Any, **options: Any) -> Callable[[], sr.Derivation]:
    return cache(partial(sr.derive, operation, **options))


CORPUS: dict[str, Callable[[], sr.Derivation]] = {
    **{f"library {name}": _entry(name, on=None if name in NO_PEAK else "tpu-v5e") for name in LIBRARY},
    **{f"symbolic {name}": _entry(name) for name in ("dot", "matmul", "matvec", "softmax", "rms-norm", "tiled-matmul")},
    "program": _entry(MLP, on="tpu-v5e", assume="N << D, F", at="D=8192, F=32768"),
    "program in training": _entry(MLP, on="tpu-v5e", training=True),
    "program of layers": _entry(LAYERS, on="tpu-v5e"),
    "program of layers, symbolic": _entry(LAYERS),
    "regime": _entry("matmul", on="tpu-v5e", assume="B << D, F"),
    "regime, at a size": _entry("matmul", on="tpu-v5e", assume="B << D, F", at="D=F=8192"),
    "regime, at a point": _entry("matmul", on="tpu-v5e", assume="B << D, F", at="B=256, D=F=8192"),
    "regime, symbolic": _entry("matmul", assume="B << D, F"),
    "regime, symbolic, at a size": _entry("matmul", assume="B << D, F", at="D=F=8192"),
    "at two sizes": _entry("matmul", on="h100", at=["D=F=8192", "D=4096, F=14336"]),
    "counted exactly": _entry("matmul", on="tpu-v5e", assume="B << D, F", at="D=F=8192", count="exact"),
    "dot, limit": _entry("dot", assume="N -> oo"),
    "dot, limit on a chip": _entry("dot", on="tpu-v5e", assume="N -> oo", count="exact"),
    "joint limit": _entry("matmul", on="tpu-v5e", assume="D -> oo, F -> oo"),
    "equality": _entry("matmul", on="tpu-v5e", assume="D = F"),
    "equivalence": _entry("matmul", on="tpu-v5e", assume="D ~~ F, B << D"),
    "same size": _entry("matmul", on="tpu-v5e", assume="D ~ F, B << D"),
    "solve for F": _entry("matmul", on="tpu-v5e", solve_for="F"),
    "attention": _entry(ATTENTION, on="tpu-v5p"),
    "attention, regime": _entry(ATTENTION, on="tpu-v5e", assume="H << T, S", at="T=S=4096, H=128"),
    "int4": _entry(_matmul("B", "D", "F", "int4"), on="tpu-v5e", compute="int8", assume="B << D, F"),
    "int8 weights": _entry("bf16[B, D] * int8[D, F] -> bf16[B, F]", on="tpu-v5e", assume="B << D, F"),
    "fp8": _entry(_matmul("B", "D", "F", "fp8"), on="h100", at="D=F=4096"),
    "one size is a number": _entry(_matmul("B", "4096", "F"), on="tpu-v5e"),
    "named tensors": _entry("X * Y -> Z: bf16[B, D], bf16[D, F] -> bf16[B, F]", on="a100"),
    "named tensors, words": _entry(
        "x_in * w_q -> y_out: bf16[B, D], bf16[D, F] -> bf16[B, F]",
        on={"title": "my_chip & co", "peak": "3e14 FLOPs/s", "HBM": "1e12 bytes/s"},
    ),
    "three operands": _entry("bf16[A, B] * bf16[B, C] * bf16[C] -> bf16[A, B, C]", on="tpu-v5e"),
    "names with words": _entry(
        _matmul("batch", "d_model", "n_kv_heads"), on="tpu-v5e", assume="batch << d_model, n_kv_heads"
    ),
    "words on both sides": _entry(
        _matmul("head_dim", "seq_len", "vocab_size"), on="tpu-v5e", at="seq_len=vocab_size=8192"
    ),
    "names with digits": _entry(_matmul("N1", "N2", "d_12"), on="tpu-v5e", assume="N1 << N2, d_12"),
    "Greek names": _entry(_matmul("λ", "μ", "σ"), on="tpu-v5e", assume="λ << μ, σ", at="μ=σ=8192"),
    "Greek names, symbolic": _entry(_matmul("λ", "μ_1", "σ2")),
    "Greek beside Latin names": _entry(_matmul("B", "λ", "F"), on="tpu-v5e"),
    "Greek capitals": _entry(_matmul("Δ", "Λ", "Ω"), on="tpu-v5e"),
    "Greek in a subscript": _entry(_matmul("d_λ", "D", "F"), on="tpu-v5e"),
    "Greek letters without a macro of their own": _entry(_matmul("ι", "υ", "ζ"), on="tpu-v5e"),
    "names of quantities": _entry(_matmul("I", "R", "C"), on="tpu-v5e", assume="I << R, C", at="R=C=8192"),
    "names of quantities, symbolic": _entry(_matmul("C", "W", "I"), assume="C << W, I"),
    "names of constants": _entry(_matmul("E", "N", "O"), on="tpu-v5e", assume="E << N, O"),
    "every clash": _entry("bf16[E, I, R] * bf16[E, R, C, W] -> bf16[E, I, C, W]", on="tpu-v5e"),
    "two chips": _entry(SPLIT, on="tpu-v5e", mesh={"X": 2}, link="ICI", solve_for="D"),
    "two chips, at a size": _entry(SPLIT, on="tpu-v5e", mesh={"X": 2}, link="ICI", solve_for="D", at="D=8192"),
    "two chips, exact": _entry(SPLIT, on="tpu-v5e", mesh={"X": 2}, link="ICI", solve_for="D", count="exact"),
    "two chips, memory": _entry(SPLIT, on="tpu-v5e", mesh={"X": 2}),
    "four chips, clash": _entry("bf16[W, C_X] * bf16[C_X, R] -> bf16[W, R]", on="tpu-v5e", mesh={"X": 4}, link="ICI"),
    "gather": _entry("bf16[B, D_X] * bf16[D, F] -> bf16[B, F]", on="tpu-v5e", mesh={"X": 4}, link="ICI"),
    "scatter": _entry("bf16[B, D_X] * bf16[D_X, F] -> bf16[B, F_X]", on="tpu-v5p", mesh={"X": 16}, link="ICI"),
    "figures of one's own": _entry("matmul", on={"peak": "3e14 FLOPs/s", "HBM": "1.5e12 bytes/s"}, assume="B << D, F"),
    "figures given": _entry("matmul", on="tpu-v5e", given={"HBM": "8.1e11 bytes/s"}, at="D=F=8192"),
    "a link of one's own": _entry(
        _matmul("W", "C", "F"), on="tpu-v5e", given={"my_link": "9e10 bytes/s"}, link="my_link"
    ),
    "named formulas": _entry("matmul", on="tpu-v5e", let={"T_both": "T_math + T_comms", "half_ridge": "ridge/2"}),
    "functions": _entry("matmul", let={"w": "max(B, sqrt(D))/min(D, F)"}),
    "symbols": _entry("matmul", on="tpu-v5e", symbols=["n_heads"], let={"work_share": "flops/n_heads"}),
    "title": _entry("matmul", on="tpu-v5e", title="50 % of a cost_model & more", assume="B << D, F"),
    "one section": _entry("matmul", on="tpu-v5e", sections="ridge"),
    "cost functions": _entry(DOT, assume="N -> oo"),
    "cost functions, differences": _entry(STENCIL, on="tpu-v5e", compute="bf16"),
    "cost functions, powers": _entry(BLOCKED, assume="block << N"),
    "cost functions, nested": _entry(NESTED),
    "cost functions, Greek names": _entry(GREEK),
    "cost functions, not an expression": _entry(LOOPED),
    "regimes": cache(partial(sr.regimes, "matmul", on="tpu-v5e", at="B=256,D=F=8192")),
    "regimes, clash": cache(partial(sr.regimes, _matmul("I", "R", "d_model"), on="tpu-v5e", at="R=128")),
    "regimes, products of sizes": cache(partial(sr.regimes, CHAIN, on="h100", compute="bf16", every=True)),
    "regimes of another quantity": cache(partial(sr.regimes, "matmul", of="T_comms/T_math")),
    "comparison": cache(partial(sr.compare, "matmul", on="tpu-v5e, h100", dtypes="bf16, int8", at="D=F=8192")),
}
