"""The audit at the exit: what a record says, read back as anyone would read it, is what some step of the derivation says.

Every formula of an answer is read by the reader of formulas and compared with the steps: under the name of a quantity it
has to be what a step says of that quantity, elsewhere a side, a case or a part of one. Every number is one of a step, and
every float the nearest one of the exact number beside it. Formulas are compared by their values modulo a prime, with a
number for each name: two different ones agree there once in 10^18.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

from symroof.derivation.setting import Setting
from symroof.errors import ReadingError
from symroof.formula import Both, Compare, Either, Formula, Infinity, Verdict
from symroof.model.stages import pipeline_of
from symroof.proof.step import Step
from symroof.reading.claims import read_regime
from symroof.reading.expressions import read_expression
from symroof.reading.scope import Scope
from symroof.rendering.hearing import apart, inside
from symroof.rendering.told import RELATIONS, Told, nearest, unlike

# What is no formula: names and words.
WORDS = frozenset(
    (
        "variable",
        "outcome",
        "bound_by",
        "name",
        "text",
        "collective",
        "axes",
        "operand",
        "pass",
        "over",
        "form",
        "bracket",
        "cancelled",
        "change",
        "chip",
        "dominant",
        "dtype",
        "error",
        "leaders",
        "link",
        "longest",
        "nearest",
        "quantity",
        "regime",
    )
)
# Parts of which the record says something of its own: conditions with a bound of another step put in, and lists of ends.
COMPOSED = frozenset(("within", "optimum", "solution", "let"))
# The relations of conditions and regimes.
ORDERS = (*RELATIONS, "<<", "~~", "~", "->")
SIGNS = frozenset((*ORDERS, "<=>", "=>"))
# What a record says of itself and of how it was checked.
NO_CLAIMS = frozenset(
    (
        "schema",
        "id",
        "section",
        "reason",
        "latex",
        "check",
        "status",
        "by",
        "hardware",
        "operation",
        "symbols",
        "title",
        "approximation",
        "assume",
        "count",
        "corners",
    )
)
# Tables by the name of a resource or a growth, and what each line of them is.
QUANTITIES = {"T": "T_{}", "sent_over": "sent({})", "limits": "limit {}"}


class Audit(Told):
    """What the steps of an answer say, so that each part of a record can be held against it."""

    def __init__(self, steps: Iterable[Step], setting: Setting | None) -> None:
        super().__init__(steps, setting)
        self.joint = setting is not None and setting.rates.joint
        self.waits = setting is not None and pipeline_of(setting.problem.operation) is not None
        self.numbers.add(Fraction(1))  # of chips, where there is one

    @cached_property
    def floats(self) -> set[float]:
        """The floats that stand for the numbers of steps."""
        return set(map(nearest, self.numbers))

    @cached_property
    def scope(self) -> tuple[str, ...]:
        return tuple(sorted(self.names))

    def require_tree(self, tree: Any, key: str = "") -> None:
        """Raises :class:`~symroof.errors.CheckError` where a record of formulas and numbers holds one that no step says."""
        match tree:
            case {"exact": str(exact), "float": value}:
                self._float(key, exact, value)
                self.require_tree(exact, key)
            case dict():
                for name, part in tree.items():
                    if name.endswith("float"):
                        self._float(name, tree.get(name.removesuffix("_float"), tree.get("value")), part)
                    elif name not in WORDS and name not in NO_CLAIMS:
                        self.require_tree(part, name)
            case list():
                for part in tree:
                    self.require_tree(part, key)
            case str() if tree not in SIGNS:
                self._formula(key, tree, None)
            case int() if not isinstance(tree, bool) and Fraction(tree) not in self.numbers:
                raise unlike(key, tree)
            case float() if tree not in self.floats:
                raise unlike(key, tree)

    def require_regime(self, key: str, text: str) -> None:
        """Raises :class:`~symroof.errors.CheckError` for a regime that no step assumes."""
        for relation in read_regime(text, Scope(self.scope, open=True)) if text else ():
            if self.value(relation) not in self.parts:
                raise unlike(key, text)

    def require(self, record: Mapping[str, Any]) -> None:
        """Raises :class:`~symroof.errors.CheckError` where an answer says what no step does."""
        self._answer(record, None)
        if [point["values"] for point in record.get("at", ())] != [_written(point) for point in self.points]:
            raise unlike("at", [point["values"] for point in record["at"]])
        for i, point in enumerate(record.get("at", ())):
            self._answer(point, i)
            for row in point.get("times", ()):
                self._row(row)

    def _answer(self, tree: Mapping[str, Any], point: int | None, of: str = "") -> None:
        self._words(tree)
        for key, value in tree.items():
            if key in COMPOSED or key in ("at", "times", "values"):
                continue
            if key.endswith("_float"):
                self._float(key, tree.get(key.removesuffix("_float")), value)
            elif isinstance(value, dict):
                called = QUANTITIES.get(key, "{}")
                self._answer({called.format(name): one for name, one in value.items()}, point, of)
            elif isinstance(value, list):
                for one in value:
                    if isinstance(one, dict):
                        self._answer(one, point, f"({one['name']})" if key == "statements" else of)
            elif isinstance(value, str) and key not in WORDS:
                self._formula(key + of, value, point)
            elif isinstance(value, int) and not isinstance(value, bool) and Fraction(value) not in self.numbers:
                raise unlike(key, value)

    def _words(self, tree: Mapping[str, Any]) -> None:
        """A condition is solved for its variable and comes out as it says; a collective is one of those that were played."""
        if "collective" in tree and (tree["collective"], *tree["axes"]) not in self.moved:
            raise unlike("collective", tree["collective"])
        exact, outcome = tree.get("exact"), tree.get("outcome")
        if isinstance(exact, str) and outcome is not None:
            by_itself = exact in ("always", "never")
            word = exact if by_itself and tree.get("otherwise") is None else "depends"
            if outcome.split()[0] != word or not (by_itself or tree["variable"] in exact):
                raise unlike("outcome", outcome)

    def _formula(self, key: str, text: str, point: int | None) -> None:
        if len(rows := apart(text.removesuffix(" otherwise"), "; ")) > 1:
            for row in rows:
                self._formula(key, row, point)
            return
        found = _read(text, self.scope)
        if found is None:
            raise unlike(key, text)
        if isinstance(found, Compare | Both | Either | Verdict):
            if not self.holds(found):
                raise unlike(key, text)
            return
        value, known = self.value(found), self.said.get((key, point))
        if not self.says(found) if known is None else value not in known:
            raise unlike(key, text)

    def _float(self, key: str, exact: Any, value: Any) -> None:
        number = _number(exact)
        if number is None or value is None:
            return
        try:
            near = float(number)
        except OverflowError:
            return
        digits = abs(near) * 1e-7 if "." in str(exact) else 0
        if abs(near - value) > digits:
            raise unlike(key, value)

    def _row(self, row: Mapping[str, Any]) -> None:
        """T_lower is the largest and T_upper the sum of the times of the row, each of them a number of a step."""
        if _number(row["size"]) not in self.numbers:
            raise unlike("size", row["size"])
        times = {name: value for name, value in row.items() if name.startswith("T_")}
        if not self.floats.issuperset(times.values()):
            raise unlike("times", row)
        each = [value for name, value in times.items() if name not in ("T_lower", "T_upper", "T_steps", "T_comms")]
        each += [] if self.joint else [times["T_comms"]]  # which is one of those beside it, or a resource of its own
        parts = sum(each) - times.get("T_latency", 0)  # of exchanges the longer of bytes and hops are in T_upper
        waits = self.waits or "T_latency" in times
        if times["T_lower"] != max(each) or not _is_sum(times["T_upper"], parts, waits=waits):
            raise unlike("times", row)
        steps = times.get("T_steps", times["T_lower"])  # sums of the same numbers in another order
        if not times["T_lower"] * (1 - 1e-12) <= steps <= times["T_upper"] * (1 + 1e-12):
            raise unlike("times", row)
        if (row["bound_by"] in ("compute", "both")) != (times["T_math"] == times["T_lower"]):
            raise unlike("bound_by", row["bound_by"])


def _is_sum(upper: float, parts: float, *, waits: bool) -> bool:
    """Whether nothing overlaps; the stages of a pipeline, and hops, wait beside that."""
    return upper >= parts * (1 - 1e-12) if waits else abs(upper - parts) <= 1e-12 * upper


def _written(point: Mapping[str, Fraction]) -> dict[str, str]:
    return {name: str(size) for name, size in point.items()}


def _number(exact: Any) -> Fraction | None:
    try:
        return Fraction(exact) if isinstance(exact, str) else None
    except (ValueError, ZeroDivisionError):
        return None


@lru_cache(maxsize=512)
def _read(text: str, known: tuple[str, ...]) -> Formula | None:
    """A formula or a condition; None for what is neither."""
    try:
        return _condition(text, Scope(known, open=True))
    except ReadingError:
        return None


def _condition(text: str, scope: Scope) -> Formula:
    text = inside(text) if any(f" {relation} " in text for relation in ORDERS) else text
    for word, joined in ((" or ", Either), (" and ", Both)):
        if len(parts := apart(text, word)) > 1:
            return joined(tuple(_condition(part, scope) for part in parts))
    for relation in ORDERS:
        if f" {relation} " in text:
            left, _, right = text.partition(f" {relation} ")
            return Compare(read_expression(left, scope), relation, _side(right, scope))
    return Verdict(text == "always") if text in ("always", "never") else read_expression(text, scope)


def _side(text: str, scope: Scope) -> Formula:
    return Infinity() if text == "oo" else read_expression(text, scope)
