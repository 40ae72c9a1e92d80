"""Regimes: which sizes are small beside which.

regime = item { "," item }
item   = expr rel expr { rel expr }     B ~~ D << F relates neighbours
       | expr                           after "x << y": also x << expr; before "x -> oo": also expr -> oo;
                                        before "x >> y": also expr >> y; after it: also x >> expr
rel    = "<<" | ">>" | "->" | "=" | "~" | "~~" | "<=" | ">="
"""

from __future__ import annotations

from symroof.formula import Compare, Formula, Infinity
from symroof.reading.expressions import ExpressionReader, Scope

RELATIONS = ("<<", ">>", "->", "=", "~", "~~", "<=", ">=")


def read_regime(text: str, scope: Scope) -> tuple[Compare, ...]:
    """The relations of a regime, with ``>>`` turned round.

    >>> from symroof.formula import Name
    >>> B, D, F = map(Name, "BDF")
    >>> read_regime("B << D, F", Scope(("B", "D", "F"))) == (Compare(B, "<<", D), Compare(B, "<<", F))
    True
    """
    reader = ExpressionReader(text, scope)
    relations = regime(reader)
    reader.expect_end("a relation, ',' or the end")
    return relations


def regime(reader: ExpressionReader) -> tuple[Compare, ...]:
    """The relations under the cursor."""
    relations: list[Compare] = []
    waiting: list[Formula] = []
    small: Formula | None = None
    large: Formula | None = None
    alone = reader.token
    while True:
        token = reader.token
        left = reader.expression()
        if not reader.at(*RELATIONS):
            if reader.at("<", ">"):
                raise reader.error(expected="<<, >>, ->, =, ~, ~~, <= or >=")
            if small is not None:
                relations.append(Compare(small, "<<", left))
            elif large is not None:
                relations.append(Compare(left, "<<", large))
            else:
                waiting.append(left)
                alone = token
        while reader.at(*RELATIONS):
            token = reader.next()
            relation = token.text
            right = reader.expression()
            if (relation == "->") != isinstance(right, Infinity):
                raise reader.error("only -> leads to infinity, and to nothing else", token=token, expected="x -> oo")
            if relation == "->":
                relations += [Compare(name, "->", right) for name in (*waiting, left)]
                waiting, small, large = [], None, None
            elif relation == ">>":
                relations += [Compare(right, "<<", name) for name in (*waiting, left)]
                waiting, small, large = [], None, left
            else:
                relations.append(Compare(left, relation, right))
                small, large = (left if relation == "<<" else None), None
            left = right
        if not reader.accept(","):
            break
    if waiting:
        raise reader.error(
            "an expression stands alone in the regime", token=alone, expected="a relation, as in B << D or D -> oo"
        )
    return tuple(relations)
