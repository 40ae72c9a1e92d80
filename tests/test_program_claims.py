"""Claims about programs: what they may name, and what is wrong with the ones that people get wrong.

Claims at random are held against an oracle that reads the shapes of a program by a few patterns of its own.
"""

import itertools
import math
import re

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from texts import ATTENTION, DECODER, EXPERTS, MLP

import symroof as sr
from symroof.model.program_quantities import names_of_amounts

pytestmark = pytest.mark.part(2)

GATED = """
input  x:  bf16[N, D]
weight W1, W3: bf16[D, F]
weight W2: bf16[F, D]
g = x * W1 -> bf16[N, F]
h = x * W3 -> bf16[N, F]
s = silu(g)
a = s * h
y = a * W2 -> bf16[N, D]
"""
UNFUSED = ATTENTION.replace("fuse {", "").replace("}", "")
STACK = """
input  x:  bf16[N, D]
weight W1: bf16[D, F]
weight W2: bf16[F, D]
repeat L as x = y {
  h = x * W1 -> bf16[N, F]
  a = relu(h)
  y = a * W2 -> bf16[N, D]
}
"""


def judged(program, *claims, **options):
    return sr.verify({"operation": program, "hardware": "tpu-v5e", "claims": list(claims), **options}).judgements


def verdicts(program, *claims, **options):
    return [judgement.verdict for judgement in judged(program, *claims, **options)]


def diagnosis(program, claim, **options):
    (judgement,) = judged(program, claim, **options)
    assert judgement.verdict == "wrong", judgement
    (found,) = [finding.diagnosis for finding in judgement.findings if finding.diagnosis]
    facts = {name: getattr(value, "name", value) for name, value in found.facts.items()}
    names = " ".join(name.name for name in facts.get("names", ()))
    return " ".join(str(part) for part in (found.kind, facts.get("how", ""), names) if part)


@pytest.mark.parametrize("program", [MLP, GATED, ATTENTION, UNFUSED, EXPERTS, STACK])
def test_totals_are_the_sums_of_their_parts(program):
    """Each claim is true of every program: what the parts say adds up to what the whole says."""
    known = names_of_amounts(sr.derive(program, on="tpu-v5e").setting.problem.operation)
    parts = {
        total: [n for n in known if n.startswith(f"{total}(")] for total in ("flops", "ops", "reads", "writes", "bytes")
    }
    claims = [f"{total} = {' + '.join(names)}" for total, names in parts.items()]
    assert verdicts(program, *claims, "bytes = reads + writes") == ["holds"] * 6


@pytest.mark.parametrize(("claim", "unit"), [("weights = 268 MFLOPs at D = F = 8192", "FLOPs"), ("flops(h) = 1.1 TB at N = D = F = 8192", "bytes"), ("params = 134 MB at D = F = 8192", "bytes"), ("elements(x) = 1 byte at N = D = 1", "bytes"), ("size(x) = 2 FLOPs at N = D = 1", "FLOPs"), ("ops = 3 bytes at N = 3, F = 1", "bytes")])  # fmt: skip
def test_units_of_amounts(claim, unit):
    (found,) = judged(MLP, claim)
    assert found.verdict in ("wrong", "undecided")
    assert found.worst.remarks[0].kind == "units"
    assert unit in found.worst.remarks[0].facts.values()


@pytest.mark.parametrize(("claim", "expected"), [("flops(a) = 3", "one of flops(h), flops(y)"), ("flops(q) = 3", "one of flops(h), flops(y)"), ("params(x) = ND", "one of params(W1), params(W2)")])  # fmt: skip
def test_an_amount_that_a_tensor_does_not_have_is_refused(claim, expected):
    (found,) = judged(MLP, claim)
    assert found.verdict == "unreadable"
    assert f"expected {expected}" in found.error


# What is wrong with a claim.


