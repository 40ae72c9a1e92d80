"""Modules of PyTorch as programs: run on numbers a program makes what the module makes, its products are those that PyTorch counts, and
what no statement says is told with its line. Skipped where PyTorch is not installed, and not with SYMROOF_REQUIRE_TORCH=1."""

import os
from itertools import permutations
from pathlib import Path
from shlex import split

import numpy as np
import pytest
from interpreter import Interpreter
from test_training import at
from texts import refused

import symroof as sr
from symroof.reading.programs import read_program
from symroof.tracing import aten_equations, tracer
from symroof.tracing.traced import TracingError
from symroof.tracing.tracer import written

if os.environ.get("SYMROOF_REQUIRE_TORCH") == "1":
    import torch
else:
    torch = pytest.importorskip("torch")
import traced_modules as ms

MODULES = {
    "MLP": ({"x": "fp64[B, T, D]"}, "D, F"),
    "Gated": ({"x": "fp64[B, D]"}, "D, F"),
    "Normed": ({"x": "fp64[B, D]"}, "D, F"),
    "Attention": ({"x": "fp64[B, T, N*H]"}, "N*H, N"),
    "Repeated": ({"x": "fp64[B, T, K*G*H]"}, "K*G*H, K*G, K"),
    "Experts": ({"x": "fp64[T, D]"}, "D, E, F"),
    "Tokens": ({"ids": "int64[B, T]"}, "V, D"),
    "Cached": ({"x": "fp64[B, T, D]", "cache": "cache fp64[B, P, D]"}, "D"),
}
BLOCK = {"x": "bf16[B, T, K*G*H]"}, "K*G*H, K*G, K, F"
# The same layer as an author of programs would write it.
BY_HAND = """
input x: bf16[B, T, D]
weight n1, n2: bf16[D]
weight Wq: bf16[D, K, G, H]
weight Wk, Wv: bf16[D, K, H]
weight Wo: bf16[K, G, H, D]
weight W1, W3: bf16[D, F]
weight W2: bf16[F, D]
where D = K*G*H, S = T
xn = rms_norm(x, n1)
q = xn * Wq -> bf16[B, T, K, G, H]
k = xn * Wk -> bf16[B, T, K, H]
v = xn * Wv -> bf16[B, T, K, H]
fuse {
  s = q * k[T -> S] -> bf16[B, T, S, K, G] masked S <= T from the first
  z = s / sqrt(H)
  p = softmax(z, S)
  o = p * v[T -> S] -> bf16[B, T, K, G, H]
}
r = o * Wo -> bf16[B, T, D]
y = x + r
yn = rms_norm(y, n2)
h = yn * W1 -> bf16[B, T, F]
a = silu(h)
g = yn * W3 -> bf16[B, T, F]
m = a * g -> bf16[B, T, F]
w = m * W2 -> bf16[B, T, D]
e = y + w
"""


def of(name):
    shapes, init = MODULES[name]
    return written(getattr(ms, name), shapes, init=init)


# What is run on numbers: a norm that is written out adds a number that the interpreter does not know.
@pytest.mark.thorough
@pytest.mark.part(1)
@pytest.mark.parametrize("name", [name for name in MODULES if name != "Normed"])
def test_a_program_makes_what_the_module_makes(name):
    shapes, init = MODULES[name]
    program = read_program(of(name))
    sizes = {n: 2 + i % 3 for i, n in enumerate(program.sizes)}
    for size in program.where:
        sizes[size] = int(at(program.resolved(sr.symbols.symbol(size)), sizes))
    built = [eval(part, {}, sizes) for part in init.split(",")]
    module, random = getattr(ms, name)(*built).double().eval(), np.random.default_rng(2)
    declared = {}
    for one in program.declared:
        shape = [int(label) if label.isdigit() else sizes[label] for label in one.tensor.labels]
        drawn = random.integers(0, 2, size=shape) if one.tensor.dtype.integer else random.normal(size=shape)
        declared[str(one.tensor.name), ()] = drawn
    with torch.no_grad():
        for path, parameter in module.named_parameters():
            parameter.copy_(torch.from_numpy(declared[_called(path), ()]))
        arguments = [torch.from_numpy(np.asarray(declared[n, ()])) for n in shapes]
        expected = module(*arguments).numpy()
    found = Interpreter(program, sizes, declared)
    found.forward()
    made = np.asarray(found.returned[str(program.results[0].name)][-1])
    orders = (np.transpose(made, o) for o in permutations(range(made.ndim)))
    assert any(one.shape == expected.shape and np.allclose(one, expected, atol=1e-3) for one in orders)


