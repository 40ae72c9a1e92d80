"""A page that answers decides what the derivation says: its script in Node against functions, exact fractions and brute force;
and in a browser against its own words."""

import gzip
import json
import random
import re
import shutil
import subprocess
from fractions import Fraction
from functools import cache
from pathlib import Path

import pytest
from effort import is_thorough
from test_rendering_engines import require as require_engines

import symroof as sr
from symroof.derivation.evaluation import functions_of
from symroof.derivation.premises import setting_of
from symroof.derivation.quantity_definitions import quantities
from symroof.derivation.size_constraints import require_valid
from symroof.errors import SymroofError
from symroof.reading.arguments import problem_of

pytestmark = pytest.mark.part(2)

HERE = Path(__file__).parent
SCRIPT = HERE.parent / "templates" / "page" / "live.min.js"
MIXED = "fp8[B, D] * fp8[D, F] -> bf16[B, F]"
TWO = "bf16[B, D_X] * bf16[D_X, F] -> bf16[B, F]"
STAGES = (
    "input x: bf16[B, D]; weight W: bf16[D, F]; weight V: bf16[F, D]; "
    "accumulate M { repeat L over P as x = y { h = x * W -> bf16[B, F]; a = relu(h); y = a * V -> bf16[B, D] } }"
)
HOPS = (
    "input x: bf16[B, D_X]; weight W: bf16[D_X, F]; weight V: bf16[F, D]; "
    "h = x * W -> bf16[B, F]; y = h * V -> bf16[B, D_X]"
)
NODES = (
    "mesh X=2 on NVLink; mesh Y on InfiniBand; input x: bf16[B, D_X]; weight W: bf16[D_X, F_Y]; "
    "y = x * W -> bf16[B, F_Y]; z = y -> bf16[B, F]"
)
# Problems: products, given costs, programs, training, meshes of rings, lines and switches.
PROBLEMS = {
    "matmul": ("tpu-v5e", {}), MIXED: ("h100", {}), "attention-decode": ("h100", {}), "axpy": ("a100", {}),
    "mlp": ("h100", {}), "gated-mlp": ("tpu-v5e", {}), "moe": ("tpu-v5e", {}), "decode-step": ("h100", {}), "window-attention": ("h100", {}), "microbatches": ("h100", {"training": True}),
    "fsdp-megatron": ("tpu-v5p", {}), "data-parallel": ("h100", {}), "expert-parallel": ("tpu-v5e", {}),
    TWO: ("tpu-v5p", {"mesh": "X on ICI"}), STAGES: ("tpu-v5p", {"mesh": "P on ICI"}),
    HOPS: ("tpu-v5e", {"mesh": "X on ICI", "latency": True}), NODES: ("h100", {"latency": True}),
}  # fmt: skip


@cache
def page_of(name):
    on, options = PROBLEMS[name]
    return json.loads(json.dumps(sr.page(name, on=on, **options).data()))


