"""Calculations where people type them: what is one, where it begins and ends, and whether anything around it is a part of it."""

import json
import random
import tomllib
from pathlib import Path

import pytest
from effort import draws

import symroof as sr
from symroof.reading.calculations import calculations, read_calculation
from symroof.reading.documents import read_document, read_text
from symroof.reading.name_scope import Scope
from symroof.reading.notebooks import offsets_of, text_of
from symroof.rendering.formulas.plain import PlainPrinter
from symroof.verification.document_claims import judge_read

pytestmark = pytest.mark.part(5)
TABLES = tomllib.loads((Path(__file__).parent / "data" / "calculations.toml").read_text("utf-8"))


def found(text, **how):
    return [(text[one.start : one.end], one.whole) for one in calculations(text, **how)]


def verdicts(text, **how):
    return [one.verdict for one in judge_read(read_text(text, **how), Path()).judgements]


@pytest.mark.parametrize(("text", "sides"), TABLES["sides"].items())
def test_what_stands_behind_a_number_belongs_to_it(text, sides):
    assert [part for part, _ in found(text)] == [text.removesuffix("이다").removesuffix("x")] or found(text)
    claim = read_calculation(text, Scope(open=True, indices=True))
    assert [PlainPrinter().print(side) for side in claim.chains[0].sides] == sides


@pytest.mark.parametrize(("text", "expected"), TABLES["whole"].items())
def test_a_calculation_is_whole_where_nothing_around_it_is_a_part_of_it(text, expected):
    assert found(text) == list(map(tuple, expected))


@pytest.mark.parametrize("text", TABLES["none"]["texts"])
def test_what_is_no_calculation_is_never_called_wrong(text):
    assert "wrong" not in verdicts(text)


@pytest.mark.parametrize("table", ["verdicts", "formulas", "below_a_comment", "without_a_regime"])
def test_units_shares_and_sums_are_judged_and_what_is_almost_one_is_not(table):
    for text, expected in TABLES[table].items():
        head = SIZED.replace("@", "B").replace("int8", "bf16") * (table in ("below_a_comment", "without_a_regime"))
        head = head.replace('assume = "B << D, F"\n', "") if table == "without_a_regime" else head
        assert verdicts(head + text) == expected, text


@pytest.mark.thorough
def test_the_same_calculation_is_judged_alike_wherever_it_stands():
    """In prose, a list, a quotation, a table, code, a block of text, an indented block, mathematics, and a shortcode."""
    draw = random.Random(1)
    for _ in range(draws(12)):
        a, b = draw.randint(2, 99), draw.randint(2, 99)
        unit = draw.choice(["", " GB", " ms"])
        value = a * b + draw.choice([0, 0, 7, -1])
        said = f"{a} * {b}{unit} = {value}{unit}"
        upright = f"\\text{{{unit}}}" if unit else ""
        latex = f"{a} \\cdot {b}{upright} = {value}{upright}"
        frames = (
            "So {} there.", "- {}", "> {}", "| a | b |\n|--|--|\n| x | {} |", "It is `{}`.", "```\n{}\n```", "```text\nsum  {}\n```",
            "Text:\n\n    {}\n", "(here {})",
        )  # fmt: skip
        told = {frame: verdicts(frame.format(said)) for frame in frames}
        told |= {
            frame: verdicts(frame.format(latex))
            for frame in ("${}$", "$${}$$", "{{{{< katex >}}}}{}{{{{< /katex >}}}}")
        }
        expected = ["holds"] if value == a * b else ["wrong"]
        assert all(one == expected for one in told.values()), (said, told)


def test_a_block_in_a_programming_language_is_code():
    for info, judged in (("", ["wrong"]), ("text", ["wrong"]), ("python", []), ("cpp", []), ("bash", [])):
        assert verdicts(f"```{info}\n3 * 4 = 13\n```\n") == judged


