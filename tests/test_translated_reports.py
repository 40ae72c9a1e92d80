"""Reports of verify in every language: verdicts, remarks, mistakes, omissions and counts, in its own words alone."""

import ast
import re
from fractions import Fraction
from pathlib import Path

import pytest
from test_translated import language_in, left_over

import symroof as sr
from symroof.errors import SymroofError
from symroof.formula import Compare, Name, number
from symroof.reading.claim_sets import VERDICTS
from symroof.reading.languages import languages
from symroof.rendering.pages.report_page import Explainer, render_report
from symroof.rendering.pages.templating import load, shipped_template
from symroof.rendering.pages.typesetting import Style
from symroof.verification.verdicts import CAUSES, Coverage, FileReport, Judgement, Omission, Remark, Standard

pytestmark = pytest.mark.part(2)

ROOT = Path(__file__).parent.parent
OTHERS = [lang for lang in languages() if lang != "en"]
B, D, F = map(Name, "BDF")
FACTS = {
    "exact": {}, "rounded": {"value": Fraction("240.24"), "digits": 3, "off": None}, "deviation": {"share": Fraction(1, 25)},
    "truncated": {"value": Fraction("59.81"), "digits": 2, "off": Fraction(-1, 10)},
    "whole": {"value": Fraction("240.24"), "variable": B, "rises": True, "first": 241, "between": False},
    "other_count": {"count": "exact"}, "another_count": {"count": "exact"}, "this_count": {"count": "fma", "exactly": B}, "factor": {"factor": B},
    "quotient_tends": {"value": B}, "numbers_do_not_grow": {},
    "working": {"by": "one change"}, "no_proof": {}, "not_decided": {"why": "argmin over B: the function is not known to fall and then rise in it"},
    "not_enough": {"condition": Compare(B, ">", number(1))}, "too_long": {}, "too_deep": {}, "vacuous": {"condition": Compare(B, "<", number(1))},
    "beside_what": {}, "taken_as": {"unit": "ms"}, "unknown_units": {}, "units": {"left": "bytes", "right": "FLOPs"},
    "turned": {}, "at_the_edge": {"written": "<", "meant": "<="}, "other_extreme": {"which": "sum"},
    "other_unit": {"written": "us", "meant": "ms"},
    "other_figure": {"kind": "listed", "figure": "HBM", "instead": "HBM", "digits": "8.1e11", "right": "8.2e11", "unit": "bytes/s"},
    "multiply_add": {}, "other_letter": {"written": D, "meant": F},
    **{kind: {"factor": B, "missing": True} for kind in ("factor_two", "factor_of_size", "power_of_ten")},
    "other_amount": {"how": "elements"}, "turns": {"times": B}, "traffic": {"how": "not_read", "names": (B, D)},
    "part_missing": {"total": Name("bytes"), "names": (B, D)}, "other_pass": {"how": "training"}, "of_width": {"names": (B, D), "bits": 8},
    "binary_prefix": {"binary": True, "lines": "", "others": ""}, "upside_down": {},
    "figures_exchanged": {"written": "bandwidth", "meant": "peak"},
    "stated": {"words": "B ≪ D"}, "block": {"status": "edited", "moves": ["241 -> 244"]},
}  # fmt: skip
# The same kinds with other facts, where these choose other words.
MORE = [
    ("whole", {"value": Fraction("17.87"), "variable": B, "rises": False, "first": 16, "between": True}),
    ("other_extreme", {"which": "max"}), ("other_extreme", {"which": "bound"}),
    ("other_figure", FACTS["other_figure"] | {"kind": "other", "figure": "peak.int8", "instead": "peak.bf16"}),
    *(("other_amount", {"how": "elements", "dtype": name, "bytes": size}) for name, size in (("bf16", Fraction(2)), ("int4", Fraction(1, 2)))), ("binary_prefix", {"binary": False, "lines": "3, 5", "others": "8"}),
    ("at_the_edge", {"written": "<=", "meant": "<"}), ("deviation", {"share": Fraction(-1, 25)}), ("factor_two", {"factor": number(2), "missing": False}),
    *(("other_amount", {"how": how, "total": Name("bytes")}) for how in ("elements", "bytes")),
    *(("of_width", {"names": (Name(name), D), "bits": 8}) for name in ("left operand", "operand 3", "output", "operands")),
    *(("traffic", {"how": how, "names": (B,)}) for how in ("kept", "not_written")),
    *(("other_pass", {"how": how}) for how in ("forward", "backward")),
    *(("working", {"by": by}) for by in ("added up", "highest powers", "one sign", "chain rule")),
    *(("block", {"status": status, "moves": []}) for status in ("new", "stale", "edited")),
]  # fmt: skip
# Keywords of the input, and units.
KEPT = {
    "count", "exact", "fma", "bytes", "byte", "FLOPs", "FLOP", "HBM", "peak", "int", "argmin", "force", "all",
    "reduce", "gpipe", "bubble", "scatter",
}  # fmt: skip
PROBLEM = {
    "operation": "bf16[B, D] * bf16[D, F] -> bf16[B, F]",
    "hardware": "tpu-v5e",
    "claims": [
        "flops = 2BDF", "bytes = 2BD + 2DF", "intensity ~ B", "intensity = BDF/(BD + DF + BF) ~ B as B << D, F", "intensity = B",
        "compute-bound when B > 240 as B << D, F", "compute-bound when B < 240 as B << D, F", "T_lower = T_math + T_comms",
        "ridge = 250", "ridge < 200", "ridge = 240", "ridge = 240.24 ms", "B > 3 <=> D > 3", "limit((2D + 1)/(D + 3), D -> oo) = 2",
        {"claim": "intensity = 2B", "expect": "wrong"}, {"claim": "flops = 2BDF", "expect": "wrong"},
    ],
}  # fmt: skip


