"""Meshes: who does what, simulated by the second engine, by NumPy, and by hand; and faults put into whoever tells it."""

import json
import random
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from chips import routed
from exchanging import exchanges
from sympy import Integer, Rational
from test_simulated_programs import require_right
from texts import refused

import symroof as sr
from symroof.errors import ModelError
from symroof.model.chip_costs import shares
from symroof.model.collectives import COLLECTIVES, MeshAxis
from symroof.model.einsum import Einsum
from symroof.model.tensor_types import Dim, Tensor, dtype
from symroof.proof.chip_recounts import MeshRun
from symroof.proof.exchange_plans import MeshAxis as Axis, Transfer
from symroof.proof.kernel_traffic import Script
from symroof.proof.quotients import Quotients
from symroof.reading.chips import chip
from symroof.reading.problems import merged, read_problem
from symroof.symbols import fraction

SUMMED = "bf16[B, D_X] * bf16[D_X, F] -> bf16[B, F]"
GATHERED = "bf16[B, D_X] * bf16[D, F] -> bf16[B, F]"
SCATTERED = "bf16[B, D_X] * bf16[D_X, F] -> bf16[B, F_X]"
KEPT = "bf16[B_X, D] * bf16[D, F] -> bf16[B_X, F]"
WEIGHTS = "bf16[B_X, D] * bf16[D_X, F] -> bf16[B_X, F]"
MOVED = "bf16[B_X, D] * bf16[D, F] -> bf16[B, F_X]"
FETCHED = "bf16[B, D_X] * bf16[D, F] -> bf16[B_X, F]"
TWO = "bf16[B_X, D_Y] * bf16[D_Y, F] -> bf16[B_X, F]"


@pytest.mark.parametrize("collective", COLLECTIVES)
@pytest.mark.parametrize("wiring", ["line", "ring", "switch"])
@pytest.mark.parametrize("chips", [2, 3, 4, 5, 8, 16, 17])
def test_collectives_cost_what_is_sent(collective, wiring, chips):
    """Chunk after chunk, as both engines say it: two chips of a ring are a line."""
    axis = MeshAxis("X", chips, wiring, "NVLink")
    ((_, share),) = shares(collective, (axis,))
    mesh = MeshRun(Script((), ()), (Axis("X", chips, wiring, None, "NVLink"),), ())
    moved = Transfer(collective, ("X",), "x", (), "operand")
    assert {fraction(share)} == {*routed(collective, Fraction(1), [axis]).values()}
    assert [fraction(share)] == [second.constant for _, second in mesh.shares(moved, Quotients())]


def test_rings_are_multiples():
    def wirings(name, *sizes):
        return [MeshAxis("X", chips).wired("ICI", chip(name).closing).wiring for chips in sizes]

    assert wirings("tpu-v5e", 2, 8, 16) == ["line", "line", "ring"]
    assert wirings("tpu-v5p", 2, 4, 6, 16) == ["line", "ring", "line", "ring"]
    assert wirings("h100", 16) == ["line"]


@pytest.mark.thorough
def test_the_wiring_can_be_said_and_the_page_says_it():
    B, F = sr.dimensions("B F")
    on = {"on": "tpu-v5e", "link": "ICI"}
    meshes = ({"X": 16}, 15 / Integer(8)), ({"X": "16 line"}, 15 / Integer(4)), ("X=8 ring", 7 / Integer(4))
    for mesh, sent in (*meshes, ({"X": "8 ring"}, 7 / Integer(4)), ({"X": 8}, 7 / Integer(2))):
        d = sr.derive({"operation": SUMMED, "mesh": mesh}, **on)
        assert d.setting.moved == B * F * sent
        wiring = exchanges(d)[0].wiring
        assert f"is a {wiring} of" in d.to_markdown()
        assert f"is a {wiring} of" in " ".join(d.to_text().split())


def test_a_flag_overrides_an_axis_of_the_file():
    table = {"operation": TWO, "mesh": "X=16 ring,Y=2"}
    problem = read_problem(merged(table, {"mesh": {"X": "8 line"}}, Path()))
    assert problem.mesh == {"X": MeshAxis("X", 8, "line"), "Y": MeshAxis("Y", 2)}


