"""Pages with Korean and Chinese words stand under one another on a terminal, and their lines end where they may."""

import re
from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

import symroof as sr
from symroof.formula import Both, Cases, Compare, Name, Product, Quotient, Sum, Verdict, number
from symroof.reading.languages import languages
from symroof.rendering.formulas.plain import PlainPrinter, Words
from symroof.rendering.pages import terminal
from symroof.rendering.pages.section_displays import Row
from symroof.rendering.pages.terminal import bind, cells, close_up, display, fold, glue, pieces, table, unglue

OPENS, CLOSES = "（“《", "，。；：、）”》？！"
FORMULAS = ["B", "B ≪ D, F", "BF(2D - 1)", "BDF/(BD + DF + BF)", "B > 240.24", "5 %", "若 B > 1 则恒成立"]
# A word of Korean with its particle, of Latin, of Chinese, a number, a formula with a particle: with what it is set as.
latin = st.sampled_from(["TPU", "v5e", "bf16", "FLOPs/byte", "240.24", "8,192", "roofline"])
korean = st.builds(
    str.__add__, st.sampled_from(["산술", "강도", "루프라인"]), st.sampled_from(["", "는", "보다", ",", "."])
)
chinese = st.text("算术强度屋顶线计受限的是", min_size=1, max_size=12)
formula = st.builds(
    lambda text, behind: glue(text) + behind, st.sampled_from(FORMULAS), st.sampled_from(["", "는", "일"])
)
quoted = st.builds(lambda text, marks: marks[0] + text + marks[1], chinese, st.sampled_from(["（）", "“”", "《》"]))
sign = st.sampled_from(["，", "。", "；", "：", "、", "！", "。”", "）。"])


def one_sign_at_a_time(parts):
    """The parts as a sentence has them: behind a sign stands a word."""
    return [part for i, part in enumerate(parts) if not (part[0] in CLOSES and i and parts[i - 1][-1] in CLOSES + "”")]


sentences = st.lists(latin | korean | chinese | formula | quoted | sign, min_size=1, max_size=30).map(
    lambda parts: close_up(" ".join(one_sign_at_a_time(parts)).lstrip(CLOSES + " ") or "空")
)
words = st.sampled_from(
    ["chip", "芯片", "最大 FLOPs/s", "临界强度", "대역폭", "B > 240.24", "8192", "산술 강도", "H100 SXM", "（即 B）"]
)


def broad(text: str) -> int:
    """Counted by ranges of code points, without the tables of Unicode: the characters of this file alone."""
    return sum(2 if "一" <= c <= "鿿" or "가" <= c <= "힣" or c in "（）《》，。；：、？！" else 1 for c in text)


def grid(line: str) -> str:
    """One character for each cell: a broad one is followed by a mark."""
    return "".join(c + "\0" * (broad(c) - 1) for c in line)


def told(text: str) -> str:
    """What a text says, without spaces."""
    return re.sub(r"\s", "", unglue(text))


@given(sentences, st.integers(26, 100))
def test_lines_are_as_broad_as_the_terminal_allows_and_say_everything(text, width):
    lines = fold(text, width)
    assert [line for line in lines if broad(line) > width] == []
    assert told("".join(lines)) == told(text)
    if all(broad(unglue(piece).strip()) <= width for piece in pieces(text)):  # else something that has no end is cut
        for formula in FORMULAS:
            assert sum(line.count(formula) for line in lines) == unglue(text).count(formula)


def test_the_test_of_breadth_can_fail(monkeypatch):
    text = "这里的屋顶线说明强度很大" * 4
    assert max(map(broad, fold(text, 30))) == 30
    monkeypatch.setattr(terminal, "cells", len)
    assert max(map(broad, fold(text, 30))) == 60


@given(sentences, st.integers(1, 25))
def test_only_what_has_no_place_to_break_is_broader_than_a_narrow_line(text, width):
    lines = fold(text, width)
    assert told("".join(lines)) == told(text)
    for line in lines:
        assert broad(line) <= width or not re.search(r" |[一-鿿](?=[一-鿿])", line.strip())


@given(sentences, st.integers(1, 100))
def test_no_line_starts_with_what_closes_or_ends_with_what_opens(text, width):
    for line, after in pairwise(fold(text, width)):
        assert after.strip()[0] not in CLOSES
        assert line.strip()[-1] not in OPENS


