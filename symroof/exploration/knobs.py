"""What one change does to a quantity: a dimension doubled, a tensor stored in another dtype, an output never written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from sympy import Expr, oo

from symroof.algebra.dominance import leading, vanishes
from symroof.algebra.rational import cancelled
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


def knobs(setting: Setting, value: Expr, regimes: Sequence[Regime], *, of_intensity: bool) -> tuple[Knob, ...]:
    """Every knob; dimensions with the same effect everywhere are one knob.

    >>> from symroof.model.library import library_operation
    >>> from symroof.model.problem import Problem
    >>> setting = setting_of(Problem(library_operation("matmul")))
    >>> B, D, F = map(symbol, "BDF")
    >>> small = Regime(((B, "<<", D), (B, "<<", F)), setting.least_one)
    >>> [(k.kind, k.what, k.factors) for k in knobs(setting, setting.intensity, [small], of_intensity=True)][:2]
    [('doubled', ('B',), (2,)), ('doubled', ('D',), (1,))]
    """
    found = list(_doubled(setting, value))
    if of_intensity:
        found += _stored(setting, value)
    merged: dict[tuple[str, str | None, Expr], Knob] = {}
    for knob in found:
        key = (knob.kind, knob.dtype, knob.ratio if knob.ratio == 1 else (knob.ratio, knob.what))
        known = merged.get(key)
        merged[key] = replace(known, what=(*known.what, *knob.what)) if known else knob
    kept = [k for k in merged.values() if k.ratio != 1] + [k for k in merged.values() if k.ratio == 1]
    kept.sort(key=lambda k: ("doubled", "stored", "unwritten").index(k.kind))
    return tuple(replace(knob, factors=tuple(_tends_to(knob.ratio, regime) for regime in regimes)) for knob in kept)


def _tends_to(ratio: Expr, regime: Regime) -> Expr:
    form = leading(ratio, regime).form
    if vanishes(1 / form, regime):
        return oo
    return form


def _doubled(setting: Setting, value: Expr) -> Iterable[Knob]:
    fixed = setting.regime.substitution
    for name in setting.problem.operation.dimensions:
        x = symbol(name)
        if x not in fixed:
            yield Knob("doubled", (name,), None, cancelled(value.subs(x, 2 * x) / value), ())


def _stored(setting: Setting, value: Expr) -> Iterable[Knob]:
    """Each tensor in the next narrower dtype, and the output that stays on the chip."""
    operation = setting.problem.operation
    if not isinstance(operation, Einsum):
        return
    compute = setting.problem.compute or _compute(operation)
    for place, tensor in enumerate(operation.tensors):
        narrow = narrower(tensor.dtype)
        if narrow is None or compute is None:
            continue
        tensors = [replace(t, dtype=narrow) if i == place else t for i, t in enumerate(operation.tensors)]
        other = setting_of(replace(setting.problem, operation=Einsum(tuple(tensors[:-1]), tensors[-1]), compute=compute))
        name = operation.operand_name(place)
        yield Knob("stored", (name,), narrow.name, cancelled(other.intensity / value), ())
    if not setting.over_network:
        parts = shares(setting)
        total = sum(t.amount for t in parts)
        yield Knob("unwritten", (operation.operand_name(len(operation.inputs)),), None, cancelled(total / (total - parts[-1].amount)), ())


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
