"""Which names a text may use, and how a word splits into them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import takewhile

from symroof.formula import Frozen
from symroof.reading.scanner import Token


class Scope(Frozen):
    """The declared names. An open scope lets single letters and runs of capitals declare themselves.

    With ``indices``, as in typeset mathematics, a letter with any index does so as well. Names are never units, but
    for those that ``give_way``: in ``2 bytes`` the quantity of that name does, unless a problem defines it, and in
    ``4DF bytes``, D and F being ``counts``: numbers without a unit.

    In a document ``letters`` are those that stand alone somewhere in it, and so are names when they are multiplied; a
    ``lenient`` scope reads as much of a chain as can be read: unknown words are opaque names, other sides are gaps.
    ``defined`` are sizes that cannot be given, each with those that it is made of; ``others`` are names for what has one
    of the ``names`` already, each with that.
    """

    names: tuple[str, ...] = ()
    open: bool = False
    indices: bool = False
    give_way: tuple[str, ...] = ()
    counts: tuple[str, ...] = ()
    letters: frozenset[str] | None = None
    lenient: bool = False
    defined: tuple[tuple[str, tuple[str, ...]], ...] = ()
    others: tuple[tuple[str, str], ...] = ()

    def with_others(self, others: Mapping[str, str]) -> Scope:
        """The scope with other names for what it has, where they stand for nothing else in it."""
        free = {name: meant for name, meant in others.items() if name not in self.names}
        return replace(self, names=(*self.names, *free), others=tuple(free.items()))

    def admits(self, word: str) -> bool:
        """Whether a name that nobody declared declares itself here: a letter, or one with a capital suffix; with indices
        primes as well."""
        word = (word.rstrip("'") or word) if self.indices else word
        return self.open and (len(word) == 1 or (word[1] == "_" and (self.indices or word[2:].isupper())))

    def continued(self, word: str, behind: Sequence[Token]) -> int:
        """How many of the tokens behind a word are in one name with it: a figure, peak.int8; an amount of one tensor,
        flops(h); one of an answer, mlp.flops(h); one of an exchange, T_hops(h, W)."""
        before = (None, *behind)
        near = ((token, last) for token, last in zip(behind, before, strict=False))
        texts = [
            t.text for t, last in takewhile(lambda both: not both[0].spaced or (both[1] or both[0]).text == ",", near)
        ]
        whole = (n for n in (5, 3, 2) if len(texts) >= n and f"{word}{''.join(texts[:n])}" in self.names)
        return next((n for n in whole if texts[n - 1]), 0)

    def amounts(self, word: str) -> tuple[str, ...]:
        """The amounts of tensors that a word names: of ``flops`` flops(h) and the others."""
        return tuple(name for name in self.names if name.startswith(f"{word}("))

    def counted(self, word: str) -> bool:
        """Whether a word is a product of numbers without a unit."""
        return bool(split_word(word, self.counts)) or (self.open and word.isupper() and word not in self.names)

    def reads(self, text: str) -> bool:
        """Whether a word is a name here, or splits into some, or is none at all."""
        return not text[:1].isalpha() or bool(split_word(text, self.names)) or self.admits(text)


def split_word(word: str, names: tuple[str, ...]) -> list[tuple[str, ...]]:
    """The splits of ``word`` into declared names: none, the only one, or the first two found.

    >>> split_word("BDF", ("B", "D", "F")), split_word("abc", ("a", "ab", "bc", "c"))
    ([('B', 'D', 'F')], [('a', 'bc'), ('ab', 'c')])
    """
    ways: dict[int, list[tuple[str, ...]]] = {len(word): [()]}
    for start in reversed(range(len(word))):
        prefixes = [name for name in dict.fromkeys(names) if name and word.startswith(name, start)]
        ways[start] = [(name, *rest) for name in prefixes for rest in ways[start + len(name)]][:2]
    return ways[0]


def opaque(words: str) -> str:
    """The name of what only words of a document name, which nothing explains: they stand in quotation marks.

    >>> opaque("batch  size"), is_opaque(opaque("batch size")), is_opaque("T_math")
    ('"batch size"', True, False)
    """
    return f'"{" ".join(words.split())}"'


def is_opaque(name: str) -> bool:
    """Whether a name is words of a document that nothing explains."""
    return name.startswith('"')
