"""What leaves the program is what a step says: pages and records are read back here, and each formula and number of them is
held against the steps of its derivation.

Formulas are compared by their values modulo a prime, with a number for each name; decimals stand for numbers of steps.
"""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from itertools import accumulate, chain, islice, product
from math import prod
from random import Random
from zlib import crc32

import pytest
from answered import EXPLORED, FORMS, PROBLEMS, is_of_a_program
from effort import is_thorough

import symroof as sr
from symroof.errors import ReadingError, SymroofError
from symroof.formula import Compare, Formula, Frozen, Name, Number, children, mapped, names, nodes
from symroof.model.program import Program
from symroof.proof.bounds_and_decimals import last_place
from symroof.proof.quotients import Quotients
from symroof.reading.expressions import read_expression
from symroof.reading.latex import read_latex_expression
from symroof.reading.latex_phrases import Dialect
from symroof.reading.name_scope import Scope
from symroof.reading.numbers import UNITS, measured
from symroof.rendering.exploration_results import ShownComparison, ShownInferred, ShownRegimes, ShownSketch
from symroof.rendering.formulas.plain import Letters, Notation, PlainPrinter
from symroof.rendering.formulas.tex import LatexPrinter
from symroof.rendering.pages import derivation_view, maps_and_comparisons, number_formats
from symroof.rendering.pages.typesetting import Style, Typesetter, typesetter_of
from symroof.rendering.records import maps
from symroof.rendering.records.json_parts import nearest_float

PRIME = 2**61 - 1
EQUAL, TURNED = ("=", "~"), {">": "<", ">=": "<="}
COMMANDS = {r"\le": "<=", r"\ge": ">=", r"\ll": "<<", r"\to": "->", r"\approx": "~", r"\sim": "~", r"\asymp": "~~"}
SIGNS = {"≤": "<=", "≥": ">=", "≪": "<<", "→": "->", "≈": "~", **COMMANDS, **{sign: sign for sign in "<>=~"}}
SIGNS |= {sign: sign for sign in ("<=", ">=", "<<", "~~", "->")}
# Keys of a record under which words stand, and what it says of itself.
WORDS = {
    "approximation", "axes", "bound_by", "bracket", "by", "cancelled", "change", "check", "chip", "collective", "corners", "count",
    "dominant", "dtype", "error", "exchanges", "form", "hardware", "id", "latex", "leaders", "link", "longest", "name", "nearest",
    "operand", "operation", "outcome", "over", "pass", "quantity", "reason", "regime", "relation", "schema", "section", "status",
    "symbols", "T", "text", "title", "variable",
}  # fmt: skip
ARITHMETIC = {"Number", "Figure", "Sum", "Product", "Quotient", "Power", "Negative", "Group", "Written"}
# Under these stands what a quantity is of the whole problem.
QUANTITIES = ("flops", "reads", "writes", "intensity", "ridge", "T_math", "T_comms", "T_lower", "T_upper", "T_steps")
WHOLE = {"answer", "at", "numbers", *QUANTITIES}


def of_text(text):
    return (crc32(text.encode()) << 29 ^ crc32(text[::-1].encode())) % PRIME


def modulo(value):
    return value.numerator * pow(value.denominator, -1, PRIME) % PRIME


def turned(sign, left, right):
    return (TURNED[sign], right, left) if sign in TURNED else (sign, left, right)


def formulas_in(facts):
    """The formulas in facts, however deep."""
    if isinstance(facts, Formula):
        yield facts
    elif isinstance(facts, Frozen):
        yield from formulas_in(tuple(vars(facts).values()))
    elif isinstance(facts, tuple | list | dict):
        for fact in facts.items() if isinstance(facts, dict) else facts:
            yield from formulas_in(fact)


