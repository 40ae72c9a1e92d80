"""Least maxima and least sums, decided again: the parts are powers of the variable with positive coefficients, so they are
straight lines in its logarithm, and what is least is told by slopes.

A maximum is least where a rising part equals a falling one and no other is above them. A sum of a x**p and b x**-q is at
least (a x**p/v)**v (b x**-q/w)**w with v = q/(p + q) and w = p/(p + q), in which x cancels: the weighted means of its
terms, with equality where both are the same. Before its least place each of the two falls, and behind it each rises: so on
1 <= x <= M the end that is nearest is best where that place is outside.
"""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction

from symroof.errors import CheckError
from symroof.formula import Call, Compare, Formula, Group, Infinity, Name, Quotient, Sum, mapped, names, number, total
from symroof.proof.limits import rises, slope, tends
from symroof.proof.polynomials import ONE, Poly, Rat
from symroof.proof.propositions import settle
from symroof.proof.quotients import Exact
from symroof.proof.radicals import Radicals, raised
from symroof.proof.step import Check, Evidence, Facts, Ledger, Step, refuted, replaced, undecided

BY = "weighted means multiplied out"
CROSSES = "one part rises, one falls, equal there"


def powers(value: Rat, name: str) -> dict[int, Rat]:
    """What each power of the name is multiplied with; the denominator has to have one of them."""
    above, below = value.above.in_powers_of(name), value.below.in_powers_of(name)
    if len(below) != 1:
        raise CheckError(f"this is no sum of powers of {name}")
    ((low, under),) = below.items()
    return {e - low: Rat(part, under) for e, part in above.items()}


class Optimal(Evidence):
    """Evidence of the least place (``argmin``) or the least value (``minimum``) of a maximum or a sum on 1 <= x <= M,
    where M is what the equation for another size leaves. ``forms`` are its parts: as they are, or as established steps
    say they are in the regime.

    The place is inside under a guard that is assumed, and it is an end where the guard of the other side is.
    """

    relations = ("=", "~")

    forms: tuple[Formula, ...]

    def examine(self, step: Step, ledger: Ledger) -> Check:
        left = step.left
        if not (
            isinstance(left, Call) and left.function in ("argmin", "minimum") and isinstance(left.arguments[1], Name)
        ):
            raise refuted(step, "this is no least place and no least value")
        body, name = left.arguments[0], left.arguments[1].name
        exact = ledger.exact(figures=False, assumptions=step.assumptions)
        maximum, parts = parted(body)
        if len(parts) != len(self.forms) or not all(
            self._stands_for(step, *pair, exact, ledger) for pair in zip(self.forms, parts, strict=True)
        ):
            raise refuted(step, "the parts are others")
        result = [powers(exact.rational(form), name) for form in self.forms]
        if not all(exact.is_positive(c) for part in result for c in part.values()):
            raise refuted(step, "a part may not be positive")
        try:
            return self._decided(step, left.function, _Lines(result, exact, maximum), name)
        except CheckError as error:
            raise refuted(step, str(error)) from None

    def _stands_for(self, step: Step, form: Formula, part: Formula, exact: Exact, ledger: Ledger) -> bool:
        """Whether a form is the part, or what an established step of the same regime says that it is."""
        if step.relation == "~":
            for known in ledger.established:
                same = known.left == part and known.right == form and known.relation == "~"
                if same and set(known.assumptions) <= set(step.assumptions) and known.check is not None:
                    return True
        return exact.difference(form, part).is_zero()

    def _decided(self, step: Step, function: str, lines: _Lines, name: str) -> Check:
        exact, ends = lines.exact, ends_of(step, name, lines.exact)
        place = lines.place()
        if function == "argmin" and step.relation == "=" and step.right in (number(1), ends):
            inside = place is None and lines.way == (1 if step.right == number(1) else -1)
            if place is not None:
                end = raised(exact.rational(step.right), place[1])
                gap = end - place[0] if step.right == number(1) else place[0] - end
                inside = _known(gap, step, exact)
            if not inside:
                raise CheckError("the least place is not known to be at or beyond this end")
            return Check("proved", "it rises or falls all the way" if place is None else f"{lines.by}, beyond the end")
        if place is None:
            raise CheckError("it has its least place at an end")
        power, degree = place
        if not _known(power - Rat(ONE), step, exact):
            raise CheckError("the place may be below 1")
        if ends is not None and not _known(raised(exact.rational(ends), degree) - power, step, exact):
            raise CheckError("the place may be above what is there")
        if function == "argmin":
            told, root = Radicals(exact).of(step.right)
            same = raised(told, degree) - raised(power, root)
        else:
            told, root = Radicals(exact).of(_bare(step.right, lines, exact))
            value, degree = lines.value(power, degree)
            same = raised(told, degree) - raised(value, root)
        if not same.is_zero() or not exact.is_positive(told):
            raise CheckError("it is another place" if function == "argmin" else "it is another value")
        return Check("proved", lines.by)


