"""Modules of PyTorch as programs: run on numbers a program makes what the module makes, its products are those that PyTorch counts, and
what no statement says is told with its line. Skipped where PyTorch is not installed, and not with SYMROOF_REQUIRE_TORCH=1."""

import os
import re
from pathlib import Path

import numpy as np
import pytest
from interpreter import interpreter, is_alike, small, stacked
from texts import refused

import symroof as sr
from symroof.reading.programs import read_program
from symroof.tracing import aten_equations
from symroof.tracing.tracer import program_text
from symroof.tracing.traces import TracingError

if os.environ.get("SYMROOF_REQUIRE_TORCH") == "1":
    import torch
else:
    torch = pytest.importorskip("torch")
import traced_modules as ms

# Modules as PyTorch counts them: the types of their arguments, and what they are made with.
COUNTED = {
    "MLP": ("x: B, T, D", "D, F"),
    "Gated": ("x: B, D", "D, F"),
    "Plain": ("x: B, D", "D, F, 12"),
    "Repeated": ("x: B, T, K*G*H", "K*G*H, K*G, K"),
    "ViT": ("x: B, C, 4*P, 4*Q", "C, N*H, F, N"),
    "GPT2": ("input: B, T", "V, N*H, N, F"),
    "Block": ("x: B, T, K*G*H", "K*G*H, K*G, K, F"),
    "Cross": ("x: B, T, N*H; y: B, S, E", "N*H, N, E"),
    "Latent": ("x: B, T, N*H", "N*H, N, N*H, R"),
    "Experts": ("x: T, D", "D, E, F"),
    "LoRA": ("x: B, D", "D, F, R"),
    "Bottleneck": ("x: N, C, P, Q", "C, K"),
    "UNet": ("x: N, C, 2*P, 2*Q; skipped: N, K, P, Q", "C, K"),
    "RNN": ("x: B, 4, D; h: B, H", "D, H"),
    "SSM": ("x: B, T, D", "D, E"),
    "Convolutions": ("input: N, C, 2*P, 2*Q", "C, K"),
}
SIZES = dict(zip("BTDFCPQNHVKGSER", (2, 8, 16, 24, 8, 3, 5, 4, 8, 40, 12, 2, 6, 20, 4), strict=True))
# The bytes that PyTorch keeps for the backward pass beside those that a program keeps.
ROWS = "16*B*T", "4*B*N*T"  # two numbers of each row of two norms, and one of each row of attention
KEPT = {
    "ViT": "16*B*P*Q",
    "GPT2": "+".join(ROWS),
    "Block": "8*B*T + 8*B*T*K*G*H + 4*B*T*K*G",  # a number of each row, and what a norm multiplies by its weight
    "Repeated": "8*B*T*K*H*(G - 1)",  # keys and values as they were repeated, of which a program reads the first again
    "Cross": ROWS[1],
    "Latent": ROWS[1],
    "Experts": "4*D*E*F",  # a weight, as einsum moves it
    "Bottleneck": "-4*(2*K + C)",  # the roots of variances, which it takes again
    "UNet": "32*N - 16*N*K*P*Q",  # the numbers of groups, and no product with weights: what was normal it makes again
    "SSM": "4*B*T*E",  # the other half of what a slice is of
}


def case(name):
    """What makes a module, the types of its arguments, its numbers, and the text that is traced of it."""
    arguments, init = COUNTED[name]
    types = dict(part.split(": ") for part in arguments.split("; "))
    make = {"Cross": ms.Heads, "Latent": ms.Heads}.get(name) or getattr(ms, name)
    kind = "int64" if name == "GPT2" else "fp32"
    return make, types, init, program_text(make, {n: f"{kind}[{dims}]" for n, dims in types.items()}, init=init)


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["MLP", "Gated", "Repeated", "Cross", "Experts", "LoRA", "RNN", "SSM"])
def test_a_program_makes_what_the_module_makes(name):
    make, types, init, text = case(name)
    program = read_program(text)
    sizes = small(program)
    module = make(*(eval(part, {}, sizes) for part in init.split(","))).double().eval()
    found = interpreter(program, sizes)
    arrays = stacked(found.declared)
    with torch.no_grad():
        for path, parameter in module.named_parameters():
            called = path.removesuffix(".weight").replace(".", "_")
            parameter.copy_(torch.from_numpy(arrays.get(f"p_{called}", arrays.get(called))).view(parameter.shape))
        expected = module(*(torch.from_numpy(arrays[name]) for name in types)).numpy()
    found.forward()
    assert is_alike(np.asarray(found.returned[str(program.results[0].name)][-1]), expected)


