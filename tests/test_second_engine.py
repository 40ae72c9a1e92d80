"""A thousand single changes of steps of real derivations: what is false by direct arithmetic, the second engine refutes.

A number, a name, a relation, a side, a term or an assumption of one step is changed. :mod:`statements` decides whether the
changed step is false, without the engine; then no ledger of that derivation may let it pass. Nor with other evidence.
"""

from dataclasses import fields, replace
from decimal import Decimal
from fractions import Fraction as Q
from functools import cache
from math import prod, sqrt
from random import Random
from unittest.mock import patch

import direct
import pytest
from statements import Meaning, is_false, nodes, of_programs, value

import symroof as sr
from symroof.derivation.quantity_definitions import ledger_of
from symroof.errors import SymroofError
from symroof.formula import Cases, Compare, Figure, Formula, Name, Negative, Number, Product, Quotient, Sum, Verdict
from symroof.proof.bounds_and_decimals import BoundsCompared, RelativeGap
from symroof.proof.check import check, establish
from symroof.proof.polynomials import Poly, Rat
from symroof.proof.step import Evidence, Facts
from symroof.rendering.formulas.plain import PlainPrinter

MATMUL = "bf16[B, D] * bf16[D, F] -> bf16[B, F]"
SPLIT = "bf16[B, D_X] * bf16[D_X, F] -> bf16[B, F]"
V5E = {"peak": Q("1.97e14"), "bandwidth": Q("8.2e11")}


def flops(T, K):
    return 4 * T * K + 3 * T


def reads(T, K):
    return 2 * T + 4 * K


def writes(T, K):
    return 2 * T + T * K


COSTS = direct.Costs(**V5E, labels=("T", "K"), functions=(flops, reads, writes))
CUBIC = direct.Costs(
    **V5E, labels=("T", "K"), functions=(lambda T, K: T**3 * K + T**2, lambda T, K: K, lambda T, K: K * K)
)
AXPY = direct.Costs(**V5E, labels=("N",), functions=(lambda N: 2 * N, lambda N: 4 * N + 2, lambda N: 2 * N))
PROBLEMS = {
    "at a size": (MATMUL, {"on": "tpu-v5e", "assume": "B << D, F", "at": "D=F=8192"}, V5E),
    "symbolic": (MATMUL, {"assume": "B << D, F"}, V5E),
    "exact count": (MATMUL, {"on": "tpu-v5e", "count": "exact", "assume": "D ~~ F << B", "solve_for": "D"}, V5E | {"count": "exact"}),
    "int8": ("bf16[B, D] * int8[D, F] -> bf16[B, F]", {"on": "tpu-v5e", "at": "B=64,D=F=4096"}, V5E),
    "same sizes": (MATMUL, {"on": "tpu-v5e", "assume": "D = F"}, V5E),
    "dot": ("bf16[N] * bf16[N] -> bf16[1]", {"on": "tpu-v5e", "assume": "N -> oo"}, V5E),
    "all-reduce": (SPLIT, {"on": "tpu-v5e", "mesh": {"X": 4}, "link": "ICI", "solve_for": "D"}, {"peak": V5E["peak"], "bandwidth": Q("4.5e10"), "chips": 4, "link": "ICI"}),
    "96 chips": (SPLIT, {"on": "tpu-v5e", "mesh": {"X": 96}, "link": "ICI", "solve_for": "D"}, {"peak": V5E["peak"], "bandwidth": Q("4.5e10"), "chips": 96, "link": "ICI", "ways": 2}),
    "shares": (SPLIT, {"on": "tpu-v5e", "mesh": {"X": 2}}, V5E | {"chips": 2}),
    "batched": ("bf16[B, H, D] * int8[B, H, D] -> fp32[B, H]", {"on": "tpu-v5e", "assume": "D -> oo"}, V5E),
    "costs": (sr.Operation("costs", flops=flops, reads=reads, writes=writes), {"on": "tpu-v5e", "compute": "bf16", "assume": "K << T", "solve_for": "K"}, COSTS),
    "one root": (sr.Operation("cubic", **dict(zip(("flops", "reads", "writes"), CUBIC.functions, strict=True))), {"solve_for": "T"}, CUBIC),
    "kinds": ("axpy", {}, AXPY),
}  # fmt: skip
MAPPED = ("same sizes", "dot")
RELATIONS = ("=", "->", "~", "<", "<=", ">", ">=")


