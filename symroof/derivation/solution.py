"""The sections that answer the question: the guarded threshold, the rule of thumb, and the numbers put in."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import floor

from sympy import Add, Expr, Rational

from symroof.algebra.approximation import laurent
from symroof.algebra.inequality import ALWAYS, NEVER, Case, Interval, Threshold, smallest_integer, solve_for
from symroof.algebra.optima import highest, supremum
from symroof.algebra.rational import cancelled, polynomial, ratio, sign, symbols_of
from symroof.algebra.roots import Root
from symroof.algebra.rounding import to_digits, to_places
from symroof.derivation.derivation import Point
from symroof.derivation.draft import INTENSITY, RIDGE, Draft, numeric, rounded
from symroof.derivation.machine import chip_step
from symroof.derivation.step import Reason, Step, Whole
from symroof.formula import (
    Both, Cases, Compare, Either, Formula, Name, Negative, Number, Product, Quotient, Sum, Verdict, number, product,
)  # fmt: skip
from symroof.symbols import rational, symbol

ABOVE = Compare(INTENSITY, ">", RIDGE)
NAMES = {"always": "always compute-bound", "never": "never compute-bound", "depends": "depends"}


def threshold(draft: Draft) -> Draft:
    """intensity > ridge, solved for the variable with every guard."""
    setting, value, x = draft.setting, draft.answer.intensity, draft.setting.variable
    solved = solve_for(value - symbol("ridge"), x, setting.least_one, setting.values)
    top = supremum(value, x, setting.least_one) if value.has(x) else None
    draft = draft.found(threshold=solved, supremum=top, bound=known(draft, solved.bound), outcome=solved.outcome)
    if solved.outcome == "never":
        return _never(draft)
    if solved.outcome == "always":
        return draft.add(Step("threshold", Reason.ALWAYS, INTENSITY, ">", RIDGE, _equal(draft)))
    solution = _solution(draft, solved)
    draft = draft.add(*(step for step in _cleared(draft, solved) if step.right != solution))
    reason = Reason.SOLVE if solved.cases[0].implicit is None else Reason.IMPLICIT
    draft = draft.add(Step("threshold", reason, ABOVE, "<=>", solution, _equal(draft)))
    return _otherwise(draft, solved, top)


def known(draft: Draft, bound: Expr | Root | None) -> Expr | Root | None:
    """The bound with the figures put in."""
    if bound is None or isinstance(bound, Root):
        return bound
    return cancelled(bound.subs({s: rational(v) for s, v in draft.setting.values.items()}))


def _equal(draft: Draft) -> tuple[Compare, ...]:
    return tuple(r for r in draft.setting.problem.assume if r.relation == "=")


def _cleared(draft: Draft, solved: Threshold) -> tuple[Step, ...]:
    """The steps between: the denominator cleared, the variable collected."""
    value, x = draft.answer.intensity, draft.setting.variable
    symbols = symbols_of(value)
    above, below = (polynomial(terms, symbols) for terms in ratio(value, symbols))
    if below == 1 or not value.has(x) or sign(ratio(value, symbols)[1], symbols, draft.setting.least_one) != 1:
        return ()
    right = draft.layout.grouped((below * symbol("ridge")).expand(), "ridge")
    cleared = Step("threshold", Reason.CLEAR, ABOVE, "<=>", Compare(draft.write(above), ">", right), _equal(draft))
    whole = symbols_of(solved.polynomial, x)
    terms, _ = ratio(solved.polynomial, whole)
    at = whole.index(x)
    if max(e[at] for e in terms) != 1 or not below.has(x):
        return (cleared,)
    head = polynomial({(*e[:at], 0, *e[at + 1 :]): c for e, c in terms.items() if e[at]}, whole)
    tail = polynomial({e: -c for e, c in terms.items() if not e[at]}, whole)
    left = product(Name(x.name), draft.layout.grouped(head, "ridge"))
    collected = Compare(left, ">", draft.layout.grouped(tail, "ridge") if tail != 0 else number(0))
    return (cleared, Step("threshold", Reason.COLLECT, ABOVE, "<=>", collected, _equal(draft)))


def _solution(draft: Draft, solved: Threshold) -> Formula:
    rows = [(_consequence(draft, solved, case), _guard(draft, case)) for case in solved.cases]
    if len(rows) == 1 and not solved.cases[0].guard:
        return rows[0][0]
    otherwise = None if solved.otherwise is None else _consequence(draft, solved, solved.otherwise)
    return Cases(tuple(rows), otherwise)


def _guard(draft: Draft, case: Case) -> Formula:
    parts = tuple(positive(draft, guard) for guard in case.guard)
    return parts[0] if len(parts) == 1 else Both(parts)


def positive(draft: Draft, value: Expr) -> Formula:
    """value > 0 with the negative terms on the right: DF > R(D + F)."""
    terms = [(bool(t.as_coeff_Mul()[0] < 0), t) for t in Add.make_args(value.expand())]
    left, right = (Add(*(-t if minus else t for m, t in terms if m is minus)) for minus in (False, True))
    return Compare(draft.layout.grouped(left, "ridge") if left != 0 else number(0), ">",
                   draft.layout.grouped(right, "ridge") if right != 0 else number(0))  # fmt: skip


def _consequence(draft: Draft, solved: Threshold, case: Case) -> Formula:
    if case.implicit is not None:
        return positive(draft, case.implicit)
    if case.intervals in (ALWAYS, NEVER):
        return Verdict(case.intervals == ALWAYS)
    parts = tuple(_inside(draft, Name(solved.variable.name), interval) for interval in case.intervals)
    return parts[0] if len(parts) == 1 else Either(parts)


def _inside(draft: Draft, x: Formula, interval: Interval) -> Formula:
    ends = [Compare(x, sign, bound(draft, end)) for sign, end in ((">", interval.low), ("<", interval.high)) if end is not None]
    return ends[0] if len(ends) == 1 else Both(tuple(ends))


def bound(draft: Draft, value: Expr | Root) -> Formula:
    """A bound as a quotient whose denominator is grouped by the ridge."""
    if isinstance(value, Root) or not value.is_rational_function():
        return draft.write(value)
    above, below = cancelled(value).as_numer_denom()
    signs = {bool(t.as_coeff_Mul()[0] < 0): t for t in Add.make_args(below.expand()) if not t.has(symbol("ridge"))}
    if True in signs and False not in signs or (not signs and below.could_extract_minus_sign()):
        above, below = -above, -below
    top, bottom = (draft.layout.grouped(part.expand(), "ridge") for part in (above, below))
    return top if below == 1 else Quotient(top, bottom)


def _otherwise(draft: Draft, solved: Threshold, top: Expr | None) -> Draft:
    """What stands behind ``never``: the intensity stays below its supremum, and that is at most the ridge."""
    if solved.otherwise is None or solved.otherwise.intervals != NEVER or top is None or not top.is_rational_function():
        return draft
    height, x, equal = draft.write(top), draft.setting.variable, _equal(draft)
    guard = _guard(draft, solved.cases[0])
    fails = Compare(guard.left, "<=", guard.right) if isinstance(guard, Compare) else guard
    facts = {"top": height, "variable": Name(x.name)}
    draft = draft.add(
        Step("threshold", Reason.REACH, INTENSITY, "<", height, equal, facts=facts, shown=False),
        Step("threshold", Reason.REACH, height, "<=", RIDGE, (fails,), facts=facts, shown=False),
    )
    dims = [s for s in symbols_of(top) if s.name in draft.layout.order]
    if len(dims) < 2 or draft.setting.ridge is None:
        return draft
    dims.sort(key=lambda s: draft.layout.order.index(s.name))
    square = top.subs({other: dims[0] for other in dims[1:]})
    edge = solve_for(square - rational(draft.setting.ridge), dims[0], draft.setting.least_one).bound
    limit = numeric(edge)
    if limit is None or limit < 1 or isinstance(edge, Root):
        return draft
    same = tuple(Compare(Name(other.name), "=", Name(dims[0].name)) for other in dims[1:])
    claim = Compare(Name(dims[0].name), ">", draft.write(edge))
    facts = {"equal": (Name(dims[0].name), *(Name(d.name) for d in dims[1:])), "last": number(floor(limit))}
    return draft.add(Step("threshold", Reason.SQUARE, Compare(height, ">", RIDGE), "<=>", claim, same, facts=facts, shown=False))


def _never(draft: Draft) -> Draft:
    """Never compute-bound: by how much, what that leaves of the peak, and for which ridges it is so."""
    setting, value = draft.setting, draft.answer.intensity
    top = value if not value.free_symbols else highest(value, setting.least_one)
    if top is None or not top.is_Rational:
        return draft.add(Step("threshold", Reason.NEVER, INTENSITY, "<", RIDGE, _equal(draft)))
    height, relation = draft.write(top), "<" if value.free_symbols else "="
    steps = []
    if not any(step.reason is Reason.SUPREMUM for step in draft.steps) and value.free_symbols:
        steps.append(Step("threshold", Reason.REACH, INTENSITY, "<", height, _equal(draft), shown=False))
    strict = setting.ridge is not None and numeric(top) < setting.ridge  # type: ignore[operator]
    facts = {"top": height, "relation": relation, "dims": tuple(Name(s.name) for s in symbols_of(value))}
    steps.append(Step("threshold", Reason.NEVER, height, "<" if strict else "<=", RIDGE, facts=facts))
    if setting.ridge is not None:
        share = numeric(top) / setting.ridge  # type: ignore[operator]
        part = Quotient(height, RIDGE)
        for reason, left, number_ in ((Reason.MARGIN, Quotient(RIDGE, height), 1 / share), (Reason.THROUGHPUT, part, share)):
            text = to_places(number_, 0) if number_ >= 100 else to_digits(number_, 3 if reason is Reason.MARGIN else 2)
            steps.append(Step("threshold", reason, left, "~", Number(Fraction(text), text), shown=False, facts={"share": Fraction(text)}))
    return draft.add(*steps)


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
    condition = _solution(draft, solved)
    facts = {"relations": setting.problem.assume}
    leads = Compare(draft.write(form), ">", RIDGE)
    draft = draft.add(Step("rule", Reason.RULE, leads, "<=>", condition, facts=facts, shown=not isinstance(condition, Compare)))
    draft = _number(draft, "rule", solved.bound, edge, solved.rises)
    if solved.bound is None or answer.bound is None or isinstance(answer.bound, Root) or isinstance(edge, Root):
        return draft
    return _rule_factor(draft, solved.bound)


def _exact_number(draft: Draft) -> Draft:
    """Where no regime is needed: the exact bound is a number."""
    if draft.answer.threshold is None or numeric(draft.answer.bound) is None:
        return draft
    solved = draft.answer.threshold
    return _number(draft, "rule", solved.bound, draft.answer.bound, solved.rises)


def _number(draft: Draft, section: str, formula: Expr | Root | None, edge: Expr | Root | None, rises: bool, assume: tuple[Compare, ...] = ()) -> Draft:
    """A bound as an exact number, as a decimal, and as the first whole size."""
    value = numeric(edge)
    if value is None or formula is None or edge is None:
        return draft
    x, step = Name(draft.setting.variable.name), chip_step(draft, draft.setting.variable)
    exact = draft.write(edge)
    told = any(s.reason is Reason.RULE and not s.shown for s in draft.steps)  # prose says the number
    steps: list[Step] = []
    left = bound(draft, formula)
    if left != exact and len(str(value.numerator)) <= 8 and len(str(value.denominator)) <= 8:
        steps.append(Step(section, Reason.FIGURES, left, "=", exact, assume, shown=section == "rule" and not told))
        left = exact
    short = rounded(section, left if isinstance(edge, Root) else bound(draft, formula), value, assumptions=assume, joined=bool(steps), shown=section == "rule" and not told)
    steps += () if isinstance(edge, Root) else short
    first = smallest_integer(edge, step) if rises else None
    if first is not None:
        shown = Name("ridge") if formula == symbol("ridge") else exact
        claim = Compare(x, ">", shown), Compare(x, ">=", number(first))
        facts = {"first": number(first), "bound": exact, "step": step, "variable": x}
        steps.append(Step(section, Reason.WHOLE, claim[0], "<=>", claim[1], assume, Whole(step), facts, shown=False))
    return draft.add(*steps).found(**({"smallest_integer": first} if section == "rule" and first is not None else {}))


def _rule_factor(draft: Draft, rule_bound: Expr) -> Draft:
    """exact bound / rule bound = 1/(1 - R(1/D + 1/F))."""
    exact = draft.answer.threshold.bound if draft.answer.threshold else None
    if exact is None or isinstance(exact, Root):
        return draft
    quotient = cancelled(rule_bound / exact)
    symbols = symbols_of(quotient)
    terms = laurent(quotient, symbols)
    draft = draft.found(rule_factor=known(draft, quotient))
    if quotient == 1 or terms is None:
        return draft
    r = symbol("ridge")
    plain = Add(*(Rational(c.numerator, c.denominator) * m for c, m in terms if not m.has(r)))
    per_ridge = Add(*(Rational(-c.numerator, c.denominator) * m / r for c, m in terms if m.has(r)))
    if per_ridge.has(r) or per_ridge == 0:
        return draft
    gone = Product((RIDGE, draft.write(per_ridge)))
    right = Quotient(number(1), Sum((draft.write(plain), Negative(gone))))
    left = Quotient(bound(draft, exact), bound(draft, rule_bound))
    guards = tuple(_guard(draft, case) for case in draft.answer.threshold.cases if case.guard)  # type: ignore[union-attr]
    return draft.add(Step("rule", Reason.RULE_FACTOR, left, "=", right, guards, facts={"factor": right}, right_alone=True))


def at(draft: Draft) -> Draft:
    """The same with sizes put in, once for each set of them."""
    for values in draft.setting.problem.at:
        draft = _at_point(draft, values)
    return draft


def _at_point(draft: Draft, values: Mapping[str, Fraction]) -> Draft:
    setting, x = draft.setting, draft.setting.variable
    put = {symbol(name): rational(value) for name, value in values.items()}
    at_point = setting.regime.apply(draft.answer.intensity).subs(put)
    value = cancelled(at_point)
    where = (*_equal(draft), *(Compare(Name(n), "=", draft.write(v)) for n, v in values.items()))
    facts = {"values": where, "index": len(draft.answer.at)}
    if x.name in values or not value.has(x):
        return _evaluated(draft, values, value, where, facts)
    solved = solve_for(value - symbol("ridge"), x, setting.least_one, setting.values)
    if setting.ridge is not None:
        solved = solve_for(value - rational(setting.ridge), x, setting.least_one)
    edge = solved.bound
    first = smallest_integer(edge, chip_step(draft, x)) if edge is not None and solved.rises else None
    draft = draft.add(Step("at", Reason.AT_POINT, ABOVE, "<=>", _solution(draft, solved), where, facts=facts | {"outcome": solved.outcome}, shown=numeric(edge) is None and solved.outcome == "depends"))
    draft = _number(draft, "at", edge, edge, solved.rises, where)
    rule_edge, exact = numeric(draft.answer.rule_bound), numeric(edge)
    if rule_edge and exact and exact != rule_edge:
        gap = exact / rule_edge - 1
        text = to_digits(gap, 2)
        left = Sum((Quotient(draft.write(exact), draft.write(rule_edge)), Negative(number(1))))
        facts = {"gap": Fraction(text), "rows": (first or 0) - (draft.answer.smallest_integer or 0), "variable": Name(x.name)}
        draft = draft.add(Step("at", Reason.GAP, left, "~", Number(Fraction(text), text), where, facts=facts, shown=False))
    point = Point(values, value, solved, edge, first, solved.outcome)
    return draft.found(at=(*draft.answer.at, point))


def _evaluated(draft: Draft, values: Mapping[str, Fraction], value: Expr, where: tuple[Compare, ...], facts: dict[str, object]) -> Draft:
    """A point that fixes the variable too: the intensity there, and which side of the ridge it is on."""
    found = numeric(value)
    ridge = draft.setting.ridge
    steps = []
    outcome = "depends"
    if found is not None:
        steps += [Step("at", Reason.AT_POINT, INTENSITY, "=", draft.write(found), where, facts=facts | {"outcome": "point"})]
        steps += rounded("at", INTENSITY, found, assumptions=where, joined=True)
        if ridge is not None:
            outcome = "always" if found > ridge else "never"
            relation = ">" if found > ridge else "<" if found < ridge else "="
            steps.append(Step("at", Reason.GAP, INTENSITY, relation, RIDGE, where, facts={"point": True}, joined=True))
    return draft.add(*steps).found(at=(*draft.answer.at, Point(values, value, None, None, None, outcome)))


