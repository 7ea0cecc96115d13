"""Whole steps of a SwiGLU block in each way: kernels with round times that nobody measured."""

from collections.abc import Iterable
from pathlib import Path

from kernels.layer.timeline.row import TIMELINES, KernelRun, LayerRow, Phase, Role, TimelineJob, Way
from tests.kernels.layer.timeline.made_up import JOB, ROW, timing

_MATMULS = {
    Phase.FORWARD: ("gate and up", "down"),
    Phase.BACKWARD: ("dgrad of down", "wgrad of down", "dgrad of gate and up", "wgrad of gate and up"),
}
_CASTS = {Way.NAIVE: 5, Way.COMPILED: 2, Way.OURS: 1}
"""Kernels that quantize for each matmul."""
_MATMUL_US = 1000.0


def layer_row(way: Way, job: TimelineJob = JOB, **changes: object) -> LayerRow:
    """The step in one way: bf16 matmuls of 1 ms, fp8 ones of half, and casts before each."""
    kernels: list[KernelRun] = []

    def run(name: str, what: str, role: Role, phase: Phase, us: float, flop: int | None = None) -> None:
        start = kernels[-1].end_us + 20.0 if kernels else 0.0
        moved = None if role is Role.OTHER else int(us * 3e6)
        kernels.append(
            KernelRun(
                name=name,
                what=what,
                role=role,
                phase=phase,
                start_us=start,
                time_us=us,
                bytes=moved,
                flop=flop,
            )
        )

    for phase, matmuls in _MATMULS.items():
        for place, matmul in enumerate(matmuls):
            for number in range(_CASTS.get(way, 0)):
                run(f"cast_{number}", f"quantize for {matmul}, {number + 1}", Role.QUANTIZE, phase, 90.0)
            us = _MATMUL_US * (1 if way is Way.BF16 else 0.5)
            run(f"gemm_{place}", matmul, Role.MATMUL, phase, us, flop=int(us * 7e8))
        kind = Role.FUSED if way in (Way.OURS, Way.OURS_KEPT) else Role.ACTIVATION
        run("swiglu", "SwiGLU", kind, phase, 120.0)
    run("zero", "fill with zeros", Role.OTHER, Phase.BACKWARD, 3.0)
    bf16 = sum(map(len, _MATMULS.values())) * _MATMUL_US + 2 * 120.0 + 20.0
    fields: dict[str, object] = {
        "job": job,
        "way": way,
        "machine": ROW.machine,
        "date": ROW.date,
        "in_graph": True,
        "kernels": tuple(kernels),
        "eager": timing(kernels[-1].end_us + 100.0),
        "graph": timing(kernels[-1].end_us),
        "bf16": timing(bf16),
        "held_bytes": 300 << 20,
        "commit": "0123abc",
    }
    return LayerRow(**fields | changes)


def every_way(job: TimelineJob = JOB) -> list[LayerRow]:
    return [layer_row(way, job) for way in Way]


def record_rows(folder: Path, rows: Iterable[LayerRow]) -> None:
    for row in rows:
        TIMELINES.record(row, folder)
