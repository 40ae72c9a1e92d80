"""The languages that pages are written in: each has a file of phrases, and whoever adds one adds one.

What is asked for goes before what a problem or a block says of itself; that goes before what the comments before it and
then the settings of its folder say; where nobody says anything, pages are in English.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from symroof.errors import require_one_of
from symroof.reading.toml import text

USUAL_LANGUAGE = "en"


def template_folders() -> Iterator[Any]:
    """Where templates lie: beside the package in a checkout, inside of it in a wheel, which may be a zip file."""
    package = files("symroof")
    beside = Path(str(package)).parent
    if (beside / "pyproject.toml").is_file():
        yield beside / "templates"
    yield package / "templates"


@lru_cache(maxsize=1)
def shipped_languages() -> tuple[str, ...]:
    entries = (entry for folder in template_folders() if folder.is_dir() for entry in folder.iterdir())
    return tuple(sorted({entry.name[:-8] for entry in entries if entry.name.endswith(".phrases")}))


def languages(folder: str | None = None) -> tuple[str, ...]:
    """The languages that there are words of, each by its code. A folder of templates of the user's own may hold more.

    >>> "en" in languages()
    True
    """
    own = Path(folder).glob("*.phrases") if folder is not None else ()
    return tuple(dict.fromkeys((*shipped_languages(), *(path.stem for path in own))))


def known(code: Any, folder: str | None = None) -> str:
    """The code of a language that there are words of. Raises :class:`ReadingError` for any other."""
    code = text({"lang": code}, "lang") or ""
    require_one_of(code, languages(folder), f"unknown language {code!r}")
    return code


def language_of(options: Mapping[str, Any], folder: str | None = None) -> str | None:
    """The language that a table of options says; None where it says nothing.

    >>> language_of({"lang": "en"}), language_of({})
    ('en', None)
    """
    return None if options.get("lang") is None else known(options["lang"], folder)
