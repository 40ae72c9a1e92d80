"""Microbatches: each has inputs of its own and the weights of all, goes forward and back before the next, and adds to the gradients of
those before it. Against finite differences and loops, against one batch, and on meshes against what each turn would send."""

import re
from dataclasses import replace

import pytest
from test_training import at, random_program, require_lawful, trained

import symroof as sr
from symroof.derivation.quantity_definitions import script_of
from symroof.errors import CheckError, ModelError, ReadingError
from symroof.model import backward, placement
from symroof.model.program_quantities import amounts, traffic_of_tensors
from symroof.reading.programs import read_program

BODY = "h = x * W -> bf16[B, F]; a = gelu(h); y = a * V -> bf16[B, D]"
HEAD = "input x: bf16[B, D]; weight W: bf16[D, F]; weight V: bf16[F, D]; "
MLP = HEAD + f"accumulate M {{ {BODY} }}"
LAYERS = HEAD + f"accumulate M {{ repeat L as x = y {{ {BODY} }} }}"
TIED = HEAD.replace("weight W", "shared weight W")
PROGRAMS = {
    "mlp": MLP,
    "layers": LAYERS,
    "two uses of a weight": f"{HEAD}accumulate 2 {{ h = x * W -> bf16[B, F]; y = h * V -> bf16[B, D]; g = y * W -> bf16[B, F]; z = gelu(g) }}",
    "tied layers": f"{TIED}accumulate 2 {{ repeat 2 as x = y {{ {BODY} }} }}",
    "layers and more": f"{HEAD}weight U: bf16[D, E]; accumulate M {{ repeat 2 as x = y {{ {BODY} }}; l = y * U -> bf16[B, E] }}",
    "an input of all layers": f"{HEAD}input e: bf16[B, D]; accumulate 2 {{ repeat 2 as x = z {{ h = x * W -> bf16[B, F]; y = h * V -> bf16[B, D]; z = y + e }} }}",
    "what is made outside": HEAD + "G = silu(W); accumulate 2 { h = x * G -> bf16[B, F]; y = h * V -> bf16[B, D] }",
    "frozen": HEAD.replace("weight W", "frozen weight W") + f"accumulate M {{ {BODY} }}",
    "made again": HEAD + f"accumulate 2 {{ repeat 2 as x = y {{ recompute {{ {BODY} }} }} }}",
    "two of them": f"{HEAD}input u: bf16[B, D]; weight U: bf16[D, F]; accumulate 2 {{ {BODY} }}; accumulate 3 {{ r = u * U -> bf16[B, F]; s = silu(r) }}",
    "repeats in repeats": f"{HEAD}accumulate 2 {{ repeat 2 as x = z {{ repeat 2 as x = y {{ {BODY} }}; z = silu(y) }} }}",
}
SIZES = {"B": 8, "D": 16, "F": 32}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_are_lawful(name):
    require_lawful(PROGRAMS[name])


@pytest.mark.parametrize("seed", range(12))
def test_a_random_program_in_microbatches(seed):
    lines = random_program(seed).split("\n")
    first = next(i for i, line in enumerate(lines) if " = " in line or line.startswith(("fuse", "repeat")))
    body = [line for line in lines[first:] if not line.startswith(("input", "weight"))]
    declared = [line for line in lines if line not in body]
    text = "\n".join([*declared, "accumulate 2 {", *body, "}"])
    require_lawful(text, seed)


@pytest.mark.parametrize("name", ["mlp", "layers"])
def test_one_microbatch_is_a_batch(name):
    """At M = 1 everything is what it is without microbatches, but for the sum that gradients are added to."""
    one = trained(PROGRAMS[name].replace("accumulate M", "accumulate 1"))
    plain = trained(PROGRAMS[name].replace("accumulate M { ", "").removesuffix(" }"))
    put = {**SIZES, "L": 3}
    here, there = (amounts(program, "fma") for program in (one, plain))
    for what in ("params", "weights", "saved", "gradients", "flops_forward", "flops_backward"):
        assert at(here[what], put) == at(there[what], put), what
    added = at(here["ops"], put) - at(there["ops"], put)
    assert added == 2 * 16 * 32 * (1 if name == "mlp" else 3)


