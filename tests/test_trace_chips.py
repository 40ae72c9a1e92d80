"""What chips compute of their parts, ``shard_map``, as programs: the exchanges are those of JAX and of XLA, the products those
of all chips together, and what no statement says is told. Skipped where JAX is not installed, and not with
SYMROOF_REQUIRE_JAX=1."""

import importlib.util
import os
import re
from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest
import test_jax_collectives as own
from interpreter import Interpreter
from test_trace import _is_alike, drawn

import symroof as sr
from symroof.model.chip_costs import message
from symroof.model.placing import placed
from symroof.reading.programs import read_program
from symroof.symbols import symbol
from symroof.tracing import sharded
from symroof.tracing.traced import TracingError
from symroof.tracing.tracer import written

if os.environ.get("SYMROOF_REQUIRE_JAX") == "1":
    import jax
else:
    jax = pytest.importorskip("jax")
jnp, P = jax.numpy, jax.sharding.PartitionSpec

MESH = {"x": 2, "y": 4}
TYPES = {"x": "fp64[B, D]", "W1": "weight fp64[D, F]", "W2": "weight fp64[F, D]"}


def on_chips(*in_specs, out_specs, mesh=None, sizes=None):
    sizes = sizes or MESH
    mesh = mesh or jax.sharding.AbstractMesh(tuple(sizes.values()), tuple(sizes))
    return partial(jax.shard_map, mesh=mesh, in_specs=in_specs, out_specs=out_specs)


def tensor_parallel(mesh=None):
    @on_chips(P("x", None), P(None, "y"), P("y", None), out_specs=P("x", None), mesh=mesh)
    def mlp(x, W1, W2):
        h = jax.nn.relu(x @ W1)
        return jax.lax.psum(h @ W2, "y")

    return mlp


def fully_sharded(mesh=None):
    @on_chips(P("x", "y"), P("x", "y"), P("y", "x"), out_specs=P("x", "y"), mesh=mesh)
    def mlp(x, W1, W2):
        W1 = jax.lax.all_gather(W1, "x", axis=0, tiled=True)
        W2 = jax.lax.all_gather(W2, "x", axis=1, tiled=True)
        x = jax.lax.all_gather(x, "y", axis=1, tiled=True)
        h = jax.nn.relu(x @ W1)
        return jax.lax.psum_scatter(h @ W2, "y", scatter_dimension=1, tiled=True)

    return mlp


def experts(mesh=None):
    """Tokens go to the chips of their experts, and come back."""

    @on_chips(P(None, "x", None), P("x", None, None), P("x", None, None), out_specs=P(None, "x", None), mesh=mesh)
    def layer(x, W1, W2):
        x = jax.lax.all_to_all(x, "x", split_axis=0, concat_axis=1, tiled=True)
        h = jax.nn.relu(jnp.einsum("ecd,edf->ecf", x, W1))
        y = jnp.einsum("ecf,efd->ecd", h, W2)
        return jax.lax.all_to_all(y, "x", split_axis=1, concat_axis=0, tiled=True)

    return layer


def plain(x, W1, W2):
    return np.maximum(x @ W1, 0) @ W2


FUNCTIONS = {
    "tensor parallel": (tensor_parallel, TYPES, plain, [("all-reduce", ("Y",), 8, "BD/2")]),
    "fully sharded": (
        fully_sharded,
        TYPES,
        plain,
        [("all-gather", ("X",), 8, "DF/4"), ("all-gather", ("X",), 8, "DF/4"), ("all-gather", ("Y",), 8, "BD/2"), ("reduce-scatter", ("Y",), 8, "BD/2")],
    ),
    "experts": (
        experts,
        {"x": "fp64[E, C, D]", "W1": "weight fp64[E, D, F]", "W2": "weight fp64[E, F, D]"},
        lambda x, W1, W2: np.einsum("ecf,efd->ecd", np.maximum(np.einsum("ecd,edf->ecf", x, W1), 0), W2),
        [("all-to-all", ("X",), 8, "ECD"), ("all-to-all", ("X",), 8, "ECD")],
    ),
}  # fmt: skip


def exchanges(program, sizes):
    """The collectives of a program: their axes, and the bytes of their messages."""
    program = sr.derive(str(program), given={"peak": "1e15", "HBM": "1e12", "ICI": "1e11"}).setting.problem.operation
    put = {symbol(name): size for name, size in sizes.items()}
    return sorted((m.collective, m.axes, int(message(m, program).subs(put))) for p in placed(program) for m in p.moves)


