"""Chips: named figures with their sources. A figure that is missing is an error, never a guess."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from fractions import Fraction

from symroof.errors import ModelError, suggestion
from symroof.formula import Frozen
from symroof.model.collectives import NETWORKS
from symroof.model.tensor_types import BY_NAME, Dtype

# What errors call a chip that has no title.
UNNAMED = "the given chip"
# The parts that have a name in formulas, beside figures: cycles in a second, cores of a chip, chips of a host and of a pod;
# and those whose names are words of a text, where they stand for nothing else.
SPOKEN_PARTS = ("clock", "cores", "host.chips", "pod.chips", "lanes", "rows", "columns", "units", "slots")
WORDS_OF_TEXTS = SPOKEN_PARTS[4:]
# What people call links too.
SPELLINGS = {"IB": "InfiniBand", "NDR": "InfiniBand", "HDR": "InfiniBand", "NVSWITCH": "NVLink"}


class Spec(Frozen):
    """A figure: its exact value in base units, the digits it was read with, and where it comes from."""

    value: Fraction
    digits: str
    unit: str
    source: str = "given"
    alternatives: tuple[Spec, ...] = ()


class Accelerator(Frozen):
    """A chip. A mesh axis closes to a ring where its size is a multiple of ``wraparound``; None: every axis is a line.
    A switch of NVLink joins ``domain`` chips; None: nobody says how many. ``parts`` are what it is made of, and how
    many chips a host and a pod have; what follows of them is a figure. ``after`` is the chip that it followed."""

    name: str
    title: str
    figures: Mapping[str, Spec]
    aliases: tuple[str, ...] = ()
    wraparound: Spec | None = None
    domain: Spec | None = None
    parts: Mapping[str, Spec] = field(default_factory=dict)
    after: str = ""

    def __repr__(self) -> str:
        return f"<{self.title}: {len(self.figures)} figures>"

    @property
    def unnamed(self) -> bool:
        """Whether it is a table of figures to which nobody gave a title."""
        return self.title == UNNAMED

    def given(self, overrides: Mapping[str, Spec]) -> Accelerator:
        """The same chip with other figures, or more of them."""
        return replace(self, figures={**self.figures, **overrides})

    @property
    def spoken(self) -> Mapping[str, Spec]:
        """The figures, and those parts that formulas and claims can speak of by a name of their own."""
        return {**{name: self.parts[name] for name in self.spoken_parts}, **self.figures}

    @property
    def spoken_parts(self) -> list[str]:
        """The parts that have a name of their own in formulas."""
        return [name for name in SPOKEN_PARTS if name in self.parts and name not in self.figures]

    def figure(self, name: str, hint: str | None = None) -> Spec:
        if name not in self.spoken:
            names = ", ".join(self.figures) or "nothing"
            raise ModelError(
                f"{self.title} has no figure {name}",
                expected=f"one of {names}",
                hint=hint or nearest_name(name, self.figures) or f"say --given {name}=…",
            )
        return self.spoken[name]

    def peak(self, compute: Dtype | None, *, vector: bool = False) -> tuple[str, Spec]:
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
        dtypes = ", ".join(f[5:] for f in self.figures if f.startswith("peak.") and f[5:] in BY_NAME)
        hint = f"say --given peak=… or --compute ({dtypes})" if dtypes else "say --given peak=…"
        return name, self.figure(name, hint)

    @property
    def links(self) -> tuple[str, ...]:
        """The memories and links that have a bandwidth here."""
        return tuple(name for name, spec in self.figures.items() if spec.unit == "bytes/s")

    @property
    def closing(self) -> int | None:
        """The number of chips whose multiples close a mesh axis to a ring."""
        return int(self.wraparound.value) if self.wraparound else None


def nearest_name(name: str, names: Iterable[str]) -> str | None:
    """``did you mean …?`` for the name of a figure or a link, None where nothing is near.

    >>> nearest_name("ib", ["NVLink", "InfiniBand"])
    'did you mean InfiniBand?'
    """
    return suggestion(SPELLINGS.get(name.upper(), name), names)


# Sources of one figure differ by no more than this where nothing is remarked.
NEAR = Fraction(1, 10)
OUTSIDE = (*NETWORKS, "PCIe")


class Finding(Frozen):
    """What a chip cannot have: of which kind that is, and the figures that show it."""

    chip: str
    kind: str
    shown: str


def findings(chips: Iterable[Accelerator]) -> list[Finding]:
    """What cannot be: a ridge below 1, a peak below half of that of the chip before, a link that is faster than the
    memory, two directions that are not faster than one, sources that differ without a remark, parts that say something
    else, and sources without an address or a date.

    >>> sheet = "a sheet (https://a.example, 2026)"
    >>> slow = {"peak.bf16": Spec(Fraction(10**9), "1e9", "FLOPs/s", sheet), "HBM": Spec(Fraction(10**12), "1e12", "bytes/s", sheet)}
    >>> [(one.kind, one.shown) for one in findings([Accelerator("slow", "slow", slow)])]
    [('ridge', 'peak.bf16 1e9, HBM 1e12')]
    """
    by_name = {chip.name: chip for chip in chips}
    return [Finding(name, *pair) for name, chip in by_name.items() for pair in _flaws(chip, by_name.get(chip.after))]


def _flaws(chip: Accelerator, before: Accelerator | None) -> Iterator[tuple[str, str]]:
    """Figures that cannot stand beside those of the chip itself, or of the one ``before`` it."""
    figures, memory = chip.figures, chip.figures.get("HBM")
    for name, spec in figures.items():
        if memory is not None and name.startswith("peak.") and spec.value < memory.value:
            yield "ridge", f"{name} {spec.digits}, HBM {memory.digits}"
        if before is not None and name.startswith("peak") and name in before.figures:
            other = before.figures[name]
            if spec.value < other.value / 2:
                yield "predecessor", f"{name} {spec.digits}, {before.title} {other.digits}"
        family, _, direction = name.partition(".")
        if memory is not None and family in OUTSIDE and spec.value > memory.value:
            yield "link", f"{name} {spec.digits}, HBM {memory.digits}"
        if direction == "bidirectional" and family in figures and spec.value <= figures[family].value:
            yield "directions", f"{name} {spec.digits}, {family} {figures[family].digits}"
    yield from _source_flaws(chip)


def _source_flaws(chip: Accelerator) -> Iterator[tuple[str, str]]:
    """Figures and parts without the address of a source, or far from what another source says."""
    for name, spec in (*chip.figures.items(), *chip.parts.items()):
        unsourced = (entry for entry in (spec, *spec.alternatives) if not _is_sourced(entry))
        yield from (("address", f"{name} {entry.digits}: {entry.source}") for entry in unsourced)
        for other in spec.alternatives:
            if abs(other.value - spec.value) > NEAR * spec.value and not (_remarks(other) or _remarks(spec)):
                kind = "parts" if _follows(spec) or _follows(other) else "rivals"
                yield kind, f"{name} {spec.digits}, {other.digits}"


def _follows(spec: Spec) -> bool:
    """Whether a figure follows of the parts of a chip."""
    return " = " in spec.source


def _remarks(spec: Spec) -> bool:
    """Whether something stands behind the source of a figure that says what it is."""
    return not _follows(spec) and "): " in spec.source


def _is_sourced(spec: Spec) -> bool:
    return _follows(spec) or spec.source == "given" or ("https://" in spec.source and "no date" not in spec.source)
