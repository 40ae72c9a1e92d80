"""A corpus of documents labelled by hand: where their formulas stand, what their labels say, and how a report compares.

Nothing here reads formulas as the program does. Places are found by a few patterns of its own, and the numbers of a
label are evaluated in exact fractions by Python.
"""

from __future__ import annotations

import ast
import json
import math
import random
import re
import tomllib
from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "documents"
SUFFIXES = (".md", ".tex", ".ipynb")
DOCUMENTS = sorted(path for path in FOLDER.iterdir() if path.suffix in SUFFIXES) if FOLDER.is_dir() else []
# What was written after the reader, and is read as it was found.
ASIDE = (
    sorted(path for path in (FOLDER / "aside").iterdir() if path.suffix in SUFFIXES)
    if (FOLDER / "aside").is_dir()
    else []
)
# The labels: a claim that is true; true under an assumption; false; none (a definition, a size, code); only to be
# judged with a model that a comment would have to give.
LABELS = ("right", "assumption", "wrong", "no claim", "comment")
JUDGEABLE = ("right", "assumption", "wrong")
ACCEPTED = ("holds", "rounded")

RELATION = re.compile(
    r"[=<>≈≤≥→⇒⇔≪≫∼]|\\(?:approx|leq?|geq?|ll|gg|sim|simeq|iff|implies|to|rightarrow|Rightarrow|leftrightarrow|Leftrightarrow"
    r"|longrightarrow|equiv|lt|gt|leqslant|geqslant|Longrightarrow|Longleftrightarrow)(?![A-Za-z])"
)
MARKDOWN = re.compile(
    r"\$\$(?P<display>.+?)\$\$|(?<!\\)\$(?P<inline>[^$\n]+(?:\n(?!\s*\n)[^$\n]+)*)\$|(?<!`)`(?P<code>[^`\n]+(?:\n[^`\n]+)?)`(?!`)",
    re.DOTALL,
)
ENVIRONMENTS = "equation|align|gather|multline|eqnarray|displaymath"
TEX = re.compile(
    rf"\\begin\{{(?P<name>(?:{ENVIRONMENTS})\*?)\}}(?P<environment>.+?)\\end\{{(?P=name)\}}|\\\[(?P<square>.+?)\\\]"
    r"|\\\((?P<round>.+?)\\\)|\$\$(?P<display>.+?)\$\$|(?<!\\)\$(?P<inline>[^$]+)\$",
    re.DOTALL,
)
NOT_TEXT = (
    re.compile(r"\A---\n.*?\n---\n", re.DOTALL),
    re.compile(r"^```(?!math).*?^```", re.DOTALL | re.MULTILINE),
    re.compile(r"<!--.*?-->", re.DOTALL),
)
NOT_TEX = (
    re.compile(r"(?<!\\)%.*"),
    re.compile(r"\\begin\{(verbatim|lstlisting)\}.*?\\end\{\1\}", re.DOTALL),
    re.compile(r"\\(?:re)?newcommand.*|\\def.*|\\DeclareMathOperator.*"),
)
TABLE_ROW = re.compile(r"^\|.*\|[ \t]*$", re.MULTILINE)
CELL = re.compile(r"(?<=\|)[ \t]*(?P<cell>[^|\n$`]*[^|\n$`\s])[ \t]*(?=\|)")


@dataclass(frozen=True)
class Formula:
    """A formula of a document: what stands inside its delimiters, and from where to where it goes with them."""

    text: str
    start: int
    stop: int
    line: int


@dataclass(frozen=True)
class Label:
    """What a formula is, by hand. ``value`` is what a wrong one should say; ``check`` says it in Python's arithmetic.

    A mistake ``elsewhere`` is right as it stands, 48 * 1.09 us = 52 us, and wrong of what its sentence speaks of.
    With ``verbatim`` the text stands in prose, in a block of text or in a shortcode, and not between marks of a formula.
    """

    text: str
    label: str
    verbatim: bool = False
    value: str = ""
    truth: str = ""
    note: str = ""
    check: str = ""


