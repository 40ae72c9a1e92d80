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
from effort import draws

import symroof as sr
from symroof.derivation.evaluation import QuantityFunction
from symroof.errors import CheckError, SymroofError
from symroof.exploration.figure import rows
from symroof.exploration.measuring import require_measured, require_shown
from symroof.exploration.regime_map import RegimeMap
from symroof.formula import Both, Compare, Either, Formula, Frozen, Name, Product, Quotient, number
from symroof.model.program import Program
from symroof.proof.step import Step
from symroof.rendering.formulas.letters import Letters
from symroof.rendering.formulas.plain import Notation, PlainPrinter
from symroof.rendering.formulas.tex import LatexPrinter
from symroof.rendering.hearing import require_read_back
from symroof.rendering.pages import amounts, explorations, listings, page
from symroof.rendering.pages.pen import Pen
from symroof.rendering.records import maps

MATMUL = "bf16[B, D] * bf16[D, F] -> bf16[B, F]"
TURNED = "input x: bf16[B, D]; weight n: bf16[D]; repeat 2 as x = z { y = rms_norm(x, n); z = relu(y) }"
B, D, F, R = map(Name, "BDFR")


def derived(form, operation=MATMUL, **options):
    options = {"assume": "B << D, F", "at": "B=256,D=F=8192"} if operation == MATMUL else options
    return lambda: getattr(sr.derive(operation, on="tpu-v5e", **options), f"to_{form}")()


def mapped(form):
    return lambda: getattr(sr.regimes(MATMUL, on="tpu-v5e", at="B=128,D=F=8192"), f"to_{form}")()


def compared(form):
    return lambda: getattr(
        sr.compare(MATMUL, on=["tpu-v5e", "h100"], assume="B << D, F", at="D=F=8192"), f"to_{form}"
    )()


def one_more(text):
    """A text with another first digit."""
    at = next((i for i, c in enumerate(text) if c.isdigit()), None)
    return text if at is None else f"{text[:at]}{int(text[at]) % 9 + 1}{text[at + 1 :]}"


def without_last(found):
    return found[:-1] if len(found) > 3 else found


def another_row(row):
    """A row of a record with one of its numbers changed."""
    key = next((key for key in ("factor", "over_ridge", "ridge", "smallest_integer") if row.get(key) is not None), None)
    return row if key is None else {**row, key: row[key] + 1}


def then(change):
    """A function whose result is changed."""
    return lambda original: lambda *arguments, **options: change(original(*arguments, **options))


def first(change):
    """A method whose first argument is changed."""
    return lambda original: lambda self, one, *rest, **options: original(self, change(one), *rest, **options)


FAULTS = {
    "a sum loses a term": (Notation, "sum", lambda original: lambda self, node, *terms: original(self, node, *terms[:1]), derived("text")),
    "a sum loses a term in Markdown": (Notation, "sum", lambda original: lambda self, node, *terms: original(self, node, *terms[:1]), derived("markdown")),
    "a fraction is upside down": (LatexPrinter, "quotient", lambda original: lambda self, node, above, below: original(self, node, below, above), derived("latex")),
    "the brackets of a product are left out": (PlainPrinter, "brackets", lambda original: lambda self, part: part.text, derived("text")),
    "a name is another one": (Letters, "plain", then(lambda name: "D" if name == "F" else name), derived("text")),
    "letters that are a unit": (PlainPrinter, "product", then(lambda part: replace(part, text=part.text.replace("M B", "MB"))), derived("text", "bf16[M, B] * bf16[B, F] -> bf16[M, F]")),
    "a template sets a formula of its own": (Pen, "_part", first(lambda one: Product((number(7), one)) if isinstance(one, Quotient) else one), derived("markdown")),
    "a template turns a condition": (Pen, "_part", first(lambda one: replace(one, relation="<") if isinstance(one, Compare) else one), derived("text")),
    "an amount is another one": (Pen, "amount", first(one_more), derived("text")),
    "a share is another one": (explorations, "to_digits", then(one_more), mapped("text")),
    "decimals stand for nothing": (amounts.rounding, "decimal", then(one_more), derived("text")),
    "a table loses a row": (page, "table", then(lambda lines: without_last(list(lines))), derived("text", "decoder-layer")),
    "a sheet loses a block": (page, "_on_a_sheet", then(lambda blocks: without_last(list(blocks))), derived("markdown")),
    "the text of a program loses a statement": (listings, "str", lambda original: lambda one: str(one).rsplit("\n", 1)[0] if isinstance(one, Program) else str(one), derived("markdown", "mlp")),
    "the text of a program has another function": (listings, "str", lambda original: lambda one: str(one).replace("relu", "gelu"), derived("markdown", TURNED)),
    "the text of a program has another repeat": (listings, "str", lambda original: lambda one: str(one).replace("repeat 2", "repeat 3"), derived("markdown", TURNED)),
    "a listing loses a line": (listings, "_short", then(lambda lines: list(lines)[:-1]), derived("text", "mlp")),
    "a ratio at a point of a map": (maps, "_place", then(another_row), mapped("json")),
    "a ratio of a map in words": (explorations, "to_places", then(one_more), mapped("text")),
    "a row of a comparison": (maps, "_row", then(another_row), compared("json")),
    "a cell of a table of values": (maps, "_flat", then(another_row), compared("csv")),
    "a condition of a record is turned": (Notation, "compare", lambda original: lambda self, node, left, right: original(self, replace(node, relation={">": "<", "<": ">"}.get(node.relation, node.relation)), left, right), derived("json")),
    "a record says never": (Notation, "compare", then(lambda part: replace(part, text="never")), derived("json")),
    "a formula of a record": (PlainPrinter, "product", then(lambda part: replace(part, text=part.text.replace("B*D", "B*F"))), derived("json")),
}  # fmt: skip


