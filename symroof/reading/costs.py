"""Operations that a problem gives by formulas of their costs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from symroof.errors import ReadingError, about
from symroof.formula import FUNCTIONS, KEYWORDS, Formula, Number, mapped, number
from symroof.model.dtype import dtype
from symroof.model.operation import CostFormula, Operation
from symroof.reading.expressions import read_expression
from symroof.reading.scope import Scope
from symroof.reading.toml import flag, text, texts, unfit

COSTS = ("flops", "reads", "writes")
SIZE = re.compile(r"[^\W\d]\w*\b(?!\s*\()")  # a word that is no function


def costs_of(options: Mapping[str, Any]) -> Operation:
    """The operation that three formulas give: its FLOPs, the bytes that it reads and those that it writes.

    Its sizes are the words in them that are no functions; a run of capitals is a product of letters.

    >>> costs = {"flops": "2*nnz", "reads": "12*nnz + 8*N", "writes": "8*N", "vector": True}
    >>> costs_of({"operation": "sparse product", **costs}).dimensions
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
    name, compute = text(options, "operation") or "", text(options, "compute")
    return Operation(name, flops, reads, writes, None if compute is None else dtype(compute), vector)


def _as_printed(node: Formula) -> Formula:
    """A number by its value, however it was typed."""
    return number(node.value) if isinstance(node, Number) else node
