"""Dtypes, chips, meshes, library: every table row by row."""

import inspect
from fractions import Fraction

import pytest
import sympy
from sympy import cancel

import symroof as sr
from symroof.algebra.rational import cancelled
from symroof.errors import ModelError
from symroof.model.dtype import DTYPES, dtype
from symroof.model.hardware import Accelerator
from symroof.model.library import LIBRARY
from symroof.model.mesh import COLLECTIVES
from symroof.model.written import written
from symroof.proof.evidence import played
from symroof.reading.catalogue import catalogue, chip, figure
from symroof.symbols import expression, symbol

WIDTHS = {"int4": 4, "fp4": 4, "fp6": 6, "int8": 8, "fp8": 8, "bf16": 16, "fp16": 16, "int16": 16, "fp32": 32, "int32": 32, "fp64": 64, "int64": 64}


def test_dtypes_are_as_wide_as_their_names_say():
    assert {entry.name: entry.bits for entry in DTYPES} == WIDTHS
    for entry in DTYPES:
        for alias in entry.aliases:
            digits = "".join(c for c in alias.split("_")[0] if c.isdigit())
            assert not digits or int(digits) == entry.bits or alias.startswith("e"), alias


@pytest.mark.parametrize(("alias", "name"), [("bfloat16", "bf16"), ("f32", "fp32"), ("float32", "fp32"), ("s8", "int8"), ("float8_e4m3fn", "fp8"), ("double", "fp64")])
def test_aliases(alias, name):
    assert dtype(alias).name == name


# The figures of the catalogue as the sources print them, in base units: (peak bf16, peak int8, HBM, ICI or NVLink).
PRINTED = {
    "tpu-v3": ("1.4e14", "1.4e14", "9.0e11", "1.0e11"),
    "tpu-v4p": ("2.75e14", "2.75e14", "1.2e12", "4.5e10"),
    "tpu-v5p": ("4.59e14", "9.18e14", "2.8e12", "9.0e10"),
    "tpu-v5e": ("1.97e14", "3.94e14", "8.2e11", "4.5e10"),
    "tpu-v6e": ("9.20e14", "1.84e15", "1.6e12", "9.0e10"),
    "tpu-v7x": ("2.30e15", "4.61e15", "7.4e12", "9.0e10"),
    "a100": ("3.1e14", "6.2e14", "2.0e12", "3.0e11"),
    "h100-sxm": ("9.89e14", None, "3.35e12", "4.5e11"),
    "h200": ("9.9e14", None, "4.8e12", None),
    "b200": ("2.3e15", None, "8.0e12", "9.0e11"),
}


@pytest.mark.parametrize("name", PRINTED)
def test_the_catalogue_says_what_its_sources_print(name):
    figures = chip(name).figures
    link = "ICI" if name.startswith("tpu") else "NVLink"
    for key, printed in zip(("peak.bf16", "peak.int8", "HBM", link), PRINTED[name], strict=True):
        assert (figures[key].value if key in figures else None) == (Fraction(printed) if printed else None), key


def test_every_figure_has_a_source_with_an_address_and_a_date():
    assert {"tpu-v3", "tpu-v7x", "v100", "a100", "h100-sxm", "h200", "h800", "b200", "gb200"} <= set(catalogue())
    for accelerator in catalogue().values():
        for name, known in accelerator.figures.items():
            for one in (known, *known.alternatives):
                assert "https://" in one.source, (accelerator.name, name)
                assert any(year in one.source for year in ("2020", "2022", "2024", "2025", "2026"))


def test_magnitudes_are_those_of_their_kind():
    """A slip of a prefix would show: every figure of a kind lies within four powers of ten."""
    ranges = {"peak": (10**12, 10**16), "capacity": (10**6, 10**12)}
    for accelerator in catalogue().values():
        for name, known in accelerator.figures.items():
            low, high = ranges.get(name.partition(".")[0], (10**9, 10**14))
            assert low <= known.value <= high, (accelerator.name, name)


def test_both_directions_of_a_link_are_twice_one():
    for accelerator in catalogue().values():
        if {"ICI", "ICI.bidirectional"} <= set(accelerator.figures):
            assert accelerator.figures["ICI.bidirectional"].value == 2 * accelerator.figures["ICI"].value


def test_alternatives_stay_listed():
    assert [other.digits for other in chip("tpu-v5e").figures["HBM"].alternatives] == ["8.1e11", "8.19e11"]


def test_chips_by_alias_and_in_any_case():
    assert chip("H100").name == "h100-sxm"
    assert chip("TPU v5e").name == "tpu-v5e"


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
    path.write_text("[mychip.figures]\nHBM = '1 TB/s'\n")
    with pytest.raises(sr.SymroofError, match="HBM has no source"):
        sr.derive("matmul", on="mychip", chips=str(path))


def test_figures_are_checked_by_name_and_unit():
    assert figure("peak", 5).value == 5
    for name, value in (("peak.bf17", "1"), ("HBM", True), ("HBM", "1 FLOPs/s"), ("peak", [1])):
        with pytest.raises(sr.SymroofError):
            figure(name, value)


@pytest.mark.parametrize("collective", ["all-gather", "reduce-scatter", "all-reduce"])
@pytest.mark.parametrize("chips", [2, 3, 4, 5, 8, 16])
def test_collectives_cost_what_a_ring_sends(collective, chips):
    assert COLLECTIVES[collective](chips, 1) == played(collective, chips)
    assert COLLECTIVES[collective](chips, 2) == played(collective, chips) / 2


def test_two_chips_are_never_a_ring():
    v5e = chip("tpu-v5e")
    assert [v5e.ways(chips) for chips in (2, 4, 8, 16)] == [1, 1, 1, 2]
    assert Accelerator("x", "x", {}, wraparound=2).ways(2) == 1


