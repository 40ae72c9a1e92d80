"""Formulas of sizes in programs: what a size is defined by, how many turns there are, and the factors of a tensor."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from graphlib import CycleError, TopologicalSorter

from symroof.errors import AlgebraError, SymroofError
from symroof.formula import FUNCTIONS, KEYWORDS, Compare, Formula, Group, Name, Number, Quotient, mapped, names, number
from symroof.model.dtype import Tensor
from symroof.model.functions import FUNCTIONS as TABLE
from symroof.model.program import Statement
from symroof.model.spelling import spelled_size
from symroof.reading.cases import is_choice
from symroof.reading.expressions import read_expression
from symroof.reading.scanner import Token
from symroof.reading.scope import Scope
from symroof.reading.tensors import END, ViewReader
from symroof.symbols import expression
from symroof.weight import Terms, depth, terms

WORD = re.compile(r"[^\W\d]\w*\b(?!\s*\()")
ORDERS = ("<=", ">=")


class SizeReader(ViewReader):
    def _size_said(self) -> None:
        """A size that others define, or what is known of sizes."""
        if self.token.kind == "word" and self.following.text == "=":
            self._size_defined()
            return
        start = self.token
        left = self._formula(lambda: self.at(",", END, "}", "=", "<", ">", *ORDERS))
        if not self.at(*ORDERS):
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
        known, steps = dict[str, Terms](), dict[str, int]()
        for name, formula in ordered.items():
            try:
                steps[name], known[name] = depth(formula, steps), terms(formula, known)
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
        try:
            return read_expression(written, Scope(tuple(dict.fromkeys((*shapes, *self.where, *words))), open=True))
        except SymroofError as error:
            span = getattr(error, "span", None) or (0, len(written))
            place = (start.start + span[0], start.start + span[1])
            raise self._placed(error.problem, error.expected, error.hint, *place) from None

    def _require_factor(self, factor: Formula, start: Token) -> None:
        """A number that something is multiplied with, or divided by, is one, and not 0."""
        value = None if names(factor) else expression(factor)
        if value is not None and (value == 0 or not value.is_finite or not value.is_real):
            shown = start.text if start.kind == "number" else self.written(start)
            raise self.error(f"{shown} is no factor", "a number that is not 0", token=start)

    def _scaled(self, name: Token, tensor: Tensor, factor: Formula) -> Statement:
        """A tensor times numbers and sizes: one operation for each element."""
        place = self.following
        stated = self._type((tensor,)) if self.accept("->") else None
        if stated is not None and set(stated.labels) != set(tensor.labels):
            shown = f"{name.text} is {stated}, and what it is a multiple of is {replace(tensor, name=None)}"
            raise self.error(shown, f"the dimensions of {replace(tensor, name=None)}", token=place)
        if not (self.at(END, "}") or self.token.kind == "end"):
            cure = "a statement of its own for it: a factor of sizes goes with one tensor"
            raise self.error(expected=cure)
        result = replace(stated or tensor, name=name.text)
        return Statement("function", (tensor,), result, TABLE["scale"], factor=factor)

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
