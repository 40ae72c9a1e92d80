"""What is given is one list, and one page says it."""

from pathlib import Path

from test_table_faults import FAULTS

from symroof.model.given import GIVEN

PAGE = (Path(__file__).parent.parent / "docs" / "given.md").read_text("utf-8")
# Tables that both engines read and that nobody has to take as given: a fault in them is refused when an answer is proved.
PROVED = {"mesh_axes.COLLECTIVES", "mesh_axes.SWITCHED", "placing.ROW_NUMBERS"}


def test_what_is_not_proved_is_given():
    assert {table for one in GIVEN for table in one.tables} | PROVED == FAULTS.keys()


def test_the_page_says_the_list():
    rows = [
        f"| {one.name} | {one.says} | {', '.join(f'`{table}`' for table in one.tables)} |".replace("|  |", "| |")
        for one in GIVEN
    ]
    assert [line for line in PAGE.splitlines() if line.startswith("| ") and "| what it says |" not in line] == rows
