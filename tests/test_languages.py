"""What is particular to a language: how Korean particles agree, how Chinese is set, and a page of each as it is committed."""

import re
import unicodedata
from functools import cache
from pathlib import Path

import pytest
from answered import PROBLEMS, pages
from effort import draws

import symroof as sr
from symroof.rendering.pages.templating import words

MATMUL = {
    "operation": "bf16[B, D] * bf16[D, F] -> bf16[B, F]",
    "on": "tpu-v5e",
    "assume": "B << D, F",
    "at": "D=F=8192",
}

# Korean. Each text with the particle that a reader of it says, written by hand.
SAID = """
$B$는 $D$를 $L$은 $M$을 $N$이 $R$로 $F$로 $BD$와 $DF$가 $BL$과 $BN$은
$240.24$와 $241$은 $3$이 $256$이 $8$로 $6$으로 $0$으로 $1$로 $7$로 $255.21$이 $5$라
$10^{14}$이 $1.97\\times10^{14}$으로 $B^{2}$을 $D^{n}$은 1.97e14을 B^2D를
$\\frac{BDF}{L}$를 $\\frac{1}{D}$이 $\\frac{L}{2}$로 $\\frac{\\frac{N}{2}}{B}$은 $1+\\frac{B}{N}$가
$R\\left(\\frac{1}{D}+\\frac{1}{F}\\right)$로 $B(D-1)$은 $\\min(B,D,N)$을 $\\frac{F}{D+N}$라
$N\\to\\infty$가 ∞는 100%가 $50\\%$로 $\\lambda$는 λ와 ε은
bf16을 fp8로 int4는 `bf16`은 e4m3이 TPU는 HBM을 VMEM으로 ICI를 DCN과 NVLink는 H100은
$d_{\\text{model}}$은 d_model로 $T_{\\text{math}}$는 $T_{\\text{comms}}$가 \\texttt{d\\_ff}를
model로 batch는 dim은 head를 hidden은 seq를 len은 block으로 size가 tile로 time을 lane이 rank는 loop를 step은 weights를 output은 topic을 king은
$n$은 $m$으로 $l$로 $r$로 $k$를 bn은 kv와 ffn으로 BatchSize를 ModelDim은
왼쪽피연산자는 출력은 칩을 메모리로 병목으로 링크로 텐서별로 all-reduce를 all-gather와 reduce-scatter로 all-to-all을
:math:`L`로 :math:`\\frac{B}{N}`와 **N**을 $`D`$는
"""
ENDINGS = {"은": "은는", "이": "이가", "을": "을를", "과": "과와", "으로": ("으로", "로"), "이라": ("라",)}


def spoken(said):
    """A text and its particle, each in its form behind a consonant."""
    for particle, forms in ENDINGS.items():
        for form in sorted(forms, key=len, reverse=True):
            if said.endswith(form):
                return said.removesuffix(form), particle
    raise AssertionError(said)


@pytest.mark.parametrize("said", SAID.split())
def test_particles_agree_with_what_is_heard_before_them(said):
    text, particle = spoken(said)
    assert words(None, "ko").josa(text, particle) == said


@pytest.mark.parametrize("listed", ["$B$", "$B$와 $D$", "$N$과 $D$", "$B$, $D$, $F$"])
def test_a_list_of_two_is_joined_by_a_particle(listed):
    assert words(None, "ko").each(re.findall(r"\$\w\$", listed)).strip() == listed


def test_no_particle_stands_apart_or_in_both_forms():
    """은(는), and a space between a formula and its particle, are what programs write."""
    page = sr.derive(**MATMUL).to_markdown(lang="ko")
    phrases = (Path(__file__).parent.parent / "templates" / "ko.phrases").read_text("utf-8")
    assert re.findall(r"\((?:[은는이가을를와과]|으로|로)\)|[$`] (?:[은는이가을를와과]|으로|로)\b", phrases + page) == []
    assert len(re.findall(r"\$(?:[은는이가을를와과]|으로|로)\b", page)) > 3


# Chinese, as a textbook sets it.
HAN, FULL = r"\u4e00-\u9fff", "，。；：、！？（）“”"
FORMULAS = re.compile(r"\$\$.*?\$\$|\\\[.*?\\\]|^\.\. math::\n\n(?:   .*\n)+", re.DOTALL | re.MULTILINE)
IN_LINE = re.compile(r":math:`[^`]*`|``.*?``|`[^`]*`|\$[^$]*\$|\\texttt\{(?:[^{}]|\{\})*\}")
MARKUP = re.compile(
    r"\*\*(?: |$)|\\[A-Za-z]+\*?(?:\{| |$)|\} ?| [|&] |\\\\|^[*#|.]+ | \|$|^ +(?:\* )?- |\\,", re.MULTILINE
)


