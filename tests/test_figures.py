"""The drawn geometry of figures, read back from Matplotlib: labels lie apart, nothing is clipped, points lie on their curves."""

import io
import itertools
import math
import random
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import symroof as sr

pytest.importorskip("matplotlib")
from matplotlib.backends.backend_agg import FigureCanvasAgg

from symroof.reading.chips import chip as known_chip
from symroof.rendering.figures.drawings import draw
from symroof.rendering.figures.labels import meet

pytestmark = pytest.mark.part(1)

MATMUL = "bf16[B, D] * bf16[D, F] -> bf16[B, F]"
SPLIT = "bf16[B, D_X] * bf16[D_X, F] -> bf16[B, F]"
OVER_CHIPS = "mesh X, Y on ICI; input x: bf16[B_X, D_Y]; weight W: bf16[D_X, F_Y]; h = x * W -> bf16[B_X, F_Y]"
CHIPS = ["tpu-v5e", "tpu-v5p", "tpu-v6e", "h100", "a100", "b200"]


def random_figure(seed):
    draw_ = random.Random(seed)

    def size():
        return draw_.choice([64, 100, 128, 256, 500, 512, 1024, 4096, 8192])

    def axis(low):
        if draw_.random() < 0.5:
            return f"B={low}..{low * draw_.choice([3, 10, 100, 3000])}"
        return f"B={low}:{low * draw_.choice([7, 100, 4096])}:log"

    if seed == 4711:
        return MATMUL, {"on": "tpu-v5e", "at": [f"B={b},D=F={d}" for b in (1, 8, 64, 256) for d in (64, 512, 4096)]}
    if seed == 4712:
        points = [f"Y=4,B={b},D=8192,F=28672" for b in (196608, 4096)]
        return OVER_CHIPS, {"on": "tpu-v5p", "training": True, "at": points, "over": "X=1..256"}
    kinds = ["throughput", "times", "roofline", "path", "chips", "links", "regimes", "mesh", "breakdown"]
    kind = draw_.choice(kinds)
    at = list(dict.fromkeys(f"D={size()},F={size()}" for _ in range(draw_.choice([1, 1, 2, 3, 6]))))
    full = [f"B={draw_.choice([1, 2, 8, 60, 64, 240, 256, 300, 1000])},{rest}" for rest in at]
    low = draw_.choice([1, 1, 100, 500])
    match kind:
        case "throughput" | "times":
            return MATMUL, {"on": draw_.choice(CHIPS), "at": at, "over": axis(low), "kind": kind}
        case "path":
            return MATMUL, {"on": draw_.choice(CHIPS), "at": at, "over": axis(low), "kind": "roofline"}
        case "roofline":
            return MATMUL, {"on": draw_.choice(CHIPS), "at": full}
        case "chips":
            return MATMUL, {"on": ",".join(draw_.sample(CHIPS, draw_.choice([2, 3, 4]))), "at": full}
        case "breakdown":
            program = draw_.choice(["mlp", "gated-mlp", "decoder-layer"])
            known = sr.operation(program).dimensions
            points = [{name: draw_.choice([2, 8, 64, 512]) for name in known} for _ in range(draw_.choice([1, 1, 2]))]
            return program, {"on": draw_.choice(CHIPS), "at": points, "kind": kind, "training": draw_.random() < 0.4}
        case "links":
            given = {"slow": "2.05e11", "slower": "1e11"}
            return MATMUL, {"on": "tpu-v5e", "at": full, "links": ["HBM", *given], "given": given}
        case "mesh":
            at = [f"B={draw_.choice([8, 64])},D=4096,F={size()}"]
            return SPLIT, {"on": "tpu-v5e", "mesh": "X=4", "links": ["HBM", "ICI"], "at": at}
    return MATMUL, {"on": draw_.choice(CHIPS), "at": f"F={size()}", "over": "B=1..10000,D=1..10000"}


