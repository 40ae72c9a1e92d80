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
GREEK = dict(zip("αβγδεζηθκλμνξπρστφχψω", ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "kappa", "lambda", "mu", "nu", "xi", "pi", "rho", "sigma", "tau", "phi", "chi", "psi", "omega"], strict=True))  # fmt: skip


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
            return other.replace("LINK", self.link) if letter in self.dimensions else letter
        if name in WORDS:
            return rf"\text{{{WORDS[name]}}}"
        head, _, tail = name.partition("_")
        if not tail and len(head) > 1 and head[1:].isdigit():
            head, tail = head[0], head[1:]
        letter = self._letter(head)
        return letter if not tail else rf"{letter}_{{\text{{{tail.replace('_', ' ')}}}}}"

    def _letter(self, head: str) -> str:
        if head in GREEK:
            return "\\" + GREEK[head]
        if not head.isascii():
            head = "".join(GREEK.get(c, c) for c in head)
        return head if len(head) == 1 else rf"\mathrm{{{head}}}"

    def plain(self, name: str) -> str:
        """The name in claim syntax.

        >>> Letters().plain("flops_exact")
        'flops'
        """
        return PLAIN.get(name, name)
