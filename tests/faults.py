"""Faults put at run time into any function of the package: one leaf of one result changed, and what came of it.

The functions are found by running requests and noting what they call. A fault changes the first result of a function that
has a leaf to change: a number is one more, a formula has another number or relation, a list loses its last item.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import io
import itertools
import shlex
import shutil
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

from sympy import Expr, Integer

import symroof
from symroof.cli import main
from symroof.derivation.quantity_definitions import ledger_of
from symroof.errors import SymroofError
from symroof.formula import Compare, Formula, Number
from symroof.proof.check import check

PACKAGE = Path(symroof.__file__).parent
DEEPEST = 6
LISTED = 1000  # items of a generator, which need not end
OTHER = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "=": "<"}


def called(request: Callable[[], object]) -> set[tuple[str, str]]:
    """The functions and methods of the package that a request calls, by module and name."""
    found: set[tuple[str, str]] = set()

    def note(frame: Any, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(str(PACKAGE)):
            found.add((frame.f_globals.get("__name__", ""), frame.f_code.co_qualname))

    sys.setprofile(note)
    try:
        request()
    finally:
        sys.setprofile(None)
    return {(module, name) for module, name in found if "<" not in name and not name.split(".")[-1].startswith("__")}


def changed(value: Any, draw: Random, depth: int = 0) -> Iterator[Any]:
    """The value with one leaf changed; nothing where it has none."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int | Fraction):
        yield value + 1
    elif isinstance(value, float):
        yield value * 1.5 + 1
    elif isinstance(value, Expr):
        yield value + Integer(1)
    elif isinstance(value, Number):
        yield replace(value, value=value.value + 1)
    elif isinstance(value, Compare) and value.relation in OTHER and draw.random() < 0.3:
        yield replace(value, relation=OTHER[value.relation])
    elif depth >= DEEPEST or isinstance(value, str | bytes | Enum | type(None)):
        return
    elif isinstance(value, tuple | list) and type(value) in (tuple, list):
        places = list(range(len(value)))
        draw.shuffle(places)
        for i in places:
            for other in changed(value[i], draw, depth + 1):
                yield type(value)((*value[:i], other, *value[i + 1 :]))
        if value:
            yield value[:-1]
    elif isinstance(value, dict):
        for key in draw.sample(sorted(value, key=str), len(value)):
            for other in changed(value[key], draw, depth + 1):
                yield {**value, key: other}
    elif is_dataclass(value) or isinstance(value, Formula) or hasattr(type(value), "__annotations__"):
        known = getattr(type(value), "__annotations__", {})
        names = [f.name for f in fields(value)] if is_dataclass(value) else list(known)
        draw.shuffle(names)
        for name in names:
            for other in changed(getattr(value, name, None), draw, depth + 1):
                try:
                    yield replace(value, **{name: other})
                except (TypeError, ValueError, AttributeError, AssertionError):
                    continue


def owner_of(module: str, name: str) -> tuple[Any, str] | None:
    """Where a function stands: its module or class, and its name there."""
    owner: Any = importlib.import_module(module)
    *outer, last = name.split(".")
    for part in outer:
        owner = getattr(owner, part, None)
    return (owner, last) if owner is not None and inspect.getattr_static(owner, last, None) is not None else None


def put(module: str, name: str, draw: Random, patch: Any) -> list[int]:
    """A fault in a function, wherever it was imported to; the list tells whether it was done."""
    place = owner_of(module, name)
    done: list[int] = []
    if place is None:
        return done
    owner, last = place
    static = inspect.getattr_static(owner, last)
    original = static
    kind: Any = None
    if isinstance(static, functools.cached_property):
        kind, original = functools.cached_property, static.func
    elif isinstance(static, property):
        kind, original = property, static.fget
    elif isinstance(static, staticmethod | classmethod):
        kind, original = type(static), static.__func__
    inner = getattr(original, "__wrapped__", original)
    if not callable(inner):
        return done

    @functools.wraps(inner)
    def faulty(*arguments: Any, **options: Any) -> Any:
        result = original(*arguments, **options)
        if done:
            return result
        lazy = inspect.isgenerator(result)
        listed = list(itertools.islice(result, LISTED)) if lazy else result
        for other in changed(listed, draw):
            done.append(1)
            return itertools.chain(other, result) if lazy else other
        return itertools.chain(listed, result) if lazy else result

    made: Any = faulty
    if kind is functools.cached_property:
        made = functools.cached_property(faulty)
        made.__set_name__(owner, last)
    elif kind is not None:
        made = kind(faulty)
    patch.setattr(owner, last, made)
    if inspect.ismodule(owner):
        for other in [m for n, m in list(sys.modules.items()) if n.startswith("symroof")]:
            if getattr(other, last, None) is static:
                patch.setattr(other, last, made)
    return done


class Endless(BaseException):
    """What a fault makes go on forever. It is raised again each second: Python swallows what is raised in a finalizer."""


