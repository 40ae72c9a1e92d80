"""The language of programs at its edges: what is wrong is shown where it stands, with a cure; what is right reads back."""

from random import Random

import pytest
from hypothesis import given, settings, strategies as st

import symroof as sr
from symroof.model.tensor_types import dtype
from symroof.reading.operations import programs, read_operation
from symroof.reading.programs import read_program
from symroof.reading.tensors import is_program

pytestmark = pytest.mark.part(4)

HEAD = "input x: bf16[B, D]\nweight W: bf16[D, F]\n"
LINE = "y = x * W -> bf16[B, F]"
# A wrong text with its fault between « and », what is said, and the cure.
ERRORS = [
    ("«inpt» x: bf16[B, D]\ny = relu(x)", "inpt starts no statement", "did you mean input?"),
    (
        "input x: bf16[B, D]; «wieght» W: bf16[D, F]; y = x * W -> bf16[B, F]",
        "wieght starts no statement",
        "did you mean weight?",
    ),
    (HEAD + LINE + "\n«z» relu(y)", "z starts no statement", "z = …"),
    ("input x «bf16»[B, D]\ny = relu(x)", "unexpected 'bf16'", "':' and a type"),
    ("input x: «bf17»[B, D]\ny = relu(x)", "unknown dtype 'bf17'", "did you mean bf16?"),
    ("input x: «[»B, D]\ny = relu(x)", "a type without a dtype", "--dtype bf16"),
    ("input x: bf16[B, D«»\ny = relu(x)", "the statement ends too early", "']'"),
    ("input x: bf16 «B», D\ny = relu(x)", "unexpected 'B'", "'[' and the dimensions"),
    ("input x: bf16[B, «0»]\ny = relu(x)", "0 is not a size", "a whole number above 0"),
    ("input x: «bf16»[B, B]\ny = relu(x)", "B appears twice", "where E = B"),
    ("input x, «x»: bf16[B, D]\ny = relu(x)", "x is made twice", "a name of its own"),
    ("input «max»: bf16[B]\ny = relu(max)", "max is a word of the language", "the name of a tensor"),
    ("input ridge: bf16[«ridge», D]\ny = relu(ridge)", "ridge is the name of a quantity", ""),
    ("input x: bf16[B, D]\nweight «W»: bf16[D, F]\ny = relu(x)", "nothing uses W", "a statement that does"),
    (HEAD + "y = x * «w» -> bf16[B, F]", "there is no tensor w before this line", "did you mean W?"),
    (HEAD + "y = x * «h» -> bf16[B, F]\nh = relu(x)", "there is no tensor h before this line", "input h: bf16[…]"),
    (HEAD + "y = x * W«»", "y has no type", "-> and a type"),
    (HEAD + "«y» = x * W -> bf16[B, G]", "G is in no operand", "B, D, F"),
    (HEAD + "y = «x» * W -> bf16[F]", "B is summed out of a single operand", "keep B in the output"),
    (HEAD + LINE + "\n«y» = relu(y)", "y is made twice", "a name of its own"),
    (HEAD + "«x» = x * W -> bf16[B, F]", "x is made twice", "a name of its own"),
    (HEAD + "y = x * W «+» x -> bf16[B, F]", "y mixes * and +", "give the parts names"),
    (HEAD + LINE + "\nz = x - x «-» x", "z mixes two differences", "give the parts names"),
    (HEAD + LINE + "\nz = y + «x»", "y is bf16[B, F], and x is bf16[B, D]", "one shape"),
    (HEAD + LINE + "\nz = y + «x» -> bf16[B, F]", "x is bf16[B, D], and z has no D", "fit into bf16[B, F]"),
    (HEAD + LINE + "\n«z» = x + x -> bf16[B, D, F]", "F of z is in no operand", "B, D"),
    (HEAD + "y = relu(x «*» W) -> bf16[B, F]", "unexpected '*'", "a name of its own"),
    (HEAD + "y = x * «relu»(W) -> bf16[B, F]", "stands in a longer statement", "a = relu(…)"),
    (HEAD + "y = x *_F W -> bf16[B, F]".replace("*", "«*»"), "F is not contracted", "the result lacks"),
    (HEAD + "y = x * x * «W» -> bf16[B, F]", "several products", "bf16[B, D] * bf16[D, F] -> bf16[B, F]"),
    (HEAD + LINE + "\nz = «gelo»(y)", "there is no function gelo", "did you mean gelu?"),
    (HEAD + LINE + "\nz = «swish4»(y)", "there is no function swish4", "functions = { swish4 = 3 }"),
    (HEAD + LINE + "\nz = «relu» y", "there is no tensor relu", "a function has brackets: relu(x)"),
    (HEAD + LINE + "\nz = relu(y«»\nq = relu(x)", "the statement ends too early", "')'"),
    (HEAD + LINE + "\nz = relu(«)»", "unexpected ')'", "a tensor"),
    (HEAD + LINE + "\nz = relu(y, «F»)", "relu works on each element", "relu(y)"),
    (HEAD + LINE + "\nz = softmax(y, «D»)", "y has no dimension D", "one of B, F"),
    (HEAD + LINE + "\nz = softmax(y, B, «F»)", "softmax is over one dimension", "softmax(y, B)"),
    (HEAD + LINE + "\nz = relu(y) -> «bf16»[B, D]", "relu(y) is bf16[B, F]", "the dimensions of bf16[B, F]"),
    (HEAD + LINE + "\nz = «divide»(y)", "divide takes 2 tensors", "divide(a, b)"),
    (HEAD + LINE + "\nz = divide(y, «x»)", "x is bf16[B, D], and y has no D", "fit into bf16[B, F]"),
    (HEAD + LINE + "\nz = rearrange(y)«»", "z has no type", "z = rearrange(y) -> bf16[B, F]"),
    (HEAD + LINE + "\nz = rearrange(y) -> «bf16»[B, S]", "do not have as many elements", "where S = T"),
    (HEAD + LINE + "\nz = windows(y) -> «bf16»[B, S]", "every few places of F", "where F = 2*S"),
    (HEAD + LINE + "\nz = lookup(W, «x»)", "names no rows", "int32[B, T]"),
    ("input x: bf16[]\ny = softmax(«x»)", "x has no rows", "a tensor with a dimension"),
    (HEAD + LINE + "\nz = «2»", "2 is a number", "y = 0.5 * x"),
    (HEAD + LINE + "\nz = 2 * y «*» y", "unexpected '*'", "a factor of sizes goes with one tensor"),
    (HEAD + LINE + "\nz = y + «2»", "2 is a number", "shift(x)"),
    (HEAD + LINE + "\nz = «-»y", "a sign before a tensor", "scale(x)"),
    (HEAD + LINE + "\nz = x «/» y", "/ stands between no tensors", "divide(a, b)"),
    (HEAD + LINE + "\nz = y «^» 2", "^ stands between no tensors", "square(a)"),
    (HEAD + "y = «*» W", "unexpected '*'", "a tensor or a function"),
    (HEAD + "y =«»\n", "the statement ends too early", "a tensor or a function"),
    (HEAD + LINE + "\nz = «y»", "z is y itself", "a product, a sum, a difference or a function"),
    (HEAD + "y = x «&» W", "unexpected '&'", "the end of the statement"),
    (HEAD + "y = x «$» W", "unexpected character '$'", ""),
    (HEAD + LINE + " «z» = relu(y)", "unexpected 'z'", "a new line or ';'"),
    (HEAD + "«fuse» {\n y = x * W -> bf16[B, F]\n", "the braces of this fuse are not closed", "'}'"),
    (HEAD + LINE + "\n«}»", "there is nothing that this } closes", "a statement"),
    (HEAD + LINE + "\n«fuse» { }", "nothing between the braces", "a statement"),
    (HEAD + "fuse { «repeat» 2 { y = x * W -> bf16[B, F] } }", "a repeat has no place in a fuse", "statements"),
    (HEAD + "block a { «block» b { y = x * W -> bf16[B, F] } }", "a block has no place in a block", "statements"),
    (HEAD + "block «{» y = x * W -> bf16[B, F] }", "unexpected '{'", "the name of the block"),
    (HEAD + "«repeat» L { y = x * W -> bf16[B, F] }", "no tensor from outside has the type of y", "as x = y"),
    (HEAD + "repeat L as x = «y» { y = x * W -> bf16[B, F] }", "y is bf16[B, F], and x is bf16[B, D]", "the same type"),
    (HEAD + "repeat L as «q» = y { y = x * W -> bf16[B, F] }", "q is no tensor outside of the repeat", "one of x, W"),
    (HEAD + "repeat L as x = «q» { y = x * W -> bf16[B, F] }", "q is no tensor made inside", "one of y"),
    (HEAD + "repeat L x «=» y { y = x * W -> bf16[B, F] }", "unexpected '='", "'as'"),
    (HEAD + "repeat «as» x = y { y = x * W -> bf16[B, F] }", "unexpected 'as'", "a formula of sizes"),
    (
        "input x, z: bf16[B, D]\nrepeat L as «z» = y { y = relu(x) }\nq = relu(z)",
        "nothing in the repeat uses z",
        "a statement that does",
    ),
    ("input x: bf16[B, D]\nweight g: bf16[B, D]\nrepeat L as «g» = y { y = x * g }", "g is no input", "an input"),
    (
        "input x: bf16[B, D]\nweight «g»: bf16[D]\nrepeat L as x = y { y = x * g -> bf16[B, D] }\nz = y * g -> bf16[B, D]",
        "g is used in the turns of a repeat and outside",
        "of its own for each",
    ),
    (HEAD + "where c =«»\n" + LINE, "the statement ends too early", "a formula of sizes"),
    (HEAD + "where «D» = D/2\n" + LINE, "D is defined by itself", "a formula of other sizes"),
    (
        HEAD + "where «D» = min(E, B*k)\n" + LINE,
        "nothing says which D = min(E, B*k) is",
        "what is known: where E <= B*k, or where B*k <= E",
    ),
    (HEAD + "where D = «2»*sqrt(E)\n" + LINE, "D = 2*sqrt(E) is no fraction of sizes", "whole powers"),
    (HEAD + "where D «<» 3\n" + LINE, "unexpected '<'", "or what is known of sizes"),
    (HEAD + "where «sqrt»(D) <= 3\n" + LINE, "sqrt(D) is no fraction of sizes", "whole powers"),
    (HEAD + "where «1» <= 3\n" + LINE, "1 <= 3 says nothing of sizes", "a size"),
    (HEAD + "where 1 <=«»\n" + LINE, "the statement ends too early", "a formula of sizes"),
    (HEAD + "where D = «sqrt»(E)\n" + LINE, "D = sqrt(E) is no fraction of sizes", "whole powers"),
    (HEAD + "where «D» = F, F = D\n" + LINE, "D is defined by itself", "a formula of other sizes"),
    (HEAD + "where «c» = 3*k\n" + LINE, "nothing has the size c", "a tensor that has"),
    (HEAD + "where D = k; where «D» = 2k\n" + LINE, "D is defined twice", "one formula"),
    (HEAD + "where «D» = 0\n" + LINE, "D is not above 0", "a size"),
    (HEAD + "output «x»\n" + LINE, "no statement before this line makes x", "a result"),
    (HEAD + LINE + "\noutput y, «y»", "y is returned twice", "each result once"),
]


