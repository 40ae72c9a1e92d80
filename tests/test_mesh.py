"""Meshes: who does what, played by the second engine, by NumPy, and by hand; and faults put into whoever tells it."""

import dataclasses
import itertools
import json
import random
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from chips import routed
from exchanging import division, exchanges
from sympy import Integer, Rational

import symroof as sr
from symroof.derivation import per_chip
from symroof.errors import CheckError, ModelError
from symroof.model import chip_costs
from symroof.model.chip_costs import message, shares
from symroof.model.dtype import Dim, Tensor, dtype
from symroof.model.einsum import Einsum
from symroof.model.mesh_axes import COLLECTIVES, MeshAxis
from symroof.proof.chips import Meshed
from symroof.proof.collectives import MeshAxis as Axis
from symroof.proof.exact import Exact
from symroof.proof.moves import Moved
from symroof.proof.script import Script
from symroof.reading.catalogue import chip
from symroof.reading.problems import merged, read_problem
from symroof.symbols import fraction, symbol

pytestmark = pytest.mark.part(4)

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
    mesh = Meshed(Script((), ()), (Axis("X", chips, wiring, None, "NVLink"),), ())
    moved = Moved(collective, ("X",), "x", (), "operand")
    assert {fraction(share)} == {*routed(collective, Fraction(1), [axis]).values()}
    assert [fraction(share)] == [second.constant for _, second in mesh.shares(moved, Exact())]


def test_an_all_to_all_is_a_quarter_for_an_even_number_of_chips_alone():
    assert {fraction(COLLECTIVES["all-to-all"](Integer(chips), 1)) for chips in (2, 4, 16)} == {Fraction(1, 4)}
    assert fraction(COLLECTIVES["all-to-all"](Integer(5), 1)) == Fraction(6, 25)


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
    for mesh, sent in (
        ({"X": 16}, B * F * 15 / 8),
        ({"X": "16 line"}, B * F * 15 / 4),
        ("X=8 ring", B * F * 7 / 4),
        ({"X": 8}, B * F * 7 / 2),
    ):
        d = sr.derive(SUMMED, mesh=mesh, **on)
        assert d.setting.moved == sent
        wiring = exchanges(d)[0].wiring
        assert f"is a {wiring} of" in d.to_markdown()
        assert f"is a {wiring} of" in " ".join(d.to_text().split())
    assert (
        sr.derive({"operation": SUMMED, "hardware": "tpu-v5e", "mesh": {"X": "8 ring"}, "link": "ICI"}).setting.moved
        == B * F * 7 / 4
    )


def test_a_flag_overrides_an_axis_of_the_file():
    table = {"operation": TWO, "mesh": "X=16 ring,Y=2"}
    problem = read_problem(merged(table, {"mesh": {"X": "8 line"}}, Path()))
    assert problem.mesh == {"X": MeshAxis("X", 8, "line"), "Y": MeshAxis("Y", 2)}


@pytest.mark.parametrize(
    ("mesh", "message"),
    [
        ("X=8 rng", "is no wiring"),
        ("X=8 ring line", "is no wiring"),
        ("X=2 ring", "is no ring"),
        ("X=7x", "is not a number of chips"),
        ("X=2 on", "is no wiring"),
        ("X=2; X=4", "given twice"),
        ("X,,Y", "is no axis"),
        ([1], "is not a mesh"),
    ],
)
def test_wirings_that_are_none(mesh, message):
    with pytest.raises(sr.SymroofError, match=message):
        sr.derive(SUMMED, mesh=mesh)


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
        ("bf16[B, D_X] * bf16[E_X, D, F] * bf16[B, E] -> bf16[B, F, D, E]", {"X": 2}, None),
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


