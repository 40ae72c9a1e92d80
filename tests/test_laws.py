"""The laws, on fixed problems and on what Hypothesis draws."""

from fractions import Fraction

import laws
import numpy as np
import oracle
import pytest
import strategies
from effort import draws
from hypothesis import assume, given, settings, strategies as st
from sympy import oo

import symroof as sr
from symroof.algebra.dominance import leading_form, positives, sides_and_cone, similarity_of, smallness
from symroof.algebra.polyhedron import maximise, negated, unit
from symroof.algebra.rational import add, cancel, subtract
from symroof.algebra.regime import Regime
from symroof.algebra.roots import ALWAYS, NEVER
from symroof.algebra.solvers import monotony, solve_for
from symroof.derivation.solving import supremum
from symroof.reading.claims import read_regime
from symroof.reading.name_scope import Scope
from symroof.reading.problems import read_problem
from symroof.symbols import expression, symbol

quick = settings(max_examples=draws(25), deadline=None)


@pytest.mark.parametrize("law", laws.LAWS, ids=lambda law: law.__name__)
def test_law(law):
    law()


@quick
@given(strategies.einsums(), st.data())
def test_counts_are_those_of_the_loops(drawn, data):
    text, inputs, output, bits = drawn
    sizes = data.draw(strategies.sizes(sorted({x for shape in (*inputs, output) for x in shape})))
    laws.counts_are_those_of_the_loops(text, inputs, output, bits, sizes)


@quick
@given(strategies.einsums(), st.data())
def test_bytes_are_those_of_numpy(drawn, data):
    text, inputs, output, bits = drawn
    sizes = data.draw(strategies.sizes(sorted({x for shape in (*inputs, output) for x in shape})))
    kinds = {4: np.int8, 8: np.int8, 16: np.float16, 32: np.float32}  # NumPy has no numbers of 4 bits: half of a byte
    cost = sr.operation(text).cost()
    shapes = zip((*inputs, output), bits, strict=True)
    arrays = [np.zeros([sizes[x] for x in shape], kinds[width]) for shape, width in shapes]
    moved = (Fraction(array.nbytes, 2 if width == 4 else 1) for array, width in zip(arrays, bits, strict=True))
    assert laws.value(cost.bytes, sizes) == sum(moved)
    left, right, made = ([ord(x) - 65 for x in shape] for shape in (*inputs, output))
    product = np.einsum(arrays[0], left, arrays[1], right, made)
    assert list(product.shape) == [sizes[x] for x in output]


@quick
@given(strategies.einsums())
def test_reading_the_canonical_form_gives_the_same_operation(drawn):
    operation = sr.operation(drawn[0])
    assert sr.operation(str(operation)) == operation
    assert str(sr.operation(drawn[0].replace("*", "·").replace("->", "→").replace(" ", ""))) == str(operation)


@pytest.mark.thorough
@settings(max_examples=10, deadline=None)
@given(strategies.einsums())
def test_every_einsum_is_derived_and_proved(drawn):
    d = sr.derive(drawn[0])
    assert d.counts()["sampled"] == 0
    assert d.to_markdown()
    assert d.to_json()


@quick
@given(strategies.einsums())
def test_renaming_dimensions_commutes_with_deriving(drawn):
    text = drawn[0]
    renamed = text.translate(str.maketrans("BDFHKMNST", "abcdefghi"))
    names = {symbol(a): symbol(b) for a, b in zip("BDFHKMNST", "abcdefghi", strict=True)}
    renamed = renamed.replace("ca16", "bf16").replace("cg32", "fp32")
    if "fp32" not in text and "bf16" not in text:
        one, other = (sr.operation(written).cost().intensity for written in (text, renamed))
        assert cancel(one.subs(names)) == cancel(other)


def posynomials():
    exponents = st.tuples(*[st.integers(0, 2)] * 3)
    return st.dictionaries(exponents, st.integers(1, 5), min_size=1, max_size=4)


