"""A fault in whatever function a derivation calls: what comes out is refused, or nothing in it is false.

The functions are found by running the request; one leaf of the first result of each is changed. An answer that still comes
out is held against the steps of the derivation without a fault: all that it says, they say.
"""

import json
import os
from pathlib import Path
from random import Random

import pytest
from faults import REQUESTS, Endless, answer, called, ending, listening, outcome, put
from test_gate import _nothing_is_remembered, forget  # noqa: F401 (a fixture)

import symroof as sr
from symroof.api import judged_file
from symroof.errors import CheckError, SymroofError
from symroof.rendering.records.audit import Audit
from symroof.verification import judge, links
from symroof.verification.attestation import attested

ROOMS = ("symroof.algebra", "symroof.derivation", "symroof.model")
OPTIONS = {
    "operation": "bf16[B, D] * bf16[D, F] -> bf16[B, F]",
    "on": "tpu-v5e",
    "assume": "B << D, F",
    "at": "D=F=8192",
}
# What comes out otherwise and is no less true, and what is given.
KNOWN = {
    "symroof.algebra.inequality._sign": "a condition in another form, proved to be the same",
    "symroof.derivation.times.chosen_sizes": "rows at other sizes",
    "symroof.derivation.times._power_of_two": "rows at other sizes",
    "symroof.derivation.times._rows": "rows at other sizes",
    "symroof.algebra.rounding.magnitude": "another number of digits",
    "symroof.model.dtype.dtype": "how wide an element is: given, and stated a second time in tests/test_table_faults.py",
    "symroof.model.program.Program.of": "the operation itself: another problem is derived",
    "symroof.model.einsum.Einsum.split_over": "the operation itself: another problem is derived",
    "symroof.derivation.setting._work": "hands over the problem with its regime: another one is derived",
    "symroof.derivation.setting._told_once": "hands over the sizes that are put in: other ones are derived",
    "symroof.derivation.setting._rated": "hands over the problem with its regime: another one is derived",
}


@pytest.mark.thorough
@pytest.mark.parametrize("part", range(6))
def test_a_fault_anywhere_says_nothing_false(part):
    honest = sr.derive(**OPTIONS)
    audit, seen = Audit(honest.written, honest.setting), []

    def request():
        seen.append(sr.derive(**OPTIONS).to_json())
        return seen[-1]

    right = request()
    functions = sorted(f for f in called(request) if f[0].startswith(ROOMS))
    told, false = {"refused": 0, "crashed": 0, "unchanged": 0, "changed": 0}, []
    for module, name in functions[part::6]:
        with pytest.MonkeyPatch.context() as patch:
            forget()
            if f"{module}.{name}" in KNOWN:
                continue
            done = put(module, name, Random(f"{part} {name}"), patch)
            came = outcome(request, right)
        if not done:
            continue  # nothing in its result could be changed
        told[came] += 1
        if came == "changed":
            try:
                audit.require(json.loads(seen[-1])["answer"])
            except CheckError as error:
                false.append((module, name, str(error)))
    assert false == []
    assert told["refused"] > 5, told


# What a fault in any function comes to: without reports of verify, of which the next test asks, and without the map of one
# expression, which has no problem: where a fault asks for another one, nothing can decide it again.
ANSWERED = [
    name
    for name in REQUESTS
    if name not in ("verify", "verify_wrong", "claims", "regimes_of", "document", "operations", "hardware")
]
GIVEN = ("symroof.reading", "symroof.cli", "symroof.errors")
PARTS, FAULTS = 4, 24
# What is given: another problem is answered, and stands on the page. Or what is said is true, and proved, of other places.
OTHER = KNOWN | {
    "symroof.model.einsum.Einsum.tensors": "the operation itself",
    "symroof.model.program.Program.split_over": "the operation itself",
    "symroof.model.program_text.rewritten": "the operation itself",
    "symroof.model.backward.in_training": "the operation itself",
    "symroof.model.library.Entry.build": "the operation itself",
    "symroof.derivation.setting.Setting.over_network": "which condition is asked for",
    "symroof.derivation.answer.Said.threshold": "what is said where a guard fails, of a part of those sizes",
    "symroof.derivation.answer.Said.whole": "rows at other sizes; who prints it is audited (the test above has it)",
    "symroof.algebra.approximation.within": "it is within 5 % from 41 B on as well",
}


@pytest.mark.thorough
@pytest.mark.parametrize("part", range(PARTS))
def test_a_fault_in_any_function_says_nothing_false(part, tmp_path, monkeypatch):
    """What comes out otherwise is said by a step without the fault, or by one that is decided again to be true. Another
    draw: SYMROOF_FAULTS=7 pytest tests/test_faults.py"""
    monkeypatch.chdir(Path(__file__).parent.parent)
    draw = Random(f"{os.environ.get('SYMROOF_FAULTS', 24)} {part}")
    right, honest, callers = {}, {}, {}
    for name in ANSWERED[part::PARTS]:
        with listening() as honest[name]:
            right[name] = answer(REQUESTS[name], tmp_path)
        forget()
        for function in called(lambda name=name: answer(REQUESTS[name], tmp_path)):
            callers.setdefault(function, []).append(name)
    functions = sorted(one for one in callers if not one[0].startswith(GIVEN) and ".".join(one) not in OTHER)
    told, false = {"refused": 0, "crashed": 0, "unchanged": 0, "changed": 0}, []
    for module, name in draw.sample(functions, min(FAULTS, len(functions))):
        request = draw.choice(sorted(callers[module, name]))
        forget()
        with pytest.MonkeyPatch.context() as patch, listening() as said:
            done = put(module, name, draw, patch)
            came = outcome(lambda request=request: answer(REQUESTS[request], tmp_path), right[request])
        if not done:
            continue
        told[came] += 1
        forget()
        if came == "changed":
            try:
                said.require_true(honest[request])
            except SymroofError as error:
                false.append((request, module, name, str(error)))
    assert false == []
    assert sum(told.values()) > 10, told
    assert told["refused"], told


