"""Pages fit where they are read: terminals of any width, sheets of paper, phones."""

import re

import pytest
from render.portable import formulas

import symroof as sr
from symroof.rendering.pages.terminal import LINKS, SHORT, fold, glue, table, unglue

pytestmark = pytest.mark.part(2)

MATMUL = "bf16[B, D] * bf16[D, F] -> bf16[B, F]"
SPLIT = "bf16[B, D_X] * bf16[D_X, F] -> bf16[B, F]"
ATTENTION = "bf16[B, T, N, H] * bf16[B, S, N, H] -> bf16[B, N, T, S]"
WORDS = "bf16[BatchSize, ModelDim] * bf16[ModelDim, HiddenDim] -> bf16[BatchSize, HiddenDim]"
LINK = {"on": "tpu-v5e", "mesh": {"X": 2}, "link": "ICI"}
AT_SIZES = {"assume": "B << D, F", "at": "D=F=8192"}
ANSWERS = {
    "derive": lambda: sr.derive(MATMUL, on="tpu-v5e", **AT_SIZES),
    "derive, exact": lambda: sr.derive(MATMUL, on="h100-sxm", count="exact", **AT_SIZES),
    "derive, symbolic": lambda: sr.derive(MATMUL),
    "derive, over a link": lambda: sr.derive(SPLIT, **LINK, solve_for="D", at="B=1024,F=8192"),
    "derive, attention": lambda: sr.derive(ATTENTION, on="tpu-v5e", at="T=S=4096, H=128"),
    "derive, softmax": lambda: sr.derive("softmax", on="tpu-v5e"),
    "derive, words": lambda: sr.derive(WORDS, on="tpu-v5e", assume="BatchSize << ModelDim, HiddenDim"),
    "regimes": lambda: sr.regimes(MATMUL, on="tpu-v5e", at="B=256,D=F=8192"),
    "regimes, attention": lambda: sr.regimes(ATTENTION, on="tpu-v5e", at=["H=128", "H=256"]),
    "regimes, words": lambda: sr.regimes(WORDS, on="tpu-v5e"),
    "regimes of an approximation": lambda: sr.regimes(of="BDF/(BD + DF + BF) ~ B"),
    "compare": lambda: sr.compare(MATMUL, on="tpu-v5e, tpu-v5p, h100", **AT_SIZES),
    "compare, dtypes": lambda: sr.compare(MATMUL, on="tpu-v5e, h100", dtypes="bf16, int8", **AT_SIZES),
    "compare, words": lambda: sr.compare(WORDS, on="tpu-v5e, h100", at="ModelDim=HiddenDim=8192"),
}


def links(formula: str) -> list[str]:
    """The pieces of a formula that may each stand on a line of their own."""
    return LINKS.split(formula)


@pytest.fixture(scope="module")
def answer():
    made = {}
    return lambda name: made.setdefault(name, ANSWERS[name]() if name not in made else made[name])


@pytest.mark.parametrize("width", [60, 80, 96, 120])
@pytest.mark.parametrize("name", ANSWERS)
def test_no_line_is_wider_than_the_terminal(name, width, answer):
    for brief in (False, True):
        lines = answer(name).to_text(width=width, brief=brief).splitlines()
        assert [line for line in lines if len(line) > width] == []


@pytest.mark.thorough
@pytest.mark.parametrize("width", [60, 80, 96, 120])
@pytest.mark.parametrize("name", ANSWERS)
def test_no_formula_is_broken_inside_a_link(name, width, answer, monkeypatch):
    """Every link that was set with a typesetter stands whole on a line, unless it is longer than the room for it."""
    from symroof.rendering.pages import terminal, typesetting

    set_formulas = []
    kept = terminal.glue

    def spy(formula):
        set_formulas.append(formula)
        return kept(formula)

    monkeypatch.setattr(terminal, "glue", spy)
    monkeypatch.setattr(typesetting, "glue", spy)
    text = answer(name).to_text(width=width)
    whole = re.sub(r"\s+", " ", text)
    lines = [re.sub(r" +", " ", line) for line in text.splitlines()]
    broken = []
    for formula in set_formulas:
        for link in links(formula) if len(formula) > SHORT else [formula]:
            link = re.sub(r" +", " ", link.strip())
            if len(link) <= width - 22 and link in whole and not any(link in line for line in lines):
                broken.append(link)
    assert broken == []


def test_the_test_of_links_can_fail(answer, monkeypatch):
    from symroof.rendering.pages import terminal

    monkeypatch.setattr(terminal, "glue", lambda formula: formula)
    lines = fold("intensity is BDF/(BD + DF + BF) here", 24)
    assert not any("BDF/(BD + DF + BF)" in line for line in lines)
    assert any("BDF/(BD + DF + BF)" in line for line in fold(f"intensity is {glue('BDF/(BD + DF + BF)')} here", 24))


@pytest.mark.thorough
def test_a_wide_table_is_cut_between_columns_and_says_everything(answer):
    wide, narrow = (answer("compare").to_text(width=width) for width in (120, 60))
    assert set(re.findall(r"[\w./()>+]+", unglue(narrow))) >= set(re.findall(r"[\w./()>+]+", unglue(wide)))
    assert narrow.count("TPU v5p") > wide.count("TPU v5p") == 1


