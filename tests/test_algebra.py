"""Decisions of the algebra that the laws do not draw: refusals, edges, certificates."""

import random
from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given, settings, strategies as st
from sympy import Max, Min, Rational, exp, oo, sqrt

from symroof.algebra.dominance import approach, approximation, leading_form, limit, reciprocals, similarity_of
from symroof.algebra.polyhedron import maximise
from symroof.algebra.rational import cancel, ratio, sign, sign_of
from symroof.algebra.regime import Regime
from symroof.algebra.roots import real_roots
from symroof.algebra.rounding import decimal, to_digits, to_places
from symroof.algebra.solvers import growth, monotony, solve_for
from symroof.derivation.solving import ceiling_of, solution_of, solve_condition, supremum
from symroof.errors import AlgebraError, ContradictionError
from symroof.symbols import symbol

B, D, F, N, R = map(symbol, "BDFNR")
DIMS = frozenset({B, D, F, N})
MATMUL = B * D * F / (B * D + D * F + B * F)


@pytest.mark.parametrize("value", [sqrt(B), exp(B), Max(B, D), B**D, (B + D) ** 99])
def test_what_is_no_rational_function_is_refused_by_name(value):
    with pytest.raises(AlgebraError):
        ratio(value, (B, D))


SIGNS = {
    **{B + 1: 1, -B - D: -1, 2 * N - 1: 1, B * D - 1: None, B * D - B + 1: 1, B - D: None, N**2 - N + 1: 1},
    **{N**2 - 4 * N + 3: None, R - 1: None, 1 - 1 / (B + 1): 1},
}


@pytest.mark.parametrize(("value", "expected"), SIGNS.items())
def test_signs(value, expected):
    """B D - 1 is 0 at B = D = 1, so it is not positive everywhere."""
    assert sign_of(value, DIMS) == expected
    assert sign({}, (B,), DIMS) == 0


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(st.integers(-3, 3), min_size=4, max_size=4), min_size=1, max_size=3),
    st.lists(st.integers(-4, 4), min_size=3, max_size=3),
    st.lists(st.integers(-3, 3), min_size=4, max_size=4),
)
def test_the_simplex_is_feasible_and_no_vertex_is_better(a, b, c):
    """Every basic feasible point is tried by elimination."""
    a, b = [*a, [1, 1, 1, 1]], [*b[: len(a)], 5]  # the last row bounds the program
    found = maximise(c, a, b)
    points = [p for p in vertices(a, b) if all(x >= 0 for x in p)]
    if found is None:
        assert not points
        return
    assert all(x >= 0 for x in found)
    assert all(sum(v * x for v, x in zip(row, found, strict=True)) == r for row, r in zip(a, b, strict=True))
    best = sum(v * x for v, x in zip(c, found, strict=True))
    assert all(sum(v * x for v, x in zip(c, p, strict=True)) <= best for p in points)


def vertices(a, b):
    """Solutions with at most as many non-zero entries as there are rows."""
    columns = range(len(a[0]))
    for size in range(len(a) + 1):
        for chosen in combinations(columns, size):
            solution = solve_square(a, b, chosen)
            if solution is not None:
                yield solution


def solve_square(a, b, chosen):
    rows = [[Fraction(row[j]) for j in chosen] + [Fraction(r)] for row, r in zip(a, b, strict=True)]
    done = 0
    for j in range(len(chosen)):
        pivot = next((i for i in range(done, len(rows)) if rows[i][j]), None)
        if pivot is None:
            return None
        rows[done], rows[pivot] = rows[pivot], rows[done]
        rows[done] = [v / rows[done][j] for v in rows[done]]
        for i in range(len(rows)):
            if i != done:
                rows[i] = [v - rows[i][j] * p for v, p in zip(rows[i], rows[done], strict=True)]
        done += 1
    if any(row[-1] for row in rows[done:]):
        return None
    point = [Fraction(0)] * len(a[0])
    for i, j in enumerate(chosen):
        point[j] = rows[i][-1]
    return point


CONTRADICTIONS = [
    *([(B, "<<", D), (D, "<<", B)], [(B, "<<", D), (D, "<<", F), (F, "<<", B)], [(B, "<<", D), (B, "~~", D)]),
    *(
        [(B, "->", oo), (B, "<<", Rational(5))],
        [(B, "<<", Rational(1))],
        [(B, "<<", B)],
        [(B * D, "<<", F), (F, "<<", D)],
    ),
]


