"""The map of regimes: complete and without overlap, by random scalings that know nothing of polytopes."""

import json
from dataclasses import replace
from fractions import Fraction
from functools import cache
from math import prod
from random import Random

import pytest
from effort import draws
from hypothesis import given, settings, strategies as st
from render.corpus import CHAIN
from sympy import Poly, Rational, cancel, fraction, oo
from texts import cases

import symroof as sr
from symroof.algebra.fan import fan
from symroof.algebra.polyhedron import generators
from symroof.algebra.regime import Regime
from symroof.derivation.pipeline import counted_draft
from symroof.derivation.solving import PLAIN
from symroof.errors import CheckError, SymroofError
from symroof.exploration.regime_steps import partition
from symroof.formula import Compare, Infinity, Name, Quotient, Verdict, names
from symroof.proof.certificates import check_partition
from symroof.proof.step import Ledger
from symroof.reading.claims import read_regime
from symroof.reading.name_scope import Scope
from symroof.reading.problems import read_problem
from symroof.rendering.formulas.plain import PlainPrinter
from symroof.rendering.pages.typesetting import claims_typesetter
from symroof.symbols import expression, symbol

pytestmark = pytest.mark.part(2)

MATMUL, SUMMED = "bf16[B, D] * bf16[D, F] -> bf16[B, F]", "bf16[B, D_X] * bf16[D_X, F] -> bf16[B, F]"
SCORES = "bf16[B, T, N, H] * bf16[B, S, N, H] -> bf16[B, N, T, S]"


TILED = sr.Operation(
    "tiled product",
    flops=lambda B, D, F, T: 2 * B * D * F,
    reads=lambda B, D, F, T: 2 * B * D * F / T + 2 * B * D * F / T,
    writes=lambda B, D, F, T: 2 * B * F,
)
# Operation, options, and how many regimes and corners it has: worked out by hand.
MAPS = {
    "matmul": (MATMUL, {}, 7, 3),
    "scores": (SCORES, {}, 7, 3),
    "scores at H": (SCORES, {"assume": "H = 128"}, 4, 1),
    "int8 weights": ("bf16[B, D] * int8[D, F] -> bf16[B, F]", {}, 7, 3),
    "int4 and fp32": ("bf16[B, D] * int4[D, F] -> fp32[B, F]", {}, 7, 3),
    "dot": ("dot", {}, 2, 1),
    "three operands": (CHAIN, {"compute": "bf16"}, 9, 4),
    "sharded": (SUMMED, {"mesh": {"X": 4}}, 7, 3),
    "over the link": (SUMMED, {"mesh": {"X": 2}, "link": "ICI"}, 1, 1),
    "fixed size": ("bf16[B, 4096] * bf16[4096, F] -> bf16[B, F]", {}, 4, 1),
    "equal sizes": (MATMUL, {"assume": "D = F"}, 3, 2),
    "same order": (MATMUL, {"assume": "D ~~ F"}, 3, 1),
    "one small": (MATMUL, {"assume": "B << D"}, 3, 2),
    "exact count": (MATMUL, {"count": "exact"}, 11, 3),
    "tiled": (TILED, {"compute": "bf16"}, 3, 2),
    "batched": ("bf16[B, D] * bf16[B, D, F] -> bf16[B, F]", {}, 4, 1),
}  # fmt: skip


@cache
def maps(name):
    operation, options, *_ = MAPS[name]
    return sr.regimes(operation, on="tpu-v5e", every=True, **options).map


@cache
def terms(value):
    """The sizes of a rational function, and its numerator and denominator as exponents and coefficients."""
    sizes = tuple(sorted(value.free_symbols, key=str))
    sides = fraction(cancel(value))
    parts = (Poly(side, *sizes).terms() if sizes else [((), side)] for side in sides)
    return sizes, [[(m, Fraction(int(c.p), int(c.q))) for m, c in side] for side in parts]


def at(value, point):
    """The value of a rational function at a point, in plain arithmetic."""
    sizes, sides = terms(value)

    def term(powers):
        return prod(Fraction(point[s]) ** e for s, e in zip(sizes, powers, strict=True))

    above, below = (sum(c * term(m) for m, c in side) for side in sides)
    return above / below


