"""What people type wrong, and what they are told: the fault, and what to type instead, where something is near."""

from pathlib import Path

import pytest

import symroof as sr
from symroof.errors import SymroofError

DECODE = str(Path(__file__).parent.parent / "examples" / "decode.toml")
FOLDER = str(Path(DECODE).parent)
MATMUL = "bf16[B, D] * bf16[D, F] -> bf16[B, F]"
DECLARED = "input x: bf16[B, D]; weight W: bf16[D, F]; "
TYPED = [
    (("derive", "matmul", "--on", "h10"), "did you mean h100-sxm?"),
    (("derive", "matmul", "--on", "tpuv5e"), "did you mean tpu-v5e?"),
    (("derive", "matmul", "--on", "tpu-v5"), "did you mean tpu-v5"),
    (("derive", "matmul", "--hardware", "h100"), "did you mean --on?"),
    (("derive", "matmul", "--chip", "h100"), "did you mean --on?"),
    (("derive", "matmul", "--gpu", "h100"), "did you mean --on?"),
    (("derive", "matmul", "--sizes", "B=5"), "did you mean --at?"),
    (("sweep", "matmul", "--over", "B=1..4"), "did you mean --grid?"),
    (("compare", "matmul", "--value", "T"), "there is no option --value\n"),
    (("derive", "matmul", "--regime", "B << D"), "did you mean --assume?"),
    (("derive", "matmul", "--solve-for", "B"), "did you mean --for?"),
    (("derive", "matmul", "--json"), "did you mean --format?"),
    (("derive", "matmul", "--breif"), "--brief"),
    (("derive", "matmul", "--trainng"), "--training"),
    (("derive", "spmv"), "given by its costs: flops, reads and writes"),
    (("derive", "atention"), "did you mean attention?"),
    (("derive", "softmx"), "did you mean softmax?"),
    (("derive", "mat-mul"), "did you mean matmul?"),
    (("deriv", "matmul"), "did you mean derive?"),
    (("verfy", "a.md"), "did you mean verify?"),
    (("plt", "matmul"), "did you mean plot?"),
    (("help", "program"), "did you mean programs?"),
    (("derive", "README.md"), "symroof build README.md"),
    (("derive", "paper.tex"), "symroof verify paper.tex"),
    (("derive", MATMUL.replace("bf16[D", "bf17[D")), "did you mean bf16?"),
    (("derive", MATMUL, "--at", "b=5"), "did you mean B?"),
    (("derive", MATMUL, "--at", "B=5,D"), "the text ends too early"),
    (("derive", MATMUL, "--at", "B=0"), "a number from 1"),
    (("derive", MATMUL, "--at", "B=-5"), "expected a number"),
    (("derive", MATMUL, "--at", "B:5"), "expected '='"),
    (("derive", MATMUL, "--for", "b"), "did you mean B?"),
    (("derive", MATMUL, "--assume", "B < < D"), "expected <<, >>, ->"),
    (("derive", MATMUL, "--count", "exct"), "did you mean exact?"),
    (("derive", MATMUL, "--on", "h100", "--compute", "fp61"), "did you mean fp16?"),
    (("derive", MATMUL, "--on", "h100", "--link", "NVLnk"), "NVLink"),
    (("derive", MATMUL, "--on", "h100", "--given", "HMB=8e11"), "HBM"),
    (("derive", MATMUL, "--section", "treshold"), "did you mean threshold?"),
    (("derive", MATMUL, "--value", "treshold"), "did you mean threshold?"),
    (("derive", MATMUL, "--value", "T_lowr", "--at", "B=D=F=8"), "did you mean T_lower?"),
    (("derive", MATMUL, "--on", "h100", "--value", "T_lower", "--at", "B=D=F=8", "--unit", "mss"), "a unit such as ms"),
    (("derive", MATMUL, "--lang", "jp"), "expected one of en, ko, zh"),
    (("derive", "decode-step", "--statement", "logit"), "did you mean logits?"),
    (("derive", MATMUL, "--let", "x"), "NAME=VALUE"),
    (("derive", MATMUL, "--given", "HBM="), "NAME=VALUE"),
    (("derive", MATMUL, "--given", "=3e12"), "NAME=VALUE"),
    (("derive", MATMUL, "--mesh", "X=2"), "write D_X"),
    (("derive", "bf16[B,", "D]", "*", "bf16[D,", "F]"), "quotes"),
    (("compare", "matmul"), "--on tpu-v5e,h100"),
    (("sweep", "matmul", "--grid", "B=1:8", "--of", "T_lowr", "-o", "out.csv"), "T_lower"),
    (("derive", "matmul", "--on", "h1000"), "did you mean h100-sxm?"),
    (("derive", "matmul", "--on", "b201"), "did you mean b200?"),
    (("derive", "decode-step", "--at", "B=64", "S=8192"), "joined by commas, without spaces: …,S=8192"),
    (("derive", "bf16[B, D] * bf16[E, F] -> bf16[B, F]"), "is E the same size as D?"),
    (("derive", MATMUL, "--brief", "--section", "solution"), "one of work, traffic"),
    (("derive", "mlp", "--value", "T_HMB"), "did you mean T_HBM?"),
    (("derive", "mlp", "--on", "h100", "--at", "B=D=F=8", "--value", "T_lower", "--unit", "GB"), "T_lower is in s"),
    (("derive", DECODE, "--on", "tpu-v5e"), "write the mesh on ICI or DCN"),
    (("derive", DECODE, "--mesh", "Y=4"), 'write "mesh Y" in the program'),
    (("derive", MATMUL, "--at", "B=1024", "D=4096"), "without spaces: …,D=4096"),
    (("derive", MATMUL, "--assume", "B"), 'put the regime in quotes, "B << D"'),
    (("derive", MATMUL, "--on", "h100", "--given", "bandwidth=3.35e12"), "did you mean HBM?"),
    (("derive", MATMUL.replace("bf16", "tf32")), "tf32 is how fp32 is multiplied"),
    (("derive", f"{DECLARED}y = matmul(x, W)"), "y = x * W -> bf16[B, F]"),
    (("derive", f"{DECLARED}y = x * W -> bf16[B, F]".removeprefix("input ")), "did you mean input x: …"),
    (("derive", MATMUL, "--on", "h100,tpu-v5e"), "symroof compare puts chips side by side"),
    (("derive", 'einsum("bd,df->bf")'), "say --dtype bf16"),
    (("derive", MATMUL, "--at", "B=1k"), "1k is 1000 or 1024"),
    (("derive", "decode-step", "--tp", "8"), "expected megatron or fsdp-megatron"),
    (("compare", "matmul", "--on", "h100", "tpu-v5p"), "without spaces: …,tpu-v5p"),
    (("verify", FOLDER), f"name its files: {FOLDER}/*.md"),
]
SCRIPTS = [
    ({"operation": "matmul", "on": "qqq9"}, 'given={"peak": "…", "HBM": "…"}, or chips="FILE"'),
    ({"operation": "bd,df->bf"}, 'say dtype="bf16"'),
    ({"operation": "megatron", "on": "tpu-v5p", "mesh": "Y=48", "at": "B=8,D=8,F=8"}, "pad=True takes the next"),
]
NO_NAMES = [("derive", "zzzzqq"), ("derive", "matmul", "--on", "qqq9"), ("zzzzqq",)]


