"""Recorded timelines: <gpu>.jsonl in a folder, one way of one job a line."""

from kernels.bench.ceilings.limits import Impossible, datasheet_limits
from kernels.bench.lines import GpuFiles
from kernels.device import Unsupported
from kernels.layer.timeline.row import LayerRow


def _possible(row: LayerRow) -> LayerRow:
    """The row itself. Raises Unsupported for one that is no GPU's, Impossible for a step that is faster than
    its GPU's datasheet.
    """
    if row.machine.capability is None:
        raise Unsupported("--record keeps rows of a GPU; these come from Triton's interpreter")
    fault = datasheet_limits(row.machine.name).fault(row.job.flop / row.step_us / 1e6)
    if fault:
        raise Impossible(fault)
    return row


_FILES = GpuFiles(kind=LayerRow, room="", judge=_possible)
read_timelines, record_timeline = _FILES.read, _FILES.record
