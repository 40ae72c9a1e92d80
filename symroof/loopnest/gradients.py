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

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction

from symroof.errors import ModelError
from symroof.formula import Frozen
from symroof.loopnest.images import Image, apart, image_of
from symroof.loopnest.nests import (
    CONTRACTION,
    COPY,
    GRADIENT,
    MATRIX,
    VECTOR,
    Access,
    Axis,
    Buffer,
    Domain,
    Guard,
    Kernel,
    Launched,
    Module,
    Operand,
    Operation,
    Statement,
    bound,
    kernels_of,
)
from symroof.loopnest.recomputation import remade, with_blocks_remade
from symroof.loopnest.size_polynomials import ONE, ZERO, Polynomial, product

# The axis of places in a buffer.
PLACE = "place"
# What a derivative reads beside the gradient that comes in.
OPERANDS, RESULT, NOTHING, DIVISOR = "operands", "result", "nothing", "divisor"

Launches = tuple[Axis, ...]


class Derivative(Frozen):
    """What the table of functions says of going back: operations for each element and each row, what is read, how many of its
    operands are no gains, and whether it takes nothing, so that a gradient passes as it is."""

    each: Fraction
    row: Fraction
    needs: str = OPERANDS
    operands: int = 1
    passes: bool = False


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


def with_backward(module: Module, asked: Iterable[str], derivatives: Mapping[str, Derivative]) -> Module:
    """A module with its backward pass behind it: gradients of the buffers that are asked for, of what gives something to them.
    The gradients of its outputs come from outside."""
    return _Backward(module, frozenset(asked), derivatives).module_with_gradients()


