"""Every command of the README runs, and prints what the README shows."""

import re
import shlex
from importlib.metadata import version
from pathlib import Path

import pytest

README = (Path(__file__).parent.parent / "README.md").read_text("utf-8")
BLOCKS = re.findall(r"```console\n\$ symroof (.*?)\n(.*?)```", README, re.DOTALL)


def test_there_are_commands():
    assert len(BLOCKS) >= 3


@pytest.mark.thorough
@pytest.mark.parametrize(("command", "shown"), BLOCKS, ids=[command[:30] for command, _ in BLOCKS])
def test_command(run, command, shown):
    done = run(*shlex.split(command))
    assert done.out + done.err == shown


def test_its_derivations_numbers_and_pictures_are_up_to_date(run):
    done = run("build", "--check", "--require", str(Path(__file__).parent.parent / "README.md"))
    assert (done.code, done.out) == (0, "")


def test_the_first_command_is_the_first_example():
    assert (
        'pip install \'.[plot]\' && symroof derive "bf16[B, D] * bf16[D, F] -> bf16[B, F]" --on tpu-v5e --assume "B << D, F" --at D=F=8192'
        in README
    )
    assert "pip install -e '.[test]' && pytest" in README


def test_linked_files_exist():
    root = Path(__file__).parent.parent
    for link in re.findall(r"\]\((?!http)([^)#]+)\)", README):
        assert (root / link).exists(), link


FIGURES = re.findall(r"^    symroof (plot .*) -o (examples/\S+)$", README, re.MULTILINE)


def test_there_is_a_figure_of_each_kind():
    assert len(FIGURES) == 5


@pytest.mark.part(2)
@pytest.mark.parametrize(("command", "picture"), FIGURES, ids=[picture for _, picture in FIGURES])
def test_figure(run, command, picture, tmp_path):
    """The commands draw the committed pictures: the same words at the same places, to a tenth of a point."""
    out = tmp_path / "figure.svg"
    assert run(*shlex.split(command), "-o", str(out)).code == 0
    drawn, committed = (places(path.read_text("utf-8")) for path in (out, Path(__file__).parent.parent / picture))
    new = tuple(map(int, version("matplotlib").split(".")[:2])) >= (
        3,
        10,
    )  # older ones write, and place, text otherwise
    assert drawn == committed if new else {text for text, _ in committed} <= {text for text, _ in drawn} | {""}
    assert f"({picture})" in README


def places(svg):
    return [
        (text, [round(float(x), 1) for x in re.findall(r"-?\d+\.?\d*", where)])
        for where, text in re.findall(r"<text [^>]*transform=\"([^\"]*)\"[^>]*>([^<]*)</text>", svg)
    ]
