"""A fault in a table that both engines read, or that one reads and nothing counts again, is noticed: when an answer is
proved, or by an independent statement in the tests. Every table of the model is here, or says why nothing can be wrong in it."""

import ast
import datetime
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path

import pytest
import tally
import test_library
import test_mesh_library
import test_model
import test_sized
from interpreter import DERIVATIVES, FUNCTIONS as VALUES
from test_gate import _nothing_is_remembered, forget  # noqa: F401

import symroof as sr
import symroof.model.program_quantities as program_quantities
from symroof.derivation import quantity_definitions
from symroof.errors import CheckError
from symroof.model import collectives, functions, gradients, library, placement, quantities, tensor_types
from symroof.model.quantities import Owner
from symroof.model.transforms import with_backward
from symroof.reading import operations
from symroof.reading.chips import catalogue
from symroof.reading.operations import read_operation

MODEL = Path(sr.__file__).parent / "model"
SPLIT = {
    "all-gather": ("bf16[B_X, D] * bf16[D_X, F] -> bf16[B_X, F]", "X=4 on ICI"),
    "reduce-scatter": ("bf16[B, D_X] * bf16[D_X, F] -> bf16[B, F_X]", "X=4 on ICI"),
    "all-reduce": ("bf16[B, D_X] * bf16[D_X, F] -> bf16[B, F]", "X=4 on ICI"),
    "all-to-all": ("bf16[B_X, D] * bf16[D, F] -> bf16[B, F_X]", "X=4 on ICI"),
    "switched": ("bf16[B_X, D] * bf16[D, F] -> bf16[B, F_X]", "X=4 on NVLink switch"),
}
ROWS = "mesh X=4 on ICI; input x: bf16[B, D]; weight K: bf16[S_X, D]; s = x * K -> bf16[B, S_X]; y = {}(s, S)"


def exchanged(collective):
    text, mesh = SPLIT[collective]
    sr.derive(text, mesh=mesh, on="h100-sxm" if "NVLink" in mesh else "tpu-v5p")


def shared_row(name):
    sr.derive(ROWS.format(name.rstrip("'")), on="tpu-v5p", training=name.endswith("'"))


# The powers of ten, and of two, that a prefix says (IEC 80000-13).
PREFIXES = {"": 1} | {prefix: Fraction(1000**i) for i, prefix in enumerate("kMGTPE", 1)}
PREFIXES |= {prefix: Fraction(1, 1000**i) for i, prefix in enumerate("munp", 1)}
BINARY = {f"{prefix}i": 2 ** (10 * i) for i, prefix in enumerate("KMGTP", 1)}
LONGER = {"minutes": 60, "hours": 3600, "days": 24 * 3600, "years": int(datetime.timedelta(days=365).total_seconds())}


def says_its_prefix(unit):
    bases = {"FLOPs": 1, "OPs": 1, "bytes": 1, "bits": Fraction(1, 8), "bps": Fraction(1, 8), "B": 1, "Wh": 3600}
    for end, own in (bases | dict.fromkeys(("W", "J", "Hz", "T/s", "s"), 1)).items():
        prefix = unit.name.removesuffix(end)
        if unit.base != "1" and unit.name.endswith(end) and prefix in PREFIXES | BINARY:
            assert unit.scale == own * Fraction((PREFIXES | BINARY)[prefix]), unit.name
            return
    assert unit.scale == (LONGER[unit.name] if unit.base == "s" else 1), unit.name


def networks_are_from_fast_to_slow():
    """The chips that have several say it by their figures; and on a ring each chip has a neighbour, on a switch it has none."""
    order, seen = list(collectives.NETWORKS), 0
    for chip in catalogue().values():
        own = [name for name in order if name in chip.figures]
        speeds = [chip.figures[name].value for name in own]
        assert speeds == sorted(speeds, reverse=True), chip.name
        seen += len(own) > 1
    assert seen > 3
    assert {name for name, switch in collectives.NETWORKS.items() if not switch} == {"ICI"}


