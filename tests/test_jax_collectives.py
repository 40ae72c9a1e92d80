"""The exchanges of the backward pass beside those that JAX makes: the forward ones are written in a ``shard_map`` as symroof
lists them, and JAX transposes them. Skipped where JAX is not installed."""

from dataclasses import replace

import pytest

from symroof.model.nodes import PRODUCT
from symroof.model.placing import placed
from symroof.reading.meshes import laid_out
from symroof.reading.operations import read_operation

jax = pytest.importorskip("jax")
SIZE, CHIPS = 12, {"X": 3, "Y": 2}
NAMES = {"all_gather": "all-gather", "reduce_scatter": "reduce-scatter", "psum": "all-reduce", "all_to_all": "all-to-all"}
MLP = "weight W1: bf16[{w}]; weight W2: bf16[{v}]; h = x * W1 -> bf16[{h}]; a = gelu(h); y = a * W2 -> bf16[{y}]"
PROGRAMS = {
    "fully sharded and tensor parallel": "mesh X, Y on ICI; input x: bf16[B_X, D_Y];"
    + MLP.format(w="D_X, F_Y", v="F_Y, D_X", h="B_X, F_Y", y="B_X, D_Y"),
    "fully sharded": "mesh X on ICI; input x: bf16[B_X, D];" + MLP.format(w="D_X, F", v="F, D_X", h="B_X, F", y="B_X, D"),
    "tensor parallel": "mesh Y on ICI; input x: bf16[B, D_Y];" + MLP.format(w="D, F_Y", v="F_Y, D", h="B, F_Y", y="B, D_Y"),
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
                    goal = next((label for label, axis in place.division if axis == move.axes[0] and label in tensor.labels), None)
                    after = tensor.labels.index(goal) if goal else None
                    array = moved(array, move, where(tensor, move.axes[0]), after)
                operands.append(array)
                letters |= {label: chr(97 + len(letters) + i) for i, label in enumerate(x for x in tensor.labels if x not in letters)}
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
    shapes = [jax.ShapeDtypeStruct((SIZE,) * len(t.dims), "float32") for t in (*(d.tensor for d in program.declared), result)]

    def trained(*arrays):
        return jax.vjp(run, *arrays[:-1])[1](arrays[-1])

    found = sorted(collectives(jax.make_jaxpr(trained)(*shapes).jaxpr))
    assert found == sorted((m.collective, m.axes) for place in listed for m in place.moves)