def order(formula, weights):
    """The power of t that a monomial grows with."""
    if isinstance(formula, Infinity):
        return None
    if isinstance(formula, Name):
        return weights[formula.name]
    terms = Poly(expression(formula), *map(symbol, weights)).terms() if names(formula) else [((0,) * len(weights), 1)]
    ((powers, _),) = terms
    return sum(p * w for p, w in zip(powers, weights.values(), strict=True))


@cache
def relations(text, names):
    return read_regime(text, Scope(names)) if text else ()


def satisfies(text, weights):
    """Whether a scaling x = t**w satisfies a regime as it is written after --assume."""

    def good(relation, left, right):
        return left > 0 if relation == "->" else left < right if relation == "<<" else left == right

    told = relations(text, tuple(weights))
    return all(good(r.relation, order(r.left, weights), order(r.right, weights)) for r in told)


def scalings(found, assume, seed, count=120):
    """Random whole weights of the sizes, at least 0, that satisfy what is assumed; small ones, so that ties are common."""
    dims = [s.name for s in found.value.free_symbols]
    draw, kept = Random(seed), []
    while len(kept) < count:
        weights = {name: draw.choice((0, 0, 1, 1, 2, 3)) for name in found.setting.problem.operation.dimensions}
        weights = {name: weights[name] for name in weights if name in dims or name in assume}
        if satisfies(assume, weights):
            kept.append({name: w for name, w in weights.items() if name in dims})
    return kept


@pytest.mark.thorough
@pytest.mark.parametrize("name", MAPS)
def test_every_scaling_falls_into_exactly_one_regime(name):
    found = maps(name)
    assume = MAPS[name][1].get("assume", "")
    assume = "" if "= " in assume and "~" not in assume else assume
    typesetter = claims_typesetter(found.setting.layout)
    texts = [typesetter.condition(row.relations) for row in found.rows]
    draw, hit = Random(5), set()
    for weights in scalings(found, assume, name):
        holds = [i for i, text in enumerate(texts) if satisfies(text, weights)]
        assert len(holds) == 1, (weights, [texts[i] for i in holds])
        hit |= set(holds)
        # and the leading form is what the quantity tends to, for any constants
        t = Fraction(10) ** 20
        point = {symbol(n): draw.randint(1, 9) * t**w for n, w in weights.items()}
        assert abs(at(found.rows[holds[0]].leading, point) / at(found.value, point) - 1) < Fraction(1, 10**9), weights
    assert hit == set(range(len(texts)))
    assert (found.count, found.corners) == MAPS[name][2:]
    assert found.complete.status == "proved"
    assert all(row.check.status == "proved" for row in found.rows)


@pytest.mark.parametrize("name", MAPS)
def test_a_condition_can_be_given_to_assume(name):
    """Deriving under the condition of a row, as it is printed, gives the leading form of the row."""
    operation, options, *_ = MAPS[name]
    found = maps(name)
    typesetter = claims_typesetter(found.setting.layout)
    given = [options["assume"]] if "assume" in options else []
    rest = {key: value for key, value in options.items() if key != "assume"}
    for row in found.rows:
        text = typesetter.condition(row.relations)
        assume = [*given, *([text] if text else [])] or None
        answer = sr.derive(operation, on="tpu-v5e", assume=assume, sections="regime", **rest).answer
        form = answer.leading.approximate if answer.leading else answer.intensity
        assert cancel(form - row.leading) == 0, text


@pytest.mark.thorough
@pytest.mark.parametrize("name", MAPS)
def test_what_a_row_says_is_true_at_points(name):
    """Conditions, least sizes, dominant tensors, knobs and factors, each by putting numbers in."""
    found = maps(name)
    ridge, draw = found.setting.ridge, Random(3)
    for row in found.rows:
        sizes = sorted(row.leading.free_symbols, key=str)
        for _ in range(20):
            point = {s: draw.choice((1, 3, 120, 241, 482, 800, 5000, 10**5)) for s in found.value.free_symbols}
            above = at(row.leading, point) > ridge
            assert _truth(row.condition, point, ridge) == bool(above), (row.condition, point)
            assert at(row.factor, point) * at(found.value, point) == at(row.leading, point)
        first = row.equal_sizes_from
        if first is not None:
            assert row.leading.subs(dict.fromkeys(sizes, first)) > _rational(ridge)
            step = MAPS[name][1].get("mesh", {}).get("X", 1)
            assert first <= step or row.leading.subs(dict.fromkeys(sizes, first - step)) <= _rational(ridge)
        elif sizes:
            assert row.leading.subs(dict.fromkeys(sizes, 10**9)) <= _rational(ridge)


