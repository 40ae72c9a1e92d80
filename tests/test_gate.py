"""One gate: a fault put into any producer at run time is refused, or what it makes is not accepted.

A producer is a public function of the algebra that another room calls, and a function of the derivation or of the
explorations that makes steps or numbers. Each has a fault here; one without a fault fails a test.
"""

import ast
import importlib
import inspect
import pkgutil
import sys
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path

import pytest
from sympy import Expr

import symroof as sr
from symroof.algebra.dominance import Similarity
from symroof.algebra.roots import Interval, Root
from symroof.errors import SymroofError
from symroof.formula import Formula, Name, Number, Product, Verdict, number
from symroof.proof.step import Step

pytestmark = pytest.mark.part(5)

MATMUL = "bf16[B, D] * bf16[D, F] -> bf16[B, F]"
SPLIT = "bf16[B, D_X] * bf16[D_X, F] -> bf16[B, F]"
PACKAGE = Path(sr.__file__).parent
# A module that is imported while a fault is in would keep it.
for found in pkgutil.walk_packages([str(PACKAGE)], "symroof."):
    if not found.name.endswith("__main__"):
        importlib.import_module(found.name)


# What is asked while a fault is in: everything that comes out is read, so that nothing is left undone.


def derived(operation=MATMUL, **options):
    d = sr.derive(operation, **{"on": "tpu-v5e", **options})
    return d.to_json(), d.to_markdown(), d.to_text(), d.to_text(brief=True)


def mapped(operation=MATMUL, **options):
    found = sr.regimes(operation, **{"on": "tpu-v5e", **options})
    return found.to_json(), found.to_text()


def plotted(operation, on="tpu-v5e", **options):
    return sr.plot(operation, on=on, **options).to_text()


def side_by_side():
    found = sr.compare(MATMUL, on="tpu-v5e, h100", assume="B << D, F", at=["D=F=8192", "B=64,D=F=8192"])
    return found.to_json(), found.to_text(), found.to_csv()


def amounts_of_tensors():
    d = sr.derive(MLP, on="tpu-v5e")
    return [d.function(name)(N=2, D=3, F=4, G=5) for name in ("elements(h)", "size(y)", "caches")]


def without_an_operation():
    return sr.derive(on="tpu-v5e", compute="bf16", at="n=9,P=1e9,k=5", **PARTS).to_text()


def claimed(claim, **problem):
    """A false claim that a fault would make true: judged good is what must not be."""
    (judgement,) = sr.verify({"claims": [claim], **problem}).judgements
    if judgement.good:
        return judgement
    raise SymroofError("the claim is not accepted")


MLP = (
    "input x: bf16[N, D]; weight V: bf16[D, F]; weight W: bf16[F, G]; h = x * V -> bf16[N, F]; y = h * W -> bf16[N, G]"
)
LAYER = "input x: bf16[N, D]; weight V: bf16[D, F]; weight W: bf16[F, D]; h = x * V -> bf16[N, F]; a = relu(h); y = a * W -> bf16[N, D]"
TWO_TYPES = LAYER.replace("W: bf16", "W: int8").replace("a = relu(h)", "a = convert(h) -> int8[N, F]")
SHARED = "mesh X, Y on ICI; input x: bf16[B_X, D_Y]; weight W1: bf16[D_X, F_Y]; weight W2: bf16[F_Y, D_X]; h = x * W1 -> bf16[B_X, F_Y]; y = h * W2 -> bf16[B_X, D_Y]"
PUT_IN = "N=256,D=8192,F=8192,G=64"
LLAMA = "S=8192,V=128256,D=4096,K=8,G=4,H=128,F=14336,L=32"
AT_D, AT_X = {"at": "D=F=8192"}, {"mesh": {"X": 4}, "at": "D=F=8192", "on": "tpu-v5p"}
CUBIC = sr.Operation("cubic", flops=lambda N: N**3, reads=lambda N: N, writes=lambda N: N + 1)
LET = {"resident": "weights + size(h)", "chips": "resident/capacity.HBM"}
FIT = {"let": LET, "solve": "max(size(h), params) <= M*capacity.HBM", "solve_for": "M"}
PARTS = {"let": {"flops": "2*B*n", "bytes": "P + B*k"}, "solve": "T_math <= T_comms", "solve_for": "B"}
SPLIT_OF_N = {"on": "tpu-v5p", "over": "X", "subject": "X*Y = N"}
IN_TIME = {"solve": "max(1 ms/T_math, T_math/(10 ms)) <= 1", "solve_for": "B"}

