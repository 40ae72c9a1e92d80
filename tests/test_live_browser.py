"""A page that answers, in a real browser without a network: by keyboard, in three languages and widths, light and dark, on paper."""

import json
import re
import shlex

import pytest

import symroof as sr

pytestmark = [pytest.mark.thorough, pytest.mark.part(6)]

PAGES = {
    "product": ("matmul", "tpu-v5e", {}),
    "program": ("mlp", "h100", {}),
    "mesh": ("fsdp-megatron", "tpu-v5p", {"at": "B=65536,D=8192,F=32768,X=16,Y=4"}),
}
# The boxes of the labels of a figure that meet, and the words that stand outside of it.
MEETING = """svg => {
  const frame = svg.getBoundingClientRect(), boxes = [...svg.querySelectorAll("text")].map(t => [t.textContent, t.getBoundingClientRect()]);
  const found = [];
  boxes.forEach(([a, p], i) => {
    if (p.left < frame.left - 2 || p.right > frame.right + 2 || p.top < frame.top - 2 || p.bottom > frame.bottom + 2) found.push([a, "outside"]);
    boxes.slice(i + 1).forEach(([b, q]) => {
      const wide = Math.min(p.right, q.right) - Math.max(p.left, q.left), high = Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top);
      if (wide > 2 && high > 4) found.push([a, b]);
    });
  });
  return found;
}"""

# Blocks of a page with neither a head over them nor a summary that they unfold from.
HEADLESS = """all => all.filter(e => e.checkVisibility() && !e.closest("details") && ![e, e.previousElementSibling].some(
  one => one?.matches("h2") || one?.previousElementSibling?.matches("h2"))).map(e => e.id)"""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")

    def written(name, lang="en"):
        path = folder / f"{name}-{lang}.html"
        if not path.exists():
            operation, on, options = PAGES[name]
            sr.page(operation, on=on, **options).save(path, lang=lang)
        return path

    return written


class Watched:
    """A page that is open, with all that it asked for and complained of."""

    def __init__(self, browser, path, address="", width=1280, scheme="light", height=900):
        self.context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme, offline=True
        )
        self.page, self.bad = self.context.new_page(), []
        self.page.on("console", lambda m: self.bad.append(m.text) if m.type in ("error", "warning") else None)
        self.page.on("pageerror", lambda e: self.bad.append(str(e)))
        self.page.on("request", lambda r: self.bad.append(r.url) if not r.url.startswith("file:") else None)
        self.page.goto(path.as_uri() + address)
        self.page.wait_for_selector("#verdict.ok, #verdict.no")

    def close(self):
        self.context.close()
        assert self.bad == []


@pytest.mark.parametrize("name", PAGES)
def test_four_hundred_steps_by_keyboard(browser, files, name):
    """Slider by slider with arrows, Home and End: no request, no complaint, no label on another, and each least number that is
    said of a size is the first one that is compute-bound."""
    watched = Watched(browser, files(name))
    page = watched.page
    keys = ["ArrowRight"] * 9 + ["ArrowLeft"] * 4 + ["Home", "End", "ArrowLeft", "ArrowLeft", "PageDown"]
    steps, met = 0, []
    while steps < 400:
        for size in json.loads(page.text_content("#data"))["names"]:
            page.focus(f"#r-{size}")
            for key in keys:
                page.keyboard.press(key)
                steps += 1
            met += [(size, pair) for pair in page.eval_on_selector("#roof", MEETING)]
            assert page.evaluate("document.activeElement.id") == f"r-{size}", "the keyboard stays where it is"
            assert page.inner_text("#verdict")
    assert met == []
    watched.close()


@pytest.mark.parametrize("lang", ["en", "ko", "zh"])
@pytest.mark.parametrize(("width", "scheme"), [(360, "light"), (1440, "dark")])
@pytest.mark.parametrize("name", PAGES)
def test_every_width_theme_and_language(browser, files, name, lang, width, scheme):
    watched = Watched(browser, files(name, lang), width=width, scheme=scheme)
    page = watched.page
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for figure in ("#roof", "#over"):
        assert page.eval_on_selector(figure, MEETING) == []
    assert page.locator("#roof text", has_text=re.compile(r"\d.*FLOPs/s$")).count() == 1, "the peak keeps its name"
    assert page.eval_on_selector("html", "e => e.lang") == lang
    unnamed = page.evaluate(
        "[...document.querySelectorAll('input, select, textarea')].filter(e => !e.labels?.length && !e.getAttribute('aria-label')).map(e => e.id)"
    )
    assert unnamed == []
    for one in page.query_selector_all("details"):
        one.evaluate("e => { e.open = true }")
    assert page.eval_on_selector_all("main table, main ul, #over", HEADLESS) == []
    assert "T_upper" not in page.inner_text("body")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "unfolded"
    watched.close()


