"""Axes over the levels of a tree: against messages that are handed from port to port, and what is said of them."""

from collections import Counter
from fractions import Fraction
from math import prod
from random import Random

import pytest
from effort import draws

import symroof as sr
from symroof.errors import CheckError, SymroofError
from symroof.model import chip_costs, collectives
from symroof.model.collectives import Level, occupied_levels, shares_on_tree, spell
from symroof.proof import chip_recounts
from symroof.proof.exchange_plans import shares_of_levels
from symroof.reading.meshes import read_mesh
from symroof.reading.programs import read_program

COLLECTIVES = ("all-gather", "reduce-scatter", "all-reduce", "all-to-all")
GIVEN = {"leaf": "50 GB/s", "spine": "25 GB/s"}
TEXT = "mesh X{chips} on {tree}; input x: bf16[B, D_X]; weight W: bf16[D_X, F]; y = x * W -> bf16[B, F]"
SIZES = "B=64,D=F=8192"


class Switch:
    """A switch or a chip of a tree that is built as one: with a cable up, and what has gone through it."""

    def __init__(self, up=None, level=None):
        self.up, self.level, self.sent, self.taken = up, level, 0, 0

    @property
    def line(self):
        return [self, *(self.up.line if self.up is not None else ())]


def built(degrees):
    """The chips of a tree, from the top down: each in the order of its switch."""
    nodes = [Switch(level=len(degrees))]
    for i in reversed(range(len(degrees))):
        nodes = [Switch(parent, i) for parent in nodes for _ in range(degrees[i])]
    return nodes


def hand(one, other, amount):
    """From port to port, up as far as the two lines meet and down again."""
    up, down = one.line, other.line
    meeting = next(node for node in up if node in down)
    for node in up[: up.index(meeting)]:
        node.sent += amount
    for node in down[: down.index(meeting)]:
        node.taken += amount


def in_turns(chips, groups, *, back):
    """Each group of chips hands parts round in a ring, one a second, until all have what the others had when it began;
    ``back``: sums of them come in the other way, from the last second to the first. ``chips`` are by their places."""
    has = dict.fromkeys(chips, Fraction(1, len(chips)))
    for ring in (ring for group in groups for ring in group):
        every = sum(has[i] for i in ring)
        for second in range(len(ring) - 1):
            for place, i in enumerate(ring):
                ahead = ring[(place + 1) % len(ring)]
                one, other = (ahead, i) if back else (i, ahead)
                hand(chips[one], chips[other], has[ring[(place - second) % len(ring)]])
        for i in ring:
            has[i] = every
    assert all(part == 1 for part in has.values())


def rings(degrees, first, end):
    """From the top down the chips of one place in the children of a switch, for the levels from first to end."""
    whole = prod(degrees)
    for i in reversed(range(first, end)):
        below = prod(degrees[:i])
        ends = below * degrees[i]
        firsts = [start + place for start in range(0, whole, ends) for place in range(below)]
        yield [[first + child * below for child in range(degrees[i])] for first in firsts]


def loads(degrees, collective):
    """What goes through the busiest port of each level of one network, of a message of one."""
    chips = built(degrees)
    if collective == "all-to-all":
        for one in chips:
            for other in chips:
                if one is not other:
                    hand(one, other, Fraction(1, len(chips) ** 2))
    else:
        for back in {"all-gather": [False], "reduce-scatter": [True], "all-reduce": [True, False]}[collective]:
            in_turns(dict(enumerate(chips)), rings(degrees, 0, len(degrees)), back=back)
    found = Counter()
    nodes = {node for chip in chips for node in chip.line}
    for node in nodes:
        found[node.level] = max(found[node.level], node.sent, node.taken)
    return found


def drawn(random, most=48):
    """A tree of one network, or two of them."""
    while True:
        names = random.sample(["leaf", "spine", "core", "pod"], random.randint(1, 3))
        degrees = [random.randint(1, 5) for _ in names]
        if prod(degrees) <= most:
            each = zip(names, degrees, strict=True)
            return [Level(name, n, Fraction(random.choice((1, 1, 2, 3)))) for name, n in each]


