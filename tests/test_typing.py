"""What a type checker says of a user's file: every public function has a type of its own, and none of them is Any."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from test_rendering_engines import MODULES, require

import symroof as sr

FILE = """
import symroof as sr

d = sr.derive("matmul", on="tpu-v5e", at="B=64,D=F=8192")
reveal_type(d)  # ShownDerivation
reveal_type(sr.derive({"operation": "matmul"}))  # ShownDerivation | ShownSketch
reveal_type(d.answer)  # Answer
reveal_type(d.answer.smallest_integer)  # int | None
reveal_type(d.function("T_lower"))  # QuantityFunction
reveal_type(d.rows)  # list[dict[str, float]]
reveal_type(d.only(["T_lower"]))  # ShownParts
reveal_type(d.to_markdown())  # str
reveal_type(sr.verify("a.md"))  # ShownReport
reveal_type(sr.regimes("matmul"))  # ShownRegimes | ShownInferred
reveal_type(sr.compare("matmul", on="h100, a100"))  # ShownComparison
reveal_type(sr.plot("matmul", on="h100"))  # ShownFigure
reveal_type(sr.sweep("matmul", "B=1", "a.csv"))  # int
reveal_type(sr.sweep("matmul", "B=1"))  # dict[str, Any]
reveal_type(sr.operation("matmul"))  # CostedProgram
reveal_type(sr.build("text"))  # BuiltDocument
reveal_type(sr.list_chips()["h100-sxm"])  # Accelerator
"""
WANTED = re.findall(r"# (.+)$", FILE, re.MULTILINE)


@pytest.mark.thorough
def test_a_type_checker_knows_what_a_user_gets(tmp_path):
    if not os.environ.get("SYMROOF_REQUIRE_RENDERERS"):
        pytest.importorskip("mypy")
    path = tmp_path / "user.py"
    path.write_text(FILE)
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    shown = re.findall(r'Revealed type is "(.*)"', done.stdout)
    assert [re.sub(r"\b(?:\w+\.)+", "", one) for one in shown] == WANTED, done.stdout


@pytest.mark.thorough
def test_another_type_checker_says_the_same(tmp_path):
    """pyright, which editors ask."""
    checker = MODULES / "pyright" / "index.js"
    require(shutil.which("node"), "node is not installed")
    require(checker.is_file(), f"{MODULES} has no pyright")
    path = tmp_path / "user.py"
    path.write_text(FILE)
    command = ["node", str(checker), "--pythonpath", sys.executable, "--outputjson", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    found = json.loads(done.stdout)["generalDiagnostics"]
    assert [one["message"] for one in found if one["severity"] == "error"] == []
    told = [one["message"] for one in found if one["severity"] == "information"]
    assert [one.rpartition(' is "')[2].removesuffix('"') for one in told] == WANTED


@pytest.mark.thorough
def test_values_show_themselves_on_one_line():
    d = sr.derive("mlp", on="tpu-v5e", at="B=8,D=16,F=32")
    shown = [
        d, d.answer, d.answer.at[0], d.function("T_lower"), d.only(["T_lower"]), sr.regimes("dot"), sr.operation("mlp"),
        sr.list_chips()["h100-sxm"], d.setting.problem, sr.verify({"operation": "dot", "claims": ["flops = 2N"]}),
        sr.compare("dot", on="h100"),
    ]  # fmt: skip
    for value in shown:
        assert repr(value).startswith("<"), value
        assert len(repr(value)) < 100
        assert "\n" not in repr(value)


def test_rows_are_the_numbers_of_the_page():
    d = sr.derive("matmul", on="tpu-v5e", at=["B=64,D=F=8192", "B=512,D=F=8192"])
    assert [row["B"] for row in d.rows] == [64, 512]
    for row, point in zip(d.rows, d.to_dict()["answer"]["at"], strict=True):
        assert row["T_lower"] == point["numbers"]["T_lower_float"]
    pandas = pytest.importorskip("pandas")
    frame = d.to_dataframe()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame["T_lower"]) == [row["T_lower"] for row in d.rows]


def test_a_sweep_without_a_file_is_its_columns(tmp_path):
    of = "T_lower, B/T_lower"
    columns = sr.sweep("matmul", "B=1:64:log, D=F=64|128", on="tpu-v5e", of=of)
    rows = sr.sweep("matmul", "B=1:64:log, D=F=64|128", tmp_path / "a.csv", on="tpu-v5e", of=of)
    assert {len(column) for column in columns.values()} == {rows}
    lines = (tmp_path / "a.csv").read_text().splitlines()
    assert lines[0].split(",") == list(columns)
    assert [float(line.split(",")[-1]) for line in lines[1:]] == columns["B/T_lower"].tolist()


def test_type_checkers_are_told_of_every_public_name():
    tree = ast.parse(Path(sr.__file__).read_text("utf-8"))
    told = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module in sr._ROOMS]
    assert {alias.name: node.module for node in told for alias in node.names} == sr._PUBLIC
