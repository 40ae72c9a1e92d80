"""Which time is longest, by regimes: held against times typed by hand, along random scalings of sizes and figures."""

from dataclasses import replace
from fractions import Fraction
from functools import cache
from math import log10
from random import Random

import pytest
from direct import evaluate
from effort import draws

import symroof as sr
from symroof.errors import AlgebraError, CheckError, ModelError
from symroof.exploration.planes import plane
from symroof.exploration.regimes import time_regimes
from symroof.formula import Infinity, Name, names
from symroof.reading.grids import read_grid
from symroof.reading.problems import read_problem
from symroof.symbols import expression, symbol

pytestmark = pytest.mark.part(2)

MATMUL = "bf16[B, D] * bf16[D, F] -> bf16[B, F]"
SHARED = (
    "mesh X, Y on ICI; input x: bf16[B_X, D_Y]; weight W1: bf16[D_X, F_Y]; weight W2: bf16[F_Y, D_X];"
    "h = x * W1 -> bf16[B_X, F_Y]; a = gelu(h); y = a * W2 -> bf16[B_X, D_Y]"
)
GATHERED = "mesh X on ICI; input x: bf16[B_X, D]; weight W: bf16[D_X, F]; y = x * W -> bf16[B_X, F]"
T = 10**8  # one order of growth


def matmul(B, D, F, peak, bandwidth):
    return {"math": [2 * B * D * F / peak], "HBM": [2 * n / bandwidth for n in (B * D, D * F, B * F)]}


def gathered(B, D, F, X, peak, bandwidth, ICI):
    """The weight is gathered: 2DF bytes, half of them each way round the ring."""
    moved = [2 * B * D / X, 2 * D * F, 2 * B * F / X]
    return {"math": [2 * B * D * F / X / peak], "HBM": [n / bandwidth for n in moved], "X": [D * F * (X - 1) / X / ICI]}


def shared(B, D, F, X, Y, peak, bandwidth, ICI):
    """A training step of the MLP, its weights split both ways: six of 2DF/Y bytes over X, four of 2BD/X over Y. Beside
    what is read and written by products, h is written, h and da are read, dh written: 16BF in all with the operands."""
    moved = [12 * B * D / X, 12 * D * F / Y, 16 * B * F / X / Y]
    times = {"math": [12 * B * D * F / X / Y / peak], "HBM": [n / bandwidth for n in moved]}
    return times | {"X": [6 * D * F * (X - 1) / X / Y / ICI], "Y": [4 * B * D * (Y - 1) / X / Y / ICI]}


CASES = {
    "matmul": (matmul, {"operation": MATMUL}),
    "matmul on a chip": (matmul, {"operation": MATMUL, "hardware": "tpu-v5e"}),
    "some of them large": (matmul, {"operation": MATMUL, "assume": ["B << D"]}),
    "dot": (lambda N, peak, bandwidth: {"math": [2 * N / peak], "HBM": [4 * N / bandwidth, 2 / bandwidth]}, {"operation": "dot"}),
    "gathered": (gathered, {"operation": GATHERED}),
    "shared": (shared, {"operation": SHARED, "training": True}),
    "shared on a chip": (shared, {"operation": SHARED, "training": True, "hardware": {"peak": "4.59e14", "HBM": "2.8e12", "ICI": "9e10"}}),
}  # fmt: skip


def holds(relation, sizes):
    """Whether a relation holds along the scaling: by a whole order, since there are no other quotients."""
    right = Fraction(1) if isinstance(relation.right, Infinity) else at(relation.right, sizes)
    left = at(relation.left, sizes)
    if relation.relation == ">=":
        return left >= right
    if relation.relation == "->":
        return left * 4 >= T
    assert relation.relation == "<<"
    return left * T <= right * 64


def at(formula, sizes):
    return Fraction(evaluate(written(formula), sizes))


@cache
def written(formula):
    return str(expression(formula))


