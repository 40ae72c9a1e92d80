"""One statement of a program: a product, a sum or a function of tensors that are known, and the type of its result."""

from __future__ import annotations

from dataclasses import replace

from symroof.errors import suggestion
from symroof.model.functions import FUNCTIONS as TABLE, Function
from symroof.model.program_sizes import takes_strides
from symroof.model.program_tree import DIFFERENCE, EXCHANGE, MAXIMUM, PRODUCT, SUM, Mask, Statement
from symroof.model.tensor_types import Tensor
from symroof.reading.einsums import TIMES
from symroof.reading.scanner import Token
from symroof.reading.slices import LYING, SliceReader
from symroof.reading.tensors import END

# What one tensor comes to over some of its dimensions.
REDUCTIONS = ("sum", "mean", "max")
PRODUCTS = ("matmul", "mm", "bmm", "dot", "einsum", "linear", "gemm", "conv2d")  # how other languages call a product
CONSTANTS = "a factor goes with one tensor: y = 0.5 * x, y = x / sqrt(H); shift(x) is a sum with a number"


class CallReader(SliceReader):
    def _applied(self, name: Token, function: Token) -> Statement:
        """A function of tensors, over a dimension where it works on rows."""
        applied = self.functions.get(function.text)
        if applied is None:
            expected = f"one of {', '.join(self.functions)}"
            near, way = suggestion(function.text, self.functions), "give its operations per element"
            hint = f"{f'{near} or ' if near else ''}{way}: functions = {{ {function.text} = 3 }}"
            if function.text in PRODUCTS:
                hint = "a product is a star, and says what it makes: y = x * W -> bf16[B, F]"
            raise self.error(f"there is no function {function.text}", expected, hint, token=function)
        tokens, over = self._arguments(function, applied)
        operands = tuple(map(self._operand, tokens))
        first = operands[0]
        for tensor, token in zip(operands[1:], tokens[1:], strict=True):
            missing = [label for label in tensor.labels if label not in first.labels]
            if missing and not applied.gathers:
                shown = f"{token.text} is {tensor}, and {tokens[0].text} has no {', '.join(missing)}"
                raise self.error(shown, f"tensors that fit into {first}", token=token)
        if over is not None and not applied.rows:
            call = f"{function.text}({', '.join(t.text for t in tokens)})"
            raise self.error(f"{function.text} works on each element", call, token=over)
        if over is not None:
            self._require_dimension(over, tokens[0].text, first.labels)
        if applied.rows and not first.labels:
            raise self.error(f"{tokens[0].text} has no rows", "a tensor with a dimension", token=tokens[0])
        shape = self._shape(applied, operands, tokens, name)
        applied = replace(applied, gathers=True) if takes_strides(applied, operands[0], shape) else applied
        dimension = (over.text if over is not None else first.labels[-1]) if applied.rows else None
        return Statement("function", operands, replace(shape, name=name.text), applied, dimension)

    def _arguments(self, function: Token, signature: Function) -> tuple[list[Token], Token | None]:
        """The tensors that a function is of, and the dimension that it is over."""
        self.expect("(")
        most = signature.operands + signature.gains
        first = self.take("word", "a tensor")
        tokens, over = [self._seen(first, self._renamed(first))], None
        while self.accept(","):
            token = self._label() if signature.rows else self.take("word", "a tensor")
            token = self._seen(token, self._renamed(token)) if token.kind == "word" else token
            taken = token.text in self.known and len(tokens) < most
            if taken and (len(tokens) < signature.operands or token.text not in self._operand(tokens[0]).labels):
                tokens.append(token)
            elif over is None:
                over = token
            else:
                cure = f"{function.text}({tokens[0].text}, {over.text})"
                raise self.error(f"{function.text} is over one dimension", cure, token=token)
        if not self.at(")"):
            cure = "a name of a tensor: a product or a sum in a function needs a statement and a name of its own"
            raise self.error(expected=f"')' or {cure}")
        self.next()
        if len(tokens) < signature.operands:
            shown = f"{function.text} takes {signature.operands} tensors, and there is {len(tokens)}"
            names = ", ".join("abc"[: signature.operands])
            hint = f"declare {over.text} first" if over is not None else None
            raise self.error(shown, f"{function.text}({names})", hint, token=over or function)
        return tokens, over

    def _shape(self, function: Function, operands: tuple[Tensor, ...], tokens: list[Token], name: Token) -> Tensor:
        """The type of what a function makes: that of its operand, of the rows that it gathers, or the one that is stated."""
        first = operands[0]
        if function.reshapes:
            place = self.following
            if not self.accept("->"):
                expected = f"-> and a type, as in {name.text} = {function.name}({tokens[0].text}) -> {first}"
                raise self.error(f"{name.text} has no type", expected)
            stated = self._type(operands)
            self.reshaped.append((function, first, stated, place))
            return stated
        if function.gathers:
            if not first.dims:
                raise self.error(f"{tokens[0].text} has no rows", "a table such as bf16[V, D]", token=tokens[0])
            if not operands[1].dtype.name.startswith("int"):
                shown = f"{tokens[1].text} is {operands[1]}, and names no rows"
                raise self.error(shown, "whole numbers, as in int32[B, T]", token=tokens[1])
            first = replace(first, dims=(*operands[1].dims, *first.dims[1:]))
            self._require_distinct(first, str(first), tokens[1])
        return self._stated(operands, first, f"{function.name}({', '.join(t.text for t in tokens)})")


