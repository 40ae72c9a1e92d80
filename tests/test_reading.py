"""The corpora: every valid text gives its canonical form, every invalid one its error, word for word, at its column."""

import contextlib
import re
import tomllib
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

import symroof as sr
from symroof.derivation.premises import setting_of
from symroof.errors import ReadingError, SymroofError
from symroof.model.quantities import TIMES, UNITS
from symroof.reading.claims import read_regime
from symroof.reading.expressions import Scope, read_expression
from symroof.reading.grids import read_bindings
from symroof.reading.keys import KEYS, having
from symroof.reading.numbers import quantity
from symroof.reading.operations import read_operation
from symroof.reading.problems import read_problem
from symroof.reading.scanner import scan
from symroof.reading.toml import claim_places
from symroof.rendering.formulas.plain import PlainPrinter
from symroof.symbols import expression

DATA = Path(__file__).parent / "data"
OPERATIONS, EXPRESSIONS, REGIMES = (
    tomllib.loads((DATA / f"{name}.toml").read_text("utf-8")) for name in ("operations", "expressions", "regimes")
)
SCOPE = Scope(("B", "D", "F", "T_math", "bm"))
EXPLICIT = PlainPrinter(explicit=True)


@pytest.mark.parametrize("case", OPERATIONS["valid"], ids=lambda case: case["text"][:40])
def test_valid_operation(case):
    operation = sr.operation(case["text"], dtype=case.get("dtype"))
    assert str(operation) == case["canonical"]
    assert sr.operation(str(operation)) == operation


@pytest.mark.parametrize("case", OPERATIONS["invalid"], ids=lambda case: case["text"][:40])
def test_invalid_operation(case):
    with pytest.raises(ReadingError) as caught:
        read_operation(case["text"])
    assert (caught.value.problem, caught.value.column) == (case["error"], case["column"])
    assert caught.value.source == case["text"]


@pytest.mark.parametrize(("text", "explicit"), EXPRESSIONS["valid"].items())
def test_valid_expression(text, explicit):
    formula = read_expression(text, SCOPE)
    assert EXPLICIT.print(formula) == explicit
    if "%" not in text and "ms" not in text:
        assert expression(read_expression(explicit, SCOPE)) == expression(formula)


@pytest.mark.parametrize(("text", "fault"), EXPRESSIONS["invalid"].items())
def test_invalid_expression(text, fault):
    with pytest.raises(ReadingError) as caught:
        read_expression(text, SCOPE)
    assert [caught.value.problem, caught.value.column] == fault


def test_a_word_that_splits_in_two_ways_is_refused():
    with pytest.raises(ReadingError, match="abc has two readings"):
        read_expression("abc", Scope(("a", "ab", "bc", "c")))


def test_without_an_operation_capitals_declare_themselves():
    assert EXPLICIT.print(read_expression("2BDF/M_X", Scope(open=True))) == "2*B*D*F/M_X"


@pytest.mark.parametrize(("text", "relations"), REGIMES["valid"].items())
def test_valid_regime(text, relations):
    assert [EXPLICIT.print(relation) for relation in read_regime(text, SCOPE)] == relations


@pytest.mark.parametrize(("text", "fault"), REGIMES["invalid"].items())
def test_invalid_regime(text, fault):
    with pytest.raises(ReadingError) as caught:
        read_regime(text, SCOPE)
    assert [caught.value.problem, caught.value.column] == fault


@pytest.mark.parametrize(
    ("text", "unit", "value", "digits"),
    [
        ("8.2e11", "bytes/s", 820_000_000_000, "8.2e11"),
        ("8.20e11 bytes/s", "bytes/s", 820_000_000_000, "8.20e11"),
        ("3.35TB/s", "bytes/s", 3_350_000_000_000, "3.35e12"),
        ("819 GB/s", "bytes/s", 819_000_000_000, "8.19e11"),
        ("197 TFLOPs/s", "FLOPs/s", 197_000_000_000_000, "1.97e14"),
        ("3.94e14 OPs/s", "FLOPs/s", 394_000_000_000_000, "3.94e14"),
        ("128 MiB", "bytes", 2**27, "134217728"),
        ("1200 GB/s", "bytes/s", 1_200_000_000_000, "1.2e12"),
        ("100", "bytes/s", 100, "100"),
        ("0.5", "bytes/s", Fraction(1, 2), "0.5"),
    ],
)
def test_quantities_are_exact_and_remember_their_digits(text, unit, value, digits):
    found = quantity(text, unit)
    assert (found.value, found.digits) == (value, digits)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("8.2e11 FLOPs/s", "the unit is FLOPs/s"),
        ("8.2e11 bytes", "the unit is bytes"),
        ("0", "0 is not positive"),
        ("-3", "unexpected '-'"),
        ("8.2e11 GBps", "unexpected 'GBps'"),
        ("fast", "unexpected 'fast'"),
        ("1e9999999", "the exponent of 1e9999999 is too large"),
        ("nan", "unexpected 'nan'"),
    ],
)
def test_quantities_refuse(text, problem):
    with pytest.raises(ReadingError) as caught:
        quantity(text, "bytes/s")
    assert caught.value.problem == problem


