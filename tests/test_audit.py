"""Every number that a record holds, against direct arithmetic that is made from the operation's text."""

import json
import re
from fractions import Fraction as Q
from random import Random

import direct
import pytest
from direct import along, evaluate, scaling, wide

import symroof as sr

pytestmark = pytest.mark.part(2)

CHIPS = {
    "tpu-v5e": ("bf16", "int8"),
    "tpu-v5p": ("bf16", "int8"),
    "tpu-v6e": ("bf16", "int8"),
    "a100": ("bf16", "int8"),
    "b200": ("bf16",),
}
SHAPES = "BD DF BF|BSD DF BSF|BDK KF BDF|BHD BHD BH|HBD HDF HBF|BD BD B|MK KN MN|BDF DFN BN|BD DF BF|MK KN MN"
TINY = Q(1, 10**9)
TIMES = ("T_math", "T_comms", "T_lower", "T_upper")


def drawn(seed):
    """(text, options, truth, regime, names): a random problem, and the arithmetic that it has to agree with."""
    random = Random(seed)
    left, right, output = random.choice(SHAPES.split("|")).split()
    names = list(dict.fromkeys(left + right))
    chip = random.choice(list(CHIPS))
    inputs = [random.choice(CHIPS[chip]) for _ in "lr"]
    result = random.choice(("bf16", "fp32", "int8"))
    types = zip((*inputs, result), map(", ".join, (left, right, output)), strict=True)
    text = "{} * {} -> {}".format(*(f"{dtype}[{labels}]" for dtype, labels in types))
    widest = max(inputs, key=direct.BITS.get)
    machine = {"peak": direct.figure(chip, f"peak.{widest}"), "bandwidth": direct.figure(chip, "HBM")}
    options = {"on": chip, "count": random.choice(("fma", "fma", "exact"))}
    if random.random() < 0.3:
        digits = random.choice(("9.1e11", "1.23e12", "8e11"))
        options["given"], machine["bandwidth"] = {"HBM": digits}, Q(digits)
    regime = ""
    if random.random() < 0.2 and len(names) == 3:
        text, extra = _on_a_mesh(random, text, left, right, output)
        options |= extra["options"]
        options["on"] = "tpu-v5e"
        machine = {"peak": direct.figure("tpu-v5e", f"peak.{widest}"), **extra["machine"]}
        if extra["machine"]["link"] is None:
            machine["bandwidth"] = direct.figure("tpu-v5e", "HBM")
            options.pop("given", None)
        options.pop("given", None)
    else:
        a, b, *rest = random.sample(names, len(names))
        every = ", ".join([b, *rest])
        regime = random.choice(["", f"{a} << {b}", f"{a} << {every}", f"{b} -> oo", f"{a} ~~ {b}", f"{a} = {b}"])
        if rest and random.random() < 0.2:
            regime = f"{a} ~~ {b} << {rest[0]}"
    equal = dict([regime.split(" = ")]) if "=" in regime else {}
    truth = direct.Product.read(text, count=options["count"], equal=equal, **machine)
    if regime:
        options["assume"] = regime
    free = [name for name in names if name not in truth.equal]
    left, right, output = ({*array.labels} for array in truth.arrays.values())
    solvable = [name for name in free if name not in left & right & output]  # on a size of all three nothing depends
    if solvable and random.random() < 0.7:
        options["solve_for"] = random.choice(solvable)
        point = {name: random.choice((512, 3008, 8192, 30000)) for name in free if name != options["solve_for"]}
    else:
        put = random.sample(free, len(free) - random.randint(0, 1))
        point = {name: random.choice((112, 784, 2048, 30000)) for name in put}
    return sr.derive(text, **options, at=point or None), truth, regime, names


