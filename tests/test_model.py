"""Dtypes, chips, meshes, library: every table row by row."""

import dataclasses
import math
import re
from fractions import Fraction

import pytest
import sympy
from render.corpus import dot_flops as flops, dot_reads as reads, dot_writes as writes
from sympy import cancel
from texts import cases, refused

import symroof as sr
from symroof.errors import CheckError, ModelError, quote
from symroof.formula import Call, Quotient, number
from symroof.model.given_costs import function_formula
from symroof.model.library import LIBRARY
from symroof.model.tensor_types import DTYPES, dtype
from symroof.reading.chips import catalogue, chip, figure
from symroof.symbols import VALUES, expression, symbol

WIDTHS = {4: "int4 fp4", 6: "fp6", 8: "int8 fp8", 16: "bf16 fp16 int16", 32: "fp32 int32", 64: "fp64 int64"}
ALIASES = "bfloat16 bf16, f32 fp32, float32 fp32, s8 int8, float8_e4m3fn fp8, double fp64"


def test_dtypes_are_as_wide_as_their_names_say():
    assert {entry.name: entry.bits for entry in DTYPES} == {n: bits for bits in WIDTHS for n in WIDTHS[bits].split()}
    for entry in DTYPES:
        for alias in entry.aliases:
            digits = "".join(c for c in alias.split("_")[0] if c.isdigit())
            assert not digits or int(digits) == entry.bits or alias.startswith("e"), alias
    for alias, name in map(str.split, ALIASES.split(", ")):
        assert dtype(alias).name == name


