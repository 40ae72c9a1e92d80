"""Programs on maps, beside other chips, in figures and on grids. The oracles are costs written down by hand, put into
numbers along scalings that are drawn at random, and NumPy."""

import json
import random
from fractions import Fraction

import numpy as np
import pytest
from effort import draws
from hypothesis import given, settings, strategies as st
from texts import MLP

import symroof as sr
from symroof.derivation.evaluation import function_of
from symroof.formula import Compare, Name, Power, Product

pytestmark = pytest.mark.part(2)

BLOCK = """
input  x:  bf16[N, D]
weight Wq: bf16[D, H]
weight W1: bf16[H, F]
cache Kc, Vc: bf16[S, H]
q = x * Wq -> bf16[N, H]
fuse {
  s = q * Kc -> bf16[N, S]
  p = softmax(s, S)
  o = p * Vc -> bf16[N, H]
}
h = o * W1 -> bf16[N, F]
"""


def mlp(N, D, F):
    """The products and the elements moved of each statement, counted on paper."""
    flops = {"h": N * D * F, "y": N * F * D}
    moved = {"h": {"x": N * D, "W1": D * F, "a": N * F}, "y": {"a": N * F, "W2": F * D, "y": N * D}}
    return flops, moved


def block(N, D, F, S, H):
    flops = {"q": N * D * H, "s": N * S * H, "o": N * S * H, "h": N * H * F}
    moved = {
        "q": {"x": N * D, "Wq": D * H, "q": N * H},
        "s": {"q": N * H, "Kc": S * H},
        "o": {"Vc": S * H, "o": N * H},
        "h": {"o": N * H, "W1": H * F, "h": N * F},
    }
    return flops, moved


PROGRAMS = {"mlp": (MLP, mlp, "NDF"), "block": (BLOCK, block, "NDFSH")}
MAPS = {}


def mapped(name):
    if name not in MAPS:
        MAPS[name] = sr.regimes(PROGRAMS[name][0], on="tpu-v5e", every=True)
    return MAPS[name]


def degree(formula, exponents):
    """The power of t that a product of sizes has, when each size is a power of t."""
    match formula:
        case Name(name=name):
            return exponents[name]
        case Product(factors=factors):
            return sum(degree(f, exponents) for f in factors)
        case Power(base=base, exponent=exponent):
            return degree(base, exponents) * exponent
    return 0


def holds(relation, exponents):
    if not isinstance(relation, Compare):
        return False
    if relation.relation == "->":
        return degree(relation.left, exponents) > 0
    left, right = degree(relation.left, exponents), degree(relation.right, exponents)
    return {"<<": left < right, "~": left == right, "~~": left == right}[relation.relation]


def leading(amounts, t):
    """What does not vanish beside the whole: at t = 2^60 a lower power is gone."""
    whole = sum(amounts.values())
    return {name for name, amount in amounts.items() if Fraction(amount, whole) > Fraction(1, 2**40)}


@pytest.mark.thorough
@settings(max_examples=draws(40), deadline=None)
@given(st.sampled_from(sorted(PROGRAMS)), st.lists(st.integers(0, 3), min_size=5, max_size=5))
def test_who_is_said_to_lead_does_along_a_random_scaling(name, powers):
    _, costs, names = PROGRAMS[name]
    exponents = dict(zip(names, powers, strict=False))
    if any(power == 0 for power in exponents.values()):
        exponents = {size: power + 1 for size, power in exponents.items()}
    t = 2**60
    flops, moved = costs(**{size: t**power for size, power in exponents.items()})
    (row,) = (row for row in mapped(name).map.rows if all(holds(r, exponents) for r in row.relations))
    by_tensor = {}
    for loads in moved.values():
        for tensor, amount in loads.items():
            by_tensor[tensor] = by_tensor.get(tensor, 0) + amount
    by_statement = {statement: sum(loads.values()) for statement, loads in moved.items()}
    assert {part.label for part in row.dominant} == leading(by_tensor, t)
    assert {part.label for part in row.leaders("flops")} == leading(flops, t)
    assert {part.label for part in row.leaders("bytes")} == leading(by_statement, t)


@pytest.mark.thorough
def test_each_map_of_a_program_is_proved_complete():
    for name in PROGRAMS:
        found = mapped(name).map
        assert found.complete.status == "proved"
        assert all(step.check.status == "proved" for row in found.rows for step in row.steps)


@pytest.mark.thorough
def test_leaders_are_in_the_record():
    found = sr.regimes(BLOCK, on="tpu-v5e", assume="N << D, S, H, F")
    record = found.to_dict()
    assert json.loads(found.to_json()) == record
    first = next(row for row in record["regimes"] if row["dominant"] == ["Kc", "Vc"])
    assert first["leaders"] == {"flops": ["s", "o"], "bytes": ["s", "o"]}