@cache
def derived(name):
    """The steps of a derivation and of its map, the ledger before each, and what its names mean."""
    operation, options, machine = PROBLEMS[name]
    steps, ledgers = [], []

    def recorded(added, ledger):
        done = []
        for step in added:
            before = copied(ledger)
            done += establish([step], ledger)
            if before.meanings == meanings:
                steps.append(done[-1])
                ledgers.append(before)
        return tuple(done)

    problem = sr.derive(operation, **options).setting
    meanings = ledger_of(problem).meanings
    with patch("symroof.derivation.drafts.establish", recorded):
        sr.derive(operation, **options)
        if name in MAPPED:
            sr.regimes(operation, **options).to_text()
    truth = machine if isinstance(machine, direct.Machine) else direct.Product.read(operation, **machine)
    kept = [i for i, step in enumerate(steps) if step not in steps[:i]]
    meaning = Meaning(truth, ledgers[0].least_one, problem.variable.name, symbolic="on" not in options)
    return [steps[i] for i in kept], [ledgers[i] for i in kept], meaning


def copied(ledger):
    return replace(ledger, definitions=dict(ledger.definitions), established=list(ledger.established))


def rebuilt(formula, old, new):
    """The formula with one node, by identity, put in another's place."""
    if formula is old:
        return new
    if isinstance(formula, tuple):
        return tuple(rebuilt(part, old, new) for part in formula)
    if not isinstance(formula, Formula):
        return formula
    parts = {f.name: rebuilt(getattr(formula, f.name), old, new) for f in fields(formula)}
    same = all(parts[f.name] is getattr(formula, f.name) for f in fields(formula))
    return formula if same else replace(formula, **parts)


def another_number(random, node):
    new = random.choice(
        (node.value + 1, node.value - 1, node.value * 2, node.value * Q(101, 100), node.value / 3, -node.value)
    )
    if node.digits is None:
        return Number(Q(new))
    mantissa, e, power = node.digits.partition("e")
    unit = Decimal(1).scaleb(-len(mantissa.partition(".")[2]))
    digits = f"{Decimal(mantissa) + unit}{e}{power}"
    return random.choice(
        (Number(Q(digits), digits), Number(node.value * 2), replace(node, value=node.value + Q(digits)))
    )


def changed(random, step, others):
    """One change of a step, or None where the drawn kind has nothing to change."""
    sides = [("left", node) for node in nodes(step.left)] + [("right", node) for node in nodes(step.right)]

    def swap(old, new):
        side, node = old
        return replace(step, **{side: rebuilt(getattr(step, side), node, new)})

    def drawn(*kinds):
        those = [pair for pair in sides if isinstance(pair[1], kinds)]
        return random.choice(those) if those else None

    kinds = "number", "name", "relation", "inner", "side", "swap", "drop", "sign", "assumption", "number", "drop"
    match random.choice(kinds):
        case "number" if place := drawn(Number):
            return swap(place, another_number(random, place[1]))
        case "name" if place := drawn(Name, Figure):
            names = {n.name for _, n in sides if isinstance(n, Name)} | {"B", "D", "ridge", "flops", "bytes", "T_math"}
            return swap(place, Name(random.choice(sorted(names - {place[1].name}))))
        case "relation" if step.relation in RELATIONS:
            return replace(step, relation=random.choice([r for r in RELATIONS if r != step.relation]))
        case "inner" if place := drawn(Compare, Verdict, Cases):
            return _inner(random, swap, place)
        case "side":
            other, truths = random.choice(others), Compare | Cases | Verdict
            alike = isinstance(other.right, truths) == isinstance(step.right, truths)
            return replace(step, right=other.right) if alike else None
        case "swap":
            return replace(step, left=step.right, right=step.left)
        case "drop" if place := drawn(Sum, Product):
            parts = place[1].terms if isinstance(place[1], Sum) else place[1].factors
            gone = random.randrange(len(parts))
            return swap(place, type(place[1])((*parts[:gone], *parts[gone + 1 :])))
        case "sign" if place := drawn(Sum):
            i, terms = random.randrange(len(place[1].terms)), list(place[1].terms)
            terms[i] = terms[i].body if isinstance(terms[i], Negative) else Negative(terms[i])
            return swap(place, Sum(tuple(terms)))
        case "assumption" if step.assumptions:
            i = random.randrange(len(step.assumptions))
            kept, one = (*step.assumptions[:i], *step.assumptions[i + 1 :]), step.assumptions[i]
            if random.random() < 0.5 or not isinstance(one, Compare):
                return replace(step, assumptions=kept)
            names = isinstance(one.left, Name) and isinstance(one.right, Name)
            other = {"left": one.right, "right": one.left} if names else {"left": Product((Number(Q(9)), one.left))}
            return replace(step, assumptions=(*kept, replace(one, **other)))
    return None