@pytest.mark.thorough
def test_what_is_kept_is_that_of_one_microbatch():
    """Of the same tokens in M microbatches the activations are an M-th, and weights are read M times."""
    whole = sr.derive(MLP, on="h100", training=True, at="B=64,D=16,F=32,M=1")
    parts = sr.derive(MLP, on="h100", training=True, at="B=8,D=16,F=32,M=8")
    for what in ("flops", "params", "gradients"):
        assert whole.value(what) == parts.value(what)
    assert whole.value("saved") == 8 * parts.value("saved")
    moved = traffic_of_tensors(trained(MLP))
    for name in ("W", "dW", "dW_before"):
        one, eight = (at(moved[name], {**SIZES, "M": m}) for m in (1, 8))
        assert eight == 8 * one > 0, name


@pytest.mark.thorough
def test_tokens_are_those_of_all_microbatches():
    d = sr.derive(MLP, on="h100", training=True, at="B=8,D=16,F=32,M=8")
    assert "6BM params" in d.to_text(full=True).replace("\N{NO-BREAK SPACE}", " ")
    whole = sr.derive(MLP, on="h100", at="B=8,D=4096,F=8192,M=8")
    plain = sr.derive(HEAD + BODY, on="h100", at="B=8,D=4096,F=8192")
    assert whole.value("T_lower") == pytest.approx(8 * plain.value("T_lower"))
    assert whole.value("tokens_per_second") == pytest.approx(plain.value("tokens_per_second"))


DATA = LAYERS.replace("[B,", "[B_X,")
BOTH = LAYERS.replace("[B, D]", "[B_X, D]").replace("[D, F]", "[D_X, F_Y]").replace("[F, D]", "[F_Y, D_X]")
SPLIT = {
    "data": f"mesh X = 4 on ICI; {DATA}",
    "fsdp": f"mesh X = 4 on ICI; {DATA.replace('[D, F]', '[D_X, F]').replace('[F, D]', '[F_X, D]')}",
    "fsdp and tensors": f"mesh X = 4, Y = 2 on ICI; {BOTH.replace('[B, F]', '[B_X, F_Y]')}",
}
SHARING = {name: re.sub("weight (W|V)", r"shared weight \1", text) for name, text in SPLIT.items()}
PUT = {"B": 512, "D": 256, "F": 1024, "L": 3}


def step(name, batches, **options):
    return sr.derive(SPLIT[name], on="tpu-v5p", training=True, at={**PUT, "M": batches}, **options)


@pytest.mark.thorough
@pytest.mark.parametrize("name", SPLIT)
def test_gradients_are_added_up_over_the_chips_once(name):
    """Of the bytes that X carries gathers grow with the microbatches, and what adds gradients up does not; kept weights are gathered
    once. Each time everything grows."""
    sent = {m: step(name, m).value("sent(X)") for m in (1, 2, 5)}
    each = {m: step(name, m, reduce="each").value("sent(X)") for m in (1, 5)}
    kept = {m: step(name, m, keep="W,V").value("sent(X)") for m in (1, 5)}
    assert sent[1] == each[1]
    assert each[5] == 5 * each[1]
    gathered = sent[2] - sent[1]
    assert sent[5] - sent[1] == 4 * gathered
    assert each[1] - gathered > 0
    assert kept[1] == kept[5]
    if name == "data":
        assert gathered == 0
        ring = 2 * (3 / 4) / 2  # an all-reduce, over both directions
        assert sent[5] == 3 * 2 * (2 * 256 * 1024) * ring
    d = step(name, 5)
    assert {s.check.status for s in d.steps if s.check} == {"proved"}
    assert "once for all microbatches" in " ".join(d.to_text(full=True).split())


