"""Formulas that papers print, derived: activations, states of an optimizer, FLOPs for each token, exchanges of a layer."""

import pytest
import sympy
from test_training import at

import symroof as sr
from symroof.model.program_quantities import amounts
from symroof.model.transforms import with_backward
from symroof.reading.programs import read_program
from symroof.symbols import expression

# A layer of a GPT: attention with N heads of H that is not fused, an MLP of four times the width.
BLOCK = """
input  x: bf16[B, S{x}, D]
weight g1, b1, g2, b2: bf16[D]
weight Wq, Wk, Wv: bf16[D, N{h}, H]
weight Wo: bf16[N{h}, H, D]
weight W1: bf16[D, F{h}]
weight W2: bf16[F{h}, D]
where D = N*H
where F = 4*D
where T = S
n1 = layer_norm(x, g1, b1)
{gather1}
q = {n1} * Wq -> bf16[B, S, N{h}, H]
k = {n1} * Wk -> bf16[B, S, N{h}, H]
v = {n1} * Wv -> bf16[B, S, N{h}, H]
s = q * k[S -> T] -> bf16[B, S, T, N{h}]
p = softmax(s, T)
o = p * v[S -> T] -> bf16[B, S, N{h}, H]
a = o * Wo -> bf16[B, S{x}, D]
y = x + a
n2 = layer_norm(y, g2, b2)
{gather2}
h = {n2} * W1 -> bf16[B, S, F{h}]
e = gelu(h)
m = e * W2 -> bf16[B, S{x}, D]
z = y + m
"""
PLAIN = {"x": "", "h": "", "n1": "n1", "n2": "n2", "gather1": "", "gather2": ""}
SIZES = {"B": 2, "S": 64, "N": 8, "H": 16}
D, TOKENS = 8 * 16, 2 * 64


def block(**changes):
    return BLOCK.format(**PLAIN | changes)


@pytest.mark.thorough
def test_the_activations_of_a_layer():
    """Korthikanti et al., arXiv:2205.05198, equation 1: sbh(34 + 5as/h) bytes, of which dropout has 2 and 3as/h."""
    d = sr.derive(block(), on="h100", training=True, at=SIZES)
    assert d.value("saved") == TOKENS * D * 32 + 2 * 8 * 2 * 64**2
    assert {s.check.status for s in d.steps if s.check} == {"proved"}


@pytest.mark.thorough
@pytest.mark.parametrize("chips", [2, 8])
def test_the_activations_of_a_layer_in_parts(chips):
    """Equation 2, tensors in t parts: sbh(10 + 24/t + 5as/(ht)), without dropout 8 + 24/t + 2as/(ht)."""
    text = f"mesh X = {chips} on NVLink\n{block(h='_X')}"
    d = sr.derive(text, on="h100", training=True, at=SIZES)
    scores = 2 * 8 * 2 * 64**2
    assert d.value("saved_per_chip") == TOKENS * D * (8 + 24 / chips) + scores / chips
    assert {s.check.status for s in d.steps if s.check} == {"proved"}


@pytest.mark.thorough
@pytest.mark.parametrize("chips", [4])
def test_the_activations_of_a_layer_whose_sequence_is_in_parts(chips):
    """Equation 4, sequences in parts too, each part gathered again for the backward pass: sbh/t (34 + 5as/h), without dropout 32 and
    2as/h. Without that the two inputs of products are whole: section 4.2.2."""
    text = f"mesh X = {chips} on NVLink\n{block(x='_X', h='_X')}"
    again = sr.derive(text, on="h100", training=True, at=SIZES, regather=["n1", "n2"])
    scores = 2 * 8 * 2 * 64**2
    assert again.value("saved_per_chip") == (TOKENS * D * 32 + scores) / chips
    kept = sr.derive(text, on="h100", training=True, at=SIZES)
    assert kept.value("saved_per_chip") == TOKENS * D * (4 + 24 / chips + 4 / chips) + scores / chips
    whole = sr.derive(f"mesh X = {chips} on NVLink\n{block(h='_X')}", on="h100", training=True, at=SIZES)
    # a reduce-scatter and a gather send what an all-reduce sends, and one gather of each input comes for the backward pass
    gathers = 2 * 2 * TOKENS * D * (chips - 1) / chips
    gains = 4 * 2 * (chips - 1) / chips * 2 * D  # of the norms, whose gradients every chip has a part of
    assert kept.value("sent(NVLink)") == whole.value("sent(NVLink)") + gains
    assert again.value("sent(NVLink)") == kept.value("sent(NVLink)") + gathers


@pytest.mark.thorough
def test_the_exchanges_of_a_layer():
    """Shoeybi et al., arXiv:1909.08053, section 3: two all-reduces forward and two backward, of an activation each."""
    text = f"mesh X = 8 on NVLink\n{block(h='_X')}"
    ring = 2 * 7 / 8 * 2 * TOKENS * D
    forward = sr.derive(text, on="h100", at=SIZES)
    assert forward.value("sent(NVLink)") == 2 * ring
    trained = sr.derive(text, on="h100", training=True, at=SIZES)
    assert trained.value("sent(NVLink)") == 4 * ring


