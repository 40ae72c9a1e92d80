"""Every number of the records of random programs, against direct arithmetic on their text; and no page fails."""

from dataclasses import dataclass
from fractions import Fraction as Q
from math import prod
from random import Random

import direct
import pytest
import random_programs
import test_audit
from simulator import Plan, Text, contracts, evaluate, operations, size

import symroof as sr
from symroof.errors import CheckError, SymroofError

pytestmark = pytest.mark.part(4)

CHIPS = {"tpu-v5p": ("bf16", "int8"), "a100": ("bf16", "int8"), "h100-sxm": ("bf16",)}


@dataclass(frozen=True, kw_only=True)
class Program(direct.Machine):
    """A program at any sizes: statement by statement, kernel by kernel."""

    text: Text
    labels: tuple[str, ...]

    def known(self, sizes):
        found = dict(sizes)
        for name, formula in self.text.where.items():
            found[name] = evaluate(formula, found)
        return found

    def _turns(self, around, sizes):
        return prod((Q(evaluate(b.repeat[0], sizes)) for b in around if b.word == "repeat"), start=Q(1))

    def _elements(self, labels, sizes):
        return prod((size(x, sizes) for x in labels), start=Q(1))

    def flops(self, sizes, count=None):
        sizes, types, total, work = self.known(sizes), self.text.types, Q(0), Q(0)
        for made, around in self.text.places:
            turns, outputs = self._turns(around, sizes), self._elements(made.type.labels, sizes)
            labels = dict.fromkeys(x for name in made.operands for x in types[name].labels)
            if contracts(made, types):
                length = self._elements([x for x in labels if x not in made.type.labels], sizes)
                total += turns * outputs * (2 * length - ((count or self.count) == "exact"))
            elif made.over:
                each = operations(made.kind, 6) - operations(made.kind, 5)
                rows = self._elements([x for x in labels if x != made.over], sizes)
                work += turns * (each * outputs + (operations(made.kind, 5) - 5 * each) * rows)
            else:
                work += (
                    turns * outputs * (operations(made.kind, 1) if made.kind not in "*+-" else len(made.operands) - 1)
                )
        return total or work

    def _moves(self, sizes):
        sizes, plan = self.known(sizes), Plan(self.text)
        for kernel in plan.kernels:
            lines = [self.text.places[i][0] for i in kernel.lines]
            turns = self._turns(kernel.turns, sizes)
            made = {one.name for one in lines}
            loads = {name for one in lines for name in one.operands} - made
            stores = [self.text.places[i][0].name for i in kernel.lines if plan.kept(i)]
            yield tuple(turns * sum((self._bytes(n, sizes) for n in names), Q(0)) for names in (loads, stores))

    def _bytes(self, name, sizes):
        type_ = self.text.types[name]
        return Q(direct.BITS[type_.dtype], 8) * self._elements(type_.labels, sizes)

    def reads(self, sizes):
        return sum(loads for loads, _ in self._moves(sizes))

    def writes(self, sizes):
        return sum(stores for _, stores in self._moves(sizes))

    def moved(self, sizes):
        return self.reads(sizes) + self.writes(sizes)


def drawn(seed):
    """A derivation of a random program, and the arithmetic that it has to agree with; None where it is refused."""
    random = Random(seed)
    chip = random.choice(list(CHIPS))
    text = random_programs.program(random, most=4, dtypes=(random.choice(CHIPS[chip]),))
    if not any(contracts(made, text.types) for made, _ in text.places):
        return None
    written = " ".join(
        (*text.where.values(), *(b.repeat[0] for _, around in text.places for b in around if b.word == "repeat"))
    )
    sizes = [x for x in text.labels if x not in text.where] + ["L"] * ("L" in written)
    names = tuple(dict.fromkeys((*sizes, *(x for x in "ke" if x in written))))
    (peak,) = {type_.dtype for type_ in text.types.values()}
    truth = Program(
        text=text,
        labels=names,
        peak=direct.figure(chip, f"peak.{peak}"),
        bandwidth=direct.figure(chip, "HBM"),
        count=random.choice(("fma", "exact")),
    )
    options = {"on": chip, "count": truth.count}
    regime = ""
    if len(sizes) > 1:
        a, b, *rest = random.sample(sizes, len(sizes))
        regime = random.choice(["", f"{a} << {b}", f"{a} << {', '.join([b, *rest])}", f"{b} -> oo", f"{a} ~~ {b}"])
        options |= {"assume": regime} if regime else {}
    if random.random() < 0.5:
        options["at"] = {name: random.choice((512, 3000, 8192)) for name in random.sample(sizes, len(sizes) - 1)}
    try:
        return sr.derive(str(text), **options), truth, names
    except CheckError:
        raise
    except SymroofError:
        return None


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(24))
def test_every_number_of_a_program(seed):
    found = drawn(seed)
    if found is None:
        return
    d, truth, names = found
    random, record = Random(seed), test_audit.json.loads(d.to_json())
    answer = record["answer"]
    test_audit.floats_agree(record)
    sizes = direct.wide(random, names)
    for key, value in (
        ("flops", truth.flops(sizes)), ("flops_exact", truth.flops(sizes, "exact")), ("reads", truth.reads(sizes)), ("writes", truth.writes(sizes)),
        ("bytes", truth.moved(sizes)), ("intensity", truth.intensity(sizes)), ("T_math", truth.times(sizes)[0]), ("T_comms", truth.times(sizes)[1]),
    ):  # fmt: skip
        assert direct.evaluate(answer[key], truth.known(sizes)) == value, key
    if "ridge" not in str(answer["threshold"]) and not truth.text.where:
        test_audit.audit_threshold(answer["threshold"], answer, truth, random, names)
    for point in answer["at"]:
        put = {**sizes, **{name: Q(n) for name, n in point["values"].items()}}
        assert direct.evaluate(point["intensity"], truth.known(put)) == truth.intensity(put)
    assert {step["check"]["status"] for step in record["steps"]} == {"proved"}
    for form in ("text", "markdown", "latex", "rst"):
        assert getattr(d, f"to_{form}")()
