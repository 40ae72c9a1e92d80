"""Functions of JAX as programs: run on numbers a program makes what the function makes, its products are those of the function at
numbers that it was not written from, and what no statement says is told with its line. Skipped where JAX is not installed, and not
with SYMROOF_REQUIRE_JAX=1."""

import importlib.util
import os
import re
from dataclasses import replace
from inspect import signature
from math import prod
from pathlib import Path
from shlex import split

import numpy as np
import pytest
from interpreter import interpreter, is_alike, small, stacked
from texts import refused

import symroof as sr
from symroof.errors import SymroofError
from symroof.formula import number
from symroof.model.kernels import costs_of
from symroof.model.placement import placements
from symroof.model.program_quantities import amounts
from symroof.model.program_tree import SUM, Statement
from symroof.model.transforms import with_backward
from symroof.reading.meshes import meshed
from symroof.reading.programs import read_program
from symroof.symbols import expression
from symroof.tracing import lowering
from symroof.tracing.jaxprs import dot_flops, jaxpr_of
from symroof.tracing.signatures import Signature
from symroof.tracing.size_names import Sizes, formula_of
from symroof.tracing.tracer import program_text
from symroof.tracing.traces import TracingError

if os.environ.get("SYMROOF_REQUIRE_JAX") == "1":
    import jax
else:
    jax = pytest.importorskip("jax")
import traced_functions as fs

