"""Whether a step of a derivation is false, decided without the second engine: exact values at points and along scalings.

What the names stand for comes from :mod:`direct`, so a definition can be false as well: ``T_upper = T_comms - T_math`` is.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from math import ceil, floor, prod
from operator import eq, ge, gt, le, lt
from random import Random

import direct

from symroof.formula import (
    Both,
    Call,
    Cases,
    Compare,
    Either,
    Figure,
    Formula,
    Group,
    Infinity,
    Name,
    Negative,
    Number,
    Power,
    Product,
    Quotient,
    Sum,
    Verdict,
    Written,
)

ORDER = {"<": lt, "<=": le, ">": gt, ">=": ge, "=": eq}


class NoValueError(Exception):
    """A division by zero, or a name that the oracle does not know."""


def value(formula: Formula, point: dict[str, Fraction]):
    """A number for a term, a truth value for a proposition."""
    match formula:
        case Number():
            return formula.value
        case Name(name=name) | Figure(name=name):
            if name not in point:
                raise NoValueError(name)
            return point[name]
        case Sum(terms=terms):
            return sum((value(t, point) for t in terms), Fraction(0))
        case Product(factors=factors):
            return prod((value(t, point) for t in factors), start=Fraction(1))
        case Quotient(above=above, below=below):
            bottom = value(below, point)
            if not bottom:
                raise NoValueError("a quotient by zero")
            return value(above, point) / bottom
        case Power(base=base, exponent=exponent):
            base, exponent = value(base, point), value(exponent, point)
            if exponent.denominator != 1 or abs(exponent) > 64 or (not base and exponent < 0):
                raise NoValueError("a power")
            return base ** int(exponent)
        case Negative(body=body):
            return -value(body, point)
        case Group(body=body) | Written(body=body):
            return value(body, point)
        case Call(function=function, arguments=arguments):
            values = [value(a, point) for a in arguments]
            if (function == "sqrt" and values[0] < 0) or function not in ("min", "max", "sqrt"):
                raise NoValueError(function)
            return direct.root(values[0]) if function == "sqrt" else {"min": min, "max": max}[function](values)
        case Compare(left=left, relation="<=>", right=right):
            return value(left, point) == value(right, point)
        case Compare(left=left, relation=relation, right=right):
            return ORDER[relation](value(left, point), value(right, point))
        case Both(parts=parts):
            values = [value(p, point) for p in parts]  # every one has to have a value
            return all(values)
        case Either(parts=parts):
            values = [value(p, point) for p in parts]
            return any(values)
        case Verdict(holds=holds):
            return holds
        case Cases(rows=rows, otherwise=otherwise):
            for consequence, guard in rows:
                if value(guard, point):
                    return value(consequence, point)
            if otherwise is None:
                raise NoValueError("no case")
            return value(otherwise, point)
    raise NoValueError(type(formula).__name__)


def nodes(formula: object) -> Iterator[Formula]:
    """The formula and every formula in it."""
    if isinstance(formula, Formula):
        yield formula
        for name in formula.__dataclass_fields__:
            yield from nodes(getattr(formula, name))
    elif isinstance(formula, tuple):
        for part in formula:
            yield from nodes(part)


# What the steps call the bytes of each array on a chip.
MOVED = ("moved(left operand)", "moved(right operand)", "moved")


class Meaning:
    """What the names of one derivation stand for, at any sizes."""

    def __init__(self, truth: direct.Machine, least_one: frozenset[str], variable: str, *, symbolic: bool) -> None:
        self.truth, self.least_one, self.variable, self.symbolic = truth, least_one, variable, symbolic

    def names(self, sizes: dict[str, Fraction], random: Random) -> dict[str, Fraction]:
        """The sizes, and every quantity that is made of them."""
        truth = self.truth
        peak, bandwidth = truth.peak, truth.bandwidth
        if self.symbolic:
            peak, bandwidth = Fraction(random.randint(10, 999)), Fraction(random.randint(1, 9))
        full = truth.full(sizes)
        flops, moved = Fraction(truth.flops(full)), truth.moved(full)
        t_math, t_comms = flops / truth.chips / peak, moved / bandwidth
        reads, writes = truth.reads(full), truth.writes(full)
        return {
            **sizes, **self.of_tensors(full), "peak": peak, "bandwidth": bandwidth, "ridge": peak / bandwidth,
            "flops": flops, "flops_exact": Fraction(truth.flops(full, "exact")), "flops_per_chip": flops / truth.chips,
            "reads": Fraction(reads), "writes": Fraction(writes), "bytes": Fraction(reads + writes), "bytes_per_chip": moved, "sent": moved,
            "intensity": flops / truth.chips / moved, "T_math": t_math, "T_comms": t_comms,
            "T_lower": max(t_math, t_comms), "T_upper": t_math + t_comms, **self.of_chips(full),
        }  # fmt: skip

    def of_chips(self, full: dict[str, Fraction]) -> dict[str, Fraction]:
        """What one of several chips holds and sends, and every time."""
        truth = self.truth
        if truth.chips == 1:
            return {}
        _, t_comms, lower, upper = truth.all_times(full)
        moving, bandwidth = truth.moving(full), truth.bandwidth if truth.link else direct.figure("tpu-v5e", "ICI")
        times = {
            "T_HBM": moving["memory"],
            "T_X": moving["link"],
            "T_comms": t_comms,
            "T_lower": lower,
            "T_upper": upper,
        }
        amounts = {
            "chips": truth.chips,
            "bytes_per_chip": truth.held(full),
            "sent(X)": truth.sent(full),
            "ICI": bandwidth,
        }
        return {
            name: Fraction(amount)
            for name, amount in (times | amounts | {"HBM": direct.figure("tpu-v5e", "HBM")}).items()
        }

    def of_tensors(self, full: dict[str, Fraction]) -> dict[str, Fraction]:
        """How often an element of each array is used, and the bytes of each array on a chip."""
        if not isinstance(self.truth, direct.Product):
            return {}
        arrays, labels = list(self.truth.arrays.values()), self.truth.labels
        uses = {f"uses_{i}": prod(full[x] for x in labels if x not in a.labels) for i, a in enumerate(arrays)}
        parts = {f"part_{i}": a.size(full) for i, a in enumerate(arrays)}
        parts |= {
            name: a.size(full) / (self.truth.chips if a.split else 1) for name, a in zip(MOVED, arrays, strict=True)
        }
        return {name: Fraction(size) for name, size in (uses | parts).items()}


def _equalities(step) -> list[Compare]:
    return [a for a in step.assumptions if isinstance(a, Compare) and a.relation == "="]


def facts(step) -> list[Formula]:
    return [a for a in step.assumptions if not isinstance(a, Compare) or a.relation in (*ORDER, "<=>")]


def points(step, meaning: Meaning, random: Random, whole: int | None) -> Iterator[dict[str, Fraction]]:
    """Points that satisfy the assumptions: anywhere, and close to every bound of a name that the step speaks of."""
    bounds = [
        n
        for f in (step.left, step.right, *step.assumptions)
        for n in nodes(f)
        if isinstance(n, Compare) and n.relation in ORDER
    ]
    equalities, met = _equalities(step), set()
    for turn in range(16):
        sizes = _sized(equalities, direct.wide(random, meaning.truth.labels))
        if tuple(sizes.values()) in met and not meaning.symbolic:
            continue
        met.add(tuple(sizes.values()))
        if turn % 4 == 3:
            sizes = dict.fromkeys(sizes, random.choice(list(sizes.values())))
        near: list[tuple[str, Fraction]] = []
        point = _put(equalities, meaning, sizes, random)
        yield from _allowed(step, point, whole)
        for bound in bounds:
            name, term = (bound.left, bound.right) if isinstance(bound.left, Name) else (bound.right, bound.left)
            if isinstance(name, Name) and name.name in sizes:
                with suppress(NoValueError):
                    near.append((name.name, value(term, point)))
        for name, edge in near:
            others = [e for n, e in near if n == name]
            stride = whole or 1
            close = [
                edge,
                edge * Fraction(999_999, 10**6),
                edge * Fraction(1_000_001, 10**6),
                *((edge + other) / 2 for other in others),
            ]
            close += [Fraction(stride * (floor(e / stride) + k)) for e in others for k in (-1, 0, 1, 2)] + [
                Fraction(ceil(edge))
            ]
            for size in close:
                if size > 0 and (name not in meaning.least_one or size >= 1):
                    yield from _allowed(step, _put(equalities, meaning, {**sizes, name: size}, random), whole)


def _put(
    equalities: list[Compare], meaning: Meaning, sizes: dict[str, Fraction], random: Random
) -> dict[str, Fraction]:
    """A point, with sizes that are given put in."""
    return meaning.names(_sized(equalities, sizes), random)


def _sized(equalities: list[Compare], sizes: dict[str, Fraction]) -> dict[str, Fraction]:
    for equal in (*equalities, *equalities):
        name, term = (equal.left, equal.right) if isinstance(equal.left, Name) else (equal.right, equal.left)
        if isinstance(name, Name) and name.name in sizes:
            try:
                put = value(term, sizes)
            except NoValueError:
                continue
            if put >= 1:
                sizes = {**sizes, name.name: Fraction(put)}
    return sizes


def _allowed(step, point: dict[str, Fraction], whole: int | None) -> Iterator[dict[str, Fraction]]:
    try:
        inside = all(value(a, point) for a in facts(step))
    except NoValueError:
        return
    if whole:
        sides = [s for s in (step.left, step.right) if isinstance(s, Compare)]
        inside = inside and all(
            point.get(n.name, Fraction(whole)) % whole == 0
            for s in sides
            for n in (s.left, s.right)
            if isinstance(n, Name)
        )
    if inside:
        yield point


def is_false(step, meaning: Meaning, seed: int) -> str | None:
    """Where and why what the step says is false; None where nothing shows it."""
    random = Random(seed)
    evidence = type(step.evidence).__name__
    if step.relation in ("~", "->"):
        return _false_approximation(step, meaning, random)
    whole = step.evidence.step if evidence == "WholeBounds" else None
    rooted = any(isinstance(n, Call) and n.function == "sqrt" for n in (*nodes(step.left), *nodes(step.right)))
    for point in points(step, meaning, random, whole):
        try:
            left, right = value(step.left, point), value(step.right, point)
        except NoValueError:
            continue
        if isinstance(left, bool) or isinstance(right, bool):
            if step.relation == "<=>" and left is not right and not rooted:
                return f"one side alone holds at {_shown(point, meaning)}"
            continue
        if rooted and abs(left - right) * 10**20 < abs(left) + abs(right):
            continue
        if step.relation in ORDER and not ORDER[step.relation](left, right):
            return f"{float(left)} {step.relation} {float(right)} at {_shown(point, meaning)}"
    return None


def _false_approximation(step, meaning: Meaning, random: Random) -> str | None:
    """A rounded number is off by more than half its last digit; a quotient of sides does not tend to 1 in the regime; or
    a limit changes with what grows."""
    growth = [a for a in step.assumptions if isinstance(a, Compare) and a.relation in ("<<", "->", "~~", "~")]
    if step.relation == "->" and {n.name for a in growth for n in nodes(a) if isinstance(n, Name)} & {
        n.name for n in nodes(step.right) if isinstance(n, Name)
    }:
        return "the limit changes with what grows"
    if isinstance(step.right, Number) and step.right.digits:
        mantissa, _, power = step.right.digits.lower().partition("e")
        half = Fraction(10) ** (int(power or 0) - len(mantissa.partition(".")[2])) / 2
        for point in points(step, meaning, random, None):
            try:
                if abs(value(step.left, point) - step.right.value) > half:
                    return f"{float(value(step.left, point))} is not rounded to {step.right.digits}"
            except NoValueError:
                continue
        return None
    for _ in range(3):
        gaps = []
        weights = _weights(growth, meaning.truth.labels, random)
        if weights is None:
            return None
        for power in (12, 24):
            sizes = {
                name: (Fraction(random.randint(2, 9)) if weights.get(name) is None else 1)
                * Fraction(10) ** (power * (weights.get(name) or 0))
                for name in meaning.truth.labels
            }
            point = _put(_equalities(step), meaning, sizes, random)
            try:
                if not all(value(a, point) for a in facts(step)):
                    return None
                left = value(step.left, point)
                right = left if isinstance(step.right, Infinity) and left > 10**9 else value(step.right, point)
            except NoValueError:
                return "it does not grow" if isinstance(step.right, Infinity) else None
            if isinstance(left, bool) or isinstance(right, bool):
                return None
            gaps.append(abs(left / right - 1) if right else abs(left))
        if gaps[1] > Fraction(1, 1000):
            return (
                f"the quotient of the sides is off by {float(gaps[1])} far out along {weights}"
                if type(step.evidence).__name__ in ("NoneType", "Dominance", "HighestPowers")
                else None
            )
    return None


def _weights(growth: list[Compare], labels: tuple[str, ...], random: Random) -> dict[str, int] | None:
    """A scaling of the regime: a whole weight for each name that it mentions."""
    mentioned = sorted(
        {n.name for a in growth for side in (a.left, a.right) for n in nodes(side) if isinstance(n, Name)} & set(labels)
    )

    def degree(formula: Formula, weights: dict[str, int]) -> int:
        match formula:
            case Infinity():
                return 1
            case Product(factors=factors):
                return sum(degree(f, weights) for f in factors)
            case Power(base=base, exponent=Number(value=power)):
                return degree(base, weights) * int(power)
            case Quotient(above=above, below=below):
                return degree(above, weights) - degree(below, weights)
            case Name(name=name):
                return weights.get(name, 0)
        return 0

    for _ in range(300):
        weights = {name: random.randint(0, 4) for name in mentioned}
        gaps = [(a.relation, degree(a.right, weights) - degree(a.left, weights)) for a in growth]
        if all({"<<": gap > 0, "->": gap <= 0, "~~": gap == 0, "~": gap == 0}[sign] for sign, gap in gaps):
            return weights
    return None


def _shown(point: dict[str, Fraction], meaning: Meaning) -> str:
    return ", ".join(f"{name} = {point[name]}" for name in meaning.truth.labels)


def of_programs(kind) -> list[str]:
    """The kinds of evidence or of facts that only programs, optima and claims have."""
    places = {*"RoundedRoot Construction program_recounts overlap_bounds chip_recounts mesh_facts minima".split()}  # noqa: SIM905
    return sorted(one.__name__ for one in kind.__subclasses__() if {one.__name__, one.__module__[14:]} & places)
