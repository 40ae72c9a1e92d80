"""Where sizes are given there are numbers: each of them worked out a second time, by hand or by another command."""

import csv
import json
import random
import re
from contextlib import nullcontext
from fractions import Fraction
from math import ceil, exp, log, log2, prod, sqrt

import pytest
from texts import MLP

import symroof as sr
from symroof.derivation import numbers_at_sizes as values, quantity_definitions, whole_sizes
from symroof.derivation.evaluation import functions_of
from symroof.errors import CheckError, ReadingError, SymroofError
from symroof.formula import Both, Compare, Either, Name, Number, Verdict, nodes, number
from symroof.model import program_quantities
from symroof.model.program_sizes import tokens_of
from symroof.model.resources import time_names
from symroof.proof.check import check
from symroof.proof.step import Ledger, Reason, Step
from symroof.reading.chips import chip as chip_named
from symroof.reading.claim_sets import read_exercise
from symroof.reading.expressions import read_expression
from symroof.reading.name_scope import Scope
from symroof.rendering.printed_values import counted_parts
from symroof.symbols import expression
from symroof.verification.judge import judge_exercise

pytestmark = pytest.mark.part(1)

LLAMA = {"D": 8192, "F": 28672, "K": 8, "G": 8, "H": 128, "L": 80, "V": 128256}
FORMS = ("to_text", "to_markdown", "to_latex")


def at(**sizes):
    return ", ".join(f"{name}={size}" for name, size in sizes.items())


def numbers_of(d, point=0):
    found = d.to_dict()["answer"]["at"][point]["numbers"]
    return {name: Fraction(value) for name, value in found.items() if not name.endswith("_float")}


@pytest.fixture(scope="module")
def llama():
    return sr.derive("decode-step", on="h100", at=at(B=64, S=8192, **LLAMA))


@pytest.mark.thorough
def test_a_model_is_counted_by_hand(llama):
    """Llama 3 70B, one token of each of 64 sequences with 8192 tokens behind it."""
    B, S, D, F, K, G, H, L, V = 64, 8192, *LLAMA.values()
    params = L * (2 * D * K * G * H + 2 * D * K * H + 3 * D * F + 2 * D) + 2 * V * D + D
    found = numbers_of(llama)
    assert found["params"] == params == 70_553_706_496
    assert found["weights"] == 2 * params
    assert found["caches"] == 2 * 2 * L * B * S * K * H
    assert found["memory"] == found["weights"] + found["caches"]
    contractions = L * (2 * D * K * G * H + 2 * D * K * H + 3 * D * F) + V * D
    assert found["flops"] == 2 * B * contractions + L * 4 * B * S * K * G * H
    assert found["T_math"] == found["flops"] / Fraction("9.89e14")
    assert found["T_HBM"] == found["bytes"] / Fraction("3.35e12") == found["T_lower"] == found["T_steps"]
    assert found["intensity"] == found["flops"] / found["bytes"]


def test_memory_is_all_that_stays():
    """In a training step of one product: its weights, their gradients, and what is kept for the backward pass; and the cache
    of a step of decoding. Every array is bf16, with elements that are counted here."""
    text = "input x: bf16[B, D]; weight W: bf16[D, F]; y = x * W -> bf16[B, F]"
    B, D, F = 3, 5, 7
    found = numbers_of(sr.derive(text, on="h100", training=True, at=at(B=B, D=D, F=F)))
    assert found["memory"] == 2 * (D * F + D * F + B * D)
    text = "input q: bf16[B, H]; cache C: bf16[B, S, H]; s = q * C -> bf16[B, S]"
    assert numbers_of(sr.derive(text, on="h100", at=at(B=2, S=3, H=5))).get("memory") == 2 * 2 * 3 * 5


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(6))
def test_two_commands_say_one_number(seed):
    """The table, one value, a named formula and a function of a quantity; of a random product or a library program."""
    draw = random.Random(seed)
    operation = draw.choice(("matmul", "mlp", "attention", "gated-mlp", "megatron"))
    options = {"mesh": {"Y": 2}} if operation == "megatron" else {}
    open_ = sr.derive(operation, on="tpu-v5p", **options)
    sizes = {name: 2 * draw.randint(1, 4000) for name in open_.setting.problem.names}
    d = sr.derive(operation, on="tpu-v5p", at=at(**sizes), let={"own": "T_lower + T_math"}, **options)
    found = numbers_of(d)
    for name in ("flops", "bytes", "intensity", "T_math", "T_comms", "T_lower", "T_upper"):
        told = d.only([name]).to_dict()[name]
        assert Fraction(told["exact"]) == found[name]
        function = d.function(name)
        assert function(**{n: sizes[n] for n in function.parameters}) == pytest.approx(told["float"], rel=1e-12)
    names = [
        n for n in quantity_definitions.quantities(d.setting) if n != "T_steps" and d.only([n]).quantity(n) is not None
    ]
    asked = {"operation": operation, "hardware": "tpu-v5p", "at": sizes, "let": {"own": "T_lower + T_math"}, **options}
    assert counted_parts(asked, tuple(names), None).to_dict() == d.only(names).to_dict()
    own = d.to_dict()["answer"]["at"][0]["let"]["own"]
    assert Fraction(own["value"]) == found["T_lower"] + found["T_math"]
    assert Fraction(d.only(["own"]).to_dict()["own"]["exact"]) == Fraction(own["value"])
    assert Fraction(d.only(["T_math + T_lower"]).to_dict()["T_math + T_lower"]["exact"]) == Fraction(own["value"])


