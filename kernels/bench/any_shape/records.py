"""Recorded draws: any_shape/<gpu>.jsonl in a folder of records, a drawn GEMM a line."""

from kernels.bench.any_shape.row import AnyShapeRow
from kernels.bench.ceilings.limits import Impossible, datasheet_limits
from kernels.bench.lines import GpuFiles


def _possible(row: AnyShapeRow) -> AnyShapeRow:
    """The row itself. Raises Impossible for one that is faster than its GPU's datasheet."""
    limits = datasheet_limits(row.gpu)
    for name, time_us in (("ours", row.ours_us), (row.peer, row.peer_us)):
        fault = limits.fault(row.flop / time_us / 1e6)
        if fault:
            raise Impossible(f"{name}: {fault}")
    return row


_FILES = GpuFiles(kind=AnyShapeRow, room="any_shape", judge=_possible)
any_shape_path, read_any_shape, record_any_shape = _FILES.path, _FILES.read, _FILES.record
