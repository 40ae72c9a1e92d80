"""What one change does to a quantity: a dimension doubled, a tensor stored in another dtype, an output never written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from sympy import Expr, oo

from symroof.algebra.dominance import leading, vanishes
from symroof.algebra.fan import Fan
from symroof.algebra.rational import cancelled, polynomial, ratio
from symroof.algebra.regime import Regime
from symroof.derivation.setting import Setting, setting_of
from symroof.errors import SymroofError
from symroof.exploration.traffic import shares
from symroof.model.dtype import Dtype, dtype
from symroof.model.operation import Einsum
from symroof.symbols import fraction, rational, symbol


@dataclass(frozen=True, slots=True)
class Knob:
    """A change: ``kind`` is doubled, stored or unwritten, ``what`` the dimensions or the tensor, ``ratio`` the exact
    quotient of the quantity after and before, ``factors`` what it tends to in each regime: a form, or oo."""

    kind: str
    what: tuple[str, ...]
    dtype: str | None
    ratio: Expr
    factors: tuple[Expr, ...]

    def at(self, values: Mapping[str, Fraction]) -> Fraction | None:
        """The exact factor at given sizes; None where a size is missing."""
        found = self.ratio.subs({symbol(name): rational(value) for name, value in values.items()})
        return fraction(found) if found.is_Rational else None


def knobs(
    setting: Setting, found: Fan, regimes: Sequence[tuple[int, Regime]], *, of_intensity: bool
) -> tuple[Knob, ...]:
    """Every knob; those of one kind that change nothing are one knob.

    >>> from symroof.algebra.fan import fan
    >>> from symroof.model.library import library_operation
    >>> from symroof.model.problem import Problem
    >>> setting = setting_of(Problem(library_operation("matmul")))
    >>> plain = Regime((), setting.least_one)
    >>> cells = fan(setting.intensity, plain)
    >>> [(k.kind, k.what, k.factors) for k in knobs(setting, cells, [(cells.masks[0], plain)], of_intensity=True)][:2]
    [('doubled', ('B',), (2,)), ('doubled', ('D',), (1,))]
    """
    turned = list(_doubled(setting, found))
    if of_intensity:
        turned += _stored(setting, found)
    merged: dict[tuple[str, str | None, tuple[str, ...]], Knob] = {}
    for knob, _ in turned:
        key = (knob.kind, knob.dtype, () if knob.ratio == 1 else knob.what)
        known = merged.get(key)
        merged[key] = replace(known, what=(*known.what, *knob.what)) if known else knob
    kept = [k for k in merged.values() if k.ratio != 1] + [k for k in merged.values() if k.ratio == 1]
    kept.sort(key=lambda k: ("doubled", "stored", "unwritten").index(k.kind))
    after = {(knob.kind, knob.what[0]): value for knob, value in turned}
    return tuple(
        replace(
            knob,
            factors=tuple(_tends_to(found, after[knob.kind, knob.what[0]], knob.ratio, *regime) for regime in regimes),
        )
        for knob in kept
    )


def _tends_to(found: Fan, after: Expr, factor: Expr, mask: int, regime: Regime) -> Expr:
    """What a factor tends to in a cell: told by the largest terms, where the change has left the terms what they are."""
    above, below = ratio(after, found.symbols)
    if above.keys() == found.above.keys() and below.keys() == found.below.keys():
        cell = found.cell(mask)
        sides = (
            polynomial({e: terms[e] for e in kept}, found.symbols)
            for terms, kept in ((above, cell.above), (below, cell.below))
        )
        return cancelled(next(sides) / next(sides) / found.leading(mask))
    form = leading(factor, regime).form
    return oo if vanishes(1 / form, regime) else form


def _doubled(setting: Setting, found: Fan) -> Iterable[tuple[Knob, Expr]]:
    fixed, value = setting.regime.substitution, found.value
    for name in setting.problem.operation.dimensions:
        x = symbol(name)
        if x not in fixed:
            after = value.subs(x, 2 * x)
            yield Knob("doubled", (name,), None, cancelled(after / value), ()), after


def _stored(setting: Setting, found: Fan) -> Iterable[tuple[Knob, Expr]]:
    """Each tensor in the next narrower dtype, and the output that stays on the chip."""
    operation, value = setting.problem.operation, found.value
    if not isinstance(operation, Einsum):
        return
    compute = setting.problem.compute or _compute(operation)
    for place, tensor in enumerate(operation.tensors):
        narrow = narrower(tensor.dtype)
        if narrow is None or compute is None:
            continue
        tensors = [replace(t, dtype=narrow) if i == place else t for i, t in enumerate(operation.tensors)]
        other = setting_of(
            replace(setting.problem, operation=Einsum(tuple(tensors[:-1]), tensors[-1]), compute=compute)
        )
        name = operation.operand_name(place)
        yield Knob("stored", (name,), narrow.name, cancelled(other.intensity / value), ()), other.intensity
    if not setting.over_network:
        parts = shares(setting)
        total = sum(t.amount for t in parts)
        factor = cancelled(total / (total - parts[-1].amount))
        yield Knob("unwritten", (operation.operand_name(len(operation.inputs)),), None, factor, ()), value * factor


def _compute(operation: Einsum) -> Dtype | None:
    try:
        return operation.compute
    except SymroofError:
        return None


def narrower(given: Dtype) -> Dtype | None:
    """The dtype that people move to next: int8, then int4.

    >>> str(narrower(dtype("fp32"))), str(narrower(dtype("bf16"))), str(narrower(dtype("int8"))), narrower(dtype("int4"))
    ('bf16', 'int8', 'int4', None)
    """
    if given.bits > 16:
        return dtype("bf16")
    if given.bits > 8:
        return dtype("int8")
    return dtype("int4") if given.bits > 4 else None
