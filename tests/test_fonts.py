"""The type of figures: Korean and Chinese words measured by rule, drawn in the fonts of the machine, and never as boxes."""

import logging
import re
import xml.etree.ElementTree as ET

import pytest

pytest.importorskip("matplotlib")
from matplotlib.font_manager import fontManager
from test_rendering_engines import require

from symroof.errors import RenderingError
from symroof.rendering.figures import sheet
from symroof.rendering.figures.canvas import Canvas
from symroof.rendering.figures.labels import around

pytestmark = pytest.mark.part(1)

NAMES = {
    "ko": ("산술 강도 (FLOPs/byte)", "달성 가능한 처리량 (TFLOPs/s)"),
    "zh": ("算术强度 (FLOPs/byte)", "可达算力 (TFLOPs/s)"),
    "en": ("arithmetic intensity (FLOPs/byte)", "attainable throughput (TFLOPs/s)"),
}
LABELS = {
    "ko": ("연산 병목\n모든 링크", "임계 강도 240"),
    "zh": ("计算受限，\n全部链路", "临界强度 240"),
    "en": ("compute-bound\non all", "ridge 240"),
}
FORMS = ("png", "pdf")


def drawing(lang):
    """Two labels on axes, of which one has two rows; a figure has nothing else that is set in type."""
    canvas = Canvas(
        "bf16[B, D] * bf16[D, F] -> bf16[B, F]", NAMES[lang], ((1, 1000), (1, 1000)), log=(True, True), lang=lang
    )
    canvas.line([(1, 1), (240, 200), (1000, 200)], "#0072B2")
    canvas.label(LABELS[lang][0], around((300, 20)), bold=True)
    canvas.label(LABELS[lang][1], around((240, 200)))
    return canvas


@pytest.fixture
def bare(monkeypatch):
    """A machine that has the fonts of matplotlib and no others."""
    own = [entry for entry in fontManager.ttflist if "mpl-data" in str(entry.fname)]
    monkeypatch.setattr(fontManager, "ttflist", own)
    monkeypatch.setattr(sheet, "findSystemFonts", list)


def equipped(lang):
    try:
        return sheet._families({(c, "normal") for c in "".join(LABELS[lang]) if ord(c) > 0x1100}, lang)
    except RenderingError:
        require(None, f"this machine has no font for {lang}")


@pytest.mark.parametrize("lang", LABELS)
def test_an_svg_has_the_same_bytes_whatever_fonts_there_are(lang, request):
    with_fonts = drawing(lang).drawn("svg")
    request.getfixturevalue("bare")
    assert drawing(lang).drawn("svg") == with_fonts


@pytest.mark.parametrize("lang", ["ko", "zh"])
def test_an_svg_names_fonts_of_three_systems_and_its_language(lang):
    svg = drawing(lang).drawn("svg").decode()
    named = set(re.findall(r"font[^;]*'DejaVu Sans', [^;\"]*", svg))
    korean = ("Noto Sans CJK KR", "Apple SD Gothic Neo", "Malgun Gothic")
    for family in korean if lang == "ko" else ("Noto Sans CJK SC", "PingFang SC", "Microsoft YaHei"):
        assert all(f"'{family}'" in names for names in named)
    assert all(names.endswith(", sans-serif") for names in named)
    assert svg.count("<text ") == len(re.findall(r"<text [^>]*sans-serif", svg))
    root = ET.fromstring(svg)
    assert root.get("lang") == root.get("{http://www.w3.org/XML/1998/namespace}lang") == lang
    texts = {node.text for node in root.iter("{http://www.w3.org/2000/svg}text")}
    assert {*NAMES[lang], *LABELS[lang][0].split("\n")} <= texts, "text is text"


def test_english_names_one_font_and_no_language():
    svg = drawing("en").drawn("svg").decode()
    assert "lang=" not in svg
    assert "sans-serif" not in svg


@pytest.mark.thorough
@pytest.mark.parametrize("form", FORMS)
def test_what_no_font_has_is_refused_and_an_svg_is_drawn_nevertheless(form, bare):
    with pytest.raises(RenderingError, match="no font of this machine has") as caught:
        drawing("ko").drawn(form)
    assert any(c in str(caught.value) for c in "강계가")
    assert "draw an SVG" in str(caught.value.hint)
    assert drawing("ko").drawn("svg")
    assert drawing("en").drawn(form), "English needs no other font"


