"""The time of a program with overlap, decided again: which statements overlap, and the bounds of T_steps that follow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import TypeGuard

from symroof.errors import CheckError
from symroof.formula import (
    Both,
    Call,
    Compare,
    Formula,
    Name,
    Negative,
    Number,
    Quotient,
    Sum,
    Verdict,
    names,
    nodes,
    number,
    total,
)
from symroof.proof.adjoints import require_adjoint
from symroof.proof.certificates import Dominance
from symroof.proof.chip_recounts import MeshRun
from symroof.proof.kernel_traffic import Script
from symroof.proof.mesh_facts import busy_times, has_hops
from symroof.proof.polynomials import Poly, Rat
from symroof.proof.propositions import without_cases
from symroof.proof.quotients import Quotients
from symroof.proof.step import Check, Evidence, Ledger, Step, Unknown, refuted
from symroof.proof.whole_numbers import Bounds

Waits = Mapping[tuple[str, str], tuple[Formula, ...]]
STEPS, BUBBLE, LATENCY = map(Name, ("T_steps", "bubble", "T_latency"))


class Schedule(Evidence):
    """Evidence of T_steps: the program, the block around each statement that has one, and what can be busy; ``meshed``
    is its mesh, where the latency of its exchanges counts."""

    counts = True

    script: Script
    blocks: tuple[tuple[str, str], ...]
    resources: tuple[str, ...]
    meshed: MeshRun | None = None

    def examine(self, step: Step, ledger: Ledger) -> Check:
        """The statements of each kernel under the name of the one that pays; those of a block or a fuse as one."""
        require_adjoint(self.script)
        groups: dict[object, list[str]] = {}
        inside: set[str] = set()
        block = dict(self.blocks)
        for op in self.script.ops:
            if self.script.run.payer[op.result] == op.result:
                inside |= {op.result} if any(turn.over for turn in op.turns) else set()
                single = ("fuse", op.fuse) if op.fuse is not None else ("statement", op.result)
                key = ("block", block[op.result]) if op.result in block else single
                groups.setdefault(key, []).append(op.result)
        waits = busy_times(self.meshed, ledger.exact(figures=False)) if self.meshed is not None else {}
        longest = [(group[0] in inside, self._longest(group, ledger, waits)) for group in groups.values()]
        outside, stages = ([part for staged, part in longest if part and staged is side] for side in (False, True))
        exact = ledger.exact(figures=False)
        expected = total(*outside, *((with_wait(total(*stages)),) if stages else ()))
        if not exact.difference(step.right, expected).is_zero():
            raise refuted(step, "these are not the statements that overlap, each with itself")
        return Check("proved", "the program run again")

    def _longest(self, group: list[str], ledger: Ledger, waits: Waits) -> Formula | None:
        parts: list[Formula] = []
        for resource in self.resources:
            used = [time for name in group for time in _busy(resource, name, waits, ledger)]
            parts += [total(*used)] if used else []
        return Call("max", tuple(parts)) if len(parts) > 1 else parts[0] if parts else None


def _busy(resource: str, name: str, waits: Waits, ledger: Ledger) -> tuple[Formula, ...]:
    """The times of a statement on a resource: where the latency of exchanges counts those of each of them."""
    time = Name(f"T_{resource}({name})" if name else f"T_{resource}")
    if resource == "latency" or isinstance(ledger.meanings.get(time.name, Number(Fraction(0))), Number):
        return ()
    return waits.get((resource, name), (time,))


def with_wait(time: Formula) -> Formula:
    """A time of the turns that chips share out, with what they wait: a part of it is the bubble."""
    return Quotient(time, Sum((number(1), Negative(BUBBLE))))


def require_wait(script: Script, resources: Iterable[str], ledger: Ledger, meshed: MeshRun | None) -> None:
    """T_upper has beside its names what exchanges take whose latency counts, and what chips wait for where nothing
    overlaps, and nothing else.

    Raises :class:`~symroof.errors.CheckError` where it has not.
    """
    upper, exact = ledger.definitions.get("T_upper"), ledger.exact(figures=False)
    terms = upper.terms if isinstance(upper, Sum) else () if upper is None else (upper,)
    extra = [term for term in terms if not isinstance(term, Name)]
    staged = {op.result for op in script.ops if any(turn.over for turn in op.turns)}
    exchange_times = busy_times(meshed, exact) if meshed is not None and meshed.latency else {}
    pairs = [(r, n) for n in script.op if n in staged and script.run.payer[n] == n for r in resources]
    times = [time for resource, name in pairs for time in _busy(resource, name, exchange_times, ledger)]
    waits = exact.difference(with_wait(total(*times)), total(*times)) if times else Rat(Poly())
    waits = sum((exact.rational(time) for times_of_pair in exchange_times.values() for time in times_of_pair), waits)
    if not (sum(map(exact.rational, extra), Rat(Poly())) - waits).is_zero():
        raise CheckError("T_upper is not over all that chips wait for, and nothing else")


class Overlap(Evidence):
    """Evidence of T_lower <= T_steps <= T_upper.

    The sum of what one resource takes of each group is at most the sum of the longest of each; and no longest part is
    more than all of its parts, since none of them is negative. A wait makes what it is a part of longer, on both sides
    of what overlaps.
    """

    relations = ("<=",)

    def examine(self, step: Step, ledger: Ledger) -> Check:
        exact, groups = ledger.exact(figures=False), list(_groups(ledger.definitions["T_steps"]))
        every, waiting = ([p for group, waits in groups if waits or not late for p in group] for late in (False, True))
        if not all(exact.is_positive(exact.rational(part)) for part in every):
            raise refuted(step, "a part may not be positive")
        working = Sum((number(1), Negative(BUBBLE)))
        if waiting and not (
            exact.is_positive(exact.rational(BUBBLE), strict=False) and exact.is_positive(exact.rational(working))
        ):
            raise refuted(step, "a wait may be less than none, or all of the time")
        if step.left == STEPS:
            wait = (Negative(total(*waiting)), with_wait(total(*waiting))) if waiting else ()
            holds = exact.difference(step.right, total(*every, *wait)).is_zero()
        elif step.right == STEPS and isinstance(step.left, Name):
            bound, options = ledger.definitions[step.left.name], [[*_sides(group)] for group, _ in groups]
            times = bound.arguments if _is_longest(bound) else (bound,)
            holds = all(self._is_sum_of_parts(time, options, every, ledger, exact) for time in times)
        else:
            raise refuted(step, "this is no bound of T_steps")
        if not holds:
            raise refuted(step, "the parts do not add up")
        return Check("proved", "a maximum of sums is at most the sum of the maxima")

    def _is_sum_of_parts(
        self, time: Formula, options: list[list[Formula]], all_parts: list[Formula], ledger: Ledger, exact: Quotients
    ) -> bool:
        """Whether a time is the sum of one part of each group, of those that have one; or hops that an exchange waits for."""
        if time == LATENCY:
            terms = (term for part in all_parts for term in (part.terms if isinstance(part, Sum) else (part,)))
            return has_hops(ledger, {side for term in terms if _is_longest(term) for side in term.arguments}, exact)
        chosen = (next((part for part in group if _is_of(part, time)), None) for group in options)
        parts = [part for part in chosen if part is not None]
        return bool(parts) and exact.difference(time, total(*parts)).is_zero()


class LongestTimeLimit(Evidence):
    """Evidence of T_lower ~ f: one of its times tends to f, and so does the sum of all of them. T_lower lies between."""

    relations = ("~",)

    time: Name
    own: Dominance
    whole: Dominance

    def examine(self, step: Step, ledger: Ledger) -> Check:
        lower = ledger.definitions["T_lower"]
        times = lower.arguments if isinstance(lower, Call) and lower.function == "max" else (lower,)
        if step.left != Name("T_lower") or self.time not in times:
            raise refuted(step, "this is none of the times that T_lower is the longest of")
        exact = ledger.exact(figures=False)
        if not all(exact.is_positive(exact.rational(time), strict=False) for time in times):
            raise refuted(step, "a time may be negative")
        self.own.examine(replace(step, left=self.time), ledger)
        self.whole.examine(replace(step, left=total(*times)), ledger)
        return Check("proved", "between its longest part and their sum, certificates of dominance multiplied out")


def _groups(steps: Formula, waits: bool = False) -> Iterator[tuple[tuple[Formula, ...], bool]]:
    """What the longest is taken of, for each group, and whether a wait makes it longer."""
    for term in steps.terms if isinstance(steps, Sum) else (steps,):
        if isinstance(term, Quotient) and not waits and term == with_wait(term.above):
            yield from _groups(term.above, waits=True)
        else:
            several = _is_longest(term) and not _is_exchange(term)
            yield (term.arguments if several and isinstance(term, Call) else (term,)), waits


def _is_exchange(time: Call) -> bool:
    """Whether this is the longer of the bytes and the hops of an exchange."""
    return isinstance(time.arguments[-1], Name) and time.arguments[-1].name.startswith("T_hops")


def _sides(group: Iterable[Formula]) -> Iterator[Formula]:
    """The parts of a group; of a sum in which exchanges take the longer of two what it is at least: all of the first, or
    the second."""
    for part in group:
        terms = part.terms if isinstance(part, Sum) else (part,)
        for place in (0, 1) if any(map(_is_longest, terms)) else (0,):
            yield total(*(term.arguments[place] if _is_longest(term) else term for term in terms))


def _is_longest(term: Formula) -> TypeGuard[Call]:
    return isinstance(term, Call) and term.function == "max"


def _is_of(part: Formula, whole: Formula) -> bool:
    """Whether a part is made of the times of statements of one resource."""
    return isinstance(whole, Name) and all(name.startswith(f"{whole.name}(") for name in names(part))


class Exceeds(Evidence):
    """Evidence that T_math is above T_comms, which is the longest of several times: it is above each of them, as the steps
    before have found for each."""

    relations = ("<=>",)

    def examine(self, step: Step, ledger: Ledger) -> Check:
        longest, needed = ledger.definitions.get("T_comms"), list[tuple[Formula, ...]]()
        if step.left != Compare(Name("T_math"), ">", Name("T_comms")) or not isinstance(longest, Call):
            raise refuted(step, "T_comms is not the longest of several times")
        for time in longest.arguments:
            above = Compare(Name("T_math"), ">", time)
            solved = [
                s for s in ledger.established if s.left == above and s.relation == "<=>" and s.point == step.point
            ]
            solved = [s for s in solved if {*s.assumptions} <= {*step.assumptions} and isinstance(s.facts, Unknown)]
            if not solved or longest.function != "max":
                raise refuted(step, f"nothing says when T_math is above {time}")
            needed.append(tuple(dict.fromkeys(s.right for s in solved)))  # each of them is proved
        if not any(_is_same_bound(conjunction(each), step.right) for each in product(*needed)):
            raise refuted(step, "this is not what is known of each time")
        return Check("proved", "above each of several times")


def _is_same_bound(joint: Formula, stated: Formula) -> bool:
    """Whether that is what is said, or of bounds on one size by numbers what they come to."""
    if joint == stated:
        return True
    size = next((part.left for part in nodes(joint) if isinstance(part, Compare)), None)
    bounds = Bounds(size, lambda side: Quotients().rational(side).constant) if isinstance(size, Name) else None
    with suppress(CheckError):
        return bounds is not None and bounds.agree(joint, stated, lambda value: (value,) if value >= 1 else ())
    return False


def conjunction(conditions: Iterable[Formula]) -> Formula:
    """That all conditions hold, without those that always do.

    >>> conjunction((Verdict(True), Compare(Name("B"), ">", Name("C")))), conjunction((Verdict(True), Verdict(False)))
    (Compare(left=Name(name='B'), relation='>', right=Name(name='C')), Verdict(holds=False))
    """
    parts = [part for condition in conditions for part in _parts(condition)]
    left = [condition for condition in dict.fromkeys(parts) if condition != Verdict(True)]
    if Verdict(False) in left or not left:
        return Verdict(not left)
    return left[0] if len(left) == 1 else Both(tuple(left))


def _parts(condition: Formula) -> tuple[Formula, ...]:
    """What has to hold together."""
    whole = without_cases(condition)
    return whole.parts if isinstance(whole, Both) else (whole,)
