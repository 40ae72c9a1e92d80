"""The options that commands share: the problems that they describe, and how and where the answers are written."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from symroof.errors import ReadingError, SymroofError, about
from symroof.reading.keys import KEYS, having
from symroof.reading.languages import known
from symroof.rendering.pages.dialects import dialect_named

if TYPE_CHECKING:
    from symroof.rendering.pages.typesetting import Style
    from symroof.rendering.results import Result

# Keys of problems, with what was typed for each.
Flags = dict[str, Any]
Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
# A fault in the usage of a command.
QUOTE = """the shell took it apart: put an operation in quotes, symroof derive "bf16[B, D] * bf16[D, F] -> bf16[B, F]";
  a program in single quotes, or in a file, symroof derive mlp.txt"""
DOCUMENTS = (".md", ".markdown", ".qmd", ".rst", ".tex", ".ltx", ".ipynb", ".html")
FILE = re.compile(r"[\w./~\\-]*[\w~]\.[A-Za-z]\w*")
# A size, or a chip with a number in its name, that stands by itself.
WORD = re.compile(r"\w+=[\d.e+]+|[a-z][a-z-]*\d[\w-]*")

OF_DERIVATIONS = having("derive")


def _language(context: click.Context, _: click.Parameter, code: str | None) -> str | None:
    """A language that is asked for is one that there are words of; that is seen to before anything is done."""
    return None if code is None else known(code, context.params.get("template"))


lang_option = click.option(
    "--lang", metavar="CODE", callback=_language, help="The language, whatever the input says of it: en, ko or zh."
)
OUTPUT = {
    "heading": click.option("--heading", type=click.IntRange(0, 6), default=3, help="The level of the title, or 0."),
    "dialect": click.option(
        "--dialect", metavar="NAME", help="For one kind of document: dollar, github, mathml, rst, tex."
    ),
    "template": click.option(
        "--template", metavar="DIR", is_eager=True, help="A folder whose templates replace the shipped ones."
    ),
    "lang": lang_option,
    "output": click.option("-o", "--output", metavar="FILE", help="Write to a file."),
    "color": click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto"),
}


class Grouped(click.Command):
    """A command whose help shows its own options, the usual ones of a problem, and those of what it prints."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        params = ((("help" if "--help" in param.opts else str(param.name)), param) for param in self.get_params(ctx))
        shown = {name: row for name, param in params if (row := param.get_help_record(ctx))}
        arguments = {param.name for param in self.params if isinstance(param, click.Argument)}
        printed = (*OUTPUT, "form", "help")
        of_problem = [name for name, key in KEYS.items() if key.flag]
        own = [name for name in shown if name not in (*of_problem, *printed, *arguments)]
        for title, names in (("Options", own), ("Problem", of_problem), ("Output", printed)):
            if rows := [shown[name] for name in names if name in shown]:
                with formatter.section(title):
                    formatter.write_dl(rows)
        formatter.write_text("Every key of a problem has a flag: symroof help options.")


def problem_options(*without: str, usual: Collection[str] = having("usual"), **helps: str) -> Decorator:
    """The options that describe a problem, the same for every command; some have a help of its own there, which shows the
    ``usual`` ones."""
    return _all_of(
        click.option(
            key.flag,
            key.name,
            metavar=key.metavar,
            multiple=key.name in having("several"),
            is_flag=key.metavar is None,
            default=None,
            hidden=key.name not in usual,
            help=helps.get(key.name, key.says),
        )
        for key in KEYS.values()
        if key.flag and key.name not in without
    )


def form_option(*forms: str) -> Decorator:
    """The format of the output, the first one by default."""
    return click.option("--format", "form", type=click.Choice(forms), default=forms[0])


def output_options(*forms: str, without: tuple[str, ...] = ()) -> Decorator:
    """The options that describe the output, in one of these formats."""
    return _all_of([form_option(*forms), *(option for name, option in OUTPUT.items() if name not in without)])


def _all_of(options: Iterable[Decorator]) -> Decorator:
    return lambda command: reduce(lambda wrapped, option: option(wrapped), reversed(list(options)), command)


# How programs of the library are split: the option for it, the axis that takes the chips, and the programs.
SPLITS = {
    "tp": ("Y", ("megatron", "fsdp-megatron")),
    "dp": ("X", ("data-parallel",)),
    "fsdp": ("X", ("fsdp", "fsdp-megatron")),
}
operation_argument = _all_of(
    [
        click.argument("operation", nargs=-1, metavar="OPERATION|FILE"),
        *(
            click.option(
                f"--{word}", type=click.IntRange(1), metavar="N", help=f"The chips of {' or '.join(programs)}."
            )
            for word, (_, programs) in SPLITS.items()
        ),
    ]
)