@pytest.mark.parametrize(
    "text",
    [
        "bf16[B_X, D] * bf16[D, F] -> bf16[B, F]",
        "bf16[B, D_X] * bf16[D, F_X] -> bf16[B, F]",
        "bf16[B_X, D_X] * bf16[D, F] -> bf16[B_X, F]",
    ],
)
def test_other_splits_are_refused_and_never_free(text):
    with pytest.raises(ModelError):
        sr.derive(text, mesh={"X": 4})


def test_a_number_is_split_into_whole_parts():
    bf16, six = dtype("bf16"), Dim("6", ("X",))
    product = Einsum((Tensor(bf16, (Dim("B"), six)), Tensor(bf16, (six, Dim("F")))), Tensor(bf16, (Dim("B"), Dim("F"))))
    assert sr.derive(product, mesh={"X": 3}).counts()["sampled"] == 0
    with pytest.raises(ModelError, match="6 is not a multiple of X = 4"):
        sr.derive(product, mesh={"X": 4})


def test_an_axis_needs_a_size():
    with pytest.raises(ModelError, match="the mesh has no such axis"):
        sr.derive(SUMMED)


def test_the_split_of_another_axis_shrinks_the_message():
    d = sr.derive(TWO, on="tpu-v5e", mesh={"X": 4, "Y": 2}, link="ICI")
    B, F = sr.dimensions("B F")
    assert d.setting.moved == B * F / 2


GATHERED_TWICE = "bf16[B, D_X, E_Y] * bf16[D, E, F] -> bf16[B, F]"


def test_axes_on_one_link_gather_together():
    d = sr.derive(GATHERED_TWICE, mesh={"X": 4, "Y": 2}, link="ICI")
    B, D, E = sr.dimensions("B D E")
    assert [e.payload for e in exchanges(d)] == [2 * B * D * E]
    assert d.setting.moved == 2 * B * D * E * Fraction(7, 16)


def test_a_message_grows_with_what_was_gathered_over_another_link():
    d = sr.derive(GATHERED_TWICE, mesh="X=4 on ICI; Y=2 on DCN", link="ICI")
    B, D, E = sr.dimensions("B D E")
    assert [(e.link, e.payload) for e in exchanges(d)] == [("DCN", B * D * E / 2), ("ICI", 2 * B * D * E)]
    assert d.setting.moved == 2 * B * D * E * Fraction(3, 4)


def test_a_chip_reads_what_it_multiplies_and_writes_what_it_computes():
    B, D, F = sr.dimensions("B D F")
    moved = {text: sr.derive(text, mesh={"X": 4}).setting.moved for text in (SCATTERED, FETCHED, WEIGHTS)}
    assert moved[SCATTERED] == B * D / 2 + D * F / 2 + 2 * B * F  # partial sums are written in full
    assert moved[FETCHED] == moved[WEIGHTS] == B * D / 2 + 2 * D * F + B * F / 2


# Against NumPy: the data itself, moved by the exchanges that the model names.


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


class Mesh:
    """The chips of a mesh, each with a part of every tensor, in numbers. What a chip does not hold is masked out."""

    def __init__(self, operation, mesh):
        self.operation, self.mesh = operation, mesh
        self.chips = [
            dict(zip(self.mesh, digits, strict=True))
            for digits in itertools.product(*(range(n) for n in self.mesh.values()))
        ]
        self.carriers = {
            label: sorted({a for t in operation.tensors for d in t.dims if d.label == label for a in d.axes})
            for label in operation.dimensions
        }
        self.size = {label: 2 * int(np.prod([self.mesh[a] for a in axes])) for label, axes in self.carriers.items()}
        self.full = {
            place: np.random.default_rng(place).integers(1, 9, [self.size[d.label] for d in t.dims])
            for place, t in enumerate(operation.tensors)
        }
        self.full[len(operation.tensors) - 1] = np.einsum(
            self.letters(), *(self.full[i] for i in range(len(operation.tensors) - 1))
        )

    def letters(self):
        *inputs, output = ["".join(d.label for d in t.dims) for t in self.operation.tensors]
        return f"{','.join(inputs)}->{output}"

    def mask(self, place, split, chip):
        """Which entries of a tensor belong to the chip under a split."""
        labels = [d.label for d in self.operation.tensors[place].dims]
        mask = np.ones([self.size[label] for label in labels], bool)
        for label, axis in split:
            if label in labels:
                within = self.carriers[label]
                digits = np.unravel_index(np.arange(self.size[label]), [*(self.mesh[a] for a in within), 2])
                own = digits[within.index(axis)] == chip[axis]
                mask &= own.reshape([-1 if x == label else 1 for x in labels])
        return mask

    def peers(self, chip, axes):
        return [other for other in self.chips if all(other[a] == chip[a] for a in self.mesh if a not in axes)]


