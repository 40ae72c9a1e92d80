"""A layer of a decoder in JAX, for `symroof trace`."""

import jax
import jax.numpy as jnp


def rms_norm(x, g):
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) * g


def rope(x):
    half = x.shape[-1] // 2
    angles = jnp.arange(x.shape[1])[:, None] / 10000 ** (jnp.arange(half) / half)
    cos, sin = (f(angles).astype(x.dtype).reshape(-1, *(1,) * (x.ndim - 3), half) for f in (jnp.cos, jnp.sin))
    left, right = x[..., :half], x[..., half:]
    return jnp.concatenate([left * cos - right * sin, right * cos + left * sin], -1)


def attention(q, k, v):
    scores = jnp.einsum("btkgh,bskh->btskg", q, k)
    weights = jax.nn.softmax(scores, axis=2)
    return jnp.einsum("btskg,bskh->btkgh", weights, v)


def layer(x, n1, n2, Wq, Wk, Wv, Wo, W1, W3, W2):
    xn = rms_norm(x, n1)
    q = rope(jnp.einsum("btd,dkgh->btkgh", xn, Wq))
    k = rope(jnp.einsum("btd,dkh->btkh", xn, Wk))
    v = jnp.einsum("btd,dkh->btkh", xn, Wv)
    o = attention(q, k, v)
    y = x + jnp.einsum("btkgh,kghd->btd", o, Wo)
    yn = rms_norm(y, n2)
    return y + (jax.nn.silu(yn @ W1) * (yn @ W3)) @ W2
