"""Units in every spelling, comments that add to one another, and what a report as a whole says."""

from fractions import Fraction

import pytest
from texts import judged

PREFIXES = {"": 0, "G": 9, "T": 12, "P": 15}
SPELLINGS = {  # the unit: its value in base units, and the base unit
    **{f"{p}FLOPs": (Fraction(10) ** e, "FLOPs") for p, e in PREFIXES.items()},
    **{f"{p}FLOP": (Fraction(10) ** e, "FLOPs") for p, e in PREFIXES.items()},
    **{f"{p}OPs": (Fraction(10) ** e, "FLOPs") for p, e in PREFIXES.items()},
    **{f"{p}{noun}": (Fraction(10) ** e, "FLOPs/s") for p, e in PREFIXES.items() for noun in ("FLOPs/s", "FLOP/s", "FLOPS", "OPs/s")},
    **{unit: (Fraction(10) ** -e, "s") for unit, e in (("s", 0), ("sec", 0), ("ms", 3), ("us", 6), ("ns", 9))},
    **{unit: (Fraction(10) ** e, "bytes") for unit, e in (("bytes", 0), ("kB", 3), ("MB", 6), ("GB", 9), ("TB", 12))},
    **{unit: (Fraction(2) ** e, "bytes") for unit, e in (("KiB", 10), ("MiB", 20), ("GiB", 30))},
    **{f"{unit}/s": (Fraction(10) ** e, "bytes/s") for unit, e in (("bytes", 0), ("kB", 3), ("MB", 6), ("GB", 9), ("TB", 12))},
    "bytes/second": (Fraction(1), "bytes/s"),
}  # fmt: skip
MATMUL = 'operation = "bf16[B, D] * bf16[D, F] -> bf16[B, F]"'


@pytest.mark.thorough
def test_every_unit_of_a_chapter_is_as_large_as_it_is(tmp_path):
    """3 PFLOP/s is 3e15 FLOPs/s, and neither ten times that nor so many bytes."""
    lines, expected = [], []
    for unit, (size, base) in SPELLINGS.items():
        value = (
            f"{float(3 * size):.17g}"
            if size.denominator == 1
            else f"{3 * size.numerator}e-{len(str(size.denominator)) - 1}"
        )
        other = "bytes" if base == "s" else "s"
        for number, of, verdict in ((value, base, "holds"), (f"10 * {value}", base, "wrong"), (value, other, "wrong")):
            lines.append(f"$3 \\text{{ {unit}}} = {number.replace('*', chr(92) + 'cdot')} \\text{{ {of}}}$\n")
            expected.append(verdict)
    judgements = judged(tmp_path, "\n".join(lines)).judgements
    surprises = [
        (line.strip(), j.verdict)
        for line, j, verdict in zip(lines, judgements, expected, strict=True)
        if j.verdict != verdict
    ]
    assert surprises == []


def test_known_numbers_of_comments_are_merged_and_the_later_one_counts(tmp_path):
    head = f'<!-- symroof\n{MATMUL}\nhardware = "tpu-v5e"\ngiven = {{ HBM = "8e11" }}\n-->\n\n'
    text = (
        head
        + '$ridge = 246.25$\n\n<!-- symroof given = { peak = "4e14" } -->\n\n$ridge = 500$\n\n<!-- symroof given = { HBM = "4e11" } -->\n\n$ridge = 1000$\n'
    )
    assert [j.verdict for j in judged(tmp_path, text.replace("$ridge", "$\\text{ridge}")).judgements] == ["holds"] * 3
