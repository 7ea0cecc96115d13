"""Matrix units as accumulators, by name, each with the evidence for its model.

All parameters but those of Hopper's FP8 are from MMA-Sim 2.1 (arXiv 2511.10909), whose authors compared their
models with the hardware.
"""

from dataclasses import replace
from typing import Any

from fp8core.accumulators.model import Accumulator, Evidence, Step
from fp8core.checks import whole
from fp8core.formats import FORMATS
from fp8core.rounding import Rounding

_MMA_SIM = "MMA-Sim, arXiv 2511.10909"
_STEP_BITS = 256
"""Bits of each operand's row in one step of a Hopper or Blackwell tensor core."""
_PROMOTION_STEPS = 4
_ONE_CHAIN = ", one chain"

_FP8 = ("e4m3", "e5m2")
_HALF = ("fp16", "bf16")
_FNUZ = ("e4m3fnuz", "e5m2fnuz")


def _step(bits: int) -> int:
    return _STEP_BITS // bits


def _published(
    name: str, title: str, operands: tuple[str, ...], fraction_bits: int, products: int, **others: Any
) -> Accumulator:
    """Unit of a published model: its fraction bits, and the products of a step."""
    return Accumulator(
        name=name,
        title=title,
        source=_MMA_SIM,
        evidence=Evidence.PUBLISHED,
        operands=operands,
        fraction_bits=fraction_bits,
        fused_products=products,
        **others,
    )


def _nearest(name: str, title: str, operands: tuple[str, ...], *sizes: int, **others: Any) -> Accumulator:
    """Unit that rounds the sum of a step to nearest."""
    return _published(name, title, operands, *sizes, out_rounding=Rounding.NEAREST_EVEN, **others)


def _chain(name: str, title: str, step: Step, fraction_bits: int) -> Accumulator:
    chain = _nearest(name, title, tuple(FORMATS), fraction_bits, 1, step=step)
    return replace(chain, source="IEEE 754-2019", evidence=Evidence.DEFINITION)


_HOPPER_FP8 = replace(
    _published("hopper_fast", f"Hopper FP8{_ONE_CHAIN}", _FP8, 13, _step(8), out=FORMATS["e8m13"]),
    source="MMA-Sim, arXiv 2511.10909; Khattak & Mikaitis, arXiv 2512.07004; captured on an H200",
    evidence=Evidence.CAPTURED,
)
_HOPPER_HALF = _published("hopper_bf16", "Hopper fp16 and bf16", _HALF, 25, _step(16))


def promoted(accumulator: Accumulator, every: int) -> Accumulator:
    """A unit whose sum is added to an fp32 register after `every` products.

    Raises ValueError unless `every` is a multiple of the unit's step.
    """
    if whole("the products between promotions", every, 1) % accumulator.fused_products:
        raise ValueError(
            f"{accumulator.title} can be promoted every multiple of {accumulator.fused_products}, got {every}"
        )
    title = accumulator.title.removesuffix(_ONE_CHAIN)
    return replace(accumulator, title=f"{title}, promoted every {every}", promotion=every)


ACCUMULATORS: dict[str, Accumulator] = {
    accumulator.name: accumulator
    for accumulator in (
        _HOPPER_FP8,
        replace(promoted(_HOPPER_FP8, _PROMOTION_STEPS * _step(8)), name="hopper_promoted"),
        replace(
            _HOPPER_FP8,
            name="hopper_fp16_sum",
            title="Hopper FP8 into fp16",
            out=FORMATS["fp16"],
            out_rounding=Rounding.NEAREST_EVEN,
            zero_exponent=-21,
        ),
        _HOPPER_HALF,
        replace(
            _HOPPER_HALF,
            name="hopper_hmma",
            title="Hopper FP8 unpacked to fp16, mma.sync",
            source="captured on an H200: what Triton makes of tl.dot below 64 rows",
            evidence=Evidence.CAPTURED,
            operands=_FP8,
            unpacked=FORMATS["fp16"],
            order=tuple(4 * run + place for half in (0, 2) for run in range(8) for place in (half, half + 1)),
        ),
        # name, title, operands, fraction bits, products of a step
        _published("ada_fp8", "Ada FP8", _FP8, 13, _step(16), out=FORMATS["e8m13"], zero_exponent=-132),
        _published("blackwell_fp8", "Blackwell FP8", (*_FP8, "e3m2", "e2m3", "e2m1"), 25, _step(8)),
        _published(
            "blackwell_fp4",
            "Blackwell block-scaled FP4",
            ("e2m1",),
            35,
            _step(4),
            step=Step.SCALED_GROUPS,
            zero_exponent=-139,
        ),
        _published("ampere_half", "Ampere fp16 and bf16", _HALF, 24, 8, zero_exponent=-132),
        _published("turing_half", "Turing fp16", ("fp16",), 24, 8, zero_exponent=-132),
        _published("volta_half", "Volta fp16", ("fp16",), 23, 4, zero_exponent=-131),
        _nearest("cdna3_fp8", "CDNA3 FP8", _FNUZ, 24, 16, step=Step.FLOORED_BY_PARITY, sum_bits=31),
        _nearest("cdna3_half", "CDNA3 fp16 and bf16", _HALF, 24, 8, step=Step.FLOORED, sum_bits=31),
        _nearest("cdna2_half", "CDNA2 fp16 and bf16", _HALF, 23, 4, step=Step.FLUSHED_PAIRS),
        _nearest("cdna1_fp16", "CDNA1 fp16", ("fp16",), 23, 4, step=Step.EXACT),
        _nearest("cdna1_bf16", "CDNA1 bf16", ("bf16",), 23, 2, step=Step.EXACT),
        _chain("fp32", "fp32, one product after the other", Step.FP32_CHAIN, 23),
        _chain("fp64", "fp64, one product after the other", Step.FP64_CHAIN, 52),
    )
}
