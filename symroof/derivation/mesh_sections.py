"""A program on a mesh: what one chip does of it, what its links carry."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from sympy import Expr, Mul

from symroof.algebra.rational import cancel
from symroof.derivation.drafts import Draft
from symroof.formula import Formula, Name, Sum, total
from symroof.model import collectives
from symroof.model.chip_costs import busy_links, carriers, chip_costs, message, resources_of
from symroof.model.collectives import HANDED, TREE
from symroof.model.given_costs import Counting
from symroof.model.kernels import costs_of, is_idle
from symroof.model.pipeline_stages import BUBBLE, pipeline_of
from symroof.model.placement import Placement, Reshard, placements
from symroof.model.program import Program
from symroof.model.program_quantities import amounts, moved_of, traffic_of_tensors
from symroof.model.program_tree import Line
from symroof.model.quantities import MOVED, PER_CHIP, STOCKS, TABLE, hops_over, of_statement, parts_of, sent_over
from symroof.model.splits import block_dimensions
from symroof.proof import exchange_plans
from symroof.proof.chip_recounts import ChipAmount, MeshRun
from symroof.proof.exchange_plans import MeshAxis
from symroof.proof.kernel_traffic import Script
from symroof.proof.mesh_facts import Axes, Bubble, Collective, Division, Exchanges, ExchangeWork, Hops, Stages, Wiring
from symroof.proof.step import Evidence, Facts, Ledger, Reason, Step, amount_of
from symroof.symbols import expression

CHIPS = Name("chips")
# What one chip holds of what stays in memory.
HELD = tuple(stock + PER_CHIP for stock in STOCKS)


def script_on_mesh(program: Program, script: Script) -> MeshRun:
    """The script on the mesh as the user wrote it, and the plan of its exchanges, for the second engine to carry out."""

    def axis(a: collectives.MeshAxis) -> MeshAxis:
        levels = tuple((level.link, level.degree or 1, level.taper, level.sharp) for level in a.levels)
        return MeshAxis(
            a.name, a.chips, a.user_wiring if a.origin else a.wiring, a.closing, a.link or "", a.speed, levels
        )

    views = (line.statement for line in program.lines if line.statement.views)
    seen = tuple((view.name, block_dimensions(program, view)) for view in views)
    axes, plan = tuple(map(axis, program.mesh)), tuple(map(_plan, placements(program)))
    conventions = program.keep, program.regather, program.each, program.schedule
    return MeshRun(script, axes, plan, *conventions, seen, program.latency)


def _plan(place: Placement) -> exchange_plans.Plan:
    each = (exchange_plans.PlanMove(move.collective, move.axes, str(move.tensor.name), move.of) for move in place.moves)
    return exchange_plans.Plan(place.line.statement.name, place.division, tuple(each))


def costs_of_chips(program: Program, script: Script, count: Counting) -> dict[str, Evidence]:
    """For each amount of one chip the evidence that it has to rest on; none on one chip."""
    if not program.axes:
        return {}
    meshed = script_on_mesh(program, script)
    result: dict[str, Evidence] = {"chips": ChipAmount(meshed, "chips")}
    if pipeline_of(program) is not None:
        result[BUBBLE.name] = Bubble(meshed)
    for name, row in TABLE.items():
        if row.counted is None or not name.endswith(PER_CHIP):
            continue
        quantity = row.measured(exact=count == "exact")
        whole = "ops" if program.vector and "flops" in quantity else quantity
        result[name] = ChipAmount(meshed, whole)
        own, owners = quantity if program.line is None else whole, costs_of(program) if row.of_statements else ()
        result |= {of_statement(name, owner): ChipAmount(meshed, own, owner) for owner in owners}
    result |= {of_statement("moved", name): ChipAmount(meshed, "moved", name) for name in traffic_of_tensors(program)}
    result |= {moved_of(part, program): ChipAmount(meshed, "moved", part=part) for part in MOVED}
    busy = (name for a in program.mesh for way in _ways(a, program) for name in resources_of(a, way))
    for resource in dict.fromkeys(busy):
        result[sent_over(resource)] = ChipAmount(meshed, "sent", None, resource)
        for name in costs_of(program):
            result[sent_over(resource, name)] = ChipAmount(meshed, "sent", name, resource)
    return result | (_costs_of_exchanges(program, meshed) if program.latency else {})


def _costs_of_exchanges(program: Program, meshed: MeshRun) -> dict[str, Evidence]:
    """The evidence of the hops of each exchange, and of several over one resource of what each sends."""
    result: dict[str, Evidence] = {}
    for cost in chip_costs(program).values():
        for move in cost.exchanges:
            result |= {hops_over(f, move.label): ExchangeWork(meshed, "hops", move.label, f) for f in move.hops}
            several = [r for r in move.sent if len(cost.over(r)) > 1]
            result |= {sent_over(r, move.label): ExchangeWork(meshed, "sent", move.label, r) for r in several}
    return result


def _ways(axis: collectives.MeshAxis, program: Program) -> tuple[str, ...]:
    """What goes over an axis in ways that have names of their own: stages send back in the other direction of their
    links."""
    sent = {line.statement.sends for line in program.lines}
    return ("", HANDED[1]) if axis.name in program.stages or (HANDED[1], axis.name) in sent else ("",)


def work_of_chips(draft: Draft, program: Program) -> Draft:
    """How many chips there are, and what one does of every statement."""
    if not program.axes:
        return draft
    counts = amounts(program, draft.setting.problem.count)
    draft = draft.add(chips_of(program, draft.write(counts["chips"]), draft.ledger))
    draft = _stages(draft, program)
    if is_idle(program):
        return draft
    apart = program.vector and program.line is None
    for quantity in (
        ("ops_per_chip",) if apart else ("flops_per_chip", "ops_per_chip")[: None if program.line is None else 1]
    ):
        draft = _each(draft, "work", quantity, counts, program)
    return _each(draft, "work", "flops_per_chip", counts, program, "ops_per_chip") if apart else draft


def chips_of(program: Program, chips: Formula, ledger: Ledger) -> Step:
    """How many chips there are, how their axes are wired, and everything that they send over."""
    axes = (Wiring(a.name, a.chips, _wiring(a), str(a.link), a.origin, a.closing) for a in program.mesh)
    facts = Axes(tuple(axes), frozenset(busy_links(program)))
    return Step("work", Reason.CHIPS, CHIPS, "=", chips, (), ledger.evidence("chips"), facts, amount_of("chips"))


def _stages(draft: Draft, program: Program) -> Draft:
    """How long the stages of a pipeline wait."""
    pipeline = pipeline_of(program)
    if pipeline is None:
        return draft
    turns, write = expression(pipeline.repeat.times), draft.layout.factored
    each, many = write(turns / pipeline.axis.size), write(pipeline.microbatches)
    in_flight = write(pipeline.held) if program.training else None
    enough = pipeline.presumes and program.training
    facts = Stages(pipeline.axis.name, write(turns), each, many, in_flight, enough)
    evidence = draft.ledger.evidence(BUBBLE.name)
    shown = write(program.resolved(pipeline.bubble))
    role = amount_of(BUBBLE.name)
    return draft.add(Step("work", Reason.BUBBLE, BUBBLE, "=", shown, evidence=evidence, facts=facts, role=role))


def traffic_of_chips(draft: Draft, program: Program) -> Draft:
    """What one chip holds, and what it moves in its own memory."""
    if not program.axes:
        return draft
    counts = amounts(program, draft.setting.problem.count)
    for name in HELD:
        if counts.get(name, 0) != 0:
            shown, evidence = single_fraction(draft, counts[name]), draft.ledger.evidence(name)
            draft = draft.add(
                Step("traffic", Reason.FACT, Name(name), "=", shown, evidence=evidence, role=amount_of(name))
            )
    draft = memory(draft, "memory_per_chip")
    return draft if counts["bytes_per_chip"] == 0 else _each(draft, "traffic", "bytes_per_chip", counts, program)


def exchanges_of_chips(draft: Draft, program: Program) -> Draft:
    """What each link carries, statement by statement and in all."""
    if not program.axes:
        return draft
    counts = amounts(program, draft.setting.problem.count)
    for name, cost in chip_costs(program).items():
        for resource, amount in cost.sent.items():
            if amount != 0:
                facts = Exchanges(tuple(_exchange(draft, program, cost.moves, resource)))
                draft = _add(draft, "exchanges", sent_over(resource, name), counts, Reason.SENT, facts)
    draft = _hops(draft, program, counts) if program.latency else draft
    for resource in busy_links(program):
        names = [sent_over(resource, name) for name in costs_of(program)]
        draft = _sum(draft, "exchanges", sent_over(resource), counts, names)
    return draft


def _hops(draft: Draft, program: Program, counts: dict[str, Expr]) -> Draft:
    """By how many hops the last bytes of each exchange come; and of several over one link what each sends."""
    for name, cost in chip_costs(program).items():
        for exchange in cost.exchanges:
            often = exchange.move.around(_line(program, exchange.move.result).repeats)
            turns = draft.layout.factored(exchange.turns) if often else None
            details = exchange.move.collective, exchange.move.axes, str(exchange.move.tensor.name), name
            for figure, number_of_hops in exchange.hops.items():
                facts = Hops(*details, draft.write(number_of_hops), turns)
                draft = _add(draft, "exchanges", hops_over(figure, exchange.label), counts, Reason.HOPS, facts)
            for resource in (r for r in exchange.sent if len(cost.over(r)) > 1):
                draft = _add(draft, "exchanges", sent_over(resource, exchange.label), counts, Reason.LINE)
    return draft


def _exchange(draft: Draft, program: Program, moves: tuple[Reshard, ...], resource: str) -> Iterator[Collective]:
    size = {axis.name: axis.size for axis in program.mesh}
    for move in moves:
        shares = dict(carriers(move, program))
        if resource in shares:
            written = (draft.write(program.resolved(x)) for x in (message(move, program), shares[resource]))
            repeats = _line(program, move.result).repeats
            turns = draft.layout.factored(move.turns(repeats, size)) if move.around(repeats) else None
            why = move.result, move.of, move.before, move.after, move.rows or 0, move.once, turns
            yield Collective(move.collective, move.axes, str(move.tensor.name), *why, *written)


def _wiring(axis: collectives.MeshAxis) -> str:
    """Two chips of a ring are a line."""
    return str(axis.wiring) if axis.wiring in ("switch", TREE) else "ring" if axis.ways == 2 else "line"


def _line(program: Program, name: str) -> Line:
    return next(line for line in program.lines if line.statement.name == name)


def _division(draft: Draft, program: Program, name: str) -> Division:
    """Over how many chips a contraction is split, and how many do the same."""
    whole, part = costs_of(program)[name], chip_costs(program)[name]
    shared = cancel(whole.ops / part.ops if program.vector else whole.flops / part.flops)
    every = Mul(*(axis.size for axis in program.mesh))
    return Division(draft.write(shared), draft.write(cancel(every / shared)))


def _each(
    draft: Draft, section: str, quantity: str, counts: dict[str, Expr], program: Program, part: str | None = None
) -> Draft:
    """An amount of one chip: of every statement that has it, then of all."""
    names = [of_statement(part or quantity, name) for name in costs_of(program)]
    for name in names:
        if part is None and counts.get(name, 0) != 0:
            facts = _division(draft, program, parts_of(name)[1]) if quantity == "flops_per_chip" else None
            draft = _add(draft, section, name, counts, Reason.ON_EACH, facts)
    return _sum(draft, section, quantity, counts, names)


def _add(
    draft: Draft, section: str, name: str, counts: dict[str, Expr], reason: Reason, facts: Facts | None = None
) -> Draft:
    shown, evidence = single_fraction(draft, counts[name]), draft.ledger.evidence(name)
    return draft.add(Step(section, reason, Name(name), "=", shown, evidence=evidence, facts=facts))


def _sum(draft: Draft, section: str, sum_of: str, counts: dict[str, Expr], names: list[str]) -> Draft:
    parts = [Name(name) for name in names if counts.get(name, 0) != 0]
    if not parts:
        return draft
    evidence = draft.ledger.evidence(sum_of)
    if parts != [Name(sum_of)]:
        draft = draft.add(Step(section, Reason.STATEMENTS, Name(sum_of), "=", total(*parts), evidence=evidence))
    return draft.add(
        Step(section, Reason.TOTAL, Name(sum_of), "=", single_fraction(draft, counts[sum_of]), role=amount_of(sum_of))
    )


def single_fraction(draft: Draft, value: Expr) -> Formula:
    """An amount of one chip as one fraction."""
    return draft.layout.factored(_factored(value))


@lru_cache(maxsize=1024)
def _factored(value: Expr) -> Expr:
    """Statements that are alike on a chip have the same amounts."""
    return Mul(*value.factor().args) if value.is_Mul else value.factor()


def memory(draft: Draft, name: str) -> Draft:
    """What stays in memory together; where that is one stock alone no page says it twice."""
    meaning = draft.ledger.meanings.get(name)
    if not isinstance(meaning, Formula) or name in draft.setting.problem.let:
        return draft
    section = "traffic" if isinstance(meaning, Sum) else "summary"
    return draft.add(Step(section, Reason.FACT, Name(name), "=", meaning, role=amount_of(name)))
