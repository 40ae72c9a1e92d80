"""Rational functions of positive symbols: dominance, limits, inequalities, optima, rounding. Knows no roofline."""
