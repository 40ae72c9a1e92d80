"""Training: gradients against finite differences, their work against loops, faults of the backward pass at the gate."""

from dataclasses import fields, replace
from fractions import Fraction
from random import Random

import numpy as np
import pytest
from interpreter import Interpreter, interpreter, slopes
from texts import ATTENTION, refused

import symroof as sr
from symroof.derivation import counting
from symroof.derivation.counting import traffic, work
from symroof.derivation.pipeline import first_draft
from symroof.errors import CheckError, SymroofError
from symroof.model import backward, program_quantities, transforms
from symroof.model.program import Program
from symroof.model.program_quantities import amounts
from symroof.model.program_sizes import tokens_of
from symroof.model.tensor_types import dtype
from symroof.proof.step import Reason
from symroof.reading.problems import read_problem
from symroof.reading.programs import read_program
from symroof.symbols import expression, symbol

MLP = """
input  x:  bf16[B, T, D]
weight W1: bf16[D, F]
weight W2: bf16[F, D]
h = x * W1 -> bf16[B, T, F]
a = gelu(h)
y = a * W2 -> bf16[B, T, D]
"""
LAYERS = """
input  x, e: bf16[B, D]
weight g: bf16[D]
weight W1, W3: bf16[D, F]
weight W2: bf16[F, D]
weight We: bf16[V, D]
repeat L as x = z {
  n = rms_norm(x)
  m = n * g -> bf16[B, D]
  h = m * W1 -> bf16[B, F]
  k = m * W3 -> bf16[B, F]
  s = silu(h)
  u = s * k
  v = u * W2 -> bf16[B, D]
  w = v + e
  z = x + w
}
l = z * We -> bf16[B, V]
d = z - x
"""
NESTED = """
input x: fp32[B, D]
weight W: bf16[D, D2]
weight V: bf16[D2, D]
repeat 2 as x = z {
  h = x * W -> fp32[B, D2]
  repeat 2 as h = j {
    t = sigmoid(h)
    i = t * h
    j = i + h
  }
  q = j * V -> fp32[B, D]
  z = q - x
}
"""
BROADCAST = """
input x: bf16[B, T, D]
weight b, g: bf16[D]
weight r: bf16[T]
c = x + b
y = c * g -> bf16[B, T, D]
n = layer_norm(y)
s = n * r * g -> bf16[B, T, D]
q = n * n -> bf16[B, T]
f = g - b
"""
SHARED = """
input x: bf16[B, D]; weight W: bf16[D, D2]; weight b: bf16[B, D2]
fuse {
  h = x * W -> bf16[B, D2]
  a = gelu(h)
  c = a + b
  k = c * W -> bf16[B, D]
}
y = k + x
r = c * c
"""
FUNCTIONS = """
input ids: int32[B, T]
weight E: bf16[V, D]
weight g, k: bf16[D]
weight W: bf16[D, V]
weight M: bf16[D, D2]
x = lookup(E, ids)
n = rms_norm(x, g)
q = square(n)
s = shift(q)
r = divide(n, s)
h = r * M -> bf16[B, T, D2]
f = rearrange(h) -> bf16[B, U, D2]
where U = T
c = n * k -> bf16[B, T, D]
l = c * W -> bf16[B, T, V]
output n, r
"""
INPUTS = "input x: bf16[B, D]; weight W: bf16[D, E]; weight V: bf16[E, D]; "
# Repeats that begin together, and what is made outside of a repeat and used in every turn of it.
AGAIN = "repeat 3 as x = z { repeat 2 as x = u { h = x * W -> bf16[B, E]; "
TOGETHER = f"{INPUTS}{AGAIN}u = h * V -> bf16[B, D] }}; z = square(u) }}"
ACROSS = f"{INPUTS}r = gelu(x); {AGAIN}g = h * V -> bf16[B, D]; u = g + r }}; z = gelu(u) }}"
PROJECTED = f"{INPUTS}r = x * W -> bf16[B, E]; repeat L as x = z {{ h = r * V -> bf16[B, D]; z = x + h }}; "
PROJECTED += "y = z * W -> bf16[B, E]"
PROGRAMS = {"mlp": MLP, "attention": ATTENTION, "layers": LAYERS, "nested": NESTED, "broadcast": BROADCAST}
PROGRAMS |= {
    "repeats that begin together": TOGETHER,
    "used in all turns of two repeats": ACROSS,
    "functions": FUNCTIONS,
}
PROGRAMS |= {"multiplied in all turns of a repeat": PROJECTED, "shared": SHARED}


def trained(text: str) -> Program:
    program = read_program(text)
    assert isinstance(program, Program)
    return transforms.with_backward(program)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_that_changes_has_the_backward_pass_of_what_it_became(name):
    program = trained(PROGRAMS[name])
    wide = transforms.with_stored_types(program, dict.fromkeys(range(len(program.written)), dtype("fp32")))
    for changed in (wide, transforms.split_over(wide, lambda axes: ("Z",) if axes else ())):
        assert changed.backward == backward.backward_of(changed)


