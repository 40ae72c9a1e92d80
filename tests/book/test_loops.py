"""Worked answers against loops that do what the programs say, on small numbers: every multiplication counted, one by one."""

from fractions import Fraction
from itertools import product as loops
from random import Random

import pytest
from sympy import sympify

import symroof as sr


def derived(text, quantity, sizes, **options):
    """A quantity of the record of a program, at sizes."""
    return sympify(sr.derive(text, **options).to_dict()["answer"][quantity], locals=sizes)


GROUPED = """
input Q: bf16[B, T, K, G, H]
cache Kc, Vc: bf16[B, S, K, H]
fuse {
  s = Q * Kc -> bf16[B, T, S, K, G]
  p = softmax(s, S)
  o = p * Vc -> bf16[B, T, K, G, H]
}
"""


@pytest.mark.parametrize("sizes", [(2, 3, 4, 2, 3, 2), (1, 1, 5, 2, 4, 3), (2, 4, 4, 1, 1, 2)])
def test_grouped_queries(sizes):
    """Each query head looks at the cache of its own group; a cached row is read from memory when it is first used."""
    named = dict(zip("BTSKGH", sizes, strict=True))
    B, T, S, K, G, H = sizes
    work, cached = 0, set()
    for b, _, head in loops(range(B), range(T), range(K * G)):
        group = head // G
        for s, h in loops(range(S), range(H)):
            work += 2 * 2  # a score and a sum of values: a multiplication and an addition for each
            cached |= {("k", b, s, group, h), ("v", b, s, group, h)}
    moved = 2 * len(cached) + 2 * 2 * B * T * K * G * H
    assert derived(GROUPED, "flops", named) == work
    assert derived(GROUPED, "bytes", named) == moved
    assert derived(GROUPED, "caches", named) == 2 * len(cached)


EXPERTS = """
input  x:  bf16[E, c, D]
weight W1: bf16[E, D, F]
weight W2: bf16[E, F, D]
where  c = B*k/E
h = x * W1 -> bf16[E, c, F]
a = relu(h)
y = a * W2 -> bf16[E, c, D]
"""


