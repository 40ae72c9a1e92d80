"""What sizes have to be: asked of one set of them, of ranges, of arrays and of what is drawn, the answer is one."""

from fractions import Fraction
from itertools import product
from random import Random

import pytest

import symroof as sr
from symroof.derivation import size_constraints
from symroof.derivation.size_constraints import require_over
from symroof.errors import ModelError, SymroofError
from symroof.model.problem import Problem
from symroof.model.program_sizes import require_dimensions
from symroof.reading.programs import read_program

PROGRAM = "input x: bf16[B, D]; weight W: bf16[D, {c}]; {where}; y = x * W -> bf16[B, {c}]"
POOLED = "input x: bf16[N, P, C]; weight W: bf16[R, C, K]; where U = {places}; w = windows(x) -> bf16[N, U, R, C]; y = w * W -> bf16[N, U, K]"
# What is linear in each size, of two terms, and neither; below and above; a dimension that a fraction makes.
WHERE = [
    ("c", "where c = B/E"), ("c", "where c = B^2/E"), ("E", "where B <= E"), ("E", "where B^3 <= 2*E^2"), ("E", "where B*(E - B) <= 50"),
    ("E", "where B*E + 3 >= 2*E + B"), ("E", "where 60 <= B^2 + E^2"), ("E", "where B/(E + B) <= 3/7"), ("E", "where B*B + 11 >= 7*B"),
    ("c", "where c = min(B, 2*E), B <= 2*E"), ("c", "where c = max(B*D, E), E <= B*D"),
]  # fmt: skip


def taken(ask):
    try:
        ask()
    except SymroofError:
        return False
    return True


def there(program, names, values):
    return taken(lambda: require_dimensions(program, dict(zip(names, map(Fraction, values), strict=True))))


@pytest.mark.part(1)
@pytest.mark.parametrize("seed", range(12))
def test_of_ranges_is_said_what_is_said_of_every_set_of_sizes(seed):
    """The sets one by one, as a derivation asks for them, against what decides them all."""
    random, seen = Random(seed), set()
    for place in range(60):
        c, where = WHERE[(place + seed) % len(WHERE)]
        program = read_program(PROGRAM.format(c=c, where=where))
        runs = {}
        for name in ("B", "E", "D"):
            low, step = random.randint(1, 8), random.randint(1, 3)
            many = random.choice((1, 2) if name == "D" else (1, 2, 7))
            runs[name] = range(low, low + step * many, step)
            if random.random() < 0.5:
                runs[name] = random.sample(runs[name], many)
        every = all(there(program, tuple(runs), values) for values in product(*runs.values()))
        assert taken(lambda p=program, r=runs: require_over(Problem(p), r)) == every, (where, runs)
        seen.add(every)
    assert seen == {True, False}