class _Backward:
    def __init__(self, module: Module, asked: frozenset[str], derivatives: Mapping[str, Derivative]) -> None:
        self.module, self.asked, self.derivatives, self.order = module, asked, derivatives, module.order
        self.buffers = dict(module.buffers)
        self.items = [(statement, kernel) for kernel in module.kernels for statement in kernel.body]
        self.fuses = {s.fuse for s, _ in self.items if s.fuse}
        self.whole = {s.fuse for s, k in self.items if s.fuse and k.body[0].fuse == s.fuse and _is_whole(k)}
        self.moving = self._moving()
        self.arrived: dict[Variable | Sums, list[Contribution]] = {}
        self.lies: dict[str, Operand] = {}  # the gradient of each result
        self.entries: dict[Variable, tuple[Operand, Access]] = {}
        self.entering: dict[Variable, str] = {}  # the buffers of what enters turns
        self.others: dict[str, Operand] = {}  # those of them that are other gradients
        self.made: list[Launched] = []
        self.covered: dict[str, Polynomial] = {}  # how much of a buffer has contributions
        self.outputs = {_variable(access) for _, operand in module.outputs for access in operand}

    # ---- the whole

    def module_with_gradients(self) -> Module:
        self._walk(self.items, 0)
        gradients = {name: self._total(Variable(name), ()) for name in sorted(self.asked)}
        made = [replace(item, statement=self._settled(item.statement)) for item in self.made]
        contracting = {i.statement.fuse for i in made if i.statement.fuse and i.statement.contracts}
        whole = {name for fuse in self.whole for name in (_back(fuse), remade(fuse))} | contracting
        ahead = (
            Launched(s, k.launches, alone=k.body[0].name if s.operation.name == COPY else "") for s, k in self.items
        )
        made = with_blocks_remade(ahead, self._with_fuses_remade(made), self.buffers)
        kernels = tuple(self._with_zeros(kernels_of(made, frozenset(whole))))
        outputs = (self._output(name, lies) for name, lies in gradients.items())
        every = (*self.module.kernels, *kernels)
        buffers = {name: b for name, b in self.buffers.items() if name not in self.others}
        return replace(self.module, buffers=buffers, kernels=every, outputs=(*self.module.outputs, *outputs))

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
        buffer = self.buffers[name]
        return Domain((Axis(PLACE, buffer.size), *buffer.turns)), self._where(lies)

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
        gradient = self._at(self.lies[result.buffer], result)
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
        """The turns of a repeat backwards: what enters a turn gives its gradient to what left the one before."""
        launches = run[0][1].launches[: depth + 1]
        pairs = {entry: access for statement, _ in run for entry, access in self._entering(statement, axis)}
        for entry, access in pairs.items():
            left = Variable(entry.buffer, entry.fixed)
            self.entering[entry] = name = self._new(f"d{entry.buffer}.entering", entry.buffer, self._turns(entry))
            place = next(i for i, (a, _) in enumerate(access.turns) if a == axis.name)
            fixed = tuple(sorted((*entry.fixed, (place, axis.size - 1)), key=lambda pair: pair[0]))
            outside = self._total(Variable(entry.buffer, fixed), launches[:-1])
            last = (a.limited(axis.name, axis.size - 1, ONE, self.order) for a in outside)
            next_ = self._lying(name).moved(axis.name, ONE).limited(axis.name, ZERO, axis.size - 1, self.order)
            lies = tuple(a for a in (*last, next_) if a is not None)
            self.arrived.setdefault(left, []).append(Contribution(lies))
        self._walk(run, depth + 1)
        for entry in pairs:
            self._leave(entry, axis, launches)
        for sums in [s for s in self.arrived if isinstance(s, Sums) and s.launches == launches]:
            self._sum_over_turns(sums)
        for variable in [v for v in self.arrived if isinstance(v, Variable) and v.buffer in self.asked]:
            if self.buffers[variable.buffer].turns[-1:] == (axis,):  # a weight of each turn
                self.arrived[variable] = [Contribution(self._total(variable, launches))]

    def _entering(self, statement: Statement, axis: Axis) -> Iterator[tuple[Variable, Access]]:
        """What of a statement's operands entered the turns along an axis and has a gradient."""
        for operand in _taken(statement):
            entry = _entry(operand, (axis,))
            if entry is not None and entry[1].buffer in self.moving and statement.result.buffer in self.moving:
                yield replace(_variable(entry[1]), enters=axis.name), entry[1]

    def _leave(self, entry: Variable, axis: Axis, launches: Launches) -> None:
        """The gradient of what enters the turns, once all of a turn have arrived; that of the first is what is outside."""
        name, lies = self.entering[entry], self._total(entry, launches)
        if any(access.buffer == name for access in lies):  # what is handed on is handed back
            self._add(name, (lies,), Operation(COPY), launches)
            lies = (self._lying(name),)
        else:
            self.others[name] = lies
        outside, own = self.entries[entry]
        first = tuple(there for a in lies if (there := a.fixed(axis.name, ZERO, self.order)) is not None)
        around = _entry(outside, launches[:-1])
        if around is None:
            for part in (part for part in outside if part.buffer in self.moving):
                self._require_alike(part, own)
                self._arrive(_variable(part), part, Contribution(first), launches[:-1])
        else:
            variable, entering = self._entered(outside, *around)
            self._require_alike(entering, own)
            self._arrive(variable, entering, Contribution(first), launches[:-1])

    def _require_alike(self, part: Access, own: Access) -> None:
        alike = (part.offset, dict(part.strides)) == (own.offset, dict(own.strides))
        if not alike or self.buffers[part.buffer].size != self.buffers[own.buffer].size:
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
        others = (a for a in operand if not _enters(a, axis))
        outside = tuple(replace(a, within=tuple(g for g in a.within if g.axis != axis)) for a in others)
        if sum(_enters(a, axis) for a in operand) > 1:
            raise ModelError(f"what enters a turn from {access.buffer} lies in several parts, and has no gradient here")
        variable = replace(_variable(access), enters=axis)
        self.entries.setdefault(variable, (outside, own))
        return variable, own

    def _sum_over_turns(self, sums: Sums) -> None:
        """Contributions over launches that a buffer has no coordinate of: what the turns before gave, and this one's. The backward
        pass goes through the turns of a repeat from the last to the first, and through microbatches from the first on."""
        parts, like = self.arrived.pop(sums), self.buffers[sums.variable.buffer]
        own = {axis.name for axis in self._turns(sums.variable)}
        axis = next(axis for axis in reversed(sums.launches) if axis.name not in own)
        ahead = axis.name in self.module.microbatches
        name = self._new(f"d{like.name}", like.name, sums.launches)
        start = self._new(f"{name}.before", like.name, ())
        self.buffers[start] = replace(self.buffers[start], role=GRADIENT)
        lying, begun = self._lying(name), self._lying(start)
        begins, rest = (ZERO, ONE) if ahead else (axis.size - 1, ZERO)
        first = begun.limited(axis.name, begins, ONE, self.order)
        later = lying.moved(axis.name, -ONE if ahead else ONE).limited(axis.name, rest, axis.size - 1, self.order)
        before = tuple(a for a in (first, later) if a is not None)
        self._add(name, (before, *_distinct(parts)), _sum(len(_distinct(parts)) + 1), sums.launches)
        last = lying.fixed(axis.name, axis.size - 1 if ahead else ZERO, self.order)
        assert last is not None
        launches = tuple(a for a in sums.launches if a is not axis)
        self._arrive(sums.variable, None, Contribution((last,)), launches)

    # ---- contributions

    def _through(
        self, statement: Statement, place: int, operand: Operand, gradient: Operand, launches: Launches
    ) -> None:
        """What the gradient of a result gives to that of one operand, part by part."""
        entry = _entry(operand, launches)
        if entry is not None:
            variable, own = self._entered(operand, *entry)
            self._contribute(statement, place, own, variable, gradient, launches)
            return
        for number, part in enumerate(operand):
            if part.buffer in self.moving:
                several = number + 1 if len(operand) > 1 else 0
                self._contribute(statement, place, part, _variable(part), gradient, launches, several)

    def _contribute(
        self,
        statement: Statement,
        place: int,
        part: Access,
        variable: Variable,
        gradient: Operand,
        launches: Launches,
        several: int = 0,
    ) -> None:
        made = self._adjoint(statement, place, part, gradient)
        alike = (part.offset, dict(part.strides)) == (statement.result.offset, dict(statement.result.strides))
        sizes = self.buffers[part.buffer].size == self.buffers[statement.result.buffer].size
        same_turns = all(shift == ZERO for _, shift in part.turns)
        if made is None and alike and sizes and same_turns and not part.within:
            lies = self.lies[statement.result.buffer]
            self._arrive(variable, part, Contribution(lies), launches)
            return
        made = made or _Adjoint((gradient,), Operation("pass", VECTOR))
        if several > 1 and any(guard.axis == made.operation.over for guard in part.within):  # the rows are done with
            made = _Adjoint(made.operands, replace(made.operation, work=()))
        axes = {a for o in made.operands for x in o for a in (*x.axes, *(t for t, _ in x.turns))}
        axes |= {*part.axes, *(a for a, _ in part.turns), *(a for g in part.within for a, _ in g.axes)}
        axes |= {a for _, w in made.operation.work for a in w} | {made.operation.over}
        stairs = tuple(s for s in statement.domain.stairs if {s.row, s.column} <= axes)
        domain = Domain(tuple(a for a in statement.domain.axes if a.name in axes), stairs)
        name = f"d{part.buffer}_{statement.name}"
        nest = Statement(name, domain, part, made.operands, made.operation, (), _back(statement.fuse), statement.remade)
        self._write(nest, variable, part, launches, f"d{place} {statement.name}" if several and nest.contracts else "")

    def _write(self, nest: Statement, variable: Variable, part: Access, launches: Launches, alone: str) -> None:
        """A statement that makes a contribution, in a buffer for it; other places of one buffer lie beside one another."""
        lacking = self._lacking(part, variable, launches)
        slot = Sums(variable, launches) if lacking else variable
        image = image_of(part, nest.domain, self.order, frozenset(axis.name for axis in launches))
        beside = next((c for c in self.arrived.get(slot, ()) if c.image and apart(image, c.image, self.order)), None)
        turns = launches if lacking else self._turns(variable)
        if beside is not None and all(
            c.image is not None and apart(image, c.image, self.order)
            for c in self.arrived[slot]
            if c.lies == beside.lies
        ):
            name = beside.lies[0].buffer
        else:
            name = self._new(f"d{part.buffer}", part.buffer, turns)
        coordinates = part.turns if not lacking else tuple((axis.name, ZERO) for axis in launches)
        fixed = {i for i, _ in variable.fixed}
        coordinates = tuple(t for i, t in enumerate(coordinates) if lacking or i not in fixed)
        result = replace(part, buffer=name, turns=coordinates)
        nest = replace(nest, result=result)
        for guard in part.within:
            if guard.axis in nest.domain.sizes and guard.axis != nest.operation.over:
                nest = self._limited(nest, guard)
        self.made.append(Launched(nest, launches, True, alone))
        sizes = {axis.name: axis.size for axis in launches}
        places = product((*(n for _, n in image.terms), *(sizes[axis] for axis, _ in image.moving)))
        self.covered[name] = self.covered.get(name, ZERO) + places
        self.arrived.setdefault(slot, []).append(Contribution((self._lying(name),), image))

    def _limited(self, nest: Statement, guard: Guard) -> Statement:
        """A loop nest over the part of an axis that a guard leaves: the axis counts from its first place."""
        axis = guard.axis or ""
        own = bound(axis, ZERO, guard.length)

        def moved(access: Access) -> Access:
            there = access.moved(axis, guard.first)
            return replace(there, within=tuple(g for g in there.within if g != own))

        axes = tuple(replace(a, size=guard.length) if a.name == axis else a for a in nest.domain.axes)
        operands = tuple(tuple(map(moved, operand)) for operand in nest.operands)
        domain = replace(nest.domain, axes=axes)
        return replace(nest, domain=domain, result=moved(nest.result), operands=operands)

    def _lacking(self, part: Access, variable: Variable, launches: Launches) -> bool:
        """Whether there are launches that all write to the same places."""
        there = {*part.axes, *(axis for axis, _ in part.turns)}
        fixed = bool(variable.fixed)
        return any(axis.name not in there for axis in launches) and not (fixed and not launches)

    def _arrive(self, variable: Variable, part: Access | None, contribution: Contribution, launches: Launches) -> None:
        own = {axis.name for axis in self._turns(variable)} | ({*part.axes} if part is not None else set())
        lacking = any(axis.name not in own for axis in launches)
        slot = Sums(variable, launches) if lacking else variable
        self.arrived.setdefault(slot, []).append(contribution)

    def _total(self, variable: Variable, launches: Launches, maker: Statement | None = None) -> Operand:
        """Where the gradient of something lies once all contributions have arrived; from outside where there are none. They are
        added in the fuse of what made it."""
        parts = _distinct(self.arrived.pop(variable, []))
        turns, like = self._turns(variable), variable.buffer
        if not parts or variable in self.outputs:
            name = self._new(f"d{like}", like, turns)
            self.buffers[name] = replace(self.buffers[name], role=GRADIENT)
            parts = (*parts, (self._lying(name),))
        if len(parts) == 1:
            return parts[0]
        name = self._new(f"d{like}", like, turns)
        self._add(name, parts, _sum(len(parts)), launches, maker)
        return (self._lying(name),)

    def _add(
        self,
        name: str,
        parts: tuple[Operand, ...],
        operation: Operation,
        launches: Launches,
        maker: Statement | None = None,
    ) -> None:
        """A statement that goes through the places of a buffer."""
        domain = Domain((Axis(PLACE, self.buffers[name].size),))
        fuse, remade = ("", "") if maker is None else (_back(maker.fuse), maker.remade)
        nest = Statement(name, domain, self._lying(name), parts, operation, (), fuse, remade)
        self.made.append(Launched(nest, launches, True))

    # ---- where gradients lie

    def _turns(self, variable: Variable) -> Launches:
        fixed = {i for i, _ in variable.fixed}
        return tuple(axis for i, axis in enumerate(self.buffers[variable.buffer].turns) if i not in fixed)

    def _new(self, name: str, like: str, turns: Launches | None = None) -> str:
        while name in self.buffers:
            name += "*"
        old = self.buffers[like]
        self.buffers[name] = Buffer(name, old.turns if turns is None else turns, old.size, old.bits)
        return name

    def _lying(self, name: str) -> Access:
        turns = tuple((axis.name, ZERO) for axis in self.buffers[name].turns)
        return Access(name, turns, ZERO, ((PLACE, ONE),))

    def _at(self, lies: Operand, access: Access) -> Operand:
        """The gradient at the places of an access of its tensor."""
        names = {axis.name: turn for axis, turn in zip(self.buffers[access.buffer].turns, access.turns, strict=True)}
        found = []
        for part in lies:
            turns = tuple(
                (axis, shift) if axis is None else _put(names.get(axis, (axis, ZERO)), shift)
                for axis, shift in part.turns
            )
            there = Access(part.buffer, turns, access.offset, access.strides, access.within)
            found.append(self._guarded(there, part.within, names))
        return tuple(access for access in found if access is not None)

    def _guarded(
        self, access: Access, guards: Iterable[Guard], names: Mapping[str, tuple[str | None, Polynomial]]
    ) -> Access | None:
        """An access under guards on turns, of which each is another turn, or the turn that a number says."""
        found: Access | None = access
        for guard in guards:
            axis, shift = names.get(guard.axis or "", (guard.axis, ZERO))
            first, end = guard.first - shift, guard.first + guard.length - shift
            if found is None or (
                axis is None and not (self.order.at_least(ZERO, first) and self.order.at_least(end, ONE))
            ):
                return None
            found = found if axis is None else found.limited(axis, first, guard.length, self.order)
        return found

    def _where(self, operand: Operand) -> Operand:
        """Where a gradient lies at last: that of what enters turns may be another gradient."""
        found: list[Access] = []
        for access in operand:
            lies = self.others.get(access.buffer)
            found += (access,) if lies is None else self._where(self._at(lies, access))
        return tuple(found)

    def _settled(self, statement: Statement) -> Statement:
        return replace(statement, operands=tuple(map(self._where, statement.operands)))

    # ---- the rule of each operation

    def _adjoint(self, statement: Statement, place: int, part: Access, gradient: Operand) -> _Adjoint | None:
        """What the gradient of an operand is computed of, and how; None where it is that of the result."""
        name = statement.operation.name
        rule = RULES.get(name)
        if rule is not None:
            return rule(self, statement, place, part, gradient)
        if name not in self.derivatives:
            raise ModelError(f"{name} has no derivative, so there is no gradient of its operand")
        return self._of_function(statement, place, part, gradient, self.derivatives[name])

    def _of_product(self, statement: Statement, place: int, part: Access, gradient: Operand) -> _Adjoint:
        others = (*statement.operands[:place], gradient, *statement.operands[place + 1 :])
        axes = {axis for operand in others for access in operand for axis in _axes(access, statement.domain)}
        here = _axes(part, statement.domain)
        if not axes - {*here}:
            return _Adjoint(others, Operation("*", VECTOR, ((Fraction(len(others) - 1), here),)))
        if len(others) > 2:
            others = (self._multiplied(statement, place), gradient)
        every = tuple(axis for axis in statement.domain.sizes if axis in axes or axis in here)
        return _Adjoint(others, Operation(CONTRACTION, MATRIX, ((Fraction(2), every),)))

    def _multiplied(self, statement: Statement, place: int) -> Operand:
        """The other factors of a product, multiplied before what is summed: two products and not one of three."""
        others = statement.operands[:place] + statement.operands[place + 1 :]
        used = {axis for operand in others for access in operand for axis in _axes(access, statement.domain)}
        axes = tuple(axis for axis in statement.domain.axes if axis.name in used)
        turns, name = self.buffers[statement.result.buffer].turns, f"{statement.name}_{place}"
        strides = tuple((axis.name, product(a.size for a in axes[i + 1 :])) for i, axis in enumerate(axes))
        bits = self.buffers[statement.result.buffer].bits
        self.buffers[name] = Buffer(name, turns, product(axis.size for axis in axes), bits)
        result = Access(name, tuple((axis.name, ZERO) for axis in turns), ZERO, strides)
        work = ((Fraction(len(others) - 1), tuple(axis.name for axis in axes)),)
        fuse = _back(statement.fuse)
        nest = Statement(name, Domain(axes), result, others, Operation("*", VECTOR, work), (), fuse, statement.remade)
        self.made.append(Launched(nest, turns, True))
        return (result,)

    def _of_sum(self, statement: Statement, place: int, part: Access, gradient: Operand) -> _Adjoint | None:
        here, result = _axes(part, statement.domain), _axes(statement.result, statement.domain)
        if len(statement.operands) == 1 and {*here} != {*result}:
            return _Adjoint((gradient,), Operation("broadcast", VECTOR))
        if statement.operation.name == "-" and (place or len(statement.operands) == 1):
            return _Adjoint((gradient,), Operation("-", VECTOR, ((Fraction(1), result),)))
        return self._passed(statement, part, gradient)

    def _passed(self, statement: Statement, part: Access, gradient: Operand) -> _Adjoint | None:
        """A gradient as it is: summed over what the operand lacks, and in the type of the operand."""
        here, result = _axes(part, statement.domain), _axes(statement.result, statement.domain)
        if {*here} != {*result}:
            work = ((Fraction(1), result), (Fraction(-1), here))
            return _Adjoint((gradient,), Operation("+", VECTOR, work))
        if self.buffers[part.buffer].bits != self.buffers[statement.result.buffer].bits:
            return _Adjoint((gradient,), Operation("convert", VECTOR, ((Fraction(1), result),)))
        return None

    def _of_copy(self, statement: Statement, place: int, part: Access, gradient: Operand) -> None:
        return None

    def _of_rearranged(self, statement: Statement, place: int, part: Access, gradient: Operand) -> _Adjoint:
        name, derivative = statement.operation.name, self.derivatives[statement.operation.name]
        work = ((derivative.each, statement.result.axes),) if derivative.each else ()
        return _Adjoint((gradient,), Operation(f"{name}'", VECTOR, work))

    def _of_lookup(self, statement: Statement, place: int, part: Access, gradient: Operand) -> _Adjoint:
        operation = Operation("lookup'", VECTOR, over=statement.operation.over)
        return _Adjoint((statement.operands[-1], gradient), operation)

    def _of_maximum(self, statement: Statement, place: int, part: Access, gradient: Operand) -> _Adjoint:
        hint = "freeze what it is of, or leave it out: softmax, sum and mean have one"
        raise ModelError(f"{statement.name} is a maximum and has no derivative here", hint=hint)

    def _of_function(
        self, statement: Statement, place: int, part: Access, gradient: Operand, derivative: Derivative
    ) -> _Adjoint | None:
        name, here = statement.operation.name, _axes(part, statement.domain)
        operands = statement.operands
        first = _axes(operands[0][0], statement.domain)
        if place > derivative.operands or (derivative.passes and {*here} == {*first}):
            return self._passed(statement, part, gradient)
        over = statement.operation.over
        if place == derivative.operands:
            twice = ((Fraction(2), first),)
            return _Adjoint((operands[0], gradient), Operation(f"{name}_gain'", VECTOR, twice, over))
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
        return _Adjoint((*taken, gradient), operation)

    # ---- zeros, and what is made once more

    def _with_zeros(self, kernels: Iterable[Kernel]) -> Iterator[Kernel]:
        """Where contributions leave places of a gradient out, as those of a single slice do, zeros stand there first."""
        left_out = {name for name, n in self.covered.items() if n != self.buffers[name].size}
        for kernel in kernels:
            here = dict.fromkeys(s.result.buffer for s in kernel.body if s.result.buffer in left_out)
            left_out -= here.keys()
            zeros = (
                Statement(
                    name,
                    Domain((Axis(PLACE, self.buffers[name].size),)),
                    self._lying(name),
                    (),
                    Operation("zeros", VECTOR),
                )
                for name in here
            )
            yield replace(kernel, body=(*zeros, *kernel.body))

    def _with_fuses_remade(self, items: list[Launched]) -> list[Launched]:
        """The backward pass of a fuse makes once more on the chip what it takes of its inside, in buffers of its own and
        uncounted: a convention."""
        for fuse in self.whole:
            mine = [i for i, item in enumerate(items) if item.statement.fuse == _back(fuse)]
            if mine:
                again = self._made_on_chip(fuse, [items[i].statement for i in mine])
                names = {s.result.buffer: f"{s.result.buffer} again" for s in again}
                for name, other in names.items():
                    self.buffers[other] = replace(self.buffers[name], name=other)
                launches = items[mine[0]].launches
                inside = [Launched(_in_buffers(s, names, _back(fuse)), launches, True) for s in again]
                for i in mine:
                    there = _in_buffers(items[i].statement, names, _back(fuse))
                    items[i] = replace(items[i], statement=replace(there, result=items[i].statement.result))
                items = [*items[: mine[0]], *inside, *items[mine[0] :]]
        return items

    def _made_on_chip(self, fuse: str, back: list[Statement]) -> list[Statement]:
        """The statements of a fuse whose results its backward pass takes, without their work."""
        needed = {access.buffer for s in back for operand in s.operands for access in operand}
        again: list[Statement] = []
        for statement, _ in reversed(self.items):
            if statement.fuse == fuse and statement.result.buffer in needed:
                again.insert(0, replace(statement, operation=replace(statement.operation, work=())))
                needed |= {access.buffer for operand in statement.operands for access in operand}
        return again