@cache
def in_chinese():
    """Every page in Chinese: of what it is, in which form, and its text."""
    return tuple((*name.rsplit(" as ", 1), page) for name, page in pages("zh"))


def phrases(page, form):
    """What a page says in Chinese, one phrase or paragraph after the other, with an X for each formula on paper."""
    if form != "text":
        page = IN_LINE.sub("X", FORMULAS.sub("", page)).replace("\\ ", "")
        page = re.sub(rf"(?<=[{FULL}]) X", "X", page)  # what a dialect needs between a mark and a formula
        page = MARKUP.sub("\n", page).replace("*", "")
    parts = re.split(r"\n|  +" if form == "text" else "\n", page)
    return [said.strip() for said in parts if re.search(f"[{HAN}]", said)]


RULES = {
    "half-width punctuation beside a character": rf"[{HAN}] ?[,;:!?]|[,;:!?] ?[{HAN}]|[{HAN}][.()]|[.()][{HAN}]",
    "no space between a character and a letter, a digit, a sign or a formula": rf"[{HAN}][^{HAN}{FULL}\s]|[^{HAN}{FULL}\s][{HAN}]",
    "a space beside full-width punctuation": rf" [{FULL}]|[{FULL}] ",
    "a space between two characters": rf"[{HAN}] +[{HAN}]",
    "two spaces": r"\S  +\S",
    "two marks in a row": r"[，。；：、]{2}|（）|（[，。；：、]|[，；：、]）",
}
ON_PAPER = {"half-width punctuation": r"[,;:!?()]|\.(?!\d)"}


def breaches(said, form):
    rules = RULES if form == "text" else RULES | ON_PAPER
    return [rule for rule, pattern in rules.items() if re.search(pattern, said)]


@pytest.mark.thorough
def test_chinese_is_set_as_in_a_textbook():
    found = [(form, said) for _, form, page in in_chinese() for said in phrases(page, form)]
    assert {(said, *rules) for form, said in found if (rules := breaches(said, form))} == set()
    for form in ("text", "markdown", "latex", "rst"):
        assert sum(of == form for of, _ in found) > draws(100), form


UNPRINTED = "强度为 X, 即 X。|强度为X。|取 X时|强度为 X ，即 X。|强度 为 X。|强度为  X。|（当 X 时） 总是|强度为 X。，"
UNPRINTED += "|X 块芯片(链)|条件为 X.|当 X, X 时|强度（）为 X"


@pytest.mark.parametrize("said", UNPRINTED.split("|"))
def test_what_a_textbook_does_not_print_is_noticed(said):
    assert breaches(said, "markdown")


@pytest.mark.thorough
def test_words_among_the_formulas_of_a_display_stand_apart():
    displays = "".join("".join(FORMULAS.findall(page)) for _, form, page in in_chinese() if form != "text")
    for name in words(None, "zh").formula_words["quantities"].values():
        displays = displays.replace(f"\\text{{{name}}}", "X")
    assert re.findall(rf"[\w)}}]\\text\{{[{HAN}]|[{HAN}]\}} ?[^\s&\\}}=]", displays) == []
    assert len(re.findall(rf"\\text\{{[{HAN} ]+\}}", displays)) > 20


@pytest.mark.thorough
def test_a_sentence_ends():
    """Whole sentences on paper."""
    derived = [(form, page) for name, form, page in in_chinese() if name in PROBLEMS and form == "markdown"]
    said = [phrase for form, page in derived for phrase in phrases(page, form) if "。" in phrase]
    assert [phrase for phrase in said if not phrase.endswith(("。", "：", "二者之比为"))] == []
    assert len(said) > 100


def test_a_formula_alone_has_no_character_that_is_not_seen():
    d = sr.derive("matmul", on="tpu-v5e")
    for lang in ("en", "ko", "zh"):
        text = d.only(formulas=["threshold"]).to_text(lang=lang)
        assert {c for c in text if unicodedata.category(c) in ("Cf", "Zs")} == {" "}
    assert "无解（其他情况）" in text
