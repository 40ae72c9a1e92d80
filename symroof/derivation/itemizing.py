"""The costs of a program: those of each statement, with the elementwise ones that join it, then of all of them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sympy import Add, Expr

from symroof.derivation.draft import Draft
from symroof.formula import Formula, Name, Sum, total
from symroof.model.cost import Counting
from symroof.model.program import PRODUCT, Line, Program
from symroof.model.statement_costs import StatementCost, amounts, of_statement
from symroof.proof.evidence import Excess
from symroof.proof.running import Act, Array, Run, Script, Turn
from symroof.proof.step import Reason, Step

READS, WRITES, BYTES = map(Name, ("reads", "writes", "bytes"))


def script_of(program: Program) -> Script:
    """The program as it was written, in the plain values of the second engine: nothing that was counted."""
    roles = {d.tensor.name: d.role for d in program.declared}
    arrays = (
        Array(name, tensor.labels, tensor.dtype.bits, roles.get(name, "")) for name, tensor in program.arrays.items()
    )
    return Script(tuple(arrays), tuple(_act(program, line) for line in program.lines))


def _act(program: Program, line: Line) -> Act:
    statement, function, lines = line.statement, line.statement.function, program.lines
    operands = tuple(str(tensor.name) for tensor in statement.operands)
    turns = tuple(
        Turn(next(i for i, other in enumerate(lines) if repeat in other.repeats), repeat.times, repeat.leaves)
        for repeat in line.repeats
    )
    fuse = None if line.fuse is None else next(i for i, other in enumerate(lines) if other.fuse is line.fuse)
    if function is None:
        each, multiplies = Fraction(len(operands) - 1), statement.kind == PRODUCT
        return Act(statement.name, operands, each, Fraction(0), None, multiplies, turns, fuse)
    return Act(statement.name, operands, function.each, function.row, statement.over, False, turns, fuse)


def costs_of_program(program: Program, count: Counting) -> dict[str, Any]:
    """For each cost of a program, of its statements and its tensors, the evidence that it has to rest on; and the
    formulas of the sizes that others define."""
    script = script_of(program)
    found: dict[str, Any] = {}
    kinds = {"flops": "flops_exact" if count == "exact" else "flops"}
    for name in program.owners:
        for what in ("flops_exact", "flops", "ops", "reads", "writes", "bytes"):
            found[of_statement(what, name)] = Run(script, kinds.get(what, what), name)
    for what in ("flops_exact", "flops", "ops", "reads", "writes"):
        found[what] = Run(script, "ops" if program.vector and "flops" in what else kinds.get(what, what))
    for name in program.arrays:
        for what in ("elements", "size"):
            found[of_statement(what, name)] = Run(script, what, name)
    for tensor in program.declared_as("weight"):
        found[of_statement("params", str(tensor.name))] = Run(script, "weight elements", str(tensor.name))
    stocks = {"params": "weight elements", "weights": "weight", "caches": "cache"}
    return found | {name: Run(script, what) for name, what in stocks.items()} | dict(program.where)


def work_of_program(draft: Draft, program: Program) -> Draft:
    """FLOPs of each contraction and of all of them, elementwise operations, and the sizes that others define."""
    cost, count = draft.setting.cost, draft.setting.problem.count
    for name, owner in program.owners.items():
        if owner.flops != 0:
            draft = _contraction(draft, name, owner, count)
        if owner.ops != 0:
            draft = _of(draft, "work", Reason.STATEMENT_OPS, "ops", name, owner.ops)
    ops = amounts(program, count)["ops"]
    draft = draft.add(*(Step("work", Reason.WHERE, Name(n), "=", f) for n, f in program.where.items()))
    if program.vector:
        return _in_all(_in_all(draft, "work", "ops", ops), "work", "flops", ops, "ops")
    if count != "exact":
        draft = _in_all(draft, "work", "flops_exact", cost.flops_exact)
    draft = _in_all(draft, "work", "flops", cost.flops)
    return draft if ops == 0 else _in_all(draft, "work", "ops", ops)


def traffic_of_program(draft: Draft, program: Program) -> Draft:
    """Bytes read and written by each statement, and by all of them; and what weights and caches hold."""
    for name, owner in program.owners.items():
        for reason, what, moves in (
            (Reason.STATEMENT_READS, "reads", owner.loads),
            (Reason.STATEMENT_WRITES, "writes", owner.stores),
        ):
            if moves:
                both = total(*(draft.write(amount) for _, amount in moves))
                draft = _of(draft, "traffic", reason, what, name, both)
        moved = Add(*(amount for _, amount in (*owner.loads, *owner.stores)))
        draft = _of(draft, "traffic", Reason.STATEMENT_BYTES, "bytes", name, moved)
    cost = draft.setting.cost
    for what, value in (("reads", cost.reads), ("writes", cost.writes)):
        draft = _in_all(draft, "traffic", what, value)
    draft = draft.add(
        Step("traffic", Reason.BYTES, BYTES, "=", Sum((READS, WRITES))),
        Step("traffic", Reason.TOTAL, BYTES, "=", draft.write(cost.bytes.expand()), role="bytes_added"),
        Step("traffic", Reason.TOTAL, BYTES, "=", draft.write(cost.bytes.expand()), role="bytes"),
    )
    found = amounts(program, draft.setting.problem.count)
    for what in ("params", "weights", "caches"):
        if (value := found[what]) != 0:
            shown = draft.layout.factored(value)
            evidence = draft.ledger.meanings[what]
            draft = draft.add(Step("traffic", Reason.STOCK, Name(what), "=", shown, evidence=evidence, role=what))
    return draft


def _contraction(draft: Draft, name: str, owner: StatementCost, count: Counting) -> Draft:
    """The FLOPs of one contraction: exactly and, counting an addition with every multiplication, roundly."""
    if count == "exact":
        return _of(draft, "work", Reason.STATEMENT_FLOPS, "flops", name, owner.flops_exact)
    exact, flops = of_statement("flops_exact", name), of_statement("flops", name)
    value = draft.write(owner.flops)
    draft = _of(draft, "work", Reason.STATEMENT_FLOPS, "flops_exact", name, owner.flops_exact)
    excess = Excess(draft.write((owner.flops - owner.flops_exact).expand()))
    return draft.add(
        Step("work", Reason.STATEMENT_ROUNDED, Name(exact), "~", value, evidence=excess),
        Step("work", Reason.STATEMENT_FLOPS, Name(flops), "=", value, evidence=draft.ledger.meanings[flops]),
    )


def _of(draft: Draft, section: str, reason: Reason, what: str, name: str, value: Expr | Formula) -> Draft:
    """A cost of one statement, in the sizes of its shapes."""
    left = of_statement(what, name)
    right = value if isinstance(value, Formula) else draft.layout.factored(value)
    return draft.add(Step(section, reason, Name(left), "=", right, evidence=draft.ledger.meanings[left]))


def _in_all(draft: Draft, section: str, what: str, value: Expr, part: str | None = None) -> Draft:
    """A cost of the program as the sum over its statements, and what that comes to."""
    part = part or what
    each = tuple(
        step.left for step in draft.steps if isinstance(step.left, Name) and step.left.name.startswith(f"{part}(")
    )
    names = tuple(dict.fromkeys(each))
    return draft.add(
        Step(section, Reason.STATEMENTS, Name(what), "=", total(*names), evidence=draft.ledger.meanings[what]),
        Step(section, Reason.TOTAL, Name(what), "=", draft.layout.factored(value), role=what),
    )
