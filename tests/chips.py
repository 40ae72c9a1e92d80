"""A mesh of chips with numbers on them: a program is run chip by chip, with the exchanges that it lists and no others.

An entry that a chip does not hold is NaN there. A chip computes from what it holds; collectives move numbers among the
chips of a group, and their bytes are routed chunk by chunk over the links. Nothing of the placement is imported: what is
listed for a statement comes in as a value.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import prod

import numpy as np


class WrongChipError(Exception):
    """A chip does not hold what it should."""


PLAIN = {
    "relu": lambda x: np.maximum(x, 0),
    "gelu": lambda x: x / (1 + np.exp(-1.702 * x)),
    "silu": lambda x: x / (1 + np.exp(-x)),
    "convert": lambda x: x,
    # of an operand and the gradient of the result: any function of the two tells a wrong entry
    "relu'": lambda x, dy: dy * (x > 0),
    "gelu'": lambda x, dy: dy * np.cos(x),
    "silu'": lambda x, dy: dy * np.sin(x),
    "convert'": lambda *arrays: arrays[-1],
}


def plain(statement, arrays):
    """A statement on whole operands, without what the rows need of each other."""
    names = [t.labels for t in statement.operands]
    target = statement.result.labels
    if statement.function is not None:
        done = PLAIN[statement.function.name](*(aligned(a, n, names[0]) for a, n in zip(arrays, names, strict=True)))
        return aligned(done, names[0], target)
    if statement.kind == "->":
        return aligned(arrays[0], names[0], target)
    if statement.kind == "*" or len(arrays) == 1:
        done = einsum(arrays, names, target)
        return -done if statement.kind == "-" else done
    first, *rest = (spread(a, n, target) for a, n in zip(arrays, names, strict=True))
    for other in rest:
        first = first + other if statement.kind == "+" else first - other
    return first


def einsum(arrays, names, target):
    """Multiplied and summed; dimensions that no operand has come in as ones."""
    letter = {label: chr(97 + i) for i, label in enumerate(dict.fromkeys(x for n in (*names, target) for x in n))}
    inputs = ",".join("".join(letter[x] for x in n) for n in names)
    return np.einsum(f"{inputs}->{''.join(letter[x] for x in target)}", *arrays)


def aligned(array, labels, target):
    return array.transpose([labels.index(x) for x in target])


def spread(array, labels, target):
    """With the dimensions of the target, of length one where the array has none."""
    array = aligned(array, labels, [x for x in target if x in labels])
    return array[tuple(slice(None) if x in labels else None for x in target)]


@dataclass
class Row:
    """A function over rows, in rounds: each gives one number of a row, which is added up (or the largest is taken) before
    the next. ``known`` are the numbers that the forward pass left."""

    name: str
    length: int
    known: tuple = ()

    def rounds(self, x, dy, axis):
        """Each round is a function of the numbers so far, and how they are joined."""
        n = self.length

        def total(values):
            return values.sum(axis, keepdims=True)

        if self.name == "softmax":
            return [(np.max, lambda m: x.max(axis, keepdims=True)), (np.sum, lambda m: total(np.exp(x - m[0])))]
        if self.name == "softmax'":
            return [(np.sum, lambda m: total(x * dy))]  # x is the result that was kept
        if self.name == "layer_norm":
            return [(np.sum, lambda m: total(x) / n), (np.sum, lambda m: total(x * x) / n)]
        if self.name == "layer_norm'":
            return [(np.sum, lambda m: total(dy) / n), (np.sum, lambda m: total(dy * self.centred(x)) / n)]
        if self.name == "rms_norm":
            return [(np.sum, lambda m: total(x * x) / n)]
        return [(np.sum, lambda m: total(dy * x) / n)]

    def centred(self, x):
        mean, square = self.known
        return (x - mean) / np.sqrt(square - mean**2 + 0.1)

    def value(self, x, dy, m):
        if self.name == "softmax":
            return np.exp(x - m[0]) / m[1]
        if self.name == "softmax'":
            return x * (dy - m[0])
        if self.name == "layer_norm":
            return (x - m[0]) / np.sqrt(m[1] - m[0] ** 2 + 0.1)
        if self.name == "layer_norm'":
            return dy - m[0] - self.centred(x) * m[1]
        if self.name == "rms_norm":
            return x / np.sqrt(m[0] + 0.1)
        r = 1 / np.sqrt(self.known[0] + 0.1)
        return r * dy - x * r**3 * m[0]


ROWS = ("softmax", "softmax'", "layer_norm", "layer_norm'", "rms_norm", "rms_norm'")


@lru_cache(maxsize=4096)
def indices(digits, places):
    """The indices of a dimension, one digit for each axis in order and the rest, that have these digits."""
    sizes = [n for _, n in digits]
    every = dict(zip((name for name, _ in digits), np.unravel_index(np.arange(prod(sizes)), sizes), strict=True))
    return np.flatnonzero(np.all([np.ones(prod(sizes), bool), *(every[axis] == at for axis, at in places)], axis=0))


@lru_cache(maxsize=4096)
def grid(digits, box):
    return np.ix_(*(indices(digits, places) for places in box))


@dataclass
class Chips:
    """A run of a program. ``listed`` says for each statement by what its work is divided and what is moved; ``left_out``
    is the place of one exchange, counted through the program, that does not take place."""

    program: object
    listed: tuple
    rest: int = 1
    seed: int = 0
    left_out: int | None = None
    waits: frozenset = frozenset()
    own: dict = field(default_factory=dict)  # name -> chip -> array: what the type declares
    more: dict = field(default_factory=dict)  # name -> chip -> arrays: what was gathered beside it
    numbers: dict = field(default_factory=dict)  # (function, operand) -> chip -> the numbers of its rows
    whole: dict = field(default_factory=dict)  # name -> the unsharded value
    routed: list = field(default_factory=list)  # (move, what each resource carried)
    multiplied: Counter = field(default_factory=Counter)
    counted: int = 0

    def __post_init__(self):
        self.axes = {axis.name: axis for axis in self.program.mesh}
        self.order = list(self.axes)
        self.chips = list(product(*(range(a.chips) for a in self.axes.values())))
        self.size = prod(a.chips for a in self.axes.values()) * self.rest
        self.digits = (*((name, axis.chips) for name, axis in self.axes.items()), ("", self.rest))

    def run(self):
        self._unsharded()
        backward = False
        for place in self.listed:
            if place.line.backward and not backward:
                backward = True
                self._forget()
            self._statement(place)
        for tensor in (*self.program.results, *self._gradients()):
            if str(tensor.name) in self.own:
                self._require(tensor)
        return self

    def _gradients(self):
        return () if self.program.backward is None else self.program.backward.gradients.values()

    def _forget(self):
        weights = {str(t.name) for t in self.program.declared_as("weight")} - {*self.program.keep}
        for name in weights | {*self.program.regather}:
            self.more.pop(name, None)

    def _unsharded(self):
        random = np.random.default_rng(self.seed)
        made = {line.statement.name for line in self.program.lines}
        numbers = {}
        for name, tensor in self.program.arrays.items():
            if name not in made:
                if name not in self.whole:
                    self.whole[name] = random.normal(size=[self.size] * len(tensor.dims))
                self.own[name] = {
                    c: self._cut(self.whole[name], tensor.labels, declared(tensor), c) for c in self.chips
                }
        for line in self.program.lines:
            s = line.statement
            if s.name in self.whole:  # from a run before
                continue
            arrays = [self.whole[str(t.name)] for t in s.operands]
            if s.function is not None and s.function.name in ROWS:
                x, dy, axis = *self._row_operands(s, arrays), s.operands[0].labels.index(s.over)
                key = s.function.name.rstrip("'"), str(s.operands[0].name), s.over
                row, m = Row(s.function.name, self.size, numbers.get(key, ())), []
                for _, one in row.rounds(x, dy, axis):
                    m.append(one(m))
                if not s.function.name.endswith("'"):
                    numbers[key] = m
                done = row.value(x, dy, m) * self._gain(s, arrays)
            elif s.function is not None and s.function.name == "rms_norm_gain'":
                x = s.operands[0]
                done = self._of_a_gain(s, arrays, numbers["rms_norm", str(x.name), x.labels[-1]])
            else:
                done = plain(s, arrays)
            self.whole[s.name] = np.broadcast_to(done, [self.size] * len(s.result.dims))

    def _row_operands(self, statement, arrays):
        """What the rows are made of, and the gradient of the result, with the gain in it."""
        labels, back = statement.operands[0].labels, statement.function.name.endswith("'")
        x, *others = (spread(a, t.labels, labels) for a, t in zip(arrays, statement.operands, strict=True))
        if back and len(others) == 2:
            return x, others[1] * others[0]
        return x, others[-1] if back else None

    def _gain(self, statement, arrays):
        """What a norm is multiplied by."""
        if statement.function.name.endswith("'") or len(arrays) == 1:
            return 1
        return spread(arrays[1], statement.operands[1].labels, statement.operands[0].labels)

    def _of_a_gain(self, statement, arrays, numbers):
        """The gradient of a gain: the normed rows times the gradient, summed. The forward pass left their numbers."""
        labels = statement.operands[0].labels
        x, dy = (aligned(a, t.labels, labels) for a, t in zip(arrays, statement.operands, strict=True))
        normed = Row("rms_norm", self.size).value(x, None, numbers)
        return einsum([normed * dy], [labels], statement.result.labels)

    def _places(self, labels, pairs, chip):
        """The digits of a chip in each dimension."""
        cut = sorted((name, axis, chip[self.order.index(axis)]) for name, axis in pairs)
        return tuple(tuple((axis, at) for name, axis, at in cut if name == label) for label in labels)

    def _box(self, labels, pairs, chip):
        """The indices of each dimension that have the digits of a chip."""
        return [indices(self.digits, places) for places in self._places(labels, pairs, chip)]

    def _grid(self, labels, pairs, chip):
        """The entries that have them in every dimension."""
        return grid(self.digits, self._places(labels, pairs, chip))

    def _cut(self, array, labels, pairs, chip):
        box = self._grid(labels, pairs, chip)
        found = np.full([self.size] * len(labels), np.nan)
        found[box] = array[box]
        return found

    def _statement(self, place):
        s, division = place.line.statement, place.division
        operands = {str(t.name): t for t in s.operands}
        moves = []
        for move in place.moves:  # one of them may be left out
            moves += [(move, self.counted != self.left_out)]
            self.counted += 1
        for name, tensor in operands.items():
            mine = [m for m in moves if m[0].rows is None and str(m[0].tensor.name) == name]
            if mine:
                self._fetch(tensor, division, mine)
        rows = [m for m in moves if m[0].rows is not None]
        row = s.function is not None and s.function.name in ROWS
        held = self._rows(place, rows) if row else {c: self._worked(place, c) for c in self.chips}
        after = [m for m in moves if m[0].rows is None and str(m[0].tensor.name) == s.name]
        for move, done in after:
            held = self._move(move, held, s.result.labels, declared(s.result), done, self._inside(move, after))
        if s.name in self.waits:
            self.own[s.name] = held
            return
        self.own[s.name] = {c: self._cut(held[c], s.result.labels, declared(s.result), c) for c in self.chips}
        self._require(s.result)

    def _inside(self, move, moves):
        """Over several links an all-reduce is a reduce-scatter over the first, which leaves each chip a part to add up over
        the next, and an all-gather back: the parts that the links before this one leave."""
        before = [m for m, _ in moves[: [m for m, _ in moves].index(move)]]
        axes = [a for m in before if m.collective == move.collective == "all-reduce" for a in m.axes]
        return prod(self.axes[a].chips for a in axes)

    def _fetch(self, tensor, division, moves):
        needs = {pair for pair in division if pair[0] in tensor.labels}
        own = declared(tensor)
        sliced = {pair for pair in needs if pair[1] not in {axis for _, axis in own}}
        held = {c: self._cut(self.own[str(tensor.name)][c], tensor.labels, sliced, c) for c in self.chips}
        for move, done in moves:
            held = self._move(move, held, tensor.labels, needs, done)
        mine = self.more.setdefault(str(tensor.name), {c: [] for c in self.chips})
        for c in self.chips:
            mine[c].append(held[c])

    def _held(self, name, chip):
        found = self.own[name][chip]
        for other in self.more.get(name, {}).get(chip, ()):
            found = np.where(np.isnan(found), other, found)
        return found

    def _operands(self, place, chip):
        """The parts of the operands that a chip works on."""
        found = []
        for t in place.line.statement.operands:
            found.append(self._held(str(t.name), chip)[self._grid(t.labels, place.division, chip)])
        return found

    def _put(self, place, chip, part):
        labels = place.line.statement.result.labels
        found = np.full([self.size] * len(labels), np.nan)
        found[self._grid(labels, place.division, chip)] = part
        return found

    def _worked(self, place, chip):
        statement = place.line.statement
        arrays = self._operands(place, chip)
        if statement.contracts:
            every = {x for t in statement.operands for x in t.labels}
            turns = prod(len(i) for i in self._box(sorted(every), place.division, chip))
            self.multiplied[statement.name] = max(self.multiplied[statement.name], turns)
        if statement.function is not None and statement.function.name == "rms_norm_gain'":
            x = statement.operands[0]
            known = self._known(("rms_norm", str(x.name), x.labels[-1]), x, place, chip)
            return self._put(place, chip, self._of_a_gain(statement, arrays, known))
        return self._put(place, chip, plain(statement, arrays))

    def _rows(self, place, moves):
        """Each chip goes through its parts of the rows; their numbers are joined where that is listed."""
        s = place.line.statement
        axis = s.operands[0].labels.index(s.over)
        key = s.function.name.rstrip("'"), str(s.operands[0].name), s.over
        parts = {c: self._row_operands(s, self._operands(place, c)) for c in self.chips}
        x = s.operands[0]
        rows = {c: Row(s.function.name, self.size, self._known(key, x, place, c)) for c in self.chips}
        rounds = {c: rows[c].rounds(*parts[c], axis) for c in self.chips}
        m = {c: [] for c in self.chips}
        for i in range(len(rounds[self.chips[0]])):
            join = rounds[self.chips[0]][i][0]
            one = {c: rounds[c][i][1](m[c]) for c in self.chips}
            for move, done in moves:
                if done:
                    one = {c: join(np.stack([one[o] for o in self._group(c, move.axes)]), axis=0) for c in self.chips}
            for c in self.chips:
                m[c].append(one[c])
        for move, _ in moves:
            if move.rows != len(rounds[self.chips[0]]):
                raise WrongChipError(f"{s.name} adds up {len(rounds[self.chips[0]])} numbers of a row, not {move.rows}")
            numbers = (
                Fraction(str(s.result.dtype.bytes)) * move.rows * one[self.chips[0]].size / self._inside(move, moves)
            )
            self.routed.append((move, routed(move.collective, numbers, [self.axes[a] for a in move.axes])))
        if not s.function.name.endswith("'"):
            self.numbers[key] = {c: [self._numbers_of(n, x, s.over, place, c) for n in m[c]] for c in self.chips}
        return {
            c: self._put(place, c, rows[c].value(*parts[c], m[c]) * self._gain(s, self._operands(place, c)))
            for c in self.chips
        }

    def _numbers_of(self, numbers, tensor, over, place, chip):
        """The numbers of a chip's rows among those of all rows, NaN for the others."""
        axis = tensor.labels.index(over)
        found = np.full([1 if i == axis else self.size for i in range(len(tensor.labels))], np.nan)
        box = self._box(tensor.labels, place.division, chip)
        found[np.ix_(*([0] if i == axis else at for i, at in enumerate(box)))] = numbers
        return found

    def _known(self, key, tensor, place, chip):
        """The numbers that the forward pass left for the rows that a chip works on."""
        axis, box = (
            tensor.labels.index(key[2]) if key[2] in tensor.labels else -1,
            self._box(tensor.labels, place.division, chip),
        )
        at = np.ix_(*([0] if i == axis else one for i, one in enumerate(box)))
        return tuple(n[at] for n in self.numbers.get(key, {}).get(chip, ()))

    def _group(self, chip, axes):
        """The chips that differ from this one along these axes alone."""
        places = [self.order.index(a) for a in axes]
        return [
            other for other in self.chips if all(i in places or other[i] == chip[i] for i in range(len(self.order)))
        ]

    def _move(self, move, held, labels, goal, done, inside=1):
        """A collective: what each chip holds after it."""
        found, kind = {}, move.collective
        ending = {pair for pair in goal if pair[1] in move.axes}
        for c in self.chips:
            group = [held[o] for o in self._group(c, move.axes)]
            if kind in ("all-gather", "all-to-all"):
                one = group[0]
                for other in group[1:]:
                    one = np.where(np.isnan(one), other, one)
            else:
                one = np.sum(group, axis=0)
            found[c] = self._cut(one, labels, ending, c) if kind in ("reduce-scatter", "all-to-all") else one
        if not done:
            return held
        self._route(move, held, found, inside)
        return found

    def _route(self, move, before, after, inside):
        """The message, counted in every group, and its way over the links."""
        n, amounts = prod(self.axes[a].chips for a in move.axes), set()
        for chip in self.chips:
            group = self._group(chip, move.axes)
            had, have = ([~np.isnan(one[o]) for o in group] for one in (before, after))
            if move.collective == "all-gather":
                if np.sum(had, axis=0).max() > 1:
                    raise WrongChipError("chips gather what others hold too")
                amounts |= {int(h.sum()) for h in have} | {n * int(h.sum()) for h in had}
            elif move.collective == "all-to-all":
                if np.sum(had, axis=0).max() > 1:
                    raise WrongChipError("chips hold what others send too")
                pairs = {int((a & b).sum()) for a in had for b in have}
                amounts |= {n * n * one for one in pairs}
            else:
                amounts |= {int(h.sum()) for h in had}
                if move.collective == "reduce-scatter":
                    amounts |= {n * int(h.sum()) for h in have}
        if len(amounts) != 1:
            raise WrongChipError(f"the parts of a {move.collective} are not of one size: {amounts}")
        message = Fraction(amounts.pop()) * Fraction(str(move.tensor.dtype.bytes)) / inside
        self.routed.append((move, routed(move.collective, message, [self.axes[a] for a in move.axes])))

    def _require(self, tensor):
        """Every chip holds what a tensor declares, with complete sums."""
        name, whole = str(tensor.name), self.whole[str(tensor.name)]
        near = 2e-6 * (1 + np.abs(whole).max())
        for c in self.chips:
            box = self._grid(tensor.labels, declared(tensor), c)
            have, want = self.own[name][c][box], whole[box]
            if not (np.abs(have - want) <= near).all():  # false for what is not a number
                raise WrongChipError(f"chip {c} does not hold {tensor} after its statement")


