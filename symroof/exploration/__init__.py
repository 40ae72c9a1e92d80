"""What becomes of a quantity as sizes, chips and dtypes change: regimes, comparisons, curves, grids of numbers."""
