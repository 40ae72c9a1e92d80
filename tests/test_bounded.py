"""No input without bound: what would take forever is derived all the same, or refused by name."""

import json

import pytest
from click.testing import CliRunner

import symroof as sr
from symroof.cli import cli
from symroof.errors import SymroofError
from symroof.proof import prover

WHERE = "where z1 = z0^9 + z0; where z2 = z1^9 + z1; where z3 = z2^9 + z2; where z4 = z3^9 + z3; input x: bf16[z4, D]; weight W: bf16[D, F]; y = x*W -> bf16[z4, F]"


def layers(count):
    """A feed-forward network in which every layer has a width of its own."""
    lines = ["input x: bf16[B, D0]", *(f"weight W{i}: bf16[D{i}, D{i + 1}]" for i in range(count))]
    lines += [f"h{i} = {f'h{i - 1}' if i else 'x'}*W{i} -> bf16[B, D{i + 1}]" for i in range(count)]
    return "\n".join(lines)


def letters(first, last):
    return ", ".join(f"{'ABCDEFGH'[i // 8]}{'abcdefgh'[i % 8]}" for i in range(first, last))


@pytest.mark.thorough
@pytest.mark.parametrize("count", [12, 13, 14, 24])
def test_layers_of_different_widths_are_derived(count):
    derived = sr.derive(layers(count), on="tpu-v5e")
    flops = derived.setting.cost.flops
    assert flops.subs(dict.fromkeys(flops.free_symbols, 3)) == 2 * 27 * count
    assert derived.answer.threshold.outcome == "depends"


@pytest.mark.thorough
def test_operands_of_forty_dimensions_are_derived():
    text = f"bf16[{letters(0, 40)}] * bf16[{letters(20, 60)}] -> bf16[{letters(0, 20)}, {letters(40, 60)}]"
    assert len(sr.derive(text, on="tpu-v5e").setting.cost.flops.free_symbols) == 60


SIX, EIGHT = "A, C, E, G, H, K", "A, C, E, G, H, K, L, M"
OPEN = {
    f"mesh {SIX} on ICI; input x: bf16[B, D_ACEGHK]; weight W: bf16[D_ACEGHK, F]; y = x*W -> bf16[B, F]": False,
    f"mesh {EIGHT} on ICI; input x: bf16[B_ACEG, D]; weight W: bf16[D, F_HKLM]; y = x*W -> bf16[B_ACEG, F_HKLM]": True,
}


@pytest.mark.thorough
@pytest.mark.parametrize(("text", "training"), OPEN.items())
def test_many_open_axes_are_simulated_axis_by_axis(text, training):
    record = json.loads(sr.derive(text, on="tpu-v5p", training=training).to_json())
    assert set("ACEGHK") <= set(str(record["answer"]["chips"]))


def added(count):
    return {"operation": "matmul", "let": {"a0": "B", **{f"a{i}": f"a{i - 1} + 1" for i in range(1, count)}}}


NUMBER = f"input x: bf16[B, D]; weight W: bf16[D, {'9' * 4990}]; y = x*W -> bf16[B, {'9' * 4990}]"
LARGE = [
    ({"operation": WHERE}, "z3"),
    (added(3000), "3000 formulas"),
    (added(300), "let a100"),
    ({"operation": NUMBER}, "too long"),
    ({"operation": f"bf16[B, {'9' * 1500}] * bf16[{'9' * 1500}, F] -> bf16[B, F]"}, "too long"),
    ({"operation": "fsdp-megatron", "minimize": "T_X +1111111_Y", "over": "X"}, "."),
]


@pytest.mark.parametrize(("options", "named"), LARGE)
def test_what_is_too_large_is_refused_by_name(options, named):
    with pytest.raises(SymroofError, match=named):
        sr.derive(**options, on="tpu-v5p")


BOMBS = [
    '<< "x" * 10**10 >>',
    "<% for i in range(90000) %><% for j in range(90000) %>x<% endfor %><% endfor %>",
    '<< "%1000000000d" % 1 >>',
    '<< "x"|center(1000000000) >>',
    '<< "{:>1000000000}".format(1) >>',
    '<< "x".ljust(2000000000) >>',
    "<< 10**10**10 >>",
    "<% macro f() %><< f() >><% endmacro %><< f() >>",
]


@pytest.mark.thorough
@pytest.mark.parametrize("text", BOMBS)
def test_a_template_does_not_grow_without_bound(text, tmp_path):
    (tmp_path / "page.txt.j2").write_text(text, "utf-8")
    outcome = CliRunner().invoke(cli, ["derive", "matmul", "--on", "tpu-v5e", "--template", str(tmp_path)])
    assert isinstance(outcome.exception, SymroofError)
    assert "a template failed" in str(outcome.exception)


@pytest.mark.thorough
def test_a_template_may_pad_and_repeat(tmp_path):
    text = '<< "ab" * 3 >> << "{:>4}".format(7) >> << "x".ljust(3) >>|<% for i in range(3) %><< i >><% endfor %>'
    (tmp_path / "page.txt.j2").write_text(text, "utf-8")
    outcome = CliRunner().invoke(cli, ["derive", "matmul", "--on", "tpu-v5e", "--template", str(tmp_path)])
    assert outcome.output.rstrip().splitlines()[-1] == "ababab    7 x  |012"


def test_a_prover_that_breaks_down_has_not_answered(monkeypatch):
    """Out of memory, or interrupted: what it was asked stays open, and nothing is refuted."""
    import z3

    def broken(z3_, propositions):
        raise z3.Z3Exception("out of memory")

    monkeypatch.setattr(prover, "_solved", broken)
    page = sr.derive("attention", on="h100").to_text()
    assert "sampled" in page or sr.derive("matmul", on="tpu-v5e").counts()["proved"]
    (judgement,) = sr.verify({"claims": ["max(A, B) <= A + B + A*B/(A^2 + 1)"]}).judgements
    assert judgement.verdict in ("holds", "undecided")


def test_a_prover_that_is_missing_is_one_line(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "z3", None)
    from symroof.proof.quotients import Quotients

    with pytest.raises(SymroofError, match="z3 cannot be loaded"):
        prover.Prover(Quotients())
