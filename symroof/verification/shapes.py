"""Products of shapes: ``[b, s, h] * [h, 4h] = [b, s, 4h]``. The inner sizes are the same, and the outer ones are the result.

Sizes are the same where the text says that they are equal; they are different where both are numbers, or multiples of the
same letters. Of different letters nobody knows whether they are two sizes: these are left out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress

from symroof.errors import SymroofError
from symroof.formula import Compare, Formula, Name, names
from symroof.proof.step import Check
from symroof.reading.latex import read_latex_expression
from symroof.reading.latex_phrases import Dialect
from symroof.reading.operations import PRODUCT_OF_SHAPES
from symroof.reading.scope import opaque
from symroof.verification.context import Context
from symroof.verification.judgement import Finding, Judgement, Omission, Remark

BY_SHAPES = Check("proved", "shapes")
MARKS = re.compile(r"\\(?:left|right|big|Big|,|;|!)|\$")


def judged_shapes(text: str, dialect: Dialect, context: Context) -> Judgement | Omission | None:
    """The judgement on a product of shapes; None for any other text."""
    match = PRODUCT_OF_SHAPES.fullmatch(MARKS.sub(" ", text).strip().rstrip(".,;"))
    if match is None or "^" in text:
        return None
    with suppress(SymroofError):
        left, right, result = (
            [_size(part, dialect) for part in re.split(r",|\\times|×", shape)] for shape in match.groups()
        )
        pairs = _pairs(left, right, result)
        if pairs is None and all(isinstance(size, Name) for size in (*left, *right, *result)):
            return Omission("operation")  # a sum over what two tensors have in common
        if pairs is None:
            return Judgement(
                text,
                "wrong",
                (
                    _finding(
                        Name(opaque("shape")), "wrong", Remark("ranks", {"ranks": (len(left), len(right), len(result))})
                    ),
                ),
            )
        told = [(a, b, _same(a, b, context)) for a, b in pairs]
        wrong = next(((a, b) for a, b, same in told if same is False), None)
        if wrong is not None:
            return Judgement(
                text,
                "wrong",
                (_finding(Compare(wrong[0], "=", wrong[1]), "wrong", Remark("shapes", {"sizes": wrong})),),
            )
        if all(same for _, _, same in told):
            return Judgement(text, "holds", (_finding(Compare(pairs[0][0], "=", pairs[0][1]), "holds"),))
    return Omission("operation")


def _finding(link: Formula, verdict: str, *remarks: Remark) -> Finding:
    return Finding(link, verdict, BY_SHAPES, remarks=remarks)


def _size(text: str, dialect: Dialect) -> Formula:
    return read_latex_expression(text.strip(), dialect)


def _pairs(
    left: Sequence[Formula], right: Sequence[Formula], result: Sequence[Formula]
) -> list[tuple[Formula, Formula]] | None:
    """Which sizes have to be the same; None where no product has such ranks."""
    if len(right) == 2 and len(result) == len(left):
        outer = [*zip(left[:-1], result[:-1], strict=True), (right[1], result[-1])]
        return [(left[-1], right[0]), *outer]
    if len(left) == len(right) == len(result) > 2:
        batch = [*zip(left[:-2], right[:-2], strict=True), *zip(left[:-2], result[:-2], strict=True)]
        return [(left[-1], right[-2]), *batch, (left[-2], result[-2]), (right[-1], result[-1])]
    return None


def _same(a: Formula, b: Formula, context: Context) -> bool | None:
    """Whether two sizes are the same: by what they are, or by what the text says of them; None where nobody knows."""
    if context.settled(Compare(context.put(a), "=", context.put(b))).truth:
        return True
    one, other = set(names(context.put(a))), set(names(context.put(b)))
    return False if one == other else None
