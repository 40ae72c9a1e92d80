"""Every language says everything, in its own words alone: sets of sentences, formulas, and what is left of another language."""

import re
import unicodedata
from functools import cache
from pathlib import Path

import pytest

import symroof as sr
from symroof.model.quantities import QUANTITIES
from symroof.reading.languages import languages
from symroof.reading.vocabulary import VOCABULARY, named
from symroof.rendering.pages.environment import environment, load

TEMPLATES = Path(__file__).parent.parent / "templates"
OTHERS = [lang for lang in languages() if lang != "en"]
SENTENCES = sorted(path.name for path in (TEMPLATES / "en").glob("*.j2"))
MATMUL = "bf16[B, D] * bf16[D, F] -> bf16[B, F]"
SPLIT = "bf16[B, D_X] * bf16[D_X, F] -> bf16[B, F]"
MLP = "input X: bf16[N, D]; weight V: bf16[D, F]; weight W: bf16[F, D]; H = X * V -> bf16[N, F]; A = relu(H); Y = A * W -> bf16[N, D]"
FUSED = "input Q: bf16[B, T, H]; cache K, V: bf16[B, S, H]; fuse { P = Q * K -> bf16[B, T, S]; A = softmax(P, S); O = A * V -> bf16[B, T, H] }"
EXPERTS = "input X: bf16[E, C, D]; weight V: bf16[E, D, F]; weight W: bf16[E, F, D]; where C = B*K/E; H = X * V -> bf16[E, C, F]; A = gelu(H); Y = A * W -> bf16[E, C, D]"
LAYERS = (
    "input X: bf16[B, D]; weight U, V: bf16[D, F]; weight W: bf16[F, D]; weight E: bf16[M, D]; repeat L as X = Z { N = rms_norm(X); "
    "H = N * U -> bf16[B, F]; G = N * V -> bf16[B, F]; A = silu(H); P = A * G; Y = P * W -> bf16[B, D]; Z = X + Y }; O = Z * E -> bf16[B, M]"
)
BIASED = "input X: bf16[B, D]; weight V: bf16[D, F]; weight E: bf16[F]; weight W: bf16[F, D]; fuse { H = X * V -> bf16[B, F]; A = H + E; Y = A * W -> bf16[B, D] }"
ON_MESH = (
    "mesh X, Y on ICI; input P: bf16[B_X, D_Y]; weight V: bf16[D_X, F_Y]; weight W: bf16[F_Y, D_X]; "
    "H = P * V -> bf16[B_X, F_Y]; A = gelu(H); Z = A * W -> bf16[B_X, D_Y]"
)
ON_LINES = (
    "mesh X on ICI line; mesh Y = 4 on DCN; mesh U = 8 on ICI; input P: bf16[B, D_U]; weight Q: bf16[D_U, E_Y]; weight V: bf16[D_U, F]; weight W: bf16[F_X, D]; "
    "repeat 2 as P = Z { H = P * V -> bf16[B, F_X]; A = softmax(H, F); Z = A * W -> bf16[B, D_U] }; R = Z * Q -> bf16[B_Y, E]"
)
SHARED = "mesh X, Y on ICI; input x: bf16[B_X, D_Y]; weight W1: bf16[D_X, F_Y]; weight W2: bf16[F_Y, D_X]; h = x * W1 -> bf16[B_X, F_Y]; y = h * W2 -> bf16[B_X, D_Y]"
PROBLEMS = {
    "regime": {"operation": MATMUL, "hardware": "tpu-v5e", "assume": "B << D, F", "at": "D=F=8192"},
    "symbolic": {"operation": MATMUL},
    "exact": {"operation": MATMUL, "hardware": "h100", "count": "exact", "at": "B=128,D=F=8192"},
    "solved": {"operation": MATMUL, "hardware": "tpu-v5e"},
    "equal": {"operation": MATMUL, "hardware": "tpu-v5e", "assume": ["B = D", "D = F"]},
    "some equal": {"operation": MATMUL, "hardware": "tpu-v5e", "assume": "D = F"},
    "asked for another": {"operation": MATMUL, "hardware": "tpu-v5e", "assume": "B = D", "solve_for": "B"},
    "two chips": {"operation": SPLIT, "hardware": "tpu-v5e", "mesh": "X=2", "link": "ICI", "solve_for": "D"},
    "ring": {"operation": SPLIT, "hardware": "tpu-v5e", "mesh": "X=16", "link": "ICI", "at": "D=8192"},
    "held by a chip": {"operation": "mesh X; input A: bf16[B_X, D]; weight W: bf16[D, F_X]; Y = A * W -> bf16[B_X, F]", "hardware": "tpu-v5e"},
    "two chips, memory": {"operation": SPLIT, "hardware": "tpu-v5e", "mesh": "X=2"},
    "repeated": {"operation": "bf16[B, D] * bf16[D, F_X] -> bf16[B, F_X]", "hardware": "tpu-v5e", "mesh": "X=2"},
    "dot": {"operation": "dot", "hardware": "tpu-v5e", "assume": "N -> oo"},
    "softmax": {"operation": "softmax", "hardware": "a100"},
    "rms-norm": {"operation": "rms-norm", "hardware": "tpu-v5e", "at": "B=1,D=8192"},
    "wide": {"operation": "bf16[B, D] * int4[D, F] -> fp32[B, F]", "hardware": "h100", "assume": "B << D, F"},
    "multiply": {"operation": "multiply", "hardware": "h100"},
    "scores": {"operation": "bf16[T, H] * bf16[S, H] -> bf16[T, S]", "hardware": "tpu-v5e", "assume": "T ~ S, H << S"},
    "always": {"operation": MATMUL, "hardware": "tpu-v5e", "given": {"peak": "1e9", "HBM": "8e11"}},
    "one order": {"operation": MATMUL, "hardware": "tpu-v5e", "assume": "B ~~ D ~~ F"},
    "bounded": {"operation": MATMUL, "hardware": "tpu-v5e", "assume": ["B << D, F", "D >= 4096"]},
    "implicit": {"operation": "GEMM", "flops": "2N^3", "reads": "N^2 + D*N + D", "writes": "1", "compute": "bf16", "hardware": "tpu-v5e", "solve_for": "N"},
    "gathered": {"operation": "bf16[B, D_X] * bf16[D, F] -> bf16[B, F]", "hardware": "tpu-v5e", "mesh": "X=2", "link": "ICI"},
    "rows": {"operation": "rms-norm", "hardware": "tpu-v5e", "assume": "B << D"},
    "the same there": {"operation": SPLIT, "hardware": "tpu-v5e", "mesh": "X=2", "link": "ICI", "solve_for": "D", "at": "B=1024,F=8192"},
    "never there": {"operation": MATMUL, "hardware": "tpu-v5e", "at": "D=F=128", "solve_for": "B"},
    "balanced": {"operation": MATMUL, "given": {"peak": "2", "HBM": "1"}, "at": "B=D=F=6"},
    "program": {"operation": MLP, "hardware": "tpu-v5e", "assume": "N << D, F", "at": "D=8192,F=32768"},
    "program in training": {"operation": MLP, "hardware": "tpu-v5e", "training": True},
    "fuse in training": {"operation": BIASED, "training": True, "sections": ["answer", "work", "traffic"]},
    "program of a fuse": {"operation": FUSED, "hardware": "tpu-v5e"},
    "program with another size": {"operation": EXPERTS, "assume": "B << D, F"},
    "program of layers": {"operation": LAYERS, "hardware": "tpu-v5e", "count": "exact"},
    "solved for another": {"operation": MLP, "hardware": "tpu-v5e", "let": {"Q": "4N*D/HBM"}, "solve": "Q <= K", "solve_for": "K", "at": "D=F=8192,N=64"},
    "solved as it stands": {"operation": MLP, "hardware": "tpu-v5p", "solve": "K <= 9", "solve_for": "K"},
    "without an operation": {"let": {"Q": "2B*N"}, "solve": "Q <= 9", "solve_for": "B", "at": "N=2"},
    "program on a mesh": {"operation": ON_MESH, "hardware": "tpu-v5p", "training": True},
    "program on lines and switches": {"operation": ON_LINES, "hardware": "tpu-v5p"},
    "axes together": {"operation": "bf16[B, D_XY] * bf16[D_XY, F] -> bf16[B, F_XY]", "hardware": "tpu-v5p", "mesh": "X=4,Y=8,Z=2", "link": "ICI"},
    "one after the other": {"operation": "bf16[B_Y, D_X] * bf16[D_XY, F] -> bf16[B_Y, F]", "hardware": "tpu-v5e", "mesh": "X=4,Y=2,Z=2,U=2", "link": "ICI"},
    "open axis": {"operation": "bf16[B_X, D] * bf16[D_X, F] -> bf16[B_X, F]", "hardware": "tpu-v5p", "mesh": "X", "link": "ICI"},
    "program on a mesh at sizes": {"operation": SHARED, "hardware": "tpu-v5p", "at": "F=32768,D=8192", "sections": ["answer", "resources"]},
    "best split": {"operation": SHARED, "hardware": "tpu-v5p", "minimize": "max(T_X, T_Y)", "over": "X", "subject": "X*Y = N", "at": ["N=64,B=196608,F=32768", "F=32768", "N=64,B=8,F=32768"], "sections": ["answer", "optimum"]},
    "best at an end": {"let": {"T_X": "4D*F/Y"}, "minimize": "T_X", "over": "X", "subject": "X*Y = N"},
    "falls all the way": {"let": {"T_X": "4D*F/X", "T_Y": "4D"}, "minimize": "T_X + T_Y", "over": "X", "subject": "X*Y = N"},
    "long names": {"operation": "bf16[Batch, ModelDim] * bf16[ModelDim, Hidden] -> bf16[Batch, Hidden]", "hardware": "tpu-v5e"},
}  # fmt: skip
SCORES = "bf16[B, T, N, H] * bf16[B, S, N, H] -> bf16[B, N, T, S]"
EXPLORED = {
    "map": lambda: sr.regimes(MATMUL, on="tpu-v5e", at="B=256,D=F=8192"),
    "map of a program": lambda: sr.regimes(MLP, on="tpu-v5e"),
    "map without a chip": lambda: sr.regimes(MATMUL, assume="B << D"),
    "map of a link": lambda: sr.regimes(SPLIT, on="tpu-v5e", mesh="X=4", link="ICI", at="B=1024,D=F=8192"),
    "map of another quantity": lambda: sr.regimes(MATMUL, on="tpu-v5e", of="T_comms/T_math", at="B=256,D=F=8192"),
    "map of a softmax": lambda: sr.regimes("softmax", on="tpu-v5e"),
    "map of long sums": lambda: sr.regimes("bf16[B, D, E] * bf16[D, E, F, G] -> bf16[B, F, G]", on="tpu-v5e", assume="B ~ F"),
    "never": lambda: sr.regimes(SCORES, on="tpu-v5e", at="H=128"),
    "two sizes to meet": lambda: sr.regimes(SCORES, on="tpu-v5e", at="H=256"),
    "one size to meet": lambda: sr.regimes(SCORES, on="tpu-v5e", at="H=T=8192"),
    "map of a value": lambda: sr.regimes(SCORES, on="tpu-v5e", assume="H=4096,T=4096,S=4096"),
    "which time is longest": lambda: sr.regimes("fsdp-megatron", on="tpu-v5p", of="T_lower"),
    "which time is longest, one regime": lambda: sr.regimes("dot", on="tpu-v5e", of="T_lower"),
    "which time is longest, any sizes": lambda: sr.regimes("bf16[8, 64] * bf16[64, 16] -> bf16[8, 16]", on="tpu-v5e", of="T_lower"),
    "inferred": lambda: sr.regimes(of="BDF/(BD + DF + BF) ~ B"),
    "inferred, two": lambda: sr.regimes(of="BDF/(BD + DF + BF) ~ BF/(B + F)"),
    "inferred, none": lambda: sr.regimes(of="BD/(B + D) ~ 2B"),
    "inferred, equal": lambda: sr.regimes(of="2BD + 2DF ~ 2DF + 2DB"),
    "compared": lambda: sr.compare(MATMUL, on="tpu-v5e,h100", dtypes="bf16,int8", assume="B << D, F", at="D=F=8192"),
    "compared on a mesh": lambda: sr.compare(SPLIT, on="tpu-v5e,tpu-v5p", mesh="X=4", link="ICI"),
    "compared, computed in another": lambda: sr.compare(MATMUL, on="h100", compute="fp32"),
    "compared, exact": lambda: sr.compare("softmax", on="tpu-v5e,h100", count="exact"),
    "compared, solved": lambda: sr.compare(MATMUL, on="tpu-v5e,h100"),
    "compared, without a figure": lambda: sr.compare("bf16[B, D] * int4[D, F] -> bf16[B, F]", on="tpu-v5e,v100"),
    "compared, between two roots": lambda: sr.compare({"operation": "GEMM", "flops": "400N*K", "reads": "N^2 + K", "writes": 1, "compute": "bf16", "solve_for": "N"}, on="tpu-v5e"),
}  # fmt: skip
FORMS = ("text", "markdown", "latex", "rst")
# LaTeX and reStructuredText say what Markdown does; these show that their sheets do not say more.
IN_ALL_FORMS = (
    "regime",
    "symbolic",
    "two chips",
    "ring",
    "softmax",
    "long names",
    "program",
    "program of layers",
    "program on a mesh",
    "map",
    "inferred, two",
    "compared",
)
# What no language translates: units, the names of chips, links, dtypes, operations and functions.
EVERYWHERE = {
    "FLOPs", "OPs", "bytes", "byte", "GiB", "TB", "GB", "MB", "kB", "ms", "us", "ns", "NVLink", "PCIe", "bf", "fp", "int",
    "input", "weight", "fuse", "where", "repeat", "as", "relu", "gelu", "silu", "sum", "dE", "dX", "dY", "dA", "dH", "dW", "dV",
    "params", "weights", "caches", "saved", "gradients", "ops", "Batch", "ModelDim", "Hidden", "softmax", "mesh", "chips", "on", "ring", "line", "switch", "dP", "dZ", "rms", "norm", "matmul", "dot", "max", "min", "sqrt", "oo", "Descartes", "tpu", "peak",
}  # fmt: skip
NAMES = r"all-reduce|all-gather|reduce-scatter|all-to-all|--\w+\s\S+|\w+[_.]\w+|(?m:^  mesh .* on \w+(?: ring| line| switch)?$)"