class Steps:
    """What steps say: the values of their sides and of the parts of these, which of them are equal, and all numbers."""

    def __init__(self, steps, layout, setting=None, asked=()):
        steps, self.layout, self.link = tuple(steps), layout, setting.problem.link if setting else "HBM"
        self.values, self.said, self.numbers, self.equal = {}, set(), {*map(Fraction, range(10))}, {}
        self.names, self.known, ordered = {*layout.order}, {}, []
        given = []
        over = getattr(asked, "over", None)
        if setting:
            problem, over = setting.problem, setting.problem.over
            self.known = {symbol.name: modulo(value) for symbol, value in setting.values.items()}
            for name, formula in problem.operation.where.items():
                self.known[name] = self.value(formula)
            self.numbers |= {*setting.values.values()}
            self.names |= {*problem.names, *self.known}
            self.numbers.add(Fraction(sum(step.section in problem.sections for step in steps)))
            self.numbers |= {Fraction(n) for one in problem.mesh.values() for n in (one.chips, one.closing) if n}
            asked = (asked, problem.solve, problem.minimize, problem.subject, problem.assume)
            given = [Compare(Name(n), "=", Number(x)) for point in problem.at for n, x in point.items()]
        sides = [Compare(step.left, step.relation, step.right) for step in steps]
        sides += [Compare(step.right, "<", step.left.above) for step in steps if step.role == "bracket"]
        sides += [Compare(Name(over), "=", step.right) for step in steps if over and step.role.startswith("optimum")]
        facts = [(step.assumptions, step.facts) for step in steps]
        for step in steps:
            self.numbers |= {*getattr(step.evidence, "widths", {}).values()}
        for formula in formulas_in((asked, given, sides, facts)):
            for node in nodes(formula):
                self.said.add(self.value(node))
                self.names |= {*names(node)}
                if (number := self.number(node)) is not None:
                    self.numbers.add(number)
                if isinstance(node, Compare):
                    ordered.append((node.relation, self.value(node.left), self.value(node.right)))
        for sign, left, right in ordered:
            if sign in EQUAL:
                self.equal[self.one_of(left)] = self.one_of(right)
        self.ordered = {turned(sign, self.one_of(left), self.one_of(right)) for sign, left, right in ordered}

    def one_of(self, value):
        """One value of all that are equal."""
        while value in self.equal and self.equal[value] != value:
            value = self.equal[value]
        return value

    def value(self, formula):
        if formula not in self.values:
            self.values[formula] = self.worked_out(formula, [*map(self.value, children(formula))])
        return self.values[formula]

    def worked_out(self, formula, parts):
        match type(formula).__name__:
            case "Name":
                return self.known.get(formula.name, of_text(formula.name.replace("flops_exact", "flops")))
            case "Number" | "Figure":
                return modulo(self.number(formula))
            case "Sum" | "Product":
                return (sum(parts) if hasattr(formula, "terms") else prod(parts)) % PRIME
            case "Negative":
                return -parts[0] % PRIME
            case "Quotient" if parts[1]:
                return parts[0] * pow(parts[1], -1, PRIME) % PRIME
            case "Power" if (power := self.number(formula.exponent)) is not None and power.denominator == 1:
                return pow(parts[0], int(power), PRIME)
            case "Call":
                return of_text(f"{formula.function}{sorted(parts) if formula.function in ('max', 'min') else parts}")
            case "Group" | "Written":
                return parts[0]
        return of_text(f"{formula}")

    def number(self, formula):
        """The number that a formula without names is."""
        if hasattr(formula, "digits"):
            return getattr(formula, "value", None) or Fraction(formula.digits or 0)
        if not {type(node).__name__ for node in nodes(formula)} <= ARITHMETIC:
            return None
        try:
            return Quotients().rational(formula).constant
        except SymroofError:
            return None

    def near(self, digits, scale=Fraction(1)):
        """The numbers of steps that digits stand for; a share may be that by which a number is above or below 1."""
        value, place = Fraction(digits) * scale, last_place(digits) * scale
        offsets = (0, 1) if scale == Fraction(1, 100) else (0,)
        return [
            n for n in self.numbers for less in offsets if abs(abs(n - less) - value) * 2 <= place * (1 + bool(less))
        ]

    def ways(self, formula):
        """The values that a formula may have, with its decimals as the numbers that they stand for."""
        decimals = [n for n in dict.fromkeys(nodes(formula)) if "." in str(getattr(n, "digits", ""))]
        exact = [dict.fromkeys((Fraction(n.digits), *islice(self.near(n.digits), 8))) for n in decimals]
        for chosen in product(*exact):
            put = dict(zip(decimals, map(Number, chosen), strict=True))
            yield self.value(mapped(formula, lambda node, put=put: put.get(node, node)))

    def require(self, formula, text):
        """A formula of a page is a name, a number of a step, or a side of one or a part of it."""
        number = self.number(formula)
        digits = getattr(formula, "digits", None)
        known = number is not None and (number in self.numbers or (digits and self.near(digits)))
        if (
            not known
            and type(formula).__name__ not in ("Name", "Infinity")
            and self.said.isdisjoint(self.ways(formula))
        ):
            raise AssertionError(f"no step says {text}")

    def require_related(self, lefts, sign, right, text):
        a, b = ({self.one_of(value) for side in sides for value in self.ways(side)} for sides in (lefts, (right,)))
        if sign in EQUAL and not a & b:
            ends = any(way in self.ordered for x in a for y in b for way in (("<=", x, y), ("<=", y, x)))
            assert ends, f"no step says that these are equal: {text}"  # from B = 241 on
        if sign in ("<", ">", "<=", ">=") and not any(turned(sign, x, y) in self.ordered for x in a for y in b):
            raise AssertionError(f"no step says that {text}")


