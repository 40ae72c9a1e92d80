"""Formats of pages, and dialects: how a kind of document sets mathematics, in a line and on lines of its own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from unicodedata import category

from symroof.errors import RenderingError, require_one_of
from symroof.formula import Frozen


class Format(Frozen):
    """A format is a page template, and what stands around strong words and code."""

    page: str
    strong: tuple[str, str] = ("", "")
    code: tuple[str, str] = ("", "")


class Beside(Frozen):
    """What may touch a mark besides a space: characters of ASCII, and the Unicode categories of others."""

    ascii: str
    categories: frozenset[str] = frozenset()

    def allows(self, character: str) -> bool:
        if not character or character.isspace():
            return True
        return character in self.ascii if character.isascii() else category(character) in self.categories


class Bounds(Frozen):
    """Where mathematics in a line is read as such: what may stand before it and behind it, anything where None is said.
    Elsewhere a ``joint`` keeps it apart. ``marks`` is the pattern of what is bounded in the same way."""

    joint: str
    before: Beside
    behind: Beside | None = None
    marks: str | None = None


# The rules of docutils for strong words, code and roles; its joint leaves no trace.
MARKUP = Bounds(
    joint="\\ ",
    before=Beside("'\"([{<-/:", frozenset({"Ps", "Pi", "Pf", "Pd", "Po"})),
    behind=Beside("'\")]}>-/\\:.,;!?", frozenset({"Pe", "Pi", "Pf", "Pd", "Po"})),
    marks=r"``.+?``|\*\*.+?\*\*",
)
# GitHub opens no formula behind a letter or a Chinese comma; it closes one before anything but a letter or a digit of
# ASCII (github/markup 1742, and what authors of Chinese pages had to mend there).
GITHUB = Bounds(joint=" ", before=Beside("(["))


class Dialect(Frozen):
    """What stands around mathematics in a line and around a display; ``labelled`` is what stands around a display with
    a label, which takes the place of ``@``; None where there are no labels. Lines of a display have an ``indent``.
    One that is ``typeset`` has its formulas set as MathML at the end.
    Where it matters what touches mathematics, there are ``bounds``: Korean and Chinese have no space around it."""

    form: str
    inline: tuple[str, str] = ("", "")
    display: tuple[str, str] = ("", "")
    labelled: tuple[str, str] | None = None
    indent: str = ""
    bounds: Bounds | None = None
    typeset: bool = False

    @property
    def formula(self) -> str:
        """The pattern of mathematics in a line."""
        opening, closing = map(re.escape, self.inline)
        return rf"(?<!\\){opening}[^$`]*{closing}"

    def bounded(self, line: str) -> str:
        r"""The line with a joint wherever mathematics, strong words or code would not be read as such.

        >>> DIALECTS["rst"].bounded(":math:`B`는 :math:`D`, :math:`F`보다 작고 ``bf16``이다")
        ':math:`B`\\ 는 :math:`D`, :math:`F`\\ 보다 작고 ``bf16``\\ 이다'
        >>> DIALECTS["github"].bounded("若 $`D = F`$，$`B`$ 为 1"), DIALECTS["mathml"].bounded("若 $D = F$，$B$ 为 1")
        ('若 $`D = F`$， $`B`$ 为 1', '若 $D = F$，$B$ 为 1')
        """
        if self.bounds is None:
            return line
        joint, before, behind = self.bounds.joint, self.bounds.before, self.bounds.behind
        words, *rest = re.split(f"({'|'.join(filter(None, (self.formula, self.bounds.marks)))})", line)
        for mark, following in zip(rest[::2], rest[1::2], strict=True):
            words += ("" if before.allows(words[-1:]) else joint) + mark
            words += ("" if behind is None or behind.allows(following[:1]) else joint) + following
        return words

    def finished(self, text: str) -> str:
        """What was written, as it leaves."""
        if not self.typeset:
            return text
        from symroof.rendering.formulas.mathml import typeset  # which reads documents

        return typeset(text)

    def displayed(self, body: str, label: str | None = None) -> str:
        """A display, with its label where it has one.

        >>> DIALECTS["rst"].displayed("B > 240", "eq-rule")
        '.. math::\\n   :label: eq-rule\\n\\n   B > 240'
        """
        if label is not None and self.labelled is None:
            raise RenderingError("this kind of document has no labels of displays", expected="tex or rst")
        before, behind = self.display if label is None or self.labelled is None else self.labelled
        lines = "\n".join((self.indent + line).rstrip() for line in body.split("\n"))
        return f"{before}\n{lines}\n{behind}".replace("@", label or "@").rstrip("\n")


FORMATS = {
    "text": Format("page.txt.j2"),
    "markdown": Format("page.md.j2", strong=("**", "**"), code=("`", "`")),
    "latex": Format("page.tex.j2", strong=(r"\textbf{", "}"), code=(r"\texttt{", "}")),
    "rst": Format("page.rst.j2", strong=("**", "**"), code=("``", "``")),
}
DOLLAR, DOLLARS = ("$", "$"), ("$$", "$$")
DIALECTS: Mapping[str, Dialect] = {
    "dollar": Dialect("markdown", DOLLAR, DOLLARS, bounds=GITHUB),
    "github": Dialect("markdown", ("$`", "`$"), ("```math", "```"), bounds=GITHUB),
    "mathml": Dialect("markdown", DOLLAR, DOLLARS, typeset=True),
    "tex": Dialect("latex", DOLLAR, (r"\[", r"\]"), ("\\begin{equation}\\label{@}", r"\end{equation}")),
    "rst": Dialect("rst", (":math:`", "`"), (".. math::\n", ""), (".. math::\n   :label: @\n", ""), "   ", MARKUP),
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
        fitting = ", ".join(other_name for other_name, other in DIALECTS.items() if other.form == form)
        raise RenderingError(f"the dialect {name} is none of {form}", expected=fitting or "no dialect")
    return dialect


def dialect_named(name: str, why: str = "") -> Dialect:
    require_one_of(name, DIALECTS, f"unknown dialect {name!r}{why}")
    return DIALECTS[name]