def _on_a_mesh(random, text, left, right, output):
    """The text with one size split over 2, 4 or 16 chips, and what that makes of the machine."""
    summed = [x for x in left if x in right and x not in output]
    split = random.choice([*summed, left[0]])
    chips, over_link = random.choice((2, 4, 16)), split in summed and random.random() < 0.6
    text = re.sub(rf"\b{split}\b(?=[^\[]*\])", f"{split}_X", text)
    machine = {
        "chips": chips,
        "link": "ICI" if over_link else None,
        "ways": 2 if chips >= direct.CATALOGUE["tpu-v5e"]["wraparound"][0] else 1,
    }
    if over_link:
        machine["bandwidth"] = direct.figure("tpu-v5e", "ICI")
    return text, {"options": {"mesh": {"X": chips}} | ({"link": "ICI"} if over_link else {}), "machine": machine}


def floats_agree(record):
    """Every number that stands beside a float is that float."""
    if isinstance(record, dict):
        if record.keys() == {"exact", "float"}:
            assert record["float"] == float(Q(record["exact"]))
        for key, value in record.items():
            if key.endswith("_float") and value is not None:
                exact = record[key.removesuffix("_float")]  # a root without a closed form is rounded
                last = Q(10) ** -len(exact.partition(".")[2]) if "." in exact else 0
                assert value == pytest.approx(float(evaluate(exact, {})), rel=1e-14, abs=float(last / 2))
            floats_agree(value)
    elif isinstance(record, list):
        for value in record:
            floats_agree(value)


def near(a, b, scale=Q(1, 10**4)):
    return abs(Q(a) / Q(b) - 1) < scale


def audit_costs(answer, truth, random, names):
    for _ in range(3):
        sizes = truth.full(wide(random, names))
        reads, writes = truth.reads(sizes), truth.writes(sizes)
        amounts = {
            "flops": truth.flops(sizes),
            "flops_exact": truth.flops(sizes, "exact"),
            "reads": reads,
            "writes": writes,
        }
        for name, amount in (amounts | {"bytes": reads + writes}).items():
            assert evaluate(answer[name], sizes) == amount, name
        intensity, times = truth.intensity(sizes), truth.all_times(sizes)
        assert evaluate(answer["intensity"], sizes) == intensity
        assert answer["reciprocal"] is None or 1 / evaluate(answer["reciprocal"], sizes) == intensity
        assert tuple(evaluate(answer[key], sizes) for key in TIMES) == times
        if answer["sent"] is not None:
            assert evaluate(answer["sent"], sizes) == truth.moved(sizes)
    assert Q(answer["ridge"]) == truth.ridge
    assert answer["chips"] == truth.chips


def audit_leading(answer, truth, regime, random, names):
    if answer["intensity_leading"] is None:
        return
    for _ in range(3):
        sizes = truth.full(wide(random, names))
        factor = evaluate(answer["intensity_factor"], sizes)
        assert factor == evaluate(answer["intensity_leading"], sizes) / truth.intensity(sizes)
        if answer["within"] and evaluate(answer["within"], sizes):
            assert abs(factor - 1) <= Q(1, 20)
    weights = scaling(regime, names)
    if not any(weights.values()):  # without a regime the leading form is that of one size that grows alone
        weights = {answer["threshold"]["variable"]: 1}
    edges = [truth.full(along(weights, names, power, seed)) for power in range(6) for seed in range(6)]
    inside = [sizes for sizes in edges if answer["within"] and evaluate(answer["within"], sizes)]
    assert inside or not answer["within"]
    assert all(abs(evaluate(answer["intensity_factor"], sizes) - 1) <= Q(1, 20) for sizes in inside)
    far = truth.full(along(weights, names, 8))
    form, exact = evaluate(answer["intensity_leading"], far), truth.intensity(far)
    assert near(form, exact)
    if answer["next_order"]:
        assert abs(evaluate(answer["next_order"], far) - exact) <= abs(form - exact) / 1000