w = "weight fp64"
TYPES = {
    "mlp": {"x": "fp64[B, T, D]", "W1": f"{w}[D, F]", "W2": f"{w}[F, D]"},
    "gated": {"x": "fp64[B, D]", "W1": f"{w}[D, F]", "W3": f"{w}[D, F]", "W2": f"{w}[F, D]"},
    "plain_attention": {"x": "fp64[B, T, D]"} | dict.fromkeys(("Wq", "Wk", "Wv"), f"{w}[D, N, H]") | {"Wo": f"{w}[N, H, D]"},
    "heads": {"x": "fp64[B, T, D]"} | dict.fromkeys(("Wq", "Wk", "Wv"), f"{w}[D, 4*H]") | {"Wo": f"{w}[4*H, D]"},
    "patches": {"x": "fp64[B, 4*P, 4*Q, C]", "We": f"{w}[16*C, D]", "p": f"{w}[P*Q, D]", "W1": f"{w}[D, F]", "W2": f"{w}[F, D]"},
    "experts": {"x": "fp64[T, D]", "router": f"{w}[D, E]", "W1": f"{w}[E, D, F]", "W2": f"{w}[E, F, D]"},
    "scanned": {"x": "fp64[B, D]", "W": f"{w}[L, D, F]", "V": f"{w}[L, F, D]"},
    "tied": {"x": "fp64[B, D]", "W": f"{w}[D, F]", "V": f"{w}[L, F, D]"},
    "layers": {"x": "fp64[B, D]", "layers": [{"up": f"{w}[D, F]", "down": f"{w}[F, D]"}] * 3},
    "remade": {"x": "fp64[B, D]", "W1": f"{w}[D, F]", "W2": f"{w}[F, D]"},
    "rows": {"ids": "int32[B, T]", "E": f"{w}[V, D]", "W": f"{w}[D, V]"},
    "normed": {"x": "fp64[B, D]", "g": f"{w}[D]", "b": f"{w}[D]"},
    "halves": {"x": "fp64[B, D]", "W": f"{w}[D, 2*F]", "V": f"{w}[F, D]"},
    "rotated": {"x": "fp64[T, D]", "W": f"{w}[D, 2*H]", "c": "fp64[T, 2*H]", "s": "fp64[T, 2*H]"},
    "prefixed": {"x": "fp64[B, T, D]", "m": f"{w}[B, P, D]", "W": f"{w}[D, F]"},
    "all_but_one": {"x": "fp64[B, T, D]", "W": f"{w}[D, F]"},
    "together": {"x": "fp64[B, T, D]", "W": f"{w}[D, 3*H]", "V": f"{w}[H, D]"},
    "repeated_keys": {"x": "fp64[B, T, D]", "Wq": f"{w}[D, 12*H]", "Wk": f"{w}[D, 4*H]"},
    "both": {"x": "fp64[B, D]", "y": "fp64[B, D]", "W": f"{w}[D, F]"},
    "convolved": {"x": "fp64[N, P, Q, C]", "k": f"{w}[3, 3, C, K]"},
    "strided": {"x": "fp64[N, 4*P, 2*Q, C]", "k": f"{w}[3, 3, C, K]", "m": f"{w}[3, 3, K, J]"},
    "within": {"x": "fp64[N, P, Q, C]", "k": f"{w}[3, 2, C, K]"},
    "two_states": {"x": "fp64[B, D]", "m": "fp64[B, D]", "W": f"{w}[L, D, F]", "V": f"{w}[L, F, D]"},
    "recurrent": {"x": "fp64[T, B, D]", "h": "fp64[B, H]", "W": f"{w}[D, H]", "U": f"{w}[H, H]", "V": f"{w}[H, F]"},
    "gated_cell": {"x": "fp64[T, B, D]", "W": f"{w}[D, 4*H]", "U": f"{w}[H, 4*H]"},
    "selective": {"x": "fp64[T, B, D]", "d": "fp64[T, B, D]", "b": "fp64[T, B, N]", "c": "fp64[T, B, N]", "A": f"{w}[D, N]", "h": "fp64[B, D, N]"},
    "every_layer": {"x": "fp64[B, D]", "W": f"{w}[L, D, F]", "V": f"{w}[L, F, D]"},
    "cached": {"x": "fp64[B, D]", "K": "cache fp64[B, S, H]", "W": f"{w}[D, H]", "pos": "int64[]"},
    "made_and_scanned": {"x": "fp64[T, B, D]", "W": f"{w}[D, H]", "U": f"{w}[H, H]"},
}  # fmt: skip
# What is run on numbers: the rest has functions that the interpreter knows in another form.
RUN = [name for name in TYPES if name != "patches"]
# Functions that do not return all that they carry.
STATES = ("gated_cell", "selective")
OWN = {"rms_norm": "rms_norm", "rope": "rope"}
LLAMA = {"x": "bf16[B, T, D]", **dict.fromkeys(("n1", "n2"), "weight bf16[D]"), "Wq": "weight bf16[D, K, G, H]"}
LLAMA |= {**dict.fromkeys(("Wk", "Wv"), "weight bf16[D, K, H]"), "Wo": "weight bf16[K, G, H, D]"}
LLAMA |= {"W1": "weight bf16[D, F]", "W3": "weight bf16[D, F]", "W2": "weight bf16[F, D]"}
TURNS = {"a": "weight bf16[L, D, F]", "b": "weight bf16[L, F, D]"}


def example():
    """The layer that the documentation shows."""
    place = Path(__file__).parent.parent / "examples" / "jax" / "layer.py"
    spec = importlib.util.spec_from_file_location("layer", place)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.layer


def of(name, **options):
    return program_text(getattr(fs, name), TYPES[name], **options)


@pytest.mark.part(1)
@pytest.mark.parametrize("name", RUN)
def test_a_program_makes_what_the_function_makes(name):
    program = read_program(of(name))
    sizes = small(program)
    found = interpreter(program, sizes)
    for declared in program.declared:
        if declared.frozen:  # what is carried begins as zeros
            found.declared[str(declared.tensor.name), ()][...] = 0
    found.forward()
    arrays = stacked(found.declared)
    results = program.results
    jax.config.update("jax_enable_x64", True)
    arguments = {n: arrays.get(n, sizes.get("S", 0) - 1) for n in TYPES[name]}  # the last place is written to
    if name == "layers":
        each = zip(arrays["up"], arrays["down"], strict=True)
        arguments = {"x": arrays["x"], "layers": [{"up": u, "down": d} for u, d in each]}
    returned = getattr(fs, name)(**arguments)
    expected = [np.asarray(one) for one in (returned if isinstance(returned, tuple) else (returned,))]
    jax.config.update("jax_enable_x64", False)
    made = [np.asarray(found.returned[str(result.name)][-1]) for result in results]
    carried = {n for line in program.forward for repeat in line.repeats for n in repeat.leaves}
    unasked = [str(result.name) for result in results if str(result.name) in carried and name in STATES]
    assert len(made) - len(unasked) == len(expected)
    for one in expected:
        assert any(is_alike(other, one) for other in made)