@cache
def answers():
    """Every kind of answer, under its name."""
    derived = {name: sr.derive(problem) for name, problem in PROBLEMS.items()}
    return derived | {name: explored() for name, explored in EXPLORED.items()}


def pages(lang, template=None, forms=FORMS):
    """Every kind of page in a language, each under its name. An error that one quotes is in English."""
    for name, answer in answers().items():
        for form in (form for form in forms if name in IN_ALL_FORMS or form in ("text", "markdown")):
            yield f"{name} as {form}", getattr(answer, f"to_{form}")(lang=lang, template=template)


def language_in(words):
    """A language that has nothing but letters of Hangul where English has a word, written into a folder."""
    words.mkdir()
    for name in SENTENCES:
        (words / name).write_text(replaced((TEMPLATES / "en" / name).read_text("utf-8")), "utf-8")


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
            key = (
                behind == ":"
                or before in ("==", "!=", "in", "startswith", "from", "import")
                or (before == "[" and behind == "]")
                or depth[:1] in (["from"], ["import"])
            )
            called = before == "(" and solid[place - 2][1] in ("startswith", "map", "attr", "removeprefix", "get")
            value = value if key or called else foreign_letters(value)
        out.append(value)
    return "".join(out).replace('"en/', '"xx/')


def foreign_letters(text):
    return re.sub(r"[A-Za-z]{2,}", lambda word: word[0] if word[0] in EVERYWHERE or "\\" in text else "ㄱ", text)


