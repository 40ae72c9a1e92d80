"""``python -m symroof``."""

from symroof.cli import entry

entry()
