"""Programs that several tests speak of, and tables of cases."""

import re

import pytest

from symroof.errors import CheckError, SymroofError
from symroof.verification.document_claims import judge_document


def cases(table):
    """A test runs once for each line of a table below its head, which names what stands between its bars."""
    head, *rows = (re.split(r" +\| ?", line) for line in table.strip("\n").split("\n"))
    return pytest.mark.parametrize(head, rows)


def refused(ask, *rows):
    """A test that asks what stands in each row, is refused as a mistake of who asks, and is told what stands last."""

    @pytest.mark.parametrize("row", rows, ids=lambda row: row[-1])
    def test(row):
        *asked, said = row
        with pytest.raises(SymroofError) as caught:
            ask(*asked)
        assert said in str(caught.value)
        assert not isinstance(caught.value, CheckError)

    return test


def judged(folder, text, name="chapter.md"):
    """The report on a document of a folder."""
    path = folder / name
    path.write_text(text, "utf-8")
    return judge_document(path)


MLP = """
input  x:  bf16[N, D]
weight W1: bf16[D, F]
weight W2: bf16[F, D]
h = x * W1 -> bf16[N, F]
a = relu(h)
y = a * W2 -> bf16[N, D]
"""
ATTENTION = """
input Q: bf16[B, T, K, G, H]
cache Kc, Vc: bf16[B, S, K, H]
fuse {
  s = Q * Kc -> bf16[B, T, S, K, G]
  p = softmax(s, S)
  o = p * Vc -> bf16[B, T, K, G, H]
}
"""
LAYERS = """
input x: bf16[B, T, D]
weight Wq: bf16[D, K, G, H]; weight Wo: bf16[K, G, H, D]; weight W1, W3: bf16[D, F]; weight W2: bf16[F, D]; weight We: bf16[V, D]
cache Kc, Vc: bf16[B, S, K, H]
repeat L as x = z {
  n = rms_norm(x); q = n * Wq -> bf16[B, T, K, G, H]
  fuse { s = q * Kc -> bf16[B, T, S, K, G]; p = softmax(s, S); o = p * Vc -> bf16[B, T, K, G, H] }
  u = o * Wo -> bf16[B, T, D]; w = x + u; m = rms_norm(w)
  h = m * W1 -> bf16[B, T, F]; g = m * W3 -> bf16[B, T, F]; a = silu(h); b = a * g; y = b * W2 -> bf16[B, T, D]; z = w + y
}
l = z * We -> bf16[B, T, V]
"""
FSDP = """
mesh X, Y on ICI
input  x:  bf16[B_X, D_Y]
weight W1: bf16[D_X, F_Y]
weight W2: bf16[F_Y, D_X]
h = x * W1 -> bf16[B_X, F_Y]
a = gelu(h)
y = a * W2 -> bf16[B_X, D_Y]
"""
DECODER = """
input x: bf16[B, T, D]
weight Wq: bf16[D, K, G, H]; weight Wk, Wv: bf16[D, K, H]; weight Wo: bf16[K, G, H, D]; weight W1, W3: bf16[D, F]; weight W2: bf16[F, D]; weight We: bf16[V, D]
cache Kc, Vc: bf16[B, S, K, H]
repeat L as x = z {
  n = rms_norm(x); q = n * Wq -> bf16[B, T, K, G, H]; r = rope(q); k = n * Wk -> bf16[B, T, K, H]; v = n * Wv -> bf16[B, T, K, H]
  fuse { s = r * Kc -> bf16[B, T, S, K, G]; p = softmax(s, S); o = p * Vc -> bf16[B, T, K, G, H] }
  u = o * Wo -> bf16[B, T, D]; w = x + u; m = rms_norm(w)
  h = m * W1 -> bf16[B, T, F]; g = m * W3 -> bf16[B, T, F]; a = silu(h); b = a * g; y = b * W2 -> bf16[B, T, D]; z = w + y
}
l = z * We -> bf16[B, T, V]
"""
EXPERTS = """
input x: bf16[E, c, D]
weight W1: bf16[E, D, F]; weight W2: bf16[E, F, D]
where c = B*k/E
h = x * W1 -> bf16[E, c, F]
a = gelu(h)
y = a * W2 -> bf16[E, c, D]
"""
