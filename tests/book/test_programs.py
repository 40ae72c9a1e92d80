"""Worked answers on programs: MLPs, attention, experts, published models and decoding, judged as claims."""

from collections import Counter
from pathlib import Path

import pytest

from symroof.reading.problems import read_problem_file
from symroof.verification.files import judge_file

HERE = Path(__file__).parent
ANSWERS = ("mlps", "attention", "experts", "models", "decoding")
FILES = {name: HERE / f"answers_{name}.toml" for name in ANSWERS}
JUDGEMENTS = {name: judge_file(path).judgements for name, path in FILES.items()}
PROBLEMS = [problem for path in FILES.values() for problem in read_problem_file(path)]


@pytest.mark.parametrize(
    "judgement", [j for report in JUDGEMENTS.values() for j in report], ids=lambda j: f"{j.problem}: {j.claim}"[:110]
)
def test_answer(judgement):
    assert judgement.good, (judgement.verdict, judgement.error)


def test_every_question_is_a_program_with_answers_of_its_own():
    """Each problem has a program, and right and wrong answers; its title counts on."""
    for problem in PROBLEMS:
        assert "->" in problem["operation"]
        assert "\n" in problem["operation"].strip()
        assert len(problem["claims"]) == len(set(map(str, problem["claims"])))
    assert [problem["title"].split(":")[0] for problem in PROBLEMS] == [
        f"Question {i}" for i in range(1, len(PROBLEMS) + 1)
    ]


def test_all_answers_were_judged_where_they_stand():
    for name, path in FILES.items():
        lines = path.read_text("utf-8").splitlines()
        assert len(JUDGEMENTS[name]) == sum(len(table["claims"]) for table in read_problem_file(path))
        for judgement in JUDGEMENTS[name]:
            assert lines[judgement.line - 1][judgement.column - 1 :].startswith(judgement.claim)


def test_wrong_answers_are_answered():
    """Each wrong answer has the right value or a point at which it fails; half of them at least are explained."""
    wrong = [j for report in JUDGEMENTS.values() for j in report if j.verdict == "wrong"]
    kinds = Counter(j.worst.diagnosis.kind if j.worst.diagnosis else None for j in wrong)
    for judgement in wrong:
        assert judgement.source, judgement.claim
        assert judgement.worst.value is not None or judgement.worst.counterexample is not None, judgement.claim
    assert len(wrong) >= 80
    assert len(wrong) - kinds[None] >= len(wrong) / 2, kinds