@pytest.mark.part(1)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_on_chips_is_a_program_on_a_mesh(name):
    function, types, whole, moved = FUNCTIONS[name]
    text = written(function(), types)
    program = read_program(text)
    assert text.startswith("mesh X = 2, Y = 4\n")
    sizes = dict(zip(program.sizes, (24, 48, 72, 16), strict=False))
    told = sorted(
        (kind, axes, each * eval(re.sub(r"(?<=[A-Z])(?=[A-Z])", "*", size).replace("/", "//"), {}, sizes))
        for kind, axes, each, size in moved
    )
    assert exchanges(program, sizes) == told
    assert sr.derive(text, given={"peak": "1e15", "HBM": "1e12", "ICI": "1e11"}, training=True).counts()["sampled"] == 0
    small = {size: 2 + i for i, size in enumerate(program.sizes)}
    declared, stacked = drawn(program, small)
    found = Interpreter(program, small, declared)
    found.forward()
    expected = whole(*(stacked[argument] for argument in types))
    assert _is_alike(np.asarray(found.returned[str(program.results[0].name)][-1]), expected)


def listed(name):
    """A program of the tests of collectives as a shard_map, and its own exchanges."""
    program, every = own.trained_on(own.PROGRAMS.get(name, name))
    ahead = [place for place in every if not place.line.backward]
    names = [axis.name for axis in program.mesh]
    abstract = jax.sharding.AbstractMesh(tuple(own.CHIPS[n] for n in names), tuple(names))
    ways = {
        "mesh": abstract,
        "in_specs": tuple(own.spec(d.tensor) for d in program.declared),
        "out_specs": own.spec(program.results[0]),
    }
    return program, ahead, jax.shard_map(own.forward(program, ahead), **ways)


def has_own_parts(ahead):
    """Whether a chip takes a part of what all have by its number, which no statement says."""
    for place in ahead:
        statement = place.line.statement
        for tensor in statement.operands:
            brought = {axis for m in place.moves if m.tensor.name == tensor.name for axis in m.axes}
            for label, axis in place.division:
                if label in tensor.labels and axis not in brought and own.where(tensor, axis) is None:
                    return True
        moves = {axis for m in place.moves for axis in m.axes}
        if any(a not in moves and (dim.label, a) not in place.made for dim in statement.result.dims for a in dim.axes):
            return True
    return False


@cache
def traceable():
    return [name for name in (*own.PROGRAMS, *own.splits()) if not has_own_parts(listed(name)[1])]


@pytest.mark.part(1)
@pytest.mark.parametrize("part", range(20))
def test_programs_that_are_written_on_chips_are_traced_to_themselves(part):
    for name in traceable()[part::20]:
        require_traced(name)


def require_traced(name):
    """The same exchanges, of the same bytes, and the same FLOPs of every chip: from the program to JAX and back."""
    program, ahead, run = listed(name)
    kinds = {str(d.tensor.name): "weight " if d.role == "weight" else "" for d in program.declared}
    types = {
        str(d.tensor.name): f"{kinds[str(d.tensor.name)]}fp32[{', '.join(d.tensor.labels)}]" for d in program.declared
    }

    arguments = ", ".join(types)
    named = eval(f"lambda {arguments}: run({arguments})", {"run": run})
    traced = read_program(written(named, types))
    put = {symbol(n): own.SIZE for n in (*program.sizes, *traced.sizes)} | {symbol(n): own.CHIPS[n] for n in own.CHIPS}
    wide = 1 if name not in own.PROGRAMS else 2  # the types of the others are bf16
    mine = sorted((m.collective, m.axes, int(message(m, program).subs(put)) * wide) for p in ahead for m in p.moves)
    sizes = dict.fromkeys(traced.sizes, own.SIZE)
    assert exchanges(traced, sizes) == mine
    shapes = [jax.ShapeDtypeStruct((own.SIZE,) * len(d.tensor.dims), "float32") for d in program.declared]
    each = sr.derive(
        str(traced), given={"peak": "1e15", "HBM": "1e12", "ICI": "1e11"}
    ).setting.problem.operation.on_chip.values()
    assert own.multiplied(jax.make_jaxpr(named)(*shapes).jaxpr) == sum(cost.flops for cost in each).subs(put)


