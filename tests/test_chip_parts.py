"""Chips from their parts, and what cannot be in a table of chips."""

import ast
import json
import re
from dataclasses import replace
from fractions import Fraction

import pytest
from direct import CATALOGUE

import symroof as sr
from symroof.errors import SymroofError
from symroof.model.hardware import Accelerator, Spec, findings
from symroof.reading.chips import catalogue, chip

SHEET = "a sheet (https://a.example, 2026)"
FOLLOWING = [
    (name, figure, pair)
    for name, entry in CATALOGUE.items()
    for figure, pairs in entry.get("figures", {}).items()
    for pair in (pairs if isinstance(pairs[0], list) else [pairs])
    if pair[1] == "parts"
]


def by_hand(text, parts):
    """The value of a product of parts, in exact arithmetic."""
    tree = ast.parse(text, mode="eval").body

    def value(node):
        if isinstance(node, ast.BinOp):
            assert isinstance(node.op, ast.Mult)
            return value(node.left) * value(node.right)
        if isinstance(node, ast.Constant):
            return Fraction(node.value)
        assert isinstance(node, ast.Name)
        part = parts[node.id]
        return Fraction((part[0] if isinstance(part[0], list) else part)[0])

    return value(tree)


def test_some_peaks_follow_of_parts():
    assert {name for name, *_ in FOLLOWING} >= {"tpu-v5p", "tpu-v5e", "h100-sxm", "mi355x", "trainium2"}


@pytest.mark.parametrize(("name", "figure", "pair"), FOLLOWING, ids=[f"{n} {f}" for n, f, _ in FOLLOWING])
def test_what_follows_of_parts_is_their_product_and_near_what_is_stated(name, figure, pair):
    value, known = by_hand(pair[0], CATALOGUE[name]["parts"]), chip(name).figures[figure]
    every = (known, *known.alternatives)
    (mine,) = [one for one in every if one.source.startswith(f"{pair[0]} = ")]
    assert mine.value == value
    assert Fraction(mine.digits) == value
    assert by_hand(mine.source.partition(" = ")[2], {}) == value
    stated = [one for one in every if one is not mine]
    assert figure == "capacity.SMEM" or any(abs(one.value - value) < value / 16 for one in stated), (value, stated)


def test_parts_are_names_in_formulas_and_claims():
    let = {"cycles": "T_lower*clock", "hosts": "pod.chips/host.chips"}
    found = sr.derive("matmul", on="tpu-v5p", at="B=1024,D=F=8192", let=let)
    assert found.value("hosts") == 8960 / 4
    assert found.value("cycles") == pytest.approx(found.value("T_lower") * 1.75e9)
    claims = {
        "pod.chips/host.chips = 2240": "holds",
        "pod.chips*capacity.HBM = 860 TB": "rounded",
        "cores = 4": "wrong",
    }
    report = sr.verify({"hardware": "tpu-v5p", "claims": list(claims)})
    assert [one.verdict for one in report.judgements] == list(claims.values())
    with pytest.raises(SymroofError, match="pod"):
        sr.derive("matmul", on="a100", let={"all": "pod.chips*peak"})


def test_a_chip_of_ones_own_is_made_of_parts(tmp_path):
    text = """[sources]
sheet = {{ title = "A sheet", url = "https://a.example", date = "2026" }}
[mine]
title = "Mine"
[mine.parts]
clock = ["1e9", "sheet"]
lanes = ["512", "sheet"]
[mine.figures]
"peak.bf16" = ["{formula}", "parts"]
HBM = ["1e12 bytes/s", "sheet"]
"""
    path = tmp_path / "chips.toml"
    path.write_text(text.format(formula="2*lanes*clock"))
    assert chip("mine", str(path)).figures["peak.bf16"].value == 1024 * 10**9
    assert re.search(r"ridge .* 1.02 FLOPs/byte", sr.derive("dot", on="mine", chips=str(path)).to_text())
    for formula, said in (("2*lines*clock", "lines"), ("lanes - 512", "no number above 0"), ("2*lanes*", "expected")):
        path.write_text(text.format(formula=formula))
        with pytest.raises(SymroofError, match=said) as caught:
            chip("mine", str(path))
        assert "mine" in str(caught.value)


