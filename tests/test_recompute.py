"""What is made once more in the backward pass: of a recompute only what comes from outside is kept, the gradients are the same, and the
work is counted twice. Against finite differences and loops, and against the same program that keeps everything."""

import re
from dataclasses import replace

import pytest
from test_training import all_of, at, counted, random_program, require_differences, require_lawful, trained
from texts import refused

import symroof as sr
from symroof.errors import CheckError
from symroof.model import gradients
from symroof.model.program_quantities import amounts
from symroof.reading.programs import read_program

LAYER = """
input x: bf16[B, T, D]
weight Wq, Wk, Wv: bf16[D, K, H]
weight Wo: bf16[K, H, D]
weight W1: bf16[D, F]
weight W2: bf16[F, D]
weight n1: bf16[D]
where S = T
repeat L as x = z {
  recompute {
    xn = rms_norm(x, n1)
    q = xn * Wq -> bf16[B, T, K, H]
    k = xn * Wk -> bf16[B, T, K, H]
    ks = k -> bf16[B, S, K, H]
    v = xn * Wv -> bf16[B, T, K, H]
    vs = v -> bf16[B, S, K, H]
    fuse {
      s = q * ks -> bf16[B, T, S, K]
      p = softmax(s, S)
      o = p * vs -> bf16[B, T, K, H]
    }
    r = o * Wo -> bf16[B, T, D]
    y = x + r
    h = y * W1 -> bf16[B, T, F]
    a = silu(h)
    m = a * W2 -> bf16[B, T, D]
    z = y + m
  }
}
"""
PROGRAMS = {
    "mlp": "input x: bf16[B, D]; weight W: bf16[D, F]; weight V: bf16[F, D]; recompute { h = x * W -> bf16[B, F]; a = gelu(h); y = a * V -> bf16[B, D] }",
    "in turns": "input x: bf16[B, D]; weight W: bf16[D, F]; weight V: bf16[F, D]; repeat L as x = y { recompute { h = x * W -> bf16[B, F]; a = silu(h); y = a * V -> bf16[B, D] } }",
    "a part": "input x: bf16[B, D]; weight W: bf16[D, F]; weight V: bf16[F, D]; h = x * W -> bf16[B, F]; recompute { a = gelu(h) }; y = a * V -> bf16[B, D]; z = silu(y)",
    "a fuse": "input x: bf16[B, T, D]; weight Wq, Wk: bf16[D, H]; weight Wo: bf16[H, D]; where S = T; recompute { q = x * Wq -> bf16[B, T, H]; k = x * Wk -> bf16[B, T, H]; ks = k -> bf16[B, S, H]; fuse { s = q * ks -> bf16[B, T, S]; p = softmax(s, S); o = p * ks -> bf16[B, T, H] }; y = o * Wo -> bf16[B, T, D] }",
    "two of them": "input x: bf16[B, D]; weight W: bf16[D, F]; weight V: bf16[F, D]; recompute { h = x * W -> bf16[B, F]; a = silu(h) }; recompute { y = a * V -> bf16[B, D]; z = gelu(y) }",
    "what is used outside too": "input x: bf16[B, D]; weight W: bf16[D, F]; weight V: bf16[F, D]; recompute { h = x * W -> bf16[B, F]; a = silu(h); b = a * a -> bf16[B, F] }; y = b * V -> bf16[B, D]; u = gelu(a)",
    "sums": "input x: bf16[B, D]; weight W: bf16[D, F]; recompute { h = x * W -> bf16[B, F]; e = exp(h); n = sum(e, F); l = log(n); y = h - l }",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_are_lawful(name):
    require_lawful(PROGRAMS[name])


@pytest.mark.parametrize("seed", [seed for seed in range(12) if "repeat" not in random_program(seed)])
def test_a_random_program_is_made_again_and_has_the_same_gradients(seed):
    whole = random_program(seed)
    lines = whole.split("\n")
    first = next(i for i, line in enumerate(lines) if " = " in line or line.startswith("fuse"))
    text = "\n".join([*lines[:first], "recompute {", *lines[first:], "}"])
    program = trained(text)
    require_differences(program, seed)
    assert {step.check.status for step in counted(text)} == {"proved"}
    one, other = amounts(program, "fma"), amounts(trained(whole), "fma")
    put = all_of(program, 7)
    assert at(one["saved"], put) <= at(other["saved"], put)
    assert at(one["flops_forward"], put) == at(other["flops_forward"], put)
    assert at(one["flops_backward"], put) >= at(other["flops_backward"], put)
    inputs = sum(at(t.bytes, put) for t in program.declared_as("input"))
    assert at(one["saved"], put) <= inputs


@pytest.mark.thorough
def test_a_layer_keeps_its_input_alone():
    """Korthikanti et al., arXiv:2205.05198: with full recomputation 2sbh bytes are kept for each layer, its input; and one forward
    pass more is run but for what no gradient needs."""
    sizes = "B=2,T=64,D=32,K=4,H=8,F=128,L=6"
    d = sr.derive(LAYER, on="h100", training=True, at=sizes)
    plain = LAYER.replace("  recompute {\n", "").replace("    z = y + m\n  }\n", "    z = y + m\n")
    own = sr.derive(plain, on="h100", training=True, at=sizes)
    assert d.value("saved") == 6 * 2 * 2 * 64 * 32
    assert own.value("saved") > 10 * d.value("saved")
    forward, backward = d.value("flops_forward"), d.value("flops_backward")
    assert forward == own.value("flops_forward")
    last = 6 * 2 * 2 * 64 * 128 * 32  # the product whose result no gradient needs
    assert backward - own.value("flops_backward") == forward - last
    assert {step.check.status for step in d.steps} == {"proved"}


@pytest.mark.thorough
def test_on_a_mesh_weights_are_gathered_once_more_and_no_more():
    text = "mesh X = 4 on ICI; " + re.sub(r"\[([BDF]), ([DF])\]", r"[\1_X, \2]", PROGRAMS["mlp"])
    texts = text, text.replace("recompute", "block all")
    again, plain = (sr.derive(one, on="tpu-v5p", training=True, at="B=512,D=64,F=256") for one in texts)
    assert {step.check.status for step in again.steps} == {"proved"}
    assert again.value("saved_per_chip") == 2 * 512 * 64 / 4
    assert again.value("sent(X)") == plain.value("sent(X)")  # W is gathered for the backward pass in any case
    assert again.value("flops_per_chip") - plain.value("flops_per_chip") == 2 * 512 * 64 * 256 / 4


@pytest.mark.thorough
@pytest.mark.part(1)
@pytest.mark.parametrize("name", [*PROGRAMS, "layer"])
def test_chips_share_out_what_is_made_again(name):
    """Split along its batch a program does on each of four chips a quarter of what it does on one."""
    text = (LAYER if name == "layer" else PROGRAMS[name]).strip()
    split = f"mesh X = 4 on ICI; {text}".replace("[B", "[B_X")
    sizes = {n: x for n, x in {"B": 8, "T": 16, "D": 32, "F": 64, "K": 2, "H": 16, "L": 3}.items() if n in names(text)}
    one, four = (sr.derive(t, on="tpu-v5p", training=True, at=sizes) for t in (text, split))
    for what in ("flops", "saved"):
        assert four.value(f"{what}_per_chip") * 4 == one.value(what), what
    assert {step.check.status for step in four.steps} == {"proved"}


def names(text):
    program = read_program(text)
    return {*program.dimensions, *program.parameters}


@pytest.mark.parametrize("fault", ["nothing", "other", "twice"])
def test_what_is_not_made_again_is_refused(monkeypatch, fault):
    honest = gradients.recomputation

    def remade(node, inner, called):
        found = honest(node, inner, called)
        first = next(i for i, one in enumerate(found) if getattr(one, "again", ""))
        if fault == "nothing":
            return found[:first] + found[first + 1 :]
        if fault == "twice":
            return [*found[: first + 1], *found[first:]]
        other = next(one for one in found if getattr(one, "again", "") and one.function is not None)
        changed = replace(
            other,
            operands=(node.body[0].operands[0],)
            if node.body[0].operands[0].labels == other.operands[0].labels
            else other.operands,
            again=node.body[0].name,
        )
        return [changed if one is other else one for one in found]

    monkeypatch.setattr("symroof.model.backward.recomputation", remade)
    with pytest.raises(CheckError):
        counted(PROGRAMS["mlp"])


test_where_it_has_no_place_is_said = refused(
    read_program,
    ("input x: bf16[B, D]; recompute { }", "nothing between the braces"),
    ("input x: bf16[B, D]; recompute { recompute { y = relu(x) } }", "a recompute has no place in a recompute"),
    ("input x: bf16[B, D]; fuse { recompute { y = relu(x) } }", "a recompute has no place in a fuse"),
)
