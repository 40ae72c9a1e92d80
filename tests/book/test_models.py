"""Published models, derived from programs, against the lists of tensors that their authors publish.

Each list below is that of the checkpoint: a name, and a shape, in the order of the files on Hugging Face. Sizes: LLaMA-2
13B (arXiv:2307.09288), LLaMA-3 70B and 405B (arXiv:2407.21783, table 3), Gemma 2B and 7B (arXiv:2403.08295, tables 1
and 2), Mixtral 8x7B (arXiv:2401.04088, table 1), DeepSeek-V3 (arXiv:2412.19437, section 4.2, and its config.json).
"""

from collections.abc import Iterator
from fractions import Fraction
from math import ceil, prod
from pathlib import Path

import pytest

import symroof as sr
from symroof.formula import Name, names
from symroof.reading.problems import read_problem_file
from symroof.symbols import expression

pytestmark = pytest.mark.part(3)

TITLES = ("LLaMA-2 13B", "LLaMA-3 70B", "LLaMA-3 405B", "Gemma 2B", "Gemma 7B", "Mixtral 8x7B", "DeepSeek-V3")
PROBLEMS = {p["title"].partition(": ")[2]: p for p in read_problem_file(Path(__file__).parent / "answers_models.toml")}


def llama(layers, width, hidden, heads, groups, head, vocabulary, tied=False, experts=1):
    """The tensors of a decoder with grouped queries and gated MLPs, or with experts behind a router."""
    yield "embed_tokens", (vocabulary, width)
    for i in range(layers):
        yield f"{i}.q_proj", (heads * head, width)
        yield f"{i}.k_proj", (groups * head, width)
        yield f"{i}.v_proj", (groups * head, width)
        yield f"{i}.o_proj", (width, heads * head)
        if experts > 1:
            yield f"{i}.gate", (experts, width)
        for j in range(experts):
            yield f"{i}.{j}.gate_proj", (hidden, width)
            yield f"{i}.{j}.up_proj", (hidden, width)
            yield f"{i}.{j}.down_proj", (width, hidden)
        yield f"{i}.input_layernorm", (width,)
        yield f"{i}.post_attention_layernorm", (width,)
    yield "norm", (width,)
    if not tied:
        yield "lm_head", (vocabulary, width)


def deepseek() -> Iterator[tuple[str, tuple[int, ...]]]:
    """The tensors of DeepSeek-V3 without the module that predicts a second token."""
    width, vocabulary, heads, hidden = 7168, 129280, 128, {False: 18432, True: 2048}
    yield "embed_tokens", (vocabulary, width)
    for i in range(61):
        yield f"{i}.q_a_proj", (1536, width)
        yield f"{i}.q_a_layernorm", (1536,)
        yield f"{i}.q_b_proj", (heads * (128 + 64), 1536)
        yield f"{i}.kv_a_proj_with_mqa", (512 + 64, width)
        yield f"{i}.kv_a_layernorm", (512,)
        yield f"{i}.kv_b_proj", (heads * (128 + 128), 512)
        yield f"{i}.o_proj", (width, heads * 128)
        sparse = i >= 3
        if sparse:
            yield f"{i}.gate", (256, width)
            yield f"{i}.gate.e_score_correction_bias", (256,)
        for j in range(256 + 1 if sparse else 1):
            yield f"{i}.{j}.gate_proj", (hidden[sparse], width)
            yield f"{i}.{j}.up_proj", (hidden[sparse], width)
            yield f"{i}.{j}.down_proj", (width, hidden[sparse])
        yield f"{i}.input_layernorm", (width,)
        yield f"{i}.post_attention_layernorm", (width,)
    yield "norm", (width,)
    yield "lm_head", (vocabulary, width)


CHECKPOINTS = {
    "LLaMA-2 13B": dict(llama(40, 5120, 13824, 40, 40, 128, 32000)),
    "LLaMA-3 70B": dict(llama(80, 8192, 28672, 64, 8, 128, 128256)),
    "LLaMA-3 405B": dict(llama(126, 16384, 53248, 128, 8, 128, 128256)),
    "Gemma 2B": dict(llama(18, 2048, 16384, 8, 1, 256, 256128, tied=True)),
    "Gemma 7B": dict(llama(28, 3072, 24576, 16, 16, 256, 256128, tied=True)),
    "Mixtral 8x7B": dict(llama(32, 4096, 14336, 32, 8, 128, 32000, experts=8)),
    "DeepSeek-V3": dict(deepseek()),
}
PUBLISHED = dict(
    zip(TITLES, ("13.0", "70.6", "405.9", "2.5", "8.5", "46.7", "671"), strict=True)
)  # in print, in billions


@pytest.fixture(scope="module")
def derivations():
    keep = ("operation", "hardware")
    return {title: sr.derive(**{"on" if k == "hardware" else k: PROBLEMS[title][k] for k in keep}) for title in TITLES}


