"""Values: what never changes, and is equal to what has equal parts."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields, is_dataclass
from operator import attrgetter
from typing import Any, ClassVar, dataclass_transform


class Sizes(frozenset[Any]):
    """What is at least 1; those of ``several`` are above 1, as the chips of an axis are.

    >>> "X" in Sizes("BD", several="X"), several_of(frozenset("B"))
    (True, frozenset())
    """

    several: frozenset[Any]

    def __new__(cls, items: Iterable[Any] = (), several: Iterable[Any] = ()) -> Sizes:
        several = frozenset(several)
        sizes = super().__new__(cls, (*items, *several))
        sizes.several = several
        return sizes

    def __eq__(self, other: object) -> bool:
        return super().__eq__(other) and self.several == several_of(other)

    def __hash__(self) -> int:
        return hash((frozenset(self), self.several))

    @property
    def named(self) -> Sizes:
        """The same of names, where these are symbols."""
        return Sizes((s.name for s in self), (s.name for s in self.several))


def several_of(sizes: Any) -> frozenset[Any]:
    """What of sizes is above 1."""
    return sizes.several if isinstance(sizes, Sizes) else frozenset()


_put = object.__setattr__


class _Parameters:
    """What a value is made from, for those who ask with :func:`inspect.signature`."""

    def __get__(self, value: object, kind: Any) -> inspect.Signature:
        shown = []
        for part in fields(kind) if is_dataclass(kind) else ():
            default = inspect.Parameter.empty if part.default is MISSING else part.default
            default = default if part.default_factory is MISSING else part.default_factory()
            shown.append(inspect.Parameter(part.name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default))
        return inspect.Signature(shown)


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class Frozen:
    """A value: every subclass is a frozen dataclass, with its fields as it writes them down.

    Making, comparing and showing is the same for all and stands here once: to generate functions for each of a hundred
    and fifty classes takes as long as a derivation. Only what is made ``often``, a thousand times in one, has its own.
    """

    _names: ClassVar[tuple[str, ...]] = ()
    _given: ClassVar[Mapping[str, Any]] = {}  # what stands where nothing is given
    _made: ClassVar[Mapping[str, Any]] = {}  # and what is made for each value anew
    _key: ClassVar[attrgetter[Any]] = attrgetter("__class__")  # what is compared of it
    __signature__: ClassVar[Any] = _Parameters()

    def __init_subclass__(cls, *, often: bool = False) -> None:
        super().__init_subclass__()
        dataclass(init=often, frozen=often, repr=False, eq=False)(cls)
        parts = fields(cls)  # type: ignore[arg-type]
        cls._names = tuple(part.name for part in parts)
        cls._given = {part.name: part.default for part in parts if part.default is not MISSING}
        cls._made = {part.name: part.default_factory for part in parts if part.default_factory is not MISSING}
        compared = [part.name for part in parts if part.compare]
        cls._key = attrgetter(*compared) if compared else Frozen._key

    def __init__(self, *values: Any, **named: Any) -> None:
        names = self._names
        for name, value in zip(names, values, strict=False):
            _put(self, name, value)
        rest = names[len(values) :]
        for name in rest:
            if name in named:
                _put(self, name, named[name])
            elif name in self._given:
                _put(self, name, self._given[name])
            elif name in self._made:
                _put(self, name, self._made[name]())
            else:
                self.__signature__.bind(*values, **named)  # says what is missing
        if len(values) > len(names) or not named.keys() <= {*rest}:
            self.__signature__.bind(*values, **named)  # or unknown, or too much
        self.__post_init__()

    def __post_init__(self) -> None:
        """What is refused of the values."""

    def __setattr__(self, name: str, value: Any) -> None:
        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> None:
        raise FrozenInstanceError(f"cannot delete field {name!r}")

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return self._key(self) == self._key(other) if other.__class__ is self.__class__ else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key(self))

    def __repr__(self) -> str:
        shown = (f"{part.name}={getattr(self, part.name)!r}" for part in fields(self) if part.repr)  # type: ignore[arg-type]
        return f"{type(self).__qualname__}({', '.join(shown)})"
