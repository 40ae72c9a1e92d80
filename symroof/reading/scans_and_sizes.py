"""Formulas of sizes: what a size is defined by, how many turns there are, and the factors of a tensor.

Turns that go along a dimension: the place of a turn, what all turns have made together, and scans, which are said
with these.

scan T as h = g {
  a = x * W -> bf16[B, H]        x_t = place(x, T), what x has at the place of this turn
  …
  g = tanh(s)                    what is used behind the turns is of all of them: g_t = tanh(s); g = collect(g_t, T)
}
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from graphlib import CycleError, TopologicalSorter

from symroof.errors import AlgebraError
from symroof.formula import FUNCTIONS, KEYWORDS, Compare, Formula, Group, Name, Number, Quotient, mapped, names, number
from symroof.model.functions import COLLECT, COLLECTED, FUNCTIONS as TABLE, PLACE, PLACED
from symroof.model.program_tree import Node, Repeat, Statement, statements_in
from symroof.model.tensor_types import Dim, Tensor, spelled_size
from symroof.reading.expressions import read_expression
from symroof.reading.name_scope import Scope
from symroof.reading.scanner import Token
from symroof.reading.size_cases import is_choice
from symroof.reading.tensors import END, ViewReader
from symroof.symbols import Terms, depth, expression, terms

WORD = re.compile(r"[^\W\d]\w*\b(?!\s*\()")
ORDER = ("<=", ">=")
TURNED = (PLACED, COLLECTED)


class ScanReader(ViewReader):
    def _size_said(self) -> None:
        """A size that others define, or what is known of sizes."""
        if self.token.kind == "word" and self.following.text == "=":
            self._size_defined()
            return
        start = self.token
        left = self._formula(lambda: self.at(",", END, "}", "=", "<", ">", *ORDER))
        if not self.at(*ORDER):
            raise self.error(expected="a size, as in c = B*k/E, or what is known of sizes, as in B*k <= E")
        sign = self.next()
        right = self._formula(lambda: self.at(",", END, "}"))
        fact = Compare(left, sign.text, right)
        for side in (left, right):
            if not expression(side).is_rational_function():
                shown = f"{spelled_size(side)} is no fraction of sizes"
                raise self.error(shown, "+, -, *, / and whole powers", token=start)
        if not names(left) and not names(right):
            raise self.error(f"{self.written(start)} says nothing of sizes", "a size, as in B*k <= E", token=start)
        if fact not in (other for other, _ in self.facts):
            self.facts.append((fact, start))

    def _size_defined(self) -> None:
        token = self.take("word", "a size, as in c = B*k/E")
        before = self.where.get(token.text)
        self.expect("=")
        start = self.token
        formula = self._formula(lambda: self.at(",", END, "}"))
        self._require_rational(token.text, formula, start)
        other = formula.name if isinstance(formula, Name) else ""
        renamed = other in self.where and self.defined[other].text != other  # x[other -> …] or x[… -> other] said it
        if before == formula or (renamed and self.where[other] == Name(token.text)):
            return  # it says what a dimension by another name said: T[S -> T]
        if before is not None:
            raise self.error(f"{token.text} is defined twice", "one formula for each size", token=token)
        if token.text in names(formula):
            raise self.error(f"{token.text} is defined by itself", "a formula of other sizes", token=token)
        if not names(formula) and not expression(formula).is_positive:
            raise self.error(f"{token.text} is not above 0", "a size", token=token)
        self.where[token.text], self.defined[token.text] = formula, token

    def _require_rational(self, name: str, formula: Formula, start: Token) -> None:
        """A size is made of others by +, -, *, / and whole powers: what costs are counted in; it may be the least, or
        the largest, of several such."""
        chosen = mapped(formula, lambda node: node.arguments[0] if is_choice(node) else node)
        if not expression(chosen).is_rational_function():
            shown = f"{name} = {spelled_size(formula)}"
            raise self.error(f"{shown} is no fraction of sizes", "+, -, *, / and whole powers", token=start)

    def _in_order(self) -> dict[str, Formula]:
        """The sizes that others define, each behind those that its formula mentions."""
        used = {name: [n for n in names(formula) if n in self.where] for name, formula in self.where.items()}
        try:
            ordered = {name: self.where[name] for name in TopologicalSorter(used).static_order()}
        except CycleError as error:
            circle = error.args[1]
            place = self.defined[circle[0]]
            raise self.error(f"{circle[0]} is defined by itself", "a formula of other sizes", token=place) from None
        self._require_light(ordered)
        return ordered

    def _require_light(self, ordered: Mapping[str, Formula]) -> None:
        """What sizes come to is multiplied out: it must not be too much."""
        term_counts, steps = dict[str, Terms](), dict[str, int]()
        for name, formula in ordered.items():
            try:
                steps[name], term_counts[name] = depth(formula, steps), terms(formula, term_counts)
            except AlgebraError as error:
                raise self.error(f"{name}: {error.problem}", "a shorter formula", token=self.defined[name]) from None

    def _formula(self, ends: Callable[[], bool]) -> Formula:
        """The formula of sizes that stands up to an end."""
        start, depth = self.token, 0
        while depth or not ends():
            line = self.source[self.tokens[self.index - 1].end : self.token.start]
            if self.token.kind == "end" or (not depth and "\n" in line):
                break
            depth += self.at("(", "[") - self.at(")", "]")
            self.next()
        written = self.written(start) if self.token is not start else ""
        if not written:
            raise self.error(expected="a formula of sizes")
        return self._formula_written(written, start)

    def _formula_written(self, written: str, start: Token) -> Formula:
        """What is written from a token on, as a formula of sizes."""
        shapes = (dim.label for tensor in self.known.values() for dim in tensor.dims if not dim.fixed)
        words = (word for word in WORD.findall(written) if not word.isupper() and word not in (*FUNCTIONS, *KEYWORDS))
        with self.faults_at(start.start, start.start + len(written)):
            return read_expression(written, Scope(tuple(dict.fromkeys((*shapes, *self.where, *words))), open=True))

    def _require_factor(self, factor: Formula, start: Token) -> None:
        """A number that something is multiplied with, or divided by, is one, and not 0."""
        value = None if names(factor) else expression(factor)
        if value is not None and (value == 0 or not value.is_finite or not value.is_real):
            shown = start.text if start.kind == "number" else self.written(start)
            raise self.error(f"{shown} is no factor", "a number that is not 0", token=start)

    def _scaled(self, name: Token, tensor: Tensor, factor: Formula) -> Statement:
        """A tensor times numbers and sizes: one operation for each element."""
        stated = self._stated((tensor,), tensor, f"a multiple of {tensor.name}")
        if not (self.at(END, "}") or self.token.kind == "end"):
            cure = "a statement of its own for it: a factor of sizes goes with one tensor"
            raise self.error(expected=cure)
        return Statement("function", (tensor,), replace(stated, name=name.text), TABLE["scale"], factor=factor)

    def _factor_of_sizes(self, sign: Token) -> Formula:
        """What stands behind a tensor and a sign: a number or sizes in parentheses; what it is divided by may be a size, or a
        function of sizes, as it is."""
        start = self.token
        if self.accept("("):
            factor = self._formula(lambda: self.at(")"))
            self.expect(")")
        else:
            if start.kind not in ("number", "word"):
                raise self.error(expected="a number, or sizes in parentheses")
            self.next()
            if start.kind == "word" and self.accept("("):
                self._formula(lambda: self.at(")"))
                self.expect(")")
            factor = self._formula_written(self.written(start), start)
        factor = factor.body if isinstance(factor, Group) else factor
        self._require_factor(factor, start)
        self.factors.append((factor, start))
        if sign.text == "*" and isinstance(factor, Quotient) and factor.above in (number(1), Number(Fraction(1), "1")):
            return Quotient(number(1), factor.below.body if isinstance(factor.below, Group) else factor.below)
        return Quotient(number(1), factor) if sign.text == "/" else factor

    def _seen(self, token: Token, renamed: tuple[Tensor, Tensor] | None) -> Token:
        """In a scan what comes from outside and has its dimension is seen at the place of the turn; under another name
        for that dimension it is seen whole, as it is before the scan."""
        turns = self.turns[-1] if self.turns else None
        if turns is None or not turns.along or token.text not in turns.before:
            return super()._seen(token, renamed)
        if renamed is not None:
            before = len(self.seen)
            seen_token = super()._seen(token, renamed)
            self.ahead += self.seen[before:]
            del self.seen[before:]
            return seen_token
        tensor = self._operand(token)
        if turns.along not in tensor.labels:
            return token
        name = self.placed.get((id(turns), token.text))
        if name is None:
            name = self.placed[id(turns), token.text] = self._free(f"{token.text}_{_turn(turns.along)}")
            self.seen.append(self._place_of(name, token, tensor, turns.along))
            self.known[name] = self.seen[-1].result
        self.used.add(name)
        return token._replace(text=name)

    def _place_of(self, name: str, token: Token, tensor: Tensor, label: str) -> Statement:
        """A tensor at the place of the turn: not of several chips, of which each would have other turns."""
        dim = next(dim for dim in tensor.dims if dim.label == label)
        self._require_unsplit(token.text, tensor, dim, token)
        result = replace(tensor, name=name, dims=tuple(other for other in tensor.dims if other != dim))
        return Statement("function", (tensor,), result, PLACE)

    def _require_unsplit(self, name: str, tensor: Tensor, dim: Dim, place: Token) -> None:
        if dim.axes:
            whole = replace(tensor, name=None, dims=tuple(replace(d, axes=()) if d == dim else d for d in tensor.dims))
            cure = f"it whole on every chip: {name}_whole = {name} -> {whole}"
            raise self.error(f"{name} is {tensor}, and is split along {dim.label}", cure, token=place)

    def _turned(self, name: Token, function: Token) -> Statement:
        """place(x, T), or collect(k, T): what x has at the place of this turn, and what all turns have made of k."""
        if not self.turns:
            cure = "a repeat or a scan around it"
            raise self.error(f"{function.text} is of the turns of a repeat, and there is none", cure, token=function)
        turns, token = self.turns[-1], self.take("word", "a tensor")
        tensor = self._operand(token)
        inside = token.text not in turns.before
        if inside is not (function.text == COLLECTED):
            shown = f"{token.text} is made in the turns" if inside else f"{token.text} is the same in all turns"
            expected = "a tensor from outside of them" if inside else "a tensor that each of them makes"
            raise self.error(shown, expected, token=token)
        if inside and token.text in self.put:
            shown = f"{token.text} is collected twice"
            raise self.error(shown, "what all turns make of it once, which may be seen otherwise", token=token)
        self.put |= {token.text} if inside else set()
        self.expect(",", f"',' and a dimension, as in {function.text}({token.text}, T)")
        label = self._label()
        if label.text == "1":
            raise self.error("one place is no dimension", "a name, or a number above 1", token=label)
        if not inside:
            self._require_dimension(label, token.text, tensor.labels)
        elif label.text in tensor.labels:
            raise self.error(f"{token.text} has dimension {label.text}", "a dimension that it lacks", token=label)
        self.expect(")")
        self.turned.append((label.text, turns, token))
        if not inside:
            statement = self._place_of(name.text, token, tensor, label.text)
        else:
            self.sized.setdefault(label.text, label)
            result = replace(tensor, name=name.text, dims=(Dim(label.text), *tensor.dims))
            statement = Statement("function", (tensor,), result, COLLECT)
        stated = self._stated((tensor,), statement.result, f"{function.text}({token.text}, {label.text})", typed=True)
        return replace(statement, result=replace(stated, name=name.text))

    def _scanned_along(self, times: Formula, word: Token) -> str:
        """The dimension that a scan goes along."""
        if isinstance(times, Name):
            return times.name
        if isinstance(times, Number) and times.value != 1:
            return str(times.value)
        raise self.error("a scan goes along a dimension", "a name, or a number above 1: scan T as h = g {", token=word)

    def _behind_turns(self, results: Iterable[str], label: str) -> None:
        """What turns have made is, where it is used behind them, of all turns."""
        for name in results:
            tensor = self.known[name]
            if label in tensor.labels:
                self.inside_alone[name] = label
            else:
                self.known[name] = replace(tensor, dims=(Dim(label), *tensor.dims))

    def _all_collected(self, body: tuple[Node, ...], returned: Iterable[str]) -> tuple[Node, ...]:
        """The scans of a program with what is collected of what they make: what is used behind them, and what nothing
        uses."""
        users = _users(body, {*returned})
        return tuple(self._collected_in(node, users) for node in body)

    def _collected_in(self, node: Node, users: dict[str, set[int]]) -> Node:
        if isinstance(node, Statement):
            return node
        if not (isinstance(node, Repeat) and node.scans):
            return replace(node, body=tuple(self._collected_in(part, users) for part in node.body))
        own = {id(statement) for statement in statements_in(node.body)}
        done = {str(s.operands[0].name) for s in statements_in(node.body) if s.collects}
        results = [s.name for s in statements_in(node.body) if not s.collects and s.name not in done]
        collected = [n for n in results if (users[n] - own if n in users else n not in node.leaves)]
        return self._collecting(node, collected, spelled_size(node.times))

    def _collecting(self, node: Repeat, tensors: Iterable[str], label: str) -> Repeat:
        """Turns that put some of what they make, each at its place, into tensors that have the names that these had."""
        names = {name: self._free(f"{name}_{_turn(label)}") for name in tensors}

        def renamed(tensor: Tensor) -> Tensor:
            return replace(tensor, name=names.get(str(tensor.name), tensor.name))

        def rewritten(node: Node) -> Node:
            if isinstance(node, Statement):
                return replace(node, operands=tuple(map(renamed, node.operands)), result=renamed(node.result))
            return replace(node, body=tuple(map(rewritten, node.body)))

        body, collects = tuple(map(rewritten, node.body)), list[Statement]()
        results = {statement.name: statement.result for statement in statements_in(body)}
        for name, new in names.items():
            whole = replace(results[new], name=name, dims=(Dim(label), *results[new].dims))
            collects.append(Statement("function", (results[new],), whole, COLLECT))
        self.known |= {new: results[new] for new in names.values()}
        carried = tuple((enters, names.get(left, left)) for enters, left in node.carried)
        return replace(node, body=(*body, *collects), carried=carried)


def _users(body: tuple[Node, ...], returned: set[str]) -> dict[str, set[int]]:
    """The statements that use each tensor; what is returned, or left by other turns, has a user that is none of
    them."""
    users = {name: {0} for name in returned}
    for statement in statements_in(body):
        for tensor in statement.operands:
            users.setdefault(str(tensor.name), set()).add(id(statement))
    for node in _repeats(body):
        for name in () if node.scans else node.leaves:
            users.setdefault(name, set()).add(0)
    return users


def _repeats(body: Iterable[Node]) -> Iterator[Repeat]:
    for node in body:
        if isinstance(node, Repeat):
            yield node
        if not isinstance(node, Statement):
            yield from _repeats(node.body)


def _turn(label: str) -> str:
    """What tells the place of a turn along a dimension: x_t is a place of x along T."""
    return "turn" if label.isdigit() else label.lower()
