"""The batch size from which a matrix product is compute-bound, on every chip that has the figures."""

import symroof as sr

for name, chip in sr.list_chips().items():
    if "HBM" not in chip.figures or "peak.bf16" not in chip.figures:
        continue
    d = sr.derive("bf16[B, D] * bf16[D, F] -> bf16[B, F]", on=name, assume="B << D, F", at={"D": 8192, "F": 8192})
    print(
        f"{chip.title:<12} rule B >= {d.answer.smallest_integer:>4}   at D = F = 8192: B >= {d.answer.at[0].smallest_integer}"
    )
