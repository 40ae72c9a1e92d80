"""Formulas in print: LaTeX, lines of text, cost functions as their author wrote them."""
