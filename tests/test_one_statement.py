"""A product on one line is the program of its one statement, in every number: what is sent, what a chip does, every time."""

import json
import random
import re
from fractions import Fraction

import pytest
from direct import evaluate
from exchanging import exchanges
from random_splits import MESHES
from sympy import Rational

import symroof as sr
from symroof.errors import CheckError, ModelError
from symroof.model.placement import _Chips
from symroof.symbols import expression, symbol

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


WORDS = ("depends", "compute", "memory", "link", "vector", "always", "never")
NUMBERS = [
    "flops",
    "flops_exact",
    "flops_per_chip",
    "bytes",
    "bytes_per_chip",
    "chips",
    "sent_over",
    "intensity",
    "ridge",
]
NUMBERS += ["T", "T_math", "T_comms", "T_lower", "T_upper", "condition"]
AT = ("outcome", "intensity", "T", "T_math", "T_comms", "T_lower", "T_upper")


def numbers(operation, mesh):
    """What is derived of a product, without its words; None where it is refused."""
    chip = {"on": "h100"} if "NVLink" in mesh else {"on": "tpu-v5p"}
    try:
        d = sr.derive(operation, mesh=mesh, compute="bf16", at={"B": 240, "D": 480, "E": 720, "F": 960}, **chip)
    except ModelError:
        return None, ()
    answer = json.loads(d.to_json())["answer"]
    (point,) = answer["at"]
    found = {key: answer[key] for key in NUMBERS} | {f"at {key}": point.get(key) for key in AT}
    rows = [{key: value for key, value in row.items() if key != "T_steps"} for row in point["times"]]
    thresholds = {name: t and t["exact"] for name, t in (answer["thresholds"] or {}).items()}
    return found | {"rows": rows, "thresholds": thresholds}, exchanges(d)


def leaves(record, path=()):
    if isinstance(record, dict | list):
        for key, value in record.items() if isinstance(record, dict) else enumerate(record):
            yield from leaves(value, (*path, key))
    else:
        yield path, record


def told_apart(one, other, draw):
    """Where two records differ: their formulas have other values at random sizes."""
    sizes = {name: Fraction(draw.randint(3, 400)) for name in "BDEFXYZPQR"}
    figures = ("peak", "bandwidth", "ridge", "HBM", "ICI", "DCN", "NVLink", "InfiniBand")
    sizes |= {figure: Fraction(draw.randint(1, 10**6)) for figure in figures}

    def value(text):
        if not isinstance(text, str) or text.endswith("bound") or text in WORDS:
            return text
        return sorted(text) if "otherwise" in text else evaluate(text, sizes)

    first, second = dict(leaves(one)), dict(leaves(other))
    return [path for path in first.keys() | second.keys() if value(first.get(path)) != value(second.get(path))]


@pytest.mark.thorough
@pytest.mark.parametrize("part", range(4))
def test_a_product_is_its_program_in_every_number(part):
    draw, collectives, refused = random.Random(part), set(), 0
    for _ in range(25):
        (left, right, result), mesh = random_product(draw)
        line, moved = numbers(f"{left} * {right} -> {result}", mesh)
        program, moves = numbers(f"input x: {left}; weight W: {right}; y = x * W -> {result}", mesh)
        assert told_apart(line, program, draw) == [], (left, right, result, mesh)
        assert [(e.collective, e.axes, e.payload) for e in moved] == [(e.collective, e.axes, e.payload) for e in moves]
        refused += line is None
        collectives |= {(e.collective, len(e.axes)) for e in moved}
    assert refused < 10
    assert len(collectives) > 2


def drawn(seed, count):
    """Random products with what draws them: on one line, on a mesh."""
    draw = random.Random(seed)
    for _ in range(count):
        (left, right, result), mesh = random_product(draw)
        yield draw, f"{left} * {right} -> {result}", mesh


@pytest.mark.thorough
@pytest.mark.parametrize("part", range(2))
def test_an_axis_of_one_chip_is_no_axis(part):
    """Written or not, whatever it splits: the numbers are the same."""
    compared = 0
    for draw, line, mesh in drawn(part + 70, 12):
        plain, _ = numbers(line, mesh)
        one = re.split(r" \* | -> ", line)
        for i, side in enumerate(one):
            if "_" not in side.split(",")[-1] and draw.random() < 0.5:
                one[i] = side.replace("]", "_W]")
        network = draw.choice(("DCN switch", "ICI")) if "NVLink" not in mesh else "ICI"
        beside, _ = numbers(f"{one[0]} * {one[1]} -> {one[2]}", f"{mesh}; W=1 on {network}")
        assert told_apart(plain, beside, draw) == [], (one, mesh)
        compared += plain is not None
    assert compared > 5


