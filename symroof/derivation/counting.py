"""The first two sections: how much arithmetic, and how many bytes; of a program those of each statement, with the
elementwise ones that join it, then of all of them."""

from __future__ import annotations

from collections.abc import Iterable
from inspect import signature

from sympy import Add, Expr

from symroof.algebra.rational import cancel
from symroof.derivation.drafts import Draft
from symroof.derivation.formula_writing import Layout
from symroof.derivation.mesh_sections import exchanges_of_chips, memory, traffic_of_chips, work_of_chips
from symroof.formula import Formula, Group, Name, Negative, Quotient, Sum, Written, names, number, product, total
from symroof.model.einsum import Einsum
from symroof.model.given_costs import Cost, Counting, Operation, function_formula
from symroof.model.kernels import StatementCost, costs_of, elementwise
from symroof.model.program import Program
from symroof.model.program_quantities import amounts
from symroof.model.program_sizes import known_of_sizes, tokens_of
from symroof.model.program_tree import Line, Mask, label_size, turns_of
from symroof.model.quantities import FLOPS, of_statement
from symroof.proof.bounds_and_decimals import Excess
from symroof.proof.loop_counts import OutputCounts
from symroof.proof.program_recounts import DotProducts, ElementwiseStatement, ElementwiseWork, StatementTraffic
from symroof.proof.step import Facts, Reason, Step, amount_of
from symroof.symbols import rational

# The FLOPs of each pass: whether it goes back.
PASSES = {"flops_forward": False, "flops_backward": True}
EXACT, READS, WRITES, BYTES = map(Name, ("flops_exact", "reads", "writes", "bytes"))
# What stands for the kinds of operations that the given FLOPs are: no name that a formula could have.
KINDS = "flops by kind"


def work_of_program(draft: Draft, program: Program) -> Draft:
    """FLOPs of each contraction and of all of them, elementwise operations, and the sizes that others define."""
    cost, count = draft.setting.cost, draft.setting.problem.count
    draft = _defined_sizes(draft, program)
    if not program.vector and (params := amounts(program, count)["params"]) != 0:
        draft = _stock(draft, "work", "params", params)
        if program.frozen:
            draft = _stock(draft, "work", "trainable", amounts(program, count)["trainable"])
    draft = _mask_pairs(draft, program)
    for name, owner in costs_of(program).items():
        if owner.flops != 0:
            draft = _contraction(draft, name, owner, count)
    if count != "exact" and not program.vector:
        draft = _in_all(draft, "work", "flops_exact", cost.flops_exact)
    if not program.vector:
        draft = _of_passes(draft, program) if program.training else _in_all(draft, "work", "flops", cost.flops)
        draft = _per_parameter(draft, program)
    for name, owner in costs_of(program).items():
        if owner.ops != 0:
            facts = ElementwiseWork(tuple(_operations(draft, line) for line in owner.members if elementwise(line) != 0))
            draft = _of(draft, "work", "ops", name, owner.ops, facts)
    ops = amounts(program, count)["ops"]
    draft = draft if ops == 0 else _in_all(draft, "work", "ops", ops)
    if draft.setting.idle:
        evidence = draft.ledger.evidence(FLOPS.name)
        return draft.add(Step("work", Reason.FACT, FLOPS, "=", number(0), evidence=evidence, role="flops"))
    return _of_the_vector_unit(draft, program, ops) if program.vector and ops != 0 else draft


def _of_the_vector_unit(draft: Draft, program: Program, ops: Expr) -> Draft:
    """The FLOPs of a program that multiplies nothing are its elementwise operations."""
    return _of_passes(draft, program) if program.training else _in_all(draft, "work", "flops", ops, "ops")


def _defined_sizes(draft: Draft, program: Program) -> Draft:
    """What the sizes are that others define, and which of several one is."""
    for name, formula in program.where.items():
        if name in program.choices:
            relations = known_of_sizes(program)
            draft = draft.add(Step("work", Reason.CASE, program.choices[name], "=", formula, relations))
        draft = draft.add(Step("work", Reason.CASE, Name(name), "=", formula))
    return draft


