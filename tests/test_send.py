"""What goes from chip to chip: to a neighbour along an axis, and to the farthest; against paths that are walked."""

from collections import Counter
from fractions import Fraction
from itertools import pairwise, permutations, product

import pytest
from texts import refused

import symroof as sr
from symroof.errors import CheckError
from symroof.model import backward, chip_costs, placement
from symroof.proof.step import number_of
from symroof.reading.programs import read_program

CHIP = {"peak": "1e12", "HBM": "1e10", "ICI": "1e9", "ICI.latency": "1e-6"}
SIZES = {"N": 24, "M": 36}
MESHES = [("X", n, wiring) for n in (2, 3, 4, 5) for wiring in ("line", "ring") if n > 2 or wiring == "line"]


def found(text, mesh, **options):
    return sr.derive(text, on=CHIP, mesh=mesh, latency=True, at=SIZES, **options).answer.at[0]


def said(point, name):
    return point.number(number_of(name))


def way(one, other, order, axes):
    """The chips on the way from one to another, along the axes in an order, the shorter way round where an axis closes."""
    place, path = list(one), [tuple(one)]
    for i in order:
        chips, ring = axes[i]
        ahead = (other[i] - place[i]) % chips if ring else other[i] - place[i]
        step = -1 if ahead < 0 or (ring and ahead > chips - ahead) else 1
        while place[i] != other[i]:
            place[i] = (place[i] + step) % chips if ring else place[i] + step
            path.append(tuple(place))
    return path


@pytest.mark.part(3)
@pytest.mark.parametrize(("axis", "chips", "wiring"), MESHES)
def test_a_neighbour_is_one_hop_away_and_each_link_carries_one_message(axis, chips, wiring):
    here = found("input A: bf16[N, M]; B = send(A, X)", f"{axis}={chips} {wiring}")
    load = Counter()
    for chip in range(chips if wiring == "ring" and chips > 2 else chips - 1):
        (hop,) = pairwise(way((chip,), ((chip + 1) % chips,), [0], [(chips, wiring == "ring")]))
        load[hop] += 2 * 24 * 36
    assert said(here, "sent(X)") == max(load.values())
    assert (said(here, "T_latency"), said(here, "T_X")) == (Fraction(1, 10**6), Fraction(2 * 24 * 36, 10**9))


@pytest.mark.part(3)
@pytest.mark.parametrize("sizes", [(4, 4), (3, 5), (2, 2), (4, 2, 3), (5,), (6, 4)])
@pytest.mark.parametrize("ring", [False, True])
def test_the_farthest_chip_is_as_far_as_paths_go_and_disjoint_ones_share_the_message(sizes, ring):
    names = "XYZ"[: len(sizes)]
    wiring = ["ring" if ring and n > 2 else "line" for n in sizes]
    axes = [(n, w == "ring") for n, w in zip(sizes, wiring, strict=True)]
    here = found(
        "input A: bf16[N, M]; B = send(A, corner)",
        "; ".join(f"{x}={n} {w}" for x, n, w in zip(names, sizes, wiring, strict=True)),
    )
    start = (0,) * len(sizes)
    every = [way(start, there, range(len(sizes)), axes) for there in product(*map(range, sizes))]
    farthest = max(every, key=len)
    assert said(here, "T_latency") == Fraction(len(farthest) - 1, 10**6)
    orders = [order for order in permutations(range(len(sizes))) if order[0] == 0 or len(sizes) > 1]
    first = {order[0]: order for order in orders}  # one path for each port
    load = Counter(hop for order in first.values() for hop in list(pairwise(way(start, farthest[-1], order, axes)))[:1])
    assert set(load.values()) == {1}  # by another port each
    for axis in names:
        assert said(here, f"sent({axis})") == Fraction(2 * 24 * 36, len(first))