@pytest.mark.thorough
@pytest.mark.parametrize("part", range(4))
def test_what_is_derived_at_sizes_is_drawn_at_them(part):
    """And what is refused by one is refused by the other, of one axis of one chip as well."""
    kinds = set()
    for draw, line, mesh in drawn(part + 90, 10):
        chip = "h100" if "NVLink" in mesh else "tpu-v5p"
        open_axes = {axis for axis in "XYZ" if re.search(rf"\b{axis}\b(?!=)", mesh)}
        at = {"B": draw.choice((240, 241)), "D": 480, "E": 720, "F": 960}
        at |= {axis: draw.choice((1, 2, 4)) for axis in sorted(open_axes)}
        told = []
        for ask in (sr.derive, sr.plot):
            try:
                told.append(bool(ask(line, at=at, mesh=mesh, compute="bf16", on=chip).to_text()))
            except ModelError as error:
                told.append(str(error))
        assert told[0] == told[1], (line, mesh, at)
        kinds.add(told[0] is True)
    assert kinds == {True, False}


def test_an_elementwise_product_on_a_mesh_is_judged_by_its_own_work():
    """A multiplication for each output, on one line as in a program: it was 0 where a claim was judged."""
    problem = {"operation": "bf16[E, B] * bf16[B_X, D] -> bf16[E, B, D_X]", "hardware": "tpu-v5p", "mesh": "X=2"}
    (judgement,) = sr.verify({**problem, "claims": ["flops = EBD"]}).judgements
    assert judgement.verdict == "holds"
    assert re.search(r"compute-bound\s+never\n", sr.derive(problem).to_text())


@pytest.mark.thorough
def test_a_link_that_nothing_crosses_has_no_roof():
    """But where it is asked for."""
    text, open_ = SUMMED, {"on": "tpu-v5p", "mesh": "X"}
    alone, four = ({"B": 32, "D": 4096, "F": 4096, "X": n} for n in (1, 4))
    rows = [line.split() for line in sr.plot(text, at=alone, **open_).to_text().splitlines()]
    assert {row[row.index("v5p") + 1] for row in rows if "v5p" in row} == {"HBM"}
    both = sr.plot(text, at=[alone, four], **open_)
    links = [row[row.index("v5p") + 1] for row in map(str.split, both.to_text().splitlines()) if "v5p" in row]
    assert links == ["HBM", "X", "HBM", "HBM", "X"]
    assert b"X = 4" in both.drawn()
    with pytest.raises(ModelError, match="nothing crosses X at X = 1"):
        sr.plot(text, at=alone, link="X", **open_)


@pytest.mark.thorough
def test_axes_follow_one_another_where_a_dimension_asks_twice():
    text = "bf16[B_Y, D_X] * bf16[D_XY, F] -> bf16[B_Y, F]"
    with pytest.raises(ModelError, match="several axes are on ICI: X, Y"):  # each has a time of its own
        sr.derive(text, on="tpu-v5p", mesh="X=4, Y=4", link="ICI")
    d = sr.derive(text, on="tpu-v5p", mesh="X=4, Y=4", link="X")
    B, D, F = sr.dimensions("B D F")
    assert json.loads(d.to_json())["exchanges"] == ["all-gather over Y = 4", "all-reduce over X = 4"]
    assert d.setting.moved == 3 * B * F / 8
    assert sr.derive(text, on="tpu-v5p", mesh="X=4, Y=4", link="Y").setting.moved == 3 * D * F / 16
    for lang in ("en", "ko", "zh"):  # every exchange on a page
        assert d.to_text(lang=lang)
        assert d.to_markdown(lang=lang)


X = symbol("X")
SHARES = [("X=4, Y=4", Rational(15, 64)), ("X=4 line, Y=2", Rational(7, 16)), ("X, Y=4", (4 * X - 1) / (16 * X))]


@pytest.mark.parametrize(("mesh", "share"), SHARES)
def test_axes_on_one_link_are_one_collective(mesh, share):
    """Those of a torus carry the same: the link is asked about as one."""
    d = sr.derive("bf16[B, D_XY] * bf16[D_XY, F] -> bf16[B, F_XY]", on="tpu-v5p", mesh=mesh, link="ICI")
    (exchange,) = exchanges(d)
    assert (exchange.collective, exchange.axes) == ("reduce-scatter", ("X", "Y"))
    B, F = sr.dimensions("B F")
    assert (d.setting.moved - 2 * B * F * share).expand() == 0