@pytest.mark.parametrize(("marked", "problem", "cure"), ERRORS, ids=[f"{i}: {e[1]}" for i, e in enumerate(ERRORS)])
def test_a_mistake_is_shown_where_it_stands_with_its_cure(marked, problem, cure):
    text = marked.replace("«", "").replace("»", "")
    start = marked.index("«")
    with pytest.raises(sr.SymroofError) as caught:
        read_operation(text)
    error, shown = caught.value, str(caught.value)
    line = text.count("\n", 0, start) + 1
    if "\n" in text.strip():
        assert error.problem.startswith(f"line {line}: ")
    assert problem in error.problem
    first = text.rfind("\n", 0, start) + 1
    assert error.source == text[first:].partition("\n")[0]
    assert error.span[0] == start - first
    assert error.span[1] - error.span[0] in (marked.index("»") - start - 1, 0, 1)
    assert cure in f"{error.expected} {error.hint}"
    assert shown.count("^") >= 1


def test_there_are_as_many_kinds_of_mistakes_as_promised():
    assert len({problem for _, problem, _ in ERRORS}) >= 40


RIGHT = [
    ("input x, z: bf16[B, D]; y = x + z", "x + z"),
    (
        "input x: bf16[B, D], W: bf16[D, F]; weight V: bf16[F]\ny = x * W -> bf16[B, F]; z = y * V -> bf16[B, F]",
        "y * V",
    ),
    (HEAD + "y = x *_D W -> bf16[B, F]\n", "x * W"),
    (HEAD + "y = x ·_{D} W -> bf16[B, F] # the product\n", "x * W"),
    (HEAD + "y = x @ W -> bf16[B, F]", "x * W"),
    (HEAD + "y = x × W → bf16[B, F]", "x * W"),
    (HEAD + r"y = x \cdot_D W \rightarrow bf16[B, F]", "x * W"),
    (HEAD + "y = x\n  * W\n  -> bf16[B, F]", "x * W"),
    (HEAD + "y = x *\n  W -> bf16[B,\n  F]", "x * W"),
    (HEAD + "y = x * W -> [B, F]", "-> bf16[B, F]"),
    ("input x: bf16[B, D]\ninput b: bf16[D]\ny = x + b", "x + b"),
    ("input x: bf16[B, 128]; weight W: bf16[128, F]; y = x * W -> bf16[B, F]", "bf16[B, 128]"),
    ("input weight: bf16[B, D]; fuse = relu(weight); repeat = fuse + weight", "repeat = fuse + weight"),
    ("input B: bf16[B, D]; D = relu(B)", "D = relu(B)"),
    ("input x: bf16[B, D]; y = relu(x); output y; z = relu(y)", "output y"),
    ("input x: bf16[B, D]; where D = K*G*H; y = rearrange(x) -> bf16[B, K, G, H]", "where D = K*G*H"),
    ("input x: bf16[B, D]; repeat 3 as x = y { y = relu(x) }", "repeat 3 as x = y {"),
    ("input x: bf16[B, D]; repeat 2L + 1 { y = relu(x) }", "repeat 2*L + 1 as x = y {"),
    (
        "input x: bf16[B, D]; repeat L as x = y { repeat M as x = h { h = relu(x) }; y = relu(h) }",
        "  repeat M as x = h {",
    ),
    ("input x: bf16[B, D]\nrepeat L as x = y\n{\n y = relu(x)\n}", "repeat L as x = y {"),
    ("input x: bf16[B, D]; block both { y = relu(x); z = tanh(y) }", "block both {"),
    ("input x: bf16[B, S, D]; y = softmax(x, S)", "softmax(x, S)"),
    ("input x: bf16[B, D]; y = softmax(x, D)", "softmax(x)"),
    ("input x: bf16[B, D]; y = rms_norm(x)", "rms_norm(x)"),
    ("input x: bf16[B, D]; weight g: bf16[D]; y = rms_norm(x, g, D)", "rms_norm(x, g)"),
]