# What a derivative is made of, where its result is enough, or nothing: by the result and the gradient that comes in.
OF_RESULT = {"relu": lambda y: y > 0, "sigmoid": lambda y: y * (1 - y), "tanh": lambda y: 1 - y * y}
OF_RESULT |= {"exp": lambda y: y, "sqrt": lambda y: 1 / (2 * y)}
OF_RESULT |= {"rsqrt": lambda y: -(y**3) / 2, "reciprocal": lambda y: -y * y}


def derivative_reads_enough():
    """Where the derivative takes no further function of the result it is made of that alone, as the slopes below say in
    numbers; a constant one needs nothing. All others read the operands (as PyTorch keeps them for log and softplus)."""
    for name, function in functions.FUNCTIONS.items():
        if function.reshapes or function.gathers:
            continue
        needed = functions.DIVISOR if name == "divide" else functions.OPERANDS
        if name in ("scale", "shift", "ema", "rope", "convert", "quantize"):
            needed = functions.NOTHING
        elif name in OF_RESULT or name == "softmax":
            needed = functions.RESULT
        assert function.needs == needed, name
    import numpy as np

    xs, h = np.linspace(0.3, 2.2, 9), 1e-6
    known = {"relu": lambda x: np.maximum(x, 0), "tanh": np.tanh, "exp": np.exp, "sqrt": np.sqrt}
    known |= {"rsqrt": lambda x: x**-0.5, "reciprocal": lambda x: 1 / x}
    for name, slope in OF_RESULT.items():
        f = known.get(name) or (lambda x, name=name: VALUES[name](x, 0))
        assert np.allclose((f(xs + h) - f(xs - h)) / (2 * h), slope(f(xs)), atol=1e-5), name
    row = VALUES["softmax"](xs, 0)
    moved = (VALUES["softmax"](xs + h * xs, 0) - VALUES["softmax"](xs - h * xs, 0)) / (
        2 * h
    )  # the Jacobian is symmetric
    assert np.allclose(DERIVATIVES["softmax'"](row, xs, 0), moved, atol=1e-5)


def counted_by_hand(name):
    if name in tally.ROWS:
        test_library.test_row_functions_take_the_operations_of_the_published_algorithm(name, 7)
    elif name in tally.ELEMENTWISE:
        test_library.test_functions_of_elements_take_the_operations_of_their_formulas(name)
    else:
        for row in (row for row in test_library.BY_FORMULA if row[0] == name):
            test_library.test_functions_of_two_tensors_and_rotations(*row)


def a_gain_is_a_product_and_a_sum():
    """Of a row of N elements in each of M rows: M N products, and as many sums into the N numbers of the gain."""

    def back(text):
        ahead = read_operation(text)
        spent = [program_quantities.amounts(program, "fma")["ops"] for program in (with_backward(ahead), ahead)]
        return test_library.at(spent[0] - spent[1], M=3, N=5, F=2)

    plain = "input x: bf16[M, N]; n = rms_norm(x); weight W: bf16[N, F]; y = n * W -> bf16[M, F]"
    assert back("weight g: bf16[N]; " + plain.replace("norm(x", "norm(x, g")) - back(plain) == 2 * 3 * 5


def other(function, **columns):
    return lambda m: m.setitem(functions.FUNCTIONS, function, replace(functions.FUNCTIONS[function], **columns))


def one_more(kinds):
    return (replace(kinds[0], each=kinds[0].each + 1), *kinds[1:])


def faults_of_functions():
    for name, function in functions.FUNCTIONS.items():
        if function.kinds:
            yield f"{name}: kinds", other(name, kinds=one_more(function.kinds)), partial(counted_by_hand, name)
        if function.back:
            yield f"{name}: back", other(name, back=one_more(function.back)), partial(counted_by_hand, name)
        if not (function.reshapes or function.gathers):
            for needs in sorted({functions.OPERANDS, functions.RESULT, functions.NOTHING} - {function.needs}):
                yield f"{name}: needs {needs}", other(name, needs=needs), derivative_reads_enough


def scaled(table, name):
    original = table[name]
    return lambda m: m.setitem(table, name, lambda *sizes: 2 * original(*sizes))


