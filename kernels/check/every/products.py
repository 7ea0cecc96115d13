"""One product on random shapes: odd ones, few rows, and the multiples that the fast bodies take."""

import numpy as np

from kernels.bench.job import GemmJob
from kernels.bench.shapes import SKINNY
from kernels.check.cases import DistinctGemm
from kernels.check.every.draw import fit, generator, multiple, odd
from kernels.check.products import Product, multiply_planned, product_line
from kernels.check.report import Figure, Group, Line, Verdict
from kernels.device import Device, Unsupported
from kernels.gemm.plan import plan_gemm
from kernels.quantize.plan import K_PADDING

_OUTPUTS = 400
_SIDE, _DEPTH = 2001, 4001
_FEW = tuple(layer.tokens for layer in SKINNY[:3])


def multiply_anew(own: DistinctGemm, device: Device, seed: int, on: str) -> Line:
    """The report line of one GEMM over all shapes: within the bound, as predicted, equal every time.

    Raises Unsupported where no kernel takes it here.
    """
    rng = generator(seed, own.name)
    products = []
    for m, n, k in _shapes(rng, device):
        fields = {"recipe": own.recipe.name, "matmul": own.matmul.name, "seed": int(rng.integers(1 << 31))}
        job = GemmJob(m=m, n=n, k=k, **fields)
        plan = plan_gemm(job.recipe_data.spec(job.matmul_data), (m, n, k), device, job.accumulation)
        if isinstance(plan, Unsupported):
            raise plan
        product = multiply_planned(job, plan, _OUTPUTS, device)
        line = product_line(product, own.name, on)
        fault = line.detail if line.verdict is Verdict.FAIL else _unlike(product)
        if fault:
            detail = f"{m} × {n} × {k}, {plan.title}: {fault}"
            return Line(name=own.name, group=Group.GEMMS, verdict=Verdict.FAIL, detail=detail)
        products.append(product)
    worst, predicted = max(one.worst for one in products), sum(one.predicted for one in products)
    told = f"{len(products)} shapes, the largest error {worst:.1%} of its bound on {on}"
    told += f"; {predicted:,} outputs equal the model, bit for bit." if predicted else "."
    figures = (Figure("worst", worst), Figure("outputs compared", float(predicted)))
    return Line(name=own.name, group=Group.GEMMS, verdict=Verdict.PASS, detail=told, figures=figures)


def _unlike(product: Product) -> str:
    """A sentence on bits that differ from the model, or from run to run; empty where none do."""
    if product.unlike:
        return f"{product.unlike:,} of {product.predicted:,} outputs differ from the model; {product.first}."
    return "" if product.repeats else "Equal runs gave different bits."


def _shapes(rng: np.random.Generator, device: Device) -> list[tuple[int, int, int]]:
    side, depth = fit(_SIDE, device), fit(_DEPTH, device)
    few = min(int(rng.choice(_FEW)), side)
    return [
        (odd(rng, side), odd(rng, side), odd(rng, depth)),
        (few, multiple(rng, K_PADDING, side), multiple(rng, K_PADDING, depth)),
        (multiple(rng, 16, side), multiple(rng, 16, side), multiple(rng, 16, depth)),
    ]
