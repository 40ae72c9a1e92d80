"""Programs without arithmetic: exchanges and tensors that are written in another order. There is no intensity to speak of, and all else
is said as it is of programs that compute."""

import json
from random import Random

import pytest
from random_splits import MESHES

import symroof as sr
from symroof.errors import ModelError, SymroofError

LABELS, SIZES = "BDF", {"B": 720, "D": 1440, "F": 2160}


def layouts(random):
    """A mesh, and two or three layouts of one tensor on it."""
    mesh = random.choice(MESHES)
    axes = [axis for axis in "XY" if f"{axis}=" in mesh]
    labels = random.sample(LABELS, random.choice((2, 3)))

    def layout():
        split = dict.fromkeys(labels, "")
        for axis in axes:
            split[random.choice(labels)] += axis if random.random() < 0.7 else ""
        return f"bf16[{', '.join(x + ('_' + split[x] if split[x] else '') for x in labels)}]"

    found = [layout()]
    while len(found) < random.choice((2, 3)):
        found.append(layout())
    return mesh, labels, found


def chained(mesh, layouts, role="input"):
    lines = [f"mesh {mesh}", f"{role} t0: {layouts[0]}"]
    return "\n".join([*lines, *(f"t{i} = t{i - 1} -> {shape}" for i, shape in enumerate(layouts) if i)])


def derived(text, **options):
    """The derivation on a chip that has the links; None where the layouts are one, or nothing is sent."""
    try:
        return sr.derive(text, on="tpu-v5p" if "NVLink" not in text else "h100", **options)
    except SymroofError as error:
        if not any(known in str(error) for known in ("itself", "moves nothing", "has no bandwidth")):
            raise
        return None


@pytest.mark.part(1)
@pytest.mark.parametrize("seed", range(20))
def test_an_exchange_alone_sends_what_it_sends_before_a_product(seed):
    mesh, _, shapes = layouts(Random(seed))
    alone = derived(chained(mesh, shapes))
    if alone is None:
        return
    sizes = {label: size for label, size in SIZES.items() if label in shapes[0]}
    scaled = f"g = t{len(shapes) - 1} * t{len(shapes) - 1} -> {shapes[-1]}"
    followed = derived(f"{chained(mesh, shapes)}\n{scaled}", at=sizes)
    here = derived(chained(mesh, shapes), at=sizes)
    links = [link for link, _ in here.setting.rates.links]
    assert links
    for link in links:
        assert here.value(f"sent({link})") == followed.value(f"sent({link})")
        assert here.value(f"T_{link}") == followed.value(f"T_{link}")
    times = {link: here.value(f"T_{link}") for link in links}
    assert here.value("T_lower") == max(times.values())
    assert here.value("T_upper") == pytest.approx(sum(times.values()))
    assert here.value("flops") == here.value("bytes") == here.value("intensity") == 0


SIZED, ON = "B=64,D=128", "mesh X=4 on ICI\n"
PROGRAMS = {
    "gathered": ("mesh X=4, Y=2 on ICI\nweight A: bf16[B_X, D_Y]\no = A -> bf16[B, D_Y]\np = o -> bf16[B, D]", SIZED),
    "moved": (f"{ON}input A: bf16[B_X, D]\no = A -> bf16[B, D_X]", SIZED),
    "open": ("mesh X on ICI\ncache A: bf16[2048_X, D]\no = A -> bf16[2048, D]", "D=128,X=16"),
    "turned": ("input A: bf16[B, D]\no = rearrange(A) -> bf16[D, B]", SIZED),
    "both": (f"{ON}weight A: bf16[B_X, D]\ng = A -> bf16[B, D]\no = rearrange(g) -> bf16[D, B]", SIZED),
    "repeated": (
        f"{ON}input x: bf16[B_X, D]\nrepeat L as x = y {{\n  g = x -> bf16[B, D_X]\n  y = g -> bf16[B_X, D]\n}}",
        f"{SIZED},L=3",
    ),
}


@pytest.mark.part(1)
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("lang", ["en", "ko", "zh"])
def test_pages_leave_out_what_has_no_meaning(name, lang):
    text, sizes = PROGRAMS[name]
    for at in ((), (sizes,)):
        d = sr.derive(text, on="tpu-v5p", at=list(at))
        for page in (d.to_text(lang=lang), d.to_markdown(lang=lang), d.to_rst(lang=lang), d.to_latex(lang=lang)):
            assert "I_{" not in page
            for word in ("ridge", "compute-bound", "intensity", "never", "T_math", r"T_{\text{math}}"):
                assert word not in page, word
        answer = json.loads(d.to_json())["answer"]
        assert answer["intensity"] is answer["ridge"] is answer["threshold"] is None is not answer["flops"] == "0"
        assert answer["T_lower"] is not None
        assert all(point["outcome"] is None for point in answer["at"])