@pytest.mark.part(1)
@pytest.mark.parametrize("name", ["tensor parallel", "fully sharded", "experts"])
def test_a_training_step_on_chips(name):
    """What JAX transposes is traced as well: each collective of the step is one of the program."""
    function, types, *_ = FUNCTIONS[name]
    run = function()

    def step(x, W1, W2):
        return jax.grad(lambda *w: (run(x, *w) ** 2).sum(), argnums=(0, 1))(W1, W2)

    program = read_program(written(step, types))
    shapes = [jax.ShapeDtypeStruct((24,) * (3 if "E" in text else 2), "float32") for text in types.values()]
    made = sorted(kind[0] for kind, _ in own.collectives(jax.make_jaxpr(step)(*shapes).jaxpr))
    sizes = dict.fromkeys(program.sizes, 24)
    assert sorted(kind for kind, *_ in exchanges(program, sizes)) == made
    assert len(made) > 2


def test_rows_that_are_split_are_added_up_as_a_row_function_would():
    """Maxima and sums of rows over what axes split."""

    @on_chips(P("x", "y"), out_specs=P("x", "y"))
    def shares(s):
        top = jax.lax.pmax(jnp.max(s, 1), "y")
        e = jnp.exp(s - top[:, None])
        total = jax.lax.psum(jnp.sum(e, 1), "y")
        return e / total[:, None]

    program = read_program(written(shares, {"s": "fp32[B, V]"}))
    sizes = {"B": 24, "V": 48}
    assert exchanges(program, sizes) == [("all-reduce", ("Y",), 4 * 24 // 2)] * 2


TWO, ALIKE = {"x": "fp32[B, D]", "W": "fp32[D, F]"}, {"x": "fp32[B, D]", "W": "fp32[B, F]"}
ONE = {"x": 4}


def in_groups(x, W):
    return jax.lax.psum(x @ W, "y", axis_index_groups=[[0, 1], [2, 3]])


# What no statement says; the first are told with their line.
REFUSED = [
    ("max of partial sums over y", on_chips(P("x", "y"), P("y", None), out_specs=P("x", None))(lambda x, W: jax.lax.psum(jax.nn.relu(x @ W), "y")), TWO),
    ("ppermute on chips is no statement", on_chips(P("x", None), P(None, None), out_specs=P("x", None))(lambda x, W: jax.lax.ppermute(x @ W, "x", [(0, 1), (1, 0)])), TWO),
    ("axis_index on chips is no statement", on_chips(P("x", None), P(None, None), out_specs=P("x", None))(lambda x, W: x @ W * jax.lax.axis_index("x")), TWO),
    ("of what is partial over no axis", on_chips(P("x", None), P("x", None), out_specs=P(None, None))(lambda x, W: jax.lax.psum(jax.lax.psum(jnp.einsum("bd,bf->df", x, W), "x"), "y")), ALIKE),
    ("a slice of what is split", on_chips(P(None, "x"), P(None, None), out_specs=P(None, "x"))(lambda x, W: x[:, :2] * W[:, :2]), {"x": "fp32[B, D]", "W": "fp32[B, D]"}),
    ("a result is split otherwise than out_specs says", on_chips(P(), P(None, "x"), out_specs=P("x", None), sizes=ONE)(lambda x, W: x @ W), TWO),
    ("a result is split otherwise than out_specs says", on_chips(P(), P(), out_specs=P("x", None), sizes=ONE)(lambda x, W: x @ W), TWO),
    ("pmax of partial sums", on_chips(P("x", "y"), P("y", None), out_specs=P("x"))(lambda x, W: jax.lax.pmax(x @ W, "y")), TWO),
    ("psum in groups of chips", on_chips(P(None, "y"), P("y", None), out_specs=P(None, None))(in_groups, check_vma=False), TWO),
    ("tiled=True", on_chips(P(None, "y"), P("y", None, None), out_specs=P(None, "y"))(lambda x, W: jax.lax.psum_scatter(jnp.einsum("bd,dnf->bnf", x, W), "y", scatter_dimension=1)), {"x": "fp32[B, D]", "W": "weight fp32[D, 4, F]"}),
    ("one place of what is split", on_chips(P("y", None, None), P("y", None, None), out_specs=P("y", None, None))(lambda x, W: (x[0] @ W[0])[None]), {"x": "fp32[4, B, D]", "W": "weight fp32[4, D, F]"}),
]  # fmt: skip


@pytest.mark.part(3)
@pytest.mark.parametrize("place", range(len(REFUSED)))
def test_what_no_statement_says_on_chips_is_told(place):
    said, function, types = REFUSED[place]
    with pytest.raises(TracingError, match=re.escape(said)) as caught:
        written(function, types)
    assert place > 4 or re.search(r"\w+\.py:\d+: ", str(caught.value))


def test_maxima_beside_sums_are_a_program():
    @on_chips(P(None, "y"), P("y", None), out_specs=P(None, None))
    def maxima(x, W):
        return jax.lax.pmax(jnp.max(x, 1), "y")[:, None] + jax.lax.psum(x @ W, "y")

    assert "mesh" in written(maxima, TWO)


def test_the_layer_that_the_documentation_shows():
    place = Path(__file__).parent.parent
    spec = importlib.util.spec_from_file_location("chips", place / "examples" / "jax" / "chips.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    types = {"x": "bf16[B, D]", "W1": "weight bf16[D, F]", "W2": "weight bf16[F, D]"}
    assert f"```text\n{written(module.mlp, types).rstrip()}\n```" in (place / "docs" / "trace.md").read_text("utf-8")


def test_what_one_step_leaves_another_takes_as_it_says():
    """Between two steps on chips stands the exchange that their specs ask for, on a mesh of one axis as well."""

    def experts_of(x, W):
        a = on_chips(P(None, "x", None), out_specs=P(None, "x", None), sizes=ONE)(jnp.tanh)(x)
        product = on_chips(P("x", None, None), P("x", None, None), out_specs=P("x", None, None), sizes=ONE)
        return product(lambda x, W: jnp.einsum("ecd,edf->ecf", x, W))(a, W)

    program = read_program(written(experts_of, {"x": "fp32[E, C, D]", "W": "weight fp32[E, D, F]"}))
    assert exchanges(program, {"E": 16, "C": 24, "D": 32, "F": 40}) == [("all-to-all", ("X",), 16 * 24 * 32 * 4)]

    def rows(x, W):
        h = on_chips(P(), P(None, "x"), out_specs=P(None, "x"), sizes=ONE)(lambda x, W: x @ W)(x, W)
        return on_chips(P("x", None), out_specs=P("x", None), sizes=ONE)(lambda h: h * h)(h)

    program = read_program(written(rows, {"x": "fp32[B, D]", "W": "weight fp32[D, F]"}))
    assert exchanges(program, {"B": 8, "D": 4, "F": 12}) == [("all-to-all", ("X",), 8 * 12 * 4)]


COMMON = {
    "data parallel": (on_chips, (P("x", None), P(), P()), P("x", None), lambda x, W, V: jax.nn.relu(x @ W) @ V, {"x": "fp32[B, D]", "W": "weight fp32[D, F]", "V": "weight fp32[F, D]"}),
    "a bias": (on_chips, (P("x", None), P(None, "y"), P("y")), P("x", "y"), lambda x, W, V: jnp.tanh(x @ W + V), {"x": "fp32[B, D]", "W": "weight fp32[D, F]", "V": "weight fp32[F]"}),
}  # fmt: skip


@pytest.mark.parametrize("name", COMMON)
def test_gradients_of_all_arguments(name):
    """Where a function varies over some axes of the mesh alone, and where JAX sees partial sums otherwise before it adds them."""
    make, ins, out, body, types = COMMON[name]
    run = make(*ins, out_specs=out)(body)

    def step(x, W, V):
        return jax.grad(lambda *all: (run(*all) ** 2).sum(), argnums=(0, 1, 2))(x, W, V)

    program = read_program(written(step, types))
    made = sorted(
        kind[0]
        for kind, _ in own.collectives(
            jax.make_jaxpr(step)(
                *(jax.ShapeDtypeStruct((24,) * (t.count(",") + 1), "float32") for t in types.values())
            ).jaxpr
        )
    )
    assert sorted(kind for kind, *_ in exchanges(program, dict.fromkeys(program.sizes, 24))) == made


LINEAR = {
    "a mean": (lambda x, t: jax.lax.pmean(jnp.mean((x - t) ** 2), ("x", "y")), P("x", "y"), P(), 4),
    "rows that stay": (
        lambda x, t: x - jax.lax.pmax(x.max(-1, keepdims=True), "y") + t,
        P("x", "y"),
        P("x", "y"),
        4 * 12,
    ),
    "half of it": (lambda x, t: jax.lax.psum(0.5 * jnp.sum(x * t, 1), "y"), P("x", "y"), P("x"), 4 * 12),
    "the norm of all": (
        lambda x, t: x * t * jax.lax.rsqrt(jax.lax.psum(jnp.sum(x * x), ("x", "y"))),
        P("x", "y"),
        P("x", "y"),
        4,
    ),
}


@pytest.mark.parametrize("name", LINEAR)
def test_what_is_linear_may_stand_between_partial_sums_and_their_sum(name):
    body, ins, out, message_ = LINEAR[name]
    program = read_program(written(on_chips(ins, ins, out_specs=out)(body), {"x": "fp32[B, D]", "t": "fp32[B, D]"}))
    assert [size for *_, size in exchanges(program, {"B": 24, "D": 48})] == [message_]


def test_heads_and_tokens_of_what_is_split():
    heads = on_chips(P("x"), P(None, "y"), out_specs=P("x", None, "y", None))(
        lambda x, W: (x @ W).reshape(*x.shape[:2], -1, 16) * 2
    )
    text = written(heads, {"x": "bf16[B, T, D]", "W": "weight bf16[D, N*16]"})
    assert "where S = N*16" in text
    assert "-> bf16[B_X, T, N_Y, 16]" in text
    tokens = on_chips(P("x"), P(None, "y"), out_specs=P("x", "y"))(lambda x, W: x.reshape(-1, x.shape[-1]) @ W)
    assert "where S = B*T" in written(tokens, {"x": "fp32[B, T, D]", "W": "weight fp32[D, F]"})


def test_axes_that_share_a_capital_have_others():
    run = on_chips(P("xy", None), P(None, "x"), out_specs=P("xy", "x"), sizes={"xy": 2, "x": 4})(lambda x, W: x @ W)
    assert read_program(written(run, {"x": "fp32[B, D]", "W": "fp32[D, F]"})).axes == ("X", "Z")


def test_partial_sums_that_are_used_twice_are_added_up_once():
    run = on_chips(P(None, "y"), P("y", None), out_specs=(P(None, None),) * 2)(
        lambda x, W: (lambda t: (jax.lax.psum(t, "y"), jax.lax.psum(t, "y") * 2))(x @ W)
    )
    assert written(run, {"x": "fp32[B, D]", "W": "fp32[D, F]"}).count("x * W") == 1


def test_subscripts_and_specs_agree_or_are_told():
    split = {"x": "fp64[B_X, D]", "W1": "weight fp64[D, F_Y]", "W2": "weight fp64[F_Y, D]"}
    said = written(tensor_parallel(), split, mesh="X = 2, Y = 4 on ICI")
    assert said == written(tensor_parallel(), TYPES).replace("mesh X = 2, Y = 4", "mesh X = 2, Y = 4 on ICI")
    with pytest.raises(TracingError, match="x is taken split otherwise: B_X"):
        written(tensor_parallel(), split | {"x": "fp64[B, D_X]"}, mesh="X = 2, Y = 4 on ICI")


def test_axes_have_names_in_capitals():
    run = on_chips(P("data", None), P(None, "model"), out_specs=P("data", "model"), sizes={"data": 2, "model": 4})(
        lambda x, W: x @ W
    )
    text = written(lambda x, W: run(x, W), {"x": "fp32[B, D]", "W": "weight fp32[D, F]"})
    assert text.startswith("mesh A = 2, M = 4  # A is data, M is model\n")
    assert "fp32[B_A, F_M]" in text
    assert sr.derive(text, given={"peak": "1e15", "HBM": "1e12", "ICI": "1e11"}).counts()["sampled"] == 0


def test_a_fault_in_what_splits_a_part_is_noticed(monkeypatch):
    """A dimension that is taken for whole has another size, and the products are not those of the function."""
    monkeypatch.setattr(sharded, "placed", lambda spec, rank: ((),) * rank)
    with pytest.raises(sr.SymroofError):
        written(fully_sharded(), TYPES)
