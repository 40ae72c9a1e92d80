"""What answers say, as values: quantities, conditions with their guards, regimes, verdicts, numbers at sizes of some five hundred requests.

The data hold a request and, under the place of each value in its record, what it was when it was last reviewed. Formulas are
compared at exact points, conditions by the quotient of their sides, so that neither wording nor the order of terms matters.
A row of which a value was changed or went says why, under ``changed``.
"""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from hashlib import blake2s
from pathlib import Path
from typing import Any

import pytest
from effort import is_thorough

import symroof as sr

ROOT = Path(__file__).parent.parent
DATA = Path(__file__).parent / "data" / "golden_numbers.jsonl"
# Words and accounts of how a thing was proved, floats beside exact numbers, and tables that repeat the answer at other sizes.
NO_VALUES = {
    *("text", "check", "times", "corners", "count", "corner", "operand", "pass", "complete", "cancelled", "whole"),
    *("schema", "title", "operation", "hardware", "name", "link", "knobs", "remains", "change"),
    *("detail", "line", "column", "problem", "links", "source", "sentence", "needs", "counterexample", "diagnosis"),
}
NAMED_BY = ("name", "regime", "variable", "claim", "chip", "file")


def answer(request: Mapping[str, Any]) -> dict[str, Any]:
    """The values of the answer to a request, each under its place in the record."""
    options = dict(request)
    verb, asked = options.pop("ask"), options.pop("operation")
    if verb == "verify":
        record = json.loads(sr.verify(ROOT / asked).to_json())["files"][0]
        return {
            f"{i} {j['claim']}": [j["verdict"], j["value"]] for i, j in enumerate(record["judgements"], 1)
        }  # a claim may stand twice
    if verb == "derive file":
        from symroof.reading.problems import read_problem, read_problem_file

        answers = [sr.derive(read_problem(table)) for table in read_problem_file(ROOT / asked)]
    else:
        answers = [getattr(sr, verb)(asked, **options)]
    records = [json.loads(each.to_json()) for each in answers]
    trees = [record.get("answer", record) for record in records]
    return dict(leaf for i, tree in enumerate(trees, 1) for leaf in leaves(tree, "" if len(trees) == 1 else f"{i}."))


