"""Every language says everything, in its own words alone: sets of sentences, formulas, and what is left of another language."""

import re
import unicodedata
from pathlib import Path

import pytest
from answered import pages

from symroof.model.quantities import QUANTITIES
from symroof.reading.languages import languages
from symroof.reading.vocabulary import VOCABULARY, named
from symroof.rendering.pages.templating import ENTRY, environment, load, shipped_template

TEMPLATES = Path(__file__).parent.parent / "templates"
OTHERS = [lang for lang in languages() if lang != "en"]
ENGLISH = (TEMPLATES / "en.phrases").read_text("utf-8")
# What no language translates: units, the names of chips, links, dtypes, operations and functions.
EVERYWHERE = {
    "FLOPs", "OPs", "bytes", "byte", "GiB", "TB", "GB", "MB", "kB", "ms", "us", "ns", "NVLink", "PCIe", "bf", "fp", "int", "input", "weight", "cache", "fuse", "where", "repeat", "as", "relu", "gelu", "silu", "sum", "dE", "dX", "dY", "dA", "dH", "dW", "dV",
    "params", "weights", "caches", "saved", "gradients", "memory", "ops", "ll", "lp", "Batch", "ModelDim", "Hidden", "softmax", "mesh", "chips", "on", "ring", "line", "switch", "dP", "dZ", "rms", "norm", "matmul", "dot", "max", "min", "sqrt", "oo", "Descartes", "tpu", "peak",
    "masked", "pairs", "causal", "attention", "decoder", "layer", "rearrange", "rope", "Wk", "Wo", "Wq", "Wv", "Ks", "Vs", "ks", "vs", "kr", "qr", "xn", "yn", "accumulate", "window", "over", "bubble",
}  # fmt: skip
NAMES = r"symroof list chips [\w-]+|fsdp-megatron|send back|send|all-reduce|all-gather|reduce-scatter|all-to-all|--all|--\w+\s\S+|\w+[_.]\w+|(?m:^  mesh .* on \w+(?: ring| line| switch)?$)"


def language_in(path):
    """A language that has nothing but letters of Hangul where English has a word, written into a file."""
    path.write_text(ENTRY.sub(foreign, ENGLISH), "utf-8")


def foreign(entry):
    """A phrase with a Korean letter for each of its words, row by row, or a table."""
    name, taken, sign, text = entry.groups()
    if sign == " =":
        return replaced(f"<% set {name} = {text} %>").removeprefix("<% set ").removesuffix(" %>")
    head, rows = f"{name}{taken or ''}:", replaced(re.sub("(?m)^  ", "", text.lstrip("\n"))).split("\n")
    return "\n  ".join((head, *rows)) if text.startswith("\n") else f"{head} {rows[0]}"


def replaced(source):
    """A template with a Korean letter for each of its words; keys, comparisons and what is imported stay."""
    tokens, out, depth = list(environment(None).lex(source)), [], []
    solid = [(kind, value) for _, kind, value in tokens if kind != "whitespace"]
    place = -1
    for _, kind, value in tokens:
        place += kind != "whitespace"
        if kind == "block_begin":
            depth = [solid[place + 1][1]]
        if kind == "data":
            value = foreign_letters(value)
        elif kind == "string":
            before, behind = solid[place - 1][1], solid[place + 1][1]
            key = behind == ":" or before in ("==", "!=", "in", "startswith", "from", "import")
            key = key or (before == "[" and behind == "]") or depth[:1] in (["from"], ["import"])
            called = before == "(" and solid[place - 2][1] in ("startswith", "map", "attr", "removeprefix", "get")
            value = value if key or called else foreign_letters(value)
        out.append(value)
    return "".join(out)


def foreign_letters(text):
    return re.sub(r"[A-Za-z]{2,}", lambda word: word[0] if word[0] in EVERYWHERE or "\\" in text else "ㄱ", text)


def left_over(page):
    """The Latin words of a page that are no formula, no code and no name of a quantity."""
    text = (page.partition(r"\begin{document}")[2] or page).replace("-{}", "-").replace(r"\textless{}", "<")
    text = re.sub(r"\\begin\{tabular\}\{[lr]*(?:p\{[^{}]*\})?[lr]*\}", " ", text)
    text = re.sub(r"^(?:\.\. \w[\w-]*::|   :[\w-]+:).*$|\\\\\[\w+\]", " ", text, flags=re.MULTILINE)
    text = re.sub(r"_\{\\text\{[^{}]*\}\}", " ", text)
    text = re.sub(r"\\text\{([^{}]*)\}", r"$ \1 $", text)
    text = re.sub(r"```.*?```|``[^`]*``|`[^`]*`|\\texttt\{[^{}]*\}|:math:`[^`]*`", " ", text, flags=re.DOTALL)
    text = re.sub(r"\$\$.*?\$\$|\\\[.*?\\\]|\$[^$]*\$", " ", text, flags=re.DOTALL)
    text = re.sub(r"\\[A-Za-z]+(?:\[[^\]]*\])?(?:\{[^{}]*\})?", " ", text)
    text = re.sub(r"-?[\d.]+(?:pt|em|cm)\b", " ", re.sub(NAMES, " ", text))
    words = {*re.findall(r"[A-Za-z]{2,}", text)} - EVERYWHERE - {*QUANTITIES}
    return sorted(word for word in words if not word.isupper())


