"""Functions of JAX, and modules of PyTorch, as programs: traced at three assignments of numbers to the names of their
sizes, written, read, and checked at a fourth."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from math import prod
from typing import Any

from symroof.errors import require_one_of
from symroof.formula import Formula
from symroof.model.dtype import dtype
from symroof.model.kernels import costs_of
from symroof.model.program import Program
from symroof.reading.expressions import read_expression
from symroof.reading.programs import read_program
from symroof.reading.scope import Scope
from symroof.symbols import symbol
from symroof.tracing.fx_graphs import counted, exported, is_of_torch
from symroof.tracing.jaxprs import traced
from symroof.tracing.program_lines import Known
from symroof.tracing.program_writer import Writer
from symroof.tracing.repeating import unrepeated
from symroof.tracing.size_names import SMALL, SizeNames, assignments, value_of
from symroof.tracing.traced import Arguments, Array, Equation, Frame, Loop, Made, Trace, TracingError, operands_in

SHAPE = re.compile(r"\s*(?:(input|weight|cache)\s+)?([\w]+)\s*\[(.*)\]\s*", re.DOTALL)
AXES = re.compile(r"(?<=[A-Za-z0-9)])_([A-Z]+)$")
NUMPY = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32", "fp64": "float64", "fp8": "float8_e4m3fn"}


def written(
    function: Callable[..., Any],
    shapes: Mapping[str, Any],
    *,
    weights: Iterable[str] = (),
    functions: Mapping[str, str] | None = None,
    fuse: Iterable[str] = (),
    opened: Iterable[str] = (),
    init: str = "",
    names: Mapping[str, str | int] | None = None,
) -> str:
    """The text of the program that a function of arrays of these shapes computes. Raises
    :class:`~symroof.tracing.traced.TracingError` for what no statement says, with its line."""
    of_torch = bool(init) or is_of_torch(function)
    parameters = _parameters(function, of_torch, init)
    shapes = shapes if parameters is None else _in_order(parameters, shapes)
    types = dict(_flat(shapes))
    tree = _tree(shapes, types)
    read = {name: _read(name, text) for name, text in types.items()}
    fixed = {n: size for _, _, dims, own in read.values() for n, size in own.items()}
    built = [_formula(part) for part in init.split(",")] if init else []
    sizes = [formula for _, _, dims, _ in read.values() for formula in dims] + built
    constants = {name: int(n) for name, n in (names or {}).items() if str(n).isdigit()}
    derived = {name: _formula(str(n)) for name, n in (names or {}).items() if name not in constants}
    there = constants | {name: int(value_of(formula, constants)) for name, formula in derived.items()}
    drawn = assignments(sizes, {**fixed, **there}, 5, *(SMALL if of_torch else ()))
    *given, fourth = ({**there, **one} for one in islice(drawn, 4))
    sized = SizeNames(given, fixed, constants=constants)
    for name, formula in derived.items():
        sized.define(name, formula)
    weights = [name.rpartition(".")[2] if name not in read else name for name in weights]
    for name in weights:
        if name not in read:
            raise TracingError(f"{name} is no argument", expected=f"one of {', '.join(read)}")
    roles = {name: role or ("weight" if name in {*weights} else "input") for name, (role, *_) in read.items()}
    declared = {
        name: (dtype(kind).name, _labels(sized, map(sized.named, dims))) for name, (_, kind, dims, _) in read.items()
    }
    worth = [{size: int(value_of(size, one)) for size in dict.fromkeys(sizes)} for one in (*given, fourth)]
    numbers = {name: [[one[dim] for dim in dims] for one in worth] for name, (_, _, dims, _) in read.items()}
    dtypes = {name: NUMPY.get(dtype(kind).name, dtype(kind).name) for name, (_, kind, _, _) in read.items()}
    made_with = [[one[formula] for formula in built] for one in worth]
    asked = Arguments(numbers, dtypes, tree, _keywords(parameters or (), shapes), made_with)
    first, last = asked.at(slice(None, -1)), asked.at(slice(-1, None))
    if of_torch:
        found = exported(function, first)
        trace = found.trace
        for name in (name for name in trace.arguments if name not in declared):
            array = trace.arguments[name]
            roles[name] = "weight" if name in found.weights else "input"
            declared[name] = dtype(array.dtype).name, _labels(sized, (sized.of(n, name) for n in array.shape))
    else:
        trace = traced(function, first)
    known = Known(dict(functions or {}), tuple(fuse), tuple(opened))
    for said in (*known.functions, *known.fuses, *known.opened):
        if not any(_is_call(frame, said) for frame in _frames(trace.body)):
            raise TracingError(
                f"there is no call of {said}", expected="FILE:NAME, or the name of a function that is called"
            )
    trace = unrepeated(trace)
    writer = Writer(sized, known, roles, declared)
    text = writer.text(trace)
    counts = counted(function, last) if of_torch else _counted(traced(function, last))
    _require_same(text, counts, sized.with_shorter(fourth), writer.returned)
    _require_parameters(text, trace, roles, sized.with_shorter(given[0]))
    return sized.said + text


def _formula(text: str) -> Formula:
    """A size as it is written."""
    words = re.findall(r"[^\W\d]\w*", text)
    return read_expression(text.strip(), Scope(tuple(dict.fromkeys(words)), open=True))


def _is_call(frame: Frame, said: str) -> bool:
    file, _, function = said.rpartition(":")
    return frame.function == function and frame.file.endswith(file)


def _frames(body: Iterable[Made]) -> Iterable[Frame]:
    """The calls that something in a trace was made in."""
    for made in body:
        if isinstance(made, Equation):
            yield from made.frames
        else:
            yield from _frames(made.body)


def _parameters(function: Callable[..., Any], of_torch: bool, init: str) -> Sequence[inspect.Parameter] | None:
    """The parameters of a function; those of a module are those of its forward. None where they are not known."""
    forward = getattr(function, "forward", None) if of_torch else None
    if of_torch and forward is None and init:
        return None  # what makes a module says nothing of its forward
    try:
        parameters = list(inspect.signature(forward or function).parameters.values())
    except (TypeError, ValueError):
        return None
    parameters = parameters[1:] if isinstance(function, type) else parameters  # without the module itself
    return None if any(one.kind is one.VAR_POSITIONAL for one in parameters) else parameters


def _in_order(parameters: Sequence[inspect.Parameter], shapes: Mapping[str, Any]) -> Mapping[str, Any]:
    """The shapes in the order of the parameters."""
    for name in shapes:
        require_one_of(name, [one.name for one in parameters], f"the function has no parameter {name!r}")
    for one in parameters:
        if one.name not in shapes and one.default is one.empty and one.kind is not one.VAR_KEYWORD:
            raise TracingError(f"there is no shape for {one.name}", expected=f"--shape {one.name}=bf16[B, D]")
    return {one.name: shapes[one.name] for one in parameters if one.name in shapes}


def _keywords(parameters: Sequence[inspect.Parameter], shapes: Mapping[str, Any]) -> frozenset[str]:
    """The arguments that are given by name: what has to be, and what stands behind one that is left out."""
    left_out = next((i for i, one in enumerate(parameters) if one.name not in shapes), len(parameters))
    named = (one.name for i, one in enumerate(parameters) if i >= left_out or one.kind is one.KEYWORD_ONLY)
    return frozenset(name for name in named if name in shapes)


def _flat(shapes: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    """The arrays of arguments by name: a leaf of a tree by the end of its path, or all of it where that is taken."""
    found: dict[str, str] = {}
    for path, text in _leaves(shapes):
        short = next((part for part in reversed(path) if not part.isdigit()), path[-1])
        name = short if short not in found and not short.isdigit() else "_".join(path)
        found[name] = text
    return found.items()


def _leaves(shapes: Any, path: tuple[str, ...] = ()) -> Iterable[tuple[tuple[str, ...], str]]:
    if isinstance(shapes, str):
        yield path, shapes
    elif isinstance(shapes, Mapping):
        for key, part in shapes.items():
            yield from _leaves(part, (*path, str(key)))
    else:
        for i, part in enumerate(shapes):
            yield from _leaves(part, (*path, str(i)))


def _tree(shapes: Mapping[str, Any], types: Mapping[str, str]) -> Any:
    names = iter(types)

    def named(part: Any) -> Any:
        if isinstance(part, str):
            return next(names)
        if isinstance(part, Mapping):
            return {key: named(one) for key, one in part.items()}
        return [named(one) for one in part]

    return named(shapes)


def _read(name: str, text: str) -> tuple[str, str, tuple[Formula, ...], dict[str, int]]:
    """The role, the type, the sizes of an array, and those that are fixed: weight bf16[D, N*H], bf16[B, T, H=128]."""
    match = SHAPE.fullmatch(text)
    if match is None:
        raise TracingError(f"{name}: {text!r} is no shape", expected="a type such as bf16[B, D], or weight bf16[D, F]")
    fixed: dict[str, int] = {}
    dims = []
    for part in filter(None, (part.strip() for part in match.group(3).split(","))):
        left, equals, right = (word.strip() for word in part.partition("="))
        if AXES.search(left):
            problem = f"{name}: {part!r} is split over a mesh"
            raise TracingError(problem, expected="whole arrays; the program that is written may be split")
        if equals:
            if not right.isdigit() or not left.isidentifier():
                raise TracingError(f"{name}: {part!r} is no size", expected="a name, a number, or both: H=128")
            fixed[left] = int(right)
        dims.append(_formula(left))
    return match.group(1) or "", match.group(2), tuple(dims), fixed


def _labels(sizes: SizeNames, labels: Iterable[str]) -> tuple[str, ...]:
    """The labels of an array: one size twice has two names."""
    found: list[str] = []
    for label in labels:
        found.append(sizes.another(sizes.root(label), found) if label in found else label)
    return tuple(found)


def _counted(trace: Trace) -> tuple[int, tuple[int, ...]]:
    """The FLOPs of the products of a trace, and the elements of each result."""
    arguments = {array.key for array in trace.arguments.values()}
    results = {array.key: prod(n[0] for n in array.shape) for array in trace.results if array.key not in arguments}
    return _multiplied(trace.body), tuple(results.values())


def _require_same(
    text: str, counts: tuple[int, tuple[int, ...]], sizes: Mapping[str, int], returned: Sequence[str]
) -> None:
    """The products of the program, masks in full, are those of the function at numbers that it was not made from, and so is what is
    returned."""
    program = read_program(re.sub(r" masked \w+ <= \w+ from the first", "", text))
    put = {symbol(name): size for name, size in sizes.items()}
    found = sum(cost.flops for cost in costs_of(program).values())
    flops = int(program.resolved(found).subs(put)) if found != 0 and not program.vector else 0
    if flops != counts[0]:
        raise TracingError(f"the program that was written has {flops} FLOPs at {sizes}, and the function {counts[0]}")
    made = {str(tensor.name): int(program.resolved(tensor.elements).subs(put)) for tensor in program.results}
    left = {name for line in program.forward for repeat in line.repeats for name in repeat.leaves} - {*returned}
    made = {name: n for name, n in made.items() if name not in left}  # what is carried and not returned
    named = program.line is not None or {*made} == {*returned}
    if not named or not {*made.values()} <= {*counts[1]}:
        shown = f"the program returns {', '.join(map(str, program.results))}, and the function something else"
        raise TracingError(shown, expected="what the function returns")


def _require_parameters(text: str, trace: Trace, roles: Mapping[str, str], sizes: Mapping[str, int]) -> None:
    """The weights of the program have as many elements as those that the function uses."""
    program = read_program(text)
    put = {symbol(name): size for name, size in sizes.items()}
    used = {array.key for array in (*operands_in(trace.body), *trace.results)}
    weights = (a for name, a in trace.arguments.items() if roles[name] != "input" and a.key in used)
    wanted = sum(prod(n[0] for n in array.shape) for array in weights)
    stocks = (program.stock("weight") + program.stock("cache")) if program.line is None else 0
    found = int(program.resolved(stocks).subs(put)) if stocks != 0 else 0
    if found != wanted:
        raise TracingError(
            f"the program that was written has {found} parameters, and the function {wanted}",
            expected="each of them once: is one weight used in some turns of a loop alone?",
        )


def _multiplied(body: Sequence[Made], turns: int = 1) -> int:
    """The FLOPs of the products in a trace."""
    found = 0
    for made in body:
        if isinstance(made, Loop):
            found += _multiplied(made.body, turns * made.times[0])
        elif not isinstance(made, Equation):
            found += _multiplied(made.body, turns)
        elif made.primitive == "dot_general":
            (left, _), _ = made.params["dimension_numbers"]
            length = prod(o.shape[i][0] for o in made.operands[:1] if isinstance(o, Array) for i in left)
            found += 2 * turns * length * prod(n[0] for n in made.results[0].shape) if left else 0
        elif made.primitive == "conv_general_dilated":
            (_, filters), spec = (
                (o.shape for o in made.operands if isinstance(o, Array)),
                made.params["dimension_numbers"].rhs_spec,
            )
            window = prod(filters[i][0] for i in spec[1:])
            found += 2 * turns * window * prod(n[0] for n in made.results[0].shape)
    return found


def trace(
    function: Callable[..., Any],
    /,
    *,
    functions: Mapping[str, str] | None = None,
    fuse: Iterable[str] = (),
    opened: Iterable[str] = (),
    init: str = "",
    names: Mapping[str, str | int] | None = None,
    **shapes: Any,
) -> Program:
    """The program that a function of JAX, or a module of PyTorch, computes: traced with numbers for the names in the
    shapes of its arguments, and written with the names. ``x="bf16[B, D]"`` is an input, ``W="weight bf16[D, F]"`` a
    weight; trees of arguments are trees of shapes. ``functions`` says what functions or classes of yours are, FILE:NAME
    or NAME with one of the table; ``fuse`` names functions whose inside stays on the chip, ``opened`` known ones that
    are looked into.
    ``init="D, 4*D"`` are the sizes that a class, or a function that makes a module, is called with; ``names={"D": 512,
    "H": "D/8"}`` what the numbers of a module are called that is there. Raises :class:`~symroof.errors.SymroofError`
    for what no statement says, with its line; needs ``symroof[jax]`` or ``symroof[torch]``.
    """
    text = written(function, shapes, functions=functions, fuse=fuse, opened=opened, init=init, names=names)
    return read_program(text)
