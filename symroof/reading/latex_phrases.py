r"""Words in LaTeX: quantities, units and powers of ten behind numbers, words of the grammar, remarks, opaque names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from functools import cached_property

from symroof.errors import ReadingError
from symroof.formula import KEYWORDS, Frozen
from symroof.reading.macros import EQUALS, LETTERS_ALONE, Macro, arguments_at, index_at, tensor_at
from symroof.reading.name_scope import Scope, opaque
from symroof.reading.numbers import COUNT_SCALES, COUNTED, unit_named
from symroof.reading.prose_parts import UNITS, amount_in
from symroof.reading.scanner import CLOSINGS, OPENINGS, Brackets, Token
from symroof.reading.vocabulary import AMOUNTS, KNOWN, WORDS, folded, meanings, named

FUNCTION_WORDS = ("max", "min", "log2", "exp", "floor", "ceil")
CLAUSES = meanings(WORDS["clauses"])

# Behind a unit: 7e16 s^{-1}.
INVERSE = re.compile(r"\s*\^\s*\{\s*-\s*1\s*\}")
OF = re.compile(r"\s*(?:\\left)?\(\s*\\text(?:rm)?\s*\{([^{}$\\]*)\}\s*(?:\\right)?\)")
ENDS = re.compile(
    r"(?:\s|~|\\[,;:! ]|[.,;])*(?:$|\\\\|\\end|&|[=<>)}]|\\(?:le|leq|ge|geq|approx|sim|iff|implies|ll|gg|quad|qquad|to|rightarrow|right)\b)"
)


class Dialect(Frozen):
    """How a document names things: the declared names, words of its own for known quantities, its macros, and the
    ``functions`` that it defines, each with its arguments there."""

    scope: Scope
    aliases: Mapping[str, str] = field(default_factory=dict)
    macros: Mapping[str, Macro] = field(default_factory=dict)
    functions: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def own(self) -> dict[str, str]:
        """What the words of the document mean, in the form in which words are compared."""
        return {folded(alias): name for alias, name in self.aliases.items()}

    @cached_property
    def names(self) -> frozenset[str]:
        return frozenset(self.scope.names)

    @cached_property
    def called(self) -> frozenset[str]:
        """The amounts that a tensor of a program has: ``flops`` of flops(h)."""
        return frozenset(name.partition("(")[0] for name in self.scope.names if name.endswith(")"))


class Phrases:
    """The tokens that have been found in a formula, and the rules for words, which look back at them."""

    def __init__(self, source: str, dialect: Dialect) -> None:
        self.source, self.dialect = source, dialect
        self.names, self.lenient = dialect.names, dialect.scope.lenient
        self.found: list[Token] = []
        self.brackets = Brackets()
        self.depth, self.in_cases = 0, False
        self.closings: set[int] = set()  # where braces close that say nothing
        self.spaced = False
        self.gap = False  # a wide space, behind which words are remarks, and formulas begin anew

    def error(self, problem: str, start: int, end: int, expected: str | None = None) -> ReadingError:
        return ReadingError(problem, source=self.source, span=(start, end), expected=expected)

    def add(self, kind: str, text: str, start: int, end: int) -> int:
        """A token, and the place behind it. What begins behind a wide space is a row of its own."""
        if self.gap and self._begins_anew(kind, text):
            self.found.append(Token("row", "\\\\", start, start, True))
        self.depth += (text in OPENINGS) - (text in CLOSINGS)
        self.found.append(Token(kind, text, start, end, self.spaced))
        self.spaced = self.gap = False
        return end

    def _begins_anew(self, kind: str, text: str) -> bool:
        """Whether an expression begins here, outside of brackets and behind a complete one."""
        last = self.found[-1] if self.found else None
        ended = last is not None and (last.text in CLOSINGS or last.kind in ("number", "word", "unit", "unread"))
        begins = kind in ("number", "word", "unread") or text in OPENINGS or text.startswith("\\")
        clause = text in KEYWORDS or (last is not None and last.text in KEYWORDS)
        return ended and begins and not clause and not self.depth and kind != "row"

    def _applied(self, name: str, start: int, end: int, index: str) -> int:
        r"""A name, and the arguments behind it where it is a function: where its index is a word, T_\text{comms}(X), or
        where the document defines it as one: T_1(n) is its value of that n, and T_1(2n) another."""
        function = name in self.dialect.functions
        arguments = arguments_at(self.source, end) if len(index) > 1 or function else None
        if arguments is None:
            return self.add("word", name, start, end)
        inside, behind = arguments
        if function:
            same = "".join(inside.split()) == self.dialect.functions[name]
            return self.add("word", name if same else opaque(f"{name}({inside})"), start, behind)
        if self._is_function_of(name, inside, behind):
            return self.add("word", name, start, behind)
        if not self.lenient:
            raise self.error(f"{name}({inside}) has two readings", start, behind, expected="a function, or a product")
        return self.add("word", opaque(f"{name}({inside})"), start, behind)

    def _of_tensor(self, name: str | None, start: int, end: int) -> int | None:
        r"""An amount of one tensor, \text{FLOPs}(h) or \text{FLOPs}_h, where the program has it."""
        if name not in self.dialect.called:
            return None
        index, bracketed = index_at(self.source, end), tensor_at(self.source, end)
        indexed = index and ((index.name, index.name.replace("_", "")), index.end)
        tensors, behind = indexed or bracketed or ((), end)
        whole = next((call for tensor in tensors if (call := f"{name}({tensor})") in self.names), None)
        return None if whole is None else self.add("word", whole, start, behind)

    def _is_function_of(self, name: str, inside: str, behind: int) -> bool:
        """Whether a name is defined as a function of letters here, or its derivative by one of them is taken. The costs of
        a program are functions of its sizes, not of a tensor that has none of its own."""
        if LETTERS_ALONE.fullmatch(inside) is None:
            return False
        if name in self.dialect.called and not {*inside.split(", ")} <= self.names:
            return False
        last = [token.text for token in self.found[-3:]]
        begins = not last or self.found[-1].kind == "row"
        by = last[-2:] == ["d" + inside, "}"] or last in (["d", inside, "}"], ["∂", inside, "}"])
        return by or (begins and EQUALS.match(self.source, behind) is not None)

    def _bare(self, word: str) -> str:
        """A word without an index may be one of the vocabulary for a declared name; behind a number it may be a unit."""
        declared = word in self.names and word not in self.dialect.scope.give_way
        if self._follows_number() and not declared and unit_named(word):
            return word
        own = self.dialect.own.get(folded(word))
        meaning = own or (KNOWN.get(folded(word)) if len(word) > 1 and word not in self.names else None)
        return meaning if meaning in self.names else word

    def _named(self, words: str) -> str | None:
        amount = AMOUNTS.get(folded(words))
        return named(words, self.dialect.own) or (amount if amount in self.names else None)

    def _called(self, words: str) -> str:
        """What words would name if a tensor stands behind them."""
        return words if words in self.dialect.called else self._named(words) or AMOUNTS.get(folded(words), words)

    def _known(self, name: str) -> str:
        return name if name in self.names else self._named(name) or name

    def _follows_number(self) -> bool:
        return bool(self.found) and self.found[-1].kind == "number"

    def _words(self, match: re.Match[str]) -> int:
        """Words: a quantity, a unit after a number, or a word of the grammar."""
        words, (start, end) = re.sub(r"\\([_ %&$])", r"\1", match["words"]).replace("\\,", " ").strip(), match.span()
        if words in FUNCTION_WORDS:
            return self.add("word", words, start, end)
        amount, rest = amount_in(words.lstrip("~ "))
        if amount and not rest:
            if words[0] == "~" and self.found and self.found[-1].text == "=":  # = ~14 GB is about as much
                self.found[-1] = self.found[-1]._replace(text="~")
            for kind, text in zip(("number", "unit", "unit"), amount, strict=False):
                self.add(kind, text, start if kind == "number" else end, end)
            return end
        behind = self._of_tensor(self._called(words), start, end)
        if behind is not None:
            return behind
        if self._is_amount(words):
            return self.add("word", self._known(words), start, end)
        (number, *units), rest = amount_in(f"1{words}")
        if number.startswith("1e") and self._follows_number() and "e" not in self.found[-1].text.lower():
            last = self.found[-1]
            self.found[-1] = last._replace(text=last.text + number[1:], end=start)
            words = " ".join((*units, rest)).strip()
            if not words:
                return end
        is_size = len(words) == 1 and (words in self.names or words in UNITS)
        if not is_size and self._may_be_unit() and units and not rest:
            per = INVERSE.match(self.source, end) if units == ["s"] else None
            for unit in ("Hz",) if per else units:
                self.add("unit", unit, start, end)
            return per.end() if per else end
        if not words.strip(".,;: ") or self._is_remark(words, end):
            self.spaced = True
            return end
        of = OF.match(self.source, end)
        if of is not None and (quantity := self._named(f"{words}({of[1]})")):
            return self.add("word", quantity, start, of.end())
        clause = CLAUSES.get(words.rstrip(".,;: "))
        if clause is not None:
            if clause:
                self.add("symbol" if clause == "otherwise" else "word", clause, start, end)
            self.spaced = True
            return end
        index = index_at(self.source, end)
        if index is not None:
            words, end = f"{words}_{index.written}", index.end
        return self._applied(self._meaning(words, start, end), start, end, words)

    def _meaning(self, words: str, start: int, end: int) -> str:
        """The name that words stand for: a declared one, a letter, a quantity, or in a lenient scope words as they are."""
        if words in self.names or self._named(words) is not None:
            return self._known(words)
        if self.dialect.scope.admits(words):
            return words
        if self.lenient:
            return opaque(words)
        expected = "a word of `symroof list words`, or one of the aliases of the problem"
        raise self.error(f"unknown words {words!r}", start, end, expected)

    def _is_amount(self, words: str) -> bool:
        """Whether words that also count things name an amount of the program, or behind a factor what a problem names so:
        not where something is counted, 2DF weights in params = 2DF weights."""
        own = words in self.names and words in COUNTED and self.found and self.found[-1].kind != "number"
        amount = AMOUNTS.get(folded(words), words if own else None)
        counting = any(token.text.partition("(")[0] in (amount, "params", "elements") for token in self.found)
        return amount in self.names and not counting

    def _may_be_unit(self) -> bool:
        """Whether words stand behind a number, or behind a unit and a bar."""
        kinds = [token.kind if token.text != "/" else "/" for token in self.found[-2:]]
        return kinds[-1:] == ["number"] or kinds == ["unit", "/"]

    def _is_remark(self, words: str, end: int) -> bool:
        """Words that say what is counted, or in which unit, behind an expression; words in brackets behind a number; or
        anything behind a wide space."""
        last = self.found[-1] if self.found else None
        if last is None or last.kind == "row" or (last.kind == "symbol" and last.text not in (")", "}", "]")):
            return False
        if last.kind == "number" and words[0] == "(" and words[-1] == ")":
            return True
        if words in COUNTED and self._ends_with_scale():
            self.found[-1] = last._replace(kind="unit")
            return True
        unit = unit_named(words) is not None and last.kind not in ("number", "unit")
        named = words in self.names or self._named(words) is not None or words in CLAUSES
        return ENDS.match(self.source, end) is not None and (words in COUNTED or unit or (self.gap and not named))

    def _ends_with_scale(self) -> bool:
        """Whether a number and a power of ten stand here, as in 7B."""
        number, letter = self.found[-2:] if len(self.found) > 1 else (None, self.found[-1])
        taken = letter.spaced or letter.text in self.names or letter.text not in COUNT_SCALES
        return number is not None and (number.kind, letter.kind) == ("number", "word") and not taken
