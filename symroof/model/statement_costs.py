"""What the statements of a program cost, and what all quantities of a program are in its sizes."""

from __future__ import annotations

from collections.abc import Mapping

from sympy import Add, Expr, Integer

from symroof.formula import Frozen
from symroof.model.cost import Counting
from symroof.model.dtype import Tensor
from symroof.model.kernels import kernels_of, owners_of
from symroof.model.program import Line, Program, Statement, turns_of
from symroof.symbols import rational


def of_statement(what: str, name: str) -> str:
    """The name of a cost of one statement, or of an amount of one tensor.

    >>> of_statement("flops", "h")
    'flops(h)'
    """
    return f"{what}({name})"


class StatementCost(Frozen):
    """What a statement costs with those that join it, ``members`` in their order, itself first; in all turns of its repeats.

    ``flops`` are those of a contraction, ``ops`` all elementwise work; ``loads`` and ``stores`` are bytes by tensor.
    """

    name: str
    members: tuple[Line, ...]
    flops_exact: Expr
    flops: Expr
    ops: Expr
    loads: tuple[tuple[str, Expr], ...]
    stores: tuple[tuple[str, Expr], ...]


def amounts(program: Program, count: Counting) -> dict[str, Expr]:
    """The quantities that only programs have, by name, in the sizes that define the others: costs of statements, elements
    and bytes of tensors, and stocks.

    >>> from symroof.reading.programs import read_program
    >>> found = amounts(read_program("input x: bf16[N, D]; weight W: bf16[D, F]; y = x * W -> bf16[N, F]"), "fma")
    >>> found["flops(y)"], found["params"], found["size(x)"]
    (2*D*F*N, D*F, 2*D*N)
    """
    found: dict[str, Expr] = {}
    for name, cost in program.owners.items():
        flops = cost.flops_exact if count == "exact" else cost.flops
        loads, stores = (Add(*(amount for _, amount in moves)) for moves in (cost.loads, cost.stores))
        costs = {"flops": flops, "ops": cost.ops, "reads": loads, "writes": stores, "bytes": loads + stores}
        found |= {of_statement(what, name): value for what, value in costs.items()}
    for name, tensor in program.arrays.items():
        found |= {of_statement("elements", name): tensor.elements, of_statement("size", name): tensor.bytes}
    for tensor in program.declared_as("weight"):
        found[of_statement("params", str(tensor.name))] = program.turns(tensor) * tensor.elements
    weights, caches = (program.stock(role, bytes_of=True) for role in ("weight", "cache"))
    ops = Add(*(cost.ops for cost in program.owners.values()))
    found |= {"params": program.stock("weight"), "weights": weights, "caches": caches, "ops": ops}
    return {name: program.resolved(value) for name, value in found.items()}


def costs_of_statements(program: Program) -> Mapping[str, StatementCost]:
    """What each statement costs, by name: an elementwise one that joins a contraction is in the costs of that."""
    costs: dict[str, StatementCost] = {}
    kernels = kernels_of(program)
    taken = {repeat.leaves for line in program.lines for repeat in line.repeats}
    for kernel in kernels:
        inside = {line.statement.name for line in kernel}
        outside = [line for other in kernels if other is not kernel for line in other]
        used_outside = {str(t.name) for line in outside for t in line.statement.operands}
        used_inside = {str(t.name) for line in kernel for t in line.statement.operands}
        owners, turns, known = owners_of(kernel), turns_of(kernel[0].repeats), set(inside)
        loads: dict[str, list[tuple[str, Expr]]] = {}
        stores: dict[str, list[tuple[str, Expr]]] = {}
        for line in kernel:
            statement, owner = line.statement, owners[line.statement.name]
            for tensor in statement.operands:
                if tensor.name not in known:
                    known.add(str(tensor.name))
                    loads.setdefault(owner, []).append((str(tensor.name), turns * tensor.bytes))
            name = statement.name
            if name in used_outside or name in taken or name not in used_inside:
                stores.setdefault(owner, []).append((name, turns * statement.result.bytes))
        for owner in dict.fromkeys(owners.values()):
            members = tuple(line for line in kernel if owners[line.statement.name] == owner)
            exact, flops = _contraction(members)
            ops = sum((elementwise(line.statement) for line in members), Integer(0))
            moved = (tuple(found.get(owner, ())) for found in (loads, stores))
            costs[owner] = StatementCost(owner, members, turns * exact, turns * flops, turns * ops, *moved)
    order = [line.statement.name for line in program.lines]
    return dict(sorted(costs.items(), key=lambda item: order.index(item[0])))


def _contraction(members: tuple[Line, ...]) -> tuple[Expr, Expr]:
    """The FLOPs of the contraction among statements: exactly, and with an addition for every multiplication."""
    for line in members:
        product = line.statement.product
        if product is not None and product.contracted:
            return product.cost("exact").flops, product.cost("fma").flops
    return Integer(0), Integer(0)


def elementwise(statement: Statement) -> Expr:
    """The operations of a statement that contracts nothing; 0 for one that does."""
    if statement.contracts:
        return Integer(0)
    if statement.function is None:
        return (len(statement.operands) - 1) * statement.result.elements
    first, function = statement.operands[0], statement.function
    rows = _rows(first, statement.over)
    return rational(function.each) * first.elements + rational(function.row) * rows


def _rows(tensor: Tensor, over: str | None) -> Expr:
    """The elements of a tensor without one of its dimensions."""
    length = next((dim.size for dim in tensor.dims if dim.label == over), Integer(1))
    return tensor.elements / length
