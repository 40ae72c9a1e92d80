"""Figures beside SymPy's, in one run: ratios are what counts, because machines differ.

python benchmarks/run.py            every figure, several runs each
python benchmarks/run.py --smoke    one run each, to see that it works
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

MATMUL = "bf16[B, D] * bf16[D, F] -> bf16[B, F]"
OPTIONS = ["--on", "tpu-v5e", "--assume", "B << D, F", "--at", "D=F=8192"]


def median_of(runs: int, work: Callable[[], object]) -> float:
    """Median seconds of ``runs`` calls."""
    times = []
    for _ in range(runs):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def process(*arguments: str) -> Callable[[], object]:
    return lambda: subprocess.run([sys.executable, *arguments], capture_output=True, check=True)


def row(name: str, seconds: float, beside: str = "") -> None:
    print(f"  {name:<58} {seconds * 1000:9.2f} ms   {beside}")


def cold(runs: int) -> None:
    """A whole command in a new process, beside the import that it cannot avoid."""
    print("cold, whole processes in turn")
    derive, bare = process("-m", "symroof", "derive", MATMUL, *OPTIONS), process("-c", "import sympy")
    derive()
    pairs = [(median_of(1, derive), median_of(1, bare)) for _ in range(runs)]
    row('python -c "import sympy"', statistics.median(b for _, b in pairs))
    ratio = statistics.median(a / b for a, b in pairs)
    row(
        "symroof derive, matmul, text", statistics.median(a for a, _ in pairs), f"{ratio:.2f} times (goal: at most 1.5)"
    )
    row(
        "symroof derive, matmul, json",
        median_of(runs, process("-m", "symroof", "derive", MATMUL, *OPTIONS, "--format", "json")),
    )
    row("symroof --help", median_of(runs, process("-m", "symroof", "--help")))


def threshold(runs: int) -> None:
    """The symbolic threshold, which SymPy refuses, and the numeric one, which it solves."""
    from sympy import Rational, reduce_inequalities, symbols
    from sympy.core.cache import clear_cache

    from symroof.algebra.solvers import solve_for
    from symroof.symbols import symbol

    print("threshold of BDF/(BD + DF + BF) > R for B")
    B, D, F, R = (symbol(name) for name in ("B", "D", "F", "ridge"))
    exact, dims = B * D * F / (B * D + D * F + B * F), frozenset({B, D, F})
    solve_for(exact - R, B, dims)
    row("symroof, D and F symbolic", median_of(runs, lambda: solve_for(exact - R, B, dims)), "goal: at most 25 ms")
    b, d, f = symbols("B D F", positive=True)
    whole = b * d * f / (b * d + d * f + b * f)

    def refused() -> str:
        clear_cache()
        try:
            reduce_inequalities(whole > Rational(9850, 41), b)
        except NotImplementedError:
            return "NotImplementedError"
        return "solved"

    def numeric() -> object:
        clear_cache()
        return reduce_inequalities((whole > Rational(9850, 41)).subs({d: 8192, f: 8192}), b)

    row("SymPy reduce_inequalities, D and F symbolic", median_of(runs, refused), refused())
    put = {D: 8192, F: 8192, R: Rational(9850, 41)}
    row("symroof, D = F = 8192", median_of(runs, lambda: solve_for((exact - R).subs(put), B, dims)))
    row("SymPy reduce_inequalities, D = F = 8192", median_of(runs, numeric), str(numeric()))


def warm(runs: int) -> None:
    """Whole derivations with every check, in a process that has begun."""
    import symroof as sr

    print("warm, with every check")
    cases = {
        "matmul, regime, one point": ((MATMUL,), {"on": "tpu-v5e", "assume": "B << D, F", "at": "D=F=8192"}),
        "dot product": (("dot",), {"on": "tpu-v5e"}),
        "two chips": (
            ("bf16[B, D_X] * bf16[D_X, F] -> bf16[B, F]",),
            {"on": "tpu-v5e", "mesh": {"X": 2}, "link": "ICI"},
        ),
        "softmax, from cost functions": (("softmax",), {"on": "tpu-v5e"}),
    }
    for name, (arguments, options) in cases.items():
        derivation = sr.derive(*arguments, **options)
        seconds = median_of(runs, lambda a=arguments, o=options: sr.derive(*a, **o))
        row(
            name,
            seconds,
            f"{derivation.counts()['proved']} steps proved" + (", goal: at most 100 ms" if "regime" in name else ""),
        )
        row("  and its Markdown", median_of(runs, derivation.to_markdown))


def growth(runs: int) -> None:
    """The number of dimensions, and of operands with nothing to contract."""
    import symroof as sr

    print("growth with dimensions and operands")
    for size in (2, 4, 6, 8, 10, 12):
        labels = [f"d{i}" for i in range(size)]
        left, right = labels[: size // 2 + 1], labels[size // 2 :]
        kept = [label for label in labels if label != labels[size // 2]] if size > 2 else labels[:1]
        text = (
            f"bf16[{', '.join(left)}] * bf16[{', '.join(right)}] -> bf16[{', '.join(kept)}]"
            if size > 2
            else "bf16[d0, d1] * bf16[d1] -> bf16[d0]"
        )
        sr.derive(text, on="tpu-v5e")
        found = sr.derive(text, on="tpu-v5e").counts()
        row(
            f"{size} dimensions",
            median_of(runs, lambda t=text: sr.derive(t, on="tpu-v5e")),
            f"{found['proved']} proved, {found['sampled']} sampled",
        )
    for operands in (2, 3, 4):
        text = (
            " * ".join(f"bf16[A{i}]" for i in range(operands))
            + f" -> bf16[{', '.join(f'A{i}' for i in range(operands))}]"
        )
        found = sr.derive(text, on="tpu-v5e").counts()
        row(
            f"{operands} operands, nothing contracted",
            median_of(runs, lambda t=text: sr.derive(t, on="tpu-v5e")),
            f"{found['proved']} proved, {found['sampled']} sampled",
        )


CLAIMS = [
    "flops = 2BDF", "reads = 2BD + 2DF", "writes = 2BF", "bytes = 2BD + 2DF + 2BF", "intensity = 2BDF/(2BD + 2DF + 2BF) = BDF/(BD + DF + BF)", "intensity ~ B",
    "intensity < D", "ridge = 240", "T_math = 2BDF/1.97e14", "T_comms = (2BD + 2DF + 2BF)/8.2e11", "T_upper <= 2 T_lower", "compute-bound when B > 240",
    "compute-bound when B > 255.2 at D = F = 8192", "compute-bound never at D = F = 480", "T_math = 174.4 us at B = 256, D = F = 8192", "1.97e14/8.2e11 = 240",
]  # fmt: skip
FORMULAS = [
    r"\frac{2BDF}{2BD + 2DF + 2BF} = \frac{BDF}{BD + DF + BF}", r"B > \frac{1.97 \times 10^{14}}{8.20 \times 10^{11}}", r"T_\text{math} = \frac{2BDF}{1.97e14}",
    r"T_\text{lower} = \max(T_\text{math}, T_\text{comms})", r"\frac{B}{X} > \frac{C}{W_\text{ici}}", r"2 \cdot B \cdot D \cdot F = 2BDF", r"BF \times (2D - 1) < 2BDF",
]  # fmt: skip


def claims(runs: int) -> None:
    """Claims judged one after another on one core, in a process that has begun; and wrong ones with their diagnosis."""
    from symroof.reading.claim_sets import StatedClaim, read_exercise
    from symroof.verification.claim_context import context_of
    from symroof.verification.judge import judge_stated

    print("claims, warm")
    exercise = read_exercise({"operation": MATMUL, "hardware": "tpu-v5e", "assume": "B << D, F"})
    context = context_of(exercise)
    sets = {
        "right claims": CLAIMS,
        "wrong claims, with their diagnosis": [
            c.replace("2BF", "3BF").replace("240", "260").replace("~ B", "~ 2B")
            for c in CLAIMS[2:5] + CLAIMS[5:8] + CLAIMS[11:12]
        ],
    }
    for name, texts in sets.items():
        stated = [StatedClaim(text) for text in texts]
        for one in stated:
            judge_stated(one, context, exercise)
        seconds = median_of(runs, lambda found=stated: [judge_stated(one, context, exercise) for one in found])
        row(
            name,
            seconds / len(stated),
            f"{len(stated) / seconds:.0f} a second" + (" (goal: at least 100)" if name == "right claims" else ""),
        )


def latex(runs: int) -> None:
    """A formula of a textbook read, beside SymPy's own reader."""
    from symroof.reading.latex import read_latex
    from symroof.reading.latex_tokens import Dialect
    from symroof.reading.name_scope import Scope

    print("LaTeX, a formula")
    dialect = Dialect(Scope(("T_math", "T_comms", "T_lower"), open=True, indices=True))
    seconds = median_of(runs, lambda: [read_latex(text, dialect) for _ in range(50) for text in FORMULAS])
    row("symroof", seconds / 50 / len(FORMULAS), "goal: at most 0.2 ms")
    try:
        from sympy.parsing.latex import parse_latex

        def sympys() -> object:
            return [parse_latex(text) for text in FORMULAS]

        sympys()
    except ImportError:
        print("  SymPy's parse_latex needs antlr4-python3-runtime 4.11")
        return
    row("SymPy parse_latex", median_of(runs, sympys) / len(FORMULAS), "several of these it misreads")


