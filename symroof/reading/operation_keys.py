"""What a problem says of its operation: its text or its costs, the element type, functions of its own, training."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from symroof.errors import ReadingError, SymroofError, about, require_one_of
from symroof.formula import FUNCTIONS, KEYWORDS, Compare, Formula, Number, mapped, number
from symroof.model.functions import Function, user_function
from symroof.model.given_costs import CostFormula, Operation
from symroof.model.kernels import costs_of
from symroof.model.pipeline_stages import SCHEDULES
from symroof.model.program import Program
from symroof.model.tensor_types import Dtype, dtype
from symroof.model.transforms import numeric_tensors, with_backward, with_types
from symroof.reading.claims import read_regime
from symroof.reading.expressions import read_expression
from symroof.reading.name_scope import Scope
from symroof.reading.operations import read_operation
from symroof.reading.question_scope import points_of
from symroof.reading.size_cases import Facts
from symroof.reading.toml import flag, table, text, texts, unfit

EXAMPLE = "{ f = 3 }"
# What is said of tensors that a mesh gathers, and whether they are weights: those are gathered again for the backward
# pass unless they are kept, and all else is kept unless it is gathered again.
GATHERED = {"keep": True, "regather": False}
# The tensors that may have a type of their own: what is declared as weights and as caches, all else, and the weights that are frozen.
TYPED = ("weights", "caches", "activations", "frozen")
# When chips add up the gradients of microbatches.
REDUCED = ("last", "each")
COSTS = ("flops", "reads", "writes")
WORD = re.compile(r"[^\W\d]\w*")
ORDER = ("<=", ">=")
SIZE = re.compile(r"[^\W\d]\w*\b(?!\s*\()")  # a word that is no function


def has_operation(options: Mapping[str, object]) -> bool:
    """Whether a problem states an operation: its text, or any of its costs."""
    return bool(options.get("operation")) or any(options.get(key) is not None for key in COSTS)


def operation_of(options: Mapping[str, Any]) -> Program:
    """The operation of a problem.

    >>> str(operation_of({"operation": "bd,df->bf", "dtype": "int8"}))
    'int8[b, d] * int8[d, f] -> int8[b, f]'
    """
    operation = options.get("operation")
    if not has_operation(options):
        raise ReadingError("the problem has no operation, so there is nothing to derive", expected='operation = "…"')
    if any(key in options for key in (*COSTS, "vector")):
        operation = given_by_costs(options)
    elif isinstance(operation, str):
        element, roles = types_of(options)
        operation = _in_roles(
            Program.read(read_operation(operation, element, functions_of(options), size_facts_of(options))), roles
        )
    program = Program.read(operation)
    if program is None:
        raise unfit("operation", operation, "an operation", "text, or sr.Operation(…)")
    if options.get("training") is not None:
        if not isinstance(training := options["training"], bool):
            raise unfit("training", training, "true or false", "true for the backward pass as well")
        program = with_backward(program, training)
    if isinstance(options.get("dtype"), str) and program.training:
        _require_trained(program, types_of(options)[1])
    for key, of_weights in GATHERED.items():
        if options.get(key) is not None:
            program = _gathered(program, key, options[key], of_weights=of_weights)
    if options.get("reduce") is not None:
        program = _reduced(program, text(options, "reduce") or "")
    if options.get("schedule") is not None:
        program = _scheduled(program, text(options, "schedule") or "")
    if options.get("latency") is not None:
        counts = flag(options, "latency", "true where an exchange takes at least its hops")
        program = replace(program, latency=counts)
    return program


def statement_of(options: Mapping[str, Any], operation: Program) -> str | None:
    """The statement of a program that is asked about, or the one that it joins."""
    if options.get("statement") is None:
        return None
    if operation.line is not None:
        raise ReadingError("statement speaks of a program, and this is one operation", expected="no statement")
    owners = {line.statement.name: name for name, cost in costs_of(operation).items() for line in cost.members}
    return owners[str(text(options, "statement", tuple(owners)))]


def size_facts_of(options: Mapping[str, Any]) -> Facts:
    """What a problem says of sizes beside its operation: relations of its regime, and the sizes that are put in. What
    cannot be read is refused where the names of the operation are known.

    >>> size_facts_of({"assume": "B*k <= E, B << D", "at": ["B=4, E=64", "B=8, E=64"]}).points[1]["B"]
    Fraction(8, 1)
    """
    facts, points = list[Compare](), tuple[Mapping[str, Fraction], ...]()
    words = (word for word in WORD.findall(str(options.get("operation"))) if word not in (*KEYWORDS, *FUNCTIONS))
    scope = Scope(tuple(dict.fromkeys(words)), open=True)
    unread: SymroofError | None = None
    try:
        facts = [r for line in texts(options, "assume") for r in read_regime(line, scope) if r.relation in ORDER]
        points = points_of(options, scope)
    except SymroofError as error:
        unread = error
    return Facts(tuple(facts), points, unread)


def _scheduled(program: Program, schedule: str) -> Program:
    """In which order the stages of a pipeline go forward and back."""
    require_one_of(schedule, SCHEDULES, f"schedule: {schedule!r} is no schedule")
    if not program.stages:
        raise ReadingError("schedule: the program has no stages", expected="repeat L over P as … in the operation")
    return replace(program, schedule=schedule)


def _reduced(program: Program, when: str) -> Program:
    """When the gradients of microbatches are added up over the chips."""
    require_one_of(when, REDUCED, f"reduce: {when!r} says no time")
    if not any(repeat.accumulates for line in program.forward for repeat in line.repeats):
        raise ReadingError("reduce: the program has no microbatches", expected="accumulate M { … } in the operation")
    return with_backward(replace(program, each=when == "each"), program.training)


def _gathered(operation: Program, key: str, value: Any, *, of_weights: bool) -> Program:
    """A program with what it says of the tensors that are gathered on a mesh."""
    example = '["W1"]' if of_weights else '["x"]'
    named = [name.strip() for name in value.split(",")] if isinstance(value, str) else value
    if not isinstance(named, list | tuple) or not all(isinstance(name, str) for name in named):
        raise unfit(key, value, "names of tensors", example)
    if operation.line is not None:
        raise ReadingError(f"{key}: only programs gather tensors for several uses", expected="statements in operation")
    weights = {str(tensor.name) for tensor in operation.declared_as("weight")}
    own = [name for name in operation.arrays if name not in operation.memory.sources]
    fitting = [name for name in own if (name in weights) == of_weights]
    for name in named:
        require_one_of(name, fitting, f"{key}: {name!r} is no {'weight' if of_weights else 'input or result'}")
    return replace(operation, **{key: tuple(named)})  # type: ignore[arg-type]


def types_of(options: Mapping[str, Any]) -> tuple[Dtype | None, dict[str, Dtype]]:
    """The dtype of tensors that do not state one, and those of the tensors of a role: ``weights=int8, caches=fp8``.

    >>> element, roles = types_of({"dtype": "bf16, weights = int8"})
    >>> str(element), {role: str(kind) for role, kind in roles.items()}
    ('bf16', {'weights': 'int8'})
    """
    element, roles = None, dict[str, Dtype]()
    for part in (text(options, "dtype") or "").split(","):
        role, equals, kind = (word.strip() for word in part.partition("="))
        if not equals:
            if role and element is not None:
                raise ReadingError(
                    f"dtype: {element} and {role} are two", expected="one, and types in the operation: int4[k, m]"
                )
            element = dtype(role) if role else element
            continue
        require_one_of(role, TYPED, f"dtype: no tensors are called {role!r}")
        if role in roles:
            raise ReadingError(f"dtype: {role} has two types", expected="one for each role")
        roles[role] = dtype(kind)
    return element, roles


def _in_roles(program: Program | None, roles: Mapping[str, Dtype]) -> Program | None:
    """A program with its weights, its caches, or all else, in other types; indices stay what they are."""
    if program is None or not roles:
        return program
    if program.line is not None:
        raise ReadingError(
            f"dtype: {next(iter(roles))} are those of a program",
            expected="types in the product: bf16[B, D] * int8[D, F]",
        )
    held = {role: {str(t.name) for t in program.declared_as(role.removesuffix("s"))} for role in ("weights", "caches")}
    held["activations"] = {name for name in program.arrays if name not in held["weights"] | held["caches"]}
    held["frozen"] = held["weights"] & {*program.frozen}
    for role in roles:
        if not held[role]:
            raise ReadingError(f"dtype: the program has no {role}", expected="; ".join(r for r in TYPED if held[r]))
    computed, stated = (
        numeric_tensors(program),
        sorted(roles.items(), key=lambda pair: TYPED.index(pair[0])),
    )  # frozen goes before weights
    types = {name: kind for role, kind in stated for name in computed if name in held[role]}
    return replace(with_types(program, types), entry="")


def _require_trained(program: Program, roles: Mapping[str, Dtype]) -> None:
    """Weights that are stored in whole numbers have no gradient: who trains a program means others."""
    kind = roles.get("weights")
    if kind is not None and kind.integer and {str(t.name) for t in program.declared_as("weight")} - {*program.frozen}:
        raise ReadingError(
            f"dtype: weights in {kind} have no gradient, and the program is in training",
            expected="a floating-point type, as in weights=fp8",
            hint=f"frozen={kind} is the type of what is not trained",
        )


def dtype_of(options: Mapping[str, Any], key: str) -> Dtype | None:
    name = text(options, key)
    return None if name is None else dtype(name)


def functions_of(options: Mapping[str, Any]) -> dict[str, Function]:
    """The functions of a problem: operations per element, or those of the function and of its derivative.

    >>> found = functions_of({"functions": {"f": 3, "g": ["1/2", 5]}})
    >>> found["f"].each, found["g"].each, found["g"].back_each
    (Fraction(3, 1), Fraction(1, 2), Fraction(5, 1))
    """
    functions = {}
    for name, counts in table(options, "functions", EXAMPLE).items():
        if name in KEYWORDS or not name.isidentifier():
            raise ReadingError(f"functions: {name!r} is no name", expected="letters, digits and _, as in my_gelu")
        both = counts if isinstance(counts, list | tuple) else [counts]
        if not 1 <= len(both) <= 2:
            raise unfit(f"functions: {name}", counts, "operations per element, and those of the derivative", "[3, 5]")
        functions[name] = user_function(name, *(_operations(name, count) for count in both))
    return functions


def _operations(name: str, count: Any) -> Fraction:
    """A count as a number or as text: 3, 1.5, 1/2."""
    try:
        value = None if isinstance(count, bool) else Fraction(str(count).strip())
    except (ValueError, ZeroDivisionError):
        value = None
    if value is None or value < 0 or len(str(count)) > 40 or "e" in str(count).lower():
        raise unfit(f"functions: {name}", count, "the operations that it takes for an element", "3")
    return value


def given_by_costs(options: Mapping[str, Any]) -> Operation:
    """The operation that three formulas give: its FLOPs, the bytes that it reads and those that it writes.

    Its sizes are the words in them that are no functions; a run of capitals is a product of letters. It needs no name.

    >>> costs = {"flops": "2*nnz", "reads": "12*nnz + 8*N", "writes": "8*N", "vector": True}
    >>> given_by_costs({"operation": "sparse product", **costs}).dimensions
    ('nnz', 'N')
    """
    missing = [key for key in COSTS if key not in options]
    if missing:
        raise ReadingError(f"the costs of the operation lack {', '.join(missing)}", expected=", ".join(COSTS))
    vector = flag(options, "vector", "true where the vector unit does the work")
    words = dict.fromkeys(word for key in COSTS for word in SIZE.findall(str(options[key])))
    sizes = tuple(word for word in words if not word.isupper() and word not in (*FUNCTIONS, *KEYWORDS))
    scope, costs = Scope((*texts(options, "symbols"), *sizes), open=True), []
    for key in COSTS:
        written = options[key]
        if isinstance(written, bool) or not isinstance(written, str | int):
            raise unfit(key, written, "a formula of the sizes", f'{key} = "2*N"')
        with about(f"{key}: "):
            costs.append(CostFormula(key, mapped(read_expression(str(written), scope), _as_printed)))
    flops, reads, writes = costs
    name, compute = text(options, "operation") or text(options, "title") or "operation", text(options, "compute")
    return Operation(name, flops, reads, writes, None if compute is None else dtype(compute), vector)


def _as_printed(node: Formula) -> Formula:
    """A number by its value, however it was typed."""
    return number(node.value) if isinstance(node, Number) else node
