"""Slices, what is joined, and caches that grow: they lie in memory where other tensors do. Held against finite differences, against
NumPy, and against programs that say it without them."""

import re
from dataclasses import replace
from itertools import count
from math import prod

import numpy as np
import pytest
from test_training import at, counted, random_program, require_lawful

import symroof as sr
from symroof.errors import CheckError, ReadingError, SymroofError
from symroof.model import aliases, backward
from symroof.reading.programs import read_program
from symroof.symbols import expression

GATED = """
input x: bf16[B, D]; weight W: bf16[D, G]; weight V: bf16[F, D]; where G = 2*F
h = x * W -> bf16[B, G]
g = slice(h, G, F)
u = slice(h, G, F)
a = silu(g)
m = a * u -> bf16[B, F]
y = m * V -> bf16[B, D]
"""
TWO_WEIGHTS = """
input x: bf16[B, D]; weight W1, W2: bf16[D, F]; weight V: bf16[F, D]
g = x * W1 -> bf16[B, F]
u = x * W2 -> bf16[B, F]
a = silu(g)
m = a * u -> bf16[B, F]
y = m * V -> bf16[B, D]
"""
PREFIX = """
input x: bf16[B, T, D]; weight m: bf16[B, P, D]; weight W: bf16[D, F]; where U = T + P
c = concat(m, x) -> bf16[B, U, D]
y = c * W -> bf16[B, U, F]
"""
ROTATED = """
input x: bf16[T, D]; input c, s: bf16[T, H]; weight W: bf16[D, H]; weight V: bf16[H, D]; where H = 2*J
q = x * W -> bf16[T, H]
q1 = slice(q, H, J)
q2 = slice(q, H, J)
n = scale(q2)
r = concat(n, q1) -> bf16[T, H]
e = q * c -> bf16[T, H]
f = r * s -> bf16[T, H]
z = e + f
y = z * V -> bf16[T, D]
"""
PROGRAMS = {
    "gated": GATED,
    "prefix": PREFIX,
    "rotated": ROTATED,
    "a part alone": "input x: bf16[B, T, D]; weight W: bf16[D, F]; where T = n + P; l = slice(x, T, n); y = l * W -> bf16[B, n, F]",
    "a part and the whole": "input x: bf16[B, D]; weight W: bf16[D, G]; where G = F + K; h = x * W -> bf16[B, G]; g = slice(h, G, F); s = square(g); p = softmax(h); q = p * p -> bf16[B]; r = s * s -> bf16[B]",
    "a part of a part": "input x: bf16[B, D]; where D = 2*E, E = 2*F; e = slice(x, D, E); f = slice(e, E, F); g = slice(e, E, F); y = f * g -> bf16[B]; z = e * e -> bf16[B]",
    "along two": "input x: bf16[T, D]; where T = P + Q, D = E + F; p = slice(x, T, P); e = slice(x, D, E); y = p * p -> bf16[P]; z = e * e -> bf16[T]",
    "of a weight": "input x: bf16[B, D]; weight W: bf16[D, G]; where G = F + K; w = slice(W, G, F); v = slice(W, G, K); y = x * w -> bf16[B, F]; z = x * v -> bf16[B, K]",
    "joined of what is made": "input x: bf16[B, D]; weight W: bf16[D, F]; weight V: bf16[D, K]; weight U: bf16[G, D]; where G = F + K; a = x * W -> bf16[B, F]; b = x * V -> bf16[B, K]; s = silu(b); c = concat(a, s) -> bf16[B, G]; y = c * U -> bf16[B, D]; z = a * a -> bf16[B]",
    "joined twice": "input x: bf16[B, D]; input u: bf16[B, E]; weight W: bf16[D, D2]; where D2 = D, F = D + E, G = F + D; h = x * W -> bf16[B, D2]; c = concat(h, u) -> bf16[B, F]; d = concat(c, x) -> bf16[B, G]; y = d * d -> bf16[B]; z = c * c -> bf16[B]",
    "in a fuse": "input q: bf16[B, T, H]; cache K: bf16[B, P, H]; input k: bf16[B, T, H]; where S = P + T; fuse { c = concat(K, k) -> bf16[B, S, H]; s = q * c -> bf16[B, T, S]; p = softmax(s, S); o = p * c -> bf16[B, T, H] }",
    "in a fuse and out": "input q: bf16[B, T, H]; cache K: bf16[B, P, H]; input k: bf16[B, T, H]; where S = P + T; fuse { c = concat(K, k) -> bf16[B, S, H]; s = q * c -> bf16[B, T, S]; p = softmax(s, S); o = p * c -> bf16[B, T, H] }; z = c * c -> bf16[B]",
    "repeated": "input x: bf16[B, D]; weight W: bf16[D, G]; weight V: bf16[F, D]; where G = 2*F; repeat 2 as x = y { h = x * W -> bf16[B, G]; g = slice(h, G, F); u = slice(h, G, F); a = silu(g); m = a * u -> bf16[B, F]; v = m * V -> bf16[B, D]; y = x + v }",
    "of what all turns share": "input x: bf16[B, D]; input t: bf16[B, E]; weight W: bf16[D, D2]; where E = 2*D, D2 = D; repeat 2 as x = y { a = slice(t, E, D); b = slice(t, E, D); c = a * b -> bf16[B, D]; h = x * W -> bf16[B, D2]; k = h[D2 -> D] * c -> bf16[B, D]; y = x + k }",
    "what leaves a turn": "input x: bf16[B, D]; weight W: bf16[D, F]; where D = 2*F; repeat 2 as x = y { h = x * W -> bf16[B, F]; g = silu(h); y = concat(h, g) -> bf16[B, D] }; z = y * y -> bf16[B]",
    "made again": "input x: bf16[B, D]; weight W: bf16[D, G]; weight V: bf16[F, D]; where G = 2*F; recompute { h = x * W -> bf16[B, G]; g = slice(h, G, F); u = slice(h, G, F); a = silu(g); m = a * u -> bf16[B, F]; c = concat(a, m) -> bf16[B, G] }; q = square(c); y = m * V -> bf16[B, D]",
    "numbers": "input x: bf16[B, 6]; a = slice(x, 6, 4); b = slice(x, 6, 2); c = concat(b, a) -> bf16[B, 6]; y = c * c -> bf16[B]",
    "seen otherwise": "input x: bf16[B, D]; weight W: bf16[D, E]; where E = 2*F, F = K*H; h = x * W -> bf16[B, E]; a = slice(h, E, F); b = slice(h, E, F); v = a -> bf16[B, K, H]; w = b -> bf16[B, K, H]; y = v * w -> bf16[B, K]; c = concat(b, a) -> bf16[B, E]; r = c -> bf16[B, 2, K, H]; z = r * v -> bf16[B, K, 2]",
    "one place": "input x: bf16[B, T, D]; weight W: bf16[D, F]; where T = 1 + P; l = slice(x, T, 1); y = l * W -> bf16[B, F]",
    "stacked": "input x, z: bf16[B, D]; weight W: bf16[D, F]; c = concat(x, z) -> bf16[2, B, D]; y = c * W -> bf16[2, B, F]",
    "one more": "input x: bf16[B, T, D]; input z: bf16[B, D]; weight W: bf16[D, F]; where U = T + 1; s = square(z); c = concat(s, x) -> bf16[B, U, D]; y = c * W -> bf16[B, U, F]",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_are_lawful(name):
    require_lawful(PROGRAMS[name], tolerance=1e-5)


@pytest.mark.thorough
def test_a_fused_gate_costs_what_two_weights_cost_but_reads_its_input_once():
    sizes = {"B": 8, "D": 64, "F": 96}
    one, other = (sr.derive(text, on="h100", at=sizes) for text in (GATED, TWO_WEIGHTS))
    for name in ("flops", "params", "ops", "writes"):
        assert one.value(name) == other.value(name) - (2 * 8 * 96 if name == "writes" else 0), name
    # x is read once less, and where two weights stand g is written by the one and read by the other
    assert other.value("reads") - one.value("reads") == 2 * 8 * 64 + 2 * 8 * 96
    trained_one, trained_other = (sr.derive(text, on="h100", at=sizes, training=True) for text in (GATED, TWO_WEIGHTS))
    for name in ("flops", "ops", "gradients"):  # the gradients of x that come through two weights are added
        assert trained_other.value(name) - trained_one.value(name) == (8 * 64 if name == "ops" else 0), name
    assert trained_one.value("saved") == trained_other.value("saved")


def test_what_is_made_is_written_into_its_place_and_what_is_declared_is_copied():
    d = sr.derive(PREFIX, on="h100", at="B=2,T=3,P=5,D=4,F=6")
    prefix, x, weight, y = 2 * 2 * 5 * 4, 2 * 2 * 3 * 4, 2 * 4 * 6, 2 * 2 * 8 * 6
    assert d.value("reads") == 2 * (prefix + x) + weight
    assert d.value("writes") == prefix + x + y
    made = "input x: bf16[B, T, D]; weight m: bf16[B, P, D]; weight W: bf16[D, F]; where U = T + P; h = square(x); c = concat(m, h) -> bf16[B, U, D]; y = c * W -> bf16[B, U, F]"
    d = sr.derive(made, on="h100", at="B=2,T=3,P=5,D=4,F=6")
    assert d.value("reads") == x + 2 * prefix + x + weight
    assert d.value("writes") == prefix + x + y


@pytest.mark.thorough
def test_a_fuse_copies_nothing_that_it_alone_uses():
    inside, out = (sr.derive(PROGRAMS[n], on="h100", at="B=2,T=1,P=7,H=4") for n in ("in a fuse", "in a fuse and out"))
    q, cache, new, o = 2 * 2 * 4, 2 * 2 * 7 * 4, 2 * 2 * 4, 2 * 2 * 4
    assert inside.value("reads") == q + cache + new
    assert inside.value("writes") == o
    assert out.value("bytes(c)") == 2 * (cache + new)
    assert out.value("bytes(z)") == cache + new + 2 * 2


GROWN = """
input q: bf16[B, H]; cache K: bf16[B, S, H]; weight W: bf16[H, E]; where E = H
{new}
c = append(K, k, S)
fuse {{
  s = q * c -> bf16[B, S]
  p = softmax(s, S)
  o = p * c -> bf16[B, H]
}}
"""


def test_a_cache_that_grows_is_read_whole_and_its_entries_alone_are_written():
    made = GROWN.format(new="n = q * W -> bf16[B, E]; k = n -> bf16[B, H]")
    d = sr.derive(made, on="h100", at="B=2,S=9,H=4")
    q, cache, entry = 2 * 2 * 4, 2 * 2 * 9 * 4, 2 * 2 * 4
    assert d.value("reads") == q + 2 * 4 * 4 + q + cache
    assert d.value("writes") == entry + q
    declared = GROWN.replace("weight W: bf16[H, E]; where E = H", "input k: bf16[B, H]").format(new="")
    d = sr.derive(declared, on="h100", at="B=2,S=9,H=4")
    assert (d.value("reads"), d.value("writes")) == (entry + q + cache, entry + q)
    with pytest.raises(SymroofError, match="entries appended"):
        sr.derive(declared, on="h100", training=True)


def test_several_entries_have_room():
    text = "input K: bf16[B, S, H]; input k: bf16[B, n, H]; {}c = append(K, k, S); y = c * c -> bf16[B]"
    with pytest.raises(ReadingError, match="nothing says that K has n along S"):
        read_program(text.format(""))
    d = sr.derive(text.format("where S = n + P; "), on="h100", at="B=2,n=3,P=4,H=5")
    assert d.value("bytes(c)") == 2 * 2 * 2 * 3 * 5
    assert d.value("reads(y)") == 2 * 2 * 7 * 5


@pytest.mark.thorough
def test_the_order_of_slices_and_of_statements_changes_nothing():
    lines = GATED.strip().split("\n")
    other = "\n".join([*lines[:2], lines[3], lines[2], *lines[4:]])
    for options in ({}, {"training": True}):
        one, two = (sr.derive(text, on="h100", at="B=8,D=64,F=96", **options) for text in (GATED, other))
        for name in ("flops", "ops", "reads", "writes", *(("saved",) if options else ())):
            assert one.value(name) == two.value(name), name


MESHED = {
    "data parallel": (ROTATED.replace("[T", "[T_X"), True),
    "heads": (GATED.replace("W: bf16[D,", "W: bf16[D_X,").replace("x: bf16[B, D]", "x: bf16[B, D_X]"), False),
    "batch": (PREFIX.replace("[B", "[B_X").replace("[D, F]", "[D, F_Y]").replace("U, F]", "U, F_Y]"), False),
    "a gathered part": (
        re.sub(r"\[B\b", "[B_X", PROGRAMS["joined of what is made"]).replace("[D, F]", "[D_Y, F]"),
        False,
    ),
    "of a part": (PROGRAMS["a part of a part"].replace("[B", "[B_X"), False),
    "of a weight": (PROGRAMS["of a weight"].replace("[D, G]", "[D_X, G]").replace("[B", "[B_Y"), False),
}


@pytest.mark.part(1)
@pytest.mark.parametrize("name", MESHED)
@pytest.mark.parametrize("training", [False, True])
def test_chips_share_out_what_is_cut_and_joined(name, training):
    """Each step is proved on simulated meshes; what is split along its rows alone is shared out evenly."""
    text, shared = MESHED[name]
    d = sr.derive(text, on="tpu-v5e", mesh="X, Y=2 on ICI", training=training)
    assert {step.check.status for step in d.steps} == {"proved"}
    sizes = {"T": 8, "D": 8, "J": 8}
    if shared and not training:
        one = sr.derive(text, on="tpu-v5e", mesh="X, Y=2 on ICI", at={**sizes, "X": 4})
        alone = sr.derive(text.replace("_X", ""), on="tpu-v5e", at=sizes)
        weights = alone.value("weights")  # every chip reads them whole
        assert 4 * one.value("flops_per_chip") == alone.value("flops")
        assert 4 * (one.value("bytes_per_chip") - weights) == alone.value("bytes") - weights


REFUSED = {
    "h = slice(x, D, D)": "D is a dimension of x",
    "h = slice(x, Q, F)": "x has no dimension Q",
    "h = slice(x, D, F)": "nothing says that x has F along D",
    "where D = F + P; h = slice(x, D, F); g = slice(x, D, F)": r"nothing says that x has F \+ F along D: 2 slices",
    "where D = 2*F; h = slice(x, D, F) -> bf16[B, D]": r"slice\(x, D, F\) is bf16\[B, F\]",
    "where D = 2*F; h = slice(x, D)": "how many places",
    "h = concat(x, u)": "h has no type",
    "h = concat(x) -> bf16[B, F]": "joins one tensor",
    "h = concat(x, u) -> bf16[B, F]": r"nothing says that F is D \+ E",
    "where F = D + E; h = concat(x, u) -> bf16[F, B, Q]": "is no part of",
    "where F = D + E; h = concat(x, u) -> fp32[B, F]": "one type",
    "where F = D + E; h = concat(x, v) -> bf16[B, F]": "is no part of",
    "h = append(x, v, D)": "one entry",
    "h = square(x); k = append(h, x, D)": "is no cache|one entry",
    "where D = 2*F; h = slice(w, D, F)": "split along D",
    "where D = F + P; h = slice(x, D, F_X)": "is split",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_does_not_fit_is_refused_with_its_place(text):
    head = "input x: bf16[B, D]; input u: bf16[B, E]; input v: bf16[C, G]; input w: bf16[B, D_X]; mesh X = 2 on ICI; "
    used = "; ".join(f"{name}_used = {name} * {name} -> bf16[{label}]" for name, label in ("xB", "uB", "vC"))
    with pytest.raises(ReadingError, match=REFUSED[text]) as caught:
        read_program(f"{head}{text}; {used}; w2 = w * w -> bf16[B]")
    assert caught.value.span is not None or "line" in str(caught.value)


BESIDE = "input x: bf16[B, D]; weight W: bf16[D, F]; where D = 2*E; e = slice(x, D, E); fuse { h = x * W -> bf16[B, F]; n = e * e -> bf16[B]; z = h * n -> bf16[B, F] }"
WANTED = "input x: bf16[B, D]; weight W: bf16[D, G]; weight Z: bf16[F, K]; where G = F + P; h = x * W -> bf16[B, G]; g = slice(h, G, F); s = softmax(g); z = g * Z -> bf16[B, K]"
PRODUCERS = {  # which copies nothing, reads what is joined as one, a part beside the whole, writes all where a part is wanted
    "copied": (lambda self, line: (), PREFIX),
    "parts": (lambda self, name, repeats=(): (self.root(name, repeats),), PROGRAMS["joined of what is made"]),
    "wholes": (lambda self, name, repeats=(): iter(()), BESIDE),
    "written": (lambda self, wanted: frozenset(o for name in wanted for o in self.origins(name)), WANTED),
}


@pytest.mark.part(len(PRODUCERS))
@pytest.mark.parametrize("name", PRODUCERS)
def test_a_producer_with_a_fault_is_refused(name, monkeypatch):
    change, text = PRODUCERS[name]
    assert {step.check.status for step in counted(text, training=False)} == {"proved"}
    monkeypatch.setattr(aliases.Memory, name, change)
    with pytest.raises(CheckError):
        counted(text, training=False)


@pytest.mark.parametrize("fault", ["swapped", "forgotten", "of one alone"])
def test_a_gradient_of_slices_that_lies_elsewhere_is_refused(fault, monkeypatch):
    honest = backward.backward_of

    def faulty(program):
        found = honest(program)
        *before, one, other = (s for s in found.body if s.undone and s.undone.statement in ("g", "u"))
        assert not before
        changed = {
            "swapped": {one.name: (other.operands[-1],), other.name: (other.operands[0], one.operands[-1])},
            "forgotten": {other.name: other.operands[:1] * 2},
            "of one alone": {other.name: (other.operands[-1],)},
        }[fault]
        body = tuple(replace(s, operands=changed[s.name]) if s.name in changed else s for s in found.body)
        return replace(found, body=body)

    monkeypatch.setattr("symroof.model.transforms.backward_of", faulty)
    with pytest.raises(CheckError):
        counted(GATED)


class Addressed:
    """A program without braces on a chip with a memory of places: what lies somewhere has the same places, and each place that a
    kernel needs is loaded once. A kernel is a contraction with the elementwise statements behind it, as programs say it; it writes
    the places that other kernels, or nobody, need."""

    def __init__(self, text, sizes):
        self.sizes, self.places, self.types, self.new = sizes, {}, {}, count()
        self.made, self.behind, self.reads = {}, {}, {}  # by place its kernel; by kernel what it needs
        self.bytes, self.copied, self.order, self.cursor = {}, 0, {}, {}
        self.used, self.joined = set(), set()
        for line in text.split("\n"):
            words = re.match(r"(input|weight) (.*): (\w+\[.*\])$", line)
            if words:
                for name in words[2].split(", "):
                    self._new(name, words[3], None)
            elif not line.startswith("where"):
                self._run(*line.split(" = ", 1))
        loaded = {k: {p for p in places if self.made[p] != k} for k, places in self.reads.items()}
        returned = [{*places.flat} for name, places in self.places.items() if name not in self.used]
        needed = set().union(*loaded.values(), *returned)
        self.loads = self.copied + sum(self.bytes[p] for places in loaded.values() for p in places)
        kept = (p for places in self.order.values() for p in {*places.flat} & needed)
        self.stores = self.copied + sum(self.bytes[p] for p in kept)

    def _new(self, name, written, kernel):
        dtype, labels = re.match(r"(\w+)\[(.*)\]", written).groups()
        self.types[name] = (dtype, [x for x in labels.split(", ") if x])
        shape = [self.sizes[x] for x in self.types[name][1]]
        self.places[name] = np.array([next(self.new) for _ in range(prod(shape))]).reshape(shape)
        self.made |= dict.fromkeys(self.places[name].flat, kernel)
        self.bytes |= dict.fromkeys(self.places[name].flat, {"bf16": 2, "fp32": 4}[dtype])
        if kernel is not None:
            self.order[name] = self.places[name]

    def _run(self, name, right):
        right, _, written = (part.strip() for part in right.partition("->"))
        operands = [x for x in re.split(r"\W+", right.partition("(")[2].split(")")[0] if "(" in right else right) if x]
        called = right.partition("(")[0] if "(" in right else ""
        if called == "slice":
            x, whole, part = operands
            axis, start = self.types[x][1].index(whole), self.cursor.get((x, whole), 0)
            self.cursor[x, whole] = start + self.sizes[part]
            self.types[name] = (self.types[x][0], [part if label == whole else label for label in self.types[x][1]])
            self.places[name] = np.take(self.places[x], range(start, start + self.sizes[part]), axis)
            operands = [x]
            self.joined |= {name} if x in self.joined else set()
        elif called == "concat":
            labels = re.match(r"\w+\[(.*)\]", written)[1].split(", ")
            axis = next(i for i, x in enumerate(labels) if all(x not in self.types[o][1] for o in operands))
            self.types[name] = (self.types[operands[0]][0], labels)
            self.places[name] = np.concatenate([self.places[o] for o in operands], axis)
            outside = {o for o in operands if all(self.made[p] is None for p in self.places[o].flat)}
            self.copied += sum(self.bytes[p] for o in outside - self.joined for p in self.places[o].flat)
            self.joined.add(name)  # what was copied once is in its place
        else:
            operands = [x for x in operands if x in self.places]
            every = {x for o in operands for x in self.types[o][1]}
            widest = next((self.types[o] for o in operands if {*self.types[o][1]} == every), None)
            written = written or f"{widest[0]}[{', '.join(widest[1])}]"
            contracts = "*" in right and bool(every - {*re.match(r"\w+\[(.*)\]", written)[1].split(", ")})
            kernels = [self.behind[k] for o in operands for p in self.places[o].flat if (k := self.made[p]) is not None]
            last = max((k for k in kernels if k is not None), default=None)
            kernel = last if last is not None and not contracts else len(self.reads)
            self.behind[kernel] = kernel if contracts or last is not None else None
            self._new(name, written, kernel)
            self.reads.setdefault(kernel, set()).update(p for o in operands for p in self.places[o].flat)
        self.used |= {*operands}


TEXTS = [text for text in map(random_program, range(400)) if "slice" in text and "{" not in text]


@pytest.mark.parametrize("text", TEXTS)
def test_what_moves_is_what_moves_between_places(text):
    program = sr.operation(text)
    sizes = dict(zip(program.dimensions, (2, 3, 1, 2, 3, 1, 2, 3), strict=False))
    for name, formula in program.where.items():
        sizes[name] = int(at(expression(formula), sizes))
    run, cost = Addressed(text, sizes), program.cost()
    assert run.loads == at(cost.reads, sizes)
    cut = re.findall(r"slice\((\w+), (\w+)", text)
    if len({*cut}) == len({whole for whole, _ in cut}):
        assert run.stores == at(cost.writes, sizes)
    else:  # of what is cut along several dimensions all is written
        assert run.stores <= at(cost.writes, sizes)


def test_entries_that_are_declared_are_copied_in_a_fuse_too():
    text = "input q, k: bf16[B, H]; cache K: bf16[B, S, H]; fuse { c = append(K, k, S); s = q * c -> bf16[B, S]; p = softmax(s, S); o = p * c -> bf16[B, H] }"
    d = sr.derive(text, on="h100", at="B=2,S=5,H=4")
    assert (d.value("reads"), d.value("writes")) == (16 + 16 + 80, 16 + 16)


def test_what_is_joined_twice_is_copied_once():
    """A tensor cannot be made in two places."""
    text = "input x: bf16[B, D]; input u: bf16[B, P]; input w: bf16[B, Q]; weight V: bf16[D, F]; where E = F + P, G = F + Q; h = x * V -> bf16[B, F]; c = concat(h, u) -> bf16[B, E]; d = concat(h, w) -> bf16[B, G]; y = c * c -> bf16[B]; z = d * d -> bf16[B]"
    d = sr.derive(text, on="h100", at="B=2,D=3,F=5,P=7,Q=11")
    assert d.value("bytes(d)") == 2 * 2 * 2 * (5 + 11)
    assert d.value("bytes(c)") == 2 * 2 * 2 * 7
    assert d.value("writes") == 120
    assert {step.check.status for step in counted(text)} == {"proved"}


def test_a_slice_of_what_is_joined_is_read_with_it():
    text = "input a: bf16[B, P]; input b: bf16[B, Q]; weight W: bf16[U, F]; where U = P + Q, P = F + R; fuse { c = concat(a, b) -> bf16[B, U]; s = slice(c, U, F); h = c * W -> bf16[B, F]; z = h + s }"
    d = sr.derive(text, on="h100", at="B=2,Q=4,F=3,R=2")
    assert d.value("reads") == 2 * 2 * (5 + 4) + 2 * 9 * 3


@pytest.mark.parametrize(
    ("text", "types", "refused"),
    [
        ("input q, k: bf16[B, H]; cache K: bf16[B, S, H]; c = append(K, k, S); y = q * c -> bf16[B, S]", "caches=fp8", True),
        ("input x: bf16[B, D]; weight W: bf16[D, G]; where G = F + P; w = slice(W, G, F); y = x * w -> bf16[B, F]", "weights=int8", False),
        ("input x: bf16[B, D]; weight W: bf16[E, F]; where D = K*H, E = D; v = W -> bf16[K, H, F]; z = x -> bf16[B, K, H]; y = z * v -> bf16[B, F]", "weights=int8", False),
        (PREFIX, "weights=int8", True),
    ],
)  # fmt: skip
def test_what_lies_where_others_do_has_their_type(text, types, refused):
    if refused:
        with pytest.raises(SymroofError, match="would be of"):
            sr.derive(text, on="h100", dtype=types)
        return
    assert "int8" in sr.derive(text, on="h100", dtype=types).to_text()


def test_appended_entries_are_no_slices():
    text = "input q: bf16[B, H]; input k: bf16[B, n, H]; cache K: bf16[B, S, H]; where S = n + P, P = 2*n; c = append(K, k, S); w = slice(c, S, P); v = slice(c, S, n); y = w * q -> bf16[B, P]; z = v * q -> bf16[B, n]"
    assert {step.check.status for step in counted(text, training=False)} == {"proved"}
    twice = "input q, k, l: bf16[B, H]; cache K: bf16[B, S, H]; where S = 2 + P; c = append(K, k, S); d = append(c, l, S); y = d * q -> bf16[B, S]"
    d = sr.derive(twice, on="h100", at="B=2,P=3,H=4")
    assert d.value("reads(y)") == 2 * (2 * 5 * 4 + 2 * 4)
    assert d.value("writes") == 2 * 2 * 2 * 4 + 2 * 2 * 5


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("input x: bf16[B, D]; where E = 2*D; c = concat(x, x) -> bf16[B, E]; y = c * c -> bf16[B]", "stands twice"),
        ("input x, z: bf16[B, D]; weight W: bf16[E, F]; where E = 2*D; y = concat(x, z) * W -> bf16[B, F]", "stands in a longer statement"),
        ("input k: bf16[B, H]; weight K: bf16[B, S, H]; c = append(K, k, S); y = c * c -> bf16[B]", "is no cache"),
    ],
)  # fmt: skip
def test_what_has_no_place_is_refused(text, said):
    with pytest.raises(ReadingError, match=said):
        read_program(text)


