"""The tensors of a program: their names and types, the lines they stand on, and where an error points."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from symroof.errors import ReadingError, suggestion
from symroof.formula import FUNCTIONS, KEYWORDS
from symroof.model.dtype import Dim, Dtype, Tensor
from symroof.model.functions import Function
from symroof.reading.einsums import EinsumReader
from symroof.reading.program_words import COMMENT, END
from symroof.reading.scanner import scan_long
from symroof.reading.tokens import Token

# A statement goes on in the next line behind one of these, and where that begins with one.
OPEN = ("*", "+", "-", ",", "->", "=", ":", "(", "[", "@", ".", "{")
JOINS = ("*", "+", "-", ",", "->", "@", ".", "]", ")", "{")
LONGEST_PROGRAM = 65_536


class TensorReader(EinsumReader):
    def __init__(self, source: str, element: Dtype | None, functions: Mapping[str, Function]) -> None:
        self.whole, self.functions = source, functions
        blanked = COMMENT.sub(lambda m: " " * len(m.group()), source).replace(END, "\n")
        super().__init__(blanked, element)
        self.known: dict[str, Tensor] = {}
        self.reshaped: list[tuple[Function, Tensor, Tensor, Token]] = []
        self.used: set[str] = set()
        self.sized: dict[str, Token] = {}

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
        here = (start - first, max(min(end - first, len(line)), start - first))
        return ReadingError(problem, source=line, span=here, expected=expected, hint=hint)

    def _new(self, token: Token) -> str:
        if token.text in self.known:
            raise self.error(f"{token.text} is made twice", "a name of its own for each tensor", token=token)
        if token.text in {*KEYWORDS, *FUNCTIONS}:
            raise self.error(f"{token.text} is a word of the language", "the name of a tensor", token=token)
        return token.text

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
        for dim in tensor.dims:
            if tensor.labels.count(dim.label) > 1:
                hint = f"say that two sizes are equal: where E = {dim.label}"
                shown = f"{dim.label} appears twice in one tensor"
                raise self.error(shown, "a name of its own for each size", hint, token=start)
        return tensor

    def _dim(self) -> Dim:
        token = self.token
        dim = super()._dim()
        self.sized.setdefault(dim.label, token)
        return dim

    def _operand(self, token: Token) -> Tensor:
        if token.text not in self.known:
            hint = suggestion(token.text, self.known) or f"declare it: input {token.text}: bf16[…]"
            if token.text in self.functions:
                hint = f"a function has brackets: {token.text}(x)"
            expected = f"one of {', '.join(self.known)}" if self.known else "a declared tensor"
            raise self.error(f"there is no tensor {token.text} before this line", expected, hint, token=token)
        self.used.add(token.text)
        return self.known[token.text]
