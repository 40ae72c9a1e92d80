"""Counting and judging by brute force. Imports nothing from symroof."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import prod
from random import Random


def loop_flops(inputs, output, sizes):
    """Multiplications and additions of the loop nest, counted one by one."""
    labels = list(dict.fromkeys(label for shape in inputs for label in shape))
    summed = [label for label in labels if label not in output]
    operations = 0
    for _ in product(*(range(sizes[label]) for label in output)):
        terms = 0
        for _ in product(*(range(sizes[label]) for label in summed)):
            operations += len(inputs) - 1
            terms += 1
        operations += terms - 1
    return operations


def array_bytes(shape, bits, sizes):
    """The bytes of an array, element by element."""
    return Fraction(sum(bits for _ in product(*(range(sizes[label]) for label in shape))), 8)


def intensity(inputs, output, bits, sizes):
    """FLOPs per byte with an addition for every multiplication, from loops."""
    labels = list(dict.fromkeys(label for shape in inputs for label in shape))
    contracted = any(label not in output for label in labels)
    flops = loop_flops(inputs, output, sizes)
    if contracted:
        flops += prod(sizes[label] for label in output)
    moved = sum(array_bytes(shape, width, sizes) for shape, width in zip((*inputs, output), bits, strict=True))
    return Fraction(flops) / moved


def matmul_times(B, D, F, *, peak, bandwidth, widths=(2, 2, 2)):
    """T_math and T_comms of a matrix product, from first principles."""
    moved = widths[0] * B * D + widths[1] * D * F + widths[2] * B * F
    return Fraction(2 * B * D * F) / peak, Fraction(moved) / bandwidth


def first_compute_bound(holds, limit=10**6):
    """The least whole number for which ``holds`` is true, by bisection on a condition that stays true."""
    low, high = 0, 1
    while not holds(high):
        low, high = high, high * 2
        if high > limit:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def scaled(weights, t, seed=0):
    """Sizes c * t**w for random constants c, as exact numbers: a point far along a scaling."""
    random = Random(seed)
    return {name: Fraction(random.randint(1, 9)) * Fraction(t) ** w for name, w in weights.items()}
