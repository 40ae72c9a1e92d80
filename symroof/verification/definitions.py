"""What the names of a claim stand for: the theory of rooflines, the costs of an operation, the figures of a chip."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from symroof.derivation.setting import NETWORK, Setting, setting_of
from symroof.formula import Formula, Name, Number, Quotient
from symroof.model.hardware import Accelerator, Known
from symroof.model.quantities import DERIVED, QUANTITIES, TABLE, meaning

# What the quantities mean wherever nobody says otherwise, and the units of the others.
THEORY: Mapping[str, Formula] = {name: formula for name in DERIVED if (formula := meaning(name)) is not None}
UNITS = {name: row.unit for name, row in TABLE.items() if name not in DERIVED}
# The quantities that a claim can name; those of one chip are what a derivation calls them.
SPOKEN = tuple(name for name in QUANTITIES if name not in ("flops_per_chip", "bytes_per_chip", "sent"))


def costs(setting: Setting) -> dict[str, Formula]:
    """What the operation does and moves, and what one chip of several does, as formulas of its dimensions."""
    cost = setting.cost
    amounts = {
        setting.flops_name: cost.flops / setting.chips,
        setting.moved_name: setting.moved,
        "flops": cost.flops,
        "reads": cost.reads,
        "writes": cost.writes,
        "bytes": cost.bytes,
    }
    return {name: setting.layout.write(amount) for name, amount in amounts.items()}


def of_operation(setting: Setting) -> dict[str, Formula]:
    """The quantities of an operation as formulas of its dimensions and of the figures."""
    chip = setting.problem.hardware
    derived = {name: meaning(name, setting.flops_name, setting.moved_name) for name in DERIVED}
    definitions = {**{name: formula for name, formula in derived.items() if formula is not None}, **costs(setting)}
    for link in chip.links if chip else ():
        if setting.exchanges:
            crossing = setting_of(replace(setting.problem, link=link)).moved
            definitions[f"T_comms_{link}"] = Quotient(setting.layout.write(crossing), Name(link))
        elif link.partition(".")[0] not in NETWORK:
            definitions[f"T_comms_{link}"] = Quotient(setting.layout.write(setting.moved), Name(link))
    chosen = {"peak": setting.peak, "bandwidth": setting.bandwidth}
    return definitions | {name: printed(figure) for name, figure in chosen.items() if figure is not None}


def of_model(
    let: Mapping[str, Formula], own: set[str], chip: Accelerator | None, rate: Known | None
) -> dict[str, Formula]:
    """The named formulas of a model, and theory and figures for the names that it leaves open."""
    known = {**THEORY, **of_chip(chip)} | ({} if rate is None else {"peak": printed(rate)})
    known = {name: formula for name, formula in known.items() if name not in own}
    return {**({"bandwidth": known["HBM"]} if "HBM" in known else {}), **known, **let}


def of_chip(chip: Accelerator | None) -> dict[str, Formula]:
    """The figures of a chip, with the digits they were read with."""
    return {name: printed(figure) for name, figure in (chip.figures if chip else {}).items()}


def units_of(chip: Accelerator | None) -> dict[str, str]:
    """The base units of the quantities and of the figures of a chip."""
    return {name: figure.unit for name, figure in (chip.figures if chip else {}).items() if figure.unit} | UNITS


def printed(figure: Known) -> Number:
    """A figure as a number in print."""
    return Number(figure.value, figure.digits)