@pytest.mark.parametrize("width", range(16, 64))
def test_columns_of_a_table_keep_their_heads_whole_where_there_is_room(width):
    """Counted by hand: a column is as wide as its head or cell, and two spaces stand between two columns."""
    names = ("chip", "one longest", "two longest", "three longest")
    parts = "\n".join(table(names, [("a", "1", "2", "3")], width=width)).split("\n\n")
    assert [line for part in parts for line in part.split("\n") if len(line) > width] == []
    for part in parts:
        columns = [name for name in names if name.split()[0] in part]
        whole = all(name in part.split("\n")[0] for name in columns)
        assert whole == (sum(map(len, columns)) + 2 * (len(columns) - 1) <= width)
    shown = [name for part in parts for name in names[1:] if name.split()[0] in part]
    assert shown == list(names[1:])


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["derive", "regimes", "compare"])
def test_the_commands_use_the_same_signs(name, answer):
    signs = {"<<": "≪", "->": "→", "<=": "≤", ">=": "≥", "oo": "∞"}
    shown, ascii_only = answer(name).to_text(), answer(name).to_text(unicode=False)
    assert ascii_only.isascii()
    assert "≪" in shown
    body = shown.split("\n", 1)[1]
    for sign in signs:
        assert f" {sign} " not in body.replace("--assume", ""), sign


@pytest.mark.thorough
def test_colour_means_a_heading_or_a_verdict(run):
    bold = re.findall(r"\x1b\[(\d+)m(.*?)\x1b\[0m", run("derive", MATMUL, "--on", "tpu-v5e", "--color", "always").out)
    assert {code for code, _ in bold} == {"1"}
    assert {"Count the work.", "Divide.", "Compare with the machine.", "Solve for B.", "Bound the time."} <= {
        text for _, text in bold
    }
    assert not any("BF(" in text for _, text in bold[1:])
    coloured = run("verify", "-v", "--color", "always", "examples/answers.toml").out
    verdicts = {(code, text.strip()) for code, text in re.findall(r"\x1b\[(\d+)m(.*?)\x1b\[0m", coloured)}
    assert verdicts == {("32", "holds"), ("31", "wrong")}
    assert "\x1b[" in run("regimes", MATMUL, "--color", "always").out


def test_no_colour_in_a_file(run, tmp_path):
    target = tmp_path / "page.txt"
    run("derive", "dot", "--color", "always", "-o", str(target))
    assert "\x1b" not in target.read_text("utf-8")


@pytest.mark.parametrize("name", ANSWERS)
def test_a_chain_of_fractions_goes_over_lines_on_a_phone(name, answer):
    for formula, display in formulas(answer(name).to_markdown()):
        if display:
            for line in formula.split("\\\\\n"):
                sides = [side for side in re.split(r" &?(?:=|\\approx|\\iff) ", line) if side.startswith(r"\frac")]
                assert len(sides) < 3, line


LONG_NAMES = {
    "matmul": (WORDS, {"on": "tpu-v5e", "assume": "BatchSize << ModelDim, HiddenDim", "at": "ModelDim=HiddenDim=8192"}),
    "matmul, symbolic": (WORDS, {}),
    "subscripts": ("bf16[batch, d_model] * bf16[d_model, n_kv_heads] -> bf16[batch, n_kv_heads]", {"on": "tpu-v5e"}),
    "attention": ("bf16[BatchSize, Queries, NumHeads, HeadDim] * bf16[BatchSize, Keys, NumHeads, HeadDim] -> bf16[BatchSize, NumHeads, Queries, Keys]", {"on": "tpu-v5e"}),
    "over a link": ("bf16[BatchSize, ModelDim_X] * bf16[ModelDim_X, HiddenDim] -> bf16[BatchSize, HiddenDim]", {"on": "tpu-v5e", "mesh": {"X": 4}, "link": "ICI"}),
    "one letter beside words": ("bf16[B, ModelDimension] * bf16[ModelDimension, BatchedHeads] -> bf16[B, BatchedHeads]", {"on": "h100-sxm", "count": "exact"}),
    "short names": (MATMUL, {"on": "tpu-v5e", **AT_SIZES}),
    "attention in letters": (ATTENTION, {"on": "tpu-v5p"}),
    "softmax": ("softmax", {"on": "tpu-v5e"}),
}  # fmt: skip


def test_long_names_are_given_letters_that_are_said_once():
    page = sr.derive(WORDS, on="tpu-v5e").to_latex()
    assert r"\text{BatchSize}" not in page
    assert r"With $B$ = \texttt{BatchSize}, $H$ = \texttt{HiddenDim}, $M$ = \texttt{ModelDim}." in page
    assert r"\texttt{B}" not in sr.derive(MATMUL, on="tpu-v5e").to_latex()


def test_long_names_with_one_initial_get_letters_of_their_own():
    page = sr.derive("bf16[BatchSize, Buckets] * bf16[Buckets, Blocks] -> bf16[BatchSize, Blocks]").to_latex()
    letters = dict(re.findall(r"\$(\w+)\$ = \\texttt\{(\w+)\}", page))
    assert sorted(letters.values()) == ["BatchSize", "Blocks", "Buckets"]


def test_where_both_take_the_same_time_neither_bounds_the_operation():
    """At B = D = F = 6 the intensity is 6^3/(3*6^2) = 2, and the chip does 2 FLOPs while it reads a byte."""
    d = sr.derive("matmul", on={"peak": 2, "HBM": 1}, at="B=D=F=6")
    assert "ridge 2: balanced" in d.to_text(brief=True)
    assert "ridge $2$: balanced" in d.to_markdown(brief=True) or "$2$; $2$: balanced"