@pytest.mark.thorough
def test_shares_at_a_point_are_those_of_the_tensors():
    sizes = {"N": 64, "D": 512, "F": 2048}
    (place,) = sr.regimes(MLP, on="tpu-v5e", at="N=64, D=512, F=2048").explorations[0].places
    _, moved = mlp(**sizes)
    whole = sum(sum(loads.values()) for loads in moved.values())
    assert dict(place.parts)["a"] == Fraction(2 * 64 * 2048, whole)
    assert sum(share for _, share in place.parts) == 1


@pytest.mark.parametrize("lang", ["en", "ko", "zh"])
def test_a_tensor_has_its_own_name_in_every_language(lang):
    text = "input left: bf16[N, D]; weight output: bf16[D, F]; reads = left * output -> bf16[N, F]; z = relu(reads)"
    page = sr.regimes(text, on="tpu-v5e", assume="N << D, F").to_text(lang=lang)
    assert "output 2DF" in page


@pytest.mark.thorough
def test_a_program_in_another_type_moves_as_many_elements():
    found = sr.compare(MLP, on="tpu-v5e", dtypes="bf16, int8").comparison
    for row, width in zip(found.rows, (2, 1), strict=True):
        function = function_of(row.derivation.setting, "bytes")
        for sizes in ((1, 1, 1), (3, 50, 700), (10**6, 2, 10**9)):
            elements = sum(sum(loads.values()) for loads in mlp(*sizes)[1].values())
            assert function(**dict(zip("NDF", sizes, strict=True))) == pytest.approx(width * elements)


def test_indices_stay_indices_beside_other_types():
    text = "input i: int32[N, D]; input x: bf16[N, D]; weight W: bf16[D, F]; y = x * W -> bf16[N, F]; j = i + i"
    (row,) = sr.compare(text, on="tpu-v5e", dtypes="int8").comparison.rows
    types = {name: tensor.dtype.name for name, tensor in row.derivation.setting.problem.operation.arrays.items()}
    assert types == {"i": "int32", "x": "int8", "W": "int8", "y": "int8", "j": "int32"}


@pytest.mark.thorough
def test_a_map_that_is_too_long_is_refused_at_once():
    layers = "\n".join(f"h{i} = x * W{i} -> bf16[N, F{i}]" for i in range(9))
    weights = "\n".join(f"weight W{i}: bf16[D, F{i}]" for i in range(9))
    with pytest.raises(sr.SymroofError, match="regimes are too many to list"):
        sr.regimes(f"input x: bf16[N, D]\n{weights}\n{layers}", on="tpu-v5e", every=True)


SIZES = {"N": 192, "D": 4096, "F": 8192, "S": 2048, "H": 1024}
AT = ", ".join(f"{name}={size}" for name, size in SIZES.items())
PEAK, HBM = 1.97e14, 8.2e11


def seconds():
    """What each statement of BLOCK takes of the two resources of a TPU v5e, in floating point."""
    flops, moved = block(**SIZES)
    math = {name: 2 * products / PEAK for name, products in flops.items()}
    memory = {name: 2 * sum(loads.values()) / HBM for name, loads in moved.items()}
    return math, memory


def test_statements_stand_under_the_roof_where_they_would_alone():
    math, memory = seconds()
    drawn = sr.plot(BLOCK, on="tpu-v5e", at=AT).drawing
    points = {track.statement: track.places[0].point for track in drawn.tracks}
    assert set(points) == {"", "q", "s, o", "h"}
    for name, each in (("q", "q"), ("s, o", "so"), ("h", "h")):  # s and o are a block: they overlap as one
        intensity = sum(math[n] for n in each) * PEAK / (sum(memory[n] for n in each) * HBM)
        assert points.pop(name) == pytest.approx((intensity, min(PEAK, intensity * HBM)))
    whole = sum(math.values()) * PEAK / (sum(memory.values()) * HBM)
    assert points == {"": pytest.approx((whole, min(PEAK, whole * HBM)))}


def test_the_parts_of_a_bar_are_the_times_of_statements():
    math, memory = seconds()
    bars = {bar.time: bar for bar in sr.plot(BLOCK, on="tpu-v5e", at=AT, kind="breakdown").drawing.bars}
    assert {name: float(x) for name, x in bars["T_math"].parts} == pytest.approx(math)
    assert {name: float(x) for name, x in bars["T_HBM"].parts} == pytest.approx(memory)
    together = max(math["s"] + math["o"], memory["s"] + memory["o"])
    apart = {name: max(math[name], memory[name]) for name in ("q", "h")}
    assert {name: float(x) for name, x in bars["T_steps"].parts} == pytest.approx({**apart, "s, o": together})
    for bar in bars.values():
        assert sum(seconds for _, seconds in bar.parts) == bar.seconds
        assert all(step.check.status == "proved" for step in bar.steps)


