"""The second engine: every step of a derivation is decided again, by code that did not find it; and an answer has to be complete.

What a step rests on is done again: counts, exchanges, certificates, decimals. Everything else is settled as a
proposition, with the definitions and the figures put in. An identity that cannot be settled, as of sums of maxima, is tried
at exact points and called ``sampled``; nothing else that cannot is printed. A step that is refuted raises: it is a bug. So is an
answer that does not state the time and the bound of every resource that its program uses.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from dataclasses import replace

from symroof.errors import CheckError
from symroof.formula import Call, Compare, Either, Formula, Frozen, Name, Number, Quotient, Sum, names, nodes, number
from symroof.proof.bounds_and_decimals import last_place, rounded
from symroof.proof.chip_recounts import MeshRun
from symroof.proof.exact_values import check_at_samples, enclosure, truth_of
from symroof.proof.kernel_traffic import PARTS, Script
from symroof.proof.overlap_bounds import require_wait
from symroof.proof.polynomials import Poly
from symroof.proof.program_recounts import Rerun
from symroof.proof.propositions import Decision, direct_proof, search
from symroof.proof.quotients import COMPARISONS, Quotients, free_names
from symroof.proof.step import Check, Evidence, Facts, Ledger, Reason, Step, number_of, refuted, role_of, undecided

# The values of figures are put in last; what is proved for every ridge is proved soonest.
READINGS = ((False, None), (True, None))
QUESTIONS = ((False, "ridge"), (False, None), (True, None))


def establish(steps: Iterable[Step], ledger: Ledger) -> tuple[Step, ...]:
    """The steps, each with its outcome, which are established together. Raises :class:`~symroof.errors.CheckError` on a refuted
    one, and establishes none of them."""
    first = len(ledger.established)
    try:
        for step in steps:
            ledger.established.append(replace(step, check=check(step, ledger)))
    except CheckError:
        del ledger.established[first:]
        raise
    return tuple(ledger.established[first:])


def check(step: Step, ledger: Ledger) -> Check:
    """Decide one step again; a new name on the left of ``=`` has to mean what the problem or the textbook says."""
    if step.facts is not None and not (isinstance(step.facts, Facts) and step.facts.agree(step, ledger)):
        raise refuted(step, "its facts say something else")
    if step.role in ledger.meanings and step.role not in ledger.own and step.left != Name(step.role):
        raise refuted(step, f"it is said to be about {step.role}")
    if step.point is not None and not _at_its_sizes(step, ledger):
        raise refuted(step, "its sizes are not those of its set")
    if not all(_is_narrow(band, step) for band in step.assumptions if isinstance(band, Either)):
        raise refuted(step, "it leaves out more than what its digits round")
    if step.relation == "=" and isinstance(step.left, Name) and ledger.is_new(step.left.name):
        outcome = _definition(step, step.left.name, ledger)
        ledger.define(step.left.name, step.right)
        return outcome
    if step.evidence is not None:
        return _evidence(step, ledger)
    if step.relation == "~":
        return rounded(step, ledger)
    if step.relation not in ("<=>", *COMPARISONS):
        raise refuted(step, f"the relation {step.relation} has no check")
    return _proposition(step, ledger)


def _at_its_sizes(step: Step, ledger: Ledger) -> bool:
    """Whether the sizes of the set that a step is about are what it assumes, as far as it speaks of them."""
    exact = ledger.exact(figures=False)
    used = free_names(step.left, exact) | free_names(step.right, exact)
    equal = {a.left: a.right for a in step.assumed("=")}
    sizes = ledger.points[step.point or 0].items() if (step.point or 0) < len(ledger.points) else None
    return sizes is not None and all(
        exact.difference(equal[Name(n)], number(size)).is_zero() if Name(n) in equal else n not in used
        for n, size in sizes
    )


def _is_narrow(band: Either, step: Step) -> bool:
    """Whether what is left out around an irrational bound is no wider than a unit of the last digit that is printed of it,
    or than a part in ten million where it is not printed."""
    match band.parts:
        case (Compare(x, "<", low), Compare(y, ">", high)) if x == y:
            below, above = (Quotients().rational(end).constant for end in (low, high))
            if below is None or above is None:
                return False
            printed = (n for n in nodes(step.right) if isinstance(n, Number) and n.digits is not None)
            units = [last_place(str(n.digits)) for n in printed if below <= n.value <= above]
            return above - below <= min(units, default=above / 10**7)
    return False


def _evidence(step: Step, ledger: Ledger) -> Check:
    """The outcome of examining the evidence of a step."""
    evidence = step.evidence
    if not isinstance(evidence, Evidence):
        raise refuted(step, f"evidence {type(evidence).__name__} has no check")
    if step.relation not in evidence.relations:
        raise refuted(step, f"the evidence does not show that {step.relation} holds")
    if evidence.counts and ledger.meanings.get(getattr(step.left, "name", "")) != evidence:
        raise refuted(step, "this is no count of what stands on the left")
    return evidence.examine(step, ledger)


def _definition(step: Step, name: str, ledger: Ledger) -> Check:
    """What a name is said to be is what it means; and what is divided by is nothing that can be 0."""
    meaning = ledger.meanings.get(name)
    if step.reason is Reason.LETTER:  # a new name for a formula says nothing, if it is one that nobody uses
        spoken = (part for s in ledger.established for part in (s.left, s.right, *s.assumptions))
        if meaning is not None or any(name in names(part) for part in spoken):
            raise refuted(step, f"{name} has a meaning")
        meaning = step.right
    if meaning is None:
        raise refuted(step, f"nothing says what {name} is")
    if not isinstance(meaning, Formula):
        if step.evidence != meaning:
            raise refuted(step, f"the evidence is not that of {name}")
        return _evidence(step, ledger)
    if step.evidence is not None:
        raise refuted(step, "a definition rests on its meaning alone")
    if name in names(step.right):
        raise refuted(step, "the definition is circular")
    exact = ledger.exact(figures=False)
    gap = exact.difference(step.right, meaning)
    if not gap.is_zero():
        raise refuted(step, f"this is not what {name} means")
    if exact.sign(gap.below) != 1:
        raise refuted(step, "the denominator of the definition may vanish")
    return Check("proved", "definition, denominators positive")


def _proposition(step: Step, ledger: Ledger) -> Check:
    claim = Compare(step.left, step.relation, step.right)
    for figures, free in READINGS:
        exact = ledger.exact(figures=figures, assumptions=step.assumptions, free=free)
        by = direct_proof(claim, exact, step.assumptions)
        if by == "identity where the denominators are not 0":
            raise refuted(step, "a denominator may vanish")
        if by:
            return Check("proved", by)
    if step.relation == "=" and _is_one_number(step, exact):
        return Check("proved", "both sides are one number")
    if step.relation == "=" and not exact.atoms:
        raise refuted(step, f"the sides differ by {_polynomial_text(exact.difference(step.left, step.right).above)}")
    before: set[str] | None = None
    for figures, free in QUESTIONS:
        exact = ledger.exact(figures=figures, free=free)
        used = {name for formula in (claim, *step.assumptions) for name in free_names(formula, exact)}
        if used != before:  # else nothing was put in, and it would be the same question
            answer = search(claim, exact, step.assumptions)
        before = used
        if answer.truth:
            return Check("proved", answer.by)
        if figures and _false_at(step, answer, ledger):
            shown = ", ".join(f"{name} = {value}" for name, value in (answer.point or {}).items())
            raise refuted(step, f"it is false at {shown}")
    if step.relation == "=":
        return check_at_samples(step, ledger)
    raise undecided(step, "no proof was found in the work that one question may take")


def _is_one_number(step: Step, exact: Quotients) -> bool:
    """Whether both sides are the same number, exactly."""
    left, right = (enclosure(side, exact.definitions) for side in (step.left, step.right))
    return left is not None and left[0] == left[1] and left == right


def _false_at(step: Step, answer: Decision, ledger: Ledger) -> bool:
    if answer.point is None:
        return False
    return truth_of(step, ledger.exact(figures=True))(answer.point) is False


def _polynomial_text(poly: Poly) -> str:
    return " + ".join(f"{c}" + "".join(f"*{n}^{e}" for n, e in m) for m, c in list(poly.items())[:6])


T_MATH, T_LATENCY = Name("T_math"), Name("T_latency")


class Coverage(Frozen):
    """What an answer about a program has to speak of: ``memory`` is the one that is read and written, ``bandwidth`` the
    figure that is printed beside that word, ``vector`` that of the vector unit, where the chip has one; ``choices`` the
    sizes that are the least, or the largest, of several."""

    script: Script
    meshed: MeshRun | None
    memory: str
    bandwidth: str
    vector: str | None
    choices: tuple[Formula, ...] = ()

    @property
    def counted(self) -> Iterator[str]:
        """What is said of the weights of a program that contracts something: all of them, and those that are trained where some
        are not."""
        if not any(self.script.contracts(op) for op in self.script.ops):
            return
        if any(array.role == "weight" for array in self.script.arrays):
            yield "params"
            if any(array.frozen for array in self.script.arrays):
                yield "trainable"

    @property
    def latency(self) -> bool:
        """Whether the hops of exchanges take time."""
        return self.meshed is not None and self.meshed.latency

    @property
    def masked(self) -> Iterator[set[Name]]:
        """The pairs that each mask leaves, as one of the ops has them that it is a mask of."""
        for mask in {op.masked for op in self.script.ops} - {None}:
            yield {Name(f"pairs({op.result})") for op in self.script.ops if op.masked == mask}

    def amounts(self, ledger: Ledger) -> dict[str, str]:
        """The amount that keeps each resource but the arithmetic busy, and the figure that it is done at."""
        suffix = "" if self.meshed is None else "_per_chip"
        unmoved = self.script.idle and not self.script.run.moves("bytes")
        result = ({} if unmoved else {f"bytes{suffix}": self.memory}) | self.sent(ledger)
        contracting = [op for op in self.script.ops if self.script.contracts(op)]
        others = (op for op in self.script.ops if op not in contracting and not op.exchanges)
        if self.vector is not None and contracting and any(op.each or op.row for op in others):
            result[f"ops{suffix}"] = self.vector
        return result

    def resources(self, ledger: Ledger) -> tuple[str, ...]:
        """All that the program can keep busy."""
        return ("math", "vector", self.memory, *(name[5:-1] for name in self.sent(ledger)))

    def sent(self, ledger: Ledger) -> dict[str, str]:
        """What is sent over each resource of the simulated mesh, and the link that it is."""
        meshed = self.meshed
        if meshed is None:
            return {}
        exact = ledger.exact(figures=False)
        moves = [move for part in meshed.parts.values() for move in part.moved]
        busy = ((name, meshed.axis(m.axes[0]).figure(name)) for m in moves for name, _ in meshed.shares(m, exact))
        return {f"sent({name})": link for name, link in dict(busy).items()}


def require_sealed(steps: Collection[Step], established: Collection[Step]) -> None:
    """A finished derivation holds the entries of its ledger: all of them, and nothing else.

    Raises :class:`~symroof.errors.CheckError` where a step was changed behind its check, added without one, or lost.
    """
    if list(map(id, steps)) != list(map(id, established)):
        raise CheckError("the steps of the derivation are not those that were checked")


def require_answered(steps: Collection[Step], ledger: Ledger) -> None:
    """Where the arithmetic takes longer is said, and at each set of sizes which side does, or from where on; where a figure
    is open and no size is, the intensity to compare with the ridge.

    Raises :class:`~symroof.errors.CheckError` where it is not.
    """
    if isinstance(run := ledger.meanings.get("params"), Rerun) and run.script.idle:
        return  # nothing is computed
    roles = {(step.role, step.point) for step in steps}
    if ("threshold", None) not in roles:
        raise CheckError("nothing is said of where the arithmetic takes longer")
    for point in range(len(ledger.points)):
        enough = {("threshold", point), ("side", point)} | ({("intensity", point)} if _is_open(ledger) else set())
        if not enough & roles:
            raise CheckError(f"nothing is said of which side takes longer at the sizes of set {point + 1}")


def require_numbers(steps: Collection[Step], ledger: Ledger, owed: Collection[str]) -> None:
    """At each set of sizes every time, what is sent and each quantity that is ``owed`` is said as a number where the sizes
    leave nothing of it open; and the shares of the time are of all of it.

    Raises :class:`~symroof.errors.CheckError` where one is not.
    """
    needed = [n for n in ledger.definitions if n in owed or (n.startswith(("T_", "sent(")) and not _is_of_statement(n))]
    for point, sizes in enumerate(ledger.points):
        where = [Compare(Name(name), "=", Number(size)) for name, size in sizes.items()]
        at_point = [step for step in steps if step.point == point]
        equal = [a for step in at_point[:1] for a in step.assumed("=") if a not in where]
        exact = ledger.exact(figures=True, assumptions=(*equal, *where))
        numbers = {step.left for step in at_point if step.role == number_of(getattr(step.left, "name", ""))}
        for name in needed:
            if name not in ledger.own and Name(name) not in numbers and exact.rational(Name(name)).constant is not None:
                raise CheckError(f"{name} is no number at the sizes of set {point + 1}")
        _require_shares(at_point, numbers, ledger, point + 1)
        _require_owners(at_point, numbers, ledger, point + 1)


def _require_shares(steps: Iterable[Step], numbers: Container[Formula], ledger: Ledger, number: int) -> None:
    """The shares of the time of a set of sizes are those of all statements."""
    shares = [step.value for step in steps if step.role.startswith(number_of("share("))]
    if shares and sum(shares) != 1:
        raise CheckError(f"the shares of set {number} are not those of all statements")
    if not shares and Name("T_steps") in numbers and isinstance(ledger.definitions.get("T_steps"), Sum):
        raise CheckError(f"nothing is said of the shares of set {number}")


def _require_owners(steps: Iterable[Step], numbers: Container[Formula], ledger: Ledger, number: int) -> None:
    """The bytes that weights, caches and others have of those of a set of sizes are all of them."""
    parts = [step.value for step in steps if step.role.startswith(number_of("of "))]
    names = (name.partition("_moved") for name in ledger.definitions if name not in ledger.own)
    suffix = next((suffix for owner, moved, suffix in names if moved and owner in PARTS), None)
    if sum(parts) != 1 and (parts or (suffix is not None and Name(f"bytes{suffix}") in numbers)):
        raise CheckError(f"the bytes of set {number} are not all told apart")


def _is_of_statement(name: str) -> bool:
    """Whether a time is that of one statement."""
    return name.startswith("T_") and name.endswith(")")


def require_complete(steps: Collection[Step], ledger: Ledger, coverage: Coverage) -> None:
    """Raises :class:`~symroof.errors.CheckError` where something that is kept busy is not spoken of."""
    needed, waits = coverage.amounts(ledger), {*coverage.sent(ledger)} if coverage.latency else set[str]()
    require_wait(coverage.script, coverage.resources(ledger), ledger, coverage.meshed)
    _require_bound("T_lower", Call, needed, 1 if waits else 0, coverage, ledger)
    # of exchanges that wait for hops T_upper has the longer of both
    hopless = {amount: figure for amount, figure in needed.items() if amount not in waits}
    _require_bound("T_upper", Sum, hopless, 0, coverage, ledger)
    left_sides = {step.left for step in steps if step.relation == "="}
    if waits and T_LATENCY not in left_sides:
        raise CheckError("how long hops take is not said")
    for amount in (*needed, *coverage.counted):
        if Name(amount) not in left_sides:
            raise CheckError(f"{amount} is not said")
    cases = {step.left for step in steps if step.reason is Reason.CASE}
    if not cases.issuperset(coverage.choices):
        raise CheckError("which of several a size is, is not said")
    if any(left_sides.isdisjoint(pairs) for pairs in coverage.masked):
        raise CheckError("how many pairs a mask leaves is not said")
    if not coverage.script.idle:  # else there is no arithmetic to compare with
        _require_links({(step.role, step.point) for step in steps}, coverage.sent(ledger), ledger)


def _require_bound(
    bound: str, kind: type[Formula], needed: Mapping[str, str], latencies: int, coverage: Coverage, ledger: Ledger
) -> None:
    """A bound is over the arithmetic, so many times of hops, and the time of each amount at its figure: nothing else."""
    times, idle = list(_parts(ledger.definitions.get(bound), kind)), coverage.script.idle
    arithmetic = [] if idle else times[:1]
    moving = [name for name in times[len(arithmetic) :] if name != T_LATENCY.name]
    meanings = [_amount_and_figure(ledger.definitions.get(name)) for name in moving]
    figures = {amount: coverage.bandwidth if figure == "bandwidth" else figure for amount, figure in meanings}
    hops = len(times) - len(arithmetic) - len(moving)
    whole = len(figures) == len(moving) and figures == needed and hops == latencies
    if not whole or (not idle and arithmetic != [T_MATH.name]):
        raise CheckError(f"{bound} is not over all that the program keeps busy, and nothing else: {', '.join(needed)}")


def _require_links(roles: Container[tuple[str, int | None]], sent: Mapping[str, str], ledger: Ledger) -> None:
    """Against each link stands where the arithmetic takes longer; at each set of sizes where several are compared."""
    longest = ledger.definitions.get("T_comms")
    joint = isinstance(longest, Call) and not _is_open(ledger)
    for amount, link in sent.items():
        if _is(longest, amount) or (link not in ledger.figures and _is_level(amount, ledger)):
            continue  # the threshold is that of this link; or it is open, whatever the sizes are
        role, points = role_of("threshold", amount[5:-1]), range(len(ledger.points))
        compared = points if joint and link in ledger.figures else ()
        if not all((role, point) in roles for point in (None, *compared)):
            raise CheckError(f"nothing is said of where the arithmetic takes longer than {amount}")


def _is_open(ledger: Ledger) -> bool:
    """Whether no ridge is known."""
    return not {"peak", "bandwidth"} <= ledger.figures.keys()


def _parts(formula: Formula | None, kind: type[Formula]) -> Iterator[str]:
    """The names that a maximum or a sum is over."""
    parts = formula.arguments if isinstance(formula, Call) else formula.terms if isinstance(formula, Sum) else ()
    if isinstance(formula, kind):
        yield from (part.name for part in parts if isinstance(part, Name))
    elif isinstance(formula, Name):
        yield formula.name  # the longest, and the sum, of one


def _amount_and_figure(meaning: Formula | None) -> tuple[str, str]:
    """The amount and the figure of a time."""
    match meaning:
        case Quotient(above=Name(name=amount), below=Name(name=figure)):
            return amount, figure
    raise CheckError("a time is no amount over a figure")


def _is(meaning: Formula | None, amount: str) -> bool:
    return isinstance(meaning, Quotient) and meaning.above == Name(amount)


def _is_level(amount: str, ledger: Ledger) -> bool:
    """Whether the arithmetic takes as much longer than this at all sizes."""
    ratio = Quotient(Name("flops_per_chip"), Name(amount))
    return ledger.exact(figures=False).rational(ratio).constant is not None
