"""The answer in short: with sizes put in, once for each set of them; by a bound alone; and of a long program in letters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction

from sympy import Add, Expr, Integer

from symroof.algebra.rational import cancelled, sign_of
from symroof.algebra.roots import Root
from symroof.algebra.rounding import to_digits, to_places
from symroof.derivation.answer import Point, Steps
from symroof.derivation.premises import require_agreement
from symroof.derivation.solutions import Solution
from symroof.derivation.solving import solution_of
from symroof.derivation.steps import INTENSITY, T_COMMS, T_MATH, Draft, numeric, rounded
from symroof.derivation.threshold import stays_low, whole_size
from symroof.formula import Compare, Formula, Name, Negative, Number, Quotient, Sum, Verdict, names, number
from symroof.model.program import Program
from symroof.proof.bounds_and_decimals import BoundsCompared, RelativeGap
from symroof.proof.step import Reason, Solved, Step
from symroof.symbols import expression, fraction, rational, symbol


def at(draft: Draft) -> Draft:
    """The same with sizes put in; where nothing is computed only that these agree."""
    for point, values in enumerate(draft.setting.problem.at):
        require_agreement(draft.setting.regime, {symbol(name): rational(v) for name, v in values.items()})
        draft = draft if draft.setting.idle else _at_point(draft, point)
    return draft


def put_in(draft: Draft, point: int) -> tuple[Formula, ...]:
    """The equalities of a set of sizes, beside those that are assumed."""
    values = draft.setting.problem.at[point]
    return (*draft.setting.equalities, *(Compare(Name(n), "=", draft.write(v)) for n, v in values.items()))


def value_at(draft: Draft, value: Expr, values: Mapping[str, Fraction]) -> Expr:
    """A value with the sizes put in."""
    return draft.setting.regime.apply(value).subs({symbol(name): rational(v) for name, v in values.items()})


def _at_point(draft: Draft, point: int) -> Draft:
    setting, values, where = draft.setting, draft.setting.problem.at[point], put_in(draft, point)
    value = intensity = cancelled(value_at(draft, setting.intensity, values))
    draft = draft.add(
        Step("at", Reason.AT_POINT, INTENSITY, "=", draft.write(intensity), where, role="intensity", point=point)
    )
    if setting.mixed:
        value = setting.in_numbers(value_at(draft, setting.compared, values))
    if not intensity.free_symbols:
        return _side_at(draft, intensity, value, where, point)
    x = setting.variable if value.has(setting.variable) else _first_free(draft, value)
    level = setting.in_numbers(setting.level)
    solution = solution_of(value, level, x, setting.least_one, layout=setting.layout)
    conditions, facts = (*where, *solution.bands), Solved(solution.variable)
    draft = draft.add(
        Step("at", Reason.AT_POINT, draft.above, "<=>", solution.formula, conditions, None, facts, "threshold", point)
    )
    edge = numeric(solution.bound)
    if edge is None or solution.end is None or solution.bound is None:
        return draft
    if isinstance(solution.bound, Expr):
        draft = draft.add(*rounded("at", solution.end.right, edge, assumptions=where, point=point))
    draft = draft.add(*whole_size(draft, solution, solution.bound, "at", where, point))
    return _beside_the_rule(draft, solution, edge, where, point)


def _beside_the_rule(
    draft: Draft, solution: Solution, exact: Fraction, where: tuple[Formula, ...], point: int
) -> Draft:
    """By how much the exact bound is higher than that of the rule, and how many sizes lie between."""
    rule, bounds = numeric(draft.answer.rule_bound), (solution.bound, draft.answer.rule_bound)
    if not rule or exact == rule or solution.variable != draft.setting.variable.name:
        return draft
    solved, thumb = draft.answer.at[point].step("threshold"), draft.answer.step("rule")
    if solved is not None and thumb is not None and not any(isinstance(bound, Root) for bound in bounds):
        gap = exact / rule - 1
        text = to_places(gap, 0) if gap >= 10 else to_digits(gap, 2)
        left = Sum((Quotient(draft.write(exact), draft.write(rule)), Negative(number(1))))
        shown, beside = Number(Fraction(text), text), RelativeGap(solved, thumb)
        draft = draft.add(Step("at", Reason.GAP, left, "~", shown, where, beside, role="gap", point=point))
    high, low = draft.answer.at[point].step("smallest"), draft.answer.step("smallest")
    sizes = draft.answer.at[point].smallest_integer, draft.answer.smallest_integer
    if high is None or low is None or sizes[0] is None or sizes[1] is None:
        return draft
    rows = Sum((number(sizes[0]), Negative(number(sizes[1]))))
    distance = draft.write(sizes[0] - sizes[1])
    return draft.add(
        Step("at", Reason.FACT, rows, "=", distance, evidence=BoundsCompared(high, low), role="early", point=point)
    )


def _first_free(draft: Draft, value: Expr) -> Expr:
    """Where the variable has a value, the first size that is left of those that people turn."""
    free = {s.name for s in value.free_symbols}
    return symbol(next(name for name in (*draft.setting.turned(), *draft.layout.order) if name in free))


def _side_at(draft: Draft, intensity: Expr, value: Expr, where: tuple[Formula, ...], point: int) -> Draft:
    """A point that fixes the variable too: the intensity there, and which side of its level what is compared is on."""
    draft = draft.add(*rounded("at", INTENSITY, fraction(intensity), assumptions=where, point=point))
    level = numeric(draft.setting.in_numbers(draft.setting.level))
    if level is None or not value.is_Rational:
        return draft
    relation = ">" if fraction(value) > level else "<" if fraction(value) < level else "="
    left, right = draft.above.left, draft.above.right
    return draft.add(Step("at", Reason.SIDE, left, relation, right, where, role="side", point=point))


def summary(draft: Draft) -> Draft:
    """Where the problem is compute-bound: for all sizes, and at each set of them."""
    answer = draft.answer
    whole = answer.step("all") or answer.step("rule") or answer.step("threshold")
    assert whole is not None, "a derivation solves its condition, or finds that it is always or never met"
    points = (
        _side(draft, point, put_in(draft, place), place) if step is None else _shortest(point, step)
        for place, point in enumerate(answer.at)
        for step in (point.step("all") or point.step("threshold"),)
    )
    return draft.add(_shortest(answer, whole), *points)


def _shortest(steps: Steps, step: Step) -> Step:
    """A solved condition by its bound alone, where that is a number, or the rule of thumb without a guard."""
    if step.role == "all":
        return replace(step, section="summary", role="condition")
    solution = steps.solution(step.role)
    assert solution is not None
    right, rule = solution.formula, step.role == "rule"
    if solution.end is not None:
        bound = steps.formula("rule_bound" if rule else "bound") or solution.end.right
        if not names(bound) or (rule and solution.guard is None):
            right = replace(solution.end, right=bound)
    return replace(step, section="summary", right=right, role="condition", evidence=None, facts=None)


def _side(draft: Draft, point: Point, where: tuple[Formula, ...], place: int) -> Step:
    """The condition where every size has a value: always or never; itself, where the ridge is not known or is met. Where
    links were compared too it is that of the longest time."""
    above = Compare(T_MATH, ">", T_COMMS) if point.step("joint") else draft.above
    condition = above if point.outcome == "depends" else Verdict(point.outcome == "always")
    return Step("summary", Reason.FACT, above, "<=>", condition, where, role="condition", point=place)


# From more terms on a total is written in letters.
TERMS = 6
# The letters of the coefficients of FLOPs, of those of bytes, and of the bytes that do not depend on the data.
OF_WORK, OF_TRAFFIC, CONSTANT = "φψχη", "ακβγδ", "ω"


def letters(draft: Draft) -> Draft:
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
    intensity, where, factored = cancelled(above / below), setting.equalities, draft.layout.factored
    lines = {Name(name): draft.write(total) for name, total in short.items()} | {INTENSITY: factored(intensity)}
    solution = solution_of(intensity, symbol("ridge"), x, setting.least_one, layout=setting.layout)
    solved: tuple[Step, ...] = ()
    if solution.solved and solution.outcome == "depends":
        where_, facts = (*where, *solution.bands), Solved(x.name)
        solved = (Step("letters", Reason.SOLVE, draft.above, "<=>", solution.formula, where_, facts=facts),)
    return draft.attempt(
        *_definitions(draft, named),
        *(Step("letters", Reason.EXPANDED, name, "=", shown, where) for name, shown in lines.items()),
        *solved,
        *stays_low(draft, solution, intensity, "letters"),
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
            if (number := value_at(draft, value, sizes)).is_Rational:
                yield Step(
                    "letters", Reason.VALUE, name, "=", Number(fraction(number)), put_in(draft, point), point=point
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
