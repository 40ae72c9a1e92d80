"""Random programs, as text that a chip of :mod:`simulator` can run as well. Imports nothing from symroof."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from random import Random

from direct import evaluate
from simulator import ONE_BY_ONE, ROWS, Braces, Made, Text, Type

LABELS = "BDFHKMNS"
DTYPES = ("bf16", "bf16", "int8", "fp32", "int4")
MOST = 3  # dimensions of a tensor


@dataclass
class Maker:
    """A program in the making: what is declared, and the tensors that a statement may use."""

    random: Random
    dtypes: tuple = DTYPES
    sums_of_two: bool = True
    declared: dict = field(default_factory=dict)
    scope: dict = field(default_factory=dict)
    made: int = 0
    start: int = 0

    def declare(self, role, type_):
        name = f"{role[0]}{self.start + len(self.declared)}"
        self.declared[name] = (role, type_)
        self.scope[name] = type_
        return name

    def name(self):
        self.made += 1
        return f"t{self.made}"

    def keep(self, made):
        self.scope[made.name] = made.type
        return made

    def pick(self, fits=lambda name, type_: True):
        """A tensor, more often one that was made last; None where none fits."""
        found = [name for name, type_ in self.scope.items() if type_.labels and fits(name, type_)]
        return self.random.choice(found[-3:] if self.random.random() < 0.7 else found) if found else None

    def weight(self, labels):
        role = self.random.choice(("weight", "weight", "cache", "input"))
        return self.declare(role, Type(self.random.choice(self.dtypes), tuple(labels)))

    def contraction(self, first=None):
        a = first or self.pick()
        labels = self.scope[a].labels
        summed = self.random.sample(labels, self.random.randint(1, len(labels)))
        kept = [x for x in labels if x not in summed]
        shared = [x for x in kept if self.random.random() < 0.3]
        room = MOST - len(kept)
        fresh = [x for x in LABELS if x not in labels]
        new = self.random.sample(fresh, min(len(fresh), self.random.randint(0, max(room, 0))))
        other = self.pick(
            lambda name, t: name != a and set(t.labels) & set(labels) and len(set(t.labels) | set(labels)) <= MOST + 1
        )
        if other and self.random.random() < 0.3:
            shared = [x for x in labels if x in self.scope[other].labels]
            summed = self.random.sample(shared, self.random.randint(1, len(shared)))
            out = [x for x in dict.fromkeys((*labels, *self.scope[other].labels)) if x not in summed]
        else:
            other = self.weight(self.random.sample([*summed, *shared, *new], len([*summed, *shared, *new])))
            out = [*kept, *new]
        operands = (a, other) if self.random.random() < 0.8 else (other, a)
        return self.keep(Made(self.name(), "*", operands, Type(self.random.choice(self.dtypes), tuple(out))))

    def function(self):
        a = self.pick()
        kind, type_ = self.random.choice((*ONE_BY_ONE, *ROWS)), self.scope[a]
        typed = self.random.random() < 0.3 or kind == "convert"
        result = replace(type_, dtype=self.random.choice(self.dtypes)) if typed else type_
        over = self.random.choice(type_.labels) if kind in ROWS else None
        return self.keep(Made(self.name(), kind, (a,), result, over, typed))

    def joined(self):
        """A sum, a difference, or a product of which nothing is contracted."""
        a = self.pick()
        labels = set(self.scope[a].labels)
        b = self.pick(lambda name, t: name != a and set(t.labels) <= labels)
        if b is None or not self.sums_of_two:
            b = self.weight(self.random.sample(sorted(labels), self.random.randint(1, len(labels))))
        kind = self.random.choice("++-*")
        type_ = replace(self.scope[a], dtype=self.random.choice(self.dtypes))
        return self.keep(Made(self.name(), kind, (a, b), type_))

    def statement(self):
        return self.random.choice((self.contraction, self.contraction, self.function, self.function, self.joined))()

    def fuse(self):
        return Braces("fuse", tuple(self.statement() for _ in range(self.random.randint(1, 4))))

    def block(self):
        body = [
            self.statement() if self.random.random() < 0.8 else self.fuse() for _ in range(self.random.randint(1, 2))
        ]
        return Braces(f"block part{self.made}", tuple(body))

    def repeat(self, inner=True):
        """A few turns; what leaves has the type of what enters."""
        outside = dict(self.scope)
        self.scope = {name: t for name, t in outside.items() if self.declared.get(name, ("input",))[0] == "input"}
        enters = self.pick()
        body = [self.contraction(enters)]
        for _ in range(self.random.randint(0, 2)):
            body.append(
                self.random.choice(
                    (
                        self.statement,
                        self.statement,
                        self.fuse,
                        (lambda: self.repeat(False)) if inner else self.statement,
                    )
                )()
            )
        before = next(m for m in reversed(list(self.scope)) if m not in outside and m not in self.declared)
        body.append(self.back(before, enters))
        self.scope = outside | {name: t for name, t in self.scope.items() if name not in self.declared}
        times = self.random.choice(("L", "L", "2", "L + 1"))
        return Braces(f"repeat {times} as {enters} = {body[-1].name}", tuple(body))

    def back(self, name, enters):
        """A statement that makes the type of ``enters`` of a tensor."""
        have, wanted = self.scope[name].labels, self.scope[enters]
        summed = [x for x in have if x not in wanted.labels]
        if not summed:
            return self.keep(Made(self.name(), "+", (enters, name), wanted))
        lacking = [x for x in wanted.labels if x not in have]
        return self.keep(Made(self.name(), "*", (name, self.weight([*summed, *lacking])), wanted))


def program(random: Random, most: int = 5, grouped: bool = True, where: bool = True, **options) -> Text:
    """A program of up to so many statements and groups of them."""
    maker = Maker(random, **options)
    for _ in range(random.randint(1, 2)):
        maker.declare("input", Type(random.choice(maker.dtypes), tuple(random.sample(LABELS, random.randint(1, MOST)))))
    body = []
    for _ in range(random.randint(2, most)):
        makers = [maker.statement] * 5 + [maker.fuse, maker.fuse, maker.block, maker.repeat] * grouped
        body.append(random.choice(makers)())
    found = Text(dict(maker.declared), {}, tuple(body)).tidy()
    if where and random.random() < 0.3 and len(found.labels) > 1:
        derived, other = random.sample(found.labels, 2)
        found = replace(found, where={derived: random.choice((f"2*{other}", f"{other}*k", f"k*{other}/e"))})
    return found


def whole_sizes(random: Random, text: Text, most: int = 3) -> dict[str, int]:
    """Tiny sizes, for which those that others define are whole."""
    written = " ".join(
        (*text.where.values(), *(b.repeat[0] for _, around in text.places for b in around if b.word == "repeat"))
    )
    names = sorted({*text.labels, *re.findall(r"[A-Za-z]\w*", written)} - set(text.where))
    while True:
        sizes = {name: random.randint(1, most) for name in names}
        if all(evaluate(formula, sizes).denominator == 1 for formula in text.where.values()):
            return sizes