@pytest.mark.parametrize("seed", range(draws(10)))
def test_what_a_level_carries_is_what_goes_through_its_ports(seed):
    random, tried = Random(seed), 0
    for _ in range(100):
        levels = drawn(random)
        degrees, collective = [level.degree for level in levels], random.choice(COLLECTIVES)
        seen, shares = loads(degrees, collective), dict(shares_on_tree(collective, levels))
        for i, level in enumerate(levels):
            each = seen[i] / Fraction(prod(degrees[:i])) * level.taper
            assert shares.get(level.link, 0) == each, (collective, spell(levels))
            tried += each > 0
    assert tried > 100


@pytest.mark.parametrize("seed", range(draws(10)))
def test_both_engines_say_the_same_of_trees(seed):
    random = Random(seed)
    for _ in range(60):
        levels = drawn(random)
        if random.random() < 0.5:
            levels = [Level("NVLink", random.randint(1, 4), sharp=random.random() < 0.3), *levels[:2]]
        sharp = random.random() < 0.3
        levels = tuple(one if one.link == "NVLink" else Level(one.link, one.degree, one.taper, sharp) for one in levels)
        if prod(level.degree for level in levels) > 48:
            continue
        for collective in COLLECTIVES:
            plain = tuple((one.link, one.degree, one.taper, one.sharp) for one in levels)
            second = {name: share.constant for name, share in shares_of_levels(collective, plain)}
            assert dict(shares_on_tree(collective, levels)) == second, spell(levels)


