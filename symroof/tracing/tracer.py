"""Functions of JAX, and modules of PyTorch, as programs: traced on symbolic shapes, lowered, printed, and counted again."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from sympy import Expr, Integer

from symroof.errors import SymroofError, quote
from symroof.formula import Frozen
from symroof.model.kernels import costs_of
from symroof.model.placement import placements
from symroof.model.program import Program
from symroof.model.program_tree import Node, Statement
from symroof.model.tensor_types import Dim
from symroof.model.transforms import split_over
from symroof.reading.meshes import meshed
from symroof.reading.programs import read_program
from symroof.symbols import symbol
from symroof.tracing.fx_graphs import GraphReader, ModuleRun, is_of_torch
from symroof.tracing.jaxprs import dot_flops, jaxpr_of, trace_jaxpr
from symroof.tracing.lowering import Lowering
from symroof.tracing.signatures import Shapes, Signature, Tree
from symroof.tracing.size_names import Sizes, distinct_numbers
from symroof.tracing.traces import Function, KnownCalls, Trace, TracingError, operands_in

# How lines of a program start: a statement, a declaration, turns.
START = re.compile(r"\s*(?:(\w+ = )|[a-z ]+( \w+: )|(?:scan|repeat) .*?( as \w+ = ))")


def program_text(
    function: Function,
    shapes: Shapes,
    *,
    weights: Iterable[str] = (),
    functions: Mapping[str, str] | None = None,
    fuse: Iterable[str] = (),
    opened: Iterable[str] = (),
    init: str = "",
    names: Mapping[str, str | int] | None = None,
) -> str:
    """The text of the program that a function of arrays of these shapes computes. Raises
    :class:`~symroof.tracing.traces.TracingError` for what no statement says, with its line."""
    of_torch = bool(init) or is_of_torch(function)
    signature = Signature(function, shapes, of_torch, init, names)
    counted = _of_torch(function, signature) if of_torch else _of_jax(function, signature)
    trace, sizes = counted.trace, counted.sizes
    roles = _roles(signature, trace, weights)
    mesh = signature.mesh(trace.mesh)
    sizes.free = (*sizes.free, *mesh)
    dims = {name: signature.dimensions(name, sizes, mesh) for name in signature.types}
    dims |= {n: tuple(map(Dim, sizes.labels(a.shape))) for n, a in trace.arguments.items() if n not in dims}
    calls = KnownCalls(dict(functions or {}), tuple(fuse), tuple(opened))
    if (missing := calls.missing_call(trace.body)) is not None:
        expected = "FILE:NAME, or the name of a function that is called"
        raise TracingError(f"there is no call of {missing}", expected=expected)
    program, places = Lowering(replace(trace, mesh=mesh), sizes, calls, roles, dims).program()
    used = {array.key for array in operands_in(trace.body)}
    notes = [*counted.notes, *(f"{name} is not used" for name in dims if trace.arguments[name].key not in used)]
    text = "".join(f"# {note}\n" for note in notes) + with_comments(program, places)
    program = split_over(replace(_placed(text, places), mesh=()), lambda _: ())
    _require_counts(program, counted, roles)
    _require_results(program, trace, sizes)
    return text


def _roles(signature: Signature, trace: Trace, weights: Iterable[str]) -> dict[str, str]:
    """What each argument is: a weight by its type, by the list of ``weights``, or as a parameter of a module; else an input."""
    types = signature.types
    listed = {name if name in types else name.rpartition(".")[2] for name in weights}
    for name in sorted(listed - types.keys()):
        raise TracingError(f"{name} is no argument", expected=f"one of {', '.join(types)}")
    roles = {name: "weight" if name in {*trace.weights, *listed} else "input" for name in (*trace.arguments, *types)}
    return roles | {name: kind.role for name, kind in types.items() if kind.role}


class CountedTrace(Frozen):
    """A trace with the FLOPs of its products, counted apart: where they are a number, they are those ``at`` numbers of
    sizes. ``notes`` are what numbers the names of sizes stood for while the code ran, and why."""

    trace: Trace
    sizes: Sizes
    flops: Expr
    at: Mapping[str, int]
    notes: tuple[str, ...]


def _of_jax(function: Function, signature: Signature) -> CountedTrace:
    jaxpr = jaxpr_of(function, signature)
    sizes = Sizes(signature.free, signature.numbers, signature.scales)
    each = ", ".join(f"{name} = {number}" for name, number in signature.numbers.items())
    notes = (f"traced at {each}: {signature.reason or 'the function'} asks for the number",) if each else ()
    return CountedTrace(trace_jaxpr(function, signature, jaxpr, sizes), sizes, dot_flops(jaxpr, sizes), {}, notes)


def _of_torch(function: Function, signature: Signature) -> CountedTrace:
    sizes = Sizes(signature.free, signature.numbers, signature.scales, sampled=not signature.constants)
    for name, formula in signature.derived.items():
        sizes.define(name, formula)
    reader = GraphReader(ModuleRun(function, signature, signature.samples), sizes)
    trace, stuck = reader.trace(), {name: n for name, n in sizes.numbers.items() if name not in signature.numbers}
    at = signature.at_numbers(distinct_numbers(signature.free, 7) | stuck)
    notes = [
        ", ".join(f"{name} = {n}" for name, n in signature.constants.items()) + " in the module that was traced"
    ] * bool(signature.constants)
    notes += [f"traced at {name} = {number}: the code asks for the number" for name, number in stuck.items()]
    notes += [f"traced where {bound}" for bound in reader.bounds]
    return CountedTrace(trace, sizes, Integer(ModuleRun(function, signature, at).counted()), at, tuple(notes))


def with_comments(program: Program, places: Mapping[str, str]) -> str:
    """The program as it is printed, with what is said of its lines beside them, by how they start."""
    lines = []
    for line in str(program).split("\n"):
        start = START.match(line)
        place = places.get(next(filter(None, start.groups())), "") if start is not None else ""
        lines.append(f"{line}  # {place}" if place else line)
    return "\n".join(lines) + "\n"


def _placed(text: str, places: Mapping[str, str]) -> Program:
    """The program of a text, of each statement of which the rules of meshes say who computes what, and what is exchanged."""
    try:
        program = read_program(text)
        placements(meshed(program, {})[0])
    except SymroofError as error:
        line = quote(error.source, error.span)[0] if error.source and error.span else ""
        where = places.get(f"{line.strip().partition(' = ')[0]} = ")
        if where:
            error.problem = f"{where}: {error.problem}"
            error.hint = error.hint or "jax.lax.with_sharding_constraint in the code says how it is split"
        raise
    return program


def _require_counts(program: Program, counted: CountedTrace, roles: Mapping[str, str]) -> None:
    """The products of the program, masks in full, are those of the function, and so are its weights: each counted apart, as
    polynomials."""

    def unmasked(node: Node) -> Node:
        if isinstance(node, Statement):
            return replace(node, mask=None)
        return replace(node, body=tuple(map(unmasked, node.body)))

    trace, sizes, at = counted.trace, counted.sizes, {symbol(name): n for name, n in counted.at.items()}
    full = program if program.line is not None else replace(program, body=tuple(map(unmasked, program.body)))
    total = sum((cost.flops for cost in costs_of(full).values()), Integer(0)) if not full.vector else Integer(0)
    counts = [("FLOPs", program.resolved(total).subs(at), counted.flops)]
    used = {array.key for array in (*operands_in(trace.body), *trace.results)}
    stocks = (array.elements for name, array in trace.arguments.items() if roles[name] != "input" and array.key in used)
    if program.line is None:
        counts.append(
            ("parameters", program.resolved(program.stock("weight") + program.stock("cache")), sum(stocks, Integer(0)))
        )
    for unit, own, theirs in counts:
        if (own - sizes.resolved(theirs)).expand() != 0:
            raise TracingError(
                f"the program that was written has {own.expand()} {unit}, and the function {sizes.resolved(theirs)}",
                expected="each of them once: is one weight used in some turns of a loop alone?",
            )


def _require_results(program: Program, trace: Trace, sizes: Sizes) -> None:
    """What the program returns has the sizes of what the function returns."""
    arguments = {array.key for array in trace.arguments.values()}
    expected = {sizes.resolved(array.elements) for array in trace.results if array.key not in arguments}
    left = {name for line in program.forward for repeat in line.repeats for name in repeat.leaves}
    results = {str(tensor.name): program.resolved(tensor.elements).expand() for tensor in program.results}
    last = {size for name, size in results.items() if name not in left}
    if not last <= expected or not expected <= {*results.values()}:
        shown = f"the program returns {', '.join(map(str, program.results))}, and the function something else"
        raise TracingError(shown, expected="what the function returns")


def trace(
    function: Function,
    /,
    *,
    functions: Mapping[str, str] | None = None,
    fuse: Iterable[str] = (),
    opened: Iterable[str] = (),
    init: str = "",
    names: Mapping[str, str | int] | None = None,
    **shapes: Tree[str],
) -> Program:
    """The program that a function of JAX, or a module of PyTorch, computes: traced on symbolic shapes, with the names of the
    sizes in it. ``x="bf16[B, D]"`` is an input, ``W="weight bf16[D, F]"`` a
    weight; trees of arguments are trees of shapes. ``functions`` says what functions or classes of yours are, FILE:NAME
    or NAME with one of the table; ``fuse`` names functions whose inside stays on the chip, ``opened`` known ones that
    are looked into.
    ``init="D, 4*D"`` are the sizes that a class, or a function that makes a module, is called with; ``names={"D": 512,
    "H": "D/8"}`` what the numbers of a module are called that is there. Raises :class:`~symroof.errors.SymroofError`
    for what no statement says, with its line; needs ``symroof[jax]`` or ``symroof[torch]``.
    """
    text = program_text(function, shapes, functions=functions, fuse=fuse, opened=opened, init=init, names=names)
    return read_program(text)
