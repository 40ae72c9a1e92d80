"""The results of Python calls: derivations and parts of them, which print themselves in every format and in notebooks."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from symroof.derivation.evaluation import QuantityFunction, function_of
from symroof.derivation.pipeline import Derivation
from symroof.derivation.premises import setting_of
from symroof.errors import ReadingError
from symroof.reading.arguments import Words, listed
from symroof.rendering.pages.typesetting import Style

if TYPE_CHECKING:
    from symroof.rendering.printed_values import ShownParts


class Options(TypedDict, total=False):
    """How a page is wanted: ``brief`` is the answer alone, ``full`` has every step of a program too, ``template`` is a folder
    whose templates replace the shipped ones, ``lang`` one of en, ko and zh. A document has a title of the level ``heading``
    (3; none at 0), and Markdown a ``dialect``; a terminal is so many characters in ``width`` (96), of more than ASCII where
    they may be ``unicode``."""

    brief: bool
    full: bool
    template: str | None
    lang: str | None
    heading: int
    dialect: str | None
    width: int
    unicode: bool


class Result:
    """What every answer can do once it is a value (``to_dict``) and a page (``page``).

    A page is in the language that is asked for as ``lang``: en, ko or zh; else in that of its problem, else in English.
    """

    __slots__ = ()

    def page(self, form: str, style: Style) -> str:
        """The page in a format."""
        raise TypeError(f"{type(self).__name__} has no page")

    def to_dict(self) -> Any:
        """The JSON object as a Python value; a list for several."""
        raise TypeError(f"{type(self).__name__} has no record")

    def to_text(self, **look: Unpack[Options]) -> str:
        """Lines for a terminal; conditions can be given to ``assume``."""
        return self.page("text", Style(**look))

    def to_markdown(self, **look: Unpack[Options]) -> str:
        """Markdown with LaTeX mathematics, for GitHub, MkDocs and notebooks, in one of the dialects."""
        return self.page("markdown", Style(**look))

    def to_rst(self, **look: Unpack[Options]) -> str:
        """reStructuredText, for Sphinx."""
        return self.page("rst", Style(**look))

    def to_latex(self, **look: Unpack[Options]) -> str:
        """A LaTeX document; with ``heading=0`` a fragment for a document that loads amsmath."""
        return self.page("latex", Style(**look))

    def to_json(self) -> str:
        """The JSON object, ``"schema": 1``."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n"

    def _repr_markdown_(self) -> str:
        return self.to_markdown()


class ShownDerivation(Result, Derivation):
    """Steps and answer of one problem, and their text.

    >>> import symroof as sr
    >>> d = sr.derive("matmul", on="tpu-v5e", assume="B << D, F")
    >>> d.answer.smallest_integer
    241
    >>> print(d.to_text(brief=True, unicode=False).splitlines()[-1])
      compute-bound  1/B + 1/D + 1/F < 1/240.24  B > 240.24, so B >= 241
    """

    def page(self, form: str, style: Style) -> str:
        from symroof.rendering.pages.derivation_page import render_derivation

        return render_derivation(self, form, style)

    def to_dict(self) -> dict[str, Any]:
        from symroof.rendering.records.derivations import record

        return record(self)

    def function(self, name: str) -> QuantityFunction:
        """A quantity, or an expression of quantities, as a function on numbers and arrays; at one set of sizes these are what
        a call does not say.

        >>> import symroof as sr
        >>> d = sr.derive("matmul", on="tpu-v5e", at="B=64,D=F=8192")
        >>> d.function("T_lower")() == d.function("T_lower")(B=64), d.function("B/T_lower")(B=64) < d.function("B/T_lower")(B=128)
        (True, True)
        """
        from symroof.rendering.printed_values import is_plain, with_expressions

        problem = self.setting.problem
        is_quantity = not isinstance(name, str) or is_plain(name)
        setting = self.setting if is_quantity else setting_of(with_expressions(problem, [name]))
        sizes = problem.at[0] if len(problem.at) == 1 else {}
        return replace(function_of(setting, name), sizes=sizes, problem=problem)

    def value(self, name: str, unit: str | None = None) -> float:
        """The number that a quantity, or an expression of quantities, is at the set of sizes, in a unit.

        Raises :class:`ReadingError` where there is no such set, or more than one, or it leaves a size open.

        >>> import symroof as sr
        >>> sr.derive("matmul", on="tpu-v5e", at="B=64,D=F=8192").value("T_lower", "us")
        166.23...
        """
        points, quantity = self.setting.problem.at, self.only([name]).quantity(name)
        numbers = [value for value in (() if quantity is None else quantity.values) if isinstance(value, Fraction)]
        if quantity is None and len(points) == 1:
            raise ReadingError(f"{name} does not apply here: the derivation has none")
        if quantity is None or len(points) != 1 or len(numbers) != 1:
            raise ReadingError(f"{name} is no number here", expected="one set of sizes that leaves nothing of it open")
        return float(numbers[0] if unit is None else quantity.scaled(numbers[0], unit)[0])

    def only(self, values: Words = (), formulas: Words = (), unit: str | None = None) -> ShownParts:
        """Parts of the answer, under the names that they have in the JSON; and what quantities and expressions of them come
        to, at each set of sizes, in a unit. Names are a list, or one text with commas.

        >>> import symroof as sr
        >>> print(sr.derive("matmul", on="tpu-v5e", assume="B << D, F").only(["rule_bound"]).to_text().strip())
        240.24
        >>> print(sr.derive("matmul", on="tpu-v5e", at="B=64,D=F=8192").only("T_lower, T_math/T_lower").to_text().strip())
        T_lower         166.2 µs
        T_math/T_lower  0.262
        """
        from symroof.rendering.printed_values import ShownParts

        names = (*((name, False) for name in listed(values)), *((name, True) for name in listed(formulas)))
        return ShownParts(self, names, unit)

    @property
    def rows(self) -> list[dict[str, float]]:
        """The numbers of each set of sizes: the sizes, and every quantity that they leave nothing of open.

        >>> import symroof as sr
        >>> (row,) = sr.derive("matmul", on="tpu-v5e", at="B=64,D=F=8192").rows
        >>> row["B"], row["flops"], round(row["T_lower"] * 1e6, 1)
        (64.0, 8589934592.0, 166.2)
        """
        from symroof.rendering.records.derivations import numbers_of

        points = self.answer.at
        return [
            {name: float(value) for name, value in (*point.values.items(), *numbers_of(point).items())}
            for point in points
        ]

    def to_dataframe(self) -> Any:
        """``rows`` as a table of pandas, a line for each set of sizes. Raises :class:`ReadingError` where pandas is not there."""
        return dataframe(self.rows)

    def _repr_latex_(self) -> str:
        return self.to_latex(heading=0)

    def __repr__(self) -> str:
        counts, operation = self.counts(), self.setting.problem.operation.title
        return f"<Derivation of {operation}: {counts['proved']} proved, {counts['sampled']} sampled>"


def dataframe(rows: list[Any]) -> Any:
    """Rows as a table of pandas. Raises :class:`ReadingError` where pandas is not there."""
    try:
        from pandas import DataFrame
    except ImportError:
        raise ReadingError("to_dataframe() needs pandas, which is not installed", hint="pip install pandas") from None
    return DataFrame(rows)
