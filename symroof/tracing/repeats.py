"""Equal runs of kernels as turns of one repeat: layers that a loop of Python wrote one after the other.

Each turn does the same as the one before, with weights of its own; of what it makes one tensor alone goes on, to the next turn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain

from symroof.formula import Frozen, number
from symroof.model.functions import CUT
from symroof.model.program_tree import Node, Repeat, Statement, statements_in
from symroof.model.tensor_types import Tensor


class RolledBody(Frozen):
    """A body with its runs as repeats: the arguments that all turns have ``shared``, and the ``replacements`` of what last turns
    made."""

    body: tuple[Node, ...]
    shared: frozenset[str]
    replacements: Mapping[str, str]


class Repetition(Frozen):
    """Turns of so many nodes each: ``enters`` goes into the first of them and ``leaves`` is made of it, ``last`` by the last
    turn; ``own`` are the arguments of the first turn that others stand for in others."""

    start: int
    length: int
    times: int
    enters: str
    leaves: str
    last: str
    own: frozenset[str]
    shared: frozenset[str]


class ComparedNode(Frozen):
    """A node as runs compare it: what it is but for the names of tensors, what it takes, and what it makes."""

    form: object
    operands: tuple[str, ...]
    results: tuple[str, ...]

    @classmethod
    def of(cls, node: Node) -> ComparedNode:
        statements = tuple(statements_in((node,)))
        operands = tuple(str(tensor.name) for statement in statements for tensor in statement.operands)
        return cls(_form(node), operands, tuple(statement.name for statement in statements))


class Turns(Frozen):
    """Runs of nodes with equal forms, one behind the other."""

    nodes: tuple[tuple[ComparedNode, ...], ...]

    @cached_property
    def results(self) -> tuple[tuple[str, ...], ...]:
        """The names that each turn makes, in order."""
        return tuple(tuple(name for node in turn for name in node.results) for turn in self.nodes)

    @cached_property
    def operands(self) -> Mapping[str, set[tuple[str, ...]]]:
        """The names that all turns have at one place, by their kind: made ``inside`` of each, ``shared`` by all, ``carried``
        from the turn before, each turn's ``own``, or ``mixed``."""
        kinds = ("inside", "shared", "carried", "own", "mixed")
        result = {kind: set[tuple[str, ...]]() for kind in kinds}
        places = [{name: place for place, name in enumerate(names)} for names in self.results]
        for names in zip(*([name for node in turn for name in node.operands] for turn in self.nodes), strict=True):
            inside = {of_turn.get(name) for of_turn, name in zip(places, names, strict=True)}
            before = {of_turn.get(name) for of_turn, name in zip(places, names[1:], strict=False)}
            if names[0] in places[0]:
                kind = "inside" if len(inside) == 1 else "mixed"
            elif len({*names}) == 1:
                kind = "shared"
            elif None in before:
                kind = "own"
            else:
                kind = "carried" if len(before) == 1 else "mixed"
            result[kind].add(names)
        return result


def _form(node: Node) -> object:
    if isinstance(node, Statement):
        tensors = tuple((tensor.dtype.name, tensor.dims) for tensor in (*node.operands, node.result))
        return node.kind, tensors, node.function, node.over, node.factor, node.mask
    return type(node), tuple(map(_form, node.body))


def find_repeats(body: Sequence[Node], stocks: set[str], returned: set[str]) -> RolledBody:
    """Every longest run as a repeat. ``stocks`` are weights and caches."""
    nodes, shared, replacements = list(body), frozenset[str](), dict[str, str]()
    owned = frozenset[str]()
    while (run := _longest(nodes, stocks - shared, {replacements.get(t, t) for t in returned}, owned)) is not None:
        turn = nodes[run.start : run.start + run.length]
        repeat = Repeat(number(run.times), ((run.enters, run.leaves),), tuple(turn))
        result = next(statement.result for statement in statements_in(tuple(turn)) if statement.name == run.leaves)
        rest = nodes[run.start + run.length * run.times :]
        nodes = [*nodes[: run.start], repeat, *(with_tensors(node, {run.last: result}) for node in rest)]
        renamed = {old for old, new in replacements.items() if new == run.last} | {run.last}
        replacements |= dict.fromkeys(renamed, run.leaves)
        shared |= run.shared & stocks
        owned |= run.own
    return RolledBody(tuple(nodes), shared, replacements)


