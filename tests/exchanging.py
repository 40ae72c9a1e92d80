"""What a derivation exchanges, as its model names it: for tests that carry the exchanges out."""

from dataclasses import dataclass
from typing import Any

from symroof.model.chip_costs import chip_costs, message


@dataclass(frozen=True)
class Exchange:
    collective: str
    axes: tuple[str, ...]
    operand: str
    payload: Any
    link: str
    wiring: str


def exchanges(d):
    """The exchanges of a derivation, in their order; the operand is called as prose calls it."""
    program = d.setting.problem.operation
    mesh = {axis.name: axis for axis in getattr(program, "mesh", ())}
    moves = (move for cost in chip_costs(program).values() for move in cost.moves) if mesh else ()
    return [
        Exchange(
            m.collective,
            m.axes,
            program.called(str(m.tensor.name)),
            message(m, program),
            mesh[m.axes[0]].link,
            mesh[m.axes[0]].wiring,
        )
        for m in moves
    ]