def _called(path):
    return path.removesuffix(".weight").replace(".", "_")


@pytest.mark.thorough
@pytest.mark.part(1)
@pytest.mark.parametrize("name", [*MODULES, "Encoder", "Pixels", "Stem"])
def test_a_program_is_read_back_derived_and_trained(name):
    more = {"Encoder": ({"x": "bf16[B, T, N*H]"}, "N*H, N, F"), "Pixels": ({"x": "bf16[N, C, P, Q]"}, "C, K")}
    more |= {"Stem": ({"x": "bf16[N, C, 4*P, 4*Q]"}, "C, K")}
    shapes, init = (MODULES | more)[name]
    text = written(getattr(ms, name), shapes, init=init)
    program = read_program(text)
    assert read_program(str(program)) == program
    assert {step.check.status for step in sr.derive(text, on="h100").steps} == {"proved"}
    if name not in ("Tokens", "Pixels"):
        sr.derive(text, on="h100", training=True)


@pytest.mark.thorough
def test_a_layer_is_what_its_author_would_write():
    text = written(ms.Block, BLOCK[0], init=BLOCK[1])
    sizes = {"B": 4, "T": 64, "K": 2, "G": 4, "H": 16, "F": 352}
    traced, own = (sr.derive(t, on="h100", at=sizes) for t in (text, BY_HAND))
    for name in ("flops", "ops", "params", "reads", "writes"):
        assert traced.value(name) == own.value(name), name
    trained, other = (sr.derive(t, on="h100", at=sizes, training=True) for t in (text, BY_HAND))
    for name in ("flops", "ops", "saved", "gradients"):
        assert trained.value(name) == other.value(name), name


@pytest.mark.thorough
def test_its_products_are_those_that_pytorch_counts():
    """Masks in full, at numbers of a real layer; every trace is held against the same counter at numbers of its own."""
    from torch.utils.flop_counter import FlopCounterMode

    text = written(ms.Block, BLOCK[0], init=BLOCK[1])
    with torch.device("meta"):
        module, x = ms.Block(128, 8, 2, 352), torch.empty(4, 64, 128)
    counter = FlopCounterMode(display=False)
    with counter:
        module(x)
    whole = text.replace(" masked R <= T from the first", "").replace(" masked Q <= T from the first", "")
    assert "masked" in text
    assert "masked" not in whole
    d = sr.derive(whole, on="h100", at="B=4,T=64,K=2,G=4,H=16,F=352")
    assert d.value("flops") == counter.get_total_flops()
    assert d.value("params") == sum(p.numel() for p in module.parameters())


@pytest.mark.thorough
def test_keys_that_are_repeated_are_read_once():
    """A product of a group of queries takes the keys as they are."""
    text = of("Repeated")
    program = read_program(text)
    assert not any("K*G" in line and "repeat" in line for line in text.split("\n"))
    sizes = "B=2,T=16,K=2,G=4,H=8"
    d = sr.derive(text, on="h100", at=sizes)
    made = [line.statement for line in program.forward if line.statement.contracts]
    scores = next(one for one in made if "T" in one.result.labels and len(one.result.labels) == 5)
    assert d.value(f"reads({scores.name})") == 8 * (2 * 16 * 64 + 2 * 16 * 16)


