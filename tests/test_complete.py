"""Nothing that a program keeps busy is left unsaid: a producer that loses some of it is refused."""

from dataclasses import replace
from fractions import Fraction

import pytest
from test_gate import _nothing_is_remembered  # noqa: F401 (a fixture)

import symroof as sr
import symroof.algebra.roots as roots
import symroof.derivation.per_chip as per_chip
import symroof.derivation.pipeline as pipeline
import symroof.derivation.schedules as schedules
import symroof.derivation.setting as setting
import symroof.model.statement_costs as statement_costs
from symroof.derivation.draft import Draft
from symroof.errors import CheckError, SymroofError

MESHED = "mesh G=8 on NVLink; mesh M=4 on InfiniBand; input x: bf16[B_M, D]; weight W: bf16[D, F_G]; weight U: bf16[F_G, E]; h = x*W -> bf16[B_M, F_G]; y = h*U -> bf16[B_M, E]"
TRAINING = {"operation": MESHED, "on": "h100", "training": True}
PRODUCT = {"operation": "bf16[B, D_X] * bf16[D_X, F] -> bf16[B, F]", "on": "tpu-v5p", "mesh": {"X": 4}}
SQUARE = {"operation": "bf16[B, D] * bf16[D, F] -> bf16[B, F]", "on": "tpu-v5e", "assume": "B = D"}
CUBIC = {
    "operation": sr.Operation("cubic", flops=lambda N: N**3, reads=lambda N: N, writes=lambda N: N + 1),
    "compute": "bf16",
    "on": "tpu-v5e",
}


def lost_in_the_rates(m, **lost):
    original = setting.rates_of
    m.setattr(setting, "rates_of", lambda *a, **k: replace(original(*a, **k), **lost))


def no_link(m):
    lost_in_the_rates(m, links=())


def a_link_less(m):
    original = setting.rates_of
    m.setattr(setting, "rates_of", lambda *a, **k: replace(found := original(*a, **k), links=found.links[:-1]))


def a_link_is_not_busy(m):
    for module in (statement_costs, per_chip, schedules, setting):
        if hasattr(module, "busy_links"):
            m.setattr(module, "busy_links", lambda program: statement_costs_busy(program)[:-1])


statement_costs_busy = statement_costs.busy_links


def no_vector_unit(m):
    lost_in_the_rates(m, vector=None)


def a_memory_that_it_is_not(m):
    lost_in_the_rates(m, memory="VMEM")


def nothing_is_said(section):
    def fault(m):
        m.setattr(pipeline, section, lambda draft: draft)

    fault.__name__ = f"no_{section}"
    return fault


def no_exchanges(m):
    m.setattr(per_chip, "exchanges_of_chips", lambda draft, program: draft)
    import symroof.derivation.counting as counting

    if hasattr(counting, "exchanges_of_chips"):
        m.setattr(counting, "exchanges_of_chips", lambda draft, program: draft)


def nothing_counted(reason):
    """A producer that leaves out every line of one kind."""

    def fault(m):
        honest = Draft.add
        m.setattr(
            Draft,
            "add",
            lambda self, *steps: honest(self, *(s for s in steps if s.role != reason and s.reason.name != reason)),
        )

    fault.__name__ = f"no_{reason}"
    return fault


LORA = {
    "operation": "input x: bf16[B, D]; frozen weight W: bf16[D, F]; weight A: bf16[D, F]; h = x * W -> bf16[B, F]; a = x * A -> bf16[B, F]; y = h + a",
    "on": "h100",
    "training": True,
}
MASKED = {"operation": "causal-attention", "on": "h100"}


def wide_roots(m):
    m.setattr(roots, "WIDTH", Fraction(1))


FAULTS = [
    (no_link, TRAINING),
    (no_link, PRODUCT),
    (a_link_less, TRAINING),
    (a_link_is_not_busy, TRAINING),
    (no_exchanges, TRAINING),
    (no_vector_unit, {"operation": "decoder-layer", "on": "h100"}),
    (a_memory_that_it_is_not, PRODUCT),
    (nothing_is_said("resources"), TRAINING),
    (nothing_is_said("threshold"), PRODUCT),
    (nothing_is_said("threshold"), SQUARE),
    (nothing_is_said("time"), {"operation": "mlp", "on": "tpu-v5e"}),
    (nothing_is_said("at"), {"operation": "mlp", "on": "tpu-v5e", "at": "B=64,D=F=8192"}),
    (wide_roots, CUBIC),
    (nothing_counted("params"), LORA),
    (nothing_counted("trainable"), LORA),
    (nothing_counted("trainable"), {**LORA, "at": "B=8,D=64,F=64"}),
    (nothing_counted("number trainable"), {**LORA, "at": "B=8,D=64,F=64"}),
    (nothing_counted("PAIRS"), MASKED),
]


@pytest.mark.thorough
@pytest.mark.part(2)
@pytest.mark.parametrize(("fault", "options"), FAULTS, ids=lambda one: getattr(one, "__name__", ""))
def test_what_a_producer_loses_is_missed(fault, options, monkeypatch):
    sr.derive(**options)
    fault(monkeypatch)
    with pytest.raises((SymroofError, KeyError, AssertionError)):
        sr.derive(**options)


AT = {"operation": "bf16[B, D] * bf16[D, F] -> bf16[B, F]", "on": "tpu-v5e", "assume": "B << D, F", "at": "D=F=8192"}


@pytest.mark.parametrize("lost", [slice(0, -1), slice(1, None)])
def test_a_step_that_is_lost_or_changed_behind_its_check_is_missed(lost, monkeypatch):
    original = pipeline.summary
    with monkeypatch.context() as m:
        m.setattr(pipeline, "summary", lambda draft: replace(done := original(draft), steps=done.steps[lost]))
        with pytest.raises(CheckError, match="not those that were checked"):
            sr.derive(**AT)
    with monkeypatch.context() as m:
        m.setattr(
            pipeline,
            "summary",
            lambda draft: replace(done := original(draft), steps=(*done.steps[:-1], replace(done.steps[-1], point=7))),
        )
        with pytest.raises(CheckError, match="not those that were checked"):
            sr.derive(**AT)
