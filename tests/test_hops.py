"""Exchanges whose latency counts: against messages that are handed from chip to chip, round by round; the times against sums
in fractions; and what is said of them."""

from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import floor, prod
from random import Random

import pytest
from effort import draws
from random_splits import random_splits

import symroof as sr
from symroof.derivation import quantity_definitions, times
from symroof.errors import CheckError, SymroofError
from symroof.formula import Name
from symroof.model import chip_costs, collectives, resources
from symroof.model.collectives import Level, MeshAxis
from symroof.proof.step import number_of

CHIP = {"peak": "1e12", "HBM": "1e10", "ICI": "1e9", "ICI.latency": "1e-6", "NVLink": "4e9", "NVLink.latency": "5e-7"}
MLP = "input x: bf16[B, D_X]; weight W: bf16[D_X, F]; weight V: bf16[F, D]; h = x * W -> bf16[B, F]; y = h * V -> bf16[B, D_X]"
SPLIT = {
    "all-gather": "input x: bf16[B, D]; weight W: bf16[D_{0}, F]; y = x * W -> bf16[B, F]",
    "all-gather after": "input x: bf16[B, D]; weight W: bf16[D, F_{0}]; h = x * W -> bf16[B, F_{0}]; y = h -> bf16[B, F]",
    "reduce-scatter": "input x: bf16[B, D_{0}]; weight W: bf16[D_{0}, F]; y = x * W -> bf16[B, F_{0}]",
    "all-reduce": "input x: bf16[B, D_{0}]; weight W: bf16[D_{0}, F]; y = x * W -> bf16[B, F]",
    "all-to-all": "input x: bf16[B_{0}, D]; weight W: bf16[D, F]; h = x * W -> bf16[B_{0}, F]; y = h -> bf16[B, F_{0}]",
}
TWICE = ("all-reduce",)


def neighbours(place, axes):
    """The chips that are joined with one by a cable: along each axis the next, and where it closes the first and the last; by a
    switch all."""
    for i, (chips, wiring) in enumerate(axes):
        for there in range(chips):
            near = abs(there - place[i]) == 1 or (wiring == "ring" and chips > 2 and abs(there - place[i]) == chips - 1)
            if there != place[i] and (near or wiring == "switch"):
                yield (*place[:i], there, *place[i + 1 :])


def rounds(axes):
    """After how many rounds every chip has heard of every other one, where each tells its neighbours what it has."""
    chips = list(product(*(range(n) for n, _ in axes)))
    heard, count = {chip: {chip} for chip in chips}, 0
    while any(len(one) < len(chips) for one in heard.values()):
        heard = {chip: heard[chip].union(*(heard[other] for other in neighbours(chip, axes))) for chip in chips}
        count += 1
    return count


def written(axes):
    return "; ".join(f"{name}={n} on {'NVLink' if w == 'switch' else 'ICI'} {w}" for name, (n, w) in axes.items())


def said(point, name):
    """The number that a quantity is said to be."""
    return point.number(number_of(name))


def derived(text, **options):
    return sr.derive(text, on=CHIP, latency=True, **options)


@pytest.mark.parametrize("kind", SPLIT)
@pytest.mark.parametrize("seed", range(3))
def test_hops_are_the_rounds_of_messages_between_neighbours(kind, seed):
    chosen = Random(f"{kind} {seed}")
    for _ in range(draws(4)):
        wiring = chosen.choice(("ring", "line", "switch", "ring", "line"))
        least = 3 if wiring == "ring" else 2
        axes = {name: (chosen.randint(least, 7), wiring) for name in chosen.choice(("X", "XY", "X"))}
        found = derived(SPLIT[kind].format("".join(axes)), mesh=written(axes))
        wanted = (1 if wiring == "switch" else rounds(list(axes.values()))) * (2 if kind in TWICE else 1)
        counted = {s.left.name: s.right.value for s in found.steps if s.reason.value == "hops"}
        assert list(counted.values()) == [wanted], (axes, counted)
        latency = Fraction(CHIP[f"{'NVLink' if wiring == 'switch' else 'ICI'}.latency"])
        sizes = dict.fromkeys("BDF", prod(n for n, _ in axes.values()))
        at = derived(SPLIT[kind].format("".join(axes)), mesh=written(axes), at=sizes)
        assert said(at.answer.at[0], "T_latency") == wanted * latency


