"""One program said in other words has the same answers: a size by another name, a view, what is made once more, a mean."""

import re
from fractions import Fraction
from random import Random

import pytest

import symroof as sr
from symroof.errors import SymroofError
from symroof.model.library import LIBRARY
from symroof.reading.operations import entries, read_operation

AXES, WEIGHT = "mesh X={x} on ICI; input x: bf16[B, D]; ", "weight W: bf16[D, F_X]; y = x * W -> bf16[B, F_X]"


def says(text, *names, training=True, **options):
    answer = sr.derive(text, training=training, **options).to_dict()["answer"]
    return {name: answer[name] for name in names}


# ---- a size by another name


@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.thorough) for n in (1, 2, 3))])
def test_a_size_that_others_define_is_held_to_the_chips_that_split_it(seed, tmp_path):
    """With F = c*D, over X chips, every D at which c*D is no multiple of X is refused by all entrances, and no other."""
    random = Random(f"defined {seed}")
    x, c = random.choice((1, 2, 4, 8)), random.choice((1, 2, 3, 6, Fraction(3, 2), Fraction(5, 4)))
    defined = AXES.format(x=x) + f"where F = {c}*D; " + WEIGHT
    asks = (
        lambda at: sr.derive(defined, on="tpu-v5p", at=at),
        lambda at: sr.plot(defined, on="tpu-v5p", at=at),
        lambda at: sr.page(defined, on="tpu-v5p", at=at).data(),
        lambda at: sr.sweep(defined, "B={B},D={D}".format(**at), tmp_path / "grid.csv", on="tpu-v5p"),
        lambda at: sr.derive(defined, on="tpu-v5p").function("T_lower")(**at),
    )
    for D in range(1, 2 * x + 1):
        for ask in asks:
            if c * D % x and x > 1:
                with pytest.raises(SymroofError, match=f"F = {c * D} is not a multiple of X = {x}"):
                    ask({"B": 64, "D": D})
            else:
                ask({"B": 64, "D": D})


@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.thorough) for n in (1, 2, 3))])
def test_padded_sizes_are_the_next_that_chips_share_out_from_every_entrance(seed, tmp_path):
    """With ``pad`` every entrance warns at such a D, and says what it says at the next D that is none."""
    random = Random(f"padded {seed}")
    x, c = random.choice((2, 4, 8)), random.choice((1, 3, 6, Fraction(3, 2), Fraction(5, 4)))
    defined = AXES.format(x=x) + f"where F = {c}*D; " + WEIGHT
    D = next(n for n in range(random.randint(1, 9), 99) if c * n % x)
    padded = next(n for n in range(D, 99) if c * n % x == 0)
    claim = f"flops = {2 * 64 * padded * c * padded} at B=64, D="

    def verdict(D, **pad):
        return sr.verify({"operation": defined, "claims": [f"{claim}{D}"], **pad}).judgements[0].verdict

    asks = (
        lambda D, **pad: sr.derive(defined, on="tpu-v5p", at=f"B=64,D={D}", **pad).to_dict()["answer"]["at"],
        lambda D, **pad: sr.plot(defined, on="tpu-v5p", at=f"D={D}", over="B=1..9", **pad).to_csv(),
        lambda D, **pad: sr.page(defined, on="tpu-v5p", at={"B": 64, "D": D}, **pad).data()["start"],
        lambda D, **pad: sr.sweep(defined, f"B=8,D={D}", on="tpu-v5p", **pad)["T_lower"].tolist(),
        lambda D, **pad: sr.derive(defined, on="tpu-v5p", **pad).function("T_lower")(B=8, D=D),
        verdict,
    )
    for ask in asks:
        with pytest.warns(UserWarning, match=f"D = {D} is padded to {padded}|D is padded to multiples"):
            assert ask(D, pad=True) == ask(padded)


@pytest.mark.filterwarnings("ignore:.* is padded")
@pytest.mark.parametrize(
    ("low", "high", "step"), [(1, 9, 1), (8, 64, 8), (5, 99, 3), (5, 99, 7), (3, 99, 24), (8, 9, 10)]
)
def test_each_value_of_a_grid_is_padded_once(low, high, step):
    grid = f"B=8,D=16,F={low}:{high}:{step}"
    found = sr.sweep(AXES.format(x=8) + WEIGHT, grid, on="tpu-v5p", pad=True)["F"].tolist()
    assert found == sorted({next(m for m in range(n, n + 8) if m % 8 == 0) for n in range(low, high + 1, step)})