MISTAKES = [
    (MLP, "params = DF", "part_missing W1 W2"),
    (MLP, "params = 4DF", "other_amount bytes"),
    (MLP, "weights = 2DF", "other_amount elements"),
    (MLP, "size(W1) = DF", "other_amount elements"),
    (MLP, "elements(x) = 2ND", "other_amount bytes"),
    (MLP, "bytes = 2ND + 2DF + 2NF", "other_amount elements"),
    (MLP, "flops(h) = NDF", "multiply_add"),
    (MLP, "flops = 6N*params", "other_pass training"),
    (MLP, "bytes(h) = 2ND + 2DF", "traffic kept a"),
    (UNFUSED, "bytes = 4BHK(GT + S)", "traffic kept p"),
    (MLP, "bytes = 4ND + 2DF + 4NF", "traffic not_read W1"),
    (MLP, "bytes = 4ND + 4NF", "traffic not_read W1 W2"),
    (MLP, "bytes = 4ND + 8DF + 4NF", "of_width W1 W2"),
    (MLP, "flops = 4ND", "factor_of_size"),
    (GATED, "params = 2DF", "part_missing W1 W3 W2"),
    (GATED, "flops = 4NDF", "part_missing g h y"),
    (ATTENTION, "flops = 2BTSKGH", "part_missing s o"),
    (ATTENTION, "flops = 4BTSKH", "factor_of_size"),
    (STACK, "params = 2DF", "turns"),
    (STACK, "flops = 4NDF", "turns"),
    (DECODER, "caches = 4BSKH", "turns"),
    (DECODER, "params = VD + L(2DKGH + 2DKH + 2DF)", "part_missing W1 W3 W2"),
    (DECODER, "params = VD + L(2DKGH + DKH + 3DF)", "part_missing Wk Wv"),
    (DECODER, "params = L(2DKGH + 2DKH + 3DF)", "part_missing We"),
]


@pytest.mark.parametrize(("program", "claim", "mistake"), MISTAKES)
def test_the_mistake_behind_a_wrong_claim(program, claim, mistake):
    assert diagnosis(program, claim) == mistake


# What is no claim, and what only looks like one.


def test_a_size_has_no_name_of_an_amount():
    for name in ("params", "ops", "weights", "caches"):
        with pytest.raises(sr.SymroofError, match=f"{name} is the name of a quantity"):
            judged(f"input x: bf16[N, {name}]; weight W: bf16[{name}, F]; y = x * W -> bf16[N, F]", "flops > 0")


@pytest.mark.parametrize("lang", ["ko", "zh"])
def test_every_amount_is_called_something_that_is_read(lang):
    from symroof.reading.vocabulary import AMOUNTS, WORDS, folded
    from symroof.rendering.pages.templating import load

    called = load(f"{lang}/catalogues.j2", None, lang, {}).called
    assert {name: AMOUNTS[folded(str(called(name)))] for name in WORDS["amounts"]} == {
        name: name for name in WORDS["amounts"]
    }


@pytest.mark.thorough
def test_mistakes_about_training():
    claims = {
        "flops = 2N params": "other_pass forward",
        "flops = 8NDF": "other_pass backward",
        "saved = 2ND": "part_missing a",
        "gradients = 2DF": "other_amount elements",
    }
    assert {claim: diagnosis(MLP, claim, training=True) for claim in claims} == claims


# Claims at random, against an oracle that reads the shapes of a program by itself.


def oracle(program):
    """What a program has, as functions of its sizes: from its text, by patterns."""
    shapes, weights, products = {}, [], {}
    for role, names, labels in re.findall(r"(input|weight|cache) +([\w, ]+?): *bf16\[([\w, ]+)\]", program):
        for name in names.split(", "):
            shapes[name] = labels.split(", ")
            weights += [name] if role == "weight" else []
    for name, first, second, labels in re.findall(r"(\w+) = (\w+)(?:\(| \* (\w+)(?: -> bf16\[([\w, ]+)\])?)", program):
        if labels:
            shapes[name], products[name] = labels.split(", "), {*shapes[first], *shapes[second]}
        else:  # of the shape of its first operand, which stands in brackets behind a function
            shapes[name] = shapes[first] if second else shapes[re.search(rf"{name} = \w+\((\w+)", program)[1]]

    def volume(labels, times=1):
        return lambda sizes: times * math.prod(sizes[label] for label in labels)

    def total(volumes):
        return lambda sizes: sum(volume(sizes) for volume in volumes)

    known = {f"elements({name})": volume(labels) for name, labels in shapes.items()}
    known |= {f"size({name})": volume(labels, 2) for name, labels in shapes.items()}
    known |= {f"flops({name})": volume(labels, 2) for name, labels in products.items()}
    known |= {f"params({name})": volume(shapes[name]) for name in weights}
    known["params"] = total([known[f"params({name})"] for name in weights])
    known["flops"] = total([known[f"flops({name})"] for name in products])
    return known, sorted({label for labels in shapes.values() for label in labels})


