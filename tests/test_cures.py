"""The comment that a skipped formula names has it judged, once its author has put in what only the author knows."""

import re

import pytest

from symroof.verification.chapters import judge_document
from symroof.verification.cures import cure

pytestmark = pytest.mark.part(8)

# A formula, why it is skipped, what its author knows, and what is then said of it.
SKIPPED = {
    "$X Y = Z$": ("other_letters", ["2", "3", "6"], "holds"),
    "$X Y = 2Z$": ("other_letters", ["2", "3", "6"], "wrong"),
    "$XY = X$": ("other_letters", ["2", "1"], "holds"),
    "$B \\approx BD$": ("letters_added", ["2", "1"], "holds"),
    "$\\text{Speedup} = 3$": ("words", ["3"], "holds"),
    "$\\text{pure gain} = 3Y$": ("words", ["9", "3"], "holds"),
    "$\\text{Intensity} \\approx B$": ("no_meaning", ["matmul"], "conditional"),
    "$S > 3$": ("condition", ["2S > 6"], "holds"),
    "$2S > 7$": ("condition", ["2S > 6"], "wrong"),
    "$= 12$": ("no_left", ["3*4 = 12"], "holds"),
    "$3 = \\foo$": ("unreadable", ["3 = 2 + 1"], "holds"),
}


@pytest.mark.parametrize("suffix", [".md", ".tex"])
@pytest.mark.parametrize("text", SKIPPED)
def test_the_comment_has_the_formula_judged(text, suffix, tmp_path):
    kind, known, verdict = SKIPPED[text]
    path = tmp_path / f"one{suffix}"
    path.write_text(f"It is {text} here.\n", "utf-8")
    report = judge_document(path)
    assert report.judgements == ()
    (skip,) = (skip for skip in report.skipped if skip.link is None)
    assert skip.reason.kind == kind
    comment = cure(skip.reason, tex=suffix == ".tex")
    assert comment.count("…") == len(known)
    values = iter(known)
    filled = re.sub("…", lambda _: next(values), comment)
    path.write_text(f"{filled}\nIt is {text} here.\n", "utf-8")
    assert [one.verdict for one in judge_document(path).judgements] == [verdict]


def test_what_claims_nothing_has_no_comment(tmp_path):
    path = tmp_path / "one.md"
    path.write_text("Let $S = 2N$ be, $B \\ll D$, $h \\to 4h$.\n", "utf-8")
    skipped = judge_document(path).skipped
    assert len(skipped) == 3
    assert [cure(skip.reason) for skip in skipped] == [None] * 3
