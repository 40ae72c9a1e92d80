"""The second engine: every step of a derivation is decided again, by code that did not find it.

What a step rests on is done again: counts, exchanges, certificates, decimals. Everything else is settled as a
proposition, with the definitions and the figures put in. What cannot be settled is tried on exact random points and
called ``sampled``. A step that is refuted raises: it is a bug, and nobody gets to see it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from fractions import Fraction

from symroof.formula import Cases, Compare, Formula, Name, Number, Sum, Verdict, names, number
from symroof.proof.calculus import degree
from symroof.proof.evidence import examine, rounded
from symroof.proof.exact import Exact, Poly, sign
from symroof.proof.grounds import AtSize, Counted, Gone, Loops, OnChip, Sent, Shared, Solved, Unbounded
from symroof.proof.ledger import Ledger, refuted
from symroof.proof.sampling import ORDER, ends_of, free_names, sampled, truth_at
from symroof.proof.settling import Settled, asked, read
from symroof.proof.step import Check, Step

# The values of figures are put in last; what is proved for every ridge is proved soonest.
READINGS = ((False, None), (True, None))
QUESTIONS = ((False, "ridge"), (False, None), (True, None))


def checked(steps: Iterable[Step], ledger: Ledger) -> tuple[Step, ...]:
    """The steps, each with its outcome. Raises :class:`~symroof.errors.CheckError` on a refuted one."""
    done = []
    for step in steps:
        done.append(replace(step, check=check(step, ledger)))
        ledger.established.append(done[-1])
    return tuple(done)


def check(step: Step, ledger: Ledger) -> Check:
    """Decide one step again; a new name on the left of ``=`` has to mean what the problem or the textbook says."""
    if step.facts is not None and not FACTS[type(step.facts)](step, ledger):
        raise refuted(step, "its facts say something else")
    if step.role in ledger.meanings and step.left != Name(step.role):
        raise refuted(step, f"it is said to be about {step.role}")
    if step.relation == "=" and isinstance(step.left, Name) and ledger.is_new(step.left.name):
        outcome = _definition(step, step.left.name, ledger)
        ledger.define(step.left.name, step.right)
        return outcome
    if step.evidence is not None:
        return examine(step, ledger)
    if step.relation == "~":
        return rounded(step, ledger)
    if step.relation not in ("=", "<=>", *ORDER):
        raise refuted(step, f"the relation {step.relation} has no check")
    return _settled(step, ledger)


def _definition(step: Step, name: str, ledger: Ledger) -> Check:
    """What a name is said to be is what it means; and what is divided by is nothing that can be 0."""
    meaning = ledger.meanings.get(name)
    if meaning is None:
        raise refuted(step, f"nothing says what {name} is")
    if not isinstance(meaning, Formula):
        if step.evidence != meaning:
            raise refuted(step, f"the evidence is not that of {name}")
        return examine(step, ledger)
    if step.evidence is not None:
        raise refuted(step, "a definition rests on its meaning alone")
    if name in names(step.right):
        raise refuted(step, "the definition is circular")
    exact = ledger.exact(figures=False)
    above, below = exact.difference(step.right, meaning)
    if above:
        raise refuted(step, f"this is not what {name} means")
    if sign(below, ledger.least_one) != 1:
        raise refuted(step, "the denominator of the definition may vanish")
    return Check("proved", "definition, denominators positive")


def _settled(step: Step, ledger: Ledger) -> Check:
    claim = Compare(step.left, step.relation, step.right)
    for figures, free in READINGS:
        exact = ledger.exact(figures=figures, assumptions=step.assumptions, free=free)
        by = read(claim, exact, ledger.least_one, step.assumptions)
        if by == "identity where the denominators are not 0":
            raise refuted(step, "a denominator may vanish")
        if by:
            return Check("proved", by)
    if step.relation == "=" and not exact.atoms:
        raise refuted(step, f"the sides differ by {_shown(exact.difference(step.left, step.right)[0])}")
    for figures, free in QUESTIONS:
        exact = ledger.exact(figures=figures, free=free)
        answer = asked(claim, exact, ledger.least_one, step.assumptions)
        if answer.truth:
            return Check("proved", answer.by)
        if figures and _false_at(step, answer, ledger):
            shown = ", ".join(f"{name} = {value}" for name, value in (answer.point or {}).items())
            raise refuted(step, f"it is false at {shown}")
    return sampled(step, ledger)


def _false_at(step: Step, answer: Settled, ledger: Ledger) -> bool:
    return answer.point is not None and truth_at(step, ledger.exact(figures=True), answer.point) is False


def _shown(poly: Poly) -> str:
    return " + ".join(f"{c}" + "".join(f"*{n}^{e}" for n, e in m) for m, c in list(poly.items())[:6])


def _is_put_in(step: Step, ledger: Ledger) -> bool:
    """The size of a row is assumed of what the condition was solved for, at this set of sizes or at any."""
    solved = {
        s.facts.variable for s in ledger.established if isinstance(s.facts, Solved) and s.point in (None, step.point)
    }
    equal = [a for a in step.assumptions if isinstance(a, Compare) and a.relation == "="]
    return any(isinstance(a.left, Name) and a.left.name in solved and _is(a.right, step.facts.size) for a in equal)


def _cancels(step: Step, ledger: Ledger) -> bool:
    """What cancels stands behind the names on the left, and no longer on the right."""
    return {name.name for name in step.facts.names} <= free_names(step.left, ledger.exact(figures=False)) - set(
        names(step.right)
    )


def _is_solved(step: Step, ledger: Ledger) -> bool:
    """The first case bounds the variable, or is a condition that is not linear in it."""
    variable, first = step.facts.variable, step.right.rows[0][0] if isinstance(step.right, Cases) else step.right
    if isinstance(first, Verdict):
        return True
    return all(_bounds(end, variable, ledger) for end in ends_of(first))


def _bounds(end: Compare, variable: str, ledger: Ledger) -> bool:
    if end.left == Name(variable):
        return variable not in names(end.right)
    solved = isinstance(end.left, Name) and end.left.name not in names(end.right)
    power = variable in names(end) and degree(ledger.exact(figures=False).difference(end.left, end.right)[0], variable)
    return power > (1 if solved else 0)


def _is(formula: Formula, value: Fraction) -> bool:
    sides = Exact({}).difference(formula, Number(value))
    return not sides[0]


# What the facts of a step have to agree with. Those of a count are compared with the loops.
FACTS: Mapping[type, Callable[[Step, Ledger], bool]] = {
    Counted: lambda step, ledger: isinstance(step.evidence, Loops),
    Gone: _cancels,
    Solved: _is_solved,
    AtSize: _is_put_in,
    Unbounded: lambda step, ledger: (
        step.right == number(1) and isinstance(step.left, Sum) and step.left.terms[0] == number(1)
    ),
    Shared: lambda step, ledger: isinstance(step.evidence, OnChip),
    Sent: lambda step, ledger: isinstance(step.evidence, OnChip),
}
