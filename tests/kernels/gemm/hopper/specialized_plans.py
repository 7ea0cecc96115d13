"""Plans of the specialized kernels, and their operands."""

from dataclasses import replace
from itertools import product

import pytest
import torch

from fp8core.linear import MATMULS
from fp8core.recipes import RECIPES
from kernels.device import HOPPER, Unsupported
from kernels.gemm.choose import tries
from kernels.gemm.hopper.blocks import RING_VARIANTS
from kernels.gemm.numerics import Summation
from kernels.gemm.plan import plan_built_in
from kernels.measure.jobs import GemmJob
from kernels.measure.operands import Operands


def specialized(recipe, matmul, how, mnk, device=HOPPER):
    """(the simple plan, plans of every specialized candidate) of a GEMM: none where it is refused."""
    plan = plan_built_in(RECIPES[recipe].spec(MATMULS[matmul]), mnk, device, how)
    if isinstance(plan, Unsupported):
        return plan, []
    every = (blocks for variant in RING_VARIANTS for blocks in tries(variant, plan.numerics, mnk, device))
    return plan, [replace(plan, blocks=blocks) for blocks in every]


def distinct_gemms() -> list:
    """(recipe, matmul, how) of every GEMM that a specialized kernel computes; of those alike, the first."""
    first = {}
    for recipe, matmul, how in product(RECIPES, MATMULS, Summation):
        plan, plans = specialized(recipe, matmul, how, (512, 512, 512))
        if plans:
            name = f"{recipe}-{matmul}-{how.value}"
            first.setdefault(plan.numerics.kernel_key, pytest.param(recipe, matmul, how, id=name))
    return list(first.values())


def with_runs_of(simple, plan):
    """The simple plan with K split as the other has it."""
    return replace(simple, blocks=replace(simple.blocks, split_k=plan.blocks.split_k, persistent=False))


def operands(recipe, matmul, mnk, device):
    m, n, k = mnk
    return Operands.of(GemmJob(recipe=recipe, matmul=matmul, m=m, n=n, k=k), device).quantized()


def bits(out):
    return out.view({2: torch.int16, 4: torch.int32}[out.element_size()])
