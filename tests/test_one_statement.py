"""A product on one line and the program of one statement that it is: on every mesh the same is sent, or both are refused."""

import random

import pytest
from random_splits import MESHES
from sympy import Rational

import symroof as sr
from symroof.derivation.figures_used import sent_over
from symroof.derivation.setting import setting_of
from symroof.errors import CheckError, ModelError
from symroof.model.placing import _Chips
from symroof.model.statement_costs import amounts
from symroof.reading.problems import read_problem

pytestmark = pytest.mark.part(2)

LABELS = "BDEF"
SUMMED = "bf16[B, D_X] * bf16[D_X, F] -> bf16[B, F]"
OPEN_MESHES = ("X, Y on ICI", "X, Y=2 on ICI", "X on ICI; Y on DCN switch", "X=4, Y on ICI; Z=2 on DCN")


def random_product(draw):
    """A product on a random mesh: its types, each axis on at most one dimension of each, and the mesh."""
    mesh = draw.choice(MESHES + OPEN_MESHES).replace("; mesh", ";")
    axes, labels = [axis for axis in "XYZ" if axis in mesh.replace("on ICI", "")], draw.sample(LABELS, 4)
    left, right = labels[:3], labels[1:]
    kept = [x for x in labels if x not in draw.sample(labels[1:3], draw.choice((0, 1, 1, 2)))]
    habit, together = {axis: draw.choice(labels) for axis in axes}, draw.random() < 0.5

    def typed(names):
        split = dict.fromkeys(names, "")
        one = draw.choice([None, *names])
        for axis in axes:
            where = one if together else habit[axis] if draw.random() < 0.6 else draw.choice([None, *names])
            if where in split:
                split[where] += axis
        return f"{draw.choice(('bf16', 'int8', 'fp32'))}[{', '.join(x + ('_' + split[x] if split[x] else '') for x in names)}]"

    return [typed(left), typed(right), typed(kept)], mesh


def asked(operation, mesh):
    try:
        chip = {} if "NVLink" in mesh else {"hardware": "tpu-v5p", "compute": "bf16"}
        return setting_of(read_problem({"operation": operation, "mesh": mesh, **chip}))
    except ModelError:
        return None


@pytest.mark.part(1)
@pytest.mark.parametrize("part", range(4))
def test_a_product_sends_what_its_program_does(part):
    draw, collectives, refused = random.Random(part), set(), 0
    for _ in range(100):
        (left, right, result), mesh = random_product(draw)
        line = asked(f"{left} * {right} -> {result}", mesh)
        program = asked(f"input x: {left}; weight W: {right}; y = x * W -> {result}", mesh)
        assert (line is None) == (program is None), (left, right, result, mesh)
        if line is None:
            refused += 1
            continue
        known = amounts(program.problem.operation, "fma")
        sent = {name[5:-1]: amount.expand() for name, amount in known.items() if name.startswith("sent(") and amount != 0}
        assert sent_over(line.exchanges) == sent
        assert (line.flops, line.moved) == (program.flops, program.moved)
        collectives |= {(e.collective, len(e.over)) for e in line.exchanges}
    assert refused < 50
    assert {("all-gather", 2), ("all-to-all", 2), ("all-reduce", 1), ("reduce-scatter", 1)} <= collectives


def test_axes_follow_one_another_where_a_dimension_asks_twice():
    d = sr.derive("bf16[B_Y, D_X] * bf16[D_XY, F] -> bf16[B_Y, F]", on="tpu-v5p", mesh="X=4, Y=4", link="ICI")
    B, D, F = sr.dimensions("B D F")
    assert [str(e) for e in d.setting.exchanges] == ["all-gather over Y = 4", "all-reduce over X = 4"]
    assert d.setting.moved == 3 * D * F / 16 + 3 * B * F / 8
    assert all(d.to_text(lang=lang) and d.to_markdown(lang=lang) for lang in ("en", "ko", "zh"))  # every exchange on a page