test_wirings_that_are_none = refused(
    lambda mesh: sr.derive(SUMMED, mesh=mesh),
    ("X=8 rng", "is no wiring"),
    ("X=8 ring line", "is no wiring"),
    ("X=2 ring", "is no ring"),
    ("X=7x", "is not a number of chips"),
    ("X=2 on", "is no wiring"),
    ("X=2; X=4", "given twice"),
    ("X,,Y", "is no axis"),
    ([1], "is not a mesh"),
)


@pytest.mark.parametrize(
    ("text", "mesh", "found"),
    [
        (SUMMED, {"X": 2}, ["all-reduce over X = 2"]),
        (SUMMED, {"X": 1}, []),
        (SCATTERED, {"X": 4}, ["reduce-scatter over X = 4"]),
        (GATHERED, {"X": 4}, ["all-gather over X = 4"]),
        (KEPT, {"X": 4}, []),
        ("bf16[B, D] * bf16[D, F_X] -> bf16[B, F_X]", {"X": 4}, []),
        (TWO, {"X": 4, "Y": 2}, ["all-reduce over Y = 2"]),
        (WEIGHTS, {"X": 4}, ["all-gather over X = 4"]),
        (MOVED, {"X": 4}, ["all-to-all over X = 4"]),
        (FETCHED, {"X": 4}, ["all-to-all over X = 4"]),
        ("bf16[B, D_X] * bf16[E_X, D, F] * bf16[B, E] -> bf16[B, F, D, E]", {"X": 2}, None),  # refused, and never free
        ("bf16[B_X, D] * bf16[D, F] -> bf16[B, F]", {"X": 4}, None),
        ("bf16[B, D_X] * bf16[D, F_X] -> bf16[B, F]", {"X": 4}, None),
        ("bf16[B_X, D_X] * bf16[D, F] -> bf16[B_X, F]", {"X": 4}, None),
        ("bf16[B, D_X, E_Y] * bf16[D, E, F] -> bf16[B, F]", {"X": 4, "Y": 2}, ["all-gather over XY = 8"]),
        ("bf16[B, D_X, E_Y] * bf16[D_X, E_Y, F] -> bf16[B, F_Y]", {"X": 4, "Y": 2}, ["reduce-scatter over Y = 2", "all-reduce over X = 4"]),
    ],
)  # fmt: skip
def test_exchanges(text, mesh, found):
    if found is None:
        with pytest.raises(ModelError):
            sr.derive(text, mesh=mesh)
    else:
        assert json.loads(sr.derive(text, mesh=mesh).to_json())["exchanges"] == found


def test_a_number_is_split_into_whole_parts():
    bf16, six = dtype("bf16"), Dim("6", ("X",))
    product = Einsum((Tensor(bf16, (Dim("B"), six)), Tensor(bf16, (six, Dim("F")))), Tensor(bf16, (Dim("B"), Dim("F"))))
    assert sr.derive(product, mesh={"X": 3}).counts()["sampled"] == 0
    with pytest.raises(ModelError, match="6 is not a multiple of X = 4"):
        sr.derive(product, mesh={"X": 4})
    with pytest.raises(ModelError, match="the mesh has no such axis"):
        sr.derive(SUMMED)


def test_messages_of_two_axes():
    """The split of another axis shrinks them, axes on one link gather together, and what was gathered before counts."""
    twice, (B, D, E, F) = "bf16[B, D_X, E_Y] * bf16[D, E, F] -> bf16[B, F]", sr.dimensions("B D E F")
    assert sr.derive(TWO, on="tpu-v5e", mesh={"X": 4, "Y": 2}, link="ICI").setting.moved == B * F / 2
    for mesh, messages, moved in (
        ({"X": 4, "Y": 2}, [("ICI", 2 * B * D * E)], Fraction(7, 16)),
        ("X=4 on ICI; Y=2 on DCN", [("DCN", B * D * E / 2), ("ICI", 2 * B * D * E)], Fraction(3, 4)),
    ):
        d = sr.derive(twice, mesh=mesh, link="ICI")
        assert [(e.link, e.payload) for e in exchanges(d)] == messages
        assert d.setting.moved == 2 * B * D * E * moved


