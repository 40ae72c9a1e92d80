"""Every way into the package, with anything: an answer, or one error, soon, and no code that was in the text.

    python tests/fuzz_entrances.py --count 45000 --seed 1        # of each entrance
    python tests/fuzz_entrances.py --entrance claim --seconds 60

A finding is a traceback (of the library anything but a SymroofError, of the command anything but 0, 1 and 2), more
than two seconds, half a gigabyte more memory, or the file that evaluated code would have left.
"""

import argparse
import contextlib
import io
import json
import os
import random
import re
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import symroof as sr
from symroof.errors import SymroofError
from symroof.reading import keys

MATMUL = "bf16[B, D] * bf16[D, F] -> bf16[B, F]"
SECONDS, BYTES = 2.0, 1 << 29
CANARY = Path(tempfile.gettempdir()) / f"symroof-canary-{os.getpid()}"
CODE = [f"__import__('os').system('touch {CANARY}')", "{{ ''.__class__.__mro__[1].__subclasses__() }}", f"$(touch {CANARY})", "eval(1)", "B.__class__"]  # fmt: skip
STRANGE = ["", " ", "\n", "\t", "\x00", "\ufeff", "é", "필", "𝛼", "∞", "−", "·", "1" * 50, "9" * 5000, "1e9999", "1e999", "-1", "1e-400", "0", "oo", "nan", "(" * 60, "a." * 60, "[" * 60, '"', "'", "\\", "{", "}", "#", "%", "$", "`", "--", "=", ",", ";", "|", "..", "/", "~", "<!--"]  # fmt: skip


@dataclass(frozen=True)
class Entrance:
    """``ask`` takes a text; ``seeds`` are good inputs, ``pieces`` what they are made of."""

    ask: Callable[[str], object]
    seeds: tuple[str, ...]
    pieces: tuple[str, ...] = ()


def command(*before, after=()):
    """The command line in this process, with the text in one place of it."""
    from symroof.cli import main

    def ask(text):
        out, code = io.StringIO(), 0
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            try:
                main([*before, text, *after])
            except SystemExit as end:
                code = end.code or 0
        if "a bug in symroof" in out.getvalue() or code not in (0, 1, 2):
            raise AssertionError(out.getvalue()[-400:])

    return ask


def file_of(name, ask):
    def write(text):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / name
            path.write_text(text, "utf-8", "surrogateescape", newline="")
            return ask(str(path))

    return write


def derived(key):
    return lambda text: sr.derive(MATMUL, **{"on": "tpu-v5e", key: text})


def with_template(text):
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "page.md.j2").write_text(text, "utf-8", newline="")
        command("derive", "dot", "--format", "markdown", "--template", after=())(folder)


