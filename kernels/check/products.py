"""Our GEMMs on a device: are they within the derived bound, as the model says, and equal every time?"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from math import isqrt

import numpy as np
import torch
from numpy.typing import NDArray

from fp8core.accumulators import ACCUMULATORS, Accumulator
from fp8core.formats import FORMATS
from kernels.check.report import Figure, Group, Line, Verdict
from kernels.check.steps import DistinctGemm, Findings, checked_mnk
from kernels.device import Device, DeviceKind, Unsupported
from kernels.gemm.block_scaled import NATIVE
from kernels.gemm.launch import gemm, torch_dtype
from kernels.gemm.numerics import Arithmetic
from kernels.gemm.plan import GemmPlan, plan_gemm
from kernels.measure.exactness import Sampled, bits, predictable
from kernels.measure.jobs import CHECKED, GemmJob
from kernels.measure.operands import Operands
from kernels.measure.rows import Prediction
from kernels.precompile import Code, launch_gemm

RUNS = 3

_HALF_ULP = 2.0 ** -(FORMATS["fp32"].mantissa_bits + 1)
_ADA, _BLACKWELL = (8, 9), 10


@dataclass(frozen=True, kw_only=True)
class Product:
    """The result of one GEMM of `outputs` outputs, some of them `sampled`.

    - worst: the largest error over its bound, at `place`. repeats: every run gave the same bits.
    - prediction: sampled bits against the model's; None where this GPU has no model.
    """

    name: str
    outputs: int
    sampled: int
    unwritten: int
    worst: float
    place: str
    repeats: bool
    prediction: Prediction | None


def check_product(case: DistinctGemm, outputs: int, findings: Findings, device: Device) -> Line:
    facts, job = findings.facts, case.job(checked_mnk(device))
    findings.wrong.add(case.name)
    try:
        product = multiply(job, plan_of(job, device), outputs, device)
    except Unsupported:
        findings.wrong.remove(case.name)  # a step of speed says again why there is none
        raise
    findings.products.append(product)
    on = "Triton's interpreter" if facts.interpreted else str(facts.gpu)
    line = product_line(product, on, case.others)
    if line.verdict is Verdict.PASS:
        findings.wrong.remove(case.name)
    return line


def check_all(group: Group, name: str, findings: Findings, device: Device) -> Line:
    if not findings.products:
        raise RuntimeError("no matmul ran, so there is nothing to compare")
    line = accumulator_line if group is Group.ACCUMULATOR else determinism_line
    return line(findings.products, name)


def multiply(job: GemmJob, plan: GemmPlan | Unsupported, outputs: int, device: Device) -> Product:
    """Multiply RUNS times into a D full of NaN; compare at least `outputs` outputs. Raises Unsupported."""
    if isinstance(plan, Unsupported):
        raise plan
    m, n = job.m, job.n
    a, b = Operands.normal(job, device).quantized()
    dtype = torch_dtype(plan.numerics.spec.out)
    outs = [torch.full((m, n), torch.nan, dtype=dtype, device=device.place) for _ in range(RUNS)]
    for out in outs:
        gemm(a, b, plan, out=out)
    sampled = Sampled.of(plan, a, b, outs[0], job.seed, isqrt(outputs - 1) + 1)
    worst, place = _against_bound(sampled, device)
    return Product(
        name=f"{job.recipe} {job.matmul}",
        outputs=m * n,
        sampled=sampled.out.size,
        unwritten=int(outs[0].isnan().sum()),
        worst=worst,
        place=place,
        repeats=all(bool(torch.equal(bits(outs[0]), bits(other))) for other in outs[1:]),
        prediction=sampled.prediction() if predictable(plan, device.capability) else None,
    )


def plan_of(job: GemmJob, device: Device) -> GemmPlan | Unsupported:
    """A GPU's plan for the shape that is timed, whatever the job's sizes; the interpreter's for the job."""
    mnk = CHECKED if device.kind is DeviceKind.GPU else job.mnk
    return plan_gemm(job.spec, mnk, device, job.accumulation)


def codes_of(jobs: Iterable[GemmJob], device: Device) -> Iterator[Code]:
    for job in jobs:
        plan = plan_of(job, device)
        if not isinstance(plan, Unsupported):
            yield launch_gemm, job, plan.blocks


def _against_bound(sampled: Sampled, device: Device) -> tuple[float, str]:
    own, (a, b) = sampled.out, (sampled.a.values(), sampled.b.values())
    truth = a @ b.T
    ratio = np.abs(own - truth) / bound(sampled.plan, a, b, device.capability)
    ratio = np.nan_to_num(ratio, nan=np.finfo(np.float32).max)
    i, j = np.unravel_index(np.argmax(ratio), ratio.shape)
    place = f"{sampled.place(i, j)} is {truth[i, j]:.6g}, the kernel says {own[i, j]:.6g}"
    return float(ratio[i, j]), place


