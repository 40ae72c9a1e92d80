"""A program on a mesh on a page: how its axes are wired, who shares the work, and what is exchanged."""

from __future__ import annotations

from functools import cached_property

from symroof.derivation.pipeline import Derivation
from symroof.formula import Compare, Formula, Frozen, Name, Verdict, number
from symroof.model.chip_costs import busy_links
from symroof.model.collectives import fast_first, presumed_order, taper_text
from symroof.model.kernels import costs_of
from symroof.model.program import Program
from symroof.model.program_tree import EXCHANGE, MAXIMUM
from symroof.model.quantities import NAMELESS, PER_CHIP, of_statement, parts_of, sent_over
from symroof.proof.mesh_facts import Collective
from symroof.proof.step import Reason, Step, role_of

ONE = number(1)
# What a table of statements says of the chips.
OF_CHIPS = (Reason.ON_EACH, Reason.SENT)


class Exchange(Frozen):
    """An exchange, the statement that pays for it, its pass, and the level of a tree that it goes through, with its taper."""

    exchange: Collective
    statement: str
    backward: bool
    level: str
    taper: str


class Wiring(Frozen):
    """Axes whose wiring is known from one origin: their names, numbers of chips, wirings and links."""

    origin: str
    closing: int | None
    kinds: tuple[tuple[tuple[str, ...], int | None, str, str], ...]

    @property
    def links(self) -> list[str]:
        return list(dict.fromkeys(link for *_, link in self.kinds))


