"""Single changes of the steps of programs: a true line with another value, relation, evidence or fact does not pass."""

from dataclasses import fields, replace
from fractions import Fraction
from functools import cache
from random import Random
from unittest.mock import patch

import pytest
from statements import of_programs
from test_second_engine import copied

import symroof as sr
from symroof.derivation.quantity_definitions import ledger_of
from symroof.errors import SymroofError
from symroof.formula import Formula, Name, Number, Product, Sum
from symroof.proof.check import check, establish
from symroof.proof.step import Evidence, Facts

MLP = "input x: bf16[N, D]; weight W1: bf16[D, F]; weight W2: bf16[F, D]; h = x * W1 -> bf16[N, F]; a = relu(h); y = a * W2 -> bf16[N, D]"
SPLIT = "mesh X, Y on ICI; input x: bf16[B_X, D_Y]; weight W1: bf16[D_X, F_Y]; weight W2: bf16[F_Y, D_X]; h = x * W1 -> bf16[B_X, F_Y]; a = gelu(h); y = a * W2 -> bf16[B_X, D_Y]"
STAGES = "mesh P on ICI; input x: bf16[B, D]; weight W: bf16[D, F]; weight V: bf16[F, D]; accumulate M { repeat L over P as x = y { h = x * W -> bf16[B, F]; a = relu(h); y = a * V -> bf16[B, D] } }"
MLP_ON_CHIPS = (
    "mesh X=4 on ICI; input x: bf16[B_X, D]; weight W: bf16[D_X, F]; weight V: bf16[F_X, D]; "
    "h = x * W -> bf16[B, F_X]; y = h * V -> bf16[B, D]"
)
PROBLEMS = {
    "in stages": (STAGES, {"on": "tpu-v5p", "training": True}),
    "an MLP": (MLP, {"on": "tpu-v5e", "assume": "N << D, F"}),
    "an MLP in training": (MLP, {"on": "tpu-v5p", "training": True}),
    "attention": ("attention", {"on": "tpu-v5e"}),
    "on a mesh": (SPLIT, {"on": "tpu-v5p", "training": True}),
    "with hops": (MLP_ON_CHIPS, {"on": "tpu-v5e", "latency": True}),
}
# Changed one by one in test_optimum.py, test_longest.py, test_sized.py and test_judge_mutants.py, with faults in test_gate.py.
OF_OPTIMA = {"Tokens", "Slope", "RoundedRoot", "Roots", "LeastPlace", "Dividing", "LongestTimeLimit", "Construction"}
TWO = Number(Fraction(2))


@cache
def derived(name):
    """The steps of a derivation, each with the ledger before it."""
    operation, options = PROBLEMS[name]
    found = []

    def recorded(added, ledger):
        done = []
        for step in added:
            before = copied(ledger)
            done += establish([step], ledger)
            found.append((done[-1], before))
        return tuple(done)

    meanings = ledger_of(sr.derive(operation, **options).setting).meanings
    with patch("symroof.derivation.drafts.establish", recorded):
        sr.derive(operation, **options)
    return [(step, ledger) for step, ledger in found if ledger.meanings == meanings]


def others(kind, steps, part):
    return [getattr(step, part) for step, _ in steps if type(getattr(step, part)) is kind]


def changes(step, steps, random):
    """The step with another right side, relation, evidence or fact."""
    yield replace(step, right=Product((TWO, step.right)))
    yield replace(step, right=Sum((step.right, Name(random.choice("BDF")))))
    for relation in {"<", ">", "~", "<=>", "->"} - {step.relation}:
        yield replace(step, relation=relation)
    different = [one for one in others(type(step.evidence), steps, "evidence") if one != step.evidence]
    if different:
        yield replace(step, evidence=random.choice(different))
    if step.facts is None:
        return
    for part in fields(step.facts):
        value = getattr(step.facts, part.name)
        if isinstance(value, Formula):
            yield replace(step, facts=replace(step.facts, **{part.name: Product((TWO, value))}))
        elif isinstance(value, tuple) and value:
            yield replace(step, facts=replace(step.facts, **{part.name: value[1:]}))


@pytest.mark.part(1)
@pytest.mark.parametrize("name", PROBLEMS)
def test_no_change_of_a_counted_line_passes(name):
    random, steps = Random(name), derived(name)
    counted = [(step, ledger) for step, ledger in steps if type(step.evidence).__name__ in of_programs(Evidence)]
    assert len(counted) > 8
    for step, ledger in random.sample(counted, min(len(counted), 24)):
        assert check(step, copied(ledger)).status == "proved"
        for one in changes(step, [(s, b) for s, b in steps if s.left != step.left], random):
            if type(one.evidence).__name__ == "Overlap" and one.relation == step.relation and one.right == step.right:
                continue  # it rests on nothing but the formulas
            with pytest.raises(SymroofError):
                check(one, copied(ledger))


@pytest.mark.thorough
def test_every_kind_is_among_them():
    seen = {
        type(part).__name__ for name in PROBLEMS for step, _ in derived(name) for part in (step.evidence, step.facts)
    }
    assert {*of_programs(Evidence), *of_programs(Facts)} - OF_OPTIMA - {
        "ElementwiseStatement"
    } <= seen  # which is an item of Members
