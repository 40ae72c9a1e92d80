"""The library by hand: each program at small sizes, its multiplications counted in loops and its bytes by what is in it."""

from fractions import Fraction
from functools import partial
from inspect import signature
from itertools import product
from math import prod

import pytest
from sympy import Add
from tally import ELEMENTWISE, ROWS, Counted, layer_norm_of, rope

import symroof as sr
from symroof.errors import CheckError, SymroofError
from symroof.model.functions import FUNCTIONS
from symroof.model.kernels import cost_of, costs_of
from symroof.model.library import LIBRARY
from symroof.model.tensor_types import dtype
from symroof.model.transforms import with_backward
from symroof.reading.operation_keys import functions_of
from symroof.reading.operations import entries, entry_named, other_names, programs, read_operation, suggestion_of
from symroof.symbols import symbol


def at(value, **sizes):
    """A cost with numbers put in."""
    value = value.subs({symbol(name): size for name, size in sizes.items()})
    assert value.is_number, value
    return Fraction(int(value.p), int(value.q))


def counted(program, **sizes):
    program = read_operation(program) if isinstance(program, str) else program
    cost = cost_of(program)
    resolved = {
        "ops": Add(*(one.ops for one in costs_of(program).values())),
        **{what: program.stock(role) for what, role in (("params", "weight"), ("cached", "cache"))},
    }
    found = {what: at(program.resolved(value), **sizes) for what, value in resolved.items()}
    return found | {what: at(getattr(cost, what), **sizes) for what in ("flops", "reads", "writes")}


def loops(*ranges):
    """Two operations for each turn of a nest of loops, turned one by one."""
    return 2 * sum(1 for _ in product(*map(range, ranges)))


def bf16(*shapes):
    return sum(2 * prod(shape) for shape in shapes)


# Each program by hand: its FLOPs in loops, what moves kernel by kernel, and what it holds, at the sizes of the parameters.


def mlp(B=2, D=3, F=5):
    reads, writes = bf16((B, D), (D, F), (B, F), (F, D)), bf16((B, F), (B, D))
    return {"flops": loops(B, F, D) + loops(B, D, F), "reads": reads, "writes": writes, "params": 2 * D * F}


def gated_mlp(B=2, D=3, F=5):
    """h and a share traffic, u joins the second product: a is written, g is not."""
    first, second, third = bf16((B, D), (D, F)), bf16((B, D), (D, F), (B, F)), bf16((B, F), (F, D))
    reads, writes = first + second + third, bf16((B, F), (B, F), (B, D))
    return {"flops": 3 * loops(B, D, F), "reads": reads, "writes": writes, "params": 3 * D * F}


def attention(B=2, T=3, S=4, K=2, G=3, H=5):
    q, kv = (B, T, K, G, H), (B, S, K, H)
    # the softmax of each of BTKG rows: S - 1 comparisons, S subtractions, S exponentials, S - 1 additions, S divisions
    ops = B * T * K * G * ((S - 1) + S + S + (S - 1) + S)
    return {"flops": 2 * loops(B, T, S, K, G, H), "reads": bf16(q, kv, kv), "writes": bf16(q), "ops": ops}


def attention_decode(B=2, S=4, K=2, G=3, H=5):
    """The heads of the keys are read, and not those of the queries."""
    q, kv = (B, K, G, H), (B, S, K, H)
    return {"flops": 2 * loops(B, S, K, G, H), "reads": bf16(q, kv, kv), "writes": bf16(q), "cached": 2 * B * S * K * H}


def causal_attention(B=2, T=5, K=2, G=3, H=4):
    """The pairs of a triangle."""
    pairs, q, kv = sum(1 for t in range(T) for s in range(T) if s <= t), (B, T, K, G, H), (B, T, K, H)
    return {"flops": 2 * 2 * B * K * G * H * pairs, "reads": bf16(q, kv, kv), "writes": bf16(q)}


def window_attention(B=2, T=3, K=2, G=3, H=4, W=4, N=2):
    """A window reads what it meets."""
    S = T + W + N
    met = {t: [s for s in range(S) if S - T + t - W < s <= S - T + t] for t in range(T)}
    pairs, reached = sum(map(len, met.values())), len({s for every in met.values() for s in every})
    q, kv = (B, T, K, G, H), (B, reached, K, H)
    return {"flops": 2 * 2 * B * K * G * H * pairs, "reads": bf16(q, kv, kv), "writes": bf16(q)}


