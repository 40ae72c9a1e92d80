"""The sections on intensity: the quotient, its reciprocal form, and what it tends to in the regime."""

from __future__ import annotations

from fractions import Fraction

from sympy import Add, Expr, oo

from symroof.algebra.approximation import Approximation, approach, approximation, laurent, reciprocals
from symroof.algebra.dominance import leading, limit, similar
from symroof.algebra.optima import growth, highest, monotony
from symroof.algebra.rational import polynomial, ratio, sign_of, symbols_of
from symroof.algebra.regime import Regime
from symroof.derivation.draft import INTENSITY, Draft, dominated
from symroof.derivation.layout import Layout
from symroof.errors import AlgebraError
from symroof.formula import (
    Call,
    Compare,
    Formula,
    Group,
    Infinity,
    Name,
    Negative,
    Quotient,
    Sum,
    Written,
    names,
    number,
)
from symroof.model.operation import Einsum
from symroof.proof.step import Harmonic, Reason, Step
from symroof.symbols import expression, symbol


def intensity(draft: Draft) -> Draft:
    """FLOPs over bytes, as written and in lowest terms; and upside down, one term for each tensor."""
    setting, answer = draft.setting, draft.answer
    top, bottom = (_as_written(draft, name) for name in (setting.flops_name, setting.moved_name))
    quotient = Quotient(top, bottom)
    steps = [
        Step("intensity", Reason.DIVIDE, INTENSITY, "=", Quotient(Name(setting.flops_name), Name(setting.moved_name))),
        Step("intensity", Reason.PUT_IN, INTENSITY, "=", quotient, joined=True),
    ]
    value = draft.layout.factored(answer.intensity)
    equalities = tuple(r for r in setting.problem.assume if r.relation == "=")
    if equalities:
        steps.append(
            Step("intensity", Reason.EQUALITY, INTENSITY, "=", value, equalities, facts={"equalities": equalities})
        )
    elif not _is_reduced(quotient, answer.intensity):
        gone = tuple(n for n in names(quotient) if symbol(n) not in answer.intensity.free_symbols)
        steps.append(
            Step("intensity", Reason.CANCEL, INTENSITY, "=", value, joined=True, facts={"gone": tuple(map(Name, gone))})
        )
    draft = draft.add(*steps)
    found = reciprocals(answer.intensity) if answer.intensity.free_symbols else None
    draft = draft.found(
        reciprocals=_in_order(found, setting.layout) if found and len(found) > 1 else None,
        limits={f"{s} -> oo": growth(answer.intensity, s) for s in _dims(draft)},
    )
    draft = _reciprocal(draft, equalities) if draft.answer.reciprocals else draft
    return _approach(draft, equalities)


def _as_written(draft: Draft, name: str) -> Formula:
    found = [step.right for step in draft.steps if step.left == Name(name) and step.relation == "="]
    if name == "flops":  # as the count gives it, not as it comes out
        formula = found[0]
    elif name == "bytes":
        formula = found[-1]
    else:
        formula = draft.write(draft.setting.flops if name == "flops_per_chip" else draft.setting.moved)
    if isinstance(formula, Written):
        formula = formula.body
    return _flat(formula)


def _flat(formula: Formula) -> Formula:
    """Without brackets around the last term of a sum: N + (N - 1) over a bar is N + N - 1."""
    if isinstance(formula, Sum):
        terms: list[Formula] = []
        for term in formula.terms:
            body = term.body if isinstance(term, Group) else term
            terms += body.terms if isinstance(body, Sum) else (body,)
        return Sum(tuple(terms))
    return formula


def _is_reduced(quotient: Quotient, value: Expr) -> bool:
    """Whether the quotient as written is in lowest terms already."""
    symbols = symbols_of(value)
    if not symbols:
        return False
    above, below = (polynomial(terms, symbols) for terms in ratio(value, symbols))
    return bool(
        (expression(quotient.above) - above).expand() == 0 and (expression(quotient.below) - below).expand() == 0
    )


def _dims(draft: Draft) -> tuple[Expr, ...]:
    order = draft.layout.order
    return tuple(
        sorted(draft.answer.intensity.free_symbols, key=lambda s: order.index(s.name) if s.name in order else -1)
    )


def _in_order(found: tuple[Expr, ...], layout: Layout) -> tuple[Expr, ...]:
    """The monomials in the order in which the layout prints their reciprocals."""
    written = layout.write(Add(*(1 / m for m in found)))
    parts = written.terms if isinstance(written, Sum) else (written,)
    return tuple(1 / expression(part) for part in parts)


