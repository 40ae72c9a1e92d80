"""What one change does to a quantity: a dimension doubled, a tensor stored in another dtype, an output never written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from sympy import Expr, Integer, oo

from symroof.algebra.dominance import leading, vanishes
from symroof.algebra.rational import cancelled
from symroof.algebra.regime import Regime
from symroof.derivation.answer import Said
from symroof.derivation.draft import INTENSITY, Draft
from symroof.derivation.meanings import script_of
from symroof.derivation.pipeline import counted
from symroof.exploration.leading_parts import shares, tends_to
from symroof.formula import Formula, Group, Name, Negative, Quotient, Sum, number
from symroof.model.dtype import Dtype, dtype
from symroof.model.program import Program
from symroof.model.program_text import numbers, retyped
from symroof.proof.evidence import Doubled
from symroof.proof.ledger import Evidence, Unbounded
from symroof.proof.running import Narrowed
from symroof.proof.step import Reason, Step
from symroof.symbols import expression, symbol

KINDS = ("doubled", "stored", "narrowed", "unwritten")


class Knob(Said):
    """A change: ``kind`` is doubled, stored, narrowed or unwritten, ``what`` the dimensions, the tensor, or the role of
    the tensors of a program that are all narrowed."""

    kind: str
    what: tuple[str, ...]
    dtype: str | None

    @property
    def ratio(self) -> Expr:
        """The exact quotient of the quantity after and before."""
        return self.known("ratio")

    @property
    def factors(self) -> tuple[Expr, ...]:
        """What the ratio tends to in each regime: a form, or oo."""
        tends = (step for step in self.steps if step.role == "leading")
        return tuple(oo if step.facts is not None else expression(step.right) for step in tends)


def knobs(draft: Draft, name: Formula, value: Expr, regimes: Sequence[Regime]) -> tuple[Knob, ...]:
    """Every knob; those of one kind that change nothing are one knob. Each says what its factor tends to in the regimes.

    >>> from symroof.model.library import library_operation
    >>> from symroof.model.problem import Problem
    >>> from symroof.exploration.leading_parts import parts
    >>> draft = counted(Problem(library_operation("matmul")))
    >>> draft = draft.add(*parts(draft))
    >>> [(k.kind, k.what) for k in knobs(draft, INTENSITY, draft.setting.intensity, [])][:2]
    [('doubled', ('B',)), ('doubled', ('D',))]
    """
    merged: dict[tuple[str, str | None, tuple[str, ...]], Knob] = {}
    for knob in (*_doubled(draft, name, value), *(_stored(draft, value) if name == INTENSITY else ())):
        key = (knob.kind, knob.dtype, () if knob.ratio == 1 else knob.what)
        known = merged.get(key)
        merged[key] = replace(known, what=(*known.what, *knob.what)) if known else knob
    ordered = sorted(merged.values(), key=lambda knob: (KINDS.index(knob.kind), knob.ratio == 1))
    tends = {knob: [_tends(draft, knob.ratio, regime) for regime in regimes] for knob in ordered}
    return tuple(replace(knob, steps=draft.add(*knob.steps, *tends[knob]).since(draft)) for knob in ordered)


def _tends(draft: Draft, factor: Expr, regime: Regime) -> Step:
    """What a factor tends to in a regime, or that it grows without bound."""
    form = leading(factor, regime)
    if not vanishes(1 / form, regime):
        return tends_to(Group(draft.write(factor)), factor, form, regime, draft.layout)
    beside = Sum((number(1), Group(draft.write(1 / factor))))
    return replace(tends_to(beside, 1 + 1 / factor, Integer(1), regime, draft.layout), facts=Unbounded())


def _doubled(draft: Draft, name: Formula, value: Expr) -> Iterable[Knob]:
    for dimension in draft.setting.problem.operation.dimensions:
        x = symbol(dimension)
        if x not in draft.setting.regime.substitution:
            after = value.subs(x, 2 * x)
            left = Quotient(draft.write(after), name)
            yield Knob((_ratio(draft, left, after / value, Doubled(dimension)),), "doubled", (dimension,), None)


def _stored(draft: Draft, value: Expr) -> Iterable[Knob]:
    """Each tensor in the next narrower dtype, and the output that stays on the chip."""
    setting, operation = draft.setting, draft.setting.problem.operation
    yield from _narrowed(draft, value, operation)
    if not operation.tensors:
        return
    for place, tensor in enumerate(operation.tensors):
        narrow = narrower(tensor.dtype)
        if narrow is None:
            continue
        what = (operation.operand_name(place),)
        yield _restored(draft, value, operation.stored({place: narrow}), "stored", what, narrow)
    if parts := shares(setting):
        total = sum(t.amount for t in parts)
        factor = total / (total - parts[-1].amount)
        moved = Name(setting.moved_name)
        left = Quotient(moved, Sum((moved, Negative(parts[-1].name))))
        what = (operation.operand_name(len(operation.tensors) - 1),)
        yield Knob((_ratio(draft, left, factor),), "unwritten", what, None)


def _narrowed(draft: Draft, value: Expr, program: Program) -> Iterable[Knob]:
    """All weights, and all caches, in the next narrower dtype than the widest of them. Not in training: what is kept in
    whole numbers has no gradient."""
    for role in ("weight", "cache") if not program.training and not draft.setting.several_chips else ():
        tensors = [t for t in program.declared_as(role) if str(t.name) in numbers(program)]
        narrow = narrower(max((t.dtype for t in tensors), key=lambda d: d.bits)) if tensors else None
        if narrow is not None:
            types = {str(t.name): narrow for t in tensors if t.dtype.bits > narrow.bits}
            evidence = Narrowed(script_of(program), "moved", role=role, bits=narrow.bits)
            yield _restored(draft, value, retyped(program, types), "narrowed", (role,), narrow, evidence)


def _restored(
    draft: Draft,
    value: Expr,
    operation: Program,
    kind: str,
    what: tuple[str, ...],
    narrow: Dtype,
    evidence: Evidence | None = None,
) -> Knob:
    """The knob that makes an operation of another, computed at the same rate."""
    problem = draft.setting.problem
    compute = problem.compute or problem.operation.compute
    after = counted(replace(problem, operation=operation, compute=compute)).answer.intensity
    left = Quotient(draft.write(after), INTENSITY)
    return Knob((_ratio(draft, left, after / value, evidence),), kind, what, narrow.name)


def _ratio(draft: Draft, left: Formula, factor: Expr, evidence: Evidence | None = None) -> Step:
    right, equal = draft.write(cancelled(factor)), draft.setting.equalities
    return Step("regime", Reason.FACTOR, left, "=", right, equal, evidence, role="ratio")


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
