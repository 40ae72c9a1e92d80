"""A document built: every block and every value written anew between its markers, and nothing else changed; for each of them a
remark, and which numbers moved."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from fractions import Fraction
from functools import cached_property
from itertools import chain, zip_longest
from pathlib import Path

from symroof.algebra.rounding import decimal
from symroof.building.block_contents import (
    DOTTED,
    Content,
    Entry,
    Lookup,
    Makers,
    Request,
    block_entries,
    content_of,
    digest,
    request_of,
)
from symroof.building.settings import Settings, settings_of
from symroof.derivation.formula_writing import Layout
from symroof.derivation.pipeline import Derivation
from symroof.errors import ReadingError, SymroofError, about
from symroof.formula import Frozen
from symroof.reading.claim_sets import read_exercise
from symroof.reading.documents import NEXT_KEYS, NEXT_WORDS, mathematics, visible
from symroof.reading.languages import USUAL_LANGUAGE, language_of
from symroof.reading.markers import SYNTAXES, Marker, Span, read_markers, require_verb
from symroof.reading.notebooks import BETWEEN, text_of, with_texts
from symroof.reading.problems import merged, read_options
from symroof.rendering.figures.picture_digest import is_own
from symroof.rendering.pages.templating import words
from symroof.rendering.pages.typesetting import Sentences, Style, typesetter_of
from symroof.rendering.records.derivations import parts
from symroof.verification.claim_context import context_of
from symroof.verification.comments import Comments

MARK = "\ufeff"  # what some editors put before the first character of a file
NAMED = ("ridge", "rule_bound", "exact_bound", "smallest_integer")


def build(
    text: str,
    makers: Makers,
    *,
    path: Path | None = None,
    dialect: str | None = None,
    settings: Settings | None = None,
    overrides: Mapping[str, object] | None = None,
    force: bool = False,
) -> BuiltDocument:
    """The document with its blocks and values made anew; a block that was changed by hand stays, unless by ``force``.

    ``makers`` are the functions that answer each verb, ``settings`` those of its path and dialect where no others are
    given, ``overrides`` options that go before those of the document, its language among them.
    Raises :class:`ReadingError` where its markers cannot be read; a block that fails is reported, and stays.
    """
    settings = settings or settings_of(path, dialect)
    name = "text" if path is None else str(path)
    notebook = path is not None and path.suffix.lower() == ".ipynb"
    mark = MARK if text.startswith(MARK) else ""
    whole = text.removeprefix(mark)
    written = text_of(whole) if notebook else whole
    seen = _without_code(written, settings.form)
    markers = read_markers(written, seen, SYNTAXES[settings.form], name)
    trusted = {key: settings.problem[key] for key in settings.problem.keys() & {"chips"}} | dict(overrides or {})
    lang = language_of({"lang": trusted.pop("lang", None)}, settings.looks.get("template"))
    builder = _Builder(name, written, seen, settings, path.parent if path else Path(), makers, trusted, lang, force)
    built = builder.built(markers)
    if built.text == written:
        return replace(built, before=text, text=text)
    again = read_markers(built.text, _without_code(built.text, settings.form), SYNTAXES[settings.form], name)
    for marker, reread in zip_longest(markers, again):
        status = builder.reports[marker.span.start].status if marker.verb else "same"
        if reread is None or marker.body != reread.body or (status in ("new", "stale") and not reread.closed):
            raise ReadingError(
                f"{name}:{marker.line}: what is written here would be code", expected="fewer spaces before it"
            )
    after = with_texts(whole, built.text.split(BETWEEN)) if notebook else built.text
    return replace(built, before=text, text=mark + after)


def _without_code(text: str, form: str) -> str:
    """The text with its code blanked out, cell by cell, as long as it is."""
    lines = text.replace("\r\n", " \n").replace("\r", "\n")
    return BETWEEN.join(visible(cell, form) for cell in lines.split(BETWEEN))


@dataclass
class _Builder:
    name: str
    text: str
    seen: str
    settings: Settings
    folder: Path
    makers: Makers
    overrides: Mapping[str, object]
    lang: str | None
    force: bool
    requests: dict[str, Request] = field(default_factory=dict)
    answers: dict[str, Entry] = field(default_factory=dict)
    files: dict[Path, bytes] = field(default_factory=dict)
    reports: dict[int, Block] = field(default_factory=dict)
    written: dict[Span, str] = field(default_factory=dict)

    def built(self, markers: Iterable[Marker]) -> BuiltDocument:
        """Blocks first, for a value may speak of one that stands behind it."""
        placed = list(self._in_context(markers))
        for marker, force in placed:
            if marker.verb != "=":
                self._try(marker, self._block, force)
        for marker, force in placed:
            if marker.verb == "=":
                self._try(marker, self._value, force)
        text = self.text
        for span, new in sorted(self.written.items(), reverse=True):
            text = text[: span.start] + new + text[span.end :]
        blocks = tuple(self.reports[place] for place in sorted(self.reports))
        lang = self.lang or self.settings.looks.get("lang") or USUAL_LANGUAGE
        return BuiltDocument(self.name, self.text, text, self.settings, lang, blocks, self.files)

    def _in_context(self, markers: Iterable[Marker]) -> Iterator[tuple[Marker, Comments]]:
        """Blocks and values, each with what the comments before it say."""
        force = Comments(self.overrides, frozenset(re.findall(r"[^\W\d]\w*", self.text)), self.folder)
        force = force.adding(self.settings.problem) if self.settings.problem else force
        for marker in markers:
            if marker.verb:
                yield marker, force
                continue
            word, *names = marker.body.split() or [""]
            if word == "forget" and len(names) == 1:
                force = force.forgetting(*names)
            elif word not in NEXT_WORDS:
                with about(f"{self.name}:{marker.line}: "):
                    table = read_options(marker.body, "the comment")
                    force = force.adding({key: value for key, value in table.items() if key not in NEXT_KEYS})

    def _try(self, marker: Marker, make: Callable[[Marker, Comments], Block], force: Comments) -> None:
        """One block or value: a fault in it is told, and it stays as it was."""
        try:
            with about(f"{self.name}:{marker.line}: "):
                self.reports[marker.span.start] = make(marker, force)
        except SymroofError as error:
            self.reports[marker.span.start] = Block(
                marker.line, marker.verb, marker.body[:40], "failed", error=str(error)
            )

    def _block(self, marker: Marker, force: Comments) -> Block:
        require_verb(marker)
        table = read_options(marker.body, "the block")
        request = request_of(marker.verb, table, force.options, self.settings, self.folder)
        if request.name is not None:
            if request.name in self.requests:
                raise ReadingError(f"id: {request.name} is the name of another block")
            if not request.name.replace("_", "").isalnum() or request.name[:1].isdigit():
                raise ReadingError(f"id: {request.name!r} is no name", expected="letters, digits and _")
            self.requests[request.name] = request
        style = replace(request.style, lang=self.lang or request.style.lang)
        request = replace(request, problem=merged(request.problem, self.overrides, self.folder), style=style)
        if marker.verb == "verify" and self.folder / str(request.own.get("file")) == Path(self.name):
            raise ReadingError("a report in the file that it judges", expected="another file")
        content = content_of(request, self.settings, self.folder, self.makers)
        for file in content.files.keys() & self.files.keys():
            raise ReadingError(f"two blocks draw {file.name}", expected='an id for each, or file = "…"')
        if not self.force:
            for file, picture in content.files.items():
                _require_own(file, picture)
        self.files |= content.files
        if request.name is not None and isinstance(content.answer, Derivation):
            stated = read_exercise({key: value for key, value in request.problem.items() if key != "sections"})
            self.answers |= block_entries(request.name, content.answer, context_of(stated))
        return self._placed(marker, request.name or "", content)

    def _placed(self, marker: Marker, name: str, content: Content) -> Block:
        """The content between the markers; one that was changed by hand stays."""
        lines = ["", *content.text.split("\n"), ""]
        prefixed = "\n".join(marker.prefix + line if line else marker.prefix.rstrip() for line in lines)
        old = self._without_prefix(marker)
        closing = SYNTAXES[self.settings.form].closing(content.digest)
        edited = bool(marker.digest) and old != content.text and digest(old) != str(marker.digest).partition("-")[0]
        moved = changes(old, content.text, _names_of_numbers(content.answer)) if marker.closed else ()
        if edited and not self.force:
            return Block(marker.line, marker.verb, name, "edited", content.text, moved)
        whole = f"\n{prefixed}\n{marker.prefix}{closing}".replace("\n", self._line_end(marker.span.start))
        span = Span(marker.inside.start, marker.span.end if marker.closed else marker.inside.start)
        same = self.text[slice(*span)] == whole
        missing = any(not file.is_file() for file in content.files)
        if not same:
            self.written[span] = whole
        status = "same" if same and not missing else "stale" if marker.closed else "new"
        return Block(marker.line, marker.verb, name, status, content.text, moved)

    def _without_prefix(self, marker: Marker) -> str:
        """What stands between the markers now, as it was before it was put there."""
        lines = self.text[slice(*marker.inside)].replace("\r\n", "\n").split("\n")
        bare = marker.prefix.rstrip()
        lines = [line.removeprefix(marker.prefix) if line != bare else "" for line in lines]
        return "\n".join(lines).strip("\n")

    def _line_end(self, place: int) -> str:
        """How the line of a place ends; the last one ends as the first."""
        end = self.text.find("\n", place)
        end = self.text.find("\n") if end < 0 else end
        return "\r\n" if self.text[end - 1 : end] == "\r" else "\n"

    @cached_property
    def _mathematics(self) -> frozenset[int]:
        """Where mathematics stands in which a marker would be typeset."""
        if self.settings.form != "markdown":
            return frozenset()
        return frozenset(chain.from_iterable(mathematics(self.seen, self.settings.form)))

    def _value(self, marker: Marker, force: Comments) -> Block:
        """A value, written anew; where it cannot stand, or is not known, it is refused."""
        if marker.span.start in self._mathematics:
            body = marker.body.partition(";")[0].strip()
            raise ReadingError(
                "a value inside of mathematics would be typeset", expected=f"'$… {{{body}}} …$' as the value"
            )
        for name in (called.partition(".")[0] for called in DOTTED.findall(marker.body)):
            if name in self.requests and not any(key.startswith(f"{name}.") for key in self.answers):
                raise ReadingError(f"the block {name} has no answer", expected="one that derives, and does not fail")
        looks = self.settings.looks
        lang = self.lang or force.options.get("lang") or looks.get("lang")
        style = Style(dialect=self.settings.dialect, template=looks.get("template"), lang=lang)
        layout = force.context.layout if force.context.setting is not None else Layout(())
        typesetter = typesetter_of(self.settings.form, layout, "HBM", style)
        text = typesetter.dialect.finished(Lookup(force.context, self.answers).text(marker.body, typesetter))
        old = self.text[slice(*marker.inside)].rstrip("\n")
        if old == text:
            return Block(marker.line, "value", marker.body, "same", text)
        self.written[marker.inside] = text
        return Block(
            marker.line, "value", marker.body, "stale" if old else "new", text, (Change(old, text),) if old else ()
        )


def _names_of_numbers(answer: object) -> dict[str, str]:
    """What the answer calls the numbers that are printed."""
    if not isinstance(answer, Derivation):
        return {}
    answer_parts = parts(answer)
    numbers = {
        name: getattr(answer_parts[name], "middle", answer_parts[name])
        for name in reversed(NAMED)
        if answer_parts.get(name) is not None
    }
    return {
        str(v) if isinstance(v, int) else decimal(Fraction(v)): name
        for name, v in numbers.items()
        if isinstance(v, int | Fraction)
    }


def _require_own(file: Path, picture: bytes) -> None:
    """Raises :class:`ReadingError` where a picture would be written over one that nobody drew here, or that was changed."""
    if not file.is_file():
        return
    old = file.read_bytes()
    if old != picture and not is_own(old, file.suffix.removeprefix(".")):
        raise ReadingError(
            f"{file.name} is no picture of an earlier build, or was changed",
            expected='another file = "…", or --force to write over it',
        )


MOST_CHANGES = 6
# Particles and counters of Korean and Chinese touch what they follow, and are no part of it.
WORD = re.compile(r"[^\s$&|{}\\()\u3000-\u9fff\uac00-\ud7a3\uff00-\uffef]+")
DIGIT = re.compile(r"\d")
EDGES = ".,;:()[]{}*"


def document_words(lang: str | None) -> Sentences:
    """The words for documents in a language.

    >>> document_words("en")("would_change", 1, 2)
    '1 of 2 files would change'
    """
    return Sentences(words(None, lang or USUAL_LANGUAGE, "documents"))


class Block(Frozen):
    """What became of one block or value: ``status`` is ``same``, ``new``, ``stale``, ``edited`` or ``failed``; ``text`` is
    what should stand there."""

    line: int
    verb: str
    name: str
    status: str
    text: str = ""
    changes: tuple[Change, ...] = ()
    error: str | None = None

    @property
    def moves(self) -> list[str]:
        """The numbers that are others now, each under its name.

        >>> Block(1, "derive", "mm", "stale", changes=(Change("241", "244", "smallest_integer"),)).moves
        ['smallest_integer 241 -> 244']
        """
        return [f"{c.name} {c.before} -> {c.after}".lstrip() for c in self.changes[:MOST_CHANGES]]


class BuiltDocument(Frozen):
    """``text`` is the document as it should be, ``before`` as it was; ``lang`` is the language in which its authors are
    spoken to, ``files`` are the pictures that it shows."""

    name: str
    before: str
    text: str
    settings: Settings
    lang: str
    blocks: tuple[Block, ...] = ()
    files: Mapping[Path, bytes] = field(default_factory=dict)

    @property
    def failed(self) -> bool:
        return any(block.status == "failed" for block in self.blocks)

    def says(self, block: Block) -> str:
        """One line of a block: where it stands, and the numbers that are others now; without any, its status."""
        became = document_words(self.lang)("became", block.status, block.moves)
        return f"{self.name}:{block.line} {block.name or block.verb}: {became}"

    @property
    def stale(self) -> tuple[Block, ...]:
        """What is not as it should be: written by hand, or by other figures."""
        return tuple(block for block in self.blocks if block.status not in ("same", "failed"))


class Change(Frozen):
    """A number, or a word with digits, that is another one now; ``name`` is what the answer calls it, or empty."""

    before: str
    after: str
    name: str = ""


def changes(before: str, after: str, called: Mapping[str, str]) -> tuple[Change, ...]:
    """The numbers that changed, each once, those with a name first; ``called`` are names by what is printed.

    >>> changes("so $B > 240.24$, from 241 on", "so $B > 243.21$, from 244 on", {"244": "smallest_integer"})
    (Change(before='241', after='244', name='smallest_integer'), Change(before='240.24', after='243.21', name=''))
    >>> changes("행이 241개부터", "행이 244개부터", {"244": "smallest_integer"})
    (Change(before='241', after='244', name='smallest_integer'),)
    """
    result = dict.fromkeys(_changed_words(WORD.findall(before), WORD.findall(after)))
    named = (Change(old, new, called.get(new, "")) for old, new in result)
    return tuple(sorted(named, key=lambda change: not change.name))


def _changed_words(old: list[str], new: list[str]) -> Iterator[tuple[str, str]]:
    for kind, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "replace" and b - a == d - c:
            for before, after in zip(old[a:b], new[c:d], strict=True):
                before, after = before.strip(EDGES), after.strip(EDGES)
                if before != after and DIGIT.search(before + after):
                    yield before, after
