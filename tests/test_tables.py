"""Rows of tables are claims about what the row speaks of; and of any other row nothing is said."""

import re

import pytest
from texts import judged

from symroof.reading.documents import read_text
from symroof.verification import formula_claims

PRODUCT = "`bf16[B, D] * bf16[D, F] -> bf16[B, F]`"
SIZED = "`bf16[8, 4096] * bf16[4096, 11008] -> bf16[8, 11008]`"
MATMUL = '<!-- symroof\noperation = "bf16[B, D] * bf16[D, F] -> bf16[B, F]"\nhardware = "tpu-v5e"\n-->\n\n'


def table(heads, *rows):
    lines = [heads.split(" | "), ["--"] * len(heads.split(" | ")), *([*row] for row in rows)]
    return "".join("| " + " | ".join(cells) + " |\n" for cells in lines)


def verdicts(report):
    return [(j.claim, j.verdict) for j in report.judgements]


@pytest.mark.parametrize(
    ("head", "cell", "expected"),
    [
        ("FLOPs", "$2BDF$", "holds"),
        ("FLOPs", "**2BDF**", "holds"),
        ("FLOPs", "BDF", "wrong"),
        ("total FLOPs", "`2*B*D*F`", "holds"),
        ("Bytes", "2BD + 2DF + 2BF", "holds"),
        ("bytes", "2BD + 2DF", "wrong"),
        ("Arithmetic intensity", "B", "conditional"),  # what it tends to, as tables write it
        ("Arithmetic intensity", "≈ $B$", "conditional"),
        ("intensity", "D", "conditional"),
        ("intensity", "2B", "wrong"),
        ("intensity (FLOPs/byte)", "$< B$", "holds"),
    ],
)
def test_the_typed_operation_of_a_row_is_its_model(tmp_path, head, cell, expected):
    report = judged(tmp_path, table(f"layer | operation | {head}", ("up", PRODUCT, cell)))
    assert [j.verdict for j in report.judgements] == [expected]
    assert [s.reason.kind for s in report.skipped] == ["operation"]


@pytest.mark.parametrize(
    ("head", "cell", "expected"),
    [
        ("FLOPs", "7.21e8", "rounded"),
        ("FLOPs (GFLOPs)", "0.721", "rounded"),
        ("FLOPs [TFLOPs]", "0.721", "wrong"),
        ("bytes", "90.4 MB", "rounded"),
        ("bytes (MB)", "90.4", "rounded"),
        ("bytes (GB)", "90.4 MB", "rounded"),  # a cell with a unit of its own
        ("bytes (MiB)", "90.4", "wrong"),
        ("intensity", "7.98", "rounded"),
        ("intensity", "8.2", "wrong"),
        ("intensity", "~8.2", "holds"),
    ],
)
def test_a_head_carries_its_unit(tmp_path, head, cell, expected):
    assert [j.verdict for j in judged(tmp_path, table(f"operation | {head}", (SIZED, cell))).judgements] == [expected]


@pytest.mark.parametrize(
    ("head", "cell"),
    [
        ("FLOPs per token", "3BDF"), ("params", "DF"), ("training FLOPs", "6BDF"), ("FLOPs (fwd + bwd)", "6BDF"), ("memory", "DF"),
        ("FLOPs (TFLOPs/s)", "197"), ("FLOPs", "—"), ("FLOPs", "n/a"), ("FLOPs", ""), ("", "BDF"), ("time (ms)", "3"), ("Anteil (%)", "3"),
    ],
)  # fmt: skip
def test_other_heads_and_empty_cells_claim_nothing(tmp_path, head, cell):
    report = judged(tmp_path, table(f"operation | {head}", (PRODUCT, cell)))
    assert report.judgements == ()
    assert [s.reason.kind for s in report.skipped] == ["operation"]


def test_a_formula_in_a_cell_is_judged_once(tmp_path):
    report = judged(tmp_path, table("operation | FLOPs", (PRODUCT, "$1 = 2$")))
    assert verdicts(report) == [("1 = 2", "wrong")]


@pytest.mark.parametrize(
    ("heads", "row", "kinds"),
    [
        ("method | FLOPs", ("sparse", "BDF"), ["row"]),
        ("operation | bytes", ("$X[B, D] \\cdot Y[D, F] \\to Z[B, F]$", "BD"), ["operation", "no_width"]),
        ("operation | FLOPs (GFLOPs)", (PRODUCT, "2BDF"), ["operation", "unreadable"]),
        ("operation | T_math", (PRODUCT, "3 us"), ["operation", "no_chip"]),
        ("operation | layers | FLOPs", (PRODUCT, "32", "64BDF"), ["operation", "row"]),
        ("chip | peak FLOPs/s | chips | ridge", ("v5e", "1.97e14", "4", "960"), ["row", "row"]),
        ("peak (TFLOPs/s) | HBM bandwidth (GB/s) | ridge", ("197", "820", "960"), ["row"] * 3),
        ("operation | layers | FLOPs", (PRODUCT, "32", "2BDF"), ["operation", "row"]),
    ],
)
def test_what_is_not_judged_has_a_reason(tmp_path, heads, row, kinds):
    report = judged(tmp_path, table(heads, row))
    assert report.judgements == ()
    assert [s.reason.kind for s in report.skipped] == kinds


