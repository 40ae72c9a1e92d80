"""The environment of templates that a user wrote: nothing of Python is reached, nothing is changed, nothing grows without
bound. Imported by the environment alone."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps
from typing import Any

from jinja2.exceptions import SecurityError
from jinja2.sandbox import ImmutableSandboxedEnvironment

LARGEST = 1_000_000  # characters or turns
WIDE = re.compile(r"[%:.][^\d\s{}%]*\d{6,}")  # in a format
# Filters that make as much as a number or a format says.
GROWING = ("batch", "center", "format", "indent", "join", "replace", "slice", "truncate", "wordwrap")


class Bounded(ImmutableSandboxedEnvironment):
    """A sandbox in which products, powers, formats, and the turns of all loops over ranges have a bound."""

    intercepted_binops = frozenset(("*", "**", "%", "+", "//"))

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.turns = 0
        self.globals["range"] = self.ranged
        for name in GROWING:
            self.filters[name] = _bounded(self.filters[name])

    def ranged(self, *ends: int) -> range:
        """A range, counted: those of one environment have a million turns in all."""
        result = range(*ends)
        self.turns += len(result)
        if self.turns > LARGEST:
            raise SecurityError(f"loops have more than {LARGEST} turns")
        return result

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        if operator in ("*", "+") and any(map(_long, (left, right))):
            times = next((n for n in (left, right) if isinstance(n, int)), 1) if operator == "*" else 1
            length = sum(len(operand) for operand in (left, right) if _long(operand))
            _require(length * times <= LARGEST)
        if operator == "**":
            _require(isinstance(right, int) and abs(right) <= 64 and abs(left) < LARGEST)
        if operator == "%" and isinstance(left, str):
            _require(not WIDE.search(left))
        return super().call_binop(context, operator, left, right)

    def wrap_str_format(self, value: Any) -> Any:
        own = getattr(value, "__self__", None)
        _require(not isinstance(own, str) or not WIDE.search(own))
        return super().wrap_str_format(value)

    def call(__self, __context: Any, __obj: Any, *arguments: Any, **options: Any) -> Any:  # noqa: N805
        if isinstance(getattr(__obj, "__self__", None), str):
            _require_small((__obj.__self__, *arguments, *options.values()))
        return super().call(__context, __obj, *arguments, **options)


def _long(value: object) -> bool:
    return isinstance(value, str | list | tuple)


def _bounded(filter_function: Callable[..., object]) -> Callable[..., object]:
    @wraps(filter_function)
    def small(*arguments: object, **options: object) -> object:
        _require_small((*arguments, *options.values()))
        _require(filter_function.__name__ != "do_format" or not WIDE.search(str(arguments[0])))
        return filter_function(*arguments, **options)

    return small


def _require_small(values: tuple[object, ...]) -> None:
    for value in values:
        _require(not isinstance(value, int) or abs(value) <= LARGEST)
        _require(not isinstance(value, str) or len(value) <= LARGEST)


def _require(small: bool) -> None:
    if not small:
        raise SecurityError(f"it would make more than {LARGEST} characters")
