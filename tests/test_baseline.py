"""A baseline accepts findings by their text: new ones alone fail, what has gone is said, reasons stay."""

import json
import random
import tomllib
from pathlib import Path

import pytest

from symroof.verification.baseline import Accepted, read_baseline, written

HEAD = '# Notes\n\n<!-- symroof\noperation = "matmul"\nhardware = "tpu-v5e"\n-->\n\n'


@pytest.fixture
def document(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "notes.toml"

    def write(*claims):
        rows = ", ".join(f'"{claim}"' for claim in claims)
        path.write_text(f'operation = "matmul"\nhardware = "tpu-v5e"\nclaims = [{rows}]\n', "utf-8")

    write("bytes = 2BD", "flops = 3BDF", "ridge = 240")
    return write


def test_what_is_accepted_does_not_fail_and_what_is_new_does(document, run):
    assert run("verify", "notes.toml").code == 1
    first = run("verify", "notes.toml", "--write-baseline", "b.toml")
    assert first.code == 0
    assert "2 accepted." in first.out
    assert run("verify", "notes.toml", "--baseline", "b.toml").code == 0
    document("ridge = 240", "flops = 3BDF", "bytes   =  2BD", "intensity = 7B")  # in another order, with other spaces
    again = run("verify", "notes.toml", "--baseline", "b.toml")
    assert again.code == 1
    assert "intensity = 7B" in again.out
    assert "flops" not in again.out


def test_the_same_text_is_accepted_as_often_as_it_stood_there(document, run):
    document("flops = 3BDF", "flops = 3BDF")
    run("verify", "notes.toml", "--write-baseline", "b.toml")
    assert read_baseline(Path("b.toml"))[0].count == 2
    document("flops = 3BDF", "flops = 3BDF", "flops = 3BDF")
    assert run("verify", "notes.toml", "--baseline", "b.toml").code == 1


def test_what_has_gone_is_said_and_fails_nothing(document, run):
    run("verify", "notes.toml", "--write-baseline", "b.toml")
    document("flops = 3BDF", "ridge = 240")
    found = run("verify", "notes.toml", "--baseline", "b.toml")
    assert found.code == 0
    assert "`bytes = 2BD` is no longer wrong" in found.out
    record = json.loads(run("verify", "notes.toml", "--baseline", "b.toml", "--format", "json").out)
    assert [one["claim"] for one in record["gone"]] == ["bytes = 2BD"]
    assert [j["accepted"] for j in record["files"][0]["judgements"]] == ["", None]


def test_reasons_and_other_files_stay_where_a_baseline_is_written_anew(document, run, tmp_path):
    run("verify", "notes.toml", "--write-baseline", "b.toml")
    path = tmp_path / "b.toml"
    path.write_text(path.read_text("utf-8").replace('reason  = ""', 'reason  = "second edition"', 1), "utf-8")
    other = '[[finding]]\nfile = "sub/other.md"\nclaim = "x = 1"\nverdict = "wrong"\n'
    path.write_text(path.read_text("utf-8") + "\n" + other, "utf-8")
    document("bytes = 2BD", "intensity = 7B")
    assert run("verify", "notes.toml", "--write-baseline", "b.toml").code == 0
    found = {one.claim: (one.file, one.reason) for one in read_baseline(path)}
    here = {"bytes = 2BD": ("notes.toml", "second edition"), "intensity = 7B": ("notes.toml", "")}
    assert found == {**here, "x = 1": ("sub/other.md", "")}
    assert "accepted: second edition" in run("verify", "notes.toml", "--baseline", "b.toml", "-v").out
    assert run("verify", "notes.toml", "--baseline", "b.toml").code == 0


@pytest.mark.thorough
def test_a_verdict_that_has_changed_is_new_and_so_is_what_a_strict_reader_objects_to(document, run, tmp_path):
    run("verify", "notes.toml", "--write-baseline", "b.toml")
    path = tmp_path / "b.toml"
    path.write_text(path.read_text("utf-8").replace('"wrong"', '"undecided"'), "utf-8")
    assert run("verify", "notes.toml", "--baseline", "b.toml").code == 1
    document("compute-bound when B > 240")
    assert run("verify", "notes.toml", "--strict").code == 1
    assert run("verify", "notes.toml", "--strict", "--write-baseline", "c.toml").code == 0
    assert run("verify", "notes.toml", "--strict", "--baseline", "c.toml").code == 0


@pytest.mark.thorough
def test_a_document_that_is_red_on_its_first_day_goes_into_ci_on_that_day(document, run, tmp_path):
    path = tmp_path / "chapter.md"
    path.write_text(HEAD + "Nothing is claimed here.\n", "utf-8")
    assert run("verify", "chapter.md").code == 1  # a comment, and nothing is judged
    assert run("verify", "chapter.md", "--write-baseline", "b.toml").code == 0
    assert run("verify", "chapter.md", "--baseline", "b.toml").code == 0
    path.write_text(HEAD + "So $\\text{bytes} < 2BD$ and $\\text{bytes} > 2BD$ there.\n", "utf-8")
    found = run("verify", "chapter.md", "--baseline", "b.toml")
    assert found.code == 1
    assert "some of it is judged" in found.out
    annotated = run("verify", "chapter.md", "--baseline", "b.toml", "--format", "github").out
    assert annotated.count("::error") == 1
    assert run("verify", "chapter.md", "--write-baseline", "b.toml").code == 0
    assert "::error" not in run("verify", "chapter.md", "--baseline", "b.toml", "--format", "github").out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[finding]]\nfile = 'a.md'\n", "verdict is missing"),
        ("[[finding]]\nfile = 'a.md'\nverdict = 'wrongly'\n", "verdict"),
        ("[[finding]]\nfile = 'a.md'\nverdict = 'wrong'\nclaims = 'x'\n", "claim"),
        ("[[finding]]\nfile = 'a.md'\nverdict = 'wrong'\ncount = 0\n", "count"),
        ("[[finding]]\nfile = 3\nverdict = 'wrong'\n", "file"),
        ("findings = 3\n", "is no baseline"),
        ("[[finding]\n", ""),
    ],
)
def test_what_is_no_baseline_is_refused(text, message, document, run, tmp_path):
    (tmp_path / "b.toml").write_text(text, "utf-8")
    found = run("verify", "notes.toml", "--baseline", "b.toml")
    assert found.code == 2
    assert message in found.err
    assert run("verify", "notes.toml", "--baseline", "none.toml").code == 2


