"""Names that mean something inside, and requests without bound: no word of a user turns an answer, and none of two kilobytes
takes more than two seconds or half a gigabyte."""

import json
import re
from functools import cache

import pytest

import symroof as sr
from symroof.errors import CheckError, ReadingError, SymroofError

# What means something inside: words of verdicts, of resources, quantities, figures, claims, and letters of pages.
WORDS = [
    *("compute", "both", "memory", "link", "latency", "math", "vector", "comms", "lower", "upper", "steps", "hops"),
    *("peak", "bandwidth", "ridge", "flops", "reads", "bytes", "intensity", "throughput", "T_lower", "T_math"),
    *("T", "I", "R", "C", "W", "N", "HBM", "always", "never", "max", "log2", "and", "chips", "params", "bubble"),
]
FORMATS = ["to_json", "to_text", "to_markdown", "to_latex"]
SIZE, TENSOR, AXIS, NETWORK = "Q", "qq", "Z", "fabric"
PROGRAM = "mesh {axis}=4 on {network} switch; input x: bf16[B, {size}_{axis}]; input {tensor}: bf16[{size}_{axis}, F]; y = x * {tensor} -> bf16[B, F]"
NEUTRAL = {"size": SIZE, "tensor": TENSOR, "axis": AXIS, "network": NETWORK}


@cache
def answer(form="to_json", **names):
    called = NEUTRAL | names
    at = {"B": 8192, called["size"]: 8192, "F": 8192}
    given = {called["network"]: "1e9 bytes/s"}
    return getattr(sr.derive(PROGRAM.format(**called), on="tpu-v5p", at=at, given=given), form)()


def renamed(text, old, new):
    return re.sub(rf"(?<![A-Za-z0-9]){re.escape(old)}(?![A-Za-z0-9])", new, text)


def values(record):
    """Every number and condition of a record; what orders them may be a name."""
    if isinstance(record, dict):
        return sorted(value for each in record.values() for value in values(each))
    if isinstance(record, list):
        return sorted(value for each in record for value in values(each))
    return [str(record)] if isinstance(record, int | float) else []


def require_refusal_by_name(error, name):
    assert not isinstance(error, CheckError), error
    assert name in str(error), error


@pytest.mark.part(8)
@pytest.mark.parametrize(("what", "word"), [
    (what, word) for what in NEUTRAL for word in WORDS if what != "axis" or re.fullmatch("[A-Z][A-Za-z0-9]*", word)
])  # fmt: skip
def test_a_name_that_means_something_turns_no_answer(what, word):
    """The numbers of an answer are those under a neutral name, or the name is refused by name."""
    try:
        record = json.loads(answer(**{what: word}))
    except SymroofError as error:
        require_refusal_by_name(error, word)
        return
    neutral = json.loads(answer())
    assert values(record["answer"]) == values(neutral["answer"])
    bound = record["answer"]["at"][0]["times"][0]["bound_by"]
    assert bound not in ("compute", "both", "vector", "latency"), bound
    for form in FORMATS[1:]:
        page, plain = renamed(answer(form, **{what: word}), word, ""), renamed(answer(form), NEUTRAL[what], "")
        assert page.count("compute-bound") == plain.count("compute-bound")
        assert ("balanced" in page) == ("balanced" in plain)
        page, plain = (re.sub(r"p\{[\d.]*", "", one) for one in (page, plain))  # the width of a column of LaTeX
        assert set(re.findall(r"\d[\d.]*", page)) == set(re.findall(r"\d[\d.]*", plain))


@pytest.mark.parametrize("name", ["B", "Z", SIZE])
def test_a_network_that_is_a_size_or_an_axis_is_refused(name):
    with pytest.raises(ReadingError, match=f"{name} is the link of Z, and"):
        answer(network=name)


def test_a_network_called_as_a_verdict_is_the_bound_of_an_answer():
    """A slow network bounds the operation, and the record says so, whatever it is called."""
    for name, bound in (("compute", "T_compute"), ("both", "T_both"), ("fabric", "fabric")):
        times = json.loads(answer(network=name))["answer"]["at"][0]["times"][0]
        assert times["bound_by"] == bound
        assert "bound by the link" in answer("to_text", network=name)


