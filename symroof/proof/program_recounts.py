"""Counts of a program, made again by running it: costs, bytes of tensors, and the facts that prose states of each statement."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from fractions import Fraction
from functools import reduce
from operator import mul

from symroof.formula import Formula, Name, Number, Quotient
from symroof.proof.adjoints import require_adjoint
from symroof.proof.array_ops import APPEND, FUNCTION, PLACE, Op, Turn
from symroof.proof.kernel_traffic import Access, Script
from symroof.proof.loop_counts import Pairs, pairs_of, places
from symroof.proof.polynomials import ONE, Poly, Rat
from symroof.proof.program_structure import require_room
from symroof.proof.quotients import Quotients
from symroof.proof.step import Check, Evidence, Facts, Ledger, Step, refuted

ZERO = Rat(Poly())
# What stays in memory, and how it is counted.
STOCKS = {
    **dict.fromkeys(("weight", "cache", "weight elements"), "declared tensors added up"),
    "saved": "loads of the backward pass counted",
    "gradients": "gradients of weights added up",
    "trainable elements": "weights with gradients added up",
}
# Those of the weights that have gradients.
TRAINED = ("gradients", "trainable elements")


class Rerun(Evidence):
    """Evidence of a cost: the program, run again. ``name`` is the statement, None for the whole program; ``back`` is the
    pass, None for both."""

    counts = True

    script: Script
    cost: str
    name: str | None = None
    back: bool | None = None

    def examine(self, step: Step, ledger: Ledger) -> Check:
        exact, script = ledger.exact(figures=False), self.script
        require_adjoint(script)
        require_room(script, exact)
        total, by = ZERO, "the program run again"
        for op in self.ops():
            if self.back in (None, op.back) and self.cost in ("flops", "flops_exact", "ops"):
                total += self.work(op, exact, step) * self.turned(op.turns, exact)
            if self.cost in ("flops", "flops_exact"):
                by = "counted in loops"
        if self.cost in ("reads", "writes", "bytes"):
            by = "loads and stores counted"
            for move in script.run.moves(self.cost, self.name):
                total += self.size(move.name, exact, move.part) * self.turned(move.turns, exact)
        if self.cost in STOCKS:
            by = STOCKS[self.cost]
            for name, turns in self.stays():
                size = exact.sizes(script.array[name].labels) if " " in self.cost else self.size(name, exact)
                total += size * self.turned(turns, exact)
        if self.cost == "pairs":
            masked = script.op[str(self.name)].masked
            total, by = ZERO if masked is None else pairs_of(masked, exact), "every row gone through"
        if self.cost in ("elements", "size") and self.name is not None:
            array, by = script.array[self.name], "elements multiplied out"
            total = exact.sizes(array.labels) if self.cost == "elements" else self.size(array.name, exact)
        if not (exact.rational(step.right) - total).is_zero():
            raise refuted(step, "running the program gives something else")
        return Check("proved", by)

    def ops(self) -> Iterable[Op]:
        """The ops of the statement, or all."""
        if self.name is None:
            return self.script.ops
        return (self.script.op[name] for name in self.script.run.paid.get(self.name, ()))

    def work(self, op: Op, exact: Quotients, step: Step) -> Rat:
        script = self.script
        if script.contracts(op):
            return ZERO if self.cost == "ops" else self._contraction(op, exact, step)
        if self.cost != "ops":
            return ZERO
        array = script.array[op.operands[0] if len(op.operands) == 1 or op.kind == FUNCTION else op.result]
        rows = tuple(label for label in array.labels if label != op.over)
        per_element = Rat(Poly.number(op.each)) * places(op.masked, array.labels, exact)
        first_terms = places(op.masked, script.array[op.result].labels, exact) if op.sums else ZERO
        return per_element + Rat(Poly.number(op.row)) * places(op.masked, rows, exact) - first_terms

    def _contraction(self, op: Op, exact: Quotients, step: Step) -> Rat:
        """Two operations for each product, one less for each output where additions are counted exactly: as the loops
        count them at enough sizes."""
        fused, output = self.cost == "flops", self.script.array[op.result].labels
        loops = self.script.loops(op, fused)
        free = Quotients()
        turns = free.sizes((*output, *loops.missing_in(output)))
        formula = Rat(Poly.number(Fraction(2))) * turns - (ZERO if fused else free.sizes(output))
        for point in loops.points(formula).points:
            nest = loops.at(point)
            value = formula.above.at({name: Fraction(size) for name, size in point.items()})
            if nest["outputs"] * (nest["multiplications"] + nest["additions"]) != value:
                raise refuted(step, f"the loops count something else at {point}")
        multiplications = places(op.masked, (*output, *loops.missing_in(output)), exact)
        return Rat(Poly.number(Fraction(2))) * multiplications - (ZERO if fused else places(op.masked, output, exact))

    def stays(self) -> Iterable[tuple[str, tuple[Turn, ...]]]:
        """The arrays of a stock, each with the turns in which it is another one."""
        if self.cost == "saved":
            return self._saved().items()
        role, trained = self.cost.partition(" ")[0], self.cost in TRAINED
        chosen = (a for a in self.script.arrays if a.role == ("weight" if trained else role))
        arrays = (a for a in chosen if self.name in (None, a.name))
        return [(a.name, self._copies(a.name)) for a in arrays if not trained or not a.untrained]

    def _saved(self) -> Mapping[str, tuple[Turn, ...]]:
        """The activations that the backward pass loads, each with the turns that have one of their own. What leaves a turn and
        enters the next one is one array of two names."""
        script, saved = self.script, dict[str, tuple[Turn, ...]]()
        for load in script.run.loads:
            name = self._kept_as(load.name)
            if script.op[load.payer].back and self._is_activation(name):
                saved[name] = max(saved.get(name, ()), self._turns_kept(name, load), key=len)
        result, stacks = dict[str, tuple[Turn, ...]](), set[tuple[str, ...]]()
        for name, turns in saved.items():
            if not saved.keys().isdisjoint((*script.around(name), script.gathered.get(name, ""))):
                continue
            op = script.op.get(name)
            if op is not None and op.laid == PLACE:  # places of one array are there once, whichever turns take them
                (along,) = {*script.array[op.operands[0]].labels} - {*script.array[name].labels}
                stack = (script.root(op.operands[0]), along)
                if stack in stacks:
                    continue
                stacks.add(stack)
            entering = self._entering(turns, saved)
            result[name] = tuple(
                turn for turn in turns if all(n not in entering or script.root(n) != name for n in turn.enters)
            )
        return result

    def _kept_as(self, view: str) -> str:
        """The array that is kept where the backward pass reads another: a slice that is made again is one of what is kept,
        what is exchanged again is kept as it was before."""
        script, name = self.script, self.script.root(view)
        op = script.op.get(name)
        remade = any(n in script.op and script.op[n].back for n in script.origins(name))
        if op is None or not op.again or not op.lies or remade:
            return name
        return script.root(op.operands[0]) if op.exchanges else op.again

    def _is_activation(self, name: str) -> bool:
        """Whether the forward pass makes an array that is no part of a weight or a cache, or it is an input."""
        maker, whole = self.script.op.get(name), (name, *self.script.around(name))[-1]
        forward = self.script.array[name].role == "input" if maker is None else not maker.back
        return forward and self.script.array[whole].role not in ("weight", "cache")

    def _turns_kept(self, name: str, load: Access) -> tuple[Turn, ...]:
        """The turns of the forward pass that have an array of their own for what a load of the backward pass reads."""
        script, turns = self.script, self.script.op[load.payer].turns
        mirrored, aliases = {~turn.place for turn in turns}, {*script.seen(load.name, turns)}
        own = script.op[name].turns if name in script.op else ()
        forward = {turn.place: turn for op in script.ops for turn in op.turns if turn.place in mirrored}
        entered = (turn for turn in forward.values() if turn in own or not aliases.isdisjoint(turn.enters))
        return tuple(turn for turn in entered if not turn.batch)

    def _entering(self, turns: Iterable[Turn], saved: Mapping[str, tuple[Turn, ...]]) -> set[str]:
        """What enters turns under another name than the one under which it is kept when it leaves them."""
        script = self.script
        pairs = ((turn, first, script.root(last)) for turn in turns for first, last in turn.carried)
        return {first for turn, first, n in pairs if turn in saved.get(n, ()) or script.gathered.get(n) in saved}

    def size(self, name: str, exact: Quotients, part: str | Pairs | None = None) -> Rat:
        """The bytes of an array, or of a part of it that is read."""
        width = Rat(Poly.number(Fraction(self.script.array[name].bits, 8)))
        if isinstance(part, Pairs):
            return width * places(part, self.script.array[name].labels, exact)
        return width * exact.sizes(self.script.array[part or name].labels)

    def turned(self, turns: Iterable[Turn], exact: Quotients) -> Rat:
        return reduce(mul, (exact.rational(turn.times) for turn in turns), Rat(ONE))

    def runs(self, op: Op, turns: Formula | None, exact: Quotients) -> bool:
        """Whether an op is run in so many turns of repeats; None where there is none around it."""
        if turns is None or not op.turns:
            return turns is None and not op.turns
        return (exact.rational(turns) - self.turned(op.turns, exact)).is_zero()

    def _copies(self, name: str) -> tuple[Turn, ...]:
        """In which turns a declared tensor is another: those of what uses it."""
        return tuple(turn for turn in self.script.own_turns(name) if not turn.batch)


class TensorTraffic(Rerun):
    """Evidence of the bytes of the tensor ``name``, or of all that belong to a ``part``: every load and every store, whoever
    pays."""

    part: str | None = None

    def examine(self, step: Step, ledger: Ledger) -> Check:
        require_adjoint(self.script)
        exact = ledger.exact(figures=False)
        if not (exact.rational(step.right) - self.moved(exact)).is_zero():
            raise refuted(step, f"running the program moves something else of {self.name or self.part}")
        return Check("proved", "loads and stores counted")

    def moved(self, exact: Quotients) -> Rat:
        """The bytes of the tensor, or of all tensors."""
        run, total = self.script.run, ZERO
        for move in run.moves("bytes"):
            if self.name in (None, move.name) and self.part in (None, self.script.part(move.name)):
                total += self.size(move.name, exact, move.part) * self.turned(move.turns, exact)
        return total


class Tokens(Facts):
    """Facts of a rate: the product of the sizes that every product with a weight has, and no weight, over the least time;
    every weight meets all of them, and none are pixels in their windows."""

    script: Script

    def agree(self, step: Step, ledger: Ledger) -> bool:
        script, rate = self.script, step.right
        if ledger.meanings["params"] != Rerun(script, "weight elements") or not isinstance(rate, Quotient):
            return False
        contractions = (op for op in script.ops if script.contracts(op) and not op.back)
        products = [op for op in contractions if any(script.array[name].role == "weight" for name in op.operands)]
        windows = any(op.function == "windows" for op in script.ops)
        if windows or any(set.intersection(*map(set, script.labels((*op.operands, op.result)))) for op in products):
            return False
        tokens, batches = self._tokens(products, ledger), {tuple(t for t in op.turns if t.batch) for op in products}
        if not tokens or len(batches) != 1:
            return False
        exact = ledger.exact(figures=False)
        per_step = exact.sizes(tokens) * Rerun(script, "flops").turned(batches.pop(), exact)
        return (exact.rational(rate.above) - per_step).is_zero() and rate.below == Name("T_lower")

    def _tokens(self, products: Iterable[Op], ledger: Ledger) -> Collection[str]:
        """The sizes that all products with a weight have and no weight has; none where these are others for some of them."""
        script = self.script
        weights = (array.labels for array in script.arrays if array.role == "weight")
        of_weights = self._same_size((label for labels in weights for label in labels), ledger)
        of_products = set[frozenset[str]]()
        for op in products:
            operands = (label for labels in script.labels(op.operands) for label in labels)
            turns = (_label(turn.times) for turn in op.turns if turn.alike)
            of_products.add(frozenset(self._same_size((*operands, *turns), ledger) - of_weights))
        return sorted(of_products.pop()) if len(of_products) == 1 else ()

    def _same_size(self, labels: Iterable[str], ledger: Ledger) -> set[str]:
        """The names of sizes; another name of a size is that size: S = T."""
        defined = ((label, ledger.definitions.get(label)) for label in labels)
        return {size.name if isinstance(size, Name) else label for label, size in defined}


class DotProducts(Facts):
    """Facts of a contraction: each of ``outputs`` is a dot product of a ``length``, in every one of the ``turns`` of the
    repeats around it, where there are any."""

    outputs: Formula
    length: Formula
    turns: Formula | None = None

    def agree(self, step: Step, ledger: Ledger) -> bool:
        run, op = _run_of(step)
        if run is None or op is None or not run.script.contracts(op):
            return False
        script, exact = run.script, ledger.exact(figures=False)
        output = script.array[op.result].labels
        outputs = places(op.masked, output, exact)
        turns = places(op.masked, (*output, *script.loops(op).missing_in(output)), exact)
        correct = (exact.rational(self.outputs) - outputs).is_zero()
        correct &= (exact.rational(self.length) * outputs - turns).is_zero()
        return correct and run.runs(op, self.turns, exact)


class ElementwiseStatement(Facts):
    """A statement of elementwise work: its ``result``, and the operations ``each`` of so many takes: each element of its
    first operand, or each row ``over`` a label. One that ``sums`` saves one for each element of its result."""

    result: str
    each: Formula
    over: str | None = None
    sums: bool = False

    def agree(self, step: Step, ledger: Ledger) -> bool:
        run, _ = _run_of(step)
        op = None if run is None else run.script.op.get(self.result)
        if run is None or op is None or run.script.contracts(op) or self.over != (op.over if op.row else None):
            return False
        if self.sums != op.sums:
            return False
        exact = ledger.exact(figures=False)
        length = Rat(ONE) if self.over is None else exact.size(self.over)
        if op.masked is not None and self.over in op.masked.labels:  # the mean of the rows
            (other,) = op.masked.labels - {self.over}
            length = pairs_of(op.masked, exact) / exact.size(other)
        value = Rat(Poly.number(op.each)) * length + Rat(Poly.number(op.row))
        return (exact.rational(self.each) - value).is_zero()


class ElementwiseWork(Facts):
    """Facts of elementwise work: all of it that a statement pays for."""

    applied: tuple[ElementwiseStatement, ...]

    @staticmethod
    def _only_moves(script: Script, op: Op) -> bool:
        """Whether a sum of one array has nothing to add up: its elements in another order."""
        labels = (script.array[name].labels for name in (*op.operands, op.result))
        return op.sums and len({frozenset(shape) for shape in labels}) == 1

    def agree(self, step: Step, ledger: Ledger) -> bool:
        run, _ = _run_of(step)
        if run is None:
            return False
        script = run.script
        works = (op for op in run.ops() if not script.contracts(op) and (op.each or op.row))
        paid = tuple(op.result for op in works if not self._only_moves(script, op))
        return paid == tuple(fact.result for fact in self.applied) and all(x.agree(step, ledger) for x in self.applied)


class StatementTraffic(Facts):
    """Facts of traffic: what a statement loads, what it finds on the chip, what it stores; ``kept`` is made and not stored."""

    loaded: tuple[str, ...]
    found: tuple[str, ...]
    stored: tuple[str, ...]
    kept: tuple[str, ...]

    def agree(self, step: Step, ledger: Ledger) -> bool:
        run, op = _run_of(step)
        if run is None or op is None:
            return False
        trace = run.script.run
        ops = list(run.ops())
        results = tuple(op.result for op in ops)
        loaded, stored = (tuple(move.name for move in trace.moves(way, run.name)) for way in ("reads", "writes"))
        used = dict.fromkeys(name for op in ops for name in op.operands[1 if op.laid == APPEND else 0 :])
        pieces = {name for name in used if not {*loaded}.isdisjoint(run.script.taken(name, op.turns))}
        return (
            self.loaded == loaded
            and set(self.stored) == set(stored)
            and self.found == tuple(name for name in used if name not in (*loaded, *results, *pieces))
            and self.kept == tuple(name for name in results if name not in stored and not run.script.op[name].lies)
        )


def _run_of(step: Step) -> tuple[Rerun | None, Op | None]:
    """The run that a step rests on, and the statement that it is about."""
    run = step.evidence
    if not isinstance(run, Rerun):
        return None, None
    return run, run.script.op.get(str(run.name))


def _label(times: Formula) -> str:
    """The label of which there are as many places as turns."""
    return times.name if isinstance(times, Name) else str(times.value) if isinstance(times, Number) else ""
