"""Operations that are given by formulas of their costs, without any Python."""

from fractions import Fraction

import pytest
from test_model import flops, reads, writes

import symroof as sr
from symroof.errors import CheckError, SymroofError
from symroof.model.given_costs import CostFormula

VECTOR = {"compute": "fp64", "vector": True}
SPARSE = {
    "operation": "CSR product",
    "flops": "2*nnz",
    "reads": "(8 + 4)*nnz + 4*(M + 1) + 8*N",
    "writes": "8*M",
    **VECTOR,
}
STENCIL = {"operation": "7-point stencil", "flops": "8N^3", "reads": "8N^3", "writes": "8N^3", **VECTOR}
BUTTERFLIES = {"operation": "radix-2 stage", "flops": "10*(n/2)", "reads": "8*n + 8*(n/2)", "writes": "8*n", **VECTOR}
BUTTERFLIES |= {"compute": "fp32"}
QUADRATIC = {"operation": "f", "flops": "400N*K", "reads": "N^2 + K", "writes": 1, "compute": "bf16", "solve_for": "N"}


def by_hand(nnz, M, N):
    """Two FLOPs for an element; a value of 8 bytes, an index of 4, row pointers, and both vectors once."""
    return Fraction(2 * nnz, sum(12 for _ in range(nnz)) + 4 * (M + 1) + 8 * N + 8 * M)


@pytest.mark.parametrize("sizes", [(5, 3, 2), (100, 7, 11), (1, 1, 1)])
def test_the_intensity_is_that_of_the_loop(sizes):
    point = ",".join(f"{name}={size}" for name, size in zip(("nnz", "M", "N"), sizes, strict=True))
    answer = sr.derive(SPARSE | {"hardware": "h100", "at": point}).answer.at[0]
    assert Fraction(str(answer.intensity)) == by_hand(*sizes)


def test_formulas_and_functions_are_the_same_operation():
    given = {"hardware": "tpu-v5e", "compute": "bf16", "assume": "N -> oo"}
    in_python = sr.derive(sr.Operation("dot product", flops=flops, reads=reads, writes=writes), **given)
    written = sr.derive({"operation": "dot product", "flops": "N + (N - 1)", "reads": "2N + 2N", "writes": 2}, **given)
    assert written.to_text() == in_python.to_text()
    assert written.to_dict()["answer"] == in_python.to_dict()["answer"]


@pytest.mark.parametrize(
    ("problem", "claims"),
    [
        (SPARSE, {"flops = 2*nnz": "holds", "intensity < 1/6": "holds", "bytes = 12*nnz": "wrong", "compute-bound never": "holds"}),
        (STENCIL, {"intensity = 1/2": "holds", "bytes = 8N^3": "wrong"}),
        (BUTTERFLIES, {"intensity = 1/4": "holds", "flops = 5n": "holds", "writes = reads": "wrong"}),
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", [{}, {"operation": ""}, {"operation": "mine"}, {"title": "mine"}], ids=str)
def test_claims_on_it_are_judged(problem, claims, name, tmp_path):
    """With a name or without one, in a table and below the comment of a document; and it is derived alike."""
    stated = {key: value for key, value in problem.items() if key != "operation"} | name | {"hardware": "h100"}
    report = sr.verify(stated | {"claims": list(claims)})
    assert [judgement.verdict for judgement in report.judgements] == list(claims.values())
    said = "\n".join(f"{key} = {str(value).lower() if value is True else repr(value)}" for key, value in stated.items())
    (tmp_path / "a.md").write_text(
        f"<!-- symroof\n{said}\n-->\n\n" + "\n\n".join(f"`{claim}`" for claim in claims), "utf-8"
    )
    below = [one.verdict for one in sr.verify(tmp_path / "a.md").judgements]
    assert below == [v for claim, v in claims.items() if "bound" not in claim]
    assert sr.derive(stated).answer == sr.derive(problem, on="h100").answer


def test_costs_that_are_not_what_was_written_are_refused(monkeypatch):
    real = CostFormula.__call__
    monkeypatch.setattr(CostFormula, "__call__", lambda self, *sizes, **named: 2 * real(self, *sizes, **named))
    with pytest.raises(CheckError):
        sr.derive(SPARSE, on="h100")


def test_a_term_that_may_be_below_a_constant_one_is_in_the_bracket():
    """The intensity 1/(6 + 6M/nnz + …) is below nnz/(6M) as well, which is less than 1/6 where M is more than nnz."""
    text = sr.derive(SPARSE, on="h100").to_text(unicode=False)
    assert "stays below each of 1/6, nnz/(6M) and nnz/(4N)" in text


def test_a_condition_that_always_holds_is_no_guard():
    """400NK > R(N^2 + K + 1) has roots where its discriminant is positive; that 400K is, goes without saying."""
    text = sr.derive(QUADRATIC, on="tpu-v5e").to_text(unicode=False)
    assert "if 40000K^2 > ridge^2 (K + 1)\n" in text
    assert "0*0" not in text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"writes": None}, "writes"),
        ({"flops": "2*nnz +"}, "flops: "),
        ({"flops": "gcd(nnz)"}, "flops: unknown name 'gcd'"),
        ({"flops": True}, "flops = True is not a formula"),
        ({"vector": 3}, "vector = 3 is not true or false"),
        ({"reads": "bytes"}, "bytes"),
        ({"flops": "0"}, "no arithmetic"),
        ({"flops": "sqrt(nnz)"}, "rational function"),
        ({"operation": None, "writes": None}, "lack writes"),
        ({"flops": None, "operation": None}, "lack flops"),
        ({"flops": "1/0*nnz"}, "zero"),
    ],
)  # fmt: skip
def test_a_fault_in_it_is_one_clear_error(change, message):
    problem = {key: value for key, value in (SPARSE | change).items() if value is not None}
    with pytest.raises(SymroofError, match=message):
        sr.derive(problem)
