"""A layer's step on a timeline: each kernel of forward and backward, in bf16 and in fp8 made several ways.

job.py      what is measured (TimelineJob), and the ways in which a step can be made
row.py      what came of it (LayerRow): kernels with their times, the step's wall time, bytes held
records.py  rows of a GPU in assets/layer/
"""

from kernels.layer.timeline.job import Block, TimelineJob, Way
from kernels.layer.timeline.records import read_timelines, record_timeline
from kernels.layer.timeline.row import Clock, KernelRun, LayerRow, LeftOut, Phase, Role, Timeline

__all__ = [
    "Block",
    "Clock",
    "KernelRun",
    "LayerRow",
    "LeftOut",
    "Phase",
    "Role",
    "Timeline",
    "TimelineJob",
    "Way",
    "read_timelines",
    "record_timeline",
]
