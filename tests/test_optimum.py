"""The best split: least maxima and least sums of what links carry, against grids and z3."""

import json
import math
import random
from contextlib import nullcontext
from dataclasses import replace
from fractions import Fraction

import pytest
from texts import FSDP as PROGRAM, refused

import symroof as sr
from symroof.algebra.roots import root_near
from symroof.algebra.solvers import least_maximum, least_sum
from symroof.derivation.quantity_definitions import ledger_of
from symroof.errors import AlgebraError, CheckError, ReadingError, SymroofError
from symroof.formula import Compare, Name, Quotient, Verdict, number
from symroof.proof.bounds_and_decimals import RoundedRoot
from symroof.proof.check import check
from symroof.proof.minima import LeastPlace, Roots
from symroof.proof.step import Ledger, Reason, Step
from symroof.reading.expressions import read_expression
from symroof.reading.name_scope import Scope
from symroof.symbols import expression, symbol

ASKED = {"minimize": "max(T_X, T_Y)", "over": "X", "subject": "X*Y = N", "on": "tpu-v5p"}
PEAK, LINK = Fraction("4.59e14"), Fraction("9e10")
X = symbol("X")


def record(point=None, **options):
    answer = json.loads(sr.derive(PROGRAM, **{**ASKED, **options}).to_json())["answer"]
    return answer["optimum"] if point is None else answer["at"][point]["optimum"]


def read(text):
    return read_expression(text, Scope(open=True))


# What has to come out.


@pytest.mark.thorough
@pytest.mark.parametrize("minimize", ["max(T_X, T_Y)", "T_X + T_Y"])
@pytest.mark.parametrize(("training", "place"), [(False, "sqrt(B*N/F)"), (True, "sqrt(2*B*N/(3*F))")])
def test_the_best_split_of_an_mlp(minimize, training, place):
    assert record(minimize=minimize, training=training)["at"] == place


@pytest.mark.thorough
def test_compute_bound_at_the_best_split_of_a_training_step():
    found = record(training=True, at="F=32768")
    assert found["compute_bound"] == "B/N > 4335000/F"
    assert record(0, training=True, at="F=32768")["bound"] == "132.29"
    assert found["guard"] == ["2*B*N >= 3*F", "3*F*N >= 2*B"]


@pytest.mark.thorough
def test_the_parts_in_the_regime():
    steps = sr.derive(PROGRAM, **ASKED).section("optimum")
    forms = [(step.left.name, step.right) for step in steps if step.reason is Reason.PART and step.relation == "~"]
    names = Scope(("B", "D", "F", "X", "N", "ICI"))
    wanted = {"T_X": "2D F X/(N ICI)", "T_Y": "2B D/(X ICI)"}
    wanted = [(name, expression(read_expression(form, names))) for name, form in wanted.items()]
    assert [(name, expression(form)) for name, form in forms] == wanted
    assert all(step.check.status == "proved" for step in steps)


@pytest.mark.thorough
@pytest.mark.part(2)
@pytest.mark.parametrize(("f", "most"), [(32768, 16), (32760, 20), (32766, None), (36864, 16)])
def test_the_largest_number_of_chips_that_divides_a_known_size(f, most):
    """Against Y it is Y < 1 + F/1700. Of the numbers up to there, multiples of 4 close to a ring."""
    answer = json.loads(sr.derive(PROGRAM, on="tpu-v5p", training=True, at=f"F={f}").to_json())["answer"]
    assert answer["at"][0]["thresholds"]["Y"]["largest_integer"] == most