@pytest.mark.part(1)
@pytest.mark.parametrize("name", PROGRAMS)
def test_times_are_bytes_over_bandwidths(name):
    text, sizes = PROGRAMS[name]
    at = sr.derive(text, on="tpu-v5p", at=sizes)
    ici, hbm, tensor = 9e10, 2.8e12, 64 * 128 * 2
    wanted = {  # rings have two directions; half of what an all-to-all moves crosses the middle of a ring, over four links
        "gathered": {"T_X": tensor / 2 * 3 / 4 / 2 / ici, "T_Y": tensor / 2 / ici},
        "moved": {"T_X": tensor / 2 / 4 / ici},
        "open": {"T_X": 2048 * 128 * 2 * 15 / 16 / 2 / ici},
        "turned": {"T_HBM": 2 * tensor / hbm},
        "both": {"T_X": tensor * 3 / 4 / 2 / ici, "T_HBM": 2 * tensor / hbm},
        "repeated": {"T_X": 3 * 2 * tensor / 2 / 4 / ici},
    }[name]
    for time, value in wanted.items():
        assert at.value(time) == pytest.approx(value, rel=1e-12), time


def test_what_needs_an_intensity_is_refused_in_a_word():
    text, sizes = PROGRAMS["gathered"]
    for ask in (
        lambda: sr.regimes(text, on="tpu-v5p"),
        lambda: sr.plot(text, on="tpu-v5p", at=sizes),
        lambda: sr.plot(text, on="tpu-v5p", at="D=128", over="B=8..64"),
        lambda: sr.page(text, on="tpu-v5p").html,
        lambda: sr.compare(text, on="tpu-v5p,tpu-v5e", at=sizes),
    ):
        with pytest.raises(ModelError, match="computes nothing"):
            ask()
    for kind, options in (("times", {"at": "D=128", "over": "B=8..64"}), ("breakdown", {"at": sizes})):
        assert sr.plot(text, on="tpu-v5p", kind=kind, **options).rows


def test_one_time_alone_is_the_longest():
    text, _sizes = PROGRAMS["moved"]
    found = sr.regimes(text, of="T_lower", on="tpu-v5p").to_text()
    assert "T_lower = T_X" in found
    assert "There is one regime. (proved)" in found
    assert sr.plot(text, on="tpu-v5p", kind="times", at="D=128", over="B=8..64").rows


def test_nothing_computed_and_nothing_moved_is_refused():
    with pytest.raises(ModelError, match="moves nothing"):
        sr.derive("mesh X=4 on ICI\ninput x: bf16[B, D]\ny = x -> bf16[B_X, D]", on="tpu-v5p")


def test_claims_about_an_exchange():
    text, _ = PROGRAMS["gathered"]
    right = ("T_X = 3*B*D/(8*9e10)", "T_lower = max(T_X, T_Y)", "params = B*D", "T_math = 0")
    wrong = ("sent(Y) = 2*B*D", "T_lower = T_X", "compute-bound")
    claims = dict.fromkeys(right, "holds") | dict.fromkeys(wrong, "wrong")
    report = sr.verify({"operation": text, "hardware": "tpu-v5p", "claims": list(claims)})
    assert [one.verdict for one in report.judgements] == list(claims.values())


@pytest.mark.parametrize(("chips", "fits"), [(16, True), (48, False)])
def test_a_size_that_is_a_number_is_shared_out(chips, fits):
    text = "mesh X on ICI\ninput A: bf16[2048_X, D]\nweight W: bf16[D, F]\ny = A * W -> bf16[2048_X, F]"
    named = text.replace("2048", "N")
    if not fits:
        with pytest.raises(ModelError, match="2048 is not a multiple of X = 48"):
            sr.derive(text, on="tpu-v5p", at=f"D=512,F=512,X={chips}")
        return
    one = sr.derive(text, on="tpu-v5p", at=f"D=512,F=512,X={chips}")
    other = sr.derive(named, on="tpu-v5p", at=f"N=2048,D=512,F=512,X={chips}")
    for quantity in ("flops_per_chip", "bytes_per_chip", "T_lower", "intensity"):
        assert one.value(quantity) == other.value(quantity)
    assert "bf16[2048_X, D]" in one.to_text()