def corners(text, renderer):
    """The rectangle of words as they are drawn: about their anchor, turned."""
    angle = text.get_rotation()
    text.set_rotation(0)
    flat = text.get_window_extent(renderer)
    text.set_rotation(angle)
    c, s = math.cos(math.radians(angle)), math.sin(math.radians(angle))
    around = ((0, 0), (flat.width, 0), (flat.width, flat.height), (0, flat.height))
    return [(flat.x0 + x * c - y * s, flat.y0 + x * s + y * c) for x, y in around]


def apart(first, second):
    """Whether a line along a side of one of two rectangles has them on its two sides, give or take a pixel."""
    for shape in (first, second):
        for (x0, y0), (x1, y1) in itertools.pairwise([*shape, shape[0]]):
            length = math.hypot(x1 - x0, y1 - y0)
            across, up = (y0 - y1) / length, (x1 - x0) / length
            one, other = ([across * x + up * y for x, y in s] for s in (first, second))
            if max(one) <= min(other) + 1 or max(other) <= min(one) + 1:
                return True
    return False


def shown(operation=MATMUL, on="tpu-v5e", inches=7.2, **options):
    """A figure as it is drawn on a sheet."""
    canvas = draw(sr.plot(operation, on=on, **options).drawing, inches)
    canvas.drawn("svg")
    return canvas


def words(canvas):
    """What is written on the axes."""
    return [t.get_text() for t in canvas.axes.texts]


@pytest.mark.thorough
@pytest.mark.parametrize("seed", [*range(16), 4711, 4712])
def test_labels_lie_apart_and_nothing_is_clipped(seed):
    operation, options = random_figure(seed)
    figure = sr.plot(operation, **options)
    canvas = draw(figure.drawing, random.Random(seed).choice([3.5, 5, 7.2, 7.2, 12]))
    canvas.drawn("png", 900)
    sheet = canvas.sheet
    renderer = FigureCanvasAgg(sheet).get_renderer()
    labels = [(t.get_text(), corners(t, renderer)) for t in (*canvas.axes.texts, *sheet.texts) if t.get_text()]
    for (a, one), (b, other) in itertools.combinations(labels, 2):
        assert apart(one, other), f"{a!r} lies on {b!r}"
    on_axes = len([text for text in canvas.axes.texts if text.get_text()])
    for i, (text, shape) in enumerate(labels):
        frame = canvas.axes.bbox if i < on_axes else sheet.bbox
        inside = (frame.x0 - 1 <= x <= frame.x1 + 1 and frame.y0 - 1 <= y <= frame.y1 + 1 for x, y in shape)
        assert all(inside), f"{text!r} leaves the frame, or the sheet"
    for line in canvas.axes.lines:
        if line.get_marker() != "None":
            x, y = canvas.axes.transData.transform((line.get_xdata()[0], line.get_ydata()[0]))
            rim = line.get_markersize() / 2 * sheet.dpi / 72 * 0.7
            ring = [(x - rim, y - rim), (x + rim, y - rim), (x + rim, y + rim), (x - rim, y + rim)]
            for text, shape in labels:
                assert apart(ring, shape), f"{text!r} lies on a marker"


def exact_throughput(b, d, f, peak, bandwidth):
    flops, moved = 2 * b * d * f, 2 * (b * d + d * f + b * f)
    return flops / max(flops / peak, moved / bandwidth)


