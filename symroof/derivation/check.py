"""The second engine: every step of a derivation is decided again, by code that did not find it.

Identities are cross-multiplied. Counts, exchanges, certificates and decimals are done again from their evidence.
Orders are told by coefficients or by z3, and equivalences are put to z3 with every denominator cleared. What z3
cannot settle is tried on exact random points and called ``sampled``. A step that is refuted raises: it is a bug, and
nobody gets to see it.

z3's division is total, so no quotient is ever given to it: n/d > 0 becomes n d > 0, and that d is not 0 is proved
first, under the guard of its case. A root is a variable r with r >= 0 and r r = body, and that body >= 0 is proved
first too.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from typing import Any

from symroof.derivation.evidence import examine, rounded
from symroof.derivation.exact import Exact, Poly, Rat, primitive, scale, sign, times
from symroof.derivation.ledger import Ledger, refuted
from symroof.derivation.points import ORDER, is_fact, sampled, truth_at
from symroof.derivation.step import Check, Step
from symroof.formula import Both, Cases, Compare, Either, Formula, Name, Verdict, names

TIMEOUT = 500  # milliseconds for one question to z3


def checked(steps: Iterable[Step], ledger: Ledger) -> tuple[Step, ...]:
    """The steps, each with its outcome. Raises :class:`~symroof.errors.CheckError` on a refuted one."""
    return tuple(replace(step, check=check(step, ledger)) for step in steps)


def check(step: Step, ledger: Ledger) -> Check:
    """Decide one step again; a new name on the left of ``=`` is entered as a definition."""
    outcome = examine(step, ledger)
    if step.relation == "=" and isinstance(step.left, Name) and ledger.is_new(step.left.name):
        outcome = outcome or _definition(step, ledger)
        ledger.definitions[step.left.name] = step.right
        return outcome
    if outcome is not None:
        return outcome
    match step.relation:
        case "=":
            return _identity(step, ledger)
        case "~":
            return rounded(step, ledger)
        case "<=>":
            return _alike(step, ledger) or _proved(step, ledger) or sampled(step, ledger)
        case relation if relation in ORDER:
            return _assumed(step, ledger) or _ordered(step, ledger) or _proved(step, ledger) or sampled(step, ledger)
    raise refuted(step, f"the relation {step.relation} has no check")


def _definition(step: Step, ledger: Ledger) -> Check:
    """A definition is sound if it is not circular and divides by nothing that can be 0."""
    assert isinstance(step.left, Name)
    if step.left.name in names(step.right):
        raise refuted(step, "the definition is circular")
    _, below = ledger.exact(figures=False).rational(step.right)
    if sign(below, ledger.least_one) != 1:
        raise refuted(step, "the denominator of the definition may vanish")
    return Check("proved", "definition, denominators positive")


def _identity(step: Step, ledger: Ledger) -> Check:
    above: Poly = {}
    for figures in (False, True):
        exact = ledger.exact(figures=figures, assumptions=step.assumptions)
        above, below = exact.difference(step.left, step.right)
        if not above:
            if not sign(below, ledger.least_one) and not _Prover(exact, ledger.least_one).apart_from_zero(below, step):
                raise refuted(step, "a denominator may vanish")
            return Check("proved", "exact identity")
    shown = " + ".join(f"{c}" + "".join(f"*{n}^{e}" for n, e in m) for m, c in list(above.items())[:6])
    raise refuted(step, f"the sides differ by {shown}")


def _ordered(step: Step, ledger: Ledger) -> Check | None:
    """An order between rational functions, told by the coefficients of the cleared difference."""
    for figures in (False, True):
        exact = ledger.exact(figures=figures, assumptions=step.assumptions)
        above, below = exact.difference(step.left, step.right)
        if exact.atoms:
            return None
        bottom = sign(below, ledger.least_one)
        strict = step.relation in "<>"
        top = sign(above, ledger.least_one, strict=strict)
        if not bottom or top is None:
            continue
        wanted = 1 if step.relation[0] == ">" else -1
        if top * bottom == wanted or (top == 0 and not strict):
            return Check("proved", "signs of coefficients")
    return None


def _alike(step: Step, ledger: Ledger) -> Check | None:
    """Two inequalities are one where, with denominators cleared, both are the same polynomial."""
    for figures in (False, True):
        exact = ledger.exact(figures=figures, assumptions=step.assumptions)
        sides = [_normal(side, exact, ledger.least_one) for side in (step.left, step.right)]
        if sides[0] is not None and sides[0] == sides[1]:
            return Check("proved", "exact identity of the cleared sides")
    return None


def _assumed(step: Step, ledger: Ledger) -> Check | None:
    """An order that is, with denominators cleared, one of the assumptions."""
    exact = ledger.exact(figures=False)
    claim = _normal(Compare(step.left, step.relation, step.right), exact, ledger.least_one)
    if claim is not None and any(claim == _normal(a, exact, ledger.least_one) for a in step.assumptions):
        return Check("proved", "exact identity with an assumption")
    return None


def _normal(formula: Formula, exact: Exact, least_one: frozenset[str]) -> tuple[Poly, int] | None:
    """An order as one primitive polynomial that is above 0, or at least 0; None for anything else."""
    if not isinstance(formula, Compare) or formula.relation not in ORDER:
        return None
    cleared = _cleared(exact.difference(formula.left, formula.right), least_one)
    if cleared is None or exact.atoms:
        return None
    return primitive(scale(cleared, Fraction(-1 if formula.relation[0] == "<" else 1))), len(formula.relation)


def _cleared(difference: Rat, least_one: frozenset[str]) -> Poly | None:
    """The numerator, turned so that the denominator is positive; None where its sign is not known."""
    bottom = sign(primitive(difference[1]), least_one)
    return scale(difference[0], Fraction(bottom)) if bottom else None


def _proved(step: Step, ledger: Ledger) -> Check | None:
    """z3's proof: for every ridge, for every peak and bandwidth, for the given ones; None where it gives up."""
    for figures, free in ((False, "ridge"), (False, None), (True, None)):
        exact = ledger.exact(figures=figures, free=free)
        prover = _Prover(exact, ledger.least_one)
        answer = prover.decide(step)
        if answer is True:
            return Check("proved", "z3")
        if isinstance(answer, dict) and figures and truth_at(step, exact, answer) is False:
            shown = ", ".join(f"{name} = {value}" for name, value in answer.items())
            raise refuted(step, f"it is false at {shown}")
    return None


