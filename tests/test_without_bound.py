"""Whatever two kilobytes ask is answered or refused within two seconds of quiet processor time and half a gigabyte; and what is
a fault of ours ends with exit code 3."""

import json
import os
import random
import string
import subprocess
import sys
import time
from itertools import combinations, product

import pytest

import symroof as sr
from symroof.cli import main
from symroof.errors import CheckError, SymroofError
from symroof.proof.exchange_plans import are_disjoint

# Seconds of processor time, on a machine that does something else beside.
MOST, HALF = 4, 500_000


def seconds(ask):
    """The processor time that a request takes, answered or refused; a fault of ours is neither."""
    begun = time.process_time()
    try:
        ask()
    except CheckError:
        raise
    except SymroofError:
        pass
    return time.process_time() - begun


def mesh(axes):
    names = "".join(axes)
    shapes = f"input x: bf16[B, D_{names}]; input W1: bf16[D_{names}, F]; y = x * W1 -> bf16[B, F]"
    return f"mesh {', '.join(axes)} on ICI; {shapes}"


def dimensions(count):
    every = [a + b for a, b in product(string.ascii_uppercase, string.digits + "xyz")][:count]
    left, right = every[: 2 * count // 3], every[2 * count // 3 - 1 :]
    kept = [name for name in every if name != right[0]]
    return f"bf16[{','.join(left)}] * bf16[{','.join(right)}] -> bf16[{','.join(kept)}]"


def document(text):
    def ask(tmp_path):
        path = tmp_path / "signs.md"
        path.write_text(text, "utf-8")
        return sr.verify(path)

    return ask


POWERS = "a^6 + b^6 + c^6 + d^6 + e^6 + f^6 >= 6*a*b*c*d*e*f"
REQUESTS = {
    **{f"signs {sign}": document(f"Text {sign * 5000} end") for sign in "<=>≤~"},
    "signs and digits": document("Text " + "< 1 " * 1200),
    "mesh of 8 axes": lambda _: sr.derive(mesh("XYZUVWPQ")),
    "mesh of 6 axes": lambda _: sr.derive(mesh("QPWVUZ")),
    "300 dimensions": lambda _: sr.derive(dimensions(300)),
    "60 dimensions": lambda _: sr.derive(dimensions(60)),
    "powers": lambda _: sr.verify({"let": {"x": "1"}, "claims": [POWERS]}),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_no_request_is_without_bound(name, tmp_path):
    assert seconds(lambda: REQUESTS[name](tmp_path)) < MOST


def test_boxes_are_apart_where_no_two_overlap():
    """The linear way beside every pair."""
    drawn = random.Random(7)

    def overlap(one, other):
        return all(one[pair] & other[pair] for pair in one.keys() & other.keys())

    seen = set()
    for _ in range(3000):
        pairs, size = [("D", axis) for axis in "XYZ"[: drawn.randint(1, 3)]], drawn.choice([2, 3])
        boxes = [
            {
                pair: drawn.randint(1, 2**size - 1) if drawn.random() < 0.4 else 1 << drawn.randrange(size)
                for pair in pairs
                if drawn.random() < 0.85
            }
            for _ in range(drawn.randint(1, 4))
        ]
        expected = not any(overlap(one, other) for one, other in combinations(boxes, 2))
        assert are_disjoint(boxes, pairs) == expected, boxes
        seen.add(expected)
    assert seen == {True, False}


FIGURE = """<!-- symroof plot
id = 'f{i}'
operation = 'matmul'
hardware = 'tpu-v5e'
over = 'B=1..{most}'
at = 'D=F=4096'
-->
"""


def test_a_page_with_fifteen_figures_is_built_in_half_a_gigabyte(tmp_path):
    """As the command of the shell builds it; what it held at most stands in its status, without what its parent held."""
    path = tmp_path / "figures.md"
    path.write_text("\n".join(FIGURE.format(i=i, most=100 + i) for i in range(15)), "utf-8")
    command = "import sys; from symroof.cli import main\ntry: main(sys.argv[1:])\nexcept SystemExit: pass\n"
    shell = "import gc; from symroof.cli import SELDOM; gc.set_threshold(SELDOM)\n" + command
    said = "print(*(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))"
    done = subprocess.run([sys.executable, "-c", shell + said, "build", str(path)], capture_output=True, text=True)
    assert "symroof block" not in done.stderr
    assert path.read_text("utf-8").count("f14") > 1  # it was built
    assert int(done.stdout.split()[-1]) < HALF


@pytest.mark.parametrize("suffix", [".md", ".toml", ".tex"])
@pytest.mark.parametrize("verb", ["verify", "build", "derive"])
def test_a_link_that_points_to_itself_cannot_be_read(verb, suffix, tmp_path, capsys):
    path = tmp_path / f"loop{suffix}"
    os.symlink(path.name, path)
    with pytest.raises(SystemExit) as end:
        main([verb, str(path)])
    assert end.value.code == 2
    assert "a bug in symroof" not in capsys.readouterr().err


@pytest.mark.parametrize("fault", [CheckError("a step was refuted"), KeyError("T"), RuntimeError("two\nlines")])
def test_a_fault_of_ours_is_exit_code_3_with_the_request(fault, monkeypatch, capsys):
    """Whatever it is, in two lines: that it is ours, and what was asked."""
    monkeypatch.delenv("SYMROOF_TRACEBACK", raising=False)
    monkeypatch.setattr("symroof.api.deriving.derive", lambda *_, **__: (_ for _ in ()).throw(fault))
    monkeypatch.setattr("symroof.cli.question_commands.derive.callback", lambda **_: (_ for _ in ()).throw(fault))
    with pytest.raises(SystemExit) as end:
        main(["derive", "matmul", "--at", "B=64, D=F=1"])
    lines = capsys.readouterr().err.splitlines()
    assert end.value.code == 3
    assert lines[0].startswith("symroof: a bug in symroof, please report: ")
    assert lines[1:] == ["  symroof derive matmul --at 'B=64, D=F=1'"]


TREE = "mesh X=1024 on NVLink(8)/leaf(32)/spine; input A: int8[V_X]; o = A -> int8[V]"
GIVEN = {"leaf": "50e9", "spine": "50e9"}
# Right requests that were refused.
ANSWERED = {
    "ratio over a tree": (TREE, {"on": "h100", "given": GIVEN, "let": {"q": "V/T_lower"}}),
    "the inverse of it": (TREE, {"on": "h100", "given": GIVEN, "let": {"q": "T_lower/V", "r": "q*2"}}),
    "hops on a line": (
        "mesh Y on ICI line; input A: int8[B, D_Y]; o = A -> int8[B, D]",
        {"latency": True, "on": "tpu-v5e", "solve": "T_Y(o) <= T_hops(o)", "solve_for": "Y"},
    ),
    "a link without a memory": (
        "int8[B, D_X] * int8[D_X, F] -> int8[B, F]",
        {"mesh": "X=2", "given": {"peak": "4e14", "ICI": "9e10"}, "link": "ICI", "at": {"B": 64, "D": 8192, "F": 8192}},
    ),
    "rearrange alone": ("input x: fp32[N]; y = rearrange(x) -> fp32[N]", {}),
    **{
        f"{function} over a number": (f"input x: fp32[N, 8]; y = {function}(x, 8)", {})
        for function in ("sum", "mean", "max", "softmax", "rms_norm")
    },
}


@pytest.mark.parametrize("name", ANSWERED)
def test_what_is_right_is_answered(name):
    text, options = ANSWERED[name]
    for form in ("to_text", "to_json", "to_latex"):
        assert getattr(sr.derive(text, **options), form)()


@pytest.mark.parametrize("operation", ["matmul", "dot", "attention-decode", "axpy"])
@pytest.mark.parametrize("name", ["T_HBM", "T_comms", "T_lower", "bytes"])
def test_a_name_for_a_quantity_is_that_quantity_at_sizes(operation, name):
    sizes = dict.fromkeys(sr.derive(operation).setting.problem.names, 64)
    derived = sr.derive(operation, on="tpu-v5e", at=sizes, let={"q": name})
    assert derived.value("q") == derived.value(name)


@pytest.mark.parametrize("operation", ["quantized-matmul", "matmul", "moe", "gated-mlp", "routed-experts"])
def test_regimes_of_programs_of_the_library_answer(operation):
    """Also where a leading form is a size that others define."""
    assert sr.regimes(operation, on="tpu-v5e").to_text()


def test_twelve_blocks_that_are_made_again_have_a_record():
    lines = [
        f"recompute {{ h{i} = {f'y{i - 1}' if i else 'x'} * W{i} -> bf16[B, F]; a{i} = gelu(h{i}); y{i} = a{i} * V{i} -> bf16[B, D] }}"
        for i in range(12)
    ]
    weights = "; ".join(f"weight W{i}: bf16[D, F]; weight V{i}: bf16[F, D]" for i in range(12))
    text = f"input x: bf16[B, D]; {weights}; repeat L as x = y11 {{ {'; '.join(lines)} }}"
    assert json.loads(sr.derive(text, on="h100", training=True).to_json())["answer"]


def test_a_link_without_a_memory_has_the_bound_that_it_has_beside_one():
    """The figure of the memory changes nothing of what is asked about the link, and no time is said that needs it."""
    text, options = ANSWERED["a link without a memory"]
    alone, beside = (
        json.loads(sr.derive(text, **options | {"given": options["given"] | more}).to_json())["answer"]
        for more in ({}, {"HBM": "8e11"})
    )
    assert alone["threshold"] == beside["threshold"]
    assert alone["at"][0]["intensity"] == beside["at"][0]["intensity"]
    assert not alone["at"][0]["times"]
    assert beside["at"][0]["times"]


PARTS = ("lanes", "rows", "columns", "units", "slots", "clock", "cores")


def test_parts_that_the_list_of_chips_prints_are_names_in_formulas():
    """Of every chip that has them; a size of the same name is the size."""
    seen = set()
    for name, chip in sr.list_chips().items():
        if {"HBM"} <= chip.figures.keys():
            for part in {*PARTS} & {*chip.parts}:
                derived = sr.derive(
                    "bf16[B, D] * bf16[D, F] -> bf16[B, F]",
                    on=name,
                    at="B=D=F=64",
                    given={"peak": "1e14"},
                    let={"q": f"2*{part}"},
                )
                assert derived.value("q") == 2 * chip.parts[part].value
                seen.add(part)
    assert {"rows", "columns", "units"} <= seen
    own = sr.derive(
        "bf16[rows, D] * bf16[D, F] -> bf16[rows, F]", on="tpu-v5e", at="rows=5,D=F=64", let={"q": "2*rows"}
    )
    assert own.value("q") == 10
    named = sr.derive("matmul", on="tpu-v5e", at="B=D=F=64", let={"rows": "3*B", "q": "2*rows"})
    assert named.value("q") == 6 * 64


@pytest.mark.parametrize(
    ("asked", "cure"),
    [
        ({"operation": "moe", "at": "B=1,k=2,E=8,D=64,F=64"}, "min(E, B*k)"),
        ({"operation": "moe", "at": "B=3,k=1,E=64,D=64,F=64"}, "E = 3"),
        ({"operation": "fft", "flops": "5*N*log2(N)", "reads": "8*N", "writes": "8*N"}, "a size for the logarithm"),
    ],
)
def test_a_refusal_says_what_to_do(asked, cure):
    with pytest.raises(SymroofError) as refusal:
        sr.derive(asked)
    assert cure in str(refusal.value)
