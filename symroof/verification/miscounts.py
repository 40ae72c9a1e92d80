"""Mistakes about what is counted: the worlds in which a wrong claim would be right.

The output is not written, an operand has another width, a multiply-add counts once, another figure is taken.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from math import floor
from typing import Any

from sympy import Expr, Rational

from symroof.algebra.rounding import to_digits
from symroof.formula import Compare, Name, Number, Quotient, names
from symroof.model.cost import Cost, Term
from symroof.model.operation import Einsum
from symroof.verification.context import Context, costs
from symroof.verification.enclosures import enclosed, is_numeric
from symroof.verification.literals import MIRRORED


@dataclass(frozen=True, slots=True)
class Trial:
    """A world or a claim that a mistake leads to, and what to say of it."""

    facts: dict[str, Any]
    link: Compare
    context: Context


Trials = Iterator[Trial]


def _costed(context: Context, cost: Cost) -> Context:
    """The world in which the operation costs this."""
    setting = context.setting
    assert setting is not None
    moved = cost.bytes if setting.moved_name == "bytes" else setting.moved
    return context.defining(costs(replace(setting, cost=cost, moved=moved)))


def not_moved(link: Compare, context: Context) -> Trials:
    """The output is not written, or one operand not read."""
    if context.setting is None:
        return
    cost = context.setting.cost
    if cost.stores and cost.loads:
        yield Trial({"what": "output"}, link, _costed(context, replace(cost, stores=())))
    for i, term in enumerate(cost.loads):
        rest = (*cost.loads[:i], *cost.loads[i + 1 :])
        if rest or cost.stores:
            yield Trial(
                {"what": "operand", "name": _operand(context, i), "term": term.label},
                link,
                _costed(context, replace(cost, loads=rest)),
            )


def _operand(context: Context, index: int) -> str:
    operation = context.setting.problem.operation if context.setting else None
    return operation.operand_name(index) if isinstance(operation, Einsum) else ""


def other_width(link: Compare, context: Context) -> Trials:
    """An operand, or the output, at the width of another dtype."""
    setting = context.setting
    if setting is None or not isinstance(setting.problem.operation, Einsum):
        return
    cost, tensors = setting.cost, setting.problem.operation.tensors
    for i, tensor in enumerate(tensors):
        for bits in (4, 8, 16, 32):
            if bits == tensor.dtype.bits:
                continue
            share = Rational(bits, tensor.dtype.bits)
            if i < len(cost.loads) and i < len(tensors) - 1:
                loads = tuple(_scaled(t, share) if j == i else t for j, t in enumerate(cost.loads))
                changed = replace(cost, loads=loads)
            elif i == len(tensors) - 1 and len(cost.stores) == 1:
                changed = replace(cost, stores=(_scaled(cost.stores[0], share),))
            else:
                continue
            facts = {
                "name": _operand(context, i),
                "output": i == len(tensors) - 1,
                "bits": bits,
                "dtype": str(tensor.dtype),
            }
            yield Trial(facts, link, _costed(context, changed))


def _scaled(term: Term, share: Expr) -> Term:
    return Term(term.label, term.amount * share)


def elements_for_bytes(link: Compare, context: Context) -> Trials:
    """Elements are counted where bytes are meant."""
    setting = context.setting
    if setting is None or not isinstance(setting.problem.operation, Einsum):
        return
    tensors, cost = setting.problem.operation.tensors, setting.cost
    if len(cost.loads) != len(tensors) - 1 or len(cost.stores) != 1:
        return
    shares = [Rational(8, t.dtype.bits) for t in tensors]
    if all(share == 1 for share in shares):
        return
    loads = tuple(_scaled(term, share) for term, share in zip(cost.loads, shares, strict=False))
    facts = {"dtype": str(tensors[0].dtype), "bytes": Fraction(tensors[0].dtype.bits, 8)}
    yield Trial(
        facts, link, _costed(context, replace(cost, loads=loads, stores=(_scaled(cost.stores[0], shares[-1]),)))
    )


def multiply_add(link: Compare, context: Context) -> Trials:
    """A multiply-add counted as one operation, or every operation as two."""
    if context.setting is None:
        return
    for factor in (Fraction(1, 2), Fraction(2)):
        cost = context.setting.cost
        share = Rational(factor.numerator, factor.denominator)
        work = tuple(_scaled(t, share) for t in cost.rounded)
        yield Trial({"factor": factor}, link, _costed(context, replace(cost, rounded=work, count="fma")))


def other_figure(link: Compare, context: Context) -> Trials:
    """Another listed figure of the same chip: a stale edition, another dtype, the peak with sparsity."""
    chip, setting = context.hardware, context.setting
    if chip is None:
        return
    used = {name: name for name in chip.figures}
    if setting is not None:
        used = {"peak": setting.peak_name, "bandwidth": setting.problem.link}
    for name, figure_name in used.items():
        known = chip.figures.get(figure_name)
        if known is None or name not in context.definitions:
            continue
        others = [(figure_name, a, "listed") for a in known.alternatives]
        others += [
            (other, f, "other") for other, f in chip.figures.items() if other != figure_name and f.unit == known.unit
        ]
        for label, figure, kind in others:
            if figure.value == known.value:
                continue
            facts = {
                "kind": kind,
                "figure": label,
                "instead": figure_name,
                "digits": figure.digits,
                "right": known.digits,
                "unit": known.unit,
            }
            world = {
                name: Number(figure.value, figure.digits),
                **({figure_name: Number(figure.value, figure.digits)} if setting else {}),
            }
            yield Trial(facts, link, context.defining(world))


def other_rate(link: Compare, context: Context) -> Trials:
    """The peak with sparsity is twice the dense one; a bandwidth for both directions is twice that of one."""
    for name, kind in (("peak", "sparse"), ("bandwidth", "both_ways")):
        value = context.definitions.get(name)
        if isinstance(value, Number):
            for factor in (Fraction(2), Fraction(1, 2)):
                facts = {"kind": kind, "twice": factor == 2, "right": value.digits}
                yield Trial(facts, link, context.defining({name: Number(value.value * factor)}))


def rounded_early(link: Compare, context: Context) -> Trials:
    """The ridge rounded before the condition is solved."""
    if link.relation not in ("<=>", "=>") or not isinstance(link.left, Compare):
        return
    if {"T_math", "T_comms"} != set(names(link.left)) or not {"peak", "bandwidth"} <= set(context.definitions):
        return
    ridge = Quotient(Name("peak"), Name("bandwidth"))
    expanded = context.expanded(ridge)
    if not is_numeric(expanded):
        return
    value = enclosed(expanded).middle
    condition = Compare(Name("intensity"), link.left.relation, Name("ridge"))
    if link.left.left == Name("T_comms"):
        condition = replace(condition, relation=MIRRORED[link.left.relation])
    tried = set()
    for digits in (2, 3, 4):
        for shown in (Fraction(to_digits(value, digits)), _cut(value, digits)):
            if shown not in tried and shown != value:
                tried.add(shown)
                world = context.defining({"ridge": Number(shown)})
                yield Trial({"value": value, "rounded": shown}, replace(link, left=condition), world)


def _cut(value: Fraction, digits: int) -> Fraction:
    unit = Fraction(10) ** (len(str(floor(value))) - digits)
    return floor(value / unit) * unit
