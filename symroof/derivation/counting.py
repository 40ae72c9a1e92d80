"""The first two sections: how much arithmetic, and how many bytes."""

from __future__ import annotations

from typing import Any

from sympy import Expr

from symroof.derivation.draft import FLOPS, Draft
from symroof.derivation.layout import Layout
from symroof.derivation.meanings import KINDS
from symroof.formula import Formula, Group, Name, Negative, Quotient, Sum, Written, names, number, product, total
from symroof.model.cost import Counting
from symroof.model.einsum import Einsum
from symroof.model.operation import Operation, written
from symroof.proof.evidence import Excess
from symroof.proof.recounts import Counted
from symroof.proof.step import Reason, Step, amount_of

EXACT, READS, WRITES, BYTES = map(Name, ("flops_exact", "reads", "writes", "bytes"))


def work(draft: Draft) -> Draft:
    """FLOPs, exactly; and, counting an addition with every multiplication, roundly."""
    from symroof.derivation.itemizing import work_of_program
    from symroof.derivation.per_chip import work_of_chips

    program, count = draft.setting.problem.operation, draft.setting.problem.count
    if program.given is not None:
        return _kinds(_given(draft, program.given, "work", "flops", Reason.AS_GIVEN))
    product = program.product
    counted = work_of_program(draft, program) if product is None else _work_of(draft, product, count)
    return work_of_chips(counted, program)


def _work_of(draft: Draft, operation: Einsum, count: Counting) -> Draft:
    """The FLOPs of a product."""
    cost = draft.setting.cost
    facts = Counted(
        draft.write(operation.output.elements),
        draft.write((len(operation.inputs) - 1) * operation.length),
        draft.write(operation.length - 1),
        draft.write(operation.length) if operation.contracted else None,
    )
    formula = _exact_count(operation, draft.layout)
    if count == "exact" or not operation.contracted:
        counted = Step("work", Reason.COUNT, FLOPS, "=", formula, evidence=_of(draft, FLOPS), facts=facts)
        return _summed(draft.add(counted), FLOPS, cost.flops)
    excess, value = draft.write(operation.output.elements), draft.write(cost.flops)
    share = draft.write(operation.output.elements / cost.flops)
    draft = draft.add(Step("work", Reason.COUNT, EXACT, "=", formula, evidence=_of(draft, EXACT), facts=facts))
    return _summed(draft, EXACT, cost.flops_exact).add(
        Step("work", Reason.MULTIPLY_ADD, EXACT, "~", value, evidence=Excess(excess)),
        Step("work", Reason.MULTIPLY_ADD, FLOPS, "=", value, evidence=_of(draft, FLOPS), role="flops"),
        Step("work", Reason.EXCESS, Quotient(excess, FLOPS), "=", share),
    )


def _of(draft: Draft, name: Name) -> Any:
    """The evidence that a count of this name has to rest on."""
    return draft.ledger.meanings.get(name.name)


def _exact_count(operation: Einsum, layout: Layout) -> Formula:
    """P(2K - 1) for P outputs and a contraction of length K; m - 1 multiplications for each without one."""
    outputs = layout.write(operation.output.elements)
    if not operation.contracted:
        return product(number(len(operation.inputs) - 1), outputs)
    if operation.output.elements == 1:
        return Sum((layout.write(operation.length), Group(layout.write(operation.length - 1))))
    joined = layout.write(2 * operation.length)
    return product(outputs, Sum((joined, Negative(number(1)))))


def traffic(draft: Draft) -> Draft:
    """Bytes read and written by the whole operation; and what one chip moves in its memory and over its links."""
    from symroof.derivation.itemizing import traffic_of_program
    from symroof.derivation.per_chip import exchanges_of_chips, traffic_of_chips

    program = draft.setting.problem.operation
    if program.given is not None:
        draft = _given(draft, program.given, "traffic", "reads", Reason.READS)
        return _total_bytes(_given(draft, program.given, "traffic", "writes", Reason.WRITES))
    counted = traffic_of_program(draft, program) if program.product is None else _traffic_of_product(draft)
    return exchanges_of_chips(traffic_of_chips(counted, program), program)


def _traffic_of_product(draft: Draft) -> Draft:
    """The bytes of the operands and of the output."""
    cost = draft.setting.cost
    loads, stores = (total(*map(draft.write, amounts)) for amounts in (cost.loads, cost.stores))
    draft = draft.add(
        Step("traffic", Reason.READS, READS, "=", loads, evidence=_of(draft, READS)),
        Step("traffic", Reason.WRITES, WRITES, "=", stores, evidence=_of(draft, WRITES)),
    )
    draft = _summed(_summed(draft, READS, cost.reads), WRITES, cost.writes)
    return _total_bytes(draft)


def _summed(draft: Draft, name: Name, value: Expr) -> Draft:
    """What a count comes to, in lowest terms: what the answer says of it."""
    section = "work" if name in (FLOPS, EXACT) else "traffic"
    return draft.add(Step(section, Reason.TOTAL, name, "=", draft.layout.factored(value), role=amount_of(name.name)))


def as_written(draft: Draft, name: Name) -> Formula:
    """What a name was first said to be: as the count gives it, not as it comes out."""
    formula = next(step.right for step in draft.steps if step.left == name)
    return formula.body if isinstance(formula, Written) else formula


def _total_bytes(draft: Draft) -> Draft:
    parts = [as_written(draft, name) for name in (READS, WRITES)]
    whole = Sum(tuple(term for part in parts for term in (part.terms if isinstance(part, Sum) else (part,))))
    return draft.add(
        Step("traffic", Reason.BYTES, BYTES, "=", Sum((READS, WRITES))),
        Step("traffic", Reason.BYTES, BYTES, "=", whole, role="bytes_added"),
        Step("traffic", Reason.TOTAL, BYTES, "=", draft.write(draft.setting.cost.bytes.expand()), role="bytes"),
    )


def _kinds(draft: Draft) -> Draft:
    """What kinds of operations the given FLOPs are, where that is known."""
    if KINDS not in draft.ledger.meanings:
        return draft
    amounts = Sum(tuple(map(draft.layout.factored, draft.setting.cost.work)))
    return draft.add(Step("work", Reason.KINDS, FLOPS, "=", amounts, evidence=draft.ledger.meanings[KINDS]))


def _given(draft: Draft, given: Operation, section: str, name: str, reason: Reason) -> Draft:
    """A cost function: first as its author wrote it, then its value."""
    function = given.functions[name]
    value = draft.layout.factored(getattr(draft.setting.cost, name))
    body = written(function)
    evidence = _of(draft, Name(name))
    formula: Formula = value if body is None or set(names(body)) - set(evidence.parameters) else Written(body, function)
    plain = (formula.body if isinstance(formula, Written) else formula) == value
    draft = draft.add(
        Step(section, reason, Name(name), "=", formula, evidence=evidence, role=amount_of(name) if plain else "")
    )
    return draft if plain else draft.add(Step(section, Reason.CANCEL, Name(name), "=", value, role=amount_of(name)))