def test_what_is_split_over_other_axes_is_sent_in_parts_and_repeats_send_again():
    here = found("input A: bf16[N_Y, M]; B = send(A, X)", "X=4 line; Y=3 line")
    assert said(here, "sent(X)") == 2 * 8 * 36
    text = "input A: bf16[N, M]; repeat L as A = C { B = send(A, X); C = relu(B) }"
    assert (
        sr.derive(text, on=CHIP, mesh="X=4 line", at={**SIZES, "L": 7}).answer.at[0].number(number_of("sent(X)"))
        == 7 * 2 * 24 * 36
    )


@pytest.mark.thorough
def test_the_gradient_goes_back_the_way_that_it_came(monkeypatch):
    text = "input A: bf16[N, M]; weight W: bf16[M, F_X]; B = send(A, X); C = relu(B); D = C * W -> bf16[N, F_X]"
    plain = found(text, "X=4 line")
    with_back = sr.derive(text, on=CHIP, mesh="X=4 line", training=True, at={**SIZES, "F": 4}).answer.at[0]
    assert said(plain, "sent(X)") == said(with_back, "sent(X_back)") == 2 * 24 * 36
    usual = backward._returned
    for fault in (lambda sends: sends, lambda sends: None):
        monkeypatch.setattr(backward, "_returned", fault)
        with pytest.raises(CheckError):
            sr.derive(text, on=CHIP, mesh="X=4 line", training=True)
    monkeypatch.setattr(backward, "_returned", usual)


def test_the_text_reads_back_and_one_chip_sends_nothing():
    text = "input A: bf16[N, M]\nB = send(A, X)\nC = send(B, corner)"
    program = read_program(text.replace("\n", "; "))
    assert "B = send(A, X)" in str(program)
    assert "C = send(B, corner)" in str(program)
    assert str(read_program(str(program))) == str(program)
    alone = "input A: bf16[N, M]; weight W: bf16[M, F]; B = send(A, X); C = B * W -> bf16[N, F]"
    one = sr.derive(alone, on=CHIP, mesh="X=1").to_dict()["answer"]
    assert (
        one["flops"] == sr.derive(alone.replace("B = send(A, X); C = B", "C = A"), on=CHIP).to_dict()["answer"]["flops"]
    )


test_what_cannot_be_sent_is_refused = refused(
    lambda text, mesh: sr.derive(text, on=CHIP | {"DCN": "1e8"}, mesh=mesh),
    ("input A: bf16[N, M]; B = send(A, corners)", "X=4", "corners is no axis"),
    ("input A: bf16[N, M]; B = send(A, Y)", "X=4", "no such axis"),
    ("input A: bf16[N, M]; B = send(A)", "X=4", "an axis of the mesh or corner"),
    ("input A: bf16[N, M]; B = send(A, X) -> bf16[N, M_X]", "X=4", "send(A, X) is bf16[N, M], not bf16[N, M_X]"),
    ("input A: bf16[N, M]; B = send(A, corner)", "X=4 on ICI; Y=2 on DCN", "over several links"),
    ("input A: bf16[N, M]; B = send(A, X)", "X=8 on NVLink(4)/leaf(2)", "through other ports"),
)


FAULTS = {
    "it stays": (placement._Chips, "_sent_on", lambda f: lambda *a: iter(())),
    "it goes twice": (placement._Chips, "_sent_on", lambda f: lambda *a: 2 * tuple(f(*a))),
    "it goes by one port": (chip_costs, "shares", lambda f: lambda c, axes: f("send" if c == "send far" else c, axes)),
    "it goes to a neighbour": (chip_costs, "hops", lambda f: lambda c, axes: f("send" if c == "send far" else c, axes)),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_refused(fault, monkeypatch):
    place, name, change = FAULTS[fault]
    text = "input A: bf16[N, M]; weight W: bf16[M, F_X]; B = send(A, corner); C = B * W -> bf16[N, F_X]"
    sr.derive(text, on=CHIP, mesh="X=3 line; Y=4 line", latency=True)
    monkeypatch.setattr(place, name, change(getattr(place, name)))
    with pytest.raises(CheckError):
        sr.derive(text, on=CHIP, mesh="X=4 line; Y=5 line", latency=True)
