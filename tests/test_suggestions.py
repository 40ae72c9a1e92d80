"""Comments that are suggested were tried: each one lets more be judged, and none makes false alarms."""

import re

import pytest

from symroof.rendering.formulas.plain import PlainPrinter
from symroof.verification import suggestions as module
from symroof.verification.chapters import judge_document
from symroof.verification.proposals import Proposal, operations
from symroof.verification.suggestions import Suggestion, suggestions

pytestmark = pytest.mark.part(2)

PAGE = """# A product

We compute $X[B, D] \\cdot_D Y[D, F] \\rightarrow Z[B, F]$ in int8 on a TPU v5e.

It takes $\\text{FLOPs} = 2BDF$, and $\\text{bytes} = BD + DF + BF$. So $\\text{Intensity} \\approx 2B$ and
$\\text{ridge} = 480$. It is compute-bound when

$$T_\\text{math} > T_\\text{comms} \\iff B > 240$$

# Another

Here bf16[M, K] times bf16[K, N] is meant.

So $\\text{FLOPs} = 2MKN$ and $\\text{bytes} = 2MK + 2KN + 2MN$.
"""


def suggested(tmp_path, text, name="page.md"):
    path = tmp_path / name
    path.write_text(text, "utf-8")
    return path, suggestions(path, PlainPrinter().print)


def pasted(path, found):
    """The text with every comment above its line."""
    lines = path.read_text("utf-8").split("\n")
    for one in sorted(found.suggestions, key=lambda one: -one.line):
        lines.insert(one.line - 1, found.comment(one))
    return "\n".join(lines)


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["page.md", "page.tex"])
def test_what_is_pasted_does_what_is_said(tmp_path, name):
    path, found = suggested(tmp_path, PAGE, name)
    comments = [found.comment(one) for one in found.suggestions]
    assert [comment.count("symroof") for comment in comments] == [1, 1, 1] if name == "page.md" else [3, 1, 1]
    assert ['hardware  = "tpu-v5e"' in comment and 'dtype     = "int8"' in comment for comment in comments] == [
        True,
        False,
        False,
    ]
    assert 'operation = "bf16[M, K] * bf16[K, N] -> bf16[M, N]"' in comments[1]
    assert 'assume = ["B << D", "B << F"]' in comments[2]
    assert [(one.unlocks, one.wrong, one.settles) for one in found.suggestions] == [(4, 0, 0), (2, 0, 0), (0, 0, 2)]
    assert not any(one.wrong for one in found.suggestions)
    other = tmp_path / f"pasted-{name}"
    other.write_text(pasted(path, found), "utf-8")
    report = judge_document(other)
    assert report.coverage == found.after.coverage
    assert report.coverage.judged == 7 > found.before.coverage.judged
    assert not report.findings()


@pytest.mark.thorough
def test_the_best_stands_first_and_each_line_has_one_comment(tmp_path):
    _, found = suggested(tmp_path, PAGE)
    worth = [one.worth for one in found.suggestions]
    assert worth == sorted(worth, reverse=True)
    assert len({one.line for one in found.suggestions}) == len(found.suggestions)


def test_a_comment_that_makes_formulas_wrong_is_not_suggested(tmp_path):
    _, found = suggested(
        tmp_path,
        "We compute $X[B, D] \\cdot_D Y[D, F] \\to Z[B, F]$.\n\nHere $\\text{FLOPs} = 3BDF$ and $\\text{bytes} = 7BD$.\n",
    )
    assert found.suggestions == ()


def test_one_mistake_among_many_right_formulas_is_said_and_spoils_nothing(tmp_path):
    text = "We compute `bf16[B, D] * bf16[D, F] -> bf16[B, F]`.\n\n" + "".join(
        f"- ${name}$\n"
        for name in (
            "\\text{FLOPs} = 2BDF",
            "\\text{bytes} = 2BD + 2DF + 2BF",
            "\\text{reads} = 2BD + 2DF",
            "\\text{writes} = 2BF",
            "\\text{writes} = 3BF",
        )
    )
    _, found = suggested(tmp_path, text)
    assert [(one.unlocks, one.wrong) for one in found.suggestions] == [(5, 1)]


