"""Steps of a map of regimes: what leads in a regime, and at a point, and what it takes to be above the ridge; and the list of all
regimes as evidence for the second engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import lcm

from sympy import Add, Expr, oo

from symroof.algebra.dominance import leading_form, reciprocals, similarity_of, split_terms, vanishes
from symroof.algebra.fan import Fan
from symroof.algebra.rational import cancel, polynomial, ratio, symbols_of
from symroof.algebra.regime import Regime, Relation
from symroof.algebra.roots import whole_number
from symroof.derivation.drafts import INTENSITY, RIDGE, Draft, Steps, comparisons, dominance
from symroof.derivation.formula_writing import Layout
from symroof.derivation.intensity import growth_steps
from symroof.derivation.premises import Setting
from symroof.derivation.solutions import positivity
from symroof.derivation.solving import ceiling_of, limit, monotony, solution_of, stays_below
from symroof.derivation.whole_sizes import wholes
from symroof.formula import Compare, Formula, Frozen, Group, Name, Quotient, Verdict, number, several_of, total
from symroof.model.kernels import costs_of
from symroof.model.program_quantities import amounts, traffic_of_tensors
from symroof.model.quantities import of_statement
from symroof.model.splits import open_axes
from symroof.proof.bounds_and_decimals import WholeBounds
from symroof.proof.calculus import Supremum
from symroof.proof.certificates import Case, Partition
from symroof.proof.step import Check, Part, Reason, Role, Step, lead_role
from symroof.symbols import fraction, rational, symbol

# Beyond this the proof would take longer than people wait: the list is exact and unproved.
MOST_PROVED = 500


class Regimes(Frozen):
    """The regimes of a quantity within ``base``: the cells of a fan."""

    draft: Draft
    base: Regime
    fan: Fan

    @property
    def setting(self) -> Setting:
        return self.draft.setting

    @property
    def assume(self) -> tuple[Compare, ...]:
        """What is assumed in all of them."""
        return comparisons(self.base.relations, self.draft.write)


class RegimeForm(Steps):
    """A quantity in a regime: ``relations`` are what it adds to the problem."""

    relations: tuple[Compare, ...]

    @property
    def leading(self) -> Expr:
        """What the quantity tends to."""
        return self.known("leading")

    @property
    def factor(self) -> Expr:
        """The leading form over the exact value."""
        return self.known("factor")

    @property
    def check(self) -> Check | None:
        step = self.step("leading") or self.step("longest")
        return None if step is None else step.check


def limit_step(left: Formula, exact: Expr, form: Expr, regime: Regime, layout: Layout) -> Step:
    """That a quantity, whose value is ``exact``, tends to a form in a regime.

    Without anything to neglect it is an identity; but where x ~ y puts y for x, equal forms are no equal values.
    """
    similarity, assume = similarity_of(exact, form, regime), comparisons(regime.relations, layout.write)
    if isinstance(left, Name) and left != INTENSITY:
        left = Group(left)  # what is asked about, and not a definition
    right = layout.write(form)
    if not similarity.certificates and not any(relation == "~" for _, relation, _ in regime.relations):
        return Step("regime", Reason.LEADING, left, "=", right, assume, role="leading")
    evidence = dominance(similarity, layout.write)
    return Step("regime", Reason.LEADING, left, "~", right, assume, evidence, role="leading")


def leading_steps(left: Formula, exact: Expr, form: Expr, regime: Regime, layout: Layout) -> tuple[Step, Step]:
    """That a quantity tends to a form, and by which factor the form is off."""
    factor = split_terms(cancel(form / exact), symbols_of(form, exact))
    equal = tuple(r for r in comparisons(regime.relations, layout.write) if r.relation == "=")
    over = Quotient(layout.write(form), Group(left))
    off = Step("regime", Reason.FACTOR, over, "=", layout.write(factor), equal, role="factor")
    return limit_step(left, exact, form, regime, layout), off


def partition(
    fan: Fan, relations: Mapping[int, tuple[Relation, ...]], layout: Layout, *, corners: bool = False
) -> Partition | None:
    """The fan as a list of cases: a scaling of each, and the relations of those in ``told``, whose conditions are claimed.

    None for a list that is too long.
    """
    if len(fan.masks) > MOST_PROVED:
        return None
    above, below = map(layout.write, (fan.numerator, fan.denominator))
    return Partition(above, below, tuple(_case(fan, mask, relations.get(mask), layout) for mask in fan.masks), corners)


def _case(fan: Fan, mask: int, relations: tuple[Relation, ...] | None, layout: Layout) -> Case:
    weights = {s.name: w for s, w in zip(fan.symbols, fan.weights(mask), strict=True)}
    return Case(weights, None if relations is None else comparisons(relations, layout.write))


class Traffic(Frozen):
    """What one tensor or one given count adds to the bytes, or one statement to the work or the bytes of a program: ``name``
    is its own in the steps, ``amount`` has the equal sizes put in."""

    label: str
    name: Name
    amount: Expr


def shares(setting: Setting) -> tuple[Traffic, ...]:
    """What the bytes that are moved consist of.

    >>> from symroof.derivation.premises import setting_of
    >>> from symroof.model.library import library_operation
    >>> from symroof.model.problem import Problem
    >>> [(t.label, str(t.amount)) for t in shares(setting_of(Problem(library_operation("matmul"))))]
    [('left', '2*B*D'), ('right', '2*D*F'), ('output', '2*B*F')]
    """
    operation, apply = setting.problem.operation, setting.regime.apply
    if setting.over_network:
        return ()  # what a link carries is moved by statements, and not by tensors
    if operation.given is None:
        moved = traffic_of_tensors(operation).items()
        parts = [Traffic(operation.called(n).removesuffix(" operand"), moved_name(n), amount) for n, amount in moved]
    else:
        parts = [Traffic(name, Name(name), getattr(setting.cost, name)) for name in ("reads", "writes")]
    return tuple(Traffic(t.label, t.name, apply(t.amount)) for t in parts if t.amount != 0)


def traffic_steps(draft: Draft) -> tuple[Step, ...]:
    """The bytes of each tensor on a chip, counted, and with the equal sizes put in; given counts have names already."""
    setting, operation = draft.setting, draft.setting.problem.operation
    result, equal = shares(setting), setting.equalities
    moved = traffic_of_tensors(operation) if result and operation.given is None else {}
    amounts = [(moved_name(name).name, amount) for name, amount in moved.items()]
    counted = (
        Step("regime", Reason.FACT, Name(name), "=", draft.write(amount), evidence=draft.ledger.evidence(name))
        for name, amount in amounts
    )
    put = (Step("regime", Reason.SAME, t.name, "=", draft.write(t.amount), equal) for t in result if equal)
    return (*counted, *put)


def moved_name(tensor: str) -> Name:
    """What the steps call the bytes of a tensor of a program."""
    return Name(of_statement("moved", tensor))


def dominance_steps(draft: Draft, regime: Regime) -> tuple[Step, ...]:
    """That the bytes are, in a regime, those of the parts that are not negligible."""
    result = shares(draft.setting)
    return (sum_of_leaders(draft, regime, Name(draft.setting.moved_name), result, "moves"),) if result else ()


def sum_of_leaders(draft: Draft, regime: Regime, left: Formula, of: tuple[Traffic, ...], role: Role | Part) -> Step:
    """That a whole is, in a regime, the sum of those of its parts that are not negligible."""
    whole = Add(*(t.amount for t in of))
    large = tuple(t for t in of if not vanishes(t.amount / whole, regime)) or of
    right, similarity = total(*(t.name for t in large)), similarity_of(whole, Add(*(t.amount for t in large)), regime)
    assume, evidence = comparisons(regime.relations, draft.write), dominance(similarity, draft.write)
    return Step("regime", Reason.LEADING, left, "~", right, assume, evidence, role=role)


def statements(setting: Setting) -> Mapping[str, tuple[Traffic, ...]]:
    """What each statement of a program adds to its work and to its bytes, by the name of the whole; nothing where there is
    one statement alone, or no program.

    >>> from symroof.derivation.premises import setting_of
    >>> from symroof.model.problem import Problem
    >>> from symroof.reading.programs import read_program
    >>> text = "input x: bf16[N, D]; weight W: bf16[D, F]; weight V: bf16[F]; h = x * W -> bf16[N, F]; y = h * V -> bf16[N]"
    >>> {name: [str(t.name.name) for t in found] for name, found in statements(setting_of(Problem(read_program(text)))).items()}
    {'flops': ['flops(h)', 'flops(y)'], 'bytes': ['bytes(h)', 'bytes(y)']}
    """
    operation = setting.problem.operation
    if len(costs_of(operation)) < 2 or setting.several_chips:
        return {}
    values, work = amounts(operation, setting.problem.count), "ops" if operation.vector else "flops"
    result = {}
    for whole, kind in (("flops", work), ("bytes", "bytes")):
        each = ((name, of_statement(kind, name)) for name in costs_of(operation))
        parts = (Traffic(name, Name(of), setting.regime.apply(values[of])) for name, of in each)
        result[whole] = tuple(part for part in parts if part.amount != 0)
    return result


def leading_statement_steps(draft: Draft, regime: Regime) -> tuple[Step, ...]:
    """That the work and the bytes of a program are, in a regime, those of the statements that are not negligible."""
    result = statements(draft.setting)
    return tuple(sum_of_leaders(draft, regime, Name(whole), parts, lead_role(whole)) for whole, parts in result.items())


def shares_at(draft: Draft, values: Mapping[str, Fraction], where: tuple[Formula, ...]) -> tuple[Step, ...]:
    """Each part's share of the bytes at given sizes."""
    point = {symbol(name): rational(value) for name, value in values.items()}
    amounts = [(t, fraction(t.amount.subs(point))) for t in shares(draft.setting)]
    whole = sum((amount for _, amount in amounts), Fraction(0))
    moved = Name(draft.setting.moved_name)
    return tuple(
        Step("regime", Reason.FACT, Quotient(t.name, moved), "=", draft.write(amount / whole), where, role="share")
        for t, amount in amounts
    )


