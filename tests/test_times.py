"""Times of programs beside exact arithmetic over their statements, named formulas beside their values, and relations
solved for a name beside z3 and beside numbers that are put in."""

import json
from dataclasses import replace
from fractions import Fraction as Q

import pytest
import z3
from hypothesis import given, settings, strategies as st
from texts import MLP, refused

import symroof as sr
from symroof.derivation import times as derived_times
from symroof.errors import SymroofError
from symroof.formula import Call, Name, Sum, total
from symroof.symbols import expression

MIXED = """
input  x:  bf16[N, D]
weight W1: int8[D, F]
weight W2: int8[F, D]
h = x * W1 -> int8[N, F]
y = h * W2 -> bf16[N, D]
"""
# Figures that make exact numbers short.
CHIP = {"peak.bf16": 1000, "peak.int8": 2000, "peak.vector": 10, "HBM": 100, "capacity.HBM": 4096}
VECTOR = Name("T_vector")
C, I8, V, W = Q(1000), Q(2000), Q(10), Q(100)
AT = {"N": 3, "D": 5, "F": 7}


def times(program, at=AT, **options):
    """The row of a derivation at sizes, and the whole derivation."""
    d = sr.derive(program, on=CHIP, at=at, **options)
    (row,) = d.answer.at[0].times
    return row, d


def mlp(n, d, f):
    """The statements of an MLP with its relu, by hand: FLOPs, elementwise operations, bytes."""
    h = (2 * n * d * f, n * f, 2 * (n * d + d * f + n * f))
    y = (2 * n * d * f, 0, 2 * (n * f + f * d + n * d))
    return h, y


def of(statements):
    """What the three resources take of statements at the rates of the chip: sums, and the longest of each added up."""
    seconds = [(Q(flops) / C, Q(ops) / V, Q(moved) / W) for flops, ops, moved in statements]
    return tuple(map(sum, zip(*seconds, strict=True))), sum(map(max, seconds))


def test_the_times_of_an_mlp_are_those_of_its_statements():
    row, _ = times(MLP)
    sums, steps = of(mlp(3, 5, 7))
    assert (row.t_math, dict(row.others)[VECTOR], row.t_comms) == sums
    assert (row.lower, row.steps, row.upper) == (max(sums), steps, sum(sums))


def test_a_block_and_a_fuse_overlap_as_one():
    h, y = mlp(3, 5, 7)
    block = MLP.replace("h = x", "block all {\nh = x") + "}"
    assert times(block)[0].steps == max(of((h, y))[0])
    fused = times(MLP.replace("h = x", "fuse {\nh = x") + "}")[0]
    moved = 2 * (3 * 5 + 2 * 5 * 7 + 3 * 5)
    assert fused.steps == max(Q(h[0] + y[0]) / C, Q(h[1]) / V, Q(moved) / W) == fused.lower


def test_turns_of_a_repeat_are_added_up():
    layers = "input x: bf16[N, D]; weight V: bf16[D, F]; weight W: bf16[F, D]; "
    layers += "repeat L as x = y { h = x * V -> bf16[N, F]; y = h * W -> bf16[N, D] }"
    row, _ = times(layers, {**AT, "L": 11})
    math, moved = Q(11 * 2 * 3 * 35) / C, Q(11 * 2 * (15 + 35 + 21)) / W
    assert (row.t_math, row.t_comms, row.steps) == (2 * math, 2 * moved, 2 * max(math, moved))


def test_each_contraction_runs_at_the_peak_of_its_widest_input():
    """h has a bf16 input and so runs at that peak; both inputs of y are int8."""
    row, d = times(MIXED)
    flops = 2 * 3 * 5 * 7
    math = Q(flops) / C, Q(flops) / I8
    moved = Q(2 * 15 + 35 + 21) / W, Q(21 + 35 + 2 * 15) / W
    assert row.t_math == sum(math)
    assert row.steps == sum(map(max, math, moved))
    assert d.answer.ridge is None
    assert d.to_dict()["answer"]["ridge"] is None
    assert sr.derive(MIXED, on=CHIP, compute="int8").answer.ridge == I8 / W  # one type for all arithmetic
    assert sr.derive(MIXED, on={**CHIP, "peak": 3}).answer.ridge == Q(3) / W
    condition = sr.derive(MIXED).answer.threshold  # without a chip they stay symbols
    assert {"peak.bf16", "peak.int8", "bandwidth"} <= {s.name for s in condition.bound.free_symbols}


