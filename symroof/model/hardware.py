"""Chips: named figures with their sources. A figure that is missing is an error, never a guess."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from fractions import Fraction

from symroof.errors import ModelError, suggestion
from symroof.formula import Frozen
from symroof.model.dtype import BY_NAME, Dtype

# What errors call a chip that has no title.
UNNAMED = "the given chip"
# The parts that have a name in formulas, beside figures: cycles in a second, cores of a chip, chips of a host and of a pod;
# and those whose names are words of a text, where they stand for nothing else.
SPOKEN_PARTS = ("clock", "cores", "host.chips", "pod.chips", "lanes", "rows", "columns", "units", "slots")
WORDS_OF_TEXTS = SPOKEN_PARTS[4:]
# What people call links too.
SPELLINGS = {"IB": "InfiniBand", "NDR": "InfiniBand", "HDR": "InfiniBand", "NVSWITCH": "NVLink"}


class Known(Frozen):
    """A figure: its exact value in base units, the digits it was read with, and where it comes from."""

    value: Fraction
    digits: str
    unit: str
    source: str = "given"
    alternatives: tuple[Known, ...] = ()


class Accelerator(Frozen):
    """A chip. A mesh axis closes to a ring where its size is a multiple of ``wraparound``; None: every axis is a line.
    A switch of NVLink joins ``domain`` chips; None: nobody says how many. ``parts`` are what it is made of, and how
    many chips a host and a pod have; what follows of them is a figure. ``after`` is the chip that it followed."""

    name: str
    title: str
    figures: Mapping[str, Known]
    aliases: tuple[str, ...] = ()
    wraparound: Known | None = None
    domain: Known | None = None
    parts: Mapping[str, Known] = field(default_factory=dict)
    after: str = ""

    def __repr__(self) -> str:
        return f"<{self.title}: {len(self.figures)} figures>"

    @property
    def unnamed(self) -> bool:
        """Whether it is a table of figures to which nobody gave a title."""
        return self.title == UNNAMED

    def given(self, overrides: Mapping[str, Known]) -> Accelerator:
        """The same chip with other figures, or more of them."""
        return replace(self, figures={**self.figures, **overrides})

    @property
    def spoken(self) -> Mapping[str, Known]:
        """The figures, and those parts that formulas and claims can speak of by a name of their own."""
        return {**{name: self.parts[name] for name in self.spoken_parts}, **self.figures}

    @property
    def spoken_parts(self) -> list[str]:
        """The parts that have a name of their own in formulas."""
        return [name for name in SPOKEN_PARTS if name in self.parts and name not in self.figures]

    def figure(self, name: str, hint: str | None = None) -> Known:
        if name not in self.spoken:
            known = ", ".join(self.figures) or "nothing"
            raise ModelError(
                f"{self.title} has no figure {name}",
                expected=f"one of {known}",
                hint=hint or meant(name, self.figures) or f"say --given {name}=…",
            )
        return self.spoken[name]

    def peak(self, compute: Dtype | None, *, vector: bool = False) -> tuple[str, Known]:
        """The peak that the arithmetic runs at, and the name of that figure; ``peak`` itself overrides it.

        Work of the vector unit runs at the rate of that unit for its dtype; up to 32 bits ``peak.vector`` is that of all.
        Where the chip has no such figure, the matrix unit stands in.
        """
        if "peak" in self.figures:
            return "peak", self.figures["peak"]
        of_unit = (f"peak.vector.{compute}", *(("peak.vector",) if compute is None or compute.bits <= 32 else ()))
        for name in of_unit if vector else ():
            if name in self.figures:
                return name, self.figures[name]
        if compute is None:
            raise ModelError("the operation does not say what it computes in", hint="say --compute bf16")
        name = f"peak.{compute}"
        others = ", ".join(f[5:] for f in self.figures if f.startswith("peak.") and f[5:] in BY_NAME)
        hint = f"say --given peak=… or --compute ({others})" if others else "say --given peak=…"
        return name, self.figure(name, hint)

    @property
    def links(self) -> tuple[str, ...]:
        """The memories and links that have a bandwidth here."""
        return tuple(name for name, known in self.figures.items() if known.unit == "bytes/s")

    @property
    def closing(self) -> int | None:
        """The number of chips whose multiples close a mesh axis to a ring."""
        return int(self.wraparound.value) if self.wraparound else None


def meant(name: str, known: Iterable[str]) -> str | None:
    """``did you mean …?`` for the name of a figure or a link, None where nothing is near.

    >>> meant("ib", ["NVLink", "InfiniBand"])
    'did you mean InfiniBand?'
    """
    return suggestion(SPELLINGS.get(name.upper(), name), known)
