"""Typed einsums, in the notations that people use.

    operation = tensor { times tensor } arrow tensor            bf16[B, D] * bf16[D, F] -> bf16[B, F]
              | name { times name } [arrow name] ":" tensor { "," tensor } arrow tensor
              | letters { "," letters } arrow letters           bd,df->bf     with a dtype from the problem
              | a name of the library                           matmul
    times     = ("*" | "·" | "•" | "×" | "@" | "." | "\\cdot") [ "_" contracted ]
    tensor    = (dtype | name) "[" [ dim { "," dim } ] "]"      X[B, D] takes its dtype from the problem
    dim       = NUMBER | NAME | NAME "_" AXIS                   an axis is in capitals: D_X, I_{X}

Dimensions that the operands share and the output lacks are contracted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import reduce

from symroof.errors import ModelError, ReadingError, SymroofError, nearest, suggestion
from symroof.formula import FUNCTIONS, KEYWORDS
from symroof.model.dtype import BY_NAME, Dim, Dtype, Tensor, dtype
from symroof.model.einsum import Einsum, OperandError
from symroof.model.library import LIBRARY, library_operation
from symroof.model.operation import AnyOperation
from symroof.reading.scanner import Reader, T
from symroof.reading.tokens import Token

ARROW = r"->|→|\\rightarrow|\\to"
EINSUM = re.compile(rf"\s*[A-Za-z]+(\s*,\s*[A-Za-z]+)*\s*({ARROW})\s*[A-Za-z]*\s*")
LIBRARY_NAME = re.compile(r"\s*[A-Za-z][A-Za-z0-9_-]*\s*")
TEXT = re.compile(r"\\(?:text|textrm|texttt|mathrm|mathtt|mathit|mathbf)\s*\{([^{}]*)\}")
ASCII = {"\\cdot": "*", "\\times": "*", "\\rightarrow": "->", "\\to": "->"}
AXIS = re.compile(r"[A-Z][A-Z0-9]*")


def read_operation(text: str, element: Dtype | None = None) -> AnyOperation:
    """The operation that ``text`` writes; ``element`` is the dtype of tensors that do not state one.

    >>> str(read_operation(r"X[B, D] \\cdot_D Y[D, F] \\rightarrow Z[B, F]", dtype("int8")))
    'X * Y -> Z: int8[B, D], int8[D, F] -> int8[B, F]'
    """
    if LIBRARY_NAME.fullmatch(text):
        name = text.strip()
        if name in LIBRARY:
            return library_operation(name, element)
        start = text.index(name)
        raise ReadingError(
            f"unknown operation {name!r}",
            source=text,
            span=(start, start + len(name)),
            expected="an operation such as 'bf16[B, D] * bf16[D, F] -> bf16[B, F]', or a library name",
            hint=suggestion(name, LIBRARY) or "see `symroof operations`",
        )
    if EINSUM.fullmatch(text):
        return _letters(text, element)
    return _OperationReader(text, element).operation()


def typed_operation(text: str) -> tuple[str, bool] | None:
    """The operation that a piece of text writes, in canonical form, and whether it states its dtypes; None for others.

    >>> typed_operation(r"X[B, D] \\cdot_D Y[D, F] \\rightarrow Z[B, F]")
    ('X[B, D] *_D Y[D, F] -> Z[B, F]', False)
    """
    if "[" not in text or not re.search(ARROW, text):
        return None
    plain = " ".join(TEXT.sub(r"\1", text).replace("\\_", "_").replace("\\left", "").replace("\\right]", "]").split())
    with suppress(SymroofError):
        return str(read_operation(plain)), True
    with suppress(SymroofError):
        read_operation(plain, dtype("bf16"))
        return reduce(lambda written, sign: written.replace(sign, ASCII[sign]), ASCII, plain), False
    return None


def _letters(text: str, element: Dtype | None) -> Einsum:
    whole = (0, len(text))
    if element is None:
        raise ReadingError("an einsum of letters has no dtype", source=text, span=whole, hint="say --dtype bf16")
    left, right = re.split(ARROW, text)
    shapes = [shape.strip() for shape in (*left.split(","), right)]
    *inputs, output = (Tensor(element, tuple(map(Dim, shape))) for shape in shapes)
    return _einsum(inputs, output, text, [whole] * len(shapes))


def _einsum(inputs: Sequence[Tensor], output: Tensor, text: str, spans: Sequence[tuple[int, int]]) -> Einsum:
    """The operation; what is wrong with an operand is said at its place."""
    try:
        return Einsum(tuple(inputs), output)
    except OperandError as error:
        span, expected = spans[error.operand], error.expected
        raise ReadingError(error.problem, source=text, span=span, expected=expected, hint=error.hint) from None


class _OperationReader(Reader):
    def __init__(self, source: str, element: Dtype | None) -> None:
        super().__init__(TEXT.sub(lambda m: " " * (m.start(1) - m.start()) + m.group(1) + " ", source))
        self.source = source
        self.element = element
        self.spans: list[tuple[int, int]] = []
        self.claimed: list[tuple[Token, list[str]]] = []

    def operation(self) -> Einsum:
        inputs, output = self._names_first() if any(t.text == ":" for t in self.tokens) else self._in_place()
        self.expect_end("the end")
        operation = _einsum(inputs, output, self.source, self.spans)
        for token, labels in self.claimed:
            for label in labels:
                if label not in operation.contracted:
                    raise self.error(
                        f"{label} is not contracted",
                        "a dimension that the operands share and the output lacks",
                        token=token,
                    )
        return operation

    def _in_place(self) -> tuple[list[Tensor], Tensor]:
        inputs = self._factors(self._tensor)
        self.expect("->", "'*' or '->'")
        return inputs, self._tensor()

    def _names_first(self) -> tuple[list[Tensor], Tensor]:
        names = self._factors(self._name)
        target = self._name() if self.accept("->") else None
        colon = self.expect(":", "'*', '->' or ':'")
        inputs = [self._tensor(names[0])]
        while self.accept(","):
            if len(inputs) == len(names):
                raise self.error(f"there are more types than the {len(names)} names", "'->'")
            inputs.append(self._tensor(names[len(inputs)]))
        if len(inputs) < len(names):
            raise self.error(f"{len(names)} names have {len(inputs)} types", "a type for each", token=colon)
        self.expect("->", "',' or '->'")
        return inputs, self._tensor(target)

    def _factors(self, read: Callable[[], T]) -> list[T]:
        """What stands between the signs of products, which may say what is contracted: ``X *_D Y``."""
        factors = [read()]
        while token := self.accept("*", "@", "."):
            if self.accept("_"):
                braced = self.accept("{")
                self.claimed.append((token, self.separated(self._name, ",")[0] if braced else [self._name()]))
                if braced:
                    self.expect("}")
            factors.append(read())
        return factors

    def _name(self) -> str:
        return self.take("word", "a name").text

    def _tensor(self, name: str | None = None) -> Tensor:
        token = self.take("word", "a typed tensor such as bf16[B, D]")
        element = self._element(token, name)
        if name is None and token.text not in BY_NAME:
            name = token.text
        self.expect("[", "'[' and the dimensions")
        dims: list[Dim] = []
        while not self.at("]"):
            dims.append(self._dim())
            if not self.accept(","):
                break
        self.spans.append((token.start, self.expect("]", "',' or ']'").end))
        return Tensor(element, tuple(dims), name)

    def _element(self, token: Token, name: str | None) -> Dtype:
        """The dtype of a tensor; a word that is none, but looks like one, is refused as one."""
        looks_typed = name is not None or token.text in BY_NAME or re.fullmatch(r"[a-z]+\d\w*", token.text)
        if looks_typed or (self.element is None and len(token.text) > 2 and nearest(token.text, BY_NAME)):
            try:
                return dtype(token.text)
            except ModelError as error:
                raise self.error(error.problem, error.expected, error.hint, token=token) from None
        if self.element is None:
            raise self.error(
                f"{token.text} has no dtype",
                "a type, as in bf16[B, D]",
                token=token,
                hint="or one for all of them: --dtype bf16",
            )
        return self.element

    def _dim(self) -> Dim:
        token = self.next()
        if token.kind == "number":
            digits = token.text.replace("_", "")
            if not digits.isdigit() or int(digits) == 0:
                raise self.error(f"{token.text} is not a size", "a whole number above 0", token=token)
            return Dim(str(int(digits)))
        if token.kind != "word" or token.text in KEYWORDS or token.text in FUNCTIONS:
            raise self.error(
                None if token.kind != "word" else f"{token.text} is a word of the language",
                token=token,
                expected="a dimension: a name or a whole number",
            )
        if self.at("_") and self.following.text == "{":
            self.go_to(self.index + 2)
            axis = self._name()
            self.expect("}")
            if not AXIS.fullmatch(axis):
                raise self.error(f"{axis} is not a mesh axis", "capitals, as in D_X")
            return Dim(token.text, axis)
        label, _, axis = token.text.rpartition("_")
        return Dim(label, axis) if label and AXIS.fullmatch(axis) else Dim(token.text)