def wider(entry):
    def fault(m):
        changed = tuple(replace(one, bits=2 * one.bits) if one == entry else one for one in tensor_types.DTYPES)
        for module in (tensor_types, test_model):
            m.setattr(module, "DTYPES", changed)

    return fault


def larger(unit):
    return lambda m: m.setitem(quantities.UNITS, unit.name, replace(unit, scale=7 * unit.scale))


def more_numbers(name):
    return lambda m: m.setitem(placement.ROW_NUMBERS, name, placement.ROW_NUMBERS[name] + 1)


def exchanged_networks(m):
    m.setattr(collectives, "NETWORKS", dict(reversed(collectives.NETWORKS.items())))


def switched_otherwise(name):
    return lambda m: m.setitem(collectives.NETWORKS, name, not collectives.NETWORKS[name])


def entry_of_another(name):
    after = {"dot": "axpy"}.get(name, "dot")
    return lambda m: m.setitem(library.LIBRARY, name, library.LIBRARY[after])


def formula_of_another(m):
    row = quantities.TABLE["intensity"]
    m.setitem(quantities.TABLE, "intensity", replace(row, formula=quantities.TABLE["ridge"].formula))


def twice(name, figure):
    def fault(m):
        figures = catalogue()[name].figures
        m.setitem(figures, figure, replace(figures[figure], value=2 * figures[figure].value))

    return fault


def of_another_type(name):
    """The first tensor of a program is of a type of twice the bits, or of half where the chip has no such peak."""
    entry = operations.programs()[name]
    usual = "bf16[" if "bf16[" in entry.text else "fp32["
    other = "int8[" if name in test_mesh_library.BY_HAND else "fp32[" if usual == "bf16[" else "fp64["
    return lambda m: m.setitem(operations.programs(), name, replace(entry, text=entry.text.replace(usual, other, 1)))


# Where each program of the library is counted by hand.
COUNTED = {
    "routed-experts": test_library.test_rows_are_routed_once_each_way,
    "vit": test_library.test_a_vision_transformer_has_the_parameters_that_are_published,
    "mamba": test_library.test_a_state_space_model_has_the_parameters_that_are_published,
    "pipeline": test_library.test_a_pipeline_is_a_training_step_in_microbatches_and_stages,
}
for names, of in (
    (test_library.BY_HAND, test_library.test_a_program_costs_what_is_counted_by_hand),
    (("decoder", "training-step"), test_library.test_a_decoder_is_its_layers_and_its_vocabulary),
    (test_mesh_library.BY_HAND, test_mesh_library.test_splits_by_hand),
):
    COUNTED |= {name: partial(of, name) for name in names}


def the_textbook_names():
    claims = ["intensity = 2BDF/(2BD + 2DF + 2BF)", "ridge = peak/bandwidth"]
    claims += ["T_lower = max(T_math, T_comms)", "T_upper = T_math + T_comms"]
    report = sr.verify({"operation": "matmul", "hardware": "tpu-v5e", "claims": claims})
    assert [judgement.verdict for judgement in report.judgements] == ["holds"] * len(claims)


TRAINED = """mesh X = 2
input x: bf16[N_X, D]; weight W: bf16[D, F]; frozen cache K: bf16[N_X, D]
k = x * K -> bf16[N_X, D]; h = k * W -> bf16[N_X, F]; y = relu(h)"""
SPELLED = {"1": "params", "bytes": "bytes", "FLOPs": "FLOPs", "1/s": "tokens/s"}
MASKED = """weight q: bf16[N, D]; input k: bf16[S, D]; where S = N + F
fuse { s = q * k -> bf16[N, S] masked S <= N; p = softmax(s, S); o = p * k -> bf16[N, D] }"""
STAGED = """mesh P = 2
input x: bf16[N, D]; weight W: bf16[D, F]; weight V: bf16[F, D]
accumulate 4 { repeat 2 over P as x = y { h = x * W -> bf16[N, F]; y = h * V -> bf16[N, D] } }"""
ON_ONE = TRAINED.replace("_X", "").partition("\n")[2]