@pytest.mark.parametrize("seed", range(4))
def test_where_the_side_changes_is_where_it_is_without_that_size(seed):
    draw = random.Random(seed)
    sizes = {name: draw.randint(300, 9000) for name in "BDF"}
    others = {name: size for name, size in sizes.items() if name != "B"}
    d = sr.derive("matmul", on="tpu-v5e", at=at(**sizes))
    answer = d.answer
    (step,) = [step for step in d.written if step.role == "number turn(0)"]
    other = sr.derive("matmul", on="tpu-v5e", at=at(**others)).answer.at[0]
    assert step.right == other.formula("threshold")
    whole = answer.whole("number whole turn(0)")
    assert whole == other.smallest_integer


@pytest.mark.thorough
def test_a_share_is_of_the_whole(llama):
    shares = [step.value for step in llama.written if step.role.startswith("number share(")]
    assert (len(shares), sum(shares)) == (12, 1)


@pytest.mark.parametrize("change", [lambda x: x + 1, lambda x: x * 2, lambda x: -x])
def test_a_number_that_is_another_is_refused(monkeypatch, change):
    right = values.exactly
    monkeypatch.setattr(values, "exactly", lambda *a: None if (x := right(*a)) is None else change(x))
    with pytest.raises(CheckError):
        sr.derive("matmul", on="tpu-v5e", at="B=64,D=F=8192")


@pytest.mark.parametrize(
    ("digits", "right"), [("9.1287092917527686", True), ("9.1287092917527685", False), ("9.13", True), ("9.12", False)]
)
def test_digits_of_a_root_are_checked(digits, right):
    """sqrt(250/3) = 9.12870929175276855761616304668..."""
    ledger, same = Ledger(frozenset("B")), Compare(Name("B"), "=", Number(Fraction(250)))
    left, shown = read_expression("sqrt(B/3)", Scope(("B",))), Number(Fraction(digits), digits)
    step = Step("formulas", Reason.ROUNDED, left, "~", shown, (same,))
    with nullcontext() if right else pytest.raises(CheckError):
        assert check(step, ledger).status == "proved"


def test_names_of_ones_own_have_numbers_too():
    let = {"real": "flops/(peak*mfu)", "cost": "price*real"}
    sizes = "B=64,D=F=8192,mfu=0.4,price=5"
    d = sr.derive("matmul", on="tpu-v5e", symbols=["mfu", "price"], let=let, at=sizes)
    found = d.to_dict()["answer"]["at"][0]["let"]
    flops = 2 * 64 * 8192**2
    assert Fraction(found["real"]["value"]) == flops / (Fraction("1.97e14") * Fraction(2, 5))
    assert Fraction(found["cost"]["value"]) == 5 * Fraction(found["real"]["value"])
    with pytest.raises(ReadingError, match=r"0.4 is no size"):
        sr.derive("matmul", at="B=0.4")


@pytest.mark.thorough
def test_the_command_prints_a_number(run):
    sizes = at(B=64, S=8192, **LLAMA)
    asked = ("derive", "decode-step", "--on", "h100", "--at", sizes)
    assert run(*asked, "--value", "B/T_lower", "--unit", "tokens/s").out == "684.19 tokens/s\n"
    assert run(*asked, "--value", "T_lower", "--unit", "ms").out == "93.541 ms\n"
    assert run(*asked, "--value", "memory").out == "312.9 GB\n"
    told = json.loads(run(*asked, "--value", "B/T_lower", "--format", "json").out)["B/T_lower"]
    assert told["float"] == pytest.approx(64 / (313363972352 / 3.35e12))
    refused = run(*asked, "--value", "T_lower", "--unit", "GB")
    assert (refused.code, "T_lower is in s, and GB was asked for" in refused.err) == (2, True)
    assert run(*asked, "--value", "B/T_lower", "--unit", "ms").code == 2
    assert run(*asked, "--value", "T_lower + bytes").code == 2
    shown = run(*asked, "--let", "tokens=B/T_lower", "--let", "most=max(T_math, T_HBM)", "--brief").out
    assert re.search(r"tokens +684\.19 +B/T_lower\n", shown)
    assert re.search(r"most +93\.54 ms +max", shown)


@pytest.mark.parametrize("chips", [1, 2, 3, 7])
def test_chips_that_hold_something(chips):
    """W: bf16[D, F] with D = 1000 fills n chips of 80 GB where F = 4e7 n."""
    text = "input x: bf16[B, D]; weight W: bf16[D, F]; y = x * W -> bf16[B, F]"
    for F in (40_000_000 * chips, 40_000_000 * chips + 1):
        page = sr.derive(text, on="h100", at=at(B=1, D=1000, F=F)).to_text(brief=True)
        needed = ceil(Fraction(2 * 1000 * F, 80 * 10**9))
        if needed == 1:
            assert "% of the 80 GB of a chip" in page
        else:
            assert f"{needed} chips of 80 GB hold it, {'one does' if needed == 2 else f'{needed - 1} do'} not" in page


def test_a_sweep_takes_expressions(tmp_path):
    out = tmp_path / "rows.csv"
    sr.sweep("matmul", "B=64|512,D=F=8192", out, on="tpu-v5e", of="T_lower, B/T_lower, max(T_math, T_comms)")
    with out.open() as file:
        head, *rows = csv.reader(file)
    assert head == ["B", "D", "F", "T_lower", "B/T_lower", "max(T_math, T_comms)"]
    for row in rows:
        size, lower, rate, most = float(row[0]), *map(float, row[3:])
        assert rate == pytest.approx(size / lower)
        assert most == lower


@pytest.mark.parametrize("name", ["T_HBM", "T_math", "T_lower", "flops", "bytes", "memory", "weights", "intensity"])
def test_a_number_that_is_left_out_is_missed(monkeypatch, name):
    """A page without a row for one of them is none."""
    kept = values._Numbers._names
    monkeypatch.setattr(values._Numbers, "_names", lambda self: (one for one in kept(self) if one != name))
    with pytest.raises(CheckError, match=name):
        sr.derive("mlp", on="h100", at="B=64,D=F=8192")