@pytest.mark.part(3)
@pytest.mark.parametrize("name", COUNTED)
def test_a_module_costs_what_pytorch_counts(name):
    """Its FLOPs, its parameters, what has a gradient, and what is kept for the backward pass."""
    from torch.utils.flop_counter import FlopCounterMode

    make, types, init, text = case(name)
    program = read_program(text)
    assert read_program(str(program)) == program
    sizes = {size: SIZES[size] for size in program.dimensions}
    full = sr.derive(re.sub(r" masked .* from the first", "", text), on="h100", at=sizes)
    trained = sr.derive(text, on="h100", at=sizes, training=True)
    built = [eval(size, {}, SIZES) for size in init.split(",")]
    shapes = [[eval(size, {}, SIZES) for size in dims.split(",")] for dims in types.values()]
    kind = torch.int64 if name == "GPT2" else torch.float32
    with torch.device("meta"), (counter := FlopCounterMode(display=False)):
        drawn = [torch.empty(shape, dtype=kind) for shape in shapes]
        make(*built).eval()(*drawn)
    assert {step.check.status for step in full.steps} == {"proved"}
    assert name != "Plain" or "repeat 12 as x = " in text
    assert full.value("flops") == counter.get_total_flops()
    module, saved = make(*built).eval(), {}
    parameters = [*module.parameters(), *module.buffers()]
    assert full.value("params") == sum(p.numel() for p in module.parameters())
    assert trained.value("gradients") == sum(4 * p.numel() for p in module.parameters() if p.requires_grad)
    own = {tensor.untyped_storage().data_ptr() for tensor in parameters}

    def pack(tensor):
        saved[tensor.untyped_storage().data_ptr()] = tensor
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        drawn = [torch.randint(0, 4, s) if name == "GPT2" else torch.randn(s, requires_grad=True) for s in shapes]
        module(*drawn)
    kept = sum(tensor.untyped_storage().nbytes() for key, tensor in saved.items() if key not in own)
    assert kept == trained.value("saved") + eval(KEPT.get(name, "0"), {}, SIZES)


@pytest.mark.thorough
def test_a_class_may_be_a_function_of_the_table():
    shapes = {"x": "bf16[B, D]"}
    assert "rms_norm(x, norm)" in program_text(ms.Normed, shapes, init="D, F", functions={"RMSNorm": "rms_norm"})
    assert "rsqrt" in program_text(ms.Normed, shapes, init="D, F")


@pytest.mark.thorough
def test_a_stride_that_does_not_divide_a_size_is_told():
    shapes = {"input": "bf16[N, C, P, Q]"}
    with pytest.raises(TracingError, match="every 5th place of P"):
        program_text(torch.nn.Conv2d, shapes, init="C, K, 5, 5")
    assert "windows(input)" in program_text(torch.nn.Conv2d, {"input": "bf16[N, C, 5*P, 5*Q]"}, init="C, K, 5, 5")


@pytest.mark.thorough
def test_a_module_with_numbers_gets_names():
    module = ms.Block(128, 8, 2, 352).bfloat16()
    names = {"K": 2, "G": 4, "H": 16, "D": "K*G*H", "F": 352}
    text = program_text(module, {"x": "bf16[B, T, D]"}, names=names)
    assert text.startswith("# K = 2, G = 4, H = 16, F = 352 in the module that was traced\n")
    assert all(parameter.device.type == "cpu" for parameter in module.parameters())
    d = sr.derive(text, on="h100", at="B=4,T=64,K=2,G=4,H=16,F=352")
    assert d.value("params") == sum(p.numel() for p in module.parameters())
    assert "fp32[256, 64]" in program_text(ms.MLP(64, 256), {"x": "fp32[B, T, 64]"})
    module = ms.Attention(64, 4)
    text = program_text(module, {"x": "fp32[B, T, D]"}, names={"N": 4, "H": 16, "D": "N*H"})
    assert "where S = 3*D" in text
    assert sr.derive(text, on="h100", at="B=2,T=8,N=4,H=16").value("params") == 4 * (64 * 64 + 64)
    with pytest.raises(TracingError, match="is no number"):
        program_text(module, {"x": "fp32[B, T, D]"}, names={"N": 4, "D": "N*Q"})