# What claims are read from, or judged against, is given: another problem stands on the page. The judge and
# the chapters hand over what was attested, to which nothing comes but a unit and a diagnosis: a change on that way stays.
HANDED = (
    "symroof.verification.judge.",
    "symroof.verification.chapters.",
    "symroof.verification.diagnosis.",
    "symroof.verification.readings.",
    "symroof.verification.attestation.attested",
)
READ = ("symroof.reading", "symroof.cli", "symroof.errors", "symroof.formula", "symroof.api", *HANDED)
JUDGEMENTS = 10
ANOTHER = OTHER | {
    "symroof.model.dtype.Tensor.labels": "the operation itself",
    "symroof.verification.definitions.counted_again": "hands over the counts after they were proved",
    "symroof.verification.definitions.context_of": "hands over what names mean after they were proved",
    "symroof.verification.definitions._of_model": "hands over what times mean after they were proved",
    "symroof.verification.steps.of_the_unknown": "hands over what is asked: another claim is judged",
    "symroof.verification.links.decide": "hands over what was attested",
    "symroof.verification.links._of_any_times": "hands over what was attested",
    "symroof.verification.links._with_exact_count": "hands over what was attested",
    "symroof.verification.context.Context.assuming": "hands over what is asked: another claim is judged",
    "symroof.verification.context.Context.question": "hands over what is asked: another claim is judged",
    "symroof.verification.context.Context._weighed": "hands over what is asked: another claim is judged",
    "symroof.verification.context.Context.expanded": "hands over what is asked: another claim is judged",
}
JUDGED = ("examples/rooflines.md", "examples/rooflines-mistakes.md", "examples/answers.toml")
RANK = ("wrong", "conditional", "rounded", "holds")


@pytest.mark.thorough
@pytest.mark.parametrize("file", JUDGED)
def test_a_fault_in_any_function_accepts_nothing_false(file, monkeypatch):
    """No claim gets a better verdict, and no right one is called wrong; what else a report says of it is so at points, as the
    question without the fault has it. A block or a claim that is refused is an error of the report."""
    monkeypatch.chdir(Path(__file__).parent.parent)
    asked, decide = {}, links.decide

    def noted(question):
        asked.setdefault(question.link, []).append(question)
        return decide(question)

    def place(judgement):
        return judgement.line, judgement.column, judgement.problem, judgement.claim, judgement.source

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(judge, "decide", noted)
        honest = {place(one): one for one in judged_file(file).judgements}
    forget()
    draw = Random(f"{os.environ.get('SYMROOF_FAULTS', 24)} {file}")
    functions = sorted(
        f for f in called(lambda: judged_file(file)) if not ".".join(f).startswith(READ) and ".".join(f) not in ANOTHER
    )
    told, false = {"refused": 0, "crashed": 0, "reported": 0}, []
    for module, name in draw.sample(functions, JUDGEMENTS):
        forget()
        with pytest.MonkeyPatch.context() as patch:
            done = put(module, name, draw, patch)
            try:
                with ending():
                    said = judged_file(file).judgements
            except SymroofError:
                told["refused"] += bool(done)
                continue
            except (Exception, Endless):
                told["crashed"] += bool(done)
                continue
        forget()
        if not done or any(place(one) not in honest for one in said):
            told["refused"] += bool(done)
            continue
        told["reported"] += 1
        false += [
            (module, name, one.claim, honest[place(one)].verdict, one.verdict)
            for one in said
            if _is_false(one, honest[place(one)], asked)
        ]
    assert false == []
    assert sum(told.values()) > 4, told
    assert told["reported"], told


def _is_false(said, honest, asked):
    """Whether a judgement says what the honest one does not, and what is not so at points."""
    known = [(one.link, one.verdict, one.value, one.counterexample) for one in honest.findings]
    if said.verdict not in RANK or all(
        (one.link, one.verdict, one.value, one.counterexample) in known for one in said.findings
    ):
        return False  # a link that is not judged is listed as such
    if honest.verdict in RANK:
        better = RANK.index(said.verdict) > RANK.index(honest.verdict)
        if better or (said.verdict == "wrong" and honest.verdict != "wrong"):
            return True
    new = [one for one in said.findings if one not in honest.findings and one.verdict != "undecided"]
    return any(all(attested(one, question) is not one for question in asked.get(one.link, ())) for one in new)


@pytest.mark.thorough
@pytest.mark.parametrize("name", REQUESTS)
def test_a_request_says_the_same_again_when_nothing_is_remembered(name, tmp_path, monkeypatch):
    """What a fault is compared with: an answer that does not depend on what was asked before."""
    monkeypatch.chdir(Path(__file__).parent.parent)
    said = answer(REQUESTS[name], tmp_path)
    forget()
    assert said.strip()
    assert answer(REQUESTS[name], tmp_path) == said
