"""Every condition of an answer, in every format and language, read back, is a claim that holds, and its opposite is none."""

import random
import re
from fractions import Fraction
from math import floor

import pytest
from printed import FORMS, LANGUAGES, SIZES, by_regime, compared, shown, verdicts
from test_golden import DECODER, MATMUL, ON_MESH, PAGES
from test_one_statement import random_product

import symroof as sr
from symroof.errors import ModelError
from symroof.rendering.figures.drawings import draw

REGIME = "B << D, F"
BYTES = {"bf16": 2, "int8": 1, "fp32": 4}
PROBLEMS = {
    **PAGES,
    "program": {"operation": DECODER, "on": "tpu-v5e"},
    "mesh": {"operation": ON_MESH, "on": "tpu-v5p", "training": True},
    "experts": {"operation": "moe", "on": "tpu-v5e", "assume": "D << F"},
    "decoder": {"operation": "decoder-layer", "on": "h100"},
    "always": {"operation": "bf16[B, D] * bf16[D, F] -> bf16[B, F]", "on": "tpu-v5e", "at": "B=D=F=8192"},
    "memory": {"operation": MATMUL, "on": "tpu-v5e", "at": "B=8,D=F=8192"},
    "network": {"operation": "bf16[B, D_X] * bf16[D_X, F] -> bf16[B, F]", "on": "tpu-v5p", "mesh": {"X": 4}, "at": "B=8,F=4096"},
}  # fmt: skip


def printed(answer, form, lang):
    return {
        "txt": lambda: answer.to_text(width=1000, lang=lang),
        "md": lambda: answer.to_markdown(lang=lang),
        "tex": lambda: answer.to_latex(lang=lang),
    }[form]()


def problem_of(options):
    """What claims are judged against: the same without a regime and sizes, which each condition has of its own."""
    return {
        "hardware" if key == "on" else key: value
        for key, value in options.items()
        if key not in ("assume", "at", "solve_for", "statement")
    }


def held(problem, conditions, form, lang):
    """How many claims were read in conditions; each holds."""
    found = 0
    for condition in conditions:
        for claim, right, wrong in verdicts(problem, condition, form, lang):
            assert right in ("holds", "rounded"), (problem, condition, claim)
            assert wrong == "wrong", (problem, condition, claim)
            found += 1
    return found


def read_back(options, form, lang):
    page = printed(sr.derive(**options), form, lang)
    return held(problem_of(options), shown(page, form, lang, options.get("assume", "")), form, lang)


@pytest.mark.thorough
@pytest.mark.part(6)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("name", PROBLEMS)
def test_a_condition_of_a_page_holds(name, lang, form):
    assert bool(read_back(PROBLEMS[name], form, lang)) is (
        name != "program_statement"
    )  # that is elementwise, on no chip


@pytest.mark.thorough
@pytest.mark.part(2)
@pytest.mark.parametrize("part", range(6))
def test_a_condition_of_a_random_product_holds(part):
    """Of one chip against its memory, and of a mesh against each of its axes and all at once."""
    draw, read = random.Random(part + 110), 0
    for _ in range(10):
        if draw.random() < 0.6:
            (left, right, result), mesh = random_product(draw)
            options = {
                "operation": f"{left} * {right} -> {result}",
                "mesh": mesh,
                "on": "h100" if "NVLink" in mesh else "tpu-v5p",
                "compute": "bf16",
            }
        else:
            other = draw.choice(("bf16", "fp32", "int8"))
            text = draw.choice(
                (
                    "bf16[B, D] * {0}[D, F] -> {0}[B, F]",
                    "bf16[B, D] * {0}[D] -> bf16[B]",
                    "bf16[N, B, D] * {0}[N, D, F] -> bf16[N, B, F]",
                )
            )
            options = {
                "operation": text.format(other),
                "on": draw.choice(("tpu-v5e", "h100", "tpu-v5p")),
                "compute": "bf16",
                "count": draw.choice(("fma", "exact")),
            }
        try:
            read += read_back(options, draw.choice(FORMS), draw.choice(LANGUAGES))
        except ModelError:
            continue
    assert read > 3


