"""Answers that show themselves: derivations, reports, regime maps, comparisons and figures, in every format and in a notebook."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from symroof.derivation.derivation import Derivation
from symroof.exploration.comparing import Comparison
from symroof.exploration.explore import Alternative, Exploration, Inferred
from symroof.exploration.figure import Drawn, rows
from symroof.exploration.regime_map import RegimeMap
from symroof.rendering.figures.drawings import draw
from symroof.rendering.formulas.plain import PlainPrinter
from symroof.rendering.pages.catalogues import columns
from symroof.rendering.pages.comparisons import comparison_record, render_comparison
from symroof.rendering.pages.document import render_derivation
from symroof.rendering.pages.regime_maps import render_exploration, render_inferred
from symroof.rendering.pages.reports import last_line, render_report
from symroof.rendering.records.derivations import record
from symroof.rendering.records.judgements import report_record
from symroof.rendering.records.maps import inferred_record, map_record
from symroof.verification.judgement import FileReport, Judgement


class Shown:
    """What every answer can do once it is a value (``to_dict``) and a page of Markdown (``to_markdown``)."""

    __slots__ = ()

    def to_dict(self) -> Any:
        """The JSON object as a Python value; a list for several."""
        raise TypeError(f"{type(self).__name__} has no record")

    def to_markdown(self) -> str:
        """Markdown with LaTeX mathematics."""
        raise TypeError(f"{type(self).__name__} has no page")

    def to_json(self) -> str:
        """The JSON object, ``"schema": 1``."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n"

    def _repr_markdown_(self) -> str:
        return self.to_markdown()


@dataclass(frozen=True, slots=True)
class ShownDerivation(Shown, Derivation):
    """Steps and answer of one problem, and their text.

    >>> import symroof as sr
    >>> d = sr.derive("matmul", on="tpu-v5e", assume="B << D, F")
    >>> d.answer.smallest_integer
    241
    >>> print(d.to_text(brief=True, unicode=False).splitlines()[-1])
      compute-bound  B > 240.24, from B = 241    rule of thumb
    """

    def to_markdown(self, *, brief: bool = False, heading: int = 3, template: str | None = None) -> str:
        """Markdown with LaTeX mathematics, for GitHub, MkDocs, Jekyll, Quarto and notebooks."""
        return render_derivation(self, "markdown", brief=brief, heading=heading, template=template)

    def to_latex(self, *, brief: bool = False, heading: int = 3, template: str | None = None) -> str:
        """A LaTeX document; with ``heading=0`` a fragment for a document that loads amsmath."""
        return render_derivation(self, "latex", brief=brief, heading=heading, template=template)

    def to_text(
        self, *, brief: bool = False, width: int = 96, template: str | None = None, unicode: bool = True
    ) -> str:
        """Lines for a terminal, in claim syntax."""
        return render_derivation(self, "text", brief=brief, width=width, template=template, unicode=unicode)

    def to_dict(self) -> dict[str, Any]:
        """The JSON object as a Python value."""
        return record(self)

    def _repr_latex_(self) -> str:
        return self.to_latex(heading=0)

    def __repr__(self) -> str:
        counts = self.counts()
        return (
            f"<Derivation of {self.setting.problem.operation}: {counts['proved']} proved, {counts['sampled']} sampled>"
        )


@dataclass(frozen=True, slots=True)
class ShownReport(Shown):
    """The judgements on claims, and their text.

    >>> import symroof as sr
    >>> report = sr.verify({"operation": "matmul", "claims": ["flops = 2BDF", "intensity = B"]})
    >>> [judgement.verdict for judgement in report.judgements]
    ['holds', 'wrong']
    >>> report
    <2 claims: 1 holds, 1 wrong.>
    """

    files: tuple[FileReport, ...]

    @property
    def judgements(self) -> tuple[Judgement, ...]:
        return tuple(judgement for file in self.files for judgement in file.judgements)

    @property
    def good(self) -> bool:
        """Whether nothing has to be mended."""
        return not any(file.findings() for file in self.files)

    def to_text(self, *, verbose: bool = True) -> str:
        """Lines for a terminal."""
        return render_report(self.files, "text", verbose=verbose)

    def to_markdown(self) -> str:
        """A table of every claim, and the explanation of those that are not good."""
        return render_report(self.files, "markdown", verbose=True)

    def to_dict(self) -> dict[str, Any]:
        """The JSON object as a Python value."""
        return report_record(self.files)

    def __repr__(self) -> str:
        return f"<{last_line(self.files)}>"


