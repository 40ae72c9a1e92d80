"""What the comments of a document have said so far: the options in force, and the context that they make."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from symroof.errors import ReadingError, about, suggestion
from symroof.reading.documents import Document
from symroof.reading.exercises import Exercise, read_exercise
from symroof.reading.problems import WORD, merged
from symroof.verification.context import Context, context_of

# Lists of a comment are added to those before it; tables are merged; anything else replaces.
ADDED = ("assume", "symbols")
MERGED = ("given", "let", "aliases", "mesh")


@dataclass
class InForce:
    """``overrides`` go before what the comments say; ``words`` are those of the document, which may use what is given."""

    overrides: Mapping[str, Any]
    words: frozenset[str]
    options: dict[str, Any] = field(default_factory=dict)
    exercise: Exercise = field(default_factory=Exercise)
    context: Context = field(default_factory=lambda: context_of(Exercise()))

    @classmethod
    def over(cls, document: Document, overrides: Mapping[str, Any]) -> InForce:
        """What is in force before the first comment."""
        made = cls(overrides, frozenset(WORD.findall(document.text)))
        if overrides:
            made._read("", None)
        return made

    def add(self, options: Mapping[str, Any], where: str) -> None:
        """A comment adds to those before it; a new operation starts afresh."""
        claims = options.get("claims")
        if "operation" in options and "operation" in self.options:
            self.options = {}
        for key, value in options.items():
            before = self.options.get(key)
            if key in ADDED and before is not None:
                value = [*_listed(before), *_listed(value)]
            elif key in MERGED and isinstance(before, Mapping) and isinstance(value, Mapping):
                value = {**before, **value}
            if key != "claims":
                self.options[key] = value
        self._read(where, claims)

    def _read(self, where: str, claims: Any) -> None:
        options = merged(self.options, self.overrides)
        with about(where):
            self.exercise = read_exercise({**options, **({"claims": claims} if claims is not None else {})}, self.words)
            self.context = context_of(self.exercise)
            for alias, name in self.exercise.aliases.items():
                if name not in self.context.scope.names:
                    raise ReadingError(
                        f"aliases: {alias} stands for {name!r}, which is no name here",
                        hint=suggestion(name, self.context.scope.names),
                    )


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]
