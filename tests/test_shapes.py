"""Products of shapes."""

from pathlib import Path

import pytest

from symroof.reading.documents import read_text
from symroof.verification.chapters import judge_read

pytestmark = pytest.mark.part(8)

SHAPES = {
    "$[b, s, h] \\times [h, 4h] = [b, s, 4h]$": ["holds"],
    "$[b, s, 4h] \\times [h, h] = [b, s, h]$": ["wrong"],
    "$[B, N, T, H] \\cdot [B, N, H, S] = [B, N, T, S]$": ["holds"],
    "$[m \\times k] \\cdot [k \\times n] \\to [m \\times n]$": ["holds"],
    "$[m, k] \\cdot [n, k] = [m, n]$": [],
    "`[4096, 512] x [512, 1024] = [4096, 2048]`": ["wrong"],
    "```\n(8, 64) @ (32, 128) -> (8, 128)\n```": ["wrong"],
    "With $k = 4h$ we have $[b, 4h] \\times [k, h] = [b, h]$": ["holds"],
    "$[2, 3] \\times [3, 4, 5] = [2, 5]$": ["wrong"],
    "int8[B, D] * int8[B, D, F] -> int8[B, F]": [],
}


def verdicts(text):
    return [one.verdict for one in judge_read(read_text(text), Path()).judgements]


@pytest.mark.parametrize("text", SHAPES)
def test_sizes_that_have_to_be_the_same_are_compared(text):
    assert verdicts(text) == SHAPES[text]
