"""Numbers with units: seconds, bytes, FLOPs and their rates, with decimal and binary prefixes.

A number is an exact rational and remembers its digits: ``3.35 TB/s`` is 3350000000000 bytes/s, shown as 3.35e12.
"""

from __future__ import annotations

from fractions import Fraction

from symroof.errors import ReadingError, suggestion
from symroof.formula import Number
from symroof.model.units import PER, UNITS
from symroof.reading.scanner import Reader

# Decimal exponents beyond this size are refused, never expanded.
LARGEST_EXPONENT = 10_000
# Known quantities outside of this range are refused: no machine has them.
SMALLEST = Fraction(1, 10**100)


def exact(digits: str) -> Fraction:
    """The rational that the digits write.

    >>> exact("1.97e14"), exact("0.1")
    (Fraction(197000000000000, 1), Fraction(1, 10))
    """
    mantissa, _, exponent = digits.replace("_", "").lower().partition("e")
    if exponent and (len(exponent) > 6 or abs(int(exponent)) > LARGEST_EXPONENT):
        raise ReadingError(
            f"the exponent of {digits[:20]} is too large", expected=f"at most {LARGEST_EXPONENT} in size"
        )
    return Fraction(mantissa.rstrip(".") + (f"e{exponent}" if exponent else ""))


def read_number(reader: Reader, declared: frozenset[str] | tuple[str, ...] = ()) -> Number:
    """The number under the cursor with its percent sign or unit; a declared name is never a unit."""
    token = reader.next()
    try:
        value = exact(token.text)
    except ReadingError as error:
        raise reader.error(error.problem, token=token, expected=error.expected) from None
    if (reader.token.kind == "number" and not reader.token.spaced) or (reader.at(".") and not reader.token.spaced):
        raise reader.error(f"{token.text}{reader.token.text} is not a number", span=(token.start, reader.token.end))
    if reader.accept("%"):
        return Number(value / 100, token.text + "%", "%")
    if reader.token.kind != "word" or reader.token.text not in UNITS or reader.token.text in declared:
        return Number(value, token.text)
    spelled = reader.next().text
    unit, per, base = UNITS[spelled], "", ""
    if reader.at("/") and reader.following.text in PER and "/" not in UNITS[spelled].base:
        per, base = (f"/{word}" for word in (reader.following.text, PER[reader.following.text]))
        reader.go_to(reader.index + 2)
    return Number(value * unit.scale, f"{token.text} {spelled}{per}", unit.base + base)


def quantity(text: str, unit: str | None) -> Number:
    """A known number such as ``8.2e11 bytes/s``; without a unit it is in ``unit``, with one they must agree. Where
    ``unit`` is None, any unit or none is kept as it is written.

    The result carries its digits in scientific form, as the derivation will print them.

    >>> quantity("3.35 TB/s", "bytes/s").digits
    '3.35e12'
    """
    reader = Reader(text)
    token = reader.token
    if token.kind != "number":
        raise reader.error(expected=f"a number such as 8.2e11 {unit or ''}".rstrip())
    number = read_number(reader)
    if reader.token.kind != "end":
        hint = suggestion(reader.token.text, UNITS) if reader.token.kind == "word" else None
        raise reader.error(expected=f"a unit ({unit}) or the end" if unit else "the end", hint=hint)
    if unit is not None and number.unit not in (None, unit):
        raise reader.error(f"the unit is {number.unit}", span=(token.start, len(text)), expected=unit or "no unit")
    if number.value <= 0:
        raise reader.error(f"{text.strip()} is not positive", span=token.span, expected="a number above zero")
    if not SMALLEST <= number.value <= 1 / SMALLEST:
        raise reader.error(f"{token.text[:20]} is out of range", "a number between 1e-100 and 1e100", token=token)
    return Number(number.value, scientific(token.text, number.value), number.unit if unit is None else unit)


def scientific(digits: str, value: Fraction) -> str:
    """``value`` with the significant digits of ``digits``; plain below a million, else with an exponent.

    >>> scientific("8.20e11", Fraction(820000000000)), scientific("819", Fraction(819 * 10**9)), scientific("128", Fraction(128))
    ('8.20e11', '8.19e11', '128')
    """
    mantissa = digits.replace("_", "").lower().partition("e")[0]
    plain = mantissa.replace(".", "").lstrip("0") or "0"
    if value < 10**6 and value == exact(digits) and "e" not in digits.lower():
        return mantissa.rstrip(".")
    if "." not in mantissa:
        plain = plain.rstrip("0") or "0"
    power = len(str(value.numerator)) - len(str(value.denominator))
    power -= value < Fraction(10) ** power
    candidate = f"{plain[0]}{'.' if plain[1:] else ''}{plain[1:]}e{power}"
    return candidate if exact(candidate) == value else str(value)
