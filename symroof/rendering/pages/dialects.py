"""Formats of pages, and dialects: how a kind of document sets mathematics, in a line and on lines of its own."""

from __future__ import annotations

from collections.abc import Mapping

from symroof.errors import RenderingError, require_one_of
from symroof.formula import Frozen


class Format(Frozen):
    """A format is a page template, a template of sentences, and what stands around strong words and around code."""

    page: str
    prose: str
    strong: tuple[str, str] = ("", "")
    code: tuple[str, str] = ("", "")


class Dialect(Frozen):
    """What stands around mathematics in a line and around a display; ``labelled`` is what stands around a display with
    a label, which takes the place of ``@``; None where there are no labels. Lines of a display have an ``indent``."""

    form: str
    inline: tuple[str, str] = ("", "")
    display: tuple[str, str] = ("", "")
    labelled: tuple[str, str] | None = None
    indent: str = ""

    def displayed(self, body: str, label: str | None = None) -> str:
        """A display, with its label where it has one.

        >>> DIALECTS["quarto"].displayed("B > 240", "eq-rule")
        '$$\\nB > 240\\n$$ {#eq-rule}'
        """
        if label is not None and self.labelled is None:
            raise RenderingError("this kind of document has no labels of displays", expected="tex, rst, myst or quarto")
        before, behind = self.display if label is None or self.labelled is None else self.labelled
        lines = "\n".join((self.indent + line).rstrip() for line in body.split("\n"))
        return f"{before}\n{lines}\n{behind}".replace("@", label or "@").rstrip("\n")


FORMATS = {
    "text": Format("page.txt.j2", "terse.j2"),
    "markdown": Format("page.md.j2", "prose.j2", ("**", "**"), ("`", "`")),
    "latex": Format("page.tex.j2", "prose.j2", (r"\textbf{", "}"), (r"\texttt{", "}")),
    "rst": Format("page.rst.j2", "prose.j2", ("**", "**"), ("``", "``")),
}
DOLLAR, DOLLARS = ("$", "$"), ("$$", "$$")
DIALECTS: Mapping[str, Dialect] = {
    "dollar": Dialect("markdown", DOLLAR, DOLLARS),
    "github": Dialect("markdown", ("$`", "`$"), ("```math", "```")),
    "kramdown": Dialect("markdown", DOLLARS, DOLLARS),
    "myst": Dialect("markdown", DOLLAR, DOLLARS, ("$$", "$$ (@)")),
    "quarto": Dialect("markdown", DOLLAR, DOLLARS, ("$$", "$$ {#@}")),
    "tex": Dialect("latex", DOLLAR, (r"\[", r"\]"), ("\\begin{equation}\\label{@}", r"\end{equation}")),
    "rst": Dialect("rst", (":math:`", "`"), (".. math::\n", ""), (".. math::\n   :label: @\n", ""), indent="   "),
}
# The dialect of a format where none is asked for.
USUAL = {"markdown": "dollar", "latex": "tex", "rst": "rst"}
PLAIN = Dialect("text")


def dialect_of(form: str, name: str | None) -> Dialect:
    """The dialect of a page: the one that is asked for, or the usual one of its format.

    >>> dialect_of("markdown", "github").inline
    ('$`', '`$')
    """
    if form not in FORMATS and form != "claims":
        raise RenderingError(f"unknown format {form!r}", expected=f"one of {', '.join(FORMATS)}, json")
    name = name or USUAL.get(form)
    if name is None:
        return PLAIN
    dialect = dialect_named(name)
    if dialect.form != form:
        fitting = ", ".join(known for known, other in DIALECTS.items() if other.form == form)
        raise RenderingError(f"the dialect {name} is none of {form}", expected=fitting or "no dialect")
    return dialect


def dialect_named(name: str, why: str = "") -> Dialect:
    require_one_of(name, DIALECTS, f"unknown dialect {name!r}{why}")
    return DIALECTS[name]