@pytest.mark.thorough
def test_layers_of_a_loop_are_turns():
    text = written(ms.Stack, BLOCK[0], init=BLOCK[1])
    assert "repeat 100 as x = " in text
    one = sr.derive(written(ms.Block, BLOCK[0], init=BLOCK[1]), on="h100", at="B=4,T=64,K=2,G=4,H=16,F=352")
    every = sr.derive(text, on="h100", at="B=4,T=64,K=2,G=4,H=16,F=352")
    assert every.value("flops") == 100 * one.value("flops")
    assert every.value("params") == 100 * one.value("params")


@pytest.mark.thorough
def test_a_class_may_be_a_function_of_the_table():
    text = written(ms.Normed, *[MODULES["Normed"][0]], init="D, F", functions={"RMSNorm": "rms_norm"})
    assert "rms_norm(x, norm)" in text
    assert "rsqrt" in written(ms.Normed, MODULES["Normed"][0], init="D, F")


@pytest.mark.thorough
def test_a_stride_that_does_not_divide_a_size_is_told():
    shapes = {"input": "bf16[N, C, P, Q]"}
    with pytest.raises(TracingError, match="every 5th place of a size that was"):
        written(torch.nn.Conv2d, shapes, init="C, K, 5, 5")
    assert "windows(input)" in written(torch.nn.Conv2d, {"input": "bf16[N, C, 5*P, 5*Q]"}, init="C, K, 5, 5")


@pytest.mark.thorough
def test_a_module_with_numbers_gets_names():
    module = ms.Block(128, 8, 2, 352).bfloat16()
    names = {"K": 2, "G": 4, "H": 16, "D": "K*G*H", "F": 352}
    text = written(module, {"x": "bf16[B, T, D]"}, names=names)
    assert text.startswith("# K = 2, G = 4, H = 16, F = 352 in the module that was traced\n")
    assert all(parameter.device.type == "cpu" for parameter in module.parameters())
    d = sr.derive(text, on="h100", at="B=4,T=64,K=2,G=4,H=16,F=352")
    assert d.value("params") == sum(p.numel() for p in module.parameters())
    plain = written(ms.MLP(64, 256), {"x": "fp32[B, T, 64]"})
    assert "fp32[256, 64]" in plain


@pytest.mark.thorough
def test_a_function_of_tensors_is_a_program():
    text = written(ms.projected, {"x": "bf16[B, D]", "w": "weight bf16[D, F]", "v": "weight bf16[F, D]"})
    assert "relu(h)" in text
    assert "# traced_modules.py:" in text
    program = sr.trace(ms.projected, x="bf16[B, D]", w="weight bf16[D, F]", v="weight bf16[F, D]")
    assert str(read_program(text)) == str(program)


@pytest.mark.thorough
def test_weights_of_turns_of_turns_are_counted():
    """A layer that is applied twice is one; layers that take parts of one weight take different ones: neither is a repeat of them."""
    twice = read_program(written(ms.Twice, {"x": "bf16[B, D]"}, init="D"))
    assert str(twice.resolved(twice.stock("weight"))) == "4*D**2"
    text = written(ms.Stacked, {"x": "bf16[B, D]"}, init="D")
    assert text.count("slice(w, 6, 1)") == 6
    assert "repeat" not in text
    trained = sr.derive(text, on="h100", at="B=2,D=8", training=True)
    assert trained.value("gradients") == 2 * 6 * 8 * 8


@pytest.mark.thorough
def test_parameters_are_counted_against_those_of_the_module(monkeypatch):
    honest = tracer.Writer.text
    monkeypatch.setattr(tracer.Writer, "text", lambda *of: honest(*of).replace("repeat 100", "repeat 50"))
    monkeypatch.setattr(tracer, "_require_same", lambda *rest: None)
    with pytest.raises(TracingError, match="parameters"):
        written(ms.Stack, BLOCK[0], init=BLOCK[1])


