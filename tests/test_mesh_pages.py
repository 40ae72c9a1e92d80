"""Programs on meshes on pages and in records: why tensors are moved, who shares the work, and where links bound it."""

import json
import re
from dataclasses import replace
from functools import cache

import pytest

import symroof as sr
from symroof.derivation.pipeline import begun
from symroof.errors import CheckError
from symroof.proof.check import checked
from symroof.proof.step import Reason

STEP = """
mesh X, Y on ICI
input  x:  bf16[B_X, D_Y]
weight W1: bf16[D_X, F_Y]
weight W2: bf16[F_Y, D_X]
h = x * W1 -> bf16[B_X, F_Y]
a = gelu(h)
y = a * W2 -> bf16[B_X, D_Y]
"""
LINES = (
    "mesh X on ICI line; mesh Y = 4 on DCN; input p: bf16[B, D]; weight w: bf16[F_X, D]; weight v: bf16[D, F]; weight q: bf16[D, E_Y]; "
    "repeat L as p = z { h = p * v -> bf16[B, F_X]; a = softmax(h, F); z = a * w -> bf16[B, D] }; r = z * q -> bf16[B_Y, E]"
)


@cache
def step():
    return sr.derive(STEP, on="tpu-v5p", training=True)


def words(page):
    return " ".join(page.split())


@pytest.mark.thorough
def test_every_exchange_says_why():
    page = words(step().to_text())
    for said in (
        "X and Y are rings of at least 3 chips on ICI",
        "h: x is split over Y along D, the work along F: all-gather of x over Y, 2BD/X bytes; each direction of a link carries (Y - 1)/(2Y) of it",
        "h: W1 is split over X along D, the work along B: all-gather of W1 over X, 2DF/Y bytes",
        "y: each chip of Y has a partial sum over F, and y is split along D: reduce-scatter of y over Y",
        "dW1: each chip of X has a partial sum over B, and dW1 is split along D: reduce-scatter of dW1 over X",
        "played on meshes of 2 and 3 chips: every chip ends with the entries that its type declares",
        "XY chips share every statement evenly",
        "sent over X 6DF(X - 1)/(XY) all-gather W1, W2 / all-gather W2, W1; reduce-scatter dW2, dW1",
        "against X B > 2550(X - 1) T_math > T_X",
        "against Y Y < 1 + F/1700 T_math > T_Y",
    ):
        assert said in page, said


@pytest.mark.thorough
def test_a_sheet_has_a_row_for_each_exchange():
    page = step().to_markdown()
    rows = re.findall(r"^\| (`.*?`(?:, `.*?`)*)(?: each)? \| .* \| (?:all|reduce)-\w+ of .*$", page, re.MULTILINE)
    assert len(rows) == 8  # the same exchange of two statements is one row
    assert sum(row.count("`") for row in rows) == 20
    assert (
        "| `y` | each chip of $Y$ has a partial sum over $F$, and `y` is split along $D$ | reduce-scatter of `y` over $Y$ |"
        in page
    )


@pytest.mark.thorough
def test_rows_results_lines_and_switches():
    page = words(sr.derive(LINES, on="tpu-v5p").to_text())
    assert "X is a line of any number of chips on ICI" in page
    assert "Y is a switch with 4 chips on DCN" in page
    assert "the rows of a are split over X along F: all-reduce of 2 numbers for each row of a over X, 4B bytes" in page
    assert "r is made split over Y along E, and declared along B: all-to-all of r over Y" in page
    assert "in each of L turns" in page
    assert "h and z: X chips share the work, and each part of it is done by 4: 4 times the work" in page


@pytest.mark.thorough
@pytest.mark.parametrize("width", [60, 80])
def test_pages_fit(width):
    assert all(len(line) <= width for line in step().to_text(width=width).splitlines())


def test_the_record():
    answer = json.loads(step().to_json())["answer"]
    assert answer["chips"] == "X*Y"
    assert answer["flops_per_chip"] == "12*B*D*F/(X*Y)"
    assert answer["sent_over"] == {"X": "6*D*F*(X - 1)/(X*Y)", "Y": "4*B*D*(Y - 1)/(X*Y)"}
    assert {name: told["exact"] for name, told in answer["thresholds"].items() if name != "HBM"} == {
        "X": "B > 2550*(X - 1)",
        "Y": "Y < 1 + F/1700",
    }
    assert answer["thresholds"]["HBM"] == answer["threshold"]
    assert {*answer["threshold"]} <= {*answer["thresholds"]["X"]}
    moved = {s["name"]: s["exchanges"] for s in answer["statements"]}
    assert moved["y"] == [
        {
            "collective": "all-gather",
            "axes": ["X"],
            "operand": "W2",
            "payload": "2*D*F/Y",
            "turns": None,
            "pass": "forward",
        },
        {
            "collective": "reduce-scatter",
            "axes": ["Y"],
            "operand": "y",
            "payload": "2*B*D/X",
            "turns": None,
            "pass": "forward",
        },
    ]
    assert [(e["operand"], e["pass"]) for e in moved["dW1"]] == [("dW1", "backward")]


