"""The functions that Python users call: text or values in, derivations out. Each module loads what its questions need."""

import sympy  # noqa: F401 (first, and from here: deep in other imports Python 3.11 takes a third longer for it)
