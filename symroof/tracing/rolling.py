"""Equal runs of statements as turns of one repeat: layers that a loop of Python wrote one after the other.

Each turn does the same as the one before, with weights of its own; of what it makes one tensor alone goes on, to the next turn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from symroof.formula import Frozen
from symroof.tracing.program_lines import Written

# A turn has at most so many statements.
LONGEST = 512
LOOPS = ("repeat ", "scan ")
Shape = tuple[str, tuple[str, ...]]


class Run(Frozen):
    """Turns: ``enters`` goes into the first of them and ``leaves`` is made of it; ``own`` are the arguments of the first turn with those
    of all turns, ``alike`` those that all have."""

    start: int
    length: int
    times: int
    enters: int
    leaves: int
    last: int
    own: Mapping[int, tuple[int, ...]]
    alike: frozenset[int]


def rolled(
    lines: Sequence[Written], tensors: Sequence[Shape], stocks: frozenset[int], asked: frozenset[int]
) -> tuple[list[Written], frozenset[int], frozenset[int], frozenset[int]]:
    """The lines with every longest run as a repeat; the arguments that the first turn stands for, those that all turns share, and what
    is returned then. ``stocks`` are weights and caches, ``asked`` is returned."""
    found, gone, alike, owned = list(lines), set[int](), set[int](), frozenset[int]()
    while (run := _longest(found, tensors, stocks - alike, asked, owned)) is not None:
        turn = found[run.start : run.start + run.length]
        head = Written(turn[0].depth, f"repeat {run.times} as {{}} = {{}} {{{{", (run.enters, run.leaves))
        inside = [replace(line, depth=line.depth + 1) for line in turn]
        rest = found[run.start + run.length * run.times :]
        rest = [replace(line, uses=tuple(run.leaves if t == run.last else t for t in line.uses)) for line in rest]
        ahead = [
            replace(line, uses=tuple(run.leaves if t == run.last else t for t in line.uses))
            for line in found[: run.start]
        ]
        found = [*ahead, head, *inside, Written(turn[0].depth, "}}"), *rest]
        asked = frozenset(run.leaves if t == run.last else t for t in asked)
        gone |= {t for every in run.own.values() for t in every[1:]}
        alike |= run.alike & stocks
        owned |= run.own.keys()
    return found, frozenset(gone), frozenset(alike), asked


def _longest(
    lines: Sequence[Written],
    tensors: Sequence[Shape],
    stocks: frozenset[int],
    asked: frozenset[int],
    owned: frozenset[int],
) -> Run | None:
    """The run that has most statements; of those the one with the shortest turn."""
    alike: dict[object, int] = {}
    each = (
        (line.depth, line.text, line.typed, line.masked, None if line.result is None else tensors[line.result])
        for line in lines
    )
    said = [alike.setdefault(one, len(alike)) for one in each]
    best: Run | None = None
    for length in range(1, min(LONGEST, len(lines) // 2) + 1):
        for start, same in _repeated(said, length):
            for place in range(start, start + min(length, same - length + 1)):
                times = (same - (place - start)) // length + 1
                if best is not None and times * length <= best.times * best.length:
                    break
                run = _run(lines, place, length, times, tensors, stocks, asked, owned)
                best = run if run is not None else best
    return best


def _repeated(said: Sequence[int], length: int) -> Iterator[tuple[int, int]]:
    """Where lines are those that come so many lines later, and for how long."""
    start = 0
    while start + length < len(said):
        end = start
        while end + length < len(said) and said[end] == said[end + length]:
            end += 1
        if end - start >= length:
            yield start, end - start
        start = max(end, start) + 1


def _run(
    lines: Sequence[Written],
    start: int,
    length: int,
    times: int,
    tensors: Sequence[Shape],
    stocks: frozenset[int],
    asked: frozenset[int],
    owned: frozenset[int],
) -> Run | None:
    """The turns that begin with a line, where they are turns."""
    turns = [lines[start + i * length : start + (i + 1) * length] for i in range(times)]
    if min(line.depth for line in turns[0]) < turns[0][0].depth or _opened(turns[0]) != 0:
        return None
    if not any(" * " in line.text for line in turns[0]) or any(line.text.startswith(LOOPS) for line in turns[0]):
        return None
    around = next((line for line in reversed(lines[:start]) if line.depth < turns[0][0].depth), None)
    if around is not None and around.text.startswith("scan "):
        return None  # what each turn does is said in full
    if any(line.text.startswith("slice(") and not _made_in(turns[0], line.uses[0]) for line in turns[0]):
        return None  # each turn has another part of it
    made = [{line.result: at for at, line in enumerate(turn) if line.result is not None} for turn in turns]
    own: dict[int, tuple[int, ...]] = {}
    alike, carried = set[int](), set[tuple[int, int]]()
    for at in range(length):
        for place, first in enumerate(turns[0][at].uses):
            every = tuple(turn[at].uses[place] for turn in turns)
            if first in made[0]:
                if any(own_made.get(t) != made[0][first] for own_made, t in zip(made, every, strict=True)):
                    return None
            elif len({*every}) == 1:
                alike.add(first)
            elif all(t in before for t, before in zip(every[1:], made, strict=False)):
                places = {before[t] for t, before in zip(every[1:], made, strict=False)}
                if len(places) > 1:
                    return None
                carried.add((first, places.pop()))
            elif len({*every}) == times and stocks.issuperset(every) and own.setdefault(first, every) == every:
                if any(tensors[t] != tensors[first] for t in every):
                    return None
            else:
                return None
    if len(carried) != 1 or alike & owned:  # what each turn around has of its own is not the same in all turns
        return None
    ((enters, place),) = carried
    leaves, last = turns[0][place].result, turns[-1][place].result
    assert leaves is not None
    assert last is not None
    gone = {t for one in made for t in one} - {last}
    after = {t for line in lines[start + times * length :] for t in line.uses} | asked
    inner = all(_stays(turns[i], made[i], turns[i + 1], turns[i][place].result) for i in range(times - 1))
    elsewhere = {t for line in (*lines[:start], *lines[start + times * length :]) for t in line.uses}
    stood = [t for each in own.values() for t in each]
    if len({*stood}) < len(stood) or not elsewhere.isdisjoint(stood):
        return None
    if enters in stocks or enters in alike or tensors[enters] != tensors[leaves] or gone & after or not inner:
        return None
    return Run(start, length, times, enters, leaves, last, own, frozenset(alike))


def _made_in(turn: Sequence[Written], tensor: int) -> bool:
    return any(line.result == tensor for line in turn)


def _stays(turn: Sequence[Written], made: Mapping[int, int], behind: Sequence[Written], leaves: int | None) -> bool:
    """Whether nothing that a turn makes goes on but for one tensor."""
    return not ({t for line in behind for t in line.uses} & made.keys()) - {leaves} and bool(turn)


def _opened(lines: Sequence[Written]) -> int:
    """How many braces stay open."""
    return sum(line.text.count("{{") - line.text.count("}}") for line in lines)
