"""z3's part of the second engine: the only module that imports it.

z3's division is total, so no quotient is ever given to it: n/d > 0 becomes n d > 0, and that d is not 0 is proved
first, under the guard of its case. A root is a variable r with r >= 0 and r r = body, and that body >= 0 is proved
first too.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from symroof.formula import Both, Cases, Compare, Either, Formula, Verdict
from symroof.proof.exact import Exact, Poly, Rat, primitive, scale, sign, times
from symroof.proof.sampling import ORDER, is_fact

# The work that one question to z3 may take, in its own units: the same on every machine and under every load.
BUDGET = 3_000_000


def normal(formula: Formula, exact: Exact, least_one: frozenset[str]) -> tuple[Poly, int] | None:
    """An order as one primitive polynomial that is above 0, or at least 0; None for anything else."""
    if not isinstance(formula, Compare) or formula.relation not in ORDER:
        return None
    turned = cleared(exact.difference(formula.left, formula.right), least_one)
    if turned is None or exact.atoms:
        return None
    return primitive(scale(turned, Fraction(-1 if formula.relation[0] == "<" else 1))), len(formula.relation)


def cleared(difference: Rat, least_one: frozenset[str]) -> Poly | None:
    """The numerator, turned so that the denominator is positive; None where its sign is not known."""
    bottom = sign(primitive(difference[1]), least_one)
    return scale(difference[0], Fraction(bottom)) if bottom else None


class Prover:
    """One question to z3: the only place where it is imported."""

    def __init__(self, exact: Exact, least_one: frozenset[str]) -> None:
        import z3

        self.z3, self.exact, self.least_one = z3, exact, least_one
        self.variables: dict[str, Any] = {}
        self.domain: list[Any] = []
        self.guards: list[Any] = []
        self.obligations: list[tuple[list[Any], Any]] = []

    def decide(self, claim: Formula, assumptions: Iterable[Formula] = ()) -> bool | dict[str, Fraction] | None:
        """True where the claim holds on the whole domain, a point where it does not, None where z3 gives up."""
        z3 = self.z3
        premises = [self.proposition(a, []) for a in assumptions if is_fact(a)]
        wanted = self.proposition(claim, premises)
        if not self._defined(premises):
            return None
        return self._ask(*self.domain, *premises, z3.Not(wanted))

    def defined(self, assumptions: Iterable[Formula]) -> bool:
        """Whether every function that was met has a value on the whole domain, also where it cancels."""
        return self._defined([self.proposition(a, []) for a in assumptions if is_fact(a)])

    def _defined(self, premises: list[Any]) -> bool:
        for atom in list(self.exact.atoms):
            self.variable(atom)
        return all(self._ask(*known, *premises, self.z3.Not(must)) is True for known, must in self.obligations)

    def apart_from_zero(self, poly: Poly, assumptions: Iterable[Formula]) -> bool:
        """Whether the assumptions keep a polynomial away from 0."""
        premises = [self.proposition(a, []) for a in assumptions if is_fact(a)]
        return bool(poly) and self._vanishes(poly, premises) is True

    def _vanishes(self, poly: Poly, premises: list[Any]) -> bool | dict[str, Fraction] | None:
        zero = self.polynomial(primitive(poly)) == 0
        return self._ask(*self.domain, *premises, zero)

    def _oblige(self, must: Any) -> None:
        """``must`` has to follow from what is known here, before the thing that needs it is described."""
        self.obligations.append(([*self.domain, *self.guards], must))

    def _ask(self, *questions: Any) -> bool | dict[str, Fraction] | None:
        solver = self.z3.Solver()
        solver.set("rlimit", BUDGET)
        solver.add(*questions)
        answer = solver.check()
        if answer == self.z3.unsat:
            return True
        if answer != self.z3.sat:
            return None
        model = solver.model()
        values = {name: model.eval(v, model_completion=True) for name, v in self.variables.items()}
        return {
            n: Fraction(str(v.as_fraction() if hasattr(v, "as_fraction") else v.approx(20).as_fraction()))
            for n, v in values.items()
        }

    def variable(self, name: str) -> Any:
        if name not in self.variables:
            v = self.variables[name] = self.z3.Real(name)
            self.domain.append(v >= 1 if name in self.least_one else v > 0 if name not in self.exact.atoms else v == v)
            if name in self.exact.atoms:
                self._describe(name, v)
        return self.variables[name]

    def _describe(self, atom: str, v: Any) -> None:
        """What a root, maximum or minimum is, in inequalities without quotients; of others, only where they have a value."""
        function, arguments = self.exact.atoms[atom]
        gaps = []  # (v - argument) times something positive
        for above, below in arguments:
            top, bottom, side = self.polynomial(above), self.polynomial(below), sign(below, self.least_one)
            if not side:
                self._oblige(bottom != 0)
            if function == "log":
                self._oblige(top * bottom > 0)
            if function == "sqrt":
                self._oblige(top * bottom >= 0)
                self.domain += [v >= 0, v * v * bottom == top]
            gaps.append((v * bottom - top) * (side or bottom))
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
        turned = cleared(difference, self.least_one)
        if turned is None:
            self._oblige(self.polynomial(primitive(below)) != 0)
            turned = times(above, primitive(below))
        value = self.polynomial(primitive(turned))
        return {">": value > 0, ">=": value >= 0, "<": value < 0, "<=": value <= 0, "=": value == 0}[relation]
