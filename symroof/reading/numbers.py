"""Amounts: numbers with what stands behind them. A number is an exact rational and remembers its digits.

amount = number [ "%" | power ] [ unit ] [ noun ]
number = 1234.5 | 1,234.5 (by threes, not between arguments) | 1_234 | .5, with an exponent: 3.35e12
power  = "k" | "M" | "K" | "B" | "T" | million | 亿 | 천만 | …   1억 8천만 is one number
unit   = prefix base [ "/" unit | per unit ]                   3.35 TB/s, FLOPs per byte, bytes / token

A letter is a power directly behind its number where nothing has that name, or before what is counted: 7B parameters.
Tokens of problems and claims are read here, words behind numbers of prose and formulas in :mod:`symroof.reading.prose_parts`.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from fractions import Fraction

from symroof.errors import ReadingError, suggestion
from symroof.formula import Number
from symroof.model.quantities import UNITS
from symroof.reading.scanner import Reader
from symroof.reading.vocabulary import WORDS, meanings

# Longer numbers are refused, and exponents never expanded: Python writes 4300 digits, products of a few of them.
LARGEST_EXPONENT = MOST_DIGITS = 1_000
# Known quantities outside of this range are refused: no machine has them.
SMALLEST = Fraction(1, 10**100)
# What people write for a unit; what stands for a power of ten; what is counted, and is no unit.
UNIT_WORDS = meanings(WORDS["units"])
SCALES = {letter: Fraction(10) ** power for letter, power in WORDS["scales"].items()}
COUNT_SCALES = SCALES | {letter: Fraction(10) ** power for letter, power in WORDS["scales_of_counts"].items()}
# Networks are sold by the bit.
BITS = re.compile(r"([kMG])b(?:it)?(?:/s|ps)")
COUNTED = frozenset(WORDS["counted"])


def exact(digits: str) -> Fraction:
    """The rational that the digits write.

    >>> exact("1.97e14"), exact("0.1")
    (Fraction(197000000000000, 1), Fraction(1, 10))
    """
    mantissa, _, exponent = digits.replace("_", "").lower().partition("e")
    if exponent and (len(exponent) > 6 or abs(int(exponent)) > LARGEST_EXPONENT):
        raise ReadingError(f"the exponent of {digits[:20]} is too large", expected=f"at most {LARGEST_EXPONENT}")
    if len(mantissa) > MOST_DIGITS:
        raise ReadingError(f"the number {digits[:20]}… is too long", expected=f"at most {MOST_DIGITS} digits")
    return Fraction(mantissa.rstrip(".") + (f"e{exponent}" if exponent else ""))


def read_number(reader: Reader, declared: Collection[str] = (), letters: frozenset[str] | None = None) -> Number:
    """The number under the cursor with its percent sign, power of ten or unit; a declared name is none of these.

    In a document ``letters`` are those that stand alone somewhere in it.
    """
    token = reader.next()
    with reader.faults_at(*token.span):
        value = exact(token.text)
    if (reader.token.kind == "number" and not reader.token.spaced) or (reader.at(".") and not reader.token.spaced):
        raise reader.error(f"{token.text}{reader.token.text} is not a number", span=(token.start, reader.token.end))
    if reader.accept("%"):
        return Number(value / 100, token.text + "%", "%")
    digits = token.text
    if (letters is not None or reader.token.kind == "unit") and _is_scale(reader, {*declared, *(letters or ())}):
        letter = reader.next().text
        digits, value = digits + letter, value * COUNT_SCALES[letter]
    unit = _unit_behind(reader, declared, {*declared, *(letters or ())})
    if unit is None and letters is not None and reader.token.text in COUNTED and reader.token.text not in declared:
        reader.next()
    if unit is None:
        return Number(value, digits)
    scale, base = measured(unit)
    return Number(value * scale, f"{digits} {unit}", base)


def measured(unit: str) -> tuple[Fraction, str]:
    """How many base units a unit is, and which: two units with a bar between them are one.

    >>> measured("TB/s"), measured("Gbps"), measured("FLOPs/bytes")
    ((Fraction(1000000000000, 1), 'bytes/s'), (Fraction(125000000, 1), 'bytes/s'), (Fraction(1, 1), 'FLOPs/bytes'))
    """
    if unit in UNITS:
        return UNITS[unit].scale, UNITS[unit].base
    above, _, below = unit.partition("/")
    return UNITS[above].scale / UNITS[below].scale, f"{UNITS[above].base}/{UNITS[below].base}"


def unit_named(words: str) -> str | None:
    """The unit that words name, in its shortest spelling; None where they name none.

    >>> unit_named("TFLOP/s"), unit_named("FLOPS/B"), unit_named("bytes/second"), unit_named("Gbit/s"), unit_named("rows")
    ('TFLOPs/s', 'FLOPs/bytes', 'bytes/s', 'Gbps', None)
    """
    words = f"{words[:-1]}bytes" if words.endswith("/B") else f"bytes{words[1:]}" if words.startswith("B/") else words
    words = UNIT_WORDS.get(words, words)
    if words in UNITS:
        return UNITS[words].name
    above, slash, below = words.partition("/")
    if (bits := BITS.fullmatch(words)) is not None:
        return f"{bits[1]}bps"
    parts = [UNIT_WORDS.get(part.strip(), part.strip()) for part in ((above, below) if slash else (above,))]
    return "/".join(UNITS[part].name for part in parts) if all(part in UNITS for part in parts) else None


def _unit_behind(reader: Reader, declared: Collection[str], taken: set[str]) -> str | None:
    """The unit under the cursor, where there is one; B/s is bytes/s where no letter ``taken`` is in it."""
    token = reader.token
    if token.kind not in ("word", "unit") or (token.kind == "word" and token.text in declared):
        return None
    unit, (slash, per) = unit_named(token.text), (*reader.tokens, token, token)[reader.index + 1 :][:2]
    if slash.text == "/" and (unit is None or ("/" not in unit and "/" not in UNITS[unit].base)):
        near = not (slash.spaced or per.spaced)
        close = near if unit is None else per.text == "s" or per.kind == "unit" or (near and per.text not in declared)
        named = unit is None and taken & {token.text, per.text}
        whole = unit_named(f"{token.text}/{per.text}") if close and not named else None
        if whole is not None:
            reader.go_to(reader.index + 3)
            return whole
    if unit is not None:
        reader.next()
    return unit


def _is_scale(reader: Reader, taken: set[str]) -> bool:
    """Whether the letter under the cursor is a power of ten, with no letter behind it and none of that name."""
    letter, behind = reader.token, reader.following
    if letter.kind == "unit":
        return letter.text in COUNT_SCALES
    if letter.kind != "word" or letter.spaced or letter.text in taken or letter.text not in COUNT_SCALES:
        return False
    if not behind.spaced and (behind.kind in ("word", "number") or behind.text in ("(", "[", "{", "^", ".")):
        return False
    return letter.text in SCALES or behind.text in COUNTED


def quantity(text: str, unit: str | None) -> Number:
    """A known number such as ``8.2e11 bytes/s``; without a unit it is in ``unit``, with one they must agree. Where
    ``unit`` is None, any unit or none is kept as it is written.

    The result carries its digits in scientific form, as the derivation will print them.

    >>> quantity("3.35 TB/s", "bytes/s").digits, quantity("3.35e12 B/s", "bytes/s").digits
    ('3.35e12', '3.35e12')
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