@pytest.mark.parametrize(("given", "sign"), [("bias", "+"), ("gain", "*"), ("more", "-")])
def test_arguments_that_are_left_out_stay_out(given, sign):
    text = written(ms.Optional, {"x": "bf16[B, D]", given: "bf16[B, D]"}, init="D")
    assert f" {sign} {given} -> " in text


@pytest.mark.thorough
def test_what_modules_do_of_their_own_is_written():
    """What is changed in place is another tensor, a softmax in a wider type converts, and what is compared is read."""
    assert written(ms.InPlace, {"x": "bf16[B, T, D]"}, init="D").count("relu(") == 2
    text = written(ms.Wide, {"x": "bf16[B, T, D]"}, init="D")
    assert "convert(" in text
    assert "-> fp32[B, T, " in text
    assert "x - y" in written(ms.larger, {"x": "bf16[B, D]", "y": "bf16[B, D]"})


@pytest.mark.thorough
def test_numbers_of_a_module_are_multiples_of_named_ones():
    module = ms.Fused(64, 4)
    text = written(module, {"x": "fp32[B, T, D]"}, names={"N": 4, "H": 16, "D": "N*H"})
    assert "where S = 3*D" in text
    assert sr.derive(text, on="h100", at="B=2,T=8,N=4,H=16").value("params") == 3 * 64 * 64
    with pytest.raises(TracingError, match="is no number"):
        written(module, {"x": "fp32[B, T, D]"}, names={"N": 4, "D": "N*Q"})


def test_one_place_is_no_dimension():
    text = written(ms.broadcast, {"x": "bf16[B, T, D]", "c": "bf16[B, 1, D]"})
    assert "input c: bf16[B, D]" in text
    assert {step.check.status for step in sr.derive(text, on="h100").steps} == {"proved"}


def test_each_bound_is_a_comparison():
    assert sr.derive(written(ms.clamped, {"x": "bf16[N]"}), on="h100", at="N=8").value("ops") == 2 * 8


def test_the_command_takes_names_of_numbers(monkeypatch, run):
    monkeypatch.chdir(Path(__file__).parent)
    asked = "traced_modules.py:INSTANCE", "--shape", "x=fp32[B, T, D]", "--name", "D=64", "--name", "F=256"
    head = "# D = 64, F = 256 in the module that was traced\ninput x: fp32[B, T, D]\n"
    assert run("trace", *asked).out.startswith(head)


test_what_no_statement_says_is_told = refused(
    lambda name, shapes, options: written(getattr(ms, name), shapes, **options),
    ("Dropped", {"x": "bf16[B, D]"}, {"init": "D"}, "a dropout of training"),
    ("Recurrent", {"x": "bf16[B, T, D]"}, {"init": "D"}, "lstm of"),
    ("nothing_known", {"x": "bf16[B, D]"}, {}, "traced_modules.py:"),
    ("by_size", {"x": "bf16[B, D]", "w": "bf16[D, F]"}, {}, "what is computed depends on the sizes"),
    ("MLP", {"x": "bf16[B, E]"}, {"init": "D, F"}, "the function fails with"),
    ("MLP", {"y": "bf16[B, D]"}, {}, "has no parameter 'y'"),
    ("by_size", {"x": "bf16[B, D]", "w": "bf16[D, F]"}, {"init": "D, F"}, "the function fails"),
)


def test_a_program_that_multiplies_something_else_is_refused(monkeypatch):
    monkeypatch.setattr(aten_equations.AtenReader, "aten_linear", lambda self, call: call.arguments[0])
    with pytest.raises(TracingError):
        written(ms.MLP, MODULES["MLP"][0], init="D, D")


@pytest.mark.thorough
def test_the_documentation_shows_what_is_written(monkeypatch, run):
    root = Path(__file__).parent.parent
    text = (root / "docs" / "trace.md").read_text("utf-8").partition("## Modules of PyTorch")[2]
    command = text[text.index("    symroof trace") :].split("-o block.toml")[0]
    monkeypatch.chdir(root)
    assert run(*split(command)[1:]).out.rstrip() == text.split("```text\n")[1].split("\n```")[0]
