"""Typed einsums, in the notations that people use.

    operation = tensor { times tensor } arrow tensor            bf16[B, D] * bf16[D, F] -> bf16[B, F]
              | name { times name } [arrow name] ":" tensor { "," tensor } arrow tensor
              | letters { "," letters } arrow letters           bd,df->bf     with a dtype from the problem
              | a name of the library                           matmul
    times     = ("*" | "·" | "•" | "×" | "@" | "." | "\\cdot") [ "_" contracted ]
    tensor    = (dtype | name) "[" [ dim { "," dim } ] "]"      X[B, D] takes its dtype from the problem
    dim       = NUMBER | NAME | NAME "_" AXIS                   an axis is in capitals: D_X, I_{X}

Dimensions that the operands share and the output lacks are contracted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import reduce

from symroof.errors import ReadingError, SymroofError
from symroof.model.dtype import Dim, Dtype, Tensor, dtype
from symroof.model.einsum import Einsum
from symroof.model.functions import Function
from symroof.model.library import Entry
from symroof.model.operation import AnyOperation
from symroof.model.program import Program
from symroof.model.training import in_training
from symroof.reading.einsums import TEXT, EinsumReader, einsum
from symroof.reading.library_names import entry_named, suggestion_of
from symroof.reading.program_words import is_program

ARROW = r"->|→|\\rightarrow|\\to"
EINSUM = re.compile(rf"\s*[A-Za-z]+(\s*,\s*[A-Za-z]+)*\s*({ARROW})\s*[A-Za-z]*\s*")
LIBRARY_NAME = re.compile(r"\s*[A-Za-z][A-Za-z0-9_-]*\s*")
ASCII = {"\\cdot": "*", "\\times": "*", "\\rightarrow": "->", "\\to": "->"}


def read_operation(
    text: str, element: Dtype | None = None, functions: Mapping[str, Function] | None = None
) -> AnyOperation:
    """The operation that ``text`` writes; ``element`` is the dtype of tensors that do not state one, and ``functions`` are
    those of programs beside the table.

    >>> str(read_operation(r"X[B, D] \\cdot_D Y[D, F] \\rightarrow Z[B, F]", dtype("int8")))
    'X * Y -> Z: int8[B, D], int8[D, F] -> int8[B, F]'
    """
    if LIBRARY_NAME.fullmatch(text):
        return _named(text, element, functions)
    if is_program(text):
        from symroof.reading.programs import read_program

        return read_program(text, element, functions)
    if EINSUM.fullmatch(text):
        return _letters(text, element)
    return EinsumReader(text, element).operation()


def _named(text: str, element: Dtype | None, functions: Mapping[str, Function] | None) -> AnyOperation:
    name, start = text.strip(), text.index(text.strip())
    entry = entry_named(name)
    if entry is None:
        raise ReadingError(
            f"unknown operation {name!r}",
            source=text,
            span=(start, start + len(name)),
            expected="an operation such as 'bf16[B, D] * bf16[D, F] -> bf16[B, F]', or a library name",
            hint=suggestion_of(name) or "see `symroof operations`",
        )
    if isinstance(entry, Entry):
        return entry.build(element)
    from symroof.reading.programs import read_program

    program = read_program(entry.typed(element), element, functions)
    if isinstance(program, Program):
        program = replace(program, entry=name)
    return in_training(program) if entry.training else program


def typed_operation(text: str) -> tuple[str, bool] | None:
    """The operation that a piece of text writes, in canonical form, and whether it states its dtypes; None for others.

    >>> typed_operation(r"X[B, D] \\cdot_D Y[D, F] \\rightarrow Z[B, F]")
    ('X[B, D] *_D Y[D, F] -> Z[B, F]', False)
    """
    if "[" not in text or not re.search(ARROW, text):
        return None
    plain = " ".join(TEXT.sub(r"\1", text).replace("\\_", "_").replace("\\left", "").replace("\\right]", "]").split())
    with suppress(SymroofError):
        return str(read_operation(plain)), True
    with suppress(SymroofError):
        read_operation(plain, dtype("bf16"))
        return reduce(lambda written, sign: written.replace(sign, ASCII[sign]), ASCII, plain), False
    return None


def _letters(text: str, element: Dtype | None) -> Einsum:
    whole = (0, len(text))
    if element is None:
        raise ReadingError("an einsum of letters has no dtype", source=text, span=whole, hint="say --dtype bf16")
    left, right = re.split(ARROW, text)
    shapes = [shape.strip() for shape in (*left.split(","), right)]
    *inputs, output = (Tensor(element, tuple(map(Dim, shape))) for shape in shapes)
    return einsum(inputs, output, text, [whole] * len(shapes))