@pytest.mark.parametrize("over", ["B=1..400", "B=500..1000", "B=1:1000000:log", "B=3:10000:log", "B=7|900"])
def test_what_is_drawn_is_what_was_asked_for(over):
    canvas = draw(sr.plot(MATMUL, on="tpu-v5e", at=["D=F=4096", "D=300,F=200"], over=over).drawing)
    ends = tuple(map(int, re.findall(r"\d+", over)[:2]))
    assert canvas.axes.get_xscale() == ("log" if "log" in over else "linear")
    assert canvas.axes.get_xlim() == ((0 if ends[0] == 1 and "log" not in over else ends[0]), ends[1])
    long = [line for line in canvas.axes.lines if len(line.get_xdata()) > 20]
    curves = [line for line in long if line.get_color() in ("#0072B2", "#D55E00")]
    for line, (d, f) in zip(curves, ((4096, 4096), (300, 200)), strict=True):
        xs, ys = line.get_xdata(), line.get_ydata()
        assert (xs[0], xs[-1]) == ends
        for x, y in zip(xs, ys, strict=True):
            assert y * 1e12 == pytest.approx(exact_throughput(x, d, f, 1.97e14, 8.2e11), rel=1e-12)
        for (x0, y0), (x1, y1) in itertools.pairwise(zip(xs, ys, strict=True)):  # between the places, a straight line
            middle = math.sqrt(x0 * x1) if "log" in over else (x0 + x1) / 2
            assert (y0 + y1) / 2 * 1e12 == pytest.approx(exact_throughput(middle, d, f, 1.97e14, 8.2e11), rel=2e-3)


@pytest.mark.thorough
def test_the_rule_of_thumb_is_drawn_where_it_is():
    """2B FLOPs for each byte of the weights, whatever the range that is looked at."""
    canvas = shown("bf16[B, D] * int8[D, F] -> bf16[B, F]", at="D=F=4096", over="B=100..1000")
    (rule,) = [line for line in canvas.axes.lines if line.get_color() == "#666666" and len(line.get_xdata()) > 20]
    for x, y in zip(rule.get_xdata(), rule.get_ydata(), strict=True):
        assert y * 1e12 == pytest.approx(min(1.97e14, 2 * x * 8.2e11))
    above = shown(at="D=F=4096", over="B=500..1000")
    assert all(500 <= x <= 1000 for line in above.axes.lines for x in line.get_xdata())
    assert "rule of thumb" not in " ".join(words(above))


def test_several_paths_are_told_apart(run):
    figure = sr.plot(MATMUL, on="tpu-v5e", at=["D=F=8192", "D=F=512"], over="B=1:4096:log", kind="roofline")
    rows = figure.to_text().splitlines()[2:]
    assert sum("D = 8192, F = 8192, B = 1 " in row for row in rows) == 1
    assert sum("D = 512, F = 512, B = 1 " in row for row in rows) == 1
    canvas = draw(figure.drawing)
    assert "8,192" not in canvas.title
    assert len({line.get_color() for line in canvas.axes.lines if len(line.get_xdata()) > 100}) == 2


@pytest.mark.thorough
def test_an_axis_has_numbers_however_short_it_is():
    for over in ("B=300:400:log", "B=100:700:log", "B=1:10:log"):
        axes = shown(at="D=F=8192", over=over, kind="times").axes
        for axis, (low, high) in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
            ticks = zip(axis.get_majorticklabels(), axis.get_majorticklocs(), strict=True)
            assert sum(low <= place <= high and t.get_text() != "" for t, place in ticks) >= 2


@pytest.mark.thorough
def test_many_curves_are_told_apart():
    canvas = shown(at=[f"D=F={100 * k}" for k in range(1, 13)], over="B=1..4000")
    curves = [line for line in canvas.axes.lines if line.get_linewidth() == 2.2]
    looks = [(line.get_color(), str(line._unscaled_dash_pattern)) for line in curves]
    assert len(looks) == len(set(looks)) == len(canvas._table.rows) == 12, "many have a key in place of labels"


