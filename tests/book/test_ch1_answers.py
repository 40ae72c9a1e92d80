"""Chapter 1, "All about rooflines": every worked answer as a claim, with readers' mistakes among them."""

from pathlib import Path

import pytest

from symroof.reading.problem_files import read_problem_file
from symroof.verification.files import judge_file

ANSWERS = Path(__file__).parent / "answers_ch1.toml"
REPORT = judge_file(ANSWERS)


@pytest.mark.parametrize("judgement", REPORT.judgements, ids=lambda j: f"{j.problem}: {j.claim}"[:110])
def test_answer(judgement):
    assert judgement.good, (judgement.verdict, judgement.error)


def test_all_answers_were_judged_where_they_stand():
    assert len(REPORT.judgements) == sum(len(table["claims"]) for table in read_problem_file(ANSWERS)) >= 70
    lines = ANSWERS.read_text("utf-8").splitlines()
    for judgement in REPORT.judgements:
        assert lines[judgement.line - 1][judgement.column - 1 :].startswith(judgement.claim)
