"""What a run of a program leaves behind: every load and store, and who pays for it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from symroof.formula import Frozen

Moved = tuple[str, str, str | None]


class Trace(Frozen):
    """Who pays for each statement; what was loaded and stored, each by whom. Of what was ``gathered`` in a load as many
    rows were read as an array has, None where it was read whole. ``users`` are the acts that use the loads first."""

    payer: Mapping[str, str]
    loads: tuple[tuple[str, str], ...]
    stores: tuple[tuple[str, str], ...]
    gathered: tuple[str | None, ...]
    users: tuple[str, ...]

    def moves(self, what: str, payer: str | None = None) -> tuple[Moved, ...]:
        """Reads, writes, or the bytes of both: who pays, what is moved, and how much of it; all of them, or of one payer."""
        loads, stores = self._moves.get(payer, ((), ()))
        return (loads if what != "writes" else ()) + (stores if what != "reads" else ())

    @cached_property
    def _moves(self) -> Mapping[str | None, tuple[tuple[Moved, ...], tuple[Moved, ...]]]:
        """Loads and stores by who pays for them; under None all."""
        loads = tuple((*load, rows) for load, rows in zip(self.loads, self.gathered, strict=True))
        stores: tuple[Moved, ...] = tuple((*store, None) for store in self.stores)
        found: dict[str | None, tuple[list[Moved], list[Moved]]] = {}
        for place, moves in enumerate((loads, stores)):
            for one in moves:
                found.setdefault(one[0], ([], []))[place].append(one)
        return {None: (loads, stores)} | {payer: (tuple(a), tuple(b)) for payer, (a, b) in found.items()}

    @cached_property
    def paid(self) -> Mapping[str | None, tuple[str, ...]]:
        """The statements by who pays for them."""
        found: dict[str | None, list[str]] = {}
        for name, payer in self.payer.items():
            found.setdefault(payer, []).append(name)
        return {payer: tuple(names) for payer, names in found.items()}
