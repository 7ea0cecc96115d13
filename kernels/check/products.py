"""Our GEMMs on a device: are they within the derived bound, as the model says, and equal every time?"""

from dataclasses import dataclass
from math import isqrt

import numpy as np
import torch
from numpy.typing import NDArray

from fp8core.linear import Side
from kernels.bench.exactness.predict import Sample, predict_at, predictable
from kernels.bench.job import GemmJob
from kernels.bench.operands import Operands
from kernels.bench.shapes import CHECKED
from kernels.check.bounds import bound
from kernels.check.report import Figure, Group, Line, Verdict
from kernels.device import Device, DeviceKind, Unsupported
from kernels.gemm.launch import as_planned, gemm, torch_dtype
from kernels.gemm.plan import GemmPlan, plan_gemm

MNK = (4080, 2032, 528)
"""Partial blocks and tiles at every edge, and multiples of 16: by the plan of the GEMM that is timed."""
MNK_INTERPRETED = (80, 48, 144)
RUNS = 3


@dataclass(frozen=True, kw_only=True)
class Product:
    """The result of one GEMM. `worst` is the largest error over its bound.

    `predicted` counts the outputs that the model foretold, `unlike` those among them that differ. `first`
    describes one of these in words.
    """

    name: str
    outputs: int
    sampled: int
    unwritten: int
    worst: float
    place: str
    repeats: bool
    predicted: int
    unlike: int
    first: str


def multiply(recipe: str, matmul: str, outputs: int, device: Device) -> Product:
    """Multiply matrices of MNK, as planned for the shape that is timed. Raises Unsupported."""
    job = job_of(recipe, matmul, device)
    plan = plan_of(job, device)
    if isinstance(plan, Unsupported):
        raise plan
    return multiply_planned(job, plan, outputs, device)


def multiply_planned(job: GemmJob, plan: GemmPlan, outputs: int, device: Device) -> Product:
    """Multiply RUNS times into a D full of NaN; compare `outputs` outputs of D or a few more."""
    m, n = job.m, job.n
    a, b = drawn(job, device).quantized()
    dtype = torch_dtype(plan.meaning.spec.out)
    outs = [torch.full((m, n), torch.nan, dtype=dtype, device=device.place) for _ in range(RUNS)]
    for out in outs:
        gemm(a, b, plan, out=out)
    bits = [out.view(torch.int16 if out.itemsize == 2 else torch.int32) for out in outs]
    side = isqrt(outputs - 1) + 1
    rows, columns = _spread(m, side), _spread(n, side)
    places = [torch.from_numpy(index).to(device.place) for index in (rows, columns)]
    got = outs[0][places[0]][:, places[1]].float().cpu().numpy()
    left, right = (
        Sample.of(x, place, side, plan.meaning)
        for x, place, side in zip(as_planned(plan, a, b), places, Side, strict=True)
    )
    worst, place = _against_bound(plan, left, right, got, device, rows, columns)
    predicted, unlike, first = _against_model(plan, left, right, got, device, (m, n), rows, columns)
    return Product(
        name=f"{job.recipe} {job.matmul}",
        outputs=m * n,
        sampled=got.size,
        unwritten=int(outs[0].isnan().sum()),
        worst=worst,
        place=place,
        repeats=all(bool(torch.equal(bits[0], other)) for other in bits[1:]),
        predicted=predicted,
        unlike=unlike,
        first=first,
    )


def job_of(recipe: str, matmul: str, device: Device) -> GemmJob:
    """The GEMM that is compared."""
    m, n, k = MNK if device.kind is DeviceKind.GPU else MNK_INTERPRETED
    return GemmJob(recipe=recipe, matmul=matmul, m=m, n=n, k=k)


def plan_of(job: GemmJob, device: Device) -> GemmPlan | Unsupported:
    """A GPU's plan for the shape that is timed, whatever the job's sizes; the interpreter's plan
    for the job.
    """
    mnk = CHECKED if device.kind is DeviceKind.GPU else (job.m, job.n, job.k)
    return plan_gemm(job.recipe_data.spec(job.matmul_data), mnk, device, job.accumulation)


def _spread(size: int, count: int) -> NDArray[np.int64]:
    """Up to `count` places over 0..size, one in each equal stretch, so that no block of D is left out."""
    edges = np.linspace(0, size, min(count, size) + 1).astype(np.int64)
    return np.random.default_rng(size).integers(edges[:-1], edges[1:])


def normal(shape: tuple[int, int], seed: int, device: str) -> torch.Tensor:
    """bf16[shape] of normal numbers, drawn where they are used."""
    generator = torch.Generator(device).manual_seed(seed)
    return torch.randn(shape, generator=generator, device=device, dtype=torch.float32).bfloat16()


