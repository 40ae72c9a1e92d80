"""Programs against a chip that runs them, and the laws of their costs."""

import json
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from graphlib import TopologicalSorter
from itertools import combinations
from random import Random

import pytest
import random_programs
from direct import evaluate
from effort import draws
from hypothesis import assume, given, settings, strategies as st
from random_programs import whole_sizes
from simulator import Braces, Chip, Made, Plan, Text, contracts
from sympy import Add, Integer
from texts import ATTENTION, EXPERTS, MLP, cases

import symroof as sr
from symroof.errors import ModelError
from symroof.model import kernels as kernel_costs
from symroof.model.functions import FUNCTIONS
from symroof.model.program_tree import turns_of
from symroof.model.transforms import with_backward
from symroof.reading.programs import ProgramReader
from symroof.symbols import expression, symbol

pytestmark = pytest.mark.part(3)

drawn = st.builds(lambda seed: random_programs.program(Random(seed)), st.integers(0, 10**9))
small = st.builds(lambda seed: random_programs.program(Random(seed), most=3), st.integers(0, 10**9))
plain = st.builds(lambda seed: random_programs.program(Random(seed), grouped=False), st.integers(0, 10**9))
many, few = settings(max_examples=draws(30), deadline=None), settings(max_examples=5, deadline=None)

LAYERS = """
input  x: bf16[B, D]
weight Wo, Wq: bf16[D, H]
weight W1, W3: int4[D, F]
weight W2: int8[F, D]
weight We: bf16[V, D]
repeat L as x = z {
  n = rms_norm(x)
  q = n * Wq -> fp32[B, H]
  r = rope(q) -> bf16[B, H]
  o = r * Wo -> bf16[B, D]
  x1 = x + o
  m = rms_norm(x1)
  h = m * W1 -> bf16[B, F]
  g = m * W3 -> bf16[B, F]
  s = silu(h)
  u = s * g
  y = u * W2 -> bf16[B, D]
  z = x1 + y
}
l = z * We -> fp32[B, V]
"""
TWO_PASSES = """
input x, b: bf16[N]
weight W: bf16[N, M]
h = x * W -> bf16[M]
fuse {
  a = gelu(x)
  c = a + b
  d = relu(h)
  e = softmax(c)
}
"""
# In each of these two kernels would wait for one another, if what is made last joined the contraction before the others.
AROUND_A_FUSE = """
input a: bf16[B, D]
weight W, V: bf16[D, F]
t1 = sigmoid(a)
t2 = t1 * W -> bf16[B, F]
fuse {
  t3 = silu(t1)
  t6 = t3 * V -> bf16[B, F]
}
t7 = t3 * t2 -> bf16[B, D, F]
t8 = t6 + t2
"""
AROUND_A_REPEAT = """
input x: bf16[B, D]
weight W: bf16[D, F]
weight b: bf16[F]
h = x * W -> bf16[B, F]
a = gelu(h)
repeat L as a = z {
  z = a + b
}
y = h + z
"""
BY_HAND = {
    "mlp": MLP, "attention": ATTENTION, "experts": EXPERTS, "layers": LAYERS, "two passes": TWO_PASSES,
    "around a fuse": AROUND_A_FUSE, "around a repeat": AROUND_A_REPEAT,
}  # fmt: skip


# What the model says, and what is derived.


def model(text):
    """The program that symroof reads, also where it is a single product."""
    return ProgramReader(str(text), None, FUNCTIONS).program()


def at(value, sizes):
    """A SymPy value at sizes."""
    found = value.subs({symbol(name): size for name, size in sizes.items()})
    return Fraction(int(found.p), int(found.q))


def counted(program, sizes):
    """What the model says at sizes that every statement costs, that all of them cost, and what is held."""
    parts = {}
    for name, cost in kernel_costs.costs_of(program).items():
        moved = (Add(*(amount for _, amount in moves)) for moves in (cost.loads, cost.stores))
        parts[name] = [at(program.resolved(x), sizes) for x in (cost.flops_exact, cost.flops, cost.ops, *moved)]
    costs = {count: kernel_costs.cost_of(program, count) for count in ("exact", "fma")}
    one = costs["fma"]
    whole = [at(amount, sizes) for amount in (costs["exact"].flops, one.flops, one.reads, one.writes)]
    held = [at(program.resolved(program.stock(role)), sizes) for role in ("weight", "cache")]
    return parts, whole, held