@pytest.mark.thorough
@pytest.mark.part(1)
@pytest.mark.parametrize("name", TYPES)
def test_a_program_is_read_back_derived_and_trained(name):
    text = of(name)
    program = read_program(text)
    assert read_program(str(program)) == program
    assert {s.check.status for s in sr.derive(text, on="h100").steps if s.check} == {"proved"}
    if name not in ("rows", "cached"):  # what is looked up, or appended to, has no derivative
        sr.derive(text, on="h100", training=True)


def test_a_function_is_written_as_its_author_would():
    assert of("mlp") == (
        "input  x: fp64[B, T, D]\nweight W1: fp64[D, F]\nweight W2: fp64[F, D]\n"
        "h = x * W1 -> fp64[B, T, F]  # traced_functions.py:10\na = gelu(h)  # traced_functions.py:11\n"
        "t1 = a * W2 -> fp64[B, T, D]  # traced_functions.py:12\n"
    )


# Products in which nothing is contracted are none for JAX either; of convolutions with strides it multiplies zeros.
VJP = (
    "mlp", "gated", "plain_attention", "heads", "patches", "experts", "layers", "remade", "halves", "repeated_keys", "recurrent",
    "gated_cell", "scanned", "tied", "every_layer",
)  # fmt: skip
# The bytes that jax.vjp keeps beside those that a program keeps, where functions of libraries keep what they take, or make.
KEPT = {
    "plain_attention": "8",  # the root of H, a number
    "heads": "48*B*T^2 + 32*B*T",  # JAX fuses no attention: scores in two types, and two numbers of each row
    "repeated_keys": "64*B*H*T",  # keys as they were repeated, of which a program reads the first ones again
    "recurrent": "16*B*H*T - 8*B*H",  # of each turn what enters, leaves and is stacked: to a program they are one tensor
}
TAKEN, MADE = ("nn.gelu", "nn.silu"), ("nn.softmax", "nn.sigmoid", "numpy.tanh")


def of_vjp(name, function):
    """What is made of the result of jax.vjp and its transpose, on symbolic shapes."""

    def called(*arguments):
        return function(*jax.vjp(getattr(fs, name), *arguments))

    called.__signature__ = signature(getattr(fs, name))
    arguments = Signature(called, TYPES[name], of_torch=False)
    jaxpr = jaxpr_of(called, arguments)
    return jaxpr, Sizes(arguments.free, arguments.numbers, arguments.scales), arguments


def keeping(function, made):
    """A function of rows or elements whose derivative reads what it has made, or takes again what it is of."""
    own = jax.custom_vjp(lambda x: function(x))

    def ahead(x):
        return (y := function(x)), y if made else x

    own.defvjp(ahead, lambda kept, g: (kept * g,) if made else jax.vjp(function, kept)[1](g))
    return lambda x, axis=-1: own(x)


@pytest.mark.part(3)
@pytest.mark.parametrize("name", VJP)
def test_a_training_step_multiplies_and_keeps_what_jax_does(name, monkeypatch):
    """The FLOPs of its products are those of the dot_generals of jax.vjp, and what it keeps are the arrays that the transpose holds,
    but for weights and places: as polynomials."""
    program = with_backward(read_program(of(name)))
    jaxpr, sizes, _ = of_vjp(name, lambda made, back: (made, back(jax.tree_util.tree_map(jax.numpy.ones_like, made))))
    flops = program.resolved(sum(cost.flops for cost in costs_of(program).values()))
    assert (flops - dot_flops(jaxpr, sizes)).expand() == 0
    for path in (*TAKEN, *MADE):
        module, function = path.split(".")
        own = getattr(getattr(jax, module), function)
        monkeypatch.setattr(getattr(jax, module), function, keeping(own, path in MADE))
    jaxpr, sizes, arguments = of_vjp(name, lambda made, back: jax.tree_util.tree_leaves(back))
    weights = {v for v, n in zip(jaxpr.invars, arguments.leaves, strict=True) if arguments.types[n].role == "weight"}
    kept = {var for var in jaxpr.outvars if not hasattr(var, "val") and var.aval.dtype.kind != "i"} - weights
    total = sum(var.aval.dtype.itemsize * prod(map(sizes.size, var.aval.shape)) for var in kept)
    more = expression(formula_of(KEPT.get(name, "0")))
    assert (total - more - program.resolved(amounts(program, "fma")["saved"])).expand() == 0


