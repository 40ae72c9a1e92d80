"""A language can be said wherever anything is said of a page; it arrives, and one without words is refused before any work."""

import re
import shutil
from pathlib import Path

import pytest

import symroof as sr
from symroof.derivation import pipeline
from symroof.errors import SymroofError
from symroof.exploration import comparison
from symroof.reading.languages import languages

MATMUL = "bf16[B, D] * bf16[D, F] -> bf16[B, F]"
PROBLEM = {"operation": MATMUL, "hardware": "tpu-v5e"}
KEYS = f'operation = "{MATMUL}"\nhardware = "tpu-v5e"\n'
AT = "B=64,D=F=8192"
SIZES = ("--at", AT)
APPROXIMATION = "BDF/(BD + DF + BF) ~ B"
BARE = f"<!-- symroof derive\n{KEYS}id = 'mm'\nsections = ['threshold']\n-->\n"
BLOCK = BARE.replace("-->", "lang = '@'\n-->")
COMMENT = "<!-- symroof lang = '@' -->\n\n"
VALUE = "v <!-- symroof = mm.threshold -->?<!-- / -->\n\n"
pytestmark = [
    pytest.mark.skipif(not {"ko", "zh"} <= set(languages()), reason="there are no words of Korean and Chinese"),
    pytest.mark.part(3),
]


def language(text):
    """The language of a page, by its letters."""
    return "ko" if re.search("[가-힣]", text) else "zh" if re.search("[一-鿿]", text) else "en"


def built(text, **options):
    """A document, or the first fault in it."""
    document = sr.build(text, **options)
    for block in document.blocks:
        if block.error is not None:
            raise SymroofError(block.error)
    return document.text


class Place:
    """A folder, and the command line in it."""

    def __init__(self, folder, run):
        self.folder, self.run = folder, run

    def file(self, name, text):
        (self.folder / name).write_text(text, "utf-8")
        return self.folder / name

    def printed(self, *arguments, codes=(0, 1)):
        """What a command prints; one that fails has a fault."""
        done = self.run(*map(str, arguments))
        if done.code not in codes:
            assert done.code == 2
            raise SymroofError(done.err)
        return done.out


def toml(place, lang):
    return place.file("p.toml", f'{KEYS}assume = "B << D, F"\nclaims = ["intensity = D"]\nlang = "{lang}"\n')


def settings(place, lang):
    return place.file("symroof.toml", f'["*.md"]\nlang = "{lang}"\n')


