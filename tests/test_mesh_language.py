"""Programs on meshes: bare exchanges, the keys and names of axes, and what compute-bound means on several chips."""

import json
import re
from fractions import Fraction

import pytest
from texts import FSDP

import symroof as sr
from symroof.derivation.mesh_sections import script_on_mesh
from symroof.derivation.pipeline import derive
from symroof.derivation.quantity_definitions import script_of
from symroof.errors import SymroofError
from symroof.model.mesh_wiring import with_wiring
from symroof.model.placement import placements
from symroof.model.program_quantities import amounts
from symroof.reading.problems import read_problem
from symroof.symbols import symbol

BARE = """
mesh X on ICI
input  x:  bf16[B_X, D]
weight W1: bf16[D_X, F]
weight W2: bf16[F, D]
W = W1 -> bf16[D, F]
h = x * W -> bf16[B_X, F]
a = gelu(h)
g = a -> bf16[B, F_X]
b = relu(g)
y = b * W2 -> bf16[B, D]
z = y -> bf16[B, D_X]
"""


def program_of(text, **options):
    problem = read_problem({"operation": text, "hardware": "tpu-v5p", **options})
    return with_wiring(problem.operation, problem.hardware)


def moves_of(text, **options):
    """The exchanges of each statement, by its name."""
    places = {p.line.statement.name: p.moves for p in placements(program_of(text, **options)) if p.moves}
    return {n: [(m.collective, "".join(m.axes), str(m.tensor.name)) for m in moves] for n, moves in places.items()}


# Bare exchanges.


@pytest.mark.parametrize(
    ("before", "after", "collective", "carried"),
    [  # V bytes, over a ring of X: (X - 1)/(2X) of the whole tensor, a quarter by two of what a chip swaps, nothing
        ("B_X, D", "B, D", "all-gather", "2*B*D*(X - 1)/(2*X)"),
        ("B_X, D", "B, D_X", "all-to-all", "2*B*D/8"),
        ("B, D", "B, D_X", None, "0"),
        ("B_X, D_Y", "B, D_Y", "all-gather", "2*B*D/Y*(X - 1)/(2*X)"),
    ],
)
def test_a_bare_exchange_is_the_collective_of_its_splits(before, after, collective, carried):
    mesh = "X, Y" if "Y" in before else "X"
    text = f"mesh {mesh} on ICI; input x: bf16[{before}]; y = x -> bf16[{after}]; z = relu(y)"
    assert moves_of(text).get("y", []) == ([(collective, "X", "x")] if collective else [])
    found = amounts(program_of(text), "fma").get("sent(X)", 0)
    expected = eval(carried, {n: symbol(n) for n in "BDXY"})
    assert (found - expected).expand() == 0 if expected != 0 else found == 0


def test_the_backward_of_an_exchange_is_the_other_one():
    moves = moves_of(BARE, training=True)
    assert moves["dy"] == [("all-gather", "X", "dz")]  # of a slice
    assert moves["da"] == [("all-to-all", "X", "dg")]  # of an all-to-all
    assert moves["dW1"] == [("reduce-scatter", "X", "dW1")]  # of an all-gather, for partial sums
    assert "dW" not in moves  # no all-reduce is left before the slice
    assert "dz" not in moves


def test_an_exchanged_weight_is_the_weight_that_the_product_gathers():
    """A gather that is written sends what one sends that follows from the splits, and costs the same otherwise."""
    written = (
        "mesh X on ICI; input x: bf16[B_X, D]; weight W: bf16[D_X, F]; V = W -> bf16[D, F]; y = x * V -> bf16[B_X, F]"
    )
    follows = "mesh X on ICI; input x: bf16[B_X, D]; weight W: bf16[D_X, F]; y = x * W -> bf16[B_X, F]"
    one, other = (amounts(program_of(text), "fma") for text in (written, follows))
    for name in ("flops_per_chip", "bytes_per_chip", "sent(X)", "chips"):
        assert (one[name] - other[name]).expand() == 0


def test_partial_sums_of_two_uses_are_added_before_the_exchange_that_scatters_them():
    text = (
        "mesh X on ICI; input x: bf16[B_X, D]; weight W: bf16[D_X, F]; V = W -> bf16[D, F]; "
        "y = x * V -> bf16[B_X, F]; z = x * V -> bf16[B_X, F]; u = y + z"
    )
    moves = moves_of(text, training=True)
    assert moves == {"V": [("all-gather", "X", "W")], "dW": [("reduce-scatter", "X", "dW")]}


