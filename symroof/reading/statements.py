"""One statement of a program: a product, a sum or a function of tensors that are known, and the type of its result."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from symroof.errors import ReadingError, suggestion
from symroof.formula import FUNCTIONS, KEYWORDS
from symroof.model.dtype import Dtype, Tensor
from symroof.model.einsum import Einsum, OperandError
from symroof.model.functions import Function
from symroof.model.program import DIFFERENCE, PRODUCT, SUM, Statement
from symroof.reading.einsums import EinsumReader
from symroof.reading.scanner import scan_long
from symroof.reading.tokens import Token

COMMENT = re.compile(r"#[^\n]*")
END = ";"
# A statement goes on in the next line behind one of these.
OPEN = ("*", "+", "-", ",", "->", "=", ":", "(", "[", "@", ".", END, "{")


class StatementReader(EinsumReader):
    def __init__(self, source: str, element: Dtype | None, functions: Mapping[str, Function]) -> None:
        self.whole, self.functions = source, functions
        blanked = COMMENT.sub(lambda m: " " * len(m.group()), source).replace(END, "\n")
        super().__init__(blanked, element)
        self.known: dict[str, Tensor] = {}
        self.used: set[str] = set()

    def scanned(self) -> Sequence[Token]:
        return tuple(self._ended(scan_long(self.source)))

    def _ended(self, tokens: Sequence[Token]) -> Iterator[Token]:
        """The tokens with the ends of statements among them: where a line ends, outside of brackets."""
        depth, before = 0, None
        for token in tokens:
            gap = self.source[before.end if before else 0 : token.start]
            if "\n" in gap and not depth and before is not None and before.text not in OPEN:
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
        if problem is None:
            ended = token.kind == "end" or token.text == END
            problem = "the statement ends too early" if ended else f"unexpected {token.text!r}"
        start, end = span or token.span
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

    def _type(self) -> Tensor:
        start = self.token
        tensor = self._tensor()
        if tensor.name is not None:
            tensor = replace(tensor, name=None)
        for dim in tensor.dims:
            if tensor.labels.count(dim.label) > 1:
                raise self.error(
                    f"{dim.label} appears twice in one tensor", "a name of its own for each size", token=start
                )
        return tensor

    def _made(self, name: Token) -> Statement:
        self.expect("=")
        first = self.take("word", "a tensor or a function")
        statement = self._applied(name, first) if self.at("(") else self._joined(name, first)
        self._new(name)
        self.known[name.text] = statement.result
        return statement

    def _operand(self, token: Token) -> Tensor:
        if token.text not in self.known:
            hint = suggestion(token.text, self.known) or f"declare it: input {token.text}: bf16[…]"
            expected = f"one of {', '.join(self.known)}" if self.known else "a declared tensor"
            raise self.error(f"there is no tensor {token.text} before this line", expected, hint, token=token)
        self.used.add(token.text)
        return self.known[token.text]

    def _joined(self, name: Token, first: Token) -> Statement:
        """A product, a sum or a difference of tensors."""
        tokens, signs = [first], []
        self.claimed = []
        while sign := self.accept("*", "@", ".", "+", "-"):
            if sign.text in "*@." and self.accept("_"):
                braced = self.accept("{")
                self.claimed.append((sign, self.separated(self._name, ",")[0] if braced else [self._name()]))
                if braced:
                    self.expect("}")
            signs.append((PRODUCT if sign.text in "*@." else sign.text, sign))
            tokens.append(self.take("word", "a tensor"))
        kinds = {kind for kind, _ in signs}
        if len(kinds) > 1 or (DIFFERENCE in kinds and len(signs) > 1):
            cure = "one kind of operation in a statement: give the parts names of their own"
            raise self.error(f"{name.text} mixes {' and '.join(sorted(kinds))}", cure, token=signs[1][1])
        operands = tuple(map(self._operand, tokens))
        stated = self._type() if self.accept("->") else None
        if not signs:
            raise self.error(f"{name.text} is {first.text} itself", "an operation", token=first)
        (kind,) = kinds
        statement = Statement(kind, operands, self._result(name, operands, stated, kind, tokens))
        return self._product_checked(statement, tokens, name) if kind == PRODUCT else statement

    def _result(
        self, name: Token, operands: tuple[Tensor, ...], stated: Tensor | None, kind: str, tokens: list[Token]
    ) -> Tensor:
        """The type that is stated, or that of the operand with the dimensions of all."""
        every = {label for tensor in operands for label in tensor.labels}
        widest = next((t for t in operands if set(t.labels) == every), None)
        shape = stated or widest
        if shape is None or (kind == PRODUCT and stated is None and any(set(t.labels) != every for t in operands)):
            raise self.error(f"{name.text} has no type", "-> and a type such as bf16[B, F]", token=self.token)
        if kind in (SUM, DIFFERENCE):
            for tensor, token in zip(operands, tokens, strict=True):
                missing = [label for label in tensor.labels if label not in shape.labels]
                if missing:
                    shown = f"{token.text} is {tensor}, and {name.text} has no {', '.join(missing)}"
                    raise self.error(shown, f"operands that fit into {shape}", token=token)
            extra = [label for label in shape.labels if label not in every]
            if extra:
                raise self.error(f"{', '.join(extra)} of {name.text} is in no operand", token=name)
        return replace(shape, name=name.text)

    def _product_checked(self, statement: Statement, tokens: list[Token], name: Token) -> Statement:
        try:
            product = Einsum(statement.operands, statement.result)
        except OperandError as error:
            token = (*tokens, name)[error.operand]
            raise self._placed(error.problem, error.expected, error.hint, *token.span) from None
        for sign, labels in self.claimed:
            for label in labels:
                if label not in product.contracted:
                    expected = "a dimension that the operands share and the result lacks"
                    raise self.error(f"{label} is not contracted", expected, token=sign)
        return statement

    def _applied(self, name: Token, function: Token) -> Statement:
        """A function of a tensor, over a dimension where it works on rows."""
        known = self.functions.get(function.text)
        if known is None:
            expected = f"one of {', '.join(self.functions)}"
            hint = suggestion(function.text, self.functions)
            hint = f"{hint or ''} or give its operations per element: functions = {{ {function.text} = 3 }}".strip()
            raise self.error(f"there is no function {function.text}", expected, hint, token=function)
        self.expect("(")
        tokens, over = [self.take("word", "a tensor")], None
        while self.accept(","):
            token = self.next()
            if token.text in self.known and len(tokens) < known.operands:
                tokens.append(token)
            else:
                over = token
        self.expect(")", "')'")
        if len(tokens) != known.operands:
            raise self.error(f"{function.text} takes {known.operands} tensors", token=function)
        operands = tuple(map(self._operand, tokens))
        operand = operands[0]
        if over is not None and not known.rows:
            raise self.error(f"{function.text} works on each element", f"{function.text}({tokens[0].text})", token=over)
        if over is not None and over.text not in operand.labels:
            expected = f"one of {', '.join(operand.labels)}"
            raise self.error(f"{tokens[0].text} has no dimension {over.text}", expected, token=over)
        if known.rows and not operand.labels:
            raise self.error(f"{tokens[0].text} has no rows", "a tensor with a dimension", token=tokens[0])
        stated = self._type() if self.accept("->") else None
        for tensor in (*operands[1:], *([stated] if stated else [])):
            if set(tensor.labels) != set(operand.labels):
                shown = f"{function.text} keeps the dimensions of {tokens[0].text}"
                raise self.error(shown, f"{operand}", token=name)
        result = replace(stated or operand, name=name.text)
        dimension = (over.text if over is not None else operand.labels[-1]) if known.rows else None
        return Statement("function", operands, result, known, dimension)
