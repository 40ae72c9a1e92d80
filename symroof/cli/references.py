"""``symroof list``: the chips, operations and words that derivations are made of; ``symroof help``: the short references of
programs, problems and claims. Both are made of the tables that the readers read by."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import click

from symroof.cli.options import form_option, lang_option
from symroof.cli.output import write, write_json
from symroof.errors import ReadingError, require_one_of
from symroof.reading.keys import KEYS
from symroof.reading.vocabulary import VOCABULARY, WORDS

Asked = Mapping[str, Any]
# What is listed, one of it as a record, and all of it as a table in a language.
Listed = tuple[Any, Callable[[Any], Any], Callable[[Any, str | None], str]]

# What may stand on a line of a program, and what it says. Each of these is read in the tests.
STATEMENTS = (
    ("input x: bf16[B, D]", "what comes from outside: read where it is used"),
    ("weight W: bf16[D, F]", "parameters; several of one type: weight W1, W3: bf16[D, F]"),
    ("cache C: bf16[B, S, D]", "what stays in memory from step to step"),
    (
        "frozen weight W: bf16[D, F]",
        "what is not trained and has no gradient; so frozen input x (a repeat carries one in each turn)",
    ),
    ("shared weight V: bf16[D, E]", "one for all turns of a repeat; its gradients are added up"),
    (
        "mesh X, Y=4 on ICI",
        "axes of chips; D_X is a dimension D that is split over X; Z=64 on NVLink(8)/leaf is one over a tree",
    ),
    ("h = x * W -> bf16[B, F]", "a product, contracted over what the result lacks; of two or more tensors"),
    ("y = x + v", "a sum, or a difference, of tensors of one shape; y = a * b elementwise likewise"),
    ("a = gelu(h)", "a function of each element, from the table below"),
    ("p = softmax(s, S)", "a function of each row over S; norms take their gains: rms_norm(x, g)"),
    (
        "g = q * k -> bf16[B, T, S] masked S <= T",
        "in a fuse: the pairs that a causal mask leaves; … from the first: row t meets t; …, window W: the last W alone",
    ),
    ("ff = f / sqrt(H)", "times a number or sizes: 0.5 * x, x * (1/H), x / 8; one operation for each element"),
    ("n = sum(f, T)", "over a dimension, or several; mean(x, D) and max(x, D) likewise"),
    ("v = t -> bf16[B, D]", "the same tensor, split otherwise: an exchange; alone it is a program too"),
    ("so = send(v, Y)", "what each chip has goes to the next one along Y; send(v, corner): to the farthest chip"),
    (
        "u = v -> bf16[B, K, H]",
        "the same tensor in other dimensions, where D = K*H: nothing moves, nor from D_Y to K_Y",
    ),
    ("d = q * q[T -> Z] -> bf16[B, T, Z]", "a dimension by another name, of the same size; where it is new, Z = T"),
    ("ee = slice(x, D, 8)", "8 places of D: nothing moves; slices of one tensor are different places of it"),
    (
        "cc = concat(a, m) -> bf16[B, G]",
        "behind one another, where G = F + E: what is made is written there, what is declared is copied",
    ),
    ("cn = append(C, x, S)", "a cache with x written into it: S counts it, and x alone is written"),
    (
        "w = windows(i) -> bf16[N, P, R, C]",
        "a place for each, or with where P = 2*Z for every second; rearrange(x), lookup(table, ids): other dimensions",
    ),
    ("fuse { … }", "what is made inside and used only there stays on the chip"),
    (
        "recompute { … }",
        "made once more in the backward pass, and counted again; of it nothing is kept but what others read; what it gathers is gathered again",
    ),
    (
        "repeat L as x = z { … }",
        "L times, with weights and caches of their own; x of a turn is z of the one before; repeat L shared: one of each for all turns; x = z, m = n: several",
    ),
    (
        "accumulate M { … }",
        "M microbatches: inputs of their own, the weights of all; each goes back before the next, gradients are added up",
    ),
    (
        "repeat L over P as x = z { … }",
        "a pipeline: each chip of the axis P has L/P of the turns, a stage; microbatches around it go through, and stages wait",
    ),
    (
        "scan S as es = ss { … }",
        "S turns that share all weights: what has S is seen at the place of the turn, and what is used behind has S; in a fuse es stays on the chip",
    ),
    ("fo = place(f, T)", "of a repeat of T turns: what f has at the place of this one"),
    ("po = collect(to, T)", "and what all turns have made of to, each at its place"),
    ("block attention { … }", "statements that overlap as one in T_steps"),
    ("where c = B*k/E", "a size that others define; it may be the least of several, min(E, B*k)"),
    ("where k <= E", "what is known of sizes: it decides which of them that is, as --assume and --at do"),
    ("output a", "what is returned although it is used"),
)
# What a claim may look like. Each of these is read in the tests.
CLAIMS = (
    ("intensity = B*D*F/(B*D + D*F + B*F)", "an identity; a chain of several: a = b = c"),
    ("intensity ~ B assuming B << D, F", "an approximation in a regime"),
    ("intensity -> 1/2 as N -> oo", "a limit"),
    ("T_math > T_comms <=> B > 240", "conditions that are the same; => is one that follows"),
    ("compute-bound when B > 240", "where the arithmetic takes longer; never, always"),
    ("bytes = 2BD + 2DF + 2BF at B = 1", "at sizes that are put in"),
    ("weights = 14 GB", "with a unit; digits may be rounded or cut off"),
    ("not (B > 3 and D > 4) <=> B <= 3 or D <= 4", "joined by and, or, not"),
    ("max(B, D) >= B", "max, min, sqrt, log, log2, exp, floor, ceil, abs in formulas"),
)


def programs() -> Iterator[str]:
    """Statements and functions, with the operations of each."""
    from symroof.model.functions import FUNCTIONS

    yield "A program is a statement on each line, or between semicolons; # starts a comment.\n"
    yield from _rows(STATEMENTS)
    yield "\nFunctions, the operations for each element of a row and for the row, forward and to the first operand:\n"
    head = ("function", "forward", "backward")
    rows = (
        (f.name, _work(f.each, f.row), _work(f.back_each, f.back_row) if f.back is not None else "-")
        for f in FUNCTIONS.values()
    )
    yield from _rows((head, *rows))
    yield "\nA function of your own: --function f=3, with 3 operations for each element."


def _work(each: object, row: object) -> str:
    """
    >>> _work(5, -2), _work(4, 2), _work(3, 0), _work(0, 0)
    ('5N - 2', '4N + 2', '3N', 'none')
    """
    whole = int(str(row))
    if not each and not whole:
        return "none"
    return f"{'' if each == 1 else each}N" + (f" {'+' if whole > 0 else '-'} {abs(whole)}" if whole else "")


def problems() -> Iterator[str]:
    """The keys of a problem file, with the flag that gives the same."""
    yield "A problem file is TOML; [[problem]] begins each of several. A flag goes before the key of the file.\n"
    yield from _rows((("key", "flag", "says"), *((key.name, key.flag, key.says) for key in KEYS.values())))


def claims() -> Iterator[str]:
    """What claims look like."""
    yield 'A claim stands in claims = ["…"] of a problem, or in a document. Behind it: assuming R, as x -> oo, at B = 1.\n'
    yield from _rows(CLAIMS)


def _rows(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield ("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))).rstrip()


TOPICS: Mapping[str, Callable[[], Iterator[str]]] = {"programs": programs, "problems": problems, "claims": claims}


@click.command("help")
@click.argument("topic", required=False)
def reference(topic: str | None) -> None:
    """Print the short reference of programs, problems or claims."""
    if topic is None:
        write("".join(f"symroof help {name:10} {make.__doc__}\n" for name, make in TOPICS.items()))
        return
    topic = "problems" if topic == "options" else topic  # a flag is a key of a problem
    require_one_of(topic, TOPICS, f"there is no reference of {topic!r}")
    write("".join(f"{line}\n" for line in TOPICS[topic]()))


def list_chips(names: Sequence[str], asked: Asked) -> Listed:
    """The chips with their figures; of one its sources and its parts as well."""
    from symroof.model.hardware import findings
    from symroof.reading.catalogue import catalogue, chip
    from symroof.rendering.pages import catalogues

    every = catalogue(*asked["chips"])
    chosen = [chip(name, *asked["chips"]) for name in names] or [*every.values()]
    if asked["check"]:
        known = [one.name for one in chosen]
        found = [one for one in findings(every.values()) if one.chip in known]
        return found, catalogues.finding_record, lambda found, lang: catalogues.findings_table(found, len(known), lang)
    if names:
        return chosen[0], catalogues.chip_record, catalogues.chip_table
    return chosen, catalogues.chip_record, catalogues.chips_table


def list_operations(names: Sequence[str], asked: Asked) -> Listed:
    """The operations of the library; one as text to paste and to change."""
    from symroof.reading.configurations import program_with_sizes
    from symroof.reading.operations import entries, required
    from symroof.rendering.pages import catalogues

    if asked["config"] is not None:
        sized = program_with_sizes(required(names[0] if names else "decoder"), asked["config"])
        return sized, str, lambda text, _: text
    if names:
        return required(names[0]), catalogues.operation_record, catalogues.operation_table
    return list(entries().values()), catalogues.operation_record, catalogues.operations_table


def list_words(names: Sequence[str], asked: Asked) -> Listed:
    """The words of textbooks that name quantities, and those of programs alone; `aliases` in a problem add to them."""
    from symroof.rendering.pages.terminal import words_table

    if names:
        raise ReadingError("the words are one list", expected="symroof list words")
    parts = VOCABULARY, WORDS["amounts"]
    return {**parts[0], **parts[1]}, dict, lambda _, lang: "\n".join(words_table(part, lang) for part in parts)


LISTS = {"chips": list_chips, "operations": list_operations, "words": list_words}
# The list that an option is of.
OPTIONS = {"chips": "chips", "check": "chips", "config": "operations"}


@click.command("list")
@click.argument("what", type=click.Choice([*LISTS]), required=False)
@click.argument("names", nargs=-1, metavar="[NAME]")
@click.option("--chips", multiple=True, metavar="FILE", help=KEYS["chips"].says)
@click.option(
    "--check", is_flag=True, help="Look through the chips for what cannot be; exit status 1 where something is."
)
@click.option("--config", metavar="FILE", help="A config.json: the text of an operation with its sizes.")
@lang_option
@form_option("text", "json")
def listing(what: str | None, names: tuple[str, ...], lang: str | None, form: str, **asked: Any) -> None:
    """List the chips, the operations of the library, or the words that name quantities; or show one of them.

    \b
    symroof list chips h100
    symroof list operations decoder --config config.json
    """
    for option, kind in OPTIONS.items():
        if asked[option] and what != kind:
            raise ReadingError(f"--{option} is of another list", expected=f"symroof list {kind} --{option}")
    if len(names) > 1:
        raise ReadingError(f"one of {what} is shown at a time, and there are {len(names)}: {', '.join(names)}")
    if what is None:
        write("".join(f"symroof list {name:11} {make.__doc__}\n" for name, make in LISTS.items()))
        return
    shown, record, table = LISTS[what](names, asked)
    if form == "text":
        write(table(shown, lang))
    else:
        write_json([record(one) for one in shown] if isinstance(shown, list) else record(shown))
    if asked["check"] and shown:
        raise SystemExit(1)