def formulas(text: str, tex: bool) -> list[Formula]:
    """The formulas and the cells of tables, in order."""
    for pattern in NOT_TEX if tex else NOT_TEXT:
        text = pattern.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)
    found = []
    for match in (TEX if tex else MARKDOWN).finditer(text):
        kind = match.lastgroup if match.lastgroup != "name" else "environment"
        found.append((" ".join(match[kind].split()), match.start(), match.end()))
    rows = TABLE_ROW.finditer((TEX if tex else MARKDOWN).sub(lambda match: " " * len(match.group()), text))
    for match in (cell for row in rows if not tex for cell in CELL.finditer(row.string, row.start(), row.end())):
        found.append((match["cell"].strip(), match.start("cell"), match.end("cell")))
    return [
        Formula(inside, start, stop, text.count("\n", 0, start) + 1)
        for inside, start, stop in sorted(found, key=lambda one: one[1])
    ]


def has_relation(text: str) -> bool:
    return RELATION.search(text) is not None


def labels(path: Path) -> list[Label]:
    """The labels of a document, which stand beside it, in the order of its formulas."""
    rows = tomllib.loads(path.with_name(path.name + ".toml").read_text("utf-8"))["formula"]
    return [Label(**row) for row in rows]


def labelled(path: Path) -> list[tuple[Formula, Label]]:
    """Every formula that has a label, with it. A formula with a relation that has none, or a label that is left, raises.

    A cell of a table, or a formula without a relation, may have a label.
    """
    text, _ = source(path)
    waiting, pairs, behind = labels(path), [], 0

    def verbatim(stop: int) -> None:
        """The labels that wait for words before a place."""
        nonlocal behind
        while waiting and waiting[0].verbatim:
            spaced = re.compile(r"\s+".join(map(re.escape, waiting[0].text.split())))
            match = spaced.search(text, behind)
            if match is None or match.start() >= stop:
                return
            pairs.append(
                (Formula(waiting[0].text, *match.span(), text.count("\n", 0, match.start()) + 1), waiting.pop(0))
            )
            behind = match.end()

    for formula in formulas(text, path.suffix == ".tex"):
        verbatim(formula.start)
        if formula.start < behind:
            continue
        if waiting and waiting[0].text == formula.text:
            pairs.append((formula, waiting.pop(0)))
            behind = formula.stop
        elif has_relation(formula.text):
            raise AssertionError(f"{path.name}:{formula.line}: no label for {formula.text!r}, next is {waiting[:1]}")
    verbatim(len(text))
    assert not waiting, f"{path.name}: no formula for {waiting[0].text!r}"
    return pairs


def source(path: Path) -> tuple[str, list[int]]:
    """The text of a document, and where each of its characters stands in the file: in a notebook, that of the Markdown
    cells, whose sources are lists of lines there."""
    file = path.read_text("utf-8")
    if path.suffix != ".ipynb":
        return file, [*range(len(file))]
    text, places = "", []
    for cell in re.finditer(r'"cell_type": "(\w+)".*?"source": \[(.*?)\n\s*\]', file, re.DOTALL):
        for line in re.finditer(r'"(?:[^"\\]|\\.)*"', cell[2]) if cell[1] == "markdown" else ():
            for character in re.finditer(r"\\u[0-9a-f]{4}|\\.|[^\\]", line[0][1:-1]):
                text += json.loads(f'"{character[0]}"')
                places.append(cell.start(2) + line.start() + 1 + character.start())
        text += "\n\n"
        places += [cell.end() - 1] * 2
    return text, places


def is_true(check: str, points: int = 400) -> bool:
    """Whether statements of Python's arithmetic are true, at random sizes where they have letters.

    ``=`` is exact, or the rounding (or cutting off) of the left side to the digits of a literal; ``~`` is within five
    percent; ``<=>`` is the same truth at every point; ``@ D=1e6`` fixes sizes; ``;`` joins statements.

    >>> is_true("1/3 = 0.333"), is_true("a*b/b = a"), is_true("2*b > 480 <=> b > 960"), is_true("d/(d+2) ~ 1 @ d=1e6")
    (True, True, False, True)
    """
    return all(_holds(statement, points) for statement in check.split(";"))


