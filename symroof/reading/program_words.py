"""The words that a statement of a program begins with, and how a program is told from an operation."""

from __future__ import annotations

import re

from symroof.model.nodes import ROLES

COMMENT = re.compile(r"#[^\n]*")
END = ";"
WORDS = (*ROLES, "output", "fuse", "repeat", "block", "where", "mesh")
STATEMENT = re.compile(rf"(?:^|[;{{])\s*(?:({'|'.join(WORDS)})\b(?!\s*=)|[^\W\d]\w*\s*=(?![=>]))", re.MULTILINE)


def is_program(text: str) -> bool:
    """Whether a text is written in statements.

    >>> is_program("input x: bf16[B, D]; y = relu(x)"), is_program("bf16[B, D] * bf16[D, F] -> bf16[B, F]")
    (True, False)
    """
    return STATEMENT.search(COMMENT.sub("", text)) is not None