# The reader. Mathematics is cut at relations, words and commas that stand in no brackets; what is left are formulas.
CODE = r"```.*?```|``[^`]+``|`[^`$]+`|\\texttt\{(?:\\.|\{\}|[^{}])*\}|\\begin\{verbatim\}.*?\\end\{verbatim\}|\w+\(\d+\)/\w+"
MATHEMATICS = {
    "markdown": r"\$\$(?P<display>.+?)\$\$|(?<!\\)\$(?P<line>[^$`]+)\$",
    "latex": r"\\\[(?P<display>.+?)\\\]|(?<!\\)\$(?P<line>[^$]+)\$",
    "rst": r"\.\. math::\n\n(?P<display>(?:   [^\n]*\n|\n(?=   ))+)|:math:`(?P<line>[^`]+)`",
    "text": r"(?P<display>^never$)(?P<line>)",
}
GOES_ON = re.compile(r"\\\\\s*(?:&\s*\\quad|\{\})")
TITLE = {form: re.compile(r"\A.*\n+") for form in FORMS} | {"latex": re.compile(r"\\section.*\n")}
LAYOUT = re.compile(r"\\(?:begin|end)\{(?:aligned|gathered|cases)\}|\\quad\b|\{\}|\\allowbreak\b|\\cr\b")
COMMAND = "|".join(re.escape(sign) + r"\b" for sign in COMMANDS)
CUT = re.compile(rf"\\\\(?:\[\w+\])?|&&?|\\text\{{[^{{}}]*\}}|{COMMAND}|\\iff\b|\\implies\b|<=>|=>|<=|>=|<<|~~|->|[<>=~≤≥≪→⇔≈,;]|\b(?:and|or|if|otherwise|always|never)\b")  # fmt: skip
UNIT = "|".join(sorted(map(re.escape, ("%", "µs", *UNITS)), key=len, reverse=True))
AMOUNT = re.compile(rf"(?<![\w.^{{/*-])(\d[\d.]*(?:e[+-]?\d+)?)(?:\s|\\,|~)*({UNIT})(?![\w/])")
DECIMAL = re.compile(r"(?<![\w.^{/])\d+\.\d+(?=[\s,;)×]|\.\s|$)")
BRACKETS = {"(": 1, ")": -1}
# Displays and tables of a terminal, above its sections and in them; its sentences are those of the other formats.
SET_APART = re.compile(r" {15,}\S| {2}\S"), re.compile(r" {4,}\S")
TEXT = r"(?:{names}|(?<![\w.])\d[\d.]*(?:e[+-]?\d+)?|[-+*/^()<>=≤≥≪→⇔≈~,∞]|[ \xa0])+"


def cut(text):
    """The parts of a text between cuts, each with the cut before it; what stands in brackets is not cut."""
    before, start = "", 0
    for found in CUT.finditer(text):
        inner = text[start : found.start()]
        if inner.count("(") + inner.count("{") == inner.count(")") + inner.count("}"):
            yield before, inner.strip()
            before, start = found[0], found.end()
    yield before, text[start:].strip()


