"""Faults of the placement, put in at run time: the second engine simulates the mesh and refuses what is derived."""

from dataclasses import replace

import pytest
from test_gate import _nothing_is_remembered, put_in  # noqa: F401
from texts import FSDP as SHARDED

import symroof as sr
from symroof.errors import CheckError

pytestmark = pytest.mark.part(3)

SHARED = """
mesh Y on ICI
input x: bf16[B, D_Y]
weight Q, K: bf16[D, H_Y]
q = x * Q -> bf16[B, H_Y]
k = x * K -> bf16[B, H_Y]
y = q * k
"""
ROWS = "mesh X=4 on ICI; input x: bf16[B, D]; weight K: bf16[S_X, D]; s = x * K -> bf16[B, S_X]; p = softmax(s)"
REPEATED = """
mesh X on ICI
input x: bf16[B_X, D]
repeat L as x = z {
weight V: bf16[D_X, F]
weight W: bf16[F, D_X]
y = x * V -> bf16[B_X, F]
z = y * W -> bf16[B_X, D]
}
"""
NETWORKS = """
mesh X = 4 on ICI
mesh M = 2 on DCN
input x: bf16[B, D_XM]
weight W: bf16[D_XM, F]
y = x * W -> bf16[B, F]
z = gelu(y)
"""


def derived(text, **options):
    d = sr.derive(text, on="tpu-v5p", **options)
    return d.to_json(), d.to_text()


def sharded():
    return derived(SHARDED, training=True)


def shared():
    return derived(SHARED, training=True)


def rows():
    return derived(ROWS)


def repeated():
    return derived(REPEATED)


def networks():
    return derived(NETWORKS)


def product(text, mesh="X=4", **options):
    """A product on one line: its derivation, its map, and what is claimed of it."""
    options = {"mesh": mesh, **options}
    return (
        lambda: sr.derive(text, on="tpu-v5e", **options),
        lambda: sr.regimes(text, on="tpu-v5e", **options),
        lambda: sr.verify({"operation": text, "hardware": "tpu-v5e", "claims": ["flops > 0"], **options}),
    )


SUMMED = "bf16[B, D_X] * bf16[D_X, F] -> bf16[B, F]"
MEMORY, LINK, RING = product(SUMMED), product(SUMMED, link="ICI"), product(SUMMED, "X=16", link="ICI")
GATHERED = product("bf16[B, D_X] * bf16[D, F] -> bf16[B, F]", link="ICI")[:2]  # no claim speaks of what is gathered
TWO = product("bf16[B_Y, D_X] * bf16[D_XY, F] -> bf16[B_Y, F]", "X=2, Y=2")


def moved(change):
    """Every exchange changed."""

    def fault(f):
        return lambda *a: tuple(replace(p, moves=tuple(map(change, p.moves))) for p in f(*a))

    return fault


def first_changed(change):
    """The placement of the first statement that exchanges something, changed."""

    def fault(f):
        def placed(*a):
            found = list(f(*a))
            at = next(i for i, p in enumerate(found) if p.moves)
            found[at] = change(found[at])
            return tuple(found)

        return placed

    return fault


def shares(change):
    return lambda f: lambda *a: [(resource, change(share)) for resource, share in f(*a)]


def swapped(move):
    """The other direction."""
    others = {"all-gather": "reduce-scatter", "reduce-scatter": "all-gather"}
    return replace(move, collective=others.get(move.collective, move.collective))


def other_axis(f):
    """What axis X carries is said of axis Y."""
    return lambda *a: [({"X": "Y", "Y": "X"}[resource], share) for resource, share in f(*a)]


def costs(**changes):
    """What a chip does, changed for every statement."""

    def fault(f):
        return lambda *a: {
            n: replace(c, **{k: change(getattr(c, k)) for k, change in changes.items()}) for n, c in f(*a).items()
        }

    return fault


def slow_inside(f):
    return lambda self, axes, apart, *, slow_first: (
        (a, tuple(x for x in c if x != "X")) for a, c in f(self, axes, apart, slow_first=slow_first)
    )


def nothing_reused(f):
    def fault(self, *a):
        self.held.clear()
        return f(self, *a)

    return fault


def weights_kept(f):
    return lambda program: f(replace(program, keep=("W1", "W2")))


def thrice(moves):
    return tuple((name, 3 * amount) for name, amount in moves)


def of_all_reduces(f):
    """A row of the table for another: an all-reduce costs what an all-gather does."""
    return lambda collective, axes: f(collective.replace("all-reduce", "all-gather"), axes)


def other_operand(p):
    return replace(p, moves=tuple(replace(m, tensor=p.line.statement.operands[1]) for m in p.moves))


