"""A program on a page: its text, and its statements with what each of them costs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from symroof.derivation.pipeline import Derivation
from symroof.errors import CheckError, ReadingError
from symroof.formula import Formula, Name, Product, Quotient
from symroof.model.dtype import Tensor
from symroof.model.functions import FUNCTIONS, Function
from symroof.model.program import ROLES, Block, Fuse, Node, Program, Recompute, Repeat, Statement
from symroof.model.program_text import INDENT, spelled_backward, spelled_parts
from symroof.model.spelling import spelled_fact, spelled_factor, spelled_size
from symroof.model.statement_costs import of_statement
from symroof.proof.step import Reason, Step
from symroof.reading.programs import ProgramReader
from symroof.rendering.formulas.letters import OF_TENSOR
from symroof.rendering.pages.blocks import Code
from symroof.rendering.pages.pen import Sentences
from symroof.rendering.pages.terminal import GAP
from symroof.rendering.pages.terminal import fold as folded

# From so many statements with costs on there is a table of them.
MANY = 5


class Statements:
    """What the steps of a derivation say of the statements of a program, by their names."""

    def __init__(self, derivation: Derivation, program: Program) -> None:
        self.program = program
        lying = {line.statement.name for line in program.lines if line.statement.how}
        self.names = tuple(name for name, owner in program.owners.items() if name not in lying or owner.stores)
        self.right = {step.left: step.right for step in derivation.written if step.point is None}
        shares = ((step.left, step) for step in derivation.written if step.reason is Reason.EXCESS)
        self.passes = (Name("flops_forward"), Name("flops_backward"))
        self.makes_again = any(line.fuse is not None and line.fuse.again for line in program.lines)
        self.excess = {left.below: step for left, step in shares if isinstance(left, Quotient)}

    def named(self, name: str) -> Statement:
        return next(line.statement for line in self.program.lines if line.statement.name == name)

    def about(self, step: Step) -> Statement:
        """The statement that a step is about."""
        found = OF_TENSOR.fullmatch(step.left.name) if isinstance(step.left, Name) else None
        assert found is not None, step
        return self.named(found[2])

    def cost(self, what: str, name: str) -> Formula | None:
        """What a step says that a statement costs."""
        return self.right.get(Name(of_statement(what, name)))

    def intensity(self, name: str) -> Formula | None:
        return self.right.get(Quotient(*(Name(of_statement(what, name)) for what in ("flops", "bytes"))))

    def rounding(self, step: Step) -> Step | None:
        """By which part of itself the rounded count of a statement is too high."""
        return self.excess.get(Name(of_statement("flops", self.about(step).name)))

    def applied(self, name: str) -> str:
        """An elementwise statement without its name and its type: ``relu(h)``, ``x + o``."""
        return str(self.named(name)).partition(" = ")[2].partition(" -> ")[0]

    def applied_all(self, names: tuple[str, ...]) -> list[str]:
        return [self.applied(name) for name in names]

    def instead(self, step: Step) -> bool:
        """Whether what joins a statement is written instead of its result."""
        moves, name = step.facts, self.about(step).name
        return bool(moves.joined and moves.stored) and not moves.fused and name in moves.kept

    def for_each_parameter(self, flops: Formula) -> bool:
        """Whether FLOPs are so many for each parameter and row, and nothing beside."""
        return isinstance(flops, Product) and all(isinstance(factor, Name) for factor in flops.factors[1:])

    def leads(self, step: Step) -> bool:
        """Whether a sum over statements is the first one of its section that is shown."""
        first = "flops_forward" if self.program.training else "flops"
        return step.left in (Name(first), Name("bytes"))

    def is_backward(self, step: Step) -> bool:
        """Whether a step is about a statement of the backward pass, which its author did not write."""
        return self.program.owners[self.about(step).name].backward

    @property
    def many(self) -> bool:
        return len(self.names) >= MANY


def listing(program: Program, form: str, say: Sentences, width: int) -> Code:
    """The text of a program; on a terminal the declarations one after the other, and what is a weight or a cache.

    Raises :class:`~symroof.errors.CheckError` where the text is not that of the program.
    """
    written = str(program)
    require_read_back(written, program)
    if form == "text":
        lines = tuple(_short(program, say, width))
        whole = " ".join(" ".join(lines).split())
        body = [line for line in written.split("\n") if not line.startswith((*ROLES, "frozen ", "shared "))]
        if any(" ".join(line.split()) not in whole for line in body) or whole.count("{") != whole.count("}"):
            raise CheckError("the listing of the program leaves a line out")
    else:
        lines = (*written.split("\n"), *_backward(program, say))
    _require_all(" ".join(lines), program)
    return Code(lines)


def require_read_back(text: str, program: Program) -> None:
    """Raises :class:`~symroof.errors.CheckError` where the text of a program, read by the reader of programs, is another one."""
    every = (line.statement.function for line in program.forward)
    own = tuple((f.name, f) for f in every if f is not None and not f.lies)
    try:
        read = _read(text, own)
    except ReadingError:
        read = None
    if read != _shape(program):
        raise CheckError("the text of the program is that of another one")


@lru_cache(maxsize=32)
def _read(text: str, own: tuple[tuple[str, Function], ...]) -> Any:
    return _shape(ProgramReader(text, None, {**FUNCTIONS, **dict(own)}).program())


def _shape(program: Program) -> Any:
    """What a program says, whatever the order of the axes that split a size."""
    return (
        {axis.name: (axis.chips, axis.link, axis.wiring) for axis in program.mesh},
        [(one.head, _typed(one.tensor)) for one in program.declared],
        [_said(node) for node in program.body],
        (program.returned, {name: spelled_size(size) for name, size in program.where.items()}),
        [*map(spelled_fact, program.facts)],
    )


def _said(node: Node) -> Any:
    match node:
        case Statement(kind=kind, operands=operands, result=result, function=function):
            said = kind, function and function.name, node.over, _typed(result), tuple(map(_typed, operands))
            factor = () if node.factor is None else (spelled_factor(node.factor),)
            return (*said, *factor, *(() if node.mask is None else (str(node.mask),)))
        case Repeat(times=times, carried=carried, over=over):
            return spelled_size(times), carried, over, [*map(_said, node.body)]
        case Block(name=name):
            return name, [*map(_said, node.body)]
        case Recompute():
            return "recompute", [*map(_said, node.body)]
        case Fuse():
            return [*map(_said, node.body)]


def _typed(tensor: Tensor) -> Any:
    dims = [(dim.label, sorted("".join(dim.axes))) for dim in tensor.dims]
    return str(tensor.name), tensor.dtype.name, dims


def _require_all(text: str, program: Program) -> None:
    """Raises :class:`~symroof.errors.CheckError` where a tensor or a statement of a program is not in its listing."""
    text = f" {text}".replace("\N{NO-BREAK SPACE}", " ")
    arrays = [f" {d.tensor.name}: {d.tensor}" for d in program.declared]
    for wanted in (*arrays, *(f" {line.statement.name} = " for line in program.lines)):
        if wanted not in text:
            raise CheckError(f"the listing of the program leaves out{wanted}")


def _backward(program: Program, say: Sentences) -> Iterator[str]:
    """The statements of the backward pass, under a comment."""
    if program.training:
        yield f"# {say('backward_pass')}"
        yield from spelled_backward(program)


def _short(program: Program, say: Sentences, width: int) -> Iterator[str]:
    declared = [f"{d.tensor.name}: {d.tensor}".replace(" ", "\N{NO-BREAK SPACE}") for d in program.declared]
    for role in ("weight", "cache"):
        if names := [str(tensor.name) for tensor in program.declared_as(role)]:
            declared.append(say("declared", role, names).replace(" ", "\N{NO-BREAK SPACE}"))
    if program.frozen:
        declared.append(say("declared", "frozen", program.frozen).replace(" ", "\N{NO-BREAK SPACE}"))
    if program.shared:
        declared.append(say("declared", "shared", program.shared).replace(" ", "\N{NO-BREAK SPACE}"))
    before, behind = spelled_parts(program)
    yield from before
    yield from folded("    ".join(declared), width)
    for line in behind:
        margin = line[: len(line) - len(line.lstrip())]
        yield from (margin + part for part in folded(line.lstrip(), width - len(margin), INDENT + GAP))
    yield from _backward(program, say)
