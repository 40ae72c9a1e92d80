"""Figures in sentences: what they say is so, by exact fractions; in three languages the same numbers."""

import random
import re
import xml.etree.ElementTree as ET
from fractions import Fraction

import pytest

import symroof as sr

pytest.importorskip("matplotlib")

pytestmark = pytest.mark.part(1)

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


VECTOR = "input x: bf16[N, D]; weight W: bf16[D, F]; weight V: bf16[F, D]; h = x * W -> bf16[N, F]; a = f(h); y = a * V -> bf16[N, D]"


@pytest.mark.parametrize("operations", [1, 100, 5000])
@pytest.mark.parametrize("on", ["h100", "tpu-v5p", "tpu-v5e"])
def test_all_of_a_program_waits_for_its_vector_unit_in_every_figure(operations, on):
    """Roofline, throughput and times say of the longest time what the derivation says, the vector unit among them."""
    options = {"on": on, "functions": {"f": operations}}
    at = {"N": 4096, "D": 512, "F": 512}
    derivation = sr.derive(VECTOR, **options)
    times = {}
    for name in ("T_math", "T_vector", "T_HBM"):
        if name == "T_vector" and on == "tpu-v5e":  # it has no figure for its vector unit
            continue
        known = derivation.function(name)
        times[name] = known(**{size: at[size] for size in known.parameters})
    longest, seconds = max(times, key=times.get), max(times.values())
    flops = derivation.function("flops")(**at)
    by = {"T_math": "compute", "T_vector": "vector unit", "T_HBM": "HBM"}[longest]
    row = next(r for r in sr.plot(VECTOR, at=at, **options).rows if r["what"] == "N = 4096, D = 512, F = 512")
    assert (row["bound by"], row["FLOPs/s"]) == (by, pytest.approx(flops / seconds))
    others = {name: size for name, size in at.items() if name != "N"}
    for kind in ("throughput", "times"):
        rows = sr.plot(VECTOR, at=others, over="N=1..4096", kind=kind, **options).rows
        assert rows[-1]["bound by"] == by
    told = sr.plot(VECTOR, at=at, **options).description()
    assert ("bound by the vector unit" in told.split("h is")[0]) == (longest == "T_vector")


GIVEN = {"operation": "g", "reads": "N", "writes": "1", "compute": "bf16"}


def test_what_falls_is_not_at_the_peak_and_what_does_nothing_is_refused():
    falling = GIVEN | {"flops": "100000"}
    told = sr.plot(falling, on="tpu-v5e", over="N=1:100000:log").description()
    assert "It reaches 0.42 % of the peak at N = 100000." in told
    told = sr.plot(falling, on="tpu-v5e", over="N=1:100000:log", kind="times").description()
    assert "At N = 1 T_math takes longest, at N = 100000 T_comms." in told
    nothing = GIVEN | {"flops": "N - 1"}
    with pytest.raises(sr.SymroofError, match="nothing is computed"):
        sr.plot(nothing, on="tpu-v5e", at={"N": 1})
    with pytest.raises(sr.SymroofError, match="nothing is computed"):
        sr.plot(nothing, on="tpu-v5e", points=[{"N": 1, "us": 3}])
    for kind in ("throughput", "times"):
        assert sr.plot(nothing, on="tpu-v5e", over="N=1:100:log", kind=kind).drawn()


@pytest.mark.thorough
def test_an_axis_of_one_chip_sends_nothing():
    at = {"X": 4, "Y": 1, "B": 65536, "D": 8192, "F": 28672}
    shown = sr.plot("examples/mesh.toml", at=at, kind="breakdown")
    assert "T_Y is" not in shown.description()
    assert shown.drawn()
    told = sr.plot("examples/mesh.toml", over="X=1..16", at="Y=4,B=4096,D=8192,F=28672").description()
    assert "At X = 1 T_math takes longest." in told
    assert "T_X takes longest from X = 4." in told


@pytest.mark.thorough
def test_names_of_a_table_give_way_to_its_numbers():
    pytest.importorskip("matplotlib")
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    from symroof.rendering.figures.drawings import draw

    at = {"B": 4, "T": 2048, "D": 4096, "K": 8, "G": 4, "H": 128, "F": 14336}
    for name, inches in (("", 3.5), ("long-name-" * 6, 7.2), ("a name " * 8, 5)):
        shown = sr.plot("decoder-layer", on="h100", points=[at | {"ms": 9, "name": name}])
        canvas = draw(shown.drawing, inches)
        canvas.drawn("svg")
        renderer = FigureCanvasAgg(canvas.sheet).get_renderer()
        for text in canvas.sheet.texts:
            extent = text.get_window_extent(renderer)
            assert -1 <= extent.x0 <= extent.x1 <= canvas.sheet.bbox.width + 1, text.get_text()


@pytest.mark.parametrize("lang", ["en", "ko", "zh"])
def test_a_map_decides_between_two_times_where_a_vector_unit_may_take_longer(lang):
    options = {"at": "F=8192", "over": "B=1..10000,D=1..10000"}
    assert "T_math > T_HBM" in sr.plot("mlp", on="h100", **options).description(lang)
    assert "T_math > T_L2" in sr.plot("mlp", on="h100", link="L2", **options).description(lang)
    assert "T_math" not in sr.plot("mlp", on="tpu-v5e", **options).description(lang), "no figure for a vector unit"
