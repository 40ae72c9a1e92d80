"""Programs in documents, in files, in notebooks and on the command line: wherever an operation stands."""

import io
from pathlib import Path

import pytest
from texts import cases

import symroof as sr
from symroof.errors import ReadingError
from symroof.reading.documents import read_text
from symroof.reading.problems import read_options, read_problems
from symroof.verification.document_claims import judge_read

pytestmark = pytest.mark.part(2)

CHAPTER = Path(__file__).parent / "data" / "decoder.md"
MLP = """input  x:  bf16[N, D]
weight W1: bf16[D, F]
weight W2: bf16[F, D]
h = x * W1 -> bf16[N, F]
a = relu(h)   # no pass of its own
y = a * W2 -> bf16[N, D]
"""
STATED = f'operation = """\n{MLP}"""\nhardware = "tpu-v5e"\n'
# By hand: what each formula of the chapter is, in its order; "-" claims nothing.
SAID = {"h": "holds", "w": "wrong", "r": "rounded", "-": "-"}
VERDICTS = [SAID[letter] for letter in "hhhhwh hhwh --h hwhhh hh-h- hhw hhhw---rr".replace(" ", "")]


def judged(text, **options):
    return [j.verdict for j in judge_read(read_text(text, **options), Path()).judgements]


@pytest.mark.thorough
def test_a_chapter_of_programs():
    report = sr.verify(CHAPTER).files[0]
    places = {(j.line, j.column): j.verdict for j in report.judgements}
    places |= {(s.line, s.column): "-" for s in report.skipped}
    assert [places[place] for place in sorted(places)] == VERDICTS
    mistakes = [f.diagnosis.kind for j in report.judgements for f in j.findings if f.diagnosis]
    assert mistakes == ["part_missing", "factor_two", "factor_of_size", "other_letter", "turns"]


def test_a_comment_takes_a_program_in_toml_or_alone():
    for comment in (f"\n{STATED}", f"\n{MLP}", f": {MLP}", f" {MLP} "):
        text = f"<!-- symroof{comment}-->\n\nHere `params = 2DF`, and $\\text{{FLOPs}}(y) = NDF$."
        assert judged(text) == ["holds", "wrong"], text
    quoted = "> <!-- symroof\n" + "".join(f"> {line}\n" for line in MLP.splitlines()) + "> -->\n\nHere `params = 2DF`."
    assert judged(quoted) == ["holds"]


def test_a_comment_of_latex_takes_a_program():
    lines = "".join(f"% symroof: {line}\n" for line in STATED.splitlines())
    alone = "".join(f"% symroof: {line}\n" for line in MLP.splitlines())
    for comment in (lines, alone):
        text = comment + r"Here $\text{params} = 2DF$ and \[ \text{FLOPs}(h) = NDF. \]"
        assert judged(text, tex=True) == ["holds", "wrong"]


def test_a_fault_in_a_program_of_a_comment_is_told_with_its_line():
    report = judge_read(read_text(f"<!-- symroof\n{MLP.replace('a * W2', 'b * W2')}-->\n\n`params = 2DF`"), Path())
    (found, *_) = report.judgements
    assert (found.verdict, found.line) == ("unreadable", 1)
    assert "there is no tensor b before this line" in found.error


@cases(r"""
written | expected
\text{FLOPs}(h) = 2NDF | holds
\text{FLOPs}\left(\text{h}\right) = 2NDF | holds
\text{FLOPs}_h = 2NDF | holds
\text{FLOPs}_{\text{h}} = NDF | wrong
\mathrm{flops}(h) + \text{FLOPs}(y) = \text{FLOPs} | holds
\text{size}(W_1) = 2DF | holds
\text{params}(W_{1}) = DF | holds
\text{ops}(h) = NF | holds
\text{elements}(x) = ND | holds
\text{number of parameters} = 2DF | holds
\text{params} = 2DF \text{ params} | holds
\text{params} = 2DF \text{ weights} | holds
\text{elements}(W_1) = DF \text{ parameters} | holds
\text{params}_{W_1} = DF | holds
\text{FLOPs}(h, y) = 4NDF | None
\text{weights} = 4DF \text{ bytes} | holds
\text{FLOPs} = 2\,\text{params}\,N | holds
\text{FLOPs} = 6N \, \text{params} | wrong
\frac{\text{FLOPs}(y)}{\text{bytes}(y)} = \frac{NDF}{NF + DF + ND} | holds
\text{FLOPs}(a) = NF | None
\text{FLOPs}(q) = NF | None
\text{FLOPs}(N) = 4NDF | holds
""")
def test_amounts_in_textbook_latex(written, expected):
    """``None`` of (a), for that belongs to h, and of (q), which there is not; (N) is a function of a size."""
    assert judged(f"<!-- symroof\n{STATED}-->\n\nHere ${written}$.") == ([] if expected == "None" else [expected])


def test_a_let_of_a_chapter_speaks_of_amounts():
    text = f'<!-- symroof\n{STATED}let = {{ each = "params/2", need = "weights + caches" }}\n-->\n\n`each = DF` and `need = 2 params` and `need = params`.'
    assert judged(text) == ["holds", "holds", "wrong"]


