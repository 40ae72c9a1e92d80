"""The functions that a program applies to each element, or to each row over one dimension: how many operations they take.

A row of N elements takes ``each`` N + ``row`` operations of each kind; an elementwise function has rows of one element.
An exponential, a root, a division and a comparison are one operation each, as in the counts of the sources. The
derivative is that to the first operand, worked out with what the function had at hand: a sigmoid, a root, a softmax that
was computed on the way forward is not counted again. Gains and shifts of norms take part in both.
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
DUGAS = "Dugas et al., Incorporating second-order functional knowledge for better option pricing, NIPS 2000"
JACOB = (
    "Jacob et al., Quantization and training of neural networks for integer-arithmetic-only inference, arXiv:1712.05877"
)
KINGMA = "Kingma, Ba, Adam: a method for stochastic optimization, arXiv:1412.6980"
CHELLAPILLA = "Chellapilla, Puri, Simard, High performance convolutional neural networks, IWFHR 2006"
ROGOZHNIKOV = "Rogozhnikov, Einops, ICLR 2022"
MIKOLOV = "Mikolov et al., Efficient estimation of word representations in vector space, arXiv:1301.3781"
HARRIS = "Harris et al., Array programming with NumPy, Nature 585, 2020"
BRADBURY = "Bradbury et al., JAX: composable transformations of Python+NumPy programs, 2018"
IEEE = "IEEE Standard for Floating-Point Arithmetic, IEEE 754-2019"


# What a derivative reads beside the gradient that comes in: the operands, the result that was made of them, nothing; and of
# a quotient what it was divided by, with the result where that has a gradient.
OPERANDS, RESULT, NOTHING, DIVISOR = "operands", "result", "nothing", "divisor"
# How a result may lie where its operands do: in other dimensions, as a part of one, of several behind one another, or as one
# with entries written into it; as the place of this turn along a dimension, or as what all turns have put there.
VIEWED, CUT, JOINED, APPENDED, PLACED, COLLECTED = "view", "slice", "concat", "append", "place", "collect"


class Kind(Frozen):
    """Operations of one kind: ``each`` for an element of a row, and ``row`` more for the row."""

    name: str
    each: Fraction
    row: Fraction


class Function(Frozen):
    """What a function takes, forward and ``back``; a function without ``back`` has no derivative that is known.

    It works on whole ``rows`` or on elements, takes ``operands`` and at most as many ``gains`` behind them. One that
    ``reshapes`` makes a tensor of the type that is stated, one whose result ``lies`` where its operands do leaves them there,
    one that ``gathers`` reads rows of a table. ``needs`` is what the derivative reads: what a backward pass keeps.
    """

    name: str
    kinds: tuple[Kind, ...]
    source: str
    back: tuple[Kind, ...] | None = None
    rows: bool = False
    operands: int = 1
    gains: int = 0
    reshapes: bool = False
    lies: str = ""
    gathers: bool = False
    needs: str = OPERANDS

    @property
    def each(self) -> Fraction:
        return sum((kind.each for kind in self.kinds), Fraction(0))

    @property
    def row(self) -> Fraction:
        return sum((kind.row for kind in self.kinds), Fraction(0))

    @property
    def back_each(self) -> Fraction:
        return sum((kind.each for kind in self.back or ()), Fraction(0))

    @property
    def back_row(self) -> Fraction:
        return sum((kind.row for kind in self.back or ()), Fraction(0))


# The same tensor in other dimensions: nothing is done, and nothing moves.
VIEW = Function("view", (), ROGOZHNIKOV, (), reshapes=True, lies=VIEWED)
# A part of a tensor along a dimension; several behind one another; a cache with entries written into it.
SLICE = Function(CUT, (), HARRIS, (), reshapes=True, lies=CUT)
CONCAT = Function(JOINED, (), HARRIS, (), reshapes=True, lies=JOINED)
APPEND = Function(APPENDED, (), HARRIS, operands=2, reshapes=True, lies=APPENDED)
# The place of this turn along a dimension of which a repeat has as many turns; and what each turn puts at its place.
PLACE = Function(PLACED, (), BRADBURY, (), reshapes=True, lies=PLACED)
COLLECT = Function(COLLECTED, (), BRADBURY, (), reshapes=True, lies=COLLECTED)


# What is the same along dimensions that it lacked: the gradient of a sum.
BROADCAST = Function("broadcast", (), IEEE, reshapes=True)


def user_function(name: str, each: Fraction, back: Fraction | None = None) -> Function:
    """A function of a user's own: so many operations for each element.

    >>> user_function("swish4", Fraction(4)).each
    Fraction(4, 1)
    """
    forward, backward = (None if n is None else (Kind("operations", n, Fraction(0)),) for n in (each, back))
    return Function(name, forward or (), "given", backward)


def _kinds(written: str) -> tuple[Kind, ...]:
    """Kinds as the table writes them: ``comparisons N - 1, subtractions N``."""
    kinds = []
    for part in filter(None, written.split(", ")):
        *words, count = part.replace(" - ", "-").replace(" + ", "+").split(" ")
        number, _, row = count.partition("N")
        per_element = Fraction(number or 1) if "N" in count else Fraction(0)
        kinds.append(Kind(" ".join(words), per_element, Fraction(row or 0) if "N" in count else Fraction(number)))
    return tuple(kinds)


def _each(name: str, source: str, forward: str, back: str, needs: str = OPERANDS, operands: int = 1) -> Function:
    return Function(name, _kinds(forward), source, _kinds(back), operands=operands, needs=needs)


def _rows(name: str, source: str, forward: str, back: str, needs: str = OPERANDS, gains: int = 0) -> Function:
    return Function(name, _kinds(forward), source, _kinds(back), rows=True, gains=gains, needs=needs)


FUNCTIONS: Mapping[str, Function] = {
    function.name: function
    for function in (
        # y = max(x, 0); dy where y > 0
        _each("relu", NAIR, "comparisons N", "comparisons N, multiplications N", RESULT),
        # x/2 (1 + t), t = tanh(a (x + b x^3)); dy ((1 + t)/2 + a x/2 (1 - t^2)(1 + 3b x^2))
        _each(
            "gelu",
            HENDRYCKS,
            "multiplications 6N, additions 2N, hyperbolic tangents N",
            "multiplications 7N, additions 2N, subtractions N",
        ),
        # s = 1/(1 + exp(-x)); dy s (1 - s)
        _each(
            "sigmoid",
            ELFWING,
            "negations N, exponentials N, additions N, divisions N",
            "subtractions N, multiplications 2N",
            RESULT,
        ),
        # x s; dy s (1 + x (1 - s))
        _each(
            "silu",
            ELFWING,
            "negations N, exponentials N, additions N, divisions N, multiplications N",
            "subtractions N, multiplications 3N, additions N",
        ),
        # log(1 + e), e = exp(x); dy e/(1 + e)
        _each("softplus", DUGAS, "exponentials N, additions N, logarithms N", "divisions N, multiplications N"),
        _each("tanh", IEEE, "hyperbolic tangents N", "multiplications 2N, subtractions N", RESULT),
        _each("exp", IEEE, "exponentials N", "multiplications N", RESULT),
        _each("log", IEEE, "logarithms N", "divisions N"),
        _each("square", IEEE, "multiplications N", "multiplications 2N"),
        # dy/(2 sqrt(x))
        _each("sqrt", IEEE, "roots N", "multiplications N, divisions N", RESULT),
        # -dy y^3/2
        _each("rsqrt", IEEE, "reciprocal roots N", "multiplications 4N", RESULT),
        # -dy y^2
        _each("reciprocal", IEEE, "divisions N", "multiplications 2N, negations N", RESULT),
        # a product with a number, a sum with a number
        _each("scale", IEEE, "multiplications N", "multiplications N", NOTHING),
        _each("shift", IEEE, "additions N", "", NOTHING),
        # y = a/b; dy/b, and -dy y/b to the divisor
        _each("divide", IEEE, "divisions N", "divisions N, multiplications N, negations N", DIVISOR, operands=2),
        # b m + (1 - b) g; b dy and (1 - b) dy
        _each("ema", KINGMA, "multiplications 2N, additions N", "multiplications 2N", NOTHING, operands=2),
        # two products and a sum for each element; a rotation back
        _each(
            "rope",
            SU,
            "multiplications 2N, additions 1/2N, subtractions 1/2N",
            "multiplications 2N, additions 1/2N, subtractions 1/2N",
            NOTHING,
        ),
        _each("convert", IEEE, "conversions N", "conversions N", NOTHING),
        # round(x/s) between two bounds; the straight-through gradient
        _each("quantize", JACOB, "multiplications N, conversions N, comparisons 2N", "", NOTHING),
        # the maximum, exp(x - maximum), their sum, the quotients; p (dy - sum of dy p)
        _rows(
            "softmax",
            MILAKOV,
            "comparisons N - 1, subtractions N, exponentials N, additions N - 1, divisions N",
            "multiplications 2N, additions N - 1, subtractions N",
            RESULT,
        ),
        # x r g, r = 1/sqrt(mean of x^2 + e); r (g dy - n mean of n g dy), n = x r
        _rows(
            "rms_norm",
            ZHANG,
            "multiplications 3N, additions N, divisions 1, reciprocal roots 1",
            "multiplications 4N, additions N - 1, divisions 1, subtractions N",
            gains=1,
        ),
        # (x - mean) r g + b; r (a - mean of a - n mean of n a), a = g dy
        _rows(
            "layer_norm",
            BA,
            "additions 3N - 1, divisions 2, subtractions N, multiplications 3N, reciprocal roots 1",
            "multiplications 4N, additions 2N - 2, divisions 2, subtractions 2N",
            gains=2,
        ),
        # the same elements in other dimensions
        Function("rearrange", (), ROGOZHNIKOV, (), reshapes=True),
        # the patches under a filter, one for each place; their gradients are added up
        Function("windows", (), CHELLAPILLA, _kinds("additions N"), reshapes=True),
        # the rows of a table that integers name
        Function("lookup", (), MIKOLOV, (), operands=2, gathers=True),
    )
}