batch = partial(derived, assume="B << D, F", **AT_D)
exact = partial(derived, assume="B << D, F", count="exact", **AT_D)
dot = partial(derived, "dot")
point = partial(derived, at="B=64,D=F=8192")
numbers = partial(derived, "bf16[8, 16] * bf16[16, 32] -> bf16[8, 32]")
fact = partial(derived, assume="B << D, F, D >= 8000")
cubic = partial(derived, CUBIC, compute="bf16")
two_chips = partial(derived, SPLIT, mesh={"X": 2}, link="ICI", solve_for="D")
kinds = partial(derived, "softmax")
times_of_a_program = partial(derived, LAYER, on="tpu-v5p", at=["D=F=8192", "N=64,D=F=8192"])
long_program = partial(derived, "decoder-layer", on="h100", at="B=4,T=64,D=512,F=1024,K=2,G=2,H=64")
several_peaks = partial(derived, TWO_TYPES, assume="N << D, F", **AT_D)
solved = partial(derived, LAYER, at="N=64,D=F=8192", **FIT)
chips_within_a_time = partial(derived, "bf16[B_X, D] * bf16[D, F] -> bf16[B_X, F]", **AT_X, **IN_TIME)
within_a_time = partial(derived, solve="max(T_math, T_HBM) <= 10 ms", solve_for="B", **AT_D)
of_a_program = partial(mapped, MLP, at=PUT_IN)
longest = partial(mapped, SHARED, on="tpu-v5p", training=True, of="T_lower")
at_a_point = partial(mapped, at="B=256,D=F=8192")
inferred = partial(mapped, None, on=None, of="BDF/(BD + DF + BF) ~ B")
wide = {"over": "X=4..4096,Y=4..4096", "at": "D=8192,F=28672,B=1000000"}
territories = partial(plotted, SHARED, "tpu-v5p", training=True, **wide)
statements_under_a_roof = partial(plotted, MLP, at=PUT_IN)
measured_point = partial(plotted, "matmul", points=[{"B": 64, "D": 64, "F": 64, "us": 400}])
served = partial(plotted, "decode-step", "h100", at=LLAMA, over="B=1:256:log", kind="latency")
broken_down = partial(plotted, MLP, at=PUT_IN, kind="breakdown")
throughput = partial(plotted, "matmul", at="D=F=4096", over="B=1..400")
roofline = partial(plotted, "matmul", at="B=64,D=F=8192")
plane = partial(plotted, "matmul", at="F=8192", over="B=1..4096, D=1..4096")
over_chips = partial(plotted, SHARED, "tpu-v5p", over="X=1..256", at="Y=4,B=65536,D=8192,F=28672")
best_split = partial(derived, SHARED, minimize="max(T_X, T_Y)", at="N=64,B=196608,F=32768", **SPLIT_OF_N)
best_sum = partial(derived, SHARED, minimize="T_X + T_Y", at="N=64,B=196608,F=32768", **SPLIT_OF_N)
beyond_the_end = partial(derived, SHARED, minimize="max(T_X, T_Y)", at="N=64,B=8,F=32768", **SPLIT_OF_N)
BOUND = {"operation": MATMUL, "hardware": "tpu-v5e", "assume": ["B << D, F"]}
condition = partial(claimed, "compute-bound when B > 480", **BOUND)
limit_of_a_claim = partial(claimed, "limit(intensity, B -> oo) = 2DF/(D + F)", operation=MATMUL)