def parted(body: Formula) -> tuple[bool, tuple[Formula, ...]]:
    """Whether something is a maximum, and its parts."""
    if isinstance(body, Call) and body.function == "max":
        return True, body.arguments
    return False, body.terms if isinstance(body, Sum) else (body,)


class _Lines:
    """Powers of a name with positive coefficients, as parts of a maximum or of a sum."""

    def __init__(self, found: list[dict[int, Rat]], exact: Exact, maximum: bool) -> None:
        self.exact, self.maximum, self.by = exact, maximum, CROSSES if maximum else BY
        if maximum and any(len(part) != 1 for part in found):
            raise CheckError("a part of the maximum is no single power")
        self.all: list[tuple[int, Rat]] = []
        for part in found:
            for e, c in part.items():
                at = None if maximum else next((i for i, (f, _) in enumerate(self.all) if f == e), None)
                if at is None:
                    self.all.append((e, c))
                else:
                    self.all[at] = (e, self.all[at][1] + c)
        self.moving = [(e, c) for e, c in self.all if e]
        self.constant = [c for e, c in self.all if not e]

    @property
    def way(self) -> int:
        """1 where everything rises, -1 where it falls, else 0."""
        sides = {1 if e > 0 else -1 for e, _ in self.moving}
        return sides.pop() if len(sides) == 1 else 0

    def place(self) -> tuple[Rat, int] | None:
        """The power of the least place that has a known value, and its exponent; None where it is an end."""
        if not self.moving:
            raise CheckError("nothing of it moves")
        if self.way:
            return None
        pairs = [(up, down) for up in self.moving for down in self.moving if up[0] > 0 > down[0]]
        if not self.maximum and len(pairs) != 1:
            raise CheckError("the weighted means of more than two powers are not compared")
        for (p, a), (minus_q, b) in pairs:
            q = -minus_q
            weighs = Fraction(1) if self.maximum else Fraction(q, p)
            power = b / a * Rat(Poly.number(weighs))
            if not self.maximum or all(self._is_below(part, (p, a), power, p + q) for part in self.moving):
                return power, p + q
        raise CheckError("a part may be above the two that cross")

    def _is_below(self, part: tuple[int, Rat], top: tuple[int, Rat], power: Rat, degree: int) -> bool:
        """Whether one part is at most another at the place."""
        sides = [raised(c, degree) * raised(power, e) for e, c in (top, part)]
        gap = sides[0] - sides[1]
        return gap.is_zero() or self.exact.is_positive(gap, strict=False)

    def value(self, power: Rat, degree: int) -> tuple[Rat, int]:
        """The value at the place, without what does not move: to what power it is this."""
        rising = [part for part in self.moving if part[0] > 0]
        if self.maximum:
            rising = [r for r in rising if all(self._is_below(part, r, power, degree) for part in self.moving)]
        (p, a), *_ = rising
        q = degree - p
        factor = Fraction(1) if self.maximum else Fraction(p + q, q)
        return raised(a * Rat(Poly.number(factor)), degree) * raised(power, p), degree


def _bare(right: Formula, lines: _Lines, exact: Exact) -> Formula:
    """The part of a value that is a root: beside it stand the parts that do not move, all of them."""
    if not lines.constant:
        return right
    maximum, parts = parted(right)
    if maximum != lines.maximum or len(parts) != len(lines.constant) + 1:
        raise CheckError("the value lacks what does not move")
    for part, constant in zip(parts[1:], lines.constant, strict=True):
        if not (exact.rational(part) - constant).is_zero():
            raise CheckError("the value has another constant part")
    return parts[0]


def ends_of(step: Step, name: str, exact: Exact) -> Formula | None:
    """The end of the domain: where another size that is put in is 1, as it is a quotient of something by the name."""
    for other, formula in replaced(step.assumptions, ("=",)).items():
        if name in names(formula):
            end = exact.rational(formula) * Rat(Poly.name(name))
            shown = formula.above if isinstance(formula, Quotient) else None
            if shown is None or name in names(shown) or not (exact.rational(shown) - end).is_zero():
                raise CheckError(f"{other} is no quotient by {name}")
            return shown
    return None


def _known(gap: Rat, step: Step, exact: Exact) -> bool:
    """Whether a quotient is at least 0: by its coefficients, or by an assumption."""
    if gap.is_zero() or exact.is_positive(gap, strict=False):
        return True
    turned = exact.cleared(gap)
    facts = (exact.normal(a) for a in step.assumptions if isinstance(a, Compare))
    known = [fact[0] for fact in facts if fact is not None]
    return turned is not None and turned.primitive() in known


class Slope(Facts):
    """Facts of a part: it rises (1) or falls (-1) in a name, or stays (0)."""

    name: str
    way: int

    def agree(self, step: Step, ledger: Ledger) -> bool:
        value = ledger.exact(figures=False, assumptions=step.assumptions).rational(step.right)
        slopes = {(e > 0) - (e < 0) for e in powers(value, self.name)}
        return slopes == {self.way}