def leaves(tree: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Every value of a record with its place; parts of a list by their names, where they have one."""
    if isinstance(tree, dict):
        for key, part in tree.items():
            if key not in NO_VALUES and not key.endswith("float"):
                yield from leaves(part, f"{place}{key}.")
    elif isinstance(tree, list):
        for i, part in enumerate(tree):
            known = [part[key] for key in NAMED_BY if isinstance(part, dict) and part.get(key)]
            yield from leaves(part, f"{place}{known[0] if known else i}.")
    elif tree is not None:
        yield place.rstrip("."), tree


def same(was: Any, now: Any) -> bool:
    """Whether two values of a record are one: the same text, or formulas that agree at exact points."""
    if was == now or not isinstance(was, str) or not isinstance(now, str):
        return was == now or (isinstance(was, list) and isinstance(now, list) and all(map(same, was, now)))
    try:
        return all(near(value(was, point), value(now, point)) for point in range(3))
    except (SyntaxError, ValueError, ZeroDivisionError):
        return False


def near(a: Any, b: Any) -> bool:
    """Equal; roots and logarithms to twelve digits."""
    if isinstance(a, tuple) or isinstance(b, tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(near, a, b))
    if isinstance(a, str) or isinstance(b, str):
        return bool(a == b)
    return bool(a == b or ((isinstance(a, float) or isinstance(b, float)) and math.isclose(a, b, rel_tol=1e-12)))


def value(text: str, point: int) -> Any:
    """The value of a formula where its names have numbers made of them and of the point; of a condition, those of its parts."""
    text = re.sub(r"(?<![<>=])=(?!=)", "==", text.replace("^", "**"))
    return _value(ast.parse(text, mode="eval").body, point)


FUNCTIONS = {"max": max, "min": min, "ceil": math.ceil, "floor": math.floor, "sqrt": math.sqrt, "log": math.log}
FUNCTIONS |= {"log2": math.log2, "exp": lambda x: math.exp(min(x, 500)), "abs": abs}


def _value(node: ast.AST, point: int) -> Any:
    match node:
        case ast.Constant(value=int() | float()):
            return Fraction(repr(node.value))
        case ast.Name() | ast.Attribute():
            return number(ast.unparse(node), point)
        case ast.Call(func=ast.Name(id=name)) if name in FUNCTIONS:
            return exact(FUNCTIONS[name](*(_value(part, point) for part in node.args)))
        case ast.Call():
            return number(ast.unparse(node), point)
        case ast.UnaryOp(op=ast.USub()):
            return -_value(node.operand, point)
        case ast.BinOp():
            left, right = _value(node.left, point), _value(node.right, point)
            match node.op:
                case ast.Add():
                    return left + right
                case ast.Sub():
                    return left - right
                case ast.Mult():
                    return left * right
                case ast.Div():
                    return left / right
                case ast.Pow():
                    return left**right
        case ast.BoolOp():
            return (type(node.op).__name__, *sorted((_value(part, point) for part in node.values), key=repr))
        case ast.Compare():
            sides = [_value(part, point) for part in (node.left, *node.comparators)]
            signs = [type(sign).__name__ for sign in node.ops]
            return tuple(compared(*each) for each in zip(sides[:-1], signs, sides[1:], strict=True))
    raise ValueError(ast.dump(node))


def exact(x: Any) -> Any:
    return Fraction(x) if isinstance(x, int) else x


def compared(left: Any, sign: str, right: Any) -> tuple[str, Any]:
    """A relation as less or equal between 1 and a quotient, whichever side stands first."""
    if sign.startswith("Gt"):
        left, sign, right = right, f"Lt{sign[2:]}", left
    return sign, left / right if right else left


def number(name: str, point: int) -> Fraction:
    """A number above 1 that is made of the name: another one at each point."""
    digest = int.from_bytes(blake2s(f"{name} {point}".encode()).digest()[:3])
    return Fraction(digest + 1000, 997)


def rows() -> list[dict[str, Any]]:
    """All requests with what was said; in a quick run the forty that are marked so."""
    known = [json.loads(line) for line in DATA.read_text("utf-8").splitlines()]
    return [row for row in known if is_thorough() or row["quick"]]


@pytest.mark.part(1000)
@pytest.mark.parametrize("row", [pytest.param(row, id=f"{row['id']} {row['request']['ask']}") for row in rows()])
def test_answers_say_what_they_said(row):
    now = answer(row["request"])
    differs = {place: (was, now.get(place)) for place, was in row["says"].items() if not same(was, now.get(place))}
    assert not differs, f"{row['request']}: {differs}"


def test_values_that_differ_are_told_apart():
    """Another order of terms is the same value; another coefficient, sign, bound, relation or name is not."""
    assert same("B*D*F/(B*D + D*F + B*F)", "F*D*B/(D*F + F*B + D*B)")
    assert same("B > 9850/41", "9850/41 < B")
    assert same("41*D*F > 9850*(D + F)", "D*F > 9850/41*(D + F)")
    assert same("sqrt(2)*sqrt(N)", "sqrt(2*N)")
    for was, now in [("2*B*D", "2*B*D + 1"), ("B > 240", "B >= 240"), ("B > 240", "B < 240"), ("B > 240", "D > 240")]:
        assert not same(was, now)
    assert not same("max(B, D)", "min(B, D)")
    assert not same("always", "never")
    assert not same("1e14*B", None)


def write() -> None:
    """Write what the answers say now; to be reviewed as a difference."""
    lines = [json.dumps({**row, "says": answer(row["request"])}, ensure_ascii=False) for row in rows()]
    DATA.write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    write()
