"""Which tensor moves most bytes: the parts of the traffic, in a regime and at a point, as steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from sympy import Add, Expr

from symroof.algebra.dominance import similar, vanishes
from symroof.algebra.regime import Regime
from symroof.derivation.draft import Draft, dominated, written
from symroof.derivation.setting import Setting
from symroof.derivation.splitting import sent_names
from symroof.formula import Formula, Name, Quotient, total
from symroof.model.mesh import local_bytes
from symroof.proof.step import Reason, Step
from symroof.symbols import fraction, rational, symbol


@dataclass(frozen=True, slots=True)
class Traffic:
    """What one tensor, one exchange or one given count adds to the bytes of a chip over the link: ``name`` is its own
    in the steps, ``amount`` has the equal sizes put in."""

    label: str
    name: Name
    amount: Expr


def shares(setting: Setting) -> tuple[Traffic, ...]:
    """What the bytes that are moved consist of.

    >>> from symroof.derivation.setting import setting_of
    >>> from symroof.model.library import library_operation
    >>> from symroof.model.problem import Problem
    >>> [(t.label, str(t.amount)) for t in shares(setting_of(Problem(library_operation("matmul"))))]
    [('left', '2*B*D'), ('right', '2*D*F'), ('output', '2*B*F')]
    """
    operation, apply = setting.problem.operation, setting.regime.apply
    if setting.over_network:
        sent = zip(setting.exchanges, sent_names(setting), strict=True)
        parts = [Traffic(exchange.collective, Name(name), exchange.sent) for exchange, name in sent]
    elif operation.tensors:
        labels = (operation.operand_name(i).removesuffix(" operand") for i in range(len(operation.tensors)))
        amounts = enumerate(zip(labels, local_bytes(operation, setting.problem.mesh), strict=True))
        parts = [Traffic(label, Name(f"part_{i}"), amount) for i, (label, amount) in amounts]
    else:
        parts = [Traffic(name, Name(name), getattr(setting.cost, name)) for name in ("reads", "writes")]
    return tuple(Traffic(t.label, t.name, apply(t.amount)) for t in parts if t.amount != 0)


def parts(draft: Draft) -> tuple[Step, ...]:
    """The bytes of each tensor on a chip, counted; exchanges and given counts have names already."""
    setting = draft.setting
    if setting.over_network or not setting.problem.operation.tensors:
        return ()
    meanings, amounts = draft.ledger.meanings, local_bytes(setting.problem.operation, setting.problem.mesh)
    return tuple(
        Step("regime", Reason.SHARE_BYTES, Name(name), "=", draft.write(amount), evidence=meanings[name])
        for name, amount in ((f"part_{i}", amount) for i, amount in enumerate(amounts))
    )


def dominant(draft: Draft, regime: Regime) -> tuple[Step, ...]:
    """That the bytes are, in a regime, those of the parts that are not negligible."""
    setting = draft.setting
    everything = shares(setting)
    whole = Add(*(t.amount for t in everything))
    kept = tuple(t for t in everything if not vanishes(t.amount / whole, regime)) or everything
    left, right = Name(setting.moved_name), total(*(t.name for t in kept))
    similarity = similar(whole, Add(*(t.amount for t in kept)), regime)
    assume, evidence = written(regime.relations, draft.write), dominated(similarity, draft.write)
    return (Step("regime", Reason.LEADING, left, "~", right, assume, evidence, role="moves"),)


def shares_at(draft: Draft, values: Mapping[str, Fraction], where: tuple[Formula, ...]) -> tuple[Step, ...]:
    """Each part's share of the bytes at given sizes."""
    point = {symbol(name): rational(value) for name, value in values.items()}
    amounts = [(t, fraction(t.amount.subs(point))) for t in shares(draft.setting)]
    whole = sum((amount for _, amount in amounts), Fraction(0))
    moved = Name(draft.setting.moved_name)
    return tuple(
        Step(
            "regime", Reason.SHARE_BYTES, Quotient(t.name, moved), "=", draft.write(amount / whole), where, role="share"
        )
        for t, amount in amounts
    )
