"""Direct arithmetic on problems, in Fractions and from their text alone. Imports nothing from symroof."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from itertools import product
from math import prod
from pathlib import Path
from random import Random

BITS = {"int4": 4, "fp4": 4, "int8": 8, "fp8": 8, "bf16": 16, "fp16": 16, "fp32": 32}
CATALOGUE = tomllib.loads((Path(__file__).parent.parent / "symroof" / "model" / "hardware.toml").read_text("utf-8"))
TOKEN = re.compile(r"(?P<number>(?<![\w.])\d+(?:\.\d+)?(?:e[-+]?\d+)?)|[A-Za-z]\w*")


def evaluate(text, sizes):
    """A formula or condition of the JSON at a point: its numbers are exact, ``min`` and ``max`` are Python's."""
    if text in ("always", "never"):
        return text == "always"
    names = {"min": min, "max": max, "sqrt": root, **{f"_{name}": Fraction(size) for name, size in sizes.items()}}
    code, numbers = compiled(text)
    return eval(code, {"__builtins__": {}}, names | numbers)


@cache
def compiled(text):
    """The code of a formula, in which every number has a name as well, and these numbers."""
    numbers = {}

    def named(match):
        if match["number"]:
            numbers[f"q{len(numbers)}"] = Fraction(match["number"])
            return f"q{len(numbers) - 1}"
        return match[0] if match[0] in ("min", "max", "sqrt", "and", "or") else f"_{match[0]}"

    return compile(TOKEN.sub(named, text), text, "eval"), numbers


def root(value):
    """A square root, correct to sixty digits."""
    from decimal import Decimal, localcontext

    with localcontext() as context:
        context.prec = 80
        return Fraction((Decimal(value.numerator) / Decimal(value.denominator)).sqrt())


def figure(chip, name):
    """A figure of the catalogue, the first that its sources give."""
    value = CATALOGUE[chip]["figures"][name]
    digits, unit = (value[0][0] if isinstance(value[0], list) else value[0]).split()
    return Fraction(digits) * {"T": 10**12, "G": 10**9}.get(unit[0], 1)


@dataclass(frozen=True)
class Array:
    bits: int
    labels: tuple[str, ...]
    split: frozenset[str] = frozenset()

    def size(self, sizes):
        return Fraction(self.bits, 8) * prod(Fraction(sizes[label]) for label in self.labels)


@dataclass(frozen=True, kw_only=True)
class Machine:
    """What an operation runs on: each chip's peak and the bandwidth that is compared with; sizes of ``equal`` are others."""

    peak: Fraction
    bandwidth: Fraction
    count: str = "fma"
    chips: int = 1
    link: str | None = None
    ways: int = 1
    equal: dict[str, str] = field(default_factory=dict)

    split = frozenset()  # the sizes that are shared out among chips

    @property
    def ridge(self):
        return self.peak / self.bandwidth

    def full(self, sizes):
        """The sizes, with those that the regime makes equal."""
        return {label: Fraction(sizes[self.equal.get(label, label)]) for label in self.labels}

    def times(self, sizes):
        sizes = self.full(sizes)
        return self.flops(sizes) / self.chips / self.peak, self.moved(sizes) / self.bandwidth

    def intensity(self, sizes):
        sizes = self.full(sizes)
        return Fraction(self.flops(sizes)) / self.chips / self.moved(sizes)

    def compute_bound(self, sizes):
        t_math, t_comms = self.times(sizes)
        return t_math > t_comms

    def moving(self, sizes):
        """The times of the memory and of the link between chips that is used."""
        return {"memory": self.times(sizes)[1]}

    def all_times(self, sizes):
        """T_math, T_comms, T_lower, T_upper: T_comms is of the link that is asked about, else the longest of those that move."""
        (t_math, compared), moving = self.times(sizes), self.moving(sizes)
        comms = compared if self.link is not None else max(moving.values())
        return t_math, comms, max(t_math, *moving.values()), t_math + sum(moving.values())

    def bound_by(self, sizes):
        """What takes longest."""
        (t_math, _), moving = self.times(sizes), self.moving(sizes)
        longest = max(moving, key=moving.get)
        return "compute" if t_math > moving[longest] else longest


@dataclass(frozen=True, kw_only=True)
class Costs(Machine):
    """An operation that is given by its costs: the Python functions themselves, run."""

    labels: tuple[str, ...]
    functions: tuple

    def flops(self, sizes, count=None):
        return self.functions[0](**sizes)

    def reads(self, sizes):
        return self.functions[1](**sizes)

    def writes(self, sizes):
        return self.functions[2](**sizes)

    def moved(self, sizes):
        return Fraction(self.reads(sizes) + self.writes(sizes))