def ran(chip):
    """The same from the chip that ran it."""
    kinds = (chip.flops_exact, chip.flops, chip.operations, chip.loaded, chip.stored)
    owners = dict.fromkeys(chip.text.places[i][0].name for i in chip.plan.owner)
    parts = {name: [kind[name] for kind in kinds] for name in owners}
    sums = [sum(kind.values()) for kind in kinds]
    work = sums[:2] if any(contracts(made, chip.text.types) for made, _ in chip.text.places) else [sums[2]] * 2
    roles = [(chip.text.declared[name][0], n) for name, n in chip.held.items()]
    held = [sum(n for own, n in roles if own == role) for role in ("weight", "cache")]
    return parts, [*work, *sums[3:]], held


def agrees(text, sizes):
    chip = Chip(text, sizes)
    assert counted(model(text), chip.sizes) == ran(chip)


def derived(text, sizes, **options):
    """What the steps of a derivation say at sizes, by the names on their left."""
    found = {}
    for step in sr.derive(str(text), **options).steps:
        if step.relation == "=" and hasattr(step.left, "name"):
            value = expression(step.right).subs({symbol(name): size for name, size in sizes.items()})
            if value.is_Rational:
                found[step.left.name] = Fraction(int(value.p), int(value.q))
    return found


def derivation_agrees(text, sizes):
    chip = Chip(text, sizes)
    parts, (exact, flops, reads, writes), (params, _) = ran(chip)
    said = derived(text, chip.sizes)
    for name, costs in parts.items():
        for what, value in zip(("flops_exact", "flops", "ops", "reads", "writes"), costs, strict=True):
            assert said.get(f"{what}({name})", 0) == value
        assert said.get(f"bytes({name})", 0) == costs[3] + costs[4]
    assert (said.get("flops_exact", said["flops"]), said["flops"]) == (exact, flops)
    assert (said["reads"], said["writes"], said["bytes"]) == (reads, writes, reads + writes)
    assert said.get("params", 0) == params
    assert said.get("ops", 0) == sum(chip.operations.values())


# Runs.


@pytest.mark.parametrize("name", BY_HAND)
def test_a_run_costs_what_is_derived(name):
    text = Text.read(BY_HAND[name])
    sizes = whole_sizes(Random(name), text)
    agrees(text, sizes)
    derivation_agrees(text, sizes | {"L": 3})


@pytest.mark.thorough
@many
@given(drawn, st.randoms(use_true_random=False))
def test_a_run_costs_what_the_model_says(text, random):
    agrees(text, whole_sizes(random, text))


@pytest.mark.thorough
@few
@given(small, st.randoms(use_true_random=False))
def test_a_run_costs_what_the_second_engine_lets_through(text, random):
    derivation_agrees(text, whole_sizes(random, text))


def test_the_text_of_a_program_is_read_back_as_it_was_written():
    for seed in range(draws(40)):
        text = str(random_programs.program(Random(seed)))
        assert str(Text.read(text)) == text
        assert str(model(str(model(text)))) == str(model(text))


# Laws.


def waiting(program):
    """For each kernel the others that make what it uses."""
    kernels = kernel_costs.kernels_of(program)
    home = {line.statement.name: i for i, kernel in enumerate(kernels) for line in kernel}
    used = ({str(t.name) for line in kernel for t in line.statement.operands} for kernel in kernels)
    return {i: {home[name] for name in names & home.keys()} - {i} for i, names in enumerate(used)}


@pytest.mark.parametrize(
    "text", [*BY_HAND.values(), *map(random_programs.program, map(Random, (60272, 275, 808, 863, 1004, 1058)))]
)
def test_kernels_never_wait_for_one_another(text):
    assert [*TopologicalSorter(waiting(model(text))).static_order()]


@many
@given(drawn)
def test_random_kernels_never_wait_for_one_another(text):
    TopologicalSorter(waiting(model(text))).prepare()


@many
@given(st.integers(0, 10**9))
def test_random_kernels_of_training_never_wait_for_one_another(seed):
    program = model(random_programs.program(Random(seed), dtypes=("bf16", "fp32")))
    with suppress(ModelError):  # what has no gradient
        program = with_backward(program)
        TopologicalSorter(waiting(program)).prepare()


def total(text):
    """FLOPs, elementwise work and bytes of a program, in its sizes."""
    program = model(text)
    cost, ops = (
        kernel_costs.cost_of(program),
        program.resolved(Add(*(c.ops for c in kernel_costs.costs_of(program).values()))),
    )
    return (Integer(0) if program.vector else cost.flops), ops, cost.bytes


def same(left, right):
    return all((a - b).expand() == 0 for a, b in zip(left, right, strict=True))


def part(text, body):
    """Some statements of a program as a program: what others make comes in."""
    inside = Text(text.declared, text.where, body)
    made = {m.name for m, _ in inside.places}
    coming = {name: ("input", text.types[name]) for name in inside.used - made - text.declared.keys()}
    return replace(inside, declared=text.declared | coming).tidy()