def test_what_puts_in_a_size_is_no_claim_of_it(tmp_path):
    _, found = suggested(tmp_path, "Let $B = 16$ and $F = D = 4096$ be.\n")
    assert found.suggestions == ()


def test_nothing_is_suggested_for_prose(tmp_path):
    for text in ("", "Prose on a matmul.", "---\ntitle: x\n---\n", "$$", "\n\n\n"):
        assert suggested(tmp_path, text)[1].suggestions == ()


def test_comments_of_one_line_are_merged_and_divide_no_block():
    one, two = Suggestion(3, (("operation", "dot"),)), Suggestion(3, (("assume", ("N -> oo",)),))
    assert module._merged((one, two, two)) == (("operation", "dot"), ("assume", ("N -> oo",)))
    from symroof.reading.documents import read_text

    text = "| a | b |\n|--|--|\n| x | `bf16[B, D] * bf16[D, F] -> bf16[B, F]` |\n"
    assert set(operations(read_text(f"head\n\n{text}"))) == {
        Proposal(3, (("operation", "bf16[B, D] * bf16[D, F] -> bf16[B, F]"),))
    }


def test_there_is_a_bound_on_what_is_tried(tmp_path, monkeypatch):
    count = 0

    def judged(*arguments):
        nonlocal count
        count += 1
        return judge_read(*arguments)

    judge_read = module.judge_read
    monkeypatch.setattr(module, "judge_read", judged)
    monkeypatch.setattr(module, "LEAST_TRIALS", 3)
    monkeypatch.setattr(module, "MOST_FORMULAS", 3)
    suggested(tmp_path, PAGE)
    assert count == 4


FAULTS = {
    "nothing is wrong": ("GOOD", ("holds", "rounded", "conditional", "wrong")),
    "everything that is said counts": ("CLAIMLESS", ()),
    "no regime is settled": ("ACCEPTED", ()),
    "a wrong one is forgiven": ("GOOD_FOR_WRONG", 0),
}


TEXTS = (
    PAGE,
    "We compute $X[B, D] \\cdot_D Y[D, F] \\to Z[B, F]$.\n\nHere $\\text{FLOPs} = 3BDF$, $\\text{bytes} = 7BD$ and $\\text{reads} = 2BD + 2DF$.\n",
    "Let $F = D = 4096$, $D = 1024$ be.\n",
)


@pytest.fixture(scope="module")
def without_a_fault(tmp_path_factory):
    return [suggested(tmp_path_factory.mktemp("pages"), text)[1].suggestions for text in TEXTS]


@pytest.mark.thorough
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_noticed(tmp_path, monkeypatch, without_a_fault, fault):
    monkeypatch.setattr(module, *FAULTS[fault])
    assert [suggested(tmp_path, text)[1].suggestions for text in TEXTS] != without_a_fault


@pytest.mark.thorough
def test_the_command_prints_them(run, tmp_path):
    path = tmp_path / "page.md"
    path.write_text(PAGE, "utf-8")
    done = run("verify", "--suggest", str(path))
    assert done.code == 0
    assert done.out.startswith(f"{path}:3  4 more claims are judged\n<!-- symroof\noperation = ")
    assert done.out.endswith(f"{path}: 1 of 8 formulas with a relation is judged, 7 with these comments\n")
    assert len(re.findall(r"^-->$", done.out, re.MULTILINE)) == 3
    record = __import__("json").loads(run("verify", "--suggest", "--format", "json", str(path)).out)
    assert [one["unlocks"] for one in record["files"][0]["suggestions"]] == [4, 2, 0]
    path.write_text("Prose.", "utf-8")
    assert "no comment was found" in run("verify", "--suggest", str(path)).out
    assert run("verify", "--suggest", str(tmp_path / "x.toml")).code == 2
    assert run("verify", "--suggest", str(tmp_path / "missing.md")).code == 2