def test_the_flops_of_a_token():
    """Chowdhery et al., PaLM, arXiv:2204.02311, appendix B: 6N + 12LHQT FLOPs for each token, N parameters that are multiplied, L
    layers of H heads of Q dimensions."""
    body = block().split("n1 = ")[1]
    head = block().split("n1 = ")[0]
    text = f"{head}repeat L as x = z {{\nn1 = {body}}}"
    found = amounts(read_program(text, None), "fma")
    program = sr.operation(text)
    trained = amounts(with_backward(program), "fma")
    put = {**SIZES, "L": 3}
    multiplied = 3 * (4 * D * D + 2 * D * 4 * D)
    assert at(found["params"], put) == multiplied + 3 * 4 * D
    each = (at(trained["flops_forward"], put) + at(trained["flops_backward"], put)) / TOKENS
    assert each == 6 * multiplied + 12 * 3 * 8 * 16 * 64


def test_the_traffic_of_attention():
    """Dao et al., FlashAttention, arXiv:2205.14135, section 2.2: a standard one writes and reads N^2 scores; one that keeps them on the
    chip reads and writes no more than Nd."""
    body = "s = q * k -> bf16[N, M]; p = softmax(s, M); o = p * v -> bf16[N, d]"
    head = "input q, k0, v0: bf16[N, d]; where M = N; k = k0 -> bf16[M, d]; v = v0 -> bf16[M, d]; "
    plain, fused = (sr.operation(head + text) for text in (body, f"fuse {{ {body} }}"))
    n, d = sr.dimensions("N d")
    assert (plain.cost().bytes - (8 * n * d + 4 * n**2)).expand() == 0
    assert (fused.cost().bytes - 8 * n * d).expand() == 0
    assert (plain.cost().flops - fused.cost().flops).expand() == 0


@pytest.mark.thorough
def test_the_best_split_of_weights_that_stay_where_they_are():
    """Pope et al., arXiv:2211.05102, section 3.2.2: of a feedforward layer of four times the width, split both ways over N chips, the
    exchanges are least where X = sqrt(N)/2 chips split the width and Y = 2 sqrt(N) the inner one, and fall as 1/sqrt(N)."""
    asked = {"minimize": "sent(X) + sent(Y)", "over": "X", "subject": "X*Y = N", "assume": "F = 4D"}
    found = sr.derive("weight-stationary", on="tpu-v5p", mesh="X, Y on ICI", **asked)
    best = expression(found.answer.formula("optimum"))
    assert (best - sympy.sqrt(sr.symbols.symbol("N")) / 2).simplify() == 0
    at64 = sr.derive("weight-stationary", on="tpu-v5p", mesh="X, Y on ICI", **asked, at="N=64,B=512,D=16384")
    shown = at64.to_text()
    assert "sqrt(N)/2" in shown
    assert "compute-bound there" not in shown  # bytes are no time to compare the arithmetic with
    timed = sr.derive("weight-stationary", on="tpu-v5p", mesh="X, Y on ICI", **{**asked, "minimize": "T_X + T_Y"})
    assert "compute-bound there" in timed.to_text()


@pytest.mark.thorough
@pytest.mark.parametrize("chips", [4, 16])
def test_the_states_of_an_optimizer(chips):
    """Rajbhandari et al., ZeRO, arXiv:1910.02054, figure 1: 2 + 2 + 12 bytes for each parameter; 4 + 12/N where the states of Adam are in
    N parts, 16/N where everything is. All of it moves, forward and back, 3 times the parameters in place of 2: section 7."""
    mlp = "input x: bf16[B_X, D]; weight W: bf16[{w}]; weight V: bf16[{v}]; h = x * W -> bf16[B_X, F]; a = gelu(h); y = a * V -> bf16[B_X, D]"
    sizes = "B=512,D=128,F=256"
    params = 2 * 128 * 256
    found = {}
    for name, types in {"data": ("D, F", "F, D"), "all": ("D_X, F", "F, D_X")}.items():
        text = f"mesh X = {chips} on ICI; {mlp.format(w=types[0], v=types[1])}"
        states = {"states": "weights_per_chip + gradients_per_chip + 12*params/chips"}
        d = sr.derive(text, on="tpu-v5p", training=True, at=sizes, let=states)
        found[name] = d.value("states"), d.value("sent(X)")
    assert found["data"][0] == params * (4 + 12 / chips)
    assert found["all"][0] == pytest.approx(params * 16 / chips)
    ring = 2 * params * (chips - 1) / chips / 2  # both directions of a ring
    assert found["data"][1] == 2 * ring
    assert found["all"][1] == 3 * ring
