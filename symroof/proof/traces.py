"""What a run of a program leaves behind: every load and store, and who pays for it."""

from __future__ import annotations

from collections.abc import Mapping

from symroof.formula import Frozen


class Trace(Frozen):
    """Who pays for each statement; what was loaded and stored, each by whom. Of what was ``gathered`` in a load as many
    rows were read as an array has, None where it was read whole. ``users`` are the acts that use the loads first."""

    payer: Mapping[str, str]
    loads: tuple[tuple[str, str], ...]
    stores: tuple[tuple[str, str], ...]
    gathered: tuple[str | None, ...]
    users: tuple[str, ...]

    def moves(self, what: str) -> tuple[tuple[str, str, str | None], ...]:
        """Reads, writes, or the bytes of both: who pays, what is moved, and how much of it."""
        loads = tuple((*load, rows) for load, rows in zip(self.loads, self.gathered, strict=True))
        stores = tuple((*store, None) for store in self.stores)
        return (loads if what != "writes" else ()) + (stores if what != "reads" else ())