@given(st.lists(chinese, min_size=1).map("，".join), st.integers(8, 60))
def test_chinese_fills_its_lines(text, width):
    """A character with the punctuation behind it has four cells."""
    assert all(broad(line) >= width - 3 for line in fold(text, width)[:-1])


@pytest.mark.thorough
@given(
    st.lists(latin | korean | formula.filter(lambda text: "若" not in text), min_size=1).map(" ".join),
    st.integers(26, 100),
)
def test_korean_is_folded_at_its_spaces(text, width):
    assert " ".join(fold(text, width)) == unglue(text)


# Where a line may end is marked by a bar.
PARTS = "루프라인은;算|术|强|度;（即|“强|度”）。;约1.97e14次;芯|片|（TPU），|B;强|度——|高;don’t| say| “when”,| or| “how”-like"


@pytest.mark.parametrize("marked", [*PARTS.split(";"), glue("若 B > 1，则恒成立")])
def test_where_a_line_may_end(marked):
    assert pieces(marked.replace("|", "")) == marked.split("|")


BREADTHS = {
    **{"": 0, "B ≪ D": 5, "µs → ∞ ≈ ⇔ …": 12, "강도": 4, "\u1100\u1161\u11a8": 2, "强度，": 6, "“强”": 4, "x\u0302": 1},
    **{bind("强度"): 4, "ｗｉｄｅ": 8},
}


@pytest.mark.parametrize("text", BREADTHS)
def test_the_breadth_of_characters(text):
    assert cells(text) == BREADTHS[text]


CLOSED = {
    "B ， D （ 即 F ） 。 于是": "B，D（即 F）。于是",
    "称为 “强度” 的量": "称为“强度”的量",
    "强度 ；": "强度；",
    **{kept: kept for kept in ("  （一） \n  （二）", "대역폭은 “bandwidth” 이다", "it is “never” so , (a)")},
}


@pytest.mark.parametrize("text", CLOSED)
def test_full_width_punctuation_has_no_spaces_beside_it(text):
    assert close_up(text) == CLOSED[text]


@given(st.lists(st.tuples(words, words, words), min_size=2, max_size=5), st.sets(st.integers(0, 2)))
def test_columns_of_a_table_stand_under_one_another(rows, right):
    """Every cell fills its column from the left, or from the right, counted in cells of the terminal."""
    widths = [max(map(broad, column)) for column in zip(*rows, strict=True)]
    for line, row in zip(table(rows[0], rows[1:], frozenset(right), width=200), rows, strict=True):
        place, shown = 0, grid(line)
        for i, (text, width) in enumerate(zip(row, widths, strict=True)):
            room = shown[place : place + width].replace("\0", "")
            assert room == (" " * (width - broad(text)) + text if i in right else room.rstrip().ljust(len(room)))
            assert room.strip() == text
            place += width + len(terminal.GAP)


@given(st.lists(st.tuples(words, words, words), min_size=2, max_size=4), st.integers(30, 60))
def test_a_table_fits_and_keeps_the_words_of_its_heads(rows, width):
    lines = table(rows[0], rows[1:], width=width)
    assert [line for line in lines if broad(line) > width] == []
    for row in rows:
        for word in " ".join(row).split():
            assert any(word in line for line in lines)


LEDGER = [
    ("데이터 이동량", "2BD + 2DF + 2BF", ""),
    ("연산 병목", "B > 240.24, B = 241부터", "경험 법칙"),
    ("强度", "从 B = 256 起", "精确值"),
]


def test_values_and_remarks_of_a_ledger_stand_under_one_another():
    lines = [grid(line) for line in terminal.ledger(("", "", ""), LEDGER, 80)]
    assert [line.replace("\0", "")[:3] for line in lines] == ["데이터", "연산 ", "强度 "]
    assert [line.index(value) for line, value in zip(lines, "2BB", strict=True)] == [15, 15, 18]
    assert lines[1].index("경") == lines[2].index("精") == 43
    narrow = list(terminal.ledger(("", "", ""), LEDGER, 40))
    assert "                 경험 법칙" in narrow
    assert max(map(broad, narrow)) <= 40


B, D, F = map(Name, "BDF")
BELOW = Sum((Product((B, D)), Product((D, F)), Product((B, F))))
CHINESE = PlainPrinter(
    unicode=True,
    words=Words(both=" 且 ", always="恒成立", never="不可能", guard_in_line=("若 ", ""), rest_in_line=("否则", "")),
)


