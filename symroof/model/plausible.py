"""What cannot be in a table of chips: a slip of a prefix, a figure of another chip, sources that do not agree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction

from symroof.formula import Frozen
from symroof.model.hardware import Accelerator, Known
from symroof.model.mesh_axes import NETWORKS

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

    >>> from symroof.model.hardware import Known
    >>> sheet = "a sheet (https://a.example, 2026)"
    >>> slow = {"peak.bf16": Known(Fraction(10**9), "1e9", "FLOPs/s", sheet), "HBM": Known(Fraction(10**12), "1e12", "bytes/s", sheet)}
    >>> [(one.kind, one.shown) for one in findings([Accelerator("slow", "slow", slow)])]
    [('ridge', 'peak.bf16 1e9, HBM 1e12')]
    """
    by_name = {chip.name: chip for chip in chips}
    return [Finding(name, *one) for name, chip in by_name.items() for one in _of(chip, by_name.get(chip.after))]


def _of(chip: Accelerator, before: Accelerator | None) -> Iterator[tuple[str, str]]:
    figures, memory = chip.figures, chip.figures.get("HBM")
    for name, known in figures.items():
        if memory is not None and name.startswith("peak.") and known.value < memory.value:
            yield "ridge", f"{name} {known.digits}, HBM {memory.digits}"
        if before is not None and name.startswith("peak") and name in before.figures:
            other = before.figures[name]
            if known.value < other.value / 2:
                yield "predecessor", f"{name} {known.digits}, {before.title} {other.digits}"
        family, _, which = name.partition(".")
        if memory is not None and family in OUTSIDE and known.value > memory.value:
            yield "link", f"{name} {known.digits}, HBM {memory.digits}"
        if which == "bidirectional" and family in figures and known.value <= figures[family].value:
            yield "directions", f"{name} {known.digits}, {family} {figures[family].digits}"
    for name, known in (*figures.items(), *chip.parts.items()):
        every = (known, *known.alternatives)
        yield from (("address", f"{name} {one.digits}: {one.source}") for one in every if not _is_sourced(one))
        for other in known.alternatives:
            if abs(other.value - known.value) > NEAR * known.value and not (_remarks(other) or _remarks(known)):
                yield (
                    ("parts" if _follows(known) or _follows(other) else "rivals"),
                    f"{name} {known.digits}, {other.digits}",
                )


def _follows(known: Known) -> bool:
    """Whether a figure follows of the parts of a chip."""
    return " = " in known.source


def _remarks(known: Known) -> bool:
    """Whether something stands behind the source of a figure that says what it is."""
    return not _follows(known) and "): " in known.source


def _is_sourced(known: Known) -> bool:
    return _follows(known) or known.source == "given" or ("https://" in known.source and "no date" not in known.source)
