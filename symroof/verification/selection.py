"""Which formulas of a document are claims.

Prose is full of formulas that claim nothing: definitions, conditions, assumptions, sizes put in. A link is judged when
its names have values, or when its two sides stand on their own; every other one is skipped with a reason.
"""

from __future__ import annotations

import itertools
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache

from sympy import Expr

from symroof.algebra.rational import cancel, ratio, symbols_of
from symroof.errors import SymroofError
from symroof.formula import (
    Call,
    Compare,
    Formula,
    Gap,
    Group,
    Infinity,
    Name,
    Number,
    Power,
    Product,
    Quotient,
    names,
    nodes,
)
from symroof.model.quantities import QUANTITIES, TABLE
from symroof.proof.propositions import negated
from symroof.proof.quotients import ORDER
from symroof.reading.name_scope import is_opaque
from symroof.symbols import expression
from symroof.verification.context import Question
from symroof.verification.counterexamples import seen
from symroof.verification.intervals import bare, is_numeric
from symroof.verification.verdicts import Omission

# What a page writes for a quantity: C for the peak, W for the bandwidth.
LETTERS = {row.letter for row in TABLE.values() if row.letter is not None}
BOUNDS = ("T_lower", "T_upper")


@dataclass(frozen=True, slots=True)
class Skip:
    """Why a formula is not judged; ``defines`` is the name that it gives a meaning to."""

    reason: Omission
    defines: str | None = None


def skipped(question: Question, *, chained: bool = False) -> Skip | None:
    """Why a link is not judged, or None where it is.

    A link that is ``chained`` goes on from one before it: S = 2N = N + N asserts that its last two sides are the same.

    >>> from symroof.reading.latex import read_latex
    >>> from symroof.reading.latex_phrases import Dialect
    >>> from symroof.reading.name_scope import Scope
    >>> from symroof.verification.claim_context import Exercise, context_of
    >>> context, scope = context_of(Exercise()), Scope(open=True)
    >>> for text in ("\\\\frac{486}{2} = 243", "B > 240", "S = 2N", "\\\\frac{BDF}{DF} = B", "B \\\\ll D"):
    ...     link = read_latex(text, Dialect(scope))[0].propositions[0][0].links[0]
    ...     print((skip := skipped(context.question(link))) and skip.reason.kind)
    None
    condition
    definition
    None
    assumption
    """
    link, left, right, context = question.link, question.left, question.right, question.context
    if (reason := _without_value(question)) is not None:
        return Skip(reason)
    name = link.left.name if isinstance(link.left, Name) and link.relation == "=" else None
    grows = link.relation in ("<<", ">>") and not (is_numeric(left) and is_numeric(right))
    if grows or isinstance(bare(link.right), Infinity):
        return Skip(Omission("assumption"))
    if _applied(link) and not set(names(link.left)[:1]) & context.least_one:
        return Skip(Omission("function"))
    if link.relation == "->" and _changes(link) and not set(names(link.left)) & {*QUANTITIES, *context.definitions}:
        return Skip(Omission("operation"))
    if is_numeric(left) and is_numeric(right):
        sized = isinstance(link.left, Name) and link.left.name in context.sized
        return Skip(Omission("size")) if sized else None
    if link.relation in ORDER:
        return _condition(question)
    if name is not None and name in context.least_one:
        return Skip(Omission("size"))
    if name is not None and name not in context.definitions and name not in QUANTITIES:
        return Skip(Omission("definition"), name)
    spoken = {n for n in names(link) if n in QUANTITIES or n in context.definitions}
    return _quantities(question) if spoken else _own(question, chained)


def _changes(link: Compare) -> bool:
    """Whether an arrow leads from one size to another, h -> 4h or 768 -> 3072, and nothing tends to anything.

    >>> from symroof.reading.claims import read_claim
    >>> from symroof.reading.name_scope import Scope
    >>> texts = ("4h -> h", "768 -> 3072", "N/(N + 2) -> 1", "2^(-n) -> 0")
    >>> [_changes(read_claim(text, Scope(open=True)).links[0]) for text in texts]
    [True, True, False, False]
    """
    plain = all(isinstance(node, Name | Number | Product | Power) for node in nodes(link.left))
    return plain and not (isinstance(link.right, Number) and link.right.value == 0)