LEFT = [
    ("B", 46, [10, 10]),
    ("尺寸的积", 46, [13, 13]),
    *(("这是一个很长的名字", *at) for at in ((46, [10, 23, 23]), (40, [10, 6, 6]))),
]


@pytest.mark.parametrize(("left", "width", "columns"), LEFT)
def test_relations_of_a_display_stand_under_one_another(left, width, columns):
    """Names of up to 12 cells share their column of relations."""
    chain = [("=", Product((B, D, F))), ("~", Name("一段不会被折断的文字"))]
    lines = display([Row(Name("bytes"), [("=", BELOW)]), Row(Name(left), chain)], CHINESE, width - len(terminal.GAP))
    assert [place.start() + len(terminal.GAP) for line in lines if (place := re.search("[=≈]", grid(line)))] == columns


def test_cases_in_words_of_a_language_fit_and_keep_their_words():
    """Beside the relation stand 2 + 30 cells of the second guard, from the 11th on."""
    many = Both((Compare(D, ">", Name("尺寸的一个下界")), Compare(F, ">", number(2))))
    cases = Cases(
        ((Compare(B, ">", Quotient(Product((D, F)), BELOW)), Compare(D, ">", F)), (Verdict(True), many)), Verdict(False)
    )
    for width in range(29, 60):
        lines = display([Row(Name("强度"), [("<=>", cases)])], CHINESE, width - len(terminal.GAP))
        assert max(map(broad, lines)) <= width
        assert told("".join(lines)) == told("强度 ⇔ " + CHINESE.print(cases)).replace(";", "")
        for word in ("强度", "恒成立", "否则不可能", "尺寸的一个下界", "若 D > F"):
            assert sum(word in line for line in lines) == 1
        indents = [len(terminal.GAP) + len(line) - len(line.lstrip()) for line in lines]
        assert ("⇔" in lines[0]) == (width >= 11 + 2 + 30)
        assert indents == ([4, 13, 11, 13, 11] if width >= 43 else [4, 6, 10, 8, 10, *[13] * (len(lines) - 6), 8])


def test_a_formula_is_short_by_its_cells_and_goes_on_before_a_word_of_any_language():
    folded = {
        ("B > 240.24 且 D > 8192 且 F > 8192", 26): ["B > 240.24 且 D > 8192", "且 F > 8192"],
        ("B > 240.24 또는 D > 8192 또는 F > 8192", 28): ["B > 240.24 또는 D > 8192", "또는 F > 8192"],
        ("B > 240.24이고 D > 8192이고 F > 8192", 28): ["B > 240.24이고 D > 8192이고", "F > 8192"],
        ("强度的极限 = 一段文字一段文字一段", 30): ["强度的极限", "= 一段文字一段文字一段"],
        ("산술 강도의 극한값 = 어떤 하한값", 30): ["산술 강도의 극한값 =", "어떤 하한값"],
        ("强度 = 一段文字一段文字", 22): ["强度 =", "一段文字一段文字"],
    }
    assert {given: fold(glue(given[0]), given[1]) for given in folded} == folded
    for guard in ("（当 DF > ridge (D + F) 时）", "(단, DF > ridge (D + F))"):
        assert fold(glue(f"B > ridge DF/(DF - ridge (D + F)) {guard}"), 40)[1] == guard


@pytest.mark.parametrize("lang", languages())
def test_a_page_fits_in_every_language(lang):
    answer = sr.derive("bf16[B, D] * bf16[D, F] -> bf16[B, F]", on="tpu-v5e", assume="B << D, F", at="D=F=8192")
    for width in (44, 60, 80, 96):
        lines = answer.to_text(width=width, lang=lang).splitlines()
        assert [line for line in lines if cells(line) > width] == []
        assert [line for line in lines if line.strip() and (line.strip()[0] in CLOSES or line[-1] in OPENS)] == []


def test_title_and_machine_stand_at_the_ends_of_a_line():
    line = terminal.title_line("행렬 곱셈", "芯片：TPU v5e", 40)
    assert (broad(line), line.split("  ")[0], line.split("  ")[-1].strip()) == (40, "행렬 곱셈", "芯片：TPU v5e")
    assert terminal.title_line("행렬 곱셈", "芯片：TPU v5e", 23) == "행렬 곱셈\n芯片：TPU v5e"
    assert max(map(broad, terminal.title_line("一个很长的标题，" * 5, "TPU", 30).split("\n"))) <= 30