def made(name="one", after="", parts=None, **figures):
    known = {
        key.replace("_", "."): value if isinstance(value, Spec) else stated(value) for key, value in figures.items()
    }
    return Accelerator(name, name, known, parts=parts or {}, after=after)


def stated(value, source=SHEET, others=()):
    digits = f"{value:g}".replace("e+", "e")
    return Spec(Fraction(digits), digits, "bytes/s", source, tuple(stated(*one) for one in others))


IMPOSSIBLE = [
    ("ridge", [made(peak_bf16=5e11, HBM=1e12)]),
    ("predecessor", [made(peak_bf16=5e14), made("two", "one", peak_bf16=2e14)]),
    *(("link", [made(HBM=1e12, **{link: 2e12})]) for link in ("ICI", "PCIe")),
    ("directions", [made(ICI=1e11, ICI_bidirectional=1e11)]),
    ("rivals", [made(HBM=stated(1e12, SHEET, [(2e12, SHEET)]))]),
    ("parts", [made(HBM=stated(1e12, SHEET, [(2e12, "clock*lanes = 2*1e12")]))]),
    *(
        ("address", [made(HBM=stated(1e12, f"a sheet ({said})"))])
        for said in ("no address, 2026", "https://a.example, no date")
    ),
    ("address", [made(parts={"clock": stated(1e9, "hearsay")})]),
]


@pytest.mark.parametrize(("kind", "chips"), IMPOSSIBLE)
def test_what_cannot_be_is_found(kind, chips):
    assert [one.kind for one in findings(chips)] == [kind]


def test_what_can_be_is_no_finding():
    remarked = stated(1e12, SHEET, [(2e12, f"{SHEET}: measured")])
    assert findings([made(peak_bf16=1e15, HBM=remarked, ICI=1e11, ICI_bidirectional=2e11)]) == []
    assert findings([made(peak_bf16=5e14), made("two", "one", peak_bf16=3e14)]) == []
    assert findings([made("two", "gone", peak_bf16=3e14)]) == []


def test_nothing_in_the_catalogue_is_impossible_and_slips_of_a_prefix_are(run):
    assert run("list", "chips", "--check").out.endswith(f"{len(catalogue())} chips, no findings\n")
    assert findings(catalogue().values()) == []
    found = 0
    for one in catalogue().values():
        if "HBM" not in one.figures:
            continue
        known = one.figures["HBM"]
        figures = {**one.figures, "HBM": replace(known, value=known.value * 1000)}
        found += bool(findings([replace(one, figures=figures)]))
    assert found > 15


def test_the_check_has_an_exit_status_and_speaks_three_languages(tmp_path, run):
    path = tmp_path / "chips.toml"
    path.write_text(
        '[sources]\nsheet = { title = "A sheet", url = "https://a.example", date = "2026" }\n'
        '[slow]\n[slow.figures]\n"peak.bf16" = ["1e9 FLOPs/s", "sheet"]\nHBM = ["1e12 bytes/s", "sheet"]\n'
    )
    for lang, words in (("en", "a ridge below 1"), ("ko", "1보다 작음"), ("zh", "小于 1")):
        told = run("list", "chips", "--check", "--chips", str(path), "--lang", lang)
        assert told.code == 1
        assert words in told.out
        alone = run("list", "chips", "slow", "--check", "--chips", str(path), "--lang", lang)
        assert (alone.code, alone.out.startswith("slow: ")) == (1, True)
    read = run("list", "chips", "--check", "--chips", str(path), "--format", "json")
    assert (read.code, {one["chip"] for one in json.loads(read.out)}) == (1, {"slow"})
    assert json.loads(run("list", "chips", "--check", "--format", "json").out) == []
    assert run("list", "chips", "h100", "--check", "--chips", str(path)).code == 0
