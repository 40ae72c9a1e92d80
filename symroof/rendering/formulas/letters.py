"""How names are printed: letters for quantities, which give way to dimensions of the same letter."""

from __future__ import annotations

from dataclasses import dataclass

# The letter of a quantity, what it becomes where a dimension has that letter, and its name in claim syntax.
QUANTITY_LETTERS = {
    "intensity": ("I", r"\text{intensity}"),
    "ridge": ("R", r"I_{\text{ridge}}"),
    "peak": ("C", r"C_{\text{peak}}"),
    "bandwidth": ("W", r"W_{\text{LINK}}"),
}
WORDS = {
    "flops": "FLOPs",
    "flops_exact": "FLOPs",
    "flops_per_chip": "FLOPs per chip",
    "reads": "reads",
    "writes": "writes",
    "bytes": "bytes",
    "bytes_per_chip": "bytes per chip",
    "sent": "bytes sent",
    "throughput": "throughput",
}
PLAIN = {"flops_exact": "flops"}
GREEK = {
    "α": "alpha",
    "β": "beta",
    "γ": "gamma",
    "δ": "delta",
    "ε": "epsilon",
    "ζ": "zeta",
    "η": "eta",
    "θ": "theta",
    "ι": "iota",
    "κ": "kappa",
    "λ": "lambda",
    "μ": "mu",
    "ν": "nu",
    "ξ": "xi",
    "π": "pi",
    "ρ": "rho",
    "σ": "sigma",
    "τ": "tau",
    "υ": "upsilon",
    "φ": "phi",
    "χ": "chi",
    "ψ": "psi",
    "ω": "omega",
    "Γ": "Gamma",
    "Δ": "Delta",
    "Θ": "Theta",
    "Λ": "Lambda",
    "Ξ": "Xi",
    "Π": "Pi",
    "Σ": "Sigma",
    "Υ": "Upsilon",
    "Φ": "Phi",
    "Ψ": "Psi",
    "Ω": "Omega",
}


@dataclass(frozen=True, slots=True)
class Letters:
    """The printed forms of names, given the dimensions and the link of a problem."""

    dimensions: frozenset[str] = frozenset()
    link: str = "HBM"

    def latex(self, name: str) -> str:
        r"""
        >>> Letters(frozenset({"R"})).latex("ridge"), Letters().latex("d_model"), Letters().latex("T_math")
        ('I_{\\text{ridge}}', 'd_{\\text{model}}', 'T_{\\text{math}}')
        """
        if name in QUANTITY_LETTERS:
            letter, other = QUANTITY_LETTERS[name]
            return other.replace("LINK", self.link.replace("_", " ")) if letter in self.dimensions else letter
        if name in WORDS:
            return rf"\text{{{WORDS[name]}}}"
        head, _, tail = name.partition("_")
        if not tail and len(head) > 1 and head[1:].isdigit():
            head, tail = head[0], head[1:]
        if len(head) > 1:
            return rf"\text{{{_spelled(name)}}}"
        letter = "\\" + GREEK[head] if head in GREEK else head
        return letter if not tail else rf"{letter}_{{\text{{{_spelled(tail)}}}}}"

    @property
    def runs(self) -> bool:
        """Whether the name of a dimension is a run of others, so that products need spaces: BD beside B and D.

        >>> Letters(frozenset({"B", "D", "BD"})).runs
        True
        """
        return any(len(name) > 1 and set(name) <= self.dimensions for name in self.dimensions)

    def plain(self, name: str) -> str:
        """The name in claim syntax.

        >>> Letters().plain("flops_exact")
        'flops'
        """
        return PLAIN.get(name, name)


def _spelled(word: str) -> str:
    """A word as text: its underscores are spaces, its Greek letters are spelled out."""
    return "".join(GREEK.get(c, c) for c in word.replace("_", " "))
