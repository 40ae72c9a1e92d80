"""Numbers in print: two numbers compared, and the number that would have to stand where one is printed."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from symroof.algebra.rational import cancelled, coefficients, polynomial, ratio, symbols_of
from symroof.errors import AlgebraError
from symroof.formula import Compare, Formula, Group, Name, Negative, Number, Power, Product, Quotient, children, mapped
from symroof.proof.sampling import ORDER
from symroof.symbols import expression, fraction, symbol
from symroof.verification.constructions import resolved
from symroof.verification.context import Context
from symroof.verification.digits import Rounding, bare, is_printed, last_place, rounding
from symroof.verification.enclosures import Enclosure, compared, enclosed
from symroof.verification.judgement import Finding, Remark

# The same order with its sides exchanged.
MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
PRINTED = Name("printed number")


def compare_numbers(link: Compare, left: Formula, right: Formula, context: Context) -> Finding:
    """Two numbers: exactly so, or by the rounding rule, or within the share that ~ allows."""
    sign = compared(left, right)
    if link.relation in ORDER:
        true = sign is not None and {"<": sign < 0, "<=": sign <= 0, ">": sign > 0, ">=": sign >= 0}[link.relation]
        verdict = "holds" if true else "wrong" if sign is not None else "undecided"
        return Finding(link, verdict, "exact numbers", value=None if true else left)
    if link.relation in ("<<", ">>"):
        return Finding(link, "undecided", "", remarks=(Remark("numbers_do_not_grow"),))
    if sign == 0:
        return Finding(link, "holds", "exact numbers", value=left)
    true_value, printed = (
        (left, link.right) if is_printed(link.right) or not is_printed(link.left) else (right, link.left)
    )
    value = enclosed(true_value)
    off = deviation(value, enclosed(right if true_value is left else left))
    if link.relation != "=" and off is not None and abs(off) <= context.tolerance:
        return Finding(link, "holds", "exact numbers", true_value, (Remark("deviation", {"share": off}),))
    found = printed_digits(value, printed, context)
    if found is not None:
        return Finding(link, "rounded", "exact numbers", true_value, (rounded_remark(found, value),))
    remarks = (Remark("deviation", {"share": off}),) if off is not None and abs(off) < 10 else ()
    return Finding(link, "wrong" if sign is not None else "undecided", "exact numbers", true_value, remarks)


def deviation(true: Enclosure, claimed: Enclosure) -> Fraction | None:
    """By which share of the true value the claimed one is too high."""
    return None if true.low <= 0 <= true.high else claimed.middle / true.middle - 1


def rounded_remark(found: Rounding, value: Enclosure) -> Remark:
    return Remark(found.how, {"digits": found.digits, "value": value.middle})


def printed_digits(value: Enclosure, printed: Formula, context: Context) -> Rounding | None:
    """How a side that is one number, or has one number with several digits, comes from the true value."""
    number = bare(printed)
    if isinstance(number, Number):
        return rounding(value, number)
    several = [n for n in literals(printed) if last_place(n)[0] > 1]
    if len(several) == 1 and value.exact:
        needed = needed_literal(Number(value.low), printed, several[0], context)
        return None if needed is None else rounding(needed, several[0])
    return None


def literals(side: Formula) -> Iterator[Number]:
    """The numbers that are printed in a side, exponents left out."""
    if isinstance(side, Number):
        yield side
    for child in children(side):
        if not (isinstance(side, Power) and child is side.exponent):
            yield from literals(child)


def _is_factor(literal: Number, side: Formula) -> bool:
    """Whether the literal multiplies or divides the whole side: a printed term of a sum may hide all of a difference."""
    match side:
        case Number():
            return side == literal
        case Product(factors=parts):
            return any(_is_factor(literal, part) for part in parts)
        case Quotient(above=above, below=below):
            return _is_factor(literal, above) or _is_factor(literal, below)
        case Group(body=body) | Negative(body=body):
            return _is_factor(literal, body)
    return False


def needed_literal(other: Formula, side: Formula, literal: Number, context: Context) -> Enclosure | None:
    """The number that would have to stand in the place of a literal for the sides to be the same."""
    if sum(1 for n in literals(side) if n == literal) > 1 or not _is_factor(literal, side):
        return None
    marked = mapped(side, lambda node: PRINTED if node == literal else node)
    try:
        x = symbol(PRINTED.name)
        expanded = resolved(context.expanded(marked), context.least_one, context.layout)
        difference = expression(other) - expression(expanded)
        symbols = symbols_of(difference, x)
        parts = coefficients(ratio(difference, symbols)[0], symbols.index(x))
        if len(parts) != 2:
            return None
        needed = cancelled(-polynomial(parts[0], symbols) / polynomial(parts[1], symbols))
    except AlgebraError:
        return None
    return Enclosure(fraction(needed), fraction(needed)) if needed.is_Rational else None
