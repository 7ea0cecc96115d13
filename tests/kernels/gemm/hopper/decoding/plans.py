"""The plans that decode an operand in registers, and operands for them."""

from dataclasses import replace

from fp8core.linear import MATMULS
from fp8core.recipes import RECIPES
from kernels.device import HOPPER
from kernels.gemm.hopper.decoding.blocks import lacking
from kernels.gemm.hopper.decoding.candidates import candidates
from kernels.gemm.meaning import Summation
from kernels.gemm.plan import plan_built_in
from tests.kernels import from_reference

FPROP, WGRAD = RECIPES["mxfp8"].fprop, RECIPES["mxfp8"].wgrad


def decoding(mnk, device=HOPPER, spec=FPROP):
    """(the simple plan, the plans that decode in registers) of a GEMM."""
    plan = plan_built_in(spec, mnk, device, Summation.RECIPE)
    return plan, [replace(plan, blocks=blocks) for blocks in candidates(plan.meaning, mnk, device)]


def runnable(mnk, device, spec=FPROP):
    """What `decoding` gives, of a GEMM that is not refused on the device; but for plans that share their last
    wave, whose sums test_last_wave compares.
    """
    plan, found = decoding(mnk, device, spec)
    assert not (reason := lacking(plan.meaning, mnk, device)), reason
    return plan, [each for each in found if not each.blocks.shares_last]


def operands(mnk, matmul="fprop", recipe="mxfp8", name="gaussian"):
    """A and B as the reference quantizes them."""
    return from_reference.operands(RECIPES[recipe], MATMULS[matmul], mnk, name)
