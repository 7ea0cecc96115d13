"""Jobs and rows of every kind that nobody measured."""

from dataclasses import replace

from fp8core.inputs import InputKind
from kernels.measure.jobs import (
    COPY_BYTES,
    MATMUL_SIDE,
    CeilingsJob,
    GemmJob,
    QuantizerJob,
    QuantizerKernel,
)
from kernels.measure.random_shapes import AnyShapeDraw, AnyShapeJob, LeftOut
from kernels.measure.rows import (
    Ceilings,
    Errors,
    Machine,
    Peer,
    Prediction,
    QuantizerRow,
    Row,
    Timing,
    Worst,
)

MACHINE = Machine(name="A GPU", capability=(9, 0), versions={"torch": "1"})


def timing(us: float, **more) -> Timing:
    return Timing(**{"median_us": us, "p20_us": 0.75 * us, "p80_us": 1.25 * us, "runs": 5, **more})


def changed(row: Row, **changes) -> Row:
    """A row with other times by contender (None: without one), other errors and other fields."""
    times = {peer: changes.pop(peer, row.times.get(peer)) for peer in Peer}
    errors = {name: changes.pop(name) for name in Errors.__dataclass_fields__ if name in changes}
    kept = {peer: taken for peer, taken in times.items() if taken is not None}
    return replace(row, times=kept, errors=row.errors and replace(row.errors, **errors), **changes)


def ceilings(copy_us: float, bf16_us: float, fp8_us: float, **more) -> Ceilings:
    times = {
        Peer.COPY: timing(copy_us, clock_mhz=1980.0, power_w=400.0),
        Peer.BF16: timing(bf16_us),
        Peer.FP8: timing(fp8_us),
    }
    given = {"job": CeilingsJob(runs=5), "machine": MACHINE, "date": "2026-11-20", "times": times}
    return Ceilings(**(given | more))


CEILINGS = ceilings(2 * COPY_BYTES / 4e6, 2 * MATMUL_SIDE**3 / 650e6, 2 * MATMUL_SIDE**3 / 1250e6)
"""4,000 GB/s, 650 and 1,250 TFLOP/s."""

JOB = GemmJob(recipe="mxfp8", matmul="wgrad", m=256, n=128, k=512, input=InputKind.HEAVY_TAIL, seed=7)
ERRORS = Errors(
    rel_err=0.01,
    quantization_rel_err=0.009,
    kernel_rel_err=0.001,
    error_map=((0.1, 0.2), (0.3, 0.4)),
    worst=(Worst(m=1, n=2, truth=3.0, result=4.0),),
    rows=256,
)
ROW = Row(
    job=JOB,
    machine=MACHINE,
    date="2026-11-20",
    times={
        Peer.OURS: timing(2.0, clock_mhz=1500.0),
        Peer.QUANTIZE: timing(2.0),
        Peer.BF16: timing(8.0, op="bf16 torch.mm"),
        Peer.SIMPLE: timing(3.0),
    },
    note="no such op here",
    bytes=10_000,
    kernel="a kernel",
    why="nothing else was measured",
    errors=ERRORS,
    prediction=Prediction(outputs=9, equal=8, first_difference="D[0, 0]"),
)

DRAWN = Row(
    job=GemmJob(recipe="mxfp8", matmul="wgrad", m=256, n=128, k=512, seed=7, runs=5, turn_ms=5),
    machine=MACHINE,
    date="2026-11-23",
    times={
        Peer.OURS: Timing(median_us=2.0, runs=5),
        Peer.BF16: Timing(median_us=3.0, runs=5, op="bf16 torch.mm"),
    },
    bytes=2**20,
    kernel="64 × 128 × 64",
    regret=0.02,
)
DRAW = AnyShapeDraw(
    job=AnyShapeJob(recipe="mxfp8", matmul="wgrad", count=3, seed=7),
    rows=(DRAWN,),
    left_out=(LeftOut(m=1, n=2, k=3, reason="no kernel computes it"),),
)

QUANTIZER = QuantizerJob(
    kernel=QuantizerKernel.SWIGLU,
    recipe="deepseek_v3",
    tensor="x",
    matmuls=("fprop", "wgrad"),
    rows=4096,
    columns=14336,
)


def quantizer_row(job: QuantizerJob = QUANTIZER, *, us: float = 100.0, **changes) -> QuantizerRow:
    """A row of a card whose copy reaches 4,000 GB/s. `compiled_us=None`: without torch.compile."""
    compiled_us = changes.pop("compiled_us", 200.0)
    times = {Peer.OURS: us, Peer.APART: 250.0, Peer.COMPILED: compiled_us, Peer.COPY: job.bytes / 4e6}
    given = {
        "machine": Machine(name="NVIDIA H200", capability=(9, 0), versions={"torch": "2.11.0"}),
        "date": "2026-11-23",
        "times": {peer: timing(time_us) for peer, time_us in times.items() if time_us is not None},
        "moved_bytes": job.bytes,
        "launches": 1,
    }
    return QuantizerRow(job=job, **(given | changes))
