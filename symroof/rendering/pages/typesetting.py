"""How formulas, numbers and words are set in a line of prose, in each format; templates call this."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from math import inf
from typing import Any, TypeAlias

from symroof.derivation.drafts import INTENSITY
from symroof.derivation.formula_writing import Layout
from symroof.errors import RenderingError
from symroof.formula import Compare, Formula, Frozen, Name, Number, Quotient, Sum, nodes, number
from symroof.model.problem import Problem
from symroof.reading.languages import USUAL_LANGUAGE
from symroof.rendering.formulas.plain import GREEK, Letters, PlainPrinter, Words
from symroof.rendering.formulas.tex import FoldingPrinter, LatexPrinter, breadth, in_line
from symroof.rendering.pages.dialects import FORMATS, Dialect, dialect_of
from symroof.rendering.pages.number_formats import readable, to_digits
from symroof.rendering.pages.templating import load, words
from symroof.rendering.pages.terminal import NBSP, close_up, glue

# The room of a fraction or a bracket in a line of prose.
ROOM = 36
# What stands above a bar in a column that goes over lines, at most; and the room of a term of a sum there.
BAR, TERM = 17, 14
TEX_SPECIAL = (
    {c: "\\" + c for c in "&%$#_{}"}
    | {
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "\\": r"\textbackslash{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "-": "-{}",
    }
    | {c: rf"$\{name}$" for c, name in GREEK.items()}
)


class Style(Frozen):
    """How a page is to look: ``brief`` is the answer alone, with the text of a ``program`` that has a name
    where that is wanted too, ``full`` all of the derivation of a long program, ``heading`` the level of the title (0 for none; a LaTeX page
    without a title is a fragment), ``template`` a folder whose templates replace the shipped ones, ``lang`` its language
    (where none is said, that of the problem). For a document: its ``dialect``, and the ``label`` of its displays. For a
    terminal: its ``width``, and whether it shows more than ASCII and in ``colour``. A report that ``hints`` says where to
    look, and not what is right."""

    brief: bool = False
    heading: int = 3
    template: str | None = None
    dialect: str | None = None
    label: str | None = None
    width: int = 96
    unicode: bool = True
    colour: bool = False
    lang: str | None = None
    program: bool = False
    full: bool = False
    hints: bool = False

    def of(self, problem: Problem) -> Style:
        """In the language of a problem, where none is asked for."""
        return replace(self, lang=self.lang or problem.lang)

    @property
    def language(self) -> str:
        return self.lang or USUAL_LANGUAGE

    @property
    def words(self) -> Any:
        """The rules and the small words of the language."""
        return words(self.template, self.language)


class Typesetter(Frozen):
    """Sets formulas, numbers, code and words in one format, or as ``claims`` that are read back; ``inner`` breaks broad formulas in a line."""

    form: str
    printer: LatexPrinter | PlainPrinter
    layout: Layout
    style: Style = Style()
    inner: FoldingPrinter | None = None

    @property
    def dialect(self) -> Dialect:
        return dialect_of(self.form, self.style.dialect)

    @property
    def lettered(self) -> Typesetter:
        """The typesetter that writes a letter for every size with a long name."""
        return replace(self, printer=replace(self.printer, letters=self.printer.letters.shortened))

    @property
    def folded(self) -> Typesetter:
        """The typesetter that breaks fractions and brackets in lines of prose where they are broader than their room."""
        inner = FoldingPrinter(self.printer.letters, self.printer.words, ROOM)
        return replace(self, inner=inner)

    @property
    def letters(self) -> tuple[tuple[str, str], ...]:
        """The letters that stand for names on this page, with the names."""
        return tuple((self.inline(Name(name)), self.code(name)) for name, _ in self.printer.letters.stands_for)

    def inline(self, *parts: object) -> str:
        """Mathematics in a line of prose: formulas, relations between them, and lists."""
        text = " ".join(self._part(part) for part in parts)
        if self.form in ("text", "claims"):
            return glue(text) if self.form == "text" else text
        return text.join(self.dialect.inline)

    def equal(self, names: tuple[Formula, ...], *value: Formula) -> str:
        """Names of one value: D = F, or D = F = 8192."""
        return self.inline(*[sign for part in (*names, *value) for sign in ("=", part)][1:])

    def condition(self, relations: Iterable[Compare], last: str = ", ", comma: str = ", ") -> str:
        """Relations of a regime with a ``comma`` between them; with plain commas they can be given to ``--assume``.

        >>> from symroof.formula import Infinity
        >>> claims_typesetter(Layout(())).condition([Compare(Name(name), "->", Infinity()) for name in "NM"])
        'N, M -> oo'
        """
        # a list before -> must not follow << with a comma, where it would be read as a part of that
        relations = tuple(relations)
        items = sorted(chained(relations), key=lambda item: item[-2] != "->")
        texts = [self.inline(*(f"regime {part}" if isinstance(part, str) else part for part in item)) for item in items]
        return last.join([comma.join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)

    def _part(self, part: object) -> str:
        match part:
            case Formula() if self.inner is not None:
                return self._broken(part, self.inner)
            case Formula():
                return self.printer.print(part)
            case str():
                return self.printer.relation(part)
            case int() | Fraction():
                return self.printer.print(self.layout.write(part))
            case tuple() | list():
                return ", ".join(self._part(item) for item in part)
        raise RenderingError(f"a template sets {type(part).__name__} as mathematics")

    def _broken(self, part: Formula, inner: FoldingPrinter) -> str:
        """A formula in a line that has less room than it takes. In LaTeX a fraction with a broad sum above is a sum
        over lines, divided: what stands above a bar is not broken."""
        joint = r" \allowbreak " if self.form == "latex" else " "
        quiet = replace(inner, room=TERM)
        if (
            self.form != "latex"
            or not (isinstance(part, Quotient) and isinstance(part.above, Sum))
            or any(isinstance(node, Sum) for node in nodes(part.below))
            or breadth(replace(quiet, room=inf).print(part.above)) <= BAR
        ):
            return in_line(inner.print(part), joint)
        above, below = quiet.print(part.above), quiet.print(part.below)
        under = below if isinstance(part.below, Name | Number) else f"({below})"
        return f"({in_line(above, joint)})/{under}"

    def code(self, text: str) -> str:
        text = text.replace("{{", "{ {").replace("{%", "{ %").replace("{#", "{ #")
        return (tex(text) if self.form == "latex" else text).join(FORMATS[self.form].code)

    def words(self, text: str) -> str:
        """Words of the user's in prose: what a format would read as its own signs is taken as itself."""
        if self.form == "latex":
            return tex(text)
        return re.sub(r"([\\`*_$<{}|\[\]])", r"\\\1", text) if self.form in ("markdown", "rst") else text

    def line(self, text: str) -> str:
        """A line of prose as a sheet has it: Chinese is closed up, and mathematics stands where its dialect reads it."""
        return self.dialect.bounded(close_up(text))

    def strong(self, text: str) -> str:
        return text.join(FORMATS[self.form].strong)

    @property
    def thin(self) -> str:
        """What stands between a number and its unit."""
        return {"text": NBSP, "latex": "\\,"}.get(self.form, " ")

    def percent(self, value: str) -> str:
        r"""
        >>> typesetter_of("latex", Layout(()), "HBM", Style()).percent("5")
        '5\\,\\%'
        """
        sign = r"\%" if self.form == "latex" else "%"
        return f"{value}{self.thin if self.style.words.percent_stands_apart else ''}{sign}"

    def percent_of(self, value: Fraction | int) -> str:
        return self.percent(to_digits(Fraction(value), 2) if value != int(value) else str(int(value)))

    def share(self, share: Fraction, text: str = "") -> str:
        """A share in percent, in its usual digits where it is in no others."""
        return self.percent(text) if text else self.percent_of(share * 100)

    def amount(self, value: str, unit: str) -> str:
        """A number with its unit, where it has one; a microsecond has a letter that not every format can show."""
        if not unit:
            return self.inline(Number(Fraction(value), value))
        if "e" in value:
            value = self.inline(Number(Fraction(value), value))
        if unit == "us":
            unit = r"$\mu$s" if self.form == "latex" else "µs" if self.style.unicode else unit
        return f"{value}{self.thin}{unit}"

    def sentences(self, template: str, phrases: Any = None, **names: object) -> Sentences:
        """The macros of a template, which set their formulas with this typesetter, and phrases, by default the small words."""
        own = {
            "m": self.inline,
            "bytes_of": lambda number: self.amount(*readable(number.value, "bytes")),
            "formulas": lambda formulas: [self.inline(formula) for formula in formulas],
            "plain": self.printer.print,
            "code": self.code,
            "words": self.words,
            "pct": self.percent_of,
            "percent": self.share,
            "equal": self.equal,
            "form": self.form,
            "quotient": Quotient,
            "one": number(1),
            "intensity": INTENSITY,
        }
        return Sentences(
            load(template, self.style.template, self.style.language, own | names), phrases or self.style.words
        )


