"""Deliberate faults: each must be caught by a law and by an answer of the book. A test that cannot fail is none."""

import importlib
import inspect
from dataclasses import replace

import laws
import pytest

import symroof.algebra.dominance
import symroof.model.given_costs
import symroof.model.quantities
import symroof.model.resources
import symroof.model.splits
import symroof.model.tensor_types
import symroof.reading.numbers
from symroof.algebra.dominance import Certificate, Similarity
from symroof.algebra.roots import Interval
from symroof.errors import SymroofError
from symroof.model.collectives import COLLECTIVES
from symroof.model.einsum import Einsum
from symroof.model.given_costs import Cost
from symroof.model.tensor_types import Dtype

BOOK = importlib.import_module("book.test_ch1_rooflines")


def book_answers():
    """Every test of the chapter as a call: parametrised ones with each of their arguments."""
    for name, function in inspect.getmembers(BOOK, inspect.isfunction):
        if not name.startswith("test_"):
            continue
        calls = [{}]
        for mark in getattr(function, "pytestmark", ()):
            names = [mark.args[0]] if isinstance(mark.args[0], str) else list(mark.args[0])
            rows = [dict(zip(names, row if len(names) > 1 else (row,), strict=True)) for row in mark.args[1]]
            calls = [{**call, **row} for call in calls for row in rows[:2]]
        for call in calls:
            yield name, lambda function=function, call=call: function(**call)


def caught(checks):
    """The names of the checks that fail, up to the first."""
    for name, check in checks:
        try:
            check()
        except (AssertionError, SymroofError, pytest.fail.Exception):
            return name
    return None


def property_of(function):
    return property(function)


def swap(monkeypatch, owner, name, value):
    """Replace a function wherever it was imported to."""
    import sys

    original = getattr(owner, name)
    monkeypatch.setattr(owner, name, value)
    for module in [
        m for n, m in sys.modules.items() if n.startswith("symroof") or n in ("laws", "book.test_ch1_rooflines")
    ]:
        if getattr(module, name, None) is original:
            monkeypatch.setattr(module, name, value)


def forgotten_write(m):
    m.setattr(Cost, "bytes", property_of(lambda self: self.reads))


def forgotten_operand(m):
    original = Einsum.cost

    def cost(self, count="fma"):
        found = original(self, count)
        return Cost(found.work, found.rounded, found.loads[:1], found.stores, count)

    m.setattr(Einsum, "cost", cost)