class SizeGrowth(Steps):
    """What the intensity does as ``variable`` grows alone; ``equal_sizes_from`` is about its limit. The ``axes`` of a mesh
    are no sizes that others could be equal to."""

    variable: str
    axes: frozenset[str]

    @property
    def limit(self) -> Expr:
        return self.known("limit")

    @property
    def supremum(self) -> Expr | None:
        """The limit, or the value at 1 where the intensity falls. None where it is not known to rise or fall."""
        return oo if self.limit == oo else self.value("highest")

    @property
    def reached(self) -> bool | None:
        """Whether the supremum is a value of the intensity."""
        step = self.step("highest")
        return False if self.limit == oo else None if step is None else step.relation == "<="

    @property
    def possible_when(self) -> Formula:
        """When the limit is above the ridge."""
        return self.condition or Verdict(self.limit == oo)

    @property
    def others(self) -> tuple[str, ...]:
        names = () if self.limit == oo else tuple(s.name for s in symbols_of(self.limit))
        return () if self.axes.intersection(names) else names


def above_ridge(draft: Draft, form: Expr, several: Callable[[Draft, Expr], Formula]) -> Step:
    """form > ridge: always or never where that is so, solved for one size, and as ``several`` writes it for more."""
    setting = draft.setting
    above, sizes = Compare(draft.write(form), ">", RIDGE), _sizes(draft, form)
    plain: Formula | None = _verdict(draft, form, sizes)
    bands: tuple[Formula, ...] = ()
    if plain is None and len(sizes) == 1:
        level = symbol("ridge") if setting.ridge is None else rational(setting.ridge)
        solution = solution_of(form, level, sizes[0], setting.least_one, layout=setting.layout)
        plain, bands = solution.end if solution.end == solution.formula else None, solution.bands
    elif plain is None and sizes:
        plain = several(draft, form)
    return Step("regime", Reason.RULE, above, "<=>", plain or above, (*setting.equalities, *bands), role="condition")


