"""What the names of a claim stand for: the theory of rooflines, the costs of an operation, the figures of a chip."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from symroof.derivation.mesh_sections import chips_of
from symroof.derivation.premises import Setting, setting_of
from symroof.derivation.quantity_definitions import ledger_of
from symroof.errors import CheckError, ModelError
from symroof.formula import Formula, Name, Number, Quotient
from symroof.model.hardware import WORDS_OF_TEXTS, Spec
from symroof.model.mesh_wiring import is_network
from symroof.model.program_quantities import amounts as amounts_of_program, names_of_amounts, other_names
from symroof.model.quantities import DERIVED, SPOKEN, TABLE, TOKENS, Owner, meaning, quantities_of, unit_of_amount
from symroof.model.resources import LATENCY, MATH, VECTOR, every_time
from symroof.proof.check import establish
from symroof.proof.step import Reason, Step
from symroof.reading.claim_sets import Exercise, unit_names
from symroof.reading.name_scope import Scope
from symroof.verification.context import Context

# What the quantities mean wherever nobody says otherwise, and the units of the others.
THEORY: Mapping[str, Formula] = {name: formula for name in DERIVED if (formula := meaning(name)) is not None}
UNITS = {name: TABLE[name].unit for name in quantities_of(Owner.OPERATION) if name not in DERIVED}
# The quantities that a claim can name; those of one chip are what a derivation calls them.


def context_of(exercise: Exercise) -> Context:
    """The context of an exercise: its operation costed, or its model alone."""
    problem = exercise.problem
    if problem is None:
        return _of_model(exercise).assuming(exercise.assume)
    stated, contrary = (
        setting_of(replace(problem, at=(), sections=(), count=count))
        for count in (problem.count, "exact" if problem.count == "fma" else "fma")
    )
    context = _of_operation(exercise, stated)
    if exercise.count != "exact" and contrary.cost.flops != stated.cost.flops:
        context = replace(context, other=_of_operation(exercise, contrary), binding=exercise.count is not None)
    return context.assuming(exercise.assume)


def _of_operation(exercise: Exercise, setting: Setting) -> Context:
    """The quantities of an operation as formulas of its dimensions and of the figures, under one way of counting."""
    chip, dimensions, write = setting.problem.hardware, setting.problem.names, setting.layout.write
    meanings = {**counted_again(setting), **_theory(setting)}
    for link in chip.links if chip else ():
        if over := _over(setting, link):
            meanings[f"T_comms_{link}"] = Quotient(write(over.moved), Name(link))
    meanings |= {name: formula for name, formula in _over_axes(setting).items() if name not in dimensions}
    chosen = {"peak": setting.peak, "bandwidth": setting.bandwidth}
    meanings |= {name: printed(figure) for name, figure in chosen.items() if figure is not None}
    sizes = {*dimensions, *exercise.symbols, *WORDS_OF_TEXTS}
    figures = {name: figure for name, figure in (chip.spoken if chip else {}).items() if name not in sizes}
    meanings |= {name: printed(figure) for name, figure in figures.items()} | dict(exercise.let)
    unknown = {name: unit for name, unit in _rates(setting).items() if name not in (*dimensions, *meanings)}
    return Context(
        Scope(
            (*dimensions, *exercise.symbols, *dict.fromkeys((*meanings, *SPOKEN, *unknown))),
            give_way=unit_names(exercise),
            counts=tuple(name for name in dimensions if name not in meanings),
        ),
        meanings,
        unknown | _units(figures) | _units_of_amounts((*names_of_amounts(setting.problem.operation), *meanings)),
        setting.least_one.named,
        tolerance=exercise.tolerance,
        nearest=exercise.nearest,
        binary=exercise.binary,
        layout=setting.layout,
        setting=setting,
        hardware=chip,
        count=setting.problem.count,
    )


def _theory(setting: Setting) -> dict[str, Formula]:
    """What the derived quantities mean here, with the times that only programs have and the sizes that others define: as
    the ledger has it."""
    program, rates = setting.problem.operation, setting.rates
    derived = {name: meaning(name, setting.flops_name, setting.moved_name) for name in DERIVED}
    meanings = {name: formula for name, formula in derived.items() if formula is not None}
    meanings |= {**program.where, **every_time(program, rates)}
    meant = ledger_of(setting).meanings
    if any(isinstance(meant.get(name), Formula) and meant[name] != formula for name, formula in meanings.items()):
        raise CheckError("the quantities mean something else than in the derivation")
    rate = meant.get(TOKENS)
    return {**meanings, TOKENS: rate} if isinstance(rate, Formula) and TOKENS not in setting.problem.let else meanings


def _rates(setting: Setting) -> dict[str, str]:
    """The figures that the times are made of, each with its unit, also where no chip says how large they are."""
    rates = setting.rates
    links = {rates.rate(name): "bytes/s" for name in rates.resources if name not in (MATH, VECTOR, LATENCY)}
    return dict.fromkeys(rates.names, "FLOPs/s") | links | dict.fromkeys(rates.hops, "s")


def _over(setting: Setting, link: str) -> Setting | None:
    """The same over another link; None where nothing crosses it, or where no one axis is known to be the busiest on it."""
    if is_network(link) and not setting.several_chips:
        return None
    try:
        return setting_of(replace(setting.problem, link=link, joint=False))
    except ModelError:
        return None


def _over_axes(setting: Setting) -> dict[str, Formula]:
    """What a mesh sends under the names that it has beside those of its resources: over the link that is asked about, and
    over an axis that has the port of its switch alone."""
    program, amounts = setting.problem.operation, dict[str, Formula]()
    if not setting.several_chips:
        return amounts
    if setting.over_network:
        amounts["sent"] = Name(setting.moved_name)
    return amounts | {other: Name(name) for other, name in other_names(program).items()}


def _of_model(exercise: Exercise) -> Context:
    """Named formulas, and theory and figures for the quantities that they leave open."""
    chip = exercise.hardware
    given = {name for name, figure in (chip.figures if chip else {}).items() if figure.source == "given"}
    own = {*(name for name in exercise.symbols if name not in given), *exercise.let}
    several = chip is not None and "peak" not in chip.figures  # which of its peaks is meant has to be said
    rate = chip.peak(exercise.compute)[1] if chip is not None and several and exercise.compute is not None else None
    spoken = (name for name in SPOKEN if name != "peak" or not several or rate is not None)
    figures = {name: figure for name, figure in (chip.spoken if chip else {}).items() if name not in WORDS_OF_TEXTS}
    figures |= {} if rate is None else {"peak": rate}
    meant = {**THEORY, **{name: printed(figure) for name, figure in figures.items()}}
    meanings = {name: formula for name, formula in meant.items() if name not in own}
    meanings = {**({"bandwidth": meanings["HBM"]} if "HBM" in meanings else {}), **meanings, **exercise.let}
    return Context(
        Scope(tuple(dict.fromkeys((*exercise.symbols, *meanings, *spoken))), open=True, give_way=unit_names(exercise)),
        meanings,
        {name: unit for name, unit in _units(figures).items() if name not in own},
        tolerance=exercise.tolerance,
        nearest=exercise.nearest,
        binary=exercise.binary,
        hardware=chip,
    )


def costs(setting: Setting) -> dict[str, Formula]:
    """What the operation does and moves, and what one chip of several does, as formulas of its dimensions."""
    cost, operation = setting.cost, setting.problem.operation
    counts = {"flops": cost.flops, "reads": cost.reads, "writes": cost.writes, "bytes": cost.bytes}
    amounts = {**counts, setting.flops_name: cost.flops / setting.chips, setting.moved_name: setting.moved}
    if not operation.alone:
        amounts |= amounts_of_program(operation, setting.problem.count)
    return {name: setting.layout.write(amount) for name, amount in amounts.items()}


def counted_again(setting: Setting) -> dict[str, Formula]:
    """The costs, each decided by the second engine.

    Raises :class:`~symroof.errors.CheckError` where something else is counted.
    """
    ledger, operation, amounts = ledger_of(setting), setting.problem.operation, costs(setting)
    if setting.several_chips:
        establish([chips_of(operation, amounts["chips"], ledger)], ledger)
    for name, formula in {**operation.where, **amounts}.items():
        meant = ledger.meanings[name]
        evidence = None if isinstance(meant, Formula) else meant
        establish([Step("work", Reason.TOTAL, Name(name), "=", formula, evidence=evidence)], ledger)
    return amounts


def printed(figure: Spec) -> Number:
    """A figure as a number in print."""
    return Number(figure.value, figure.digits)


def _units(figures: Mapping[str, Spec]) -> dict[str, str]:
    """The base units of the quantities and of the figures of a chip."""
    return {name: figure.unit for name, figure in figures.items() if figure.unit} | UNITS


def _units_of_amounts(names: Iterable[str]) -> dict[str, str]:
    """The base units of what only programs have."""
    units = ((name, unit_of_amount(name)) for name in names)
    return {name: unit for name, unit in units if unit is not None}
