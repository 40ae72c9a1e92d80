"""Claims: what a textbook says, and where it says that it holds.

claim  = ( sugar | prop { ( "<=>" | "=>" ) prop } ) { clause }
sugar  = ( "compute" | "memory" | "comms" ) "-bound" ( "when" prop | "never" | "always" )
prop   = chain { "and" chain }
chain  = expr rel expr { rel expr }             rel = "=" "~" "->" "<" "<=" ">" ">=" "<<" ">>"
clause = "as" regime | "assuming" regime | "at" bind { "," bind }        each once, in any order
bind   = NAME { "=" NAME } "=" expr
"""

from __future__ import annotations

from dataclasses import dataclass

from symroof.formula import Compare, Formula, Name
from symroof.reading.expressions import ExpressionReader, Scope
from symroof.reading.regimes import regime

RELATIONS = ("=", "~", "->", "<", "<=", ">", ">=", "<<", ">>")
CONNECTIVES = ("<=>", "=>")
SIDES = {"compute": ("T_math", "T_comms"), "memory": ("T_comms", "T_math"), "comms": ("T_comms", "T_math")}


@dataclass(frozen=True, slots=True)
class Chain:
    """``a REL b REL c``: every link is a claim of its own."""

    sides: tuple[Formula, ...]
    relations: tuple[str, ...]

    @property
    def links(self) -> tuple[Compare, ...]:
        return tuple(Compare(self.sides[i], relation, self.sides[i + 1]) for i, relation in enumerate(self.relations))


Proposition = tuple[Chain, ...]


@dataclass(frozen=True, slots=True)
class Claim:
    """Propositions joined by ``connectives``; ``always`` is set where the claim is about the whole domain.

    ``regime`` is what the claim itself assumes, ``at`` the sizes that it puts in; ``start`` is where it begins in its source.
    """

    text: str
    propositions: tuple[Proposition, ...]
    connectives: tuple[str, ...] = ()
    always: bool | None = None
    regime: tuple[Compare, ...] = ()
    at: tuple[tuple[str, Formula], ...] = ()
    start: int = 0

    @property
    def chains(self) -> tuple[Chain, ...]:
        return tuple(chain for proposition in self.propositions for chain in proposition)

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
    def claim(self) -> Claim:
        claim = self._sugar() or self._equivalence()
        seen: dict[str, tuple[Compare, ...] | tuple[tuple[str, Formula], ...]] = {}
        while self.at("as", "assuming", "at"):
            token = self.next()
            if token.text in seen:
                raise self.error(f"a second {token.text!r}", token=token, expected="each clause once")
            seen[token.text] = self._bindings() if token.text == "at" else regime(self)
        self.expect_end("a relation, 'as', 'assuming', 'at' or the end")
        relations = (*seen.get("as", ()), *seen.get("assuming", ()))
        return Claim(self.source, claim.propositions, claim.connectives, claim.always, relations, seen.get("at", ()))  # type: ignore[arg-type]

    def _sugar(self) -> Claim | None:
        """``compute-bound when C`` is ``T_math > T_comms <=> C``."""
        start = self.index
        kind = self.token.text
        if not (kind in SIDES and kind not in self.scope.names and self.following.text == "-"):
            return None
        self.next(), self.next()
        if not self.accept("bound"):
            self.go_to(start)
            return None
        left, right = (Name(name) for name in SIDES[kind])
        bound = (Chain((left, right), (">",)),)
        if self.accept("when"):
            return Claim(self.source, (bound, self.proposition()), ("<=>",))
        word = self.accept("never", "always")
        if word is None:
            raise self.error(expected="when, never or always")
        return Claim(self.source, (bound,), always=word.text == "always")

    def _equivalence(self) -> Claim:
        propositions, connectives = [self.proposition()], []
        while self.at(*CONNECTIVES):
            connectives.append(self.next().text)
            propositions.append(self.proposition())
        return Claim(self.source, tuple(propositions), tuple(connectives))

    def proposition(self) -> Proposition:
        chains = [self.chain()]
        while self.accept("and"):
            chains.append(self.chain())
        return tuple(chains)

    def chain(self) -> Chain:
        sides, relations = [self.expression()], []
        if not self.at(*RELATIONS):
            raise self.error(expected="a relation: " + " ".join(RELATIONS))
        while self.at(*RELATIONS):
            relations.append(self.next().text)
            sides.append(self.expression())
        return Chain(tuple(sides), tuple(relations))

    def _bindings(self) -> tuple[tuple[str, Formula], ...]:
        bound: dict[str, Formula] = {}
        while not bound or self.accept(","):
            bound |= dict.fromkeys(self.bound_names(bound, "D = 8192"), self.expression())
        return tuple(bound.items())
