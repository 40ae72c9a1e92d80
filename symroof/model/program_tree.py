"""The tree of a program: declared tensors, statements, and the fuses, repeats and blocks around them.

A statement is a product (what the result lacks is contracted), a sum, a function of the table, or an exchange: the same
tensor, split otherwise over the chips of a mesh. A fuse keeps what is
made and used only inside it on the chip, a repeat runs its body several times, each turn with weights and caches of its
own, and the statements of a block overlap as one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property

from sympy import Expr, Integer, Mul

from symroof.formula import Formula, Frozen
from symroof.model.einsum import Einsum
from symroof.model.functions import APPENDED, COLLECTED, CUT, JOINED, PLACED, VIEWED, Function
from symroof.model.tensor_types import Tensor, spelled_factor
from symroof.symbols import expression, symbol

ROLES = ("input", "weight", "cache")
PRODUCT, SUM, DIFFERENCE, MAXIMUM, EXCHANGE = "*", "+", "-", "max", "->"
# What stands for the farthest chip.
CORNER = "corner"
# What stands for an axis of one chip, along which nothing goes.
ONE_CHIP = "1"


class Declared(Frozen):
    """A tensor that comes from outside: its role says what it is for. A ``frozen`` one is not trained: it has no gradient. A
    ``shared`` one is the same in all turns of the repeats around what uses it, as an input is."""

    role: str
    tensor: Tensor
    frozen: bool = False
    shared: bool = False

    @property
    def head(self) -> str:
        """How its declaration begins: weight, frozen weight, shared weight."""
        return " ".join((*(("frozen",) if self.frozen else ()), *(("shared",) if self.shared else ()), self.role))

    @property
    def alike(self) -> bool:
        """Whether it is one tensor for all turns."""
        return self.shared or self.role == "input"


def label_size(label: str) -> Expr:
    """The size of a dimension."""
    return Integer(int(label)) if label.isdigit() else symbol(label)


class Mask(Frozen):
    """Which pairs of two dimensions are there: row t (from 1) of ``rows`` meets the first S - T + t of ``columns``, the last row
    all of them; ``from_first`` it meets the first t. There are at least as many columns as rows. With a ``window`` a row meets
    the last W of these at most: the ``span`` says whether all rows meet as many (``even``), or none meets fewer for it
    (``whole``), which is decided when a program is read."""

    rows: str
    columns: str
    from_first: bool = False
    window: str = ""
    span: str = ""

    @property
    def labels(self) -> frozenset[str]:
        return frozenset((self.rows, self.columns))

    @property
    def pairs(self) -> Expr:
        """How many there are: TS - T(T - 1)/2, or T(T + 1)/2; in a window TW, or where the first rows meet fewer TW - m(m - 1)/2
        with m = W - S + T.

        >>> Mask("T", "S").pairs, Mask("T", "S", True).pairs
        (S*T - T*(T - 1)/2, T*(T + 1)/2)
        >>> Mask("T", "S", window="W", span="even").pairs
        T*W
        """
        rows, columns = label_size(self.rows), label_size(self.columns)
        if self.window and self.span != "whole":
            window = label_size(self.window)
            fewer = window - columns + rows
            return rows * window - (Integer(0) if self.span == "even" else fewer * (fewer - 1) / 2)
        return rows * (rows + 1) / 2 if self.from_first else rows * columns - rows * (rows - 1) / 2

    @property
    def reached(self) -> Expr:
        """How many columns some row meets."""
        rows = label_size(self.rows)
        if self.span == "even":
            return rows + label_size(self.window) - 1
        return rows if self.from_first else label_size(self.columns)

    def __str__(self) -> str:
        ends = " from the first" if self.from_first else f", window {self.window}" if self.window else ""
        return f"masked {self.columns} <= {self.rows}{ends}"


class Adjoint(Frozen):
    """What a statement of the backward pass is for: it is the gradient ``of`` a tensor, or a part of it; it undoes a ``statement``,
    for the operand at a ``place``, or adds up what several gave; one that ``accumulates``, over the turns of all microbatches."""

    of: str = ""
    statement: str = ""
    place: int = 0
    accumulates: bool = False


class Statement(Frozen):
    """``result = operands[0] * operands[1] …``, a sum of them, or a function of them, ``over`` a dimension for rows.

    Of one operand a sum, or a maximum, is taken over what the result lacks; a difference is that with its sign turned; an
    exchange is the operand, split as the result is. A function may be the product with a ``factor``, numbers and sizes. One of
    the backward pass may make what another made ``again``. One that ``sends`` gives what each chip has to another chip,
    as it is: by the name of the collective, along an axis, or to the farthest chip where none is said.
    """

    kind: str
    operands: tuple[Tensor, ...]
    result: Tensor
    function: Function | None = None
    over: str | None = None
    undone: Adjoint | None = None
    mask: Mask | None = None
    again: str = ""
    factor: Formula | None = None
    sends: tuple[str, str] | None = None

    @property
    def name(self) -> str:
        return str(self.result.name)

    @cached_property
    def product(self) -> Einsum | None:
        """The product that the statement is, None for sums and functions."""
        return Einsum(self.operands, self.result) if self.kind == PRODUCT else None

    @property
    def how(self) -> str:
        """How what it makes lies where its operands do, split as they are; empty where it does not."""
        return "" if self.function is None else self.function.lies

    @property
    def views(self) -> bool:
        """Whether it is its operand in other dimensions."""
        return self.how == VIEWED

    @property
    def cuts(self) -> bool:
        """Whether it is a part of its operand."""
        return self.how == CUT

    @property
    def cut(self) -> str:
        """The dimension of its operand that a slice is a part of."""
        return next(label for label in self.operands[0].labels if label not in self.result.labels)

    @property
    def grown(self) -> str:
        """The dimension along which a cache has entries appended."""
        return next(label for label in self.operands[0].labels if label not in self.operands[1].labels)

    @property
    def joins(self) -> bool:
        """Whether it is its operands behind one another."""
        return self.how == JOINED

    @property
    def appends(self) -> bool:
        """Whether it is a cache with entries written into it."""
        return self.how == APPENDED

    @property
    def placed(self) -> bool:
        """Whether it is what its operand has at the place of this turn."""
        return self.how == PLACED

    @property
    def collects(self) -> bool:
        """Whether it is what all turns have made of its operand, each at its place."""
        return self.how == COLLECTED

    @property
    def along(self) -> str:
        """The dimension that has a place for each turn."""
        whole, part = self.operands[0].labels, self.result.labels
        whole, part = (part, whole) if self.collects else (whole, part)
        return next(label for label in whole if label not in part)

    @property
    def is_operand(self) -> bool:
        """Whether it is its first operand: in other dimensions, or with entries written into it."""
        return self.views or self.appends

    @property
    def lies(self) -> bool:
        """Whether what it makes lies in memory where its operands do: the same split otherwise, in other dimensions, parts."""
        return self.kind == EXCHANGE or bool(self.how)

    @property
    def reduces(self) -> bool:
        """Whether it adds up, or compares, the elements of a single operand: one operation less for each of its result."""
        return self.kind in (SUM, MAXIMUM) and len(self.operands) == 1

    @cached_property
    def contracts(self) -> bool:
        return self.product is not None and bool(self.product.contracted)

    @property
    def read(self) -> tuple[Tensor, ...]:
        """The operands as they are read: of a table that rows are looked up in, as much as the result is."""
        if self.function is None or not self.function.gathers:
            return self.operands
        return (replace(self.operands[0], dims=self.result.dims), *self.operands[1:])

    @property
    def _right(self) -> str:
        """What stands behind the equals sign, before its type."""
        names = [str(tensor.name) for tensor in self.operands]
        if self.views:
            return names[0]
        if self.cuts and self.undone is None:
            size = next((label for label in self.result.labels if label not in self.operands[0].labels), "1")
            return f"slice({names[0]}, {self.cut}, {size})"
        if (self.placed or self.collects) and self.undone is None:
            return f"{self.how}({names[0]}, {self.along})"
        if self.appends:
            return f"append({', '.join(names)}, {self.grown})"
        if self.factor is not None:
            return f"{names[0]} {spelled_factor(self.factor)}"
        if self.function is not None:
            over = (self.over,) if self.over is not None and self.over != self.operands[0].labels[-1] else ()
            return f"{self.function.name}({', '.join((*names, *over))})"
        if self.kind == EXCHANGE:
            return names[0] if self.sends is None else f"send({names[0]}, {self.sends[1] or CORNER})"
        if len(names) == 1:
            return {SUM: "sum({})", MAXIMUM: "max({})"}.get(self.kind, "-{}").format(names[0])
        return f" {self.kind} ".join(names)

    def __str__(self) -> str:
        typed = (
            (self.kind in (PRODUCT, EXCHANGE) and self.sends is None)
            or self.views
            or self.result.dims != self.operands[0].dims
            or self.result.dtype != self.operands[0].dtype
        )
        masked = "" if self.mask is None else f" {self.mask}"
        return f"{self.name} = {self._right}" + (f" -> {self.result}" if typed else "") + masked


class Fuse(Frozen):
    """``undoes`` is the fuse whose backward pass it is: ``again`` are statements of that whose results it needs and makes once
    more on the chip, uncounted."""

    body: tuple[Node, ...]
    again: tuple[Statement, ...] = ()
    undoes: Fuse | None = None

    @property
    def contracts(self) -> bool:
        """Whether it keeps on the chip what a contraction makes, or what turns hand on: one of elementwise statements
        alone changes nothing. The backward pass of one that does is one kernel, whatever stands in it."""
        ahead = self.undoes is not None and self.undoes.contracts
        return ahead or any(isinstance(s, Repeat) or (isinstance(s, Statement) and s.contracts) for s in self.body)

    @property
    def masks(self) -> tuple[Mask, ...]:
        """Those of its products: what they leave out no statement of it works on, and none of its backward pass."""
        ahead = () if self.undoes is None else self.undoes.masks
        own = (s.mask for s in statements_in(self.body) if s.mask is not None)
        return tuple(dict.fromkeys((*ahead, *own)))


class Block(Frozen):
    name: str
    body: tuple[Node, ...]


class Recompute(Frozen):
    """What is made once more in the backward pass, of what comes from outside: of all else nothing is kept."""

    body: tuple[Node, ...]


class Repeat(Frozen):
    """The body, several times. Of what is ``carried``, each a name of what enters a turn and one of what leaves it, what leaves one
    turn enters the next. ``reverses`` is the repeat whose turns the backward pass goes through from the last to the first.

    Where nothing is carried it ``accumulates``: every turn has inputs of its own and the weights of all turns, the
    backward pass of a turn follows on it, and gradients are added up over the turns. The turns may be shared out
    ``over`` an axis of a mesh, to each chip as many that follow one another. One that ``scans`` has the same weights
    in all turns.
    """

    times: Formula
    carried: tuple[tuple[str, str], ...]
    body: tuple[Node, ...]
    reverses: Repeat | None = None
    over: str = ""
    scans: bool = False

    @property
    def accumulates(self) -> bool:
        return not self.carried

    @property
    def enters(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.carried)

    @property
    def leaves(self) -> tuple[str, ...]:
        return tuple(name for _, name in self.carried)


Node = Statement | Fuse | Block | Repeat | Recompute


class Line(Frozen):
    """A statement with what stands around it: the repeats from outside in, the fuse and the block, None outside of both;
    and whether it belongs to the backward pass, or is ``recomputed`` for it. Turns in a fuse are gone through ``on_chip``."""

    statement: Statement
    repeats: tuple[Repeat, ...]
    fuse: Fuse | None
    block: str | None
    backward: bool = False
    on_chip: tuple[Repeat, ...] = ()
    recomputed: bool = False

    @property
    def launched(self) -> tuple[Repeat, ...]:
        """The repeats in each turn of which its kernel is run."""
        return self.repeats[: len(self.repeats) - len(self.on_chip)]

    @property
    def mask(self) -> Mask | None:
        """What leaves out pairs of the dimensions that the statement works on, inside a fuse."""
        labels = {label for tensor in (*self.statement.operands, self.statement.result) for label in tensor.labels}
        masks = () if self.fuse is None or self.statement.lies else self.fuse.masks
        return next((mask for mask in masks if mask.labels <= labels), None)

    def worked(self, labels: Iterable[str]) -> Expr:
        """The part that is worked on of what has these dimensions: all of it, but where a mask leaves out pairs of them, or
        columns that no row meets."""
        mask, result = self.mask, {*labels}
        if mask is None or mask.columns not in result:
            return Integer(1)
        if mask.rows in result:
            return mask.pairs / (label_size(mask.rows) * label_size(mask.columns))
        return mask.reached / label_size(mask.columns)


def weights_of(repeats: tuple[Repeat, ...]) -> tuple[Repeat, ...]:
    """The repeats each turn of which has weights of its own."""
    return tuple(repeat for repeat in repeats if not (repeat.accumulates or repeat.scans))


def separate_repeats(repeats: tuple[Repeat, ...]) -> tuple[Repeat, ...]:
    """The repeats of which what each turn makes is kept beside that of the others."""
    return tuple(repeat for repeat in repeats if not repeat.accumulates)


def turns_of(repeats: Iterable[Repeat]) -> Expr:
    """How often what stands in these repeats is run."""
    return Mul(*(expression(repeat.times) for repeat in repeats))


def lines_of(
    body: tuple[Node, ...],
    repeats: tuple[Repeat, ...] = (),
    fuse: Fuse | None = None,
    block: str | None = None,
    on_chip: tuple[Repeat, ...] = (),
) -> Iterator[Line]:
    for node in body:
        match node:
            case Statement():
                yield Line(node, repeats, fuse, block, on_chip=on_chip)
            case Fuse():
                yield from lines_of(node.body, repeats, node, block)
            case Repeat():
                inside = () if fuse is None else (*on_chip, node)
                yield from lines_of(node.body, (*repeats, node), fuse, block, inside)
            case Block():
                yield from lines_of(node.body, repeats, fuse, node.name, on_chip)
            case Recompute():
                inner = lines_of(node.body, repeats, fuse, block, on_chip)
                yield from (replace(line, recomputed=True) for line in inner)


def statements_in(nodes: tuple[Node, ...]) -> Iterator[Statement]:
    for node in nodes:
        if isinstance(node, Statement):
            yield node
        else:
            yield from statements_in(node.body)