def _inner(random, swap, place):
    match place[1]:
        case Compare(relation="<=>"):
            return None
        case Compare(relation=relation) as inner:
            other = random.choice([r for r in ("<", "<=", ">", ">=") if r != relation])
            return swap(place, replace(inner, relation=other))
        case Verdict(holds=holds):
            return swap(place, Verdict(not holds))
        case Cases(rows=rows, otherwise=otherwise):
            (consequence, guard), *rest = rows
            always, never = ((consequence, Verdict(True)), *rest), ((Verdict(True), guard), *rest)
            others = Cases(always, otherwise), Cases(rows, Verdict(True)), Cases(never, otherwise)
            return swap(place, random.choice(others))


TWO = Number(Q(2))


def _twice(formula):
    return Product((TWO, formula))


def other_evidence(random, step):
    """What the evidence says of the step, changed: a stride, a difference, a loop, a width, a part, a mesh, a size."""
    evidence, size = step.evidence, random.choice(("B", "D", "F", "N", "T"))
    parts = ({},)
    match type(evidence).__name__:
        case "WholeBounds":
            bound = () if evidence.bound is None else ({"bound": _twice(evidence.bound)},)
            parts = ({"step": evidence.step + random.randint(1, 3)}, *bound)
        case "Excess":
            parts = ({"amount": _twice(evidence.amount)},)
        case "Loops":
            other = {"operands": _longer(random, evidence.operands)}
            parts = other, {"fused": not evidence.fused}, {"output": (*evidence.output, "3")}
        case "Touches":
            loops = replace(evidence.loops, operands=_longer(random, evidence.loops.operands))
            parts = {"place": (evidence.place + 1) % 3}, {"loops": loops}
        case "Arrays":
            (labels, bits, dtype), *rest = evidence.arrays
            types = (2 * bits, dtype), (bits, "fp64"), (bits, "int4")
            firsts = (*((labels, *one) for one in types), ((*labels, "2"), bits, dtype))
            parts = tuple({"arrays": (first, *rest)} for first in firsts)
        case "CostFunctionCount":
            more = {"function": lambda **sizes: evidence.function(**sizes) + 1}
            parts = more, {"parameters": (*evidence.parameters, "B")}
        case "OperationKinds":
            more = replace(evidence.functions[0], function=lambda **sizes: evidence.functions[0].function(**sizes) + 1)
            parts = {"functions": (more, *evidence.functions[1:])}, {"functions": evidence.functions[:-1]}
        case "ChipAmount":
            cost = {"cost": random.choice(("flops", "flops_exact", "bytes", "sent", "chips", "moved"))}
            named = {**cost, "name": random.choice(("left operand", ""))}
            parts = {"meshed": _otherwise(random, evidence.meshed)}, {"resource": "Y"}, named, cost
        case "HighestPowers":
            parts = ({"name": size},)
        case "Supremum":
            parts = {"names": (size,)}, {"reached": not evidence.reached}
        case "BoundsCompared" | "RelativeGap":
            parts = {"high": evidence.low, "low": evidence.high}, {"high": evidence.low}
        case "OneRoot":
            parts = {"name": size}, {"side": -evidence.side}
        case "Harmonic":
            parts = {"parts": evidence.parts[:-1]}, {"parts": (*evidence.parts[:-1], _twice(evidence.parts[-1]))}
        case "Dominance":
            turned = {"numerator": evidence.denominator, "denominator": evidence.numerator}
            parts = {"certificates": ()}, turned, {"numerator": _twice(evidence.numerator)}
    return replace(step, evidence=replace(evidence, **random.choice(parts)))


def _longer(random, shapes):
    i = random.randrange(len(shapes))
    return (*shapes[:i], (*shapes[i], "3"), *shapes[i + 1 :])


def _otherwise(random, meshed):
    """The mesh of another size, wired otherwise; the tensors in another width, or not split."""
    axis, *axes = meshed.mesh
    first, *others = meshed.script.arrays
    arrays = random.choice(
        ((replace(first, split=frozenset()), *others), (replace(first, bits=2 * first.bits), *others))
    )
    changes = (
        {"mesh": (replace(axis, chips=2 * axis.chips), *axes)},
        {"mesh": (replace(axis, wiring="line" if axis.chips % 16 == 0 else "ring"), *axes)},
        {"script": replace(meshed.script, arrays=arrays)},
    )
    return replace(meshed, **random.choice(changes))


