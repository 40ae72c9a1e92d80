"""Repeats that carry several tensors from turn to turn. Against finite differences and loops, against a repeat for each, and in
another order."""

from random import Random

import pytest
from test_training import at, require_lawful, trained

import symroof as sr
from symroof.errors import CheckError, ReadingError
from symroof.model import backward, program_tree
from symroof.model.kernels import cost_of
from symroof.model.program_quantities import amounts
from symroof.reading.programs import read_program

HEAD = "input x: bf16[B, D]; input m: bf16[B, D]; weight W: bf16[D, F]; weight V: bf16[F, D]; "
PROGRAMS = {
    "a state beside": "@repeat L as x = y, m = n { h = x * W -> bf16[B, F]; a = gelu(h); f = a * V -> bf16[B, D]; n = m + f; y = x + n }",
    "changed about": "@repeat 3 as x = y, m = n { h = x * W -> bf16[B, F]; n = h * V -> bf16[B, D]; y = gelu(m) }; s = y * n",
    "one gradient of both": "@repeat 2 as x = y, m = n { h = x * W -> bf16[B, F]; n = h * V -> bf16[B, D]; y = silu(m) }; s = y + n",
    "of other shapes": "input x: bf16[B, D]; input c: bf16[B]; weight g: bf16[D]; "
    "repeat 3 as x = y, c = e { r = x * c -> bf16[B, D]; y = r * g -> bf16[B, D]; t = sum(y, D); e = c + t }",
    "one is not trained": "@repeat 2 as x = y, m = n { n = gelu(m); h = x * W -> bf16[B, F]; f = h * V -> bf16[B, D]; y = f + n }",
    "three": "input x: bf16[B, D]; input m: bf16[B, D]; input u: bf16[B, D]; weight W: bf16[D, E]; weight V: bf16[E, D]; "
    "repeat 2 as x = y, m = n, u = v { h = x * W -> bf16[B, E]; y = h * V -> bf16[B, D]; n = m + y; v = u * n }",
    "made again": "@repeat 2 as x = y, m = n { recompute { h = x * W -> bf16[B, F]; a = gelu(h); f = a * V -> bf16[B, D] }; n = m + f; y = x * n }",
    "in microbatches": "@accumulate 2 { repeat 2 as x = y, m = n { h = x * W -> bf16[B, F]; f = h * V -> bf16[B, D]; n = m + f; y = silu(n) } }",
    "of shared weights": "@repeat 3 shared as x = y, m = n { h = x * W -> bf16[B, F]; f = h * V -> bf16[B, D]; n = m + f; y = silu(n) }",
    "in a repeat": "@repeat 2 as x = z, m = n { repeat 2 as x = y { h = x * W -> bf16[B, F]; y = h * V -> bf16[B, D] }; n = m + y; z = gelu(n) }",
}
PROGRAMS = {name: text.replace("@", HEAD) for name, text in PROGRAMS.items()}
PROGRAMS["one is not trained"] = PROGRAMS["one is not trained"].replace("input m", "frozen input m")


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_are_lawful(name):
    require_lawful(PROGRAMS[name])


@pytest.mark.parametrize("seed", range(12))
def test_random_turns(seed):
    """Two or three states, each of them made of some of those that enter and of those that are made."""
    random = Random(seed)
    states = ["x", "m", "u"][: random.randint(2, 3)]
    known, body, declared, left = list(states), [], [f"input {s}: bf16[B, D]" for s in states], []
    for i, state in enumerate(states):
        one, other = random.choice(known), random.choice(known)
        if random.random() < 0.6:
            declared += [f"weight W{i}: bf16[D, F]", f"weight V{i}: bf16[F, D]"]
            body += [f"h{i} = {one} * W{i} -> bf16[B, F]", f"f{i} = h{i} * V{i} -> bf16[B, D]"]
            one = f"f{i}"
        sign = random.choice("+-*")
        body.append(f"{state}n = {one} {sign} {other} -> bf16[B, D]" if one != other else f"{state}n = gelu({one})")
        left.append(f"{state} = {state}n")
        known.append(f"{state}n")
    used = " ".join(body)
    for state in states:
        if f" {state} " not in f"{used} " and f"({state})" not in used:
            body.append(f"{state}k = silu({state})")
            left = [pair.replace(f"{state}n", f"{state}k") if pair.startswith(f"{state} =") else pair for pair in left]
    after = [f"s = {' + '.join(pair.partition(' = ')[2] for pair in left)}"] if random.random() < 0.5 else []
    text = "\n".join([*declared, f"repeat {random.choice(('2', 'L'))} as {', '.join(left)} {{", *body, "}", *after])
    require_lawful(text, seed)
    order = left[:]
    random.shuffle(order)
    other = text.replace(f"as {', '.join(left)} {{", f"as {', '.join(order)} {{")
    one, two = (amounts(trained(t), "fma") for t in (text, other))
    for what in ("flops_forward", "flops_backward", "saved", "gradients", "params", "ops"):
        assert (one[what] - two[what]).expand() == 0, what


