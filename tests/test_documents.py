"""Documents: which formulas are claims, where they stand, and that prose around them does no harm."""

import os
import tomllib
from fractions import Fraction
from pathlib import Path

import pytest
from texts import judged

import symroof as sr
from symroof.errors import SymroofError
from symroof.reading.documents import read_text
from symroof.verification.files import judge_file, judge_files, verdict_changes
from symroof.verification.verdicts import Standard

pytestmark = pytest.mark.part(8)

EXAMPLES = Path(__file__).parent.parent / "examples"
WORDINGS = tomllib.loads((Path(__file__).parent / "data/wordings.toml").read_text("utf-8"))["regimes"]
MATMUL = '<!-- symroof\noperation = "bf16[B, D] * bf16[D, F] -> bf16[B, F]"\nhardware = "tpu-v5e"\n-->\n'


def verdicts(report):
    return [(j.line, j.column, j.verdict) for j in report.judgements]


@pytest.mark.thorough
def test_the_chapter_is_right_in_every_formula():
    report = judge_file(EXAMPLES / "rooflines.md")
    assert not report.findings()
    assert report.coverage.judged == report.coverage.formulas - 1 == 29
    assert [s.reason.kind for s in report.skipped] == ["operation"]


@pytest.mark.thorough
def test_every_seeded_mistake_is_found_and_nothing_else():
    right, wrong = ((EXAMPLES / f"rooflines{end}.md").read_text("utf-8").split("\n") for end in ("", "-mistakes"))
    changed = {i + 1 for i, (a, b) in enumerate(zip(right, wrong, strict=True)) if a != b and i}
    report = judge_file(EXAMPLES / "rooflines-mistakes.md")
    found = {j.line for j in report.judgements if not j.good}
    assert len([j for j in report.judgements if not j.good]) == 11
    assert found == changed


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The ridge is $\\frac{1.97e14}{8.2e11} = 240$.", [(1, 14, "rounded")]),
        ("Ein *Satz* mit `1e12 / 1e9 = 1000` darin.", [(1, 16, "holds")]),
        ("$$\n2 \\cdot 3 = 7\n$$", [(2, 1, "wrong")]),
        ("문장 $\\frac{BDF}{DF} = B$ 문장", [(1, 4, "holds")]),
        ("\\[ 2 = 2 \\] and \\( 3 = 4 \\)", [(1, 4, "holds"), (1, 17, "wrong")]),
        ("> - quoted $1 = 1$\n> - again $1 = 2$", [(1, 12, "holds"), (2, 11, "wrong")]),
        ("| $1 = 1$ | $2 = 2$ |\n|:--|:--|\n| $3 = 4$ | x |", [(1, 3, "holds"), (1, 13, "holds"), (3, 3, "wrong")]),
        ("a\r\n\r\n$1 = 2$\r\n", [(3, 1, "wrong")]),
        ("<d-footnote>see $4 = 4$</d-footnote> {% cite x=y %}", [(1, 17, "holds")]),
        ("``1 = 1`` and `x`", [(1, 1, "holds")]),
        ("- item\n\n    $1 = 2$", [(3, 5, "wrong")]),
        ("A paragraph\n    $1 = 2$ goes on.", [(2, 5, "wrong")]),
        ("$$\n    1 = 2\n$$", [(2, 5, "wrong")]),
        ("```py\n$1 = 2$\n```\n\n$3 = 3$", [(5, 1, "holds")]),
        (MATMUL.rstrip("\n") + "$\\text{ridge} = 250$", [(4, 4, "wrong")]),
        ('# A\n\n<!-- symroof\nclaims = ["1 + 1 \\u003d 3"]\n-->\n', [(3, 1, "wrong")]),
    ],
)
def test_formulas_are_found_with_line_and_column(tmp_path, text, expected):
    assert verdicts(judged(tmp_path, text)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "It costs $5 and $10 = cheap.",
        "```\n$1 = 2$\n```",
        "~~~ py\nx = `1 = 2`\n~~~",
        "````\n```\n$1 = 2$\n```\n````",
        "---\ntitle: $1 = 2$\n---\n",
        "<!-- $1 = 2$ -->",
        "{% include x.html a=$1 = 2$ %}",
        "an open $ sign\n\n1 = 2$ in another paragraph",
        "`A = X[:, :D // 2]`, `x == y`, `a.b = c`, `for i in range(3)`, `-> None`",
        "\\$1 = 2\\$",
        "Code:\n\n    $1 = 2$\n    `2 = 3`\n\nand prose.",
        "- item\n\n      $1 = 2$\n",
        "> quoted\n>\n>     $1 = 2$\n",
        "\t$1 = 2$",
        "1. item\n\n   ```\n   $1 = 2$\n   ```\n",
    ],
)
def test_what_is_no_mathematics_is_left_alone(tmp_path, text):
    assert judged(tmp_path, text).judgements == ()


