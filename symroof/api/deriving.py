"""Operations, chips and derivations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Unpack, overload

from symroof.derivation.pipeline import derive as run
from symroof.model.given_costs import Cost, Counting
from symroof.model.hardware import Accelerator
from symroof.model.kernels import cost_of
from symroof.model.program import Program
from symroof.model.tensor_types import dtype as read_dtype
from symroof.reading.arguments import Asked, Chip, Given, Questions, problem_of, sketch_of
from symroof.reading.chips import catalogue
from symroof.reading.operations import read_operation
from symroof.rendering.results import ShownDerivation
from symroof.symbols import symbol

if TYPE_CHECKING:
    from symroof.rendering.exploration_results import ShownSketch


class CostedProgram(Program):
    """An operation of any kind, with what it costs."""

    def cost(self, count: Counting = "fma") -> Cost:
        """FLOPs and bytes of the whole of it, as plain SymPy expressions."""
        return cost_of(self, count)


def operation(text: str, *, dtype: str | None = None) -> CostedProgram:
    """The operation that ``text`` writes, with its costs as plain SymPy expressions.

    >>> cost = operation("bf16[B, D] * bf16[D, F] -> bf16[B, F]").cost()
    >>> cost.flops, cost.intensity
    (2*B*D*F, B*D*F/(B*D + B*F + D*F))
    """
    program = read_operation(text, None if dtype is None else read_dtype(dtype))
    return CostedProgram(*(getattr(program, part.name) for part in fields(program)))


def list_chips(*files: str) -> Mapping[str, Accelerator]:
    """The chips of the catalogue by name, with those of the user's own files.

    >>> list_chips()["tpu-v5e"].figures["HBM"].digits
    '8.2e11'
    """
    return catalogue(*files)


def dimensions(names: str) -> tuple[Any, ...]:
    """The SymPy symbols of dimensions, as the costs use them: positive reals.

    >>> N, = dimensions("N")
    >>> operation("dot").cost().intensity.subs(N, 1)
    1/3
    """
    return tuple(symbol(name) for name in names.replace(",", " ").split())


@overload
def derive(operation: Given, on: Chip = None, **options: Unpack[Questions]) -> ShownDerivation: ...
@overload
def derive(
    operation: Mapping[str, object] | None = None, on: Chip = None, **options: Unpack[Questions]
) -> ShownDerivation | ShownSketch: ...
def derive(
    operation: Asked | None = None, on: Chip = None, **options: Unpack[Questions]
) -> ShownDerivation | ShownSketch:
    """Derive the roofline of an operation, every line proved by a second engine.

    ``on`` is a chip or a table of its figures, ``assume`` a regime, ``at`` sizes to put in, ``given`` figures that
    override those of the chip, ``lang`` the language of its pages; :class:`Options` lists all of them. Without an operation
    ``let`` and ``solve`` alone are derived. Raises :class:`SymroofError` for anything that cannot be read, costed or decided.

    >>> d = derive("bf16[B, D_X] * bf16[D_X, F] -> bf16[B, F]", on="tpu-v5e", mesh={"X": 2}, link="ICI", solve_for="D")
    >>> d.answer.bound, d.answer.smallest_integer
    (78800/9, 8756)
    """
    if (sketch := sketch_of(operation, on, options)) is not None:
        from symroof.rendering.exploration_results import sketch_result

        return sketch_result(sketch)
    return ShownDerivation(**vars(run(problem_of(operation or {}, on, options))))