def counted(text: str, training: bool = True):
    """The steps that count work and traffic, each decided by the second engine."""
    return traffic(work(first_draft(read_problem({"operation": text, "training": training})))).steps


def run(program: Program, seed: int = 0, fixed: dict[str, int] | None = None):
    random = Random(seed)
    sizes = {name: random.choice((1, 2, 2, 3)) for name in program.dimensions}
    sizes |= {name: size for name, size in (fixed or {}).items() if name in sizes}
    for name, formula in program.where.items():
        sizes[name] = int(at(expression(formula), sizes))
    found = interpreter(program, sizes, seed)
    found.forward()
    draw = np.random.default_rng(seed)
    given = {name: [draw.normal(size=y.shape) for y in ys] for name, ys in found.returned.items()}
    found.backward(given)
    return found, sizes, given


def all_of(program: Program, size: int) -> dict[str, int]:
    """Every size alike, and those that they define."""
    sizes = dict.fromkeys(program.dimensions, size)
    for name, formula in program.where.items():
        sizes[name] = int(at(expression(formula), sizes))
    return sizes


def at(value, sizes):
    return value.subs({symbol(name): size for name, size in sizes.items()})


def random_program(seed: int) -> str:
    """A few statements of all kinds on a few tensors; some in a fuse, some in a repeat."""
    random, sizes, halves = Random(seed), "BDFH", dict(zip("BDFH", "PQRS", strict=True))
    known = {"x": "BD", "u": random.choice(("BD", "D", "BF")), "c": random.choice(("B", "BD", "F"))}
    used, lines, declared, cut, halved = set(), [], [], set[str](), set[tuple[str, str]]()
    for i in range(random.randint(3, 6)):
        name, t = f"t{i}", random.choice(list(known))
        kinds = ("product", "product", "function", "sum", "times", "rows", "join", "cut")
        labels, kind = known[t], random.choice(kinds)
        others = [o for o in known if set(known[o]) <= set(labels) and (o != t or random.random() < 0.2)]
        other = random.choice(others) if others else t
        if kind == "product":
            gone = random.choice(labels)
            new = random.choice([size for size in sizes if size not in labels])
            declared.append(f"weight W{i}: bf16[{gone}, {new}]")
            known[name] = labels.replace(gone, new)
            lines.append((name, f"{t} * W{i} -> bf16[{', '.join(known[name])}]", {t}))
            used.add(t)
            continue
        whole = [label for label in labels if label in halves and (t, label) not in halved]
        if kind == "cut" and whole:
            gone = random.choice(whole)
            cut.add(gone)
            halved.add((t, gone))
            for part in (name, f"{name}b")[: random.randint(1, 2)]:
                known[part] = labels.replace(gone, halves[gone])
                lines.append((part, f"slice({t}, {gone}, {halves[gone]})", {t}))
            same = [o for o in known if o != name and known[o] == known[name] and o not in ("x", "u", "c")]
            if same and random.random() < 0.6 and not any("fp32" in right for _, right, _ in lines):
                known[f"{name}c"] = labels
                other = random.choice(same)
                typed = f"bf16[{', '.join(labels)}]"
                lines.append((f"{name}c", f"concat({name}, {other}) -> {typed}", {name, other}))
                used |= lines[-1][2]
            used.add(t)
            continue
        pairs = [o for o in known if o != t and set(known[o]) & set(labels)]
        if kind == "join" and pairs:
            other = random.choice(pairs)
            both = sorted(set(labels) | set(known[other]))
            gone = random.choice(sorted(set(labels) & set(known[other])))
            known[name] = "".join(label for label in both if label != gone)
            lines.append((name, f"{t} * {other} -> bf16[{', '.join(known[name])}]", {t, other}))
        elif kind == "function" or kind == "join":
            known[name] = labels
            lines.append((name, f"{random.choice(('gelu', 'silu', 'sigmoid'))}({t})", {t}))
        elif kind == "rows":
            known[name] = labels
            function = random.choice(("softmax", "rms_norm", "layer_norm"))
            lines.append((name, f"{function}({t}, {random.choice(labels)})" if labels else f"gelu({t})", {t}))
        else:
            sign, more = (random.choice("+-"), "") if kind == "sum" else ("*", random.choice(("", f" * {other}")))
            known[name] = labels
            dtype = f" -> {random.choice(('bf16', 'bf16', 'fp32'))}[{', '.join(labels)}]"
            lines.append((name, f"{t} {sign} {other}{more}{dtype}", {t, other}))
        used |= lines[-1][2]
        if not known[name]:
            del known[name]
    types = {"x": "BD", "u": known["u"], "c": known["c"]}
    heads = [f"input {name}: bf16[{', '.join(labels)}]" for name, labels in types.items() if name in used]
    body = [f"{name} = {right}" for name, right, _ in lines]
    first = random.randrange(len(body))
    last = random.randint(first, len(body) - 1)
    if random.random() < 0.5:
        body[first : last + 1] = ["fuse {", *body[first : last + 1], "}"]
    elif random.random() < 0.5 and "x" in used:
        names = [name for name, right, _ in lines[: last + 1] if known.get(name) == "BD"]
        names = names if not any("fp32" in right for _, right, _ in lines) else []
        if names:
            last = [name for name, _, _ in lines].index(names[-1])
            later = {o for _, _, operands in lines[last + 1 :] for o in operands}
            inside = {name for name, _, _ in lines[:last]}
            if not later & inside and any("x" in operands for _, _, operands in lines[: last + 1]):
                body[: last + 1] = [f"repeat 2 as x = {names[-1]} {{", *body[: last + 1], "}"]
    where = [f"where {label} = 2*{halves[label]}" for label in sorted(cut)]
    return "\n".join((*heads, *declared, *where, *body))