@pytest.mark.thorough
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_behind_the_gate_does_not_leave(name, monkeypatch):
    owner, attribute, fault, ask = FAULTS[name]
    assert ask()
    original = owner.__dict__.get(attribute, str)
    monkeypatch.setattr(owner, attribute, fault(original), raising=False)
    with pytest.raises(CheckError):
        ask()


FIGURES = {
    "a roofline": lambda: sr.plot("mlp", on="tpu-v5e", at="B=64,D=4096,F=8192"),
    "curves": lambda: sr.plot(MATMUL, on="tpu-v5e", at="D=F=4096", over="B=1..400"),
    "times over chips": lambda: sr.plot("fsdp-megatron", on="tpu-v5p", at="B=65536,D=8192,F=28672,Y=4", over="X=1..256"),
    "a plane": lambda: sr.plot(MATMUL, on="tpu-v5e", over="B=1..4096,D=1..4096", at="F=8192"),
    "a breakdown": lambda: sr.plot("mlp", on="tpu-v5e", at="B=64,D=4096,F=8192", kind="breakdown"),
}  # fmt: skip
# What a figure is drawn with beside its points: how it is cut, what it is asked for, where no point is a claim.
GIVEN = {
    "values", "xs", "ranges", "names", "variable", "roof", "roofs", "chip", "link", "setting", "large", "style",
    "problem", "top", "peaks", "ends", "ring",
}  # fmt: skip


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


@pytest.mark.thorough
def test_a_map_that_lost_a_regime_is_refused(monkeypatch):
    found = sr.regimes(MATMUL, on="tpu-v5e")
    (exploration,) = found.explorations
    for rest in (exploration.found.rows[1:], exploration.found.rows[:-1]):
        shorter = replace(exploration, found=replace(exploration.found, rows=rest))
        with pytest.raises(CheckError, match="regimes"):
            maps.map_record(shorter)
    assert isinstance(exploration.found, RegimeMap)


PLAIN, TEX = PlainPrinter(), LatexPrinter()
CONDITIONS = [
    Both((Either((Compare(B, ">", D), Compare(B, ">", F))), Compare(D, ">", R))),
    Either((Both((Compare(B, ">", D), Compare(B, ">", F))), Compare(D, ">", R))),
    Compare(Compare(B, ">", D), "<=>", Compare(F, "<=", R)),
    Compare(Quotient(B, D), "<", Quotient(number(1), F)),
]


@pytest.mark.parametrize("printer", [PLAIN, TEX])
@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_condition_is_read_back_as_it_is_and_as_no_other(condition, printer):
    text = printer.print(condition)
    require_read_back(condition, text, printer)
    others = [printer.print(other) for other in CONDITIONS if other is not condition]
    turned = text.replace(">", "!").replace("<", ">").replace("!", "<")
    for other in (*others, *([turned] if turned != text else [])):
        with pytest.raises(CheckError):
            require_read_back(condition, other, printer)


REQUESTS, PARTS = draws(30), 8


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
