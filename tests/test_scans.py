"""Scans: turns that go along a dimension, each of which has a place of what comes from outside and puts what it makes at its
own. Against finite differences and loops, against the same turns written out, and against a repeat that says it in full."""

import re
from random import Random

import pytest
from test_training import counted, require_lawful
from texts import refused

import symroof as sr
from symroof.errors import CheckError, SymroofError
from symroof.model import aliases, backward, chip_costs, kernels, program
from symroof.proof import adjoints
from symroof.reading import programs
from symroof.reading.programs import read_program

HEAD = "input x: bf16[B, T, D]; input h: bf16[B, H]; weight W: bf16[D, H]; weight U: bf16[H, K]; weight V: bf16[H, F]; where K = H; "
CELL = "a = x * W -> bf16[B, H]; b = h * U -> bf16[B, K]; c = b -> bf16[B, H]; s = a + c; g = sigmoid(s)"
RNN = f"{HEAD}scan T as h = g {{ {CELL} }}; y = g * V -> bf16[B, T, F]"
PROGRAMS = {
    "a recurrent network": RNN,
    "the last state alone": HEAD.replace("weight V: bf16[H, F]; ", "") + f"scan T as h = g {{ {CELL} }}",
    "a result of each turn": f"{HEAD}scan T as h = g {{ {CELL}; o = g * V -> bf16[B, F]; p = silu(o) }}",
    "several results": f"{HEAD}scan T as h = g {{ {CELL}; o = g * V -> bf16[B, F] }}; y = o * o -> bf16[B, T]; z = s * g -> bf16[B, T]; v = s + s",
    "used whole as well": f"{HEAD}scan T as h = g {{ {CELL} }}; y = g * V -> bf16[B, T, F]; z = x * W -> bf16[B, T, H]; q = silu(x)",
    "one after the other": f"{HEAD}input m: bf16[B, H]; scan T as h = g {{ {CELL} }}; scan T as m = n {{ n = m * g -> bf16[B, H] }}; y = n * V -> bf16[B, T, F]",
    "of one tensor twice": f"{HEAD}input m: bf16[B, D]; scan T as h = g {{ {CELL} }}; scan T as m = n {{ n = m * x -> bf16[B, D] }}; y = g * V -> bf16[B, T, F]",
    "two states": "input x: bf16[B, T, D]; input h, c: bf16[B, D]; scan T as h = g, c = e { i = sigmoid(x); r = h * i -> bf16[B, D]; e = c + r; t = silu(e); g = t * i -> bf16[B, D] }; y = g * x -> bf16[B, T]",
    "a weight for each place": "input x: bf16[B, D]; weight P: bf16[T, D]; scan T as x = y { m = x * P -> bf16[B, D]; y = silu(m) }",
    "in a repeat": "input x: bf16[B, T, D]; input h: bf16[B, H]; weight W: bf16[D, H]; weight V: bf16[H, D]; repeat 2 as x = z { scan T as h = g { a = x * W -> bf16[B, H]; b = a + h; g = sigmoid(b) }; o = g * V -> bf16[B, T, D]; z = x + o }",
    "in microbatches": f"{HEAD.replace('input h: bf16[B, H]; ', '')}input m: bf16[B, H]; weight Q: bf16[H, J]; weight R: bf16[J, H]; accumulate 2 {{ j = m * Q -> bf16[B, J]; h = j * R -> bf16[B, H]; scan T as h = g {{ {CELL} }}; y = g * V -> bf16[B, T, F] }}",
    "with a fuse in it": f"{HEAD}scan T as h = g {{ a = x * W -> bf16[B, H]; fuse {{ b = h * U -> bf16[B, K]; q = softmax(b); c = q * U -> bf16[B, H] }}; s = a + c; g = sigmoid(s) }}; y = g * V -> bf16[B, T, F]",
    "frozen": f"frozen {HEAD}scan T as h = g {{ {CELL} }}; y = g * V -> bf16[B, T, F]",
    "written out": "input u: bf16[L, D]; weight W: bf16[D, E]; weight V: bf16[E, D]; weight R: bf16[E, T]; input m: bf16[B, D]; repeat L as m = n { b = place(u, L); a = m + b -> bf16[B, D]; h = a * W -> bf16[B, E]; n = h * V -> bf16[B, D]; k = collect(h, L) }; y = k * R -> bf16[L, B, T]",
    "places of slices": "input x: bf16[B, T, G]; input h: bf16[B, D]; where G = 2*D; a = slice(x, G, D); b = slice(x, G, D); scan T as h = g { i = sigmoid(a); f = h * i -> bf16[B, D]; g = f + b }; y = g * g -> bf16[B]",
    "slices of places": "input x: bf16[B, T, G]; input h: bf16[B, D]; where G = 2*D; q = square(x); scan T as h = g { a = slice(q, G, D); b = slice(q, G, D); i = sigmoid(a); f = h * i -> bf16[B, D]; g = f + b }; y = g * g -> bf16[B]",
    "seen whole as well": "input x: bf16[B, T, D]; input h: bf16[B, D]; scan T as h = g { p = x[T -> S] * h -> bf16[B, S]; q = softmax(p); r = q * x[T -> S] -> bf16[B, D]; g = r + x }; y = g * g -> bf16[B]",
    "collected as it is seen": "input x: bf16[B, T, D]; input h: bf16[B, D]; where D = K*N; scan T as h = g { s = x * h -> bf16[B, D]; v = s -> bf16[B, K, N]; g = silu(s) }; y = v * v -> bf16[B, K]",
    "numbers": "input x: bf16[B, 3, D]; input h: bf16[B, D]; scan 3 as h = g { s = x * h -> bf16[B, D]; g = silu(s) }; y = g * x -> bf16[B, 3]",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_are_lawful(name):
    require_lawful(PROGRAMS[name], sizes={"T": 3})


def written_out(text: str, turns: int) -> str:
    """A scan without nested braces, turn by turn: places of what comes from outside, and what they make behind one another."""
    head, _, rest = text.partition("scan T as ")
    carried, _, rest = rest.partition(" { ")
    body, _, tail = rest.partition(" }; ")
    outside = [name for name, labels in declared(head).items() if "T" in labels]
    made = [line.split(" = ")[0] for line in body.split("; ")]
    pairs = [pair.split(" = ") for pair in carried.split(", ")]
    lines, states = list[str](), {enters: enters for enters, _ in pairs}
    for turn in range(turns):
        lines += [f"{name}{turn} = slice({name}, {turns}, 1)" for name in outside if turns > 1]
        places = {name: f"{name}{turn}" if turns > 1 else name for name in outside}
        lines += renamed(body, {name: f"{name}{turn}" for name in made} | places | states)
        states = {enters: f"{leaves}{turn}" for enters, leaves in pairs}
    types = {line.statement.name: line.statement.result for line in read_program(text).forward}
    wanted = [name for name in made if f"{name}_t" in types]  # what is used behind the turns
    for name in wanted if turns > 1 else ():
        labels = ", ".join(str(turns) if dim.label == "T" else dim.label for dim in types[name].dims)
        lines.append(f"{name} = concat({', '.join(f'{name}{turn}' for turn in range(turns))}) -> bf16[{labels}]")
    behind = renamed(tail, {name: f"{name}0" for name in wanted} if turns == 1 else {})
    numbered = "" if turns == 1 else f"{turns}, "
    return "; ".join((head.removesuffix("; "), *lines, *behind)).replace("T, ", numbered).replace(", T]", f", {turns}]")


def renamed(text: str, names: dict[str, str]) -> list[str]:
    return [re.sub(r"\b[a-z]\w*", lambda m: names.get(m.group(), m.group()), line) for line in text.split("; ")]


def declared(head: str) -> dict[str, tuple[str, ...]]:
    names = [part.split(":")[0].split()[-1] for part in head.split(";") if ":" in part]
    program = read_program(head + "; ".join(f"used{name} = relu({name})" for name in names))
    return {str(d.tensor.name): d.tensor.labels for d in program.declared}


def random_scan(seed: int) -> str:
    """A cell that begins with products of the state and of its place; what else it makes is drawn, and what is used behind it."""
    random, lines = Random(seed), ["b = h * U -> bf16[B, D]", "a = x * R -> bf16[B, D]"]
    known = ["a", "b"]
    for i in range(random.randint(1, 4)):
        one, other = random.choice(known), random.choice(known)
        kinds = (f"{one} + {other}", f"{one} * {other} -> bf16[B, D]", f"sigmoid({one})", f"gelu({one})")
        lines.append(f"c{i} = {random.choice(kinds)}")
        known.append(f"c{i}")
    lines += [f"s = {known[-1]} + b", "n = silu(s)", "g = n * V -> bf16[B, H]"]
    tail = random.choice(("y = g * U -> bf16[B, T, D]", "y = s * V -> bf16[B, T, H]", "y = n * n -> bf16[B, T]"))
    heads = "input x: bf16[B, T, C]; input h: bf16[B, H]; weight U: bf16[H, D]; weight R: bf16[C, D]; weight V: bf16[D, H]; "
    return f"{heads}scan T as h = g {{ {'; '.join(lines)} }}; {tail}"


SIZES = {"B": 4, "C": 8, "D": 8, "H": 16}


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("turns", [1, 3])
def test_turns_cost_what_they_cost_written_out(seed, turns):
    """Work, parameters, traffic and what is kept are those of the turns written one after the other; sums over turns alone are
    added up otherwise."""
    text = random_scan(seed)
    other = written_out(text, turns)
    for training in (False, True):
        one = sr.derive(text, on="h100", at={**SIZES, "T": turns}, training=training)
        out = sr.derive(other, on="h100", at=SIZES, training=training)
        for what in ("flops", "params", "saved") if training else ("flops", "params", "ops", "reads", "writes"):
            assert one.value(what) == out.value(what), what


@pytest.mark.thorough
@pytest.mark.part(1)
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("turns", [1, 3])
def test_turns_on_the_chip_move_what_they_move_written_out(seed, turns):
    """In a fuse the weights are read once, places and results once each, and the state at its beginning and its end."""
    text = random_scan(seed)
    head, _, rest = text.partition("scan")
    cell, _, tail = rest.partition(" }; ")
    lines = written_out(text, turns).split("; ")
    first = next(i for i, line in enumerate(lines) if " = " in line)
    other = "; ".join((*lines[:first], f"fuse {{ {'; '.join(lines[first:-1])} }}", lines[-1]))
    one = sr.derive(f"{head}fuse {{ scan{cell} }} }}; {tail}", on="h100", at={**SIZES, "T": turns})
    out = sr.derive(other, on="h100", at=SIZES)
    for what in ("flops", "params", "ops", "reads", "writes"):
        assert one.value(what) == out.value(what), what
    assert one.counts()["sampled"] == 0


@pytest.mark.thorough
@pytest.mark.parametrize("name", PROGRAMS)
def test_chips_share_out_what_turns_do(name):
    """Split along its batch a program does on each of four chips a quarter of what it does on one."""
    text = PROGRAMS[name]
    sizes = {"B": 8, "T": 4, "D": 16, "F": 32, "H": 8, "K": 8, "L": 3, "E": 8, "J": 4, "G": 32, "N": 4}
    sizes = {n: x for n, x in sizes.items() if re.search(rf"\b{n}\b", text) and f"where {n}" not in text}
    split = re.sub(r"\bB\b", "B_X", f"mesh X = 4 on ICI; {text}")
    for training in (False, True):
        one, four = (sr.derive(t, on="tpu-v5p", training=training, at=sizes) for t in (text, split))
        for what in ("flops", "ops", *(["saved"] if training else [])):
            added = training and what == "ops"  # gradients of weights are added up on each chip
            assert added or four.value(f"{what}_per_chip") * 4 == one.value(what), what
        assert {step.check.status for step in four.steps} == {"proved"}


SPLITS = {
    "columns, then rows": "input x: bf16[B, T, D]; input h: bf16[B, H_X]; weight R: bf16[D, H_X]; weight V: bf16[H_X, F]; scan T as h = g { a = x * R -> bf16[B, H_X]; s = a * h -> bf16[B, H_X]; g = tanh(s); y = g * V -> bf16[B, F] }",
    "sharded weights": "input x: bf16[B_X, T, D]; input h: bf16[B_X, H]; weight R: bf16[D_X, H]; scan T as h = g { a = x * R -> bf16[B_X, H]; s = a + h; g = tanh(s) }",
    "an exchange in each turn": "input x: bf16[B, T, D]; input h: bf16[B, H_X]; weight U: bf16[H, K_X]; weight R: bf16[D, K_X]; where K = H; scan T as h = g { w = h -> bf16[B, H]; b = w * U -> bf16[B, K_X]; a = x * R -> bf16[B, K_X]; s = a + b; c = s -> bf16[B, H_X]; g = tanh(c) }; z = g -> bf16[T, B, H]; y = square(z)",
    "on the chip": "input x: bf16[B, T, D_X]; input h: bf16[B, D_X]; weight A: bf16[D_X]; fuse { scan T as h = g { k = h * A -> bf16[B, D_X]; g = k + x } }; y = g * g -> bf16[T, B]",
}


@pytest.mark.thorough
@pytest.mark.part(1)
@pytest.mark.parametrize(
    ("name", "training"), [(name, training) for name in SPLITS for training in (False, True)][:-1]
)  # but for the way back through what stays on the chip
def test_what_turns_exchange_is_simulated(name, training):
    text = f"mesh X on ICI; {SPLITS[name]}"
    assert {step.check.status for step in sr.derive(text, on="tpu-v5p", training=training).steps} == {"proved"}


@pytest.mark.thorough
def test_what_is_exchanged_in_turns_is_exchanged_in_each():
    text = f"mesh X = 4 on ICI; {SPLITS['an exchange in each turn']}"
    one, many = (sr.derive(text, on="tpu-v5p", at=f"B=4,T={turns},D=8,H=16").value("sent_X(w)") for turns in (1, 5))
    assert many == 5 * one > 0
    late = [sr.derive(text, on="tpu-v5p", at=f"B=4,T={turns},D=8,H=16").value("sent_X(z)") for turns in (1, 5)]
    assert late[1] == 5 * late[0] > 0  # what all turns have made goes at once


@pytest.mark.parametrize("turns", ["T", "4"])
def test_the_tokens_of_a_scan_are_those_of_all_turns(turns):
    text = RNN.replace("scan T", f"scan {turns}").replace("T,", f"{turns},").replace(" T]", f" {turns}]")
    found = sr.derive(text, on="h100", at="B=2,D=4,H=5,F=6" + (",T=4" if turns == "T" else ""))
    assert found.value("tokens_per_second") * found.value("T_lower") == pytest.approx(2 * 4)


def test_a_state_has_one_type_in_all_turns():
    text = "input x: bf16[B, T, D]; cache h: fp32[B, D]; scan T as h = g { k = h * x -> fp32[B, D]; g = k + h; y = g * g -> bf16[B] }"
    for dtype in ("caches=bf16", "activations=fp32", "activations=bf16,caches=fp32"):
        found = sr.derive(text, on="h100", dtype=dtype, at="B=2,T=3,D=5")
        assert found.value("size(h)") == found.value("size(g)") == 2 * 5 * (2 if dtype.endswith("=bf16") else 4)


def test_a_state_on_the_chip_is_read_and_written_once():
    cell = "k = h * A -> bf16[B, D]; g = k + x; y = g * g -> bf16[B]"
    heads = "input x: bf16[B, T, D]; input h: bf16[B, D]; weight A: bf16[D]; "
    inside = sr.derive(f"{heads}fuse {{ scan T as h = g {{ {cell} }} }}", on="h100", at="B=2,T=10,D=8")
    outside = sr.derive(f"{heads}scan T as h = g {{ {cell} }}", on="h100", at="B=2,T=10,D=8")
    x, state, weight, y = 2 * 2 * 10 * 8, 2 * 2 * 8, 2 * 8, 2 * 2 * 10
    assert (inside.value("reads"), inside.value("writes")) == (x + state + weight, state + y)
    assert outside.value("flops") == inside.value("flops")
    assert outside.value("reads") > x + 10 * (state + weight)


def test_what_turns_collect_is_written_in_each_whatever_it_is_seen_as():
    head = "input x: bf16[B, T, D]; input h: bf16[B, D]; where D = K*N; fuse { scan T as h = g { s = x * h -> bf16[B, D]; {} } }; y = {} * {} -> bf16[B]"
    plain = head.replace("{}", "g = silu(s)", 1).replace("{}", "s")
    seen = head.replace("{}", "v = s -> bf16[B, K, N]; g = silu(s)", 1).replace("{}", "v")
    one, other = (sr.derive(text, on="h100", at="B=2,T=10,K=2,N=4") for text in (plain, seen))
    assert one.value("writes") == other.value("writes") == 2 * (2 * 10 * 8 + 2 * 8 + 2)


FAULTS = {
    "a place is read once": (kernels.Load, "repeats", property(lambda one: one.line.launched)),
    "weights are read in every turn": (kernels.Load, "repeats", property(lambda one: one.line.repeats)),
    "results are written once": (kernels, "write_loop", lambda line, program, kept: line.launched),
    "states are written in every turn": (kernels, "write_loop", lambda line, program, kept: line.repeats),
    "a scan has weights for each turn": (program, "weights_of", lambda repeats: repeats),
}
IN_A_FUSE = "input x: bf16[B, T, D]; input h: bf16[B, D]; weight A: bf16[D, E]; where E = D; fuse { scan T as h = g { k = h * A -> bf16[B, E]; l = k -> bf16[B, D]; s = l + x; g = tanh(s) } }; "


@pytest.mark.parametrize("name", FAULTS)
def test_faults_of_costs_are_refused(name, monkeypatch):
    owner, attribute, fault = FAULTS[name]
    texts = [f"{IN_A_FUSE}y = {used} * {used} -> bf16[T, B]" for used in "gx"]  # all states, or the last one
    assert not any(refuted(lambda text=text: sr.derive(text, on="h100")) for text in texts)
    monkeypatch.setattr(owner, attribute, fault)
    assert any(refuted(lambda text=text: sr.derive(text, on="h100")) for text in texts)


def refuted(done) -> bool:
    """Whether the second engine, and nothing else, refuses what is done."""
    try:
        done()
    except CheckError:
        return True
    return False


def of_one_turn(self, scope):
    return self.inputs if scope.accumulates else self.stocks


AROUND = staticmethod(lambda statement, scope: scope)
BACK = {
    "a gradient of a place is added up over turns": (backward._Reverse, "_around", AROUND),
    "gradients of weights are those of one turn": (backward._Reverse, "_own_of_turns", of_one_turn),
    "places are kept twice": (aliases.Memory, "places_of", lambda self, name: (name, "")),
    "what turns make is kept beside what they have made": (aliases.Memory, "collected", {}),
}


@pytest.mark.parametrize("name", BACK)
def test_faults_of_the_backward_pass_are_refused(name, monkeypatch):
    owner, attribute, fault = BACK[name]
    texts = [PROGRAMS["of one tensor twice"], PROGRAMS["several results"], RNN]
    assert not any(refuted(lambda text=text: counted(text)) for text in texts)
    monkeypatch.setattr(owner, attribute, fault)
    assert any(refuted(lambda text=text: counted(text)) for text in texts)


def test_places_that_are_turned_about_are_refused(monkeypatch):
    """The place of a gradient is that of the turn that it is undone of: the adjoint machine has another matrix for each."""
    counted(RNN)
    monkeypatch.setattr(adjoints, "_mirrored", lambda at: at)
    with pytest.raises(CheckError):
        counted(RNN)


STAGED = "input x: bf16[B, D]; weight W: bf16[D, E]; weight V: bf16[E, D]; repeat L over P as x = y { h = x * W -> bf16[B, E]; y = h * V -> bf16[B, D]; k = collect(h, L) }; z = k * k -> bf16[B]"
OF_ITS_OWN = "input x: bf16[B, D]; weight W: bf16[T, D]; repeat T as x = y { p = place(W, T); y = x * p -> bf16[B, D] }"


def test_the_second_engine_refuses_what_turns_do_not_have(monkeypatch):
    """What stages collect is on several chips, and a weight of each turn has no place for the others."""
    with pytest.raises(SymroofError, match="k is of all turns, and these are on several chips of P"):
        sr.derive(STAGED, on="tpu-v5p", mesh="P = 4 on ICI")
    with pytest.raises(SymroofError, match="each turn has a weight W of its own"):
        sr.derive(OF_ITS_OWN, on="h100")
    monkeypatch.setattr(programs, "require_stages", lambda program: None)
    monkeypatch.setattr(chip_costs, "require_stages", lambda program: None)
    monkeypatch.setattr(programs.ProgramReader, "_require_places_of_turns", lambda self, program: None)
    assert refuted(lambda: sr.derive(STAGED, on="tpu-v5p", mesh="P = 4 on ICI"))
    assert refuted(lambda: sr.derive(OF_ITS_OWN, on="h100"))


@pytest.mark.thorough
def test_a_scan_is_a_repeat_of_shared_turns_with_places():
    """Said in full, in another order, with names that the text gives itself."""
    full = HEAD + (
        "repeat T shared as h = e { p = place(x, T); b = h * U -> bf16[B, K]; a = p * W -> bf16[B, H]; c = b -> bf16[B, H]; "
        "s = c + a; e = sigmoid(s); g = collect(e, T) }; y = g * V -> bf16[B, T, F]"
    )
    named = RNN.replace("g = sigmoid(s)", "x_t = sigmoid(s); g_t = square(x_t); g = scale(g_t)")
    longer = full.replace("e = sigmoid(s)", "i = sigmoid(s); j = square(i); e = scale(j)")
    sizes = "B=2,T=3,D=4,H=5,F=6"
    for one, other in ((RNN, full), (named, longer)):
        for training in (False, True):
            found, same = (sr.derive(text, on="h100", training=training, at=sizes) for text in (one, other))
            kept = ("saved", "gradients") if training else ()
            for what in ("flops", "ops", "reads", "writes", "params", "T_lower", "T_steps", "T_upper", *kept):
                assert found.value(what) == same.value(what), what


test_what_is_refused = refused(
    lambda text: sr.derive(text, on="h100"),
    (RNN.replace("bf16[B, T, D]", "bf16[B, T_X, D]").replace("input x", "mesh X on ICI; input x"), "is split along T"),
    (RNN.replace("scan T as", "scan T/2 as"), "a scan goes along a dimension"),
    (RNN.replace("scan T as", "scan 1 as"), "a scan goes along a dimension"),
    (RNN.replace("g = sigmoid(s)", "g = sigmoid(s); e = collect(s, 1)"), "one place is no dimension"),
    (RNN.replace("scan T as", "scan S as"), "T is summed out of a single operand"),
    (RNN.replace("scan T as h = g", "scan T as h = q"), "q is no tensor made inside"),
    (RNN.replace("a = x * W", "e = place(x, D); a = x * W"), "nothing says that there are D turns"),
    (RNN.replace("a = x * W", "e = place(x, H); a = x * W"), "x has no dimension H"),
    (RNN.replace("g = sigmoid(s)", "g = sigmoid(s); e = place(s, H)"), "s is made in the turns"),
    (RNN.replace("g = sigmoid(s)", "g = sigmoid(s); e = collect(s, H)"), "s has dimension H"),
    (RNN.replace("g = sigmoid(s)", "g = sigmoid(s); e = collect(x, T)"), "x is the same in all turns"),
    (RNN.replace("g = sigmoid(s)", "e = collect(s, T); r = square(e); g = sigmoid(s)"), "e is of all turns"),
    (RNN.replace("g = sigmoid(s)", "g = sigmoid(s); e = collect(s, T); f = collect(s, T)"), "s is collected twice"),
    (RNN + "; p = place(x, T)", "is of the turns of a repeat, and there is none"),
    (RNN.replace("a = x * W", "repeat 2 as h = r { r = h + h }; a = x * W"), "a repeat has no place in a scan"),
    (RNN.replace("a = x * W", "e = place(x T); a = x * W"), "',' and a dimension"),
    (RNN.replace("s = a + c", "m = x[T -> S] * W -> bf16[B, S, H]; s = a + c; i = m * m -> bf16[B, T2]"), "T2"),
    ("input x: bf16[B, D]; input m: bf16[B, T, D]; scan T as x = y { p = m[T -> S] * x -> bf16[B, S, D]; q = p[S -> T] * p[S -> T] -> bf16[B, T]; y = x + x }; z = q * q -> bf16[B]", "q has T in each turn"),
)  # fmt: skip
