"""Configurations of models: the parameters are those that are published where a decoder of the library has everything, and else it is
said what it has not. Published numbers are those that the model hubs show (the sum of the elements of all tensors)."""

import json
import re
from pathlib import Path

import pytest

import symroof as sr
from symroof.errors import ReadingError
from symroof.reading.configurations import read_configuration
from symroof.reading.problems import read_problem

SIZES = "hidden_size intermediate_size num_attention_heads num_key_value_heads num_hidden_layers vocab_size"
LLAMA = {"model_type": "llama", "hidden_act": "silu", "torch_dtype": "bfloat16", "tie_word_embeddings": False}


def config(model_type, *sizes, **more):
    """A configuration with its sizes under the names that most families have; what is not said is as in a LLaMA."""
    return {**LLAMA, "model_type": model_type, **dict(zip(SIZES.split(), sizes, strict=True)), **more}


TIED = {"tie_word_embeddings": True}
PUBLISHED = {
    "llama-2-7b": (config("llama", 4096, 11008, 32, 32, 32, 32000, torch_dtype="float16"), 6_738_415_616),
    "llama-2-70b": (config("llama", 8192, 28672, 64, 8, 80, 32000), 68_976_648_192),
    "llama-3-8b": (
        config("llama", 4096, 14336, 32, 8, 32, 128256, attention_bias=False, rope_theta=5e5),
        8_030_261_248,
    ),
    "llama-3-70b": (config("llama", 8192, 28672, 64, 8, 80, 128256), 70_553_706_496),
    "llama-3.2-1b": (config("llama", 2048, 8192, 32, 8, 16, 128256, head_dim=64, **TIED), 1_235_814_400),
    "mistral-7b-v0.3": (config("mistral", 4096, 14336, 32, 8, 32, 32768, sliding_window=None), 7_248_023_552),
}
QWEN = config("qwen2", 3584, 18944, 28, 4, 28, 152064, sliding_window=131072, use_sliding_window=False)
MIXTRAL = config("mixtral", 4096, 14336, 32, 8, 32, 32000, num_local_experts=8, num_experts_per_tok=2)
GEMMA = config("gemma", 3072, 24576, 16, 16, 28, 256000, head_dim=256, hidden_act="gelu", tie_word_embeddings=True)
PHI = config("phi", 2560, 10240, 32, 32, 32, 51200, hidden_act="gelu_new", partial_rotary_factor=0.4)
EXPERTS = {"moe_intermediate_size": 2048, "n_routed_experts": 256, "num_experts_per_tok": 8, "n_shared_experts": 1}
LATENT = {"first_k_dense_replace": 3, "kv_lora_rank": 512, "q_lora_rank": 1536}
DEEPSEEK = config("deepseek_v3", 7168, 18432, 128, 128, 61, 129280, **EXPERTS, **LATENT)
HEADS, LAYERS = "num_attention_heads", "num_hidden_layers"
PARALLEL = {"multi_query": True, "parallel_attn": True, "bias": False, "alibi": False}
FALCON = {"model_type": "falcon", "hidden_size": 4544, HEADS: 71, LAYERS: 32, "vocab_size": 65024, **PARALLEL}
BERT = {"hidden_act": "gelu", "hidden_size": 768, "intermediate_size": 3072, HEADS: 12, LAYERS: 12}
VIT = BERT | {"model_type": "vit", "image_size": 224, "patch_size": 16, "qkv_bias": True}
GPT2 = {"model_type": "gpt2", "n_embd": 768, "n_head": 12, "n_layer": 12, "n_positions": 1024, "vocab_size": 50257}
OPT = {"model_type": "opt", "hidden_size": 768, "ffn_dim": 3072, HEADS: 12, LAYERS: 12, "vocab_size": 50272}
T5 = {
    "model_type": "t5",
    "d_model": 512,
    "d_ff": 2048,
    "d_kv": 64,
    "num_heads": 8,
    "num_layers": 6,
    "num_decoder_layers": 6,
}
T5 |= {"vocab_size": 32128, "is_encoder_decoder": True}
MISTRAL = config("mistral", 4096, 14336, 32, 8, 32, 32000, sliding_window=4096)
# A configuration, its parameters, and something of it that is named; the parameters are equal where that does not change them.
OTHERS = {
    "mistral-7b-v0.1": (MISTRAL, 7_241_732_096, "sliding_window = 4096", True),
    "gemma-7b": (GEMMA, 8_537_680_896, "hidden_act = gelu", True),
    "mixtral-8x7b": (MIXTRAL, 46_702_792_704, "experts = 8", False),
    "qwen2-7b": (QWEN, 7_615_616_512, "bias = q, k, v", False),
    "phi-2": (PHI, 2_779_683_840, "norm = layer_norm with a shift", False),
    "deepseek-v3": (DEEPSEEK, 671_026_419_200, "attention = latent", False),
    "gpt2": (GPT2, 124_439_808, "positions = learned", False),
    "opt-125m": (OPT, 125_239_296, "mlp = two products, relu", False),
    "falcon-7b": (FALCON, 6_921_720_704, "parallel_attn = true", False),
    "vit-base": (VIT, 86_389_248, "input = patches", False),
    "bert-base": (BERT | {"model_type": "bert", "vocab_size": 30522}, 109_482_240, "mask = none", False),
    "t5-small": (T5, 60_506_624, "decoder = with attention to an encoder", False),
}


