"""What one chip of a mesh does for a program: its part of the work and of the traffic, and what its links carry.

A chip reads of each operand what it multiplies (gathered: whole; sliced: the slice) and writes what it computes (partial
sums: all of them); what is exchanged is in memory before and behind the exchange, which itself is on the links alone. A collective over the axes of one link keeps each of them busy: with N chips
in all and k directions together, (N - 1)/(N k) of the message for an all-gather; see :mod:`symroof.model.collectives`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, count

from sympy import Add, Expr, Integer, Mul, Rational

from symroof.errors import ModelError
from symroof.formula import Frozen, once
from symroof.model.collectives import (
    BACK,
    COLLECTIVES,
    FAR,
    HANDED,
    SWITCHED,
    TREE,
    MeshAxis,
    hops,
    joined_levels,
    shares_on_tree,
)
from symroof.model.kernels import (
    Exchanged,
    Load,
    contraction,
    cost_owners,
    elementwise,
    kernel_loads,
    kernel_stores,
    kernels_of,
    write_loop,
)
from symroof.model.pipeline_stages import require_stages, turns_on_a_chip
from symroof.model.placement import Placement, Reshard, placements
from symroof.model.program import Program
from symroof.model.program_sizes import require_whole_places
from symroof.model.program_tree import EXCHANGE, Line, Repeat
from symroof.model.splits import Split, axes_in, needed_split, split_of, view_split
from symroof.symbols import rational


class Exchange(Frozen):
    """A collective of a statement in all turns of its repeats: what each resource carries of it, and by how many hops of
    each link its last bytes come, one after the other, in each turn. ``label`` is what its costs are called after: its
    statement, and of several its tensor."""

    label: str
    move: Reshard
    turns: Expr
    sent: Mapping[str, Expr]
    hops: Mapping[str, Expr]


class ChipCost(Frozen):
    """What a chip does of a statement and of those that join it, in all turns; ``loads`` and ``stores`` are bytes by tensor,
    ``exchanges`` what goes over its links."""

    flops_exact: Expr
    flops: Expr
    ops: Expr
    loads: tuple[tuple[str, Expr], ...]
    stores: tuple[tuple[str, Expr], ...]
    exchanges: tuple[Exchange, ...]
    moves: tuple[Reshard, ...]

    @property
    def sent(self) -> Mapping[str, Expr]:
        """What each resource carries."""
        result: dict[str, Expr] = {}
        for resource, amount in (pair for exchange in self.exchanges for pair in exchange.sent.items()):
            result[resource] = result.get(resource, Integer(0)) + amount
        return result

    def over(self, resource: str) -> tuple[Exchange, ...]:
        """The exchanges that go over a resource."""
        return tuple(exchange for exchange in self.exchanges if resource in exchange.sent)

    @property
    def moved(self) -> Expr:
        """The bytes that are read and written."""
        return Add(*(amount for _, amount in (*self.loads, *self.stores)))


@once
def chip_costs(program: Program) -> Mapping[str, ChipCost]:
    """What one chip of the mesh does of each statement that has costs of its own; empty on one chip, and where the mesh lacks
    an axis."""
    if not program.axes or not {*program.axes} <= {axis.name for axis in program.mesh}:
        return {}
    size = {axis.name: axis.size for axis in program.mesh}
    require_stages(program)
    for line in program.lines:
        _require_whole_masks(line)
        require_whole_places(line)
    places = {place.line.statement.name: place for place in placements(program)}
    exchanged = _exchanged(places.values(), program)
    names = kernel_stores(program, exchanged)
    result: dict[str, ChipCost] = {}

    def part(axes: Iterable[str]) -> Expr:
        return Mul(*(size[axis] for axis in axes))

    def often(repeats: Iterable[Repeat]) -> Expr:
        return turns_on_a_chip(repeats, size)

    for kernel in kernels_of(program):
        owners = cost_owners(kernel, program)
        for owner in dict.fromkeys(owners.values()):
            group = [places[line.statement.name] for line in kernel if owners[line.statement.name] == owner]
            loads = tuple(
                (str(fetch.tensor.name), often(fetch.repeats) * fetch.bytes / part(axes_in(form)))
                for fetch in kernel_loads(kernel, program, exchanged)
                if owners[fetch.line.statement.name] == owner
                for form in sorted(_forms_read(program, fetch, places), key=sorted)
            )
            memory, pairs = program.memory, [(p, p.line.statement) for p in group]
            pairs = [(p, s) for p, s in pairs if not s.collects]
            results = ((p, s.result, p.form) for p, s in pairs if s.name in names and not s.cuts)
            copies = ((p, t, split_of(t)) for p, _ in pairs for t in memory.copied(p.line))
            slices = ((p, program.arrays[x], places[x].form) for p, s in pairs for x in memory.slices_of(s.name, names))
            rows = ((often(write_loop(p.line, program, names)), t, form) for p, t, form in (*results, *copies, *slices))
            stores = tuple((str(t.name), turns * t.bytes / part(axes_in(form))) for turns, t, form in rows)
            exact, flops = _contraction(group, part, often)
            ops = Add(*(often(place.line.repeats) * _elementwise(place, part) for place in group))
            moves = tuple(move for place in group for move in place.moves)
            exchanges = tuple(_exchanges(owner, group, program))
            result[owner] = ChipCost(exact, flops, ops, loads, stores, exchanges, moves)
    order = [line.statement.name for line in program.lines]
    return dict(sorted(result.items(), key=lambda item: order.index(item[0])))


def busy_links(program: Program) -> tuple[str, ...]:
    """The axes that something is sent over, in the order of the mesh; those on a switch under its name."""
    links = dict.fromkeys(resource for cost in chip_costs(program).values() for resource in cost.sent)
    order = [axis.name + way for axis in program.mesh for way in ("", BACK)]
    return tuple(sorted(links, key=lambda name: order.index(name) if name in order else len(order)))


def sent_by(program: Program, resource: str) -> Expr:
    """The bytes that an axis carries in one direction of a link, or the port of a switch."""
    return Add(*(cost.sent.get(resource, Integer(0)) for cost in chip_costs(program).values())).expand()


def _exchanged(places: Iterable[Placement], program: Program) -> Exchanged:
    """What leaves a chip: results that are exchanged, and operands that are brought to a statement. A function that is behind an
    exchange cannot find on the chip what is in front of it."""
    alone = {axis.name for axis in program.mesh if axis.chips == 1}
    exchanges = ((place.line.statement, move) for place in places for move in place.moves if not {*move.axes} <= alone)
    result: set[str | tuple[str, str]] = set()
    for statement, move in exchanges:
        if move.of in ("sums", "result") or (statement.kind == EXCHANGE and move.of != "stage"):
            result.add(statement.name)
        elif move.of == "operand":
            result.add((statement.name, str(move.tensor.name)))
    return frozenset(result)


def _require_whole_masks(line: Line) -> None:
    """Chips that share out the rows of a mask would have more to do than others."""
    masked = line.mask.labels if line.mask is not None else frozenset[str]()
    for tensor in (*line.statement.operands, line.statement.result):
        if cut := next((dim for dim in tensor.dims if dim.label in masked and dim.axes), None):
            raise ModelError(
                f"{line.mask} leaves out more of some parts of {cut} than of others",
                expected=f"{cut.label} whole on every chip",
                hint="split the batch or the heads, or leave the mask out",
            )


def _forms_read(program: Program, fetch: Load, places: Mapping[str, Placement]) -> frozenset[Split]:
    """The forms in which a chip reads a tensor that its kernel reads once: of those that the statements need the ones that no
    other has all of."""
    part = program.memory.parts(str(fetch.tensor.name), fetch.line.repeats)[0]
    forms = {
        view_split(program, str(t.name), part, needed_split(program, user, t, places[user.name].division), fetch.line)
        for user, t in fetch.users
    }
    return frozenset(form for form in forms if not any(other < form for other in forms))


def resources_of(axis: MeshAxis, collective: str = "") -> tuple[str, ...]:
    """What a collective over an axis keeps busy: the axis, the port of the chip on its switch, or the levels of its
    tree. What is sent back between neighbours has their link in its other direction for itself."""
    if axis.wiring in ("switch", TREE):
        return axis.links
    return (f"{axis.name}{BACK}" if collective == HANDED[1] else axis.name,)


def message(move: Reshard, program: Program) -> Expr:
    """The bytes of a collective: what a chip holds after it, before it for a reduction, of all for an all-to-all."""
    size = {axis.name: axis.size for axis in program.mesh}
    tensor = move.tensor
    amount = tensor.bytes
    if move.rows is not None:
        length = Mul(*(dim.size for dim in tensor.dims if dim.label == move.over))
        amount = move.rows * amount / length
    return amount / Mul(*(size[axis] for axis in move.apart))


def carriers(move: Reshard, program: Program) -> Iterator[tuple[str, Expr]]:
    """The resources of a program that a collective keeps busy, each with the part of the message that it carries."""
    return shares(move.collective, (axis for axis in program.mesh if axis.name in move.axes))


def shares(collective: str, axes: Iterable[MeshAxis]) -> Iterator[tuple[str, Expr]]:
    """The resources that a collective keeps busy, each with the part of the message that it carries."""
    axes = [axis for axis in axes if axis.chips != 1]
    if not axes:
        return
    chips, ways = Mul(*(axis.size for axis in axes)), sum(axis.ways for axis in axes)
    if axes[0].levels:
        levels = joined_levels(axis.levels for axis in reversed(axes))  # the axis named last is innermost
        yield from ((link, rational(share)) for link, share in shares_on_tree(collective, levels))
    elif collective in HANDED or (collective == FAR and axes[0].wiring == "switch"):
        yield resources_of(axes[0], collective)[0], Integer(1)
    elif collective == FAR:  # by one port of each axis
        yield from ((axis.name, Rational(1, len(axes))) for axis in axes)
    elif axes[0].wiring == "switch":
        share = SWITCHED[collective](chips) if collective in SWITCHED else COLLECTIVES[collective](chips, 1)
        yield str(axes[0].link), share
    elif collective == "all-to-all":
        for axis in axes:
            yield axis.name, COLLECTIVES[collective](axis.size, axis.ways) * axis.size / chips
    else:
        for axis in axes:
            yield axis.name, COLLECTIVES[collective](chips, ways)


def _exchanges(owner: str, placements: Iterable[Placement], program: Program) -> Iterator[Exchange]:
    """What the collectives of statements send in all turns of repeats, each with its hops."""
    size = {axis.name: axis.size for axis in program.mesh}
    exchanges = [(place.line, move) for place in placements for move in place.moves]
    exchanges = [(line, move) for line, move in exchanges if any(True for _ in carriers(move, program))]
    labels = list[str]()
    for line, move in exchanges:
        turns, payload = move.turns(line.repeats, size), message(move, program)
        amounts = {resource: turns * share * payload for resource, share in carriers(move, program)}
        tensor = (str(move.tensor.name) or "result").replace(" ", "_")
        ways = (f"{owner},{name}" if owner else name for name in chain([tensor], (f"{tensor}_{n}" for n in count(2))))
        labels.append(next(label for label in ways if label not in labels))
        label = owner if len(exchanges) == 1 else labels[-1]
        axes = (axis for axis in program.mesh if axis.name in move.axes)
        yield Exchange(label, move, turns, amounts, hops(move.collective, axes))


def _contraction(
    placements: Iterable[Placement], part: Callable[[Iterable[str]], Expr], often: Callable[[Iterable[Repeat]], Expr]
) -> tuple[Expr, Expr]:
    for place in placements:
        if place.line.statement.contracts:
            turns = often(place.line.repeats) / part(axes_in(place.division))
            exact, flops = (turns * flops for flops in contraction(place.line))
            return exact, flops
    return Integer(0), Integer(0)


def _elementwise(place: Placement, part: Callable[[Iterable[str]], Expr]) -> Expr:
    """The elementwise work of a chip: its elements, and its part of the rows."""
    statement = place.line.statement
    operations = elementwise(place.line)
    if statement.function is None or not statement.function.row:
        return operations / part(axes_in(place.division))
    first = statement.operands[0]
    elements = rational(statement.function.each) * first.elements * place.line.worked(first.labels)
    rows = axes_in(pair for pair in place.division if pair[0] != statement.over)
    return elements / part(axes_in(place.division)) + (operations - elements) / part(rows)