class Reader:
    """Reads what a page has in a format and a language, and holds it against steps."""

    def __init__(self, steps, form, lang):
        self.steps, self.form = steps, form
        typesetter = typesetter_of(form, steps.layout, steps.link, Style(lang=lang)) if form != "json" else None
        typesetters = () if typesetter is None else (typesetter, typesetter if form == "text" else typesetter.lettered)
        spelled = {name: {name} for name in sorted(steps.names)} if form in ("text", "json") else {}
        for one in typesetters:
            for name in sorted(steps.names):
                spelled.setdefault(one.printer.print(Name(name)), set()).add(name.replace("flops_exact", "flops"))
        assert all(len(said) == 1 for said in spelled.values()), f"two names are printed alike: {spelled}"
        stand, longest = "v_{}" if form in ("text", "json") else "v_{{{}}}", sorted(spelled, key=len, reverse=True)
        odd = [word for word in longest if not (word.isalnum() and word.isascii())]
        self.odd = {word: stand.format(i) for i, word in enumerate(odd)}
        self.called = {re.sub("[{}]", "", self.odd.get(word, word)): min(said) for word, said in spelled.items()}
        self.scope = Scope(tuple(sorted(self.called)), open=True, indices=True, letters=frozenset())
        words = [*map(re.escape, longest)] + [rf"{function}(?=\()" for function in ("min", "max", "log", "sqrt", "exp")]
        letters = re.escape("".join(name for name in spelled if len(name) == 1)) or "-"
        own = rf"(?<![A-Za-z_'])(?:\d[\d.]*(?:e[+-]?\d+)?)?(?:{'|'.join(words)}|[{letters}]+)(?![A-Za-z0-9_'])"
        self.runs = re.compile(TEXT.format(names=own))

    def formula(self, text):
        text = re.sub(r"([\d.]+) \\times 10\^\{(-?\d+)\}", r"\1e\2", text)
        try:
            plain = self.form in ("text", "json")
            found = read_expression(text, self.scope) if plain else read_latex_expression(text, Dialect(self.scope))
        except ReadingError as error:
            raise AssertionError(f"this is no formula: {text}: {error}") from None
        return mapped(found, lambda n: Name(self.called.get(n.name, n.name)) if isinstance(n, Name) else n)

    def read(self, text):
        """Every formula of some mathematics is said, and each relation between two of them."""
        for word, stand in self.odd.items():
            text = text.replace(word, stand)
        last = main = None
        lefts = ()
        sign, text = "", LAYOUT.sub(" ", GOES_ON.sub(" ", text))
        for before, part in cut(" ".join(text.split())):
            if before.startswith("\\\\"):
                lefts, sign = [side for side in (main, last) if side], ""
            sign = SIGNS.get(before, sign if before == "&" else "")
            inner = re.fullmatch(r"(?:\\left)?\((.*?)(?:\\right)?\)", part)
            if inner and CUT.search(inner[1]) and min(accumulate(BRACKETS.get(sign, 0) for sign in inner[1])) >= 0:
                self.read(inner[1])
                last = None
            elif part:
                formula = self.formula(part)
                main = formula if not before or before.startswith("\\\\") else main
                self.steps.require(formula, part)
                if sign and last is not None:
                    self.steps.require_related(lefts or (last,), sign, formula, text)
                last, sign, lefts = formula, "", ()

    def printed(self, page, operation=None):
        if self.form == "json":
            self.record(page)
        else:
            self.page(page, operation if operation and operation.line is None else None)

    def page(self, page, program=None):
        """Everything on a page: amounts with a unit, and mathematics, which on a terminal stands on lines of its own."""
        page, words = page.replace(r"\%", "%").replace(r"$\mu$", "µ").replace(r"\mu\text{s}", "µs"), ""
        if program:
            self.listing(page, program)
        titled = not page.partition("\n")[0].endswith((".", "。"))
        page, start = TITLE[self.form].sub("", page, count=1), 0
        for found in re.finditer(f"{CODE}|{MATHEMATICS[self.form]}", page, re.DOTALL):
            words += page[start : found.start()] + " ; "
            start = found.end()
            if mathematics := found["display"] or found["line"]:
                self.read(mathematics)
        words += page[start:]
        for digits, unit in AMOUNT.findall(words):
            scale = Fraction(1, 100) if unit == "%" else measured("us" if unit == "µs" else unit)[0]
            width = unit in ("byte", "bytes") and digits in ("1", "2", "4", "8")  # of an element
            assert width or self.steps.near(digits, scale), f"no step says {digits} {unit}"
        for digits in DECIMAL.findall(AMOUNT.sub(" ", words)):
            assert self.steps.near(digits), f"no step says {digits}"
        if self.form == "text":
            lines = (words.partition("\n\n")[2] if program else words).split("\n")
            first = next((i for i, line in enumerate(lines) if line[:1].strip()), len(lines)) if titled else 0
            body = "\n".join(line for i, line in enumerate(lines) if SET_APART[i >= first].match(line))
            body = re.sub(r" \((?=[^()]*[≤≥<>=≈])", " ; (", body)
            body = re.sub(r"[ \xa0]+(?=[=≤≥≪→⇔≈<>])", " ", AMOUNT.sub(";", body))
            body = re.sub(r"(?<=[A-Za-z0-9)])[ \xa0](?=(?:bytes|chips)\b)|(?<=[A-Za-z)])[ \xa0](?=\d)", ";", body)
            for run in self.runs.finditer(re.sub(r"\n|\s{2,}", "\n", body)):
                self.read(_trimmed(run[0]))

    def record(self, tree, key="", of_whole=True):
        """Everything in a record that is no word: under the name of a quantity stands what it is equal to."""
        if isinstance(tree, dict):
            for name, part in tree.items():
                exact = tree.get("exact" if name == "float" else name.removesuffix("_float"))
                if name.endswith("float") and part is not None and isinstance(exact, str):
                    value, place = Fraction(exact), last_place(exact) if "." in exact else 0
                    assert abs(Fraction(part) - value) <= max(place, abs(value) / 10**15), f"{exact} is not {part}"
                elif name not in WORDS:
                    self.record(part, key if name == "exact" else name, of_whole and name in WHOLE)
        elif isinstance(tree, list):
            for part in tree:
                self.record(part, key, of_whole)
        elif isinstance(tree, str) and tree not in SIGNS:
            self.read(f"{key} = {tree}" if of_whole and key in QUANTITIES and not CUT.search(tree) else tree)
        elif isinstance(tree, int | float) and not isinstance(tree, bool):
            known = {number if isinstance(tree, int) else nearest_float(number) for number in self.steps.numbers}
            assert tree in known, f"no step says {tree} of {key}"

    def listing(self, page, program):
        """The lines of a program stand on its page."""
        if self.form == "latex":
            return
        lines, said = str(program).split("\n"), [line.strip() for line in page.split("\n")]
        together = (re.fullmatch(r"((?:\w+ )+ ?)(\w+(?:, \w+)+)(: .*)", line) for line in said)
        said += [f"{one[1]}{name}{one[3]}" for one in together if one for name in one[2].split(", ")]
        assert {line.strip() for line in lines} <= {*said}, "the page leaves out a line of the program"