def latent_attention_decode(B=2, N=3, H=4, R=2, C=5, S=7):
    """Latents are read once for all heads."""
    flops = 2 * loops(B, N, H, C) + 2 * loops(B, S, N, C) + loops(B, S, N, R)
    latents = (B, N, H), (N, H, C), (B, N, C), (B, N, R), (B, S, C), (B, S, R), (B, N, C), (N, C, H)
    return {"flops": flops, "reads": bf16(*latents), "params": 2 * N * H * C}


def moe(B=8, k=2, E=4, D=3, F=5):
    """Experts do the work of the tokens that come to them, 16 visits, 4 for each of 4, and read all weights."""
    reads = bf16((16, D), (16, D), (16, F), (16, F)) + 3 * bf16((E, D, F))
    writes = bf16((16, F), (16, F), (16, D))
    return {"flops": 3 * loops(B, k, D, F), "reads": reads, "writes": writes, "params": 3 * E * D * F}


def microbatches(B=2, D=5, F=7, M=3):
    """They read their weights each."""
    reads = M * bf16((B, D), (D, F), (B, F), (F, D))
    return {"flops": M * (loops(B, D, F) + loops(B, F, D)), "params": 2 * D * F, "reads": reads}


def lora(B=2, D=5, F=7, r=3):
    reads = 2 * bf16((B, D)) + bf16((D, F), (D, r), (r, F), (B, r), (B, F))
    flops, writes = loops(B, D, F) + loops(B, D, r) + loops(B, r, F), bf16((B, r)) + 2 * bf16((B, F))
    return {"flops": flops, "params": D * F + r * (D + F), "reads": reads, "writes": writes}


def layer_norm(B=2, D=5):
    return {"flops": B * len(layer_norm_of(D)), "reads": bf16((B, D), (D,), (D,)), "writes": bf16((B, D))}


def convolution(N=2, P=3, Q=4, C=2, K=3, R=2, S=3, windows=0):
    """A product for each tap; where its windows are in memory they are written and read."""
    moved = windows * bf16((N, P, Q, R, S, C))
    reads, writes = bf16((N, P, Q, C), (K, R, S, C)) + moved, bf16((N, P, Q, K)) + moved
    return {"flops": loops(N, P, Q, K, C, R, S), "reads": reads, "writes": writes}


def resnet_block(N=2, P=4, Q=6, C=2, K=3, R=3, S=3, E=5, J=7):
    """A bottleneck halves its pixels: every second place alone has a window, and the places are counted one by one; the image is
    read whole for one way, and every second place for the other."""
    places = sum(1 for _ in range(0, P, 2) for _ in range(0, Q, 2))
    flops = loops(N, P, Q, C, K) + places * (loops(N, R, S, K, J) + loops(N, J, E) + loops(N, C, E))
    filters = (C, K), (K,), (N, P, Q, K), (J, R, S, K), (J,), (J, E), (C, E), (E,)
    reads = bf16((N, P, Q, C), (N, places, C), *filters, (N, places, J), (N, places, E))
    return {"flops": flops, "reads": reads, "params": C * K + J * R * S * K + J * E + C * E + K + J + E}


def quantized_matmul(B=2, D=12, J=4, F=5):
    """Weights of four bits with a scale for each group."""
    reads = bf16((B, D)) + D * F // 2 + bf16((D // J, F))
    return {"flops": loops(B, D, F), "reads": reads, "writes": bf16((B, F)), "ops": 2 * D * F}


def quantized_matmul_int8(B=2, D=3, F=5):
    """Weights of eight bits with a scale for each output."""
    return {"flops": loops(B, D, F), "reads": bf16((B, D)) + D * F + bf16((F,)), "writes": bf16((B, F))}


def embedding(B=2, T=3, V=100, D=5):
    """A lookup reads the rows that are named; a factor sqrt(D)."""
    reads = 4 * B * T + bf16((B, T, D))
    return {"flops": B * T * D, "reads": reads, "writes": bf16((B, T, D)), "params": V * D}


def adam(P=10):
    """Seven numbers of four bytes for each parameter; its operations are those of the update, run one by one."""
    tally = []
    g, w, m, v, b1, b2, c1, c2, eps, rate = (Counted(n / 7 + 0.5, tally) for n in range(10))
    m = b1 * m + (1 - 0.9) * g
    v = b2 * v + (1 - 0.999) * (g * g)
    w = w - rate * ((m / c1) / ((v / c2).sqrt() + eps))
    return {"flops": P * len(tally), "reads": 4 * 4 * P, "writes": 3 * 4 * P, "params": P}


