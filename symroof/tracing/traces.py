"""A function as equations on arrays of symbolic shapes: what JAX and PyTorch are read into, and programs are written from; and the
calls that equations were made in: functions of libraries by name and file, the user's own by what is said."""

from __future__ import annotations

import sysconfig
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import lru_cache
from math import prod
from typing import Any, TypeAlias

from sympy import Expr, Integer

from symroof.errors import SymroofError
from symroof.formula import Frozen

ONE = Integer(1)
Shape = tuple[Expr, ...]
Function: TypeAlias = Callable[..., object]


class TracingError(SymroofError):
    """A function that has no program: something in it that programs do not say, or a size that has no name."""


def refusal(where: str, problem: str, expected: str) -> TracingError:
    """What a place in the code has no statement for."""
    return TracingError(f"{where}: {problem}", expected=expected)


class Frame(Frozen):
    """A call that an equation was made in: the file and the function, the line there, and the ``place`` of the call in the
    code, which tells calls on one line apart. One that is not the user's ``own`` is of a library."""

    file: str
    function: str
    line: int
    place: int
    own: bool = True

    def __str__(self) -> str:
        return f"{self.file.rsplit('/', 1)[-1]}:{self.line}"


class Array(Frozen):
    """A value with elements: its number, the sizes of its dimensions, and the type of its elements."""

    key: int
    shape: Shape
    dtype: str

    @property
    def floating(self) -> bool:
        return self.dtype.startswith(("float", "bfloat"))

    @property
    def elements(self) -> Expr:
        return prod(self.shape, start=ONE)

    def __str__(self) -> str:
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]"


class Constant(Frozen):
    """Numbers that no argument goes into: the ``value`` of a single one, a number or a formula of sizes; None where it is not
    known. Places of several dimensions have a ``value`` for each."""

    value: Any = None
    single: bool = False


Operand = Array | Constant


class Equation(Frozen):
    """A primitive of JAX applied, and what it makes. The frames go from inside out, up to the function that is traced. One
    that goes ``back`` is the transpose of what stands there."""

    primitive: str
    operands: tuple[Operand, ...]
    results: tuple[Array, ...]
    params: Mapping[str, Any]
    frames: tuple[Frame, ...]
    back: bool = False

    @property
    def where(self) -> str:
        return place_of(self.frames)

    @property
    def arrays(self) -> tuple[Array, ...]:
        return tuple(operand for operand in self.operands if isinstance(operand, Array))


class Loop(Frozen):
    """So many turns: ``carried`` enters the first one as ``enters``, and what ``leaves`` the last one is ``results``.
    Of each of ``scanned`` a turn has one part, under the name that stands beside it; what turns put ``down`` is
    ``stacked``. They may go from the last part to the first, ``reversed``."""

    times: Expr
    carried: tuple[Operand, ...]
    enters: tuple[Array, ...]
    leaves: tuple[Operand, ...]
    results: tuple[Array, ...]
    scanned: tuple[tuple[Operand, Array], ...]
    down: tuple[Operand, ...]
    stacked: tuple[Array, ...]
    body: tuple[Instruction, ...]
    frames: tuple[Frame, ...]
    reversed: bool = False


class Recomputation(Frozen):
    """What is made once more in a backward pass."""

    body: tuple[Instruction, ...]


Instruction = Equation | Loop | Recomputation


class Trace(Frozen):
    """The arguments by name, those of them that are ``weights`` of a module, or ``frozen``; what is made of them, and what
    is returned. ``mesh`` are axes that arrays are split over, with their chips where that is known."""

    arguments: Mapping[str, Array]
    body: tuple[Instruction, ...]
    results: tuple[Array, ...]
    weights: tuple[str, ...] = ()
    frozen: tuple[str, ...] = ()
    mesh: Mapping[str, int | None] = field(default_factory=dict)