@pytest.mark.thorough
def test_what_divides_is_said_and_decided_again():
    found = sr.derive(PROGRAM, on="tpu-v5p", training=True, at="D=8192,F=32768")
    text = " ".join(found.to_text().split())
    assert "So Y ≤ 16 (it divides D and F)" in text
    assert "B > 75202560X/(446512 - 2295Y)" in text
    step = next(step for step in found.answer.at[0].steps if step.role == "whole(Y)")
    ledger = ledger_of(found.setting)
    assert step.evidence.examine(step, ledger).status == "proved"
    others = *(replace(step.right, right=number(n)) for n in (8, 20)), Verdict(False)
    wrong = [(step.evidence, replace(step, right=right)) for right in others]
    wrong += [(replace(step.evidence, sizes=()), step), (replace(step.evidence, step=8), step)]
    for evidence, one in wrong:
        with pytest.raises(CheckError):
            evidence.examine(one, ledger)


def test_a_size_of_a_program_comes_in_multiples_of_its_chips():
    """B is split over four chips: 1021 is none of its sizes."""
    text = "mesh X=4 on ICI; input x: bf16[B_X, D]; weight W: bf16[D, F]; y = x * W -> bf16[B_X, F]"
    found = sr.derive(text, on="tpu-v5e", at="D=F=8192")
    assert [round(float(found.answer.at[0].bound), 2), found.answer.at[0].smallest_integer] == [1020.85, 1024]


# Numeric minimisation over fine grids.


@pytest.mark.parametrize("seed", range(20))
def test_least_places_against_grids(seed):
    draw = random.Random(seed)
    a, b = (Fraction(draw.randint(1, 999), draw.randint(1, 99)) for _ in range(2))
    p, q = draw.randint(1, 3), draw.randint(1, 3)
    parts = tuple(map(expression, (read(f"{a}*X^{p}"), read(f"{b}/X^{q}"))))
    for solve, total in ((least_maximum, max), (least_sum, sum)):
        found = solve(parts, X, frozenset())
        place = float(found.power) ** (1 / found.degree)
        worth = float(found.value) ** (1 / found.degree)
        grid = [place * math.exp(i / 2000) for i in range(-3000, 3001)]
        values = [total((float(a) * x**p, float(b) / x**q)) for x in grid]
        assert min(values) == pytest.approx(worth, rel=1e-9)
        assert grid[values.index(min(values))] == pytest.approx(place, rel=1e-6)


def test_of_several_rising_parts_the_highest_crosses():
    parts = tuple(expression(read(text)) for text in ("3X", "5X", "4/X", "7"))
    found = least_maximum(parts, X, frozenset())
    assert (found.degree, found.power, found.constant) == (2, Fraction(4, 5), (7,))
    with pytest.raises(AlgebraError, match="open"):
        least_maximum(tuple(expression(read(text)) for text in ("A*X", "B*X", "1/X")), X, frozenset())


def test_what_has_no_closed_form_is_refused():
    with pytest.raises(AlgebraError, match="closed form"):
        least_sum(tuple(expression(read(text)) for text in ("X", "X^2", "1/X")), X, frozenset())
    with pytest.raises(SymroofError, match="no single powers"):
        sr.derive(PROGRAM, **{**ASKED, "minimize": "T_lower"})


# z3: the value is at most what every other place has.


@pytest.mark.parametrize("minimize", ["max(4F*X/N, 4B/X)", "4F*X/N + 4B/X"])
def test_the_value_is_least_for_z3(minimize):
    import z3

    d = sr.derive({"symbols": ["N"]}, minimize=minimize, over="X", subject="X*Y = N")
    written = next(step.right for step in d.steps if step.reason is Reason.BEST_VALUE)
    b, f, n, x, v = z3.Reals("b f n x v")
    square = expression(written) ** 2
    assert square == (16 if "max" in minimize else 64) * symbol("B") * symbol("F") / symbol("N")
    up, down = 4 * f * x / n, 4 * b / x
    least = z3.If(up > down, up, down) if "max" in minimize else up + down
    solver = z3.Solver()
    solver.add(b > 0, f > 0, n > 0, x > 0, v > 0, v * v * n == (16 if "max" in minimize else 64) * b * f, least < v)
    assert solver.check() == z3.unsat


# What is best otherwise, and what is refused.