# Faults.


def twice(value):
    """The same, and wrong: doubled, one more, turned round, in whatever it comes."""
    match value:
        case None | str():
            return value
        case bool():
            return not value
        case Step():
            return replace(value, right=twice(value.right))
        case Verdict(holds=holds):
            return Verdict(not holds)
        case Formula():
            if hasattr(value, "relation"):
                return replace(value, right=twice(value.right))
            return Product((number(2), value))
        case Interval():
            return Interval(twice(value.low), twice(value.high))
        case Root():
            return Root(2 * value.low, 2 * value.high)
        case tuple():
            return tuple(map(twice, value))
        case dict():
            return {key: twice(one) for key, one in value.items()}
        case Expr():
            return 2 * value
        case _:
            return value + 1 if isinstance(value, int) else 2 * value


def doubled(f):
    return lambda *a, **k: twice(f(*a, **k))


def bounds_doubled(f):
    def fault(*a, **k):
        found = f(*a, **k)

        def case(one):
            return one and replace(one, intervals=twice(one.intervals))

        return replace(found, cases=tuple(map(case, found.cases)), otherwise=case(found.otherwise))

    return fault


def numerators_doubled(f):
    return lambda *a, **k: (twice((found := f(*a, **k))[0]), found[1])


def digits_changed(f):
    def fault(value, *a):
        head, power, tail = f(value, *a).partition("e")
        return head[:-1] + str((int(head[-1]) + 3) % 10) + power + tail

    return fault