def _mask_pairs(draft: Draft, program: Program) -> Draft:
    """How many pairs the masks of fuses leave."""
    for line in program.forward:
        if line.statement.mask is not None and line.mask is not None:
            name = of_statement("pairs", line.statement.name)
            shown, evidence = _pairs(line.statement.mask), draft.ledger.evidence(name)
            draft = draft.add(Step("work", Reason.PAIRS, Name(name), "=", shown, evidence=evidence))
    return draft


def _pairs(mask: Mask) -> Formula:
    """TS - T(T - 1)/2, or T(T + 1)/2; in a window TW - m(m - 1)/2, where m of the rows meet fewer."""
    rows, columns, unit = (label_formula(label) for label in (mask.rows, mask.columns, "1"))
    if mask.window and mask.span != "whole":
        window = label_formula(mask.window)
        fewer = Sum((window, Negative(columns), rows))
        missing = Quotient(product(fewer, Sum((*fewer.terms, Negative(unit)))), number(2))
        return product(rows, window) if mask.span == "even" else Sum((product(rows, window), Negative(missing)))
    if mask.from_first:
        return Quotient(product(rows, Sum((rows, unit))), number(2))
    return Sum((product(rows, columns), Negative(Quotient(product(rows, Sum((rows, Negative(unit)))), number(2)))))


def label_formula(label: str) -> Formula:
    """A dimension or an axis as a formula."""
    return number(int(label)) if label.isdigit() else Name(label)


def _of_passes(draft: Draft, program: Program) -> Draft:
    """The FLOPs of the forward and of the backward pass, and of both."""
    result, part = amounts(program, draft.setting.problem.count), "ops" if program.vector else "flops"
    for quantity, back in PASSES.items():
        owners = [name for name, owner in costs_of(program).items() if owner.backward == back]
        if result[quantity] != 0:
            draft = _in_all(draft, "work", quantity, result[quantity], part, owners)
    both = total(*(Name(quantity) for quantity in PASSES if result[quantity] != 0))
    flops, shown = Name("flops"), draft.layout.factored(draft.setting.cost.flops)
    return draft.add(
        Step("work", Reason.STATEMENTS, flops, "=", both, evidence=draft.ledger.evidence("flops"), role="passes"),
        Step("work", Reason.TOTAL, flops, "=", shown, role="flops"),
    )


def _per_parameter(draft: Draft, program: Program) -> Draft:
    """FLOPs by parameters: 2 for each parameter and token, 6 with the backward pass, and what is beside that."""
    result, tokens = amounts(program, draft.setting.problem.count), tokens_of(program)
    if result["params"] == 0 or program.frozen or tokens is None or draft.setting.problem.count == "exact":
        return draft
    factor = 6 if program.training else 2
    rest = (draft.setting.cost.flops - factor * tokens * result["params"]).expand()
    main = product(number(factor), draft.write(tokens), Name("params"))
    beside = () if rest == 0 else draft.layout.factored(rest)
    terms = beside.terms if isinstance(beside, Sum) else (beside,) if beside else ()
    return draft.add(Step("work", Reason.TOKENS, Name("flops"), "=", total(main, *terms), role="flops_per_parameter"))


def _intensity(draft: Draft, name: str, owner: StatementCost, moved: Expr) -> Draft:
    """FLOPs of a statement over its bytes, in lowest terms."""
    flops = owner.flops_exact if draft.setting.problem.count == "exact" else owner.flops
    quotient = Quotient(Name(of_statement("flops", name)), Name(of_statement("bytes", name)))
    shown = draft.layout.factored(cancel(flops / moved))
    return draft.add(Step("traffic", Reason.FACT, quotient, "=", shown))