@pytest.mark.filterwarnings("ignore:.* is padded")
def test_no_size_is_padded_where_another_one_was_enough_and_chips_at_the_end_of_a_figure_tell_how_far():
    text = AXES.format(x=8) + "where F = D*E; " + WEIGHT
    (point,) = sr.derive(text, on="tpu-v5p", at="B=4,D=3,E=3", pad=True).to_dict()["answer"]["at"]
    assert point["values"] == {"B": "4", "D": "8", "E": "3"}
    open_ = "mesh X on ICI; input x: bf16[B, D]; " + WEIGHT
    over = {"on": "tpu-v5p", "over": "X=16..64:16"}
    there = sr.plot(open_, at="B=64,D=512,F=4096", **over).to_csv()
    assert sr.plot(open_, at="B=64,D=512,F=4090", pad=True, **over).to_csv() == there


@pytest.mark.parametrize(("defined", "size"), [("F = 4*D", "D"), ("F = 6*D", "D"), ("F = G", "G"), ("F = 2*G", "G")])
def test_the_least_size_is_one_of_those_that_chips_share_out(defined, size):
    text = "mesh X=8 on ICI; input x: bf16[B, D]; " + f"where {defined}; " + WEIGHT
    at = {"B": 600} | ({} if size == "D" else {"D": 8192})
    answer = sr.derive(text, on="tpu-v5p", at=at, solve_for=size).to_dict()["answer"]["at"][0]
    found, bound = int(answer["smallest_integer"]), answer["exact_bound_float"]
    factor = int(defined.split("= ")[1].split("*")[0]) if "*" in defined else 1
    assert found == next(n for n in range(int(bound) + 1, int(bound) + 99) if factor * n % 8 == 0)


# ---- a view, inside or outside

QKV = (
    "input x: bf16[B, T, D]; weight Wq, Wk, Wv: bf16[D, N, H]; {wo}where S = T; "
    "recompute {{ q = x * Wq -> bf16[B, T, N, H]; k = x * Wk -> bf16[B, T, N, H]; v = x * Wv -> bf16[B, T, N, H]; {outside}"
    "fuse {{ {inside}s = q * {k} -> bf16[B, N, T, S]; p = softmax(s, S); o = p * {v} -> bf16[B, T, N, H] }}; {behind} }}"
)
SEEN = "kk = k -> bf16[B, S, N, H]; vv = v -> bf16[B, S, N, H]; "
BEHIND = {"": "", "weight Wo: bf16[N, H, D]; ": "r = o * Wo -> bf16[B, T, D]"}


@pytest.mark.parametrize("wo", BEHIND)
def test_a_view_inside_of_a_fuse_changes_nothing_that_is_made_again(wo):
    names = ("flops", "ops", "bytes", "saved")
    ways = (
        {"outside": SEEN, "inside": "", "k": "kk", "v": "vv"},
        {"outside": "", "inside": SEEN, "k": "kk", "v": "vv"},
        {"outside": "", "inside": "", "k": "k[T -> S]", "v": "v[T -> S]"},
    )
    found = [says(QKV.format(**way, wo=wo, behind=BEHIND[wo]), *names) for way in ways]
    assert found == [found[0]] * 3
    assert found[0]["saved"] == "2*B*T*D"  # what comes from outside of the recompute


def test_what_was_gathered_goes_back_as_a_sum_that_is_scattered():
    """Read under its name, under another one, and through two views: the same bytes go over the links."""
    begun = "mesh X=4 on ICI; where S = T; input q: bf16[B, T_X, N, H]; "
    k, view = (
        "input k: bf16[B, {t}_X, {d}]; kk = k -> bf16[B, {t}, {d}]; ",
        "where D = N*H; {}kv = kk -> bf16[B, T, N, H]; ",
    )
    ways = (
        k.format(t="S", d="N, H") + "s = q * kk -> bf16[B, N, T_X, S]",
        k.format(t="T", d="N, H") + "s = q * kk[T -> S] -> bf16[B, N, T_X, S]",
        view.format(k.format(t="T", d="D")) + "s = q * kv[T -> S] -> bf16[B, N, T_X, S]",
    )
    for way in ways:  # 3/4 of 2BTNH bytes by two directions, there and back
        at = sr.derive(begun + way, on="tpu-v5p", training=True).function("sent(X)")
        assert at(B=2, T=8, N=2, H=4) == 2 * 3 / 8 * 2 * 2 * 8 * 2 * 4, way