FAULTS = {
    "algebra.dominance.approach": (lambda f: lambda *a: (lambda found: found and (found[0], 2 * found[1]))(f(*a)), dot),
    "algebra.dominance.approximation": (lambda f: lambda *a: replace(f(*a), factor=2 * f(*a).factor), batch),
    "algebra.dominance.laurent_terms": (lambda f: lambda *a: (lambda found: found and tuple((2 * c, m) for c, m in found))(f(*a)), batch),
    "algebra.dominance.reciprocals": (lambda f: lambda *a: (lambda found: found and tuple(2 * m for m in found))(f(*a)), batch),
    "algebra.dominance.split_terms": (doubled, mapped),
    "algebra.dominance.leading_form": (lambda f: lambda *a: 2 * f(*a), batch),
    "algebra.dominance.similarity_of": (lambda f: lambda a, b, regime: Similarity(True, a, b), batch),
    "algebra.dominance.vanishes": (lambda f: lambda *a: not f(*a), mapped),
    "algebra.fan.corners": (lambda f: lambda *a: replace(f(*a), masks=f(*a).masks[1:]), longest),
    "derivation.quantity_definitions.times_in_figures": (doubled, longest),
    "exploration.planes.times_in_figures": (doubled, territories),
    "exploration.planes._Times.order": (lambda f: lambda *a: tuple(("T_HBM", y) for _, y in f(*a)), territories),
    "exploration.planes._longest": (lambda f: lambda *a: (replace(s, relation=">") for s in f(*a)), territories),
    "exploration.regimes._steps": (lambda f: lambda *a: (lambda lead, *rest: a[0].add(lead, *map(twice, rest)))(*f(*a)), longest),
    "exploration.regimes._figures": (lambda f: lambda *a: map(twice, f(*a)), longest),
    "exploration.regimes._always_smaller": (lambda f: lambda *a: (replace(s, left=s.right, right=s.left) for s in f(*a)), longest),
    "exploration.regimes._by_sides": (lambda f: lambda *a: f(*a)[::-1], longest),
    "exploration.regimes._smaller": (lambda f: lambda found, setting: dict.fromkeys(found.fan.masks[1:], found.fan.masks[0]), longest),
    "algebra.fan.fan": (lambda f: lambda *a: replace(f(*a), masks=f(*a).masks[1:]), mapped),
    "algebra.solvers.solve_for": (bounds_doubled, condition),
    "algebra.dominance.weakest_regimes": (lambda f: lambda *a: ((),), inferred),
    "algebra.solvers.growth": (doubled, limit_of_a_claim),
    "algebra.solvers.monotony": (lambda f: lambda *a: (lambda found: found and -found)(f(*a)), batch),
    "algebra.rational.cancel": (doubled, batch),
    "algebra.rational.ratio": (numerators_doubled, batch),
    "algebra.rational.sign_of": (lambda f: lambda *a: (lambda found: found and -found)(f(*a)), batch),
    "algebra.fan.relations": (lambda f: lambda *a: f(*a)[1:], mapped),
    "algebra.rounding.decimal": (digits_changed, batch),
    "algebra.rounding.rounded_up": (lambda f: lambda value, digits: f(value / 2, digits), dot),
    "algebra.rounding.shorten": (digits_changed, numbers),
    "algebra.rounding.to_places": (digits_changed, dot),
    "derivation.counting._exact_count": (doubled, batch),
    "derivation.evaluation.quantities": (doubled, throughput),
    "derivation.intensity._least": (lambda f: lambda *a: f(*a)[1:], batch),
    "derivation.intensity._at_most": (lambda f: lambda *a: tuple(replace(s, right=Product((Number(Fraction(1, 2)), s.right))) for s in f(*a)), fact),
    "derivation.intensity._uses": (doubled, batch),
    "derivation.formula_writing.with_digits": (lambda f: lambda formula, digits: f(formula, dict.fromkeys(digits, "9.99e99")), batch),
    "derivation.whole_sizes.wholes": (lambda f: lambda *a: (lambda w: w._replace(each=7 * w.each))(f(*a)), two_chips),
    "derivation.threshold.whole_size": (doubled, batch),
    "derivation.threshold._rule_factor": (lambda f: lambda draft, exact_, low: f(draft, exact_, 2 * low), batch),
    "derivation.threshold._tends_to": (doubled, batch),
    "derivation.drafts.Draft.value_at": (doubled, batch),
    "derivation.premises.Setting.in_numbers": (doubled, batch),
    "derivation.threshold._clearing_steps": (doubled, batch),
    "derivation.threshold._otherwise": (lambda f: lambda draft, solution: f(draft, replace(solution, formula=twice(solution.formula.rows[0][0]))) if not hasattr(solution.formula, "rows") else f(draft, replace(solution, formula=replace(solution.formula, rows=((solution.formula.rows[0][0], twice(solution.formula.rows[0][1])),)))), batch),
    "derivation.equations._combined": (lambda f: lambda *a, every: f(*a, every=not every), solved),
    "derivation.whole_sizes._any": (lambda f: lambda parts: f(list(parts)[1:]), within_a_time),
    "derivation.whole_sizes._both": (lambda f: lambda one, other: one, within_a_time),
    "derivation.whole_sizes.whole_spans": (lambda f: lambda *a: tuple(s._replace(high=s.high and 2 * s.high) for s in f(*a)), chips_within_a_time),
    "derivation.whole_sizes.ranges": (lambda f: lambda spans, *a, **k: f(tuple(s._replace(high=s.high and 2 * s.high) for s in spans), *a, **k), within_a_time),
    "derivation.equations._upright": (doubled, without_an_operation),
    "algebra.roots.whole_number": (lambda f: lambda *a: (lambda found: found and found + 1)(f(*a)), batch),
    "derivation.named_formulas.Basis.value": (doubled, solved),
    "derivation.named_formulas.Basis.in_numbers": (doubled, solved),
    "derivation.named_formulas._number": (lambda f: lambda ground, name, value, point: f(ground, name, 2 * value, point), without_an_operation),
    "derivation.solving._each_case": (lambda f: lambda formula, change: formula, without_an_operation),
    "derivation.pipeline._values": (lambda f: lambda *a: {name: 2 * value for name, value in f(*a).items()}, without_an_operation),
    "derivation.times.each_time": (lambda f: lambda *a: tuple(map(twice, f(*a))), times_of_a_program),
    "derivation.times.fraction_bar": (lambda f: lambda above, below: f(Product((number(2), above)), below), times_of_a_program),
    "derivation.times.Times.written": (doubled, times_of_a_program),
    "derivation.intensity.coefficients": (doubled, long_program),
    "derivation.intensity._definitions": (lambda f: lambda *a: map(twice, f(*a)), long_program),
    "derivation.intensity._with_letters": (lambda f: lambda *a: (f(*a)[0], dict([*f(*a)[1].items()][1:])), long_program),
    "derivation.premises.Setting.compared": (lambda f: property(lambda self: 2 * f.fget(self)), several_peaks),
    "derivation.threshold._balance_tends": (doubled, several_peaks),
    "model.resources.busy_times": (lambda f: lambda *a: {resource: each * 2 for resource, each in f(*a).items()}, times_of_a_program),
    "model.resources.overlaps": (lambda f: lambda program: (sum(f(program), ()),), times_of_a_program),
    "model.resources.steps_of": (lambda f: lambda *a: (lambda found: replace(found, terms=tuple(replace(t, function="min") for t in found.terms)))(f(*a)), times_of_a_program),
    "derivation.times._row": (lambda f: lambda *a: map(twice, f(*a)), batch),
    "derivation.solutions.bands": (lambda f: lambda *a: (), cubic),
    "derivation.solutions.written_solution": (lambda f: lambda *a: twice(f(*a)) if not hasattr(f(*a), "rows") else replace(f(*a), otherwise=Verdict(True)), batch),
    "derivation.threshold._shortest": (doubled, side_by_side),
    "derivation.threshold._side": (doubled, side_by_side),
    "derivation.evaluation.amounts": (doubled, amounts_of_tensors),
    "exploration.breakdowns._sum_at": (doubled, broken_down),
    "exploration.breakdowns._unnamed": (doubled, broken_down),
    "exploration.measured_points.quantities": (doubled, measured_point),
    "exploration.latency.quantities": (doubled, served),
    "exploration.breakdowns.busy_times": (lambda f: lambda *a: dict(list(f(*a).items())[1:]), broken_down),
    "exploration.breakdowns.quantities": (doubled, broken_down),
    "exploration.roofs.cancel": (doubled, statements_under_a_roof),
    "exploration.regime_steps.above_ridge": (doubled, mapped),
    "exploration.regime_steps.as_product": (doubled, mapped),
    "exploration.regime_steps.equal_sizes": (doubled, mapped),
    "exploration.regime_steps.reciprocal_condition": (doubled, mapped),
    "exploration.regime_steps.partition": (lambda f: lambda *a: (lambda found: found and replace(found, cases=found.cases[1:]))(f(*a)), mapped),
    "exploration.longest_times._equal": (lambda f: lambda *a: (), over_chips),
    "exploration.longest_times._ends": (lambda f: lambda *a: map(twice, f(*a)), over_chips),
    "exploration.longest_times._first": (lambda f: lambda *a: map(twice, f(*a)), over_chips),
    "exploration.longest_times._not_exceeded": (lambda f: lambda *a: map(twice, f(*a)), over_chips),
    "exploration.longest_times.longest_time": (lambda f: lambda draft, times, where: f(draft, {name: 1 / time for name, time in times.items()}, where), over_chips),
    "algebra.solvers.least_maximum": (lambda f: lambda *a: replace(f(*a), power=2 * f(*a).power), best_split),
    "algebra.solvers.least_sum": (lambda f: lambda *a: replace(f(*a), power=1 / f(*a).power), best_sum),
    "algebra.solvers.lines": (lambda f: lambda *a: {-e: c for e, c in f(*a).items()}, best_split),
    "algebra.roots.root_near": (doubled, best_split),
    "derivation.solving.optimum_of": (lambda f: lambda *a, **k: replace(f(*a, **k), value=2 * f(*a, **k).value), best_split),
    "derivation.optimum._order": (doubled, best_split),
    "derivation.optimum._end": (doubled, beyond_the_end),
    "derivation.optimum._form": (lambda f: lambda *a: (f(*a)[0], 2 * f(*a)[1]), best_sum),
    "derivation.formula_writing.Layout.root": (doubled, best_split),
    "exploration.regime_steps.limit_step": (doubled, mapped),
    "exploration.regime_steps.leading_steps": (doubled, mapped),
    "exploration.regime_steps._highest": (doubled, mapped),
    "exploration.regime_steps.dominance_steps": (lambda f: lambda *a: tuple(replace(s, right=Name("part_0")) for s in f(*a)), mapped),
    "exploration.regime_steps.sum_of_leaders": (doubled, of_a_program),
    "exploration.regime_steps.leading_statement_steps": (doubled, of_a_program),
    "exploration.regime_steps.traffic_steps": (doubled, mapped),
    "exploration.regime_steps.statements": (lambda f: lambda *a: {w: parts[1:] for w, parts in f(*a).items()}, of_a_program),
    "exploration.regime_steps.traffic_of_tensors": (doubled, of_a_program),
    "exploration.regime_steps.shares": (lambda f: lambda *a: (replace(f(*a)[0], amount=2 * f(*a)[0].amount), *f(*a)[1:]), at_a_point),
    "exploration.regime_steps.shares_at": (doubled, at_a_point),
    "exploration.planes.laurent_terms": (lambda f: lambda *a: tuple((2 * c, m) for c, m in f(*a)), plane),
    "model.given_costs.Cost.bytes": (lambda f: property(lambda self: 2 * f.fget(self)), roofline),
}  # fmt: skip

