"""Textbook LaTeX to the tokens of the grammar of claims.

The mathematics of the field is a small language: fractions, products by juxtaposition, powers, names with an index,
words that name quantities, numbers such as ``1.97e14``, ``1.97 \\times 10^{14}`` and ``10{,}000``, relations, and rows
that go on with a chain. Everything in it becomes a token of the grammar; nothing else is skipped: a command that is not
listed here is an error at its place. A row that begins with an empty group, or with a sign behind ``\\cr``, goes on with the one
before it, also inside of brackets.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

from symroof.errors import ReadingError
from symroof.formula import KEYWORDS
from symroof.reading.claims import RELATIONS
from symroof.reading.latex_phrases import Dialect, Phrases
from symroof.reading.macros import TEXTS, Decoration, closing_brace, decorated, expanded, index_at
from symroof.reading.name_scope import opaque
from symroof.reading.scanner import (
    GREEK,
    PLAIN,
    SUBSCRIPTS,
    SUPERSCRIPTS,
    THOUSANDS,
    Token,
    lowered,
    raised,
    require_short,
)
from symroof.reading.vocabulary import SYNONYMS, WORDS, meanings


def _greek_command(letter: str) -> str:
    name = unicodedata.name(letter).split()[-1].replace("LAMDA", "LAMBDA")
    return "\\" + (name.lower() if letter.islower() else name.capitalize())


GREEK_COMMANDS = {_greek_command(letter): letter for letter in GREEK}
COMMANDS = {command: text for command, text in SYNONYMS.items() if command.startswith("\\")}
COMMANDS |= meanings(WORDS["latex"]["commands"])
FUNCTIONS = meanings(WORDS["latex"]["functions"])
LOOKS = frozenset(WORDS["latex"]["looks"])
AROUND = frozenset(WORDS["latex"]["around"])
# What a chain may end with and does not go on from: twice as fast is 2\times, and an arrow leads to the next line.
DANGLING = ("*", "->", "=>")
ENVIRONMENTS = "|".join((*WORDS["latex"]["environments"], *WORDS["latex"]["inner"]))
# A name, in a list of what several are: L = 32, D = 4096.
NAMED = r"(?:[A-Za-z]|\\[a-zA-Z]+(?![a-zA-Z]))(?:_(?:\w|\{[^{}]*\}|\\(?:text|mathrm)\{[^{}]*\}))?"
ACCENTS = "bar|hat|tilde|overline|widehat|widetilde|vec|dot|ddot|mathbb"
IGNORED = "|".join(WORDS["latex"]["ignored"])

POWER = rf"\s*(?:\\times|\\cdot|×|·)\s*10\s*(?:\^\s*\{{\s*[+-]?\d+\s*\}}|\^\s*\d(?!\d)|[{SUPERSCRIPTS}]+)"
TOKEN = re.compile(
    rf"""
    (?P<space>   \s+ | ~ | & | \\m?(?:kern|skip)\s*-?[\d.]+\s*(?:mu|em|ex|pt) | _\s*\{{\s*\}} | (?:\\\\|\\cr\b)\s*\{{\s*\}} | \\cr\b(?=\s*[-+<>=]) | %[^\n]*\n?
               | [,;.](?=\s*(?:\\\\|\\newline\b|\\end\{{))
               | \\q?quad\s*\(\d+[a-z]?\)(?=\s*(?:\\\\|\\end|$))
               | \\(?:begin|end)\{{(?:{ENVIRONMENTS})\*?\}}(?:\{{\d+\}}|\{{[lcr|@\s]*\}}|\[[tbc]\])?
               | \\(?:{TEXTS})(?=\s*\{{[\d.,\s]*\d\s*\}}) | \\(?:{IGNORED})\*?\s*\{{[^{{}}]*\}} )
  | (?P<row>     \\\\(?:\s*\[[^\]]*\])? | \\newline\b | ,\s*(?:\\q?quad\b|&)
               | ,(?:\s|~|\\[ ,;])*(?={NAMED}\s*(?:=|\\approx|\\le|\\ge))                 )
  | (?P<number>  (?:{THOUSANDS} | [1-9]\d{{0,2}}(?:(?:\{{,\}}|\\,)\d{{3}})+(?:\.\d*)? | \d+(?:\.\d*)? | \.\d+)
                 (?:[eE][+-]?\d+ | \\(?:text|mathrm|textrm)\{{[eE]\}}\s*(?:[+-]?\d+|\{{[+-]?\d+\}}) )? (?: {POWER} )?                                            )
  | (?P<raised>  [{SUPERSCRIPTS}]+                                                           )
  | (?P<growth>  (?: \\mathcal\s*(?:\{{\s*O\s*\}}|O) | \\(?:Theta|Omega|omega) | (?<![A-Za-z])[Oo] )\s*(?:\\left|\\big|\\!)?\s*\( )
  | \\(?:{TEXTS})\s*\{{\s*\\mu\s*(?P<micro>[sJW])\s*\}}
  | \\(?:{TEXTS})\s*\{{(?P<words> [^{{}}$\\]*(?:\\[_ %&,$][^{{}}$\\]*)* )\}}
  | \\(?P<accent> {ACCENTS})\s*(?:\{{\s*(?P<under>[A-Za-z])\s*\}}|(?<=\s)(?P<below>[A-Za-z])(?![A-Za-z]))
  | \\\#\s*(?P<count> \\(?:{TEXTS})\s*\{{[^{{}}$\\]*\}} | [A-Za-z]+ )
  | (?P<word>    [A-Za-z{GREEK}]+[{SUBSCRIPTS}]*                                             )
  | (?P<cases>   \\(?:begin|end)\{{[dr]?cases\}}                                             )
  | (?P<command> \\[A-Za-z]+ | \\.                                                           )
  | (?P<symbol>  <=>|\*\*|=>|<=|>=|<<|>>|->|~~|:=|==|\.\.\.|[-+*/^=<>(){{}}\[\],.!:;|_'·•×−≈→≤≥≪≫⇒⇔∞…]     )
    """,
    re.VERBOSE,
)
PLAIN_INDEX = re.compile(r"_[A-Za-z]{2,}")  # T_math, as people type it
UPRIGHT_E = re.compile(r"\\(?:text|mathrm|textrm)\{[eE]\}\s*\{?([+-]?\d+)\}?")
POWER_OF_TEN = re.compile(rf"{POWER}\Z")
COMMAND, WORD = re.compile(r"\\[A-Za-z]+"), re.compile(r"[A-Za-z]")
LOG_BASE = re.compile(r"\s*_\s*(?:\{\s*2\s*\}|2)")
MICRO = re.compile(rf"\s*(?:s\b|\\(?:{TEXTS})\s*\{{\s*s\s*\}})")


def scan_latex(source: str, dialect: Dialect) -> tuple[Token, ...]:
    r"""The tokens of LaTeX mathematics, closed by an end token. In a lenient scope what cannot be read is a token as well:
    of the kind "unread", with what is wrong as its text.

    >>> from symroof.reading.name_scope import Scope
    >>> [t.text for t in scan_latex(r"T_\text{math} \leq \frac{2BDF}{1.97 \times 10^{14}}", Dialect(Scope()))]
    ['T_math', '<=', '\\frac', '{', '2', 'BDF', '}', '{', '1.97e14', '}', '']
    """
    require_short(source)
    if not (dialect.macros or "\\newcommand" in source or "\\def" in source) or "\\" not in source:
        return _Scanner(source, dialect).tokens()
    text, places = expanded(source, dialect.macros)
    places.append((len(source), len(source)))
    try:
        tokens = _Scanner(text, dialect).tokens()
    except ReadingError as error:
        start, end = error.span or (0, 0)
        span = places[start][0], places[max(start, end - 1)][1]
        raise ReadingError(error.problem, source=source, span=span, expected=error.expected, hint=error.hint) from None
    return tuple(t._replace(start=places[t.start][0], end=places[max(t.start, t.end - 1)][1]) for t in tokens)


class _Scanner(Phrases):
    """A rule for each group of ``TOKEN`` adds what it finds, and gives the place where the next one begins."""

    def tokens(self) -> tuple[Token, ...]:
        position, end = 0, len(self.source)
        while position < end:
            match = TOKEN.match(self.source, position)
            try:
                if match is None:
                    raise self.error(f"unexpected character {self.source[position]!r}", position, position + 1)
                rule: Callable[[re.Match[str]], int] = getattr(self, f"_{match.lastgroup}")
                position = rule(match)
            except ReadingError as error:
                if not self.lenient:
                    raise
                position = self.add("unread", error.problem, position, match.end() if match else position + 1)
        while len(self.found) > 1 and self.found[-1].text in DANGLING and self.found[-2].kind in ("number", "word"):
            del self.found[-1]
        return (*self.found, Token("end", "", end, end, self.spaced))

    def _growth(self, match: re.Match[str]) -> int:
        """An order of growth, O(n): no value. A letter that is a name is a factor before brackets."""
        letter = match.group()[0]
        name = GREEK_COMMANDS.get(re.sub(r"\W+\Z", "", match.group()).partition("(")[0], letter)
        if name in self.names or name in (self.dialect.scope.letters or ()):
            if letter == "\\":
                return self._command(COMMAND.match(self.source, match.start()) or match)
            return self._word(WORD.match(self.source, match.start()) or match)
        raise self.error("an order of growth has no value", *match.span())

    def _space(self, match: re.Match[str]) -> int:
        self.spaced = True
        if "&" in match.group() and self.in_cases:
            return self.add("symbol", ",", *match.span())
        self.gap = self.gap or "&" in match.group()
        return match.end()

    def _row(self, match: re.Match[str]) -> int:
        inside = self.depth > 0 or any(token.text in KEYWORDS for token in self.found)
        lists = match.group()[0] != "," or "quad" in match.group() or "&" in match.group() or self._related_in_row()
        if match.group()[0] == "," and (self.in_cases or (inside and "quad" not in match.group()) or not lists):
            return self.add("symbol", ",", *match.span())
        return self.add("row", "\\\\", *match.span())

    def _related_in_row(self) -> bool:
        """Whether this row relates two sides already: L = 32, D = 4096 are two claims, and B, D = 4096 is none."""
        rows = [at for at, token in enumerate(self.found) if token.kind == "row"]
        return any(token.text in RELATIONS for token in self.found[rows[-1] if rows else 0 :])

    def _number(self, match: re.Match[str]) -> int:
        """A number; with a power of ten behind it where that cannot belong to something in front."""
        (start, end), before = match.span(), self.found[-1].text if self.found else ""
        power = POWER_OF_TEN.search(match.group())
        digits = self.source[start : start + power.start() if power else end].replace("{,}", "").replace("\\,", "")
        digits = UPRIGHT_E.sub(r"e\1", digits)
        if "," in digits:
            if self.brackets.separate(before, self.source[end : end + 1]):
                digits = digits.partition(",")[0]
                return self.add("number", digits, start, start + len(digits))
            digits = digits.replace(",", "")
        if power is None:
            return self.add("number", digits, start, end)
        measured = any(token.kind == "unit" or (token.kind == "number" and "e" in token.text) for token in self.found)
        if before in ("^", "\\frac") or (before == "/" and not measured and "." not in digits):
            return self.add("number", digits, start, start + power.start())
        if "e" in digits.lower():
            raise self.error("the number has two exponents", start, end)
        raised_to = re.sub(r"[\s{}^]", "", power.group().partition("10")[2]).translate(PLAIN)
        return self.add("number", f"{digits}e{raised_to}", start, end)

    def _raised(self, match: re.Match[str]) -> int:
        self.found += raised(match.group(), *match.span())
        return match.end()

    def _accent(self, match: re.Match[str]) -> int:
        """A letter with a mark over it is a name of its own."""
        letter, (start, end) = match["under"] or match["below"], match.span()
        if match["accent"] == "mathbb":
            raise self.error("a set has no value", start, end)
        index = index_at(self.source, end)
        suffix = f"_{index.name}" if index is not None and index.is_name else ""
        name = f"{letter}_{match['accent']}{suffix}"
        return self._applied(name, start, index.end if index is not None and suffix else end, "")

    def _under(self, match: re.Match[str]) -> int:
        return self._accent(match)

    def _below(self, match: re.Match[str]) -> int:
        return self._accent(match)

    def _count(self, match: re.Match[str]) -> int:
        """The number of something: #ops."""
        words = re.sub(r"\\[A-Za-z]+|[{}]", " ", match["count"])
        return self.add("word", opaque("#" + " ".join(words.split())), *match.span())

    def _micro(self, match: re.Match[str]) -> int:
        return self.add("unit", f"u{match['micro']}", *match.span())

    def _is_product(self, word: str) -> bool:
        """Whether letters are factors: of a word of the grammar, for these stand in \\text; or where one is an alias."""
        if word in KEYWORDS:
            return set(word) <= (self.dialect.scope.letters or set())
        own = {alias for alias in self.dialect.aliases if len(alias) == 1}
        if not own & set(word) or word in self.names or not set(word) <= own | set(self.names):
            return False
        return self._bare(word) == word

    def _word(self, match: re.Match[str]) -> int:
        """Letters; an index belongs to the last of them."""
        word, (start, end) = match.group(), match.span()
        if not word.isalpha():  # an index of Unicode
            whole = lowered(word)
            head = whole.index("_") - 1
            start = self.add("word", whole[:head], start, start + head) if head else start
            return self.add("word", whole[head:], start, end)
        behind = self._of_tensor(self._called(word), start, end)
        if behind is not None:
            return behind
        typed = PLAIN_INDEX.match(self.source, end)
        if typed is not None and self._named(word + typed.group()):
            return self.add("word", self._known(word + typed.group()), start, typed.end())
        if (mark := decorated(self.source, end)) is not None:
            whole = f"{word[-1]}{mark.name}"
            if len(word) > 1:
                start = self.add("word", word[:-1], start, end - 1)
            return self._applied(whole if mark.is_name else opaque(whole), start, mark.end, "")
        index = index_at(self.source, end)
        if index is None and self._is_product(word):
            for at, letter in enumerate(word, start):
                self.add("word", self._bare(letter), at, at + 1)
            return end
        if index is None:
            if len(word) > 1 and word not in self.names and word[-1] in self.dialect.functions:
                start, word = self.add("word", self._bare(word[:-1]), start, end - 1), word[-1]
            return self._applied(self._bare(word), start, end, "")
        for whole in (f"{word}_{index.written}", f"{word}_{index.name}"):
            if (behind := self._of_tensor(self._named(whole), start, index.end)) is not None:
                return behind
            if whole in self.names or self._named(whole) is not None:
                return self._applied(self._known(whole), start, index.end, index.written)
        if not index.is_name:
            raise self.error(f"the index {index.written!r} is no name", end, index.end, expected="letters and digits")
        if len(word) > 1:
            start = self.add("word", word[:-1], start, end - 1)
        return self._applied(f"{word[-1]}_{index.name}", start, index.end, index.written)

    def _cases(self, match: re.Match[str]) -> int:
        self.in_cases = "begin" in match.group()
        return self.add("symbol", "cases{" if self.in_cases else "}cases", *match.span())

    def _command(self, match: re.Match[str]) -> int:
        command, (start, end) = match.group(), match.span()
        if command in AROUND:
            return self._opened(end)
        if command in LOOKS:
            paired = command in ("\\left", "\\right")
            self.gap = self.gap or command in ("\\quad", "\\qquad")
            self.spaced = self.spaced or not paired
            return end + (paired and self.source.startswith(".", end))
        if command in GREEK_COMMANDS:
            micro = MICRO.match(self.source, end) if command == "\\mu" and self._follows_number() else None
            if micro is not None:
                return self.add("unit", "us", start, micro.end())
            mark = decorated(self.source, end) or index_at(self.source, end)
            name = GREEK_COMMANDS[command]
            if isinstance(mark, Decoration):
                name = f"{name}{mark.name}" if mark.is_name else opaque(f"{name}{mark.name}")
            elif mark is not None:
                name = f"{name}_{mark.name}"
            return self._applied(name, start, mark.end if mark else end, "")
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

    def _opened(self, end: int) -> int:
        """The place behind the brace that stands here; the one that closes it says nothing either."""
        opening, closing = re.compile(r"\s*\{").match(self.source, end), closing_brace(self.source, end)
        if opening is None or closing is None:
            return end
        self.closings.add(closing - 1)
        return opening.end()

    def _symbol(self, match: re.Match[str]) -> int:
        if match.start() in self.closings:
            return match.end()
        return self._sign(SYNONYMS.get(match.group(), match.group()), *match.span())

    def _sign(self, text: str, start: int, end: int) -> int:
        self.brackets.see(text, self.found[-1] if self.found else None)
        return self.add("word" if text == "oo" else "symbol", text, start, end)
