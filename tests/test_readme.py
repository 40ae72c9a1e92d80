"""Every command of the README and of the documentation runs, and prints what is shown there."""

import re
import runpy
import shlex
from importlib.metadata import version
from pathlib import Path

import pytest

from symroof.cli.question_commands import written
from symroof.reading.claims import read_claim
from symroof.reading.name_scope import Scope
from symroof.reading.programs import read_program

ROOT = Path(__file__).parent.parent
PAGES = sorted((*ROOT.glob("README*.md"), *(ROOT / "docs").glob("*.md")))
DOCS = [path for path in PAGES if path.parent == ROOT / "docs"]
TEXTS = {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in PAGES}
README = TEXTS["README.md"]
COMMAND = re.compile(r"```console\n\$ symroof (.*?)\n(.*?)```", re.DOTALL)
FILE = re.compile(r'```\w+ title="([^"]+)"\n(.*?)```', re.DOTALL)  # what a page shows as a file, its commands may name
BLOCKS = [(name, *block) for name, text in TEXTS.items() for block in COMMAND.findall(text)]


def test_there_are_commands():
    assert len(BLOCKS) >= 30
    assert len(COMMAND.findall(README)) >= 3
    assert len(README.splitlines()) <= 200


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "command", "shown"), BLOCKS, ids=[f"{b[0]} {b[1][:30]}" for b in BLOCKS])
def test_command(run, name, command, shown, tmp_path, monkeypatch):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    for file, text in FILE.findall(TEXTS[name]):
        (tmp_path / file).write_text(text, "utf-8")
    monkeypatch.chdir(tmp_path)
    done = run(*shlex.split(command))
    assert done.out + done.err == shown


# The gallery, the pages that answer and the maps take as long as all others together.
LONG = {stem: [pytest.mark.thorough] for stem in ("live", "explore")}
CHECKED = [pytest.param(page, marks=LONG.get(page.stem, [])) for page in PAGES]


@pytest.mark.part(99)
@pytest.mark.parametrize("page", CHECKED, ids=lambda page: page.name)
def test_derivations_numbers_and_pictures_are_up_to_date(run, page):
    done = run("build", "--check", str(page))
    assert (done.code, done.out) == (0, "")


@pytest.mark.parametrize("name", [name for name in TEXTS if name.startswith("README")])
def test_the_first_command_is_the_first_example(name):
    """Behind the commands that set it up, in every language."""
    first = re.search(
        r"^    git clone .*\n    python3 -m venv .*\n    pip install .*\n    symroof (.*)$", TEXTS[name], re.M
    )
    assert first is not None
    shown, brief = (shlex.split(command) for command in (first[1], COMMAND.search(TEXTS[name])[1]))
    assert sorted(brief) == sorted([*shown, "--brief"])
    assert "pip install -e '.[test]' && pytest" in README


@pytest.mark.parametrize("name", TEXTS)
def test_linked_files_exist_and_no_cell_shows_a_backslash(name):
    assert "\\|" not in TEXTS[name]
    for link in re.findall(r"\]\((?!http)([^)#]+)(?:#[^)]*)?\)", TEXTS[name]):
        assert ((ROOT / name).parent / link).exists(), link


def test_every_page_of_the_documentation_is_in_its_contents():
    assert runpy.run_path(str(ROOT / ".ci" / "terms.py"))["page"]() == (ROOT / "docs" / "terms.md").read_text("utf-8")
    contents = (ROOT / "mkdocs.yml").read_text("utf-8")
    assert all(f"- {path.name}\n" in contents for path in DOCS)
    derivations = [path for path in (ROOT / "examples").glob("*.md") if path.with_suffix(".toml").exists()]
    assert len(derivations) >= 10
    assert all(f": examples/{path.name}\n" in contents for path in derivations)


PROGRAM = (ROOT / "tests" / "data" / "reference.txt").read_text("utf-8")  # every statement of the reference


@pytest.mark.parametrize("text", dict(written("programs")))
def test_a_statement_of_the_reference_is_read(text):
    """It stands in a program that is read: input, weight and cache with names of their own."""
    named = text.replace("repeat L as x = z", "repeat L as y = z").replace("over P as x = z", "over P as t = tt")
    assert named.partition("{")[0].strip() in PROGRAM


def test_the_program_of_the_reference_is_read():
    assert len(read_program(PROGRAM).lines) == 32


@pytest.mark.parametrize("text", [text for text, _ in written("claims")])
def test_a_claim_of_the_reference_is_read(text):
    names = ("intensity", "bytes", "weights", "T_math", "T_comms")
    assert read_claim(text, Scope(names, open=True))


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore")
def test_the_site_is_built(tmp_path):
    """Strictly: no link leads nowhere, no block is stale, and what is on the pages is in the site."""
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    build(load_config(str(ROOT / "mkdocs.yml"), site_dir=str(tmp_path), strict=True))
    for path in DOCS:
        if path.name != "index.md":
            assert "<h1" in (tmp_path / path.stem / "index.html").read_text("utf-8")
    framed = 0
    for page in tmp_path.rglob("index.html"):
        for frame in re.findall(r'<iframe [^>]*src="([^"]+)"', page.read_text("utf-8")):
            place = page.parent / frame
            assert (place / "index.html" if place.is_dir() else place).is_file(), f"{page}: {frame} leads nowhere"
            framed += 1
    assert framed >= 3
    assert "5074.9 tokens/s" in (tmp_path / "tutorial" / "index.html").read_text("utf-8")
    for path in (tmp_path / "examples").glob("*/index.html"):  # the whole derivation, below the file that asks for it
        assert path.read_text("utf-8").count("<math") > 20


EXPLORE = TEXTS["docs/explore.md"]
FIGURES = re.findall(r"^    symroof (plot .*?) -o \S+$.*?^!\[.*?\]\((\S+)\)$", EXPLORE, re.MULTILINE | re.DOTALL)


def test_there_is_a_figure_of_each_kind():
    assert len(FIGURES) == 14


@pytest.mark.part(2)
@pytest.mark.parametrize(("command", "picture"), FIGURES, ids=[picture for _, picture in FIGURES])
def test_figure(run, command, picture, tmp_path):
    """The commands draw the committed pictures: the same words at the same places, to a tenth of a point."""
    out = tmp_path / "figure.svg"
    assert run(*shlex.split(command), "-o", str(out)).code == 0
    drawn, committed = (places(path.read_text("utf-8")) for path in (out, ROOT / "docs" / picture))
    new = tuple(map(int, version("matplotlib").split(".")[:2])) >= (3, 10)  # older ones write and place text otherwise
    assert drawn == committed if new else {text for text, _ in committed} <= {text for text, _ in drawn} | {""}


def places(svg):
    return [
        (text, [round(float(x), 1) for x in re.findall(r"-?\d+\.?\d*", where)])
        for where, text in re.findall(r"<text [^>]*transform=\"([^\"]*)\"[^>]*>([^<]*)</text>", svg)
    ]
