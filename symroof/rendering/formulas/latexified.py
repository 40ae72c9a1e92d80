"""Cost functions typeset exactly as they were written: the only importer of latexify.

latexify reads a wider Python than can be printed faithfully, so the tree is checked first: plain arithmetic over
parameters and whole numbers. Every parameter travels under a placeholder, which comes back as its own letter.
latexify does not install on Python 3.14; there, and for anything refused here, the caller prints the formula itself.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from symroof.model.operation import returned
from symroof.rendering.formulas.letters import Letters

PLACEHOLDER = "symroofplaceholder{}q"


@lru_cache(maxsize=256)
def typeset(function: Callable[..., Any], letters: Letters) -> str | None:
    r"""The right-hand side of the function, or None where latexify is absent or would not print it faithfully."""
    body = returned(function)
    if body is None or _needs_own_brackets(body):
        return None
    try:
        from latexify import get_latex
    except ImportError:
        return None
    parameters = list(inspect.signature(function).parameters)
    places = {name: PLACEHOLDER.format(i) for i, name in enumerate(parameters)}
    text: str = get_latex(function, identifiers=places, use_signature=False)
    for name, place in places.items():
        for written in (rf"\mathrm{{{place}}}", place):
            text = text.replace(written, letters.latex(name))
    text = text.replace(r"\mathopen{}", "").replace(r"\mathclose{}", "")
    return _closed_up(text) if all(len(letters.latex(name)) == 1 for name in parameters) else text


def _needs_own_brackets(body: ast.expr) -> bool:
    """latexify drops the brackets of products in products, and prints two signs in a row for x - -y."""
    return any(isinstance(node, ast.BinOp) and isinstance(node.right, ast.UnaryOp) for node in ast.walk(body))


def _closed_up(text: str) -> str:
    r"""Single letters and numbers side by side, as everywhere else.

    >>> _closed_up(r"2 B \cdot N + B \left( N + 1 \right)")
    '2BN + B(N + 1)'
    """
    text = re.sub(r"\\left\(([^()\\]*)\\right\)", lambda m: f"({m.group(1).strip()})", text)
    return re.sub(r"(?<=[A-Za-z0-9)}]) (?:\\cdot )?(?=[A-Za-z(])", "", text)