@lru_cache(maxsize=4096)
def of_library(file: str) -> bool:
    """Whether a file is of a library that is installed, of Python itself, or of this room."""
    installed = (sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib"))
    return file.startswith(("<", *installed)) or "/symroof/tracing/" in file


def place_of(frames: Sequence[Frame]) -> str:
    """Where in the user's code something stands: the innermost call that is no library's."""
    return str(next((frame for frame in frames if frame.own), "the function"))


def operands_in(body: Iterable[Instruction]) -> Iterator[Array]:
    """What is used in equations, as often as it is."""
    for instruction in body:
        if isinstance(instruction, Equation):
            yield from instruction.arrays
            continue
        yield from operands_in(instruction.body)
        if isinstance(instruction, Loop):
            scanned = (operand for operand, _ in instruction.scanned)
            every = (*instruction.carried, *instruction.leaves, *instruction.down, *scanned)
            yield from (operand for operand in every if isinstance(operand, Array))


def equations_in(body: Iterable[Instruction]) -> Iterator[Equation]:
    for instruction in body:
        if isinstance(instruction, Equation):
            yield instruction
        else:
            yield from equations_in(instruction.body)


# Functions of libraries, by their files: those of the table, and those that keep on the chip what they make on their way.
NAMED = {"jax/_src/nn/functions.py": ("relu", "sigmoid", "softplus", "silu", "gelu", "softmax")}
FUSED = {
    "jax/_src/nn/functions.py": ("dot_product_attention",),
    "<torch>/nn/functional.py": ("scaled_dot_product_attention",),
}


class KnownCalls(Frozen):
    """``functions`` are those of the user, FILE:NAME or NAME, with the function of the table that each is; ``fuses`` names of
    functions whose inside stays on the chip; ``opened`` names that are looked into."""

    functions: Mapping[str, str]
    fuses: tuple[str, ...] = ()
    opened: tuple[str, ...] = ()

    def call(self, instruction: Instruction) -> Call | None:
        """The outermost known call that an equation was made in."""
        if not isinstance(instruction, Equation) or instruction.back:
            return None
        for i in reversed(range(len(instruction.frames))):
            frame, outside = instruction.frames[i], instruction.frames[i + 1 :]
            if frame.function in self.opened:
                continue
            if frame.function in self.fuses or _is_one_of(FUSED, frame):
                return Call(None, frame.function, outside)
            own = frame.function if _is_one_of(NAMED, frame) else None
            name = next((name for called, name in self.functions.items() if is_call(frame, called)), own)
            if name is not None:
                return Call(name, frame.function, outside)
        return None

    def missing_call(self, body: Sequence[Instruction]) -> str | None:
        """A name of the user's that no call has."""
        frames = {frame for equation in equations_in(body) for frame in equation.frames}
        every = (*self.functions, *self.fuses, *self.opened)
        return next((called for called in every if not any(is_call(frame, called) for frame in frames)), None)


class Call(Frozen):
    """A call of a function: ``name`` is that of the table, None for what stays on the chip; the frames outside of it."""

    name: str | None
    function: str
    frames: tuple[Frame, ...]


class Region(Frozen):
    """The equations that one call made."""

    call: Call
    body: tuple[Equation, ...]

    def ends(self, uses: Mapping[int, int]) -> tuple[list[Array], list[Array]]:
        """What goes into it, in order, and what of it is used elsewhere: more often than in it."""
        results = {result.key: result for equation in self.body for result in equation.results}
        operands = [operand for equation in self.body for operand in equation.arrays]
        inside = Counter(operand.key for operand in operands)
        enters = {operand.key: operand for operand in operands if operand.key not in results}
        return list(enters.values()), [result for key, result in results.items() if uses[key] > inside[key]]


def _is_one_of(table: Mapping[str, tuple[str, ...]], frame: Frame) -> bool:
    return any(frame.function in every for file, every in table.items() if frame.file.endswith(file))


def is_call(frame: Frame, called: str) -> bool:
    file, _, function = called.rpartition(":")
    return frame.function == function and frame.file.endswith(file)


def regions(body: Iterable[Instruction], calls: KnownCalls) -> Iterator[Instruction | Region]:
    """The equations of a body, with those of one known call together."""
    equations: list[Equation] = []
    call: Call | None = None
    for instruction in body:
        following = calls.call(instruction)
        if following != call and call is not None:
            yield Region(call, tuple(equations))
            equations = []
        call = following
        if call is None:
            yield instruction
        elif isinstance(instruction, Equation):
            equations.append(instruction)
    if call is not None:
        yield Region(call, tuple(equations))
