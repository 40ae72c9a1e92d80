"""The backward pass of a program, statement by statement, in reverse order.

For y = a * b it is da = dy * b and db = a * dy, summed over what the operand lacks. A sum passes the gradient on. A
function takes the operations of its derivative, and reads its operand; an exchange is undone by another. A gradient has the type of what it is the gradient
of; where several statements use a tensor their contributions are added. The gradients of the results come from outside.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from symroof.errors import ModelError
from symroof.model.collectives import HANDED
from symroof.model.functions import BROADCAST, FUNCTIONS
from symroof.model.gradients import (
    collected_tensors,
    function_gradient,
    passes_gradient_on,
    recomputation,
    recomputation_on_chip,
    require_one_place,
    with_gradients,
)
from symroof.model.program import Backward, Program
from symroof.model.program_tree import (
    DIFFERENCE,
    EXCHANGE,
    MAXIMUM,
    PRODUCT,
    SUM,
    Adjoint,
    Block,
    Fuse,
    Node,
    Recompute,
    Repeat,
    Statement,
    statements_in,
)
from symroof.model.tensor_types import Tensor


def _returned(sends: tuple[str, str] | None) -> tuple[str, str] | None:
    """What goes back the way that something came."""
    way, axis = sends or ("", "")
    other = dict(zip(HANDED, HANDED[::-1], strict=True)).get(way, way)
    return None if sends is None else (other, axis)


def backward_of(program: Program) -> Backward:
    """The backward pass. Raises :class:`~symroof.errors.ModelError` where a gradient is asked for that there is not.

    >>> from symroof.reading.programs import read_program
    >>> program = read_program("input x: bf16[N, D]; weight W: bf16[D, F]; h = x * W -> bf16[N, F]; y = relu(h)")
    >>> for statement in backward_of(program).body:
    ...     print(statement)
    dh = relu'(y, dy)
    dx = dh * W -> bf16[N, D]
    dW = x * dh -> bf16[D, F]
    """
    reverse = _Reverse(program, with_gradients(program))
    return reverse.backward()


@dataclass(eq=False, repr=False)
class _Scope:
    """A list of statements that is gone through backwards: ``arrived`` are contributions to gradients, by tensor; what
    is ``carried`` from turn to turn and has a gradient: as what enters a turn, with what left the one before."""

    body: tuple[Node, ...]
    arrived: dict[str, list[Tensor]] = field(default_factory=dict)
    around: _Scope | None = None
    carried: Mapping[str, str] = field(default_factory=dict)
    scans: bool = False

    @property
    def accumulates(self) -> bool:
        """Whether it is one microbatch of several."""
        return self.around is not None and not self.carried


@dataclass(eq=False, repr=False)
class _Reverse:
    program: Program
    with_gradient: frozenset[str]
    incoming: list[Tensor] = field(default_factory=list)
    gradients: dict[str, Tensor] = field(default_factory=dict)
    arriving: dict[str, Tensor] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)
    slices: dict[str, tuple[str, int]] = field(default_factory=dict)  # gradients of slices: along what, and of how many

    def __post_init__(self) -> None:
        self.tensors = self.program.written
        self.stocks = {str(d.tensor.name) for d in self.program.declared if not d.alike}
        self.inputs = {str(t.name) for t in self.program.declared_as("input")}

    def backward(self) -> Backward:
        require_one_place(self.program, self.with_gradient, self.stocks)
        scope = _Scope(self.program.body)
        body = self._nodes(scope.body, scope)
        for name in tuple(scope.arrived):
            self.gradients[name] = self._total(name, scope, body)
        return Backward(tuple(body), tuple(self.incoming), self.gradients, self.arriving)

    def _nodes(self, nodes: tuple[Node, ...], scope: _Scope) -> list[Node]:
        body: list[Node] = []
        for node in reversed(nodes):
            match node:
                case Statement():
                    if node.name in self.with_gradient:
                        self._statement(node, scope, body)
                case Repeat(accumulates=True):
                    self._accumulate(node, scope, body)
                case Repeat():
                    self._repeat(node, scope, body)
                case Fuse():
                    inner = self._nodes(node.body, scope)
                    self._require_no_turns(node, inner)
                    again = recomputation_on_chip(node, inner) if node.contracts else ()
                    body += [Fuse(tuple(inner), again, node)] if inner else []
                case Recompute():
                    inner = self._nodes(node.body, scope)
                    body += recomputation(node, inner, self._again) if inner else []
                case Block():
                    inner = self._nodes(node.body, scope)
                    body += [Block(f"d{node.name}", tuple(inner))] if inner else []
        return body

    def _statement(self, statement: Statement, scope: _Scope, body: list[Node]) -> None:
        if statement.collects:  # its gradient is of all turns
            gradient = scope.arrived.pop(statement.name)[0]
        else:
            gradient = self._total(statement.name, scope, body)
        reshapes = statement.function is not None and statement.function.reshapes
        if reshapes and gradient.labels != statement.result.labels:
            gradient = self._laid_as(statement.result, gradient, body)
        for place, operand in enumerate(statement.operands):
            if self._has_gradient(str(operand.name), scope):
                contribution = self._through(statement, place, gradient, scope, body)
                self._around(statement, scope).arrived.setdefault(str(operand.name), []).append(contribution)

    @staticmethod
    def _require_no_turns(fuse: Fuse, inner: list[Node]) -> None:
        """Turns that are gone through on the chip leave nothing to go back with."""
        if inner and any(isinstance(node, Repeat) for node in fuse.body):
            shown = "the states of turns that stay on the chip are not kept, so there is no way back through them"
            raise ModelError(shown, expected="the scan outside of the fuse in training")

    @staticmethod
    def _around(statement: Statement, scope: _Scope) -> _Scope:
        """Where the gradients of what a statement is of arrive: of what each turn has a place of, behind the turns."""
        return scope.around if statement.placed and scope.around is not None else scope

    def _laid_as(self, result: Tensor, gradient: Tensor, body: list[Node]) -> Tensor:
        """The gradient of what is seen in other dimensions, in the order of these: elements go back to where they came from."""
        laid = replace(result, name=self._new(f"d{result.name}_laid"))
        body.append(Statement(SUM, (gradient,), laid, undone=Adjoint(str(result.name))))
        return laid

    def _alias(self, name: str, gradient: Tensor, source: str, body: list[Node]) -> Tensor:
        """A gradient under another name: it stays where it is."""
        named = replace(gradient, name=self._new(name))
        body.append(Statement(EXCHANGE, (gradient,), named, undone=Adjoint(source)))
        return named

    def _has_gradient(self, name: str, scope: _Scope | None) -> bool:
        """Whether a tensor has a gradient here: in the turns of a repeat also what enters them, of whatever that is made at first."""
        if name in self.with_gradient:
            return True
        while scope is not None:
            if name in scope.carried:
                return True
            scope = scope.around
        return False

    def _through(self, statement: Statement, place: int, gradient: Tensor, scope: _Scope, body: list[Node]) -> Tensor:
        """What the gradient of a result gives to that of one operand; the statements that it takes are added."""
        operand = statement.operands[place]
        same = operand.dtype == gradient.dtype and set(operand.labels) == set(gradient.labels)
        if statement.kind == MAXIMUM:
            problem = f"{statement.name} = {str(statement).partition(' = ')[2]} has no derivative here"
            raise ModelError(problem, hint="freeze what it is of, or leave it out: softmax, sum and mean have one")
        first = statement.kind in (SUM, DIFFERENCE) and not (statement.kind == DIFFERENCE and place)
        if same and (first or passes_gradient_on(statement)):
            return gradient
        beside = self._beside(statement, scope) if statement.cuts else None
        count = 1 if beside is None else 1 + self.slices[str(beside.name)][1]
        around = self._around(statement, scope)
        name = self._new(self._contribution(str(operand.name), statement.name, around, count))
        result = replace(operand, name=name)
        if statement.function is not None:
            earlier = (self._has_gradient(str(t.name), scope) for t in statement.operands[:place])
            backward = function_gradient(statement, place, gradient, result, not any(earlier))
            if statement.cuts:
                backward = replace(backward, operands=(*((beside,) if beside else ()), gradient))
                self.slices[name] = (statement.cut, count)
        elif statement.kind == EXCHANGE:
            backward = Statement(EXCHANGE, (gradient,), result, sends=_returned(statement.sends))
        elif statement.kind == PRODUCT:
            *rest, backward = self._factors(statement, place, gradient, result)
            body += (replace(factor, undone=Adjoint("", statement.name, place)) for factor in rest)
        elif statement.reduces:
            backward = Statement("function", (gradient,), result, BROADCAST)
        elif first and set(operand.labels) == set(gradient.labels):
            backward = Statement("function", (gradient,), result, FUNCTIONS["convert"])
        else:
            backward = Statement(SUM if first else DIFFERENCE, (gradient,), result)
        body.append(replace(backward, undone=Adjoint(str(operand.name), statement.name, place)))
        return result

    def _beside(self, statement: Statement, scope: _Scope) -> Tensor | None:
        """The gradient of other slices along the same dimension, taken from what has arrived: that of a slice is written beside
        them, for they are different places of one tensor."""
        arrived = scope.arrived.get(str(statement.operands[0].name), [])
        result = next((t for t in arrived if self.slices.get(str(t.name), ("", 0))[0] == statement.cut), None)
        if result is not None:
            arrived.remove(result)
        return result

    def _factors(self, statement: Statement, place: int, gradient: Tensor, result: Tensor) -> Iterator[Statement]:
        """da = dy * b for y = a * b, at the place of the operand; of more factors the others are multiplied first where
        something is summed."""
        factors = statement.operands[:place] + statement.operands[place + 1 :]
        if len(factors) > 1 and set(result.labels) != set(gradient.labels):
            labels = {label for tensor in factors for label in tensor.labels}
            dims = tuple(dim for dim in statement.result.dims if dim.label in labels)
            name = self._new(f"{statement.name}_{statement.operands[place].name}")
            rest = replace(statement.result, dims=dims, name=name)
            yield Statement(PRODUCT, factors, rest)
            factors, place = (rest,), min(place, 1)
        yield Statement(PRODUCT, (*factors[:place], gradient, *factors[place:]), result)

    def _repeat(self, repeat: Repeat, scope: _Scope, nodes: list[Node]) -> None:
        """Each turn backwards: what enters is the gradient of what left, and the other way round."""
        pairs = tuple((enters, leaves) for enters, leaves in repeat.carried if leaves in self.with_gradient)
        inner = _Scope(repeat.body, {}, scope, dict(pairs), repeat.scans)
        if not pairs:
            shown = f"{', '.join(repeat.leaves)} leaves each turn and has no gradient"
            raise ModelError(shown, expected="a floating-point type")
        entering: list[Tensor] = []
        for _, leaves in pairs:
            arriving = self._total(leaves, scope, nodes)
            apart = arriving.name in (tensor.name for tensor in entering)
            entering.append(self._alias(f"d{leaves}_turns", arriving, leaves, nodes) if apart else arriving)
            inner.arrived[leaves] = [entering[-1]]
        for collected in self.with_gradient.intersection(collected_tensors(repeat.body)):
            inner.arrived[collected] = [self._total(collected, scope, nodes)]
        body = self._nodes(repeat.body, inner)
        leaving = [
            self._total(enters, inner, body) if enters in inner.arrived else state
            for (enters, _), state in zip(pairs, entering, strict=True)
        ]
        names = {tensor.name for tensor in statements_in(tuple(body))}
        for i, (enters, _) in enumerate(pairs):  # what is no gradient of this turn alone leaves under a name of its own
            name, before = leaving[i].name, [tensor.name for tensor in leaving[:i]]
            if name in before or (name not in names and name != entering[i].name):
                leaving[i] = self._alias(f"d{enters}_turn", leaving[i], enters, body)
        for name in tuple(inner.arrived):
            if not repeat.scans and self._accumulated(name, inner):
                self.gradients[name] = self._added_up(name, inner, body, accumulates=True)
            elif name in self._own_of_turns(inner):
                self.gradients[name] = self._total(name, inner, body)
            else:
                scope.arrived.setdefault(name, []).append(self._added_up(name, inner, body))
        for (enters, _), gradient in zip(pairs, leaving, strict=True):
            if self._has_gradient(enters, scope):
                scope.arrived.setdefault(enters, []).append(gradient)
        if body:
            carried = ((str(tensor.name), str(other.name)) for tensor, other in zip(entering, leaving, strict=True))
            nodes.append(replace(repeat, carried=tuple(carried), body=tuple(body), reverses=repeat))

    def _accumulate(self, repeat: Repeat, scope: _Scope, nodes: list[Node]) -> None:
        """Each microbatch backwards, with gradients of its own inputs; what all of them use is added up."""
        inner = _Scope(repeat.body, {}, scope)
        body = self._nodes(repeat.body, inner)
        for name in tuple(inner.arrived):
            if name in self.inputs:
                self.gradients[name] = self._total(name, inner, body)
            else:
                total = self._added_up(name, inner, body, accumulates=True)
                scope.arrived.setdefault(name, []).append(total)
        if body:
            nodes.append(Repeat(repeat.times, (), tuple(body), repeat))

    def _own_of_turns(self, scope: _Scope) -> set[str]:
        """What is declared of which each turn has its own: microbatches have inputs, what scans nothing."""
        return self.inputs if scope.accumulates else set() if scope.scans else self.stocks

    def _accumulated(self, name: str, scope: _Scope) -> bool:
        """Whether it is a weight of each turn that microbatches around it share."""
        around = scope.around
        while around is not None and name in self.stocks:
            if around.accumulates:
                return True
            around = around.around
        return False

    def _added_up(self, name: str, inner: _Scope, body: list[Node], *, accumulates: bool = False) -> Tensor:
        """The gradient of what each turn uses alike: what each gives is added to what those before it gave."""
        result = replace(self.tensors[name], name=self._new(self._final(name, inner)))
        before = replace(result, name=self._new(f"{result.name}_before"))
        self.incoming.append(before)
        parts = inner.arrived.pop(name)
        if accumulates and self.program.each and len(parts) > 1:  # they are added up over the chips as one
            turn_total = replace(result, name=self._new(f"{result.name}_turn"))
            body.append(Statement(SUM, tuple(parts), turn_total, undone=Adjoint(name)))
            parts = [turn_total]
        undone = Adjoint(name, accumulates=accumulates)
        body.append(Statement(SUM, (before, *parts), result, undone=undone))
        return result

    def _total(self, name: str, scope: _Scope, body: list[Node]) -> Tensor:
        """The gradient of a tensor: its contributions, added; from outside where nothing uses it."""
        arrived = scope.arrived.pop(name, [])
        if arrived and self._returned(name, scope):
            arrived.append(self._from_outside(name, f"d{name}_out"))
        if len(arrived) == 1:
            return arrived[0]
        if not arrived:
            return self._from_outside(name, self._final(name, scope))
        result = replace(self.tensors[name], name=self._new(self._final(name, scope)))
        body.append(Statement(SUM, tuple(arrived), result, undone=Adjoint(name)))
        return result

    def _from_outside(self, name: str, called: str) -> Tensor:
        self.arriving[name] = replace(self.tensors[name], name=self._new(called))
        self.incoming.append(self.arriving[name])
        return self.arriving[name]

    def _contribution(self, name: str, user: str, scope: _Scope, count: int = 1) -> str:
        """``dx`` where one statement alone uses x, else ``dx_h`` for what comes through h."""
        alone = self._uses(scope.body, name) == count and not self._leaves(name, scope) and not self._alike(name, scope)
        alone = alone and not self._returned(name, scope)
        return self._final(name, scope) if alone else f"d{name}_{user}"

    def _final(self, name: str, scope: _Scope) -> str:
        """The name of the gradient as it leaves these statements: of a turn it is a contribution to what is around."""
        if scope.around is not None and not self._own(name, scope.body) and name not in self._own_of_turns(scope):
            through = scope.carried.get(name, next(iter(scope.carried.values()), "turns"))
            return self._contribution(name, through, scope.around)
        inside = (node for node in scope.body if isinstance(node, Repeat) and name in node.leaves)
        return f"d{name}_next" if any(self._uses(node.body, name) for node in inside) else f"d{name}"

    def _returned(self, name: str, scope: _Scope) -> bool:
        """Whether a tensor is used and returned as well: its gradient comes from outside too, after the last turn."""
        return name in self.program.returned and not self._leaves(name, scope) and self._own(name, scope.body)

    def _alike(self, name: str, scope: _Scope) -> bool:
        """Whether all turns around use the same tensor: what they give is added up."""
        declared = name in self._own_of_turns(scope) and not self._accumulated(name, scope)
        own = name in scope.carried or declared or self._own(name, scope.body)
        return scope.around is not None and not own

    @staticmethod
    def _leaves(name: str, scope: _Scope) -> bool:
        """Whether a tensor is handed on to the next turn."""
        return name in scope.carried.values()

    def _own(self, name: str, nodes: tuple[Node, ...]) -> bool:
        return any(statement.name == name for statement in statements_in(nodes))

    def _uses(self, nodes: tuple[Node, ...], name: str) -> int:
        """How many contributions these statements make to a gradient: all turns of a repeat make one."""
        result = 0
        for node in nodes:
            if isinstance(node, Statement):
                result += sum(t.name == name for t in node.operands) if node.name in self.with_gradient else 0
            elif isinstance(node, Repeat) and (node.accumulates or node.scans or name not in self.stocks):
                carried = any(enters == name and leaves in self.with_gradient for enters, leaves in node.carried)
                result += carried or self._uses(node.body, name) > 0
            elif not isinstance(node, Repeat):
                result += self._uses(node.body, name)
        return result

    def _new(self, name: str) -> str:
        """A name for a gradient that is not taken: one that the author gave is an error, another of ours has a number."""
        if name in self.tensors:
            raise ModelError(f"{name} is the name of a gradient here", hint=f"give the tensor {name} another name")
        numbered, number = name, 1
        while numbered in self.names:
            number += 1
            numbered = f"{name}{number}"
        self.names.add(numbered)
        return numbered

    def _again(self, name: str) -> str:
        return self._new(f"{name}_again")