@pytest.mark.thorough
def test_the_threshold_of_several_peaks_is_where_arithmetic_takes_longer():
    d = sr.derive(MIXED, on="tpu-v5e", at="D=8192,F=32768", assume="N << D, F")
    first = d.answer.at[0].smallest_integer

    def math_is_longer(n, size=8192, other=32768):
        flops, moved = Q(2 * n * size * other), Q(4 * n * size + 2 * size * other + 2 * n * other)
        return flops / Q("1.97e14") + flops / Q("3.94e14") > moved / Q("8.2e11")

    assert math_is_longer(first)
    assert not math_is_longer(first - 1)
    assert d.answer.rule_bound == Q("1.97e14") * Q("3.94e14") / (Q("1.97e14") + Q("3.94e14")) / Q("8.2e11")
    assert d.answer.at[0].side is None
    assert sr.derive(MIXED, on="tpu-v5e", at="N=1,D=8,F=8").answer.at[0].side == "<"
    assert {step.check.status for step in d.steps} == {"proved"}


@pytest.mark.thorough
def test_the_vector_unit_is_left_out_where_it_has_no_figure():
    assert [name for name, _ in times(MLP)[0].others] == [VECTOR]
    page = sr.derive(MLP, on="tpu-v5e", at=AT)
    assert page.answer.at[0].times[0].others == ()
    assert "no figure for vector arithmetic" in page.to_text()
    assert "T_vector" not in page.to_dict()["answer"]["T"]


def test_a_program_of_elementwise_statements_has_one_arithmetic():
    """The vector unit does it all: it is not counted twice."""
    row, _ = times("input x: bf16[N]; a = relu(x); b = a + x", {"N": 8})
    assert row.others == ()
    assert row.t_math == Q(16) / V
    assert row.upper == row.t_math + row.t_comms


SIZES = st.integers(1, 6)


@st.composite
def chains(draw):
    """A chain of products, some with a relu behind, some fused, in blocks or alone; and its times by hand."""
    n, sizes = draw(SIZES), [draw(SIZES)]
    text, costs, groups = ["input x0: bf16[N, D0]"], [], []
    body, at = [], {"N": n, "D0": sizes[0]}
    for i in range(draw(st.integers(1, 3))):
        sizes.append(draw(SIZES))
        at[f"D{i + 1}"] = sizes[-1]
        text.append(f"weight W{i}: bf16[D{i}, D{i + 1}]")
        relu, together = draw(st.booleans()), draw(st.booleans())
        made = f"h{i}" if relu else f"x{i + 1}"
        lines = [f"{made} = x{i} * W{i} -> bf16[N, D{i + 1}]"] + ([f"x{i + 1} = relu({made})"] if relu else [])
        a, b = sizes[-2], sizes[-1]
        costs.append((2 * n * a * b, n * b if relu else 0, 2 * (n * a + a * b + n * b)))
        if together and groups:
            groups[-1].append(i)
            body[-1] += lines
        else:
            groups.append([i])
            body.append(lines)
    for number, lines in enumerate(body):
        text += [f"block b{number} {{", *lines, "}"] if len(groups[number]) > 1 else lines
    return "\n".join(text), at, costs, groups


@pytest.mark.thorough
@settings(max_examples=6, deadline=None)
@given(chains())
def test_chains_of_products_take_what_their_statements_take(chain):
    text, at, costs, groups = chain
    row, d = times(text, at)
    parts = [(Q(f) / C, Q(o) / V, Q(m) / W) for f, o, m in costs]
    sums = [sum(part) for part in zip(*parts, strict=True)]
    steps = sum(max(map(sum, zip(*(parts[i] for i in group), strict=True))) for group in groups)
    assert (row.t_math, dict(row.others).get(VECTOR, 0), row.t_comms) == tuple(sums)
    assert (row.lower, row.steps, row.upper) == (max(sums), steps, sum(sums))
    assert row.lower <= row.steps <= row.upper
    assert {step.check.status for step in d.steps} == {"proved"}


