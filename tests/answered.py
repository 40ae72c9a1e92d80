"""Every kind of answer that is printed, and its pages in every form: made once for the tests that read them."""

import json
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory

from effort import is_thorough

import symroof as sr
from symroof.rendering.results import ShownDerivation

MATMUL = "bf16[B, D] * bf16[D, F] -> bf16[B, F]"
SPLIT = "bf16[B, D_X] * bf16[D_X, F] -> bf16[B, F]"
MLP = "input X: bf16[N, D]; weight V: bf16[D, F]; weight W: bf16[F, D]; H = X * V -> bf16[N, F]; A = relu(H); Y = A * W -> bf16[N, D]"
FUSED = "input Q: bf16[B, T, H]; cache K, V: bf16[B, S, H]; fuse { P = Q * K -> bf16[B, T, S]; A = softmax(P, S); O = A * V -> bf16[B, T, H] }"
EXPERTS = "input X: bf16[E, C, D]; weight V: bf16[E, D, F]; weight W: bf16[E, F, D]; where C = B*K/E; H = X * V -> bf16[E, C, F]; A = gelu(H); Y = A * W -> bf16[E, C, D]"
LAYERS = (
    "input X: bf16[B, D]; weight U, V: bf16[D, F]; weight W: bf16[F, D]; weight E: bf16[M, D]; repeat L as X = Z { N = rms_norm(X); "
    "H = N * U -> bf16[B, F]; G = N * V -> bf16[B, F]; A = silu(H); P = A * G; Y = P * W -> bf16[B, D]; Z = X + Y }; O = Z * E -> bf16[B, M]"
)
BIASED = "input X: bf16[B, D]; weight V: bf16[D, F]; weight E: bf16[F]; weight W: bf16[F, D]; fuse { H = X * V -> bf16[B, F]; A = H + E; Y = A * W -> bf16[B, D] }"
ON_MESH = (
    "mesh X, Y on ICI; input P: bf16[B_X, D_Y]; weight V: bf16[D_X, F_Y]; weight W: bf16[F_Y, D_X]; "
    "H = P * V -> bf16[B_X, F_Y]; A = gelu(H); Z = A * W -> bf16[B_X, D_Y]"
)
ON_LINES = (
    "mesh X on ICI line; mesh Y = 4 on DCN; mesh U = 8 on ICI; input P: bf16[B, D_U]; weight Q: bf16[D_U, E_Y]; weight V: bf16[D_U, F]; weight W: bf16[F_X, D]; "
    "repeat 2 as P = Z { H = P * V -> bf16[B, F_X]; A = softmax(H, F); Z = A * W -> bf16[B, D_U] }; R = Z * Q -> bf16[B_Y, E]"
)
SHARED = "mesh X, Y on ICI; input x: bf16[B_X, D_Y]; weight W1: bf16[D_X, F_Y]; weight W2: bf16[F_Y, D_X]; h = x * W1 -> bf16[B_X, F_Y]; y = h * W2 -> bf16[B_X, D_Y]"
STAGES = (
    "mesh P on ICI; input X: bf16[B, D]; weight V: bf16[D, F]; weight W: bf16[F, D]; "
    "accumulate M { repeat L over P as X = Y { H = X * V -> bf16[B, F]; A = relu(H); Y = A * W -> bf16[B, D] } }"
)
TOUCHED = (
    "input X: bf16[B, D]; weight R: bf16[D, E]; input Z: bf16[P, D]; weight W: bf16[P, D]; "
    "where P = min(E, B*K); S = X * R -> bf16[B, E]; Y = Z * W -> bf16[P]"
)
ON_TREE = "mesh X = 64 on NVLink(8)/DCN; input P: bf16[B, D_X]; weight W: bf16[D_X, F]; Y = P * W -> bf16[B, F]"
PROBLEMS = {
    "tree": {"operation": ON_TREE, "hardware": "h100", "given": {"DCN": "2.5e10 bytes/s"}, "at": "B=4096,D=F=8192"},
    "experts touched": {"operation": TOUCHED, "hardware": "h100", "assume": "E <= B*K"},
    "regime": {"operation": MATMUL, "hardware": "tpu-v5e", "assume": "B << D, F", "at": "D=F=8192"},
    "symbolic": {"operation": MATMUL},
    "exact": {"operation": MATMUL, "hardware": "h100", "count": "exact", "at": "B=128,D=F=8192"},
    "solved": {"operation": MATMUL, "hardware": "tpu-v5e"},
    "equal": {"operation": MATMUL, "hardware": "tpu-v5e", "assume": ["B = D", "D = F"]},
    "some equal": {"operation": MATMUL, "hardware": "tpu-v5e", "assume": "D = F"},
    "asked for another": {"operation": MATMUL, "hardware": "tpu-v5e", "assume": "B = D", "solve_for": "B"},
    "two chips": {"operation": SPLIT, "hardware": "tpu-v5e", "mesh": "X=2", "link": "ICI", "solve_for": "D"},
    "ring": {"operation": SPLIT, "hardware": "tpu-v5e", "mesh": "X=16", "link": "ICI", "at": "D=8192", "pad": True},
    "stages": {"operation": STAGES, "hardware": "tpu-v5e", "training": True},
    "held by a chip": {"operation": "mesh X; input A: bf16[B_X, D]; weight W: bf16[D, F_X]; Y = A * W -> bf16[B_X, F]", "hardware": "tpu-v5e"},
    "two chips, memory": {"operation": SPLIT, "hardware": "tpu-v5e", "mesh": "X=2"},
    "repeated": {"operation": "bf16[B, D] * bf16[D, F_X] -> bf16[B, F_X]", "hardware": "tpu-v5e", "mesh": "X=2"},
    "dot": {"operation": "dot", "hardware": "tpu-v5e", "assume": "N -> oo"},
    "softmax": {"operation": "softmax", "hardware": "a100"},
    "rms-norm": {"operation": "rms-norm", "hardware": "tpu-v5e", "at": "B=1,D=8192"},
    "wide": {"operation": "bf16[B, D] * int4[D, F] -> fp32[B, F]", "hardware": "h100", "assume": "B << D, F"},
    "multiply": {"operation": "multiply", "hardware": "h100"},
    "scores": {"operation": "bf16[T, H] * bf16[S, H] -> bf16[T, S]", "hardware": "tpu-v5e", "assume": "T ~ S, H << S"},
    "always": {"operation": MATMUL, "hardware": "tpu-v5e", "given": {"peak": "1e9", "HBM": "8e11"}},
    "one order": {"operation": MATMUL, "hardware": "tpu-v5e", "assume": "B ~~ D ~~ F"},
    "bounded": {"operation": MATMUL, "hardware": "tpu-v5e", "assume": ["B << D, F", "D >= 4096"]},
    "implicit": {"operation": "GEMM", "flops": "2N^3", "reads": "N^2 + D*N + D", "writes": "1", "compute": "bf16", "hardware": "tpu-v5e", "solve_for": "N"},
    "gathered": {"operation": "bf16[B, D_X] * bf16[D, F] -> bf16[B, F]", "hardware": "tpu-v5e", "mesh": "X=2", "link": "ICI"},
    "rows": {"operation": "rms-norm", "hardware": "tpu-v5e", "assume": "B << D"},
    "the same there": {"operation": SPLIT, "hardware": "tpu-v5e", "mesh": "X=2", "link": "ICI", "solve_for": "D", "at": "B=1024,F=8192"},
    "never there": {"operation": MATMUL, "hardware": "tpu-v5e", "at": "D=F=128", "solve_for": "B"},
    "balanced": {"operation": MATMUL, "given": {"peak": "2", "HBM": "1"}, "at": "B=D=F=6"},
    "program": {"operation": MLP, "hardware": "tpu-v5e", "assume": "N << D, F", "at": "D=8192,F=32768"},
    "program in training": {"operation": MLP, "hardware": "tpu-v5e", "training": True},
    "fuse in training": {"operation": BIASED, "training": True, "sections": ["answer", "work", "traffic"]},
    "program of a fuse": {"operation": FUSED, "hardware": "tpu-v5e"},
    "program with another size": {"operation": EXPERTS, "assume": "B << D, F"},
    "program of two in turns": {"operation": "input x: bf16[N, D]; weight W: bf16[D, F]; weight V: bf16[F, D]; repeat L as x = z { h = x * W -> bf16[N, F]; z = h * V -> bf16[N, D] }", "hardware": "tpu-v5e"},
    "program of layers": {"operation": LAYERS, "hardware": "tpu-v5e", "count": "exact"},
    "solved for another": {"operation": MLP, "hardware": "tpu-v5e", "let": {"Q": "4N*D/HBM"}, "solve": "Q <= K", "solve_for": "K", "at": "D=F=8192,N=64"},
    "solved as it stands": {"operation": MLP, "hardware": "tpu-v5p", "solve": "K <= 9", "solve_for": "K"},
    "without an operation": {"let": {"Q": "2B*N"}, "solve": "Q <= 9", "solve_for": "B", "at": "N=2"},
    "program on a mesh": {"operation": ON_MESH, "hardware": "tpu-v5p", "training": True},
    "program on lines and switches": {"operation": ON_LINES, "hardware": "tpu-v5p"},
    "window": {"operation": FUSED.replace("P = Q * K -> bf16[B, T, S]", "P = Q * K -> bf16[B, T, S] masked S <= T, window W").replace("fuse", "where S = T + E; where E = W + C; fuse"), "hardware": "h100"},
    "window over the first rows": {"operation": FUSED.replace("P = Q * K -> bf16[B, T, S]", "P = Q * K -> bf16[B, T, S] masked S <= T, window W").replace("fuse", "where S = T; where T = W + C; fuse"), "hardware": "h100"},
    "microbatches on a mesh": {"operation": ON_MESH.replace("H = P", "accumulate M { H = P") + " }", "hardware": "tpu-v5p", "training": True},
    "axes together": {"operation": "bf16[B, D_XY] * bf16[D_XY, F] -> bf16[B, F_XY]", "hardware": "tpu-v5p", "mesh": "X=4,Y=8,Z=2", "link": "ICI"},
    "one after the other": {"operation": "bf16[B_Y, D_X] * bf16[D_XY, F] -> bf16[B_Y, F]", "hardware": "tpu-v5e", "mesh": "X=4,Y=2,Z=2,U=2", "link": "X"},
    "open axis": {"operation": "bf16[B_X, D] * bf16[D_X, F] -> bf16[B_X, F]", "hardware": "tpu-v5p", "mesh": "X", "link": "ICI"},
    "program on a mesh at sizes": {"operation": SHARED, "hardware": "tpu-v5p", "at": "F=32768,D=8192", "sections": ["answer", "resources"]},
    "best split": {"operation": SHARED, "hardware": "tpu-v5p", "minimize": "max(T_X, T_Y)", "over": "X", "subject": "X*Y = N", "at": ["N=64,B=196608,F=32768", "F=32768", "N=64,B=8,F=32768"], "sections": ["answer", "optimum"]},
    "best at an end": {"let": {"T_X": "4D*F/Y"}, "minimize": "T_X", "over": "X", "subject": "X*Y = N"},
    "falls all the way": {"let": {"T_X": "4D*F/X", "T_Y": "4D"}, "minimize": "T_X + T_Y", "over": "X", "subject": "X*Y = N"},
    "long names": {"operation": "bf16[Batch, ModelDim] * bf16[ModelDim, Hidden] -> bf16[Batch, Hidden]", "hardware": "tpu-v5e"},
}  # fmt: skip
MISTRAL = {"model_type": "mistral", "hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32, "num_key_value_heads": 8, "num_hidden_layers": 32, "vocab_size": 32000, "hidden_act": "silu", "sliding_window": 4096}  # fmt: skip


def configured():
    """A layer of a model that has what no program of the library has."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "config.json")
        path.write_text(json.dumps(MISTRAL), "utf-8")
        return sr.derive("decoder-layer", config=path, on="h100")


SCORES = "bf16[B, T, N, H] * bf16[B, S, N, H] -> bf16[B, N, T, S]"
EXPLORED = {
    "program of a mask": lambda: sr.derive("causal-attention", on="tpu-v5e"),
    "program of a configuration": configured,
    "map": lambda: sr.regimes(MATMUL, on="tpu-v5e", at="B=256,D=F=8192"),
    "map of a program": lambda: sr.regimes(MLP, on="tpu-v5e"),
    "map without a chip": lambda: sr.regimes(MATMUL, assume="B << D"),
    "map of a link": lambda: sr.regimes(SPLIT, on="tpu-v5e", mesh="X=4", link="ICI", at="B=1024,D=F=8192"),
    "map of another quantity": lambda: sr.regimes(MATMUL, on="tpu-v5e", of="T_comms/T_math", at="B=256,D=F=8192"),
    "map of a softmax": lambda: sr.regimes("softmax", on="tpu-v5e"),
    "map of long sums": lambda: sr.regimes("bf16[B, D, E] * bf16[D, E, F, G] -> bf16[B, F, G]", on="tpu-v5e", assume="B ~ F"),
    "never": lambda: sr.regimes(SCORES, on="tpu-v5e", at="H=128"),
    "two sizes to meet": lambda: sr.regimes(SCORES, on="tpu-v5e", at="H=256"),
    "one size to meet": lambda: sr.regimes(SCORES, on="tpu-v5e", at="H=T=8192"),
    "map of a value": lambda: sr.regimes(SCORES, on="tpu-v5e", assume="H=4096,T=4096,S=4096"),
    "which time is longest": lambda: sr.regimes("fsdp-megatron", on="tpu-v5p", of="T_lower"),
    "which time is longest, one regime": lambda: sr.regimes("dot", on="tpu-v5e", of="T_lower"),
    "which time is longest, any sizes": lambda: sr.regimes("bf16[8, 64] * bf16[64, 16] -> bf16[8, 16]", on="tpu-v5e", of="T_lower"),
    "inferred": lambda: sr.regimes(of="BDF/(BD + DF + BF) ~ B"),
    "inferred, two": lambda: sr.regimes(of="BDF/(BD + DF + BF) ~ BF/(B + F)"),
    "inferred, none": lambda: sr.regimes(of="BD/(B + D) ~ 2B"),
    "inferred, equal": lambda: sr.regimes(of="2BD + 2DF ~ 2DF + 2DB"),
    "compared": lambda: sr.compare(MATMUL, on="tpu-v5e,h100", dtypes="bf16,int8", assume="B << D, F", at="D=F=8192"),
    "compared on a mesh": lambda: sr.compare(SPLIT, on="tpu-v5e,tpu-v5p", mesh="X=4", link="ICI"),
    "compared, computed in another": lambda: sr.compare(MATMUL, on="h100", compute="fp32"),
    "compared, exact": lambda: sr.compare("softmax", on="tpu-v5e,h100", count="exact"),
    "compared, solved": lambda: sr.compare(MATMUL, on="tpu-v5e,h100"),
    "compared, without a figure": lambda: sr.compare("bf16[B, D] * int4[D, F] -> bf16[B, F]", on="tpu-v5e,v100"),
    "compared, between two roots": lambda: sr.compare({"operation": "GEMM", "flops": "400N*K", "reads": "N^2 + K", "writes": 1, "compute": "bf16", "solve_for": "N"}, on="tpu-v5e"),
}  # fmt: skip
FORMS = ("text", "markdown", "latex", "rst")
# LaTeX and reStructuredText say what Markdown does; these show that their sheets do not say more.
IN_ALL_FORMS = (
    *("regime", "symbolic", "two chips", "ring", "softmax", "long names", "program", "program of layers"),
    *("program on a mesh", "map", "inferred, two", "compared"),
)


@cache
def answers():
    """Every kind of answer, under its name; an eighth of them in a run of the whole suite."""
    asked = {name: lambda problem=problem: sr.derive(problem) for name, problem in PROBLEMS.items()} | EXPLORED
    return {name: asked[name]() for name in (asked if is_thorough() else list(asked)[::8])}


@cache
def page_of(name, form, lang, **how):
    return getattr(answers()[name], f"to_{form}")(lang=lang, **how)


def pages(lang, template=None, forms=FORMS):
    """Every kind of page in a language, each under its name. An error that one quotes is in English."""
    for name, answer in answers().items():
        for form in (form for form in forms if name in IN_ALL_FORMS or form in ("text", "markdown")):
            for how in ({}, {"full": True})[: 1 + is_of_a_program(answer)]:
                write = getattr(answer, f"to_{form}") if template else partial(page_of, name, form)
                yield f"{name} as {form}", write(lang=lang, **how, **({"template": template} if template else {}))


def is_of_a_program(answer):
    """Whether an answer is a derivation whose page leaves steps out, unless every one is wanted."""
    return isinstance(answer, ShownDerivation) and answer.setting.problem.operation.line is None