@contextlib.contextmanager
def ending(seconds: int = 20) -> Iterator[None]:
    """Raises :class:`Endless` in what takes longer; the main thread alone has an alarm."""

    def stop(*_: Any) -> None:
        raise Endless

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def outcome(request: Callable[[], str], right: str) -> str:
    """What came of a request in which there is a fault."""
    try:
        with ending():
            said = request()
    except SymroofError:
        return "refused"
    except (Exception, Endless):
        return "crashed"
    return "unchanged" if said == right else "changed"


def true_of(steps: Iterable[Any], setting: Any) -> list[Any]:
    """The steps that are true, decided anew."""
    ledger, true = ledger_of(setting), []
    for step in steps:
        with contextlib.suppress(SymroofError, AttributeError, TypeError, KeyError):
            check(step, ledger)
            true.append(step)
    return true


# Command lines that together call what the package does; {out} is a file that is read afterwards.
REQUESTS = {
    "text": "derive matmul --on tpu-v5e --assume 'B << D, F' --at D=F=8192",
    "markdown": "derive matmul --on tpu-v5e --assume 'B << D, F' --at D=F=8192 --format markdown",
    "latex": "derive matmul --on tpu-v5e --at B=64,D=F=8192 --format latex --lang ko",
    "json": "derive matmul --on tpu-v5e --assume 'B << D, F' --at D=F=8192 --format json",
    "dot": "derive dot --on tpu-v5e --format markdown",
    "exact": "derive matmul --on tpu-v5e --count exact --at D=F=4096 --format markdown",
    "two_chips": "derive 'bf16[B, D_X] * bf16[D_X, F] -> bf16[B, F]' --on tpu-v5e --mesh X=2 --assume 'B << D, F' --at B=64,F=8192 --format markdown",
    "mlp": "derive examples/mlp.toml --format markdown",
    "mlp_json": "derive examples/mlp.toml --at N=64,D=8192,F=32768 --format json",
    "training": "derive mlp --on tpu-v5p --training --at B=64,D=8192,F=32768",
    "mesh": "derive examples/mesh.toml --format markdown",
    "mesh_json": "derive fsdp-megatron --on tpu-v5p --mesh X=4,Y=2 --format json",
    "decode": "derive attention-decode --on h100 --brief",
    "softmax": "derive softmax --on h100 --format markdown --lang zh",
    "value": "derive matmul --on tpu-v5e --assume 'B << D, F' --value smallest_integer --formula threshold",
    "fit": "derive mlp --on h100 --solve 'weights <= N*capacity.HBM' --for N",
    "least": "derive matmul --on tpu-v5e --minimize '3*B + 5/B' --over B",
    "quantized": "derive examples/quantized.toml",
    "regimes": "regimes matmul --on tpu-v5e",
    "regimes_json": "regimes matmul --on tpu-v5e --at B=64,D=F=8192 --format json",
    "regimes_mesh": "regimes fsdp --on tpu-v5p --mesh X=4 --format markdown",
    "regimes_of": "regimes --of 'BDF/(BD + DF + BF) ~ B'",
    "compare": "compare matmul --on tpu-v5e,h100 --at D=F=8192",
    "compare_csv": "compare matmul --on tpu-v5e,h100 --at D=F=8192 --format csv",
    "sweep": "sweep matmul --on tpu-v5e --grid 'B=1|64|512, D=F=8192' -o {out}.csv",
    "roofline": "plot matmul --on tpu-v5e --at B=64,D=F=8192 -o {out}.svg",
    "points": "plot matmul --on tpu-v5e --at B=64,D=F=8192 --format text",
    "throughput": "plot matmul --on tpu-v5e --at D=F=8192 --over B=1..400 -o {out}.svg",
    "plane": "plot matmul --on tpu-v5e --at F=8192 --over B=1..4096,D=1..4096 -o {out}.svg",
    "breakdown": "plot examples/mlp.toml --at N=64,D=8192,F=32768 --kind breakdown -o {out}.svg",
    "scaling": "plot fsdp --on tpu-v5p --mesh X --over X=1..256 --at B=65536,D=8192,F=28672 -o {out}.svg",
    "verify": "verify examples/rooflines.md",
    "verify_wrong": "verify examples/rooflines-mistakes.md --format json",
    "claims": "verify examples/answers.toml",
    "document": "build examples/matmul.md --stdout --given HBM=8.1e11",
    "operation": "operations matmul",
    "operations": "operations",
    "hardware": "hardware tpu-v5e",
}


class Stream(io.StringIO):
    encoding = "utf-8"


def answer(line: str, folder: Path) -> str:
    """What a command line prints and writes; raises what it raises."""
    out, err = Stream(), Stream()
    for old in folder.glob("out*"):
        shutil.rmtree(old) if old.is_dir() else old.unlink()
    words = [word.replace("{out}", str(folder / "out")) for word in shlex.split(line)]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(words)
        except SystemExit as end:
            if end.code == 2:
                raise SymroofError(err.getvalue()) from None
    texts = [file.read_text("utf-8") for file in sorted(folder.glob("out*")) if file.is_file()]
    return "\n".join([out.getvalue(), *texts])
