"""Figures in sentences: what they say is so, by exact fractions; in three languages the same numbers."""

import random
import re
import xml.etree.ElementTree as ET
from fractions import Fraction

import pytest

import symroof as sr

pytest.importorskip("matplotlib")

pytestmark = pytest.mark.part(3)

PEAK, HBM = Fraction(197 * 10**12), Fraction(82 * 10**10)  # those of a TPU v5e
KINDS = {
    "a point": ("matmul", {"at": "B=64,D=F=8192"}),
    "two chips": ("matmul", {"on": "tpu-v5e,h100", "at": "B=64,D=F=8192"}),
    "a path": ("matmul", {"at": "D=F=8192", "over": "B=1..400", "kind": "roofline"}),
    "other peaks": ("matmul", {"at": "B=64,D=F=8192", "peaks": "int8"}),
    "measured": ("matmul", {"points": [{"B": 64, "D": 8192, "F": 8192, "us": 300}]}),
    "throughput": ("matmul", {"at": ["D=F=8192", "D=F=128"], "over": "B=1..400"}),
    "times": ("matmul", {"at": "D=F=8192", "over": "B=1..400", "kind": "times"}),
    "kernels": ("mlp", {"at": "B=64,D=F=8192"}),
    "breakdown": ("mlp", {"at": ["B=64,D=F=8192", "B=512,D=F=8192"], "kind": "breakdown"}),
    "changes": ("mlp", {"at": "B=64,D=F=8192", "kind": "sensitivity"}),
    "a map": ("matmul", {"at": "F=8192", "over": "B=1..10000,D=1..10000"}),
    "resources": ("mlp", {"at": "F=8192", "over": "B=1..10000,D=1..10000", "kind": "resources"}),
}


def figure(name):
    operation, options = KINDS[name]
    return sr.plot(operation, **{"on": "tpu-v5e", **options})


def time(b, d, f):
    return Fraction(2 * b * d * f) / PEAK, Fraction(2 * (b * d + d * f + b * f)) / HBM


@pytest.mark.parametrize("seed", range(25))
def test_what_is_told_of_a_curve_is_so(seed):
    """The least size that is told is one, and the one before it is not; never is never, with the whole throughput below."""
    draw = random.Random(f"told {seed}")
    d, f = draw.choice((64, 200, 512, 1000, 8192)), draw.choice((64, 300, 1024, 8192))
    told = sr.plot("matmul", on="tpu-v5e", at={"D": d, "F": f}, over="B=1..2000").description()
    met = {b: math >= comms for b in range(1, 4000) for math, comms in [time(b, d, f)]}
    if found := re.search(r"compute-bound from B = (\d+)", told):
        first = int(found[1])
        assert met[first]
        assert not met[first - 1]
        return
    if found := re.search(r"never compute-bound: the throughput (stays below|is at most) ([\d.]+) %", told):
        assert not any(met.values())
        assert all(math / comms < Fraction(found[2]) / 100 for b in met for math, comms in [time(b, d, f)])
        return
    found = re.search(r"reaches ([\d.]+) % of the peak at B = 2000", told)
    math, comms = time(2000, d, f)
    assert float(found[1]) == pytest.approx(float(100 * math / comms), abs=0.5)


@pytest.mark.parametrize("seed", range(10))
def test_what_is_told_of_a_point_is_so(seed):
    draw = random.Random(f"told points {seed}")
    at = {name: draw.choice((8, 64, 256, 1024, 8192)) for name in "BDF"}
    told = sr.plot("matmul", on="tpu-v5e", at=at).description()
    math, comms = time(**{name.lower(): size for name, size in at.items()})
    assert ("it is compute-bound" in told) == (math > comms)
    assert ("it is bound by HBM" in told) == (math <= comms)
    share = float(re.search(r"at ([\d.]+) % of the peak", told)[1])
    assert share == pytest.approx(float(100 * math / max(math, comms)), abs=0.5)


@pytest.mark.parametrize("name", KINDS)
def test_three_languages_tell_the_same_numbers(name):
    shown = figure(name)
    numbers = {lang: sorted(re.findall(r"\d[\d,.]*\d|\d", shown.description(lang))) for lang in ("en", "ko", "zh")}
    assert numbers["en"] == numbers["ko"] == numbers["zh"]
    assert len(numbers["en"]) > 1
    for lang, stop in (("en", "."), ("ko", "."), ("zh", "。")):
        told = shown.description(lang)
        assert told.endswith(stop)
        assert told.count(stop) > 1
        assert "  " not in told
        assert "None" not in told


@pytest.mark.parametrize("name", KINDS)
def test_a_picture_has_what_is_told_of_it(name):
    shown = figure(name)
    root = ET.fromstring(shown.drawn())
    assert root[0].text == root.get("aria-label")
    assert shown.description() == f"{root[0].text}. {root[1].text}"


def test_a_breakdown_tells_its_times():
    at = {"B": 64, "D": 8192, "F": 8192}
    told = sr.plot("mlp", on="tpu-v5e", at=at, kind="breakdown").description()
    seconds = sr.derive("mlp", on="tpu-v5e").function("T_HBM")(**at)
    assert f"T_HBM is {seconds * 1e6:.3g} µs: h 50 %, y 50 %." in told
