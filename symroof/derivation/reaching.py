"""What being compute-bound means at the best place: the arithmetic takes longer than the least value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from sympy import Expr, Integer

from symroof.algebra.rational import cancelled
from symroof.derivation.draft import T_MATH
from symroof.derivation.formulas import Ground
from symroof.derivation.optimum import Asked, is_product
from symroof.formula import Compare
from symroof.proof.radicals import Leads
from symroof.proof.step import Reason, Step
from symroof.symbols import symbol


def compute_bound(ground: Ground, asked: Asked) -> tuple[Ground, Asked]:
    """Where the arithmetic takes longer than the least value, solved for one size."""
    found, math = asked.found, ground.quantities.get(T_MATH.name)
    if math is None or found.way or (found.constant and not asked.maximum):
        return ground, asked
    equation = {} if asked.sharing is None else {symbol(asked.sharing.other): asked.sharing.end / asked.x}
    math = cancelled(ground.value(T_MATH).subs(equation))
    if {s.name for s in math.free_symbols} & {"flops", "flops_per_chip"}:  # nothing says what the arithmetic is
        return ground, asked
    ratio = cancelled(math**found.degree / found.value)
    v = next((symbol(n) for n in _order_of(ground, asked) if ratio.has(symbol(n))), None)
    if v is None or math.has(asked.x) or not is_product(math):
        return ground, asked
    powers = ratio.as_powers_dict()
    e, beside = int(powers[v]), _beside(asked, powers, v)
    rest = cancelled(ratio / v**e * (beside or Integer(1)) ** e) ** (-1 if e > 0 else 1)
    edge = ground.layout.root(rest, abs(e))
    bound = Compare(ground.layout.write(v / (beside or Integer(1))), ">" if e > 0 else "<", edge)
    least = ground.layout.root(found.value, found.degree)
    where = (*ground.equalities, *asked.where)
    said = Step(
        "optimum", Reason.THERE, Compare(T_MATH, ">", least), "<=>", bound, where, Leads(), role="optimum_bound"
    )
    ground = ground.defining(T_MATH).add(said)
    value = ground.in_numbers(rest)
    if value != rest:
        shown, role = ground.layout.root(value, abs(e)), "optimum_bound_value"
        ground = ground.add(Step("optimum", Reason.FIGURES, edge, "=", shown, ground.equalities, Leads(), role=role))
    return ground, replace(asked, bound=(bound, rest, abs(e)))


def _order_of(ground: Ground, asked: Asked) -> Iterator[str]:
    """What a condition is solved for: B, or the first size that it depends on; not what is shared out."""
    end = set() if asked.sharing is None else {s.name for s in asked.sharing.end.free_symbols}
    yield from (name for name in ("B", *ground.layout.order) if name not in end)


def _beside(asked: Asked, powers: Mapping[Expr, Any], v: Expr) -> Expr | None:
    """What is shared out, where the condition is one on v over it."""
    end = None if asked.sharing is None else asked.sharing.end
    return end if end is not None and end.is_Symbol and powers.get(end, 0) == -powers[v] else None