# The arrays of an MLP as they are split: x, W1, W2, what is made of them, and what chips then send, forward and back.
SPLITS = {
    "data": ("B_X, D", "D, F", "F, D", "B_X, F", "B_X, D", {"all-reduce"}),
    "tensor": ("B, D", "D, F_Y", "F_Y, D", "B, F_Y", "B, D", {"all-reduce"}),
    "fsdp": ("B_X, D", "D_X, F", "F_X, D", "B_X, F", "B_X, D", {"all-gather", "reduce-scatter"}),
    "both": ("B_X, D_Y", "D_X, F_Y", "F_Y, D_X", "B_X, F_Y", "B_X, D_Y", {"all-gather", "reduce-scatter"}),
}


@pytest.mark.parametrize("name", SPLITS)
def test_what_is_split_in_code_is_the_program_that_is_split_by_hand(name):
    """By the types of arguments, or by constraints on a mesh, which has numbers of chips."""
    *arrays, sent = SPLITS[name]
    x, W1, W2, h, y = (f"bf16[{dims}]" for dims in arrays)
    types = {"x": x, "W1": f"weight {W1}", "W2": f"weight {W2}"}
    axes = {"data": "X", "tensor": "Y", "fsdp": "X", "both": "X=4, Y=2"}[name]
    hand = f"mesh {axes}; input x: {x}; weight W1: {W1}; weight W2: {W2}; h = x * W1 -> {h}; a = gelu(h); t1 = a * W2 -> {y}"
    whole = {argument: re.sub("_[XY]", "", kind) for argument, kind in types.items()}
    traced = program_text(fs.constrained, whole) if name == "both" else program_text(fs.mlp, types)
    one, other = (with_backward(read_program(text)) for text in (traced, hand))
    assert str(one) == str(other)
    moves = [[place.moves for place in placements(meshed(program, {})[0])] for program in (one, other)]
    assert moves[0] == moves[1]
    assert {move.collective for each in moves[0] for move in each} == sent
    at = "B=64,D=32,F=16" + "".join(f",{axis}=4" for axis in axes if "=" not in axes)
    d = sr.derive(traced, on="tpu-v5p", training=True, at=at, mesh=f"{axes[0]} on DCN")
    assert d.value("flops_per_chip") == 12 * 64 * 32 * 16 / (8 if name == "both" else 4)


def test_what_is_used_is_exchanged_where_the_code_says_so():
    text, said = lines("gathered", x="bf16[B, D]", W1="weight bf16[D, F]", W2="weight bf16[F, D]")
    assert "t2 = a -> bf16[B, F]" in said
    assert "input  x: bf16[B_X, D]" in text


def test_a_layer_is_the_one_of_the_library():
    """The example is the decoder layer of the library, written in JAX: the same FLOPs, elementwise work, bytes and parameters."""
    text = program_text(example(), LLAMA, functions=OWN, fuse=("attention",))
    mine, theirs = sr.operation(text), sr.operation("decoder-layer")
    one, other = (amounts(program, "fma") for program in (mine, theirs))
    for what in ("params", "ops", "weights"):
        assert (one[what] - other[what]).expand() == 0, what
    assert (mine.cost().flops - theirs.cost().flops).expand() == 0
    assert (mine.cost().bytes - theirs.cost().bytes).expand() == 0
    assert text.count("fuse {") == 1
    assert "rope(" in text