def require_differences(program, seed=3, tolerance=1e-4, sizes=None):
    """The gradients that a program makes are those of finite differences, and everything is counted in loops."""
    found, sizes, given = run(program, seed, sizes)
    expected = slopes(program, sizes, found.declared, given)
    assert expected.keys() == found.gradients.keys()
    for key, (along, slope) in expected.items():
        gradient = (found.gradients[key] * along).sum()
        np.testing.assert_allclose(gradient, slope, rtol=tolerance, atol=tolerance, err_msg=str(key))
    _held_against(program, found, sizes)


def require_lawful(text, seed=3, **options):
    """What is printed is read back, gradients are those of finite differences, everything is counted in loops, and the second
    engine decides every count, of which those of the backward pass are worked out from the forward one."""
    program = read_program(text)
    assert read_program(str(program)) == program
    require_differences(trained(text), seed, **options)
    for training in (False, True):
        assert {step.check.status for step in counted(text, training=training)} == {"proved"}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_are_lawful(name):
    require_lawful(PROGRAMS[name], tolerance=1e-5)


@pytest.mark.parametrize("seed", range(24))
def test_random_programs_are_lawful(seed):
    require_lawful(random_program(seed), seed)


def _held_against(program: Program, found: Interpreter, sizes: dict[str, int]) -> None:
    """What is multiplied and added in loops, and what the backward pass reads, is what the program says that it is."""
    costs, exact = amounts(program, "fma"), amounts(program, "exact")
    passes = {"flops_forward": program.forward, "flops_backward": program.lines[len(program.forward) :]}
    for name, lines in passes.items():
        contractions = [line.statement.name for line in lines if line.statement.contracts]
        if not program.vector:
            assert at(costs[name], sizes) == sum(2 * found.multiplied.get(n, 0) for n in contractions)
            counted = sum(found.multiplied.get(n, 0) + found.added.get(n, 0) for n in contractions)
            assert at(exact[name], sizes) == counted
    work = 0
    for line in program.lines:
        statement, function = line.statement, line.statement.function
        if function is None and not statement.contracts:
            alone = statement.kind == "-" and len(statement.operands) == 1
            turned = found.results.get(statement.name, 0) if alone else 0
            work += found.multiplied.get(statement.name, 0) + found.added.get(statement.name, 0) + turned
        elif function is not None:
            work += found.applied[statement.name]
    assert at(costs["ops"], sizes) == work
    assert at(costs["saved"], sizes) == found.saved


def without(name):
    return lambda body: tuple(s for s in body if s.name != name)


def changed(name, **parts):
    return lambda body: tuple(replace(s, **parts) if s.name == name else s for s in body)


def of_nothing(function):
    parts = {"kinds": (), "each": Fraction(0)}
    return replace(function, **{f.name: parts[f.name] for f in fields(function) if f.name in parts})


