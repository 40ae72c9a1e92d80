"""Axes without a number of chips: formulas in them, which agree with every mesh whose axes have numbers."""

import random
from fractions import Fraction

import pytest
from exchanging import exchanges
from test_mesh import FETCHED, GATHERED, MOVED, SCATTERED, SUMMED, WEIGHTS, random_product

import symroof as sr
from symroof.errors import CheckError, ModelError
from symroof.model import chip_costs
from symroof.model.collectives import COLLECTIVES, MeshAxis
from symroof.reading.meshes import axes_of, read_mesh
from symroof.symbols import fraction, rational, symbol

FSDP = "bf16[B_X, D] * bf16[D_X, F] -> bf16[B_X, F]"
LINK = {"on": "tpu-v5p", "link": "ICI"}


def at(value, **sizes):
    return fraction(value.subs({symbol(name): rational(Fraction(size)) for name, size in sizes.items()}))


@pytest.mark.parametrize("text", [SUMMED, GATHERED, SCATTERED, MOVED, FETCHED, WEIGHTS])
@pytest.mark.parametrize("wiring", ["ring", "line", "switch"])
def test_a_number_put_in_is_the_mesh_of_that_size(text, wiring):
    d = sr.derive(text, mesh=f"X {wiring}", **LINK)
    whole = d.setting
    for chips in (4, 6, 16):
        numbered = sr.derive(text, mesh=f"X={chips} {wiring}", **LINK)
        one = numbered.setting
        for amount in ("moved", "flops", "chips"):
            sizes = {"B": 7, "D": 11, "F": 13}
            assert at(getattr(whole, amount), X=chips, **sizes) == at(getattr(one, amount), **sizes)
        assert [e.collective for e in exchanges(d)] == [e.collective for e in exchanges(numbered)]


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(4))
def test_random_splits_over_two_open_axes(seed):
    draw, done = random.Random(seed), 0
    while done < 3:
        text = random_product(draw)
        axes = [axis for axis in "XY" if f"_{axis}" in text]
        if not axes:
            continue
        try:
            whole = sr.derive(text, mesh=", ".join(axes), on="tpu-v5p").setting
        except ModelError:
            continue
        chips = {axis: draw.choice((4, 6)) for axis in axes}
        one = sr.derive(text, mesh=", ".join(f"{axis}={n} ring" for axis, n in chips.items()), on="tpu-v5p").setting
        sizes = {name: draw.randint(2, 9) for name in whole.problem.operation.dimensions}
        assert at(whole.moved, **chips, **sizes) == at(one.moved, **sizes)
        assert at(whole.flops, **chips, **sizes) == at(one.flops, **sizes)
        done += 1


def test_fully_sharded_weights_bound_the_batch_by_the_chips():
    d = sr.derive(FSDP, mesh="X", solve_for="B", **LINK)
    solution, ratio = d.answer.threshold, Fraction("4.59e14") / Fraction("9e10")
    assert d.counts()["sampled"] == 0
    for chips in (3, 16, 1000):  # B > (X - 1) C/W for rings, whose two directions carry twice W
        assert at(solution.bound, X=chips, ridge=ratio) == (chips - 1) * ratio / 2


def test_a_tensor_split_bounds_the_chips_by_the_width():
    d = sr.derive("bf16[B, D_Y] * bf16[D_Y, F] -> bf16[B, F]", mesh="Y", solve_for="Y", **LINK)
    solution, ratio = d.answer.threshold, Fraction("4.59e14") / Fraction("9e10")
    assert (solution.variable, solution.end.relation) == ("Y", "<")
    assert at(solution.bound, D=8192, ridge=ratio) == 1 + 8192 / ratio


def test_many_chips_are_a_regime():
    d = sr.derive(FSDP, mesh="X", assume="X -> oo", **LINK)
    assert str(d.answer.leading.approximate) == "2*B/X"
    assert str(d.answer.leading.factor) in ("(X - 1)/X", "1 - 1/X")


def test_claims_speak_of_axes():
    whens = ("B > 2550(X - 1)", "B > 2550X as X -> oo", "B > 5100(X - 1)")
    claims = ["flops_per_chip = 2BDF/X", "sent = DF(X - 1)/X", *(f"compute-bound when {when}" for when in whens)]
    problem = {"operation": FSDP, "hardware": "tpu-v5p", "mesh": "X", "link": "ICI"}
    found = sr.verify({**problem, "claims": claims}).judgements
    assert [j.verdict for j in found] == ["holds", "holds", "holds", "holds", "wrong"]


def test_another_share_or_another_formula_is_refused(monkeypatch):
    honest = chip_costs.shares
    with monkeypatch.context() as m:
        m.setattr(chip_costs, "shares", lambda *a: ((name, share / 2) for name, share in honest(*a)))
        with pytest.raises(CheckError):
            sr.derive(FSDP, mesh="X", **LINK)
    monkeypatch.setitem(COLLECTIVES, "all-gather", lambda chips, ways: chips / (chips * ways))
    with pytest.raises(CheckError):
        sr.derive(FSDP, mesh="X", **LINK)


