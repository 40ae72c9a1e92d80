"""The functions that a program applies to each element, or to each row over one dimension: how many operations they take.

On a row of N elements a function takes ``each`` N + ``row`` operations, and its derivative ``back_each`` N + ``back_row``
on the row of gradients. An exponential, a root, a division and a comparison are one operation each, as in the counts of
the sources; an elementwise function has rows of one element.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from symroof.formula import Frozen

MILAKOV = "Milakov, Gimelshein, Online normalizer calculation for softmax, arXiv:1805.02867"
ZHANG = "Zhang, Sennrich, Root mean square layer normalization, arXiv:1910.07467"
BA = "Ba, Kiros, Hinton, Layer normalization, arXiv:1607.06450"
HENDRYCKS = "Hendrycks, Gimpel, Gaussian error linear units, arXiv:1606.08415"
ELFWING = "Elfwing, Uchibe, Doya, Sigmoid-weighted linear units, arXiv:1702.03118"
NAIR = "Nair, Hinton, Rectified linear units improve restricted Boltzmann machines, ICML 2010"
SU = "Su et al., RoFormer, arXiv:2104.09864"


class Function(Frozen):
    """``parts`` say what the operations are, in the words of the catalogue; ``rows`` where the whole row is needed."""

    name: str
    each: Fraction
    parts: str
    source: str
    row: Fraction = Fraction(0)
    back_each: Fraction = Fraction(0)
    back_row: Fraction = Fraction(0)
    rows: bool = False
    operands: int = 1


def _function(
    name: str, each: int, back_each: int, parts: str, source: str, row: int = 0, back_row: int = 0, rows: bool = False
) -> Function:
    backward = Fraction(back_each), Fraction(back_row)
    return Function(name, Fraction(each), parts, source, Fraction(row), *backward, rows)


FUNCTIONS: Mapping[str, Function] = {
    function.name: function
    for function in (
        _function("relu", 1, 2, "a comparison", NAIR),
        # tanh form: x^3 in 2, times a constant, plus x, times a constant, tanh, plus 1, times x, half
        _function("gelu", 9, 16, "the tanh form", HENDRYCKS),
        _function("sigmoid", 4, 3, "a negation, an exponential, an addition, a division", ELFWING),
        _function("silu", 5, 5, "a sigmoid and a product", ELFWING),
        _function("softmax", 5, 4, "a maximum, subtractions, exponentials, a sum, divisions", MILAKOV, -2, -1, True),
        _function("rms_norm", 4, 8, "squares, a mean, a reciprocal root, two products", ZHANG, 2, 3, True),
        _function("layer_norm", 7, 12, "a mean, a variance, a reciprocal root, scale and shift", BA, 2, 3, True),
        _function("rope", 3, 3, "two products and an addition", SU),
        _function("convert", 1, 1, "a conversion", "IEEE Standard for Floating-Point Arithmetic, IEEE 754-2019"),
    )
}
