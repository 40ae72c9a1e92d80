"""Regimes: which sizes are small beside which.

regime = item { "," item }
item   = expr rel expr { rel expr }     B ~~ D << F relates neighbours
       | expr                           after "x << y": also x << expr; before "x -> oo": also expr -> oo;
                                        before "x >> y": also expr >> y; after it: also x >> expr
rel    = "<<" | ">>" | "->" | "=" | "~" | "~~" | "<=" | ">="
"""

from __future__ import annotations

from symroof.errors import ReadingError
from symroof.formula import Compare, Formula, Infinity
from symroof.reading.expressions import ExpressionReader, Scope
from symroof.reading.scanner import Token

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
    words: list[str] = []
    hint: str | None = None
    while True:
        start = token = reader.token
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
                words.append(_source(reader, token))
                alone = token
        while reader.at(*RELATIONS):
            token = reader.next()
            relation = token.text
            beyond = reader.token
            right = reader.expression()
            if waiting and hint is None and relation == "<<":
                words.append(reader.source[start.start : token.start].strip())
                hint = f"did you mean {', '.join(f'{word} << {_source(reader, beyond)}' for word in words)}?"
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
            "an expression stands alone in the regime",
            token=alone,
            expected="a relation, as in B << D or D -> oo",
            hint=hint,
        )
    return tuple(relations)


def _source(reader: ExpressionReader, first: Token) -> str:
    """What was written from a token up to the cursor."""
    return reader.source[first.start : reader.tokens[reader.index - 1].end]


def read_question(text: str, scope: Scope) -> tuple[Formula, Formula | None]:
    """What `--of` asks about: a quantity such as ``T_comms/T_math``; or the two sides of an approximation whose regime is
    sought, as in ``BD/(B + D) ~ B``.

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