@pytest.mark.thorough
def test_type_has_one_size_on_every_sheet():
    figure = sr.plot(MATMUL, on="tpu-v5e", at="B=64,D=F=8192")
    sheets = [ET.parse(io.BytesIO(figure.drawn("svg", width))).getroot() for width in (480, None, "12in")]
    assert [round(float(sheet.get("width").removesuffix("pt"))) for sheet in sheets] == [360, 518, 864]
    styles = (" ".join(node.get("style") or "" for node in sheet.iter()) for sheet in sheets)
    sizes = [set(re.findall(r"font(?:-size)?: (?:\w+ )*([\d.]+)px", style)) for style in styles]
    assert sizes[0] == sizes[1] == sizes[2] != set()


@pytest.mark.thorough
def test_words_are_dark_enough_to_be_read():
    def luminance(colour):
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
        return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    for seed in range(4):
        operation, options = random_figure(seed)
        canvas = shown(operation, **options)
        for text in filter(lambda t: t.get_text(), [*canvas.axes.texts, *canvas.sheet.texts]):
            assert 1.05 / (luminance(text.get_color()) + 0.05) >= 4.5


@pytest.mark.thorough
@pytest.mark.parametrize("operation", ["dot", "matvec", "matmul", "softmax", "rms-norm", "axpy", "outer"])
def test_every_operation_of_the_library_is_drawn(operation):
    sizes = list(sr.derive(operation).setting.problem.operation.dimensions)
    others = f"{'='.join(sizes[1:])}=4096" if sizes[1:] else None
    for kind in ("throughput", "times", "roofline"):
        assert sr.plot(operation, on="h100", over=f"{sizes[0]}=1..4096", at=others, kind=kind).drawn()


@pytest.mark.thorough
def test_signs_in_names_are_no_mathematics():
    figure = sr.plot(MATMUL, on="tpu-v5e", at="B=64,D=F=8192", links=["HBM", "a$b$"], given={"a$b$": "1e12"})
    assert "a$b$" in figure.drawn().decode()


@pytest.mark.thorough
@pytest.mark.parametrize("inches", [4, 7.2])
def test_long_words_stay_on_the_sheet(inches):
    names = "bf16[Batch_size_long, Dim_model_very_long] * bf16[Dim_model_very_long, Feed_forward_dim] -> bf16[Batch_size_long, Feed_forward_dim]"
    sizes = [f"Dim_model_very_long=Feed_forward_dim={k}" for k in (256, 512, 4096)]
    for operation, options in (
        (names, {"over": "Batch_size_long=1..400", "at": sizes}),
        (MATMUL, {"links": ["HBM", "L2", "b"], "given": {"L2": "5e12", "b": "1e9"}, "at": "B=64,D=F=8192"}),
    ):
        canvas = draw(sr.plot(operation, on="h100", **options).drawing, inches)
        canvas.drawn("png", 600)
        renderer = FigureCanvasAgg(canvas.sheet).get_renderer()
        for text in [*canvas.sheet.texts, *canvas.axes.texts, canvas.axes.xaxis.label, canvas.axes.title]:
            extent = text.get_window_extent(renderer)
            assert extent.x0 >= -1, text.get_text()
            assert extent.x1 <= canvas.sheet.bbox.width + 1, text.get_text()


@pytest.mark.thorough
def test_numbers_of_an_axis_do_not_touch():
    for inches in (4, 7.2):
        canvas = draw(sr.plot("axpy", on="tpu-v5e", over="N=1:1000000000:log").drawing, inches)
        canvas.drawn("png", 600)
        renderer = FigureCanvasAgg(canvas.sheet).get_renderer()
        low, high = canvas.axes.get_xlim()
        ticks = zip(canvas.axes.get_xticklabels(), canvas.axes.get_xticks(), strict=True)
        seen = [t.get_window_extent(renderer) for t, x in ticks if low <= x <= high]
        assert len(seen) >= 3
        assert all(a.x1 + 2 < b.x0 for a, b in itertools.pairwise(seen))


@pytest.fixture
def noted(monkeypatch):
    """The places of rings and the words of labels while figures are drawn."""
    rings, said = [], []
    canvas = "symroof.rendering.figures.canvas.Canvas"
    monkeypatch.setattr(f"{canvas}.ring", lambda self, place, *_, **__: rings.append(place))
    monkeypatch.setattr(f"{canvas}.label", lambda self, text, *_, **__: said.append(str(text)))
    return rings, said


