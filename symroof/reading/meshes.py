"""The axes of a mesh: how many chips each has, over which link they speak, and how they are wired.

    mesh  = group { ";" group }                    X, Y=4 on ICI; M on DCN switch
    group = axis { "," axis } [ "on" LINK [ wiring ] ]
          | axis "on" level { "/" level }           X=1024 on NVLink(8)/leaf(32)/spine taper 2
    axis  = NAME [ "=" CHIPS ] [ wiring ]           an axis without a number stands for any
    wiring = "ring" | "line" | "switch"
    level = LINK [ "(" DEGREE ")" ] [ "taper" NUMBER ] [ "sharp" ]

A table says the same of each axis: ``{ X = "16 ring", M = "on DCN" }``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from math import prod
from typing import Any

from symroof.errors import ReadingError, SymroofError, about, suggestion
from symroof.formula import FUNCTIONS, KEYWORDS
from symroof.model.collectives import NETWORKS, TREE, WIRINGS, Level, Mesh, MeshAxis, require_levels, spell
from symroof.model.hardware import Accelerator
from symroof.model.mesh_wiring import with_wiring
from symroof.model.program import Program
from symroof.model.quantities import QUANTITIES, Owner, quantities_of, time_name
from symroof.model.splits import require_axes
from symroof.model.transforms import split_over
from symroof.reading.chips import shipped
from symroof.reading.name_scope import split_word

LARGEST_MESH_AXIS = 10**9
AXIS = re.compile(r"[A-Z][A-Za-z0-9]*")
# Names that the figure of a link, or the time that it takes, would share with something else.
TAKEN = {
    *quantities_of(Owner.OPERATION, Owner.PROGRAM, Owner.SIZES),
    *FUNCTIONS,
    *KEYWORDS,
    "vector",
    "steps",
    "latency",
    "hops",
    "chips",
}
ON_TREE = re.compile(r"(?:^|\s)on\s+([^,;]*[/(][^,;]*?)\s*$")
LEVEL = re.compile(r"([A-Za-z]\w*)(?:\((\d{1,9})\))?(?:\s+taper\s+(\d{1,6}(?:\.\d{1,6})?))?(\s+sharp)?")
ON_LINK = re.compile(r"(?:^|\s)on\s+([^\s,;]+)(?:\s+([a-z]+))?\s*$")


def axes_of(mesh: Any) -> Any:
    """A mesh on one line as a table, each axis with what is said of it; anything else as it is.

    >>> axes_of("X, Y=4 on ICI; M=2 on DCN switch")
    {'X': 'on ICI', 'Y': '4 on ICI', 'M': '2 on DCN switch'}
    """
    if not isinstance(mesh, str):
        return mesh
    table: dict[str, str] = {}
    for group in mesh.split(";"):
        shared = ON_TREE.search(group) or ON_LINK.search(group)
        behind = " ".join(filter(None, ("on", *shared.groups()))) if shared else ""
        for part in (group[: shared.start()] if shared else group).split(","):
            name, sign, value = (piece.strip() for piece in part.partition("="))
            if not sign:
                name, _, value = name.partition(" ")
            if not name or (sign and not value):
                raise ReadingError(f"mesh: {part.strip() or mesh!r} is no axis", expected="axes as in X=2, or X")
            if name in table:
                raise ReadingError(f"mesh: {name} is given twice")
            table[name] = f"{value.strip()} {behind}".strip()
    return table


def read_mesh(mesh: Any) -> tuple[MeshAxis, ...]:
    """The axes of a mesh.

    >>> [(axis.name, axis.chips, axis.wiring, axis.link) for axis in read_mesh("X=16 ring, Y; M=2 on DCN")]
    [('X', 16, 'ring', None), ('Y', None, None, None), ('M', 2, None, 'DCN')]
    """
    table = axes_of(mesh)
    if not isinstance(table, Mapping):
        raise ReadingError(f"mesh = {str(mesh)[:60]} is not a mesh", expected="axes and sizes, as in X=2")
    return tuple(_axis(str(name).strip(), value) for name, value in table.items())


def laid_out(operation: Program, mesh: Iterable[str]) -> Program:
    """The operation with ``D_XY`` split over X and Y, where these are axes of the mesh.

    >>> from symroof.reading.operations import read_operation
    >>> operation = laid_out(read_operation("bf16[B_XY, D] * bf16[D, F] -> bf16[B_XY, F]"), ("X", "Y"))
    >>> operation.axes
    ('X', 'Y')
    """
    names = tuple(mesh)

    def split(axes: tuple[str, ...]) -> tuple[str, ...]:
        letters: list[str] = []
        for written in axes:
            ways = split_word(written, names)
            if len(ways) > 1:
                readings = " or ".join(" and ".join(way) for way in ways)
                raise ReadingError(f"a split over {written} has two readings", expected=readings)
            letters += ways[0] if ways else (written,)
        return tuple(letters)

    return split_over(operation, split)


def meshed(operation: Program, mesh: Mesh) -> tuple[Program, Mesh]:
    """An operation on a mesh: the axes of a program are those of its text and those that are said beside it. An axis of one
    chip is no axis.

    Raises :class:`~symroof.errors.ReadingError` where the two say different things of one axis.
    """
    said_again = operation.line is not None and mesh  # beside a product: all of it
    own = {axis.name: axis for axis in (() if said_again else operation.mesh)}
    for name, axis in mesh.items():
        for key in ("chips", "wiring", "link"):
            parts = [value for part in (own.get(name), axis) if part and (value := getattr(part, key)) is not None]
            if len({*parts}) > 1:
                raise ReadingError(
                    f"mesh: {name} has {parts[0]} in the program and {parts[1]} beside it",
                    hint=f'write "mesh {name}" in the program to leave it open, or {parts[1]} there',
                )
            if parts:
                own[name] = replace(own.get(name, axis), **{key: parts[0]})
        own.setdefault(name, axis)
        if tree := next((part.tree for part in (own[name], axis) if part.tree), ()):
            own[name] = replace(own[name], tree=tree)
    _require_distinct(operation, own)
    operation = laid_out(operation, own)
    require_axes(operation.written.values(), own)
    single = {name for name, axis in own.items() if axis.chips == 1}
    if single:
        operation = split_over(operation, lambda axes: tuple(axis for axis in axes if axis not in single))
        own = {name: axis for name, axis in own.items() if name not in single}
    return replace(operation, mesh=tuple(own.values())), own


def wired_otherwise(
    operation: Program, chips: Iterable[Accelerator | None], link: str, points: Iterable[Mapping[str, Fraction]]
) -> dict[str, int]:
    """The axes without a number to which every set of sizes gives one and the same, of chips that on one of these are wired
    otherwise than any number of them is, as eight that close to no ring: they have that number."""
    sets, sizes = tuple(points), dict[str, int]()
    given = {axis.name: {point.get(axis.name) for point in sets} for axis in operation.mesh if axis.chips is None}
    same = (
        {name: number for name, (number, *others) in given.items() if number is not None and not others} if sets else {}
    )
    for chip in chips if same else ():
        with suppress(SymroofError):  # what a chip lacks is said where its figures are asked for
            for axis in with_wiring(operation, chip, link).mesh:
                number = same.get(axis.name)
                if number is None or number.denominator != 1 or not 0 < number <= LARGEST_MESH_AXIS:
                    continue
                if number == 1 and not operation.latency:
                    continue  # one chip sends nothing, whatever the wiring; but where hops count, none are left
                if number % 2 or axis.numbered(int(number)).wiring != axis.wiring:
                    sizes[axis.name] = int(number)
    return sizes


def _require_distinct(operation: Program, mesh: Mesh) -> None:
    """No axis reads as several others, and none without a number is called as a size is."""
    links = {link: axis for axis in mesh.values() for link in axis.links}
    for name in (*mesh, *operation.dimensions):
        if name in links:
            kind, whole = ("level", "a level of the tree") if links[name].tree else ("link", "the link")
            shown = f"mesh: {name} is {whole} of {links[name].name}, and {'an axis' if name in mesh else 'a size'}"
            raise ReadingError(shown, expected=f"another name for the {kind}")
    for name, axis in mesh.items():
        others = tuple(other for other in mesh if other != name)
        if ways := split_word(name, others):
            shown = f"mesh: {name} reads as {' and '.join(ways[0])} too: D_{name} would have two readings"
            raise ReadingError(shown, expected="another name for one of them")
        if axis.chips is None and name in operation.dimensions:
            raise ReadingError(f"mesh: {name} is an axis, and a size of the operation", expected="another name for one")


def _axis(name: str, value: Any) -> MeshAxis:
    if not AXIS.fullmatch(name):
        raise ReadingError(f"mesh: {name[:20]!r} is not a mesh axis", expected="capitals, as in X=2")
    if name in _figures():
        raise ReadingError(f"mesh: {name} is a memory or a link", expected="another name", hint=f"X on {name}")
    tree = ON_TREE.search(str(value))
    words, chips, wiring, link = str(value)[: tree.start() if tree else None].split(), None, None, None
    if words and words[0] not in (*WIRINGS, "on"):
        digits = words.pop(0)
        if not (digits.isascii() and digits.isdigit()) or not 1 <= int(digits[:12]) <= LARGEST_MESH_AXIS:
            shown = f"mesh: {name} = {digits[:20]!r} is not a number of chips"
            raise ReadingError(shown, expected="a whole number from 1", hint=suggestion(digits, WIRINGS))
        chips = int(digits)
    while words:
        word = words.pop(0)
        if word == "on" and words and link is None:
            link = words.pop(0)
            _require_link(name, link)
            continue
        if word not in WIRINGS or wiring is not None:
            shown = f"mesh: {name} = {str(value)[:20]!r}: {word[:20]!r} is no wiring"
            raise ReadingError(shown, expected=", ".join(WIRINGS), hint=suggestion(word, WIRINGS))
        wiring = word
    if tree:
        if wiring is not None or link is not None:
            raise ReadingError(f"mesh: {name} = {str(value)[:40]!r} is wired twice", expected="on a tree alone")
        return _on_tree(name, chips, tree[1])
    if wiring == "ring" and chips is not None and chips <= 2:
        raise ReadingError(f"mesh: {name} = {chips} is no ring", expected="at least three chips")
    return MeshAxis(name, chips, wiring, link)


def _require_link(axis: str, link: str) -> None:
    """Raises :class:`~symroof.errors.ReadingError` where a link has a name that means something else."""
    if link in TAKEN or time_name(link) in QUANTITIES:
        shown = f"mesh: {axis}: {link} is the name of a quantity, and T_{link} of a time"
        raise ReadingError(shown, expected="another name for the link, or the level, as fabric")
    if link.partition(".")[0] in _figures() - {*NETWORKS}:
        raise ReadingError(f"mesh: {axis}: {link} is no network", expected="a network between chips, as ICI or fabric")


def _figures() -> set[str]:
    """What the figures of chips are called, before their dots."""
    return {figure.partition(".")[0] for figure in shipped().figures}


def _on_tree(name: str, chips: int | None, written: str) -> MeshAxis:
    """An axis over the levels of a tree.

    >>> axis = _on_tree("X", 64, "NVLink(8)/leaf(32)/spine taper 2")
    >>> axis.chips, axis.link, [level.degree for level in axis.tree]
    (64, 'NVLink(8)/leaf(32)/spine taper 2', [8, 32, None])
    """
    levels = tuple(_level(name, part.strip()) for part in written.split("/"))
    with about(f"mesh: {name}: "):
        require_levels(levels)
        number = prod(level.degree or 1 for level in levels) if all(level.degree for level in levels) else None
    return MeshAxis(name, chips or number, TREE, spell(levels), tree=levels)


def _level(name: str, written: str) -> Level:
    match = LEVEL.fullmatch(written)
    if not match:
        expected = "levels from the chips up, as in NVLink(8)/leaf(32)/spine taper 2"
        raise ReadingError(f"mesh: {name}: {written[:40]!r} is no level of a tree", expected=expected)
    link, degree, taper, sharp = match.groups()
    if NETWORKS.get(link) is False:
        raise ReadingError(f"mesh: {name}: {link} is no switch", expected="a network of switches, as NVLink or leaf")
    _require_link(name, link)
    if degree is not None and int(degree) < 1:
        raise ReadingError(f"mesh: {name}: {link}({degree}) joins nothing", expected="how many it joins, from 1")
    width = Fraction(taper or 1)
    if width < 1:
        raise ReadingError(f"mesh: {name}: a taper of {taper} is below 1", expected="by what factor ports are narrower")
    return Level(link, None if degree is None else int(degree), width, bool(sharp))
