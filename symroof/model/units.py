"""The unit of a formula, told by the units of its names: seconds, bytes and FLOPs to some powers."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from symroof.formula import Call, Formula, Group, Name, Negative, Number, Power, Product, Quotient, Sum, Written
from symroof.model.quantities import Exponents, exponents

# A whole number below this counts things, as far as anyone can tell; a larger one without a unit may be in any unit.
COUNT = 100


class Mismatch(Exception):  # noqa: N818
    """Two terms of a sum with different units."""


def unit_of_formula(
    formula: Formula, of_name: Callable[[str], Exponents | None], counts: bool, *, bare: bool = True
) -> Exponents | None:
    """The unit of a formula: no exponents for a count, None where it may be anything.

    A small number without a unit is taken for a count where ``counts`` says so; what is ``bare`` over a unit may have one
    that nobody wrote. Raises :class:`Mismatch` for a sum of
    different units.

    >>> units = {"M": {"bytes": Fraction(1)}, "T": {"s": Fraction(1)}}
    >>> {name: int(power) for name, power in unit_of_formula(Quotient(Name("M"), Name("T")), units.get, True).items()}
    {'bytes': 1, 's': -1}
    """

    def unit(part: Formula) -> Exponents | None:
        return unit_of_formula(part, of_name, counts, bare=bare)

    def combined(*parts: tuple[Formula, Fraction | int]) -> Exponents | None:
        """The unit of a product of powers."""
        total: Exponents = {}
        for part, power in parts:
            powers = unit(part)
            if powers is None:
                return None
            total = {name: total.get(name, Fraction(0)) + power * powers.get(name, 0) for name in {**total, **powers}}
        return {name: e for name, e in total.items() if e}

    match formula:
        case Number(unit=str(named)):
            return exponents(named)
        case Number(value=value):
            return {} if counts and value.denominator == 1 and abs(value) < COUNT else None
        case Name(name=name):
            return of_name(name)
        case Sum(terms=terms) | Call(function="max" | "min" | "abs" | "ceil" | "floor", arguments=terms):
            every = [unit(term) for term in terms]
            units = [powers for powers in every if powers]
            for unlike in (powers for powers in units if powers != units[0]):
                raise Mismatch(units[0], unlike)
            return units[0] if units else None if None in every else {}
        case Call(function="sqrt", arguments=(body,)):
            return combined((body, Fraction(1, 2)))
        case Product(factors=factors):
            return combined(*((factor, 1) for factor in factors))
        case Quotient(above=above, below=below):
            is_one = above == Number(Fraction(1), "1")  # what stands above in a reciprocal is no amount
            open_ = bare and not is_one and not unit(above) and unit(below)
            return None if open_ else combined((above, 1), (below, -1))
        case Power(base=root, exponent=Number(value=power)) if power.denominator == 1:
            return combined((root, power))
        case Negative(body=body) | Group(body=body) | Written(body=body):
            return unit(body)
    return None