@pytest.mark.thorough
@pytest.mark.part(1)
@pytest.mark.parametrize("name", CASES)
def test_the_longest_time_of_random_scalings(name):
    """Sizes and figures are powers of a large number: one row or none holds, and it names the time that is longest."""
    times, problem = CASES[name]
    found = time_regimes(read_problem(problem))
    assert found.complete.status == "proved"
    assert {row.check.status for row in found.rows} == {"proved"}
    given = {"B <<": "D"} if "assume" in problem else {}
    for relation in found.assume:  # what is assumed of sizes is what was given, and that an axis has several chips
        spoken = {*names(relation.left), *(names(relation.right) if relation.relation != ">=" else ())}
        assert not spoken & set("BDF") or given == {f"{relation.left.name} {relation.relation}": relation.right.name}
        assert not spoken & set("XY") or relation.relation == ">="
    order, seen = [s.name for s in found.fan.symbols], set()
    random = Random(name)
    for _ in range(1500):
        sizes = {
            n: Fraction(T) ** random.randint(*((0, 4) if n in "BDFXYN" else (-3, 3))) * (2 if n in "XY" else 1)
            for n in order
        }
        if not all(holds(relation, sizes) for relation in found.assume):
            continue
        each = {resource: [Fraction(x) for x in parts] for resource, parts in times(**sizes).items()}
        whole = {resource: sum(parts) for resource, parts in each.items()}
        longest, rows = max(whole.values()), [row for row in found.rows if all(holds(r, sizes) for r in row.relations)]
        assert len(rows) <= 1
        if rows:
            (row,) = rows
            seen.add(found.rows.index(row))
            assert [whole[name] for name in row.longest] == [longest]
            assert abs(at(row.tends, sizes) / longest - 1) < Fraction(1, 1000)
        else:
            first, second, *_ = sorted((x for parts in each.values() for x in parts), reverse=True)
            assert second * 1000 > first, "no row holds although one term leads alone"
    assert len(seen) == len(found.rows), "a row that no scaling met"


@pytest.mark.thorough
@pytest.mark.parametrize("chip", ["tpu-v5e", "h100"])
@pytest.mark.parametrize("name", ["matmul", "mlp", "attention", "fsdp-megatron"])
def test_a_row_is_what_the_times_of_the_chip_say(name, chip):
    """At random sizes, where what a row asks of them holds by far, the longest time is one that the row names."""
    found, random = time_regimes(read_problem({"operation": name, "hardware": chip})), Random(f"{name} {chip}")
    tried = 0
    numbers = found.setting.in_numbers
    for _ in range(draws(120)):
        sizes = {
            symbol(n): 2 ** random.randint(*((1, 6) if n in "XY" else (0, 44))) for n in found.setting.problem.names
        }
        for row in found.rows:
            apart = [numbers(expression(r.right) / expression(r.left)).subs(sizes) for r in row.relations]
            if min(apart) > 10**4:
                times = {time.label: numbers(time.amount).subs(sizes) for time in row.times}
                assert max(times.values()) in [times[label] for label in row.longest], (row.relations, sizes)
                tried += 1
    assert tried > 4


def test_a_row_that_the_figures_exclude_is_said_with_its_reason():
    """On a chip whose links are slower than its memory the weights are never read for longer than they are sent."""
    free, on_chip = (time_regimes(read_problem(CASES[name][1])) for name in ("shared", "shared on a chip"))
    assert [len(found.rows) for found in (free, on_chip)] == [6, 4]
    assert {str(step.right) for step in free.never} == set()
    assert len(on_chip.never) == 2
    assert all(step.check.status == "proved" for step in on_chip.never)


