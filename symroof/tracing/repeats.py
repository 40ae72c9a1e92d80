"""Equal runs of kernels as turns of one repeat: layers that a loop of Python wrote one after the other.

Each turn does the same as the one before, with weights of its own; of what it makes one tensor alone goes on, to the next turn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from symroof.formula import Frozen, number
from symroof.model.functions import CUT
from symroof.model.program_tree import Node, Repeat, Statement, statements_in
from symroof.model.tensor_types import Tensor


class Roll(Frozen):
    """A body with its runs as repeats: the arguments that are ``alike`` in all turns, and what is there ``instead`` of what the
    last turn made."""

    body: tuple[Node, ...]
    alike: frozenset[str]
    instead: Mapping[str, str]


class Run(Frozen):
    """Turns of so many nodes each: ``enters`` goes into the first of them and ``leaves`` is made of it, ``last`` by the last
    turn; ``own`` are the arguments of the first turn that others stand for in others."""

    start: int
    length: int
    times: int
    enters: str
    leaves: str
    last: str
    own: frozenset[str]
    alike: frozenset[str]


class Uses(Frozen):
    """A node as runs compare it: what it is but for the names of tensors, what it takes, and what it makes."""

    form: object
    operands: tuple[str, ...]
    results: tuple[str, ...]

    @classmethod
    def of(cls, node: Node) -> Uses:
        statements = tuple(statements_in((node,)))
        operands = tuple(str(tensor.name) for one in statements for tensor in one.operands)
        return cls(_form(node), operands, tuple(one.name for one in statements))


def _form(node: Node) -> object:
    if isinstance(node, Statement):
        tensors = tuple((tensor.dtype.name, tensor.dims) for tensor in (*node.operands, node.result))
        return node.kind, tensors, node.function, node.over, node.factor, node.mask
    return type(node), tuple(map(_form, node.body))


def rolled(body: Sequence[Node], stocks: set[str], returned: set[str]) -> Roll:
    """Every longest run as a repeat. ``stocks`` are weights and caches."""
    nodes, alike, instead = list(body), frozenset[str](), dict[str, str]()
    owned = frozenset[str]()
    while (run := _longest(nodes, stocks - alike, {instead.get(t, t) for t in returned}, owned)) is not None:
        turn = nodes[run.start : run.start + run.length]
        repeat = Repeat(number(run.times), ((run.enters, run.leaves),), tuple(turn))
        made = next(one.result for one in statements_in(tuple(turn)) if one.name == run.leaves)
        rest = nodes[run.start + run.length * run.times :]
        nodes = [*nodes[: run.start], repeat, *(renewed(node, {run.last: made}) for node in rest)]
        instead = {old: run.leaves if new == run.last else new for old, new in instead.items()} | {run.last: run.leaves}
        alike |= run.alike & stocks
        owned |= run.own
    return Roll(tuple(nodes), alike, instead)


def renewed(node: Node, tensors: Mapping[str, Tensor]) -> Node:
    """A node with other tensors for some, by their names."""

    def new(old: Tensor) -> Tensor:
        return tensors.get(str(old.name), old)

    if isinstance(node, Statement):
        return replace(node, operands=tuple(map(new, node.operands)), result=new(node.result))
    if isinstance(node, Repeat):
        pairs = (tuple(str(tensors[name].name) if name in tensors else name for name in both) for both in node.carried)
        node = replace(node, carried=tuple((enters, leaves) for enters, leaves in pairs))
    return replace(node, body=tuple(renewed(one, tensors) for one in node.body))


def _longest(nodes: Sequence[Node], stocks: set[str], returned: set[str], owned: frozenset[str]) -> Run | None:
    """The run that has most nodes; of those the one with the shortest turn."""
    every, numbers = [Uses.of(node) for node in nodes], dict[object, int]()
    forms = [numbers.setdefault(one.form, len(numbers)) for one in every]
    before: dict[int, int] = {}
    lengths = set[int]()
    for place, form in enumerate(forms):
        if form in before and (each := place - before[form]) not in lengths:
            lengths |= {*range(each, len(nodes) // 2 + 1, each)}
        before[form] = place
    best: Run | None = None
    for length in sorted(lengths):
        for start, same in _periods(forms, length):
            for place in range(start, start + min(length, same - length + 1)):
                times = (same - (place - start)) // length + 1
                if best is not None and times * length <= best.times * best.length:
                    break
                best = _run(nodes, every, place, length, times, stocks, returned, owned) or best
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


def _run(
    nodes: Sequence[Node], every: Sequence[Uses], start: int, length: int, times: int, stocks: set[str], returned: set[str],
    owned: frozenset[str],
) -> Run | None:  # fmt: skip
    """The turns that begin with a node, where they are turns."""
    first = nodes[start : start + length]
    if any(isinstance(node, Repeat) for node in first) or not any(s.contracts for s in statements_in(tuple(first))):
        return None
    turns = [every[start + i * length : start + (i + 1) * length] for i in range(times)]
    made = [{name: place for place, name in enumerate(t for one in turn for t in one.results)} for turn in turns]
    operands = zip(*([t for one in turn for t in one.operands] for turn in turns), strict=True)
    cut = {str(s.operands[0].name) for s in statements_in(tuple(first)) if s.how == CUT} - made[0].keys()
    own, alike, carried = dict[str, tuple[str, ...]](), set[str](), set[tuple[str, int]]()
    for each in operands:
        name = each[0]
        if name in made[0]:
            if any(there.get(t) != made[0][name] for there, t in zip(made, each, strict=True)):
                return None
        elif len({*each}) == 1:
            alike.add(name)
        elif all(t in there for t, there in zip(each[1:], made, strict=False)):
            places = {there[t] for t, there in zip(each[1:], made, strict=False)}
            if len(places) > 1:
                return None
            carried.add((name, places.pop()))
        elif len({*each}) < times or not stocks.issuperset(each) or own.setdefault(name, each) != each:
            return None
    if len(carried) != 1 or cut or alike & owned:  # each turn cuts another part, or has its own of turns around
        return None
    ((enters, place),) = carried
    leaves, last = (next(name for name, at in made[i].items() if at == place) for i in (0, -1))
    outside = (*every[:start], *every[start + times * length :])
    elsewhere = {t for one in outside for t in one.operands} | returned
    stood = [t for each in own.values() for t in each]
    gone = {t for there in made for t in there} - {last}
    handed = all(
        not ({t for one in turns[i + 1] for t in one.operands} & made[i].keys()) - {_at(made[i], place)}
        for i in range(times - 1)
    )
    types = {str(t.name): (t.dtype, t.dims) for s in statements_in(tuple(first)) for t in (*s.operands, s.result)}
    if len({*stood}) < len(stood) or elsewhere & {*stood} or gone & elsewhere or not handed:
        return None
    if enters in stocks or enters in alike or types[enters] != types[leaves]:
        return None
    return Run(start, length, times, enters, leaves, last, frozenset(own), frozenset(alike))


def _at(made: Mapping[str, int], place: int) -> str:
    return next(name for name, at in made.items() if at == place)
