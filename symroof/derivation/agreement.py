"""Whether sizes that are put in agree with what is assumed."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from sympy import Expr

from symroof.algebra.regime import Regime
from symroof.derivation.setting import Setting
from symroof.errors import AlgebraError
from symroof.symbols import rational, symbol


def require_sizes_agree(setting: Setting, values: Mapping[str, Fraction]) -> None:
    """Sizes that are put in must agree with what is assumed."""
    require_agreement(setting.regime, {symbol(name): rational(value) for name, value in values.items()})


def require_agreement(regime: Regime, put: Mapping[Expr, Expr]) -> None:
    """A point that contradicts a fact or an equality of the regime is refused."""
    for left, relation, right in regime.relations:
        if relation not in ("=", "<=", ">="):
            continue
        a, b = left.subs(put), right.subs(put)
        if a.is_Rational and b.is_Rational and not {"=": a == b, "<=": a <= b, ">=": a >= b}[relation]:
            raise AlgebraError(f"the sizes that are put in contradict {left} {relation} {right}")
    for x in put:
        if x in regime.substitution:
            raise AlgebraError(
                f"{x} is {regime.substitution[x]} here", hint=f"give a size of {regime.substitution[x]} instead"
            )
