"""Scans: turns that go along a dimension, each of which has a place of what comes from outside and puts what it makes at its
own. Against finite differences and loops, against the same turns written out, and against the JAX of a recurrent network."""

import pytest
from test_training import counted, require_differences, trained

import symroof as sr
from symroof.reading.programs import read_program

HEAD = "input x: bf16[B, T, D]; input h: bf16[B, H]; weight W: bf16[D, H]; weight U: bf16[H, K]; weight V: bf16[H, F]; where K = H; "
CELL = "a = x * W -> bf16[B, H]; b = h * U -> bf16[B, K]; c = b -> bf16[B, H]; s = a + c; g = sigmoid(s)"
RNN = f"{HEAD}scan T as h = g {{ {CELL} }}; y = g * V -> bf16[B, T, F]"
PROGRAMS = {
    "a recurrent network": RNN,
    "the last state alone": HEAD.replace("weight V: bf16[H, F]; ", "") + f"scan T as h = g {{ {CELL} }}",
    "a result of each turn": f"{HEAD}scan T as h = g {{ {CELL}; o = g * V -> bf16[B, F]; p = silu(o) }}",
    "several results": f"{HEAD}scan T as h = g {{ {CELL}; o = g * V -> bf16[B, F] }}; y = o * o -> bf16[B, T]; z = s * g -> bf16[B, T]; v = s + s",
    "used whole as well": f"{HEAD}scan T as h = g {{ {CELL} }}; y = g * V -> bf16[B, T, F]; z = x * W -> bf16[B, T, H]; q = silu(x)",
    "one after the other": f"{HEAD}input m: bf16[B, H]; scan T as h = g {{ {CELL} }}; scan T as m = n {{ n = m * g -> bf16[B, H] }}; y = n * V -> bf16[B, T, F]",
    "of one tensor twice": f"{HEAD}input m: bf16[B, D]; scan T as h = g {{ {CELL} }}; scan T as m = n {{ n = m * x -> bf16[B, D] }}; y = g * V -> bf16[B, T, F]",
    "two states": "input x: bf16[T, D]; input h, c: bf16[D]; scan T as h = g, c = e { i = sigmoid(x); r = h * i -> bf16[D]; e = c + r; t = silu(e); g = t * i -> bf16[D] }; y = g * x -> bf16[T]",
    "a weight for each place": "input x: bf16[B, D]; weight P: bf16[T, D]; scan T as x = y { m = x * P -> bf16[B, D]; y = silu(m) }",
    "in a repeat": "input x: bf16[B, T, D]; input h: bf16[B, H]; weight W: bf16[D, H]; weight V: bf16[H, D]; repeat 2 as x = z { scan T as h = g { a = x * W -> bf16[B, H]; b = a + h; g = sigmoid(b) }; o = g * V -> bf16[B, T, D]; z = x + o }",
    "in microbatches": f"{HEAD.replace('input h: bf16[B, H]; ', '')}input m: bf16[B, H]; weight Q: bf16[H, J]; weight R: bf16[J, H]; accumulate 2 {{ j = m * Q -> bf16[B, J]; h = j * R -> bf16[B, H]; scan T as h = g {{ {CELL} }}; y = g * V -> bf16[B, T, F] }}",
    "with a fuse in it": f"{HEAD}scan T as h = g {{ a = x * W -> bf16[B, H]; fuse {{ b = h * U -> bf16[B, K]; q = softmax(b); c = q * U -> bf16[B, H] }}; s = a + c; g = sigmoid(s) }}; y = g * V -> bf16[B, T, F]",
    "frozen": f"frozen {HEAD}scan T as h = g {{ {CELL} }}; y = g * V -> bf16[B, T, F]",
    "written out": "input u: bf16[L, D]; weight W: bf16[D, E]; weight V: bf16[E, D]; weight R: bf16[E, T]; input m: bf16[B, D]; repeat L as m = n { b = place(u, L); a = m + b -> bf16[B, D]; h = a * W -> bf16[B, E]; n = h * V -> bf16[B, D]; k = collect(h, L) }; y = k * R -> bf16[L, B, T]",
    "places of slices": "input x: bf16[B, T, G]; input h: bf16[B, D]; where G = 2*D; a = slice(x, G, D); b = slice(x, G, D); scan T as h = g { i = sigmoid(a); f = h * i -> bf16[B, D]; g = f + b }; y = g * g -> bf16[B]",
    "slices of places": "input x: bf16[B, T, G]; input h: bf16[B, D]; where G = 2*D; q = square(x); scan T as h = g { a = slice(q, G, D); b = slice(q, G, D); i = sigmoid(a); f = h * i -> bf16[B, D]; g = f + b }; y = g * g -> bf16[B]",
    "numbers": "input x: bf16[B, 3, D]; input h: bf16[B, D]; scan 3 as h = g { s = x * h -> bf16[B, D]; g = silu(s) }; y = g * x -> bf16[B, 3]",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_are_those_of_finite_differences_and_everything_is_counted_in_loops(name):
    text = PROGRAMS[name]
    require_differences(trained(text), sizes={"T": 3})
    assert {step.check.status for step in counted(text)} == {"proved"}
    for training in (False, True):
        assert sr.derive(text, on="h100", training=training).counts()["sampled"] == 0


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_printed_is_read_back(name):
    program = read_program(PROGRAMS[name])
    assert read_program(str(program)) == program
