"""The layer of a decoder as PyTorch has it: grouped queries, a causal mask, a gated MLP.

symroof trace examples/torch/block.py:Block --init "K*G*H, K*G, K, F" --shape "x=bf16[B, T, K*G*H]"
"""

import torch.nn.functional as F  # noqa: N812 (its usual name)
from torch import Tensor, nn


class Block(nn.Module):
    def __init__(self, width: int, heads: int, kv_heads: int, hidden: int) -> None:
        super().__init__()
        self.heads, self.kv_heads, head = heads, kv_heads, width // heads
        self.wq, self.wo = (nn.Linear(width, width, bias=False) for _ in range(2))
        self.wk, self.wv = (nn.Linear(width, kv_heads * head, bias=False) for _ in range(2))
        self.w1, self.w3 = (nn.Linear(width, hidden, bias=False) for _ in range(2))
        self.w2 = nn.Linear(hidden, width, bias=False)
        self.n1, self.n2 = (nn.RMSNorm(width) for _ in range(2))

    def split(self, y: Tensor, heads: int) -> Tensor:
        batch, time, _ = y.shape
        return y.view(batch, time, heads, -1).transpose(1, 2)

    def forward(self, x: Tensor) -> Tensor:
        xn = self.n1(x)
        q = self.split(self.wq(xn), self.heads)
        k = self.split(self.wk(xn), self.kv_heads)
        v = self.split(self.wv(xn), self.kv_heads)
        o = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        y = x + self.wo(o.transpose(1, 2).reshape(x.shape))
        yn = self.n2(y)
        return y + self.w2(F.silu(self.w1(yn)) * self.w3(yn))