def declared(tensor):
    return {(d.label, a) for d in tensor.dims for a in d.axes}


def simulate(d):
    """Carries the model's exchanges out on the data; asserts that every chip ends with its part of the true product."""
    setting, operation = d.setting, d.setting.problem.operation.product
    world, last = (
        Mesh(operation, {name: axis.chips for name, axis in setting.problem.mesh.items()}),
        len(operation.tensors) - 1,
    )
    put = {symbol(label): size for label, size in world.size.items()}
    work, every = division(d), exchanges(d)
    names = [operation.operand_name(place) for place in range(last + 1)]
    held = [
        {tuple(c.values()): world.mask(p, declared(t), c) for c in world.chips} for p, t in enumerate(operation.tensors)
    ]
    key = lambda c: tuple(c.values())  # noqa: E731
    todo = list(every)
    while todo and (place := names.index(todo[0].operand)) != last:
        exchange = todo.pop(0)
        before = dict(held[place])
        for c in world.chips:
            peers = [before[key(other)] for other in world.peers(c, exchange.axes)]
            union = np.logical_or.reduce(peers)
            wanted = world.mask(place, {pair for pair in work if pair[1] in exchange.axes}, c)
            got = union if exchange.collective == "all-gather" else union & wanted
            sliced = world.mask(place, work, c)  # what is not needed over the other axes was left out before
            others = {pair for pair in work if pair[1] not in {a for _, a in declared(operation.tensors[place])}}
            assert 2 * (union & world.mask(place, others, c)).sum() == exchange.payload.subs(put), exchange
            assert (sliced & ~got).sum() == 0 or len(every) > 1
            held[place][key(c)] = got
    partial, reads = {}, {}
    for c in world.chips:
        needed = [world.mask(p, work, c) for p in range(last)]
        for p in range(last):
            assert not (needed[p] & ~held[p][key(c)]).any(), "a chip multiplies what it does not hold"
        partial[key(c)] = np.einsum(world.letters(), *(world.full[p] * needed[p] for p in range(last)))
        products = np.einsum(world.letters(), *(n.astype(int) for n in needed)).sum()
        assert (2 if operation.contracted else 1) * products == setting.flops.subs(put)
        reads[key(c)] = 2 * sum(n.sum() for n in needed) + 2 * world.mask(last, work, c).sum()
        assert setting.several_chips is False or reads[key(c)] == setting.moved.subs(put)
    support = {key(c): world.mask(last, work, c) for c in world.chips}
    for exchange in todo:
        before, area = dict(partial), dict(support)
        for c in world.chips:
            peers = [key(other) for other in world.peers(c, exchange.axes)]
            own = world.mask(last, {pair for pair in declared(operation.tensors[last]) if pair[1] in exchange.axes}, c)
            if exchange.collective == "all-to-all":
                assert 2 * np.logical_or.reduce([area[k] for k in peers]).sum() == exchange.payload.subs(put)
                support[key(c)] = np.logical_or.reduce([area[k] for k in peers]) & own
            else:
                assert all((area[k] == area[peers[0]]).all() for k in peers)
                assert 2 * area[key(c)].sum() == exchange.payload.subs(put)
                support[key(c)] = area[key(c)] & (own if exchange.collective == "reduce-scatter" else True)
            partial[key(c)] = sum(before[k] for k in peers) * support[key(c)]
    for c in world.chips:
        mine = world.mask(last, declared(operation.tensors[last]), c)
        assert (partial[key(c)] * mine == world.full[last] * mine).all(), (
            "a chip does not end with its part of the product"
        )
        assert (support[key(c)] == mine).all()


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(6))
def test_random_splits_against_numpy(seed):
    draw, done, collectives = random.Random(seed), 0, set()
    while done < 12:
        text, mesh = random_product(draw), {"X": draw.choice((2, 3, 4)), "Y": draw.choice((2, 3))}
        axes = {axis: n for axis, n in mesh.items() if re.search(f"_X?{axis}", text)}
        try:
            d = sr.derive(text, mesh=axes)
        except ModelError:  # a kept dimension that the output holds whole
            continue
        simulate(d)
        done += 1
        collectives |= {e.collective for e in exchanges(d)}
    assert collectives