@pytest.mark.part(1)
@pytest.mark.parametrize("seed", range(6))
def test_of_places_is_said_what_is_said_of_every_set_of_sizes(seed):
    random, seen = Random(seed), set()
    for _ in range(40):
        program = read_program(POOLED.format(places=random.choice(("P/2", "P/3", "P/6"))))
        runs = {"P": range(low := random.randint(1, 30), low + random.randint(1, 30), random.randint(1, 6))}
        runs |= {"R": [random.choice((2, 3, 6, 9))], "N": [1, 2]}
        every = all(there(program, tuple(runs), values) for values in product(*runs.values()))
        assert taken(lambda p=program, r=runs: require_over(Problem(p), r)) == every, runs
        seen.add(every)
    assert seen == {True, False}


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("c", "where", "left", "right"),
    [("c", "where c = B/E", "B=8,E=8", "B=8,E=9"), ("E", "where B*(E - B) <= 50", "B=2,E=20", "B=10,E=20"),
     ("c", "where c = min(B, 2*E), B <= 2*E", "B=8,E=4", "B=9,E=4")],
)  # fmt: skip
def test_all_commands_say_the_same_of_sizes(c, where, left, right, tmp_path):
    """A derivation, a sweep over both ends and what is between them, a figure, a function on numbers and on arrays."""
    numpy = pytest.importorskip("numpy")
    text, on = PROGRAM.format(c=c, where=where), {"on": "tpu-v5e"}
    for point, expected in ((left, True), (right, False)):
        b, e = (int(part[2:]) for part in point.split(","))
        flops = sr.derive(text, at=f"{left},D=64", **on).function("flops")
        own = {name: size for name, size in {"B": b, "E": e}.items() if name in flops.parameters}
        assert {
            taken(lambda p=point: sr.derive(text, at=f"{p},D=64", **on)),
            taken(lambda p=point: sr.sweep(text, f"{p.replace(',', ', ')}, D=64", of="flops", **on)),
            taken(lambda f=flops, own=own: f(**own)),
            taken(lambda f=flops, own=own: f(**{name: numpy.array([size, size]) for name, size in own.items()})),
            taken(lambda p=point: sr.compare(text, on="tpu-v5e,h100", at=f"{p},D=64").to_text()),
        } == {expected}
    for name in ("B", "E"):
        ends = sorted(int(dict(part.split("=") for part in point.split(","))[name]) for point in (left, right))
        if ends[0] != ends[1]:
            fixed = ",".join(part for part in right.split(",") if not part.startswith(name))
            span = f"{name}={ends[0]}..{ends[1]}"
            for kind in ("throughput", "times"):
                assert not taken(lambda k=kind, s=span, f=fixed: sr.plot(text, kind=k, over=s, at=f"{f},D=64", **on))


def test_what_is_between_the_ends_is_held_as_well():
    text = PROGRAM.format(c="E", where="where B*(E - B) <= 50")
    for ask in (
        lambda: sr.sweep(text, "B=1:19, E=20, D=64", of="flops", on="tpu-v5e"),
        lambda: sr.plot(text, kind="throughput", over="B=1..19", at="E=20,D=64", on="tpu-v5e"),
    ):
        with pytest.raises(ModelError, match=r"contradict B\*\(E - B\) <= 50: B = "):
            ask()


@pytest.mark.thorough
def test_a_size_that_is_solved_for_is_none_beyond_what_is_known():
    """Neither beyond a fact of products nor beyond one of sums: at E = 64 there are no 511 in either."""
    for known, least in (("B <= 2*E", "2*E"), ("B <= E - 4", "E - 4")):
        text = PROGRAM.format(c="c", where=f"where c = min(B, {least}), E >= 5, {known}")
        for e, told in ((64, False), (4096, True)):
            found = sr.derive(text, on="tpu-v5e", at=f"B=32,E={e},D=4096").to_text()
            assert ("so B ≥ 511" in found) == told


def test_too_many_sets_to_try_are_refused(monkeypatch):
    monkeypatch.setattr(size_constraints, "MOST", 30)
    program = read_program(PROGRAM.format(c="E", where="where B*(E - B) <= 50"))
    with pytest.raises(ModelError, match="at most 30 of them"):
        require_over(Problem(program), {"B": range(1, 32), "E": [1], "D": [2]})
    require_over(Problem(program), {"B": range(20, 50), "E": [1], "D": [2]})


@pytest.mark.thorough
@pytest.mark.parametrize("fault", ["ends", "residues", "sign"])
def test_a_shortcut_that_does_not_decide_is_noticed(fault, monkeypatch):
    """The laws above fail with it."""

    def deciding(self, runs):
        found = [size_constraints._ends(runs[name]) for name in self.sizes]
        if fault == "residues":
            return found if self.whole else [runs[name] for name in self.sizes]
        if fault == "sign":
            return [ends[:1] for ends in found]
        return [runs[name] for name in self.sizes] if self.whole else found

    monkeypatch.setattr(size_constraints.Condition, "deciding", deciding)
    law = test_of_places_is_said_what_is_said_of_every_set_of_sizes
    law = law if fault == "residues" else test_of_ranges_is_said_what_is_said_of_every_set_of_sizes
    assert any(_fails(law, seed) for seed in range(6))


def _fails(law, seed):
    try:
        law(seed)
    except AssertionError:
        return True
    return False
