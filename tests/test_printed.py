"""verify accepts what symroof prints: every formula of a page is right in the problem that the page is about.

What is left out is listed, by its kind; a kind that is not allowed here fails, and so does a page of which little is read.
"""

import json
from dataclasses import replace
from random import Random

import pytest
from test_golden import PAGES

import symroof as sr
from symroof.formula import number
from symroof.proof.exact import ORDER
from symroof.reading.claims import BOUND
from symroof.reading.exercises import read_exercise
from symroof.reading.latex import read_latex
from symroof.reading.latex_tokens import Dialect
from symroof.verification.definitions import context_of
from symroof.verification.files import judge_file
from symroof.verification.judge import judge
from symroof.verification.judgement import ACCEPTED

pytestmark = pytest.mark.part(3)

LETTERS = {"I": "intensity", "R": "ridge", "C": "peak", "W": "bandwidth"}
# What stands on a page and claims nothing; what is a condition is judged by itself below.
NO_CLAIM = {"operation", "assumption", "size", "code", "row", "definition", "words", "condition"}
# What the reader does not know: the cases of a solution, a list with one relation, a factor alone, a limit with remarks, words.
UNREAD = (r"\begin{cases}", "FLOPs per chip", r"\ge 40", r"\frac{1}{1 -", r"\to \frac", r"\to \infty")
RANDOM = Random(4)
CHIPS = ("tpu-v5e", "h100-sxm", "tpu-v6e", "a100-sxm")
DRAWN = {
    f"random {i}": {
        "operation": "{}[B, D] * {}[D, F] -> bf16[B, F]".format(*(RANDOM.choice(("bf16", "int8")) for _ in range(2))),
        "on": RANDOM.choice(CHIPS),
        "count": RANDOM.choice(("fma", "exact")),
        **({"assume": RANDOM.choice(("B << D, F", "D << B, F"))} if i % 2 else {}),
    }
    for i in range(3)
}
ALL = {**{name: options for name, options in PAGES.items() if name != "clash"}, **DRAWN}  # whose letters are other ones


def toml(value):
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {toml(one)}" for key, one in value.items()) + " }"
    return str(value) if isinstance(value, int) else json.dumps(value)


def problem_of(options):
    options = {
        {"on": "hardware"}.get(key, key): value for key, value in options.items() if key not in ("at", "solve_for")
    }
    return {**options, "aliases": LETTERS}


@pytest.fixture(scope="module", params=ALL)
def page(request, tmp_path_factory):
    """A page with its problem as the comment at its head, judged; the page itself has no comment."""
    problem = problem_of(ALL[request.param])
    head = "\n".join(f"{key} = {toml(value)}" for key, value in problem.items())
    path = tmp_path_factory.mktemp("printed") / "page.md"
    path.write_text(f"<!-- symroof\n{head}\n-->\n\n{sr.derive(**ALL[request.param]).to_markdown()}", "utf-8")
    return request.param, problem, judge_file(path)


@pytest.mark.thorough
def test_every_formula_of_a_page_is_right(page):
    _, problem, report = page
    assert report.error is None
    for judgement in report.judgements:
        rounded_count = judgement.verdict == "conditional" and "counting an addition" in judgement.claim
        without_regime = judgement.verdict == "conditional" and "assume" not in problem
        assert judgement.verdict in ACCEPTED or rounded_count or without_regime, f"{judgement.line}: {judgement.claim}"
    assert len(report.judgements) >= 10


@pytest.mark.thorough
@pytest.mark.parametrize("lang", ["ko", "zh"])
@pytest.mark.parametrize("name", [name for name in ALL if name not in DRAWN])
def test_a_page_of_another_language_is_read_as_well(name, lang, tmp_path):
    """Its guarded solution too, which is wrong with twice the ridge in it."""
    head = "\n".join(f"{key} = {toml(value)}" for key, value in problem_of(ALL[name]).items())
    text = f"<!-- symroof\n{head}\n-->\n\n{sr.derive(**ALL[name]).to_markdown(lang=lang)}"
    report = judged(text, tmp_path)
    assert {judgement.verdict for judgement in report.judgements} <= {*ACCEPTED, "conditional"}
    assert len(report.judgements) >= 14
    if name == "matmul":
        changed = text.replace("DF - R(", "DF - 2R(")
        assert "wrong" in {judgement.verdict for judgement in judged(changed, tmp_path).judgements}


def judged(text, folder):
    (folder / "page.md").write_text(text, "utf-8")
    return judge_file(folder / "page.md")


@pytest.mark.thorough
def test_what_is_left_out_claims_nothing(page):
    for skipped in page[2].skipped:
        kind = skipped.reason.kind
        unread = kind in ("unreadable", "no_left", "not_decided") and any(part in skipped.text for part in UNREAD)
        assert kind in NO_CLAIM or unread, f"{skipped.line}: {skipped.text}: {skipped.reason}"


@pytest.mark.thorough
@pytest.mark.part(1)
def test_the_conditions_of_a_page_are_its_thresholds(page):
    """Those with one relation say when the operation is compute-bound: of any sizes, in the regime, or at the sizes named."""
    name, problem, report = page
    context = context_of(read_exercise(problem))
    places = [context, context_of(read_exercise({key: value for key, value in problem.items() if key != "assume"}))]
    if "at" in ALL[name]:
        places.append(context.at(sizes(ALL[name]["at"])))
    dialect = Dialect(replace(context.scope, letters=(*"BDFHNST", *LETTERS)), LETTERS)
    tried = 0
    for skipped in report.skipped:
        if skipped.reason.kind != "condition" or (skipped.text[0] in "\\" and "begin" in skipped.text):
            continue
        claims = read_latex(skipped.text.replace("R", r"\text{ridge} "), dialect)  # an alias is no factor of RDF
        if len(claims) != 1 or claims[0].connectives or any(link.relation not in ORDER for link in claims[0].links):
            continue
        bound = replace(claims[0], propositions=((BOUND["compute"],), claims[0].propositions[0]), connectives=("<=>",))
        found = [judge(bound, place).verdict for place in places]
        tried += any(verdict in ACCEPTED for verdict in found)
    assert tried or name in ("dot", "softmax", "open_axis"), "no condition of the page was found to be its threshold"


def sizes(text):
    return [(name, number(int(one.split("=")[-1]))) for one in text.split(",") for name in one.split("=")[:-1]]


@pytest.mark.thorough
@pytest.mark.parametrize(
    "operation", ["matmul", "bf16[B, D] * int8[D, F] -> bf16[B, F]", "int8[T, H] * int8[S, H] -> bf16[T, S]"]
)
def test_every_row_of_the_regimes_is_right_in_its_regime(operation):
    record = json.loads(sr.regimes(operation, on="tpu-v5e").to_json())
    claims = []
    for row in record["regimes"]:
        claims.append(f"intensity ~ {row['intensity']} assuming {row['regime']}")
        if row["compute_bound"] not in ("always", "never"):
            claims.append(f"compute-bound when {row['compute_bound']} assuming {row['regime']}")
    assert len(claims) >= 10
    for judgement in sr.verify({"operation": operation, "hardware": "tpu-v5e", "claims": claims}).judgements:
        assert judgement.verdict in ACCEPTED, f"{judgement.claim}: {judgement.verdict}"