def in_its_unit(name, operation, unit):
    """A number in that unit can be compared with the amount, and one in seconds cannot."""
    problem = {"operation": operation, "hardware": "tpu-v5e", "training": True}
    claims = [f"{name} < 1e40 {spelled} at N = 64, D = 8, F = 16" for spelled in (SPELLED[unit], "s")]
    report = sr.verify({**problem, "claims": claims})
    right, wrong = (judgement.verdict for judgement in report.judgements)
    assert (right, wrong == "holds") == ("holds", False)


def without_a_stock(name):
    def fault(m):
        for module in (program_quantities, quantity_definitions):
            m.setattr(module, "STOCKS", tuple(n for n in quantities.STOCKS if n != name))

    return fault


def in_another_unit(name):
    return lambda m: m.setitem(quantities.TABLE, name, replace(quantities.TABLE[name], unit="s"))


def in_other_units():
    """The unit of each amount of programs is another: a claim about the amount of a program notices."""
    tensors, moved = ({*quantities.quantities_of(owner)} for owner in (Owner.TENSOR, Owner.SIZES))
    of_programs = [
        name for name in quantities.quantities_of(Owner.PROGRAM) if name != "T_steps"
    ]  # which is a time already
    for name in (*of_programs, "flops_per_chip", "bytes_per_chip", *tensors, *moved):
        alone = (name, ON_ONE if name in moved and not name.endswith("per_chip") else TRAINED)
        program = OTHER_PROGRAMS.get(name, (f"{name}(W)", TRAINED) if name in tensors else alone)
        yield name, in_another_unit(name), partial(in_its_unit, *program, unit=quantities.TABLE[name].unit)


def noticed(names, fault, notice):
    return [(name, fault(name), partial(notice, name)) for name in names]