# ---- what is made once more


def in_a_recompute(text):
    """A program with all of its statements in one recompute."""
    is_head = re.compile(r"\s*(input|weight|cache|frozen|shared|where|mesh|output)\b").match
    lines = sorted(text.splitlines(), key=lambda line: not is_head(line))
    first = sum(map(bool, map(is_head, lines)))
    return "\n".join([*lines[:first], "recompute {", *lines[first:], "}"])


@pytest.mark.thorough
def test_recomputing_changes_nothing_forward_and_is_refused_nowhere():
    tried, forward = 0, ("flops", "bytes")
    texts = (str(read_operation(name)) for name in entries() if name not in LIBRARY)
    for text in (text for text in texts if not re.search(r"\b(repeat|accumulate|scan|output)\b", text)):
        assert says(in_a_recompute(text), *forward, training=False) == says(text, *forward, training=False)
        try:
            sr.derive(text, training=True)
        except SymroofError:
            continue
        sr.derive(in_a_recompute(text), training=True)
        tried += 1
    assert tried > 12


@pytest.mark.parametrize("linear", ["0.5*h", "h / 8", "h * (1/F)", "convert(h) -> fp32[B, F]", "h + h", "mean(h, F)"])
def test_what_is_linear_can_be_made_again(linear):
    text = (
        f"input x: bf16[B, D]; weight W: bf16[D, F]; recompute {{ h = x * W -> bf16[B, F]; s = {linear}; y = gelu(s) }}"
    )
    assert says(text, "saved") == {"saved": "2*B*D"}


def test_scores_that_a_recompute_makes_again_are_counted():
    text = "input q: bf16[B, T, D]; input k, v: bf16[B, S, D]; {} {{ fuse {{ s = q * k -> bf16[B, T, S]; p = softmax(s, S); o = p * v -> bf16[B, T, D] }} }}"
    assert says(text.format("recompute"), "flops") == {"flops": "14*B*T*D*S"}
    assert says(text.format("block a"), "flops") == {"flops": "12*B*T*D*S"}


@pytest.mark.thorough
def test_what_a_recompute_gathers_is_kept_split_and_gathered_again():
    text = (
        "mesh Y=8 on NVLink; input x: bf16[T_Y, D]; weight W: bf16[D, F_Y]; weight V: bf16[F_Y, D]; {} "
        "{{ {} h = {} * W -> bf16[T, F_Y]; a = gelu(h); y = a * V -> bf16[T_Y, D] }}"
    )
    for way in (("xg = x -> bf16[T, D];", "xg"), ("", "x")):
        again, plain = (
            sr.derive(text.format(word, *way), on="h100", training=True) for word in ("recompute", "block b")
        )
        sizes = {"T": 64, "D": 8, "F": 16}
        kept, sends = (
            [d.function(name)(**{n: sizes[n] for n in d.function(name).parameters}) for d in (again, plain)]
            for name in ("saved_per_chip", "sent(NVLink)")
        )
        assert kept[0] == 2 * 64 * 8 / 8 < kept[1]
        assert sends[0] == sends[1] + 7 / 8 * 2 * 64 * 8


# ---- rows and means


@pytest.mark.parametrize(
    "way", ["e = lookup(We, ids); y = e * W -> bf16[B, F]", "e = lookup(We, ids); g = gelu(e); y = g * W -> bf16[B, F]"]
)
def test_rows_are_read_once_in_each_pass(way):
    text = f"input ids: int32[B]; weight We: bf16[V, D]; weight W: bf16[D, F]; fuse {{ {way} }}"
    reads = sr.derive(text, on="tpu-v5e", training=True).function("reads")
    at = {"B": 64, "V": 4096, "D": 8, "F": 16}
    once = sr.derive(text, on="tpu-v5e").function("reads")(**{n: at[n] for n in "BDF"})
    rows, ids, W, dy = 2 * 64 * 8, 4 * 64, 2 * 8 * 16, 2 * 64 * 16
    assert once == rows + ids + W
    assert reads(**{n: at[n] for n in reads.parameters}) == once + rows + ids + W + dy


def test_a_mean_is_one_pass():
    assert says("input x: bf16[B, D]; m = mean(x, D)", "bytes", training=False) == {"bytes": "2*B*D + 2*B"}
    ways = ("input x: bf16[B, D]; " + way for way in ("fuse { m = mean(x, D) }", "m = mean(x, D)"))
    assert len({str(says(way, "bytes", "ops", "saved")) for way in ways}) == 1