# Formulas, then relations and formulas in turn; formulas side by side stand with commas.
Item: TypeAlias = "list[str | tuple[Formula, ...]]"


def chained(relations: Iterable[Compare]) -> list[Item]:
    """The relations joined where one goes on from the one before: ``B ~~ D << F``, ``B << D, F``.

    >>> B, D, F = map(Name, "BDF")
    >>> chained([Compare(B, "<<", D), Compare(B, "<<", F)]) == [[(B,), "<<", (D, F)]]
    True
    >>> chained([Compare(B, "~~", D), Compare(D, "<<", F)]) == [[(B,), "~~", (D,), "<<", (F,)]]
    True
    """
    items: list[Item] = []
    for r in relations:
        last = items[-1] if items else None
        if last is not None and last[-2] == r.relation == "<<" and last[-3] and last[-3][-1] == r.left:
            last[-1] = (*last[-1], r.right)
        elif last is not None and last[-2] == r.relation == "->" and len(last) == 3:
            last[0] = (*last[0], r.left)
        elif last is not None and last[-2] != "->" and r.relation != "->" and last[-1] == (r.left,):
            last += [r.relation, (r.right,)]
        else:
            items.append([(r.left,), r.relation, (r.right,)])
    return items


def typesetter_of(form: str, layout: Layout, link: str, style: Style) -> Typesetter:
    """The typesetter of a format."""
    dialect_of(form, style.dialect)
    letters = Letters(frozenset(layout.order), link, beside=layout.beside)
    words = Words(**style.words.formula_words)
    printer = PlainPrinter(letters, words, unicode=style.unicode) if form == "text" else LatexPrinter(letters, words)
    return Typesetter(form, printer, layout, style)