def accumulator_on(plan: GemmPlan, capability: tuple[int, int]) -> Accumulator:
    """The model of the tensor core under a plan on a GPU; Hopper's, the coarsest, for one without a model."""
    own, bf16 = plan.numerics.accumulator, plan.numerics.arithmetic is Arithmetic.DEQUANTIZED
    if capability == _ADA:
        return replace(ACCUMULATORS["ampere_half" if bf16 else "ada_fp8"], promotion=own.promotion)
    if plan.numerics.arithmetic is Arithmetic.NATIVE_MX and capability[0] >= _BLACKWELL:
        return ACCUMULATORS[NATIVE[plan.numerics.native].accumulator]
    if capability[0] >= _BLACKWELL and not bf16:
        return replace(ACCUMULATORS["blackwell_fp8"], promotion=own.promotion)
    return own


def bound(
    plan: GemmPlan, a: NDArray[np.float64], b: NDArray[np.float64], capability: tuple[int, int] | None
) -> NDArray[np.float64]:
    """float64[rows of a, rows of b]: the limit of |D - a·bᵀ|. A capability of None is the interpreter.

    S = Σ|a||b| of the values, u = half an fp32 ulp, all in fp64:
    - The sum: `Accumulator.error_bound` of the values, by the model of the GPU's own tensor core. Scales are
      constant on every stretch that it sums, so its error scales with them. In Triton's interpreter, fp32
      sums in any order: K·u·S / (1 - K·u).
    - Scales: at most three fp32 roundings, 3·u·(S + the sum's error).
    - D: half an ulp of its format, for the sum and for the error so far.
    """
    size, k = np.abs(a) @ np.abs(b).T, a.shape[1]
    if capability is None:
        summed = k * _HALF_ULP / (1 - k * _HALF_ULP) * size
    else:
        multiplied = (FORMATS["bf16"],) * 2 if plan.numerics.arithmetic is Arithmetic.DEQUANTIZED else ()
        summed = accumulator_on(plan, capability).error_bound(a, b, *multiplied)
    error = summed + 3 * _HALF_ULP * (size + summed)
    out = plan.numerics.spec.out
    half = 2.0 ** -(out.mantissa_bits + 1)
    return error + half * (np.abs(a @ b.T) + error) + out.min_subnormal


def product_line(product: Product, on: str, others: tuple[str, ...] = ()) -> Line:
    """The line of one GEMM on the hardware that `on` names. `others` are multiplied alike."""
    alike = f" {', '.join(others)} {'is' if len(others) == 1 else 'are'} multiplied alike." if others else ""
    detail = (
        f"{product.sampled:,} of {product.outputs:,} outputs, the largest error {product.worst:.1%} of its "
        f"bound on {on}.{alike}"
    )
    if product.unwritten:
        detail = f"{product.unwritten:,} of {product.outputs:,} outputs were not written, or are NaN."
    elif product.worst > 1:
        detail = f"An error is {product.worst:.3g} times its bound on {on}: {product.place}."
    verdict = Verdict.FAIL if product.unwritten or product.worst > 1 else Verdict.PASS
    error = Figure("largest error over its bound", product.worst)
    figures = (error, Figure("outputs compared", float(product.sampled)))
    return Line(name=product.name, group=Group.GEMMS, verdict=verdict, detail=detail, figures=figures)


def accumulator_line(products: list[Product], name: str) -> Line:
    predicted = {p.name: p.prediction for p in products if p.prediction is not None}
    outputs, unlike = (
        sum(getattr(each, count) for each in predicted.values()) for count in ("outputs", "different")
    )
    if not outputs:
        detail = "The model that predicts each bit describes Hopper's tensor core (9.0), not this one."
        return Line(name=name, group=Group.ACCUMULATOR, verdict=Verdict.NOT_SUPPORTED, detail=detail)
    detail = f"{outputs:,} outputs of {len(products)} matmuls equal the model, bit for bit."
    if unlike:
        name_of, worst = next((name, each) for name, each in predicted.items() if each.different)
        where = f"{name_of}, {worst.first_difference}"
        detail = f"{unlike:,} of {outputs:,} outputs differ from the model. {where}."
    return Line.of_comparison(Group.ACCUMULATOR, name, detail, outputs, unlike, what="outputs compared")


def determinism_line(products: list[Product], name: str) -> Line:
    differ = [p.name for p in products if not p.repeats]
    detail = f"{RUNS} runs of each of {len(products)} matmuls gave the same bits."
    if differ:
        detail = f"{RUNS} runs gave different bits: {', '.join(differ)}."
    return Line.of_comparison(Group.DETERMINISM, name, detail, len(products), len(differ), what="matmuls")
