"""Backward passes are held against their programs: those of all programs come out, and none that was changed in one place."""

from dataclasses import replace
from random import Random

import pytest
import random_programs
from random_splits import random_splits
from test_simulated_programs import programmed

from symroof.derivation.quantity_definitions import script_of
from symroof.errors import CheckError, SymroofError
from symroof.model.transforms import with_backward
from symroof.proof.adjoints import require_adjoint
from symroof.reading.operations import programs, read_operation

LIBRARY = tuple(name for name in programs() if name != "mamba")  # there is no way back through its scan
WRITTEN = {
    "carried through turns": "input x: bf16[B, D]; input m: bf16[B, D]; repeat L as x = z { weight W: bf16[D, E]; weight V: bf16[E, D]; "
    "h = x * W -> bf16[B, E]; a = gelu(h); y = a * V -> bf16[B, D]; z = y + m }; weight U: bf16[D, F]; o = z * U -> bf16[B, F]",
    "turns in turns": "input x: bf16[B, D]; repeat L as x = z { weight W: bf16[D, D2]; weight V: bf16[D2, D]; h = x * W -> bf16[B, D2]; "
    "y = h * V -> bf16[B, D]; repeat M as y = z { weight S: bf16[D, E]; weight R: bf16[E, D]; u = y * S -> bf16[B, E]; z = u * R -> bf16[B, D] } }",
    "rows and gains": "input x: bf16[B, D]; weight g: bf16[D]; n = rms_norm(x, g); weight W: bf16[D, S]; s = n * W -> bf16[B, S]; p = softmax(s); q = layer_norm(p)",
    "types and fuses": "input x: bf16[B, D]; weight W: bf16[D, F]; fuse { h = x * W -> fp32[B, F]; a = silu(h) -> bf16[B, F] }; weight V: bf16[F, D]; "
    "y = a * V -> bf16[B, D]; z = x + y; d = divide(z, x); e = ema(d, z)",
    "a table": "input t: int32[B, T]; weight E: bf16[V, D]; x = lookup(E, t) -> bf16[B, T, D]; weight U: bf16[D, V]; y = x * U -> bf16[B, T, V]",
}


def trained(text):
    return script_of(with_backward(read_operation(text)))


def changed(script, ops, **more):
    return replace(script, ops=tuple(ops), **more)


def changes(script, random, count):
    """Backward passes that differ in one op: in what it takes, in what it is there for, in what it takes of operations, in its
    place; or in one gradient."""
    back = [i for i, op in enumerate(script.ops) if op.back]
    for _ in range(count):
        i = random.choice(back)
        op = script.ops[i]
        j = random.randrange(len(op.operands))
        here = script.array[op.operands[j]]
        # a change of type leaves a gradient as it is
        same = {here.name, op.result, *(script.op[here.name].operands if here.name in script.op else ())}
        alike = [a.name for a in script.arrays if {*a.labels} == {*here.labels} and a.name not in same]

        def with_(i=i, **more):
            return script.ops[i], changed(
                script, (*script.ops[:i], replace(script.ops[i], **more), *script.ops[i + 1 :])
            )

        rest = op.operands[:j], op.operands[j + 1 :]
        twins = [x for x in script.ops if x.undoes == op.undoes and x.function == op.function]
        kind = random.randrange(8)
        if kind == 0 and alike:
            yield with_(operands=(*rest[0], random.choice(alike), *rest[1]))
        elif kind == 1 and len(op.operands) > 1 and not (op.function == "layer_norm'" and j == 2):  # a shift
            yield with_(operands=rest[0] + rest[1])
        elif kind == 2:
            yield with_(each=op.each + 1)
        elif kind == 3 and op.function and len(twins) > 1:
            yield with_(place=1 - op.place)
        elif kind == 4:
            yield with_(fuse=None if op.fuse is not None else ~0)
        elif kind == 5:
            yield op, changed(script, script.ops, gradients=script.gradients[1:])
        elif kind == 6:
            arrays = tuple(replace(a, bits=2 * a.bits) if a.name == op.result else a for a in script.arrays)
            yield op, replace(script, arrays=arrays)
        elif kind == 7 and op.turns:
            yield with_(turns=op.turns[:-1])


def refused(script):
    try:
        require_adjoint(script)
    except CheckError:
        return True
    return False


def _new(op, script, other):
    """What is not as it was."""
    same = {*map(repr, (*script.ops, *script.arrays, *script.gradients))}
    return [one for one in (*other.ops, *other.arrays, *other.gradients) if repr(one) not in same]


def require_noticed(script, random, count):
    require_adjoint(script)
    every = list(changes(script, random, count)) if any(op.back for op in script.ops) else []
    assert [(op, _new(op, script, one)) for op, one in every if not refused(one)] == []
    return len(every)


@pytest.mark.parametrize("name", [*LIBRARY, *WRITTEN])
def test_no_other_backward_pass_comes_out(name):
    assert require_noticed(trained(WRITTEN.get(name, name)), Random(name), 60) > 20


def split(seed):
    program = programmed(random_splits(seed), True)
    if program is None:
        raise SymroofError("a product")
    return script_of(program)


@pytest.mark.thorough
@pytest.mark.parametrize("part", range(4))
def test_backward_passes_of_random_programs(part):
    count = 0
    for seed in range(part, 100, 4):
        for made in (lambda seed: trained(str(random_programs.program(Random(seed), dtypes=("bf16", "fp32")))), split):
            try:
                script = made(seed)
            except SymroofError:
                continue
            count += require_noticed(script, Random(seed), 6)
    assert count > 100


def test_dimensions_and_turns_beyond_count_are_run_in_parts():
    """A product of 27 dimensions would have 2^27 products, eight repeats in each other 2^8 turns: a fault in each is found."""
    left, joint, right = ([f"{x}{i}" for i in range(9)] for x in "abc")
    text = f"bf16[{', '.join(left + joint)}] * bf16[{', '.join(joint + right)}] -> bf16[{', '.join(left + right)}]"
    deep = ["input x: bf16[B, D]", *(f"repeat {n} as x = z{i} {{" for i, n in enumerate("GHIJKLMN"))]
    deep += ["weight W: bf16[D, E]; weight V: bf16[E, D]", "h = x * W -> bf16[B, E]", "z7 = h * V -> bf16[B, D]", "}"]
    for i in reversed(range(7)):
        deep += [f"z{i} = gelu(z{i + 1})", "}"]
    for script in (trained(text), trained("\n".join(deep))):
        require_adjoint(script)
        place, op = next((i, op) for i, op in enumerate(script.ops) if op.back and op.multiplies)
        for operands in (op.operands[::-1], (op.operands[0], op.operands[0])):
            ops = (*script.ops[:place], replace(op, operands=operands), *script.ops[place + 1 :])
            assert refused(changed(script, ops)) is (operands != op.operands[::-1])
