"""What holds for the documents of a folder: ``symroof.toml`` or ``[tool.symroof]``, and the dialect of each.

["docs/**/*.md"]
dialect  = "github"
hardware = "tpu-v5e"          # defaults of problems
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from fnmatch import fnmatch
from os.path import realpath
from pathlib import Path
from typing import Any

from symroof.errors import ReadingError, about, require_one_of
from symroof.formula import Frozen
from symroof.reading.claim_sets import READING
from symroof.reading.keys import KEYS
from symroof.reading.languages import language_of
from symroof.reading.toml import read_table_file, texts
from symroof.rendering.pages.dialects import DIALECTS, dialect_named

# How a page is to look, beside what a problem may state.
LOOKS = ("dialect", "template", "heading", "label", "brief", "full", "lang")
SAID = tuple(dict.fromkeys((*LOOKS, *KEYS)))
# The format of a file, and its usual dialect.
SUFFIXES = {
    **dict.fromkeys((".md", ".markdown", ".qmd", ".ipynb"), ("markdown", "dollar")),
    ".rst": ("rst", "rst"),
    **dict.fromkeys((".tex", ".ltx", ".latex"), ("latex", "tex")),
}
# Where an unknown dialect comes from, in an error.
WHY = {"asked": "it is asked for", "said": "the settings say so"}


class Settings(Frozen):
    """``form`` is the format of the document, ``why`` tells where its dialect comes from (``asked``, ``said``, ``usual``,
    ``readme``), ``root`` is the folder whose files a document may name; ``looks`` are
    how pages look, ``problem`` what every problem of it states."""

    form: str
    dialect: str
    why: str
    root: Path
    looks: Mapping[str, Any] = field(default_factory=dict)
    problem: Mapping[str, object] = field(default_factory=dict)


def settings_of(path: Path | None, dialect: str | None = None) -> Settings:
    """The settings of a document; ``dialect`` is the one that is asked for. Text without a path is Markdown.

    Raises :class:`ReadingError` for a format that is not known.

    >>> settings_of(None).dialect, settings_of(None, "github").why
    ('dollar', 'asked')
    """
    if path is None:
        form = dialect_named(dialect, f" ({WHY['asked']})").form if dialect else "markdown"
        return Settings(form, dialect or "dollar", "asked" if dialect else "usual", Path())
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise ReadingError(f"{path} is in no format that is built", expected=f"one of {', '.join(SUFFIXES)}")
    form, usual = SUFFIXES[suffix]
    options, root = _options(Path(realpath(path)))
    looks = {key: value for key, value in options.items() if key in LOOKS}
    result, why = _dialect(Path(realpath(path)), dialect, looks.pop("dialect", None), usual)
    if DIALECTS[result].form != form:
        raise ReadingError(f"{path} is {form}, and the dialect {result} is of another format")
    problem = {key: value for key, value in options.items() if key in KEYS and key not in LOOKS}
    chips = tuple(str(root / name) for name in texts(problem, "chips"))
    return Settings(form, result, why, root, looks, {**problem, **({"chips": chips} if chips else {})})


def reading_of(path: Path) -> dict[str, object]:
    """What the settings of a file decide of how its numbers are read: ``digits``, ``gb``, ``roughly``, ``count``."""
    options, _ = _options(Path(realpath(path)))
    return {key: value for key, value in options.items() if key in (*READING, "count")}


def _dialect(path: Path, dialect: str | None, options: object, usual: str) -> tuple[str, str]:
    """The dialect of a document, and why: asked for, said in a file of settings, GitHub's for a README, or the usual one."""
    for name, why in ((dialect, "asked"), (options, "said")):
        if name is not None:
            dialect_named(str(name), f" ({WHY[why]})")
            return str(name), why
    if usual == "dollar" and path.name.upper().startswith("README") and (path.parent / ".git").exists():
        return "github", "readme"
    return usual, "usual"


def _upwards(path: Path) -> Iterator[Path]:
    """The folders of a document, from the inside out, up to that of a repository."""
    for folder in path.parents:
        yield folder
        if (folder / ".git").exists():
            return


def _options(path: Path) -> tuple[dict[str, object], Path]:
    """What the nearest file of settings says of a document, and its folder. A later pattern goes before an earlier one."""
    for folder in _upwards(path):
        own, project = folder / "symroof.toml", folder / "pyproject.toml"
        table: object = None
        if own.is_file():
            table, source = read_table_file(own), own
        elif project.is_file():
            table, source = read_table_file(project).get("tool", {}).get("symroof"), project
        if isinstance(table, Mapping):
            with about(f"{source}: "):
                options = _matching(table, path.relative_to(folder).as_posix())
                template = str(folder / str(options["template"])) if "template" in options else None
                language_of(options, template)
                options |= {"template": template} if template else {}
                return options, folder
    return {}, path.parent


def _matching(table: Mapping[str, object], name: str) -> dict[str, object]:
    options: dict[str, object] = {}
    for pattern, settings in table.items():
        if not isinstance(settings, Mapping):
            raise ReadingError(f"{pattern} is no table", expected='["docs/**/*.md"], and settings below it')
        for key in settings:
            require_one_of(key, SAID, f"{pattern}: unknown key {key!r}")
        if fnmatch(name, pattern) or fnmatch(name, pattern.replace("**/", "")):
            options |= settings
    return options