def decode_step(B=2, S=3, D=4, F=7, K=2, G=3, H=5, L=3, V=11):
    """It reads its weights and its cache once."""
    each = 2 * loops(B, D, K, G, H) + 2 * loops(B, D, K, H) + 2 * loops(B, S, K, G, H) + 3 * loops(B, D, F)
    params = L * (2 * D * K * G * H + 2 * D * K * H + 3 * D * F + 2 * D) + 2 * V * D + D
    x, q, kv, f, cached = (B, D), (B, K, G, H), (B, K, H), (B, F), 2 * L * B * S * K * H
    moves = {
        "x": ([x], [x]),
        "xn": (L * [x], L * [x]),
        "q": (L * [x], L * [q]),
        "k and v": (2 * L * [x], 2 * L * [kv]),
        "s": (L * [q], L * [q]),
        "r": (L * [q, x], L * [x, x]),
        "h": (L * [x], L * [f]),
        "g": (L * [x, f], L * [f]),
        "m": (L * [f, x], L * [x]),
        "zn": ([x], [x]),
        "logits": ([x], [(B, V)]),
    }
    read, written = (sum(bf16(*side) for side in sides) for sides in zip(*moves.values(), strict=True))
    reads = read + 2 * (params - V * D) + 2 * cached + 4 * B
    return {"flops": L * each + loops(B, D, V), "params": params, "cached": cached, "reads": reads, "writes": written}


LAYER = {"B": 2, "T": 3, "D": 4, "F": 7, "K": 2, "G": 3, "H": 5}


def layer(B, T, D, F, K, G, H):
    """A decoder layer by hand: multiply-adds in loops, and what moves, kernel by kernel."""
    flops = 2 * loops(B, T, D, K, G, H) + 2 * loops(B, T, D, K, H) + 2 * loops(B, T, T, K, G, H) + 3 * loops(B, T, D, F)
    x, q, k, f = (B, T, D), (B, T, K, G, H), (B, T, K, H), (B, T, F)
    wq, wk, w1 = (D, K, G, H), (D, K, H), (D, F)
    moves = {
        "xn": ([x, (D,)], [x]),
        "q": ([x, wq], [q]),
        "k": ([x, wk], [k]),
        "v": ([x, wk], [k]),
        "s": ([q, k, k], [q]),
        "r": ([q, wq, x, (D,)], [x, x]),  # with the residual, whose sum stays to be used, and the second norm
        "h": ([x, w1], [f]),
        "g": ([x, w1, f], [f]),
        "m": ([f, w1, x], [x]),
    }
    params = 2 * D * K * G * H + 2 * D * K * H + 3 * D * F + 2 * D
    return flops, *(sum(bf16(*side) for side in sides) for sides in zip(*moves.values(), strict=True)), params


def decoder_layer(B=2, T=3, D=4, F=7, K=2, G=3, H=5):
    return dict(zip(("flops", "reads", "writes", "params"), layer(B, T, D, F, K, G, H), strict=True))


COUNTED = (
    *(mlp, gated_mlp, attention, attention_decode, causal_attention, window_attention, latent_attention_decode),
    *(resnet_block, lora, moe, decoder_layer, decode_step, adam, layer_norm, convolution, embedding, microbatches),
    *(quantized_matmul, quantized_matmul_int8),
)
BY_HAND = {function.__name__.replace("_", "-"): function for function in COUNTED}
BY_HAND["convolution-im2col"] = partial(convolution, windows=1)


@pytest.mark.part(len(BY_HAND))
@pytest.mark.parametrize("name", BY_HAND)
def test_a_program_costs_what_is_counted_by_hand(name):
    sizes = {n: p.default for n, p in signature(BY_HAND[name]).parameters.items() if n != "windows"}
    found, expected = counted(name, **sizes), BY_HAND[name]()
    assert {what: found[what] for what in expected} == expected


