"""Worked answers against loops that do what the programs say, on small numbers: every multiplication counted, one by one."""

import pytest

import symroof as sr


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
