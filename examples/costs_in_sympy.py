"""Costs are plain SymPy: differentiate them, substitute, compare two ways of storing the weights."""

import sympy

import symroof as sr

B, D, F = sr.dimensions("B D F")
bf16 = sr.operation("bf16[B, D] * bf16[D, F] -> bf16[B, F]").cost()
int8 = sr.operation("bf16[B, D] * int8[D, F] -> bf16[B, F]").cost()

print("intensity:", bf16.intensity)
print("gain of int8 weights:", sympy.cancel(int8.intensity / bf16.intensity))
print("at B = 1:", sympy.cancel((int8.intensity / bf16.intensity).subs(B, 1)))
print("for a small batch:", sympy.limit(sympy.limit(int8.intensity / bf16.intensity, D, sympy.oo), F, sympy.oo))
