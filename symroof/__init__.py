"""symroof: symbolic roofline derivations, written step by step and proved line by line.

>>> import symroof as sr
>>> sr.derive("bf16[B, D] * bf16[D, F] -> bf16[B, F]", on="tpu-v5e", assume="B << D, F").answer.rule_bound
9850/41
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# Where each public name lives; nothing is imported before it is asked for.
_PUBLIC = {
    "derive": "symroof.api",
    "verify": "symroof.api",
    "regimes": "symroof.api",
    "compare": "symroof.api",
    "sweep": "symroof.api",
    "plot": "symroof.api",
    "operation": "symroof.api",
    "chips": "symroof.api",
    "dimensions": "symroof.api",
    "Operation": "symroof.model.operation",
    "Problem": "symroof.model.problem",
    "Derivation": "symroof.derivation.derivation",
    "Judgement": "symroof.verification.judgement",
    "Step": "symroof.proof.step",
    "Reason": "symroof.proof.step",
    "SymroofError": "symroof.errors",
}
__all__ = [*_PUBLIC]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'symroof' has no attribute {name!r}")
    return getattr(import_module(_PUBLIC[name]), name)


def __dir__() -> list[str]:
    return [*globals(), *_PUBLIC]