@pytest.mark.parametrize(("B", "E", "k"), [(8, 4, 2), (12, 6, 1), (16, 8, 8)])
def test_tokens_that_are_routed(B, E, k):
    """Tokens go to k experts each, as many to one as to another; every expert that has a token is read."""
    D, F, rng = 3, 5, Random(B * E + k)
    first = rng.randrange(E)
    chosen = {token: [(first + token * k + i) % E for i in range(k)] for token in range(B)}
    assert {len([t for t in chosen if e in chosen[t]]) for e in range(E)} == {B * k // E}
    work = sum(2 * D * F + 2 * F * D for token in chosen for _ in chosen[token])
    read = {(e, i, j) for experts in chosen.values() for e in experts for i, j in loops(range(D), range(F))}
    sizes = {"B": B, "E": E, "k": k, "D": D, "F": F}
    assert derived(EXPERTS, "flops", sizes) == work
    assert derived(EXPERTS, "weights", sizes) == 2 * 2 * len(read)


ABSORBED = """
input  x:   bf16[B, D]
weight Wq:  bf16[D, N, H]
weight Wuk, Wuv: bf16[C, N, H]
weight Wo:  bf16[N, H, D]
cache  c:   bf16[B, S, C]
q  = x * Wq -> bf16[B, N, H]
ql = q * Wuk -> bf16[B, N, C]
fuse {
  s = ql * c -> bf16[B, S, N]
  p = softmax(s, S)
  ol = p * c -> bf16[B, N, C]
}
o  = ol * Wuv -> bf16[B, N, H]
y  = o * Wo -> bf16[B, D]
"""
EXPANDED = """
input  x:   bf16[B, D]
weight Wq:  bf16[D, N, H]
weight Wuk, Wuv: bf16[C, N, H]
weight Wo:  bf16[N, H, D]
cache  c:   bf16[B, S, C]
q  = x * Wq -> bf16[B, N, H]
k  = c * Wuk -> bf16[B, S, N, H]
v  = c * Wuv -> bf16[B, S, N, H]
fuse {
  s = q * k -> bf16[B, S, N]
  p = softmax(s, S)
  o = p * v -> bf16[B, N, H]
}
y  = o * Wo -> bf16[B, D]
"""


def contracted(left, right, shape, lengths, count):
    """Numbers of a product by their indices; ``count`` takes two for each pair that is multiplied and added."""
    (a, first), (b, second) = left, right
    every = dict.fromkeys((*first, *second))
    found = {}
    for index in loops(*(range(lengths[name]) for name in every)):
        place = dict(zip(every, index, strict=True))
        key = tuple(place[name] for name in shape)
        found[key] = found.get(key, 0) + a[tuple(place[n] for n in first)] * b[tuple(place[n] for n in second)]
        count.append(2)
    return found, shape


@pytest.mark.thorough
def test_latent_attention_absorbed_or_not():
    """The same numbers come out whether keys and values are made of the latent rows or the projections are absorbed; but the
    work is another, and both are as counted. Weights of the softmax are scores here: sums are linear in them."""
    lengths = {"B": 2, "D": 3, "N": 2, "H": 3, "C": 2, "S": 4}
    rng = Random(7)

    def random(names):
        return {i: Fraction(rng.randint(-9, 9)) for i in loops(*(range(lengths[n]) for n in names))}, names

    x, wq, wuk, wuv, wo, c = map(random, ("BD", "DNH", "CNH", "CNH", "NHD", "BSC"))
    few, many = [], []
    q = contracted(x, wq, "BNH", lengths, few)
    ql = contracted(q, wuk, "BNC", lengths, few)
    s = contracted(ql, c, "BSN", lengths, few)
    ol = contracted(s, c, "BNC", lengths, few)
    o = contracted(ol, wuv, "BNH", lengths, few)
    absorbed = contracted(o, wo, "BD", lengths, few)
    q = contracted(x, wq, "BNH", lengths, many)
    k, v = (contracted(c, w, "BSNH", lengths, many) for w in (wuk, wuv))
    s = contracted(q, k, "BSN", lengths, many)
    o = contracted(s, v, "BNH", lengths, many)
    expanded = contracted(o, wo, "BD", lengths, many)
    assert absorbed == expanded
    assert derived(ABSORBED, "flops", lengths) == sum(few)
    assert derived(EXPANDED, "flops", lengths) == sum(many)


@pytest.mark.parametrize(("S", "F"), [(1, 4096), (64, 16384), (100, 28672), (300, 28672)])
def test_first_batch_of_a_decoding_step_that_is_compute_bound(S, F):
    """One batch after the other is tried, with the bytes of the weights, of B caches and of B rows."""
    text = """
input  x:  bf16[B, K, H]
weight W:  bf16[K, H, F]
weight Wo: bf16[F, K, H]
cache  Kc, Vc: bf16[B, S, K, H]
fuse {
  s = x * Kc -> bf16[B, S, K]
  p = softmax(s, S)
  o = p * Vc -> bf16[B, K, H]
  h = o * W -> bf16[B, F]
  z = h * Wo -> bf16[B, K, H]
}
"""
    peak, bandwidth = 197 * 10**12, 82 * 10**10
    flops = 2 * 2 * F + 2 * 2 * S  # of one head entry of one sequence: two matrices, and two looks at the cache
    weights, sequence = 2 * 2 * F, 2 * 2 * S + 2 * 2

    def leads(batch):
        return batch * flops * bandwidth > (weights + batch * sequence) * peak

    batch = next((batch for batch in range(1, 10**5) if leads(batch)), None)
    (row,) = sr.derive(text, on="tpu-v5e", solve_for="B", at={"S": S, "F": F}).to_dict()["answer"]["at"]
    assert row["smallest_integer"] == batch
    assert (row["outcome"] == "never compute-bound") == (batch is None)