def test_of_what_slices_alone_are_wanted_these_are_written():
    """The gradient of a sink of attention, not that of all scores."""
    text = "input q: bf16[B, T, H]; input k: bf16[B, S, H]; weight z: fp32[B, T]; where U = S + 1; fuse { s = q * k -> fp32[B, T, S]; c = concat(s, z) -> fp32[B, T, U]; p = softmax(c, U); r = slice(p, U, S); o = r * k -> bf16[B, T, H] }"
    d = sr.derive(text, on="h100", at="B=2,T=3,S=5,H=4", training=True)
    o, q, k, z = 2 * 2 * 3 * 4, 2 * 2 * 3 * 4, 2 * 2 * 5 * 4, 4 * 2 * 3
    assert d.value("writes") == o + q + k + z
    one = "input x: bf16[B, D]; weight W: bf16[D, G]; weight V: bf16[F, K]; weight Z: bf16[F, K]; where G = 2*F; fuse { h = x * W -> bf16[B, G]; g = slice(h, G, F); u = slice(h, G, F); a = u * V -> bf16[B, K] }; z = g * Z -> bf16[B, K]"
    d = sr.derive(one, on="h100", at="B=2,D=3,F=5,K=2")
    assert d.value("writes") == 2 * (2 * 5 + 2 * 2 + 2 * 2)
