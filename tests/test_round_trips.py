"""A formula that is printed and read back has the value that it had: plain text, explicit text and LaTeX."""

from fractions import Fraction
from random import Random

import pytest
from statements import NoValueError, value

from symroof.formula import Call, Name, Negative, Number, Power, Product, Quotient, Sum
from symroof.reading.claims import read_claim
from symroof.reading.expressions import read_expression
from symroof.reading.latex import read_latex, read_latex_expression
from symroof.reading.latex_phrases import Dialect
from symroof.reading.name_scope import Scope, opaque
from symroof.rendering.formulas.plain import PlainPrinter
from symroof.rendering.formulas.tex import LatexPrinter

pytestmark = pytest.mark.part(2)

NAMES = ("B", "D", "F", "N", "flops", "bytes", "T_math", "T_comms", "T_lower")
SCOPE = Scope(NAMES)
READERS = {
    "plain": (PlainPrinter().print, lambda text: read_expression(text, SCOPE)),
    "explicit": (PlainPrinter(explicit=True).print, lambda text: read_expression(text, SCOPE)),
    "LaTeX": (LatexPrinter().print, lambda text: read_latex_expression(text, Dialect(SCOPE))),
}


def drawn(random, depth):
    """A formula of any shape that derivations have."""
    if not depth:
        digits = random.choice(("1.97e14", "8.2e11", "0.5", "3.35e12", "2e3"))
        atoms = [Name(random.choice(NAMES))] * 4 + [Number(Fraction(random.randint(1, 12)))] * 2
        return random.choice([*atoms, Number(Fraction(digits), digits), Number(Fraction(random.randint(1, 9), 7))])

    def part():
        return drawn(random, depth - random.randint(1, 2) if depth > 1 else 0)

    terms = [Negative(p) if random.random() < 0.4 else p for p in (part() for _ in range(random.randint(2, 3)))]
    return random.choice((
        Sum(tuple(terms)), Product(tuple(part() for _ in range(random.randint(2, 4)))), Product((Number(Fraction(random.randint(2, 9))), part(), part())),
        Quotient(part(), part()), Power(drawn(random, random.randint(0, 1)), Number(Fraction(random.randint(2, 3)))), Call(random.choice(("max", "min")), (part(), part())),
        Call("sqrt", (Power(drawn(random, 0), Number(Fraction(2))),)), Negative(part()), Quotient(Product((part(), part())), Sum((part(), part()))),
    ))  # fmt: skip


@pytest.mark.thorough
@pytest.mark.parametrize("kind", READERS)
@pytest.mark.parametrize("seed", range(3))
def test_a_printed_formula_is_read_back_with_its_value(kind, seed):
    write, read = READERS[kind]
    random, compared = Random(seed), 0
    for _ in range(60):
        formula = drawn(random, random.randint(1, 3))
        again = read(write(formula))
        point = {name: Fraction(random.randint(2, 99), random.randint(1, 3)) for name in NAMES}
        try:
            before = value(formula, point)
        except NoValueError:
            continue
        compared += 1
        after = value(again, point)
        assert before == after or abs(before / after - 1) < Fraction(1, 10**40), (write(formula), formula)
    assert compared > 40


OPAQUE = [Name(opaque(words)) for words in ("batch size", "AI_MHA", "50% of it", "Zeit")]


WRITTEN = [*OPAQUE, Product((Number(Fraction(2), "2"), OPAQUE[0], Name("B"))), Quotient(OPAQUE[2], OPAQUE[3])]
WRITTEN += [Number(Fraction(16000), "16k"), Number(Fraction(3 * 10**9, 8), "3 Gbps", "bytes/s")]
WRITTEN += [Number(Fraction(5, 10**6), "5 us", "s"), Number(Fraction(7 * 86400), "7 days", "s")]
WRITTEN += [Number(Fraction(240), "240 FLOPs/bytes", "FLOPs/bytes")]


@pytest.mark.parametrize("formula", WRITTEN, ids=str)
def test_what_documents_write_is_printed_and_read_back(formula):
    dialect = Dialect(Scope(NAMES, open=True, lenient=True, letters=frozenset()))
    assert read_latex_expression(LatexPrinter().print(formula), dialect) == formula


@pytest.mark.parametrize("relation", ["=", "~", "<", "<=", ">", ">=", "<<"])
def test_a_printed_relation_is_read_back(relation):
    random = Random(relation)
    for _ in range(8):
        sides = drawn(random, 2), drawn(random, 1)
        for reader, claims in (
            (PlainPrinter(), lambda text: (read_claim(text, SCOPE),)),
            (LatexPrinter(), lambda text: read_latex(text, Dialect(SCOPE))),
        ):
            (claim,) = claims(f"{reader.print(sides[0])} {reader.relation(relation)} {reader.print(sides[1])}")
            assert claim.propositions[0][0].relations == (relation,)
