"""What Hypothesis draws: operations, regimes, sizes."""

from __future__ import annotations

from hypothesis import strategies as st

LABELS = "BDFHKMNST"
DTYPES = {"int4": 4, "int8": 8, "bf16": 16, "fp32": 32}


@st.composite
def einsums(draw):
    """(text, input shapes, output shape, bits): two operands that share what they contract."""
    labels = draw(st.lists(st.sampled_from(LABELS), min_size=2, max_size=5, unique=True))
    kinds = [draw(st.sampled_from(["left", "right", "batch", "contracted"])) for _ in labels]
    left = [x for x, kind in zip(labels, kinds, strict=True) if kind != "right"]
    right = [x for x, kind in zip(labels, kinds, strict=True) if kind != "left"]
    output = [x for x, kind in zip(labels, kinds, strict=True) if kind != "contracted"]
    shapes = [left, right, output]
    names = [draw(st.sampled_from(list(DTYPES))) for _ in shapes]
    parts = [f"{name}[{', '.join(shape)}]" for name, shape in zip(names, shapes, strict=True)]
    return f"{parts[0]} * {parts[1]} -> {parts[2]}", (left, right), output, [DTYPES[name] for name in names]


def sizes(labels, most=4):
    """Small sizes for every label."""
    return st.fixed_dictionaries({label: st.integers(1, most) for label in labels})


@st.composite
def regimes(draw, names="BDF"):
    """(text, weights): a regime, and a scaling that satisfies it."""
    weights = {name: draw(st.integers(0, 3)) for name in names}
    if len(set(weights.values())) == 1:
        weights[names[0]] = weights[names[0]] + 1
    relations = []
    for x in names:
        for y in names:
            if x < y and weights[x] != weights[y] and draw(st.booleans()):
                small, large = sorted((x, y), key=weights.__getitem__)
                relations.append(f"{small} << {large}")
            elif x < y and weights[x] == weights[y] and draw(st.booleans()):
                relations.append(f"{x} ~~ {y}")
    for x in names:
        if weights[x] > 0 and draw(st.booleans()):
            relations.append(f"{x} -> oo")
    return ", ".join(relations), weights
