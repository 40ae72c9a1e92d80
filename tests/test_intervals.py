"""Chains of printed numbers, drawn at random, beside intervals of exact fractions that share nothing with the package.

A side is held by the squares of its ends, so that roots are exact. ``CHAINS=100000 pytest tests/test_intervals.py`` draws as many.
"""

import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt, prod
from random import Random

import symroof as sr

CHAINS = int(os.environ.get("CHAINS", "500"))
BYTES = {
    "bytes": Fraction(1),
    "kB": Fraction(10**3),
    "MB": Fraction(10**6),
    "GB": Fraction(10**9),
    "KiB": Fraction(2**10),
    "MiB": Fraction(2**20),
    "GiB": Fraction(2**30),
}
SECONDS = {"s": Fraction(1), "ms": Fraction(1, 10**3), "us": Fraction(1, 10**6)}
WORK = {"FLOPs": Fraction(1), "GFLOPs": Fraction(10**9), "TFLOPs": Fraction(10**12)}
SIZES = BYTES | SECONDS | WORK
SHIFTS = [Fraction(base) ** power for base in (1000, 1024) for power in range(-4, 5)]
LESS = 1 - Fraction(1, 10**12)  # what is cut off is less than a unit
TRUE, OPEN, FALSE = "true", "open", "false"


class Printed:
    """A number in print: its value, what its last digit counts, and how many of its digits are significant."""

    def __init__(self, text):
        self.text = text
        amount, _, self.unit = text.partition(" ")
        mantissa, _, power = amount.rstrip("%").replace("*10^", "e").partition("e")
        scale = SIZES.get(self.unit, Fraction(1, 100 if "%" in amount else 1)) * Fraction(10) ** int(power or 0)
        plain, places = mantissa.replace(".", ""), len(mantissa.partition(".")[2])
        zeros = 0 if places else min(len(plain) - len(plain.rstrip("0")), max(0, len(plain) - 2))
        self.value, self.last = Fraction(mantissa) * scale, Fraction(10) ** (zeros - places) * scale
        self.digits, self.power, self.whole = len(plain.lstrip("0")) - zeros, power, text.isdecimal()
        exact = (self.unit in ("", "bytes") and amount.isdecimal()) or (mantissa == "1" and "%" not in amount)
        self.ends = (self.value, self.value) if exact else (self.value - self.last / 2, self.value + self.last * LESS)

    def beside(self, data):  # a number of the side before stands for itself
        return (self.value, self.value) if self.value in data else self.ends

    def stands(self, square):
        """How it stands for the root of something: to nearest, cut off, or not at all."""
        if not Fraction(9, 16) <= self.value**2 / square <= Fraction(25, 16):
            return None
        if max(self.value - self.last / 2, 0) ** 2 <= square <= (self.value + self.last / 2) ** 2:
            return "nearest"
        return "cut" if self.value**2 <= square < (self.value + self.last) ** 2 else None


@dataclass
class Side:
    """What is printed, the square of its value, its numbers, the squares of the ends of its interval beside the numbers of the
    side before; whether it is a sum or product of counts."""

    text: str
    square: Fraction
    numbers: list
    ends: Callable
    counts: bool

    @property
    def lone(self):
        return self.numbers[0] if self.text == self.numbers[0].text else None

    @property
    def units(self):
        return {number.unit for number in self.numbers} - {""}

    @property
    def plain(self):
        return not any(number.power for number in self.numbers)


def lone(number):
    whole = number.value.denominator == 1 and not number.unit and "%" not in number.text
    return Side(number.text, number.value**2, [number], lambda data: [end**2 for end in number.beside(data)], whole)


def times(numbers, data, at):
    return prod(number.beside(data)[at] for number in numbers)


def product(numbers, below=()):
    text = "*".join(n.text for n in numbers) + "".join(f"/{n.text}" for n in below)
    value = prod(n.value for n in numbers) / prod(n.value for n in below)
    ends = lambda data: [(times(numbers, data, at) / times(below, data, 1 - at)) ** 2 for at in (0, 1)]  # noqa: E731
    return Side(text, value**2, [*numbers, *below], ends, not below and all(lone(n).counts for n in numbers))


def total(a, b):
    ends = lambda data: [(a.beside(data)[at] + b.beside(data)[at]) ** 2 for at in (0, 1)]  # noqa: E731
    return Side(f"{a.text} + {b.text}", (a.value + b.value) ** 2, [a, b], ends, lone(a).counts and lone(b).counts)


def root(number):
    whole = number.value.denominator == 1 and isqrt(int(number.value)) ** 2 == number.value
    return Side(f"sqrt({number.text})", number.value, [number], number.beside, whole and lone(number).counts)


