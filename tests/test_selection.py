"""Which formulas of a document claim something: by what is known of their names, and by what they say."""

from pathlib import Path

import pytest

from symroof.reading.claim_sets import read_exercise
from symroof.reading.claims import read_claim
from symroof.reading.documents import read_text
from symroof.verification.claim_context import context_of
from symroof.verification.document_claims import judge_read
from symroof.verification.selection import skipped

PRODUCT = {"operation": "bf16[B, D] * bf16[D, F] -> bf16[B, F]"}
KNOWN = {
    "nothing": {},
    "operation": PRODUCT,
    "chip": {**PRODUCT, "hardware": "tpu-v5e"},
    "model": {"let": {"work": "2BDF"}},
    "figures": {"hardware": "tpu-v5e"},
}

# What is known; the formula; why it is skipped, None where it is judged.
FORMULAS = [
    *(("nothing", formula, None) for formula in ["486/2 = 243", "1/3 ~ 0.33", "2 < 3", "A + B > A", "A > A + B", "(B + C) A = AB + AC", "BDF/(DF) = B", "AB/B = A", "AB = BA", "A + 1 = A", "(A + B)^2 = A^2 + B^2", "A(B + C) = AB + AC", "BF/(6BF) = 1/3", "log(A B) = log(A) + log(B)", "AB/(A+B) ~ A", "A + B ~ A", "log(A) = log(A)", "intensity = flops/bytes", "T_lower = max(T_math, T_comms)", "T_upper = T_math + T_comms", "T_lower = T_math", "T_lower <= T_upper", "ridge = peak/bandwidth", "T_lower ~ T_math", "2 T_lower >= T_upper"]),
    *(("nothing", formula, "assumption") for formula in ["B << D", "N -> oo"]),
    *(("nothing", formula, "operation") for formula in ["h -> 4h", "X -> Y"]),
    *(("nothing", formula, "condition") for formula in ["B > 240", "240 > B", "A + B > C", "T_math > T_comms"]),
    *(("nothing", formula, "definition") for formula in ["S = 2N", "A = A", "flops = 2BDF", "flops = 240"]),
    *(("nothing", formula, "other_letters") for formula in ["2N = S", "sqrt(A) = B"]),
    *(("nothing", formula, "function") for formula in ["f(N) = 3", "f(N) = N + f(N)", "T(N) = 2T(N/2) + N"]),
    *(("nothing", formula, "equation") for formula in ["A^2 = 2A", "x^2 = 4x", "A ~ 3", "A/B ~ 3", "3 ~ A"]),
    *(("nothing", formula, "letters_alone") for formula in ["A B ~ A"]),
    *(("nothing", formula, "letters_added") for formula in ["A ~ A B"]),
    *(("nothing", formula, "no_meaning") for formula in ["intensity ~ B"]),
    *(("operation", formula, None) for formula in ["flops = 2BDF", "intensity ~ B", "bytes = reads + writes", "T_math = 2BDF/peak", "T_math = flops/peak", "bytes > reads", "BDF/(DF) = B", "BF(2D - 1) = 2BDF", "BF(2D-1) ~ 2BDF", "BD + 1 = BD"]),
    *(("operation", formula, "size") for formula in ["B = 16", "B = D", "B = 2D"]),
    *(("operation", formula, "at_sizes") for formula in ["flops = 100", "100 = flops", "flops ~ 100"]),
    *(("operation", formula, "equation") for formula in ["flops = bytes", "flops ~ bytes", "reads = writes"]),
    *(("operation", formula, "no_chip") for formula in ["T_math = 2BDF", "T_lower = T_math + T_comms", "ridge = 240"]),
    *(("operation", formula, "condition") for formula in ["T_math > T_comms", "flops < bytes"]),
    *(("operation", formula, "other_letters") for formula in ["B D = D F", "D/2 = 4096"]),
    *(("chip", formula, None) for formula in ["ridge = 240", "T_lower = T_math + T_comms", "T_math = 2BDF/1.97e14", "HBM = 8.2e11", "peak = 1.97e14", "T_lower = 2 T_math", "T_upper = T_lower"]),
    *(("chip", formula, "at_sizes") for formula in ["intensity = ridge", "T_math = 3"]),
    *(("chip", formula, "equation") for formula in ["T_lower = T_math", "T_upper ~ T_lower"]),
    *(("chip", formula, "condition") for formula in ["intensity > ridge"]),
    *(("model", formula, None) for formula in ["work = 2BDF", "work/(2BD) = F", "work ~ 2BDF", "work > BDF"]),
    *(("model", formula, "at_sizes") for formula in ["work = 3"]),
    *(("model", formula, "definition") for formula in ["N = work"]),
    *(("figures", formula, None) for formula in ["HBM = 8.2e11", "bandwidth = 8.2e11", "T_comms = bytes/8.2e11"]),
    *(("figures", formula, "definition") for formula in ["ridge = 240"]),
]  # fmt: skip


def skip_of(known, formula, **options):
    context = context_of(read_exercise(KNOWN[known]))
    (link,) = read_claim(formula, context.scope).links
    return skipped(context.question(link), **options)


@pytest.mark.parametrize(("known", "formula", "reason"), FORMULAS)
def test_a_formula_is_judged_or_skipped_for_its_reason(known, formula, reason):
    skip = skip_of(known, formula)
    assert (skip and skip.reason.kind) == reason


def test_what_a_definition_defines():
    assert [skip_of("nothing", f).defines for f in ("S = 2N", "flops = 2BDF", "2N = S", "B > 240")] == [
        "S",
        "flops",
        None,
        None,
    ]


def test_a_link_that_goes_on_from_one_before_it_is_judged():
    """In S = 2N = N + N + 1 the last link is an identity, and a false one; alone it would be an equation to be solved."""
    for formula in ("A^2 = 2A", "x^2 = 4x"):
        assert skip_of("nothing", formula).reason.kind == "equation"
        assert skip_of("nothing", formula, chained=True) is None
    assert skip_of("nothing", "A^2 = B", chained=True).reason.kind == "other_letters"
    assert skip_of("nothing", "AB = A", chained=True) is None
    assert skip_of("nothing", "AB = A").reason.kind == "other_letters"


def test_a_size_that_has_a_value_is_put_in_again():
    from symroof.formula import number

    context = context_of(read_exercise(PRODUCT)).at([("B", number(16))])
    for formula, reason in (("B = 16", "size"), ("2B = 32", None), ("16 = B", None)):
        (link,) = read_claim(formula, context.scope).links
        skip = skipped(context.question(link))
        assert (skip and skip.reason.kind) == reason


@pytest.mark.parametrize("shapes", ["$[b, 4h] \\times [h, h] = [b, h]$", "(8 x 64) * (64 x 16) = (8 x 16)"])
def test_a_product_of_shapes_is_no_arithmetic(shapes):
    report = judge_read(read_text(f"We have {shapes} here."), Path())
    assert report.judgements == ()
    assert [skip.reason.kind for skip in report.skipped] == ["operation"]
