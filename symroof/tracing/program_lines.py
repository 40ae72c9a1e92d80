"""The lines of a program that is written of a trace: statements of tensors by their numbers, which get their names at the end;
and the functions that an equation was made in: those of libraries by name and file, the user's own by what is said of them."""

from __future__ import annotations

import linecache
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from keyword import iskeyword

from symroof.formula import Frozen
from symroof.model.dtype import dtype
from symroof.model.functions import FUNCTIONS
from symroof.tracing.jaxprs import user_frame
from symroof.tracing.size_names import SizeNames
from symroof.tracing.traced import Array, Constant, Equation, Frame, Made, Numbers, TracingError

Label = str | None
ASSIGNED = re.compile(r"\s*([^\W\d]\w*)\s*(?::[^=]+)?=(?!=)")


class Value(Frozen):
    """A tensor of the program, and the label of each dimension of an array that is made of it."""

    tensor: int
    labels: tuple[Label, ...]

    @property
    def own(self) -> tuple[str, ...]:
        return tuple(label for label in self.labels if label is not None)


@dataclass
class Written:
    """A line of the program: ``result`` and what ``uses`` are tensors by their numbers; ``{}`` stands for each of them."""

    depth: int
    text: str
    uses: tuple[int, ...] = ()
    result: int | None = None
    comment: str = ""
    called: str = ""
    typed: bool = False
    masked: str = ""


@dataclass
class Lines:
    sizes: SizeNames
    known: Known
    roles: Mapping[str, str]
    declared: Mapping[str, tuple[str, tuple[str, ...]]]
    back: bool = False  # whether what is written is the transpose of what stands in its line
    returned: tuple[str, ...] = ()
    lines: list[Written] = field(default_factory=list)
    tensors: list[tuple[str, tuple[str, ...]]] = field(
        default_factory=list
    )  # the type and the labels of each, by number
    arguments: dict[int, str] = field(default_factory=dict)
    values: dict[int, Value | Constant] = field(default_factory=dict)
    alike: set[int] = field(default_factory=set)  # arguments that all turns have
    begun: set[int] = field(default_factory=set)  # what begins as a number and is carried
    depth: int = 0
    uses: Mapping[int, int] = field(default_factory=dict)  # how often each array is used
    cut: dict[tuple[int, str], list[tuple[Numbers, Numbers, Value]]] = field(
        default_factory=dict
    )  # parts, by what they are of

    def _declarations(self, used: Iterable[int]) -> list[str]:
        found = []
        for number, name in self.arguments.items():
            if number not in used:
                found.append(f"# {name} is not used")
                continue
            if number in self.begun:
                found.append(f"frozen input {name}: {self._type(number)}  # begins as numbers")
                continue
            role = self.roles.get(name, "input")
            shared = "shared " if number in self.alike and role != "input" else ""
            found.append(f"{shared}{role} {name}: {self._type(number)}")
        return found

    def _line(self, line: Written, names: Mapping[int, str]) -> str:
        text = line.text.format(*(names[t] for t in line.uses))
        left = "" if line.result is None else f"{names[line.result]} = "
        comment = f"  # {line.comment}" if line.comment else ""
        typed = f" -> {self._type(line.result)}" if line.typed and line.result is not None else ""
        return "  " * line.depth + left + text + typed + line.masked + comment

    def _type(self, tensor: int) -> str:
        """The type of a tensor as a program has it."""
        kind, labels = self.tensors[tensor]
        return f"{kind}[{', '.join(labels)}]"

    def _names(self) -> dict[int, str]:
        """A name for each tensor: that of an argument, of the variable that the last statement of its line is assigned to, or t1, t2."""
        names = dict(self.arguments)
        taken, made = (
            {*names.values(), *FUNCTIONS, "max", "min", "sum", "mean"},
            [line for line in self.lines if line.result is not None],
        )
        last = {(line.comment, line.called): line for line in made if line.called}
        count = 0
        for line in made:
            assert line.result is not None
            wanted = line.called if last.get((line.comment, line.called)) is line else ""
            name = wanted
            if not name or name in taken or not self.sizes.is_free(name):
                number = 1
                while name and (f"{name}{number}" in taken or not self.sizes.is_free(f"{name}{number}")):
                    number += 1
                name = f"{name}{number}" if name else ""
            while not name or name in taken:
                count += 1
                name = f"t{count}"
            names[line.result] = name
            taken.add(name)
        return names

    def _tensor(self, kind: str, labels: Sequence[str]) -> int:
        self.tensors.append((kind, tuple(labels)))
        return len(self.tensors) - 1

    def _say(
        self,
        right: str,
        uses: Sequence[Value],
        array: Array,
        labels: Sequence[Label],
        frames: Sequence[Frame],
        *,
        typed: bool = True,
    ) -> Value:
        """A statement, and the value that it makes."""
        own = [label for label in labels if label is not None]
        if any(label is None and {*n} != {1} for label, n in zip(labels, array.shape, strict=False)):
            shown = f"{user_frame(frames)}: what is repeated along a dimension has no name there"
            raise TracingError(shown, expected="a tensor that has the dimension, as in x + jnp.zeros((T, D))")
        kind = dtype(array.dtype).name
        typed = typed or (bool(uses) and self.tensors[uses[0].tensor][0] != kind)
        number = self._tensor(kind, own)
        frame = user_frame(frames)
        source = linecache.getline(frame.file, frame.line) if frame is not None else ""
        assigned = ASSIGNED.match(source)
        line = Written(
            self.depth,
            right,
            tuple(v.tensor for v in uses),
            number,
            str(frame or ""),
            assigned.group(1)
            if assigned
            and not {";", "lambda"} & {*re.findall(r"lambda|;", source)}
            and not self.back
            and not iskeyword(assigned.group(1))
            else "",
            typed,
        )
        self.lines.append(line)
        return Value(number, tuple(labels))

    def _braced(self, head: str, body: Callable[[], None]) -> None:
        place = len(self.lines)
        self.lines.append(Written(self.depth, f"{head} {{{{"))
        self.depth += 1
        body()
        self.depth -= 1
        if len(self.lines) == place + 1:
            self.lines.pop()
        else:
            self.lines.append(Written(self.depth, "}}"))

    def _read(self, operand: Array | Constant) -> Value | Constant:
        return self.values[operand.key] if isinstance(operand, Array) else operand

    def _aligned(self, left: Value, right: Value, frames: Sequence[Frame]) -> tuple[Value, Value]:
        """Two values with as many dimensions, the second with the labels of the first where a size has another name there."""
        most = max(len(left.labels), len(right.labels))
        left, right = (v if v.labels else replace(v, labels=(None,) * most) for v in (left, right))
        names = {b: a for a, b in zip(left.labels, right.labels, strict=True) if a and b and a != b}
        return left, self._renamed(right, names, frames)

    def _renamed(self, value: Value, names: Mapping[str, str], frames: Sequence[Frame]) -> Value:
        """The same tensor with other names for its sizes."""
        if not names:
            return value
        labels = tuple(names.get(x, x) if x is not None else None for x in value.labels)
        for label in (x for x in labels if x):
            if labels.count(label) > 1:
                raise TracingError(
                    f"{user_frame(frames)}: {label} is a size of a tensor twice", expected="names of their own"
                )
        kind, own = self.tensors[value.tensor]
        array = Array(-1, (), long_name(kind))
        said = self._say("{}", (value,), array, [names.get(x, x) for x in own], frames)
        return Value(said.tensor, labels)