def _rational(value):
    return Rational(value.numerator, value.denominator)


def _truth(formula, point, ridge):
    if isinstance(formula, Verdict):
        return formula.holds
    assert isinstance(formula, Compare)
    values = point | {symbol("ridge"): _rational(ridge)}
    left, right = expression(formula.left).subs(values), expression(formula.right).subs(values)
    return bool(left > right) if formula.relation == ">" else bool(left < right)


def test_the_book_answers_of_the_map():
    found = maps("matmul")
    assert [row.equal_sizes_from for row in found.rows] == [241, 241, 241, 481, 481, 481, 721]
    assert [(s.variable, str(s.supremum), s.reached, s.equal_sizes_from) for s in found.singles] == [
        ("B", "D*F/(D + F)", False, 481), ("D", "B*F/(B + F)", False, 481), ("F", "B*D/(B + D)", False, 481)]  # fmt: skip
    assert maps("scores").cancelled == ("B", "N")
    assert [[t.label for t in row.dominant] for row in found.rows[:3]] == [["right"], ["output"], ["left"]]


@pytest.mark.thorough
def test_a_point_on_the_map_is_exact():
    one = sr.regimes(MATMUL, on="tpu-v5e", at={"B": 256, "D": 8192, "F": 8192}).explorations[0].places[0]
    assert one.intensity == Fraction(8192, 34)
    assert one.factor == Fraction(17, 16)
    assert dict(one.parts) == {"left": Fraction(1, 34), "right": Fraction(32, 34), "output": Fraction(1, 34)}


def test_words_of_a_link_and_of_tensors():
    found = sr.regimes(SUMMED, on="tpu-v5e", mesh={"X": 4}, link="ICI", at="B=1024,D=F=8192")
    assert "bound by the link, by 68.8 %" in " ".join(found.to_text().split())
    page = sr.regimes("X_0 . W_in: bf16[B, D], bf16[D, F] -> bf16[B, F]", on="tpu-v5e").to_latex()
    assert r"W\_in $2DF$" in page  # names of tensors are taken as they are


@pytest.mark.thorough
def test_never_and_no_ridge_and_nothing_left():
    assert "never" in sr.regimes("dot", on="tpu-v5e").to_text()
    assert "B > ridge" in sr.regimes(MATMUL).to_text()
    constant = sr.regimes(MATMUL, on="tpu-v5e", assume="B = 64, D = 64, F = 64")
    assert constant.map.count == 1
    assert "any sizes" in constant.to_text()
    link = sr.regimes(SUMMED, on="tpu-v5e", mesh={"X": 2}, link="ICI")
    assert link.map.rows[0].equal_sizes_from == 8756
    mesh = sr.regimes(SUMMED, on="tpu-v5e", mesh={"X": 4}).map  # which rounds everywhere alike
    assert {s.equal_sizes_from for s in mesh.singles if s.variable != "D"} == {1204}
    with pytest.raises(SymroofError, match="contradicts itself"):
        sr.regimes(MATMUL, assume=["B << D", "D << B"])


@pytest.mark.thorough
def test_other_quantities():
    found = sr.regimes(MATMUL, on="tpu-v5e", of="T_comms/T_math", at="B=256,D=F=8192")
    assert "240.24/B" in found.to_text()
    assert found.explorations[0].places[0].intensity == Fraction(9850, 41) * (Fraction(1, 256) + Fraction(2, 8192))
    assert sr.regimes(MATMUL, of="bytes").map.count == 7
    with pytest.raises(SymroofError, match="maximum"):
        sr.regimes(MATMUL, of="max(reads, writes)")
    for nothing in ("T_coms", ""):
        with pytest.raises(SymroofError):
            sr.regimes(MATMUL, of=nothing)


