"""Errors: one base class, and one subclass for each stage.

An error says what is wrong, quotes the input with a caret under the column, says what was expected and
offers the nearest known name. The text is ready to print; the parts are fields. They speak of flags, as the command line
has them; the text of one that a script gets speaks of keywords.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

# A quotation shows this many characters on either side of the fault; longer input is elided.
QUOTED = 60


# Whether the command line runs; a flag with what it is given, which no word of a sentence is; keywords with another name.
FLAGS = ContextVar("FLAGS", default=False)
FLAG = re.compile(r"--([a-z]+)(?: ('[^']*'|(?!(?:or|out|for|is|takes|gives)\b)[^\s,;:()]+(?:[:,][\w=|.…]+)*))?")
KEYWORDS = {"for": "solve_for", "symbol": "symbols", "pad": "pad=True", "latency": "latency=True"}


def keywords(text: str) -> str:
    """A text of flags as one of the keywords of Python.

    >>> keywords("say --given peak=…,HBM=1, --assume 'M = K' or --at D=8,F=9; leave --dtype out")
    'say given={"peak": "…", "HBM": "1"}, assume="M = K" or at="D=8,F=9"; leave dtype out'
    """

    def keyword(flag: re.Match[str]) -> str:
        name, value = KEYWORDS.get(flag[1], flag[1]), (flag[2] or "").strip("'")
        if name == "given" and value:
            value = re.sub(r"([^,=]+)=([^,]+)", r'"\1": "\2"', value).replace(",", ", ")
            return f"given={{{value}}}"
        return f'{name}="{value}"' if value else name

    return FLAG.sub(keyword, text)


class SymroofError(Exception):
    """Anything the user can mend: bad input, a missing figure, a question outside the decided class."""

    def __init__(
        self,
        problem: str,
        *,
        source: str | None = None,
        span: tuple[int, int] | None = None,
        expected: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(problem)
        self.problem = problem
        self.source = source
        self.span = span
        self.expected = expected
        self.hint = hint

    @property
    def column(self) -> int | None:
        """The 1-based column of the fault, where the input is known."""
        return None if self.span is None else self.span[0] + 1

    def __str__(self) -> str:
        spelled = printable if FLAGS.get() else lambda text: keywords(printable(text))
        lines = [spelled(self.problem)]
        if self.source is not None and self.span is not None:
            lines += ["  " + line for line in quote(self.source, self.span)]
        if self.expected:
            lines.append("  expected " + spelled(self.expected))
        if self.hint:
            lines.append("  " + spelled(self.hint))
        return "\n".join(lines)


class ReadingError(SymroofError):
    """Text that does not follow the grammar, or names that nobody declared."""


class ModelError(SymroofError):
    """An operation, a chip or a mesh that cannot be costed as given."""


class AlgebraError(SymroofError):
    """A question outside the class that the algebra decides, refused by name."""


class ContradictionError(AlgebraError):
    """A regime that no scaling can satisfy."""


class CheckError(SymroofError):
    """The second engine refuted a step. This is a bug in symroof, never the user's fault."""


def bug(error: Exception) -> str:
    """What is said of a fault of ours, in one line.

    >>> bug(KeyError("T"))
    "a bug in symroof, please report: KeyError: 'T'"
    """
    line = printable(" ".join(str(error).split()))[:300]
    return f"a bug in symroof, please report: {type(error).__name__}: {line}"


class RenderingError(SymroofError):
    """A template that is missing, broken or incomplete."""


@contextmanager
def about(where: str) -> Iterator[None]:
    """An error that arises inside of the block says where.

    >>> with about("let work: "):
    ...     raise ReadingError("unknown name 'Q'")
    Traceback (most recent call last):
    symroof.errors.ReadingError: let work: unknown name 'Q'
    """
    try:
        yield
    except SymroofError as error:
        error.problem = where + error.problem
        raise


def printable(text: str) -> str:
    r"""Control characters are shown, not sent to the terminal.

    >>> printable("B\x1b[2J")
    'B\\x1b[2J'
    """
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)


def quote(source: str, span: tuple[int, int]) -> tuple[str, str]:
    """The line of ``source`` that holds ``span``, and carets under it.

    >>> print("\\n".join(quote("bf16[B] * bf17[B]", (10, 14))))
    bf16[B] * bf17[B]
              ^^^^
    """
    start, end = span
    first = source.rfind("\n", 0, start) + 1
    last = source.find("\n", start)
    last = len(source) if last < 0 else last
    low, high = max(first, start - QUOTED), min(last, max(end, start) + QUOTED)
    end = min(max(end, start + 1), high) if high > start else start + 1
    head, body, tail = (printable(source[a:b]) for a, b in ((low, start), (start, end), (end, high)))
    if len(body) > QUOTED:
        body, tail = body[:QUOTED], "..."
    head = ("..." if low > first else "") + head
    tail = tail + ("..." if high < last and not tail.endswith("...") else "")
    return head + body + tail, " " * len(head) + "^" * max(1, len(body))


# How alike two names are of which one may stand for the other; of two letters one.
NEAR, NEAR_OF_TWO = 0.6, 0.5


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known name that ``word`` was most likely meant to be: one that begins with it, or is nearly the same; of several
    that are as near one with its first letter. None where none is.

    >>> nearest("b100", ["v100", "b200"])
    'b200'
    >>> nearest("tpu-v5", ["tpu-v5e", "h100-sxm"]), nearest("h10", ["v100", "h100-sxm"]), nearest("sort", ["fsdp-megatron"])
    ('tpu-v5e', 'h100-sxm', None)
    """
    from difflib import SequenceMatcher, get_close_matches

    names, word = list(known), word[:80].lower()
    folded = {name.lower(): name for name in names}
    cutoff = NEAR if len(word) > 2 else NEAR_OF_TWO
    turned = [name for name in folded if len(word) > 1 and sorted(name) == sorted(word)]
    close = get_close_matches(word, list(folded), n=len(folded) or 1, cutoff=cutoff)
    near = turned or sorted(close, key=lambda name: (-SequenceMatcher(None, name, word).ratio(), name[:1] != word[:1]))
    begun = [name for name in folded if len(word) > 1 and name.startswith(word)]
    if begun and not (near and near[0] in begun):
        return folded[min(begun, key=len)]
    return folded[near[0]] if near else None


def suggestion(word: str, known: Iterable[str]) -> str | None:
    """``did you mean …?``, or None where nothing is near."""
    name = nearest(word, known)
    return None if name is None else f"did you mean {name}?"


def require_one_of(name: object, known: Iterable[str], problem: str, error: type[SymroofError] = ReadingError) -> None:
    """Raise an error where a name is none of the known ones; the nearest of them is offered.

    >>> require_one_of("fma", ("fma", "exact"), "count is not known")
    """
    known = tuple(known)
    if name not in known:
        raise error(problem, expected=f"one of {', '.join(known)}", hint=suggestion(str(name), known))
