"""Questions to the SMT solver z3: the only module that imports it.

z3's division is total, so no quotient is ever given to it: n/d > 0 becomes n d > 0, and that d is not 0 is proved
first, under the guard of its case. A root is a variable r >= 0 with r r = body wherever body >= 0, and that body >= 0
is proved first too. So what a proposition needs for its values is asked before whether it is true.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from fractions import Fraction
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

from symroof.errors import AlgebraError, CheckError
from symroof.formula import Compare, Formula, Verdict, fold, several_of
from symroof.proof.exact_values import is_fact
from symroof.proof.polynomials import Monomial, Poly, Rat
from symroof.proof.quotients import COMPARISONS, Quotients

if TYPE_CHECKING:
    from z3 import ArithRef, BoolRef, CheckSatResult, Solver

# The work that one question to z3 may take, in its own units: the same on every machine and under every load.
BUDGET = 3_000_000
# And one that a claim asks; what is false is looked for at points as well.
OF_CLAIMS = BUDGET // 4
Directions = tuple[set[Monomial], set[Monomial]]
# What z3 makes of a proposition: its truth, and what has to hold so that everything in it has a value.
Encoding: TypeAlias = "tuple[BoolRef, list[BoolRef]]"


def _solved(z3: ModuleType, propositions: Iterable[BoolRef], work: int | None = None) -> tuple[Solver, CheckSatResult]:
    """A solver and what it answers, in a context of its own: what was asked before in this process changes nothing."""
    context = z3.Context()
    solver = z3.Solver(ctx=context)
    solver.set("rlimit", min(work or BUDGET, BUDGET))
    solver.add(*(proposition.translate(context) for proposition in propositions))
    return solver, solver.check()


class Prover:
    """Questions to z3 about formulas, where some facts hold.

    As rules for :func:`~symroof.formula.fold` it makes of a proposition what z3 takes; a term is what ``exact`` makes
    of it. ``whole`` are names that stand for whole numbers alone, for multiples of the number beside them. A question may
    take so much ``work``.
    """

    def __init__(
        self,
        exact: Quotients,
        facts: Iterable[Formula] = (),
        whole: Mapping[str, int] | None = None,
        work: int | None = None,
    ) -> None:
        try:
            import z3
        except ImportError as error:
            raise CheckError(f"z3 cannot be loaded: {error}", hint="say pip install z3-solver") from None
        self.z3, self.exact, self.whole, self.work = z3, exact, whole or {}, work
        self.variables: dict[str, ArithRef] = {}
        self.domain: list[BoolRef] = []
        self.needs: dict[str, list[BoolRef]] = {}
        self.facts: list[Encoding] = [fold(fact, self) for fact in facts if is_fact(fact)]

    def __getattr__(self, term: str) -> Any:
        return getattr(self.exact, term)

    def decide(self, claim: Formula) -> bool | dict[str, Fraction] | None:
        """True where the claim holds on the whole domain, a point where it does not, None where z3 gives up."""
        goal: Encoding = fold(claim, self)
        premises = self._known(goal[1])
        return None if premises is None else self._ask(*premises, self.z3.Not(goal[0]))

    def defined(self) -> bool:
        """Whether every function that was met has a value on the whole domain, also where it cancels."""
        return self._known([]) is not None

    def apart_from_zero(self, poly: Poly) -> bool:
        """Whether the facts keep a polynomial away from 0."""
        zero, premises = self._polynomial(poly.primitive()) == 0, self._known([])
        return bool(poly) and premises is not None and self._ask(*premises, zero) is True

    def _known(self, needs: list[BoolRef]) -> list[BoolRef] | None:
        """The domain, the facts, and all that has to hold for values, proved one after the other; None if some is not.

        What a function needs that stands nowhere any more, because it cancels, is needed everywhere.
        """
        cancelled = [atom for atom in self.exact.atoms if atom not in self.needs]
        needs = [*(need for _, needs in self.facts for need in needs), *needs, *self._needs_of(cancelled)]
        premises = [*self.domain, *(truth for truth, _ in self.facts)]
        return premises if self._defined(premises, needs) else None

    def _defined(self, premises: list[BoolRef], needs: list[BoolRef]) -> bool:
        for need in needs:
            if not any(map(need.eq, premises)):
                if self._ask(*premises, self.z3.Not(need)) is not True:
                    return False
                premises.append(need)
        return True

    def _ask(self, *questions: BoolRef) -> bool | dict[str, Fraction] | None:
        try:
            solver, answer = _solved(self.z3, questions, self.work)
        except self.z3.Z3Exception:  # out of memory, or interrupted: it did not answer
            return None
        if answer == self.z3.unsat:
            return True
        if answer != self.z3.sat:
            return None
        model = solver.model()
        values = {
            name: model.evaluate(v.translate(solver.ctx), model_completion=True) for name, v in self.variables.items()
        }
        return {
            n: Fraction(str(v.as_fraction() if hasattr(v, "as_fraction") else v.approx(20).as_fraction()))
            for n, v in values.items()
        }

    def verdict(self, node: Verdict) -> Encoding:
        return self.z3.BoolVal(node.holds), []

    def both(self, node: Formula, *parts: Encoding) -> Encoding:
        """All of them. A part that is false decides, so others need their values only where those without needs hold."""
        return self.z3.And(*(truth for truth, _ in parts)), self._where(parts, lambda truth: truth)

    def either(self, node: Formula, *parts: Encoding) -> Encoding:
        """One of them. A part that is true decides."""
        return self.z3.Or(*(truth for truth, _ in parts)), self._where(parts, self.z3.Not)

    def _where(self, parts: Iterable[Encoding], open_: Callable[[BoolRef], BoolRef]) -> list[BoolRef]:
        """What parts need where those that need nothing leave it open whether the whole holds."""
        parts = tuple(parts)
        left = [open_(truth) for truth, needs in parts if not needs]
        needed = [need for _, needs in parts for need in needs]
        return [self.z3.Implies(self.z3.And(*left), need) for need in needed] if left else needed

    def cases(self, node: Formula, *parts: Encoding) -> Encoding:
        """Row by row: a consequence needs its values where its guard holds and none before."""
        z3 = self.z3
        if not all(isinstance(part, tuple) for part in parts):
            raise AlgebraError("a value by cases is no proposition")
        truth, needs = parts[-1] if len(parts) % 2 else (z3.BoolVal(False), [])
        for (holds, consequence_needs), (guard, guard_needs) in reversed(
            list(zip(parts[::2], parts[1::2], strict=False))
        ):
            consequence_needs = [z3.Implies(guard, need) for need in consequence_needs]
            needs = [*guard_needs, *consequence_needs, *(z3.Or(guard, need) for need in needs)]
            truth = z3.If(guard, holds, truth)
        return truth, needs

    def compare(self, node: Compare, left: Any, right: Any) -> Encoding:
        if node.relation == "<=>":
            return left[0] == right[0], [*left[1], *right[1]]
        needs, difference = self._needs_of(left.names | right.names), left - right
        turned = self.exact.cleared(difference)
        if turned is None:
            below = difference.below.primitive()
            needs.append(self._polynomial(below) != 0)
            turned = difference.above * below
        return COMPARISONS[node.relation](self._polynomial(turned.primitive()), 0), needs

    def _needs_of(self, names: Container[str]) -> list[BoolRef]:
        atoms = [atom for atom in self.exact.atoms if atom in names]
        for atom in atoms:
            self._variable(atom)
        return [need for atom in atoms for need in self.needs[atom]]

    def _variable(self, name: str) -> ArithRef:
        if name not in self.variables:
            v = self.variables[name] = self.z3.Real(name)
            if name in self.exact.atoms:
                self.needs[name] = self._describe(v, *self.exact.atoms[name])
            else:
                least_one = self.exact.least_one
                above = name in several_of(least_one)
                self.domain.append(v > 1 if above else v >= 1 if name in least_one else v > 0)
                if name in self.whole:
                    self.domain.append(v == self.whole[name] * self.z3.ToReal(self.z3.Int(f"{name} counted")))
        return self.variables[name]

    def _describe(self, v: ArithRef, function: str, arguments: tuple[Rat, ...]) -> list[BoolRef]:
        """What a root, maximum or minimum is, in inequalities without quotients, and what it needs to have a value.

        The domain gets no smaller: where a root has no value, nothing is said of it.
        """
        z3, needs = self.z3, self._needs_of({name for argument in arguments for name in argument.names})
        gaps = []  # (v - argument) times something positive
        for argument in arguments:
            side = self.exact.sign(argument.below)
            top, bottom = self._polynomial(argument.above), self._polynomial(argument.below)
            own = [] if side else [bottom != 0]
            if function == "log":
                own.append(top * bottom > 0)
            if function == "sqrt":
                own.append(top * bottom >= 0)
                self.domain += [v >= 0, z3.Implies(z3.And(*own), v * v * bottom == top)]
            gaps.append((v * bottom - top) * (side or bottom))
            needs += own
        if function in ("max", "min"):
            self.domain += [gap >= 0 if function == "max" else gap <= 0 for gap in gaps]
            self.domain.append(z3.Or(*(gap == 0 for gap in gaps)))
        return needs

    def _polynomial(self, poly: Poly) -> ArithRef:
        z3, terms = self.z3, []
        for monomial, c in poly.items():
            term = z3.RatVal(c.numerator, c.denominator)
            for name, power in monomial:
                for _ in range(power):
                    term = term * self._variable(name)
            terms.append(term)
        return z3.Sum(*terms) if terms else z3.RealVal(0)


class Scalings:
    """Questions to z3 about the scalings x = t**w(x) along which some monomials tend to 0 and others stay bounded: linear
    inequalities in the exponents w. In each of the ``groups`` the terms that grow fastest lead."""

    def __init__(self, regime: Directions, groups: Iterable[Iterable[Monomial]]) -> None:
        import z3

        self.z3 = z3
        self.leads: list[dict[Monomial, BoolRef]] = []
        self.known = [self.are(regime)]
        for number, group in enumerate(groups):
            top = z3.Real(f"top {number}")
            self.leads.append({m: self._order(m) >= top for m in group})
            self.known += [z3.Or(*self.leads[-1].values()), *(self._order(m) <= top for m in group)]

    def _order(self, m: Monomial) -> ArithRef:
        return self.z3.Sum(self.z3.RealVal(0), *(e * self.z3.Real(name) for name, e in m))

    def are(self, directions: Directions) -> BoolRef:
        """That these monomials tend to 0, and that those stay bounded."""
        small, bounded = ([self._order(m) for m in sorted(monomials)] for monomials in directions)
        return self.z3.And(*(order < 0 for order in small), *(order <= 0 for order in bounded))

    def led_by(self, largest: Iterable[Container[Monomial]]) -> BoolRef:
        """That these terms lead, and no others."""
        pairs = zip(self.leads, largest, strict=True)
        return self.z3.And(
            *(lead if m in tops else self.z3.Not(lead) for leads, tops in pairs for m, lead in leads.items())
        )

    def led_also_by(self, largest: Iterable[Iterable[Monomial]]) -> BoolRef:
        """That these terms lead, perhaps with others."""
        return self.z3.And(*(leads[m] for leads, tops in zip(self.leads, largest, strict=True) for m in tops))

    def always(self, *propositions: BoolRef) -> bool | None:
        """Whether one of the propositions holds along every scaling; None where z3 gives up."""
        _, answer = _solved(self.z3, [*self.known, *(self.z3.Not(proposition) for proposition in propositions)])
        return None if answer == self.z3.unknown else bool(answer == self.z3.unsat)
