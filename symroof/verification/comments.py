"""What the comments of a document have said so far: the options in force, and the context that they make."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from symroof.errors import ReadingError, SymroofError, suggestion
from symroof.model.quantities import QUANTITIES
from symroof.reading.claim_sets import Exercise, read_exercise
from symroof.reading.keys import having
from symroof.reading.latex_phrases import Dialect
from symroof.reading.markup import Headings, Spelling
from symroof.reading.name_scope import Scope
from symroof.reading.operation_keys import has_operation
from symroof.reading.problems import GIVE_WAY, WORD, merged
from symroof.verification.claim_context import context_of
from symroof.verification.context import Context

# Lists of a comment are added to those before it; tables are merged; anything else replaces.
ADDED = ("assume", "symbols")
MERGED = ("given", "let", "aliases", "mesh")
# What a comment says of every operation, and the type of elements where none is said: it tells their number alone.
CONVENTIONS = having("kept")
# What another operation does not end.
LASTING = ("lang",)
ANY_WIDTH = "bf16"


@dataclass(frozen=True)
class Comments:
    """``overrides`` go before what the comments say; ``words`` are those of the document, which may use what is given;
    ``folder`` is where the document lies, ``spelled`` how it spells; ``places`` are the headings below which each named
    formula was stated.
    Where ``counted`` says so, additions count in one way alone: the other one, or that which is in force."""

    overrides: Mapping[str, Any]
    words: frozenset[str]
    folder: Path
    spelled: Spelling = field(default_factory=Spelling)
    options: Mapping[str, Any] = field(default_factory=dict)
    places: Mapping[str, Headings] = field(default_factory=dict)
    counted: bool | None = None
    exercise: Exercise = field(default_factory=Exercise)
    context: Context = field(default_factory=lambda: context_of(Exercise()))

    def dialect(self, scope: Scope) -> Dialect:
        """How the document writes the names of a scope."""
        spelled = self.spelled
        if scope not in self._dialects:
            own = replace(scope, letters=spelled.letters)
            self._dialects[scope] = Dialect(own, self.exercise.aliases, spelled.macros, spelled.functions)
        return self._dialects[scope]

    @cached_property
    def _dialects(self) -> dict[Scope, Dialect]:
        return {}

    def adding(self, comment: Mapping[str, Any], path: Headings = ()) -> Comments:
        """A comment adds to those before it; a new operation starts afresh. Claims are those of this comment alone."""
        before = self.options
        if has_operation(comment) and has_operation(before):
            before = {key: value for key, value in before.items() if key in LASTING}
        options = {**before, **{key: _added(key, before.get(key), value) for key, value in comment.items()}}
        let = comment.get("let")
        places = {**self.places, **dict.fromkeys(let if isinstance(let, Mapping) else (), path)}
        return replace(self, places=places)._reading(options)

    def below(self, path: Headings) -> Comments:
        """At a place below other headings: named formulas of a section that is left are forgotten, unless what stays in
        force speaks of them."""
        ended = [name for name, stated in self.places.items() if path[: len(stated)] != stated]
        try:
            return self.forgetting(*ended) if ended else self
        except SymroofError:
            return replace(self, places={name: stated for name, stated in self.places.items() if name not in ended})

    def forgetting(self, *forgotten: str) -> Comments:
        """Without some of the named formulas."""
        let = {name: formula for name, formula in self.options.get("let", {}).items() if name not in forgotten}
        places = {name: stated for name, stated in self.places.items() if name not in forgotten}
        return replace(self, places=places)._reading({**self.options, "let": let})

    def afresh(self) -> Comments:
        """With nothing said."""
        return Comments(self.overrides, self.words, self.folder, counted=self.counted).adding({})

    def _reading(self, options: dict[str, Any]) -> Comments:
        exercise = read_exercise(merged(options, self.overrides, self.folder), self.words)
        context = context_of(exercise)
        context = context if self.counted is None else context.counting(self.counted)
        for alias, name in exercise.aliases.items():
            if name not in context.scope.names:
                hint = suggestion(name, context.scope.names)
                raise ReadingError(f"aliases: {alias} stands for {name!r}, which is no name here", hint=hint)
        options.pop("claims", None)
        return replace(self, options=options, exercise=exercise, context=context)

    @cached_property
    def contexts(self) -> tuple[Context, ...]:
        """The contexts in which a formula is read in turn: that of the problem, and one in which every letter declares itself;
        a size of the problem is a name there as well, and no unit."""
        context = self.context
        bare = context_of(Exercise()) if context.setting is not None else context
        letters = tuple(dict.fromkeys((*QUANTITIES, *bare.scope.names, *sorted(context.least_one))))
        own = replace(bare, scope=Scope(letters, open=True, indices=True, give_way=GIVE_WAY))
        return (own,) if context.scope.open else (context, own)

    @property
    def width(self) -> Any:
        """The dtype of tensors that do not state one, where comments say it."""
        return self.overrides.get("dtype", self.options.get("dtype"))

    def of_row(self, operation: str) -> Comments:
        """What is in force in a row of a table that types an operation: the chip and the conventions of before."""
        if operation not in self._rows:
            conventions = {key: value for key, value in self.options.items() if key in CONVENTIONS}
            options = {"dtype": ANY_WIDTH, **conventions, "operation": operation}
            self._rows[operation] = replace(self, options={}).adding(options)
        return self._rows[operation]

    @cached_property
    def _rows(self) -> dict[str, Comments]:
        return {}


def _added(key: str, before: Any, value: Any) -> Any:
    """What an option is once a comment has given it a value."""
    if key in ADDED and before is not None:
        return [item for part in (before, value) for item in (part if isinstance(part, list | tuple) else [part])]
    both = key in MERGED and isinstance(before, Mapping) and isinstance(value, Mapping)
    return _in_order({**before, **value}) if both else value


def _in_order(table: Mapping[str, Any]) -> dict[str, Any]:
    """A table of formulas with every name behind those that its formula uses.

    >>> list(_in_order({"T": "2 work", "work": "B D"}))
    ['work', 'T']
    """
    ordered: dict[str, Any] = {}

    def place(name: str, above: tuple[str, ...]) -> None:
        for used in WORD.findall(str(table[name])):
            if used in table and used not in (*above, name, *ordered):
                place(used, (*above, name))
        ordered[name] = table[name]

    for name in table:
        if name not in ordered:
            place(name, ())
    return ordered
