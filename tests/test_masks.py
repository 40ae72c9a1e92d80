"""Masks of fuses: what they leave out is not worked on, forward and backward. Against loops that go through every pair."""

from itertools import product as tuples

import pytest
from effort import is_thorough
from test_training import at, counted, trained
from texts import refused

import symroof as sr
from symroof.errors import CheckError, ModelError, ReadingError
from symroof.model import kernels
from symroof.model.program_quantities import amounts
from symroof.model.program_tree import Mask
from symroof.reading.programs import read_program

HEAD = "input q: bf16[B, T, K, H]; input k: bf16[B, S, K, H]; input v: bf16[B, S, K, H]; where S = {}"
BODY = "fuse {{ s = q * k -> bf16[B, T, S, K]{}; p = softmax(s, S); o = p * v -> bf16[B, T, K, H] }}"
GATED = "fuse {{ s = q * k -> bf16[B, T, S, K]{}; e = exp(s); n = sum(e, S); i = reciprocal(n); u = e * v -> bf16[B, T, K, H]; o = u * i -> bf16[B, T, K, H] }}"


def attention(columns="T", mask=" masked S <= T", body=BODY):
    return f"{HEAD.format(columns)}; {body.format(mask)}"


def met(mask, row, column, sizes):
    """Whether a row meets a column: in words, row by row."""
    rows, columns = sizes["T"], sizes["S"]
    last = row if "first" in mask else columns - rows + row
    return column <= last and ("window" not in mask or column > last - sizes["W"])


def looped(line, mask, sizes):
    """The multiplications and additions of a contraction, or the operations of what contracts nothing, gone through one by one."""
    statement = line.statement
    labels = list(dict.fromkeys(x for t in (*statement.operands, statement.result) for x in t.labels))
    masked = {"T", "S"} <= {*labels}
    seen, multiplied, added, elements, rows = set(), 0, 0, 0, set()
    for place in tuples(*(range(sizes[x]) for x in labels)):
        here = dict(zip(labels, place, strict=True))
        if masked and not met(mask, here["T"], here["S"], sizes):
            continue
        out = tuple(here[x] for x in statement.result.labels)
        elements += 1
        rows.add(tuple(here[x] for x in labels if x != statement.over))
        multiplied += statement.kind == "*"
        added += out in seen
        seen.add(out)
    if statement.contracts:
        return multiplied, added
    if statement.function is not None:
        return statement.function.each * elements + statement.function.row * len(rows)
    return added if statement.reduces else (len(statement.operands) - 1) * elements


@pytest.mark.part(1)
@pytest.mark.parametrize("body", [BODY, GATED], ids=["softmax", "by hand"])
@pytest.mark.parametrize("columns", ["T", "T + P", "2*T"])
@pytest.mark.parametrize("mask", [" masked S <= T", " masked S <= T from the first"])
def test_every_pair_is_gone_through(columns, mask, body):
    text = attention(columns, mask, body)
    program = trained(text)
    for numbers in ((1, 3, 2, 2, 2), (2, 2, 1, 3, 1), (1, 1, 1, 2, 3)):
        base = dict(zip("BTKHP", numbers, strict=True))
        sizes = {**base, "S": {"T": base["T"], "T + P": base["T"] + base["P"], "2*T": 2 * base["T"]}[columns]}
        contracted = {True: 0, False: 0}
        exactly, ops = 0, 0
        for line in program.lines:
            if line.statement.contracts:
                multiplied, added = looped(line, mask, sizes)
                contracted[line.backward] += 2 * multiplied
                exactly += multiplied + added
            else:
                ops += looped(line, mask, sizes)
        costs, exact = amounts(program, "fma"), amounts(program, "exact")
        assert at(costs["flops_forward"], sizes) == contracted[False]
        assert at(costs["flops_backward"], sizes) == contracted[True]
        assert at(exact["flops_forward"] + exact["flops_backward"], sizes) == exactly
        assert at(costs["ops"], sizes) == ops
    assert {step.check.status for step in counted(text)} == {"proved"}


