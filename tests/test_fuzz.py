"""Any input gives a report or one error: claims, LaTeX and documents made of pieces, and of anything."""

import contextlib
import time

import fuzz_entrances
import pytest
from effort import draws
from hypothesis import HealthCheck, given, settings, strategies as st

from symroof.errors import SymroofError
from symroof.reading.claim_sets import VERDICTS, Exercise, StatedClaim, read_exercise
from symroof.reading.claims import read_claim
from symroof.reading.latex import read_latex
from symroof.reading.latex_phrases import Dialect
from symroof.reading.macros import Macro
from symroof.reading.name_scope import Scope
from symroof.verification.claim_context import context_of
from symroof.verification.files import judge_file
from symroof.verification.formula_claims import read_formula, unread
from symroof.verification.judge import judge_stated

pytestmark = pytest.mark.part(6)

CONTEXT = context_of(
    read_exercise({"operation": "bf16[B, D] * bf16[D, F] -> bf16[B, F]", "hardware": "tpu-v5e", "assume": "B << D, F"})
)
OPEN = context_of(Exercise())
PIECES = [
    "B", "D", "F", "BDF", "flops", "bytes", "intensity", "T_math", "T_comms", "ridge", "1", "2", "240", "1.97e14", "0", "0.5", "oo", "(", ")", "+", "-", "*",
    "/", "^", "=", "~", "->", "<", "<=", ">", ">=", "<<", ">>", "=>", "<=>", " ", " ", ",", "and", "as", "assuming", "at", "when", "never", "always",
    "compute-bound", "max(", "min(", "sqrt(", "sum(", "argmin(", "limit(", "sup(", "diff(", "log(", "exp(", "floor(", "abs(", "3 ms", "2 GB", "50%", "i", "N",
]  # fmt: skip
COMMANDS = [
    r"\frac", r"\sqrt", "{", "}", r"\cdot", r"\times", r"\max(", r"\text{FLOPs}", r"\text{Unsinn}", r"T_\text{math}", r"\\", "&", r"\left(", r"\right)",
    r"\approx", r"\iff", r"\implies", r"\to", r"\infty", r"\lceil", r"\rceil", "_", "'", r"\ll", r"\begin{align}", r"\end{align}", r"10^{14}", "$", "%", "\\",
    r"\sum_{i=1}^{N}", r"\dots", "+ ", "|", r"\frac{d}{dX}", r"\partial", r"\begin{cases}", r"\end{cases}", r"\text{if }", r"\text{otherwise}", r"\underbrace{B}_{x}", r"\quad", r"\mu s",
    "32,768", r"\text{ GB}", r"\text{batch size}", "k", "M", "bsh", "²", "₁", "(X)", r"T_\text{a b}", r"\foo", r"\mac{3}", r"\def\x{3}", "[", "]", r"\log_2", r"\%",
]  # fmt: skip
MARKUP = [
    "$", "$$", "`", "```", "\n", "\n\n", "<!--", "-->", "<!-- symroof", "operation = \"matmul\"", "hardware = 'tpu-v5e'", "ignore", "expect = 'wrong'", "is = 'flops'",
    "claims = ['1 = 1']", "---", "# A", "- ", "> ", "|", "{% x %}", "\\[", "\\]", "\\(", "\\)", "<b>", "ß", "필", "\x00", "\r\n", "% symroof: ",
]  # fmt: skip

MACROS = {"mac": Macro("W_{#1}", 1), "x": Macro(r"\mac{3} \x")}
DIALECT = Dialect(Scope(("T_math", "flops"), open=True, indices=True, letters=frozenset("bshX")), {}, MACROS)
QUICK = settings(max_examples=draws(40), deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)


def joined(pieces, longest=14):
    return st.lists(st.sampled_from(pieces), max_size=longest).map("".join)


@QUICK
@given(joined(PIECES) | joined(PIECES).map(lambda text: f"flops {text}") | st.text(max_size=40))
def test_any_claim_is_judged(text):
    for context in (CONTEXT, OPEN):
        assert judge_stated(StatedClaim(text), context, Exercise()).verdict in VERDICTS


@QUICK
@given(
    st.tuples(joined(PIECES[:30], 6), st.sampled_from(["=", "~", "<", "<=>", "->", "<<"]), joined(PIECES[:30], 6)).map(
        " ".join
    )
)
def test_any_pair_of_sides_is_judged(text):
    assert judge_stated(StatedClaim(text), OPEN, Exercise()).verdict in VERDICTS


