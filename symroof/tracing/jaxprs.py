"""The only door to JAX: a function is traced at several assignments of numbers to the names of its sizes, and what comes out has to
be alike. Calls are opened; what a call of the library is, its frames say."""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import count
from pathlib import Path
from types import CodeType
from typing import Any

from symroof.tracing.traced import (
    Again,
    Arguments,
    Array,
    Constant,
    Equation,
    Frame,
    Loop,
    Made,
    Trace,
    TracingError,
    differing,
    lived,
)

# Primitives that call a function, and the parameter that has it.
CALLS = ("jaxpr", "call_jaxpr", "fun_jaxpr")
CALLED = {
    "jit",
    "pjit",
    "closed_call",
    "core_call",
    "custom_jvp_call",
    "custom_vjp_call",
    "custom_vjp_call_jaxpr",
    "custom_lin",
}
REMADE = {"remat2", "checkpoint", "remat"}
# What programs do not say, and what they do instead.
REFUSED = {
    "while": ("a while has no number of turns that is known", "lax.scan"),
    "cond": ("a cond has branches", "one of them"),
    "shard_map": (
        "what chips do of their parts is not traced",
        "the function of whole arrays; the program that is written may be split",
    ),
}
# What of the parameters of an equation says what it does, where it is not a shape.
TOLD = (
    "dimension_numbers", "axes", "permutation", "broadcast_dimensions", "dimensions", "y", "new_dtype", "axis", "exact",
)  # fmt: skip


def traced(function: Callable[..., Any], asked: Arguments) -> Trace:
    """The trace of a function of arrays, at several assignments. Raises :class:`TracingError` where JAX cannot be had,
    or where the assignments differ in more than numbers."""
    try:
        import jax
    except ImportError:
        problem = "tracing needs JAX, which is not installed here"
        raise TracingError(problem, expected="pip install 'symroof[jax]'") from None
    wide: Any = getattr(jax if hasattr(jax, "enable_x64") else jax.experimental, "enable_x64")  # noqa: B009 (typed in some versions)
    called, made = _by_place(function, tuple(asked.tree), asked.keywords), []
    for each in range(asked.assignments):
        structs = {
            name: jax.ShapeDtypeStruct(tuple(shape[each]), jax.numpy.dtype(asked.dtypes[name]))
            for name, shape in asked.shapes.items()
        }
        try:
            with wide(bool({"float64", "int64"} & {*asked.dtypes.values()})):
                made.append(jax.make_jaxpr(called)(*asked.filled(structs).values()))
        except Exception as error:
            shown = f"{_raised(error)}the function fails with {asked.shown(each)}: {error}"
            raise TracingError(shown.partition("\n")[0]) from error
    order = jax.tree_util.tree_leaves(list(asked.tree.values()))
    return _Reader(len(made), function).trace([one.jaxpr for one in made], order, asked.dtypes)


def _by_place(function: Callable[..., Any], names: Sequence[str], keywords: frozenset[str]) -> Callable[..., Any]:
    """A function that takes all of these arguments by place: what stands behind one that is left out is given by name."""
    if not keywords:
        return function

    def called(*values: Any) -> Any:
        pairs = list(zip(names, values, strict=True))
        named = {name: value for name, value in pairs if name in keywords}
        return function(*(value for name, value in pairs if name not in keywords), **named)

    return called


