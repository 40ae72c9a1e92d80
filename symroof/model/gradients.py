"""Which tensors of a program have gradients, where these have to be, the gradient through a statement that is a function, and
recomputation: the statements that a backward pass runs again instead of reading what was stored."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set
from dataclasses import replace
from fractions import Fraction

from symroof.errors import ModelError
from symroof.model import functions
from symroof.model.functions import APPENDED, COLLECTED, CUT, FUNCTIONS, JOINED, PLACED, VIEWED, Function, Kind
from symroof.model.program import Program
from symroof.model.program_tree import SUM, Fuse, Node, Recompute, Repeat, Statement, statements_in
from symroof.model.tensor_types import Tensor


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
    microbatches = {name: {tuple(r for r in around if r.accumulates) for around in places[name]} for name in places}
    for tensors, turns, where in (
        (names & set(program.shared), microbatches, "microbatches and outside of them"),
        (names & stocks, places, "a repeat and outside of it"),
    ):
        if several := next((name for name in sorted(tensors) if len(turns.get(name, ())) > 1), None):
            problem = f"{several} is used in {where}, so its gradient is one and several"
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


def passes_gradient_on(statement: Statement) -> bool:
    """Whether a function leaves the gradient as it is: one whose derivative takes nothing."""
    function = statement.function
    return function is not None and function.back == () and not (function.reshapes or function.gathers)


def function_gradient(statement: Statement, place: int, gradient: Tensor, result: Tensor, first: bool) -> Statement:
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
    if function.reshapes or passes_gradient_on(statement):
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


def recomputation(recompute: Recompute, inner: list[Node], called: Callable[[str], str]) -> list[Node]:
    """The backward pass ``inner`` of a recompute, behind the statements that it needs, which are made again under other names. Of
    a fuse results that others need are; where none is, its own backward pass makes what it needs on the chip, and counts it."""
    names_made = {statement.name for statement in statements_in(recompute.body)}
    needed = {name for node in inner for name in _needs(node)} & names_made
    again: list[Node] = []
    for node in reversed(recompute.body):
        again[:0] = _again(node, needed, names_made)
    results = {statement.name for statement in statements_in(tuple(again)) if not statement.lies}
    counted = [() if not isinstance(node, Fuse) or results & _inside(node) else node.again for node in inner]
    statements = (*again, *(statement for body in counted for statement in body if not statement.lies))
    names = {s.name: called(s.name) for s in statements_in(tuple(statements))}

    def renamed(tensor: Tensor) -> Tensor:
        return replace(tensor, name=names.get(str(tensor.name), tensor.name))

    def copied(node: Node) -> Node:
        if isinstance(node, Statement):
            result = renamed(node.result)
            return replace(node, operands=tuple(map(renamed, node.operands)), result=result, again=node.name)
        return replace(node, body=tuple(map(copied, node.body)))

    def back(node: Node, body: tuple[Statement, ...]) -> Node:
        if not body or not isinstance(node, Fuse):
            return _reading(node, names)
        copies = (copied(statement) for statement in body if not statement.lies)
        return Fuse((*copies, *(_reading(part, names) for part in node.body)), (), node.undoes)

    return [*map(copied, again), *map(back, inner, counted)]


def _again(node: Node, needed: set[str], names: set[str]) -> list[Node]:
    """What of a node is made again; what that needs is added to what is needed."""
    if isinstance(node, Statement):
        if node.name not in needed:
            return []
        needed |= {str(t.name) for t in node.operands} & names
        return [node]
    body: list[Node] = []
    for part in reversed(node.body):
        body[:0] = _again(part, needed, names)
    if all(statement.lies for statement in statements_in(tuple(body))):
        return body
    return [replace(node, body=tuple(body))]


def _needs(node: Node) -> Iterator[str]:
    """What a part of the backward pass reads: of the inside of a fuse that it undoes nothing, which is on the chip."""
    if isinstance(node, Statement):
        yield from (str(t.name) for t in node.operands)
        return
    inside = _inside(node)
    again = (part for part in node.again if not part.lies) if isinstance(node, Fuse) else ()
    for part in (*node.body, *again):
        yield from (name for name in _needs(part) if name not in inside)


def _inside(node: Node) -> set[str]:
    """What is made again on the chip by the backward pass of a fuse itself: what lies elsewhere is not made."""
    return {statement.name for statement in node.again if not statement.lies} if isinstance(node, Fuse) else set()


def _reading(node: Node, names: dict[str, str]) -> Node:
    """A part of the backward pass that reads what is made again."""
    if isinstance(node, Statement):
        renamed = (replace(t, name=names.get(str(t.name), t.name)) for t in node.operands)
        return replace(node, operands=tuple(renamed))
    inside = _inside(node)
    outer = {old: new for old, new in names.items() if old not in inside}
    body = tuple(_reading(part, outer) for part in node.body)
    if isinstance(node, Fuse):
        again = tuple(_reading(part, outer) for part in node.again)
        return replace(node, body=body, again=again)  # type: ignore[arg-type]
    return replace(node, body=body)


def recomputation_on_chip(fuse: Fuse, inner: list[Node]) -> tuple[Statement, ...]:
    """What the backward pass of a fuse makes once more on the chip: what it reads of what was made there, and what that
    is made of."""
    needed = {str(t.name) for statement in statements_in(tuple(inner)) for t in statement.operands}
    result: list[Statement] = []
    for statement in reversed(tuple(statements_in(fuse.body))):
        if statement.name in needed:
            result.append(statement)
            needed |= {str(t.name) for t in statement.operands}
    return tuple(reversed(result))


def collected_tensors(nodes: tuple[Node, ...]) -> Iterator[str]:
    """What all of these turns have made together, by name: not what turns within them have."""
    for node in nodes:
        if isinstance(node, Statement):
            yield from (node.name,) if node.collects else ()
        elif not isinstance(node, Repeat):
            yield from collected_tensors(node.body)