def _holds(statement: str, points: int) -> bool:
    statement, _, fixed = statement.partition("@")
    sizes = {
        name.strip(): Fraction(value) for name, _, value in (one.partition("=") for one in fixed.split(",") if one)
    }
    conditions = [re.split(r"\s(<=|>=|=|<|>|~)\s", one) for one in statement.split("<=>")]
    generator = random.Random(statement)
    letters = sorted(
        {
            node.id
            for node in ast.walk(ast.parse("[" + re.sub(r"<=>|\s(<=|>=|=|<|>|~)\s", ",", statement) + "]"))
            if isinstance(node, ast.Name)
        }
        - set(FUNCTIONS)
    )
    for _ in range(points if letters else 1):
        place = {name: Fraction(round(10 ** generator.uniform(0, 5))) for name in letters} | sizes
        truths = [all(_related(*parts[i : i + 3], place) for i in range(0, len(parts) - 2, 2)) for parts in conditions]
        if not (truths[0] if len(truths) == 1 else len(set(truths)) == 1):
            return False
    return True


FUNCTIONS = {"max": max, "min": min, "sqrt": math.sqrt, "log": math.log, "floor": math.floor, "ceil": math.ceil}
ORDER = {"<": lambda a, b: a < b, ">": lambda a, b: a > b, "<=": lambda a, b: a <= b, ">=": lambda a, b: a >= b}


def _related(left: str, relation: str, right: str, place: dict[str, Fraction]) -> bool:
    a, b = value(left, place), value(right, place)
    close = math.isclose(a, b, rel_tol=1e-9) if isinstance(a, float) or isinstance(b, float) else a == b
    if relation in ORDER:
        return ORDER[relation](a, b) or (close and relation in ("<=", ">="))
    if relation == "~":
        return abs(a - b) <= abs(b) / 20
    literal = re.fullmatch(r"\s*(\d+)(?:\.(\d+))?(?:e(-?\d+))?\s*", right)
    if close or literal is None:
        return close
    whole, digits, power = literal[1], literal[2] or "", int(literal[3] or 0)
    cut = 0 if digits or literal[3] else len(whole) - max(len(whole.rstrip("0")), min(len(whole), 2))
    last = Fraction(10) ** (power - len(digits) + cut)
    return abs(a - b) <= last / 2 or b <= a < b + last


def value(source: str, place: dict[str, Fraction]) -> Fraction | float:
    """An expression of Python in exact fractions; roots and logarithms are floats."""

    def fold(node: ast.expr) -> Fraction | float:
        match node:
            case ast.Constant():
                return Fraction(ast.get_source_segment(source, node) or "")
            case ast.Name(id=name):
                return place[name]
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -fold(operand)
            case ast.Call(func=ast.Name(id=name), args=args):
                found = FUNCTIONS[name](*map(fold, args))
                return Fraction(found) if isinstance(found, int) else found
            case ast.BinOp(left=left, op=op, right=right):
                a, b = fold(left), fold(right)
                return {
                    ast.Add: lambda: a + b,
                    ast.Sub: lambda: a - b,
                    ast.Mult: lambda: a * b,
                    ast.Div: lambda: a / b,
                    ast.Pow: lambda: a**b,
                }[type(op)]()
        raise AssertionError(f"no arithmetic: {ast.dump(node)}")

    source = source.strip()
    return fold(ast.parse(source, mode="eval").body)


