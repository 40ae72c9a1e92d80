"""What lies in memory where other tensors do: a slice of one, several behind one another, a cache with entries appended."""

from __future__ import annotations

from dataclasses import replace

from symroof.errors import suggestion
from symroof.model.collectives import FAR, HANDED
from symroof.model.functions import APPEND, APPENDED, CONCAT, CUT, JOINED, SLICE
from symroof.model.program_tree import CORNER, EXCHANGE, ONE_CHIP, Statement
from symroof.model.tensor_types import Dim, Tensor
from symroof.reading.einsums import AXIS
from symroof.reading.scanner import Token
from symroof.reading.scans_and_sizes import TURNED, ScanReader

SEND = "send"
LYING = (CUT, JOINED, APPENDED, SEND, *TURNED)


class SliceReader(ScanReader):
    def _lying(self, name: Token, function: Token) -> Statement:
        """slice(x, T, n), concat(a, b) -> type, append(cache, x, S), send(x, X), place(x, T), or collect(k, T)."""
        self.expect("(")
        if function.text in TURNED:
            return self._turned(name, function)
        read = {CUT: self._slice, JOINED: self._concat, APPENDED: self._append, SEND: self._sent}[function.text]
        return read(name, function)

    def _sent(self, name: Token, function: Token) -> Statement:
        """What every chip has of a tensor, given to the next one along an axis, or to the farthest."""
        _, tensor = self._read_operand()
        self.expect(",", "',' and an axis of the mesh or corner, as in send(x, X)")
        where = self.next() if self.at(ONE_CHIP) else self.take("word", "an axis of the mesh, or corner")
        if not AXIS.fullmatch(where.text) and where.text not in (CORNER, ONE_CHIP):
            cure = "one capital letter, as in send(x, X); or send(x, corner)"
            raise self.error(f"{where.text} is no axis of a mesh", cure, suggestion(where.text, (CORNER,)), token=where)
        self.expect(")")
        self._stated((tensor,), tensor, f"send({tensor.name}, {where.text})", typed=True)
        sends = (FAR, "") if where.text == CORNER else (HANDED[0], where.text)
        return Statement(EXCHANGE, (tensor,), replace(tensor, name=name.text), sends=sends)

    def _read_operand(self) -> tuple[Token, Tensor]:
        token = self.take("word", "a tensor")
        token = self._seen(token, self._renamed(token))
        return token, self._operand(token)

    def _along(self, token: Token, tensor: Tensor) -> tuple[Dim, Token]:
        """A dimension of a tensor, and where it stands."""
        label = self._label()
        self._require_dimension(label, token.text, tensor.labels)
        return next(dim for dim in tensor.dims if dim.label == label.text), label

    def _slice(self, name: Token, function: Token) -> Statement:
        """A part of a tensor along one dimension."""
        token, tensor = self._read_operand()
        self.expect(",")
        whole, place = self._along(token, tensor)
        self._require_unsplit(token.text, tensor, whole, place)
        self.expect(",", "',' and how many places, as in slice(x, T, n)")
        place = self.token
        part = self._dim()
        if part.axes or part.label in tensor.labels:
            shown = f"{part} is a dimension of {token.text}" if part.label in tensor.labels else f"{part} is split"
            raise self.error(shown, "a size of its own for the part: a name or a number", token=place)
        self.expect(")")
        result = replace(tensor, dims=tuple(part if dim == whole else dim for dim in tensor.dims))
        result = self._stated((tensor,), result, f"slice({token.text}, {whole.label}, {part.label})", typed=True)
        self.sliced.append((token, whole.label, part.label))
        return Statement("function", (tensor,), replace(result, name=name.text), SLICE)

    def _concat(self, name: Token, function: Token) -> Statement:
        """Tensors behind one another along the one dimension in which they differ."""
        tokens, operands = [], list[Tensor]()
        while not operands or self.accept(","):
            token, tensor = self._read_operand()
            tokens.append(token)
            operands.append(tensor)
        self.expect(")", "',' or ')'")
        call = f"concat({', '.join(token.text for token in tokens)})"
        if len(operands) < 2:
            raise self.error(f"{call} joins one tensor", "two tensors, as in concat(a, b)", token=function)
        place = self.following
        if self.at("*", "+", "-", "/"):
            raise self.error(f"{call} stands in a longer statement", f"a statement of its own: c = {call} -> …")
        if not self.accept("->"):
            expected = "-> and a type that says how long it is, as in c = concat(a, b) -> bf16[B, U]"
            raise self.error(f"{name.text} has no type", expected)
        stated = self._type(operands)
        for i, (token, tensor) in enumerate(zip(tokens, operands, strict=True)):
            if tensor in operands[:i]:
                shown = f"{token.text} stands twice in {name.text}, and is in one place"
                raise self.error(shown, "another tensor, or a dimension of its own for the times", token=token)
            lacks, more = ({*a.labels} - {*b.labels} for a, b in ((stated, tensor), (tensor, stated)))
            if tensor.dtype != stated.dtype:
                raise self.error(f"{token.text} is {tensor}, and {name.text} is {stated}", "one type", token=token)
            if len(lacks) != 1 or len(more) > 1 or not lacks <= self._joined_along(operands, stated):
                shown = f"{token.text} is {tensor}, which is no part of {stated}"
                raise self.error(shown, f"the dimensions of {name.text}, but for one that is shorter", token=token)
            for short in (dim for dim in tensor.dims if dim.label in more):
                self._require_unsplit(token.text, tensor, short, token)
        (long,) = (dim for dim in stated.dims if dim.label in self._joined_along(operands, stated))
        if long.axes:
            raise self.error(f"{stated} is split along {long.label}, of which it has parts", "it whole", token=place)
        parts = tuple(self._part_of(tensor, stated) for tensor in operands)
        self.joined.append((long.label, parts, place))
        concat = replace(CONCAT, operands=len(operands))
        return Statement("function", tuple(operands), replace(stated, name=name.text), concat)

    @staticmethod
    def _part_of(tensor: Tensor, whole: Tensor) -> str:
        """The dimension along which a tensor is a part of another: one place where it has none."""
        return next((label for label in tensor.labels if label not in whole.labels), "1")

    @staticmethod
    def _joined_along(operands: list[Tensor], stated: Tensor) -> set[str]:
        """The dimension that a type has and none of what is joined."""
        return {label for label in stated.labels if all(label not in tensor.labels for tensor in operands)}

    def _append(self, name: Token, function: Token) -> Statement:
        """A cache with new entries written into it: its dimension counts them."""
        cache, tensor = self._read_operand()
        self.expect(",", "',' and the entries, as in append(cache, x, S)")
        entries, new = self._read_operand()
        self.expect(",", "',' and a dimension of the cache, as in append(cache, x, S)")
        grown, _ = self._along(cache, tensor)
        self.expect(")")
        more = [label for label in new.labels if label not in tensor.labels]
        lacks = {*tensor.labels} - {*new.labels}
        if new.dtype != tensor.dtype or lacks != {grown.label} or len(more) > 1:
            row = replace(tensor, name=None, dims=tuple(dim for dim in tensor.dims if dim != grown))
            shown = f"{entries.text} is {new}, and {cache.text} is {tensor}"
            raise self.error(
                shown, f"one entry, {row}, or several: with a size of their own for {grown}", token=entries
            )
        if cache.text not in self.outside and cache.text not in self.grown:
            raise self.error(f"{cache.text} is no cache", "a cache or an input, which has room for them", token=cache)
        self.grown.add(name.text)
        self.entries += ((cache, grown.label, label) for label in more)
        return Statement("function", (tensor, new), replace(tensor, name=name.text), APPEND)
