"""What arrays share before and after a reshape, and what numbers come to that no argument goes into."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from symroof.tracing.traced import Constant, Equation, Numbers


def grouped(before: Sequence[Numbers], after: Sequence[Numbers]) -> Iterable[tuple[list[int], list[int]]]:
    """Dimensions that hold the same elements before and after a reshape, as few together as it goes."""
    i = j = 0
    while i < len(before) or j < len(after):
        own, new = ([i] if i < len(before) else []), ([j] if j < len(after) else [])
        i, j = i + len(own), j + len(new)
        while _size(before, own) != _size(after, new):
            if j < len(after) and (i >= len(before) or _size(before, own)[0] > _size(after, new)[0]):
                new.append(j)
                j += 1
            elif i < len(before):
                own.append(i)
                i += 1
            else:
                break
        yield own, new


def _size(shape: Sequence[Numbers], places: Iterable[int]) -> Numbers:
    found = [1] * len(shape[0]) if shape else [1]
    for place in places:
        found = [a * b for a, b in zip(found, shape[place], strict=True)]
    return tuple(found)


def folded_constant(equation: Equation, operands: Sequence[Constant]) -> Constant:
    """What numbers come to, where that is a number."""
    values, single = [constant.values for constant in operands], equation.results[0].shape == ()
    forms: dict[str, Callable[..., float]] = {
        "sqrt": lambda x: x**0.5, "rsqrt": lambda x: x**-0.5, "convert_element_type": lambda x: x, "neg": lambda x: -x,
        "mul": lambda x, y: x * y, "div": lambda x, y: x / y, "add": lambda x, y: x + y, "sub": lambda x, y: x - y,
        "pow": lambda x, y: x**y, "integer_pow": lambda x: x ** equation.params["y"], "broadcast_in_dim": lambda x: x,
    }  # fmt: skip
    form = forms.get(equation.primitive)
    if form is None or not values or any(value is None for value in values):
        return Constant(None, single)
    try:
        return Constant(tuple(form(*each) for each in zip(*(v for v in values if v is not None), strict=True)), single)
    except (ArithmeticError, TypeError):
        return Constant(None, single)
