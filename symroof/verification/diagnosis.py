"""Diagnosis: the one mistake that would make a wrong claim right.

Every mistake of the table is tried, and the first whose undoing gives a claim that is *proved* is reported. A mistake
that almost fits is not: no diagnosis is better than a guess.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from symroof.errors import SymroofError
from symroof.formula import Compare
from symroof.verification.conditions import confirmed_equivalence
from symroof.verification.context import Context
from symroof.verification.judgement import Finding, Remark
from symroof.verification.links import confirmed
from symroof.verification.slips import (
    binary_prefix,
    factor_two,
    other_extreme,
    other_letter,
    other_unit,
    power_of_ten,
    turned,
    upside_down,
)  # fmt: skip
from symroof.verification.worlds import (
    Trials,
    elements_for_bytes,
    multiply_add,
    not_moved,
    other_figure,
    other_rate,
    other_width,
    rounded_early,
)  # fmt: skip

# In the order in which people would look for them; each name is that of a macro in the templates.
MISTAKES: dict[str, Callable[[Compare, Context], Trials]] = {
    "turned": turned,
    "other_extreme": other_extreme,
    "other_unit": other_unit,
    "elements_for_bytes": elements_for_bytes,
    "not_moved": not_moved,
    "other_figure": other_figure,
    "other_rate": other_rate,
    "multiply_add": multiply_add,
    "other_width": other_width,
    "factor_two": factor_two,
    "other_letter": other_letter,
    "rounded_early": rounded_early,
    "power_of_ten": power_of_ten,
    "binary_prefix": binary_prefix,
    "upside_down": upside_down,
}


def diagnosed(finding: Finding, context: Context) -> Finding:
    """The finding with its diagnosis, where it is wrong and a mistake explains it."""
    if finding.verdict != "wrong" or not isinstance(finding.link, Compare) or finding.by == "units":
        return finding
    for kind, trials in MISTAKES.items():
        for trial in trials(finding.link, context):
            if _right(trial.link, trial.context):
                return replace(finding, diagnosis=Remark(kind, trial.facts))
    return finding


def _right(link: Compare, context: Context) -> bool:
    try:
        found = confirmed_equivalence(link, context) if link.relation in ("<=>", "=>") else confirmed(link, context)
    except (SymroofError, RecursionError):
        return False
    return found is not None