class Construction(Evidence):
    """Evidence of what a function of claims comes to: ``limit, sup, diff, sum, argmin, minimum``. For the last two ``rise``
    is the derivative of what is no maximum, and ``place`` is where the least value is."""

    rise: Formula | None = None
    place: Formula | None = None

    def examine(self, step: Step, ledger: Ledger) -> Check:
        exact, right, by = ledger.exact(figures=False), step.right, ""
        match step.left:
            case Call("limit", (body, Compare(Name(name), "->", Infinity()))):
                by = "highest powers" if _tends(body, name, right, exact) else ""
            case Call("sup", (body, Name(name))):
                way = rises(body, name, exact.least_one) if name in names(body) else 1
                first = way == -1 and name in exact.least_one and _same(_put(body, name, number(1)), right, exact)
                by = "one sign" if first or (way == 1 and _tends(body, name, right, exact)) else ""
            case Call("diff", (body, Name(name))):
                by = "chain rule" if self._is_slope(body, name, right, exact) else ""
            case Call("sum", (body, Name(name), first, last)):
                by = "added up" if _same(_added(body, name, first, last, exact), right, exact) else ""
            case Call("argmin", (body, Name(name))):
                by = "one change" if self._is_least(body, name, right, exact) else ""
            case Call("minimum", (body, Name(name))) if (place := self.place) is not None:
                there = _same(_put(body, name, place), right, exact)
                by = "one change" if there and self._is_least(body, name, place, exact) else ""
        if not by:
            raise undecided(step, "this is not known to be what it comes to")
        return Check("proved", by)

    def _is_slope(self, body: Formula, name: str, rise: Formula, exact: Exact) -> bool:
        return (slope(exact.rational(body), name, exact) - exact.rational(rise)).is_zero()

    def _is_least(self, body: Formula, name: str, place: Formula, exact: Exact) -> bool:
        """Whether a function falls before a place and rises beyond it; where x is at least 1, before and beyond 1 or the
        place, whichever is larger."""
        while isinstance(body, Group):
            body = body.body
        inner, bound, (maximum, parts) = exact.least_one - {name}, place, parted(body)
        above = None if self.rise is None else Compare(self.rise, ">", number(0))
        if above is not None and not (
            exact.sign(exact.rational(body).below) and self._is_slope(body, name, above.left, exact)
        ):
            return False
        if name in exact.least_one:
            match place:
                case Call("max", (one, bound)) if _same(one, number(1), exact):
                    pass
                case _ if _same(place, number(1), exact):
                    return bool(above and settle(above, exact.least_one).truth)
                case _ if not settle(Compare(place, ">=", number(1)), inner).truth:
                    return False
        if (crosses := _crosses_at(body, name, bound, exact)) is not None:
            return crosses
        ways = {rises(part, name, inner): part for part in parts} if maximum else {}
        if ways.keys() == {1, -1} and len(parts) == 2:
            above = Compare(ways[1], ">", ways[-1])
        result = (Compare(bound, ">", number(0)), above and Compare(above, "<=>", Compare(Name(name), ">", bound)))
        return all(claim is not None and settle(claim, inner).truth for claim in result)


def _crosses_at(body: Formula, name: str, place: Formula, exact: Exact) -> bool | None:
    """Whether powers of a name with positive coefficients are least at a place; None of anything else."""
    maximum, parts = parted(body)
    with suppress(CheckError):
        lines = _Lines([powers(exact.rational(part), name) for part in parts], exact, maximum)
        positive = all(exact.is_positive(c) for _, c in lines.all) and not (maximum and lines.constant)
        there, (told, root) = lines.place(), Radicals(exact).of(place)
        if positive and there is not None and exact.is_positive(told):
            return (raised(told, there[1]) - raised(there[0], root)).is_zero()
    return None


def _tends(body: Formula, name: str, right: Formula, exact: Exact) -> bool:
    """Whether a rational function tends to something as the name grows, or is it without the name."""
    value = exact.rational(body)
    return (
        _same(body, right, exact) if name not in names(body) else not exact.atoms and tends(value, name, right, exact)
    )


def _same(left: Formula, right: Formula, exact: Exact) -> bool:
    return exact.difference(left, right).is_zero()


def _put(body: Formula, name: str, value: Formula) -> Formula:
    return mapped(body, lambda node: value if node == Name(name) else node)


def _added(body: Formula, name: str, first: Formula, last: Formula, exact: Exact) -> Formula:
    """A sum term by term; of numbers as one number."""
    low, high = (exact.rational(end).constant for end in (first, last))
    if low is None or high is None:
        raise CheckError("the ends of the sum are no numbers")
    terms = [_put(body, name, number(n)) for n in range(int(low), int(high) + 1)]
    values = [exact.rational(term).constant for term in terms] if {*names(body)} <= {name} else []
    known = [value for value in values if value is not None]
    return number(sum(known, Fraction(0))) if len(known) == len(terms) else total(*terms)