def test_two_states_that_never_meet_cost_what_two_repeats_do():
    body = ["h = x * W -> bf16[B, F]; y = h * V -> bf16[B, D]", "k = m * A -> bf16[B, F]; n = k * C -> bf16[B, D]"]
    head = "input x: bf16[B, D]; input m: bf16[B, D]; weight W: bf16[D, F]; weight V: bf16[F, D]; weight A: bf16[D, F]; weight C: bf16[F, D]; "
    both = trained(head + f"repeat L as x = y, m = n {{ {'; '.join(body)} }}")
    each = trained(head + f"repeat L as x = y {{ {body[0]} }}; repeat L as m = n {{ {body[1]} }}")
    one, other = (amounts(program, "fma") for program in (both, each))
    for what in ("flops_forward", "flops_backward", "saved", "gradients", "params", "ops"):
        assert one[what] == other[what], what
    assert cost_of(both).bytes == cost_of(each).bytes


REFUSED = {
    "x = y, x = n": "x is carried twice",
    "x = y, m = y": "y is carried twice",
    "x = y, k = n": "k is no tensor outside of the repeat",
    "x = y, m = k": "k is no tensor made inside of the repeat",
    "x = y, c = n": "n is bf16[B, D], and c is bf16[B]",
    "x = y, W = n": "W is no input",
    "x = y,": "expected a tensor",
    "x = y, m": "expected '='",
}


@pytest.mark.parametrize("carried", REFUSED)
def test_what_cannot_be_carried_is_refused(carried):
    text = (
        "input x: bf16[B, D]; input m: bf16[B, D]; input c: bf16[B]; weight W: bf16[D]; "
        f"repeat 2 as {carried} {{ y = x * W -> bf16[B, D]; n = m * c -> bf16[B, D] }}"
    )
    with pytest.raises(ReadingError) as error:
        read_program(text)
    assert REFUSED[carried] in str(error.value)


@pytest.mark.thorough
def test_on_chips_each_state_is_split_as_it_is_declared():
    text = (
        "mesh X on ICI; input x: bf16[B_X, D]; input m: bf16[B_X, D]; weight W: bf16[D, F]; weight V: bf16[F, D]; "
        "repeat L as x = y, m = n { h = x * W -> bf16[B_X, F]; f = h * V -> bf16[B_X, D]; n = m + f; y = silu(n) }"
    )
    for training in (False, True):
        found = sr.derive(text, on="tpu-v5p", training=training)
        assert found.counts()["sampled"] == 0
    one = sr.derive(text, on="tpu-v5p", mesh="X=4", training=True, at="B=8,D=16,F=32,L=3")
    alone = sr.derive(
        text.replace("_X", "").replace("mesh X on ICI; ", ""), on="tpu-v5p", training=True, at="B=8,D=16,F=32,L=3"
    )
    assert 4 * one.value("flops_per_chip") == alone.value("flops")
    assert 4 * one.value("saved_per_chip") == alone.value("saved")


@pytest.mark.thorough
def test_states_go_on_from_stage_to_stage():
    text = (
        "input x: bf16[B, D]; input m: bf16[B, D]; weight W: bf16[D, F]; weight V: bf16[F, D]; "
        "accumulate M { repeat L over P as x = y, m = n { h = x * W -> bf16[B, F]; f = h * V -> bf16[B, D]; n = m + f; y = silu(n) } }"
    )
    found = sr.derive(text, on="tpu-v5p", mesh="P=4", training=True, at="B=8,D=16,F=32,L=8,M=4")
    assert found.value("sent(P)") == 2 * 4 * 8 * 16 * 2
    assert found.value("sent(P_back)") == 2 * 4 * 8 * 16 * 2


FAULTS = {
    "the first alone": lambda r: r.carried[:1],
    "the other way round": lambda r: tuple(
        zip([e for e, _ in r.carried], [x for _, x in r.carried][::-1], strict=True)
    ),
    "none of them": lambda r: (),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_of_the_backward_pass_is_refused(name, monkeypatch):
    text = PROGRAMS["a state beside"]
    honest = backward._Reverse._repeat

    def faulty(self, repeat, scope, found):
        before = len(found)
        honest(self, repeat, scope, found)
        for i, node in enumerate(found):
            if i >= before and isinstance(node, program_tree.Repeat):
                found[i] = program_tree.Repeat(node.times, FAULTS[name](node), node.body, node.reverses, node.over)

    monkeypatch.setattr(backward._Reverse, "_repeat", faulty)
    with pytest.raises(CheckError):
        sr.derive(text, on="h100", training=True)


def test_numbers():
    """L turns of a state: at L = 1 it is one."""
    text = PROGRAMS["a state beside"]
    put = {"B": 4, "D": 8, "F": 16, "L": 1}
    one = amounts(trained(text), "fma")
    plain = amounts(trained(text.replace("repeat L as x = y, m = n { ", "").removesuffix(" }") + "; output n"), "fma")
    for what in ("params", "saved", "gradients", "flops_forward", "flops_backward", "ops"):
        assert at(one[what], put) == at(plain[what], put), what
