"""Inputs that hurt: large, deep, endless, or made to be slow. Each ends soon, in one error or in an answer."""

import contextlib
import os
import re
import resource
import subprocess
import sys
import time

import pytest

from symroof.errors import SymroofError
from symroof.reading.documents import read_text
from symroof.reading.toml import read_table


def ended(*arguments, seconds=20, gigabytes=2):
    """The command in a process of its own, with bounds on its time and memory."""
    size = gigabytes << 30
    return subprocess.run(
        [sys.executable, "-m", "symroof", *arguments], capture_output=True, text=True, timeout=seconds,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (size, size)),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (".".join("a" * 50_000) + " = 1", "more than 16 parts"),
        ("[" + ".".join("a" * 50_000) + "]", "more than 16 parts"),
        (".".join(['"a"'] * 30_000) + " = 1", "more than 16 parts"),
        ("given = { " + " . ".join(["'a'"] * 20) + " = 1 }", "more than 16 parts"),
        ("x = " + "9" * 5000, "1000 characters"),
        ("x = " + "9_" * 5000 + "9", "1000 characters"),
        ("x = 0x" + "f" * 5000, "1000 characters"),
        ("a = " + "[" * 5000 + "]" * 5000, "not TOML"),
        ("\n".join(f"k{i} = 1" for i in range(60_000)), "60000 keys"),
        ("a = '''" + "x" * 1_100_000 + "'''", "1100010 characters"),
    ],
    ids=["dots", "header", "quoted", "inline", "digits", "underscores", "hexadecimal", "brackets", "keys", "size"],
)
def test_a_table_beyond_bounds_is_refused_before_it_is_parsed(text, words):
    started = time.process_time()
    with pytest.raises(SymroofError, match=words):
        read_table(text, "a problem")
    assert time.process_time() - started < 2


def test_what_stands_in_strings_and_comments_is_not_counted():
    text = f'a = "{"a." * 100}" # {"b." * 100}\nc = [{", ".join(["1.5"] * 40)}]\nd = """{"=" * 60_000}"""\ne = "{"7" * 2000}"'
    assert read_table(text, "a problem")["c"] == ["1.5"] * 40


def test_devices_and_pipes_are_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe.md")
    for path in (str(tmp_path / "pipe.md"), "/dev/zero"):
        done = ended("verify", path)
        assert done.returncode == 2
        assert "is a device or a pipe" in done.stderr
    (tmp_path / "d.md").write_text('<!-- symroof\nchips = ["/dev/zero"]\noperation = "matmul"\nhardware = "tpu-v5e"\n-->\n$1 = 1$\n')
    assert ended("verify", str(tmp_path / "d.md")).returncode == 2
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


@pytest.mark.parametrize("line", ["aliases = 3", 'aliases = "mine"', "aliases = [3]", 'wraparound = "no"', "wraparound = true", "wraparound = 0", "title = 3", "figures = 3", "sources = 3"])
def test_a_chip_of_other_types_is_an_error_with_its_place(run, tmp_path, line):
    key = line.split()[0]
    figures = "" if key == "figures" else '[mine.figures]\n"peak.bf16" = ["1e14", "s"]\nHBM = ["1e12", "s"]\n'
    (tmp_path / "c.toml").write_text(f'[mine]\n{line}\n{figures}[sources]\ns = {{ title = "A" }}\n', "utf-8")
    done = run("derive", "matmul", "--on", "mine", "--chips", str(tmp_path / "c.toml"))
    assert done.code == 2
    assert "internal" not in done.err
    assert key in done.err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<< ''.__class__.__mro__ >>", "unsafe"),
        ("<< pen.inline.__func__.__globals__ >>", "unsafe"),
        ("<< page.nothing >>", "nothing"),
        ("<< 1 + 'a' >>", "TypeError"),
        ("<< 1 / 0 >>", "ZeroDivisionError"),
        ("<% include '../secret.j2' %>", "leads out of|no template"),
        ("<% include 'linked.j2' %>", "leads out of"),
        ("<% for x in range(10 ** 9) %>x<% endfor %>", "ange"),
        ("<< nonsense", "template"),
    ],
)
def test_a_template_of_ones_own_runs_in_a_sandbox(run, tmp_path, text, words):
    (tmp_path / "secret.j2").write_text("the secret", "utf-8")
    own = tmp_path / "own"
    own.mkdir()
    (own / "linked.j2").symlink_to(tmp_path / "secret.j2")
    (own / "page.md.j2").write_text(text, "utf-8")
    done = run("derive", "dot", "--format", "markdown", "--template", str(own))
    assert done.code == 2
    assert re.search(words, done.err)
    assert "internal error" not in done.err
    assert "secret" not in done.out


def test_a_template_without_its_macros_is_an_error(run, tmp_path):
    (tmp_path / "prose.j2").write_text("", "utf-8")
    done = run("derive", "dot", "--format", "markdown", "--template", str(tmp_path))
    assert done.code == 2
    assert "has no macro" in done.err