def test_a_threshold_is_gone_to_and_is_one(browser, files):
    """The button leads to the first number that is compute-bound; one less is not."""
    watched = Watched(browser, files("product"), "#B=64&D=8192&F=8192&chip=tpu-v5e&for=B")
    page = watched.page
    assert page.inner_text("#verdict").startswith("Memory-bound")
    page.click("#bounds button")
    assert page.input_value("#n-B") == "256"
    assert page.inner_text("#verdict") == "Compute-bound"
    page.fill("#n-B", "255")
    assert page.inner_text("#verdict").startswith("Memory-bound")
    assert "1 short" in page.inner_text("#joint")
    page.wait_for_timeout(900)
    assert "B=255" in page.url
    assert page.text_content("#said").startswith("Memory-bound")
    watched.close()


# Up to where the roofline is shaded as left of a ridge, and the squares of resources in their order, each beside its label.
DRAWN = """svg => [Number(svg.querySelector('rect[fill="var(--mem)"]').getAttribute("width")) + 66,
  [...svg.querySelectorAll('rect[width="10"]')].map(square => [[...svg.querySelectorAll("text")].find(
    text => text.getAttribute("fill") === square.getAttribute("fill")).textContent.split(" ")[0], Number(square.getAttribute("x")) + 5])]"""


@pytest.mark.parametrize("B", [512, 4096, 20000, 40000, 65536])
def test_what_leads_stands_in_the_shade_and_what_does_not_limit_outside(browser, files, B):
    watched = Watched(browser, files("mesh"), f"#B={B}&D=8192&F=32768&X=16&Y=4&chip=tpu-v5p&for=B")
    shaded, squares = watched.page.eval_on_selector("#roof", DRAWN)
    verdict = watched.page.inner_text("#verdict").split(",")[0]
    leads, memory = verdict.removeprefix("Bound by ").replace("Memory-bound", "HBM"), dict(squares)["HBM"]
    assert memory > shaded if verdict == "Compute-bound" else dict(squares)[leads] < shaded
    watched.close()


@pytest.mark.parametrize(
    "garbage",
    [
        "#B=0&D=-4&F=1e9",
        "#B=" + "9" * 31,
        "#__proto__=1&constructor=2&B=64",
        "#%E0%A4%A",
        "#chip=nochip&for=__proto__&kind=99",
        "#B=64;D=8&=&&=5",
        "#bandwidth=Infinity&peak=abc",
    ],
)
def test_garbage_in_the_address_changes_nothing(browser, files, garbage):
    watched = Watched(browser, files("product"), garbage)
    assert watched.page.input_value("#n-B") == "64"
    assert watched.page.inner_text("#verdict") == "Memory-bound, 26.2 % of the peak"
    watched.close()


def test_no_split_of_the_same_chips_is_faster_than_the_first(browser, files):
    watched = Watched(browser, files("mesh"))
    page = watched.page
    page.click("#ofaxes summary")
    page.wait_for_selector("#splits tr")
    rows = page.eval_on_selector_all("#splits tr", "all => all.map(one => one.innerText.split('\\t'))")
    times = {}
    for x in (1, 2, 4, 8, 16, 32, 64):
        at = sr.derive("fsdp-megatron", on="tpu-v5p", mesh=f"X={x},Y={64 // x}", at="B=65536,D=8192,F=32768")
        times[f"X = {x}, Y = {64 // x}"] = at.value("T_lower")
    assert {row[0] for row in rows} == times.keys()
    assert times[rows[0][0]] == min(times.values())
    page.click("#splits button >> nth=-1")
    assert page.evaluate("document.page.lower()") == pytest.approx(float(max(times.values())))
    watched.close()