class _Prover:
    """One question to z3: the only place where it is imported."""

    def __init__(self, exact: Exact, least_one: frozenset[str]) -> None:
        import z3

        self.z3, self.exact, self.least_one = z3, exact, least_one
        self.variables: dict[str, Any] = {}
        self.domain: list[Any] = []
        self.guards: list[Any] = []
        self.obligations: list[tuple[list[Any], Any]] = []

    def decide(self, step: Step) -> bool | dict[str, Fraction] | None:
        """True where the step holds on the whole domain, a point where it does not, None where z3 gives up."""
        z3 = self.z3
        premises = [self.proposition(a, []) for a in step.assumptions if is_fact(a)]
        claim = self.proposition(Compare(step.left, step.relation, step.right), premises)
        for known, must in self.obligations:
            if self._ask(*known, *premises, z3.Not(must)) is not True:
                return None
        return self._ask(*self.domain, *premises, z3.Not(claim))

    def apart_from_zero(self, poly: Poly, step: Step) -> bool:
        """Whether the assumptions of the step keep a polynomial away from 0."""
        premises = [self.proposition(a, []) for a in step.assumptions if is_fact(a)]
        return bool(poly) and self._vanishes(poly, premises) is True

    def _vanishes(self, poly: Poly, premises: list[Any]) -> bool | dict[str, Fraction] | None:
        zero = self.polynomial(primitive(poly)) == 0
        return self._ask(*self.domain, *premises, zero)

    def _oblige(self, must: Any) -> None:
        """``must`` has to follow from what is known here, before the thing that needs it is described."""
        self.obligations.append(([*self.domain, *self.guards], must))

    def _ask(self, *questions: Any) -> bool | dict[str, Fraction] | None:
        solver = self.z3.Solver()
        solver.set("timeout", TIMEOUT)
        solver.add(*questions)
        answer = solver.check()
        if answer == self.z3.unsat:
            return True
        if answer != self.z3.sat:
            return None
        model = solver.model()
        values = {name: model.eval(v, model_completion=True) for name, v in self.variables.items()}
        return {n: Fraction(str(v.as_fraction() if hasattr(v, "as_fraction") else v.approx(20).as_fraction())) for n, v in values.items()}

    def variable(self, name: str) -> Any:
        if name not in self.variables:
            v = self.variables[name] = self.z3.Real(name)
            self.domain.append(v >= 1 if name in self.least_one else v > 0 if name not in self.exact.atoms else v == v)
            if name in self.exact.atoms:
                self._describe(name, v)
        return self.variables[name]

    def _describe(self, atom: str, v: Any) -> None:
        """What a root, maximum or minimum is, in inequalities without quotients."""
        function, arguments = self.exact.atoms[atom]
        if function not in ("max", "min", "sqrt"):
            return  # nothing is known of it, so nothing is proved with it
        gaps = []  # (v - argument) times its positive denominator
        for above, below in arguments:
            bottom = self.polynomial(below)
            if function == "sqrt":
                self._oblige(self.polynomial(above) * bottom >= 0)
                self.domain += [v >= 0, v * v * bottom == self.polynomial(above)]
            gaps.append(v * bottom - self.polynomial(above))
        if function in ("max", "min"):
            self.domain += [gap >= 0 if function == "max" else gap <= 0 for gap in gaps]
            self.domain.append(self.z3.Or(*(gap == 0 for gap in gaps)))

    def polynomial(self, poly: Poly) -> Any:
        z3, terms = self.z3, []
        for monomial, c in poly.items():
            term = z3.RatVal(c.numerator, c.denominator)
            for name, power in monomial:
                for _ in range(power):
                    term = term * self.variable(name)
            terms.append(term)
        return z3.Sum(*terms) if terms else z3.RealVal(0)

    def proposition(self, formula: Formula, guards: list[Any]) -> Any:
        z3 = self.z3
        match formula:
            case Verdict(holds=holds):
                return z3.BoolVal(holds)
            case Both(parts=parts):
                return z3.And(*(self.proposition(part, guards) for part in parts))
            case Either(parts=parts):
                return z3.Or(*(self.proposition(part, guards) for part in parts))
            case Compare(left=left, relation="<=>", right=right):
                return self.proposition(left, guards) == self.proposition(right, guards)
            case Cases(rows=rows, otherwise=otherwise):
                tests = [self.proposition(guard, guards) for _, guard in rows]
                options = []
                for i, (consequence, _) in enumerate(rows):
                    here = [*(z3.Not(t) for t in tests[:i]), tests[i]]
                    options.append(z3.And(*here, self.proposition(consequence, [*guards, *here])))
                if otherwise is not None:
                    nowhere = [z3.Not(t) for t in tests]
                    options.append(z3.And(*nowhere, self.proposition(otherwise, [*guards, *nowhere])))
                return z3.Or(*options)
            case Compare(left=left, relation=relation, right=right):
                return self._atom(self.exact.difference(left, right), relation, guards)
        raise TypeError(f"{type(formula).__name__} is not a proposition")

    def _atom(self, difference: Rat, relation: str, guards: list[Any]) -> Any:
        above, below = difference
        self.guards = guards
        cleared = _cleared(difference, self.least_one)
        if cleared is None:
            self._oblige(self.polynomial(primitive(below)) != 0)
            cleared = times(above, primitive(below))
        value = self.polynomial(primitive(cleared))
        return {">": value > 0, ">=": value >= 0, "<": value < 0, "<=": value <= 0, "=": value == 0}[relation]
