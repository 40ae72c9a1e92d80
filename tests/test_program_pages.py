"""Pages of programs: what they say of each statement is what the program does, they fit, and they read back."""

import re
from dataclasses import replace
from itertools import product
from math import prod
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st
from texts import ATTENTION, LAYERS, MLP

import symroof as sr
from symroof.derivation.pipeline import first_draft
from symroof.errors import CheckError, ReadingError, SymroofError
from symroof.formula import Name, Sum, nodes, number, product as times
from symroof.model.program import Program
from symroof.proof.check import check
from symroof.proof.program_recounts import DotProducts, ElementwiseWork, StatementTraffic
from symroof.proof.step import Reason, Step
from symroof.reading.expressions import read_expression
from symroof.reading.name_scope import Scope
from symroof.reading.problems import read_problem
from symroof.rendering.formulas.tex import FoldingPrinter, LatexPrinter, in_line, rows_of, text_breadth
from symroof.rendering.pages.page import PHONE
from symroof.symbols import exactly, expression

pytestmark = pytest.mark.part(2)
ROOT = Path(__file__).parent.parent

PROGRAMS = {"mlp": MLP, "attention": ATTENTION, "layers": LAYERS}


@pytest.fixture(scope="module", params=["mlp", "attention", pytest.param("layers", marks=pytest.mark.thorough)])
def derived(request):
    return sr.derive(PROGRAMS[request.param], on="tpu-v5e")


@pytest.mark.thorough
def test_what_stays_on_the_chip_is_what_nobody_reads_from_memory():
    """The facts of the pages against the text of the program: a tensor is loaded by name, or it was kept or found."""
    steps = sr.derive(LAYERS, on="tpu-v5e").steps
    moves = {step.left.name[6:-1]: step.facts for step in steps if isinstance(step.facts, StatementTraffic)}
    loaded = {name for facts in moves.values() for name in facts.loaded}
    kept = {name for facts in moves.values() for name in facts.kept}
    assert kept == {"s", "p", "u", "h", "g", "y"}
    assert loaded.isdisjoint(kept)
    assert moves["o"].found == ("p",)


def forged(facts):
    """Facts that say something else than the step does."""
    match facts:
        case DotProducts(outputs=outputs, length=length, turns=turns):
            yield replace(facts, outputs=length)
            yield replace(facts, length=outputs)
            yield replace(facts, turns=None if turns else Name("L"))
            yield replace(facts, turns=Sum((turns or number(1), number(1))))
        case ElementwiseWork(applied=applied):
            yield replace(facts, applied=applied[1:])
            yield replace(facts, applied=(*applied, applied[0]))
            yield replace(facts, applied=(replace(applied[0], each=number(17)), *applied[1:]))
        case StatementTraffic(loaded=loaded, stored=stored, kept=kept):
            yield replace(facts, loaded=(*loaded, "elsewhere"))
            yield replace(facts, loaded=loaded[1:])
            yield replace(facts, stored=(*stored, "elsewhere"))
            yield replace(facts, kept=(*kept, "elsewhere"))
            yield replace(facts, found=("elsewhere",))


@pytest.mark.thorough
def test_facts_that_the_program_does_not_show_are_refused(derived):
    ledger = first_draft(derived.setting.problem).ledger
    told = [step for step in derived.steps if isinstance(step.facts, DotProducts | ElementwiseWork | StatementTraffic)]
    assert {type(step.facts) for step in told} == {DotProducts, ElementwiseWork, StatementTraffic}
    for step in derived.steps:
        if step in told:
            for facts in forged(step.facts):
                if facts != step.facts:
                    with pytest.raises(CheckError, match="its facts say something else"):
                        check(replace(step, facts=facts), ledger)
        check(step, ledger)


@pytest.mark.parametrize("width", [60, 80, 96])
@pytest.mark.parametrize("lang", ["en", "ko", "zh"])
def test_a_terminal_is_never_too_narrow(derived, width, lang):
    from symroof.rendering.pages.terminal import cells

    lines = derived.to_text(width=width, lang=lang).split("\n")
    assert [line for line in lines if cells(line) > width] == []