@pytest.fixture
def written(tmp_path):
    def write(table, name="config.json"):
        path = tmp_path / name
        path.write_text(table if isinstance(table, str) else json.dumps(table), "utf-8")
        return str(path)

    return write


@pytest.mark.thorough
@pytest.mark.part(1)
@pytest.mark.parametrize("name", PUBLISHED)
def test_parameters_are_those_that_are_published(name, written):
    table, parameters = PUBLISHED[name]
    d = sr.derive("decoder", config=written(table), on="h100", at="B=1,T=128")
    assert d.value("params") == parameters
    assert d.setting.problem.unmodelled == ()
    assert "not derived here" not in d.to_text()
    assert d.value("weights") == 2 * parameters


@pytest.mark.thorough
@pytest.mark.part(1)
@pytest.mark.parametrize("name", OTHERS)
def test_what_is_not_modelled_is_named(name, written):
    table, parameters, missing, same = OTHERS[name]
    at = "B=1,T=128" if "vocab_size" in table else "B=1,T=128,V=1000"
    d = sr.derive("decoder", config=written(table), on="h100", at=at)
    assert missing in d.setting.problem.unmodelled
    assert (d.value("params") == parameters) == same
    for brief in (False, True):
        assert missing in " ".join(d.to_text(brief=brief).split())
    for lang in ("ko", "zh") if name == "gpt2" else ():
        assert missing in d.to_markdown(lang=lang)


def test_a_size_that_a_file_does_not_say_is_asked_for(written):
    table = {key: value for key, value in PUBLISHED["llama-3-8b"][0].items() if key != "intermediate_size"}
    with pytest.raises(ReadingError, match="the file does not say F") as caught:
        sr.derive("decoder", config=written(table), on="h100", at="B=1,T=8")
    assert "intermediate_size" in str(caught.value)
    assert 'at="F=…"' in str(caught.value)


@pytest.mark.thorough
def test_sizes_are_put_in_beside_others(written):
    path = written(PUBLISHED["llama-3-8b"][0])
    said = sr.derive("decode-step", config=path, on="h100", at=["B=1,S=8192", "B=64,S=8192"])
    sizes = {"D": 4096, "F": 14336, "L": 32, "V": 128256, "K": 8, "G": 4, "H": 128, "S": 8192}
    for at, batch in zip(said.setting.problem.at, (1, 64), strict=True):
        assert at == {**sizes, "B": batch}
    by_hand = sr.derive("decode-step", on="h100", at=[{**sizes, "B": 1}, {**sizes, "B": 64}])
    for name in ("T_lower", "bytes", "tokens_per_second"):
        one, other = ([p.number(f"number {name}") for p in d.answer.at] for d in (said, by_hand))
        assert one == other


