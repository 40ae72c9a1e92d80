"""What is given is one list, and one page says it."""

from pathlib import Path

from test_table_faults import FAULTS

# The data that every engine takes as it stands: what it says, and the tables of the model that hold it.
DEFINED = "TABLE STOCKS"
OPERATIONS = "how many operations a function takes for each element, and which function its derivative is"
GIVEN = {
    "Element types": ("how many bits an element of each type has", "tensor_types.DTYPES"),
    "Functions": (OPERATIONS, "functions.FUNCTIONS"),
    "Units": ("how much of its base a unit is", "quantities.UNITS"),
    "Figures": ("what each chip does in a second and holds, as the source beside it prints it", "hardware.toml"),
    "Definitions": (
        "what a name such as intensity, ridge or T_lower means, and the unit of each quantity",
        *(f"quantities.{name}" for name in DEFINED.split()),
    ),
    "Library": ("which operation or program a name stands for", "library.LIBRARY", "programs.toml"),
    "Networks": ("which of two networks is inside of the other", "collectives.NETWORKS"),
    "Reading": ("what the text of a problem, a claim or a document says",),
}
PAGE = (Path(__file__).parent.parent / "docs" / "meaning.md").read_text("utf-8")
# Tables that both engines read and that nobody has to take as given: a fault in them is refused when an answer is proved.
PROVED = {"collectives.COLLECTIVES", "collectives.SWITCHED", "placement.ROW_NUMBERS"}


def test_what_is_not_proved_is_given():
    assert {table for _, *tables in GIVEN.values() for table in tables} | PROVED == FAULTS.keys()


def test_the_page_says_the_list():
    rows = [
        f"| {name} | {says} | {', '.join(f'`{table}`' for table in tables)} |".replace("|  |", "| |")
        for name, (says, *tables) in GIVEN.items()
    ]
    assert [line for line in PAGE.splitlines() if line.startswith("| ") and "| what it says |" not in line] == rows
