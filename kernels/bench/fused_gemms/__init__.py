"""The bench of fused GEMMs: each beside the two kernels whose bits it gives, and beside the plain GEMM.

Importing this needs neither torch nor a GPU.
"""

from kernels.bench.fused_gemms.job import FusedEnd, FusedGemmJob
from kernels.bench.fused_gemms.records import (
    fused_gemm_path,
    read_fused_gemms,
    record_fused_gemm,
)
from kernels.bench.fused_gemms.row import FusedGemmRow

__all__ = [
    "FusedEnd",
    "FusedGemmJob",
    "FusedGemmRow",
    "fused_gemm_path",
    "read_fused_gemms",
    "record_fused_gemm",
]
