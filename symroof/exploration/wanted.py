"""Expressions of quantities that are asked for beside the names of an answer: B/T_lower."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from symroof.derivation.meanings import quantities
from symroof.derivation.setting import Setting, setting_of
from symroof.formula import Formula
from symroof.model.problem import Problem
from symroof.model.statement_costs import other_names
from symroof.reading.expressions import read_expression
from symroof.reading.scope import Scope
from symroof.symbols import VALUES

# What looks like the name of a part: threshold, flops(h).
NAME = re.compile(r"\s*([\w.]+)(?:\([\w, ]*\))?\s*")


def is_plain(text: str) -> bool:
    """Whether a text looks like a name alone, and not like a formula.

    >>> [is_plain(text) for text in ("threshold", "flops(h)", "ceil(B)", "B/T_lower")]
    [True, True, False, False]
    """
    found = NAME.fullmatch(text)
    return found is not None and found[1] not in (*VALUES, "log2")


def read_quantity(text: str, setting: Setting) -> Formula:
    """An expression of the sizes, quantities and figures of a problem. Raises :class:`ReadingError` for anything else."""
    problem = setting.problem
    names = (*problem.names, *problem.symbols, *quantities(setting), *setting.known)
    return read_expression(text, Scope(tuple(dict.fromkeys(names))).with_others(other_names(problem.operation)))


def with_expressions(problem: Problem, wanted: Iterable[str]) -> Problem:
    """The problem with a formula for each of the expressions, named as it is written."""
    formulas = [text for text in wanted if not is_plain(text)]
    if not formulas:
        return problem
    setting = setting_of(replace(problem, at=()))
    return replace(problem, let={**problem.let, **{text: read_quantity(text, setting) for text in formulas}})
