"""Premises: what a document states is used by what follows it, and quoted; it ends, and nothing is wrong by it alone where
it may have meant something else."""

from pathlib import Path

import pytest

import symroof.verification.assertions as assertions
import symroof.verification.chapters as chapters
import symroof.verification.premises as premises
from symroof.reading.documents import read_text
from symroof.verification.surroundings import Discourse

pytestmark = pytest.mark.part(8)

HYPER = "| | symbol | value |\n|--|--|--:|\n| layers | $L$ | 36 |\n| of these global | $L_g$ | 9 |\n| heads | $n_h$, $n_{kv}$ | 32, 4 |\n| width (d) | `d_model` | 4,096 |\n\n"
# What stands in a document, and what is said of its claims.
STATED = {
    "a table of values": (HYPER + "So $L/L_g = 4$, $n_h/n_{kv} = 8$, $12 L d^2 = 7{,}247{,}757{,}312$, and $L/L_g = 5$.", ["holds", "holds", "holds", "wrong"]),
    "a table the other way round": ("| $L$ | $d$ |\n|--|--|\n| 32 | 4096 |\n\nSo $L d = 131072$.", ["holds"]),
    "formulas and words": ("Let $N = 7 \\times 10^9$ be, and $V$ is 32000. Then $2N = 1.4 \\times 10^{10}$ and $2V = 64000$.", ["holds", "holds"]),
    "prose and a block": ("- L = 48 layers\n\n```\nd = 5120\n```\n\nSo $L d = 245760$ and $L d = 245761$.", ["holds", "wrong"]),
    "what a chain comes to": ("$$N = L (a + b) = 1.3 \\times 10^{10}$$\n\nSo $16 N = 208$ GB, but $16 N = 308$ GB.", ["holds", "wrong"]),
    "a constraint": ("With $F_s + F_p = 1$ we have\n\n$$\\frac{1}{F_s + F_p/p} = \\frac{p}{1 + (p - 1) F_s}$$", ["holds"]),
    "a constraint that has ended": ("# A\n\nWith $F_s + F_p = 1$.\n\n# B\n\n$$\\frac{1}{F_s + F_p/p} = \\frac{p}{1 + (p - 1) F_s}$$", []),
    "an equation is no constraint": ("$6 x + 3 y = 12$ and $2x + y = 5$.", []),
    "another value": ("Let $N = 8$. Then $2N = 16$. Now let $N = 10$: $2N = 20$, and $2N = 16$.", ["holds", "holds"]),
    "a formula and another number": ("$a = 3$ and $b = 4$.\n\n$$S = a + b$$\n\nSo $S = 7$, $2S = 14$. Then $S = 12$. Now $2S = 24$, $2S = 14$.", ["holds", "holds"]),
    "a function": ("$N = 10$.\n\n$$t(b) = 2N + 3b$$\n\nSo $t(4) = 32$ and $2 t(b) = 4N + 6b$.", ["holds", "holds"]),
    "supposed": ("$n = 8$. If $2n = 20$, then something else.", []),
    "in another unit": ("$N = 70$. Then $2N = 140{,}000$.", []),
    "denied": ("$d = 64$이고, $2d = 100$은 아니다.", []),
    "rounded numbers put in": ("$t_1 = 8.66$ and $t_2 = 0.0293$, so $t_1/t_2 = 8.66/0.0293 \\approx 296$.", ["holds"]),
    "a forgotten factor": ("$n = 1024$, $S = 140$ and $w = 50$: $2 S/w = \\frac{140}{50} = 2.8$", ["wrong", "holds"]),
    "a bound": ("$C = 989 \\times 10^{12}$, $W = 3.35 \\times 10^{12}$: $\\frac{2B}{C} > \\frac{1}{W} \\iff B > \\frac{C}{2W} \\approx 148$", ["holds", "holds"]),
    "the largest": ("The cache has to satisfy\n\n$$B s k \\le M - P$$\n\nso it is at most $s_\\text{max} = \\frac{M - P}{B k}$, and not more.", ["holds"]),
    "the largest, wrong": ("The cache has to satisfy\n\n$$B s k \\le M - P$$\n\nso it is at most $s_\\text{max} = \\frac{(M - P) B}{k}$, and not more.", ["wrong"]),
}  # fmt: skip


def judged(text):
    return chapters.judge_read(read_text(text), Path())


def verdicts(text):
    return [one.verdict for one in judged(text).judgements]


@pytest.mark.parametrize("row", STATED)
def test_what_is_stated_is_used(row):
    text, expected = STATED[row]
    assert verdicts(text) == expected


def test_every_premise_is_quoted_with_its_line():
    report = judged("Let $N = 8$ be.\n\nAnd $M = 3$.\n\nSo $N M = 24$.")
    (remarks,) = ([r.facts for r in finding.remarks] for one in report.judgements for finding in one.findings)
    assert [(facts["name"], facts["line"]) for facts in remarks] == [("N", 1), ("M", 3)]


def test_what_contradicts_is_told():
    report = judged("$a = 3$ and $b = 4$.\n\n$$S = a + b$$\n\nBut $S = 12$.")
    assert [(skip.text, skip.reason.kind, skip.reason.facts) for skip in report.skipped][-1] == (
        "S = 12", "contradicts", {"name": "S", "line": 3},
    )  # fmt: skip


def nothing_is_remembered(m):
    m.setattr(Discourse, "stating", lambda self, definition: self)


def the_first_value_stays(m):
    m.setattr(Discourse, "last", lambda self, name: (self.stated.get(name) or (None,))[0])


def every_meaning_is_the_only_one(m):
    m.setattr(Discourse, "sole", lambda self, name: True)


def constraints_never_end(m):
    m.setattr(premises.Definition, "holds", lambda self, path, place: True)


def tables_state_nothing(m):
    m.setattr(chapters, "of_row", lambda *_: iter(()))


def contradictions_are_not_seen(m):
    m.setattr(premises, "_valued", lambda told, value, passage: passage.said)


def units_do_not_matter(m):
    m.setattr(premises, "_by_a_unit", lambda question: False)


def what_is_supposed_is_claimed(m):
    m.setattr(premises, "is_denied", lambda *_: False)


def bounds_come_to_nothing(m):
    m.setattr(assertions, "_valued_elsewhere", lambda passage: ())


FAULTS = {
    nothing_is_remembered: "formulas and words",
    the_first_value_stays: "another value",
    every_meaning_is_the_only_one: "another value",
    constraints_never_end: "a constraint that has ended",
    tables_state_nothing: "a table of values",
    contradictions_are_not_seen: "a formula and another number",
    units_do_not_matter: "in another unit",
    what_is_supposed_is_claimed: "denied",
    bounds_come_to_nothing: "a bound",
}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_every_fault_is_noticed(monkeypatch, fault):
    text, expected = STATED[FAULTS[fault]]
    fault(monkeypatch)
    assert verdicts(text) != expected