@pytest.mark.thorough
def test_times_are_quantities_for_every_question():
    d = sr.derive(MLP, on=CHIP)
    h, y = mlp(3, 5, 7)
    assert d.function("T_math(h)")(**AT) == pytest.approx(h[0] / 1000)
    assert d.function("T_vector(h)")(N=3, F=7) == pytest.approx(h[1] / 10)
    assert d.function("T_HBM(y)")(**AT) == pytest.approx(y[2] / 100)
    assert d.function("T_steps")(**AT) == pytest.approx(float(of((h, y))[1]))
    claims = ["T_math(h) = 2NDF/peak", "T_vector = NF/peak.vector"]
    claims += ["T_lower = max(T_math, T_HBM)", "T_upper = T_math + T_HBM + T_vector"]
    report = sr.verify({"operation": MLP, "hardware": CHIP, "claims": claims})
    assert [j.verdict for j in report.judgements] == ["holds", "holds", "wrong", "holds"]


# Faults in producers: what the second engine finds out.

CHANGES = [
    lambda s: Sum(tuple(Call("min", term.arguments) for term in s.terms)),
    lambda s: s.terms[0],
    lambda s: Sum((s.terms[0], s.terms[0])),
    lambda s: Sum((Call("max", s.terms[0].arguments[:2]), s.terms[1])),
    lambda s: Call("max", tuple(total(*pair) for pair in zip(*(term.arguments for term in s.terms), strict=False))),
    lambda s: Sum((*s.terms, Name("T_HBM(h)"))),
]
FAULTS = [("steps_of", lambda usual, change=change: lambda *a: change(usual(*a))) for change in CHANGES]
FAULTS += [("times_of", lambda usual: lambda program, rates: usual(program, replace(rates, vector="peak.bf16")))]


@pytest.mark.parametrize(("name", "fault"), FAULTS)
def test_another_t_steps_or_an_exchanged_peak_is_refused(name, fault, monkeypatch):
    monkeypatch.setattr(derived_times, name, fault(getattr(derived_times, name)))
    with pytest.raises(SymroofError):
        sr.derive(MLP, on=CHIP)


# Named formulas.


def test_named_formulas_come_to_values():
    let = {"resident": "weights + size(h)", "chips": "resident/capacity.HBM", "r": "flops/params"}
    d = sr.derive(MLP, on=CHIP, at=AT, let=let)
    let = d.to_dict()["answer"]["let"]
    assert let["r"] == {"formula": "flops/params", "value": "2*N", "float": None}
    assert let["chips"]["formula"] == "resident/capacity.HBM"
    resident = 2 * 2 * 5 * 7 + 2 * 3 * 7
    here = d.to_dict()["answer"]["at"][0]["let"]
    assert (Q(here["resident"]["value"]), Q(here["chips"]["value"])) == (resident, Q(resident, 4096))
    assert here["chips"]["float"] == resident / 4096


@pytest.mark.thorough
def test_figures_have_their_dots_in_formulas_claims_and_questions():
    let = {"fits": "capacity.HBM/size(h)", "slow": "peak.vector/peak.int8"}
    d = sr.derive(MLP, on=CHIP, let=let)
    assert d.to_dict()["answer"]["let"]["slow"]["value"] == "0.005"
    assert sr.regimes(MLP, on="tpu-v5e", of="T_math*peak.bf16/flops + T_comms/T_math").map.count
    problem = {"operation": MLP, "hardware": "tpu-v5e", "let": let | {"slow": "1"}}
    (judgement,) = sr.verify({**problem, "claims": ["fits = capacity.HBM/(2NF)"]}).judgements
    assert judgement.verdict == "holds"


def test_a_name_of_a_program_that_nothing_counts_means_zero():
    d = sr.derive(MLP, on=CHIP, let={"o": "ops(y) + T_vector(y)", "p": "throughput"})
    assert d.to_dict()["answer"]["let"]["o"]["value"] == "0"


# Relations, solved.

DECODE = "input x: bf16[B, D]; weight W: bf16[D, F]; cache K: bf16[B, S, D]; "
DECODE += "y = x * W -> bf16[B, F]; s = x * K -> bf16[B, S]"