def _trimmed(run):
    """A run of signs without what belongs to the words around it, and without brackets that are closed among these."""
    open_, signs = [], [*run]
    for i, sign in enumerate(run):
        if sign == "(":
            open_.append(i)
        elif sign == ")" and open_:
            open_.pop()
        elif sign == ")":
            signs[i] = ";"
    for i in open_:
        signs[i] = ";"
    return re.sub(r"^[+*/^,;\s\xa0]+|[-+*/^,;\s\xa0]+$", "", "".join(signs)).replace("\xa0", " ")


class Several:
    """What the steps of several derivations say: any of them."""

    def __init__(self, every):
        self.every, (first, *_) = every, every
        self.layout, self.link = first.layout, first.link
        self.names, self.numbers = ({*chain(*(getattr(one, part) for one in every))} for part in ("names", "numbers"))

    def near(self, *amount):
        return [number for one in self.every for number in one.near(*amount)]

    def require(self, *said):
        self._any("require", said)

    def require_related(self, *said):
        self._any("require_related", said)

    def _any(self, method, said):
        for one in self.every:
            try:
                return getattr(one, method)(*said)
            except AssertionError as error:
                refused = error
        raise refused


def said_by(answer):
    """The steps of an answer and what is asked of it; those of a map grow with what is printed."""
    match answer:
        case ShownRegimes(explorations=(exploration,)):
            draft = exploration.regimes.draft
            return draft.ledger.established, draft.setting.layout, draft.setting, ()
        case ShownInferred(inferred=one):
            return one.ledger.established, one.layout, one.setting, Compare(one.exact, "~", one.approximate)
        case ShownSketch():
            return answer.steps, answer.layout, None, answer.sketch
    return answer.written, answer.setting.layout, answer.setting, ()


def steps_of(answer):
    """What the steps of an answer say."""
    if isinstance(answer, ShownComparison):
        return Several([steps_of(row.derivation) for row in answer.comparison.rows if row.derivation is not None])
    return Steps(*said_by(answer))


def printed(answer, form, lang="en", **how):
    return answer.to_dict() if form == "json" else getattr(answer, f"to_{form}")(lang=lang, **how, **WIDE.get(form, {}))


def read_back(answer, places):
    """What an answer prints in forms and languages is what its steps say."""
    pages = [(form, lang, printed(answer, form, lang)) for form, lang in places]
    if is_of_a_program(answer):
        pages += [(form, lang, printed(answer, form, lang, full=True)) for form, lang in places if form != "json"]
    steps, setting = steps_of(answer), getattr(answer, "setting", None)
    for form, lang, page in pages:
        Reader(steps, form, lang).printed(page, setting and setting.problem.operation)