def with_tensors(node: Node, tensors: Mapping[str, Tensor]) -> Node:
    """A node with other tensors for some, by their names."""

    def new(old: Tensor) -> Tensor:
        return tensors.get(str(old.name), old)

    if isinstance(node, Statement):
        return replace(node, operands=tuple(map(new, node.operands)), result=new(node.result))
    if isinstance(node, Repeat):
        pairs = (tuple(str(tensors[name].name) if name in tensors else name for name in both) for both in node.carried)
        node = replace(node, carried=tuple((enters, leaves) for enters, leaves in pairs))
    return replace(node, body=tuple(with_tensors(inner, tensors) for inner in node.body))


def _longest(nodes: Sequence[Node], stocks: set[str], returned: set[str], owned: frozenset[str]) -> Repetition | None:
    """The run that has most nodes; of those the one with the shortest turn."""
    compared, numbers = [ComparedNode.of(node) for node in nodes], dict[object, int]()
    forms = [numbers.setdefault(node.form, len(numbers)) for node in compared]
    before: dict[int, int] = {}
    lengths = set[int]()
    for place, form in enumerate(forms):
        if form in before and (each := place - before[form]) not in lengths:
            lengths |= {*range(each, len(nodes) // 2 + 1, each)}
        before[form] = place
    best: Repetition | None = None
    for length in sorted(lengths):
        for start, same in _periods(forms, length):
            for place in range(start, start + min(length, same - length + 1)):
                times = (same - (place - start)) // length + 1
                if best is not None and times * length <= best.times * best.length:
                    break
                best = _repetition(nodes, compared, place, length, times, stocks, returned, owned) or best
    return best


def _periods(forms: Sequence[int], length: int) -> Iterator[tuple[int, int]]:
    """Where nodes are those that come so many later, and for how long."""
    start = 0
    while start + length < len(forms):
        end = start
        while end + length < len(forms) and forms[end] == forms[end + length]:
            end += 1
        if end - start >= length:
            yield start, end - start
        start = max(end, start) + 1


def _repetition(
    nodes: Sequence[Node], compared: Sequence[ComparedNode], start: int, length: int, times: int, stocks: set[str],
    returned: set[str], owned: frozenset[str],
) -> Repetition | None:  # fmt: skip
    """The turns that begin with a node, where they are turns: one tensor goes from each to the next, and of all else that they
    make nothing is used outside; an argument that each has for itself is used nowhere else."""
    first, end = tuple(nodes[start : start + length]), start + times * length
    turns = Turns(tuple(tuple(compared[place : place + length]) for place in range(start, end, length)))
    if not _is_turn(first, turns.results[0]):
        return None
    carried = {(names[0], turns.results[0].index(names[1])) for names in turns.operands["carried"]}
    shared = frozenset(names[0] for names in turns.operands["shared"])
    if turns.operands["mixed"] or len(carried) != 1 or shared & owned:
        return None
    ((enters, place),) = carried
    leaves, last = turns.results[0][place], turns.results[-1][place]
    own = list(chain(*turns.operands["own"]))
    inside = {*chain(*turns.results), *own} - {last}
    used = {name for node in (*compared[:start], *compared[end:]) for name in node.operands} | returned
    types = {str(t.name): (t.dtype, t.dims) for s in statements_in(first) for t in (*s.operands, s.result)}
    if len({*own}) < len(own) or not stocks.issuperset(own) or used & inside:
        return None
    if enters in stocks or enters in shared or types[enters] != types[leaves]:
        return None
    own_of_first = frozenset(names[0] for names in turns.operands["own"])
    return Repetition(start, length, times, enters, leaves, last, own_of_first, shared)


def _is_turn(nodes: tuple[Node, ...], results: Sequence[str]) -> bool:
    """Whether nodes can be a turn: they contract something, no repeat is among them, and they cut nothing that comes from
    outside, of which each turn would cut another part."""
    statements = tuple(statements_in(nodes))
    if any(isinstance(node, Repeat) for node in nodes) or not any(statement.contracts for statement in statements):
        return False
    return {str(cut.operands[0].name) for cut in statements if cut.how == CUT} <= {*results}
