"""Inputs that hurt: large, deep, endless, or made to be slow. Each ends soon, in one error or in an answer."""

import contextlib
import os
import re
import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest

from symroof.errors import SymroofError
from symroof.reading.documents import read_text
from symroof.reading.toml import read_table

pytestmark = pytest.mark.part(2)

ROOT = Path(__file__).parent.parent


def ended(*arguments, seconds=20, gigabytes=2):
    """The command in a process of its own, with bounds on its time and memory."""
    size = gigabytes << 30
    return subprocess.run(
        [sys.executable, "-m", "symroof", *arguments], capture_output=True, text=True, timeout=seconds,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (size, size)),
    )  # fmt: skip


BEYOND = {
    "dots": (".".join("a" * 50_000) + " = 1", "more than 16 parts"),
    "header": ("[" + ".".join("a" * 50_000) + "]", "more than 16 parts"),
    "quoted": (".".join(['"a"'] * 30_000) + " = 1", "more than 16 parts"),
    "inline": ("given = { " + " . ".join(["'a'"] * 20) + " = 1 }", "more than 16 parts"),
    "digits": ("x = " + "9" * 5000, "1000 characters"),
    "underscores": ("x = " + "9_" * 5000 + "9", "1000 characters"),
    "hexadecimal": ("x = 0x" + "f" * 5000, "1000 characters"),
    "brackets": ("a = " + "[" * 5000 + "]" * 5000, "not TOML"),
    "keys": ("\n".join(f"k{i} = 1" for i in range(60_000)), "60000 keys"),
    "size": ("a = '''" + "x" * 1_100_000 + "'''", "1100010 characters"),
}


@pytest.mark.parametrize(("text", "words"), BEYOND.values(), ids=BEYOND)
def test_a_table_beyond_bounds_is_refused_before_it_is_parsed(text, words):
    started = time.process_time()
    with pytest.raises(SymroofError, match=words):
        read_table(text, "a problem")
    assert time.process_time() - started < 2


def test_what_stands_in_strings_and_comments_is_not_counted():
    text = f'a = "{"a." * 100}" # {"b." * 100}\nc = [{", ".join(["1.5"] * 40)}]\nd = """{"=" * 60_000}"""\ne = "{"7" * 2000}"'
    assert read_table(text, "a problem")["c"] == ["1.5"] * 40


@pytest.mark.thorough
def test_devices_and_pipes_are_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe.md")
    for path in (str(tmp_path / "pipe.md"), "/dev/zero"):
        done = ended("verify", path)
        assert done.returncode == 2
        assert "is a device or a pipe" in done.stderr
    keys = 'chips = ["/dev/zero"]\noperation = "matmul"\nhardware = "tpu-v5e"'
    (tmp_path / "d.md").write_text(f"<!-- symroof\n{keys}\n-->\n$1 = 1$\n")
    assert ended("verify", str(tmp_path / "d.md")).returncode == 1  # of a comment alone: the rest is judged
    assert ended("derive", "matmul", "--on", "x", "--chips", "/dev/zero").returncode == 2


PIECES = [
    "\\[ ", "\\( ", "{% raw %}", "{%raw%}", "<pre>", "<script x>", "$", "`", "<!-- ", "```\n", "```math\n", "> ", "- ", "$$ ", "\\begin{equation} ", "\\begin{align*}", "\\begin{verbatim}",
    "\\iffalse ", "{::comment}", "| ", "[a](", "{{", "\\verb|", "\\lstinline{", "<!-- symroof -->$1=1$\n\n", "% symroof: ignore\n\n$1=1$\n", "$1=1$ ", "# x\n$1=1$\n",
]  # fmt: skip


