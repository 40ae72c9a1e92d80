"""The kernels of a program as loop nests, in plain text: what is counted, for people who want to see it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from symroof.loopnest.costs import counts_of
from symroof.loopnest.nests import MATRIX, VECTOR, Access, Axis, Guard, Kernel, Module, Operand, Stair, Statement
from symroof.loopnest.size_polynomials import ONE, ZERO, Polynomial


def listing(module: Module) -> str:
    """Every kernel with its launches, its loop nests, and what it does in all of its launches.

    >>> from symroof.model.lowering import lowered
    >>> from symroof.reading.operations import read_operation
    >>> print(listing(lowered(read_operation("input x: bf16[B, D]; weight W: bf16[D, F]; y = x * W -> bf16[B, F]"))))
    kernel 1
      for b < B, f < F, d < D
        y[F*b + f] += contraction(x[D*b + d], W[F*d + f])
      2*B*D*F FLOPs; reads x B*D, W D*F; writes y B*F
    """
    counts = counts_of(module)
    lines: list[str] = []
    for number, (kernel, of_kernel) in enumerate(zip(module.kernels, counts.kernels, strict=True), 1):
        around = f", for each {_loops(kernel.launches)}" if kernel.launches else ""
        lines.append(f"kernel {number}{', going back' if kernel.backward else ''}{around}")
        for statement in kernel.body:
            lines += _nest(statement, kernel)
        units = ((MATRIX, "FLOPs"), (VECTOR, "elementwise operations"))
        work = ", ".join(f"{of_kernel.work[unit]} {name}" for unit, name in units if of_kernel.work[unit] != ZERO)
        moved = (_moved(what, n) for what, n in (("reads", of_kernel.reads), ("writes", of_kernel.writes)) if n)
        lines.append("  " + "; ".join(filter(None, (work, *moved))))
    return "\n".join(lines)


def _moved(what: str, elements: Mapping[str, Polynomial]) -> str:
    return f"{what} " + ", ".join(f"{name or 'output'} {n}" for name, n in elements.items())


def _nest(statement: Statement, kernel: Kernel) -> Iterator[str]:
    masks = "".join(f" where {_stair(stair)}" for stair in statement.domain.stairs)
    yield f"  for {_loops(statement.domain.axes)}{masks}"
    own = {*statement.result.axes, *(axis for axis, _ in statement.result.turns)}
    adds = "+=" if any(axis not in own for axis in statement.domain.sizes) else "="
    taken = ", ".join(map(_operand, (*statement.operands, *((statement.table,) if statement.table else ()))))
    yield f"    {_operand((statement.result,))} {adds} {statement.operation.name}({taken})"


def _index(axis: str) -> str:
    """What an axis is called beside its size: b below B, i4 below 4."""
    small = axis.lower()
    return f"i{axis}" if axis.isdigit() else small if "." in axis or axis != small else f"{axis}_"


def _loops(axes: Iterable[Axis]) -> str:
    return ", ".join(f"{_index(axis.name)} < {axis.size}" for axis in axes)


def _stair(stair: Stair) -> str:
    row, column = _index(stair.row), _index(stair.column)
    last = row if stair.shift == ZERO else f"{row} + {stair.shift}"
    return f"{column} <= {last}" + ("" if stair.window is None else f" < {column} + {stair.window}")


def _sum(terms: Iterable[tuple[str, Polynomial]], more: Polynomial) -> str:
    """Axes, each times a stride, and what is added to them: B*t + b, or (G + H)*b + G."""
    parts = []
    for axis, stride in terms:
        factor = f"({stride})" if len(stride.terms) > 1 else str(stride)
        parts.append(_index(axis) if stride == ONE else f"{factor}*{_index(axis)}")
    parts += [str(more)] if more != ZERO or not parts else []
    return " + ".join(parts).replace("+ -", "- ")


def _guard(guard: Guard) -> str:
    return f"{guard.first} <= {_sum(guard.axes, ZERO)} < {guard.first + guard.length}"


def _operand(operand: Operand) -> str:
    return " | ".join(_place(access) for access in operand)


def _place(access: Access) -> str:
    turns = "".join(f"[{_sum([(axis, ONE)] if axis else [], shift)}]" for axis, shift in access.turns)
    guards = " and ".join(map(_guard, access.within))
    return f"{access.buffer or 'output'}{turns}[{_sum(access.strides, access.offset)}]" + (
        f" if {guards}" if guards else ""
    )
