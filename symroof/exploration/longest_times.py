"""Which of several times is the longest: at a set of sizes, and from one end of an axis to the other; and curves over it.

Two times are equal where their difference is 0, and between two such places one of all times is the longest. It is read
off the middle; that no other exceeds it on all of the stretch is then a step for each of the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from itertools import combinations, pairwise

from sympy import Expr

from symroof.algebra.roots import Root, whole_number
from symroof.derivation.drafts import Draft, Steps
from symroof.derivation.premises import Setting
from symroof.derivation.solutions import Solution
from symroof.derivation.solving import solution_of
from symroof.formula import Compare, Formula, Frozen, Name, Number, nodes, number
from symroof.proof.bounds_and_decimals import WholeBounds
from symroof.proof.step import Reason, Step
from symroof.symbols import expression, fraction, rational

# What is drawn beside the times of the resources.
BOUNDS = ("T_lower", "T_steps", "T_upper")
Times = Mapping[str, Expr]


class LongestTime(Steps):
    """That one time is the longest: a step for each of the others says that it does not exceed it."""

    @property
    def time(self) -> str:
        left = self.all("longest")[0].left
        assert isinstance(left, Name)
        return left.name


class FewChips(Frozen):
    """A number of chips that is no ring: the throughput and the peak with its own wiring, and what takes longest."""

    chips: int
    throughput: float
    peak: float
    longest: LongestTime


class Stretch(LongestTime):
    """A range of a size on which one time is the longest. ``first`` is the least whole size of it, where another time is
    the longest before it."""

    @property
    def ends(self) -> tuple[Fraction, Fraction]:
        low, high = (a.right for a in self.all("longest")[0].assumed(">=", "<="))
        assert isinstance(low, Number) and isinstance(high, Number)  # noqa: PT018
        return low.value, high.value

    @property
    def first(self) -> int | None:
        bound = self.formula("smallest")
        return bound.right.value.numerator if isinstance(bound, Compare) and isinstance(bound.right, Number) else None


class Curve(Frozen):
    """Quantities over one size: ``xs`` are its values, ``values`` the other sizes, ``lines`` the quantities by name.
    ``stretches`` say which time is the longest where, none where that was not solved; ``few`` are numbers of chips below the
    least ring.

    ``ceiling`` is the supremum of the throughput where it is never the peak, and it is ``attained`` or only approached.
    """

    values: Mapping[str, Fraction]
    xs: tuple[float, ...]
    lines: Mapping[str, tuple[float, ...]]
    stretches: tuple[Stretch, ...] = ()
    few: tuple[FewChips, ...] = ()
    ceiling: float | None = None
    attained: bool = False

    def points(self, name: str) -> list[tuple[float, float]]:
        """One of the quantities over the size."""
        return list(zip(self.xs, self.lines[name], strict=True))

    def longest(self, size: float) -> str:
        """The time of a resource that is the longest at a size."""
        if self.stretches:
            return next((s.time for s in reversed(self.stretches) if float(s.ends[0]) <= size), self.stretches[0].time)
        at = self.xs.index(size)
        times = {name: ys[at] for name, ys in self.lines.items() if name.startswith("T_") and name not in BOUNDS}
        return max(times, key=times.__getitem__)

    @property
    def bound(self) -> float | None:
        """The size from which on arithmetic takes longest, where something else does before."""
        last = self.stretches[-1] if len(self.stretches) > 1 else None
        return float(last.ends[0]) if last is not None and last.time == "T_math" else None

    @property
    def first(self) -> int | None:
        """The least whole size beyond the bound."""
        return None if self.bound is None else self.stretches[-1].first


def longest_time(draft: Draft, times: Times, where: tuple[Formula, ...]) -> LongestTime:
    """The longest of some times in numbers."""
    name = max(times, key=lambda name: fraction(times[name]))
    return LongestTime(draft.add(*_not_exceeded(name, times, where)).since(draft))


def stretches(
    draft: Draft, times: Times, x: Expr, ends: tuple[int, int], where: tuple[Formula, ...]
) -> Iterator[Stretch]:
    """The longest of some times in one size, from one end of its axis to the other; nothing where it is not solved for which
    two are equal."""
    start, end = map(Fraction, ends)
    equal = tuple(_equal(times, x, draft.setting))
    if not all(solution.solved for solution in equal):
        return
    turns = {turn for pair in equal for turn in _ends(pair) if start < turn.low and turn.high < end}
    places = (Root(start, start), *sorted(turns, key=lambda turn: turn.low), Root(end, end))
    result: list[tuple[str, Root, Root]] = []
    for before, after in pairwise(places):
        middle = rational((before.high + after.low) / 2)
        name = max(times, key=lambda name: fraction(times[name].subs(x, middle)))
        if result and result[-1][0] == name:
            _, before, _ = result.pop()
        result.append((name, before, after))
    for i, (name, before, after) in enumerate(result):
        low, high = Compare(Name(x.name), ">=", number(before.high)), Compare(Name(x.name), "<=", number(after.low))
        steps = [*_not_exceeded(name, times, (*where, low, high)), *(_first(draft, x.name, before) if i else ())]
        yield Stretch(draft.add(*steps).since(draft))


def _not_exceeded(name: str, times: Times, where: tuple[Formula, ...]) -> Iterator[Step]:
    """That no other time exceeds this one; itself where there is no other."""
    others = [Name(other) for other in times if other != name] or [Name(name)]
    return (Step("resources", Reason.SIDE, Name(name), ">=", other, where, role="longest") for other in others)


def _first(draft: Draft, x: str, turn: Root) -> Iterator[Step]:
    """The least whole size beyond a turn, where that is told by the interval that the turn is in."""
    each = draft.ledger.multiples.of(x)
    first = whole_number(">", turn, each)
    if first is not None:
        beyond, bound = Compare(Name(x), ">", number(turn.high)), Compare(Name(x), ">=", number(first))
        yield Step("resources", Reason.WHOLE, beyond, "<=>", bound, (), WholeBounds(each), role="smallest")


def _equal(times: Times, x: Expr, setting: Setting) -> Iterator[Solution]:
    """Where one of two times is longer than the other."""
    for first, second in combinations(times.values(), 2):
        if (first - second).has(x):
            yield solution_of(first, second, x, setting.least_one)


def _ends(solution: Solution) -> Iterator[Root]:
    """The ends of a solution in numbers: irrational ones by the band that holds them."""
    bands = [tuple(_numbers(band)) for band in solution.bands]
    for value in _numbers(solution.formula):
        low, high = next(((low, high) for low, high in bands if low <= value <= high), (value, value))
        yield Root(low, high)


def _numbers(formula: Formula) -> Iterable[Fraction]:
    ends = (part.right for part in nodes(formula) if isinstance(part, Compare))
    return (fraction(expression(right)) for right in ends)
