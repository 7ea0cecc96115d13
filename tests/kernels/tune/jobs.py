"""A GEMM that the tuner is asked for."""

import os

from kernels.bench.job import GemmJob
from kernels.gemm.blocks import Blocks

JOB = GemmJob(recipe="rowwise", matmul="dgrad", m=64, n=4096, k=14336)


def refuse_odd(job: GemmJob, blocks: Blocks | None) -> str:
    """Says no to an odd M, and ends its process for M = 13."""
    if job.m == 13:
        os._exit(1)
    return f"M is {job.m}" if job.m % 2 else ""
