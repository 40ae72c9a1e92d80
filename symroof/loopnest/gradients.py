"""Gradients: the backward pass of a module, by one rule.

    y[Y p] += f(a[A p], b[B p])      over a domain      gives      da[A p] += f_a(..., dy[Y p])      over the same domain

Accesses change sides and the domain stays. A view, a slice, a part of something joined, the place of a turn is an access, so
its gradient is the same access of a buffer of gradients; what a mask leaves out is left out. Each statement that takes a
tensor gives a contribution to its gradient, and contributions are added.

Turns need two rules. What enters a turn is a variable of its own, whose gradient has a turn: what leaves turn l enters turn
l + 1, so its gradient is that of what enters there, and in the last turn what arrives from outside. And over launches that a
buffer has no coordinate of, as those of a weight that all turns share, contributions are summed: what the turns before gave
and the part of this one.

Where a gradient lies is written as an access of its own kind: a buffer as large as that of its tensor, the turns that its
tensor has, and one axis, the place in the buffer. A tensor's access put in for that axis is the access of its gradient.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction

from symroof.errors import ModelError
from symroof.loopnest.adjoint_rules import Adjoint, Derivative, Rules, domain_of, going_back
from symroof.loopnest.gradient_places import (
    PLACE,
    Contribution,
    Launches,
    Places,
    Sums,
    Variable,
    enters,
    entry_of,
    variable_of,
)
from symroof.loopnest.images import Image, apart, image_of
from symroof.loopnest.nests import (
    COPY,
    GRADIENT,
    VECTOR,
    Access,
    Axis,
    Domain,
    Kernel,
    Launched,
    Module,
    Operand,
    Operation,
    Statement,
    kernels_of,
)
from symroof.loopnest.recomputation import remade, with_blocks_remade, with_fuses_remade
from symroof.loopnest.size_polynomials import ONE, ZERO, Polynomial, product


def with_backward(
    module: Module, written: Iterable[str], asked: Iterable[str], derivatives: Mapping[str, Derivative]
) -> Module:
    """A module with its backward pass behind it: gradients of the buffers that are asked for, of what gives something to them.
    Statements are undone from the last to the first, in the order of their names as they are ``written``; the gradients of
    outputs come from outside."""
    return _Backward(module, tuple(written), frozenset(asked), derivatives).module_with_gradients()


class _Backward:
    def __init__(
        self, module: Module, written: tuple[str, ...], asked: frozenset[str], derivatives: Mapping[str, Derivative]
    ) -> None:
        self.module, self.asked, self.order = module, asked, module.order
        places = {name: place for place, name in enumerate(written)}
        every = ((statement, kernel) for kernel in module.kernels for statement in kernel.body)
        self.items = sorted(every, key=lambda item: places[item[0].name])
        self.moving = self._moving()
        self.places = Places(module.buffers, module.order)
        self.rules = Rules(self.places, derivatives, self.moving)
        self.arrived: dict[Variable | Sums, list[Contribution]] = {}
        self.lies: dict[str, Operand] = {}  # the gradient of each result
        self.entries: dict[Variable, tuple[Operand, Access]] = {}  # what entered turns: what it is at first, and later
        self.entering: dict[Variable, str] = {}  # the buffers that stand for its gradient
        self.made: list[Launched] = []
        self.covered: dict[str, Polynomial] = {}  # how much of a buffer has contributions
        self.outputs = {variable_of(access) for _, operand in module.outputs for access in operand}

    def module_with_gradients(self) -> Module:
        self._walk(self.items, 0)
        gradients = {name: self._total(Variable(name), ()) for name in sorted(self.asked)}
        made = [replace(item, statement=self._settled(item.statement)) for item in self.made]
        kernels = tuple(self._with_zeros(self._formed(made)))
        outputs = (self._output(name, lies) for name, lies in gradients.items())
        buffers = {name: b for name, b in self.places.buffers.items() if name not in self.places.others}
        every = (*self.module.kernels, *kernels)
        return replace(self.module, buffers=buffers, kernels=every, outputs=(*self.module.outputs, *outputs))

    def _formed(self, made: list[Launched]) -> tuple[Kernel, ...]:
        """The backward pass as kernels, with what it makes once more: that of a fuse which is one kernel is one as well, and one
        in which something contracts."""
        ahead = frozenset(s.fuse for s, k in self.items if s.fuse and k.body[0].fuse == s.fuse and _is_whole(k))
        contracting = {item.statement.fuse for item in made if item.statement.fuse and item.statement.contracts}
        whole = frozenset({name for fuse in ahead for name in (fuse, going_back(fuse), remade(fuse))} | contracting)
        made = with_fuses_remade([statement for statement, _ in self.items], made, ahead, self.places.buffers)
        made = with_blocks_remade(self._launched(), made, self.places.buffers)
        return tuple(kernel for kernel in kernels_of((*self._launched(), *made), whole) if kernel.backward)

    def _launched(self) -> Iterator[Launched]:
        for statement, kernel in self.items:
            copies = statement.operation.name == COPY
            yield Launched(statement, kernel.launches, alone=kernel.body[0].name if copies else "")

    def _settled(self, statement: Statement) -> Statement:
        return replace(statement, operands=tuple(map(self.places.settled, statement.operands)))

    def _moving(self) -> frozenset[str]:
        """The buffers that have a gradient: what is asked for, and what is made of it."""
        moving, before = set(self.asked), -1
        while before < len(moving):
            before = len(moving)
            for statement, _ in self.items:
                taken = (access.buffer for operand in _taken(statement) for access in operand)
                if not moving.isdisjoint(taken):
                    moving.add(statement.result.buffer)
        return frozenset(moving)

    def _output(self, name: str, lies: Operand) -> tuple[Domain, Operand]:
        buffer = self.places.buffers[name]
        return Domain((Axis(PLACE, buffer.size), *buffer.turns)), self.places.settled(lies)

    # ---- statements and loops, from the last to the first

    def _walk(self, run: list[tuple[Statement, Kernel]], depth: int) -> None:
        end = len(run)
        while end:
            statement, kernel = run[end - 1]
            if len(kernel.launches) <= depth:
                self._statement(statement, kernel.launches)
                end -= 1
                continue
            axis, first = kernel.launches[depth], end
            while first and run[first - 1][1].launches[depth : depth + 1] == (axis,):
                first -= 1
            self._loop(run[first:end], axis, depth)
            end = first

    def _statement(self, statement: Statement, launches: Launches) -> None:
        result = statement.result
        if result.buffer not in self.moving:
            return
        self._require_no_turns_on_chip(statement, launches)
        if result.buffer not in self.lies:
            self.lies[result.buffer] = self._total(Variable(result.buffer), launches, statement)
        gradient = self.places.at(self.lies[result.buffer], result)
        for place, operand in enumerate(statement.operands):
            if any(access.buffer in self.moving for access in operand):
                self._through(statement, place, operand, gradient, launches)
        if any(access.buffer in self.moving for access in statement.table):
            self._through(statement, len(statement.operands), statement.table, gradient, launches)

    def _require_no_turns_on_chip(self, statement: Statement, launches: Launches) -> None:
        own = statement.domain.sizes.keys() & {axis for axis, _ in statement.result.turns if axis}
        if own - {axis.name for axis in launches}:
            shown = "the states of turns that stay on the chip are not kept, so there is no way back through them"
            raise ModelError(shown, expected="the scan outside of the fuse in training")

    def _loop(self, run: list[tuple[Statement, Kernel]], axis: Axis, depth: int) -> None:
        """The turns of a repeat backwards; what all of them use is summed over them, what each has is added up in its turn."""
        launches = run[0][1].launches[: depth + 1]
        pairs = {entry: access for statement, _ in run for entry, access in self._entering(statement, axis)}
        for entry, access in pairs.items():
            self._arrive_from_next(entry, access, axis, launches)
        self._walk(run, depth + 1)
        for entry in pairs:
            self._leave(entry, axis, launches)
        for sums in [s for s in self.arrived if isinstance(s, Sums) and s.launches == launches]:
            self._sum_over_turns(sums)
        for variable in [v for v in self.arrived if isinstance(v, Variable) and v.buffer in self.asked]:
            if self.places.buffers[variable.buffer].turns[-1:] == (axis,):  # a weight of each turn
                self.arrived[variable] = [Contribution(self._total(variable, launches))]

    def _arrive_from_next(self, entry: Variable, access: Access, axis: Axis, launches: Launches) -> None:
        """The gradient of what leaves a turn is that of what enters the next, in the last what arrives from outside."""
        name = self.places.new(f"d{entry.buffer}.entering", entry.buffer, self.places.turns(entry))
        self.entering[entry] = name
        place = next(i for i, (a, _) in enumerate(access.turns) if a == axis.name)
        fixed = tuple(sorted((*entry.fixed, (place, axis.size - 1)), key=lambda pair: pair[0]))
        outside = self._total(Variable(entry.buffer, fixed), launches[:-1])
        last = (a.limited(axis.name, axis.size - 1, ONE, self.order) for a in outside)
        entering = self.places.all_of(name).moved(axis.name, ONE).limited(axis.name, ZERO, axis.size - 1, self.order)
        lies = tuple(a for a in (*last, entering) if a is not None)
        self.arrived.setdefault(Variable(entry.buffer, entry.fixed), []).append(Contribution(lies))

    def _entering(self, statement: Statement, axis: Axis) -> Iterator[tuple[Variable, Access]]:
        """What of a statement's operands entered the turns along an axis and has a gradient."""
        for operand in _taken(statement):
            entry = entry_of(operand, (axis,))
            if entry is not None and entry[1].buffer in self.moving and statement.result.buffer in self.moving:
                yield replace(variable_of(entry[1]), enters=axis.name), entry[1]

    def _leave(self, entry: Variable, axis: Axis, launches: Launches) -> None:
        """The gradient of what enters the turns, once all of a turn have arrived; that of the first is what is outside."""
        name, lies = self.entering[entry], self._total(entry, launches)
        if any(
            access.buffer == name for access in lies
        ):  # what is handed on is handed back: it is what arrives outside
            others = (access for access in lies if access.buffer != name)
            lies = tuple(replace(a, within=tuple(g for g in a.within if g.axis != axis.name)) for a in others)
        self.places.others[name] = lies
        outside, own = self.entries[entry]
        first = tuple(there for a in lies if (there := a.fixed(axis.name, ZERO, self.order)) is not None)
        around = entry_of(outside, launches[:-1])
        if around is None:
            for part in (part for part in outside if part.buffer in self.moving):
                self._require_alike(part, own)
                self._arrive(variable_of(part), part, Contribution(first), launches[:-1])
        else:
            variable, entering = self._entered(outside, *around)
            self._require_alike(entering, own)
            self._arrive(variable, entering, Contribution(first), launches[:-1])

    def _require_alike(self, part: Access, own: Access) -> None:
        alike = (part.offset, dict(part.strides)) == (own.offset, dict(own.strides))
        if not alike or self.places.buffers[part.buffer].size != self.places.buffers[own.buffer].size:
            raise ModelError(
                f"what enters the first turn lies otherwise in {part.buffer} than what leaves one in {own.buffer}",
                expected="a tensor of its own before the repeat: x0 = rearrange(x) -> …",
            )

    def _entered(self, operand: Operand, axis: str, access: Access) -> tuple[Variable, Access]:
        """An operand that entered the turns along an axis as a variable, with where that lies; what it is in the first turn is
        noted for the end of the loop."""
        own = replace(
            access,
            turns=tuple((a, ZERO) if a == axis else (a, shift) for a, shift in access.turns),
            within=tuple(guard for guard in access.within if guard.axis != axis),
        )
        others = (a for a in operand if not enters(a, axis))
        outside = tuple(replace(a, within=tuple(g for g in a.within if g.axis != axis)) for a in others)
        if sum(enters(a, axis) for a in operand) > 1:
            raise ModelError(f"what enters a turn from {access.buffer} lies in several parts, and has no gradient here")
        variable = replace(variable_of(access), enters=axis)
        self.entries.setdefault(variable, (outside, own))
        return variable, own

    def _sum_over_turns(self, sums: Sums) -> None:
        """Contributions over launches that a buffer has no coordinate of: what the turns before gave, and this one's. The backward
        pass goes through the turns of a repeat from the last to the first, and through microbatches from the first on."""
        parts, like = self.arrived.pop(sums), self.places.buffers[sums.variable.buffer]
        own = {axis.name for axis in self.places.turns(sums.variable)}
        axis = next(axis for axis in reversed(sums.launches) if axis.name not in own)
        ahead = axis.name in self.module.microbatches
        name = self.places.new(f"d{like.name}", like.name, sums.launches)
        start = self.places.new(f"{name}.before", like.name, (), GRADIENT)
        lying, begun = self.places.all_of(name), self.places.all_of(start)
        begins, rest = (ZERO, ONE) if ahead else (axis.size - 1, ZERO)
        first = begun.limited(axis.name, begins, ONE, self.order)
        later = lying.moved(axis.name, -ONE if ahead else ONE).limited(axis.name, rest, axis.size - 1, self.order)
        before = tuple(a for a in (first, later) if a is not None)
        self._add(name, (before, *_distinct(parts)), _sum(len(_distinct(parts)) + 1), sums.launches)
        last = lying.fixed(axis.name, axis.size - 1 if ahead else ZERO, self.order)
        assert last is not None
        launches = tuple(a for a in sums.launches if a is not axis)
        self._arrive(sums.variable, None, Contribution((last,)), launches)

    def _through(
        self, statement: Statement, place: int, operand: Operand, gradient: Operand, launches: Launches
    ) -> None:
        """What the gradient of a result gives to that of one operand, part by part; parts that contract are one kernel."""
        entry = entry_of(operand, launches)
        if entry is not None:
            variable, own = self._entered(operand, *entry)
            self._contribute(self.rules.adjoint(statement, place, own, gradient), statement, own, variable, launches)
            return
        alone = f"d{place} {statement.name}" if len(operand) > 1 else ""
        for number, part in enumerate(operand):
            if part.buffer in self.moving:
                adjoint = self.rules.adjoint(statement, place, part, gradient)
                if number and adjoint is not None and any(g.axis == adjoint.operation.over for g in part.within):
                    adjoint = replace(adjoint, operation=replace(adjoint.operation, work=()))  # the rows are done with
                self._contribute(adjoint, statement, part, variable_of(part), launches, alone)

    def _contribute(
        self,
        adjoint: Adjoint | None,
        statement: Statement,
        part: Access,
        variable: Variable,
        launches: Launches,
        alone: str = "",
    ) -> None:
        """A contribution to the gradient of a part: that of the result as it lies, or a statement that makes it."""
        lies = self.lies[statement.result.buffer]
        if adjoint is None and self._is_alike(part, statement.result):
            self._arrive(variable, part, Contribution(lies), launches)
            return
        adjoint = adjoint or Adjoint((self.places.at(lies, statement.result),), Operation("pass", VECTOR))
        self.made += (Launched(before, launches, True) for before in adjoint.before)
        domain, name = domain_of(adjoint, part, statement.domain), f"d{part.buffer}_{statement.name}"
        fuse = going_back(statement.fuse)
        nest = Statement(name, domain, part, adjoint.operands, adjoint.operation, (), fuse, statement.remade)
        self._write(nest, variable, launches, alone if nest.contracts else "")

    def _is_alike(self, part: Access, result: Access) -> bool:
        """Whether the places of a part are those of a result, so that one gradient can be the other."""
        alike = (part.offset, dict(part.strides)) == (result.offset, dict(result.strides))
        sizes = self.places.buffers[part.buffer].size == self.places.buffers[result.buffer].size
        return alike and sizes and not part.within and all(shift == ZERO for axis, shift in part.turns if axis)

    def _write(self, nest: Statement, variable: Variable, launches: Launches, alone: str) -> None:
        """A statement that makes a contribution, in a buffer for it; other places of one buffer lie beside one another."""
        part, fixed = nest.result, {i for i, _ in variable.fixed}
        image = image_of(part, nest.domain, self.order, frozenset(axis.name for axis in launches))
        lacking = not {axis.name for axis in launches} <= {*part.axes, *(axis for axis, _ in part.turns)}
        slot = Sums(variable, launches) if lacking else variable
        turns = launches if lacking else self.places.turns(variable)
        name = self._beside(image, slot) or self.places.new(f"d{part.buffer}", part.buffer, turns)
        coordinates = tuple(turn for i, turn in enumerate(part.turns) if i not in fixed)
        coordinates = tuple((axis.name, ZERO) for axis in launches) if lacking else coordinates
        nest = replace(nest, result=replace(part, buffer=name, turns=coordinates))
        for guard in part.within:
            if guard.axis in nest.domain.sizes and guard.axis != nest.operation.over:
                nest = nest.limited(guard)
        self.made.append(Launched(nest, launches, True, alone))
        self.covered[name] = self.covered.get(name, ZERO) + _places(image, launches)
        self.arrived.setdefault(slot, []).append(Contribution((self.places.all_of(name),), image))

    def _beside(self, image: Image, slot: Variable | Sums) -> str | None:
        """A buffer of contributions to other places than those of an image."""
        images: dict[Operand, list[Image | None]] = {}
        for contribution in self.arrived.get(slot, ()):
            images.setdefault(contribution.lies, []).append(contribution.image)
        for lies, others in images.items():
            if all(other is not None and apart(image, other, self.order) for other in others):
                return lies[0].buffer
        return None

    def _arrive(self, variable: Variable, part: Access | None, contribution: Contribution, launches: Launches) -> None:
        own = {axis.name for axis in self.places.turns(variable)} | ({*part.axes} if part is not None else set())
        lacking = any(axis.name not in own for axis in launches)
        slot = Sums(variable, launches) if lacking else variable
        self.arrived.setdefault(slot, []).append(contribution)

    def _total(self, variable: Variable, launches: Launches, maker: Statement | None = None) -> Operand:
        """Where the gradient of something lies once all contributions have arrived; from outside where there are none. They are
        added in the fuse of what made it."""
        parts = _distinct(self.arrived.pop(variable, []))
        turns, like = self.places.turns(variable), variable.buffer
        if not parts or variable in self.outputs:
            name = self.places.new(f"d{like}", like, turns, GRADIENT)
            parts = (*parts, (self.places.all_of(name),))
        if len(parts) == 1:
            return parts[0]
        name = self.places.new(f"d{like}", like, turns)
        self._add(name, parts, _sum(len(parts)), launches, maker)
        return (self.places.all_of(name),)

    def _add(
        self,
        name: str,
        parts: tuple[Operand, ...],
        operation: Operation,
        launches: Launches,
        maker: Statement | None = None,
    ) -> None:
        """A statement that goes through the places of a buffer."""
        domain = Domain((Axis(PLACE, self.places.buffers[name].size),))
        fuse, remade = ("", "") if maker is None else (going_back(maker.fuse), maker.remade)
        nest = Statement(name, domain, self.places.all_of(name), parts, operation, (), fuse, remade)
        self.made.append(Launched(nest, launches, True))

    def _with_zeros(self, kernels: Iterable[Kernel]) -> Iterator[Kernel]:
        """Where contributions leave places of a gradient out, as those of a single slice do, zeros stand there first."""
        left_out = {name for name, n in self.covered.items() if n != self.places.buffers[name].size}
        for kernel in kernels:
            here = dict.fromkeys(s.result.buffer for s in kernel.body if s.result.buffer in left_out)
            left_out -= here.keys()
            yield replace(kernel, body=(*map(self.places.zeros, here), *kernel.body))


def _places(image: Image, launches: Launches) -> Polynomial:
    """How many places of a buffer all launches touch."""
    sizes = {axis.name: axis.size for axis in launches}
    return product((*(n for _, n in image.terms), *(sizes[axis] for axis, _ in image.moving)))


def _is_whole(kernel: Kernel) -> bool:
    """Whether a fuse is one kernel: something in it contracts, or turns are gone through on the chip."""
    turns = {axis for s in kernel.body for axis, _ in s.result.turns if axis}
    return any(s.contracts for s in kernel.body) or not turns <= kernel.turns


def _taken(statement: Statement) -> tuple[Operand, ...]:
    return (*statement.operands, statement.table)


def _distinct(parts: Iterable[Contribution]) -> tuple[Operand, ...]:
    return tuple(dict.fromkeys(part.lies for part in parts))


def _sum(parts: int) -> Operation:
    return Operation("+", VECTOR, ((Fraction(parts - 1), (PLACE,)),))
