"""The only door to PyTorch: a module, or a function of tensors, is exported at several assignments of numbers, and the graphs that come
out, side by side, are a trace. What they hold of ATen is said in :mod:`symroof.tracing.aten_equations`."""

from __future__ import annotations

import inspect
import logging
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from typing import Any

from symroof.formula import Frozen
from symroof.model.functions import FUNCTIONS
from symroof.reading.tensors import WORDS
from symroof.tracing.aten_arrays import Call
from symroof.tracing.aten_equations import AtenReader
from symroof.tracing.jaxprs import of_library
from symroof.tracing.traced import Arguments, Array, Constant, Frame, Trace, TracingError, differing, lived

FRAME = re.compile(r'File "(.*?)", line (\d+), in (\S+)')
# What the one parameter of a layer is called, at the end of its path.
PLAIN = "weight"
ROLES = ("inputs_to_parameters", "inputs_to_buffers")


class Exported(Frozen):
    """A trace, and which of its arguments are parameters of the module."""

    trace: Trace
    weights: tuple[str, ...]


def is_of_torch(function: Callable[..., Any]) -> bool:
    """Whether something is a module of PyTorch, or a function in a module that has PyTorch and no JAX."""
    torch = sys.modules.get("torch")
    if torch is None:
        return False
    if isinstance(function, torch.nn.Module) or (isinstance(function, type) and issubclass(function, torch.nn.Module)):
        return True
    scope = getattr(inspect.unwrap(function), "__globals__", {})
    roots = {str(getattr(one, "__name__", "")).partition(".")[0] for one in scope.values() if inspect.ismodule(one)}
    return "torch" in roots and "jax" not in roots


def exported(function: Callable[..., Any], asked: Arguments) -> Exported:
    """The trace of a module of tensors, or of what makes a module of numbers. Raises :class:`TracingError` where
    PyTorch cannot be had, or where the assignments differ in more than numbers."""
    programs = [_Run(function, asked, each).exported() for each in range(asked.assignments)]
    return _Graphs(programs, list(asked.shapes)).exported()


def counted(function: Callable[..., Any], asked: Arguments) -> tuple[int, tuple[int, ...]]:
    """What PyTorch itself counts: the FLOPs of the products, masks in full, and the elements of each result."""
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    run = _Run(function, asked, 0)
    counter = FlopCounterMode(display=False)
    with counter, torch.device("meta"), torch.no_grad():
        made = run.tried(lambda: run.module(*run.arguments, **run.keywords))
    results = [one for one in torch.utils._pytree.tree_leaves(made) if isinstance(one, torch.Tensor)]
    return int(counter.get_total_flops()), tuple(one.numel() for one in results)


def _on_meta(module: Any) -> Any:
    """The module without its numbers, and the given one as it was."""
    import copy

    import torch

    memo: dict[int, Any] = {
        id(p): torch.nn.Parameter(torch.empty_like(p, device="meta"), p.requires_grad) for p in module.parameters()
    }
    memo |= {id(b): torch.empty_like(b, device="meta") for b in module.buffers()}
    return copy.deepcopy(module, memo)


class _Run:
    """A module and its arguments at one assignment, without numbers in them."""

    def __init__(self, function: Callable[..., Any], asked: Arguments, each: int) -> None:
        try:
            import torch
        except ImportError:
            problem = "tracing a module needs PyTorch, which is not installed here"
            raise TracingError(problem, expected="pip install 'symroof[torch]'") from None
        self.shown = asked.shown(each)
        tensors = {
            name: torch.empty(tuple(shape[each]), dtype=getattr(torch, asked.dtypes[name]), device="meta")
            for name, shape in asked.shapes.items()
        }
        filled = asked.filled(tensors)
        self.arguments = tuple(value for name, value in filled.items() if name not in asked.keywords)
        self.keywords = {name: value for name, value in filled.items() if name in asked.keywords}
        floating = [tensor.dtype for tensor in tensors.values() if tensor.is_floating_point()]
        if isinstance(function, type) or asked.built[each]:
            with torch.device("meta"):
                module = self.tried(lambda: function(*asked.built[each]))
            if not isinstance(module, torch.nn.Module):
                raise TracingError(
                    "what is called with sizes makes no module", expected="a class, or a function that makes one"
                )
            self.module = module.eval().to(floating[0]) if floating else module.eval()
        elif isinstance(function, torch.nn.Module):
            self.module = _on_meta(function)
        else:
            self.module = _Function(function)

    def exported(self) -> Any:
        """The graph: with the calls of functions in it, where that can be had."""
        import torch

        def made(strict: bool) -> Any:
            with torch.device("meta"):
                found = torch.export.export(self.module, self.arguments, self.keywords, strict=strict)
            changed = (
                getattr(getattr(node.target, "_schema", None), "is_mutable", False) for node in found.graph.nodes
            )
            return found.run_decompositions({}) if any(changed) else found

        with suppress(Exception), _quietly():
            return made(True)
        return self.tried(lambda: made(False))

    def tried(self, made: Callable[[], Any]) -> Any:
        try:
            with _quietly():
                return made()
        except Exception as error:
            said = str(error).strip().partition("\n")[0]
            raise TracingError(f"the function fails with {self.shown}: {said}") from error


