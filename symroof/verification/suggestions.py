"""The comments that would let more of a document be judged."""

from __future__ import annotations

from collections.abc import Iterator

from symroof.reading.documents import Document, Written
from symroof.reading.operations import typed_operation


def suggested(document: Document, tex: bool) -> Iterator[tuple[int, str]]:
    """Lines, and the comments to paste above them, one for each typed operation that is seen first there."""
    seen = set()
    for part in document.parts:
        found = typed_operation(part.text) if isinstance(part, Written) else None
        if found is not None and found not in seen:
            seen.add(found)
            operation, typed = found
            lines = [f'operation = "{operation}"', 'dtype     = "bf16"', '# hardware = "…"   see `symroof hardware`']
            if typed:
                del lines[1]
            comment = [f"% symroof: {line}" for line in lines] if tex else ["<!-- symroof", *lines, "-->"]
            yield part.place.line, "\n".join(comment)
