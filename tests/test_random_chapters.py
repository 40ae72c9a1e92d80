"""Random chapters that say what names are, and later something else, and make claims: beside exact fractions no claim that
is false is accepted, and none that is true is called wrong. What is said elsewhere decides nothing.

``SYMROOF_CLAIMS=100000`` makes as many claims.
"""

import os
import random
from fractions import Fraction
from pathlib import Path

import pytest
from effort import is_thorough

from symroof.reading.documents import read_text
from symroof.verification.document_claims import judge_read

pytestmark = pytest.mark.part(4)

CLAIMS = int(os.environ.get("SYMROOF_CLAIMS", 1500 if is_thorough() else 75))
EACH = 25
NAMES = ["N", "M", "P", "Q", "R", "U", "V", "n_h", "n_{kv}", "d_{ff}", "L_g", "p", "q", "w"]
UNITS = {"GB": 10**9, "MB": 10**6, "TFLOPs": 10**12, "ms": Fraction(1, 1000), "bytes": 1}


class Chapter:
    """A chapter as it is written, and what its author means: ``values`` of names, and formulas for them, over values alone."""

    def __init__(self, seed):
        self.draw = random.Random(seed)
        self.names = self.draw.sample(NAMES, 7)
        self.lines, self.values, self.formulas, self.claims = ["# One", ""], {}, {}, {}

    def write(self, *lines):
        self.lines += [*lines, ""]

    def claim(self, line, truth):
        self.lines.append(line)
        self.claims[len(self.lines)] = truth
        self.lines.append("")

    def value(self, name):
        if name in self.values:
            return self.values[name]
        terms = self.formulas[name]
        return sum((k * self.values[n] for k, n in terms), Fraction(0))

    def step(self):
        kinds = [
            self.state,
            self.state,
            self.define,
            self.section,
            *[self.claims_of_names] * 3,
            *[self.calculation] * 3,
        ]
        self.draw.choice(kinds)()

    def section(self):
        self.write(self.draw.choice(["# Another", "## A part"]))

    def state(self):
        """A value, or another one for the same name, in one of the places in which people state them."""
        name = self.draw.choice(self.names)
        number = self.draw.choice([2, 3, 5, 7, 12, 24, 96, 128, 640, 4096, 14336])
        self.formulas.pop(name, None)
        self.values[name] = Fraction(number)
        plain = name.replace("{", "").replace("}", "")
        written = self.draw.choice([str(number), f"{number:,}"])
        latex = str(number) if number < 1000 else self.draw.choice([str(number), f"{number:,}".replace(",", "{,}")])
        match self.draw.randrange(5):
            case 0:
                self.write(f"Let ${name} = {latex}$ be.")
            case 1:
                self.write(f"| symbol | meaning | value |\n|--|--|--:|\n| ${name}$ | how many | {written} |")
                self.lines[-2:] = [*self.lines[-2].split("\n"), ""]
            case 2:
                self.write("```text", f"{plain} = {written}", "```")
            case 3:
                self.write(f"- {plain} = {number}")
            case _:
                self.write(f"From here on, ${name} = {latex}$.")

    def define(self):
        """A formula for a name that has no value so far."""
        free = [n for n in self.names if n not in self.values and n not in self.formulas]
        if not free or len(self.values) < 2:
            return
        name = self.draw.choice(free)
        terms = [(Fraction(self.draw.randint(1, 9)), n) for n in self.draw.sample(sorted(self.values), 2)]
        self.formulas[name] = terms
        shown = " + ".join(f"{k} \\cdot {n}" for k, n in terms)
        self.write(f"$$ {name} = {shown} $$")

    def claims_of_names(self):
        """An equation between names and a number, which is a claim by what has been stated."""
        known = sorted({*self.values, *self.formulas})
        if len(known) < 2:
            return
        one, other = self.draw.sample(known, 2)
        k, m = self.draw.randint(2, 9), self.draw.randint(1, 9)
        shape = self.draw.randrange(4)
        if shape == 0:
            left, true = f"{k} {one}", k * self.value(one)
        elif shape == 1:
            left, true = f"{k} \\cdot {one} + {m} \\cdot {other}", k * self.value(one) + m * self.value(other)
        elif shape == 2:
            left, true = f"{one} \\cdot {other}", self.value(one) * self.value(other)
        else:
            left, true = f"\\frac{{{k} {one}}}{{{other}}}", k * self.value(one) / self.value(other)
        self.told("${}$", left, true)

    def calculation(self):
        """A calculation in prose, in code or in mathematics, with units or without."""
        a, b = self.draw.choice([7, 12, 8.03, 16.06, 312, 96, 1.5, 4096]), self.draw.choice([2, 3, 4, 0.5, 22, 128])
        unit = self.draw.choice([None, None, *UNITS])
        sign = self.draw.choice(["*", "+", "/", "-"])
        x, y = Fraction(str(a)), Fraction(str(b))
        true = {"*": x * y, "+": x + y, "/": x / y, "-": x - y}[sign]
        if true <= 0:
            return
        if self.draw.random() < 0.4:
            latex = {"*": "\\cdot", "+": "+", "/": "/", "-": "-"}[sign]
            self.told("${}$", f"{a} {latex} {b}", true)
            return
        shown = self.draw.choice({"*": ["*", "×", "x", "·"], "+": ["+"], "/": ["/", "÷"], "-": ["-", "−"]}[sign])
        left = (
            f"{a} {unit} {shown} {b}"
            if unit and sign in "*/"
            else f"{a} {unit} {shown} {b} {unit}"
            if unit
            else f"{a} {shown} {b}"
        )
        frame = self.draw.choice(["So {} in all.", "That makes {}, which fits.", "`{}`", "- one: {}", "(here {})"])
        self.told(frame, left, true, unit)

    def told(self, frame, left, true, unit=None):
        """The claim that a left side has a value, which is true, or off in one of the ways of people."""
        right = self.draw.random() < 0.5
        wrong = self.draw.choice([2, Fraction(1, 2), Fraction(11, 10), Fraction(9, 10), 10, Fraction(3, 2)])
        value = true if right else true * wrong
        sign, digits = printed(value, self.draw)
        if "$" not in frame:
            sign = sign.replace("\\approx", "≈")
            digits = digits.replace("{,}", ",")
        said = read(digits)
        truth = rounds(true, said, digits, approximate=sign != "=")
        if truth and abs(said / true - 1) > Fraction(1, 20):
            return  # a rounding so coarse that nobody would print it
        self.claim(frame.format(f"{left} {sign} {digits}{' ' + unit if unit else ''}"), truth)