def spelled(random, value, unit="", slip=0, typeset=False):
    """A value in print, rounded or cut off to some digits, or a few units of its last digit off."""
    percent = not unit and Fraction(1, 100) < value < 10 and random.random() < 0.05
    amount, power = value / SIZES.get(unit, Fraction(1)) * (100 if percent else 1), 0
    while not Fraction(10) ** power <= amount < Fraction(10) ** (power + 1):
        power += 1 if amount >= Fraction(10) ** (power + 1) else -1
    last = power - random.randint(0, 4)
    count = max(1, int(amount / Fraction(10) ** last + random.choice([0, Fraction(1, 2), Fraction(1, 2)])) + slip)
    if not percent and (power > 7 or power < -4 or random.random() < 0.12):
        digits, power = str(count), last + len(str(count)) - 1
        mantissa = digits[0] + (f".{digits[1:]}" if digits[1:] else "")
        text = f"{mantissa}*10^{power}" if typeset and not unit and power > 0 else f"{mantissa}e{power}"
    elif last >= 0:
        text = str(count * 10**last)
    else:
        text = f"{count // 10**-last}.{count % 10**-last:0{-last}}"
    return Printed(text + ("%" if percent else f" {unit}" if unit else ""))


def drawn(random, value, unit, slip, before):
    """A side that is about a value, in a unit or without one; a number of the side before may stand in it again."""
    if not unit and random.random() < 0.15:
        again = random.choice([number for number in before.numbers if not number.unit] or [Printed("0.5")])
        return product([spelled(random, value / again.value, "", slip), again])
    kind, small = random.choice(["lone", "lone", "product", "quotient", "sum", "root"]), random.randint(2, 40)
    if kind == "product":
        return product([Printed(str(small)), spelled(random, value / small, unit, slip, typeset=True)])
    if kind == "quotient":
        return product([spelled(random, value * small, unit, slip)], [Printed(str(small))])
    if kind == "sum":
        part = spelled(random, value * Fraction(small, 50), unit)
        return total(part, spelled(random, value - part.value, unit, slip)) if part.value < value else lone(part)
    if kind == "root" and not unit:
        return root(spelled(random, value**2, slip=slip))
    return lone(spelled(random, value, unit, slip, typeset=True))


def first_side(random, unit):
    numbers = [
        Printed(str(random.choice([2, 3, 7, 12, 128, 1000, 4096, random.randint(2, 9999)])))
        for _ in range(random.randint(1, 3))
    ]
    numbers.append(
        spelled(random, Fraction(random.randint(1, 10**6), random.choice([1, 1, 10, 1000])), unit, typeset=True)
    )
    below = [Printed(str(random.randint(2, 999)))] if random.random() < 0.3 else []
    whole = [Printed(str(random.randint(2, 9999))) for _ in range(random.randint(1, 3))]
    return product(whole) if not unit and random.random() < 0.4 else product(numbers, below)


def chain(random):
    """The sides of a chain and its relations. Units stand on every side, on the last one alone, or nowhere."""
    family = random.choice([(), BYTES, SECONDS, WORK])
    everywhere, last = random.random() < 0.6, random.choice(list(family)) if family else ""
    sides = [first_side(random, random.choice(list(family)) if family and everywhere else "")]
    count = random.choice([1, 1, 2, 3])
    for place in range(count):
        value = Fraction(isqrt(int(sides[-1].square * 10**60)), 10**30)
        slip = random.choice([0, 0, 0, 0, 1, -1, 2]) if random.random() < 0.7 else 0
        unit, scale = (last if everywhere and random.random() < 0.8 else ""), Fraction(1)
        if place == count - 1 and last:
            unit, scale = last, Fraction(1) if everywhere else SIZES[last]
        sides.append(drawn(random, value * scale, unit, slip, sides[-1]))
    if not family and random.random() < 0.15:  # a power of ten behind the chain
        sides[-1] = lone(Printed(f"{float(value):.{random.randint(1, 4)}f}e{random.choice([3, 6, 9])}"))
    return sides, [random.choice("===~") for _ in range(count)]