@pytest.mark.parametrize("kind", ["times", "throughput"])
def test_a_ring_stands_where_another_time_becomes_the_longest(kind, noted):
    """At the beginning of the stretch, on the line; worked out again from both times."""
    draw(sr.plot(MATMUL, on="tpu-v5e", over="B=1..4096", at="D=F=8192", kind=kind).drawing)
    (((size, height),), _) = noted
    flops, moved = 2 * size * 8192**2, 4 * size * 8192 + 2 * 8192**2
    assert flops / 1.97e14 == pytest.approx(moved / 8.2e11, rel=1e-6)
    assert height == pytest.approx(flops / 1.97e14 if kind == "times" else 1.97e14, rel=1e-6)


@pytest.mark.thorough
def test_a_ring_of_times_on_a_mesh_stands_at_the_size_beside_it(noted):
    """``from B = 17`` is written at a ring between 16 and 17."""
    rings, said = noted
    split = "mesh X = 4; input x: bf16[B, D_X]; weight W: bf16[D_X, F]; y = x * W -> bf16[B, F]"
    draw(sr.plot(split, on="tpu-v5p", over="B=1..100000", at="D=F=8192", kind="times").drawing)
    firsts = [int(found[1]) for text in said if (found := re.search(r"from B = (\d+)", text))]
    assert [math.ceil(size) for size, _ in rings] == firsts
    assert firsts


def written(canvas, monkeypatch):
    """What is written on the axes while a figure is drawn: the words, their corners and their place in points, the centres of
    all marks if that is one, the line that they name in pieces, and the thin line that joins them, if there is one: it passes
    no other such line, and no other words."""
    write, found = type(canvas)._write, []

    def noted(self, label, spot, shapes):
        marks = [place for place, _ in self._rings]
        centres = list(map(self._on_sheet, marks if spot.place in marks else ()))
        line = self._segments(label.line) if label.line else []
        found.append((label.text, shapes[0], self._on_sheet(spot.place), centres, line, shapes[1:]))
        write(self, label, spot, shapes)

    monkeypatch.setattr(type(canvas), "_write", noted)
    canvas.drawn("svg")
    monkeypatch.undo()
    for (*_, leader), (_, other, *_, line) in itertools.permutations(found, 2):
        assert not any(meet(thin, part) for thin in leader for part in (other, *line))
    return found


def reach(shape, places):
    """How near the rim of words comes to places."""
    steps = itertools.product(itertools.pairwise([*shape, shape[0]]), (k / 60 for k in range(61)))
    rim = [(x0 + (x1 - x0) * k, y0 + (y1 - y0) * k) for ((x0, y0), (x1, y1)), k in steps]
    return min(math.dist(edge, place) for edge in rim for place in places)


@pytest.mark.thorough
def test_a_label_belongs_to_its_mark(monkeypatch):
    """From the label's box the centre of its own mark is the nearest, or a line joins them; marks on one another are one."""
    read = 0
    for seed in (*range(48), 4711):
        operation, options = random_figure(seed)
        for text, shape, own, centres, *_, led in written(draw(sr.plot(operation, **options).drawing), monkeypatch):
            others = [centre for centre in centres if math.dist(centre, own) > 7]
            read += bool(centres)
            if others and not led:
                assert reach(shape, [own]) + 2 <= reach(shape, others), (
                    f"{text!r} is nearer to a mark that is not its own"
                )
    assert read > 100


