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


def disagreements(count: int, seed: int) -> tuple[list[str], Counter[str]]:
    """Claims that are accepted and not true, or called wrong and not refuted; and how many got which verdict."""
    random, listed, verdicts = Random(seed), [], Counter()
    kinds = [identity, order, equivalence]
    drawn = [(kind.__name__, *kind(random)) for kind in random.choices(kinds, k=count)]
    claims = [claim for _, claim, _ in drawn]
    judged = [
        one
        for first in range(0, len(claims), 200)
        for one in sr.verify({"claims": claims[first : first + 200]}).judgements
    ]
    for (kind, claim, conditions), judgement in zip(drawn, judged, strict=True):
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
    return listed, verdicts


def defined(conditions: list[tuple[str, str, str]], point: Point) -> bool:
    try:
        return all(value(side, point) is not None for left, _, right in conditions for side in (left, right))
    except ZeroDivisionError:
        return False


if __name__ == "__main__":
    faults, verdicts = disagreements(int(sys.argv[1]), int(sys.argv[2]) if sys.argv[2:] else 1)
    print(*faults, dict(sorted(verdicts.items())), f"{len(faults)} disagreements", sep="\n")