def regimes(runs: int) -> None:
    """Every set of largest terms, against the number of terms and of symbols; and whole maps with their checks."""
    from random import Random

    from sympy import Add, Mul

    import symroof as sr
    from symroof.algebra.fan import fan
    from symroof.algebra.regime import Regime
    from symroof.derivation.solving import PLAIN
    from symroof.exploration.regime_steps import partition
    from symroof.formula import Quotient
    from symroof.proof.certificates import check_partition
    from symroof.proof.step import Ledger
    from symroof.symbols import symbol

    print("regimes: random sums of square-free terms, enumerated")
    for names, terms in ((3, 3), (4, 6), (5, 8), (6, 12), (8, 12), (8, 20)):
        draw, found = Random(terms), set()
        while len(found) < terms:
            found.add(tuple(draw.choice((0, 0, 1)) for _ in range(names)))
        symbols = [symbol(f"x{i}") for i in range(names)]
        value = 1 / Add(*(Mul(*(s**e for s, e in zip(symbols, m, strict=True))) for m in found))
        regime = Regime((), frozenset(symbols))
        cells = fan(value, regime)
        listed, ledger = partition(cells, {}, PLAIN), Ledger(frozenset(s.name for s in symbols))
        quotient = Quotient(listed.numerator, listed.denominator)
        proof = f"proved complete in {median_of(1, lambda q=quotient, p=listed, g=ledger: check_partition(q, p, (), g)) * 1000:.0f} ms"
        row(
            f"{names} symbols, {terms} terms: {len(cells.masks)} regimes",
            median_of(runs, lambda v=value, r=regime: fan(v, r)),
            proof + (" (goal: below 1 s)" if terms == 20 else ""),
        )
    for name, operation in (
        ("matmul", MATMUL),
        ("three operands", "bf16[B, D] * bf16[D, F] * bf16[F] -> bf16[B, D, F]"),
    ):
        row(
            f"whole map, {name}, every line checked",
            median_of(runs, lambda o=operation: sr.regimes(o, on="tpu-v5e").map.singles),
        )