@pytest.mark.parametrize(
    ("formula", "reason"),
    [
        ("B > 240", "condition"), ("B \\ll D", "assumption"), ("N \\to \\infty", "assumption"), ("S = 2N", "definition"),
        ("F = D = 4096", "size"), ("X * Y = Z", "other_letters"), ("E F = m c^2", "other_letters"),
        ("\\text{Zeit} = 3", "words"), ("\\foo = 3", "unreadable"), ("T_\\text{math} > T_\\text{comms}", "condition"),
        ("\\text{FLOPs} = 2BDF", "definition"), ("X[B, D] \\cdot_D Y[D, F] \\rightarrow Z[B, F]", "operation"), ("D/2 = 4096", "other_letters"),
        ("0/0 = 1", None),
    ],
)  # fmt: skip
def test_everything_else_is_skipped_with_a_reason(tmp_path, formula, reason):
    report = judged(tmp_path, f"Let ${formula}$ be.")
    assert report.judgements == ()
    (skip,) = report.skipped
    assert reason is None or skip.reason.kind == reason


@pytest.mark.parametrize(
    ("formula", "verdict"),
    [
        ("\\text{FLOPs} = 2BDF", "holds"), ("\\text{Intensity} \\approx B", "conditional"), ("\\text{Intensity} = B", "wrong"), ("\\text{Intensity} < B", "holds"),
        ("\\text{Intensity} > B", "wrong"), ("T_\\text{math} > T_\\text{comms} \\iff B > 2", "wrong"), ("\\text{bytes} = 2(BD + DF + BF)", "holds"),
        ("\\text{min}(2, 3) = 2", "holds"), ("\\text{max}(2, 3) = 2", "wrong"),
        ("2 AI = \\frac{2BDF}{BD + DF + BF}", "holds"), ("\\text{ridge} = 240", "rounded"), ("\\frac{BDF}{BD + DF + BF} = B", "wrong"), ("T_{mem} = \\frac{\\text{bytes}}{8.2e11}", "holds"),
    ],
)  # fmt: skip
def test_with_an_operation_quantities_are_known(tmp_path, formula, verdict):
    report = judged(tmp_path, f"{MATMUL}\nHere ${formula}$.")
    assert [j.verdict for j in report.judgements] == [verdict]


def test_a_file_is_verified_from_python(tmp_path):
    path = tmp_path / "x.toml"
    path.write_text('claims = ["1 + 1 = 2",\n          "1 + 1 = 3"]\n', "utf-8")
    report = sr.verify(path)
    assert [(j.line, j.column, j.verdict) for j in report.judgements] == [(1, 12, "holds"), (2, 12, "wrong")]
    assert report.to_dict()["counts"] == {
        "holds": 1,
        "rounded": 0,
        "conditional": 0,
        "undecided": 0,
        "wrong": 1,
        "unreadable": 0,
    }
    assert "x.toml:2:12  wrong         1 + 1 = 3\n" in report.to_text()
    with pytest.raises(SymroofError, match="cannot be read"):
        sr.verify(tmp_path / "nowhere.toml")


def test_sixty_four_levels_of_brackets_are_read_and_no_more(tmp_path):
    for levels, found in ((64, ["holds"]), (65, [])):
        report = judged(tmp_path, f"${'(' * levels}1{')' * levels} = 1$")
        assert [j.verdict for j in report.judgements] == found
    assert "nested too deeply" in report.skipped[0].reason.facts["problem"]


def test_a_definition_is_held_to_in_its_section(tmp_path):
    text = "# One\n\n$S = 2N$ and $S/N = 3$ but $\\frac{S}{2} = N$.\n\n# Two\n\n$S/N = 3$"
    report = judged(tmp_path, text)
    assert verdicts(report) == [(3, 14, "wrong"), (3, 28, "holds")]
    assert [s.reason.kind for s in report.skipped] == ["definition", "other_letters"]


