"""An operation that no einsum writes, given by its costs: a windowed attention with W keys for each query."""

import symroof as sr


def flops(T, K, H):
    return 2 * T * K * H + 2 * T * K * H


def reads(T, K, H):
    return 2 * T * H + 2 * (T + K) * H + 2 * (T + K) * H


def writes(T, K, H):
    return 2 * T * H


window = sr.Operation("windowed attention", flops=flops, reads=reads, writes=writes)
d = sr.derive(window, on="tpu-v5e", compute="bf16", assume="K << T", solve_for="K")
print(d.to_markdown())