def test_unrolled_layers_are_turns():
    types = {"x": "bf16[B, D]", "layers": [{"up": "weight bf16[D, F]", "down": "weight bf16[F, D]"}] * 100}
    text = program_text(fs.layers, types)
    assert "repeat 100 as x = " in text
    assert len(read_program(text).forward) == 4
    assert sr.derive(text, at="D=2,F=3").value("params") == 100 * 2 * 2 * 3


def test_turns_that_share_a_weight():
    assert "shared weight W: fp64[D, F]" in of("tied")
    assert "repeat L as x = " in of("tied")
    assert "recompute {" in of("remade")
    assert "lookup(E, ids)" in of("rows")
    assert "windows(x)" in of("convolved")
    assert "append(K, k, S)" in of("cached")
    assert "where S = 4*H" in of("heads")
    assert "fuse {" in of("heads")
    assert of("patches").count("rearrange(") == 1
    assert of("halves").count("slice(") == 2  # what is used twice is one slice, and another part of it another


def test_scans_have_places_and_what_is_stacked():
    text = of("recurrent")
    assert "scan T as h = " in text
    assert "x_t = place(x, T)" in text
    assert "collect(" in text
    assert "shared" not in text
    assert "frozen input start: fp64[B, H]  # begins as numbers" in of("gated_cell")
    text = of("every_layer")  # its weights are those of each turn
    assert "repeat L as x = " in text
    assert "collect(" in text
    assert "scan" not in text
    types = {"x": "bf16[T, B, D]", "h": "bf16[B, D]", "U": "weight bf16[D, D]"}
    assert program_text(fs.stacked_twice, types).count("collect(") == 1
    assert "from the last place to the first" in program_text(fs.last_first, types)
    assert "scan L as x = " in program_text(fs.made_before, {"x": "bf16[B, D]", "W": "weight bf16[L, D, D]"})
    inputs = {"x": "bf16[B, D]", "W": "bf16[L, D, F]", "V": "bf16[L, F, D]"}
    assert "W_l = place(W, L)" in program_text(fs.scanned, inputs)
    assert "frozen input start: bf16[B, D]" in program_text(fs.with_a_sum, {"x": "bf16[B, D]", "Ws": TURNS})


test_what_no_statement_says_is_told = refused(
    lambda name, types: program_text(getattr(fs, name), types),
    ("overlapping", {"x": "bf16[B, T, D]", "W": "bf16[D, F]"}, "two slices share places"),
    ("with_steps", {"x": "bf16[2*B, D]", "W": "bf16[D, F]"}, "a slice with steps"),
    ("padded", {"x": "bf16[B, D]", "W": "bf16[D, F]"}, "numbers are joined to an array"),
    ("while_loop", {"x": "bf16[B, D]", "W": "bf16[D, D]"}, "a while has no number of turns"),
    ("constrained", {"x": "bf16[B_Z, D]", "W1": "bf16[D, F]", "W2": "bf16[F, D]"}, "the mesh has no axis Z"),
    ("constrained", {"x": "bf16[6, D]", "W1": "bf16[D, F]", "W2": "bf16[F, D]"}, "6 is not a multiple of X = 4"),
    ("half_open", {"x": "bf16[B, D]", "W": "bf16[D, F]"}, "a constraint leaves open how an array is split"),
    ("mlp", {"x": "bf16[B_X, D_X]", "W1": "bf16[D, F]", "W2": "bf16[F, D]"}, "is split over X twice"),
    ("mlp", {"x": "bf16[B, 1_X]", "W1": "bf16[1, F]", "W2": "bf16[F, D]"}, "splits one place"),
    (
        "mlp",
        {"x": "bf16[B_X, D]", "W1": "bf16[D, F]", "W2": "bf16[F, D_X]"},
        "traced_functions.py:12: bf16[B_X, F] is split over X in B",
    ),
    (
        "scanned",
        {"x": "bf16[B, D]", "W": "weight bf16[L_X, D, F]", "V": "weight bf16[L_X, F, D]"},
        "chips share out the turns",
    ),
    ("on_chips", {"x": "bf16[B, D]", "W": "bf16[D, F]"}, "what chips do of their parts is not traced"),
    ("stacked", {"x": "bf16[B, D]", "W": "weight bf16[L, D, D]"}, "what is stacked is not made in the turns"),
    ("repeated", {"x": "bf16[B, D]"}, "what is repeated goes into another size"),
    ("nothing", {"x": "bf16[B, D]"}, "makes nothing of its arguments"),
    ("mlp", {"x": "bf16[B, D]", "W1": "bf16[D, F]"}, "there is no shape for W2"),
    ("mlp", {"x": "bf16[B, D]", "W1": "bf16[D, F]", "W2": "bf16[F, D]", "W4": "bf16[F, D]"}, "has no parameter 'W4'"),
    ("mlp", {"x": "bf16[B, D]", "W1": "bf16[E, F]", "W2": "bf16[F, D]"}, "the function fails with"),
    ("mlp", {"x": "bf16(B, D)", "W1": "bf16[D, F]", "W2": "bf16[F, D]"}, "is no shape"),
    ("mlp", {"x": "bf16[B, D=d]", "W1": "bf16[D, F]", "W2": "bf16[F, D]"}, "'D=d' is no size"),
    ("mlp", {"x": "bf17[B, D]", "W1": "bf16[D, F]", "W2": "bf16[F, D]"}, "unknown dtype"),
)


