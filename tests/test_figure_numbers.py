"""The numbers of figures: what is plotted at random sizes, worked out again from the formulas of a derivation in fractions."""

import itertools
import random
import re
from dataclasses import replace

import pytest

import symroof as sr
from symroof.exploration import latency, measured_points

pytest.importorskip("matplotlib")

pytestmark = pytest.mark.part(1)

MLP = "input x: bf16[N, D]; weight V: bf16[D, F]; weight W: bf16[F, D]; h = x * V -> bf16[N, F]; a = f(h); y = a * W -> bf16[N, D]"
NAMES = {"T_math": "compute", "T_vector": "vector unit", "T_HBM": "HBM", "T_comms": "HBM", "T_X": "X"}


class Known:
    """The quantities of a derivation at sizes."""

    def __init__(self, operation, **options):
        self.derivation = sr.derive(operation, **options)

    def __call__(self, name, at):
        function = self.derivation.function(name)
        return float(function(**{size: at[size] for size in function.parameters}))

    def longest(self, at):
        rates = self.derivation.setting.rates
        times = {f"T_{resource}": self(f"T_{resource}", at) for resource in rates.resources}
        return {NAMES[name] for name, seconds in times.items() if seconds >= max(times.values()) * (1 - 1e-9)}


def sizes(text):
    return {name: float(size) for name, size in re.findall(r"(\w+) = ([\d.e+]+)", text)}


def drawn(seed):
    """An operation with a chip, its exact formulas, and its sizes but the first."""
    draw = random.Random(f"numbers {seed}")
    on = draw.choice(("tpu-v5e", "h100"))
    options = {"on": on, "functions": {"f": draw.choice((1, 100, 5000))}} if draw.random() < 0.5 else {"on": on}
    operation, first = (MLP, "N") if "functions" in options else ("matmul", "B")
    at = {name: draw.choice((64, 300, 1024, 8192)) for name in "DF"}
    return operation, options, Known(operation, **options), first, at, draw


@pytest.mark.parametrize("seed", range(8))
def test_points_under_a_roof(seed):
    operation, options, known, first, at, draw = drawn(seed)
    shown = sr.plot(operation, at=at | {first: draw.choice((1, 64, 240, 4096))}, **options)
    place = next(row for row in shown.rows if row["what"].startswith(f"{first} = ") or row["what"].startswith("D = "))
    there = sizes(place["what"])
    assert place["FLOPs/byte"] == pytest.approx(known("intensity", there))
    assert place["FLOPs/s"] == pytest.approx(known("flops", there) / known("T_lower", there))
    assert place["bound by"] in known.longest(there)
    longest = {"compute": "compute-bound", "vector unit": "bound by the vector unit", "HBM": "bound by HBM"}
    assert longest[place["bound by"]] in shown.description()


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["throughput", "times", "roofline"])
@pytest.mark.parametrize("seed", range(5))
def test_curves(seed, kind):
    operation, options, known, first, at, _ = drawn(seed)
    shown = sr.plot(operation, at=at, over=f"{first}=1..2000", kind=kind, **options)
    rows = [row for row in shown.rows if "rule" not in str(row.get("curve")) and "ridge" not in str(row.get("what"))]
    assert len(rows) > 100
    for row in rows[:: len(rows) // 40]:
        there = at | sizes(row.get("what", "")) | ({first: row[first]} if first in row else {})
        for name in (name for name in row if name.startswith("T_")):
            assert row[name] == pytest.approx(known(name, there)), (name, there)
        if "FLOPs/s" in row:
            # What a point is called has its size to six digits.
            assert row["FLOPs/s"] == pytest.approx(known("flops", there) / known("T_lower", there), rel=1e-5), there
        assert row["bound by"] in known.longest(there) or kind == "times"
    told = shown.description()
    if found := re.search(r"compute-bound from \w = (\d+)", told):
        after, before = (known.longest(at | {first: int(found[1]) - i}) for i in (0, 1))
        assert after == {"compute"} != before
    if found := re.search(r"never compute-bound: the throughput (?:stays below|is at most) ([\d.]+) %", told):
        shares = [known("T_math", at | {first: n}) / known("T_lower", at | {first: n}) for n in (1, 100, 10**6)]
        assert max(shares) * 100 <= float(found[1]) * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_bars(seed):
    draw = random.Random(f"bars {seed}")
    points = [{"B": batch, **{name: draw.choice((1, 64, 512, 8192)) for name in "DF"}} for batch in (1, 300)]
    known, rows = Known("mlp", on="h100"), sr.plot("mlp", on="h100", at=points, kind="breakdown").rows
    bars = [list(bar) for _, bar in itertools.groupby(rows, lambda row: (row["at"], row["what"]))]
    assert [bar[0]["what"] for bar in bars] == ["T_math", "T_vector", "T_HBM", "T_steps"] * 2
    for bar, at in zip(bars, [at for at in points for _ in range(4)], strict=True):
        *parts, whole = (row["s"] for row in bar)
        assert whole == pytest.approx(known(bar[0]["what"], at)) == pytest.approx(sum(parts))


LLAMA = {"S": 8192, "V": 128256, "D": 4096, "K": 8, "G": 4, "H": 128, "F": 14336, "L": 32}


def require_steps_of_a_batch(seed):
    """The time and the tokens/s of each batch that is marked; the memory holds the last one and not one more."""
    at = LLAMA | {"S": random.Random(f"batch {seed}").choice((2048, 8192, 16384))}
    known, shown = (
        Known("decode-step", on="h100"),
        sr.plot("decode-step", on="h100", at=at, over="B=1:2048:log", kind="latency"),
    )
    assert len(shown.rows) > 4
    for row in shown.rows:
        there = at | {"B": row["B"]}
        assert row["s"] == pytest.approx(known("T_lower", there))
        assert row["tokens/s per chip"] == pytest.approx(row["B"] / known("T_lower", there))
    held, more = (known("memory", at | {"B": row["B"] + i}) for i in (0, 1))
    assert held <= 80e9 < more


def require_measured_points(seed):
    draw = random.Random(f"measured {seed}")
    at, seconds = {name: draw.choice((64, 300, 4096)) for name in "BDF"}, draw.choice((1e-4, 3e-3))
    known = Known("matmul", on="tpu-v5e")
    (one,) = sr.plot("matmul", on="tpu-v5e", points=[{**at, "seconds": seconds}]).measured
    assert one.rate == pytest.approx(known("flops", at) / seconds)
    assert one.share == pytest.approx(known("T_lower", at) / seconds)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("law", [require_steps_of_a_batch, require_measured_points])
def test_steps_and_measured_points(law, seed):
    law(seed)


FAULTS = {
    "a batch less": (latency, "_last", lambda f: lambda *a: f(*a) - 1, require_steps_of_a_batch),
    "twice the time": (latency, "series", lambda f: lambda *a: tuple(2 * y for y in f(*a)), require_steps_of_a_batch),
    "twice the roof": (measured_points, "_at", lambda f: lambda *a: (lambda one: replace(one, attainable=2 * one.attainable))(f(*a)), require_measured_points),
}  # fmt: skip


@pytest.mark.thorough
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_in_a_number_is_noticed(name, monkeypatch):
    module, function, fault, law = FAULTS[name]
    law(0)
    monkeypatch.setattr(module, function, fault(getattr(module, function)))
    with pytest.raises(AssertionError):
        law(0)
