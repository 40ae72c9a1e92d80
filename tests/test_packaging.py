"""The wheel: built, installed elsewhere, run from another folder; templates inside, and readable from a zip."""

import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
CODE = (
    "import symroof as sr\n"
    "d = sr.derive('matmul', on='tpu-v5e', assume='B << D, F')\n"
    "assert d.answer.smallest_integer == 241 and d.to_markdown() and d.to_latex() and d.to_text()\n"
    "assert sr.operation('mlp').cost().flops\n"
    "from symroof.reading.languages import languages\n"
    "assert languages() == ('en', 'ko', 'zh') and len({d.to_markdown(lang=lang) for lang in languages()}) == 3\n"
    "print(sr.__file__)"
)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    done = subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        if os.environ.get("CI") or os.environ.get("SYMROOF_REQUIRE_RENDERERS"):
            pytest.fail(done.stderr[-2000:])
        pytest.skip("the wheel cannot be built here: " + done.stderr.strip()[-200:])
    return next(folder.glob("*.whl"))


def run_with(path, folder):
    """Run the code with ``path`` first, and the dependencies of this environment behind it."""
    site = sysconfig.get_path("purelib")
    code = f"import sys; sys.path[:] = [{str(path)!r}] + [p for p in sys.path if p and {str(ROOT)!r} not in p] + [{site!r}]\n{CODE}"
    return subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, cwd=folder, check=False
    )


@pytest.mark.thorough
def test_the_wheel_holds_the_package_the_templates_and_nothing_else(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"symroof"}
    shipped = {name.removeprefix("symroof/templates/") for name in names if name.startswith("symroof/templates/")}
    assert shipped == {path.relative_to(ROOT / "templates").as_posix() for path in (ROOT / "templates").rglob("*.*")}
    assert "symroof/model/hardware.toml" in names
    assert "symroof/model/programs.toml" in names
    assert "symroof/py.typed" in names


@pytest.mark.thorough
def test_the_wheel_derives_from_another_folder(wheel, tmp_path):
    target = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(target)
    done = run_with(target, tmp_path)
    assert done.returncode == 0, done.stderr
    assert str(target) in done.stdout


@pytest.mark.thorough
def test_the_wheel_derives_from_inside_its_zip(wheel, tmp_path):
    done = run_with(wheel, tmp_path)
    assert done.returncode == 0, done.stderr
    assert wheel.name in done.stdout


@pytest.mark.thorough
def test_cost_functions_are_derived_where_latexify_does_not_install(tmp_path):
    code = f"import runpy, sys; sys.modules['latexify'] = None; sys.path.insert(0, {str(ROOT)!r}); runpy.run_path({str(ROOT / 'examples' / 'cost_functions.py')!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    assert "proved, 0 sampled" in done.stdout


def test_an_edited_template_shows_at_once_in_a_checkout():
    from symroof.rendering.pages.templating import shipped_template

    assert shipped_template("page.txt.j2") == (ROOT / "templates" / "page.txt.j2").read_text("utf-8")