@pytest.mark.thorough
def test_the_ends_of_the_domain():
    d = sr.derive({"let": {"T_X": "4D*F/Y"}}, minimize="T_X", over="X", subject="X*Y = N")
    assert d.answer.formula("optimum") == number(1)
    d = sr.derive({"let": {"T_X": "4D*F/X"}}, minimize="T_X", over="X", subject="X*Y = N")
    assert d.answer.formula("optimum") == Name("N")
    assert record(0, training=True, at="N=64,B=8,F=32768")["at"] == "1"
    assert record(0, training=True, at="N=64,B=8000000000,F=3")["at"] == "N"
    with pytest.raises(SymroofError, match="nothing says how large"):
        sr.derive({"let": {"T_X": "4D*F/X"}}, minimize="T_X", over="X")


def optimal(right, *guards, body="max(4F*X/N, 4B/X)", function="argmin"):
    parts = read(body).arguments if body.startswith("max") else read(body).terms
    left = replace(read("max(1, 2)"), function=function, arguments=(read(body), Name("X")))
    where = (Compare(Name("Y"), "=", Quotient(Name("N"), Name("X"))), *(guard for guard in guards))
    return Step("optimum", Reason.BEST, left, "=", right, where, LeastPlace(parts))


INSIDE = (Compare(read("B*N"), ">=", Name("F")), Compare(read("N*F"), ">=", Name("B")))


def test_the_second_engine_takes_the_right_place_and_no_other():
    ledger = Ledger(frozenset("BFNXY"))
    assert check(optimal(read("sqrt(B*N/F)"), *INSIDE), ledger).status == "proved"
    assert check(optimal(read("4sqrt(B*F/N)"), *INSIDE, function="minimum"), ledger).status == "proved"
    wrong = [optimal(read(place), *INSIDE) for place in ("2sqrt(B*N/F)", "sqrt(F/(B*N))", "B*N/F", "1", "N")]
    wrong += [optimal(read("sqrt(B*N/F)"), *guards) for guards in ((), INSIDE[:1], INSIDE[1:])]
    wrong += [
        optimal(number(1), Compare(read("B"), "<=", read("N*F"))),
        optimal(read("8sqrt(B*F/N)"), *INSIDE, function="minimum"),
        optimal(read("sqrt(B*N/F)"), *INSIDE, body="max(4F*X/N, 4B/X, 5X)"),
        optimal(read("sqrt(B*N/F)"), *INSIDE, body="4F*X/N + 4B/X + 5X^2"),
    ]
    for step in wrong:
        with pytest.raises(CheckError):
            check(step, ledger)


def test_a_maximum_and_a_sum_are_least_at_different_places():
    ledger = Ledger(frozenset("BFNXY"))
    guards = (Compare(read("B*N"), ">=", read("2F")), Compare(read("2N^2*F"), ">=", Name("B")))
    third = read("(B*N/(2F))^(1/3)")
    assert check(optimal(third, *guards, body="4F*X^2/N + 4B/X"), ledger).status == "proved"
    with pytest.raises(CheckError):
        check(optimal(third, *guards, body="max(4F*X^2/N, 4B/X)"), ledger)


def test_roots_that_are_wrong_are_refused():
    ledger = Ledger(frozenset("BFNXY"))
    higher, steps = Compare(read("sqrt(B)"), ">", read("2sqrt(F)")), []
    for right, good in (("1.41", True), ("1.42", False), ("1.4", True), ("2", False)):
        shown = replace(number(Fraction(right)), digits=right)
        steps.append((Step("optimum", Reason.BEST, read("sqrt(2)"), "~", shown, (), RoundedRoot()), good))
    for right, good in (("4F", True), ("2F", False)):
        below = Compare(Name("B"), ">", read(right))
        steps.append((Step("optimum", Reason.THERE, higher, "<=>", below, (), Roots()), good))
    for step, good in steps:
        with nullcontext() if good else pytest.raises(CheckError):
            assert check(step, ledger).status == "proved"


