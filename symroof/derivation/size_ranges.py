"""What sizes have to be, over all that they run through together.

Decided of conditions that are fractions of sizes, all of which are above zero. What is never below zero, p/q with q of
one sign, is held against the ends alone where p is of degree one in every size that runs, or has two terms: it is
monotone in each then. What is a whole number, p/q with a number q and whole coefficients, is held against what values
leave when divided by q. Everything else is held against every set of values, of which there are not too many, or is
refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from math import lcm, prod

from sympy import Expr

from symroof.algebra.rational import Polynomial, ratio
from symroof.errors import ModelError
from symroof.formula import Frozen
from symroof.model.derived_sizes import always_whole, never_below_zero
from symroof.model.program import Program

# Sets of values that conditions are held against one by one.
MOST = 100_000
Runs = Mapping[str, Sequence[int]]


class Condition(Frozen):
    """What a fraction of sizes is at all of them: a ``whole`` number, or never below zero."""

    sizes: tuple[str, ...]
    above: Polynomial
    below: Polynomial
    whole: bool

    def holds(self, values: Sequence[int]) -> bool:
        above, below = (
            sum(
                (c * prod(x**n for x, n in zip(values, powers, strict=True)) for powers, c in side.items()), Fraction(0)
            )
            for side in (self.above, self.below)
        )
        return (above / below).denominator == 1 if self.whole else above * below >= 0

    def deciding(self, runs: Runs) -> list[Sequence[int]]:
        """The values of each size that decide it."""
        if self.whole and not any(any(powers) for powers in self.below):
            divisor = lcm(*(coefficient.numerator for coefficient in self.below.values()))
            return [tuple({value % divisor: value for value in runs[name]}.values()) for name in self.sizes]
        ends = [_ends(runs[name]) for name in self.sizes]
        running = [i for i, both in enumerate(ends) if len(both) > 1]
        linear = all(powers[i] <= 1 for powers in self.above for i in running)
        one_sign = len({coefficient > 0 for coefficient in self.below.values()}) == 1
        if not self.whole and one_sign and (linear or len(self.above) <= 2):
            return ends
        return [runs[name] for name in self.sizes]


def require_over(program: Program, runs: Runs, *, drawn: bool = False) -> None:
    """Whatever values sizes run through together, a program is there at them; what is ``drawn`` goes on between places
    as well.

    Raises :class:`~symroof.errors.ModelError` at the first values where it is not, as where these are put in.

    >>> from symroof.reading.programs import read_program
    >>> text = "input x: bf16[B, D]; weight W: bf16[D, c]; where c = B/E; y = x * W -> bf16[B, c]"
    >>> require_over(read_program(text), {"B": [8, 16], "E": range(1, 10)})
    Traceback (most recent call last):
    ...
    symroof.errors.ModelError: at B = 8, E = 9 a tensor would have 8/9 of c = B/E
      expected c of at least 1, as with B = 9
    """
    for condition in _conditions(program, drawn):
        if not condition.sizes or not all(name in runs for name in condition.sizes):
            continue
        chosen = condition.deciding(runs)
        if prod(map(len, chosen)) > MOST:
            shown = f"{prod(map(len, chosen))} values of {', '.join(condition.sizes)} are not all sizes of this program"
            raise ModelError(shown, expected=f"at most {MOST} of them together, which are tried one by one")
        for values in product(*chosen):
            if not condition.holds(values):
                program.require_sizes(dict(zip(condition.sizes, map(Fraction, values), strict=True)))


def _conditions(program: Program, drawn: bool) -> Iterator[Condition]:
    for whole, values in ((False, never_below_zero(program)), (True, () if drawn else always_whole(program))):
        for value in values:
            yield _condition(value, whole)


def _condition(value: Expr, whole: bool) -> Condition:
    symbols = tuple(sorted(value.free_symbols, key=str))
    return Condition(tuple(map(str, symbols)), *ratio(value, symbols), whole)


def _ends(values: Sequence[int]) -> Sequence[int]:
    """The least and the largest of values; of a range without going through it."""
    return sorted({*((values[0], values[-1]) if isinstance(values, range) else (min(values), max(values)))})
