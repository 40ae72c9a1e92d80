"""A program as it is counted, and other worlds: what one mistake makes of its amounts.

A look in numbers leaves out the worlds that a claim does not come near, before a proof is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import wraps
from typing import Any, NamedTuple

from sympy import Expr, Rational

from symroof.errors import SymroofError
from symroof.formula import Compare, Name, names
from symroof.model.kernels import cost_of, costs_of
from symroof.model.nodes import Node, Statement
from symroof.model.program import Program
from symroof.model.quantities import of_statement
from symroof.model.rewriting import in_training
from symroof.model.statement_costs import amounts
from symroof.symbols import symbol
from symroof.verification.budget import spend
from symroof.verification.context import Context
from symroof.verification.enclosures import enclosed, is_numeric

Amounts = Mapping[str, Expr]
Facts = Mapping[str, Any]
Worlds = Iterator[tuple[Facts, Amounts]]
TRAFFIC = ("reads", "writes")
# What functions that give costs speak of.
GIVEN = {"reads": "operands", "writes": "output"}
# A claim whose sides are further apart than this is not what a world would say; numbers in print are within it.
NEAR = (Fraction(17, 20), Fraction(20, 17))
LOOK = 3  # units of work
# Sizes at which a claim is looked at; those behind the end begin again with others.
SIZES = ((97, 131, 151, 173, 197, 227, 251, 277, 307, 337), (61, 43, 83, 29, 103, 19, 71, 53, 37, 89))


class Move(NamedTuple):
    """Bytes of one tensor that a statement reads or writes, in all turns."""

    owner: str
    tensor: str
    kind: str
    amount: Expr


class Counted:
    """A program as it is counted: its amounts by name, totals among them, and what moves."""

    def __init__(self, program: Program, count: Any) -> None:
        self.program, self.count = program, count
        cost = cost_of(program, count)
        totals = {"flops": cost.flops, "reads": cost.reads, "writes": cost.writes, "bytes": cost.bytes}
        self.amounts: Amounts = {**amounts(program, count), **totals}
        self.moves = tuple(
            Move(owner, tensor if program.given is None else GIVEN[kind], kind, program.resolved(amount))
            for owner, cost in costs_of(program).items()
            for kind, moved in zip(TRAFFIC, (cost.loads, cost.stores), strict=True)
            for tensor, amount in moved
        )

    @property
    def in_pairs(self) -> Amounts:
        """The amounts where every addition of a contraction goes with a multiplication."""
        return self.amounts if self.count == "fma" else Counted(self.program, "fma").amounts

    def names(self, tensors: Iterable[str]) -> tuple[Name, ...]:
        """What a sentence calls tensors."""
        return tuple(Name(self.program.called(name)) for name in tensors)

    def of(self, program: Program) -> Amounts:
        """What another program makes of the same amounts; nothing where it makes no sense, as one of integers in training."""
        known = self.amounts
        with suppress(SymroofError):
            return {n: x for n, x in Counted(program, self.count).amounts.items() if n in known and x != known[n]}
        return {}

    def more(self, changes: Iterable[tuple[str, Expr]]) -> Amounts:
        """The amounts that these are added to, each as often as it is named."""
        found: dict[str, Expr] = {}
        for name, amount in changes:
            if name in self.amounts and amount != 0:
                found[name] = found.get(name, self.amounts[name]) + amount
        return found

    def moving(self, moves: Iterable[tuple[Move, Expr]]) -> Amounts:
        """The amounts once each of the moves is so many bytes more."""
        return self.more(
            (name, more)
            for move, more in moves
            for total in (move.kind, "bytes")
            for name in dict.fromkeys((total, of_statement(total, move.owner)))
        )

    def without(self, moves: Iterable[Move]) -> Amounts:
        return self.moving((move, -move.amount) for move in moves)


Kind = Callable[[Counted], Worlds]
Trials = Iterator[tuple[Facts, Context]]


def of_programs(kind: Kind) -> Callable[[Compare, Context], Trials]:
    """The worlds of a kind that a link comes near, as contexts; none of a program on a mesh."""

    @wraps(kind)
    def worlds(link: Compare, context: Context) -> Trials:
        counted = counted_in(context)
        if counted is None or counted.program.axes or context.setting is None:
            return
        cache, write = context.worlds, context.setting.layout.write
        key = f"amounts {kind.__name__}"
        if key not in cache:
            cache[key] = [(facts, changes) for facts, changes in kind(counted) if changes]
        claim = _open(context, counted).question(link).claim
        spoken = set(names(claim)) & counted.amounts.keys()
        for facts, changes in cache[key]:
            if spoken & changes.keys() and _is_near(claim, {**counted.amounts, **changes}, spoken, context):
                yield facts, context.defining({name: write(value) for name, value in changes.items()})

    return worlds


def counted_in(context: Context) -> Counted | None:
    """The program of a context as it is counted, None where there is none."""
    program = context.setting.problem.operation if context.setting is not None else None
    if program is None:
        return None
    if "counted" not in context.worlds:
        assert context.setting is not None
        context.worlds["counted"] = Counted(program, context.setting.problem.count)
    counted: Counted = context.worlds["counted"]
    return counted


def _open(context: Context, counted: Counted) -> Context:
    """The context in which the amounts of the program stand for themselves."""
    if "open" not in context.worlds:
        known = {name: formula for name, formula in context.definitions.items() if name not in counted.amounts}
        context.worlds["open"] = replace(context, definitions=known, other=None)
    found: Context = context.worlds["open"]
    return found


def _is_near(claim: Compare, known: Amounts, spoken: set[str], context: Context) -> bool:
    """Whether the sides of an equation are near each other at some sizes, in the world of these amounts."""
    if claim.relation != "=":
        return True
    letters = dict.fromkeys((*names(claim), *(s.name for name in spoken for s in known[name].free_symbols)))
    for sizes in SIZES:
        spend(LOOK)
        point: dict[str, Fraction] = {}
        for i, name in enumerate(n for n in letters if n not in spoken):
            value = context.definitions.get(name)
            if value is not None and not is_numeric(value):
                return True  # a size that others define: that is for the proof to say
            point[name] = Fraction(sizes[i % len(sizes)] + i) if value is None else enclosed(value).middle
        put = {symbol(name): Rational(v.numerator, v.denominator) for name, v in point.items()}
        for name in spoken:
            value_there = known[name].xreplace(put)
            if not value_there.is_Rational:
                return True
            point[name] = Fraction(int(value_there.p), int(value_there.q))
        with suppress(SymroofError, ZeroDivisionError):
            left, right = (enclosed(side, point=point).middle for side in (claim.left, claim.right))
            if not (right and NEAR[0] < left / right < NEAR[1]):
                return False
    return True


def nodes_of(body: tuple[Node, ...]) -> Iterator[Node]:
    for node in body:
        yield node
        yield from nodes_of(getattr(node, "body", ()))


def with_nodes(program: Program, place: Node, *nodes: Node) -> Program:
    """The program with other nodes for one of its own."""

    def changed(body: tuple[Node, ...]) -> tuple[Node, ...]:
        return tuple(
            new
            for node in body
            for new in (
                nodes
                if node is place
                else (node if isinstance(node, Statement) else replace(node, body=changed(node.body)),)
            )
        )

    return in_training(replace(program, body=changed(program.body)), program.training)