def printed(value, draw):
    """A value as people print it, with the relation before it."""
    if value.denominator == 1 and value < 10**7:
        number = int(value)
        return "=", draw.choice([str(number), f"{number:,}".replace(",", "{,}") if number >= 1000 else str(number)])
    digits = draw.choice([3, 4])
    text = f"{float(value):.{digits}g}"
    if "e" in text:
        text = str(int(float(text))) if value >= 1 else f"{float(value):.6f}"
    return draw.choice(["=", "\\approx"]), text


def read(digits):
    return Fraction(digits.replace("{,}", "").replace(",", ""))


def rounds(true, said, digits, *, approximate):
    """Whether a printed number may stand for a value: rounded or cut off at its last digit; or near it."""
    if approximate and abs(said / true - 1) <= Fraction(1, 20):
        return True
    plain = digits.replace("{,}", "").replace(",", "")
    last = Fraction(1, 10 ** len(plain.partition(".")[2]))
    if "." not in plain:
        last = Fraction(10) ** (len(plain) - max(len(plain.rstrip("0")), min(len(plain), 2)))
    return abs(true - said) <= last / 2 or said <= true < said + last


def judged(seed):
    """The claims of a chapter with what is said of each: its text, its truth and the verdicts at its line."""
    chapter = Chapter(seed)
    for _ in range(12):
        chapter.state()
    while len(chapter.claims) < EACH:
        chapter.step()
    report = judge_read(read_text("\n".join(chapter.lines)), Path())
    said = {line: [] for line in chapter.claims}
    for one in report.judgements:
        said.get(one.line, []).append(one.verdict)
    return [(chapter.lines[line - 1], truth, said[line]) for line, truth in chapter.claims.items()]


def test_no_false_claim_is_accepted_and_no_true_one_called_wrong():
    told = [one for seed in range(max(CLAIMS // EACH, 1)) for one in judged(seed)]
    accepted = [text for text, truth, verdicts in told if not truth and {"holds", "rounded"} & {*verdicts}]
    alarms = [text for text, truth, verdicts in told if truth and "wrong" in verdicts]
    assert not accepted, accepted[:5]
    assert not alarms, alarms[:5]
    found = {truth: [verdicts for _, t, verdicts in told if t is truth] for truth in (True, False)}
    assert sum(bool(verdicts) for verdicts in found[True]) > len(found[True]) * 0.4
    assert sum("wrong" in verdicts for verdicts in found[False]) > len(found[False]) * 0.2


def test_what_the_law_rests_on():
    assert rounds(Fraction(1, 3), Fraction("0.333"), "0.333", approximate=False)
    assert not rounds(Fraction(1, 3), Fraction("0.335"), "0.335", approximate=False)
    assert rounds(Fraction(1, 3), Fraction("0.335"), "0.335", approximate=True)
    assert rounds(Fraction(12345), Fraction(12300), "12{,}300", approximate=False)
