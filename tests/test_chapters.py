"""Documents as people write them, labelled by hand: no false alarm, most of the mistakes, most of what can be judged."""

from functools import cache

import pytest
from chapters import DOCUMENTS, JUDGEABLE, LABELS, formulas, has_relation, is_true, labelled, misses, outcomes, table

BY_NAME = {path.name: path for path in DOCUMENTS}


@cache
def results():
    judged = [outcomes(path) for path in DOCUMENTS]
    everything = [one for found, _ in judged for one in found]
    stray = [one for _, found in judged for one in found]
    return everything, stray, f"\n{table(everything)}\n\n{misses(everything, stray)}"


def test_the_corpus_is_what_it_says():
    pairs = [pair for path in DOCUMENTS for pair in labelled(path)]
    assert len(DOCUMENTS) >= 8
    assert sum(path.read_text("utf-8").count("\n") for path in DOCUMENTS) >= 1500
    mistakes = sum(label.label == "wrong" for _, label in pairs)
    assert mistakes >= 45
    assert mistakes <= len(pairs) / 6


@pytest.mark.parametrize("name", BY_NAME)
def test_every_formula_has_a_label_and_every_label_a_formula(name):
    for formula, label in labelled(BY_NAME[name]):
        assert label.label in LABELS, formula.line
        assert (label.label == "wrong") == bool(label.value), formula.line
        assert label.truth in (("right", "wrong") if label.label == "comment" else ("",)), formula.line
        assert label.check or label.note or label.label not in JUDGEABLE, formula.line


@pytest.mark.parametrize("name", BY_NAME)
def test_what_a_label_says_is_true_in_fractions(name):
    for formula, label in labelled(BY_NAME[name]):
        if label.check:
            assert is_true(label.check) == ("wrong" not in (label.label, label.truth)), f"{formula.line}: {label}"


def test_a_label_that_is_forgotten_or_left_is_noticed(tmp_path):
    path = tmp_path / "one.md"
    path.write_text("So $1 + 1 = 2$ and $2 + 2 = 4$.\n", "utf-8")
    row = "[[formula]]\ntext = '{}'\nlabel = 'right'\n"
    for stands in (["1 + 1 = 2"], ["1 + 1 = 2", "2 + 2 = 4", "3 = 3"], ["2 + 2 = 4", "1 + 1 = 2"]):
        path.with_name("one.md.toml").write_text("".join(map(row.format, stands)), "utf-8")
        with pytest.raises(AssertionError, match=r"no label for|no formula for"):
            labelled(path)


@pytest.mark.parametrize("name", BY_NAME)
def test_the_program_sees_the_same_formulas(name):
    from symroof.reading.documents import Written, read_document

    path = BY_NAME[name]
    seen = [" ".join(part.text.split()) for part in read_document(path).parts if isinstance(part, Written)]
    for formula in formulas(path.read_text("utf-8"), path.suffix == ".tex"):
        if has_relation(formula.text):
            assert any(formula.text in one or one in formula.text for one in seen), f"{formula.line}: {formula.text}"


def test_there_is_no_false_alarm():
    everything, stray, told = results()
    assert not stray, told
    assert not [one for one in everything if one.is_false_alarm], told


def test_no_mistake_is_accepted():
    everything, _, told = results()
    assert not [one for one in everything if one.is_false_acceptance], told


def test_nine_of_ten_mistakes_are_found():
    everything, _, told = results()
    mistakes = [one for one in everything if one.label.label == "wrong"]
    assert 10 * sum(one.is_found for one in mistakes) >= 9 * len(mistakes), told


def test_two_of_three_formulas_that_can_be_judged_are_judged():
    everything, _, told = results()
    judgeable = [one for one in everything if one.is_judgeable]
    assert 3 * sum(one.is_judged for one in judgeable) >= 2 * len(judgeable), told