@pytest.mark.parametrize("relations", CONTRADICTIONS)
def test_contradictory_regimes_are_refused_with_their_chain(relations):
    """The last: B D << F << D needs B -> 0, and B is at least 1."""
    with pytest.raises(ContradictionError, match="contradicts itself"):
        Regime(tuple(relations), DIMS)


def test_regimes_of_sums_are_refused():
    with pytest.raises(AlgebraError, match="a regime relates products"):
        Regime(((B, "<<", D + F),), DIMS)


def test_a_symbol_that_is_not_mentioned_is_a_constant():
    alone = Regime(((D, "->", oo),), DIMS)
    assert leading_form(MATMUL, alone) == B * F / (B + F)
    assert not similarity_of(MATMUL, B, alone).holds


def test_the_joint_limit_is_along_every_path():
    both = Regime(((D, "->", oo), (F, "->", oo)), DIMS)
    every = (2 * D * F / (D + F + D * F), D / (D + F), D * F / (D + F), 1 / (D + F))
    assert [limit(one, both) for one in every] == [2, None, oo, 0]


def test_equal_and_near_sizes():
    assert leading_form(MATMUL, Regime(((D, "=", F), (B, "<<", F)), DIMS)) == B
    assert similarity_of(B * D / (D + F), B / 2, Regime(((D, "~", F),), DIMS)).holds
    assert not similarity_of(B * D / (D + F), B / 2, Regime(((D, "~~", F),), DIMS)).holds
    with pytest.raises(AlgebraError, match="does not decide a difference"):
        similarity_of(D - F + 1, F, Regime(((D, "~", F),), DIMS))


def test_terms_that_cancel_are_not_neglected():
    regime = Regime(((N, "->", oo),), DIMS)
    with pytest.raises(AlgebraError):
        similarity_of(N**2 - N * B, N**2 - B * N + N + 1 - N, Regime(((N, "~~", B), (N, "->", oo)), DIMS))
    assert similarity_of(N**2 - N, N**2, regime).holds


def test_dominance_beside_a_sum_and_not_beside_a_term():
    """B D is negligible beside B**2 + D**2 in no regime of its own, but sqrt-like means work: B D F beside B**2 F**2 + D**2."""
    regime = Regime(((B, "->", oo), (D, "->", oo), (F, "->", oo)), DIMS)
    assert similarity_of(B**2 * F**2 + D**2 + B * D, B**2 * F**2 + D**2, regime).holds
    assert not similarity_of(B**2 + D**2 + B * D, B**2 + D**2, regime).holds


OUTCOMES = {
    "always": (B + 1, B - Rational(1, 2), B**2 - B + 1),
    "never": (-B - D, Rational(1, 2) - B, Rational(2) - Rational(486), -(B**2) + B - 1),
    "depends": (B - 1, D - B),
}


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_outcomes(outcome):
    assert {solution_of(one, Rational(0), B, DIMS).outcome for one in OUTCOMES[outcome]} == {outcome}


def test_linear_with_both_coefficients_open_has_three_cases():
    found = solve_for((D - R) * B + (F - R), B, DIMS)
    assert [case.guard for case in found.cases] == [(D - R,), (R - D,)]
    assert found.otherwise.implicit == F - R


def test_quadratics_by_the_signs_of_their_coefficients():
    rises = solution_of(D * B**2 - B, F, B, DIMS)
    assert rises.rises
    assert rises.bound.subs({D: 2, F: 10}) == (1 + sqrt(81)) / 4
    between = solve_for(-D * B**2 + R * B - F, B, DIMS)
    assert (len(between.cases[0].guard), between.otherwise.intervals) == (1, ())  # that R is positive is no guard
    assert len(solve_for(-D * B**2 + (R - F) * B - F, B, DIMS).cases[0].guard) == 2
    outside = solve_for(D * B**2 - R * B + F, B, DIMS)
    assert len(outside.cases[0].intervals) == 2


def test_one_change_of_sign_is_one_root():
    found = solve_for(D * B**3 + B - F, B, DIMS)
    assert (found.one_root, found.cases[0].implicit) == (1, D * B**3 + B - F)