def test_how_often_something_is_exchanged():
    """In each layer of each microbatch, or once for all of them."""
    text = "mesh X=4 on ICI; input x: bf16[B_X, D]; weight W: bf16[D_X, E]; where E = D; accumulate M { repeat L as x = y { h = x*W -> bf16[B_X, E]; y = h -> bf16[B_X, D] } }"
    answer = json.loads(sr.derive(text, on="tpu-v5p", training=True).to_json())["answer"]
    turns = {e["collective"]: e["turns"] for s in answer["statements"] for e in s["exchanges"]}
    assert turns == {"all-gather": "M*L", "reduce-scatter": "L"}


def test_on_one_chip_they_are_null():
    answer = json.loads(
        sr.derive(
            "input x: bf16[B, D]; weight W: bf16[D, F]; weight V: bf16[F, D]; h = x * W -> bf16[B, F]; y = h * V -> bf16[B, D]"
        ).to_json()
    )["answer"]
    assert [answer[key] for key in ("sent_over", "thresholds", "flops_per_chip")] == [None, None, None]


def test_one_product_on_an_open_axis():
    d = sr.derive("bf16[B_X, D] * bf16[D_X, F] -> bf16[B_X, F]", on="tpu-v5p", mesh="X", link="ICI")
    assert "compute-bound  B > 2550(X - 1)" in d.to_text()
    assert "T_comms = DF(X - 1)/(X*9.0e10)" in d.to_text()
    assert "is a ring of at least 3 chips" in d.to_markdown()


@pytest.mark.parametrize(
    ("reason", "change"),
    [
        (Reason.SENT, lambda facts: replace(facts, exchanges=tuple(replace(e, of="sums") for e in facts.exchanges))),
        (
            Reason.SENT,
            lambda facts: replace(facts, exchanges=tuple(replace(e, before=("F",)) for e in facts.exchanges)),
        ),
        (Reason.SENT, lambda facts: replace(facts, exchanges=tuple(replace(e, after=()) for e in facts.exchanges))),
        (Reason.SENT, lambda facts: replace(facts, exchanges=tuple(replace(e, result="y2") for e in facts.exchanges))),
        (Reason.ON_EACH, lambda facts: replace(facts, chips=facts.repeated)),
        (Reason.CHIPS, lambda facts: replace(facts, axes=tuple(replace(a, wiring="line") for a in facts.axes))),
    ],
)
def test_a_wrong_reason_is_refused(reason, change):
    """What prose says of an exchange, of who shares the work and of the wiring is decided by the played mesh."""
    told = next(s for s in step().written if s.reason is reason and s.facts is not None)
    ledger = begun(step().setting.problem).ledger
    assert checked((told,), ledger)
    with pytest.raises(CheckError):
        checked((replace(told, facts=change(told.facts)),), ledger)


def test_names_are_set_in_one_manner():
    """Statements are upright, whatever their length; a pass is the whole with an index; the bandwidth is not W beside W1."""
    page = step().to_markdown()
    assert set(re.findall(r"T_\{\\text\{math\}\}\((.*?)\)", sr.derive("mlp", on="tpu-v5e").to_markdown())) <= {
        r"\text{h}",
        r"\text{y}",
    }
    assert r"\text{FLOPs}_{\text{fwd}} &= 4BDF" in page
    assert "flops forward" not in page
    assert r"W_{\text{HBM}} = 2.8" in page
    assert "$W =" not in page
    assert "$W =" in sr.derive("matmul", on="tpu-v5e").to_markdown()


def test_what_is_said_above_is_not_said_again():
    """The memory is solved for once; a long sum of times is words; what stays in memory is a row for each stock."""
    page = step().to_markdown()
    assert page.count(r"\begin{cases}") == 1
    assert r"T_{\text{steps}} &=" not in page
    assert page.count("\n") < 230
    assert "| weights | $4DF$ | $\\dfrac{4DF}{XY}$ |" in page