WIDE = {"text": {"width": 1000}}
PLACES = [*product(FORMS, ("en", "ko", "zh")), ("json", "en")]
AXES = "mesh T, Y on ICI; input P: bf16[B_T, D_Y]; weight V: bf16[D_T, F_Y]; H = P * V -> bf16[B_T, F_Y]"
PROBLEMS = {
    **PROBLEMS,
    "best split": {**PROBLEMS["best split"], "at": "F=32768"},
    "an axis called T": {"operation": AXES, "hardware": "tpu-v5p", "at": "T=4,Y=2,B=4096"},
}
ASKED = {name: lambda problem=problem: sr.derive(problem) for name, problem in PROBLEMS.items()} | EXPLORED


@pytest.mark.part(6)
@pytest.mark.parametrize("name", ASKED)
def test_what_is_printed_is_what_steps_say(name):
    read_back(ASKED[name](), PLACES if is_thorough() else Random(name).sample(PLACES, 3))


# A fault behind the steps: in a printer, a template's formula, a record, a layout.


def then(change):
    """A function whose result is changed."""
    return lambda original: lambda *arguments, **options: change(original(*arguments, **options))


def first(change):
    """A method whose first argument is changed."""
    return lambda original: lambda self, one, *rest, **options: original(self, change(one), *rest, **options)


def one_more(text):
    """A text with another first digit."""
    return re.sub(r"\d", lambda digit: str(int(digit[0]) % 9 + 1), text, count=1)


def another_row(row):
    key = next(key for key in ("factor", "over_ridge", "smallest_integer", "ridge") if row.get(key) is not None)
    return {**row, key: row[key] + 1}


def shorter(original):
    return lambda self, node, *terms: original(self, node, *terms[:1])


def turned_around(original):
    other = {">": "<", "<": ">"}
    return lambda self, node, *sides: original(
        self, replace(node, relation=other.get(node.relation, node.relation)), *sides
    )


def another_text(old, new):
    return then(lambda part: replace(part, text=part.text.replace(old, new)))


def of_program(change):
    return lambda original: lambda one: change(str(one)) if isinstance(one, Program) else str(one)


FAULTS = {
    "a sum loses a term": (Notation, "sum", shorter, "regime", "text"),
    "a sum loses a term in Markdown": (Notation, "sum", shorter, "regime", "markdown"),
    "a fraction is upside down": (LatexPrinter, "quotient", lambda original: lambda self, node, above, below: original(self, node, below, above), "regime", "latex"),
    "the brackets of a product are left out": (PlainPrinter, "brackets", lambda original: lambda self, part: part.text, "regime", "text"),
    "a name is another one": (Letters, "plain", then(lambda name: "D" if name == "F" else name), "regime", "text"),
    "a template sets a formula of its own": (Typesetter, "_part", first(lambda one: Compare(one.left, one.relation, one.left) if isinstance(one, Compare) else one), "regime", "rst"),
    "a condition of a page is turned": (Notation, "compare", turned_around, "regime", "markdown"),
    "an amount is another one": (Typesetter, "amount", first(one_more), "regime", "text"),
    "a share is another one": (maps_and_comparisons, "to_digits", then(one_more), "map", "text"),
    "decimals stand for nothing": (number_formats, "decimal", then(one_more), "regime", "latex"),
    "a program loses a statement": (derivation_view, "str", of_program(lambda text: text.rsplit("\n", 1)[0]), "program", "markdown"),
    "a program has another function": (derivation_view, "str", of_program(lambda text: text.replace("relu", "gelu")), "program", "rst"),
    "a listing loses a line": (derivation_view, "_together", then(lambda lines: [*lines][:-1]), "program", "text"),
    "a ratio at a point of a map": (maps, "_place", then(another_row), "map", "json"),
    "a row of a comparison": (maps, "_row", then(another_row), "compared", "json"),
    "a condition of a record is turned": (Notation, "compare", turned_around, "regime", "json"),
    "a formula of a record": (PlainPrinter, "product", another_text("B*D", "B*F"), "regime", "json"),
}  # fmt: skip


@pytest.mark.part(3)
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_of_a_printer_is_noticed(name, monkeypatch):
    owner, attribute, fault, asked, form = FAULTS[name]
    read_back(ASKED[asked](), [(form, "en")])
    monkeypatch.setattr(owner, attribute, fault(owner.__dict__.get(attribute, str)), raising=False)
    with pytest.raises((AssertionError, SymroofError)):
        read_back(ASKED[asked](), [(form, "en")])