def test_a_share_that_is_left_out_is_missed(monkeypatch):
    kept = values.times_of_groups
    for fault in (lambda *a: dict(list(kept(*a).items())[1:]), lambda *a: {}):
        monkeypatch.setattr(values, "times_of_groups", fault)
        with pytest.raises(CheckError, match="shares"):
            sr.derive("mlp", on="h100", at="B=64,D=F=8192")


NUMBERS = {"exp(B/100)": exp(0.03), "exp(-3*B)": exp(-9), "exp(B*40)": exp(120), "exp(-B*40)": exp(-120)}
NUMBERS |= {"abs(sqrt(B) - 30)": 30 - sqrt(3), "log(B)": log(3), "log2(B*D)": log2(24), "sqrt(B)*sqrt(D)": sqrt(24)}
NUMBERS |= {"max(sqrt(B), 1)": sqrt(3), "floor(sqrt(B)*100)": 173, "ceil(log2(B)*10)": 16, "log2(D)": 3}
NUMBERS |= {"sqrt(10^40 + 1)": 1e20, "exp(100*B)": exp(300), "exp(2)*B": 3 * exp(2), "B^40": 3**40}


@pytest.mark.parametrize("text", NUMBERS)
def test_functions_of_sizes_are_worked_out(text):
    """Beside the standard library; a whole number is exact."""
    d = sr.derive("matmul", on="tpu-v5e", at="B=3,D=F=8")
    told = d.only([text]).to_dict()[text]
    assert told["float"] == pytest.approx(NUMBERS[text], rel=1e-14)
    if isinstance(NUMBERS[text], int):
        assert told["exact"] == str(NUMBERS[text])


@pytest.mark.parametrize("text", ["log(B - 3)", "sqrt(B - 4)", "exp(-9000*B)", "2^B", "B/0", "B/(B - 3)"])
def test_what_has_no_value_is_said_so(run, text):
    done = run("derive", "matmul", "--on", "tpu-v5e", "--at", "B=3,D=F=8", "--value", text)
    assert (done.code, done.out, "internal" in done.err, "refuted" in done.err) == (2, "", False, False)
    named = run("derive", "matmul", "--on", "tpu-v5e", "--at", "B=3,D=F=8", "--let", f"x={text}", "--brief")
    assert "internal" not in named.err


def test_what_is_open_and_cancels_leaves_a_number():
    """B and N stand above and below the bar: the intensity is a number without them, and the times are not."""
    line = "bf16[B, T, N, H] * bf16[B, S, N, H] -> bf16[B, N, T, S]"
    found = numbers_of(sr.derive(line, on="tpu-v5e", assume="H << T, S", at="T=S=4096, H=128"))
    T, S, H = 4096, 4096, 128
    assert found["intensity"] == Fraction(2 * T * S * H, 2 * (T * H + S * H + T * S))
    assert "T_lower" not in found
    assert "flops" not in found


@pytest.mark.parametrize("scale", [1, 2])
def test_a_number_of_a_problem_is_a_claim_about_its_sizes(scale):
    """What derive prints at the sizes of a problem verify accepts there, and nothing else; several sets are no context."""
    table = {"operation": "matmul", "hardware": "tpu-v5e", "at": "B=64, D=F=8192"}
    found = numbers_of(sr.derive(table))
    units = {"T_math": " s", "T_comms": " s", "T_lower": " s", "T_upper": " s"}
    claims = [f"{name} = {float(scale * value)!r}{units.get(name, '')}" for name, value in found.items()]
    assert len(claims) >= 8
    good = {"holds", "rounded"} if scale == 1 else {"wrong"}
    assert {one.verdict for one in sr.verify({**table, "claims": claims}).judgements} <= good
    others = {**table, "at": ["B=64, D=F=8192", "B=65, D=F=8192"], "claims": ["intensity = 63"]}
    assert [one.verdict for one in sr.verify(others).judgements] == ["wrong"]


def test_sizes_that_are_missing_are_named(run):
    """A formula in place of a number says which sizes it wants; in a unit there is no formula."""
    done = run("derive", "matmul", "--on", "h100", "--at", "B=64,D=4", "--value", "T_lower", "--value", "ridge")
    assert (done.code, done.out.count("\n")) == (0, 2)
    assert done.err.strip() == "symroof: T_lower is a formula, for --at leaves F open"
    done = run("derive", "matmul", "--on", "h100", "--at", "B=64", "--value", "T_lower", "--unit", "ms")
    assert (done.code, done.out) == (2, "")
    assert "--at D=…,F=…" in done.err
    assert run("derive", "matmul", "--on", "h100", "--value", "T_lower").err == ""


