"""What leads in a regime, as steps: the form of a quantity, the parts of the bytes, in a regime and at a point; and the list
of all regimes as evidence for the second engine."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from sympy import Add, Expr

from symroof.algebra.dominance import similar, split_terms, vanishes
from symroof.algebra.fan import Fan
from symroof.algebra.rational import cancelled, symbols_of
from symroof.algebra.regime import Regime, Relation
from symroof.derivation.answer import Steps
from symroof.derivation.layout import Layout
from symroof.derivation.premises import Setting
from symroof.derivation.steps import INTENSITY, Draft, dominated, written
from symroof.formula import Compare, Formula, Frozen, Group, Name, Quotient, total
from symroof.model.kernels import costs_of
from symroof.model.quantities import of_statement
from symroof.model.statement_costs import amounts, traffic_of_tensors
from symroof.proof.certificates import Case, Partition
from symroof.proof.step import Check, Part, Reason, Role, Step, lead_of
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
        return written(self.base.relations, self.draft.write)


class Leading(Steps):
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


def tends_to(left: Formula, exact: Expr, form: Expr, regime: Regime, layout: Layout) -> Step:
    """That a quantity, whose value is ``exact``, tends to a form in a regime.

    Without anything to neglect it is an identity; but where x ~ y puts y for x, equal forms are no equal values.
    """
    similarity, assume = similar(exact, form, regime), written(regime.relations, layout.write)
    if isinstance(left, Name) and left != INTENSITY:
        left = Group(left)  # what is asked about, and not a definition
    right = layout.write(form)
    if not similarity.certificates and not any(relation == "~" for _, relation, _ in regime.relations):
        return Step("regime", Reason.LEADING, left, "=", right, assume, role="leading")
    evidence = dominated(similarity, layout.write)
    return Step("regime", Reason.LEADING, left, "~", right, assume, evidence, role="leading")


def leads(left: Formula, exact: Expr, form: Expr, regime: Regime, layout: Layout) -> tuple[Step, Step]:
    """That a quantity tends to a form, and by which factor the form is off."""
    factor = split_terms(cancelled(form / exact), symbols_of(form, exact))
    equal = tuple(r for r in written(regime.relations, layout.write) if r.relation == "=")
    over = Quotient(layout.write(form), Group(left))
    off = Step("regime", Reason.FACTOR, over, "=", layout.write(factor), equal, role="factor")
    return tends_to(left, exact, form, regime, layout), off


def partition(
    fan: Fan, told: Mapping[int, tuple[Relation, ...]], layout: Layout, *, corners: bool = False
) -> Partition | None:
    """The fan as a list of cases: a scaling of each, and the relations of those in ``told``, whose conditions are claimed.

    None for a list that is too long.
    """
    if len(fan.masks) > MOST_PROVED:
        return None
    above, below = map(layout.write, (fan.numerator, fan.denominator))
    return Partition(above, below, tuple(_case(fan, mask, told.get(mask), layout) for mask in fan.masks), corners)


def _case(fan: Fan, mask: int, relations: tuple[Relation, ...] | None, layout: Layout) -> Case:
    weights = {s.name: w for s, w in zip(fan.symbols, fan.weights(mask), strict=True)}
    return Case(weights, None if relations is None else written(relations, layout.write))


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


def parts(draft: Draft) -> tuple[Step, ...]:
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


def dominant(draft: Draft, regime: Regime) -> tuple[Step, ...]:
    """That the bytes are, in a regime, those of the parts that are not negligible."""
    result = shares(draft.setting)
    return (carried(draft, regime, Name(draft.setting.moved_name), result, "moves"),) if result else ()


def carried(draft: Draft, regime: Regime, left: Formula, everything: tuple[Traffic, ...], role: Role | Part) -> Step:
    """That a whole is, in a regime, the sum of those of its parts that are not negligible."""
    whole = Add(*(t.amount for t in everything))
    kept = tuple(t for t in everything if not vanishes(t.amount / whole, regime)) or everything
    right, similarity = total(*(t.name for t in kept)), similar(whole, Add(*(t.amount for t in kept)), regime)
    assume, evidence = written(regime.relations, draft.write), dominated(similarity, draft.write)
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
    known, work = amounts(operation, setting.problem.count), "ops" if operation.vector else "flops"
    result = {}
    for whole, kind in (("flops", work), ("bytes", "bytes")):
        each = ((name, of_statement(kind, name)) for name in costs_of(operation))
        parts = (Traffic(name, Name(of), setting.regime.apply(known[of])) for name, of in each)
        result[whole] = tuple(part for part in parts if part.amount != 0)
    return result


def leaders(draft: Draft, regime: Regime) -> tuple[Step, ...]:
    """That the work and the bytes of a program are, in a regime, those of the statements that are not negligible."""
    result = statements(draft.setting)
    return tuple(carried(draft, regime, Name(whole), parts, lead_of(whole)) for whole, parts in result.items())


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