class _Adjoint(Frozen):
    operands: tuple[Operand, ...]
    operation: Operation


Rule = Callable[[_Backward, Statement, int, Access, Operand], _Adjoint | None]
RULES: Mapping[str, Rule] = {
    CONTRACTION: _Backward._of_product,
    "*": _Backward._of_product,
    "+": _Backward._of_sum,
    "-": _Backward._of_sum,
    "max": _Backward._of_maximum,
    COPY: _Backward._of_copy,
    "rearrange": _Backward._of_rearranged,
    "windows": _Backward._of_rearranged,
    "lookup": _Backward._of_lookup,
}


def _in_buffers(statement: Statement, names: Mapping[str, str], fuse: str) -> Statement:
    """A statement of a fuse that reads and makes what has other names there."""

    def put(access: Access) -> Access:
        return replace(access, buffer=names.get(access.buffer, access.buffer))

    operands = tuple(tuple(map(put, operand)) for operand in statement.operands)
    return replace(statement, result=put(statement.result), operands=operands, fuse=fuse)


def _back(fuse: str) -> str:
    """The name of the backward pass of a fuse."""
    return f"{fuse}'" if fuse else ""


def _is_whole(kernel: Kernel) -> bool:
    """Whether a fuse is one kernel: something in it contracts, or turns are gone through on the chip."""
    turns = {axis for s in kernel.body for axis, _ in s.result.turns if axis}
    return any(s.contracts for s in kernel.body) or not turns <= kernel.turns


