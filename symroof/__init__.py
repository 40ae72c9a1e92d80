"""symroof: symbolic roofline derivations, written step by step and proved line by line.

>>> import symroof as sr
>>> sr.derive("bf16[B, D] * bf16[D, F] -> bf16[B, F]", on="tpu-v5e", assume="B << D, F").answer.rule_bound
9850/41
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what type checkers and editors see; nothing of it is imported before it is asked for
    from symroof.api.authoring import build as build, verify as verify
    from symroof.api.deriving import (
        derive as derive,
        dimensions as dimensions,
        list_chips as list_chips,
        operation as operation,
    )
    from symroof.api.exploring import compare as compare, page as page, plot as plot, regimes as regimes, sweep as sweep
    from symroof.derivation.pipeline import Derivation as Derivation
    from symroof.errors import SymroofError as SymroofError
    from symroof.model.given_costs import Operation as Operation
    from symroof.model.problem import Problem as Problem
    from symroof.proof.step import Reason as Reason, Step as Step
    from symroof.tracing.tracer import trace as trace
    from symroof.verification.verdicts import Judgement as Judgement

__version__ = "0.1.0"

# Where the public names live; nothing is imported before it is asked for.
_ROOMS = {
    "symroof.api.deriving": ("derive", "operation", "list_chips", "dimensions"),
    "symroof.api.exploring": ("regimes", "compare", "sweep", "plot", "page"),
    "symroof.api.authoring": ("verify", "build"),
    "symroof.model.given_costs": ("Operation",),
    "symroof.model.problem": ("Problem",),
    "symroof.derivation.pipeline": ("Derivation",),
    "symroof.verification.verdicts": ("Judgement",),
    "symroof.proof.step": ("Step", "Reason"),
    "symroof.tracing.tracer": ("trace",),
    "symroof.errors": ("SymroofError",),
}
_PUBLIC = {name: room for room, names in _ROOMS.items() for name in names}
__all__ = [*_PUBLIC]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'symroof' has no attribute {name!r}")
    return getattr(import_module(_PUBLIC[name]), name)


def __dir__() -> list[str]:
    return [*_PUBLIC, "__version__"]