def as_expression(terms):
    B, D, F = map(symbol, "BDF")
    return sum(c * B**a * D**b * F**e for (a, b, e), c in terms.items())


@pytest.mark.thorough
@settings(max_examples=draws(60), deadline=None)
@given(posynomials(), posynomials(), strategies.regimes())
def test_leading_forms_are_right_along_a_scaling_of_the_regime(above, below, drawn):
    text, weights = drawn
    assume(text)
    regime = _regime(text)
    exact = as_expression(above) / as_expression(below)
    form = leading_form(exact, regime)
    assert similarity_of(exact, form, regime).holds
    mentioned = {s.name for s in regime.mentioned}
    path = {name: w if name in mentioned else 0 for name, w in weights.items()}
    ratio = laws.value(form / exact, oracle.scaled(path, 10**12))
    assert abs(ratio - 1) < Fraction(1, 10**3)


@settings(max_examples=draws(60), deadline=None)
@given(posynomials(), posynomials(), strategies.regimes())
def test_a_refuted_similarity_comes_with_a_scaling_that_refutes_it(above, below, drawn):
    text, _ = drawn
    assume(text)
    regime = _regime(text)
    a, b = as_expression(above), as_expression(below)
    refutation = None if similarity_of(a, b, regime).holds else refuting_scaling(a, b, regime)
    if refutation is None:
        return
    weights = {s.name: w * 12 for s, w in refutation.items()}
    powers = {name: int(w) for name, w in weights.items() if w == int(w)}
    if len(powers) < len(weights):
        return
    sizes = {name: Fraction(10) ** w for name, w in powers.items()} | {n: Fraction(1) for n in "BDF" if n not in powers}
    for left, relation, right in regime.scaling:
        if relation == "<<":
            assert laws.value(left, sizes) < laws.value(right, sizes)
    assert laws.value(a, sizes) != laws.value(b, sizes) or sum(above.values()) == sum(below.values())


def refuting_scaling(a, b, regime):
    """Weights of a scaling in the regime along which a monomial of the difference is not negligible beside the denominator.

    A weight is the difference of two numbers that are not negative; what an inequality leaves is one more.
    """
    above, below, cone = sides_and_cone(a / b, regime)
    monomial = next(m for m in subtract(above, below) if smallness(m, positives(below), cone) is None)
    rows = [
        *((powers, -1) for powers in cone.small),
        *((powers, 0) for powers in cone.bounded),
        *((add(p, monomial, -1), 0) for p in positives(below)),
    ]
    left = [[*row, *negated(row), *unit(i, len(rows))] for i, (row, _) in enumerate(rows)]
    found = maximise([0] * len(left[0]), left, [bound for _, bound in rows])
    assert found is not None
    return {s: found[i] - found[len(cone.symbols) + i] for i, s in enumerate(cone.symbols)}


def _regime(text):
    relations = read_regime(text, Scope(("B", "D", "F")))
    dims = frozenset(map(symbol, "BDF"))
    return Regime(tuple((expression(r.left), r.relation, expression(r.right)) for r in relations), dims)


@settings(max_examples=draws(60), deadline=None)
@given(st.integers(-5, 5), st.integers(-5, 5), st.integers(-5, 5), st.integers(-3, 3), st.integers(1, 12))
def test_solved_inequalities_agree_with_evaluation(a, b, c, d, x):
    B = symbol("B")
    polynomial = d * B**3 + a * B**2 + b * B + c
    if not polynomial.free_symbols:
        return
    solved = solve_for(polynomial, B, frozenset({B}))
    assert contains(solved.cases[0].intervals, Fraction(x)) == (polynomial.subs(B, x) > 0)


def contains(intervals, x):
    def low(end):
        return end.low if hasattr(end, "low") else Fraction(str(end))

    return any((i.low is None or x > low(i.low)) and (i.high is None or x < low(i.high)) for i in intervals)