@pytest.mark.thorough
def test_an_exchange_touches_no_memory_and_does_no_arithmetic():
    answer = json.loads(sr.derive(BARE, on="tpu-v5p").to_json())["answer"]
    for row in answer["statements"]:
        if row["name"] in ("W", "g", "z"):
            assert {row[what] for what in ("flops", "ops", "reads", "writes", "bytes")} <= {None, "0"}
    whole = "input x: bf16[B, D]; weight W: bf16[D, F]; weight V: bf16[F, D]; h = x * W -> bf16[B, F]; a = gelu(h); b = relu(a); y = b * V -> bf16[B, D]"
    assert answer["bytes"] == json.loads(sr.derive(whole, on="tpu-v5p").to_json())["answer"]["bytes"]


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("text", [BARE, FSDP])
def test_the_second_engine_plays_the_same_exchanges(text, training):
    program = program_of(text, training=training)
    parts = script_on_mesh(program, script_of(program)).parts
    moved = {n: part.moved for n, part in parts.items() if part.moved}
    sent = {n: [(m.collective, "".join(m.axes), m.array) for m in moves] for n, moves in moved.items()}
    assert sent == moves_of(text, training=training)


def test_a_program_with_exchanges_is_read_back():
    program = read_problem({"operation": BARE}).operation
    assert str(read_problem({"operation": str(program)}).operation) == str(program)


# What is kept, and what is gathered again.


def test_a_weight_that_is_kept_is_gathered_once():
    programs = (program_of(FSDP, training=True, **said) for said in ({}, {"keep": ["W1", "W2"]}))
    usual, kept = (amounts(program, "fma")["sent(X)"] for program in programs)
    assert usual / kept == Fraction(6, 4)


# Names, splits and numbers that say nothing clear.