def _applied(link: Compare) -> bool:
    """Whether the left side may be a function of something: a name before brackets that stands nowhere as a factor.

    >>> from symroof.reading.claims import read_claim
    >>> from symroof.reading.name_scope import Scope
    >>> texts = ("f(N) = N + f(N)", "E (1 - k/E) = E - k")
    >>> [_applied(read_claim(text, Scope(open=True)).links[0]) for text in texts]
    [True, False]
    """
    if not isinstance(link.left, Product) or tuple(map(type, link.left.factors)) != (Name, Group):
        return False
    head = link.left.factors[0]
    parts = [node for side in (link.left, link.right) for node in nodes(side)]
    applied = [node for node in parts if isinstance(node, Product) and head in node.factors]
    calls = sum(isinstance(b, Group) and a == head for f in applied for a, b in itertools.pairwise(f.factors))
    return parts.count(head) <= calls


def _without_value(question: Question) -> Omission | None:
    """Why a link has a side of which nobody knows what it is: one that is not there or not read, words that nothing
    explains where the other side does not have them, or the derivative of something that is no formula of its variable."""
    link = question.link
    for side in (link.left, link.right):
        if isinstance(side, Gap):
            facts = {"problem": side.problem, "column": side.column}
            return Omission("unreadable", facts) if side.problem else Omission("no_left")
    words = [dict.fromkeys(filter(is_opaque, names(side))) for side in (question.left, question.right)]
    if words[0].keys() != words[1].keys() or (isinstance(link.left, Name) and is_opaque(link.left.name)):
        return Omission("words", {"name": next(iter({**words[0], **words[1]}))[1:-1]})
    counted = [[n for n in nodes(side) if isinstance(n, Number) and n.unit == "1"] for side in (link.left, link.right)]
    nouns = [{(number.digits or "").partition(" ")[2] for number in numbers} for numbers in counted]
    if nouns[0] and not nouns[0] & nouns[1] and (nouns[1] or isinstance(link.left, Number)):  # 1 layer = 16 heads
        return Omission("words", {"name": min(nouns[0])})
    for node in nodes(link):
        if isinstance(node, Call) and node.function == "diff" and len(node.arguments) == 2:
            body, variable = node.arguments
            if not set(names(variable)) & set(names(question.context.put(body))):
                return Omission("function")
    return None


def _condition(question: Question) -> Skip | None:
    """An order that bounds a letter, or is true for some sizes and false for others, claims nothing."""
    link, context, definitions = question.link, question.context, question.context.definitions
    pairs = ((link.left, question.right), (link.right, question.left))
    if any(isinstance(a, Name) and a.name not in definitions and is_numeric(b) for a, b in pairs):
        return Skip(Omission("condition"))
    values = seen(question.claim, context)
    decided = (False not in values and context.settled(question.claim).truth) or (
        True not in values and context.settled(negated(question.claim)).truth
    )
    return None if decided else Skip(Omission("condition"))


def _quantities(question: Question) -> Skip | None:
    """A link with quantities: judged where an operation or a model gives them values, or where it holds whatever they are."""
    link, used = question.link, {*names(question.left), *names(question.right)}
    without = [n for n in (*names(question.left), *names(question.right)) if n in QUANTITIES]
    if question.context.setting is not None:
        return _of_operation(question, used)
    if not without:
        left, right = set(names(question.left)), set(names(question.right))
        apart = link.relation == "=" and not (left <= right or right <= left)  # with letters that are not explained
        apart = apart or (link.relation == "=" and _puts_in(left, right))
        return Skip(Omission("other_letters")) if apart and not _alike(question) else _of_operation(question, used)
    name = link.left.name if isinstance(link.left, Name) else None
    if name in BOUNDS and set(names(link)) <= set(QUANTITIES):
        return None
    if used <= set(QUANTITIES) and _alike(question):
        return None
    defines = name is not None and link.relation == "="
    return Skip(Omission("definition"), name) if defines else Skip(Omission("no_meaning", {"name": without[0]}))


def _puts_in(left: set[str], right: set[str]) -> bool:
    """Whether sides differ in the letters of figures alone, as 2BDF/C does from what the peak makes of it."""
    return left != right and left ^ right <= LETTERS