def test_sizes_stand_once_in_a_place_and_give_way_where_there_is_no_room():
    """Points of one place have one name; the batches along a curve have names while there is room, and no row of a key."""
    canvas = shown("mlp", on="gb200", at=["B=D=4096,F=128", "B=1024,D=256,F=2048"])
    both = "\n".join(words(canvas))
    assert [
        both.count(f"{sizes}: in all, h, y:") for sizes in ("B = D = 4,096, F = 128", "B = 1,024, D = 256, F = 2,048")
    ] == [1, 1]
    assert (both.count("F = 128"), both.count("F = 2,048")) == (1, 1)
    options = {"at": "S=2048,V=128256,D=4096,K=8,G=4,H=128,F=14336,L=32", "over": "B=1:512:log", "kind": "latency"}
    assert {"B = 1", "B = 4", "B = 16", "B = 64"} <= {*words(shown("decode-step", on="h100", **options))}
    narrow = draw(sr.plot("decode-step", on="tpu-v5e,gb200,a100,h200,b200", **options).drawing, 4)
    narrow.drawn("svg")
    beneath = [text.get_text() for text in narrow.sheet.texts]
    assert any("A100: B = " in text for text in (*beneath, *words(narrow)))
    assert not any(re.fullmatch(r"\d+  B = \d+", text) for text in beneath)


@pytest.mark.parametrize("seed", range(14))
def test_the_name_of_a_line_stands_at_its_line(seed, monkeypatch):
    """No other line with a name is nearer to the words, or a thin line joins them; and under the title stands of every chip
    what is drawn."""
    draw_ = random.Random(f"roofs {seed}")
    chips, at = draw_.sample(CHIPS, draw_.choice([1, 2, 2, 3, 4, 5])), f"B={draw_.choice([8, 64, 500])},D=F=4096"
    given = {"L2": f"{draw_.choice([5, 9, 12])}e12"} if draw_.random() < 0.4 else {}
    options = {"on": ",".join(chips), "at": at, "links": ["HBM", *given], "given": given}
    if seed > 9:
        chips = chips[:1]
        options = {"on": chips, "at": f"D={draw_.choice([64, 8192])},F=4096", "over": "B=1..600", "kind": "times"}
    canvas = draw(sr.plot(MATMUL, **options).drawing)
    labels = [(text, shape, own, line, led) for text, shape, own, _, line, led in written(canvas, monkeypatch) if line]
    titles = [known_chip(chip).title for chip in chips]
    called = {text for text, *_ in labels} | {
        cell for row in (canvas._table.rows if canvas._table else ()) for cell in row
    }
    assert called >= {*titles} if len(chips) > 1 else seed > 9 or "peak" in " ".join(words(canvas))
    steps = [k / 30 for k in range(31)]
    each = [[(a + (c - a) * k, b + (d - b) * k) for (a, b), (c, d) in line for k in steps] for *_, line, _ in labels]
    for (text, shape, *_, led), line in zip(labels, map(np.array, each), strict=True):
        others = [place for other in each for place in other if np.hypot(*(line - place).T).min() > 2.5]
        assert led or not others or reach(shape, line) < reach(shape, others), text
    for title in titles if len(chips) > 1 else ():
        (row,) = [row for row in canvas._aside.get_text().split("\n") if row.startswith(f"{title} · ")]
        assert (row.count("FLOPs/s"), row.count(" TB/s") + row.count(" GB/s")) == (1, 1 + len(given)), row


@pytest.mark.thorough
def test_chips_and_sizes_are_not_torn_apart():
    text = "mesh X=8 on NVLink; mesh M on InfiniBand; input x: bf16[B_XM, D]; weight W: bf16[D, F]; y = x*W -> bf16[B_XM, F]"
    canvas = draw(sr.plot(text, on="h100", over="B=64:65536:log", at="D=F=8192,M=4").drawing)
    assert "8 × M H100" in canvas.title
    for inches in (3.5, 4, 5, 7.2):
        at = "B=1,T=2048,D=4096,F=14336,H=8,G=4,K=128"
        rows = draw(sr.plot("decoder-layer", on="h100", at=at).drawing, inches)._aside.get_text().split("\n")
        assert not [row for row in rows if re.search(r"(=|[A-Z])$", row) or row.startswith("=")]