OPEN = [MeshAxis("X", None, None, "ICI"), MeshAxis("Y", 4, None, "ICI"), MeshAxis("M", None, "switch", "DCN")]
WRITTEN = {"X, Y=4 on ICI; M on DCN switch": OPEN, "X ring": [MeshAxis("X", None, "ring")]}
WRITTEN |= {"X=16 ring, Y=4": [MeshAxis("X", 16, "ring"), MeshAxis("Y", 4)]}


@pytest.mark.parametrize(("text", "axes"), WRITTEN.items())
def test_meshes_as_they_are_written(text, axes):
    assert list(read_mesh(text)) == axes
    assert list(read_mesh(axes_of(text))) == axes


def test_figures_ask_for_a_number():
    with pytest.raises(ModelError, match="number of chips of X"):
        sr.plot(FSDP, mesh="X", at="B=64,D=F=8192", **LINK)


def test_a_dimension_over_two_axes():
    d = sr.derive("bf16[B_XY, D] * bf16[D_X, F] -> bf16[B_XY, F]", mesh="X, Y", **LINK)
    assert at(d.setting.chips, X=4, Y=6) == 24
    assert at(d.setting.moved, X=4, D=8, F=3) == 8 * 3 * Fraction(3, 4)
    assert d.counts()["sampled"] == 0
    with pytest.raises(sr.SymroofError, match="two readings"):
        sr.derive("bf16[B_XY, D] * bf16[D, F] -> bf16[B_XY, F]", mesh="X=2, Y=2, XY=4")
    d = sr.derive("bf16[B_XY, D] * bf16[D_X, F] -> bf16[B_XY, F]", mesh="X=4, Y=6", solve_for="B", **LINK)
    assert d.answer.smallest_integer % 24 == 0


@pytest.mark.parametrize("text", [SUMMED, GATHERED, SCATTERED, MOVED, FETCHED, WEIGHTS])
@pytest.mark.parametrize("chips", [3, 8])
def test_a_number_that_all_sets_of_sizes_give_is_that_of_the_mesh(text, chips):
    """However so many chips are wired: on a TPU v5e only multiples of sixteen close to a ring."""
    program = sr.derive(text, mesh="X", on="tpu-v5e").setting.problem.operation
    sizes = ",".join(f"{name}={chips * 16}" for name in program.sizes if name != "X")
    put = sr.derive(text, mesh="X", on="tpu-v5e", at=f"X={chips},{sizes}")
    own = sr.derive(text, mesh=f"X={chips}", on="tpu-v5e", at=sizes)
    assert put.to_text() == own.to_text()
    assert put.setting.problem.mesh == own.setting.problem.mesh


def test_numbers_that_differ_from_set_to_set_are_put_into_one_formula():
    program = sr.derive(GATHERED, mesh="X", on="tpu-v5e", at=["X=16,B=D=F=64", "X=32,B=D=F=64"])
    assert program.setting.problem.mesh["X"].chips is None
    assert sr.derive(GATHERED, mesh="X", on="tpu-v5e", at="X=16").setting.problem.mesh["X"].chips is None


@pytest.mark.thorough
@pytest.mark.parametrize("chips", [1, 3, 8])
def test_the_order_of_chips_tells_nothing(chips):
    """Eight of a TPU v5p are a ring, eight of a TPU v5e a line, and a switch joins those of a node of H100."""
    orders = "tpu-v5p,tpu-v5e,h100", "h100,tpu-v5e,tpu-v5p", "tpu-v5e,h100,tpu-v5p"
    found = (sr.compare(GATHERED, mesh="X", on=order, at=f"X={chips},B=D=F=96").to_dict() for order in orders)
    rows = [{row["chip"]: row for row in each["rows"]} for each in found]
    assert all(each == rows[0] for each in rows)
    assert [rows[0][name]["error"] for name in ("tpu-v5p", "tpu-v5e")] == [None, None]
    alone = sr.compare(GATHERED, mesh=f"X={chips}", on="tpu-v5e", at="B=D=F=96").to_dict()["rows"][0]
    assert rows[0]["tpu-v5e"]["at"] == alone["at"]


@pytest.mark.thorough
@pytest.mark.parametrize("chip", ["tpu-v5p", "tpu-v5e", "h100"])
def test_a_page_moves_numbers_of_chips_wherever_it_begins(chip):
    for sizes in ({}, {"X": 12, "B": 36}):
        page = sr.page(GATHERED, mesh="X", on=chip, at=",".join(f"{n}={v}" for n, v in sizes.items()) or None)
        begins = {name: int(size) for name, size in page.data()["start"].items()}
        assert begins | sizes == begins
        split = {label for label, *_ in page.data()["splits"]}
        assert split
        assert all(begins[label] % begins["X"] == 0 for label in split)
    with pytest.raises(ModelError, match="is not a multiple of X = 5"):
        sr.page(GATHERED, mesh="X", on=chip, at="X=5,B=D=F=96").data()
