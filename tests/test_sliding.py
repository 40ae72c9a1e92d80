"""Windows with strides: as many places as a loop over starts finds, with and without zeros around, forward and back, against a
convolution in loops; what the sizes do not say is refused."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from test_gate import _nothing_is_remembered  # noqa: F401 (a fixture)
from test_training import require_lawful, trained
from texts import refused

import symroof as sr
from symroof.errors import CheckError, ModelError, ReadingError
from symroof.model import program_sizes
from symroof.model.program_quantities import amounts
from symroof.model.program_sizes import Slide, slides_of
from symroof.reading.programs import read_program

TEXT = (
    "input x: bf16[N, P, Q, C]; weight f: bf16[K, R, S, C]; where {}; "
    "fuse {{ w = windows(x) -> bf16[N, U, V, R, S, C]; y = w * f -> bf16[N, U, V, K] }}"
)
# Stride, padding, taps, as networks have them; the size that it goes with.
KINDS = {
    (2, 3, 7): ("U = P/2, V = Q/2", lambda places: 2 * places),
    (2, 1, 3): ("P = 2*U, Q = 2*V", lambda places: 2 * places),
    (2, 0, 2): ("U = P/2, V = Q/2", lambda places: 2 * places),
    (4, 0, 4): ("U = P/4, V = Q/4", lambda places: 4 * places),
    (1, 0, 3): ("P = U + R - 1, Q = V + S - 1", lambda places: places + 2),
    (2, 0, 3): ("P = 2*U + R - 2, Q = 2*V + S - 2", lambda places: 2 * places + 1),
    (3, 0, 5): ("P = 3*(U - 1) + R, Q = 3*(V - 1) + S", lambda places: 3 * places + 2),
}


def starts(pixels, stride, padding, taps):
    """The places at which a window begins, one after the other."""
    return [i for i in range(-padding, pixels + padding - taps + 1) if (i + padding) % stride == 0]


def put(value, **sizes):
    return Fraction(str(value.subs({s: sizes[s.name] for s in value.free_symbols})))


@pytest.mark.part(1)
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_convolution_in_loops(kind):
    (stride, padding, taps), (where, pixels_of) = kind, KINDS[kind]
    text = TEXT.format(where)
    program = read_program(text)
    assert read_program(str(program)) == program
    for across, down in product((1, 2, 3), (2, 4)):
        P, Q = pixels_of(across), pixels_of(down)
        U, V = (len(starts(n, stride, padding, taps)) for n in (P, Q))
        assert (across, down) == (U, V)
        sizes = {"N": 2, "P": P, "Q": Q, "U": U, "V": V, "C": 3, "K": 5, "R": taps, "S": taps}
        image = np.pad(np.ones((2, P, Q, 3)), ((0, 0), (padding, padding), (padding, padding), (0, 0)))
        places = product(range(2), *([i + padding for i in starts(n, stride, padding, taps)] for n in (P, Q)))
        windows = [image[n, i : i + taps, j : j + taps, :] for n, i, j in places]
        assert {w.shape for w in windows} == {(taps, taps, 3)}
        flops = sum(2 * w.size * 5 for w in windows)
        forward, back = amounts(program, "fma"), amounts(trained(text), "fma")
        assert put(forward["flops(y)"], **sizes) == flops == put(back["flops_forward"], **sizes)
        assert put(back["flops_backward"], **sizes) == 2 * flops
        gathered = sum(w.size for w in windows)  # the gradients of all windows are added to the image
        assert put(back["ops(dx)"] if "ops(dx)" in back else back["ops"], **sizes) >= gathered
        assert put(forward["reads(w)"], **sizes) == 2 * 2 * P * Q * 3
    for training in (False, True):
        assert sr.derive(text, on="h100", training=training).counts()["sampled"] == 0


NETWORKS = {
    "a filter": TEXT.format("U = P/2, V = Q/2"),
    "without zeros": TEXT.format("P = 2*U + R - 2, Q = 2*V + S - 2"),
    "every place": "input x: bf16[N, P, Q, C]; weight f: bf16[K, R, S, C]; fuse { w = windows(x) -> bf16[N, P, Q, R, S, C]; y = w * f -> bf16[N, P, Q, K] }",
    "written out": TEXT.format("U = P/2, V = Q/2").replace("fuse { ", "").replace(" }", ""),
    "one way": "input x: bf16[N, P, C]; weight f: bf16[K, R, C]; where U = P/3; fuse { w = windows(x) -> bf16[N, U, R, C]; y = w * f -> bf16[N, U, K] }",
    "every second place": "input x: bf16[N, P, Q, C]; weight f: bf16[C, K]; where U = P/2, V = Q/2; w = windows(x) -> bf16[N, U, V, C]; y = w * f -> bf16[N, U, V, K]",
    "two of them": "input x: bf16[N, P, C]; weight f: bf16[C, R, K]; weight g: bf16[K, S, J]; where U = P/2, V = U/2; "
    "fuse { w = windows(x) -> bf16[N, U, R, C]; y = w * f -> bf16[N, U, K] }; a = gelu(y); fuse { v = windows(a) -> bf16[N, V, S, K]; z = v * g -> bf16[N, V, J] }",
    "the mean of taps": "input x: bf16[N, P, C]; weight f: bf16[C, K]; where U = P/2; fuse { w = windows(x) -> bf16[N, U, R, C]; p = mean(w, R) }; y = p * f -> bf16[N, U, K]",
    "each channel": "input x: bf16[N, P, Q, C]; weight f: bf16[R, S, C]; where U = P/2, V = Q/2; fuse { w = windows(x) -> bf16[N, U, V, R, S, C]; y = w * f -> bf16[N, U, V, C] }",
}


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_are_lawful(name):
    require_lawful(NETWORKS[name], sizes={"P": 12, "Q": 4, "R": 3, "S": 2})


def test_pooling_compares_or_adds_up_the_taps():
    head = "input x: bf16[N, P, Q, C]; where U = P/2, V = Q/2; fuse {{ w = windows(x) -> bf16[N, U, V, R, S, C]; y = {}(w, R, S) }}"
    for reduced in ("max", "sum", "mean"):
        found = sr.derive(head.format(reduced), on="h100", at="N=2,P=8,Q=6,C=3,R=3,S=3")
        places = 2 * 4 * 3 * 3
        assert found.value("ops") == places * (9 - 1) + (places if reduced == "mean" else 0)
        assert found.value("bytes") == 2 * (2 * 8 * 6 * 3) + 2 * places


def test_dimensions_are_told_by_their_order():
    assert slides_of(("N", "P", "C"), ("N", "P", "R", "C")) == (Slide("P", "P", "R"),)
    assert slides_of(("N", "P", "Q", "C"), ("N", "U", "V", "C")) == (Slide("P", "U"), Slide("Q", "V"))
    assert slides_of((*"NPQC",), (*"NPVRSC",)) == (Slide("P", "P", "R"), Slide("Q", "V", "S"))
    assert slides_of(("N", "P", "Q"), ("N",)) is None
    assert slides_of(("P",), ("R", "P")) is None


test_sizes_that_tell_of_no_stride_are_refused = refused(
    read_program,
    (TEXT.format("P = 2*U + 1, Q = V"), "every few places of P"),
    (TEXT.format("P = 3*U/2, Q = V"), "every few places of P"),
    (TEXT.format("N = 2"), "every few places of P"),
    ("input x: bf16[N, P, Q, C]; w = windows(x) -> bf16[N, U, R, C]; y = relu(w)", "every few places of P"),
    ("input x: bf16[N, P, Q, C]; w = windows(x) -> bf16[N]; y = relu(w)", "have its P, Q, C too"),
)


@pytest.mark.thorough
def test_no_place_is_read_that_no_window_has():
    text = "input x: bf16[N, P, Q, C]; weight f: bf16[C, K]; where U = P/2, V = Q/2; fuse { w = windows(x) -> bf16[N, U, V, C]; y = w * f -> bf16[N, U, V, K] }"
    found = sr.derive(text, on="h100", training=True, at="N=2,P=8,Q=6,C=3,K=4")
    assert found.value("reads(w)") == 2 * 2 * (4 * 3) * 3
    assert found.counts()["sampled"] == 0
    filtered = TEXT.format("U = P/2, V = Q/2")
    with pytest.raises(ModelError, match="leave places out"):
        sr.derive(filtered, on="h100", at="N=2,P=8,Q=6,C=3,K=4,R=1,S=1")
    one = sr.derive(filtered.replace("R, S", "1, 1"), on="h100", at="N=2,P=8,Q=6,C=3,K=4")
    assert one.value("reads(w)") == 2 * 2 * (4 * 3) * 3
    with pytest.raises(ReadingError, match="2 taps at every 4th place of P leave places out"):
        read_program(TEXT.format("U = P/4, V = Q/4").replace("R, S", "2, 3"))


def test_places_are_whole():
    text = TEXT.format("U = P/2, V = Q/2")
    with pytest.raises(ModelError, match="225/2 places of U"):
        sr.derive(text, on="h100", at="N=1,P=225,Q=224,C=3,K=64,R=7,S=7")


@pytest.mark.thorough
@pytest.mark.part(1)
@pytest.mark.parametrize("label", ["P", "Q", "U", "R"])
def test_chips_do_not_share_out_places(label):
    text = TEXT.format("U = P/2, V = Q/2")
    cut = text.replace(f"{label},", f"{label}_X,").replace("where U_X", "where U")
    with pytest.raises((ModelError, ReadingError)):
        sr.derive(cut, on="tpu-v5p", mesh="X on ICI")
    for whole in ("N", "K"):
        there = text.replace(f"[{whole},", f"[{whole}_X,")
        there = there.replace(" K]", " K_X]") if whole == "K" else there
        found = sr.derive(there, on="tpu-v5p", mesh="X=2", at="N=2,P=8,Q=8,C=4,K=4,R=3,S=3")
        assert found.value("flops_per_chip") * 2 == found.value("flops")


@pytest.mark.usefixtures("_nothing_is_remembered")
def test_a_stride_that_the_sizes_do_not_say_is_refused_by_the_second_engine(monkeypatch):
    monkeypatch.setattr("symroof.reading.program_checks.stride_of", lambda program, slide: 2)
    with pytest.raises(CheckError, match="there are no U windows over P"):
        sr.derive(TEXT.format("P = 3*U/2, Q = 2*V"), on="h100")
    assert program_sizes.stride_of(read_program(TEXT.format("P = 2*U, Q = 2*V")), Slide("P", "U", "R")) == 2