@pytest.mark.parametrize(("text", "held"), RIGHT, ids=[text for text, _ in RIGHT])
def test_what_is_right_is_read_and_reads_back(text, held):
    assert is_program(text)
    program = read_operation(text)
    assert held in str(program)
    assert read_program(str(program)) == program


def test_an_axis_that_no_mesh_has_is_asked_for():
    text = "input x: bf16[B_X, D]; y = relu(x)"
    assert str(read_operation(text)).startswith("input x: bf16[B_X, D]")
    with pytest.raises(sr.SymroofError, match="split over X, and the mesh has no such axis"):
        sr.derive(text, on="tpu-v5e")


def test_tensors_without_a_type_take_that_of_the_problem():
    text = "input x: [B, D]; weight W: int8[D, F]; y = x * W -> [B, F]"
    program = read_operation(text, dtype("bf16"))
    assert {name: str(t.dtype) for name, t in program.arrays.items()} == {"x": "bf16", "W": "int8", "y": "bf16"}
    assert sr.derive(text, on="tpu-v5e", dtype="bf16").answer.intensity
    with pytest.raises(sr.SymroofError, match="a type without a dtype"):
        read_operation(text)


PRODUCT, SAME = "bf16[B, D] * int8[D, F] -> bf16[B, F]", "x * W -> y: bf16[B, D], int8[D, F] -> bf16[B, F]"


