"""The arguments that a function is traced with: their types as they are written, in the trees that the function takes."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import TypeAlias, TypeVar

from sympy import Expr, ilcm

from symroof.errors import require_one_of
from symroof.formula import Formula, Frozen, names
from symroof.model.tensor_types import Dim, Dtype, dtype, spelled_size
from symroof.reading.name_scope import split_word
from symroof.symbols import expression, rational, symbol
from symroof.tracing.size_names import Sizes, distinct_numbers, formula_of
from symroof.tracing.traces import Function, TracingError, refusal

SHAPE = re.compile(r"\s*(?:(input|weight|cache)\s+)?([\w]+)\s*\[(.*)\]\s*", re.DOTALL)
AXES = re.compile(r"(?<=[A-Za-z0-9)])_([A-Z]+)$")
T = TypeVar("T")
# Arguments in the trees that a function takes, and their types as they are written.
Tree: TypeAlias = "T | Mapping[str, Tree[T]] | Sequence[Tree[T]]"
Shapes: TypeAlias = "Mapping[str, Tree[str]]"
NUMPY = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32", "fp64": "float64", "fp8": "float8_e4m3fn"}


class Type(Frozen):
    """The type of an argument: weight bf16[D, N*H]. ``fixed`` are sizes that are numbers, bf16[B, T, H=128], and ``axes`` those of
    a mesh that split each dimension: bf16[B_X, D]."""

    role: str
    element: Dtype
    dims: tuple[Formula, ...]
    fixed: Mapping[str, int]
    axes: tuple[str, ...] = ()

    @property
    def form(self) -> object:
        """What is the same of arguments that are alike."""
        return self.element, self.dims

    @property
    def numpy(self) -> str:
        """What NumPy, JAX and PyTorch call the type of its elements."""
        return NUMPY.get(self.element.name, self.element.name)

    @classmethod
    def read(cls, name: str, text: str) -> Type:
        match = SHAPE.fullmatch(text)
        if match is None:
            expected = "a type such as bf16[B, D], or weight bf16[D, F]"
            raise TracingError(f"{name}: {text!r} is no shape", expected=expected)
        fixed: dict[str, int] = {}
        dims, axes = [], []
        for part in filter(None, (part.strip() for part in match.group(3).split(","))):
            left, equals, right = (word.strip() for word in part.partition("="))
            left, *over = AXES.split(left)[:2]
            axes.append("".join(over))
            if left == "1" and over:
                raise refusal(name, f"{part!r} splits one place", "a size that chips share out")
            if equals:
                if not right.isdigit() or not left.isidentifier():
                    raise refusal(name, f"{part!r} is no size", "a name, a number, or both: H=128")
                fixed[left] = int(right)
            dims.append(formula_of(left))
        return cls(match.group(1) or "", dtype(match.group(2)), tuple(dims), fixed, tuple(axes))


class Signature:
    """``types`` by name; the ``tree`` of arguments in their order, with the names at their places; ``init_sizes`` are the sizes that
    what makes a module is called with, ``constants`` and ``derived`` what numbers of a module are called. While the function
    runs ``numbers`` stand for some names, for a ``reason``; ``samples`` are numbers for all."""

    def __init__(
        self,
        function: Function,
        shapes: Shapes,
        of_torch: bool,
        init: str = "",
        names_of: Mapping[str, str | int] | None = None,
    ) -> None:
        parameters = _parameters(function, of_torch, init)
        shapes = shapes if parameters is None else _in_order(parameters, shapes)
        self.types: dict[str, Type] = {}
        self.tree = {name: map_tree(part, self._leaf, (name,)) for name, part in shapes.items()}
        self.keywords = _keywords(parameters or (), shapes)
        self.init_sizes = tuple(formula_of(part) for part in init.split(",")) if init else ()
        self.fixed = {name: size for kind in self.types.values() for name, size in kind.fixed.items()}
        texts = {name: str(text) for name, text in (names_of or {}).items()}
        self.constants = {name: int(text) for name, text in texts.items() if text.isdigit()}
        self.derived = {name: formula_of(text) for name, text in texts.items() if name not in self.constants}
        sizes = (*chain(*(kind.dims for kind in self.types.values())), *self.init_sizes)
        used = dict.fromkeys(chain(*map(names, sizes)))
        free = (name for name in used if name not in self.fixed and name not in self.derived)
        self.free = tuple(dict.fromkeys((*free, *self.constants)))
        self.scales = self._scales(sizes)
        self.samples = self.at_numbers(distinct_numbers(self.free))
        of_module = {*self.constants, *chain(*map(names, self.init_sizes))}
        self.numbers: Mapping[str, int] = {name: n for name, n in self.samples.items() if name in of_module}
        self.reason = ""

    def at_numbers(self, numbers: Mapping[str, int]) -> dict[str, int]:
        """Numbers for all names: those of a module are what they are."""
        values = {**numbers, **self.constants}
        for name, formula in self.derived.items():
            value = expression(formula, {n: rational(number) for n, number in values.items()})
            if not value.is_Integer:
                free = ", ".join(sorted(map(str, value.free_symbols))) or name
                problem = f"{spelled_size(formula)} is no number: {free} has none"
                raise TracingError(problem, expected="sizes that have numbers")
            values[name] = int(value)
        return values

    def open_names(self, size: Formula) -> set[str]:
        """The names in a size that have no numbers while the function runs."""
        return {*names(size)} - self.fixed.keys() - self.numbers.keys() - self.derived.keys()

    def _leaf(self, text: str, path: tuple[str, ...]) -> str:
        """The name of an array: the end of its path, or all of it where that is taken."""
        short = next((part for part in reversed(path) if not part.isdigit()), path[-1])
        name = short if short not in self.types and not short.isdigit() else "_".join(path)
        self.types[name] = Type.read(name, text)
        return name

    def _scales(self, every: Iterable[Formula]) -> Mapping[str, int]:
        """What names are multiples of, where a size is a part of them: 4 for D/4."""
        scales: dict[str, int] = {}
        for size in every:
            below = expression(size).as_numer_denom()[1]
            if not below.is_Integer:
                raise TracingError(f"a size over {below} need not be whole", expected="sizes such as B, N*H, D/4")
            scales |= {name: int(ilcm(scales.get(name, 1), below)) for name in names(size)}
        return {name: scale for name, scale in scales.items() if scale > 1}

    def value(self, size: Formula) -> Expr:
        """A size with the numbers of those that are fixed."""
        return expression(size, {name: rational(number) for name, number in self.fixed.items()}).expand()

    def dims(self, of: Type, numbers: Mapping[str, int]) -> list[str]:
        """The sizes of an argument as JAX reads them, with numbers for some names."""
        scaled = {symbol(n): scale * symbol(n) for n, scale in self.scales.items()}
        put = scaled | {symbol(n): number for n, number in numbers.items()}
        every = (self.value(size).subs(put, simultaneous=True).expand() for size in of.dims)
        return [str(size).replace("**", "^") for size in every]

    def mesh(self, axes_of_trace: Mapping[str, int | None]) -> Mapping[str, int | None]:
        """The axes of a mesh: those that are said, else the letters that split arguments."""
        words = dict.fromkeys(word for kind in self.types.values() for word in kind.axes if word)
        axes = axes_of_trace or dict.fromkeys("".join(words))
        unknown = next((word for word in words if not split_word(word, (*axes,))), None)
        if unknown is not None:
            raise TracingError(f"the mesh has no axis {unknown}", expected=f"axes of {', '.join(axes)}")
        return axes

    def dimensions(self, name: str, sizes: Sizes, mesh: Iterable[str]) -> tuple[Dim, ...]:
        of, names = self.types[name], tuple(mesh)
        axes = (split_word(word, names)[0] if word else () for word in of.axes)
        return tuple(map(Dim, sizes.labels(map(self.value, of.dims), of.dims), axes))

    def shapes_at(self, numbers: Mapping[str, int]) -> str:
        """The shapes at numbers, as errors say them."""
        return ", ".join(f"{name} of ({', '.join(self.dims(kind, numbers))})" for name, kind in self.types.items())

    @property
    def leaves(self) -> tuple[str, ...]:
        """The names of the arrays, in the order in which trees have them: dictionaries by their keys."""

        def names_in(tree: Tree[str]) -> Iterable[str]:
            if isinstance(tree, str):
                return [tree]
            parts = [tree[key] for key in sorted(tree)] if isinstance(tree, Mapping) else tree
            return chain(*map(names_in, parts))

        return tuple(chain(*map(names_in, self.tree.values())))

    def fill(self, arrays: Mapping[str, T]) -> list[Tree[T]]:
        """The arguments, with arrays at the places of their names."""
        return [map_tree(part, lambda name, _: arrays[name]) for part in self.tree.values()]

    def by_place(self, function: Function) -> Function:
        """A function that takes all of these by place: what stands behind one that is left out is given by name."""
        if not self.keywords:
            return function

        def called(*values: object) -> object:
            pairs = list(zip(self.tree, values, strict=True))
            named = {name: value for name, value in pairs if name in self.keywords}
            return function(*(value for name, value in pairs if name not in self.keywords), **named)

        return called


def map_tree(tree: Tree[str], change: Callable[[str, tuple[str, ...]], T], path: tuple[str, ...] = ()) -> Tree[T]:
    """A tree with other leaves, each by what it was and where."""
    if isinstance(tree, str):
        return change(tree, path)
    if isinstance(tree, Mapping):
        return {key: map_tree(part, change, (*path, str(key))) for key, part in tree.items()}
    return [map_tree(part, change, (*path, str(i))) for i, part in enumerate(tree)]


def _parameters(function: Function, of_torch: bool, init: str) -> Sequence[inspect.Parameter] | None:
    """The parameters of a function; those of a module are those of its forward. None where they are not known."""
    forward = getattr(function, "forward", None) if of_torch else None
    if of_torch and forward is None and init:
        return None  # what makes a module says nothing of its forward
    try:
        parameters = list(inspect.signature(forward or function).parameters.values())
    except (TypeError, ValueError):
        return None
    parameters = parameters[1:] if isinstance(function, type) else parameters  # without the module itself
    return None if any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters) else parameters


def _in_order(parameters: Sequence[inspect.Parameter], shapes: Shapes) -> Shapes:
    """The shapes in the order of the parameters."""
    for name in shapes:
        require_one_of(name, [own.name for own in parameters], f"the function has no parameter {name!r}")
    for own in parameters:
        if own.name not in shapes and own.default is own.empty and own.kind is not own.VAR_KEYWORD:
            raise TracingError(f"there is no shape for {own.name}", expected=f"--shape {own.name}=bf16[B, D]")
    return {own.name: shapes[own.name] for own in parameters if own.name in shapes}


def _keywords(parameters: Sequence[inspect.Parameter], shapes: Shapes) -> frozenset[str]:
    """The arguments that are given by name: what has to be, and what stands behind one that is left out."""
    left_out = next((i for i, own in enumerate(parameters) if own.name not in shapes), len(parameters))
    named = (own.name for i, own in enumerate(parameters) if i >= left_out or own.kind is own.KEYWORD_ONLY)
    return frozenset(name for name in named if name in shapes)
