"""Functions of JAX as people write them, for the tests that trace them."""

import pytest

jax = pytest.importorskip("jax")
jnp = jax.numpy


def mlp(x, W1, W2):
    h = x @ W1
    a = jax.nn.gelu(h)
    return a @ W2


def gated(x, W1, W3, W2):
    return (jax.nn.silu(x @ W1) * (x @ W3)) @ W2


def plain_attention(x, Wq, Wk, Wv, Wo):
    q = jnp.einsum("btd,dnh->btnh", x, Wq)
    k = jnp.einsum("btd,dnh->btnh", x, Wk)
    v = jnp.einsum("btd,dnh->btnh", x, Wv)
    s = jnp.einsum("btnh,bsnh->bnts", q, k) / jnp.sqrt(q.shape[-1])
    p = jax.nn.softmax(s, axis=-1)
    o = jnp.einsum("bnts,bsnh->btnh", p, v)
    return x + jnp.einsum("btnh,nhd->btd", o, Wo)


def heads(x, Wq, Wk, Wv, Wo):
    B, T, _ = x.shape
    N, H = 4, Wq.shape[1] // 4
    q, k, v = ((x @ W).reshape(B, T, N, H) for W in (Wq, Wk, Wv))
    o = jax.nn.dot_product_attention(q, k, v)
    return o.reshape(B, T, N * H) @ Wo