def english(text):
    return [word for word in re.findall(r"[A-Za-z]{3,}", text) if word not in KEPT]


def test_there_are_facts_for_every_kind_of_remark():
    """A kind has a macro, or a phrase that no macro calls."""
    source, phrases = (shipped_template(name) for name in ("remarks.j2", "en/remarks.j2"))
    macros, alone = ({*re.findall(r"<% macro (\w+)\(", text)} for text in (source, phrases))
    called = (*re.findall(r"\bt\.(\w+)", source), *re.findall(r't\["(\w+_)"', source))
    assert set(FACTS) | {"tensors"} == macros | {name for name in alone if not name.startswith(called)}


@pytest.mark.parametrize("lang", OTHERS)
def test_every_remark_and_mistake_is_said_in_every_language(lang):
    explainer = Explainer(lang=lang)
    for kind, facts in (*FACTS.items(), *MORE):
        said = explainer.remark(Remark(kind, facts))
        assert said != Explainer().remark(Remark(kind, facts)), kind
        assert not english(said), said


@pytest.mark.parametrize("lang", OTHERS)
def test_every_omission_is_said_in_every_language(lang):
    explainer = Explainer(lang=lang)
    for kind in CAUSES:
        said = explainer.remark(Omission(kind, {"name": "Q", "problem": "…", "column": 3, "line": 4}))
        assert len(said) > 1, kind
        assert not english(said), said
        assert explainer.words.causes[CAUSES[kind]]


@pytest.mark.parametrize("lang", OTHERS)
def test_what_is_said_of_a_file_is_said_in_every_language(lang):
    coverage = Coverage(9, dict.fromkeys(("definition", "no model", "unreadable", "undecided", "code"), 1))
    files = [FileReport("a.md", (), "document", notes=notes, coverage=coverage) for notes in (0, 2)] + [
        FileReport("b.toml", (), "problems")
    ]
    explainer, standard = Explainer(lang=lang), Standard(coverage=Fraction(1))
    for file in files:
        for line in explainer.files(file, standard, verbose=True):
            assert not english(line.removeprefix(file.file).replace("symroof", "")), line
    judged = tuple(Judgement("B = B", verdict, expect=verdict) for verdict in VERDICTS)
    assert not english(explainer.last([*files, FileReport("c.toml", judged, "problems")]))
    assert not english(explainer.say("moved", 3) + explainer.say("moved", 0))
    for regimes in ([["B << D", "B << F"], ["D -> oo"]], [["B << D"]]):
        for line, said in ((3, ""), (None, ""), (3, "…")):
            assert not english(explainer.say("needs", regimes, line, said))


