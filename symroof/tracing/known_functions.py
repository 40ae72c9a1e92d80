"""Functions that an equation was made in: those of libraries by name and file, the user's own by what is said of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from symroof.formula import Frozen
from symroof.tracing.traced import Array, Equation, Frame, Made

# The files of libraries whose functions are known by their names, and the functions there.
LIBRARIES: Mapping[str, tuple[str, ...]] = {
    "jax/_src/nn/functions.py": ("relu", "sigmoid", "softplus", "silu", "gelu", "softmax")
}
# Functions that keep on the chip what they make on their way.
FUSED: Mapping[str, tuple[str, ...]] = {
    "jax/_src/nn/functions.py": ("dot_product_attention",),
    "<torch>/nn/functional.py": ("scaled_dot_product_attention",),
}


class Known(Frozen):
    """``functions`` are those of the user, FILE:NAME or NAME, with the function of the table that each is; ``fuses`` names of
    functions whose inside stays on the chip; ``opened`` names that are looked into."""

    functions: Mapping[str, str]
    fuses: tuple[str, ...] = ()
    opened: tuple[str, ...] = ()

    def function(self, frame: Frame) -> str | None:
        """The function of the table that a call is one of."""
        if frame.function in self.opened:
            return None
        for said, name in self.functions.items():
            file, _, function = said.rpartition(":")
            if function == frame.function and (not file or frame.file.endswith(file)):
                return name
        known = (
            frame.function for file, every in LIBRARIES.items() if frame.file.endswith(file) and frame.function in every
        )
        return next(known, None)

    def fuse(self, frame: Frame) -> str | None:
        """The name of a function whose inside stays on the chip, where a call is one."""
        if frame.function in self.opened:
            return None
        own = frame.function in self.fuses
        known = any(frame.file.endswith(file) and frame.function in every for file, every in FUSED.items())
        return frame.function if own or known else None


class Region(Frozen):
    """Equations that one call made. ``name`` is the function of the table that they are, None for what stays on the chip."""

    name: str | None
    function: str
    body: tuple[Made, ...]
    frames: tuple[Frame, ...]


def regions(body: Iterable[Made], known: Known) -> Iterator[Made | Region]:
    """The equations of a body, with those of one known call together: the outermost that is known."""
    found: list[Made] = []
    call: tuple[str | None, str, tuple[Frame, ...]] | None = None
    for made in body:
        here = _call(made, known)
        if here != call and found:
            yield _region(call, found)
            found = []
        call = here
        if here is None:
            yield made
        else:
            found.append(made)
    if found:
        yield _region(call, found)


def _region(call: tuple[str | None, str, tuple[Frame, ...]] | None, found: Sequence[Made]) -> Region:
    assert call is not None
    return Region(call[0], call[1], tuple(found), call[2])


def _call(made: Made, known: Known) -> tuple[str | None, str, tuple[Frame, ...]] | None:
    """The outermost known call that an equation was made in, and the frames from there outwards."""
    if not isinstance(made, Equation) or made.back:
        return None
    for i in reversed(range(len(made.frames))):
        frame, outside = made.frames[i], made.frames[i + 1 :]
        if known.fuse(frame):
            return None, frame.function, outside
        if (name := known.function(frame)) is not None:
            return name, frame.function, outside
    return None


def ends(region: Region, uses: Mapping[int, int]) -> tuple[list[Array], list[Array]]:
    """What goes into a region, in order, and what of it is used elsewhere: more often than in it. ``uses`` are those of all
    equations."""
    equations = [made for made in region.body if isinstance(made, Equation)]
    results = {result.key: result for equation in equations for result in equation.results}
    operands = [o for equation in equations for o in equation.operands if isinstance(o, Array)]
    inside = Counter(operand.key for operand in operands)
    taken = {operand.key: operand for operand in operands if operand.key not in results}
    return list(taken.values()), [result for key, result in results.items() if uses[key] > inside[key]]