def test_comments_speak_of_the_next_formula(tmp_path):
    text = (
        '<!-- symroof ignore --> $1 = 2$ and <!-- symroof expect = "wrong" --> $2 = 3$, $3 = 4$.\n\n'
        '<!-- symroof\nsymbols = ["bm", "bn", "bk"]\nlet = { tile = "2 bm bn bk" }\n-->\n'
        'A tile takes <!-- symroof is = "tile" --> $2 \\cdot bm \\cdot bn \\cdot bk$, not <!-- symroof is = "tile" --> $2 \\cdot bm \\cdot bk \\cdot bm$.'
    )
    report = judged(tmp_path, text)
    assert [(j.verdict, j.good) for j in report.judgements] == [
        ("wrong", True),
        ("wrong", False),
        ("holds", True),
        ("wrong", False),
    ]
    assert report.judgements[-1].worst.diagnosis.kind == "other_letter"
    assert report.skipped[0].reason.kind == "ignored"


def test_claims_in_a_comment_are_judged_at_their_line(tmp_path):
    text = MATMUL.replace("-->", 'claims = [\n  "flops = 2BDF",\n  "flops = BDF",\n]\n-->')
    assert [(j.line, j.verdict) for j in judged(tmp_path, text).judgements] == [(5, "holds"), (6, "wrong")]


def test_latex_documents(tmp_path):
    text = (
        "\\section{One}\n% symroof: operation = \"bf16[B, D] * bf16[D, F] -> bf16[B, F]\"\n% symroof: hardware = 'tpu-v5e'\n"
        "We have $\\text{FLOPs} = 2BDF$. % $1 = 2$\n\\begin{align}\n\\text{Intensity} &= \\frac{2BDF}{2BD + 2DF + 2BF} \\\\\n &= \\frac{BDF}{BD+DF+BF}\n\\end{align}\n"
        "\\begin{verbatim}\n$1 = 2$\n\\end{verbatim}\n% symroof: ignore\n$3 = 4$ and $50\\% = 0.5$\n"
    )
    report = judged(tmp_path, text, "notes.tex")
    assert [j.verdict for j in report.judgements] == ["holds", "holds", "holds"]
    assert report.notes == 2


def test_nothing_judged_is_a_finding_where_a_comment_or_a_flag_asks_for_it(tmp_path):
    for text in ("Prose, and $S = 2N$.", ""):
        assert not judged(tmp_path, text).findings()
        assert judged(tmp_path, text).findings(Standard(require=True))
        assert judged(tmp_path, MATMUL + text).findings()
    assert not judged(tmp_path, "$1 = 1$").findings(Standard(require=True))
    path = tmp_path / "empty.toml"
    path.write_text('title = "none"', "utf-8")
    assert judge_file(path).findings()


COVERED = "$1 = 1$, $2 = 3 - 1$, $\\foo = 3$, but $S = 2N$, $B > 240$, $B \\ll D$, $B = 16$, `x == y`, <!-- symroof ignore --> $1 = 2$"


def test_how_much_is_judged_of_what_claims_something(tmp_path):
    report = judged(tmp_path, COVERED)
    coverage = report.coverage
    assert (coverage.formulas, coverage.judged, coverage.judgeable, coverage.share) == (9, 2, 3, Fraction(2, 3))
    assert sum(coverage.skipped.values()) == 7
    assert coverage.skipped["unreadable"] == 1
    assert not report.findings(Standard(coverage=Fraction(2, 3)))
    assert report.findings(Standard(coverage=Fraction(67, 100)))
    assert not judged(tmp_path, "Prose.").findings(Standard(coverage=Fraction(1)))


def test_a_display_of_several_rows_is_one_formula(tmp_path):
    coverage = judged(tmp_path, "$$1 &= 1 \\\\ S &= 2N$$ and $$B > 240 \\\\ P = 3M$$").coverage
    assert (coverage.formulas, coverage.judged) == (2, 1)


