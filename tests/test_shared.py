"""A weight that is one for all turns of a repeat: counted once, read in each turn, its gradients added up. Against loops and finite
differences, and against the same turns written out."""

import re

import pytest
from test_training import at, require_lawful, trained
from texts import refused

import symroof as sr
from symroof.model.program_quantities import amounts
from symroof.reading.programs import read_program

TIED = """
input x: bf16[B, D]
shared weight W: bf16[D, F]
weight V: bf16[F, D]
repeat {times} as x = y {{
  h = x * W -> bf16[B, F]
  g = silu(h)
  y = g * V -> bf16[B, D]
}}
"""
UNROLLED = """
input x: bf16[B, D]
weight W: bf16[D, F]
weight V1, V2: bf16[F, D]
h1 = x * W -> bf16[B, F]
g1 = silu(h1)
y1 = g1 * V1 -> bf16[B, D]
h2 = y1 * W -> bf16[B, F]
g2 = silu(h2)
y = g2 * V2 -> bf16[B, D]
"""
PROGRAMS = {
    "tied": TIED.format(times="L"),
    "frozen too": TIED.format(times="2").replace("shared weight", "frozen shared weight"),
    "in braces": "input x: bf16[B, D]; repeat L as x = y { shared weight W: bf16[D, E]; weight U: bf16[E, D]; h = x * W -> bf16[B, E]; y = h * U -> bf16[B, D] }",
    "and outside": "input x: bf16[B, D]; shared weight W: bf16[D, E]; where E = D; a = x * W -> bf16[B, E]; b = a -> bf16[B, D]; repeat 2 as b = y { h = b * W -> bf16[B, E]; g = silu(h); y = g -> bf16[B, D] }",
    "nested": "input x: bf16[B, D]; shared weight W: bf16[D, F]; weight V: bf16[F, D]; repeat 2 as x = z { repeat L as x = y { h = x * W -> bf16[B, F]; y = h * V -> bf16[B, D] }; z = gelu(y) }",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_are_added_up_over_turns(name):
    require_lawful(PROGRAMS[name])


def test_turns_that_are_written_out_cost_the_same():
    sizes = {"B": 8, "D": 16, "F": 32}
    tied, unrolled = (trained(text) for text in (TIED.format(times="2"), UNROLLED))
    one, other = (amounts(program, "fma") for program in (tied, unrolled))
    for name in ("params", "weights", "gradients", "saved", "flops_forward", "flops_backward"):
        assert at(one[name], sizes) == at(other[name], sizes), name


def test_ten_turns_have_one_of_it():
    """Universal transformers tie their depth: Dehghani et al., arXiv:1807.03819."""
    ten = sr.derive(TIED.format(times="10"), on="tpu-v5p", at="B=64,D=256,F=1024")
    assert ten.value("params") == 256 * 1024 * (1 + 10)
    own = sr.derive(TIED.format(times="10").replace("shared ", ""), on="tpu-v5p", at="B=64,D=256,F=1024")
    assert own.value("params") == 256 * 1024 * (10 + 10)
    assert ten.value("bytes") == own.value("bytes")
    assert "shared weight W" in ten.to_text()


@pytest.mark.thorough
def test_on_a_mesh_a_chip_holds_one_part():
    text = re.sub(r"\[([BD]), ", r"[\1_X, ", TIED.format(times="6"))
    d = sr.derive(f"mesh X = 4 on ICI{text}", on="tpu-v5p", training=True, at="B=64,D=256,F=1024")
    assert d.value("weights_per_chip") == 2 * 256 * 1024 / 4 + 2 * 6 * 256 * 1024
    assert {step.check.status for step in d.steps} == {"proved"}


def test_words_in_front_have_no_order():
    rest = "weight W: bf16[D, F]; input x: bf16[B, D]; weight U: bf16[F, D]; h = x * W -> bf16[B, F]; y = h * U -> bf16[B, D]"
    assert read_program(f"shared frozen {rest}") == read_program(f"frozen shared {rest}")


test_what_cannot_be_shared_is_said = refused(
    read_program,
    ("shared input x: bf16[B, D]", "an input is the same in all turns"),
    ("shared frozen input x: bf16[B, D]", "input cannot be shared"),
    ("frozen shared output y", "output cannot be shared"),
)
