"""Reasons and macros are the same set; templates can be replaced; a broken one is one error."""

import ast
import re
from pathlib import Path

import pytest

import symroof as sr
from symroof.errors import RenderingError
from symroof.proof.step import Reason
from symroof.rendering.pages.templating import ENTRY, environment, load, shipped_template
from symroof.verification.diagnosis import MISTAKES
from symroof.verification.verdicts import CAUSES

TEMPLATES = Path(__file__).parent.parent / "templates"
OF_THE_PAGE = {
    "title", "on", "instead", "head", "head_label", "head_cell", "head_near", "head_times", "bounded", "compute_bound", "above_ridge", "compute_bound_rule", "bounding", "codes", "backward_pass", "closing", "unmodelled", "premises", "closing_of_sketch", "assumed", "near_bytes", "near_intensity", "near_compute", "near_point", "head_of", "of_name", "of_flops", "of_bytes", "of_intensity",
    *(f"{part}_{row}" for part in ("label", "cell") for row in ("flops", "ops", "reads", "writes", "bytes", "intensity", "ridge", "compute", "params", "trainable", "lower", "caches", "saved", "solution", "solved", "best", "there", "point")),
}  # fmt: skip


def macros(name):
    return re.findall(r"<% macro (\w+)\(", shipped_template(name))


def test_every_reason_has_one_macro_and_every_macro_a_reason():
    reasons, source = {reason.value for reason in Reason}, (TEMPLATES / "prose.j2").read_text("utf-8")
    found = [*macros("prose.j2"), *re.findall(r'"(\w+)"', re.search(r"set silent = (\[.*?\])", source, re.DOTALL)[1])]
    assert reasons - {*found} == set()
    assert {*found} - reasons - OF_THE_PAGE == set()
    assert len({*found}) == len(found)


def test_every_template_is_shipped_and_none_can_be_reached_around():
    for path in TEMPLATES.rglob("*.j2"):
        assert shipped_template(path.relative_to(TEMPLATES).as_posix()) == path.read_text("utf-8")
    around = (
        "../pyproject.toml",
        "/etc/passwd",
        ".hidden",
        "..\\x",
        "en/../prose.j2",
        "en/../../pyproject.toml",
        "a/b/c",
    )
    assert [shipped_template(name) for name in around] == [None] * 7


def test_every_line_of_a_language_is_a_phrase():
    for path in TEMPLATES.glob("*.phrases"):
        rest = ENTRY.sub("", path.read_text("utf-8")).splitlines()
        assert [line for line in rest if line and not re.match(r"# |\[\w+\]$", line)] == [], path


def test_templates_hold_no_algebra_and_cannot_run_code():
    for path in (*TEMPLATES.rglob("*.j2"), *TEMPLATES.glob("*.phrases")):
        assert "__" not in path.read_text("utf-8").replace("|:--|:--|", "")


@pytest.mark.thorough
def test_a_folder_of_ones_own_replaces_a_template(tmp_path):
    (tmp_path / "page.txt.j2").write_text("<<view.operation>> is <<view.outcome>> compute-bound\n")
    d = sr.derive("dot", on="tpu-v5e")
    assert d.to_text(template=str(tmp_path)) == "bf16[N] * bf16[N] -> bf16[1] is never compute-bound\n"
    assert d.to_markdown(template=str(tmp_path)) == d.to_markdown()


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("notes.md", "nothing to print with\n", "has no templates"),
        ("page.txt.j2", "<% if %>", "page.txt.j2, line 1"),
        ("page.txt.j2", "<<nobody>>", "'nobody' is undefined"),
        ("page.txt.j2", "<% include 'x' %>", "no template x"),
    ],
)
def test_a_broken_or_missing_template_is_one_error(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    for folder, told in ((tmp_path, message), ("/nowhere", "is not a folder")):
        with pytest.raises(RenderingError, match=re.escape(told)):
            sr.derive("dot").to_text(template=str(folder))


def test_markdown_and_latex_have_the_same_steps():
    d = sr.derive("matmul", on="tpu-v5e", assume="B << D, F", at="D=F=8192")
    displays = d.to_markdown().count("\n$$\n") // 2, d.to_latex().count("\\[\n")
    assert displays[0] == displays[1] > 8
    assert environment(None) is environment(None)


def test_every_remark_and_mistake_has_a_macro_and_every_macro_is_one():
    kinds = set(MISTAKES) | {"exact", "rounded", "truncated"}
    package = TEMPLATES.parent / "symroof"
    for path in (*(package / "verification").glob("*.py"), package / "api" / "authoring.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            said = {"Remark": 0, "undecided": 1}.get(getattr(getattr(node, "func", None), "id", ""))
            if said is not None and isinstance(node.args[said], ast.Constant):
                kinds.add(node.args[said].value)
    assert {*macros("remarks.j2")} - {"tensors"} <= kinds <= {*macros("remarks.j2"), *macros("en/remarks.j2")}


def test_every_omission_has_a_macro_and_every_macro_is_one():
    assert {*macros("en/omissions.j2"), *load("en/omissions.j2", None, "en", {}).terms} == set(CAUSES)
    sources = (path.read_text("utf-8") for path in (TEMPLATES.parent / "symroof" / "verification").glob("*.py"))
    assert {kind for source in sources for kind in re.findall(r'Omission\(\s*"(\w+)"', source)} == set(CAUSES)
