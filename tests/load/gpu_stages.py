"""Times the stages of an answer on this host's GPU: python -m tests.load.gpu_stages

Each GEMM is answered twice in this process: the first time its kernels are compiled. Prints a table of
seconds: drawing, quantizing and multiplying; the fp64 check; the first times; the careful answer; giving the
memory back.
"""

import sys
import time
from collections.abc import Callable
from typing import TypeVar

import torch

from kernels.bench.answers import first_answer
from kernels.bench.contest import first_times
from kernels.bench.cost import FIRST_FLOP, gemm_cost
from kernels.bench.job import GemmJob
from kernels.bench.measure import Work, careful
from kernels.device import DeviceKind, choose_backend, current_device

CASES = (
    ("per_tensor", "fprop", 256, 256, 256),
    ("mxfp8", "fprop", 4096, 4096, 7168),
    ("deepseek_v3", "wgrad", 4096, 4096, 4096),
    ("rowwise", "dgrad", 4096, 4096, 14336),
    ("mxfp8", "wgrad", 1000, 3000, 5000),
    ("mxfp8", "fprop", 16384, 16384, 16384),
)
HEADS = ("GEMM", "turn", "draw…D", "check", "times", "first", "careful", "free", "estimate")

T = TypeVar("T")


def timed(step: Callable[[], T]) -> tuple[T, str]:
    """The result of a step, and its seconds on the GPU and off it."""
    began = time.perf_counter()
    made = step()
    torch.cuda.synchronize()
    return made, f"{time.perf_counter() - began:.2f}"


def line(case: tuple[str, str, int, int, int], turn: int) -> list[str]:
    """One line of the table."""
    recipe, matmul, m, n, k = case
    job = GemmJob(recipe=recipe, matmul=matmul, m=m, n=n, k=k)
    work, made = timed(lambda: Work.of(job, lambda *news: None, lambda: False))
    _, check = timed(lambda: work.errors(FIRST_FLOP))
    _, times = timed(lambda: first_times(job, work.plan, work.operands, work.device, lambda done: None))
    _, first = timed(lambda: first_answer(work))
    _, whole = timed(lambda: careful(work))
    work = None  # its memory is free from here on
    _, free = timed(torch.cuda.empty_cache)
    cost = gemm_cost(job)
    told = f"{cost.first_s:.2f} + {cost.careful_s:.2f}"
    return [f"{recipe} {matmul} {m}×{n}×{k}", str(turn), made, check, times, first, whole, free, told]


def main() -> int:
    choose_backend()
    if current_device().kind is not DeviceKind.GPU:
        sys.stderr.write("gpu_stages: there is no GPU here\n")
        return 2
    sys.stdout.write("\t".join(HEADS) + "\n")
    for case in CASES:
        for turn in (1, 2):
            sys.stdout.write("\t".join(line(case, turn)) + "\n")
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