@pytest.mark.thorough
def test_another_time_or_form_is_not_what_the_running_time_tends_to():
    """T_lower lies between its longest part and their sum: both have to tend to the form, and the part has to be one of them."""
    found = time_regimes(read_problem(CASES["shared on a chip"][1]))
    ledger = found.draft.ledger
    for row, other in zip(found.rows, (*found.rows[1:], found.rows[0]), strict=True):
        step, wrong = row.step("leading"), other.step("leading")
        assert step.evidence.examine(step, ledger).status == "proved"
        for change in (
            {"evidence": replace(step.evidence, time=wrong.evidence.time)},
            {"evidence": replace(step.evidence, time=Name("T_upper"))},
            {"evidence": replace(step.evidence, whole=step.evidence.own)},
            {"right": wrong.right},
            {"left": Name("T_upper")},
            {"assumptions": wrong.assumptions},
        ):
            changed = replace(step, **change)
            with pytest.raises(CheckError):
                changed.evidence.examine(changed, ledger)


@pytest.mark.thorough
def test_times_of_one_order_are_named_together():
    """Two axes that carry the same bytes: no regime tells which of them is longer."""
    text = "mesh X = 4, Y = 8 on ICI; input x: bf16[B, D_X]; input z: bf16[B, D_Y]; weight W: bf16[D_X, F]; weight V: bf16[D_Y, F];"
    found = time_regimes(read_problem({"operation": text + "y = x * W -> bf16[B, F]; u = z * V -> bf16[B, F]"}))
    together = [row for row in found.rows if len(row.longest) > 1]
    assert [row.longest for row in together] == [("X", "Y")]
    assert [row.tends for row in together] == [None]


@pytest.mark.thorough
def test_a_number_of_chips_that_is_wired_otherwise_is_refused():
    """On a TPU v5e eight chips are a line, which takes twice as long as the ring that an open axis is. Put in alone they are
    the mesh of that number."""
    for of in (None, "T_lower", "T_upper"):
        put, own = (
            sr.regimes(GATHERED, on="tpu-v5e", of=of, at="X=8"),
            sr.regimes(GATHERED, on="tpu-v5e", of=of, mesh="X=8"),
        )
        assert put.to_text() == own.to_text()
        assert sr.regimes(GATHERED, on="tpu-v5e", of=of, at="X=16").map.rows
    with pytest.raises(ModelError, match="X = 8 is a line"):
        sr.derive(GATHERED, on="tpu-v5e", at=["X=8,B=D=F=64", "X=16,B=D=F=64"])
    with pytest.raises(ModelError, match="X = 8 is a line"):
        sr.derive(GATHERED, on="tpu-v5e", assume="X = 8")


@pytest.mark.parametrize("at", ["D=F=8192", "F=8192", "B=64,D=F=8192"])
def test_with_numbers_as_sizes_times_are_compared_as_numbers(at):
    """Of T_lower scalings know nothing then, in whichever way a number is given; the intensity has its map."""
    with pytest.raises(ModelError, match="scalings do not say which time is longest"):
        sr.regimes(MATMUL, on="h100", of="T_lower", at=at)
    with pytest.raises(ModelError, match="scalings do not say which time is longest"):
        sr.regimes(MATMUL, on="h100", of="T_lower", assume=at.replace("D=F", "D=8192,F").split(","))
    assert sr.regimes(MATMUL, on="h100", at=at).map is not None


def test_sizes_put_in_need_no_regime_of_their_own():
    """B << D says nothing once D is a number."""
    found = sr.regimes(MATMUL, on="tpu-v5e", assume="B << D, F", at="D=F=8192").map
    assert [r.left.name for r in found.fixed] == ["D", "F"]


@pytest.mark.thorough
def test_maps_over_axes_of_a_mesh():
    found = sr.regimes(SHARED, on="tpu-v5p", training=True).map
    assert found.complete.status == "proved"
    assert {"B/X", "F/Y"} <= {str(row.leading) for row in found.rows}
    assert sr.regimes(SHARED, on="tpu-v5p", training=True, of="T_upper").map.complete.status == "proved"
    assert not any(single.others for single in found.singles)


@pytest.mark.parametrize(
    ("more", "says"), [({"assume": "B <= D"}, "how it grows"), ({"operation": "dot", "count": "exact"}, None)]
)
def test_what_is_refused_and_what_is_not(more, says):
    problem = read_problem({"operation": MATMUL, "hardware": "tpu-v5e", **more})
    if says is None:
        assert time_regimes(problem).rows
    else:
        with pytest.raises(AlgebraError, match=says):
            time_regimes(problem)