def test_there_are_enough():
    assert len(TYPED) >= 40


@pytest.mark.parametrize(("words", "told"), TYPED, ids=[" ".join(words)[-40:] for words, _ in TYPED])
def test_a_mistake_is_told(run, words, told, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run(*words)
    assert done.code == 2
    assert told in done.err
    assert "Traceback" not in done.err


UNDERSTOOD = [
    (("derive", MATMUL, "--on", "h100", "--given", "HBM=3.35e12 B/s"), ("derive", MATMUL, "--on", "h100"), ""),
    (("derive", MATMUL, "--on", "h100", "--given", "HBM=3350"), (), "HBM is 3350 bytes/s here: or is it 3350 GB/s?"),
    (("derive", 'np.einsum("bd,df->bf", x, W)', "--dtype", "int8"), ("derive", "bd,df->bf", "--dtype", "int8"), ""),
    (("derive", "megatron", "--tp", "4"), ("derive", "megatron", "--mesh", "Y=4"), ""),
    (("derive", "fsdp-megatron", "--tp", "4", "--fsdp", "8"), ("derive", "fsdp-megatron", "--mesh", "Y=4,X=8"), ""),
    (("derive", "data-parallel", "--dp", "8"), ("derive", "data-parallel", "--mesh", "X=8"), ""),
]


@pytest.mark.parametrize(
    ("words", "meant", "said"), UNDERSTOOD, ids=[" ".join(words)[-40:] for words, *_ in UNDERSTOOD]
)
def test_what_is_meant_is_answered(run, words, meant, said):
    """As what it stands for; and where that is in doubt, a question stands beside the answer."""
    done = run(*words, "--value", "intensity,flops")
    assert done.code == 0
    assert said in done.err
    assert not meant or done.out == run(*meant, "--value", "intensity", "--value", "flops").out


@pytest.mark.parametrize(("options", "told"), SCRIPTS, ids=str)
def test_an_error_in_a_script_speaks_of_keywords(options, told):
    """A command line is told of its flags, and a script of what it can give."""
    with pytest.raises(SymroofError) as error:
        sr.derive(**options)
    assert told in str(error.value)
    assert "--" not in str(error.value)


@pytest.mark.parametrize("words", NO_NAMES)
def test_nothing_is_offered_where_nothing_is_near(run, words):
    done = run(*words)
    assert (done.code, "did you mean" in done.err) == (2, False)


@pytest.mark.parametrize("words", [(MATMUL, "--brief"), ("matmul", "--brief"), ("gemm", "--on", "h100", "--brief")])
def test_an_operation_without_a_verb_is_derived(run, words):
    assert run(*words).out == run("derive", *words).out != ""


DOCUMENT = """# A document

<!-- symroof derive
operation = "bf17[B] * bf16[B] -> bf16[]"
-->
<!-- symroof end -->

text <!-- symroof = nothing.ridge --><!-- / -->

<!-- symroof derive
operation = "matmul"
on = "h100"
-->
<!-- symroof end -->

<!-- symroof derve
operation = "matmul"
-->
<!-- symroof end -->
"""
FAULTS = (
    ":3: unknown dtype 'bf17'",
    ":8: unknown name 'nothing'",
    "unknown key 'on'",
    "did you mean hardware?",
    ":16: a block cannot 'derve'",
    "did you mean derive?",
)


def test_every_fault_of_a_document_is_told_at_once(run, tmp_path):
    """By the command that writes it and by the one that judges it."""
    document = tmp_path / "page.md"
    document.write_text(DOCUMENT)
    for words in (("build", "--check"), ("verify",)):
        done = run(*words, str(document))
        said = " ".join((done.out + done.err).split())
        assert [fault for fault in FAULTS if fault not in said] == []
    assert f"{document}:3:1 " in said  # a block begins its line
    assert document.read_text() == DOCUMENT


def test_comments_that_cannot_be_read_are_told_at_once(run, tmp_path):
    document = tmp_path / "page.md"
    document.write_text("a <!-- symroof = mm.ridge -->5\n\n<!-- symroof end -->\n\nb <!-- symroof = mm.flops -->6\n")
    done = run("build", str(document))
    assert done.code == 2
    assert [line for line in (1, 3, 5) if f":{line}: " not in done.err] == []


def test_a_key_and_its_option_have_the_same_other_names(run):
    """What leads to a key of a problem leads to the option that says the same."""
    from symroof.reading.keys import CALLED, KEYS

    for other, key in CALLED.items():
        if KEYS[key].flag not in ("", f"--{other}"):
            told = run("derive", "matmul", f"--{other}", "x").err
            assert f"did you mean {KEYS[key].flag}?" in told, other
