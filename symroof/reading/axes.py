"""The axes of a mesh: their sizes, and how they are wired where somebody says so.

mesh = axis "=" NUMBER [ "ring" | "line" ] { "," … }        X=16 ring, Y=4; or a table { X = "16 ring", Y = 4 }
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from symroof.errors import ReadingError, suggestion

WIRINGS = ("ring", "line")
LARGEST_AXIS = 10**9
SIZE = re.compile(r"\s*(\S*)\s*(.*?)\s*")


def read_mesh(mesh: Any) -> tuple[dict[str, int], dict[str, str]]:
    """The sizes of the axes, and the wiring of those that state one.

    >>> read_mesh("X=16 ring, Y=4")
    ({'X': 16, 'Y': 4}, {'X': 'ring'})
    """
    mesh = axes_of(mesh)
    if not isinstance(mesh, Mapping):
        raise ReadingError(f"mesh = {str(mesh)[:60]} is not a mesh", expected="axes and sizes, as in X=2")
    sizes: dict[str, int] = {}
    wiring: dict[str, str] = {}
    for name, value in mesh.items():
        axis = str(name).strip()
        found = SIZE.fullmatch(str(value))
        digits, word = found.groups() if found else (str(value), "")
        if not (digits.isascii() and digits.isdigit()) or not 1 <= int(digits[:12]) <= LARGEST_AXIS:
            raise ReadingError(
                f"mesh: {axis} = {digits[:20]!r} is not a number of chips", expected="a whole number from 1"
            )
        if word and word not in WIRINGS:
            raise ReadingError(
                f"mesh: {axis} = {digits} {word[:20]!r} is no wiring",
                expected=" or ".join(WIRINGS),
                hint=suggestion(word, WIRINGS),
            )
        sizes[axis] = int(digits)
        if word == "ring" and sizes[axis] <= 2:
            raise ReadingError(f"mesh: {axis} = {digits} is no ring", expected="at least three chips")
        if word:
            wiring[axis] = word
    return sizes, wiring


def axes_of(mesh: Any) -> Any:
    """A mesh on one line as a table; anything else as it is."""
    return dict(part.partition("=")[::2] for part in mesh.split(",")) if isinstance(mesh, str) else mesh