@pytest.mark.parametrize(("mesh", "wiring", "share"), [("X=4, Y=4", "torus", lambda X: Rational(15, 64)), ("X=4 line, Y=2", "grid", lambda X: Rational(7, 16)), ("X, Y=4", "torus", lambda X: (4 * X - 1) / (16 * X))])
def test_axes_on_one_link_are_one_collective(mesh, wiring, share):
    d = sr.derive("bf16[B, D_XY] * bf16[D_XY, F] -> bf16[B, F_XY]", on="tpu-v5p", mesh=mesh, link="ICI")
    (exchange,) = d.setting.exchanges
    assert (exchange.collective, exchange.axes, exchange.wiring) == ("reduce-scatter", ("X", "Y"), wiring)
    assert f"a {wiring}" in d.to_text()
    B, F, X = sr.dimensions("B F X")
    assert (d.setting.moved - 2 * B * F * share(X)).expand() == 0


def test_an_all_to_all_over_axes_of_open_sizes_has_no_busiest_link():
    text = "bf16[B_XY, D] * bf16[D, F] -> bf16[B, F_XY]"
    B, F = sr.dimensions("B F")
    assert sr.derive(text, on="tpu-v5p", mesh="X=8, Y=4", link="ICI").setting.moved == 2 * B * F * Rational(1, 32)
    with pytest.raises(ModelError, match="which of X and Y an all-to-all over both keeps busy longer"):
        sr.derive(text, on="tpu-v5p", mesh="X, Y", link="ICI")
    assert sr.derive(text, on="tpu-v5p", mesh="X, Y").counts()["sampled"] == 0  # within a chip nobody asks


def test_an_axis_that_splits_nothing_repeats_the_work_and_the_page_says_so():
    alone, beside = (sr.derive(SUMMED, on="tpu-v5e", mesh=mesh, link="ICI") for mesh in ("X=4", "X=4, Y=2"))
    assert (alone.setting.moved, alone.setting.flops) == (beside.setting.moved, beside.setting.flops)
    assert "no tensor is split over Y: the chips along it repeat the same work" in beside.to_text()
    assert "8 TPU v5e" in beside.to_text()
    program = sr.derive("input x: bf16[B, D_X]; weight W: bf16[D_X, F]; y = x * W -> bf16[B, F]", on="tpu-v5e", mesh="X=4, Y=2", link="X")
    assert "no tensor is split over Y" in program.to_text()
    assert "done by 2: 2 times the work" in program.to_text()


def test_a_mesh_that_splits_nothing_at_all_is_a_mistake():
    for operation in ("matmul", "input x: bf16[B, D]; weight W: bf16[D, F]; y = x * W -> bf16[B, F]"):
        with pytest.raises(ModelError, match="the operation is not split over the mesh"):
            sr.derive(operation, mesh="X=4")
    with pytest.raises(ModelError, match="the operation is split over X, and the mesh has no such axis"):
        sr.derive(SUMMED, mesh="Y=4")


def test_axes_that_follow_one_another_are_refused(monkeypatch):
    """The second engine plays axes of one link together."""
    original, options = _Chips._by_link, {"on": "tpu-v5p", "mesh": "X=4, Y=4", "link": "ICI"}
    text = "bf16[B, D_XY] * bf16[D_XY, F] -> bf16[B, F]"
    sr.derive(text, **options)

    def one_by_one(self, axes, apart, *, slow_first):
        for axis in sorted(axes):
            yield from original(self, [axis], apart, slow_first=slow_first)

    monkeypatch.setattr(_Chips, "_by_link", one_by_one)
    for link in ("ICI", "HBM"):
        with pytest.raises(CheckError):
            sr.derive(text, **{**options, "link": link})


def test_claims_name_what_an_axis_or_a_switch_carries():
    both = {"operation": "bf16[B, D_XY] * bf16[D_XY, F] -> bf16[B, F]", "link": "NVLink", "hardware": "h100", "mesh": "X=2, Y=4"}
    one = {**both, "operation": SUMMED, "mesh": "X=8"}
    for problem, claims in ((both, ["sent(NVLink) = 7BF/2", "sent = 7BF/2"]), (one, ["sent(NVLink) = 7BF/2", "sent(X) = 7BF/2", "T_X = T_comms"])):
        assert [j.verdict for j in sr.verify({**problem, "claims": claims}).judgements] == ["holds"] * len(claims)
    torus = {"operation": both["operation"], "link": "ICI", "hardware": "tpu-v5p", "mesh": "X, Y"}
    claims = ["sent(X) = BF(XY - 1)/(XY)", "sent(Y) = sent(X)", "sent = sent(X)", "chips = XY"]
    assert [j.verdict for j in sr.verify({**torus, "claims": claims}).judgements] == ["holds"] * 4
