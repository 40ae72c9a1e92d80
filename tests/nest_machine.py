"""Loop nests run with numbers and with sets of places, point by point, and NumPy beside them, which knows no loop nests.

A :class:`Machine` runs kernels as they are written down: at every point of a domain each operand lies in one of its parts, and
results that have one address are added up. An :class:`Author` runs the statements of the program with reshape, slices,
concatenate and einsum. :func:`brute` counts what kernels read and write as sets.
"""

from itertools import product
from zlib import crc32

import numpy as np

from symroof.loopnest.costs import accesses
from symroof.loopnest.nests import Domain, Kernel
from symroof.model.nodes import Fuse, Repeat, Statement
from symroof.model.sliding import slid, stride_of

SMALL = 1e-3


def numbers(*name, shape):
    """The same numbers for the same name, none near zero."""
    return np.random.default_rng(crc32(repr(name).encode())).uniform(0.5, 1.5, shape)


# ---- functions, with derivatives: of the operand x, the result y, or the divisor

ELEMENTWISE = {
    "relu": (lambda x: np.maximum(x - 0.9, 0), lambda y, d: d * (y > 0)),
    "gelu": (lambda x: x * np.tanh(x), lambda x, d: d * (np.tanh(x) + x / np.cosh(x) ** 2)),
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), lambda y, d: d * y * (1 - y)),
    "silu": (lambda x: x / (1 + np.exp(-x)), lambda x, d: d * (1 + x / (1 + np.exp(x))) / (1 + np.exp(-x))),
    "softplus": (lambda x: np.log(1 + np.exp(x)), lambda x, d: d / (1 + np.exp(-x))),
    "tanh": (np.tanh, lambda y, d: d * (1 - y * y)),
    "exp": (lambda x: np.exp(np.clip(x, None, 2)), lambda y, d: d * y * (y < np.exp(2))),
    "log": (lambda x: np.log(np.abs(x)), lambda x, d: d / x),
    "convert": (lambda x: x, lambda d: d),
    "shift": (lambda x: x + 0.5, None),
    "quantize": (lambda x: x, None),
    "square": (lambda x: x * x, lambda x, d: 2 * x * d),
    "sqrt": (lambda x: np.sqrt(np.abs(x)), lambda y, d: d / 2 / y),
    "rsqrt": (lambda x: np.abs(x) ** -0.5, lambda y, d: -d * y**3 / 2),
    "reciprocal": (lambda x: 1 / x, lambda y, d: -d * y * y),
    "divide": (lambda x, z: x / z, lambda z, *yd: yd[0] / z if len(yd) == 1 else -yd[1] * yd[0] / z),
    "ema": (lambda x, z: 0.5 * x + 0.5 * z, lambda d: 0.5 * d),
}
LINEAR = lambda x, *others: 0.5 * x  # noqa: E731


def softmax(x, keep, axis):
    top = np.where(keep, x, x.min()).max(axis, keepdims=True)
    e = np.exp(np.minimum(x - top, 0)) * keep
    return e / np.maximum(e.sum(axis, keepdims=True), 1e-30)


def mean(x, keep, axis):
    return (x * keep).sum(axis, keepdims=True) / np.maximum(keep.sum(axis, keepdims=True), 1)


def rms_norm(x, keep, axis, gain=1.0):
    return x * keep / np.sqrt(mean(x * x, keep, axis) + SMALL) * gain


def layer_norm(x, keep, axis, gain=1.0, shift=0.0):
    return (rms_norm(x - mean(x, keep, axis), keep, axis, gain) + shift) * keep


ROWS = {"softmax": softmax, "rms_norm": rms_norm, "layer_norm": layer_norm}


def back_through_rows(name, x, keep, axis):
    """The derivative of a function of rows, or of its gain: of what it reads and the gradient of the result."""
    *read, d = x
    if name == "softmax'":
        return read[0] * (d - (d * read[0] * keep).sum(axis, keepdims=True))
    centred = read[0] - mean(read[0], keep, axis) if name.startswith("layer") else read[0]
    square = mean(centred**2, keep, axis) + SMALL
    normal = centred / np.sqrt(square)
    if name.endswith("_gain'"):
        return normal * d
    back = d * read[1] if len(read) > 1 else d * np.ones(keep.shape)
    back = (back - normal * mean(back * normal, keep, axis)) / np.sqrt(square)
    return back - mean(back, keep, axis) if name.startswith("layer") else back