def other_facts(random, step):
    """Another number of outputs, chips or bytes; another name that cancels, or is solved for; another size."""
    facts, size, parts = step.facts, random.choice(("B", "D", "F", "N", "peak")), {}
    match type(facts).__name__:
        case "OutputCounts":
            field = random.choice(("outputs", "multiplications", "additions", *(["length"] if facts.length else [])))
            parts = {field: _twice(getattr(facts, field))}
        case "CancelledNames" if Name(size) not in facts.names:
            parts = {"names": (*facts.names, Name(size))}
        case "Unknown" if not isinstance(step.right, Verdict):
            parts = {"variable": size}
        case "RowSize":
            parts = {"size": random.choice((facts.size + 1, Q(8192), Q(2)))}
        case "Division":
            parts = random.choice(({"chips": _twice(facts.chips)}, {"repeated": _twice(facts.repeated)}))
        case "Axes":
            axes = (replace(facts.axes[0], chips=facts.axes[0].chips + 1), *facts.axes[1:])
            parts = random.choice(({"axes": axes}, {"busy": frozenset()}, {"busy": facts.busy | {"Y"}}))
        case "Exchanges":
            (one,) = facts.exchanges
            changes = {"message": _twice(one.message)}, {"share": _twice(one.share)}, {"collective": "all-gather"}
            parts = {"exchanges": (replace(one, **random.choice(changes)),)}
    return replace(step, facts=replace(facts, **parts))


def passed(name, seed, count):
    """Of so many changes: how many are false, and those false ones that the engine lets pass."""
    random, steps_of, found, false = Random(f"{name} {seed}"), derived(name), [], 0
    steps, ledgers, meaning = steps_of
    while count:
        i = random.randrange(len(steps))
        try:
            one = changed(random, steps[i], steps)
        except ArithmeticError:
            continue
        if one is None or one == steps[i]:
            continue
        count -= 1
        why = is_false(one, meaning, seed)
        if why is None:
            continue
        false += 1
        try:
            outcome = check(one, copied(ledgers[i]))
        except SymroofError:
            continue
        shown = PlainPrinter().print
        given = f" given {', '.join(map(shown, one.assumptions))}" if one.assumptions else ""
        said = f"{shown(one.left)} {one.relation} {shown(one.right)}{given}"
        found.append(f"{name}, step {i} ({one.reason.value}): {said}: passes as {outcome.by!r}; {why}")
    return false, found


@pytest.mark.thorough
@pytest.mark.parametrize("name", PROBLEMS)
def test_the_oracle_finds_nothing_false_in_a_derivation(name):
    steps, _, meaning = derived(name)
    assert [(step, why) for step in steps if (why := is_false(step, meaning, 1))] == []


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", PROBLEMS)
def test_no_false_change_passes(name, seed):
    false, found = passed(name, seed, 20)
    assert false >= 6
    assert found == [], "\n".join(found)


@pytest.mark.part(3)
@pytest.mark.parametrize("name", PROBLEMS)
def test_other_evidence_and_other_facts_are_refused(name):
    """A true line whose evidence or facts say something else than those that it has, in one place."""
    steps, ledgers, _ = derived(name)
    random, tried = Random(name), 0
    for step, ledger in zip(steps, ledgers, strict=True):
        for change, part in ((other_evidence, step.evidence), (other_facts, step.facts)):
            for one in (change(random, step) for _ in range(3) if part is not None):
                if one != step:
                    tried += 1
                    with pytest.raises(SymroofError):
                        check(one, copied(ledger))
    assert tried > 8


SHOWS = {"Supremum": ("<", "<="), "Dominance": ("~", "->"), "Excess": ("~",), "HighestPowers": ("->",)}
SHOWS |= {"Harmonic": ("<=",), "RelativeGap": ("~",), **dict.fromkeys(("WholeBounds", "OneRoot", "Exceeds"), ("<=>",))}


@pytest.mark.parametrize("name", PROBLEMS)
def test_evidence_shows_no_other_relation(name):
    """The evidence of ~ is none of =, that of -> none of ~: whether the other relation holds or not."""
    steps, ledgers, _ = derived(name)
    for step, ledger in zip(steps, ledgers, strict=True):
        if step.evidence is None:
            continue
        for relation in {*RELATIONS, "<=>", "<<", "~~"} - set(SHOWS.get(type(step.evidence).__name__, ("=",))):
            with pytest.raises(SymroofError):
                check(replace(step, relation=relation), copied(ledger))


