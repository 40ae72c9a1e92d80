"""Worked answers on meshes: collectives, sharded products, strategies, networks of two levels, steps, memory, judged as claims.

What each link carries is counted once more, piece by piece along rings, lines and switches, from the exchanges that people
would write down for these splits.
"""

import random
from collections import Counter
from fractions import Fraction
from functools import cache
from pathlib import Path

import pytest
from chips import routed
from sympy import Add, Symbol
from texts import refused

import symroof as sr
from symroof.derivation.premises import setting_of
from symroof.model.chip_costs import chip_costs
from symroof.model.collectives import MeshAxis
from symroof.reading.claim_sets import read_exercise
from symroof.reading.problems import read_problem, read_problem_file
from symroof.verification.judge import judge_exercise

pytestmark = pytest.mark.part(3)

HERE = Path(__file__).parent
ANSWERS = ("collectives", "sharding", "strategies", "networks", "steps", "memory", "nodes", "hops")
FILES = {name: HERE / f"answers_{name}.toml" for name in ANSWERS}
PROBLEMS = [problem for path in FILES.values() for problem in read_problem_file(path)]
NUMBERED = {int(problem["title"].split()[1].rstrip(":")): problem for problem in PROBLEMS}

# Of an exercise each exchange by hand: the resource, the collective, chips, wiring, and the bytes of its message.
EXCHANGES = """
1  X all-gather X ring 2*D*F
2  X all-gather 4 ring 2*D*F
3  X all-gather 4 line 2*D*F
4  X all-gather 2 line 2*D*F
5  NVLink all-gather 8 switch 2*D*F
6  Y all-gather 4 ring 2*B*D
7  X all-gather 8 line 2*D*F
8  X all-gather 16 ring 2*D*F
9  X reduce-scatter X ring 2*B*F
10  X reduce-scatter 5 line 2*B*F
11  X all-reduce X ring 2*B*F
12  X all-reduce 3 ring 2*B*F
13  X all-reduce 8 line 4*B*F
14  NVLink all-reduce 8 switch 2*B*F
15  X all-to-all X ring 2*B*F
16  X all-to-all 5 ring 2*B*F
17  X all-to-all 3 line 2*B*F
18  X all-to-all 8 line 2*B*F
19  NVLink all-to-all 8 switch 2*B*F
20  X all-to-all X ring 2*B*D
21  X all-reduce 16 torus 2*B*F; Y all-reduce 16 torus 2*B*F
22  X all-gather X*Y torus 2*D*F; Y all-gather X*Y torus 2*D*F
23  X reduce-scatter 4 ring 2*B*F; Y all-reduce 8 ring 2*B*F/4
24  X all-to-all 4 ring 2*B*F/8; Y all-to-all 8 ring 2*B*F/4
25  X all-gather X ring 2*D*F/Y
26  X all-reduce X ring 2*4*B*T
27  X all-reduce 4 ring 2*2*N
30  X all-gather 4 ring 2*B*D
31  Y all-gather Y ring 2*B*D
32  Y all-reduce Y ring 2*B*F
33  Y reduce-scatter Y ring 2*B*F
34  X all-gather X ring 2*D*F
35  X all-gather X ring D*F
36  X all-gather X ring D*F
37  X all-to-all X ring 2*B*F
38  X all-gather X ring 2*D*F/Y; Y all-gather Y ring 2*B*D/X
39  Y all-gather Y ring 2*D*F
41  Y all-reduce Y ring 2*2*B*K*G; Y all-reduce Y ring 2*B*K*G*H
42  Y all-reduce Y ring 2*B*D
43  Y all-gather Y ring 2*B*D
45  X all-reduce X ring 2*D*F; X all-reduce X ring 2*D*F
46  X all-gather X ring 2*2*D*F
47  X all-gather X ring 4*2*D*F; X reduce-scatter X ring 2*2*D*F
48  X all-gather X ring 2*2*D*F; X reduce-scatter X ring 2*2*D*F
49  Y all-gather Y ring 2*B*D; Y reduce-scatter Y ring 2*B*D
50  Y all-reduce Y ring 2*B*D
51  Y all-gather Y ring 2*2*B*D; Y reduce-scatter Y ring 2*2*B*D
52  Y all-gather Y ring 3*2*B*D; Y reduce-scatter Y ring 2*2*B*D
53  X all-gather X ring 2*2*D*F/Y; Y all-gather Y ring 2*B*D/X; Y reduce-scatter Y ring 2*B*D/X
54  X all-gather X ring 4*2*D*F/Y; X reduce-scatter X ring 2*2*D*F/Y; Y all-gather Y ring 2*2*B*D/X; Y reduce-scatter Y ring 2*2*B*D/X
55  X all-gather X ring 3*2*D*F/Y; Y all-gather Y ring 2*B*D/X; Y reduce-scatter Y ring 2*B*D/X
56  Y all-gather Y ring 2*B*T*D; Y reduce-scatter Y ring 2*B*T*D
57  Y all-gather Y ring 2*B*T*D; Y reduce-scatter Y ring 2*B*T*D
58  NVLink all-to-all Z switch 2*2*k*B*D
59  NVLink all-to-all Z switch 4*2*k*B*D
60  Z all-to-all Z ring 2*2*k*B*D
61  Y all-reduce 8 ring 2*B*D
62  X all-reduce X ring 2*B*F/Y; Y all-reduce Y ring 2*B*D/X
63  X all-gather X ring 2*2*D*F
64  Y all-gather 4 ring L*2*B*D; Y reduce-scatter 4 ring L*2*B*D
65  X all-reduce X ring 2*D*F; DCN all-reduce Z switch 2*D*F/X
66  X all-gather X ring 2*2*D*F; X reduce-scatter X ring 2*D*F; DCN all-reduce Z switch 2*D*F/X
67  X all-gather X ring 2*2*D*F; X reduce-scatter X ring 2*D*F; DCN all-gather Z switch 2*2*D*F/X; DCN reduce-scatter Z switch 2*D*F/X
68  NVLink all-reduce 8 switch 2*B*F; IB all-reduce 2 switch 2*B*F/8
69  NVLink all-reduce 8 switch 2*D*F; IB all-reduce Z switch 2*D*F/8
70  NVLink all-gather 8 switch 2*2*B*D/X; NVLink reduce-scatter 8 switch 2*2*B*D/X; IB all-gather X switch 4*2*D*F/8; IB reduce-scatter X switch 2*2*D*F/8
71  X all-reduce 16 ring 2*B*F; DCN all-reduce 2 switch 2*B*F/16
72  NVLink all-to-all 8 switch 2*2*k*B*D/4; IB all-to-all 4 switch 2*2*k*B*D/8
73  X all-gather X ring 6*2*D*F/Y; X reduce-scatter X ring 3*2*D*F/Y; Y all-gather Y ring 2*2*B*D/X; Y reduce-scatter Y ring 2*2*B*D/X
74  X all-gather 8 ring 4*2*D*F/32; X reduce-scatter 8 ring 2*2*D*F/32; Y all-gather 32 ring 2*2*B*D/8; Y reduce-scatter 32 ring 2*2*B*D/8
75  X all-gather 4 ring 2*D*F
76  Y all-gather Y ring 2*2*B*T*D; Y reduce-scatter Y ring 2*2*B*T*D
77  Y all-reduce 8 ring 2*2*B*D
78  X all-gather X ring L*4*2*D*F/Y; X reduce-scatter X ring L*2*2*D*F/Y; Y all-gather Y ring L*2*2*B*D/X; Y reduce-scatter Y ring L*2*2*B*D/X
79  Y all-reduce Y ring 2*N; Y all-gather Y ring 2*N*D
80  Y all-gather Y ring 2*N*D; Y reduce-scatter Y ring 2*N*D
81  X all-reduce X ring 2*2*D*F
82  X all-gather X ring 4*2*D*F; X reduce-scatter X ring 2*2*D*F
83  X all-gather X ring 4*2*D*F/Y; X reduce-scatter X ring 2*2*D*F/Y; Y all-gather Y ring 2*2*B*D/X; Y reduce-scatter Y ring 2*2*B*D/X
86  NVLink all-to-all Z switch 2*2*k*B*D
87  NVLink all-gather G switch 2*D*F
88  NVLink all-gather 8 switch 2*D*F
89  NVLink all-gather 8 switch 2*D*F; InfiniBand all-gather M switch 2*D*F/8
90  NVLink all-reduce G switch 2*D*F; InfiniBand all-reduce M switch 2*D*F/G
91  NVLink all-reduce 8 switch 2*D*F; InfiniBand all-reduce 16 switch 2*D*F/8
92  NVLink all-gather 8 switch 2*2*D*F; NVLink reduce-scatter 8 switch 2*D*F; InfiniBand all-reduce M switch 2*D*F/8
93  NVLink all-gather 8 switch 2*D*F; InfiniBand all-gather M switch 2*D*F/8
94  NVLink all-gather 72 switch 2*D*F; InfiniBand all-gather M switch 2*D*F/72
95  NVLink all-gather 8 switch 2*D*F; InfiniBand all-gather M switch 2*D*F/8
96  NVLink all-gather 8 switch 2*2*B*D/M; NVLink reduce-scatter 8 switch 2*2*B*D/M; InfiniBand all-reduce M switch 2*2*D*F/8
97  InfiniBand all-reduce M switch 2*B*D/8
98  NVLink all-reduce 8 switch 2*k*B*D/M; InfiniBand all-to-all M switch 2*2*k*B*D
99  NVLink reduce-scatter 8 switch 2*B*F; InfiniBand reduce-scatter 4 switch 2*B*F/8
102  Y all-gather 4 line 2*B*8192
103  Y all-gather 4 line 2*B*256
104  X all-gather 16 ring 2*N
105  X all-reduce 16 ring 2*B*F
106  X all-gather 64 torus 2*N; Y all-gather 64 torus 2*N
107  NVLink all-reduce 8 switch 2*B*F
109  NVLink all-gather 8 switch 2*N; InfiniBand all-gather 4 switch 2*N/8
"""
LINES = (line.split("  ") for line in EXCHANGES.strip().splitlines())
ROWS = {int(exercise): [one.split() for one in carried.split("; ")] for exercise, carried in LINES}
LETTERS = "BDEFGHKLMNSTVXYZk"


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem["title"])
def test_exercise(problem):
    """Every answer has its verdict, and a wrong one the right value or a point at which it fails."""
    for judgement in judge_exercise(read_exercise(problem)):
        assert judgement.good, (judgement.claim, judgement.verdict, judgement.error)
        if judgement.verdict != "wrong":
            continue
        finding = judgement.worst
        assert judgement.source, judgement.claim
        assert finding.value is not None or finding.counterexample is not None, judgement.claim