def declared(tensor):
    return {(dim.label, axis) for dim in tensor.dims for axis in dim.axes}


def waiting(listed):
    """The results that are still partial sums after their statement: nothing is listed that adds them up."""
    found = set()
    for place in listed:
        result = place.line.statement.result
        lacking = {axis for label, axis in place.division if label not in result.labels}
        reduced = {a for m in place.moves if m.collective in ("reduce-scatter", "all-reduce") for a in m.axes}
        if lacking - reduced and place.line.backward:
            found.add(str(result.name))
    return frozenset(found)


# Chunks on links: what the busiest direction of a link carries.


def routed(collective, message, axes):
    """What a collective of a message sends over each axis (over the port of a switch), in bytes."""
    n = prod(a.chips for a in axes)
    if n == 1:
        return {}
    if axes[0].wiring == "switch":
        return {axes[0].link: port(collective, message, n)}
    if collective == "all-to-all":
        return across(message, [a for a in axes if a.chips > 1])
    times = 2 if collective == "all-reduce" else 1
    return {name: times * sent for name, sent in around(message / n, [a for a in axes if a.chips > 1]).items()}


def port(collective, message, n):
    """On a switch: chunk after chunk through the port of a chip."""
    sent = Fraction(0)
    for _other in range(1, n):
        sent += message / n**2 if collective == "all-to-all" else message / n
    return 2 * sent if collective == "all-reduce" else sent