NEVER = [
    ("axpy", "1..1000000", None, "0.14"),
    ("dot", "1:1000000:log", None, "0.21"),
    ("softmax", "1..4096", "N=4096", ""),
]


@pytest.mark.parametrize(("operation", "over", "at", "share"), NEVER)
def test_never_is_said_with_its_ceiling(operation, over, at, share):
    canvas = shown(operation, over=f"{'B' if at else 'N'}={over}", at=at)
    said = " ".join(" ".join(words(canvas)).split())
    drawing = sr.plot(operation, on="tpu-v5e", over=f"{'B' if at else 'N'}={over}", at=at).drawing
    (curve,) = drawing.curves
    highest = max(curve.lines["throughput"])
    assert highest < curve.lines["peak"][0]
    assert "never compute-bound" in said
    assert highest <= curve.ceiling * (1 + 1e-12)
    assert not share or f"{share} % of peak" in said


FALLING = {"operation": "falling", "flops": "N + 5", "reads": "8*N", "writes": "4", "compute": "fp32"}


def test_what_falls_is_at_most_what_it_is_at_one():
    """(N + 5)/(8N + 4) FLOPs a byte: 1/2 at one, then less."""
    (curve,) = sr.plot(FALLING, on="h100", over="N=1..1000").drawing.curves
    assert (curve.ceiling, curve.attained) == (pytest.approx(3.35e12 / 2), True)
    assert curve.lines["throughput"][0] == pytest.approx(curve.ceiling) == max(curve.lines["throughput"])
    assert any("never compute-bound,\nat most" in said for said in words(shown(FALLING, "h100", over="N=1..1000")))


@pytest.mark.thorough
def test_what_is_level_is_at_most_what_it_is():
    level = "fp32[N] * fp32[N] -> fp32[N]"
    (curve,) = sr.plot(level, on="h100", over="N=1..1000").drawing.curves
    assert curve.attained
    assert list(curve.lines["throughput"]) == pytest.approx([curve.ceiling] * len(curve.xs))
    assert any("at most" in said for said in words(shown(level, "h100", over="N=1..1000")))


def test_percents_of_a_whole_add_up():
    from symroof.rendering.figures.style import shares

    draw_ = random.Random(23)
    for _ in range(300):
        parts = [draw_.random() ** draw_.choice([1, 4]) for _ in range(draw_.randint(1, 9))]
        said = shares([part / sum(parts) for part in parts])
        numbers = [float(text.removesuffix(" %")) for text in said]
        parts_of = zip(said, numbers, strict=True)
        decimals = {len(text.removesuffix(" %").partition(".")[2]) for text, x in parts_of if x >= 0.1}
        assert sum(numbers) == (100 if decimals == {0} else pytest.approx(100, abs=0.05 * len(parts) + 0.01))
        assert len(decimals) == 1
        for part, x in zip(parts, numbers, strict=True):
            assert x == pytest.approx(100 * part / sum(parts), abs=0.5001 if decimals == {0} else 0.0501)


@pytest.mark.thorough
def test_numbers_of_an_axis_are_of_one_manner():
    for over, wanted in (
        ("B=1:1000000:log", r"1|10|10[⁰¹²³⁴⁵⁶⁷⁸⁹]"),
        ("B=1:10000:log", r"1|10|100|1,000|10,000"),
        ("B=1..4000", r"\d|\d{3}|\d,\d{3}"),
        ("B=1..5000000", r"0|[\d.]+ M"),
    ):
        ticks = shown(at="D=F=8192", over=over).axes.get_xticklabels()
        seen = [t.get_text() for t in ticks if t.get_text()]
        assert len(seen) >= 3
        assert all(re.fullmatch(wanted, text) for text in seen), seen


