"""A job, its row and a GPU's ceilings that nobody measured."""

from fp8core.inputs import InputKind
from kernels.bench.ceilings import Ceiling, Ceilings, CeilingsJob
from kernels.bench.job import GemmJob
from kernels.bench.machine import Machine, Timing
from kernels.bench.row import Prediction, Provenance, Row, Worst

CEILINGS = Ceilings(
    job=CeilingsJob(runs=5),
    machine=Machine(name="A GPU", capability=(9, 0), versions={"torch": "1"}),
    date="2026-11-20",
    copy_gb_s=Ceiling(median=4000.0, p20=3990.0, p80=4010.0, runs=5, clock_mhz=1980.0, power_w=400.0),
    bf16_tflop_s=Ceiling(median=650.0, p20=640.0, p80=660.0, runs=5),
    fp8_tflop_s=Ceiling(median=1250.0, p20=1240.0, p80=1260.0, runs=5),
)


JOB = GemmJob(recipe="mxfp8", matmul="wgrad", m=256, n=128, k=512, input=InputKind.HEAVY_TAIL, seed=7)
ROW = Row(
    job=JOB,
    provenance=Provenance.GPU,
    machine=Machine(name="A GPU", capability=(9, 0), versions={"torch": "1"}, clock_mhz=1500.0, power_w=None),
    date="2026-11-20",
    kernel="a kernel",
    out="fp32",
    rel_err=0.01,
    quantization_rel_err=0.009,
    kernel_rel_err=0.001,
    error_map=((0.1, 0.2), (0.3, 0.4)),
    worst=(Worst(m=1, n=2, truth=3.0, result=4.0),),
    bytes=10_000,
    gemm=Timing(median_us=2.0, p20_us=1.5, p80_us=2.5, runs=5),
    quantize=Timing(median_us=2.0, p20_us=1.5, p80_us=2.5, runs=5),
    bf16=Timing(median_us=8.0, p20_us=7.0, p80_us=9.0, runs=5),
    torch_scaled=None,
    peer_note="no such op here",
    prediction=Prediction(outputs=9, equal=8, first_difference="D[0, 0]"),
    simple=Timing(median_us=3.0, p20_us=2.5, p80_us=3.5, runs=5),
    torch_op="an op",
    why="nothing else was measured",
)
