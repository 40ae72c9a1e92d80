"""Sizes that are the least, or the largest, of several: which of them, told by what is known, against numbers."""

from fractions import Fraction
from random import Random

import pytest
from effort import draws

import symroof as sr
from symroof.derivation.drafts import Draft
from symroof.errors import CheckError, SymroofError
from symroof.formula import Call, Compare
from symroof.reading import size_cases
from symroof.reading.expressions import read_expression
from symroof.reading.name_scope import Scope
from symroof.reading.programs import read_program
from symroof.reading.size_cases import Premises, UndecidedError, at_points, decided, is_choice
from symroof.symbols import expression, rational, symbol

TOUCHED = """input x: bf16[B, D]
weight R: bf16[D, E]
input z: bf16[e, c, D]
weight W: bf16[e, D, F]
where e = min(E, B*k){more}
where c = B*k/e
r = x * R -> bf16[B, E]
y = z * W -> bf16[e, c, F]"""
FEW, MANY = TOUCHED.format(more=", B*k <= E"), TOUCHED.format(more=", E <= B*k")


def value(formula, point):
    return expression(formula).subs({symbol(name): rational(Fraction(size)) for name, size in point.items()})


@pytest.mark.parametrize(("text", "point"), [(FEW, "B=4,k=8,E=64,D=32,F=16"), (MANY, "B=40,k=8,E=64,D=32,F=16")])
def test_what_is_counted_is_that_of_the_least(text, point):
    sizes = dict(part.split("=") for part in point.split(","))
    b, k, e, d, f = (int(sizes[name]) for name in ("B", "k", "E", "D", "F"))
    touched = min(e, b * k)
    rows = Fraction(b * k, touched)
    found = sr.derive(text, on="h100", at=point)
    program = found.setting.problem.operation
    cost, put = found.setting.cost, {symbol(n): int(size) for n, size in sizes.items()}
    amounts = {"flops": cost.flops, "bytes": cost.bytes, "params": program.stock("weight")}
    counted = {name: program.resolved(amount).subs(put) for name, amount in amounts.items()}
    assert counted["flops"] == 2 * b * d * e + 2 * b * k * d * f
    assert counted["params"] == d * e + touched * d * f
    moved = b * d + d * e + b * e + touched * rows * (d + f) + touched * d * f
    assert counted["bytes"] == 2 * moved
    assert found.counts()["sampled"] == 0
    assert str(read_program(str(read_program(text)))) == str(read_program(text))


@pytest.mark.thorough
def test_what_is_told_beside_a_program_decides_as_what_stands_in_it():
    plain = TOUCHED.format(more="")
    for text, assume, at in ((FEW, "B*k <= E", "B=4,k=8,E=64"), (MANY, "E <= B*k", ["B=16,k=8,E=64", "B=24,k=8,E=64"])):
        written = sr.derive(text, on="h100")
        assert "min" in str(written.setting.problem.operation)
        assert sr.derive(plain, on="h100", assume=assume).to_text() == written.to_text()
        assert sr.derive(plain, on="h100", at=at).to_text() == sr.derive(text, on="h100", at=at).to_text()


def test_what_decides_differently_or_not_at_all_is_asked_for():
    for options in ({}, {"at": "B=4"}, {"at": ["B=4,k=8,E=64", "B=400,k=8,E=64"]}, {"assume": "B << D"}):
        with pytest.raises(SymroofError) as caught:
            sr.derive(TOUCHED.format(more=""), on="h100", **options)
        assert "nothing says which e = min(E, B*k) is" in str(caught.value)
        assert "where E <= B*k, or where B*k <= E" in str(caught.value)
    for text, at in ((FEW, "B=40,k=8,E=64"), (MANY.replace("c = B*k/e", "c = B*k*E/e"), "B=4,k=8,E=64")):
        with pytest.raises(SymroofError, match="the sizes that are put in contradict"):
            sr.derive(text, on="h100", at=at)


def test_what_others_define_in_a_single_product_is_put_in():
    """It is no product on one line, whose sizes are all free."""
    text = "input x: bf16[e, D]; input w: bf16[D, F]; where e = B*k; y = x * w -> bf16[e, F]"
    assert f"FLOPs          {2 * 15 * 7 * 11} " in sr.derive(text, on="h100", at="B=3,k=5,D=7,F=11").to_text()


@pytest.mark.parametrize("seed", range(draws(8)))
def test_of_random_formulas_what_is_decided_is_their_value(seed):
    """Wherever the sizes are at least 1 and what is known holds."""
    random, scope, told = Random(seed), Scope(("B", "D", "E", "c")), 0
    least_one = frozenset(map(symbol, "BDE"))

    def one():
        parts = random.choices(("B", "D", "E", "c", "2", "3"), k=random.randint(1, 2))
        return random.choice(("*", "+", "*", "/")).join(parts)

    for _ in range(24):
        text = f"{random.choice(('min', 'max'))}({one()}, {one()})*{random.choice('BD')} + {one()}"
        formula = read_expression(text, scope)
        facts = tuple(
            Compare(read_expression(one(), scope), random.choice(("<=", ">=")), read_expression(one(), scope))
            for _ in range(random.randint(0, 2))
        )
        try:
            chosen = decided(formula, Premises({}, least_one, facts))
        except UndecidedError:
            continue
        for _ in range(16):
            point = {name: Fraction(random.randint(1, 9), 4 if name == "c" else 1) for name in "BDEc"}
            sides = [(value(f.left, point), f.relation == "<=", value(f.right, point)) for f in facts]
            if all(left == right or (left <= right) == below for left, below, right in sides):
                told += 1
                assert value(chosen, point) == value(formula, point), (formula, facts, point)
    assert told > 10


