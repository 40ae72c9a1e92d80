"""A sheet for a figure, its type and its formats: the only importer of matplotlib, without pyplot.

The same drawing gives the same bytes: no date, fixed identifiers, text as text. Words are measured in DejaVu Sans, which
comes with matplotlib, and a character that it has not is one em wide by rule. So a layout is the same on every machine,
and an SVG, which names fonts and holds none, has the same bytes with and without Korean and Chinese fonts. A PNG and a
PDF are drawn in the fonts of the machine, and refused where none has a character.
"""

from __future__ import annotations

import io
import logging
import re
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import lru_cache
from math import log10
from typing import Any, Literal, cast

from matplotlib import rc_context
from matplotlib.axis import Axis
from matplotlib.backend_bases import RendererBase
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, findSystemFonts, fontManager, get_font
from matplotlib.text import Text
from matplotlib.ticker import Formatter, LogLocator, MaxNLocator, NullFormatter

from symroof.errors import RenderingError
from symroof.rendering.figures.style import ticks

# What each format would say of the day and of the machine, left out.
METADATA: dict[str, dict[str, str | None]] = {
    "svg": {"Date": None, "Creator": "symroof"},
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Creator": "symroof", "Producer": None},
}
LATIN = "DejaVu Sans"
STYLE: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "symroof",
    "pdf.fonttype": 42,
    "font.family": LATIN,
    "font.size": 9,
    "axes.linewidth": 0.8,
    "path.simplify": False,
    "text.parse_math": False,
}
# Fonts of a language on Linux, macOS and Windows, the best known first. All Noto Sans CJK have the letters of both.
FAMILIES = {
    "ko": ("Noto Sans CJK KR", "Noto Sans KR", "Apple SD Gothic Neo", "Malgun Gothic", "NanumGothic"),
    "zh": ("Noto Sans CJK SC", "Noto Sans SC", "PingFang SC", "Microsoft YaHei", "WenQuanYi Zen Hei"),
}
BY_NAME = "Noto Sans CJK JP"  # what older releases of matplotlib call the file that holds all of Noto Sans CJK
BENEATH = 0.12  # how much of the em of a Korean or Chinese character is beneath the line
# A character in regular or bold type.
Sort = tuple[str, str | int]


class Sheet(Figure):
    """A figure with words in a language, measured by rule."""

    def __init__(self, lang: str = "en") -> None:
        super().__init__()
        self.lang = lang

    def styled(self) -> AbstractContextManager[None]:
        """Within it, what is added to the figure looks as all figures do."""
        return rc_context(STYLE)

    def draw(self, renderer: RendererBase) -> None:
        super().draw(_measuring(renderer))

    def extent(self, words: str, size: float, bold: bool = False, spacing: float = 1.2) -> tuple[float, float]:
        """The width and height of words in type of a size, in points."""
        weight = "bold" if bold else "normal"
        text = self.text(0, 0, words, fontsize=size, fontweight=weight, linespacing=spacing)
        extent = text.get_window_extent(_measuring(FigureCanvasAgg(self).get_renderer()))
        text.remove()
        point = 72 / float(self.dpi)
        return float(extent.width) * point, float(extent.height) * point

    def saved(self, form: str, dots: float) -> bytes:
        """The figure in a format; ``dots`` to an inch of a PNG."""
        if form not in METADATA:
            raise RenderingError(f"no figure is drawn as {form!r}", expected=f"one of {', '.join(METADATA)}")
        out = io.BytesIO()
        with self.styled(), _quiet("matplotlib.font_manager", "fontTools.subset"):
            families = self._dressed(of_the_machine=form != "svg")
            # matplotlib embeds a font with PostScript outlines correctly as Type 3 only.
            with rc_context({"pdf.fonttype": 3} if any(map(_is_postscript, families)) else {}):
                self.savefig(out, format=form, metadata=METADATA[form], dpi=dots)
        return self._naming_fonts(out.getvalue()) if form == "svg" else out.getvalue()

    def _dressed(self, of_the_machine: bool) -> list[str]:
        """The fonts of this machine that have the characters of these words, which are drawn in them."""
        texts = [text for text in self.findobj(Text) if text.get_text()]
        needed = {(c, text.get_fontweight()) for text in texts for c in text.get_text() if c != "\n"}
        families = _families(_lacking(needed, LATIN), self.lang) if of_the_machine else []
        for text in texts:
            text.set_fontfamily([LATIN, *families])
        return families

    def _naming_fonts(self, svg: bytes) -> bytes:
        """An SVG that names the fonts of its language after that of its numbers."""
        if self.lang not in FAMILIES:
            return svg
        names = ", ".join([*(f"'{family}'" for family in (LATIN, *FAMILIES[self.lang])), "sans-serif"])
        return re.sub(f"(<text [^>]*)'{LATIN}'", rf"\1{names}", svg.decode()).encode()