@dataclass(frozen=True, slots=True)
class ShownRegimes(Shown):
    """Maps of regimes, and their text.

    >>> import symroof as sr
    >>> found = sr.regimes("matmul", on="tpu-v5e")
    >>> found.map.count, found.map.complete.status
    (7, 'proved')
    >>> found
    <7 regimes of bf16[B, D] * bf16[D, F] -> bf16[B, F], proved complete>
    """

    explorations: tuple[Exploration, ...]

    @property
    def map(self) -> RegimeMap:
        """The first map."""
        return self.explorations[0].found

    def to_text(self, *, brief: bool = False, width: int = 96, template: str | None = None) -> str:
        """Lines for a terminal; conditions can be given to ``assume``."""
        return self._pages("text", brief=brief, width=width, template=template)

    def to_markdown(self, *, brief: bool = False, heading: int = 3, template: str | None = None) -> str:
        """Markdown with LaTeX mathematics."""
        return self._pages("markdown", brief=brief, heading=heading, template=template)

    def to_latex(self, *, brief: bool = False, heading: int = 3, template: str | None = None) -> str:
        """A LaTeX document; with ``heading=0`` a fragment."""
        return self._pages("latex", brief=brief, heading=heading, template=template)

    def _pages(self, form: str, **options: Any) -> str:
        return "\n".join(render_exploration(one, form, **options) for one in self.explorations)

    def to_dict(self) -> dict[str, Any] | list[dict[str, Any]]:
        """The JSON object as a Python value; a list for several maps."""
        records = [map_record(one) for one in self.explorations]
        return records[0] if len(records) == 1 else records

    def __repr__(self) -> str:
        known = ", proved complete" if self.map.complete else ""
        return f"<{self.map.count} regime{'s' if self.map.count != 1 else ''} of {self.map.setting.problem.operation}{known}>"


@dataclass(frozen=True, slots=True)
class ShownComparison(Shown):
    """Chips and dtypes side by side, and their table."""

    comparison: Comparison

    def to_text(self, *, width: int = 96, template: str | None = None) -> str:
        """Columns for a terminal."""
        return render_comparison(self.comparison, "text", width=width, template=template)

    def to_markdown(self, *, heading: int = 3, template: str | None = None) -> str:
        """A Markdown table."""
        return render_comparison(self.comparison, "markdown", heading=heading, template=template)

    def to_latex(self, *, heading: int = 3, template: str | None = None) -> str:
        """A LaTeX document; with ``heading=0`` a fragment."""
        return render_comparison(self.comparison, "latex", heading=heading, template=template)

    def to_csv(self) -> str:
        """One line for each row."""
        return render_comparison(self.comparison, "csv")

    def to_dict(self) -> dict[str, Any]:
        """The JSON object as a Python value."""
        return comparison_record(self.comparison)

    def __repr__(self) -> str:
        return f"<{self.comparison.problem.operation} on {len(self.comparison.rows)} chips and dtypes>"


@dataclass(frozen=True, slots=True)
class ShownFigure:
    """A figure: its numbers are ``drawing``, its picture is made when it is asked for.

    >>> import symroof as sr
    >>> sr.plot("matmul", on="tpu-v5e", at="B=64,D=F=8192").to_text().splitlines()[0].split()
    ['what', 'chip', 'link', 'FLOPs/byte', 'FLOPs/s', 'bound', 'by']
    """

    drawing: Drawn

    def drawn(self, form: str = "svg", width: int | None = None) -> bytes:
        """The picture as SVG, PNG (``width`` in pixels) or PDF: the same bytes for the same figure."""
        return draw(self.drawing).drawn(form, width)

    def save(self, path: str | Path) -> None:
        """Write the picture to a file; the suffix tells the format."""
        Path(path).write_bytes(self.drawn(Path(path).suffix.removeprefix(".")))

    def to_text(self) -> str:
        """The plotted points as columns."""
        head, found = rows(self.drawing)
        return columns([head, *(tuple(f"{x:.6g}" if isinstance(x, float) else str(x) for x in row) for row in found)])

    def _repr_svg_(self) -> str:
        return self.drawn("svg").decode()

    def __repr__(self) -> str:
        _, found = rows(self.drawing)
        return f"<figure of {len(found)} points>"


@dataclass(frozen=True, slots=True)
class ShownInferred(Shown):
    """The weakest regimes that make an approximation true, and their text.

    >>> import symroof as sr
    >>> sr.regimes(of="BDF/(BD + DF + BF) ~ B")
    <1 regime makes BDF/(BD + DF + BF) ~ B true>
    """

    inferred: Inferred

    @property
    def alternatives(self) -> tuple[Alternative, ...]:
        """The regimes, any of which suffices."""
        return self.inferred.alternatives

    def to_text(self, *, template: str | None = None) -> str:
        """Lines for a terminal."""
        return render_inferred(self.inferred, "text", template=template)

    def to_markdown(self, *, template: str | None = None) -> str:
        """Markdown with LaTeX mathematics."""
        return render_inferred(self.inferred, "markdown", template=template)

    def to_latex(self, *, template: str | None = None) -> str:
        """A fragment of LaTeX."""
        return render_inferred(self.inferred, "latex", template=template)

    def to_dict(self) -> dict[str, Any]:
        """The JSON object as a Python value."""
        return inferred_record(self.inferred)

    def __repr__(self) -> str:
        count, plain = len(self.alternatives), PlainPrinter()
        return f"<{count or 'no'} regime{'s make' if count > 1 else ' makes'} {plain.print(self.inferred.exact)} ~ {plain.print(self.inferred.approximate)} true>"
