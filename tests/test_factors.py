"""A tensor times numbers and sizes: one operation for each element, whatever the factor, forward and backward."""

import pytest
from test_training import require_lawful, trained

from symroof.errors import ReadingError
from symroof.model.program_quantities import amounts
from symroof.reading.programs import read_program

HEAD = "input q: bf16[B, T, H]; input k: bf16[B, S, H]; s = q * k -> bf16[B, T, S]; "
# What is written, and how it is printed.
FACTORS = {
    "0.5 * s": "s * 0.5",
    "s * 0.5": "s * 0.5",
    "s * 3": "s * 3",
    "s / 8": "s / 8",
    "s / H": "s / H",
    "s / sqrt(H)": "s / sqrt(H)",
    "s * (1/sqrt(H))": "s / sqrt(H)",
    "s * (1/H)": "s / H",
    "s * (H)": "s * (H)",
    "s * (2*H + 1)": "s * (2*H + 1)",
    "s / (2*H)": "s / (2*H)",
    "s / (H*T)": "s / (H*T)",
    "s * (H/T)": "s * (H/T)",
    "s / 0.125": "s / 0.125",
    "s * (1/(1/H))": "s / (1/H)",
    "s / sqrt(H) -> fp32[B, T, S]": "s / sqrt(H) -> fp32[B, T, S]",
    "s[S -> U] * 0.5": None,
}


@pytest.mark.parametrize("written", FACTORS)
def test_a_factor_is_one_operation_for_each_element(written):
    text = f"{HEAD}y = {written}; z = silu(y)"
    program = read_program(text)
    if FACTORS[written] is not None:  # a view is a statement more
        _, arrow, stated = written.partition(" -> ")
        plain = f"{HEAD}y = scale(s){arrow}{stated}; z = silu(y)"
        assert amounts(program, "fma") == amounts(read_program(plain), "fma")
        assert amounts(trained(text), "fma") == amounts(trained(plain), "fma")
    if FACTORS[written] is not None:
        assert f"y = {FACTORS[written]}" in str(program).split("\n")
    require_lawful(text)


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("s / q", "/ stands between no tensors"),
        ("s / Q", "Q is no size"),
        ("s * (q)", "q is no size"),
        ("0.5 * s * s", "a factor of sizes goes with one tensor"),
        ("s / 2 * s", "a factor of sizes goes with one tensor"),
        ("s * s * 0.5", "0.5 is a number, and no tensor"),
        ("0.5", "0.5 is a number, and no tensor"),
        ("s / 0", "0 is no factor"),
        ("0 * s", "0 is no factor"),
        ("s / -2", "a number, or sizes in parentheses"),
        ("s / sqrt(", "a formula of sizes"),
        ("s * 0.5 -> bf16[B, T]", "the dimensions of bf16[B, T, S]"),
    ],
)
def test_what_is_no_factor_is_told(written, said):
    with pytest.raises(ReadingError) as caught:
        read_program(f"{HEAD}y = {written}; z = relu(y)")
    assert said in str(caught.value)