def test_sizes_that_are_fixed_are_numbers():
    types = {"x": "bf16[B, T, D]", **dict.fromkeys(("Wq", "Wk", "Wv"), "weight bf16[D, N, H=128]")}
    text = program_text(fs.plain_attention, types | {"Wo": "weight bf16[N, H=128, D]"})
    assert "bf16[D, N, 128]" in text
    assert "H" not in read_program(text).sizes


def test_a_size_whose_number_is_asked_for_is_told():
    """A branch on a size, and a root of one: the code runs at a number, which the text says with the line."""
    text = program_text(fs.branch, {"x": "bf16[B, D]", "W": "bf16[D, F]"})
    assert text.startswith("# traced at B = 348: traced_functions.py:")
    assert "relu(t1)" in text
    assert of("heads").startswith("# traced at H = ")
    shapes = {"x": "bf16[B, D]", "W": "bf16[D, F]"}
    assert "h = x * W -> bf16[B_XY, F]" in program_text(fs.rooted, shapes)  # over 8 chips
    assert "/ sqrt(H)" in of("heads")
    assert "traced at" not in of("plain_attention")


@pytest.mark.parametrize("fault", ["a product less", "a turn less", "one weight for all turns"])
def test_a_program_of_something_else_is_refused(monkeypatch, fault):
    """Its products and parameters are counted again, as polynomials, by the primitives of the function alone."""
    honest = lowering.find_repeats

    def wrong(*body):
        roll = honest(*body)
        (turns,) = roll.body
        up, act, down, end = turns.body
        if fault == "a product less":  # a sum of what was multiplied
            short = replace(act.result, name=down.name, dims=act.result.dims[:1])
            added = Statement(SUM, (act.result,), short)
            turns = replace(turns, body=(up, act, added, replace(end, operands=(end.operands[0], short))))
        elif fault == "a turn less":
            turns = replace(turns, times=number(2))
        else:
            roll = replace(roll, shared=frozenset(body[1]))
        return replace(roll, body=(turns,))

    assert "repeat 3" in of("layers")
    monkeypatch.setattr(lowering, "find_repeats", wrong)
    with pytest.raises(TracingError, match="the program that was written has"):
        of("layers")


