"""The section on the machine: its ridge, and what compute-bound means there."""

from __future__ import annotations

from symroof.derivation.draft import BANDWIDTH, INTENSITY, PEAK, RIDGE, T_COMMS, T_MATH, Draft, rounded
from symroof.formula import Compare, Name, Quotient
from symroof.proof.step import Reason, Step


def ridge(draft: Draft) -> Draft:
    """The intensity at which arithmetic and transfer take the same time."""
    setting = draft.setting
    times = (Quotient(Name(setting.flops_name), PEAK), Quotient(Name(setting.moved_name), BANDWIDTH))
    steps = [
        Step("ridge", Reason.DEFINE_TIMES, T_MATH, "=", times[0]),
        Step("ridge", Reason.DEFINE_TIMES, T_COMMS, "=", times[1]),
        Step("ridge", Reason.RIDGE, RIDGE, "=", Quotient(PEAK, BANDWIDTH)),
    ]
    if setting.digits:
        steps.append(Step("ridge", Reason.FIGURES, RIDGE, "=", draft.in_digits(Quotient(PEAK, BANDWIDTH))))
    if setting.ridge is not None:
        steps.append(Step("ridge", Reason.FIGURES, RIDGE, "=", draft.write(setting.ridge), role="ridge"))
        steps += rounded("ridge", RIDGE, setting.ridge)
    same, quotients, sides = (Compare(a, ">", b) for a, b in ((T_MATH, T_COMMS), times, (INTENSITY, RIDGE)))
    return draft.add(
        *steps,
        Step("ridge", Reason.COMPARE_TIMES, same, "<=>", quotients),
        Step("ridge", Reason.COMPARE_INTENSITY, same, "<=>", sides),
    )
