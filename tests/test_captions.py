"""The words of figures: in one language each, apart from one another on the sheet, and the same facts in all of them."""

import re
import xml.etree.ElementTree as ET
from functools import cache

import pytest

import symroof as sr
from symroof.reading.languages import languages
from symroof.rendering.pages.templating import words

pytest.importorskip("matplotlib")
from matplotlib.backends.backend_agg import FigureCanvasAgg
from test_figures import SPLIT, apart, corners, random_figure
from test_plots import FIGURES, INT8, MATMUL, MESHED

from symroof.rendering.figures import sheet
from symroof.rendering.figures.drawings import draw
from symroof.rendering.figures.labels import rows_of

pytestmark = pytest.mark.part(3)

OTHERS = [lang for lang in languages() if lang != "en"]
KINDS = FIGURES | {
    "three links": (MATMUL, {"on": "tpu-v5e", "links": ["PCIe", "VMEM", "HBM"], "given": {"VMEM": "1.8e13"}, "at": "B=64,D=F=8192"}),
    "three points": (INT8, {"on": "tpu-v5e", "at": ["D=F=4096", "D=F=1024", "D=F=256"], "over": "B=1..400"}),
    "at the peak": (MATMUL, {"on": "tpu-v5e", "at": "D=F=8192", "over": "B=2000..4000"}),
    "not there yet": (MATMUL, {"on": "tpu-v5e", "at": "D=F=8192", "over": "B=1..100"}),
    "resources": ("fsdp-megatron", {"on": "tpu-v5p", "at": "D=8192,F=28672,B=1000000", "over": "X=4..4096,Y=4..4096"}),
    "two times": (MATMUL, {"on": "tpu-v5e", "at": ["D=F=8192", "D=F=256"], "over": "B=1:4096:log", "kind": "times"}),
    "matrix unit": ("softmax", {"on": "tpu-v6e", "at": "N=4096", "over": "B=1..400", "kind": "times"}),
    "work for vectors": ("softmax", {"on": "a100", "at": "B=N=4096"}),
    "work for matrices": ("softmax", {"on": "tpu-v6e", "at": "B=N=4096"}),
    "a peak of one's own": ("softmax", {"given": {"peak": "1e14", "HBM": "1e12"}, "at": "B=N=4096"}),
    "doubles": ("triad", {"on": "a100", "at": "N=512"}),
    "mesh": (SPLIT, {"on": "tpu-v5e", "mesh": "X=4", "links": ["HBM", "ICI"], "at": "B=64,D=F=8192"}),
    "network": (SPLIT, {"on": "tpu-v5e", "mesh": "X=4", "link": "ICI", "at": "B=64,D=F=8192"}),
    "whole mesh": (SPLIT, {"on": "tpu-v5e", "mesh": "X=4", "at": "D=F=8192", "over": "B=1..400"}),
    "chips of a mesh": (SPLIT, {"on": "tpu-v5e, tpu-v5p", "mesh": "X=2", "at": "B=64,D=F=8192"}),
    "times of an axis": (MESHED, {"on": "tpu-v5p", "at": "Y=4,B=65536,D=F=8192", "over": "X=1:256:log", "kind": "times"}),
    "roofs of a mesh": (MESHED, {"on": "tpu-v5p", "at": "X=8,Y=4,B=65536,D=F=8192"}),
    "nowhere": (MATMUL, {"on": "tpu-v5e", "at": "F=8", "over": "B=1..4096,D=1..4096"}),
    "everywhere": (MATMUL, {"on": "tpu-v5e", "at": "F=8192", "over": "B=2000..4000,D=2000..4000"}),
    "no other sizes": ("dot", {"on": "tpu-v5e", "over": "N=1..1000"}),
    "no sizes": ("bf16[8, 64] * bf16[64, 16] -> bf16[8, 16]", {"on": "tpu-v5e"}),
}  # fmt: skip
# What no language translates: units, quantities of a table of points, and what a link is called.
SIGNS = r"max|sqrt|[kMGTP]?(?:FLOPs|B|bytes?)(?:/(?:s|byte))?|T_\w+|bf16|int8|fp\d+|[nµm]?s|peak(?:\.\w+)*|HBM|ICI|VMEM|PCIe|slow"
TEXT = "{http://www.w3.org/2000/svg}"


@cache
def plotted(name):
    operation, options = KINDS[name]
    return sr.plot(operation, **options)


@cache
def said(name, lang):
    """Everything that a figure says: what is written in it and in its table of points, what is read aloud."""
    figure = plotted(name)
    root = ET.fromstring(figure.drawn("svg", lang=lang))
    written = [node.text or "" for kind in ("text", "title", "desc") for node in root.iter(TEXT + kind)]
    return [*written, root.get("aria-label"), figure.description(lang), figure.to_text(lang)]


@pytest.mark.thorough
@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("lang", OTHERS)
def test_no_word_of_english_is_left_in_a_figure(lang, name):
    operation = plotted(name).drawing.setting.problem.operation
    parts = [operation.title, str(operation), *str(operation).split()]
    names = "|".join([r"H100 SXM|A100|TPU v(?:5[ep]|6e)|softmax|dot|BN", *map(re.escape, parts)])
    bare = [re.sub(rf"{names}|(?<![A-Za-z])(?:{SIGNS})(?![A-Za-z])", "", text) for text in said(name, lang)]
    assert [text for text in bare if re.search(r"[A-Za-z]{2,}", text)] == []
    assert any(c.isalpha() and ord(c) > 0x1100 for text in bare for c in text)


