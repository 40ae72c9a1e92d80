"""Nothing that a program keeps busy is left unsaid: a producer that loses some of it is refused."""

from dataclasses import replace
from fractions import Fraction

import pytest
from test_gate import _nothing_is_remembered  # noqa: F401 (a fixture)

import symroof as sr
import symroof.algebra.roots as roots
import symroof.derivation.counting as counting
import symroof.derivation.mesh_sections as per_chip
import symroof.derivation.pipeline as pipeline
import symroof.derivation.premises as setting
import symroof.derivation.times as schedules
from symroof.derivation.drafts import Draft
from symroof.errors import CheckError, SymroofError
from symroof.model import chip_costs, program_quantities

MESHED = "mesh G=8 on NVLink; mesh M=4 on InfiniBand; input x: bf16[B_M, D]; weight W: bf16[D, F_G]; weight U: bf16[F_G, E]; h = x*W -> bf16[B_M, F_G]; y = h*U -> bf16[B_M, E]"
TRAINING = {"operation": MESHED, "on": "h100", "training": True}
PRODUCT = {"operation": "bf16[B, D_X] * bf16[D_X, F] -> bf16[B, F]", "on": "tpu-v5p", "mesh": {"X": 4}}
SQUARE = {"operation": "bf16[B, D] * bf16[D, F] -> bf16[B, F]", "on": "tpu-v5e", "assume": "B = D"}
CUBIC = sr.Operation("cubic", flops=lambda N: N**3, reads=lambda N: N, writes=lambda N: N + 1)
CUBIC = {"operation": CUBIC, "compute": "bf16", "on": "tpu-v5e"}


LORA = "input x: bf16[B, D]; frozen weight W: bf16[D, F]; weight A: bf16[D, F]; h = x * W -> bf16[B, F]; a = x * A -> bf16[B, F]; y = h + a"
LORA = {"operation": LORA, "on": "h100", "training": True}
MASKED = {"operation": "causal-attention", "on": "h100"}
rates_of, busy_links, add = setting.rates_of, chip_costs.busy_links, Draft.add


def loses(**lost):
    return lambda m: m.setattr(setting, "rates_of", lambda *a, **k: replace(rates_of(*a, **k), **lost))


def a_link_less(m):
    m.setattr(setting, "rates_of", lambda *a, **k: replace(found := rates_of(*a, **k), links=found.links[:-1]))


def a_link_is_not_busy(m):
    for module in (program_quantities, per_chip, schedules, setting):
        m.setattr(module, "busy_links", lambda program: busy_links(program)[:-1], raising=False)


def silent(section):
    return lambda m: m.setattr(pipeline, section, lambda draft: draft)


def no_exchanges(m):
    for module in (per_chip, counting):
        m.setattr(module, "exchanges_of_chips", lambda draft, program: draft, raising=False)


def uncounted(what):
    """A producer that leaves out every line of one kind."""

    def kept(steps):
        return (step for step in steps if what not in (step.role, step.reason.name))

    return lambda m: m.setattr(Draft, "add", lambda self, *steps: add(self, *kept(steps)))


MLP, AT_SIZES = {"operation": "mlp", "on": "tpu-v5e"}, {"at": "B=8,D=64,F=64"}
FAULTS = {
    "no link": (loses(links=()), TRAINING),
    "no link of a product": (loses(links=()), PRODUCT),
    "a link less": (a_link_less, TRAINING),
    "a link is not busy": (a_link_is_not_busy, TRAINING),
    "no exchanges": (no_exchanges, TRAINING),
    "no vector unit": (loses(vector=None), {"operation": "decoder-layer", "on": "h100"}),
    "a memory that it is not": (loses(memory="VMEM"), PRODUCT),
    "no resources": (silent("resources"), TRAINING),
    "no threshold": (silent("threshold"), PRODUCT),
    "no threshold of a square": (silent("threshold"), SQUARE),
    "no time": (silent("time"), MLP),
    "no sizes": (silent("conditions_at_sizes"), {**MLP, "at": "B=64,D=F=8192"}),
    "wide roots": (lambda m: m.setattr(roots, "WIDTH", Fraction(1)), CUBIC),
    "no params": (uncounted("params"), LORA),
    "no trainable": (uncounted("trainable"), LORA),
    "no trainable at sizes": (uncounted("trainable"), {**LORA, **AT_SIZES}),
    "no number of trainable": (uncounted("number trainable"), {**LORA, **AT_SIZES}),
    "no pairs": (uncounted("PAIRS"), MASKED),
}


@pytest.mark.thorough
@pytest.mark.part(2)
@pytest.mark.parametrize(("fault", "options"), FAULTS.values(), ids=FAULTS)
def test_what_a_producer_loses_is_missed(fault, options, monkeypatch):
    sr.derive(**options)
    fault(monkeypatch)
    with pytest.raises((SymroofError, KeyError, AssertionError)):
        sr.derive(**options)


AT = {"operation": "bf16[B, D] * bf16[D, F] -> bf16[B, F]", "on": "tpu-v5e", "assume": "B << D, F", "at": "D=F=8192"}


@pytest.mark.parametrize("lost", [slice(0, -1), slice(1, None)])
def test_a_step_that_is_lost_or_changed_behind_its_check_is_missed(lost, monkeypatch):
    original = pipeline.summary
    for changed in (lambda done: done.steps[lost], lambda done: (*done.steps[:-1], replace(done.steps[-1], point=7))):
        monkeypatch.setattr(pipeline, "summary", lambda d, c=changed: replace(done := original(d), steps=c(done)))
        with pytest.raises(CheckError, match="not those that were checked"):
            sr.derive(**AT)
