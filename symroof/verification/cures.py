"""The comment that would have a skipped formula judged, with dots where its author says what only the author knows."""

from __future__ import annotations

import re
from collections.abc import Iterable

from symroof.reading.scope import is_opaque
from symroof.verification.judgement import Omission

MOST_NAMES = 6
# What a comment says of an operation, its chip, its elements, or of the next formula.
STATED = {
    "no_meaning": 'operation = "…"',
    "row": 'operation = "…"',
    "no_chip": 'hardware = "…"',
    "no_width": 'dtype = "…"',
    "condition": 'same = "…"',
    "no_left": 'claims = ["…"]',
    "unreadable": 'claims = ["…"]',
    "function": 'claims = ["…"]',
}
# What is judged once its names have values.
VALUED = ("equation", "other_letters", "letters_added", "letters_alone", "at_sizes", "words")


def with_names(reason: Omission, names: Iterable[str]) -> Omission:
    """A reason that knows which names have no value."""
    return (
        Omission(reason.kind, {**reason.facts, "open": tuple(dict.fromkeys(names))})
        if reason.kind in VALUED
        else reason
    )


def cure(reason: Omission, *, tex: bool = False) -> str | None:
    """The comment, as its document writes it; None where the formula claims nothing, or nothing is known to help.

    >>> cure(Omission("other_letters", {"open": ("X", "Y")}))
    '<!-- symroof let = { X = "…", Y = "…" } -->'
    >>> print(cure(Omission("words", {"open": ('"Speedup"',)}), tex=True))
    % symroof: let = { speedup = "…" }
    % symroof: aliases = { "Speedup" = "speedup" }
    """
    stated = STATED.get(reason.kind)
    said = [stated] if stated else _values(reason.facts.get("open", ()))
    if tex and said:
        return "\n".join(f"% symroof: {one}" for one in said)
    return (
        "\n".join(("<!-- symroof", *said, "-->")) if len(said) > 1 else f"<!-- symroof {said[0]} -->" if said else None
    )


def _values(names: Iterable[str]) -> list[str]:
    """Values for names; words of a document get a name of their own."""
    called = {name: _called(name) for name in names}
    if not called or len(called) > MOST_NAMES or not all(called.values()):
        return []
    let = ", ".join(f'{own} = "…"' for own in called.values())
    aliases = ", ".join(f'"{name[1:-1]}" = "{own}"' for name, own in called.items() if is_opaque(name))
    return [f"let = {{ {let} }}", *([f"aliases = {{ {aliases} }}"] if aliases else [])]


def _called(name: str) -> str:
    """A name as comments write it."""
    return (
        re.sub(r"\W+", "_", name[1:-1]).strip("_").casefold()
        if is_opaque(name)
        else name
        if name.isidentifier()
        else ""
    )
