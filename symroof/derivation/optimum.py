"""What is least over a size that shares something with another: the equation put in, the parts in the regime, the place
where they cross or balance, its value, what being compute-bound means there, and the ends of the domain."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction

from sympy import Expr, Integer, oo

from symroof.algebra.dominance import leading_form, similarity_of
from symroof.algebra.rational import cancel
from symroof.algebra.regime import Regime, Relation
from symroof.algebra.roots import root_near
from symroof.algebra.rounding import decimal, to_digits
from symroof.derivation.drafts import comparisons, dominance
from symroof.derivation.formula_writing import is_negative
from symroof.derivation.named_formulas import DIGITS, Basis, unit_among
from symroof.derivation.solving import Optimum, lines, optimum_of
from symroof.errors import AlgebraError
from symroof.formula import Call, Compare, Formula, Frozen, Name, Number, Quotient, Sum, names, number, product
from symroof.model.quantities import T_MATH, Mismatch, exponents
from symroof.proof.bounds_and_decimals import RoundedRoot
from symroof.proof.minima import LeastPlace, Roots, Slope, parts_of
from symroof.proof.step import Reason, Role, Step, number_of
from symroof.symbols import fraction, rational, symbol


class Sharing(Frozen):
    """What ``subject`` says: the ``other`` size is ``end``/x, so that x goes up to the end."""

    other: str
    end: Expr


class Minimum(Frozen):
    """What is to be least over x: its parts as they are and in the ``forms`` of the regime, with their powers of x.
    ``where`` is the equation that is put in, ``regime`` what is assumed beside it, ``bound`` the condition of being
    compute-bound there, with its right side as a root."""

    body: Formula
    x: Expr
    sharing: Sharing | None
    where: tuple[Compare, ...]
    regime: tuple[Compare, ...]
    parts: tuple[Formula, ...]
    forms: tuple[Expr, ...]
    found: Optimum
    bound: tuple[Compare, Expr, int] | None = None

    @property
    def maximum(self) -> bool:
        return parts_of(self.body)[0]

    @property
    def place(self) -> Call:
        return Call("argmin", (self.body, Name(self.x.name)))


def optimum(ground: Basis, minimize: Formula, over: str, subject: Compare | None) -> tuple[Basis, Minimum]:
    """The steps of the best place, for every size."""
    body = _definition_of(minimize, ground)
    ground = ground.defining(body)
    x = symbol(over)
    parts = parts_of(body)[1]
    values = [ground.value(part) for part in parts]
    sharing, where = None, tuple[Compare, ...]()
    if subject is not None:
        sharing = _sharing(subject, x, values, ground)
        order = (*ground.layout.order, *(n for n in names(subject) if n not in ground.layout.order))
        ground = replace(ground, layout=replace(ground.layout, order=order))
        end = ground.layout.write(sharing.end)
        where = (Compare(Name(sharing.other), "=", Quotient(end, Name(over))),)
        if where[0] != subject:
            ground = ground.add(Step("optimum", Reason.SUBJECT, subject, "<=>", where[0], facts=None))
    regime = _regime(values, x, sharing, ground, 1 if parts_of(body)[0] else 3)
    relations = tuple(r for r in regime.relations if r[1] != "=")
    assumed = (*comparisons(relations, ground.layout.write), *ground.equalities)
    both = [_form(value, regime) for value in values]
    forms = tuple(form for _, form in both)
    result = optimum_of(forms, x, ground.least_one, maximum=parts_of(body)[0])
    ground = _in_the_regime(ground, tuple(parts), both, regime, (x, sharing), (*assumed, *where))
    minimum = Minimum(body, x, sharing, where, assumed, tuple(parts), forms, result)
    return _at_the_place(ground, minimum), minimum


def _definition_of(formula: Formula, ground: Basis) -> Formula:
    """A name that stands for a maximum or a sum, as that: T_lower."""
    while isinstance(formula, Name):
        meaning = ground.ledger.meanings.get(formula.name)
        if not isinstance(meaning, Sum) and not (isinstance(meaning, Call) and meaning.function == "max"):
            return formula
        formula = meaning
    if isinstance(formula, Call) and formula.function == "max":  # the longest of the longest
        each = (_longest(part, ground) for part in formula.arguments)
        return replace(formula, arguments=tuple(dict.fromkeys(part for parts in each for part in parts)))
    return formula


def _longest(part: Formula, ground: Basis) -> tuple[Formula, ...]:
    """What a part of a maximum is the maximum of, where it is one."""
    meaning = ground.ledger.definitions.get(part.name) if isinstance(part, Name) else part
    if not isinstance(meaning, Call) or meaning.function != "max":
        return (part,)
    return tuple(inner for each in meaning.arguments for inner in _longest(each, ground))


def _sharing(subject: Compare, x: Expr, values: list[Expr], ground: Basis) -> Sharing:
    """The size that shares a product with x: one that what is to be least depends on, where it depends on any."""
    ratio = cancel(ground.value(subject.left) / ground.value(subject.right))
    powers = ratio.as_powers_dict()
    free = {s for value in values for s in value.free_symbols}
    e = powers.get(x, 0)
    result = [s for s in sorted(ratio.free_symbols, key=str) if s != x and e in (1, -1) and powers.get(s, 0) == e]
    others = [s for s in result if s in free] or result
    if not others or len(ratio.as_numer_denom()[0].as_ordered_terms()) > 1:
        raise AlgebraError(
            f"subject does not say what {x} shares with another size", expected=f'a product, as in "{x}*Y = N"'
        )
    other = others[0]
    return Sharing(other.name, cancel(x * other * ratio ** (-e)))


def _regime(values: list[Expr], x: Expr, sharing: Sharing | None, ground: Basis, most: int) -> Regime:
    """The regime of the problem with the equation put in; where it says nothing of what is shared, that grows, unless the
    parts are powers as they are."""
    sizes = [x, *([symbol(sharing.other)] if sharing else [])]
    put: tuple[Relation, ...] = ((sizes[1], "=", sharing.end / x),) if sharing else ()
    regime = ground.regime
    exact = Regime((*regime.relations, *put), regime.least_one)
    if regime.mentioned & set(sizes) or all(_is_powers(cancel(exact.apply(value)), x, most) for value in values):
        return exact
    if sharing and not sharing.end.free_symbols:
        raise AlgebraError(
            f"the parts are no powers of {x} unless {x} and {sharing.other} are large, and {sharing.end} is not",
            hint=f'subject = "{x}*{sharing.other} = N", and at = "N = {sharing.end}"',
        )
    grows: tuple[Relation, ...] = tuple((size, "->", oo) for size in sizes)
    return Regime((*regime.relations, *grows, *put), regime.least_one)


def _is_powers(value: Expr, x: Expr, most: int) -> bool:
    """Whether a value is a sum of at most so many powers of x, each times a positive product."""
    try:
        result = lines(value, x).values()
        return len(result) <= most and all(is_product(c) and not is_negative(c) for c in result)
    except AlgebraError:
        return False


def is_product(value: Expr) -> bool:
    return all(len(side.expand().as_ordered_terms()) == 1 for side in value.as_numer_denom())


def _in_the_regime(
    ground: Basis,
    parts: tuple[Formula, ...],
    both: list[tuple[Expr, Expr]],
    regime: Regime,
    shared: tuple[Expr, Sharing | None],
    where: tuple[Compare, ...],
) -> Basis:
    """Every part with the equation put in, as its form in the regime times a factor that tends to 1."""
    x, write = shared[0], ground.layout.write
    equal = tuple(a for a in where if a.relation == "=")
    for part, (exact, form) in zip(parts, both, strict=True):
        ways = {(e > 0) - (e < 0) for e in lines(form, x)}
        facts = Slope(x.name, ways.pop()) if len(ways) == 1 else None
        if form == exact:
            ground = ground.add(Step("optimum", Reason.PART, part, "=", write(form), equal, None, facts))
            continue
        factor = ground.layout.factored(cancel(_in_the_sizes(exact / form, *shared)))
        spread = product(write(form), factor)
        near = dominance(similarity_of(exact, form, regime), write)
        ground = ground.add(
            Step("optimum", Reason.PART, part, "=", spread, equal),
            Step("optimum", Reason.PART, part, "~", write(form), where, near, facts),
        )
    return ground


def _form(value: Expr, regime: Regime) -> tuple[Expr, Expr]:
    """A part with the equation put in, and its form in the regime."""
    exact = cancel(regime.apply(value))
    return exact, leading_form(exact, regime) if regime.scaling else exact


def _in_the_sizes(value: Expr, x: Expr, sharing: Sharing | None) -> Expr:
    """A value in x and the other size, where what they share is a name: (Y - 1)/Y."""
    if sharing is None or not sharing.end.is_Symbol:
        return value
    return value.subs(sharing.end, x * symbol(sharing.other))


def _at_the_place(ground: Basis, minimum: Minimum) -> Basis:
    """The least place and the least value; then the ends, as the forms say."""
    result, over = minimum.found, Name(minimum.x.name)
    forms = tuple(map(ground.layout.write, minimum.forms))
    near = "=" if all(map(_same(ground, minimum), minimum.parts, forms)) else "~"
    where, evidence = (*minimum.regime, *minimum.where), LeastPlace(forms)
    at_forms, equal = of_forms(ground, minimum), (*ground.equalities, *minimum.where)
    if result.way:
        end = _end(ground, minimum) if result.way < 0 else number(1)
        best = Step("optimum", Reason.AT_AN_END, at_forms, "=", end, equal, evidence, role="optimum")
        return ground.add(best)
    end_power = None
    inside = [_order(ground, result.power, 1)]
    place = ground.layout.root(result.power, result.degree)
    if minimum.sharing is not None:
        end_power = minimum.sharing.end**result.degree
        inside.append(_order(ground, end_power, result.power))
    best = Step("optimum", Reason.BEST, minimum.place, near, place, (*where, *inside), evidence, role="optimum")
    value = _value(ground, minimum)
    worth = Call("minimum", (minimum.body, over))
    ground = ground.add(
        best, Step("optimum", Reason.BEST_VALUE, worth, near, value, (*where, *inside), evidence, role="optimum_value")
    )
    ends: list[tuple[Formula, Compare, Compare]] = [(number(1), _order(ground, 1, result.power), inside[0])]
    if end_power is not None:
        ends.append((_end(ground, minimum), _order(ground, result.power, end_power), inside[1]))
    for end, outside, within in ends:
        if names(outside):
            sides = (number(1), place) if end == number(1) else (place, end)
            guard = Compare(sides[0], "<=", sides[1])
            ground = ground.add(
                Step("optimum", Reason.FACT, guard, "<=>", within, (), Roots(), role="optimum_guard"),
                Step("optimum", Reason.AT_AN_END, at_forms, "=", end, (*equal, outside), evidence, role="optimum_end"),
            )
    return ground


def of_forms(ground: Basis, minimum: Minimum) -> Call:
    """The least place of the forms of the regime."""
    forms = tuple(map(ground.layout.write, minimum.forms))
    plain = Call("max", forms) if minimum.maximum and len(forms) > 1 else Sum(forms) if len(forms) > 1 else forms[0]
    return Call("argmin", (plain, Name(minimum.x.name)))


def _same(ground: Basis, minimum: Minimum) -> Callable[[Formula, Formula], bool]:
    """Whether a part is its form, with the equation put in."""
    exact = ground.ledger.exact(figures=False, assumptions=(*ground.equalities, *minimum.where))
    return lambda part, form: exact.difference(part, form).is_zero()


def _end(ground: Basis, minimum: Minimum) -> Formula:
    if minimum.sharing is None:
        raise AlgebraError(
            f"it falls for every {minimum.x}, and nothing says how large that can be", hint='subject = "X*Y = N"'
        )
    return ground.layout.write(minimum.sharing.end)


def _order(ground: Basis, large: Expr | int, small: Expr | int) -> Compare:
    """One product is at least another, without what both share."""
    above, below = cancel(large * symbol("x") / (small * symbol("x"))).as_numer_denom()
    return Compare(ground.layout.write(above), ">=", ground.layout.write(below))


def _value(ground: Basis, minimum: Minimum) -> Formula:
    result, write = minimum.found, ground.layout.write
    value = ground.layout.root(result.value, result.degree)
    if not result.constant:
        return value
    parts = (value, *map(write, result.constant))
    return Call("max", parts) if minimum.maximum else Sum(parts)


def _may_be_time(ground: Basis, body: Formula) -> bool:
    """Whether a formula is a number of seconds, as far as the units of its quantities tell."""
    try:
        unit = unit_among(body, ground.let, {size.name for size in ground.least_one}, ground.figures)
    except Mismatch:
        return False
    return unit is None or unit == exponents("s")


def compute_bound(ground: Basis, question: Minimum) -> tuple[Basis, Minimum]:
    """Where the arithmetic takes longer than the least value, solved for one size."""
    result, math = question.found, ground.quantities.get(T_MATH.name)
    constant = result.constant and not question.maximum
    if math is None or result.way or constant or not _may_be_time(ground, question.body):
        return ground, question
    equation = {} if question.sharing is None else {symbol(question.sharing.other): question.sharing.end / question.x}
    math = cancel(ground.value(T_MATH).subs(equation))
    if {s.name for s in math.free_symbols} & {"flops", "flops_per_chip"}:  # nothing says what the arithmetic is
        return ground, question
    ratio = cancel(math**result.degree / result.value)
    v = next((symbol(n) for n in _order_of(ground, question) if ratio.has(symbol(n))), None)
    if v is None or math.has(question.x) or not is_product(math):
        return ground, question
    powers = ratio.as_powers_dict()
    e, beside = int(powers[v]), _beside(question, powers, v)
    rest = cancel(ratio / v**e * (beside or Integer(1)) ** e) ** (-1 if e > 0 else 1)
    edge = ground.layout.root(rest, abs(e))
    bound = Compare(ground.layout.write(v / (beside or Integer(1))), ">" if e > 0 else "<", edge)
    least = ground.layout.root(result.value, result.degree)
    where = (*ground.equalities, *question.where)
    step = Step(
        "optimum", Reason.THERE, Compare(T_MATH, ">", least), "<=>", bound, where, Roots(), role="optimum_bound"
    )
    ground = ground.defining(T_MATH).add(step)
    value = ground.in_numbers(rest)
    if value != rest:
        shown = ground.layout.root(value, abs(e))
        ground = ground.add(
            Step("optimum", Reason.FIGURES, edge, "=", shown, ground.equalities, Roots(), role="optimum_bound_value")
        )
    return ground, replace(question, bound=(bound, rest, abs(e)))


def _order_of(ground: Basis, minimum: Minimum) -> Iterator[str]:
    """What a condition is solved for: B, or the first size that it depends on; not what is shared out."""
    end = set() if minimum.sharing is None else {s.name for s in minimum.sharing.end.free_symbols}
    yield from (name for name in ("B", *ground.layout.order) if name not in end)


def _beside(minimum: Minimum, powers: Mapping[Expr, Expr], v: Expr) -> Expr | None:
    """What is shared out, where the condition is one on v over it."""
    end = None if minimum.sharing is None else minimum.sharing.end
    return end if end is not None and end.is_Symbol and powers.get(end, 0) == -powers[v] else None


def at_sizes(ground: Basis, minimum: Minimum) -> Basis:
    """The best place at each set of sizes."""
    for point in range(len(ground.points)) if not minimum.found.way else ():
        ground = _in_numbers(ground, minimum, minimum.found, point)
    return ground


def _in_numbers(ground: Basis, minimum: Minimum, best: Optimum, point: int) -> Basis:
    where = ground.where(point)
    power = ground.in_numbers(best.power, point)
    if not power.is_Rational:
        return _bound(ground, minimum, point)
    end = None if minimum.sharing is None else ground.in_numbers(minimum.sharing.end, point)
    beyond = end is not None and end.is_Rational and power > end**best.degree
    if power < 1 or beyond:
        edge = ground.layout.write(minimum.sharing.end) if beyond and minimum.sharing else number(1)
        assumed = (*where, *minimum.where)
        forms, evidence = of_forms(ground, minimum), LeastPlace(tuple(map(ground.layout.write, minimum.forms)))
        step = Step("optimum", Reason.AT_AN_END, forms, "=", edge, assumed, evidence, None, "optimum_at", point)
        ground = ground.add(step)
        return _bound(ground, minimum, point)
    place = ground.layout.root(best.power, best.degree)
    return _bound(_root_steps(ground, place, (power, best.degree), Reason.BEST, "optimum_at", point), minimum, point)


def _bound(ground: Basis, minimum: Minimum, point: int) -> Basis:
    """The condition of being compute-bound there, as a number."""
    if minimum.bound is None:
        return ground
    bound, power, degree = minimum.bound
    value = ground.in_numbers(power, point)
    if not value.is_Rational or not power.free_symbols & set(map(symbol, ground.points[point])):
        return ground
    return _root_steps(ground, bound.right, (value, degree), Reason.ROUNDED, "optimum_bound_at", point)


def _root_steps(ground: Basis, left: Formula, power: tuple[Expr, int], reason: Reason, role: Role, point: int) -> Basis:
    """A root as a number: exactly where it is rational, else in decimals."""
    exact, degree = fraction(power[0]), power[1]
    near = root_near(exact, degree)
    text = decimal(near)
    right = Number(near, text)
    if near**degree == exact and right.value == near and near == type(near)(text):
        step = Step("optimum", reason, left, "=", right, ground.where(point), RoundedRoot(), None, role, point)
    else:
        where, long = ground.where(point), to_digits(near, DIGITS)
        same, numbers = ground.layout.root(rational(exact), degree), (text, long)
        shown, precise = (Number(Fraction(digits), digits) for digits in numbers)
        step = Step("optimum", reason, left, "~", shown, where, RoundedRoot(), None, role, point)
        ground = ground.add(
            Step("summary", reason, left, "=", same, where, Roots(), None, number_of(role), point),
            Step(
                "summary", reason, left, "~", precise, where, RoundedRoot(), None, number_of(f"decimals {role}"), point
            ),
        )
    return ground.add(step)
