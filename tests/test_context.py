"""What a formula is beside what stands around it: what its sentence puts in, sizes, steps, regimes, comments.

Every row is a document and the verdicts in it, in order; what is left out has none. Each rule has a fault, in which a row
changes its verdicts.
"""

import re
import tomllib
from dataclasses import replace
from itertools import permutations
from math import prod
from pathlib import Path

import pytest
from texts import judged

import symroof.verification.comments as comments
import symroof.verification.formula_claims as scopes
import symroof.verification.formula_roles as assertions
import symroof.verification.interpretations as readings
import symroof.verification.selection as selection
from symroof.reading.documents import read_text
from symroof.reading.sentence_cues import Cue, step_between
from symroof.verification import document_claims, sentence_context
from symroof.verification.document_claims import judge_document, judge_read

DATA = Path(__file__).parent / "data"

pytestmark = pytest.mark.part(4)

MATMUL = '<!-- symroof\noperation = "bf16[B, D] * bf16[D, F] -> bf16[B, F]"\nhardware = "tpu-v5e"\n-->\n\n'
REGIME = MATMUL.replace("-->", 'assume = ["B << D", "B << F"]\n-->')
TIMES = "$$\nT_\\text{math} = \\frac{2BDF}{C}\n$$\n\n$$\nT_\\text{comms} = \\frac{2DF}{W}\n$$\n\n"
RATIO = "\\frac{T_\\text{math}}{T_\\text{comms}}"


def display(*formulas):
    """Displays with the words between them."""
    return "".join(f"$$\n{one}\n$$\n\n" if i % 2 == 0 else f"{one}\n\n" for i, one in enumerate(formulas))