def decided(page, states):
    """What the script of a page decides at each state."""
    require_engines(shutil.which("node"), "node is not installed")
    done = subprocess.run(
        ["node", HERE / "live" / "decide.js", SCRIPT], input=json.dumps({"page": page, "states": states}),
        capture_output=True, text=True, encoding="utf-8", timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def chips_of(page):
    fitted = zip(page["chips"], page["kinds"][0]["chips"], strict=True)
    return [one["n"] for one, own in fitted if not isinstance(own, str)]


def drawn_states(name, page, count):
    """States at random: sizes from 1, whole multiples of their chips where somebody splits them."""
    draw, axes = random.Random(f"live {name}"), [axis["n"] for axis in page["axes"]]
    states = []
    for _ in range(count):
        chips = {axis: draw.choice((1, 2, 3, 4, 16)) for axis in axes}
        sizes = {
            n: draw.choice((1, 2, 7, 64, 2 ** draw.randint(0, 17), draw.randint(1, 10**6)))
            for n in page["names"]
            if n not in axes
        }
        for label, fixed, of in (one for one in page["splits"] if one[0] in sizes):
            each = fixed
            for axis in of:
                each *= chips[axis]
            sizes[label] = sizes[label] * each if sizes[label] % each else sizes[label]
        said = {n: str(s) for n, s in {**sizes, **chips}.items()}
        states.append({"chip": draw.choice(chips_of(page)[:: 4 if axes else 1]), "sizes": said})
    return states


@cache
def functions(name, chip, chips, wanted):
    """The quantities of a problem on a chip, with numbers of chips on its axes, each as a function."""
    _, options = PROBLEMS[name]
    setting = setting_of(problem_of(name, chip, {**options, **({"mesh": dict(chips)} if chips else {})}))
    own = {n: n if {size for _, size in chips} != {1} else n.replace("_per_chip", "") for n in wanted}
    known = quantities(setting)
    found = {f.name: f for f in functions_of(setting, dict.fromkeys(n for n in own.values() if n in known))}
    return setting.problem, {n: found.get(own[n]) for n in wanted}


@pytest.mark.thorough
@pytest.mark.parametrize("name", PROBLEMS)
def test_a_page_computes_what_a_derivation_says(name):
    """Every quantity at 100 points in one process, on chips that are wired otherwise as well; what one refuses the other does."""
    page = page_of(name)
    states = drawn_states(name, page, 100)
    axes = [axis["n"] for axis in page["axes"]]
    compared, refused = 0, 0
    for state, found in zip(states, decided(page, states), strict=True):
        sizes = {n: int(s) for n, s in state["sizes"].items()}
        chips = tuple((axis, sizes[axis]) for axis in axes)
        try:
            problem, known = functions(name, state["chip"], chips, tuple(found.get("floats", ())))
            require_valid(problem, {n: Fraction(s) for n, s in sizes.items() if n not in axes})
        except SymroofError:
            assert "refused" in found or found["uneven"], (
                state
            )  # what chips do not share out is said beside the numbers
            refused += 1
            continue
        if (
            found.get("refused", {}).get("why") == "unwired"
        ):  # an all-to-all over any number of chips is one over an even number; one stage hands nothing on
            assert name in ("expert-parallel", STAGES, HOPS, NODES), state
            alone = {STAGES: "P", HOPS: "X", NODES: "Y"}  # one chip waits for no hops
            assert sizes[alone[name]] == 1 if name in alone else sizes["Z"] % 2
            continue
        assert "refused" not in found, (state, found)
        assert not found["uneven"], (state, found)
        for quantity, value in found["floats"].items():
            if (
                function := known[quantity]
            ) is None:  # over an axis of one chip nothing is sent, and nothing has a time
                if quantity != "T_steps":  # which a product on one chip has no need of
                    assert value == (quantity == "chips"), (quantity, state)
                assert 1 in [sizes[axis] for axis in axes]
                continue
            there = {n: s for n, s in sizes.items() if n in function.parameters}
            assert value == pytest.approx(function(**there), rel=1e-12), (quantity, state)
            compared += 1
    assert compared > 150
    assert refused < 75


def at(page, way, name, sizes, chip):
    """A quotient of the pool as an exact fraction, by plain arithmetic."""
    kind = page["kinds"][0]
    place = [one["n"] for one in page["chips"]].index(chip)
    figures = dict(zip([*kind["figures"], "capacity"], kind["chips"][place][0], strict=True))
    values = [*(Fraction(sizes[n]) for n in page["names"]), *(Fraction(figures[n] or 1) for n in kind["figures"])]

    def total(terms):
        found = Fraction(0)
        for c, *powers in terms:
            value = Fraction(c)
            for i, p in zip(powers[::2], powers[1::2], strict=True):
                value *= values[i] ** p
            found += value
        return found

    above, below = kind["pool"][way["q"][name]]
    return total(above) / total(below)


def inside(spans, n):
    return any(int(a) <= n and (b is None or n <= int(b)) for a, b in spans)


@pytest.mark.parametrize(
    "name", ["matmul", "axpy", *(pytest.param(n, marks=pytest.mark.thorough) for n in ("mlp", "moe", "decode-step"))]
)
def test_bounds_are_the_last_numbers_that_meet_them(name):
    """For every size and resource: at each end of a span, next to it, and at random, against exact fractions. Ties included."""
    page = page_of(name)
    draw = random.Random(f"ends {name}")
    states = [
        {"chip": draw.choice(chips_of(page)), "sizes": {n: str(2 ** draw.randint(2, 14)) for n in page["names"]}}
        for _ in range(12)
    ]
    edges, tried_states = 0, 0
    for state, found in zip(states, decided(page, states), strict=True):
        if "refused" in found:  # a derived size would be less than 1
            continue
        tried_states += 1
        way = page["kinds"][0]["ways"][
            page["kinds"][0]["chips"][[c["n"] for c in page["chips"]].index(state["chip"])][2][""]
        ]
        sizes = {n: int(s) for n, s in state["sizes"].items()}
        for size, bounds in found["bounds"].items():
            ends = {int(end) for spans in bounds["each"].values() for span in spans for end in span if end}
            tried = {1, 2, *(10**k for k in range(12)), *(draw.randint(1, 10**5) for _ in range(5))}
            tried |= {n for end in ends for n in (end - 1, end, end + 1) if n >= 1}
            edges += len(ends)
            for n in tried:
                there = {**sizes, size: n}
                times = {r: at(page, way, f"T_{r}", there, state["chip"]) for r, *_ in way["r"]}
                for resource, spans in bounds["each"].items():
                    assert inside(spans, n) == (times["math"] > times[resource]), (state, size, resource, n)
                assert inside(bounds["joint"], n) == all(times["math"] > t for r, t in times.items() if r != "math")
    assert tried_states > 4
    assert edges > 3 or name == "axpy"


def test_ties_are_no_bound_and_both_are_the_longest():
    """At a ridge of 2: FLOPs are twice the bytes at N = 2 of these costs, and only beyond it does arithmetic take longer."""
    costs = {"flops": "N^2", "reads": "N", "writes": "0"}
    page = json.loads(
        json.dumps(sr.page({"operation": "square", **costs, "hardware": {"peak": "2", "HBM": "2"}}).data())
    )
    states = [{"chip": page["chips"][0]["n"], "sizes": {"N": str(n)}} for n in (1, 2)]
    one, two = decided(page, states)
    assert sorted(one["longest"]) == ["comms", "math"]
    assert two["longest"] == ["math"]
    assert one["bounds"]["N"]["joint"] == [["2", None]]


@pytest.mark.thorough
def test_what_a_derivation_says_of_a_size_a_page_says():
    """The least whole number of the answer is that of the page, on every chip that both know."""
    page, compared = page_of("matmul"), 0
    for chip in chips_of(page)[:: 1 if is_thorough() else 5]:
        sizes = {"B": "64", "D": "8192", "F": "4096"}
        (found,) = decided(page, [{"chip": chip, "sizes": sizes}])
        answer = sr.derive("matmul", on=chip, at="D=8192,F=4096").to_dict()["answer"]["at"][0]
        assert int(found["bounds"]["B"]["joint"][0][0]) == answer["smallest_integer"]
        compared += 1
    assert compared > (8 if is_thorough() else 1)


@pytest.mark.thorough
@pytest.mark.parametrize(("chip", "most"), [("tpu-v5p", "20"), ("h100", None)])
def test_numbers_of_chips_are_those_that_are_wired(chip, most):
    """A ring of v5p closes at multiples of 4: up to Y = 20 of 1 + 32768/1700 = 20.28; a switch joins 8 on a node."""
    page = page_of("fsdp-megatron")
    name = next(one["n"] for one in page["chips"] if one["n"].startswith(chip))
    sizes = {"B": "65536", "D": "8192", "F": "32768", "X": "4", "Y": "4"}
    odd = {**sizes, "X": "16"}
    found, joined = decided(
        page, [{"chip": name, "sizes": sizes if most else {**sizes, "X": "2", "Y": "2"}}, {"chip": name, "sizes": odd}]
    )
    if most:
        ring, line = ({way: rest for way, *rest in found["axes"]["Y"]}[way] for way in ("ring", "line"))
        assert (ring[0][0][1], ring[1]) == (most, "16")  # 20 does not divide 32768
        assert (line[0][0][1], line[1]) == ("10", "2")  # a line of half as many ways: Y < 10.64, and 8 closes to a ring
    else:
        assert joined["refused"]["why"] == "joined"


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "most", "packed"), [("matmul", 45, 15), ("mlp", 60, 18), ("fsdp-megatron", 90, 25)])
def test_a_page_is_one_small_file_that_its_own_policy_allows(name, most, packed):
    """In thousands of bytes, as it is and compressed."""
    shown = sr.page(name, on=PROBLEMS[name][0])
    page = shown.to_html(title='<b>&"</b>')
    assert "<b>&" not in page.split("<body>")[1].split("<script")[0]
    assert not re.search(r"<[^>!]+ (?:style|on\w+)=", re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL))
    assert not re.search(r"https?://(?!www\.w3\.org)", re.sub(r'<a href="[^"]*"', "", page))
    assert "default-src 'none'" in page
    assert len(shown.html.encode()) <= most * 1000
    assert len(gzip.compress(shown.html.encode(), 9)) <= packed * 1000