def test_the_type_of_elements_may_stand_in_a_comment(tmp_path):
    row = ("$X[B, D] \\cdot Y[D, F] \\to Z[B, F]$", "BD + DF + BF")
    assert verdicts(judged(tmp_path, '<!-- symroof dtype = "int8" -->\n\n' + table("operation | bytes", row))) == [
        ("bytes = BD + DF + BF", "holds")
    ]


def test_rows_of_sizes_speak_of_the_problem_of_the_comments(tmp_path):
    heads = "B | $D$ | F | FLOPs (GFLOPs) | $T_\\text{math}$ (us) | T_comms [us]"
    report = judged(
        tmp_path,
        MATMUL
        + table(heads, ("16", "4096", "4096", "0.537", "2.73", "41.2"), ("16", "4096", "4096", "0.637", "27.3", "—")),
    )
    assert [v for _, v in verdicts(report)] == ["rounded", "rounded", "rounded", "wrong", "wrong"]
    assert verdicts(judged(tmp_path, MATMUL + table("method | FLOPs", ("sparse", "BDF")))) == []


def test_places_point_at_the_cell(tmp_path):
    text = "text\n\n> " + "> ".join(
        table(r"op \| x | FLOPs | FLOPs", (PRODUCT, "`BDF`", "$BDF$")).splitlines(keepends=True)
    )
    lines = text.split("\n")
    report = judged(tmp_path, text)
    assert [(j.line, j.column) for j in report.judgements] == [
        (5, lines[4].index("`BDF`") + 2),
        (5, lines[4].index("$BDF$") + 2),
    ]


def test_comments_speak_of_the_next_cell(tmp_path):
    rows = (PRODUCT, "BDF"), (PRODUCT, "BDF")
    report = judged(
        tmp_path, '<!-- symroof expect = "wrong" -->\n\n' + table("FLOPs | op", *(row[::-1] for row in rows))
    )
    assert [(j.verdict, j.good) for j in report.judgements] == [("wrong", True), ("wrong", False)]
    report = judged(tmp_path, "<!-- symroof ignore -->\n\n" + table("FLOPs | op", *(row[::-1] for row in rows)))
    assert [j.line for j in report.judgements] == [6]


def test_tabulars_of_latex(tmp_path):
    text = (
        "\\begin{tabular}{l|rr}\n\\toprule\noperation & FLOPs & Bytes (MB) \\\\ \\midrule\n"
        "$\\text{bf16}[B, D] \\cdot \\text{bf16}[D, F] \\rightarrow \\text{bf16}[B, F]$ & $3BDF$ & -- \\\\\n"
        "\\multicolumn{2}{c}{x} \\\\\n% bf16[B, D] * bf16[D, F] -> bf16[B, F] & BDF & 1 \\\\\n\\end{tabular}"
    )
    report = judged(tmp_path, text, "x.tex")
    assert [(j.line, j.verdict) for j in report.judgements] == [(4, "wrong")]


@pytest.mark.parametrize(
    "text",
    [
        "| a |\n",
        "| FLOPs |\n|--|\n",
        "| FLOPs |\n|--|\n|",
        "a | FLOPs\n--|--\n1",
        "\\begin{tabular}{l} FLOPs \\\\ 1 & 2 \\\\ \\end{tabular}",
        "\\begin{tabular}\\end{tabular}",
    ],
)
def test_ragged_tables_do_no_harm(text):
    assert all(
        part.row is None or len(part.row.heads) == len(part.row.cells)
        for tex in (False, True)
        for part in read_text(text, tex=tex).parts
    )


FAULTS = {
    "a head has no unit": ("_column", lambda head, force, column=formula_claims._column: (c := column(head, force)) and formula_claims.Column(c.name)),
    "a row has no sizes": ("_sizes", lambda row, context: {}),
    "a row counts nothing else": ("PLAIN", re.compile("-")),
    "a sign is not read": ("_sign", lambda text: ("=", text)),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_noticed(tmp_path, monkeypatch, fault):
    text = "\n".join((
        table("operation | layers | FLOPs", (PRODUCT, "32", "64BDF")),
        table("operation | bytes (MB) | intensity", (SIZED, "90.4", "~8.2")),
        MATMUL,
        table("B | D | F | FLOPs", ("1", "2", "3", "12")),
    ))  # fmt: skip
    before = judged(tmp_path, text)
    assert [j.verdict for j in before.judgements] == ["rounded", "holds", "holds"]
    name, wrong = FAULTS[fault]
    monkeypatch.setattr(formula_claims, name, wrong)
    assert verdicts(judged(tmp_path, text)) != verdicts(before)
