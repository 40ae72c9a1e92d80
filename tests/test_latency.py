"""Latency against throughput: each mark against the functions of the derivation, and the end against the bytes of the memory."""

import random
import re

import pytest

import symroof as sr
from symroof.errors import ModelError

pytest.importorskip("matplotlib")

pytestmark = pytest.mark.part(1)

LLAMA = {"S": 8192, "V": 128256, "D": 4096, "K": 8, "G": 4, "H": 128, "F": 14336, "L": 32}


def bytes_of(b, s, v, d, k, g, h, f, el):
    """Weights and caches in bf16, by hand."""
    layer = d * k * g * h * 2 + 2 * d * k * h + 3 * d * f + 2 * d
    return 2 * (el * layer + 2 * v * d + d) + 2 * 2 * el * b * s * k * h


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(6))
def test_a_curve_ends_where_the_memory_is_full(seed):
    draw = random.Random(f"latency {seed}")
    at = LLAMA | {"S": draw.choice((512, 3000, 8192, 20000)), "L": draw.choice((16, 32))}
    chip, capacity = draw.choice((("h100", 80e9), ("tpu-v5p", 96e9)))
    shown = sr.plot("decode-step", on=chip, at=at, over="B=1:4096:log", kind="latency")
    (curve,) = shown.drawing.curves
    held = [b for b in range(1, 4097) if bytes_of(b, *at.values()) <= capacity]
    assert curve.full == (None if held[-1] == 4096 else held[-1])
    assert curve.marks[-1] == held[-1]
    derivation = sr.derive("decode-step", on=chip)
    time, tokens = derivation.function("T_lower"), derivation.function("tokens_per_second")
    for row in shown.rows:
        b = int(row["B"])
        assert row["s"] == pytest.approx(time(B=b, **at))
        assert row["tokens/s per chip"] == pytest.approx(tokens(B=b, **at)) == pytest.approx(b / row["s"])


@pytest.mark.thorough
def test_several_chips_and_sizes_are_curves_of_their_own():
    at = [LLAMA | {"S": s} for s in (1024, 8192)]
    shown = sr.plot("decode-step", on="h100, b200", at=at, over="B=1:512:log", kind="latency")
    assert len(shown.drawing.curves) == 4
    assert len({row["chip"] for row in shown.rows}) == 2
    told = shown.description()
    assert told.count("tokens/s per chip") == 8
    assert "H100 SXM, S = 8,192" in told
    for curve in shown.drawing.curves:
        alone = sr.plot(
            "decode-step",
            on=curve.setting.problem.hardware.name,
            at=dict(curve.values),
            over="B=1:512:log",
            kind="latency",
        )
        assert alone.drawing.curves[0].marks == curve.marks
        assert alone.drawing.curves[0].lines == curve.lines


@pytest.mark.thorough
def test_tokens_are_those_of_each_chip_of_a_mesh():
    text = """
mesh X on NVLink
input x: bf16[B, D]
weight W: bf16[D, F_X]
weight V: bf16[F_X, D]
cache C: bf16[B, S, D]
s = x * C -> bf16[B, S]
o = s * C -> bf16[B, D]
h = o * W -> bf16[B, F_X]
y = h * V -> bf16[B, D]
"""
    at = {"X": 8, "D": 8192, "F": 32768, "S": 4096}
    shown = sr.plot(text, on="h100", at=at, over="B=1:1024:log", kind="latency")
    tokens = sr.derive(text, on="h100").function("tokens_per_second")
    for row in shown.rows:
        assert row["tokens/s per chip"] == pytest.approx(tokens(B=int(row["B"]), **at) / 8)


@pytest.mark.parametrize(
    ("operation", "options", "says"),
    [
        ("matmul", {"at": "D=F=8192", "over": "B=1..64"}, "serves no tokens"),
        ("decode-step", {"at": LLAMA}, "drawn over 1 size"),
        ("decode-step", {"at": LLAMA | {"S": 10**8}, "over": "B=1..64"}, "holds no B of the axis"),
        ("decode-step", {"at": {"S": 64}, "over": "B=1..64"}, "have no size"),
    ],
)
def test_what_cannot_be_drawn_is_said(operation, options, says):
    with pytest.raises(ModelError, match=says):
        sr.plot(operation, on="h100", kind="latency", **options)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(4))
def test_a_curve_ends_where_the_derivation_says_that_the_memory_is_full(seed):
    """Two commands, one question: "B ≤ 59 on one" of the derivation is the last mark of the curve."""
    draw = random.Random(f"largest {seed}")
    at = LLAMA | {"S": draw.choice((1000, 4096, 8192)), "L": draw.choice((16, 32))}
    chip = draw.choice(("h100", "b200", "tpu-v5p"))
    told = sr.derive("decode-step", on=chip, at=at | {"B": 1}).to_text()
    (curve,) = sr.plot("decode-step", on=chip, at=at, over="B=1:8192:log", kind="latency").drawing.curves
    assert int(re.search(r"B ≤ ([\d,]+) on one", told)[1].replace(",", "")) == curve.full == curve.marks[-1]


@pytest.mark.thorough
def test_a_curve_begins_and_ends_where_its_axis_does():
    (curve,) = sr.plot("decode-step", on="h100", at=LLAMA, over="B=3..20", kind="latency").drawing.curves
    assert curve.marks == (3, 4, 8, 16, 20)
    assert curve.full is None