def test_a_comment_that_cannot_be_read_is_a_finding_and_the_rest_is_judged(tmp_path):
    path = tmp_path / "x.md"
    for text, line, message in (
        ("\n<!-- symroof\noperation = -->", 2, "the comment is not TOML"),
        ("\n\n<!-- symroof\noperation = 'matmul'\n\n$1 = 1$", 3, "the comment is not closed"),
        ("<!-- symroof\nbanana = 3 -->", 1, "the problem: unknown key 'banana'"),
        ('\n\n<!-- symroof expect = "fine" -->', 3, "expect = 'fine' is no verdict"),
        ("<!-- symroof hardware = 'tpu-v99' -->", 1, "unknown chip 'tpu-v99'"),
        ("<!-- symroof aliases = { x = 'nope' } -->", 1, "aliases: x stands for 'nope', which is no name here"),
    ):
        path.write_text("$2 = 2$\n" + text + "\n\n$2 = 3$\n", "utf-8")
        found, *rest = (j for j in judge_file(path).judgements if j.error or j.verdict == "wrong")
        assert (found.verdict, found.line) == ("unreadable", line + 1)
        assert message in found.error
        assert len(rest) == ("not closed" not in message)
    assert "cannot be read" in (judge_file(tmp_path / "missing.md").error or "")
    assert "cannot be read" in (judge_file(tmp_path).error or "")


@pytest.mark.thorough
def test_processes_give_the_same_report(tmp_path):
    paths = [EXAMPLES / "rooflines.md", EXAMPLES / "rooflines-mistakes.md"]
    assert repr(judge_files(paths, jobs=2)) == repr(judge_files(paths))


def test_one_job_is_done_in_this_process():
    assert judge_files(["a.md", "b.md"], jobs=1, judge=lambda path, overrides: (path, os.getpid())) == (
        ("a.md", os.getpid()),
        ("b.md", os.getpid()),
    )


def test_another_figure_moves_the_claims_that_depend_on_it(tmp_path):
    path = tmp_path / "x.md"
    path.write_text(MATMUL + "\n$\\text{ridge} = 240$, $\\text{FLOPs} = 2BDF$, $\\text{ridge} = 240.24$", "utf-8")
    moves = verdict_changes(judge_files([path]), judge_files([path], {"given": {"HBM": "8.19e11"}}))
    assert [(m.before.verdict, m.after.verdict) for m in moves] == [("rounded", "rounded"), ("rounded", "wrong")]


def test_places_survive_what_is_blanked():
    document = read_text("---\na: b\n---\n\n```\nx\n```\n{% tag %} $x$ <!-- c --> `y`\n")
    assert [(p.text, p.place.line, p.place.column) for p in document.parts] == [("x", 8, 11), ("y", 8, 26)]


REGIME = MATMUL.replace("-->", 'assume = ["B << D", "B << F"]\n-->') + "\n"
ALIASES = MATMUL.replace(
    "-->",
    'aliases = { I = "intensity", "Rechenaufwand" = "flops", "필요한 연산" = "flops" }\ngiven = { N = "70e9" }\n-->\n',
)
NEAR = "\n$\\text{Intensity} \\approx B$\n\n"
# comments add to those before them, and an operation starts afresh
STEPS = MATMUL + NEAR + "<!-- symroof assume = ['B << D', 'B << F'] -->\n" + NEAR
STEPS += "<!-- symroof given = { HBM = '1.97e12' } -->\n$\\text{ridge} = 100$" + NEAR
STEPS += "<!-- symroof operation = 'int8[B, D] * int8[D, F] -> int8[B, F]' -->\n$\\text{Intensity} \\approx 2B$"
BARE = MATMUL.replace('hardware = "tpu-v5e"\n', "") + "\n"


