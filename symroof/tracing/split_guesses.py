"""How the tensors of a program are split over a mesh, where only its arguments and some constraints say it: a result keeps the splits of
its operands in the dimensions that it keeps, and what contradicts itself stops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from symroof.tracing.program_lines import Written
from symroof.tracing.traced import Split, TracingError


def split_lines(
    lines: Sequence[Written],
    tensors: Sequence[tuple[str, tuple[str, ...]]],
    splits: dict[int, Split],
    asked: Mapping[int, Split],
    told: Mapping[int, Split],
    stocks: frozenset[int],
) -> list[Written]:
    """The lines with what their results are split by, which is noted in ``splits``. A constraint that changes nothing is left out.
    ``told`` are the splits that need no guess, ``stocks`` weights and caches.
    Raises :class:`TracingError` where two operands are split otherwise, or one axis would split two sizes."""
    if not splits and not asked:
        return list(lines)
    found: list[Written] = []
    same: dict[int, int] = {}
    turns: list[tuple[int, int, Written]] = []
    for line in lines:
        line = replace(line, uses=tuple(same.get(t, t) for t in line.uses))
        if line.text.startswith("repeat "):
            turns.append((line.uses[0], line.uses[1], line))
        if line.result is None:
            found.append(line)
            continue
        guess = told[line.result] if line.result in told else _kept(line, tensors, splits, stocks)
        if line.result in asked:
            if asked[line.result] == guess:
                same[line.result] = line.uses[0]
                continue
            guess = asked[line.result]
        elif _shared(guess):
            both = ", ".join(f"{label}_{axes}" for label, axes in guess.items())
            raise TracingError(
                f"{line.comment}: one axis would split two sizes of a result: {both}",
                expected="a constraint there: jax.lax.with_sharding_constraint",
            )
        splits[line.result] = guess
        found.append(replace(line, uses=tuple(same.get(t, t) for t in line.uses)))
    for enters, leaves, line in turns:
        leaves = same.get(leaves, leaves)
        if splits.get(enters, {}) != splits.get(leaves, {}):
            raise TracingError(
                f"{line.comment or 'a loop'}: what leaves a turn is split otherwise than what enters it",
                expected="a constraint at its end",
            )
    return [replace(line, uses=tuple(same.get(t, t) for t in line.uses)) for line in found]


def _kept(
    line: Written, tensors: Sequence[tuple[str, tuple[str, ...]]], splits: Mapping[int, Split], stocks: frozenset[int]
) -> dict[str, str]:
    """What a result keeps of the splits of its operands; those of weights give way where another operand has the axes, and are
    gathered."""
    assert line.result is not None
    labels, found = tensors[line.result][1], dict[str, str]()
    for operand in sorted(line.uses, key=lambda t: t in stocks):
        own, split = tensors[operand][1], splits.get(operand, {})
        if line.text in ("{}", "rearrange({})") and {*own} != {*labels}:
            return _seen(line, own, labels, split)
        for label in (x for x in labels if x in split):
            taken = {axis for other, axes in found.items() if other != label for axis in axes}
            if operand in stocks and taken & {*split[label]}:
                continue
            if found.setdefault(label, split[label]) != split[label]:
                raise TracingError(
                    f"{line.comment}: {label} is split over {found[label]} and over {split[label]}",
                    expected="operands that are split alike, or a constraint before",
                )
    return found


def _seen(line: Written, own: Sequence[str], labels: Sequence[str], split: Split) -> dict[str, str]:
    """The splits of a tensor in other dimensions: those of sizes that stay, or have another name; of one that is taken apart the outermost
    part has it."""
    before, after = [x for x in own if x not in labels], [x for x in labels if x not in own]
    found = {label: axes for label, axes in split.items() if label in labels}
    lost = [label for label in before if label in split]
    if lost and len(before) == len(after):
        found |= {new: split[old] for old, new in zip(before, after, strict=True) if old in split}
    elif lost == before[:1] and after:
        found[after[0]] = split[lost[0]]
    elif lost:
        raise TracingError(
            f"{line.comment}: {lost[0]} is split, and goes into other sizes", expected="a constraint before"
        )
    return found


def _shared(split: Split) -> bool:
    """Whether one axis splits two sizes."""
    axes = "".join(split.values())
    return len({*axes}) < len(axes)