ROWS = {
    # definitions and their ends
    "what a sentence supposes ends with it": ("If $F = 4D$, then $8DF = 32D^2$, not $8DF = 30D^2$. In general $8DF = 32D^2$, $8DF = 30D^2$. 若 $D = E$ 则 $2D = 2E$。又有 $2D = 2E$。 $B = C$ 이면 $4B = 4C$ 이다. 또 $4B = 4C$ 이다.", ["holds", "wrong", "holds", "holds"]),
    "a display defines nothing for others": ("# A\n\n" + TIMES + f"## B\n\nSo ${RATIO} = BW/C$ and ${RATIO} = BC/W$.", []),
    "a name is held constant in a slope by a size that it stands for": ("With $N = XY$: $\\frac{d}{dX} \\left( \\frac{FX}{N} + \\frac{1}{X} \\right) = \\frac{F}{N} - \\frac{1}{X^2}$, not $\\frac{d}{dX} \\left( \\frac{FX}{N} + \\frac{1}{X} \\right) = \\frac{F}{N} + \\frac{1}{X^2}$.", ["holds", "wrong"]),
    "a sentence that says two things of a name": ("With $S = 2N$ here $4S = 8N$, with $S = 3N$ there $4S = 12N$, but $4S = 8N$.", []),
    "a relation of sizes is used under an operation": (REGIME + "If $F = 4D$, $\\text{FLOPs} = 8BD^2$, not $\\text{FLOPs} = 7BD^2$.\n\nLater $\\text{FLOPs} = 8BD^2$.", ["holds", "wrong"]),
    "several sizes that are the same, and leave later formulas open": (MATMUL + "With $B = D = F$, $\\text{Intensity} = \\frac{B}{3}$.\n\nThen $T_\\text{math} > T_\\text{comms} \\iff B > 720$, not $\\text{Intensity} = \\frac{B}{2}$.", ["holds"]),
    "a second definition of a name is another one": (display("S = 2N", "For the backward pass", "S = 4N"), []),
    "what the rest of the sentence puts in": (REGIME + "It does $\\text{FLOPs} = 8BD^2$ for $F = 4D$, and $\\text{FLOPs} = 7BD^2$ for $F = 4D$.\n\nWith $F = 16$, $\\text{FLOPs} = 32BD$, not $\\text{FLOPs} = 30BD$.", ["holds", "wrong", "holds", "wrong"]),
    "what an earlier formula put in is no mistake": ("$$F = 4D$$\n\nA layer does $8BD + 2BDF = 8BD + 8BD^2$, but $2BDF = 7BD^2$ with $F = 3.5 D$.", ["holds"]),
    # equations to be solved
    "what is set equal is no identity": ("<!-- symroof let = { a = 'B D', b = 'D F' } -->\n\nWe set $2 a = B D^2$. The same is $2 a = 2BD$, not $a = 2BD$.", ["holds", "wrong"]),
    "a fraction that is reduced is one": ("Here $\\frac{4BD}{8D} = \\frac{B}{2}$, $\\frac{4BD}{8D} = \\frac{2}{B}$. It is even when $\\frac{4BD}{8D} = \\frac{2}{B}$, and $X^2 = 4X$.", ["holds", "wrong"]),
    "a letter of which a power cancels": ("Here $\\frac{T^2 G}{TG + T} = \\frac{TG}{G + 1}$, not $\\frac{T^2 G}{TG + T} = \\frac{T}{G + 1}$, and $\\frac{B}{D} = \\frac{D}{B}$.", ["holds", "wrong"]),
    "sides that differ by a fraction without a root": ("Here $1 - \\frac{p - 1}{m + p - 1} = \\frac{m}{m + p - 1}$, not $1 - \\frac{p - 1}{m + p - 1} = \\frac{m - 1}{m + p - 1}$.", ["holds", "wrong"]),
    # steps
    "words join displays": (display("A > 2BC", "or equivalently", "\\frac{A}{BC} > 2", "which means", "A > BC"), ["holds", "wrong"]),
    "a step may follow in one direction": (display("B > 2C", "so", "B > C", "so", "B > 3C"), ["wrong"]),
    "what is more than a step is left out": (display("B > 2C", "so on a larger chip", "B > 3C", "But", "B > 4C"), []),
    "the same is not weaker": ("when $4B > 295$, i.e. $B > 59$, or $B > 73.75$, so $B > 50$", ["wrong"]),
    "two forms, and two cases": ("when $2D > 480$ or $D > 480$. When $B > 240$ or $B > 298$.", ["wrong"]),
    "two cases again": (display("B > 240", "or when", "B > 512"), []),
    "what we have is no step": (display("B > 240", "We have", "B > 512"), []),
    "letters that are gone were put in": (display("B > \\frac{C}{W}", "so", "B > 240"), []),
    "in the regime of the section": (REGIME + display("T_\\text{math} > T_\\text{comms}", "so", "B > 240", "so", "B > 250"), ["holds", "wrong"]),
    "an arrow": ("$\\frac{4BDF}{YC} > \\frac{4BD}{W} \\Leftrightarrow Y < \\frac{FW}{C}$ and $\\frac{4BDF}{YC} > \\frac{4BD}{W} \\Leftrightarrow Y < \\frac{C}{FW}$", ["holds", "wrong"]),
    "an arrow between two formulas": ("$2B > 243$ $\\Rightarrow B > 121.5$", ["holds"]),
    "a bound with a pole refutes nothing": ("$\\frac{nF}{F + n} > 240 \\iff n > \\frac{240 F}{F - 240}$, and $\\frac{nF}{F + n} > 240 \\iff n > \\frac{250 F}{F - 250}$", []),
    # sizes
    "sizes of the sentence, typed and behind": (REGIME + "With B = 16 and D = F = 4,096, $\\text{Intensity} = 15.9$. And $\\text{Intensity} = 341.3$ for $B = D = F = 1024$.", ["rounded", "rounded"]),
    "whole numbers": ("$n > 10 \\iff n \\ge 11$, $n > 10 \\iff n \\ge 12$", ["holds", "wrong"]),
    "two sizes for a name in one sentence": (REGIME + "With $D = F = 1024$, $\\text{Intensity} = 341.3$ for $B = 1024$ and $\\text{Intensity} = 15.5$ for $B = 16$.", []),
    # regimes
    "words": ("If $B$ is small relative to $D$ and $F$, $\\frac{BDF}{BD + DF + BF} \\approx B$.", ["conditional"]),
    "a formula beside": ("Assume $B \\ll D, F$. Then $\\frac{BDF}{BD + DF + BF} \\approx B$.", ["conditional"]),
    "what grows is small beside nothing that does not": ("For large $T$, $\\frac{TG}{G + T} \\approx G$, not $\\frac{TG}{G + T} \\approx T$. $\\frac{TG}{G + T} \\approx T$ for large $G$, $\\frac{TG}{G + T} \\approx T$.", ["conditional", "wrong", "conditional", "conditional"]),
    "below the display": (display("\\frac{2N - 1}{4N + 2} \\rightarrow \\frac{1}{2}", "as $N \\to \\infty$. For large $N$, $\\frac{2N - 1}{4N + 2} \\rightarrow \\frac{1}{3}$."), ["conditional", "wrong"]),
    "Korean": ("$B$가 $D$와 $F$에 비해서 작다고 가정하면 $\\frac{BDF}{BD + DF + BF} \\approx B$ 이다. $2B > 295$, 즉 $B > 147.5$ 또는 $B > 100$.", ["conditional", "holds"]),
    "Chinese": ("当批次 $B$ 远小于矩阵维度 $D$ 和 $F$ 时,$\\frac{BDF}{BD + DF + BF} \\approx B$。$2B > 295$,即 $B > 100$。", ["conditional", "wrong"]),
    # comments
    "the same": (REGIME + "<!-- symroof same = 'T_math > T_comms' -->\n$B > 240$ and <!-- symroof is = 'T_math > T_comms' --> $B > 250$", ["holds", "wrong"]),
    "what follows": (display("B > 2C", "<!-- symroof follows -->", "B > C", "And now something else. <!-- symroof follows -->", "B > 3C"), ["holds", "wrong"]),
    "what follows from nothing": ("<!-- symroof follows -->\n$B > C$", ["unreadable"]),
    "a named formula ends with its section": ("# A\n\n## B\n\n<!-- symroof let = { a = '2B' } -->\n\n$3a = 7B$\n\n## C\n\n$3a = 7B$", ["wrong"]),
    "or is forgotten": ("<!-- symroof let = { a = '2B' } -->\n$3a = 6B$\n\n<!-- symroof forget a -->\n$3a = 7B$", ["holds"]),
    "named formulas in the order of their uses": (MATMUL + "<!-- symroof let = { a = 'B', c = 'D' } -->\n<!-- symroof let = { a = '2 c' } -->\n$3a = 6D$", ["holds"]),
    "one that cannot be read is a finding": ("$1 = 1$\n\n<!-- symroof let = { a = '2B' -->\n\n$1 = 2$\n\n<!-- symroof let = { a = '2B' } -->\n\n$a = 3B$", ["holds", "unreadable", "wrong", "wrong"]),
    # the rest
    "units behind the formula": ("It takes $\\frac{1.4 \\times 10^{11}}{8 \\times 9.89 \\times 10^{14}} = 17.7$ microseconds, $4096 \\cdot 2550 = 10.4$ million, $4096 \\cdot 2550 = 11.4$ million; $134.2\\text{ MB}/(8.2e11\\text{ B/s}) = 164$ ms, no: $164$ µs.", ["rounded", "rounded", "wrong", "wrong"]),
    "composed and foreign units": ("Each gets $33 \\times 10^{12} / 132 = 250$ GB/s, does $\\frac{5.49 \\times 10^{15}}{1.9 \\cdot 8} = 361$ TFLOPs/s and not $361e12 = 361$ GFLOPs/s, at $\\frac{700}{9.89e14} = 0.71$ pJ.", ["holds", "rounded", "wrong", "rounded"]),
    "units that numbers had before are not heard": ("Each has 700 MB, so 8 have $8 \\cdot 700 = 5.6$ GB. It needs $5.6 + 4 = 9.6$ kW, not $1024 \\cdot 9.6 = 98.3$ MW. Each has 4 MB, $8 \\cdot 4 = 32$ MB.", ["holds", "wrong", "holds"]),
    "so many for each": ("It is $\\frac{9.89e14}{3.35e12} = 295$ FLOPs per byte and $1e9/8 = 125$ MB per card, not $1e9/8 = 12.5$ MB a card.", ["rounded", "holds", "wrong"]),
    "hundredths behind the formula": ("That's $2/3 = 67$% of it, $2/3 = 67$ percent and not $2/3 = 76$%.", ["rounded", "rounded", "wrong"]),
    "code": ("`NCCL_ALGO=NVLS`, `X * Y = N`, `S = 2N`, `B > 240`, `n = 3`, `x + 1 = x`, `2 * 3 = 7`, `1e12 / 1e9 = 1000`", ["wrong", "holds"]),
    "a macro for text and formulas": ("\\newcommand{\\tile}{\\ensuremath{m}}\n\nHere $\\frac{\\tile n}{n} = \\tile$, not $\\frac{\\tile n}{n} = 2\\tile$.", ["holds", "wrong"]),
    "another element type": (MATMUL + "In int8 $\\text{ridge} = 480$. With fp8 weights $T_\\text{math} > T_\\text{comms} \\iff B > 120$. In bf16 $\\text{ridge} = 250$.", ["wrong"]),
    "compute-bound when": (REGIME + "It is compute-bound when $B > 480$, and compute-bound if $B > 240$. It is compute-bound once $B > 120$. It is not compute-bound when $B > 100$. With half the bytes it is compute-bound when $B > 120$. The product is memory-bound when $B < 400$.", ["holds", "wrong", "wrong"]),
    "another chip by whole words": (REGIME + "On an A100 the product is compute-bound when $B > 120$.\n\nOn an A1000 the product is compute-bound when $B > 120$.", ["wrong"]),
    "a derivative with other arguments, beside a definition": (MATMUL + "Let $N = BD$.\n\nWe see $diff(NB, B, B) = 2D$ and $2N = 2BD = diff(NB)$. $\\frac{d}{dB}(N B) = N$.", ["holds"]),
    "another chip": (MATMUL + "On an H100 $\\text{ridge} = 295$. Here $\\text{ridge} = 295$, and on the TPU v5e $\\text{ridge} = 240$.", ["wrong", "rounded"]),
    "maps": ("$h \\to 4h \\to h$, $X \\rightarrow Y$", []),
}  # fmt: skip