@pytest.mark.parametrize(
    ("text", "verdicts"),
    [
        # worked examples: the sizes of the paragraph are put in
        ("With $B = 16$, $D = F = 4096$: $\\text{Intensity} = 15.9$ and $T_\\text{comms} = 41\\text{ us}$.", ["rounded", "rounded"]),
        ("At $B = D = F = 1024$, $\\text{Intensity} = 341.3$; not $\\text{Intensity} = 310$.", ["rounded", "wrong"]),
        ("Somewhere $\\text{Intensity} = 341.3$.", []),
        ("$\\text{Intensity} = 341.3 \\text{ at } B = D = F = 1024$", ["rounded"]),
        # equations to be solved
        ("$T_\\text{math} = T_\\text{comms}$, $\\text{Intensity} = \\text{ridge}$, $T_\\text{lower} = T_\\text{math}$, $T_\\text{upper} \\approx T_\\text{lower}$", []),
        ("$\\frac{B}{D} = \\frac{D}{B}$, $4BD^2 = 8B^2D$, $BD = B + D$", []),
        # a definition does not replace what the operation says
        ("$T_\\text{comms} = \\frac{2BD + 2DF + 2BF}{W}$. So $T_\\text{math} > T_\\text{comms} \\iff B > 240$", ["holds"]),
        ("$T_\\text{math} = \\frac{\\text{FLOPs}}{C}$ and $T_\\text{math} = \\frac{BDF}{1.97e14}$", ["wrong"]),
        # units
        ("$T_\\text{math} = \\frac{2BDF}{1.97\\times10^{14}\\text{ FLOPs/s}}$", ["holds"]),
        ("$T_\\text{comms} \\approx \\frac{2DF}{820\\text{ GB/s}}$", ["holds"]),
        ("$7\\times10^9\\times2\\text{ bytes} = 14\\text{ GB}$", ["holds"]),
        ("$\\text{bytes} = 2BD+2DF+2BF\\text{ bytes}$, $\\text{FLOPs} = 2BDF\\text{ FLOPs}$", ["holds", "holds"]),
        ("$\\text{ridge} = \\frac{1.97\\times10^{14}\\text{ FLOPs/s}}{8.2\\times10^{11}\\text{ bytes/s}} = 240\\text{ FLOPs/byte}$", ["rounded"]),
        # remarks, two formulas in one display
        ("$$\\text{reads} = 2BD+2DF, \\qquad \\text{writes} = 3BF$$", ["holds", "wrong"]),
        ("$$\\begin{aligned}\\text{FLOPs} &= 2BDF && \\text{one product} \\\\ &= BDF \\quad\\text{(forward)}\\end{aligned}$$", ["wrong"]),
    ],
)  # fmt: skip
def test_a_chapter_with_an_operation(tmp_path, text, verdicts):
    assert [j.verdict for j in judged(tmp_path, REGIME + text).judgements] == verdicts


@pytest.mark.parametrize(
    ("text", "verdicts"),
    [
        ("$2^3\\times10^{2} = 800$, $10^3\\times10^{6} = 10^9$, $B^2\\times10^{3} = 1000B^2$", ["holds", "holds", "holds"]),
        ("$1/2\\times10^{3} = 500$, $\\frac12\\times10^{3} = 500$, $1.97\\times10^{14}/8.2\\times10^{11} = 240$", ["holds", "holds", "rounded"]),
        ("$B > 240.24$, so $B \\ge 241$. Then $B > 12$, that is $B \\ge 14$.", ["holds", "wrong"]),
        ("$T(n) = 2T(n/2) + n$, $f(N) = N + f(N)$, $f(B) = 2f(B/2)$", []),
        ("$$2BDF+4BDF = 6BDF \\qquad (2)$$", ["holds"]),
        ("$0{,}125\\cdot8 = 1$ and $1{,}500\\cdot2 = 3000$", ["holds"]),
        ("for $x < 0$, $\\alpha < 0$, $0 < x < 1$, $x > 0$", []),
        ("$x^2 = 4x$, $2N = N + 1$, but $(a+b)^2 = a^2+b^2$", ["wrong"]),
        ("$\\log(100) = 2$ and $2\\frac{1}{2} = 2.5$ and $\\log_2(8) = 3$", ["holds"]),
        ("$2\\times3 = 10$, $9.6 = 10$", ["wrong", "rounded"]),
        ("$1.34\\times10^9\\text{ bytes} = 1.34\\text{ GB}$, $1.00\\text{ GB} = 2^{30}\\text{ bytes}$", ["holds", "wrong"]),
        ('<pre>$2+2=5$</pre> <code>$2+2=5$</code> <a title="$2+2=5$">x</a> [x](a$2+2=5$)', []),
        ("{% highlight py %}\n$2+2=5$\n{% endhighlight %}\n{% comment %}$2+2=5${% endcomment %}", []),
        ("Write `<!-- symroof ignore -->` to skip, or `<!-- symroof banana = 3 -->`. $2=3$", ["wrong"]),
        ("`1 << 10 = 1024`, `x == 3`", []),
        ("$$\n2 + 3\n+ 4 = 10\n$$\n\n$$\n1 = 2\n\n$$", ["wrong", "wrong"]),
        ("> $$\n> 2+2=7\n> $$\n", ["wrong"]),
        ("It costs $5 today, and $2 \\times 3 = 7$ is wrong.", ["wrong"]),
        ("We pay $3,000 and $4,000, then $2 = 3$.", ["wrong"]),
        ("$`2 = 3`$ and\n\n```math\n2 = 4\n```\n", ["wrong", "wrong"]),
        ("$B \\ll D, F$", []),
        ("when $2B > 240$ or $B > 120$", ["holds"]),
        ("when $2B > 240$, i.e. $B > 130$", ["wrong"]),
        ("not $B > 240$ but $B > 480$", []),
        ("when $2B > 240$\n\n$B > 120$", []),
        ("<!-- symroof hardware = 'tpu-v5e' -->\n" + BARE + "$\\text{ridge} = 240$", ["rounded"]),
        (BARE + "$\\text{peak} = 1.97\\times10^{14}$, $\\text{ridge} = 240$, $T_\\text{math} = \\frac{2BDF}{1.97e14}$", []),
        (BARE + "$T_\\text{math} > T_\\text{comms} \\iff B > 240$, $\\text{FLOPs} = 2BDF$", ["holds"]),
        (ALIASES + "$\\text{Rechenaufwand} = 2BDF$, $\\text{필요한 연산} = BDF$", ["holds", "wrong"]),
        (ALIASES + "$I = \\frac{BDF}{BD + DF + BF}$, $\\frac{N}{7} = 10^{10}$", ["holds", "holds"]),
        (STEPS, ["conditional", "holds", "holds", "holds", "conditional"]),
    ],
)  # fmt: skip
def test_a_chapter_without_a_comment(tmp_path, text, verdicts):
    assert [j.verdict for j in judged(tmp_path, text).judgements] == verdicts