@pytest.mark.thorough
def test_what_is_added_up_late_is_held_whole():
    """Rajbhandari et al., arXiv:1910.02054: gradients that are split have to be reduced in each microbatch."""
    late, each = step("fsdp", 8), step("fsdp", 8, reduce="each")
    assert late.value("gradients_per_chip") == 4 * each.value("gradients_per_chip") == late.value("gradients")
    assert late.value("weights_per_chip") == each.value("weights_per_chip") == late.value("weights") / 4
    assert late.value("bytes_per_chip") > each.value("bytes_per_chip")


def test_what_is_gathered_for_other_microbatches_is_not_there(monkeypatch):
    monkeypatch.setattr(placement, "_microbatch", lambda _: None)
    with pytest.raises(CheckError, match="is not where"):
        sr.derive(HEAD_X + FIRST + SECOND, on="tpu-v5p")


def test_turns_that_share_everything():
    """repeat … shared says of each weight in it that it is shared."""
    rest = "input x: bf16[B, D]; weight W: bf16[D, F]; weight V: bf16[F, D]; "
    body = "{ h = x * W -> bf16[B, F]; y = h * V -> bf16[B, D] }"
    said = read_program(f"{rest}repeat 3 shared as x = y {body}")
    assert said == read_program(f"{rest.replace('weight', 'shared weight')}repeat 3 as x = y {body}")
    assert said.shared == ("W", "V")
    assert read_program(str(said)) == said


added_up = backward._Reverse._added_up


def not_added_up(self, name, inner, body, **options):
    found = added_up(self, name, inner, body, **options)
    body[-1] = replace(body[-1], operands=body[-1].operands[1:] * 2)
    return found


FAULTS = {
    "kept for all": ("program_quantities.separate_repeats", lambda repeats: repeats, MLP),
    "not added up": ("backward._Reverse._added_up", not_added_up, MLP),
    "reduced each time": ("placement.Reshard.around", lambda self, repeats: tuple(repeats), SPLIT["data"]),
    "reduced in each turn": ("placement._Chips._over_turns", lambda *_: (), SHARING["data"]),
    "held in parts": ("program_quantities.summed_forms", lambda _: {}, SPLIT["fsdp"]),
    "tokens of one": ("program_sizes.turns_of", lambda repeats: sr.symbols.symbol("B") ** 0, MLP),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_refused(monkeypatch, fault):
    place, change, text = FAULTS[fault]
    monkeypatch.setattr(f"symroof.model.{place}", change)

    def asked():
        sr.derive(text, on="tpu-v5p", training=True)
        sr.derive(text, on="tpu-v5p", at="B=8,D=16,F=32,M=4").value("tokens_per_second")

    with pytest.raises(CheckError):
        asked()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (HEAD + "accumulate M { }", "nothing between the braces"),
        (MLP + "; z = relu(y)", "y is one of each microbatch, and gone after it"),
        (MLP + "; z = relu(x)", "x is an input of each microbatch and of what is outside of them"),
        (HEAD + f"repeat 2 as x = y {{ accumulate 2 {{ {BODY} }} }}", "an accumulate has no place in a repeat"),
        (HEAD + f"accumulate 2 {{ accumulate 2 {{ {BODY} }} }}", "an accumulate has no place in an accumulate"),
        ("input x: bf16[B, D]; repeat 2 shared as x = y { y = relu(x) }", "the turns share no weight"),
        (HEAD + f"accumulate 2.5 {{ {BODY} }}", "5/2 is no number of turns"),
        (HEAD + f"accumulate 0 {{ {BODY} }}", "0 is no number of turns"),
        (HEAD + f"accumulate M = 2 {{ {BODY} }}", "accumulate L as x = y"),
    ],
)
def test_what_is_refused_says_why(text, said):
    with pytest.raises(ReadingError) as caught:
        read_program(text)
    assert said in str(caught.value)


def test_one_gradient_of_a_weight():
    """Used in microbatches and outside of them a weight would have two sums, each reduced on its own."""
    for text in (MLP + "; n = silu(V)", MLP.replace("weight V", "shared weight V") + "; n = silu(V)"):
        sr.derive(text, on="h100")
        with pytest.raises(ModelError, match="its gradient is one and several"):
            sr.derive(text, on="h100", training=True)