def test_a_training_step_takes_three_times_the_products_of_the_decoder_without_its_table():
    B, T, D, L, V = 2, 3, 4, 3, 11
    step = read_operation("training-step")
    assert step.training
    flops, _, _, params = layer(**LAYER)
    sizes = {**LAYER, "L": L, "V": V}
    forward = L * flops + loops(B, T, D, V)
    assert at(cost_of(step).flops, **sizes) == 3 * forward
    assert at(step.stock("weight"), **sizes) == L * params + V * D + D
    # six for each parameter that is multiplied and each token, and the attention
    K, G, H = LAYER["K"], LAYER["G"], LAYER["H"]
    multiplied = L * (params - 2 * D) + V * D
    assert 3 * forward == 6 * multiplied * B * T + 12 * L * B * T * T * K * G * H


@pytest.mark.parametrize("name", ["decoder", "training-step"])
def test_a_decoder_is_its_layers_and_its_vocabulary(name):
    B, T, D, L, V = 2, 3, 4, 3, 11
    program = with_backward(read_operation(name), False)
    found = counted(program, L=L, V=V, **LAYER)
    flops, reads, writes, params = layer(**LAYER)
    assert found["flops"] == L * flops + loops(B, T, D, V)
    table = name == "decoder"
    looked_up = bf16((B, T, D)) + 4 * B * T if table else 0
    last = bf16((B, T, D), (D,)), bf16((B, T, D), (V, D))
    assert found["reads"] == L * reads + looked_up + sum(last)
    assert found["writes"] == L * writes + (bf16((B, T, D)) if table else 0) + bf16((B, T, D)) + bf16((B, T, V))
    assert found["params"] == L * params + (1 + table) * V * D + D


@pytest.mark.thorough
def test_rows_are_routed_once_each_way():
    """Every row is read k times for its experts and k times on its way back, and each expert has as many."""
    B, D, E, k, F, H = 6, 4, 3, 2, 5, 7
    c = B * k // E
    sent = [(row + i) % E for row in range(B) for i in range(k)]  # a router that shares out evenly
    assert {sent.count(expert) for expert in range(E)} == {c}
    found = counted("routed-experts", B=B, D=D, E=E, k=k, F=F, H=H)
    assert found["flops"] == (loops(B, D, E) + 3 * sum(loops(D, F) for _ in sent) + loops(B, k, D) + 3 * loops(B, D, H))
    assert found["params"] == D * E + 3 * E * D * F + 3 * D * H
    routed = len(sent) * D * 2
    program = sr.derive("routed-experts", on="h100", at={"B": B, "D": D, "E": E, "k": k, "F": F, "H": H})
    assert program.value("reads(xe)") == routed + 4 * len(sent)
    assert program.value("writes(xe)") == routed == program.value("writes(y)")
    assert program.value("size(x)") == 2 * B * D


@pytest.mark.thorough
def test_a_vision_transformer_has_the_parameters_that_are_published():
    """ViT-B/16 at 224 pixels: 86 567 656 parameters, of which 768 are the class token, an input here; 17.56e9 multiplications."""
    sizes = dict(zip("BPQRSCDNHFVL", (1, 14, 14, 16, 16, 3, 768, 12, 64, 3072, 1000, 12), strict=True))
    found = sr.derive("vit", on="h100", at=sizes)
    assert found.value("params") == 86_567_656 - 768
    assert found.value("size(i)") == 2 * 224 * 224 * 3
    T, D, F = 14 * 14 + 1, 768, 3072
    layer = T * (4 * D * D + 2 * D * F) + 2 * T * T * D
    assert found.value("flops") == 2 * (196 * 16 * 16 * 3 * D + 12 * layer + D * 1000)


@pytest.mark.thorough
def test_a_state_space_model_has_the_parameters_that_are_published():
    """Mamba of 130 million: 129 135 360 parameters; its state is as large for a token as for many, and moves once."""
    sizes = {"B": 2, "D": 768, "N": 16, "C": 4, "R": 48, "L": 24, "V": 50280}
    many, one = (sr.derive("mamba", on="h100", at={**sizes, "T": T}) for T in (4096, 1))
    assert many.value("params") == 129_135_360
    state = 4 * 2 * 1536 * 16 * 24
    assert many.value("caches") == one.value("caches") == state
    assert many.value("caches_moved") == one.value("caches_moved") == state
    E, D, rest = 1536, 768, 4 + 2 * 48 + 2 * 16  # taps, and products with small sides
    assert one.value("flops") == 2 * 2 * (24 * E * (3 * D + rest) + D * 50280)
    assert many.value("flops") == 4096 * one.value("flops")
    B, T, V, N, R = 2, 4096, 50280, 16, 48
    layer = bf16((6, B, T, D), (D,), (11, B, T, E), (3, D, E), (4, E), (3, E), (E, R), (R, E), (2, E, N))
    layer += bf16((2, B, T, R), (4, B, T, N)) + 4 * E * N + 2 * 4 * B * E * N
    ends = 4 * B * T + bf16((2, B, T, D), (3, B, T, D), (D,), (V, D), (B, T, V))
    assert many.value("bytes") == 24 * layer + ends