@contextmanager
def _quietly() -> Iterator[None]:
    """Without what PyTorch says beside: what matters is raised."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


def _Function(function: Callable[..., Any]) -> Any:  # noqa: N802 (a class, once PyTorch is there)
    import torch

    class Function(torch.nn.Module):
        def forward(self, *arguments: Any, **keywords: Any) -> Any:
            return function(*arguments, **keywords)

    return Function()


class _Graphs:
    """Several exported programs read side by side."""

    def __init__(self, programs: Sequence[Any], names: Sequence[str]) -> None:
        self.programs, self.names = programs, names
        self.first = programs[0]
        self.reader = AtenReader(len(programs), count())
        self.known: dict[str, Any] = {}

    def exported(self) -> Exported:
        signature, arguments = self.first.graph_signature, dict[str, Array]()
        weights, buffers = ({**getattr(signature, role)} for role in ROLES)
        called = dict(zip(signature.user_inputs, self.names, strict=True))
        called |= dict(_named({**weights, **buffers}, {*self.names, *WORDS, *FUNCTIONS}))
        results: list[Array] = []
        for each in self._nodes():
            node = each[0]
            if node.op == "placeholder":
                array = self._array([one.meta["val"] for one in each])
                self.known[node.name] = array
                if node.name in called and isinstance(array, Array):
                    arguments[called[node.name]] = array
            elif node.op == "call_function":
                self._call(each)
            elif node.op == "output":
                every = {name: self.known.get(name) for name in signature.user_outputs if isinstance(name, str)}
                results += [one for one in every.values() if isinstance(one, Array)]
        used = lived(self.reader.made, {one.key for one in results})
        return Exported(
            Trace(arguments, used, tuple(results)), tuple(called[name] for name in weights if name in called)
        )

    def _nodes(self) -> Iterator[tuple[Any, ...]]:
        graphs = [list(program.graph.nodes) for program in self.programs]
        for each in zip(*graphs, strict=False):
            if len({str(node.target) for node in each}) > 1:
                raise differing(_at(each[0]))
            yield each
        if len({len(nodes) for nodes in graphs}) > 1:
            raise differing(_at(graphs[0][-1]))

    def _array(self, values: Sequence[Any]) -> Array | Constant:
        if not hasattr(values[0], "shape"):
            return Constant(tuple(float(v) for v in values) if isinstance(values[0], int | float) else None, True)
        shapes = tuple(zip(*(tuple(map(int, value.shape)) for value in values), strict=True))
        return self.reader.array(shapes, str(values[0].dtype).removeprefix("torch."))

    def _call(self, each: Sequence[Any]) -> None:
        """One call of an operation, at every assignment."""
        node, target = each[0], each[0].target
        name = getattr(target, "__name__", str(target)).partition(".")[0]
        if name == "getitem":
            whole = self.known[node.args[0].name]
            self.known[node.name] = whole[node.args[1]] if isinstance(whole, tuple) else whole
            return
        values = [one.meta.get("val") for one in each]
        if values[0] is None:
            return
        arguments = tuple(self._argument([one.args[i] for one in each]) for i in range(len(node.args)))
        keywords = {key: self._argument([one.kwargs[key] for one in each]) for key in node.kwargs}
        results = (
            tuple(self._array(parts) for parts in zip(*values, strict=True))
            if isinstance(values[0], list | tuple)
            else self._array(values)
        )
        call = Call(name, arguments, keywords, results, _frames(node))
        self.known[node.name] = self.reader.said(call)

    def _argument(self, each: Sequence[Any]) -> Any:
        """What is at one place of a call: an array, several of them, or numbers, one for each assignment."""
        first = each[0]
        if hasattr(first, "op") and hasattr(first, "name"):
            return self.known[first.name]
        if isinstance(first, list | tuple):
            return tuple(self._argument(parts) for parts in zip(*each, strict=True))
        if isinstance(first, bool) or not isinstance(first, int | float):
            return first
        return Constant(tuple(map(float, each)), True)


def _named(paths: Mapping[str, str], taken: set[str]) -> Iterator[tuple[str, str]]:
    """The names of parameters by their paths: the last word of it, or all of it where that is taken."""
    taken = {*taken}
    for node, path in paths.items():
        parts = path.split(".")
        words = parts[:-1] if parts[-1] == PLAIN and len(parts) > 1 else parts
        own = [part for part in words if not part.isdigit()]
        short = "_".join(own[-2:]) if parts[-1] != PLAIN and len(own) > 1 else own[-1] if own else "_".join(words)
        name = short if short not in taken else "_".join(words)
        while name in taken or not name.isidentifier():
            name = f"p_{name}"
        taken.add(name)
        yield node, name


def _at(node: Any) -> str:
    """Where in the user's code a node was made."""
    return str(next(iter(_frames(node)), "the function"))


def _frames(node: Any) -> tuple[Frame, ...]:
    """The calls that a node was made in, from inside out. A forward has the name of its class."""
    every = FRAME.findall(node.meta.get("stack_trace") or "")[::-1]
    calls = [call for call in every if not of_library(call[0])]
    stack = [*(node.meta.get("nn_module_stack") or {}).values()]
    own = [(path, str(kind).rpartition(".")[2]) for path, kind in stack if not str(kind).startswith("torch.nn.")]
    forwards = sum(function == "forward" for _, _, function in calls)
    own = own[len(own) - forwards :] if forwards <= len(own) else own
    found = []
    for file, line, function in calls:
        path, called = ("", function)
        if function == "forward" and own:
            path, called = own.pop()
        found.append(Frame(file, called, int(line), hash(path)))
    return tuple(found)
