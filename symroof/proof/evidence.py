"""What the evidence of a step shows: counts, exchanges, certificates, decimals and whole numbers, all done again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from itertools import product as tuples
from math import prod

from symroof.errors import CheckError
from symroof.formula import Call, Compare, Formula, Number, Quotient, Sum, number
from symroof.proof.certificates import multiplied_out
from symroof.proof.exact import Poly, add, names_in, sign, times, value_at
from symroof.proof.ledger import Ledger, refuted
from symroof.proof.step import Arrays, Check, Collective, Dominated, Excess, Function, Harmonic, Loops, Step, Whole

# A polynomial of degree at most one in each of n sizes is known from 2**n points; beyond this n some are drawn.
GRID = 6
DRAWN = 24
LONGEST_LOOP = 4096


def examine(step: Step, ledger: Ledger) -> Check | None:
    """What the evidence of a step shows, or None where the step has none."""
    match step.evidence:
        case None:
            return None
        case Loops() as loops:
            return _recount(step, loops, ledger)
        case Arrays() as arrays:
            return _recount_bytes(step, arrays, ledger)
        case Function() as function:
            return _recount_function(step, function, ledger)
        case Collective() as collective:
            return _play(step, collective, ledger)
        case Excess(amount=amount):
            return _excess(step, amount, ledger)
        case Dominated() as dominated:
            return multiplied_out(step, dominated, ledger)
        case Harmonic(parts=parts):
            return _harmonic(step, parts, ledger)
        case Whole(step=stride):
            return _whole(step, stride, ledger)
    raise refuted(step, f"evidence {type(step.evidence).__name__} has no check")


def _grid(labels: Iterable[str], sizes: Iterable[int] = (1, 2)) -> tuple[list[dict[str, int]], bool]:
    """Points that determine a multilinear polynomial, or some of them; and whether they are all."""
    names, sizes = sorted({label for label in labels if not label.isdigit()}), tuple(sizes)
    if len(names) <= GRID:
        return [dict(zip(names, point, strict=True)) for point in tuples(sizes, repeat=len(names))], True
    from random import Random

    random = Random(7)
    return [{name: random.choice(sizes) for name in names} for _ in range(DRAWN)], False


def _nest(shapes: Iterable[Iterable[str]], formula: tuple[Poly, Poly]) -> tuple[list[dict[str, int]], bool]:
    """Points that determine the count of a loop nest.

    Loops over labels that occur in the same arrays are one loop over tuples, so one label of each such group is
    varied, as long as the formula has the group together or not at all.
    """
    shapes = [set(shape) for shape in shapes]
    groups: dict[tuple[bool, ...], list[str]] = {}
    for label in sorted({label for shape in shapes for label in shape if not label.isdigit()}):
        groups.setdefault(tuple(label in shape for shape in shapes), []).append(label)
    monomials = [dict(m) for poly in formula for m in poly]
    together = all(len({m.get(label, 0) for label in group}) == 1 for m in monomials for group in groups.values())
    if not together:
        return _grid(label for group in groups.values() for label in group)
    points, complete = _grid(group[0] for group in groups.values())
    return [
        {label: point[g[0]] if label == g[0] else 1 for g in groups.values() for label in g} for point in points
    ], complete


def _agree(step: Step, ledger: Ledger, points: list[dict[str, int]], counted, complete: bool, by: str) -> Check:  # type: ignore[no-untyped-def]
    above, below = ledger.exact(figures=False).rational(step.right)
    linear = len(below) == 1 and () in below and all(e == 1 for m in above for _, e in m)
    if (names_in(above) | names_in(below)) - set(points[0]):
        raise refuted(step, "it speaks of a size that is not counted")
    for point in points:
        values = {name: Fraction(size) for name, size in point.items()}
        if value_at(above, values) != value_at(below, values) * counted(point):
            raise refuted(step, f"counting gives {counted(point)} at {point}")
    return Check("proved" if complete and linear else "sampled", by)


def _recount(step: Step, loops: Loops, ledger: Ledger) -> Check:
    """The multiplications and additions of the loop nest, one by one."""
    labels = dict.fromkeys(label for shape in loops.operands for label in shape)
    summed = [label for label in labels if label not in loops.output]

    def counted(point: Mapping[str, int]) -> int:
        size = {label: int(label) if label.isdigit() else point[label] for label in (*labels, *loops.output)}
        outputs, operations = prod(size[label] for label in loops.output), 0
        inner = prod(size[label] for label in summed)
        if inner > LONGEST_LOOP:  # one turn for each product, and an addition before each but the first
            return outputs * (inner * (len(loops.operands) - 1) + inner - 1)
        alike = outputs > LONGEST_LOOP  # then one output element stands for all
        for _ in range(1 if alike else outputs):
            first = True
            for _ in tuples(*(range(size[label]) for label in summed)):
                operations += len(loops.operands) - 1  # multiply the operands
                operations += not first  # add the product to the sum
                first = False
        return operations * (outputs if alike else 1)

    points, complete = _nest((*loops.operands, loops.output), ledger.exact(figures=False).rational(step.right))
    return _agree(step, ledger, points, counted, complete, "counted in loops")


def _recount_bytes(step: Step, arrays: Arrays, ledger: Ledger) -> Check:
    """The elements of each array, times the bits of one."""

    def counted(point: Mapping[str, int]) -> Fraction:
        bits = 0
        for labels, width in arrays.arrays:
            bits += width * prod(int(label) if label.isdigit() else point[label] for label in labels)
        return Fraction(bits, 8)

    points, complete = _nest((labels for labels, _ in arrays.arrays), ledger.exact(figures=False).rational(step.right))
    return _agree(step, ledger, points, counted, complete, "elements counted")


def _recount_function(step: Step, given: Function, ledger: Ledger) -> Check:
    """The Python function itself, run on whole numbers: more of them in each parameter than its degree."""
    above, below = ledger.exact(figures=False).rational(step.right)
    degree = max((e for p in (above, below) for m in p for _, e in m), default=0)
    points, complete = _grid(given.parameters, range(1, degree + 2))
    if (names_in(above) | names_in(below)) - set(points[0]):
        raise refuted(step, "it speaks of a size that the function does not have")

    def counted(point: Mapping[str, int]) -> Fraction:
        return Fraction(given.function(**{name: Fraction(size) for name, size in point.items()}))

    for point in points:
        values = {name: Fraction(size) for name, size in point.items()}
        if value_at(above, values) != value_at(below, values) * counted(point):
            raise refuted(step, f"the function gives {counted(point)} at {point}")
    polynomial = len(below) == 1 and () in below
    return Check("proved" if complete and polynomial else "sampled", "the function run on whole numbers")


def _play(step: Step, exchange: Collective, ledger: Ledger) -> Check:
    """The collective, played out chip by chip on a ring: the share of the payload that crosses one link."""
    exact = ledger.exact(figures=False)
    (n, d), (p, q) = exact.rational(step.right), exact.rational(exchange.payload)
    chips = min(exchange.chips, 64)
    share = played(exchange.name, chips) / exchange.ways
    if chips != exchange.chips:  # the ring repeats itself: each round moves one of the chips' equal parts
        rounds = exchange.chips - 1
        share = Fraction(rounds * (2 if exchange.name == "all-reduce" else 1), exchange.chips * exchange.ways)
    if add(times(n, q), {m: -c * share for m, c in times(p, d).items()}):
        raise refuted(step, f"{exchange.name} on {exchange.chips} chips moves {share} of the payload over a link")
    return Check("proved", "exchange played out")


def played(collective: str, chips: int) -> Fraction:
    """What part of the payload one link of a one-way ring carries.

    >>> played("all-reduce", 2), played("all-gather", 4)
    (Fraction(1, 1), Fraction(3, 4))
    """
    sent = 0
    if collective in ("reduce-scatter", "all-reduce"):
        sums = [[{chip} for _ in range(chips)] for chip in range(chips)]  # sums[c][part]: whose terms are in it
        for turn in range(chips - 1):
            moved = [(chip, (chip - turn) % chips) for chip in range(chips)]
            parts = {(chip, part): set(sums[chip][part]) for chip, part in moved}
            for chip, part in moved:
                sums[(chip + 1) % chips][part] |= parts[chip, part]
            sent += 1
        if any(len(sums[chip][(chip + 1) % chips]) != chips for chip in range(chips)):
            raise CheckError("the reduce-scatter does not end with whole sums")
    if collective in ("all-gather", "all-reduce"):
        held = [{chip} for chip in range(chips)]
        for turn in range(chips - 1):
            for chip in range(chips):
                held[(chip + 1) % chips].add((chip - turn) % chips)
            sent += 1
        if any(len(parts) != chips for parts in held):
            raise CheckError("the all-gather does not end with every part everywhere")
    if collective not in ("reduce-scatter", "all-gather", "all-reduce"):
        raise CheckError(f"{collective} cannot be played out")
    return Fraction(sent, chips)


def _excess(step: Step, amount: Formula, ledger: Ledger) -> Check:
    """left + amount = right exactly, and amount > 0."""
    exact = ledger.exact(figures=False)
    n, d = exact.difference(step.right, step.left)
    a, b = exact.rational(amount)
    if add(times(n, b), {m: -c for m, c in times(a, d).items()}):
        raise refuted(step, "the stated difference is not the difference")
    if sign(times(a, b), ledger.least_one) != 1:
        raise refuted(step, "the stated difference is not positive")
    return Check("proved", "exact difference")


def _harmonic(step: Step, parts: tuple[Formula, ...], ledger: Ledger) -> Check:
    """min(m)/k <= 1/(1/m_1 + … + 1/m_k), because no 1/m_i is more than 1/min(m): all m_i have to be positive."""
    exact = ledger.exact(figures=False, assumptions=step.assumptions)
    if not isinstance(step.left, Quotient) or step.left.below != number(len(parts)) or step.relation != "<=":
        raise refuted(step, "the left side is not the least part over their number")
    least = step.left.above
    kept = least.arguments if isinstance(least, Call) and least.function == "min" else (least,)
    for part in parts:  # a part that is left out is nowhere below one that is kept
        gaps = [exact.difference(part, one) for one in kept]
        if not any(
            sign(n, ledger.least_one, strict=False) in (0, 1) and sign(d, ledger.least_one) == 1 for n, d in gaps
        ):
            raise refuted(step, "a part may be the least and is left out")
    if not all(sign(side, ledger.least_one) == 1 for part in parts for side in exact.rational(part)):
        raise refuted(step, "a part may not be positive")
    reciprocals = Sum(tuple(Quotient(number(1), part) for part in parts))
    if exact.difference(Quotient(number(1), step.right), reciprocals)[0]:
        raise refuted(step, "the reciprocals do not add up")
    return Check("proved", "harmonic mean, exact identity")


def rounded(step: Step, ledger: Ledger) -> Check:
    """A decimal number is the value rounded to nearest at its last digit."""
    exact = ledger.exact(figures=True, assumptions=step.assumptions)
    if not isinstance(step.right, Number) or step.right.digits is None:
        raise refuted(step, "an approximation needs evidence")
    value, shown = _number(exact.rational(step.left), step), step.right.value
    mantissa, _, power = step.right.digits.lower().partition("e")
    unit = Fraction(10) ** (int(power or 0) - len(mantissa.partition(".")[2]))
    if abs(value - shown) * 2 > unit:
        raise refuted(step, f"{float(value)} does not round to {step.right.digits}")
    return Check("proved", "exact rounding")


def _whole(step: Step, stride: int, ledger: Ledger) -> Check:
    """Over the multiples of ``stride`` above 0, ``x > bound`` is ``x >= n``."""
    left, right = step.left, step.right
    if not (
        isinstance(left, Compare) and isinstance(right, Compare) and left.relation in "<>" and left.left == right.left
    ):
        raise refuted(step, "whole numbers are bounded by x > value or x < value")
    exact = ledger.exact(figures=True, assumptions=step.assumptions)
    bound, n = (_number(exact.rational(side.right), step) for side in (left, right))
    inside, outside = (n, n - stride) if left.relation == ">" else (n, n + stride)
    holds = (lambda x: x > bound) if left.relation == ">" else (lambda x: x < bound)
    if n % stride or not holds(inside) or (holds(outside) and outside >= stride):
        raise refuted(step, f"{n} is not the last whole number on its side of {float(bound)}")
    return Check("proved", "exact numbers")


def _number(value: tuple[Poly, Poly], step: Step) -> Fraction:
    """The number that a quotient of polynomials is, whatever its names: one is a multiple of the other."""
    above, below = value
    if not above:
        return Fraction(0)
    first = next(iter(below))
    factor = above.get(first, Fraction(0)) / below[first]
    if add(above, {m: -c * factor for m, c in below.items()}):
        raise refuted(step, "a number was expected")
    return factor
