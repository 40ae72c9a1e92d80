"""The rows of a program: how often each parameter is multiplied, and of how many tokens that tells."""

from __future__ import annotations

from sympy import Expr, Mul

from symroof.model.dtype import Dim
from symroof.model.program import Program

# The function whose rows are the surroundings of pixels.
WINDOWS = "windows"


def tokens_of(program: Program) -> Expr | None:
    """How often each parameter is multiplied: the product of the dimensions that no weight has and every contraction with a
    weight has; None where there are none.

    >>> from symroof.reading.programs import read_program
    >>> tokens_of(read_program("input x: bf16[B, T, D]; weight W: bf16[D, F]; y = x * W -> bf16[B, T, F]"))
    B*T
    """
    weights = program.declared_as("weight")
    held = {label for tensor in weights for label in tensor.labels}
    multiplied = [
        dict.fromkeys(label for tensor in s.operands for label in tensor.labels)
        for line in program.forward
        if (s := line.statement).contracts and any(tensor in weights for tensor in s.operands)
    ]
    shared = [n for n in (multiplied or [{}])[0] if n not in held and all(n in labels for labels in multiplied)]
    return program.resolved(Mul(*(Dim(label).size for label in shared))) if shared else None


def served_of(program: Program) -> Expr | None:
    """The tokens that are worked on: the same, where every weight meets all of them. Rows that are shared out among weights,
    as among experts, do not tell how many tokens they come from, and pixels are none.

    >>> from symroof.reading.programs import read_program
    >>> served_of(read_program("input x: bf16[E, C, D]; weight W: bf16[E, D, F]; y = x * W -> bf16[E, C, F]")) is None
    True
    """
    weights = program.declared_as("weight")
    for line in program.forward:
        product = line.statement
        if product.function is not None and product.function.name == WINDOWS:
            return None  # pixels
        if product.contracts and any(tensor in weights for tensor in product.operands):
            sides = [set(tensor.labels) for tensor in (*product.operands, product.result)]
            if set.intersection(*sides):
                return None
    held = {label for tensor in weights for label in tensor.labels}
    rows = {
        frozenset(label for tensor in line.statement.operands for label in tensor.labels) - held
        for line in program.forward
        if line.statement.contracts and any(tensor in weights for tensor in line.statement.operands)
    }
    return tokens_of(program) if len(rows) == 1 else None  # some weights meet more rows than others