def audit_limits(answer, truth, random, names):
    for name, limit in answer["limits"].items():
        letters = name.removesuffix(" -> oo")
        sizes = wide(random, names)
        values = [truth.intensity({**sizes, letters: Q(10) ** power}) for power in (20, 23)]
        if limit == "oo":
            assert values[1] > 100 * values[0]
        elif limit == "0":
            assert values[1] < values[0] / 100
        else:
            assert near(values[0], evaluate(limit, truth.full(sizes)))


def audit_threshold(threshold, answer, truth, random, names):
    """The condition says at random sizes, and close to its bound on both sides, what the two times say."""
    if threshold is None:
        return
    x, bound, checked = threshold["variable"], threshold["exact_bound"], 0
    for turn in range(12):
        sizes = truth.full(wide(random, names))
        inside = threshold["guard"] is None or evaluate(threshold["guard"], sizes)
        points = [sizes]
        if inside and bound is not None and (edge := evaluate(bound, sizes)) > 2:
            points += [truth.full({**sizes, x: edge * (1 + gap)}) for gap in (-TINY, TINY)]
            at_edge = truth.times(truth.full({**sizes, x: edge}))
            assert at_edge[0] == at_edge[1] or "sqrt" in bound
        for point in points:
            if inside:
                assert evaluate(threshold["exact"], point) == truth.compute_bound(point)
                checked += 1
            elif threshold["otherwise"]["outcome"] != "depends":
                assert truth.compute_bound(point) == (threshold["otherwise"]["outcome"] == "always compute-bound")
        if threshold["otherwise"] and threshold["otherwise"]["supremum"]:
            top = evaluate(threshold["otherwise"]["supremum"], sizes)
            assert truth.intensity(sizes) < top or near(truth.intensity(sizes), top)
            assert near(truth.intensity({**sizes, x: Q(10) ** 20}), top)
            assert inside or top <= truth.ridge
        if turn < 2:
            audit_guard(threshold, truth, sizes)
        audit_rule(threshold, answer, truth, sizes, inside=inside)
    assert checked or threshold["guard"]
    if threshold["outcome"] != "depends":
        assert threshold["exact"] == threshold["outcome"].split()[0]
    number = threshold["rule_bound"] if answer["intensity_leading"] else bound
    if threshold["smallest_integer"] is not None:
        assert threshold["smallest_integer"] == whole(evaluate(number, {}), step(truth, x))
    elif threshold["outcome"] == "depends" and threshold["exact"].startswith(f"{x} >"):
        assert number is None or re.search("[A-Z]", number)


def audit_guard(threshold, truth, sizes):
    """Where nothing is compute-bound otherwise, the guard holds as far as the largest size reaches the ridge, and no further."""
    if threshold["guard"] is None or threshold["otherwise"]["outcome"] != "never compute-bound":
        return
    x = threshold["variable"]
    for name in truth.labels:
        if name == x or name in truth.equal:
            continue

        def reaches(size, name=name):
            return truth.intensity({**sizes, name: size, x: Q(10) ** 30}) > truth.ridge

        low, high = Q(1), Q(10) ** 9
        if reaches(low) == reaches(high):
            continue
        while high / low > 1 + TINY / 8:
            middle = Q((low + high) / 2).limit_denominator(10**15)
            low, high = (middle, high) if reaches(middle) == reaches(low) else (low, middle)
        for size, said in ((low * (1 - TINY), reaches(low)), (high * (1 + TINY), reaches(high))):
            assert evaluate(threshold["guard"], truth.full({**sizes, name: size})) == said


def audit_rule(threshold, answer, truth, sizes, *, inside):
    """The rule is the condition on the leading form; its factor is the exact bound over it."""
    if not threshold["rule"] or not threshold["rule_bound"]:
        return
    rule = evaluate(threshold["rule_bound"], sizes) if threshold["rule_bound"] else None
    if rule is None or rule <= 0:  # the leading form is never above the ridge there
        return
    if answer["intensity_leading"] and "ridge" not in threshold["rule"]:
        leading = evaluate(answer["intensity_leading"], sizes)
        assert evaluate(threshold["rule"], sizes) == (leading > truth.ridge)
    if threshold["rule_factor"] and inside:
        factor = evaluate(threshold["exact_bound"], sizes) / rule
        assert near(evaluate(threshold["rule_factor"], sizes), factor, Q(1, 10**30))