# How a language is said, and what is then to be in it.
ENTRANCES = {
    # the command line
    "derive --lang": lambda place, lang: place.printed("derive", MATMUL, "--lang", lang),
    "derive --lang, of a file": lambda place, lang: place.printed("derive", toml(place, "en"), "--lang", lang),
    "derive --brief": lambda place, lang: place.printed("derive", MATMUL, "--brief", "--lang", lang),
    "derive --section": lambda place, lang: place.printed("derive", MATMUL, "--section", "threshold", "--lang", lang),
    "derive --formula": lambda place, lang: place.printed("derive", MATMUL, "--formula", "threshold", "--lang", lang),
    "derive --value": lambda place, lang: place.printed("derive", MATMUL, "--on", "h100", "--value", "outcome", "--lang", lang),
    "derive FILE": lambda place, lang: place.printed("derive", toml(place, lang), "--format", "latex"),
    "regimes --lang": lambda place, lang: place.printed("regimes", MATMUL, "--lang", lang),
    "regimes --of": lambda place, lang: place.printed("regimes", "--of", APPROXIMATION, "--lang", lang),
    "regimes FILE": lambda place, lang: place.printed("regimes", toml(place, lang)),
    "compare --lang": lambda place, lang: place.printed("compare", MATMUL, "--on", "h100,tpu-v5e", "--lang", lang),
    "compare FILE": lambda place, lang: place.printed("compare", toml(place, lang), "--on", "h100"),
    "plot --lang": lambda place, lang: place.printed("plot", MATMUL, "--on", "h100", *SIZES, "--format", "text", "--lang", lang),
    "plot FILE": lambda place, lang: place.printed("plot", toml(place, lang), *SIZES, "--format", "text"),
    "plot -o": lambda place, lang: place.printed("plot", toml(place, "en"), *SIZES, "-o", place.folder / "a.svg", "--lang", lang) + (place.folder / "a.svg").read_text("utf-8"),
    "build --lang": lambda place, lang: place.printed("build", "--stdout", "--lang", lang, place.file("a.md", BARE)),
    "build --check --lang": lambda place, lang: place.printed("build", "--check", "--lang", lang, place.file("a.md", BARE)),
    "verify --lang": lambda place, lang: place.printed("verify", toml(place, "en"), "--lang", lang),
    "verify --lang, of a document": lambda place, lang: place.printed("verify", place.file("a.md", f"{COMMENT.replace('@', 'en')}$1 = 2$\n"), "--lang", lang),
    "verify FILE": lambda place, lang: place.printed("verify", toml(place, lang), codes=(1,)),
    "hardware --lang": lambda place, lang: place.printed("list", "chips", "--lang", lang),
    "operations --lang": lambda place, lang: place.printed("list", "operations", "--lang", lang),
    "names --lang": lambda place, lang: place.printed("list", "words", "--lang", lang).partition("\n")[0],
    # Python
    "lang=": lambda place, lang: sr.derive(MATMUL, lang=lang).to_markdown(),
    "lang= of a table": lambda place, lang: sr.derive({**PROBLEM, "lang": lang}).to_text(),
    "to_markdown": lambda place, lang: sr.derive(MATMUL).to_markdown(lang=lang),
    "to_text": lambda place, lang: sr.derive(MATMUL).to_text(lang=lang),
    "to_rst": lambda place, lang: sr.derive(MATMUL).to_rst(lang=lang),
    "to_latex": lambda place, lang: sr.derive(MATMUL).to_latex(lang=lang, heading=0),
    "_repr_markdown_": lambda place, lang: sr.derive(MATMUL, lang=lang)._repr_markdown_(),
    "_repr_latex_": lambda place, lang: sr.derive(MATMUL, lang=lang)._repr_latex_(),
    "only": lambda place, lang: sr.derive(MATMUL, lang=lang).only(["condition"], ["threshold"]).to_text(),
    "only, asked": lambda place, lang: sr.derive(MATMUL).only(["outcome"]).to_markdown(lang=lang),
    "regimes": lambda place, lang: sr.regimes(MATMUL, lang=lang).to_markdown(),
    "regimes, asked": lambda place, lang: sr.regimes(MATMUL, lang="en").to_markdown(lang=lang),
    "regimes of": lambda place, lang: sr.regimes(of=APPROXIMATION, lang=lang)._repr_markdown_(),
    "regimes of, asked": lambda place, lang: sr.regimes(of=APPROXIMATION, lang="en").to_text(lang=lang),
    "regimes of an operation": lambda place, lang: sr.regimes(MATMUL, of="intensity ~ B", lang=lang).to_text(),
    "compare": lambda place, lang: sr.compare(MATMUL, on="h100, tpu-v5e", lang=lang).to_markdown(),
    "compare, asked": lambda place, lang: sr.compare(MATMUL, on="h100, tpu-v5e", lang="en").to_rst(lang=lang),
    "verify": lambda place, lang: sr.verify({**PROBLEM, "claims": ["intensity < B"]}, lang=lang)._repr_markdown_(),
    "verify of a table": lambda place, lang: sr.verify({**PROBLEM, "claims": ["intensity < B"], "lang": lang}).to_text(),
    "verify, asked": lambda place, lang: sr.verify(toml(place, "en")).to_markdown(lang=lang),
    "plot": lambda place, lang: sr.plot(MATMUL, on="h100", at=AT, lang=lang)._repr_svg_(),
    "plot, asked": lambda place, lang: sr.plot(MATMUL, on="h100", at=AT, lang="en").description(lang=lang),
    # documents
    "block": lambda place, lang: built(BLOCK.replace("@", lang)),
    "block over the comment": lambda place, lang: built(COMMENT.replace("@", "en") + BLOCK.replace("@", lang)),
    "comment": lambda place, lang: built(COMMENT.replace("@", lang) + BARE),
    "comment before another": lambda place, lang: built(f"{COMMENT.replace('@', lang)}<!-- symroof operation = 'dot' -->\n\n<!-- symroof operation = 'matmul' -->\n\n{BARE}"),
    "comment of a value": lambda place, lang: built(COMMENT.replace("@", lang) + VALUE + BARE.replace("sections", "lang = 'en'\nsections")).split("\n\n")[1],
    "file of a block": lambda place, lang: built(f"<!-- symroof derive\nproblem = '{toml(place, lang).name}'\n-->\n", path=place.folder / "a.md"),
    "regimes in a block": lambda place, lang: built(f"<!-- symroof regimes\n{KEYS}lang = '{lang}'\n-->\n"),
    "regimes of in a block": lambda place, lang: built(f"<!-- symroof regimes\nof = '{APPROXIMATION}'\nlang = '{lang}'\n-->\n"),
    "compare in a block": lambda place, lang: built(f"<!-- symroof compare\n{KEYS}lang = '{lang}'\n-->\n"),
    "verify in a block": lambda place, lang: toml(place, "en") and built(f"<!-- symroof verify\nfile = 'p.toml'\nlang = '{lang}'\n-->\n", path=place.folder / "a.md"),
    "report on a document": lambda place, lang: settings(place, lang) and place.printed("verify", place.file("a.md", "So $1 = 2$.\n")),
    "report on a block": lambda place, lang: place.printed("verify", place.file("a.md", built(COMMENT.replace("@", lang) + BARE).replace("DF", "FD"))),
    "plot in a block": lambda place, lang: built(f"<!-- symroof plot\n{KEYS}at = '{AT}'\nlang = '{lang}'\n-->\n"),
    "plot below the settings": lambda place, lang: settings(place, lang) and built(f"<!-- symroof plot\n{KEYS}at = '{AT}'\n-->\n", path=place.folder / "a.md"),
    "build(lang=)": lambda place, lang: built(BLOCK.replace("@", "en"), lang=lang),
    "build(given=)": lambda place, lang: built(BLOCK.replace("@", "en"), given={"lang": lang}),
    "symroof.toml": lambda place, lang: settings(place, lang) and built(BARE, path=place.folder / "a.md"),
    "symroof.toml for a value": lambda place, lang: settings(place, lang) and built(VALUE + BARE, path=place.folder / "a.md").split("\n")[0],
    "pyproject.toml": lambda place, lang: place.file("pyproject.toml", f'[tool.symroof."*.md"]\nlang = "{lang}"\n') and built(BARE, path=place.folder / "a.md"),
    "what a block becomes": lambda place, lang: settings(place, lang) and place.printed("build", "--check", place.file("a.md", BARE)).splitlines()[0],
}  # fmt: skip


