"""Results that print themselves, beside derivations: sketches, regime maps, comparisons and figures."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any, NoReturn

from symroof.derivation.pipeline import SketchDerivation, derive_sketch
from symroof.errors import ReadingError, RenderingError
from symroof.exploration.comparison import Comparison
from symroof.exploration.figure_kinds import Drawn, Label, rows
from symroof.exploration.measured_points import Measurement
from symroof.exploration.regime_map import RegimeMap
from symroof.exploration.regime_steps import RegimeForm
from symroof.exploration.regimes import Exploration, TimeRegimes, Weakest
from symroof.exploration.roofs import Roofline
from symroof.formula import Frozen
from symroof.model.problem import Sketch
from symroof.reading.arguments import Words
from symroof.rendering.figures.canvas import NARROWEST, WIDTH
from symroof.rendering.figures.captions import captions
from symroof.rendering.figures.drawings import draw
from symroof.rendering.figures.picture_digest import sign
from symroof.rendering.formulas.plain import PlainPrinter
from symroof.rendering.pages.catalogues import columns
from symroof.rendering.pages.derivation_page import render_sketch
from symroof.rendering.pages.maps_and_comparisons import (
    render_comparison,
    render_contrast,
    render_exploration,
    render_inferred,
)
from symroof.rendering.pages.typesetting import Style
from symroof.rendering.records.json_parts import SCHEMA, sketch_record
from symroof.rendering.records.maps import comparison_record, inferred_record, map_record, measured_record
from symroof.rendering.results import Result, dataframe


class ShownSketch(Result, SketchDerivation):
    """The formulas of a problem without an operation, and its relation solved; and their text.

    >>> import symroof as sr
    >>> sketch = sr.derive({"let": {"T_math": "2*B*n/peak"}, "solve": "T_math > 1 ms", "solve_for": "B"}, on="tpu-v5e", compute="bf16")
    >>> print(sketch.to_text(unicode=False).splitlines()[-3].strip())
    peak/(2000n) = 98500000000/n
    """

    def page(self, form: str, style: Style) -> str:
        return render_sketch(self, form, replace(style, lang=style.lang or self.sketch.lang))

    def to_dict(self) -> dict[str, Any]:
        return sketch_record(self)

    def only(self, values: Words = (), formulas: Words = (), unit: str | None = None) -> NoReturn:
        """A sketch has no parts with names of their own."""
        raise ReadingError("a problem without an operation has no answer to take parts of", hint="see its JSON")

    def __repr__(self) -> str:
        counts = self.counts()
        return f"<{len(self.sketch.let)} formulas: {counts['proved']} proved, {counts['sampled']} sampled>"


class ShownRegimes(Result, Frozen):
    """Maps of regimes, and their text.

    >>> import symroof as sr
    >>> maps = sr.regimes("matmul", on="tpu-v5e")
    >>> maps.map.count, maps.map.complete.status
    (7, 'proved')
    >>> maps
    <7 regimes of bf16[B, D] * bf16[D, F] -> bf16[B, F], proved complete>
    """

    explorations: tuple[Exploration, ...]

    @property
    def map(self) -> RegimeMap | TimeRegimes:
        """The first map."""
        return self.explorations[0].regimes

    def page(self, form: str, style: Style) -> str:
        return "\n".join(render_exploration(exploration, form, style) for exploration in self.explorations)

    def to_dict(self) -> dict[str, Any] | list[dict[str, Any]]:
        records = [map_record(exploration) for exploration in self.explorations]
        return records[0] if len(records) == 1 else records

    def __repr__(self) -> str:
        count, proof = self.map.count, ", proved complete" if self.map.complete else ""
        return f"<{count} regime{'s' if count != 1 else ''} of {self.map.setting.problem.operation.title}{proof}>"


class ShownComparison(Result, Frozen):
    """Chips and dtypes side by side, and their table."""

    comparison: Comparison

    def page(self, form: str, style: Style) -> str:
        derivations, rows = self.comparison.in_numbers, self.comparison.rows
        if not derivations or form == "csv":
            return render_comparison(self.comparison, form, style)
        names = [" ".join(filter(None, (row.chip.title, row.dtype.name if row.dtype else ""))) for row in rows]
        return render_contrast(derivations, names, form, style)

    def to_csv(self) -> str:
        """One line for each row."""
        return self.page("csv", Style())

    def to_dict(self) -> dict[str, Any]:
        return comparison_record(self.comparison)

    def __repr__(self) -> str:
        return f"<{self.comparison.problem.operation.title} on {len(self.comparison.rows)} chips and dtypes>"


class ShownInferred(Result, Frozen):
    """The weakest regimes that make an approximation true, and their text, in ``lang`` where no language is asked for.

    >>> import symroof as sr
    >>> sr.regimes(of="BDF/(BD + DF + BF) ~ B")
    <1 regime makes BDF/(BD + DF + BF) ~ B true>
    """

    inferred: Weakest
    lang: str | None = None

    @property
    def alternatives(self) -> tuple[RegimeForm, ...]:
        """The regimes, any of which suffices."""
        return self.inferred.alternatives

    def page(self, form: str, style: Style) -> str:
        return render_inferred(self.inferred, form, replace(style, lang=style.lang or self.lang))

    def to_dict(self) -> dict[str, Any]:
        return inferred_record(self.inferred)

    def __repr__(self) -> str:
        count, exact, near = len(self.alternatives), self.inferred.exact, self.inferred.approximate
        claim = f"{PlainPrinter().print(exact)} ~ {PlainPrinter().print(near)}"
        return f"<{count or 'no'} regime{'s make' if count > 1 else ' makes'} {claim} true>"


# The pixels of an inch on a screen, from which width in inches on more pixels are a finer picture, and what pixels there may be.
PIXELS, FINER, BROAD = 96, 12.0, range(100, 10_001)


def breadth(width: int | str | None) -> tuple[float, int | None]:
    """How many inches a sheet is across, and the pixels of a PNG: of a width in pixels, or in inches.

    >>> breadth(None), breadth("3.5in"), breadth("480")
    ((7.2, None), (3.5, None), (5.0, 480))
    """
    if width is None:
        return WIDTH, None
    result = re.fullmatch(r"(\d+(?:\.\d+)?)in|(\d{1,5})", str(width))
    if result and result[1]:
        return float(result[1]), None
    if not result or int(result[2]) not in BROAD:
        raise RenderingError(f"a width of {width}", expected="pixels, 100 to 10000, or inches, as in 3.5in")
    return min(max(int(result[2]) / PIXELS, NARROWEST), FINER), int(result[2])


class ShownFigure(Frozen):
    """A figure: its numbers are ``drawing``, its picture is made when it is asked for.

    >>> import symroof as sr
    >>> sr.plot("matmul", on="tpu-v5e", at="B=64,D=F=8192").to_text().splitlines()[0].split()
    ['what', 'chip', 'link', 'FLOPs/byte', 'FLOPs/s', 'bound', 'by']
    """

    drawing: Drawn

    def drawn(self, form: str = "svg", width: int | str | None = None, lang: str | None = None) -> bytes:
        """The picture as SVG, PNG or PDF: the same bytes for the same figure.

        Type has one size: a sheet of less ``width`` holds less. It is in pixels, of which an inch has 96, so that a picture of
        400 can be read at 400; or in inches, ``"3.5in"``. ``lang`` is the language of its words: en, ko or zh. An SVG names
        fonts, a PNG and a PDF need one on this machine.
        """
        inches, pixels = breadth(width)
        return sign(draw(self.drawing, inches, self._language(lang)).drawn(form, pixels), form)

    def description(self, lang: str | None = None) -> str:
        """What the picture shows, in sentences, for those who do not see it.

        >>> import symroof as sr
        >>> print(sr.plot("matmul", on="tpu-v5e", at="B=64,D=F=8192").description())
        bf16[B, D] * bf16[D, F] -> bf16[B, F] on a TPU v5e, B = 64, D = F = 8,192. The ridge of TPU v5e against HBM is at 240 FLOPs/byte. It is bound by HBM, at 26 % of the peak.
        """
        canvas = draw(self.drawing, lang=self._language(lang))
        return canvas.say("description", canvas.title, canvas.description)

    def save(self, path: str | Path, width: int | str | None = None, lang: str | None = None) -> None:
        """Write the picture to a file; the suffix tells the format."""
        Path(path).write_bytes(self.drawn(Path(path).suffix.removeprefix("."), width, lang))

    def to_text(self, lang: str | None = None) -> str:
        """The plotted points as columns, to six digits."""
        table = self._table(lang)
        return columns([tuple(f"{x:.6g}" if isinstance(x, float) else x for x in row) for row in table])

    def to_csv(self) -> str:
        """The plotted points, a line for each, under a line of heads, which are English: a file for programs."""
        out = StringIO()
        csv.writer(out, lineterminator="\n").writerows(self._table("en"))
        return out.getvalue()

    @property
    def rows(self) -> list[dict[str, str | float]]:
        """The plotted points, each by the heads of its columns.

        >>> import symroof as sr
        >>> ridge, point = sr.plot("matmul", on="tpu-v5e", at="B=64,D=F=8192").rows
        >>> point["what"], round(point["FLOPs/byte"], 2), point["bound by"]
        ('B = 64, D = 8192, F = 8192', 63.02, 'HBM')
        """
        head, *points = self._table("en")
        return [dict(zip(map(str, head), point, strict=True)) for point in points]

    def to_dict(self) -> dict[str, Any]:
        """The kind of the figure and its plotted points; and of measured ones what part of the bound they reached."""
        result: dict[str, Any] = {"kind": self.drawing.kind, "rows": self.rows}
        if self.measured:
            result["measured"] = list(map(measured_record, self.measured))
        return {"schema": SCHEMA, "figure": result}

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n"

    def to_dataframe(self) -> Any:
        """``rows`` as a table of pandas. Raises :class:`ReadingError` where pandas is not there."""
        return dataframe(self.rows)

    @property
    def measured(self) -> tuple[Measurement, ...]:
        """The measured points that stand in a roofline."""
        return self.drawing.measured if isinstance(self.drawing, Roofline) else ()

    @property
    def findings(self) -> tuple[Measurement, ...]:
        """The measured points that are faster than the bound: a count, a figure or the measurement is wrong."""
        return tuple(point for point in self.measured if point.impossible)

    def _table(self, lang: str | None) -> list[tuple[str | float, ...]]:
        """The head and the plotted points, in words of a language; numbers to the fifteen digits that a float has."""
        say, (head, points) = captions(self._language(lang)), rows(self.drawing)

        def cell(x: str | float | Label) -> str | float:
            return say(x.name, *x.of) if isinstance(x, Label) else float(f"{x:.15g}") if isinstance(x, float) else x

        return [tuple(map(cell, row)) for row in (head, *points)]

    def _language(self, lang: str | None) -> str:
        return Style(lang=lang).of(self.drawing.setting.problem).language

    def _repr_svg_(self) -> str:
        return self.drawn("svg").decode()

    def __repr__(self) -> str:
        return f"<figure of {len(rows(self.drawing)[1])} points>"


def sketch_result(sketch: Sketch) -> ShownSketch:
    """What a problem without an operation comes to."""
    return ShownSketch(**vars(derive_sketch(sketch)))
