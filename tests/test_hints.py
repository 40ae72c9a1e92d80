"""What an author decides, hints for those who teach: what is said of a wrong answer, and what is not."""

import re

import pytest

import symroof as sr
from symroof.rendering.pages.report_page import HINTS, Explainer, render_report
from symroof.rendering.pages.typesetting import Style
from symroof.verification.diagnosis import MISTAKES
from symroof.verification.files import judge_file

pytestmark = pytest.mark.part(8)

MATMUL = '<!-- symroof\noperation = "bf16[B, D] * bf16[D, F] -> bf16[B, F]"\nhardware = "tpu-v5e"\n-->\n'
# A wrong answer, the mistake behind it, the hint, and what may not be told.
WRONG = {
    "$\\text{bytes} = BD + DF + BF$": ("other_amount", "amount", "2BD"),
    "$\\text{FLOPs} = BDF$": ("multiply_add", "factor", "2BDF"),
    "$\\text{ridge} = \\frac{8.2e11}{1.97e14}$": ("upside_down", "fraction", "240.2"),
    "`7e9 * 2 = 14 MB`": ("other_unit", "unit", "14000 MB"),
    "$7 \\cdot 8 = 58$": (None, "high", "56"),
    "$7 \\cdot 8 = 54$": (None, "low", "56"),
    "$T_\\text{math} = \\frac{2BDF}{8.2e11}$": ("figures_exchanged", "figure", "1.97"),
}


def report(tmp_path, text, lang=None, hints=True):
    path = tmp_path / "one.md"
    path.write_text(MATMUL + text + "\n", "utf-8")
    file = judge_file(path)
    return file, render_report((file,), "text", Style(brief=True, hints=hints, lang=lang)).replace(str(tmp_path), "")


@pytest.mark.parametrize("lang", ["en", "ko", "zh"])
@pytest.mark.parametrize("text", WRONG)
def test_a_hint_says_where_to_look_and_not_what_is_right(text, lang, tmp_path):
    kind, hint, answer = WRONG[text]
    file, page = report(tmp_path, text, lang)
    (judgement,) = file.judgements
    diagnosis = judgement.worst.diagnosis
    assert judgement.verdict == "wrong"
    assert (diagnosis and diagnosis.kind) == kind or hint == "again"
    said = Explainer(lang=lang).words.hints
    assert any(" ".join(words.split()) in " ".join(page.split()) for words in ([said[hint]] if kind else said.values()))
    assert answer not in page
    assert answer in report(tmp_path, text, lang, hints=False)[1] or hint == "again"


def test_every_mistake_has_a_hint_in_every_language():
    assert HINTS.keys() == MISTAKES.keys()
    for lang in ("en", "ko", "zh"):
        words = Explainer(lang=lang).words.hints
        assert {*HINTS.values()} | {"high", "low", "again"} == {*words}


def test_a_hint_names_the_step(tmp_path):
    _, page = report(tmp_path, "$2 \\cdot 3 = 6 = 7$")
    assert "step 2 of 2: 6 = 7" in page


def test_hints_are_for_people(run, tmp_path):
    path = tmp_path / "one.md"
    path.write_text("$1 + 1 = 3$\n", "utf-8")
    told = run("verify", str(path), "--hints")
    assert told.code == 1
    assert "right" not in told.out
    refused = run("verify", str(path), "--hints", "--format", "json")
    assert refused.code == 2
    assert "a person" in refused.err


# An option, another value of it, a text, and its verdicts without the option and with it.
DECIDED = [
    ('gb = "any"', "decimal", "It is 7.5e9 * 2 = 13.97 GB.", "wrong", "rounded"),
    ('gb = "any"', "decimal", "It is 7.5e9 * 2 = 12.97 GB.", "wrong", "wrong"),
    ('gb = "any"', "decimal", "So $16\\text{ GiB} = 16\\text{ GB}$.", "wrong", "holds"),
    ('roughly = "15 %"', "5 %", "$100 \\approx 112$", "wrong", "holds"),
    ('roughly = "1 %"', "5 %", "$100 \\approx 103$", "holds", "wrong"),
    ('digits = "nearest"', "any", "$2/3 = 0.66$", "rounded", "rounded"),
]


@pytest.mark.parametrize(("option", "other", "text", "without", "with_"), DECIDED)
def test_an_author_decides_by_a_comment_a_folder_or_a_problem(option, other, text, without, with_, tmp_path):
    path = tmp_path / "docs" / "one.md"
    path.parent.mkdir()

    def said(written):
        path.write_text(written + "\n", "utf-8")
        (judgement,) = sr.verify(path).judgements
        return judgement.verdict

    assert said(text) == without
    assert said(f"<!-- symroof {option} -->\n\n{text}") == with_
    (tmp_path / "symroof.toml").write_text(f'["docs/*.md"]\n{option}\n', "utf-8")
    assert said(text) == with_
    comment = re.sub('".*"', f'"{other}"', option)
    assert said(f"<!-- symroof {comment} -->\n\n{text}") == without  # what a comment says goes before the folder


def test_roughly_and_tolerance_are_one(tmp_path):
    path = tmp_path / "one.toml"
    path.write_text('roughly = "15 %"\nclaims = ["100 ~ 112"]\n', "utf-8")
    assert [one.verdict for one in sr.verify(path).judgements] == ["holds"]
    path.write_text('roughly = "15 %"\ntolerance = 0.1\nclaims = ["100 ~ 112"]\n', "utf-8")
    assert "roughly and tolerance are the same" in judge_file(path).error
    path.write_text('gb = "some"\nclaims = ["1 = 1"]\n', "utf-8")
    assert re.search(r"gb = 'some' is not known", judge_file(path).error)