TYPES = "mesh X; input x: bf16[B_X, D]; weight W: bf16[D, F]"
ERRORS = {
    "an exchange of nothing": ("mesh X; input x: bf16[B_X, D]; y = x -> bf16[B_X, D]; z = relu(y)", {}, "y is x itself, split as it is", "y"),
    "another type": ("mesh X; input x: bf16[B_X, D]; y = x -> int8[B, D]; z = relu(y)", {}, "an exchange keeps the type", "y"),
    "nobody says who gathers": (f"{TYPES}; y = x * W -> bf16[B, F]", {}, "y_x = x * W -> bf16[B_X, F]; y = y_x -> bf16[B, F], the result afterwards", "x"),
    "or the operand first": (f"{TYPES}; y = x * W -> bf16[B, F]", {}, "x_x = x -> bf16[B, D]; y = x_x * W -> bf16[B, F], the operand gathered first", "x"),
    "or the second operand first": ("mesh X; input x: bf16[B, D]; weight W: bf16[D, F_X]; y = x * W -> bf16[B, F]", {}, "W_x = W -> bf16[D, F]; y = x * W_x -> bf16[B, F], the operand gathered first", "W"),
    "of one line": ("bf16[B_X, D] * bf16[D, F] -> bf16[B, F]", {"mesh": "X=4"}, "bf16[B_X, D] * bf16[D, F] -> bf16[B_X, F], gathered", "bf16[B_X, D]"),
    "of one line, the second operand": ("bf16[B, D] * bf16[D, F_X] -> bf16[B, F]", {"mesh": "X=4"}, "bf16[B, D] * bf16[D, F] -> bf16[B, F], gathered first, or bf16[B, D] * bf16[D, F_X] -> bf16[B, F_X], gathered afterwards", "bf16[D, F_X]"),
    "an elementwise sum of two splits": ("mesh X; input x: bf16[B_X, D]; input z: bf16[B, D_X]; y = x + z", {}, "z_moved = z -> bf16[B_X, D]", "z"),
    "an elementwise slice": ("mesh X; input x: bf16[B_X, D]; input z: bf16[B, D]; y = x + z", {}, "z_moved = z -> bf16[B_X, D]", "z"),
    "an axis that reads as two": ("mesh X, Y, XY; input x: bf16[B_X, D_Y]; y = relu(x)", {}, "XY reads as X and Y too", None),
    "an axis called as a link": ("mesh ICI; input x: bf16[B_ICI, D]; y = relu(x)", {}, "ICI is a memory or a link", "ICI"),
    "an axis called as a size": ("mesh B; input x: bf16[B_B, D]; y = relu(x)", {}, "B is an axis, and a size", None),
    "two numbers for one axis": ("mesh X=2; input x: bf16[B_X, D]; y = relu(x)", {"mesh": "X=4"}, "X has 2 in the program and 4 beside it", None),
    "numbers that are wired otherwise": (FSDP, {"hardware": "tpu-v5e", "at": ["X=8", "X=16"]}, "X = 8 is a line", None),
    "a part of a chip": (FSDP, {"at": "X=1.5"}, "X = 3/2 is no number of chips", None),
    "no weight": (FSDP, {"training": True, "keep": ["h"]}, "keep: 'h' is no weight", None),
    "a weight": (FSDP, {"training": True, "regather": ["W1"]}, "regather: 'W1' is no input or result", None),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_an_error_says_what_and_where(name):
    text, options, said, under = ERRORS[name]
    with pytest.raises(SymroofError) as caught:
        derive(read_problem({"operation": text, "hardware": "tpu-v5p", **options}))
    assert said in str(caught.value)
    if under is not None:
        start, end = caught.value.span
        assert caught.value.source[start:end].strip() == under


# Compute-bound is above the memory and every link.


@pytest.fixture(scope="module")
def training():
    return sr.derive(FSDP, on="tpu-v5p", training=True, at="D=8192, F=32768")


@pytest.mark.thorough
def test_each_link_has_its_bound(training):
    answer = json.loads(training.to_json())["answer"]
    assert answer["thresholds"]["X"]["exact"] == "B > 2550*(X - 1)"  # 6DF(X - 1)/(XY)/9e10 < 12BDF/(XY)/4.59e14
    assert answer["thresholds"]["Y"]["exact"] == "Y < 1 + F/1700"
    assert answer["at"][0]["thresholds"]["Y"]["largest_integer"] == 16  # 1 + 32768/1700 = 20.28, and 16 divides F
    assert "B > 2550*(X - 1) and Y < 1 + F/1700" in answer["condition"]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("b", "x", "y"), [(40_000, 16, 4), (30_000, 16, 4), (10**7, 16, 21), (10**7, 64, 20), (3_000, 2, 2)]
)
def test_the_condition_is_that_arithmetic_takes_longest(training, b, x, y):
    """By hand: the times at sizes, against the bounds that the page gives."""
    d, f = 8192, 32768
    math = Fraction(12 * b * d * f, x * y) / Fraction("4.59e14")
    over_x = Fraction(6 * d * f * (x - 1), x * y) / Fraction("9e10")
    over_y = Fraction(4 * b * d * (y - 1), x * y) / Fraction("9e10")
    memory = (Fraction(12 * b * d, x) + Fraction(12 * d * f, y) + Fraction(16 * b * f, x * y)) / Fraction("2.8e12")
    ends = json.loads(training.to_json())["answer"]["condition"]
    sizes = {"B": b, "D": d, "F": f, "X": x, "Y": y, "ridge": Fraction(2295, 14)}
    holds = all(eval(part, dict(sizes)) for part in ends.split(" and "))
    assert holds == (math > max(over_x, over_y, memory))


@pytest.mark.thorough
def test_a_link_that_is_named_is_the_only_one():
    alone = json.loads(sr.derive(FSDP, on="tpu-v5p", training=True, link="HBM").to_json())["answer"]
    assert alone["condition"] is None
    assert re.search(r"16\*B\*F", alone["T_comms"])


@pytest.mark.thorough
def test_a_number_that_is_wired_alike_is_put_in():
    d = sr.derive(FSDP, on="tpu-v5p", training=True, at="D=8192, F=32768, X=16, Y=4")
    (at,) = json.loads(d.to_json())["answer"]["at"]
    assert at["thresholds"]["X"]["smallest_integer"] == 38256  # 2550 times 15, in multiples of 16
    assert at["thresholds"]["Y"]["outcome"] == "always compute-bound"