CHIP = {"peak": 459 * 10**12, "bandwidth": 28 * 10**11, "ICI": 9 * 10**10}
PLANES = {
    "axes": ({"at": "D=8192,F=28672,B=1000000"}, "X=4..4096", "Y=4..4096", {"D": 8192, "F": 28672, "B": 1000000}),
    "a batch over an axis": (
        {"at": "D=8192,F=28672,Y=8"},
        "X=4..1024",
        "B=1000..10000000",
        {"D": 8192, "F": 28672, "Y": 8},
    ),
    "small features": ({"at": "D=64,X=4,Y=8"}, "F=8..100000", "B=8..10000000", {"D": 64, "X": 4, "Y": 8}),
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", PLANES)
def test_territories_hold_the_longest_of_times_typed_by_hand(name):
    """At random places off the borders the polygon around a place is that of the longest time, and there is one."""
    options, x, y, fixed = PLANES[name]
    problem = read_problem({"operation": SHARED, "training": True, "hardware": "tpu-v5p", **options})
    found = plane(problem, *read_grid(f"{x}, {y}", ("B", "D", "F", "X", "Y")))
    random, tried = Random(name), 0
    while tried < 400:
        place = {
            n: Fraction(low * (high / low) ** random.random()).limit_denominator(1000)
            for n, (low, high) in zip(found.names, found.ranges, strict=True)
        }
        times = sorted(
            (sum(map(Fraction, parts)), resource) for resource, parts in shared(**fixed, **place, **CHIP).items()
        )
        if times[-1][0] < times[-2][0] * Fraction(1002, 1000):
            continue
        tried += 1
        assert [str(region.largest) for region in found.regions if inside(region.corners, *place.values())] == [
            f"T_{times[-1][1]}"
        ]
    assert {step.check.status for region in found.regions for step in region.steps} == {"proved"}


def inside(corners, x, y):
    """Whether a place is inside of a polygon on logarithmic axes (W. R. Franklin: how often a ray crosses its edges)."""
    points, (x, y) = [(log10(a), log10(b)) for a, b in corners], (log10(x), log10(y))
    edges = zip(points, points[1:] + points[:1], strict=True)
    return sum((b > y) != (d > y) and x < (c - a) * (y - b) / (d - b) + a for (a, b), (c, d) in edges) % 2 == 1


@pytest.mark.parametrize(("over", "more", "says"), [
    ("X=1..64,Y=4..64", {"at": "B=D=F=8"}, "X starts below 4 chips"),
    ("X=4..64,Y=4..64", {"at": "D=F=8"}, "B has no size"),
    ("X=4..64,Y=4..64", {"at": ["B=D=F=8", "B=D=F=9"]}, "one set of the other sizes"),
    ("X=4..64", {"at": "B=D=F=8"}, "drawn over 2 sizes"),
])  # fmt: skip
def test_figures_of_resources_that_are_refused(over, more, says):
    with pytest.raises(ModelError, match=says):
        sr.plot(SHARED, on="tpu-v5p", training=True, kind="regimes", over=over, **more)


def test_a_figure_of_resources_ends_where_a_node_has_no_more_chips():
    options = {"on": "h100", "mesh": "Y on NVLink", "at": "D=8192,F=28672", "kind": "regimes"}
    with pytest.raises(ModelError, match="NVLink joins 8 H100 SXM"):
        sr.plot("megatron", over="B=1..4096,Y=3..16", **options)
    assert sr.plot("megatron", over="B=1..4096,Y=3..8", **options).rows


@pytest.mark.thorough
def test_the_points_of_a_figure_of_resources(run):
    printed = run(
        "plot", "fsdp", "--on", "tpu-v5p", "--over", "X=4..64,B=100..1000000", "--at", "D=F=8192", "--format", "text"
    ).out
    assert "T_X takes longest" in printed