CACHED = "input q: bf16[B, D]; weight W: bf16[D, H]; cache C: bf16[B, S, H]; "
CACHED += "k = q * W -> bf16[B, H]; s = k * C -> bf16[B, S]"
SPLIT = "mesh X on ICI; input x: bf16[B_X, D]; weight W: bf16[D_X, F]; weight V: bf16[F, D]; "
SPLIT += "h = x * W -> bf16[B_X, F]; y = h * V -> bf16[B_X, D]"
STORED = {
    "an MLP": (MLP, {"N": 48, "D": 128, "F": 512}, {}),
    "a cache": (CACHED, {"B": 8, "D": 96, "H": 64, "S": 300}, {}),
    "a mesh": (SPLIT, {"B": 48, "D": 128, "F": 512, "X": 4}, {"training": True}),
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", STORED)
def test_bytes_belong_to_what_would_have_fewer_in_half_the_bits(name):
    """A tensor in half as many bits moves half its bytes less; all of a kind, and nothing else."""
    text, sizes, options = STORED[name]
    each = "_per_chip" if "X" in sizes else ""

    def moved(text):
        return numbers_of(sr.derive(text, on="tpu-v5p", compute="bf16", at=at(**sizes), **options))

    whole = moved(text)
    kinds = [role for role in ("weight", "cache") if f"{role} " in text]
    for role in kinds if not options else ():
        narrow = moved(re.sub(rf"({role} \w+: )bf16", r"\1int8", text))
        assert whole["bytes"] - narrow["bytes"] == whole[f"{role}s_moved"] / 2
    parts = [whole.get(f"{part}_moved{each}", 0) for part in ("weights", "caches", "gradients", "activations")]
    assert sum(parts) == whole[f"bytes{each}"]
    assert all(parts[i] for i, role in enumerate(("weight", "cache")) if role in kinds)
    assert bool(parts[2]) == bool(options)
    if options:  # a gradient is written once, a chip its part of it or all of it before it is added
        assert parts[2] >= sum(2 * sizes["D"] * sizes["F"] for _ in range(2)) / sizes["X"]


@pytest.mark.parametrize("part", ["weights", "caches", "activations"])
def test_bytes_that_are_given_to_another_are_refused(monkeypatch, part):
    """What belongs to nothing, or to something else, is missed."""
    text, sizes, _ = STORED["a cache"]
    kept = values.MOVED
    monkeypatch.setattr(values, "MOVED", tuple(one for one in kept if one != part))
    with pytest.raises(CheckError, match="told apart"):
        sr.derive(text, on="tpu-v5p", at=at(**sizes))
    monkeypatch.setattr(values, "MOVED", kept)
    monkeypatch.setattr(program_quantities, "MOVED", (*kept[1:], kept[0]))
    with pytest.raises(CheckError):
        sr.derive(text, on="tpu-v5p", at=at(**sizes))


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("rows", ["B", "B, T"])
def test_tokens_of_a_second_are_those_that_the_flops_are_for(rows, training):
    """In an MLP each token takes 2 FLOPs of each parameter, 6 in training."""
    text = f"input x: bf16[{rows}, D]; weight W: bf16[D, F]; weight V: bf16[F, D]; "
    text += f"h = x * W -> bf16[{rows}, F]; y = h * V -> bf16[{rows}, D]"
    d = sr.derive(text, on="h100", training=training, at="B=12,T=7,D=256,F=512" if "T" in rows else "B=12,D=256,F=512")
    found = numbers_of(d)
    tokens = found["flops"] / found["params"] / (6 if training else 2)
    assert tokens == (84 if "T" in rows else 12)
    assert found["tokens_per_second"] * found["T_lower"] == tokens
    assert "tokens/s" in d.to_text(brief=True)


@pytest.mark.parametrize("tokens", ["D", "B*D", "B^2"])
def test_a_rate_of_something_else_is_refused(monkeypatch, tokens):
    value = expression(read_expression(tokens, Scope(("B", "D", "F"))))
    monkeypatch.setattr(quantity_definitions, "served_tokens", lambda program: value)
    with pytest.raises(CheckError):
        sr.derive("mlp", on="h100", at="B=64,D=F=8192")


@pytest.mark.thorough
@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("name", ["fsdp-megatron", "megatron", "fsdp", "data-parallel", "weight-stationary"])
def test_sides_change_on_a_mesh_where_they_are_said_to(name, training):
    """At the whole size that is printed the arithmetic takes longer than that link or memory, and at the one before it does
    not; whichever way it turns."""
    open_ = sr.derive(name, on="tpu-v5p", training=training)
    sizes = {n: {"B": 67200, "D": 8400, "F": 33600}.get(n, 4) for n in open_.setting.problem.names}

    def there(**other):
        return numbers_of(sr.derive(name, on="tpu-v5p", training=training, at=at(**{**sizes, **other})))

    d, seen = sr.derive(name, on="tpu-v5p", training=training, at=at(**sizes)), 0
    for step in d.written:
        found = re.fullmatch(r"number whole turn\(0(?:, (\w+))?\)", str(step.role))
        if found is None:
            continue
        link, bound = found[1] or "HBM", step.right
        x, whole = bound.left.name, int(bound.right.value)
        apart = step.evidence.step * (1 if bound.relation == "<=" else -1)
        for size, longer in ((whole, True), (whole + apart, False)):
            chips = {n: size if n == x else m for n, m in sizes.items() if n in d.setting.problem.mesh}
            if size < 1 or any(sizes[n] % prod(chips.values()) for n in "BDF" if n != x):
                continue
            known = there(**{x: size})
            assert (known["T_math"] > known.get(f"T_{link}", 0)) == longer, (link, size)
            seen += 1
    assert seen >= 2
    assert any(str(step.role).startswith("number turn(0") for step in d.written)


FIGURES = {"peak": "256", "HBM": "1", "ICI": "1"}
TIES = {
    "a product": ("matmul", "B=D=F=768", {"given": {"peak": "256", "HBM": "1"}}),
    "a link": ("data-parallel", "B=5100,D=8400,F=33600,X=4", {"on": "tpu-v5p", "training": True}),
    "a split product": (
        "bf16[B_X, D] * bf16[D, F] -> bf16[B_X, F]",
        "B=3072,D=F=768",
        {"mesh": "X=4", "given": FIGURES},
    ),
}


@pytest.mark.parametrize("name", TIES)
def test_times_that_are_equal_are_both_the_longest(name):
    """At the very size where the side changes every form says so, and none is refused."""
    text, sizes, options = TIES[name]
    d = sr.derive(text, at=sizes, **options)
    (row,) = d.to_dict()["answer"]["at"][0]["times"]
    assert row["T_math"] == row["T_lower"] > 0
    assert row["bound_by"] == "both"
    for form in FORMS:
        assert getattr(d, form)()


SOLVED = {
    "memory": ("decode-step", "memory <= 4 * capacity.HBM", at(B=64, S=2048, **LLAMA), {"on": "h100"}),
    "a bound of several parts": ("matmul", "T_lower <= 20 ms", "B=64,D=F=4096", {"on": "tpu-v5e"}),
    "a link": ("fsdp", "T_X <= T_math", "B=65536,D=8192,F=32768,X=16", {"on": "tpu-v5p"}),
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", SOLVED)
def test_what_is_asked_for_is_solved_at_sizes_that_have_it_too(name):
    """The same as without that size; and at the last one it holds, at the next it does not."""
    text, relation, sizes, options = SOLVED[name]
    d = sr.derive(text, at=sizes, solve=relation, solve_for="B", **options)
    open_ = sr.derive(text, at=re.sub(r"B=\d+,\s*", "", sizes), solve=relation, solve_for="B", **options)
    found = d.only(["solution"]).to_text().strip()
    assert found == open_.only(["solution"]).to_text().strip()
    sign, bound = re.fullmatch(r"B ([≤≥]) (\d+)", found).groups()
    assert f"B {sign} {bound}" in d.to_text(brief=True)
    step = {"fsdp": 16}.get(text, 1) * (1 if sign == "≤" else -1)
    left, right = relation.split(" <= ")
    for size, holds in ((int(bound), True), (int(bound) + step, False)):
        there = sr.derive(text, at=re.sub(r"B=\d+", f"B={size}", sizes), **options)
        both = there.only([f"({left})/({right})"]).to_dict()[f"({left})/({right})"]
        assert (Fraction(both["exact"]) <= 1) == holds


@pytest.mark.thorough
@pytest.mark.parametrize("power", [-30, -9, -6, 3, 12, 30])
@pytest.mark.parametrize("operation", ["matmul", "mlp", "attention-decode"])
def test_no_figure_is_too_large_or_too_small(operation, power):
    """A roof that nobody has is derived as any other: GB/s for bytes/s is a slip of nine powers of ten."""
    d = sr.derive(operation, on="h100", given={"HBM": f"3.35e{12 + power}"})
    assert d.answer.value("ridge") == Fraction("9.89e14") / Fraction(f"3.35e{12 + power}")
    assert d.to_text(brief=True)


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["megatron", "fsdp", "fsdp-megatron"])
@pytest.mark.parametrize("chip", ["h100", "tpu-v5p"])
def test_every_row_of_a_table_of_times_is_there(name, chip):
    """What a table shows is derived when it is asked for."""
    sizes = {"B": 65536, "D": 8192, "F": 28672}
    open_ = sr.derive(name, on=chip)
    axes = list(open_.setting.problem.mesh)
    for x in (axes[-1], "B"):
        known = {**sizes, **dict.fromkeys(axes, 2 if chip == "h100" else 4)}
        del known[x]
        for row in sr.derive(name, on=chip, at=at(**known)).answer.at[0].times:
            assert sr.derive(name, on=chip, at=at(**known, **{x: row.size})).answer.at[0].times


@pytest.mark.thorough
def test_chips_are_compared_in_the_numbers_that_each_derives():
    """A program at sizes: one table, with the sizes said once, and of each chip what its own derivation says."""
    sizes = at(B=64, S=2048, **LLAMA)
    page = sr.compare("decode-step", on="h100, tpu-v6e", at=sizes).to_text()
    assert page.count("V = 128256") == 1
    for chip, column in (("h100", 0), ("tpu-v6e", 1)):
        alone = sr.derive("decode-step", on=chip, at=sizes).to_text(brief=True)
        for label in ("T_HBM", "T_math", "memory", "tokens/s"):
            (row,) = [line for line in page.splitlines() if line.strip().startswith(f"{label} ")]
            told = re.split(r"\s{2,}", row.strip())[1 + column]
            assert re.search(rf"^  {label}\s+{re.escape(told)}\b", alone, re.M), (label, told)
    assert "compute-bound when" in sr.compare("decode-step", on="h100, tpu-v6e").to_text()
    assert "compute-bound when" in sr.compare("matmul", on="h100, tpu-v6e", at="B=64,D=128").to_text()
    assert "compute-bound when" not in sr.compare("matmul", on="h100, tpu-v6e", at="B=64,D=F=128").to_text()


@pytest.mark.thorough
@pytest.mark.parametrize("operation", ["moe", "convolution"])
def test_rows_that_are_no_tokens_have_no_rate(monkeypatch, operation):
    """C rows of each of E experts do not say how many tokens they are of, and pixels are none; who says so is refused."""
    sizes = dict.fromkeys(sr.derive(operation, on="h100").setting.problem.names, 64)
    sizes |= {"E": 8, "k": 2} if operation == "moe" else {}
    assert "tokens/s" not in sr.derive(operation, on="h100", at=at(**sizes)).to_text()
    monkeypatch.setattr(quantity_definitions, "served_tokens", tokens_of)
    with pytest.raises(CheckError):
        sr.derive(operation, on="h100", at=at(**sizes))


@pytest.mark.parametrize("name", ["tokens_per_second", "x_moved"])
def test_a_name_of_ones_own_goes_before_ours(name):
    d = sr.derive("mlp", on="h100", at="B=64,D=F=8192", let={name: "2*B"})
    assert d.value(name) == 128
    assert d.to_dict()["answer"]["at"][0]["let"][name]["value"] == "128"
    for form in FORMS:
        assert getattr(d, form)()


EQUAL = {
    "one size by another": ("mlp", "F = 4*D", "B=8,D=64", "B=8,D=64,F=256", {}),
    "in training": ("mlp", "F = 4*D", "B=8,D=64", "B=8,D=64,F=256", {"training": True}),
    "on a mesh": ("fsdp", "D = F", "B=64,F=64,X=4", "B=64,D=64,F=64,X=4", {"training": True}),
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", EQUAL)
def test_a_size_that_is_assumed_is_a_size_that_is_put_in(name):
    """Every number is what it is where both sizes are said."""
    text, equality, less, more, options = EQUAL[name]
    chip = "tpu-v5p" if "X" in less else "h100"
    found = numbers_of(sr.derive(text, on=chip, assume=equality, at=less, **options))
    assert found == numbers_of(sr.derive(text, on=chip, at=more, **options))
    assert any(name.endswith(("_moved", "_moved_per_chip")) for name in found)


def test_rows_that_differ_are_no_tokens():
    """The logits of the last position are no answer for how many tokens are read."""
    text = "input x: bf16[B, T, D]; input last: bf16[B, D]; weight W: bf16[D, F]; weight Wu: bf16[V, D]; "
    text += "y = x * W -> bf16[B, T, F]; logits = last * Wu -> bf16[B, V]"
    assert "tokens/s" not in sr.derive(text, on="h100", at="B=8,T=1000,D=4096,F=16384,V=32000").to_text(brief=True)


FAULTS_OF_TURNS = {
    "another level": (values, "relation_solved", lambda f: lambda v, level, *a, **k: f(v, 2 * level, *a, **k)),
    "another multiple": (values, "wholes", lambda f: lambda *a: (lambda w: w._replace(each=2 * w.each))(f(*a))),
    "the next whole size": (whole_sizes, "whole_number", lambda f: lambda *a: (f(*a) or 0) + a[2]),
    "turned round": (values, "relation_solved", lambda f: lambda v, level, r, *a, **k: f(level, v, r, *a, **k)),
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", FAULTS_OF_TURNS)
def test_a_wrong_turn_is_refused(monkeypatch, name):
    module, changed, fault = FAULTS_OF_TURNS[name]
    monkeypatch.setattr(module, changed, fault(getattr(module, changed)))
    with pytest.raises(CheckError):
        sr.derive("fsdp-megatron", on="tpu-v5p", at="B=65536,D=8192,F=32768,X=16,Y=4")


def places(n, closing):
    """The numbers of chips that share out a size evenly and close to a ring."""
    return [d for d in range(2, n + 1) if n % d == 0 and d % closing == 0]


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(8))
def test_chips_up_to_a_bound_share_out_the_sizes(seed):
    """The number that is told is the last at which the sides stand as they are asked, of those that there are."""
    draw = random.Random(f"chips {seed}")
    name = draw.choice(["tpu-v5p", "tpu-v5e", "tpu-v4p", "tpu-v6e"])
    closing = chip_named(name).closing or 2
    d, f = (draw.choice([3, 5, 7, 1]) * 2 ** draw.randint(8, 13) for _ in "DF")
    sizes = {"B": 2 ** draw.randint(4, 12), "D": d, "F": f}
    there = [y for y in places(d, closing) if f % y == 0]
    own = draw.choice(there)
    program = "mesh Y on ICI; input x: bf16[B, D_Y]; weight W1: bf16[D, F_Y]; weight W2: bf16[F_Y, D];"
    program += "h = x * W1 -> bf16[B, F_Y]; y = h * W2 -> bf16[B, D_Y]"
    found = sr.derive(program, on=name, at={**sizes, "Y": own}).answer
    step = found.step("number whole turn(0, Y)")
    said = {y: sr.derive(program, on=name, at={**sizes, "Y": y}).value for y in there}
    met = [y for y, value in said.items() if value("T_math") > value("T_Y")]
    if step is None or not met:
        assert step is None or step.right == Verdict(False)
    else:
        assert step.right == Compare(Name("Y"), "<=", number(max(met)))


@pytest.mark.thorough
@pytest.mark.parametrize("chips", [4, 8, 16, 64])
def test_a_size_that_chips_share_out_comes_in_multiples_whoever_says_it(chips):
    """What a derivation tells as the last size, and what the judge does of other people's."""
    found = sr.derive("fsdp", on="tpu-v5p", at=f"B=65536,D=8192,F=32768,X={chips}").answer
    step = found.step("number whole turn(0, X)")
    first = int(step.right.right.value)
    assert first % chips == 0

    def verdicts(*claims):
        found = judge_exercise(read_exercise({"operation": "fsdp", "hardware": "tpu-v5p", "claims": list(claims)}))
        return [one.verdict for one in found], found

    around = [first - chips, first - chips + 1, first, first + 1, first + chips]
    said, found = verdicts(*(f"T_math > T_X <=> B >= {n} at X = {chips}" for n in around))
    assert [one in ("holds", "rounded") for one in said] == [False, True, True, False, False]
    for one in found:
        if one.verdict == "wrong":
            assert one.findings[0].whole == Compare(Name("B"), ">=", number(first))
            assert one.findings[0].counterexample.values["B"] % chips == 0
    below, _ = verdicts(*(f"B <= {n} <=> never at X = {chips}" for n in (chips - 1, chips)))
    assert below == ["holds", "wrong"]


@pytest.mark.thorough
@pytest.mark.parametrize("chips", [1, 2, 3, 4, 6, 8, 12])
def test_numbers_of_chips_are_refused_by_every_command_or_none(chips):
    """What a function is called with, what an array holds, what a sweep goes through and what a claim puts in; what is put in
    is the mesh of so many, which a pair is as well."""
    sizes = {"B": 64, "D": 64, "F": 96}
    numpy = pytest.importorskip("numpy")
    open_ = sr.derive("fsdp", on="tpu-v5p", at={**sizes, "X": 4}).function("T_X")
    ways = [
        lambda: open_(X=chips),
        lambda: open_(X=numpy.array([4, chips])),
        lambda: open_(D=float(sizes["D"]), X=float(chips)),
        lambda: sr.sweep("fsdp", f"B=64,D=64,F=96,X={chips}", of="T_X", on="tpu-v5p"),
    ]
    taken = []
    for way in ways:
        try:
            way()
            taken.append(True)
        except SymroofError:
            taken.append(False)
    claim = f"T_X >= 0 at B = 64, D = 64, F = 96, X = {chips}"
    (found,) = judge_exercise(read_exercise({"operation": "fsdp", "hardware": "tpu-v5p", "claims": [claim]}))
    assert {*taken, found.verdict == "holds"} == {chips in (1, 4, 8)}
    try:
        put = sr.derive("fsdp", on="tpu-v5p", at={**sizes, "X": chips})
    except SymroofError:
        assert chips not in (1, 2, 4, 8)
    else:
        assert chips in (1, 2, 4, 8)
        own = sr.derive("fsdp", on="tpu-v5p", mesh=f"X={chips}", at=sizes)
        assert put.answer.at[0].times[0].lower == own.answer.at[0].times[0].lower


@pytest.mark.parametrize("seed", range(5))
def test_what_is_right_as_additions_are_usually_counted_is_never_turned_wrong(seed):
    """Claims of which each is right under one way of counting alone: the way of most is taken, and what is right under the
    usual one is right on that condition then."""
    draw, fma, exact = random.Random(f"counts {seed}"), "2", "(2 - 1/N)"
    forms = "intensity = {}*N/(4N + 2)", "T_math = {}*N/peak", "ridge < {}*N/(4N + 2) <=> N*{}/(4N + 2) > ridge"
    ways = [(form, way) for form in forms for way in draw.choices((fma, exact), k=2)]
    claims = [(form.format(*[way] * form.count("{}")), way) for form, way in ways]
    draw.shuffle(claims)
    found = judge_exercise(read_exercise({"operation": "dot", "claims": [claim for claim, _ in claims]}))
    right = {way: sum("<=>" in claim or of == way for claim, of in claims) for way in (fma, exact)}
    taken = exact if right[exact] > right[fma] else fma
    for one, (claim, way) in zip(found, claims, strict=True):
        alone = judge_exercise(read_exercise({"operation": "dot", "claims": [claim]}))[0]
        assert alone.verdict == "holds", claim
        kept = "<=>" in claim or way == taken
        assert one.verdict == ("holds" if kept else "conditional" if way == fma else "wrong"), claim
        assert (one.verdict == "conditional") == any(r.kind == "another_count" for f in one.findings for r in f.remarks)


RELATIONS = ["{t} >= max({u}, {v})", "min({t}, {u}) <= {v}", "B/T_lower >= {rate}", "tokens_per_second < {rate}"]
RELATIONS += ["2*T_lower <= {u} + {seconds}", "max({t}, {u}) > max({v}, {seconds})", "T_lower - {t} <= {seconds}"]
RELATIONS += ["B/max({t}, {u}) > {rate}", "3 - {seconds}/min({u}, {v}) > 1/2"]


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(18))
def test_a_relation_of_the_longest_of_several_is_solved_where_numbers_say(seed):
    """On both sides of what is told the relation stands as it was written, worked out anew at these sizes."""
    draw = random.Random(f"longest {seed}")
    times = ["T_math", "T_X", "T_HBM", "T_vector"]
    t, u, v = draw.sample(times, 3)
    chips, d, f = 2 ** draw.randint(2, 5), 2 ** draw.randint(9, 13), 2 ** draw.randint(9, 13)
    facts = {"t": t, "u": u, "v": v, "rate": 10 ** draw.randint(4, 7), "seconds": f"1e-{draw.randint(2, 5)}"}
    relation = RELATIONS[seed % len(RELATIONS)].format(**facts)
    sizes, left, sign, right = {"D": d, "F": f, "X": chips}, *re.split(r" (<=|>=|<|>) ", relation)
    with_b = draw.choice([{}, {"B": 64 * chips}])
    told = sr.derive("fsdp", on="tpu-v5p", at={**sizes, **with_b}, solve=relation, solve_for="B").answer.solved(0)
    gap = sr.derive("fsdp", on="tpu-v5p", at={**sizes, "B": chips}).function(f"({left}) - ({right})")

    def holds(b):
        value = gap(B=b)
        return {">": value > 0, ">=": value >= 0, "<": value < 0, "<=": value <= 0}[sign]

    far = [chips * 2**k for k in range(20)]
    if isinstance(told, Verdict):
        assert {holds(b) for b in far} <= {told.holds}
        return
    edges = [float(expression(part.right)) for part in nodes(told) if isinstance(part, Compare)]

    def said(b, one=told):
        if isinstance(one, Both | Either):
            return (all if isinstance(one, Both) else any)(said(b, part) for part in one.parts)
        e = float(expression(one.right))
        return {">": b > e, ">=": b >= e, "<": b < e, "<=": b <= e, "=": b == e}[one.relation]

    near = {chips * max(1, round(edge / chips) + k) for edge in edges for k in (-1, 0, 1)}
    for b in {*far, *near}:
        assert holds(b) == said(b) or abs(gap(B=b)) < 1e-12, (relation, told, b)


@pytest.mark.parametrize(
    ("operation", "sizes"),
    [("matmul", {"B": 64, "D": 8192, "F": 8192}), ("bf16[64, 4096] * bf16[4096, 8192] -> bf16[64, 8192]", {})],
)
def test_what_is_no_size_is_no_whole_number(operation, sizes):
    """Hours are positive numbers; a bound on them is said in decimals, and once."""
    asked = {"symbols": ["hours"], "solve": "T_lower*hours <= 1e-3", "solve_for": "hours"}
    d = sr.derive(operation, on="h100", at=sizes, **asked)
    hours = 1e-3 / d.value("T_lower")
    (row,) = [line for line in d.to_text(brief=True).splitlines() if line.strip().startswith("T_lower hours")]
    assert float(row.split("hours ≤ ")[-1].split()[0]) == pytest.approx(hours, rel=1e-3)
    assert "whole numbers" not in d.to_text()
    assert not re.search(r"^ +at *$", d.to_text(), re.M)


@pytest.mark.parametrize(
    "solve", ["weights <= n*capacity.HBM", "n*8*capacity.HBM >= weights", "3*weights < capacity.HBM*n"]
)
def test_a_number_of_servers_is_a_whole_number(solve):
    """An unknown that multiplies a capacity counts what has it, in whatever order the relation is written."""
    told = {"on": "h100", "at": {"B": 64, "D": 65536, "F": 262144}, "symbols": ["n"], "solve_for": "n"}
    d = sr.derive("mlp", solve=solve, **told)
    times, each = (3 if "3*" in solve else 1), (8 if "8*" in solve else 1)
    least = -(-times * d.value("weights") // (each * 80 * 10**9))
    (row,) = [line for line in d.to_text(brief=True).splitlines() if "capacity.HBM" in line and "n " in line]
    assert f"n ≥ {int(least)}" in row


def test_a_size_that_is_assumed_may_be_put_in_as_well():
    told = {"on": "h100", "assume": "D = F"}
    once, twice = (sr.derive("matmul", at=at, **told) for at in ("B=512,F=8192", "B=512,D=8192,F=8192"))
    assert once.to_text() == twice.to_text()
    with pytest.raises(SymroofError, match="contradict"):
        sr.derive("matmul", at="B=512,D=8192,F=4096", **told)


@pytest.mark.parametrize("name", ["fsdp", "fsdp-megatron"])
def test_over_an_axis_of_one_chip_nothing_is_waited_for(name):
    more = {"Y": 4} if "mega" in name else {}
    d = sr.derive(name, on="tpu-v5p", at={"B": 65536, "D": 8192, "F": 32768, "X": 1, **more})
    step = d.answer.step("number turn(0, X)")
    assert (step.left, step.right) == (Compare(Name("T_math"), ">", Name("T_X")), Verdict(True))
    (row,) = [line.split() for line in d.to_text(brief=True).splitlines() if line.strip().startswith("against X")]
    assert row[:3] == ["against", "X", "always"]


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        ("T_math > T_Y <=> Y <= 64 at F = 163840, D = 64", "holds"),  # all chips that there are meet Y < 65.25
        ("T_math > T_Y <=> Y <= 32 at F = 163840, D = 64", "wrong"),
        ("T_math > T_Y <=> Y <= 2 at F = 4096, D = 4096", "holds"),  # Y < 2.61: none does
        ("T_math > T_Y <=> Y <= 4 at F = 4096, D = 4096", "wrong"),
        ("T_math > T_Y <=> never at F = 4096, D = 4096, B = 64", "holds"),
        ("Y = 1 <=> never", "holds"),  # an axis without a number is of more than one chip
    ],
)
def test_bounds_on_chips_are_judged_over_those_that_there_are(claim, verdict):
    problem = {"operation": "megatron", "hardware": "tpu-v5p", "claims": [claim]}
    (found,) = judge_exercise(read_exercise(problem))
    assert found.verdict == verdict
    shown = found.findings[0].counterexample
    assert shown is None or shown.values["Y"] in (4, 8, 16, 32, 64)


