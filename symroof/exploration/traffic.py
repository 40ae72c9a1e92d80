"""Which tensors make up the bytes: in a regime, and at a point."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from sympy import Add, Expr

from symroof.algebra.dominance import vanishes
from symroof.algebra.regime import Regime
from symroof.derivation.setting import Setting
from symroof.model.mesh import local_bytes
from symroof.model.operation import Einsum
from symroof.symbols import fraction, rational, symbol


@dataclass(frozen=True, slots=True)
class Traffic:
    """What one tensor, one exchange or one given count adds to the bytes of a chip over the link."""

    label: str
    amount: Expr


def shares(setting: Setting) -> tuple[Traffic, ...]:
    """What the bytes that are moved consist of.

    >>> from symroof.derivation.setting import setting_of
    >>> from symroof.model.library import library_operation
    >>> from symroof.model.problem import Problem
    >>> [(t.label, str(t.amount)) for t in shares(setting_of(Problem(library_operation("matmul"))))]
    [('left', '2*B*D'), ('right', '2*D*F'), ('output', '2*B*F')]
    """
    operation, mesh, apply = setting.problem.operation, setting.problem.mesh, setting.regime.apply
    if setting.over_network:
        found = [Traffic(exchange.collective, exchange.sent) for exchange in setting.exchanges]
    elif isinstance(operation, Einsum):
        names = [operation.operand_name(i).removesuffix(" operand") for i in range(len(operation.tensors))]
        amounts = local_bytes(operation, mesh) if operation.axes else [t.bytes for t in operation.tensors]
        found = [Traffic(name, amount) for name, amount in zip(names, amounts, strict=True)]
    else:
        found = [Traffic("reads", setting.cost.reads), Traffic("writes", setting.cost.writes)]
    return tuple(Traffic(t.label, apply(t.amount)) for t in found if t.amount != 0)


def dominant(setting: Setting, regime: Regime) -> tuple[Traffic, ...]:
    """The parts of the bytes that are not negligible in a regime."""
    found = shares(setting)
    total = Add(*(t.amount for t in found))
    kept = tuple(t for t in found if not vanishes(t.amount / total, regime))
    return kept or found


def parts_at(setting: Setting, values: Mapping[str, Fraction]) -> tuple[tuple[str, Fraction], ...]:
    """Each part's share of the bytes at given sizes."""
    point = {symbol(name): rational(value) for name, value in values.items()}
    amounts = [(t.label, fraction(t.amount.subs(point))) for t in shares(setting)]
    total = sum((amount for _, amount in amounts), Fraction(0))
    return tuple((label, amount / total) for label, amount in amounts)
