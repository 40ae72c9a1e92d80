"""Documents with the blocks and values that other functions answer."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from symroof.api.deriving import derive
from symroof.api.exploring import compare, page, plot, regimes
from symroof.building.build import build as run
from symroof.building.built_document import BuiltDocument
from symroof.rendering.report import claims_of

# What answers each verb of a block.
MAKERS = {**{maker.__name__: maker for maker in (derive, regimes, compare, plot, page)}, "verify": claims_of}
build_with = partial(run, makers=MAKERS)


def build(
    text: str,
    *,
    path: str | Path | None = None,
    dialect: str | None = None,
    given: Mapping[str, Any] | None = None,
    lang: str | None = None,
    force: bool = False,
) -> BuiltDocument:
    """Write the blocks and values of a document anew: its text with derivations that are true.

    ``path`` tells the format, and where the files lie that it names; ``given`` are options of problems that go before
    those of the document, ``lang`` is a language that goes before the one that it says, ``force`` overwrites what was
    changed by hand. Raises :class:`SymroofError` where its markers cannot be read; a block that fails is in ``blocks``,
    and stays as it was.

    >>> text = "From <!-- symroof = mm.smallest_integer -->200<!-- / --> on.\\n\\n<!-- symroof derive\\nid = 'mm'\\n"
    >>> text += "operation = 'matmul'\\nhardware = 'tpu-v5e'\\nassume = 'B << D, F'\\nsections = ['rule']\\n-->\\n"
    >>> build(text).text.splitlines()[0]
    'From <!-- symroof = mm.smallest_integer -->241<!-- / --> on.'
    """
    place, overrides = Path(path) if path is not None else None, {"lang": lang, **(given or {})}
    return build_with(text, path=place, dialect=dialect, overrides=overrides, force=force)
