"""The playground of the documentation: Python for WebAssembly and the packages that symroof needs, pinned and hashed.

python .ci/playground.py SITE    into SITE/play, beside what docs/play has

MkDocs calls it when a site was built. Without a network the site is built without it, and the page says so.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import logging
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
PYODIDE = "314.0.7"
INTEGRITY = "sha512-0YvXxEhfEdpLfb/XkM2BFAeMROq0iMUX2bzzH9pOttyMcWkwq+HbE5uyuGD82LN7y2q+SNvi/6V5JEsOlD2R1A=="
RUNTIME = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
PACKAGES = ROOT / ".ci" / "playground.txt"
# Its compiled part is for another machine, and it does without.
NATIVE = "markupsafe"
PLATFORMS = {"": "pyemscripten_2026_0_wasm32", NATIVE: "manylinux_2_17_x86_64"}
# What a solver is called that is loaded when a derivation asks for it.
LATER = "z3_solver"
LICENCE = re.compile(r"(?:^|/)(?:LICEN[SC]E|COPYING|AUTHORS|NOTICE)[^/]*$", re.IGNORECASE)


def run(*command: str | Path) -> None:
    subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True)


def fetch(into: Path) -> None:
    """The runtime, the packages and symroof's own wheel in a folder of the site."""
    digest = hashlib.sha256((INTEGRITY + PACKAGES.read_text("utf-8")).encode()).hexdigest()[:16]
    kept = Path.home() / ".cache" / "symroof-playground" / digest
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=kept.parent) as folder:
            pinned(Path(folder) / "runtime")
            (Path(folder) / "runtime").rename(kept)
    runtime = into / "runtime"
    shutil.copytree(kept, runtime, dirs_exist_ok=True)
    run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", runtime, ROOT)
    wheels = sorted(path.name for path in runtime.glob("*.whl"))
    first = [name for name in wheels if not name.startswith(LATER)]
    later = [name for name in wheels if name.startswith(LATER)]
    size = sum(path.stat().st_size for path in runtime.iterdir())
    about = {"wheels": first, "later": later, "bytes": size}
    (runtime / "packages.json").write_text(json.dumps(about), "utf-8")
    (into / "licences.html").write_text(licences(runtime), "utf-8")


def pinned(runtime: Path) -> None:
    """What does not change, each file with the hash that it was pinned with."""
    runtime.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        run("npm", "pack", "--silent", "--pack-destination", work, f"pyodide@{PYODIDE}")
        packed = (work / f"pyodide-{PYODIDE}.tgz").read_bytes()
        if base64.b64encode(hashlib.sha512(packed).digest()).decode() != INTEGRITY.removeprefix("sha512-"):
            raise SystemExit("pyodide is not what it was when it was pinned")
        with tarfile.open(work / f"pyodide-{PYODIDE}.tgz") as archive:
            for name in RUNTIME:
                member = archive.extractfile(f"package/{name}")
                assert member is not None, name
                (runtime / name).write_bytes(member.read())
        known = PACKAGES.read_text("utf-8").splitlines()
        for kind, platform in PLATFORMS.items():
            lines = [
                line for line in known if line and not line.startswith("#") and line.startswith(NATIVE) == bool(kind)
            ]
            (work / "pinned.txt").write_text("\n".join(lines) + "\n", "utf-8")
            pip = (
                sys.executable,
                "-m",
                "pip",
                "download",
                "-q",
                "--no-deps",
                "--require-hashes",
                "--only-binary=:all:",
            )
            run(*pip, "--python-version", "3.14", "--platform", platform, "-d", runtime, "-r", work / "pinned.txt")


def licences(runtime: Path) -> str:
    """The licences of what is served, with their texts."""
    parts = [
        f"<h1>Licences</h1><p>Pyodide {PYODIDE} (Mozilla Public License 2.0, https://github.com/pyodide/pyodide) with CPython 3.14 (Python Software Foundation License), and these packages:</p>"
    ]
    for wheel in sorted(runtime.glob("*.whl")):
        with zipfile.ZipFile(wheel) as archive:
            texts = [name for name in archive.namelist() if ".dist-info/" in name and LICENCE.search(name)]
            metadata = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
            told = re.findall(
                r"^(?:License(?:-Expression)?|Classifier: License :: .*?): ?(.*)$",
                archive.read(metadata).decode(),
                re.MULTILINE,
            )
            parts.append(f"<h2>{html.escape(wheel.name)}</h2><p>{html.escape('; '.join(filter(None, told))[:300])}</p>")
            parts += [f"<pre>{html.escape(archive.read(name).decode('utf-8', 'replace'))}</pre>" for name in texts]
    return '<!doctype html><html lang="en"><meta charset="utf-8"><title>Licences</title>' + "\n".join(parts)


def policy() -> str:
    """What the page may run: its own files, WebAssembly, and the script and the style sheet of every page that answers."""
    import symroof as sr

    said = re.search(r'Content-Security-Policy" content="([^"]*)"', sr.page("dot", on="tpu-v5e").html)
    assert said is not None
    hashes = dict(re.findall(r"(script|style)-src ('sha256-[^']*')", said[1]))
    return (
        f"default-src 'none'; script-src 'self' 'wasm-unsafe-eval' {hashes['script']}; style-src 'self' {hashes['style']}; "
        "worker-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'"
    )


def write(site: Path) -> Path:
    """The page of the playground in a site, with the chips of the catalogue and what it may run."""
    from symroof.reading.chips import catalogue, first_of_forms

    place = site / "play"
    if not (place / "play.js").exists():
        shutil.copytree(ROOT / "docs" / "play", place, dirs_exist_ok=True)
    page = (ROOT / "docs" / "play" / "index.html").read_text("utf-8")
    form = {chip.name: chip for chip in sorted(catalogue().values(), key=first_of_forms) if "HBM" in chip.figures}
    chips = "".join(
        f'<option value="{html.escape(name)}">{html.escape(chip.title)}</option>' for name, chip in form.items()
    )
    for mark, text in (("@policy@", policy()), ("@chips@", chips)):
        if page.count(mark) != 1:
            raise SystemExit(f"the page of the playground has no {mark}")
        page = page.replace(mark, text)
    (place / "index.html").write_text(page, "utf-8")
    return place


def on_post_build(config: dict[str, object]) -> None:
    """For MkDocs: the playground in the site that was built."""
    place = write(Path(str(config["site_dir"])))
    try:
        fetch(place)
    except (subprocess.CalledProcessError, OSError) as error:
        logging.getLogger("mkdocs.hooks.playground").info("the site is without its playground: %s", error)


if __name__ == "__main__":
    fetch(write(Path(sys.argv[1])))