def test_a_phone_and_a_sheet_hold_every_display(derived):
    for page, limit in ((derived.to_markdown(), PHONE + 6), (derived.to_latex(), 90)):
        shown = re.findall(r"\$\$\n(.*?)\n\$\$|\\\[\n(.*?)\n\\\]", page, re.DOTALL)
        assert shown
        for body in ("".join(found) for found in shown):
            rows = re.sub(r"\\(?:begin|end)\{(?:aligned|cases)\}", "", body).split(" \\\\\n")
            assert all(len(re.sub(r"\\[a-z]+|[{}&$_^]", "", row)) <= 2.2 * limit for row in rows), body


@pytest.mark.thorough
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_code_block_is_the_program(name):
    page = sr.derive(PROGRAMS[name], on="tpu-v5e").to_markdown(brief=True)
    text = page.split("\n```\n")[1]
    read, meant = (read_problem({"operation": operation}).operation for operation in (text, PROGRAMS[name]))
    assert isinstance(read, Program)
    assert read == meant


@pytest.mark.parametrize("name", ["h", "a"])
def test_one_statement_alone(name):
    """What joins a statement is in its costs, and asked for under either name."""
    page = sr.derive(MLP, on="tpu-v5e", statement=name).to_text()
    rows = [re.split("  +", row) for row in re.findall(r"(?m)^ +h +(.*)$", page)]
    assert rows == [["NF", "D", "2NDF"], ["relu(h)", "1", "NF"], ["x, W1", "a", "h", "2ND + 2DF + 2NF"]]
    assert not re.search(r"(?m)^ +y ", page)
    assert "intensity" not in page


def test_a_statement_that_there_is_not(run):
    with pytest.raises(ReadingError, match="statement = 'z' is not known"):
        sr.derive(MLP, statement="z")
    with pytest.raises(ReadingError, match="statement speaks of a program"):
        sr.derive("matmul", statement="h")
    done = run("derive", MLP, "--on", "tpu-v5e", "--statement", "y", "--section", "traffic")
    assert done.code == 0
    assert " ".join(done.out.split()).endswith("y a, W2 y 2ND + 2DF + 2NF")


def counted(sizes):
    """The MLP simulated on a machine: multiplications with their additions, comparisons, bytes that cross the memory bus."""
    rows, inner, hidden = sizes["N"], sizes["D"], sizes["F"]
    flops = dict.fromkeys("hy", sum(2 for _ in product(range(rows), range(hidden), range(inner))))
    matrix = {"x": rows * inner, "W1": inner * hidden, "W2": hidden * inner, "a": rows * hidden, "y": rows * inner}
    reads = {"h": 2 * (matrix["x"] + matrix["W1"]), "y": 2 * (matrix["a"] + matrix["W2"])}
    writes = {"h": 2 * matrix["a"], "y": 2 * matrix["y"]}
    return {"flops": flops, "reads": reads, "writes": writes, "ops": {"h": matrix["a"], "y": 0}}, matrix


def test_the_record_has_the_costs_of_every_statement():
    record = sr.derive(MLP, on="tpu-v5e").to_dict()
    answer, sizes = record["answer"], {"N": 3, "D": 4, "F": 5}
    costs, matrix = counted(sizes)

    def value(text):
        whole = re.sub(r"[A-Z]", lambda name: str(sizes[name[0]]), text or "0")
        assert re.fullmatch(r"[\d+* ]+", whole)
        return sum(prod(map(int, term.split("*"))) for term in whole.split("+"))

    assert [statement["name"] for statement in answer["statements"]] == ["h", "y"]
    for statement in answer["statements"]:
        for what, by_name in costs.items():
            assert value(statement[what]) == by_name[statement["name"]], (what, statement)
        assert statement["exchanges"] == []
    assert answer["statements"][0]["text"] == "h = x * W1 -> bf16[N, F]"
    assert value(answer["params"]) == matrix["W1"] + matrix["W2"]
    assert value(answer["weights"]) == 2 * value(answer["params"])
    assert value(answer["ops"]) == matrix["a"]
    assert (answer["caches"], answer["saved"], answer["flops_backward"]) == (None, None, None)
    assert read_problem({"operation": record["operation"]}).operation == read_problem({"operation": MLP}).operation
    assert "statements" not in sr.derive("matmul").to_dict()["answer"]


NAMES = st.sampled_from("ABDFGHKLNRST")
MONOMIALS = st.lists(NAMES, min_size=1, max_size=4).map(lambda names: times(*map(Name, names)))


