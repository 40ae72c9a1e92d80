"""Documents as people write them, labelled by hand: no false alarm, most of the mistakes, most of what can be judged."""

import re
from functools import cache
from pathlib import Path

import pytest
from chapters import (
    ACCEPTED,
    ASIDE,
    DOCUMENTS,
    JUDGEABLE,
    LABELS,
    formulas,
    has_relation,
    is_true,
    labelled,
    misses,
    outcomes,
    source,
    value,
)

import symroof as sr

pytestmark = pytest.mark.part(3)

BY_NAME = {path.name: path for path in DOCUMENTS}
ALL = {path.name: path for path in (*DOCUMENTS, *ASIDE)}


@cache
def results(documents):
    judged = [outcomes(path) for path in documents]
    everything = [one for found, _ in judged for one in found]
    stray = [one for _, found in judged for one in found]
    return everything, stray, f"\n{misses(everything, stray)}"


def shares(everything):
    """Which part is judged of what can be, and found of the mistakes that a formula by itself shows."""
    judgeable = [one for one in everything if one.is_judgeable]
    mistakes = [one for one in everything if one.label.label == "wrong" and one.label.note != "elsewhere"]
    return (
        sum(one.is_judged for one in judgeable) / len(judgeable),
        sum(one.is_found for one in mistakes) / len(mistakes),
    )


def test_the_corpus_is_what_it_says():
    pairs = [pair for path in DOCUMENTS for pair in labelled(path)]
    assert len(DOCUMENTS) >= 8
    assert sum(source(path)[0].count("\n") for path in DOCUMENTS) >= 1500
    mistakes = sum(label.label == "wrong" for _, label in pairs)
    assert mistakes >= 45
    assert mistakes <= len(pairs) / 6


@pytest.mark.parametrize("name", ALL)
def test_every_formula_has_a_label_and_every_label_a_formula(name):
    for formula, label in labelled(ALL[name]):
        assert label.label in LABELS, formula.line
        assert (label.label == "wrong") == bool(label.value), formula.line
        assert label.truth in (("right", "wrong") if label.label == "comment" else ("",)), formula.line
        assert label.check or label.note or label.label not in JUDGEABLE, formula.line


@pytest.mark.thorough
@pytest.mark.parametrize("name", ALL)
def test_what_a_label_says_is_true_in_fractions(name):
    for formula, label in labelled(ALL[name]):
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
    for formula in formulas(source(path)[0], path.suffix == ".tex"):
        if has_relation(formula.text):
            assert any(formula.text in one or one in formula.text for one in seen), f"{formula.line}: {formula.text}"


def right_values(everything):
    """How many right values are given in numbers alone, each that of exact fractions; a thousand times more or less is a
    matter of the unit, and so are hours and days."""
    compared = 0
    for one in everything:
        left, sign, right = one.label.check.split(" ; ")[-1].split(" ~ ")[0].partition(" = ")
        in_numbers = sign and not re.search(
            r"[a-zA-Z_]", re.sub(r"sqrt|(?<=\d)e(?=-?\d)", "", left + right + "".join(one.values))
        )
        if one.label.label == "wrong" and in_numbers and " = " not in right and one.values:
            ratio = float(value(left, {}) / value(one.values[-1], {}))
            scales = (*(10**power for power in (-9, -6, -3, 0, 2, 3, 6, 9)), 1 / 3600, 1 / 86400)
            assert any(abs(ratio / scale - 1) < 0.01 for scale in scales), str(one)
            compared += 1
    return compared


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("documents", "judged", "found"), [(DOCUMENTS, 4 / 5, 4 / 5), (ASIDE, 13 / 20, 3 / 5)], ids=["read", "aside"]
)
def test_nothing_false_is_said_and_most_is_judged(documents, judged, found):
    """Twelve documents were kept aside while the others were read."""
    everything, stray, told = results(tuple(documents))
    assert not stray, told
    assert not [one for one in everything if one.is_false_alarm or one.is_false_acceptance], told
    of_judgeable, of_mistakes = shares(everything)
    assert of_judgeable >= judged, told
    assert of_mistakes >= found, told
    if documents == DOCUMENTS:
        assert right_values(everything) > 20


def test_nothing_false_is_said_of_a_few():
    everything, stray, told = results((BY_NAME["forum.md"], BY_NAME["layers.md"]))
    assert not stray, told
    assert not [one for one in everything if one.is_false_alarm or one.is_false_acceptance], told


def fully_accepted(one):
    return one.verdicts and not one.reason and {*one.verdicts} <= {*ACCEPTED}


@pytest.mark.thorough
@pytest.mark.parametrize("name", BY_NAME)
def test_a_result_with_another_digit_is_wrong(name, tmp_path):
    """The first digit behind the last equals sign is changed in every right formula that holds: each by something else, so
    that what one of them says does not follow from the others any more."""
    file, pairs = BY_NAME[name].read_text("utf-8"), labelled(BY_NAME[name])
    text, places = source(BY_NAME[name])
    held = {one.formula.start for one in results((BY_NAME[name],))[0] if fully_accepted(one)}
    changed, characters = set(), list(file)
    for place, (formula, label) in enumerate(pairs):
        before, _, behind = text[formula.start : formula.stop].rpartition("=")
        digit = re.search(r"(?<![\d.^{A-Za-z_])[1-9]", behind)
        if label.label == "right" and label.check and before and digit and formula.start in held:
            characters[places[formula.start + len(before) + 1 + digit.start()]] = str(
                (int(digit[0]) + place % 7) % 9 + 1
            )
            changed.add(formula.start)
    path = tmp_path / name
    path.write_text("".join(characters), "utf-8")
    told = [one for one in outcomes(path, pairs)[0] if one.formula.start in changed]
    assert len(told) > 5
    assert not [str(one) for one in told if one.verdicts and not one.is_found]
    assert 20 * sum(one.is_found for one in told) >= 17 * len(told)


@pytest.mark.thorough
def test_what_symroof_prints_is_not_called_wrong():
    """Its own pages, read without the problem that they are about: a quantity of a program is not one of the textbook."""
    root = Path(__file__).parent
    pages = [*root.glob("golden/*.md"), *root.parent.glob("examples/*.md")]
    own = [path for path in pages if not path.name.startswith(("report", "mistakes", "rooflines"))]
    assert len(own) > 15
    found = [
        (path.name, judgement.claim)
        for path in own
        for judgement in sr.verify(path).judgements
        if judgement.verdict in ("wrong", "unreadable")
    ]
    assert found == []