OTHER_PROGRAMS = {"pairs": ("pairs(s)", MASKED), "bubble": ("bubble", STAGED)}
NETWORKS, SWITCHED = networks_are_from_fast_to_slow, partial(scaled, collectives.SWITCHED)
FIGURES = [(name, figure) for name, chip in catalogue().items() for figure in chip.figures]
WIDTHS = test_model.test_dtypes_are_as_wide_as_their_names_say
LIBRARY = test_model.test_library_operations_cost_what_their_definition_says
MEMORY = test_sized.test_memory_is_all_that_stays
PRINTED = test_model.test_the_catalogue_says_what_its_sources_print
FAULTS = {
    "collectives.COLLECTIVES": noticed(collectives.COLLECTIVES, partial(scaled, collectives.COLLECTIVES), exchanged),
    "collectives.SWITCHED": noticed(collectives.SWITCHED, SWITCHED, lambda _: exchanged("switched")),
    "collectives.NETWORKS": [("their order", exchanged_networks, NETWORKS)]
    + [(name, switched_otherwise(name), NETWORKS) for name in collectives.NETWORKS],
    "placement.ROW_NUMBERS": noticed(placement.ROW_NUMBERS, more_numbers, shared_row),
    "functions.FUNCTIONS": list(faults_of_functions()),
    "tensor_types.DTYPES": [(one.name, wider(one), WIDTHS) for one in tensor_types.DTYPES],
    "quantities.UNITS": [
        (name, larger(unit), lambda: [says_its_prefix(one) for one in quantities.UNITS.values()])
        for name, unit in quantities.UNITS.items()
        if name == unit.name
    ],
    "library.LIBRARY": noticed(library.LIBRARY, entry_of_another, LIBRARY),
    "quantities.STOCKS": [(name, without_a_stock(name), MEMORY) for name in quantities.STOCKS],
    "quantities.TABLE": [("intensity", formula_of_another, the_textbook_names), *in_other_units()],
    "hardware.toml": [(f"{name} {figure}", twice(name, figure), partial(PRINTED, name)) for name, figure in FIGURES],
    "programs.toml": [(name, of_another_type(name), COUNTED[name]) for name in operations.programs()],
}
# Why no number of a table can be wrong unseen: it has none, or it is a part of one that is above.
SAFE = {
    "given_costs.COUNTINGS": "words of the command line",
    "gradients.GAIN": "its work is counted in test_a_gain_is_a_product_and_a_sum",
    "tensor_types.BY_NAME": "made of DTYPES", "functions.VIEW": "that it does and moves nothing is counted in tests/test_views.py", "functions.SLICE": "that they do and move nothing is counted in tests/test_slices.py", "functions.CONCAT": "as SLICE", "functions.PLACE": "counted in tests/test_scans.py", "functions.COLLECT": "as PLACE", "functions.APPEND": "as SLICE",
    "gradients.UNDONE": "gradients are held against finite differences in tests/test_slices.py", "functions.BROADCAST": "what it does is counted in loops in tests/test_reductions.py",
    "hardware.WORDS_OF_TEXTS": "a part of the names of figures",
    "hardware.SPELLINGS": "other names of networks",
    "library.AXPY": "a part of LIBRARY", "library.SOFTMAX_KINDS": "a part of LIBRARY", "library.RMS_NORM_KINDS": "a part of LIBRARY", "library.TILED": "a part of LIBRARY",
    "collectives.HANDED": "names of collectives, which the second engine simulates", "pipeline_stages.BUBBLE": "the name of a quantity", "pipeline_stages.SCHEDULES": "words of a problem",
    "hardware.OUTSIDE": "links of which a check of the table speaks", "hardware.NEAR": "how near sources of a figure are", "hardware.SPOKEN_PARTS": "names of parts",
    "collectives.WIRINGS": "words of a mesh", "program_tree.ROLES": "words of a program",
    "given_costs.ARITHMETIC": "what a function may contain", "problem.SECTIONS": "names of sections", "quantities.QUANTITIES": "names of TABLE", "quantities.SPOKEN": "names of TABLE", "quantities.DERIVED": "names of TABLE", "quantities.MOVED": "names of TABLE", "quantities.OWED": "names of TABLE, of each of which a number is asked for in tests/test_sized.py",
    "quantities.TIMES": "a part of UNITS", "quantities.DURATIONS": "a part of UNITS", "quantities.STORAGE": "a part of UNITS", "quantities.BIT_RATES": "a part of UNITS", "quantities.WORK": "a part of UNITS", "quantities.COUNTS": "a part of UNITS", "quantities.POWERS": "prefixes of UNITS", "quantities.TRAFFIC": "a part of TABLE", "quantities.ENERGY": "a part of UNITS", "quantities.RATES": "a part of UNITS",
}  # fmt: skip
EVERY = [(table, i, rows[i : i + 6]) for table, rows in FAULTS.items() for i in range(0, len(rows), 6)]


def tables():
    """What is written down at the head of a module of the model and is no single word or number."""
    for path in sorted(MODEL.glob("*.py")):
        for node in ast.parse(path.read_text("utf-8")).body:
            targets = getattr(node, "targets", [node.target] if isinstance(node, ast.AnnAssign) else [])
            if not isinstance(getattr(node, "value", None), ast.Constant):
                names = (target.id for target in targets if isinstance(target, ast.Name))
                yield from (f"{path.stem}.{name}" for name in names if name.isupper())


def test_every_table_of_the_model_has_a_fault():
    assert {*tables(), *(path.name for path in MODEL.glob("*.toml"))} == FAULTS.keys() | SAFE.keys()
    assert all(len(rows) > 0 for rows in FAULTS.values())


def test_a_gain_is_a_product_and_a_sum(monkeypatch):
    a_gain_is_a_product_and_a_sum()
    monkeypatch.setattr(gradients, "GAIN", gradients.GAIN[:1])
    with pytest.raises((AssertionError, CheckError)):
        a_gain_is_a_product_and_a_sum()


@pytest.mark.thorough
@pytest.mark.usefixtures("_nothing_is_remembered")
@pytest.mark.parametrize("rows", [rows for *_, rows in EVERY], ids=[f"{table} {i}" for table, i, _ in EVERY])
def test_a_fault_in_a_table_is_noticed(monkeypatch, rows):
    for name, fault, notice in rows:
        forget()
        notice()  # what is right is not noticed
        with monkeypatch.context() as patch:
            fault(patch)
            try:
                notice()
            except (AssertionError, CheckError):
                continue
        pytest.fail(name)
