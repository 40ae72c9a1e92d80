"""How much is drawn. A run of the whole suite takes a part of each law; ``pytest --thorough``, a file that is named or ``-k`` takes all."""

from __future__ import annotations

import os
from collections import defaultdict
from hashlib import blake2s
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

USUAL = 2  # so many cases of a test for which nothing else is said
VARIABLE = "SYMROOF_THOROUGH"  # known before anything is collected, and to every worker


def decide(config: pytest.Config) -> None:
    chosen = config.args_source is not config.ArgsSource.TESTPATHS or config.option.keyword or config.option.markexpr
    os.environ.setdefault(VARIABLE, "1" if config.option.thorough or config.option.renew or chosen else "0")


def is_thorough() -> bool:
    return os.environ.get(VARIABLE) != "0"


def draws(count: int) -> int:
    """So many random draws; a quarter of them in a run of the whole suite."""
    return count if is_thorough() else -(-count // 4)


def left_out(items: list[pytest.Item]) -> set[pytest.Item]:
    """What a run of the whole suite leaves out: tests marked ``thorough``, and of every other one all but a few cases: all but
    n, where it is marked ``part(n)``.

    Which cases stay is drawn by their names: always the same, and no grid of parameters falls into step with them.
    """
    cases: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        cases[item.nodeid.split("[")[0]].append(item)
    out = {item for item in items if item.get_closest_marker("thorough")}
    for of_one in cases.values():
        part = of_one[0].get_closest_marker("part")
        stay = part.args[0] if part else USUAL
        out |= set(sorted(of_one, key=lambda item: blake2s(item.nodeid.encode()).digest())[stay:])
    return out
