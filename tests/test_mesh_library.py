"""The splits of the library by hand: what a chip multiplies and holds, and the collectives that training adds."""

import json
from dataclasses import replace
from fractions import Fraction
from itertools import permutations
from random import Random

import pytest

import symroof as sr
from symroof.errors import ModelError, ReadingError
from symroof.model.transforms import with_tensors
from symroof.reading import operations
from symroof.reading.operations import read_operation

SIZES = {"B": 64, "D": 96, "F": 160, "X": 4, "Y": 8, "Z": 4, "E": 8, "k": 2}
# What each collective sends over a ring of n chips, of the bytes that it speaks of: half of it goes each way.
RING = dict.fromkeys(("all-gather", "reduce-scatter"), lambda n: Fraction(n - 1, 2 * n))
RING |= {"all-reduce": lambda n: Fraction(n - 1, n), "all-to-all": lambda n: Fraction(1, 8)}
GATHER, SCATTER, REDUCE, TO_ALL = RING


def value(formula, **sizes):
    return eval(str(formula or 0).replace("^", "**"), {}, {n: Fraction(x) for n, x in (SIZES | sizes).items()})


def answer(name, **options):
    return json.loads(sr.derive({"operation": name, "hardware": "tpu-v5p", **options}).to_json())["answer"]


def moved(found):
    every = (e for s in found["statements"] for e in s["exchanges"])
    return [(e["collective"], *e["axes"], e["operand"], value(e["payload"])) for e in every]


B, D, F, X, Y, Z, E, K = SIZES.values()
W = 2 * D * F  # bytes of one weight
MLP = 4 * B * D * F
# FLOPs of a chip, the bytes of weights that it holds, and the collectives, each with the bytes that it speaks of.
BY_HAND = {
    "data-parallel": (3 * MLP / X, 2 * W, [(REDUCE, "X", "dW2", W), (REDUCE, "X", "dW1", W)]),
    "fsdp": (3 * MLP / X, 2 * W / X, [
        (GATHER, "X", "W1", W), (GATHER, "X", "W2", W),
        (GATHER, "X", "W2", W), (SCATTER, "X", "dW2", W), (GATHER, "X", "W1", W), (SCATTER, "X", "dW1", W),
    ]),
    "megatron": (MLP / Y, 2 * W / Y, [(GATHER, "Y", "x", 2 * B * D), (SCATTER, "Y", "y", 2 * B * D)]),
    "fsdp-megatron": (3 * MLP / (X * Y), 2 * W / (X * Y), [
        (GATHER, "Y", "x", 2 * B * D / X), (GATHER, "X", "W1", W / Y), (GATHER, "X", "W2", W / Y), (SCATTER, "Y", "y", 2 * B * D / X),
        (GATHER, "Y", "dy", 2 * B * D / X), (GATHER, "X", "W2", W / Y), (SCATTER, "X", "dW2", W / Y), (GATHER, "X", "W1", W / Y),
        (SCATTER, "Y", "dx", 2 * B * D / X), (SCATTER, "X", "dW1", W / Y),
    ]),
    "expert-parallel": (4 * K * B * D * F / Z, 2 * E * W / Z, [(TO_ALL, "Z", "x", 2 * K * B * D), (TO_ALL, "Z", "y", 2 * K * B * D)]),
    "weight-stationary": (MLP / (X * Y), 2 * W / (X * Y), [
        (GATHER, "Y", "x", 2 * B * D / X), (SCATTER, "X", "h", 2 * B * F / Y), (GATHER, "X", "a", 2 * B * F / Y), (SCATTER, "Y", "y", 2 * B * D / X),
    ]),
}  # fmt: skip


@pytest.mark.thorough
@pytest.mark.parametrize("name", BY_HAND)
def test_splits_by_hand(name):
    flops, weights, collectives = BY_HAND[name]
    found = answer(name)
    assert value(found["flops_per_chip"]) == flops
    assert value(found["weights_per_chip"]) == weights
    assert moved(found) == collectives
    sent = {}
    for kind, axis, _, payload in collectives:
        sent[axis] = sent.get(axis, 0) + RING[kind](SIZES[axis]) * Fraction(payload)
    assert {axis: value(formula) for axis, formula in found["sent_over"].items()} == sent