@pytest.mark.parametrize("tex", [False, True], ids=["markdown", "tex"])
@pytest.mark.parametrize("piece", PIECES)
def test_readers_are_linear(piece, tex):
    """Four times the text takes about four times as long: what is quadratic takes sixteen times as long."""

    def seconds(size):
        text, best = piece * (size // len(piece)), []
        for _ in range(2):
            started = time.process_time()
            with contextlib.suppress(SymroofError):
                read_text(text, tex=tex)
            best.append(time.process_time() - started)
        return min(best)

    small, large = seconds(15_000), seconds(60_000)
    assert large < max(0.15, 9 * small)
    assert large < 3


def test_openings_without_an_end_hide_nothing():
    text = "$a = 1$ " + "\\[ " * 50 + "`2 = 2` \\begin{align} $b = 2$ <pre> $c = 3$"
    texts = [part.text for part in read_text(text).parts]
    assert texts == ["a = 1", "2 = 2", "b = 2", "c = 3"]


def refused(done, said, code=(2,)):
    """One error, which says something."""
    assert done.code in code
    assert "a bug in symroof" not in done.err + done.out
    assert re.search(said, done.err)


UNFIT = """aliases = 3; aliases = "mine"; aliases = [3]; wraparound = "no"; wraparound = true; wraparound = 0; wraparound = [4]
wraparound = ["4", "s"]; domain = 0; domain = [8, 8]; title = 3; figures = 3; sources = 3"""


@pytest.mark.parametrize("line", re.split(r"; |\n", UNFIT))
def test_a_chip_of_other_types_is_an_error_with_its_place(run, tmp_path, line):
    key = line.split()[0]
    figures = "" if key == "figures" else '[mine.figures]\n"peak.bf16" = ["1e14", "s"]\nHBM = ["1e12", "s"]\n'
    (tmp_path / "c.toml").write_text(f'[mine]\n{line}\n{figures}[sources]\ns = {{ title = "A" }}\n', "utf-8")
    refused(run("derive", "matmul", "--on", "mine", "--chips", str(tmp_path / "c.toml")), key)


UNSAFE = {
    "<< ''.__class__.__mro__ >>": "unsafe",
    "<< typesetter.inline.__func__.__globals__ >>": "unsafe",
    "<< page.nothing >>": "nothing",
    "<< 1 + 'a' >>": "TypeError",
    "<< 1 / 0 >>": "ZeroDivisionError",
    "<% include '../secret.j2' %>": "leads out of|no template",
    "<% include 'linked.j2' %>": "leads out of",
    "<% for x in range(10 ** 9) %>x<% endfor %>": "loops have more than",
    "<< nonsense": "template",
}


@pytest.mark.thorough
@pytest.mark.part(1)
@pytest.mark.parametrize("text", UNSAFE)
def test_a_template_of_ones_own_runs_in_a_sandbox(run, tmp_path, text):
    (tmp_path / "secret.j2").write_text("the secret", "utf-8")
    own = tmp_path / "own"
    own.mkdir()
    (own / "linked.j2").symlink_to(tmp_path / "secret.j2")
    (own / "page.md.j2").write_text(text, "utf-8")
    done = run("derive", "dot", "--format", "markdown", "--template", str(own))
    refused(done, UNSAFE[text])
    assert "secret" not in done.out


def test_a_template_without_its_macros_is_an_error(run, tmp_path):
    (tmp_path / "prose.j2").write_text("", "utf-8")
    refused(run("derive", "dot", "--format", "markdown", "--template", str(tmp_path)), "has no macro")


def shell(command, **options):
    words = ["bash", "-c", command.replace("symroof", f"{sys.executable} -m symroof")]
    return subprocess.run(words, capture_output=True, text=True, timeout=60, **options)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("symroof derive dot > /dev/full", 2), ("symroof verify examples/answers.toml > /dev/full", 2), ("symroof derive dot -o /dev/full", 2),
        ("symroof derive dot >&-", 0), ("symroof derive nonsense 2>&-", 2), ("symroof derive dot --format json >&- 2>&-", 0), ("symroof derive dot <&-", 0),
        ("symroof derive dot | head -1; exit ${PIPESTATUS[0]}", 0),
    ],
)  # fmt: skip
def test_streams_that_are_closed_or_full(command, code):
    done = shell(command, cwd=ROOT)
    assert done.returncode == code
    assert "Traceback" not in done.stderr
    assert "internal" not in done.stderr


@pytest.mark.thorough
def test_a_home_that_cannot_be_written(tmp_path):
    home = {**os.environ, "HOME": "/dev/null/none", "XDG_CACHE_HOME": "/dev/null/none", "TMPDIR": str(tmp_path)}
    assert shell("symroof derive dot --brief", env=home).returncode == 0
    pytest.importorskip("matplotlib")
    done = shell(f"symroof plot matmul --on tpu-v5e --at B=D=F=8 -o {tmp_path}/x.svg", env=home)
    assert done.returncode == 0
    assert "Traceback" not in done.stderr


OTHER_TYPES = """given = 3 --given=HBM=1e12; given = ["x"] --given=HBM=1e12; mesh = ["B"] --mesh=X=4; mesh = 3 --mesh=X=4
chips = 3 --on=tpu-v5e; lang = 3 --on=tpu-v5e; lang = ["ko"] --on=tpu-v5e; lang = "ko_KR" --on=tpu-v5e; lang = "../en" --on=tpu-v5e"""


@pytest.mark.parametrize("line", re.split(r"; |\n", OTHER_TYPES))
def test_options_of_other_types_beside_flags_are_errors(run, tmp_path, line):
    line, flag = line.rsplit(" ", 1)
    (tmp_path / "p.toml").write_text(f'operation = "matmul"\n{line}\n', "utf-8")
    refused(run("derive", str(tmp_path / "p.toml"), flag), line.split()[0])


CHIP = '[mine]\n[mine.figures]\n"peak.bf16" = ["1e14", "s"]\nHBM = ["1e12", "s"]\n[sources]\ns = { title = "A" }\n'


@pytest.mark.parametrize("suffix", [".md", ".toml"])
def test_a_file_names_chips_of_its_own_folder_alone(run, tmp_path, suffix):
    folder = tmp_path / "chapter"
    folder.mkdir()
    (tmp_path / "outside.toml").write_text(CHIP, "utf-8")
    (folder / "inside.toml").write_text(CHIP, "utf-8")
    (folder / "linked.toml").symlink_to(tmp_path / "outside.toml")
    path = folder / f"p{suffix}"

    def verified(chips, *flags):
        claim = 'operation = "matmul"\nhardware = "mine"\nclaims = ["ridge = 100"]'
        text = f'{claim}\nchips = ["{chips}"]\n'
        path.write_text(text if suffix == ".toml" else f"<!-- symroof\n{text}-->\n", "utf-8")
        return run("verify", str(path), *flags)

    assert verified("inside.toml").code == 0
    for chips in ("../outside.toml", str(tmp_path / "outside.toml"), "linked.toml", "/dev/zero"):
        done = verified(chips)
        assert done.code == (2 if suffix == ".toml" else 1)
        assert "is not in the folder of the file that names it" in " ".join((done.err + done.out).split())
    assert verified("../outside.toml", "--chips", str(tmp_path / "outside.toml")).code == 0


@pytest.mark.parametrize("claims", ["true", "3", "{ a = 1 }", "[3]", "[[]]"])
def test_claims_of_other_types_are_errors(run, tmp_path, claims):
    (tmp_path / "p.toml").write_text(f'operation = "matmul"\nclaims = {claims}\n', "utf-8")
    refused(run("verify", str(tmp_path / "p.toml")), "", code=(1, 2))
