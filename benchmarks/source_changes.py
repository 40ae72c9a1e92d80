"""Small changes of Python source: a comparison turned, a number one higher, a condition negated, a value not returned.

What cannot change behaviour is left alone: docstrings, annotations, decorators, ``__repr__``, messages of errors.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

COMPARISONS: dict[type, type] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
ARITHMETIC: dict[type, type] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult, ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr,
}  # fmt: skip
PARTNERS = {"min": "max", "max": "min", "any": "all", "all": "any"}
STATES = ("TYPE_CHECKING", "__name__")
SETTINGS = ("repr", "maxsize", "slots", "frozen", "strict")  # keywords that only say how, or guard against a bug


@dataclass(frozen=True)
class Change:
    """One change: bytes ``start`` to ``stop`` of a file become ``after``. ``scope`` are the lines of the function's body."""

    path: str
    first: int
    last: int
    start: int
    stop: int
    before: str
    after: str
    scope: tuple[int, int] | None


def changes(root: Path, path: Path) -> list[Change]:
    """Every change of one file, in the order of its text."""
    source = path.read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    made = []
    for node, after, scope in _walk(ast.parse(source), None):
        start, stop = starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset
        name = path.relative_to(root).as_posix()
        made.append(Change(name, node.lineno, node.end_lineno, start, stop, ast.unparse(node), after, scope))
    return sorted(made, key=lambda change: (change.start, change.stop, change.after))


def _walk(node: ast.AST, scope: tuple[int, int] | None) -> Iterator[tuple[ast.AST, str, tuple[int, int] | None]]:
    for part, after in _alternatives(node):
        yield part, after, scope
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "type_params") or _is_left_alone(node):
            continue
        body = field == "body" and isinstance(node, ast.FunctionDef)
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _walk(child, (value[0].lineno, value[-1].end_lineno) if body else scope)


def _is_left_alone(node: ast.AST) -> bool:
    match node:
        case ast.JoinedStr() | ast.Raise() | ast.Assert() | ast.Import() | ast.ImportFrom():
            return True
        case ast.Expr(value=ast.Constant()) | ast.FunctionDef(name="__repr__") | ast.keyword(arg="repr"):
            return True
        case ast.Call(func=ast.Name(id=name)) | ast.Call(func=ast.Attribute(attr=name)):
            return name.endswith("Error") or name == "refuted"
        case ast.keyword(arg=name):
            return name in SETTINGS
        case ast.If(test=ast.Name(id=name)):
            return name in STATES
    return False


def _is_type_or_text(node: ast.BinOp) -> bool:
    """``T | None``, or text put together, which is prose and not arithmetic."""
    ends = [end for end in (node.left, node.right) if isinstance(end, ast.Constant | ast.JoinedStr)]
    return any(isinstance(end, ast.JoinedStr) or not isinstance(end.value, int | float) for end in ends)


def _alternatives(node: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """Nodes, and what may stand in their places; expressions come in brackets."""
    for other in _expressions(node):
        yield node, f"({ast.unparse(other)})"
    match node:
        case ast.Return(value=ast.expr() as value) if not (isinstance(value, ast.Constant) and value.value is None):
            yield node, "return None"
        case ast.Continue():
            yield node, "break"
        case ast.AugAssign(op=op) if type(op) in ARITHMETIC:
            yield node, ast.unparse(_with(node, op=ARITHMETIC[type(op)]()))
        case ast.Expr(value=ast.Call()):
            yield node, "pass"
        case ast.If(test=test) | ast.While(test=test) if not isinstance(test, ast.Compare | ast.UnaryOp):
            yield test, f"(not ({ast.unparse(test)}))"
        case ast.Compare(comparators=parts) | ast.Dict(keys=parts):
            for part in parts:
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    yield part, repr(part.value + "_")


def _expressions(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Compare(ops=ops):
            for i, op in enumerate(ops):
                yield _with(node, ops=[*ops[:i], COMPARISONS[type(op)](), *ops[i + 1 :]])
        case ast.BinOp(op=op) if type(op) in ARITHMETIC and not _is_type_or_text(node):
            yield _with(node, op=ARITHMETIC[type(op)]())
        case ast.BoolOp(op=op, values=values):
            yield _with(node, op=ast.Or() if isinstance(op, ast.And) else ast.And())
            for i in range(len(values)):
                rest = [*values[:i], *values[i + 1 :]]
                yield rest[0] if len(rest) == 1 else _with(node, values=rest)
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield operand
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield ast.Constant(value + 1)
        case ast.Constant(value=float(value)):
            yield ast.Constant(value * 2 or 1.0)
        case ast.IfExp(test=test):
            yield _with(node, test=ast.UnaryOp(ast.Not(), test))
        case ast.Call(func=ast.Name(id=name)) if name in PARTNERS:
            yield _with(node, func=ast.Name(PARTNERS[name]))
        case ast.Call(func=ast.Name(id="sorted"), args=[single], keywords=[]):
            yield ast.Call(ast.Name("list"), [single], [])
        case ast.ListComp(generators=[one]) | ast.GeneratorExp(generators=[one]) | ast.SetComp(generators=[one]) if (
            one.ifs
        ):
            yield _with(node, generators=[_with(one, ifs=[])])


def _with(node: ast.AST, **fields: object) -> ast.AST:
    changed = copy.copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed
