"""The reader of typed einsums: tensors between signs of products, with types in place or behind the names."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from symroof.errors import nearest
from symroof.formula import FUNCTIONS, KEYWORDS
from symroof.model.einsum import Einsum, OperandError
from symroof.model.tensor_types import BY_NAME, Dim, Dtype, Tensor, dtype
from symroof.reading.numbers import MOST_DIGITS
from symroof.reading.scanner import Reader, T, Token

TEXT = re.compile(r"\\(?:text|textrm|texttt|mathrm|mathtt|mathit|mathbf)\s*\{([^{}]*)\}")
TIMES = ("*", "@", ".")
AXIS = re.compile(r"[A-Z][A-Z0-9]*")


class EinsumReader(Reader):
    def __init__(self, source: str, element: Dtype | None) -> None:
        super().__init__(TEXT.sub(lambda m: " " * (m.start(1) - m.start()) + m.group(1) + " ", source))
        self.source = source
        self.element = element
        self.spans: list[tuple[int, int]] = []
        self.claimed: list[tuple[Token, list[str]]] = []

    def operation(self) -> Einsum:
        inputs, output = self._names_first() if any(t.text == ":" for t in self.tokens) else self._in_place()
        self.expect_end("the end")
        return self._product(inputs, output, self.spans)

    def _product(self, inputs: Sequence[Tensor], output: Tensor, spans: Sequence[tuple[int, int]]) -> Einsum:
        """The product of tensors that stand at these places, which contracts what its signs say."""
        try:
            product = Einsum(tuple(inputs), output)
        except OperandError as error:
            raise self.error(error.problem, error.expected, error.hint, span=spans[error.operand]) from None
        for sign, labels in self.claimed:
            for label in labels:
                if label not in product.contracted:
                    expected = "a dimension that the operands share and the result lacks"
                    raise self.error(f"{label} is not contracted", expected, token=sign)
        return product

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
        while token := self.accept(*TIMES):
            self._claim(token)
            factors.append(read())
        return factors

    def _claim(self, sign: Token) -> None:
        """What a sign says is contracted: ``*_D``, ``*_{D, F}``."""
        if self.accept("_"):
            braced = self.accept("{")
            self.claimed.append((sign, self.separated(self._name, ",")[0] if braced else [self._name()]))
            if braced:
                self.expect("}")

    def _name(self) -> str:
        return self.take("word", "a name").text

    def _tensor(self, name: str | None = None) -> Tensor:
        token = self.take("word", "a typed tensor such as bf16[B, D]")
        element = self._element(token, name)
        if name is None and token.text not in BY_NAME:
            name = token.text
        return Tensor(element, self._dims(token), name)

    def _dims(self, start: Token) -> tuple[Dim, ...]:
        """The dimensions of a tensor that begins at a token."""
        self.expect("[", "'[' and the dimensions")
        dims: list[Dim] = []
        while not self.at("]"):
            dims.append(self._dim())
            if not self.accept(","):
                break
        self.spans.append((start.start, self.expect("]", "',' or ']'").end))
        return tuple(dims)

    def _element(self, token: Token, name: str | None) -> Dtype:
        """The dtype of a tensor; a word that is none, but looks like one, is refused as one."""
        looks_typed = name is not None or token.text in BY_NAME or re.fullmatch(r"[a-z]+\d\w*", token.text)
        if looks_typed or (self.element is None and len(token.text) > 2 and nearest(token.text, BY_NAME)):
            with self.faults_at(*token.span):
                return dtype(token.text)
        if self.element is None:
            hint = "or one for all of them: --dtype bf16"
            raise self.error(f"{token.text} has no dtype", "a type, as in bf16[B, D]", hint, token=token)
        return self.element

    def _braced_axis(self) -> str:
        """The axis between braces."""
        self.expect("{")
        axis = self._name()
        self.expect("}")
        if not AXIS.fullmatch(axis):
            raise self.error(f"{axis} is not a mesh axis", "capitals, as in D_X")
        return axis

    def _axes_behind(self, number: Token) -> tuple[str, ...]:
        """The axis that splits a size which is a number: 2048_X is read as 2048_ and X."""
        if not number.text.endswith("_"):
            return ()
        if self.at("{"):
            return (self._braced_axis(),)
        axis = self.next()
        if axis.kind != "word" or axis.start != number.end or not AXIS.fullmatch(axis.text):
            raise self.error(f"{axis.text or 'the end'} is not a mesh axis", "capitals, as in 2048_X", token=axis)
        return (axis.text,)

    def _dim(self) -> Dim:
        token = self.next()
        if token.kind == "number":
            digits = token.text.replace("_", "")
            if len(digits) > MOST_DIGITS:
                raise self.error("the number is too long", f"at most {MOST_DIGITS} digits", token=token)
            if not digits.isdigit() or int(digits) == 0:
                raise self.error(f"{token.text} is not a size", "a whole number above 0", token=token)
            return Dim(str(int(digits)), self._axes_behind(token))
        if token.kind != "word" or token.text in KEYWORDS or token.text in FUNCTIONS:
            shown = f"{token.text} is a word of the language" if token.kind == "word" else None
            raise self.error(shown, "a dimension: a name or a whole number", token=token)
        if self.at("_") and self.following.text == "{":
            self.next()
            return Dim(token.text, (self._braced_axis(),))
        label, _, axis = token.text.rpartition("_")
        return Dim(label, (axis,)) if label and AXIS.fullmatch(axis) else Dim(token.text)
