"""Whether a step of a derivation is false, decided without the second engine: exact values at points and along scalings.

What the names stand for comes from :mod:`direct`, so a definition can be false as well: ``T_upper = T_comms - T_math`` is.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from itertools import pairwise
from math import ceil, floor, prod
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

ORDER = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "=": lambda a, b: a == b,
}


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
    """Where and why the step is false; None where nothing shows it."""
    random = Random(seed)
    return _false_evidence(step, meaning, random) or _false_statement(step, meaning, random)


def _false_statement(step, meaning: Meaning, random: Random) -> str | None:
    evidence = type(step.evidence).__name__
    if step.relation in ("~", "->"):
        return _false_approximation(step, meaning, random)
    whole = step.evidence.step if evidence == "Whole" else None
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
                if type(step.evidence).__name__ in ("NoneType", "Dominated", "Growing")
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


def _false_evidence(step, meaning: Meaning, random: Random) -> str | None:
    """What the evidence itself says: counts, a payload, a harmonic mean, a change, a root, a distance."""
    evidence, kind = step.evidence, type(step.evidence).__name__
    if kind == "Arrays" and any(direct.BITS.get(name) != bits for _, bits, name in evidence.arrays):
        return "a dtype of other bits"
    if kind == "OnEach" and [array.bits for array in meaning.truth.arrays.values()] != [
        array.bits for array in evidence.meshed.script.arrays
    ]:
        return "the arrays have other bits"
    if kind == "Growing" and not any(a.relation == "->" and a.left == Name(evidence.name) for a in step.assumptions):
        return "another name grows"
    for _ in range(4):
        sizes = {name: Fraction(floor(size)) for name, size in direct.wide(random, meaning.truth.labels).items()}
        point = _put(_equalities(step), meaning, sizes, random)
        with suppress(NoValueError, ZeroDivisionError):
            why = FALSE[kind](step, evidence, point, meaning) if kind in FALSE else None
            if why := why or _false_facts(step, point, meaning):
                return why
    return None


def _whole(step, evidence, point, meaning) -> str | None:
    if not isinstance(step.left, Compare) or not isinstance(step.right, Compare) or step.left.left == step.right.left:
        return None
    same = evidence.bound is None or ORDER[step.left.relation](
        value(step.right.left, point), value(evidence.bound, point)
    )
    return None if value(step.left, point) is same else "the left side is not this bound on the size"


def _dominated(step, evidence, point, meaning) -> str | None:
    above, below = value(evidence.numerator, point), value(evidence.denominator, point)
    if value(step.left, point) * below != value(step.right, point) * above:
        return "the certificate is that of another quotient"
    return "the quotient is not 1 without a certificate" if above != below and not evidence.certificates else None


def _differs(why: str, amount):
    """Evidence that is a count: the right side is another number."""
    return lambda step, evidence, point, meaning: (
        why if value(step.right, point) != amount(evidence, point, meaning) else None
    )


def _excess(step, evidence, point, meaning) -> str | None:
    amount = value(evidence.amount, point)
    wrong = value(step.right, point) - value(step.left, point) != amount or amount <= 0
    return "the stated difference is not the difference" if wrong else None


def _kinds(step, evidence, point, meaning) -> str | None:
    counts = [Fraction(f.function(**{n: point[n] for n in f.parameters})) for f in evidence.functions]
    terms = step.right.terms if isinstance(step.right, Sum) else ()
    wrong = counts != [value(term, point) for term in terms]
    return "the kinds are other counts" if wrong else None


def _harmonic(step, evidence, point, meaning) -> str | None:
    parts = [value(p, point) for p in evidence.parts]
    wrong = 1 / value(step.right, point) != sum(1 / part for part in parts) or value(step.left, point) != min(
        parts
    ) / len(parts)
    return "it is not the harmonic mean of the parts" if wrong else None


def _highest(step, evidence, point, meaning) -> str | None:
    """With the names very large, or 1, the left side is what the right side says."""
    sizes = {label: point[label] for label in meaning.truth.labels}
    there = _put(
        _equalities(step),
        meaning,
        {**sizes, **dict.fromkeys(evidence.names, 1 if evidence.reached else Fraction(10) ** 14)},
        Random(0),
    )
    ratio = value(step.left, there) / value(step.right, there)
    return None if abs(ratio - 1) <= (0 if evidence.reached else Fraction(1, 10**6)) else "the bound is not approached"


def _higher(step, evidence, point, meaning) -> str | None:
    high, low = (value(next(iter(_ends(one.right))).right, point) for one in (evidence.high, evidence.low))
    return None if value(step.left, point) == high / low - 1 else "it is not by how much one bound is higher"


def _beside(step, evidence, point, meaning) -> str | None:
    high, low = (value(next(iter(_ends(one.right))).right, point) for one in (evidence.high, evidence.low))
    told = high - low if isinstance(step.left, Sum) else high / low
    return (
        None
        if value(step.left, point) == told
        else "it is not the quotient of the bounds, or the distance between them"
    )


def _one_root(step, evidence, point, meaning) -> str | None:
    """Along the size, with the others held, the condition changes once, to what the side says."""
    if evidence.name not in point:
        return "the size is not one of the condition"
    holds = [
        value(
            step.right,
            meaning.names({**{n: point[n] for n in meaning.truth.labels}, evidence.name: Fraction(2) ** k}, Random(0)),
        )
        for k in range(-40, 60)
    ]
    changes = [b for a, b in pairwise(holds) if a is not b]
    return None if changes == [evidence.side == 1] else "it does not change once, to this side"


def _on_chip(step, evidence, point, meaning) -> str | None:
    """The amount by direct arithmetic, on the mesh that the evidence says."""
    (axis,), arrays, truth = evidence.meshed.mesh, evidence.meshed.script.arrays, meaning.truth
    if axis.chips != truth.chips or [array.labels for array in arrays] != [a.labels for a in truth.arrays.values()]:
        return "it is another mesh, or another operation"
    if [frozenset(label for label, _ in array.split) for array in arrays] != [a.split for a in truth.arrays.values()]:
        return "it is split otherwise"
    ring = axis.wiring == "ring" or (axis.wraparound and axis.chips % axis.wraparound == 0)
    if truth.link and truth.ways != (2 if ring else 1):
        return "it is wired otherwise"
    sizes = {label: point[label] for label in truth.labels}
    amounts = {
        "chips": axis.chips, "bytes": truth.held(sizes), "sent": truth.sent(sizes) if evidence.resource == "X" else None,
        **{what: truth.flops(sizes, count) / Fraction(axis.chips) for what, count in (("flops", "fma"), ("flops_exact", "exact"))},
        "moved": point.get(f"moved({evidence.name})" if evidence.name else "moved"),
    }  # fmt: skip
    return None if value(step.right, point) == amounts.get(evidence.what) else "a chip does another amount"


def _uses(evidence, point, meaning) -> Fraction:
    shapes = (*evidence.loops.operands, evidence.loops.output)
    return prod(
        _size(n, point) for n in dict.fromkeys(n for shape in shapes for n in shape) if n not in shapes[evidence.place]
    )


def _loops(loops, point, meaning) -> Fraction:
    labels = dict.fromkeys(label for shape in loops.operands for label in shape)
    summed = [label for label in labels if label not in loops.output]
    length = prod(_size(label, point) for label in summed)
    outputs = prod(_size(label, point) for label in loops.output)
    return outputs * (length * (len(loops.operands) - 1) + (length if loops.fused and summed else length - 1))


def _arrays(evidence, point, meaning) -> Fraction:
    return sum(Fraction(bits, 8) * prod(_size(x, point) for x in labels) for labels, bits, _ in evidence.arrays)


def _function(evidence, point, meaning) -> Fraction:
    return Fraction(evidence.function(**{name: _size(name, point) for name in evidence.parameters}))


FALSE = {
    "Excess": _excess,
    "Loops": _differs("the loops give another count", _loops),
    "Uses": _differs("the loops use an element otherwise", _uses),
    "Arrays": _differs("the arrays hold other bytes", _arrays),
    "Function": _differs("the function gives another count", _function),
    "Kinds": _kinds,
    "Harmonic": _harmonic,
    "Highest": _highest,
    "Beside": _beside,
    "Higher": _higher,
    "OneRoot": _one_root,
    "Whole": _whole,
    "Dominated": _dominated,
    "OnEach": _on_chip,
}


def _false_facts(step, point, meaning: Meaning) -> str | None:
    """What the facts say beyond the formulas."""
    facts, truth = step.facts, meaning.truth
    names = {n.name for n in nodes(step.right) if isinstance(n, Name)}
    match type(facts).__name__:
        case "Counted":
            length = prod(point[x] for x in truth.summed)
            said = [
                facts.outputs,
                facts.multiplications,
                *([] if facts.length is None else [facts.additions, facts.length]),
            ]
            wrong = [value(f, point) for f in said] != [
                prod(point[x] for x in truth.output.labels),
                length,
                length - 1,
                length,
            ][: len(said)]
        case "Gone":
            wrong = any(n.name in names or n.name not in truth.labels for n in facts.names)
        case "Solved":
            ends = [n for n in _ends(step.right) if isinstance(n.left, Name)]
            wrong = any(end.left != Name(facts.variable) for end in ends)
        case "AtSize":
            wrong = Compare(Name(meaning.variable), "=", Number(facts.size)) not in step.assumptions
        case "Divided":
            wrong = value(facts.chips, point) != truth.chips or value(facts.repeated, point) != 1
        case "Axes":
            (axis,) = facts.axes
            wrong = (axis.name, axis.chips, axis.wiring == "ring", axis.link) != (
                "X",
                truth.chips,
                truth.ways == 2,
                "ICI",
            ) or facts.busy != {"X"}
        case "Exchanges":
            (one,) = facts.exchanges
            message, share = value(one.message, point), value(one.share, point)
            wrong = (
                (one.collective, one.once, one.turns) != ("all-reduce", False, None)
                or message != truth.writes(point)
                or message * share != value(step.right, point)
            )
        case _:
            wrong = False
    return f"the facts of {type(facts).__name__} are others" if wrong else None


def _ends(formula: Formula) -> Iterator[Compare]:
    """The inequalities that a solution consists of, without its guards."""
    match formula:
        case Cases(rows=rows, otherwise=otherwise):
            for part in (*(consequence for consequence, _ in rows), *([] if otherwise is None else [otherwise])):
                yield from _ends(part)
        case Both(parts=parts) | Either(parts=parts):
            for part in parts:
                yield from _ends(part)
        case Compare(relation=relation) if relation in ORDER:
            yield formula


def _size(label: str, point: dict[str, Fraction]) -> Fraction:
    if label.isdigit():
        return Fraction(label)
    if label not in point:
        raise NoValueError(label)
    return point[label]


def _shown(point: dict[str, Fraction], meaning: Meaning) -> str:
    return ", ".join(f"{name} = {point[name]}" for name in meaning.truth.labels)


def of_programs(kind) -> list[str]:
    """The kinds of evidence or of facts that only programs have."""
    rooms = ("running", "scheduling", "chips", "mesh_facts", "accounts", "minima", "radicals", "distances")
    return sorted(one.__name__ for one in kind.__subclasses__() if one.__module__.rsplit(".", 1)[-1] in rooms)
