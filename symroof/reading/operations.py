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

from symroof.errors import ModelError, ReadingError, nearest, suggestion
from symroof.formula import FUNCTIONS, KEYWORDS
from symroof.model.dtype import BY_NAME, Dtype, dtype
from symroof.model.einsum import Einsum, OperandError
from symroof.model.library import LIBRARY, library_operation
from symroof.model.operation import AnyOperation
from symroof.model.tensor import Dim, Tensor
from symroof.reading.scanner import Reader, Token

TIMES = ("*", "@", ".")
EINSUM = re.compile(r"\s*[A-Za-z]+(\s*,\s*[A-Za-z]+)*\s*(->|→|\\rightarrow|\\to)\s*[A-Za-z]*\s*")
LIBRARY_NAME = re.compile(r"\s*[A-Za-z][A-Za-z0-9_-]*\s*")
TEXT = re.compile(r"\\(?:text|mathrm|texttt)\{([^{}]*)\}")
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
        raise ReadingError(
            f"unknown operation {name!r}",
            source=text,
            span=(text.index(name), text.index(name) + len(name)),
            expected="an operation such as 'bf16[B, D] * bf16[D, F] -> bf16[B, F]', or a library name",
            hint=suggestion(name, LIBRARY) or "see `symroof operations`",
        )
    if EINSUM.fullmatch(text):
        return _letters(text, element)
    return _OperationReader(text, element).operation()


def _letters(text: str, element: Dtype | None) -> Einsum:
    if element is None:
        raise ReadingError(
            "an einsum of letters has no dtype", source=text, span=(0, len(text)), hint="say --dtype bf16"
        )
    left, right = re.split(r"->|→|\\rightarrow|\\to", text)
    shapes = [shape.strip() for shape in (*left.split(","), right)]
    tensors = tuple(Tensor(element, tuple(Dim(letter) for letter in shape)) for shape in shapes)
    try:
        return Einsum(tensors[:-1], tensors[-1])
    except OperandError as error:
        raise ReadingError(error.problem, source=text, span=(0, len(text)), hint=error.hint) from None


class _OperationReader(Reader):
    def __init__(self, source: str, element: Dtype | None) -> None:
        blank = TEXT.sub(lambda m: " " * (m.start(1) - m.start()) + m.group(1) + " ", source)
        super().__init__(blank)
        self.source = source
        self.element = element
        self.spans: list[tuple[int, int]] = []
        self.claimed: list[tuple[Token, tuple[str, ...]]] = []

    def operation(self) -> Einsum:
        inputs, output = self._names_first() if any(t.text == ":" for t in self.tokens) else self._in_place()
        self.expect_end("the end")
        try:
            operation = Einsum(inputs, output)
        except OperandError as error:
            raise ReadingError(
                error.problem,
                source=self.source,
                span=self.spans[error.operand],
                expected=error.expected,
                hint=error.hint,
            ) from None
        for token, labels in self.claimed:
            for label in labels:
                if label not in operation.contracted:
                    raise self.error(
                        f"{label} is not contracted",
                        token=token,
                        expected="a dimension that the operands share and the output lacks",
                    )
        return operation

    def _in_place(self) -> tuple[tuple[Tensor, ...], Tensor]:
        inputs = [self._tensor()]
        while self._times():
            inputs.append(self._tensor())
        self.expect("->", "'*' or '->'")
        return tuple(inputs), self._tensor()

    def _names_first(self) -> tuple[tuple[Tensor, ...], Tensor]:
        names = [self._name()]
        while self._times():
            names.append(self._name())
        target = self._name() if self.accept("->") else None
        colon = self.expect(":", "'*', '->' or ':'")
        inputs = [self._tensor(names[0])]
        while self.accept(","):
            if len(inputs) == len(names):
                raise self.error(f"there are more types than the {len(names)} names", expected="'->'")
            inputs.append(self._tensor(names[len(inputs)]))
        if len(inputs) < len(names):
            raise self.error(f"{len(names)} names have {len(inputs)} types", token=colon, expected="a type for each")
        self.expect("->", "',' or '->'")
        return tuple(inputs), self._tensor(target)

    def _times(self) -> bool:
        if not self.at(*TIMES):
            return False
        token = self.next()
        if self.accept("_"):
            braced = self.accept("{")
            labels = [self._name()]
            while braced and self.accept(","):
                labels.append(self._name())
            if braced:
                self.expect("}")
            self.claimed.append((token, tuple(labels)))
        return True

    def _name(self) -> str:
        if self.token.kind != "word":
            raise self.error(expected="a name")
        return self.next().text

    def _tensor(self, name: str | None = None) -> Tensor:
        token = self.token
        if token.kind != "word":
            raise self.error(expected="a typed tensor such as bf16[B, D]")
        self.next()
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
        if token.text in BY_NAME:
            return dtype(token.text)
        looks_typed = name is not None or re.fullmatch(r"[a-z]+\d\w*", token.text)
        if looks_typed or (self.element is None and len(token.text) > 2 and nearest(token.text, BY_NAME)):
            try:
                dtype(token.text)
            except ModelError as error:
                raise self.error(error.problem, token=token, expected=error.expected, hint=error.hint) from None
        if self.element is None:
            raise self.error(
                f"{token.text} has no dtype",
                token=token,
                expected="a type, as in bf16[B, D]",
                hint="or one for all of them: --dtype bf16",
            )
        return self.element

    def _dim(self) -> Dim:
        token = self.next()
        if token.kind == "number":
            digits = token.text.replace("_", "")
            if not digits.isdigit() or int(digits) == 0:
                raise self.error(f"{token.text} is not a size", token=token, expected="a whole number above 0")
            return Dim(str(int(digits)))
        if token.kind != "word" or token.text in KEYWORDS or token.text in FUNCTIONS:
            raise self.error(
                None if token.kind != "word" else f"{token.text} is a word of the language",
                token=token,
                expected="a dimension: a name or a whole number",
            )
        if self.at("_") and self.following.text == "{":
            self.next()
            self.next()
            axis = self._name()
            self.expect("}")
            return Dim(token.text, self._axis(axis))
        label, _, axis = token.text.rpartition("_")
        return Dim(label, axis) if label and AXIS.fullmatch(axis) else Dim(token.text)

    def _axis(self, axis: str) -> str:
        if not AXIS.fullmatch(axis):
            raise self.error(f"{axis} is not a mesh axis", expected="capitals, as in D_X")
        return axis
