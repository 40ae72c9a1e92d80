"""The amounts of one chip of a played mesh, as formulas in the numbers of chips."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from functools import cached_property, reduce
from operator import mul

from symroof.errors import CheckError
from symroof.formula import Frozen, Name, number
from symroof.proof.collectives import MeshAxis, played
from symroof.proof.exact import Exact
from symroof.proof.meshing import SIZES, Game, Moved, Part
from symroof.proof.polynomials import ONE, Poly, Rat
from symroof.proof.script import Script

# The longest axis that is played in its own size.
LARGEST = 64


class Meshed(Frozen):
    """A script on a mesh; ``keep`` are weights that stay gathered for the backward pass, ``regather`` what does not."""

    script: Script
    mesh: tuple[MeshAxis, ...]
    keep: tuple[str, ...] = ()
    regather: tuple[str, ...] = ()

    @cached_property
    def parts(self) -> Mapping[str, Part]:
        """What the chips do of each act, by its result, on meshes of several sizes alike."""
        first, *others = (Game(self.script, self.mesh, self.keep, self.regather, size).played() for size in SIZES)
        if any(other != first for other in others):
            raise CheckError("meshes of different sizes need different exchanges")
        return first

    def held(self, name: str) -> frozenset[str]:
        """The axes that an array is cut by where it stays, on meshes of several sizes alike."""
        games = (Game(self.script, self.mesh, self.keep, self.regather, size) for size in SIZES)
        first, *others = (game.held(name) for game in games)
        if any(other != first for other in others):
            raise CheckError("meshes of different sizes hold different parts")
        return first

    def saved(self, name: str) -> frozenset[str]:
        """The axes that an array is cut by as it is kept for the backward pass, on meshes of several sizes alike."""
        found = []
        for size in SIZES:
            game = Game(self.script, self.mesh, self.keep, self.regather, size)
            game.played()
            found.append(game.saved(name))
        if any(other != found[0] for other in found):
            raise CheckError("meshes of different sizes keep different parts")
        return found[0]

    def axis(self, name: str) -> MeshAxis:
        return next(axis for axis in self.mesh if axis.name == name)

    def resource(self, axis: MeshAxis) -> str:
        return axis.link if axis.is_switch else axis.name

    def chips(self, axes: Iterable[str], exact: Exact) -> Rat:
        """The number of chips over some axes."""
        sizes = (number(n) if (n := self.axis(name).chips) is not None else Name(name) for name in axes)
        return reduce(mul, map(exact.rational, sizes), Rat(ONE))

    def shares(self, moved: Moved, exact: Exact) -> Iterator[tuple[str, Rat]]:
        """What each resource carries of the message of a collective.

        A chip takes the N - 1 other parts of N through its k incoming directions, or sends them back; an all-reduce does
        both. On a switch it has one port, through which an all-to-all sends one part of N for each chip but its own.
        """
        axes = [axis for axis in map(self.axis, moved.axes) if axis.chips != 1]
        chips, collective = self.chips((axis.name for axis in axes), exact), moved.collective
        if collective == "all-to-all" and axes and not axes[0].is_switch:
            for axis in axes:
                own = self.chips((axis.name,), exact)
                yield axis.name, self._across(axis) * own / chips
        elif axes:
            ways = 1 if axes[0].is_switch else sum(2 if axis.is_ring else 1 for axis in axes)
            if len(axes) == 1:
                _require_played(collective, axes[0], ways)
            for resource in dict.fromkeys(map(self.resource, axes)):
                yield resource, _taken(collective, chips, ways)

    def busiest(self, moved: Moved, exact: Exact) -> Rat:
        """What the resource carries that carries most of the message."""
        shares = [share for _, share in self.shares(moved, exact)]
        if all((share - shares[0]).is_zero() for share in shares):
            return shares[0]
        numbers = [value for share in shares if (value := share.constant) is not None]
        if len(numbers) < len(shares):
            raise CheckError(f"which axis of {', '.join(moved.axes)} carries most is open")
        return Rat(Poly.number(max(numbers)))

    def _across(self, axis: MeshAxis) -> Rat:
        """The part of an all-to-all that the middle of an axis carries: as it is played, the same for all even numbers."""
        whole = axis.chips is not None and axis.chips <= LARGEST
        sizes = [axis.chips or 0] if whole else [4, 6, 8] if not (axis.chips or 0) % 2 else []
        shares = {played("all-to-all", n, axis.is_ring) for n in sizes}
        if len(shares) == 1:
            return Rat(Poly.number(shares.pop()))
        chips = Fraction(axis.chips or 0)
        return Rat(Poly.number(Fraction(int(chips) ** 2 // 4) / (chips**2 * (2 if axis.is_ring else 1))))

    def message(self, moved: Moved, exact: Exact) -> Rat:
        """The bytes of a collective."""
        array = self.script.array[moved.array]
        labels = [label for label in array.labels if not moved.rows or label != moved.over]
        sizes = (number(int(label)) if label.isdigit() else Name(label) for label in labels)
        whole = reduce(mul, map(exact.rational, sizes), Rat(ONE))
        return whole * Rat(Poly.number(Fraction(array.bits * (moved.rows or 1), 8))) / self.chips(moved.apart, exact)


def _taken(collective: str, chips: Rat, ways: int) -> Rat:
    """What comes in through one of so many directions: the parts of all other chips, one part of each for an all-to-all."""
    others = (chips - Rat(ONE)) / chips
    if collective == "all-to-all":
        return others / chips
    return others * Rat(Poly.number(Fraction(2 if collective == "all-reduce" else 1, ways)))


def _require_played(collective: str, axis: MeshAxis, ways: int) -> None:
    """The chips of one axis carry what is said when they play it: as many as there are, else some."""
    whole = axis.chips is not None and axis.chips <= LARGEST
    for n in [axis.chips or 0] if whole else [4, 5, 6]:
        said = _taken(collective, Rat(Poly.number(Fraction(n))), ways).constant
        if said != played(collective, n, axis.is_ring, axis.is_switch):
            raise CheckError(f"{n} chips along {axis.name} carry something else")