def solved(relation, name, **options):
    operation = options.pop("operation", None)
    table = {"solve": relation, "solve_for": name, **options}
    return (sr.derive(table) if operation is None else sr.derive(operation, **table)).to_dict()["answer"]


@pytest.mark.thorough
def test_how_many_chips_hold_it():
    let = {"resident": "weights + caches", "chips": "resident/capacity.HBM"}
    free = {"symbols": ["weights", "caches"], "at": "weights=9000,caches=100"}
    program = {"operation": DECODE, "at": "B=2,D=8,F=16,S=4"}
    for options, resident in ((free, 9100), (program, 2 * 8 * 16 + 2 * 2 * 4 * 8)):
        answer = solved("resident <= N*capacity.HBM", "N", let=let, hardware=CHIP, **options)
        least = -(-resident // 4096)
        assert answer["at"][0]["solution"]["smallest_integer"] == least
        assert Q(answer["at"][0]["solution"]["exact_bound"]) == Q(resident, 4096)
        assert answer["solution"]["outcome"] == "depends"


def compute_bound_decode(c, w, n, kv, held, b):
    return 2 * b * n / c > (held + b * kv) / w


def test_a_decode_step_is_compute_bound_beyond_its_cache_or_never():
    """B > CP/(2nW - C kv) if 2nW > C kv, else never: settled by z3 for all positive numbers."""
    answer = solved(
        "T_math > T_comms", "B", let={"T_math": "2*B*n/peak", "T_comms": "(P + B*kv)/bandwidth"}, symbols=["kv"]
    )["solution"]
    assert answer["exact"] == "B > peak*P/(2*n*bandwidth - peak*kv)"
    assert answer["guard"] == "2*n*bandwidth > peak*kv"
    assert answer["otherwise"] == "never"
    b, n, c, held, kv, w = z3.Reals("b n c held kv w")
    solver = z3.Solver()
    solver.add(b > 0, n > 0, c > 0, held > 0, kv > 0, w > 0)
    found = z3.If(2 * n * w > c * kv, b * (2 * n * w - c * kv) > c * held, False)
    solver.add((2 * b * n * w > (held + b * kv) * c) != found)
    assert solver.check() == z3.unsat


@pytest.mark.thorough
def test_a_decode_step_as_a_program():
    let = {"matrices": "2*B*params/peak", "loads": "(weights + caches)/bandwidth"}
    asked = {"operation": DECODE, "let": let, "on": "tpu-v5e"}
    answer = solved("matrices > loads", "B", **asked)["solution"]
    c, w = Q("1.97e14"), Q("8.2e11")
    assert answer["guard"] is not None
    assert answer["otherwise"] == "never"
    for d, f, s in ((8192, 32768, 64), (128, 4096, 2)):
        n, kv, held = d * f, 2 * s * d, 2 * d * f
        if 2 * n * w > c * kv:
            bound = c * held / (2 * n * w - c * kv)
            found = solved("matrices > loads", "B", at=f"D={d},F={f},S={s}", **asked)
            here = found["at"][0]["solution"]
            assert Q(here["exact_bound"]) == bound
            assert here["smallest_integer"] == bound // 1 + 1
            assert compute_bound_decode(c, w, n, kv, held, here["smallest_integer"])
            assert not compute_bound_decode(c, w, n, kv, held, here["smallest_integer"] - 1)


@pytest.mark.parametrize(
    ("relation", "least", "largest"),
    [
        ("2B > 7", 4, None),
        ("2B >= 8", 4, None),
        ("2B < 8", None, 3),
        ("2B <= 8", None, 4),
        ("B^2 <= 10", None, 3),
        ("10 < B^2", 4, None),
        ("max(2B, 3B) <= 10", None, 3),
        ("min(2B, 3B) > 10", 6, None),
        ("max(B, 9) > 10", 11, None),
        ("B^3 + B >= 30", 3, None),
    ],
)
def test_whole_numbers_on_both_sides(relation, least, largest):
    found = solved(relation, "B")["solution"]
    assert (found["smallest_integer"], found["largest_integer"]) == (least, largest)


def test_an_equation_is_solved():
    assert solved("2B*N = 6*M", "B")["solution"]["exact"] == "B = 3*M/N"
    assert solved("B^2 = 4*N", "B")["solution"]["exact"] in ("B = 2*sqrt(N)", "B = sqrt(4*N)")


@settings(max_examples=8, deadline=None)
@given(st.tuples(*[st.integers(-5, 5)] * 4), st.sampled_from(["<", "<=", ">", ">="]))
def test_linear_relations_hold_where_they_are_said_to(numbers, relation):
    a, b, c, d = numbers
    written = f"{a}*x + {b} {relation} {c}*x + {d}"
    try:
        found = solved(written, "x", symbols=["x"])["solution"]
    except SymroofError:
        assert a == c
        return
    for x in (Q(1, 3), Q(1), Q(2), Q(7, 2), Q(11)):
        left, right = a * x + b, c * x + d
        truth = {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}[relation]
        said = found["exact"]
        if said in ("always", "never"):
            assert truth == (said == "always")
        else:
            _, sign, edge = said.split(" ", 2)
            value = Q(str(expression(sr_number(edge))))
            assert truth == {"<": x < value, "<=": x <= value, ">": x > value, ">=": x >= value}[sign]


def sr_number(text):
    from symroof.reading.expressions import read_expression
    from symroof.reading.name_scope import Scope

    return read_expression(text, Scope(()))


test_what_cannot_be_solved_is_refused = refused(
    sr.derive,
    ({"solve": "N^3 + N <= M", "solve_for": "N"}, "no solved form"),
    ({"solve": "T_steps^2 + T_steps <= 1", "solve_for": "N", "operation": MLP}, "no solved form"),
    ({"solve": "2N <= M", "solve_for": "K"}, "does not speak of K"),
    ({"solve": "2N <= M"}, "what is it to be solved for?"),
    ({"solve": "2N", "solve_for": "N"}, "a relation"),
    ({"solve": "1 < N < 2", "solve_for": "N"}, "no relation to solve"),
    ({"solve": "N ~ 2", "solve_for": "N"}, "no relation to solve"),
    ({"solve": "bites <= N", "solve_for": "N"}, "unknown name 'bites'"),
    ({"let": {"flops": "T_math*peak"}}, "defined by itself"),
    ({"let": 1111, "operation": MLP}, "let = 1111 is not a table"),
    ({"let": {"x": "2B"}, "mesh": "X=2"}, "speaks of an operation"),
    ({"let": {"x": "2B"}, "assume": "B << D"}, "a regime is of an operation"),
)


def test_a_condition_is_still_solved_for_its_own_size_beside_a_relation():
    d = sr.derive(MLP, on="tpu-v5e", assume="N << D, F", solve="weights <= M*capacity.HBM", solve_for="M")
    assert d.answer.smallest_integer == 241


@pytest.mark.parametrize("text", ["1e1001 T_comms", "9" * 1001 + "T_comms"])
def test_a_number_beyond_a_thousand_digits_is_refused_where_it_stands(text):
    with pytest.raises(SymroofError, match=r"is too (large|long)(.|\n)*\^"):
        sr.derive("bf16[B, D] * bf16[D, F] -> bf16[B, F]", let={"T_x": text})


@pytest.mark.parametrize("text", ["1e999/(B + D)", "BDF/(BD + DF + 1e999)", "1e999B + 1e999D", "1e999"])
def test_numbers_beyond_every_float_are_written_on_every_page(text):
    d = sr.derive("bf16[B, D] * bf16[D, F] -> bf16[B, F]", on="tpu-v5e", let={"T_x": text})
    assert json.loads(d.to_json())["answer"]["let"]["T_x"]["float"] is None
    assert d.to_markdown()
    assert d.to_latex()
    assert str(sr.regimes("bf16[B, D] * bf16[D, F] -> bf16[B, F]", of=text))


def test_what_is_best_is_judged_without_an_operation():
    """Sizes belong to what is minimized, as to what is solved; to claims alone they say nothing."""
    best = {"let": {"T_X": "4D*F/X", "T_Y": "4D"}, "minimize": "T_X + T_Y", "over": "X", "subject": "X*Y = N"}
    asked = {"at": "N=64", "claims": ["T_X = 4DF/X"]}
    assert [found.verdict for found in sr.verify({**best, **asked}).judgements] == ["holds"]
    with pytest.raises(SymroofError, match="at speaks of an operation"):
        sr.verify({"let": best["let"], **asked})