def test_a_chip_reads_what_it_multiplies_and_writes_what_it_computes():
    B, D, F = sr.dimensions("B D F")
    moved = {text: sr.derive(text, mesh={"X": 4}).setting.moved for text in (SCATTERED, FETCHED, WEIGHTS)}
    assert moved[SCATTERED] == B * D / 2 + D * F / 2 + 2 * B * F  # partial sums are written in full
    assert moved[FETCHED] == moved[WEIGHTS] == B * D / 2 + 2 * D * F + B * F / 2


# Against numbers on chips: the data itself, moved by the exchanges that the model names.


def random_product(random):
    """A product of two tensors with random splits over two axes."""
    labels = random.sample("BDEF", 4)
    left, right = labels[:3], labels[1:]
    output = [labels[0], *random.sample(labels[1:3], random.choice((0, 1))), labels[3]]

    def typed(names):
        axes = random.choice((["X", "Y", None, None], ["X", "Y", None, None], ["XY", None, None]))
        random.shuffle(axes)
        return f"bf16[{', '.join(name if axis is None else f'{name}_{axis}' for name, axis in zip(names, axes, strict=False))}]"

    return f"{typed(left)} * {typed(right)} -> {typed(output)}"


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(6))
def test_random_splits_are_simulated_with_numbers(seed):
    """Every chip ends with its part of the true product."""
    draw, done, collectives = random.Random(seed), 0, set()
    while done < 12:
        text, mesh = random_product(draw), {"X": draw.choice((2, 3, 4)), "Y": draw.choice((2, 3))}
        axes = {axis: n for axis, n in mesh.items() if re.search(f"_X?{axis}", text)}
        try:
            d = sr.derive(text, mesh=axes)
        except ModelError:  # a kept dimension that the output holds whole
            continue
        require_right(d.setting.problem.operation, needed=False)
        done += 1
        collectives |= {e.collective for e in exchanges(d)}
    assert collectives


@pytest.mark.thorough
def test_the_exact_count_adds_up_over_the_chips():
    for text, mesh in ((SUMMED, {"X": 4}), ("bf16[B, D_X, E_Y] * bf16[D_X, E_Y, F] -> bf16[B, F]", {"X": 4, "Y": 3})):
        d = sr.derive(text, mesh=mesh, count="exact")
        chips = int(np.prod(list(mesh.values())))
        assert (d.setting.flops * chips - d.setting.cost.flops_exact).expand() == Integer(0)


def test_an_axis_of_one_chip_changes_nothing():
    asked = {"on": "tpu-v5e", "link": "ICI", "solve_for": "D"}
    one = sr.derive(TWO, mesh={"X": 1, "Y": 2}, **asked).answer
    none = sr.derive(TWO.replace("B_X", "B"), mesh={"Y": 2}, **asked).answer
    assert one.intensity == none.intensity
    assert one.smallest_integer == none.smallest_integer == 8756


@pytest.mark.parametrize("count", ["fma", "exact"])
def test_an_elementwise_product_is_shared_out(count):
    """One multiplication of bf16 for 6 bytes; of three operands two for 8: on every chip as on all."""
    for text, intensity in (
        ("[B_X, D] * bf16[B_X, D] -> bf16[B_X, D]", 6),
        ("[B_X] * bf16[B_X] * bf16[B_X] -> bf16[B_X]", 4),
    ):
        assert sr.derive(f"bf16{text}", on="tpu-v5e", mesh="X=4", count=count).answer.intensity == Rational(
            1, intensity
        )


def test_an_irrational_threshold_on_a_link_is_no_point_from_which_chips_pay():
    options = {"assume": "A = B, B = D, F = 8192", "mesh": "X=4", "on": "tpu-v5e", "link": "ICI"}
    d = sr.derive("bf16[A, B, D] * bf16[D_X, F] -> bf16[A, B, F]", **options)
    assert not d.answer.threshold.bound.exact
    assert not [step for step in d.answer.steps if step.reason.name == "PAYS"]
