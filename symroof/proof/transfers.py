"""The bytes of a program's tensors, noted while it is run again: those of one tensor, and of all once some are narrower."""

from __future__ import annotations

from dataclasses import replace

from symroof.formula import Name, Quotient
from symroof.proof.exact import Exact
from symroof.proof.ledger import Ledger, refuted
from symroof.proof.polynomials import Rat
from symroof.proof.running import ZERO, Run
from symroof.proof.step import Check, Step

WIDEST_QUANTISED = 8  # bits: wider whole numbers are indices, and stay what they are


class Transfers(Run):
    """Evidence of the bytes of the tensor ``name``: every load and every store of it, whoever pays."""

    def examine(self, step: Step, ledger: Ledger) -> Check:
        exact = ledger.exact(figures=False)
        if not (exact.rational(step.right) - self.moved(exact)).is_zero():
            raise refuted(step, f"running the program moves something else of {self.name}")
        return Check("proved", "loads and stores counted")

    def moved(self, exact: Exact) -> Rat:
        """The bytes of the tensor, or of all tensors."""
        run, total = self.script.run, ZERO
        for payer, name, rows in run.moves("bytes"):
            if self.name in (None, name):
                total += self.size(name, exact, rows) * self._paid(payer, exact)
        return total


class Narrowed(Transfers):
    """Evidence of a change: the left side is the intensity with the tensors of a role in ``bits``, over the intensity."""

    counts = False

    role: str = ""
    bits: int = 0

    def examine(self, step: Step, ledger: Ledger) -> Check:
        if ledger.meanings["params"] != Run(self.script, "weight elements"):
            raise refuted(step, "this is another program")
        if not isinstance(step.left, Quotient) or step.left.below != Name("intensity"):
            raise refuted(step, "the left side is not an intensity after a change over the intensity")
        narrow = tuple(
            replace(array, bits=self.bits)
            if array.role == self.role
            and array.bits > self.bits
            and not (array.integer and array.bits > WIDEST_QUANTISED)
            else array
            for array in self.script.arrays
        )
        exact = ledger.exact(figures=False, assumptions=step.assumptions)
        moved = Transfers(replace(self.script, arrays=narrow), "moved").moved(exact)
        if not (exact.rational(step.left.above) - exact.rational(Name("flops")) / moved).is_zero():
            raise refuted(step, f"this is not the intensity with each {self.role} in {self.bits} bits")
        if not exact.difference(step.left, step.right).is_zero():
            raise refuted(step, "the quotient is not the right side")
        return Check("proved", "loads and stores counted in other types")