INFERRED = [("B", "B << D and B << F"), ("BF/(B + F)", "B << D or F << D"), ("2B", "")]
INFERRED = [(f"BDF/(BD + DF + BF) ~ {form}", regimes) for form, regimes in INFERRED]


@pytest.mark.parametrize(("claim", "expected"), [*INFERRED, ("N/(2N + 1) ~ 1/2", "N -> oo")])
def test_inference(claim, expected):
    found, show = sr.regimes(of=claim), PlainPrinter(explicit=True).print
    shown = [" and ".join(show(Compare(r.left, r.relation, r.right)) for r in a.relations) for a in found.alternatives]
    assert " or ".join(shown) == expected
    assert all(a.check.status == "proved" for a in found.alternatives)


def test_inference_says_what_verify_says():
    (always,) = sr.regimes(of="2BD + 2DF ~ 2DF + 2DB").alternatives
    assert (always.relations, always.check.status) == ((), "proved")
    judged = sr.verify({"operation": MATMUL, "claims": ["intensity ~ B"]}).judgements[0]
    found = sr.regimes(MATMUL, of="intensity ~ B")
    assert judged.verdict == "conditional"
    assert [a.relations for a in found.alternatives] == [tuple(needs) for needs in judged.findings[0].needs]


# The list is proved by code that did not make it: every fault of the list is found.


def evidence(name):
    operation, options, *_ = MAPS[name]
    draft = counted_draft(read_problem({"operation": operation, **options}))
    found = maps(name)

    def plain(r):
        return expression(r.left), r.relation, oo if isinstance(r.right, Infinity) else expression(r.right)

    told = {row.mask: tuple(map(plain, row.relations)) for row in found.rows}
    return found, partition(found.fan, told, draft.layout), draft.ledger


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["matmul", "dot", "fixed size", "exact count", "batched", "one small"])
def test_a_list_with_a_fault_is_refused(name):
    found, right, ledger = evidence(name)
    assert check_partition(found.name, right, found.assume, ledger).status == "proved"
    faults = [replace(right, cases=right.cases[:i] + right.cases[i + 1 :]) for i in range(len(right.cases))]
    faults += [replace(right, cases=(*right.cases, right.cases[0]))]
    for i, case in enumerate(right.cases):
        for j in range(len(case.relations or ())):
            fewer = replace(case, relations=case.relations[:j] + case.relations[j + 1 :])
            faults.append(replace(right, cases=(*right.cases[:i], fewer, *right.cases[i + 1 :])))
        turned = {n: -w - 1 for n, w in case.weights.items()}
        faults.append(replace(right, cases=(*right.cases[:i], replace(case, weights=turned), *right.cases[i + 1 :])))
    for fault in faults:
        with pytest.raises(CheckError):
            check_partition(found.name, fault, found.assume, ledger)
    fresh = Ledger(ledger.least_one, ledger.figures, definitions=ledger.definitions)
    with pytest.raises(CheckError):
        check_partition(found.name, replace(right, denominator=right.numerator), found.assume, fresh)


exponents = st.lists(st.tuples(*[st.integers(0, 2)] * 3), min_size=1, max_size=5, unique=True)


@pytest.mark.thorough
@settings(max_examples=draws(60), deadline=None)
@given(exponents, exponents, st.lists(st.tuples(*[st.integers(0, 3)] * 3), min_size=20, max_size=20))
def test_random_fans(above, below, weights):
    """Any scaling's largest terms are a cell; any cell's scaling has its terms."""
    B, D, F = symbols = tuple(map(symbol, "BDF"))

    def total(terms):
        return sum(B**a * D**b * F**c for a, b, c in terms)

    value = cancel(total(above) / total(below))
    found = fan(value, Regime((), frozenset(symbols)), symbols)
    top, bottom = (Poly(part, *symbols).monoms() for part in fraction(value))

    def largest(terms, w):
        best = max(sum(x * y for x, y in zip(m, w, strict=True)) for m in terms)
        return {m for m in terms if sum(x * y for x, y in zip(m, w, strict=True)) == best}

    sides = {mask: tuple(frozenset(found.chosen(mask & group)) for group in found.groups) for mask in found.masks}
    cells = {sides[mask]: found.weights(mask) for mask in found.masks}
    used = dict(zip(symbols, range(3), strict=True))
    places = [used[s] for s in found.symbols]
    for w in weights:
        sets = [frozenset(tuple(m[i] for i in places) for m in largest(terms, w)) for terms in (top, bottom)]
        assert tuple(sets) in cells
    for (numerator, denominator), along in cells.items():
        assert largest(list(found.above), along) == numerator
        assert largest(list(found.below), along) == denominator
        assert min(along, default=0) >= 0
    evidence, ledger = partition(found, {}, PLAIN), Ledger(frozenset("BDF"))
    quotient = Quotient(evidence.numerator, evidence.denominator)
    assert check_partition(quotient, evidence, (), ledger).status == "proved"
    with pytest.raises(CheckError):
        check_partition(quotient, replace(evidence, cases=evidence.cases[1:]), (), ledger)