def written(text, names):
    """The bytes of results that are written once in each turn of what makes them."""
    program = model(text)
    lines = [line for line in program.lines if line.statement.name in names]
    return Add(*(program.resolved(turns_of(line.repeats) * line.statement.result.bytes) for line in lines))


def splitting_adds_up(text, cut):
    """The FLOPs of both parts are those of the whole; so are the bytes, with the cut tensors in memory, unless something
    behind the cut joins a kernel before it: that saves bytes where no braces keep more together."""
    first, second = part(text, text.body[:cut]), part(text, text.body[cut:])
    flops, ops, moved = (a + b for a, b in zip(total(first), total(second), strict=True))
    across = {name for name in second.used if name in {m.name for m, _ in first.places}}
    before = Plan(first)
    moved += written(text, [name for name in across if not before.kept(before.maker[name])])
    whole, plan = total(text), Plan(text)
    assert same((whole[0], whole[1]), (flops, ops))
    there = len(first.places)
    if all((kernel.lines[0] < there) == (kernel.lines[-1] < there) for kernel in plan.kernels):
        assert same((whole[2],), (moved,))
        return True
    if not any(isinstance(node, Braces) for node in text.body):
        assert at(moved - whole[2], {"k": 1, "e": 1} | dict.fromkeys(text.labels, 7)) >= 0
    return False


@many
@given(st.one_of(drawn, plain), st.data())
def test_splitting_a_program_adds_up(text, data):
    assume(len(text.body) > 1)
    splitting_adds_up(text, data.draw(st.integers(1, len(text.body) - 1)))


def joins_inside(text, start, stop):
    """Whether each elementwise statement among some joins a contraction among them."""
    plan, places = Plan(text), {m.name: i for i, (m, _) in enumerate(text.places)}
    run = [places[node.name] for node in text.body[start:stop]]
    firsts = [plan.home[i].first for i in run if not plan.sums[i]]
    return any(plan.sums[i] for i in run) and all(first in run and plan.sums[first] for first in firsts)


@many
@given(plain, st.data())
def test_a_fuse_of_contractions_never_adds_bytes(text, data):
    spans = [(i, j) for i, j in combinations(range(len(text.body) + 1), 2) if joins_inside(text, i, j)]
    assume(spans)
    start, stop = data.draw(st.sampled_from(spans))
    fused = replace(text, body=(*text.body[:start], Braces("fuse", text.body[start:stop]), *text.body[stop:]))
    before, after = total(text), total(fused)
    assert same(before[:2], after[:2])
    saved = (before[2] - after[2]).expand()
    assert at(saved, {name: 3 + i for i, name in enumerate((*text.labels, "k", "e"))}) >= 0
    if all(contracts(node, text.types) for node in text.body[start:stop]):
        assert all(term.as_coeff_Mul()[0] >= 0 for term in Add.make_args(saved))


@many
@given(plain)
def test_a_fuse_of_elementwise_statements_alone_with_contractions_behind_changes_nothing(text):
    plan = Plan(text)
    for i, node in enumerate(text.body):
        if not plan.sums[i] and plan.home[i].first != i:
            fused = replace(text, body=(*text.body[:i], Braces("fuse", (node,)), *text.body[i + 1 :]))
            assert same(total(text), total(fused))


def in_turns(text, times):
    """A program's statements as the turns of a repeat, and one product behind them; what leaves has the type of the first
    tensor that comes in."""
    enters = next(name for m, _ in text.places for name in m.operands if name in text.declared)
    maker = random_programs.Maker(Random(1), declared=dict(text.declared), scope=dict(text.types), made=50, start=50)
    before = text.places[-1][0].name
    if not text.types[before].labels or enters == before:
        return None
    maker.declared[enters] = ("input", text.declared[enters][1])
    last = maker.back(before, enters)
    maker.scope = {last.name: last.type}
    after = maker.contraction(last.name)
    body = (*text.body, last)
    inner = Text(maker.declared, text.where, body)
    return inner, replace(inner, body=(Braces(f"repeat {times} as {enters} = {last.name}", body), after)), after


@many
@given(plain)
def test_a_single_turn_is_its_body_with_entry_and_exit_in_memory(text):
    found = in_turns(text, 1)
    assume(found)
    inner, once, after = found
    flat = replace(once, body=(*inner.body, after))
    assert same(total(once), total(flat))


@many
@given(plain, st.integers(1, 4))
def test_costs_grow_in_step_with_the_turns(text, times):
    found, fixed, none = in_turns(text, "L"), in_turns(text, times), in_turns(text, 1)
    assume(found and "L" not in text.labels)
    one, symbolic, literal = (total(each[1]) for each in (none, found, fixed))
    after = total(part(found[1], (found[2],)))
    for a, b, c, rest in zip(one, symbolic, literal, after, strict=True):
        assert (b.subs(symbol("L"), times) - c).expand() == 0
        assert (b - rest - symbol("L") * (a - rest)).expand() == 0