def respond(
    operation: tuple[str, ...], options: Flags, run: Callable[[Flags], Result], bare: bool = False
) -> list[Result]:
    """Publish what ``run`` makes of each problem. One that fails is complained of, and then the exit status is 2.

    A ``bare`` question may speak of no operation; then nothing else does.
    """
    output = {name: options.pop(name) for name in ("form", "brief", "full", "program", *OUTPUT) if name in options}
    if bare and not operation and given_flags(options):
        problem = "without an operation there is nothing that the other options speak of"
        raise ReadingError(problem, expected="an operation, or --of alone")
    problems = {"": {}} if bare and not operation else problems_of(operation, options)
    answers = []
    for where, table in problems.items():
        try:
            with about(where):
                answers.append(run(table))
        except SymroofError as error:
            complain(error)
    publish(answers, alone=len(problems) == 1, **output)
    if len(answers) < len(problems):
        sys.exit(2)
    return answers


def only_problem(operation: tuple[str, ...], options: Flags, result: str, axes: str = "") -> Flags:
    """The one problem that is asked for, where there is one ``result``; a size that runs over one of the ``axes`` is not the
    one of the file."""
    problems = list(problems_of(operation, options, axes).values())
    if len(problems) != 1:
        raise ReadingError(f"there are {len(problems)} problems, and one {result}", expected="a file with one problem")
    return problems[0]


def problems_of(operation: tuple[str, ...], options: Flags, axes: str = "") -> dict[str, Flags]:
    """The problems that are asked for, each under the words that begin an error in it: those of a file, or the one on
    the command line. Flags override the file, whose sizes along the ``axes`` are open."""
    if not operation and (options.get("solve") or options.get("minimize")):
        return {"": given_flags(options)}
    if not operation:
        raise ReadingError("there is nothing to derive", expected="an operation in quotes, or a file of problems")
    if len(operation) > 1:
        raise ReadingError(f"there are {len(operation)} operations", hint=shell_words_hint(operation))
    (text,), flags = operation, given_flags(options)
    _split(text, flags)
    if text != "-" and FILE.fullmatch(text) is None:
        return {"": {"operation": text, **flags}}
    if Path(text).suffix.lower() in DOCUMENTS:
        raise ReadingError(
            f"{text} is a document, and no operation",
            expected="an operation in quotes, or a file of problems, FILE.toml",
            hint=f"symroof build {text} writes its blocks, symroof verify {text} judges its formulas",
        )
    from symroof.reading.problems import freed, merged, read_problem_file, read_problems

    name, folder = ("standard input", Path()) if text == "-" else (text, Path(text).parent)
    result = read_problems(sys.stdin.read(), name) if text == "-" else read_problem_file(Path(text))
    tables = [merged(freed(table, axes), flags, folder) for table in result]
    if len(tables) == 1:
        return {f"{name}: ": tables[0]}
    titles = (f" ({table['title']})" if table.get("title") else "" for table in tables)
    return {
        f"{name}: problem {i}{title}: ": table for i, (title, table) in enumerate(zip(titles, tables, strict=True), 1)
    }


def _split(text: str, flags: Flags) -> None:
    """The chips of --tp, --dp and --fsdp are those of the axis that a program of the library has for it."""
    from symroof.reading.operations import entry_named

    for word in [word for word in SPLITS if word in flags]:
        (axis, programs), entry = SPLITS[word], entry_named(text)
        if entry is None or entry.name not in programs:
            hint = f"for your own, write D_{axis} for a dimension D that is split, and --mesh {axis}={flags[word]}"
            hint += f"; symroof list operations {entry.name} prints a text to begin with" if entry else ""
            problem = f"--{word} is for programs of the library that are split so"
            raise ReadingError(problem, expected=" or ".join(programs), hint=hint)
        flags["mesh"] = "; ".join(map(str, filter(None, (flags.get("mesh"), f"{axis}={flags.pop(word)}"))))


def shell_words_hint(words: Collection[str]) -> str:
    """What to do about an operation of which the shell made several words."""
    others = [word for word in words if WORD.fullmatch(word)]
    if others and len(words) - len(others) <= 1:
        return f"sizes and chips are joined by commas, without spaces: …,{','.join(others)}"
    return QUOTE