ON_MESHES = ("data-parallel", "fsdp", "megatron", "fsdp-megatron", "expert-parallel", "weight-stationary")
PROGRAMS_OF_THE_LIBRARY = (
    "mlp",
    "gated-mlp",
    "attention",
    "attention-decode",
    "convolution",
    "quantized-matmul",
    "tiled-matmul",
    *ON_MESHES,
)


@pytest.mark.thorough
@pytest.mark.parametrize("chip", ["h100", "tpu-v5p"])
@pytest.mark.parametrize("name", PROGRAMS_OF_THE_LIBRARY)
def test_a_condition_of_a_program_of_the_library_holds(name, chip):
    """Forward and in training, in a format and a language drawn by the name."""
    draw, read = random.Random(f"{name} {chip}"), 0
    for training in ({}, {"training": True}):
        try:
            read += read_back({"operation": name, "on": chip, **training}, draw.choice(FORMS), draw.choice(LANGUAGES))
        except ModelError:
            continue
    assert read


OPEN = (
    "mesh X on ICI; input x: bf16[B, D_X]; weight W: bf16[D_X, E]; y = x*W -> bf16[B, E]",
    "mesh X, Y on ICI; input x: bf16[B_X, D_Y]; weight W: bf16[D_Y, E]; y = x*W -> bf16[B_X, E]",
    "mesh X on ICI; mesh Y on DCN; input x: bf16[B_Y, D]; weight W: bf16[D, F_X]; weight U: bf16[F_X, E]; h = x*W -> bf16[B_Y, F_X]; y = h*U -> bf16[B_Y, E]",
)


@pytest.mark.thorough
@pytest.mark.part(1)
@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("chip", [None, "tpu-v5p"])
@pytest.mark.parametrize("size", [None, "B", "D", "E", "X", "F"])
@pytest.mark.parametrize("operation", OPEN)
def test_a_condition_of_axes_without_a_number_holds(operation, size, chip, training):
    """Solved for whatever it has, on a chip and on none, where the links are names."""
    given = {
        "on": chip,
        "solve_for": size if size is None or f"{size}" in operation.partition("input")[2] else None,
        "training": training,
    }
    options = {"operation": operation, **{key: value for key, value in given.items() if value}}
    assert read_back(options, "txt", "en")


@pytest.mark.thorough
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("lang", LANGUAGES)
def test_a_condition_of_a_comparison_holds(lang, form):
    """Of each chip with each dtype, under the regime and at the sizes."""
    answer, read = sr.compare(MATMUL, on="tpu-v5e, h100, v100", dtypes="bf16, int8", assume=REGIME, at="D=F=8192"), 0
    for chip, dtype, condition in compared(printed(answer, form, lang), form, lang, REGIME):
        problem = {"operation": MATMUL.replace("bf16", dtype), "hardware": chip.lower().replace(" ", "-")}
        read += held(problem, [condition], form, lang)
    assert read == 16  # four rows with figures; a threshold and the smallest size in each, twice


@pytest.mark.thorough
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize(
    "operation",
    [
        MATMUL,
        "bf16[B, D] * bf16[D] -> bf16[B]",
        "fp32[B, D] * fp32[D, F] -> bf16[B, F]",
        "bf16[T, H] * bf16[S, H] -> bf16[T, S]",
    ],
)
def test_a_condition_of_a_regime_holds_in_it(operation, lang, form):
    options = {"operation": operation, "hardware": "tpu-v5e", "compute": "bf16"}
    answer = sr.regimes(operation, on="tpu-v5e", compute="bf16")
    assert held(options, by_regime(printed(answer, form, lang), form), form, lang) >= 3