def traffic_of_program(draft: Draft, program: Program) -> Draft:
    """Bytes read and written by each statement, and by all of them; and what weights and caches hold."""
    for name, owner in costs_of(program).items():
        if not (owner.loads or owner.stores) and name in program.memory.sources:
            continue
        for quantity, moves in (("reads", owner.loads), ("writes", owner.stores)):
            if moves:
                draft = _of(draft, "traffic", quantity, name, total(*(draft.write(amount) for _, amount in moves)))
        moved = Add(*(amount for _, amount in (*owner.loads, *owner.stores)))
        draft = _of(draft, "traffic", "bytes", name, moved, _moves(draft, owner))
        if owner.flops != 0 and moved != 0:
            draft = _intensity(draft, name, owner, moved)
    cost = draft.setting.cost
    if cost.bytes != 0:
        draft = _added_up(draft, cost)
    result = amounts(program, draft.setting.problem.count)
    for quantity in ("params", "weights", "caches", "saved", "gradients"):
        if result.get(quantity, 0) != 0 and draft.answer.step(amount_of(quantity)) is None:
            draft = _stock(draft, "traffic", quantity, result[quantity])
    return memory(draft, "memory")


def _added_up(draft: Draft, cost: Cost) -> Draft:
    """The bytes of all statements together."""
    for quantity, value in (("reads", cost.reads), ("writes", cost.writes)):
        draft = _in_all(draft, "traffic", quantity, value)
    return draft.add(
        Step("traffic", Reason.FACT, BYTES, "=", Sum((READS, WRITES))),
        Step("traffic", Reason.STATEMENTS, BYTES, "=", _summands(draft, "bytes")),
        Step("traffic", Reason.TOTAL, BYTES, "=", draft.write(cost.bytes.expand()), role="bytes_added"),
        Step("traffic", Reason.TOTAL, BYTES, "=", draft.write(cost.bytes.expand()), role="bytes"),
    )


def _stock(draft: Draft, section: str, stock: str, value: Expr) -> Draft:
    shown, evidence = draft.layout.factored(value), draft.ledger.evidence(stock)
    return draft.add(Step(section, Reason.FACT, Name(stock), "=", shown, evidence=evidence, role=amount_of(stock)))


def _contraction(draft: Draft, name: str, owner: StatementCost, count: Counting) -> Draft:
    """The FLOPs of one contraction: exactly and, counting an addition with every multiplication, roundly."""
    facts = _dots(draft, owner)
    if count == "exact":
        return _of(draft, "work", "flops", name, owner.flops_exact, facts)
    draft = _of(draft, "work", "flops_exact", name, owner.flops_exact, facts)
    return _of(draft, "work", "flops", name, draft.write(owner.flops))


def _dots(draft: Draft, owner: StatementCost) -> DotProducts | None:
    """What prose says of a contraction: its outputs, and the length of the dot product that each of them is."""
    line = next(line for line in owner.members if line.statement.contracts)
    product = line.statement.product
    if product is None:
        return None
    outputs = product.output.elements * line.worked(product.output.labels)
    labels = {label for tensor in product.tensors for label in tensor.labels}
    mean = product.output.elements * product.length * line.worked(labels) / outputs
    length = mean.expand() if line.mask else product.length  # the mean, where pairs are left out
    return DotProducts(draft.write(outputs), draft.write(length), turns_written(draft, line))


def _operations(draft: Draft, line: Line) -> ElementwiseStatement:
    """What an elementwise statement takes for each element, or for each row where rows take something of their own."""
    statement, function = line.statement, line.statement.function
    if function is None:
        operations = draft.write(max(len(statement.operands) - 1, 1))
        return ElementwiseStatement(statement.name, operations, sums=statement.reduces)
    if function.row == 0:
        return ElementwiseStatement(statement.name, draft.write(function.each))
    length = next(dim.size for dim in statement.operands[0].dims if dim.label == statement.over)
    if line.mask is not None and statement.over in line.mask.labels:
        (other,) = line.mask.labels - {statement.over}
        length = (line.mask.pairs / label_size(other)).expand()  # the mean of the rows
    return ElementwiseStatement(
        statement.name, draft.write(rational(function.each) * length + rational(function.row)), statement.over
    )


