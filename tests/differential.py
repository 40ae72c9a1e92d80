"""Random claims, and their truth from exact fractions at many points; where the judge says something else, it is listed.

``python tests/differential.py 20000 7`` draws as many with seed 7; the suite draws some.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from random import Random

from chapters import ORDER, value

import symroof as sr

LETTERS = "BDF"
ACCEPTED = ("holds", "rounded")
# What units of one kind are of their base unit.
BYTES = {
    "bytes": 1,
    "kB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
    "bits": Fraction(1, 8),
}
KINDS = (
    BYTES,
    {"s": 1, "ms": Fraction(1, 10**3), "us": Fraction(1, 10**6), "hours": 3600},
    {"FLOPs": 1, "GFLOPs": 10**9, "TFLOPs": 10**12},
)
Point = dict[str, Fraction]


def points(random: Random, count: int = 60) -> Iterator[Point]:
    """Sizes above and below one, far apart and close together."""
    for _ in range(count):
        near = random.random() < 0.3
        yield {
            x: Fraction(random.randint(1, 12), random.randint(1, 12))
            if near
            else Fraction(10) ** random.randint(-6, 6) * random.randint(1, 9)
            for x in LETTERS
        }


def expression(random: Random, depth: int) -> str:
    """Sums, products and quotients of letters and small numbers, all positive."""
    if not depth:
        return random.choice([*LETTERS, *LETTERS, str(random.randint(1, 9))])
    a, b = expression(random, depth - 1), expression(random, depth - 1)
    return f"({a} {random.choice('++*/')} {b})"


def rewritten(random: Random, text: str) -> str:
    """The same in another form: expanded by a factor, added to and taken away from, upside down twice."""
    factor = expression(random, 1)
    return random.choice(
        [
            f"({text}*{factor}/{factor})",
            f"({text} + {factor} - {factor})",
            f"1/(1/{text})",
            f"({factor}*{text} + {text})/({factor} + 1)",
        ]
    )


def changed(random: Random, text: str) -> str:
    """One letter or number is another one."""
    places = [i for i, c in enumerate(text) if c.isalnum()]
    place = random.choice(places)
    return text[:place] + random.choice([c for c in LETTERS + "2357" if c != text[place]]) + text[place + 1 :]


def related(left: str, sign: str, right: str, point: Point) -> bool:
    a, b = value(left, point), value(right, point)
    return a == b if sign == "=" else ORDER[sign](a, b)


def identity(random: Random) -> tuple[str, list[tuple[str, str, str]]]:
    left = expression(random, random.randint(1, 3))
    right = rewritten(random, left)
    right = right if random.random() < 0.5 else changed(random, right)
    return f"{left} = {right}", [(left, "=", right)]


def order(random: Random) -> tuple[str, list[tuple[str, str, str]]]:
    left = expression(random, random.randint(1, 2))
    right = random.choice(
        [
            expression(random, random.randint(1, 2)),
            f"({left} + {expression(random, 1)})",
            f"({left}*{random.randint(1, 3)})",
            changed(random, left),
        ]
    )
    sign = random.choice(["<", "<=", ">", ">="])
    return f"{left} {sign} {right}", [(left, sign, right)]


def equivalence(random: Random) -> tuple[str, list[tuple[str, str, str]]]:
    """A condition on B, and the same one solved; or with a factor, a direction or a side that is wrong."""
    factor, bound = random.randint(2, 9), random.randint(1, 400)
    rest, sign = random.choice(["", "*D", "/D", "*D/F"]), random.choice("<>")
    solved = {"": "", "*D": "/D", "/D": "*D", "*D/F": "*F/D"}[rest]
    first = (f"{factor}*B{rest}", sign, str(bound))
    second = ("B", sign, f"{bound}/{factor}{solved}")
    match random.randint(0, 5):
        case 0:
            second = ("B", "<>"[sign == "<"], second[2])
        case 1:
            second = ("B", sign, f"{bound}/{random.randint(2, 9)}{solved}")
        case 2:
            second = ("B", sign, f"{bound}*{factor}{solved}")
    pair = [first, second] if random.random() < 0.5 else [second, first]
    arrow = random.choice(["<=>", "<=>", "=>"])
    return f" {arrow} ".join(" ".join(one) for one in pair), pair


def truth(claim: str, conditions: list[tuple[str, str, str]], point: Point) -> bool:
    truths = [related(*one, point) for one in conditions]
    if "<=>" in claim:
        return truths[0] == truths[1]
    return truths[-1] or not truths[0] if "=>" in claim else truths[0]


def rounds(exact: Fraction, printed: str, whole: bool, cut: bool = True) -> bool | None:
    """Whether a printed number stands for an exact one: the rounding rule, written a second time.

    Sums, differences and products of ``whole`` numbers are exact below ten thousand, and from there on not cut off;
    nor is what stands in print itself, where ``cut`` is False.
    Where the rounding goes up to the next power of ten, as from 8 to 10, both may be said: None.
    """
    mantissa, _, power = printed.partition("e")
    digits, _, decimals = mantissa.partition(".")
    shown = Fraction(printed)
    if whole and exact < 10**4:
        return shown == exact
    zeros = 0 if decimals or power else len(digits) - max(len(digits.rstrip("0")), min(len(digits), 2))
    last = Fraction(10) ** (int(power or 0) - len(decimals) + zeros)
    if exact < shown - last / 20 and set(digits + decimals) <= {"1", "0"} and exact > shown - last:
        return None
    return abs(shown - exact) <= last / 2 or (cut and not whole and shown <= exact < shown + last)


def arithmetic(random: Random) -> tuple[str, bool | None]:
    """Numbers in print, and a result of some digits that is right, cut off, or off by a little or by a lot."""
    a, b = (
        str(random.randint(2, 3000))
        if random.random() < 0.6
        else f"{random.randint(11, 99) / 10}e{random.randint(6, 14)}"
        for _ in "ab"
    )
    operator = random.choice("+*/-")
    if operator == "-" and Fraction(a) <= Fraction(b):
        a, b = b, a
    exact = value(f"{a}{operator}{b}", {})
    if exact == 0:
        return "1 + 1 = 2", True
    digits = random.randint(1, 4)
    shown = float(exact) * random.choice([1, 1, 1, 1.004, 0.97, 1.3, 10, 0.001])
    printed = f"{shown:.{digits}g}".replace("e+", "e").replace("e0", "e").replace("e-0", "e-")
    whole = operator != "/" and not set(a + b) & set(".e")
    if whole:
        printed = str(int(Fraction(printed)))
    return f"{a} {operator} {b} = {printed}", rounds(Fraction(exact), printed, whole)


def in_digits(random: Random, exact: Fraction) -> str:
    """A number in print: the exact one in some digits, or one that is off by a little or by a prefix."""
    shown = float(exact) * random.choice([1, 1, 1, 1, 1.002, 0.98, 1.024, 1.3, 2, 1000, 0.001])
    text = f"{shown:.{random.randint(1, 6)}g}"
    return (
        str(int(Fraction(text)))
        if "e+" in text and len(text) < 9 and abs(shown) < 10**9
        else text.replace("e+", "e").replace("e-0", "e-")
    )


def quantities(random: Random) -> tuple[str, bool | None]:
    """Amounts in units: all written, all of plain numbers but the result, or in base units where there are exponents."""
    kind = random.choice(KINDS)
    (one, first), (two, second) = random.choice(list(kind.items())), random.choice(list(kind.items()))
    a, b = random.randint(2, 999), random.randint(2, 60)
    way = random.choice(["written", "added", "alone", "plain", "base"])
    if way == "base":
        text = f"{a}e{random.randint(3, 9)}/{b}e{random.randint(3, 9)}"
        exact = value(text, {}) / second
        printed = in_digits(random, exact)
        return f"{text} = {printed} {two}", rounds(exact, printed, False)
    if way == "plain":
        text = f"{a}{random.choice('*/')}{b}"
        exact = value(text, {}) / (1 if random.random() < 0.7 else second)
        printed = in_digits(random, exact)
        readings = {rounds(value(text, {}) / scale, printed, False) for scale in (1, second)}
        return f"{text} = {printed} {two}", True if True in readings else None if None in readings else False
    text = {"written": f"{a} {one} * {b}", "added": f"{a} {one} + {b} {two}", "alone": f"{a} {one}"}[way]
    exact = {"written": a * first * b, "added": a * first + b * second, "alone": a * first}[way] / second
    printed = in_digits(random, exact)
    return f"{text} = {printed} {two}", rounds(exact, printed, False, cut=way != "alone")


def chained(random: Random) -> tuple[str, bool | None]:
    """An expression with sizes put in, its value in print, and that again in fewer digits."""
    sizes = {x: Fraction(random.choice([random.randint(1, 99), 2 ** random.randint(0, 14)])) for x in LETTERS}
    text = expression(random, random.randint(1, 2))
    first = in_digits(random, value(text, sizes))
    second = in_digits(random, Fraction(first))
    put = any(x in text for x in LETTERS)
    links = [rounds(value(text, sizes), first, False), rounds(Fraction(first), second, False, cut=False)]
    right = False if False in links else None if None in links or not put else True
    return f"{text} = {first} = {second} at {', '.join(f'{x} = {n}' for x, n in sizes.items())}", right


def disagreements(count: int, seed: int) -> tuple[list[str], Counter[str]]:
    """Claims that are accepted and not true, or called wrong and not refuted; and how many got which verdict."""
    random, listed, verdicts = Random(seed), [], Counter()
    kinds = [identity, order, equivalence]
    drawn = [(kind.__name__, *kind(random)) for kind in random.choices(kinds, k=count - count // 3)]
    numbers = [random.choice([arithmetic, quantities, chained])(random) for _ in range(count // 3)]
    claims = [claim for _, claim, _ in drawn] + [claim for claim, _ in numbers]
    judged = [
        one
        for first in range(0, len(claims), 200)
        for one in sr.verify({"claims": claims[first : first + 200]}).judgements
    ]
    for (kind, claim, conditions), judgement in zip(drawn, judged, strict=False):
        verdicts[f"{kind} {judgement.verdict}"] += 1
        false_at = next(
            (point for point in points(random) if defined(conditions, point) and not truth(claim, conditions, point)),
            None,
        )
        counter = judgement.worst.counterexample if judgement.worst else None
        refuted = counter and not truth(claim, conditions, {**dict.fromkeys(LETTERS, Fraction(1)), **counter.values})
        if judgement.verdict in ACCEPTED and false_at is not None:
            listed.append(f"{judgement.verdict}, but false at {false_at}: {claim}")
        if judgement.verdict == "wrong" and not (refuted or false_at):
            listed.append(f"wrong, but nothing refutes it: {claim}")
        if counter and not refuted:
            listed.append(f"the counterexample {counter.values} is none: {claim}")
    for (claim, right), judgement in zip(numbers, judged[len(drawn) :], strict=True):
        verdicts[f"number {judgement.verdict}"] += 1
        if right is not None and judgement.verdict in (ACCEPTED if not right else ("wrong",)):
            listed.append(f"{judgement.verdict}, but it is {right}: {claim}")
    return listed, verdicts


def defined(conditions: list[tuple[str, str, str]], point: Point) -> bool:
    try:
        return all(value(side, point) is not None for left, _, right in conditions for side in (left, right))
    except ZeroDivisionError:
        return False


if __name__ == "__main__":
    faults, verdicts = disagreements(int(sys.argv[1]), int(sys.argv[2]) if sys.argv[2:] else 1)
    print(*faults, dict(sorted(verdicts.items())), f"{len(faults)} disagreements", sep="\n")