# Every figure of the catalogue as data sheets print them, in multiples of 10^6, 10^9, 10^12 and 10^15.
PRINTED = {
    "tpu-v2": "peak.bf16 23T, ICI.bidirectional 120G",
    "tpu-v3": "peak.bf16 140T, peak.int8 140T, HBM 900G, ICI 100G, ICI.bidirectional 200G, capacity.HBM 32G",
    "tpu-v4p": "peak.bf16 275T, peak.int8 275T, HBM 1.2T, ICI 45G, ICI.bidirectional 90G, PCIe 16G, capacity.HBM 32G",
    "tpu-v5p": "peak.bf16 459T, peak.int8 918T, peak.vector 14T, HBM 2.8T, ICI 90G, ICI.bidirectional 180G, DCN 6.25G, capacity.HBM 96G, capacity.VMEM 128M",
    "tpu-v5e": "peak.bf16 197T, peak.int8 394T, HBM 820G, VMEM 18.04T, ICI 45G, ICI.bidirectional 90G, PCIe 16G, DCN 3.125G, capacity.HBM 16G, capacity.VMEM 134.217728M, ICI.latency 1u",
    "tpu-v6e": "peak.bf16 920T, peak.int8 1.84P, HBM 1.6T, ICI 90G, ICI.bidirectional 180G, PCIe 32G, DCN 12.5G, capacity.HBM 32G",
    "tpu-v7x": "peak.bf16 2.3P, peak.int8 4.61P, peak.fp8 4.61P, HBM 7.4T, ICI 90G, ICI.bidirectional 180G, DCN 12.5G, capacity.HBM 192G",
    "v100": "peak.fp16 125T, peak.fp32 15.7T, peak.fp64 7.8T, peak.vector 15.7T, peak.vector.fp64 7.8T, HBM 900G, capacity.HBM 32G, capacity.L2 6M, capacity.SMEM 7.68M",
    "a100": "peak.bf16 310T, peak.fp16 312T, peak.int8 620T, peak.fp32 19.5T, peak.fp64 19.5T, peak.vector 19.5T, peak.vector.fp64 9.7T, HBM 2T, NVLink 300G, NVLink.latency 0.6u, InfiniBand.latency 2.7u, InfiniBand 25G, capacity.HBM 80G, capacity.L2 40M, capacity.SMEM 20.736M",
    "h100-sxm": "peak.bf16 989T, peak.fp16 989T, peak.fp8 2P, peak.int8 1.979P, peak.fp32 67T, peak.fp64 67T, peak.vector 67T, peak.vector.fp64 34T, HBM 3.35T, L2 5.5T, NVLink 450G, NVLink.latency 0.6u, InfiniBand.latency 2.7u, InfiniBand 50G, capacity.HBM 80G, capacity.L2 50M, capacity.SMEM 33.792M",
    "h200": "peak.bf16 990T, peak.fp8 2P, peak.int8 1.979P, peak.fp32 67T, peak.fp64 67T, peak.vector 67T, peak.vector.fp64 34T, HBM 4.8T, NVLink 450G, NVLink.latency 0.6u, InfiniBand.latency 2.7u, InfiniBand 50G, capacity.HBM 141G",
    "h800": "peak.fp8 1.513P, NVLink 300G, NVLink.latency 0.6u, InfiniBand.latency 2.7u, InfiniBand 50G",
    "b200": "peak.bf16 2.3P, peak.fp8 4.5P, peak.fp4 9P, peak.int8 4.5P, peak.fp32 75T, peak.fp64 37T, peak.vector 80T, peak.vector.fp64 37T, HBM 8T, NVLink 900G, InfiniBand 50G, capacity.HBM 192G, capacity.L2 126M, capacity.SMEM 37.888M",
    "gb200": "peak.bf16 2.3P, peak.fp8 4.5P, peak.fp4 9P, peak.int8 5P, peak.fp32 80T, peak.fp64 40T, peak.vector 80T, peak.vector.fp64 40T, HBM 8T, NVLink 900G, InfiniBand 50G, capacity.HBM 192G",
    "b300": "peak.bf16 2.25P, peak.fp16 2.25P, peak.fp8 4.5P, peak.fp4 13.125P, peak.fp32 75T, peak.vector 75T, HBM 8T, NVLink 900G, capacity.HBM 288G",
    "mi300x": "peak.fp16 1.3P, peak.fp8 2.6P, HBM 5.3T, capacity.HBM 192G, capacity.L2 32M",
    "mi355x": "peak.fp8 5.0331648P, HBM 8T, capacity.HBM 288G",
    "trainium2": "peak.bf16 667T, peak.fp16 667T, peak.fp8 1.299P, peak.fp32 181T, HBM 2.9T, capacity.HBM 103.079215104G",
    "trainium3": "peak.bf16 671T, peak.fp16 671T, peak.fp8 2.517P, peak.fp32 183T, HBM 4.9T, capacity.HBM 154.618822656G",
    "gaudi3": "peak.bf16 1.835P, peak.fp8 1.835P, HBM 3.7T, DCN 75G, capacity.HBM 128G",
}
TIMES = {"u": Fraction(1, 10**6), "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15}


def test_every_chip_of_the_catalogue_is_printed_here():
    assert PRINTED.keys() == catalogue().keys()
    assert [chip(alias).name for alias in ("H100", "TPU v5e")] == ["h100-sxm", "tpu-v5e"]


@pytest.mark.parametrize("name", PRINTED)
def test_the_catalogue_says_what_its_sources_print(name):
    printed = dict(entry.split() for entry in PRINTED[name].split(", "))
    assert {key: known.value for key, known in chip(name).figures.items()} == {
        key: Fraction(text[:-1]) * TIMES[text[-1]] for key, text in printed.items()
    }


def test_a_missing_figure_is_an_error_and_never_zero():
    with pytest.raises(ModelError, match=r"H800 has no figure peak\.bf16"):
        sr.derive("matmul", on="h800")
    with pytest.raises(ModelError, match="V100 has no bandwidth for NVLink"):
        sr.derive("bf16[B, D_X] * bf16[D_X, F] -> bf16[B, F]", on="v100", mesh={"X": 2}, link="NVLink", compute="fp16")


def test_own_chips(tmp_path):
    path = tmp_path / "chips.toml"
    path.write_text(
        '[sources]\nmine = { title = "a datasheet", url = "https://example.org", date = "2026" }\n'
        '[mychip]\ntitle = "My chip"\n[mychip.figures]\n"peak.bf16" = ["100 TFLOPs/s", "mine"]\nHBM = ["1 TB/s", "mine"]\n'
    )
    assert sr.derive("matmul", on="mychip", chips=str(path)).answer.ridge == 100
    path.write_text("[sources]\n[mychip.figures]\nHBM = '1 TB/s'\n")
    with pytest.raises(sr.SymroofError, match="HBM has no source"):
        sr.derive("matmul", on="mychip", chips=str(path))
    path.write_text('[mychip.figures]\nHBM = ["1 TB/s", "mine"]\n')
    with pytest.raises(sr.SymroofError, match=r"there is no table \[sources\]") as error:
        sr.derive("matmul", on="mychip", chips=str(path))
    assert "[sources] with sheet" in error.value.expected


def test_an_unknown_chip_may_be_given():
    with pytest.raises(sr.SymroofError, match="unknown chip") as error:
        sr.derive("matmul", on="mi999x")
    assert "--given" in error.value.hint
    assert "--chips" in error.value.hint
    with pytest.raises(sr.SymroofError, match=r"did you mean tpu-v5p\? another chip is given: given=.* chips="):
        sr.derive("matmul", on="tpu-v5f")


@pytest.mark.parametrize("text", ["394 TFLOP/s", "394000 GFLOP/s", "3.94e14 FLOP/s", "0.394 PFLOPs/s", "394 TOPs/s"])
def test_rates_are_read_as_people_write_them(text):
    assert figure("peak", text).value == 394 * 10**12


def test_a_known_number_that_is_no_figure_keeps_its_unit():
    """A rate is compared with rates, a share with any number."""
    given = {"dense": "9.89e14 FLOPs/s", "mfu": 0.4, "sheet": "80 GB"}
    claims = ["dense*mfu = 395.6 TFLOP/s", "dense/2 = 4.945e14", "sheet/2 = 40 GB", "dense = 9.89e14 bytes/s"]
    report = sr.verify({"given": given, "claims": claims})
    assert [judgement.verdict for judgement in report.judgements] == ["holds", "holds", "holds", "wrong"]
    slow = sr.derive("matmul", on="tpu-v5e", given={"slow": "2e11"}, link="slow")
    assert slow.answer.ridge == 985
    with pytest.raises(ModelError, match="no bandwidth for dense"):
        sr.derive("matmul", on="tpu-v5e", given={"dense": "9.89e14 FLOPs/s"}, link="dense")


def test_figures_are_checked_by_name_and_unit():
    assert figure("peak", 5).value == 5
    for name, value in (("peak.bf17", "1"), ("HBM", True), ("HBM", "1 FLOPs/s"), ("peak", [1])):
        with pytest.raises(sr.SymroofError):
            figure(name, value)


# Library operations: FLOPs and bytes at one size, counted by hand from the definition of each.
TILES = {"bm": 2, "bn": 3, "bk": 5, "tm": 7, "tn": 11, "tk": 13}
COUNTED = {
    "dot": ({"N": 5}, 10, 2 * 5 + 2 * 5 + 2),
    "axpy": ({"N": 5}, 10, 2 * (5 + 5 + 1) + 2 * 5),
    "add": ({"N": 5}, 5, 6 * 5),
    "multiply": ({"N": 5}, 5, 6 * 5),
    "activation": ({"N": 5}, 5, 4 * 5),
    "triad": ({"N": 5}, 10, 8 * 15),
    "matvec": ({"M": 3, "N": 5}, 30, 2 * (15 + 5 + 3)),
    "outer": ({"M": 3, "N": 5}, 15, 2 * (3 + 5 + 15)),
    "matmul": ({"B": 2, "D": 3, "F": 5}, 60, 2 * (6 + 15 + 10)),
    "batched-matmul": ({"N": 7, "B": 2, "D": 3, "F": 5}, 420, 7 * 2 * (6 + 15 + 10)),
    "per-element-matmul": ({"B": 2, "D": 3, "F": 5}, 60, 2 * (6 + 30 + 10)),
    "tiled-matmul": (TILES, 2 * 14 * 33 * 65, 2 * (7 * 11 * 13 * (10 + 15) + 14 * 33)),
    "softmax": ({"B": 2, "N": 5}, 2 * (4 + 5 + 5 + 4 + 5), 2 * 2 * 10),
    "rms-norm": ({"B": 2, "D": 5}, 2 * (5 + 4 + 1 + 1 + 1 + 5 + 5), 2 * (10 + 5 + 10)),
}


@pytest.mark.parametrize("name", LIBRARY)
def test_library_operations_cost_what_their_definition_says(name):
    sizes, flops, moved = COUNTED[name]
    cost = sr.operation(name).cost()
    put = {symbol(key): value for key, value in sizes.items()}
    assert (cost.flops.subs(put), cost.bytes.subs(put)) == (flops, moved)
    assert LIBRARY[name].source
    both, one = cost + sr.operation("dot").cost(), sr.operation("dot").cost()
    assert (both.flops, both.bytes) == (cost.flops + one.flops, cost.bytes + one.bytes)


def refusal(text):
    with pytest.raises(sr.SymroofError) as error:
        sr.operation(text)
    return error.value


def test_a_chain_of_products_is_refused_with_the_products_to_write():
    hint = refusal("bf16[A, B_X] * int8[B_X, C] * bf16[C, D] -> fp32[A, D]").hint
    two = "bf16[A, B_X] * int8[B_X, C] -> fp32[A, C]; fp32[A, C] * bf16[C, D] -> fp32[A, D]"
    assert hint == f"write the products of two: {two}"
    for text in two.split("; "):
        assert str(sr.operation(text)) == text
    assert len(refusal("bf16[A, B] * bf16[B, C] * bf16[C, D] * bf16[D, E] -> bf16[A, E]").hint.split("; ")) == 3
    assert sr.operation("bf16[A, B] * bf16[B] * bf16[A] -> bf16[A, B]").cost().flops == 2 * symbol("A") * symbol("B")


def test_a_picked_expert_is_not_summed_over():
    hint = refusal("bf16[B, D] * bf16[E, D, F] -> bf16[B, F]").hint
    assert "where each output takes one E (a gathered row, an expert)" in hint
    assert "multiply with a vector: ... * bf16[F]" in refusal("bf16[D, F] -> bf16[D]").hint


# Which unit does the work, and its peak.
@cases("""
operation | on | peak
matmul | h100 | peak.bf16
dot | h100 | peak.bf16
outer | h100 | peak.vector
softmax | tpu-v5p | peak.vector
softmax | tpu-v5e | peak.bf16
tiled-matmul | h100 | peak.bf16
triad | a100 | peak.vector.fp64
fp64[B, D] * fp64[D, F] -> fp64[B, F] | a100 | peak.fp64
fp32[N] * fp32[N] -> fp32[N] | v100 | peak.vector
""")
def test_work_runs_on_its_unit(operation, on, peak):
    assert sr.derive(operation, on=on).setting.peak_name == peak


def test_triad_runs_on_every_chip_that_has_fp64():
    """And is never compute-bound there: a twelfth of a FLOP for each byte."""
    able = {accelerator.name for accelerator in catalogue().values() if "peak.fp64" in accelerator.figures}
    assert able == {"v100", "a100", "h100-sxm", "h200", "b200", "gb200"}
    assert {sr.derive("triad", on=name).answer.outcome for name in able} == {"never"}
    own = {"title": "own", "peak.fp64": "1e12 FLOPs/s", "HBM": "1e12 bytes/s"}
    assert sr.derive("triad", on=own).setting.peak_name == "peak.fp64"


@pytest.mark.parametrize(
    ("name", "top"),
    [("softmax", "5/4"), ("dot", "1/2"), ("axpy", "1/3"), ("add", "1/6"), ("matvec", "1"), ("activation", "1/4")],
)
def test_what_is_reached_at_most_is_not_rounded_down(name, top):
    """The supremum of FLOPs per byte, by hand, over the ridge of 1.97e14/8.2e11."""
    text = " ".join(sr.derive(name, on="tpu-v5e").to_text().split())
    told, share = re.search(r"[Aa]t most ([0-9.]+) % of the peak", text)[1], Fraction(top) * 41 / 9850 * 100
    assert 0 <= Fraction(told) - share < Fraction(1, 10 ** len(told.partition(".")[2]))


def test_kinds_that_are_exchanged_are_refused(monkeypatch):
    original = sr.Operation.cost

    def exchanged(self, count="fma"):
        return dataclasses.replace(original(self, count), work=original(self, count).work[::-1])

    with monkeypatch.context() as patch:
        patch.setattr(sr.Operation, "cost", exchanged)
        with pytest.raises(CheckError):
            sr.derive("rms-norm")
    odd = sr.Operation("odd", flops=lambda N: 2 * N, reads=reads, writes=writes, counted={"additions": lambda N: N})
    with pytest.raises(ModelError, match="do not add up"):
        sr.derive(odd)


def test_cost_functions_keep_what_was_written_and_mean_the_same():
    dot = sr.Operation("dot product", flops=flops, reads=reads, writes=writes)
    assert cancel(dot.cost().intensity - sr.operation("dot").cost("exact").intensity) == 0
    assert cancel(expression(function_formula(flops)) - dot.amount(flops)) == 0


test_cost_functions_outside_the_class_are_refused = refused(
    lambda flops: sr.derive(sr.Operation("odd", flops=flops, reads=reads, writes=writes)),
    (lambda N: 0.5 * N, "exact numbers"),
    (lambda N: N if N > 3 else 1, "does not run on symbols"),
    (lambda N: N**0.5, "exact numbers"),
    (lambda N: None, "gives None"),
    (lambda N: 1 / 0, "ZeroDivisionError"),
    (lambda N: N * sympy.Symbol("Q"), "symbols of its own: Q"),
    (lambda N: sympy.log(N), "a rational function"),
    (lambda N: -N, "zero or negative"),
    (lambda oo: oo, "a word of the language"),
    (lambda *N: 1, "not a dimension"),
    (lambda N=3: N, "not a dimension"),
    (lambda ridge: ridge, "name of a quantity"),
)
test_bytes_that_may_vanish_are_refused = refused(
    lambda read: sr.derive(sr.Operation("odd", flops=flops, reads=read, writes=lambda N: 1)),
    (lambda N: N - 2, "the bytes may be zero or negative"),
)


def test_without_latexify_the_formula_is_typeset_here(monkeypatch):
    """As on Python 3.14, where latexify does not install."""
    import sys

    from symroof.rendering.formulas.plain import Letters
    from symroof.rendering.formulas.tex import typeset

    typeset.cache_clear()
    dot = sr.Operation("dot product", flops=flops, reads=reads, writes=writes)
    with_latexify = sr.derive(dot).to_markdown()
    typeset.cache_clear()
    monkeypatch.setitem(sys.modules, "latexify", None)
    assert typeset(flops, Letters()) is None
    assert sr.derive(dot).to_markdown() == with_latexify.replace("= N + N - 1 =", "= N + (N - 1) =")
    typeset.cache_clear()


def test_degree_two_with_figures():
    """2N^2 + 3N > R (4N + 1002): the positive root is at 649.57."""
    op = sr.Operation("square", flops=lambda N: 2 * N**2 + 3 * N, reads=lambda N: 4 * N + 1000, writes=writes)
    d = sr.derive(op, on="tpu-v5e", compute="bf16")
    R = Fraction(9850, 41)

    def compute_bound(n):
        return 2 * n * n + 3 * n > R * (4 * n + 1002)

    first = d.answer.smallest_integer
    assert compute_bound(first)
    assert not compute_bound(first - 1)
    assert d.counts()["sampled"] == 0


def test_an_intensity_that_rises_and_falls_is_above_the_ridge_between_two_sizes():
    """30N/(N^2 + 101) > 1 between the roots of N^2 - 30N + 101, which are 15 - sqrt(124) and 15 + sqrt(124)."""
    humped = sr.Operation("humped", flops=lambda N: 30 * N, reads=lambda N: N**2 + 100, writes=lambda N: 1)
    d = sr.derive(humped, on={"peak": "1", "HBM": "1"}, compute="bf16")
    assert "N > 3.8644713 and N < 26.135529\n" in d.to_text()
    assert d.answer.smallest_integer is None
    assert d.counts()["sampled"] == 0


def test_functions_have_their_values():
    known = {"max": max, "min": min, "floor": math.floor, "ceil": math.ceil, "abs": abs}
    known |= {"sqrt": math.sqrt, "log": math.log, "exp": math.exp}
    assert known.keys() == VALUES.keys()
    for name, function in known.items():
        numbers = [Fraction(-7 if name == "abs" else 7, 2), *([Fraction(5)] if name in ("max", "min") else [])]
        arguments = tuple(Quotient(number(x.numerator), number(x.denominator)) for x in numbers)
        assert float(expression(Call(name, arguments))) == pytest.approx(function(*map(float, numbers)))


def test_the_line_of_a_fault_is_quoted_without_the_break_before_it():
    assert quote("\nB +\nD", (1, 2)) == ("B +", "^")
    assert quote("A\nB +\nD", (4, 5)) == ("B +", "  ^")
