"""The bytes of one tensor of a program: its loads and stores, noted while the program is run again."""

from __future__ import annotations

from symroof.proof.ledger import Ledger, refuted
from symroof.proof.running import ZERO, Run
from symroof.proof.step import Check, Step


class Transfers(Run):
    """Evidence of the bytes of the tensor ``name``: every load and every store of it, whoever pays."""

    def examine(self, step: Step, ledger: Ledger) -> Check:
        exact, run = ledger.exact(figures=False), self.script.run
        total = ZERO
        for payer, name, rows in run.moves("bytes"):
            if name == self.name:
                total += self.size(name, exact, rows) * self._paid(payer, exact)
        if not (exact.rational(step.right) - total).is_zero():
            raise refuted(step, f"running the program moves something else of {self.name}")
        return Check("proved", "loads and stores counted")
