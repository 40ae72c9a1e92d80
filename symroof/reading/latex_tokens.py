"""Textbook LaTeX to the tokens of the grammar of claims.

The mathematics of the field is a small language: fractions, products by juxtaposition, powers, names with an index,
words that name quantities, numbers such as ``1.97e14``, ``1.97 \\times 10^{14}`` and ``10{,}000``, relations, and rows
that go on with a chain. Everything in it becomes a token of the grammar; nothing else is skipped: a command that is not
listed here is an error at its place.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from symroof.errors import ReadingError
from symroof.model.units import UNITS
from symroof.reading.expressions import Scope
from symroof.reading.scanner import GREEK, Token, require_short
from symroof.reading.vocabulary import SYNONYMS, WORDS, folded, meanings, named


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
ENVIRONMENTS = "equation|align|aligned|alignat|gather|gathered|split|multline|eqnarray|displaymath|math"

TOKEN = re.compile(
    rf"""
    (?P<space>   \s+ | ~ | & | %[^\n]*\n?                                                    )
  | (?P<row>     \\\\(?:\s*\[[^\]]*\])? | \\newline\b | ,\s*(?:\\q?quad\b|&) )
  | (?P<frame>   \\q?quad\s*\(\d+[a-z]?\)(?=\s*(?:\\\\|\\end|$)) | \\(?:begin|end)\{{(?:{ENVIRONMENTS})\*?\}}(?:\{{\d+\}})? | \\(?:label|tag|vspace|hspace)\*?\{{[^}}]*\}} )
  | (?P<number>  (?:[1-9]\d{{0,2}}(?:(?:\{{,\}}|\\,)\d{{3}})+(?:\.\d*)? | \d+(?:\.\d*)? | \.\d+) (?:[eE][+-]?\d+)?
                 (?: \s*(?:\\times|\\cdot|×|·)\s*10\s*\^\s*\{{\s*[+-]?\d+\s*\}} )?          )
  | (?P<text>    \\(?:{TEXTS})\s*\{{(?P<words>[^{{}}$\\]*(?:\\[_ %&,][^{{}}$\\]*)*)\}} )
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
SUFFIX = re.compile(r"[A-Za-z0-9]+")


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a document names things: the declared names, and words of its own for known quantities."""

    scope: Scope
    aliases: Mapping[str, str] = field(default_factory=dict)


def scan_latex(source: str, dialect: Dialect) -> tuple[Token, ...]:
    r"""The tokens of LaTeX mathematics, closed by an end token.

    >>> [t.text for t in scan_latex(r"T_\text{math} \leq \frac{2BDF}{1.97 \times 10^{14}}", Dialect(Scope()))]
    ['T_math', '<=', '\\frac', '{', '2', 'BDF', '}', '{', '1.97e14', '}', '']
    """
    require_short(source)
    return _Scanner(source, dialect).tokens()


class _Scanner:
    def __init__(self, source: str, dialect: Dialect) -> None:
        self.source, self.dialect = source, dialect
        self.found: list[Token] = []
        self.spaced = False
        self.gap = False  # a wide space, after which words are remarks
        self.indexed = "_" in source
        self.own = {folded(alias): name for alias, name in dialect.aliases.items()}

    def tokens(self) -> tuple[Token, ...]:
        source, position, end = self.source, 0, len(self.source)
        rules: dict[str | None, Callable[[re.Match[str]], int | None]] = {
            "space": self._space,
            "row": self._row,
            "frame": self._space,
            "number": self._number,
            "text": self._text,
            "words": self._text,
            "word": self._word,
            "command": self._command,
            "symbol": self._symbol,
        }
        while position < end:
            match = TOKEN.match(source, position)
            if match is None:
                raise self.error(f"unexpected character {source[position]!r}", position, position + 1)
            position = rules[match.lastgroup](match) or match.end()
        return (*self.found, Token("end", "", end, end, self.spaced))

    def error(self, problem: str, start: int, end: int, expected: str | None = None) -> ReadingError:
        return ReadingError(problem, source=self.source, span=(start, end), expected=expected)

    def add(self, kind: str, text: str, start: int, end: int) -> None:
        self.found.append(Token(kind, text, start, end, self.spaced))
        self.spaced = self.gap = False

    def _space(self, match: re.Match[str]) -> None:
        self.spaced = True
        self.gap = self.gap or "&" in match.group()

    def _row(self, match: re.Match[str]) -> None:
        self.add("row", "\\\\", match.start(), match.end())

    def _number(self, match: re.Match[str]) -> int | None:
        """A number; with a power of ten behind it where that cannot belong to something in front."""
        text = match.group().replace("{,}", "").replace("\\,", "")
        power = POWER_OF_TEN.search(text)
        before = self.found[-1].text if self.found else ""
        scientific = power is not None and (
            "." in text[: power.start()] or any("e" in t.text for t in self.found if t.kind == "number")
        )
        if power and (before in ("^", "\\frac") or (before == "/" and not scientific)):
            alone = POWER_OF_TEN.search(match.group())
            end = match.start() + (alone.start() if alone else 0)
            self.add("number", text[: power.start()], match.start(), end)
            return end
        if power:
            mantissa = text[: power.start()]
            if "e" in mantissa.lower():
                raise self.error("the number has two exponents", match.start(), match.end())
            text = f"{mantissa}e{power.group(1)}"
        self.add("number", text, match.start(), match.end())
        return None

    def _word(self, match: re.Match[str]) -> int:
        """Letters; an index belongs to the last of them. A bare word may be one of the vocabulary."""
        word, start, end = match.group(), match.start(), match.end()
        typed = PLAIN_INDEX.match(self.source, end) if self.indexed else None
        if typed is not None and named(word + typed.group(), self.dialect.aliases):
            self.add("word", self._known(word + typed.group()), start, typed.end())
            return typed.end()
        suffix, behind = self._index(end) if self.indexed else ("", end)
        if behind == end:
            alias = self.own.get(folded(word)) if self.own else None
            known = alias or (word if word in self.dialect.scope.names else named(word, {}) if len(word) > 1 else None)
            text = known if known is not None and (known in self.dialect.scope.names or known == word) else word
            self.add("word", self._unit(word) or text, start, end)
            return end
        whole = f"{word}_{suffix}"
        if not SUFFIX.fullmatch(suffix.replace("_", "")) and named(whole, self.dialect.aliases) is None:
            raise self.error(f"the index {suffix!r} is no name", end, behind, expected="letters and digits")
        if whole in self.dialect.scope.names or named(whole, self.dialect.aliases):
            self.add("word", self._known(whole), start, behind)
            return behind
        if len(word) > 1:
            self.add("word", word[:-1], start, end - 1)
        self.add("word", self._known(f"{word[-1]}_{suffix}"), end - 1, behind)
        return behind

    def _index(self, position: int) -> tuple[str, int]:
        """The index that stands here, and where it ends."""
        index = INDEX.match(self.source, position)
        if index is None:
            return "", position
        return next(part for part in index.groups() if part is not None).strip(), index.end()

    def _known(self, name: str) -> str:
        return name if name in self.dialect.scope.names else named(name, self.dialect.aliases) or name

    def _unit(self, word: str) -> str | None:
        after_number = bool(self.found) and self.found[-1].kind == "number"
        declared = word in self.dialect.scope.names and word not in self.dialect.scope.give_way
        return word if after_number and word in UNITS and not declared else None

    def _text(self, match: re.Match[str]) -> int:
        """Words: a quantity, a unit after a number, or a word of the grammar."""
        words, start, end = re.sub(r"\\([_ %&])", r"\1", match.group("words")).strip(), match.start(), match.end()
        after_number = bool(self.found) and self.found[-1].kind == "number"
        if not words.strip(".,;: "):
            self.spaced = True
            return end
        if words in FUNCTION_WORDS:
            self.add("word", words, start, end)
            return end
        if self._is_remark(words, end):
            self.spaced = True
            return end
        of = OF.match(self.source, end)
        if of is not None and named(f"{words}({of.group(1)})", self.dialect.aliases):
            self.add("word", named(f"{words}({of.group(1)})", self.dialect.aliases) or "", start, of.end())
            return of.end()
        family, slash, per = UNIT_WORDS.get(words, words).partition("/")
        if after_number and family in UNITS and (not slash or per == "s"):
            self.add("word", family, start, end)
            if slash:
                self.add("symbol", "/", start, end)
                self.add("word", per, start, end)
            return end
        if words in CLAUSES:
            self.add("word", CLAUSES[words], start, end)
            self.spaced = True
            return end
        known = words if words in self.dialect.scope.names else named(words, self.dialect.aliases)
        suffix, behind = self._index(end)
        if behind > end:
            known, end = self._known(f"{words}_{suffix}"), behind
        if known is None:
            raise self.error(
                f"unknown words {words!r}",
                start,
                end,
                expected="a word of `symroof names`, or one of the aliases of the problem",
            )
        self.add("word", known, start, end)
        return end

    def _is_remark(self, words: str, end: int) -> bool:
        """Words that say what is counted, or in which unit, behind an expression; or anything behind a wide space."""
        if (
            not self.found
            or self.found[-1].kind == "row"
            or (self.found[-1].kind == "symbol" and self.found[-1].text not in (")", "}", "]"))
        ):
            return False
        closing = ENDS.match(self.source, end) is not None
        unit = UNIT_WORDS.get(words, words)
        counted = words in COUNTED or (unit.partition("/")[0] in UNITS and self.found[-1].kind != "number")
        known = words in self.dialect.scope.names or named(words, self.dialect.aliases) is not None or words in CLAUSES
        return closing and (counted or (self.gap and not known))

    def _command(self, match: re.Match[str]) -> int | None:
        command, start, end = match.group(), match.start(), match.end()
        if command in LOOKS:
            self.gap = self.gap or command in ("\\quad", "\\qquad")
            self.spaced = self.spaced or command not in ("\\left", "\\right")
            if command in ("\\left", "\\right") and self.source[end : end + 1] == ".":
                return end + 1
            return None
        if command in GREEK_COMMANDS:
            suffix, end = self._index(end)
            self.add("word", GREEK_COMMANDS[command] + (f"_{suffix}" if suffix else ""), start, end)
            return end
        if command in FUNCTIONS:
            name = FUNCTIONS[command]
            base = LOG_BASE.match(self.source, end) if command == "\\log" else None
            if command == "\\log" and base is None:
                raise self.error("the base of the logarithm is not said", start, end, expected="\\ln, or \\log_2")
            self.add("word", "log2" if base else name, start, end)
            return base.end() if base else None
        if command not in COMMANDS:
            raise self.error(
                f"unknown command {command}",
                start,
                end,
                expected="the mathematics of the field: \\frac, \\cdot, \\max, \\ll, \\text, …",
            )
        text = COMMANDS[command]
        self.add("word" if text == "oo" else "symbol", text, start, end)
        return None

    def _symbol(self, match: re.Match[str]) -> None:
        text = SYNONYMS.get(match.group(), "=" if match.group() == ":=" else match.group())
        self.add("word" if text == "oo" else "symbol", text, match.start(), match.end())
