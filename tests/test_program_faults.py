"""Faults put into what counts programs: the second engine refuses each, and no claim that it would make true is accepted.

The chip of :mod:`simulator` notices every one of them as well, without the second engine.
"""

from dataclasses import replace
from fractions import Fraction
from random import Random

import pytest
from simulator import Text
from sympy import Add, Integer
from test_gate import _nothing_is_remembered, put_in  # noqa: F401 (a fixture)
from test_mutants import caught
from test_program_laws import ATTENTION, LAYERS, MLP, agrees, model, whole_sizes

import symroof as sr
from symroof.errors import CheckError, SymroofError
from symroof.model import kernels as kernel_costs

pytestmark = pytest.mark.part(3)

SOFTMAX = """
input x: bf16[B, T]; weight W: int4[T, S]
s = x * W -> bf16[B, S]
p = softmax(s)
"""
EXPERTS = """
input x: bf16[E, c, D]; weight W: bf16[E, D, F]
where c = 2*k/E
h = x * W -> bf16[E, c, F]
a = gelu(h)
"""
STACKED = """
input x: bf16[B, D]; weight W: bf16[D, F]; weight V: bf16[F, D]; cache C: bf16[B, D]
repeat L as x = z {
  h = x * W -> bf16[B, F]
  a = gelu(h)
  y = a * V -> bf16[B, D]
  z = y + C
}
o = z + x
"""


# Faults. Each takes what it stands in for.


def kernels(change):
    """A fault in who shares traffic."""
    return lambda f: lambda program: change(f(program))


def forgotten_epilogues(groups):
    """Every statement is a kernel of its own."""
    return tuple((line,) for group in groups for line in group)


def everything_on_the_chip(groups):
    return (tuple(line for group in groups for line in group),)


def fuse_ignored(f):
    """The statements as if no braces were around them."""
    return lambda program: f(replace(program, body=tuple(_open(program.body))))


def _open(body):
    for node in body:
        yield from node.body if type(node).__name__ == "Fuse" else (node,)


def costs(change):
    """A fault in what statements cost."""
    return lambda f: lambda program: {name: change(cost) for name, cost in f(program).items()}


def extra_load(cost):
    return replace(cost, loads=(*cost.loads, *cost.loads[:1]))


def lost_load(cost):
    return replace(cost, loads=cost.loads[1:])


def lost_store(cost):
    return replace(cost, stores=cost.stores[:-1])


def stored_twice(cost):
    return replace(cost, stores=cost.stores * 2)


def counted_once(cost):
    """What all turns of a repeat cost, as if there were one."""
    return _each(cost, lambda x: x.xreplace({s: Integer(1) for s in x.free_symbols if s.name == "L"}))


def _each(cost, change):
    moves = {kind: tuple((n, change(x)) for n, x in getattr(cost, kind)) for kind in ("loads", "stores")}
    return replace(cost, **moves, **{kind: change(getattr(cost, kind)) for kind in ("flops", "flops_exact", "ops")})


def flops_of_wrong_loops(cost):
    """The FLOPs of a contraction without its first size."""
    return replace(cost, flops=cost.flops / _first(cost.flops), flops_exact=cost.flops_exact / _first(cost.flops))


def _first(value):
    return min(value.free_symbols, key=str, default=Integer(1))


def multiplications_alone(cost):
    return replace(cost, flops=cost.flops / 2)


def elementwise_as_flops(cost):
    return replace(cost, flops=cost.flops + cost.ops, flops_exact=cost.flops_exact + cost.ops, ops=Integer(0))


def owners_exchanged(f):
    def fault(program):
        found = dict(f(program))
        first, second, *_ = (name for name, cost in found.items() if cost.flops != 0)
        parts = ("loads", "stores", "flops", "flops_exact", "ops")
        pairs = (first, second), (second, first)
        return found | {a: replace(found[a], **{p: getattr(found[b], p) for p in parts}) for a, b in pairs}

    return fault


def last_dropped(f):
    return lambda program: dict(list(f(program).items())[:-1])


def first_owner_pays(f):
    def fault(lines, *more):
        found = f(lines, *more)
        return dict.fromkeys(found, next(iter(found.values())))

    return fault


def rows_for_elements(f):
    return lambda tensor, over: tensor.elements


