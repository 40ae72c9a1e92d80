"""Functions of tensors: what each is of, the dimension that it is over, and the type of what it makes."""

from __future__ import annotations

from dataclasses import replace

from symroof.errors import suggestion
from symroof.model.dtype import Tensor
from symroof.model.functions import Function
from symroof.model.program import Statement
from symroof.reading.tensors import TensorReader
from symroof.reading.tokens import Token


class CallReader(TensorReader):
    def _applied(self, name: Token, function: Token) -> Statement:
        """A function of tensors, over a dimension where it works on rows."""
        known = self.functions.get(function.text)
        if known is None:
            expected = f"one of {', '.join(self.functions)}"
            near, way = suggestion(function.text, self.functions), "give its operations per element"
            hint = f"{f'{near} or ' if near else ''}{way}: functions = {{ {function.text} = 3 }}"
            raise self.error(f"there is no function {function.text}", expected, hint, token=function)
        tokens, over = self._arguments(function, known)
        operands = tuple(map(self._operand, tokens))
        first = operands[0]
        for tensor, token in zip(operands[1:], tokens[1:], strict=True):
            missing = [label for label in tensor.labels if label not in first.labels]
            if missing and not known.gathers:
                shown = f"{token.text} is {tensor}, and {tokens[0].text} has no {', '.join(missing)}"
                raise self.error(shown, f"tensors that fit into {first}", token=token)
        if over is not None and not known.rows:
            call = f"{function.text}({', '.join(t.text for t in tokens)})"
            raise self.error(f"{function.text} works on each element", call, token=over)
        if over is not None and over.text not in first.labels:
            expected = f"one of {', '.join(first.labels)}"
            label = suggestion(over.text, first.labels)
            raise self.error(f"{tokens[0].text} has no dimension {over.text}", expected, label, token=over)
        if known.rows and not first.labels:
            raise self.error(f"{tokens[0].text} has no rows", "a tensor with a dimension", token=tokens[0])
        place = self.following
        stated = self._type(operands) if self.accept("->") else None
        shape = self._shape(known, operands, tokens, stated, name, place)
        dimension = (over.text if over is not None else first.labels[-1]) if known.rows else None
        return Statement("function", operands, replace(shape, name=name.text), known, dimension)

    def _arguments(self, function: Token, known: Function) -> tuple[list[Token], Token | None]:
        """The tensors that a function is of, and the dimension that it is over."""
        self.expect("(")
        most = known.operands + known.gains
        tokens, over = [self.take("word", "a tensor")], None
        while self.accept(","):
            token = self.take("word", "a dimension" if known.rows else "a tensor")
            taken = token.text in self.known and len(tokens) < most
            if taken and (len(tokens) < known.operands or token.text not in self._operand(tokens[0]).labels):
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
        if len(tokens) < known.operands:
            shown = f"{function.text} takes {known.operands} tensors, and there is {len(tokens)}"
            names = ", ".join("abc"[: known.operands])
            hint = f"declare {over.text} first" if over is not None else None
            raise self.error(shown, f"{function.text}({names})", hint, token=over or function)
        return tokens, over

    def _shape(
        self,
        function: Function,
        operands: tuple[Tensor, ...],
        tokens: list[Token],
        stated: Tensor | None,
        name: Token,
        place: Token,
    ) -> Tensor:
        """The type of what a function makes: that of its operand, of the rows that it gathers, or the one that is stated."""
        first = operands[0]
        if function.reshapes:
            if stated is None:
                expected = f"-> and a type, as in {name.text} = {function.name}({tokens[0].text}) -> {first}"
                raise self.error(f"{name.text} has no type", expected)
            self.reshaped.append((function, first, stated, place))
            return stated
        if function.gathers:
            if not first.dims:
                raise self.error(f"{tokens[0].text} has no rows", "a table such as bf16[V, D]", token=tokens[0])
            if not operands[1].dtype.name.startswith("int"):
                shown = f"{tokens[1].text} is {operands[1]}, and names no rows"
                raise self.error(shown, "whole numbers, as in int32[B, T]", token=tokens[1])
            first = replace(first, dims=(*operands[1].dims, *first.dims[1:]))
            for label in first.labels:
                if first.labels.count(label) > 1:
                    raise self.error(f"{label} appears twice in {first}", "two names for two sizes", token=tokens[1])
        if stated is not None and set(stated.labels) != set(first.labels):
            shown = f"{function.name}({', '.join(t.text for t in tokens)}) is {first}"
            raise self.error(f"{shown}, not {stated}", f"the dimensions of {first}", token=place)
        return stated or first
