"""What one chip of a mesh holds: weights, caches, gradients and what is saved, against entries that are handed out to chips
one by one; and the largest batch and the fewest chips for which that fits."""

import itertools
import json
import re
from fractions import Fraction

import pytest
from test_gate import _nothing_is_remembered  # noqa: F401 (a fixture)
from texts import FSDP

import symroof as sr
from symroof.errors import CheckError
from symroof.model import program_quantities

BOTH = """
mesh X, Y on ICI
input  x:  bf16[B_X, D_Y]
weight W1: bf16[D_X, F_Y]
weight W2: int8[F_Y, D_X]
weight g:  bf16[D]
n = x * g -> bf16[B_X, D_Y]
h = n * W1 -> bf16[B_X, F_Y]
a = relu(h)
y = a * W2 -> bf16[B_X, D_Y]
"""
MLP = FSDP.replace("gelu", "relu")
STACK = """
mesh X, Y, Z on ICI
input  x:  bf16[B_XZ, D]
weight W: bf16[D, F_XY]
weight V: bf16[F_XY, D]
cache  C: bf16[B_XZ, S, D]
repeat L as x = y {
  h = x * W -> bf16[B_XZ, F_Y]
  y = h * V -> bf16[B_XZ, D]
}
o = y * C -> bf16[B_XZ, S]
"""
DECODE = """
mesh Y on ICI
input q: bf16[B_Y, K, G, H]
cache Kc, Vc: bf16[B_Y, S, K, H]
weight Wo: bf16[K, G, H, D]
fuse {
  s = q * Kc -> bf16[B_Y, S, K, G]
  p = softmax(s, S)
  o = p * Vc -> bf16[B_Y, K, G, H]
}
y = o * Wo -> bf16[B_Y, D]
"""
BYTES = {"bf16": 2, "int8": 1}
DECLARED = re.compile(r"^(weight|cache)\s+([\w, ]+):\s*(\w+)\[([^\]]*)\]", re.MULTILINE)


def answer(program, **options):
    return json.loads(sr.derive({"operation": program, "hardware": "tpu-v5p", **options}).to_json())["answer"]


def handed_out(program, role, sizes, chips):
    """The bytes of the chip that has the most, when every entry of a declared tensor goes to the chips whose digits its index
    begins with. Sizes are multiples of the chips that split them."""
    most = {}
    for at in itertools.product(*(range(n) for n in chips.values())):
        place, held = dict(zip(chips, at, strict=True)), 0
        for kind, names, dtype, shape in DECLARED.findall(program):
            if kind == role:
                entries = 1
                for part in shape.split(","):
                    dim, _, axes = part.strip().partition("_")
                    own = 0
                    for index in range(sizes[dim]):
                        left, wide, mine = index, sizes[dim], True
                        for axis in sorted(axes):
                            wide //= chips[axis]
                            digit, left = divmod(left, wide)
                            mine = mine and digit == place[axis]
                        own += mine
                    entries *= own
                held += entries * BYTES[dtype] * len(names.split(","))
        most[at] = held
    assert len({*most.values()}) == 1
    return next(iter(most.values()))


@pytest.mark.thorough
@pytest.mark.part(2)
@pytest.mark.parametrize("program", [BOTH, MLP, STACK, DECODE])
@pytest.mark.parametrize("each", [2, 3])
def test_what_is_declared_is_handed_out_to_the_chips(program, each):
    found, axes = answer(program), re.search(r"mesh ([\w, ]+) on", program)[1].split(", ")
    chips, plain = dict.fromkeys(axes, each), re.sub(r"_[A-Z]+", "", program)
    names = sorted({*re.findall(r"\b[A-Z]\b", plain)} - {*axes})
    sizes = dict(zip(names, (each * each * n for n in itertools.count(1)), strict=False))
    for what, role in (("weights_per_chip", "weight"), ("caches_per_chip", "cache")):
        text = found[what] or "0"
        value = eval(text.replace("^", "**"), {}, {n: Fraction(x) for n, x in {**sizes, **chips, "L": 1}.items()})
        assert value == handed_out(program, role, sizes, chips), (what, text)


