"""Random requests that a user could make: an operation, a chip, a question, and a form of the answer."""

from __future__ import annotations

from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import random_programs
from random_splits import random_splits

import symroof as sr

CHIPS = (None, "tpu-v5e", "tpu-v5p", "h100-sxm", "a100")
LABELS = "BDFHKMNSsuk"
DTYPES = ("bf16", "bf16", "bf16", "int8", "fp32", "fp8", "int4")
FORMS = ("text", "markdown", "latex", "rst")
LANGS = ("en", "ko", "zh")
LIBRARY = ("matmul", "dot", "mlp", "attention", "softmax", "decoder-layer", "moe", "gated-mlp", "layer-norm", "bmm")
NAMES = ("batch", "d_model", "MB", "x1", "heads", "B", "M", "S", "T")


def product(random: Random) -> str:
    """A product of two or three tensors, or elementwise."""
    letters = random.choice((LABELS, LABELS, NAMES))
    labels = random.sample(letters, random.randint(1, 4))
    tensors = [
        sorted(random.sample(labels, random.randint(1, len(labels))), key=lambda _: random.random()) for _ in range(2)
    ]
    used = list(dict.fromkeys([x for tensor in tensors for x in tensor]))
    kept = [x for x in used if random.random() < 0.6 or not all(x in tensor for tensor in tensors)]
    sizes = {x: str(random.choice((2, 3, 128, 4096))) for x in used if random.random() < 0.08}

    def spelled(tensor):
        return f"{random.choice(DTYPES)}[{', '.join(sizes.get(x, x) for x in tensor)}]"

    return f"{spelled(tensors[0])} * {spelled(tensors[1])} -> {spelled(kept)}"


def sizes_of(random: Random, names, most=None) -> dict[str, object]:
    chosen = random.sample(list(names), random.randint(1, len(names) if most is None else min(most, len(names))))
    return {name: random.choice((1, 2, 7, 128, 512, 3000, 8192, 65536)) for name in chosen}


def regime(random: Random, names) -> str:
    if len(names) < 2:
        return ""
    a, b, *rest = random.sample(list(names), len(names))
    return random.choice(
        (
            f"{a} << {b}",
            f"{a} << {', '.join([b, *rest])}",
            f"{b} -> oo",
            f"{a} ~~ {b}",
            f"{a} = {b}",
            f"{a} >= {b}",
            f"{a} <= 4096",
        )
    )


def request(seed: int) -> tuple[str, tuple[object, ...], dict[str, object], dict[str, object]]:
    """The name of an entrance, what it is asked, how the answer is wanted."""
    random = Random(seed)
    options: dict[str, object] = {"on": random.choice(CHIPS)}
    kind = random.choice(("product", "product", "product", "program", "split", "library"))
    if kind == "product":
        asked = product(random)
    elif kind == "program":
        asked = str(random_programs.program(random, most=4))
    elif kind == "split":
        asked = random_splits(random.randrange(10**6))
    else:
        asked = random.choice(LIBRARY)
    try:
        names = list(sr.operation(asked).dimensions)
    except (sr.SymroofError, AttributeError):
        names = []
    if random.random() < 0.5 and names:
        options["at"] = [sizes_of(random, names) for _ in range(random.choice((1, 1, 2)))]
    if random.random() < 0.4 and (assumed := regime(random, names)):
        options["assume"] = assumed
    if random.random() < 0.3 and names:
        options["solve_for"] = random.choice(names)
    if random.random() < 0.2:
        options["count"] = "exact"
    if random.random() < 0.2:
        options["training"] = True
    if random.random() < 0.15:
        options["link"] = random.choice(("VMEM", "ICI", "HBM", "PCIe"))
    if random.random() < 0.1:
        options["given"] = random.choice(
            ({"HBM": "3.1e12"}, {"peak": "1.5e14"}, {"HBM": "1e12 bytes/s", "peak": "3e14 FLOPs/s"})
        )
    if random.random() < 0.1:
        options["let"] = {"both": "T_math + T_comms", "share": "bytes/flops"}
    wanted = {"form": random.choice((*FORMS, "json")), "lang": random.choice(LANGS), "brief": random.random() < 0.25}
    entrance = random.choice(("derive",) * 4 + ("regimes", "compare", "plot", "sweep"))
    if entrance == "compare":
        options["on"] = random.sample([chip for chip in CHIPS if chip], 2)
    if entrance == "plot" and names:
        over, *others = random.sample(names, len(names))
        options["at"] = {name: random.choice((1, 64, 512, 4096, 8192)) for name in others}
        if random.random() < 0.5:
            options["over"] = f"{over}=1..{random.choice((100, 4096))}"
        else:
            options["at"][over] = random.choice((8, 512))
        if random.random() < 0.5:
            options["kind"] = random.choice(("roofline", "throughput", "times", "breakdown", "regimes"))
        if options.get("kind") == "regimes" and others:
            del options["at"][others[0]]
            options["over"] = f"{over}=1..4096,{others[0]}=1..4096"
    if entrance == "regimes" and random.random() < 0.3:
        options["of"] = random.choice(("T_comms/T_math", "T_lower", "flops/bytes", "bytes"))
    return entrance, asked, options, wanted


def answer(entrance: str, asked: str, options: dict[str, object], wanted: dict[str, object]) -> str:
    """What is printed."""
    form, lang = wanted["form"], wanted["lang"]
    given = {key: value for key, value in options.items() if value is not None}
    if entrance == "sweep":
        names = list(sr.operation(asked).dimensions)
        grid = ", ".join(f"{name}={'1:4096:log' if i == 0 else '64|4096'}" for i, name in enumerate(names))
        asks = {key: value for key, value in given.items() if key not in ("at", "assume", "let", "solve_for")}
        with TemporaryDirectory() as folder:
            sr.sweep(asked, grid, f"{folder}/out.csv", **asks)
            return Path(folder, "out.csv").read_text()
    shown = getattr(sr, entrance)(asked, **given)
    if entrance == "plot":
        return shown.to_text() + shown._repr_svg_()
    if form == "json":
        return shown.to_json()
    brief = {"brief": True} if wanted["brief"] and entrance != "compare" else {}
    return getattr(shown, f"to_{form}")(lang=lang, **brief)
