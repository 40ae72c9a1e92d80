"""The figures, drawn: labels sit on what they name."""

from __future__ import annotations

from symroof.exploration.breakdowns import Breakdown
from symroof.exploration.curves import Curves
from symroof.exploration.figure import Drawn
from symroof.exploration.latency import Latency
from symroof.exploration.planes import Plane
from symroof.exploration.roofs import Roofline
from symroof.rendering.figures.bars import draw_breakdown
from symroof.rendering.figures.canvas import WIDTH, Canvas
from symroof.rendering.figures.latencies import draw_latency
from symroof.rendering.figures.over_a_size import draw_throughput, draw_times
from symroof.rendering.figures.plane_maps import draw_plane
from symroof.rendering.figures.rooflines import draw_roofline
from symroof.rendering.figures.sentences import sentences


def draw(found: Drawn, inches: float = WIDTH, lang: str = "en") -> Canvas:
    """The figure of what was found, that wide, in a language, with what it shows in sentences."""
    canvas = _canvas(found, inches, lang)
    canvas.told = canvas.say("told", sentences(found, lang))
    return canvas


def _canvas(found: Drawn, inches: float, lang: str) -> Canvas:
    match found:
        case Breakdown():
            return draw_breakdown(found, inches, lang)
        case Latency():
            return draw_latency(found, inches, lang)
        case Roofline():
            return draw_roofline(found, inches, lang)
        case Plane():
            return draw_plane(found, inches, lang)
        case Curves():
            return (draw_times if found.kind == "times" else draw_throughput)(found, inches, lang)