@pytest.mark.thorough
@pytest.mark.part(1)
@pytest.mark.parametrize("name", KINDS)
def test_signs_are_those_of_the_language(name):
    if "zh" in OTHERS:
        text = "\n".join(said(name, "zh"))
        assert not re.search(r"[\u4e00-\u9fff][,;:.]|[,;:][ ]?[\u4e00-\u9fff]", text), "half a width beside Chinese"
        assert not re.search(r" [，。；：、]|[，。；：、] [^ ]", "\n".join(said(name, "zh")[:-1]))
        assert not re.search(r"[\u4e00-\u9fff] [\u4e00-\u9fff]", re.sub(" {2,}", "\t", text)), "Chinese has no spaces"
    if "ko" in OTHERS:
        assert not re.search(r"[，。；：（）、]", "\n".join(said(name, "ko")))


@pytest.mark.thorough
@pytest.mark.parametrize("seed", [0, 3, 4, 6, 4712])
@pytest.mark.parametrize("lang", OTHERS)
def test_labels_lie_apart_in_every_language(lang, seed):
    operation, options = random_figure(seed)
    canvas = draw(sr.plot(operation, **options).drawing, 4.5 if seed % 2 else 7.2, lang)
    canvas.drawn("svg")
    renderer = sheet._measuring(FigureCanvasAgg(canvas.sheet).get_renderer())
    texts = [t for t in (*canvas.axes.texts, *canvas.sheet.texts) if t.get_text()]
    shapes = [(t.get_text(), corners(t, renderer)) for t in texts]
    for i, (text, shape) in enumerate(shapes):
        assert all(apart(shape, other) for _, other in shapes[:i]), text
        width, height = canvas.sheet.bbox.width, canvas.sheet.bbox.height
        assert all(-1 <= x <= width + 1 and -1 <= y <= height + 1 for x, y in shape), text
    name = canvas.axes.xaxis.label.get_window_extent(renderer)
    assert name.x0 >= 0
    assert name.x1 <= canvas.sheet.bbox.width


@pytest.mark.thorough
@pytest.mark.parametrize("name", KINDS)
def test_sizes_of_all_points_stand_under_the_title_alone(name):
    """With their thousands apart."""
    at = KINDS[name][1].get("at", [])
    each = [re.findall(r"(\w+)(?==(?:\w+=)*(\d+))", point) for point in ([at] if isinstance(at, str) else at)]
    canvas = draw(plotted(name).drawing)
    canvas.drawn("svg")
    under, labels = (
        " ".join(re.sub(r"\s", " ", text.get_text()) for text in some) for some in ([canvas._aside], canvas.axes.texts)
    )
    for size, value in set.intersection(*map(set, each)) if each else ():
        said = rf"\b{size} = (\w+ = )*{int(value):,}(?!,?\d)"
        assert [bool(re.search(said, text)) for text in (under, labels)] == [True, False], size
    assert not re.search(r"\d{4}", re.sub(r"0\.\d+", "", under)), "thousands stand apart"


def test_a_resource_has_one_colour_in_all_figures():
    colours = {}
    for name in ("times", "times of an axis", "matrix unit"):
        canvas = draw(found := plotted(name).drawing)
        for time, ys in found.curves[0].lines.items():
            drawn = [line for line in canvas.axes.lines if len(line.get_ydata()) == len(ys)]
            same = {line.get_color() for line in drawn if list(line.get_ydata() * canvas.scale) == pytest.approx(ys)}
            if not time.startswith(("T_lower", "T_upper", "T_steps")):
                colours.setdefault(time.replace("comms", "HBM"), set()).update(same - {"#1A1A1A"})
    assert all(len(own) == 1 for own in colours.values())
    assert len(set.union(*colours.values())) == len(colours) >= 5


def test_rows_count_a_chinese_character_twice_and_end_between_two():
    assert rows_of("算术强度 (FLOPs/byte)，各链路字节数相同", 24) == ["算术强度 (FLOPs/byte)，", "各链路字节数相同"]
    assert rows_of("1  各链路字节数相同", 11, "   ") == ["1  各链路字", "   节数相同"]
    assert rows_of("1  연산 병목\n모든 링크", 12, "   ") == ["1  연산 병목", "   모든 링크"]
    assert rows_of("compute-bound on both", 16) == ["compute-bound on", "both"]
    assert rows_of("Dim_model_very_long", 8) == ["Dim_mode", "l_very_l", "ong"], "a name that has no room is cut"


@pytest.mark.parametrize("word", ["an H100 SXM", "a TPU v5e", "an fp8", "a uint8"])
def test_english_has_the_article_that_is_heard(word):
    assert str(words(None, "en").a(word.partition(" ")[2])).strip() == word


@pytest.mark.thorough
@pytest.mark.parametrize("lang", ["en", "ko", "zh"])
def test_every_row_of_the_key_has_its_number_on_the_figure(lang):
    """On a narrow sheet a long label gives way where it would stand in the place of a number."""
    operation = "X * W -> Z: bf16[Batch_Size_Long, Hidden], bf16[Hidden, FF] -> bf16[Batch_Size_Long, FF]"
    asked = {"at": ["Hidden=FF=4096", "Hidden=FF=512"], "over": "Batch_Size_Long=1..600"}
    figure = sr.plot(operation, on="tpu-v5e", kind="throughput", lang=lang, **asked)
    texts = re.findall(r">([^<>]*)</text>", figure.drawn("svg", "4in").decode())
    rows = [match[1] for match in (re.match(r"(\d)\s\s+\S", text) for text in texts) if match]
    assert len(rows) >= 4
    assert set(rows) <= set(texts)
