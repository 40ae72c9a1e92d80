"""What a step rests on, and what its prose needs beyond the formulas: evidence and facts, one record for each kind."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from symroof.formula import Formula, Name
from symroof.proof.step import Step


@dataclass(frozen=True, slots=True)
class Counted:
    """Facts of a count: what each of ``outputs`` takes; ``length`` is that of the contraction, None without one."""

    outputs: Formula
    multiplications: Formula
    additions: Formula
    length: Formula | None


@dataclass(frozen=True, slots=True)
class Gone:
    """Facts of a cancellation: the names that cancel."""

    names: tuple[Name, ...]


@dataclass(frozen=True, slots=True)
class Unbounded:
    """Facts of 1 + 1/x ~ 1: x grows without bound."""


@dataclass(frozen=True, slots=True)
class Solved:
    """Facts of a solved condition: what it is solved for."""

    variable: str


@dataclass(frozen=True, slots=True)
class AtSize:
    """Facts of a row: the size that it is about."""

    size: Fraction


@dataclass(frozen=True, slots=True)
class Shared:
    """Facts of what one chip does: over how many chips the work is split, and the exchanges that this needs."""

    chips: int
    exchanges: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Sent:
    """Facts of an exchange: its payload in bytes, and the part of it that one direction of a link carries."""

    exchange: Any
    payload: Formula
    share: Formula

    @property
    def exchanges(self) -> tuple[Any, ...]:
        return (self.exchange,)


@dataclass(frozen=True, slots=True)
class Loops:
    """Evidence of a count: the loop nest. ``operands`` are labels for each input; numbers are sizes of their own.

    ``fused`` counts an addition with every multiplication.
    """

    operands: tuple[tuple[str, ...], ...]
    output: tuple[str, ...]
    fused: bool = False


@dataclass(frozen=True, slots=True)
class Uses:
    """Evidence of a use: how often the loop nest touches each element of the operand at ``place`` (the output is last)."""

    loops: Loops
    place: int
    operand: str


@dataclass(frozen=True, slots=True)
class Growing:
    """Evidence of a limit: one name grows alone."""

    name: str


@dataclass(frozen=True, slots=True)
class Highest:
    """Evidence of a supremum: approached as these names grow together, or the value where they are 1 if ``reached``."""

    names: tuple[str, ...]
    reached: bool = False


@dataclass(frozen=True, slots=True)
class Beside:
    """Evidence of a quotient of bounds: that of one checked step over that of another."""

    high: Step
    low: Step


@dataclass(frozen=True, slots=True)
class Doubled:
    """Evidence of a change: the left side is a quantity with this name doubled, over the quantity."""

    name: str


@dataclass(frozen=True, slots=True)
class OneRoot:
    """Evidence of a condition without a solved form: it holds beyond (1) or below (-1) the one positive root in ``name``."""

    name: str
    side: int


@dataclass(frozen=True, slots=True)
class Between:
    """Evidence of a distance: from the whole size of one checked step to that of another."""

    high: Step
    low: Step


@dataclass(frozen=True, slots=True)
class Arrays:
    """Evidence of traffic: for each array its labels, the bits of an element, and the dtype that has them."""

    arrays: tuple[tuple[tuple[str, ...], int, str], ...]

    @property
    def widths(self) -> dict[str, Fraction]:
        """The bytes of an element of each dtype."""
        return {name: Fraction(bits, 8) for _, bits, name in self.arrays}


@dataclass(frozen=True, slots=True)
class Function:
    """Evidence of a given cost: the Python function and its parameters."""

    function: Any
    parameters: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Kinds:
    """Evidence of a sum: each term is the number of operations of one kind, as its function gives it."""

    labels: tuple[str, ...]
    functions: tuple[Function, ...]


@dataclass(frozen=True, slots=True)
class MeshAxis:
    """An axis of a mesh: how it is wired as the user says, and the chip's multiple that closes to a ring."""

    name: str
    chips: int
    wiring: str | None = None
    wraparound: int | None = None


@dataclass(frozen=True, slots=True)
class Placement:
    """Evidence of what one chip of a mesh does, as the user wrote it: the dimensions of each tensor with their axes, the
    output last, the bits of an element and a name for each, the mesh, and how additions are counted."""

    tensors: tuple[tuple[tuple[str, str | None], ...], ...]
    bits: tuple[int, ...]
    names: tuple[str, ...]
    mesh: tuple[MeshAxis, ...]
    count: str


@dataclass(frozen=True, slots=True)
class OnChip:
    """Evidence that the formula is an amount of the played mesh: work, memory, link, or the sending or the part of that
    number."""

    placement: Placement
    amount: str
    number: int = 0


@dataclass(frozen=True, slots=True)
class Excess:
    """Evidence of a working count: right - left is exactly this, and positive."""

    amount: Formula


@dataclass(frozen=True, slots=True)
class Dominated:
    """Evidence of an approximation: left/right = numerator/denominator, and a certificate for each monomial of
    numerator - denominator beside ``measure``, which is one of the two."""

    numerator: Formula
    denominator: Formula
    certificates: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Harmonic:
    """Evidence of a bracket: 1/right is the sum of the reciprocals of the parts, and left is their least over their
    number."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Whole:
    """Evidence of a rounding to whole numbers: the multiples of ``step``. Where the left side is no bound on the size
    itself it is one by ``bound``, and without one it holds for every size."""

    step: int
    bound: Formula | None = None