@pytest.mark.thorough
def test_data_parallelism_exchanges_nothing_before_the_backward_pass():
    """It is the training alone that needs the other chips."""
    assert {e["pass"] for s in answer("data-parallel")["statements"] for e in s["exchanges"]} == {"backward"}
    assert [len(moved(answer(name, training=True))) for name in ("megatron", "fsdp")] == [4, 6]


@pytest.mark.thorough
def test_experts_on_a_switch():
    """Of what its tokens are, a chip sends all parts but its own: twice, there and back."""
    found = answer("expert-parallel", mesh="Z on DCN switch")
    assert sum(map(value, found["sent_over"].values())) == 2 * (2 * K * B * D) * Fraction(Z - 1, Z**2)


@pytest.mark.thorough
def test_what_is_known_of_them():
    """Compute-bound when: rows for each chip over X; F over 2550 chips of Y, with the figures of TPU v5p."""
    ratio = Fraction(459 * 10**12, 9 * 10**10)  # peak over one direction of a link
    both = ["sent(X) = 2BF(X - 1)/(XY)", "sent(Y) = 2BD(Y - 1)/(XY)", f"T_math > T_Y <=> Y < 1 + F/{ratio / 2}"]
    claims = {
        "fsdp": [f"T_math > T_X <=> B > {ratio / 2}(X - 1)", "sent(X) ~ 6DF as X >> 1", "weights_per_chip = weights/X"],
        "data-parallel": [f"T_math > T_X <=> B > {ratio / 3}(X - 1)", "weights_per_chip = weights"],
        "weight-stationary": both,
    }
    for name, stated in claims.items():
        report = sr.verify({"operation": name, "hardware": "tpu-v5p", "claims": stated})
        assert [j.verdict for j in report.judgements] == ["holds"] * len(stated), name


def split(program, axes):
    """The program with these dimensions split over these axes, wherever they stand."""

    def cut(tensor):
        return replace(tensor, dims=tuple(replace(dim, axes=axes.get(dim.label, ())) for dim in tensor.dims))

    return with_tensors(program, cut)


@pytest.mark.thorough
@pytest.mark.parametrize("name", operations.programs())
def test_every_program_is_split_over_two_axes(name):
    """Two of its dimensions, one over each axis: every pair that is not refused is derived, its exchanges carried out, and chips
    together do all of the work; what is refused says what to write."""
    program, derived, refused = read_operation(name), 0, []
    labels = [x for x in program.sizes if any(x in tensor.labels for tensor in program.written.values())]
    pairs, stages = list(permutations(labels, 2)), "".join(f", {axis}=2" for axis in program.stages)
    for one, other in Random(name).sample(pairs, min(3, len(pairs))):
        text = str(split(program, {one: ("X",), other: ("Y",)}))
        sizes = dict.fromkeys(program.dimensions, 8)
        try:
            d = sr.derive(text, on="tpu-v5e", mesh=f"X=2, Y=2{stages} on ICI", training=program.training, at=sizes)
        except (ModelError, ReadingError) as error:
            refused.append(error)
            continue
        derived += 1
        assert {step.check.status for step in d.steps} == {"proved"}
        found = json.loads(d.to_json())["answer"]
        if not program.vector:  # of rows that chips share out the exchange does the rest
            chips = value(found["chips"])
            assert chips * value(found["flops_per_chip"], **sizes) >= value(found["flops"], **sizes)
    if len(labels) == 1:  # both axes over the one that it has
        text = str(split(program, {labels[0]: ("X", "Y")}))
        assert {s.check.status for s in sr.derive(text, mesh="X=2, Y=2 on ICI").steps} == {"proved"}
    assert derived or len(labels) == 1
    assert all(error.expected or error.hint for error in refused)