def computed(name, x, keep, axis):
    """An operation at all points of a domain, on the values of its operands."""
    if name.endswith("'") and name[:-1].removesuffix("_gain") in ROWS:
        return back_through_rows(name, x, keep, axis)
    if name.endswith("'") and name[:-1] in ELEMENTWISE:
        return ELEMENTWISE[name[:-1]][1](*x)
    if name in ROWS:
        return ROWS[name](x[0], keep, axis, *x[1:])
    if name == "zeros":
        return np.zeros(keep.shape)
    if name in ("contraction", "*"):
        return np.prod(np.broadcast_arrays(*x), axis=0)
    if name in ("+", "sum", "max"):
        return sum(x)
    if name == "-":
        return -x[0] if len(x) == 1 else x[0] - sum(x[1:])
    if name in ("copy", "rearrange", "windows", "pass", "rearrange'", "windows'", "broadcast"):
        return x[0]
    return ELEMENTWISE.get(name, (LINEAR, None))[0](*x)


def rows_named(numbers, rows):
    """The rows of a table that numbers name."""
    return (numbers * 7).astype(int) % rows


# ---- the machine


class Sizes(dict):
    """Sizes, and the values of polynomials in them, which are whole."""

    def __call__(self, value):
        found = value.at(self)
        assert found == int(found), f"{value} is not whole"
        return int(found)


class Machine:
    """The kernels of a module with numbers: a frame is what a buffer holds of one turn."""

    def __init__(self, module, sizes, given=None):
        self.module, self.size, self.given, self.frames = module, Sizes(sizes), given or {}, {}
        self.makers = {}
        for kernel in module.kernels:
            for statement in kernel.body:
                self.makers.setdefault(statement.result.buffer, []).append((kernel, statement))

    def frame(self, name, turns=()):
        if (name, turns) not in self.frames:
            size = self.size(self.module.buffers[name].size)
            if name in self.makers:
                found = np.zeros(size)
                for kernel, statement in self.makers[name]:
                    self.run(kernel, statement, turns, found)
            else:
                found = self.outside(name, turns, size)
            self.frames[name, turns] = found
        return self.frames[name, turns]

    def outside(self, name, turns, size):
        if (name, turns) in self.given:
            return self.given[name, turns]
        if self.module.buffers[name].role == "gradient" and name.endswith(".before"):
            return np.zeros(size)
        return numbers(name, turns, shape=size)

    def run(self, kernel, statement, turns, out):
        here = {}
        for (axis, shift), turn in zip(statement.result.turns, turns, strict=True):
            if axis is None and self.size(shift) != turn:
                return
            here |= {} if axis is None else {axis: turn - self.size(shift)}
        axes = [axis for axis in (*kernel.launches, *statement.domain.axes) if axis.name not in here]
        every = {axis.name: self.size(axis.size) for axis in (*kernel.launches, *statement.domain.axes)}
        assert all(0 <= turn < every[axis] for axis, turn in here.items())
        indices = np.indices([every[axis.name] for axis in axes])
        at = here | {axis.name: index for axis, index in zip(axes, indices, strict=True)}
        keep = self.kept(statement, at) * np.ones(indices.shape[1:])
        over = [axis.name for axis in axes].index(statement.operation.over) if statement.operation.over in at else None
        values = [self.value(operand, at, indices.shape[1:], statement) for operand in statement.operands]
        if statement.operation.name.startswith("lookup"):
            row = statement.operation.over
            numbers, taken = (values[-1], statement.table) if statement.table else (values[0], statement.operands[1])
            found = self.value(taken, at, indices.shape[1:], statement) * (rows_named(numbers, every[row]) == at[row])
        else:
            found = computed(statement.operation.name, values, keep, over)
        places = self.address(statement.result, at) + np.zeros(indices.shape[1:], int)
        keep = keep * self.within(statement.result, at)
        if statement.operation.name == "max":
            np.maximum.at(out, places[keep > 0], found[keep > 0])
        else:
            there = np.broadcast_to(keep, places.shape) > 0
            np.add.at(out, places[there], np.broadcast_to(found, places.shape)[there])

    def kept(self, statement, at):
        keep = 1
        for stair in statement.domain.stairs:
            gap = at[stair.column] - at[stair.row] - self.size(stair.shift)
            keep = keep * (gap <= 0) * (1 if stair.window is None else gap > -self.size(stair.window))
        return keep

    def address(self, access, at):
        return self.size(access.offset) + sum(self.size(stride) * at[axis] for axis, stride in access.strides)

    def within(self, access, at):
        inside = np.ones((), bool)
        for guard in access.within:
            place = sum(self.size(places) * at[axis] for axis, places in guard.axes)
            inside = (
                inside & (place >= self.size(guard.first)) & (place < self.size(guard.first) + self.size(guard.length))
            )
        return inside

    def value(self, operand, at, shape, statement):
        """What lies at every point: in one of the parts; zeros around what windows slide over."""
        found, parts = np.zeros(shape), np.zeros(shape, int)
        for access in operand:
            inside = self.within(access, at) & np.ones(shape, bool)
            places = self.address(access, at) + np.zeros(shape, int)
            coordinates = [
                (at[axis] if axis else 0) + self.size(shift) + np.zeros(shape, int) for axis, shift in access.turns
            ]
            for turns in {*zip(*(c[inside].tolist() for c in coordinates), strict=True)} if coordinates else {()}:
                here = inside & np.all([c == t for c, t in zip(coordinates, turns, strict=True)], axis=0)
                if here.any():
                    found[here] = self.frame(access.buffer, turns)[places[here]]
            parts += inside
        assert (parts == 1).all() or ((parts <= 1).all() and statement.operation.name.startswith("windows")), (
            statement.name
        )
        return found


