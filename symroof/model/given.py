"""What is given and not proved: the data that every engine takes as it stands. It is all here; anything else is decided.

Each part has a second, independent statement in the tests: a change of any entry of its tables is noticed there.
"""

from __future__ import annotations

from symroof.formula import Frozen


class Given(Frozen):
    """A kind of data, and the tables of the model that hold it."""

    name: str
    says: str
    tables: tuple[str, ...]


GIVEN = (
    Given("Element types", "how many bits an element of each type has", ("dtype.DTYPES",)),
    Given(
        "Functions",
        "how many operations a function takes for each element, and which function its derivative is",
        ("functions.FUNCTIONS",),
    ),
    Given("Units", "how much of its base a unit is", ("quantities.UNITS",)),
    Given(
        "Figures", "what each chip does in a second and holds, as the source beside it prints it", ("hardware.toml",)
    ),
    Given(
        "Definitions",
        "what a name such as intensity, ridge or T_lower means, and the unit of each quantity",
        (
            "quantities.TABLE",
            "quantities.OF_PROGRAMS",
            "quantities.OF_TENSORS",
            "quantities.AT_SIZES",
            "quantities.STOCKS",
        ),
    ),
    Given("Library", "which operation or program a name stands for", ("library.LIBRARY", "programs.toml")),
    Given("Networks", "which of two networks is inside of the other", ("mesh_axes.NETWORKS",)),
    Given("Reading", "what the text of a problem, a claim or a document says", ()),
)