@pytest.mark.thorough
def test_steps_that_others_rest_on_have_been_checked():
    """A bound, or a whole size, of a step that the ledger does not know is none, even where it is right."""
    every = [pair for name in PROBLEMS for pair in zip(*derived(name)[:2], strict=True)]
    rests = [(step, ledger) for step, ledger in every if isinstance(step.evidence, BoundsCompared | RelativeGap)]
    assert {type(step.left) for step, _ in rests} == {Quotient, Sum}
    for step, ledger in rests:
        ends = ({end: replace(getattr(step.evidence, end), section="elsewhere")} for end in ("high", "low"))
        forged = [replace(step, evidence=replace(step.evidence, **end)) for end in ends]
        if isinstance(step.left, Quotient):  # of the same value, and not that of the bounds
            forged.append(replace(step, left=Quotient(_twice(step.left.above), _twice(step.left.below))))
        check(step, copied(ledger))
        for one in forged:
            with pytest.raises(SymroofError):
                check(one, copied(ledger))


def bound(relation, size):
    return Compare(Name("B"), relation, Number(Q(size)))


@pytest.mark.thorough
def test_every_kind_of_evidence_and_of_facts_is_changed():
    """All but what only programs have."""
    steps = [step for name in PROBLEMS for step in derived(name)[0]]
    for part, base in (("evidence", Evidence), ("facts", Facts)):
        seen = {type(getattr(step, part)).__name__ for step in steps} - {"NoneType"}
        kinds = {kind.__name__ for kind in base.__subclasses__()}
        assert (seen - {"TensorTraffic"}) | {*of_programs(base)} == kinds


def test_the_oracle_knows_what_a_name_means():
    _, _, meaning = derived("at a size")
    point = meaning.names({"B": Q(2), "D": Q(3), "F": Q(5)}, Random(1))
    assert value(Name("bytes"), point) == 2 * (2 * 3 + 3 * 5 + 2 * 5)
    assert value(Name("intensity"), point) == Q(2 * 2 * 3 * 5, 62)


def test_a_quotient_with_another_put_in_has_its_value():
    """Whatever stands below the bars: the value at numbers is that of the quotient at the value of the other."""
    draw, names, put = Random(17), ("x", "y", "z"), 0

    def polynomial():
        x, y, z = map(Poly.name, names)
        terms = (x, y, z, x * y, x**2 * z, y * z)
        return sum(
            (term * Q(draw.randint(-3, 5)) for term in draw.sample(terms, 3)), Poly.number(Q(draw.randint(1, 4)))
        )

    def at(quotient, sizes):
        sides = (quotient.above, quotient.below)
        above, below = (sum(c * prod(sizes[n] ** e for n, e in m) for m, c in side.items()) for side in sides)
        return above / below if below else None

    for _ in range(200):
        quotient, other = (
            Rat(polynomial(), draw.choice((polynomial(), Poly.number(Q(1)), Poly.name("x")))) for _ in "ab"
        )
        if not quotient.below or not other.below:
            continue
        sizes = {name: Q(draw.randint(1, 9)) for name in names}
        inner = at(other, sizes)
        wanted = None if inner is None else at(quotient, {**sizes, "x": inner})
        found = quotient.put("x", other)
        if wanted is None or not found.below or at(found, sizes) is None:
            continue
        assert at(found, sizes) == wanted
        put += 1
    assert put > 100


def bounds_of(text):
    from symroof.proof.exact_values import enclosure
    from symroof.reading.expressions import read_expression
    from symroof.reading.name_scope import Scope

    return enclosure(read_expression(text, Scope(open=True)), {})


@pytest.mark.parametrize(
    ("text", "value"),
    [("1/(sqrt(2) - 1)", 1 + sqrt(2)), ("1/(1 - sqrt(2))", -1 - sqrt(2)), ("1/(sqrt(7) + 3)", 1 / (sqrt(7) + 3))],
)
def test_a_quotient_lies_between_its_ends(text, value):
    low, high = bounds_of(text)
    assert float(low) == pytest.approx(value) == pytest.approx(float(high))


@pytest.mark.parametrize("text", ["1/(sqrt(2)*sqrt(2) - 2)", "1/(sqrt(2)*sqrt(3) - sqrt(6))"])
def test_what_may_be_divided_by_nothing_has_no_ends(text):
    assert bounds_of(text) is None
