"""Random programs on meshes, as text: small products, sums and functions whose tensors are split at random."""

from random import Random

LABELS = "BDFH"
FUNCTIONS = ("relu", "gelu", "softmax", "layer_norm", "rms_norm", "convert")
MESHES = (
    "X=2 on ICI",
    "X=3 on ICI",
    "X=4 on ICI",
    "X=5 line on ICI",
    "X=3, Y=4 on ICI",
    "X=2, Y=3 on ICI",
    "X=2 on ICI; mesh Y=3 on DCN switch",
    "X=3 on NVLink switch; mesh Y=2 on ICI",
    "X=2, Y=2 on NVLink switch",
)


class Splits:
    """A program in the making. Most splits follow a habit, so that many programs fit; some do not."""

    def __init__(self, random: Random) -> None:
        self.random, self.mesh = random, random.choice(MESHES)
        self.axes = [axis for axis in "XY" if f"{axis}=" in self.mesh]
        self.habit = {label: random.choice(("", *self.axes)) for label in LABELS}
        self.types: dict[str, tuple[str, dict[str, str]]] = {}
        self.lines: list[str] = []
        self.used: set[str] = set()

    def split(self, labels):
        found = dict.fromkeys(labels, "")
        for axis in self.axes:
            if self.random.random() < 0.75:
                label = self.random.choice([x for x in labels if axis in self.habit[x]] or [None, *labels])
                if self.random.random() < 0.2:
                    label = self.random.choice([None, *labels])
                if label is not None:
                    found[label] += axis
        return found

    def spelled(self, name):
        labels, split = self.types[name]
        return f"bf16[{', '.join(x + ('_' + split[x] if split[x] else '') for x in labels)}]"

    def declare(self, role, labels, split=None):
        name = f"{role[0]}{len(self.types)}"
        self.types[name] = labels, split or self.split(labels)
        self.lines.append(f"{role} {name}: {self.spelled(name)}")
        return name

    def make(self, right, labels, split, *used, typed=True):
        name = f"t{len(self.types)}"
        self.types[name] = labels, split
        self.lines.append(f"{name} = {right}" + (f" -> {self.spelled(name)}" if typed else ""))
        self.used |= {*used}

    def pick(self):
        """A tensor, more often one that was made last, so that some have several uses."""
        names = list(self.types)
        return self.random.choice(names[-2:] if self.random.random() < 0.6 else names)

    def product(self):
        a = self.pick()
        labels = self.types[a][0]
        summed = self.random.choice(labels)
        fresh = [x for x in LABELS if x not in labels]
        others = [summed, *self.random.sample(fresh, min(1, len(fresh)))]
        fitting = [n for n, (held, _) in self.types.items() if summed in held and n != a and len({*held, *labels}) < 4]
        if fitting and self.random.random() < 0.4:
            b = self.random.choice(fitting)
            others = self.types[b][0]
        else:
            b = self.declare(
                self.random.choice(("weight", "weight", "input", "cache")), self.random.sample(others, len(others))
            )
        result = [x for x in dict.fromkeys((*labels, *others)) if x != summed]
        if result:
            self.make(f"{a} * {b}", result, self.split(result), a, b)

    def function(self):
        a, name = self.pick(), self.random.choice(FUNCTIONS)
        labels, split = self.types[a]
        over = f", {self.random.choice(labels)}" if name == "softmax" else ""
        self.make(f"{name}({a}{over})", labels, split, a, typed=False)

    def added(self):
        a = self.pick()
        labels, split = self.types[a]
        b = next((n for n, t in self.types.items() if n != a and t == (labels, split)), None)
        if b is None:
            b = self.declare("weight", labels, split)
        self.make(f"{a} {self.random.choice('+*')} {b}", labels, split, a, b)

    def moved(self):
        a = self.pick()
        self.make(a, self.types[a][0], self.split(self.types[a][0]), a)

    def gained(self):
        """A norm with a gain."""
        a = self.pick()
        labels, split = self.types[a]
        g = self.declare("weight", labels[-1:], {labels[-1]: split[labels[-1]]})
        self.make(f"rms_norm({a}, {g})", labels, split, a, g, typed=False)

    def text(self):
        for _ in range(self.random.randint(1, 2)):
            self.declare("input", self.random.sample(LABELS, self.random.randint(1, 3)))
        for _ in range(self.random.randint(1, 5)):
            self.random.choice((self.product,) * 4 + (self.function, self.added, self.moved, self.gained))()
        dead = [n for n in self.types if n[0] != "t" and n not in self.used]
        lines = [line for line in self.lines if not any(f" {n}:" in line for n in dead)]
        return "\n".join((f"mesh {self.mesh}", *lines))


def random_splits(seed):
    return Splits(Random(seed)).text()
