"""What a trace of a function is made of, in plain values: the same equations at several assignments of numbers to the names of its
sizes, so that every number in them is a tuple with one for each assignment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from symroof.errors import SymroofError
from symroof.formula import Frozen

Numbers = tuple[int, ...]


class TracingError(SymroofError):
    """A function that has no program: something in it that programs do not say, or a size that has no name."""


def differing(where: str) -> TracingError:
    """The error on a function that does something else at other sizes."""
    expected, hint = "the same operations whatever the sizes are", "fix one: --shape x=bf16[B, T=1]"
    return TracingError(f"{where}: what is computed depends on the sizes", expected=expected, hint=hint)


class Arguments(Frozen):
    """What a function is traced with at several assignments: the shapes of arrays by name, each with one for every
    assignment, and their types; the ``tree`` of arguments in their order, with the names at their places; those that
    are given by name; and the numbers that what makes a module is called with."""

    shapes: Mapping[str, Sequence[Sequence[int]]]
    dtypes: Mapping[str, str]
    tree: Mapping[str, Any]
    keywords: frozenset[str] = frozenset()
    built: Sequence[Sequence[int]] = ()

    def at(self, places: slice) -> Arguments:
        """The same at some of the assignments."""
        return replace(self, shapes={n: each[places] for n, each in self.shapes.items()}, built=self.built[places])

    @property
    def assignments(self) -> int:
        return len(next(iter(self.shapes.values())))

    def shown(self, place: int) -> str:
        """The shapes at one assignment, as errors say them."""
        return ", ".join(f"{name} of {tuple(shape[place])}" for name, shape in self.shapes.items())

    def filled(self, arrays: Mapping[str, Any]) -> Mapping[str, Any]:
        """The arguments, with arrays at the places of their names."""
        return {name: _filled(part, arrays) for name, part in self.tree.items()}


def _filled(tree: Any, arrays: Mapping[str, Any]) -> Any:
    if isinstance(tree, str):
        return arrays[tree]
    if isinstance(tree, Mapping):
        return {key: _filled(part, arrays) for key, part in tree.items()}
    return [_filled(part, arrays) for part in tree]


class Frame(Frozen):
    """A call that an equation was made in: the file and the function, the line there, and the ``place`` of the call in the code,
    which tells calls on one line apart."""

    file: str
    function: str
    line: int
    place: int

    def __str__(self) -> str:
        return f"{self.file.rsplit('/', 1)[-1]}:{self.line}"


class Array(Frozen):
    """A value with elements: its dimensions in their order, at each assignment."""

    key: int
    shape: tuple[Numbers, ...]
    dtype: str

    @property
    def floating(self) -> bool:
        return self.dtype.startswith(("float", "bfloat"))


class Constant(Frozen):
    """Numbers that no argument goes into; ``values`` are those of a scalar, None where it is none or is not known. One that is
    ``single`` is a scalar."""

    values: tuple[float, ...] | None = None
    single: bool = False


class Equation(Frozen):
    """A primitive applied; ``params`` are those that are alike at all assignments. The frames go from inside out, up to the
    function that is traced. One that goes ``back`` is the transpose of what stands there."""

    primitive: str
    operands: tuple[Array | Constant, ...]
    results: tuple[Array, ...]
    params: Mapping[str, Any]
    frames: tuple[Frame, ...]
    back: bool = False


class Loop(Frozen):
    """So many turns: ``carried`` enters the first one as ``enters``, and what ``leaves`` the last one is ``results``.
    Of each of ``scanned`` a turn has one part, under the name that stands beside it; what turns put ``down`` is
    ``stacked``. They may go from the last part to the first, ``reversed``."""

    times: Numbers
    carried: tuple[Array | Constant, ...]
    enters: tuple[Array, ...]
    leaves: tuple[Array | Constant, ...]
    results: tuple[Array, ...]
    scanned: tuple[tuple[Array | Constant, Array], ...]
    down: tuple[Array | Constant, ...]
    stacked: tuple[Array, ...]
    body: tuple[Made, ...]
    frames: tuple[Frame, ...]
    reversed: bool = False


class Again(Frozen):
    """What is made once more in a backward pass."""

    body: tuple[Made, ...]


Made = Equation | Loop | Again


class Trace(Frozen):
    """The arguments by name, what is made of them, and what is returned."""

    arguments: Mapping[str, Array]
    body: tuple[Made, ...]
    results: tuple[Array, ...]


def lived(body: Sequence[Made], asked: set[int]) -> tuple[Made, ...]:
    """The equations that something asked for comes from; ``asked`` are the keys of that, and of all that they take."""
    found: list[Made] = []
    for made in reversed(body):
        if isinstance(made, Equation):
            if asked.isdisjoint(result.key for result in made.results):
                continue
            operands: Sequence[Array | Constant] = made.operands
        elif isinstance(made, Loop):
            if asked.isdisjoint(result.key for result in (*made.results, *made.stacked)):
                continue
            wanted = (one for one, whole in zip(made.down, made.stacked, strict=True) if whole.key in asked)
            inside = {one.key for one in (*made.leaves, *wanted) if isinstance(one, Array)}
            made = replace(made, body=lived(made.body, inside))
            asked |= inside
            operands = (*made.carried, *(operand for operand, _ in made.scanned))
        else:
            inner = lived(made.body, asked)
            if not inner:
                continue
            made, operands = replace(made, body=inner), ()
        asked |= {operand.key for operand in operands if isinstance(operand, Array)}
        found.insert(0, made)
    return tuple(found)


def operands_in(body: Iterable[Made]) -> Iterator[Array]:
    """What is used in equations, as often as it is."""
    for made in body:
        if isinstance(made, Equation):
            operands: Sequence[Array | Constant] = made.operands
        else:
            yield from operands_in(made.body)
            loop = made if isinstance(made, Loop) else None
            scanned = () if loop is None else tuple(operand for operand, _ in loop.scanned)
            operands = () if loop is None else (*loop.carried, *loop.leaves, *loop.down, *scanned)
        yield from (operand for operand in operands if isinstance(operand, Array))


def grouped(before: Sequence[Numbers], after: Sequence[Numbers]) -> Iterable[tuple[list[int], list[int]]]:
    """Dimensions that hold the same elements before and after a reshape, as few together as it goes."""
    i = j = 0
    while i < len(before) or j < len(after):
        own, new = ([i] if i < len(before) else []), ([j] if j < len(after) else [])
        i, j = i + len(own), j + len(new)
        while _size(before, own) != _size(after, new):
            if j < len(after) and (i >= len(before) or _size(before, own)[0] > _size(after, new)[0]):
                new.append(j)
                j += 1
            elif i < len(before):
                own.append(i)
                i += 1
            else:
                break
        yield own, new


def _size(shape: Sequence[Numbers], places: Iterable[int]) -> Numbers:
    found = [1] * len(shape[0]) if shape else [1]
    for place in places:
        found = [a * b for a, b in zip(found, shape[place], strict=True)]
    return tuple(found)
