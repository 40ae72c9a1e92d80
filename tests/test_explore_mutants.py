"""Deliberate faults of the explorations: each is noticed by the tests of what they say."""

from dataclasses import replace

import pytest
import test_exploring
import test_figures
import test_plots
import test_program_exploring
import test_regimes

from symroof.algebra import fan as fans
from symroof.errors import SymroofError
from symroof.exploration import comparison, curves, regime_map, regime_steps, regimes, roofs, sweep
from symroof.formula import number

pytestmark = pytest.mark.part(2)


def _one_less(step):
    return replace(step, right=replace(step.right, right=number(step.right.right.value - 1)))


def _turned(found):
    return tuple((a, "<<", b) if sign == "~~" else (a, sign, b) for a, sign, b in found)


# What is broken, how, and a test that notices it.
FAULTS = {
    "a ray of the fan is lost": (fans, "_rays", lambda f: lambda *a: f(*a)[:-1], lambda: test_regimes.test_every_scaling_falls_into_exactly_one_regime("matmul")),
    "the tie of all is forgotten": (fans, "_meets", lambda f: lambda *a: {m for m in f(*a) if m.bit_count() < 4}, lambda: test_regimes.test_every_scaling_falls_into_exactly_one_regime("matmul")),
    "a case has the scaling of another": (regime_steps, "_case", lambda f: lambda fan, mask, *a: f(fan, fan.masks[0], *a), lambda: test_regimes.test_every_scaling_falls_into_exactly_one_regime("fixed size")),
    "sizes of one order are small": (regime_map, "relations", lambda f: lambda *a: _turned(f(*a)), lambda: test_regimes.test_every_scaling_falls_into_exactly_one_regime("matmul")),
    "a condition is dropped": (regime_map, "relations", lambda f: lambda *a: f(*a)[1:], lambda: test_regimes.test_every_scaling_falls_into_exactly_one_regime("matmul")),
    "equal sizes are one too low": (regime_map, "equal_sizes", lambda f: lambda *a: tuple(_one_less(step) for step in f(*a)), lambda: test_regimes.test_what_a_row_says_is_true_at_points("matmul")),
    "the ridge is inverted": (regime_map, "reciprocal_condition", lambda f: lambda draft, form: f(draft, 1 / form), lambda: test_regimes.test_what_a_row_says_is_true_at_points("matmul")),
    "a limit is the value at one": (regime_steps, "limit", lambda f: lambda value, x, least_one: value.subs(x, 1), lambda: test_regimes.test_the_book_answers_of_the_map()),
    "the output is not among the bytes": (regime_steps, "shares", lambda f: lambda setting: f(setting)[:-1], lambda: test_regimes.test_a_point_on_the_map_is_exact()),
    "the far corner is the nearest": (regime_map, "min", lambda f: max, lambda: test_regimes.test_a_point_on_the_map_is_exact()),
    "any regime will do": (regimes, "weakest_regimes", lambda f: lambda *a: ((),), lambda: test_regimes.test_inference("BDF/(BD + DF + BF) ~ B", "B << D and B << F")),
    "a dtype is not put in": (comparison, "with_types", lambda f: lambda program, types: program, lambda: test_program_exploring.test_a_program_in_another_type_moves_as_many_elements()),
    "the last row of a grid is lost": (sweep.Sweep, "size", lambda f: property(lambda self: f.fget(self) - 1), None),
    "a throughput is twice what it is": (curves, "with_figures", lambda f: lambda setting, name, value: f(setting, name, 2 * value if name == "throughput" else value), lambda: test_plots.test_question_3_point_by_point()),
    "a link has the intensity of memory": (roofs, "evaluate", lambda f: lambda *a: 2 * f(*a), lambda: test_plots.test_a_roofline_has_the_numbers_of_its_operations()),
    "a kernel is without its last statement": (roofs, "overlaps", lambda f: lambda program: tuple(names[:-1] or names for names in f(program)), lambda: test_program_exploring.test_statements_stand_under_the_roof_where_they_would_alone()),
    "a kernel loses the traffic of its last statement": (roofs, "amounts", lambda f: lambda *a: {n: 0 * v if n == "bytes(o)" else v for n, v in f(*a).items()}, lambda: test_program_exploring.test_statements_stand_under_the_roof_where_they_would_alone()),
    "the matrix unit does the work of the vector unit": (roofs, "VECTOR", lambda f: "math", lambda: test_figures.test_points_of_a_program_are_its_kernels()),
    "what falls has the ceiling of its end": (regime_steps, "monotony", lambda f: lambda *a: 1, lambda: test_figures.test_what_falls_is_at_most_what_it_is_at_one()),
    "a statement stands where its bytes alone put it": (roofs, "kernels", lambda f: lambda setting: {n: {u: replace(g, expression=g.expression / 2) for u, g in units.items()} for n, units in f(setting).items()}, lambda: test_program_exploring.test_statements_stand_under_the_roof_where_they_would_alone()),
}  # fmt: skip


@pytest.mark.thorough
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_noticed(name, monkeypatch, tmp_path):
    room, part, broken, notice = FAULTS[name]
    right = getattr(room, part, min)
    if notice is None:
        folders = iter([tmp_path / "without", tmp_path / "with"])

        def notice():
            folder = next(folders)
            folder.mkdir()
            test_exploring.test_a_sweep_is_the_formula_at_every_point(folder)

    notice()  # without the fault
    monkeypatch.setattr(room, part, broken(right), raising=False)
    _forget()
    with pytest.raises((AssertionError, SymroofError)):
        notice()
    _forget()


def _forget():
    """What the tests keep between them was made without the fault, or with it."""
    for module in (test_regimes, test_exploring, test_plots):
        for value in vars(module).values():
            getattr(value, "cache_clear", int)()
