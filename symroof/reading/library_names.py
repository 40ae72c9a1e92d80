"""Operations by name: those of the library, its programs, and the other names that people call them by.

The programs stand in ``programs.toml``, as texts to paste and to change.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from typing import Any

from symroof.errors import ModelError, nearest
from symroof.formula import Frozen
from symroof.model.dtype import Dtype
from symroof.model.library import LIBRARY, Entry
from symroof.reading.toml import read_table

USUAL = "bf16"


class ProgramEntry(Frozen):
    """A program of the library: its text, where it was published, and whether it is one of ``training``."""

    name: str
    source: str
    text: str
    training: bool = False

    def typed(self, element: Dtype | None) -> str:
        """The text with its usual element type, or another: those of indices and of scaled weights stay.

        >>> from symroof.model.dtype import dtype
        >>> programs()["mlp"].typed(dtype("fp8")).splitlines()[0]
        'input  x:      fp8[B, D]'
        """
        return self.text if element is None else self.text.replace(f"{USUAL}[", f"{element}[")


AnyEntry = Entry | ProgramEntry


@lru_cache(maxsize=1)
def programs() -> Mapping[str, ProgramEntry]:
    """The programs of the library, by name."""
    return {
        name: ProgramEntry(name, entry["source"], entry["text"].strip(), entry.get("training", False))
        for name, entry in _shipped().items()
    }


@lru_cache(maxsize=1)
def other_names() -> Mapping[str, str]:
    """What else operations are called, and the names that they have here."""
    from symroof.reading.vocabulary import WORDS

    return {other: name for name, others in WORDS["called"].items() for other in others}


@lru_cache(maxsize=1)
def _shipped() -> Mapping[str, Mapping[str, Any]]:
    text = (files("symroof") / "model" / "programs.toml").read_text("utf-8")
    return read_table(text, "the programs of the library")


def entries() -> Mapping[str, AnyEntry]:
    """The whole library by name: single operations, then programs."""
    return {**LIBRARY, **programs()}


def entry_named(name: str) -> AnyEntry | None:
    """The operation that a name means, in capitals or not, with hyphens or underscores.

    >>> entry_named("Layer_Norm").name, entry_named("swiglu").name, entry_named("nothing")
    ('layer-norm', 'gated-mlp', None)
    """
    folded = name.lower().replace("_", "-")
    return entries().get(other_names().get(folded, folded))


def required(name: str) -> AnyEntry:
    """The operation of that name. Raises :class:`ModelError` with the nearest name where there is none."""
    entry = entry_named(name)
    if entry is None:
        operation = "an operation such as bf16[B, D] * bf16[D, F] -> bf16[B, F]"
        expected = f"{operation}, or a name from `symroof operations`"
        raise ModelError(f"unknown operation {name!r}", expected=expected, hint=suggestion_of(name))
    return entry


def suggestion_of(name: str) -> str | None:
    """``did you mean …?`` with the name that an operation has here.

    >>> suggestion_of("atention")
    'did you mean attention?'
    """
    near = nearest(name, (*entries(), *other_names()))
    return None if near is None else f"did you mean {other_names().get(near, near)}?"
