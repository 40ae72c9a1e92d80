"""Whole numbers: what a size comes in, what the chips of an axis share out, and the last of them on its side of a bound."""

from __future__ import annotations

from collections.abc import Callable
from math import gcd, lcm
from typing import NamedTuple

from sympy import Expr

from symroof.algebra.roots import Root, whole_number
from symroof.derivation.figures_used import ring_steps
from symroof.derivation.setting import Setting
from symroof.derivation.spans import spans_of, whole, written
from symroof.formula import Compare, Formula, Name, Number, Verdict, number
from symroof.model.mesh import shared_out, stride
from symroof.proof.limits import Whole
from symroof.proof.step import Reason, Step
from symroof.proof.wholes import LARGEST
from symroof.symbols import rational


class Wholes(NamedTuple):
    """The whole numbers that a size may be: multiples of ``each``; and those that divide ``within``, which is what the
    ``sizes`` have in common that its chips share out. None divides 0."""

    each: int = 1
    sizes: tuple[str, ...] = ()
    within: int = 0

    def last(self, relation: str, bound: Expr | Root) -> int | None:
        """The one next to a bound on its side; 0 where no chips leave one, None where that is open or no chips are asked."""
        if self.sizes and not 0 < self.within <= LARGEST:
            return None if self.within else 0
        found = whole_number(relation, bound, self.each, self.within)
        return found or (None if self == Wholes() else found)

    @property
    def names(self) -> tuple[Name, ...]:
        return tuple(map(Name, self.sizes))


def wholes(setting: Setting, variable: str, point: int | None = None) -> Wholes:
    """A size comes in multiples of the mesh axes that it is split over, as they are at a set of sizes, and those that equal
    it; the chips of an axis in those that close to a ring and share out evenly what it splits."""
    operation, mesh = setting.problem.operation, setting.problem.mesh
    equal = ((r.left, r.right) for r in setting.equalities)
    sizes = {x.name: n.value for x, n in equal if isinstance(x, Name) and isinstance(n, Number)}
    sizes |= {} if point is None else setting.problem.at[point]
    same = (r.left.name for r in setting.equalities if r.right == Name(variable) and isinstance(r.left, Name))
    names, rings = (variable, *same), ring_steps(setting.problem)
    each = lcm(*(stride(operation, mesh, name, sizes) * rings.get(name, 1) for name in names))
    shared = [part for name in names if name in mesh for part in shared_out(operation, mesh, name, sizes)]
    within = 0 if any(part.denominator > 1 for _, part in shared) else gcd(*(int(part) for _, part in shared))
    return Wholes(each, tuple(sorted({name for name, _ in shared})), within)


def whole_step(
    section: str, left: Compare, edge: Expr | Root, of: Wholes, write: Callable[[Expr | int], Formula]
) -> Step | None:
    """A bound on a size in whole numbers: ``>=`` or ``<=`` the last one, or that there is none; nothing where that is
    open."""
    last = None if left.relation == "=" else of.last(left.relation, edge)
    if last is None:
        return None
    right = Compare(left.left, left.relation[0] + "=", number(last)) if last else Verdict(False)
    return Step(section, Reason.WHOLE, left, "<=>", right, (), Whole(of.each, of.names))


def whole_condition(
    section: str, left: Formula, size: str, of: Wholes, write: Callable[[Expr | int], Formula]
) -> Step | None:
    """A condition on a size by numbers in whole numbers, or that there is none; nothing where that is open."""
    spans = spans_of(left, size)
    left_of = None if spans is None else whole(spans, lambda relation, end: of.last(relation, rational(end)))
    if left_of is None:
        return None
    return Step(section, Reason.WHOLE, left, "<=>", written(left_of, size, write), (), Whole(of.each, of.names))
