"""The site of the examples, built by every tool that it is written for: Sphinx, MkDocs, notebooks, LaTeX; and its formulas typeset."""

import html
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from render.portable import formulas
from test_rendering_engines import MODULES, check, compile_latex, require as require_engines

pytestmark = pytest.mark.part(3)

SITE = Path(__file__).parent.parent / "examples" / "site"
DOCUMENTS = sorted((*SITE.glob("docs/*.md"), SITE / "paper.tex", SITE / "notebook.ipynb"))


def require(*modules):
    """Skip where a tool is missing, or fail where the environment says that it must be there."""
    for module in modules:
        require_engines(importlib.util.find_spec(module), f"{module} is not installed")


def sphinx(folder, *options):
    """A build of the pages of a folder, whose first is index."""
    command = [sys.executable, "-m", "sphinx", *options, "-q", "-D", "root_doc=index", "-b", "html", ".", "_build"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture
def site(tmp_path):
    return shutil.copytree(SITE, tmp_path / "site_of_examples", ignore=shutil.ignore_patterns("_build"))


def tool(*command, cwd, fails=False):
    words, env = [sys.executable, "-W", "ignore", "-m", *command], {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(words, cwd=cwd, capture_output=True, text=True, check=False, timeout=180, env=env)
    assert bool(done.returncode) is fails, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr + done.stdout


def words(page):
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page.read_text("utf-8"))).split())


@pytest.mark.thorough
@pytest.mark.parametrize("path", DOCUMENTS, ids=[path.name for path in DOCUMENTS])
def test_every_document_is_up_to_date(run, path):
    assert run("build", "--check", "--require", str(path)).code == 0
    if path.suffix != ".ipynb":
        assert run("verify", str(path)).code == 0


@pytest.mark.part(1)
@pytest.mark.parametrize("path", DOCUMENTS, ids=[path.name for path in DOCUMENTS])
def test_another_figure_moves_every_document(run, path):
    done = run("build", "--check", "--given", "HBM=8.1e11", "--given", "ICI=4.4e10", str(path))
    assert done.code == 1
    assert "->" in done.out.splitlines()[0]


@pytest.mark.thorough
def test_sphinx_builds_the_site_without_a_warning(site):
    require("sphinx", "myst_parser")
    tool("sphinx", "-W", "-q", "-b", "html", "-j", "2", ".", "_build", cwd=site)
    page = words(site / "_build" / "docs" / "index.html")
    assert "from 241 rows on" in page
    assert "<!-- symroof" not in page
    assert (site / "_build" / "_images" / "roofline.svg").is_file()
    assert "배치가 241 행은 되어야" in words(site / "_build" / "docs" / "rooflines.ko.html")
    assert "批次至少要有 241 行" in words(site / "_build" / "docs" / "rooflines.zh.html")


PLACED = {
    "derive:bf16[B, D] * bf16[D, F] -> bf16[B, F]": (
        "id: mm",
        "hardware: tpu-v5e",
        "assume: B << D, F",
        "label: eq-mm",
    ),
    "plot:matmul": ("hardware: tpu-v5e", "at: B=64,D=F=8192", "id: roof"),
    "page:matmul": ("hardware: tpu-v5e", "at: B=64,D=F=8192", "id: slid", "height: 420"),
}
FORMS = {  # a title, a role, and a directive with its options
    "rst": ("Page\n====", ":symroof:", ".. symroof-{}:: {}\n   :{}\n", "\n   :"),
    "md": ("# Page", "{symroof}", "```{{symroof-{}}} {}\n:{}\n```\n", "\n:"),
}


def directives(suffix):
    title, role, directive, option = FORMS[suffix]
    said = f"From {role}`mm.smallest_integer` rows on; {role}`'$R = {{mm.ridge}}$'; 3 digits`."
    blocks = (directive.format(*head.split(":"), option.join(options)) for head, options in PLACED.items())
    return "\n".join([f"{title}\n\n{said}\n", *blocks])


@pytest.fixture
def pages(site, tmp_path):
    """A folder of pages with the settings of the site."""
    (tmp_path / "pages").mkdir()
    shutil.copy(site / "conf.py", tmp_path / "pages")
    return tmp_path / "pages"


@pytest.mark.thorough
@pytest.mark.parametrize("suffix", FORMS)
def test_directives_and_roles_of_sphinx(suffix, pages):
    require("sphinx", "myst_parser")
    (pages / f"index.{suffix}").write_text(directives(suffix))
    tool("sphinx", "-W", "-q", "-D", "root_doc=index", "-b", "html", ".", "_build", cwd=pages)
    page, source = (read(pages / "_build" / "index.html") for read in (words, lambda path: path.read_text("utf-8")))
    assert "From 241 rows on; \\(R = 240\\)" in page
    assert "B > 240.24" in page
    assert 'id="equation-eq-mm"' in source
    assert "roof.svg" in source
    (frame,) = re.findall(r'<iframe src="([^"]+)"[^>]* height="420"', source)
    assert (pages / "_build" / frame).read_bytes() == (pages / frame).read_bytes()


@pytest.mark.thorough
def test_what_fails_is_an_error_at_its_line_and_leaves_the_others(pages):
    require("sphinx", "myst_parser")
    faults = "But :symroof:`mm.nothing`.\n\n.. symroof-derive:: dot\n   :id: mm\n\n.. symroof-derive:: bf17[N]\n"
    twice = f"{directives('rst')}\n\n{faults}"
    (pages / "index.rst").write_text(twice)
    done = sphinx(pages)
    lines = twice.split("\n")
    assert f"index.rst:{lines.index('But :symroof:`mm.nothing`.') + 1}: ERROR: symroof: " in done.stderr
    assert "id: mm is the name of another block" in done.stderr
    assert re.search(rf"index.rst:{lines.index('.. symroof-derive:: bf17[N]') + 1}: .*bf17", done.stderr)
    assert "From 241 rows on; \\(R = 240\\)" in words(pages / "_build" / "index.html")


