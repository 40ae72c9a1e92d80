"""What a problem asks beside its counts: its named formulas, what is least, and a relation between quantities solved for one name,
guarded, with the figures put in, in whole numbers, at sets of sizes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sympy import Add, Expr, Max, Min

from symroof.algebra.rational import cancel, sign_of
from symroof.derivation.drafts import Draft, as_number, decimals
from symroof.derivation.formula_writing import is_negative
from symroof.derivation.named_formulas import Basis, basis_of, formula_values
from symroof.derivation.optimum import at_sizes, compute_bound, optimum
from symroof.derivation.solutions import Solution, bound, positivity
from symroof.derivation.solving import relation_solved
from symroof.derivation.whole_sizes import Wholes, counts_chips, ranges, spans_of, whole_condition, whole_step, wholes
from symroof.errors import AlgebraError
from symroof.formula import MIRRORED, Both, Cases, Compare, Either, Formula, Quotient, Sizes, Verdict, names
from symroof.model.problem import Problem, Sketch
from symroof.proof.step import Reason, Step, UndecidedError, Unknown, number_of
from symroof.symbols import expression, symbol

# A maximum is at most something where all of its parts are, and at least where one of them is.
EVERY = {(Max, "<"), (Max, "<="), (Min, ">"), (Min, ">=")}


def formulas(draft: Draft) -> Draft:
    """The named formulas of the problem, and what they come to; and the relation that is to be solved."""
    problem = draft.setting.problem
    if not problem.let and problem.solve is None and problem.minimize is None:
        return draft

    def of(point: int | None) -> Wholes | None:
        name = str(problem.solve_for)
        own = name in problem.symbols and not counts_chips(problem.solve, name)
        return None if own else wholes(draft.setting, name, point)

    ground = formula_steps(basis_of(draft), problem, of)
    return replace(draft, steps=(*draft.steps, *ground.steps))


def formula_steps(
    ground: Basis, problem: Problem | Sketch, of: Callable[[int | None], Wholes | None] = lambda point: Wholes()
) -> Basis:
    """What a problem asks beside its counts, or without any: its named formulas, its relation solved, and what is least.
    The whole numbers ``of`` what is solved for are told at each set of sizes, where it is one."""
    ground = formula_values(ground)
    if problem.solve is not None and problem.solve_for is not None:
        ground = solution(ground, problem.solve, problem.solve_for, of)
    if problem.minimize is not None and problem.over is not None:
        ground, best = optimum(ground, problem.minimize, problem.over, problem.subject)
        ground = at_sizes(*compute_bound(ground, best))
    return ground


def solution(ground: Basis, relation: Compare, variable: str, of: Callable[[int | None], Wholes | None]) -> Basis:
    """The relation as it was written, in sizes, and solved; then at each set of sizes."""
    ground = ground.defining(relation)
    left, right = (ground.value(side) for side in (relation.left, relation.right))
    if not (left - right).has(symbol(variable)):
        raise AlgebraError(f"the relation does not speak of {variable}", hint="solve_for = the name to solve for")
    spread = Compare(ground.layout.write(left), relation.relation, ground.layout.write(right))
    where = ground.equalities
    if any(ground.quantities.get(name, symbol(name)) != symbol(name) for name in names(relation)):
        ground = ground.add(Step("solution", Reason.EXPANDED, relation, "<=>", spread, where))
    points, established, refused = ground.points, len(ground.ledger.established), None
    try:
        ground = _solution_at(ground, relation, (left, right), variable, None, of(None))
    except (AlgebraError, UndecidedError) as error:
        del ground.ledger.established[established:]  # with numbers for the other sizes it may have a solved form
        refused = error
    before = len(ground.steps)
    for point, sizes in enumerate(points):
        if not sizes:  # every size is a number of the operation
            continue
        others = {name: size for name, size in sizes.items() if name != variable}
        ground = replace(ground, points=(*points[:point], others, *points[point + 1 :]))
        sides = ground.in_numbers(left, point), ground.in_numbers(right, point)
        established, free = len(ground.ledger.established), variable in sizes
        try:
            ground = _solution_at(ground, relation, sides, variable, point, of(point), free)
        except (AlgebraError, UndecidedError):
            if not free:
                raise
            del ground.ledger.established[established:]  # whether it holds is told by the size that is put in
    if refused is not None and len(ground.steps) == before:
        raise refused
    return replace(ground, points=points)


def _at(step: Step, point: int | None, free: bool) -> Step:
    """A step about a set of sizes; with one of them set ``free`` it is about the others alone."""
    if not free:
        return replace(step, point=point)
    return replace(step, section="summary", role=number_of(f"{step.role}({point})") if step.role else "")


def _solution_at(
    ground: Basis,
    relation: Compare,
    sides: tuple[Expr, Expr],
    variable: str,
    point: int | None,
    of: Wholes | None,
    free: bool = False,
) -> Basis:
    x, numbers = symbol(variable), [ground.in_numbers(side, point) for side in sides]
    if {s for side in numbers for s in side.free_symbols} <= {x}:
        sides = (numbers[0], numbers[1])
    result = _parts(ground, sides, relation.relation, x)
    where = (*ground.where(point), *result.bands)
    facts = None if isinstance(result.formula, Both | Either) else Unknown(variable)
    step = Step("solution", Reason.SOLUTION, relation, "<=>", result.formula, where, None, facts, "solution")
    return _in_figures(ground.add(_at(step, point, free)), result, point, of, free)


def _parts(ground: Basis, sides: tuple[Expr, Expr], relation: str, x: Expr) -> Solution:
    """The solution, where a side that is a maximum or minimum stands for each of its parts."""
    alone = None if relation == "=" else _alone(*sides, relation, ground.least_one)
    if alone is not None:
        extremum, sign, other = alone
        parts = [_parts(ground, (part, other), sign, x) for part in sorted(extremum.args, key=str)]
        formulas = [part.formula for part in parts]
        joined = _combined(formulas, x, ground, every=(type(extremum), sign) in EVERY)
        return Solution(x.name, joined, tuple(band for part in parts for band in part.bands))
    if not (sides[0] - sides[1]).is_rational_function(x):
        raise AlgebraError(f"the relation has no solved form for {x}", expected="a relation between polynomials")
    values = {symbol(name): figure.value for name, figure in ground.figures.items()}
    result = relation_solved(*sides, relation, x, ground.least_one, layout=ground.layout, values=values)
    if not result.solved:
        raise AlgebraError(
            f"the relation has no solved form for {x}: its degree is more than 2, or nothing tells the signs",
            hint="put in numbers for the other sizes: --at",
        )
    return result


def _alone(left: Expr, right: Expr, relation: str, least_one: Sizes) -> tuple[Max | Min, str, Expr] | None:
    """The relation with a maximum or minimum alone on its left side: of one that is multiplied with something, or divides it,
    both have to have a sign."""
    for extremum, sign, other in ((left, relation, right), (right, MIRRORED.get(relation, relation), left)):
        if isinstance(extremum, Max | Min):
            return extremum, sign, other
    if not (left - right).has(Max, Min):
        return None
    result = sorted((left - right).atoms(Max, Min), key=str)
    stands = {symbol(f"held {i}"): extremum for i, extremum in enumerate(result)}
    above, below = cancel((left - right).xreplace(dict(zip(result, stands, strict=True)))).as_numer_denom()
    for name, extremum in stands.items():
        first, rest = above.coeff(name, 1), above.coeff(name, 0)
        if first == 0 or (above - first * name - rest).expand() != 0:
            continue
        factors = [stands[s] for s in (first * below).free_symbols if s in stands]
        positive_ones = all(sign_of(part, least_one) == 1 for factor in factors for part in factor.args)
        side = sign_of(first * below, least_one) if positive_ones else None
        if side:
            return extremum, relation if side == 1 else MIRRORED[relation], (-rest / first).xreplace(stands)
    return None


def _combined(parts: list[Formula], x: Expr, ground: Basis, *, every: bool) -> Formula:
    """All of some conditions, or any of them: of numbers what they leave of the size, else as one where that is one of them."""
    undecided = list(dict.fromkeys(part for part in parts if part != Verdict(every)))
    if not undecided or Verdict(not every) in undecided:
        return Verdict(every) if not undecided else Verdict(not every)
    if len(undecided) == 1:
        return undecided[0]
    joined = Both(tuple(undecided)) if every else Either(tuple(undecided))
    left = spans_of(joined, x.name)
    if left is not None:
        return ranges(left, x.name, ground.layout.write, least=int(x in ground.regime.least_one))
    if any(isinstance(part, Cases | Both | Either) for part in undecided):
        raise AlgebraError("the relation has no solved form: its sides have several cases each")
    return joined


def _in_figures(ground: Basis, solution: Solution, point: int | None, of: Wholes | None, free: bool) -> Basis:
    """The bound and the guard with the figures put in; and the last whole number that meets the relation."""
    if of is not None and isinstance(solution.formula, Both | Either):
        step = whole_condition("solution", solution.formula, solution.variable, of, ground.layout.write)
        if step is None or step.right == step.left:
            return ground
        return ground.add(_at(replace(step, assumptions=ground.where(point), role="solution_whole"), point, free))
    if solution.end is None or solution.bound is None:
        return ground
    edge, where = solution.bound, ground.where(point)
    guarded = (*where, *((solution.guard,) if solution.guard is not None else ()))
    if isinstance(edge, Expr):
        edge = ground.in_numbers(edge)
        line = Step("solution", Reason.FIGURES, solution.end.right, "=", _upright(edge, ground), guarded)
        if line.right != line.left:
            ground = ground.add(_at(replace(line, role="solution_bound"), point, free))
        if (value := as_number(edge)) is not None:
            near = decimals("solution", solution.end.right, value, assumptions=guarded)
            ground = ground.add(*(_at(step, point, free) for step in near))
    if isinstance(solution.guard, Compare) and set(names(solution.guard)) & ground.figures.keys():
        gap = ground.in_numbers(expression(solution.guard.left) - expression(solution.guard.right))
        put_in = positivity(gap.as_numer_denom()[0], ground.layout)
        line = Step("solution", Reason.FIGURES, solution.guard, "<=>", put_in, where, role="solution_guard")
        ground = ground.add(_at(line, point, free))
    left = Compare(solution.end.left, solution.end.relation, ground.layout.write(edge))
    step = None if of is None else whole_step("solution", left, edge, of)
    if step is None:
        return ground
    return ground.add(_at(replace(step, assumptions=where, role="solution_whole"), point, free))


def _upright(edge: Expr, ground: Basis) -> Formula:
    """A bound without a sign before both of its sides."""
    above, below = edge.as_numer_denom()
    if not all(is_negative(term) for term in Add.make_args(above.expand())):
        return bound(edge, ground.layout)
    above, below = (ground.layout.write((-side).expand()) for side in (above, below))
    return Quotient(above, below)