class StatementReader(CallReader):
    def _made(self, name: Token) -> Statement:
        self.expect("=")
        if self.token.kind == "number":
            statement = self._multiple(name)
            self._new(name)
            self.known[name.text] = statement.result
            return statement
        if self.at("-"):
            raise self.error("a sign before a tensor", "a tensor or a function", "scale(x) is a product with a number")
        first = self.take("word", "a tensor or a function")
        if self.at("(") and first.text in REDUCTIONS and first.text not in self.functions:
            statement = self._reduced(name, first)
        elif self.at("(") and first.text in LYING and first.text not in self.functions:
            statement = self._lying(name, first)
        elif self.at("("):
            statement = self._applied(name, first)
        elif (renamed := self._renamed(first)) is not None and (self.token.kind == "end" or self.at(END, "}")):
            statement = self._view(name.text, first, *renamed)
        else:
            statement = self._joined(name, self._seen(first, renamed))
        if self.at("masked"):
            statement = self._masked(statement)
        self._new(name)
        self.known[name.text] = statement.result
        return statement

    def _multiple(self, name: Token) -> Statement:
        """A number times a tensor: 0.5 * x."""
        number = self.next()
        if not self.at("*"):
            raise self.error(
                f"{number.text} is a number, and no tensor", "a tensor or a function", CONSTANTS, token=number
            )
        self.next()
        factor = self._formula_written(number.text, number)
        self._require_factor(factor, number)
        first = self.take("word", "a tensor")
        return self._scaled(name, self._operand(self._seen(first, self._renamed(first))), factor)

    def _masked(self, statement: Statement) -> Statement:
        """Which pairs of two dimensions of a product are there: masked S <= T."""
        word = self.take("word", "masked")
        if not statement.contracts:
            raise self.error(f"{statement.name} is no contraction", "a product such as s = q * k -> …", token=word)
        before = self.token._replace(text=self._dim().label)
        self.expect("<=")
        behind = self.token._replace(text=self._dim().label)
        for label in (before, behind):
            self._require_dimension(label, statement.name, statement.result.labels)
        if before.text == behind.text:
            raise self.error(f"{before.text} masks itself", "two dimensions", token=word)
        first = self.accept("from") is not None
        if first:
            for part in ("the", "first"):
                if not self.accept(part):
                    raise self.error(expected="from the first")
        if first and self.at(","):
            raise self.error("a window has no place behind: from the first", "one of the two")
        width = self._window() if not first else ""
        mask = Mask(behind.text, before.text, first, width)
        self.masked.append((mask, word))
        return replace(statement, mask=mask)

    def _window(self) -> str:
        """How many columns a row meets at most: …, window W."""
        if not self.accept(","):
            return ""
        if self.take("word", "window").text != "window":
            raise self.error(expected="window, as in masked S <= T, window W", token=self.tokens[self.index - 1])
        token = self.token
        dim = self._dim()
        if dim.axes:
            raise self.error("a window is split over no axis", "a size or a number", token=token)
        if self.at("from"):
            raise self.error("a window has no place beside: from the first", "one of the two")
        if self.at("*", "/", "+", "-"):
            raise self.error(expected="a name or a number: where V = 2*W, and window V")
        return dim.label

    def _reduced(self, name: Token, function: Token) -> Statement:
        """The sum, the mean or the maximum of a tensor over some of its dimensions: those that are said, or that the type lacks."""
        self.expect("(")
        first = self.take("word", "a tensor")
        token = self._seen(first, self._renamed(first))
        tensor, over = self._operand(token), list[str]()
        while self.accept(","):
            label = self._label()
            self._require_dimension(label, first.text, [own for own in tensor.labels if own not in over])
            over.append(label.text)
        self.expect(")")
        place = self.following
        stated = self._type((tensor,)) if self.accept("->") else None
        left = tuple(dim for dim in tensor.dims if dim.label not in over)
        result = replace(tensor, dims=left) if stated is None else stated
        labels_left = [label for label in tensor.labels if label not in over] if over else list(result.labels)
        if sorted(result.labels) != sorted(labels_left) or not {*result.labels} < {*tensor.labels}:
            shown = f"{function.text}({', '.join((first.text, *over))}) of {tensor} is not {result}"
            raise self.error(
                shown,
                f"fewer dimensions of {tensor}: {function.text}({first.text}, {tensor.labels[-1] if tensor.labels else 'D'})",
                token=place,
            )
        if function.text != "mean":
            kind = MAXIMUM if function.text == "max" else SUM
            return Statement(kind, (tensor,), replace(result, name=name.text))
        total = replace(result, name=self._free(f"{name.text}_sum"))
        self.seen.append(Statement(SUM, (tensor,), total))
        self.known[str(total.name)] = total
        self.used.add(str(total.name))
        return Statement("function", (total,), replace(result, name=name.text), TABLE["scale"])

    def _joined(self, name: Token, first: Token) -> Statement:
        """A product, a sum or a difference of tensors."""
        tokens, signs = [first], []
        self.claimed = []
        behind = self.tokens[self.index + 1] if self.at("*", "/") else self.token
        if (self.at("/") and behind.text not in self.known) or (
            self.at("*") and (behind.kind == "number" or behind.text == "(")
        ):
            return self._scaled(name, self._operand(first), self._factor_of_sizes(self.next()))
        while sign := self.accept(*TIMES, SUM, DIFFERENCE):
            if sign.text in TIMES:
                self._claim(sign)
            signs.append((PRODUCT if sign.text in TIMES else sign.text, sign))
            tokens.append(self._factor())
        kinds = list(dict.fromkeys(kind for kind, _ in signs))
        if len(kinds) > 1 or (DIFFERENCE in kinds and len(signs) > 1):
            cure = "one kind of operation in a statement: give the parts names of their own"
            shown = " and ".join(kinds) if len(kinds) > 1 else "two differences"
            other = next((sign for kind, sign in signs if kind != kinds[0]), signs[-1][1])
            raise self.error(f"{name.text} mixes {shown}", cure, token=other)
        self._require_no_sign(name)
        operands = tuple(map(self._operand, tokens))
        stated = self._type(operands) if self.accept("->") else None
        if not signs and not stated and not self.at(END, "}") and self.token.kind != "end":
            raise self.error(expected="a sign such as '*' or '+', '->', or the end of the statement")
        split = stated is not None and any(dim.axes for dim in (*stated.dims, *operands[0].dims))
        if not signs and stated and set(stated.labels) != set(operands[0].labels):
            return self._view(name.text, first, operands[0], stated)
        if not signs and stated and split:
            return self._exchanged(name, first, operands[0], stated)
        if not signs:
            hint = f"write {first.text} itself where {name.text} would stand"
            expected = "a product, a sum, a difference or a function"
            raise self.error(f"{name.text} is {first.text} itself", expected, hint, token=first)
        (kind,) = kinds
        statement = Statement(kind, operands, self._result(name, operands, stated, kind, tokens))
        if kind == PRODUCT:
            self._product(operands, statement.result, [token.span for token in (*tokens, name)])
        return statement

    def _exchanged(self, name: Token, first: Token, tensor: Tensor, stated: Tensor) -> Statement:
        """The same tensor, split otherwise."""
        if stated.dtype != tensor.dtype:
            expected = f"{tensor.dtype.name}, or before it {name.text} = convert({first.text}) -> {stated}"
            raise self.error(f"{first.text} is {tensor}, and an exchange keeps the type", expected, token=name)
        pairs = ((dim, other) for dim in tensor.dims for other in stated.dims if dim.label == other.label)
        if all(set(dim.axes) == set(other.axes) for dim, other in pairs):
            expected = f"another split, as in {_split_otherwise(tensor)}"
            raise self.error(f"{name.text} is {first.text} itself, split as it is", expected, token=name)
        return Statement(EXCHANGE, (tensor,), replace(stated, name=name.text))

    def _factor(self) -> Token:
        """A tensor behind a sign."""
        if self.token.kind == "number":
            raise self.error(f"{self.token.text} is a number, and no tensor", "a tensor", CONSTANTS)
        token = self.take("word", "a tensor")
        if self.at("("):
            cure = f"a statement of its own: a = {token.text}(…)"
            raise self.error(f"{token.text}(…) stands in a longer statement", cure, token=token)
        return self._seen(token, self._renamed(token))

    def _require_no_sign(self, name: Token) -> None:
        """Divisions and powers are functions of the table."""
        for sign, cure in (("/", "a quotient is divide(a, b)"), ("^", "a square is square(a)")):
            if self.at(sign):
                expected = "a product, a sum, a difference or a function"
                raise self.error(f"{sign} stands between no tensors", expected, cure)

    def _result(
        self, name: Token, operands: tuple[Tensor, ...], stated: Tensor | None, kind: str, tokens: list[Token]
    ) -> Tensor:
        """The type that is stated, or that of the operand with the dimensions of all."""
        every = {label for tensor in operands for label in tensor.labels}
        widest = next((t for t in operands if set(t.labels) == every), None)
        shape = stated or widest
        if shape is None or (kind == PRODUCT and stated is None and any(set(t.labels) != every for t in operands)):
            expected = "-> and a type such as bf16[B, F]"
            if kind != PRODUCT:
                shown = ", and ".join(f"{t.text} is {o}" for t, o in zip(tokens, operands, strict=True))
                raise self.error(shown, f"tensors of one shape, or {expected}", token=tokens[1])
            raise self.error(f"{name.text} has no type", expected, token=self.token)
        if kind in (SUM, DIFFERENCE):
            for tensor, token in zip(operands, tokens, strict=True):
                missing = [label for label in tensor.labels if label not in shape.labels]
                if missing:
                    shown = f"{token.text} is {tensor}, and {name.text} has no {', '.join(missing)}"
                    raise self.error(shown, f"operands that fit into {shape}", token=token)
            extra = [label for label in shape.labels if label not in every]
            if extra:
                expected = f"the dimensions of the operands: {', '.join(sorted(every))}"
                raise self.error(f"{', '.join(extra)} of {name.text} is in no operand", expected, token=name)
        return replace(shape, name=name.text)


def _split_otherwise(tensor: Tensor) -> Tensor:
    """The tensor gathered, where an axis splits it; else with its last dimension split."""
    if any(dim.axes for dim in tensor.dims):
        return replace(tensor, name=None, dims=tuple(replace(dim, axes=()) for dim in tensor.dims))
    return replace(tensor, name=None, dims=(*tensor.dims[:-1], replace(tensor.dims[-1], axes=("X",))))
