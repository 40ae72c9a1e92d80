"""The only door to PyTorch: a module, or a function of tensors, is exported with dynamic dimensions, and the graph is read into
equations. What it holds of ATen is said in :mod:`symroof.tracing.aten_equations`.

A module is made of numbers: those that it is made with are ones that tell what they stand for (:mod:`symroof.tracing.size_names`)."""

from __future__ import annotations

import copy
import inspect
import logging
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import count
from traceback import StackSummary
from typing import TYPE_CHECKING, Any, TypeVar
from unittest.mock import patch

from sympy import Expr, floor

from symroof.formula import names
from symroof.model.functions import FUNCTIONS
from symroof.reading.tensors import WORDS
from symroof.symbols import symbol
from symroof.tracing.aten_equations import WHOLE, AtenReader, Call
from symroof.tracing.signatures import Signature
from symroof.tracing.size_names import Sizes
from symroof.tracing.traces import Array, Constant, Frame, Function, Trace, TracingError, of_library

if TYPE_CHECKING:
    from torch import Tensor
    from torch.export import CustomDecompTable, ExportedProgram
    from torch.fx import Node
    from torch.nn import Module

T = TypeVar("T")
FRAME = re.compile(r'File "(.*?)", line (\d+), in (\S+)')
# Divisions of sizes without a rest, as PyTorch calls them.
DIVISIONS = ("FloorDiv", "CleanDiv")
# What the one parameter of a layer is called, at the end of its path.
PLAIN = "weight"


def is_of_torch(function: Function) -> bool:
    """Whether something is a module of PyTorch, or a function in a module that has PyTorch and no JAX."""
    torch = sys.modules.get("torch")
    if torch is None:
        return False
    if isinstance(function, torch.nn.Module) or (isinstance(function, type) and issubclass(function, torch.nn.Module)):
        return True
    scope = getattr(inspect.unwrap(function), "__globals__", {})
    roots = {value.__name__.partition(".")[0] for value in scope.values() if inspect.ismodule(value)}
    return "torch" in roots and "jax" not in roots


class ModuleRun:
    """A module and its arguments at numbers, without elements in them."""

    def __init__(self, function: Function, signature: Signature, numbers: Mapping[str, int]) -> None:
        try:
            import torch
        except ImportError:
            problem = "tracing a module needs PyTorch, which is not installed here"
            raise TracingError(problem, expected="pip install 'symroof[torch]'") from None
        self.signature, self.shown = signature, signature.shapes_at(numbers)
        with torch.device("meta"):
            tensors = {
                name: torch.empty([*map(int, signature.dims(kind, numbers))], dtype=getattr(torch, kind.numpy))
                for name, kind in signature.types.items()
            }
            filled = dict(zip(signature.tree, signature.fill(tensors), strict=True))
            self.arguments = tuple(value for name, value in filled.items() if name not in signature.keywords)
            self.keywords = {name: value for name, value in filled.items() if name in signature.keywords}
            floating = [tensor.dtype for tensor in tensors.values() if tensor.is_floating_point()]
            if isinstance(function, type) or signature.init_sizes:
                built = [
                    int(signature.value(size).subs({symbol(n): numbers[n] for n in names(size) if n in numbers}))
                    for size in signature.init_sizes
                ]
                module = self.guarded(lambda: function(*built))
                if not isinstance(module, torch.nn.Module):
                    problem = "what is called with sizes makes no module"
                    raise TracingError(problem, expected="a class, or a function that makes one")
                self.module = module.eval().to(floating[0]) if floating else module.eval()
            else:
                self.module = _on_meta(function) if isinstance(function, torch.nn.Module) else _module_of(function)

    def exported(self) -> ExportedProgram:
        """The graph: in core ATen, where it has operations that the reader does not know."""
        import torch

        signature, auto = self.signature, torch.export.Dim.AUTO
        dynamic = {
            name: {i: auto for i, size in enumerate(kind.dims) if signature.open_names(size)}
            for name, kind in signature.types.items()
        }
        filled = dict(zip(signature.tree, signature.fill(dynamic), strict=True))

        def export() -> ExportedProgram:
            with torch.device("meta"), patch.object(torch.fx.proxy.TracerBase, "_filter_traceback_frames", _own_frames):
                whole = torch.export.export(self.module, self.arguments, self.keywords, dynamic_shapes=filled)
                calls = (node for node in whole.graph.nodes if node.op == "call_function")
                complete = all(AtenReader.knows(name_of(node)) for node in calls)
                return whole if complete else whole.run_decompositions(_decompositions())

        return self.guarded(export)

    def counted(self) -> int:
        """The FLOPs of the products, masks in full, as PyTorch itself counts them."""
        import torch
        from torch.utils.flop_counter import FlopCounterMode

        counter = FlopCounterMode(display=False)
        with counter, torch.device("meta"), torch.no_grad():
            self.guarded(lambda: self.module(*self.arguments, **self.keywords))
        return int(counter.get_total_flops())

    def guarded(self, call: Callable[[], T]) -> T:
        before = logging.root.manager.disable
        logging.disable(logging.CRITICAL)  # what matters is raised
        try:
            with warnings.catch_warnings(action="ignore"):
                return call()
        except Exception as error:
            message = str(error).strip().partition("\n")[0]
            raise TracingError(f"the function fails with {self.shown}: {message}") from error
        finally:
            logging.disable(before)