def test_every_unit_is_in_its_base_unit():
    """A row for each: prefixes are powers of 1000, or of 1024 with an i."""
    prefixes = {prefix: 1000 ** (i + 1) for i, prefix in enumerate("kMGTPE")}
    prefixes |= {f"{prefix}i": 1024 ** (i + 1) for i, prefix in enumerate("KMGTP")}
    times = {
        "s": 1,
        **{unit: Fraction(1, 10**e) for unit, e in (("ms", 3), ("us", 6), ("µs", 6), ("μs", 6), ("ns", 9))},
    }
    times |= {"minute": 60, "sec": 1, "second": 1, "hour": 3600, "day": 24 * 3600, "year": 365 * 24 * 3600}
    prefixes |= {"K": 10**3, "ki": 2**10, "": 1}
    for name, unit in UNITS.items():
        if unit.base == "s":
            assert unit.scale == times[name if name in times else name.removesuffix("s")]
        elif unit.base == "1":
            assert unit.scale == 1
        else:
            nouns = {"bps": "bytes/s", **dict.fromkeys(("bytes", "Bytes", "byte", "bits", "bit", "B"), "bytes")}
            nouns |= dict.fromkeys(("FLOPs", "FLOPS", "FLOP", "OPs", "OPS", "OP"), "FLOPs")
            nouns |= {"watts": "J/s", "watt": "J/s", "W": "J/s", "Wh": "J", "joules": "J", "joule": "J", "J": "J"}
            nouns |= {"Hz": "1/s", "T/s": "1/s"}
            noun = next(n for n in nouns if name.endswith(n))
            small = {"m": 10**3, "u": 10**6, "n": 10**9, "p": 10**12}.get(name.removesuffix(noun))
            each = {"Wh": 3600}.get(noun, 1)
            scale = Fraction(1, small) if small else Fraction(prefixes[name.removesuffix(noun)] * each)
            assert unit.scale == scale / (8 if noun[:2] in ("bi", "bp") else 1)
            assert unit.base == nouns[noun]
    assert [unit.scale for unit in TIMES] == sorted((unit.scale for unit in TIMES), reverse=True)


def test_bindings():
    assert read_bindings("D=F=8192,B=256", SCOPE) == {"D": 8192, "F": 8192, "B": 256}
    for text in ("D", "D=", "D=F", "D=1,D=2", "Q=1", "D=-1", "D=0", "D=5ms", "D=1 F=2"):
        with pytest.raises(ReadingError):
            read_bindings(text, SCOPE)


@given(st.text(max_size=60))
def test_no_text_breaks_a_reader(text):
    """Whatever is typed: a value or a SymroofError, and nothing else."""
    for read in (
        lambda: read_operation(text),
        lambda: read_expression(text, SCOPE),
        lambda: read_regime(text, SCOPE),
        lambda: quantity(text, "bytes/s"),
    ):
        with contextlib.suppress(SymroofError):
            read()


@given(st.text(alphabet="BDF[]bf16,*->:._^0123456789 ()\\", max_size=40))
def test_no_text_of_the_alphabet_breaks_a_reader(text):
    for read in (lambda: read_operation(text), lambda: read_expression(text, SCOPE), lambda: read_regime(text, SCOPE)):
        with contextlib.suppress(SymroofError):
            read()


def test_options_of_python_are_those_of_problem_files():
    """The record of keyword options has the keys of problems; a mistyped one is refused with the nearest name."""
    from symroof.reading.arguments import Options

    assert set(Options.__annotations__) < set(KEYS)
    with pytest.raises(ReadingError, match="unknown key 'asume'") as caught:
        sr.derive("matmul", asume="B << D")
    assert caught.value.hint == "did you mean assume?"


COSTS = ("flops", "reads", "writes", "vector")