def bulk(runs: int) -> None:
    """A million points beside a line of NumPy, and a sweep to a file."""

    import numpy as np

    import symroof as sr

    print("numbers in bulk, 10**6 points")
    d, n = sr.derive(MATMUL, on="tpu-v5e"), 10**6
    B, D, F = (np.random.default_rng(i).uniform(1, 1e4, n) for i in range(3))
    by_hand = {
        "intensity": lambda B, D, F: B * D * F / (B * D + D * F + B * F),
        "T_lower": lambda B, D, F: np.maximum(2 * B * D * F / 1.97e14, (2 * B * D + 2 * D * F + 2 * B * F) / 8.2e11),
        "throughput": lambda B, D, F: (
            2 * B * D * F / np.maximum(2 * B * D * F / 1.97e14, (2 * B * D + 2 * D * F + 2 * B * F) / 8.2e11)
        ),
    }
    for name, hand in by_hand.items():
        ours = d.function(name)
        pairs = [
            (median_of(1, lambda f=ours: f(B, D, F)), median_of(1, lambda f=hand: f(B, D, F))) for _ in range(2 * runs)
        ]
        ratio = statistics.median(a / b for a, b in pairs)
        row(name, statistics.median(a for a, _ in pairs), f"{ratio:.2f} times a line of NumPy (goal: at most 1.2)")
    with tempfile.TemporaryDirectory() as folder:
        row(
            "sweep of 101 250 points to CSV",
            median_of(1, lambda: sr.sweep(MATMUL, "B=1:4050, D=F=8:200:8", Path(folder) / "x.csv", on="tpu-v5e")),
        )