HEAD_X = "mesh X=4 on ICI; input x: bf16[B_X, D]; input u: bf16[E_X, D]; weight W: bf16[D_X, F]; "
FIRST, SECOND = "accumulate M { h = x*W -> bf16[B_X,F] }; ", "accumulate N { r = u*W -> bf16[E_X,F] }; "


@pytest.mark.thorough
def test_what_is_gathered_in_microbatches_is_gone_after_them():
    """In which order microbatches stand changes nothing, and more work sends no less."""
    sizes = {"B": 8, "D": 8, "F": 12, "E": 8, "M": 8, "N": 100}
    gather = 2 * 8 * 12 * (3 / 4) / 2
    for text in (FIRST + SECOND, SECOND + FIRST):
        assert sr.derive(HEAD_X + text, on="tpu-v5p", at=sizes).value("sent(X)") == 108 * gather
        assert sr.derive(HEAD_X + text, on="tpu-v5p", at=sizes, keep="W").value("sent(X)") == gather
    del sizes["N"]
    outside = "r = u*W -> bf16[E_X,F]; "
    for text in (outside + FIRST, FIRST + outside):
        assert sr.derive(HEAD_X + text, on="tpu-v5p", at=sizes).value("sent(X)") == 9 * gather


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["data", "fsdp"])
def test_turns_that_share_weights_are_reduced_once(name):
    """Of weights that all turns of a microbatch share there is one reduction, after the last; kept they are gathered once."""
    text = SHARING[name]
    sizes = {"B": 16, "D": 8, "F": 12, "M": 3, "L": 5}
    whole, ring = 2 * 8 * 12, (3 / 4) / 2
    reduced = 2 * whole * ring * (2 if name == "data" else 1)
    gathers = 0 if name == "data" else 4 * whole * ring
    once = sr.derive(text, on="tpu-v5p", training=True, at=sizes)
    assert once.value("sent(X)") == 15 * gathers + reduced
    assert once.value("gradients_per_chip") == 2 * whole
    kept = sr.derive(text, on="tpu-v5p", training=True, at=sizes, keep="W,V")
    assert kept.value("sent(X)") == gathers / 2 + reduced
    each = sr.derive(text, on="tpu-v5p", training=True, at=sizes, reduce="each")
    assert each.value("sent(X)") == 15 * gathers + 15 * reduced
    assert {s.check.status for d in (once, kept, each) for s in d.steps if s.check} == {"proved"}


@pytest.mark.thorough
def test_two_uses_are_reduced_as_one_each_time():
    """With one microbatch it is what it is without."""
    body = "h=x*W->bf16[B_X,F]; y=h*V->bf16[B_X,D]; z=y*W->bf16[B_X,F]"
    head = "mesh X=4 on ICI; input x: bf16[B_X, D]; weight W: bf16[D_X, F]; weight V: bf16[F_X, D]; "
    plain = sr.derive(head + body, on="tpu-v5p", training=True, at="B=8,D=8,F=12")
    for when in ("each", "last"):
        one = sr.derive(f"{head}accumulate 1 {{ {body} }}", on="tpu-v5p", training=True, at="B=8,D=8,F=12", reduce=when)
        assert one.value("sent(X)") == plain.value("sent(X)")


def test_options_that_say_nothing_are_refused():
    with pytest.raises(ReadingError, match="has no microbatches"):
        sr.derive(HEAD + BODY, on="h100", training=True, reduce="each")
    with pytest.raises(ReadingError, match="says no time"):
        sr.derive(MLP, on="h100", training=True, reduce="never")


def test_the_second_engine_knows_batches_from_layers():
    """A sum over layers is none over microbatches."""
    script = script_of(trained(PROGRAMS["tied layers"]))
    sums = [op.result for op in script.ops if op.back and not op.undoes and op.kind == "+"]
    assert [name for name in sums if script.adds_batches(script.op[name])] == ["dV", "dW"]
    assert len(sums) == 3