WIDE = dtype("fp32")
FAULTS = {
    "the gradient of the input is forgotten": without("dx"),
    "a gradient is made twice": lambda body: (*body, replace(body[-1], result=replace(body[-1].result, name="dW9"))),
    "a gradient has another type": lambda body: changed("dW1", result=replace(body[-1].result, dtype=WIDE))(body),
    "a product is with something else": lambda body: changed("dW1", operands=(body[-1].operands[0],) * 2)(body),
    "a function takes nothing": lambda body: changed("dh", function=of_nothing(body[2].function))(body),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_in_the_backward_pass_is_refused(name, monkeypatch):
    honest = backward.backward_of
    monkeypatch.setattr(transforms, "backward_of", lambda p: replace(honest(p), body=FAULTS[name](honest(p).body)))
    with pytest.raises((CheckError, SymroofError)):
        counted(MLP)


def test_a_fuse_that_is_not_read_again_is_refused(monkeypatch):
    honest = backward.backward_of
    assert counted(ATTENTION)

    def fault(program):
        found = honest(program)
        return replace(found, body=tuple(replace(node, again=()) for node in found.body))

    monkeypatch.setattr(transforms, "backward_of", fault)
    with pytest.raises(CheckError):
        counted(ATTENTION)


@pytest.mark.parametrize("name", ["kept_for_backward", "tokens_of"])
def test_a_fault_in_a_count_is_refused(name, monkeypatch):
    if name == "kept_for_backward":
        honest = program_quantities.kept_for_backward
        monkeypatch.setattr(program_quantities, name, lambda program: honest(program)[1:])
    else:
        monkeypatch.setattr(counting, "amounts", lambda p, c: {**amounts(p, c), "params": 2 * amounts(p, c)["params"]})
    with pytest.raises(CheckError):
        counted(MLP)


@pytest.mark.thorough
def test_flops_by_parameters_have_their_remainder():
    def told(text, **options):
        steps = (step for step in counted(text, **options) if step.reason is Reason.TOKENS)
        return next((expression(step.right) for step in steps), None)

    B, T, params = map(symbol, ("B", "T", "params"))
    assert told(MLP, training=False) == 2 * B * T * params
    assert told(MLP, training=True) == 6 * B * T * params
    layer = "input x: bf16[B, T, D]\nweight Wq, Wk: bf16[D, H]\nq = x * Wq -> bf16[B, T, H]\n"
    text = layer + "S = x * Wk -> bf16[B, T, H]"
    assert told(text, training=True) == 6 * B * T * params
    attention = "input x: bf16[B, T, D]\ncache C: bf16[B, S, H]\nweight W: bf16[D, H]\n"
    attention += "q = x * W -> bf16[B, T, H]\ns = q * C -> bf16[B, T, S]"
    size = {name: symbol(name) for name in "BTSH"}
    rest = told(attention, training=True) - 6 * B * T * params
    assert rest == 6 * size["B"] * size["T"] * size["S"] * size["H"]
    assert told("matmul") is None
    assert told(ATTENTION, training=True) is None


@pytest.mark.thorough
def test_a_product_in_training_is_a_program():
    found = sr.derive("bf16[B, D] * bf16[D, F] -> bf16[B, F]", training=True).answer
    B, D, F = map(symbol, "BDF")
    assert found.value("flops") == 6 * B * D * F
    assert found.value("bytes") == 6 * (B * D + D * F + B * F)
    assert sr.derive("X[B, D] * W[D, F] -> Y[B, F]", dtype="bf16", training=True).answer.step("passes")
    problem = read_problem({"operation": "matmul"})
    assert not problem.training
    assert sr.derive(problem, training=True).setting.problem.training
    assert not sr.derive(read_problem({"operation": MLP, "training": True}), training=False).setting.problem.training


def test_a_split_product_is_trained_on_its_mesh():
    found = sr.derive("bf16[B_X, D] * bf16[D, F] -> bf16[B_X, F]", training=True, mesh="X=4 on ICI", on="tpu-v5p")
    B, D, F = map(symbol, "BDF")
    assert found.answer.value("flops_per_chip") == 6 * B * D * F / 4


test_training_is_refused_where_there_are_no_gradients = refused(
    lambda text: sr.derive(text, training=True),
    ("softmax", "given by its costs"),
    ("int8[B, D] * int8[D, F] -> int8[B, F]", "integers"),
    ("input x: int32[B, D]; weight W: bf16[D, F]; y = x * W -> int32[B, F]", "integers have no gradient"),
    ("input x, dy: bf16[B]; y = x * dy; z = relu(y)", "dy is the name of a gradient"),
)


def test_integers_have_no_gradient_and_what_is_quantized_is_not_trained():
    program = trained(
        "input x: bf16[B, D]; weight W: int8[D, F]; weight V: bf16[F, D]; h = x * W -> bf16[B, F]; y = h * V -> bf16[B, D]"
    )
    assert set(program.backward.gradients) == {"x", "V"}
    B, D, F = map(symbol, "BDF")
    costs = amounts(program, "fma")
    assert costs["gradients"] == 2 * F * D
    assert costs["flops_backward"] == 6 * B * D * F
    assert costs["saved"] == 2 * B * F  # nothing asks for x


def test_what_multiplies_no_weight_says_nothing_of_tokens():
    text = "input x: bf16[B, T, D]; input u: bf16[G, E]; input v: bf16[E, M]; weight W: bf16[D, F]; y = x * W -> bf16[B, T, F]; s = u * v -> bf16[G, M]"
    assert str(tokens_of(read_program(text))) == "B*T"
