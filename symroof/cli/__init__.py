"""The command line: the only room that prints. Commands import what they need when they run."""

from __future__ import annotations

import contextlib
import gc
import os
import re
import shlex
import sys
import warnings
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from types import ModuleType

import click

from symroof import __version__
from symroof.cli.document_commands import build, verify
from symroof.cli.options import complain, shell_words_hint
from symroof.cli.question_commands import compare, derive, listing, page, plot, reference, regimes, sweep
from symroof.cli.trace_command import trace
from symroof.errors import FLAGS, CheckError, SymroofError, bug, nearest, suggestion
from symroof.reading.keys import CALLED, KEYS

# How many objects are made before memory is tidied.
SELDOM = 200_000
# What lists were commands of their own: they answer for one release.
RENAMED = {"hardware": "chips", "operations": "operations", "names": "words"}
# What only an operation has in it.
IN_AN_OPERATION = re.compile(r"[\[\]*;]|->")


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="symroof")
def cli() -> None:
    """Symbolic roofline derivations: written step by step, every line proved by a second engine.

    Exit status: 0 all good, 1 a finding, 2 the input or the usage is at fault, 3 a bug in symroof.
    """


for command in (derive, regimes, compare, plot, page, sweep, verify, build, trace, listing, reference):
    cli.add_command(command)


def main(arguments: Iterable[str] | None = None) -> None:
    """Run the command line. One clear message and exit status 2 for any fault of the input, 3 for one of ours, never a
    traceback."""
    given, flags = with_verb(list(sys.argv[1:] if arguments is None else arguments) or ["--help"]), FLAGS.set(True)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("once", UserWarning)
            warnings.showwarning = lambda message, *_: click.echo(f"symroof: {message}", err=True)
            status = cli.main(given, prog_name="symroof", standalone_mode=False)
    except CheckError as error:
        status = _report_bug(error, given)
    except SymroofError as error:
        complain(error)
        status = 2
    except click.ClickException as error:
        click.echo(f"symroof: {_usage_message(error, given)}", err=True)
        status = 2
    except (click.Abort, KeyboardInterrupt):
        status = 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        status = 0
    except OSError as error:
        click.echo(f"symroof: {error.filename or 'the output'} cannot be written: {error.strerror}", err=True)
        status = 2
    except Exception as error:  # a bug: say so in one line, unless its traceback is wanted
        if os.environ.get("SYMROOF_TRACEBACK"):
            raise
        status = _report_bug(error, given)
    finally:
        FLAGS.reset(flags)
    sys.exit(status if isinstance(status, int) else 0)


def _report_bug(error: Exception, given: list[str]) -> int:
    """Say that something is a fault of ours, with the request in one line; gives the exit status."""
    click.echo(f"symroof: {bug(error)}\n  {shlex.join(['symroof', *given])}", err=True)
    return 3


# What other programs call an option, and what calls a key of a problem otherwise; and how ELSEWHERE another command calls it.
MEANT = {
    **dict.fromkeys(("out", "file"), "--output"),
    **dict.fromkeys(("json", "markdown", "latex"), "--format"),
    **{name: key.flag for name, key in KEYS.items() if key.flag},
    **{name: KEYS[key].flag for name, key in CALLED.items() if KEYS[key].flag},
}
ELSEWHERE = {"value": ("--of",), "of": ("--value",), "over": ("--grid",), "grid": ("--over",), "sizes": ("--at",)}


def _usage_message(error: click.ClickException, given: list[str]) -> str:
    """A fault of the usage, and what is done about it."""
    if isinstance(error, click.UsageError) and error.message.startswith("No such command"):
        from symroof.reading.operations import suggestion_of

        near = suggestion("".join(given[:1]), cli.commands) or suggestion_of(given[0])
        return (
            f"there is no command {given[0]!r}\n  expected one of {', '.join(cli.commands)}; or an operation\n  {near}"
        )
    if not isinstance(error, click.NoSuchOption):
        return error.format_message()
    if error.option_name in ("-", "->", "->>"):
        return f"{error.format_message()}\n  {shell_words_hint(given)}"
    name, params = error.option_name.lstrip("-").replace("-", "_"), error.ctx.command.params if error.ctx else []
    own = [option for param in params for option in param.opts]
    meant = (MEANT.get(name), *ELSEWHERE.get(name, ()), f"--{nearest(name, (option.lstrip('-') for option in own))}")
    hint = next((f"\n  did you mean {option}?" for option in meant if option in own), "")
    return f"there is no option {error.option_name}{hint}"


def with_verb(words: list[str]) -> list[str]:
    """The words of a command line; an operation without a verb is derived.

    >>> with_verb(["bf16[N] * bf16[N] -> bf16[]", "--brief"])[0], with_verb(["matmul"]), with_verb(["deriv", "matmul"])[0]
    ('derive', ['derive', 'matmul'], 'deriv')
    """
    first = words[0]
    if first in RENAMED:
        click.echo(f"symroof: {first} is called list {RENAMED[first]} now", err=True)
        return ["list", RENAMED[first], *words[1:]]
    if first in cli.commands or first.startswith("-"):
        return words
    if not (IN_AN_OPERATION.search(first) or Path(first).suffix in (".toml", ".txt")):
        from symroof.reading.operations import entry_named

        if entry_named(first) is None:
            return words
    return ["derive", *words]


class _NoTensors(ModuleType):
    """What stands for SymPy's module of tensors: each sum asks it whether a term is one, and to load it with the groups that it
    needs takes a tenth of a start. Whoever asks for anything else gets the module itself."""

    TensExpr = TensAdd = type("TensExpr", (), {})

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        del sys.modules[self.__name__]
        return getattr(import_module(self.__name__), name)


def entry() -> None:
    """The command of the shell: a short process, whose memory is tidied seldom, and not before it ends."""
    gc.set_threshold(SELDOM)
    sys.modules.setdefault("sympy.tensor.tensor", _NoTensors("sympy.tensor.tensor"))
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # it was closed by who called
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115 (it stays open as long as the process)
    status: object = 0
    try:
        main()
    except SystemExit as end:
        status = end.code
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(status if isinstance(status, int) else 0)