# How many columns there are, what that takes, and the widths of windows that fit.
WINDOWS = {
    "all rows alike": ("T + P", "where P = W + N; ", [(1, 1, 1), (2, 3, 2), (4, 2, 1), (3, 1, 3)]),
    "the first meet fewer": ("T", "where T = W + N; ", [(3, 2, 1), (5, 2, 3), (4, 1, 3)]),
    "as a causal mask": ("T", "where W = T + N; ", [(2, 3, 1), (3, 4, 1)]),
    "with entries before": (
        "T + N",
        "where T = Y + Z; where W = N + Z; ",
        [(3, 3, 1), (5, 4, 2), (2, 2, 1), (4, 2, 1)],
    ),
}


def windowed(name, body=BODY):
    columns, more, _ = WINDOWS[name]
    return attention(columns, " masked S <= T, window W", body).replace("fuse {", f"{more}fuse {{")


@pytest.mark.thorough
@pytest.mark.part(1)
@pytest.mark.parametrize("body", [BODY, GATED], ids=["softmax", "by hand"])
@pytest.mark.parametrize("name", WINDOWS)
def test_every_pair_of_a_window_is_gone_through(name, body):
    text = windowed(name, body)
    program, mask = trained(text), "window"
    for rows, width, rest in WINDOWS[name][2] if is_thorough() else WINDOWS[name][2][:1]:
        sizes = {"B": 1, "K": 2, "H": 2, "T": rows, "W": width, "N": rest}
        sizes |= {"P": width + rest} if "P = " in text else {}
        sizes |= {"Z": width - rest, "Y": rows - width + rest}
        sizes["S"] = {"T + P": rows + sizes.get("P", 0), "T": rows, "T + N": rows + rest}[WINDOWS[name][0]]
        contracted, ops = {True: 0, False: 0}, 0
        for line in program.lines:
            if line.statement.contracts:
                contracted[line.backward] += 2 * looped(line, mask, sizes)[0]
            else:
                ops += looped(line, mask, sizes)
        costs = amounts(program, "fma")
        assert at(costs["flops_forward"], sizes) == contracted[False]
        assert at(costs["flops_backward"], sizes) == contracted[True]
        assert at(costs["ops"], sizes) == ops
        reached = {c for t in range(rows) for c in range(sizes["S"]) if met(mask, t, c, sizes)}
        forward = amounts(read_program(text), "fma")
        read = 2 * 2 * 2 * (rows + 2 * len(reached))
        assert at(forward["reads(s)"] + forward["reads(o)" if "reads(o)" in forward else "reads(u)"], sizes) == read
    assert {step.check.status for step in counted(text)} == {"proved"}
    assert read_program(str(read_program(text))) == read_program(text)


@pytest.mark.thorough
def test_a_window_of_one_column_is_a_copy():
    """At W = 1 every row meets one column: 2H + 2H FLOPs for each row and head."""
    d = sr.derive(windowed("all rows alike"), on="h100", at="B=2,T=8,K=4,H=16,W=1,N=5")
    assert d.value("flops") == 4 * 2 * 8 * 4 * 16
    assert "intensity ≤ W/2" in d.to_text()  # and at W = 1 it is


@pytest.mark.thorough
def test_a_window_reads_no_more_than_it_meets():
    """Jiang et al., Mistral 7B, arXiv:2310.06825: W = 4096, so that a step at 32768 entries reads an eighth of the cache."""
    text = attention("T + P", " masked S <= T, window 4096").replace("fuse {", "where P = 4096 + N; fuse {")
    window = sr.derive(text, on="h100", at="B=8,T=1,K=8,H=128,N=28671")
    whole = sr.derive(attention("T + P"), on="h100", at="B=8,T=1,K=8,H=128,P=32767")
    assert whole.value("reads") == 2 * 8 * 8 * 128 * (1 + 2 * 32768)
    assert window.value("reads") == 2 * 8 * 8 * 128 * (1 + 2 * 4096)
    assert window.value("pairs(s)") == 4096
    shared = f"mesh X = 4 on NVLink; {text}".replace("[B,", "[B_X,")
    split = sr.derive(shared, on="h100", at="B=8,T=1,K=8,H=128,N=28671")
    assert 4 * split.value("bytes_per_chip") == window.value("bytes")