@pytest.mark.thorough
@pytest.mark.parametrize("form", ["to_text", "to_markdown", "to_latex", "to_json"])
def test_a_program_of_inputs_and_one_product_is_that_product(form):
    text = "# a product\ninput x: bf16[B, D]; input W: int8[D, F]\n\ny = x *_D W -> bf16[B, F]"
    options = {"on": "tpu-v5e", "assume": "B << D, F", "at": "D=F=8192"}
    ours, theirs = (sr.derive(operation, **options) for operation in (text, SAME))
    assert read_operation(text).line is not None
    assert getattr(ours, form)() == getattr(theirs, form)()
    assert ours.answer.threshold == sr.derive(PRODUCT, **options).answer.threshold


ALPHABET = [*"{}()[],;:=*+-/^#_ \n", "block b", "9" * 50]
ALPHABET += [
    r"->", r"as", r"fuse", r"repeat", r"where", r"mesh", r"output", r"input", r"weight", r"x", r"D", r"2", r"bf16",
    r"softmax", r"relu", r"·", r"\cdot", r"é", r"“",
]  # fmt: skip
TEXTS = [entry.text for entry in programs().values()] + [text for text, _ in RIGHT]


def edited(seed):
    """A right program with a few words taken out, put in, swapped or doubled."""
    random = Random(seed)
    text = random.choice(TEXTS)
    for _ in range(random.randint(1, 4)):
        i, j = sorted(random.randint(0, len(text)) for _ in range(2))
        j = min(j, i + 12)
        text = random.choice((
            text[:i] + text[j:],
            text[:i] + random.choice(ALPHABET) + text[i:],
            text[:j] + text[i:j] + text[j:],
            text[:i] + random.choice(ALPHABET) + text[j:],
        ))  # fmt: skip
    return text


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 10**9))
def test_edits_of_programs_are_read_or_refused(seed):
    text = edited(seed)
    try:
        program = read_operation(text)
    except sr.SymroofError:
        return
    assert str(read_operation(str(program))) == str(program)


