"""For notebooks: ``%load_ext symroof``, and then ``%symroof`` with a command line, or ``%%symroof`` over a problem.

%symroof derive "bf16[B, D] * bf16[D, F] -> bf16[B, F]" --on tpu-v5e --assume "B << D, F"

%%symroof regimes
operation = "matmul"
hardware  = "tpu-v5e"

%%symroof derive --on tpu-v5e
input  x: bf16[B, D]
weight W: bf16[D, F]
h = x * W -> bf16[B, F]
y = relu(h)
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from symroof.api import makers
from symroof.building.contents import content_of, request_of
from symroof.building.settings import settings_of
from symroof.cli.asking import compare, derive, regimes
from symroof.cli.options import OUTPUT, Fault, only_problem
from symroof.errors import SymroofError, require_one_of
from symroof.reading.markers import VERBS
from symroof.reading.problems import read_options

COMMANDS = {"derive": derive, "regimes": regimes, "compare": compare}


def asked(line: str, cell: str | None = None) -> Any:
    """The answer to a line, or to the problem in a cell: a value that shows itself.

    >>> asked("dot --on tpu-v5e")
    <Derivation of bf16[N] * bf16[N] -> bf16[1]: 47 proved, 0 sampled>
    """
    words = shlex.split(line)
    if cell is not None and len(words) > 1:  # the cell is the operation of a command with options
        words, cell = [words[0], cell, *words[1:]], None
    if cell is not None:
        verb, settings = words[0] if words else "derive", settings_of(None)
        require_one_of(verb, VERBS, f"%%symroof cannot {verb!r}")
        request = request_of(verb, read_options(cell, "the cell"), {}, settings, Path())
        return content_of(request, settings, Path(), makers()).answer
    verb = words.pop(0) if words and words[0] in COMMANDS else "derive"
    given = COMMANDS[verb].make_context(f"%symroof {verb}", words).params
    options = {name: value for name, value in given.items() if name not in ("form", "brief", "program", *OUTPUT)}
    operation, own = options.pop("operation"), {}
    if verb == "derive":
        values, formulas, unit = (options.pop(name) for name in ("values", "formulas", "unit"))
    elif verb == "regimes":
        own = {"of": options.pop("of"), "every": options.pop("every")}
    else:
        own = {"on": ",".join(options.pop("hardware")), "dtypes": options.pop("dtype") or ""}
    table = only_problem(operation, options, "answer") if operation else None
    answer = makers()[verb](table, lang=given["lang"], **own)
    return answer.only(values, formulas, unit) if verb == "derive" and (values or formulas) else answer


def told(line: str, cell: str | None = None) -> Any:
    """The same, where a fault is shown in its own words alone, and not under a traceback."""
    try:
        return asked(line, cell)
    except (SymroofError, Fault) as error:
        message = error.format_message() if isinstance(error, Fault) else str(error)
        error._render_traceback_ = lambda: [f"symroof: {message}"]  # type: ignore[union-attr]  # what IPython asks for
        raise


def load_ipython_extension(shell: Any) -> None:
    """What ``%load_ext symroof`` calls."""
    shell.register_magic_function(told, magic_kind="line_cell", magic_name="symroof")
