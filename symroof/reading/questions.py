"""What `--of` asks about: a quantity, or an approximation whose regime is sought."""

from __future__ import annotations

from symroof.errors import ReadingError
from symroof.formula import Formula
from symroof.reading.expressions import ExpressionReader, Scope


def read_question(text: str, scope: Scope) -> tuple[Formula, Formula | None]:
    """``T_comms/T_math``, or ``BD/(B + D) ~ B`` as its two sides.

    >>> from symroof.formula import Name
    >>> read_question("B ~ D", Scope(("B", "D"))) == (Name("B"), Name("D"))
    True
    """
    if not text.strip():
        raise ReadingError(
            "there is no quantity to explore", expected="a formula, or an approximation such as BD/(B + D) ~ B"
        )
    reader = ExpressionReader(text, scope)
    left = reader.expression()
    if not reader.at("~", "->"):
        reader.expect_end("'~' or the end")
        return left, None
    reader.next()
    right = reader.expression()
    reader.expect_end("the end")
    return left, right