def pictures(runs: int) -> None:
    """Figures, drawn anew."""
    import symroof as sr

    print("figures, warm")
    for name, options in (
        ("throughput", {"at": "D=F=4096", "over": "B=1..400"}),
        ("roofline", {"at": "B=64,D=F=8192"}),
        ("regime map", {"at": "F=8192", "over": "B=1..10000,D=1..10000"}),
    ):
        found = sr.plot(MATMUL, on="tpu-v5e", **options)
        found.drawn()
        row(f"{name}: its numbers", median_of(runs, lambda o=options: sr.plot(MATMUL, on="tpu-v5e", **o)))
        row(f"{name}: its SVG", median_of(runs, found.drawn))


PAGE = """
import gzip, sys, time
import symroof as sr
operation, on, at, output = sys.argv[1:]
sr.page("dot", on="tpu-v5e").html
started = time.process_time()
text = sr.page(operation, on=on, at=at or None).html
print(time.process_time() - started, len(text.encode()), len(gzip.compress(text.encode(), mtime=0)))
open(output, "w", encoding="utf-8").write(text)
"""
# Each size slid there and back, with the layout that a browser computes anew.
SLIDE = """() => {
  const times = [];
  for (let turn = 0; turn < 30; turn++)
    for (const range of document.querySelectorAll("input[type=range]")) {
      const started = performance.now();
      range.value = Number(range.value) + (turn % 2 ? -1 : 1) * (1 + turn % 3);
      range.dispatchEvent(new Event("input", { bubbles: true }));
      document.body.offsetHeight;
      times.push(performance.now() - started);
    }
  return times;
}"""


def live(runs: int) -> None:
    """Pages that answer: their bytes, the processor's time for writing one, and a step of a slider in a browser, where there is one."""
    print("pages that answer")
    mesh = Path(__file__).parent.parent / "examples" / "mesh.toml"
    browser = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium", "chrome"))), None)
    with tempfile.TemporaryDirectory() as folder:
        for name, operation, on, at in (
            ("product", MATMUL, "tpu-v5e", "B=64,D=F=8192"),
            ("mlp", "mlp", "h100", "B=512,D=8192,F=32768"),
            ("training step on two axes", str(mesh), "tpu-v5p", ""),
        ):
            path = Path(folder) / f"{name}.html"
            told = [
                subprocess.run(
                    [sys.executable, "-c", PAGE, operation, on, at, str(path)],
                    capture_output=True,
                    text=True,
                    check=True,
                ).stdout.split()
                for _ in range(min(runs, 3))
            ]
            written = statistics.median(float(seconds) for seconds, *_ in told)
            row(f"{name}, time of the processor", written, f"{int(told[0][1]):,} bytes, {int(told[0][2]):,} compressed")
            steps = slid(path, browser, runs)
            if steps:
                cuts = statistics.quantiles(steps, n=20)
                row(f"{name}: a step of a slider", cuts[9] / 1000, f"95 % below {cuts[18]:.1f} ms (goal: 8 ms)")