def skeleton(page):
    """The formulas of a page with no words in them, in their order, wherever broad ones are broken and however large."""
    whole = re.sub(r"\s*\\(?:\\|cr)\s*(?:&\\quad\s*)?\{\}|\\(?:left|right)\b", "", page).replace(r"\dfrac", r"\frac")
    bare = re.sub(r"\\text\{[^{}]*\}|\\(?:begin|end)\{gathered\}", " ", whole)
    found = (one for both in re.findall(r"\$\$(.*?)\$\$|\$([^$]+)\$", bare, re.DOTALL) for one in both)
    return sorted(re.sub(r"\s+", "", formula) for formula in found if formula.strip())


@pytest.mark.thorough
@pytest.mark.parametrize("lang", OTHERS)
def test_every_language_has_every_sentence_with_the_same_facts(lang):
    for name in re.findall(r"(?m)^\[(\w+)\]$", ENGLISH):
        english = stated("en", name)
        wanted = {key: english[key] for key in english if name != "words" or key in shared_words()}
        assert wanted.items() <= stated(lang, name).items(), name


def shared_words():
    """What of the words of a language is asked for outside of its file; the rest are rules of its own."""
    paths = (*TEMPLATES.glob("*.j2"), *(TEMPLATES.parent / "symroof" / "rendering").rglob("*.py"))
    return {w for path in paths for w in re.findall(r'\b(?:(?:w|words)\.|say\(")(\w+)', path.read_text("utf-8"))}


def stated(lang, name):
    """The phrases on a subject with what they take, and its tables with their keys."""
    text = shipped_template(f"{lang}/{name}.j2")
    macros = {
        macro: tuple(p.partition("=")[0].strip() for p in taken.split(","))
        for macro, taken in re.findall(r"<% macro (\w+)\(([^)]*)\)", text)
    }
    tables = {
        table: tuple(sorted(re.findall(r'"([^"]*)":', body)))
        for table, body in re.findall(r"<% set (\w+) = \{(.*?)\} %>", text, re.DOTALL)
    }
    return macros | {table: keys for table, keys in tables.items() if table not in ("sounds",)}


@pytest.mark.parametrize("lang", OTHERS)
def test_what_a_language_calls_a_quantity_is_read_as_that_quantity(lang):
    called = load(f"{lang}/catalogues.j2", None, lang, {}).called
    typeset = load(f"{lang}/words.j2", None, lang, {}).formula_words["quantities"]
    assert {name: named(str(called(name)), {}) for name in VOCABULARY} == {name: name for name in VOCABULARY}
    assert {name: named(typeset[name], {}) for name in VOCABULARY if name in typeset} == {
        name: name for name in VOCABULARY if name in typeset
    }


@pytest.mark.thorough
@pytest.mark.parametrize("lang", OTHERS)
def test_formulas_are_the_same_in_every_language(lang):
    for (name, english), (_, other) in zip(
        pages("en", forms=("markdown",)), pages(lang, forms=("markdown",)), strict=True
    ):
        assert skeleton(other) == skeleton(english), name


@pytest.mark.thorough
@pytest.mark.parametrize("lang", OTHERS)
def test_no_word_of_english_is_left(lang):
    assert {
        name: words for name, page in pages(lang) if "without a figure" not in name and (words := left_over(page))
    } == {}


@pytest.mark.thorough
def test_every_sentence_is_said_on_some_page(tmp_path):
    """Each macro of English marks what it says, and every mark is found: so what is compared above is all of it."""
    (tmp_path / "yy.phrases").write_text(re.sub(r"(?m)^(\w+)(\(.*?\))?:( |\n  )", r"\1\2:\3⟦\1⟧", ENGLISH), "utf-8")
    said = {
        mark for _, page in pages("yy", str(tmp_path), ("text", "markdown")) for mark in re.findall(r"⟦(\w+)⟧", page)
    }
    for name in ("derivation", "exploration"):
        assert set(re.findall(r"<% macro (\w+)\(", shipped_template(f"en/{name}.j2"))) <= said, name


@pytest.mark.thorough
def test_no_word_stands_anywhere_but_in_the_file_of_a_language(tmp_path):
    """With a letter for every word of English, no word is left: neither in Python nor in a template that all share."""
    language_in(tmp_path / "xx.phrases")
    found = {
        name: words
        for name, page in pages("xx", str(tmp_path))
        if "without a figure" not in name and (words := left_over(page))
    }
    assert found == {}
    assert (
        sum(
            unicodedata.name(c, "").startswith("HANGUL")
            for _, page in pages("xx", str(tmp_path), ("text",))
            for c in page
        )
        > 500
    )