def verdicts(tmp_path, row):
    return [judgement.verdict for judgement in judged(tmp_path, ROWS[row][0]).judgements]


def rests_on(tmp_path, row):
    """The verdicts, and what each rests on."""
    found = judged(tmp_path, ROWS[row][0]).judgements
    return [(j.verdict, [(r.kind, r.facts["words"]) for r in j.findings[0].remarks if r.kind == "stated"] if j.findings else []) for j in found]  # fmt: skip


@pytest.mark.parametrize("row", ROWS)
def test_what_a_document_says(tmp_path, row):
    assert verdicts(tmp_path, row) == ROWS[row][1]


@pytest.mark.thorough
def test_a_judgement_names_what_it_rests_on(tmp_path):
    def remarks(row):
        return [said for _, said in rests_on(tmp_path, row)]

    assert remarks("words") == [[("stated", "B is small relative to D and F")]]
    assert remarks("a formula beside") == [[]]  # of another sentence


def says(answer):
    return lambda *arguments, **options: answer


def alone(words):
    return (cue := step_between(words)) and replace(cue, alone=True)


def kept(self, *arguments):
    return self


SIZED = {"B": "16", "D": "1024", "F": "1024"}
# Each fault: where it is, what stands there instead, and a row that changes its verdicts, or what they rest on.
FAULTS = {
    "a sentence puts nothing in": (assertions, "_with_sizes", lambda *_: iter(()), "what the rest of the sentence puts in"),
    "a sentence says of no name what it is": (sentence_context, "relations_before", lambda *_: iter(()), "what a sentence supposes ends with it"),
    "nothing was put in before": (document_claims._Chapter, "_equate", lambda *_: None, "several sizes that are the same, and leave later formulas open"),
    "every equation is an identity": (sentence_context, "has_cue", says(False), "what is set equal is no identity"),
    "fractions are not reduced": (selection, "_reduces", says(False), "a fraction that is reduced is one"),
    "words join nothing": (sentence_context, "step_between", says(None), "words join displays"),
    "words say nothing more": (sentence_context, "step_between", alone, "what is more than a step is left out"),
    "any words join": (sentence_context, "step_between", lambda words: step_between(words) or Cue("=>", alone=True), "what is more than a step is left out"),
    "two cases are two forms": (readings, "_is_bound", says(False), "two forms, and two cases"),
    "poles do not matter": (readings, "has_poles", says(False), "a bound with a pole refutes nothing"),
    "letters may go": (readings, "depends", says(frozenset({"B"})), "letters that are gone were put in"),
    "no sizes are typed": (sentence_context, "sizes_beside", says({}), "sizes of the sentence, typed and behind"),
    "the last size counts": (sentence_context, "typed_sizes", lambda words: dict(SIZED), "two sizes for a name in one sentence"),
    "no regime is stated": (sentence_context, "regimes_beside", says(()), "below the display"),
    "what is offered is in force": (readings, "_under_reading", lambda finding, reading: finding, "words"),
    "a named formula never ends": (comments.Comments, "below", kept, "a named formula ends with its section"),
    "nothing is forgotten": (comments.Comments, "forgetting", kept, "or is forgotten"),
    "named formulas keep their order": (comments, "_in_order", dict, "named formulas in the order of their uses"),
    "words do not measure": (document_claims, "with_unit_behind", says(None), "units behind the formula"),
    "code is text": (scopes, "_of_code", lambda text, context: (scopes.read_claim(text, context.scope),), "code"),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_every_fault_is_noticed(tmp_path, monkeypatch, name):
    owner, part, fault, row = FAULTS[name]
    before = rests_on(tmp_path, row)
    if isinstance(owner, dict):
        monkeypatch.setitem(owner, part, fault)
    else:
        monkeypatch.setattr(owner, part, fault)
    if part == "_of_code":
        monkeypatch.setattr(scopes, "calculations", lambda text, **names: iter(()))
    assert rests_on(tmp_path, row) != before


def test_a_table_of_figures_is_added_to_and_a_chip_is_another():
    """What is given and defined is merged with what was; a chip that is described again is that chip alone."""
    figures, more = {"HBM": "1e12"}, {"peak": "1e14"}
    assert comments._added("given", figures, more) == {**figures, **more}
    assert comments._added("hardware", figures, more) == more


# What a sentence says of sizes: before and behind, typed and in formulas, in any order, of whatever names.
SAID = (
    "With $D = F = 1024$ {}.",
    "At D = F = 1024 {}.",
    "With $F = 1024$ and $D = 1024$ {}.",
    "If $D = 1024$ and $F = 1024$, then {}.",
    "For $F = D = 1,024$ {}.",
)
BOUNDED = (
    "we are compute-bound when $B > {}$",
    "we have $T_\\text{{math}} > T_\\text{{comms}} \\iff B > {}$",
    "$T_\\text{{math}} > T_\\text{{comms}} \\iff {} < B$",
)


def renamed(text, names):
    return re.sub(r"(?<![A-Za-z_])[BDF](?![A-Za-z])", lambda match: names["BDF".index(match.group())], text)


@pytest.mark.parametrize("names", ["BDF", "NKM", "TGH"])
@pytest.mark.parametrize("bounded", BOUNDED)
def test_the_sizes_of_a_sentence_are_heard_by_conditions(bounded, names):
    """1/B + 2/1024 < 41/9850 is B > 452.63: at those sizes, and not in a regime that nobody states."""
    for said in SAID:
        right, false = (MATMUL + said.format(bounded.format(bound)) for bound in ("452.63", "240"))
        (judgement,) = judge_read(read_text(renamed(right, names)), Path()).judgements
        assert judgement.verdict in ("holds", "rounded")
        (judgement,) = judge_read(read_text(renamed(false, names)), Path()).judgements
        assert judgement.verdict == "wrong", said
        shown = judgement.worst.counterexample
        assert all(value.denominator == 1 for value in shown.values.values())
        assert shown.left != shown.right
        assert all(one[1] != other[1] for one, other in [shown.parts])


BOUND_BY = tomllib.loads((DATA / "wordings.toml").read_text("utf-8"))["bound"]
EXPECTED = {"edge": "wrw", "threshold": "wr ", "sufficient": "wrr", "necessary": "rrw", "nothing": "---"}
TIMES_COMPARED = "T_\\text{math} > T_\\text{comms}"
REGIMES = ("$B \\ll D, F$", "$B \\ll F$ and $B \\ll D$")


@pytest.mark.parametrize("kind", BOUND_BY)
def test_what_an_operation_is_bound_by_is_heard(kind):
    """However it is worded, of whatever names, at a bound that is too low, right, and too high."""
    for said, (i, names) in zip(BOUND_BY[kind] * 2, enumerate(("BDF", "NKM", "TGH") * 12), strict=False):
        for bound, expected in zip((120, 240, 480), EXPECTED[kind], strict=True):
            text = said.format(*[REGIMES[i % 2]] * (said.count("{}") - 1), bound).replace("TIMES", TIMES_COMPARED)
            found = judge_read(read_text(renamed(REGIME + text, names)), Path()).judgements
            verdict = next((one.verdict for one in found if f"digits='{bound}'" in repr(one.statement)), "")
            assert expected in {"wrong": "w ", "holds": "r- ", "rounded": "r- "}.get(verdict, "- "), (text, verdict)


@pytest.mark.parametrize("sizes", [(128, 8192, 8192), (64, 512, 1024), (8, 4096, 256)])
def test_a_quantity_with_its_working_is_one_claim(sizes):
    """FLOPs that are said to be a product of the sizes of the sentence, in any order, or with a square: right with the factor 2
    alone."""
    written = [f"{a} \\cdot {b}^2" if b == c else f"{a} \\cdot {b} \\cdot {c}" for a, b, c in permutations(sizes)]
    for working in written:
        for factor, verdict in (("2 \\cdot ", "holds"), ("", "wrong"), ("3 \\cdot ", "wrong")):
            text = "With $B = {}$, $D = {}$ and $F = {}$ we have $\\text{{FLOPs}} = {}{} = {}$."
            value = prod(sizes) * (int(factor[:1] or 1))
            found = judge_read(read_text(MATMUL + text.format(*sizes, factor, working, value)), Path()).judgements
            assert max((one.verdict for one in found), key=["holds", "rounded", "wrong"].index) == verdict
    text = "The whole step has $\\text{FLOPs} = 6 \\cdot 128 \\cdot 8192 \\cdot 8192 = 51539607552$ for $B = 128$, $D = F = 8192$."
    assert [one.verdict for one in judge_read(read_text(MATMUL + text), Path()).judgements] == ["holds"]


@pytest.mark.parametrize("sizes", ["B=64, D=F=8192", "B=64, F=8192, D=8192"])
def test_the_sizes_of_a_problem_are_applied(sizes):
    note = MATMUL.replace("-->", f'at = "{sizes}"\n-->')
    text = (
        note
        + "It is $\\text{Intensity} = 63$, or $\\text{Intensity} = 70$. For $B = D = F = 1024$ it is $\\text{Intensity} = 341.3$."
    )
    assert [one.verdict for one in judge_read(read_text(text), Path()).judgements] == ["rounded", "wrong", "rounded"]


@pytest.mark.parametrize(
    ("text", "value"),
    [("ceil(1000/128)*128", 1024), ("floor(1000/96)*96", 960), ("max(100, 256)*3", 768), ("sqrt(1024)*37", 1184)],
)
def test_functions_of_whole_numbers_are_exact(text, value):
    others = (value + 1, value - 1, round(value, -2), value // 100 * 100, value // 10 * 10)
    assert verdicts_of(f"`{text} = {value}`") == ["holds"]
    assert all(verdicts_of(f"`{text} = {other}`") == ["wrong"] for other in others if other != value)


def verdicts_of(text):
    return [one.verdict for one in judge_read(read_text(text), Path()).judgements]


def test_a_relation_that_is_skipped_is_not_counted_as_judged():
    """Whatever else of its formula is judged; a definition or a size claims nothing, and leaves nothing open."""
    for text, count, cause in (
        ("$2 \\cdot 3 = 6 = 6$", 1, None),
        ("$\\text{FLOPs} = 2 \\cdot 128 = 256$", 0, "size"),
        ("$8BD = 8B^2 = 4B^2 + 4B^2$", 0, "equation"),
        ("$x = 2 \\cdot 3 = 6$", 1, None),
    ):
        coverage = judge_read(read_text(MATMUL + text), Path()).coverage
        assert (coverage.formulas, coverage.judged) == (1, count), text
        assert list(coverage.skipped) == ([cause] if cause else []), text


def test_nothing_right_is_called_wrong_and_each_mistake_is():
    """Pages of one line for each rule of calculations, identities and wordings, half of them near misses."""
    right, wrong = (judge_document(DATA / f"{name}.md") for name in ("right", "wrong"))
    assert [one.claim for one in right.judgements if one.verdict not in ("holds", "rounded")] == []
    found = {one.line for one in wrong.judgements if one.verdict == "wrong"}
    lines = enumerate((DATA / "wrong.md").read_text("utf-8").split("\n"), 1)
    said = [(number, line) for number, line in lines if number > 1 and re.match(r"[-A-Z$当]", line)]
    assert [line for number, line in said if number not in found and not line.startswith("-->")] == []