def claims_typesetter(layout: Layout) -> Typesetter:
    """The typesetter of lines that are read back: conditions that can be given to ``--assume``."""
    return Typesetter("claims", PlainPrinter(Letters(frozenset(layout.order))), layout)


def tex(text: str) -> str:
    r"""Text with the characters that TeX reads as commands taken as themselves.

    >>> tex("50 % of d_model")
    '50 \\% of d\\_model'
    """
    return "".join(TEX_SPECIAL.get(c, c) for c in text)


class Sentences:
    """What the macros of a template say, and phrases that need no macro: on one line, in which no-break spaces stay."""

    def __init__(self, macros: Any, phrases: Any = None) -> None:
        self.macros, self.phrases = macros, phrases

    def __call__(self, macro: str, *facts: object) -> str:
        return close_up(re.sub(r"[ \n]+", " ", self.lines(macro, *facts)).strip(" "))

    def each(self, macro: str, *facts: object) -> tuple[str, ...]:
        """Sentences, each on a line of its own."""
        lines = (re.sub(" +", " ", line).strip(" ") for line in self.lines(macro, *facts).split("\n"))
        return tuple(line for line in lines if line)

    def lines(self, macro: str, *facts: object) -> str:
        if macro in getattr(self.macros, "silent", ()):
            return ""
        sentence = getattr(self.macros, macro, getattr(self.phrases, macro, None))
        if sentence is None:
            raise RenderingError(
                f"the template {self.macros} has no macro {macro}", hint="copy the shipped one, and change that"
            )
        return close_up((sentence if isinstance(sentence, str) else str(sentence(*facts))).strip("\n"))

    def filled(self, macro: str, facts: Mapping[str, object]) -> str:
        """A phrase, each of its holes filled with the fact of that name."""
        phrase = getattr(self.phrases, macro, None)
        return self(macro, *map(facts.get, getattr(phrase, "arguments", ())))