def _measuring(renderer: RendererBase) -> RendererBase:
    """A renderer for which a character that DejaVu Sans has not is a square of one em."""
    measured = renderer.get_text_width_height_descent

    def measure(words: str, font: FontProperties, ismath: bool | Literal["TeX"]) -> tuple[float, float, float]:
        latin = "".join(c for c in words if ord(c) in _glyphs(LATIN, font.get_weight()))
        width, height, descent = measured(latin, font, ismath)
        if latin == words:
            return width, height, descent
        em = cast(float, renderer.points_to_pixels(font.get_size_in_points()))
        below = max(descent, BENEATH * em)
        return width + (len(words) - len(latin)) * em, below + max(height - descent, (1 - BENEATH) * em), below

    if not hasattr(measured, "by_rule"):
        measure.by_rule = True  # type: ignore[attr-defined]
        vars(renderer)["get_text_width_height_descent"] = measure
    return renderer


def _families(needed: set[Sort], lang: str) -> list[str]:
    """Fonts of this machine that have these characters: one that has all of them, or as few as are found.

    Raises :class:`RenderingError` where no font has one of them.
    """
    if not needed:
        return []
    for family in _candidates(lang):
        if not _lacking(needed, family):
            return [family]
    chosen = []
    for family in _candidates(lang):
        rest = _lacking(needed, family)
        if rest != needed:
            chosen.append(family)
            needed = rest
    if needed:
        raise RenderingError(
            f"no font of this machine has {' '.join(sorted({c for c, _ in needed})[:8])}",
            hint="install one, such as Noto Sans CJK, or draw an SVG",
        )
    return chosen


def _lacking(needed: set[Sort], family: str) -> set[Sort]:
    return {(c, weight) for c, weight in needed if ord(c) not in _glyphs(family, weight)}


def _candidates(lang: str) -> Iterator[str]:
    """The fonts of this machine: those of the language first, then those of other languages, then any."""
    preferred = [*FAMILIES.get(lang, ()), *(name for names in FAMILIES.values() for name in names), BY_NAME]
    yield from (name for name in preferred if name in _installed())
    listed = {str(entry.fname) for entry in fontManager.ttflist}
    for path in sorted(set(findSystemFonts()) - listed):  # installed after matplotlib made its list
        try:
            fontManager.addfont(path)
        except (OSError, RuntimeError):  # a file that is no font
            continue
    yield from (name for name in preferred if name in _installed())
    yield from sorted(name for name in _installed() if not name.startswith((".", "Last")))


def _installed() -> set[str]:
    return {entry.name for entry in fontManager.ttflist}


@lru_cache(maxsize=256)
def _glyphs(family: str, weight: str | int) -> frozenset[int]:
    """The characters that a font has, in regular or bold type."""
    return frozenset(get_font(findfont(FontProperties(family=family, weight=weight))).get_charmap())


def _is_postscript(family: str) -> bool:
    """Whether the outlines of a font are those of PostScript: ``OTTO`` at the head of its file, or of its first face."""
    with open(str(findfont(FontProperties(family=family))), "rb") as file:
        head = file.read(16)
        if head.startswith(b"ttcf"):
            file.seek(int.from_bytes(head[12:], "big"))
            head = file.read(4)
    return head.startswith(b"OTTO")


@contextmanager
def _quiet(*names: str) -> Iterator[None]:
    """Loggers that say errors alone: a font without bold type, or with tables of its own, is none."""
    loggers = [logging.getLogger(name) for name in names]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


class Ticks(Formatter):
    """The numbers of an axis, written in one manner."""

    def __init__(self, logarithmic: bool) -> None:
        self.logarithmic = logarithmic

    def __call__(self, x: float, pos: int | None = None) -> str:
        return self.format_ticks([x])[0]

    def format_ticks(self, values: Sequence[float]) -> list[str]:
        assert self.axis is not None
        low, high = sorted(self.axis.get_view_interval())
        room = (high - low) * 1e-9
        shown = [float(x) for x in values if low - room <= x <= high + room]
        texts = dict(zip(shown, ticks(shown, self.logarithmic), strict=True))
        return [texts.get(float(x), "") for x in values]


def number(axis: Axis, ends: tuple[float, float], most: int, logarithmic: bool) -> None:
    """Numbers on an axis; at most so many on a logarithmic one, at powers of ten where there are some, else nearer."""
    if logarithmic:
        decades = log10(ends[1] / ends[0])
        near = LogLocator(base=10, subs=(1, 2, 5), numticks=12)
        far = LogLocator(base=10, numticks=max(3, most))
        axis.set_major_locator(far if decades >= 2 else near if decades >= 0.8 else MaxNLocator(max(3, most - 1)))
        axis.set_minor_formatter(NullFormatter())
    axis.set_major_formatter(Ticks(logarithmic))
