"""Documents with blocks and values: what stands between their markers is derived, and stays what is derived."""