DOCUMENT = f"""# Built

<!-- symroof
{STATED}-->

With <!-- symroof = params -->?<!-- / --> parameters, <!-- symroof = flops(h) -->?<!-- / --> FLOPs, from <!-- symroof = mlp.flops(y) -->?<!-- / -->,
and <!-- symroof = weights at D=F=8192; MB -->?<!-- / -->, ratio <!-- symroof = flops(h)/params(W1) -->?<!-- / -->.

<!-- symroof derive
id = "mlp"
sections = ["answer"]
-->

> <!-- symroof derive
> input q: bf16[B, D]
> weight W: bf16[D, F]
> h = q * W -> bf16[B, F]
> a = relu(h)
> -->
"""


@pytest.mark.thorough
def test_blocks_and_values_of_programs_are_built_and_stay():
    built = sr.build(DOCUMENT)
    assert [block.error for block in built.blocks] == [None] * 7
    for value in ("params -->$2DF$<", "flops(h) -->$2NDF$<", "MB -->268.4 MB<", "/params(W1) -->$2N$<"):
        assert value in built.text
    assert "mlp.flops(y) -->$2DFN$<" in built.text or "mlp.flops(y) -->$2NDF$<" in built.text
    assert sr.build(built.text).text == built.text


@pytest.mark.thorough
def test_a_block_of_a_program_that_changed_is_stale(tmp_path, run):
    page = tmp_path / "page.md"
    page.write_text(sr.build(DOCUMENT).text)
    assert run("build", "--check", str(page)).code == 0
    assert run("verify", str(page)).code == 0
    page.write_text(page.read_text().replace("weight W2: bf16", "weight W2: int8"))
    found = run("build", "--check", str(page))
    assert found.code == 1
    assert "weights at D=F=8192; MB: 268.4 MB -> 201.3 MB" in found.out
    assert run("verify", str(page)).code == 1


@pytest.mark.thorough
def test_a_program_is_read_from_files_and_from_standard_input(tmp_path, run, monkeypatch):
    text, toml = tmp_path / "mlp.txt", tmp_path / "mlp.toml"
    text.write_text(MLP)
    toml.write_text(STATED)
    expected = run("derive", MLP, "--on", "tpu-v5e", "--brief")
    assert expected.code == 0
    assert run("derive", str(text), "--on", "tpu-v5e", "--brief").out == expected.out
    assert run("derive", str(toml), "--brief").out == expected.out
    for given, chip in ((MLP, ("--on", "tpu-v5e")), (STATED, ())):
        monkeypatch.setattr("sys.stdin", io.StringIO(given))
        assert run("derive", "-", *chip, "--brief").out == expected.out


def test_problems_of_a_file_hold_programs(tmp_path, run):
    path = tmp_path / "problems.toml"
    path.write_text("".join(f'[[problem]]\n{STATED}claims = ["params = {params}"]\n' for params in ("2DF", "3DF")))
    found = run("verify", str(path))
    assert (found.code, "1 holds, 1 wrong" in found.out) == (1, True)
    assert run("derive", str(path), "--brief").code == 0


def test_a_text_is_a_program_or_toml():
    assert read_options(MLP, "a text") == {"operation": MLP}
    assert read_options(f"# a comment\n\n{MLP}", "a text")["operation"].startswith("# a comment")
    assert read_options(STATED, "a text")["operation"] == MLP
    assert read_problems("[[problem]]\noperation = 'dot'\n", "a text") == ({"operation": "dot"},)
    assert read_options("input = 3", "a text") == {"input": 3}
    for fault in ("weights: 2", 'operation = """\ninput x: bf16[N]'):
        with pytest.raises(ReadingError, match="is not TOML"):
            read_options(fault, "a text")


def test_a_directive_of_sphinx_keeps_the_lines_of_a_program():
    pytest.importorskip("sphinx")
    from symroof.sphinx import block

    for rst in (True, False):
        text = block("derive", {"hardware": "tpu-v5e"}, MLP.strip(), rst)
        path = Path("page.rst" if rst else "page.md")
        (built,) = sr.build(text + "\n", path=path).blocks
        assert built.error is None
        assert "4NDF" in built.text


@pytest.mark.thorough
def test_python_takes_and_gives_programs():
    program = sr.operation(MLP)
    assert sr.operation(str(program)) == program
    assert sr.derive(program, on="tpu-v5e").to_dict()["answer"] == sr.derive(MLP, on="tpu-v5e").to_dict()["answer"]
    assert sr.verify({"operation": program, "claims": ["params = 2DF"]}).judgements[0].verdict == "holds"


@pytest.mark.thorough
def test_one_value_of_a_program_is_printed(run):
    asked_for = {"params": "2DF", "weights": "4DF", "flops(h)": "2NDF", "bytes(h)": "2ND + 2DF + 2NF"}
    asked_for |= {"ops": "NF", "ridge": "240.24"}
    for name, value in asked_for.items():
        assert run("derive", MLP, "--on", "tpu-v5e", "--value", name).out.strip() == value
    refused = run("derive", MLP, "--value", "flops(q)")
    assert (refused.code, "did you mean flops(" in refused.err) == (2, True)
