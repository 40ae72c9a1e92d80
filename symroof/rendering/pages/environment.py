"""The Jinja environment: the only importer of jinja2. Templates hold all prose and no algebra.

Delimiters are << >> and <% %>, because LaTeX is full of braces. A template in a folder of the user's own takes the
place of the shipped one of the same name.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from symroof.errors import RenderingError
from symroof.formula import Both, Cases, Formula, Name, Sum, number


def shipped_template(name: str) -> str | None:
    """A template of the package: beside it in a checkout, inside it in a wheel. It may lie in a zip file."""
    if "/" in name or "\\" in name or name.startswith("."):
        return None
    package = files("symroof")
    beside = Path(str(package)).parent / "templates"
    if (beside / name).is_file() and (beside.parent / "pyproject.toml").is_file():
        return (beside / name).read_text("utf-8")
    inside = package / "templates" / name
    return inside.read_text("utf-8") if inside.is_file() else None


@lru_cache(maxsize=8)
def environment(folder: str | None) -> Any:
    """The environment, with the user's folder in front of the shipped templates."""
    from jinja2 import ChoiceLoader, Environment, FileSystemLoader, FunctionLoader, StrictUndefined

    loaders: list[Any] = [FunctionLoader(shipped_template)]
    if folder is not None:
        if not Path(folder).is_dir():
            raise RenderingError(f"{folder} is not a folder of templates")
        loaders.insert(0, FileSystemLoader(folder))
    environment = Environment(
        loader=ChoiceLoader(loaders),
        block_start_string="<%",
        block_end_string="%>",
        variable_start_string="<<",
        variable_end_string=">>",
        comment_start_string="<#",
        comment_end_string="#>",
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=StrictUndefined,
        autoescape=False,
        bytecode_cache=_cache(),
    )
    environment.tests["cases"] = lambda value: isinstance(value, Cases)
    environment.tests["sum"] = lambda value: isinstance(value, Sum)
    environment.filters["first_case"] = first_case
    environment.filters["one"] = lambda value: value == number(1)
    environment.filters["name"] = lambda value: value.name if isinstance(value, Name) else ""
    return environment


def _cache() -> Any:
    """Compiled templates are kept where Jinja keeps them: a private folder of this user, checked before it is used."""
    from jinja2 import FileSystemBytecodeCache

    try:
        return FileSystemBytecodeCache()
    except (OSError, RuntimeError):
        return None


def first_case(formula: Formula) -> Formula:
    """A guarded condition on one line: the first case and its guard."""
    return Both(formula.rows[0]) if isinstance(formula, Cases) else formula


def load(name: str, folder: str | None, names: dict[str, Any]) -> Any:
    """A template as a module of macros, with ``names`` as its globals."""
    return environment(folder).get_template(name, globals=names).make_module()


def render(name: str, folder: str | None, names: dict[str, Any]) -> str:
    text: str = environment(folder).get_template(name).render(**names)
    return text


@contextmanager
def guarded() -> Iterator[None]:
    """Faults of a template become one error that names it."""
    from jinja2 import TemplateError, TemplateNotFound, TemplateSyntaxError

    try:
        yield
    except TemplateNotFound as error:
        raise RenderingError(f"there is no template {error.name}") from None
    except TemplateSyntaxError as error:
        raise RenderingError(f"template {error.name}, line {error.lineno}: {error.message}") from None
    except TemplateError as error:
        raise RenderingError(f"a template failed: {error}") from None