def test_small_pieces():
    found = generators([(1, 1, 0)], 3)
    assert (len(found.lines), len(found.rays)) == (2, 1)


@pytest.mark.thorough
def test_many_terms_are_counted_and_listed_on_demand():
    def reads(A, B, C, D, G, H, K, L):
        ring = [A, B, C, D, G, H, K, L]
        pairs = sum(ring[i] * ring[(i + step) % 8] for i in range(8) for step in (1, 2))
        return pairs + A * B * C + D * G * H + K * L * A

    def flops(A, B, C, D, G, H, K, L):
        return A * B * C * D * G * H * K * L

    def writes(A):
        return A

    big = sr.Operation("many", flops=flops, reads=reads, writes=writes)
    short = sr.regimes(big, compute="bf16")
    assert short.map.count > 100
    assert len(short.map.rows) == short.map.corners
    assert "more" in short.to_text(brief=True)
    assert short.map.complete is None, "a list that is too long for a proof does not claim one"
    assert "proved" not in short.to_text(brief=True)
    known, draw = set(short.map.fan.masks), Random(1)
    for _ in range(draws(300)):
        w = [draw.choice((0, 1, 2, 3)) for _ in short.map.fan.symbols]
        orders = [sum(a * b for a, b in zip(m, w, strict=True)) for m in short.map.fan.terms]
        split = len(short.map.fan.above)
        tops = [max(orders[:split])] * split + [max(orders[split:])] * (len(orders) - split)
        assert sum(1 << i for i, (o, top) in enumerate(zip(orders, tops, strict=True)) if o == top) in known


@pytest.mark.thorough
def test_the_command(run):
    done = run("regimes", MATMUL, "--on", "tpu-v5e", "--format", "json", "--at", "H=1")
    assert done.code == 2
    assert "H" in done.err
    record = json.loads(run("regimes", MATMUL, "--on", "tpu-v5e", "--format", "json").out)
    assert record["regimes"][0]["regime"] == "B << D, F"
    assert record["complete"]["status"] == "proved"
    assert run("regimes", "--of", "BD/(B + D) ~ 2B").code == 1
    assert run("regimes").code == 2
    assert run("regimes", "--of", "BD/(B + D)").code == 2


# What a reader from outside found, each once wrong.


FALLING = sr.Operation("falling", flops=lambda N: 5000 / N, reads=lambda N: 3, writes=lambda N: 1)
CUBIC = sr.Operation("cubic", flops=lambda N: N**3, reads=lambda N: N, writes=lambda N: N + 1)


def test_an_intensity_that_falls_tends_to_its_limit():
    (one,) = sr.regimes(FALLING, on="tpu-v5e", compute="bf16").map.singles
    assert (one.limit, one.supremum, one.reached, one.possible_when.holds) == (0, 1250, True, False)
    norm = {s.variable: str(s.limit) for s in sr.regimes("rms-norm", on="tpu-v5e").map.singles}
    assert norm == {"B": "(2*D + 1)/(2*D)", "D": "2*B/(2*B + 1)"}


@pytest.mark.thorough
def test_irrational_bounds_are_shown_in_decimals():
    text = sr.regimes(CUBIC, on="tpu-v5e", compute="bf16").to_text()
    assert "N > 21.9" in text
    assert "from 22" in text
    assert "D > 241.2" in sr.regimes(MATMUL, on="tpu-v5e", assume="B = D^2").to_text()