# What cannot make anything false: it chooses among what is proved, or in which order it is said.
HARMLESS = {
    "algebra.dominance.limit": "whether a leading form is called a limit: both are proved as what they are called",
    "algebra.rational.is_rational": "which way a bound is put into numbers: it is proved however it is written",
    "algebra.rational.sign": "whether the lines between are written",
    "algebra.rational.coefficients": "a representation, inside a solver whose result is proved",
    "algebra.rational.monomial": "a representation, inside a solver whose result is proved",
    "algebra.rational.add": "which cells are compared by their figures: what is then said of two is proved",
    "algebra.rational.polynomial": "a representation: what is made of it is proved, and a common factor makes nothing false",
    "algebra.rational.symbols_of": "an order of symbols",
    "algebra.rounding.magnitude": "how many digits are shown; the digits are compared with the value",
    "algebra.rounding.to_digits": "digits of steps are compared with the value, and those of pages are read back (test_read_back.py)",
    "algebra.rounding.trim": "zeros at the end of digits; the digits are compared with the value",
}
CHOSEN = {"exploration.regimes._true_in", "exploration.regime_steps._alone"}


def called():
    """Every public function of the algebra that another room imports."""
    for room in ("derivation", "exploration", "verification", "rendering"):
        for path in (PACKAGE / room).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("symroof.algebra."):
                    yield from ((node.module, alias.name) for alias in node.names)
    module = importlib.import_module("symroof.algebra.solvers")
    for name, function in inspect.getmembers(module, inspect.isfunction):
        if function.__module__ == module.__name__ and name[0] != "_":
            yield module.__name__, name


