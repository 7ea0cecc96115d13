"""Rows of a GPU that nobody measured."""

from dataclasses import replace

from kernels.layer.timeline.row import Block, KernelRun, LayerRow, Phase, Role, TimelineJob, Way
from kernels.measure.rows import Machine, Timing

JOB = TimelineJob(block=Block.MLP, recipe="deepseek_v3", tokens=4096, in_=4096, out=14336)


def timing(us: float) -> Timing:
    return Timing(median_us=us, p20_us=us, p80_us=us, runs=7)


def kernel(start_us: float, time_us: float, role: Role = Role.MATMUL, bytes_: int | None = 0) -> KernelRun:
    return KernelRun(
        name="kernel",
        what="multiply",
        role=role,
        phase=Phase.FORWARD,
        start_us=start_us,
        time_us=time_us,
        bytes=bytes_,
    )


ROW = LayerRow(
    job=JOB,
    way=Way.OURS,
    machine=Machine(name="NVIDIA H200", capability=(9, 0), versions={"torch": "2.11.0"}),
    date="2026-11-23",
    in_graph=True,
    kernels=(kernel(0.0, 2000.0), kernel(2001.0, 2000.0, Role.FUSED, 4)),
    eager=timing(4200.0),
    graph=timing(4100.0),
    bf16=timing(6150.0),
    held_bytes=1 << 20,
)


def without_graph(row: LayerRow = ROW) -> LayerRow:
    return replace(row, graph=None, in_graph=False)
