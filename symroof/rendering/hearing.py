"""What a page sets as mathematics is heard, and held against the steps: each formula is a part of one, and its text, read
back, is that formula.

Names are read back as they are printed: a page may call them by words of its language. What only stands over several
lines is read as the line that it is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate

from symroof.errors import AlgebraError, CheckError, ReadingError
from symroof.formula import Both, Cases, Compare, Either, Formula, Group, Infinity, Name, Number, Verdict, fold, names
from symroof.reading.expressions import read_expression
from symroof.reading.latex import read_latex_expression
from symroof.reading.latex_phrases import Dialect
from symroof.reading.scope import Scope
from symroof.rendering.formulas.plain import Heard, Notation, PlainPrinter
from symroof.rendering.told import Modular, Told, meant, of_text, unlike

# What breaks a formula over lines, and is no part of it.
BREAKS = re.compile(r"\\begin\{gathered\}|\\end\{gathered\}|\\\\|\\cr\b|\\quad\b|\{\}|&|\\allowbreak\b")
IN_BRACKETS = re.compile(r"^(?:\\left)?\( ?(.*?) ?(?:\\right)?\)$")
STANDIN = "v_{{{}}}", "v_{}"


def heard_nothing() -> Heard:
    """Where a printer notes what it prints."""
    return {}


def require_heard(heard: Heard, told: Sequence[Told]) -> None:
    """Raises :class:`~symroof.errors.CheckError` for a formula that was printed and that no step says, or that says
    something else as text. Nothing is asked of the steps where there are none: a template of one's own sets what it likes."""
    called: dict[str, str] = {}
    for (text, _), (formula, printer) in heard.items():
        for name in names(formula):
            other = called.setdefault(fold(Name(name), printer).text, meant(name))
            if other != meant(name) and {name, other} & printer.letters.dimensions:
                raise CheckError(f"two names are printed alike: {name} and {other}")
        if told and not any(one.says(formula) for one in told):
            raise unlike("a formula", text)
        require_read_back(formula, text, printer)


def require_read_back(formula: Formula, text: str, printer: Notation) -> None:
    """Raises :class:`~symroof.errors.CheckError` where the text of a formula, read by the reader of formulas, is another
    one; a condition is read part by part, between its signs."""
    text = _on_one_line(text)
    if isinstance(formula, Group) and isinstance(formula.body, Compare | Both | Either):
        formula = formula.body
    if isinstance(formula, Compare | Both | Either):
        text = inside(text)
        parts = (formula.left, formula.right) if isinstance(formula, Compare) else formula.parts
        texts = apart(text, _between(formula, printer))
        if len(texts) != len(parts):
            raise CheckError(f"a condition is printed as another one: {text[:200]}")
        for part, said in zip(parts, texts, strict=True):
            require_read_back(part, said, printer)
    elif not isinstance(formula, Infinity | Name | Verdict | Cases) and not _is_measured(formula):
        _require_read_back(formula, text, printer)


def _is_measured(formula: Formula) -> bool:
    return isinstance(formula, Number) and formula.unit is not None


def _between(formula: Compare | Both | Either, printer: Notation) -> str:
    """What stands between the parts of a condition."""
    if isinstance(formula, Compare):
        return f" {printer.sign(formula.relation)} "
    words = printer.words.both if isinstance(formula, Both) else printer.words.either
    return _on_one_line(f"x{printer.between(words)}x")[1:-1]


def _on_one_line(text: str) -> str:
    """A text on one line."""
    return " ".join(BREAKS.sub(" ", text).split())


def inside(text: str) -> str:
    """What stands in brackets that are around the whole of a text.

    >>> inside("(a or b)"), inside("(a) or (b)")
    ('a or b', '(a) or (b)')
    """
    found = IN_BRACKETS.match(text)
    depths = accumulate({"(": 1, ")": -1}.get(sign, 0) for sign in (found[1] if found else ""))
    return text if found is None or min(depths, default=0) < 0 else found[1]


def apart(text: str, between: str) -> list[str]:
    """The parts of a text between signs that stand in no brackets.

    >>> apart("(a or b) and c", " and "), apart("(a or b) and c", " or ")
    (['(a or b)', 'c'], ['(a or b) and c'])
    """
    found: list[str] = []
    for part in text.split(between):
        if found and found[-1].count("(") > found[-1].count(")"):
            found[-1] += between + part
        else:
            found.append(part)
    return found


def _require_read_back(formula: Formula, text: str, printer: Notation) -> None:
    plain = isinstance(printer, PlainPrinter)
    spelled = {name: fold(Name(name), printer).text for name in names(formula)}
    odd = sorted({word for word in spelled.values() if _is_odd(word)}, key=len, reverse=True)
    line, stand = text, {}
    for i, word in enumerate(odd):
        stand[f"v_{i}"] = word
        line = line.replace(word, STANDIN[plain].format(i))
    known = tuple(sorted({*(word for word in spelled.values() if word not in odd), *stand}))
    again, value = _read(line, known, plain), _value(formula, spelled)
    if again is None or value is None or _value(again, stand) != value:
        raise CheckError(f"a formula is printed as another one: {text[:200]}")


def _is_odd(word: str) -> bool:
    """Whether a printed name is read as a letter that stands for it."""
    return "(" in word or "\\" in word or not word.isascii() or '"' in word or " " in word


def _value(formula: Formula, called: dict[str, str]) -> int | None:
    """The value of a formula whose names are what they are printed as."""
    try:
        return int(fold(formula, Modular({name: of_text(meant(word)) for name, word in called.items()})))
    except (AlgebraError, ValueError):
        return None


@lru_cache(maxsize=2048)
def _read(line: str, known: tuple[str, ...], plain: bool) -> Formula | None:
    scope = Scope(known, open=True, indices=True, letters=frozenset())
    try:
        return read_expression(line, scope) if plain else read_latex_expression(line, Dialect(scope))
    except ReadingError:
        return None
