"""Completeness: an answer has to state the time and the bound of every resource that its program uses.

T_lower and T_upper are the maximum and the sum over exactly the arithmetic, the vector unit where the chip has a figure
for it and there is something for it to do, the memory, and every resource that something is sent over when the mesh is
simulated. Each of these has its time, each resource of the mesh what it carries, and against each stands where the
arithmetic takes longer, or that it never or always does; at each set of sizes as well.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator, Mapping

from symroof.errors import CheckError
from symroof.formula import Call, Compare, Formula, Frozen, Name, Number, Quotient, Sum
from symroof.proof.chip_recounts import OnMesh
from symroof.proof.kernel_traffic import PARTS, Script
from symroof.proof.overlap_bounds import require_wait
from symroof.proof.program_recounts import Run
from symroof.proof.step import Ledger, Reason, Step, against, number_of

T_MATH, T_LATENCY = Name("T_math"), Name("T_latency")


class Coverage(Frozen):
    """What an answer about a program has to speak of: ``memory`` is the one that is read and written, ``bandwidth`` the
    figure that is printed beside that word, ``vector`` that of the vector unit, where the chip has one; ``choices`` the
    sizes that are the least, or the largest, of several."""

    script: Script
    meshed: OnMesh | None
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
    if isinstance(run := ledger.meanings.get("params"), Run) and run.script.idle:
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
        role, points = against("threshold", amount[5:-1]), range(len(ledger.points))
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