@pytest.mark.thorough
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("lang", "family"), [("ko", None), ("zh", None), ("ko", "NanumGothic")])
def test_drawing_says_nothing(lang, family, form, caplog, capfd, recwarn, monkeypatch):
    """NanumGothic has tables of its own, and a bold type that calls itself something else."""
    equipped(lang)
    if family is not None:
        if family not in set(sheet._candidates(lang)):
            require(None, f"this machine has no {family}")
        monkeypatch.setattr(sheet, "_candidates", lambda _: iter([family]))
    with caplog.at_level(logging.WARNING):
        assert drawing(lang).drawn(form) == drawing(lang).drawn(form)
    assert (caplog.records, list(recwarn), capfd.readouterr().err) == ([], [], "")


@pytest.mark.thorough
@pytest.mark.parametrize("lang", ["ko", "zh"])
def test_a_pdf_holds_its_fonts(lang):
    (family,) = equipped(lang)
    pdf = drawing(lang).drawn("pdf").decode("latin-1")
    held = re.findall(r"/FontName /[A-Z]{6}\+(\S+)", pdf)
    assert any(name.lower().startswith(family.replace(" ", "").lower()[:12]) for name in held)
    kinds = set(re.findall(r"/Subtype /(Type3|CIDFontType2)", pdf))
    assert kinds == {"Type3" if sheet._is_postscript(family) else "CIDFontType2"}
    english = drawing("en").drawn("pdf").decode("latin-1")
    assert re.findall(r"/Subtype /(Type3|CIDFontType2)", english)[0] == "CIDFontType2"


@pytest.mark.parametrize("weight", ["normal", "bold"])
def test_a_character_takes_one_em_in_whatever_font_it_is_drawn(weight, request):
    def measure(words):
        return sheet.Sheet("ko").extent(words, 10, weight == "bold", 1.25)

    latin, height = measure("B = 8")
    mixed = measure("대역B = 8폭")
    assert mixed[0] == pytest.approx(latin + 3 * 10, abs=0.6), "an em has 10 points; pixels are whole"
    assert measure("대역폭")[0] == pytest.approx(30, abs=0.6)
    assert mixed[1] == pytest.approx(height, abs=1.5)
    assert measure("대\n역")[1] == pytest.approx(measure("x\nx")[1], abs=1.5), "rows as far apart as of other words"
    request.getfixturevalue("bare")
    assert measure("대역B = 8폭") == mixed


def test_rows_stand_on_the_same_lines_as_those_of_other_words():
    def heights(words):
        canvas = Canvas("x", ("x", "y"), ((1, 10), (1, 10)), log=(True, True), lang="ko")
        canvas.label(words, around((3, 3), "ne", (5,)))
        texts = ET.fromstring(canvas.drawn("svg")).iter("{http://www.w3.org/2000/svg}text")
        moved = [text.get("transform") for text in texts if text.text in words.split("\n")]
        return [float(re.search(r"translate\(\S+ (\S+)\)", one)[1]) for one in moved]

    assert heights("대역폭\n링크") == pytest.approx(heights("lp lp\nlp lpl"), abs=1)
    assert len(heights("대역폭\n링크")) == 2


def test_a_font_installed_since_matplotlib_made_its_list_is_found(monkeypatch, bare):
    """The list is kept from run to run; a new font is not on it."""
    added = []
    monkeypatch.setattr(sheet, "findSystemFonts", lambda: ["/fonts/new.ttf", "/fonts/broken.ttf"])

    def add(path):
        if "broken" in path:
            raise RuntimeError("Can not load face")
        added.append(path)

    monkeypatch.setattr(fontManager, "addfont", add)
    with pytest.raises(RenderingError):
        drawing("ko").drawn("png")
    assert set(added) == {"/fonts/new.ttf"}


def test_one_font_with_all_characters_goes_before_two_that_share_them(monkeypatch):
    has = {"A": "강", "B": "강도", "C": "도算", "DejaVu Sans": ""}
    monkeypatch.setattr(sheet, "_glyphs", lambda family, weight: {ord(c) for c in has[family]})
    monkeypatch.setattr(sheet, "_candidates", lambda lang: iter("ABC"))
    assert sheet._families({("강", "bold"), ("도", "bold")}, "ko") == ["B"]
    assert sheet._families({("강", "bold"), ("算", "bold")}, "ko") == ["A", "C"]
    assert sheet._families(set(), "ko") == []
    with pytest.raises(RenderingError, match=r"has 术\n"):
        sheet._families({("강", "bold"), ("术", "bold")}, "ko")
