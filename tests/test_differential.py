"""Random claims and their truth in exact fractions agree with the judge, and a judge that errs is noticed."""

import pytest
from differential import disagreements
from effort import draws


@pytest.mark.thorough
def test_the_judge_agrees_with_exact_fractions():
    listed, verdicts = disagreements(draws(240), seed=11)
    assert not listed
    for kind in ("identity", "order", "equivalence"):
        assert {"wrong"} < {verdict for verdict in ("holds", "rounded", "wrong") if verdicts[f"{kind} {verdict}"]}


@pytest.mark.thorough
@pytest.mark.parametrize("verdict", ["holds", "wrong"])
def test_a_judge_that_says_one_thing_of_everything_is_noticed(verdict, monkeypatch):
    import differential

    from symroof.verification.verdicts import Judgement

    class Report:
        def __init__(self, claims):
            self.judgements = [Judgement(claim, verdict) for claim in claims]

    monkeypatch.setattr(differential.sr, "verify", lambda problem: Report(problem["claims"]), raising=False)
    assert len(disagreements(60, seed=1)[0]) > 10
