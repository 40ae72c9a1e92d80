"""Mistakes about what is counted: the worlds in which a wrong claim would be right.

The output is not written, an operand has another width, a multiply-add counts once, another figure is taken.
Every mistake gives what there is to say of it, and the world that it leads to.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import floor
from typing import Any

from sympy import Rational

from symroof.algebra.rounding import to_digits
from symroof.formula import Compare, Name, Number, names
from symroof.model.dtype import Tensor
from symroof.symbols import rational
from symroof.verification.context import Context
from symroof.verification.definitions import costs, printed
from symroof.verification.enclosures import enclosed, is_numeric
from symroof.verification.program_worlds import counted_in

Worlds = Iterator[tuple[Mapping[str, Any], Context]]


def _costed(context: Context, **changes: Any) -> Context:
    """The world in which the operation has other costs."""
    setting = context.setting
    assert setting is not None
    cost = replace(setting.cost, **changes)
    moved = cost.bytes if setting.moved_name == "bytes" else setting.moved
    return context.defining(costs(replace(setting, cost=cost, moved=moved)))


def not_moved(link: Compare, context: Context) -> Worlds:
    """The output is not written, or one operand not read; what a program moves has mistakes of its own."""
    if context.setting is None or counted_in(context) is not None:
        return
    cost, operation = context.setting.cost, context.setting.problem.operation
    if cost.stores and cost.loads:
        yield {"what": "output"}, _costed(context, stores=())
    for i in range(len(cost.loads)):
        rest = (*cost.loads[:i], *cost.loads[i + 1 :])
        if rest or cost.stores:
            yield {"what": "operand", "name": operation.operand_name(i)}, _costed(context, loads=rest)


def _tensors(context: Context) -> tuple[Tensor, ...]:
    """The tensors of an operation that reads each operand and writes one output."""
    if context.setting is None:
        return ()
    cost, tensors = context.setting.cost, context.setting.problem.operation.tensors
    return tensors if (len(cost.loads), len(cost.stores)) == (len(tensors) - 1, 1) else ()


def _widened(context: Context, bits: Sequence[int]) -> Context:
    """The world in which the elements of the tensors have these widths."""
    assert context.setting is not None
    cost = context.setting.cost
    *loads, store = (
        amount * Rational(width, tensor.dtype.bits)
        for amount, tensor, width in zip((*cost.loads, *cost.stores), _tensors(context), bits, strict=True)
    )
    return _costed(context, loads=tuple(loads), stores=(store,))


def other_width(link: Compare, context: Context) -> Worlds:
    """An operand, or the output, at the width of another dtype."""
    tensors = _tensors(context)
    stated = [tensor.dtype.bits for tensor in tensors]
    for i, tensor in enumerate(tensors):
        assert context.setting is not None
        name, output = context.setting.problem.operation.operand_name(i), i == len(tensors) - 1
        for bits in (width for width in (4, 8, 16, 32) if width != tensor.dtype.bits):
            facts = {"name": name, "output": output, "bits": bits, "dtype": str(tensor.dtype)}
            yield facts, _widened(context, [*stated[:i], bits, *stated[i + 1 :]])


def elements_for_bytes(link: Compare, context: Context) -> Worlds:
    """Elements are counted where bytes are meant."""
    tensors = _tensors(context)
    if any(tensor.dtype.bits != 8 for tensor in tensors):
        facts = {"dtype": str(tensors[0].dtype), "bytes": Fraction(tensors[0].dtype.bits, 8)}
        yield facts, _widened(context, [8] * len(tensors))


def multiply_add(link: Compare, context: Context) -> Worlds:
    """A multiply-add counted as one operation, or every operation as two."""
    for factor in (Fraction(1, 2), Fraction(2)) if context.setting is not None else ():
        assert context.setting is not None
        work = tuple(amount * rational(factor) for amount in context.setting.cost.rounded)
        changed, program = _costed(context, rounded=work, count="fma"), counted_in(context)
        if program is not None:
            write, known = context.setting.layout.write, program.amounts
            flops = {n: write(x * rational(factor)) for n, x in known.items() if n.startswith("flops(")}
            changed = changed.defining(flops)
        yield {"factor": factor}, changed


def other_figure(link: Compare, context: Context) -> Worlds:
    """Another listed figure of the same chip: a stale edition, another dtype, the peak with sparsity."""
    chip, setting = context.hardware, context.setting
    if chip is None:
        return
    used = {name: name for name in chip.figures}
    if setting is not None:
        used = {"peak": setting.peak_name, "bandwidth": setting.problem.link}
    for name, instead in used.items():
        known = chip.figures.get(instead)
        if known is None or name not in context.definitions:
            continue
        others = [(instead, edition, "listed") for edition in known.alternatives]
        others += [(n, f, "other") for n, f in chip.figures.items() if n != instead and f.unit == known.unit]
        for label, figure, kind in others:
            if figure.value != known.value:
                facts = {"kind": kind, "figure": label, "instead": instead, "digits": figure.digits}
                facts |= {"right": known.digits, "unit": known.unit}
                yield facts, context.defining(dict.fromkeys((name, instead), printed(figure)))


def other_rate(link: Compare, context: Context) -> Worlds:
    """The peak with sparsity is twice the dense one; a bandwidth for both directions is twice that of one."""
    for name, kind in (("peak", "sparse"), ("bandwidth", "both_ways")):
        value = context.definitions.get(name)
        for factor in (Fraction(2), Fraction(1, 2)) if isinstance(value, Number) else ():
            assert isinstance(value, Number)
            facts = {"kind": kind, "twice": factor == 2, "right": value.digits}
            yield facts, context.defining({name: Number(value.value * factor)})


def rounded_early(link: Compare, context: Context) -> Worlds:
    """The ridge rounded before the condition is solved."""
    if not isinstance(link.left, Compare) or set(names(link.left)) != {"T_math", "T_comms"}:
        return
    peak, bandwidth = (context.put(Name(name)) for name in ("peak", "bandwidth"))
    if not (is_numeric(peak) and is_numeric(bandwidth)):
        return
    width = enclosed(bandwidth).middle
    ridge = enclosed(peak).middle / width
    shown = (number for digits in (2, 3, 4) for number in (Fraction(to_digits(ridge, digits)), _cut(ridge, digits)))
    for rounded in dict.fromkeys(shown):
        if rounded != ridge:
            yield {"value": ridge, "rounded": rounded}, context.defining({"peak": Number(rounded * width)})


def _cut(value: Fraction, digits: int) -> Fraction:
    unit = Fraction(10) ** (len(str(floor(value))) - digits)
    return floor(value / unit) * unit