def test_latex_that_is_not_typeset_is_left_alone(tmp_path):
    text = (
        "\\verb|$2=3$| \\lstinline{$2=3$} \\iffalse $2=3$ \\fi ``quoted'' $1=1$ `single' $2=2$\n\\end{document}\n$2=3$"
    )
    assert [j.verdict for j in judged(tmp_path, text, "x.tex").judgements] == ["holds", "holds"]
    text = "\\begin{align}\n1 &= 1 \\\\\n% a remark\n2 &= 3\n\\end{align}"
    assert verdicts(judged(tmp_path, text, "x.tex")) == [(2, 1, "holds"), (4, 1, "wrong")]


TABLE = """# The claim "1 = 2" is quoted here, and '3 = 3' as well.
[[problem]]
title  = "1 = 2"  # claims = ["1 = 2"]
claims = [
  # "1 = 2", as a beginner would write
  "1 = 2", '3 = 3',
  { claim = "a \\"b\\" = 2", expect = "unreadable" },
]

[[problem]]
hardware = "no such chip"
claims = ["1 = 2"]

[[problem]]
claims = ["1 = 2", "A = 2A"]
"""


def test_a_claim_is_reported_where_it_stands_and_not_where_a_comment_quotes_it(tmp_path):
    path = tmp_path / "x.toml"
    path.write_text(TABLE.replace('hardware = "no such chip"\n', ""), "utf-8")
    places = [(j.claim, j.line, j.column) for j in judge_file(path).judgements]
    assert places[:3] == [("1 = 2", 6, 4), ("3 = 3", 6, 13), ('a "b" = 2', 7, 16)]
    assert [line for _, line, _ in places[3:]] == [11, 14, 14]


def test_bytes_in_binary_units_are_one_finding_of_a_document(tmp_path):
    text = "Here 8192*4096*2 = 64 MB, `2 * 8192 * 8192 = 128 MB`.\n\nAnd 8192*1000 = 8.2 MB, 17 * 2**30 = 17 GB.\n\n"
    report = judged(tmp_path, text + "So 3*1000*1000 = 4 MB, 2*32 MB = 67.1 MB and 2^20 bytes = 1.05 MB.\n")
    first, *_ = wrong = [j for j in report.judgements if j.verdict == "wrong"]
    assert first.worst.diagnosis.facts == {"binary": False, "lines": "1", "others": "3"}
    assert [(j.line, j.accepted is None) for j in wrong] == [(1, True), (1, False), (3, True), (5, True), (5, True)]


