"""What a document offers for comments: the operations, chips, sizes, definitions and regimes that stand in it.

Nothing here is decided: each proposal is tried, in the next module.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from symroof.errors import SymroofError
from symroof.formula import Formula, Name, names
from symroof.model.dtype import BY_NAME
from symroof.reading.catalogue import shipped
from symroof.reading.documents import FRONT_MATTER, Document, Written
from symroof.reading.operations import typed_operation
from symroof.reading.vocabulary import WORDS
from symroof.verification.comments import InForce
from symroof.verification.discourse import Discourse
from symroof.verification.judgement import FileReport
from symroof.verification.scopes import claims_in

ANY_TYPE = "bf16"
TYPES = "|".join(sorted(BY_NAME, key=len, reverse=True))
TYPE = re.compile(rf"\b(?:{TYPES})\b")
TENSOR = re.compile(rf"\b(?P<type>{TYPES})\[(?P<shape>[A-Z](?:, ?[A-Z])*)\]")
SIZE = re.compile(r"(?:[A-Za-z] = )+[\d,_.{}]*\d(?:e\d+)?")

# What a comment says: a text; several, as `assume` takes them; or names with their formulas, as `let` does.
Options = tuple[tuple[str, Any], ...]


class Proposal(NamedTuple):
    """A comment above a line."""

    line: int
    options: Options


def operations(document: Document) -> Iterator[Proposal]:
    """The operations that stand in the text, on no chip, and on those that are mentioned last before and next behind."""
    mentions = sorted(_chips(document))
    for line, operation in dict.fromkeys(_named(document)):
        at = _block(document, line)
        before = [chip for mentioned, chip in mentions if mentioned <= line][-1:]
        behind = [chip for mentioned, chip in mentions if mentioned > line][:1]
        yield Proposal(at, operation)
        yield from (Proposal(at, (*operation, ("hardware", chip))) for chip in dict.fromkeys(before + behind))


def _named(document: Document) -> Iterator[tuple[int, Options]]:
    """The operations that are typed in formulas, those of typed tensors on one line, and those that words name first."""
    lines = document.text.split("\n")
    for part in document.parts:
        if isinstance(part, Written) and (found := typed_operation(part.text)) is not None:
            spoken = TYPE.search(document.prose.so_far(part.start)) or TYPE.search(lines[part.place.line - 1])
            typed = (("dtype", spoken.group() if spoken else ANY_TYPE),) * (not found[1])
            yield part.place.line, (("operation", found[0]), *typed)
    for line, text in enumerate(lines, 1):
        tensors = TENSOR.findall(text)
        if len(tensors) > 1 and (operation := _product(tensors)):
            yield line, (("operation", operation),)
    for words in WORDS["operations"].values():
        said = (n for n, text in enumerate(lines, 1) if any(phrase in text.casefold() for phrase in words["phrases"]))
        for line in islice(said, 1):
            yield from ((line, (("operation", operation),)) for operation in words["operations"])


def _chips(document: Document) -> Iterator[tuple[int, str]]:
    """The lines that mention a chip, and which."""
    for chip in shipped().values():
        names = "|".join(map(re.escape, (chip.title, chip.name, *chip.aliases)))
        for match in re.finditer(rf"(?<!\w)(?:{names})(?!\w)", document.text, re.IGNORECASE):
            yield document.text.count("\n", 0, match.start()) + 1, chip.name


def _product(tensors: Iterable[tuple[str, str]]) -> str | None:
    """The product of two typed tensors that share a dimension: into a third one of what is left, or of the first one's type."""
    (a, first), (b, second), *more = [(element, re.split(", ?", shape)) for element, shape in tensors]
    left = [d for d in (*first, *second) if (d in first) != (d in second)]
    if not set(first) & set(second) or not left:
        return None
    element, shape = next(((c, third) for c, third in more if set(third) == set(left)), (a, left))
    tensor = "{}[{}]".format
    return f"{tensor(a, ', '.join(first))} * {tensor(b, ', '.join(second))} -> {tensor(element, ', '.join(shape))}"


def sizes(document: Document, report: FileReport) -> Iterator[Proposal]:
    """The sizes that the text puts in."""
    for skip in report.skipped:
        text = skip.text.replace("{,}", "").replace(",", "")
        if skip.reason.kind in ("size", "definition") and SIZE.fullmatch(text):
            yield Proposal(_block(document, skip.line), (("assume", (text,)),))


def definitions(
    document: Document, path: Path, report: FileReport, write: Callable[[Formula], str]
) -> Iterator[Proposal]:
    """What the text defines, said once for all of it."""
    force = InForce({}, frozenset(), path.parent)
    defined = {(skip.line, skip.column) for skip in report.skipped if skip.reason.kind == "definition"}
    for part in document.parts:
        if isinstance(part, Written) and part.place in defined:
            with suppress(SymroofError):
                link = claims_in(part, force, Discourse())[0][0].links[0]
                if isinstance(link.left, Name) and link.relation == "=" and names(link.right):
                    yield Proposal(_top(document), (("let", ((link.left.name, write(link.right)),)),))


def regimes(document: Document, report: FileReport, write: Callable[[Formula], str]) -> Iterator[Proposal]:
    """The regimes under which claims are true that are conditional."""
    for judgement in report.judgements:
        worst = judgement.worst
        if judgement.verdict == "conditional" and worst is not None and judgement.line is not None:
            said = tuple(f"{write(r.left)} {r.relation} {write(r.right)}" for r in worst.needs[0])
            yield Proposal(_block(document, judgement.line), (("assume", said),))


def _block(document: Document, line: int) -> int:
    """The first line of the block that a line stands in: a comment above it divides nothing."""
    lines = document.text.split("\n")
    return next((n + 1 for n in range(line - 1, 0, -1) if not lines[n - 1].strip()), 1)


def _top(document: Document) -> int:
    """The first line behind the front matter."""
    matter = FRONT_MATTER.match(document.text)
    return matter.group().count("\n") + 2 if matter else 1