@pytest.mark.parametrize(
    ("text", "mesh", "found"),
    [
        ("bf16[B, D_X] * bf16[D_X, F] -> bf16[B, F]", {"X": 2}, ["all-reduce over X = 2"]),
        ("bf16[B, D_X] * bf16[D_X, F] -> bf16[B, F]", {"X": 1}, []),
        ("bf16[B, D_X] * bf16[D_X, F] -> bf16[B, F_X]", {"X": 4}, ["reduce-scatter over X = 4"]),
        ("bf16[B, D_X] * bf16[D, F] -> bf16[B, F]", {"X": 4}, ["all-gather over X = 4"]),
        ("bf16[B_X, D] * bf16[D, F] -> bf16[B_X, F]", {"X": 4}, []),
        ("bf16[B, D] * bf16[D, F_X] -> bf16[B, F_X]", {"X": 4}, []),
        ("bf16[B_X, D_Y] * bf16[D_Y, F] -> bf16[B_X, F]", {"X": 4, "Y": 2}, ["all-reduce over Y = 2"]),
    ],
)
def test_exchanges(text, mesh, found):
    assert [str(e) for e in sr.derive(text, mesh=mesh).setting.exchanges] == found


@pytest.mark.parametrize(
    "text",
    [
        "bf16[B_X, D] * bf16[D, F] -> bf16[B, F]",
        "bf16[B, D_X] * bf16[D, F_X] -> bf16[B, F]",
        "bf16[B_X, D_X] * bf16[D, F] -> bf16[B_X, F]",
    ],
)
def test_other_splits_are_refused_and_never_free(text):
    with pytest.raises(ModelError):
        sr.derive(text, mesh={"X": 4})


def test_an_axis_needs_a_size():
    with pytest.raises(ModelError, match="the mesh has no such axis"):
        sr.derive("bf16[B, D_X] * bf16[D_X, F] -> bf16[B, F]")


def test_the_split_of_another_axis_shrinks_the_message():
    d = sr.derive("bf16[B_X, D_Y] * bf16[D_Y, F] -> bf16[B_X, F]", on="tpu-v5e", mesh={"X": 4, "Y": 2}, link="ICI")
    B, F = sr.dimensions("B F")
    assert d.setting.moved == B * F / 2


# Library operations: FLOPs and bytes at one size, counted by hand from the definition of each.
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
    "tiled-matmul": ({"bm": 2, "bn": 3, "bk": 5, "tm": 7, "tn": 11, "tk": 13}, 2 * 14 * 33 * 65, 2 * (7 * 11 * 13 * (10 + 15) + 14 * 33)),
    "softmax": ({"B": 2, "N": 5}, 2 * (4 + 5 + 5 + 4 + 5), 2 * 2 * 10),
    "rms-norm": ({"B": 2, "D": 5}, 2 * (5 + 4 + 1 + 1 + 1 + 5 + 5), 2 * (10 + 5 + 10)),
}


@pytest.mark.parametrize("name", LIBRARY)
def test_library_operations_cost_what_their_definition_says(name):
    sizes, flops, moved = COUNTED[name]
    cost = LIBRARY[name].build(None).cost()
    put = {symbol(key): value for key, value in sizes.items()}
    assert (cost.flops.subs(put), cost.bytes.subs(put)) == (flops, moved)
    assert LIBRARY[name].source


def test_costs_add():
    first, second = sr.operation("matmul").cost(), sr.operation("dot").cost()
    assert (first + second).flops == first.flops + second.flops
    assert (first + second).bytes == first.bytes + second.bytes


def flops(N):
    return N + (N - 1)


def reads(N):
    return 2 * N + 2 * N


def writes(N):
    return 2


def test_cost_functions_keep_what_was_written_and_mean_the_same():
    dot = sr.Operation("dot product", flops=flops, reads=reads, writes=writes)
    assert cancel(dot.cost().intensity - sr.operation("dot").cost("exact").intensity) == 0
    assert cancelled(expression(written(flops)) - dot.amount(flops)) == 0


@pytest.mark.parametrize(
    ("function", "message"),
    [
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
    ],
)
def test_cost_functions_outside_the_class_are_refused(function, message):
    with pytest.raises(ModelError, match=message):
        sr.derive(sr.Operation("odd", flops=function, reads=reads, writes=writes))


def test_without_latexify_the_formula_is_typeset_here(monkeypatch):
    """As on Python 3.14, where latexify does not install."""
    import sys

    from symroof.rendering.formulas.latexified import typeset
    from symroof.rendering.formulas.letters import Letters

    typeset.cache_clear()
    dot = sr.Operation("dot product", flops=flops, reads=reads, writes=writes)
    with_latexify = sr.derive(dot).to_markdown()
    typeset.cache_clear()
    monkeypatch.setitem(sys.modules, "latexify", None)
    assert typeset(flops, Letters()) is None
    assert sr.derive(dot).to_markdown() == with_latexify.replace("= N + N - 1 =", "= N + (N - 1) =")
    typeset.cache_clear()


def test_bytes_that_may_vanish_are_refused():
    with pytest.raises(ModelError, match="the bytes may be zero or negative"):
        sr.derive(sr.Operation("odd", flops=flops, reads=lambda N: N - 2, writes=lambda N: 1))


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


def test_lambdas_without_a_written_form_are_typeset_by_value():
    op = sr.Operation("odd", flops=lambda N: 2 * N, reads=lambda N: N, writes=lambda N: N)
    assert "2N" in sr.derive(op).to_markdown()
    assert inspect.isfunction(op.flops)
