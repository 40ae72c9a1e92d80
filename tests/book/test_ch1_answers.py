"""Chapter 1, "All about rooflines": every worked answer as a claim, with readers' mistakes among them."""

from functools import cache
from pathlib import Path

import pytest

from symroof.reading.problems import read_problem_file
from symroof.verification.files import judge_file

ANSWERS = Path(__file__).parent / "answers_ch1.toml"


@cache
def report():
    return judge_file(ANSWERS)


@pytest.mark.thorough
def test_every_answer_comes_out_as_written():
    assert [(j.problem, j.claim, j.verdict, j.error) for j in report().judgements if not j.good] == []


@pytest.mark.thorough
def test_all_answers_were_judged_where_they_stand():
    assert len(report().judgements) == sum(len(table["claims"]) for table in read_problem_file(ANSWERS)) >= 70
    lines = ANSWERS.read_text("utf-8").splitlines()
    for judgement in report().judgements:
        assert lines[judgement.line - 1][judgement.column - 1 :].startswith(judgement.claim)
