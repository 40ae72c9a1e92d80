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


class Plain(nn.Module):
    def __init__(self, d, f, layers):
        super().__init__()
        self.layers = nn.ModuleList([MLP(d, f) for _ in range(layers)])

    def forward(self, x):
        for layer in self.layers:
            x = x + layer(x)
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


class Dropped(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.up = linear(d, d)

    def forward(self, x):
        return F.dropout(self.up(x), 0.1, training=True)


def projected(x, w, v):
    h = torch.einsum("bd,df->bf", x, w)
    return h.relu() @ v


def by_size(x, w):
    return x @ w if x.shape[0] > 100 else (x @ w).relu()


def nothing_known(x):
    return torch.cumsum(x, -1)


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


def broadcast(x, c):
    return torch.add(x * c, 1, alpha=2)


def larger(x, y):
    return (x > y).to(x.dtype) * x


def clamped(x):
    return torch.clamp(x, -1.0, 1.0)


class Residual(nn.Module):
    def __init__(self, *layers):
        super().__init__()
        self.inner = nn.Sequential(*layers)

    def forward(self, x):
        return x + self.inner(x)


class ViT(nn.Module):
    """Patches by a convolution as wide as its steps, and a block on them."""

    def __init__(self, c, d, f, n):
        super().__init__()
        self.patch = nn.Conv2d(c, d, 4, stride=4)
        self.block = nn.Sequential(nn.LayerNorm(d), Attention(d, n), Residual(nn.LayerNorm(d), MLP(d, f)))

    def forward(self, x):
        return self.block(self.patch(x).flatten(2).transpose(1, 2))


class Heads(nn.Module):
    """Attention to another tensor, or to its own; keys and values out of a narrow vector where there is one."""

    def __init__(self, d, n, e, r=None, causal=False):
        super().__init__()
        self.n, self.causal, self.q, self.out = n, causal, linear(d, d), linear(d, d)
        self.kv = linear(e, 2 * d) if r is None else nn.Sequential(linear(e, r), linear(r, 2 * d))

    def forward(self, x, y=None):
        y = x if y is None else y
        q, k, v = (z.unflatten(-1, (self.n, -1)).transpose(1, 2) for z in (self.q(x), *self.kv(y).chunk(2, -1)))
        return self.out(F.scaled_dot_product_attention(q, k, v, is_causal=self.causal).transpose(1, 2).flatten(2))


def GPT2(v, d, n, f):  # noqa: N802 (what makes a module)
    own = Residual(nn.LayerNorm(d), Heads(d, n, d, causal=True))
    return nn.Sequential(nn.Embedding(v, d), own, Residual(nn.LayerNorm(d), MLP(d, f)), linear(d, v))


class LoRA(nn.Module):
    def __init__(self, d, f, r):
        super().__init__()
        self.base, self.a, self.b = linear(d, f), linear(d, r), linear(r, f)
        self.base.weight.requires_grad_(False)

    def forward(self, x):
        return self.base(x) + self.b(self.a(x))


def Bottleneck(c, k):  # noqa: N802
    layers = (nn.Conv2d(a, b, n, padding=n // 2, bias=False) for a, b, n in ((c, k, 1), (k, k, 3), (k, c, 1)))
    return Residual(*(one for conv in layers for one in (conv, nn.BatchNorm2d(conv.out_channels), nn.ReLU())))


class UNet(nn.Module):
    """Down, and beside what has been skipped."""

    def __init__(self, c, k):
        super().__init__()
        down = nn.Conv2d(k, k, 3, stride=2, padding=1)
        self.down = nn.Sequential(nn.Conv2d(c, k, 3, padding=1), nn.GroupNorm(4, k), nn.SiLU(), down)
        self.last = nn.Conv2d(2 * k, k, 1)

    def forward(self, x, skipped):
        return self.last(torch.cat([self.down(x), skipped], 1))


class RNN(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.x, self.h = linear(d, h), linear(h, h)

    def forward(self, x, h):
        for place in range(4):
            h = torch.tanh(self.x(x[:, place]) + self.h(h))
        return h


class SSM(nn.Module):
    """A gated convolution along time, one for each channel."""

    def __init__(self, d, e):
        super().__init__()
        self.both, self.out = linear(d, 2 * e), linear(e, d)
        self.conv = nn.Conv1d(e, e, 3, padding=1, groups=e, bias=False)

    def forward(self, x):
        u, g = self.both(x).chunk(2, -1)
        return self.out(self.conv(u.transpose(1, 2)).transpose(1, 2) * torch.sigmoid(g))


def Convolutions(c, k):  # noqa: N802
    grouped = nn.Conv2d(k, k, 3, padding=1, groups=4)
    return nn.Sequential(nn.Conv2d(c, k, 1), grouped, nn.ReLU(), nn.Conv2d(k, c, 1, stride=2, bias=False))


Recurrent, INSTANCE = nn.LSTM, MLP(64, 256)