@pytest.mark.thorough
def test_mkdocs_builds_the_site(site):
    require("mkdocs", "material", "pymdownx")
    tool("mkdocs", "build", "-q", "-s", cwd=site)
    page = site / "site" / "index.html"
    assert "from 241 rows on" in words(page)
    assert '<math display="block"' in page.read_text("utf-8")
    assert '<script src="http' not in page.read_text("utf-8")
    assert (site / "site" / "roofline.svg").is_file()
    assert "가장 작은 크기는 241 이다" in words(site / "site" / "rooflines.ko" / "index.html")
    assert "可取的最小整数为 241" in words(site / "site" / "rooflines.zh" / "index.html")
    assert "&lt;!-- symroof" not in page.read_text("utf-8")


@pytest.mark.thorough
def test_mkdocs_fails_where_a_page_is_stale_and_writes_it_where_it_may(site):
    require("mkdocs", "material", "pymdownx")
    page = site / "docs" / "index.md"
    page.write_text(page.read_text("utf-8").replace(">241<", ">242<"), "utf-8")
    said = tool("mkdocs", "build", "-q", cwd=site, fails=True)
    assert "mm.smallest_integer: 242 -> 241; symroof build index.md writes it anew" in said
    settings = site / "mkdocs.yml"
    settings.write_text(settings.read_text().replace("check: true", "check: false").replace("material", "mkdocs"))
    tool("mkdocs", "build", "-q", cwd=site)
    assert "from 241 rows on" in words(site / "site" / "index.html")
    assert ">242<" in page.read_text("utf-8")


@pytest.mark.thorough
def test_a_picture_outside_of_the_pages_of_mkdocs_is_refused(site):
    require("mkdocs", "material", "pymdownx")
    page = site / "docs" / "index.md"
    page.write_text(page.read_text("utf-8").replace('id        = "roofline"', 'file = "../outside.svg"'), "utf-8")
    (site / "mkdocs.yml").write_text((site / "mkdocs.yml").read_text().replace("check: true", "check: false"))
    assert "outside.svg is not in" in tool("mkdocs", "build", "-q", cwd=site, fails=True)


def test_katex_and_mathjax_typeset_every_formula_of_the_site():
    require_engines(shutil.which("node"), "node is not installed")
    for package in ("katex", "mathjax"):
        require_engines((MODULES / package).is_dir(), f"{MODULES} has no {package}")
    found = [formula for path in DOCUMENTS if path.suffix == ".md" for formula in formulas(path.read_text("utf-8"))]
    assert len(found) > 100
    assert check((str(i), *formula) for i, formula in enumerate(found)) == []


TYPESETTERS = {
    "katex": (
        """<link rel="stylesheet" href="{modules}/katex/dist/katex.min.css"><script src="{modules}/katex/dist/katex.min.js"></script>
<script src="{modules}/katex/dist/contrib/auto-render.min.js"></script><script>addEventListener("DOMContentLoaded", () => renderMathInElement(document.body,
{{delimiters: [{{left: "\\\\[", right: "\\\\]", display: true}}, {{left: "\\\\(", right: "\\\\)", display: false}}]}}))</script>""",
        'class="katex"',
        "katex-error",
    ),
    "mathjax": (
        """<script>MathJax = {{svg: {{fontCache: "none"}}}}</script>
<script src="{modules}/mathjax/es5/tex-svg.js"></script>""",
        "<mjx-container",
        "data-mjx-error",
    ),
}


def typeset(text, engine, folder):
    """The page that a browser shows of a Markdown text, in which the engine has typeset the formulas."""
    require("mdit_py_plugins")
    from markdown_it import MarkdownIt
    from mdit_py_plugins.dollarmath import dollarmath_plugin

    browser = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium", "chrome"))), None)
    require_engines(browser, "there is no Chromium")
    require_engines((MODULES / engine).is_dir(), f"{MODULES} has no {engine}")
    reader = MarkdownIt("commonmark").enable("table")
    dollarmath_plugin(
        reader, renderer=lambda tex, how: html.escape((r"\[%s\]" if how["display_mode"] else r"\(%s\)") % tex)
    )
    head, page = TYPESETTERS[engine][0].format(modules=MODULES.resolve().as_uri()), folder / "page.html"
    page.write_text(f'<!DOCTYPE html><meta charset="utf-8">{head}<body>{reader.render(text)}', "utf-8")
    done = subprocess.run(
        [browser, "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files", "--virtual-time-budget=20000", "--dump-dom", page.as_uri()],
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    return done.stdout


@pytest.mark.thorough
@pytest.mark.parametrize("engine", TYPESETTERS)
def test_a_browser_typesets_every_formula(engine, tmp_path):
    _, made, failed = TYPESETTERS[engine]
    text = "\n\n".join(path.read_text("utf-8") for path in sorted(SITE.glob("docs/*.md")))
    shown = typeset(text, engine, tmp_path)
    assert shown.count(made) == len(formulas(text)) > 100
    assert failed not in shown


def test_pdflatex_compiles_the_paper(tmp_path):
    require_engines(shutil.which("pdflatex"), "pdflatex is not installed")
    assert compile_latex((SITE / "paper.tex").read_text("utf-8"), tmp_path / "paper") == []
