"""The same tensor in other dimensions: nothing is done and nothing moves, it is read and kept once, and its gradients under all its
names are added. Against loops and finite differences, and against programs that say it without views."""

import pytest
from test_training import at, counted, require_lawful, trained
from texts import refused

import symroof as sr
from symroof.derivation import mesh_sections
from symroof.errors import CheckError, SymroofError
from symroof.model import functions, splits
from symroof.model.aliases import Memory
from symroof.model.chip_costs import chip_costs
from symroof.model.program_quantities import amounts
from symroof.model.program_sizes import tokens_of
from symroof.reading.programs import read_program

ATTENTION = """
input x: bf16[B, T, D]
weight Wq, Wk, Wv: bf16[D, E]
weight Wo: bf16[E, D]
where E = K*H
q = x * Wq -> bf16[B, T, E]
k = x * Wk -> bf16[B, T, E]
v = x * Wv -> bf16[B, T, E]
qh = q -> bf16[B, T, K, H]
kh = k -> bf16[B, T, K, H]
vh = v -> bf16[B, T, K, H]
fuse {
  s = qh * kh[T -> S] -> bf16[B, T, S, K]
  p = softmax(s, S)
  o = p * vh[T -> S] -> bf16[B, T, K, H]
}
oh = o -> bf16[B, T, E]
y = oh * Wo -> bf16[B, T, D]
"""
# The same with weights that have heads, and without a word of views but for the second name of the time.
SPLIT_HEADS = """
input x: bf16[B, T, D]
input x2: bf16[B, S, D]
weight Wq, Wk, Wv: bf16[D, K, H]
weight Wo: bf16[K, H, D]
q = x * Wq -> bf16[B, T, K, H]
k = x2 * Wk -> bf16[B, S, K, H]
v = x2 * Wv -> bf16[B, S, K, H]
fuse {
  s = q * k -> bf16[B, T, S, K]
  p = softmax(s, S)
  o = p * v -> bf16[B, T, K, H]
}
y = o * Wo -> bf16[B, T, D]
"""
PROGRAMS = {
    "attention": ATTENTION,
    "gram": "input x: bf16[B, D]; g = x * x[B -> P] -> bf16[B, P]",
    "kept once": "input x: bf16[B, D]; weight W: bf16[D, F]; h = x * W -> bf16[B, F]; a = silu(h); g = a * a[B -> P] -> bf16[B, P]",
    "heads": "input x: bf16[B, D]; weight W: bf16[H, N]; where D = K*H; v = x -> bf16[B, K, H]; y = v * W -> bf16[B, K, N]; z = gelu(y)",
    "of a view": "input x: bf16[B, D]; where D = K*H; v = x -> bf16[B, K, H]; w = v -> bf16[B, D]; y = w * x[B -> P] -> bf16[B, P]",
    "of a weight": "input x: bf16[B, K, H]; weight W: bf16[D, F]; where D = K*H; U = W -> bf16[K, H, F]; y = x * U -> bf16[B, F]",
    "between": "input x: bf16[B, D]; weight W: bf16[D, F]; where F = K*H; h = x * W -> bf16[B, F]; v = h -> bf16[B, K, H]; p = softmax(v, H); r = p -> bf16[B, F]; s = h + r",
    "repeated": "input x: bf16[B, D]; weight W: bf16[D, F]; weight U: bf16[K, H, D]; where F = K*H; repeat 2 as x = y { h = x * W -> bf16[B, F]; v = h -> bf16[B, K, H]; y = v * U -> bf16[B, D] }",
}
PROGRAMS |= {  # what comes back has another order of dimensions than what is seen
    "in another order": "input x: bf16[B, T, D]; weight W: bf16[D, E]; where M = B*T, E = D; v = x -> bf16[M, D]; h = v * W -> bf16[M, E]; w = h -> bf16[T, B, D]; z = x + w; y = z * z -> bf16[B]",
    "in another order at the end": "input x: bf16[B, T, D]; where M = B*T; a = silu(x); v = a -> bf16[M, D]; b = square(v); w = b -> bf16[T, B, D]; z = x + w",
}
PROGRAMS |= {  # in its turns b is another tensor than a, which it is a view of at first
    "of what enters": "input x: bf16[B, D]; weight W: bf16[D, E]; where E = D; a = x * W -> bf16[B, E]; b = a -> bf16[B, D]; repeat 2 as b = y { h = b * b -> bf16[B, D]; v = b -> bf16[B, E]; w = v * a -> bf16[B, E]; z = w -> bf16[B, D]; y = h + z }",
    "of what enters first": "input x: bf16[B, D]; where D = K*H; b = x -> bf16[B, K, H]; repeat 3 as b = y { y = silu(b) }; z = y * b -> bf16[B, K]; u = x * x -> bf16[B]",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_are_lawful(name):
    require_lawful(PROGRAMS[name], tolerance=1e-5)


def test_attention_with_views_costs_what_it_costs_without():
    """At the same sizes, but for the second input, which is the first."""
    sizes = {"B": 2, "T": 96, "D": 64, "K": 4, "H": 16, "E": 64, "S": 96}
    one, other = (amounts(read_program(text), "fma") for text in (ATTENTION, SPLIT_HEADS))
    mine, theirs = (sr.operation(text).cost() for text in (ATTENTION, SPLIT_HEADS))
    assert at(mine.flops, sizes) == at(theirs.flops, sizes)
    assert at(mine.bytes, sizes) == at(theirs.bytes, sizes)
    for name in ("params", "weights", "ops"):
        assert at(one[name], sizes) == at(other[name], sizes), name
    trained_one, trained_other = (amounts(trained(text), "fma") for text in (ATTENTION, SPLIT_HEADS))
    assert at(trained_one["flops_backward"], sizes) == at(trained_other["flops_backward"], sizes)
    again = 2 * 2 * 96 * 64  # the second input is kept as well, where it is another
    assert at(trained_other["saved"], sizes) - at(trained_one["saved"], sizes) == again


def test_a_tensor_is_read_once_under_all_of_its_names():
    d = sr.derive(PROGRAMS["gram"], on="tpu-v5e", at="B=512,D=256")
    assert d.value("reads") == 2 * 512 * 256
    assert d.value("writes") == 2 * 512 * 512
    assert d.value("flops") == 2 * 512 * 512 * 256
    two = "input x: bf16[B, D]; input z: bf16[P, D]; g = x * z -> bf16[B, P]"
    with_two = sr.derive(two, on="tpu-v5e", at="B=512,P=512,D=256")
    assert with_two.value("reads") == 2 * d.value("reads")


def test_what_belongs_to_weights_does_so_under_other_names():
    d = sr.derive(PROGRAMS["of a weight"], on="tpu-v5e", at="B=8,K=4,H=16,F=32")
    assert d.value("weights_moved") == d.value("weights") == 2 * 4 * 16 * 32


def test_what_is_a_token_has_it_under_other_names():
    """Where S = T a view of the time is that of the same tokens; so 6 FLOPs for each parameter and token."""
    with_views = read_program(ATTENTION + "z = y[T -> S] * y -> bf16[B, S, T]\n")
    assert str(tokens_of(with_views)) == str(tokens_of(read_program(ATTENTION))) == "B*T"
    alias = "input x: bf16[B, T, D]; weight W: bf16[D, F]; where S = T; v = x[T -> S]; h = {} * W -> bf16[B, {}, F]"
    for name, time in (("v", "S"), ("x", "T")):
        d = sr.derive(alias.format(name, time), on="h100", at="B=4,T=8,D=64,F=64")
        assert d.value("tokens_per_second") == pytest.approx(32 / d.value("T_lower"))


def test_a_dimension_may_be_defined_before_and_after_it_is_renamed():
    line, said = "g = x * x[B -> P] -> bf16[B, P]", "where P = B"
    for text in (f"{said}; {line}", f"{line}; {said}", f"{line}; where B = P", line):
        program = sr.operation(f"input x: bf16[B, D]; {text}")
        assert str(program.cost().flops) == "2*B**2*D", text


@pytest.mark.thorough
def test_batches_of_views_are_shared_out():
    """Dimensions that a view leaves as they are may be split, each chip has its part under both names."""
    text = ATTENTION.replace("B, T", "B_X, T").replace("B, S", "B_X, S").strip()
    split = sr.derive(f"mesh X = 4 on ICI\n{text}", on="tpu-v5p", training=True, at="B=8,T=64,D=32,K=2,H=16")
    whole = sr.derive(ATTENTION, on="tpu-v5p", training=True, at="B=8,T=64,D=32,K=2,H=16")
    assert 4 * split.value("flops_per_chip") == whole.value("flops")
    assert 4 * split.value("saved_per_chip") == whole.value("saved")
    weights = 2 * 4 * 32 * 32
    assert split.value("sent(X)") == 2 * weights * 3 / 4 / 2


# Programs on a mesh with views, and the same with tensors that have these dimensions from the start.
def with_others(text, *pairs):
    for old, new in pairs:
        text = text.replace(old, new)
    return "mesh X = 4 on ICI\n" + text.strip()


ONE = (("input x2: bf16[B, S, D]\n", "where S = T\n"), ("x2", "x"), ("B, S, K, H", "B, T, K, H"))
RENAMED = (("q * k", "q * k[T -> S]"), ("p * v", "p * v[T -> S]"), ("K, H", "K_X, H"), ("S, K]", "S, K_X]"))
ON_AXES = (("E]", "E_X]"), ("bf16[E,", "bf16[E_X,"), ("K, H]", "K_X, H]"), ("S, K]", "S, K_X]"))
MESHES = {
    "heads": (with_others(ATTENTION, *ON_AXES), with_others(SPLIT_HEADS, *ONE, *RENAMED)),
    "weights in parts": (
        "mesh X = 4 on ICI; input x: bf16[B_X, D]; weight W: bf16[D, E_X]; weight V: bf16[K, H_X, D]; where E = K*H; U = W -> bf16[D, K_X, H]; h = x * U -> bf16[B_X, K, H]; a = silu(h); y = a * V -> bf16[B_X, D]",
        "mesh X = 4 on ICI; input x: bf16[B_X, D]; weight U: bf16[D, K_X, H]; weight V: bf16[K, H_X, D]; h = x * U -> bf16[B_X, K, H]; a = silu(h); y = a * V -> bf16[B_X, D]",
    ),
    "weights in rows": (
        "mesh X = 4 on ICI; input x: bf16[B_X, D]; weight W: bf16[D_X, E]; where E = K*H; U = W -> bf16[D_X, K, H]; h = x * U -> bf16[B_X, K, H]; a = silu(h)",
        "mesh X = 4 on ICI; input x: bf16[B_X, D]; weight U: bf16[D_X, K, H]; h = x * U -> bf16[B_X, K, H]; a = silu(h)",
    ),
    "rows of batches": (
        "mesh X = 2, Y = 2 on ICI; input x: bf16[B_XY, T, D]; weight W: bf16[D, F]; where N = B*T; v = x -> bf16[N_XY, D]; y = v * W -> bf16[N_XY, F]; z = y -> bf16[B_XY, T, F]; r = silu(z)",
        "mesh X = 2, Y = 2 on ICI; input x: bf16[B_XY, T, D]; weight W: bf16[D, F]; y = x * W -> bf16[B_XY, T, F]; r = silu(y)",
    ),
}


@pytest.mark.thorough
@pytest.mark.part(1)
@pytest.mark.parametrize("name", MESHES)
@pytest.mark.parametrize("training", [False, True])
def test_on_a_mesh_a_view_costs_nothing(name, training):
    sizes = {"B": 8, "T": 16, "D": 64, "K": 4, "H": 16, "F": 32}
    found = []
    for text in MESHES[name]:
        program = read_program(text)
        there = {n: x for n, x in sizes.items() if n in program.dimensions or n in program.parameters}
        d = sr.derive(text, on="tpu-v5p", training=training, at=there)
        assert {step.check.status for step in d.steps if step.check} == {"proved"}
        names = ["flops_per_chip", "ops_per_chip", "bytes_per_chip", "weights_per_chip", "T_lower"]
        found.append([d.value(n) for n in (*names, *(["saved_per_chip", "gradients_per_chip"] if training else []))])
    assert found[0] == found[1]
    assert chip_costs(sr.derive(MESHES[name][0], on="tpu-v5p", training=True).setting.problem.operation)


test_what_a_view_cannot_share_out_is_said = refused(
    lambda text: sr.derive(f"mesh X = 4 on ICI; {text}", on="tpu-v5p"),
    ("input x: bf16[B, E_X]; where E = K*H; v = x -> bf16[B, K, H_X]; y = silu(v)", "a view exchanges nothing"),
    ("input x: bf16[B, E_X]; where E = K*H; v = x -> bf16[B, H, K_X]; y = silu(v)", "x_moved = x -> bf16[B, E]"),
    (
        "input x: bf16[B_X, D]; input z: bf16[B_X, K, H]; weight W: bf16[D, E_X]; where E = K*H; U = W -> bf16[D, K_X, H]; h = x * W -> bf16[B_X, E]; g = z * U -> bf16[B_X, D]",
        "both would be moved",
    ),
)


def test_a_head_is_on_one_chip():
    """Six heads are not shared out among four chips, although all of their elements are."""
    text = "mesh X = 4 on ICI; input x: bf16[B, E_X]; where E = K*H; v = x -> bf16[B, K_X, H]; y = silu(v)"
    assert sr.derive(text, on="tpu-v5p", at="B=8,K=8,H=16").value("bytes_per_chip") == 2 * 2 * 8 * 8 * 16 / 4
    with pytest.raises(SymroofError, match="K = 6 is not a multiple of X = 4"):
        sr.derive(text, on="tpu-v5p", at="B=8,K=6,H=16")


def test_what_is_read_once_is_read_for_every_name():
    """A chip has an eighth of the rows, and of the same tensor all rows under another name: it reads all of them, once."""
    text = "mesh X = 8 on ICI; input x: bf16[B_X, D]; g = x * x[B -> P] -> bf16[B_X, P]"
    d = sr.derive(text, on="tpu-v5p", at="B=16,D=64")
    assert d.value("bytes_per_chip") == 2 * 16 * 64 + 2 * 2 * 16
    assert d.value("sent(X)") == 2 * 16 * 64 * 7 / 8 / 2


def test_an_exchange_of_a_view_is_another_tensor():
    costs = []
    for text in ("z = x[B -> P]; w = z -> bf16[P, D]", "input z: bf16[P_X, D]; where P = B; w = z -> bf16[P, D]"):
        text = f"mesh X = 4 on ICI; input x: bf16[B_X, D]; {text}; g = x * w -> bf16[B_X, P]"
        d = sr.derive(text, on="tpu-v5p", at="B=8,D=64")
        costs.append([d.value(name) for name in ("bytes_per_chip", "sent(X)", "flops_per_chip")])
    assert costs[0] == costs[1] == [2 * (2 * 64 + 8 * 64 + 2 * 8), 2 * 8 * 64 * 3 / 4 / 2, 2 * 8 * 8 * 64 / 4]


@pytest.mark.thorough
def test_claims_about_heads_on_chips():
    right = "params = 4*D*K*H", "flops_per_chip = 6*B*T*D*K*H + 3*B*T^2*K*H", "saved_per_chip = 2*B*T*D + 2*B*T*K*H"
    claims = dict.fromkeys((*right, "sent(X) = 3*B*T*D"), "holds") | {"sent(X) = 2*B*T*D": "wrong"}
    asked = {"operation": MESHES["heads"][0], "training": True, "hardware": "tpu-v5p", "claims": list(claims)}
    assert [one.verdict for one in sr.verify(asked).judgements] == [*claims.values()]


@pytest.mark.parametrize("wrong", [(("E", "H"),), (("E", "B"),)])
def test_other_blocks_are_refused(monkeypatch, wrong):
    text = "mesh X = 4 on ICI; input x: bf16[B, D]; weight W: bf16[D, E_X]; where E = K*H; h = x * W -> bf16[B, E_X]; v = h -> bf16[B, K, {}]; y = silu(v)"
    label = wrong[0][1]
    text = text.format("H_X") if label == "H" else text.format("H").replace("bf16[B, K, H]", "bf16[B_X, K, H]")
    for module in (splits, mesh_sections):
        monkeypatch.setattr(module, "block_dimensions", lambda *_: wrong)
    with pytest.raises(CheckError, match="lies in other blocks"):
        sr.derive(text, on="tpu-v5p")


test_what_is_no_view_is_said = refused(
    read_program,
    ("input x: bf16[B, D]; v = x -> bf16[B, K, H]; y = relu(v)", "do not have as many elements"),
    ("input x: bf16[B, D]; where D = K*H; v = x -> fp32[B, K, H]; y = relu(v)", "keeps its type"),
    ("input x: bf16[B, D]; y = x * x[C -> P] -> bf16[B, P]", "x has no dimension C"),
    ("input x: bf16[B, D]; y = x * x[B -> D] -> bf16[B, D]", "D is a size of its own"),
    ("input x: bf16[B, D]; y = x * x[B -> 4] -> bf16[B, 4]", "4 is no name of a size"),
    ("input x: bf16[B, D]; y = x * x[B -> P_X] -> bf16[B, P]", "P_X is no name of a size"),
    ("input x: bf16[B, D]; input u: bf16[P, D]; y = u * x[B -> P] -> bf16[P]", "P is a size of its own"),
    ("input x: bf16[B, D]; y = x * x[B] -> bf16[B]", "expected '->'"),
    ("input x: bf16[B, D]; y = x * x[B -> P", "expected ',' or ']'"),
)


def test_a_view_that_is_counted_is_noticed():
    """Were a view a tensor of its own, the bytes would be others: the second engine reads the same word of it, so this law does
    not rest on that."""
    honest = sr.operation(PROGRAMS["heads"]).cost().bytes
    changed = functions.VIEW
    object.__setattr__(changed, "lies", "")
    try:
        assert (sr.operation(PROGRAMS["heads"]).cost().bytes - honest).expand() != 0
    finally:
        object.__setattr__(changed, "lies", "view")


def test_a_producer_that_reads_a_view_as_another_tensor_is_refused(monkeypatch):
    monkeypatch.setattr(Memory, "root", lambda self, name, repeats=(): name)
    with pytest.raises(CheckError):
        counted(PROGRAMS["gram"])
