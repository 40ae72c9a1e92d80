"""Documents with blocks and values: what is written, what is left alone, what is found stale."""

import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest
from effort import draws
from hypothesis import HealthCheck, given, settings, strategies as st

import symroof as sr
from symroof.building.block_contents import digest
from symroof.errors import ReadingError
from symroof.reading.notebooks import cells
from symroof.rendering.figures.drawings import draw
from symroof.rendering.figures.picture_digest import is_own

pytestmark = pytest.mark.part(1)

BLOCK = """<!-- symroof derive
operation = "bf16[B, D] * bf16[D, F] -> bf16[B, F]"
hardware  = "tpu-v5e"
assume    = "B << D, F"
id        = "mm"
sections  = ["rule"]
-->
"""
SENTENCE = "A product is compute-bound from <!-- symroof = mm.smallest_integer -->?<!-- / --> rows on.\n"
PAGE = f"# Page\n\n{SENTENCE}\n{BLOCK}\nThe end.\n"


def built(text, **options):
    document = sr.build(text, **options)
    assert not document.failed, [block.error for block in document.blocks]
    return document.text


def test_a_block_and_a_value_are_written():
    text = built(PAGE)
    assert "from <!-- symroof = mm.smallest_integer -->241<!-- / --> rows" in text
    assert "the condition is $B > R \\approx 240.24$" in text
    assert re.search(r"\n\n<!-- symroof end [0-9a-f]{8} -->\n\nThe end\.\n$", text)


# Lines that say nothing to symroof, some of which look as if they did.
LINES = """@words@# Head@- item@  going on@> quoted@> ```@```@~~~@    code@***@-->@$B > 240$@$$@| a | b |@|--|--|@<!-- a comment -->
`<!-- symroof derive -->`@<!-- symroof: hardware = 'tpu-v5e' -->@{% raw %}@\\(x\\)@&nbsp;@한국어@a\tb """
LINES = st.lists(st.sampled_from(re.split("[@\n]", LINES)), max_size=8)


def outside(text):
    """A document without what stands between its markers."""
    text = re.sub(r"(<!-- symroof derive\r?\n.*?-->).*?<!-- symroof end \w+ -->", r"\1", text, flags=re.DOTALL)
    return re.sub(r"(<!-- symroof = [^>]*-->).*?(<!-- / -->)", r"\1\2", text, flags=re.DOTALL)


@pytest.mark.thorough
@settings(max_examples=draws(40), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    before=LINES,
    behind=LINES,
    prefix=st.sampled_from(["", "> ", "  ", "> > "]),
    end=st.sampled_from(["\n", "\r\n"]),
    values=st.booleans(),
)
def test_nothing_outside_of_the_markers_changes(before, behind, prefix, end, values):
    inner = (SENTENCE if values else "") + "\n" + BLOCK
    body = "".join((prefix + line).rstrip() + "\n" for line in inner.splitlines())
    text = "\n".join((*before, "", body, "", *behind)).replace("\n", end)
    try:
        document = sr.build(text)
    except ReadingError:  # the lines around it made code of a half of it, or a comment of all
        return
    if document.failed:
        return
    assert outside(document.text) == outside(text)
    assert sr.build(document.text).text == document.text
    assert ("\r\n" in document.text) == ("\r\n" in text)
    assert "\n" not in document.text.replace("\r\n", "") or end == "\n"


def test_prefixes_stand_before_every_line():
    quoted = built("".join(f"> {line}\n" for line in BLOCK.splitlines()))
    assert all(line.startswith(">") for line in quoted.splitlines())
    item = built("- item\n\n" + "".join(f"  {line}\n" for line in BLOCK.splitlines()))
    assert all(line.startswith("  ") or not line for line in item.splitlines()[1:])
    for mark, then in (("- ", "  "), ("- > ", "  > ")):
        assert f"\n{then}**Rule of thumb.**" in built(mark + BLOCK.replace("\n", f"\n{then}").removesuffix(then))