def test_any_text_is_written_as_it_is_read_back(tmp_path):
    draw, path = random.Random(11), tmp_path / "b.toml"
    letters = "aB=+ \\\"'\n\t\r{}[]#$%&한字é\x01\x7f\u2028🙂"
    for _ in range(200):
        texts = ["".join(draw.choice(letters) for _ in range(draw.randint(0, 12))) for _ in range(3)]
        texts[0] = texts[0] or "a.md"
        one = Accepted(texts[0], " ".join(texts[1].split()), "wrong", texts[2], draw.randint(1, 3))
        path.write_bytes(written([one]).encode("utf-8"))
        assert tomllib.loads(path.read_text("utf-8"))["finding"][0]["file"] == texts[0]
        assert read_baseline(path) == (one,)


@pytest.mark.parametrize(("said", "cut"), [("", False), ('digits = "nearest"', True), ('digits = "any"', False)])
def test_numbers_that_are_cut_off_may_not_stand_where_their_author_prints_what_is_nearest(said, cut, run, tmp_path):
    claims = dict.fromkeys(("ridge = 240.24", "ridge = 240", "850/99.2 = 8.6"), False)
    claims |= {"ridge = 240.243": True, "850/99.2 = 8": True}
    path = tmp_path / "p.toml"
    for claim, is_cut in claims.items():
        path.write_text(f'operation = "matmul"\nhardware = "tpu-v5e"\n{said}\nclaims = ["{claim}"]\n', "utf-8")
        assert run("verify", str(path)).code == (1 if cut and is_cut else 0), claim
        assert run("verify", "--strict", str(path)).code == (1 if is_cut else 0), claim
    page = tmp_path / "p.md"
    head = '<!-- symroof\noperation = "matmul"\nhardware = "tpu-v5e"\n' + said + "\n-->\n"
    page.write_text(head + "Its ridge is $19700/82 = 240.243$.\n", "utf-8")
    assert run("verify", str(page)).code == (1 if cut else 0)


def test_another_word_for_digits_is_refused(run, tmp_path):
    path = tmp_path / "p.toml"
    path.write_text('operation = "matmul"\ndigits = "nearst"\nclaims = ["flops = 2BDF"]\n', "utf-8")
    found = run("verify", str(path))
    assert (found.code, "did you mean nearest?" in found.err) == (2, True)


@pytest.mark.thorough
def test_a_baseline_that_is_written_elsewhere_keeps_the_reasons(document, run, tmp_path):
    """The files of a baseline are told from its folder: written into another folder they are told from there."""
    run("verify", "notes.toml", "--write-baseline", "a.toml")
    path, other = tmp_path / "a.toml", tmp_path / "sub" / "b.toml"
    path.write_text(path.read_text("utf-8").replace('reason  = ""', 'reason  = "known"'), "utf-8")
    other.parent.mkdir()
    again = ("verify", "notes.toml", "--baseline", "a.toml", "--write-baseline", "sub/b.toml")
    for _ in range(2):
        assert run(*again).code == 0
        assert {(one.file, one.reason, one.count) for one in read_baseline(other)} == {("../notes.toml", "known", 1)}
    assert run("verify", "notes.toml", "--baseline", "sub/b.toml").code == 0


def test_entries_of_one_finding_are_one_with_all_reasons(document, run, tmp_path):
    run("verify", "notes.toml", "--write-baseline", "b.toml")
    path = tmp_path / "b.toml"
    text = path.read_text("utf-8")
    path.write_text(text.replace('""', '"one"') + text.replace('""', '"two"') + text, "utf-8")
    assert {(one.reason, one.count) for one in read_baseline(path)} == {("one; two", 3)}
    document("flops = 3BDF", "flops = 3BDF", "ridge = 240")
    assert run("verify", "notes.toml", "--baseline", "b.toml").code == 0