def hops(axis, here, there):
    """The ways from one place to another, each the (link, direction) it takes and its part: the shortest one, or half on
    each of two."""
    n = axis.chips
    if not (axis.wiring == "ring" and n > 2):
        step = 1 if there > here else -1
        return [([(i, step) for i in range(here, there, step)], Fraction(1))]
    right, left = (there - here) % n, (here - there) % n
    ways = [([((here + i) % n, 1) for i in range(right)], right), ([((here - i) % n, -1) for i in range(left)], left)]
    best = [way for way, length in ways if length == min(right, left)]
    return [(way, Fraction(1, len(best))) for way in best]


def across(message, axes):
    """Every chip sends a chunk to each other one, along one axis after the other."""
    places, load = list(product(*(range(a.chips) for a in axes))), Counter()
    chunk = message / len(places) ** 2
    for source in places:
        for target in places:
            at = list(source)
            for i, axis in enumerate(axes):
                if at[i] != target[i]:
                    for way, part in hops(axis, at[i], target[i]):
                        for link in way:
                            load[axis.name, tuple(at[:i] + at[i + 1 :]), link] += part * chunk
                at[i] = target[i]
    return {axis.name: max(v for (name, _, _), v in load.items() if name == axis.name) for axis in axes}


def gathered(axis):
    """The chunks that the busiest direction carries while each chip of an axis sends one to all others: half of it each
    way around a ring, all of it to both ends of a line."""
    n, load = axis.chips, Counter()
    for source in range(n):
        if axis.wiring == "ring" and n > 2:
            for i in range(n - 1):
                load[(source + i) % n, 1] += Fraction(1, 2)
                load[(source - i) % n, -1] += Fraction(1, 2)
        else:
            for i in range(source, n - 1):
                load[i, 1] += 1
            for i in range(source, 0, -1):
                load[i, -1] += 1
    return Fraction(max(load.values()))


def around(chunk, axes):
    """Over two axes a part of each chunk goes along the first one first, the rest along the second one: so that both are
    busy alike."""
    if len(axes) == 1:
        return {axes[0].name: chunk * gathered(axes[0])}
    one, other = axes
    first, second = gathered(one), gathered(other)
    # part p: first along one with p chunks, then along the other with p one.chips chunks
    top = other.chips * first - second
    part = top / (top - first + one.chips * second)
    assert 0 <= part <= 1
    busy = part * first + (1 - part) * other.chips * first
    assert busy == part * one.chips * second + (1 - part) * second
    return {one.name: chunk * busy, other.name: chunk * busy}