def _decompositions() -> CustomDecompTable:
    """What operations are taken apart into: core ATen, but for those that stay whole, and norms as sums and products."""
    import torch

    def group_norm(
        value: Tensor, groups: int, weight: Tensor | None = None, bias: Tensor | None = None, *_: object
    ) -> Tensor:
        rows = value.reshape(value.shape[0], groups, -1)
        return gained(torch.nn.functional.layer_norm(rows, rows.shape[-1:]).reshape(value.shape), weight, bias)

    def batch_norm(value: Tensor, weight: Tensor | None, bias: Tensor | None, *measured: Tensor) -> tuple[Tensor, ...]:
        mean, variance, _, more = measured
        normal = (value - channels(mean, value)) * channels(torch.rsqrt(variance + more), value)
        return gained(normal, weight, bias), mean, variance

    def convolution(value: Tensor, filters: Tensor, bias: Tensor | None, *more: object) -> Tensor:
        if bias is None:
            return NotImplemented
        return gained(torch.ops.aten.convolution(value, filters, None, *more), None, bias)

    def gained(value: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
        value = value if weight is None else value * channels(weight, value)
        return value if bias is None else value + channels(bias, value)

    def channels(numbers: Tensor, value: Tensor) -> Tensor:
        return numbers.reshape(-1, *[1] * (value.dim() - 2))

    table, aten = torch.export.default_decompositions(), torch.ops.aten
    for name in WHOLE:
        for overload in getattr(aten, name).overloads():
            table.pop(getattr(getattr(aten, name), overload), None)
    table[aten.group_norm.default], table[aten.convolution.default] = group_norm, convolution
    table[aten._native_batch_norm_legit_no_training.default] = batch_norm
    table.update(torch._decomp.get_decompositions([aten.addmm, aten._log_softmax]))
    return table


def _own_frames(tracer: object, summary: StackSummary) -> StackSummary:
    """The calls in a module, or a function, that are the user's: the tracer of PyTorch leaves out all but those of a forward."""
    ahead = next((i for i, frame in enumerate(summary) if frame.name == "_call_impl"), len(summary))
    return StackSummary.from_list([frame for frame in summary[ahead:] if not of_library(frame.filename)])


def _on_meta(module: Module) -> Module:
    """The module without its numbers, and the given one as it was."""
    import torch

    memo: dict[int, Tensor] = {
        id(p): torch.nn.Parameter(torch.empty_like(p, device="meta"), p.requires_grad) for p in module.parameters()
    }
    memo |= {id(b): torch.empty_like(b, device="meta") for b in module.buffers()}
    return copy.deepcopy(module, memo).eval()


def _module_of(function: Function) -> Module:
    """A module that does what a function does."""
    import torch

    module = torch.nn.Module()
    module.forward = function
    return module


def name_of(node: Node) -> str:
    """The operation that a node calls, without the types of its arguments."""
    return getattr(node.target, "__name__", str(node.target)).partition(".")[0]


class GraphReader:
    """An exported program as a trace."""

    def __init__(self, run: ModuleRun, sizes: Sizes) -> None:
        self.exported, self.module = run.exported(), run.module
        self.signature, self.sizes, self.reader = run.signature, sizes, AtenReader(count())
        self.values: dict[str, Any] = {}
        self.dynamic: dict[Expr, Expr] = {}  # what PyTorch's symbols stand for

    def trace(self) -> Trace:
        names, arguments, results = self.exported.graph_signature, dict[str, Array](), list[Array]()
        weights, buffers = {**names.inputs_to_parameters}, {**names.inputs_to_buffers}
        called = dict(zip(names.user_inputs, self.signature.leaves, strict=True))
        called |= dict(_parameter_names({**weights, **buffers}, {*called.values(), *WORDS, *FUNCTIONS}))
        for node in self.exported.graph.nodes:
            if node.op == "placeholder" and node.name in called and (node.users or node.name not in buffers):
                if called[node.name] in self.signature.types:
                    self._dimensions(called[node.name], node.meta["val"].shape)
                arguments[called[node.name]] = self.values[node.name] = self._array(node.meta["val"])
            elif node.op in ("placeholder", "get_attr"):
                self.values[node.name] = Constant()
            elif node.op == "call_function":
                self._call(node)
            elif node.op == "output":
                every = {name: self.values.get(name) for name in names.user_outputs if isinstance(name, str)}
                results += [value for value in every.values() if isinstance(value, Array)]
        fixed = {name for name, weight in self.module.named_parameters() if not weight.requires_grad}
        stocks = {**weights, **buffers}.items()
        frozen = tuple(called[node] for node, path in stocks if path in fixed or node in buffers)
        trained, body = tuple(called[name] for name in weights), tuple(self.reader.instructions)
        return Trace(arguments, body, tuple(results), trained, frozen)

    def _dimensions(self, name: str, shape: Iterable[object]) -> None:
        """What the symbols of an argument stand for; a size that has become a number has been asked for."""
        for size, traced_size in zip(self.signature.types[name].dims, shape, strict=True):
            dynamic = getattr(getattr(traced_size, "node", None), "expr", None)
            if dynamic is not None and dynamic.is_Symbol:
                self.dynamic[dynamic] = self.signature.value(size)
            else:
                names_of_size = self.signature.open_names(size)
                self.sizes.numbers |= {name: self.signature.samples[name] for name in names_of_size}

    @property
    def bounds(self) -> Iterator[str]:
        """What has been asked of sizes on the way: 101 <= B."""
        for name, span in self.exported.range_constraints.items():
            size = self.dynamic.get(name)
            if size is not None and span.lower > 2:
                yield f"{span.lower} <= {size}"
            if size is not None and span.upper < 1 << 40:
                yield f"{size} <= {span.upper}"

    def _size(self, size: Any) -> Expr:
        if isinstance(size, int):
            return self.sizes.size(size)
        value: Expr = size.node.expr.xreplace(self.dynamic)
        value = value.replace(lambda x: type(x).__name__ in DIVISIONS, lambda x: floor(x.args[0] / x.args[1]))
        return self.sizes.polynomial(value)

    def _array(self, value: Tensor) -> Array:
        return self.reader.array(tuple(map(self._size, value.shape)), str(value.dtype).removeprefix("torch."))

    def _call(self, node: Node) -> None:
        """One call of an operation."""
        name = name_of(node)
        if name == "getitem":
            whole, place = map(self._argument, node.args)
            self.values[node.name] = whole[place] if isinstance(whole, tuple) else whole
            return
        value = node.meta.get("val")
        if value is None:
            return
        if not isinstance(value, list | tuple) and not hasattr(value, "shape"):
            self.values[node.name] = self._argument(value)
            return
        results = tuple(map(self._array, value)) if isinstance(value, list | tuple) else self._array(value)
        keywords = {key: self._argument(argument) for key, argument in node.kwargs.items()}
        call = Call(name, self._argument(node.args), keywords, results, _frames(node))
        self.values[node.name] = self.reader.result_of(call)

    def _argument(self, value: Any) -> Any:
        """What is at one place of a call: an array, several of them, or a number; that of a size as a constant."""
        if hasattr(value, "op") and hasattr(value, "name"):
            return self.values[value.name]
        if isinstance(value, list | tuple):
            return tuple(map(self._argument, value))
        if not isinstance(value, int | float) and hasattr(value, "node"):
            return Constant(self._size(value) if hasattr(value.node, "expr") else None, True)
        return value


def _parameter_names(paths: Mapping[str, str], taken: set[str]) -> Iterator[tuple[str, str]]:
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


def _frames(node: Node) -> tuple[Frame, ...]:
    """The calls that a node was made in, from inside out. A forward has the name of its class."""
    every = FRAME.findall(node.meta.get("stack_trace") or "")[::-1]
    calls = [call for call in every if not of_library(call[0])]
    stack = [*(node.meta.get("nn_module_stack") or {}).values()]
    own = [(path, str(kind).rpartition(".")[2]) for path, kind in stack if not str(kind).startswith("torch.nn.")]
    forwards = sum(function == "forward" for _, _, function in calls)
    own = own[len(own) - forwards :] if forwards <= len(own) else own
    frames = []
    for file, line, function in calls:
        path, called = ("", function)
        if function == "forward" and own:
            path, called = own.pop()
        frames.append(Frame(file, called, int(line), hash(path)))
    return tuple(frames)
