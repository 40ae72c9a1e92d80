"""The exchanges of symroof beside those of JAX: of products, as XLA's partitioner puts them in where only shardings are said;
of the backward pass, as JAX transposes the forward ones in a ``shard_map``. Skipped where JAX is not installed, and not with
SYMROOF_REQUIRE_JAX=1."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from functools import lru_cache, partial
from itertools import product
from math import prod

import numpy as np
import pytest

from symroof.derivation.premises import setting_of
from symroof.errors import ModelError
from symroof.model.chip_costs import chip_costs, message
from symroof.model.placement import placements
from symroof.model.program_tree import PRODUCT
from symroof.model.transforms import with_backward
from symroof.reading.meshes import laid_out
from symroof.reading.operations import read_operation
from symroof.reading.problems import read_problem
from symroof.symbols import symbol

SIZE, CHIPS = 12, {"X": 3, "Y": 2}

if os.environ.get("SYMROOF_REQUIRE_JAX") == "1":
    import jax
else:
    jax = pytest.importorskip("jax")
NAMES = {
    "all_gather": "all-gather",
    "reduce_scatter": "reduce-scatter",
    "psum": "all-reduce",
    "all_to_all": "all-to-all",
}


def mlp(mesh, x, w, v, h, y):
    weights = f"weight W1: bf16[{w}]; weight W2: bf16[{v}]"
    line = f"h = x * W1 -> bf16[{h}]; a = gelu(h); y = a * W2 -> bf16[{y}]"
    return f"mesh {mesh} on ICI; input x: bf16[{x}]; {weights}; {line}"


PROGRAMS = {
    "fully sharded and tensor parallel": mlp("X, Y", "B_X, D_Y", "D_X, F_Y", "F_Y, D_X", "B_X, F_Y", "B_X, D_Y"),
    "fully sharded": mlp("X", "B_X, D", "D_X, F", "F, D_X", "B_X, F", "B_X, D"),
    "tensor parallel": mlp("Y", "B, D_Y", "D, F_Y", "F_Y, D", "B, F_Y", "B, D_Y"),
    "data parallel": mlp("X", "B_X, D", "D, F", "F, D", "B_X, F", "B_X, D"),
    "data and tensor parallel": mlp("X, Y", "B_X, D_Y", "D, F_Y", "F_Y, D", "B_X, F_Y", "B_X, D_Y"),
    "whole sums": mlp("Y", "B, D", "D, F_Y", "F_Y, D", "B, F_Y", "B, D"),
    "experts": "mesh X on ICI; input x: bf16[E, C_X, D]; weight W: bf16[E_X, D, F]; weight V: bf16[E_X, F, D];"
    "h = x * W -> bf16[E_X, C, F]; y = h * V -> bf16[E, C_X, D]",
}


def spec(tensor):
    return jax.sharding.PartitionSpec(*(dim.axes or None for dim in tensor.dims))


def where(tensor, axis):
    """The dimension that an axis splits; None where it splits none."""
    return next((i for i, dim in enumerate(tensor.dims) if axis in dim.axes), None)


def moved(array, move, before, after, apart):
    """A collective of JAX for one of symroof: ``before`` and ``after`` say on which dimension the axis lies, ``apart`` that the
    chips of it go on to do different things."""
    (axis,) = move.axes
    if move.collective == "all-gather":
        gather = jax.lax.all_gather if apart else all_gather_invariant
        return gather(array, axis, axis=before, tiled=True)
    if move.collective == "reduce-scatter":
        return jax.lax.psum_scatter(array, axis, scatter_dimension=after, tiled=True)
    if move.collective == "all-to-all":
        return jax.lax.all_to_all(array, axis, split_axis=after, concat_axis=before, tiled=True)
    return jax.lax.psum(array, axis)


def all_gather_invariant(array, name, axis, tiled):
    """What every chip has alike afterwards."""
    return jax._src.lax.parallel.all_gather_invariant(array, name, axis=axis, tiled=tiled)


def own_part(array, place, axis):
    """The part that a chip needs of what all have. Of the gradient each chip has that part alone: it is gathered, where JAX adds up
    parts that are padded with zeros."""

    @jax.custom_vjp
    def part(array):
        size = array.shape[place] // CHIPS[axis]
        return jax.lax.dynamic_slice_in_dim(array, jax.lax.axis_index(axis) * size, size, place)

    part.defvjp(lambda a: (part(a), None), lambda _, g: (all_gather_invariant(g, axis, axis=place, tiled=True),))
    return part(array)


def forward(program, listed):
    """What one chip does, with the exchanges that are listed; what it has and does not need it leaves out."""

    def run(*arrays):
        known = dict(zip((str(d.tensor.name) for d in program.declared), arrays, strict=True))
        for place in listed:
            statement, letters = place.line.statement, {}
            operands = []
            for tensor in statement.operands:
                array = known[str(tensor.name)]
                for move in (m for m in place.moves if m.tensor.name == tensor.name):
                    goals = [label for label, axis in place.division if axis == move.axes[0] and label in tensor.labels]
                    after = tensor.labels.index(goals[0]) if goals else None
                    apart = any(axis == move.axes[0] for _, axis in place.division)
                    array = moved(array, move, where(tensor, move.axes[0]), after, apart)
                brought = {axis for m in place.moves if m.tensor.name == tensor.name for axis in m.axes}
                for label, axis in place.division:
                    if label in tensor.labels and axis not in brought and where(tensor, axis) is None:
                        array = own_part(array, tensor.labels.index(label), axis)
                operands.append(array)
                new = [label for label in tensor.labels if label not in letters]
                letters |= {label: chr(97 + len(letters) + i) for i, label in enumerate(new)}
            if statement.kind == PRODUCT:
                shapes = ["".join(letters[x] for x in t.labels) for t in (*statement.operands, statement.result)]
                done = jax.numpy.einsum(f"{','.join(shapes[:-1])}->{shapes[-1]}", *operands)
            else:
                done = jax.nn.gelu(*operands)
            for move in (m for m in place.moves if m.tensor.name == statement.result.name):
                made = next((label for label, axis in place.form if axis == move.axes[0]), None)
                before = statement.result.labels.index(made) if made else None
                done = moved(done, move, before, where(statement.result, move.axes[0]), True)
            moves = {axis for m in place.moves for axis in m.axes}
            for i, dim in enumerate(statement.result.dims):
                for axis in (a for a in dim.axes if a not in moves and (dim.label, a) not in place.form):
                    done = own_part(done, i, axis)
            known[statement.name] = done
        return known[statement.name]

    return run


@lru_cache
def splits():
    """Every way to split the tensors of two products over one axis, but for those that are refused."""
    found = []
    for x, w, y in (("BD", "DF", "BF"), ("ECD", "EDF", "ECF")):
        for cut in product(*(range(len(labels) + 1) for labels in (x, w, y))):
            parts = zip((x, w, y), cut, strict=True)
            a, b, c = (", ".join(f"{x}_X" if i == at else x for i, x in enumerate(labels)) for labels, at in parts)
            text = f"mesh X on ICI; input x: fp32[{a}]; weight W: fp32[{b}]; y = x * W -> fp32[{c}]"
            if "_X" in f"{a}{b}{c}" and not refused(text):
                found.append(text)
    return found


def refused(text):
    try:
        return not trained_on(text)[1]
    except ModelError:
        return True


def trained_on(text):
    """A program in training on a mesh, and its statements with their exchanges. JAX keeps what was gathered; so ``keep`` says it of
    all weights."""
    program = read_operation(text)
    names = [axis.name for axis in program.mesh]
    mesh = tuple(axis.wired("ICI", 1) for axis in program.mesh)
    program = with_backward(replace(laid_out(program, names), mesh=mesh))
    program = replace(program, keep=tuple(str(t.name) for t in program.declared_as("weight")))
    return program, placements(program)


def multiplied(jaxpr):
    """The FLOPs of the products that one chip does."""
    found = 0
    for equation in jaxpr.eqns:
        if equation.primitive.name == "dot_general":
            (left, _), _ = equation.params["dimension_numbers"]
            found += 2 * prod(equation.outvars[0].aval.shape) * prod(equation.invars[0].aval.shape[i] for i in left)
        inner = (getattr(value, "jaxpr", value) for value in equation.params.values())
        found += sum(multiplied(one) for one in inner if hasattr(one, "eqns"))
    return found


def sent(equation):
    """The elements of a message: what a chip has after a gather, before a reduction, of all for an all-to-all."""
    before, after = prod(equation.invars[0].aval.shape), prod(equation.outvars[0].aval.shape)
    return before * CHIPS["X"] if equation.primitive.name.startswith("all_to_all") else max(before, after)


def collectives(jaxpr):
    for equation in jaxpr.eqns:
        kind = next((name for start, name in NAMES.items() if equation.primitive.name.startswith(start)), None)
        if kind:
            over = equation.params.get("axes") or equation.params["axis_name"]
            yield (kind, over if isinstance(over, tuple) else (over,)), sent(equation) if len(CHIPS) else 0
        for value in equation.params.values():
            inner = getattr(value, "jaxpr", value)
            if hasattr(inner, "eqns"):
                yield from collectives(inner)


@pytest.mark.parametrize("part", range(40))
def test_jax_transposes_to_the_same_exchanges(part):
    for name in [*PROGRAMS, *splits()][part::40]:
        require_transposed(name)


def require_transposed(name):
    program, listed = trained_on(PROGRAMS.get(name, name))
    names = [axis.name for axis in program.mesh]
    ahead = [place for place in listed if not place.line.backward]
    abstract = jax.sharding.AbstractMesh(tuple(CHIPS[n] for n in names), tuple(names))
    (result,) = program.results
    ways = {"mesh": abstract, "in_specs": tuple(spec(d.tensor) for d in program.declared), "out_specs": spec(result)}
    run = jax.shard_map(forward(program, ahead), **ways)
    tensors = (*(d.tensor for d in program.declared), result)
    shapes = [jax.ShapeDtypeStruct((SIZE,) * len(t.dims), "float32") for t in tensors]

    def trained(*arrays):
        return jax.vjp(run, *arrays[:-1])[1](arrays[-1])

    jaxpr = jax.make_jaxpr(trained)(*shapes).jaxpr
    put = {symbol(n): SIZE for n in program.sizes} | {symbol(n): CHIPS[n] for n in names}
    mine = [(m.collective, m.axes, message(m, program).subs(put) / 4) for place in listed for m in place.moves]
    if name in PROGRAMS:
        assert sorted(kind for kind, _ in collectives(jaxpr)) == sorted((kind, axes) for kind, axes, _ in mine)
        return
    assert sorted((*kind, size) for kind, size in collectives(jaxpr)) == sorted(mine)
    flops = sum(cost.flops for cost in chip_costs(program).values()).subs(put)
    if listed[0].division:
        assert multiplied(jaxpr) == flops
    else:  # where all chips do the same ahead JAX makes all of a gradient of which each keeps a part
        assert multiplied(jaxpr) >= flops


# Forward: XLA's own partitioner.

PRODUCTS = {
    "Megatron, into the hidden layer": "fp32[B, D_Y] * fp32[D, F_Y] -> fp32[B, F_Y]",
    "Megatron, out of it": "fp32[B, F_Y] * fp32[F_Y, D] -> fp32[B, D_Y]",
    "Megatron, whole sums": "fp32[B, F_Y] * fp32[F_Y, D] -> fp32[B, D]",
    "fully sharded": "fp32[B_X, D] * fp32[D_X, F] -> fp32[B_X, F]",
    "fully sharded over both axes": "fp32[B_XY, D] * fp32[D_XY, F] -> fp32[B_XY, F]",
    "data parallel": "fp32[B_X, D] * fp32[D, F] -> fp32[B_X, F]",
    "data parallel, the gradient of a weight": "fp32[B_X, D] * fp32[B_X, F] -> fp32[D, F]",
    "the same over both axes": "fp32[B_XY, D] * fp32[B_XY, F] -> fp32[D, F]",
    "fully sharded, the gradient of a weight": "fp32[B_X, D] * fp32[B_X, F] -> fp32[D_X, F]",
    "fully sharded and Megatron, in": "fp32[B_X, D_Y] * fp32[D_X, F_Y] -> fp32[B_X, F_Y]",
    "fully sharded and Megatron, out": "fp32[B_X, F_Y] * fp32[F_Y, D_X] -> fp32[B_X, D_Y]",
    "tokens to experts": "fp32[E, C_X, D] * fp32[E_X, D, F] -> fp32[E_X, C, F]",
    "contracted, one axis": "fp32[B, D_X] * fp32[D_X, F] -> fp32[B, F]",
    "contracted, both axes": "fp32[B, D_XY] * fp32[D_XY, F] -> fp32[B, F]",
    "contracted and scattered": "fp32[B, D_X] * fp32[D_X, F] -> fp32[B, F_X]",
    "contracted and scattered over rows": "fp32[B, D_X] * fp32[D_X, F] -> fp32[B_X, F]",
    "rows kept": "fp32[B_X, D] * fp32[D, F] -> fp32[B_X, F]",
    "columns kept": "fp32[B, D] * fp32[D, F_X] -> fp32[B, F_X]",
    "rows and columns kept": "fp32[B_X, D] * fp32[D, F_Y] -> fp32[B_X, F_Y]",
    "weight gathered": "fp32[B, D] * fp32[D_X, F] -> fp32[B, F]",
    "activations gathered": "fp32[B, D_X] * fp32[D, F] -> fp32[B, F]",
    "rows over X, contracted over Y": "fp32[B_X, D_Y] * fp32[D_Y, F] -> fp32[B_X, F]",
    "rows over X, contracted over Y, scattered": "fp32[B_X, D_Y] * fp32[D_Y, F] -> fp32[B_X, F_Y]",
    "columns over X, contracted over Y": "fp32[B, D_Y] * fp32[D_Y, F_X] -> fp32[B, F_X]",
    "batch kept": "fp32[E_X, C, D] * fp32[E_X, D, F] -> fp32[E_X, C, F]",
    "batch over both": "fp32[E_XY, C, D] * fp32[E_XY, D, F] -> fp32[E_XY, C, F]",
    "batch over X, contracted over Y": "fp32[E_X, C, D_Y] * fp32[E_X, D_Y, F] -> fp32[E_X, C, F]",
    "batch over X, columns over Y": "fp32[E_X, C, D] * fp32[E_X, D, F_Y] -> fp32[E_X, C, F_Y]",
    "batch over X, rows over Y": "fp32[E_X, C_Y, D] * fp32[E_X, D, F] -> fp32[E_X, C_Y, F]",
    "batch over X, weight gathered over Y": "fp32[E_X, C_Y, D] * fp32[E_X, D_Y, F] -> fp32[E_X, C_Y, F]",
    "gradient of activations": "fp32[B_X, F] * fp32[D, F] -> fp32[B_X, D]",
    "gradient of activations, tensor parallel": "fp32[B, F_Y] * fp32[D, F_Y] -> fp32[B, D]",
    "gradient of activations, tensor parallel, scattered": "fp32[B, F_Y] * fp32[D, F_Y] -> fp32[B, D_Y]",
    "gradient of activations, fully sharded": "fp32[B_X, F] * fp32[D_X, F] -> fp32[B_X, D]",
    "gradient of activations, both": "fp32[B_X, F_Y] * fp32[D_X, F_Y] -> fp32[B_X, D]",
    "gradient of a weight, both": "fp32[B_X, D] * fp32[B_X, F_Y] -> fp32[D, F_Y]",
    "gradient of a weight, both, scattered": "fp32[B_X, D] * fp32[B_X, F_Y] -> fp32[D_X, F_Y]",
    "gradient of a weight, inputs split": "fp32[B_X, D_Y] * fp32[B_X, F] -> fp32[D_Y, F]",
    "columns over both": "fp32[B, D] * fp32[D, F_XY] -> fp32[B, F_XY]",
    "rows over both, weight over one": "fp32[B_XY, D] * fp32[D_X, F] -> fp32[B_XY, F]",
    "rows over both, columns of a weight over one": "fp32[B_XY, D] * fp32[D, F_Y] -> fp32[B_XY, F]",
    "vector": "fp32[D_X] * fp32[D_X, F] -> fp32[F]",
    "matrix and vector": "fp32[B_X, D] * fp32[D] -> fp32[B_X]",
    "contracted over X, columns over Y": "fp32[B, D_X] * fp32[D_X, F_Y] -> fp32[B, F_Y]",
    "contracted over X, rows scattered, columns over Y": "fp32[B, D_X] * fp32[D_X, F_Y] -> fp32[B_X, F_Y]",
}
# What XLA shares out otherwise: it adds up parts of the sums instead of gathering a weight that is split over another axis
# as well, and gathers one of two operands before it goes all-to-all.
OTHERWISE = {
    "weight gathered, columns kept over Y": "fp32[B, D] * fp32[D_X, F_Y] -> fp32[B, F_Y]",
    "experts to tokens": "fp32[E_X, C, D] * fp32[E_X, D, F] -> fp32[E, C_X, F]",
}
LENGTHS = {"B": 24, "C": 60, "D": 36, "E": 12, "F": 48}
COLLECTIVE = re.compile(r" = (.*?) (all-gather|all-reduce|reduce-scatter|all-to-all|collective-permute)(?:-start)?\(")
SHAPE = re.compile(r"f32\[([\d,]*)\]")


def settings():
    every = {**PRODUCTS, **OTHERWISE}
    return {name: setting_of(read_problem({"operation": text, "mesh": CHIPS})) for name, text in every.items()}


def compiled(product):
    """What XLA makes of a product that is jitted with its shardings."""
    mesh = jax.sharding.Mesh(np.array(jax.devices()).reshape(*CHIPS.values()), tuple(CHIPS))
    *ins, out = (jax.sharding.NamedSharding(mesh, spec(tensor)) for tensor in product.tensors)
    *left, right = ("".join(tensor.labels) for tensor in product.tensors)
    multiply = partial(jax.numpy.einsum, f"{','.join(left)}->{right}")
    run = jax.jit(multiply, in_shardings=tuple(ins), out_shardings=out)
    shapes = [jax.ShapeDtypeStruct(tuple(LENGTHS[x] for x in t.labels), "float32") for t in product.tensors[:-1]]
    return run.lower(*shapes).compile().as_text()


def compiled_elsewhere():
    """Every product as XLA compiles it for six processors, in a process of its own: JAX starts threads, and other tests fork."""
    flags = {"XLA_FLAGS": f"--xla_force_host_platform_device_count={prod(CHIPS.values())}", "JAX_PLATFORMS": "cpu"}
    script = f"import sys; sys.path[:0] = {sys.path}; import test_jax_collectives as t; t.print_compiled()"
    command, env = [sys.executable, "-c", script], {**os.environ, **flags}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


def print_compiled():
    print(json.dumps({name: compiled(setting.problem.operation) for name, setting in settings().items()}))


@pytest.mark.thorough
def test_the_partitioner_puts_in_the_same_exchanges():
    """The same kinds, and the same bytes: of what a chip holds after a gather or before a reduction, of all for an all-to-all.
    On CPUs XLA makes no reduce-scatter: it adds up everything and takes a slice. The payload is the same, the cost is not."""
    expected, found, texts = {}, {}, compiled_elsewhere()
    lengths = {symbol(label): size for label, size in LENGTHS.items()}
    for name, setting in settings().items():
        program = setting.problem.operation
        moves = [move for cost in chip_costs(program).values() for move in cost.moves]
        said = [(m.collective.replace("reduce-scatter", "all-reduce"), m) for m in moves]
        expected[name] = sorted((kind, int(message(m, program).subs(lengths))) for kind, m in said)
        moved = {kind: m.axes for kind, m in said if kind == "all-to-all"}
        chips = {k: prod(axis.chips for axis in program.mesh if axis.name in axes) for k, axes in moved.items()}
        made = [m.groups() for m in map(COLLECTIVE.search, texts[name].splitlines()) if m]
        shapes = [[filter(None, dims.split(",")) for dims in SHAPE.findall(typed)] for typed, _ in made]
        sizes = [sum(4 * prod(map(int, dims)) for dims in each) for each in shapes]
        found[name] = sorted((kind, size * chips.get(kind, 1)) for (_, kind), size in zip(made, sizes, strict=True))
    alike = {name for name in found if found[name] == expected[name]}
    assert alike == {*PRODUCTS}
    assert len(alike) >= 40
    assert len([name for name in alike if found[name]]) >= 30
    assert {kind for made in found.values() for kind, _ in made} == {"all-gather", "all-reduce", "all-to-all"}
