"""Diagnosis: the one mistake that would make a wrong claim right.

Every mistake of the table is tried, and the first whose undoing gives a claim that is *proved* is reported. A mistake
that almost fits is not: no diagnosis is better than a guess. Mistakes about what is counted are edits of a program; each
gives what there is to say of it, and the amounts as they would be counted then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import wraps
from typing import Any, NamedTuple

from sympy import Expr

import symroof.verification.misprints as misprints
from symroof.errors import SymroofError
from symroof.formula import Compare, Formula, Name, Number, Verdict, names, number
from symroof.model.kernels import cost_of, costs_of
from symroof.model.program import Program
from symroof.model.program_quantities import amounts, kept_for_backward
from symroof.model.program_tree import Node, Repeat, Statement, turns_of
from symroof.model.quantities import of_statement, parts_of
from symroof.model.tensor_types import Dtype, dtype
from symroof.model.transforms import with_backward, with_types
from symroof.proof.exact_values import truth
from symroof.proof.quotients import ORDER
from symroof.verification.budget import spend
from symroof.verification.context import Context, Question
from symroof.verification.counterexamples import last_digits, may_hold
from symroof.verification.intervals import WILD, bare, is_printed, last_place
from symroof.verification.link_verdicts import proved
from symroof.verification.verdicts import ACCEPTED, Finding, Remark

TRIAL = 2  # units of work
TELLING = 2  # so many digits in print tell one mistake from another
# The work that the mistake behind one claim may take.
SEARCH = 20_000
Amounts = Mapping[str, Expr]
Facts = Mapping[str, Any]
Edits = Iterator[tuple[Facts, Amounts]]
TRAFFIC = ("reads", "writes")
# What functions that give costs speak of.
GIVEN = {"reads": "operands", "writes": "output"}
# What is done by the matrix unit.
WORK = ("flops", "flops_forward", "flops_backward")
WIDTHS = {"int4": 4, "int8": 8, "bf16": 16, "fp32": 32}


class Move(NamedTuple):
    """Bytes of one tensor that a statement reads or writes, in all turns."""

    owner: str
    tensor: str
    kind: str
    amount: Expr


class Counted:
    """A program as it is counted: its amounts by name, totals among them, and what moves."""

    def __init__(self, program: Program, count: Any) -> None:
        self.program, self.count = program, count
        cost = cost_of(program, count)
        totals = {"flops": cost.flops, "reads": cost.reads, "writes": cost.writes, "bytes": cost.bytes}
        self.amounts: Amounts = {**amounts(program, count), **totals}
        self.moves = tuple(
            Move(owner, tensor if program.given is None else GIVEN[kind], kind, program.resolved(amount))
            for owner, cost in costs_of(program).items()
            for kind, moved in zip(TRAFFIC, (cost.loads, cost.stores), strict=True)
            for tensor, amount in moved
        )

    def names(self, tensors: Iterable[str]) -> tuple[Name, ...]:
        """What a sentence calls tensors."""
        return tuple(Name(self.program.called(name)) for name in tensors)

    def of(self, program: Program) -> Amounts:
        """What another program makes of the same amounts; nothing where it makes no sense, as one of integers in training."""
        own = self.amounts
        with suppress(SymroofError):
            return {n: x for n, x in Counted(program, self.count).amounts.items() if n in own and x != own[n]}
        return {}

    def typed(self, types: Mapping[str, Dtype]) -> Amounts:
        """The bytes once tensors are stored in other types."""
        with suppress(SymroofError):
            other = self.of(with_types(self.program, types)) if types else {}
            return {n: x for n, x in other.items() if not n.startswith(("flops", "ops"))}
        return {}

    def without(self, moves: Iterable[Move]) -> Amounts:
        """The amounts without some of what moves."""
        left: dict[str, Expr] = {}
        for move in moves:
            for total in (move.kind, "bytes"):
                for name in dict.fromkeys((total, of_statement(total, move.owner))):
                    if name in self.amounts and move.amount != 0:
                        left[name] = left.get(name, self.amounts[name]) - move.amount
        return left

    def totals(self) -> Iterator[tuple[str, dict[str, Expr]]]:
        """Each total with the amounts of the statements or tensors that it is the sum of."""
        program, counts = self.program, self.amounts
        parts: dict[str, dict[str, Expr]] = {}
        for name, value in counts.items():
            total, tensor = parts_of(name)
            if tensor and total in counts:
                parts.setdefault(total, {})[tensor] = value
        for total, role in (("weights", "weight"), ("caches", "cache"), ("gradients", "weight")):
            tensors = program.declared_as(role)
            parts[total] = {str(t.name): program.resolved(program.turns(t) * t.bytes) for t in tensors}
        if program.training:
            saved = kept_for_backward(program)
            parts["saved"] = {str(t.name): program.resolved(turns_of(repeats) * t.bytes) for t, repeats in saved}
        yield from ((total, terms) for total, terms in parts.items() if total in counts and len(terms) > 1)


def of_programs(edits: Callable[[Counted], Edits]) -> Callable[[Compare, Context], Iterator[tuple[Facts, Context]]]:
    """The contexts that the edits of a kind lead to, of those that a link speaks of; none of a program on a mesh."""

    @wraps(edits)
    def changed_contexts(link: Compare, context: Context) -> Iterator[tuple[Facts, Context]]:
        program = context.setting.problem.operation if context.setting is not None else None
        if program is None or program.axes or context.setting is None:
            return
        cache, write, kind = context.memory, context.setting.layout.write, edits.__name__
        if "counted" not in cache:
            cache["counted"] = counted = Counted(program, context.setting.problem.count)
            definitions = {
                name: formula for name, formula in context.definitions.items() if name not in counted.amounts
            }
            cache["open"] = replace(context, definitions=definitions, other=None)
        counted = cache["counted"]
        if f"edits {kind}" not in cache:
            cache[f"edits {kind}"] = [(facts, changes) for facts, changes in edits(counted) if changes]
        claim = cache["open"].question(link).claim
        spoken = set(names(claim)) & counted.amounts.keys()
        for facts, changes in cache[f"edits {kind}"]:
            if spoken & changes.keys():
                yield facts, context.defining({name: write(value) for name, value in changes.items()})

    return changed_contexts


@of_programs
def part_missing(counted: Counted) -> Edits:
    """A part of a total is left out."""
    for total, parts in counted.totals():
        values: dict[Expr, list[str]] = {}
        for name, value in parts.items():
            if value not in (0, counted.amounts[total]):
                values.setdefault(value, []).append(name)
        for value, alike in values.items():
            facts = {"total": Name(total), "names": counted.names(alike)}
            yield facts, {total: counted.amounts[total] - value}


@of_programs
def turns(counted: Counted) -> Edits:
    """One turn of a repeat is counted."""
    for repeat in (node for node in _nodes_of(counted.program.body) if isinstance(node, Repeat)):
        yield {"times": repeat.times}, counted.of(_with(counted.program, repeat, replace(repeat, times=number(1))))


@of_programs
def traffic(counted: Counted) -> Edits:
    """A tensor is not read, not written, or neither, as if it stayed; or none of those of a role is, or no result."""
    moves, declared = counted.moves, counted.program.declared_as
    tensors = [[tensor] for tensor in dict.fromkeys(move.tensor for move in moves)]
    roles = [[str(t.name) for t in declared(role)] for role in ("input", "weight", "cache")]
    stored = [*dict.fromkeys(move.tensor for move in moves if move.kind == "writes")]
    for chosen in [*tensors, *(role for role in roles if len(role) > 1), stored]:
        for how, kinds in (("kept", TRAFFIC), ("not_written", ("writes",)), ("not_read", ("reads",))):
            moved = [move for move in moves if move.tensor in chosen and move.kind in kinds]
            if {*kinds} == {move.kind for move in moved}:
                yield {"how": how, "names": counted.names(chosen)}, counted.without(moved)


@of_programs
def other_amount(counted: Counted) -> Edits:
    """Elements for bytes, or bytes for elements."""
    amounts, program = counted.amounts, counted.program
    types = {t.dtype for t in program.arrays.values()}
    bytes_each = {
        n: dtype("int8" if t.dtype.integer else "fp8") for n, t in program.arrays.items() if t.dtype.bits != 8
    }
    alike = [{"dtype": str(each), "bytes": Fraction(each.bits, 8)} for each in types] if len(types) == 1 else [{}]
    yield {"how": "elements", **alike[0]}, counted.typed(bytes_each)
    sizes = {"params": amounts["weights"]}
    for name, tensor in program.arrays.items() if program.line is None else ():
        sizes[of_statement("elements", name)] = amounts[of_statement("size", name)]
        if of_statement("params", name) in amounts:
            sizes[of_statement("params", name)] = program.resolved(program.turns(tensor) * tensor.bytes)
    yield {"how": "bytes"}, sizes


@of_programs
def other_pass(counted: Counted) -> Edits:
    """Two FLOPs for each weight and token in the forward pass, six in a step of training."""
    amounts = counted.amounts
    passes = {n: amounts[n] for n in WORK[1:] if amounts.get(n, 0) not in (0, amounts["flops"])}
    for name, value in passes.items():
        yield {"how": name.removeprefix("flops_")}, {"flops": value}
    if not passes:
        yield {"how": "training"}, {n: 3 * x for n, x in amounts.items() if parts_of(n)[0] == "flops"}


@of_programs
def multiply_add(counted: Counted) -> Edits:
    """A multiply-add counted as one operation."""
    pairs = counted.amounts if counted.count == "fma" else Counted(counted.program, "fma").amounts
    work = {n: x for n, x in pairs.items() if parts_of(n)[0] in WORK}
    yield {}, {n: x / 2 for n, x in work.items()}


@of_programs
def of_width(counted: Counted) -> Edits:
    """Weights, caches, or what is made and comes from outside, at the width of another type; in a product each tensor."""
    program = counted.program
    groups = [[str(t.name) for t in program.declared_as(role)] for role in ("weight", "cache", "input")]
    for chosen in groups if program.line is None else [[name] for name in program.arrays]:
        for name, bits in WIDTHS.items():
            if any(program.arrays[tensor].dtype.bits != bits for tensor in chosen):
                facts = {"names": counted.names(chosen), "bits": bits}
                yield facts, counted.typed(dict.fromkeys(chosen, dtype(name)))


def _nodes_of(body: tuple[Node, ...]) -> Iterator[Node]:
    for node in body:
        yield node
        yield from _nodes_of(getattr(node, "body", ()))


def _with(program: Program, place: Node, other: Node) -> Program:
    """The program with another node for one of its own."""

    def changed(body: tuple[Node, ...]) -> tuple[Node, ...]:
        return tuple(
            other if node is place else node if isinstance(node, Statement) else replace(node, body=changed(node.body))
            for node in body
        )

    return with_backward(replace(program, body=changed(program.body)), program.training)


# What there is to say of a mistake, and the claim or the world that it leads to.
Trials = Iterator[tuple[Mapping[str, Any], Compare]] | Iterator[tuple[Mapping[str, Any], Context]]
# In the order in which people would look for them; each name is that of a macro in the templates.
MISTAKES: Mapping[str, Callable[[Compare, Context], Trials]] = {
    mistake.__name__: mistake
    for mistake in (
        misprints.turned,
        misprints.at_the_edge,
        misprints.other_figure,
        misprints.figures_exchanged,
        misprints.other_extreme,
        other_amount,
        misprints.other_unit,
        turns,
        traffic,
        part_missing,
        other_pass,
        multiply_add,
        of_width,
        misprints.factor_two,
        misprints.other_letter,
        misprints.factor_of_size,
        misprints.power_of_ten,
        misprints.binary_prefix,
        misprints.upside_down,
    )
}
# The changed_contexts that these lead to are the same for every link of a context.
CONTEXTS = ("other_figure", "figures_exchanged")
# An order that is false becomes true with any number that is large enough, and so does what is always or never met: no other
# mistake is told from that.
OF_ORDERS = ("turned", "at_the_edge")


def diagnosed(finding: Finding, context: Context) -> Finding:
    """The finding with its diagnosis, where it is wrong and a mistake explains it."""
    link = _explicit_last(finding.link)
    if finding.verdict != "wrong" or not isinstance(link, Compare) or finding.by == "units":
        return finding
    off = next((remark.facts["share"] for remark in finding.remarks if remark.kind == "deviation"), WILD)
    printed = bare(link.right) if abs(off) < WILD else None
    if isinstance(printed, Number) and last_place(printed)[1] * 3 / 2 > abs(printed.value * off):
        return finding  # its digits do not tell what it is off by
    at = finding.counterexample.values if finding.counterexample is not None and link.relation in ORDER else None
    inside = context.assuming(r for relations in finding.needs for r in relations).strict
    share = last_digits(link, inside)
    for kind, facts, changed in _undone(inside.question(link)):
        spend(TRIAL)
        if (at is None or truth(changed.claim, at) is not False) and _is_right(changed, share):
            return replace(finding, diagnosis=Remark(kind, facts))
    return finding


def _explicit_last(link: Formula) -> Formula:
    """An equivalence with the condition that has a number in print on the right, where mistakes are looked for."""
    if isinstance(link, Compare) and link.relation == "<=>" and _bounds(link.left) and not _bounds(link.right):
        return Compare(link.right, link.relation, link.left)
    return link


def _bounds(condition: Formula) -> bool:
    """Whether a condition bounds something by a number in print."""
    return isinstance(condition, Compare) and any(map(is_printed, (condition.left, condition.right)))


def _undone(question: Question) -> Iterator[tuple[str, Mapping[str, Any], Question]]:
    """What the link would ask without each of the mistakes."""
    link, context = question.link, question.context
    ordered = link.relation in (*ORDER, "<<", ">>") or isinstance(link.left, Verdict) or isinstance(link.right, Verdict)
    for kind in OF_ORDERS if ordered else MISTAKES:
        if kind in CONTEXTS and kind not in context.memory:
            context.memory[kind] = tuple(MISTAKES[kind](link, context))
        for facts, changed in context.memory.get(kind) or MISTAKES[kind](link, context):
            with suppress(SymroofError, RecursionError):
                if isinstance(changed, Compare):
                    yield kind, facts, context.question(changed)
                elif (other := changed.question(link)).claim != question.claim:
                    yield kind, facts, other


def _is_right(changed: Question, share: float) -> bool:
    """Whether a link is proved as it stands, where a quick look does not tell that it is not. What P implies has to be
    just what P says: a weaker condition is no better guess than another."""
    if changed.link.relation == "=>":
        changed = replace(changed, link=replace(changed.link, relation="<=>"))
    with suppress(SymroofError, RecursionError):
        finding = proved(changed) if may_hold(changed, share) else None
        remarks = finding.remarks if finding is not None and finding.verdict in ACCEPTED else (Remark("truncated"),)
        digits = [remark.facts["digits"] for remark in remarks if "digits" in remark.facts]
        return min(digits, default=TELLING) >= TELLING and "truncated" not in {remark.kind for remark in remarks}
    return False