def _sizes(draft: Draft, form: Expr) -> list[Expr]:
    return [s for s in symbols_of(form) if s in draft.setting.least_one]


def _verdict(draft: Draft, form: Expr, sizes: list[Expr]) -> Verdict | None:
    """Whether a form is always or never above the ridge, where that can be told."""
    ridge, least_one = draft.setting.ridge, draft.setting.least_one
    if ridge is None or form == 0:
        return Verdict(False) if form == 0 else None
    if not sizes:
        return Verdict(fraction(form) > ridge) if form.is_Rational else None
    if len(sizes) == 1:
        outcome = solution_of(form, rational(ridge), sizes[0], least_one).outcome
        return None if outcome == "depends" else Verdict(outcome == "always")
    least = form.subs(dict.fromkeys(sizes, 1))
    if all(monotony(form, s, least_one) in (0, 1) for s in sizes) and least.is_Rational and fraction(least) > ridge:
        return Verdict(True)
    top = ceiling_of(form, least_one)
    return Verdict(False) if top is not None and top.is_Rational and fraction(top) <= ridge else None


def reciprocal_condition(draft: Draft, form: Expr) -> Formula:
    """1/B + 1/D < 1/ridge, where the reciprocal is such a sum; otherwise the form above the ridge."""
    parts = reciprocals(form)
    if parts is None or len(parts) < 2:
        return Compare(draft.write(form), ">", RIDGE)
    return Compare(draft.write(Add(*(1 / m for m in parts))), "<", Quotient(number(1), RIDGE))