def stands(p, q, relation, scale=Fraction(1)):
    """Whether a side is the value of the one before it, which may be scaled."""
    square = p.square * scale**2
    ratio = q.square / square
    share = 1 / ratio if p.lone and not q.lone else ratio
    if ratio == 1 or (relation == "~" and Fraction(19, 20) ** 2 <= share <= Fraction(21, 20) ** 2):
        return TRUE
    if (n := q.lone) is None:
        low, high = q.ends({number.value for number in p.numbers})
        if Fraction(9, 16) <= ratio <= Fraction(25, 16) and low <= square <= high:
            return TRUE
        return OPEN if p.lone and p.lone.stands(q.square / scale**2) else FALSE  # the first side is exact
    if (how := n.stands(square)) is None:
        return FALSE
    if n.unit in BYTES:
        same = square in {(n.value * Fraction(1024, 1000) ** k) ** 2 for k in range(-5, 6)}
        if n.unit.endswith("iB") != any(unit.endswith("iB") for unit in p.units):
            exactly = (how == "nearest" and n.digits > 1) or Fraction(99, 100) ** 2 < ratio < Fraction(101, 100) ** 2
            return TRUE if exactly and not same else FALSE
        if how == "cut" and n.unit in ("kB", "MB", "GB") and not p.units & {"kB", "MB", "GB"}:
            power = ["kB", "MB", "GB"].index(n.unit) + 1
            return FALSE if n.stands(square / Fraction(1024, 1000) ** (2 * power)) else TRUE
    whole = square.denominator == 1 and isqrt(int(square)) ** 2 == square
    if n.whole and whole and p.counts:
        return TRUE if how == "nearest" and (p.lone or square >= 10**8) else FALSE
    return TRUE


def behind(side):
    """What stands behind a number at the end: its unit, its power of ten, or both; and whether it is a unit alone."""
    n, one = side.lone, Fraction(1)
    sizes = [(SIZES[n.unit], True)] if n and n.unit else []
    return sizes + ([(SIZES.get(n.unit, one) * 10 ** (one * int(n.power)), False)] if n and n.power else [])


def judged(p, q, relation):
    """A link as it stands, with the unit behind its right side, or with prefixes that are not written."""
    if (found := stands(p, q, relation)) != FALSE:
        return found
    for size, meant in behind(q) if not p.units else ():
        if (found := stands(p, q, relation, size)) != FALSE:
            return TRUE if found == TRUE and meant and p.plain else OPEN
    numbers = (*p.numbers, *q.numbers)
    if any(bool(a.units) > bool(b.units) and "%" in b.text for a, b in ((p, q), (q, p))):
        return OPEN  # a share is no amount
    if not (p.plain and q.plain and 0 < sum(not number.unit for number in numbers) < len(numbers)):
        return FALSE
    return OPEN if any(stands(p, q, relation, shift) != FALSE for shift in SHIFTS) else FALSE


def expected(sides, relations):
    """What a chain is: true, not to be judged, or false."""
    links = []
    for place, (p, q, relation) in enumerate(zip(sides, sides[1:], relations, strict=False)):
        found = judged(p, q, relation)
        if found != TRUE and place and (first := judged(sides[0], q, relation)) != FALSE:
            found = first
        for size, meant in behind(sides[-1]) if found != TRUE and q is not sides[-1] and not q.units else ():
            if (other := stands(p, q, relation, 1 / size)) != FALSE:
                found = TRUE if other == TRUE and meant and p.plain and q.plain else OPEN
                break
        links.append(found)
    return FALSE if FALSE in links else OPEN if OPEN in links else TRUE


def with_size(random, text, first, *sides):
    """A chain with a size in the place of a whole number of its first side, which is put in behind it; not where a unit
    behind the chain may be meant of that side: a name is in base units."""
    number = first.numbers[0]
    if first.lone or not number.whole or behind(sides[-1]) or random.random() < 0.5:
        return text
    return f"B{text.removeprefix(number.text)} at B = {number.text}"


def test_no_false_chain_is_accepted_and_no_true_one_refused():
    random, seen, wrong = Random(CHAINS), Counter(), []
    for _ in range(CHAINS // 100):
        chains = [chain(random) for _ in range(100)]
        texts = [
            sides[0].text + "".join(f" {r} {s.text}" for r, s in zip(signs, sides[1:], strict=True))
            for sides, signs in chains
        ]
        texts = [with_size(random, text, *sides) for text, (sides, _) in zip(texts, chains, strict=True)]
        judgements = sr.verify({"claims": texts, "symbols": ["B"]}).judgements
        for pair, text, found in zip(chains, texts, judgements, strict=True):
            seen[truth := expected(*pair)] += 1
            verdicts = {TRUE: ("holds", "rounded"), OPEN: ("undecided", "wrong"), FALSE: ("wrong",)}
            if found.verdict not in verdicts[truth]:
                wrong.append((text, truth, found.verdict))
    assert not wrong, f"{len(wrong)} of {CHAINS}: " + "\n".join(map(str, wrong[:20]))
    assert min(seen[TRUE], seen[FALSE]) > CHAINS / 5