@pytest.mark.parametrize("key", [key for key in KEYS if key not in (*COSTS, "operation", "statement")])
def test_every_entrance_reads_a_key_or_refuses_it_by_name(key, run, tmp_path):
    """A value that no key has is refused by the name of the key, or of its flag: by Python, of a file, of a comment, of a
    block, of the settings of a folder, and on a command line."""
    page, block = ((tmp_path / name).mkdir() or tmp_path / name / "page.md" for name in ("one", "two"))
    problem, claims = f"operation = 'matmul'\n{key} = [[1]]\n", "" if key == "claims" else "claims = ['1 = 1']\n"
    page.write_text(f"<!-- symroof\n{problem}{claims}-->\n")
    block.write_text(
        "<!-- symroof derive\noperation = 'matmul'\n-->\n<!-- symroof end -->\n<!-- symroof\n-->\n$1 = 1$\n"
    )
    (block.parent / "symroof.toml").write_text(f"['*.md']\n{key} = [[1]]\n")
    (tmp_path / "p.toml").write_text(problem + claims)
    asks = [("verify", tmp_path / "p.toml"), ("verify", page)]
    if key not in having("claims") and key != "claims":
        asks += [("derive", tmp_path / "p.toml"), ("build", "--stdout", block)]
    with pytest.raises(SymroofError, match=f"^{key}\\b"):
        sr.derive("matmul", **{key: [[1]]})
    if KEYS[key].metavar is not None:
        asks.append(("derive", "matmul", KEYS[key].flag, ""))
    for words in asks:
        done = run(*map(str, words))
        told = done.out + done.err
        assert done.code, words
        assert KEYS[key].flag in words or re.search(rf"\b{key.removesuffix('s')}", told), (words, told)


@pytest.mark.thorough
def test_figures_are_put_over_those_of_a_chip_in_every_form():
    """A name, a table and a chip of the catalogue; and a problem that was read is asked on another chip."""
    from symroof.reading.problems import read_problem

    chip = sr.list_chips()["tpu-v5e"]
    figures = {name: f"{known.digits} {known.unit}" for name, known in chip.figures.items()}
    for on in ("tpu-v5e", chip, figures):
        problem = sr.derive("matmul", on=on, given={"HBM": "4.1e11"}).setting.problem
        assert problem.hardware.figures["HBM"].digits == "4.1e11"
    problem = read_problem({"operation": "matmul", "hardware": "tpu-v5e"})
    for on in ("h100-sxm", sr.list_chips()["h100-sxm"]):
        assert sr.derive(problem, on=on).setting.problem.hardware.name == "h100-sxm"


@pytest.mark.parametrize("name", ["a-b", "a b", "1x", "assuming", "T_math", ""])
def test_a_named_formula_has_a_name_of_its_own(name):
    with pytest.raises(SymroofError, match="is taken or is no name"):
        sr.derive("matmul", let={name: "T_math + T_comms"})


@pytest.mark.parametrize("name", ["a-b", "a b", "1x", "assuming", "B*D", ""])
def test_a_symbol_is_a_name(name):
    with pytest.raises(ReadingError, match="is no name"):
        sr.derive("matmul", symbols=[name])
    with pytest.raises(ReadingError, match="is no name"):
        sr.verify({"symbols": [name], "claims": ["1 = 1"]})


@pytest.mark.parametrize("text", ["(B)2", "B^D2 3", "2(B)3", "max(B, D)2"])
def test_a_number_does_not_go_on_from_what_stands_before_it(text):
    with pytest.raises(ReadingError):
        read_expression(text, SCOPE)


@pytest.mark.thorough
def test_what_is_said_of_a_problem_that_was_read_replaces_what_it_says():
    text = "bf16[B, D_X] * bf16[D_X, F] -> bf16[B, F]"
    base = {"operation": text, "hardware": "tpu-v5e", "mesh": {"X": 4}, "link": "ICI", "solve_for": "D"}
    asked = {"mesh": "X=8 line", "link": "HBM", "at": "D=F=8192", "given": {"HBM": "1e12"}}
    asked |= {"count": "exact", "title": "other", "let": {"T": "T_math"}}
    problem = read_problem(base)

    def asked_of(table):  # with the mesh wired
        return setting_of(read_problem(table)).problem

    assert sr.derive(problem, **asked).setting.problem == asked_of({**base, **asked})
    assert sr.derive(problem, on="tpu-v5p").setting.problem == asked_of({**base, "hardware": "tpu-v5p"})
    assert sr.derive(problem).setting.problem == asked_of(base)
    named = read_problem({"operation": "matmul", "symbols": ["n"], "let": {"twice": "2n"}})
    assert sr.derive(named, assume="B << n").setting.problem.let == named.let


def test_the_nearest_unit_is_offered():
    with pytest.raises(SymroofError, match="did you mean TB"):
        sr.derive("matmul", given={"HBM": "8 TBs"})


def test_claims_of_a_file_end_where_their_list_does():
    text = 'claims = ["1 = 1", { claim = "2 = 2" }]\nhardware = "tpu-v5e"\n[[problems]]\nclaims = ["3 = 3"]\nassume = ["B << D"]\n'
    assert [(claim, text[place : place + len(claim)]) for place, claim in claim_places(text)] == [
        (c, c) for c in ("1 = 1", "2 = 2", "3 = 3")
    ]


def test_commas_group_digits_only_where_that_is_said():
    assert [t.text for t in scan("max(12,300)")][2:5] == ["12", ",", "300"]
    assert [t.text for t in scan("x = 12,300", grouping=True)][2:] == ["12300", ""]
