"""What a claim is judged against: every name with the formula that it stands for, and what is assumed.

A claim is *expanded* before it is judged: quantities are replaced by their formulas, figures by their numbers, sizes
that are put in by their values. What is left are free symbols, and the judge needs no other definitions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from symroof.derivation.layout import Layout
from symroof.derivation.setting import NETWORK, Setting, setting_of
from symroof.errors import ModelError
from symroof.formula import (
    Call,
    Compare,
    Formula,
    Group,
    Infinity,
    Name,
    Number,
    Quotient,
    Sum,
    mapped,
    names,
    number,
    product,
)
from symroof.model.hardware import Accelerator, Known
from symroof.reading.exercises import TOLERANCE, Exercise, giving_way
from symroof.reading.expressions import Scope
from symroof.symbols import QUANTITIES
from symroof.verification.enclosures import enclosed

# What the quantities mean wherever nobody says otherwise.
THEORY: Mapping[str, Formula] = {
    "intensity": Quotient(Name("flops"), Name("bytes")),
    "ridge": Quotient(Name("peak"), Name("bandwidth")),
    "T_math": Quotient(Name("flops"), Name("peak")),
    "T_comms": Quotient(Name("bytes"), Name("bandwidth")),
    "T_lower": Call("max", (Name("T_math"), Name("T_comms"))),
    "T_upper": Sum((Name("T_math"), Name("T_comms"))),
    "throughput": Quotient(Name("flops"), Name("T_lower")),
}
UNITS = {
    "flops": "FLOPs",
    "bytes": "bytes",
    "reads": "bytes",
    "writes": "bytes",
    "peak": "FLOPs/s",
    "bandwidth": "bytes/s",
    "sent": "bytes",
    "moved": "bytes",
    "bytes_per_chip": "bytes",
    "flops_per_chip": "FLOPs",
}
LONGEST_EXPANSION = 20_000


@dataclass(frozen=True, slots=True)
class Context:
    """``definitions`` are the formulas of names; ``units`` the base units of those that have one.

    ``other`` is the same context under the other way of counting additions, where that makes a difference.
    ``spent`` are the symbols that have values: relations of the regime that mention them say nothing any more.
    ``equations`` are facts of another kind: equalities that put nothing for a name, and that a replaced size is one.
    """

    scope: Scope
    definitions: Mapping[str, Formula]
    units: Mapping[str, str]
    least_one: frozenset[str] = frozenset()
    relations: tuple[Compare, ...] = ()
    tolerance: Fraction = TOLERANCE
    layout: Layout = field(default_factory=lambda: Layout(()))
    setting: Setting | None = None
    hardware: Accelerator | None = None
    count: str | None = None
    other: Context | None = None
    spent: frozenset[str] = frozenset()
    equations: tuple[Compare, ...] = ()

    def expanded(self, formula: Formula) -> Formula:
        """The formula with every known name replaced by what it stands for."""
        size = [0]

        def known(node: Formula) -> Formula:
            size[0] += 1
            if size[0] > LONGEST_EXPANSION:
                raise ModelError("the formulas are too long once their names are put in")
            if isinstance(node, Name) and node.name in self.definitions:
                return Group(mapped(self.definitions[node.name], known))
            return node

        return mapped(formula, known)

    def assuming(self, relations: Iterable[Compare]) -> Context:
        """With further relations, ``=`` among them put in."""
        more = tuple(relations)
        equal: dict[str, Formula] = {}
        left_over: list[Compare] = []
        for r in more:
            if r.relation != "=":
                continue
            so_far = replace(self, definitions={**self.definitions, **equal})
            right = so_far.expanded(r.right)
            if isinstance(r.left, Name) and r.left.name not in so_far.definitions and r.left.name not in names(right):
                self._require_size(r.left.name, right)
                equal[r.left.name] = right
                left_over += self._still_a_size(r.left.name, right)
            else:
                left_over.append(Compare(so_far.expanded(r.left), "=", right))
        return replace(
            self,
            relations=(*self.relations, *more),
            definitions={**self.definitions, **equal},
            equations=(*self.equations, *left_over),
            other=self.other and self.other.assuming(more),
        )

    def at(self, values: Iterable[tuple[str, Formula]]) -> Context:
        """With sizes put in; what the regime says of them is dropped."""
        put = {name: self.expanded(value) for name, value in values}
        if not put:
            return self
        for name, value in put.items():
            self._require_size(name, value)
        sizes = tuple(fact for name, value in put.items() for fact in self._still_a_size(name, value))
        kept = tuple(r for r in self.relations if not set(put) & {*names(r.left), *names(r.right)})
        return replace(
            self,
            relations=kept,
            definitions={**self.definitions, **put},
            spent=self.spent | set(put),
            equations=(*self.equations, *sizes),
            other=self.other and self.other.at(values),
        )

    def _still_a_size(self, name: str, value: Formula) -> tuple[Compare, ...]:
        """That a replaced symbol stays in the domain is a fact about what replaces it."""
        if not names(value) or isinstance(value, Name):
            return ()
        return (Compare(value, ">=", number(1)),) if name in self.least_one else (Compare(value, ">", number(0)),)

    def _require_size(self, name: str, value: Formula) -> None:
        """A size that is put in lies in the domain."""
        if names(value):
            return
        low = 1 if name in self.least_one else 0
        if enclosed(value).high < low or (low == 0 and enclosed(value).high <= 0):
            raise ModelError(f"{name} is {'at least 1' if low else 'above 0'}, and the claim puts in less")

    def defining(self, definitions: Mapping[str, Formula]) -> Context:
        """With other formulas for some names: another world, as a mistake would have it."""
        return replace(self, definitions={**self.definitions, **definitions}, other=None)

    @property
    def facts(self) -> tuple[Compare, ...]:
        """The relations that are plain facts about sizes, expanded."""
        kept = (r for r in self.relations if r.relation in ("<=", ">=", "<", ">"))
        orders = (Compare(self.expanded(r.left), r.relation, self.expanded(r.right)) for r in kept)
        return (*orders, *(Compare(self.expanded(r.left), r.relation, self.expanded(r.right)) for r in self.equations))

    @property
    def growing(self) -> tuple[Compare, ...]:
        """The relations of the regime, expanded."""
        kept = (r for r in self.relations if r.relation in ("<<", "->", "~", "~~"))
        return tuple(
            Compare(
                self.expanded(r.left), r.relation, r.right if isinstance(r.right, Infinity) else self.expanded(r.right)
            )
            for r in kept
        )


def context_of(exercise: Exercise) -> Context:
    """The context of an exercise: its operation costed, or its model alone."""
    return _of_problem(exercise) if exercise.problem is not None else _of_model(exercise)


def _of_problem(exercise: Exercise) -> Context:
    problem = exercise.problem
    assert problem is not None
    from dataclasses import replace as copy

    bare = copy(problem, at=(), sections=())
    setting = setting_of(bare)
    context = _counted(exercise, setting)
    contrary = setting_of(copy(bare, count="exact" if problem.count == "fma" else "fma"))
    if contrary.cost.flops != setting.cost.flops:
        context = replace(context, other=_counted(exercise, contrary).assuming(exercise.assume))
    return context.assuming(exercise.assume)


def _counted(exercise: Exercise, setting: Setting) -> Context:
    """The names of an operation under one way of counting."""
    chip = setting.problem.hardware
    figures = _figures(chip)
    known = {**definitions(setting), **figures, **exercise.let}
    units = {**_units(chip), **UNITS}
    scope = Scope(
        (*setting.problem.operation.dimensions, *exercise.symbols, *dict.fromkeys((*known, *_QUANTITIES))),
        give_way=giving_way(exercise),
    )
    return Context(
        scope,
        known,
        units,
        frozenset(setting.problem.operation.dimensions),
        tolerance=exercise.tolerance,
        layout=setting.layout,
        setting=setting,
        hardware=chip,
        count=setting.problem.count,
    )


_QUANTITIES = tuple(name for name in QUANTITIES if name not in ("flops_per_chip", "bytes_per_chip", "sent"))


def costs(setting: Setting) -> dict[str, Formula]:
    """What the operation does and moves, as formulas of its dimensions."""
    write, cost = setting.layout.write, setting.cost
    return {
        "flops": write(cost.flops),
        "reads": write(cost.reads),
        "writes": write(cost.writes),
        "bytes": write(cost.bytes),
        "moved": write(setting.moved),
    }


def definitions(setting: Setting) -> dict[str, Formula]:
    """The quantities of an operation as formulas of its dimensions and of the figures."""
    flops, moved = Name("flops"), Name("moved")
    found: dict[str, Formula] = {
        **THEORY,
        **costs(setting),
        "intensity": Quotient(Quotient(flops, number(setting.chips)) if setting.chips > 1 else flops, moved),
        "T_math": Quotient(flops, product(number(setting.chips), Name("peak"))),
        "T_comms": Quotient(moved, Name("bandwidth")),
    }
    chip = setting.problem.hardware
    for link in chip.links if chip else ():
        crossed = link.partition(".")[0] in NETWORK
        if crossed and not setting.exchanges:
            continue
        other = setting_of(replace(setting.problem, link=link)) if setting.exchanges else setting
        found[f"T_comms_{link}"] = Quotient(setting.layout.write(other.moved), Name(link))
    for name, figure in (("peak", setting.peak), ("bandwidth", setting.bandwidth)):
        if figure is not None:
            found[name] = _number(figure)
    return found


def _of_model(exercise: Exercise) -> Context:
    """Named formulas, and the theory of rooflines for the quantities that they leave open."""
    own = {*exercise.symbols, *exercise.let}
    chip = exercise.hardware
    figures = {name: formula for name, formula in _figures(chip).items() if name not in own}
    known = {**{name: formula for name, formula in THEORY.items() if name not in own}, **figures, **exercise.let}
    hidden: tuple[str, ...] = ()
    if chip is not None and "peak" not in figures:
        if exercise.compute is None:
            hidden = ("peak",)  # which of the peaks is not said, so the name is not known
        else:
            known["peak"] = _number(chip.peak(exercise.compute)[1])
    if "HBM" in figures:
        known.setdefault("bandwidth", figures["HBM"])
    quantities = (name for name in _QUANTITIES if name not in hidden)
    scope = Scope(
        tuple(dict.fromkeys((*exercise.symbols, *known, *quantities))), open=True, give_way=giving_way(exercise)
    )
    units = {name: unit for name, unit in {**_units(chip), **UNITS}.items() if name not in own}
    context = Context(scope, known, units, tolerance=exercise.tolerance, hardware=chip)
    return context.assuming(exercise.assume)


def _number(figure: Known) -> Number:
    return Number(figure.value, figure.digits)


def _figures(chip: Accelerator | None) -> dict[str, Formula]:
    return {name: _number(figure) for name, figure in (chip.figures if chip else {}).items()}


def _units(chip: Accelerator | None) -> dict[str, str]:
    return {name: figure.unit for name, figure in (chip.figures if chip else {}).items()}
