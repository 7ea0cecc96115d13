"""Recorded quantizers: quantizers/<gpu>.jsonl in a folder of records, one a line."""

from kernels.bench.ceilings.limits import Impossible, datasheet_limits
from kernels.bench.lines import GpuFiles
from kernels.bench.quantizers.row import QuantizerRow


def _possible(row: QuantizerRow) -> QuantizerRow:
    """The row itself. Raises Impossible for one that is faster than its GPU's memory."""
    limits = datasheet_limits(row.gpu)
    rates = {"ours": row.gb_s, "the copy": row.copy_gb_s}
    if row.compiled is not None:
        rates["torch.compile"] = row.bytes / row.compiled.median_us / 1e3
    for name, gb_s in rates.items():
        fault = limits.memory_fault(gb_s)
        if fault:
            raise Impossible(f"{name}: {fault}")
    return row


_FILES = GpuFiles(kind=QuantizerRow, room="quantizers", judge=_possible)
quantizer_path, read_quantizers, record_quantizer = _FILES.path, _FILES.read, _FILES.record
