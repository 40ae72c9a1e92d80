"""A chapter on transformers, with programs in its comments: all of its formulas hold, and none of its misprints does."""

from functools import cache
from pathlib import Path

import pytest

import symroof as sr
from symroof.verification.files import judge_file

CHAPTER = Path(__file__).parent / "transformers.md"
TEXT = CHAPTER.read_text("utf-8")

# What people get wrong: the words around it, what they write instead, and what is said of it (None: nothing but the
# right value).
MISPRINTS = (
    (r"= 4NDF = 2N \cdot \text{params}", r"= 4NDF = N \cdot \text{params}", "other_amount"),
    (r"$\text{weights} = 4DF$ bytes", r"$\text{weights} = 2DF$ bytes", "other_amount"),
    (r"$\text{ops} = NF$", r"$\text{ops} = ND$", "other_letter"),
    (r"\iff N \geq 241$", r"\iff N \geq 242$", None),
    (r"saves the $4NF$ bytes of it: $\text{bytes} = 4ND + 4DF$", r"saves bytes: $\text{bytes} = 2ND + 4DF$", "traffic"),
    (r"$\text{params} = 3DF$", r"$\text{params} = 2DF$", "part_missing"),
    (r"= 4BTKGH + 4BSKH =", r"= 4BTKGH + 4BSKGH =", None),
    (r"$\text{Intensity} < TG$", r"$\text{Intensity} > TG$", "turned"),
    (r"$\text{caches} = 4BSKH$", r"$\text{caches} = 2BSKH$", "other_amount"),
    (r"= \frac{SG}{S + G} \approx G", r"= \frac{SG}{S + G} \approx S", "other_letter"),
    (r"\iff G > 240$", r"\iff G < 240$", "turned"),
    (r"$\text{FLOPs} = 4kBDF$", r"$\text{FLOPs} = 4EBDF$", None),
    (r"\cdot \frac{E}{k}", r"\cdot \frac{k}{E}", None),
    (r"(2DKGH + 2DKH + 3DF)", r"(2DKGH + 2DKH + 2DF)", "part_missing"),
    (r"+ 4BSKGHL", r"+ 4BSKHL", None),
    (r"$\text{reads}(h) = 2ND + 2DF$", r"$\text{reads}(h) = 2ND + 4DF$", None),
    (r"= 12NDF = 6N \cdot", r"= 12NDF = 2N \cdot", None),
    (r"$\text{FLOPs}_\text{backward} = 8NDF$", r"$\text{FLOPs}_\text{backward} = 4NDF$", None),
    (r"$\text{saved} = 2ND + 2NF$", r"$\text{saved} = 2NF$", None),
    (r"+ 12BTSKGHL", r"+ 4BTSKGHL", None),
    (r"/ (BS) = 4KHL", r"/ (BS) = 2KHL", "other_amount"),
)


@cache
def report():
    return judge_file(CHAPTER)


@pytest.mark.thorough
def test_every_formula_holds():
    assert [
        (j.line, j.claim, j.verdict, j.error) for j in report().judgements if j.verdict not in ("holds", "rounded")
    ] == []


@pytest.mark.thorough
def test_every_formula_was_judged():
    assert len(report().judgements) >= 45
    assert report().coverage.judged == report().coverage.judgeable


@pytest.mark.thorough
def test_a_misprint_makes_one_formula_wrong(tmp_path):
    """All of them at once: each is found where it stands, nothing else is, and most are explained."""
    text = TEXT
    for right, misprint, _ in MISPRINTS:
        assert TEXT.count(right) == 1, right
        text = text.replace(right, misprint)
    page = tmp_path / "misprints.md"
    page.write_text(text, "utf-8")
    wrong = [j for j in sr.verify(page).judgements if j.verdict not in ("holds", "rounded")]
    assert {j.verdict for j in wrong} == {"wrong"}
    rows = [row for row in MISPRINTS if row[0] != r"\iff G > 240$"]  # a display before it sets G equal to something
    rows.sort(key=lambda row: text.index(row[1]))
    for judgement, (_, misprint, diagnosis) in zip(wrong, rows, strict=True):
        assert abs(judgement.line - (text[: text.index(misprint)].count("\n") + 1)) <= 1, misprint
        found = judgement.worst.diagnosis
        assert diagnosis is None or found.kind == diagnosis, (misprint, found)
        assert judgement.worst.value is not None or judgement.worst.counterexample is not None, misprint
