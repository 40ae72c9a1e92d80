"""Worked answers on programs: MLPs, attention, experts, published models, decoding, training, times, pipelines, judged as claims."""

from pathlib import Path

import pytest

from symroof.reading.claim_sets import read_exercise
from symroof.reading.problems import read_problem_file
from symroof.verification.files import judge_file
from symroof.verification.judge import judge_exercise

pytestmark = pytest.mark.part(3)

HERE = Path(__file__).parent
ANSWERS = ("mlps", "attention", "experts", "models", "decoding", "training", "times", "pipelines")
FILES = {name: HERE / f"answers_{name}.toml" for name in ANSWERS}
PROBLEMS = [problem for path in FILES.values() for problem in read_problem_file(path)]

# What is said of some of the wrong answers, by their question: the kind of the mistake.
MISTAKES = {
    ("Question 1", "weights = params"): "other_amount",
    ("Question 1", "flops = 6N*params"): "other_pass",
    ("Question 1", "ops = ND"): "other_letter",
    ("Question 2", "bytes = 4ND + 4DF"): "traffic",
    ("Question 5", "params = 2DF"): "part_missing",
    ("Question 5", "flops = 4NDF"): "part_missing",
    ("Question 5", "bytes = 6DF + 4ND + 8NF"): "traffic",
    ("Question 8", "weights = 2params"): "of_width",
    ("Question 9", "8*weights/elements(Wq) = 4 at M = 128"): "part_missing",
    ("Question 10", "bytes = 2NJM + JMF/2 + 2JF + 2NF"): "traffic",
    ("Question 12", "flops = 2BTSKGH"): "part_missing",
    ("Question 14", "bytes = 4BHK(GT + S)"): "traffic",
    ("Question 15", "intensity ~ B"): "other_letter",
    ("Question 15", "flops = 4BSKH"): "factor_of_size",
    ("Question 21", "caches = 4BSKH"): "turns",
    ("Question 26", "params = 12852024320"): "part_missing",
    ("Question 26", "weights = 13 GB"): "other_amount",
    ("Question 26", "caches/(B*S) = 20480"): "turns",
    ("Question 27", "caches = 2.5 GB at B = 1, S = 8192"): "other_unit",
    ("Question 28", "weights < 8 capacity.HBM"): "turned",
    ("Question 28", "ceil(weights/capacity.HBM) = 6"): "other_amount",
    ("Question 33", "flops = 6*B*params"): "other_pass",
    ("Question 34", "bytes = weights + 4BKHL"): "traffic",
    ("Question 36", "weights = 2*params"): "of_width",
    ("Question 37", "flops = 4NDF"): "other_pass",
    ("Question 37", "flops = 2*N*params"): "other_pass",
    ("Question 39", "flops = 4BTSKGH"): "other_pass",
    ("Question 40", "gradients = 4*params"): "of_width",
    ("Question 42", "T_lower = T_math + T_HBM"): "other_extreme",
    ("Question 45", "T_vector > T_math at H = 128"): "turned",
}


@pytest.mark.thorough
@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem["title"])
def test_question(problem):
    """Every answer has its verdict, and a wrong one the right value or a point at which it fails."""
    question = problem["title"].partition(":")[0]
    for judgement in judge_exercise(read_exercise(problem)):
        assert judgement.good, (judgement.claim, judgement.verdict, judgement.error)
        if judgement.verdict != "wrong":
            continue
        finding = judgement.worst
        assert judgement.source, judgement.claim
        assert finding.value is not None or finding.counterexample is not None, judgement.claim
        expected = MISTAKES.get((question, judgement.claim))
        found = finding.diagnosis and finding.diagnosis.kind
        assert expected is None or found == expected, (judgement.claim, found)


def test_questions_are_programs_and_count_on():
    assert [problem["title"].partition(":")[0] for problem in PROBLEMS] == [
        f"Question {i}" for i in range(1, len(PROBLEMS) + 1)
    ]
    for problem in PROBLEMS:
        assert "->" in problem["operation"]
        assert len(problem["operation"].splitlines()) >= 3
        assert len(problem["claims"]) == len(set(map(str, problem["claims"])))
    claims = [claim for problem in PROBLEMS for claim in problem["claims"]]
    wrong = [claim for claim in claims if not isinstance(claim, str) and claim["expect"] == "wrong"]
    assert len(claims) >= 500
    assert len(wrong) >= 120
    assert set(MISTAKES) <= {
        (problem["title"].partition(":")[0], claim["claim"])
        for problem in PROBLEMS
        for claim in problem["claims"]
        if not isinstance(claim, str)
    }


@pytest.mark.thorough
def test_answers_are_judged_where_they_stand():
    path = FILES["experts"]
    lines, judgements = path.read_text("utf-8").splitlines(), judge_file(path).judgements
    assert len(judgements) == sum(len(problem["claims"]) for problem in read_problem_file(path))
    for judgement in judgements:
        assert lines[judgement.line - 1][judgement.column - 1 :].startswith(judgement.claim)
