"""Which tensors of a program have gradients, and where these have to be."""

from __future__ import annotations

from collections.abc import Set

from symroof.errors import ModelError
from symroof.model.nodes import Repeat
from symroof.model.program import Program


def with_gradients(program: Program) -> frozenset[str]:
    """The tensors that have a gradient: all but integers, what is frozen, and what is made of these alone."""
    asked = {str(d.tensor.name) for d in program.declared if not d.tensor.dtype.integer and not d.frozen}
    before = -1
    while before < len(asked):  # what enters a turn after the first is what left the one before
        before = len(asked)
        for line in program.forward:
            statement, carried = line.statement, {e for r in line.repeats for e, left in r.carried if left in asked}
            if not (asked | carried).isdisjoint(str(t.name) for t in statement.operands):
                if statement.result.dtype.integer:
                    problem = f"{statement.name} is {statement.result}, and integers have no gradient"
                    raise ModelError(problem, expected="a floating-point type of what is trained")
                asked.add(statement.name)
    if asked.isdisjoint(line.statement.name for line in program.forward):
        every = "frozen, or of integers" if program.frozen else "of integers"
        raise ModelError(f"every tensor is {every}: there is nothing to train", expected="a floating-point type")
    return frozenset(asked)


def require_one_place(program: Program, asked: Set[str], stocks: Set[str]) -> None:
    """A turn has weights of its own, and what it makes is gone after it, but for what leaves it or is of all turns.
    Raises :class:`~symroof.errors.ModelError` where something that is ``asked`` for a gradient is elsewhere."""
    makers = {line.statement.name: line.repeats for line in program.forward}
    places: dict[str, set[tuple[Repeat, ...]]] = {}
    collected = {line.statement.name for line in program.forward if line.statement.collects}
    for line in program.forward:
        for name in (str(tensor.name) for tensor in line.statement.operands):
            places.setdefault(name, set()).add(tuple(r for r in line.repeats if not r.scans))
            around = makers.get(name, ())[: -1 if name in collected else None]
            gone = [r for r in around if r not in line.repeats and name not in r.leaves]
            if gone and name in asked:
                leaving = " and ".join(gone[0].leaves)
                problem = f"{name} of each turn is used after the repeat, and only {leaving} leaves it"
                there = f"the use of it in the repeat, or what all turns make: collect({name}, …)"
                raise ModelError(problem, expected=there)
    for name in sorted(asked & set(program.shared)):
        if len({tuple(r for r in around if r.accumulates) for around in places.get(name, ())}) > 1:
            problem = f"{name} is used in microbatches and outside of them, so its gradient is one and several"
            raise ModelError(problem, expected="a tensor of its own for each place")
    for name in sorted(asked & stocks):
        if len(places.get(name, ())) > 1:
            problem = f"{name} is used in a repeat and outside of it, so its gradient is one and several"
            raise ModelError(problem, expected="a tensor of its own for each place")
