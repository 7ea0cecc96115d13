"""What a GPU can reach: its measured best rates, and the limits of its datasheet. It needs no GPU."""

from kernels.bench.ceilings.job import COPY_BYTES, MATMUL_SIDE, Ceiling, Ceilings, CeilingsJob

__all__ = ["COPY_BYTES", "MATMUL_SIDE", "Ceiling", "Ceilings", "CeilingsJob"]
