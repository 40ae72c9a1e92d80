"""Modules of PyTorch as people write them, for the tests that trace them."""

import importlib.util
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
nn, F = torch.nn, torch.nn.functional

_place = Path(__file__).parent.parent / "examples" / "torch" / "block.py"
_spec = importlib.util.spec_from_file_location("block", _place)
_example = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_example)
Block = _example.Block


def linear(inside, out, bias=False):
    return nn.Linear(inside, out, bias=bias)


class MLP(nn.Module):
    def __init__(self, d, f):
        super().__init__()
        self.up, self.down = linear(d, f), linear(f, d)

    def forward(self, x):
        h = self.up(x)
        return self.down(F.gelu(h, approximate="tanh"))


class Gated(nn.Module):
    def __init__(self, d, f):
        super().__init__()
        self.both, self.down = linear(d, 2 * f, bias=True), linear(f, d)

    def forward(self, x):
        g, u = self.both(x).chunk(2, dim=-1)
        return self.down(F.silu(g) * u)


class RMSNorm(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight


class Normed(nn.Module):
    def __init__(self, d, f):
        super().__init__()
        self.norm, self.up = RMSNorm(d), linear(d, f)

    def forward(self, x):
        return self.up(self.norm(x))


class Stack(nn.Module):
    def __init__(self, d, n, k, f, layers=100):
        super().__init__()
        self.layers = nn.ModuleList([Block(d, n, k, f) for _ in range(layers)])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


class Attention(nn.Module):
    """Attention as it was written before there was a function for it."""

    def __init__(self, d, n):
        super().__init__()
        self.n, self.qkv, self.out = n, linear(d, 3 * d, bias=True), linear(d, d, bias=True)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = (y.view(b, t, self.n, d // self.n).transpose(1, 2) for y in self.qkv(x).split(d, dim=-1))
        a = (q @ k.transpose(-1, -2) / (d // self.n) ** 0.5).softmax(-1)
        return x + self.out((a @ v).transpose(1, 2).reshape(b, t, d))


class Repeated(nn.Module):
    """Keys that are repeated for the queries of their group."""

    def __init__(self, d, n, k):
        super().__init__()
        self.n, self.k, self.h = n, k, d // n
        self.q, self.kk, self.v = linear(d, d), linear(d, k * self.h), linear(d, k * self.h)

    def wide(self, y):
        b, k, t, h = y.shape
        return y[:, :, None].expand(b, k, self.n // self.k, t, h).reshape(b, self.n, t, h)

    def forward(self, x):
        b, t, _ = x.shape
        q = self.q(x).view(b, t, self.n, self.h).transpose(1, 2)
        k, v = (y.view(b, t, self.k, self.h).transpose(1, 2) for y in (self.kk(x), self.v(x)))
        a = torch.softmax(q @ self.wide(k).transpose(-1, -2), -1)
        v = torch.repeat_interleave(v, self.n // self.k, dim=1)
        return a @ v


class Experts(nn.Module):
    def __init__(self, d, e, f):
        super().__init__()
        self.router = linear(d, e)
        self.w1, self.w2 = nn.Parameter(torch.empty(e, d, f)), nn.Parameter(torch.empty(e, f, d))

    def forward(self, x):
        p = self.router(x).softmax(-1)
        h = F.silu(torch.einsum("td,edf->tef", x, self.w1))
        y = torch.einsum("tef,efd->ted", h, self.w2)
        return torch.einsum("ted,te->td", y, p)


class Tokens(nn.Module):
    def __init__(self, v, d):
        super().__init__()
        self.table, self.head = nn.Embedding(v, d), linear(d, v)

    def forward(self, ids):
        return self.head(self.table(ids))


class Cached(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.key = linear(d, d)

    def forward(self, x, cache):
        k = self.key(x)
        return torch.einsum("btd,bsd->bts", k, torch.cat([cache, k], 1))


class Encoder(nn.Module):
    def __init__(self, d, n, f):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(d, n, f, batch_first=True)

    def forward(self, x):
        return self.layer(x)


class Pixels(nn.Module):
    def __init__(self, c, k):
        super().__init__()
        self.filters = nn.Conv2d(c, k, 3, padding=1, bias=False)

    def forward(self, x):
        return F.relu(self.filters(x))


class Stem(nn.Module):
    def __init__(self, c, k):
        super().__init__()
        self.first = nn.Conv2d(c, k, 3, stride=2, padding=1, bias=False)
        self.second = nn.Conv2d(k, k, 2, stride=2)

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))


class Dropped(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.up = linear(d, d)

    def forward(self, x):
        return F.dropout(self.up(x), 0.1, training=True)


class Recurrent(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.cells = nn.LSTM(d, d, batch_first=True)

    def forward(self, x):
        return self.cells(x)[0]


def projected(x, w, v):
    h = torch.einsum("bd,df->bf", x, w)
    return h.relu() @ v


def by_size(x, w):
    return x @ w if x.shape[0] > 100 else (x @ w).relu()


def nothing_known(x):
    return torch.cumsum(x, -1)


class Twice(nn.Module):
    """Each layer is applied two times: its weights are those of both."""

    def __init__(self, d, layers=4):
        super().__init__()
        self.layers = nn.ModuleList([linear(d, d) for _ in range(layers)])

    def forward(self, x):
        for layer in self.layers:
            for _ in range(2):
                x = x + layer(x).relu()
        return x


class Stacked(nn.Module):
    """A weight of all layers, of which each takes its own part."""

    def __init__(self, d):
        super().__init__()
        self.w = nn.Parameter(torch.empty(6, d, d))

    def forward(self, x):
        for i in range(6):
            x = x + (x @ self.w[i]).relu()
        return x


class Optional(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.up = linear(d, d)

    def forward(self, x, bias=None, gain=None, *, more=None):
        y = self.up(x)
        y = y if bias is None else y + bias
        y = y if gain is None else y * gain
        return y if more is None else y - more


class InPlace(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.up, self.act = linear(d, d), nn.ReLU(inplace=True)

    def forward(self, x):
        y = self.up(x)
        z = y.view(-1, y.shape[-1])
        z.clamp_(min=0)
        y += x
        return self.act(y) * 2


class Wide(nn.Module):
    """A softmax in a wider type, with a mask that is made there."""

    def __init__(self, d):
        super().__init__()
        self.up = linear(d, d)

    def forward(self, x):
        mask = torch.full((x.shape[-2], x.shape[-1]), float("-inf")).triu(1)
        return F.softmax(self.up(x) + mask, dim=-1, dtype=torch.float32).to(x.dtype)


class Fused(nn.Module):
    def __init__(self, d, n):
        super().__init__()
        self.n, self.qkv = n, linear(d, 3 * d)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = (y.view(b, t, self.n, d // self.n).transpose(1, 2) for y in self.qkv(x).chunk(3, -1))
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def broadcast(x, c):
    return torch.add(x * c, 1, alpha=2)


def larger(x, y):
    return (x > y).to(x.dtype) * x


def clamped(x):
    return torch.clamp(x, -1.0, 1.0)


INSTANCE = MLP(64, 256)
