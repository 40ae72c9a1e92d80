"""A limit on the time that one claim may take."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

SECONDS = 5.0


class Impatience(Exception):  # noqa: N818
    """The time of a claim is over."""


@contextmanager
def limited(seconds: float = SECONDS) -> Iterator[None]:
    """Raise :class:`Impatience` inside the block once the time is over.

    Only the main thread of a system with interval timers can interrupt itself; elsewhere the bounds on the size of
    formulas are the only limit.
    """
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: Any) -> None:
        raise Impatience

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