SPLIT = "bf16[B, D_X] * bf16[D_X, F] -> bf16[B, F]"
ALONE = [("X=16 on InfiniBand", "h100", "InfiniBand"), ("X=16 on ICI", "tpu-v5p", "ICI")]


@pytest.mark.parametrize(("mesh", "chip", "link"), ALONE)
def test_the_time_of_an_axis_alone_on_a_link_has_the_names_of_both(mesh, chip, link):
    """In values, formulas, conditions, and maps."""
    at, on = {"B": 8192, "D": 8192, "F": 8192}, {"on": chip, "mesh": mesh}
    for mine, other in (("T_X", f"T_{link}"), ("sent(X)", f"sent({link})"), ("2*T_X/B", f"2*T_{link}/B")):
        one, two = (sr.derive(SPLIT, at=at, **on).only([name]).to_text() for name in (mine, other))
        assert one == two
    for options in (
        {"solve": "T_math > {}", "solve_for": "D"},
        {"let": {"q": "{}/T_math"}},
        {"let": {"q": "sent({})"}},
    ):
        one, two = (
            json.loads(sr.derive(SPLIT, **on, **_filled(options, name)).to_json())["answer"]
            for name in (("X", link) if "sent" in str(options) else ("T_X", f"T_{link}"))
        )
        assert one == two
    one, two = (str(sr.regimes(SPLIT, of=name, **on).map.rows) for name in ("T_X/T_math", f"T_{link}/T_math"))
    assert one == two
    with pytest.raises(SymroofError, match=f"(?s)T_nowhere.*T_(X|{link})"):
        sr.derive(SPLIT, at=at, solve="T_math > T_nowhere", solve_for="D", **on)


def _filled(options, name):
    return {
        key: {k: v.format(name) for k, v in value.items()} if isinstance(value, dict) else value.format(name)
        for key, value in options.items()
    }


def test_two_axes_on_a_link_have_no_time_of_the_link():
    with pytest.raises(SymroofError, match="T_ICI"):
        sr.derive(
            "bf16[B_X, D_Y] * bf16[D_Y, F_X] -> bf16[B_X, F]", mesh="X, Y on ICI", solve="T_ICI > T_math", solve_for="B"
        )


def test_the_figure_of_a_link_has_one_name():
    """Two axes on one link are as fast, and pages say so under one name, with a chip and without."""
    program = "mesh X, Y on ICI ring; input A: int8[V_XY]; o = A -> int8[V]"
    page = sr.derive(program).to_text()
    assert "bandwidth" in page
    assert "4XY ICI" not in page


@pytest.mark.parametrize("named", ["tpu-v2", "tpu-v2, tpu-v5e"])
def test_a_page_begins_with_the_chip_that_is_named_or_is_refused_as_a_derivation_is(named):
    with pytest.raises(SymroofError) as derived:
        sr.derive("matmul", on="tpu-v2")
    with pytest.raises(SymroofError) as shown:
        sr.page("matmul", on=named).html  # noqa: B018
    assert str(shown.value) == str(derived.value)


def test_a_page_without_a_chip_begins_with_one_that_people_know():
    assert sr.page("matmul").chips[0].name == "tpu-v5e"


@pytest.mark.thorough
@pytest.mark.parametrize(("at", "held"), [("B=64,S=8192", False), ("B=1,S=128", False), ("L=8,B=1,S=128", True)])
def test_a_page_says_of_the_memory_what_a_derivation_says(at, held):
    """Rates that no chip reaches, since its memory does not hold the model, are said to be such."""
    asked = {"on": "h100", "config": "examples/llama-3-70b.json", "at": at}
    said = "one chip does not hold it"
    derived, page = sr.derive("decode-step", **asked).to_text(), sr.page("decode-step", **asked).html
    verdict = re.search(r'<p id="verdict">(.*?)</p>', page)[1]
    assert (said in derived) == (said in verdict) == (not held)


MIXTRAL = {
    "model_type": "mixtral", "hidden_size": 512, "intermediate_size": 1024, "num_attention_heads": 8, "num_key_value_heads": 2,
    "num_hidden_layers": 4, "num_local_experts": 8, "num_experts_per_tok": 2, "vocab_size": 1000, "torch_dtype": "bfloat16",
}  # fmt: skip


