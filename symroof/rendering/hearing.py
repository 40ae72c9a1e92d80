"""What a page sets as mathematics is heard, and held against the steps: each formula is a part of one, and its text, read
back, is that formula.

Names are read back as they are printed: a page may call them by words of its language. What only stands over several
lines is read as the line that it is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from symroof.errors import AlgebraError, CheckError, ReadingError
from symroof.formula import Compare, Formula, Infinity, Name, Number, Verdict, fold, mapped, names, nodes
from symroof.reading.expressions import read_expression
from symroof.reading.latex import read_latex_expression
from symroof.reading.latex_phrases import Dialect
from symroof.reading.scope import Scope
from symroof.rendering.formulas.plain import Heard, Notation, PlainPrinter
from symroof.rendering.told import Modular, Told, unlike

# What breaks a formula over lines, and is no part of it.
BREAKS = re.compile(r"\\begin\{gathered\}|\\end\{gathered\}|\\\\|\\cr\b|\\quad\b|\{\}|&|\\allowbreak\b")
STANDIN = "v_{{{}}}", "v_{}"
VALUES = Modular({})


def require_heard(heard: Heard, told: Sequence[Told]) -> None:
    """Raises :class:`~symroof.errors.CheckError` for a formula that was printed and that no step says, or that says
    something else as text. Nothing is asked of the steps where there are none: a template of one's own sets what it likes."""
    for (text, _), (formula, printer) in heard.items():
        if told and not any(one.says(formula) for one in told):
            raise unlike("a formula", text)
        measured = isinstance(formula, Number) and formula.unit is not None
        if (
            not measured
            and not isinstance(formula, Infinity | Name)
            and not any(isinstance(n, Compare | Verdict) for n in nodes(formula))
        ):
            require_read_back(formula, text, printer)


def require_read_back(formula: Formula, text: str, printer: Notation) -> None:
    """Raises :class:`~symroof.errors.CheckError` where the text of a formula, read by the reader of formulas, is another one."""
    plain = isinstance(printer, PlainPrinter)
    spelled = {name: fold(Name(name), printer).text for name in names(formula)}
    odd = sorted({word for word in spelled.values() if _is_odd(word)}, key=len, reverse=True)
    line, stand = " ".join(BREAKS.sub(" ", text).split()), {}
    for i, word in enumerate(odd):
        stand[f"v_{i}"] = word
        line = line.replace(word, STANDIN[plain].format(i))
    known = tuple(sorted({*(word for word in spelled.values() if word not in odd), *stand}))
    again = _read(line, known, plain)
    if again is None or _value(again, stand) != _value(formula, spelled):
        raise CheckError(f"a formula is printed as another one: {text[:200]}")


def _is_odd(word: str) -> bool:
    """Whether a printed name is read as a letter that stands for it."""
    return "(" in word or "\\" in word or not word.isascii() or '"' in word or " " in word


def _value(formula: Formula, called: dict[str, str]) -> int | None:
    """The value of a formula whose names are what they are printed as."""
    try:
        return int(fold(mapped(formula, lambda n: _called(n, called)), VALUES))
    except (AlgebraError, ValueError):
        return None


def _called(node: Formula, called: dict[str, str]) -> Formula:
    return Name(called[node.name]) if isinstance(node, Name) and node.name in called else node


@lru_cache(maxsize=2048)
def _read(line: str, known: tuple[str, ...], plain: bool) -> Formula | None:
    scope = Scope(known, open=True, indices=True, letters=frozenset())
    try:
        return read_expression(line, scope) if plain else read_latex_expression(line, Dialect(scope))
    except ReadingError:
        return None
