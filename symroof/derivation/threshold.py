"""The sections that answer the question: the guarded threshold, the rule of thumb, and the numbers put in."""

from __future__ import annotations

from fractions import Fraction
from math import floor

from sympy import Add, Expr, Integer

from symroof.algebra.inequality import solve_for
from symroof.algebra.intervals import ALWAYS, NEVER, Case, Interval, Threshold
from symroof.algebra.optima import highest, supremum
from symroof.algebra.rational import cancelled, polynomial, ratio, sign, symbols_of
from symroof.algebra.roots import Root
from symroof.algebra.rounding import to_digits, to_places
from symroof.derivation.draft import INTENSITY, RIDGE, Draft, numeric
from symroof.formula import Both, Cases, Compare, Either, Formula, Name, Number, Quotient, Verdict, number, product
from symroof.proof.step import Reason, Step
from symroof.symbols import rational, symbol

ABOVE = Compare(INTENSITY, ">", RIDGE)


def threshold(draft: Draft) -> Draft:
    """intensity > ridge, solved for the variable with every guard."""
    setting, value, x = draft.setting, draft.answer.intensity, draft.setting.variable
    solved = solve_for(value - symbol("ridge"), x, setting.least_one, setting.values)
    if not _is_linear(solved) and setting.ridge is not None and value.free_symbols == {x}:
        solved = solve_for(value - rational(setting.ridge), x, setting.least_one)  # in numbers every degree is solved
    top = supremum(value, x, setting.least_one) if value.has(x) else None
    draft = draft.found(threshold=solved, supremum=top, bound=known(draft, solved.bound), outcome=solved.outcome)
    if solved.outcome == "never":
        return _never(draft)
    if solved.outcome == "always":
        return draft.add(Step("threshold", Reason.ALWAYS, INTENSITY, ">", RIDGE, equalities(draft)))
    solved_form = solution(draft, solved)
    draft = draft.add(*(step for step in _cleared(draft, solved) if step.right != solved_form))
    reason = Reason.SOLVE if solved.cases[0].implicit is None else Reason.IMPLICIT
    facts = {"one_root": solved.one_root}
    draft = draft.add(
        Step("threshold", reason, ABOVE, "<=>", solved_form, (*equalities(draft), *bands(draft, solved)), facts=facts)
    )
    return _otherwise(draft, solved, top)


def _is_linear(solved: Threshold) -> bool:
    symbols = symbols_of(solved.polynomial, solved.variable)
    return max((e[symbols.index(solved.variable)] for e in ratio(solved.polynomial, symbols)[0]), default=0) <= 1


def known(draft: Draft, bound: Expr | Root | None) -> Expr | Root | None:
    """The bound with the figures put in."""
    if bound is None or isinstance(bound, Root):
        return bound
    put = bound.subs({s: rational(v) for s, v in draft.setting.values.items()})
    return cancelled(put) if put.is_rational_function() else put


def equalities(draft: Draft) -> tuple[Compare, ...]:
    return tuple(r for r in draft.setting.problem.assume if r.relation == "=")


def _cleared(draft: Draft, solved: Threshold) -> tuple[Step, ...]:
    """The steps between: the denominator cleared, the variable collected."""
    value, x = draft.answer.intensity, draft.setting.variable
    symbols = symbols_of(value)
    above, below = (polynomial(terms, symbols) for terms in ratio(value, symbols))
    if below == 1 or not value.has(x) or sign(ratio(value, symbols)[1], symbols, draft.setting.least_one) != 1:
        return ()
    right = draft.layout.grouped((below * symbol("ridge")).expand(), "ridge")
    cleared = Step("threshold", Reason.CLEAR, ABOVE, "<=>", Compare(draft.write(above), ">", right), equalities(draft))
    whole = symbols_of(solved.polynomial, x)
    terms, _ = ratio(solved.polynomial, whole)
    at = whole.index(x)
    if max(e[at] for e in terms) != 1 or not below.has(x):
        return (cleared,)
    head = polynomial({(*e[:at], 0, *e[at + 1 :]): c for e, c in terms.items() if e[at]}, whole)
    tail = polynomial({e: -c for e, c in terms.items() if not e[at]}, whole)
    left = product(Name(x.name), draft.layout.grouped(head, "ridge"))
    collected = Compare(left, ">", draft.layout.grouped(tail, "ridge") if tail != 0 else number(0))
    return (cleared, Step("threshold", Reason.COLLECT, ABOVE, "<=>", collected, equalities(draft)))


def solution(draft: Draft, solved: Threshold) -> Formula:
    rows = [(_consequence(draft, solved, case), guard_of(draft, case)) for case in solved.cases]
    if len(rows) == 1 and not solved.cases[0].guard:
        return rows[0][0]
    otherwise = None if solved.otherwise is None else _consequence(draft, solved, solved.otherwise)
    return Cases(tuple(rows), otherwise)


def bands(draft: Draft, solved: Threshold) -> tuple[Formula, ...]:
    """Irrational ends are shown in decimals: the solution is stated outside of the narrow band that holds the root."""
    x, found = Name(solved.variable.name), []
    ends = [
        end
        for case in solved.cases
        for i in case.intervals
        for end in (i.low, i.high)
        if isinstance(end, Root) and not end.exact
    ]
    for end in ends:
        shown = draft.write(end)
        assert isinstance(shown, Number)
        low, high = min(end.low, shown.value), max(end.high, shown.value)
        found.append(Either((Compare(x, "<", draft.write(low)), Compare(x, ">", draft.write(high)))))
    return tuple(found)


def guard_of(draft: Draft, case: Case) -> Formula:
    parts = tuple(positive(draft, guard) for guard in case.guard)
    return parts[0] if len(parts) == 1 else Both(parts)