def patches(x, We, p, W1, W2):
    """A block of a vision transformer: patches, positions, an MLP around which the sum goes."""
    B, H, W, C = x.shape
    x = x.reshape(B, H // 4, 4, W // 4, 4, C).transpose(0, 1, 3, 2, 4, 5).reshape(B, H * W // 16, 16 * C)
    y = x @ We + p
    return y + jax.nn.gelu(y @ W1) @ W2


def experts(x, router, W1, W2):
    p = jax.nn.softmax(x @ router, axis=-1)
    h = jnp.einsum("td,edf->tef", x, W1)
    a = jax.nn.gelu(h)
    y = jnp.einsum("tef,efd->ted", a, W2)
    return jnp.einsum("ted,te->td", y, p)


def scanned(x, W, V):
    def turn(c, w):
        h = jax.nn.silu(c @ w[0])
        return c + h @ w[1], None

    return jax.lax.scan(turn, x, (W, V))[0]


def tied(x, W, V):
    def turn(c, v):
        return c + jax.nn.silu(c @ W) @ v, None

    return jax.lax.scan(turn, x, V)[0]


def layers(x, layers):
    for layer in layers:
        h = jax.nn.silu(x @ layer["up"])
        x = x + h @ layer["down"]
    return x


def remade(x, W1, W2):
    return jax.checkpoint(mlp)(x, W1, W2)


def rows(ids, E, W):
    x = E[ids]
    return x @ W


def convolved(x, k):
    y = jax.lax.conv_general_dilated(x, k, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return jax.nn.relu(y)


def strided(x, k, m):
    image = ("NHWC", "HWIO", "NHWC")
    y = jax.lax.conv_general_dilated(x, k, (2, 2), "SAME", dimension_numbers=image)
    return jax.lax.conv_general_dilated(jax.nn.relu(y), m, (2, 1), "SAME", dimension_numbers=image)


def within(x, k):
    return jax.lax.conv_general_dilated(x, k, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def two_states(x, m, W, V):
    def turn(states, weights):
        x, m = states
        m = m + jax.nn.gelu(x @ weights[0]) @ weights[1]
        return (x * m, m), None

    (x, m), _ = jax.lax.scan(turn, (x, m), (W, V))
    return x, m


def normed(x, g, b):
    m = x.mean(-1, keepdims=True)
    v = ((x - m) ** 2).mean(-1, keepdims=True)
    return (x - m) / jnp.sqrt(v) * g + b


def halves(x, W, V):
    h = x @ W
    half = h.shape[-1] // 2
    return (jax.nn.silu(h[..., :half]) * h[..., half:] + h[..., :half]) @ V


def rotated(x, W, c, s):
    q = x @ W
    half = q.shape[-1] // 2
    first, second = q[..., :half], q[..., half:]
    turned = jnp.concatenate([second, first], -1)
    return q * c + turned * s


def prefixed(x, m, W):
    return jnp.concatenate([m, x], 1) @ W


def all_but_one(x, W):
    return x[:, :-1] @ W


def together(x, W, V):
    q, k, v = jnp.split(x @ W, 3, axis=-1)
    p = jax.nn.softmax(q @ k.swapaxes(-1, -2))
    return p @ v @ V


def repeated_keys(x, Wq, Wk):
    B, T, _ = x.shape
    q = (x @ Wq).reshape(B, T, 12, -1)
    k = (x @ Wk).reshape(B, T, 4, -1)
    k = jnp.repeat(k, 3, axis=2)
    s = jnp.einsum("btnh,bsnh->bnts", q, k)
    return jax.nn.softmax(s)


def both(x, y, W):
    return jnp.stack([x, y]) @ W


def cached(x, K, W, pos):
    k = x @ W
    K = jax.lax.dynamic_update_slice(K, k[:, None], (0, pos, 0))
    return jnp.einsum("bh,bsh->bs", k, K)


def overlapping(x, W):
    return x[:, 1:] @ W + x[:, :-1] @ W


def with_steps(x, W):
    return x[::2] @ W


def padded(x, W):
    return jnp.concatenate([jnp.zeros_like(x), x], 0) @ W


def branch(x, W):
    return x @ W if x.shape[0] > 1000 else jax.nn.relu(x @ W)


def on_chips(x, W):
    split = jax.sharding.PartitionSpec
    mesh = jax.sharding.AbstractMesh((2,), ("x",))
    product = jax.shard_map(lambda x, W: x @ W, mesh=mesh, in_specs=(split("x"), split()), out_specs=split("x"))
    return product(x, W)


def while_loop(x, W):
    return jax.lax.while_loop(lambda c: c.sum() > 0, lambda c: c @ W, x)


def made_before(x, W):
    return jax.lax.scan(lambda c, w: (c @ w, None), x, W * 2.0)[0]


def nothing(x):
    return x


def selected(x, m, W1, W2):
    return jnp.where(m[:, None] > 0, x @ W1, x @ W2)


def squared_error(w, x, y):
    return jnp.mean((jax.nn.gelu(x @ w[0]) @ w[1] - y) ** 2)


def twice(x, Ws):
    def turn(c, p):
        return jnp.tanh(c @ p["a"]) @ p["b"], None

    x, _ = jax.lax.scan(turn, x, Ws)
    x, _ = jax.lax.scan(turn, x, Ws)
    return x


def two_loops(x, layers):
    for layer in layers:
        x = x + jnp.tanh(x @ layer)
    for layer in layers:
        x = x + jnp.tanh(x @ layer)
    return x


def parts_of_a_weight(x, W):
    for i in range(6):
        x = x + jax.nn.relu(x @ W[i])
    return x


def with_a_sum(x, Ws):
    def turn(c, p):
        return (jnp.tanh(c[0] @ p["a"]) @ p["b"], c[1] + c[0]), None

    return jax.lax.scan(turn, (x, jnp.zeros_like(x)), Ws)[0]


def stacked(x, W):
    return jax.lax.scan(lambda h, w: (jnp.tanh(h @ w), h), x, W)[1]


def clipped(x, W):
    return jnp.clip(x @ W, -1, 1)


def step(W, g, lr):
    return W - lr * g


def powers(x):
    return x**0.5 + x**-1.0 + 2.0**x + x**3


def repeated(x):
    return jnp.sum(jnp.repeat(x, 4, axis=1), 1)


def over(array, *axes):
    mesh = jax.sharding.AbstractMesh((4, 2), ("x", "y"))
    named = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(*axes))
    return jax.lax.with_sharding_constraint(array, named)


def constrained(x, W1, W2):
    h = over(over(x, "x", "y") @ over(W1, "x", "y"), "x", "y")
    a = jax.nn.gelu(h)
    return over(a @ over(W2, "y", "x"), "x", "y")


def gathered(x, W1, W2):
    a = jax.nn.gelu(over(x, "x") @ W1)
    return over(a, None, None) @ W2


def rooted(x, W):
    h = over(x, ("x", "y")) @ W
    return h / h.shape[0] ** 0.5


def half_open(x, W):
    return over(x @ W, "x", jax.sharding.PartitionSpec.UNCONSTRAINED)


def recurrent(x, h, W, U, V):
    def turn(h, x):
        h = jnp.tanh(x @ W + h @ U)
        return h, h

    states = jax.lax.scan(turn, h, x)[1]
    return states @ V


def gated_cell(x, W, U):
    """A long short-term memory, which begins with zeros."""
    start = jnp.zeros((x.shape[1], U.shape[0]), x.dtype)

    def turn(carry, x):
        h, c = carry
        i, f, g, o = jnp.split(x @ W + h @ U, 4, axis=-1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    return jax.lax.scan(turn, (start, start), x)[1]


def selective(x, d, b, c, A, h):
    def turn(h, at):
        x, d, b, c = at
        h = jnp.exp(d[..., None] * A) * h + (d * x)[..., None] * b[:, None, :]
        return h, jnp.einsum("bdn,bn->bd", h, c)

    return jax.lax.scan(turn, h, (x, d, b, c))[1]


def every_layer(x, W, V):
    def turn(x, w):
        h = jax.nn.silu(x @ w[0])
        return x + h @ w[1], h

    return jax.lax.scan(turn, x, (W, V))


def made_and_scanned(x, W, U):
    h = x @ W
    return jax.lax.scan(lambda s, h: (jnp.tanh(s @ U + h), None), h[0], jax.nn.silu(h))[0]


def last_first(x, h, U):
    return jax.lax.scan(lambda h, x: (jnp.tanh(h @ U + x), h @ U), h, x, reverse=True)[1]


def stacked_twice(x, h, U):
    def turn(h, x):
        h = jnp.tanh(h @ U + x)
        return h, (h, h)

    states, same = jax.lax.scan(turn, h, x)[1]
    return states * same