@pytest.mark.thorough
def test_an_all_to_all_over_axes_of_other_sizes_keeps_each_busy_otherwise():
    text = "bf16[B_XY, D] * bf16[D, F] -> bf16[B, F_XY]"
    B, F = sr.dimensions("B F")
    for axis, part in (("X", Rational(1, 32)), ("Y", Rational(1, 64))):
        assert sr.derive(text, on="tpu-v5p", mesh="X=8, Y=4", link=axis).setting.moved == 2 * B * F * part
    for mesh in ("X=8, Y=4", "X, Y"):
        with pytest.raises(ModelError, match="several axes are on ICI: X, Y"):
            sr.derive(text, on="tpu-v5p", mesh=mesh, link="ICI")
    for mesh in ("X, Y", "X=3, Y=5"):
        d = sr.derive(text, on="tpu-v5p", mesh=mesh)
        assert d.counts()["sampled"] == 0
        (statement,) = json.loads(d.to_json())["answer"]["statements"]
        assert [e["collective"] for e in statement["exchanges"]] == ["all-to-all"]  # once, and not for each axis


def test_an_axis_that_splits_nothing_repeats_the_work_and_the_page_says_so():
    alone, beside = (sr.derive(SUMMED, on="tpu-v5e", mesh=mesh, link="ICI") for mesh in ("X=4", "X=4, Y=2"))
    assert (alone.setting.moved, alone.setting.flops) == (beside.setting.moved, beside.setting.flops)
    assert "No tensor is split over Y: the chips along it repeat the same work" in beside.to_text()
    assert "8 TPU v5e" in beside.to_text()
    text = "input x: bf16[B, D_X]; weight W: bf16[D_X, F]; y = x * W -> bf16[B, F]"
    program = sr.derive(text, on="tpu-v5e", mesh="X=4, Y=2", link="X")
    assert "No tensor is split over Y" in program.to_text()
    assert "done by 2: 2 times the work" in program.to_text()


def test_a_mesh_that_splits_nothing_at_all_is_a_mistake():
    for operation in ("matmul", "input x: bf16[B, D]; weight W: bf16[D, F]; y = x * W -> bf16[B, F]"):
        with pytest.raises(ModelError, match="the operation is not split over the mesh"):
            sr.derive(operation, mesh="X=4")
    with pytest.raises(ModelError, match="the operation is split over X, and the mesh has no such axis"):
        sr.derive(SUMMED, mesh="Y=4")


def test_axes_that_follow_one_another_are_refused(monkeypatch):
    """The second engine simulates axes of one link together."""
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
    text = "bf16[B, D_XY] * bf16[D_XY, F] -> bf16[B, F]"
    both = {"operation": text, "link": "NVLink", "hardware": "h100", "mesh": "X=2, Y=4"}
    torus = {"operation": text, "link": "ICI", "hardware": "tpu-v5p", "mesh": "X, Y"}
    for problem, claims in (
        (both, ["sent(NVLink) = 7BF/2", "sent = 7BF/2"]),
        ({**both, "operation": SUMMED, "mesh": "X=8"}, ["sent(NVLink) = 7BF/2", "sent(X) = 7BF/2", "T_X = T_comms"]),
        (torus, ["sent(X) = BF(XY - 1)/(XY)", "sent(Y) = sent(X)", "sent = sent(X)", "chips = XY"]),
    ):
        assert [j.verdict for j in sr.verify({**problem, "claims": claims}).judgements] == ["holds"] * len(claims)


@pytest.mark.parametrize("types", ["bf16[N], bf16[N] -> bf16[N]", "bf16[N_Y], bf16[N_Y] -> bf16[1]"])
def test_a_tensor_that_is_two_operands_is_read_for_each(types):
    """On one chip, on a mesh of one, and in the parts that a map is made of: they add up to the bytes."""
    text = f"X * X -> Z: {types}"
    mesh = {"mesh": "Y=1"} if "_Y" in text else {}
    plain, d = sr.derive(text.replace("_Y", ""), on="tpu-v5p"), sr.derive(text, on="tpu-v5p", **mesh)
    amounts = [expression(each.answer.formula("bytes")) for each in (plain, d)]
    assert amounts[0] == amounts[1]
    (place,) = json.loads(sr.regimes(text, on="tpu-v5p", at="N=1000", **mesh).to_json())["at"]
    assert sum(Fraction(share["exact"]) for share in place["bytes"].values()) == 1
    if mesh:  # on four chips the two operands are shared out, and every chip writes the number
        each = sr.derive(text, on="tpu-v5p", mesh="Y=4").answer.formula("bytes_per_chip")
        assert 4 * expression(each) - amounts[0] == 3 * 2
