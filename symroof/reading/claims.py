"""Claims, what a textbook says and where it says that it holds; and regimes, which sizes are small beside which.

claim  = ( sugar | prop { ( "<=>" | "=>" ) prop } ) { clause }
sugar  = side "when" prop | prop how | how prop | prop "<=>" how        how = "never" | "always"
side   = ( "compute" | "memory" | "comms" | "latency" ) "-bound"
prop   = conj { "or" conj }
conj   = term { "and" term }
term   = side | chain | "not" term | "(" prop ")"
chain  = value rel value { rel value }             rel = "=" "~" "->" "<" "<=" ">" ">=" "<<" ">>"
value  = expr [ UNIT ]                          the unit of all of it: 2BD + 2DF bytes
clause = "as" regime | "assuming" regime | "at" bind { "," bind }        each once, in any order
bind   = NAME { "=" NAME } "=" expr
regime = item { "," item }
item   = expr size expr { size expr }   B ~~ D << F relates neighbours
       | expr                           after "x << y": also x << expr; before "x -> oo": also expr -> oo;
                                        before "x >> y": also expr >> y; after it: also x >> expr
size   = "<<" | ">>" | "->" | "=" | "~" | "~~" | "<=" | ">="
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from symroof.errors import ReadingError
from symroof.formula import KEYWORDS, Call, Compare, Formula, Frozen, Gap, Group, Infinity, Name, Number, Sum, product
from symroof.model.quantities import UNITS, parts_of, time_name
from symroof.reading.expressions import ExpressionReader
from symroof.reading.name_scope import Scope
from symroof.reading.numbers import measured
from symroof.reading.scanner import CLOSINGS, OPENINGS, Token

RELATIONS = ("=", "~", "->", "<", "<=", ">", ">=", "<<", ">>")
CONNECTIVES = ("<=>", "=>")
# What stands in the brackets of a condition alone, and what may stand behind them.
SAID_IN_BRACKETS = frozenset((*RELATIONS, "and", "or", "not", "bound"))
BEHIND = ("and", "or", ")", "as", "assuming", "at", *CONNECTIVES)
SCALINGS = ("<<", ">>", "->", "=", "~", "~~", "<=", ">=")
SHELL = 'a shell takes << and >> for its own: put the regime in quotes, "B << D"'


class Chain(Frozen):
    """``a REL b REL c``: every link is a claim of its own."""

    sides: tuple[Formula, ...]
    relations: tuple[str, ...]

    @property
    def links(self) -> tuple[Compare, ...]:
        return tuple(Compare(self.sides[i], relation, self.sides[i + 1]) for i, relation in enumerate(self.relations))


class Logic(Frozen):
    """Conditions joined by ``and`` or ``or``, or one after ``not``: what it says is true or false as a whole."""

    word: str
    parts: tuple[Chain | Logic, ...]
    sides: tuple[Formula, ...] = ()
    relations: tuple[str, ...] = ()

    @property
    def links(self) -> tuple[Compare, ...]:
        """Every comparison in it, wherever it stands."""
        return tuple(link for part in self.parts for link in part.links)


# What has to hold together.
Proposition = tuple[Chain | Logic, ...]
BOUND = {
    kind: Chain(tuple(map(Name, sides)), (">",))
    for kind, sides in {
        "compute": ("T_math", "T_comms"),
        "memory": ("T_comms", "T_math"),
        "comms": ("T_comms", "T_math"),
    }.items()
}


def bound_by_latency(names: Iterable[str]) -> Chain | None:
    """That the hops of exchanges take longer than their bytes over any link; None where hops take no time.

    >>> bound_by_latency(("B", "T_latency", "sent(X)", "T_X")).sides
    (Name(name='T_latency'), Name(name='T_X'))
    """
    names = tuple(names)
    times = tuple(Name(time_name(of)) for what, of in map(parts_of, names) if what == "sent" and of)
    if "T_latency" not in names or not times:
        return None
    return Chain((Name("T_latency"), Call("max", times) if len(times) > 1 else times[0]), (">",))


class Claim(Frozen):
    """Propositions joined by ``connectives``; ``always`` is set where the claim is about the whole domain.

    ``regime`` is what the claim itself assumes, ``at`` the sizes that it puts in; ``start`` is where it begins in its source.
    What is not ``whole`` may be a part of something that stands around it.
    """

    text: str
    propositions: tuple[Proposition, ...]
    connectives: tuple[str, ...] = ()
    always: bool | None = None
    regime: tuple[Compare, ...] = ()
    at: tuple[tuple[str, Formula], ...] = ()
    start: int = 0
    whole: bool = True

    @property
    def chains(self) -> tuple[Chain | Logic, ...]:
        return tuple(chain for proposition in self.propositions for chain in proposition)

    @property
    def alternative(self) -> bool:
        """Whether some of its conditions are joined by more than ``and``."""
        return any(isinstance(chain, Logic) for chain in self.chains)

    @property
    def links(self) -> tuple[Compare, ...]:
        return tuple(link for chain in self.chains for link in chain.links)


def read_claim(text: str, scope: Scope) -> Claim:
    """The claim that ``text`` writes.

    >>> claim = read_claim("intensity = BD/(B + D) ~ B as D -> oo", Scope(("B", "D", "intensity")))
    >>> claim.propositions[0][0].relations, len(claim.regime)
    (('=', '~'), 1)
    """
    return ClaimReader(text, scope).claim()


class ClaimReader(ExpressionReader):
    grouping = True

    def claim(self) -> Claim:
        claim = self._equivalence()
        seen: dict[str, Any] = {}
        while token := self.accept("as", "assuming", "at"):
            if token.text in seen:
                raise self.error(f"a second {token.text!r}", "each clause once", token=token)
            seen[token.text] = self._bindings() if token.text == "at" else regime(self)
        self.expect_end("a relation, 'as', 'assuming', 'at' or the end")
        return replace(claim, regime=(*seen.get("as", ()), *seen.get("assuming", ())), at=seen.get("at", ()))

    def _equivalence(self) -> Claim:
        """Propositions and what joins them; ``compute-bound when C`` is ``T_math > T_comms <=> C``. That one holds always or
        never may stand before it, behind it, or be what it is equivalent to."""
        if (holds := self._always()) is not None:
            return Claim(self.source, (self.proposition(),), always=holds)
        first = self.proposition()
        if len(first) == 1 and first[0] in self.bounds.values() and self.accept("when"):
            return Claim(self.source, (first, self.proposition()), ("<=>",))
        if (holds := self._always()) is not None:
            return Claim(self.source, (first,), always=holds)
        propositions, connectives = [first], list[str]()
        while token := self.accept(*CONNECTIVES):
            if token.text == "<=>" and not connectives and (holds := self._always()) is not None:
                return Claim(self.source, (first,), always=holds)
            connectives.append(token.text)
            propositions.append(self.proposition())
        return Claim(self.source, tuple(propositions), tuple(connectives))

    def _always(self) -> bool | None:
        """Whether it says always (True) or never (False) here; None where it says neither."""
        word = None if self.token.text in self.scope.names else self.accept("always", "never")
        return None if word is None else word.text == "always"

    def proposition(self) -> Proposition:
        first = self._conjunction()
        if not self.at("or"):
            return first
        parts = [first]
        while self.accept("or"):
            parts.append(self._conjunction())
        return (Logic("or", tuple(part[0] if len(part) == 1 else Logic("and", part) for part in parts)),)

    def _conjunction(self) -> Proposition:
        return tuple(part for parts in self.separated(self._condition, "and")[0] for part in parts)

    def _condition(self) -> Proposition:
        if self.at("not"):
            with self._nested("not", ""):
                inner = self._condition()
            return (Logic("not", (inner[0] if len(inner) == 1 else Logic("and", inner),)),)
        return self._in_brackets() or (self._bound() or self.chain(),)

    def _in_brackets(self) -> Proposition | None:
        """A proposition in brackets; None where the bracket opens an expression, in which no relation stands."""
        end = self._closing() if self.at("(") else None
        if end is None:
            return None
        inside = {token.text for token in self.tokens[self.index : end]}
        behind = self.tokens[end + 1]
        if inside.isdisjoint(SAID_IN_BRACKETS) or not (behind.kind == "end" or behind.text in BEHIND):
            return None
        with self._nested("(", ")"):
            return self.proposition()

    def _closing(self) -> int | None:
        """Where the bracket ends that begins here."""
        depth = 0
        for index in range(self.index, len(self.tokens)):
            depth += (self.tokens[index].text == "(") - (self.tokens[index].text == ")")
            if not depth:
                return index
        return None

    @property
    def bounds(self) -> Mapping[str, Chain]:
        """What may be said of what an operation is bound by."""
        by_latency = bound_by_latency(self.scope.names)
        return BOUND if by_latency is None else {**BOUND, "latency": by_latency}

    def _bound(self) -> Chain | None:
        """``compute-bound`` is ``T_math > T_comms``, ``latency-bound`` that hops take longer than bytes over any link."""
        start, kind = self.index, self.token.text
        names = self.scope.names  # the memory of a program is a name, and nothing is memory - bound
        if kind not in self.bounds or (kind in names and "bound" in names) or self.following.text != "-":
            return None
        self.go_to(start + 2)
        if self.accept("bound"):
            return self.bounds[kind]
        self.go_to(start)
        return None

    def chain(self) -> Chain:
        lacks_first = self.scope.lenient and self.at(*RELATIONS)
        first = Gap() if lacks_first else self._side()
        sides, relations = [first], []
        while token := self.accept(*RELATIONS):
            relations.append(token.text)
            sides.append(self._side())
        if not relations and not isinstance(first, Gap):
            raise self.error(expected="a relation: " + " ".join(RELATIONS))
        return Chain(tuple(sides), tuple(relations))

    def _side(self) -> Formula:
        """A side of a chain; in a lenient scope a gap where it cannot be read, and the chain goes on behind it."""
        start, scope = self.index, self.scope
        try:
            return self._until_relation()
        except ReadingError as error:
            end = self._side_end(start) if scope.lenient else None
            if end is None:
                raise
            self.start(scope)
            self.go_to(end)
            return Gap(error.problem, error.column)

    def _until_relation(self) -> Formula:
        self.unit_at = self._unit_at(self.index)
        side = self.expression()
        if self.index == self.unit_at:
            scale, base = measured(unit := self.next().text)
            side = product(Group(side) if isinstance(side, Sum) else side, Number(scale, f"1 {unit}", base))
        if self.scope.lenient and not self._at_end_of_side():
            raise self.error(expected="a relation, or the end")
        return side

    def _at_end_of_side(self) -> bool:
        return self.token.kind in ("end", "row") or self.at(*RELATIONS, *CONNECTIVES, *KEYWORDS)

    def _unit_at(self, start: int) -> int:
        """Where the unit of a whole side stands that begins at a token, as in ``2BD + 2DF bytes``; -1 for none.

        It is a word behind a space, at the end of the side, that nobody takes for a name: there is none of that name, or
        it gives way to the unit, and all other names of the side are counts."""
        scope, depth, end = self.scope, 0, start
        for end in range(start, len(self.tokens)):
            token = self.tokens[end]
            depth += (token.text in OPENINGS) - (token.text in CLOSINGS)
            ends = token.kind in ("end", "row") or token.text in (*RELATIONS, *CONNECTIVES, *KEYWORDS, ",")
            if depth < 0 or (not depth and ends):
                break
        *before, unit = self.tokens[start:end] or [self.tokens[start]]
        if not before or unit.kind != "word" or unit.text not in UNITS or not unit.spaced or len(unit.text) == 1:
            return -1
        if before[-1].kind == "number" or before[-1].text in (*OPENINGS, *"+-*/^"):
            return -1
        words = [token.text for token in before if token.kind == "word"]
        alone = all(map(scope.counted, words)) if unit.text in scope.give_way else not scope.reads(unit.text)
        return end - 1 if words and alone else -1

    def _side_end(self, start: int) -> int | None:
        """Where the side that begins at a token ends: at the next relation outside of brackets, or where the chain ends.
        None where brackets do not match, or a clause begins in which nobody knows what stands."""
        depth = 0
        for index in range(start, len(self.tokens)):
            kind, text = self.tokens[index].kind, self.tokens[index].text
            depth += (text in OPENINGS) - (text in CLOSINGS)
            if depth < 0 or (kind == "word" and text in KEYWORDS - {"oo", "and"}):
                return None
            if not depth and (kind in ("end", "row") or text in (*RELATIONS, *CONNECTIVES, "and")):
                return index
        return None

    def _bindings(self) -> tuple[tuple[str, Formula], ...]:
        bound = self.bindings(self.expression, "D = 8192")
        return tuple((name, value) for names, value in bound for name in names)


def read_value(text: str, scope: Scope) -> tuple[Formula, tuple[tuple[str, Formula], ...]]:
    """A formula, and the sizes that are put in: ``T_math at B = 512``.

    >>> formula, sizes = read_value("max(B, D) at B = 512", Scope(("B", "D")))
    >>> [name for name, _ in sizes]
    ['B']
    """
    reader = ClaimReader(text, scope)
    formula = reader.expression()
    sizes = reader._bindings() if reader.accept("at") else ()
    reader.expect_end("'at' or the end")
    return formula, sizes


def read_regime(text: str, scope: Scope) -> tuple[Compare, ...]:
    """The relations of a regime, with ``>>`` turned round.

    >>> from symroof.formula import Name
    >>> B, D, F = map(Name, "BDF")
    >>> read_regime("B << D, F", Scope(("B", "D", "F"))) == (Compare(B, "<<", D), Compare(B, "<<", F))
    True
    """
    reader = ExpressionReader(text, scope)
    relations = regime(reader)
    reader.expect_end("a relation, ',' or the end")
    return relations


def regime(reader: ExpressionReader) -> tuple[Compare, ...]:
    """The relations under the cursor."""
    relations: list[Compare] = []
    waiting: list[tuple[Token, str, Formula]] = []  # what stands alone before its relation, as it is written
    before: tuple[Formula, str] | None = None  # the relation that goes on with what stands alone behind it
    hint: str | None = None
    while True:
        first, left = reader.token, reader.expression()
        if reader.at("<", ">"):
            raise reader.error(expected="<<, >>, ->, =, ~, ~~, <= or >=")
        if before is not None and not reader.at(*SCALINGS):
            relations.append(_related(*before, left))
        elif not reader.at(*SCALINGS):
            waiting.append((first, reader.written(first), left))
        while reader.at(*SCALINGS):
            words = [*(written for _, written, _ in waiting), reader.written(first)]
            token, start = reader.next(), reader.token
            right = reader.expression()
            if (token.text == "->") != isinstance(right, Infinity):
                raise reader.error("only -> leads to infinity, and to nothing else", "x -> oo", token=token)
            if token.text in ("->", ">>"):
                relations += [_related(formula, token.text, right) for _, _, formula in waiting]
                waiting, hint = [], None
            elif token.text == "<<" and waiting and hint is None:
                hint = f"did you mean {', '.join(f'{word} << {reader.written(start)}' for word in words)}?"
            relations.append(_related(left, token.text, right))
            before = (left, token.text) if token.text in ("<<", ">>") else None
            left = right
        if not reader.accept(","):
            break
    if waiting:
        raise reader.error(
            "an expression stands alone in the regime",
            "a relation, as in B << D or D -> oo",
            token=waiting[-1][0],
            hint=hint or (SHELL if reader.source.strip().isidentifier() else None),
        )
    return tuple(relations)


def _related(left: Formula, relation: str, right: Formula) -> Compare:
    return Compare(right, "<<", left) if relation == ">>" else Compare(left, relation, right)


def read_question(text: str, scope: Scope) -> tuple[Formula, Formula | None]:
    """What `--of` asks about: a quantity such as ``T_comms/T_math``; or the two sides of an approximation whose regime is
    sought, as in ``BD/(B + D) ~ B``.

    >>> from symroof.formula import Name
    >>> read_question("B ~ D", Scope(("B", "D"))) == (Name("B"), Name("D"))
    True
    """
    if not text.strip():
        raise ReadingError("there is no quantity to explore", expected="a formula, or one that is near: BD/(B + D) ~ B")
    reader = ExpressionReader(text, scope)
    left = reader.expression()
    right = reader.expression() if reader.accept("~", "->") else None
    reader.expect_end("'~' or the end" if right is None else "the end")
    return left, right
