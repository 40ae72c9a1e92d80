"""A run of the whole suite takes a part of each law, and leaves out what is marked; what is named is run in full."""

import subprocess
import sys

import effort
import pytest

MARKS = {"law": pytest.mark.part(3).mark, "site": pytest.mark.thorough.mark, "other": None}


class Item:
    def __init__(self, test, case):
        self.test, self.nodeid = test, f"test_x.py::{test}[{case}]"

    def get_closest_marker(self, name):
        mark = MARKS[self.test]
        return mark if mark and mark.name == name else None


def test_a_part_of_a_law_stays_and_always_the_same():
    items = [Item(test, case) for test in MARKS for case in range(10)]
    out = effort.left_out(items)
    left = [item.test for item in items if item not in out]
    assert [left.count(test) for test in MARKS] == [3, 0, effort.USUAL]
    assert effort.left_out(items[::-1]) == out


@pytest.mark.parametrize(("thorough", "drawn"), [("1", 150), ("0", 38)])
def test_a_quarter_is_drawn(monkeypatch, thorough, drawn):
    monkeypatch.setenv(effort.VARIABLE, thorough)
    assert effort.draws(150) == drawn


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("arguments", "count"),
    [([], 3), (["--thorough"], 8), (["-k", "effort"], 8), (["tests/test_effort.py"], 8), (["-k", "is_drawn"], 2)],
)
def test_what_is_named_is_run_in_full(arguments, count, monkeypatch):
    monkeypatch.delenv(effort.VARIABLE, raising=False)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--co", "-n0", *arguments], capture_output=True, text=True, check=False
    )
    assert done.stdout.count("tests/test_effort.py::") == count
