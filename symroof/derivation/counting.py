"""The first two sections: how much arithmetic, and how many bytes."""

from __future__ import annotations

from symroof.derivation.draft import FLOPS, Draft
from symroof.derivation.layout import Layout
from symroof.formula import Formula, Group, Name, Negative, Quotient, Sum, Written, names, number, product, total
from symroof.model.cost import Term
from symroof.model.operation import Einsum, Operation
from symroof.model.written import written
from symroof.proof.step import Arrays, Collective, Excess, Function, Loops, Reason, Step

EXACT = Name("flops_exact")


def work(draft: Draft) -> Draft:
    """FLOPs, exactly; and, counting an addition with every multiplication, roundly."""
    operation, count = draft.setting.problem.operation, draft.setting.problem.count
    if isinstance(operation, Operation):
        return _given(draft, operation, "work", "flops", operation.flops, Reason.AS_GIVEN)
    loops = Loops(tuple(t.labels for t in operation.inputs), tuple(d.label for d in operation.output.dims))
    facts = {
        "outputs": draft.write(operation.output.elements),
        "single": operation.output.elements == 1,
        "length": draft.write(operation.length) if operation.contracted else None,
        "additions": draft.write(operation.length - 1),
        "multiplications": draft.write((len(operation.inputs) - 1) * operation.length),
        "contracted": tuple(map(Name, operation.contracted)),
    }
    formula = _exact_count(operation, draft.layout)
    if count == "exact" or not operation.contracted:
        draft = draft.add(Step("work", Reason.COUNT, FLOPS, "=", formula, evidence=loops, facts=facts))
    else:
        exact, rounded = draft.setting.cost.flops_exact, draft.setting.cost.flops
        excess, value = draft.write(operation.output.elements), draft.write(rounded)
        share = draft.write(operation.output.elements / rounded)
        draft = draft.add(
            Step("work", Reason.COUNT, EXACT, "=", formula, evidence=loops, facts=facts),
            Step(
                "work",
                Reason.MULTIPLY_ADD,
                EXACT,
                "~",
                value,
                evidence=Excess(excess),
                facts={"excess": excess, "share": share},
            ),
            Step("work", Reason.MULTIPLY_ADD, FLOPS, "=", value, shown=False),
            Step("work", Reason.EXCESS, Quotient(excess, FLOPS), "=", share, shown=False),
        )
        assert exact != rounded
    return _shared_work(draft)


def _exact_count(operation: Einsum, layout: Layout) -> Formula:
    """P(mK - 1) for m operands, P outputs and a contraction of length K; K multiplications for each, alone."""
    outputs, operands = layout.write(operation.output.elements), len(operation.inputs)
    if not operation.contracted:
        return product(number(operands - 1), outputs)
    if operation.output.elements == 1:
        return Sum((layout.write((operands - 1) * operation.length), Group(layout.write(operation.length - 1))))
    joined = layout.write(operands * operation.length)
    return product(outputs, Sum((joined, Negative(number(1)))))


def _shared_work(draft: Draft) -> Draft:
    setting = draft.setting
    if setting.chips == 1:
        return draft
    name = Name(setting.flops_name)
    shared = Quotient(FLOPS, number(setting.chips))
    facts = {"chips": setting.chips, "exchanges": setting.exchanges}
    return draft.add(
        Step("work", Reason.SHARE_WORK, name, "=", shared, facts=facts),
        Step("work", Reason.PUT_IN, name, "=", draft.write(setting.flops), joined=True),
    )


def traffic(draft: Draft) -> Draft:
    """Bytes read and written by the whole operation; and what one chip moves over the link."""
    operation, cost = draft.setting.problem.operation, draft.setting.cost
    if isinstance(operation, Operation):
        draft = _given(draft, operation, "traffic", "reads", operation.reads, Reason.READS)
        draft = _given(draft, operation, "traffic", "writes", operation.writes, Reason.WRITES)
        return _total_bytes(draft)
    arrays = tuple((tuple(d.label for d in t.dims), t.dtype.bits) for t in operation.tensors)
    widths = tuple(dict.fromkeys((t.dtype.name, t.dtype.bytes) for t in operation.tensors))
    loads, stores = _sum(draft, cost.loads), _sum(draft, cost.stores)
    draft = draft.add(
        Step(
            "traffic", Reason.READS, Name("reads"), "=", loads, evidence=Arrays(arrays[:-1]), facts={"widths": widths}
        ),
        Step("traffic", Reason.WRITES, Name("writes"), "=", stores, evidence=Arrays(arrays[-1:])),
    )
    return _moved(_total_bytes(draft))


def _sum(draft: Draft, terms: tuple[Term, ...]) -> Formula:
    return total(*(draft.write(term.amount) for term in terms))


def _total_bytes(draft: Draft) -> Draft:
    found = {step.left: step.right for step in reversed(draft.steps)}
    reads, writes = found[Name("reads")], found[Name("writes")]
    parts = [part.body if isinstance(part, Written) else part for part in (reads, writes)]
    whole = Sum(tuple(term for part in parts for term in (part.terms if isinstance(part, Sum) else (part,))))
    return draft.add(
        Step("traffic", Reason.BYTES, Name("bytes"), "=", Sum((Name("reads"), Name("writes"))), shown=False),
        Step("traffic", Reason.BYTES, Name("bytes"), "=", whole),
    )


def _moved(draft: Draft) -> Draft:
    """What one chip sends over the link, or moves in its own memory."""
    setting = draft.setting
    if setting.moved_name == "bytes":
        return draft
    name = Name(setting.moved_name)
    if setting.moved_name == "bytes_per_chip":
        facts = {"chips": setting.chips, "exchanges": setting.exchanges}
        return draft.add(Step("traffic", Reason.SHARE_BYTES, name, "=", draft.write(setting.moved), facts=facts))
    for exchange in setting.exchanges:
        sent, payload = draft.write(exchange.sent), draft.write(exchange.payload)
        evidence = Collective(exchange.collective, exchange.chips, exchange.ways, payload)
        facts = {
            "exchange": exchange,
            "payload": payload,
            "share": draft.write(exchange.share),
            "link": setting.problem.link,
        }
        left = name if len(setting.exchanges) == 1 else Name(f"sent_{exchange.axis}")
        draft = draft.add(Step("traffic", Reason.EXCHANGE, left, "=", sent, evidence=evidence, facts=facts))
    if len(setting.exchanges) > 1:
        each = Sum(tuple(Name(f"sent_{exchange.axis}") for exchange in setting.exchanges))
        draft = draft.add(Step("traffic", Reason.BYTES, name, "=", each))
    return draft


def _given(draft: Draft, operation: Operation, section: str, name: str, function, reason: Reason) -> Draft:  # type: ignore[no-untyped-def]
    """A cost function: first as its author wrote it, then its value."""
    value = draft.layout.factored(operation.amount(function))
    body = written(function)
    parameters = tuple(function.__code__.co_varnames[: function.__code__.co_argcount])
    formula: Formula = value if body is None or set(names(body)) - set(parameters) else Written(body, function)
    evidence = Function(function, parameters)
    draft = draft.add(Step(section, reason, Name(name), "=", formula, evidence=evidence, facts={"given": True}))
    plain = formula.body if isinstance(formula, Written) else formula
    if plain != value:
        draft = draft.add(Step(section, Reason.CANCEL, Name(name), "=", value, joined=True))
    return draft