def _reciprocal(draft: Draft, equalities: tuple[Formula, ...]) -> Draft:
    parts = draft.answer.reciprocals or ()
    upside_down = Sum(tuple(draft.write(1 / m) for m in parts))
    steps = [
        Step(
            "intensity",
            Reason.RECIPROCAL,
            Quotient(number(1), INTENSITY),
            "=",
            upside_down,
            equalities,
            facts={"uses": _uses(draft, parts)},
        )
    ]
    each, all_parts = tuple(draft.write(m) for m in _least(parts)), tuple(draft.write(m) for m in parts)
    steps += [
        Step("intensity", Reason.BELOW_EACH, INTENSITY, "<", m, equalities, shown=False, facts={"each": each})
        for m in each
    ]
    least = Quotient(Call("min", each) if len(each) > 1 else each[0], number(len(parts)))
    steps.append(
        Step(
            "intensity",
            Reason.BRACKET,
            least,
            "<=",
            INTENSITY,
            equalities,
            Harmonic(all_parts),
            {"least": least.above},
            shown=False,
        )
    )
    return draft.add(*steps)


def _least(parts: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """The parts without those that are never below a constant one: sizes are at least 1."""
    constants = [m for m in parts if not m.free_symbols]
    floor = min(constants, default=None)
    return parts if floor is None else (floor, *(m for m in parts if m.free_symbols and m.as_coeff_Mul()[0] < floor))


def _uses(draft: Draft, parts: tuple[Expr, ...]) -> tuple[tuple[str, Formula], ...]:
    """Which tensor each term of the reciprocal stands for, where each stands for one."""
    operation, setting = draft.setting.problem.operation, draft.setting
    if not isinstance(operation, Einsum) or setting.moved_name != "bytes" or setting.regime.substitution:
        return ()
    found = []
    for m in parts:
        owners = [i for i, t in enumerate(operation.tensors) if (setting.flops / t.bytes - m).expand() == 0]
        if len(owners) != 1:
            return ()
        times = operation.output.elements * operation.length / operation.tensors[owners[0]].elements
        found.append((operation.operand_name(owners[0]), draft.write(times)))
    return tuple(found)


def _approach(draft: Draft, equalities: tuple[Formula, ...]) -> Draft:
    """limit - gap, for an intensity in one size: what makes the limit visible."""
    value, dims = draft.answer.intensity, _dims(draft)
    if len(dims) != 1:
        return draft
    found = approach(value, dims[0])
    if found is None or found[1] == 0:
        return draft
    gap = draft.write(found[1])
    right = Sum((draft.write(found[0]), _minus(gap)))
    return draft.add(Step("intensity", Reason.APPROACH, INTENSITY, "=", right, equalities))


def _minus(formula: Formula) -> Formula:
    return formula.body if isinstance(formula, Negative) else Negative(formula)


def regime(draft: Draft) -> Draft:
    """What the intensity tends to: a limit, or the leading form with its factor, its range and its next order."""
    setting, value = draft.setting, draft.answer.intensity
    assume, chosen = setting.problem.assume, setting.regime
    dims = _dims(draft)
    if not chosen.scaling:
        if len(dims) != 1 or growth(value, dims[0]) in (0, oo) or draft.setting.problem.solve_for:
            return draft
        if reciprocals(value) and len(reciprocals(value) or ()) == 1:
            return draft
        chosen = Regime((*chosen.relations, (dims[0], "->", oo)), chosen.least_one)
        assume = (*assume, Compare(Name(dims[0].name), "->", Infinity()))
    form = leading(value, chosen).form
    if form == value:
        return draft
    found = similar(value, form, chosen)
    if not found.holds:
        raise AlgebraError(f"the leading form {form} is not similar to {value}")
    evidence = dominated(found, draft.write)
    result = approximation(chosen.apply(value), form, chosen)
    draft = draft.found(leading=result)
    right = draft.write(form)
    if not form.free_symbols & chosen.mentioned and limit(value, chosen) == form:
        draft = draft.add(Step("regime", Reason.LIMIT, INTENSITY, "->", right, assume, evidence, {"relations": assume}))
    else:
        draft = _take_out(draft, result)
        facts = {"factor": draft.write(result.factor), "relations": assume, "side": _side(result, chosen)}
        draft = draft.add(Step("regime", Reason.LEADING, INTENSITY, "~", right, assume, evidence, facts))
    return _size_of_error(_above(draft, form), result, chosen, assume)


def _side(found: Approximation, chosen: Regime) -> int | None:
    """1 where the approximation is too high at every size, -1 where it is too low."""
    return sign_of(found.factor - 1, chosen.least_one)


def _take_out(draft: Draft, found: Approximation) -> Draft:
    if laurent(found.factor, symbols_of(found.factor)) is None:
        return draft
    right = Quotient(draft.write(found.approximate), draft.write(found.factor))
    return draft.add(Step("regime", Reason.TAKE_OUT, INTENSITY, "=", right, _equalities(draft)))


def _equalities(draft: Draft) -> tuple[Compare, ...]:
    return tuple(r for r in draft.setting.problem.assume if r.relation == "=")


def _above(draft: Draft, form: Expr) -> Draft:
    """A constant that the intensity rises to and does not reach."""
    if form.free_symbols or highest(draft.answer.intensity, draft.setting.least_one) != form:
        return draft
    facts = {"dims": tuple(Name(s.name) for s in _dims(draft))}
    return draft.add(
        Step("regime", Reason.SUPREMUM, INTENSITY, "<", draft.write(form), _equalities(draft), facts=facts)
    )


def _size_of_error(draft: Draft, found: Approximation, chosen: Regime, assume: tuple[Compare, ...]) -> Draft:
    if found.factor == 1 or sign_of(found.exact, chosen.least_one) != 1:  # a quotient by what may be 0 says nothing
        return draft
    steps = []
    factor = Quotient(draft.write(found.approximate), INTENSITY)
    equalities = _equalities(draft)
    if draft.steps[-1].reason in (Reason.LIMIT, Reason.SUPREMUM):
        steps.append(Step("regime", Reason.EXCESS, factor, "=", draft.write(found.factor), equalities, shown=False))
    if found.within:
        range_of = tuple(Compare(draft.write(y), ">=", draft.write(x)) for y, x in found.within)
        for relation, bound in ((("<="), Fraction(21, 20)), ((">="), Fraction(19, 20))):
            steps.append(
                Step(
                    "regime",
                    Reason.WITHIN,
                    factor,
                    relation,
                    draft.write(bound),
                    (*equalities, *range_of),
                    shown=False,
                    facts={"range": _merged(range_of)},
                )
            )
    steps += _at_most(draft, found, chosen, factor)
    if found.next_order is not None:
        correction = found.approximate - found.next_order
        check = similar(found.approximate - chosen.apply(found.exact), correction, chosen)
        if check.holds:
            evidence = dominated(check, draft.write)
            gap = Sum((draft.write(found.approximate), _minus(INTENSITY)))
            facts = {"next": draft.write(found.next_order)}
            steps.append(
                Step(
                    "regime", Reason.NEXT_ORDER, gap, "~", draft.write(correction), assume, evidence, facts, shown=False
                )
            )
    return draft.add(*steps)


def _at_most(draft: Draft, found: Approximation, chosen: Regime, factor: Formula) -> tuple[Step, ...]:
    """What facts such as D >= 8000 make of the factor, where it falls in the sizes that they bound from below."""
    known = [(x, low) for x, relation, low in chosen.facts if relation == ">=" and x.is_Symbol and low.is_Rational]
    known += [(x, low) for low, relation, x in chosen.facts if relation == "<=" and x.is_Symbol and low.is_Rational]
    used = [(x, low) for x, low in known if found.factor.has(x) and monotony(found.factor, x, chosen.least_one) == -1]
    if not used:
        return ()
    bound = draft.write(found.factor.subs(dict(used)))
    facts = tuple(Compare(draft.write(x), ">=", draft.write(low)) for x, low in used)
    where = {"facts": facts, "bound": bound}
    return (
        Step("regime", Reason.AT_MOST, factor, "<=", bound, (*_equalities(draft), *facts), facts=where, shown=False),
    )


def _merged(relations: tuple[Compare, ...]) -> tuple[tuple[tuple[Formula, ...], Formula], ...]:
    """D >= 40B and F >= 40B as one: D, F >= 40B."""
    rows: dict[Formula, list[Formula]] = {}
    for relation in relations:
        rows.setdefault(relation.right, []).append(relation.left)
    return tuple((tuple(left), right) for right, left in rows.items())