FAULTS = {
    "a collective": ("model.placement.placements", first_changed(lambda p: replace(p, moves=(replace(p.moves[0], collective="all-reduce"), *p.moves[1:]))), sharded),
    "an exchange left out": ("model.placement.placements", first_changed(lambda p: replace(p, moves=p.moves[1:])), sharded),
    "an exchange twice": ("model.placement.placements", first_changed(lambda p: replace(p, moves=(*p.moves, p.moves[0]))), sharded),
    "gathers for scatters": ("model.placement.placements", moved(swapped), sharded),
    "another tensor": ("model.placement.placements", first_changed(lambda p: replace(p, moves=(replace(p.moves[0], tensor=p.line.statement.result), *p.moves[1:]))), sharded),
    "other axes": ("model.placement.placements", first_changed(lambda p: replace(p, moves=tuple(replace(m, axes={("X",): ("Y",), ("Y",): ("X",)}[m.axes]) for m in p.moves))), sharded),
    "the work repeated": ("model.placement.placements", first_changed(lambda p: replace(p, division=frozenset())), sharded),
    "the result whole": ("model.placement.placements", first_changed(lambda p: replace(p, form=frozenset())), sharded),
    "a message that other axes do not split": ("model.placement.placements", moved(lambda m: replace(m, apart=())), sharded),
    "a message twice as large": ("model.chip_costs.message", lambda f: lambda *a: 2 * f(*a), sharded),
    "a share twice as large": ("model.chip_costs.carriers", shares(lambda share: 2 * share), sharded),
    "one chip more": ("model.collectives.MeshAxis.size", lambda f: property(lambda self: f.fget(self) + 1), sharded),
    "rings that carry one way": ("model.collectives.MeshAxis.ways", lambda f: property(lambda self: 1), sharded),
    "axes taken for each other": ("model.chip_costs.carriers", other_axis, sharded),
    "weights that are not gathered again": ("model.placement.placements", weights_kept, sharded),
    "tensors that are gathered for each use": ("model.placement._Chips._brought", nothing_reused, shared),
    "gradients reduced one by one": ("model.placement._Chips._reduced_late", lambda f: lambda self: frozenset(), shared),
    "one number of a row": ("model.placement.placements", moved(lambda m: replace(m, rows=1)), rows),
    "whole rows": ("model.placement.placements", moved(lambda m: replace(m, rows=None)), rows),
    "rows over another dimension": ("model.placement.placements", moved(lambda m: replace(m, over="B")), rows),
    "one turn": ("model.chip_costs.turns_on_a_chip", lambda f: lambda repeats, size: 1, repeated),
    "a slow network inside": ("model.placement._Chips._by_link", slow_inside, networks),
    "a chip that multiplies more": ("model.chip_costs.chip_costs", costs(flops=lambda x: 2 * x, flops_exact=lambda x: 2 * x), sharded),
    "a chip that reads less": ("model.chip_costs.chip_costs", costs(loads=lambda x: tuple((name, amount / 2) for name, amount in x)), sharded),
    "a chip that writes more": ("model.chip_costs.chip_costs", costs(stores=lambda x: tuple((name, 2 * amount) for name, amount in x)), sharded),
    "elementwise work": ("model.chip_costs.chip_costs", costs(ops=lambda x: 2 * x), sharded),
    "what links carry": ("model.chip_costs.chip_costs", costs(exchanges=lambda every: tuple(replace(e, sent={n: 2 * x for n, x in e.sent.items()}) for e in every)), sharded),
    "exchanges that are not said": ("derivation.mesh_sections._exchange", lambda f: lambda *a: list(f(*a))[1:], sharded),
    "exchanges said in another order": ("derivation.mesh_sections._exchange", lambda f: lambda *a: [replace(e, axes=("Z",)) for e in f(*a)], sharded),
    "a bound against a link": ("derivation.bottlenecks.solution_of", lambda f: lambda ratio, *a, **k: f(2 * ratio, *a, **k), sharded),
    "figures put into a bound": ("derivation.mesh_sections.single_fraction", lambda f: lambda draft, value: f(draft, 2 * value), sharded),
    "three times the bytes of a chip": ("model.chip_costs.chip_costs", costs(loads=thrice, stores=thrice), MEMORY),
    "7 of 4 chips": ("model.chip_costs.chip_costs", costs(flops=lambda x: x * 4 / 7), MEMORY),
    "7 of 4 chips over the link": ("model.chip_costs.chip_costs", costs(flops=lambda x: x * 4 / 7), LINK),
    "1 of 4 chips": ("model.chip_costs.chip_costs", costs(flops=lambda x: x * 4), LINK),
    "five times the payload": ("model.chip_costs.message", lambda f: lambda *a: 5 * f(*a), LINK),
    "all-gather for all-reduce": ("model.placement.placements", moved(lambda m: replace(m, collective="all-gather")), LINK),
    "reduce-scatter for all-gather, at the same cost": ("model.placement.placements", moved(lambda m: replace(m, collective="reduce-scatter")), GATHERED),
    "the other operand": ("model.placement.placements", first_changed(other_operand), GATHERED),
    "said over memory alone": ("model.placement.placements", moved(lambda m: replace(m, collective="all-gather")), MEMORY),
    "no exchange, over memory": ("model.placement.placements", first_changed(lambda p: replace(p, moves=())), MEMORY),
    "one exchange of two": ("model.placement.placements", first_changed(lambda p: replace(p, moves=p.moves[:1])), TWO),
    "half the share": ("model.chip_costs.shares", shares(lambda share: share / 2), LINK),
    "rows of the table": ("model.chip_costs.shares", of_all_reduces, LINK),
    "a line as a ring": ("model.collectives.MeshAxis.ways", lambda f: property(lambda self: 2), LINK),
    "a ring as a line": ("model.collectives.MeshAxis.ways", lambda f: property(lambda self: 1), RING),
    "the work split otherwise": ("model.placement.placements", first_changed(lambda p: replace(p, division=frozenset({("F", "X")}))), MEMORY),
    "the rates of links": ("derivation.bottlenecks.cancel", lambda f: lambda value: 2 * f(value), sharded),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_of_the_placement_is_refused(name, monkeypatch):
    path, fault, ask = FAULTS[name]
    put_in(monkeypatch, path, fault)
    for one in ask if isinstance(ask, tuple) else (ask,):
        with pytest.raises(CheckError):
            one()


@pytest.mark.thorough
@pytest.mark.parametrize("ask", [sharded, shared, rows, repeated, networks, *MEMORY, *LINK, *RING, *GATHERED, *TWO])
def test_without_a_fault_everything_is_derived(ask):
    assert ask()