@pytest.mark.parametrize(
    "fault",
    [
        *("at = { D = 8, |Q = 9 }", 'at = "B = 3, |Q = 9"', "at = [{ D = 8 }, { |Q = 1 }]", 'at = { B = "8|x" }'),
        *(
            'assume = "B << |Q"',
            'given = { HBM = "9 |XB" }',
            'claims = ["3 = 3", "B = |Q"]',
            "at = { D = 8_192, |Q = 9 }",
        ),
        'at = { B = 64, D = 8192, F = 8192 }\nclaims = ["intensity = 63", |"intensity = 64"]',
    ],
)
def test_a_fault_of_a_problem_has_a_place(tmp_path, fault):
    path, problem = tmp_path / "x.toml", '[[problem]]\noperation = "matmul"\n'
    text = f'{problem}at = {{ B = 8 }}\ntitle = "Q and 8x"\n{problem}{fault}'
    path.write_text(text.replace("|", ""), "utf-8")
    report, (*lines, last) = judge_file(path), text.split("|")[0].split("\n")
    place = (1 + len(lines), 1 + len(last) + fault.count('|"'))
    wrong = [(j.line, j.column) for j in report.judgements if j.verdict in ("wrong", "unreadable")]
    assert wrong == [place] or str(report.error).startswith(f"{path}:{place[0]}:{place[1]}: problem 2: ")


def test_a_problem_that_cannot_be_read_leaves_the_others_judged(tmp_path):
    path = tmp_path / "x.toml"
    path.write_text(TABLE, "utf-8")
    report = judge_file(path)
    assert [(j.line, j.verdict) for j in report.judgements] == [
        (6, "wrong"),
        (6, "holds"),
        (7, "unreadable"),
        (15, "wrong"),
        (15, "wrong"),
    ]
    assert "problem 2: unknown chip 'no such chip'" in (report.error or "")
    path.write_text('[[problem]]\nbanana = 3\n\n[[problem]]\nclaims = ["1 = 1"]\n', "utf-8")
    report = judge_file(path)
    assert [j.verdict for j in report.judgements] == ["holds"]
    assert "problem 1: the problem: unknown key 'banana'" in (report.error or "")


def test_letters_that_one_side_alone_has_are_not_explained_by_a_size_of_others(tmp_path):
    """G is N/K in another paragraph; that T = S in this one says nothing of it."""
    text = "With a mask and $T = S$ half are needed, so $\\frac{STN}{SN + TK} = \\frac{STG}{SG + T}$."
    assert not judged(tmp_path, text).judgements
    text = "With a mask and $T = S$ half are needed, so $\\frac{STN}{SN + TK} = \\frac{SN}{N + K}$."
    assert [j.verdict for j in judged(tmp_path, text).judgements] == ["holds"]


def test_links_that_are_left_out_are_listed_with_their_reasons(run, tmp_path):
    page = tmp_path / "page.md"
    page.write_text("A chain $x = \\foo = 12 = 3 \\cdot 4$, and $\\text{tokens per step} = 2 \\cdot 3 = 6$.\n")
    done = run("verify", "-v", str(page))
    assert [
        line.split("skipped")[1].split() for line in done.out.splitlines() if ":1:" in line and "skipped" in line
    ] == [
        ["x", "=", "…", "unknown", "command", "\\foo", "(column", "5)"],
        ["…", "=", "12", "unknown", "command", "\\foo", "(column", "5)"],
        ['"tokens', "per", 'step"', "=", "2*3", "nothing", "says", "what", '"tokens', "per", 'step"', "is"],
    ]
    assert "0 formulas skipped" in done.out


CASES = """I > R \\iff
\\begin{cases}
B > \\dfrac{%sRDF}{DF - R(D + F)} & \\text{if } DF > R(D + F) \\\\[1em]
\\text{never} & \\text{otherwise}
\\end{cases}"""