def test_numbers_solve_every_degree():
    found = solve_for(B**5 - 100 * B - 7, B, DIMS)
    low = found.cases[0].intervals[0].low
    assert low.low**5 - 100 * low.low - 7 <= 0 <= low.high**5 - 100 * low.high - 7
    assert low.high - low.low < Fraction(1, 10**9)
    assert [r.low for r in real_roots({2: Fraction(1), 0: Fraction(-4)}, Fraction(0))] == [2]


def test_max_and_min_on_either_side():
    assert [[t.bound for t in row] for row in solve_condition(B, Max(D, F), B, DIMS)] == [[D, F]]
    assert [[t.bound for t in row] for row in solve_condition(B, Min(D, F), B, DIMS)] == [[D], [F]]
    assert [[t.bound for t in row] for row in solve_condition(Min(3 * B, B + 1), D, B, DIMS)] == [[D / 3, D - 1]]
    assert len(solve_condition(Max(B, D), F, B, DIMS)) == 2


def test_monotony_suprema_and_growth():
    assert [monotony(one, B, DIMS) for one in (1 / MATMUL, B + 1 / B, B + 4 / B)] == [-1, 1, None]
    assert supremum(MATMUL, B, DIMS) == D * F / (D + F)
    assert [growth(one, B) for one in (MATMUL, MATMUL * B, MATMUL / B**2)] == [D * F / (D + F), oo, 0]
    assert [ceiling_of(one, DIMS) for one in (MATMUL, N / (2 * N + 1))] == [None, Rational(1, 2)]


def test_reciprocals_only_where_they_are_sums_of_monomials():
    assert reciprocals(MATMUL) is not None
    assert reciprocals((2 * N - 1) / (4 * N + 2)) is None


def test_approach_shows_the_limit_and_the_gap():
    limit_value, gap = approach((2 * N - 1) / (4 * N + 2), N)
    assert (limit_value, cancel(gap - 1 / (2 * N + 1))) == (Rational(1, 2), 0)
    assert approach(B, B) is None


def test_within_holds_at_its_edge_and_fails_inside():
    regime = Regime(((B, "<<", D), (B, "<<", F)), DIMS)
    found = approximation(MATMUL, B, regime)
    assert found.factor.subs({B: 1, D: 40, F: 40}) == Rational(21, 20)
    assert found.factor.subs({B: 1, D: 39, F: 40}) > Rational(21, 20)


DECIMALS = "9850/41=240.24 78800/9=8755.56 240=240 1/3=0.333 5/2=2.5 -7/2=-3.5"


@pytest.mark.parametrize(("value", "text"), [one.split("=") for one in DECIMALS.split()])
def test_decimals(value, text):
    assert decimal(Fraction(value)) == text


@given(st.fractions(min_value=Fraction(1, 10**6), max_value=10**9), st.integers(1, 8))
def test_rounding_is_to_nearest(value, digits):
    shown, whole = Fraction(to_digits(value, digits)), len(str(int(value))) if value >= 1 else 1
    assert abs(shown - value) * 2 <= Fraction(10) ** (whole + 1 - digits)
    assert abs(Fraction(to_places(value, 3)) - value) * 2 <= Fraction(1, 1000)


@pytest.mark.thorough
def test_lowest_terms_are_those_of_sympy():
    """Quotients with and without a common factor, some of whose symbols are in one side alone."""
    from sympy import QQ, symbols
    from sympy.polys.fields import FracField

    from symroof.algebra.rational import lowest

    field, draw, shared = FracField(symbols("a:e"), QQ, "grlex"), random.Random(5), 0

    def polynomial(most):
        names = draw.sample(range(5), draw.randint(1, 5))
        terms = (tuple(draw.randint(0, 2) if i in names else 0 for i in range(5)) for _ in range(draw.randint(1, most)))
        return field.ring.from_dict(
            {exps: QQ(draw.choice((-3, -1, 1, 2, 4)), draw.choice((1, 1, 2, 3))) for exps in terms}
        )

    for _ in range(600):
        factor = polynomial(3) if draw.random() < 0.6 else field.ring.one
        above, below = polynomial(4) * factor, polynomial(4) * factor
        wanted = field.new(above, below)
        assert lowest(above, below) == (wanted.numer, wanted.denom)
        shared += len(factor) > 1
    assert shared > 100
