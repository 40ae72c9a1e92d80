"""Windows that slide over dimensions: the dimensions of their places, then those of the filter, which slides over as
many.

    windows(x) -> bf16[N, P, Q, R, S, C]    R by S taps around each place of P by Q
    windows(x) -> bf16[N, U, V, R, S, C]    the same at every s-th place, where P = s*U and Q = s*V
    windows(x) -> bf16[N, U, V, C]          every s-th place alone, of which no more are read

The places before the taps are those that these slide over. Zeros around fill up what a window lacks, so that there are
P/s places; where P = s*(U - 1) + R no window lacks anything. What stands in the zeros counts as work. A filter reaches
at least to the next window, so that all of x is read.
"""

from __future__ import annotations

from symroof.errors import ModelError
from symroof.formula import Frozen
from symroof.model.dtype import Tensor
from symroof.model.functions import Function
from symroof.model.program import Program
from symroof.model.program_tree import Line, Statement, sized

NAME = "windows"
# The widest stride that is looked for.
WIDEST = 64


class Slide(Frozen):
    """One dimension that windows slide over: what the operand has, what the result has of it, and the taps, if there
    are any."""

    whole: str
    places: str
    taps: str = ""

    @property
    def strided(self) -> bool:
        return self.whole != self.places


def slides_of(operand: tuple[str, ...], result: tuple[str, ...]) -> tuple[Slide, ...] | None:
    """The dimensions that windows slide over, told by the order of those of the result; None where it has too few of
    them.

    >>> [(s.whole, s.places, s.taps) for s in slides_of(("N", "P", "Q", "C"), ("N", "U", "Q", "R", "S", "C"))]
    [('P', 'U', 'R'), ('Q', 'Q', 'S')]
    """
    new, lost = [x for x in result if x not in operand], [x for x in operand if x not in result]
    if len(new) < len(lost):
        return None
    places, taps = new[: len(lost)], new[len(lost) :]
    origins = dict(zip(places, lost, strict=True))
    if not taps:
        return tuple(Slide(origins[place], place) for place in places)
    before = result[: result.index(taps[0])][-len(taps) :]
    if len(before) < len(taps) or not {*places} <= {*before}:
        return None
    return tuple(Slide(origins.get(place, place), place, tap) for place, tap in zip(before, taps, strict=True))


def takes_places(function: Function, operand: Tensor, result: Tensor) -> bool:
    """Whether a function takes every few places of a tensor, without a filter: of it no others are read."""
    slides = slides_of(operand.labels, result.labels) if function.name == NAME else None
    return bool(slides) and not any(slide.taps for slide in slides or ())


def stride_of(program: Program, slide: Slide) -> int | None:
    """Every how many places there is a window, as the sizes say; None where they do not."""
    whole, places = (program.resolved(sized(label)) for label in (slide.whole, slide.places))
    taps = program.resolved(sized(slide.taps or "1"))
    rests = ((s, rest) for s in range(1, WIDEST + 1) for rest in (whole - s * places, whole - s * (places - 1) - taps))
    return next((s for s, rest in rests if rest.expand() == 0), None)


def slid(statement: Statement) -> tuple[Slide, ...]:
    """The dimensions that a statement slides over."""
    if statement.function is None or statement.function.name != NAME:
        return ()
    return slides_of(statement.operands[0].labels, statement.result.labels) or ()


def require_whole_places(line: Line) -> None:
    """Raises :class:`~symroof.errors.ModelError` where chips share out places: windows at the border reach over to the
    next chip."""
    slides = slid(line.statement)
    over = {label for slide in slides for label in (slide.whole, slide.places, slide.taps)}
    for tensor in (*line.statement.operands, line.statement.result):
        cut = next((dim for dim in tensor.dims if dim.label in over and dim.axes), None)
        if cut is not None and slides:
            raise ModelError(
                f"{cut} is split, and the windows of {line.statement.name} reach over to the next chip",
                expected=f"{cut.label} whole on every chip",
                hint="split the images, the channels or the filters",
            )