@pytest.mark.thorough
def test_a_pipeline_is_a_training_step_in_microbatches_and_stages():
    M, L, V, P = 3, 4, 11, 2
    step, stages = (with_backward(read_operation(name), False) for name in ("training-step", "pipeline"))
    found, one = counted(stages, L=L, V=V, M=M, **LAYER), counted(step, L=L, V=V, **LAYER)
    assert all(found[what] == M * one[what] for what in ("flops", "reads", "writes"))
    assert found["params"] == one["params"]
    answer = sr.derive("pipeline", on="tpu-v5p", mesh=f"P={P}", at={**LAYER, "L": L, "V": V, "M": M})
    puts = ({**LAYER, "L": layers, "V": V} for layers in (L, 2 * L))
    whole, twice = (sr.derive("training-step", on="tpu-v5p", at=at).value("flops") for at in puts)
    ends = 2 * whole - twice
    assert answer.value("flops_per_chip") == M * (ends + (whole - ends) / P)
    assert answer.value("sent(P)") == M * LAYER["B"] * LAYER["T"] * LAYER["D"] * 2
    assert answer.value("bubble") == pytest.approx((P - 1) / (M + P - 1))


def test_experts_have_the_parameters_that_are_published():
    """Mixtral 8x7B: 46.7 billion, 12.9 of them active for a token."""
    sizes = {"L": 32, "D": 4096, "F": 14336, "K": 8, "G": 4, "H": 128, "V": 32000}
    rest = at(read_operation("decoder").stock("weight"), **{**sizes, "F": 0})
    experts = at(read_operation("moe").stock("weight"), E=8, D=4096, F=14336)
    router = 32 * 4096 * 8
    assert rest + 32 * experts + router == 46_702_792_704
    assert round((rest + 32 * experts / 4 + router) / 10**9, 1) == Fraction(129, 10)


@pytest.mark.thorough
def test_every_program_says_where_it_was_published_and_reads_back():
    for name, entry in programs().items():
        assert any(mark in entry.source for mark in ("arXiv:", "IWFHR")), name
        program = read_operation(name)
        assert str(read_operation(str(program))) == str(program)
        assert with_backward(read_operation(entry.text), entry.training) == program


NAMES = """attention=attention layernorm=layer-norm Layer_Norm=layer-norm conv=convolution ffn=mlp swiglu=gated-mlp mha=attention
GQA=attention kv-cache=attention-decode KV_cache=attention-decode lm=decoder llama=decoder experts=moe adamw=adam gemm=matmul
rmsnorm=rms-norm w4a16=quantized-matmul"""


@pytest.mark.parametrize(("typed", "meant"), [name.split("=") for name in NAMES.split()])
def test_names_that_people_type(typed, meant):
    assert entry_named(typed).name == meant
    assert str(read_operation(typed)) == str(read_operation(meant))


def test_other_names_are_names_of_nothing_else():
    assert not other_names().keys() & entries().keys()
    assert set(other_names().values()) <= entries().keys()
    assert len(entries()) == len(LIBRARY) + len(programs())
    assert suggestion_of("atention-decod") == "did you mean attention-decode?"
    with pytest.raises(sr.SymroofError, match="unknown operation 'decodr'"):
        read_operation("decodr")


def test_a_dtype_goes_where_the_usual_one_stands():
    program = read_operation("quantized-matmul", dtype("fp8"))
    types = {name: str(t.dtype) for name, t in program.arrays.items()}
    assert types == {**dict.fromkeys(("x", "scale", "c", "W", "y"), "fp8"), "Wq": "int4"}
    assert str(read_operation("decoder", dtype("fp8")).arrays["ids"]) == "int32[B, T]"


def kinds(written, n):
    return {kind.name: amount for kind in written if (amount := kind.each * n + kind.row)}


