"""Where gradients lie.

The gradient of a tensor lies in buffers as large as its own. It is written as an access with one axis, the place in the buffer,
in the turns that the tensor has; a tensor's own access put in for that axis is the access of its gradient. What has a gradient
is a variable: a buffer in all its turns, in one turn alone, or as what enters the turns of a repeat.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from symroof.formula import Frozen
from symroof.loopnest.images import Image
from symroof.loopnest.nests import VECTOR, Access, Axis, Buffer, Domain, Guard, Operand, Operation, Statement
from symroof.loopnest.size_polynomials import ONE, ZERO, Order, Polynomial

# The axis of places in a buffer.
PLACE = "place"

Launches = tuple[Axis, ...]
Turn = tuple[str | None, Polynomial]


class Variable(Frozen, often=True):
    """What has a gradient: a buffer in all its turns; where some are ``fixed`` in that turn alone, by the place of the coordinate;
    what ``enters`` the turns along an axis, which the buffer left in the turn before."""

    buffer: str
    fixed: tuple[tuple[int, Polynomial], ...] = ()
    enters: str = ""


class Contribution(Frozen):
    """A part of a gradient: where it lies, and its image in the buffer where one statement made it."""

    lies: Operand
    image: Image | None = None


class Sums(Frozen, often=True):
    """A gradient over launches that its buffer lacks a coordinate of, to be summed."""

    variable: Variable
    launches: Launches


def variable_of(access: Access, enters: str = "") -> Variable:
    """The variable that an access is of.

    >>> variable_of(Access("z", ((None, ONE),), ZERO, ()))
    Variable(buffer='z', fixed=((0, 1),), enters='')
    """
    fixed = tuple((i, shift) for i, (axis, shift) in enumerate(access.turns) if axis is None)
    return Variable(access.buffer, fixed, enters)


def enters(access: Access, axis: str) -> bool:
    """Whether an access is of what left the turn before."""
    return (axis, -ONE) in access.turns


def entry_of(operand: Operand, launches: Launches) -> tuple[str, Access] | None:
    """The innermost axis along which an operand entered the turn, and where it lay in the turn before."""
    for axis in reversed(launches):
        for access in operand:
            if enters(access, axis.name):
                return axis.name, access
    return None


class Places:
    """The buffers of a module and of its gradients. ``others`` are buffers that stand for gradients found later."""

    def __init__(self, buffers: Mapping[str, Buffer], order: Order) -> None:
        self.buffers, self.order = dict(buffers), order
        self.others: dict[str, Operand] = {}

    def turns(self, variable: Variable) -> Launches:
        """The turns in each of which a variable has a gradient."""
        fixed = {i for i, _ in variable.fixed}
        return tuple(axis for i, axis in enumerate(self.buffers[variable.buffer].turns) if i not in fixed)

    def new(self, name: str, like: str, turns: Launches | None = None, role: str = "") -> str:
        """A buffer as large as another, for each of some turns; a star tells those of one name apart."""
        while name in self.buffers:
            name += "*"
        old = self.buffers[like]
        self.buffers[name] = Buffer(name, old.turns if turns is None else turns, old.size, old.bits, role)
        return name

    def all_of(self, name: str) -> Access:
        """The access to every place of a buffer, in the turn of the launch."""
        turns = tuple((axis.name, ZERO) for axis in self.buffers[name].turns)
        return Access(name, turns, ZERO, ((PLACE, ONE),))

    def zeros(self, name: str) -> Statement:
        """The statement that writes zeros to all of a buffer."""
        domain = Domain((Axis(PLACE, self.buffers[name].size),))
        return Statement(name, domain, self.all_of(name), (), Operation("zeros", VECTOR))

    def at(self, lies: Operand, access: Access) -> Operand:
        """The gradient at the places of an access of its tensor."""
        names = {axis.name: turn for axis, turn in zip(self.buffers[access.buffer].turns, access.turns, strict=True)}
        parts = []
        for part in lies:
            turns = tuple(_turn(axis, shift, names) for axis, shift in part.turns)
            there = Access(part.buffer, turns, access.offset, access.strides, access.within)
            parts.append(self._guarded(there, part.within, names))
        return tuple(there for there in parts if there is not None)

    def _guarded(self, access: Access, guards: Iterable[Guard], names: Mapping[str, Turn]) -> Access | None:
        """An access under guards on turns, of which each is another turn, or the turn that a number says."""
        there: Access | None = access
        for guard in guards:
            axis, shift = names.get(guard.axis or "", (guard.axis, ZERO))
            first, end = guard.first - shift, guard.first + guard.length - shift
            if there is not None and axis is not None:
                there = there.limited(axis, first, guard.length, self.order)
            elif not (self.order.at_least(ZERO, first) and self.order.at_least(end, ONE)):
                return None
        return there

    def settled(self, operand: Operand) -> Operand:
        """An operand with the gradients put in that buffers stood for."""
        parts: list[Access] = []
        for access in operand:
            lies = self.others.get(access.buffer)
            parts += (access,) if lies is None else self.settled(self.at(lies, access))
        return tuple(parts)


def _turn(axis: str | None, shift: Polynomial, names: Mapping[str, Turn]) -> Turn:
    other, more = names.get(axis, (axis, ZERO)) if axis else (None, ZERO)
    return other, shift + more
