"""The Jinja environment. Templates hold all prose and no algebra.

The templates say what stands on a page, and where; the phrases of a language hold its words, by subjects. Whoever adds such
a file adds a language.

Delimiters are << >> and <% %>, because LaTeX is full of braces. A template in a folder of the user's own takes the
place of the shipped one of the same name; then all of them run in Jinja's sandbox, and no link leads out of the folder.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache, partial
from os.path import realpath
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

from symroof.errors import RenderingError
from symroof.formula import Either, Formula, Group, Name
from symroof.proof.propositions import without_cases
from symroof.reading.languages import known, template_folders
from symroof.rendering.pages.terminal import cells, close_up, padded

if TYPE_CHECKING:
    from jinja2 import Environment
    from jinja2.bccache import Bucket

# A phrase of a language: its name, what it takes, and its words, which may stand in several rows; or a table.
ENTRY = re.compile(r"^(\w+)(\([^)\n]*\))?(:| =) ?(.*(?:\n[ })].*)*)", re.MULTILINE)
# What is not heard, and what ends in a way of its own.
SILENT = re.compile(r"\\(?:text|mathrm|texttt|left|right)\b|[$`*]+$")
CLOSING = " )]|"
FRACTION = re.compile(r"\\d?frac(?=\{)")
POWER = re.compile(r"(?:\^(?:\{[^{}]*\}|\d+|[A-Za-z])|(?<![\w.])[\d.]+e-?\d+)[^\w^]*$")
HEARD = re.compile(r"[^\W\d_]+|\d|%|∞|\\infty")


def section(phrases: str, lang: str, subject: str) -> str | None:
    r"""The phrases of a language on a subject as a template: a macro for each, on the line where it stands.

    >>> section("[words]\ncomma = ', '\n[maps]\n# Corners.\nat(sizes): at <<sizes | join(comma)>>", "en", "maps")
    '\n\n<% from "en/words.j2" import comma %>\n\n<% macro at(sizes) %>at <<sizes | join(comma)>><% endmacro %>'
    """
    _, *parts = re.split(r"(?m)^\[(\w+)\]$", phrases)
    subjects = dict(zip(parts[::2], parts[1::2], strict=True))
    if subject not in subjects:
        return None
    shared, own = ({entry[1] for entry in ENTRY.finditer(subjects[name])} for name in ("words", subject))
    small = sorted(shared & set(re.findall(r"\w+", subjects[subject])) - own)
    place = phrases[: phrases.index(f"[{subject}]\n")].count("\n")
    words = f'<% from "{lang}/words.j2" import {", ".join(small)} %>' if small else ""
    return "\n" * place + words + re.sub(r"^#.*", "", ENTRY.sub(_macro, subjects[subject]), flags=re.MULTILINE)


def _macro(entry: re.Match[str]) -> str:
    """A phrase as a macro, with its rows where it has several; a table as what is set."""
    name, taken, sign, text = entry.groups()
    if sign == " =":
        return f"<% set {name} = {text} %>"
    return f"<% macro {name}{taken or '()'} %>{re.sub(r'^  ', '', text.lstrip(), flags=re.MULTILINE)}<% endmacro %>"


def _source(folders: Iterable[Path], name: str) -> str | None:
    """A template, or what the phrases of a language have on a subject, in the first of the folders that has it."""
    lang, _, subject = name.removesuffix(".j2").partition("/")
    for folder in folders:
        if (folder / name).is_file():
            return (folder / name).read_text("utf-8")
        if subject and (folder / f"{lang}.phrases").is_file():
            return section((folder / f"{lang}.phrases").read_text("utf-8"), lang, subject)
    return None


def shipped_template(name: str) -> str | None:
    """A template of the package."""
    return _source(template_folders(), name) if re.fullmatch(r"(?:[a-z]+/)?\w[\w.]*", name) else None


def own_template(folder: str, name: str) -> str | None:
    """A template of the user's own, from inside of its folder; else the shipped one."""
    for part in (name, f"{name.partition('/')[0]}.phrases"):
        if not Path(realpath(Path(folder, part))).is_relative_to(Path(realpath(folder))):
            raise RenderingError(f"the template {part} leads out of {folder}", expected="a file in that folder")
    try:
        own = _source([Path(folder)], name)
    except (OSError, UnicodeDecodeError) as error:
        raise RenderingError(f"the template {Path(folder, name)} cannot be read: {error}") from None
    return shipped_template(name) if own is None else own


