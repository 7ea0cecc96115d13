"""What makes two calls alike: equal tokens for equal things, and the layout of a tensor.

Hashing a spec takes longer than a launch. So a spec is hashed once, and known by its identity from then on.
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
_interned: dict[Hashable, int] = {}


def token(thing: Hashable) -> int:
    """A number that equal things share, and no others in this process."""
    known = _by_identity.get(id(thing))
    if known is not None and known[0] is thing:
        return known[1]
    if len(_by_value) >= _KEPT or len(_by_identity) >= _KEPT:
        # Numbers are not given twice: what was known before is a stranger from now on, and no more.
        _by_value.clear()
        _by_identity.clear()
    number = _by_value.setdefault(thing, next(_numbers))
    # The entry keeps the thing alive, so that nothing else can have its identity.
    _by_identity[id(thing)] = (thing, number)
    return number


def interned(value: Hashable) -> int:
    """A number that equal values share: a shorter key."""
    if len(_interned) >= _KEPT:
        _interned.clear()
    return _interned.setdefault(value, next(_numbers))


def layout(x: "torch.Tensor | None") -> Hashable:
    """Equal for tensors that a launch treats alike: shape, strides, dtype, device and alignment.

    Triton compiles for addresses at multiples of 16 bytes, and TMA needs them.
    """
    if x is None:
        return None
    return x.shape, x.stride(), x.dtype, x.get_device(), not x.data_ptr() % TMA_BYTES


def scalar_kind(scalar: "int | torch.Tensor | None") -> Hashable:
    """Equal for integers that Triton compiles alike, and for tensors as `layout`.

    Triton compiles 1 as a constant.
    """
    if not isinstance(scalar, int):
        return layout(scalar)
    return scalar == 1, not scalar % TMA_BYTES, scalar.bit_length(), scalar < 0