def histogram(tally):
    return {kind: tally.count(kind) for kind in tally}


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("n", [1, 2, 7])
def test_row_functions_take_the_operations_of_the_published_algorithm(name, n):
    forward, back = ROWS[name]
    assert kinds(FUNCTIONS[name].kinds, n) == histogram(forward(n))
    assert kinds(FUNCTIONS[name].back, n) == histogram(back(n))
    assert FUNCTIONS[name].each * n + FUNCTIONS[name].row == len(forward(n))


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_functions_of_elements_take_the_operations_of_their_formulas(name):
    forward, back = ELEMENTWISE[name]
    assert kinds(FUNCTIONS[name].kinds, 1) == tallied(forward, 1)
    assert kinds(FUNCTIONS[name].back, 1) == tallied(back, 3)


def tallied(run, count=4):
    tally = []
    run(*(Counted(0.3, tally) for _ in range(count)))
    return histogram(tally)


BY_FORMULA = {
    ("rope", "kinds", 2): rope,
    ("rope", "back", 2): rope,
    ("ema", "kinds", 1): lambda x, y, c, s: x * c + (1 - 0.9) * y,
    ("ema", "back", 1): lambda x, y, c, s: (x * c, x * (1 - 0.9)),  # what comes in goes to both operands
    ("divide", "kinds", 1): lambda x, y, c, s: x / c,
    ("divide", "back", 1): lambda x, y, c, s: -(s / c * y),  # d(x/c) = dx/c - (x/c) dc/c, of which s/c is the first's
    ("windows", "back", 1): lambda x, y, c, s: x + y,  # each number of a window goes back to where it was read
}


@pytest.mark.parametrize(("name", "way", "each"), BY_FORMULA)
def test_functions_of_two_tensors_and_rotations(name, way, each):
    assert kinds(getattr(FUNCTIONS[name], way), each) == tallied(BY_FORMULA[name, way, each])


def test_every_function_of_the_table_is_counted_here_or_does_nothing():
    idle = {name for name, function in FUNCTIONS.items() if not function.kinds}
    assert idle == {"rearrange", "windows", "lookup"}
    assert FUNCTIONS.keys() == {*ELEMENTWISE, *ROWS, *idle, "rope", "ema", "divide"}
    assert all(function.source for function in FUNCTIONS.values())


@pytest.mark.parametrize(("program", "operation"), [("softmax", "softmax"), ("rms_norm", "rms-norm")])
def test_the_table_and_the_operations_of_one_line_count_alike(program, operation):
    given = LIBRARY[operation].operation.given.counted
    counted = {name: at(count(symbol("B"), symbol("N")), B=3, N=7) for name, count in given.items()}
    assert {kind.name: 3 * (7 * kind.each + kind.row) for kind in FUNCTIONS[program].kinds} == counted


def test_functions_of_a_problem():
    text = "input x: bf16[B, D]; y = swish4(x)"
    assert str(sr.derive(text, functions={"swish4": 4}, on="tpu-v5e").answer.intensity) == "1"
    assert at(cost_of(read_operation(text, None, functions_of({"functions": {"swish4": "7/2"}}))).flops, B=2, D=4) == 28
    redefined = read_operation("input x: bf16[B, D]; y = gelu(x)", None, functions_of({"functions": {"gelu": 1}}))
    assert at(cost_of(redefined).flops, B=2, D=4) == 8
    with pytest.raises(sr.SymroofError, match="there is no function swish4"):
        sr.derive(text)


NO_FUNCTIONS = [*({"f": each} for each in (-1, "x", True, [1, 2, 3], [], "1e9", "1/0")), {"f-g": 1}, {"at": 1}, 3]


@pytest.mark.parametrize("given", NO_FUNCTIONS)
def test_what_is_no_number_of_operations_is_refused(given):
    with pytest.raises(sr.SymroofError, match="functions"):
        functions_of({"functions": given})


@pytest.mark.thorough
@pytest.mark.parametrize("name", list(LIBRARY))
def test_every_size_of_every_program_can_be_asked_for(name):
    """A condition for each size, proved; where a size is refused, it is in words of the problem."""
    asked = 0
    for training in (False, True):
        for size in sr.operation(name).dimensions:
            try:
                page = sr.derive(name, on="h100-sxm", solve_for=size, training=training)
            except CheckError:
                raise
            except SymroofError:
                continue
            asked += bool(page.counts()["proved"])
    assert asked