def given_flags(options: Flags) -> Flags:
    """The options that were given, as the keys of a problem."""
    flags = {key: value for key, value in options.items() if value not in (None, ())}
    for key, value in flags.items():
        flag = KEYS[key].flag if key in KEYS else f"--{key}"
        if value == "" or (isinstance(value, tuple) and "" in value):
            raise ReadingError(f"{flag} is empty")
        if key in ("hardware", "link"):
            several = [name for whole in value for name in whole.split(",")]
            if len(several) > 1:
                hint = "symroof compare puts chips side by side" if key == "hardware" else None
                raise ReadingError(
                    f"a derivation has one {flag}, and there are {len(several)}: {', '.join(several)}", hint=hint
                )
            (flags[key],) = value
        if key == "mesh":
            flags[key] = "; ".join(value)
        if key in ("given", "functions", "let"):  # a formula may have commas of its own
            pairs = [pair(key, text) for whole in value for text in ([whole] if key == "let" else whole.split(","))]
            flags[key] = dict(pairs)
            if len(flags[key]) < len(pairs):
                raise ReadingError(f"{flag} gives a name twice: {', '.join(name for name, _ in pairs)}")
    return flags


def pair(key: str, text: str) -> tuple[str, str]:
    """A name and its value.

    >>> pair("given", "HBM = 8.1e11")
    ('HBM', '8.1e11')
    """
    name, sign, value = (part.strip() for part in text.partition("="))
    if not sign or not name or not value:
        flag = KEYS[key].flag
        raise ReadingError(f"{flag} {text!r} is not NAME=VALUE", source=text, span=(0, max(1, len(text))))
    return name, value


# The width of what is not read on a terminal, and the narrowest and widest that a page is laid out for.
WIDTH, NARROWEST, WIDEST = 96, 40, 120


def on_terminal(style: Style, output: str | None, color: str) -> Style:
    """How text is shown there: the width of the terminal, whether it can show more than ASCII, and whether in colours."""
    import shutil

    shown = output in (None, "-")
    encoding = (getattr(sys.stdout, "encoding", None) or "ascii").lower().replace("-", "")
    seen = shown and sys.stdout.isatty()
    width = shutil.get_terminal_size((WIDTH, 24)).columns if seen else WIDTH
    colour = color == "always" or (color == "auto" and seen and not os.environ.get("NO_COLOR"))
    return replace(
        style,
        width=max(NARROWEST, min(width, WIDEST)),
        unicode=not shown or encoding.startswith("utf"),
        colour=shown and colour,
    )


def publish(
    answers: Sequence[Result], form: str, output: str | None, color: str, *, alone: bool = True, **style: Any
) -> None:
    """Write the pages of the answers, or their records: one object for one problem, a list for several."""
    if not answers:
        return
    if form == "json":
        written = [answer.to_dict() for answer in answers]
        records = [record for part in written for record in (part if isinstance(part, list) else [part])]
        write_json(records[0] if alone and len(records) == 1 else records, output)
        return
    from symroof.rendering.pages.typesetting import Style

    look = on_terminal(Style(**style), output, color)
    form = form if look.dialect is None else dialect_named(look.dialect).form
    write("\n".join(answer.page(form, look) for answer in answers), output)


def write_json(record: object, output: str | None = None) -> None:
    write(json.dumps(record, indent=2, ensure_ascii=False) + "\n", output)


def write(content: str | bytes, output: str | None = None) -> None:
    if output in (None, "-"):
        click.echo(content, nl=False, color=True)
        return
    try:
        Path(str(output)).write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
    except OSError as error:
        raise ReadingError(f"{output} cannot be written: {error.strerror}") from None


def complain(error: SymroofError) -> None:
    click.echo(f"symroof: {error}", err=True)


@contextmanager
def progress_bar(shown: bool = True) -> Iterator[Callable[[int, int], None] | None]:
    """A bar on the error stream, where a person watches; it appears when work takes longer than a moment."""
    if not shown or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    with Progress(
        BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), console=Console(stderr=True), transient=True
    ) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, count: bar.update(task, completed=done, total=count)


@contextmanager
def workers(dask: str | None) -> Iterator[Any]:
    """The workers of a Dask cluster, or None for this process."""
    if dask is None:
        yield None
        return
    try:
        from distributed import Client
    except ImportError:
        raise ReadingError(
            "--dask needs the library distributed, which is not installed", hint="pip install distributed"
        ) from None
    try:
        client = Client(dask)
    except (OSError, ValueError) as error:
        raise ReadingError(f"no Dask scheduler at {dask!r}: {error}", expected="tcp://host:8786") from None
    with client:
        yield client.get_executor()