@pytest.mark.thorough
def test_a_cache_that_is_read_further_than_a_window_is_refused(monkeypatch):
    monkeypatch.setattr(kernels.Load, "bytes", property(lambda self: self.tensor.bytes))
    with pytest.raises(CheckError):
        counted(windowed("all rows alike"))


@pytest.mark.thorough
def test_a_figure_goes_through_the_root_that_the_ridge_is_reached_at(tmp_path):
    """Over the width of a window the intensity is a quotient of squares."""
    text = windowed("the first meet fewer")
    for kind in (None, "times"):
        figure = sr.plot(text, on="tpu-v5p", over="W=1:4096:log", at="B=8,K=1,H=128,N=4096", kind=kind)
        figure.save(str(tmp_path / f"{kind}.svg"))


@pytest.mark.thorough
@pytest.mark.parametrize("span", ["even", "whole", "first"])
@pytest.mark.parametrize("name", WINDOWS)
def test_a_window_that_leaves_something_else_is_refused(monkeypatch, name, span):
    text = windowed(name)
    (honest,) = {line.statement.mask.span for line in read_program(text).lines if line.statement.mask}
    monkeypatch.setattr("symroof.reading.programs.ProgramReader._span", lambda *_: span)
    if span == honest:
        assert {step.check.status for step in counted(text)} == {"proved"}
        return
    with pytest.raises((CheckError, ModelError)):
        counted(text)