@dataclass(frozen=True)
class Block:
    """What the program said of a labelled formula: its verdicts, or why it said nothing."""

    document: str
    formula: Formula
    label: Label
    verdicts: tuple[str, ...]
    values: tuple[str, ...]
    reason: str

    @property
    def is_false_alarm(self) -> bool:
        """A finding on what is no mistake."""
        return (
            self.label.label != "wrong"
            and self.label.truth != "wrong"
            and bool({"wrong", "unreadable"} & set(self.verdicts))
        )

    @property
    def is_false_acceptance(self) -> bool:
        """A mistake that is said to hold."""
        mistaken = "wrong" in (self.label.label, self.label.truth) and self.label.note != "elsewhere"
        return mistaken and bool(self.verdicts) and set(self.verdicts) <= set(ACCEPTED) and not self.reason

    @property
    def is_judgeable(self) -> bool:
        return self.label.label in JUDGEABLE

    @property
    def is_judged(self) -> bool:
        return self.is_judgeable and bool({"holds", "rounded", "conditional", "wrong"} & set(self.verdicts))

    @property
    def is_found(self) -> bool:
        return "wrong" in self.verdicts

    def __str__(self) -> str:
        told = ", ".join(
            (*self.verdicts, *(f"value {one}" for one in self.values), *([self.reason] if self.reason else []))
        )
        return (
            f"{self.document}:{self.formula.line}: {self.label.label}: {self.formula.text}\n      {told or 'not seen'}"
        )


def outcomes(path: Path, pairs: list[tuple[Formula, Label]] | None = None) -> tuple[list[Block], list[str]]:
    """What the program says of every labelled formula, and its findings that are on none of them."""
    import symroof

    pairs = pairs or labelled(path)
    _, places = source(path)
    (report,) = symroof.verify(path).to_dict()["files"]
    lines = [0, *(match.end() for match in re.finditer("\n", path.read_text("utf-8")))]
    verdicts, values, reasons = ([[] for _ in pairs] for _ in range(3))
    stray = []

    def place(told: dict[str, Any]) -> int | None:
        offset = bisect_left(places, lines[(told["line"] or 1) - 1] + (told["column"] or 1) - 1)
        inside = (i for i, (formula, _) in enumerate(pairs) if formula.start <= offset < formula.stop)
        return next(inside, None)

    for judgement in report["judgements"]:
        found = place(judgement)
        if found is not None:
            verdicts[found].append(judgement["verdict"])
            values[found] += [judgement["value"]] if judgement["verdict"] == "wrong" and judgement["value"] else []
        elif not judgement["good"]:
            stray.append(
                f"{path.name}:{judgement['line']}:{judgement['column']}: {judgement['verdict']} {judgement['claim']}"
            )
    for skipped in report["skipped"]:
        found = place(skipped)
        if found is not None:
            reasons[found].append(skipped["reason"])
    return [
        Block(path.name, formula, label, tuple(verdicts[i]), tuple(values[i]), "; ".join(dict.fromkeys(reasons[i])))
        for i, (formula, label) in enumerate(pairs)
    ], stray


def misses(all_outcomes: list[Block], stray: list[str]) -> str:
    """What is to be mended, worst first, with what the program said."""
    mistakes = [one for one in all_outcomes if one.label.label == "wrong" and not one.is_found]
    kinds = {
        "findings on no labelled formula": stray,
        "false alarms": [one for one in all_outcomes if one.is_false_alarm],
        "false acceptances": [one for one in all_outcomes if one.is_false_acceptance],
        "mistakes that are not found": [one for one in mistakes if not one.is_false_acceptance],
        "judgeable, and not judged": [
            one for one in all_outcomes if one.is_judgeable and one.label.label != "wrong" and not one.is_judged
        ],
    }
    listed = (
        f"{title} ({len(found)})\n" + "\n".join(f"  {one}" for one in found) for title, found in kinds.items() if found
    )
    return "\n\n".join(listed)


if __name__ == "__main__":
    import sys

    results = [outcomes(path) for path in (map(Path, sys.argv[1:]) if sys.argv[1:] else DOCUMENTS)]
    everything = [one for found, _ in results for one in found]
    print(misses(everything, [one for _, stray in results for one in stray]))
