"""What is exchanged is in memory before and behind the exchange: a function behind one costs what it costs in a program of its own,
and finds its operand on the chip only where nothing is exchanged."""

import re

import pytest
from test_gate import _nothing_is_remembered  # noqa: F401 (a fixture)

import symroof as sr
from symroof.errors import CheckError
from symroof.model import chip_costs

# What is multiplied, and how the function behind it finds the result.
SPLIT = "input a: bf16[B, F_X]; weight W: bf16[F_X, D]; y = a * W -> {}"
MOVED = "input a: bf16[B_X, F]; weight W: bf16[F, D]; "
HEADS = {
    "all-reduce": (SPLIT, "bf16[B, D]"),
    "reduce-scatter": (SPLIT, "bf16[B, D_X]"),
    "all-to-all": (f"{MOVED}y = a * W -> {{}}", "bf16[B, D_X]"),
    "gathered behind it": (
        "input a: bf16[B, F]; weight W: bf16[F, D_X]; h = a * W -> bf16[B, D_X]; y = h -> {}",
        "bf16[B, D]",
    ),
    "moved behind it": (f"{MOVED}h = a * W -> bf16[B_X, D]; y = h -> {{}}", "bf16[B, D_X]"),
}
ALONE = {
    "nothing": (f"{MOVED}y = a * W -> {{}}", "bf16[B_X, D]"),
    "gathered before it": ("input a: bf16[B_X, F]; weight W: bf16[F_X, D]; y = a * W -> {}", "bf16[B_X, D]"),
    "a free slice": ("input a: bf16[B, F]; weight W: bf16[F, D]; h = a * W -> bf16[B, D]; y = h -> {}", "bf16[B_X, D]"),
}
TAILS = {
    "a function": "z = gelu(y)",
    "a sum": "input r: {}; z = r + y",
    "both": "input r: {}; g = gelu(y); z = g + r",
    "in a view": "v = y[D -> E]; z = gelu(v)",
}
SIZES = {"B": 8, "F": 16, "D": 32}


def bytes_of(text, chips=4):
    sizes = {name: size for name, size in SIZES.items() if re.search(rf"\b{name}[_,\]]", text)}
    mesh = f"X={chips} on ICI" if "_X" in text else ""
    d = sr.derive(text, on="tpu-v5e", at=sizes, **({"mesh": mesh} if mesh else {}))
    assert {step.check.status for step in d.steps} == {"proved"}
    return d.value("bytes_per_chip" if mesh and chips > 1 else "bytes")


def behind(typed, tail):
    """A function of what is declared, in one pass."""
    *declared, made = TAILS[tail].format(typed).rpartition(f"input r: {typed}; ")
    return f"input y: {typed}; {''.join(declared)}fuse {{ {made} }}"


@pytest.mark.part(1)
@pytest.mark.parametrize("tail", TAILS)
@pytest.mark.parametrize("head", HEADS)
def test_behind_an_exchange_a_function_costs_what_it_costs_alone(head, tail):
    (first, typed), then = HEADS[head], TAILS[tail]
    first, then = first.format(typed), then.format(typed)
    alone = behind(typed, tail)
    assert bytes_of(f"{first}; {then}") == bytes_of(first) + bytes_of(alone)


@pytest.mark.part(1)
@pytest.mark.parametrize("tail", TAILS)
@pytest.mark.parametrize("head", ALONE)
def test_where_nothing_is_exchanged_it_finds_its_operand_on_the_chip(head, tail):
    (first, typed), then = ALONE[head], TAILS[tail]
    first, then = first.format(typed), then.format(typed)
    alone = behind(typed, tail)
    written = 4 if head == "a free slice" else 1  # the product of each chip is whole, and it writes none of it
    y = 2 * 8 * 32 / 4
    assert bytes_of(f"{first}; {then}") == bytes_of(first) + bytes_of(alone) - written * y - y


@pytest.mark.part(1)
@pytest.mark.parametrize("head", [name for name, (first, _) in (HEADS | ALONE).items() if "h -> " not in first])
def test_one_chip_exchanges_nothing(head):
    first, typed = (HEADS | ALONE)[head]
    text = f"{first.format(typed)}; z = gelu(y)"
    assert bytes_of(text, chips=1) == bytes_of(text.replace("_X", ""))


@pytest.mark.parametrize("training", [False, True])
def test_what_a_fuse_brings_to_a_statement_comes_from_memory(training):
    text = "input x: bf16[B, D]; weight W: bf16[D, F_X]; weight V: bf16[F, D_X]; fuse { h = x * W -> bf16[B, F_X]; y = h * V -> bf16[B, D_X] }"
    d = sr.derive(text, on="tpu-v5e", mesh="X=4 on ICI", at=SIZES, training=training)
    assert {step.check.status for step in d.steps} == {"proved"}
    x, w, v, h, y = 2 * 8 * 32, 2 * 32 * 16 / 4, 2 * 16 * 32 / 4, 2 * 8 * 16, 2 * 8 * 32 / 4
    if not training:
        assert d.value("bytes_per_chip") == x + w + v + h / 4 + h + y


@pytest.mark.usefixtures("_nothing_is_remembered")
@pytest.mark.parametrize("head", HEADS)
def test_a_producer_that_finds_what_is_exchanged_on_the_chip_is_refused(head, monkeypatch):
    first, typed = HEADS[head]
    text = f"{first.format(typed)}; z = gelu(y)"
    bytes_of(text)
    monkeypatch.setattr(chip_costs, "_exchanged", lambda places, program: frozenset())
    with pytest.raises(CheckError):
        bytes_of(text)
