"""What is not trained has no gradient, and what depends on it alone keeps nothing: against finite differences, the same program with
everything trained, and the figures of low-rank adapters."""

import re
from functools import reduce
from random import Random

import pytest
from test_training import all_of, at, counted, random_program, require_differences, trained

import symroof as sr
from symroof.errors import CheckError, ModelError, ReadingError
from symroof.model import backward
from symroof.model.program_quantities import amounts
from symroof.reading.programs import read_program

LORA = """
frozen input x: bf16[B, D]
frozen weight W: bf16[D, F]
weight A: bf16[D, R]
weight C: bf16[R, F]
h = x * W -> bf16[B, F]
a = x * A -> bf16[B, R]
b = a * C -> bf16[B, F]
y = h + b
"""
LAYERS = """
frozen input x: bf16[B, D]
frozen weight W: bf16[D, E]
where E = D
weight A: bf16[D, R]
weight C: bf16[R, D]
repeat L as x = y {
  h = x * W -> bf16[B, E]
  g = rearrange(h) -> bf16[B, D]
  a = x * A -> bf16[B, R]
  b = a * C -> bf16[B, D]
  y = g + b
}
"""


def frozen(text: str, seed: int) -> str:
    """The program with some of what is declared frozen, but not all."""
    random, lines = Random(seed), text.split("\n")
    places = [i for i, line in enumerate(lines) if re.match("(input|weight) ", line)]
    for place in random.sample(places, random.randint(1, max(len(places) - 1, 1))):
        lines[place] = f"frozen {lines[place]}"
    return "\n".join(lines)


@pytest.mark.parametrize("seed", range(24))
def test_gradients_of_what_is_trained_are_those_of_finite_differences(seed):
    whole = random_program(seed)
    text = frozen(whole, seed)
    try:
        program = trained(text)
    except ModelError as error:  # all that a result is made of is frozen
        assert "there is nothing to train" in str(error) or "has no gradient" in str(error)  # noqa: PT017
        return
    require_differences(program, seed)
    assert {step.check.status for step in counted(text)} == {"proved"}
    less, more = (amounts(one, "fma") for one in (program, trained(whole)))
    put, alike = all_of(program, 7), program.vector == trained(whole).vector  # else the FLOPs of one are operations
    for name in ("flops_backward", "saved", "gradients")[0 if alike else 1 :]:
        assert at(less[name], put) <= at(more[name], put), name
    assert less["params"] == more["params"]


def test_low_rank_adapters():
    """Hu et al., LoRA, arXiv:2106.09685: W stays, and R(D + F) parameters are trained."""
    found = amounts(trained(LORA), "fma")
    sizes = {"B": 1024, "D": 4096, "F": 2048, "R": 16}
    b, d, f, r = sizes.values()
    known = {name: int(at(value, sizes)) for name, value in found.items()}
    assert known["trainable"] == r * (d + f)
    assert known["params"] == d * f + r * (d + f)
    assert known["gradients"] == 2 * r * (d + f)
    assert known["flops_forward"] == 2 * b * (d * f + d * r + r * f)
    assert known["flops_backward"] == 2 * b * r * (f + f + d)  # da, dC, dA: nothing of W, and nothing of x
    assert known["saved"] == 2 * b * (d + r)


def test_layers_hand_their_gradients_down_to_a_frozen_input():
    """Of the first turn alone nothing is asked of x; the others need it: all turns are alike."""
    program = trained(LAYERS)
    require_differences(program, 5)
    assert "x" not in program.backward.gradients
    assert "W" not in program.backward.gradients
    d = sr.derive(LAYERS, on="tpu-v5p", training=True, at="B=64,D=32,R=4,L=6")
    assert d.value("trainable") == 6 * 2 * 32 * 4
    assert {step.check.status for step in d.steps} == {"proved"}


@pytest.mark.thorough
def test_each_chip_holds_gradients_of_what_is_trained():
    split = (("[B", "[B_X"), ("[D", "[D_X"), ("[R, F]", "[R, F_X]"))
    text = reduce(lambda text, pair: text.replace(*pair), split, f"mesh X = 4 on ICI{LORA}")
    part = sr.derive(text, on="tpu-v5p", training=True, at="B=512,D=4096,F=1024,R=16")
    whole = sr.derive(text.replace("frozen ", ""), on="tpu-v5p", training=True, at="B=512,D=4096,F=1024,R=16")
    rank, full = 16 * (4096 + 1024), 4096 * 1024
    assert part.value("gradients_per_chip") == 2 * rank / 4
    assert whole.value("gradients_per_chip") == 2 * (rank + full) / 4
    again, reduced = 2 * full + 2 * 16 * 4096, 2 * full  # for the gradient of x W and A are gathered again
    assert whole.value("sent(X)") - part.value("sent(X)") == (again + reduced) * 3 / 4 / 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("frozen output x", "output cannot be frozen"),
        ("frozen wieght W: bf16[D, F]", "wieght cannot be frozen"),
        ("frozen", "what is frozen"),
    ],
)
def test_what_cannot_be_frozen_is_said(text, said):
    with pytest.raises(ReadingError, match=said):
        read_program(text)


def test_nothing_to_train_is_refused():
    with pytest.raises(ModelError, match="nothing to train"):
        sr.derive(re.sub("^(weight)", "frozen weight", LORA, flags=re.MULTILINE), training=True)


def test_a_gradient_of_what_is_frozen_is_refused(monkeypatch):
    """The producer takes everything for trained: the second engine does not."""
    honest = backward.with_gradients

    def everything(program):
        return honest(program) | {str(d.tensor.name) for d in program.declared} | {"h"}

    monkeypatch.setattr(backward, "with_gradients", everything)
    with pytest.raises(CheckError):
        counted(LORA)