def _moves(draft: Draft, owner: StatementCost) -> StatementTraffic:
    """What a statement loads, finds on the chip, stores and keeps there."""
    loaded, stored = (tuple(name for name, _ in moves) for moves in (owner.loads, owner.stores))
    results = tuple(line.statement.name for line in owner.members)
    statements = (line.statement for line in owner.members)
    used = dict.fromkeys(str(t.name) for s in statements for t in s.operands[1 if s.appends else 0 :])
    memory, first = draft.setting.problem.operation.memory, owner.members[0]
    joined = {name for name in used if {*loaded} & {*memory.parts(name, first.repeats)}}  # what is read part by part
    result = tuple(name for name in used if name not in loaded and name not in results and name not in joined)
    unwritten = tuple(name for name in results if name not in stored and name not in memory.sources)
    return StatementTraffic(loaded, result, stored, unwritten)


def turns_written(draft: Draft, line: Line) -> Formula | None:
    """How often the repeats around a statement run it; None where there are none."""
    return draft.layout.factored(turns_of(line.repeats)) if line.repeats else None


def _of(draft: Draft, section: str, kind: str, name: str, value: Expr | Formula, facts: Facts | None = None) -> Draft:
    """A cost of one statement, in the sizes of its shapes, with what prose says of it."""
    left = of_statement(kind, name)
    right = value if isinstance(value, Formula) else draft.layout.factored(value)
    return draft.add(
        Step(section, Reason.FACT, Name(left), "=", right, evidence=draft.ledger.evidence(left), facts=facts)
    )


def _in_all(
    draft: Draft, section: str, quantity: str, value: Expr, part: str | None = None, owners: Iterable[str] | None = None
) -> Draft:
    """A cost of the program as the sum over its statements, or over some of them, and what that comes to."""
    names, evidence = _summands(draft, part or quantity, owners), draft.ledger.evidence(quantity)
    return draft.add(
        Step(section, Reason.STATEMENTS, Name(quantity), "=", names, evidence=evidence),
        Step(section, Reason.TOTAL, Name(quantity), "=", draft.layout.factored(value), role=amount_of(quantity)),
    )


def _summands(draft: Draft, part: str, owners: Iterable[str] | None = None) -> Formula:
    """The sum of a cost of all statements that have it, or of some."""
    lefts = dict.fromkeys(x for step in draft.steps if isinstance(x := step.left, Name))
    among = None if owners is None else [of_statement(part, name) for name in owners]
    return total(*(x for x in lefts if x.name.startswith(f"{part}(") and (among is None or x.name in among)))


def work(draft: Draft) -> Draft:
    """FLOPs, exactly; and, counting an addition with every multiplication, roundly."""
    program, count = draft.setting.problem.operation, draft.setting.problem.count
    if program.given is not None:
        return _kinds(_cost_function(draft, program.given, "work", "flops", Reason.COUNT))
    product = program.product
    counted = work_of_program(draft, program) if product is None else _work_of(draft, product, count)
    return work_of_chips(counted, program)


def _work_of(draft: Draft, operation: Einsum, count: Counting) -> Draft:
    """The FLOPs of a product."""
    cost = draft.setting.cost
    facts = OutputCounts(
        draft.write(operation.output.elements),
        draft.write((len(operation.inputs) - 1) * operation.length),
        draft.write(operation.length - 1),
        draft.write(operation.length) if operation.contracted else None,
    )
    formula = _exact_count(operation, draft.layout)
    if count == "exact" or not operation.contracted:
        counted = Step("work", Reason.COUNT, FLOPS, "=", formula, evidence=draft.ledger.evidence("flops"), facts=facts)
        return _in_lowest_terms(draft.add(counted), FLOPS, cost.flops)
    excess, value = draft.write(operation.output.elements), draft.write(cost.flops)
    share = draft.write(operation.output.elements / cost.flops)
    draft = draft.add(
        Step("work", Reason.COUNT, EXACT, "=", formula, evidence=draft.ledger.evidence(EXACT.name), facts=facts)
    )
    return _in_lowest_terms(draft, EXACT, cost.flops_exact).add(
        Step("work", Reason.MULTIPLY_ADD, EXACT, "~", value, evidence=Excess(excess)),
        Step("work", Reason.FACT, FLOPS, "=", value, evidence=draft.ledger.evidence("flops"), role="flops"),
        Step("work", Reason.FACT, Quotient(excess, FLOPS), "=", share, role="excess"),
    )


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
    program = draft.setting.problem.operation
    if program.given is not None:
        draft = _cost_function(draft, program.given, "traffic", "reads", Reason.READS)
        return _total_bytes(_cost_function(draft, program.given, "traffic", "writes", Reason.LINE))
    counted = traffic_of_program(draft, program) if program.product is None else _traffic_of_product(draft)
    return exchanges_of_chips(traffic_of_chips(counted, program), program)


