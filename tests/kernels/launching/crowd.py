"""One of several processes that share a GPU: multiply the same operands in graphs, count what came out wrong.

python -m tests.kernels.launching.crowd SECONDS prints how many calls were made and how many gave other bits.
A GPU that processes share stops kernels anywhere. D is filled with NaN before each call, else what an
earlier call left there would hide what was not written.
"""

import sys
from time import monotonic

import torch

from fp8core.linear import DGRAD, WGRAD, Matmul, Side
from fp8core.recipes import RECIPES
from kernels.device import current_device
from kernels.gemm import gemm
from kernels.gemm.numerics import Summation
from kernels.gemm.plan import plan_gemm
from kernels.quantize import quantize

CALLS, REPLAYS = 12, 10
CASES: tuple[tuple[str, Matmul, tuple[int, int, int]], ...] = (
    ("deepseek_v3", WGRAD, (768, 256, 32768)),
    ("rowwise", WGRAD, (5120, 6400, 336)),
    ("per_tensor", WGRAD, (1536, 256, 32768)),
    ("rowwise", DGRAD, (4096, 1024, 512)),
    ("mxfp8", WGRAD, (512, 512, 16384)),
)
"""Programs that share blocks, scales that are used once a block, and codes that are decoded."""


def watched(recipe: str, matmul: Matmul, mnk: tuple[int, int, int], seconds: float) -> tuple[int, int]:
    """(calls, calls with other bits than the first) of one product, in as many seconds."""
    own, sides = RECIPES[recipe], []
    for side, rows in zip(Side, mnk[:2], strict=True):
        x = torch.randn(rows, mnk[2], device="cuda", dtype=torch.bfloat16)
        sides.append(quantize(x.T.contiguous() if matmul.k_is_rows(side) else x, own.operand(matmul, side)))
    plan = plan_gemm(own.spec(matmul), mnk, current_device(), Summation.RECIPE)
    right = gemm(*sides, plan)
    wrong = torch.zeros((), dtype=torch.int64, device="cuda")
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(CALLS):
            out = gemm(*sides, plan)
            wrong += (out.view(torch.uint8) != right.view(torch.uint8)).any()
            out.fill_(float("nan"))
    calls, start = 0, monotonic()
    while monotonic() - start < seconds:
        for _ in range(REPLAYS):
            graph.replay()
        torch.cuda.synchronize()
        calls += CALLS * REPLAYS
    return calls, int(wrong)


def main() -> None:
    torch.manual_seed(0)
    seconds = float(sys.argv[1]) / len(CASES)
    counts = [watched(*case, seconds) for case in CASES]
    sys.stdout.write(" ".join(str(sum(column)) for column in zip(*counts, strict=True)) + "\n")


if __name__ == "__main__":
    main()