# Faults, put in at run time.


def costing(change):
    """Another cost of each statement on a chip."""

    def fault(m):
        original = chip_costs.chip_costs
        m.setattr(
            chip_costs, "chip_costs", lambda program: {name: change(cost) for name, cost in original(program).items()}
        )

    return fault


def thrice(moves):
    return tuple((name, 3 * amount) for name, amount in moves)


three_times_the_bytes = costing(lambda c: dataclasses.replace(c, loads=thrice(c.loads), stores=thrice(c.stores)))
seven_chips = costing(lambda c: dataclasses.replace(c, flops=c.flops * 4 / 7))
one_chip = costing(lambda c: dataclasses.replace(c, flops=c.flops * 4))


def placing(change):
    """Another place for each statement."""

    def fault(m):
        original = chip_costs.placed
        m.setattr(chip_costs, "placed", lambda program: tuple(map(change, original(program))))

    return fault


def changed(**fields):
    return placing(
        lambda p: dataclasses.replace(p, moves=tuple(dataclasses.replace(move, **fields) for move in p.moves))
    )


at_the_same_cost = changed(collective="reduce-scatter")
no_exchange_but_one = placing(lambda p: dataclasses.replace(p, moves=p.moves[:1]))
no_exchange = placing(lambda p: dataclasses.replace(p, moves=()))
split_otherwise = placing(lambda p: dataclasses.replace(p, division=frozenset({("F", "X")})))
other_operand = placing(
    lambda p: dataclasses.replace(
        p, moves=tuple(dataclasses.replace(m, tensor=p.line.statement.operands[1]) for m in p.moves)
    )
)


def five_times_the_payload(m):
    for module in (chip_costs, per_chip):
        m.setattr(module, "message", lambda move, program: 5 * message(move, program))


def half_the_share(m):
    m.setattr(
        chip_costs, "shares", lambda collective, axes: ((name, share / 2) for name, share in shares(collective, axes))
    )


def rows_exchanged(m):
    m.setitem(COLLECTIVES, "all-reduce", COLLECTIVES["all-gather"])
    m.setitem(COLLECTIVES, "all-gather", COLLECTIVES["all-to-all"])


def always_a_ring(m):
    m.setattr(MeshAxis, "ways", 2)


def never_a_ring(m):
    m.setattr(MeshAxis, "ways", 1)


