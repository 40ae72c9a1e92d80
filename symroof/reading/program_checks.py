"""What the sizes of a program have to say: of masks and their windows, of windows that slide over places, of factors
and views."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

from sympy import Add, Expr

from symroof.algebra.rational import sign_of
from symroof.errors import suggestion
from symroof.formula import Call, Compare, Formula, names
from symroof.model import program_sizes
from symroof.model.program import Program
from symroof.model.program_quantities import names_of_amounts
from symroof.model.program_sizes import slides_of, stride_of
from symroof.model.program_tree import Mask, Node, Statement, label_size
from symroof.model.quantities import QUANTITIES
from symroof.model.tensor_types import Tensor, spelled_fact, spelled_size
from symroof.reading.scanner import Token
from symroof.reading.size_cases import Facts, Premises, UndecidedError, at_points, decided, made_by
from symroof.reading.statements import StatementReader
from symroof.symbols import expression, symbol


def never_below_zero(program: Program, value: Expr) -> bool:
    """Whether a value in the sizes of a program is at least 0, whatever they are."""
    left = program.resolved(value).expand()
    return left == 0 or sign_of(left, frozenset(map(symbol, program.sizes)), weak=True) in (0, 1)


class MaskReader(StatementReader):
    """Reads statements, and holds what they say of sizes against those of a program."""

    told: Facts

    def _require_factors(self, program: Program) -> None:
        """A factor is of sizes that there are."""
        sizes = (*program.dimensions, *program.where)
        for factor, token in self.factors:
            for name in names(factor):
                if name not in sizes:
                    expected = f"one of {', '.join(sizes)}"
                    raise self.error(f"{name} is no size", expected, suggestion(name, sizes), token=token)

    def _decided(self, program: Program) -> Program:
        """The program with what is known of its sizes, and each size that is the least, or the largest, of several as
        that one of them which it is."""
        names_of_sizes = {name for fact, _ in self.facts for name in names(fact)} | {
            *program.dimensions,
            *program.where,
        }
        facts_here = [fact for fact in self.told.facts if {*names(fact)} <= names_of_sizes]
        facts, where = [fact for fact, _ in self.facts], dict[str, Formula]()
        least_one = frozenset(map(symbol, program.sizes))
        for name, formula in program.where.items():
            before = replace(program, where=where).definitions
            while True:
                try:
                    where[name] = decided(formula, Premises(before, least_one, tuple(facts)))
                    break
                except UndecidedError as open_:
                    more = self._deciding(open_.call, Premises(before, least_one, (*facts, *facts_here)))
                    if more is None and self.told.unread is not None:
                        raise self.told.unread from None
                    if more is None:
                        shown = f"nothing says which {name} = {spelled_size(formula)} is"
                        each = (", ".join(map(spelled_fact, case)) for case in open_.cases)
                        cure = f"what is known: where {', or where '.join(each)}"
                        raise self.error(shown, cure, token=self.defined[name]) from None
                    facts += (fact for fact in more if fact not in facts)
        choices = {name: formula for name, formula in program.where.items() if formula != where[name]}
        return replace(program, where=where, facts=tuple(facts), choices=choices)

    def _deciding(self, call: Call, premises: Premises) -> tuple[Compare, ...] | None:
        """What has to be known of sizes, as what is told beside the program decides it."""
        with suppress(UndecidedError):
            chosen = decided(call, premises)
            return made_by(call, chosen)
        return at_points(call, premises.definitions, self.told.points)

    def _require_sizes(self, program: Program) -> None:
        shaped = {dim.label for tensor in program.arrays.values() for dim in tensor.dims}
        shaped |= {mask.window for mask, _ in self.masked}
        taken = {*QUANTITIES, *names_of_amounts(program)}
        facts = (fact for fact, _ in self.facts)
        shaped |= {name for formula in (*self.where.values(), *facts) for name in names(formula)}
        for name in program.dimensions:
            if name in taken:
                place = self.sized.get(name, self.tokens[0])
                raise self.error(f"{name} is the name of a quantity, not of a size", token=place)
        for name in self.where:
            if name not in shaped and not any(name in names(r.times) for line in program.lines for r in line.repeats):
                near = suggestion(name, shaped)
                raise self.error(f"nothing has the size {name}", "a tensor that has", near, token=self.defined[name])

    def _require_whole(self, program: Program) -> None:
        """What is rearranged keeps its elements; what slides over windows keeps its dimensions."""
        for function, tensor, stated, place in self.reshaped:
            more = program.resolved(tensor.elements) - program.resolved(stated.elements)
            if function.name == program_sizes.WINDOWS:
                self._require_places(program, tensor, stated, place)
            elif more.expand() != 0:
                shown = f"{tensor} and {stated} do not have as many elements"
                hint = "say which sizes are equal: where S = T"
                raise self.error(shown, "the same elements in other dimensions", hint, token=place)

    def _require_places(self, program: Program, tensor: Tensor, stated: Tensor, token: Token) -> None:
        """What slides over windows keeps its dimensions, or has every few of their places."""
        slides = slides_of(tensor.labels, stated.labels)
        if slides is None:
            lost = ", ".join(label for label in tensor.labels if label not in stated.labels)
            shown = f"the windows of {tensor} have its {lost} too, or so many places of it"
            raise self.error(shown, "the dimensions of a place, then those of the filter", token=token)
        for slide in slides:
            stride = stride_of(program, slide)
            if slide.strided and stride is None:
                whole, places = slide.whole, slide.places
                shown = f"nothing says that there is a window at every few places of {whole}: {places} of them"
                raise self.error(shown, f"where {whole} = 2*{places}, or another whole number", token=token)
            if slide.taps.isdigit() and int(slide.taps) < (stride or 1):
                shown = f"{slide.taps} taps at every {stride}th place of {slide.whole} leave places out"
                cure = f"every few places first: {tensor.name}_few = windows({tensor.name}) -> …, without taps"
                raise self.error(shown, cure, token=token)

    def _require_masks(self, program: Program) -> None:
        """A mask has at least as many columns as rows, whatever the sizes are: its last row meets all of them."""
        for mask, token in self.masked:
            if not never_below_zero(program, label_size(mask.columns) - label_size(mask.rows)):
                shown, ends = (
                    f"nothing says that {mask.columns} is at least {mask.rows}",
                    f"where {mask.columns} = {mask.rows}",
                )
                raise self.error(shown, f"{ends}, or {ends} + P with P entries before", token=token)

    def _spanned(self, program: Program) -> Program:
        """The program with what its windows leave of its masks: whether every row meets as many columns, whatever the
        sizes are, or whether the first meet fewer."""
        windows = [(mask, token) for mask, token in self.masked if mask.window]
        spans = {mask: replace(mask, span=self._span(program, mask, token)) for mask, token in windows}

        def spanned(node: Node) -> Node:
            if isinstance(node, Statement):
                return replace(node, mask=spans.get(node.mask, node.mask)) if node.mask is not None else node
            return replace(node, body=tuple(map(spanned, node.body)))

        return replace(program, body=tuple(map(spanned, program.body))) if spans else program

    def _span(self, program: Program, mask: Mask, token: Token) -> str:
        rows, columns, window = map(label_size, (mask.rows, mask.columns, mask.window))
        holds = partial(never_below_zero, program)
        if holds(columns - rows + 1 - window):
            return "even"
        if holds(window - columns):
            return "whole"
        if holds(window - columns + rows) and holds(columns - window):
            return "first"
        shown = f"nothing says which rows meet fewer than {mask.window} of {mask.columns}"
        cure = f"sizes that tell: where {mask.columns} = {mask.rows} + P and P = {mask.window} + N, or {mask.columns} = {mask.rows}"
        raise self.error(shown, f"{cure} and {mask.rows} = {mask.window} + N", token=token)

    def _require_parts(self, program: Program) -> None:
        """What is joined is as long as its parts; what is cut holds all of its slices, which are different places of it."""
        for long, parts, place in self.joined:
            if program.resolved(label_size(long) - Add(*map(label_size, parts))).expand() != 0:
                together = " + ".join(parts)
                raise self.error(f"nothing says that {long} is {together}", f"where {long} = {together}", token=place)
        slices = dict[tuple[str, str], list[str]]()
        for token, whole, part in self.entries:
            self._require_room(program, token, whole, [part])
        for token, whole, part in self.sliced:
            cut = slices.setdefault((token.text, whole), [])
            cut.append(part)
            self._require_room(program, token, whole, cut)

    def _require_room(self, program: Program, token: Token, whole: str, parts: Sequence[str]) -> None:
        """A dimension of a tensor has at least so many places as parts of it."""
        if not never_below_zero(program, label_size(whole) - Add(*map(label_size, parts))):
            together = " + ".join(parts)
            several = "" if len(parts) == 1 else f": {len(parts)} slices are so many different places"
            shown = f"nothing says that {token.text} has {together} along {whole}{several}"
            raise self.error(shown, f"sizes that tell: where {whole} = {together} + P", token=token)

    def _require_places_of_turns(self, program: Program) -> None:
        """There are as many turns as places, and what they are places of is the same in all turns."""
        own = {str(d.tensor.name): d.role for d in program.declared if not d.alike}
        for label, turns, token in self.turned:
            if program.resolved(expression(turns.times) - label_size(label)).expand() != 0:
                shown = f"nothing says that there are {label} turns"
                raise self.error(shown, f"a repeat of as many turns as there are places: repeat {label}", token=token)
            if token.text in own and not turns.along:
                shown = f"each turn has a {own[token.text]} {token.text} of its own"
                raise self.error(shown, f"one for all: shared {own[token.text]} {token.text}, or a scan", token=token)
