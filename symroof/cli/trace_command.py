"""The command that runs code: a function of JAX, or a module of PyTorch, becomes the text of a program."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from symroof.cli.options import write
from symroof.errors import ReadingError, suggestion


@click.command()
@click.argument("function", metavar="MODULE:FUNCTION")
@click.option(
    "--shape",
    "shapes",
    multiple=True,
    metavar="NAME=TYPE",
    help="The type of an argument: x=bf16[B, T, D], H=128 in it fixes a size; params.W=… for a leaf of a tree.",
)
@click.option("--weight", "weights", multiple=True, metavar="NAME", help="An argument that is a weight.")
@click.option(
    "--function",
    "functions",
    multiple=True,
    metavar="FILE:NAME=FUNCTION",
    help="What a function of yours is: layer.py:rms_norm=rms_norm.",
)
@click.option("--fuse", multiple=True, metavar="NAME", help="A function whose inside stays on the chip.")
@click.option("--open", "opened", multiple=True, metavar="NAME", help="A known function that is looked into.")
@click.option(
    "--init",
    default="",
    metavar="SIZES",
    help="Of PyTorch: what a class, or a function that makes a module, is called with: 'D, N, 4*D'.",
)
@click.option(
    "--name",
    "names",
    multiple=True,
    metavar="NAME=NUMBER",
    help="Of a module with numbers: what they are called: D=4096, N=32, H=128; E=N*H is what others define.",
)
@click.option("-o", "--output", metavar="FILE", help="Write to a file: a problem, where it ends in .toml.")
def trace(
    function: str,
    shapes: tuple[str, ...],
    weights: tuple[str, ...],
    functions: tuple[str, ...],
    fuse: tuple[str, ...],
    opened: tuple[str, ...],
    init: str,
    names: tuple[str, ...],
    output: str | None,
) -> None:
    """Write the program that a function of JAX, or a module of PyTorch, computes, with a comment for each line of its source. This
    runs the code.

    \b
    symroof trace layer.py:mlp --shape "x=bf16[B, T, D]" --shape "W1=bf16[D, F]" --shape "W2=bf16[F, D]" --weight W1 --weight W2
    symroof trace block.py:Block --init "D, F" --shape "x=bf16[B, T, D]"
    """
    from symroof.tracing.tracer import program_text

    named = dict(_name_and_value(text, "--function layer.py:rms_norm=rms_norm") for text in functions)
    text = program_text(
        _function(function),
        _tree(shapes),
        weights=weights,
        functions=named,
        fuse=fuse,
        opened=opened,
        init=init,
        names=dict(_name_and_value(text, "--name D=4096") for text in names),
    )
    if output is not None and output.endswith(".toml"):
        text = f'operation = """\n{text}"""\n'
    write(text.rstrip("\n"), output)


def _name_and_value(text: str, example: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip() or not value.strip():
        raise ReadingError(f"{text!r} says nothing of a name", expected=example)
    return name.strip(), value.strip()


def _tree(shapes: tuple[str, ...]) -> dict[str, Any]:
    """The shapes of arguments, those of trees under their paths."""
    tree: dict[str, Any] = {}
    for text in shapes:
        path, kind = _name_and_value(text, '--shape "x=bf16[B, D]"')
        *outer, last = path.split(".")
        place = tree
        for part in outer:
            place = place.setdefault(part, {})
        place[last] = kind
    result = {name: _listed(part) for name, part in tree.items()}
    if not result:
        raise ReadingError("there are no shapes to trace with", expected='--shape "x=bf16[B, D]"')
    return result


def _listed(part: object) -> Any:
    """A tree whose places are numbers as a list: layers.0.W, layers.1.W."""
    if not isinstance(part, dict):
        return part
    inner = {name: _listed(value) for name, value in part.items()}
    return [inner[name] for name in sorted(inner, key=int)] if all(name.isdigit() for name in inner) else inner


def _function(path: str) -> Callable[..., object]:
    """The function of a module, or of a file."""
    module, _, name = path.rpartition(":")
    if not module or not name:
        raise ReadingError(f"{path!r} is no function of a module", expected="layer.py:mlp, or package.module:mlp")
    file = Path(module)
    try:
        if module.endswith(".py"):
            if not file.is_file():
                raise ReadingError(f"there is no file {module}", expected="a file of Python")
            sys.path.insert(0, str(file.parent))
            spec = importlib.util.spec_from_file_location(file.stem, file)
            assert spec is not None
            assert spec.loader is not None
            loaded = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(loaded)
        else:
            sys.path.insert(0, "")
            loaded = importlib.import_module(module)
    except ReadingError:
        raise
    except Exception as error:
        raise ReadingError(f"{module} cannot be imported: {error}", expected="a module that can") from error
    result = loaded
    for part in name.split("."):
        if not hasattr(result, part):
            public = [n for n, value in vars(loaded).items() if callable(value) and not n.startswith("_")]
            raise ReadingError(
                f"{module} has no {name}", expected=f"one of {', '.join(public)}", hint=suggestion(name, public)
            )
        result = getattr(result, part)
    if not callable(result):
        raise ReadingError(f"{path} is no function", expected="a function of arrays")
    return result