def test_causal_attention_takes_half_and_a_diagonal():
    """Dao, FlashAttention-2, arXiv:2307.08691, counts 4 T^2 H for each head, and half of that under a causal mask."""
    sizes = "B=4,T=2048,K=16,H=128"
    whole = sr.derive(attention(mask=""), on="h100", at=sizes)
    half = sr.derive(attention(), on="h100", at=sizes)
    assert whole.value("flops") == 4 * 4 * 2048**2 * 16 * 128
    assert half.value("flops") == 4 * 4 * (2048 * 2049 // 2) * 16 * 128
    assert half.value("pairs(s)") == 2048 * 2049 / 2
    assert half.value("bytes") == whole.value("bytes")


@pytest.mark.thorough
def test_the_two_masks_are_one_where_there_are_as_many_columns():
    masks = " masked S <= T", " masked S <= T from the first"
    for columns, alike in (("T", True), ("T + P", False)):
        one, other = (sr.derive(attention(columns, mask), on="h100").answer.intensity for mask in masks)
        assert (one == other) == alike


@pytest.mark.thorough
def test_one_row_meets_everything():
    """A decode step: T = 1 masks nothing."""
    at_one = "B=4,T=1,P=1023,K=16,H=128"
    masked, plain = (sr.derive(attention("T + P", mask), on="h100", at=at_one) for mask in (" masked S <= T", ""))
    assert masked.value("flops") == plain.value("flops")
    assert masked.value("ops") == plain.value("ops")


def test_a_mask_outside_of_a_fuse_leaves_nothing_out():
    text = "input q: bf16[B, T, H]; input k: bf16[B, S, H]; where S = T; s = q * k -> bf16[B, T, S]{}; p = softmax(s, S); o = p * k -> bf16[B, T, H]"
    masked, plain = (sr.derive(text.format(mask), on="h100") for mask in (" masked S <= T", ""))
    assert masked.answer.intensity == plain.answer.intensity
    remark = "as if nothing were masked"
    assert (remark in masked.to_text()) == (remark in plain.to_text())
    assert "masked S <= T" in masked.to_text()


@pytest.mark.thorough
def test_masks_on_a_mesh():
    text = f"mesh X = 4 on ICI; {attention()}"
    split = sr.derive(text.replace("[B,", "[B_X,"), on="tpu-v5p", training=True, at="B=8,T=64,K=2,H=16")
    whole = sr.derive(attention(), on="tpu-v5p", training=True, at="B=8,T=64,K=2,H=16")
    assert 4 * split.value("flops_per_chip") == whole.value("flops")
    assert 4 * split.value("ops_per_chip") == whole.value("ops")
    with pytest.raises(ModelError, match="leaves out more"):
        sr.derive(text.replace(" T, K, H]", " T_X, K, H]").replace(" T, S, K]", " T_X, S, K]"), on="tpu-v5p")


test_what_is_no_mask_is_said = refused(
    read_program,
    (attention().replace("where S = T; ", ""), "nothing says that S is at least T"),
    (attention("T/2"), "nothing says that S is at least T"),
    (attention(mask=" masked S <= U"), "s has no dimension U"),
    (attention(mask=" masked S <= S"), "S masks itself"),
    (attention(mask=" masked S < T"), "expected '<='"),
    (attention(mask=" masked S <= T from first"), "from the first"),
    (attention(mask=" masked S <= T, window W"), "nothing says which rows meet fewer than W of S"),
    (attention(mask=" masked S <= T, width W"), "window, as in masked S <= T, window W"),
    (attention(mask=" masked S <= T, window"), "expected"),
    (attention(mask=" masked S <= T from the first, window W"), "a window has no place behind"),
    (attention(mask=" masked S <= T, window W from the first"), "a window has no place beside"),
    (attention(mask=" masked S <= T, window 2*W"), "where V = 2*W"),
    ("input x: bf16[T, S]; where S = T; y = relu(x) masked S <= T", "y is no contraction"),
)


def test_sizes_that_others_define_are_told_from_unknown_ones():
    text = attention("T + P")
    with pytest.raises(ReadingError, match="S is defined by other sizes") as caught:
        sr.derive(text, on="tpu-v5p", at="S=8,T=2,B=1")
    assert "expected T and P instead" in str(caught.value)
    with pytest.raises(ReadingError, match="unknown name 'Z'"):
        sr.derive(text, on="tpu-v5p", at="Z=8")


@pytest.mark.thorough
def test_regimes_of_sizes_that_are_no_dimensions():
    """A size that only a definition names may be below 1: nothing that is so from 1 on alone is said of it."""
    text = attention("T + P").replace("input q: bf16[B, T, K, H]", "input x: bf16[B, T, D]; weight W: bf16[D, K, H]")
    text = text.replace("fuse {", "q = x * W -> bf16[B, T, K, H]; fuse {")
    found = sr.regimes(text, on="h100")
    assert "P" in found.to_text()
    assert len(found.map.rows) > 4


@pytest.mark.parametrize("wrong", ["half", "without the diagonal", "all"])
def test_another_number_of_pairs_is_refused(monkeypatch, wrong):
    honest = Mask.pairs.fget

    def pairs(self):
        rows, columns = honest(self), sr.dimensions(f"{self.rows} {self.columns}")
        return {"half": rows / 2, "without the diagonal": rows - columns[0], "all": columns[0] * columns[1]}[wrong]

    monkeypatch.setattr(Mask, "pairs", property(pairs))
    with pytest.raises(CheckError):
        counted(attention())


@pytest.mark.parametrize("ends", ["", " from the first", ", window 32"])
def test_sizes_of_masks_may_be_numbers(ends):
    """What is said with numbers is what is said with names, at these numbers."""
    text = "input q: bf16[B, N, {0}, H]; input k, v: bf16[B, N, P, H]; where P = {0}; fuse {{ s = q * k -> bf16[B, N, {0}, P] masked P <= {0}{1}; p = softmax(s, P); o = p * v -> bf16[B, N, {0}, H] }}"
    if ends == ", window 32":
        text = text.replace("where P = {0}", "where P = {0} + 64")
    sizes = {"B": 2, "N": 3, "H": 4}
    one = sr.derive(text.format("128", ends), on="h100", at=sizes)
    other = sr.derive(text.format("T", ends), on="h100", at=sizes | {"T": 128})
    for name in ("flops", "ops", "reads", "writes"):
        assert one.value(name) == other.value(name), name