def _taken(statement: Statement) -> tuple[Operand, ...]:
    return (*statement.operands, statement.table)


def _axes(access: Access, domain: Domain) -> tuple[str, ...]:
    """The axes of a domain that an access depends on."""
    there = {*access.axes, *(axis for axis, _ in access.turns), *(a for g in access.within for a, _ in g.axes)}
    return tuple(axis for axis in domain.sizes if axis in there)


def _enters(access: Access, axis: str) -> bool:
    return (axis, -ONE) in access.turns


def _entry(operand: Operand, launches: Launches) -> tuple[str, Access] | None:
    """The innermost axis along which an operand entered the turn, and where it lay in the turn before."""
    for axis in reversed(launches):
        for access in operand:
            if _enters(access, axis.name):
                return axis.name, access
    return None


def _variable(access: Access) -> Variable:
    return Variable(access.buffer, tuple((i, shift) for i, (axis, shift) in enumerate(access.turns) if axis is None))


def _put(turn: tuple[str | None, Polynomial], shift: Polynomial) -> tuple[str | None, Polynomial]:
    return turn[0], turn[1] + shift


def _distinct(parts: Iterable[Contribution]) -> tuple[Operand, ...]:
    return tuple(dict.fromkeys(part.lies for part in parts))


def _sum(parts: int) -> Operation:
    return Operation("+", VECTOR, ((Fraction(parts - 1), (PLACE,)),))