@pytest.mark.parametrize("form", FORMATS[1:])
@pytest.mark.parametrize("dense", [True, False])
def test_a_total_that_leaves_something_out_says_so_in_its_row(form, dense, tmp_path):
    """Parameters, memory and FLOPs of a mixture of experts whose experts are not derived; nothing of the kind elsewhere."""
    table = {name: x for name, x in MIXTRAL.items() if not (dense and "expert" in name)}
    if dense:
        table["model_type"] = "llama"
    path = tmp_path / "config.json"
    path.write_text(json.dumps(table), "utf-8")
    page = getattr(sr.derive("decoder", on="h100", config=str(path), at="B=1,T=128"), form)()
    said = len(re.findall(r"without\s+\S*experts\s*=\s*8", " ".join(page.split()).replace("~", " ")))
    assert said == (0 if dense else 4)  # parameters, memory, FLOPs, tokens/s


STEP = "input x: bf16[B, D]; weight W: bf16[D, F]; y = x * W -> bf16[B, F]"
ENTRANCES = {
    "derive": lambda op, at, **asked: sr.derive(op, at=at, **asked),
    "function": lambda op, at, **asked: sr.derive(op, **asked).function("T_comms")(**at),
    "positions": lambda op, at, **asked: sr.derive(op, **asked).function("T_comms")(*at.values()),
    "sweep": lambda op, at, **asked: sr.sweep(op, ", ".join(f"{n}={x}" for n, x in at.items()), of="T_comms", **asked),
    "range": lambda op, at, **asked: sr.sweep(op, f"B={at['B']}|60000, D={at['D']}, F={at['F']}", of="T_comms", **asked),
    "plot": lambda op, at, **asked: sr.plot(op, over=f"F={at['F']}..60000", at={n: at[n] for n in "BD"}, **asked),
    "regimes": lambda op, at, **asked: sr.regimes(op, at=at, **asked),
    "compare": lambda op, at, on, **asked: sr.compare(op, at=at, on=[on], **asked),
    "page": lambda op, at, **asked: sr.page(op, at=at, **asked).html,
    "verify": lambda op, at, on, assume: judged(op, at, on, assume),
}  # fmt: skip


def judged(op, at, on, assume):
    claim = "T_math > 0 at " + ", ".join(f"{n}={x}" for n, x in at.items())
    asked = {"operation": op, "hardware": on, "assume": assume, "claims": [claim]}
    (judgement,) = sr.verify(asked).judgements
    if judgement.verdict == "undecided":
        raise SymroofError(sr.verify(asked).to_text())


@pytest.mark.part(12)
@pytest.mark.parametrize("entrance", ENTRANCES)
@pytest.mark.parametrize("op", ["matmul", STEP])
@pytest.mark.parametrize(("assume", "name"), [("D >= 8000", "D"), ("B >= 2*D", "B"), ("3*F <= B", "B")])
def test_all_entrances_hold_sizes_against_what_is_assumed(entrance, op, assume, name):
    asked = {"on": "tpu-v5e", "assume": assume}
    ask = ENTRANCES[entrance]
    with pytest.raises(SymroofError, match=rf"contradict.*\b{name}\b|is what it is where|a bound on a size says"):
        ask(op, {"B": 64, "D": 100, "F": 100}, **asked)
    if entrance not in ("page", "plot", "range", "regimes"):  # sizes move there, and leave what is assumed
        ask(op, {"B": 60000, "D": 9000, "F": 100}, **asked)


def test_a_function_takes_all_sizes_of_its_problem():
    """Those that nothing depends on too, in their order or by name; what is no size of it is refused by name."""
    derived = sr.derive(STEP, on="tpu-v5e")
    params = derived.function("params")
    assert params(2, 3) == params(7, 2, 3) == params(B=7, D=2, F=3) == 6
    for wrong in (lambda: params(1, 2, 3, 4), lambda: params(D=2, F=3, Q=1)):
        with pytest.raises(SymroofError, match=r"params (takes|does not depend on Q)"):
            wrong()