def stepped(chips, ring, message, latency, width):
    """An all-gather, round by round: every chip hands the part that came last on to either side, half of it each way in the last
    round of an even ring. A round takes as long as its largest part, or a hop."""
    part, has, time = Fraction(message, chips), {i: {(i, 0), (i, 1)} for i in range(chips)}, Fraction(0)
    for turn in range(1, (chips // 2 if ring else chips - 1) + 1):
        halved, largest = ring and 2 * turn == chips, Fraction(0)
        for sender in range(chips):
            for way in (1, -1):
                there, origin = sender + way, sender - way * (turn - 1)
                if not ring and not (0 <= there < chips and 0 <= origin < chips):
                    continue
                there, origin = there % chips, origin % chips
                halves = {(origin, 0 if way == 1 else 1)} if halved else {(origin, 0), (origin, 1)}
                assert halves <= has[sender]
                has[there] |= halves
                largest = max(largest, part / 2 if halved else part)
        time += max(latency, largest / width)
    assert all(len(parts) == 2 * chips for parts in has.values())
    return time


@pytest.mark.thorough
def test_the_larger_of_hops_and_bytes_is_the_time_from_hop_to_hop_or_at_most_a_sixth_less():
    """Equal on lines and odd rings, and never more than what it takes: V from far below to far above where bandwidth takes over."""
    latency, width, equal, worst = Fraction(1), Fraction(1), 0, Fraction(1)
    for chips, ring, twelfths in product(range(2, 11), (False, True), range(1, 90)):
        message = Fraction(twelfths * chips, 12)
        ways = 2 if ring and chips > 2 else 1
        far = chips // 2 if ways == 2 else chips - 1
        taken = max(far * latency, (chips - 1) * message / (chips * ways) / width)
        time = stepped(chips, ways == 2, message, latency, width)
        assert taken <= time
        equal += taken == time
        if ways == 1 or chips % 2:
            assert taken == time
        worst = max(worst, time / taken)
        found = collectives.hops("all-gather", [MeshAxis("X", chips, "ring" if ring else "line", "ICI")])
        assert found == {"ICI.latency": far}
    assert worst == Fraction(7, 6)
    assert equal > 500


@pytest.mark.thorough
def test_times_are_the_longer_of_both_exchange_by_exchange():
    """Each statement against fractions of its own: the product, its memory, and what is exchanged."""
    chosen, seen = Random(5), set()
    figure = {name: Fraction(value) for name, value in CHIP.items()}
    for _ in range(16):
        n, wiring = chosen.choice(((2, "line"), (4, "line"), (4, "ring"), (6, "ring")))
        B, D, F = (12 * chosen.choice((1, 2, 8, 32, 128, 512)) for _ in "BDF")
        found = derived(MLP, mesh=f"X={n} {wiring}", at={"B": B, "D": D, "F": F}).answer.at[0]
        ways = 2 if wiring == "ring" and n > 2 else 1
        far = 2 * (n // 2 if ways == 2 else n - 1)
        math = Fraction(2 * B * D * F, n) / figure["peak"]
        memory = [Fraction(2 * (B * D + D * F) + 2 * n * B * F, n), Fraction(2 * n * B * F + 2 * D * F + 2 * B * D, n)]
        memory = [amount / figure["HBM"] for amount in memory]
        moved = Fraction(2 * (n - 1) * 2 * B * F, n * ways) / figure["ICI"]
        waits = far * figure["ICI.latency"]
        seen.add(moved > waits)
        took = max(moved, waits)
        assert said(found, "T_latency") == waits
        assert said(found, "T_X") == moved
        assert said(found, "T_lower") == max(2 * math, sum(memory), moved, waits)
        assert said(found, "T_steps") == max(math, memory[0], took) + max(math, memory[1])
        assert said(found, "T_upper") == 2 * math + sum(memory) + took
    assert seen == {True, False}


def test_in_each_turn_of_a_repeat_hops_come_anew_and_the_longest_is_one_of_them():
    text = "input x: bf16[B_X, D]; repeat L as x = z { weight W: bf16[D, F_X]; weight V: bf16[F_X, D]; "
    text += "h = x * W -> bf16[B, F_X]; z = h * V -> bf16[B_X, D] }"
    found = derived(text, mesh="X=4 line", at={"B": 4, "D": 8, "F": 8, "L": 100}).answer.at[0]
    assert said(found, "T_latency") == Fraction(3, 10**6)
    assert said(found, "T_steps") >= 600 * Fraction(1, 10**6)
    assert said(found, "T_lower") < Fraction(1, 10**5)


@pytest.mark.parametrize("training", [False, True])
def test_stages_share_out_the_turns_in_which_hops_come(training):
    """L/P turns of each of M microbatches; the wait makes what stages do longer, hops as well."""
    text = "input x: bf16[B, D]; accumulate M { repeat L over P as x = z { weight W: bf16[D, F_Y]; weight V: bf16[F_Y, D]; "
    text += "h = x * W -> bf16[B, F_Y]; z = h * V -> bf16[B, D] } }"
    found = derived(text, mesh="P=4 line; Y=4 line", training=training, at={"B": 8, "D": 8, "F": 8, "L": 8, "M": 4})
    here, hop = found.answer.at[0], Fraction(1, 10**6)
    assert said(here, "T_latency") == 6 * hop
    each = (
        (2 if training else 1) * 2 * 4 * 6
    )  # L/P turns of M all-reduces, forward and back; sends go over another link
    bubble = Fraction(3, 7)
    assert said(here, "T_steps") >= each * hop / (1 - bubble)
    assert said(here, "T_steps") < (each + 1) * hop / (1 - bubble)
    assert said(here, "T_lower") <= said(here, "T_steps") <= said(here, "T_upper")


@pytest.mark.thorough
def test_random_programs_keep_their_order_and_say_the_hops_of_all_they_send():
    chip, done = CHIP | {"DCN": "1e8", "DCN.latency": "1e-5"}, 0
    for seed in range(400):
        if done == draws(16):
            break
        options = {"on": chip, "training": seed % 2 == 1, "at": "B=D=F=H=1440"}
        try:
            plain = sr.derive(random_splits(seed), **options)
        except SymroofError:
            continue
        every = chip_costs.chip_costs(plain.setting.problem.operation).values()
        sends = {move.axes for cost in every for move in cost.moves}
        if not sends:
            continue
        here, done = sr.derive(random_splits(seed), latency=True, **options).answer.at[0], done + 1
        assert said(here, "T_lower") == max(said(plain.answer.at[0], "T_lower"), said(here, "T_latency"))
        assert said(here, "T_lower") <= said(here, "T_steps") <= said(here, "T_upper")
        assert said(plain.answer.at[0], "T_steps") <= said(here, "T_steps")
    assert done == draws(16)


def test_several_exchanges_of_one_statement_take_the_longer_of_both_each_by_itself():
    """One is bound by its hops and the other by its bytes: no longest of sums is the sum of the longest."""
    text = "input x: bf16[B_X, D]; weight W: bf16[D_X, F]; y = x * W -> bf16[B, F_X]"
    sizes, width, hop = {"B": 4096, "D": 64, "F": 4}, Fraction(10**9), Fraction(1, 10**6)
    found = derived(text, mesh="X=4 line", at=sizes)
    parts = {m.tensor.name: m for m in chip_costs.chip_costs(found.setting.problem.operation)["y"].moves}
    assert {name: move.collective for name, move in parts.items()} == {"x": "all-gather", "W": "all-to-all"}
    sent = {"x": Fraction(3, 4) * 2 * 4096 * 64, "W": Fraction(4, 16) * 2 * 64 * 4}
    gathered = {name: n / width for name, n in sent.items()}
    each = {name: max(time, 3 * hop) for name, time in gathered.items()}
    assert gathered["x"] > 3 * hop > gathered["W"]
    here = found.answer.at[0]
    assert said(here, "T_upper") - said(here, "T_math") - said(here, "T_HBM") == sum(each.values())
    assert max(sum(gathered.values()), 6 * hop) < sum(each.values())


@pytest.mark.thorough
def test_a_tree_takes_the_switches_on_the_way_and_two_networks_are_two_axes():
    given = {"leaf": "1e9", "spine": "1e9", "leaf.latency": "2e-6", "spine.latency": "3e-6"}
    chip, text = CHIP | given, SPLIT["all-gather after"]
    sizes, one = {"B": 64, "D": 64, "F": 64}, Fraction(1, 2 * 10**6)

    def latency(mesh, axes="X", kind=text):
        found = sr.derive(kind.format(axes), on=chip, latency=True, mesh=mesh, at=sizes)
        return said(found.answer.at[0], "T_latency")

    assert latency("X=8 on leaf(4)/spine(2)") == Fraction(2 * 2 + 3, 10**6)
    assert latency("X=8 on NVLink(4)/leaf(2)") == one + Fraction(2, 10**6)
    assert latency("X=8 on NVLink(2)/leaf(2)/spine(2)") == one + Fraction(2 * 2 + 3, 10**6)
    assert latency("X=4 on NVLink(4)/leaf(2)") == one
    assert latency("X=8 on leaf(4)/spine(2)", kind=SPLIT["all-reduce"]) == 2 * Fraction(2 * 2 + 3, 10**6)
    assert latency("X=8 on NVLink(2)/leaf(2)/spine(2)", kind=SPLIT["all-to-all"]) == Fraction(2 * 2 + 3, 10**6)
    levels = (Level("NVLink", 8), Level("leaf", 4), Level("spine", 2))
    tree = collectives.hops("all-gather", [MeshAxis("X", 64, "tree", "t", levels=levels)])
    apart = collectives.hops("all-gather", [MeshAxis("X", 8, "tree", "t", levels=levels[1:])])
    inner = collectives.hops("all-gather", [MeshAxis("Y", 8, "switch", "NVLink")])
    assert tree == {**inner, **apart}


def test_without_the_option_nothing_is_said_of_latency_and_one_chip_waits_for_none():
    plain, alone = sr.derive(MLP, on=CHIP, mesh="X=4"), derived(MLP, mesh="X=1")
    for found in (plain, alone):
        assert "T_latency" not in found.to_json()
        assert "hops" not in found.to_json()
    assert "latency is not counted" in plain.to_text()
    assert "its hops times their latency" in derived(MLP, mesh="X=4").to_text()


@pytest.mark.thorough
def test_where_bandwidth_takes_over_both_sides_are_as_said():
    chosen, sides = Random(3), set()
    for _ in range(6):
        n, F = chosen.choice((2, 4, 8)), 2 ** chosen.randint(3, 9)
        found = derived(MLP, mesh=f"X={n} line", at={"D": 64, "F": F})
        longer = next(s for s in found.steps if s.reason.value == "takes_over")
        least, share = longer.facts.least.value, Fraction(2 * (n - 1), n)
        assert least == 2 * (n - 1) * Fraction(1, 10**6) * 10**9 / share  # hops, latency, W
        for B in {max(floor(least / (2 * F)), 1), floor(least / (2 * F)) + 1}:
            here = derived(MLP, mesh=f"X={n} line", at={"B": B, "D": 64, "F": F}).answer.at[0]
            bytes_longer = said(here, "T_X") > said(here, "T_latency")
            assert bytes_longer is (least < 2 * B * F)
            sides.add(bytes_longer)
    assert sides == {True, False}


def test_an_exchange_of_several_is_named_with_its_tensor_and_programs_are_memory_bound_too():
    text = "input x: bf16[B_X, D]; weight W: bf16[D_X, F]; y = x * W -> bf16[B, F_X]"
    claims = ["hops_ICI(y,x) = 3", "hops_ICI(y, W) = 3", "sent_X(y, x) = 3BD/2", "sent_X(y, W) = DF/2"]
    claims += ["sent_X(y, x) = DF/2"]
    problem = {"operation": text, "hardware": CHIP, "mesh": {"X": "4 line"}, "latency": True, "claims": claims}
    assert [one.verdict for one in sr.verify(problem).judgements] == ["holds"] * 4 + ["wrong"]
    one = {"operation": "input x: bf16[B, D]; weight W: bf16[D, F]; y = x * W -> bf16[B, F]", "hardware": "tpu-v5e"}
    claims = [f"memory-bound when B < {bound} as B << D, F" for bound in ("9850/41", 200)]
    assert [one.verdict for one in sr.verify({**one, "claims": claims}).judgements] == ["holds", "wrong"]


def test_latency_bound_is_no_word_where_hops_take_no_time():
    problem = {"operation": MLP, "hardware": CHIP, "mesh": {"X": 4}, "claims": ["latency-bound when BF < 2000"]}
    (found,) = sr.verify(problem).judgements
    assert found.verdict == "unreadable"


@pytest.mark.thorough
def test_a_map_has_the_regime_and_a_figure_where_it_ends():
    found = sr.regimes(MLP, on=CHIP, mesh="X=4 line", latency=True, of="T_lower")
    forms = [row["longest"] for row in found.to_dict()["regimes"]]
    assert sum("latency" in form for form in forms) == 1, forms
    asked = {"mesh": "X=4 line", "latency": True, "at": {"D": 64, "F": 64}, "over": "B=1..4096:log"}
    drawn = sr.plot(MLP, on=CHIP, kind="times", **asked)
    assert "T_latency" in drawn.to_text()


@pytest.mark.thorough
def test_a_point_under_its_roofs_is_as_high_as_hops_let_it_be():
    for B in (1, 16, 4096):
        drawn = sr.plot(MLP, on=CHIP, mesh="X=4 line", latency=True, at={"B": B, "D": 64, "F": 64}, kind="roofline")
        lower = derived(MLP, mesh="X=4 line", at={"B": B, "D": 64, "F": 64}).answer.at[0]
        most = Fraction(B * 64 * 64) / said(lower, "T_lower")  # FLOPs of one chip of four
        rows = [line.split() for line in drawn.to_text().splitlines() if f"B = {B}" in line]
        assert rows
        waits = said(lower, "T_latency") == said(lower, "T_lower")
        assert [row[-1] == "latency" for row in rows] == [waits] * len(rows)
        assert min(float(row[-2]) for row in rows) == pytest.approx(float(most), rel=1e-4)


def test_hops_over_links_of_which_none_is_known_to_be_slower_have_no_map():
    text, mesh = MLP.replace("D_X", "D_XY"), "X=4 on NVLink; Y=4 on ICI"
    with pytest.raises(SymroofError, match="which hops take longest is open"):
        sr.regimes(text, mesh=mesh, latency=True, of="T_lower")
    with pytest.raises(SymroofError, match="NVLink << ICI would have to hold, and does not on this chip"):
        sr.regimes(text, on=CHIP, mesh=mesh, latency=True, of="T_lower")
    faster = {**CHIP, "NVLink": "1e11"}
    assert sr.regimes(text, on=faster, mesh=mesh, latency=True, of="T_lower").to_dict()["count"] > 2


def test_a_link_without_a_latency_is_refused_with_what_to_say():
    chip = {name: value for name, value in CHIP.items() if name != "ICI.latency"}
    with pytest.raises(SymroofError, match=r"has no figure ICI\.latency") as error:
        sr.derive(MLP, on=chip, mesh="X=4", latency=True)
    assert 'given={"ICI.latency": "1us"}' in str(error.value)
    assert sr.derive(MLP, on=chip, mesh="X=4", latency=True, given={"ICI.latency": "2 us"}, at="B=1,D=F=8").answer.at


@pytest.mark.parametrize("chips", [1, 2, 3, 4, 5, 8, 16])
@pytest.mark.parametrize("wiring", ["", " on NVLink switch", " line"])
def test_a_number_put_in_for_an_open_axis_is_that_number_in_the_mesh(chips, wiring):
    """Half of an odd ring is no whole number of hops, and one chip waits for none."""
    sizes = {"B": 4, "D": 240, "F": 16}
    there = derived(MLP, mesh=f"X={chips}{wiring}", at=sizes).answer.at[0]
    open_ = derived(MLP, mesh=f"X{wiring}" if wiring else "X", at={**sizes, "X": chips}).answer.at[0]
    names = ("T_math", "T_HBM", "T_lower", "T_steps", "T_upper", *(("T_latency",) if chips > 1 else ()))
    assert {name: said(there, name) for name in names} == {name: said(open_, name) for name in names}


def test_runs_over_chips_begin_where_hops_are_and_leave_odd_rings_out(tmp_path):
    options = {"on": CHIP, "mesh": "X ring", "latency": True}
    for chips, message in ((1, "waits for no hops"), (5, "even rings")):
        with pytest.raises(SymroofError, match=message):
            sr.sweep(MLP, f"X={chips}, B=1:2, D=60, F=16", tmp_path / "x.csv", **options)
    assert sr.sweep(MLP, "X=4, B=1:2, D=60, F=16", tmp_path / "x.csv", **options) == 2


def test_names_of_axes_change_nothing_but_names():
    one = derived(MLP, mesh="X=4 line").to_text()
    other = derived(MLP.replace("D_X", "D_Z"), mesh="Z=4 line").to_text()
    assert other == one.replace("D_X", "D_Z").replace("X", "Z")


def without_latency(times):
    lower = times["T_lower"]
    return {**times, "T_lower": replace(lower, arguments=tuple(a for a in lower.arguments if a.name != "T_latency"))}


FAULTS = {
    "a ring is gone round": (collectives, "farthest", lambda f: lambda axis: axis.size - 1),
    "an all-reduce goes once": (chip_costs, "hops", lambda f: lambda c, axes: f("all-gather", axes)),
    "a switch is far": (collectives, "_farthest", lambda f: lambda c, axes: ((link, 2 * n) for link, n in f(c, axes))),
    "the shortest is the longest": (resources, "_more", lambda f: lambda one, other: f(other, one)),
    "exchanges take their bytes alone": (resources.Rates, "waiting", lambda f: lambda self, *a: ()),
    "hops are counted for bytes": (times, "_at_rate", lambda f: lambda n, rate: times.fraction_bar(n, Name(rate))),
    "hops are left out": (quantity_definitions, "times_of", lambda f: lambda *a: without_latency(f(*a))),
}


@pytest.mark.part(3)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_refused(fault, monkeypatch):
    place, name, change = FAULTS[fault]
    text = "input x: bf16[B, D_X]; weight W: bf16[D_X, F]; h = x * W -> bf16[B, F_X]; y = h -> bf16[B, F]; "
    text += "weight U: bf16[F, G_X]; z = y * U -> bf16[B, G_X]; o = z -> bf16[B, G]; r = sum(o, B) -> bf16[G]"
    whole = fault in ("the shortest is the longest", "an all-reduce goes once")
    text, sizes = (MLP + "; g = h -> bf16[B, F_X]; k = g -> bf16[B, F]", "") if whole else (text, ",G=5")
    wired = "X=4 switch" if fault == "a switch is far" else "X=5 ring"
    sizes = f"D=F=20{',G=20' if sizes else ''}"
    derived(text, mesh=wired, at=f"B=20,{sizes}")
    monkeypatch.setattr(place, name, change(getattr(place, name)))
    with pytest.raises(CheckError):
        derived(text, mesh=wired, at=f"B=40,{sizes}")
