"""Loop nests: the form in which everything is counted.

A statement is a loop nest; a tensor lies where an affine map of the loops says; a cost is the size of a set.

    for every launch of a kernel                     the turns of repeats and microbatches around it
        for every statement of its body
            for every point of the statement's domain    a box of axes, less what a mask cuts off
                result[address] = operation(operand[address], ...)

An access says where the element of a point lies: in which turn's copy of a buffer, and at which address, an offset and a
stride for each axis. Views, slices, concatenations, caches that grow, scans, repeats, masks, windows, microbatches and
shared weights are ways in which an access is made; nothing that counts knows them. The work of a statement is the size of
its domain, what a kernel reads and writes are sizes of images of its accesses (:mod:`symroof.loopnest.costs`), and the
backward pass is the same domains with accesses that have changed sides (:mod:`symroof.loopnest.gradients`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction

from symroof.formula import Frozen
from symroof.loopnest.size_polynomials import ONE, ZERO, Order, Polynomial

# What buffers are for that come from outside; one that is made here has no role.
INPUT, WEIGHT, CACHE = "input", "weight", "cache"
# Rows of a table that data name, which are counted as fresh; and gradients that come from outside, or sums that begin.
ROWS, GRADIENT = "rows", "gradient"
MATRIX, VECTOR, NO_UNIT = "matrix", "vector", ""
CONTRACTION, COPY = "contraction", "copy"


class Axis(Frozen, often=True):
    """A loop: a dimension, or the turns of a repeat."""

    name: str
    size: Polynomial


class Stair(Frozen, often=True):
    """What a mask leaves of two axes: ``column - row <= shift``, and ``> shift - window`` where there is a window."""

    row: str
    column: str
    shift: Polynomial
    window: Polynomial | None = None


class Domain(Frozen, often=True):
    """The points of a loop nest: a box, less what stairs cut off."""

    axes: tuple[Axis, ...]
    stairs: tuple[Stair, ...] = ()

    @property
    def sizes(self) -> dict[str, Polynomial]:
        return {axis.name: axis.size for axis in self.axes}


class Buffer(Frozen, often=True):
    """Memory: ``size`` elements of so many bits for each turn of ``turns``; ``role`` says what it is for, where it comes from
    outside."""

    name: str
    turns: tuple[Axis, ...]
    size: Polynomial
    bits: int
    role: str = ""

    @property
    def bytes(self) -> Fraction:
        """Those of an element."""
        return Fraction(self.bits, 8)


class Guard(Frozen, often=True):
    """Points at which a sum of axes, each times a number of places, lies in a range: ``first <= sum < first + length``."""

    axes: tuple[tuple[str, Polynomial], ...]
    first: Polynomial
    length: Polynomial

    @property
    def axis(self) -> str | None:
        """The axis that it bounds, where it is one alone."""
        return self.axes[0][0] if len(self.axes) == 1 and self.axes[0][1] == ONE else None


def bound(axis: str, first: Polynomial, length: Polynomial) -> Guard:
    """The guard that bounds one axis."""
    return Guard(((axis, ONE),), first, length)


class Access(Frozen, often=True):
    """Where the element of a point lies: ``buffer[turn + shift, ...][offset + sum of stride * axis]``, for the points that every
    guard of ``within`` leaves. A turn coordinate without an axis is the turn that its shift says.

    >>> from symroof.loopnest.size_polynomials import ONE, ZERO, Order, size
    >>> G, F = size("G"), size("F")
    >>> row = Access("h", (), ZERO, (("B", F), ("F", ONE)))
    >>> part = row.limited("F", G, F - G, Order((F - G,)))
    >>> part.moved("F", G).offset, part.moved("F", G).within[0].first
    (G, 0)
    """

    buffer: str
    turns: tuple[tuple[str | None, Polynomial], ...]
    offset: Polynomial
    strides: tuple[tuple[str, Polynomial], ...]
    within: tuple[Guard, ...] = ()

    @property
    def axes(self) -> tuple[str, ...]:
        """The axes that the address depends on."""
        return tuple(axis for axis, _ in self.strides)

    def moved(self, axis: str, by: Polynomial) -> Access:
        """The same with ``axis + by`` put in for an axis."""
        stride = dict(self.strides).get(axis, ZERO)
        turns = tuple((a, shift + by) if a == axis else (a, shift) for a, shift in self.turns)
        guards = (replace(g, first=g.first - dict(g.axes).get(axis, ZERO) * by) for g in self.within)
        return replace(self, turns=turns, offset=self.offset + stride * by, within=tuple(guards))

    def fixed(self, axis: str, value: Polynomial, order: Order) -> Access | None:
        """The same with a value put in for an axis; None where a guard leaves it out."""
        there, guards = self.moved(axis, value), []
        for guard in there.within:
            rest = tuple(pair for pair in guard.axes if pair[0] != axis)
            if rest:
                guards.append(replace(guard, axes=rest))
            elif not (order.at_least(ZERO, guard.first) and order.at_least(guard.first + guard.length, ONE)):
                return None
        turns = tuple((None if a == axis else a, shift) for a, shift in there.turns)
        strides = tuple(pair for pair in there.strides if pair[0] != axis)
        return replace(there, turns=turns, strides=strides, within=tuple(guards))

    def limited(self, axis: str, first: Polynomial, length: Polynomial, order: Order) -> Access | None:
        """The same for a range of an axis alone; None where nothing is left of it."""
        own = next((guard for guard in self.within if guard.axis == axis), None)
        if own is not None:
            end, ends = first + length, own.first + own.length
            if order.at_least(own.first, end) or order.at_least(first, ends):
                return None
            first = order.most(own.first, first)
            length = order.least(ends, end) - first
        return replace(self, within=(*(g for g in self.within if g is not own), bound(axis, first, length)))

    def renamed(self, names: Mapping[str, str]) -> Access:
        """The same with other axes for some of its own, all at once."""
        turns = tuple((names.get(a, a) if a else a, shift) for a, shift in self.turns)
        strides = tuple((names.get(a, a), stride) for a, stride in self.strides)
        guards = (replace(g, axes=tuple((names.get(a, a), places) for a, places in g.axes)) for g in self.within)
        return Access(self.buffer, turns, self.offset, strides, tuple(guards))


# One place, or several parts under guards that exclude each other.
Operand = tuple[Access, ...]


class Operation(Frozen, often=True):
    """What a statement computes, on which unit, and its work: coefficients, each times the size of the domain's projection onto
    some axes. ``over`` is the axis of the rows that a function takes whole."""

    name: str
    unit: str = NO_UNIT
    work: tuple[tuple[Fraction, tuple[str, ...]], ...] = ()
    over: str = ""


class Statement(Frozen, often=True):
    """A loop nest that writes one access. Results are added up where several points have one address.

    ``table`` is what rows are looked up in: it is there whole, and a row that data name is counted as fresh. ``fuse``
    and ``remade`` name the groups of the author that it belongs to: what is one kernel, and what the backward pass makes
    again instead of reading it.
    """

    name: str
    domain: Domain
    result: Access
    operands: tuple[Operand, ...]
    operation: Operation
    table: Operand = ()
    fuse: str = ""
    remade: str = ""

    @property
    def contracts(self) -> bool:
        return self.operation.name == CONTRACTION

    def limited(self, guard: Guard) -> Statement:
        """The same over the part of an axis that a guard leaves: the axis counts from the first place of that."""
        axis = guard.axis or ""
        own = bound(axis, ZERO, guard.length)

        def moved(access: Access) -> Access:
            there = access.moved(axis, guard.first)
            return replace(there, within=tuple(g for g in there.within if g != own))

        axes = tuple(replace(a, size=guard.length) if a.name == axis else a for a in self.domain.axes)
        operands = tuple(tuple(map(moved, operand)) for operand in self.operands)
        return replace(self, domain=replace(self.domain, axes=axes), result=moved(self.result), operands=operands)


class Kernel(Frozen, often=True):
    """Statements that are run together, once for each point of its launches: what one makes for another stays on the chip."""

    launches: tuple[Axis, ...]
    body: tuple[Statement, ...]
    backward: bool = False

    @property
    def turns(self) -> frozenset[str]:
        return frozenset(axis.name for axis in self.launches)


class Module(Frozen):
    """A program: its buffers by name, its kernels in their order, and what is wanted of it at the end. ``order`` decides what
    is less than what of its sizes; of the turns of ``microbatches`` each has inputs of its own, and is done with, forward and
    backward, before the next."""

    buffers: Mapping[str, Buffer]
    kernels: tuple[Kernel, ...]
    outputs: tuple[tuple[Domain, Operand], ...]
    order: Order
    microbatches: frozenset[str] = frozenset()


class Launched(Frozen, often=True):
    """A statement with the loops around it; ``alone`` where it joins no other, as a copy does."""

    statement: Statement
    launches: tuple[Axis, ...]
    backward: bool = False
    alone: str = ""


def sources(statement: Statement) -> Iterable[str]:
    """The buffers that the operands of a statement lie in."""
    return (access.buffer for operand in (*statement.operands, statement.table) for access in operand)


def kernels_of(items: Iterable[Launched], whole: frozenset[str]) -> tuple[Kernel, ...]:
    """Statements as kernels: which form one is a convention, and all of it stands here.

    An elementwise statement joins the last of the kernels that its operands come from and that have a contraction in them or
    behind them, if that one contracts itself and has the same launches in the same pass. The statements of a fuse that is
    one kernel as a ``whole`` are one whatever they are; of another fuse those are one kernel that join none. A contraction
    begins a kernel.
    """
    kernels: list[list[Launched]] = []
    behind: dict[str, int] = {}  # where a buffer is made that has a contraction behind it
    groups: dict[str, int] = {}
    for item in items:
        statement, together = item.statement, item.statement.fuse in whole
        last = max((behind[buffer] for buffer in sources(statement) if buffer in behind), default=None)
        number = None if together or item.alone else _joined(item, last, kernels, whole)
        if number is None:
            group = (not together and item.alone) or statement.fuse
            number = groups.setdefault(group, len(kernels)) if group else len(kernels)
        if number == len(kernels):
            kernels.append([])
        kernels[number].append(item)
        if statement.contracts or together or last is not None:
            behind[statement.result.buffer] = number
    return tuple(map(_kernel, kernels))


def _kernel(items: list[Launched]) -> Kernel:
    return Kernel(items[0].launches, tuple(item.statement for item in items), items[0].backward)


def _joined(item: Launched, last: int | None, kernels: list[list[Launched]], whole: frozenset[str]) -> int | None:
    """The kernel that an elementwise statement joins: the last that its operands come from; None where it joins none."""
    if last is None or item.statement.contracts:
        return None
    head = kernels[last][0]
    contracts = head.statement.contracts or head.statement.fuse in whole
    alike = (head.launches, head.backward) == (item.launches, item.backward)
    return last if contracts and alike else None
