"""Sizes of a program: those that others define, the places of windows, what is known of them, and the tokens that its weights meet.

Windows slide over dimensions: the dimensions of their places, then those of the filter, which slides over as many.

    windows(x) -> bf16[N, P, Q, R, S, C]    R by S taps around each place of P by Q
    windows(x) -> bf16[N, U, V, R, S, C]    the same at every s-th place, where P = s*U and Q = s*V
    windows(x) -> bf16[N, U, V, C]          every s-th place alone, of which no more are read

The places before the taps are those that these slide over. Zeros around fill up what a window lacks, so that there are
P/s places; where P = s*(U - 1) + R no window lacks anything. What stands in the zeros counts as work. A filter reaches
at least to the next window, so that all of x is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction

from sympy import Expr, Mul, ceiling

from symroof.errors import ModelError
from symroof.formula import Compare, Formula, Frozen, Name, mapped, names
from symroof.model.functions import Function
from symroof.model.program import Program
from symroof.model.program_tree import Line, Statement, label_size, turns_of
from symroof.model.tensor_types import Dim, Tensor, spelled_fact, spelled_size
from symroof.symbols import expression, rational, symbol


def _require_touching_windows(program: Program, point: Mapping[Expr, Expr]) -> None:
    """Windows leave out no place between them."""
    for slide in (slide for line in program.forward for slide in sliding_dimensions(line.statement) if slide.taps):
        stride, taps = stride_of(program, slide), program.resolved(label_size(slide.taps)).subs(point)
        if stride is not None and taps.is_Rational and taps < stride:
            shown = f"{slide.taps} = {taps} taps at every {stride}th place of {slide.whole} leave places out"
            raise ModelError(shown, expected="a filter that reaches to the next window, or windows without taps")


def require_dimensions(program: Program, values: Mapping[str, Fraction]) -> None:
    """A dimension that other sizes define is at least 1, as all dimensions are, and of places that windows slide over a
    whole number: refused where these make it less, or none."""
    _require_facts(program, values)
    dimensions, places = _dimensions(program), _places(program)
    point = {symbol(name): rational(value) for name, value in values.items()}
    _require_touching_windows(program, point)
    for name in program.where.keys() & dimensions:
        value = program.definitions[symbol(name)]
        number = value.subs(point)
        if number.is_Rational and number.q > 1 and name in places:
            sizes = ", ".join(f"{n} = {v}" for n, v in values.items() if value.has(symbol(n)))
            shown = f"at {sizes} there would be {number} places of {name} = {str(value).replace('**', '^')}"
            raise ModelError(shown, expected="a whole number of them")
        if not number.is_Rational or number >= 1:
            continue
        larger = [(x, ceiling(size / number)) for x, size in point.items() if value.has(x)]
        larger.sort(key=lambda pair: pair[0].name != "B")  # a batch is what people turn
        cure = next((f", as with {x} = {n}" for x, n in larger if value.subs({**point, x: n}) >= 1), "")
        sizes = ", ".join(f"{n} = {v}" for n, v in values.items() if value.has(symbol(n)))
        shown = f"at {sizes} a tensor would have {number} of {name} = {str(value).replace('**', '^')}"
        raise ModelError(shown, expected=f"{name} of at least 1{cure}", hint=_hint_of_excess(value, point))


def _hint_of_excess(value: Expr, point: Mapping[Expr, Expr]) -> str | None:
    """How many are reached of what a size is shared out over, where these are more than there is to share out."""
    above, below = value.as_numer_denom()
    number = above.subs(point)
    if not below.is_Symbol or not number.is_Integer or number < 1:
        return None
    return f"no more than min({below}, {str(above).replace('**', '^')}) of {below} are reached: {below} = {number}"


def nonnegative_terms(program: Program) -> Iterator[Expr]:
    """What is not below zero at sizes that :func:`require_dimensions` takes: what facts leave between their sides, what
    a dimension has beyond 1, and taps beyond the stride of their window."""
    for fact in known_of_sizes(program):
        more = expression(fact.right) - expression(fact.left)
        yield more if fact.relation == "<=" else -more
    yield from (program.definitions[symbol(name)] - 1 for name in program.where.keys() & _dimensions(program))
    for slide in (slide for line in program.forward for slide in sliding_dimensions(line.statement) if slide.taps):
        if (stride := stride_of(program, slide)) is not None:
            yield program.resolved(label_size(slide.taps)) - stride


def whole_number_terms(program: Program) -> Iterator[Expr]:
    """What is a whole number there: places that windows slide over."""
    yield from (program.definitions[symbol(name)] for name in program.where.keys() & _places(program))


def _dimensions(program: Program) -> set[str]:
    return {dim.label for tensor in program.written.values() for dim in tensor.dims}


def _places(program: Program) -> set[str]:
    slides = (slide for line in program.forward for slide in sliding_dimensions(line.statement))
    return {label for slide in slides for label in (slide.whole, slide.places)}


def _require_facts(program: Program, values: Mapping[str, Fraction]) -> None:
    """What is known of sizes holds at these, as far as they say it: else another case would be theirs."""
    point = {symbol(name): rational(value) for name, value in values.items()}
    for fact in known_of_sizes(program):
        left, right = (expression(side).subs(point) for side in (fact.left, fact.right))
        holds = left <= right if fact.relation == "<=" else left >= right
        if left.is_Rational and right.is_Rational and not holds:
            sizes = ", ".join(f"{n} = {v}" for n, v in values.items() if n in names(fact))
            shown = f"the sizes that are put in contradict {spelled_fact(fact)}: {sizes}"
            raise ModelError(shown, expected="sizes of this case, or a program of the other")


def known_of_sizes(program: Program) -> tuple[Compare, ...]:
    """What is known of the sizes of a program, in those that nothing defines.

    >>> from symroof.model.tensor_types import spelled_fact
    >>> from symroof.reading.programs import read_program
    >>> text = "input x: bf16[B, D]; weight W: bf16[D, c]; where c = 2*k, c <= D; y = x * W -> bf16[B, c]"
    >>> [spelled_fact(one) for one in known_of_sizes(read_program(text))]
    ['2*k <= D']
    """
    where = dict[str, Formula]()

    def substitute(node: Formula) -> Formula:
        return where.get(node.name, node) if isinstance(node, Name) else node

    for name, formula in program.where.items():
        where[name] = mapped(formula, substitute)
    return tuple(
        Compare(mapped(fact.left, substitute), fact.relation, mapped(fact.right, substitute)) for fact in program.facts
    )


def tokens_of(program: Program) -> Expr | None:
    """How often each parameter is multiplied: the product of the dimensions that no weight has and every contraction with a
    weight has, or is a turn of that goes along them, in all microbatches; None where there are none.

    >>> from symroof.reading.programs import read_program
    >>> tokens_of(read_program("input x: bf16[B, T, D]; weight W: bf16[D, F]; y = x * W -> bf16[B, T, F]"))
    B*T
    """
    weighed = [dict.fromkeys(_met(program, line)) for line in _weighing(program)]
    weight_dimensions = _held(program)
    shared = [n for n in (weighed or [{}])[0] if n not in weight_dimensions and all(n in labels for labels in weighed)]
    batches = {tuple(r for r in line.repeats if r.accumulates) for line in _weighing(program)}
    if not shared or len(batches) != 1:
        return None
    return program.resolved(turns_of(batches.pop()) * Mul(*(Dim(label).size for label in shared)))


def served_tokens(program: Program) -> Expr | None:
    """The tokens that are worked on: the same, where every weight meets all of them. Rows that are shared out among weights,
    as among experts, or that are more for some weights than for others, do not tell how many tokens there are, and pixels are
    none.

    >>> from symroof.reading.programs import read_program
    >>> served_tokens(read_program("input x: bf16[E, C, D]; weight W: bf16[E, D, F]; y = x * W -> bf16[E, C, F]")) is None
    True
    """
    weighed, weight_dimensions = _weighing(program), _held(program)
    rows = {frozenset(_met(program, line)) - weight_dimensions for line in weighed}
    every = ((*line.statement.operands, line.statement.result) for line in weighed)
    shared_out = any(set.intersection(*(set(t.labels) for t in tensors)) for tensors in every)
    functions = (line.statement.function for line in program.forward)
    pixels = any(function is not None and function.name == WINDOWS for function in functions)
    return None if pixels or shared_out or len(rows) != 1 else tokens_of(program)


def _held(program: Program) -> set[str]:
    """The dimensions of weights."""
    return {*_own(program, program.declared_as("weight"))}


def _met(program: Program, line: Line) -> Iterator[str]:
    """The dimensions that a contraction goes through, and those that its turns go along."""
    along = [spelled_size(repeat.times) for repeat in line.repeats if repeat.scans]
    yield from _defining_names(program, (*(x for tensor in line.statement.operands for x in tensor.labels), *along))


def _own(program: Program, tensors: Iterable[Tensor]) -> Iterator[str]:
    """The dimensions of tensors."""
    return _defining_names(program, (label for tensor in tensors for label in tensor.labels))


def _defining_names(program: Program, labels: Iterable[str]) -> Iterator[str]:
    """Dimensions, one that is only another name of a size under the name of that: where S = T."""
    for label in labels:
        size = program.definitions.get(symbol(label)) if label in program.where else None
        yield size.name if size is not None and size.is_Symbol else label


def _weighing(program: Program) -> list[Line]:
    """The contractions with a weight."""
    weights = {*program.declared_as("weight")}
    contracting = (line for line in program.forward if line.statement.contracts)
    return [line for line in contracting if any(tensor in weights for tensor in line.statement.operands)]


WINDOWS = "windows"
# The widest stride that is looked for.
WIDEST = 64


class Slide(Frozen):
    """One dimension that windows slide over: what the operand has, what the result has of it, and the taps, if there
    are any."""

    whole: str
    places: str
    taps: str = ""

    @property
    def strided(self) -> bool:
        return self.whole != self.places


def slides_of(operand: tuple[str, ...], result: tuple[str, ...]) -> tuple[Slide, ...] | None:
    """The dimensions that windows slide over, told by the order of those of the result; None where it has too few of
    them.

    >>> [(s.whole, s.places, s.taps) for s in slides_of(("N", "P", "Q", "C"), ("N", "U", "Q", "R", "S", "C"))]
    [('P', 'U', 'R'), ('Q', 'Q', 'S')]
    """
    new, lost = [x for x in result if x not in operand], [x for x in operand if x not in result]
    if len(new) < len(lost):
        return None
    places, taps = new[: len(lost)], new[len(lost) :]
    origins = dict(zip(places, lost, strict=True))
    if not taps:
        return tuple(Slide(origins[place], place) for place in places)
    before = result[: result.index(taps[0])][-len(taps) :]
    if len(before) < len(taps) or not {*places} <= {*before}:
        return None
    return tuple(Slide(origins.get(place, place), place, tap) for place, tap in zip(before, taps, strict=True))


def takes_strides(function: Function, operand: Tensor, result: Tensor) -> bool:
    """Whether a function takes every few places of a tensor, without a filter: of it no others are read."""
    slides = slides_of(operand.labels, result.labels) if function.name == WINDOWS else None
    return bool(slides) and not any(slide.taps for slide in slides or ())


def stride_of(program: Program, slide: Slide) -> int | None:
    """Every how many places there is a window, as the sizes say; None where they do not."""
    whole, places = (program.resolved(label_size(label)) for label in (slide.whole, slide.places))
    taps = program.resolved(label_size(slide.taps or "1"))
    rests = ((s, rest) for s in range(1, WIDEST + 1) for rest in (whole - s * places, whole - s * (places - 1) - taps))
    return next((s for s, rest in rests if rest.expand() == 0), None)


def sliding_dimensions(statement: Statement) -> tuple[Slide, ...]:
    """The dimensions that a statement slides over."""
    if statement.function is None or statement.function.name != WINDOWS:
        return ()
    return slides_of(statement.operands[0].labels, statement.result.labels) or ()


def require_whole_places(line: Line) -> None:
    """Raises :class:`~symroof.errors.ModelError` where chips share out places: windows at the border reach over to the
    next chip."""
    slides = sliding_dimensions(line.statement)
    over = {label for slide in slides for label in (slide.whole, slide.places, slide.taps)}
    for tensor in (*line.statement.operands, line.statement.result):
        cut = next((dim for dim in tensor.dims if dim.label in over and dim.axes), None)
        if cut is not None and slides:
            raise ModelError(
                f"{cut} is split, and the windows of {line.statement.name} reach over to the next chip",
                expected=f"{cut.label} whole on every chip",
                hint="split the images, the channels or the filters",
            )
