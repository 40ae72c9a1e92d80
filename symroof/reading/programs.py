"""Programs: statements on lines, or between semicolons; ``#`` starts a comment.

    program   = { statement (NEWLINE | ";") }
    statement = { "frozen" | "shared" } role names ":" type { "," names ":" type }   weight W1, W3: bf16[D, F]
              | NAME "=" NAME { ("*" | "+" | "-") NAME } ["->" type] ["masked" DIM "<=" DIM ["from the first" | ", window" SIZE]]
              | NAME "=" NUMBER "*" NAME | NAME "=" NAME ("*" factor | "/" divisor) ["->" type]
              | NAME "=" NAME "->" type                                the same tensor, split otherwise, or in other dimensions
              | NAME "=" NAME "[" NAME "->" NAME { "," … } "]"         the same tensor, with another name for a dimension; so as an operand
              | NAME "=" FUNCTION "(" NAME ["," DIM] ")" ["->" type]
              | NAME "=" "slice" "(" NAME "," DIM "," SIZE ")"         so many places of a dimension
              | NAME "=" "concat" "(" NAME { "," NAME } ")" "->" type  behind one another along the dimension in which they differ
              | NAME "=" "append" "(" NAME "," NAME "," DIM ")"        a cache with new entries, which its dimension counts
              | NAME "=" "send" "(" NAME "," (AXIS | "corner") ")"     what a chip has, given to the next one or to the farthest
              | NAME "=" ("sum" | "mean" | "max") "(" NAME { "," DIM } ")" ["->" type]
              | ("fuse" | "recompute") "{" program "}"
              | NAME "=" "place" "(" NAME "," DIM ")"                  what this turn of a repeat has along a dimension
              | NAME "=" "collect" "(" NAME "," DIM ")"                what all turns have made, each at its place
              | "repeat" size ["shared" | "over" AXIS] ["as" NAME "=" NAME { "," NAME "=" NAME }] "{" program "}"
              | "scan" DIM ["as" NAME "=" NAME { "," NAME "=" NAME }] "{" program "}"
              | "accumulate" size "{" program "}"                      microbatches: inputs of their own, the weights of all
              | "block" NAME "{" program "}"
              | "where" size { "," size }
              | "output" NAME { "," NAME }                             what is returned although it is used
    role      = "input" | "weight" | "cache"
    size      = NAME "=" formula | formula ("<=" | ">=") formula       what others define, or what is known of sizes
    factor    = NUMBER | "(" formula of sizes ")"
    divisor   = factor | SIZE | FUNCTION "(" formula of sizes ")"

The words frozen, shared, input, weight, cache, output, fuse, recompute, repeat, scan, accumulate, block, where are
words only where a statement starts that is not ``word = …``. Tensors have names of their own, beside those of sizes.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace

from symroof.errors import suggestion
from symroof.formula import Formula, names
from symroof.model.collectives import MeshAxis
from symroof.model.functions import FUNCTIONS as TABLE, Function
from symroof.model.gradients import collected_tensors
from symroof.model.pipeline_stages import require_stages
from symroof.model.program import Program
from symroof.model.program_tree import (
    ROLES,
    SUM,
    Block,
    Declared,
    Fuse,
    Node,
    Recompute,
    Repeat,
    Statement,
    statements_in,
    turns_of,
    weights_of,
)
from symroof.model.tensor_types import Dtype, Tensor, spelled_size
from symroof.reading.meshes import read_mesh
from symroof.reading.program_checks import MaskReader
from symroof.reading.scanner import Token
from symroof.reading.size_cases import Facts
from symroof.reading.tensors import END, WORDS, Turns
from symroof.symbols import expression

# What may stand in what: a fuse holds statements, a block fuses and statements.
NO_PLACE = {
    "fuse": ("fuse", "repeat", "block", "recompute", "accumulate"),
    "block": ("block", "repeat", "scan", "recompute", "accumulate"),
    "recompute": ("repeat", "scan", "recompute", "accumulate"),
    "repeat": ("accumulate",),
    "scan": ("repeat", "scan", "recompute", "accumulate"),
    "accumulate": ("accumulate",),
}
DEEPEST = 16


def read_program(
    text: str, element: Dtype | None = None, functions: Mapping[str, Function] | None = None, told: Facts | None = None
) -> Program:
    """The program that ``text`` writes; one of inputs and a single product, without a mesh, is that product. What is
    ``told`` beside it decides which of several a size is that is the least, or the largest, of them.

    >>> print(read_program("input x: bf16[B, D]; weight W: bf16[D, F]; y = x * W -> bf16[B, F]").title)
    x -> y
    """
    program = ProgramReader(text, element, {**TABLE, **(functions or {})}, told).program()
    (first, *more), roles = program.lines, {d.role for d in program.declared}
    product = first.statement.product
    alone = not more and roles == {"input"} and not (program.mesh or program.where or program.facts)
    if alone and product is not None and isinstance(program.body[0], Statement):
        return Program.of(product)
    return program


class ProgramReader(MaskReader):
    def __init__(
        self, source: str, element: Dtype | None, functions: Mapping[str, Function], told: Facts | None = None
    ) -> None:
        super().__init__(source, element, functions)
        self.told = told or Facts()
        self.declared: list[tuple[Declared, Token]] = []
        self.inside: list[str] = []
        self.mesh: tuple[MeshAxis, ...] = ()
        self.returned: list[Token] = []
        self.stages: Token | None = None

    def program(self) -> Program:
        body = self._body()
        if self.token.kind != "end":
            raise self.error("there is nothing that this } closes", "a statement")
        if not body:
            raise self.error("the program makes nothing", "a statement such as y = x * W -> bf16[B, F]")
        returned = tuple(token.text for token in self.returned)
        body = self._all_collected(body, returned)
        program = Program(tuple(d for d, _ in self.declared), body, self._in_order(), returned, mesh=self.mesh)
        program = self._spanned(self._decided(program))
        for declared, token in self.declared:
            if declared.tensor.name not in self.used:
                raise self.error(f"nothing uses {declared.tensor.name}", "a statement that does", token=token)
            users = [line for line in program.lines if declared.tensor in line.statement.operands]
            batches = {tuple(r for r in line.repeats if r.accumulates) for line in users}
            if declared.role == "input" and len(batches) > 1:
                shown = f"{declared.tensor.name} is an input of each microbatch and of what is outside of them"
                raise self.error(shown, "an input of its own for each", token=token)
            if not declared.alike and len({turns_of(weights_of(line.repeats)) for line in users}) > 1:
                shown = f"{declared.tensor.name} is used in the turns of a repeat and outside of them"
                cure = f"a {declared.role} of its own for each: every turn has weights and caches of its own"
                raise self.error(shown, cure, token=token)
        self._require_factors(program)
        self._require_stages(program)
        self._require_places_of_turns(program)
        self._require_sizes(program)
        self._require_whole(program)
        self._require_parts(program)
        self._require_masks(program)
        return program

    def _require_stages(self, program: Program) -> None:
        """The stages of a pipeline exchange nothing but what they hand on."""
        if self.stages is None:
            return
        with self.faults_at(*self.stages.span):
            require_stages(program)

    def _body(self) -> tuple[Node, ...]:
        nodes_read: list[Node] = []
        while self.token.kind != "end" and not self.at("}"):
            if not self.accept(END):
                nodes_read += self._statement()
                if self.token.kind != "end" and not self.at(END, "}"):
                    raise self.error(expected="the end of the statement: a new line or ';'")
        return tuple(nodes_read)

    def _statement(self) -> Sequence[Node]:
        word = self.take("word", "a statement")
        if self.at("="):
            statement = self._made(word)
            before, self.seen = self.seen, []
            if before and before[-1].kind == SUM and "fuse" not in self.inside:  # a mean is one pass
                return [*before[:-1], Fuse((before[-1], statement))]
            return [*before, statement]
        if word.text in ROLES:
            self._declaration(word.text)
        elif word.text in ("frozen", "shared"):
            self._qualified(word)
        elif word.text == "where":
            self.separated(self._size_said, ",")
        elif word.text == "fuse":
            return [Fuse(self._braced(word))]
        elif word.text == "recompute":
            return [Recompute(self._braced(word))]
        elif word.text == "block":
            name = self.take("word", "the name of the block").text
            return [Block(name, self._braced(word))]
        elif word.text in ("repeat", "scan"):
            turns = self._repeat(word)
            ahead, self.ahead = self.ahead, []
            return [*ahead, turns]
        elif word.text == "accumulate":
            return [self._accumulate(word)]
        elif word.text == "mesh":
            self._mesh_declared(word)
        elif word.text == "output":
            self.separated(self._output, ",")
        else:
            role = f"did you mean input {word.text}: …, or weight {word.text}: …?" if self.token.text == ":" else None
            hint = role or suggestion(word.text, WORDS)
            raise self.error(f"{word.text} starts no statement", f"a declaration, or {word.text} = …", hint, token=word)
        return []

    def _qualified(self, word: Token) -> None:
        """What is frozen, shared, or both."""
        qualifiers, role = [word], self.take("word", f"what is {word.text}: {word.text} weight W: …")
        if {word.text, role.text} == {"frozen", "shared"}:
            qualifiers.append(role)
            role = self.take("word", "what is shared: frozen shared weight W: …")
        shared = any(token.text == "shared" for token in qualifiers)
        roles = ROLES[1:] if shared else ROLES
        if role.text not in roles:
            shown, near = f"{role.text} cannot be {'shared' if shared else 'frozen'}", suggestion(role.text, roles)
            alike = "an input is the same in all turns" if role.text == "input" else near
            raise self.error(shown, f"one of {', '.join(roles)}", alike, token=role)
        texts = {token.text for token in qualifiers}
        self._declaration(role.text, "frozen" in texts, "shared" in texts)

    def _output(self) -> None:
        token = self.take("word", "a tensor that a statement made")
        if token.text not in self.known or any(d.tensor.name == token.text for d, _ in self.declared):
            declared = {str(d.tensor.name) for d, _ in self.declared}
            near = suggestion(token.text, self.known.keys() - declared)
            raise self.error(f"no statement before this line makes {token.text}", "a result", near, token=token)
        if token.text in (other.text for other in self.returned):
            raise self.error(f"{token.text} is returned twice", "each result once", token=token)
        self.returned.append(token)

    def _braced(self, word: Token) -> tuple[Node, ...]:
        """The statements between braces."""
        around = next((outer for outer in self.inside if word.text in NO_PLACE[outer]), None)
        if around:
            shown = f"{_one(word.text)} has no place in {_one(around)}"
            raise self.error(shown, "statements", token=word)
        if len(self.inside) == DEEPEST:
            raise self.error(f"this stands in {DEEPEST} braces", "fewer of them", token=word)
        self.expect("{")
        self.inside.append(word.text)
        body = self._body()
        self.inside.pop()
        if not self.at("}"):
            raise self.error(f"the braces of this {word.text} are not closed", "'}'", token=word)
        self.next()
        if not body:
            raise self.error("there is nothing between the braces", "a statement", token=word)
        return body

    def _declaration(self, role: str, frozen: bool = False, shared: bool = False) -> None:
        while True:
            tokens, _ = self.separated(lambda: self.take("word", "a name"), ",")
            self.expect(":", "',' or ':' and a type such as bf16[B, D]")
            tensor = self._type()
            for token in tokens:
                named = replace(tensor, name=self._new(token))
                self.declared.append((Declared(role, named, frozen, shared), token))
                self.outside |= {token.text} if role != "weight" else set()
                self.known[token.text] = named
            if not self.accept(","):
                return

    def _mesh_declared(self, word: Token) -> None:
        """The axes of the mesh, up to the end of the statement."""
        start = self.token
        while self.token.kind != "end" and not self.at(END):
            self.next()
        with self.faults_at(start.start, self.tokens[self.index - 1].end):
            self.mesh += read_mesh(self.written(start) if self.token is not start else "")
        names = [axis.name for axis in self.mesh]
        if len({*names}) < len(names):
            raise self.error("an axis is declared twice", token=word)

    def _repeat(self, word: Token) -> Repeat:
        times, carried = self._times(word), None
        scans = word.text == "scan"
        along = self._scanned_along(times, word) if scans else ""
        alike, over = (None, "") if scans else (self.accept("shared"), self._shared_out(word))
        if self.accept("as"):
            carried, _ = self.separated(self._handed_over, ",")
        own = ("weight",) if scans else ("weight", "cache")  # of each turn: a scan may begin with what a cache has
        outside, stocks = dict(self.known), {d.tensor.name for d, _ in self.declared if d.role in own}
        self.turns.append(Turns(times, frozenset(outside), along))
        body = self._braced(word)
        self.turns.pop()
        collected = {*collected_tensors(body)}
        results = {name: t for name, t in self.known.items() if name not in (*outside, *collected)}
        inside = {str(t.name) for s in statements_in(body) for t in s.operands}
        if early := next(iter(sorted(inside & collected)), None):
            shown = f"{early} is of all turns, and is used in one of them"
            raise self.error(shown, "what the turn itself makes, or a statement behind the braces", token=word)
        if alike:
            self._share(inside, word)
        if carried is not None:
            for pair in carried:
                self._require_carried(pair, carried, outside, results, inside, stocks)
            names_of = tuple((enters.text, leaves.text) for enters, leaves in carried)
            return self._turned_over(Repeat(times, names_of, body, over=over, scans=scans), results)
        last = list(results.values())[-1]
        same = [name for name, t in outside.items() if _alike(t, last)]
        same = [name for name in same if name in inside and name not in stocks]
        if len(same) != 1:
            shown = "no tensor" if not same else " and ".join(same)
            have = "has" if len(same) < 2 else "have"
            expected = f"repeat … as x = {last.name} {{ … }}, where x of a turn is {last.name} of the one before"
            raise self.error(f"{shown} from outside {have} the type of {last.name}, {last}", expected, token=word)
        carries = ((same[0], str(last.name)),)
        return self._turned_over(Repeat(times, carries, body, over=over, scans=scans), results)

    def _turned_over(self, repeat: Repeat, results: Iterable[str]) -> Repeat:
        """A repeat that has been read: what a scan makes has, behind it, a place for each turn."""
        if repeat.scans:
            self._behind_turns(results, spelled_size(repeat.times))
        return repeat

    def _handed_over(self) -> tuple[Token, Token]:
        """What enters a turn, and what of the turn before it is."""
        enters = self.take("word", "a tensor")
        self.expect("=")
        return enters, self.take("word", "a tensor of the body")

    def _require_carried(
        self,
        pair: tuple[Token, Token],
        carried: Sequence[tuple[Token, Token]],
        outside: Mapping[str, Tensor],
        results: Mapping[str, Tensor],
        inside: Container[str],
        stocks: Container[str | None],
    ) -> None:
        """What leaves a turn is made in it, what enters is used in it and no weight, and both have one type; each
        once."""
        enters, leaves = pair
        for token, among in ((enters, outside), (leaves, results)):
            if token.text not in among:
                where = "outside of" if token is enters else "made inside of"
                hint = suggestion(token.text, among)
                expected = f"one of {', '.join(among)}"
                raise self.error(f"{token.text} is no tensor {where} the repeat", expected, hint, token=token)
            if [carried_token.text for both in carried for carried_token in both].count(token.text) > 1:
                raise self.error(f"{token.text} is carried twice", "each tensor once", token=token)
        if enters.text in stocks:
            raise self.error(f"{enters.text} is no input, and each turn has its own", "an input", token=enters)
        if enters.text not in inside:
            raise self.error(f"nothing in the repeat uses {enters.text}", "a statement that does", token=enters)
        first, last = outside[enters.text], results[leaves.text]
        if not _alike(first, last):
            shown = f"{leaves.text} is {last}, and {enters.text} is {first}"
            raise self.error(shown, "what leaves a turn enters the next one: the same type", token=leaves)

    def _shared_out(self, word: Token) -> str:
        """The axis whose chips share out the turns, where there is one."""
        if not self.accept("over"):
            return ""
        axis = self.take("word", "an axis of the mesh")
        if axis.text == "as":
            raise self.error(expected=f"an axis of the mesh, as in {word.text} L over P as x = y {{", token=axis)
        if around := next((outer for outer in self.inside if outer != "accumulate"), None):
            raise self.error(f"a pipeline has no place in {_one(around)}", "microbatches, or nothing", token=word)
        if self.stages is not None:
            raise self.error("two repeats are shared out over an axis", "one pipeline in a program", token=word)
        self.stages = axis
        return axis.text

    def _accumulate(self, word: Token) -> Repeat:
        """Microbatches: what one of them makes is gone after it."""
        times, body = self._times(word), self._braced(word)
        self.gone |= {statement.name for statement in statements_in(body)}
        return Repeat(times, (), body)

    def _times(self, word: Token) -> Formula:
        """How many turns there are."""
        times = self._formula(lambda: self.at("as", "shared", "over", "{", "=", END))
        count = None if names(times) else expression(times)
        if count is not None and not (count.is_integer and count > 0):
            raise self.error(f"{count} is no number of turns", "a whole number, or a size", token=word)
        if self.at("="):
            raise self.error(expected=f"'as' before the names, as in {word.text} L as x = y {{")
        return times

    def _share(self, inside: Container[str], word: Token) -> None:
        """The weights and caches that stand in a repeat are the same in all of its turns."""
        stocks = [i for i, (d, _) in enumerate(self.declared) if d.role != "input" and d.tensor.name in inside]
        if not stocks:
            raise self.error("the turns share no weight", "a weight or a cache in the repeat", token=word)
        for i in stocks:
            declared, token = self.declared[i]
            self.declared[i] = replace(declared, shared=True), token


def _alike(one: Tensor, other: Tensor) -> bool:
    """Whether two tensors have one type, but for dimensions of one place."""
    dims = (tuple(dim for dim in tensor.dims if dim.label != "1") for tensor in (one, other))
    return one.dtype == other.dtype and next(dims) == next(dims)


def _one(word: str) -> str:
    return f"an {word}" if word == "accumulate" else f"a {word}"