@pytest.mark.parametrize(
    ("assume", "forms"),
    [
        ("B ~ D", ["D/2", "F", "D*F/(D + 2*F)"]),
        ("2*B ~ D", ["2*B/3", "F", "2*B*F/(2*B + 3*F)"]),
        ("B >= 8", ["B", "D", "F"]),
    ],
)
def test_other_relations_that_are_assumed(assume, forms):
    found = sr.regimes(MATMUL, on="tpu-v5e", assume=assume).map
    assert [str(row.leading) for row in found.rows][: len(forms)] == forms
    assert found.complete.status == "proved"


def test_what_has_no_place_on_a_map():
    """Bounds on sizes, and sizes that do not agree with what is assumed."""
    for assume in ("B <= D", "B >= D", "B <= 100"):
        with pytest.raises(SymroofError, match="how it grows"):
            sr.regimes(MATMUL, assume=assume)
    with pytest.raises(SymroofError, match="contradict D = 16"):
        sr.regimes(MATMUL, assume="D = 16", at="B=D=F=8")


@pytest.mark.thorough
@cases("""
of | says
T_upper | 2BDF/peak
ridge/intensity | 240.24/B
peak | peak
1/intensity | 1/B
twice | 4BDF
""")
def test_every_name_can_be_asked_for(of, says):
    assert says in sr.regimes(MATMUL, on="tpu-v5e", of=of, let={"twice": "2*flops"}).to_text()


def test_an_approximation_between_times_needs_sizes_that_grow():
    (one,) = sr.regimes(MATMUL, on="tpu-v5e", of="T_upper ~ T_math").alternatives
    assert [(r.left.name, r.relation) for r in one.relations] == [("B", "->"), ("D", "->"), ("F", "->")]
    with pytest.raises(SymroofError, match="do not help"):
        sr.regimes(MATMUL, of="intensity ~ B", at="D=8")


def test_a_size_that_never_vanishes_gives_no_range():
    """D/2 beside 1/(1/B + 1/D + 1/F) where B ~ D: the factor has the constant 1/2, which no size makes small."""
    (one,) = sr.regimes(MATMUL, assume="B ~ D", of="intensity ~ D/2").alternatives
    assert one.within is None
    assert one.check.status == "proved"
    (same,) = sr.regimes(MATMUL, assume="B ~ D", of="B ~ D").alternatives
    assert same.check.status == "proved"


def test_without_an_operation_there_are_no_options():
    for options in ({"on": "tpu-v5e"}, {"assume": "B << D"}):
        with pytest.raises(SymroofError, match="no operation"):
            sr.regimes(of="BDF/(BD + DF + BF) ~ B", **options)
    with pytest.raises(SymroofError, match="no operation to speak of"):
        sr.regimes(of="BD/(B + D)")


@pytest.mark.parametrize(("lang", "words"), [("en", "was found"), ("ko", "찾지 못했다"), ("zh", "没有找到")])
def test_a_regime_that_was_not_found_is_not_denied(lang, words):
    """That none exists would be a statement about all of them, which nothing proves."""
    assert words in sr.regimes(of="BDF/(BD + DF + BF) ~ 2B").to_text(lang=lang)


@pytest.mark.thorough
@cases("""
lang | words | other
en | did not come to an end | too long a list
ko | 끝내지 못함 | 목록이 길어
zh | 证明未能完成 | 列表过长
""")
def test_a_list_that_was_not_proved_says_why(monkeypatch, lang, words, other):
    """It is short, and the prover gave up; or it is too long to try."""
    monkeypatch.setattr("symroof.exploration.regime_map.check_partition", lambda *_: None)
    page = sr.regimes("bf16[A, B, C] * bf16[C, B, D] -> bf16[A, B, D]", on="tpu-v5e").to_text(lang=lang, width=400)
    assert words in page
    assert other not in page
    monkeypatch.setattr("symroof.exploration.regime_map.MOST_PROVED", 2)
    long = sr.regimes("bf16[A, B, C] * bf16[C, B, E] -> bf16[A, B, E]", on="tpu-v5e").to_text(lang=lang, width=400)
    assert other in long
    assert words not in long
