"""What the gradient of an operand is computed of, one rule for each operation.

    y = a * b          da = dy * b, a contraction where something is summed
    y = a + b          da = dy, summed over what a lacks
    y = f(x)           dx of what the table of functions says: of x or of y, and of dy
    rows of a table    the table's gradient, of which the integers pick rows

Where the gradient of an operand is that of the result as it is, there is nothing to compute.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

from symroof.errors import ModelError
from symroof.formula import Frozen
from symroof.loopnest.gradient_places import Places
from symroof.loopnest.nests import (
    CONTRACTION,
    COPY,
    MATRIX,
    VECTOR,
    Access,
    Buffer,
    Domain,
    Operand,
    Operation,
    Statement,
)
from symroof.loopnest.size_polynomials import ZERO, product

# What a derivative reads beside the gradient that comes in.
OPERANDS, RESULT, NOTHING, DIVISOR = "operands", "result", "nothing", "divisor"


class Derivative(Frozen):
    """What the table of functions says of going back: operations for each element and each row, what is read, how many of its
    operands are no gains, and whether it takes nothing, so that a gradient passes as it is."""

    each: Fraction
    row: Fraction
    needs: str = OPERANDS
    operands: int = 1
    passes: bool = False


class Adjoint(Frozen):
    """What the gradient of an operand is computed of, and how; what is computed before."""

    operands: tuple[Operand, ...]
    operation: Operation
    before: tuple[Statement, ...] = ()


def going_back(fuse: str) -> str:
    """The name of the backward pass of a fuse."""
    return f"{fuse}'" if fuse else ""


def axes_of(access: Access, domain: Domain) -> tuple[str, ...]:
    """The axes of a domain that an access depends on."""
    there = {*access.axes, *(axis for axis, _ in access.turns), *(a for g in access.within for a, _ in g.axes)}
    return tuple(axis for axis in domain.sizes if axis in there)


def domain_of(adjoint: Adjoint, part: Access, domain: Domain) -> Domain:
    """The loops of a domain that an adjoint depends on, and the masks of these."""
    every = [part, *(access for operand in adjoint.operands for access in operand)]
    axes = {axis for access in every for axis in (*access.axes, *(a for a, _ in access.turns))}
    axes |= {axis for guard in part.within for axis, _ in guard.axes}
    axes |= {axis for _, projection in adjoint.operation.work for axis in projection} | {adjoint.operation.over}
    stairs = tuple(stair for stair in domain.stairs if {stair.row, stair.column} <= axes)
    return Domain(tuple(axis for axis in domain.axes if axis.name in axes), stairs)


class Rules:
    """The rules, with the derivatives of functions, for buffers of which those that move have a gradient."""

    def __init__(self, places: Places, derivatives: Mapping[str, Derivative], moving: frozenset[str]) -> None:
        self.places, self.derivatives, self.moving = places, derivatives, moving

    def adjoint(self, statement: Statement, place: int, part: Access, gradient: Operand) -> Adjoint | None:
        """What the gradient of an operand is computed of, and how; None where it is that of the result."""
        name = statement.operation.name
        rule = RULES.get(name)
        if rule is not None:
            return rule(self, statement, place, part, gradient)
        if name not in self.derivatives:
            raise ModelError(f"{name} has no derivative, so there is no gradient of its operand")
        return self._of_function(statement, place, part, gradient, self.derivatives[name])

    def _of_product(self, statement: Statement, place: int, part: Access, gradient: Operand) -> Adjoint:
        others = (*statement.operands[:place], gradient, *statement.operands[place + 1 :])
        axes = {axis for operand in others for access in operand for axis in axes_of(access, statement.domain)}
        here = axes_of(part, statement.domain)
        if not axes - {*here}:
            return Adjoint(others, Operation("*", VECTOR, ((Fraction(len(others) - 1), here),)))
        before: tuple[Statement, ...] = ()
        if len(others) > 2:
            before = (self._multiplied(statement, place),)
            others = ((before[0].result,), gradient)
        every = tuple(axis for axis in statement.domain.sizes if axis in axes or axis in here)
        return Adjoint(others, Operation(CONTRACTION, MATRIX, ((Fraction(2), every),)), before)

    def _multiplied(self, statement: Statement, place: int) -> Statement:
        """The other factors of a product, multiplied before what is summed: two products and not one of three."""
        others = statement.operands[:place] + statement.operands[place + 1 :]
        used = {axis for operand in others for access in operand for axis in axes_of(access, statement.domain)}
        axes = tuple(axis for axis in statement.domain.axes if axis.name in used)
        turns, name = self.places.buffers[statement.result.buffer].turns, f"{statement.name}_{place}"
        strides = tuple((axis.name, product(a.size for a in axes[i + 1 :])) for i, axis in enumerate(axes))
        bits = self.places.buffers[statement.result.buffer].bits
        self.places.buffers[name] = Buffer(name, turns, product(axis.size for axis in axes), bits)
        result = Access(name, tuple((axis.name, ZERO) for axis in turns), ZERO, strides)
        work = ((Fraction(len(others) - 1), tuple(axis.name for axis in axes)),)
        operation = Operation("*", VECTOR, work)
        return Statement(
            name, Domain(axes), result, others, operation, (), going_back(statement.fuse), statement.remade
        )

    def _of_sum(self, statement: Statement, place: int, part: Access, gradient: Operand) -> Adjoint | None:
        here, result = axes_of(part, statement.domain), axes_of(statement.result, statement.domain)
        if len(statement.operands) == 1 and {*here} != {*result}:
            return Adjoint((gradient,), Operation("broadcast", VECTOR))
        if statement.operation.name == "-" and (place or len(statement.operands) == 1):
            return Adjoint((gradient,), Operation("-", VECTOR, ((Fraction(1), result),)))
        return self._passed(statement, part, gradient)

    def _passed(self, statement: Statement, part: Access, gradient: Operand) -> Adjoint | None:
        """A gradient as it is: summed over what the operand lacks, and in the type of the operand."""
        here, result = axes_of(part, statement.domain), axes_of(statement.result, statement.domain)
        if {*here} != {*result}:
            work = ((Fraction(1), result), (Fraction(-1), here))
            return Adjoint((gradient,), Operation("+", VECTOR, work))
        if self.places.buffers[part.buffer].bits != self.places.buffers[statement.result.buffer].bits:
            return Adjoint((gradient,), Operation("convert", VECTOR, ((Fraction(1), result),)))
        return None

    def _of_copy(self, statement: Statement, place: int, part: Access, gradient: Operand) -> None:
        return None

    def _of_rearranged(self, statement: Statement, place: int, part: Access, gradient: Operand) -> Adjoint:
        name, derivative = statement.operation.name, self.derivatives[statement.operation.name]
        work = ((derivative.each, statement.result.axes),) if derivative.each else ()
        return Adjoint((gradient,), Operation(f"{name}'", VECTOR, work))

    def _of_lookup(self, statement: Statement, place: int, part: Access, gradient: Operand) -> Adjoint:
        operation = Operation("lookup'", VECTOR, over=statement.operation.over)
        return Adjoint((statement.operands[-1], gradient), operation)

    def _of_maximum(self, statement: Statement, place: int, part: Access, gradient: Operand) -> Adjoint:
        hint = "freeze what it is of, or leave it out: softmax, sum and mean have one"
        raise ModelError(f"{statement.name} is a maximum and has no derivative here", hint=hint)

    def _of_function(
        self, statement: Statement, place: int, part: Access, gradient: Operand, derivative: Derivative
    ) -> Adjoint | None:
        name, here = statement.operation.name, axes_of(part, statement.domain)
        operands = statement.operands
        first = axes_of(operands[0][0], statement.domain)
        if place > derivative.operands or (derivative.passes and {*here} == {*first}):
            return self._passed(statement, part, gradient)
        over = statement.operation.over
        if place == derivative.operands:
            twice = ((Fraction(2), first),)
            return Adjoint((operands[0], gradient), Operation(f"{name}_gain'", VECTOR, twice, over))
        if {*here} != {*first}:
            raise ModelError(f"{name} of {statement.name} has no derivative here: its operands have not one shape")
        taken = {
            NOTHING: (),
            RESULT: ((statement.result,), *operands[1:]),
            DIVISOR: (operands[1] if len(operands) > 1 else (), *(((statement.result,),) if place else ())),
        }.get(derivative.needs, operands)
        before = any(a.buffer in self.moving for operand in operands[:place] for a in operand)
        row = tuple(axis for axis in here if axis != over)
        work = tuple(pair for pair in ((derivative.each, here), (derivative.row, row)) if pair[0])
        operation = Operation(f"{name}'", VECTOR, () if before else work, over)
        return Adjoint((*taken, gradient), operation)


Rule = Callable[[Rules, Statement, int, Access, Operand], Adjoint | None]
RULES: Mapping[str, Rule] = {
    CONTRACTION: Rules._of_product,
    "*": Rules._of_product,
    "+": Rules._of_sum,
    "-": Rules._of_sum,
    "max": Rules._of_maximum,
    COPY: Rules._of_copy,
    "rearrange": Rules._of_rearranged,
    "windows": Rules._of_rearranged,
    "lookup": Rules._of_lookup,
}
