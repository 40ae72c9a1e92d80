"""Tables that calculate: a formula beside its number, columns that follow from others, totals; and products of shapes."""

import random
from fractions import Fraction
from pathlib import Path

import pytest

import symroof.verification.tables as tables
from symroof.reading.documents import read_text
from symroof.verification.chapters import judge_read

pytestmark = pytest.mark.part(8)

UNITS = "| link | Gb/s | GB/s |\n|--|--|--|\n| HDR | 200 | 25 |\n| NDR | 400 | 50 |\n| XDR | 800 | {} |\n| NVLink 4 | 3600 | 450 |\n"
CAPPED = "| intensity | attainable |\n|--|--|\n| 1 | 0.82 |\n| 10 | 8.2 |\n| 50 | 41 |\n| 100 | 82 |\n| 1000 | 197 |\n"
# What stands in a table, and what is said of its cells.
TABLES = {
    "units": (UNITS.format(100), ["holds"] * 4),
    "units, wrong": (UNITS.format(80), ["holds", "holds", "wrong", "holds"]),
    "a bound at the end": (CAPPED, []),
    "the longest": ("| D | T_a | T_b | longest |\n|--|--|--|--|\n| 1 | 3.1 | 2 | 3.1 |\n| 2 | 5.2 | 7 | 7 |\n| 3 | 8.4 | 9.5 | 9.5 |\n| 4 | 16 | 11.5 | 16 |\n", []),
    "rounded up": ("| N | tiles |\n|--|--|\n| 1024 | 128 |\n| 1280 | 160 |\n| 2048 | 256 |\n| 2200 | 288 |\n| 3328 | 416 |\n", []),
    "a factor": ("| bw | tok/s |\n|--|--|\n| 960 | 59.8 |\n| 936 | 58.3 |\n| 900 | 66.1 |\n| 800 | 49.8 |\n| 1008 | 62.8 |\n", ["holds", "holds", "wrong", "holds", "holds"]),
    "a quotient": ("| bytes (GB) | GB/s | ms |\n|--|--|--|\n| 16 | 2000 | 8 |\n| 16 | 3200 | 5 |\n| 28 | 2000 | 14 |\n", ["holds"] * 3),
    "a product of three": ("| M | N | K | GFLOP |\n|--|--|--|--|\n| 4096 | 4096 | 5120 | 171.8 |\n| 5120 | 4096 | 5120 | 214.7 |\n| 20480 | 4096 | 5120 | 859.0 |\n", ["holds"] * 3),
    "a total": ("| part | GB |\n|--|--|\n| weights | 14 |\n| gradients | 14 |\n| **total** | 28 |\n", ["holds"]),
    "a total, wrong": ("| 항목 | GB |\n|--|--|\n| 가중치 | 14 |\n| 기울기 | 14 |\n| 합계 | 30 |\n", ["wrong"]),
    "a total of more": ("| part | GB |\n|--|--|\n| weights | 14 |\n| of which heads | 3 |\n| total | 14 |\n", []),
    "a sum of two": ("| model | weights | cache | both |\n|--|--|--|--|\n| a | 14 | 3 | 17 |\n| b | 26 | 5 | 31 |\n| c | 70 | 11 | 81 |\n| d | 140 | 9 | 149 |\n", ["holds"] * 4),
    "a difference": ("| chip | memory | weights | left |\n|--|--|--|--|\n| a | 80 | 14 | 66 |\n| b | 96 | 26 | 70 |\n| c | 141 | 72 | 69 |\n| d | 192 | 140 | 52 |\n", ["holds"] * 4),
    "a formula": ("$N = 7 \\times 10^9$.\n\n| what | bytes | GB |\n|--|--|--|\n| weights | $2N$ | 14 |\n| states | $12N$ | 94 |\n", ["holds", "wrong"]),
    "a formula of something else": ("| what | bytes | GB |\n|--|--|--|\n| weights | $2N$ | 14 |\n", []),
}  # fmt: skip
SHAPES = {
    "$[b, s, h] \\times [h, 4h] = [b, s, 4h]$": ["holds"],
    "$[b, s, 4h] \\times [h, h] = [b, s, h]$": ["wrong"],
    "$[B, N, T, H] \\cdot [B, N, H, S] = [B, N, T, S]$": ["holds"],
    "$[m \\times k] \\cdot [k \\times n] \\to [m \\times n]$": ["holds"],
    "$[m, k] \\cdot [n, k] = [m, n]$": [],
    "`[4096, 512] x [512, 1024] = [4096, 2048]`": ["wrong"],
    "```\n(8, 64) @ (32, 128) -> (8, 128)\n```": ["wrong"],
    "With $k = 4h$ we have $[b, 4h] \\times [k, h] = [b, h]$": ["holds"],
    "$[2, 3] \\times [3, 4, 5] = [2, 5]$": ["wrong"],
    "int8[B, D] * int8[B, D, F] -> int8[B, F]": [],
}


def verdicts(text):
    return [one.verdict for one in judge_read(read_text(text), Path()).judgements]


@pytest.mark.parametrize("row", TABLES)
def test_what_follows_from_other_cells_is_judged(row):
    text, expected = TABLES[row]
    assert verdicts(text) == expected


@pytest.mark.parametrize(("row", "right"), [("units, wrong", 800 / 8), ("a factor", 56), ("a total, wrong", 14 + 14)])
def test_a_cell_that_is_wrong_is_told_what_it_should_be(row, right):
    """Of 900 GB/s at 59.8 per 960, 58.3 per 936, ... the others tell two digits."""
    judged = judge_read(read_text(TABLES[row][0]), Path()).judgements
    assert [float(one.findings[0].value.value) for one in judged if one.verdict == "wrong"] == [right]


@pytest.mark.parametrize("text", SHAPES)
def test_sizes_that_have_to_be_the_same_are_compared(text):
    assert verdicts(text) == SHAPES[text]


def test_random_tables_by_a_rule_hold_and_one_that_is_off_inside_is_the_wrong_one():
    """Columns by a factor, printed to three digits: no true cell is wrong, and a cell that is off by a tenth is found."""
    draw = random.Random(4)
    alarms, missed = [], 0
    for _ in range(60):
        inputs = sorted(draw.sample(range(100, 5000), 6))
        factor = Fraction(draw.randint(110, 999), 1000)
        cells = [f"{float(a * factor):.4g}" for a in inputs]
        off = draw.choice([None, draw.randint(1, 4)])
        if off is not None:
            cells[off] = f"{float(inputs[off] * factor * Fraction(11, 10)):.4g}"
        rows = "\n".join(f"| r{i} | {a} | {c} |" for i, (a, c) in enumerate(zip(inputs, cells, strict=True)))
        said = verdicts(f"| name | GB/s | rate |\n|--|--|--|\n{rows}\n")
        alarms += [rows] * ("wrong" in said and off is None)
        alarms += [rows] * (off is not None and any(v == "wrong" for i, v in enumerate(said) if i != off))
        missed += off is not None and (len(said) < 6 or said[off] != "wrong")
    assert not alarms, alarms[0]
    assert missed <= 20


def any_word_is_a_unit(m):
    m.setattr(tables, "head_unit", lambda head: "GB")


def parts_are_added_up(m):
    m.setattr(tables, "PARTIAL", tables.re.compile("(?!)"))


FAULTS = {any_word_is_a_unit: "rounded up", parts_are_added_up: "a total of more"}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_every_fault_is_noticed(monkeypatch, fault):
    text, expected = TABLES[FAULTS[fault]]
    fault(monkeypatch)
    assert verdicts(text) != expected
