"""Recorded fused GEMMs: fused_gemms/<gpu>.jsonl in a folder of records, one a line."""

from kernels.bench.ceilings.limits import Impossible, datasheet_limits
from kernels.bench.fused_gemms.row import FusedGemmRow
from kernels.bench.lines import GpuFiles


def possible(row: FusedGemmRow) -> FusedGemmRow:
    """The row itself. Raises Impossible for one that is faster than its GPU's tensor core."""
    limits = datasheet_limits(row.gpu)
    for name, timing in (("ours", row.ours), ("two kernels", row.apart), ("the plain GEMM", row.gemm)):
        fault = limits.fault(row.job.flop / timing.median_us / 1e6)
        if fault:
            raise Impossible(f"{name}: {fault}")
    return row


_FILES = GpuFiles(kind=FusedGemmRow, room="fused_gemms", judge=possible)
fused_gemm_path, read_fused_gemms, record_fused_gemm = _FILES.path, _FILES.read, _FILES.record