MARKERS = {
    f"```\n{BLOCK}```\n": 0,
    "    <!-- symroof derive -->\n": 0,
    "`<!-- symroof = x -->`\n": 0,
    "---\ntitle: <!-- symroof derive -->\n---\n": 0,
    "!!! note\n\n        <!-- symroof derive -->\n": 0,
    f"+++\na = '<!-- symroof derive -->'\n+++\n\n{BLOCK}": 1,  # what Hugo has before the text
    f"a ` b\n\n{BLOCK}\nc ` d\n": 1,
    f"a ` b\n{BLOCK}c ` d\n": 1,
}


@pytest.mark.parametrize("shown", MARKERS)
def test_markers_in_code_are_text(shown):
    assert len(sr.build(shown).blocks) == MARKERS[shown]


def test_a_hand_edit_is_found_shown_and_kept(tmp_path):
    page = tmp_path / "page.md"
    text = built(PAGE)
    page.write_text(text.replace("240.24", "250.24"))
    document = sr.build(page.read_text())
    (block,) = document.stale
    assert (block.status, document.text) == ("edited", page.read_text())
    assert "250.24 -> 240.24" in document.says(block)
    assert built(page.read_text(), force=True) == text


def every_digit(text):
    """Where the digits stand that a reader sees in blocks and values."""
    patterns = r"-->\n(?s:(.*?))<!-- symroof end", r"-->([^<\n]+)<!-- / -->"
    spans = [found.span(1) for pattern in patterns for found in re.finditer(pattern, text)]
    return [i for a, b in spans for i in range(a, b) if text[i].isdigit()]