@pytest.mark.thorough
def test_in_training_gradients_and_what_is_saved_are_split_as_their_tensors():
    found = answer(MLP, training=True)
    kept = [found[f"{name}_per_chip"] for name in ("weights", "gradients", "saved")]
    assert kept == ["4*D*F/(X*Y)", "4*D*F/(X*Y)", "(2*B*F + 2*B*D*Y)/(X*Y)"]
    claims = [
        "weights_per_chip = 4DF/(XY)",
        "gradients_per_chip = weights_per_chip",
        "saved_per_chip = 2BD/X + 2BF/(XY)",
    ]
    claims += ["saved_per_chip = (2BDY + 2BF)/(XY)", "caches_per_chip = 0", "saved = XY*saved_per_chip"]
    report = sr.verify({"operation": MLP, "hardware": "tpu-v5p", "training": True, "claims": claims})
    assert [j.verdict for j in report.judgements] == [*["holds"] * 5, "wrong"]


def test_one_chip_holds_no_part():
    alone = answer(MLP.replace("mesh X, Y on ICI", "").replace("_X", "").replace("_Y", ""))
    assert alone["weights"] == "4*D*F"
    assert alone["weights_per_chip"] is None


@pytest.mark.thorough
def test_turns_hold_weights_of_their_own():
    found = answer(STACK)
    assert (found["weights"], found["weights_per_chip"]) == ("4*D*F*L", "4*D*F*L/(X*Y)")
    assert found["caches_per_chip"] == "2*B*S*D/(X*Z)"


FITS = {"solve": "weights_per_chip + caches_per_chip <= capacity.HBM"}


@pytest.mark.thorough
def test_the_largest_batch_that_fits():
    split = DECODE.replace("H, D]", "H, D_Y]").replace("mesh Y", "mesh Y = 4")
    found = answer(split, **FITS, solve_for="B")["solution"]
    assert found["exact"] == "B <= (192000000000 - K*G*H*D)/(2*K*H*S)"
    at = {"K": 8, "G": 8, "H": 128, "S": 8192, "D": 8192}
    (point,) = answer(split, **FITS, solve_for="B", at=[at])["at"]
    weights, cache = 2 * 8 * 8 * 128 * 8192, 2 * 2 * 8192 * 8 * 128
    assert point["solution"]["largest_integer"] == (4 * 96 * 10**9 - weights) // cache


@pytest.mark.thorough
def test_the_fewest_chips_that_fit_and_their_guard():
    """The weights are whole on every chip: where they do not fit, no number of chips helps."""
    found = answer(DECODE, **FITS, solve_for="Y")["solution"]
    assert "Y >= " in found["exact"]
    assert found["guard"] is not None
    assert found["otherwise"] is not None
    sizes = {"B": 8192, "K": 8, "G": 8, "H": 128, "S": 8192, "D": 8192}
    (point,) = answer(DECODE, **FITS, solve_for="Y", at=[sizes])["at"]
    weights, cache = 2 * 8 * 8 * 128 * 8192, 2 * 2 * 8192 * 8192 * 8 * 128
    chips = -(-cache // (96 * 10**9 - weights))
    assert point["solution"]["smallest_integer"] == -(-chips // 4) * 4, "multiples of 4 close to a ring"


# A shape that is read wrongly is read wrongly by everyone: what is changed is how the reader's splits are counted.
FAULTS = {
    "doubled": ("_held", lambda f: lambda program: {n: 2 * x for n, x in f(program).items()}),
    "seven times": ("_held", lambda f: lambda program: {n: x if n == "weights_per_chip" else 7 * x for n, x in f(program).items()}),
    "whole": ("split_of", lambda f: lambda tensor: frozenset()),
    "one axis": ("split_of", lambda f: lambda tensor: frozenset(p for p in f(tensor) if p[1] != "Y")),
    "the first alone": ("kept_for_backward", lambda f: lambda program: f(program)[:1]),
}  # fmt: skip


@pytest.mark.part(1)
@pytest.mark.parametrize("fault", FAULTS)
def test_no_fault_of_what_a_chip_holds_is_printed_or_makes_a_false_claim_hold(fault, monkeypatch):
    name, change = FAULTS[fault]
    monkeypatch.setattr(program_quantities, name, change(getattr(program_quantities, name)))
    problem = {"operation": MLP, "hardware": "tpu-v5p"}
    with pytest.raises(CheckError):
        sr.derive({**problem, "training": True})
    if fault in ("doubled", "whole", "one axis"):
        with pytest.raises(CheckError):
            sr.verify({**problem, "claims": [f"weights_per_chip = {held}" for held in ("4DF", "4DF/X", "8DF/(XY)")]})