@lru_cache(maxsize=8)
def environment(folder: str | None) -> Any:
    """The environment, with the user's folder in front of the shipped templates."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    kind, source = Environment, shipped_template
    if folder is not None:
        from symroof.rendering.pages.sandbox import Bounded

        if not Path(folder).is_dir():
            raise RenderingError(f"{folder} is not a folder of templates")
        if not any(path.suffix in (".j2", ".phrases") for path in Path(folder).iterdir()):
            raise RenderingError(f"{folder} has no templates", expected="files such as page.txt.j2 or en.phrases")
        kind, source = Bounded, partial(own_template, folder)
    environment = kind(
        loader=FunctionLoader(source),
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
        bytecode_cache=_cache() if folder is None else None,
    )
    environment.filters["on_one_line"] = without_cases
    environment.filters["as_part"] = with_brackets
    environment.filters["heard"] = last_sound
    environment.filters["looked_up"] = table_entry
    environment.filters["cells"] = cells
    environment.filters["padded"] = padded
    environment.filters["closed_up"] = close_up
    environment.filters["name"] = lambda value: value.name if isinstance(value, Name) else ""
    return environment


def _cache() -> Any:
    """Compiled templates are kept, each version for itself, where Jinja keeps them: a private folder of this user, checked."""
    from jinja2 import FileSystemBytecodeCache

    class Versions(FileSystemBytecodeCache):
        def get_bucket(self, environment: Environment, name: str, filename: str | None, source: str) -> Bucket:
            return super().get_bucket(environment, f"{name} {crc32(source.encode())}", filename, source)

    try:
        return Versions()
    except (OSError, RuntimeError):
        return None


def with_brackets(formula: Formula) -> Formula:
    """A condition as one of several that hold together: alternatives stand in brackets."""
    plain = without_cases(formula)
    return Group(plain) if isinstance(plain, Either) else plain


def table_entry(text: str, table: Mapping[str, str]) -> str:
    """What a table has for a text, nothing where it has nothing; ``*`` in a key is a part that stands in place of ``%s``.

    >>> table_entry("B is no name", {"* is no name": "%s 不是名称"}), table_entry("B", {})
    ('B 不是名称', '')
    """
    for pattern, words in table.items():
        result = re.fullmatch(re.escape(pattern).replace(r"\*", "(.+)"), text)
        if result is not None:
            return words % result.groups()
    return ""


def load(name: str, folder: str | None, lang: str, names: Mapping[str, object]) -> Any:
    """A template as a module of macros in a language, with ``names`` as its globals."""
    return environment(folder).get_template(name, globals={"lang": known(lang, folder), **names}).make_module()


@lru_cache(maxsize=32)
def words(folder: str | None, lang: str, subject: str = "words") -> Any:
    """The rules and the small words of a language; those of a subject, where there is one."""
    return load(f"{known(lang, folder)}/{subject}.j2", folder, lang, {})


def render(name: str, folder: str | None, lang: str, names: Mapping[str, object]) -> str:
    text: str = environment(folder).get_template(name).render(lang=known(lang, folder), **names)
    return text


@contextmanager
def template_errors(folder: str | None) -> Iterator[None]:
    """Faults of a template become one error that names it; where all are shipped, only those that Jinja tells."""
    from jinja2 import TemplateError, TemplateNotFound, TemplateSyntaxError

    try:
        yield
    except TemplateNotFound as error:
        raise RenderingError(f"there is no template {error.name}") from None
    except TemplateSyntaxError as error:
        raise RenderingError(f"template {error.name}, line {error.lineno}: {error.message}") from None
    except TemplateError as error:
        raise RenderingError(f"a template failed: {error}") from None
    except (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError) as error:
        if folder is None:
            raise
        hint = "compare the templates of that folder with the shipped ones"
        raise RenderingError(f"a template failed: {type(error).__name__}: {error}", hint=hint) from None


def last_sound(text: str) -> str:
    r"""The last word, digit, sign or part of a syllable that is heard, the upper part of a fraction last; ``^`` of a power.

    >>> last_sound("$B$"), last_sound(r"$\frac{BDF}{BD + DL}$"), last_sound("$D^{2}$"), last_sound("`bf16`")
    ('B', 'BDF', '^', '6')
    >>> last_sound(r"$R \left( \frac{1}{D} + \frac{1}{F} \right)$"), last_sound("1.97e14"), last_sound("B^2D")
    ('1', '^', 'D')
    >>> last_sound("100 %"), last_sound("T_{\\text{math}}"), last_sound("강도"), last_sound("병목")
    ('%', 'math', 'ᅩ', 'ᆨ')
    """
    spoken = SILENT.sub("", text.strip()).rstrip(CLOSING)
    while spoken.endswith("}") and (above := _upper_part(spoken)) is not None:
        spoken = above.rstrip(CLOSING)
    if POWER.search(spoken):
        return "^"
    words = HEARD.findall(spoken)
    return unicodedata.normalize("NFD", words[-1])[-1] if words and ord(words[-1][-1]) > 0x1100 else (words or [""])[-1]


def _upper_part(text: str) -> str | None:
    """The upper part of the fraction with which a text ends."""
    for start in (match.end() for match in FRACTION.finditer(text)):
        middle = _closing(text, start) + 1
        if text[middle : middle + 1] == "{" and _closing(text, middle) == len(text) - 1:
            return text[start + 1 : middle - 1]
    return None


def _closing(text: str, place: int) -> int:
    """Where the brace that opens at a place closes."""
    depth = 0
    for i in range(place, len(text)):
        depth += (text[i] == "{") - (text[i] == "}")
        if depth == 0:
            return i
    return len(text)
