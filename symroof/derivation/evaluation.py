"""Quantities as functions on numbers: on scalars, on NumPy arrays, and on any array that follows NumPy's protocols.

A function is an expression that is walked once for a whole array. Whole numbers become floating-point numbers first:
the products of sizes do not fit into 64 bits, and NumPy would wrap them round in silence. In every sum and product the
scalars are joined before the arrays, so that an array is touched as seldom as in a line written by hand.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from fractions import Fraction
from functools import reduce
from operator import add, iadd, imul, itruediv, mul, truediv
from typing import Any

from sympy import Abs, Add, Expr, Max, Min, Mul, Pow, ceiling, exp, floor, log

from symroof.derivation.drafts import Draft
from symroof.derivation.pipeline import draft_of, up_to_ridge
from symroof.derivation.premises import Setting
from symroof.derivation.quantity_definitions import quantities, substitute
from symroof.derivation.size_constraints import require_valid
from symroof.derivation.times import steps_defined, times_defined
from symroof.errors import AlgebraError, ModelError, require_one_of
from symroof.formula import Formula, Frozen, Group, Name, names
from symroof.model.problem import Problem
from symroof.model.program import Program
from symroof.model.program_quantities import amounts
from symroof.model.quantities import TOKENS, time_name
from symroof.model.splits import padded_sizes
from symroof.proof.step import Reason, Step
from symroof.symbols import rational

# SymPy's functions in the standard library and in NumPy.
FUNCTIONS: Mapping[Any, tuple[Callable[..., Any], str]] = {
    Max: (max, "maximum"),
    Min: (min, "minimum"),
    exp: (math.exp, "exp"),
    log: (math.log, "log"),
    floor: (math.floor, "floor"),
    ceiling: (math.ceil, "ceil"),
    Abs: (abs, "abs"),
}


class QuantityFunction(Frozen):
    """A quantity of the ``parameters``, called by name or in their order. Values are floating-point numbers.

    Sizes are at least 1; one of the problem that nothing depends on may be said, and more than there are parameters are
    all of the problem. A figure that the problem does not know, such as the peak, is one more parameter. ``sizes``
    are those that a call does not have to say again, and those that are not there in the ``problem`` are refused.
    """

    name: str
    expression: Expr
    parameters: tuple[str, ...]
    sizes: Mapping[str, Any] = field(default_factory=dict)
    problem: Problem | None = field(default=None, compare=False, repr=False)

    def __call__(self, *sizes: Any, **named: Any) -> Any:
        names = dict.fromkeys((*(self.problem.names if self.problem else ()), *self.parameters))
        order = self.parameters if len(sizes) <= len(self.parameters) else tuple(names)
        if len(sizes) > len(order):
            wrong = f"{self.name} takes {len(self.parameters)} sizes, and there are {len(sizes)}"
            raise ModelError(wrong, expected=", ".join(self.parameters))
        values = dict(zip(order, sizes, strict=False))
        for name, value in named.items():
            require_one_of(name, names, f"{self.name} does not depend on {name}", ModelError)
            if name in values:
                raise ModelError(f"{name} is given twice")
            values[name] = value
        values = {**{name: size for name, size in self.sizes.items() if name in self.parameters}, **values}
        if self.problem is not None and self.problem.pad:
            values = padded_sizes(self.problem.operation, self.problem.mesh, values)
        missing = [name for name in self.parameters if name not in values]
        if missing:
            raise ModelError(f"{self.name} needs {', '.join(missing)} as well")
        floats = {name: as_floats(values[name]) for name in self.parameters}
        if self.problem is not None:
            for point in _points(self.problem, {**self.sizes, **values}):
                require_valid(self.problem, point)
        return evaluate(self.expression, floats)

    def __repr__(self) -> str:
        return f"<{self.name} of {', '.join(self.parameters) or 'nothing'}>"


def _points(problem: Problem, values: Mapping[str, Any]) -> Iterator[dict[str, Fraction]]:
    """The sizes and numbers of chips of a call: one set, or those of the elements of arrays; none where they are not bound to
    anything."""
    program = problem.operation
    if not (program.axes or program.where or program.facts or problem.assume):
        return
    sizes = {name: value for name, value in values.items() if name in (*program.dimensions, *problem.mesh)}
    if not any(hasattr(value, "shape") for value in sizes.values()):
        yield {name: Fraction(value) for name, value in sizes.items()}
        return
    import numpy

    for point in set(zip(*(part.flat for part in numpy.broadcast_arrays(*sizes.values())), strict=True)):
        yield {name: Fraction(as_floats(float(value))) for name, value in zip(sizes, point, strict=True)}


def function_of(setting: Setting, name: str) -> QuantityFunction:
    """The function of a named quantity of a problem, its known figures put in.

    >>> from symroof.derivation.premises import setting_of
    >>> from symroof.model.library import library_operation
    >>> from symroof.model.problem import Problem
    >>> intensity = function_of(setting_of(Problem(library_operation("matmul"))), "intensity")
    >>> intensity(B=256, D=8192, F=8192), intensity.parameters
    (240.94117647058823, ('B', 'D', 'F'))
    """
    (result,) = functions_of(setting, [name])
    return result


def functions_of(setting: Setting, names: Iterable[str]) -> tuple[QuantityFunction, ...]:
    """The functions of several quantities, proved beside one another."""
    return tuple(with_figures(setting, name, value) for name, value in draft_with(setting, names)[1].items())


def draft_with(setting: Setting, names: Iterable[str]) -> tuple[Draft, dict[str, Expr]]:
    """Several quantities in sizes and figures, proved beside one another, and the draft that knows them."""
    definitions, values = quantities(setting), dict[str, Expr]()
    for name in names:
        require_one_of(name, definitions, f"there is no quantity {name!r}", ModelError)
        values[name] = definitions[name]
    return require_proved(setting, values), values


def with_figures(setting: Setting, name: str, value: Expr) -> QuantityFunction:
    """The function of a value in sizes and figures, with the figures of a setting put in."""
    value = substitute(value, {figure.name: rational(x) for figure, x in setting.values.items()})
    order = {d: i for i, d in enumerate(setting.problem.operation.dimensions)}
    parameters = sorted((s.name for s in value.free_symbols), key=lambda s: (order.get(s, len(order)), s))
    return QuantityFunction(name, value, tuple(parameters))


def require_proved(setting: Setting, values: Mapping[str, Expr]) -> Draft:
    """The draft that knows the values of quantities. Raises :class:`CheckError` unless the second engine finds them from
    the counts as well."""
    draft, program = with_times(setting), setting.problem.operation
    spoken = (name for formula in setting.problem.let.values() for name in names(formula))
    draft = _amounts_defined(draft, program, dict.fromkeys((*values, *spoken)))
    for name, value in values.items():
        draft.add(Step("time", Reason.SAME, Group(Name(name)), "=", draft.write(value), setting.equalities))
    return draft


def with_times(setting: Setting) -> Draft:
    """A draft that knows the costs and all times of a problem, and what its author named."""
    draft, program = up_to_ridge(draft_of(setting)), setting.problem.operation
    draft = times_defined(draft, program)
    draft = draft if program.alone else steps_defined(draft, program)
    meanings = draft.ledger.meanings
    names = (time_name(setting.rates.called), "T_lower", "T_upper", "throughput", TOKENS, *setting.problem.let)
    later = (
        n for n in dict.fromkeys(names) if isinstance(meanings.get(n), Formula) and n not in draft.ledger.definitions
    )
    return draft.add(*(Step("time", Reason.LINE, Name(n), "=", draft.ledger.formula(n)) for n in later))


def _amounts_defined(draft: Draft, program: Program, names: Iterable[str]) -> Draft:
    """What the wanted amounts are that no line of a derivation speaks of: those of tensors, and what is 0."""
    counts, ledger = amounts(program, draft.setting.problem.count), draft.ledger
    missing = [name for name in names if name in counts and name not in ledger.definitions]
    steps = (
        Step("work", Reason.FACT, Name(n), "=", draft.write(counts[n]), evidence=ledger.evidence(n)) for n in missing
    )
    return draft.add(*steps)


def as_floats(value: Any) -> Any:
    """A number, or an array of them, in double precision."""
    if hasattr(value, "astype"):
        return value if str(getattr(value, "dtype", "")) == "float64" else value.astype("float64")
    try:
        if not 0 < value < math.inf:
            raise ModelError(f"{value} is no size", expected="a number above 0")
        return float(value)
    except OverflowError:
        raise AlgebraError("a size is beyond floating-point numbers", expected="sizes below 1e300") from None
    except (TypeError, ValueError):
        raise ModelError(f"{str(value)[:40]!r} is no size", expected="a number, or an array of numbers") from None


def evaluate_along(expression: Expr, values: Mapping[str, float], name: str, places: Sequence[float]) -> list[float]:
    """The values of an expression as one of its names runs over places, walked once for all of them.

    >>> from symroof.symbols import symbol
    >>> evaluate_along(symbol("B") * symbol("D"), {"B": 2.0}, "D", [1.0, 3.0])
    [2.0, 6.0]
    """
    import numpy

    result = evaluate(expression, {**values, name: numpy.array(places)})
    return [float(value) for value in numpy.broadcast_to(result, len(places))]


def evaluate(expression: Expr, values: Mapping[str, Any]) -> Any:
    """The value of an expression at numbers and arrays."""
    if expression.is_Symbol:
        return values[expression.name]
    if not expression.args:
        return float(expression)
    if isinstance(expression, Pow):
        return _power(evaluate(expression.base, values), expression.exp)
    if isinstance(expression, Mul):
        above, below = expression.as_numer_denom()
        if below != 1 and not below.is_Number:
            top = evaluate(above, values)
            return _operate("/", top, evaluate(below, values), own=not above.is_Symbol)
    if isinstance(expression, Add | Mul):
        arrays = {name for name, value in values.items() if _is_array(value)}
        ordered = sorted(
            expression.args, key=lambda part: not arrays.isdisjoint(s.name for s in part.free_symbols)
        )  # scalars first
        return _fold(
            "+" if isinstance(expression, Add) else "*",
            ((evaluate(part, values), not part.is_Symbol) for part in ordered),
        )
    if type(expression) not in FUNCTIONS:
        raise AlgebraError(f"{type(expression).__name__} has no numbers here")
    plain, name = FUNCTIONS[type(expression)]
    parts = [evaluate(part, values) for part in expression.args]
    if not any(map(_is_array, parts)):
        return float(plain(*parts))
    import numpy

    return reduce(getattr(numpy, name), parts) if len(parts) > 1 else getattr(numpy, name)(parts[0])


OPERATORS: Mapping[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "+": (add, iadd),
    "*": (mul, imul),
    "/": (truediv, itruediv),
}


def _fold(sign: str, parts: Iterable[tuple[Any, bool]]) -> Any:
    """The sum or product of values, each with whether it is ours to change: what is made here is changed in place."""
    total, own = None, False
    for part, fresh in parts:
        if total is None:
            total, own = part, fresh
        else:
            total, own = _operate(sign, total, part, own=own), True
        part = None  # let go of its memory before the next part is made
    return total


def _operate(sign: str, left: Any, right: Any, *, own: bool) -> Any:
    plain, in_place = OPERATORS[sign]
    fits = own and _is_array(left) and getattr(right, "shape", ()) in ((), left.shape)
    return (in_place if fits else plain)(left, right)


def _power(base: Any, exponent: Expr) -> Any:
    if exponent.is_Integer and 0 < exponent <= 4:
        return _fold("*", [(base, False)] * int(exponent))
    if exponent.is_Integer and exponent.is_negative:
        return 1.0 / _power(base, -exponent)
    return base ** float(exponent)


def _is_array(value: Any) -> bool:
    return not isinstance(value, float)
