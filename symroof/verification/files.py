"""Files of problems and documents, judged; and judged again under other figures."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from symroof.errors import SymroofError, bug
from symroof.reading.claim_sets import read_exercise
from symroof.reading.problems import Options, merged, read_problem_file
from symroof.reading.toml import claim_places
from symroof.verification.document_claims import judge_document
from symroof.verification.judge import judge_exercise
from symroof.verification.verdicts import FileReport, Judgement

HEADS = re.compile(r"^[ \t]*\[\[[ \t]*problem[ \t]*\]\]", re.MULTILINE)
GAP = r"[\"'\s]*"  # what a quotation of a table leaves out


@dataclass(frozen=True, slots=True)
class VerdictChange:
    """A claim whose verdict or value is another one under other figures."""

    file: str
    before: Judgement
    after: Judgement


def judge_file(path: Path | str, overrides: Options | None = None, defaults: Options | None = None) -> FileReport:
    """The judgements on a file: of problems if it is TOML, else a document; ``defaults`` are options that hold where it
    says nothing else. Faults of the input are in the report."""
    path = Path(path)
    kind = "problems" if path.suffix.lower() == ".toml" else "document"
    try:
        judge = _judge_problems if kind == "problems" else judge_document
        return judge(path, overrides or {}, defaults or {})
    except SymroofError as error:
        failed = str(error)
    except Exception as error:  # a bug in the judgement of one file: the others are still judged
        if os.environ.get("SYMROOF_TRACEBACK"):
            raise
        kind, failed = "document", bug(error)
    return FileReport(str(path), (), kind, error=failed if failed.startswith(str(path)) else f"{path}: {failed}")


def _judge_problems(path: Path, overrides: Options, defaults: Options) -> FileReport:
    """The judgements on every problem that can be read; of the others, what is wrong with them."""
    judgements: list[Judgement] = []
    errors: list[str] = []
    langs: set[str | None] = set()
    tables = read_problem_file(path)
    lines = _Lines(path)
    for index, table in enumerate(tables):
        try:
            judged = judge_exercise(read_exercise(merged({**defaults, **table}, overrides, path.parent)))
            judgements += [lines.placed(judgement) for judgement in judged]
            langs.add(table.get("lang"))
        except SymroofError as error:
            title = f" ({table['title']})" if table.get("title") else ""
            place = ":".join(map(str, (path, *lines.fault(index, error))))
            error.problem = f"{place}: " + (f"problem {index + 1}{title}: " if len(tables) > 1 else "") + error.problem
            errors.append(str(error))
            claims = table.get("claims")
            for claim in claims if isinstance(claims, list) else ():
                lines.place(claim["claim"] if isinstance(claim, Mapping) and "claim" in claim else str(claim))
    lang, why = langs.pop() if len(langs) == 1 else None, "\n".join(errors) or None
    return FileReport(str(path), tuple(judgements), "problems", notes=len(tables), error=why, lang=lang)


class _Lines:
    """Where the claims of a TOML file stand, found by their text, from one to the next; and where a fault of a problem does."""

    def __init__(self, path: Path) -> None:
        self.text = path.read_bytes().decode("utf-8-sig")
        self.places = list(claim_places(self.text))

    def place(self, claim: str) -> int | None:
        """The offset of the next claim of that text."""
        for index, (offset, written) in enumerate(self.places):
            if claim in (written, written.replace('\\"', '"').replace("\\\\", "\\")):
                del self.places[: index + 1]
                return offset
        return None

    def placed(self, judgement: Judgement) -> Judgement:
        offset = self.place(judgement.claim)
        if offset is None:
            return judgement
        line, column = self._line(offset + (judgement.column or 1) - 1)
        return replace(judgement, line=line, column=column)

    def fault(self, index: int, error: SymroofError) -> tuple[int, ...]:
        """The line and column of what an error points at: in the text that it quotes, or as a key of the problem."""
        if error.source is None or error.span is None:
            return ()
        start = ([head.start() for head in HEADS.finditer(self.text)] or [0])[index:][0]
        quotation, (first, last) = error.source, error.span
        before, behind = (list(map(re.escape, part.split())) for part in (quotation[:first], quotation[first:]))
        patterns = GAP.join((*before, f"({GAP.join(behind)})")), rf"\b({re.escape(quotation[first:last])})\s*="
        places = (re.compile(pattern).search(self.text, start) for pattern in patterns)
        return next((self._line(place.start(1)) for place in places if place), ())

    def _line(self, offset: int) -> tuple[int, int]:
        """The line and column of a place in the file."""
        before = self.text[:offset]
        return before.count("\n") + 1, len(before) - before.rfind("\n")


def judge_files(
    paths: Iterable[Path | str],
    overrides: Mapping[str, Any] | None = None,
    *,
    judge: Callable[..., FileReport] = judge_file,
    jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[FileReport, ...]:
    """The reports on several files, in their order, in ``jobs`` processes at once; ``judge`` is what judges one."""
    names = [str(path) for path in paths]
    judged = partial(judge, overrides=overrides)

    def reports(results: Iterator[FileReport]) -> Iterator[FileReport]:
        for done in range(len(names)):
            if progress is not None:
                progress(done, len(names))
            yield next(results)

    if jobs <= 1 or len(names) <= 1:
        return tuple(reports(map(judged, names)))
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    with ProcessPoolExecutor(min(jobs, len(names)), mp_context=get_context("spawn")) as pool:
        return tuple(reports(pool.map(judged, names)))


def verdict_changes(before: Iterable[FileReport], after: Iterable[FileReport]) -> tuple[VerdictChange, ...]:
    """The claims whose verdict or value moves between two reports on the same files."""
    changes = []
    for judgement, other in zip(before, after, strict=True):
        places = {(j.line, j.column, j.claim): j for j in other.judgements}
        pairs = ((j, places.get((j.line, j.column, j.claim))) for j in judgement.judgements)
        changes += [VerdictChange(judgement.file, a, b) for a, b in pairs if b is not None and _said(a) != _said(b)]
    return tuple(changes)


def _said(judgement: Judgement) -> tuple[object, ...]:
    return judgement.verdict, tuple(finding.value for finding in judgement.findings)