def settings(text):
    """A document, built with settings beside it."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "symroof.toml").write_text(text, "utf-8", "surrogateescape", newline="")
        (Path(folder) / "p.md").write_text(PAGE, "utf-8")
        command("build", "--stdout")(str(Path(folder) / "p.md"))


def json_of(text):
    """What is printed as JSON is JSON, whatever the title."""
    json.loads(sr.derive("dot", title=text).to_json())


PROBLEM = f'''title = "A"
operation = "{MATMUL}"
hardware = "tpu-v5e"
given = {{ HBM = "8.1e11 bytes/s", mfu = 0.4 }}
assume = ["B << D, F"]
at = [{{ D = 8192, F = 8192 }}]
let = {{ T_both = "T_math + T_comms" }}
claims = ["bytes = 2BD + 2DF + 2BF", {{ claim = "compute-bound when B > 240", expect = "holds" }}]
'''
CHIPS = """[sources]
sheet = { title = "A sheet", url = "https://example.org", date = "2026-01-01" }
[mine]
title = "Mine"
aliases = ["my chip"]
wraparound = 16
[mine.figures]
"peak.bf16" = ["1e14 FLOPs/s", "sheet"]
HBM = [["1e12 bytes/s", "sheet"], ["9e11", "sheet: measured"]]
"""
DOCUMENT = f'''# A chapter

<!-- symroof
operation = "{MATMUL}"
hardware = "tpu-v5e"
-->
FLOPs are $2BDF$ and bytes $2BD + 2DF + 2BF$, so that $$\\frac{{2BDF}}{{2BD + 2DF + 2BF}} \\approx B$$ for `B << D`.

| quantity | value |
|:--|:--|
| bytes | $2BD + 2DF$ |
'''
PROGRAMS = (
    "input x: bf16[B, D]; weight W: bf16[D, F]; weight U: bf16[F, D]; h = x*W -> bf16[B, F]; a = relu(h); y = a*U -> bf16[B, D]",
    "input x: bf16[B, D]; weight n: bf16[D]; repeat L as x = z { y = rms_norm(x, n); z = x + y }",
    "input q: bf16[B, T, H]; input k, v: bf16[B, S, H]; fuse { s = q*k -> bf16[B, T, S]; p = softmax(s, S); o = p*v -> bf16[B, T, H] }",
    "input x: bf16[E, c, D]; weight W: bf16[E, D, F]; where c = B*k/E; y = x*W -> bf16[E, c, F]",
)
MESHED = "mesh X=4 on NVLink; mesh Y=2 on InfiniBand; input x: bf16[B_Y, D_X]; weight W: bf16[D_X, F]; y = x*W -> bf16[B_Y, F]"
WORDS = ("input ", "weight ", "cache ", "output ", "where ", "repeat L ", "fuse {", "}", "; ", "\n", "x", "y", "h", ": ", "bf16[", "int8[", "B, D", "D, F", "]", " = ", " * ", " + ", " -> ", "relu(", "softmax(", ")", "_X", "# a\n", "^9", "3", "as x = z ", "rearrange(", "lookup(")  # fmt: skip
PAGE = "# A page\n\n<!-- symroof: derive\nid = 'm'\noperation = 'matmul'\nhardware = 'tpu-v5e'\n-->\n<!-- / -->\n\nThe ridge is <!-- symroof = m.ridge; 3 digits -->240<!-- / -->.\n"
NOTEBOOK = json.dumps(
    {
        "cells": [{"cell_type": "markdown", "metadata": {}, "source": PAGE.splitlines(keepends=True)}],
        "metadata": {},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
)
MATH = ("B", "D", "F", "2", "1.97e14", "240", "+", "-", "*", "/", "^", "(", ")", "max(", "sum(", "sqrt(", "limit(", "argmin(", ", ", " ", "T_math", "intensity", "flops")  # fmt: skip
RELATIONS = (" = ", " ~ ", " < ", " <= ", " > ", " >= ", " << ", " >> ", " -> ", " => ", " <=> ", " as ", " at ", " assuming ", "compute-bound when ", "never")  # fmt: skip
KEYS = (*keys.KEYS, " = ", "\n", "[[problem]]\n", "[a]\n", "{ X = 2 }", '["x"]', "3", "true", "1979-05-27", '"ICI"', "'''", "a.b.c = 1\n")  # fmt: skip

ENTRANCES = {
    "operation": Entrance(sr.operation, (MATMUL, "X * Y -> Z: bf16[B, D], bf16[D, F] -> bf16[B, F]", r"X[B, D] \cdot_D Y[D, F] \rightarrow Z[B, F]", 'einsum "bd,df->bf"', "matmul"), ("bf16", "int4", "[", "]", "B", "D_X", "4096", ", ", " * ", " . ", " @ ", " -> ", ":", "*_D", "einsum", '"')),
    "derive": Entrance(lambda text: sr.derive(text, on="tpu-v5e"), (MATMUL, "softmax", "int8[B, D] * int8[B, D, F] -> int8[B, F]"), ("bf16[", "fp8[", "B", "D", "1", "3", ", ", "]", " * ", " -> ")),
    "expression": Entrance(lambda text: sr.derive(MATMUL, let={"T_x": text}), ("T_math + T_comms", "2BDF/(B + D)", "max(B, D)^2"), MATH),
    "regime": Entrance(derived("assume"), ("B << D, F", "B ~~ D << F", "D = F = 8192", "D >= 8000", "N -> oo"), ("B", "D", "F", "8", *RELATIONS[:9], ", ", "oo", "2")),
    "figures": Entrance(lambda text: sr.derive("matmul", on="tpu-v5e", given={"HBM": text}), ("8.1e11 bytes/s", "3 TB/s", "8.1e11", "1/2"), ("8.1", "e11", "TB", "/s", " ", "FLOPs", "GiB", "kB", "us")),
    "sizes": Entrance(derived("at"), ("D=F=8192", "B=256,D=F=8192"), ("B", "D", "=", ",", "8192", "1.5", "0")),
    "mesh": Entrance(lambda text: sr.derive("bf16[B, D_X] * bf16[D_X, F] -> bf16[B, F]", on="tpu-v5e", mesh=text), ("X=2", "X=16 ring", "X=4,Y=2"), ("X", "Y", "=", "2", "16", " ring", " line", ",")),
    "link": Entrance(derived("link"), ("HBM", "ICI", "VMEM"), ("HBM", "ICI", ".", "bidirectional", "slow=2e11")),
    "unknown": Entrance(derived("solve_for"), ("B", "D", "n_heads"), ("B", "D", "_", "ridge", "2")),
    "count": Entrance(derived("count"), ("fma", "exact")),
    "dtype": Entrance(lambda text: sr.derive("matmul", dtype=text, compute=text), ("bf16", "int4", "fp8"), ("bf", "int", "fp", "8", "16", "e4m3")),
    "hardware": Entrance(derived("on"), ("tpu-v5e", "h100", "TPU v5p"), ("tpu", "-", "v5", "e", "h100", " ")),
    "toml": Entrance(file_of("p.toml", command("derive")), (PROBLEM,), KEYS),
    "flags": Entrance(file_of("p.toml", command("derive", after=("--mesh", "X=4", "--given", "HBM=1e12", "--assume", "B << D", "--at", "D=8192", "--link", "HBM"))), (PROBLEM, 'operation = "matmul"\nmesh = "X=2"\n'), KEYS),
    "problems": Entrance(file_of("p.toml", command("verify")), (PROBLEM, PROBLEM.replace("title", "[[problem]]\ntitle", 1)), KEYS),
    "claim": Entrance(lambda text: sr.verify({"operation": MATMUL, "hardware": "tpu-v5e", "claims": [text]}), ("intensity ~ B as B << D, F", "compute-bound when B > 240", "T_math = 2BDF/1.97e14", "3 * 4 = 12", "8 GiB = 8.6 GB"), (*MATH, *RELATIONS)),
    "latex": Entrance(lambda text: file_of("p.md", sr.verify)(f"$$ {text} $$"), (r"\frac{2BDF}{1.97 \times 10^{14}} \approx 3 \text{ ms}", r"\begin{aligned} a &= b \\ &= c \end{aligned}", r"\newcommand{\x}[1]{#1 \text{ GB}} 32,768 = \x{3} = \foo = 3 \cdot 4 \quad \text{batch size} = bsh", r"1 + 2 + \dots + N = \begin{cases} 1 & \text{if } N > 3 \\ |X| & \text{otherwise} \end{cases}", r"\frac{d}{dX} T_\text{a b}(X) = 7B \text{ parameters}"), (r"\frac", r"\text{", "{", "}", r"\cdot", r"\times", r"\\", "&", "_", "^", r"\sum_{i=1}^{N}", r"\left(", r"\right)", "B", "D", "2", "=", r"\approx", r"\begin{align}", r"\end{align}")),
    "markdown": Entrance(file_of("p.md", command("verify")), (DOCUMENT,), ("$", "$$", "`", "```\n", "\n\n", "<!-- symroof\n", "-->", "operation = 'dot'\n", "claims = ['1 = 1']\n", "|", "- ", "> ", "    ", "\\[", "\\]", "\\(", "<pre>", "{% raw %}", "---\n", "ignore")),
    "article": Entrance(file_of("p.tex", command("verify")), (DOCUMENT.replace("<!--", "%").replace("-->", ""), r"\begin{equation} 2 + 2 = 4 \end{equation}"), (r"\begin{equation}", r"\end{equation}", r"\begin{verbatim}", "% symroof: ", "$", "\\(", "\\)", "%", "\n\n", r"\newcommand{\x}{", "}")),
    "chips": Entrance(lambda text: file_of("c.toml", lambda path: sr.derive("matmul", on="mine", chips=path))(text), (CHIPS,), ("[chips.mine]\n", "[mine]\n", "aliases = 3\n", "sources = 3\n", "wraparound = 'no'\n", "figures = {}\n", "HBM = ", '"1e12 bytes/s"', "'peak.bf16' = 3\n", "\n", "[", "]")),
    "grid": Entrance(lambda text: command("sweep", "matmul", "--on", "tpu-v5e", "-o", os.devnull, "--grid")(text), ("B=1:4096:log, D=F=1024|4096", "B=1:10"), ("B", "D", "F", "=", ":", "|", "1", "4096", "log", ", ", "step")),
    "axes": Entrance(lambda text: sr.plot("matmul", on="tpu-v5e", at="D=F=4096", over=text), ("B=1..400", "B=1:4096:log"), ("B", "D", "=", "1", "400", "..", ":", "log", ",")),
    "quantity": Entrance(lambda text: sr.regimes(MATMUL, of=text), ("T_comms/T_math", "intensity ~ B", "BDF/(BD + DF + BF)"), (*MATH, " ~ ")),
    "template": Entrance(with_template, ("{{ page.title }}", "{% for b in page.blocks %}{{ b }}{% endfor %}"), ("{{", "}}", "{%", "%}", "page", ".title", "|", "for x in ", "range(10)", "import os", "include '/etc/passwd'", "extends", "__class__")),
    "record": Entrance(json_of, ("A title", "∞ & <b>")),
    "program": Entrance(lambda text: sr.derive(text, on="h100").to_json(), PROGRAMS, WORDS),
    "training": Entrance(lambda text: sr.derive(text, on="tpu-v5p", training=True).to_text(), PROGRAMS[:3], WORDS),
    "network": Entrance(lambda text: sr.derive(text, on="h100").to_text(), (MESHED, MESHED.replace("B_X", "B")), ("_X", "_Y", "_XY", "_YX", *WORDS)),
    "claims of a program": Entrance(lambda text: sr.verify({"operation": "mlp", "hardware": "h100", "claims": [text]}), ("flops(h) = 2BDF", "T_lower = max(T_math, T_HBM)", "compute-bound when B > 296 at D = F = 8192", "params = 2DF"), ("h", "y", "flops(", "T_math(", "T_steps", ")", *MATH, *RELATIONS)),
    "claims of a mesh": Entrance(lambda text: sr.verify({"operation": MESHED, "hardware": "h100", "claims": [text]}), ("sent(NVLink) = 3BF/2", "T_NVLink < T_InfiniBand", "T_math > T_NVLink <=> D > 100", "chips = 8"), ("sent(", "NVLink", "InfiniBand", ")", "_per_chip", *MATH, *RELATIONS)),
    "solve": Entrance(lambda text: sr.derive(MATMUL, on="tpu-v5e", solve=text, solve_for="B").to_text(), ("T_math > T_comms", "intensity = 100", "flops/bytes > ridge/2 + B"), (*MATH, *RELATIONS[:6], "T_comms", "ridge")),
    "minimize": Entrance(lambda text: sr.derive("fsdp-megatron", on="tpu-v5p", minimize=text, over="X").to_text(), ("max(T_X, T_Y)", "T_X + T_Y", "T_math + 2 T_X"), (*MATH, "T_X", "T_Y", "X", "Y")),
    "page": Entrance(file_of("p.md", command("build", "--stdout")), (PAGE,), ("<!-- symroof: ", "derive", "regimes", "plot", "-->", "<!-- / -->", "\n", "operation = ", "'matmul'", "file = 'x.svg'", "id = 'm'", "<!-- symroof = m.ridge -->", "hardware = 'h100'", "at = 'B=8'", "```", "$")),
    "notebook": Entrance(file_of("p.ipynb", command("build", "--stdout")), (NOTEBOOK,), ('"cells"', '"markdown"', '"code"', '"source"', "[", "]", "{", "}", ",", "<!-- symroof: derive", "-->", "\\n", '"nbformat": 4')),
    "settings": Entrance(settings, ('lang = "en"\ndialect = "github"\n', '[problem]\nhardware = "tpu-v5e"\n[looks]\nheading = 2\n'), KEYS),
    "plot of a program": Entrance(lambda text: sr.plot(text, on="h100", over="B=1..4096", at="D=4096,F=8192"), (PROGRAMS[0], "mlp"), WORDS),
    "live page": Entrance(lambda text: sr.page(text, on="h100", at="B=8").html, (PROGRAMS[0], "matmul", "bf16[B, D] * bf16[D, F] -> bf16[B, F]"), WORDS),
    "name": Entrance(command("operations"), ("dot", "matmul"), ("do", "t", "mat", "mul", "-")),
}  # fmt: skip


TOKEN = re.compile(r'"[^"\n]*"|\[[^\[\]]*\]|\{[^{}]*\}|\w+|[^\w\s]+')
VALUES = ("3", "-1", "1.5e400", "true", '""', '"x"', "[]", "[3]", '["x", 3]', "{}", "{ a = 1 }", "1979-05-27", "07:32:00", "[[1]]", "inf", "nan", "[{}]", "\"\\u0000\"")  # fmt: skip


def mutated(entrance, draw):
    """A good input, changed in a few places; or pieces in a row; or anything."""
    kind = draw.random()
    pool = [*entrance.pieces, *entrance.seeds]
    if kind < 0.25:
        return "".join(draw.choice(pool) for _ in range(draw.randrange(1, 14)))
    if kind < 0.3:
        return "".join(
            chr(draw.choice((draw.randrange(32, 127), draw.randrange(0xD7FF)))) for _ in range(draw.randrange(40))
        )
    text = draw.choice(entrance.seeds)
    if kind < 0.5:  # another token in place of one
        for _ in range(draw.choice((1, 1, 2))):
            token = draw.choice(list(TOKEN.finditer(text)) or [None])
            if token:
                text = text[: token.start()] + draw.choice((*pool, *VALUES, *STRANGE)) + text[token.end() :]
        return text
    for _ in range(draw.choice((1, 1, 2, 4))):
        start = draw.randrange(len(text) + 1)
        stop = min(len(text), start + draw.choice((0, 0, 1, 2, 8)))
        filling = draw.choice(
            (draw.choice(pool), draw.choice(pool), draw.choice(STRANGE), draw.choice(CODE), "", text[start:stop] * 2)
        )
        text = text[:start] + filling + text[stop:]
    return text


HANGS = 30  # seconds


def _hangs(*_):
    raise TimeoutError(f"more than {HANGS} seconds")


def finding(entrance, text):
    """What is wrong with how a text is taken; None where nothing is."""
    signal.signal(signal.SIGALRM, _hangs)
    signal.alarm(HANGS)
    started, before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        entrance.ask(text)
    except SymroofError as error:
        if not str(error):
            return "an error without a message"
    except BaseException as error:
        return f"{type(error).__name__}: {str(error)[:300]}"
    finally:
        signal.alarm(0)
    if CANARY.exists():
        CANARY.unlink()
        return "the text was evaluated as code"
    if (seconds := time.process_time() - started) > SECONDS:
        return f"{seconds:.1f} seconds"
    if (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 > BYTES:
        return "the process has grown by half a gigabyte"
    return None


def findings(name, seed, count, seconds=float("inf")):
    """The texts at an entrance that are findings, and how many were tried."""
    draw, found, stop = random.Random(f"{name} {seed}"), [], time.monotonic() + seconds
    tried = 0
    while tried < count and time.monotonic() < stop and len(found) < 20:
        text = mutated(ENTRANCES[name], draw)
        tried += 1
        problem = finding(ENTRANCES[name], text)
        if problem is not None:
            found.append((text, problem))
    return found, tried


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entrance", action="append", choices=list(ENTRANCES))
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="for each entrance")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    total = bad = 0
    for name in options.entrance or ENTRANCES:
        found, tried = findings(name, options.seed, options.count, options.seconds)
        total, bad = total + tried, bad + len(found)
        print(f"{name:12} {tried:8} inputs, {len(found)} findings", flush=True)
        for text, problem in found:
            print(f"    {text[:200]!r}\n        {problem}", flush=True)
    print(f"{total} inputs at {len(options.entrance or ENTRANCES)} entrances, {bad} findings")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