def test_an_operation_takes_the_sizes_that_it_has(written):
    path = written(OTHERS["mixtral-8x7b"][0])
    d = sr.derive("moe", config=path, on="h100", at="B=4096")
    assert d.value("params") == 3 * 8 * 4096 * 14336
    assert d.setting.problem.unmodelled == ()
    product = sr.derive("bf16[B, D] * bf16[D, F] -> bf16[B, F]", config=path, on="h100", at="B=16")
    assert product.value("flops") == 2 * 16 * 4096 * 14336


def test_one_matrix_for_both_ends_is_one(written):
    problem = read_problem({"operation": "decoder", "config": written(PUBLISHED["llama-3.2-1b"][0])})
    assert "* We ->" in str(problem.operation)
    assert "Wu" not in str(problem.operation)


def test_types_are_taken_and_may_be_said(written):
    path = written(PUBLISHED["llama-2-7b"][0])
    for more, name in (({}, "fp16"), ({"dtype": "bf16"}, "bf16")):
        problem = read_problem({"operation": "decoder", "config": path, **more})
        assert problem.operation.arrays["Wq"].dtype.name == name


def test_the_command_line_and_a_file_say_the_same(written, run, tmp_path):
    path = written(PUBLISHED["llama-3-70b"][0])
    asked = ("derive", "mlp", "--config", path, "--value", "params", "--at", "B=1")
    assert run(*asked).out == "469.8e6\n"
    problem = tmp_path / "problem.toml"
    problem.write_text('operation = "mlp"\nconfig = "config.json"\nat = "B=1"\n', "utf-8")
    assert run("derive", str(problem), "--value", "params").out == run(*asked).out
    problem.write_text(f'operation = "mlp"\nconfig = "../{tmp_path.name}/../x.json"\n', "utf-8")
    assert "not in the folder" in run("derive", str(problem)).err
    named, by_path = (sr.derive("mlp", config=kind(path), at="B=1").to_json() for kind in (str, Path))
    assert named == by_path
    shown = run("operations", "decoder", "--config", path).out
    assert "repeat L as x = z" in shown
    assert "# D = 8192" in shown


OF_TWO = {"num_hidden_layers": 2}
NONE = [
    ("{", "the file is not JSON"),
    ("[1]", "no table of keys"),
    ({"model_type": "llama"}, "no size of a model"),
    ({"hidden_size": "big", **OF_TWO}, 'hidden_size = "big" is no size'),
    ({"hidden_size": -1, **OF_TWO}, "hidden_size = -1 is no size"),
    ({"hidden_size": True, **OF_TWO}, "hidden_size = true is no size"),
    ({"hidden_size": 10, HEADS: 3, **OF_TWO}, "no multiple of 3 heads"),
    ({"hidden_size": 12, HEADS: 4, "num_key_value_heads": 3, **OF_TWO}, "no multiple of 3 heads of keys"),
    ("[" * 100_000, "the file is not JSON"),
]


@pytest.mark.parametrize(("table", "said"), NONE)
def test_what_is_no_configuration_is_said(table, said, written):
    with pytest.raises(ReadingError) as caught:
        sr.derive("decoder", config=written(table))
    assert said in str(caught.value)
    with pytest.raises(ReadingError, match="cannot be read"):
        sr.derive("decoder", config="nothing/here.json")


def test_what_a_file_says_is_text(written):
    """Words of a configuration come to a page without marks that a page has."""
    words = {"hidden_act": "<script>alert(1)</script>`$x$`" * 9, "model_type": "$\\evil{x}$"}
    found = read_configuration(Path(written({**PUBLISHED["llama-3-8b"][0], **words})))
    assert re.fullmatch(r"[A-Za-z0-9_.,:+ =-]*", "".join(found.unmodelled))
