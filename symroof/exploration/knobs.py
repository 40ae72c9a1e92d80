"""What one change does to a quantity: a dimension doubled, a tensor stored in another dtype, an output never written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from sympy import Expr, Integer, oo

from symroof.algebra.dominance import leading, vanishes
from symroof.algebra.fan import Fan
from symroof.algebra.rational import cancelled, ratio
from symroof.algebra.regime import Regime
from symroof.derivation.answer import Said
from symroof.derivation.draft import INTENSITY, Draft
from symroof.derivation.pipeline import counted
from symroof.errors import SymroofError
from symroof.exploration.partition import tends_to
from symroof.exploration.traffic import shares
from symroof.formula import Formula, Group, Name, Negative, Quotient, Sum, number
from symroof.model.dtype import Dtype, dtype
from symroof.model.operation import AnyOperation
from symroof.proof.grounds import Doubled, Unbounded
from symroof.proof.step import Reason, Step
from symroof.symbols import expression, fraction, rational, symbol


@dataclass(frozen=True, slots=True)
class Knob(Said):
    """A change: ``kind`` is doubled, stored or unwritten, ``what`` the dimensions or the tensor."""

    kind: str
    what: tuple[str, ...]
    dtype: str | None

    @property
    def ratio(self) -> Expr:
        """The exact quotient of the quantity after and before."""
        value = self.value("ratio")
        assert value is not None
        return value

    @property
    def factors(self) -> tuple[Expr, ...]:
        """What the ratio tends to in each regime: a form, or oo."""
        tends = (step for step in self.steps if step.role == "leading")
        return tuple(oo if step.facts is not None else expression(step.right) for step in tends)

    def at(self, values: Mapping[str, Fraction]) -> Fraction | None:
        """The exact factor at given sizes; None where a size is missing."""
        factor = self.ratio.subs({symbol(name): rational(value) for name, value in values.items()})
        return fraction(factor) if factor.is_Rational else None


@dataclass(frozen=True, slots=True)
class Change:
    """A change, the step that says what it multiplies the quantity by, and the quantity afterwards."""

    kind: str
    what: tuple[str, ...]
    dtype: str | None
    step: Step
    after: Expr

    @property
    def ratio(self) -> Expr:
        return expression(self.step.right)


def knobs(
    draft: Draft, found: Fan, name: Formula, regimes: Sequence[tuple[int, Regime, tuple[Formula, ...]]]
) -> tuple[Knob, ...]:
    """Every knob; those of one kind that change nothing are one knob. ``regimes`` are masks of cells, with what holds
    there.

    >>> from symroof.algebra.fan import fan
    >>> from symroof.model.library import library_operation
    >>> from symroof.model.problem import Problem
    >>> from symroof.exploration.traffic import parts
    >>> draft = counted(Problem(library_operation("matmul")))
    >>> draft = draft.add(*parts(draft))
    >>> plain = Regime((), draft.setting.least_one)
    >>> cells = fan(draft.setting.intensity, plain)
    >>> [(k.kind, k.what) for k in knobs(draft, cells, INTENSITY, [])][:2]
    [('doubled', ('B',)), ('doubled', ('D',))]
    """
    changes = list(_doubled(draft, found, name))
    if name == INTENSITY:
        changes += _stored(draft, found.value)
    merged: dict[tuple[str, str | None, tuple[str, ...]], Change] = {}
    for change in changes:
        key = (change.kind, change.dtype, () if change.ratio == 1 else change.what)
        known = merged.get(key)
        merged[key] = replace(known, what=(*known.what, *change.what)) if known else change
    kept = [c for c in merged.values() if c.ratio != 1] + [c for c in merged.values() if c.ratio == 1]
    kept.sort(key=lambda c: ("doubled", "stored", "unwritten").index(c.kind))
    return tuple(
        Knob(
            draft.add(c.step, *(_tends(draft, found, c, *regime) for regime in regimes)).since(draft),
            c.kind,
            c.what,
            c.dtype,
        )
        for c in kept
    )


def _tends(draft: Draft, found: Fan, change: Change, mask: int, regime: Regime, assume: tuple[Formula, ...]) -> Step:
    """What a factor tends to in a cell: told by the largest terms, where the change has left the terms what they are."""
    sides = ratio(change.after, found.symbols)
    factor = change.ratio
    if [side.keys() for side in sides] == [found.above.keys(), found.below.keys()]:
        form = cancelled(found.leading(mask, sides) / found.leading(mask))
    else:
        form = leading(factor, regime)
    if not vanishes(1 / form, regime):
        return tends_to(Group(draft.write(factor)), factor, form, regime, assume, draft.layout)
    grows = tends_to(
        Sum((number(1), Group(draft.write(1 / factor)))), 1 + 1 / factor, Integer(1), regime, assume, draft.layout
    )
    return replace(grows, facts=Unbounded())


def _doubled(draft: Draft, found: Fan, name: Formula) -> Iterable[Change]:
    fixed, value = draft.setting.regime.substitution, found.value
    for dimension in draft.setting.problem.operation.dimensions:
        x = symbol(dimension)
        if x not in fixed:
            after = value.subs(x, 2 * x)
            left = Quotient(draft.write(after), name)
            right, equal = draft.write(cancelled(after / value)), draft.setting.equalities
            step = Step("regime", Reason.FACTOR, left, "=", right, equal, Doubled(dimension), role="ratio")
            yield Change("doubled", (dimension,), None, step, after)


def _stored(draft: Draft, value: Expr) -> Iterable[Change]:
    """Each tensor in the next narrower dtype, and the output that stays on the chip."""
    setting, operation = draft.setting, draft.setting.problem.operation
    if not operation.tensors:
        return
    compute = setting.problem.compute or _compute(operation)
    for place, tensor in enumerate(operation.tensors):
        narrow = narrower(tensor.dtype)
        if narrow is None or compute is None:
            continue
        changed = replace(setting.problem, operation=operation.stored({place: narrow}), compute=compute)
        after = counted(changed).answer.intensity
        what = (operation.operand_name(place),)
        left = Quotient(draft.write(after), INTENSITY)
        yield Change("stored", what, narrow.name, _ratio(draft, left, cancelled(after / value)), after)
    if not setting.over_network:
        parts = shares(setting)
        total = sum(t.amount for t in parts)
        factor = cancelled(total / (total - parts[-1].amount))
        moved = Name(setting.moved_name)
        left = Quotient(moved, Sum((moved, Negative(parts[-1].name))))
        what = (operation.operand_name(len(operation.tensors) - 1),)
        yield Change("unwritten", what, None, _ratio(draft, left, factor), value * factor)


def _ratio(draft: Draft, left: Formula, factor: Expr) -> Step:
    return Step("regime", Reason.FACTOR, left, "=", draft.write(factor), draft.setting.equalities, role="ratio")


def _compute(operation: AnyOperation) -> Dtype | None:
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