def step(truth, name):
    return truth.chips if name in truth.split else 1


def whole(bound, stride):
    """The least multiple of the stride above the bound."""
    return max(stride, (bound // stride + 1) * stride)


def audit_point(point, threshold, truth, names):
    sizes = truth.full({**dict.fromkeys(names, Q(1)), **{name: Q(value) for name, value in point["values"].items()}})
    free = [name for name in names if name not in point["values"] and name not in truth.equal]
    x = threshold["variable"] if threshold and threshold["variable"] in free else free[0] if free else None
    is_free = x is not None
    if is_free:
        _audit_bound(point, truth, sizes, x)
    elif point["outcome"] != "depends":  # what is said of the variable there is true of its value
        t_math, t_comms, *_ = truth.all_times(sizes)
        assert point["outcome"] == ("always" if t_math > t_comms else "never") + " compute-bound"
    for at in (1, 37, 12345):
        here = truth.full({**sizes, **({x: Q(at)} if is_free else {})})
        assert evaluate(point["intensity"], here) == truth.intensity(here)
        if point["T_math"] is not None:
            assert tuple(evaluate(point[key], here) for key in TIMES) == truth.all_times(here)
            whole = re.fullmatch(r"max\((.*)\)", point["T_lower"])
            if whole:  # each of the times, and not the longest alone
                each = {evaluate(part, here) for part in whole[1].split(", ")}
                assert each == {truth.times(here)[0], *truth.moving(here).values()}
    audit_numbers(point["numbers"], truth, sizes, is_free)
    for row in point["times"]:
        here = truth.full({**sizes, **({x: Q(row["size"])} if is_free else {})})
        for key, exact in zip(TIMES, truth.all_times(here), strict=True):
            assert row[key] == pytest.approx(float(exact), rel=1e-14, abs=0)
        assert kind(row["bound_by"], "link" not in truth.moving(here)) == truth.bound_by(here)


def audit_numbers(numbers, truth, sizes, is_free):
    """Where sizes leave nothing open each quantity is a number, exact and the nearest float of that."""
    if is_free:
        return
    here = truth.full(sizes)
    wanted = {"flops": truth.flops(here), "bytes": truth.moved(here), "intensity": truth.intensity(here)}
    for name, exact in wanted.items():
        if name in numbers and truth.chips == 1:
            assert Q(numbers[name]) == exact
    for name, exact in zip(TIMES, truth.all_times(here), strict=True):
        assert Q(numbers[name]) == exact
    for name, value in numbers.items():
        if not name.endswith("_float"):
            assert numbers[f"{name}_float"] == float(Q(value))


def _audit_bound(point, truth, sizes, x):
    if point["exact_bound"] is not None:
        edge = evaluate(point["exact_bound"], {})
        sides = [truth.compute_bound(truth.full({**sizes, x: edge * Q(n, 10**6)})) for n in (999_990, 1_000_010)]
        assert sides in ([False, True], [True, False])
    if point["smallest_integer"] is not None:
        n, stride = point["smallest_integer"], step(truth, x)
        assert n % stride == 0
        assert truth.compute_bound(truth.full({**sizes, x: Q(n)}))
        assert n == stride or not truth.compute_bound(truth.full({**sizes, x: Q(n - stride)}))
    if point["outcome"] != "depends":
        wanted = point["outcome"] == "always compute-bound"
        for power in (0, 1, 2, 3, 4, 6, 9, 12):
            assert truth.compute_bound(truth.full({**sizes, x: Q(10) ** power})) == wanted


def kind(resource, one_chip=False):
    """What a resource is: the arithmetic, a memory, or a link of the mesh."""
    if resource in ("compute", "vector", "both"):
        return resource
    return "memory" if one_chip or resource in ("HBM", "VMEM", "L2") else "link"


def audit(d, truth, regime, names, seed):
    record, random = json.loads(d.to_json()), Random(seed)
    answer, threshold = record["answer"], record["answer"]["threshold"]
    floats_agree(record)
    audit_costs(answer, truth, random, names)
    audit_leading(answer, truth, regime, random, names)
    audit_limits(answer, truth, random, names)
    audit_threshold(threshold, answer, truth, random, names)
    for point in answer["at"]:
        audit_point(point, threshold, truth, names)
    assert {step["check"]["status"] for step in record["steps"]} == {"proved"}


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(60))
def test_every_number_of_a_derivation(seed):
    audit(*drawn(seed), seed)


ATTENTION = (lambda T, K: 4 * T * K * 128 + 3 * T, lambda T, K: 256 * T + 512 * K, lambda T, K: 256 * T + T * K)
BLOCKED = (lambda N, M: 2 * N**2 + M, lambda N, M: 6 * N * (M + 1), lambda N, M: 2 * N + M)
DOT = (lambda N: N + (N - 1), lambda N: 2 * N + 2 * N, lambda N: 2)
GIVEN = {
    "attention": (ATTENTION, {"assume": "K << T", "solve_for": "K", "at": {"T": 100000}}),
    "attention in T": (ATTENTION, {"solve_for": "T", "at": {"K": 3000}}),
    "blocked": (BLOCKED, {"assume": "M << N", "solve_for": "N", "at": {"M": 3}}),
    "dot": (DOT, {"assume": "N -> oo"}),
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", GIVEN)
def test_every_number_of_costs_that_are_given(name):
    functions, options = GIVEN[name]
    names = functions[0].__code__.co_varnames
    figures = {"peak": direct.figure("tpu-v5e", "peak.bf16"), "bandwidth": direct.figure("tpu-v5e", "HBM")}
    truth = direct.Costs(**figures, labels=names, functions=functions)
    operation = sr.Operation(name, flops=functions[0], reads=functions[1], writes=functions[2])
    audit(sr.derive(operation, on="tpu-v5e", compute="bf16", **options), truth, options.get("assume", ""), names, 7)


@pytest.mark.thorough
@pytest.mark.parametrize("at", [{"D": 8192, "F": 8192}, {"D": 700, "F": 2048}, {"D": 300, "F": 400}])
def test_every_number_of_a_comparison(at):
    text = "bf16[B, D] * bf16[D, F] -> bf16[B, F]"
    rows = json.loads(sr.compare(text, on=",".join(CHIPS), assume="B << D, F", at=at).to_json())["rows"]
    assert [row["chip"] for row in rows] == list(CHIPS)
    for row in rows:
        peak, bandwidth = (direct.figure(row["chip"], name) for name in ("peak.bf16", "HBM"))
        truth = direct.Product.read(text, peak=peak, bandwidth=bandwidth)
        assert (Q(row["peak"]), Q(row["bandwidth"]), Q(row["ridge"]["exact"])) == (peak, bandwidth, truth.ridge)
        assert row["ridge"]["float"] == float(truth.ridge)
        assert evaluate(row["compute_bound"].removeprefix("B > "), {}) == truth.ridge
        assert row["smallest_integer"] == whole(truth.ridge, 1)
        sizes = {name: Q(size) for name, size in at.items()}
        assert near(evaluate(row["limit"], sizes), truth.intensity({**sizes, "B": Q(10) ** 20}))
        (point,) = row["at"]
        for batch in (1, 255, 256, 10**6):
            assert evaluate(point["compute_bound"], {"B": batch}) == truth.compute_bound({**sizes, "B": batch})
        n = point["smallest_integer"]
        assert n is None or [truth.compute_bound({**sizes, "B": size}) for size in (n - 1, n)] == [False, True]