def derived(derivation, name):
    """The value of a quantity in sizes, from the last step that says so: one that the second engine has decided."""
    said = [step for step in derivation.steps if step.left == Name(name) and step.relation == "="]
    step = [step for step in said if set(names(step.right)) <= {"B", "S"}][-1]
    assert step.check.status == "proved"
    return expression(step.right)


@pytest.mark.thorough
@pytest.mark.part(1)
@pytest.mark.parametrize("title", TITLES)
def test_parameters_are_those_of_the_checkpoint(derivations, title):
    elements = sum(map(prod, CHECKPOINTS[title].values()))
    assert derived(derivations[title], "params") == elements
    digits = PUBLISHED[title]
    places = len(digits.partition(".")[2])
    assert round(elements / 10**9, places) == float(digits)


@pytest.mark.thorough
@pytest.mark.parametrize(("title", "chip", "layers"), [("LLaMA-3 70B", "h200", 80), ("Mixtral 8x7B", "h100", 32)])
def test_how_many_sequences_fit(title, chip, layers):
    """Sequences of 8192 tokens beside the weights on eight chips, counted one by one: 8 heads of 128."""
    taken = 2 * sum(map(prod, CHECKPOINTS[title].values()))
    sequences = 0
    while (taken := taken + layers * 2 * 8 * 128 * 8192 * 2) <= 8 * CAPACITIES[chip] * 10**9:
        sequences += 1
    asked = {"solve": "weights + caches <= 8*capacity.HBM", "solve_for": "B"}
    text = PROBLEMS[title]["operation"].replace("where  ", "where  S = 8192, ")
    solution = sr.derive(text, on=chip, **asked).to_dict()["answer"]["solution"]
    assert solution["exact"].startswith("B <= ")
    assert solution["largest_integer"] == sequences


def expert(name):
    """The number of the expert that a tensor belongs to; 0 for what every token meets."""
    parts = name.split(".")
    return int(parts[1]) if len(parts) == 3 and parts[1].isdigit() else 0


@pytest.mark.thorough
@pytest.mark.parametrize("title", TITLES)
def test_every_matrix_that_a_token_meets_is_multiplied_once(derivations, title):
    """FLOPs are 2 for each entry of a matrix and token, and those of attention with what is cached. Of the table of
    embeddings rows are looked up; where it is the output's too it is multiplied there."""
    experts = {"Mixtral 8x7B": 2, "DeepSeek-V3": 8 + 1}.get(title, 1)
    tensors = {name: shape for name, shape in CHECKPOINTS[title].items() if expert(name) < experts}
    looked_up = "embed_tokens" if "lm_head" in tensors else None
    matrices = sum(prod(shape) for name, shape in tensors.items() if len(shape) == 2 and name != looked_up)
    queries = sum(shape[0] for name, shape in tensors.items() if name.endswith("q_proj"))
    attention = 61 * 128 * (2 * (512 + 64) + 2 * 512) if title == "DeepSeek-V3" else 4 * queries
    B, S = sr.dimensions("B S")
    assert (derived(derivations[title], "flops") - (2 * B * matrices + B * S * attention)).expand() == 0


@pytest.mark.thorough
@pytest.mark.parametrize("title", TITLES)
def test_caches_of_one_token(derivations, title):
    """Two bytes for each number that the checkpoint makes of a token for its keys and values, in all layers."""
    made = ("k_proj", "v_proj", "kv_a_proj_with_mqa")
    rows = sum(shape[0] for name, shape in CHECKPOINTS[title].items() if name.endswith(made))
    B, S = sr.dimensions("B S")
    assert derived(derivations[title], "caches") == 2 * rows * B * S


CAPACITIES = {"tpu-v5e": 16, "tpu-v5p": 96, "h100": 80, "h200": 141}
CHIPS = ("tpu-v5e", "tpu-v5p", "h100", "tpu-v5e", "tpu-v5e", "h100", "h200")
HELD = list(zip(TITLES, CHIPS, (2, 2, 11, 1, 2, 2, 10), strict=True))


@pytest.mark.parametrize(("title", "chip", "chips"), HELD)
def test_chips_that_hold_the_weights(derivations, title, chip, chips):
    """Capacities in GB, as the makers print them; weights in bf16."""
    weights = Fraction(int(derived(derivations[title], "weights")))
    assert ceil(weights / (CAPACITIES[chip] * 10**9)) == chips
    claims = [f"ceil(weights/capacity.HBM) = {chips}", {"claim": f"{chips} capacity.HBM < weights", "expect": "wrong"}]
    report = sr.verify({**PROBLEMS[title], "hardware": chip, "claims": claims})
    assert all(judgement.good for judgement in report.judgements)