def as_product(draft: Draft, form: Expr) -> Formula:
    """DF > ridge (D + F): the form above the ridge without a denominator."""
    symbols = symbols_of(form)
    above, below = (polynomial(terms, symbols) for terms in ratio(form, symbols))
    return positivity((above - symbol("ridge") * below).expand(), draft.layout)


def equal_sizes(draft: Draft, form: Expr) -> tuple[Step, ...]:
    """The least size from which a form is above the ridge, all its sizes being equal; a multiple of the mesh axes that
    split them. Nothing where there is none.

    >>> from symroof.derivation.pipeline import first_draft
    >>> from symroof.model.library import library_operation
    >>> from symroof.model.problem import Problem
    >>> from symroof.reading.chips import chip
    >>> step, = equal_sizes(first_draft(Problem(library_operation("matmul"), chip("tpu-v5e"))), symbol("B"))
    >>> step.right.right.value
    Fraction(241, 1)
    """
    setting, sizes = draft.setting, _sizes(draft, form)
    if setting.ridge is None or not sizes or several_of(setting.least_one).intersection(sizes):
        return ()
    x, stride = sizes[0], lcm(*(wholes(setting, s.name).each for s in sizes))
    square = form.subs(dict.fromkeys(sizes[1:], x))
    solution = solution_of(square, rational(setting.ridge), x, setting.least_one)
    bound = rational(Fraction(0)) if solution.outcome == "always" else solution.bound if solution.rises else None
    first = None if bound is None else whole_number(">", bound, stride)
    if first is None or bound is None:
        return ()
    same = (*setting.equalities, *(Compare(Name(s.name), "=", Name(x.name)) for s in sizes[1:]), *solution.bands)
    above, from_first = Compare(draft.write(form), ">", RIDGE), Compare(Name(x.name), ">=", number(first))
    evidence = WholeBounds(stride, (), None if solution.outcome == "always" else draft.write(bound))
    return (Step("regime", Reason.WHOLE, above, "<=>", from_first, same, evidence, role="equal"),)


def size_growths(draft: Draft, order: Sequence[Expr]) -> tuple[SizeGrowth, ...]:
    """Each size of the intensity by itself."""
    sizes = sorted(draft.setting.intensity.free_symbols, key=order.index)
    axes = frozenset(open_axes(draft.setting.problem.mesh))
    return tuple(SizeGrowth(draft.add(*_alone(draft, x)).since(draft), x.name, axes) for x in sizes)


def _alone(draft: Draft, x: Expr) -> tuple[Step, ...]:
    setting, value = draft.setting, draft.setting.intensity
    top = limit(value, x, setting.least_one)
    tends = growth_steps("regime", draft, x, top, role="limit")
    how: tuple[Step, ...] = ()
    if top in (0, oo):
        alone = Regime((*(r for r in setting.regime.relations if r[1] == "="), (x, "->", oo)), setting.least_one)
        how = (replace(limit_step(INTENSITY, value, leading_form(value, alone), alone, setting.layout), role=""),)
    if top == oo:
        return (tends, *how)
    return (tends, *how, *_highest(draft, x, top), above_ridge(draft, top, as_product), *equal_sizes(draft, top))


def least_upper_bound(value: Expr, x: Expr, least_one: frozenset[Expr]) -> tuple[Expr, bool] | None:
    """What a form rises to in one size, or has at 1 where it falls, and whether that is a value of it; None where neither is
    known."""
    way = monotony(value, x, least_one) if value.has(x) else 0
    if way is None or (way == -1 and x not in least_one):
        return None
    return (value.subs(x, 1), True) if way == -1 else (limit(value, x, least_one), way == 0)


def _highest(draft: Draft, x: Expr, top: Expr) -> tuple[Step, ...]:
    """What the intensity rises to, or has at 1 where it falls; nothing where neither is known."""
    value, equal = draft.setting.intensity, draft.setting.equalities
    supremum = least_upper_bound(value, x, draft.setting.least_one)
    if supremum is None:
        return ()
    edge, attained = supremum
    relation = "<=" if attained else stays_below(top, value, draft.setting.least_one)
    evidence = Supremum((x.name,), attained)
    return (Step("regime", Reason.REACH, INTENSITY, relation, draft.write(edge), equal, evidence, role="highest"),)
