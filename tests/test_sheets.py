"""Every program of the library at sizes, and products with long names, in training where it can be, as a sheet of paper in three languages: nothing is wider
or higher than the sheet, and no page is refused."""

import re
import shutil
import subprocess

import pytest
from test_pages import LONG_NAMES
from test_rendering_engines import require

import symroof as sr
from symroof.errors import SymroofError
from symroof.reading.operations import entries

SIZES = {"L": 80, "K": 8, "G": 8, "H": 128, "E": 64, "k": 2, "X": 4, "Y": 4, "Z": 4}
ENGINES = {"en": "pdflatex", "ko": "xelatex", "zh": "xelatex"}
OVERFULL = re.compile(r"Overfull \\hbox \(([\d.]+)pt too wide\)[^\n]*?lines? (\d+)")


def derived():
    """The programs, each with what it is called; one that cannot be trained, or has no figure on the chip, is none."""
    for name in entries():
        for options in ({}, {"training": True}):
            try:
                problem = sr.derive(name, on="tpu-v5p", **options).setting.problem
            except SymroofError:
                continue
            at = {size: SIZES.get(size, 4096) for size in problem.names}
            at |= dict.fromkeys(problem.operation.stages, 16)
            yield f"{name} {options}", sr.derive(name, on="tpu-v5p", at=at, **options)


def maps():
    for name, (operation, options) in LONG_NAMES.items():
        yield name, sr.regimes(operation, **{key: options[key] for key in options if key != "at"})


@pytest.mark.thorough
def test_no_program_of_the_library_is_wider_than_the_sheet(tmp_path):
    for engine in ENGINES.values():
        require(shutil.which(engine), f"{engine} is not installed")
    found = list(derived())
    assert len(found) > 60
    for name, d in found:
        assert d.setting.problem.operation.title in d.to_text(), name
        assert d.to_markdown(brief=True).startswith("### "), name
    named = [(name, sr.derive(operation, **options)) for name, (operation, options) in LONG_NAMES.items()]
    # Maps lie on sheets of their own, which are wider.
    for lang, pages in (("en", [*found, *named]), ("en", [*maps()]), ("ko", found), ("zh", found)):
        engine = ENGINES[lang]
        text = pages[0][1].to_latex(lang=lang).partition(r"\begin{document}")[0] + "\\begin{document}\n"
        begins = []
        for name, d in pages:
            begins.append((text.count("\n") + 1, name))
            text += d.to_latex(heading=0, lang=lang) + "\n\\clearpage\n"
        (tmp_path / f"{lang}.tex").write_text(text + "\\end{document}\n", "utf-8")
        subprocess.run(
            [engine, "-interaction=nonstopmode", f"{lang}.tex"],
            cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=300,
        )  # fmt: skip
        log = (tmp_path / f"{lang}.log").read_text("utf-8", errors="replace")
        assert int(re.search(r"Output written on .*?\((\d+) pages", log, re.DOTALL)[1]) >= len(pages)
        wide = [
            (lang, next(name for line, name in reversed(begins) if line <= int(where)), points)
            for points, where in OVERFULL.findall(log)
            if float(points) > 2
        ]
        assert wide == []
        high = re.findall(r"Overfull \\vbox \(([\d.]+)pt too high\)", log)
        assert [points for points in high if float(points) > 2] == []
