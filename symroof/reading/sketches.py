"""Problems without an operation: named formulas, and a relation between them, are all there is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from symroof.errors import ReadingError
from symroof.model.quantities import QUANTITIES
from symroof.model.sketch import Sketch
from symroof.reading.inquiries import figure_names, points_of, read_minimize, read_solve
from symroof.reading.languages import language_of
from symroof.reading.problems import hardware_of, model_of, require_known, sections_of
from symroof.reading.scope import Scope
from symroof.reading.toml import text

# What speaks of an operation, and of nothing else.
OF_OPERATIONS = ("mesh", "link", "count", "dtype", "flops", "reads", "writes", "vector")


def read_sketch(options: Mapping[str, Any]) -> Sketch:
    """The sketch that a table of options describes.

    >>> read_sketch({"let": {"chips": "weights/capacity"}, "symbols": ["weights", "capacity"]}).let.keys()
    dict_keys(['chips'])
    """
    require_known(options)
    for key in OF_OPERATIONS:
        if options.get(key):
            raise ReadingError(f"{key} speaks of an operation, and the problem has none", expected='operation = "…"')
    model = model_of(options, hardware_of(options), None, ())
    growing = [relation for relation in model["assume"] if relation.relation != "="]
    if growing:
        raise ReadingError("assume: a regime is of an operation", expected="an equality, or an operation to derive")
    free = tuple(name for name in QUANTITIES if name not in (*model["symbols"], *model["let"]))
    names = (*model["symbols"], *model["let"], *free, *figure_names(model["hardware"]))
    scope = Scope(names, open=True, give_way=() if "bytes" in names else ("bytes",))
    solve, solve_for = read_solve(options, scope)
    least = read_minimize(options, scope, None)
    sections_of(options)
    return Sketch(
        **model,
        title=text(options, "title"),
        at=points_of(options, scope),
        solve=solve,
        solve_for=solve_for,
        lang=language_of(options),
        **least,
    )