LINK, MEMORY = {"on": "tpu-v5e", "mesh": {"X": 4}, "link": "ICI"}, {"on": "tpu-v5e", "mesh": {"X": 4}}
RING = {"on": "tpu-v5e", "mesh": {"X": 16}, "link": "ICI"}
FAULTS = {
    "three times the bytes of a chip": (three_times_the_bytes, SUMMED, MEMORY),
    "7 of 4 chips": (seven_chips, SUMMED, MEMORY),
    "7 of 4 chips over the link": (seven_chips, SUMMED, LINK),
    "1 of 4 chips": (one_chip, SUMMED, LINK),
    "five times the payload": (five_times_the_payload, SUMMED, LINK),
    "all-gather for all-reduce": (changed(collective="all-gather"), SUMMED, LINK),
    "reduce-scatter for all-gather, at the same cost": (at_the_same_cost, GATHERED, LINK),
    "the other operand": (other_operand, GATHERED, LINK),
    "said over memory alone": (changed(collective="all-gather"), SUMMED, MEMORY),
    "no exchange, over memory": (no_exchange, SUMMED, MEMORY),
    "one exchange of two": (no_exchange_but_one, "bf16[B_Y, D_X] * bf16[D_XY, F] -> bf16[B_Y, F]", {"on": "tpu-v5e", "mesh": {"X": 2, "Y": 2}}),
    "half the share": (half_the_share, SUMMED, LINK),
    "rows of the table": (rows_exchanged, SUMMED, LINK),
    "a line as a ring": (always_a_ring, SUMMED, LINK),
    "a ring as a line": (never_a_ring, SUMMED, RING),
    "the work split otherwise": (split_otherwise, SUMMED, MEMORY),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_raises(monkeypatch, name):
    fault, text, options = FAULTS[name]
    sr.derive(text, **options)
    fault(monkeypatch)
    for ask in (sr.derive, sr.regimes):
        with pytest.raises(CheckError):
            ask(text, **options)
    if fault is at_the_same_cost:  # no claim speaks of it
        return
    with pytest.raises(CheckError):
        sr.verify(
            {
                "operation": text,
                "hardware": options["on"],
                **{k: v for k, v in options.items() if k != "on"},
                "claims": ["flops > 0"],
            }
        )


@pytest.mark.thorough
def test_the_exact_count_adds_up_over_the_chips():
    for text, mesh in ((SUMMED, {"X": 4}), ("bf16[B, D_X, E_Y] * bf16[D_X, E_Y, F] -> bf16[B, F]", {"X": 4, "Y": 3})):
        d = sr.derive(text, mesh=mesh, count="exact")
        chips = int(np.prod(list(mesh.values())))
        assert (d.setting.flops * chips - d.setting.cost.flops_exact).expand() == Integer(0)


def test_an_axis_of_one_chip_changes_nothing():
    one = sr.derive(
        "bf16[B_X, D_Y] * bf16[D_Y, F] -> bf16[B_X, F]", on="tpu-v5e", mesh={"X": 1, "Y": 2}, link="ICI", solve_for="D"
    ).answer
    none = sr.derive(
        "bf16[B, D_Y] * bf16[D_Y, F] -> bf16[B, F]", on="tpu-v5e", mesh={"Y": 2}, link="ICI", solve_for="D"
    ).answer
    assert one.intensity == none.intensity
    assert one.smallest_integer == none.smallest_integer == 8756


@pytest.mark.parametrize("count", ["fma", "exact"])
def test_an_elementwise_product_is_shared_out(count):
    """One multiplication of bf16 for 6 bytes; of three operands two for 8: on every chip as on all."""
    two, three = (
        sr.derive(text, on="tpu-v5e", mesh="X=4", count=count).answer.intensity
        for text in ("bf16[B_X, D] * bf16[B_X, D] -> bf16[B_X, D]", "bf16[B_X] * bf16[B_X] * bf16[B_X] -> bf16[B_X]")
    )
    assert (two, three) == (Rational(1, 6), Rational(1, 4))


def test_an_irrational_threshold_on_a_link_is_no_point_from_which_chips_pay():
    d = sr.derive(
        "bf16[A, B, D] * bf16[D_X, F] -> bf16[A, B, F]",
        assume="A = B, B = D, F = 8192",
        mesh="X=4",
        on="tpu-v5e",
        link="ICI",
    )
    assert not d.answer.threshold.bound.exact
    assert not [step for step in d.answer.steps if step.reason.name == "PAYS"]