def makers_of_steps():
    """Every public function of the explorations that makes steps."""
    for path in (PACKAGE / "exploration").glob("*.py"):
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.FunctionDef) and "Step" in ast.dump(node.returns or ast.Constant(None)):
                yield f"exploration.{path.stem}.{node.name}"


def test_a_threshold_that_is_lost_does_not_make_a_map_nowhere_compute_bound(monkeypatch):
    """The words "nowhere compute-bound here" rest on a step of their own, not on a line that is missing."""
    put_in(monkeypatch, "exploration.planes._threshold", lambda f: lambda *a: ())
    assert sr.plot("matmul", on="tpu-v5e", at="F=8192", over="B=1..4096, D=1..4096").drawing.side == ""


@pytest.mark.thorough
def test_every_producer_has_a_fault():
    functions = {
        f for f in called() if inspect.isfunction(inspect.unwrap(getattr(importlib.import_module(f[0]), f[1])))
    }
    names = {f"{module}.{name}".removeprefix("symroof.") for module, name in functions} | set(makers_of_steps())
    assert names <= {*FAULTS, *HARMLESS, *CHOSEN}


def put_in(monkeypatch, path, fault):
    """The fault in place of the function, wherever it was imported to."""
    owner_path, name = path.rsplit(".", 1)
    try:
        owner = importlib.import_module(f"symroof.{owner_path}")
    except ModuleNotFoundError:
        module, class_name = owner_path.rsplit(".", 1)
        owner = getattr(importlib.import_module(f"symroof.{module}"), class_name)
    original = inspect.getattr_static(owner, name)
    faulty = fault(original)
    monkeypatch.setattr(owner, name, faulty)
    for module in [m for n, m in sys.modules.items() if n.startswith("symroof.")]:
        if getattr(module, name, None) is original and inspect.ismodule(owner):
            monkeypatch.setattr(module, name, faulty)