def left_over(page):
    """The Latin words of a page that are no formula, no code and no name of a quantity."""
    text = re.sub(
        r"\\begin\{tabular\}\{[lr]*(?:p\{[^{}]*\})?[lr]*\}",
        " ",
        (page.partition(r"\begin{document}")[2] or page).replace("-{}", "-").replace(r"\textless{}", "<"),
    )
    text = re.sub(r"^(?:\.\. \w[\w-]*::|   :[\w-]+:).*$|\\\\\[\w+\]", " ", text, flags=re.MULTILINE)
    text = re.sub(r"_\{\\text\{[^{}]*\}\}", " ", text)
    text = re.sub(r"\\text\{([^{}]*)\}", r"$ \1 $", text)
    text = re.sub(r"```.*?```|``[^`]*``|`[^`]*`|\\texttt\{[^{}]*\}|:math:`[^`]*`", " ", text, flags=re.DOTALL)
    text = re.sub(r"\$\$.*?\$\$|\\\[.*?\\\]|\$[^$]*\$", " ", text, flags=re.DOTALL)
    text = re.sub(r"\\[A-Za-z]+(?:\[[^\]]*\])?(?:\{[^{}]*\})?", " ", text)
    text = re.sub(r"-?[\d.]+(?:pt|em|cm)\b", " ", re.sub(NAMES, " ", text))
    return sorted(
        {
            word
            for word in re.findall(r"[A-Za-z]{2,}", text)
            if word not in EVERYWHERE and word not in QUANTITIES and not word.isupper()
        }
    )


