"""Sizes that others define, and formulas of sizes: ``where c = B*k/E``, ``repeat 2L``."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from graphlib import CycleError, TopologicalSorter

from symroof.errors import AlgebraError, SymroofError
from symroof.formula import FUNCTIONS, KEYWORDS, Formula, names
from symroof.model.dtype import Dtype
from symroof.model.functions import Function
from symroof.reading.expressions import read_expression
from symroof.reading.program_words import END
from symroof.reading.scope import Scope
from symroof.reading.statements import StatementReader
from symroof.reading.tokens import Token
from symroof.symbols import expression
from symroof.weight import Terms, depth, terms

WORD = re.compile(r"[^\W\d]\w*\b(?!\s*\()")


class SizeReader(StatementReader):
    def __init__(self, source: str, element: Dtype | None, functions: Mapping[str, Function]) -> None:
        super().__init__(source, element, functions)
        self.where: dict[str, Formula] = {}
        self.defined: dict[str, Token] = {}

    def _size_defined(self) -> None:
        token = self.take("word", "a size, as in c = B*k/E")
        if token.text in self.where:
            raise self.error(f"{token.text} is defined twice", "one formula for each size", token=token)
        self.expect("=")
        formula = self._formula(lambda: self.at(",", END, "}"))
        if token.text in names(formula):
            raise self.error(f"{token.text} is defined by itself", "a formula of other sizes", token=token)
        if not names(formula) and not expression(formula).is_positive:
            raise self.error(f"{token.text} is not above 0", "a size", token=token)
        self.where[token.text], self.defined[token.text] = formula, token

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
        shapes = (dim.label for tensor in self.known.values() for dim in tensor.dims if not dim.fixed)
        words = (word for word in WORD.findall(written) if not word.isupper() and word not in (*FUNCTIONS, *KEYWORDS))
        try:
            return read_expression(written, Scope(tuple(dict.fromkeys((*shapes, *self.where, *words))), open=True))
        except SymroofError as error:
            span = getattr(error, "span", None) or (0, len(written))
            place = (start.start + span[0], start.start + span[1])
            raise self._placed(error.problem, error.expected, error.hint, *place) from None

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
