"""What leaves the program is what was proved: a fault at an exit is refused there, and nothing right is.

Each row of the table breaks one thing behind the gate: a printer, a formula of a template, a row of a table, a cell of a
comparison. The answer is given without the fault, and refused with it.
"""

from __future__ import annotations

from dataclasses import fields, replace
from fractions import Fraction
from random import Random

import drawn_requests
import pytest

import symroof as sr
from symroof.derivation.evaluation import QuantityFunction
from symroof.errors import CheckError, SymroofError
from symroof.exploration.figure import rows
from symroof.exploration.measuring import require_measured, require_shown
from symroof.formula import Formula, Frozen
from symroof.proof.step import Step

MATMUL = "bf16[B, D] * bf16[D, F] -> bf16[B, F]"


FIGURES = {
    "a roofline": lambda: sr.plot("mlp", on="tpu-v5e", at="B=64,D=4096,F=8192"),
    "curves": lambda: sr.plot(MATMUL, on="tpu-v5e", at="D=F=4096", over="B=1..400"),
    "times over chips": lambda: sr.plot("fsdp-megatron", on="tpu-v5p", at="B=65536,D=8192,F=28672,Y=4", over="X=1..256"),
    "a plane": lambda: sr.plot(MATMUL, on="tpu-v5e", over="B=1..4096,D=1..4096", at="F=8192"),
    "a breakdown": lambda: sr.plot("mlp", on="tpu-v5e", at="B=64,D=4096,F=8192", kind="breakdown"),
}  # fmt: skip
# What a figure is drawn with beside its points: how it is cut, what it is asked for, where no point is a claim.
GIVEN = {
    "values",
    "xs",
    "ranges",
    "names",
    "variable",
    "roof",
    "roofs",
    "chip",
    "link",
    "setting",
    "large",
    "style",
    "problem",
    "top",
    "peaks",
    "ends",
    "ring",
}


def leaves(value, path=()):
    """The numbers of a figure, each with its place."""
    if isinstance(value, bool | str | type(None)) or (path and path[-1] in GIVEN):
        return
    if isinstance(value, int | float | Fraction):
        yield path
    elif isinstance(value, dict):
        for key in value:
            yield from leaves(value[key], (*path, key))
    elif isinstance(value, tuple | list):
        for i, one in enumerate(value):
            yield from leaves(one, (*path, i))
    elif isinstance(value, Frozen) and not isinstance(value, Formula | Step):
        for one in fields(value):
            yield from leaves(getattr(value, one.name), (*path, one.name))


def put(value, path, change):
    """The value with one of its leaves changed."""
    if not path:
        return change(value)
    key, *rest = path
    if isinstance(value, dict):
        return {**value, key: put(value[key], rest, change)}
    if isinstance(value, tuple | list):
        return type(value)((*value[:key], put(value[key], rest, change), *value[key + 1 :]))
    return replace(value, **{key: put(getattr(value, key), rest, change)})


@pytest.mark.thorough
@pytest.mark.part(1)
@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_that_shows_another_number_is_refused(name):
    drawing = FIGURES[name]().drawing
    require_measured(drawing)
    found = list(leaves(drawing))
    assert found
    missed = []
    for path in Random(name).sample(found, min(len(found), 24)):
        try:
            require_measured(
                put(
                    drawing,
                    path,
                    lambda x: (
                        x * 3 // 2 + 1
                        if isinstance(x, int)
                        else x * Fraction(3, 2) + 1
                        if isinstance(x, Fraction)
                        else x * 1.5 + 1e-30
                    ),
                )
            )
        except (CheckError, SymroofError, ValueError):
            continue
        missed.append(path)
    assert missed == []


@pytest.mark.thorough
@pytest.mark.parametrize("name", FIGURES)
def test_a_table_of_points_shows_numbers_of_the_figure(name):
    drawing = FIGURES[name]().drawing
    _, points = rows(drawing)
    require_shown(drawing, points)
    cells = [(i, j) for i, row in enumerate(points) for j, cell in enumerate(row) if isinstance(cell, float)]
    i, j = cells[len(cells) // 2]
    with pytest.raises(CheckError, match="none of the figure"):
        require_shown(drawing, [*points[:i], (*points[i][:j], points[i][j] * 1.37, *points[i][j + 1 :])])


@pytest.mark.parametrize("operation", [MATMUL, "softmax", "mlp"])
def test_a_row_of_a_sweep_that_is_another_one_is_refused(operation, tmp_path, monkeypatch):
    """Also of quantities in which a size cancels."""
    names = sr.operation(operation).dimensions
    grid = ", ".join(f"{name}=64|4096" for name in names)
    sr.sweep(operation, grid, tmp_path / "out.csv", on="tpu-v5e")
    call = QuantityFunction.__call__
    monkeypatch.setattr(
        QuantityFunction,
        "__call__",
        lambda self, *sizes, **named: call(self, *sizes, **named) * (1.001 if self.name == "intensity" else 1),
    )
    with pytest.raises(CheckError, match="intensity shows"):
        sr.sweep(operation, grid, tmp_path / "other.csv", on="tpu-v5e")


REQUESTS, PARTS = 30, 16


@pytest.mark.part(1)
@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(i, marks=pytest.mark.thorough) for i in range(2, PARTS))])
def test_nothing_right_is_refused_at_an_exit(seed):
    """Of random requests none is refused by a check: an answer, or an error that says what is wrong with the request."""
    given = 0
    for i in range(REQUESTS):
        asked = drawn_requests.request(100 * seed + i)
        try:
            given += bool(drawn_requests.answer(*asked))
        except CheckError as error:
            raise AssertionError(asked) from error
        except SymroofError:
            continue
    assert given > REQUESTS // 4
