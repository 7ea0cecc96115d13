"""Stand-ins for kernels.tune.job.launch_once, in a module that worker processes can import."""

import os

from kernels.bench.job import GemmJob
from kernels.gemm.blocks import Blocks


def refuse_odd(job: GemmJob, blocks: Blocks | None) -> str:
    """Says no to an odd M, and ends its process for M = 13."""
    if job.m == 13:
        os._exit(1)
    return f"M is {job.m}" if job.m % 2 else ""
