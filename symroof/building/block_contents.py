"""The content of a block: the page, map, comparison, picture or report that its TOML asks for."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from html import escape
from pathlib import Path
from textwrap import indent
from typing import Any

from symroof.building.settings import LOOKS, SAID, Settings
from symroof.errors import ReadingError
from symroof.formula import Frozen
from symroof.reading.keys import KEYS
from symroof.reading.languages import language_of, languages
from symroof.reading.operation_keys import has_operation
from symroof.reading.problems import read_problem_file, require_key
from symroof.reading.toml import text, unfit
from symroof.rendering.figures.signature import sign
from symroof.rendering.pages.typesetting import Style
from symroof.verification.comments import CONVENTIONS

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
    answer: Any
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
    problem: Mapping[str, Any]
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
        looks["template"] = str(inside(table["template"], folder, settings, "template"))
    looks["lang"] = language_of({"lang": problem.pop("lang", looks.get("lang"))}, looks.get("template"))
    own = {key: value for key, value in table.items() if key in OWN[verb] and key != "show"}
    return Request(verb, text(table, "id"), problem, own, Style(**looks))


def _problem_file(name: str | None, settings: Settings, folder: Path) -> Mapping[str, Any]:
    """A problem of a file of the site: ``"matmul.toml"``, or ``"matmul.toml#title"`` where it has several."""
    file, _, title = str(name).partition("#")
    tables = read_problem_file(inside(file, folder, settings, "problem"))
    result = [table for table in tables if not title or table.get("title") == title]
    if len(result) != 1:
        titles = ", ".join(str(table.get("title")) for table in tables)
        raise ReadingError(
            f"problem: {name} has {len(result)} problems of that name", expected=f"{file}#title: {titles}"
        )
    return {key: value for key, value in result[0].items() if key != "claims"}


def inside(name: str, folder: Path, settings: Settings, key: str) -> Path:
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
        report = make(inside(name, folder, settings, "file"))
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
            own["points"] = inside(own["points"], folder, settings, "points")
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
    path = inside(name, folder, settings, "file")
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
    path = inside(name, folder, settings, "file")
    live = page.written(request.style.lang)
    frame = f'<iframe src="{escape(name)}" title="{escape(live.title)}" width="100%" height="{height or live.height}" loading="lazy"></iframe>'
    shown = FRAMES[settings.form].format(frame=frame, title=live.title.replace("[", "(").replace("]", ")"), name=name)
    return Content(shown, page, {path: sign(live.html().encode(), "html")}, live.digest)
