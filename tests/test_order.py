"""Statements that use nothing of one another have no order: whatever stands first, the same is done, moved, sent and kept."""

from itertools import permutations

import pytest

import symroof as sr
from symroof.errors import CheckError
from symroof.model import chip_costs
from symroof.reading.programs import read_program

SIZES = {"B": 8, "D": 64, "F": 32, "V": 128, "N": 4}
ON_CHIPS = "mesh X = 4 on ICI; input x: bf16[B, D_X]; weight n: bf16[D_X]; weight W: bf16[D, F]; "
TABLE = "input ids: int32[N]; input y: bf16[B, D]; weight E: bf16[V, D]; "
NAMES = "mesh X = 4 on ICI; input x: bf16[B_X, D]; weight W: bf16[D, F]; where P = B; "
ONE = "input x: bf16[B, D]; weight W, V: bf16[D, F]; "
PROGRAMS = {
    "a part and the whole": (ON_CHIPS, ("g = x * n -> bf16[B, D_X]", "h = x * W -> bf16[B, F]")),
    "two parts": (ON_CHIPS.replace("[B, D_X]", "[B_X, D]"), ("g = x * n -> bf16[B, D_X]", "h = x * W -> bf16[B_X, F]")),
    "rows and the table": (TABLE, ("e = lookup(E, ids) -> bf16[N, D]", "l = y * E -> bf16[B, V]")),
    "under two names": (NAMES, ("g = x * x[B -> P] -> bf16[B_X, P]", "h = x * W -> bf16[B_X, F]")),
    "gradients": (ONE, ("g = x * W -> bf16[B, F]", "h = x * V -> bf16[B, F]")),
}
# What a chip reads and writes in one fuse, in bytes, by hand.
MOVED = {
    "a part and the whole": 2 * (8 * 64 + 16 + 64 * 32 + 8 * 16 + 8 * 32),  # what was gathered has the own part in it
    "two parts": 2 * (2 * 64 + 8 * 16 + 16 + 64 * 32 + 8 * 16 + 2 * 32),  # the own rows, and what came by all-to-all
    "rows and the table": 4 * 4 + 2 * (128 * 64 + 8 * 64 + 4 * 64 + 8 * 128),  # the rows are in the table
    "under two names": 2 * (8 * 64 + 64 * 32 + 2 * 8 + 2 * 32),
}


def costs(name, order, fused, training):
    head, _ = PROGRAMS[name]
    body = "; ".join(order)
    text = head + (f"fuse {{ {body} }}" if fused else body)
    sizes = {n: x for n, x in SIZES.items() if n in read_program(text).dimensions}
    d = sr.derive(text, on="tpu-v5p", training=training, at=sizes)
    assert {step.check.status for step in d.steps if step.check} == {"proved"}
    chip = "_per_chip" if "mesh" in head else ""
    more = ("sent(X)",) if chip else ()
    more += (f"saved{chip}",) if training else ()
    if fused or not training:  # else the gradients of x are added where the last is made, and that is not read again
        more += (f"bytes{chip}", "T_lower")
    return {what: d.value(what) for what in (f"flops{chip}", f"ops{chip}", *more)}


@pytest.mark.thorough
@pytest.mark.part(1)
@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_whatever_stands_first(name, fused, training):
    first, *others = (costs(name, order, fused, training) for order in permutations(PROGRAMS[name][1]))
    assert all(other == first for other in others)
    if fused and not training and name in MOVED:
        assert MOVED[name] in first.values()


def test_what_the_first_user_takes_alone_is_refused(monkeypatch):
    honest = chip_costs._forms_read

    def of_the_first(program, one, places):
        return honest(program, type(one)(one.line, one.tensor, one.users[:1]), places)

    monkeypatch.setattr(chip_costs, "_forms_read", of_the_first)
    with pytest.raises(CheckError):
        costs("a part and the whole", PROGRAMS["a part and the whole"][1], True, False)


@pytest.mark.thorough
def test_a_link_is_compared_although_the_size_stands_in_a_square():
    """The rows of a tensor stand twice in its Gram matrix: from which number on a link is faster is a root of figures."""
    head = "mesh X = 2, Y = 2 on ICI; input x: bf16[B_X, D]; weight W: bf16[D, F_X]; weight V: bf16[D_Y, G_X]; where P = B; "
    body = "q = x * x[B -> P] -> bf16[B, P_X]; h = x * W -> bf16[B_X, F]; g = x * V -> bf16[B_X, G_Y]"
    for text in (head + body, f"{head}fuse {{ {body} }}"):
        assert "sqrt(" in sr.derive(text, on="tpu-v5p").to_text()
        for rows, faster in ((254, False), (258, True)):
            d = sr.derive(text, on="tpu-v5p", at=f"B={rows},D=16,F=32,G=64")
            assert {step.check.status for step in d.steps if step.check} == {"proved"}
            assert (d.value("T_math") > d.value("T_Y")) is faster
            assert "B > 255.44" in d.to_text(full=True)