@pytest.mark.thorough
def test_a_changed_digit_is_found_by_both_commands(run, tmp_path):
    text = built(PAGE)
    places = every_digit(text)
    assert len(places) > 8
    for place in places[:: max(1, len(places) // 6)]:
        page = tmp_path / "page.md"
        page.write_text(text[:place] + str((int(text[place]) + 1) % 10) + text[place + 1 :])
        assert [run(*command, str(page)).code for command in (("build", "--check"), ("verify",))] == [1, 1]
    page.write_text(text)
    assert [run(*command, str(page)).code for command in (("build", "--check"), ("verify",))] == [0, 0]


@pytest.mark.thorough
def test_what_moved_is_said_with_its_name(run, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(built(PAGE))
    done = run("build", "--check", "--given", "HBM=8.1e11", str(page))
    lines = done.out.splitlines()
    assert done.code == 1
    assert lines[0].endswith("mm.smallest_integer: 241 -> 244")
    assert re.search(r"mm: ridge 240.24 -> 243.21, smallest_integer 241 -> 244|rule_bound 240.24 -> 243.21", lines[1])
    assert lines[-1] == "1 of 1 file would change"
    assert page.read_text() == built(PAGE)


@pytest.mark.thorough
def test_the_number_after_an_answer_is_the_one_of_the_derivation():
    asked = "mm.rule_bound; 3 digits", "ceil(mm.ridge)", "mm.T_math at B = 512, D = F = 8192; us"
    text = f"v {' '.join(f'<!-- symroof = {one} --><!-- / -->' for one in asked)}\n\n{BLOCK}"
    derivation = sr.derive("matmul", on="tpu-v5e", assume="B << D, F")
    seconds = 2 * 512 * 8192 * 8192 / 1.97e14
    bound, ceiling, time_ = re.findall(r"-->([^<\n]+)<!-- / -->", built(text))
    assert (bound, ceiling) == ("240", "241")
    assert 240 < derivation.answer.rule_bound < 241
    assert time_ == f"{seconds * 1e6:.1f} µs"


FAULTS = {
    "unknown": ("v <!-- symroof = mm.rigde --><!-- / -->\n\n" + BLOCK, "mm.ridge"),
    "unit": ("v <!-- symroof = mm.smallest_integer; us --><!-- / -->\n\n" + BLOCK, "in no unit"),
    "shape": ("v <!-- symroof = mm.ridge; nice --><!-- / -->\n\n" + BLOCK, "3 digits"),
    "twice": (BLOCK + "\n" + BLOCK, "name of another block"),
    "key": (BLOCK.replace("assume", "asume"), "assume"),
    "operation": ("<!-- symroof derive\nhardware = 'tpu-v5e'\n-->\n", "no operation"),
    "toml": ("<!-- symroof derive\nhardware = tpu\n-->\n", "is not TOML"),
    "label": (BLOCK.replace("-->", "label = 3\n-->"), "is not text"),
    "template": (BLOCK.replace("-->", "template = 3\n-->"), "is not text"),
    "argument": (f"v <!-- symroof = '$\\frac{{mm.ridge}}{{2}}$' --><!-- / -->\n\n{BLOCK}", "{{mm.ridge}}"),
    "verb": ("<!-- symroof derrive\n-->\n", "did you mean derive"),
    "heading": (BLOCK.replace("-->", "heading = 9\n-->"), "0 to 6"),
    "foreign template": (BLOCK.replace('id        = "mm"', 'template = "/etc"'), "not in the folder"),
    "file": ("<!-- symroof derive\nproblem = '../../../etc/passwd'\n-->\n", "not in the folder"),
}


@pytest.mark.parametrize(("text", "said"), FAULTS.values(), ids=FAULTS)
def test_a_fault_is_told_and_the_block_stays(text, said):
    document = sr.build(text)
    assert document.failed
    assert any(said in str(block.error) for block in document.blocks)


REFUSED = {
    "begins a line": ("<!-- symroof = 1 -->1<!-- / -->\n", "words before it"),
    "open": ("v <!-- symroof = 1 -->1\n", "not closed"),
    "end": ("<!-- symroof end 12345678 -->\n", "an end without a beginning"),
    "comment": (BLOCK.replace("-->", ""), "the comment is not closed"),
    "paragraphs": ("v <!-- symroof = 1 -->1\n\nwords<!-- / -->\n", "the value is not closed"),
}


@pytest.mark.parametrize(("text", "said"), REFUSED.values(), ids=REFUSED)
def test_markers_that_cannot_be_read_are_refused(text, said):
    with pytest.raises(ReadingError) as error:
        sr.build(text)
    assert said in str(error.value)


@pytest.mark.thorough
def test_other_blocks_and_files_are_still_tried(run, tmp_path):
    bad, good = tmp_path / "bad.md", tmp_path / "good.md"
    bad.write_text("<!-- symroof derive\n-->\n\n" + BLOCK)
    good.write_text(PAGE)
    done = run("build", str(bad), str(good))
    assert done.code == 2
    assert bad.read_text() == "<!-- symroof derive\n-->\n\n" + BLOCK
    assert "241<!-- / -->" in good.read_text()


def test_comments_before_a_block_give_what_it_does_not_say():
    context = "<!-- symroof\nhardware = 'tpu-v5e'\nassume = 'B << D, F'\noperation = 'bf16[B, D] * bf16[D, F] -> bf16[B, F]'\n-->\n\n"
    assert "B > R \\approx 240.24" in built(context + "<!-- symroof derive\nsections = ['rule']\n-->\n")
    other = built(context + "<!-- symroof derive\noperation = 'dot'\nsections = ['ridge']\n-->\n")
    assert "240.24" in other  # the chip is shared, the regime is not


def test_problems_are_shared_with_files(tmp_path):
    two = '[[problem]]\ntitle = "one"\noperation = "dot"\n[[problem]]\ntitle = "two"\noperation = "matmul"\n'
    (tmp_path / "p.toml").write_text(two + 'hardware = "tpu-v5e"\nassume = "B << D, F"\n')
    text = "<!-- symroof derive\nproblem = 'p.toml#two'\nsections = ['rule']\n-->\n"
    assert "240.24" in built(text, path=tmp_path / "page.md")
    document = sr.build(text.replace("#two", ""), path=tmp_path / "page.md")
    assert "p.toml#title" in str(document.blocks[0].error)


@pytest.mark.parametrize(("dialect", "fence", "line"), [("dollar", "$$", " $@$ "), ("github", "```math", "$`@`$")])
def test_dialects_of_markdown(dialect, fence, line):
    text = built(BLOCK, dialect=dialect)
    assert f"{fence}\n\\frac{{1}}{{1 - R" in text
    assert line.replace("@", "B \\ll D, F") in text
    assert sr.build(BLOCK.replace('id        = "mm"', 'label = "eq-mm"'), dialect=dialect).failed
    with pytest.raises(sr.SymroofError, match="did you mean github"):
        sr.build(BLOCK, dialect="githup")


def test_settings_stand_in_a_file(tmp_path):
    (tmp_path / "symroof.toml").write_text('["docs/**/*.md"]\ndialect = "github"\nhardware = "tpu-v5e"\n')
    page = tmp_path / "docs" / "a" / "b.md"
    document = sr.build("<!-- symroof derive\noperation = 'dot'\nsections = ['ridge']\n-->\n", path=page)
    assert document.settings.dialect == "github"
    assert "240.24" in document.text
    (tmp_path / "symroof.toml").write_text('["docs/**/*.md"]\ndialct = "github"\n')
    with pytest.raises(ReadingError, match="dialct"):
        sr.build("", path=page)


def test_chips_of_the_settings_lie_beside_them(tmp_path):
    sources = '[sources]\ns = { title = "a sheet", url = "https://example.org", date = "2026" }\n'
    figures = (
        '[mine]\ntitle = "Mine"\n[mine.figures]\n"peak.bf16" = ["1e14 FLOPs/s", "s"]\nHBM = ["1e12 bytes/s", "s"]\n'
    )
    (tmp_path / "own.toml").write_text(sources + figures)
    (tmp_path / "symroof.toml").write_text('["docs/*.md"]\nchips = "own.toml"\nhardware = "mine"\n')
    text = "<!-- symroof derive\noperation = 'dot'\nsections = ['ridge']\n-->\n"
    assert "100" in built(text, path=tmp_path / "docs" / "a.md")


@pytest.mark.thorough
def test_latex_and_restructuredtext(tmp_path):
    keys = ['operation = "matmul"', 'hardware = "tpu-v5e"', 'assume = "B << D, F"']
    keys += ['sections = ["rule"]', 'id = "mm"', 'label = "eq:rule"']
    tex = "From % symroof = mm.smallest_integer\n?% /\n rows on.\n\n% symroof derive\n"
    tex += "".join(f"% {key}\n" for key in keys) + "\nSee.\n"
    once = built(tex, path=tmp_path / "a.tex")
    assert "241% /\n" in once
    assert "\\begin{equation}\\label{eq:rule}" in once
    assert built(once, path=tmp_path / "a.tex") == once
    rst = "Page\n====\n\n.. symroof derive\n" + "".join(f"   {key}\n" for key in keys)
    rst += "\nText::\n\n  .. symroof derive\n\nEnd\n"
    once = built(rst, path=tmp_path / "a.rst")
    assert ".. math::\n   :label: eq:rule\n\n   \\frac" in once
    assert once.count("symroof end") == 1
    assert built(once, path=tmp_path / "a.rst") == once


def cell(source, kind="markdown"):
    return {"cell_type": kind, "metadata": {}, "source": source}


@pytest.mark.parametrize("indent", [1, 2, None])
def test_notebooks_keep_everything_else(indent, tmp_path):
    outputs = [{"name": "stdout", "output_type": "stream", "text": ["é\n"]}]
    code = cell(["1 + 1"], "code") | {"execution_count": 1, "outputs": outputs}
    both = [*map(cell, (SENTENCE.splitlines(keepends=True), BLOCK)), code]
    tree = {"cells": both, "metadata": {"a": 1.50}, "nbformat": 4, "nbformat_minor": 5}
    text = json.dumps(tree, indent=indent, ensure_ascii=False) + "\n"
    once = built(text, path=tmp_path / "a.ipynb")
    assert "241<!-- / -->" in once
    after = json.loads(once)
    assert (after["cells"][2], after["metadata"]) == (code, tree["metadata"])
    firsts = [SENTENCE.split("\n")[0].replace("?", "241"), "<!-- symroof derive"]
    assert [cell.text.split("\n")[0] for cell in cells(once)] == firsts
    assert built(once, path=tmp_path / "a.ipynb") == once


def test_a_format_that_is_not_known_is_refused_by_name(tmp_path):
    with pytest.raises(ReadingError, match=r"a\.docx is in no format"):
        sr.build("", path=tmp_path / "a.docx")


@pytest.mark.thorough
def test_a_picture_beside_the_document(run, tmp_path):
    page = tmp_path / "page.md"
    keys = "operation = 'matmul'\nhardware = 'tpu-v5e'\nat = 'B=64,D=F=8192'\nid = 'roof'"
    page.write_text(f"<!-- symroof plot\n{keys}\n-->\n")
    assert run("build", str(page)).code == 0
    assert "roof.svg)" in page.read_text()
    assert "The ridge of TPU v5e against HBM is at 240 FLOPs/byte." in page.read_text()
    assert (tmp_path / "roof.svg").read_text().startswith("<?xml")
    assert run("build", "--check", str(page)).code == 0
    (tmp_path / "roof.svg").unlink()
    assert run("build", "--check", str(page)).code == 1
    assert run("build", "--check", "--given", "HBM=8.1e11", str(page)).code == 1


@pytest.mark.thorough
def test_standard_input_and_output(tmp_path):
    command = [sys.executable, "-m", "symroof", "build", "-"]
    assert subprocess.run(command, input=PAGE, capture_output=True, text=True, check=True).stdout == built(PAGE)


def test_require_and_diff(run, tmp_path):
    page = tmp_path / "page.md"
    page.write_text("words\n")
    assert run("build", str(page)).code == 0
    assert run("build", "--require", str(page)).code == 1
    page.write_text(PAGE)
    assert "+The end." not in run("build", "--diff", str(page)).out
    assert page.read_text() == PAGE


@pytest.mark.thorough
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full disk here")
def test_a_crash_leaves_the_old_file(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    script = "import sys, os, symroof.cli.document_commands as b\ndef full(*a): raise OSError(28, 'No space left on device')\n"
    script += "os.fsync = full\nfrom symroof.cli import main; main(sys.argv[1:])"
    command = [sys.executable, "-c", script, "build", str(page)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "No space left" in done.stderr
    assert page.read_text() == PAGE
    assert [file.name for file in tmp_path.iterdir()] == ["page.md"]


@pytest.mark.thorough
def test_a_killed_build_leaves_the_old_file_or_the_new_one(tmp_path):
    page = tmp_path / "page.md"
    for delay in (0.3, 0.6, 0.9):
        page.write_text(PAGE)
        process = subprocess.Popen([sys.executable, "-m", "symroof", "build", str(page)])
        time.sleep(delay)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        assert page.read_text() in (PAGE, built(PAGE))


HOLDERS = {
    "admonition": ("!!! note\n\n", "    "),
    "admonition by tab": ("!!! note\n\n", "\t"),
    "tab": ('=== "A"\n\n', "    "),
    "footnote": ("x[^1]\n\n[^1]:\n", "    "),
    "quote in a list": ("- > words\n", "  > "),
}


@pytest.mark.parametrize(("head", "prefix"), HOLDERS.values(), ids=HOLDERS)
def test_a_block_in_what_holds_indented_lines(head, prefix):
    once = built(head + "".join(prefix + line + "\n" for line in BLOCK.splitlines()))
    assert f"{prefix}**Rule of thumb.**" in once
    assert built(once) == once


def test_what_is_written_is_found_again_or_refused():
    with pytest.raises(ReadingError, match="would be code"):
        sr.build("words\n" + "".join("    " + line + "\n" for line in BLOCK.splitlines()))


@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_every_line_keeps_its_end(mark):
    once = built(f"{mark}---\nb: <!-- symroof derive -->\n---\r\nc\n\r\n" + BLOCK.replace("\n", "\r\n") + "d\n")
    assert once.startswith(f"{mark}---\nb: <!-- symroof derive -->\n---\r\nc\n\r\n<!-- symroof derive\r\n")
    assert once.endswith(" -->\r\nd\n")
    assert "\r\n**Rule of thumb.**" in once
    assert built(once) == once


@pytest.mark.parametrize("around", ["$R = @$", "$$\nR = @\n$$"])
def test_a_value_inside_of_mathematics_is_refused(around):
    document = sr.build("v " + around.replace("@", "<!-- symroof = mm.ridge -->?<!-- / -->") + "\n\n" + BLOCK)
    assert "'$… {mm.ridge} …$'" in str(document.blocks[0].error)
    built("It costs $5 and <!-- symroof = mm.ridge -->?<!-- / -->.\n\n" + BLOCK)


def test_a_value_of_a_block_that_fails_says_so():
    document = sr.build(SENTENCE + "\n" + BLOCK.replace("v5e", "v5x"))
    assert "the block mm has no answer" in str(document.blocks[0].error)


RST = "P\n=\n\n{}\n{}.. symroof derive\n{}   operation = 'matmul'\n"
SHOWN = {
    "code": (".. code-block:: rst\n", "   ", 0),
    "literal": ("Text::\n", "   ", 0),
    "comment": (".. words\n", "   ", 0),
    "note": (".. note::\n", "   ", 1),
    "footnote": (".. [1] words\n", "   ", 1),
}


@pytest.mark.parametrize(("head", "indent", "blocks"), SHOWN.values(), ids=SHOWN)
def test_markers_in_restructuredtext(head, indent, blocks, tmp_path):
    once = sr.build(RST.format(head, indent, indent), path=tmp_path / "a.rst")
    assert len(once.blocks) == blocks
    assert sr.build(once.text, path=tmp_path / "a.rst").text == once.text
    carried = sr.build("\ufeff" + RST.format(head, indent, indent).replace("\n", "\r\n"), path=tmp_path / "a.rst")
    assert carried.text == "\ufeff" + once.text.replace("\n", "\r\n")


def test_values_of_latex_at_odd_places(tmp_path):
    path = tmp_path / "a.tex"
    assert built("x % symroof = 2 + 2 \n?% /", path=path) == "x % symroof = 2 + 2 \n4% /"
    assert sr.build("100\\% symroof = mm.ridge\n", path=path).blocks == ()


@pytest.mark.thorough
def test_cells_of_notebooks_are_read_each_by_itself(tmp_path):
    sources = ["```\nopen\n", "<!-- open\n", BLOCK]
    text = json.dumps({"cells": [*map(cell, sources)], "nbformat": 4}, indent=1)
    for notebook in (text, text.replace("\n", "\r\n"), "\ufeff" + text):
        once = built(notebook, path=tmp_path / "a.ipynb")
        assert "Rule of thumb" in once
        assert "\r\r" not in once
        assert built(once, path=tmp_path / "a.ipynb") == once
    assert sr.build('{"cells": []}', path=tmp_path / "a.ipynb").blocks == ()


@pytest.mark.parametrize("suffix", ["md", "rst", "tex"])
def test_a_report_names_the_file_as_the_block_does(suffix, tmp_path):
    (tmp_path / "claims.md").write_text("So $2 + 2 = 4$.\n")
    marks = {"md": ("<!--", "@\n-->"), "rst": ("..", "   @"), "tex": ("%", "% @")}[suffix]
    text = f"{marks[0]} symroof verify\n{marks[1]}\n"
    once = built(text.replace("@", "file = 'claims.md'"), path=tmp_path / f"a.{suffix}")
    assert "claims.md:1:4" in once
    assert str(tmp_path) not in once
    assert "# Verification" not in once
    for file in ("", f"file = 'a.{suffix}'"):
        assert sr.build(text.replace("@", file), path=tmp_path / f"a.{suffix}").failed


@pytest.mark.thorough
def test_links_stay_and_what_is_read_only_is_not_written(run, tmp_path):
    page, link = tmp_path / "page.md", tmp_path / "link.md"
    page.write_text(PAGE)
    link.symlink_to(page)
    page.chmod(0o444)
    assert "read-only" in run("build", str(link)).err
    assert page.read_text() == PAGE
    page.chmod(0o644)
    assert run("build", "--diff", str(link)).code == 1
    assert run("build", str(link)).code == 0
    assert link.is_symlink()
    assert page.read_text() == built(PAGE)
    assert run("build", "--diff", str(link)).code == 0


def test_what_was_changed_meanwhile_is_not_overwritten(tmp_path):
    from symroof.cli.document_commands import _write

    page = tmp_path / "page.md"
    page.write_text(PAGE)
    document = sr.build(PAGE, path=page)
    page.write_text(PAGE + "More.\n")
    with pytest.raises(ReadingError, match="changed while"):
        _write(page, document)
    assert page.read_text() == PAGE + "More.\n"


INSERTED = {
    "mm.rule_bound; formula": r"$\frac{9850}{41}$",
    "'$T = {mm.T_math at B = 512, D = F = 8192}$'; us": r"$T = 348.8\,\mu\text{s}$",
    "'$T = {mm.T_math at B = 512, D = F = 8192}$'; ms": r"$T = 0.3488\,\text{ms}$",
    r"'$R_{max} = {mm.ridge}$'; 3 digits": "$R_{max} = 240$",
    "'$R = {mm.ridge}$'; 3 digits": "$R = 240$",
    r"'$\frac{{mm.ridge}}{2} \text{ rows}$'; 3 digits": r"$\frac{240}{2} \text{ rows}$",
    r"'$\{1, {mm.smallest_integer}\}$'": r"$\{1, 241\}$",
}


@pytest.mark.parametrize("asked", INSERTED)
def test_values_as_they_stand(asked):
    text = built(f"v <!-- symroof = {asked} --><!-- / -->\n\n{BLOCK}")
    assert f"<!-- symroof = {asked} -->{INSERTED[asked]}<!-- / -->" in text


def test_a_value_stands_in_one_line():
    text = built(f"v <!-- symroof = mm.threshold --><!-- / -->\n\n{BLOCK}")
    assert text.split("\n")[0].endswith("\\end{cases}$<!-- / -->")


def test_values_know_what_the_settings_say(tmp_path):
    (tmp_path / "symroof.toml").write_text('["*.md"]\nhardware = "tpu-v5e"\noperation = "matmul"\n')
    assert "-->240.24<!--" in built("v <!-- symroof = ridge -->?<!-- / -->\n", path=tmp_path / "a.md")


@pytest.mark.thorough
def test_the_cells_of_a_notebook_are_judged_as_they_are_read(run, tmp_path):
    notebook = tmp_path / "a.ipynb"
    cells_ = [cell(SENTENCE), cell(BLOCK), cell("'$1 = 2$'", "code"), cell("$\\frac{4}{2} = 2$")]
    notebook.write_text(built(json.dumps({"cells": cells_, "nbformat": 4}), path=notebook))
    done = run("verify", str(notebook))
    assert (done.code, "3 hold" in done.out) == (0, True)
    notebook.write_text(notebook.read_text().replace('= 2$"', '= 3$"'))
    assert run("verify", str(notebook)).code == 1


@pytest.mark.thorough
def test_a_value_that_is_not_the_formulas_is_refused(monkeypatch):
    from symroof.algebra.roots import Root
    from symroof.building import block_contents as values

    right = values.enclosed
    monkeypatch.setattr(values, "enclosed", lambda formula: Root(right(formula).low * 2, right(formula).high * 2))
    two = "v <!-- symroof = mm.ridge + 1 --><!-- / --> or <!-- symroof = ceil(mm.ridge) --><!-- / -->"
    document = sr.build(f"{two}\n\n{BLOCK}")
    assert sum(block.status == "failed" for block in document.blocks) == 2
    assert any("not proved" in str(block.error) for block in document.blocks)


KOREAN = f"""# 행렬 곱셈

<!-- symroof lang = "ko" -->

배치는 <!-- symroof = mm.smallest_integer -->?<!-- / -->행부터 연산 병목이고, 조건은 <!-- symroof = mm.condition -->?<!-- / -->이다.
임계값은 <!-- symroof = exact.threshold -->?<!-- / -->이다. 내적은 <!-- symroof = dot.outcome -->?<!-- / -->이다.

{BLOCK}
<!-- symroof derive
operation = "matmul"
hardware  = "tpu-v5e"
id        = "exact"
sections  = ["threshold", "answer"]
-->

> <!-- symroof derive
> operation = "dot"
> hardware  = "tpu-v5e"
> id        = "dot"
> sections  = ["intensity"]
> -->
"""


@pytest.mark.thorough
def test_a_korean_document_is_built_once_and_judged_without_a_false_alarm(run, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(KOREAN)
    assert run("build", str(page)).code == 0
    once = page.read_text()
    assert "배치는 <!-- symroof = mm.smallest_integer -->241<!-- / -->행부터" in once
    assert "조건은 <!-- symroof = mm.condition -->$B > \\frac{9850}{41}$<!-- / -->이다." in once
    assert "\\text{해당하는 값 없음}" in once
    assert "내적은 <!-- symroof = dot.outcome -->연산 병목 불가능<!-- / -->이다" in once
    assert not re.search(r"[a-z]{3,} [a-z]{2,}", re.sub(r"<!--.*?-->|`[^`]*`", "", once, flags=re.DOTALL))
    block = r"-->\n\n((?:(?!<!--).)*?)\n\n<!-- symroof end (\w+) -->"
    contents = re.findall(block, re.sub(r"^> ?", "", once, flags=re.MULTILINE), re.DOTALL)
    assert [digest(text) for text, _ in contents] == [said for _, said in contents]
    assert len(contents) == 3
    assert run("build", "--check", str(page)).code == 0
    assert built(once, path=page) == once
    done = run("verify", "-v", str(page))
    assert (done.code, "wrong" in done.out) == (0, False)


@pytest.mark.thorough
def test_a_block_in_another_language_is_stale_with_the_numbers_that_it_had():
    once = built(BLOCK)
    document = sr.build(once, lang="ko")
    assert [block.status for block in document.stale] == ["stale"]
    assert document.stale[0].changes == ()
    assert built(document.text, lang="ko") == document.text
    assert built(document.text) == once


def test_an_approximation_alone_is_not_of_the_usual_chip(tmp_path):
    (tmp_path / "symroof.toml").write_text('["*.md"]\nhardware = "tpu-v5e"\n')
    text = "<!-- symroof regimes\nof = 'BDF/(BD + DF + BF) ~ B'\n-->\n"
    assert "B \\ll D, F" in built(text, path=tmp_path / "a.md")
    assert "no operation" in str(sr.build(text.replace("-->", "assume = 'B << D'\n-->")).blocks[0].error)


PICTURE = '<!-- symroof plot\noperation = "matmul"\nhardware = "tpu-v5e"\nat = "B=64,D=F=8192"\nfile = "logo.{0}"\n-->\n<!-- /symroof -->\n'


@pytest.mark.thorough
@pytest.mark.parametrize("form", ["svg", "png", "pdf"])
def test_a_picture_of_somebody_else_is_not_written_over(run, tmp_path, form):
    """Only what an earlier build drew, as it drew it, or what is not there."""
    page, picture = tmp_path / "page.md", tmp_path / f"logo.{form}"
    page.write_text(PICTURE.format(form))
    picture.write_bytes(b"<svg>a logo</svg>\n")
    before = page.read_text()
    done = run("build", str(page))
    assert done.code == 2
    assert "no picture of an earlier build" in done.out + done.err
    assert (page.read_text(), picture.read_bytes()) == (before, b"<svg>a logo</svg>\n")
    assert run("build", "--force", str(page)).code == 0
    drawn = picture.read_bytes()
    assert drawn != b"<svg>a logo</svg>\n"
    page.write_text(page.read_text().replace("B=64", "B=65"))
    assert run("build", str(page)).code == 0
    assert picture.read_bytes() != drawn
    middle = len(picture.read_bytes()) // 2
    picture.write_bytes(picture.read_bytes()[:middle] + b" " + picture.read_bytes()[middle:])
    page.write_text(page.read_text().replace("B=65", "B=66"))
    assert run("build", str(page)).code == 2


@pytest.mark.thorough
@pytest.mark.parametrize("form", ["svg", "png", "pdf"])
def test_a_signed_picture_is_still_a_picture(form):
    from PIL import Image

    figure = sr.plot("matmul", on="tpu-v5e", at="B=64,D=F=8192")
    bare = draw(figure.drawing).drawn(form)
    own = figure.drawn(form)
    assert is_own(own, form)
    assert not is_own(bare, form)
    if form == "png":
        assert Image.open(io.BytesIO(own)).tobytes() == Image.open(io.BytesIO(bare)).tobytes()
    if form == "svg":
        assert ElementTree.fromstring(own).tag.endswith("svg")
    if form == "pdf":
        assert own.startswith(b"%PDF")
        assert b"%%EOF" in own[-64:]