@QUICK
@given(joined(COMMANDS + PIECES[:24], 16) | st.text(max_size=40))
def test_any_latex_is_read_or_refused_at_a_place(text):
    fault = None
    try:
        read_latex(text, DIALECT)
    except SymroofError as error:
        fault = error
    with contextlib.suppress(SymroofError):
        claims, _ = read_formula(text, [DIALECT])
        assert any(unread(link.right) is None for claim in claims for link in claim.links)
        assert fault is not None or claims == read_latex(text, DIALECT)
    if fault is not None:
        assert str(fault)
        assert fault.span is None or 0 <= fault.span[0] <= len(text)


@QUICK
@given(text=joined(MARKUP + COMMANDS[:20] + PIECES[:24], 40), suffix=st.sampled_from([".md", ".tex", ".txt"]))
def test_any_document_gives_a_report_or_one_error(tmp_path_factory, text, suffix):
    path = tmp_path_factory.mktemp("fuzz") / f"x{suffix}"
    path.write_text(text, "utf-8", newline="")
    report = judge_file(path)
    assert report.error is None or report.error.startswith(str(path))
    for judgement in report.judgements:
        assert 1 <= judgement.line <= text.count("\n") + text.count("\r") + 1


@QUICK
@given(data=st.binary(max_size=200), suffix=st.sampled_from([".md", ".tex", ".toml"]))
def test_any_bytes_give_a_report_or_one_error(tmp_path_factory, data, suffix):
    path = tmp_path_factory.mktemp("fuzz") / f"x{suffix}"
    path.write_bytes(data)
    report = judge_file(path)
    assert report.error is None or str(path) in report.error


@pytest.mark.parametrize(
    "text",
    [
        "(" * 200 + "1" + ")" * 200 + " = 1", "1" + "+1" * 1500 + " = 1", "2^" * 200 + "2 = 1", "9^9^9^9^9 = 1", "10^10000 = 1", "(A+B)^32 * (A+B)^32 * (A+B)^32 = C",
        "sum(i^9, i, 1, 10^9) = N", "sum(1/i, i, 1, 10^9) = N", "max(" + ",".join("AB" for _ in range(300)) + ") = A", "A" * 1000 + " = B", "not " * 3000 + "A = A", "(" * 300 + "A = A" + ")" * 300, "(" * 40 + "A = A or" + ")" * 40,
        "sqrt(sqrt(sqrt(A + sqrt(B)))) = C", "exp(exp(exp(10))) = 3", "log(0) = 1", "1/0 = 1", "0/0 = 0/0", "floor(exp(100)) = 3",
        "A^B^C^D = 1", "argmin(A^20/X + X^20, X) = 1", "-1 = abs(1)", "1e9999 = 1", "1e99999999 = 1", "sqrt(0 - 1) = 1", "A = A at A = A", "A = B at A = B, B = A",
    ],
)  # fmt: skip
def test_hard_inputs_end_in_time(text):
    import time

    started = time.perf_counter()
    assert judge_stated(StatedClaim(text), OPEN, Exercise()).verdict in VERDICTS
    assert time.perf_counter() - started < 20


@pytest.mark.parametrize("name", fuzz_entrances.ENTRANCES)
def test_whatever_comes_in_at_an_entrance_gives_an_answer_or_one_error(name):
    """A few inputs of each; continuous integration tries a minute of them, and a million are tried by hand."""
    found, tried = fuzz_entrances.findings(name, seed=3, count=12, seconds=1)
    assert tried
    assert found == []


@pytest.mark.thorough
def test_a_finding_is_found():
    """A fuzzer that finds nothing in a broken entrance would prove nothing."""

    def hangs(_text):
        start = time.process_time()
        while time.process_time() < start + 2.2:
            pass

    broken = {
        "raises": lambda _text: 1 / 0,
        "hangs": hangs,
        "evaluates": lambda _text: fuzz_entrances.CANARY.write_text("x"),
    }
    for ask in broken.values():
        assert fuzz_entrances.finding(fuzz_entrances.Entrance(ask, ("x",)), "x")


def test_reading_is_pure():
    """Nothing in a claim is evaluated as code."""
    for text in ("__import__('os') = 1", "eval(1) = 1", "B.__class__ = 1", "flops = lambda x", "exec = 1"):
        with pytest.raises(SymroofError):
            read_claim(text, CONTEXT.scope)
