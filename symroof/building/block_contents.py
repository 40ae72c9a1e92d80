"""What stands between markers: the page, map, comparison, picture or report that the TOML of a block asks for, and the values
of sentences, which are expressions over the answers of the blocks of a document."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from fractions import Fraction
from html import escape
from pathlib import Path
from textwrap import indent
from typing import Any

from sympy import Expr

from symroof.algebra.roots import Root
from symroof.building.settings import LOOKS, SAID, Settings
from symroof.derivation.pipeline import Derivation
from symroof.derivation.solving import PLAIN
from symroof.errors import CheckError, ReadingError, require_one_of
from symroof.formula import Call, Cases, Compare, Formula, Frozen, Name, Number, mapped, names
from symroof.reading.claims import read_value
from symroof.reading.keys import KEYS
from symroof.reading.languages import language_of, languages
from symroof.reading.operation_keys import has_operation
from symroof.reading.problems import read_problem_file, require_key
from symroof.reading.toml import text, unfit
from symroof.rendering.figures.picture_digest import sign
from symroof.rendering.pages.typesetting import Style, Typesetter
from symroof.rendering.printed_values import Shape, inline_value, read_shape
from symroof.rendering.records.derivations import parts
from symroof.symbols import expression
from symroof.verification.comments import CONVENTIONS
from symroof.verification.context import Context
from symroof.verification.intervals import enclosed, is_numeric
from symroof.verification.unit_agreement import unit_of

# What a verb may say beside the problem and the looks.
OWN: Mapping[str, tuple[str, ...]] = {
    "derive": ("show",),
    "regimes": ("of", "every"),
    "compare": ("dtypes",),
    "plot": ("kind", "over", "links", "width", "points", "file"),
    "page": ("file", "height"),
    "verify": ("file",),
}
# The format of a report, and how a document has it: reports are typeset in Markdown alone.
PAGES = {"markdown": "markdown", "rst": "text", "latex": "text"}
LITERAL: Mapping[str, Callable[[str], str]] = {
    "markdown": str,
    "rst": lambda page: "::\n\n" + indent(page, "   "),
    "latex": lambda page: f"\\begin{{verbatim}}\n{page}\n\\end{{verbatim}}",
}
PICTURES = {"markdown": ".svg", "rst": ".svg", "latex": ".pdf"}
# A frame, and a plain link for those who see none.
FRAMES = {"markdown": "{frame}\n\n[{title}]({name})", "rst": ".. raw:: html\n\n   {frame}\n\n`{title} <{name}>`__"}
Makers = Mapping[str, Callable[..., Any]]


class Content(Frozen):
    """``text`` is what stands in the block, and ``answer`` what it is made of. ``files`` are pictures beside the document
    and ``points`` the numbers in them: the digest is that of text and numbers, for the bytes of a picture depend on
    what draws it."""

    text: str
    answer: object
    files: Mapping[Path, bytes] = field(default_factory=dict)
    points: str = ""

    @property
    def digest(self) -> str:
        return "-".join(map(digest, filter(None, (self.text, self.points))))


def digest(text: str) -> str:
    """
    >>> digest("B > 240")
    '16aa8164'
    """
    return hashlib.sha256(text.encode()).hexdigest()[:8]


class Request(Frozen):
    """What a block asks for: a ``problem`` under the keys of problem files, what the verb takes besides, and how its page
    looks; the language is a look."""

    verb: str
    name: str | None
    problem: Mapping[str, object]
    own: Mapping[str, Any]
    style: Style


def request_of(
    verb: str, table: Mapping[str, Any], before: Mapping[str, Any], settings: Settings, folder: Path
) -> Request:
    """The request of a block: its own table, what it takes from the comments ``before`` it, and the usual settings."""
    keys = ("id", "problem", *OWN[verb], *SAID)
    for key in table:
        require_key(key, keys, "the block")
    shared = _problem_file(text(table, "problem"), settings, folder) if "problem" in table else {}
    ours = {key for key in table if key not in OWN[verb]}  # the sizes of a plot are those of its axes
    own_keys = {key: value for key, value in {**shared, **table}.items() if key in KEYS and key in {*shared, *ours}}
    inherited = {key: value for key, value in before.items() if not has_operation(own_keys) or key in CONVENTIONS}
    problem = {**settings.problem, **inherited, **own_keys}
    if not has_operation(problem) and "of" in table:  # an approximation alone is not of the usual chip
        problem = {key: value for key, value in problem.items() if key in own_keys or key == "lang"}
    if "show" in table:
        problem["sections"] = table["show"]
    looks = _looks(table, settings, folder)
    looks["lang"] = language_of({"lang": problem.pop("lang", looks.get("lang"))}, looks.get("template"))
    own = {key: value for key, value in table.items() if key in OWN[verb] and key != "show"}
    return Request(verb, text(table, "id"), problem, own, Style(**looks))


def _looks(table: Mapping[str, Any], settings: Settings, folder: Path) -> dict[str, Any]:
    """How a block is set: the usual looks of its document, and its own."""
    looks = {"heading": 0, "dialect": settings.dialect, **settings.looks}
    looks |= {key: value for key, value in table.items() if key in LOOKS}
    if looks["heading"] not in range(7) or isinstance(looks["heading"], bool):
        raise unfit("heading", looks["heading"], "a level", "0 to 6")
    for key in ("brief", "full"):
        if not isinstance(looks.get(key, False), bool):
            raise unfit(key, looks[key], "true or false")
    for key in ("dialect", "template", "label"):
        text(looks, key)
    if "template" in table:
        looks["template"] = str(named_file(table["template"], folder, settings, "template"))
    return looks


def _problem_file(name: str | None, settings: Settings, folder: Path) -> Mapping[str, Any]:
    """A problem of a file of the site: ``"matmul.toml"``, or ``"matmul.toml#title"`` where it has several."""
    file, _, title = str(name).partition("#")
    tables = read_problem_file(named_file(file, folder, settings, "problem"))
    result = [table for table in tables if not title or table.get("title") == title]
    if len(result) != 1:
        titles = ", ".join(str(table.get("title")) for table in tables)
        raise ReadingError(
            f"problem: {name} has {len(result)} problems of that name", expected=f"{file}#title: {titles}"
        )
    return {key: value for key, value in result[0].items() if key != "claims"}


def named_file(name: str, folder: Path, settings: Settings, key: str) -> Path:
    """A file that a document names: it is in the folder of the document or of its settings."""
    path = (folder / name).resolve()
    if not any(path.is_relative_to(root.resolve()) for root in (folder, settings.root)):
        raise ReadingError(f"{key}: {name} is not in the folder of the document or of its settings")
    return path


def content_of(request: Request, settings: Settings, folder: Path, makers: Makers) -> Content:
    """The content of a block, made by the function of its verb."""
    make, form = makers[request.verb], settings.form
    if request.verb == "verify":
        name = text(request.own, "file")
        if name is None:
            raise ReadingError("the block names no file", expected='file = "…"')
        report = make(named_file(name, folder, settings, "file"))
        files = tuple(replace(file, file=name) for file in report.files)
        report = replace(report, files=files, lang=request.style.lang)
        return Content(LITERAL[form](report.page(PAGES[form], request.style).strip("\n")), report)
    problem, own = dict(request.problem), dict(request.own)
    if request.style.lang in languages():  # what a site's own templates add, is for its pages
        own["lang"] = request.style.lang
    if request.verb in ("compare", "plot", "page"):
        own["on"] = problem.pop("hardware", None)
    if request.verb == "plot":
        if isinstance(own.get("points"), str):
            own["points"] = named_file(own["points"], folder, settings, "points")
        return _picture(request, own, make, problem, settings, folder)
    if request.verb == "page":
        file, height = own.pop("file", None), own.pop("height", None)
        return _frame(request, file, height, make(problem, **own), settings, folder)
    answer = make(problem or None, **own)
    return Content(answer.page(form, request.style).strip("\n"), answer)


def _picture(
    request: Request, own: dict[str, Any], make: Callable[..., Any], problem: Any, settings: Settings, folder: Path
) -> Content:
    """The picture in a file beside the document, and the line that shows it with what it says."""
    file, width = own.pop("file", None), own.pop("width", None)
    figure = make(problem, **own)
    name = str(file or f"{request.name or 'figure'}{PICTURES[settings.form]}")
    path = named_file(name, folder, settings, "file")
    alt = " ".join(figure.description().split()).replace("[", "(").replace("]", ")")
    shown = {
        "markdown": f"![{alt}]({name})",
        "rst": f".. image:: {name}\n   :alt: {alt}",
        "latex": f"\\includegraphics[width=\\linewidth]{{{name}}}",
    }
    return Content(
        shown[settings.form], figure, {path: figure.drawn(path.suffix.removeprefix("."), width)}, figure.to_text()
    )


def _frame(request: Request, file: Any, height: Any, page: Any, settings: Settings, folder: Path) -> Content:
    """The page in a file beside the document, a frame that shows it, and below that the plain link."""
    if settings.form not in FRAMES:
        raise ReadingError("a page that answers stands in Markdown and reStructuredText", hint="draw a figure: plot")
    if height is not None and (type(height) is not int or not 100 <= height <= 5000):
        raise unfit("height", height, "a number of pixels", "560")
    name = str(file or f"{request.name or 'page'}.html")
    path = named_file(name, folder, settings, "file")
    live = page.written(request.style.lang)
    frame = f'<iframe src="{escape(name)}" title="{escape(live.title)}" width="100%" height="{height or live.height}" loading="lazy"></iframe>'
    shown = FRAMES[settings.form].format(frame=frame, title=live.title.replace("[", "(").replace("]", ")"), name=name)
    return Content(shown, page, {path: sign(live.html().encode(), "html")}, live.digest)


DOTTED = re.compile(r"[^\W\d]\w*\.[^\W\d][\w.]*")
# A hole has braces; those behind a command of LaTeX, an index or another argument are arguments, in which a hole has its own.
HOLE = re.compile(r"(?P<argument>(?:\\[A-Za-z]+|[_^}])\s*(?:\{[^{}]*\})+|\\.)|\{(?P<hole>[^{}]*)\}")


class Entry(Frozen):
    """What a block says under a name, and its unit."""

    value: Any
    unit: str = ""


def block_entries(name: str, derivation: Derivation, context: Context) -> dict[str, Entry]:
    """What can be asked of a block: the parts of its answer, and its quantities with the figures put in."""
    result = {key: Entry(part) for key, part in parts(derivation).items()}
    for key, formula in context.definitions.items():
        result[key] = Entry(context.put(formula), unit_of(Name(key), context))
    return {f"{name}.{key}": entry for key, entry in result.items()}


class Lookup(Frozen):
    """``context`` is what the comments before a value say, ``answers`` what the blocks do, by ``id.name``."""

    context: Context
    answers: Mapping[str, Entry]

    def text(self, source: str, typesetter: Typesetter) -> str:
        """The text of a value: an expression, or text in quotes with expressions in braces; behind a semicolon, how.

        Raises :class:`ReadingError` for what is not known, and :class:`CheckError` for a value that is not proved.
        """
        expression, how = _parted(source)
        shape = read_shape(how)
        if expression.startswith(("'", '"')):
            return HOLE.sub(lambda match: self._filled(match, typesetter, shape), expression[1:-1])
        return self._value_text(expression, typesetter, shape)

    def _filled(self, match: re.Match[str], typesetter: Typesetter, shape: Shape) -> str:
        if match["hole"] is not None:
            return self._value_text(match["hole"].strip(), typesetter, shape, bare=True)
        for name in DOTTED.findall(match["argument"]):
            if name in self.answers:
                raise ReadingError(f"{name} is an argument of LaTeX here", expected=f"{{{{{name}}}}}")
        return match["argument"]

    def _value_text(self, expression: str, typesetter: Typesetter, shape: Shape, *, bare: bool = False) -> str:
        answer = self.answers.get(expression)
        if answer is not None and answer.value is None:
            raise ReadingError(f"{expression} does not apply here: the derivation has none")
        if answer is not None and isinstance(answer.value, str | Compare | Cases):
            return inline_value(answer.value, typesetter, shape, bare=bare)
        for name in DOTTED.findall(expression):
            if name.partition(".")[0] in {other.partition(".")[0] for other in self.answers}:
                require_one_of(name, self.answers, f"{name} is nothing that the block says")
        formula, sizes = read_value(expression, self._scoped.scope)
        value, unit = self._value(formula, sizes, shape)
        self._require_proved(value, formula, sizes)
        return inline_value(value, typesetter, shape, unit, bare=bare)

    @property
    def _scoped(self) -> Context:
        """The context with the answers of blocks among its names."""
        formulas: dict[str, Formula] = {}
        for name, entry in self.answers.items():
            formula = _formula(entry.value)
            formulas |= {} if formula is None else {name: formula}
        free = (n for formula in formulas.values() for n in names(formula))
        scope = replace(self.context.scope, names=tuple(dict.fromkeys((*self.context.scope.names, *formulas, *free))))
        units = {name: entry.unit for name, entry in self.answers.items() if entry.unit}
        definitions = {**self.context.definitions, **formulas}
        return replace(self.context, scope=scope, definitions=definitions, units={**self.context.units, **units})

    def _value(self, formula: Formula, sizes: tuple[tuple[str, Formula], ...], shape: Shape) -> tuple[Any, str]:
        """The value of a formula, and its unit."""
        context = self._scoped
        place, unit = context.at(sizes), unit_of(formula, context)
        put = place.put(formula)
        if not is_numeric(put):
            return place.written(expression(put), put), unit
        enclosure = enclosed(put)
        written = put if any("." in name for name in names(formula)) else formula
        return written if shape.formula else enclosure.low if enclosure.exact else enclosure, unit

    def _require_proved(
        self, value: Fraction | Root | Formula, formula: Formula, sizes: tuple[tuple[str, Formula], ...]
    ) -> None:
        """That the second engine finds the value of a formula to be this; what is irrational lies between its ends."""
        place = self._scoped.at(sizes)
        put = place.put(formula)
        if isinstance(value, Root) and not value.exact:
            enclosure = enclosed(put)
            proved = value.low <= enclosure.high and enclosure.low <= value.high
        else:
            number = (
                Number(value.low if isinstance(value, Root) else value) if isinstance(value, Root | Fraction) else value
            )
            proved = place.settled(Compare(_without_steps(put, place), "=", place.put(number))).truth is True
        if not proved:
            raise CheckError("the value was not proved")


def _without_steps(put: Formula, place: Context) -> Formula:
    """The formula with a whole number for every ceil and floor, each proved by what it lies between."""

    def whole(node: Formula) -> Formula:
        if not isinstance(node, Call) or node.function not in ("ceil", "floor"):
            return node
        (body,), up = node.arguments, node.function == "ceil"
        result = Number(enclosed(node).low)
        low = Compare(Number(result.value - 1), "<", body) if up else Compare(result, "<=", body)
        high = Compare(body, "<=", result) if up else Compare(body, "<", Number(result.value + 1))
        if not (place.settled(low).truth and place.settled(high).truth):
            raise CheckError("the value was not proved")
        return result

    return mapped(put, whole)


def _parted(source: str) -> tuple[str, str]:
    """What is asked for, and how it is to stand: what follows a semicolon outside of quotes."""
    if not source.startswith(("'", '"')):
        expression, _, how = source.partition(";")
        return expression.strip(), how
    end = source.find(source[0], 1)
    rest = source[end + 1 :].strip()
    if end < 0 or (rest and not rest.startswith(";")):
        raise ReadingError("the text of a value ends with its quotation mark", source=source, span=(0, len(source)))
    return source[: end + 1], rest.removeprefix(";")


def _formula(value: object) -> Formula | None:
    """What can be calculated with; conditions and words cannot."""
    match value:
        case Compare() | Cases():
            return None
        case Formula():
            return value
        case int() | Fraction():
            return Number(Fraction(value))
        case Expr() | Root():
            return PLAIN.write(value)
    return None