def long_name(kind: str) -> str:
    """A type as arrays have it."""
    return {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32", "fp64": "float64"}.get(kind, kind)


# The files of libraries whose functions are known by their names, and the functions there.
LIBRARIES: Mapping[str, tuple[str, ...]] = {
    "jax/_src/nn/functions.py": ("relu", "sigmoid", "softplus", "silu", "gelu", "softmax")
}
# Functions that keep on the chip what they make on their way.
FUSED: Mapping[str, tuple[str, ...]] = {
    "jax/_src/nn/functions.py": ("dot_product_attention",),
    "<torch>/nn/functional.py": ("scaled_dot_product_attention",),
}


class Known(Frozen):
    """``functions`` are those of the user, FILE:NAME or NAME, with the function of the table that each is; ``fuses`` names of
    functions whose inside stays on the chip; ``opened`` names that are looked into."""

    functions: Mapping[str, str]
    fuses: tuple[str, ...] = ()
    opened: tuple[str, ...] = ()

    def function(self, frame: Frame) -> str | None:
        """The function of the table that a call is one of."""
        if frame.function in self.opened:
            return None
        for said, name in self.functions.items():
            file, _, function = said.rpartition(":")
            if function == frame.function and (not file or frame.file.endswith(file)):
                return name
        known = (
            frame.function for file, every in LIBRARIES.items() if frame.file.endswith(file) and frame.function in every
        )
        return next(known, None)

    def fuse(self, frame: Frame) -> str | None:
        """The name of a function whose inside stays on the chip, where a call is one."""
        if frame.function in self.opened:
            return None
        own = frame.function in self.fuses
        known = any(frame.file.endswith(file) and frame.function in every for file, every in FUSED.items())
        return frame.function if own or known else None


class Region(Frozen):
    """Equations that one call made. ``name`` is the function of the table that they are, None for what stays on the chip."""

    name: str | None
    function: str
    body: tuple[Made, ...]
    frames: tuple[Frame, ...]


def regions(body: Iterable[Made], known: Known) -> Iterator[Made | Region]:
    """The equations of a body, with those of one known call together: the outermost that is known."""
    found: list[Made] = []
    call: tuple[str | None, str, tuple[Frame, ...]] | None = None
    for made in body:
        here = _call(made, known)
        if here != call and found:
            yield _region(call, found)
            found = []
        call = here
        if here is None:
            yield made
        else:
            found.append(made)
    if found:
        yield _region(call, found)


def _region(call: tuple[str | None, str, tuple[Frame, ...]] | None, found: Sequence[Made]) -> Region:
    assert call is not None
    return Region(call[0], call[1], tuple(found), call[2])


def _call(made: Made, known: Known) -> tuple[str | None, str, tuple[Frame, ...]] | None:
    """The outermost known call that an equation was made in, and the frames from there outwards."""
    if not isinstance(made, Equation) or made.back:
        return None
    for i in reversed(range(len(made.frames))):
        frame, outside = made.frames[i], made.frames[i + 1 :]
        if known.fuse(frame):
            return None, frame.function, outside
        if (name := known.function(frame)) is not None:
            return name, frame.function, outside
    return None


def ends(region: Region, uses: Mapping[int, int]) -> tuple[list[Array], list[Array]]:
    """What goes into a region, in order, and what of it is used elsewhere: more often than in it. ``uses`` are those of all
    equations."""
    equations = [made for made in region.body if isinstance(made, Equation)]
    results = {result.key: result for equation in equations for result in equation.results}
    operands = [o for equation in equations for o in equation.operands if isinstance(o, Array)]
    inside = Counter(operand.key for operand in operands)
    taken = {operand.key: operand for operand in operands if operand.key not in results}
    return list(taken.values()), [result for key, result in results.items() if uses[key] > inside[key]]