@pytest.mark.thorough
def test_the_times_of_a_program_run_over_a_size():
    found = sr.plot(BLOCK, on="tpu-v5e", at="D=4096, F=8192, S=2048, H=1024", over="N=1..512", kind="times").drawing
    (curve,) = found.curves
    times = (curve.lines[name] for name in ("T_lower", "T_steps", "T_upper"))
    for size, lower, steps, upper in zip(curve.xs, *times, strict=True):
        flops, moved = block(**{**SIZES, "N": size})
        math = {name: 2 * products / PEAK for name, products in flops.items()}
        memory = {name: 2 * sum(loads.values()) / HBM for name, loads in moved.items()}
        groups = ("q",), ("s", "o"), ("h",)
        apart = sum(max(sum(times[name] for name in group) for times in (math, memory)) for group in groups)
        assert steps == pytest.approx(apart)
        assert lower * (1 - 1e-12) <= steps <= upper * (1 + 1e-12)


@pytest.mark.thorough
def test_how_long_a_program_takes_on_each_chip_stands_beside_it():
    found = sr.compare(BLOCK, on="tpu-v5e, h100", at=AT)
    math, memory = seconds()
    steps = sum(max(sum(t[n] for n in group) for t in (math, memory)) for group in (("q",), ("s", "o"), ("h",)))
    first, second = (row["at"][0]["T_steps"] for row in found.to_dict()["rows"])
    assert first == pytest.approx(steps)
    assert second < first
    assert "T_steps" in found.to_text()
    assert r"T_{\text{steps}}" in found.to_latex()
    assert "T_steps" not in sr.compare("matmul", on="tpu-v5e", at="B=D=F=64").to_text()


def test_what_cannot_be_drawn_is_refused():
    for text, options, said in (
        ("matmul", {"at": "B=D=F=64"}, "there is one statement"),
        (BLOCK, {"at": "N=1, D=1, F=1, S=1"}, "H has no size"),
        (MLP, {"at": "D=1, F=1", "over": "N=1..8"}, "drawn over no size"),
    ):
        with pytest.raises(sr.SymroofError, match=said):
            sr.plot(text, on="tpu-v5e", kind="breakdown", **options)
    with pytest.raises(sr.SymroofError, match="no roof is that of all"):
        sr.plot(MLP.replace("W2: bf16", "W2: fp32"), on="h100", at="N=1, D=1, F=1")


@pytest.mark.thorough
def test_a_map_at_several_peaks_says_nothing_of_a_ridge():
    found = sr.regimes(MLP.replace("W2: bf16", "W2: fp32"), on="h100")
    assert "ridge" not in found.to_text().partition("\n\n")[2]
    assert all(row.condition is None for row in found.map.rows)


def test_a_sweep_of_a_program_is_what_numpy_computes(tmp_path):
    names = ["params", "flops(h)", "bytes", "bytes(y)", "caches", "elements(x)", "T_steps"]
    out = tmp_path / "out.csv"
    sr.sweep(MLP, "N=1:512:log, D=64|4096, F=128", out, on="tpu-v5e", of=names)
    table = np.genfromtxt(out, delimiter=",", skip_header=1)
    N, D, F = table[:, :3].T
    math, memory = (2 * N * D * F) / PEAK, 2 * (N * D + D * F + N * F) / HBM
    moved = 2 * (N * D + D * F + N * F)
    wanted = [2 * D * F, 2 * N * D * F, 2 * moved, moved, 0 * N, N * D, 2 * np.maximum(math, memory)]
    np.testing.assert_allclose(table[:, 3:], np.stack(wanted, axis=1), rtol=1e-12)
    assert out.read_text().splitlines()[0] == "N,D,F," + ",".join(names)


def test_a_function_of_a_statement_takes_arrays():
    function = sr.derive(MLP, on="tpu-v5e").function("flops(h)")
    sizes = np.arange(1, 9)
    assert function(N=sizes, D=8, F=16).tolist() == (2 * sizes * 8 * 16).tolist()


@pytest.mark.parametrize("seed", range(4))
def test_a_comparison_says_which_chips_do_not_hold_the_problem(seed):
    """Beside the numbers of one set of sizes, and in the cells of several."""
    draw = random.Random(f"held {seed}")
    points = [
        {"B": batch, "S": draw.choice((512, 8192)), "V": 32000, "D": 4096, "K": 8, "G": 4, "H": 128}
        | {"F": 14336, "L": draw.choice((4, 16, 32))}
        for batch in draw.sample((1, 8, 64), 3)
    ]
    chips = {"h100": 80e9, "tpu-v5e": 16e9, "b200": 192e9}
    on = draw.sample(list(chips), 2)
    for at in (points[:1], points):
        answer = sr.compare("decode-step", on=",".join(on), at=at)
        record, page, small = answer.to_dict(), " ".join(answer.to_text().split()), 0
        for row, name in zip(record["rows"], on, strict=True):
            memory = [sr.derive("decode-step", on=name).function("memory")(**point) for point in at]
            assert [there["one_chip_holds_it"] for there in row["at"]] == [held <= chips[name] for held in memory]
            small += sum(held > chips[name] for held in memory)
        assert page.count("hold it") == small