@settings(max_examples=draws(40), deadline=None)
@given(
    posynomials(), posynomials(), st.fixed_dictionaries({n: st.integers(1, 500) for n in "BDF"}), st.integers(1, 300)
)
def test_symbolic_thresholds_agree_with_evaluation(above, below, sizes, ridge):
    """The guarded solution for B, at a point, says what the inequality says there."""
    B, R = symbol("B"), symbol("ridge")
    exact = cancel(as_expression(above) / as_expression(below))
    if not exact.has(B):
        return
    solved = solve_for(exact - R, B, frozenset(map(symbol, "BDF")))
    put = {symbol(n): v for n, v in sizes.items()} | {R: ridge}
    holds = exact.subs(put) > ridge
    for case in solved.cases:
        if case.implicit is not None:
            assert (case.implicit.subs(put) > 0) == holds
            return
        if all(guard.subs(put) > 0 for guard in case.guard):
            break
    else:
        case = solved.otherwise
        if case.implicit is not None:
            return
    if case.intervals in (ALWAYS, NEVER):
        assert (case.intervals == ALWAYS) == holds
        return
    inside = any(
        (i.low is None or bool(sizes["B"] > i.low.subs(put)))
        and (i.high is None or bool(sizes["B"] < i.high.subs(put)))
        for i in case.intervals
    )
    assert inside == holds


@quick
@given(posynomials(), posynomials(), st.integers(1, 50), st.integers(1, 50), st.integers(1, 9), st.integers(1, 9))
def test_monotony_and_suprema_agree_with_evaluation(above, below, low, step, d, f):
    B, D, F = map(symbol, "BDF")
    exact = cancel(as_expression(above) / as_expression(below))
    if not exact.has(B):
        return
    direction = monotony(exact, B, frozenset({B, D, F}))
    put = {D: d, F: f}
    first, second = exact.subs({**put, B: low}), exact.subs({**put, B: low + step})
    if direction:
        assert (second - first) * direction >= 0
    top = supremum(exact, B, frozenset({B, D, F}))
    if top is not None and top != oo:
        assert first < top.subs(put)


def test_problems_are_values():
    options = {"operation": "matmul", "hardware": "tpu-v5e", "assume": "B << D, F"}
    assert read_problem(options) == read_problem(options)


def test_a_size_that_equals_another_is_solved_for_by_that_one():
    """N = M = K leaves K: asked for N, the answer is on K, and the page says so."""
    d = sr.derive("bf16[M, K] * bf16[K, N] -> bf16[M, N]", on="tpu-v5e", assume="N = M, M = K", solve_for="N")
    assert (d.answer.threshold.variable, d.answer.smallest_integer) == ("K", 721)
    equal = sr.derive("bf16[B, T] * bf16[T, S] -> bf16[B, S]", on="tpu-v5e", assume="T = S", solve_for="T")
    assert equal.answer.threshold.variable == "S"


def test_a_common_factor_is_taken_out_of_a_bound():
    d = sr.derive("bf16[B, S, D] * int4[D, K, H] -> bf16[B, S, K, H]", on="tpu-v5e", count="exact")
    assert "B > ridge DKH/(2S(KH(2D - 1) - 2 ridge (KH + D)))" in d.to_text(unicode=False, width=200)


@pytest.mark.parametrize(
    ("regime", "a"), [("A = B, D -> oo, F -> oo", lambda b: b), ("D -> oo, F -> oo, A = 3", lambda b: 3)]
)
def test_a_rule_of_thumb_is_a_power_or_a_root_of_the_ridge(regime, a):
    """The intensity tends to AB: the least whole size is that of direct arithmetic, whether the bound is rational or not."""
    least = next(b for b in range(1, 10**4) if a(b) * b > Fraction("1.97e14") / Fraction("8.2e11"))
    d = sr.derive("bf16[A, B, D] * bf16[D, F] -> bf16[A, B, F]", on="tpu-v5e", assume=regime, solve_for="B")
    assert d.answer.rule is not None
    assert f"the smallest whole size is {least}." in " ".join(d.to_text().split())
