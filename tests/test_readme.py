"""Every command of the README and of the documentation runs, and prints what is shown there."""

import re
import shlex
from importlib.metadata import version
from pathlib import Path

import pytest

from symroof.cli.references import CLAIMS, STATEMENTS
from symroof.reading.claims import read_claim
from symroof.reading.programs import read_program
from symroof.reading.scope import Scope

ROOT = Path(__file__).parent.parent
PAGES = sorted((*ROOT.glob("README*.md"), *(ROOT / "docs").glob("*.md")))
TEXTS = {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in PAGES}
README = TEXTS["README.md"]
COMMAND = re.compile(r"```console\n\$ symroof (.*?)\n(.*?)```", re.DOTALL)
BLOCKS = [(name, *block) for name, text in TEXTS.items() for block in COMMAND.findall(text)]


def test_there_are_commands():
    assert len(BLOCKS) >= 30
    assert len(COMMAND.findall(README)) >= 3
    assert len(README.splitlines()) <= 200


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("command", "shown"), [block[1:] for block in BLOCKS], ids=[f"{b[0]} {b[1][:30]}" for b in BLOCKS]
)
def test_command(run, command, shown):
    done = run(*shlex.split(command))
    assert done.out + done.err == shown


# The gallery, the pages that answer and the maps take as long as all others together.
LONG = {stem: [pytest.mark.thorough] for stem in ("figures", "live", "explore")}
CHECKED = [pytest.param(page, marks=LONG.get(page.stem, [])) for page in PAGES]


@pytest.mark.part(99)
@pytest.mark.parametrize("page", CHECKED, ids=lambda page: page.name)
def test_derivations_numbers_and_pictures_are_up_to_date(run, page):
    done = run("build", "--check", str(page))
    assert (done.code, done.out) == (0, "")


def test_the_first_command_is_the_first_example():
    options = '--on tpu-v5e --assume "B << D, F" --at D=F=8192'
    assert f"pip install '.[plot]' && symroof derive \"bf16[B, D] * bf16[D, F] -> bf16[B, F]\" {options}" in README
    assert "pip install -e '.[test]' && pytest" in README


@pytest.mark.parametrize("name", TEXTS)
def test_linked_files_exist(name):
    for link in re.findall(r"\]\((?!http)([^)#]+)(?:#[^)]*)?\)", TEXTS[name]):
        assert ((ROOT / name).parent / link).exists(), link


def test_every_page_of_the_documentation_is_in_its_contents():
    contents = (ROOT / "mkdocs.yml").read_text("utf-8")
    assert all(f"- {path.name}\n" in contents for path in PAGES if path.parent.name == "docs")


PROGRAM = """
mesh X, Y=4 on ICI
input x: bf16[B, D]; input t: bf16[B_X, D]; input s: bf16[B, S]; input i: bf16[N, P, C]; input e: bf16[E, c, D]
frozen weight W: bf16[D, F]
weight U: bf16[B, F]
cache C: bf16[B, S, D]
input q: bf16[B, T, H]; input k: bf16[B, S, H]; input f: bf16[B, T]; input aa: bf16[B, D]
where c = B*k/E
where k <= E
where S = T
where D = K*H
where H = 8
v = t -> bf16[B, D]
so = send(v, Y)
u = v -> bf16[B, K, H]
d = q * q[T -> Z] -> bf16[B, T, Z]
ff = f / sqrt(H)
n = sum(f, T)
fuse {
  g = q * k -> bf16[B, T, S] masked S <= T
  l = softmax(g, S)
}
h = x * W -> bf16[B, F]
a = gelu(h)
y = x + v
output a
block attention {
  fuse {
    p = softmax(s, S)
    o = p * C -> bf16[B, D]
  }
}
shared weight V: bf16[D, E]
where E = D
repeat L as y = z {
  m = y * V -> bf16[B, E]
  j = m -> bf16[B, D]
  z = y + j
}
recompute {
  dd = gelu(d)
}
accumulate M {
  bb = relu(aa)
}
repeat L over P as t = tt {
  tt = gelu(t)
}
input es: bf16[B]
scan S as es = ss {
  sh = s * es -> bf16[B]
  ss = sh + es
}
input fe: bf16[B]
repeat T as fe = to {
  fo = place(f, T)
  to = fo + fe
  po = collect(to, T)
}
ee = slice(x, D, 8)
cc = concat(a, m) -> bf16[B, G]
where G = F + E
cn = append(C, x, S)
w = windows(i) -> bf16[N, P, R, C]
r = relu(e)
b = a * U
"""


@pytest.mark.parametrize("text", [text for text, _ in STATEMENTS], ids=[text for text, _ in STATEMENTS])
def test_a_statement_of_the_reference_is_read(text):
    """It stands in a program that is read: input, weight and cache with names of their own."""
    named = text.replace("repeat L as x = z", "repeat L as y = z").replace("over P as x = z", "over P as t = tt")
    assert named.partition("{")[0].strip() in PROGRAM


def test_the_program_of_the_reference_is_read():
    assert len(read_program(PROGRAM).lines) == 32


@pytest.mark.parametrize("text", [text for text, _ in CLAIMS])
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
    for path in PAGES:
        if path.parent.name == "docs" and path.name != "index.md":
            assert "<h1" in (tmp_path / path.stem / "index.html").read_text("utf-8")
    framed = 0
    for page in tmp_path.rglob("index.html"):
        for frame in re.findall(r'<iframe [^>]*src="([^"]+)"', page.read_text("utf-8")):
            place = page.parent / frame
            assert (place / "index.html" if place.is_dir() else place).is_file(), f"{page}: {frame} leads nowhere"
            framed += 1
    assert framed >= 3
    assert "5074.9 tokens/s" in (tmp_path / "tutorial" / "index.html").read_text("utf-8")


EXPLORE = TEXTS["docs/explore.md"]
FIGURES = re.findall(r"^    symroof (plot .*) -o (\S+)$", EXPLORE, re.MULTILINE)


def test_there_is_a_figure_of_each_kind():
    assert len(FIGURES) == 5


@pytest.mark.part(2)
@pytest.mark.parametrize(("command", "picture"), FIGURES, ids=[picture for _, picture in FIGURES])
def test_figure(run, command, picture, tmp_path):
    """The commands draw the committed pictures: the same words at the same places, to a tenth of a point."""
    out = tmp_path / "figure.svg"
    assert run(*shlex.split(command), "-o", str(out)).code == 0
    drawn, committed = (places(path.read_text("utf-8")) for path in (out, ROOT / "docs" / picture))
    new = tuple(map(int, version("matplotlib").split(".")[:2])) >= (3, 10)  # older ones write and place text otherwise
    assert drawn == committed if new else {text for text, _ in committed} <= {text for text, _ in drawn} | {""}
    assert f"({picture})" in EXPLORE


def places(svg):
    return [
        (text, [round(float(x), 1) for x in re.findall(r"-?\d+\.?\d*", where)])
        for where, text in re.findall(r"<text [^>]*transform=\"([^\"]*)\"[^>]*>([^<]*)</text>", svg)
    ]