def test_roots_of_large_numbers_are_exact():
    assert root_near(Fraction(10**40 * 4), 2) == 2 * 10**20
    for degree in (2, 3, 5):
        near = root_near(Fraction(7, 3), degree)
        assert near**degree <= Fraction(7, 3) < (near + Fraction(1, 10**29)) ** degree


# Reading, and the other doors.


test_bad_questions_say_what_is_wrong = refused(
    lambda options: sr.derive(PROGRAM, **{**ASKED, **options}),
    ({"over": "Q"}, "over = 'Q' is not known"),
    ({"over": None}, "least over"),
    ({"minimize": None}, "what is to be least"),
    ({"subject": "X*Y < N"}, "an equation"),
    ({"subject": "X + Y = N"}, "shares with"),
    ({"subject": "X = N"}, "shares with"),
    ({"subject": "X*Y = 64"}, "64 is not"),
    ({"minimize": "max(T_X, T_Q)"}, "T_Q"),
)


@pytest.mark.thorough
def test_the_command_line_asks_the_same(run, tmp_path):
    file = tmp_path / "mlp.toml"
    asked = 'minimize = "T_X + T_Y"\nover = "X"\nsubject = "X*Y = N"\n'
    file.write_text(f'operation = """{PROGRAM}"""\nhardware = "tpu-v5p"\n{asked}')
    asked = json.loads(run("derive", str(file), "--format", "json").out)["answer"]["optimum"]
    assert asked == record(minimize="T_X + T_Y")
    flags = ("--minimize", "max(T_X, T_Y)", "--over", "X", "--subject", "X*Y = N")
    assert json.loads(run("derive", str(file), *flags, "--format", "json").out)["answer"]["optimum"] == record()
    assert "over = 'Q' is not known" in run("derive", str(file), "--over", "Q").err


@pytest.mark.thorough
@pytest.mark.parametrize("body", ["max(T_X, T_Y)", "T_X + T_Y"])
def test_claims_name_the_same_place(body):
    let = {"T_X": "4F*X/N", "T_Y": "4B/X"}
    d = sr.derive({"let": let}, minimize=body, over="X", subject="X*Y = N")
    place, worth = map(d.answer.formula, ("optimum", "optimum_value"))
    assert expression(place) == expression(read("sqrt(B*N/F)"))
    times = 4 if "max" in body else 8
    claims = [f"argmin({body}, X) = sqrt(B*N/F)", f"minimum({body}, X) = {times}sqrt(B*F/N)"]
    claims += [f"argmin({body}, X) = 2sqrt(B*N/F)"]
    assert expression(worth) == expression(read(f"{times}sqrt(B*F/N)"))
    judged = json.loads(sr.verify({"let": let, "claims": claims}).to_json())["files"][0]["judgements"]
    assert [one["verdict"] for one in judged][:2] == ["holds", "holds"]
    assert judged[2]["good"] is False


@pytest.mark.parametrize("name", ["sent", "flops_per_chip", "bytes_per_chip"])
def test_what_a_problem_does_not_have_is_no_name_of_a_question(name):
    """On a switch nothing is sent over an axis of its own, and one chip has no part of the work: neither is a free name."""
    alone = {"operation": "matmul", "hardware": "tpu-v5p"}
    switched = {"operation": "weight-stationary", "hardware": "tpu-v5p", "mesh": "X, Y on ICI switch"}
    for problem, over in ((alone, "B"), (switched, "X"))[: 2 if name == "sent" else 1]:
        for question in (f"{name} + {over}", f"{name}({over}) + {over}"):
            with pytest.raises(ReadingError, match=f"unknown name '{name}'"):
                sr.derive(problem, minimize=question, over=over)
        with pytest.raises(ReadingError, match=f"unknown name '{name}'"):
            sr.derive(problem, solve=f"{name} = 3", solve_for="D")