@pytest.mark.thorough
@pytest.mark.parametrize("form", ["text", "markdown", "github"])
@pytest.mark.parametrize("lang", OTHERS)
def test_reports_have_no_word_of_english(lang, form):
    assert words_beside_claims(form, Style(lang=lang)) == []


def words_beside_claims(form, style):
    """The words that are left of a report without its claims, GitHub's own commands, and names of figures."""
    found = sr.verify(PROBLEM)
    page = render_report(found.files, form, style)
    for claim in sorted((j.claim for j in found.judgements), key=len, reverse=True):
        page = page.replace(claim, "")
    page = re.sub(r"^::(?:error|notice) file=,title=", "", page, flags=re.MULTILINE).replace("%0A", "\n")
    return [word for word in left_over(page) if word not in KEPT]


@pytest.mark.thorough
@pytest.mark.parametrize("form", ["text", "markdown", "github"])
def test_no_word_of_a_report_stands_anywhere_but_in_the_file_of_a_language(tmp_path, form):
    """With a letter for every word of English, no word is left: neither in Python nor in a layout."""
    language_in(tmp_path / "xx.phrases")
    style = Style(lang="xx", template=str(tmp_path))
    assert words_beside_claims(form, style) == []
    assert render_report(sr.verify(PROBLEM).files, form, style).count("ㄱ") > 50


@pytest.mark.thorough
def test_what_a_language_tells_of_refusals_is_what_the_engines_say():
    said = set(messages())
    for lang in OTHERS:
        table = load(f"{lang}/remarks.j2", None, lang, {}).refusals
        assert set(table) - said == set()
        assert all(text.count("%s") == why.count("*") for why, text in table.items())


def messages():
    """The texts of errors in the sources, with a star for each part that is put in."""
    for path in (ROOT / "symroof").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value
            if isinstance(node, ast.JoinedStr):
                parts = [part.value if isinstance(part, ast.Constant) else _choices(part.value) for part in node.values]
                texts = [""]
                for part in parts:
                    texts = [text + one for text in texts for one in ([part] if isinstance(part, str) else part)]
                yield from texts


def _choices(node):
    """What is put in: one of two texts, or anything."""
    if isinstance(node, ast.IfExp) and all(isinstance(side, ast.Constant) for side in (node.body, node.orelse)):
        return [str(node.body.value), str(node.orelse.value)]
    return ["*"]


def test_a_refusal_that_nobody_translated_is_quoted():
    assert '"nobody knows"' in Explainer(lang="ko").remark(Remark("not_decided", {"why": "nobody knows"}))
    assert Explainer().remark(Remark("not_decided", {"why": "nobody knows"})) == "nobody knows"


def test_the_language_of_a_report_is_asked_for_or_that_of_its_problems(tmp_path, run):
    files = [tmp_path / f"{name}.toml" for name in ("one", "two", "three")]
    for path, lang in zip(files, ("ko", "ko", "zh"), strict=True):
        path.write_text(f'lang = "{lang}"\nclaims = ["1 + 1 = 2"]\n')
    assert sr.verify(files[0]).to_markdown().startswith("# 검증")
    assert sr.verify(files[0]).to_markdown(lang="zh").startswith("# 验证")
    assert sr.verify(files[0], lang="en").to_markdown().startswith("# Verification")
    assert sr.verify({"claims": ["1 + 1 = 2"], "lang": "zh"}).to_markdown().startswith("# 验证")
    one, two, three = map(str, files)
    assert "1개" in run("verify", one).out
    assert "2개" in run("verify", one, two).out
    assert "2 claims" in run("verify", one, three).out
    assert "2 个" in run("verify", one, three, "--lang", "zh").out


def test_an_unknown_language_is_one_error_before_anything_is_judged(tmp_path, run):
    done = run("verify", str(tmp_path / "missing.md"), "--lang", "kr")
    assert (done.code, done.out) == (2, "")
    assert "unknown language 'kr'" in done.err
    assert "did you mean ko?" in done.err
    with pytest.raises(SymroofError, match="unknown language"):
        sr.verify({"claims": ["1 = 1"]}, lang="xx")


@pytest.mark.thorough
def test_a_report_in_another_language_is_the_same_record():
    found = sr.verify(PROBLEM, lang="ko")
    assert found.to_dict() == sr.verify(PROBLEM).to_dict()
    assert "근사" not in found.to_json()