def test_exercises_count_on():
    assert list(NUMBERED) == list(range(1, len(PROBLEMS) + 1))
    assert len(PROBLEMS) >= 80
    claims = [claim for problem in PROBLEMS for claim in problem["claims"]]
    wrong = [claim for claim in claims if not isinstance(claim, str) and claim["expect"] == "wrong"]
    assert len(claims) >= 450
    assert len(wrong) >= 150
    for problem in PROBLEMS:
        assert len(problem["claims"]) == len(set(map(str, problem["claims"])))
    assert ROWS.keys() | {28, 29, 40, 44, 84, 85, 100, 101, 108} | {*range(110, 117)} == set(NUMBERED)


# What the busiest direction of a link carries, counted piece by piece.


@cache
def carried(collective, n, wiring):
    """The part of a message that goes over the busiest direction of a link."""
    if wiring == "torus":  # a chip takes the parts of all others through two links of each of two axes
        return Fraction(n - 1, 4 * n) * (2 if collective == "all-reduce" else 1)
    return sum(routed(collective, Fraction(1), [MeshAxis("X", n, wiring, "X")]).values(), Fraction(0))


def sizes_of(seed):
    numbers = random.Random(seed)
    sizes = {letter: numbers.randrange(2, 60) for letter in LETTERS}
    return sizes | {axis: numbers.choice((4, 6, 8)) for axis in "XYZ"}


