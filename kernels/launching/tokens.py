"""Keys of calls: equal tokens for equal things, and the layout of a tensor.

Hashing a spec takes longer than a launch. So a spec is hashed once, and later looked up by its identity.
"""

from collections.abc import Hashable
from itertools import count
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

TMA_BYTES = 16
_KEPT = 1 << 14
_numbers = count()
_by_identity: dict[int, tuple[Any, int]] = {}
_by_value: dict[Hashable, int] = {}


def token(thing: Hashable) -> int:
    """A number of equal things, unique in this process."""
    entry = _by_identity.get(id(thing))
    if entry is not None and entry[0] is thing:
        return entry[1]
    if len(_by_identity) >= _KEPT:
        _by_identity.clear()
    number = interned(thing)
    # The entry keeps the thing alive: nothing else can have its identity.
    _by_identity[id(thing)] = (thing, number)
    return number


def interned(value: Hashable) -> int:
    """A number of equal values: a shorter key."""
    if len(_by_value) >= _KEPT:
        # Numbers are never reused: earlier values get new ones, for one more first call.
        _by_value.clear()
    return _by_value.setdefault(value, next(_numbers))


def layout(x: "torch.Tensor | None") -> Hashable:
    """Key of a tensor: shape, strides, dtype, device and alignment.

    Triton compiles for addresses at multiples of 16 bytes, and TMA needs them.
    """
    if x is None:
        return None
    return x.shape, x.stride(), x.dtype, x.get_device(), not x.data_ptr() % TMA_BYTES


def scalar_kind(scalar: "int | torch.Tensor | None") -> Hashable:
    """Key of a scalar, equal for integers that Triton compiles alike; for a tensor, `layout`.

    Triton compiles 1 as a constant.
    """
    if not isinstance(scalar, int):
        return layout(scalar)
    return scalar == 1, not scalar % TMA_BYTES, scalar.bit_length(), scalar < 0