def _traffic_of_product(draft: Draft) -> Draft:
    """The bytes of the operands and of the output."""
    cost = draft.setting.cost
    loads, stores = (total(*map(draft.write, amounts)) for amounts in (cost.loads, cost.stores))
    draft = draft.add(
        Step("traffic", Reason.READS, READS, "=", loads, evidence=draft.ledger.evidence(READS.name)),
        Step("traffic", Reason.LINE, WRITES, "=", stores, evidence=draft.ledger.evidence(WRITES.name)),
    )
    draft = _in_lowest_terms(_in_lowest_terms(draft, READS, cost.reads), WRITES, cost.writes)
    return _total_bytes(draft)


def _in_lowest_terms(draft: Draft, name: Name, value: Expr) -> Draft:
    """What a count comes to, in lowest terms: what the answer says of it."""
    section = "work" if name in (FLOPS, EXACT) else "traffic"
    return draft.add(Step(section, Reason.TOTAL, name, "=", draft.layout.factored(value), role=amount_of(name.name)))


def as_written(draft: Draft, name: Name) -> Formula:
    """What a name was first said to be: as the count gives it, not as it comes out."""
    formula = next(step.right for step in draft.steps if step.left == name)
    return formula.body if isinstance(formula, Written) else formula


def _total_bytes(draft: Draft) -> Draft:
    parts = [as_written(draft, name) for name in (READS, WRITES)]
    terms = Sum(tuple(term for part in parts for term in (part.terms if isinstance(part, Sum) else (part,))))
    return draft.add(
        Step("traffic", Reason.FACT, BYTES, "=", Sum((READS, WRITES))),
        Step("traffic", Reason.LINE, BYTES, "=", terms, role="bytes_added"),
        Step("traffic", Reason.TOTAL, BYTES, "=", draft.write(draft.setting.cost.bytes.expand()), role="bytes"),
    )


def _kinds(draft: Draft) -> Draft:
    """What kinds of operations the given FLOPs are, where that is known."""
    if KINDS not in draft.ledger.meanings:
        return draft
    amounts = Sum(tuple(map(draft.layout.factored, draft.setting.cost.work)))
    return draft.add(Step("work", Reason.KINDS, FLOPS, "=", amounts, evidence=draft.ledger.evidence(KINDS)))


def _cost_function(draft: Draft, operation: Operation, section: str, name: str, reason: Reason) -> Draft:
    """A cost function: first as its author wrote it, then its value."""
    function = operation.functions[name]
    value = draft.layout.factored(getattr(draft.setting.cost, name))
    body = function_formula(function)
    evidence = draft.ledger.evidence(name)
    formula: Formula = (
        value if body is None or set(names(body)) - signature(function).parameters.keys() else Written(body, function)
    )
    plain = (formula.body if isinstance(formula, Written) else formula) == value
    draft = draft.add(
        Step(section, reason, Name(name), "=", formula, evidence=evidence, role=amount_of(name) if plain else "")
    )
    return draft if plain else draft.add(Step(section, Reason.CANCEL, Name(name), "=", value, role=amount_of(name)))
