"""The rows of a program: how often each parameter is multiplied, and of how many tokens that tells."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sympy import Expr, Mul

from symroof.model.dtype import Dim, Tensor
from symroof.model.nodes import Line, turns_of
from symroof.model.program import Program
from symroof.model.size_text import spelled_size
from symroof.model.sliding_windows import NAME
from symroof.symbols import symbol


def tokens_of(program: Program) -> Expr | None:
    """How often each parameter is multiplied: the product of the dimensions that no weight has and every contraction with a
    weight has, or is a turn of that goes along them, in all microbatches; None where there are none.

    >>> from symroof.reading.programs import read_program
    >>> tokens_of(read_program("input x: bf16[B, T, D]; weight W: bf16[D, F]; y = x * W -> bf16[B, T, F]"))
    B*T
    """
    weighed = [dict.fromkeys(_met(program, line)) for line in _weighing(program)]
    held = _held(program)
    shared = [n for n in (weighed or [{}])[0] if n not in held and all(n in labels for labels in weighed)]
    batches = {tuple(r for r in line.repeats if r.accumulates) for line in _weighing(program)}
    if not shared or len(batches) != 1:
        return None
    return program.resolved(turns_of(batches.pop()) * Mul(*(Dim(label).size for label in shared)))


def served_of(program: Program) -> Expr | None:
    """The tokens that are worked on: the same, where every weight meets all of them. Rows that are shared out among weights,
    as among experts, or that are more for some weights than for others, do not tell how many tokens there are, and pixels are
    none.

    >>> from symroof.reading.programs import read_program
    >>> served_of(read_program("input x: bf16[E, C, D]; weight W: bf16[E, D, F]; y = x * W -> bf16[E, C, F]")) is None
    True
    """
    weighed, held = _weighing(program), _held(program)
    rows = {frozenset(_met(program, line)) - held for line in weighed}
    every = ((*line.statement.operands, line.statement.result) for line in weighed)
    shared_out = any(set.intersection(*(set(t.labels) for t in tensors)) for tensors in every)
    functions = (line.statement.function for line in program.forward)
    pixels = any(function is not None and function.name == NAME for function in functions)
    return None if pixels or shared_out or len(rows) != 1 else tokens_of(program)


def _held(program: Program) -> set[str]:
    """The dimensions of weights."""
    return {*_own(program, program.declared_as("weight"))}


def _met(program: Program, line: Line) -> Iterator[str]:
    """The dimensions that a contraction goes through, and those that its turns go along."""
    along = [spelled_size(repeat.times) for repeat in line.repeats if repeat.scans]
    yield from _named(program, (*(x for tensor in line.statement.operands for x in tensor.labels), *along))


def _own(program: Program, tensors: Iterable[Tensor]) -> Iterator[str]:
    """The dimensions of tensors."""
    return _named(program, (label for tensor in tensors for label in tensor.labels))


def _named(program: Program, labels: Iterable[str]) -> Iterator[str]:
    """Dimensions, one that is only another name of a size under the name of that: where S = T."""
    for label in labels:
        size = program.definitions.get(symbol(label)) if label in program.where else None
        yield size.name if size is not None and size.is_Symbol else label


def _weighing(program: Program) -> list[Line]:
    """The contractions with a weight."""
    weights = {*program.declared_as("weight")}
    contracting = (line for line in program.forward if line.statement.contracts)
    return [line for line in contracting if any(tensor in weights for tensor in line.statement.operands)]
