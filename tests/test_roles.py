"""Element types by role: the weights, the caches, or all else of a program in other types; what moves of a tensor moves in its own type,
and nothing else changes."""

import pytest
from texts import refused

import symroof as sr
from symroof.errors import ReadingError
from symroof.model.kernels import cost_of
from symroof.model.program_quantities import amounts, traffic_of_tensors
from symroof.model.tensor_types import dtype
from symroof.reading.operation_keys import operation_of
from symroof.reading.operations import ProgramEntry, entries
from symroof.reading.programs import read_program

PROGRAMS = sorted(name for name, entry in entries().items() if isinstance(entry, ProgramEntry))
ROLES = {"weights": "int8", "caches": "fp8", "activations": "fp32"}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("role", ROLES)
def test_what_moves_of_a_tensor_moves_in_its_type(name, role):
    before = operation_of({"operation": name, "training": False})
    asked = {"operation": name, "dtype": f"{role}={ROLES[role]}", "training": False}
    if not (before.declared_as(role.removesuffix("s")) if role != "activations" else before.arrays):
        with pytest.raises(ReadingError, match="has no"):
            operation_of(asked)
        return
    after = operation_of(asked)
    held = {d.tensor.name: d.role for d in before.declared}
    carried = {left: e for line in before.forward for repeat in line.repeats for e, left in repeat.carried}
    held |= {left: held[e] for left, e in carried.items() if e in held}  # what leaves a turn enters the next
    for tensor in before.arrays.values():
        own = {"weight": "weights", "cache": "caches"}.get(held.get(tensor.name, ""), "activations") == role
        index = tensor.dtype.integer and tensor.dtype.bits > 8
        wanted = dtype(ROLES[role]) if own and not index else tensor.dtype
        assert after.arrays[str(tensor.name)].dtype == wanted
    moved, others = (traffic_of_tensors(program) for program in (before, after))
    for tensor, amount in moved.items():
        ratio = after.arrays[tensor].dtype.bytes / before.arrays[tensor].dtype.bytes
        assert (others[tensor] - amount * ratio.numerator / ratio.denominator).expand() == 0, tensor
    one, other = (amounts(program, "fma") for program in (before, after))
    assert one["params"] == other["params"]
    assert cost_of(before, "fma").flops == cost_of(after, "fma").flops
    assert read_program(str(after)) == after if not after.line else True


@pytest.mark.thorough
def test_roles_stand_beside_a_type_and_a_configuration():
    d = sr.derive("mlp", dtype="fp16, weights=int8", on="h100", at="B=8,D=256,F=1024")
    assert {str(t.dtype) for t in d.setting.problem.operation.declared_as("weight")} == {"int8"}
    assert str(d.setting.problem.operation.arrays["x"].dtype) == "fp16"
    assert d.value("weights") == d.value("params") == 2 * 256 * 1024
    plain = sr.derive("mlp", dtype="fp16", on="h100", at="B=8,D=256,F=1024")
    assert plain.value("bytes") - d.value("bytes") == 2 * 256 * 1024
    assert plain.value("T_math") == d.value("T_math")  # a product runs at its widest type


@pytest.mark.thorough
def test_what_is_trained_is_stored_in_a_type_that_has_a_gradient():
    with pytest.raises(ReadingError, match="weights in int8 have no gradient"):
        operation_of({"operation": "mlp", "dtype": "weights=int8", "training": True})
    operation_of({"operation": "mlp", "dtype": "weights=fp8", "training": True})
    d = sr.derive("lora", dtype="frozen=int4", training=True, on="h100", at="B=8,D=256,F=512,r=4")
    own = sr.derive("lora", training=True, on="h100", at="B=8,D=256,F=512,r=4")
    assert own.value("weights") - d.value("weights") == 1.5 * (own.value("params") - own.value("trainable"))
    assert own.value("gradients") == d.value("gradients")
    for said in ("weights=fp8,frozen=int4", "frozen=int4,weights=fp8"):
        program = operation_of({"operation": "lora", "dtype": said})
        assert {str(t.dtype) for t in program.declared_as("weight") if t.name in program.frozen} == {"int4"}
        assert {str(t.dtype) for t in program.trainable} == {"fp8"}


test_what_is_no_type_of_a_role_is_said = refused(
    operation_of,
    ({"operation": "mlp", "dtype": "frozen=int4"}, "has no frozen"),
    ({"operation": "matmul", "dtype": "weights=int8"}, "weights are those of a program"),
    ({"operation": "mlp", "dtype": "caches=int8"}, "has no caches"),
    ({"operation": "mlp", "dtype": "wieghts=int8"}, "did you mean weights"),
    ({"operation": "mlp", "dtype": "weights=in8"}, "unknown dtype"),
    ({"operation": "mlp", "dtype": "weights=int8,weights=int4"}, "weights has two types"),
    ({"operation": "mlp", "dtype": "bf16, int4"}, "bf16 and int4 are two"),
)