@settings(max_examples=60, deadline=None)
@given(st.lists(MONOMIALS, min_size=2, max_size=14), st.integers(8, 60))
def test_a_folded_sum_is_the_sum_in_its_order(terms, room):
    whole = LatexPrinter().print(Sum(tuple(terms)))
    folded = FoldingPrinter(room=room).print(Sum(tuple(terms)))
    assert in_line(folded).replace("{} ", "") == whole
    assert all(text_breadth(row) <= room or " + " not in row.removeprefix("{} + ") for row in rows_of(folded))


SPLIT = {"operation": "bf16[B, D_X] * bf16[D_X, F] -> bf16[B, F]", "mesh": {"X": 4}, "hardware": "tpu-v5e"}
OWN_ROWS = {**SPLIT, "operation": "bf16[B_X, D] * bf16[D, F] -> bf16[B_X, F]"}


@pytest.mark.part(3)
@pytest.mark.parametrize(
    ("asked", "scores", "exchanged"),
    [
        ("attention-decode", True, False),
        pytest.param("decode-step", True, False, marks=pytest.mark.thorough),
        pytest.param("moe", False, False, marks=pytest.mark.thorough),  # whose softmax is of a product with weights
        ("mlp", False, False),
        ("softmax", False, False),
        (SPLIT, False, True),
        (OWN_ROWS, False, False),
    ],
)
def test_limits_are_said_where_they_bite(asked, scores, exchanged):
    """A mask where there are scores, latency where something is exchanged, and neither of them elsewhere."""
    d = sr.derive(asked)
    for lang, masked, latency in (("en", "masked", "latency"), ("ko", "마스크", "지연"), ("zh", "掩码", "延迟")):
        for page in (d.to_markdown(lang=lang), d.to_text(lang=lang)):
            assert (masked in page, latency in page) == (scores, exchanged)
        assert masked not in d.to_text(brief=True, lang=lang)


LONG = {"decode": ("examples/decode.toml", 90), "mesh": ("examples/mesh.toml", 120), "mlp": ("examples/mlp.toml", 100)}
LONG |= {name: (name, 160) for name in ("decoder", "training-step", "vit", "mamba", "routed-experts")}


@pytest.mark.parametrize(
    "name", ["decode", *(pytest.param(n, marks=pytest.mark.thorough) for n in LONG if n != "decode")]
)
def test_a_long_program_is_read_on_its_page(name):
    """No formula of the answer in letters is long, each letter is used, and a number is what the sizes say of it."""
    asked, lines = LONG[name]
    d = sr.derive(ROOT / asked if "/" in asked else asked, **({} if "/" in asked else {"on": "h100"}))
    assert len(d.to_markdown().split("\n")) <= lines + 1 < len(d.to_markdown(full=True).split("\n"))
    steps = d.section("letters")
    letters = {step.left: step.right for step in steps if step.reason is Reason.LETTER}
    assert bool(letters) is (name not in ("mesh", "mlp"))
    others = [part for step in steps if step.left not in letters for part in nodes(step.right)]
    assert all(len(part.terms) <= 6 for part in others if isinstance(part, Sum))
    assert {*letters} <= {part for part in others if isinstance(part, Name)}
    for step in (step for step in steps if step.point is not None):
        assert step.value == exactly(expression(letters[step.left]), d.setting.problem.at[0])


def test_a_letter_stands_for_nothing_else():
    assert "when B ≪ D: (BV + " in sr.derive("decode-step", on="h100", assume="B << D").to_text()  # beside it
    d = sr.derive(MLP, on="tpu-v5e", symbols=["mfu"], let={"part": "mfu*T_math"})
    ledger = first_draft(d.setting.problem).ledger
    ledger.established.extend(d.written)
    for name, right in (
        ("T_math", "N"),
        ("flops", "N"),
        ("mfu", "N"),
        ("κ", "κ + 1"),
        ("κ", "N/(D - F)"),
        ("κ", "2/(D - D)"),
    ):
        with pytest.raises(SymroofError):
            check(Step("letters", Reason.LETTER, Name(name), "=", read_expression(right, Scope(open=True))), ledger)
    assert check(Step("letters", Reason.LETTER, Name("κ"), "=", Sum((Name("N"), Name("D")))), ledger).status == "proved"