# ---- NumPy


class Author:
    """The statements of a program, run as they are written, with arrays that have the dimensions of their types."""

    def __init__(self, program, module, sizes, machine):
        self.program, self.machine, self.results, self.begun = program, machine, {}, {}
        self.sizes = {label: self.number(label, sizes) for label in self.labels()}
        self.body(program.body, {}, ())

    def labels(self):
        tensors = self.program.arrays.values()
        windows = (line.statement.mask.window for line in self.program.forward if line.statement.mask)
        return {*(label for tensor in tensors for label in tensor.labels), *filter(None, windows)}

    def number(self, label, sizes):
        from symroof.model.accesses import Layout

        self.layout = getattr(self, "layout", None) or Layout(self.program)
        return Sizes(sizes)(self.layout.size(label))

    def body(self, nodes, names, turns, fuse=None, repeats=()):
        for node in nodes:
            if isinstance(node, Statement):
                self.statement(node, names, turns, fuse, repeats)
            elif isinstance(node, Repeat):
                entering = {enters: self.look(enters, names, turns, repeats) for enters in node.enters}
                outer = dict(names)
                for turn in range(self.machine.size(self.layout.polynomial(self.times(node)))):
                    inner = {**outer, **{n: v for n, v in names.items() if n not in node.enters}, **entering}
                    self.body(node.body, inner, (*turns, turn), fuse, (*repeats, node))
                    entering = {enters: inner[leaves] for enters, leaves in node.carried}
                    names.update({n: v for n, v in inner.items() if n not in node.enters})
            else:
                self.body(node.body, names, turns, node if isinstance(node, Fuse) else fuse, repeats)

    @staticmethod
    def times(node):
        from symroof.symbols import expression

        return expression(node.times)

    def shape(self, labels):
        return [self.sizes[label] for label in labels]

    def look(self, name, names, turns, repeats):
        if name in names:
            return names[name]
        declared = self.layout.declared[name]
        own = (
            {*map(id, self.program.copies(declared.tensor))}
            if declared.role != "input"
            else {id(r) for r in repeats if r.accumulates}
        )
        mine = tuple(turn for repeat, turn in zip(repeats, turns, strict=True) if id(repeat) in own)
        labels = declared.tensor.labels
        return self.machine.outside(name, mine, int(np.prod(self.shape(labels)))).reshape(self.shape(labels))

    def statement(self, s, names, turns, fuse, repeats):
        x = [self.look(str(t.name), names, turns, repeats) for t in s.operands]
        labels, result = [list(t.labels) for t in s.operands], list(s.result.labels)
        form = "->" if s.kind == "->" else s.how
        if form:
            found = getattr(self, {"->": "exchange"}.get(form, form))(s, x, labels, result, turns)
        else:
            found = self.calculated(s, x, labels, result, fuse)
            self.results[s.name, turns] = found
        names[s.name] = found

    @staticmethod
    def ordered(x, labels, result):
        return np.transpose(x, [labels.index(label) for label in result])

    def exchange(self, s, x, labels, result, turns):
        return self.ordered(x[0], labels[0], result)

    def view(self, s, x, labels, result, turns):
        return self.ordered(x[0], labels[0], result) if {*result} == {*labels[0]} else x[0].reshape(self.shape(result))

    def slice(self, s, x, labels, result, turns):
        new = [label for label in result if label not in labels[0]]
        length, key = (self.sizes[new[0]] if new else 1), (str(s.operands[0].name), s.cut, turns)
        first = self.begun.get(key, 0)
        self.begun[key] = first + length
        axis = labels[0].index(s.cut)
        found = np.take(x[0], range(first, first + length), axis)
        if not new:
            return self.ordered(found.squeeze(axis), [label for label in labels[0] if label != s.cut], result)
        return self.ordered(found, [new[0] if label == s.cut else label for label in labels[0]], result)

    def spread(self, x, labels, result, whole):
        """A part of something joined, in its dimensions: it has its own name for the dimension, or lacks it."""
        own = next((label for label in labels if label not in result), whole if whole in labels else None)
        if own is None:
            x, labels = x[None], [whole, *labels]
        return self.ordered(x, [whole if label == own else label for label in labels], result)

    def concat(self, s, x, labels, result, turns):
        whole = next(
            a for a in result if any(a not in one for one in labels) or len(labels) * self.sizes[a] == self.sizes[a]
        )
        return np.concatenate(
            [self.spread(a, own, result, whole) for a, own in zip(x, labels, strict=True)], result.index(whole)
        )

    def append(self, s, x, labels, result, turns):
        found, behind = x[0].copy(), self.spread(x[1], labels[1], labels[0], s.grown)
        axis = labels[0].index(s.grown)
        np.moveaxis(found, axis, 0)[found.shape[axis] - behind.shape[axis] :] = np.moveaxis(behind, axis, 0)
        return self.ordered(found, labels[0], result)

    def place(self, s, x, labels, result, turns):
        axis = labels[0].index(s.along)
        return self.ordered(np.take(x[0], turns[-1], axis), [a for a in labels[0] if a != s.along], result)

    def collect(self, s, x, labels, result, turns):
        found = self.begun.setdefault((s.name, turns[:-1]), np.zeros(self.shape(result)))
        there = self.ordered(x[0], labels[0], [label for label in result if label != s.along])
        np.moveaxis(found, result.index(s.along), 0)[turns[-1]] = there
        return found

    def keep(self, s, labels, fuse):
        """Which of the pairs of a mask there are, over all dimensions."""
        lengths, masks = self.shape(labels), () if fuse is None else fuse.masks
        mask = next((mask for mask in masks if mask.labels <= {*labels}), None)
        if mask is None:
            return np.ones(lengths)
        row, column = (np.indices(lengths)[labels.index(label)] for label in (mask.rows, mask.columns))
        gap = column - row - (0 if mask.from_first else self.sizes[mask.columns] - self.sizes[mask.rows])
        return np.ones(lengths) * (gap <= 0) * (gap > -self.sizes[mask.window] if mask.window else 1)

    def calculated(self, s, x, labels, result, fuse):
        if s.function is not None and s.function.name in ("rearrange", "windows", "lookup"):
            return getattr(self, s.function.name)(s, x, labels, result)
        every = list(dict.fromkeys(label for one in (*labels, result) for label in one))
        wide = [
            self.ordered(a, own, [q for q in every if q in own]).reshape(
                [self.sizes[q] if q in own else 1 for q in every]
            )
            for a, own in zip(x, labels, strict=True)
        ]
        keep = self.keep(s, every, fuse)
        name = s.function.name if s.function is not None else s.kind
        found = computed(
            name, [a * np.ones(self.shape(every)) for a in wide], keep, every.index(s.over) if s.over else None
        )
        summed = tuple(i for i, label in enumerate(every) if label not in result)
        if s.kind == "max" and len(x) == 1:
            found = np.max(np.where(keep > 0, found, 0), summed)
        else:
            found = np.sum(found * keep, summed)
        return self.ordered(found, [label for label in every if label in result], result)

    def rearrange(self, s, x, labels, result):
        return self.view(s, x, labels, result, ())

    def lookup(self, s, x, labels, result):
        made = [*labels[1], *labels[0][1:]]
        return self.ordered(np.take(x[0], rows_named(x[1], len(x[0])), 0), made, result)

    def windows(self, s, x, labels, result):
        found, made = x[0], list(labels[0])
        for slide in slid(s):
            axis, taps = made.index(slide.whole), self.sizes[slide.taps] if slide.taps else 1
            step, places = stride_of(self.program, slide), self.sizes[slide.places]
            padding = [(0, taps + step if i == axis else 0) for i in range(found.ndim)]
            found = np.lib.stride_tricks.sliding_window_view(np.pad(found, padding), taps, axis)
            found = np.take(found, range(0, step * places, step), axis)
            found, made[axis] = (found, slide.places) if slide.taps else (found[..., 0], slide.places)
            made += [slide.taps] if slide.taps else []
        return self.ordered(found, made, result)


