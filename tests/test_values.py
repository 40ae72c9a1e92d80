"""Values: made as dataclasses are made, never changed, equal by their parts."""

import copy
import dataclasses
import inspect
import pickle
from dataclasses import field

import pytest

from symroof.formula import Frozen


class Pair(Frozen):
    left: int
    right: int = 2
    seen: list[int] = field(default_factory=list, compare=False, repr=False)


class Often(Frozen, often=True):
    left: int
    right: int = 2


class Positive(Frozen):
    value: int

    def __post_init__(self):
        if self.value <= 0:
            raise ValueError(self.value)


@pytest.mark.parametrize("kind", [Pair, Often])
def test_values_are_made_by_place_and_by_name(kind):
    made = kind(1), kind(1, 2), kind(left=1), kind(1, right=2), kind(right=2, left=1)
    assert {(value.left, value.right) for value in made} == {(1, 2)}
    assert len(set(made)) == 1
    assert made[0] != kind(2)
    assert repr(made[0]) == f"{kind.__name__}(left=1, right=2)"


@pytest.mark.parametrize("kind", [Pair, Often])
@pytest.mark.parametrize(("values", "named"), [((), {}), ((), {"right": 1}), ((1, 2, [], 4), {}), ((1,), {"left": 2}), ((1,), {"middle": 2}), ((), {"middle": 1}), ((), {"right": 1, "middle": 2, "seen": []}), ((), {"middle": 1, "right": 2})])  # fmt: skip
def test_what_is_missing_unknown_or_too_much_is_refused(kind, values, named):
    with pytest.raises(TypeError):
        kind(*values, **named)


@pytest.mark.parametrize("kind", [Pair, Often])
def test_values_do_not_change(kind):
    value = kind(1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        value.left = 3
    with pytest.raises(dataclasses.FrozenInstanceError):
        del value.left
    assert value.left == 1


def test_what_is_made_for_a_value_is_its_own():
    first, second, given = Pair(1), Pair(1), Pair(1, seen=[7])
    first.seen.append(3)
    assert (first.seen, second.seen, given.seen) == ([3], [], [7])
    assert first == given


@pytest.mark.parametrize("kind", [Pair, Often])
def test_parts_stand_in_the_order_of_the_fields(kind):
    assert list(vars(kind(right=3, left=1)))[:2] == list(vars(kind(1)))[:2] == ["left", "right"]


def test_a_value_refuses_its_own_way():
    assert Positive(1).value == 1
    with pytest.raises(ValueError, match="-1"):
        dataclasses.replace(Positive(1), value=-1)


@pytest.mark.parametrize("value", [Pair(1, 3), Often(1, 3)])
def test_values_are_copied_pickled_and_replaced(value):
    assert pickle.loads(pickle.dumps(value)) == copy.deepcopy(value) == value
    assert dataclasses.replace(value, left=5) == type(value)(5, 3)
    match value:
        case Pair(left, right) | Often(left, right):
            assert (left, right) == (1, 3)


def test_a_value_says_what_it_is_made_from():
    assert str(inspect.signature(Pair)) == "(left, right=2, seen=[])"
