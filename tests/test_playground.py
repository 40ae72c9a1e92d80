"""The playground of the documentation in a real browser: what it derives there is, byte by byte, what is derived here."""

import functools
import http.server
import importlib.util
import re
import shutil
import subprocess
import threading
from pathlib import Path

import pytest
from test_rendering_engines import require as require_engines

import symroof as sr

pytestmark = [pytest.mark.thorough, pytest.mark.part(1)]

ROOT = Path(__file__).parent.parent
MESH = "mesh X on ICI; input x: bf16[B_X, D]; weight W: bf16[D_X, F]; y = x * W -> bf16[B_X, F]"
QUESTIONS = {
    "the first one": ("bf16[B, D] * bf16[D, F] -> bf16[B, F]", "tpu-v5e", "B=64,D=F=8192", "en"),
    "in Korean": ("bf16[B, D] * int8[D, F] -> bf16[B, F]", "tpu-v5e", "B=64,D=F=8192", "ko"),
    "a program": ("mlp", "h100", "B=64,D=8192,F=32768", "zh"),
    "a mesh": (MESH, "tpu-v5p", "", "en"),
}


KINDS = {".mjs": "text/javascript", ".wasm": "application/wasm"}


class Quiet(http.server.SimpleHTTPRequestHandler):
    extensions_map = http.server.SimpleHTTPRequestHandler.extensions_map | KINDS

    def log_message(self, *_):
        pass


def served(folder):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


@pytest.fixture(scope="module")
def maker():
    spec = importlib.util.spec_from_file_location("playground", ROOT / ".ci" / "playground.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def site(maker, tmp_path_factory):
    require_engines(shutil.which("npm"), "there is no npm")
    folder = tmp_path_factory.mktemp("site")
    try:
        maker.fetch(maker.write(folder))
    except (subprocess.CalledProcessError, OSError) as error:
        require_engines(None, f"the runtime cannot be had: {error}")
    server = served(folder)
    yield f"http://127.0.0.1:{server.server_port}/play/index.html"
    server.shutdown()
    server.server_close()


def opened(browser, address, width=1280):
    page = browser.new_page(viewport={"width": width, "height": 900})
    bad = []
    page.on("console", lambda m: bad.append(m.text) if m.type in ("error", "warning") else None)
    page.on("pageerror", lambda e: bad.append(str(e)))
    page.on("request", lambda r: bad.append(r.url) if not r.url.startswith(("http://127.0.0.1", "about:")) else None)
    page.goto(address)
    return page, bad


def ask(page, operation, chip, at, lang):
    page.fill("#operation", operation)
    page.fill("#at", at)
    page.eval_on_selector("#chip", "(e, name) => { e.value = name }", chip)
    page.select_option("#lang", lang)
    page.click("#derive")
    page.wait_for_selector("#derive:enabled", timeout=180_000)


def test_what_is_derived_there_is_what_is_derived_here(browser, site):
    page, bad = opened(browser, site)
    known = page.eval_on_selector_all("#chip option", "all => all.map(e => e.value)")
    for operation, chip, at, lang in QUESTIONS.values():
        chip = next(name for name in known if name.startswith(chip))
        ask(page, operation, chip, at, lang)
        assert page.is_hidden("#error"), page.inner_text("#error")
        assert page.inner_text("#state").startswith("Derived and proved in ")
        there = page.eval_on_selector("#answer", "e => e.srcdoc")
        assert there == sr.page(operation, on=chip, at=at or None).to_html(lang)
        frame = page.frame_locator("#answer")
        frame.locator("#verdict.ok, #verdict.no").wait_for(timeout=20_000)
        frame.locator("input[type=range]").first.press("End")
        assert frame.locator("#verdict").inner_text()
        assert frame.locator("#derivation math").first.is_visible()
    page.close()
    assert bad == []


def test_what_is_no_operation_is_told_and_nothing_is_lost(browser, site):
    page, bad = opened(browser, site, width=360)
    for operation, at in (("bf16[B, D * x", ""), ("matmul", "Q=3"), ("", ""), ("__import__('os')", "")):
        ask(page, operation, page.input_value("#chip"), at, "en")
        with pytest.raises(sr.SymroofError) as told:
            sr.page(operation, on=page.input_value("#chip"), at=at or None)
        assert page.inner_text("#error").split() == str(told.value).split()
        assert page.input_value("#operation") == operation
    ask(page, "matmul", page.input_value("#chip"), "", "en")
    assert page.is_hidden("#error")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    inputs = "[...document.querySelectorAll('input, select, textarea')]"
    assert page.evaluate(f"{inputs}.filter(e => !e.labels.length).map(e => e.id)") == []
    page.close()
    assert bad == []


def test_without_its_runtime_or_a_server_the_page_says_so(browser, maker, tmp_path):
    folder = maker.write(tmp_path)
    server = served(tmp_path)
    page, _ = opened(browser, f"http://127.0.0.1:{server.server_port}/play/index.html")
    page.click("#derive")
    page.locator("#state", has_text="The playground could not").wait_for()
    assert page.is_enabled("#derive")
    page.close()
    server.shutdown()
    server.server_close()
    page = browser.new_page()
    page.goto((folder / "index.html").as_uri())
    page.click("#derive")
    assert "needs a server" in page.inner_text("#state")
    page.close()


def test_everything_that_is_served_is_pinned_and_has_its_licence(maker, site):
    pins = [line for line in maker.PACKAGES.read_text("utf-8").splitlines() if not line.startswith("#")]
    assert all(re.fullmatch(r"[\w-]+==[\d.]+ --hash=sha256:[0-9a-f]{64}", line) for line in pins)
    assert maker.INTEGRITY.startswith("sha512-")
    import urllib.request

    base = site.removesuffix("index.html")
    with urllib.request.urlopen(base + "licences.html") as answer:
        text = answer.read().decode()
    for line in pins:
        assert line.partition("==")[0].replace("-", "_") in text.lower().replace("-", "_")
    assert text.count("<pre>") >= len(pins) - 1