@pytest.mark.thorough
def test_lines_that_coincide_have_one_label():
    canvas = shown("mlp", "h100", at="D=4096,F=14336", over="B=1..2000", kind="times")
    named = [text.get_text() for text in (*canvas.axes.texts, *canvas.sheet.texts)]
    assert "lower bound: perfect overlap, T_steps" in named
    lines = {tuple(line.get_ydata()) for line in canvas.axes.lines if len(line.get_xdata()) > 20}
    assert sum(bool(re.match("T_|upper|lower", said)) for said in named) == len(lines)


@pytest.mark.thorough
def test_points_of_a_program_are_its_kernels():
    """What overlaps as one is one point: the operations of the unit that takes longer in it, under the peak of that unit."""
    at = "B=1,T=2048,D=4096,F=14336,H=8,G=4,K=128"
    drawing = sr.plot("decoder-layer", on="h100", at=at).drawing
    broken = sr.plot("decoder-layer", on="h100", at=at, kind="breakdown").drawing
    bars = {bar.time: dict(bar.parts) for bar in broken.bars}
    tracks = {track.statement: track for track in drawing.tracks if track.statement}
    assert set(tracks) == set(bars["T_steps"])
    for name, track in tracks.items():
        took = {time: float(sum(parts.get(part, 0) for part in name.split(", "))) for time, parts in bars.items()}
        math_, vector, memory = (took[time] for time in ("T_math", "T_vector", "T_HBM"))
        x, y = track.places[0].point
        assert track.vector == (vector > math_)
        peak = 6.7e13 if track.vector else 9.89e14
        assert x == pytest.approx((vector if track.vector else math_) * peak / (memory * 3.35e12))
        assert y == pytest.approx(min(peak, x * 3.35e12))
        assert float(bars["T_steps"][name]) == pytest.approx(max(math_, vector, memory))
    assert {track.vector for track in tracks.values()} == {True, False}
    adam = sr.plot("adam", on="h100", at="P=1000").drawing
    whole, kernel = adam.tracks
    assert [place.point for place in kernel.places] == [place.point for place in whole.places]


@pytest.mark.thorough
def test_many_points_have_numbers_and_a_table():
    batches = (8, 16, 32, 64, 128, 256, 320, 384)
    at = [f"B={b},D=F=8192" for b in batches]
    canvas = shown(at=at)
    assert {said for said in words(canvas) if said.isdigit()} == {str(i) for i in range(1, 9)}
    beneath = [t.get_text() for t in canvas.sheet.texts]
    assert [text for text in beneath if text.startswith("B = ")] == [f"B = {b}" for b in batches]
    left = [float(text.removeprefix("× ")) for text in beneath if text.startswith("× ")]
    times = [(2 * b * 8192**2 / 1.97e14, (4 * b * 8192 + 2 * 8192**2) / 8.2e11) for b in batches]
    assert left == [pytest.approx(max(1, memory / math_), rel=5e-3) for math_, memory in times]


@pytest.mark.thorough
def test_no_sign_stands_for_two_things():
    """What had no room has letters where points have numbers, and a table of several chips names them."""
    at = [f"B={b},D=F=1024" for b in (1, 2, 4, 8, 16, 32)]
    canvas = shown(on="tpu-v5e,tpu-v5p,h100,a100", at=at)
    signs = [said for said in words(canvas) if re.fullmatch(r"\d+|[a-z]", said)]
    assert len(signs) == len(set(signs))
    assert {str(i) for i in range(1, 7)} <= set(signs)
    assert [t.get_text() for t in canvas.sheet.texts].count("H100 SXM") == 6


def test_points_on_one_another_are_one_mark():
    canvas = shown(at=["B=64,D=F=8192", "B=64,D=8192,F=8193"])
    assert sum(line.get_marker() in "sD^v" for line in canvas.axes.lines) == 1
    assert any(text.count("F = ") == 2 for text in words(canvas))