@pytest.mark.thorough
@many
@given(drawn, st.randoms(use_true_random=False))
def test_renaming_changes_nothing(text, random):
    names, labels = list(text.types), list(text.labels)
    tensors = dict(zip(names, random.sample([f"v{i}" for i in range(len(names))], len(names)), strict=True))
    others = [x for x in "BDFHKMNSPUVXYZ" if x not in text.where]
    sizes = dict(zip([x for x in labels if x not in text.where], random.sample(others, len(others)), strict=False))
    program, renamed = model(text), model(_renamed(text, tensors, sizes))
    put = {symbol(a): symbol(b) for a, b in sizes.items()}
    for name, cost in kernel_costs.costs_of(program).items():
        other = kernel_costs.costs_of(renamed)[tensors[name]]
        for kind in ("flops_exact", "flops", "ops"):
            assert getattr(cost, kind).subs(put, simultaneous=True) == getattr(other, kind)
        for kind in ("loads", "stores"):
            moved = [(tensors[n], x.subs(put, simultaneous=True)) for n, x in getattr(cost, kind)]
            assert moved == list(getattr(other, kind))


def _renamed(text, tensors, sizes):
    def label(x):
        return sizes.get(x, x)

    def type_(t):
        return replace(t, labels=tuple(map(label, t.labels)))

    def node(n):
        if isinstance(n, Made):
            operands, over = tuple(tensors[x] for x in n.operands), n.over and label(n.over)
            return replace(n, name=tensors[n.name], operands=operands, type=type_(n.type), over=over)
        words = [tensors.get(word, word) for word in n.head.split()]
        return Braces(" ".join(words), tuple(map(node, n.body)))

    declared = {tensors[name]: (role, type_(t)) for name, (role, t) in text.declared.items()}
    where = {label(name): "".join(label(c) for c in formula) for name, formula in text.where.items()}
    return Text(declared, where, tuple(map(node, text.body)))


def orders(text, random):
    """The statements in another order that still makes everything before it is used."""
    waiting, known, found = list(text.body), set(text.declared), []
    while waiting:
        node = random.choice([n for n in waiting if set(n.operands) <= known])
        waiting.remove(node)
        known.add(node.name)
        found.append(node)
    return replace(text, body=tuple(found))


def joins_two(text):
    """The contractions that elementwise statements would join, where there are two or more for one of them."""
    plan = Plan(text)
    for i, node in enumerate(text.body):
        last = [plan.last_behind((name,)) for name in node.operands]
        behind = {kernel.first for kernel in last if kernel is not None}
        if not plan.sums[i] and len(behind) > 1:
            yield node


@many
@given(st.integers(0, 10**9), st.randoms(use_true_random=False))
def test_the_order_of_independent_statements_changes_nothing(seed, random):
    text = random_programs.program(Random(seed), most=6, grouped=False, where=False)
    assume(not any(joins_two(text)))
    assert same(total(text), total(orders(text, random)))


@pytest.mark.parametrize("count", ["fma", "exact"])
@cases("""
product
bf16[B, D] * bf16[D, F] -> bf16[B, F]
int8[B, N] * int8[B, N] -> bf16[B]
bf16[B, D] * int4[D] -> bf16[B, D]
""")
def test_a_product_with_weights_has_the_answer_of_its_einsum(product, count):
    left, right, out = product.replace("->", "*").split(" * ")
    program = f"input x: {left}\nweight W: {right}\ny = x * W -> {out}"
    derived = (sr.derive(text, on="tpu-v5e", count=count) for text in (program, product))
    answers = [json.loads(d.to_json())["answer"] for d in derived]
    for key in ("threshold", "limits", "ridge"):
        assert answers[0][key] == answers[1][key], key
    costs = "flops", "flops_exact", "reads", "writes", "bytes", "intensity"
    for key in (*costs, "T_math", "T_comms", "T_lower", "T_upper"):
        values = [evaluate(answer[key], {"B": 5, "D": 7, "F": 11, "N": 13}) for answer in answers]
        assert values[0] == values[1], key


def test_a_weight_belongs_to_the_turns_of_one_repeat():
    """In turns there is one for each, outside there is one: which of both is meant nobody can tell."""
    inside = "repeat 3 as x = y {\n  h = x * W -> bf16[B, F]\n  y = h * V -> bf16[B, D]\n}"
    text = f"input x: bf16[B, D]; weight W, V: bf16[D, F]\n{inside}\nz = y * W -> bf16[B, F]"
    with pytest.raises(sr.errors.ReadingError, match="line 1: W is used in the turns of a repeat and outside of them"):
        sr.derive(text)
    assert sr.derive(text.replace("weight", "input"))
