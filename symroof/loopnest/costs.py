"""Counts: what the kernels of a module cost, in closed form.

    work      coefficients times the size of the domain's projection, in every launch
    reads     of each kernel and buffer the union of the images of its accesses, less what the kernel made itself; launch by
              launch, where guards tell launches apart
    writes    of each kernel and buffer what it makes, as far as another launch reads it or it is wanted at the end; what any
              launch needs all of them write
    stocks    the sizes of buffers times their turns, by role
    saved     what backward kernels read of forward buffers and inputs, joined over the turns, of one microbatch

A count is of one buffer in one kernel, in elements, so that a second engine can count it again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from itertools import product as combinations

from symroof.errors import AlgebraError
from symroof.formula import Frozen
from symroof.loopnest.images import Image, apart, columns_met, holds, image_of, union
from symroof.loopnest.nests import (
    CACHE,
    COPY,
    GRADIENT,
    MATRIX,
    ROWS,
    VECTOR,
    WEIGHT,
    Access,
    Domain,
    Kernel,
    Module,
    Stair,
    Statement,
)
from symroof.loopnest.size_polynomials import ONE, ZERO, Order, Polynomial, product, total

# The launches of a kernel that guards do not tell apart: a range of each axis that some guard bounds.
Launches = Mapping[str, tuple[Polynomial, Polynomial]]


class KernelCounts(Frozen):
    """What a kernel costs in all its launches: operations by unit, and elements by buffer."""

    work: Mapping[str, Polynomial]
    reads: Mapping[str, Polynomial]
    writes: Mapping[str, Polynomial]


class Counts(Frozen):
    """What a module costs, kernel by kernel, and in all: operations by unit, bytes of traffic and of stocks."""

    module: Module
    kernels: tuple[KernelCounts, ...]

    def work(self, unit: str, *, backward: bool | None = None) -> Polynomial:
        """The operations on a unit, of one pass or of both."""
        pairs = zip(self.module.kernels, self.kernels, strict=True)
        return total(c.work[unit] for k, c in pairs if backward in (None, k.backward))

    @property
    def reads(self) -> Polynomial:
        return total(self._bytes(name, n) for counts in self.kernels for name, n in counts.reads.items())

    @property
    def writes(self) -> Polynomial:
        return total(self._bytes(name, n) for counts in self.kernels for name, n in counts.writes.items())

    def _bytes(self, buffer: str, elements: Polynomial) -> Polynomial:
        return elements * self.module.buffers[buffer].bytes


def counts_of(module: Module, *, exact: bool = False) -> Counts:
    """The costs of a module. A multiplication with an addition counts 2; ``exact`` leaves out the addition that the first
    product of a sum lacks."""
    reads = [_reads(kernel, module) for kernel in module.kernels]
    wanted = _wanted(module)
    each = (
        KernelCounts(_work(kernel, module.order, exact), read, _writes(kernel, module, wanted))
        for kernel, read in zip(module.kernels, reads, strict=True)
    )
    return Counts(module, tuple(each))


# ---- work


def pairs(stair: Stair, domain: Domain, order: Order) -> Polynomial:
    """How many pairs of a row and a column a mask leaves: row t the first t + 1 + shift, of which a window keeps the last."""
    rows, shift = domain.sizes[stair.row], stair.shift
    every = shift * rows + rows * (rows + 1) / 2
    if stair.window is None:
        return every
    before = shift - stair.window + 1  # how many columns the first row leaves out before its window
    last = before + rows - 1
    if order.nonnegative(before):
        return every - before * rows - rows * (rows - 1) / 2
    if order.nonnegative(-last):
        return every
    if order.nonnegative(-before) and order.nonnegative(last):
        return every - last * (last + 1) / 2
    raise AlgebraError(
        f"nobody says whether every row of {stair.row} meets a whole window of {stair.column}",
        expected=f"a fact about sizes: where {stair.window} <= {shift + 1}, or {stair.window} >= {shift + rows}",
    )


def points(domain: Domain, axes: Iterable[str], order: Order) -> Polynomial:
    """How many points the projection of a domain onto some axes has.

    >>> from symroof.loopnest.nests import Axis
    >>> from symroof.loopnest.size_polynomials import size
    >>> T = size("T")
    >>> causal = Domain((Axis("T", T), Axis("S", T)), (Stair("T", "S", ZERO),))
    >>> points(causal, ("T", "S"), Order()), points(causal, ("S",), Order())
    (1/2*T^2 + 1/2*T, T)
    """
    sizes, left, count = domain.sizes, set(axes) & domain.sizes.keys(), ONE
    for stair in domain.stairs:
        if {stair.row, stair.column} <= left:
            count = count * pairs(stair, domain, order)
            left -= {stair.row, stair.column}
        elif stair.column in left:
            count = count * columns_met(stair, domain, order)[1]
            left.remove(stair.column)
    return count * product(sizes[axis] for axis in left)


def _work(kernel: Kernel, order: Order, exact: bool) -> dict[str, Polynomial]:
    launches, operations = product(axis.size for axis in kernel.launches), {MATRIX: ZERO, VECTOR: ZERO}
    for statement in kernel.body:
        for coefficient, axes in statement.operation.work:
            done = launches * points(statement.domain, axes, order) * coefficient
            operations[statement.operation.unit] = operations[statement.operation.unit] + done
        if exact and statement.contracts and statement.operation.work:
            turns = {axis for axis, _ in statement.result.turns if axis}
            results = points(statement.domain, (*statement.result.axes, *turns), order)
            operations[MATRIX] = operations[MATRIX] - launches * results
    return operations


# ---- reads


def accesses(kernel: Kernel) -> Iterator[tuple[Access, Statement]]:
    """What the statements of a kernel take, each access with its statement."""
    for statement in kernel.body:
        for operand in statement.operands:
            for access in operand:
                yield access, statement


def launches_of(kernel: Kernel, buffer: str, order: Order) -> Iterator[Launches]:
    """The launches of a kernel as the guards of accesses to a buffer tell them apart."""
    cuts: dict[str, set[Polynomial]] = {}
    sizes = {axis.name: axis.size for axis in kernel.launches}
    for access, _ in accesses(kernel):
        for guard in access.within if access.buffer == buffer else ():
            if guard.axis in sizes:
                ends = {guard.first, guard.first + guard.length}
                cuts.setdefault(guard.axis, {ZERO, sizes[guard.axis]}).update(ends)
    ranges = []
    for axis, places in cuts.items():
        ascending = _ascending(places, order)
        ranges.append([(axis, (first, end - first)) for first, end in pairwise(ascending)])
    for chosen in combinations(*ranges):
        yield dict(chosen)


def _ascending(places: set[Polynomial], order: Order) -> list[Polynomial]:
    left, ascending = set(places), list[Polynomial]()
    while left:
        least = next((p for p in left if all(order.at_least(q, p) for q in left)), None)
        if least is None:
            raise AlgebraError(
                f"nobody says in which order the turns {', '.join(sorted(map(repr, left)))} come",
                expected="a fact about the number of turns: where L >= 2",
            )
        ascending.append(least)
        left.remove(least)
    return ascending


def in_launches(access: Access, launches: Launches, order: Order) -> Access | None:
    """An access without its guards on launches; None where they leave these out."""
    left = []
    for guard in access.within:
        if guard.axis is None or guard.axis not in launches:
            left.append(guard)
            continue
        first, length = launches[guard.axis]
        ends = guard.first + guard.length, first + length
        if not (order.at_least(first, guard.first) and order.at_least(*ends)):
            return None
    return replace(access, within=tuple(left))


def made_in(kernel: Kernel, buffer: str, order: Order) -> tuple[Image, ...]:
    """What one launch of a kernel makes of a buffer."""
    results = (s for s in kernel.body if s.result.buffer == buffer)
    return tuple(dict.fromkeys(image_of(s.result, s.domain, order, kernel.turns, written=True) for s in results))


def _size_without(images: Iterable[Image], made: tuple[Image, ...], module: Module) -> Polynomial:
    """How many places images of a buffer have that the kernel has not made itself."""
    order, others, own = module.order, list[Image](), list[Image]()
    for one in images:
        whole = module.buffers[one.buffer].size
        if any(holds(mine, one, whole, order) for mine in made):
            continue
        others.append(one)
        inside = [mine for mine in made if not apart(mine, one, order)]
        if not all(holds(one, mine, whole, order) for mine in inside):
            raise AlgebraError(f"nobody says what of {one.buffer} a kernel reads and what it made itself")
        own += inside
    if not others:
        return ZERO
    sizes = (total(part.size(order) for part in union(parts, whole, order)) for parts in (others, own))
    return next(sizes) - next(sizes)


def _reads(kernel: Kernel, module: Module) -> dict[str, Polynomial]:
    """The elements that a kernel reads, by buffer."""
    order, elements = module.order, dict[str, Polynomial]()
    every = {axis.name: axis.size for axis in kernel.launches}
    for name in dict.fromkeys(access.buffer for access, _ in accesses(kernel)):
        made = made_in(kernel, name, order)
        for launches in launches_of(kernel, name, order):
            times = product((*(n for _, n in launches.values()), *(n for a, n in every.items() if a not in launches)))
            images = (
                image_of(there, statement.domain, order, kernel.turns)
                for access, statement in accesses(kernel)
                if access.buffer == name and (there := in_launches(access, launches, order)) is not None
            )
            elements[name] = elements.get(name, ZERO) + times * _size_without(images, made, module)
    return {name: n for name, n in elements.items() if n != ZERO}


# ---- writes


def _wanted(module: Module) -> dict[str, list[Image]]:
    """What other launches than the one that makes it read of each buffer, and what is wanted at the end, over all turns."""
    order, images = module.order, dict[str, list[Image]]()
    for kernel in module.kernels:
        made = {statement.result.buffer for statement in kernel.body}
        for access, statement in (*accesses(kernel), *((a, s) for s in kernel.body for a in s.table)):
            if access.buffer in made:
                here = replace(access, within=tuple(g for g in access.within if g.axis not in kernel.turns))
                image, whole = image_of(here, statement.domain, order, kernel.turns), module.buffers[access.buffer].size
                if any(holds(one, image, whole, order) for one in made_in(kernel, access.buffer, order)):
                    continue
            over = replace(statement.domain, axes=(*statement.domain.axes, *kernel.launches))
            images.setdefault(access.buffer, []).append(image_of(access, over, order))
    for domain, operand in module.outputs:
        for access in operand:
            images.setdefault(access.buffer, []).append(image_of(access, domain, order))
    return images


def _writes(kernel: Kernel, module: Module, wanted: Mapping[str, list[Image]]) -> dict[str, Polynomial]:
    """The elements that a kernel writes, by buffer."""
    order, images = module.order, dict[str, list[Image]]()
    for statement in kernel.body:
        name = statement.result.buffer
        launched = [i for i, (axis, _) in enumerate(statement.result.turns) if axis in kernel.turns]
        made = _beside(image_of(statement.result, statement.domain, order, kernel.turns, written=True), launched)
        asked = [made] if statement.operation.name == COPY else []  # it is copied to be there
        for one in (*asked, *dict.fromkeys(_beside(image, launched) for image in wanted.get(name, ()))):
            images.setdefault(name, []).extend(_common(made, one, module))
    launches = product(axis.size for axis in kernel.launches)
    sizes = {name: union(parts, module.buffers[name].size, order) for name, parts in images.items()}
    return {name: launches * total(part.size(order) for part in parts) for name, parts in sizes.items() if parts}


def _common(made: Image, wanted: Image, module: Module) -> tuple[Image, ...]:
    """What two images of a buffer have in common: one of them, or nothing."""
    whole, order = module.buffers[made.buffer].size, module.order
    if holds(wanted, made, whole, order):
        return (made,)
    if holds(made, wanted, whole, order):
        return (wanted,)
    if not apart(wanted, made, order):
        raise AlgebraError(f"nobody says which part is wanted of what is made of {made.buffer}")
    return ()


def _beside(image: Image, launched: list[int]) -> Image:
    """An image without the turns that launches count."""
    return replace(image, turns=tuple(span for i, span in enumerate(image.turns) if i not in launched))


# ---- stocks


def stock(module: Module, role: str) -> Polynomial:
    """The elements of the buffers of a role, those of all turns."""
    every = (buffer for buffer in module.buffers.values() if buffer.role == role)
    return total(product((b.size, *(axis.size for axis in b.turns))) for b in every)


def saved(module: Module) -> dict[str, Polynomial]:
    """The elements that backward kernels read of forward buffers and of inputs, by buffer: what is kept for them. Of
    microbatches one is kept at a time."""
    order, images_of = module.order, dict[str, list[Image]]()
    late = {s.result.buffer for kernel in module.kernels if kernel.backward for s in kernel.body}
    for kernel in module.kernels if late else ():
        for access, statement in accesses(kernel) if kernel.backward else ():
            role = module.buffers[access.buffer].role
            if access.buffer in late or role in (WEIGHT, CACHE, GRADIENT, ROWS):
                continue
            launches = tuple(axis for axis in kernel.launches if axis.name not in module.microbatches)
            over = replace(statement.domain, axes=(*statement.domain.axes, *launches))
            image = image_of(access, over, order, kernel.turns & module.microbatches)
            images_of.setdefault(access.buffer, []).append(image)
    return {
        name: total(part.size(order) for part in union(images, module.buffers[name].size, order))
        for name, images in images_of.items()
    }
