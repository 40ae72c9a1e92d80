"""What a problem may state: each key, what it says, and the flag of the command line that gives the same."""

from __future__ import annotations

from symroof.formula import Frozen


class Key(Frozen):
    """A ``flag`` takes what its ``metavar`` names, or stands alone. ``traits`` are words for what else is so: a key is
    ``usual`` in the help of commands; its flag may stand ``several`` times; it speaks of an ``operation`` alone, or of what
    ``derive`` is asked; it says how ``claims`` are read; it is ``kept`` where another operation follows."""

    name: str
    says: str
    flag: str = ""
    metavar: str | None = None
    traits: str = ""


# fmt: off
KEYS = {key.name: key for key in (
    Key("operation", "an operation, a program, or a name of the library"),
    Key("title", "what the page is called"),
    Key("claims", "what is to be judged: a list of claims"),
    Key("sections", "only these sections of the page"),
    Key("statement", "only what is said of this statement of a program"),
    Key("flops", "an operation by its costs: FLOPs as a formula of its sizes", traits="operation"),
    Key("reads", "the bytes that it reads", traits="operation"),
    Key("writes", "the bytes that it writes", traits="operation"),
    Key("vector", "whether the vector unit does its work", traits="operation"),
    Key("tolerance", "how far a printed number may be off", traits="claims kept"),
    Key("roughly", "how far numbers behind ≈ may differ: 10 %", traits="claims kept"),
    Key("digits", "nearest: printed numbers are rounded, and none is cut off", traits="claims kept"),
    Key("gb", "any: a GB may be 2^30 bytes as well", traits="claims kept"),
    Key("aliases", "words of your own for quantities", traits="claims kept"),
    Key("lang", "the language of the page: en, ko or zh", traits="kept"),
    Key("hardware", "A chip; see `symroof list chips`.", "--on", "CHIP", "usual several kept"),
    Key("assume", "A regime: 'B << D, F' or 'N -> oo'.", "--assume", "REGIME", "usual several"),
    Key("given", "A figure: HBM=8.1e11, peak='3e14 OPs/s'.", "--given", "NAME=VALUE", "usual several kept"),
    Key("mesh", "The axes of a mesh: X=2, 'X=16 ring', or 'X, Y=4 on ICI'.", "--mesh", "AXES", "usual several operation"),
    Key("link", "The memory or link to compare with: HBM, ICI, …", "--link", "NAME", "usual several operation"),
    Key("solve_for", "The size to solve for.", "--for", "SIZE", "usual"),
    Key("solve", "A relation to solve: 'weights <= N*capacity.HBM' --for N.", "--solve", "RELATION"),
    Key("minimize", "What is to be least: 'max(T_X, T_Y)' --over X.", "--minimize", "FORMULA", "derive"),
    Key("over", "The size that it is to be least over.", "--over", "SIZE", "derive"),
    Key("subject", "What is shared out: 'X*Y = N'.", "--subject", "EQUATION", "derive"),
    Key("let", "A formula with a name: tokens=B/T_lower.", "--let", "NAME=FORMULA", "several"),
    Key("symbols", "A name of your own in formulas, with a number in --at: mfu.", "--symbol", "NAME", "several"),
    Key("at", "Sizes to put in: D=F=8192,B=256.", "--at", "SIZES", "usual several"),
    Key("count", "How additions count.", "--count", "fma|exact", "operation kept"),
    Key("compute", "The dtype whose peak rate the arithmetic runs at.", "--compute", "DTYPE", "kept"),
    Key("dtype", "The dtype of tensors that do not state one; or of a role: weights=int8,caches=fp8,frozen=int4.", "--dtype", "DTYPE", "usual operation kept"),
    Key("functions", "A function of a program, with its operations for each element: f=3.", "--function", "NAME=N", "several"),
    Key("chips", "A file with chips of your own.", "--chips", "FILE", "several kept"),
    Key("pad", "Sizes that chips do not share out are the next multiple.", "--pad"),
    Key("config", "The sizes of a model: a config.json as model hubs have them.", "--config", "FILE", "usual"),
    Key("keep", "Weights that stay gathered for the backward pass.", "--keep", "WEIGHTS", "several"),
    Key("regather", "Other tensors that are gathered again in the backward pass.", "--regather", "TENSORS", "several"),
    Key("reduce", "When the gradients of microbatches are added up over the chips: after the last, or each.", "--reduce", "last|each"),
    Key("schedule", "Whether the stages of a pipeline go back as soon as they can, or forward with all microbatches first.", "--schedule", "1f1b|gpipe"),
    Key("latency", "An exchange takes at least the time of its hops.", "--latency"),
    Key("training", "The backward pass as well: a training step.", "--training", traits="usual"),
)}
# fmt: on

# What other programs call a key.
CALLED = {
    **dict.fromkeys(("on", "chip", "device", "gpu", "tpu", "accelerator"), "hardware"),
    **dict.fromkeys(("sizes", "size", "shape", "values"), "at"),
    **dict.fromkeys(("regime", "assuming", "where"), "assume"),
    **dict.fromkeys(("language", "locale"), "lang"),
    **dict.fromkeys(("for", "variable"), "solve_for"),
    **dict.fromkeys(("op", "program", "model"), "operation"),
}


def having(trait: str) -> tuple[str, ...]:
    """The keys of which something is so.

    >>> having("derive")
    ('minimize', 'over', 'subject')
    """
    return tuple(name for name, key in KEYS.items() if trait in key.traits.split())