class _Reader:
    """Several jaxprs read side by side."""

    def __init__(self, assignments: int, function: Callable[..., Any]) -> None:
        self.assignments, self.keys = assignments, count()
        self.code = getattr(getattr(function, "__wrapped__", function), "__code__", None)

    def trace(self, jaxprs: Sequence[Any], names: Sequence[str], dtypes: Mapping[str, str]) -> Trace:
        known: dict[int, Array | Constant] = {}
        arguments = {}
        for name, each in zip(names, zip(*(jaxpr.invars for jaxpr in jaxprs), strict=True), strict=True):
            arguments[name] = self._new(each, known)
        for each in zip(*(jaxpr.constvars for jaxpr in jaxprs), strict=True):
            known[id(each[0])] = Constant()
        body = tuple(self._equations(jaxprs, known, ()))
        results = tuple(self._value(each, known) for each in zip(*(jaxpr.outvars for jaxpr in jaxprs), strict=True))
        made = tuple(one for one in results if isinstance(one, Array))
        return Trace(arguments, lived(body, {one.key for one in made}), made)

    def _new(self, each: Sequence[Any], known: dict[int, Array | Constant]) -> Array:
        if len({len(var.aval.shape) for var in each}) > 1:
            raise TracingError(
                "what is computed depends on the sizes", expected="as many dimensions whatever the sizes are"
            )
        shapes = tuple(zip(*(tuple(map(int, var.aval.shape)) for var in each), strict=True))
        array = Array(next(self.keys), shapes, str(each[0].aval.dtype))
        known[id(each[0])] = array
        return array

    def _value(self, each: Sequence[Any], known: Mapping[int, Array | Constant]) -> Array | Constant:
        if hasattr(each[0], "val"):
            scalars = [getattr(one.val, "item", lambda one=one: one.val) for one in each]
            single = all(getattr(one.val, "size", 1) == 1 for one in each)
            return Constant(tuple(float(scalar()) for scalar in scalars) if single else None, single)
        return known[id(each[0])]

    def _equations(
        self, jaxprs: Sequence[Any], known: dict[int, Array | Constant], around: tuple[Frame, ...]
    ) -> Iterator[Made]:
        if len({len(jaxpr.eqns) for jaxpr in jaxprs}) > 1:
            raise self._differs(jaxprs[0].eqns[0] if jaxprs[0].eqns else None, around)
        for each in zip(*(jaxpr.eqns for jaxpr in jaxprs), strict=True):
            first = each[0]
            name, frames = first.primitive.name, (*self._frames(first), *around)
            if any(one.primitive.name != name for one in each):
                raise self._differs(first, around)
            operands = tuple(self._value(vs, known) for vs in zip(*(one.invars for one in each), strict=True))
            inner = next((key for key in CALLS if key in first.params), None)
            if inner is not None and name in CALLED | REMADE:
                bodies = [getattr(one.params[inner], "jaxpr", one.params[inner]) for one in each]
                own = _bound(bodies, operands)
                found = tuple(self._equations(bodies, own, frames))
                yield from ((Again(found),) if name in REMADE else found)
                for var, vs in zip(first.outvars, zip(*(body.outvars for body in bodies), strict=True), strict=True):
                    known[id(var)] = self._value(vs, own)
            elif name == "scan":
                yield self._scan(each, operands, known, frames)
            elif name in REFUSED:
                shown, expected = REFUSED[name]
                raise TracingError(f"{_at(frames)}: {shown}", expected=expected)
            else:
                results = tuple(self._new(vs, known) for vs in zip(*(one.outvars for one in each), strict=True))
                told = [{key: str(one.params[key]) for key in TOLD if key in one.params} for one in each]
                if name not in ("reshape", "broadcast_in_dim") and any(one != told[0] for one in told):
                    raise self._differs(first, around)
                yield Equation(name, operands, results, _params(each), frames, _goes_back(first))

    def _scan(
        self,
        each: Sequence[Any],
        operands: Sequence[Array | Constant],
        known: dict[int, Array | Constant],
        frames: tuple[Frame, ...],
    ) -> Loop:
        first = each[0].params
        constants, carries = first["num_consts"], first["num_carry"]
        bodies = [one.params["jaxpr"].jaxpr for one in each]
        own = _bound(bodies, operands)
        entering, scanned = [], []
        for i, vs in enumerate(zip(*(body.invars for body in bodies), strict=True)):
            if constants <= i < constants + carries:
                entering.append(self._new(vs, own))
            elif i >= constants + carries:
                scanned.append((operands[i], self._new(vs, own)))
        found = tuple(self._equations(bodies, own, frames))
        leaving = [self._value(vs, own) for vs in zip(*(body.outvars for body in bodies), strict=True)]
        results = [self._new(vs, known) for vs in zip(*(one.outvars for one in each), strict=True)]
        return Loop(
            tuple(int(one.params["length"]) for one in each),
            tuple(operands[constants : constants + carries]),
            tuple(entering),
            tuple(leaving[:carries]),
            tuple(results[:carries]),
            tuple(scanned),
            tuple(leaving[carries:]),
            tuple(results[carries:]),
            found,
            frames,
            bool(first["reverse"]),
        )

    def _frames(self, equation: Any) -> tuple[Frame, ...]:
        traceback = equation.source_info.traceback
        codes, places = traceback.raw_frames() if traceback is not None else ((), ())
        found: list[Frame] = []
        for code, place in zip(codes, places, strict=True):
            found.append(_frame(code, place))
            if code is self.code:
                break
        else:
            return tuple(frame for frame in found if not of_library(frame.file) or "/nn/" in frame.file)
        return tuple(found)

    def _differs(self, equation: Any, around: tuple[Frame, ...]) -> TracingError:
        return differing(_at((*(self._frames(equation) if equation is not None else ()), *around)))


def _bound(bodies: Sequence[Any], operands: Sequence[Array | Constant]) -> dict[int, Array | Constant]:
    """What the arguments and constants of a body are inside of it."""
    own: dict[int, Array | Constant] = {id(var): Constant() for var in bodies[0].constvars}
    return own | {id(var): value for var, value in zip(bodies[0].invars, operands, strict=True)}


def _params(each: Sequence[Any]) -> dict[str, Any]:
    """The parameters of an equation; where a slice starts at each assignment of sizes."""
    params = dict(each[0].params)
    if each[0].primitive.name == "slice":
        params["starts"] = tuple(tuple(map(int, one.params["start_indices"])) for one in each)
    return params


def _goes_back(equation: Any) -> bool:
    """Whether an equation is the transpose of what stands in its line."""
    return "transpose(" in str(equation.source_info.name_stack)


@lru_cache(maxsize=65536)
def _frame(code: CodeType, place: int) -> Frame:
    """A call, from the code that it is in and its place there."""
    return Frame(code.co_filename, code.co_name, _line(code, place), place)


def _raised(error: BaseException) -> str:
    """Where in the user's code an error was raised."""
    found, traceback = "", error.__traceback__
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if not of_library(code.co_filename):
            found = f"{code.co_filename.rsplit('/', 1)[-1]}:{traceback.tb_lineno}: "
        traceback = traceback.tb_next
    return found


def _line(code: CodeType, place: int) -> int:
    found = code.co_firstlineno
    for start, end, line in code.co_lines():
        if start <= place < end and line is not None:
            found = line
    return found


@lru_cache(maxsize=4096)
def of_library(file: str) -> bool:
    """Whether a file is JAX's, another library's, Python's own, or of this room."""
    own = sys.modules.get("jax")
    places = [str(Path(own.__file__).parent)] if own is not None and own.__file__ else []
    installed = (sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib"))
    return file.startswith(("<", *places, *installed)) or "/symroof/tracing/" in file


def _at(frames: Sequence[Frame]) -> str:
    """Where in the user's code something stands."""
    return str(
        next((frame for frame in frames if not of_library(frame.file)), frames[-1] if frames else "the function")
    )


def user_frame(frames: Sequence[Frame]) -> Frame | None:
    """The innermost call of the user's own."""
    return next((frame for frame in frames if not of_library(frame.file)), None)
