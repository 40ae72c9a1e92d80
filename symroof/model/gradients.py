"""Which tensors of a program have gradients, where these have to be, and the gradient through a statement that is a function."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace
from fractions import Fraction

from symroof.errors import ModelError
from symroof.model import functions
from symroof.model.dtype import Tensor
from symroof.model.functions import APPENDED, COLLECTED, CUT, FUNCTIONS, JOINED, PLACED, VIEWED, Function, Kind
from symroof.model.program import Program
from symroof.model.program_tree import SUM, Repeat, Statement


def with_gradients(program: Program) -> frozenset[str]:
    """The tensors that have a gradient: all but integers, what is frozen, and what is made of these alone."""
    names = {str(d.tensor.name) for d in program.declared if not d.tensor.dtype.integer and not d.frozen}
    before = -1
    while before < len(names):  # what enters a turn after the first is what left the one before
        before = len(names)
        for line in program.forward:
            statement, carried = line.statement, {e for r in line.repeats for e, leaves in r.carried if leaves in names}
            if not (names | carried).isdisjoint(str(t.name) for t in statement.operands):
                if statement.result.dtype.integer:
                    problem = f"{statement.name} is {statement.result}, and integers have no gradient"
                    raise ModelError(problem, expected="a floating-point type of what is trained")
                names.add(statement.name)
    if names.isdisjoint(line.statement.name for line in program.forward):
        reason = "frozen, or of integers" if program.frozen else "of integers"
        raise ModelError(f"every tensor is {reason}: there is nothing to train", expected="a floating-point type")
    return frozenset(names)


def require_one_place(program: Program, names: Set[str], stocks: Set[str]) -> None:
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
            if gone and name in names:
                leaving = " and ".join(gone[0].leaves)
                problem = f"{name} of each turn is used after the repeat, and only {leaving} leaves it"
                remedy = f"the use of it in the repeat, or what all turns make: collect({name}, …)"
                raise ModelError(problem, expected=remedy)
    for name in sorted(names & set(program.shared)):
        if len({tuple(r for r in around if r.accumulates) for around in places.get(name, ())}) > 1:
            problem = f"{name} is used in microbatches and outside of them, so its gradient is one and several"
            raise ModelError(problem, expected="a tensor of its own for each place")
    for name in sorted(names & stocks):
        if len(places.get(name, ())) > 1:
            problem = f"{name} is used in a repeat and outside of it, so its gradient is one and several"
            raise ModelError(problem, expected="a tensor of its own for each place")


# How the gradient of a result lies where that of the operand does: of a part in its place of the whole, and the other way round.
UNDONE = {VIEWED: VIEWED, CUT: JOINED, JOINED: CUT, PLACED: COLLECTED, COLLECTED: PLACED}
# The gradient of a gain: what it multiplied, times the gradient of the result, added over the rows.
GAIN = tuple(Kind(name, Fraction(1), Fraction(0)) for name in ("multiplications", "additions"))


def derivative(function: Function) -> Function:
    """What takes a gradient back through a function: of the operands and the gradient of the result.

    >>> derivative(FUNCTIONS["relu"]).name
    "relu'"
    """
    if function.back is None:
        raise ModelError(
            f"{function.name} has no derivative, so there is no gradient of its operand",
            expected=f"one of {', '.join(name for name, entry in FUNCTIONS.items() if entry.back is not None)}",
            hint=f"or give both: functions = {{ {function.name} = [3, 5] }}",
        )
    plain = {"operands": 1, "gains": 0, "reshapes": False, "gathers": False, "lies": UNDONE.get(function.lies, "")}
    return replace(function, name=f"{function.name}'", kinds=function.back, **plain)  # type: ignore[arg-type]


def passes_on(statement: Statement) -> bool:
    """Whether a function leaves the gradient as it is: one whose derivative takes nothing."""
    function = statement.function
    return function is not None and function.back == () and not (function.reshapes or function.gathers)


def through_function(statement: Statement, place: int, gradient: Tensor, result: Tensor, first: bool) -> Statement:
    """The gradient of the operand at a place. That of the ``first`` one takes what the derivative takes for all operands;
    that of a gain adds up products, that of a shift the gradient alone. A table gets the rows that were looked up, and
    what was rearranged is put back."""
    function, operands = statement.function, statement.operands
    assert function is not None
    if function.lies == APPENDED:
        problem = f"{statement.name} has entries appended, and that has no derivative here"
        raise ModelError(problem, hint="join them: c = concat(cache, x) -> …")
    back = derivative(function)
    if (
        place < function.operands
        and not (function.gathers or function.lies)
        and {*operands[place].labels} != {*operands[0].labels}
    ):
        name, other = operands[place].name, operands[0].name
        raise ModelError(
            f"{statement} has no derivative here: {name} has fewer dimensions than {other}",
            expected="operands of one shape",
            hint=f"multiply instead: r = reciprocal({name}), {statement.name} = {other} * r -> {statement.result}"
            if function.name == "divide"
            else None,
        )
    if place > function.operands:
        return Statement(SUM, (gradient,), result)
    if place == function.operands:
        return Statement(
            "function",
            (operands[0], gradient),
            result,
            replace(back, name=f"{function.name}_gain'", kinds=GAIN, rows=False),
        )
    if function.reshapes or passes_on(statement):
        return Statement("function", (gradient,), result, back)
    if function.gathers:
        return Statement("function", (*operands[1:], gradient), result, back)
    back = back if first else replace(back, kinds=())
    operands = (*_operands_of_derivative(statement, place), gradient)
    return Statement("function", operands, result, back, statement.over, factor=statement.factor)


def _operands_of_derivative(statement: Statement, place: int) -> tuple[Tensor, ...]:
    """What the derivative for an operand reads beside the gradient of the result."""
    assert statement.function is not None
    match statement.function.needs:
        case functions.NOTHING:
            return ()
        case functions.RESULT:
            return (statement.result, *statement.operands[1:])
        case functions.DIVISOR:
            return (statement.operands[1], *((statement.result,) if place else ()))
    return statement.operands