def recorded(answer):
    """The conditions of a record, against which time each: that of all resources at once and that of each, with its guard."""
    for resource, found in {"comms": answer["threshold"], **(answer.get("thresholds") or {})}.items():
        if found is not None and not (resource == "comms" and answer.get("thresholds")):
            word = found["outcome"].split()[0]
            yield resource, " and ".join(filter(None, (found["exact"], found["guard"]))) if word == "depends" else word
    if answer.get("condition"):
        yield "comms", answer["condition"]


@pytest.mark.part(4)
@pytest.mark.parametrize("name", [name for name in PROBLEMS if "on" in PROBLEMS[name]])
def test_a_condition_of_a_record_is_exact(name):
    problem, read = problem_of(PROBLEMS[name]), 0
    for resource, told in recorded(sr.derive(**PROBLEMS[name]).to_dict()["answer"]):
        time = f"T_{resource}"
        claim = {"always": f"T_math > {time}", "never": f"T_math < {time}"}.get(told, f"T_math > {time} <=> {told}")
        (judgement,) = sr.verify({**problem, "claims": [claim]}).judgements
        assert judgement.verdict == "holds", claim
        read += 1
    assert read


def marks(figure, lang):
    """The whole numbers from which on a figure calls something compute-bound: at the sizes, or under the regime, beside them."""
    canvas = draw(figure.drawing, 7.2, lang)
    canvas.drawn("svg", 900)
    for text in [*canvas.axes.texts, *canvas.sheet.texts]:
        label = " ".join(text.get_text().split())
        if found := re.search(r"\b([A-Z]) ≥ (\d+)", label):
            rest = label.replace(found[0], " ")
            yield (
                f"{found[1]} >= {found[2]}",
                (found[1] if "≫" in rest else ""),
                (sizes[0] if (sizes := SIZES.search(rest)) else ""),
            )
        elif (
            (found := re.search(r"\b([A-Z]) = (\d+)(?:부터| 起|$)", label))
            and "≥" not in label
            and "·" not in label
            and "*" not in label
        ):
            yield f"{found[1]} >= {found[2]}", "", ""


@pytest.mark.thorough
@pytest.mark.part(1)
@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("part", range(3))
def test_a_threshold_of_a_figure_is_the_smallest_whole_size(part, lang):
    draw_from, read = random.Random(f"{part} {lang}"), 0
    for _ in range(4):
        other, chip = draw_from.choice(("bf16", "int8", "fp32")), draw_from.choice(("tpu-v5e", "h100", "tpu-v6e"))
        problem = {
            "operation": f"bf16[B, D] * {other}[D, F] -> bf16[B, F]",
            "hardware": chip,
            "compute": "bf16",
            "count": "fma",
        }
        sizes = [f"D = F = {draw_from.randint(12, 90) * 100}" for _ in range(2)]
        for kind, at in (("times", sizes[:1]), ("throughput", sizes)):
            figure = sr.plot(
                problem["operation"],
                on=chip,
                compute="bf16",
                kind=kind,
                over="B=1..3000",
                at=[size.replace(" ", "") for size in at],
            )
            for said, small, where in marks(figure, lang):
                told = f" assuming {small} << D, F" if small else f" at {where or at[0]}"
                name, _, least = said.split()
                (right,) = sr.verify({**problem, "claims": [f"T_math > T_comms <=> {said}{told}"]}).judgements
                assert right.verdict in ("holds", "rounded"), (problem, said, told)
                if small:  # under the regime only the operand that does not grow with it is read: w bytes for 2 FLOPs
                    ridge = Fraction(
                        sr.derive(**{"on" if k == "hardware" else k: v for k, v in problem.items()}).answer.ridge
                    )
                    assert int(least) == floor(ridge * BYTES[other] / 2) + 1, (problem, said)
                else:
                    (none,) = sr.verify(
                        {**problem, "claims": [f"T_math <= T_comms at {name} = {int(least) - 1}, {where or at[0]}"]}
                    ).judgements
                    assert none.verdict == "holds", (problem, said)
                read += 1
    assert read >= 12