ORACLES = [(program, *oracle(program)) for program in (MLP, GATED, ATTENTION)]


@st.composite
def sides(draw, known, sizes):
    """A side of a claim: its text, and its value at sizes."""
    parts = []
    for _ in range(draw(st.integers(1, 2))):
        factor, letters = draw(st.integers(1, 3)), draw(st.lists(st.sampled_from(sizes), max_size=3))
        name = draw(st.sampled_from([None, *known]))
        text = " * ".join((str(factor), *letters, *([name] if name else [])))
        parts.append(
            (
                text,
                lambda at, f=factor, ls=letters, n=name: f * math.prod(at[x] for x in ls) * (known[n](at) if n else 1),
            )
        )
    return " + ".join(text for text, _ in parts), lambda at: sum(value(at) for _, value in parts)


@pytest.mark.thorough
@given(st.data())
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
def test_verdicts_on_claims_at_random(data):
    program, known, sizes = data.draw(st.sampled_from(ORACLES))
    (left, a), (right, b) = data.draw(sides(known, sizes)), data.draw(sides(known, sizes))
    if data.draw(st.booleans()):  # a claim that is true, for there are few by chance
        right, b = f"{left} + {right} - ({right})", a
    relation = data.draw(st.sampled_from(["=", "<=", "<"]))
    (found,) = judged(program, f"{left} {relation} {right}")
    holds = {"=": lambda at: a(at) == b(at), "<=": lambda at: a(at) <= b(at), "<": lambda at: a(at) < b(at)}[relation]
    points = [dict(zip(sizes, numbers, strict=True)) for numbers in itertools.product((1, 2, 5), repeat=len(sizes))]
    true = all(map(holds, points))
    assert found.verdict != "holds" or true
    assert found.verdict != "wrong" or not true or relation != "="
    assert relation != "=" or found.verdict in ("holds", "wrong")


ODD = [
    "flops(", "flops()", "flops(y", "flops(y))=3", "flops(y,y) = 3", "flops (y) = 2NDF",
    "flops(flops(y)) = 3", "params! = 3", "N -> oo => flops(y) -> oo", "flops(y) never", "params always",
    "params = 3 at params = 3", "params = DF at flops(y) = 3", "argmin(flops(y), y) = 1",
    "limit(params, W1 -> oo) = 3", "sum(params(W1), W1, 1, 3) = 3", "-params < 0",
    "flops(y)/(params - 2DF) = 3", "2^params = 3", "sqrt(flops(h)) = 3", "T_steps(h) = 3", "saved = 3",
    "y = 3", "size = 3", "bf16 = 2", "= params", "params =", "params = params = params",
]  # fmt: skip


@pytest.mark.thorough
def test_odd_claims_are_judged_and_nothing_breaks():
    found = judged(MLP, *ODD)
    assert len(found) == len(ODD)
    assert {j.verdict for j in found} <= {"holds", "wrong", "undecided", "unreadable"}
    report = sr.verify({"operation": MLP, "claims": ODD})
    for lang in ("en", "ko", "zh"):
        assert report.to_text(lang=lang)
        assert report.to_markdown(lang=lang)


@pytest.mark.thorough
def test_one_chip_is_taken_for_all_of_them():
    split = "mesh Y on ICI\ninput x: bf16[B, D_Y]\nweight W1: bf16[D, F_Y]\nweight W2: bf16[F_Y, D]\nh = x * W1 -> bf16[B, F_Y]\na = relu(h)\ny = a * W2 -> bf16[B, D_Y]"
    assert (
        verdicts(
            split, "flops = 4BDF", "flops_per_chip = 4BDF/Y", "params = 2DF", "chips = Y", "T_math = 4BDF/(Y peak)"
        )
        == ["holds"] * 5
    )
    assert verdicts(split, "flops = 4BDF/Y", "flops_per_chip = 4BDF") == ["wrong"] * 2
