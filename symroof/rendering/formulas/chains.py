"""Relations of a regime as they are written on one line, and read back: ``B ~~ D << F``, ``B << D, F``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from symroof.formula import Compare, Formula
from symroof.rendering.pages.pen import Pen

# Formulas, then relations and formulas in turn; formulas side by side stand with commas.
Item: TypeAlias = "list[str | tuple[Formula, ...]]"


def chained(relations: Iterable[Compare]) -> list[Item]:
    """The relations joined where one goes on from the one before.

    >>> from symroof.formula import Name
    >>> B, D, F = map(Name, "BDF")
    >>> chained([Compare(B, "<<", D), Compare(B, "<<", F)]) == [[(B,), "<<", (D, F)]]
    True
    >>> chained([Compare(B, "~~", D), Compare(D, "<<", F)]) == [[(B,), "~~", (D,), "<<", (F,)]]
    True
    """
    items: list[Item] = []
    for r in relations:
        last = items[-1] if items else None
        if last is not None and last[-2] == r.relation == "<<" and last[-3] and last[-3][-1] == r.left:
            last[-1] = (*last[-1], r.right)
        elif last is not None and last[-2] == r.relation == "->" and len(last) == 3:
            last[0] = (*last[0], r.left)
        elif last is not None and last[-2] != "->" and r.relation != "->" and last[-1] == (r.left,):
            last += [r.relation, (r.right,)]
        else:
            items.append([(r.left,), r.relation, (r.right,)])
    return items


def condition(relations: Iterable[Compare], pen: Pen, last: str = ", ") -> str:
    """The relations in a format, ``last`` before the last one; in text they can be given to ``--assume``.

    >>> from symroof.derivation.layout import Layout
    >>> from symroof.formula import Infinity, Name
    >>> from symroof.rendering.pages.pen import claims_pen
    >>> infinity = Infinity()
    >>> condition([Compare(Name("N"), "->", infinity), Compare(Name("M"), "->", infinity)], claims_pen(Layout(())))
    'N, M -> oo'
    """
    items = chained(relations)
    # a list before -> must not follow << with a comma, where it would be read as a part of that
    items.sort(key=lambda item: item[-2] != "->")
    texts = [pen.inline(*(f"regime {part}" if isinstance(part, str) else part for part in item)) for item in items]
    return last.join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)
