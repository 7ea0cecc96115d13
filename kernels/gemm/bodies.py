"""The kernel bodies, one entry of BODIES each: what a body computes, where its source is, which blocks it can
have, what it keeps in shared memory and who launches it. Pure; no torch, no GPU.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

from kernels.device import Device
from kernels.gemm.blocks import Blocks, Body
from kernels.gemm.hopper import blocks as hopper
from kernels.gemm.hopper import narrow_blocks, refusals, storage
from kernels.gemm.hopper.decoding import blocks as decoding
from kernels.gemm.hopper.decoding.candidates import candidates as decoding_candidates
from kernels.gemm.hopper.storage import Storage
from kernels.gemm.meaning import Meaning
from kernels.gemm.simple import blocks as simple
from kernels.gemm.simple import native_blocks as native

Mnk = tuple[int, int, int]
Source = tuple[str, str]
"""(file in kernels/, function or WHOLE_FILE)"""

WHOLE_FILE = ""


def _nothing(meaning: Meaning, mnk: Mnk, device: Device) -> str:
    return ""


@dataclass(frozen=True, kw_only=True)
class KernelBody:
    """One kernel body.

    - title: its name on a page. sources: the code to be read. shared, shared_sources: what the name and the
      code have besides where K is split. general, general_sources: what the name has besides, and the code
      instead, where Blocks.is_general. explained_in: a file in kernels/ whose docstring says how it works.
    - refusal(meaning): the products that it does not compute. lacking(meaning, mnk, device): why it cannot
      run this one here. Both give a sentence, empty where there is no reason.
    - storage: its shared memory, where the body lays that out and not the compiler.
    - launcher: "module:function" under kernels/, called with (plan, a, b, out, accumulate, kind). The module
      may need torch, so it is imported at the first launch.
    """

    title: str
    sources: tuple[Source, ...]
    refusal: Callable[[Meaning], str]
    candidates: Callable[[Meaning, Mnk, Device], Iterator[Blocks]]
    launcher: str
    lacking: Callable[[Meaning, Mnk, Device], str] = _nothing
    storage: Callable[[Meaning, Blocks], Storage] | None = None
    general: str = ""
    general_sources: tuple[Source, ...] = ()
    shared: str = ""
    shared_sources: tuple[Source, ...] = ()
    explained_in: str = ""


_HOPPER: dict[str, Any] = {
    "lacking": refusals.lacking,
    "storage": storage.ring,
    "launcher": "gemm.hopper.launch:launch",
    "explained_in": "gemm/hopper/kernel.py",
}
_LOADING = ("gemm/hopper/ring.py", "produce")
_PROMOTE = ("gemm/hopper/promoted.py", "promote")
_SHARED = (("gemm/hopper/shared_sums.py", WHOLE_FILE),)
_PROMOTED_TITLE = "The warp-specialized kernel, its sums promoted"

BODIES: Mapping[Body, KernelBody] = {
    Body.SIMPLE: KernelBody(
        title="The simple kernel",
        sources=(("gemm/simple/kernel.py", "gemm_kernel"),),
        general=" with everything that a plan may ask for",
        general_sources=(("gemm/simple/general_kernel.py", "general_gemm_kernel"),),
        refusal=simple.refusal,
        candidates=simple.candidates,
        launcher="gemm.simple.launch:launch",
    ),
    Body.NATIVE_MX: KernelBody(
        title="The block-scaled kernel for Blackwell, which its authors only compiled",
        sources=(
            ("gemm/simple/native_kernel.py", "load_scales"),
            ("gemm/simple/native_kernel.py", "native_gemm_kernel"),
        ),
        refusal=native.refusal,
        lacking=native.lacking,
        candidates=native.candidates,
        launcher="gemm.simple.native_launch:launch",
    ),
    Body.CHAINED: KernelBody(
        title="The warp-specialized kernel, its sums in the tensor core",
        sources=(("gemm/hopper/chained.py", WHOLE_FILE), _LOADING),
        refusal=refusals.chained_refusal,
        candidates=hopper.chained,
        **_HOPPER,
    ),
    Body.CHAINED_SHARED: KernelBody(
        title="The warp-specialized kernel for few blocks, its sums in the tensor core",
        sources=(("gemm/hopper/chained_shared.py", WHOLE_FILE), _LOADING),
        shared=", programs sharing a block",
        shared_sources=_SHARED,
        refusal=refusals.chained_shared_refusal,
        candidates=hopper.chained_shared,
        **_HOPPER,
    ),
    Body.PROMOTED: KernelBody(
        title=_PROMOTED_TITLE,
        sources=(("gemm/hopper/promoted.py", WHOLE_FILE), _LOADING),
        refusal=refusals.promoted_refusal,
        candidates=hopper.promoted,
        **_HOPPER,
    ),
    Body.PROMOTED_LENT: KernelBody(
        title=f"{_PROMOTED_TITLE}, D through memory of A",
        sources=(("gemm/hopper/promoted_lent.py", WHOLE_FILE), _PROMOTE, _LOADING),
        refusal=refusals.lent_refusal,
        candidates=hopper.promoted_lent,
        **_HOPPER | {"lacking": refusals.lacking_to_lend},
    ),
    Body.PROMOTED_THREE: KernelBody(
        title=f"{_PROMOTED_TITLE} by three warpgroups",
        sources=(("gemm/hopper/promoted_three.py", WHOLE_FILE), _PROMOTE, _LOADING),
        shared=", programs sharing a block",
        shared_sources=_SHARED,
        refusal=refusals.three_refusal,
        candidates=hopper.promoted_three,
        **_HOPPER,
    ),
    Body.PROMOTED_FEW_ROWS: KernelBody(
        title="The warp-specialized kernel for few tokens, its sums promoted",
        sources=(("gemm/hopper/promoted_few_rows.py", WHOLE_FILE), _PROMOTE, _LOADING),
        shared=", programs sharing a block",
        shared_sources=_SHARED,
        refusal=refusals.few_rows_refusal,
        candidates=hopper.few_rows,
        **_HOPPER,
    ),
    Body.NARROW: KernelBody(
        title="The warp-specialized kernel for few tokens, a narrow block a program",
        sources=(("gemm/hopper/narrow.py", WHOLE_FILE),),
        refusal=narrow_blocks.refusal,
        lacking=refusals.lacking,
        candidates=narrow_blocks.candidates,
        storage=storage.narrow,
        launcher="gemm.hopper.narrow_launch:launch",
        explained_in="gemm/hopper/narrow.py",
    ),
    Body.DECODING: KernelBody(
        title="The warp-specialized kernel that decodes codes",
        sources=(
            ("gemm/hopper/decoding/kernel.py", WHOLE_FILE),
            ("gemm/hopper/decoding/consume.py", WHOLE_FILE),
            ("gemm/hopper/decoding/sums.py", WHOLE_FILE),
            ("gemm/hopper/decoding/decode.py", WHOLE_FILE),
            ("gemm/hopper/decoding/widen.py", WHOLE_FILE),
            ("gemm/hopper/uneven.py", WHOLE_FILE),
            ("gemm/hopper/decoding/ring.py", "produce"),
        ),
        shared=", K in several runs",
        shared_sources=_SHARED,
        refusal=decoding.refusal,
        lacking=decoding.lacking,
        candidates=decoding_candidates,
        storage=storage.decoding,
        launcher="gemm.hopper.decoding.launch:launch",
        explained_in="gemm/hopper/decoding/kernel.py",
    ),
}
"""A kernel body more is a member of Body and an entry here."""


def refusal(body: Body, meaning: Meaning, mnk: Mnk, device: Device) -> str:
    """Why a body does not run this GEMM on a device, in a sentence; empty where it may."""
    entry = BODIES[body]
    return entry.lacking(meaning, mnk, device) or entry.refusal(meaning)


def tries(body: Body, meaning: Meaning, mnk: Mnk, device: Device) -> Iterator[Blocks]:
    """The blocks to choose from for a GEMM: none of a body that does not run it."""
    if not refusal(body, meaning, mnk, device):
        yield from BODIES[body].candidates(meaning, mnk, device)


@cache
def launcher(body: Body) -> Callable[..., object]:
    """What launches a body."""
    module, function = BODIES[body].launcher.split(":")
    return getattr(import_module(f"kernels.{module}"), function)