def skeleton(page):
    """The formulas of a page with no words in them, in their order, wherever broad ones are broken."""
    whole = re.sub(r"\s*\\\\\s*(?:&\\quad\s*)?\{\}", "", page)
    bare = re.sub(r"\\text\{[^{}]*\}|\\(?:begin|end)\{gathered\}", " ", whole)
    return sorted(
        re.sub(r"\s+", " ", formula).strip()
        for formula in re.findall(r"\$\$(.*?)\$\$|\$([^$]+)\$", bare, re.DOTALL)
        for formula in formula
        if formula.strip()
    )


@pytest.mark.parametrize("lang", OTHERS)
def test_every_language_has_every_sentence_with_the_same_facts(lang):
    for name in SENTENCES:
        english = stated("en", name)
        wanted = {key: english[key] for key in english if name != "words.j2" or key in shared_words()}
        assert wanted.items() <= stated(lang, name).items(), name


def shared_words():
    """What of the words of a language is asked for outside of its folder; the rest are rules of its own."""
    templates = (path.read_text("utf-8") for path in TEMPLATES.glob("*.j2"))
    modules = (path.read_text("utf-8") for path in (TEMPLATES.parent / "symroof" / "rendering").rglob("*.py"))
    return {name for text in (*templates, *modules) for name in re.findall(r"\b(?:w|words)\.(\w+)", text)}


