"""The kernel variants, an entry of VARIANTS each. Pure; no torch, no GPU."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import import_module
from typing import Any

from kernels.device import Device
from kernels.gemm import block_scaled
from kernels.gemm.blocks import Blocks, Offer, Variant
from kernels.gemm.hopper import blocks as hopper
from kernels.gemm.hopper import storage
from kernels.gemm.hopper.decoding import blocks as decoding
from kernels.gemm.hopper.storage import Storage
from kernels.gemm.numerics import Arithmetic, Numerics
from kernels.gemm.simple import blocks as simple

Mnk = tuple[int, int, int]
Source = tuple[str, str]
"""(file in kernels/, function or WHOLE_FILE)"""

WHOLE_FILE = ""


@dataclass(frozen=True, kw_only=True)
class KernelVariant:
    """One kernel variant.

    - sources: the code to read. explained_in: a file in kernels/ whose docstring explains it.
    - refusal(numerics): reason not to compute a product at all. lacking(numerics, mnk, device): reason not to
      run it for this shape on this device. A sentence each, empty for none.
    - offers(numerics, device): blocks to choose from, for any shape.
    - storage: its shared memory, unless the compiler lays it out.
    - launcher: module under kernels/ with launch(plan, a, b, out, accumulate, kind), imported at the first
      launch.
    """

    title: str
    sources: tuple[Source, ...]
    refusal: Callable[[Numerics], str]
    offers: Callable[[Numerics, Device], Iterable[Offer]]
    launcher: str
    lacking: Callable[[Numerics, Mnk, Device], str] = lambda numerics, mnk, device: ""
    storage: Callable[[Numerics, Blocks], Storage] | None = None
    explained_in: str = ""


def _simple_refusal(numerics: Numerics) -> str:
    native = numerics.arithmetic is Arithmetic.NATIVE_MX
    return "the scaled tensor core has a kernel of its own" if native else ""


def _native_refusal(numerics: Numerics) -> str:
    native = numerics.arithmetic is Arithmetic.NATIVE_MX
    return "" if native else f"the scaled tensor core's kernel is not for the {numerics.arithmetic.value}"


_HOPPER: dict[str, Any] = {
    "lacking": hopper.lacking,
    "storage": storage.ring,
    "launcher": "gemm.hopper.launch",
    "explained_in": "gemm/hopper/kernel.py",
}
_LOADING = ("gemm/hopper/ring.py", "produce")
_PROMOTE = ("gemm/hopper/promoted.py", "promote")
_PROMOTED_TITLE = "The warp-specialized kernel, its sums promoted"

VARIANTS: Mapping[Variant, KernelVariant] = {
    Variant.SIMPLE: KernelVariant(
        title="The simple kernel",
        sources=(("gemm/simple/kernel.py", "gemm_kernel"),),
        refusal=_simple_refusal,
        offers=simple.offers,
        launcher="gemm.simple.launch",
    ),
    Variant.NATIVE_MX: KernelVariant(
        title="The block-scaled kernel for Blackwell, only compiled and never run",
        sources=(("gemm/blackwell.py", "load_scales"), ("gemm/blackwell.py", "native_gemm_kernel")),
        refusal=_native_refusal,
        lacking=lambda numerics, mnk, device: block_scaled.lacking(numerics, device),
        offers=lambda numerics, device: (
            Offer(blocks=each) for each in block_scaled.candidates(numerics, device)
        ),
        launcher="gemm.blackwell",
    ),
    Variant.CHAINED: KernelVariant(
        title="The warp-specialized kernel, its sums in the tensor core",
        sources=(("gemm/hopper/chained.py", WHOLE_FILE), _LOADING),
        refusal=hopper.chained_refusal,
        offers=hopper.chained,
        **_HOPPER,
    ),
    Variant.PROMOTED: KernelVariant(
        title=_PROMOTED_TITLE,
        sources=(("gemm/hopper/promoted.py", WHOLE_FILE), _LOADING),
        refusal=hopper.promoted_refusal,
        offers=hopper.promoted,
        **_HOPPER,
    ),
    Variant.PROMOTED_REUSE: KernelVariant(
        title=f"{_PROMOTED_TITLE}, D through memory of A",
        sources=(("gemm/hopper/promoted_reuse.py", WHOLE_FILE), _PROMOTE, _LOADING),
        refusal=hopper.reuse_refusal,
        offers=hopper.promoted_reuse,
        **_HOPPER | {"lacking": hopper.lacking_to_reuse},
    ),
    Variant.SMALL_M: KernelVariant(
        title="The warp-specialized kernel for few tokens",
        sources=(("gemm/hopper/small_m.py", WHOLE_FILE), _PROMOTE, _LOADING),
        refusal=hopper.small_m_refusal,
        offers=hopper.small_m,
        **_HOPPER,
    ),
    Variant.DECODING: KernelVariant(
        title="The warp-specialized kernel that decodes codes",
        sources=(
            ("gemm/hopper/decoding/kernel.py", WHOLE_FILE),
            ("gemm/hopper/decoding/consume.py", WHOLE_FILE),
            ("gemm/hopper/decoding/decode.py", WHOLE_FILE),
            ("gemm/hopper/decoding/widen.py", WHOLE_FILE),
            ("gemm/hopper/decoding/ring.py", "produce"),
        ),
        refusal=hopper.decoding_refusal,
        lacking=hopper.lacking_to_decode,
        offers=decoding.offers,
        storage=storage.decoding,
        launcher="gemm.hopper.decoding.launch",
        explained_in="gemm/hopper/decoding/kernel.py",
    ),
}
"""A new kernel variant is a member of Variant and an entry here."""


def refusal(variant: Variant, numerics: Numerics, mnk: Mnk, device: Device) -> str:
    return VARIANTS[variant].lacking(numerics, mnk, device) or product_refusal(variant, numerics)


@lru_cache(maxsize=4096)
def product_refusal(variant: Variant, numerics: Numerics) -> str:
    """Reason why a variant does not compute this product, whatever its shape; empty for none."""
    return VARIANTS[variant].refusal(numerics)


@cache
def launcher(variant: Variant) -> Callable[..., object]:
    return import_module(f"kernels.{VARIANTS[variant].launcher}").launch
