"""The written form of mathematics: a tree that keeps its author's order.

SymPy sorts what it is given: ``2BD + 2DF + 2BF`` comes back as ``2BD + 2BF + 2DF``, and ``N + (N - 1)`` as
``2N - 1``. A derivation must show both. So what a person reads or writes is a :class:`Formula`, and SymPy
holds its value. Every printer, and every evaluator, is one :func:`fold` over the tree with rules of its own.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields, is_dataclass
from fractions import Fraction
from functools import wraps
from operator import attrgetter
from typing import Any, ClassVar, Concatenate, ParamSpec, TypeVar, cast, dataclass_transform

from symroof.errors import AlgebraError

_put = object.__setattr__
# The functions of formulas, and how many arguments each takes: None for any number of them.
FUNCTIONS: Mapping[str, int | None] = {
    **dict.fromkeys(("max", "min")),
    **dict.fromkeys(("sqrt", "log", "log2", "exp", "floor", "ceil", "abs"), 1),
    **dict.fromkeys(("argmin", "minimum", "sup", "limit", "diff"), 2),
    "sum": 4,
}
# Powers with more bits than this are not worked out.
LARGEST_BITS = 10_000
KEYWORDS = frozenset(["as", "assuming", "at", "when", "never", "always", "and", "or", "not", "oo"])
# The same order with its sides exchanged.
MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


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


def several_of(sizes: object) -> frozenset[Any]:
    """What of sizes is above 1."""
    return sizes.several if isinstance(sizes, Sizes) else frozenset()


class _Parameters:
    """What a value is made from, for those who ask with :func:`inspect.signature`."""

    def __get__(self, value: object, kind: type) -> inspect.Signature:
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

    __slots__ = ("__dict__", "__weakref__", "_hash")
    _hash: int
    _names: ClassVar[tuple[str, ...]] = ()
    _given: ClassVar[Mapping[str, object]] = {}  # what stands where nothing is given
    _made: ClassVar[Mapping[str, Callable[[], object]]] = {}  # and what is made for each value anew
    _key: ClassVar[attrgetter[object]] = attrgetter("__class__")  # what is compared of it
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

    def __init__(self, *values: object, **named: object) -> None:
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

    def __setattr__(self, name: str, value: object) -> None:
        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> None:
        raise FrozenInstanceError(f"cannot delete field {name!r}")

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return self._key(self) == self._key(other) if other.__class__ is self.__class__ else NotImplemented

    def __hash__(self) -> int:
        try:
            return self._hash
        except AttributeError:
            _put(self, "_hash", value := hash(self._key(self)))
            return value

    def __getstate__(self) -> object:
        return self.__dict__

    def __repr__(self) -> str:
        shown = (f"{part.name}={getattr(self, part.name)!r}" for part in fields(self) if part.repr)  # type: ignore[arg-type]
        return f"{type(self).__qualname__}({', '.join(shown)})"


_Value = TypeVar("_Value")
_Result = TypeVar("_Result")
_Rest = ParamSpec("_Rest")


def once(function: Callable[Concatenate[_Value, _Rest], _Result]) -> Callable[Concatenate[_Value, _Rest], _Result]:
    """A function of a frozen value that runs once for each, whatever else it is given: its result lies in the value."""

    @wraps(function)
    def stored(value: _Value, /, *rest: _Rest.args, **named: _Rest.kwargs) -> _Result:
        if function.__qualname__ not in value.__dict__:
            value.__dict__[function.__qualname__] = function(value, *rest, **named)
        return cast("_Result", value.__dict__[function.__qualname__])

    return stored


class Formula(Frozen):
    """A node of the tree; the subclasses are the whole grammar."""

    _parts: ClassVar[tuple[str, ...]] = ()  # the fields that hold formulas, in reading order
    _rule: ClassVar[str] = ""  # what the rule of a fold for it is called

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls._rule = cls.__name__.lower()
        cls._parts = tuple(part.name for part in fields(cls) if "Formula" in str(part.type))


class Number(Formula):
    """An exact number. ``digits`` are the digits it was read with; the value of ``1.01 ms`` is in seconds."""

    value: Fraction
    digits: str | None = None
    unit: str | None = None


class Name(Formula):
    """A dimension, or a quantity such as ``T_math``."""

    name: str


class Figure(Formula):
    """A known quantity shown by its digits: ``1.97e14`` where the name would be ``peak``."""

    name: str
    digits: str


class Sum(Formula):
    terms: tuple[Formula, ...]


class Product(Formula):
    factors: tuple[Formula, ...]


class Quotient(Formula):
    above: Formula
    below: Formula


class Power(Formula):
    base: Formula
    exponent: Formula


class Negative(Formula):
    body: Formula


class Group(Formula):
    """Brackets that the author wrote and a printer keeps."""

    body: Formula


class Call(Formula):
    function: str
    arguments: tuple[Formula, ...]


class Written(Formula):
    """The body of a Python function, typeset exactly as its author wrote it."""

    body: Formula
    function: Callable[..., object] = field(compare=False, hash=False)


class Infinity(Formula):
    pass


class Gap(Formula):
    """A side of a chain that is not there, or that could not be read: ``problem`` says why, ``column`` where. It has no
    value, and no rule of a fold: what it stands in is not judged."""

    problem: str | None = None
    column: int | None = None


class Compare(Formula):
    """A proposition ``left relation right``."""

    left: Formula
    relation: str
    right: Formula

    @property
    def mirrored(self) -> Compare:
        """``F > D`` for ``D < F``: the same, with its sides exchanged."""
        return Compare(self.right, MIRRORED.get(self.relation, self.relation), self.left)


class Both(Formula):
    """All of the parts."""

    parts: tuple[Formula, ...]


class Either(Formula):
    """At least one of the parts."""

    parts: tuple[Formula, ...]


class Verdict(Formula):
    """``always`` or ``never``."""

    holds: bool


class Cases(Formula):
    """``consequence`` where ``guard`` holds, row by row; ``otherwise`` where no guard does."""

    rows: tuple[tuple[Formula, Formula], ...]
    otherwise: Formula | None


def fold(formula: Formula, rules: object) -> Any:
    """Replace every node by what ``rules`` makes of it, children first.

    ``rules`` has one method per node, named after it in lower case and called with the node and the results
    of its children. A rule that is missing refuses the node.

    >>> class Letters:
    ...     def name(self, node): return {node.name}
    ...     def sum(self, node, *terms): return set().union(*terms)
    >>> sorted(fold(Sum((Name("B"), Name("D"))), Letters()))
    ['B', 'D']
    """
    rule = getattr(rules, formula._rule, None)
    if rule is None:
        raise AlgebraError(f"{formula._rule} has no place in this formula")
    return rule(formula, *[fold(child, rules) for child in children(formula)])


def children(formula: Formula) -> tuple[Formula, ...]:
    """The formulas directly below a node, in reading order."""
    if not formula._parts:
        return ()
    result: list[Formula] = []
    for part in formula._parts:
        value = getattr(formula, part)
        if isinstance(value, Formula):
            result.append(value)
        elif value is not None:
            for item in value:
                result.extend(item if isinstance(item, tuple) else (item,))
    return tuple(result)


def nodes(formula: Formula) -> Iterator[Formula]:
    """Every node of the tree, in reading order."""
    yield formula
    for child in children(formula):
        yield from nodes(child)


def mapped(formula: Formula, change: Callable[[Formula], Formula]) -> Formula:
    """The tree with every node changed, children first.

    >>> mapped(Sum((Name("B"), Name("D"))), lambda node: Name("N") if node == Name("D") else node)
    Sum(terms=(Name(name='B'), Name(name='N')))
    """
    if children(formula):
        formula = type(formula)(*(_changed(value, change) for value in map(vars(formula).get, formula._names)))
    return change(formula)


def _changed(value: object, change: Callable[[Formula], Formula]) -> object:
    if isinstance(value, tuple):
        return tuple(_changed(part, change) for part in value)
    return mapped(value, change) if isinstance(value, Formula) else value


@once
def names(formula: Formula) -> tuple[str, ...]:
    """The names in a formula, each once, in reading order.

    >>> names(Product((Name("D"), Name("B"), Name("D"))))
    ('D', 'B')
    """
    return tuple(dict.fromkeys(node.name for node in nodes(formula) if isinstance(node, Name | Figure)))


def number(value: int | Fraction) -> Number:
    """A number without digits of its own."""
    return Number(Fraction(value))


def product(*factors: Formula) -> Formula:
    """The product, with factors 1 left out and a single factor left alone."""
    parts = tuple(f for f in factors if f != Number(Fraction(1)))
    flat = tuple(g for f in parts for g in (f.factors if isinstance(f, Product) else (f,)))
    return flat[0] if len(flat) == 1 else Product(flat) if flat else number(1)


def total(*terms: Formula) -> Formula:
    """The sum; a single term is left alone."""
    return terms[0] if len(terms) == 1 else Sum(terms)
