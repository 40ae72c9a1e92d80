"""What leads in a regime, as steps: the form of a quantity, the parts of the bytes, in a regime and at a point; and the list
of all regimes as evidence for the second engine."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from sympy import Add, Expr

from symroof.algebra.approximation import split_terms
from symroof.algebra.dominance import similar, vanishes
from symroof.algebra.fan import Fan
from symroof.algebra.rational import cancelled, polynomial, symbols_of
from symroof.algebra.regime import Regime, Relation
from symroof.derivation.answer import Said
from symroof.derivation.draft import INTENSITY, Draft, dominated, written
from symroof.derivation.layout import Layout
from symroof.derivation.setting import Setting
from symroof.derivation.splitting import sent_names
from symroof.formula import Compare, Formula, Frozen, Group, Name, Quotient, total
from symroof.model.mesh import local_bytes
from symroof.proof.certificates import Case, Partition
from symroof.proof.step import Check, Reason, Step
from symroof.symbols import fraction, rational, symbol

# Beyond this the proof would take longer than people wait: the list is exact and unproved.
MOST_PROVED = 500


class Led(Said):
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
        step = self.step("leading")
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


def partition(fan: Fan, told: Mapping[int, tuple[Relation, ...]], layout: Layout) -> Partition | None:
    """The fan as a list of cases: a scaling of each, and the relations of those in ``told``, whose conditions are claimed.

    None for a list that is too long.
    """
    if len(fan.masks) > MOST_PROVED:
        return None
    above, below = (layout.write(polynomial(terms, fan.symbols)) for terms in (fan.above, fan.below))
    return Partition(above, below, tuple(_case(fan, mask, told.get(mask), layout) for mask in fan.masks))


def _case(fan: Fan, mask: int, relations: tuple[Relation, ...] | None, layout: Layout) -> Case:
    weights = {s.name: w for s, w in zip(fan.symbols, fan.weights(mask), strict=True)}
    return Case(weights, None if relations is None else written(relations, layout.write))


class Traffic(Frozen):
    """What one tensor, one exchange or one given count adds to the bytes of a chip over the link: ``name`` is its own
    in the steps, ``amount`` has the equal sizes put in."""

    label: str
    name: Name
    amount: Expr


def shares(setting: Setting) -> tuple[Traffic, ...]:
    """What the bytes that are moved consist of.

    >>> from symroof.derivation.setting import setting_of
    >>> from symroof.model.library import library_operation
    >>> from symroof.model.problem import Problem
    >>> [(t.label, str(t.amount)) for t in shares(setting_of(Problem(library_operation("matmul"))))]
    [('left', '2*B*D'), ('right', '2*D*F'), ('output', '2*B*F')]
    """
    operation, apply = setting.problem.operation, setting.regime.apply
    if setting.over_network:
        sent = zip(setting.exchanges, sent_names(setting), strict=True)
        parts = [Traffic(exchange.collective, Name(name), exchange.sent) for exchange, name in sent]
    elif operation.tensors:
        labels = (operation.operand_name(i).removesuffix(" operand") for i in range(len(operation.tensors)))
        amounts = enumerate(zip(labels, local_bytes(operation, setting.problem.mesh), strict=True))
        parts = [Traffic(label, Name(f"part_{i}"), amount) for i, (label, amount) in amounts]
    else:
        parts = [Traffic(name, Name(name), getattr(setting.cost, name)) for name in ("reads", "writes")]
    return tuple(Traffic(t.label, t.name, apply(t.amount)) for t in parts if t.amount != 0)


def parts(draft: Draft) -> tuple[Step, ...]:
    """The bytes of each tensor on a chip, counted; exchanges and given counts have names already."""
    setting = draft.setting
    if setting.over_network or not setting.problem.operation.tensors:
        return ()
    meanings, amounts = draft.ledger.meanings, local_bytes(setting.problem.operation, setting.problem.mesh)
    return tuple(
        Step("regime", Reason.SHARE_BYTES, Name(name), "=", draft.write(amount), evidence=meanings[name])
        for name, amount in ((f"part_{i}", amount) for i, amount in enumerate(amounts))
    )


def dominant(draft: Draft, regime: Regime) -> tuple[Step, ...]:
    """That the bytes are, in a regime, those of the parts that are not negligible."""
    setting = draft.setting
    everything = shares(setting)
    whole = Add(*(t.amount for t in everything))
    kept = tuple(t for t in everything if not vanishes(t.amount / whole, regime)) or everything
    left, right = Name(setting.moved_name), total(*(t.name for t in kept))
    similarity = similar(whole, Add(*(t.amount for t in kept)), regime)
    assume, evidence = written(regime.relations, draft.write), dominated(similarity, draft.write)
    return (Step("regime", Reason.LEADING, left, "~", right, assume, evidence, role="moves"),)


def shares_at(draft: Draft, values: Mapping[str, Fraction], where: tuple[Formula, ...]) -> tuple[Step, ...]:
    """Each part's share of the bytes at given sizes."""
    point = {symbol(name): rational(value) for name, value in values.items()}
    amounts = [(t, fraction(t.amount.subs(point))) for t in shares(draft.setting)]
    whole = sum((amount for _, amount in amounts), Fraction(0))
    moved = Name(draft.setting.moved_name)
    return tuple(
        Step(
            "regime", Reason.SHARE_BYTES, Quotient(t.name, moved), "=", draft.write(amount / whole), where, role="share"
        )
        for t, amount in amounts
    )
