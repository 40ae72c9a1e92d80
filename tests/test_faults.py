"""A fault in whatever function a derivation calls: what comes out is refused, or nothing in it is false.

The functions are found by running the request; one leaf of the first result of each is changed. An answer that still comes
out is held against the steps of the derivation without a fault: all that it says, they say.
"""

import json
import os
from pathlib import Path
from random import Random

import pytest
from faults import REQUESTS, answer, called, listening, outcome, put
from test_gate import _nothing_is_remembered, forget  # noqa: F401 (a fixture)

import symroof as sr
from symroof.errors import CheckError, SymroofError
from symroof.rendering.records.audit import Audit

ROOMS = ("symroof.algebra", "symroof.derivation", "symroof.model")
OPTIONS = {"operation": "bf16[B, D] * bf16[D, F] -> bf16[B, F]", "on": "tpu-v5e", "assume": "B << D, F", "at": "D=F=8192"}
# What comes out otherwise and is no less true, and what is given.
KNOWN = {
    "symroof.algebra.inequality._sign": "a condition in another form, proved to be the same",
    "symroof.derivation.times.chosen_sizes": "rows at other sizes",
    "symroof.derivation.times._power_of_two": "rows at other sizes",
    "symroof.algebra.rounding.magnitude": "another number of digits",
    "symroof.model.dtype.dtype": "how wide an element is: given, and stated a second time in tests/test_table_faults.py",
    "symroof.model.einsum.Einsum.split_over": "the operation itself: another problem is derived",
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


# What a fault in any function comes to: without reports of verify, of which tests/test_gate.py asks that nothing false is accepted.
ANSWERED = [name for name in REQUESTS if name not in ("verify", "verify_wrong", "claims", "document", "operations", "hardware")]
GIVEN = ("symroof.reading", "symroof.cli", "symroof.errors")
PARTS, FAULTS = 4, 40
# What is given: another problem is answered, and stands on the page.
OTHER = {
    "symroof.model.dtype.dtype": "how wide an element is",
    "symroof.model.einsum.Einsum.tensors": "the operation itself",
    "symroof.model.retyping.rewritten": "the operation itself",
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
    assert told["refused"] > 5, told


@pytest.mark.thorough
@pytest.mark.parametrize("name", REQUESTS)
def test_a_request_says_the_same_again_when_nothing_is_remembered(name, tmp_path, monkeypatch):
    """What a fault is compared with: an answer that does not depend on what was asked before."""
    monkeypatch.chdir(Path(__file__).parent.parent)
    said = answer(REQUESTS[name], tmp_path)
    forget()
    assert said.strip()
    assert answer(REQUESTS[name], tmp_path) == said