def test_the_command_writes_a_problem(tmp_path, run):
    shapes = [part for name, kind in TYPES["mlp"].items() for part in ("--shape", f"{name}={kind}")]
    out = tmp_path / "mlp.toml"
    assert run("trace", f"{fs.__file__}:mlp", *shapes, "-o", str(out)).code == 0
    assert "gelu(h)" in out.read_text("utf-8")
    assert run("derive", str(out), "--on", "h100", "--brief").code == 0
    assert "did you mean mlp?" in run("trace", f"{fs.__file__}:mpl", *shapes).err
    for place, *told in (("mpl", *shapes), ("mlp",), ("mlp", "--shape", "x")):
        assert run("trace", f"{fs.__file__}:{place}", *told).code == 2
    assert run("trace", "mlp", *shapes).code == 2


def test_the_documentation_shows_what_is_written(monkeypatch, run):
    root = Path(__file__).parent.parent
    text = (root / "docs" / "trace.md").read_text("utf-8")
    command = text[text.index("    symroof trace") :].split("-o layer.toml")[0].replace("\\\n", " ")
    monkeypatch.chdir(root)
    assert run(*split(command)[1:]).out.rstrip() == text.split("```text\n")[1].split("\n```")[0]


def lines(name, **types):
    """The statements of a function, without what stands where."""
    text = program_text(getattr(fs, name), types)
    return text, [line.partition("  #")[0].strip() for line in text.split("\n")]


def test_what_chooses_between_two_uses_both():
    text, _ = lines("selected", x="bf16[B, D]", m="int32[B]", W1="weight bf16[D, F]", W2="weight bf16[D, F]")
    program = read_program(text)
    assert len(program.results) == 1
    assert {"m", "x"} <= {str(t.name) for line in program.forward for t in line.statement.operands}


def test_a_gradient_is_a_program_too():
    """What jax.grad makes is written out: a forward pass and, for each product, one for each operand that is asked for. What is
    transposed stands where its forward pass does, and is no call of it: every tensor but the gradients is used."""
    types = {"w": ["weight bf16[D, F]", "weight bf16[F, D]"], "x": "bf16[B, D]", "y": "bf16[B, D]"}
    program = sr.operation(program_text(jax.grad(fs.squared_error), types))
    assert len(program.results) == 2
    assert not program.training
    B, D, F = sr.dimensions("B D F")
    assert (program.cost().flops - 10 * B * D * F).expand() == 0


def test_loops_that_share_their_weights():
    text, said = lines("twice", x="bf16[B, D]", Ws=TURNS)
    assert sum(line.startswith("repeat L as") for line in said) == 2
    assert "shared" not in text
    D, F, L = sr.dimensions("D F L")
    assert (amounts(read_program(text), "fma")["params"] - 2 * D * F * L).expand() == 0
    text, said = lines("two_loops", x="bf16[B, D]", layers=["weight bf16[D, D]"] * 3)
    assert sum(line.startswith("shared weight") for line in said) == 3
    assert "repeat 2 as x" in text
    assert (amounts(read_program(text), "fma")["params"] - 3 * D**2).subs({sr.symbols.symbol("S"): D}).expand() == 0


def test_turns_multiply_something():
    text, said = lines("parts_of_a_weight", x="bf16[B, D]", W="weight bf16[6, D, D]")
    assert text.count("slice(W, 6, 1)") == 6  # each layer takes another part: no turns
    assert "repeat" not in text
    text, said = lines("clipped", x="bf16[B, D]", W="weight bf16[D, F]")
    assert "repeat" not in text
    assert sum(line.endswith(")") for line in said) == 2


def test_powers_and_scalars():
    _, said = lines("powers", x="bf16[B, D]")
    functions = {line.partition(" = ")[2].partition("(")[0] for line in said if "(x)" in line}
    assert functions == {"sqrt", "reciprocal", "exp"}
    assert any(line.endswith("x * x * x -> bf16[B, D]") for line in said)
    text, _ = lines("step", W="weight bf16[D, F]", g="bf16[D, F]", lr="bf16[]")
    assert "lr * g" in text


def test_functions_that_are_never_called_are_told():
    for options in ({"functions": {"nosuch.py:rms_norm": "rms_norm"}}, {"fuse": ("attend",)}, {"opened": ("softmax",)}):
        with pytest.raises(SymroofError, match="there is no call of"):
            of("mlp", **options)
    assert "tanh(" in of("mlp", opened=("gelu",))
