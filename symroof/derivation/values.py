"""What the named quantities of a problem are, as SymPy values in sizes and figures."""

from __future__ import annotations

from collections.abc import Mapping

from sympy import Expr

from symroof.algebra.rational import cancelled
from symroof.derivation.setting import Setting
from symroof.model.quantities import DERIVED, meaning
from symroof.symbols import expression, symbol

PEAK, BANDWIDTH, RIDGE = map(symbol, ("peak", "bandwidth", "ridge"))


def quantities(setting: Setting) -> dict[str, Expr]:
    """Every quantity by its name: in the sizes, ``peak`` and ``bandwidth``; and the formulas that the problem names.

    >>> from symroof.derivation.setting import setting_of
    >>> from symroof.model.library import library_operation
    >>> from symroof.model.problem import Problem
    >>> quantities(setting_of(Problem(library_operation("dot"))))["T_comms"]
    (4*N + 2)/bandwidth
    """
    cost, apply = setting.cost, setting.regime.apply
    found = {
        "flops": apply(cost.flops),
        "reads": apply(cost.reads),
        "writes": apply(cost.writes),
        "bytes": apply(cost.bytes),
        setting.flops_name: apply(setting.flops),
        setting.moved_name: apply(setting.moved),
        "peak": PEAK,
        "bandwidth": BANDWIDTH,
    }
    for name in DERIVED:
        formula = meaning(name, setting.flops_name, setting.moved_name)
        assert formula is not None
        found[name] = put(expression(formula), found)
    found["intensity"] = setting.intensity
    for name, formula in setting.problem.let.items():
        found[name] = put(apply(expression(formula)), found)
    return found


def put(value: Expr, known: Mapping[str, Expr]) -> Expr:
    """The value with named quantities replaced by what they are."""
    return value.subs(
        {
            symbol(name): found
            for name, found in known.items()
            if symbol(name) in value.free_symbols and found != symbol(name)
        },
        simultaneous=True,
    )


def in_ridge(value: Expr) -> Expr:
    """A rational function with peak/bandwidth written as the ridge, where the two occur in no other way.

    >>> in_ridge(PEAK * symbol("B") / (2 * BANDWIDTH))
    B*ridge/2
    """
    if not {PEAK, BANDWIDTH} <= value.free_symbols:
        return value
    found = cancelled(value.subs(PEAK, RIDGE * BANDWIDTH))
    return value if BANDWIDTH in found.free_symbols else found