@pytest.mark.parametrize("exercise", ROWS)
def test_links_carry_what_is_counted_by_hand(exercise):
    problem = {key: value for key, value in NUMBERED[exercise].items() if key not in ("claims", "assume")}
    program = setting_of(read_problem(problem)).problem.operation
    found = {resource for cost in chip_costs(program).values() for resource, amount in cost.sent.items() if amount != 0}
    assert found == {row[0] for row in ROWS[exercise]}
    for seed in range(3):
        sizes = sizes_of(seed)
        counted = Counter()
        for resource, collective, chips, wiring, message in ROWS[exercise]:
            n, size = (eval(text, {}, {name: Fraction(x) for name, x in sizes.items()}) for text in (chips, message))
            counted[resource] += size * carried(collective, int(n), wiring)
        for resource, amount in counted.items():
            value = program.resolved(Add(*(cost.sent.get(resource, 0) for cost in chip_costs(program).values())))
            put = value.subs({s: sizes[s.name] for s in value.atoms(Symbol)})
            assert Fraction(int(put.p), int(put.q)) == amount, (resource, value)


def test_an_axis_is_no_larger_than_what_it_splits():
    page = sr.derive({key: value for key, value in NUMBERED[26].items() if key != "claims"}).to_text()
    assert "all-reduce" in page
    assert "X → ∞" not in page


OF_47 = {key: value for key, value in NUMBERED[47].items() if key != "claims"}
test_what_cannot_be_kept_or_gathered_again = refused(
    lambda said: sr.derive(OF_47 | {"training": False} | said),
    ({"keep": ["W3"]}, "keep: 'W3' is no weight"),
    ({"keep": "x"}, "keep: 'x' is no weight"),
    ({"regather": ["W1"]}, "regather: 'W1' is no input or result"),
    ({"keep": 3}, "keep = 3"),
    ({"keep": ["W1"], "operation": "bf16[B, D] * bf16[D, F] -> bf16[B, F]"}, "keep: only programs"),
)


@pytest.mark.thorough
def test_what_is_kept_can_be_said_beside_the_problem():
    problem = OF_47
    assert "6*D*F" in sr.derive(problem).to_json()
    assert sr.derive(problem, keep="W1, W2").setting.problem.operation.keep == ("W1", "W2")
    assert sr.derive(problem, regather=["x"]).setting.problem.operation.regather == ("x",)