@dataclass(frozen=True, kw_only=True)
class Product(Machine):
    """A typed einsum of two operands, on ``chips`` chips along one axis."""

    left: Array
    right: Array
    output: Array

    @classmethod
    def read(cls, text, **machine):
        arrays = []
        for dtype, inside in re.findall(r"(\w+)\[([^]]*)\]", text):
            parts = [part.strip().partition("_") for part in inside.split(",") if part.strip() != "1"]
            arrays.append(Array(BITS[dtype], tuple(p[0] for p in parts), frozenset(p[0] for p in parts if p[1])))
        return cls(left=arrays[0], right=arrays[1], output=arrays[2], **machine)

    @property
    def arrays(self):
        return {"left": self.left, "right": self.right, "output": self.output}

    @property
    def split(self):
        return self.left.split | self.right.split | self.output.split

    @property
    def labels(self):
        return tuple(dict.fromkeys((*self.left.labels, *self.right.labels)))

    @property
    def summed(self):
        return [label for label in self.labels if label not in self.output.labels]

    def flops(self, sizes, count=None):
        outputs, length = prod(sizes[x] for x in self.output.labels), prod(sizes[x] for x in self.summed)
        additions = (length if (count or self.count) == "fma" else length - 1) if self.summed else 0
        return outputs * (length + additions)

    def reads(self, sizes):
        return self.left.size(sizes) + self.right.size(sizes)

    def writes(self, sizes):
        return self.output.size(sizes)

    def moved(self, sizes):
        """Bytes over the link that is compared with: of a chip's memory, or of one direction of a link between chips."""
        return self.sent(sizes) if self.link is not None else self.held(sizes)

    def sent(self, sizes):
        """Over one direction of a link: the partial sums of a split contraction."""
        crosses = self.left.split and self.left.split <= set(self.summed)
        return Fraction(2 * (self.chips - 1), self.chips * self.ways) * self.writes(sizes) if crosses else Fraction(0)

    def held(self, sizes):
        """What a chip reads and writes in its own memory."""
        return sum(array.size(sizes) / (self.chips if array.split else 1) for array in self.arrays.values())

    def moving(self, sizes):
        if self.chips == 1:
            return super().moving(sizes)
        sizes = self.full(sizes)
        sent, held = self.sent(sizes) / figure("tpu-v5e", "ICI"), self.held(sizes) / figure("tpu-v5e", "HBM")
        return {"memory": held, **({"link": sent} if sent else {})}


def scaling(relations, names):
    """Small whole weights that satisfy a regime, such as ``B << D, F`` or ``B ~~ D << F``; None where there are none."""
    wanted = []
    for part in joined(relations):
        chain = re.split(r"\s*(<<|~~|=|->)\s*", part)
        for a, sign, b in zip(chain[:-1:2], chain[1::2], chain[2::2], strict=True):
            wanted += [(x.strip(), sign, y.strip()) for x in a.split(",") for y in b.split(",")]

    def weight(monomial, weights):
        parts = re.findall(r"([A-Z])(?:\^(\d)|\*\*(\d))?", monomial)
        return sum(weights[name] * int(a or b or 1) for name, a, b in parts)

    def satisfied(weights):
        for x, sign, y in wanted:
            gap = (1 if y == "oo" else weight(y, weights)) - weight(x, weights)
            if not {"<<": gap > 0, "~~": gap == 0, "=": gap == 0, "->": gap <= 0}[sign]:
                return False
        return True

    mentioned = [name for name in names if any(name in x + y for x, _, y in wanted)]
    every = (dict(zip(mentioned, values, strict=True)) for values in product(range(5), repeat=len(mentioned)))
    return next((weights for weights in every if satisfied(weights)), None)


def joined(relations):
    """``B << D, F, F ~~ H`` to ``B << D, F`` and ``F ~~ H``: a part without a relation goes on with the one before."""
    parts = []
    for part in relations.split(","):
        if parts and not re.search(r"<<|~~|->|=", part):
            parts[-1] += f",{part}"
        else:
            parts.append(part.strip())
    return parts


def along(weights, names, power, seed=0):
    """A point far along a scaling: names without a weight keep a constant size."""
    random = Random(seed)
    return {name: Fraction(random.randint(2, 9)) * Fraction(10) ** (power * weights.get(name, 0)) for name in names}


def wide(random, names):
    """Sizes from 1 over six orders of magnitude."""
    return {name: Fraction(random.randint(10, 99), 10) * 10 ** random.randint(0, 5) for name in names}
