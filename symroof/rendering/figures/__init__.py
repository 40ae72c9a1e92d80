"""Figures: curves, rooflines and regime maps, drawn."""