def test_the_address_says_the_state(browser, files):
    watched = Watched(browser, files("program"), "#B=4096&D=1024&F=512&chip=h100-sxm&for=D&bandwidth=1e12")
    page = watched.page
    assert [page.input_value(f"#n-{n}") for n in "BDF"] == ["4096", "1024", "512"]
    assert page.is_checked('input[name="for"][value="D"]')
    assert page.eval_on_selector('[data-figure="bandwidth"]', "e => [e.value, e.className]") == ["1e12", "given"]
    page.eval_on_selector('[data-figure="bandwidth"]', "e => { e.closest('details').open = true }")
    page.fill('[data-figure="bandwidth"]', "nonsense")
    assert page.eval_on_selector('[data-figure="bandwidth"]', "e => e.className").split()[-1] in ("wrong", "given")
    assert page.inner_text("#command").startswith("symroof derive ")
    assert "--given HBM=1e12" in page.inner_text("#command")
    watched.close()


@pytest.mark.parametrize("name", ["product", "program"])
@pytest.mark.parametrize("kind", [0, 1])
def test_the_command_on_a_page_says_what_the_page_says(browser, files, run, name, kind):
    """Run as it stands, with the figures that were overwritten: the same time."""
    watched = Watched(browser, files(name), f"#B=320&D=1024&F=512&kind={kind}&bandwidth=1.5e12&for=D")
    page = watched.page
    said = shlex.split(page.text_content("#command"))
    seconds = page.evaluate("document.page.lower()")
    watched.close()
    assert said[0] == "symroof"
    assert float(run(*said[1:], "--value", "T_lower", "--unit", "s").out.split()[0]) == pytest.approx(seconds, rel=5e-5)


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("width", [660, 780])
def test_a_page_in_a_frame_without_an_address(browser, name, width, tmp_path):
    """As in a notebook: nothing but verdict, sliders and roofline, in a frame as high as they are, whose height stays."""
    operation, on, options = PAGES[name]
    outer = tmp_path / "outer.html"
    outer.write_text(f"<!doctype html><body>{sr.page(operation, on=on, **options)._repr_html_()}", "utf-8")
    context = browser.new_context(viewport={"width": width, "height": 1200}, offline=True)
    page, bad = context.new_page(), []
    page.on("pageerror", lambda e: bad.append(str(e)))
    page.goto(outer.as_uri())
    frame = next(f for f in page.frames if f != page.main_frame)
    frame.wait_for_selector("#verdict.ok, #verdict.no")
    held, height = frame.evaluate("[document.body.getBoundingClientRect().height, innerHeight]")
    assert held <= height <= held + 40
    frame.focus("#r-B")
    for _ in range(40):
        page.keyboard.press("ArrowRight")
    assert frame.evaluate("document.body.getBoundingClientRect().height") == held
    assert not frame.is_visible("#derivation")
    assert frame.is_visible("#r-B")
    assert bad == []
    context.close()


@pytest.mark.parametrize("name", PAGES)
def test_on_paper_everything_is_unfolded(browser, files, name, tmp_path):
    watched = Watched(browser, files(name))
    assert len(watched.page.pdf(path=tmp_path / "page.pdf")) > 20_000
    watched.close()


@pytest.mark.parametrize("name", PAGES)
def test_without_a_script_there_is_the_same_answer(browser, files, name):
    said = {}
    for script in (True, False):
        context = browser.new_context(java_script_enabled=script, offline=True)
        page = context.new_page()
        page.goto(files(name).as_uri())
        labels = page.eval_on_selector_all("#roof text", "all => all.map(one => one.textContent)")
        said[script] = page.inner_text("#verdict"), page.text_content("#roof title"), " ".join(labels)
        if not script:
            assert page.locator("#derivation math >> visible=true").count() > 5
            assert not page.is_visible("#hands")
            assert page.eval_on_selector("#roof", MEETING) == []
            shown = re.findall(r"(\w+): ([\d.,e]+) FLOPs/byte", said[script][2])
        context.close()
    assert said[True][:2] == said[False][:2]
    assert shown
    for link, number in shown:  # the script shows four digits
        wanted = [part for part in said[True][2].replace(f"{link} ", "").split() if part[:1].isdigit()]
        assert any(
            abs(float(part.replace(",", "")) / float(number.replace(",", "")) - 1) < 6e-3
            for part in wanted
            if re.fullmatch(r"[\d.,]+(e-?\d+)?", part)
        ), (link, number, said)