@pytest.fixture
def place(tmp_path, run, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return Place(tmp_path, run)


@pytest.mark.thorough
@pytest.mark.parametrize("entrance", ENTRANCES)
def test_the_language_arrives(entrance, place):
    assert [language(ENTRANCES[entrance](place, lang)) for lang in ("ko", "zh", "en")] == ["ko", "zh", "en"]


@pytest.mark.parametrize("entrance", ENTRANCES)
def test_a_language_without_words_is_refused(entrance, place, monkeypatch):
    """Before any work: nothing is derived but what a page is asked of."""
    if "asked" not in entrance and not entrance.startswith("to_"):
        for room in (pipeline, comparison):
            monkeypatch.setattr(room, "derive", lambda problem: pytest.fail("it was derived"))
    with pytest.raises(SymroofError) as error:
        print(ENTRANCES[entrance](place, "kx"))
    lines = str(error.value).splitlines()
    assert lines[0].endswith("unknown language 'kx'")
    assert [line.strip() for line in lines[1:]] == ["expected one of en, ko, zh", "did you mean ko?"]


@pytest.mark.parametrize("command", ["derive", "regimes", "compare", "verify"])
def test_it_is_refused_where_nothing_is_worded_as_well(command, run, tmp_path):
    path = tmp_path / "p.toml"
    path.write_text(f'{KEYS}claims = ["intensity < B"]\n')
    options = ("--on", "h100") * (command == "compare")
    assert run(command, str(path), *options, "--format", "json").code == 0
    done = run(command, str(path), *options, "--format", "json", "--lang", "kx")
    assert (done.code, done.out) == (2, "")
    assert "unknown language 'kx'" in done.err


UNFIT = {
    "problem": lambda place: place.printed("derive", place.file("p.toml", f"{KEYS}lang = 3\n")),
    "exercise": lambda place: place.printed("verify", place.file("p.toml", 'claims = ["1 = 1"]\nlang = 3\n')),
    "block": lambda place: built(BLOCK.replace("'@'", "3")),
    "comment": lambda place: built(COMMENT.replace("'@'", "3") + BARE),
    "symroof.toml": lambda place: place.file("symroof.toml", '["*.md"]\nlang = 3\n') and built("", path=place.folder / "a.md"),
    "Python": lambda place: sr.derive(MATMUL, lang=3),
    "page": lambda place: sr.derive(MATMUL).to_markdown(lang=3),
    "build": lambda place: sr.build(BARE, lang=3),
}  # fmt: skip


@pytest.mark.parametrize("entrance", UNFIT)
def test_what_is_no_text_is_no_language(entrance, place):
    with pytest.raises(SymroofError, match="lang = 3 is not text"):
        UNFIT[entrance](place)


@pytest.mark.thorough
def test_what_is_asked_for_goes_first_and_the_settings_last(tmp_path):
    """Asked for, the block, the comment before it, the settings, English: each is heard where those before it are silent."""
    (tmp_path / "symroof.toml").write_text('["ko.md"]\nlang = "ko"\n')

    def spoken(name, *texts, **options):
        return language(built("".join(texts), path=tmp_path / name, **options))

    chinese, english = BLOCK.replace("@", "zh"), COMMENT.replace("@", "en")
    assert spoken("ko.md", english, chinese, lang="ko") == "ko"
    assert spoken("ko.md", english, chinese) == "zh"
    assert spoken("ko.md", english, BARE) == "en"
    assert spoken("ko.md", BARE) == "ko"
    assert spoken("other.md", BARE) == "en"
    assert language(sr.derive(MATMUL, lang="ko").to_markdown(lang="zh")) == "zh"
    assert language(sr.derive({**PROBLEM, "lang": "ko"}, lang="zh").to_markdown()) == "zh"


def test_a_document_is_reported_on_in_its_own_language(place):
    """The one that its comments say; a comment that says none is a finding, as every one that cannot be read."""
    page = place.file("a.md", f"{COMMENT.replace('@', 'ko')}So $1 = 2$.\n")
    assert language(place.printed("verify", page)) == "ko"
    assert language(place.printed("verify", page, "--lang", "zh")) == "zh"
    page.write_text(f"{COMMENT.replace('@', 'kx')}So $1 = 2$.\n")
    assert "unknown language 'kx'" in place.printed("verify", page, codes=(1,))


def test_the_language_of_a_problem_changes_no_number_and_no_record():
    records = [sr.derive({**PROBLEM, "lang": lang}).to_json() for lang in languages()]
    assert len(set(records)) == 1


def test_sweeps_take_the_language_of_a_problem_and_say_nothing_in_it(run, tmp_path):
    path = tmp_path / "p.toml"
    path.write_text(f"{KEYS}lang = 'ko'\n")
    assert run("sweep", str(path), "--grid", "B=1..2,D=F=8", "-o", str(tmp_path / "a.csv")).code == 0
    assert (tmp_path / "a.csv").read_text().startswith("B,D,F,intensity")
    path.write_text(f"{KEYS}lang = 'kx'\n")
    done = run("sweep", str(path), "--grid", "B=1..2,D=F=8", "-o", str(tmp_path / "b.csv"))
    assert "unknown language 'kx'" in done.err
    assert not (tmp_path / "b.csv").exists()


@pytest.mark.thorough
def test_a_folder_of_ones_own_adds_a_language(run, tmp_path):
    """Where the folder is said, its languages are known: on a command line, in a call, in settings and in a block."""
    own = tmp_path / "own"
    own.mkdir()
    shutil.copy(Path(__file__).parent.parent / "templates" / "ko.phrases", own / "xx.phrases")
    assert language(run("derive", MATMUL, "--lang", "xx", "--template", str(own)).out) == "ko"
    assert run("derive", MATMUL, "--lang", "xx").code == 2
    assert language(sr.derive(MATMUL).to_markdown(lang="xx", template=str(own))) == "ko"
    page = tmp_path / "a.md"
    assert language(built(BLOCK.replace("@", "xx").replace("-->", "template = 'own'\n-->"), path=page)) == "ko"
    (tmp_path / "symroof.toml").write_text('["*.md"]\nlang = "xx"\ntemplate = "own"\n')
    assert language(built(VALUE + BARE, path=page)) == "ko"
    (tmp_path / "symroof.toml").write_text('["*.md"]\nlang = "xx"\n')
    with pytest.raises(SymroofError, match=r"symroof\.toml: unknown language 'xx'"):
        built(BARE, path=page)