def _of_operation(question: Question, used: set[str]) -> Skip | None:
    """Quantities with values: a number for one that depends on sizes, or two of them set equal, is true at some sizes."""
    link, equal = question.link, question.link.relation == "="
    if used & {"peak", "bandwidth"} and not _alike(question):
        return Skip(Omission("no_chip"))
    if not equal and link.relation != "~":
        return None
    if _depends(question.left) != _depends(question.right):
        return Skip(Omission("at_sizes"))
    defined = names(link.left) and names(link.right) and set(names(link)) <= set(question.context.definitions)
    if not defined or _alike(question) or (equal and _never_equal(question)):
        return None
    times = isinstance(link.left, Name) and link.left.name in BOUNDS and equal
    own = set(names(link.right)) - set(QUANTITIES)
    if times and own and question.context.setting is None and all(name.startswith("T_") for name in own):
        return Skip(Omission("definition"), names(link.left)[0])  # over the resources of a program that nobody gave
    return None if times and not isinstance(link.right, Name) else Skip(Omission("equation"))


@lru_cache(maxsize=1024)
def reduced(formula: Formula) -> Expr:
    """The value of a formula, with what cancels gone."""
    value = expression(formula)
    return cancel(value) if value.is_rational_function() else value


def _depends(formula: Formula) -> bool:
    """Whether the value of a side depends on any size."""
    try:
        return bool(reduced(formula).free_symbols)
    except SymroofError:
        return bool(names(formula))


def _alike(question: Question) -> bool:
    same = Compare(question.left, "=", question.right)
    return False not in seen(same, question.context) and bool(question.context.settled(same).truth)


def _never_equal(question: Question) -> bool:
    """Whether one side is above the other on the whole domain, or their difference has no root."""
    with suppress(SymroofError):
        above, _ = cancel(expression(question.left) - expression(question.right)).as_numer_denom()
        if above.is_Rational and above != 0:
            return True
    orders = (Compare(question.left, sign, question.right) for sign in "<>")
    return any(False not in seen(order, question.context) and question.context.settled(order).truth for order in orders)


def _reduces(question: Question) -> bool:
    """Whether the left side is a fraction with a letter that cancels, and the right side has no letters but its own."""
    fraction, left, right = question.left, set(names(question.left)), set(names(question.right))
    if not isinstance(fraction, Quotient) or not right or not right <= left:
        return False
    with suppress(SymroofError):
        parts = [expression(part) for part in (fraction.above, fraction.below)]
        return any(all(part.subs(s, 0) == 0 for part in parts) for s in parts[0].free_symbols)
    return False


def _own(question: Question, chained: bool) -> Skip | None:
    """Two sides in letters alone: an identity, or an approximation that drops letters.

    An equation between different letters may be one to be solved, or a definition; within a chain it is an identity as
    soon as the letters of one side are among those of the other. An equation that stands alone and is true for some
    sizes and false for others is one to be solved, unless its left side is a fraction that can be reduced: that is what
    the right side does, 2BD/(4D) = B/2.
    """
    try:
        a, b = reduced(question.left), reduced(question.right)
    except SymroofError as error:
        return Skip(Omission.unreadable(error))
    left, right, approximate = a.free_symbols, b.free_symbols, question.link.relation == "~"
    if not left and not right:  # BF/(6BF) = 1/3
        return None
    if not left or (approximate and not right):
        return Skip(Omission("equation"))
    if question.link.relation == "=":
        within = right and (left <= right or right <= left)
        of_sizes = {s.name for s in left | right} <= question.context.least_one
        reduces = _reduces(question)
        figures = _puts_in({x.name for x in left}, {x.name for x in right}) and not _alike(question)
        if figures or (left != right and not reduces and not (within and (chained or of_sizes))):
            return Skip(Omission("other_letters"))
        judged = chained or reduces or _alike(question) or _never_equal(question)
        return None if judged else Skip(Omission("equation"))
    if not right <= left:
        return Skip(Omission("letters_added"))
    return Skip(Omission("letters_alone")) if right and any(_is_factor(s, a) for s in left - right) else None


def _is_factor(symbol: Expr, value: Expr) -> bool:
    """Whether a value is a power of a symbol times something without it."""
    if not value.is_rational_function():
        return False
    symbols = symbols_of(value)
    place = symbols.index(symbol)
    return all(len({exponents[place] for exponents in part}) == 1 for part in ratio(value, symbols))