def forget():
    """Clear what is kept between calls."""
    for name, module in list(sys.modules.items()):
        if name.startswith("symroof."):
            for value in vars(module).values():
                for kept in (value, getattr(value, "_write", None)):
                    known = getattr(kept, "__module__", "") == "symroof.symbols"
                    if callable(getattr(kept, "cache_clear", None)) and not known:
                        kept.cache_clear()


@pytest.fixture(autouse=True)
def _nothing_is_remembered():
    """What is kept between calls would hide a fault, and outlive it."""
    forget()
    yield
    forget()


@pytest.mark.parametrize("producer", FAULTS)
def test_a_fault_does_not_get_through_the_gate(producer, monkeypatch):
    fault, ask = FAULTS[producer]
    put_in(monkeypatch, producer, fault)
    with pytest.raises(SymroofError):
        ask()


ASKED = """over_chips best_split best_sum beyond_the_end batch exact dot point numbers fact cubic two_chips kinds mapped at_a_point
inferred throughput roofline plane times_of_a_program several_peaks solved without_an_operation"""


@pytest.mark.thorough
@pytest.mark.parametrize("ask", ASKED.split())
def test_without_a_fault_everything_gets_through(ask):
    assert globals()[ask]()


@pytest.mark.parametrize("claim", ["compute-bound when B > 480", "limit(intensity, B -> oo) = 2DF/(D + F)"])
def test_a_false_claim_is_not_accepted_without_a_fault_either(claim):
    with pytest.raises(SymroofError, match="not accepted"):
        claimed(claim, **BOUND)


@pytest.mark.thorough
def test_a_busy_machine_refutes_nothing(monkeypatch):
    """Without time for z3 a step is undecided, or sampled: never refuted, and a claim is never wrong."""
    from symroof.proof import prover

    monkeypatch.setattr(prover, "BUDGET", 1)
    assert "proved" in sr.derive(MATMUL, on="tpu-v5e", assume="B << D, F", at="D=F=8192").to_text()
    (judgement,) = sr.verify({"claims": ["max(A, B) <= A + B"]}).judgements
    assert judgement.verdict in ("holds", "undecided")
