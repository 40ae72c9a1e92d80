"""Sums, means and maxima over dimensions: one operation less than there are elements, a gradient that is the same for all of them, and
on a mesh what a product with ones sends."""

from fractions import Fraction

import pytest
from interpreter import interpreter
from test_training import at, require_lawful
from texts import refused

import symroof as sr
from symroof.errors import ModelError
from symroof.model.functions import user_function
from symroof.model.kernels import costs_of
from symroof.model.program_quantities import amounts
from symroof.reading.programs import read_program

PROGRAMS = {
    "a sum": "input x: bf16[B, D]; y = sum(x, D)",
    "over two": "input x: bf16[B, T, D]; weight W: bf16[D, F]; h = x * W -> bf16[B, T, F]; y = sum(h, T, F)",
    "all of it": "input x: bf16[B, D]; s = silu(x); y = sum(s) -> bf16[]",
    "a mean": "input x: bf16[B, T, D]; weight W: bf16[D, F]; m = mean(x, T); y = m * W -> bf16[B, F]",
    "layer norm by hand": "input x: bf16[B, D]; weight W: bf16[D, D2]; h = x * W -> bf16[B, D2]; m = mean(h, D2); c = h - m; q = c * c; v = mean(q, D2); w = exp(v); r = rsqrt(w); y = c * r -> bf16[B, D2]",
    "log of a sum": "input x: bf16[B, D]; weight W: bf16[D, V]; z = x * W -> bf16[B, V]; e = exp(z); s = sum(e, V); l = log(s); y = z - l",
    "in a fuse": "input q: bf16[B, T, H]; input k: bf16[B, S, H]; fuse { s = q * k -> bf16[B, T, S]; e = exp(s); n = sum(e, S); u = e * k -> bf16[B, T, H]; i = reciprocal(n); o = u * i -> bf16[B, T, H] }",
    "in turns": "input x: bf16[B, D]; weight W: bf16[D, D2]; where D2 = D; repeat 2 as x = y { h = x * W -> bf16[B, D2]; g = h -> bf16[B, D]; m = mean(g, D); y = g - m }",
}
MAXIMA = {
    "a maximum": "input x: bf16[B, D]; y = max(x, D)",
    "of scores": "input x: bf16[B, D]; weight W: bf16[D, V]; z = x * W -> bf16[B, V]; m = max(z, V); c = z - m; e = exp(c)",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_are_lawful(name):
    require_lawful(PROGRAMS[name])


@pytest.mark.parametrize("name", PROGRAMS | MAXIMA)
def test_operations_are_counted_in_loops(name):
    program = read_program((PROGRAMS | MAXIMA)[name])
    sizes = dict.fromkeys(program.sizes, 3)
    sizes |= dict.fromkeys(program.where, 3)
    found = interpreter(program, sizes, 4)
    found.forward()
    work = sum(found.added.get(line.statement.name, 0) for line in program.lines if line.statement.reduces)
    told = sum(
        int(at(cost.ops, sizes))
        for cost in costs_of(program).values()
        if len(cost.members) == 1 and cost.members[0].statement.reduces
    )
    every = sum(int(at(cost.ops, sizes)) for cost in costs_of(program).values())
    others = sum(found.applied.values()) + sum(
        found.added.get(line.statement.name, 0) + found.multiplied.get(line.statement.name, 0)
        for line in program.lines
        if not line.statement.contracts and not line.statement.reduces and line.statement.function is None
    )
    assert every == work + others
    assert told <= every
    assert read_program(str(program)) == program


def test_a_mean_is_a_sum_and_one_operation_more():
    sizes = {"B": 7, "T": 11, "D": 5}
    mean, total = (
        amounts(read_program(f"input x: bf16[B, T, D]; y = {f}(x, T)"), "fma")["ops"] for f in ("mean", "sum")
    )
    assert at(total, sizes) == 7 * 5 * (11 - 1)
    assert at(mean - total, sizes) == 7 * 5


@pytest.mark.part(1)
@pytest.mark.parametrize(
    ("layout", "result"),
    [("B, D_X", "B"), ("B, D_X", "B_X"), ("B_X, D", "B_X"), ("B_X, D_Y", "B_X"), ("B_Y, D_X", "B_XY")],
)
@pytest.mark.parametrize("training", [False, True])
def test_a_sum_sends_what_a_product_with_ones_does(layout, result, training):
    axes = "mesh X=4, Y=2 on ICI" if "Y" in layout else "mesh X=4 on ICI"
    ones = next(dim for dim in layout.split(", ") if dim.startswith("D"))
    body = f"{axes}; input x: bf16[{layout}]; weight g: bf16[{ones}]; h = x * g -> bf16[{layout}]"
    sizes = "B=64,D=96"
    one = sr.derive(f"{body}; y = sum(h) -> bf16[{result}]", on="tpu-v5p", at=sizes, training=training)
    other = sr.derive(
        f"{body}; frozen input u: bf16[{ones}]; y = h * u -> bf16[{result}]", on="tpu-v5p", at=sizes, training=training
    )
    links = {link for link, _ in (*one.setting.rates.links, *other.setting.rates.links)}
    for link in links:
        known = [dict(d.setting.rates.links) for d in (one, other)]
        sent = [
            d.value(f"sent({link})") if link in links_ else 0 for d, links_ in zip((one, other), known, strict=True)
        ]
        assert sent[0] == sent[1], link


def test_maxima_have_words_and_no_derivative():
    text = (
        "mesh X=4 on ICI; input x: bf16[B, D_X]; weight g: bf16[D_X]; h = x * g -> bf16[B, D_X]; y = max(h) -> bf16[B]"
    )
    said = sr.derive(text, on="tpu-v5p").to_text()
    assert "partial maximum" in said
    assert "partial sum" not in said
    with pytest.raises(ModelError, match="has no derivative here"):
        sr.derive(text, on="tpu-v5p", training=True)
    frozen = (
        text.replace("input x", "frozen input x").replace("weight g", "frozen weight g")
        + "; weight W: bf16[B, F]; z = y * W -> bf16[F]"
    )
    assert sr.derive(frozen, on="tpu-v5p", training=True)


test_what_is_no_reduction_is_said = refused(
    read_program,
    ("input x: bf16[B, D]; y = sum(x)", "fewer dimensions"),
    ("input x: bf16[B, D]; y = sum(x, E)", "x has no dimension E"),
    ("input x: bf16[B, D]; y = mean(x, D, D)", "x has no dimension D"),
    ("input x: bf16[B, D]; y = max(x, D) -> bf16[D]", "max(x, D) of bf16[B, D] is not bf16[D]"),
    ("input x: bf16[B, D]; y = sum(x, D) -> bf16[B, D]", "is not bf16[B, D]"),
    ("input x: bf16[B, D]; y = sum(z, D)", "there is no tensor z"),
    ("input x: bf16[B, D]; y = sum(x, D", "expected ')'"),
)


def test_a_function_of_ones_own_keeps_its_name():
    program = read_program("input x: bf16[B, D]; y = sum(x)", functions={"sum": user_function("sum", Fraction(3))})
    assert program.lines[0].statement.function is not None
