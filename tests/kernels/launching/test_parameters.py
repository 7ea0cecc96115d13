"""Contract: an argument becomes a parameter where its size in the kernel is known; others are refused."""

from types import SimpleNamespace

import pytest
import torch

from kernels.launching.parameters import WORD_BYTES, Parameter, Unprepared, parameters


def compiled(signature: dict[str, str], **facts: object) -> SimpleNamespace:
    """A kernel as Triton describes it."""
    known = {"global_scratch_size": 0, "profile_scratch_size": 0, "tensordesc_meta": None, **facts}
    return SimpleNamespace(src=SimpleNamespace(signature=signature), metadata=SimpleNamespace(**known))


def test_a_pointer_a_number_and_a_constant_lie_in_their_order_with_two_pointers_behind_them():
    x = torch.zeros(3)
    kernel = compiled({"x_ptr": "*fp32", "BLOCK": "constexpr", "rows": "i64", "flag": "i1"})
    found = parameters(kernel, {"x_ptr": x, "BLOCK": 64, "rows": 7, "flag": 1})
    behind = (Parameter(bytes=WORD_BYTES), Parameter(bytes=WORD_BYTES))
    assert [(one.bytes, one.value) for one in found] == [(8, 0), (8, 7), (1, 1), (8, 0), (8, 0)]
    assert found[0].tensor is x
    assert found[-2:] == behind


@pytest.mark.parametrize(
    ("kind", "argument"), [("i32", 1.5), ("fp32", 3), ("i32", None), ("tensordesc<fp8e4nv[64,64]>", None)]
)
def test_what_is_not_known_is_left_to_triton(kind, argument):
    with pytest.raises(Unprepared):
        parameters(compiled({"x": kind}), {"x": argument})


@pytest.mark.parametrize("field", ["global_scratch_size", "profile_scratch_size"])
def test_a_kernel_that_needs_memory_of_its_own_is_left_to_triton(field):
    with pytest.raises(Unprepared, match="scratch memory"):
        parameters(compiled({}, **{field: 16}), {})