def positive(draft: Draft, value: Expr) -> Formula:
    """value > 0 with the negative terms on the right: DF > R(D + F)."""
    terms = [(bool(t.as_coeff_Mul()[0] < 0), t) for t in Add.make_args(draft.layout.primitive(value))]
    left, right = (Add(*(-t if minus else t for m, t in terms if m is minus)) for minus in (False, True))
    return Compare(
        draft.layout.grouped(left, "ridge") if left != 0 else number(0),
        ">",
        draft.layout.grouped(right, "ridge") if right != 0 else number(0),
    )


def _consequence(draft: Draft, solved: Threshold, case: Case) -> Formula:
    if case.implicit is not None:
        return positive(draft, case.implicit)
    if case.intervals in (ALWAYS, NEVER):
        return Verdict(case.intervals == ALWAYS)
    parts = tuple(_inside(draft, Name(solved.variable.name), interval) for interval in case.intervals)
    return parts[0] if len(parts) == 1 else Either(parts)


def _inside(draft: Draft, x: Formula, interval: Interval) -> Formula:
    ends = [
        Compare(x, sign, bound(draft, end))
        for sign, end in ((">", interval.low), ("<", interval.high))
        if end is not None
    ]
    return ends[0] if len(ends) == 1 else Both(tuple(ends))


def bound(draft: Draft, value: Expr | Root) -> Formula:
    """A bound as a quotient whose denominator is grouped by the ridge."""
    if isinstance(value, Root) or not value.is_rational_function():
        return draft.write(value)
    above, below = cancelled(value).as_numer_denom()
    signs = {bool(t.as_coeff_Mul()[0] < 0): t for t in Add.make_args(below.expand()) if not t.has(symbol("ridge"))}
    if (True in signs and False not in signs) or (not signs and below.could_extract_minus_sign()):
        above, below = -above, -below
    top = draft.layout.grouped(above.expand(), "ridge")
    size, inner = below.expand().primitive() if below.expand().is_Add else (Integer(1), below.expand())
    bottom = draft.layout.grouped(inner, "ridge")
    return top if below == 1 else Quotient(top, bottom if size == 1 else product(draft.write(size), bottom))


def _otherwise(draft: Draft, solved: Threshold, top: Expr | None) -> Draft:
    """What stands behind ``never``: the intensity stays below its supremum, and that is at most the ridge."""
    if solved.otherwise is None or solved.otherwise.intervals != NEVER or top is None or not top.is_rational_function():
        return draft
    height, x, equal = draft.write(top), draft.setting.variable, equalities(draft)
    guard = guard_of(draft, solved.cases[0])
    fails = Compare(guard.left, "<=", guard.right) if isinstance(guard, Compare) else guard
    facts: dict[str, object] = {"top": height, "variable": Name(x.name)}
    draft = draft.add(
        Step("threshold", Reason.REACH, INTENSITY, "<", height, equal, facts=facts, shown=False),
        Step("threshold", Reason.REACH, height, "<=", RIDGE, (fails,), facts=facts, shown=False),
    )
    dims = [s for s in symbols_of(top) if s.name in draft.layout.order]
    if len(dims) < 2 or draft.setting.ridge is None:
        return draft
    dims.sort(key=lambda s: draft.layout.order.index(s.name))
    square = top.subs(dict.fromkeys(dims[1:], dims[0]))
    edge = solve_for(square - rational(draft.setting.ridge), dims[0], draft.setting.least_one).bound
    limit = numeric(edge)
    if limit is None or limit < 1 or isinstance(edge, Root):
        return draft
    same = tuple(Compare(Name(other.name), "=", Name(dims[0].name)) for other in dims[1:])
    claim = Compare(Name(dims[0].name), ">", draft.write(edge))
    facts = {"equal": (Name(dims[0].name), *(Name(d.name) for d in dims[1:])), "last": number(floor(limit))}
    return draft.add(
        Step("threshold", Reason.SQUARE, Compare(height, ">", RIDGE), "<=>", claim, same, facts=facts, shown=False)
    )


def _never(draft: Draft) -> Draft:
    """Never compute-bound: by how much, what that leaves of the peak, and for which ridges it is so."""
    setting, value = draft.setting, draft.answer.intensity
    top = value if not value.free_symbols else highest(value, setting.least_one)
    if top is None or not top.is_Rational:
        return draft.add(Step("threshold", Reason.NEVER, INTENSITY, "<", RIDGE, equalities(draft)))
    height, relation = draft.write(top), "<" if value.free_symbols else "="
    steps = []
    if not any(step.reason is Reason.SUPREMUM for step in draft.steps) and value.free_symbols:
        steps.append(Step("threshold", Reason.REACH, INTENSITY, "<", height, equalities(draft), shown=False))
    strict = setting.ridge is not None and numeric(top) < setting.ridge  # type: ignore[operator]
    facts = {"top": height, "relation": relation, "dims": tuple(Name(s.name) for s in symbols_of(value))}
    steps.append(Step("threshold", Reason.NEVER, height, "<" if strict else "<=", RIDGE, facts=facts))
    if setting.ridge is not None:
        share = numeric(top) / setting.ridge  # type: ignore[operator]
        part = Quotient(height, RIDGE)
        for reason, left, number_ in (
            (Reason.MARGIN, Quotient(RIDGE, height), 1 / share),
            (Reason.THROUGHPUT, part, share),
        ):
            text = to_places(number_, 0) if number_ >= 100 else to_digits(number_, 3 if reason is Reason.MARGIN else 2)
            steps.append(
                Step(
                    "threshold",
                    reason,
                    left,
                    "~",
                    Number(Fraction(text), text),
                    shown=False,
                    facts={"share": Fraction(text)},
                )
            )
    return draft.add(*steps)
