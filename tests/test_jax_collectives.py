"""The exchanges of symroof beside those of JAX: of products, as XLA's partitioner puts them in where only shardings are said;
of the backward pass, as JAX transposes the forward ones in a ``shard_map``. Skipped where JAX is not installed, and not with
SYMROOF_REQUIRE_JAX=1."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from math import prod

import numpy as np
import pytest

from symroof.derivation.setting import setting_of
from symroof.model.chip_costs import message
from symroof.model.nodes import PRODUCT
from symroof.model.placing import placed
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
MLP = "weight W1: bf16[{w}]; weight W2: bf16[{v}]; h = x * W1 -> bf16[{h}]; a = gelu(h); y = a * W2 -> bf16[{y}]"
PROGRAMS = {
    "fully sharded and tensor parallel": "mesh X, Y on ICI; input x: bf16[B_X, D_Y];"
    + MLP.format(w="D_X, F_Y", v="F_Y, D_X", h="B_X, F_Y", y="B_X, D_Y"),
    "fully sharded": "mesh X on ICI; input x: bf16[B_X, D];"
    + MLP.format(w="D_X, F", v="F, D_X", h="B_X, F", y="B_X, D"),
    "tensor parallel": "mesh Y on ICI; input x: bf16[B, D_Y];"
    + MLP.format(w="D, F_Y", v="F_Y, D", h="B, F_Y", y="B, D_Y"),
    "data parallel": "mesh X on ICI; input x: bf16[B_X, D];" + MLP.format(w="D, F", v="F, D", h="B_X, F", y="B_X, D"),
    "data and tensor parallel": "mesh X, Y on ICI; input x: bf16[B_X, D_Y];"
    + MLP.format(w="D, F_Y", v="F_Y, D", h="B_X, F_Y", y="B_X, D_Y"),
    "whole sums": "mesh Y on ICI; input x: bf16[B, D];" + MLP.format(w="D, F_Y", v="F_Y, D", h="B, F_Y", y="B, D"),
    "experts": "mesh X on ICI; input x: bf16[E, C_X, D]; weight W: bf16[E_X, D, F]; weight V: bf16[E_X, F, D];"
    "h = x * W -> bf16[E_X, C, F]; y = h * V -> bf16[E, C_X, D]",
}


def spec(tensor):
    return jax.sharding.PartitionSpec(*(dim.axes or None for dim in tensor.dims))


def where(tensor, axis):
    """The dimension that an axis splits; None where it splits none."""
    return next((i for i, dim in enumerate(tensor.dims) if axis in dim.axes), None)


def moved(array, move, before, after):
    """A collective of JAX for one of symroof: ``before`` and ``after`` say on which dimension the axis lies."""
    (axis,) = move.axes
    if move.collective == "all-gather":
        return jax.lax.all_gather(array, axis, axis=before, tiled=True)
    if move.collective == "reduce-scatter":
        return jax.lax.psum_scatter(array, axis, scatter_dimension=after, tiled=True)
    if move.collective == "all-to-all":
        return jax.lax.all_to_all(array, axis, split_axis=after, concat_axis=before, tiled=True)
    return jax.lax.psum(array, axis)


def forward(program, listed):
    """What one chip does, with the exchanges that are listed."""

    def run(*arrays):
        known = dict(zip((str(d.tensor.name) for d in program.declared), arrays, strict=True))
        for place in listed:
            statement, letters = place.line.statement, {}
            operands = []
            for tensor in statement.operands:
                array = known[str(tensor.name)]
                for move in (m for m in place.moves if m.tensor.name == tensor.name):
                    goal = next(
                        (label for label, axis in place.division if axis == move.axes[0] and label in tensor.labels),
                        None,
                    )
                    after = tensor.labels.index(goal) if goal else None
                    array = moved(array, move, where(tensor, move.axes[0]), after)
                operands.append(array)
                letters |= {
                    label: chr(97 + len(letters) + i)
                    for i, label in enumerate(x for x in tensor.labels if x not in letters)
                }
            if statement.kind == PRODUCT:
                shapes = ["".join(letters[x] for x in t.labels) for t in (*statement.operands, statement.result)]
                done = jax.numpy.einsum(f"{','.join(shapes[:-1])}->{shapes[-1]}", *operands)
            else:
                done = jax.nn.gelu(*operands)
            for move in (m for m in place.moves if m.tensor.name == statement.result.name):
                made = next((label for label, axis in place.made if axis == move.axes[0]), None)
                before = statement.result.labels.index(made) if made else None
                done = moved(done, move, before, where(statement.result, move.axes[0]))
            known[statement.name] = done
        return known[statement.name]

    return run


def collectives(jaxpr):
    for equation in jaxpr.eqns:
        kind = next((name for start, name in NAMES.items() if equation.primitive.name.startswith(start)), None)
        if kind:
            over = equation.params.get("axes") or equation.params["axis_name"]
            yield kind, over if isinstance(over, tuple) else (over,)
        for value in equation.params.values():
            inner = getattr(value, "jaxpr", value)
            if hasattr(inner, "eqns"):
                yield from collectives(inner)


@pytest.mark.parametrize("name", PROGRAMS)
def test_jax_transposes_to_the_same_exchanges(name):
    """JAX keeps what was gathered; so ``keep`` says it of all weights."""
    program = read_operation(PROGRAMS[name])
    names = [axis.name for axis in program.mesh]
    program = laid_out(program, names)
    mesh = tuple(axis.wired("ICI", 1) for axis in program.mesh)
    program = replace(program, training=True, mesh=mesh, keep=tuple(str(t.name) for t in program.declared_as("weight")))
    listed = placed(program)
    ahead = [place for place in listed if not place.line.backward]
    abstract = jax.sharding.AbstractMesh(tuple(CHIPS[n] for n in names), tuple(names))
    (result,) = program.results
    ways = {"mesh": abstract, "in_specs": tuple(spec(d.tensor) for d in program.declared), "out_specs": spec(result)}
    run = jax.shard_map(forward(program, ahead), **ways)
    shapes = [
        jax.ShapeDtypeStruct((SIZE,) * len(t.dims), "float32") for t in (*(d.tensor for d in program.declared), result)
    ]

    def trained(*arrays):
        return jax.vjp(run, *arrays[:-1])[1](arrays[-1])

    found = sorted(collectives(jax.make_jaxpr(trained)(*shapes).jaxpr))
    assert found == sorted((m.collective, m.axes) for place in listed for m in place.moves)


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
}
LENGTHS = {"B": 24, "C": 60, "D": 36, "E": 12, "F": 48}
COLLECTIVE = re.compile(r" = (.*?) (all-gather|all-reduce|reduce-scatter|all-to-all|collective-permute)(?:-start)?\(")
SHAPE = re.compile(r"f32\[([\d,]*)\]")


def settings():
    return {name: setting_of(read_problem({"operation": text, "mesh": CHIPS})) for name, text in PRODUCTS.items()}


def compiled(product):
    """What XLA makes of a product that is jitted with its shardings."""
    mesh = jax.sharding.Mesh(np.array(jax.devices()).reshape(*CHIPS.values()), tuple(CHIPS))
    *ins, out = (jax.sharding.NamedSharding(mesh, spec(tensor)) for tensor in product.tensors)
    *left, right = ("".join(tensor.labels) for tensor in product.tensors)
    run = jax.jit(
        lambda *arrays: jax.numpy.einsum(f"{','.join(left)}->{right}", *arrays),
        in_shardings=tuple(ins),
        out_shardings=out,
    )
    shapes = [jax.ShapeDtypeStruct(tuple(LENGTHS[x] for x in t.labels), "float32") for t in product.tensors[:-1]]
    return run.lower(*shapes).compile().as_text()


def compiled_elsewhere():
    """Every product as XLA compiles it for six processors, in a process of its own: JAX starts threads, and other tests fork."""
    flags = {"XLA_FLAGS": f"--xla_force_host_platform_device_count={prod(CHIPS.values())}", "JAX_PLATFORMS": "cpu"}
    script = f"import sys; sys.path[:0] = {sys.path}; import test_jax_collectives as t; t.print_compiled()"
    done = subprocess.run(
        [sys.executable, "-c", script], env={**os.environ, **flags}, capture_output=True, text=True, timeout=300
    )
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
        moves = [move for cost in program.on_chip.values() for move in cost.moves]
        said = [(m.collective.replace("reduce-scatter", "all-reduce"), m) for m in moves]
        expected[name] = sorted((kind, int(message(m, program).subs(lengths))) for kind, m in said)
        chips = {
            kind: prod(axis.chips for axis in program.mesh if axis.name in m.axes)
            for kind, m in said
            if kind == "all-to-all"
        }
        made = [m.groups() for m in map(COLLECTIVE.search, texts[name].splitlines()) if m]
        sizes = [
            sum(4 * prod(map(int, filter(None, dims.split(",")))) for dims in SHAPE.findall(shapes))
            for shapes, _ in made
        ]
        found[name] = sorted((kind, size * chips.get(kind, 1)) for (_, kind), size in zip(made, sizes, strict=True))
    assert found == expected
    assert [name for name, made in found.items() if not made] == ["data parallel"]
    assert {kind for made in found.values() for kind, _ in made} == {"all-gather", "all-reduce", "all-to-all"}