@pytest.mark.parametrize(("kind", "sources"), [("js", ("live.js", "shown.js")), ("css", ("live.css",))])
def test_what_is_shipped_is_what_is_written_in_short(kind, sources, request):
    """The script and the style sheet as the minifier of the environment of developers makes them of their sources."""
    minify = pytest.importorskip("minify")
    written = "".join((SCRIPT.parent / source).read_text("utf-8") for source in sources)
    short = minify.string({"js": "application/javascript", "css": "text/css"}[kind], written)
    place = SCRIPT.with_suffix(f".{kind}")
    if request.config.getoption("--renew"):
        place.write_text(short, "utf-8")
    assert place.read_text("utf-8") == short


@pytest.mark.thorough
def test_what_has_ample_room_is_not_in_the_way():
    """Formulas are those of resources that take at least a tenth of the time of the arithmetic where the page begins."""
    asked = {"on": "tpu-v5p", "at": "B=65536,D=8192,F=32768,X=16,Y=4"}
    page, d = sr.page("fsdp-megatron", **asked).data(), sr.derive("fsdp-megatron", **asked)
    near = {r for r in ("vector", "X", "Y", "HBM") if 10 * d.value(f"T_{r}") >= d.value("T_math")}
    assert {r for found in page["kinds"][0]["ways"][0]["s"].values() for r in found} == near != set()