@pytest.mark.thorough
def test_a_function_of_tensors_is_a_program():
    text = program_text(ms.projected, {"x": "bf16[B, D]", "w": "weight bf16[D, F]", "v": "weight bf16[F, D]"})
    assert "relu(h)" in text
    assert "# traced_modules.py:" in text
    program = sr.trace(ms.projected, x="bf16[B, D]", w="weight bf16[D, F]", v="weight bf16[F, D]")
    assert str(read_program(text)) == str(program)


@pytest.mark.parametrize(("given", "sign"), [("bias", "+"), ("gain", "*"), ("more", "-")])
def test_arguments_that_are_left_out_stay_out(given, sign):
    text = program_text(ms.Optional, {"x": "bf16[B, D]", given: "bf16[B, D]"}, init="D")
    assert f" {sign} {given}  # " in text or f" {sign} {given} -> " in text


@pytest.mark.thorough
def test_what_modules_do_of_their_own_is_written():
    """What is changed in place is another tensor, and what is compared is read."""
    assert program_text(ms.InPlace, {"x": "bf16[B, T, D]"}, init="D").count("relu(") == 2
    assert "x - y" in program_text(ms.larger, {"x": "bf16[B, D]", "y": "bf16[B, D]"})


def test_a_branch_on_a_size_is_told():
    text = program_text(ms.by_size, {"x": "bf16[B, D]", "w": "bf16[D, F]"})
    assert text.startswith("# traced where 101 <= B\n")
    assert "relu" not in text


def test_one_place_is_no_dimension():
    text = program_text(ms.broadcast, {"x": "bf16[B, T, D]", "c": "bf16[B, 1, D]"})
    assert "input c: bf16[B, D]" in text
    assert {step.check.status for step in sr.derive(text, on="h100").steps} == {"proved"}


def test_each_bound_is_a_comparison():
    assert sr.derive(program_text(ms.clamped, {"x": "bf16[N]"}), on="h100", at="N=8").value("ops") == 2 * 8


def test_the_command_takes_names_of_numbers(monkeypatch, run):
    monkeypatch.chdir(Path(__file__).parent)
    asked = "traced_modules.py:INSTANCE", "--shape", "x=fp32[B, T, D]", "--name", "D=64", "--name", "F=256"
    head = "# D = 64, F = 256 in the module that was traced\ninput  x: fp32[B, T, D]\n"
    assert run("trace", *asked).out.startswith(head)


test_what_no_statement_says_is_told = refused(
    lambda name, shapes, options: program_text(getattr(ms, name), shapes, **options),
    ("Dropped", {"x": "bf16[B, D]"}, {"init": "D"}, "a dropout of training"),
    ("Recurrent", {"input": "bf16[B, T, D]"}, {"init": "D, D"}, "lstm of"),
    ("nothing_known", {"x": "bf16[B, D]"}, {}, "traced_modules.py:"),
    ("MLP", {"x": "bf16[B, E]"}, {"init": "D, F"}, "the function fails with"),
    ("MLP", {"y": "bf16[B, D]"}, {}, "has no parameter 'y'"),
    ("by_size", {"x": "bf16[B, D]", "w": "bf16[D, F]"}, {"init": "D, F"}, "the function fails"),
)


def test_a_program_that_multiplies_something_else_is_refused(monkeypatch):
    monkeypatch.setattr(aten_equations.AtenReader, "aten_linear", lambda self, call: call.arguments[0])
    with pytest.raises(TracingError):
        case("MLP")
