"""A compiled kernel's parameters, as CUDA's driver takes them, in Triton's order.

Constants are no parameters, nor are arguments that Triton compiled as constants: None, or 1. A tensor
descriptor is a tensor map, its sizes and its strides. Two pointers to scratch memory, which our kernels do
not use, come last.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

WORD_BYTES = 8
MAP_WORDS = 16

_INTEGERS = {f"{sign}{8 * size}": size for sign in "iu" for size in (1, 2, 4, 8)} | {"i1": 1, "u1": 1}
_HOST_TYPES = {8: 10, 9: 8, 10: 9}
"""Element types of a tensor map with another number on the host. Source: Triton's nvidia driver."""


class Uncacheable(ValueError):
    """Raised with the reason why Triton must launch a call."""


class Scalar(int):
    """An integer argument that differs between calls with one key; its identity names it."""


@dataclass(frozen=True, kw_only=True)
class TensorMap:
    """A TMA descriptor without its address: innermost dims first, strides in bytes."""

    element_type: int
    dims: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    swizzle: int
    nan_beyond: bool
    element_bytes: int

    @property
    def spans(self) -> int:
        """Bytes from the first element to the last."""
        strides = (self.element_bytes, *self.strides)
        return sum((size - 1) * stride for size, stride in zip(self.dims, strides, strict=True)) + 1


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """A pointer into a tensor, a tensor map over one, or a number (an int or a Scalar)."""

    bytes: int
    tensor: "torch.Tensor | None" = None
    tensor_map: TensorMap | None = None
    value: int = 0

    @property
    def words(self) -> int:
        return MAP_WORDS if self.tensor_map is not None else 1


def parameters(kernel: Any, arguments: Mapping[str, Any]) -> tuple[Parameter, ...]:
    """The parameters of a compiled kernel for these arguments.

    Raises Uncacheable for an unknown type, a kernel with scratch memory, and clusters.
    """
    facts = kernel.metadata
    if facts.global_scratch_size or facts.profile_scratch_size or facts.num_ctas != 1:
        raise Uncacheable("the kernel needs scratch memory, or is launched in clusters")
    maps = iter(facts.tensordesc_meta or ())
    every: list[Parameter] = []
    for name, kind in kernel.src.signature.items():
        argument, kind = arguments.get(name), str(kind)
        if kind.startswith("tensordesc<"):
            every += _described(argument, next(maps, None))
        elif kind.startswith("*"):
            every.append(Parameter(bytes=WORD_BYTES, tensor=argument))
        elif kind in _INTEGERS and isinstance(argument, int):
            every.append(Parameter(bytes=_INTEGERS[kind], value=argument))
        elif kind != "constexpr":
            raise Uncacheable(f"{name} is of type {kind}")
    return (*every, Parameter(bytes=WORD_BYTES), Parameter(bytes=WORD_BYTES))


def _described(descriptor: Any, facts: Mapping[str, Any] | None) -> list[Parameter]:
    plain = facts is not None and not facts["fp4_padded"] and not facts.get("is_im2col", False)
    if not plain or getattr(descriptor, "round_f32_to_tf32", False):
        raise Uncacheable("a tensor descriptor is of an unknown kind")
    element, kind = facts["elem_size"], facts["elem_type"]
    shape, strides = tuple(descriptor.shape), tuple(descriptor.strides)
    tensor_map = TensorMap(
        element_type=_HOST_TYPES.get(kind, kind),
        dims=shape[::-1],
        strides=tuple(element * stride for stride in strides[-2::-1]),
        box=tuple(facts["block_size"])[::-1],
        swizzle=facts["swizzle"],
        nan_beyond=descriptor.padding == "nan",
        element_bytes=element,
    )
    return [
        Parameter(bytes=MAP_WORDS * WORD_BYTES, tensor=descriptor.base, tensor_map=tensor_map),
        *(Parameter(bytes=4, value=size) for size in shape),
        *(Parameter(bytes=WORD_BYTES, value=stride) for stride in strides),
    ]
