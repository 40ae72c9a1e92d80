"""The sections with numbers: the rule of thumb, and the sizes that are put in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from sympy import Add, Expr, Rational, oo

from symroof.algebra.approximation import laurent
from symroof.algebra.dominance import similar
from symroof.algebra.inequality import solve_for
from symroof.algebra.intervals import smallest_integer
from symroof.algebra.rational import cancelled, symbols_of
from symroof.algebra.regime import Regime
from symroof.algebra.roots import Root
from symroof.algebra.rounding import to_digits, to_places
from symroof.derivation.derivation import Point
from symroof.derivation.draft import INTENSITY, RIDGE, Draft, dominated, numeric, rounded, written
from symroof.derivation.machine import chip_step
from symroof.derivation.setting import require_agreement
from symroof.derivation.threshold import ABOVE, bands, bound, equalities, guard_of, known, solution
from symroof.errors import AlgebraError
from symroof.formula import Compare, Name, Negative, Number, Product, Quotient, Sum, number
from symroof.proof.step import Reason, Step, Whole
from symroof.symbols import rational, symbol


def rule(draft: Draft) -> Draft:
    """The leading condition, its number, its smallest whole size, and how far the exact bound is from it."""
    setting, answer, x = draft.setting, draft.answer, draft.setting.variable
    form = answer.leading.approximate if answer.leading else None
    if form is None or not setting.regime.scaling:
        return _exact_number(draft)
    if not form.has(x):
        return draft
    solved = solve_for(form - symbol("ridge"), x, setting.least_one, setting.values)
    if solved.outcome != "depends":
        return draft
    edge = known(draft, solved.bound)
    draft = draft.found(rule=solved, rule_bound=edge)
    condition = solution(draft, solved)
    told = _tends_to(draft, solved.bound) if isinstance(condition, Compare) else None
    if told is None:
        leads = Compare(draft.write(form), ">", RIDGE)
        told = Step("rule", Reason.RULE, leads, "<=>", condition, shown=not isinstance(condition, Compare))
    draft = draft.add(replace(told, facts={"condition": condition}))
    draft = _number(draft, "rule", solved.bound, edge, solved.rises)
    if solved.bound is None or answer.bound is None or isinstance(answer.bound, Root) or isinstance(edge, Root):
        return draft
    return _rule_factor(draft, solved.bound)


def _tends_to(draft: Draft, edge: Expr | Root | None) -> Step | None:
    """The exact bound tends to the bound of the rule, in the regime with the variable held constant."""
    setting, x = draft.setting, draft.setting.variable
    exact = draft.answer.threshold.bound if draft.answer.threshold else None
    if exact is None or edge is None or isinstance(exact, Root) or isinstance(edge, Root):
        return None
    held = []
    for left, relation, right in setting.regime.scaling:
        if relation in ("~", "~~") and (left.has(x) or right.has(x)):
            return None  # what is tied to the variable does not grow while it is held
        left, right = left.subs(x, 1), right if right == oo else right.subs(x, 1)
        if left == 1 and right != oo and right.free_symbols:
            held.append((right, "->", oo))
        elif left.free_symbols and (right == oo or right.free_symbols):
            held.append((left, relation, right))
    if not held or not (exact.is_rational_function() and edge.is_rational_function()):
        return None
    try:
        found = similar(
            exact, edge, Regime((*held, *(r for r in setting.regime.relations if r[1] == "=")), setting.least_one)
        )
    except AlgebraError:
        return None
    if not found.holds or not found.certificates:
        return None
    assume = written(held, draft.write)
    evidence = dominated(found, draft.write)
    return Step(
        "rule",
        Reason.RULE,
        bound(draft, exact),
        "~",
        bound(draft, edge),
        (*assume, *equalities(draft)),
        evidence,
        shown=False,
    )


def _exact_number(draft: Draft) -> Draft:
    """Where no regime is needed: the exact bound is a number."""
    if draft.answer.threshold is None or numeric(draft.answer.bound) is None:
        return draft
    solved = draft.answer.threshold
    return _number(draft, "rule", solved.bound, draft.answer.bound, solved.rises)


def _number(
    draft: Draft,
    section: str,
    formula: Expr | Root | None,
    edge: Expr | Root | None,
    rises: bool,
    assume: tuple[Compare, ...] = (),
    variable: Expr | None = None,
) -> Draft:
    """A bound as an exact number, as a decimal, and as the first whole size."""
    value = numeric(edge)
    if value is None or formula is None or edge is None:
        return draft
    variable = variable or draft.setting.variable
    x, step = Name(variable.name), chip_step(draft.setting, variable)
    exact = draft.write(edge)
    told = any(s.reason is Reason.RULE and not s.shown for s in draft.steps)  # prose says the number
    steps: list[Step] = []
    left = bound(draft, formula)
    if left == RIDGE:  # the section on the ridge has its number
        told = True
    elif left != exact and len(str(value.numerator)) <= 8 and len(str(value.denominator)) <= 8:
        steps.append(Step(section, Reason.FIGURES, left, "=", exact, assume, shown=section == "rule" and not told))
        left = exact
    short = rounded(
        section,
        left if isinstance(edge, Root) else bound(draft, formula),
        value,
        assumptions=assume,
        joined=bool(steps),
        shown=section == "rule" and not told,
    )
    steps += () if isinstance(edge, Root) or left == RIDGE else short
    first = smallest_integer(edge, step) if rises else None
    if first is not None:
        shown = Name("ridge") if formula == symbol("ridge") else exact
        claim = Compare(x, ">", shown), Compare(x, ">=", number(first))
        facts = {"first": number(first), "bound": exact, "step": step, "variable": x}
        steps.append(Step(section, Reason.WHOLE, claim[0], "<=>", claim[1], assume, Whole(step), facts, shown=False))
    return draft.add(*steps).found(**({"smallest_integer": first} if section == "rule" and first is not None else {}))


def _rule_factor(draft: Draft, rule_bound: Expr) -> Draft:
    """exact bound / rule bound = 1/(1 - R(1/D + 1/F))."""
    solved = draft.answer.threshold
    exact = solved.bound if solved else None
    if solved is None or exact is None or isinstance(exact, Root):
        return draft
    quotient = cancelled(rule_bound / exact)
    symbols = symbols_of(quotient)
    terms = laurent(quotient, symbols)
    draft = draft.found(rule_factor=known(draft, 1 / quotient))
    if quotient == 1 or terms is None:
        return draft
    r = symbol("ridge")
    parts = [(c, m) for c, m in terms if m.has(r)]
    plain = Add(*(Rational(c.numerator, c.denominator) * m for c, m in terms if not m.has(r)))
    per_ridge = Add(*(Rational(-c.numerator, c.denominator) * m / r for c, m in terms if m.has(r)))
    if per_ridge.has(r) or per_ridge == 0:
        return draft
    gone = Product((RIDGE, draft.write(per_ridge))) if len(parts) > 1 else draft.write(r * per_ridge)
    right = Quotient(number(1), Sum((draft.write(plain), Negative(gone))))
    left = Quotient(bound(draft, exact), bound(draft, rule_bound))
    guards = tuple(guard_of(draft, case) for case in solved.cases if case.guard)
    return draft.add(
        Step("rule", Reason.RULE_FACTOR, left, "=", right, guards, facts={"factor": right}, right_alone=True)
    )


def at(draft: Draft) -> Draft:
    """The same with sizes put in, once for each set of them."""
    for values in draft.setting.problem.at:
        draft = _at_point(draft, values)
    return draft


def _at_point(draft: Draft, values: Mapping[str, Fraction]) -> Draft:
    setting = draft.setting
    put = {symbol(name): rational(value) for name, value in values.items()}
    require_agreement(setting.regime, put)
    at_point = setting.regime.apply(draft.answer.intensity).subs(put)
    value = cancelled(at_point)
    where = (*equalities(draft), *(Compare(Name(n), "=", draft.write(v)) for n, v in values.items()))
    facts = {"values": where, "index": len(draft.answer.at)}
    if not value.free_symbols:
        return _evaluated(draft, values, value, where, facts)
    x = setting.variable if value.has(setting.variable) else _first_free(draft, value)
    solved = solve_for(value - symbol("ridge"), x, setting.least_one, setting.values)
    if setting.ridge is not None:
        solved = solve_for(value - rational(setting.ridge), x, setting.least_one)
    edge = solved.bound
    first = smallest_integer(edge, chip_step(draft.setting, x)) if edge is not None and solved.rises else None
    draft = draft.add(
        Step(
            "at",
            Reason.AT_POINT,
            ABOVE,
            "<=>",
            solution(draft, solved),
            (*where, *bands(draft, solved)),
            facts=facts | {"outcome": solved.outcome},
            shown=numeric(edge) is None and solved.outcome == "depends",
        )
    )
    draft = _number(draft, "at", edge, edge, solved.rises, where, x)
    rule_edge, exact = numeric(draft.answer.rule_bound), numeric(edge)
    if rule_edge and exact and exact != rule_edge and x == setting.variable:
        gap = exact / rule_edge - 1
        text = to_places(gap, 0) if gap >= 10 else to_digits(gap, 2)
        left = Sum((Quotient(draft.write(exact), draft.write(rule_edge)), Negative(number(1))))
        facts = {
            "gap": Fraction(text),
            "rows": (first or 0) - (draft.answer.smallest_integer or 0),
            "variable": Name(x.name),
        }
        draft = draft.add(
            Step("at", Reason.GAP, left, "~", Number(Fraction(text), text), where, facts=facts, shown=False)
        )
    point = Point(values, value, x, solved, edge, first, solved.outcome)
    return draft.found(at=(*draft.answer.at, point))


def _first_free(draft: Draft, value: Expr) -> Expr:
    """Where the variable has a value, the first size that is left."""
    free = {s.name for s in value.free_symbols}
    return symbol(next(name for name in draft.layout.order if name in free))


def _evaluated(
    draft: Draft, values: Mapping[str, Fraction], value: Expr, where: tuple[Compare, ...], facts: dict[str, object]
) -> Draft:
    """A point that fixes the variable too: the intensity there, and which side of the ridge it is on."""
    found = numeric(value)
    ridge = draft.setting.ridge
    steps = []
    outcome = "depends"
    if found is not None:
        steps += [
            Step("at", Reason.AT_POINT, INTENSITY, "=", draft.write(found), where, facts=facts | {"outcome": "point"})
        ]
        steps += rounded("at", INTENSITY, found, assumptions=where, joined=True)
        if ridge is not None:
            outcome = "always" if found > ridge else "never"
            relation = ">" if found > ridge else "<" if found < ridge else "="
            steps.append(Step("at", Reason.GAP, INTENSITY, relation, RIDGE, where, facts={"point": True}, joined=True))
    return draft.add(*steps).found(
        at=(*draft.answer.at, Point(values, value, draft.setting.variable, None, None, None, outcome))
    )