@pytest.mark.thorough
def test_a_solution_with_its_guard_is_read_as_it_is_printed(tmp_path):
    page = tmp_path / "page.md"
    head = '<!-- symroof\noperation = "bf16[B, D] * bf16[D, F] -> bf16[B, F]"\nhardware = "tpu-v5e"\naliases = { I = "intensity", R = "ridge" }\n-->\n\n'
    page.write_text(head + f"$$\n{CASES % ''}\n$$\n\nand\n\n$$\n{CASES % '2'}\n$$\n")
    assert [judgement.verdict for judgement in judge_file(page).judgements] == ["holds", "wrong"]
    assert "\\begin{cases}" in sr.derive("matmul", on="tpu-v5e").to_markdown()


@pytest.mark.thorough
def test_a_changed_threshold_in_a_pasted_answer_is_wrong(tmp_path):
    head = '<!-- symroof\noperation = "bf16[B, D] * bf16[D, F] -> bf16[B, F]"\nhardware = "tpu-v5e"\nassume = "B << D, F"\n-->\n\n'
    text = sr.derive("matmul", on="tpu-v5e", assume="B << D, F").to_markdown()
    page = tmp_path / "page.md"
    page.write_text(head + text)
    assert all(judgement.good for judgement in judge_file(page).judgements)
    page.write_text(head + text.replace("240.24", "250.24"))
    (wrong,) = (judgement for judgement in judge_file(page).judgements if judgement.verdict == "wrong")
    assert page.read_text().splitlines()[wrong.line - 1].startswith("| compute-bound")


def test_beside_an_arrow_to_what_cannot_be_read_the_rest_is_judged_alone(tmp_path):
    path = tmp_path / "page.md"
    path.write_text("Here $4 > 3 \\iff B \\heartsuit D > 1$.\n")
    report = judge_file(path)
    ((verdict, links),) = ((j.verdict, [finding.link for finding in j.findings]) for j in report.judgements)
    assert verdict == "holds"
    assert [(link.left.value, link.relation, link.right.value) for link in links] == [(4, ">", 3)]
    (skipped,) = report.skipped
    assert skipped.column == 6


@pytest.mark.thorough
@pytest.mark.parametrize("sentence", [*WORDINGS["supposed"], *WORDINGS["not_supposed"]])
def test_a_regime_that_the_sentence_supposes_is_said(sentence, tmp_path):
    """What is true in it is true as it stands; what is true in a smaller one needs the rest; a wrong number stays wrong."""
    head = '<!-- symroof operation = "matmul"\nhardware = "tpu-v5e" -->\n\n'
    (found,) = judged(tmp_path, head + sentence + "\n").judgements
    assert found.verdict == ("holds" if sentence in WORDINGS["supposed"] else "conditional")
    (other,) = judged(tmp_path, head + sentence.replace("240", "300") + "\n").judgements
    assert other.verdict == "wrong"
    for size, lacks in (("D", "F"), ("F", "D")):
        if "nless" in sentence or "not when" in sentence:
            assert not [r for r in found.findings[0].remarks if r.kind == "stated"], "the text says the contrary"
        if sentence.startswith(rf"When $B \ll {size}$"):
            assert [[(r.left.name, r.right.name) for r in needs] for needs in found.findings[0].needs] == [
                [("B", lacks)]
            ]


@pytest.mark.thorough
def test_a_document_counts_additions_in_one_way_for_each_problem(tmp_path):
    """Both counts may be told; of what is made of the count one way holds, that of more formulas, whatever their order."""
    fused, exact = "`intensity = N/(2N + 1)`", "`intensity = (2N - 1)/(4N + 2)`"
    told, note = "`flops = 2N` and `flops = 2N - 1`", '<!-- symroof\noperation = "dot"\n-->\n'

    def found(*parts):
        return [j.verdict for j in judged(tmp_path, "\n\n".join(parts)).judgements]

    assert found(note, told, fused) == ["holds"] * 3
    assert found(note, told, exact) == ["holds"] * 3
    assert found(note, told, fused, exact) == ["holds", "holds", "holds", "wrong"]
    assert found(note, told, exact, fused) == ["holds", "holds", "wrong", "holds"]
    assert found(note, exact, fused, "`1/intensity = (4N + 2)/(2N - 1)`") == ["holds", "conditional", "holds"]
    assert found(note, fused, note, exact) == ["holds", "holds"]  # another problem counts in its own way
    assert found(note, fused, exact, note, exact) == ["holds", "wrong", "holds"]