class Mesh:
    """What the steps of a derivation say of the chips of its mesh."""

    def __init__(self, derivation: Derivation, program: Program) -> None:
        self.program, self.resources = program, busy_links(program)
        rates = derivation.setting.rates
        self.comms = "" if rates.joint or derivation.setting.idle else rates.comms  # the link that the answer is about
        self.right = {step.left: step.right for step in derivation.written if step.point is None}
        self.steps = {reason: tuple(s for s in derivation.written if s.reason is reason) for reason in Reason}
        line = () if program.line is None else enumerate(program.line.tensors)
        self.unnamed = {
            program.operand_name(place) for place, tensor in line if program.operand_name(place) != tensor.name
        }
        self.answer = derivation.answer

    def is_exchange(self, name: str) -> bool:
        """Whether a statement does nothing but move a tensor: there is no work that could be split."""
        return any(line.statement.name == name and line.statement.kind == EXCHANGE for line in self.program.lines)

    def is_maximum(self, name: str) -> bool:
        """Whether a statement compares the elements that it reduces: what each chip has of it is no sum."""
        return any(line.statement.name == name and line.statement.kind == MAXIMUM for line in self.program.lines)

    @property
    def wired(self) -> list[Wiring]:
        """The axes by where their wiring is known from; those of one number of chips, wiring and link together."""
        result: dict[tuple[str, int | None], dict[tuple[int | None, str, str], list[str]]] = {}
        for axis in (axis for step in self.steps[Reason.CHIPS] for axis in step.facts.axes):
            kinds = result.setdefault((axis.origin, axis.closing), {})
            kinds.setdefault((axis.chips, axis.wiring, axis.link), []).append(axis.name)
        return [
            Wiring(*origin, tuple((tuple(n), *kind) for kind, n in kinds.items())) for origin, kinds in result.items()
        ]

    @property
    def presumed(self) -> list[str]:
        """The links that are taken to be from fast to slow, where an exchange goes over several and nothing says it."""
        if not presumed_order(self.program.mesh):
            return []
        links = {axis.name: str(axis.link) for axis in self.program.mesh}
        over: dict[tuple[str, str, str], set[str]] = {}
        for entry in self.exchanges:
            exchange = entry.exchange
            key = entry.statement, exchange.array, exchange.of
            over.setdefault(key, set()).update(links[axis] for axis in exchange.axes)
        several = {link for links_of in over.values() if len(links_of) > 1 for link in links_of}
        return [link for link in fast_first(self.program.mesh) if link in several]

    @cached_property
    def shared(self) -> list[tuple[list[str], Formula, Formula]]:
        """The contractions that as many chips share out, and how many do the same of them."""
        groups: dict[tuple[Formula, Formula], list[str]] = {}
        for step in self.steps[Reason.ON_EACH]:
            if step.facts is not None:
                groups.setdefault((step.facts.chips, step.facts.repeated), []).append(owner_of(step))
        return [(names, *kind) for kind, names in groups.items()]

    @property
    def even(self) -> bool:
        """Whether all chips share all contractions alike."""
        return len(self.shared) == 1 and self.shared[0][2] == ONE

    @cached_property
    def exchanges(self) -> tuple[Exchange, ...]:
        """Every exchange, in the order of the statements; one over several axes is on a step for each."""
        result: dict[tuple[Collective, str, str], Exchange] = {}
        for step in self.steps[Reason.SENT]:
            name, level = owner_of(step), self.level(step)
            for exchange in step.facts.exchanges:
                back = costs_of(self.program)[name].backward
                result.setdefault((exchange, name, level), Exchange(exchange, name, back, level, self.taper(level)))
        return tuple(result.values())

    def level(self, step: Step) -> str:
        """The level of a tree through which goes what a step says."""
        levels = (link for axis in self.program.mesh if axis.tree for link in axis.links)
        return next((link for link in levels if step.left == Name(sent_over(link, owner_of(step)))), "")

    def taper(self, level: str) -> str:
        """By what factor the ports of a level are narrower than the links below; nothing where they are not."""
        tapers = (level_of.taper for axis in self.program.mesh for level_of in axis.tree if level_of.link == level)
        return next((taper_text(taper) for taper in tapers if taper != 1), "")

    def over(self, resource: str) -> tuple[Exchange, ...]:
        """The exchanges that keep a link busy."""
        named = {Name(sent_over(resource, name)) for name in costs_of(self.program)}
        over = [e for step in self.steps[Reason.SENT] if step.left in named for e in step.facts.exchanges]
        return tuple(entry for entry in self.exchanges if entry.exchange in over and entry.level in ("", resource))

    def first(self, step: Step) -> tuple[Exchange, ...]:
        """The exchanges of a step that none before it says."""
        steps = [self._place(entry) for entry in self.exchanges]
        return tuple(entry for entry, place in zip(self.exchanges, steps, strict=True) if place == step)

    def _place(self, entry: Exchange) -> Step:
        steps = self.steps[Reason.SENT]
        return next(
            s
            for s in steps
            if owner_of(s) == entry.statement and entry.exchange in s.facts.exchanges and self.level(s) == entry.level
        )

    def opens_pass(self, step: Step) -> bool:
        """Whether a step is the first one on exchanges of its pass, in a training step."""
        back = costs_of(self.program)[owner_of(step)].backward
        steps = [s for s in self.steps[Reason.SENT] if costs_of(self.program)[owner_of(s)].backward == back]
        return self.program.training and steps[0] == step

    def is_backward(self, step: Step) -> bool:
        return costs_of(self.program)[owner_of(step)].backward

    def sent(self, resource: str) -> Formula | None:
        return self.right.get(Name(sent_over(resource)))

    def passes(self, resource: str) -> list[list[tuple[str, list[str]]]]:
        """The collectives over a link in each pass, each with what it moves."""
        result: list[list[tuple[str, list[str]]]] = []
        for back in (False, True):
            moved: dict[str, list[str]] = {}
            for step in self.steps[Reason.SENT]:
                if self.is_backward(step) == back and step.left == Name(sent_over(resource, owner_of(step))):
                    for exchange in step.facts.exchanges:
                        moved.setdefault(exchange.collective, []).append(exchange.array)
            result.append(list(moved.items()))
        return [collectives for collectives in result if collectives]

    def against(self, resource: str) -> Formula | None:
        """Where arithmetic takes longer than a link, with the figures put in; a verdict where that is always or never."""
        solved, bound = (self.answer.formula(role_of(part, resource)) for part in ("threshold", "bound"))
        if bound is not None and isinstance(solved, Compare):
            return Compare(solved.left, solved.relation, bound)
        return solved

    def outcome(self, resource: str) -> str:
        """always or never, where no size decides."""
        solved = self.against(resource)
        return "" if not isinstance(solved, Verdict) else "always" if solved.holds else "never"

    def rows(self, name: str) -> list[tuple[str, str]]:
        """The rows of the answer behind one: what each link carries, and where arithmetic takes longer than that."""
        others = [resource for resource in self.resources if resource != self.comms]
        if name == "bytes":
            return [("sent", resource) for resource in others]
        return [("against", resource) for resource in others if name == "compute" and self.against(resource)]

    def of_chip(self, kind: str, name: str) -> Formula | None:
        """What a chip does of a statement, or sends for it."""
        return self.right.get(Name(of_statement(kind, name)))


def is_of_one_chip(formula: Formula) -> bool:
    """Whether this is what one chip does in all, or sends over one of its links."""
    return isinstance(formula, Name) and (formula.name.endswith(PER_CHIP) or formula.name.startswith("sent("))


def owner_of(step: Step) -> str:
    """The statement that an amount of one chip is about; a product on one line has no name."""
    assert isinstance(step.left, Name)
    kind, statement = parts_of(step.left.name)
    return NAMELESS if kind == "sent" else statement


def sends_of(step: Step) -> tuple[Collective, ...]:
    """The collectives of a step that says what a link carries."""
    return step.facts.exchanges if step.reason is Reason.SENT else ()