def test_points_decide_what_is_the_same_at_all_of_them():
    call = Call("max", tuple(read_expression(text, Scope(("B", "E"))) for text in ("E", "2*B", "3")))
    at = [{"B": Fraction(2), "E": Fraction(5)}, {"B": Fraction(1), "E": Fraction(7)}]
    assert [one.right for one in at_points(call, {}, at)] == [call.arguments[0]] * 2
    assert at_points(call, {}, [*at, {"B": Fraction(4), "E": Fraction(5)}]) is None
    assert at_points(call, {}, [{"B": Fraction(2)}]) is None
    assert at_points(call, {}, []) is None


def test_a_choice_that_nothing_decides_is_noticed(monkeypatch):
    def first(formula, known):
        return size_cases.mapped(formula, lambda node: node.arguments[0] if is_choice(node) else node)

    monkeypatch.setattr("symroof.reading.program_checks.decided", first)
    with pytest.raises(CheckError):
        sr.derive(FEW, on="h100")


def test_claims_are_judged_where_what_is_known_holds():
    problem = {"operation": FEW, "hardware": "h100"}
    claims = {
        "flops = 2*B*D*E + 2*B*k*D*F": "holds",
        "params = D*E + E*D*F": "wrong",
        "params = D*E + B*k*D*F": "holds",
    }
    report = sr.verify({**problem, "claims": list(claims)})
    assert [one.verdict for one in report.judgements] == list(claims.values())


OUTSIDE = "input z: bf16[e, D]; weight W: bf16[D, F]; where e = min(B, G), B <= G; y = z * W -> bf16[e, F]"


def test_no_number_is_put_in_outside_of_what_is_known(tmp_path):
    """By whatever command: it would be the formula of the other case."""
    said = "contradict B <= G"
    at = "G=64,D=F=8192"
    for refused in (
        lambda: sr.derive(OUTSIDE, on="h100", at=f"B=640,{at}"),
        lambda: sr.sweep(OUTSIDE, "B=32|64|640,G=64,D=F=8192", tmp_path / "s.csv", on="h100"),
        lambda: sr.plot(OUTSIDE, on="h100", at=at, over="B=60..640"),
        lambda: sr.plot(OUTSIDE, on="h100", at=at, over="B=60..640", kind="times"),
        lambda: sr.compare(OUTSIDE, on="h100,a100", at=f"B=640,{at}").to_text(),
    ):
        with pytest.raises(SymroofError, match=said):
            refused()
    with pytest.raises(SymroofError, match="a page moves sizes"):
        assert not sr.page(OUTSIDE, on="h100", at=f"B=32,{at}").html
    assert sr.sweep(OUTSIDE, "B=32|64,G=64,D=F=8192", tmp_path / "s.csv", on="h100") == 2
    claims = {
        "flops = 800 at B=100,G=10,D=2,F=2": "undecided",
        "compute-bound at B=1000,G=64,D=F=8192": "undecided",
        "flops = 80 at B=10,G=10,D=2,F=2": "holds",
    }
    report = sr.verify({"operation": OUTSIDE, "hardware": "h100", "claims": list(claims)})
    assert [one.verdict for one in report.judgements] == list(claims.values())


def test_no_bound_is_told_that_lies_outside_of_what_is_known():
    inside = sr.derive(OUTSIDE, on="h100", at="B=32,G=64,D=F=8192").to_text()
    assert "B > 318" not in inside
    assert "on one" not in inside
    assert "B > 318" in sr.derive(OUTSIDE, on="h100", at="B=32,G=640,D=F=8192").to_text()


def test_a_case_may_be_told_by_sums():
    text = "input z: bf16[e, D]; weight W: bf16[D, F]; where e = min(B, G + 1); y = z * W -> bf16[e, F]"
    for b, least in ((4, 4), (8, 5)):
        page = sr.derive(text, on="h100", at=f"B={b},G=4,D=F=16").to_text()
        assert f"FLOPs          {2 * least * 256} " in page.replace("2.56e3", "2560")


def test_what_cannot_be_read_beside_a_program_is_what_is_told():
    text = OUTSIDE.replace(", B <= G", "")
    with pytest.raises(SymroofError, match="unexpected 'five'"):
        sr.derive(text, on="h100", at="B=3,G=five")


def test_sizes_go_before_parts_of_a_chip_that_have_their_names():
    text = "input x: bf16[cores, D]; weight W: bf16[D, F]; y = x * W -> bf16[cores, F]"
    assert "132" not in sr.derive(text, on="h100", at="D=F=8192").to_text()
    claims = {"flops = 264*D*F": "wrong", "cores = 132": "wrong", "flops = 2*cores*D*F": "holds"}
    report = sr.verify({"operation": text, "hardware": "h100", "claims": list(claims)})
    assert [one.verdict for one in report.judgements] == list(claims.values())


def test_a_case_of_which_nothing_is_said_is_missed(monkeypatch):
    point = "B=4,k=8,E=64,D=32,F=16"
    assert "Here min(E, Bk) = Bk" in sr.derive(FEW, on="h100", at=point).to_text()
    add = Draft.add
    monkeypatch.setattr(Draft, "add", lambda d, *steps: add(d, *(s for s in steps if not isinstance(s.left, Call))))
    with pytest.raises(CheckError, match="which of several a size is"):
        sr.derive(FEW, on="h100", at=point)
