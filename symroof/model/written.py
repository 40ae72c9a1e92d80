"""The formula that a Python cost function writes, in the order in which it was written.

Only plain arithmetic is read: a docstring and one return of +, -, *, /, ** over parameters and whole numbers.
Anything else has no written form (None), and its value is typeset instead.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from symroof.formula import Formula, Group, Name, Negative, Number, Power, Product, Quotient, Sum


def written(function: Callable[..., Any]) -> Formula | None:
    """
    >>> def flops(N): return N + (N - 1)
    >>> [type(term).__name__ for term in written(flops).terms]
    ['Name', 'Group']
    """
    body = returned(function)
    return None if body is None else _read(body)


def returned(function: Callable[..., Any]) -> ast.expr | None:
    """The expression that the function returns, where that is all it does."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
        return None
    definition = tree.body[0] if tree.body else None
    if not isinstance(definition, ast.FunctionDef):
        return None
    body = [s for s in definition.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    if len(body) != 1 or not isinstance(body[0], ast.Return) or body[0].value is None:
        return None
    return body[0].value


def _read(node: ast.expr) -> Formula | None:
    match node:
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            return Number(Fraction(value))
        case ast.Name(id=name):
            return Name(name)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            inner = _read(operand)
            return None if inner is None else Negative(inner)
        case ast.BinOp(left=left, op=operator, right=right):
            first, second = _read(left), _read(right)
            return None if first is None or second is None else _join(first, operator, second)
    return None


def _join(left: Formula, operator: ast.operator, right: Formula) -> Formula | None:
    match operator:
        case ast.Add():
            return Sum((*_terms(left), Group(right) if isinstance(right, Sum) else right))
        case ast.Sub():
            return Sum((*_terms(left), Negative(Group(right) if isinstance(right, Sum) else right)))
        case ast.Mult():
            return Product((*_factors(left), *_factors(right)))
        case ast.Div():
            return Quotient(left, right)
        case ast.Pow():
            return Power(left, right)
    return None


def _terms(formula: Formula) -> tuple[Formula, ...]:
    return formula.terms if isinstance(formula, Sum) else (formula,)


def _factors(formula: Formula) -> tuple[Formula, ...]:
    return formula.factors if isinstance(formula, Product) else (formula,)