# ---- sets


def places(access, axes, stairs, size, here, *, written=False):
    """The places that an access touches, with their turns, over the box of some axes; ``here`` is the launch."""
    used = {axis for axis, _ in (*access.strides, *access.turns)} | {a for g in access.within for a, _ in g.axes}
    met = [s for s in stairs if s.column in access.axes and s.row not in access.axes and not written]
    used |= {stair.row for stair in met}
    names = [axis for axis in axes if axis in used and axis not in here]
    at = here | dict(zip(names, np.indices([axes[name] for name in names]), strict=True))
    machine = Machine.__new__(Machine)
    machine.size = size
    inside = machine.within(access, at) & np.ones([axes[name] for name in names], bool)
    for stair in met:
        inside = inside & (machine.kept(type("S", (), {"domain": Domain((), (stair,))}), at) > 0)
    coordinates = [(at[a] if a else 0) + size(shift) for a, shift in access.turns]
    columns = [np.broadcast_to(c, inside.shape)[inside].tolist() for c in (*coordinates, machine.address(access, at))]
    return {*zip(*columns, strict=True)}


def brute(module, sizes):
    """What kernels read and write of each buffer, as sets, launch by launch: elements by kernel and buffer."""
    size, reads, writes, wanted = Sizes(sizes), {}, {}, {}

    def axes(domain, launches=()):
        return {axis.name: size(axis.size) for axis in (*domain.axes, *launches)}

    def launches(kernel: Kernel):
        names = [axis.name for axis in kernel.launches]
        for turns in product(*(range(size(axis.size)) for axis in kernel.launches)):
            yield dict(zip(names, turns, strict=True))

    def made(kernel, here):
        found = {}
        for s in kernel.body:
            there = places(s.result, axes(s.domain), (), size, here, written=True)
            found.setdefault(s.result.buffer, set()).update(there)
        return found

    for number, kernel in enumerate(module.kernels):
        for here in launches(kernel):
            own, read = made(kernel, here), {}
            for access, s in (*accesses(kernel), *((a, one) for one in kernel.body for a in one.table)):
                there = places(access, axes(s.domain), s.domain.stairs, size, here) - own.get(access.buffer, set())
                wanted.setdefault(access.buffer, set()).update(there)
                if access not in s.table:
                    read.setdefault(access.buffer, set()).update(there)
            for name, there in read.items():
                reads[number, name] = reads.get((number, name), 0) + len(there)
    for domain, operand in module.outputs:
        for access in operand:
            wanted.setdefault(access.buffer, set()).update(places(access, axes(domain), (), size, {}))
    for number, kernel in enumerate(module.kernels):
        beside = {
            s.result.buffer: [i for i, (a, _) in enumerate(s.result.turns) if a not in kernel.turns]
            for s in kernel.body
        }
        for here in launches(kernel):  # what any launch needs all of them write
            for name, there in made(kernel, here).items():
                known = {(*(p[i] for i in beside[name]), p[-1]) for p in wanted.get(name, ())}
                written = sum((*(p[i] for i in beside[name]), p[-1]) in known for p in there)
                writes[number, name] = writes.get((number, name), 0) + written
    return reads, writes