def int4_as_a_byte(f):
    return property(lambda self: Fraction(-(-self.bits // 8)))


def a_size_of_one(f):
    """The sizes that others define are 1."""

    def fault(self, value):
        return value.xreplace({s: Integer(1) for s in value.free_symbols if s.name in self.where})

    return fault


def shared_over_turns(f):
    return lambda self, tensor: Integer(1)


def caches_in_params(f):
    return lambda self, role, **of: Add(f(self, role, **of), f(self, "cache", **of) if role == "weight" else 0)


def one_operation_each(f):
    return lambda line: Integer(0) if line.statement.contracts else line.statement.result.elements


def one_turn(f):
    return lambda repeats: Integer(1)


FAULTS = {
    "a forgotten epilogue": ("model.program_quantities.kernels_of", kernels(forgotten_epilogues), MLP),
    "all on the chip": ("model.program_quantities.kernels_of", kernels(everything_on_the_chip), MLP),
    "a fuse ignored": ("model.program_quantities.kernels_of", fuse_ignored, ATTENTION),
    "the first pays for all": ("model.kernels.cost_owners", first_owner_pays, ATTENTION),
    "an extra load": ("model.kernels.costs_of", costs(extra_load), MLP),
    "a lost load": ("model.kernels.costs_of", costs(lost_load), MLP),
    "a lost store": ("model.kernels.costs_of", costs(lost_store), MLP),
    "a result stored twice": ("model.kernels.costs_of", costs(stored_twice), MLP),
    "a repeat counted once": ("model.kernels.costs_of", costs(counted_once), STACKED),
    "FLOPs of the wrong loops": ("model.kernels.costs_of", costs(flops_of_wrong_loops), MLP),
    "multiplications alone": ("model.kernels.costs_of", costs(multiplications_alone), MLP),
    "elementwise work as FLOPs": ("model.kernels.costs_of", costs(elementwise_as_flops), MLP),
    "owners exchanged": ("model.kernels.costs_of", owners_exchanged, LAYERS),
    "a statement dropped from the sum": ("model.kernels.costs_of", last_dropped, MLP),
    "rows for elements": ("model.kernels._rows", rows_for_elements, SOFTMAX),
    "one operation for each element": ("model.kernels.elementwise", one_operation_each, SOFTMAX),
    "int4 as a byte": ("model.tensor_types.Dtype.bytes", int4_as_a_byte, SOFTMAX),
    "a defined size taken as 1": ("model.program.Program.resolved", a_size_of_one, EXPERTS),
    "weights shared over turns": ("model.program.Program.turns", shared_over_turns, STACKED),
    "caches in params": ("model.program.Program.stock", caches_in_params, STACKED),
    "one turn": ("model.program.turns_of", one_turn, STACKED),
}


def claims_of(program):
    """What the model says of a program, as claims."""
    from symroof.derivation.formula_writing import Layout
    from symroof.rendering.formulas.plain import PlainPrinter

    cost, layout = kernel_costs.cost_of(program), Layout(program.dimensions)
    said = {
        "flops": cost.flops,
        "reads": cost.reads,
        "writes": cost.writes,
        "params": program.resolved(program.stock("weight")),
    }
    for name, owner in kernel_costs.costs_of(program).items():
        moved = Add(*(amount for _, amount in (*owner.loads, *owner.stores)))
        said |= {f"bytes({name})": moved, f"flops({name})": owner.flops, f"ops({name})": owner.ops}
    written = PlainPrinter()
    return [f"{name} = {written.print(layout.write(program.resolved(value)))}" for name, value in said.items()]


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_refused(name, monkeypatch):
    path, fault, text = FAULTS[name]
    right = set(claims_of(model(text)))
    put_in(monkeypatch, path, fault)
    with pytest.raises(CheckError):
        sr.derive(text, on="tpu-v5e")
    false = [claim for claim in claims_of(model(text)) if claim not in right]
    assert false
    for claim in false[:2]:
        try:
            judgements = sr.verify({"operation": text, "claims": [claim]}).judgements
        except SymroofError:
            continue
        assert not any(judgement.good for judgement in judgements), claim


@pytest.mark.parametrize("name", FAULTS)
def test_the_chip_that_runs_it_notices(name, monkeypatch):
    path, fault, text = FAULTS[name]
    put_in(monkeypatch, path, fault)
    read = Text.read(text)
    assert caught([("run", lambda: agrees(read, whole_sizes(Random(name), read, most=4) | {"L": 3, "S": 3}))])


@pytest.mark.parametrize("text", [MLP, ATTENTION, SOFTMAX, EXPERTS, STACKED])
def test_without_a_fault_all_of_it_is_accepted(text):
    read = Text.read(text)
    agrees(read, whole_sizes(Random(1), read) | {"L": 3})
    assert all(
        judgement.good for judgement in sr.verify({"operation": text, "claims": claims_of(model(text))}).judgements
    )