@pytest.mark.thorough
def test_a_counterexample_is_one_of_the_sizes_that_there_are():
    claim = "compute-bound when B >= 38240 at X = 16, D = 8192, F = 32768"
    (found,) = judge_exercise(read_exercise({"operation": "fsdp", "hardware": "tpu-v5p", "claims": [claim]}))
    assert (found.verdict, found.findings[0].counterexample.values["B"]) == ("wrong", 38240)


@pytest.mark.parametrize("name", ["mlp", "attention", "data-parallel", "decoder-layer", "dot", "matmul"])
def test_what_can_be_asked_about_has_a_value(name):
    """A name that a relation or a formula may speak of is one that the answer has: on chips with a vector unit and without."""
    lacking = 0
    for chip in ("h100", "tpu-v5e", "tpu-v5p"):
        d = sr.derive(name, on=chip)
        problem = d.setting.problem
        known = quantity_definitions.quantities(d.setting)
        assert set(time_names(problem.operation, "HBM", problem.hardware)) <= set(known)
        assert [function.name for function in functions_of(d.setting, known)] == list(known)
        if "T_vector" not in known:
            lacking += 1
            with pytest.raises(SymroofError, match="T_vector"):
                sr.derive(name, on=chip, let={"both": "T_vector + T_HBM"})
            with pytest.raises(SymroofError, match="T_vector"):
                sr.derive(name, on=chip, solve="T_vector > T_HBM", solve_for=problem.operation.dimensions[0])
    assert lacking


@pytest.mark.parametrize("size", [float("nan"), float("inf"), float("-inf"), [4, 8], "4", None, -2, 0])
def test_what_is_no_size_is_refused_by_functions(size):
    for problem, sizes in (("fsdp", "XB"), ("matmul", "B")):
        function = sr.derive(problem, on="tpu-v5p").function("T_HBM")
        for name in sizes:
            with pytest.raises(SymroofError, match="is no size"):
                function(**{**dict.fromkeys(function.parameters, 64), name: size})
