"""Nothing of a figure can be left out: one result less of a producer is refused, not drawn."""

from dataclasses import replace
from functools import cache

import pytest

import symroof as sr
from symroof.errors import CheckError
from symroof.exploration.measuring import require_measured

pytestmark = pytest.mark.part(3)

MLP = "input x: bf16[N, D]; weight V: bf16[D, F]; weight W: bf16[F, G]; h = x * V -> bf16[N, F]; a = relu(h); y = a * W -> bf16[N, G]"
AT = {"N": 64, "D": 512, "F": 1024, "G": 512}
LLAMA = "S=8192,V=128256,D=4096,K=8,G=4,H=128,F=14336,L=32"


@cache
def drawing(kind):
    if kind == "latency":
        return sr.plot("decode-step", on="h100", at=LLAMA, over="B=1:256:log", kind=kind).drawing
    if kind == "scaling":
        return sr.plot("examples/mesh.toml", over="X=1..256", at="Y=4,B=65536,D=8192,F=28672").drawing
    if kind == "regimes":
        return sr.plot("matmul", on="tpu-v5e", at="F=8192", over="B=1..10000,D=1..10000").drawing
    return sr.plot(MLP, on="h100", at=AT, kind=kind).drawing


def without(parts, i):
    return (*parts[:i], *parts[i + 1 :])


def sensitivity(d):
    (point,) = d.points
    for i in range(len(point.changes)):
        yield replace(d, points=(replace(point, changes=without(point.changes, i)),))


def breakdown(d):
    for i in range(len(d.bars)):
        yield replace(d, bars=without(d.bars, i), each=d.each - 1)
        for j in range(len(d.bars[i].statements)):
            bar = d.bars[i]
            parts = [step for step in bar.steps if step.role == "part"]
            fewer = replace(
                bar,
                statements=without(bar.statements, j),
                steps=tuple(step for step in bar.steps if step is not parts[j]),
            )
            yield replace(d, bars=(*d.bars[:i], fewer, *d.bars[i + 1 :]))


def roofline(d):
    for i in range(len(d.tracks)):
        yield replace(d, tracks=without(d.tracks, i))


def latency(d):
    (curve,) = d.curves
    yield replace(d, curves=(replace(curve, full=None),))
    for i in range(len(curve.marks)):
        yield replace(d, curves=(replace(curve, marks=without(curve.marks, i)),))


def scaling(d):
    (curve,) = d.curves
    for i in range(len(curve.stretches)):
        yield replace(d, curves=(replace(curve, stretches=without(curve.stretches, i)),))


def regimes(d):
    yield replace(d, beyond=())
    for i in range(0, len(d.beyond), max(1, len(d.beyond) // 12)):
        yield replace(d, beyond=without(d.beyond, i))
    for i in range(len(d.regions)):
        yield replace(d, regions=without(d.regions, i))


@pytest.mark.parametrize("drop", [sensitivity, breakdown, roofline, latency, scaling, regimes])
def test_what_is_left_out_is_noticed(drop):
    whole = drawing(drop.__name__)
    require_measured(whole)
    tried = 0
    for less in drop(whole):
        tried += 1
        with pytest.raises(CheckError):
            require_measured(less)
    assert tried > 1