def stated(lang, name):
    """The macros of a file with what they take, and its tables with their keys."""
    text = (TEMPLATES / lang / name).read_text("utf-8")
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


@pytest.mark.parametrize("lang", OTHERS)
def test_formulas_are_the_same_in_every_language(lang):
    for (name, english), (_, other) in zip(
        pages("en", forms=("markdown",)), pages(lang, forms=("markdown",)), strict=True
    ):
        assert skeleton(other) == skeleton(english), name


@pytest.mark.parametrize("lang", OTHERS)
def test_no_word_of_english_is_left(lang):
    assert {
        name: words for name, page in pages(lang) if "without a figure" not in name and (words := left_over(page))
    } == {}


def test_every_sentence_is_said_on_some_page(tmp_path):
    """Each macro of English marks what it says, and every mark is found: so what is compared above is all of it."""
    (tmp_path / "yy").mkdir()
    for name in SENTENCES:
        text = (TEMPLATES / "en" / name).read_text("utf-8").replace('"en/', '"yy/')
        (tmp_path / "yy" / name).write_text(re.sub(r"(<% macro (\w+)\([^)]*\) %>)", r"\1⟦\2⟧", text), "utf-8")
    said = {
        mark for _, page in pages("yy", str(tmp_path), ("text", "markdown")) for mark in re.findall(r"⟦(\w+)⟧", page)
    }
    for name in ("derivation.j2", "terse.j2", "exploration.j2"):
        assert set(re.findall(r"<% macro (\w+)\(", (TEMPLATES / "en" / name).read_text("utf-8"))) <= said, name


def test_no_word_stands_anywhere_but_in_the_folder_of_a_language(tmp_path):
    """With a letter for every word of English, no word is left: neither in Python nor in a template that all share."""
    language_in(tmp_path / "xx")
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
