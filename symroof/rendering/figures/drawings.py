"""The figures, drawn: labels sit on what they name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from symroof.exploration.figure import Drawn
from symroof.rendering.figures.bars import draw_breakdown
from symroof.rendering.figures.canvas import WIDTH, Canvas
from symroof.rendering.figures.over_a_size import draw_latency, draw_throughput, draw_times
from symroof.rendering.figures.plane_maps import draw_plane
from symroof.rendering.figures.rooflines import draw_roofline
from symroof.rendering.figures.sentences import sentences

DRAWN: Mapping[str, Callable[..., Canvas]] = {
    "roofline": draw_roofline,
    "throughput": draw_throughput,
    "times": draw_times,
    "breakdown": draw_breakdown,
    "latency": draw_latency,
    "regimes": draw_plane,
}


def draw(found: Drawn, inches: float = WIDTH, lang: str = "en") -> Canvas:
    """The figure of what was found, that wide, in a language, with what it shows in sentences."""
    canvas = DRAWN[found.kind](found, inches, lang)
    canvas.told = canvas.say("told", sentences(found, lang))
    return canvas
