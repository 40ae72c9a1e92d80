"""Programs on meshes on pages and in records: why tensors are moved, who shares the work, and where links bound it."""

import json
import re
from dataclasses import replace
from functools import cache

import pytest
from texts import FSDP

import symroof as sr
from symroof.derivation.pipeline import first_draft
from symroof.errors import CheckError
from symroof.proof.check import establish
from symroof.proof.step import Reason


@cache
def step():
    return sr.derive(FSDP, on="tpu-v5p", training=True)


@pytest.mark.thorough
@pytest.mark.parametrize("width", [60, 80])
def test_pages_fit(width):
    assert all(len(line) <= width for line in step().to_text(width=width).splitlines())


@pytest.mark.thorough
def test_the_record():
    answer = json.loads(step().to_json())["answer"]
    assert answer["chips"] == "X*Y"
    assert answer["flops_per_chip"] == "12*B*D*F/(X*Y)"
    assert answer["sent_over"] == {"X": "6*D*F*(X - 1)/(X*Y)", "Y": "4*B*D*(Y - 1)/(X*Y)"}
    thresholds = {name: told["exact"] for name, told in answer["thresholds"].items() if name != "HBM"}
    assert thresholds == {"X": "B > 2550*(X - 1)", "Y": "Y < 1 + F/1700"}
    assert answer["thresholds"]["HBM"] == answer["threshold"]
    assert {*answer["threshold"]} <= {*answer["thresholds"]["X"]}
    moved = {s["name"]: s["exchanges"] for s in answer["statements"]}
    forward = {"turns": None, "pass": "forward"}
    assert moved["y"] == [
        {"collective": "all-gather", "axes": ["X"], "operand": "W2", "payload": "2*D*F/Y", **forward},
        {"collective": "reduce-scatter", "axes": ["Y"], "operand": "y", "payload": "2*B*D/X", **forward},
    ]
    assert [(e["operand"], e["pass"]) for e in moved["dW1"]] == [("dW1", "backward")]


@pytest.mark.thorough
def test_how_often_something_is_exchanged():
    """In each layer of each microbatch, or once for all of them."""
    text = "mesh X=4 on ICI; input x: bf16[B_X, D]; weight W: bf16[D_X, E]; where E = D; accumulate M { repeat L as x = y { h = x*W -> bf16[B_X, E]; y = h -> bf16[B_X, D] } }"
    answer = json.loads(sr.derive(text, on="tpu-v5p", training=True).to_json())["answer"]
    turns = {e["collective"]: e["turns"] for s in answer["statements"] for e in s["exchanges"]}
    assert turns == {"all-gather": "M*L", "reduce-scatter": "L"}


def test_on_one_chip_they_are_null():
    answer = json.loads(sr.derive("mlp").to_json())["answer"]
    assert [answer[key] for key in ("sent_over", "thresholds", "flops_per_chip")] == [None, None, None]


@pytest.mark.thorough
def test_one_product_on_an_open_axis():
    d = sr.derive("bf16[B_X, D] * bf16[D_X, F] -> bf16[B_X, F]", on="tpu-v5p", mesh="X", link="ICI")
    assert re.search(r"compute-bound +B > 2550\(X - 1\)\n", d.to_text())
    assert "T_comms = DF(X - 1)/(X*9.0e10)" in d.to_text()
    assert "is a ring of at least 3 chips" in d.to_markdown()


def of_exchanges(**change):
    return lambda facts: replace(facts, exchanges=tuple(replace(e, **change) for e in facts.exchanges))


CHANGES = [
    (Reason.SENT, of_exchanges(of="sums")),
    (Reason.SENT, of_exchanges(before=("F",))),
    (Reason.SENT, of_exchanges(after=())),
    (Reason.SENT, of_exchanges(result="y2")),
    (Reason.ON_EACH, lambda facts: replace(facts, chips=facts.repeated)),
    (Reason.CHIPS, lambda facts: replace(facts, axes=tuple(replace(a, wiring="line") for a in facts.axes))),
]


@pytest.mark.parametrize(("reason", "change"), CHANGES)
def test_a_wrong_reason_is_refused(reason, change):
    """What prose says of an exchange, of who shares the work and of the wiring is decided by the simulated mesh."""
    told = next(s for s in step().written if s.reason is reason and s.facts is not None)
    ledger = first_draft(step().setting.problem).ledger
    assert establish((told,), ledger)
    with pytest.raises(CheckError):
        establish((replace(told, facts=change(told.facts)),), ledger)