def slid(path: Path, browser: str | None, runs: int) -> list[float]:
    """The milliseconds of each step of a slider; none without a browser or Playwright."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return []
    if browser is None:
        return []
    with sync_playwright() as engine:
        opened = engine.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        page = opened.new_page(viewport={"width": 1280, "height": 900})
        page.goto(path.as_uri())
        page.wait_for_selector("#verdict.ok, #verdict.no")
        found = [float(each) for _ in range(min(runs, 3)) for each in page.evaluate(SLIDE)]
        opened.close()
    return found


DOCUMENTS = Path(__file__).parent.parent / "tests" / "documents"
# A textbook chapter, an answered exercise sheet and lecture notes: 750 lines, 20 pages with their displays.
CHAPTERS = ("chapter.md", "homework.md", "notes.md")
JUDGED = """
import sys, time
from pathlib import Path
from symroof.verification.document_claims import judge_document
judge_document(Path(sys.argv[2]))
started = time.process_time()
coverage = judge_document(Path(sys.argv[1])).coverage
print(time.process_time() - started, coverage.formulas, coverage.judged)
"""


def chapters(runs: int) -> None:
    """Twenty pages without a comment, in a process that has judged two lines before: what it imports is left out."""
    print("documents judged")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "chapter.md"
        path.write_text("\n\n".join((DOCUMENTS / name).read_text("utf-8") for name in CHAPTERS), "utf-8")
        lines = path.with_name("lines.md")
        lines.write_text("$\\frac{BD}{B + D} \\approx B$ and\n\n$N^2 + N > N$", "utf-8")
        told = [
            subprocess.run(
                [sys.executable, "-c", JUDGED, str(path), str(lines)], capture_output=True, text=True, check=True
            ).stdout.split()
            for _ in range(runs)
        ]
        _, formulas, judged = told[0]
        row(
            "20 pages, time of the processor",
            statistics.median(float(seconds) for seconds, *_ in told),
            f"{judged} of {formulas} formulas judged (goal: at most 2 s)",
        )
        verify = [sys.executable, "-m", "symroof", "verify", str(path)]
        row(
            "symroof verify, whole process",
            median_of(runs, lambda: subprocess.run(verify, capture_output=True, check=False)),
        )


def documents(runs: int) -> None:
    """A reader's time for each byte stays what it is, whatever is opened and not closed."""
    from symroof.reading.documents import read_text

    print("documents: microseconds a byte at two sizes")
    sizes = (20_000, 80_000) if runs == 1 else (400_000, 4_000_000)
    for name, piece in (
        ("prose with formulas", "So $2BDF$ FLOPs.\n\n"),
        ("\\[ never closed", "\\[ "),
        ("<pre> never closed", "<pre>"),
        ("comments and formulas", "<!-- symroof -->\n\n$1 = 1$\n\n"),
    ):
        texts = [piece * (size // len(piece)) for size in sizes]
        small, large = (median_of(1, lambda text=text: read_text(text)) / len(text) * 1e6 for text in texts)
        print(f"  {name:<58} {small:9.2f} us   {large:.2f} us at {sizes[1] // 1000} kB")


def building(runs: int) -> None:
    """Blocks in one process beside runs of ``derive``; a site that is as it should be; a command that does nothing."""
    import tempfile
    from pathlib import Path

    import symroof as sr

    print("building")
    count = 10 if runs == 1 else 100
    keys = f"operation = '{MATMUL}'\nhardware = 'tpu-v5e'\nsections = ['rule']\n"
    regimes = [f"B << D, F\nid = 'b{i}'\n" for i in range(count)]
    text = "\n\n".join(
        f"<!-- symroof derive\n{keys}assume = '{regime.splitlines()[0]}'\n{regime.splitlines()[1]}\n-->"
        for regime in regimes
    )
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "page.md")
        page.write_text(text)
        whole = median_of(1, process("-m", "symroof", "build", str(page)))
        one = median_of(min(runs, 5), process("-m", "symroof", "derive", MATMUL, *OPTIONS[:4], "--section", "rule"))
        row(f"{count} blocks in one process", whole, f"{whole / (one * count):.3f} of {count} runs of derive")
        row(
            "--check of the same, nothing to change",
            median_of(min(runs, 3), process("-m", "symroof", "build", "--check", str(page))),
        )
        empty = Path(folder, "empty.md")
        empty.write_text("Words alone.\n")
        bare = median_of(runs, process("-c", "import sympy"))
        row(
            "build of a page without a block",
            (nothing := median_of(runs, process("-m", "symroof", "build", str(empty)))),
            f"{nothing / bare:.2f} times import sympy",
        )
    built = sr.build(text).text
    row(f"{count} blocks, warm", median_of(1, lambda: sr.build(built)))


def mlps(statements: int) -> str:
    """So many statements: MLPs with weights of their own, one after the other."""
    lines, body, x = ["input x0: bf16[B, D]"], [], "x0"
    for i in range(-(-statements // 5)):
        lines += [f"weight W{i}: bf16[D, F]", f"weight V{i}: bf16[F, D]"]
        body += [
            f"n{i} = rms_norm({x})",
            f"h{i} = n{i} * W{i} -> bf16[B, F]",
            f"a{i} = gelu(h{i})",
            f"y{i} = a{i} * V{i} -> bf16[B, D]",
            f"x{i + 1} = {x} + y{i}",
        ]
        x = f"x{i + 1}"
    return "\n".join([*lines, *body[:statements]])


def programs(runs: int) -> None:
    """Programs by their number of statements, and a decoder layer of the library with all sizes symbolic, beside SymPy."""
    import math

    from sympy import reduce_inequalities, symbols

    import symroof as sr
    from symroof.derivation import pipeline

    print("programs, warm, every line checked")
    counts, times = (5, 10, 20, 30, 40), []
    for count in counts:
        text = mlps(count)
        sr.derive(text, on="tpu-v5e")
        times.append(median_of(runs, lambda t=text: sr.derive(t, on="tpu-v5e")))
        row(f"{count} statements", times[-1], "goal: below 1 s" if count == 30 else "")
    slope = statistics.linear_regression([math.log(n) for n in counts], [math.log(t) for t in times]).slope
    print(f"  time grows with the number of statements to the power {slope:.2f} (goal: about 1)")
    layer = sr.derive("decoder-layer", on="tpu-v5e")
    row(
        "decoder layer, whole",
        median_of(runs, lambda: sr.derive("decoder-layer", on="tpu-v5e")),
        f"{layer.counts()['proved']} steps proved",
    )
    draft = pipeline.up_to_ridge(pipeline.first_draft(layer.setting.problem))
    row(
        "  its threshold, all sizes symbolic",
        median_of(runs, lambda: pipeline.threshold(draft)),
        "goal: at most 200 ms",
    )
    value, variable = layer.setting.intensity, layer.setting.variable
    try:
        reduce_inequalities(value > symbols("R", positive=True), variable)
        said = "solved"
    except NotImplementedError:
        said = "NotImplementedError"
    print(f"  SymPy reduce_inequalities of the same: {said}")


LAYER = """mesh X, Y, Z on ICI
input x: bf16[B_X, T_Z, D_Y]; input c: bf16[B_X, S, K_Y, H]
weight WQ: bf16[D_X, K_Y, G, H]; weight WO: bf16[K_Y, G, H, D_X]; weight W1, W3: bf16[D_X, F_Y]; weight W2: bf16[F_Y, D_X]
n = rms_norm(x)
q = n * WQ -> bf16[B_X, T_Z, K_Y, G, H]
s = q * c -> bf16[B_X, T_Z, K_Y, G, S]
p = softmax(s)
o = p * c -> bf16[B_X, T_Z, K_Y, G, H]
z = o * WO -> bf16[B_X, T_Z, D_Y]
r = x + z
m = rms_norm(r)
g = m * W1 -> bf16[B_X, T_Z, F_Y]
u = m * W3 -> bf16[B_X, T_Z, F_Y]
a = silu(g)
h = a * u -> bf16[B_X, T_Z, F_Y]
y = h * W2 -> bf16[B_X, T_Z, D_Y]
w = r + y"""


TWO_NETWORKS = """mesh X, Y on ICI; mesh Z on DCN switch
input x: bf16[B_XZ, D_Y]; weight W1: bf16[D_X, F_Y]; weight W2: bf16[F_Y, D_X]
h = x * W1 -> bf16[B_XZ, F_Y]
a = gelu(h)
y = a * W2 -> bf16[B_XZ, D_Y]"""


def meshes(runs: int) -> None:
    """A decoder layer on three axes of any size; which of six resources leads; and the placement alone, by statements and by
    axes."""
    import math
    from dataclasses import replace
    from functools import partial

    import symroof as sr
    from symroof.model.placement import placements
    from symroof.reading.meshes import laid_out
    from symroof.reading.operations import read_operation

    print("meshes, warm, every line checked")
    for training in (False, True):
        found = sr.derive(LAYER, on="tpu-v5p", training=training).counts()
        seconds = median_of(runs, lambda t=training: sr.derive(LAYER, on="tpu-v5p", training=t))
        row(
            "decoder layer on three axes" + ", a training step" * training,
            seconds,
            f"{found['proved']} proved, goal: at most 2 s",
        )

    leads = partial(sr.regimes, TWO_NETWORKS, on="tpu-v5p", training=True, of="T_lower")
    found = leads().map
    row(
        "which of six resources leads",
        median_of(runs, leads),
        f"{len(found.fan.symbols)} symbols, {found.count} regimes, {found.complete.status} complete, goal: at most 1 s",
    )

    def placement(statements: int, axes: str) -> float:
        text = (
            mlps(statements)
            .replace("B,", f"B_{axes[0]},")
            .replace(", F]", f", F_{axes[1:]}]" if axes[1:] else ", F]")
            .replace("[F,", f"[F_{axes[1:]}," if axes[1:] else "[F,")
        )
        program = laid_out(read_operation(f"mesh {', '.join(axes)} on ICI\n{text}"), axes)
        program = replace(program, mesh=tuple(a.wired("ICI", lambda n: True) for a in program.mesh))
        return median_of(runs, lambda: placements(program))

    by_statements, by_axes = (
        {n: placement(n, "XY") for n in (10, 20, 40, 80)},
        {n: placement(40, "XYZUVW"[:n]) for n in (1, 2, 4, 6)},
    )
    for what, times in (("statements", by_statements), ("axes", by_axes)):
        for n, seconds in times.items():
            row(f"placement alone, {n} {what}", seconds)
        slope = statistics.linear_regression([math.log(n) for n in times], [math.log(t) for t in times.values()]).slope
        print(f"  time grows with the number of {what} to the power {slope:.2f} (goal: about 1)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smoke", action="store_true", help="one run of each")
    runs = 1 if parser.parse_args().smoke else 7
    for part in (
        cold,
        threshold,
        warm,
        growth,
        claims,
        latex,
        chapters,
        documents,
        regimes,
        bulk,
        pictures,
        live,
        building,
        programs,
        meshes,
    ):
        part(runs)
        print()


if __name__ == "__main__":
    main()
