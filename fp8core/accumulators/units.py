"""Matrix units as accumulators, by name, each with the evidence for its model.

All parameters but those of Hopper's FP8 are from MMA-Sim 2.1 (arXiv 2511.10909), whose authors compared their
models with the hardware.
"""

from dataclasses import replace

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
_EVERY = tuple(FORMATS)


def _step(bits: int) -> int:
    return _STEP_BITS // bits


_HOPPER_FP8 = Accumulator(
    name="hopper_fast",
    title=f"Hopper FP8{_ONE_CHAIN}",
    source="MMA-Sim, arXiv 2511.10909; Khattak & Mikaitis, arXiv 2512.07004; captured on an H200",
    evidence=Evidence.CAPTURED,
    operands=_FP8,
    fraction_bits=13,
    fused_products=_step(8),
    out=FORMATS["e8m13"],
)
_HOPPER_HALF = Accumulator(
    name="hopper_bf16",
    title="Hopper fp16 and bf16",
    source=_MMA_SIM,
    evidence=Evidence.PUBLISHED,
    operands=_HALF,
    fraction_bits=25,
    fused_products=_step(16),
)


def _nvidia_half(name: str, title: str, products: int, fraction_bits: int, zero_exponent: int) -> Accumulator:
    return replace(
        _HOPPER_HALF,
        name=name,
        title=title,
        fused_products=products,
        fraction_bits=fraction_bits,
        zero_exponent=zero_exponent,
        operands=("fp16",) if name.startswith(("volta", "turing")) else _HALF,
    )


def _amd(
    name: str, title: str, operands: tuple[str, ...], products: int, step: Step, **bits: int
) -> Accumulator:
    return Accumulator(
        name=name,
        title=title,
        source=_MMA_SIM,
        evidence=Evidence.PUBLISHED,
        operands=operands,
        fused_products=products,
        step=step,
        out_rounding=Rounding.NEAREST_EVEN,
        **({"fraction_bits": 23} | bits),
    )


def _chain(name: str, title: str, step: Step, fraction_bits: int) -> Accumulator:
    return Accumulator(
        name=name,
        title=title,
        source="IEEE 754-2019",
        evidence=Evidence.DEFINITION,
        operands=_EVERY,
        fraction_bits=fraction_bits,
        fused_products=1,
        step=step,
        out_rounding=Rounding.NEAREST_EVEN,
    )


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


_CDNA3 = {"fraction_bits": 24, "sum_bits": 31}

ACCUMULATORS: dict[str, Accumulator] = {
    accumulator.name: accumulator
    for accumulator in (
        _HOPPER_FP8,
        replace(
            promoted(_HOPPER_FP8, _PROMOTION_STEPS * _step(8)),
            name="hopper_promoted",
        ),
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
        replace(
            _HOPPER_FP8,
            name="ada_fp8",
            title="Ada FP8",
            source=_MMA_SIM,
            evidence=Evidence.PUBLISHED,
            fused_products=_step(16),
            zero_exponent=-132,
        ),
        replace(
            _HOPPER_HALF,
            name="blackwell_fp8",
            title="Blackwell FP8",
            operands=(*_FP8, "e3m2", "e2m3", "e2m1"),
            fused_products=_step(8),
        ),
        replace(
            _HOPPER_HALF,
            name="blackwell_fp4",
            title="Blackwell block-scaled FP4",
            operands=("e2m1",),
            fraction_bits=35,
            fused_products=_step(4),
            step=Step.SCALED_GROUPS,
            zero_exponent=-139,
        ),
        _nvidia_half("ampere_half", "Ampere fp16 and bf16", 8, 24, -132),
        _nvidia_half("turing_half", "Turing fp16", 8, 24, -132),
        _nvidia_half("volta_half", "Volta fp16", 4, 23, -131),
        _amd("cdna3_fp8", "CDNA3 FP8", _FNUZ, 16, Step.FLOORED_BY_PARITY, **_CDNA3),
        _amd("cdna3_half", "CDNA3 fp16 and bf16", _HALF, 8, Step.FLOORED, **_CDNA3),
        _amd("cdna2_half", "CDNA2 fp16 and bf16", _HALF, 4, Step.FLUSHED_PAIRS),
        _amd("cdna1_fp16", "CDNA1 fp16", ("fp16",), 4, Step.EXACT),
        _amd("cdna1_bf16", "CDNA1 bf16", ("bf16",), 2, Step.EXACT),
        _chain("fp32", "fp32, one product after the other", Step.FP32_CHAIN, 23),
        _chain("fp64", "fp64, one product after the other", Step.FP64_CHAIN, 52),
    )
}