def int4_as_a_byte(m):
    m.setattr(Dtype, "bytes", property_of(lambda self: -(-self.bits // 8)))


def bf16_as_four_bytes(m):
    m.setattr(Dtype, "bytes", property_of(lambda self: 4 if self.name == "bf16" else self.bits / 8))


def multiply_add_counted_once(m):
    original = Einsum.cost

    def cost(self, count="fma"):
        found = original(self, count)
        rounded = tuple(amount / 2 for amount in found.rounded)
        return Cost(found.work, rounded, found.loads, found.stores, count)

    m.setattr(Einsum, "cost", cost)


def one_addition_too_many(m):
    original = Einsum.cost

    def cost(self, count="fma"):
        found = original(self, count)
        return Cost((*found.work, self.output.elements), found.rounded, found.loads, found.stores, count)

    m.setattr(Einsum, "cost", cost)


def inverted_ridge(m):
    from symroof.derivation.premises import Setting

    m.setattr(Setting, "ridge", property_of(lambda self: self.bandwidth and self.bandwidth.value / self.peak.value))


def narrowest_input_decides_the_rate(m):
    swap(m, symroof.model.tensor_types, "widest", lambda types: min(types, key=lambda t: t.bits))


def flipped_witness(m):
    original = symroof.algebra.dominance.smallness

    def negligible(monomial, beside, cone):
        found = original(monomial, beside, cone)
        if found is None:
            return None
        flipped = tuple((tuple(-e for e in a), w) for a, w in found.small)
        return Certificate(found.symbols, found.monomial, found.beside, flipped, found.bounded)

    swap(m, symroof.algebra.dominance, "smallness", negligible)
    m.setattr(laws, "LAWS", (certificates_law,))


def certificates_law():
    """A certificate multiplies out to its monomial."""
    for certificate in laws.similarity_of(
        laws.B * laws.D / (laws.B + laws.D), laws.B, laws.Regime(((laws.B, "<<", laws.D),), laws.DIMS)
    ).certificates:
        powers = [0] * len(certificate.symbols)
        for exponents, weight in (*certificate.beside, *certificate.small, *certificate.bounded):
            powers = [p + weight * e for p, e in zip(powers, exponents, strict=True)]
        assert tuple(powers) == certificate.monomial


def kept_term_dropped(m):
    def leading(expression, regime):
        found = original(expression, regime)
        return found * 2

    original = symroof.algebra.dominance.leading_form
    swap(m, symroof.algebra.dominance, "leading_form", leading)


def everything_is_similar(m):
    swap(m, symroof.algebra.dominance, "similarity_of", lambda a, b, regime: Similarity(True, a, b))


def all_reduce_costed_as_all_gather(m):
    m.setitem(COLLECTIVES, "all-reduce", COLLECTIVES["all-gather"])


def exchange_of_the_wrong_tensor(m):
    original = symroof.model.chip_costs.message
    swap(m, symroof.model.chip_costs, "message", lambda move, program: original(move, program) * laws.D)


def chips_do_not_share_the_work(m):
    original = symroof.model.chip_costs.placements
    swap(
        m,
        symroof.model.chip_costs,
        "placements",
        lambda program: tuple(replace(p, division=frozenset()) for p in original(program)),
    )


def threshold_turned_round(m):
    original = symroof.algebra.solvers._Solver._linear

    def linear(self):
        found = original(self)
        cases = tuple(
            type(c)(c.guard, tuple(Interval(i.high, i.low) for i in c.intervals), c.implicit) for c in found.cases
        )
        return replace(found, cases=cases)

    m.setattr(symroof.algebra.solvers._Solver, "_linear", linear)
    m.setattr(symroof.algebra.solvers._Solver, "_numeric", lambda self, numbers: linear(self))


def guard_forgotten(m):
    original = symroof.algebra.solvers._Solver._linear

    def linear(self):
        found = original(self)
        cases = tuple(type(c)((), c.intervals, c.implicit) for c in found.cases)
        return replace(found, cases=cases, otherwise=None)

    m.setattr(symroof.algebra.solvers._Solver, "_linear", linear)


def rounded_down(m):
    import symroof.algebra.roots

    original = symroof.algebra.roots.whole_number

    def whole(relation, bound, each=1, within=0):
        found = original(relation, bound, each, within)
        return found and found - each

    swap(m, symroof.algebra.roots, "whole_number", whole)


def tera_is_giga(m):
    m.setitem(symroof.model.quantities.UNITS, "TB", symroof.model.quantities.UNITS["GB"])
    m.setattr(BOOK, "QUESTION_1", {"HBM": "0.81 TB/s", "peak": "3.94e14 OPs/s"})


def exponents_off_by_one(m):
    original = symroof.reading.numbers.exact
    swap(m, symroof.reading.numbers, "exact", lambda digits: original(digits) * (10 if "e" in digits else 1))


def factor_upside_down(m):
    original = symroof.algebra.dominance.approximation

    def approximation(exact, approximate, regime):
        found = original(exact, approximate, regime)
        return type(found)(exact, approximate, 1 / found.factor, found.within, found.next_order)

    swap(m, symroof.algebra.dominance, "approximation", approximation)


def bounds_exchanged(m):
    original, low, high = symroof.model.resources.times_of, "T_lower", "T_upper"
    swap(m, symroof.model.resources, "times_of", lambda *a: (t := original(*a)) | {low: t[high], high: t[low]})


def output_dimension_contracted(m):
    m.setattr(Einsum, "length", property_of(lambda self: self.output.elements))


MUTANTS = (
    forgotten_write, forgotten_operand, int4_as_a_byte, bf16_as_four_bytes, multiply_add_counted_once,
    one_addition_too_many, inverted_ridge, narrowest_input_decides_the_rate, flipped_witness, kept_term_dropped,
    everything_is_similar, all_reduce_costed_as_all_gather, exchange_of_the_wrong_tensor, chips_do_not_share_the_work,
    threshold_turned_round, guard_forgotten, rounded_down, tera_is_giga, exponents_off_by_one, factor_upside_down,
    bounds_exchanged, output_dimension_contracted,
)  # fmt: skip


@pytest.fixture(autouse=True)
def nothing_is_remembered():
    """What the algebra keeps between calls would outlive a fault, and hide it."""
    kept = (symroof.algebra.dominance.similarity_of, symroof.algebra.dominance.limit)
    for function in kept:
        function.cache_clear()
    yield
    for function in kept:
        function.cache_clear()


@pytest.mark.part(1)
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_mutant_is_caught_by_a_law_and_by_the_book(mutant, monkeypatch):
    from symroof.reading.chips import shipped

    shipped.cache_clear()
    mutant(monkeypatch)
    try:
        by_law = caught((law.__name__, law) for law in laws.LAWS)
        by_book = caught(book_answers())
    finally:
        monkeypatch.undo()
        shipped.cache_clear()
    assert by_law, "no law notices"
    assert by_book, "no answer of the book notices"


@pytest.mark.thorough
def test_without_a_mutant_nothing_is_caught():
    assert caught((law.__name__, law) for law in laws.LAWS) is None
    assert caught(book_answers()) is None
