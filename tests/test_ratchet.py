"""The house grows no more: each number that is counted is at its limit, and the limit only falls."""

import ast
import subprocess
import tomllib

import pytest
import ratchet


def test_nothing_has_grown_and_what_fell_stays_down():
    assert ratchet.counts() == {name: ratchet.allowed(name) for name in ratchet.counts()}  # ratchet.py --lower


def test_a_complex_function_has_its_reason():
    reasons = tomllib.loads(ratchet.REASONS.read_text("utf-8"))
    assert {name for name, reason in reasons.items() if reason} == ratchet.complex_functions()


def test_loans_are_of_known_numbers(capsys):
    limits, loans = ratchet.table()
    for name, loan in loans.items():
        print(f"loan: {name} {loan}")
        assert loan
        assert loan.keys() <= limits.keys()


def test_no_limit_is_above_the_last_commit():
    shown = subprocess.run(
        ["git", "show", "HEAD:tests/data/ratchet.toml"], cwd=ratchet.ROOT, capture_output=True, text=True
    )
    if shown.returncode:
        pytest.skip("not a checkout, or the first commit with a table")
    before, now = (ratchet.read(text)[0] for text in (shown.stdout, ratchet.TABLE.read_text("utf-8")))
    raised = {name: (before[name], now.get(name)) for name in before if now.get(name, before[name] + 1) > before[name]}
    assert not raised


def test_complexity_is_what_it_says():
    """A branch, a loop, a comprehension with its condition, two operands more, a handler, a case, a conditional, and 1."""
    (function,) = ratchet.functions(
        ast.parse(
            "def f(x):\n"
            "    if x and x > 1 and x < 3:\n"
            "        return [y for y in x if y]\n"
            "    try:\n"
            "        match x:\n"
            "            case 1:\n"
            "                return 1 if x else 2\n"
            "    except ValueError:\n"
            "        while x:\n"
            "            from symroof import api\n"
        )
    )
    assert ratchet.complexity(function) == 10
    assert ratchet.length(function) == 10
    assert ratchet.inner_imports(function) == 1