LONG = ["repeat 2 {" * 3000, "fuse {" * 40, "where c = " + "(" * 5000, "input " + "x, " * 30_000, "a = b;" * 12_000]
LONG += ["y = " + "x * " * 5000 + "x", "input x: bf16[" + "B, " * 3000, "{", "input", "where", "repeat", "output"]


@pytest.mark.parametrize("text", LONG, ids=lambda text: text[:12])
def test_long_and_deep_texts_are_refused(text):
    with pytest.raises(sr.SymroofError):
        read_operation(text)


NAMES = st.sampled_from("BDFGHK")


@pytest.mark.thorough
@settings(max_examples=60, deadline=None)
@given(st.data())
def test_the_canonical_text_of_a_random_program_is_that_program(data):
    labels = st.lists(NAMES, min_size=1, max_size=3, unique=True)
    types = st.sampled_from(["bf16", "fp32", "int8"])
    lines, known = [], {}
    for i in range(data.draw(st.integers(1, 3))):
        shape, kind = data.draw(labels), data.draw(types)
        lines.append(f"{data.draw(st.sampled_from(['input', 'weight', 'cache']))} a{i}: {kind}[{', '.join(shape)}]")
        known[f"a{i}"] = shape
    for i, name in enumerate(list(known)):
        made = f"t{i}"
        match data.draw(st.integers(0, 3)):
            case 0:
                lines.append(f"{made} = {data.draw(st.sampled_from(['relu', 'gelu', 'scale']))}({name})")
            case 1:
                lines.append(f"{made} = softmax({name}, {data.draw(st.sampled_from(known[name]))})")
            case 2:
                lines.append(
                    f"{made} = {name} {data.draw(st.sampled_from('+-*'))} {name} -> fp32[{', '.join(known[name])}]"
                )
            case 3:
                lines.append(f"fuse {{ u{i} = tanh({name}); {made} = exp(u{i}) }}")
                lines += [f"output u{i}"] if data.draw(st.booleans()) else []
        known[made] = known[name]
    program = read_operation("\n".join(lines))
    if program.line is None:
        again = read_operation(str(program))
        assert again == program
        assert str(again) == str(program)
