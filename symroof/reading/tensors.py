"""The tensors of a program as its statements name them: their types, and other dimensions that they are seen in."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from symroof.errors import ReadingError, suggestion
from symroof.formula import FUNCTIONS, KEYWORDS, Compare, Formula, Name
from symroof.model.functions import VIEW, Function
from symroof.model.program_tree import ROLES, Mask, Statement
from symroof.model.tensor_types import Dim, Dtype, Tensor
from symroof.reading.einsums import EinsumReader
from symroof.reading.scanner import Token, scan_long

COMMENT = re.compile(r"#[^\n]*")
END = ";"
WORDS = (
    *ROLES,
    "frozen",
    "shared",
    "output",
    "fuse",
    "recompute",
    "repeat",
    "scan",
    "accumulate",
    "block",
    "where",
    "mesh",
)
STATEMENT = re.compile(rf"(?:^|[;{{])\s*(?:({'|'.join(WORDS)})\b(?!\s*=)|[^\W\d]\w*\s*=(?![=>]))", re.MULTILINE)
# A statement goes on in the next line behind one of these, and where that begins with one.
OPEN = ("*", "+", "-", ",", "->", "=", ":", "(", "[", "@", ".", "{")
JOINS = ("*", "+", "-", ",", "->", "@", ".", "]", ")", "{")
LONGEST_PROGRAM = 65_536


@dataclass(eq=False)
class Turns:
    """A repeat that is being read: what there was before it, and the dimension that it goes along, where it scans."""

    times: Formula
    before: frozenset[str]
    along: str = ""


def is_program(text: str) -> bool:
    """Whether a text is written in statements.

    >>> is_program("input x: bf16[B, D]; y = relu(x)"), is_program("bf16[B, D] * bf16[D, F] -> bf16[B, F]")
    (True, False)
    """
    return STATEMENT.search(COMMENT.sub("", text)) is not None


class TensorReader(EinsumReader):
    def __init__(self, source: str, element: Dtype | None, functions: Mapping[str, Function]) -> None:
        self.whole, self.functions = source, functions
        blanked = COMMENT.sub(lambda m: " " * len(m.group()), source).replace(END, "\n")
        super().__init__(blanked, element)
        self.known: dict[str, Tensor] = {}
        self.where: dict[str, Formula] = {}
        self.defined: dict[str, Token] = {}
        self.facts: list[tuple[Compare, Token]] = []  # what is known of sizes
        self.masked: list[tuple[Mask, Token]] = []
        self.seen: list[Statement] = []  # what operands are seen as, before the statement that has them
        self.reshaped: list[tuple[Function, Tensor, Tensor, Token]] = []
        self.outside: set[str] = set()  # the inputs and caches
        self.grown: set[str] = set()  # the caches that have had entries appended
        self.entries: list[tuple[Token, str, str]] = []  # a cache, its dimension, and how many are appended
        self.sliced: list[tuple[Token, str, str]] = []  # a tensor, its dimension, and how many places of it
        self.joined: list[tuple[str, tuple[str, ...], Token]] = []  # a dimension, and those of what it is joined of
        self.used: set[str] = set()
        self.factors: list[tuple[Formula, Token]] = []
        self.gone: set[str] = set()  # what a microbatch made, once it is over
        self.sized: dict[str, Token] = {}
        self.words = {token.text for token in self.tokens}
        self.turns: list[Turns] = []  # the repeats that are being read
        self.ahead: list[Statement] = []  # what a scan sees whole, before it
        self.placed: dict[tuple[int, str], str] = {}  # what a scan and a tensor have at the place of a turn
        self.turned: list[tuple[str, Turns, Token]] = []  # a dimension, the turns that go along it, and what has it
        self.put: set[str] = set()  # what all turns collect
        self.inside_alone: dict[str, str] = {}  # what is of one turn alone, having the dimension that turns go along

    def scanned(self) -> Sequence[Token]:
        if len(self.whole) > LONGEST_PROGRAM:
            shown, span = f"the program has {len(self.whole)} characters", (0, 1)
            raise ReadingError(shown, expected=f"at most {LONGEST_PROGRAM}", source=self.whole[:1], span=span)
        try:
            return tuple(self._ended(scan_long(self.source)))
        except ReadingError as error:
            raise self._placed(error.problem, error.expected, error.hint, *(error.span or (0, 1))) from None

    def _ended(self, tokens: Sequence[Token]) -> Iterator[Token]:
        """The tokens with the ends of statements among them: where a line ends, outside of brackets."""
        depth, before = 0, tokens[0]
        for token in tokens:
            ended = "\n" in self.source[before.end : token.start] and depth <= 0
            if ended and before.text not in OPEN and token.text not in JOINS:
                yield Token("symbol", END, before.end, before.end, spaced=True)
            depth += (token.text in ("(", "[")) - (token.text in (")", "]"))
            yield token
            before = token

    def error(
        self,
        problem: str | None = None,
        expected: str | None = None,
        hint: str | None = None,
        *,
        token: Token | None = None,
        span: tuple[int, int] | None = None,
    ) -> ReadingError:
        """As for every text; of several lines the error shows the one at fault."""
        token = token or self.token
        start, end = span or token.span
        if problem is None:
            before = self.tokens[self.index - 1] if self.index and token is self.token else token
            ended = token.kind == "end" or token.text == END or "\n" in self.source[before.end : token.start]
            problem = "the statement ends too early" if ended else f"unexpected {token.text!r}"
            start, end = (before.end, before.end + 1) if ended else (start, end)
        return self._placed(problem, expected, hint, start, end)

    def _placed(self, problem: str, expected: str | None, hint: str | None, start: int, end: int) -> ReadingError:
        first = self.whole.rfind("\n", 0, start) + 1
        stop = self.whole.find("\n", start)
        line = self.whole[first : stop if stop >= 0 else len(self.whole)]
        if "\n" in self.whole.strip():
            problem = f"line {self.whole.count(chr(10), 0, start) + 1}: {problem}"
        span = (start - first, max(min(end - first, len(line)), start - first))
        return ReadingError(problem, source=line, span=span, expected=expected, hint=hint)

    def _new(self, token: Token) -> str:
        if token.text in self.known:
            raise self.error(f"{token.text} is made twice", "a name of its own for each tensor", token=token)
        if token.text in {*KEYWORDS, *FUNCTIONS}:
            raise self.error(f"{token.text} is a word of the language", "the name of a tensor", token=token)
        return token.text

    def _free(self, name: str) -> str:
        """A name that no tensor has, and that the text does not give to one later."""
        candidate, number = name, 1
        while candidate in self.known or candidate in self.words:
            number += 1
            candidate = f"{name}{number}"
        return candidate

    def _type(self, operands: Sequence[Tensor] = ()) -> Tensor:
        """A type; one without a dtype has that of the operands, if it is one, or that of the problem."""
        start = self.token
        if self.at("["):
            types = {tensor.dtype for tensor in operands}
            element = types.pop() if len(types) == 1 else self.element
            if element is None:
                hint = "or one for all of them: --dtype bf16"
                raise self.error("a type without a dtype", "a type, as in bf16[B, D]", hint, token=start)
            tensor = Tensor(element, self._dims(start))
        else:
            tensor = replace(self._tensor(), name=None)
        self._require_distinct(tensor, "one tensor", start)
        return tensor

    def _require_distinct(self, tensor: Tensor, shown: str, token: Token) -> None:
        """Every dimension of a tensor has a name of its own."""
        if twice := next((label for label in tensor.labels if tensor.labels.count(label) > 1), None):
            hint = f"say that two sizes are equal: where E = {twice}"
            raise self.error(f"{twice} appears twice in {shown}", "a name of its own for each size", hint, token=token)

    def _require_dimension(self, label: Token, name: str, labels: Collection[str]) -> None:
        """A label is that of a dimension of a tensor."""
        if label.text not in labels:
            near = suggestion(label.text, labels)
            raise self.error(f"{name} has no dimension {label.text}", f"one of {', '.join(labels)}", near, token=label)

    def _stated(self, operands: Sequence[Tensor], result: Tensor, call: str, *, typed: bool = False) -> Tensor:
        """The type behind an arrow, with the dimensions of the result, and where it is ``typed`` all of its type; without
        an arrow the type of the result."""
        place, result = self.following, replace(result, name=None)
        if not self.accept("->"):
            return result
        stated = self._type(operands)
        if {*stated.labels} != {*result.labels}:
            raise self.error(f"{call} is {result}, not {stated}", f"the dimensions of {result}", token=place)
        if typed and (stated.dtype, {*stated.dims}) != (result.dtype, {*result.dims}):
            raise self.error(f"{call} is {result}, not {stated}", str(result), token=place)
        return stated

    def _label(self) -> Token:
        """The label of a dimension: its name, or the number that it is."""
        return self.next() if self.token.kind == "number" else self.take("word", "a dimension")

    def _dim(self) -> Dim:
        token = self.token
        dim = super()._dim()
        self.sized.setdefault(dim.label, token)
        return dim

    def _operand(self, token: Token) -> Tensor:
        if token.text in self.gone:
            shown = f"{token.text} is one of each microbatch, and gone after it"
            raise self.error(shown, "what uses it within the braces of accumulate", token=token)
        if token.text in self.inside_alone:
            label = self.inside_alone[token.text]
            shown = f"{token.text} has {label} in each turn, and so no place for all of them"
            raise self.error(shown, "what uses it within the braces of the scan", token=token)
        if token.text not in self.known:
            hint = suggestion(token.text, self.known) or f"declare it: input {token.text}: bf16[…]"
            if token.text in self.functions:
                hint = f"a function has brackets: {token.text}(x)"
            expected = f"one of {', '.join(self.known)}" if self.known else "a declared tensor"
            raise self.error(f"there is no tensor {token.text} before this line", expected, hint, token=token)
        self.used.add(token.text)
        return self.known[token.text]


class ViewReader(TensorReader):
    """Operands in other dimensions: x[T -> S]."""

    def _renamed(self, token: Token) -> tuple[Tensor, Tensor] | None:
        """A tensor before and after some of its dimensions have other names; None where it is as it is."""
        if token.text not in self.known or not self.accept("["):
            return None
        tensor = self._operand(token)
        names: dict[str, str] = {}
        while True:
            old = self.take("word", "a dimension, as in x[T -> S]")
            self._require_dimension(old, token.text, [label for label in tensor.labels if label not in names])
            self.expect("->")
            new = self._dim()
            names[old.text] = new.label
            if new.axes or new.fixed:
                raise self.error(f"{new} is no name of a size", "a name, as in x[T -> S]")
            self._require_equal(old, new.label)
            if not self.accept(","):
                break
        self.expect("]", "',' or ']'")
        dims = tuple(replace(dim, label=names.get(dim.label, dim.label)) for dim in tensor.dims)
        seen = replace(tensor, dims=dims)
        self._require_distinct(seen, str(seen), token)
        return tensor, seen

    def _require_equal(self, old: Token, label: str) -> None:
        """The new name is that of a size that equals the old one: by a definition, or as one that is new."""
        size = self.where.get(label)
        if size == Name(old.text) or self.where.get(old.text) == Name(label):
            return
        shaped = {dim.label for tensor in self.known.values() for dim in tensor.dims}
        if size is not None or label in shaped:
            shown = f"{label} is a size of its own"
            raise self.error(shown, f"a new name, or where {label} = {old.text} before", token=old)
        self.where[label], self.defined[label] = Name(old.text), old

    def _seen(self, token: Token, renamed: tuple[Tensor, Tensor] | None) -> Token:
        """The name of an operand, which is that of a view where its dimensions have other names."""
        if renamed is None:
            return token
        tensor, seen = renamed
        new = [dim.label for dim, old in zip(seen.dims, tensor.dims, strict=True) if dim != old]
        plain = name = f"{token.text}_{''.join(new)}"
        number = 1
        while name in self.known and self.known[name] != replace(seen, name=name):
            number += 1
            name = f"{plain}{number}"
        if name not in self.known:
            self.seen.append(self._view(name, token, tensor, seen))
            self.known[name] = self.seen[-1].result
        self.used.add(name)
        return token._replace(text=name)

    def _view(self, name: str, token: Token, tensor: Tensor, seen: Tensor) -> Statement:
        """The same elements in other dimensions."""
        if seen.dtype != tensor.dtype:
            cure = f"{tensor.dtype.name}, or a statement of its own: {name} = convert({token.text}) -> {tensor.dtype.name}[…]"
            raise self.error(f"{token.text} is {tensor}, and in other dimensions keeps its type", cure, token=token)
        self.reshaped.append((VIEW, tensor, seen, token))
        return Statement("function", (tensor,), replace(seen, name=name), VIEW)
