"""The answer of a long program in letters: FLOPs and bytes as polynomials in the sizes of its data, whose coefficients, made
of the sizes of its model, have names.

    bytes = ω + αB + κBS    ω: what is moved whatever the data are, as weights are; α for each of B, κ for each of BS
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sympy import Add, Expr, Integer

from symroof.algebra.rational import cancelled, sign_of
from symroof.derivation.draft import INTENSITY, Draft
from symroof.derivation.sizes import put_in, valued
from symroof.derivation.solving import solution_of
from symroof.derivation.threshold import stays_low
from symroof.formula import Name, Number
from symroof.model.program import Program
from symroof.proof.step import Reason, Solved, Step
from symroof.symbols import expression, fraction, symbol

# From more terms on a total is written in letters.
TERMS = 6
# The letters of the coefficients of FLOPs, of those of bytes, and of the bytes that do not depend on the data.
OF_WORK, OF_TRAFFIC, CONSTANT = "φψχη", "ακβγδ", "ω"


def letters(draft: Draft) -> Draft:
    """The totals in letters, and what follows of them: the intensity, where it is above the ridge, and what it stays below.
    Nothing of totals that are short, or that are no polynomials in the sizes of the data."""
    setting, x, program = draft.setting, draft.setting.variable, draft.setting.problem.operation
    totals = {setting.flops_name: setting.flops, setting.moved_name: setting.moved}
    data = [symbol(name) for name in program.dimensions if name not in sizes_of_model(program)]
    terms = [coefficients(total, data) for total in totals.values()]
    if setting.mixed or x not in data or max(len(Add.make_args(total.expand())) for total in totals.values()) <= TERMS:
        return draft
    short, named = _with_letters(draft, dict(zip(totals, terms, strict=True)))
    if len(named) > TERMS or not all(total.is_polynomial(*data) for total in short.values()):
        return draft
    if any(sign_of(value, setting.least_one) != 1 for value in named.values()):
        return draft
    above, below = short.values()
    intensity, where, factored = cancelled(above / below), setting.equalities, draft.layout.factored
    lines = {Name(name): draft.write(total) for name, total in short.items()} | {INTENSITY: factored(intensity)}
    solution = solution_of(intensity, symbol("ridge"), x, setting.least_one, layout=setting.layout)
    solved: tuple[Step, ...] = ()
    if solution.solved and solution.outcome == "depends":
        where_, facts = (*where, *solution.bands), Solved(x.name)
        solved = (Step("letters", Reason.SOLVE, draft.above, "<=>", solution.formula, where_, facts=facts),)
    return draft.attempt(
        *_definitions(draft, named),
        *(Step("letters", Reason.EXPANDED, name, "=", shown, where) for name, shown in lines.items()),
        *solved,
        *stays_low(draft, solution, intensity, "letters"),
    )


def _with_letters(draft: Draft, totals: dict[str, dict[Expr, Expr]]) -> tuple[dict[str, Expr], dict[str, Expr]]:
    """The totals with a letter for each coefficient of several terms, and what the letters stand for."""
    problem, named = draft.setting.problem, dict[str, Expr]()
    used = {*problem.operation.dimensions, *problem.mesh, *problem.let, *problem.symbols}
    short = dict.fromkeys(totals, Integer(0))
    for (total, terms), pool in zip(totals.items(), (OF_WORK, OF_TRAFFIC), strict=True):
        free = [letter for letter in pool if letter not in used]
        for monomial, coefficient in terms.items():
            letter = CONSTANT if monomial == 1 and pool == OF_TRAFFIC else free[0] if free else ""
            if len(Add.make_args(coefficient)) > 1 and letter not in ("", *used):
                free = [other for other in free if other != letter]
                named[letter], coefficient = coefficient, symbol(letter)
            short[total] += coefficient * monomial
    return short, named


def _definitions(draft: Draft, named: dict[str, Expr]) -> Iterator[Step]:
    """What each letter stands for, and what that is at each set of sizes that leaves nothing of it open."""
    for letter, value in named.items():
        name, shown = Name(letter), draft.layout.factored(value)
        yield Step("letters", Reason.LETTER, name, "=", shown, draft.setting.equalities)
        for point, sizes in enumerate(draft.setting.problem.at):
            if (number := valued(draft, value, sizes)).is_Rational:
                yield Step(
                    "letters", Reason.VALUE, name, "=", Number(fraction(number)), put_in(draft, point), point=point
                )


def sizes_of_model(program: Program) -> set[str]:
    """The sizes that weights have, or repeats as turns."""
    turns = (expression(repeat.times) for line in program.lines for repeat in line.repeats)
    of_weights = {name for tensor in program.declared_as("weight") for name in tensor.labels}
    return of_weights | {size.name for times in turns for size in times.free_symbols}


def coefficients(total: Expr, data: Iterable[Expr]) -> dict[Expr, Expr]:
    """The coefficients of a polynomial in the sizes of the data, by their monomials, the shorter ones first.

    >>> B, S, D = map(symbol, "BSD")
    >>> coefficients(2 * B * (D + S * D) + D, [B, S])
    {1: D, B: 2*D, B*S: 2*D}
    """
    result = total.expand().as_coefficients_dict(*data)
    return dict(sorted(result.items(), key=lambda item: (len(item[0].free_symbols), str(item[0]))))