@pytest.mark.parametrize("seed", range(draws(10)))
def test_axes_on_one_tree_share_out_its_levels(seed):
    """The one that is named last is innermost. What a group of one axis sends goes through the same ports as what all others
    do: against rings of chips that are as far apart as the axis says."""
    random, tried = Random(seed), 0
    while tried < 12:
        levels = drawn(random)
        whole = prod(level.degree for level in levels)
        inner = random.choice([n for n in range(1, whole + 1) if whole % n == 0])
        try:
            own = dict(zip("XY", occupied_levels(levels, (inner, whole // inner)), strict=True))
        except SymroofError:
            continue
        tried += 1
        places = {"X": [[i + inner * j for i in range(inner)] for j in range(whole // inner)]}
        places["Y"] = [[i + inner * j for j in range(whole // inner)] for i in range(inner)]
        for axis, groups in places.items():
            chips = built([level.degree for level in levels])
            degrees = [level.degree for level in own[axis]]
            for group in groups:
                rounds = [[[group[i] for i in ring] for ring in each] for each in rings(degrees, 0, len(degrees))]
                in_turns({i: chips[i] for i in group}, rounds, back=False)
            shares = dict(shares_on_tree("all-gather", own[axis]))
            for i, level in enumerate(levels):
                below = prod(one.degree for one in levels[:i])
                seen = max(node.sent for chip in chips for node in chip.line if node.level == i)
                assert shares.get(level.link, 0) == seen / Fraction(below) * level.taper, (axis, spell(levels))
        joined = (one for one in collectives.joined_levels(own.values()) if one.degree > 1)
        assert spell(joined) == spell(one for one in levels if one.degree > 1)


@pytest.mark.thorough
def test_two_axes_of_a_tree_in_a_program():
    """Each has its part of the levels, and both together all of them, as one axis has."""
    tree = "NVLink(8)/leaf(4)/spine(2)"
    both = TEXT.format(chips=" = 4, X = 16", tree=tree).replace("mesh X", "mesh Y").replace("D_X", "D_YX")
    one = TEXT.format(chips="", tree=tree)
    found = [sr.derive(text, on="h100", given=GIVEN, at=SIZES) for text in (both, one)]
    for link in ("NVLink", "leaf", "spine"):
        assert found[0].value(f"sent({link})") == found[1].value(f"sent({link})") > 0
    assert {one.counts()["sampled"] for one in found} == {0}
    assert str(read_program(str(found[0].setting.problem.operation))) == str(found[0].setting.problem.operation)
    inner = both.replace("D_YX", "D_X").replace("x: bf16[B,", "x: bf16[B_Y,").replace("-> bf16[B,", "-> bf16[B_Y,")
    message = 2 * 64 * 8192 / 4
    d = sr.derive(inner, on="h100", given=GIVEN, at=SIZES)
    assert d.value("sent(NVLink)") == message * 2 * 7 / 8
    assert d.value("sent(leaf)") == message * 2 * (1 / 2) / 8
    assert "sent over spine" not in d.to_text()
    outer = both.replace("D_YX", "D_Y").replace("x: bf16[B,", "x: bf16[B_X,").replace("-> bf16[B,", "-> bf16[B_X,")
    d, message = sr.derive(outer, on="h100", given=GIVEN, at=SIZES), 2 * 64 * 8192 / 16
    assert "sent over NVLink" not in d.to_text()
    assert d.value("sent(leaf)") == message * 2 * 3 / 4, "what goes on to the spine passes the leaves"
    assert d.value("sent(spine)") == message * 2 * (1 / 2) / 2
    with pytest.raises(SymroofError, match="and there are 128"):
        sr.derive(both.replace("X = 16", "X = 32"), on="h100", given=GIVEN)


def test_a_network_of_its_own_has_the_part_that_the_other_leaves():
    """NVLink is beside the adapter: of an all-gather each chip gets what the other nodes have of its place by its adapter,
    and the rest by NVLink. It is what an axis for each network carries."""
    tree = dict(shares_on_tree("all-gather", (Level("NVLink", 8), Level("InfiniBand", 4))))
    apart = "mesh Y = 8 on NVLink; mesh Z = 4 on InfiniBand; input x: bf16[B, D]; weight W: bf16[D_YZ, F]; y = x * W -> bf16[B, F]"
    on = "mesh X = 32 on NVLink(8)/InfiniBand; input x: bf16[B, D]; weight W: bf16[D_X, F]; y = x * W -> bf16[B, F]"
    assert tree == {"NVLink": Fraction(7, 8), "InfiniBand": Fraction(3, 32)}
    both = [sr.derive(text, on="h100").setting.problem.operation for text in (apart, on)]
    for link in ("NVLink", "InfiniBand"):
        sent = [chip_costs.sent_by(program, link) for program in both]
        assert sent[0] == sent[1] != 0


@pytest.mark.thorough
@pytest.mark.part(1)
@pytest.mark.parametrize(
    ("tree", "chips", "sent"),
    [
        ("NVLink(8)/leaf(32)/spine(4)", 1024, {"NVLink": (7, 4), "leaf": (127, 512), "spine": (3, 512)}),
        ("NVLink(8)/leaf(32)/spine(4) taper 2", 1024, {"NVLink": (7, 4), "leaf": (127, 512), "spine": (3, 256)}),
        ("NVLink(8) sharp/leaf(32) sharp/spine(4) sharp", 1024, {"NVLink": (1, 1), "leaf": (1, 8), "spine": (1, 256)}),
        ("NVLink(8)/leaf(32)/spine(4)", 64, {"NVLink": (7, 4), "leaf": (7, 32)}),
        ("NVLink(8)/leaf(32)/spine(4)", 4, {"NVLink": (3, 2)}),
        ("leaf(32)/spine", 64, {"leaf": (63, 32), "spine": (1, 32)}),
    ],
)
def test_sums_on_a_tree_are_proved_level_by_level(tree, chips, sent):
    text = TEXT.format(chips=f" = {chips}", tree=tree)
    found = sr.derive(text, on="h100", given=GIVEN, at=SIZES)
    assert found.counts()["sampled"] == 0
    message = 2 * 64 * 8192
    for link, (above, below) in sent.items():
        assert found.value(f"sent({link})") == pytest.approx(message * above / below, rel=1e-12)
        speed = {"NVLink": 4.5e11, "leaf": 5e10, "spine": 2.5e10}[link]
        assert found.value(f"T_{link}") == pytest.approx(message * above / below / speed, rel=1e-12)
    program = found.setting.problem.operation
    assert {*sent} == {name for name in ("NVLink", "leaf", "spine") if chip_costs.sent_by(program, name) != 0}
    assert str(read_program(str(program))) == str(program)
    longest = max(sent, key=lambda link: found.value(f"T_{link}"))
    assert found.value("T_lower") == pytest.approx(max(found.value(f"T_{longest}"), found.value("T_HBM")), rel=1e-12)


def test_all_reduces_of_a_training_step_go_through_a_tree():
    text = TEXT.format(chips=" = 16", tree="NVLink(4)/leaf").replace("B, D_X", "B_X, D").replace("D_X", "D")
    text = text.replace("y = x * W -> bf16[B, F]", "y = x * W -> bf16[B_X, F]")
    found = sr.derive(text, on="h100", given={"leaf": "50 GB/s"}, at=SIZES, training=True)
    assert found.value("sent(NVLink)") == 2 * 8192**2 * 2 * 3 / 4
    assert found.value("sent(leaf)") == 2 * 8192**2 * 2 * 3 / 4 / 4
    assert found.counts()["sampled"] == 0


def test_a_tree_may_be_told_beside_the_text():
    """The number of its chips, or all of it."""
    plain, given = TEXT.format(chips="", tree="NVLink(8)/leaf"), {"leaf": "50 GB/s"}
    whole = sr.derive(plain.replace("mesh X on", "mesh X = 16 on"), on="h100", given=given).to_text()
    assert sr.derive(plain, on="h100", given=given, mesh="X=16").to_text() == whole
    bare = plain.replace("mesh X on NVLink(8)/leaf", "mesh X")
    assert sr.derive(bare, on="h100", given=given, mesh="X=16 on NVLink(8)/leaf").to_text() == whole
    assert "sent" not in sr.derive(plain.replace("X on", "X = 1 on"), on="h100", given=given).to_text()


@pytest.mark.parametrize(
    "tree", ["math(2)/lower(4)", "vector(2)/comms(4)", "upper(2)/steps(4)", "peak(2)/bandwidth(4)", "leaf(2)/D(4)"]
)
def test_a_level_has_a_name_of_its_own(tree):
    given = dict.fromkeys(("leaf", "spine"), "1e9")
    with pytest.raises(SymroofError, match="another name for the "):
        sr.derive(TEXT.format(chips="", tree=tree), on="h100", given={} if "leaf" not in tree else given)
    with pytest.raises(SymroofError, match="Y is a level of the tree of X, and an axis"):
        sr.derive("mesh Y = 2 on ICI; " + TEXT.format(chips="", tree="Y(2)/leaf(4)").replace("B,", "B_Y,"), on="h100")


def test_beside_a_tree_there_may_be_another_network():
    text = TEXT.format(chips=" = 8", tree="leaf(4)/spine").replace("D_X", "D_XY")
    text = text.replace("mesh X", "mesh Y = 8 on NVLink; mesh X")
    found = sr.derive(text, on="h100", given=GIVEN, at=SIZES)
    message = 2 * 64 * 8192
    assert found.value("sent(NVLink)") == message * 2 * 7 / 8
    assert found.value("sent(leaf)") == message / 8 * 2 * 7 / 8
    assert found.value("sent(spine)") == message / 8 * 2 * 1 / 2 / 4


ERRORS = [
    ("NVLink(8)/leaf", "", "any number of chips", "a number of them"),
    ("NVLink(8)/leaf(4)", " = 64", "joins 32 chips, and there are 64", "fewer chips"),
    ("NVLink(8)/leaf(4)", " = 12", "NVLink of NVLink(8)/leaf(4) joins 8, and 12", "a multiple of 8"),
    ("NVLink/leaf(4)", " = 12", "NVLink of NVLink/leaf(4) has no degree", "NVLink(8)"),
    ("NVLink(16)/leaf(4)", "", "NVLink joins 8 H100 SXM", "at most NVLink(8)"),
    ("leaf(8)/leaf(4)", "", "has leaf twice", "a name for each"),
    ("ICI(8)/leaf(4)", "", "ICI is no switch", "a network of switches"),
    ("HBM(8)/leaf(4)", "", "HBM is no network", "a network between chips"),
    ("leaf(8)/(4)", "", "'(4)' is no level", "levels from the chips up"),
    ("leaf(8) taper 0.5/spine(4)", "", "a taper of 0.5 is below 1", "narrower"),
    ("leaf(8) sharp/spine(4)", "", "only some of leaf and spine add up", "sharp for each"),
    ("leaf(0)/spine(4)", "", "leaf(0) joins nothing", "from 1"),
]


@pytest.mark.parametrize(("tree", "chips", "problem", "cure"), ERRORS)
def test_what_is_no_tree_is_refused(tree, chips, problem, cure):
    with pytest.raises(SymroofError) as caught:
        sr.derive(TEXT.format(chips=chips, tree=tree), on="h100", given=GIVEN)
    assert problem in str(caught.value)
    assert cure in str(caught.value)


def test_what_stands_beside_a_tree_or_on_it_is_refused():
    one = TEXT.format(chips="", tree="NVLink(8)/leaf(4)")
    two = one.replace("mesh", "mesh Y = 2 on NVLink; mesh").replace("B,", "B_Y,")
    stages = "mesh P on NVLink(2)/leaf(2); input x: bf16[B, D]; weight W: bf16[D, E]; weight V: bf16[E, D]; accumulate M { repeat L over P as x = y { h = x * W -> bf16[B, E]; y = h * V -> bf16[B, D] } }"
    level = "Y is on NVLink, which is a level of the tree of X"
    for text, given, said in (
        (two, GIVEN, level),
        (stages, GIVEN, "goes through other ports"),
        (one, {}, "no figure leaf"),
    ):
        with pytest.raises(SymroofError, match=said):
            sr.derive(text, on="h100", given=given)
    with pytest.raises(SymroofError, match="wired twice"):
        read_mesh({"X": "4 ring on leaf(2)/spine"})


def test_a_tree_of_one_level_is_a_switch_and_empty_levels_cost_nothing():
    for collective in COLLECTIVES:
        ((_, one),) = shares_on_tree(collective, (Level("leaf", 8),))
        (axis,) = read_mesh("X=8 on leaf switch")
        assert [one] == [share for _, share in chip_costs.shares(collective, (axis,))]
        whole = dict(shares_on_tree(collective, (Level("leaf", 8), Level("spine", 1))))
        assert whole == {"leaf": one}
    assert [*map(spell, occupied_levels(read_mesh("X=4 on NVLink(8)/leaf(4)")[0].tree, (4,)))] == ["NVLink(4)"]


@pytest.mark.parametrize("collective", COLLECTIVES)
@pytest.mark.parametrize("engine", ["first", "second"])
def test_a_fault_in_what_levels_carry_is_noticed(collective, engine, monkeypatch):
    left, right, result = {
        "all-reduce": ("B, D_X", "D_X, F", "B, F"),
        "all-gather": ("B, D", "D_X, F", "B, F"),
        "reduce-scatter": ("B, D_X", "D_X, F", "B_X, F"),
        "all-to-all": ("B_X, D", "D, F", "B, F_X"),
    }[collective]
    tensors = f"input x: bf16[{left}]; weight W: bf16[{right}]; y = x * W -> bf16[{result}]"
    text = f"mesh X on NVLink(2)/leaf(2)/spine(3); {tensors}"
    costs = chip_costs.chip_costs(sr.derive(text, on="h100", given=GIVEN).setting.problem.operation).values()
    assert {one.collective for cost in costs for one in cost.moves} == {collective}
    if engine == "first":

        def wrong(*of):
            return ((link, share * 2 if link == "leaf" else share) for link, share in shares_on_tree(*of))

        monkeypatch.setattr(chip_costs, "shares_on_tree", wrong)
    else:
        monkeypatch.setattr(chip_recounts, "shares_of_levels", lambda *a: ((n, s + s) for n, s in shares_of_levels(*a)))
    with pytest.raises(CheckError):
        sr.derive(text, on="h100", given=GIVEN)


def test_a_level_that_drops_what_goes_on_is_a_wrong_claim():
    """(d - 1)/d of a level forgets what passes through it on its way further up."""
    problem = {"operation": TEXT.format(chips="", tree="leaf(8)/spine(4)"), "hardware": "h100", "given": GIVEN}
    claims = {"sent(leaf) = 2*2*B*F*31/32": "holds", "sent(leaf) = 2*2*B*F*7/8": "wrong"}
    claims |= {"sent(spine) = 2*2*B*F*3/4/8": "holds"}
    report = sr.verify({**problem, "claims": [*claims]})
    assert [one.verdict for one in report.judgements] == [*claims.values()]