def drawn(job: GemmJob, device: Device) -> Operands:
    """Normal bf16 operands of a job, drawn where they are used."""
    layer = job.matmul_data.layer(job.m, job.n, job.k)
    shapes = (layer.of(job.matmul_data.a), layer.of(job.matmul_data.b))
    made = (normal(shape, 2 * job.seed + number, device.place) for number, shape in enumerate(shapes))
    return Operands(job, *made)


def _against_bound(
    plan: GemmPlan,
    a: Sample,
    b: Sample,
    got: NDArray[np.float32],
    device: Device,
    rows: NDArray[np.int64],
    columns: NDArray[np.int64],
) -> tuple[float, str]:
    """(the largest error over its bound, that output in words)."""
    left, right = a.values(), b.values()
    truth = left @ right.T
    ratio = np.abs(got - truth) / bound(plan, left, right, device.capability)
    ratio = np.nan_to_num(ratio, nan=np.finfo(np.float32).max)
    i, j = np.unravel_index(np.argmax(ratio), ratio.shape)
    place = f"D[{rows[i]}, {columns[j]}] is {truth[i, j]:.6g}, the kernel says {got[i, j]:.6g}"
    return float(ratio[i, j]), place


def _against_model(
    plan: GemmPlan,
    a: Sample,
    b: Sample,
    got: NDArray[np.float32],
    device: Device,
    mn: tuple[int, int],
    rows: NDArray[np.int64],
    columns: NDArray[np.int64],
) -> tuple[int, int, str]:
    """(outputs predicted, how many differ, the first of them); any NaN equals any NaN."""
    if not predictable(plan, device.capability):
        return 0, 0, ""
    model = predict_at(plan, a, b, mn, rows, columns)
    unlike = (got.view(np.uint32) != model.view(np.uint32)) & ~(np.isnan(got) & np.isnan(model))
    if not unlike.any():
        return got.size, 0, ""
    i, j = np.argwhere(unlike)[0]
    first = f"D[{rows[i]}, {columns[j]}]: the model says {model[i, j]!s}, the GPU {got[i, j]!s}"
    return got.size, int(unlike.sum()), first


def product_line(product: Product, name: str, on: str, others: tuple[str, ...] = ()) -> Line:
    """The report line of one GEMM on the hardware that `on` names. `others` are multiplied alike."""
    detail = (
        f"{product.sampled:,} of {product.outputs:,} outputs, the largest error {product.worst:.1%} of its"
    )
    detail += f" bound on {on}." + _alike(others)
    if product.unwritten:
        detail = f"{product.unwritten:,} of {product.outputs:,} outputs were not written, or are NaN."
    elif product.worst > 1:
        detail = f"An error is {product.worst:.3g} times its bound on {on}: {product.place}."
    return Line(
        name=name,
        group=Group.GEMMS,
        verdict=Verdict.FAIL if product.unwritten or product.worst > 1 else Verdict.PASS,
        detail=detail,
        figures=(
            Figure("largest error over its bound", product.worst),
            Figure("outputs compared", float(product.sampled)),
        ),
    )


def _alike(others: tuple[str, ...]) -> str:
    """A sentence on the GEMMs whose kernel is the same; empty where there is none."""
    if not others:
        return ""
    return f" {', '.join(others)} {'is' if len(others) == 1 else 'are'} multiplied alike."


def accumulator_line(products: list[Product], name: str) -> Line:
    """The report line on all predicted outputs."""
    outputs, unlike = sum(p.predicted for p in products), sum(p.unlike for p in products)
    if not outputs:
        return Line(
            name=name,
            group=Group.ACCUMULATOR,
            verdict=Verdict.NOT_SUPPORTED,
            detail="The model that predicts each bit describes Hopper's tensor core (9.0), not this one.",
        )
    detail = f"{outputs:,} outputs of {len(products)} matmuls equal the model, bit for bit."
    if unlike:
        worst = next(p for p in products if p.unlike)
        detail = f"{unlike:,} of {outputs:,} outputs differ from the model. {worst.name}, {worst.first}."
    return Line(
        name=name,
        group=Group.ACCUMULATOR,
        verdict=Verdict.FAIL if unlike else Verdict.PASS,
        detail=detail,
        figures=(Figure("outputs compared", float(outputs)), Figure("different", float(unlike))),
    )


def determinism_line(products: list[Product], name: str) -> Line:
    """The report line on repeated runs: do equal GEMMs give equal bits?"""
    differ = [p.name for p in products if not p.repeats]
    detail = f"{RUNS} runs of each of {len(products)} matmuls gave the same bits."
    if differ:
        detail = f"{RUNS} runs gave different bits: {', '.join(differ)}."
    return Line(
        name=name,
        group=Group.DETERMINISM,
        verdict=Verdict.FAIL if differ else Verdict.PASS,
        detail=detail,
        figures=(Figure("matmuls", float(len(products))), Figure("different", float(len(differ)))),
    )
