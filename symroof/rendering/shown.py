"""Derivations and reports that show themselves: in every format, and in a notebook."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from symroof.derivation.derivation import Derivation
from symroof.rendering.document import render_derivation
from symroof.rendering.export import record
from symroof.rendering.judged import report_record
from symroof.rendering.reports import last_line, render_report
from symroof.verification.judgement import FileReport, Judgement


@dataclass(frozen=True, slots=True)
class ShownDerivation(Derivation):
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

    def to_text(self, *, brief: bool = False, width: int = 96, template: str | None = None, unicode: bool = True) -> str:
        """Lines for a terminal, in claim syntax."""
        return render_derivation(self, "text", brief=brief, width=width, template=template, unicode=unicode)

    def to_dict(self) -> dict[str, Any]:
        """The JSON object as a Python value."""
        return record(self)

    def to_json(self) -> str:
        """The JSON object, ``"schema": 1``."""
        return json.dumps(record(self), indent=2, ensure_ascii=False) + "\n"

    def _repr_markdown_(self) -> str:
        return self.to_markdown()

    def _repr_latex_(self) -> str:
        return self.to_latex(heading=0)

    def __repr__(self) -> str:
        counts = self.counts()
        return f"<Derivation of {self.setting.problem.operation}: {counts['proved']} proved, {counts['sampled']} sampled>"


@dataclass(frozen=True, slots=True)
class ShownReport:
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

    def to_json(self) -> str:
        """The JSON object, ``"schema": 1``."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n"

    def _repr_markdown_(self) -> str:
        return self.to_markdown()

    def __repr__(self) -> str:
        return f"<{last_line(self.files)}>"
