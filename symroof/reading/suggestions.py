"""Typed operations that stand in the text of a document, and the comments that would tell symroof about them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from symroof.errors import SymroofError
from symroof.model.dtype import dtype
from symroof.reading.documents import Document, Written
from symroof.reading.operations import read_operation

TEXT = re.compile(r"\\(?:text|textrm|texttt|mathrm|mathtt|mathit|mathbf)\s*\{([^{}]*)\}")
ARROWS = ("->", "→", "\\rightarrow", "\\to")


def typed_operation(text: str) -> tuple[str, bool] | None:
    """The operation that a piece of text writes, in canonical form, and whether it states its dtypes; None for others.

    >>> typed_operation(r"X[B, D] \\cdot_D Y[D, F] \\rightarrow Z[B, F]")
    ('X[B, D] *_D Y[D, F] -> Z[B, F]', False)
    """
    if "[" not in text or not any(arrow in text for arrow in ARROWS):
        return None
    plain = " ".join(TEXT.sub(r"\1", text).replace("\\_", "_").replace("\\left", "").replace("\\right]", "]").split())
    try:
        return str(read_operation(plain)), True
    except SymroofError:
        pass
    try:
        read_operation(plain, dtype("bf16"))
    except SymroofError:
        return None
    return plain.replace("\\cdot", "*").replace("\\times", "*").replace("\\rightarrow", "->").replace(
        "\\to", "->"
    ), False


def suggested(document: Document, tex: bool) -> Iterator[tuple[int, str]]:
    """Lines, and the comments to paste above them, one for each operation that is seen first there."""
    seen = set()
    for part in document.parts:
        found = typed_operation(part.text) if isinstance(part, Written) else None
        if found is None or found in seen or not isinstance(part, Written):
            continue
        seen.add(found)
        operation, typed = found
        lines = [
            f'operation = "{operation}"',
            *([] if typed else ['dtype     = "bf16"']),
            '# hardware = "…"   see `symroof hardware`',
        ]
        comment = (
            "\n".join(f"% symroof: {line}" for line in lines) if tex else "\n".join(["<!-- symroof", *lines, "-->"])
        )
        yield part.place.line, comment
