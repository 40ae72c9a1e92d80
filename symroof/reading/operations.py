"""Typed einsums, in the notations that people use.

    operation = tensor { times tensor } arrow tensor            bf16[B, D] * bf16[D, F] -> bf16[B, F]
              | name { times name } [arrow name] ":" tensor { "," tensor } arrow tensor
              | letters { "," letters } arrow letters           bd,df->bf     with a dtype from the problem
              | a name of the library                           matmul
    times     = ("*" | "·" | "•" | "×" | "@" | "." | "\\cdot") [ "_" contracted ]
    tensor    = (dtype | name) "[" [ dim { "," dim } ] "]"      X[B, D] takes its dtype from the problem
    dim       = NUMBER | NAME | NAME "_" AXIS                   an axis is in capitals: D_X, I_{X}

Dimensions that the operands share and the output lacks are contracted.

Operations by name: those of the library, its programs, and the other names that people call them by.

The programs stand in ``programs.toml``, as texts to paste and to change.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache, reduce

from symroof.errors import ModelError, ReadingError, SymroofError, nearest
from symroof.formula import Frozen
from symroof.model.einsum import Einsum
from symroof.model.functions import Function
from symroof.model.library import LIBRARY, Entry
from symroof.model.program import Program
from symroof.model.tensor_types import Dim, Dtype, Tensor, dtype
from symroof.model.transforms import with_backward
from symroof.reading.einsums import TEXT, EinsumReader
from symroof.reading.programs import read_program
from symroof.reading.size_cases import Facts
from symroof.reading.tensors import is_program
from symroof.reading.toml import shipped_table
from symroof.reading.vocabulary import WORDS

# A product of shapes alone, which is no formula: [b, s, h] * [h, 4h] = [b, s, 4h].
SHAPE = r"(?:[A-Za-z][\w']*\s*)?[\[(][^\[\](),=]+(?:(?:,|\\times|×|\sx\s)[^\[\](),=]+)+[\])](?:\s*\^\s*(?:T|\\top|\{\s*(?:T|\\top)\s*\}))?"
TIMES = r"\s*(?:\\cdot|\\times|×|·|@|\*|x)\s*"
PRODUCT_OF_SHAPES = re.compile(rf"{SHAPE}{TIMES}{SHAPE}\s*(?:=|\\to|\\rightarrow|→|->|⇒|\\Rightarrow)\s*{SHAPE}")
ARROW = r"->|→|\\rightarrow|\\to"
EINSUM = re.compile(rf"\s*[A-Za-z]+(\s*,\s*[A-Za-z]+)*\s*({ARROW})\s*[A-Za-z]*\s*")
# As it is called in Python: np.einsum("bd,df->bf", x, W).
CALLED_EINSUM = re.compile(r"""\s*(?:\w+\.)?einsum\(\s*(["'])([^"']*)\1.*\)\s*""")
LIBRARY_NAME = re.compile(r"\s*[A-Za-z][A-Za-z0-9_-]*\s*")
ASCII = {"\\cdot": "*", "\\times": "*", "\\rightarrow": "->", "\\to": "->"}
USUAL = "bf16"


def read_operation(
    text: str, element: Dtype | None = None, functions: Mapping[str, Function] | None = None, told: Facts | None = None
) -> Program:
    """The operation that ``text`` writes; ``element`` is the dtype of tensors that do not state one, ``functions`` are
    those of programs beside the table, and what is ``told`` of sizes decides cases of a program.

    >>> str(read_operation(r"X[B, D] \\cdot_D Y[D, F] \\rightarrow Z[B, F]", dtype("int8")))
    'X * Y -> Z: int8[B, D], int8[D, F] -> int8[B, F]'
    """
    text = CALLED_EINSUM.sub(r"\2", text)
    if LIBRARY_NAME.fullmatch(text):
        return _named(text, element, functions, told)
    if is_program(text):
        return read_program(text, element, functions, told)
    if EINSUM.fullmatch(text):
        return Program.of(_letters(text, element))
    return Program.of(EinsumReader(text, element).operation())


def _named(text: str, element: Dtype | None, functions: Mapping[str, Function] | None, facts: Facts | None) -> Program:
    name, start = text.strip(), text.index(text.strip())
    entry = entry_named(name)
    if entry is None:
        raise ReadingError(
            f"unknown operation {name!r}",
            source=text,
            span=(start, start + len(name)),
            expected="an operation such as 'bf16[B, D] * bf16[D, F] -> bf16[B, F]', or a library name",
            hint=suggestion_of(name) or "see `symroof list operations`",
        )
    if isinstance(entry, Entry):
        return entry.build(element)

    program = replace(read_program(entry.typed(element), element, functions, facts), entry=name)
    return with_backward(program) if entry.training else program


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
    try:
        return Einsum(tuple(inputs), output)
    except ModelError as error:
        raise ReadingError(error.problem, source=text, span=whole, expected=error.expected, hint=error.hint) from None


class ProgramEntry(Frozen):
    """A program of the library: its text, where it was published, and whether it is one of ``training``."""

    name: str
    source: str
    text: str
    training: bool = False

    def typed(self, element: Dtype | None) -> str:
        """The text with its usual element type, or another: those of indices and of scaled weights stay.

        >>> from symroof.model.tensor_types import dtype
        >>> programs()["mlp"].typed(dtype("fp8")).splitlines()[0]
        'input  x:      fp8[B, D]'
        """
        return self.text if element is None else self.text.replace(f"{USUAL}[", f"{element}[")


AnyEntry = Entry | ProgramEntry


@lru_cache(maxsize=1)
def programs() -> Mapping[str, ProgramEntry]:
    """The programs of the library, by name."""
    return {
        name: ProgramEntry(name, entry["source"], entry["text"].strip(), entry.get("training", False))
        for name, entry in shipped_table("model/programs.toml").items()
    }


@lru_cache(maxsize=1)
def other_names() -> Mapping[str, str]:
    """What else operations are called, and the names that they have here."""
    return {other: name for name, others in WORDS["called"].items() for other in others}


def entries() -> Mapping[str, AnyEntry]:
    """The whole library by name: single operations, then programs."""
    return {**LIBRARY, **programs()}


def entry_named(name: str) -> AnyEntry | None:
    """The operation that a name means, in capitals or not, with hyphens or underscores.

    >>> entry_named("Layer_Norm").name, entry_named("swiglu").name, entry_named("nothing")
    ('layer-norm', 'gated-mlp', None)
    """
    folded = name.lower().replace("_", "-")
    return entries().get(other_names().get(folded, folded))


def required(name: str) -> AnyEntry:
    """The operation of that name. Raises :class:`ModelError` with the nearest name where there is none."""
    entry = entry_named(name)
    if entry is None:
        operation = "an operation such as bf16[B, D] * bf16[D, F] -> bf16[B, F]"
        expected = f"{operation}, or a name from `symroof list operations`"
        raise ModelError(f"unknown operation {name!r}", expected=expected, hint=suggestion_of(name))
    return entry


# Operations that have names of their own, and are none of ours spelled wrongly.
ELSEWHERE = ("spmv", "spmm", "spgemm", "sddmm", "fft", "ifft", "stencil", "sort", "scan", "cholesky", "lu", "qr", "svd")


def suggestion_of(name: str) -> str:
    """``did you mean …?`` with the name that an operation has here; where none is near, how to give any other.

    >>> suggestion_of("atention"), suggestion_of("spmv")[:30]
    ('did you mean attention?', 'else it is given by its costs:')
    """
    near = None if name.lower() in ELSEWHERE else nearest(name, (*entries(), *other_names()))
    if near is None:
        return "else it is given by its costs: flops, reads and writes in a problem file"
    return f"did you mean {other_names().get(near, near)}?"