def test_the_places_of_a_notebook_are_those_of_its_file(tmp_path):
    """Whatever is in its cells, each character of the text stands in the file where it is said to stand."""
    draw = random.Random(3)
    letters = 'ab=1 $\n"\\\t→字é😀'
    for trial in range(30):
        cells = [
            {"cell_type": draw.choice(["markdown", "code"]), "metadata": {}, "source": "".join(draw.choices(letters, k=draw.randint(0, 30)))}
            for _ in range(4)
        ]  # fmt: skip
        for cell in cells:
            if trial % 2:
                cell["source"] = cell["source"].splitlines(keepends=True)
        file = json.dumps({"cells": cells, "nbformat": 4}, indent=trial % 3 or None, ensure_ascii=trial % 5 == 0)
        text, offsets = text_of(file), offsets_of(file)
        assert len(text) == len(offsets)
        for character, offset in zip(text, offsets, strict=True):
            if character not in "\0\n":
                assert file[offset] in (character, "\\")
    path = tmp_path / "one.ipynb"
    cells = [{"cell_type": "markdown", "metadata": {}, "source": ["So\n", "it is $1 + 1 = 3$.\n"]}]
    path.write_text(json.dumps({"cells": cells, "nbformat": 4}, indent=1), "utf-8")
    (part,) = read_document(path).parts
    (judgement,) = sr.verify(path).judgements
    line = path.read_text("utf-8").split("\n")[judgement.line - 1]
    assert (judgement.line, judgement.column) == part.place
    assert line[judgement.column - 1 :].startswith("$1 + 1 = 3$")


PIECES = (
    "3", "4.5", "1,024", "1e9", "2B", "7k", "8 GB", "16 GiB", "32 layers", "(K and V)", " * ", " x ", " / ", " + ", " - ", "^2", "**2",
    " = ", " ≈ ", " < ", "->", "(", ")", "[", "]", "$", "$$", "`", "```\n", "\n\n", "\n", "| ", " |\n|--|--|\n", "- ", "> ", "N", "L_g",
    "n_{kv}", "\\frac{", "}{", "}", "\\text{", "\\mathrm{B}", "\\lim_{n \\to \\infty}", "f(n)", "T'", "x^*", "x^{(k)}", "\\bar x", "\\#ops",
    " of ", " is ", "half ", "130 亿", "1억 8천만", "바이트", "毫秒", "total", "{{< katex >}}", "{{< /katex >}}", ", ", ". ", "%", "\\iff",
    "\\approx", "\\boxed{", "O(n)", "(t,p) = (4, 4)", "[2, 3] x [3, 4] = [2, 4]", "# A\n", "with ",
)  # fmt: skip


def test_no_text_breaks_the_reading_of_a_document():
    draw = random.Random(5)
    for _ in range(draws(250)):
        text = "".join(draw.choices(PIECES, k=draw.randint(5, 60)))
        for tex in (False, True):
            judge_read(read_text(text, tex=tex), Path())


SIZED = '<!-- symroof\noperation = "bf16[@, D] * int8[D, F] -> bf16[@, F]"\nhardware = "tpu-v5e"\nassume = "@ << D, F"\n-->\n\n'
WITH_LETTERS = '<!-- symroof\nsymbols = ["@"]\n-->\n\n'
AS_UNITS = r"""
We are compute-bound if 2@ > 1. We are compute-bound if 2@ < 240. So 2@ * 3 = 6e9, 2@*4 = 8 bytes and 3 @ * 2 = 6e12.

So 2@ * 3 = 6 bytes, 2@*4 = 8 million and 3 @ / 2 = 1500. It is 4 * 3@ < 13.

And `2@ < 240`, `2@*3 = 6e9`, `2 @ * 3 = 6e3`, $2\text{@} = 2e9$, $3\text{ @} = 3$, $4\,\mathrm{@} < 240$, $2@ = 2 \cdot 10^6$.
"""


@pytest.mark.parametrize("letter", [*"BGKMTQbksgPmh"])
@pytest.mark.parametrize("head", [SIZED, WITH_LETTERS], ids=["a size", "declared"])
def test_a_letter_that_is_a_size_is_no_unit(head, letter):
    """Under whatever name: nothing is judged that is a claim about a unit alone, and what is true of a size is not wrong."""
    assert verdicts((head + AS_UNITS).replace("@", letter)) == []
    alike = r"Here 4@ * 2 = 8@, `6@ - 2@ = 4@` and $\frac{4@}{2} = 2@$.".replace("@", letter)
    assert set(verdicts(head.replace("@", letter) + alike)) == {"holds"}
