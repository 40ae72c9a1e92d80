"""Textbook LaTeX to the tokens of the grammar of claims.

The mathematics of the field is a small language: fractions, products by juxtaposition, powers, names with an index,
words that name quantities, numbers such as ``1.97e14``, ``1.97 \\times 10^{14}`` and ``10{,}000``, relations, and rows
that go on with a chain. Everything in it becomes a token of the grammar; nothing else is skipped: a command that is not
listed here is an error at its place.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from symroof.errors import ReadingError
from symroof.model.units import UNITS
from symroof.reading.expressions import Scope
from symroof.reading.scanner import GREEK, Token, require_short
from symroof.reading.vocabulary import KNOWN, SYNONYMS, WORDS, folded, meanings, named


def _greek_command(letter: str) -> str:
    name = unicodedata.name(letter).split()[-1].replace("LAMDA", "LAMBDA")
    return "\\" + (name.lower() if letter.islower() else name.capitalize())


GREEK_COMMANDS = {_greek_command(letter): letter for letter in GREEK}
COMMANDS = {command: text for command, text in SYNONYMS.items() if command.startswith("\\")}
COMMANDS |= meanings(WORDS["latex"]["commands"])
FUNCTIONS = meanings(WORDS["latex"]["functions"])
LOOKS, COUNTED = frozenset(WORDS["latex"]["looks"]), frozenset(WORDS["latex"]["counted"])
TEXTS = "|".join(WORDS["latex"]["texts"])
FUNCTION_WORDS = ("max", "min", "log2", "exp", "floor", "ceil")
UNIT_WORDS, CLAUSES = meanings(WORDS["units"]), meanings(WORDS["clauses"])
ENVIRONMENTS = "|".join((*WORDS["latex"]["environments"], *WORDS["latex"]["inner"]))

TOKEN = re.compile(
    rf"""
    (?P<space>   \s+ | ~ | & | %[^\n]*\n? | \\q?quad\s*\(\d+[a-z]?\)(?=\s*(?:\\\\|\\end|$))
               | \\(?:begin|end)\{{(?:{ENVIRONMENTS})\*?\}}(?:\{{\d+\}})? | \\(?:label|tag|vspace|hspace)\*?\{{[^}}]*\}} )
  | (?P<row>     \\\\(?:\s*\[[^\]]*\])? | \\newline\b | ,\s*(?:\\q?quad\b|&)                )
  | (?P<number>  (?:[1-9]\d{{0,2}}(?:(?:\{{,\}}|\\,)\d{{3}})+(?:\.\d*)? | \d+(?:\.\d*)? | \.\d+) (?:[eE][+-]?\d+)?
                 (?: \s*(?:\\times|\\cdot|×|·)\s*10\s*\^\s*\{{\s*[+-]?\d+\s*\}} )?          )
  | \\(?:{TEXTS})\s*\{{(?P<words> [^{{}}$\\]*(?:\\[_ %&,][^{{}}$\\]*)* )\}}
  | (?P<word>    [A-Za-z{GREEK}]+                                                            )
  | (?P<command> \\[A-Za-z]+ | \\.                                                           )
  | (?P<symbol>  <=>|=>|<=|>=|<<|>>|->|~~|:=|[-+*/^=<>(){{}}\[\],.!:;|_'·•×−≈→≤≥≪≫⇒⇔∞]     )
    """,
    re.VERBOSE,
)
INDEX = re.compile(
    rf"\s*_\s*(?:\{{\s*(?:\\(?:{TEXTS})\s*\{{([^{{}}\\$]*)\}}|([^{{}}\\$]*))\s*\}}|\\(?:{TEXTS})\s*\{{([^{{}}\\$]*)\}}|([A-Za-z0-9]))"
)
PLAIN_INDEX = re.compile(r"_[A-Za-z]{2,}")  # T_math, as people type it
OF = re.compile(r"\s*(?:\\left)?\(\s*\\text(?:rm)?\s*\{([^{}$\\]*)\}\s*(?:\\right)?\)")
POWER_OF_TEN = re.compile(r"\s*(?:\\times|\\cdot|×|·)\s*10\s*\^\s*\{\s*([+-]?\d+)\s*\}")
LOG_BASE = re.compile(r"\s*_\s*(?:\{\s*2\s*\}|2)")
ENDS = re.compile(
    r"(?:\s|~|\\[,;:! ]|[.,;])*(?:$|\\\\|\\end|&|[=<>)}]|\\(?:le|leq|ge|geq|approx|sim|iff|implies|ll|gg|quad|qquad|to|rightarrow|right)\b)"
)
SUFFIX = re.compile(r"_*[A-Za-z0-9][A-Za-z0-9_]*")


@dataclass(frozen=True)
class Dialect:
    """How a document names things: the declared names, and words of its own for known quantities."""

    scope: Scope
    aliases: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def own(self) -> dict[str, str]:
        """What the words of the document mean, in the form in which words are compared."""
        return {folded(alias): name for alias, name in self.aliases.items()}


def scan_latex(source: str, dialect: Dialect) -> tuple[Token, ...]:
    r"""The tokens of LaTeX mathematics, closed by an end token.

    >>> [t.text for t in scan_latex(r"T_\text{math} \leq \frac{2BDF}{1.97 \times 10^{14}}", Dialect(Scope()))]
    ['T_math', '<=', '\\frac', '{', '2', 'BDF', '}', '{', '1.97e14', '}', '']
    """
    require_short(source)
    return _Scanner(source, dialect).tokens()


class _Scanner:
    """A rule for each group of ``TOKEN`` adds what it finds, and gives the place where the next one begins."""

    def __init__(self, source: str, dialect: Dialect) -> None:
        self.source, self.dialect = source, dialect
        self.names = dialect.scope.names
        self.found: list[Token] = []
        self.spaced = False
        self.gap = False  # a wide space, after which words are remarks

    def tokens(self) -> tuple[Token, ...]:
        position, end = 0, len(self.source)
        while match := TOKEN.match(self.source, position):
            position = getattr(self, f"_{match.lastgroup}")(match)
        if position < end:
            raise self.error(f"unexpected character {self.source[position]!r}", position, position + 1)
        return (*self.found, Token("end", "", end, end, self.spaced))

    def error(self, problem: str, start: int, end: int, expected: str | None = None) -> ReadingError:
        return ReadingError(problem, source=self.source, span=(start, end), expected=expected)

    def add(self, kind: str, text: str, start: int, end: int) -> int:
        """A token, and the place behind it."""
        self.found.append(Token(kind, text, start, end, self.spaced))
        self.spaced = self.gap = False
        return end

    def _space(self, match: re.Match[str]) -> int:
        self.spaced = True
        self.gap = self.gap or "&" in match.group()
        return match.end()

    def _row(self, match: re.Match[str]) -> int:
        return self.add("row", "\\\\", *match.span())

    def _number(self, match: re.Match[str]) -> int:
        """A number; with a power of ten behind it where that cannot belong to something in front."""
        (start, end), before = match.span(), self.found[-1].text if self.found else ""
        power = POWER_OF_TEN.search(match.group())
        digits = self.source[start : start + power.start() if power else end].replace("{,}", "").replace("\\,", "")
        if power is None:
            return self.add("number", digits, start, end)
        scientific = "." in digits or any("e" in token.text for token in self.found if token.kind == "number")
        if before in ("^", "\\frac") or (before == "/" and not scientific):
            return self.add("number", digits, start, start + power.start())
        if "e" in digits.lower():
            raise self.error("the number has two exponents", start, end)
        return self.add("number", f"{digits}e{power[1]}", start, end)

    def _word(self, match: re.Match[str]) -> int:
        """Letters; an index belongs to the last of them."""
        word, (start, end) = match.group(), match.span()
        typed = PLAIN_INDEX.match(self.source, end)
        if typed is not None and self._named(word + typed.group()):
            return self.add("word", self._known(word + typed.group()), start, typed.end())
        suffix, behind = self._index(end)
        if behind == end:
            return self.add("word", self._bare(word), start, end)
        whole = f"{word}_{suffix}"
        known = whole in self.names or self._named(whole) is not None
        if not known and not SUFFIX.fullmatch(suffix):
            raise self.error(f"the index {suffix!r} is no name", end, behind, expected="letters and digits")
        if not known and len(word) > 1:
            start = self.add("word", word[:-1], start, end - 1)
            whole = f"{word[-1]}_{suffix}"
        return self.add("word", self._known(whole), start, behind)

    def _bare(self, word: str) -> str:
        """A word without an index may be one of the vocabulary for a declared name; behind a number it may be a unit."""
        declared = word in self.names and word not in self.dialect.scope.give_way
        if self._follows_number() and word in UNITS and not declared:
            return word
        own = self.dialect.own.get(folded(word))
        meaning = own or (KNOWN.get(folded(word)) if len(word) > 1 and word not in self.names else None)
        return meaning if meaning in self.names else word

    def _index(self, position: int) -> tuple[str, int]:
        """The index that stands here, and where it ends."""
        index = INDEX.match(self.source, position)
        if index is None:
            return "", position
        return next(part for part in index.groups() if part is not None).strip(), index.end()

    def _named(self, words: str) -> str | None:
        return named(words, self.dialect.own)

    def _known(self, name: str) -> str:
        return name if name in self.names else self._named(name) or name

    def _follows_number(self) -> bool:
        return bool(self.found) and self.found[-1].kind == "number"

    def _words(self, match: re.Match[str]) -> int:
        """Words: a quantity, a unit after a number, or a word of the grammar."""
        words, (start, end) = re.sub(r"\\([_ %&])", r"\1", match["words"]).strip(), match.span()
        if words in FUNCTION_WORDS:
            return self.add("word", words, start, end)
        if not words.strip(".,;: ") or self._is_remark(words, end):
            self.spaced = True
            return end
        of = OF.match(self.source, end)
        if of is not None and (quantity := self._named(f"{words}({of[1]})")):
            return self.add("word", quantity, start, of.end())
        family, slash, per = UNIT_WORDS.get(words, words).partition("/")
        if self._follows_number() and family in UNITS and per in ("", "s"):
            self.add("word", family, start, end)
            if slash:
                self.add("symbol", "/", start, end)
                self.add("word", per, start, end)
            return end
        if words in CLAUSES:
            self.add("word", CLAUSES[words], start, end)
            self.spaced = True
            return end
        suffix, behind = self._index(end)
        if behind > end:
            return self.add("word", self._known(f"{words}_{suffix}"), start, behind)
        if words not in self.names and self._named(words) is None:
            expected = "a word of `symroof names`, or one of the aliases of the problem"
            raise self.error(f"unknown words {words!r}", start, end, expected)
        return self.add("word", self._known(words), start, end)

    def _is_remark(self, words: str, end: int) -> bool:
        """Words that say what is counted, or in which unit, behind an expression; or anything behind a wide space."""
        last = self.found[-1] if self.found else None
        if last is None or last.kind == "row" or (last.kind == "symbol" and last.text not in (")", "}", "]")):
            return False
        unit = UNIT_WORDS.get(words, words).partition("/")[0] in UNITS and last.kind != "number"
        known = words in self.names or self._named(words) is not None or words in CLAUSES
        return ENDS.match(self.source, end) is not None and (words in COUNTED or unit or (self.gap and not known))

    def _command(self, match: re.Match[str]) -> int:
        command, (start, end) = match.group(), match.span()
        if command in LOOKS:
            paired = command in ("\\left", "\\right")
            self.gap = self.gap or command in ("\\quad", "\\qquad")
            self.spaced = self.spaced or not paired
            return end + (paired and self.source.startswith(".", end))
        if command in GREEK_COMMANDS:
            suffix, end = self._index(end)
            return self.add("word", GREEK_COMMANDS[command] + (f"_{suffix}" if suffix else ""), start, end)
        if command in FUNCTIONS:
            base = LOG_BASE.match(self.source, end) if command == "\\log" else None
            if command == "\\log" and base is None:
                raise self.error("the base of the logarithm is not said", start, end, expected="\\ln, or \\log_2")
            self.add("word", "log2" if base else FUNCTIONS[command], start, end)
            return base.end() if base else end
        if command not in COMMANDS:
            expected = "the mathematics of the field: \\frac, \\cdot, \\max, \\ll, \\text, …"
            raise self.error(f"unknown command {command}", start, end, expected)
        return self._sign(COMMANDS[command], start, end)

    def _symbol(self, match: re.Match[str]) -> int:
        return self._sign(SYNONYMS.get(match.group(), match.group()), *match.span())

    def _sign(self, text: str, start: int, end: int) -> int:
        return self.add("word" if text == "oo" else "symbol", text, start, end)
