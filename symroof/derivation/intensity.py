"""The sections on intensity: the quotient, its reciprocal form, what it tends to in the regime, and long totals in letters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction

from sympy import Add, Expr, Integer, oo

from symroof.algebra.dominance import (
    Approximation,
    approach,
    approximation,
    laurent_terms,
    leading_form,
    limit as regime_limit,
    reciprocals,
    similarity_of,
)
from symroof.algebra.rational import cancel, sign_of, symbols_of
from symroof.algebra.regime import Regime
from symroof.derivation.counting import as_written
from symroof.derivation.drafts import INTENSITY, Draft, dominance
from symroof.derivation.formula_writing import Layout
from symroof.derivation.solving import ceiling_of, limit, monotony, outgrows, solution_of
from symroof.derivation.threshold import sup_steps
from symroof.derivation.times import fraction_bar
from symroof.errors import AlgebraError
from symroof.formula import Call, Compare, Formula, Group, Infinity, Name, Negative, Quotient, Sum, names, number
from symroof.model.program import Program
from symroof.proof.bounds_and_decimals import Harmonic
from symroof.proof.calculus import HighestPowers
from symroof.proof.step import CancelledNames, Reason, Role, Step, Unknown, amount_of
from symroof.symbols import expression, fraction, symbol


def intensity(draft: Draft) -> Draft:
    """FLOPs over bytes, as written and in lowest terms; and upside down, one term for each tensor."""
    setting, value = draft.setting, draft.setting.intensity
    quotient = fraction_bar(*(_counted_form(draft, name) for name in (setting.flops_name, setting.moved_name)))
    lowest = draft.layout.factored(value)
    named, equal, gone = Quotient(Name(setting.flops_name), Name(setting.moved_name)), setting.equalities, None
    reason = Reason.EQUALITY if equal else Reason.TOTAL if _is_reduced(quotient, value) else Reason.CANCEL
    if reason is Reason.CANCEL:
        gone = CancelledNames(tuple(Name(n) for n in names(quotient) if symbol(n) not in value.free_symbols))
    draft = draft.add(
        Step("intensity", Reason.LINE, INTENSITY, "=", named),
        Step("intensity", Reason.SAME, INTENSITY, "=", quotient),
        Step("intensity", reason, INTENSITY, "=", lowest, equal, facts=gone, role="intensity"),
        *(growth_steps("intensity", draft, x, limit(value, x, setting.least_one)) for x in _sizes(draft)),
    )
    return _approach(_reciprocal(draft))


def growth_steps(section: str, draft: Draft, x: Expr, top: Expr, role: Role = "") -> Step:
    """What the intensity tends to as one size grows alone."""
    where = (*draft.setting.equalities, Compare(Name(x.name), "->", Infinity()))
    return Step(section, Reason.FACT, INTENSITY, "->", draft.write(top), where, HighestPowers(x.name), role=role)


def _counted_form(draft: Draft, name: str) -> Formula:
    """An amount as the count gives it; the bytes of a whole operation as they are added up."""
    if name == "flops" and draft.setting.problem.operation.alone:
        return _flat(as_written(draft, Name(name)))
    if name == "flops":
        return draft.answer.formula("flops") or draft.write(draft.setting.flops)
    return _flat(
        draft.answer.formula("bytes_added" if name == "bytes" else amount_of(name)) or draft.write(draft.setting.moved)
    )


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
    sides = zip((quotient.above, quotient.below), value.as_numer_denom(), strict=True)
    return bool(value.free_symbols) and all((expression(formula) - side).expand() == 0 for formula, side in sides)


def _sizes(draft: Draft) -> tuple[Expr, ...]:
    """The sizes that the intensity depends on, in the order of the operation. An axis is no larger than what it splits: where
    the work of a chip would end below 0, nothing is said of its growth."""
    order, value = draft.layout.order, draft.setting.intensity
    axes = {axis.name for axis in draft.setting.problem.mesh.values() if axis.chips is None}
    free = {s for s in value.free_symbols if s.name not in axes or not outgrows(value, s)}
    return tuple(sorted(free, key=lambda s: order.index(s.name) if s.name in order else -1))


def _in_order(sizes: tuple[Expr, ...], layout: Layout) -> tuple[Expr, ...]:
    """The monomials in the order in which the layout prints their reciprocals."""
    written = layout.write(Add(*(1 / m for m in sizes)))
    parts = written.terms if isinstance(written, Sum) else (written,)
    return tuple(1 / expression(part) for part in parts)


def _reciprocal(draft: Draft) -> Draft:
    """1/intensity as a sum with a term for each tensor; so the intensity is below every part and above their mean."""
    setting, value = draft.setting, draft.setting.intensity
    monomials = reciprocals(value) if value.free_symbols else None
    if monomials is None or len(monomials) < 2:
        return draft
    parts, equal = _in_order(monomials, setting.layout), setting.equalities
    upside_down = Sum(tuple(draft.write(1 / m) for m in parts))
    steps = list(_uses(draft, parts))
    steps.append(
        Step("intensity", Reason.RECIPROCAL, Quotient(number(1), INTENSITY), "=", upside_down, equal, role="reciprocal")
    )
    each, all_parts = (
        tuple(draft.write(m) for m in _least(parts, draft.setting.least_one)),
        tuple(draft.write(m) for m in parts),
    )
    steps += [Step("intensity", Reason.BELOW_EACH, INTENSITY, "<", m, equal) for m in each]
    least = Quotient(Call("min", each) if len(each) > 1 else each[0], number(len(parts)))
    steps.append(Step("intensity", Reason.BRACKET, least, "<=", INTENSITY, equal, Harmonic(all_parts), role="bracket"))
    return draft.add(*steps)


def _least(parts: tuple[Expr, ...], least_one: frozenset[Expr]) -> tuple[Expr, ...]:
    """The parts without those that are never below a constant one: sizes are at least 1, and so are their products.

    >>> N, M, k = map(symbol, "NMk")
    >>> _least((2 * N / N, 3 * N, N / 2, 3 * N / M, 3 * k), frozenset({N, M}))
    (2, N/2, 3*N/M, 3*k)
    """
    floor = min((m for m in parts if not m.free_symbols), default=None)
    if floor is None:
        return parts
    rises = {m for m in parts if m.free_symbols <= least_one and not m.as_numer_denom()[1].free_symbols}
    below = (m for m in parts if m.free_symbols and not (m in rises and m.as_coeff_Mul()[0] >= floor))
    return floor, *below


def _uses(draft: Draft, parts: tuple[Expr, ...]) -> tuple[Step, ...]:
    """How often an element of each tensor is used, where each term of the reciprocal stands for one tensor."""
    operation, setting = draft.setting.problem.operation.product, draft.setting
    if operation is None or setting.moved_name != "bytes" or setting.regime.substitution:
        return ()
    steps = []
    for m in parts:
        owners = [i for i, t in enumerate(operation.tensors) if (setting.flops / t.bytes - m).expand() == 0]
        if len(owners) != 1:
            return ()
        tensor, evidence = operation.tensors[owners[0]], draft.ledger.evidence(f"uses_{owners[0]}")
        turns = Quotient(draft.write(operation.output.elements * operation.length), draft.write(tensor.elements))
        steps.append(
            Step("intensity", Reason.FACT, turns, "=", draft.write(operation.uses(owners[0])), evidence=evidence)
        )
    return tuple(steps)


def _approach(draft: Draft) -> Draft:
    """limit - gap, for an intensity in one size: what makes the limit visible."""
    value, sizes = draft.setting.intensity, _sizes(draft)
    result = approach(value, sizes[0]) if len(sizes) == 1 else None
    if result is None or result[1] == 0:
        return draft
    right = Sum((draft.write(result[0]), _minus(draft.write(result[1]))))
    return draft.add(Step("intensity", Reason.LINE, INTENSITY, "=", right, draft.setting.equalities))


def _minus(formula: Formula) -> Formula:
    return formula.body if isinstance(formula, Negative) else Negative(formula)


def regime(draft: Draft) -> Draft:
    """What the intensity tends to: a limit, or the leading form with its factor, its range and its next order."""
    setting, value = draft.setting, draft.setting.intensity
    assume, chosen = setting.problem.assume, setting.regime
    sizes = _sizes(draft)
    if not chosen.scaling:
        if len(sizes) != 1 or draft.answer.limits[f"{sizes[0]} -> oo"] in (0, oo) or setting.problem.solve_for:
            return draft
        if len(reciprocals(value) or ()) == 1:
            return draft
        chosen = Regime((*chosen.relations, (sizes[0], "->", oo)), chosen.least_one)
        assume = (*assume, Compare(Name(sizes[0].name), "->", Infinity()))
    form = leading_form(value, chosen)
    if form == value:
        return draft
    similarity = similarity_of(value, form, chosen)
    if not similarity.holds:
        raise AlgebraError(f"the leading form {form} is not similar to {value}")
    result = approximation(chosen.apply(value), form, chosen)
    is_limit = not form.free_symbols & chosen.mentioned and regime_limit(value, chosen) == form
    if not is_limit and laurent_terms(result.factor, symbols_of(result.factor)) is not None:
        right = Quotient(draft.write(form), draft.write(result.factor))
        draft = draft.add(Step("regime", Reason.TAKE_OUT, INTENSITY, "=", right, setting.equalities))
    reason, relation = (Reason.LIMIT, "->") if is_limit else (Reason.LEADING, "~")
    evidence = dominance(similarity, draft.write)
    draft = draft.add(Step("regime", reason, INTENSITY, relation, draft.write(form), assume, evidence, role="leading"))
    draft = draft.add(*_leading_bytes(draft))
    if not form.free_symbols and ceiling_of(value, setting.least_one) == form:  # it rises to it, and does not get there
        draft = draft.add(Step("regime", Reason.SUPREMUM, INTENSITY, "<", draft.write(form), setting.equalities))
    return _size_of_error(draft, result, chosen, assume)


def _leading_bytes(draft: Draft) -> tuple[Step, ...]:
    """What the bytes tend to in the regime that is assumed."""
    setting = draft.setting
    moved = setting.regime.apply(setting.moved)
    try:
        form = leading_form(moved, setting.regime) if setting.regime.scaling else moved
    except AlgebraError:
        return ()
    if form == moved:
        return ()
    name, evidence = (Name(setting.moved_name), dominance(similarity_of(moved, form, setting.regime), draft.write))
    where = setting.problem.assume
    return (Step("regime", Reason.FACT, name, "~", draft.write(form), where, evidence, role="moved_leading"),)


def _size_of_error(draft: Draft, approximation: Approximation, chosen: Regime, assume: tuple[Compare, ...]) -> Draft:
    """The factor of an approximation, on which side it errs, when it is within 5 %, and the next order."""
    equal, form = draft.setting.equalities, draft.write(approximation.approximate)
    if sign_of(approximation.exact, chosen.least_one) != 1:  # a quotient by what may be 0 says nothing
        return draft
    factor = Quotient(form, INTENSITY)
    steps = [Step("regime", Reason.FACTOR, factor, "=", draft.write(approximation.factor), equal, role="factor")]
    if approximation.factor == 1:
        return draft.add(*steps)
    side = sign_of(approximation.factor - 1, chosen.least_one)
    if side in (1, -1):
        steps.append(Step("regime", Reason.SIDE, factor, ">" if side == 1 else "<", number(1), equal, role="side"))
    draft = draft.add(*steps).attempt(*margin_steps(factor, approximation.within or (), equal, draft.layout))
    steps = [*_at_most(draft, approximation, chosen, factor)]
    if approximation.next_order is not None:
        correction = approximation.approximate - approximation.next_order
        check = similarity_of(approximation.approximate - chosen.apply(approximation.exact), correction, chosen)
        if check.holds:
            gap = Sum((form, _minus(INTENSITY)))
            right = Sum((form, Negative(Group(draft.write(approximation.next_order)))))
            evidence = dominance(check, draft.write)
            steps.append(Step("regime", Reason.NEXT_ORDER, gap, "~", right, assume, evidence, role="next"))
    return draft.add(*steps)


def margin_steps(
    factor: Formula, pairs: tuple[tuple[Expr, Expr], ...], where: tuple[Formula, ...], layout: Layout
) -> tuple[Step, ...]:
    """That a factor is 1 ± 5 % once y >= x for all of the pairs (y, x); nothing without any."""
    where = (*where, *(Compare(layout.write(y), ">=", layout.write(x)) for y, x in pairs))
    bounds = (("<=", Fraction(21, 20)), (">=", Fraction(19, 20))) if pairs else ()
    return tuple(
        Step("regime", Reason.WITHIN, factor, relation, layout.write(bound), where, role="within")
        for relation, bound in bounds
    )


def _at_most(draft: Draft, near: Approximation, chosen: Regime, factor: Formula) -> tuple[Step, ...]:
    """What facts such as D >= 8000 make of the factor, where it falls in the sizes that they bound from below."""
    lows = [(x, low) for x, relation, low in chosen.facts if relation == ">=" and x.is_Symbol and low.is_Rational]
    lows += [(x, low) for low, relation, x in chosen.facts if relation == "<=" and x.is_Symbol and low.is_Rational]
    used = [(x, low) for x, low in lows if near.factor.has(x) and monotony(near.factor, x, chosen.least_one) == -1]
    if not used:
        return ()
    facts = tuple(Compare(draft.write(x), ">=", draft.write(low)) for x, low in used)
    bound = draft.write(near.factor.subs(dict(used)))
    return (Step("regime", Reason.AT_MOST, factor, "<=", bound, (*draft.setting.equalities, *facts)),)


# From more terms on a total is written in letters.
TERMS = 6
# The letters of the coefficients of FLOPs, of those of bytes, and of the bytes that do not depend on the data.
OF_WORK, OF_TRAFFIC, CONSTANT = "φψχη", "ακβγδ", "ω"


def totals_in_letters(draft: Draft) -> Draft:
    """FLOPs and bytes as polynomials in the sizes of the data, whose coefficients, made of the sizes of the model, have
    letters; and what follows of them: the intensity, where it is above the ridge, and what it stays below. Nothing of totals
    that are short, or are no such polynomials.

        bytes = ω + αB + κBS    ω: what is moved whatever the data are, as weights are; α for each of B, κ for each of BS
    """
    setting, x, program = draft.setting, draft.setting.variable, draft.setting.problem.operation
    totals = {setting.flops_name: setting.flops, setting.moved_name: setting.moved}
    data = [symbol(name) for name in program.dimensions if name not in sizes_of_model(program)]
    terms = [coefficients(total, data) for total in totals.values()]
    if setting.mixed or x not in data or max(len(Add.make_args(total.expand())) for total in totals.values()) <= TERMS:
        return draft
    short, named = _with_letters(draft, dict(zip(totals, terms, strict=True)))
    if len(named) > TERMS or not all(total.is_polynomial(*data) for total in short.values()):
        return draft
    if any(sign_of(value, setting.least_one) != 1 for value in named.values()):
        return draft
    above, below = short.values()
    intensity, where, factored = cancel(above / below), setting.equalities, draft.layout.factored
    lines = {Name(name): draft.write(total) for name, total in short.items()} | {INTENSITY: factored(intensity)}
    solution = solution_of(intensity, symbol("ridge"), x, setting.least_one, layout=setting.layout)
    solved: tuple[Step, ...] = ()
    if solution.solved and solution.outcome == "depends":
        where_, facts = (*where, *solution.bands), Unknown(x.name)
        solved = (Step("letters", Reason.SOLVE, draft.above, "<=>", solution.formula, where_, facts=facts),)
    return draft.attempt(
        *_definitions(draft, named),
        *(Step("letters", Reason.EXPANDED, name, "=", shown, where) for name, shown in lines.items()),
        *solved,
        *sup_steps(draft, solution, intensity, "letters"),
    )


def _with_letters(draft: Draft, totals: dict[str, dict[Expr, Expr]]) -> tuple[dict[str, Expr], dict[str, Expr]]:
    """The totals with a letter for each coefficient of several terms, and what the letters stand for."""
    problem, named = draft.setting.problem, dict[str, Expr]()
    used = {*problem.operation.dimensions, *problem.mesh, *problem.let, *problem.symbols}
    short = dict.fromkeys(totals, Integer(0))
    for (total, terms), pool in zip(totals.items(), (OF_WORK, OF_TRAFFIC), strict=True):
        free = [letter for letter in pool if letter not in used]
        for monomial, coefficient in terms.items():
            letter = CONSTANT if monomial == 1 and pool == OF_TRAFFIC else free[0] if free else ""
            if len(Add.make_args(coefficient)) > 1 and letter not in ("", *used):
                free = [other for other in free if other != letter]
                named[letter], coefficient = coefficient, symbol(letter)
            short[total] += coefficient * monomial
    return short, named


def _definitions(draft: Draft, named: dict[str, Expr]) -> Iterator[Step]:
    """What each letter stands for, and what that is at each set of sizes that leaves nothing of it open."""
    for letter, value in named.items():
        name, shown = Name(letter), draft.layout.factored(value)
        yield Step("letters", Reason.LETTER, name, "=", shown, draft.setting.equalities)
        for point, sizes in enumerate(draft.setting.problem.at):
            if (amount := draft.value_at(value, sizes)).is_Rational:
                yield Step(
                    "letters", Reason.VALUE, name, "=", number(fraction(amount)), draft.where(point), point=point
                )


def sizes_of_model(program: Program) -> set[str]:
    """The sizes that weights have, or repeats as turns."""
    turns = (expression(repeat.times) for line in program.lines for repeat in line.repeats)
    of_weights = {name for tensor in program.declared_as("weight") for name in tensor.labels}
    return of_weights | {size.name for times in turns for size in times.free_symbols}


def coefficients(total: Expr, data: Iterable[Expr]) -> dict[Expr, Expr]:
    """The coefficients of a polynomial in the sizes of the data, by their monomials, the shorter ones first.

    >>> B, S, D = map(symbol, "BSD")
    >>> coefficients(2 * B * (D + S * D) + D, [B, S])
    {1: D, B: 2*D, B*S: 2*D}
    """
    result = total.expand().as_coefficients_dict(*data)
    return dict(sorted(result.items(), key=lambda item: (len(item[0].free_symbols), str(item[0]))))
